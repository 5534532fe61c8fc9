/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of an RK3588 NPU core, shared by the device and its program
 * controller.
 */
#ifndef HW_NPU_RK3588_NPU_INTERNAL_H
#define HW_NPU_RK3588_NPU_INTERNAL_H

#include "qemu/timer.h"
#include "hw/sysbus.h"
#include "hw/npu/rk3588_npu.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk_iommu.h"
#include "rk3588_npu_regs.h"
#include "rk3588_npu_task.h"
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

struct Rk3588NpuState {
    SysBusDevice parent_obj;

    /* properties */
    uint32_t core_index;
    uint32_t clock_hz;
    bool write_padding;
    bool idle_ppu_rdma;     /* runs where the DPU feeds the PPU */
    bool ppu_sets_dpu_done; /* the interrupt bit of the DPU, too */
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
     * One register file for both groups of every block: a task inherits what
     * it does not write from the task before.  Whether silicon inherits from
     * the previous task or the one before that is unknown.
     */
    uint32_t regs[NPU_REGFILE_WORDS];
    bool executer[NPU_BLOCK_NUM];       /* group that executes */
    NpuLut lut;

    uint32_t int_raw;
    uint32_t int_open;      /* raw bits that the mask lets through */
    bool irq_lost;
    bool irq_spurious;
    bool irq_level;
    QEMUTimer spurious_timer;

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
    uint32_t latched[NPU_REGFILE_WORDS];
    QEMUTimer timer;        /* the next step of the phase */

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

/* Register write of the PC's command stream or of a CPU, block CNA and up. */
void npu_block_write(Rk3588NpuState *s, uint32_t offset, uint32_t value);
uint32_t npu_block_read(Rk3588NpuState *s, uint32_t offset);

/* PC_OPERATION_ENABLE rose. */
void npu_pc_kick(Rk3588NpuState *s);
/* GLOBAL_OPERATION_ENABLE was written. */
void npu_pc_enable(Rk3588NpuState *s, uint32_t enable);
/* Continue whatever waits: timer, retry by the IOMMU, clock restored. */
void npu_pc_step(void *opaque);
void npu_pc_retry(void *opaque);
void npu_pc_job_done(void *opaque, NpuJob *job);
/* Forget everything in flight; a hang survives if @stuck. */
void npu_pc_abort(Rk3588NpuState *s, bool stuck);
/* Make the step of the phase due after loading a migrated state. */
void npu_pc_resume(Rk3588NpuState *s);

#endif
