// SPDX-License-Identifier: GPL-2.0-only
/* Owns cores coming and going: binding, unbinding, system sleep, shutdown. */
#include <linux/cleanup.h>
#include <linux/interrupt.h>
#include <linux/pm_runtime.h>
#include <linux/poll.h>

#include <drm/drm_managed.h>

#include "hw/rknpu_core.h"
#include "rknpu_anticipate.h"
#include "rknpu_client.h"
#include "rknpu_dispatch.h"
#include "rknpu_end.h"
#include "rknpu_irq.h"
#include "rknpu_lifecycle.h"
#include "rknpu_params.h"
#include "rknpu_penalty.h"
#include "rknpu_recover.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched.h"
#include "rknpu_sched_types.h"
#include "rknpu_user.h"
#include "rknpu_watchdog.h"

/* When a job is stopped for system sleep: for the reset, and how often that is looked at. */
#define RKNPU_SCHED_STOP_MS		10000
#define RKNPU_SCHED_STOP_LOOK_MS	100

static int rknpu_sched_init_core(struct rknpu_core *core)
{
	struct rknpu_runqueue *rq = to_rknpu_runqueue(core);

	rq->irq_seen = false;
	rq->lost_irqs = 0;
	rq->wq = alloc_ordered_workqueue("rknpu/%u", WQ_HIGHPRI | WQ_MEM_RECLAIM, core->index);
	return rq->wq ? 0 : -ENOMEM;
}

static void rknpu_sched_fini_core(struct rknpu_core *core)
{
	struct rknpu_runqueue *rq = to_rknpu_runqueue(core);

	destroy_workqueue(rq->wq);
	rq->wq = NULL;
}

static void rknpu_sched_start_core(struct rknpu_core *core)
{
	struct rknpu_runqueue *rq = to_rknpu_runqueue(core);

	guard(spinlock_irq)(&core->hw->lock);
	rq->shared = core->iommu->shared || core->hw->soc->one_cbuf;
	rknpu_runqueue_set_state(rq, RKNPU_CORE_IDLE);
}

const struct rknpu_hw_ops rknpu_sched_hw_ops = {
	.init_core = rknpu_sched_init_core,
	.fini_core = rknpu_sched_fini_core,
	.start_core = rknpu_sched_start_core,
	.irq = rknpu_irq_handler,
	.poll = rknpu_irq_poll,
	.iommu_fault = rknpu_irq_iommu_fault,
	.busy_ns = rknpu_sched_busy_ns,
	.rate_changes = rknpu_sched_rate_changes,
};

static void rknpu_sched_destroy_wq(struct drm_device *drm, void *data)
{
	struct rknpu_sched *sched = data;

	rknpu_penalty_fini(sched);
	destroy_workqueue(sched->wq);
}

static void rknpu_sched_report_lost(struct work_struct *work)
{
	struct rknpu_sched *sched = container_of(work, struct rknpu_sched, losing);

	sched->core_lost(sched);
}

/* As long as the device, whose last reference its work never drops. */
static int rknpu_sched_create_wq(struct rknpu_sched *sched)
{
	INIT_LIST_HEAD(&sched->met);
	INIT_LIST_HEAD(&sched->ready);
	INIT_LIST_HEAD(&sched->ending);
	INIT_WORK(&sched->work, rknpu_end_work);
	INIT_WORK(&sched->losing, rknpu_sched_report_lost);
	rknpu_penalty_init(sched);
	sched->wq = alloc_workqueue("rknpu", WQ_HIGHPRI | WQ_MEM_RECLAIM | WQ_UNBOUND, 3);
	if (!sched->wq)
		return -ENOMEM;
	return drmm_add_action_or_reset(sched->hw->drm, rknpu_sched_destroy_wq, sched);
}

int rknpu_sched_init(struct rknpu_sched *sched, struct rknpu_hw *hw, struct rknpu_mem *mem)
{
	unsigned int i;
	int ret;

	sched->hw = hw;
	sched->mem = mem;
	INIT_LIST_HEAD(&sched->clients);
	ret = rknpu_users_init(sched);
	if (ret)
		return ret;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_runqueue *rq = &sched->rqs[i];

		hw->cores[i].priv = rq;
		rknpu_runqueue_init(rq, sched, &hw->cores[i]);
		rknpu_anticipate_init(rq, rknpu_dispatch_anticipated);
		/* Of cores that there are not, too: system sleep flushes all. */
		INIT_WORK(&rq->work, rknpu_recover_work);
		INIT_DELAYED_WORK(&rq->watchdog, rknpu_watchdog_work);
	}
	ret = rknpu_dumps_init(&sched->dumps, hw->drm);
	return ret ?: rknpu_sched_create_wq(sched);
}

static void rknpu_sched_set_absent(struct rknpu_runqueue *rq)
{
	guard(spinlock_irq)(&rq->sched->hw->lock);
	rknpu_runqueue_set_state(rq, RKNPU_CORE_ABSENT);
}

static void rknpu_sched_end_dropped(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job = NULL;

	scoped_guard(spinlock_irq, &rq->sched->hw->lock)
		job = rknpu_dispatch_drop_job(rq);
	if (!job)
		return;
	/* Without power it was retired with the job on it, and is in reset. */
	if (rq->pm_held && rknpu_core_reset_locked(rq->core))
		rknpu_core_park(rq->core);
	rknpu_end_job(job, RKNPU_CAUSE_DEVICE_GONE);
}

