/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worker thread of an RK3588 NPU core: takes jobs in order, reports them to
 * the main loop, and frees what nobody waits for any more.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "hw/qdev-core.h"
#include "system/runstate.h"
#include "rk3588_npu_worker.h"

#define WAIT_MS                 100

NpuBuf *npu_buf_new(size_t size)
{
    NpuBuf *b = g_new0(NpuBuf, 1);

    b->refs = 1;
    b->size = size;
    b->data = g_try_malloc(size);
    if (!b->data) {
        g_free(b);
        return NULL;
    }
    return b;
}

NpuBuf *npu_buf_ref(NpuBuf *b)
{
    b->refs++;
    return b;
}

void npu_buf_unref(NpuBuf *b)
{
    if (b && --b->refs == 0) {
        g_free(b->data);
        g_free(b);
    }
}

NpuJob *npu_job_new(const NpuTask *t)
{
    NpuJob *job = g_new0(NpuJob, 1);

    job->task = *t;
    return job;
}

void npu_job_free(NpuJob *job)
{
    unsigned i;

    npu_buf_unref(job->feature);
    npu_buf_unref(job->weights);
    for (i = 0; i < NPU_STAGE_NUM; i++) {
        g_free(job->stage[i]);
    }
    for (i = 0; i < NPU_FEED_NUM; i++) {
        g_free(job->feed[i]);
    }
    g_free(job->out);
    g_free(job);
}

static bool npu_job_compute(NpuJob *job)
{
    NpuOperands in = {
        .cancel = &job->cancel,
        .feature = job->feature ? job->feature->data : NULL,
        .weights = job->weights ? job->weights->data : NULL,
    };
    unsigned i;

    for (i = 0; i < NPU_STAGE_NUM; i++) {
        in.stage[i] = job->stage[i];
    }
    for (i = 0; i < NPU_FEED_NUM; i++) {
        in.feed[i] = job->feed[i];
    }
    return npu_task_compute(&job->task, &in, job->out);
}

static void *npu_worker_thread(void *opaque)
{
    NpuWorker *w = opaque;
    NpuJob *job;
    bool ok;

    qemu_mutex_lock(&w->lock);
    while (!w->stop) {
        job = QSIMPLEQ_FIRST(&w->queue);
        if (!job) {
            qemu_cond_wait(&w->wake, &w->lock);
            continue;
        }
        QSIMPLEQ_REMOVE_HEAD(&w->queue, next);
        w->running = job;
        qemu_mutex_unlock(&w->lock);
        ok = npu_job_compute(job);
        qemu_mutex_lock(&w->lock);
        w->running = NULL;
        job->ok = ok;
        job->done = true;
        QSIMPLEQ_INSERT_TAIL(&w->done, job, next);
        qemu_cond_broadcast(&w->finished);
        qemu_bh_schedule(w->bh);
    }
    qemu_mutex_unlock(&w->lock);
    return NULL;
}

static NpuJob *npu_worker_pop_done(NpuWorker *w)
{
    NpuJob *job;

    QEMU_LOCK_GUARD(&w->lock);
    job = QSIMPLEQ_FIRST(&w->done);
    if (job) {
        QSIMPLEQ_REMOVE_HEAD(&w->done, next);
    }
    return job;
}

static void npu_worker_reap(void *opaque)
{
    NpuWorker *w = opaque;
    NpuJob *job;

    while ((job = npu_worker_pop_done(w))) {
        job->reaped = true;
        if (job->released) {
            npu_job_free(job);
        } else {
            w->notify(w->opaque, job);
        }
    }
}

void npu_worker_init(NpuWorker *w, DeviceState *dev,
                     void (*notify)(void *opaque, NpuJob *job), void *opaque)
{
    w->notify = notify;
    w->opaque = opaque;
    QSIMPLEQ_INIT(&w->queue);
    QSIMPLEQ_INIT(&w->done);
    qemu_mutex_init(&w->lock);
    qemu_cond_init(&w->wake);
    qemu_cond_init(&w->finished);
    w->bh = qemu_bh_new_guarded(npu_worker_reap, w,
                                &dev->mem_reentrancy_guard);
    qemu_thread_create(&w->thread, "npu", npu_worker_thread, w,
                       QEMU_THREAD_JOINABLE);
}

void npu_worker_fini(NpuWorker *w)
{
    NpuJob *job;

    WITH_QEMU_LOCK_GUARD(&w->lock) {
        w->stop = true;
        if (w->running) {
            qatomic_set(&w->running->cancel, 1);
        }
        qemu_cond_signal(&w->wake);
    }
    qemu_thread_join(&w->thread);
    qemu_bh_delete(w->bh);
    QSIMPLEQ_CONCAT(&w->done, &w->queue);
    while ((job = QSIMPLEQ_FIRST(&w->done))) {
        QSIMPLEQ_REMOVE_HEAD(&w->done, next);
        npu_job_free(job);
    }
    qemu_cond_destroy(&w->finished);
    qemu_cond_destroy(&w->wake);
    qemu_mutex_destroy(&w->lock);
}

void npu_worker_submit(NpuWorker *w, NpuJob *job)
{
    QEMU_LOCK_GUARD(&w->lock);
    QSIMPLEQ_INSERT_TAIL(&w->queue, job, next);
    qemu_cond_signal(&w->wake);
}

/* True if the thread has not come to it yet, and will not now. */
static bool npu_worker_take_back(NpuWorker *w, NpuJob *job)
{
    QEMU_LOCK_GUARD(&w->lock);
    if (job->done || job == w->running) {
        return false;
    }
    QSIMPLEQ_REMOVE(&w->queue, job, NpuJob, next);
    return true;
}

/* A guest that resets its cores faster than they compute piles nothing up. */
void npu_worker_release(NpuWorker *w, NpuJob *job)
{
    qatomic_set(&job->cancel, 1);
    job->released = true;
    if (job->reaped || npu_worker_take_back(w, job)) {
        npu_job_free(job);
    }
}

bool npu_worker_is_done(NpuWorker *w, NpuJob *job)
{
    QEMU_LOCK_GUARD(&w->lock);
    return job->done;
}

/* Signals end QEMU while the main loop, which sees no other end, is here. */
bool npu_worker_wait(NpuWorker *w, NpuJob *job)
{
    QEMU_LOCK_GUARD(&w->lock);
    while (!job->done && !qemu_shutdown_requested_get()) {
        qemu_cond_timedwait(&w->finished, &w->lock, WAIT_MS);
    }
    return job->done;
}
