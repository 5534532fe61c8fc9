// SPDX-License-Identifier: GPL-2.0-only
/* What an unprivileged user does to the NPU, each in its own process, and who that user is. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xf86drm.h>

#include "rknpu_hostile.h"

#define NUM(a)		(sizeof(a) / sizeof((a)[0]))
/* More than it takes to have as many jobs as a user may. */
#define FILES		200
#define AT_ONCE		256
#define AHEAD		4
/* Of files whose first job is one: more than the driver looks at for another. */
#define GANGS		12
/* Who may open the nodes. */
#define RENDER		44
#define USER_FILES	1024
#define USER_PROCS	64

struct hostile_state *hostile;

/* ---- the user ---- */

void hostile_let_open(void)
{
	glob_t g = { 0 };

	glob("/dev/accel/accel*", 0, NULL, &g);
	glob("/dev/dri/*[0-9]", GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++)
		if (chown(g.gl_pathv[i], 0, RENDER) || chmod(g.gl_pathv[i], 0660))
			perror(g.gl_pathv[i]);
	globfree(&g);
}

void hostile_become(uid_t uid)
{
	gid_t groups[] = { RENDER };

	if (setgroups(1, groups) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(1);
}

pid_t hostile_start(uid_t uid, void (*attack)(void))
{
	struct rlimit files = { USER_FILES, USER_FILES };
	struct rlimit procs = { USER_PROCS, USER_PROCS };
	pid_t pid = fork();

	if (pid) {
		setpgid(pid, pid);
		return pid;
	}
	setpgid(0, 0);
	if (setrlimit(RLIMIT_NOFILE, &files) || setrlimit(RLIMIT_NPROC, &procs))
		_exit(1);
	hostile_become(uid);
	attack();
	hostile->odd++;
	_exit(1);
}

void hostile_end(pid_t pid)
{
	int ret;

	do {
		kill(-pid, SIGKILL);
		ret = waitpid(-pid, NULL, 0);
	} while (ret > 0 || (ret < 0 && errno == EINTR));
}

/* ---- its processes ---- */

/* 0 in the child, which does not outlive its parent. */
static pid_t child(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* A process more; the parent goes on. */
static void also(void (*attack)(void))
{
	if (child())
		return;
	attack();
	hostile->odd++;
	_exit(1);
}

/* The same, and another one each time it fails, as it may when the user is banned. */
static void keep(void (*attack)(void))
{
	if (child())
		return;
	for (;;) {
		pid_t pid = child();

		if (!pid) {
			attack();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		rk_sleep_ms(1);
	}
}

static void hit(void)
{
	hostile->hits++;
}

static void is_on(void)
{
	hostile->on = true;
}

/* Of a file of its own. */
struct weapon {
	struct rk_client c;
	struct drm_rocket_task t[LONG_TASKS];
	struct drm_rocket_job_ext job;
	uint64_t last;
};

static int weapon_open(struct weapon *w)
{
	int fd = rk_open();

	memset(w, 0, sizeof(*w));
	if (fd < 0)
		return fd;
	return rk_client_init_on(&w->c, fd) ?:
	       rk_op_task(&w->c.inc, w->c.in.iova, w->c.out.iova, &w->t[0]);
}

/* A chain that takes LONG_TASKS times as long as a task: two programs that name each other. */
static int weapon_make_long(struct weapon *w, uint32_t mask)
{
	int ret = rk_op_task(&w->c.inc, w->c.in.iova, w->c.out.iova, &w->t[1]);

	if (ret)
		return ret;
	for (unsigned int i = 2; i < LONG_TASKS; i++)
		w->t[i] = w->t[i % 2];
	rk_chain(&w->c.inc, &w->t[0], &w->t[1]);
	rk_chain(&w->c.inc, &w->t[1], &w->t[0]);
	rk_job_ext(&w->job, w->t, LONG_TASKS, NULL, NULL);
	w->job.flags = DRM_ROCKET_JOB_BATCHED;
	w->job.core_mask = mask;
	w->job.timeout_ns = rk_param(w->c.fd, DRM_ROCKET_PARAM_MAX_TIMEOUT_NS);
	return rk_fini(&w->c.inc.bo);
}

static int weapon_fire(struct weapon *w)
{
	int ret = rk_submit_ext(w->c.fd, &w->job, 1, &w->last);

	if (!ret)
		hit();
	return ret;
}

/* As soon as there is room for it. */
static int weapon_fire_later(struct weapon *w)
{
	int ret;

	while ((ret = weapon_fire(w)) == -EBUSY)
		rk_sleep_ms(1);
	return ret;
}

/* ---- jobs ---- */

void attack_nothing(void)
{
	hit();
	is_on();
	for (;;)
		pause();
}

/* As many jobs as there may be, by any file that still gets one in. */
void attack_slots(void)
{
	static struct weapon w[FILES];
	static struct drm_rocket_job_ext jobs[AT_ONCE];
	struct pollfd room = { .events = POLLOUT };
	/* A kernel with detectors takes minutes for all jobs of a user: those of a file do. */
	int files = rk_slow() > 1 ? 1 : FILES, opened = 0;

	for (;;) {
		int ret = 0;

		for (int i = 0; i < files && ret != -EINTR; i++) {
			if (i == opened && weapon_open(&w[opened++]))
				return;
			for (int k = 0; k < AT_ONCE; k++) {
				rk_job_ext(&jobs[k], w[i].t, 1, NULL, NULL);
				jobs[k].core_mask = k % 2;
			}
			do
				ret = rk_submit_ext(w[i].c.fd, jobs, AT_ONCE, NULL);
			while (!ret && ++hostile->hits);
			if (ret != -EBUSY)
				return;
		}
		is_on();
		room.fd = w[0].c.fd;
		poll(&room, 1, -1);
	}
}

/* On each core, one long job behind the other. */
static void long_jobs(uint32_t priority)
{
	static struct weapon w[RK_CORES];
	struct drm_rocket_wait_job wait;

	for (int i = 0; i < RK_CORES; i++) {
		if (weapon_open(&w[i]) || weapon_make_long(&w[i], 1u << i))
			return;
		w[i].job.priority = priority;
		for (int k = 0; k < AHEAD; k++)
			if (weapon_fire_later(&w[i]))
				return;
	}
	is_on();
	for (int i = 0;; i = (i + 1) % RK_CORES) {
		if (rk_wait_job(w[i].c.fd, w[i].last - AHEAD + 1, RK_FOREVER, &wait) ||
		    weapon_fire_later(&w[i]))
			return;
	}
}

void attack_long(void)
{
	long_jobs(DRM_ROCKET_PRIORITY_DEFAULT);
}

static void patient(void)
{
	long_jobs(DRM_ROCKET_PRIORITY_LOW);
}

/* Short jobs, each soon after the one before it, so that cores are kept for them. */
static void dawdle(uint32_t mask)
{
	struct drm_rocket_wait_job wait;
	struct weapon w;

	if (weapon_open(&w))
		return;
	rk_job_ext(&w.job, w.t, 1, NULL, NULL);
	w.job.core_mask = mask;
	while (!weapon_fire(&w) && !rk_wait_job(w.c.fd, w.last, RK_FOREVER, &wait)) {
		is_on();
		rk_sleep_ms(1);
	}
}

static void dawdle_1(void)
{
	dawdle(1);
}

static void dawdle_2(void)
{
	dawdle(2);
}

void attack_pauses(void)
{
	also(dawdle_1);
	also(dawdle_2);
	dawdle(4);
}

/* Of all that it may have; and what it may not have. */
void attack_priorities(void)
{
	struct weapon w;

	if (weapon_open(&w) || weapon_make_long(&w, 0))
		return;
	w.job.priority = DRM_ROCKET_PRIORITY_HIGH;
	if (weapon_fire(&w) != -EACCES)
		hostile->odd++;
	also(patient);
	attack_slots();
}

/* SUBMIT of the vendor's uAPI for all cores, which waits. */
static void gangs(uint32_t tasks)
{
	struct drm_rknpu_submit s;
	struct rv_chain c;
	int fd = rv_open();

	if (fd < 0 || rv_chain_init(&c, fd, 2, tasks, 0) || rv_chain_fill(&c, 1) ||
	    rv_chain_loop(&c, tasks))
		return;
	for (;;) {
		rv_chain_submit(&c, &s);
		s.core_mask = 7;
		s.timeout = UINT32_MAX;
		for (int i = 0; i < 3; i++)
			s.subcore_task[i + 2] = (struct drm_rknpu_subcore_task) { 0, tasks };
		if (rv_submit(fd, &s))
			return;
		hit();
		is_on();
	}
}

static void long_gangs(void)
{
	gangs(LONG_TASKS);
}

static void short_gangs(void)
{
	gangs(2);
}

void attack_gangs(void)
{
	for (int i = 0; i < AHEAD; i++)
		also(long_gangs);
	for (;;)
		pause();
}

void attack_gangs_and_long(void)
{
	for (int i = 0; i < AHEAD; i++)
		also(long_gangs);
	long_jobs(DRM_ROCKET_PRIORITY_DEFAULT);
}

/* Gangs whose other cores wait for the second one, which has jobs of its own that take longer. */
void attack_late_gangs(void)
{
	static struct drm_rocket_task t[LATE_TASKS];
	struct drm_rocket_wait_job wait;
	struct weapon w;

	for (int i = 0; i < GANGS; i++)
		also(short_gangs);
	if (weapon_open(&w) || weapon_make_long(&w, 2))
		return;
	for (unsigned int i = 0; i < LATE_TASKS; i++)
		t[i] = w.t[i % 2];
	w.job.tasks = (uintptr_t)t;
	w.job.task_count = LATE_TASKS;
	for (int k = 0; k < AHEAD; k++)
		if (weapon_fire(&w))
			return;
	is_on();
	while (!rk_wait_job(w.c.fd, w.last - AHEAD + 1, RK_FOREVER, &wait) && !weapon_fire(&w))
		;
}

/* ---- failures ---- */

/* Once it is banned it opens another file, and tries until it is let in again. */
static int again(struct weapon *w, int (*make)(struct weapon *w, uint32_t mask), uint32_t mask)
{
	if (rk_param(w->c.fd, DRM_ROCKET_PARAM_BANNED_NS) < UINT64_MAX) {
		rk_sleep_ms(1);
		return 0;
	}
	rk_client_fini(&w->c);
	return weapon_open(w) ?: make(w, mask);
}

/* On each core, one that fails behind the other. */
static void failures(int (*make)(struct weapon *w, uint32_t mask))
{
	static struct weapon w[RK_CORES];
	struct drm_rocket_wait_job wait;

	for (int i = 0; i < RK_CORES; i++)
		if (weapon_open(&w[i]) || make(&w[i], 1u << i))
			return;
	for (;;) {
		for (int i = 0; i < RK_CORES; i++) {
			int ret = weapon_fire(&w[i]);

			if (ret == -EPIPE)
				ret = again(&w[i], make, 1u << i);
			if (ret)
				return;
		}
		is_on();
		for (int i = 0; i < RK_CORES; i++)
			if (w[i].last && !rk_wait_job(w[i].c.fd, w[i].last, RK_FOREVER, &wait) &&
			    !wait.error)
				hostile->odd++;
	}
}

static int make(struct weapon *w, uint32_t mask, uint32_t tasks)
{
	rk_job_ext(&w->job, w->t, tasks, NULL, NULL);
	w->job.core_mask = mask;
	w->job.timeout_ns = rk_param(w->c.fd, DRM_ROCKET_PARAM_MAX_TIMEOUT_NS);
	return rk_fini(&w->c.inc.bo);
}

/* The chain is shorter than it says. */
static int make_hang(struct weapon *w, uint32_t mask)
{
	int ret = make(w, mask, 2);

	w->t[1] = w->t[0];
	w->job.flags = DRM_ROCKET_JOB_BATCHED;
	return ret;
}

/* Commands that start nothing. */
static int make_idle(struct weapon *w, uint32_t mask)
{
	memset(w->c.inc.bo.map + (w->t[0].regcmd - w->c.inc.bo.iova), 0, w->t[0].regcmd_count * 8);
	return make(w, mask, 1);
}

static int make_fault(struct weapon *w, uint32_t mask)
{
	int ret = rk_op_task(&w->c.inc, w->c.in.iova, 0xfff00000, &w->t[0]);

	return ret ?: make(w, mask, 1);
}

void attack_hangs(void)
{
	failures(make_hang);
}

void attack_never_started(void)
{
	failures(make_idle);
}

void attack_faults(void)
{
	failures(make_fault);
}

/* ---- memory ---- */

#define MIB		(1u << 20)
#define TAKERS		3
#define TABLES		20
#define EXPORTS		64

/* A page in each of many page tables. */
static int scatter(int fd)
{
	uint32_t big, page;
	int ret = 0;

	for (int i = 0; i < TABLES && !ret; i++) {
		if (rk_create_bo(fd, 4 * MIB, &big))
			break;
		ret = rk_create_bo(fd, RK_PAGE, &page);
		rk_gem_close(fd, big);
	}
	return ret;
}

/* All that there is, of which some is exported. */
static void take(int fd, int *export, int *exports)
{
	uint32_t handle;

	for (uint32_t size = MIB; size >= RK_PAGE; size /= 2) {
		while (!rk_create_bo(fd, size, &handle)) {
			hit();
			if (*exports < EXPORTS)
				export[(*exports)++] = rk_export(fd, handle);
		}
	}
}

static void memory(void)
{
	int file[TAKERS], export[EXPORTS];

	for (;;) {
		int exports = 0;

		for (int i = 0; i < TAKERS; i++) {
			file[i] = rk_open();
			if (file[i] < 0)
				break;
			scatter(file[i]);
			take(file[i], export, &exports);
		}
		is_on();
		rk_sleep_ms(20);
		/* The exports keep what the files have made. */
		for (int i = 0; i < TAKERS && file[i] >= 0; i++)
			close(file[i]);
		rk_sleep_ms(20);
		while (exports--)
			close(export[exports]);
	}
}

void attack_memory(void)
{
	for (int i = 1; i < TAKERS; i++)
		also(memory);
	memory();
}

/* ---- what is not its own ---- */

void attack_clock(void)
{
	static const char *const files[] = {
		"/proc/rknpu/freq", "/sys/class/devfreq/fdab0000.npu/max_freq",
		"/sys/module/rknpu_accel/parameters/slice_us",
	};
	int fd = rv_open();

	if (fd < 0)
		return;
	for (uint32_t i = 0;; i++) {
		uint32_t flags = i % 32, value = i * 2654435761u;

		/* Its own priority is nobody else's. */
		if (flags != DRM_RKNPU_SET_PROC_NICE)
			rv_action(fd, flags, &value);
		if (open(files[i % NUM(files)], O_WRONLY) >= 0)
			hostile->odd++;
		hit();
		is_on();
	}
}

#define SYNCS		1000
#define WAITS		16

/* Jobs that wait for many, and many that wait for one. */
void attack_syncs(void)
{
	static struct drm_rocket_sync in[SYNCS], out[AT_ONCE];
	static struct drm_rocket_job_ext jobs[AT_ONCE];
	int sync_file[AT_ONCE], ret;
	struct weapon w;

	if (weapon_open(&w))
		return;
	for (int i = 0; i < SYNCS; i++)
		if (drmSyncobjCreate(w.c.fd, DRM_SYNCOBJ_CREATE_SIGNALED, &in[i].handle))
			return;
	for (unsigned int round = 0;; round++) {
		for (int k = 0; k < AT_ONCE; k++) {
			unsigned int at = (round * 7 + k * WAITS) % (SYNCS - WAITS);

			out[k] = in[(round + k * 37) % SYNCS];
			rk_job_ext(&jobs[k], w.t, 1, &w.c.in, k % 8 ? NULL : &w.c.out);
			jobs[k].core_mask = k % 3;
			/* Every other one for the same. */
			jobs[k].in_syncs = (uintptr_t)&in[k % 2 ? at : 0];
			jobs[k].in_sync_count = WAITS;
			jobs[k].out_syncs = (uintptr_t)&out[k];
			jobs[k].out_sync_count = 1;
		}
		while ((ret = rk_submit_ext(w.c.fd, jobs, AT_ONCE, NULL)) == -EBUSY)
			poll(&(struct pollfd) { w.c.fd, POLLOUT }, 1, -1);
		if (ret)
			return;
		hit();
		for (int k = 0; k < AT_ONCE; k++)
			if (drmSyncobjExportSyncFile(w.c.fd, out[k].handle, &sync_file[k]))
				sync_file[k] = -1;
		for (int k = 0; k < AT_ONCE; k++)
			if (sync_file[k] >= 0)
				close(sync_file[k]);
		if (round == 8)
			is_on();
	}
}

#define POLLERS		3
#define POLLED		60

static void look(int fd)
{
	struct drm_rocket_wait_job w;

	rk_param(fd, DRM_ROCKET_PARAM_BANNED_NS);
	rk_fdinfo(fd, "drm-engine-npu0");
	rk_wait_job(fd, 1, 0, &w);
}

static void poller(void)
{
	struct pollfd p[POLLED];
	struct weapon w;

	for (int i = 0; i < POLLED; i++) {
		p[i] = (struct pollfd) { rk_open(), POLLOUT };
		if (p[i].fd < 0)
			return;
	}
	if (weapon_open(&w) || weapon_make_long(&w, 0))
		return;
	w.job.task_count = 1;
	w.job.flags = 0;
	for (unsigned int i = 0;; i++) {
		poll(p, POLLED, 0);
		look(p[i % POLLED].fd);
		if (!(i % 16))
			weapon_fire(&w);
		is_on();
	}
}

void attack_poll(void)
{
	for (int i = 1; i < POLLERS; i++)
		also(poller);
	poller();
}

/* ---- deaths ---- */

static void rocket_life(void)
{
	struct weapon w;

	if (weapon_open(&w) || weapon_make_long(&w, 0))
		return;
	w.job.task_count = 4;
	while (!weapon_fire(&w))
		;
}

static void vendor_life(void)
{
	struct rv_chain c;
	int fd = rv_open();

	if (fd < 0 || rv_chain_init(&c, fd, 3, 0, 0))
		return;
	while (!rv_chain_run(&c, 1))
		hit();
}

#define LIVES		4

void attack_kills(void)
{
	pid_t pid[LIVES] = { 0 };

	for (unsigned int n = 0;; n++) {
		pid_t *one = &pid[n % LIVES];

		if (*one) {
			kill(*one, SIGKILL);
			waitpid(*one, NULL, 0);
		}
		*one = child();
		if (!*one) {
			if (n % 3)
				rocket_life();
			else
				vendor_life();
			_exit(0);
		}
		/* It is somewhere in its life when the next ones have been born. */
		rk_sleep_ms(1 + n * 7 % 11);
		if (n > LIVES)
			is_on();
	}
}

void attack_everything(void)
{
	static void (*const all[])(void) = {
		attack_priorities, attack_gangs, attack_hangs, attack_faults, attack_memory,
		attack_clock, attack_syncs, attack_poll,
	};

	for (size_t i = 0; i < NUM(all); i++)
		keep(all[i]);
	attack_kills();
}
