// SPDX-License-Identifier: GPL-2.0-only
/* Owns what a core tells: interrupts, what polling finds instead of them, page faults. */
#include <linux/cleanup.h>
#include <linux/interrupt.h>

#include "hw/rknpu_core.h"
#include "hw/rknpu_pc.h"
#include "hw/rknpu_regs.h"
#include "rknpu_end.h"
#include "rknpu_irq.h"
#include "rknpu_penalty.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched_types.h"

/* Lock held. Returns a job that is over by that, see rknpu_end_kick(). */
static struct rknpu_job *rknpu_irq_handle_status(struct rknpu_runqueue *rq, u32 status)
{
	struct rknpu_core *core = rq->core;

	switch (rq->state) {
	case RKNPU_CORE_RUNNING:
		rq->job->result.int_status = status;
		if (!(status & rknpu_pc_errors(core)))
			return rknpu_pc_over(core, status) ? rknpu_end_kick(rq) : NULL;
		rknpu_pc_mask(core);
		rknpu_runqueue_start_recovery(rq, status & RKNPU_INT_DMA_WRITE_ERROR ?
				    RKNPU_CAUSE_DMA_WRITE : RKNPU_CAUSE_DMA_READ);
		return NULL;
	case RKNPU_CORE_RECOVERING:
		/* Recovery wants to see what was pending. */
		rknpu_pc_mask(core);
		return NULL;
	default:
		rknpu_pc_quiesce(core);
		return NULL;
	}
}

/*
 * The line is shared with the core's IOMMU, and CONFIG_DEBUG_SHIRQ calls this
 * at any time until it is freed: registers only while powered.
 */
irqreturn_t rknpu_irq_handler(int irq, void *data)
{
	struct rknpu_core *core = data;
	struct rknpu_runqueue *rq = to_rknpu_runqueue(core);
	struct rknpu_job *over = NULL;
	unsigned long flags;
	u32 status = 0;

	spin_lock_irqsave(&core->hw->lock, flags);
	if (core->powered && !READ_ONCE(core->parked))
		status = rknpu_pc_status(core);
	if (status) {
		rq->irq_seen = true;
		rq->lost_irqs = 0;
		rknpu_core_stat_add(core, RKNPU_CORE_STAT_IRQS, 1);
		over = rknpu_irq_handle_status(rq, status);
	}
	spin_unlock_irqrestore(&core->hw->lock, flags);

	if (over)
		rknpu_end_over(rq, over);
	return status ? IRQ_HANDLED : IRQ_NONE;
}

/* Lock held. */
static bool rknpu_irq_is_polled(const struct rknpu_runqueue *rq)
{
	return rq->state == RKNPU_CORE_RUNNING && rq->core->polled;
}

/* Lock held. As rknpu_irq_handle_status() while RUNNING, if nothing interrupts. */
static struct rknpu_job *rknpu_irq_poll_kick(struct rknpu_runqueue *rq)
{
	struct rknpu_core *core = rq->core;
	u32 status;

	if (!rknpu_irq_is_polled(rq) || rq->ending || !core->powered || core->irq_off)
		return NULL;
	rknpu_core_stat_add(core, RKNPU_CORE_STAT_POLLS, 1);
	if (!rknpu_pc_polled(core, &status))
		return NULL;

	rq->job->result.int_status = status;
	if (!(status & rknpu_pc_errors(core)))
		return rknpu_end_kick(rq);
	rknpu_runqueue_start_recovery(rq, status & RKNPU_INT_DMA_WRITE_ERROR ?
			    RKNPU_CAUSE_DMA_WRITE : RKNPU_CAUSE_DMA_READ);
	return NULL;
}

bool rknpu_irq_poll(struct rknpu_core *core)
{
	struct rknpu_runqueue *rq = to_rknpu_runqueue(core);
	struct rknpu_job *over = NULL;
	bool again;

	scoped_guard(spinlock_irqsave, &core->hw->lock) {
		over = rknpu_irq_poll_kick(rq);
		/* A core whose line is off is about to be recovered, or comes back. */
		again = rknpu_irq_is_polled(rq);
	}
	if (over)
		rknpu_end_over(rq, over);
	return again;
}

/* Lock held. A core that goes to sleep may not be powered up any more: that has to wait. */
static bool rknpu_irq_recovers_from_fault(struct rknpu_runqueue *rq)
{
	return rq->state == RKNPU_CORE_RUNNING || (rq->state == RKNPU_CORE_IDLE && !rq->frozen);
}

void rknpu_irq_iommu_fault(struct rknpu_core *core, struct rknpu_domain *domain,
			   unsigned long iova, bool write)
{
	struct rknpu_runqueue *rq = to_rknpu_runqueue(core);

	guard(spinlock_irqsave)(&core->hw->lock);
	rknpu_core_stat_add(core, RKNPU_CORE_STAT_FAULTS, 1);
	/*
	 * The IOMMU lets the access be retried, and nothing ends that but a
	 * reset of the core. Until then the line must not storm, whatever the
	 * core is doing. One that starts a job, perhaps below, finds the line
	 * off, and resets first.
	 */
	rknpu_core_mask_irq(core);
	if (rq->state == RKNPU_CORE_IDLE || rq->state == RKNPU_CORE_STARTING)
		rknpu_penalty_stray(rq, domain);
	/* Also of one that sleeps first: it recovers afterwards. */
	if (rq->state == RKNPU_CORE_RUNNING || rq->state == RKNPU_CORE_IDLE) {
		rq->fault.iova = iova;
		rq->fault.write = write;
	}
	if (rknpu_irq_recovers_from_fault(rq))
		rknpu_runqueue_start_recovery(rq, RKNPU_CAUSE_IOMMU_FAULT);
}
