// SPDX-License-Identifier: GPL-2.0-only
/* Owns what a dump says of a failure: the core, its job, and that job's program. */
#include <linux/cleanup.h>
#include <linux/ctype.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "hw/rknpu_iommu.h"
#include "hw/rknpu_pc.h"
#include "hw/rknpu_regs.h"
#include "rknpu_client_types.h"
#include "rknpu_failure.h"
#include "rknpu_job.h"
#include "rknpu_sched_types.h"
#include "rknpu_sched_trace.h"

/* The end of a program, among whose last commands are those that name the next one. */
#define RKNPU_FAILURE_TAIL	8

/* Lock held. */
static void rknpu_failure_add_history(struct rknpu_dump *dump, const struct rknpu_runqueue *rq)
{
	unsigned int count = min_t(unsigned int, rq->history_count, RKNPU_DUMP_JOBS);
	unsigned int i;

	for (i = 0; i < count; i++) {
		const struct rknpu_past_job *past =
			&rq->history[(rq->history_count - count + i) % RKNPU_DUMP_JOBS];

		dump->jobs[i] = (struct rknpu_dump_job) {
			.seqno = past->seqno,
			.client = past->client,
			.elapsed_ns = past->elapsed_ns,
			.task = past->task,
			.tasks = past->tasks,
			.cause = rknpu_cause_name(past->cause),
		};
	}
	dump->job_count = count;
}

struct rknpu_dump *rknpu_failure_begin(struct rknpu_runqueue *rq)
{
	struct rknpu_dump *dump = rknpu_dump_begin(&rq->sched->dumps);
	struct rknpu_core *core = rq->core;

	if (!dump)
		return NULL;
	dump->time_ns = ktime_get_ns();
	dump->soc = core->hw->soc->number;
	dump->version = core->version;
	dump->core = core->index;

	guard(spinlock_irq)(&core->hw->lock);
	if (core->powered && !READ_ONCE(core->parked)) {
		rknpu_pc_dump(core, dump);
		rknpu_iommu_dump(core, dump);
	}
	rknpu_failure_add_history(dump, rq);
	return dump;
}

/* Its owner chooses the name. */
static void rknpu_failure_add_comm(struct rknpu_dump *dump, const struct rknpu_client *client)
{
	unsigned int i;

	for (i = 0; i < TASK_COMM_LEN - 1 && client->comm[i]; i++)
		dump->comm[i] = isascii(client->comm[i]) && isprint(client->comm[i]) ?
				client->comm[i] : '?';
}

/* A program of a chain ends by writing the next one's address and size (TRM). */
static bool rknpu_failure_find_next(struct rknpu_vm_lookup *look, const struct rknpu_soc *soc,
				    u64 *iova, u32 *size)
{
	u32 tail = min_t(u32, *size, RKNPU_FAILURE_TAIL);
	u64 at = *iova + (u64)(*size - tail) * sizeof(u64);
	u64 commands[RKNPU_FAILURE_TAIL];
	u32 next = 0, amounts = 0, i;

	if (rknpu_vm_lookup_read(look, at, commands, tail * sizeof(u64)) != tail * sizeof(u64))
		return false;
	for (i = 0; i < tail; i++) {
		if (RKNPU_CMD_TARGET(commands[i]) != RKNPU_CMD_TARGET_PC)
			continue;
		if (RKNPU_CMD_REG(commands[i]) == RKNPU_PC_BASE_ADDRESS)
			next = RKNPU_CMD_VALUE(commands[i]);
		else if (RKNPU_CMD_REG(commands[i]) == RKNPU_PC_REGISTER_AMOUNTS)
			amounts = RKNPU_CMD_VALUE(commands[i]) & RKNPU_PC_REGISTER_AMOUNTS_AMOUNT;
	}
	if (!next || !amounts)
		return false;
	*iova = next & ~RKNPU_PC_BASE_ADDRESS_PC_SEL;
	*size = (amounts + 1) * soc->pc.commands_per_fetch;
	return true;
}

