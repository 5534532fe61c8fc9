/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Register groups of an RK3588 NPU core: each block has two, which software
 * writes and which execute in turns.  Nothing here starts anything.
 */
#ifndef HW_NPU_RK3588_NPU_GROUPS_H
#define HW_NPU_RK3588_NPU_GROUPS_H

#include "compute/lut.h"
#include "compute/regs.h"
#include "rk3588_npu_env.h"

typedef struct NpuGroups {
    const NpuEnv *env;
    bool pp_banks;          /* two register files, see below */

    /*
     * Group 1 has its own registers from offset 8 on, so a task inherits what
     * it does not write from the task before the last.  Without pp_banks both
     * groups share the first file.  The PC's registers are in the first.
     */
    uint32_t regs[NPU_REGFILE_WORDS];
    uint32_t regs1[NPU_REGFILE_WORDS];
    bool executer[NPU_BLOCK_NUM];       /* group that executes */
    uint32_t done[2];                   /* blocks that have executed in it */
    NpuLut lut;

    /* the task in flight */
    uint32_t enable;        /* its blocks */
    uint32_t group;         /* bitmap of blocks: the group it executes in */
    uint32_t latched[NPU_REGFILE_WORDS];
} NpuGroups;

extern const VMStateDescription vmstate_npu_groups;

/* Registers; the tables of the LUT are RAM and stay. */
void npu_groups_reset(NpuGroups *g);

/*
 * Register write of the PC's command stream or of a CPU, block CNA and up.
 * True for an op-enable of the block, which is left to the caller.
 */
bool npu_groups_write(NpuGroups *g, uint32_t offset, uint32_t value);
/* @runs and @waits are bitmaps of blocks as in op-enable registers. */
uint32_t npu_groups_read(NpuGroups *g, uint32_t offset, uint32_t runs,
                         uint32_t waits);

/* Is @block one of the task in flight? */
bool npu_block_enabled(const NpuGroups *g, unsigned block);
/* The registers that accesses to @block reach. */
uint32_t *npu_group_regs(NpuGroups *g, unsigned block);
/* Copy what an op-enable makes a task of. */
void npu_groups_snapshot(NpuGroups *g, uint32_t *to);
/* Pointers of @enable that toggle at op-enable, or at the end of a task. */
void npu_groups_toggle_pointers(NpuGroups *g, uint32_t enable,
                                bool by_pointer);
/* The task in flight is done. */
void npu_groups_finish(NpuGroups *g);
/* The task in flight starts in the groups whose turn it is. */
void npu_groups_execute(NpuGroups *g);
/* Was a task of @enable written to groups that do not execute next? */
bool npu_groups_wrong(NpuGroups *g, uint32_t enable);
/* Was the task in flight set up for another core than @core? */
bool npu_groups_wrong_core(const NpuGroups *g, uint32_t core);
/* Does the task in flight need registers that @enable would take? */
bool npu_groups_taken(NpuGroups *g, uint32_t enable);
/* Does writing S_POINTER change how the task in flight goes on? */
bool npu_groups_change(NpuGroups *g, unsigned block, uint32_t value);

#endif
