/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the tracepoints of jobs, from submit to the fence. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rknpu

#if !defined(__RKNPU_SCHED_TRACE_H__) || defined(TRACE_HEADER_MULTI_READ)
#define __RKNPU_SCHED_TRACE_H__

#include <linux/tracepoint.h>

#include "rknpu_client_types.h"
#include "rknpu_job_types.h"

/* Symbols for tools that read the binary format: they cannot call rknpu_cause_name(). */
#define RKNPU_TRACE_CAUSES						\
	{ RKNPU_CAUSE_NONE, "unknown" },				\
	{ RKNPU_CAUSE_DONE, "done" },					\
	{ RKNPU_CAUSE_TIMEOUT_NEVER_STARTED, "timeout-never-started" },	\
	{ RKNPU_CAUSE_TIMEOUT_RUNNING, "timeout-running" },		\
	{ RKNPU_CAUSE_DMA_READ, "dma-read" },				\
	{ RKNPU_CAUSE_DMA_WRITE, "dma-write" },				\
	{ RKNPU_CAUSE_IOMMU_FAULT, "iommu-fault" },			\
	{ RKNPU_CAUSE_CANCELLED, "cancelled" },				\
	{ RKNPU_CAUSE_DEVICE_GONE, "device-gone" },			\
	{ RKNPU_CAUSE_BANNED, "banned" }

TRACE_DEFINE_ENUM(RKNPU_CAUSE_NONE);
TRACE_DEFINE_ENUM(RKNPU_CAUSE_DONE);
TRACE_DEFINE_ENUM(RKNPU_CAUSE_TIMEOUT_NEVER_STARTED);
TRACE_DEFINE_ENUM(RKNPU_CAUSE_TIMEOUT_RUNNING);
TRACE_DEFINE_ENUM(RKNPU_CAUSE_DMA_READ);
TRACE_DEFINE_ENUM(RKNPU_CAUSE_DMA_WRITE);
TRACE_DEFINE_ENUM(RKNPU_CAUSE_IOMMU_FAULT);
TRACE_DEFINE_ENUM(RKNPU_CAUSE_CANCELLED);
TRACE_DEFINE_ENUM(RKNPU_CAUSE_DEVICE_GONE);
TRACE_DEFINE_ENUM(RKNPU_CAUSE_BANNED);

/* In the caller's context, so the record has its name and pid. */
TRACE_EVENT(rknpu_job_submit,
	TP_PROTO(const struct rknpu_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(
		__field(u64, client)
		__field(u64, job)
		__field(u32, tasks)
		__field(u32, deps)
		__field(u64, domain)
		__field(u32, priority)
		__field(u64, tag)
	),
	TP_fast_assign(
		__entry->client = job->client->id;
		__entry->job = job->fence->seqno;
		__entry->tasks = job->task_count;
		__entry->deps = job->dep_count;
		__entry->domain = job->vm->domain.id;
		__entry->priority = job->priority;
		__entry->tag = job->result.tag;
	),
	TP_printk("client=%llu job=%llu tasks=%u deps=%u domain=%llu priority=%u tag=%#llx",
		  __entry->client, __entry->job, __entry->tasks, __entry->deps, __entry->domain,
		  __entry->priority, __entry->tag)
);

DECLARE_EVENT_CLASS(rknpu_job_core,
	TP_PROTO(const struct rknpu_job *job, unsigned int core),
	TP_ARGS(job, core),
	TP_STRUCT__entry(
		__field(u64, client)
		__field(u64, job)
		__field(u32, core)
		__field(u32, task)
		__field(u32, tasks)
	),
	TP_fast_assign(
		__entry->client = job->client->id;
		__entry->job = job->fence->seqno;
		__entry->core = core;
		__entry->task = job->result.task;
		__entry->tasks = job->task_count;
	),
	TP_printk("client=%llu job=%llu core=%u task=%u/%u", __entry->client, __entry->job,
		  __entry->core, __entry->task, __entry->tasks)
);

/* All it waited for is over; it is in the core's run queue now. */
DEFINE_EVENT(rknpu_job_core, rknpu_job_queue,
	TP_PROTO(const struct rknpu_job *job, unsigned int core),
	TP_ARGS(job, core)
);

DEFINE_EVENT(rknpu_job_core, rknpu_job_start,
	TP_PROTO(const struct rknpu_job *job, unsigned int core),
	TP_ARGS(job, core)
);

/* "task" counts those that are over. */
DEFINE_EVENT(rknpu_job_core, rknpu_task_done,
	TP_PROTO(const struct rknpu_job *job, unsigned int core),
	TP_ARGS(job, core)
);

/* The core is done with it, for now or for ever. */
DEFINE_EVENT(rknpu_job_core, rknpu_job_stop,
	TP_PROTO(const struct rknpu_job *job, unsigned int core),
	TP_ARGS(job, core)
);

TRACE_EVENT(rknpu_job_done,
	TP_PROTO(const struct rknpu_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(
		__field(u64, client)
		__field(u64, job)
		__field(int, core)
		__field(u64, elapsed)
		__field(u64, tag)
	),
	TP_fast_assign(
		__entry->client = job->client->id;
		__entry->job = job->fence->seqno;
		__entry->core = job->result.core;
		__entry->elapsed = job->result.elapsed_ns;
		__entry->tag = job->result.tag;
	),
	TP_printk("client=%llu job=%llu core=%d elapsed_ns=%llu tag=%#llx", __entry->client,
		  __entry->job, __entry->core, __entry->elapsed, __entry->tag)
);

TRACE_EVENT(rknpu_job_fail,
	TP_PROTO(const struct rknpu_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(
		__field(u64, client)
		__field(u64, job)
		__field(int, core)
		__field(u32, task)
		__field(u32, tasks)
		__field(u32, cause)
		__field(u64, iova)
		__field(u64, tag)
	),
	TP_fast_assign(
		__entry->client = job->client->id;
		__entry->job = job->fence->seqno;
		__entry->core = job->result.core;
		__entry->task = job->result.task;
		__entry->tasks = job->task_count;
		__entry->cause = job->result.cause;
		__entry->iova = job->result.fault_iova;
		__entry->tag = job->result.tag;
	),
	TP_printk("client=%llu job=%llu core=%d task=%u/%u cause=%s iova=%#llx tag=%#llx",
		  __entry->client, __entry->job, __entry->core, __entry->task, __entry->tasks,
		  __print_symbolic(__entry->cause, RKNPU_TRACE_CAUSES), __entry->iova,
		  __entry->tag)
);

/* After its fence has signalled. "commands" are those in the dump, of the program of "task". */
TRACE_EVENT(rknpu_job_dump,
	TP_PROTO(const struct rknpu_job *job, const struct rknpu_dump *dump),
	TP_ARGS(job, dump),
	TP_STRUCT__entry(
		__field(u64, client)
		__field(u64, job)
		__field(u32, task)
		__field(u32, commands)
	),
	TP_fast_assign(
		__entry->client = job->client->id;
		__entry->job = job->fence->seqno;
		__entry->task = dump->program_task;
		__entry->commands = dump->command_count;
	),
	TP_printk("client=%llu job=%llu task=%u commands=%u", __entry->client, __entry->job,
		  __entry->task, __entry->commands)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH sched
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE rknpu_sched_trace
#include <trace/define_trace.h>
