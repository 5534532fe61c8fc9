/* SPDX-License-Identifier: GPL-2.0-only */
/* What the simulator's parts know of each other. */
#ifndef SIM_H
#define SIM_H

#include "shim.h"

#include "mem/rknpu_vm.h"
#include "rknpu_params.h"
#include "sched/rknpu_client_types.h"
#include "sched/rknpu_job_types.h"
#include "sched/rknpu_sched_types.h"

/* What a program does to the hardware. */
enum sim_deed { SIM_GOOD, SIM_HANGS, SIM_NEVER_STARTS, SIM_FAULTS, SIM_ERROR };

/* Of a job: rknpu_result::tag is its number, and it is found by that when the job is gone. */
struct sim_job {
	u64 id;
	u64 task_ns;
	enum sim_deed deed;
	/* The task that does it. */
	u32 deed_task;
	unsigned int uid;
	bool victim;
	/* What it waits for, of ours: numbers of jobs. */
	u64 deps[4];
	unsigned int dep_count;
	/* When it could have run, and did. */
	u64 queued_ns, started_ns;
	/* Its place among all that were queued, and where; the number of its gang, of those that were formed. */
	u64 order, gang;
	unsigned int core;
	/* The hardware is done with it for good. */
	bool pushed, over, ended;
	/* How much less than all others its user had had when it came; 0: not less. */
	u64 behind_ns;
};

struct sim_job *sim_job(const struct rknpu_job *job);
struct sim_job *sim_job_of(u64 id);

/* How long things take, and what may happen; drawn by seed. */
struct sim_world {
	bool shared, one_cbuf, polled, lossy, breaks;
	unsigned int cores;
	u64 attach_ns, wake_ns, reset_ns;
};

extern struct sim_world world;
extern struct rknpu_hw hw;
extern struct rknpu_sched sched;

/* ---- sim.c ---- */

#define MS		1000000ull
#define US		1000ull
#define START_NS	(100000 * MS)
#define MAX_JOBS	20000
#define MAX_USERS	48

extern struct sim_job jobs[MAX_JOBS];
extern u64 job_count, gang_count;
/* Programs that have not ended; users of this seed. */
extern unsigned int processes, users;
/* Events are kept; the device is about to go. */
extern bool tracing, stopping;

/* ---- check.c ---- */

/* One user who is looked at: its share, and how long its jobs wait. */
struct sim_victim {
	u64 jobs, busy_ns, from_ns, window_ns, task_ns, longest_ns, most_ns;
	/* Attackers' files; if inside, they are its own user's. */
	unsigned int uid, mask, cores, files;
	bool gang, inside, gangs;
};

extern struct sim_victim victim;
void sim_check_init(void);

/* ---- play.c ---- */

void sim_start_random(void);
/* @inside: the attackers are its own user's other files. */
void sim_start_victim(bool inside);
/* Its gangs are for two cores beside some for three, or the other way round; the third core is busy. */
void sim_start_gangs_victim(void);
/* In the end. */
void sim_check_share(void);

/* ---- npu.c ---- */

void npu_init(void);
void npu_fini(void);
/* All contexts of the hardware's are over, and all power is off. */
bool npu_sleeps(void);
/* A program that is over makes the IOMMU fault. */
void npu_stray_fault(unsigned int core);
/* For how long cores have worked for clients, and been kept from work by failures. */
u64 npu_busy_ns(unsigned int core);
u64 npu_kicks(unsigned int core);
struct rknpu_vm *npu_vm_create(struct rknpu_account *account);

#endif