static void rknpu_failure_add_program(struct rknpu_dump *dump, struct rknpu_vm_lookup *look,
				      const struct rknpu_job *job)
{
	u32 within = dump->task % job->kick_tasks;
	const struct rknpu_task *task = rknpu_job_task(job, dump->task);
	const struct rknpu_soc *soc = job->client->sched->hw->soc;
	u64 iova = task->regcmd;
	u32 size = task->regcmd_count, i;

	dump->program_task = dump->task;
	for (i = 0; i < within && rknpu_failure_find_next(look, soc, &iova, &size); i++)
		;
	/* The client has written over the chain: what was started is what can be told. */
	if (i < within) {
		iova = task->regcmd;
		size = task->regcmd_count;
		dump->program_task -= within;
	}
	dump->program = iova;
	dump->program_size = size;
	dump->command_count = rknpu_vm_lookup_read(look, iova, dump->commands,
						   min_t(u32, size, RKNPU_DUMP_COMMANDS) *
						   sizeof(dump->commands[0])) /
			      sizeof(dump->commands[0]);
}

/*
 * A chain can be thousands of programs long, and the job's client can hold the lock that
 * keeps them mapped: no fence, and no core, waits for this.
 */
static void rknpu_failure_collect(struct rknpu_dump *dump)
{
	struct rknpu_job *job = dump->source;
	struct rknpu_vm_lookup look;

	rknpu_vm_lookup_begin(&look, job->vm);
	rknpu_failure_add_program(dump, &look, job);
	rknpu_vm_lookup_end(&look);
	trace_rknpu_job_dump(job, dump);
	rknpu_job_put(job);
}

static void rknpu_failure_add_job(struct rknpu_dump *dump, const struct rknpu_runqueue *rq,
				  struct rknpu_job *job)
{
	const struct rknpu_kick *kick = &rq->core->kick;

	dump->client = job->client->id;
	dump->pid = job->client->pid;
	rknpu_failure_add_comm(dump, job->client);
	dump->seqno = job->fence->seqno;
	dump->tag = job->result.tag;
	dump->task = job->result.task;
	dump->tasks = job->task_count;
	dump->kick_tasks = kick->tasks;
	dump->int_mask = kick->int_mask;
	dump->dma_base = kick->dma_base;
	dump->elapsed_ns = job->before_ns;
	/* All of them are done when one that ended was started again too often. */
	if (dump->task == dump->tasks)
		return;
	/* With it, what it uses stays mapped. */
	rknpu_job_get(job);
	dump->source = job;
	dump->collect = rknpu_failure_collect;
}

static bool rknpu_failure_is_one(const struct rknpu_job *job, enum rknpu_cause cause)
{
	switch (cause) {
	case RKNPU_CAUSE_IOMMU_FAULT:
		return true;
	case RKNPU_CAUSE_TIMEOUT_NEVER_STARTED:
	case RKNPU_CAUSE_TIMEOUT_RUNNING:
	case RKNPU_CAUSE_DMA_READ:
	case RKNPU_CAUSE_DMA_WRITE:
		return job;
	default:
		return false;
	}
}

void rknpu_failure_report(struct rknpu_dump *dump, struct rknpu_runqueue *rq,
			  struct rknpu_job *job, enum rknpu_cause cause)
{
	if (!dump || !rknpu_failure_is_one(job, cause))
		return;
	dump->cause = rknpu_cause_name(cause);
	dump->error = rknpu_cause_error(cause);
	if (job)
		rknpu_failure_add_job(dump, rq, job);
	if (cause != RKNPU_CAUSE_IOMMU_FAULT)
		return;
	dump->faulted = true;
	dump->fault_iova = rq->fault.iova;
	dump->fault_write = rq->fault.write;
	if (job)
		rknpu_domain_dump(&job->vm->domain, rq->fault.iova, dump);
}

/* Which nobody else takes off the core meanwhile, but who unbinds it. */
static struct rknpu_job *rknpu_failure_get_job(struct rknpu_runqueue *rq)
{
	guard(spinlock_irq)(&rq->sched->hw->lock);
	if (rq->job)
		rknpu_job_get(rq->job);
	return rq->job;
}

void rknpu_failure_report_lost(struct rknpu_dump *dump, struct rknpu_runqueue *rq, int error)
{
	struct rknpu_job *job;

	if (!dump)
		return;
	dump->lost = error;
	if (dump->cause)
		return;
	dump->cause = "core lost";
	dump->error = rknpu_cause_error(RKNPU_CAUSE_DEVICE_GONE);
	job = rknpu_failure_get_job(rq);
	if (!job)
		return;
	rknpu_failure_add_job(dump, rq, job);
	rknpu_job_put(job);
}
