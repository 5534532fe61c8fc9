/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A task of the RK3588 NPU from registers to results.
 */
#ifndef HW_NPU_COMPUTE_TASK_H
#define HW_NPU_COMPUTE_TASK_H

#include "cna.h"
#include "cube.h"
#include "stage.h"
#include "types.h"

typedef enum NpuCmdKind {
    NPU_CMD_NOP,        /* padding or marker */
    NPU_CMD_WRITE,
    NPU_CMD_ENABLE,     /* starts the task; value = bitmap of blocks */
    NPU_CMD_BAD,
} NpuCmdKind;

typedef struct NpuCmd {
    NpuCmdKind kind;
    bool mismatch;      /* the target is not the block of the register */
    uint16_t target;
    uint16_t reg;
    uint32_t value;
} NpuCmd;

/* Take one entry of a command stream apart. */
NpuCmd npu_cmd_decode(uint64_t entry);

/*
 * Decode @regs as the task that enabling the blocks in @enable starts.
 * If it cannot run, @why says what is in the way.
 */
NpuVerdict npu_task_decode(NpuTask *t, const uint32_t *regs, uint32_t enable,
                           const NpuTaskOptions *opt, const char **why);

/*
 * Compute @t into @out (cube.bytes long).  False if it was cancelled or the
 * host has no memory.
 */
bool npu_task_compute(const NpuTask *t, const NpuOperands *in, uint8_t *out);

#endif
