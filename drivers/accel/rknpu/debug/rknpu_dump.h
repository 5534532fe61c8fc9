/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns dumps of failures: the memory to collect them in, their text, passing them on. */
#ifndef __RKNPU_DUMP_H__
#define __RKNPU_DUMP_H__

#include <linux/sched.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct device;
struct drm_device;

/* What one dump holds at most; the text of all that takes less than RKNPU_DUMP_TEXT_MAX. */
#define RKNPU_DUMP_COMMANDS	4096
#define RKNPU_DUMP_REGS		32
#define RKNPU_DUMP_PAGES	16
#define RKNPU_DUMP_JOBS		16
#define RKNPU_DUMP_TEXT_MAX	(128 * 1024)

/**
 * struct rknpu_dump_reg - a register as it was before the reset
 */
struct rknpu_dump_reg {
	/** @name: block and register, of static memory */
	const char *name;
	/** @value: value */
	u32 value;
};

/**
 * struct rknpu_dump_page - an entry of the page table
 */
struct rknpu_dump_page {
	/** @iova: its address */
	u64 iova;
	/** @phys: what it is mapped to; 0: nothing */
	u64 phys;
};

/**
 * struct rknpu_dump_job - a job that left the core earlier
 */
struct rknpu_dump_job {
	/** @seqno: number of the job */
	u64 seqno;
	/** @client: rknpu_client::id; compared, not printed */
	u64 client;
	/** @elapsed_ns: time that it had */
	u64 elapsed_ns;
	/** @task: tasks that it completed */
	u32 task;
	/** @tasks: of so many */
	u32 tasks;
	/** @cause: how it ended */
	const char *cause;
};

/**
 * struct rknpu_dump - what is known of one failure
 */
struct rknpu_dump {
	/** @time_ns: ktime_get_ns() */
	u64 time_ns;
	/** @soc: number in its name */
	unsigned int soc;
	/** @version: the core's version registers */
	u32 version;
	/** @core: number of the core */
	unsigned int core;
	/** @cause: what happened, or NULL: nothing that is worth a dump */
	const char *cause;
	/** @error: of the job's fence */
	int error;
	/** @lost: why the core is out of service; 0: it is not */
	int lost;
	/** @faulted: the next two count */
	bool faulted;
	/** @fault_write: the access was a write */
	bool fault_write;
	/** @fault_iova: its address */
	u64 fault_iova;

	/** @client: rknpu_client::id; 0: there was no job, and the rest of the group is empty */
	u64 client;
	/** @pid: of the process that opened the file */
	pid_t pid;
	/** @comm: its name, without unprintable characters */
	char comm[TASK_COMM_LEN];
	/** @seqno: number of the job */
	u64 seqno;
	/** @tag: its creator's */
	u64 tag;
	/** @task: which one failed, from 0 */
	u32 task;
	/** @tasks: of so many */
	u32 tasks;
	/** @kick_tasks: programs that were started at once */
	u32 kick_tasks;
	/** @int_mask: interrupts that were waited for; 0: the default ones */
	u32 int_mask;
	/** @dma_base: what hardware adds to the program's addresses */
	u32 dma_base;
	/** @elapsed_ns: time that the job had */
	u64 elapsed_ns;

	/** @reg_count: used part of @regs; 0: the core had no power */
	unsigned int reg_count;
	/** @regs: registers */
	struct rknpu_dump_reg regs[RKNPU_DUMP_REGS];
	/** @page_count: used part of @pages */
	unsigned int page_count;
	/** @pages: page table around the fault */
	struct rknpu_dump_page pages[RKNPU_DUMP_PAGES];
	/** @job_count: used part of @jobs */
	unsigned int job_count;
	/** @jobs: what the core did before, the oldest first */
	struct rknpu_dump_job jobs[RKNPU_DUMP_JOBS];

	/** @collect: fills in the rest, where it may sleep; or NULL */
	void (*collect)(struct rknpu_dump *dump);
	/** @source: its own: what to collect it from */
	void *source;
	/** @program: IOVA of @commands */
	u64 program;
	/** @program_task: whose program it is: @task's, or the first one's of the kick */
	u32 program_task;
	/** @program_size: its commands, of which there may be fewer in @commands */
	u32 program_size;
	/** @command_count: used part of @commands */
	u32 command_count;
	/** @commands: as they were in the client's memory */
	u64 commands[RKNPU_DUMP_COMMANDS];
};

/**
 * struct rknpu_dumps - one dump at a time, in memory that failures need not wait for
 */
struct rknpu_dumps {
	/** @dev: whose dumps they are */
	struct device *dev;
	/** @busy: bit 0: @dump is being filled, or waits for @work */
	unsigned long busy;
	/** @dump: the memory; NULL where the kernel has no dumps */
	struct rknpu_dump *dump;
	/** @work: completes @dump and hands it to devcoredump; sleeps and allocates */
	struct work_struct work;
};

/* Freed with @drm. */
int rknpu_dumps_init(struct rknpu_dumps *dumps, struct drm_device *drm);
/* The dump that was published last is with devcoredump, and none comes any more. */
void rknpu_dumps_flush(struct rknpu_dumps *dumps);

/*
 * Empty memory for a dump, or NULL if another one is in it. Ended by
 * rknpu_dump_end(), which has it completed and published if rknpu_dump::cause is
 * set. Neither waits for anything. devcoredump drops it if nobody has read the one before.
 */
struct rknpu_dump *rknpu_dump_begin(struct rknpu_dumps *dumps);
void rknpu_dump_end(struct rknpu_dumps *dumps, struct rknpu_dump *dump);

void rknpu_dump_add_reg(struct rknpu_dump *dump, const char *name, u32 value);
void rknpu_dump_add_page(struct rknpu_dump *dump, u64 iova, u64 phys);

#endif