static void rknpu_sched_stop_core(struct rknpu_runqueue *rq)
{
	struct rknpu_core *core = rq->core;

	if (!core->dev)
		return;
	rknpu_core_disable_irq(core);
	rknpu_sched_set_absent(rq);
	rknpu_anticipate_stop(rq);
	cancel_work_sync(&rq->work);
	cancel_delayed_work_sync(&rq->watchdog);
	/* A recovery that was under way has ended with the line on. */
	rknpu_core_disable_irq(core);

	rknpu_sched_end_dropped(rq);
	if (rq->pm_held) {
		rknpu_recover_set_held(rq, false);
		pm_runtime_put(core->dev);
	}
	rknpu_core_enable_irq(core);
}

void rknpu_sched_stop(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;
	LIST_HEAD(taken);

	rknpu_sched_take_all(sched, &taken);
	rknpu_users_hang_up(sched);
	rknpu_for_each_rq(rq, sched)
		rknpu_sched_stop_core(rq);
	/* No recovery is left that could ban anybody. */
	flush_work(&sched->ban_work);
	/* A core given up meanwhile may have passed its jobs to one that had been stopped. */
	rknpu_sched_take_all(sched, &taken);
	rknpu_end_jobs(&taken, RKNPU_CAUSE_DEVICE_GONE);
	/* And those that waited for any of them. */
	flush_work(&sched->work);
	rknpu_dumps_flush(&sched->dumps);
	flush_work(&sched->losing);
}

void rknpu_sched_let_go(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched)
		flush_work(&rq->work);
	flush_work(&sched->ban_work);
}

static bool rknpu_sched_wait_empty(struct rknpu_runqueue *rq, unsigned int ms)
{
	return wait_event_timeout(rq->idle_wait, !READ_ONCE(rq->job), msecs_to_jiffies(ms));
}

static void rknpu_sched_interrupt_job(struct rknpu_runqueue *rq)
{
	guard(spinlock_irq)(&rq->sched->hw->lock);
	if (rq->state == RKNPU_CORE_RUNNING)
		rknpu_runqueue_start_recovery(rq, RKNPU_CAUSE_STOPPED);
}

/* It may be starting, or its next task was started when it should have stopped. */
static bool rknpu_sched_stop_job(struct rknpu_runqueue *rq)
{
	unsigned int ms;

	for (ms = 0; ms < RKNPU_SCHED_STOP_MS; ms += RKNPU_SCHED_STOP_LOOK_MS) {
		rknpu_sched_interrupt_job(rq);
		if (rknpu_sched_wait_empty(rq, RKNPU_SCHED_STOP_LOOK_MS))
			return true;
	}
	return false;
}

int rknpu_sched_core_freeze(struct rknpu_core *core)
{
	struct rknpu_runqueue *rq = to_rknpu_runqueue(core), *other;
	struct rknpu_sched *sched = rq->sched;

	scoped_guard(spinlock_irq, &core->hw->lock)
		rknpu_dispatch_freeze(sched);

	if (!rknpu_sched_wait_empty(rq, READ_ONCE(rknpu_params.sleep_wait_ms)) &&
	    !rknpu_sched_stop_job(rq)) {
		/* Hardly ever: recovery takes the job off its core, or the core out of service. */
		rknpu_sched_core_thaw(core);
		return -EBUSY;
	}
	/* Recovery may still be busy with what the job left behind; the watchdog queues it. */
	flush_delayed_work(&rq->watchdog);
	flush_work(&rq->work);
	/* It may have given up a shared IOMMU, and with it cores that were quiet. */
	rknpu_for_each_rq(other, sched)
		flush_work(&other->work);
	/* Nor may the handler still be quieting the core after the job. */
	rknpu_core_sync_irq(core);
	return 0;
}

void rknpu_sched_core_thaw(struct rknpu_core *core)
{
	guard(spinlock_irq)(&core->hw->lock);
	rknpu_dispatch_thaw(to_rknpu_runqueue(core)->sched);
}

void rknpu_sched_sleep_begins(struct rknpu_sched *sched)
{
	guard(spinlock_irq)(&sched->hw->lock);
	sched->suspending = true;
}

static bool rknpu_sched_any_postponed(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;

	guard(spinlock_irq)(&sched->hw->lock);
	rknpu_for_each_rq(rq, sched) {
		if (rq->postponed)
			return true;
	}
	return false;
}

void rknpu_sched_sleep_ends(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;

	/* A recovery that has begun may have found the power held on. */
	rknpu_for_each_rq(rq, sched)
		flush_work(&rq->work);
	/* Domains that nothing holds any more go off by the kernel's own work. */
	if (rknpu_sched_any_postponed(sched))
		flush_workqueue(pm_wq);

	guard(spinlock_irq)(&sched->hw->lock);
	sched->suspending = false;
	rknpu_for_each_rq(rq, sched) {
		if (rq->postponed && rq->state != RKNPU_CORE_ABSENT)
			queue_work(rq->wq, &rq->work);
	}
}

/*
 * Not left in reset if that is not needed: the next kernel's IOMMU driver, if it
 * is started by kexec, programs what is behind the same resets before any driver
 * of the NPU is there to release them.
 */
void rknpu_sched_core_shutdown(struct rknpu_core *core)
{
	rknpu_core_disable_irq(core);
	if (pm_runtime_get_if_active(core->dev) > 0 && rknpu_core_reset_locked(core))
		rknpu_core_park(core);
}
