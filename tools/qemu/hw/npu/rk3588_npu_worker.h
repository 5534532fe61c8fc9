/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread that computes a core's tasks, so that no vCPU and no device
 * waits for arithmetic.  It sees private buffers and nothing of the machine.
 */
#ifndef HW_NPU_RK3588_NPU_WORKER_H
#define HW_NPU_RK3588_NPU_WORKER_H

#include "qemu/queue.h"
#include "qemu/thread.h"
#include "compute/task.h"

/* Operand data as CBUF holds it, shared by jobs; references need the BQL. */
typedef struct NpuBuf {
    unsigned refs;
    NpuCube cube;               /* of feature data */
    uint32_t size;
    uint8_t *data;
} NpuBuf;

NpuBuf *npu_buf_new(size_t size);
NpuBuf *npu_buf_ref(NpuBuf *b);
void npu_buf_unref(NpuBuf *b);

/* One computation.  The submitter's interest ends with npu_worker_release(). */
typedef struct NpuJob {
    NpuTask task;
    NpuBuf *feature;            /* NULL, like weights, but in convolutions */
    NpuBuf *weights;
    uint8_t *stage[NPU_STAGE_NUM];
    uint8_t *feed[NPU_FEED_NUM];
    uint8_t *out;
    int cancel;                 /* atomic */
    bool done, ok;              /* under the worker's lock until done */
    bool reaped, released;      /* BQL */
    QSIMPLEQ_ENTRY(NpuJob) next;
} NpuJob;

typedef QSIMPLEQ_HEAD(, NpuJob) NpuJobList;

typedef struct NpuWorker {
    QemuThread thread;
    QemuMutex lock;
    QemuCond wake;
    QemuCond finished;
    NpuJobList queue;
    NpuJobList done;
    NpuJob *running;
    bool stop;
    QEMUBH *bh;
    void (*notify)(void *opaque, NpuJob *job);
    void *opaque;
} NpuWorker;

/* @notify is called with the BQL held for each job that was not released. */
void npu_worker_init(NpuWorker *w, DeviceState *dev,
                     void (*notify)(void *opaque, NpuJob *job), void *opaque);
/* Cancels everything and joins the thread. */
void npu_worker_fini(NpuWorker *w);

NpuJob *npu_job_new(const NpuTask *t);
void npu_job_free(NpuJob *job);
void npu_worker_submit(NpuWorker *w, NpuJob *job);
bool npu_worker_is_done(NpuWorker *w, NpuJob *job);
/* False if the job is not done because QEMU is about to end. */
bool npu_worker_wait(NpuWorker *w, NpuJob *job);
/* Give a submitted job up: it stops soon, and is freed when it has. */
void npu_worker_release(NpuWorker *w, NpuJob *job);

#endif
