/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Program controller of an RK3588 NPU core: runs tasks one after the other.
 */
#ifndef HW_NPU_RK3588_NPU_PC_H
#define HW_NPU_RK3588_NPU_PC_H

#include "rk3588_npu_fetch.h"
#include "rk3588_npu_irq.h"
#include "rk3588_npu_operands.h"
#include "rk3588_npu_progress.h"
#include "rk3588_npu_worker.h"

typedef enum NpuPhase {
    NPU_PHASE_IDLE,
    NPU_PHASE_FETCH,    /* reading commands */
    NPU_PHASE_START,    /* registers latched, task about to start */
    NPU_PHASE_LOAD,     /* reading operands */
    NPU_PHASE_RUN,      /* computing until the deadline */
    NPU_PHASE_STORE,    /* writing results */
    NPU_PHASE_HUNG,     /* until reset */
    NPU_PHASE_MEET,     /* between tasks, until other cores are, too */
    NPU_PHASE_EMPTY,    /* a task that does nothing, until it ends */
    NPU_PHASE_NUM,
} NpuPhase;

typedef struct NpuPc {
    const NpuEnv *env;
    NpuGroups *groups;
    NpuIrq *irq;

    /* properties */
    bool write_padding;
    bool idle_ppu_rdma;     /* runs where the DPU feeds the PPU */
    bool prefetch;          /* the next segment, while a task executes */
    uint32_t task_bits;     /* of TASK_CON's number of tasks */
    uint32_t task_status;   /* offset of TASK_STATUS */
    bool pc_done_bits;      /* raw bits 28 and 29: a program's commands ended */
    bool fetch_error;       /* raw bit 16: commands that cannot be read */
    bool no_dma_base;       /* an address in TASK_DMA_BASE_ADDR hangs */
    bool silent_ppu;        /* poolings inside of chains set no bit */
    uint32_t encoding;      /* NpuEncoding: whose registers tasks are in */
    bool empty_tasks;       /* tasks without any register written run */

    uint32_t phase;         /* NpuPhase */
    bool blocked;           /* an access waits for the IOMMU */
    bool held;              /* a step is due but the clocks are off */
    bool late;              /* the deadline passed before the arithmetic */
    bool resumed;           /* by migration: operands are loaded again */
    bool slave;             /* the task was not fetched */
    uint32_t tasks_wanted;
    uint32_t tasks_done;    /* since the kick */
    uint32_t meet;          /* other cores to wait for behind this task */
    uint32_t armed;         /* blocks that op-enables of their own started */
    QEMUTimer timer;        /* the next step of the phase */

    NpuFetch fetch;
    bool prefetching;       /* into fetch */
    QEMUTimer fetch_timer;

    /* the next task, of which the other groups hold the registers */
    struct {
        bool pending;
        uint32_t enable;
        uint32_t regs[NPU_REGFILE_WORDS];
    } next;

    /* the task in flight */
    NpuTask task;
    NpuCbuf cbuf;
    NpuJob *job;
    NpuWorker worker;
    VMChangeStateEntry *vm_change;
    NpuProgress progress;
    NpuTail tail;
} NpuPc;

extern const VMStateDescription vmstate_npu_pc;

void npu_pc_init(NpuPc *pc, const NpuEnv *env, NpuGroups *groups, NpuIrq *irq);
void npu_pc_realize(NpuPc *pc, DeviceState *dev);
void npu_pc_unrealize(NpuPc *pc);

uint32_t npu_pc_task_status(const NpuPc *pc);
void npu_pc_write_task_con(NpuPc *pc, uint32_t value);
/* PC_OPERATION_ENABLE rose. */
void npu_pc_kick(NpuPc *pc);
/* GLOBAL_OPERATION_ENABLE was written. */
void npu_pc_enable(NpuPc *pc, uint32_t enable);
/* Slave mode: an op-enable register of @block was written 1. */
void npu_pc_enable_block(NpuPc *pc, unsigned block);
/* Blocks that execute, and that have been enabled but do not execute yet. */
uint32_t npu_pc_running(const NpuPc *pc);
uint32_t npu_pc_waiting(const NpuPc *pc);

/* Clock, gates or power have changed. */
void npu_pc_clocks_changed(NpuPc *pc);
/* Forget what is in flight, as if it had never been. */
void npu_pc_forget(NpuPc *pc);
/* End everything in flight; a hang survives if @stuck. */
void npu_pc_abort(NpuPc *pc, bool stuck);
/* Make the step of the phase due after loading a migrated state. */
void npu_pc_resume(NpuPc *pc);

#endif
