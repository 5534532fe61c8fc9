// SPDX-License-Identifier: GPL-2.0-only
/* Owns jobs that are over and nobody refers to, until they are freed. */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "rknpu_job.h"
#include "rknpu_reap.h"
#include "rknpu_release.h"
#include "rknpu_vm.h"

/* Long enough for hundreds of short jobs, short enough that nobody misses the memory. */
#define RKNPU_REAP_DELAY_MS	10

static void rknpu_reap_work_fn(struct work_struct *work);

/* VMs by rknpu_vm::reap_link, whose rknpu_vm::over is not empty. */
static LIST_HEAD(rknpu_reap_vms);
static DEFINE_SPINLOCK(rknpu_reap_lock);
static DECLARE_DELAYED_WORK(rknpu_reap_work, rknpu_reap_work_fn);

void rknpu_reap_add(struct rknpu_job *job)
{
	struct rknpu_vm *vm = job->vm;
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&rknpu_reap_lock, flags);
	first = list_empty(&vm->over);
	list_add_tail(&job->link, &vm->over);
	if (first)
		list_add_tail(&vm->reap_link, &rknpu_reap_vms);
	spin_unlock_irqrestore(&rknpu_reap_lock, flags);

	if (first)
		rknpu_release_delay(&rknpu_reap_work, msecs_to_jiffies(RKNPU_REAP_DELAY_MS));
}

void rknpu_reap_vm(struct rknpu_vm *vm)
{
	struct rknpu_job *job, *next;
	LIST_HEAD(over);

	/* Who comes while another is at it has to wait for what that one has taken. */
	mutex_lock(&vm->reap_lock);
	spin_lock_irq(&rknpu_reap_lock);
	list_splice_init(&vm->over, &over);
	list_del_init(&vm->reap_link);
	spin_unlock_irq(&rknpu_reap_lock);
	list_for_each_entry_safe(job, next, &over, link)
		rknpu_job_free(job);
	mutex_unlock(&vm->reap_lock);
}

/* A VM with jobs is kept alive by them, but not for longer than they are. */
static struct rknpu_vm *rknpu_reap_first(void)
{
	struct rknpu_vm *vm;

	spin_lock_irq(&rknpu_reap_lock);
	vm = list_first_entry_or_null(&rknpu_reap_vms, struct rknpu_vm, reap_link);
	if (vm)
		rknpu_vm_get(vm);
	spin_unlock_irq(&rknpu_reap_lock);
	return vm;
}

static void rknpu_reap_work_fn(struct work_struct *work)
{
	struct rknpu_vm *vm;

	while ((vm = rknpu_reap_first())) {
		rknpu_reap_vm(vm);
		rknpu_vm_put(vm);
		cond_resched();
	}
}

void rknpu_reap_soon(void)
{
	rknpu_release_delay_less(&rknpu_reap_work, 0);
}

void rknpu_reap_flush(void)
{
	flush_delayed_work(&rknpu_reap_work);
}
