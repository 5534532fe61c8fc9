/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of an RK3588 NPU core, shared by the device and its program
 * controller.
 */
#ifndef HW_NPU_RK3588_NPU_INTERNAL_H
#define HW_NPU_RK3588_NPU_INTERNAL_H

#include "qemu/timer.h"
#include "qemu/units.h"
#include "hw/sysbus.h"
#include "hw/npu/rk3588_npu.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk_iommu.h"
#include "compute/regs.h"
#include "compute/task.h"
#include "compute/timing.h"
#include "rk3588_npu_worker.h"

typedef enum NpuPhase {
    NPU_PHASE_IDLE,
    NPU_PHASE_FETCH,    /* reading commands */
    NPU_PHASE_START,    /* registers latched, task about to start */
    NPU_PHASE_LOAD,     /* reading operands */
    NPU_PHASE_RUN,      /* computing until the deadline */
    NPU_PHASE_STORE,    /* writing results */
    NPU_PHASE_HUNG,     /* until reset */
    NPU_PHASE_NUM,
} NpuPhase;

typedef enum NpuResetCause {
    NPU_RESET_MACHINE,
    NPU_RESET_LINE,     /* of the CRU */
    NPU_RESET_POWER,    /* lost */
} NpuResetCause;

struct Rk3588NpuState {
    SysBusDevice parent_obj;

    /* properties */
    uint32_t core_index;
    uint32_t clock_hz;
    bool write_padding;
    bool idle_ppu_rdma;     /* runs where the DPU feeds the PPU */
    bool ppu_sets_dpu_done; /* the interrupt bit of the DPU, too */
    bool pp_banks;          /* two register files, see below */
    bool pc_prefetch;       /* the next segment, while a task executes */
    RkIommuState *iommu;
    Rk3588NpuCtlState *ctl;

    MemoryRegion iomem;
    qemu_irq irq;
    NpuWorker worker;

    /* inputs; they survive a reset of this device */
    bool power;
    bool aclk;
    bool hclk;
    bool in_reset[2];

    /*
     * Group 1 has its own registers from offset 8 on, so a task inherits what
     * it does not write from the task before the last.  Without pp_banks both
     * groups share the first file.
     */
    uint32_t regs[NPU_REGFILE_WORDS];
    uint32_t regs1[NPU_REGFILE_WORDS];
    bool executer[NPU_BLOCK_NUM];       /* group that executes */
    NpuLut lut;

    uint32_t int_raw;
    uint32_t int_open;      /* raw bits that the mask lets through */
    bool irq_lost;
    bool irq_spurious;
    bool irq_level;
    QEMUTimer spurious_timer;   /* end of irq_spurious */
    QEMUTimer late_timer;       /* end of irq_lost */
    QEMUTimer dup_timer;        /* start of irq_spurious */

    /* program controller */
    uint32_t phase;         /* NpuPhase */
    bool blocked;           /* an access waits for the IOMMU */
    bool held;              /* a step is due but the clocks are off */
    bool late;              /* the deadline passed before the arithmetic */
    uint32_t fetch_addr;
    uint32_t fetch_left;    /* bytes */
    uint32_t next_addr;
    uint32_t next_amount;
    uint32_t tasks_wanted;
    uint32_t tasks_done;    /* since the kick */
    uint32_t enable;        /* blocks of the task in flight */
    uint32_t group;         /* bitmap of blocks: the group it executes in */
    uint32_t latched[NPU_REGFILE_WORDS];
    QEMUTimer timer;        /* the next step of the phase */
    bool slave;             /* the task was not fetched */
    uint32_t armed;         /* blocks that op-enables of their own started */

    /* the next task, of which the other groups hold the registers */
    bool prefetching;       /* into fetch_addr, fetch_left */
    bool pending;
    uint32_t pend_enable;
    uint32_t pend_regs[NPU_REGFILE_WORDS];
    QEMUTimer fetch_timer;

    /* progress of the task in phase RUN, see rk3588_npu_progress.c */
    bool run_fixed;         /* cycles are ns of a fixed latency */
    uint64_t run_cycles;
    uint64_t run_bytes;
    uint64_t run_left;      /* 1e-9 cycles */
    uint64_t run_rate;      /* cycles per second since run_since */
    int64_t run_since;
    uint32_t run_events;    /* bitmap: have passed, or never come */
    uint64_t run_event_left[NPU_EVENT_NUM]; /* run_left when they come */
    bool resumed;           /* by migration: operands are loaded again */

    NpuTask task;
    NpuJob *job;
    /* What the last task left in CBUF, for DATA_REUSE and WEIGHT_REUSE. */
    NpuBuf *cbuf_feature;
    NpuBuf *cbuf_weights;

    /* CBUF as it migrates */
    NpuCube mig_cube;
    uint32_t mig_feature_size;
    uint32_t mig_weights_size;
    uint8_t *mig_feature;
    uint8_t *mig_weights;
};

static inline bool npu_clocked(const Rk3588NpuState *s)
{
    return s->power && s->aclk && s->hclk;
}

void npu_update_irq(Rk3588NpuState *s);

/*
 * Armed faults.  The raw bits that @bits of a task become; the last task of a
 * chain is over; software clears @bits; where a program is fetched from; do
 * registers not answer (*value is what they read); does a hang survive.
 */
