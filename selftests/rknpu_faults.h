/* SPDX-License-Identifier: GPL-2.0-only */
/* The failures of the hardware that the model has on demand, and what has to come of each: one row per failure. */
#ifndef RKNPU_FAULTS_H
#define RKNPU_FAULTS_H

#include "rknpu_util.h"

enum rk_fault_when {
	/* Armed while the cores are awake, then jobs. */
	RK_WHEN_AWAKE,
	/* Armed while they are off. */
	RK_WHEN_ASLEEP,
	/* Armed while jobs run. */
	RK_WHEN_BUSY,
};

struct rk_fault {
	uint32_t kind;
	uint32_t param;
	/* How often it happens, 0: always. */
	uint32_t times;
	/* Tasks of a long job that are done before it does. */
	uint32_t skip;
	enum rk_fault_when when;
	/* Armed with it: a hang, and that no reset ends the hang. */
	bool hang;
	bool stuck;

	/* How the job ends that meets it, and what WAIT_JOB says of that. */
	int err;
	uint32_t cause;
	uint32_t result;
	/* The page that faulted, if it is none of the job's own. */
	uint64_t page;
	/* What is added to an address of the job's own. */
	uint64_t elsewhere;
	/* Found out before the deadline of the task, or not. */
	bool early;
	bool late;
	/* The core does nothing at all, and the driver tries the job once more. */
	bool never_starts;

	/* The core is out of service until the device is bound again. */
	bool retires;
	/* Before a job has started there, so that jobs which may run elsewhere do. */
	bool gone;
	/* With one IOMMU for all cores no core is left: it can neither be programmed nor switched off. */
	bool takes_all;
	/* Unless the others slept already, so that its power could be taken away. */
	bool power_helps;
	/* The kernel polls ten million times: on one core only, unless there is time (RKNPU_LONG). */
	bool slow;
};

#define RK_ENDS_DONE	.cause = DRM_ROCKET_CAUSE_DONE
#define RK_ENDS_LATE	.cause = DRM_ROCKET_CAUSE_TIMEOUT, .err = -ETIME, .late = true
#define RK_ENDS_FAULT	.cause = DRM_ROCKET_CAUSE_IOMMU_FAULT, .err = -EFAULT, .early = true
#define RK_ENDS_GONE	.cause = DRM_ROCKET_CAUSE_DEVICE_GONE, .retires = true, .gone = true, .takes_all = true

/* Those that any driver of mainline's ABI has to cope with. */
#define RK_FAULT_NEVER_START							\
	.kind = NPU_FAULT_NEVER_START, .times = 2, .never_starts = true,	\
	.cause = DRM_ROCKET_CAUSE_NEVER_STARTED, .err = -ETIME, .late = true
#define RK_FAULT_HANG		.kind = NPU_FAULT_HANG, .times = 1, .skip = 2, RK_ENDS_LATE
#define RK_FAULT_DMA_READ							\
	.kind = NPU_FAULT_DMA_READ, .times = 1, .skip = 1, .early = true,	\
	.cause = DRM_ROCKET_CAUSE_DMA_READ, .err = -EIO
#define RK_FAULT_DMA_WRITE							\
	.kind = NPU_FAULT_DMA_WRITE, .times = 1, .skip = 2, .early = true,	\
	.cause = DRM_ROCKET_CAUSE_DMA_WRITE, .err = -EIO
/* The work was done, and the raw status says so: the deadline finds that out. */
#define RK_FAULT_IRQ_LOST							\
	.kind = NPU_FAULT_IRQ_LOST, .times = 1, .skip = 2, .late = true, RK_ENDS_DONE

