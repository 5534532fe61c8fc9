/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operands and results of a task of an RK3588 NPU core: between memory, CBUF
 * and the job that computes.
 */
#ifndef HW_NPU_RK3588_NPU_OPERANDS_H
#define HW_NPU_RK3588_NPU_OPERANDS_H

#include "rk3588_npu_dma.h"
#include "rk3588_npu_tail.h"
#include "rk3588_npu_worker.h"

#define NPU_CBUF_SIZE   (NPU_CBUF_BANKS * NPU_CBUF_BANK_BYTES)

/* What tasks left in CBUF, for DATA_REUSE and WEIGHT_REUSE. */
typedef struct NpuCbuf {
    /* what the last task had there, whether its banks sufficed or not */
    NpuBuf *feature;
    NpuBuf *weights;
    bool in_flight;     /* the former is that of the task in flight */

    /* what the banks hold, all tasks since power came together */
    uint8_t ram[NPU_CBUF_SIZE];
    uint32_t used;  /* bitmap of banks that something was ever loaded into */

    /* as it migrates */
    struct {
        NpuCube cube;
        uint32_t feature_size;
        uint32_t weights_size;
        uint8_t *feature;
        uint8_t *weights;
    } mig;
} NpuCbuf;

extern const VMStateDescription vmstate_npu_cbuf;

/* Loss of power. */
void npu_cbuf_drop(NpuCbuf *cbuf);
/* Fill it with anything, by @x; nothing if that is 0. */
void npu_cbuf_fill(NpuCbuf *cbuf, uint32_t x);
/* A task starts: what is there is of those before. */
void npu_cbuf_next_task(NpuCbuf *cbuf);
/*
 * Make CBUF hold what a convolution reads, for the first time or again, from
 * npu_cbuf_next_task() on the same one.  @why is set if the model cannot.
 */
NpuMemResult npu_cbuf_load(NpuCbuf *cbuf, const NpuEnv *env, const NpuTask *t,
                           const char **why);
/* The feature data that the array of a convolution reads. */
NpuBuf *npu_cbuf_feature(const NpuCbuf *cbuf, const NpuTask *t);
/* Warns of what silicon computes garbage from. */
void npu_cbuf_check(const NpuEnv *env, const NpuTask *t);

/* What DPU and PPU fetch themselves. */
NpuMemResult npu_operands_load(const NpuEnv *env, const NpuTask *t,
                               NpuJob *job);
/* @tail takes the last bytes if they are late; NULL: none are. */
NpuMemResult npu_results_store(const NpuEnv *env, const NpuTask *t,
                               uint8_t *out, NpuTail *tail);

#endif
