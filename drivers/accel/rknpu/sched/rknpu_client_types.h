/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what is known of clients and users: limits, time used, failures. */
#ifndef __RKNPU_CLIENT_TYPES_H__
#define __RKNPU_CLIENT_TYPES_H__

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "hw/rknpu_soc.h"
#include "mem/rknpu_account.h"
#include "rknpu_share_types.h"

struct rknpu_sched;

/*
 * Every job costs kernel memory, and a fence in the list of each BO it names,
 * which others walk with a lock held, and which no memory cgroup is charged for.
 * Documented in the uAPI header. All files of one user may have as many as
 * RKNPU_USER_FILES together.
 */
#define RKNPU_CLIENT_MAX_JOBS	8192
#define RKNPU_CLIENT_MAX_TASKS	1048576
#define RKNPU_CLIENT_MAX_BOS	524288
#define RKNPU_USER_FILES	8
/* Of all jobs of a user on all fences, beyond those that each job has room for: 32 MiB. */
#define RKNPU_USER_MAX_DEPS	262144

/**
 * struct rknpu_backlog - jobs that exist
 */
struct rknpu_backlog {
	/**
	 * @counts: atomic; jobs, their tasks, and the BOs they name, in one: see
	 * rknpu_backlog.c
	 */
	atomic64_t counts;
	/** @files: how many files' there may be; does not change */
	u32 files;
	/** @room: who waits until there may be more; has its own lock */
	wait_queue_head_t room;
};

/**
 * struct rknpu_debt - what failures have cost others lately, see rknpu_debt.c; under rknpu_hw::lock
 */
struct rknpu_debt {
	/** @strikes: failures that are not forgiven */
	unsigned int strikes;
	/** @since_ns: when the last one was forgiven, or the first one of these came */
	u64 since_ns;
	/** @failed_ns: when the last one came */
	u64 failed_ns;
};

/**
 * struct rknpu_user - whom clients belong to, and limits are counted by
 */
struct rknpu_user {
	/** @clients: how many it has; under rknpu_sched::users_lock */
	unsigned int clients;
	/** @sched: device; does not change */
	struct rknpu_sched *sched;
	/** @uid: in the first user namespace; its index in rknpu_sched::users; does not change */
	unsigned long uid;
	/** @quota: memory of all its clients; atomic, or has its own lock */
	struct rknpu_quota quota;
	/** @backlog: jobs of all its clients; atomic */
	struct rknpu_backlog backlog;
	/** @deps: what they wait for, counted by rknpu_job.c */
	atomic_t deps;
	/** @shares: by core; under rknpu_hw::lock, as all that follows */
	struct rknpu_share shares[RKNPU_MAX_CORES];
	/** @debt: of all its clients */
	struct rknpu_debt debt;
	/** @met: of its jobs that are over, and for which others still wait, the next; or NULL */
	struct rknpu_job *met;
	/** @met_link: in rknpu_sched::met while @met */
	struct list_head met_link;
	/** @ready: its jobs that wait for nothing any more, WAITING, and are not queued yet */
	struct list_head ready;
	/** @ready_link: in rknpu_sched::ready while @ready has any */
	struct list_head ready_link;
	/** @recovering: failures that cores are being recovered from */
	unsigned int recovering;
	/** @until_ns: no job of it may start before */
	u64 until_ns;
	/** @held: none starts, for that or because it is banned */
	bool held;
	/** @banned: it was when that was looked at last */
	bool banned;
	/** @hold_link: in rknpu_sched::held while @held */
	struct list_head hold_link;
};

/**
 * struct rknpu_client - what core time is shared between: an open file
 *
 * What comes before @link does not change. From there on all is under rknpu_hw::lock, but
 * for what says otherwise.
 */
struct rknpu_client {
	/** @account: atomic; the file, every job and every BO that it made hold a reference */
	struct rknpu_account account;
	/** @file_pages: what the file takes beside BOs and tables; charged until it is closed */
	unsigned long file_pages;
	/** @id: no other client ever has it */
	u64 id;
	/** @pid: of the process that opened the file, as the first PID namespace has it */
	pid_t pid;
	/** @comm: its name then */
	char comm[TASK_COMM_LEN];
	/** @sched: device, with a reference on its drm_device */
	struct rknpu_sched *sched;
	/** @user: whoever opened the file, with a reference */
	struct rknpu_user *user;
	/** @link: in rknpu_sched::clients */
	struct list_head link;
	/** @jobs: pushed and not ended */
	struct list_head jobs;
	/** @visit: those of them that are still to be cancelled, or taken as the device goes */
	struct list_head visit;
	/** @visiting: rknpu_sched_take_all() is at them */
	bool visiting;
	/** @round: the last one of rknpu_sched::rounds that has come to the end of them */
	u64 round;
	/** @entities: by core and priority */
	struct rknpu_entity entities[RKNPU_MAX_CORES][RKNPU_PRIORITY_COUNT];
	/** @busy_ns: core time used */
	u64 busy_ns;
	/** @core_ns: the same by core */
	u64 core_ns[RKNPU_MAX_CORES];
	/** @cycles: cycles of the compute clock in those, by core */
	struct {
		/** @cycles.count: in the first @cycles.ns of the core time */
		u64 count;
		/** @cycles.ns: core time that was counted at other rates */
		u64 ns;
		/** @cycles.hz: rate in the rest of it */
		unsigned long hz;
	} cycles[RKNPU_MAX_CORES];
	/** @job_ns: what its jobs took lately; 0: none has ended */
	u64 job_ns;
	/** @credit: how little it has used lately, see rknpu_entity::boosted */
	struct {
		/** @credit.seen_ns: when @credit.ns was computed */
		u64 seen_ns;
		/** @credit.seen_busy_ns: @busy_ns then */
		u64 seen_busy_ns;
		/** @credit.ns: how much less than half a core it has used */
		s64 ns;
	} credit;
	/** @backlog: its jobs; atomic */
	struct rknpu_backlog backlog;
	/** @refused: atomic; calls that asked for too many */
	atomic_t refused;
	/** @debt: as its user's */
	struct rknpu_debt debt;
	/** @failures: jobs that failed by its own fault */
	unsigned int failures;
	/** @failure_ns: core time that this took from others */
	u64 failure_ns;
	/** @banned: for good; read without the lock, too */
	bool banned;
	/** @ban_job: holds a reference until rknpu_sched::ban_work has ended its jobs */
	struct rknpu_job *ban_job;
	/** @ban_link: in rknpu_sched::banned until that begins */
	struct list_head ban_link;
};

#endif