uint32_t npu_fault_done_bits(Rk3588NpuState *s, uint32_t bits);
void npu_fault_completion(Rk3588NpuState *s);
void npu_fault_cleared(Rk3588NpuState *s, uint32_t bits);
uint32_t npu_fault_regcmd(Rk3588NpuState *s, uint32_t addr);
bool npu_fault_dead(Rk3588NpuState *s, uint32_t *value);
bool npu_fault_keeps_hang(Rk3588NpuState *s, NpuResetCause cause);
void npu_fault_end_spurious(Rk3588NpuState *s);
void npu_fault_reset(Rk3588NpuState *s);
void npu_fault_realize(Rk3588NpuState *s);
void npu_fault_unrealize(Rk3588NpuState *s);

/* Register write of the PC's command stream or of a CPU, block CNA and up. */
void npu_block_write(Rk3588NpuState *s, uint32_t offset, uint32_t value);
uint32_t npu_block_read(Rk3588NpuState *s, uint32_t offset);

/* Is @block one of the task in flight? */
bool npu_block_enabled(const Rk3588NpuState *s, unsigned block);
/* The registers that accesses to @block reach. */
uint32_t *npu_group_regs(Rk3588NpuState *s, unsigned block);
/* Copy what an op-enable makes a task of. */
void npu_groups_snapshot(Rk3588NpuState *s, uint32_t *to);
/* Pointers of @enable that toggle at op-enable, or at the end of a task. */
void npu_groups_toggle_pointers(Rk3588NpuState *s, uint32_t enable,
                                bool by_pointer);
void npu_groups_toggle_executers(Rk3588NpuState *s);
/* The task in flight starts in the groups whose turn it is. */
void npu_groups_execute(Rk3588NpuState *s);
/* Was a task of @enable written to groups that do not execute next? */
bool npu_groups_wrong(Rk3588NpuState *s, uint32_t enable);
/* Was the task in flight set up for another core? */
bool npu_groups_wrong_core(const Rk3588NpuState *s);
/* Does the task in flight need registers that @enable would take? */
bool npu_groups_taken(Rk3588NpuState *s, uint32_t enable);
/* Does writing S_POINTER change how the task in flight goes on? */
bool npu_groups_change(Rk3588NpuState *s, unsigned block, uint32_t value);

/* PC_OPERATION_ENABLE rose. */
void npu_pc_kick(Rk3588NpuState *s);
/* GLOBAL_OPERATION_ENABLE was written. */
void npu_pc_enable(Rk3588NpuState *s, uint32_t enable);
/* Continue whatever waits: timer, retry by the IOMMU, clock restored. */
void npu_pc_step(void *opaque);
void npu_pc_retry(void *opaque);
void npu_pc_job_done(void *opaque, NpuJob *job);
/* Forget what is in flight, as if it had never been. */
void npu_pc_forget(Rk3588NpuState *s);
/* End everything in flight; a hang survives if @stuck. */
void npu_pc_abort(Rk3588NpuState *s, bool stuck);
/* Make the step of the phase due after loading a migrated state. */
void npu_pc_resume(Rk3588NpuState *s);

/* Slave mode: an op-enable register of @block was written 1. */
void npu_pc_enable_block(Rk3588NpuState *s, unsigned block);
/* Reads ahead while a task executes. */
void npu_pc_prefetch(void *opaque);
/* Hangs, with the reason told. */
void npu_pc_unimplemented(Rk3588NpuState *s, const char *why);
void npu_pc_out_of_memory(Rk3588NpuState *s);

/* --- Memory of a task --- */

/*
 * Core 0 has two AXI masters and so two translation banks; that the second
 * one is for commands and weights is inferred.  Other cores have one.
 */
enum {
    NPU_BANK_DATA = 0,
    NPU_BANK_PROGRAM = 1,
};

typedef struct NpuSpanDma {
    Rk3588NpuState *s;
    uint8_t *buf;
    bool write;
} NpuSpanDma;

/* True if the access is complete; otherwise the phase waits or has ended. */
bool npu_pc_dma(Rk3588NpuState *s, unsigned bank, uint32_t iova,
                void *buf, size_t len, bool write);
/* For the walks over an operand; @opaque is an NpuSpanDma. */
bool npu_pc_dma_span(void *opaque, uint64_t iova, size_t offset,
                     size_t len);

/* False as npu_pc_dma(), or if the task is one that has to hang. */
bool npu_operands_to_cbuf(Rk3588NpuState *s);
bool npu_operands_to_job(Rk3588NpuState *s, NpuJob *job);
/* Warns of what silicon computes garbage from. */
void npu_operands_check_cbuf(Rk3588NpuState *s);

/* Start counting down; @fixed_ns replaces the cycles unless it is 0. */
void npu_progress_start(Rk3588NpuState *s, const NpuCost *cost,
                        uint64_t fixed_ns);
/* Go on with what a migration brought. */
void npu_progress_resume(Rk3588NpuState *s);
/*
 * Bitmap of NpuEvent that have come since; run_left is 0 at the end, otherwise
 * the timer is set to the next event.
 */
uint32_t npu_progress_update(Rk3588NpuState *s);
void npu_progress_stop(Rk3588NpuState *s);
/* The share of the memory has changed. */
void npu_progress_changed(void *opaque);
/* Clock, gates or power have changed. */
void npu_progress_clock(Rk3588NpuState *s);

#endif