/* ROW(name, fields of struct rk_fault...) for each. */
#define RK_FAULTS(ROW)								\
	ROW(never_start, RK_FAULT_NEVER_START, .result = DRM_ROCKET_RESULT_RERUN)	\
	ROW(never_start_once, .kind = NPU_FAULT_NEVER_START, .times = 1,	\
	    .never_starts = true, .early = true, .result = DRM_ROCKET_RESULT_RERUN,	\
	    RK_ENDS_DONE)							\
	ROW(hang, RK_FAULT_HANG)						\
	ROW(irq_lost, RK_FAULT_IRQ_LOST)					\
	ROW(irq_late, .kind = NPU_FAULT_IRQ_LATE, .param = 3000000, .times = 1,	\
	    .early = true, RK_ENDS_DONE)					\
	/* After the deadline, on slow kernels, too. */				\
	ROW(irq_too_late, .kind = NPU_FAULT_IRQ_LATE, .param = 2000000000,	\
	    .times = 1, .late = true, RK_ENDS_DONE)				\
	ROW(irq_dup, .kind = NPU_FAULT_IRQ_DUP, .times = 1, .early = true,	\
	    RK_ENDS_DONE)							\
	/* While the next job runs. */						\
	ROW(irq_dup_later, .kind = NPU_FAULT_IRQ_DUP, .param = 500000,		\
	    .times = 1, .early = true, RK_ENDS_DONE)				\
	ROW(irq_spurious, .kind = NPU_FAULT_IRQ_SPURIOUS, .times = 1,		\
	    .when = RK_WHEN_BUSY, .early = true, RK_ENDS_DONE)			\
	ROW(irq_mmu, .kind = NPU_FAULT_IRQ_MMU, .times = 1, .early = true,	\
	    RK_ENDS_DONE)							\
	/* A bus error that no access had. */					\
	ROW(irq_mmu_bus, .kind = NPU_FAULT_IRQ_MMU, .param = 2, .times = 1,	\
	    .early = true, RK_ENDS_DONE)					\
	/* Without the bit that is waited for, and with nothing but that. */	\
	ROW(irq_partial, .kind = NPU_FAULT_IRQ_PARTIAL, .param = 0x3f,		\
	    .times = 1, RK_ENDS_LATE)						\
	ROW(irq_partial_dpu, .kind = NPU_FAULT_IRQ_PARTIAL, .param = 0x300,	\
	    .times = 1, .early = true, RK_ENDS_DONE)				\
	ROW(dma_read, RK_FAULT_DMA_READ)					\
	ROW(dma_write, RK_FAULT_DMA_WRITE)					\
	ROW(regcmd_unmapped, .kind = NPU_FAULT_REGCMD_ADDR, .param = 0x40000000,	\
	    .times = 1, .skip = 1, .elsewhere = 0x40000000, RK_ENDS_FAULT)	\
	/* Another page of the same buffer. */					\
	ROW(regcmd_garbage, .kind = NPU_FAULT_REGCMD_ADDR, .param = 0x1000,	\
	    .times = 2, .never_starts = true, .late = true,			\
	    .result = DRM_ROCKET_RESULT_RERUN,					\
	    .cause = DRM_ROCKET_CAUSE_NEVER_STARTED, .err = -ETIME)		\
	ROW(mmu_read, .kind = NPU_FAULT_MMU_READ, .times = 1, RK_ENDS_FAULT)	\
	ROW(mmu_read_elsewhere, .kind = NPU_FAULT_MMU_READ, .times = 1,		\
	    .param = 0xdeadb000, .page = 0xdeadb000, RK_ENDS_FAULT)		\
	ROW(mmu_write, .kind = NPU_FAULT_MMU_WRITE, .times = 1,			\
	    .result = DRM_ROCKET_RESULT_FAULT_WRITE, RK_ENDS_FAULT)		\
	ROW(mmu_write_elsewhere, .kind = NPU_FAULT_MMU_WRITE, .times = 1,	\
	    .param = 0xdeadb000, .page = 0xdeadb000,				\
	    .result = DRM_ROCKET_RESULT_FAULT_WRITE, RK_ENDS_FAULT)		\
	ROW(mmu_stall, .kind = NPU_FAULT_MMU_STALL, .when = RK_WHEN_ASLEEP,	\
	    .early = true, RK_ENDS_DONE)					\
	ROW(mmu_reset, .kind = NPU_FAULT_MMU_RESET, .times = 1,			\
	    .when = RK_WHEN_ASLEEP, .early = true, RK_ENDS_DONE)		\
	ROW(mmu_reset_always, .kind = NPU_FAULT_MMU_RESET,			\
	    .when = RK_WHEN_ASLEEP, RK_ENDS_GONE)				\
	ROW(mmu_paging, .kind = NPU_FAULT_MMU_PAGING, .times = 1,		\
	    .when = RK_WHEN_ASLEEP, .early = true, RK_ENDS_DONE)		\
	ROW(mmu_paging_always, .kind = NPU_FAULT_MMU_PAGING,			\
	    .when = RK_WHEN_ASLEEP, RK_ENDS_GONE)				\
	ROW(reset_stuck, .kind = NPU_FAULT_RESET_STUCK, .times = 1,		\
	    .hang = true, RK_ENDS_LATE)						\
	ROW(reset_stuck_always, .kind = NPU_FAULT_RESET_STUCK, .hang = true,	\
	    .takes_all = true, .power_helps = true, RK_ENDS_LATE)		\
	/* Nor does taking its power away. */					\
	ROW(off_stuck, .kind = NPU_FAULT_OFF_STUCK, .times = 1, .hang = true,	\
	    .stuck = true, .retires = true, .takes_all = true, .slow = true,	\
	    RK_ENDS_LATE)							\
	ROW(dead_ones, .kind = NPU_FAULT_CORE_DEAD, .param = 0xffffffff,	\
	    .when = RK_WHEN_ASLEEP, RK_ENDS_GONE)				\
	ROW(dead_zeroes, .kind = NPU_FAULT_CORE_DEAD,				\
	    .when = RK_WHEN_ASLEEP, RK_ENDS_GONE)

/* On one core, after @skip of its tasks. */
static inline void rk_fault_arm_row(const struct rk_fault *f, unsigned int core, uint32_t skip)
{
	if (f->hang)
		rk_fault_arm(core, NPU_FAULT_HANG, 0, 1);
	if (f->stuck)
		rk_fault_arm(core, NPU_FAULT_RESET_STUCK, 0, 0);
	rk_fault_arm_param(core, f->kind, skip, f->times, f->param);
}

/* Tasks that the driver gives up, or starts once more. */
static inline unsigned int rk_fault_timeouts(const struct rk_fault *f)
{
	return f->never_starts ? f->times : f->err == -ETIME;
}

#endif /* RKNPU_FAULTS_H */
