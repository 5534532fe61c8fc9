// SPDX-License-Identifier: GPL-2.0-only
/*
 * What one user, with as many files as may be, can take from another one: jobs and memory.
 *
 * boot: sched
 * boot: dt
 * boot: debug-sched
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknpu_dmabuf.h"
#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define ATTACKER	1001
#define VICTIM		1002

#define UNBOUND		"/sys/devices/virtual/workqueue/cpumask"

FIXTURE(users) {
	int fd;
	/* Workers are kept on one of the guest's two CPUs. */
	bool bound;
};

FIXTURE_SETUP(users)
{
	struct rlimit files = { 4096, 4096 };

	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	self->fd = rk_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(users)
{
	rk_model_calm();
	rk_module_param("max_job_ms", 10000);
	rk_module_param("max_user_memory_percent", 65);
	rk_module_param("max_memory_percent", 75);
	if (self->bound)
		rk_write_file(UNBOUND, "3");
	if (self->fd > 0)
		close(self->fd);
}

/* ---- who is one user ---- */

#define NOT_ALLOWED	77

/* Of a process of that user: tells the parent that it has come that far, and waits for it. */
static int meet(int from, int to)
{
	char c = 0;

	return write(to, &c, 1) == 1 && read(from, &c, 1) == 1 ? 0 : -EIO;
}

/*
 * A process of @uid opens the device: 0 if it is a file of user @expected, as the process
 * sees that. @map: it does so as one of many uids of a user namespace that it has made.
 */
static int other_process(uid_t uid, const char *map, uid_t expected)
{
	int up[2], down[2], status, fd;
	char path[64];
	pid_t pid;

	if (pipe(up) || pipe(down))
		return -errno;
	pid = fork();
	if (!pid) {
		if (setresuid(uid, uid, uid) || (map && unshare(CLONE_NEWUSER)) ||
		    meet(down[0], up[1]) || (map && setresuid(7, 7, 7)))
			_exit(NOT_ALLOWED);
		/* Before 5.14 a process that has changed its uid cannot read its own fdinfo. */
		prctl(PR_SET_DUMPABLE, 1);
		fd = rk_open();
		_exit(fd < 0 ? -fd : rk_fdinfo(fd, "rknpu-user") != expected);
	}
	close(up[1]);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	if (read(up[0], &status, 1) == 1) {
		if (map)
			rk_write_file(path, map);
		status = write(down[1], "", 1);
	}
	close(up[0]);
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	close(down[0]);
	close(down[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

RK_TEST_F(users, are_uids, "a user is a uid, and whoever made a user namespace is all who are in it")
{
	struct stat st;
	int fd, ret;

	ASSERT_EQ(0, fstat(self->fd, &st));
	EXPECT_EQ(0, rk_fdinfo(self->fd, "rknpu-user"));
	fd = rk_open_as(VICTIM, rk_open);
	EXPECT_EQ(VICTIM, rk_fdinfo(fd, "rknpu-user"));
	close(fd);
	fd = rk_open_as(VICTIM, rv_open);
	if (fd >= 0) {
		EXPECT_EQ(VICTIM, rk_fdinfo(fd, "rknpu-user"));
		close(fd);
	}

	ASSERT_EQ(0, fchmod(self->fd, 0666));
	EXPECT_EQ(0, other_process(ATTACKER, NULL, ATTACKER));
	/* It is uid 7 there, and who made the namespace is 1. */
	ret = other_process(ATTACKER, "0 300000 1\n1 1001 1\n2 300002 100\n", 1);
	EXPECT_TRUE(!ret || ret == NOT_ALLOWED) TH_LOG("%d", ret);
	EXPECT_EQ(0, fchmod(self->fd, st.st_mode & 07777));
}

/* ---- jobs that are not over ---- */

/* More than it takes to have as many jobs as a user may. */
#define FULL_FILES	9
/* The longest deadline. */
#define LONGEST_MS	60000
#define JOBS		1024

struct full {
	struct rk_client c[FULL_FILES];
	struct drm_rocket_task t;
	struct drm_rocket_job_ext jobs[JOBS];
	uint64_t jobs_of_file;
	uint32_t files;
};

static int full_open(struct rk_client *c, uid_t uid)
{
	int fd = rk_open_as(uid, rk_open);

	return fd < 0 ? fd : rk_client_init_on(c, fd);
}

/* As many files as it takes, each with as many jobs as it may have, behind one that hangs; and one without. */
static int full_init(struct full *f, int fd, uid_t uid)
{
	int ret = 0;

	memset(f, 0, sizeof(*f));
	f->jobs_of_file = rk_param(fd, DRM_ROCKET_PARAM_MAX_FILE_JOBS);
	f->files = rk_param(fd, DRM_ROCKET_PARAM_MAX_USER_JOBS) / f->jobs_of_file;
	if (f->files != FULL_FILES - 1 || f->jobs_of_file % JOBS)
		return -EDOM;
	for (uint32_t i = 0; i <= f->files && !ret; i++) {
		struct rk_client *c = &f->c[i];

		ret = full_open(c, uid);
		if (!ret)
			ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &f->t);
		for (int k = 0; k < JOBS; k++) {
			rk_job_ext(&f->jobs[k], &f->t, 1, NULL, NULL);
			f->jobs[k].core_mask = 1;
			f->jobs[k].timeout_ns = LONGEST_MS * RK_MS;
		}
		for (uint64_t n = 0; i < f->files && n < f->jobs_of_file && !ret; n += JOBS)
			ret = rk_submit_ext(c->fd, f->jobs, JOBS, NULL);
	}
	return ret;
}

static void full_fini(struct full *f)
{
	for (int i = 0; i < FULL_FILES; i++)
		if (f->c[i].fd > 0)
			rk_client_fini(&f->c[i]);
}

#define REQUIRE_SPEED()								\
	do {									\
		RK_REQUIRE_MODEL();						\
		if (rk_slow() > 1 || rk_no_iommu())				\
			SKIP(return, "jobs that hang would be given up before so many were queued"); \
	} while (0)

RK_TEST_F_TIMEOUT(users, jobs_of_one_are_not_anothers, 300,
		  "a user can queue jobs up to its limit, and others can theirs")
{
	static struct full f;
	struct pollfd room = { .events = POLLOUT };
	struct drm_rocket_task t;
	struct rk_client other;
	struct rv_chain chain;
	int ret = 0, vendor;

	REQUIRE_SPEED();
	rk_module_param("max_job_ms", LONGEST_MS);
	/* All do: if one is given up while others are queued, the next one hangs. */
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 0);
	ASSERT_EQ(0, full_init(&f, self->fd, ATTACKER));
	/* No more than were given up, of the file that has none. */
	for (int i = 0; i < 16 && !ret; i++)
		ret = rk_submit_ext(f.c[f.files].fd, f.jobs, 1, NULL);
	EXPECT_EQ(-EBUSY, ret);
	room.fd = f.c[f.files].fd;
	EXPECT_EQ(0, poll(&room, 1, 0));

	/* On the cores that do not hang. */
	ASSERT_EQ(0, full_open(&other, VICTIM));
	ASSERT_EQ(0, rk_op_task(&other.inc, other.in.iova, other.out.iova, &t));
	ASSERT_EQ(0, rk_fini(&other.inc.bo));
	room.fd = other.fd;
	EXPECT_EQ(1, poll(&room, 1, 0));
	for (int i = 0; i < 100; i++)
		EXPECT_EQ(0, rk_submit_task(other.fd, &t, &other.in, &other.out));
	/* Behind one IOMMU for all cores, whoever hangs keeps the others waiting. */
	for (int i = 0; i < 100 && !rk_one_iommu(); i++)
		EXPECT_EQ(0, rk_client_run(&other, i));
	EXPECT_EQ(0, rk_fdinfo(other.fd, "rknpu-refused-jobs"));
	rk_client_fini(&other);
	vendor = rk_one_iommu() ? -ENODEV : rk_open_as(VICTIM, rv_open);
	if (vendor >= 0) {
		ASSERT_EQ(0, rv_chain_init(&chain, vendor, 3, 0, 0));
		for (int i = 0; i < 20; i++) {
			EXPECT_EQ(0, rv_chain_run(&chain, i));
		}
		rv_chain_fini(&chain);
		close(vendor);
	}

	/* Those of a file that goes make room. */
	rk_client_fini(&f.c[0]);
	f.c[0].fd = 0;
	room.fd = f.c[f.files].fd;
	EXPECT_EQ(1, poll(&room, 1, 60000));
	EXPECT_EQ(0, rk_submit_ext(f.c[f.files].fd, f.jobs, 1, NULL));
	full_fini(&f);
	rk_model_calm();
	EXPECT_EQ(0, rk_run_on_every_core(self->fd, 1));
}

RK_TEST_F_TIMEOUT(users, room_wakes_who_has_it, 300,
		  "poll() returns when its file and user have room, whoever's job made it")
{
	static struct full f;
	struct pollfd room = { .events = POLLOUT };

	REQUIRE_SPEED();
	rk_module_param("max_job_ms", LONGEST_MS);
	rk_latency_us(4000000);
	ASSERT_EQ(0, full_init(&f, self->fd, ATTACKER));
	room.fd = f.c[f.files].fd;
	ASSERT_EQ(0, poll(&room, 1, 0));
	/* The files take turns: there is room for the user before any of them has some itself. */
	rk_latency_us(2000);
	EXPECT_EQ(1, poll(&room, 1, 100000));
	for (uint32_t i = 0; i < f.files; i++) {
		room.fd = f.c[i].fd;
		EXPECT_EQ(0, poll(&room, 1, 0)) TH_LOG("file %u", i);
	}
	full_fini(&f);
}

/* Of a job, half of them for one and half for another. */
#define WAITS		64
#define FLOOD_CALLS	4
/* The longest that the model permits: so many as are queued meanwhile, of FLOOD_CALLS times JOBS. */
#define FLOOD_US	4000000
#define VICTIM_US	1000

struct flood {
	struct rk_client c;
	struct drm_rocket_task t[2];
	struct drm_rocket_sync first[WAITS];
};

/* A job that waits for the first @waits. */
static int flood_job(struct flood *f, int which, uint32_t mask, uint32_t waits,
		     struct drm_rocket_sync *out, uint64_t *id)
{
	struct drm_rocket_job_ext job;

	rk_job_ext(&job, &f->t[which], 1, NULL, NULL);
	job.core_mask = mask;
	job.timeout_ns = LONGEST_MS * RK_MS;
	job.in_syncs = (uintptr_t)f->first;
	job.in_sync_count = waits;
	job.out_syncs = (uintptr_t)out;
	job.out_sync_count = !!out;
	return rk_submit_ext(f->c.fd, &job, 1, id);
}

/* Jobs that wait for two, 32 times for each, and do not begin, as the second one hangs. */
static int flood_queue(struct flood *f, int calls)
{
	static struct drm_rocket_job_ext jobs[JOBS];
	int64_t end = rk_now() + 10000 * RK_MS;
	int ret = 0;

	for (int i = 0; i < JOBS; i++) {
		rk_job_ext(&jobs[i], &f->t[0], 1, NULL, NULL);
		jobs[i].in_syncs = (uintptr_t)f->first;
		jobs[i].in_sync_count = WAITS;
	}
	for (int i = 0; i < calls && !ret; i++) {
		/* What jobs of a file that was closed wait for counts until they have ended. */
		while ((ret = rk_submit_ext(f->c.fd, jobs, JOBS, NULL)) == -EBUSY && rk_now() < end)
			rk_sleep_ms(10);
	}
	return ret;
}

/* @last: behind them one that waits for the first alone. */
static int flood_init(struct flood *f, int calls, uint64_t *last)
{
	int ret = full_open(&f->c, ATTACKER);

	for (int i = 0; i < 2 && !ret; i++)
		ret = rk_op_task(&f->c.inc, f->c.in.iova, f->c.out.iova, &f->t[i]);
	if (!ret)
		ret = rk_fini(&f->c.inc.bo);
	for (int i = 0; i < 2 && !ret; i++) {
		if (drmSyncobjCreate(f->c.fd, 0, &f->first[i].handle))
			return -errno;
		ret = flood_job(f, 0, 1 << i, 0, &f->first[i], NULL);
	}
	for (int i = 2; i < WAITS; i++)
		f->first[i] = f->first[i - 2];
	if (!ret)
		ret = flood_queue(f, calls);
	return ret ? ret : flood_job(f, 1, 1 << 2, 1, NULL, last);
}

RK_TEST_F_TIMEOUT(users, what_waits_for_ones_jobs_is_not_anothers, 120,
		  "a job that waits for one of its user's is not behind all that wait for another user's")
{
	static struct flood f;
	struct drm_rocket_job_ext jobs[4];
	struct drm_rocket_wait_job w;
	struct drm_rocket_task t[4];
	struct rk_start starts[16];
	struct rk_client victim;
	int n, reader = -1, flooded = -1;
	uint64_t first, last;

	REQUIRE_SPEED();
	if (rk_one_iommu())
		SKIP(return, "the job that hangs keeps the others waiting");
	rk_module_param("max_job_ms", LONGEST_MS);
	ASSERT_EQ(0, full_open(&victim, VICTIM));
	/* The first one writes what the others read, of which two are queued as it ends. */
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, rk_op_task(&victim.inc, victim.in.iova, victim.out.iova, &t[i]));
		rk_job_ext(&jobs[i], &t[i], 1, i ? &victim.out : &victim.in, i ? NULL : &victim.out);
		jobs[i].core_mask = i < 3 ? 1 : 1 << 2;
	}
	ASSERT_EQ(0, rk_fini(&victim.inc.bo));

	rk_latency_us(FLOOD_US);
	for (int calls = FLOOD_CALLS; !rk_count(0, NPU_CNT_BUSY); calls /= 2) {
		if (calls < FLOOD_CALLS)
			rk_client_fini(&f.c);
		if (!calls)
			SKIP(return, "jobs are queued too slowly");
		rk_fault_arm(1, NPU_FAULT_HANG, 0, 1);
		ASSERT_EQ(0, flood_init(&f, calls, &last));
	}
	rk_latency_us(VICTIM_US);
	rk_trace_start();
	ASSERT_EQ(0, rk_submit_ext(victim.fd, jobs, 4, &first));
	EXPECT_EQ(0, rk_wait_job(victim.fd, first + 3, rk_now() + 30000 * RK_MS, &w));
	EXPECT_EQ(0, rk_wait_job(f.c.fd, last, rk_now() + 30000 * RK_MS, &w));
	n = rk_trace_starts(starts, 16);
	for (int i = 0; i < n; i++) {
		if (starts[i].regcmd == t[3].regcmd)
			reader = i;
		if (starts[i].regcmd == f.t[1].regcmd && starts[i].core == 2)
			flooded = i;
	}
	EXPECT_LE(0, reader);
	EXPECT_LT(reader, flooded);
	rk_client_fini(&f.c);
	rk_client_fini(&victim);
}

/* ---- what exporters keep locked ---- */

#define IMPORT_BYTES	(96u << 20)
/* DMA-API debugging complains of more than seven mappings of a page. */
#define STAYERS		2
#define LEAVERS		4
/* Longer than it takes to close a file. */
#define LEAVING_US	(200000 * rk_slow())

/* Whoever detaches from the buffer waits for one of these, which take as long as it is large. */
static void sync_for_ever(int buf)
{
	struct dma_buf_sync start = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	struct dma_buf_sync end = { .flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW };

	while (!ioctl(buf, DMA_BUF_IOCTL_SYNC, &start) && !ioctl(buf, DMA_BUF_IOCTL_SYNC, &end))
		;
	_exit(1);
}

RK_TEST_F_TIMEOUT(users, exporters_of_one_are_not_waited_for_by_another, 300,
		  "memory of others is freed while a user keeps a dma-buf locked that it has let go of")
{
	struct rk_client c[STAYERS + LEAVERS];
	long long bos = rk_stat("bos"), staying = 0, vms = 0;
	struct drm_rocket_task t;
	struct rk_bo bo;
	uint32_t handle;
	uint8_t *map;
	int fd, buf;
	pid_t pid;

	RK_REQUIRE_MODEL();
	RK_REQUIRE_IOMMU();
	buf = rv_heap_memory(IMPORT_BYTES, &map);
	if (buf == -ENOENT)
		SKIP(return, "this kernel has no dma-heap");
	ASSERT_LE(0, buf);
	/* Before there are files that it would keep open. */
	pid = fork();
	if (!pid)
		sync_for_ever(buf);
	fd = rk_open_as(VICTIM, rk_open);
	ASSERT_LE(0, fd);
	for (int i = 0; i < STAYERS + LEAVERS; i++) {
		ASSERT_EQ(0, full_open(&c[i], ATTACKER));
		ASSERT_EQ(0, drmPrimeFDToHandle(c[i].fd, buf, &handle));
		if (i == STAYERS - 1) {
			staying = rk_stat("bos");
			vms = rk_stat("vms");
		}
	}
	/* Jobs outlive their files, and who frees them has the last reference on what was imported. */
	rk_latency_us(LEAVING_US);
	for (int i = STAYERS; i < STAYERS + LEAVERS; i++) {
		ASSERT_EQ(0, rk_op_task(&c[i].inc, c[i].in.iova, c[i].out.iova, &t));
		ASSERT_EQ(0, rk_fini(&c[i].inc.bo));
		EXPECT_EQ(0, rk_submit_task(c[i].fd, &t, &c[i].in, &c[i].out));
		rk_client_fini(&c[i]);
	}
	rk_latency_us(0);
	EXPECT_TRUE(rk_stat_settles("vms", vms));
	/* More than it may have, which it hears after what is over was freed. */
	rk_module_param("max_user_memory_percent", 5);
	EXPECT_EQ(-ENOMEM, rk_bo_init(&bo, fd, 0x7ffff000));
	EXPECT_LT(staying, rk_stat("bos"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < STAYERS; i++)
		rk_client_fini(&c[i]);
	munmap(map, IMPORT_BYTES);
	close(buf);
	close(fd);
	EXPECT_TRUE(rk_stat_settles("bos", bos));
}

/* Calls before the job of a flood that is looked at, and behind it. */
#define POINT_CALLS	3

/* Programs, by which starts are told apart: of most jobs, one in a flood's middle, and a victim's. */
enum { MANY, MIDDLE, LATE, POINT_TASKS };

struct points {
	struct rk_client c;
	struct drm_rocket_task t[POINT_TASKS];
	/* Points of timelines: of the first two jobs, one after the other, which only a flood has. */
	struct drm_rocket_sync end, next;
	/* Of the job that is looked at. */
	struct drm_rocket_sync last;
};

static int points_open(struct points *p, uid_t uid)
{
	int ret = full_open(&p->c, uid);

	for (int i = 0; i < POINT_TASKS && !ret; i++)
		ret = rk_op_task(&p->c.inc, p->c.in.iova, p->c.out.iova, &p->t[i]);
	p->end.point = p->next.point = 1;
	if (!ret && (drmSyncobjCreate(p->c.fd, 0, &p->end.handle) ||
		     drmSyncobjCreate(p->c.fd, 0, &p->next.handle) ||
		     drmSyncobjCreate(p->c.fd, 0, &p->last.handle)))
		ret = -errno;
	return ret ? ret : rk_fini(&p->c.inc.bo);
}

/* @in: NULL: it waits for nothing. */
static int points_job(struct points *p, int which, uint32_t mask, struct drm_rocket_sync *in,
		      struct drm_rocket_sync *out)
{
	struct drm_rocket_job_ext job;

	rk_job_ext(&job, &p->t[which], 1, NULL, NULL);
	job.core_mask = mask;
	job.timeout_ns = LONGEST_MS * RK_MS;
	job.in_syncs = (uintptr_t)in;
	job.in_sync_count = !!in;
	job.out_syncs = (uintptr_t)out;
	job.out_sync_count = 1;
	return rk_submit_ext(p->c.fd, &job, 1, NULL);
}

/* Jobs that wait for a point, of which the first one hangs, on a core of its own. */
static int points_queue(struct points *p, int calls)
{
	static struct drm_rocket_job_ext jobs[JOBS];
	int ret = 0;

	for (int i = 0; i < JOBS; i++) {
		rk_job_ext(&jobs[i], &p->t[MANY], 1, NULL, NULL);
		jobs[i].core_mask = 1 << 1;
		jobs[i].timeout_ns = LONGEST_MS * RK_MS;
		jobs[i].in_syncs = (uintptr_t)&p->end;
		jobs[i].in_sync_count = 1;
	}
	for (int i = 0; i < calls && !ret; i++)
		ret = rk_submit_ext(p->c.fd, jobs, JOBS, NULL);
	return ret;
}

/* One of those that wait is on another core. The second job starts as the first one ends. */
static int points_flood(struct points *p, int calls)
{
	return points_open(p, ATTACKER) ?: points_job(p, MANY, 1 << 0, NULL, &p->end) ?:
	       points_job(p, MANY, 1 << 0, NULL, &p->next) ?: points_queue(p, calls) ?:
	       points_job(p, MIDDLE, 1 << 2, &p->end, &p->last) ?: points_queue(p, calls);
}

/* A job that waits for a point that comes after the flood's. */
static int points_follow(struct points *p, const struct points *flood)
{
	struct drm_rocket_sync next = { .point = 1 };
	int ret = points_open(p, VICTIM), fd;

	if (ret)
		return ret;
	if (drmSyncobjHandleToFD(flood->c.fd, flood->next.handle, &fd))
		return -errno;
	ret = drmSyncobjFDToHandle(p->c.fd, fd, &next.handle) ? -errno : 0;
	close(fd);
	return ret ? ret : points_job(p, LATE, 1 << 2, &next, &p->last);
}

static bool points_have_come(struct points *p)
{
	return drmSyncobjTimelineWait(p->c.fd, &p->end.handle, &(uint64_t) { 1 }, 1, 0, 0, NULL) != -ETIME;
}

static int points_wait(struct points *p)
{
	return drmSyncobjWait(p->c.fd, &p->last.handle, 1, rk_now() + 30000 * RK_MS, 0, NULL);
}

RK_TEST_F_TIMEOUT(users, what_waits_for_ones_points_is_not_anothers, 120,
		  "a job that waits for a point of a timeline is not behind all another user's that did")
{
	static struct points flood, victim;
	int n, late = -1, middle = -1;
	struct rk_start starts[16];

	REQUIRE_SPEED();
	if (rk_one_iommu())
		SKIP(return, "the job that hangs keeps the others waiting");
	/* On the CPU that has the interrupts: it goes on when those have come to all jobs. */
	if (rk_write_file(UNBOUND, "1"))
		SKIP(return, "workers cannot be kept on a CPU");
	self->bound = true;
	rk_module_param("max_job_ms", LONGEST_MS);
	for (int calls = POINT_CALLS; calls; calls /= 2) {
		rk_fault_arm(1, NPU_FAULT_HANG, 0, 1);
		rk_latency_us(FLOOD_US);
		ASSERT_EQ(0, points_flood(&flood, calls));
		rk_latency_us(VICTIM_US);
		rk_trace_start();
		ASSERT_EQ(0, points_follow(&victim, &flood));
		if (!points_have_come(&flood))
			break;
		if (calls == 1)
			SKIP(return, "jobs are queued too slowly");
		rk_client_fini(&flood.c);
		rk_client_fini(&victim.c);
	}
	EXPECT_EQ(0, points_wait(&flood));
	EXPECT_EQ(0, points_wait(&victim));
	n = rk_trace_starts(starts, 16);
	for (int i = 0; i < n; i++) {
		if (starts[i].regcmd == victim.t[LATE].regcmd)
			late = i;
		if (starts[i].regcmd == flood.t[MIDDLE].regcmd)
			middle = i;
	}
	EXPECT_LE(0, late);
	EXPECT_LT(late, middle);
	rk_client_fini(&flood.c);
	rk_client_fini(&victim.c);
}

/* ---- memory ---- */

#define ATTACKERS	7
#define ATTACKER_FILES	4
#define MIB		(1u << 20)
/* Of memory, for one user and for all, instead of the default's 65 and 75. */
#define USER_PERCENT	13
#define ALL_PERCENT	15

/* All that there is for files of that user. */
static int take_all(uid_t uid, int *fd)
{
	for (int i = 0; i < ATTACKER_FILES; i++) {
		int ret;

		fd[i] = rk_open_as(uid, rk_open);
		if (fd[i] < 0)
			return fd[i];
		ret = rk_take_memory(fd[i], MIB);
		if (ret != -ENOMEM)
			return ret;
	}
	return 0;
}

static int vendor_works(uid_t uid, uint64_t bytes)
{
	struct rv_chain chain;
	struct rv_bo bo;
	int ret, fd = rk_open_as(uid, rv_open);

	/* A module without it. */
	if (fd < 0)
		return 0;
	ret = rv_bo_init(&bo, fd, bytes, RV_FLAGS, 0);
	if (!ret)
		ret = rv_chain_init(&chain, fd, 3, 0, 0);
	if (!ret) {
		ret = rv_chain_run(&chain, 1);
		rv_chain_fini(&chain);
	}
	close(fd);
	return ret;
}

RK_TEST_F_TIMEOUT(users, memory_of_some_is_not_anothers, 200,
		  "when seven users have taken all the memory they get, another one opens files and gets some")
{
	uint64_t all, user, own;
	long long bytes;
	int fd[ATTACKERS][ATTACKER_FILES];
	struct rk_client c;
	uint32_t handle;

	if (rk_no_iommu())
		SKIP(return, "no contiguous memory for all that");
	rk_module_param("max_user_memory_percent", USER_PERCENT);
	rk_module_param("max_memory_percent", ALL_PERCENT);
	all = rk_param(self->fd, DRM_ROCKET_PARAM_MAX_DEVICE_MEMORY);
	user = rk_param(self->fd, DRM_ROCKET_PARAM_MAX_USER_MEMORY);
	/* What is promised to each, less page tables, lists of pages, the file and what else the job needs. */
	own = (all - user) / 8;
	own -= own / 100 + 64 * RK_PAGE + RK_FILE_BYTES;
	memset(fd, -1, sizeof(fd));
	for (int i = 0; i < ATTACKERS; i++) {
		int ret = take_all(ATTACKER + 10 * i, fd[i]);

		/* The last file may not get its address space. */
		EXPECT_TRUE(!ret || ret == -ENOMEM) TH_LOG("%d", ret);
	}
	EXPECT_LE(user, (uint64_t)rk_stat("bo_bytes") + rk_stat("table_bytes"));
	EXPECT_GE(all, (uint64_t)rk_stat("bo_bytes") + rk_stat("table_bytes"));
	bytes = rk_stat("bo_bytes");

	EXPECT_EQ(0, full_open(&c, VICTIM));
	if (c.fd > 0) {
		EXPECT_EQ(0, rk_create_bo(c.fd, own / RK_PAGE * RK_PAGE, &handle));
		EXPECT_EQ(0, rk_client_run(&c, 1));
		rk_client_fini(&c);
	}
	/* It has what it gets once, by either uAPI. */
	EXPECT_TRUE(rk_stat_settles("bo_bytes", bytes));
	EXPECT_EQ(0, vendor_works(VICTIM, own / RK_PAGE * RK_PAGE));
	for (int i = 0; i < ATTACKERS * ATTACKER_FILES; i++)
		if (fd[i / ATTACKER_FILES][i % ATTACKER_FILES] >= 0)
			close(fd[i / ATTACKER_FILES][i % ATTACKER_FILES]);
}

/* ---- what threads keep locked ---- */

/* Users of their own: who has had much of a core is behind in what comes after this. */
#define KEEPER		1003
#define CLOSER		1004
#define KEPT_BYTES	(48u << 20)
/* An address space needs a table for so much. */
#define TABLE_SPAN	(4u << 20)
#define SPINNERS	8
#define KEEPER_JOBS	16
#define KEEPER_US	2000000
/* Long enough for what others do meanwhile, and less than the kernel takes for a hang. */
#define KEEP_MS		60000

/*
 * An address space that is locked for long: by a thread that makes a mapping in it, and that
 * hardly runs, as whoever has the fds needs no privilege to bring about.
 */
struct keeper {
	struct rk_client c;
	struct drm_rocket_task t;
	int from, buf;
	/* The first one makes the mapping. */
	pid_t pid[1 + SPINNERS];
};

/* 0 in it, when it is told to go on. */
static pid_t keeper_fork(int policy)
{
	struct sched_param none = { 0 };
	pid_t pid = fork();

	if (pid)
		return pid;
	if (rk_use_cpu(1) || setresuid(KEEPER, KEEPER, KEEPER) ||
	    sched_setscheduler(0, policy, &none) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(NOT_ALLOWED);
	raise(SIGSTOP);
	return 0;
}

static void keeper_child(const struct keeper *k, bool maps)
{
	int64_t end = rk_now() + (int64_t)KEEP_MS * rk_slow() * RK_MS;
	uint32_t handle;

	if (maps)
		_exit(drmPrimeFDToHandle(k->c.fd, k->buf, &handle) ? errno : 0);
	while (rk_now() < end)
		;
	_exit(0);
}

/* -ENXIO: there is no second CPU. Before files are opened that it would keep open. */
static int keeper_init(struct keeper *k)
{
	struct drm_rocket_create_bo bo = { .size = KEPT_BYTES };
	int status, ret = full_open(&k->c, KEEPER);

	if (!ret)
		ret = rk_op_task(&k->c.inc, k->c.in.iova, k->c.out.iova, &k->t);
	if (!ret)
		ret = rk_fini(&k->c.inc.bo);
	k->from = rk_open_as(KEEPER, rk_open);
	if (!ret)
		ret = rk_ioctl(k->from, DRM_IOCTL_ROCKET_CREATE_BO, &bo);
	k->buf = ret ? ret : rk_export(k->from, bo.handle);
	if (k->buf < 0 || rk_use_cpu(0))
		return k->buf < 0 ? k->buf : -errno;
	for (int i = 0; i <= SPINNERS; i++) {
		k->pid[i] = keeper_fork(i ? SCHED_OTHER : SCHED_IDLE);
		if (!k->pid[i])
			keeper_child(k, !i);
		if (waitpid(k->pid[i], &status, WUNTRACED) != k->pid[i] || !WIFSTOPPED(status))
			return -ENXIO;
	}
	return 0;
}

static bool keeper_keeps(const struct keeper *k)
{
	return !waitpid(k->pid[0], NULL, WNOHANG);
}

/* The mapping's tables are charged when it begins, and the lock is held from then on. */
static int keeper_lock(struct keeper *k)
{
	long long tables = rk_stat("table_bytes") + KEPT_BYTES / TABLE_SPAN * RK_PAGE;
	int64_t end = rk_now() + (int64_t)KEEP_MS / 2 * rk_slow() * RK_MS;

	kill(k->pid[1], SIGCONT);
	kill(k->pid[0], SIGCONT);
	while (rk_stat("table_bytes") < tables) {
		if (rk_now() > end || !keeper_keeps(k))
			return -ETIME;
		rk_sleep_ms(1);
	}
	for (int i = 2; i <= SPINNERS; i++)
		kill(k->pid[i], SIGCONT);
	return 0;
}

/* On return it has the lock, and jobs whose release has to wait for that. */
static int keeper_keep(struct keeper *k)
{
	struct drm_rocket_job_ext jobs[KEEPER_JOBS];
	struct drm_rocket_wait_job w;
	uint64_t first;
	int ret;

	/* Some end before, since nobody can submit once it is locked. */
	for (int i = 0; i < KEEPER_JOBS; i++) {
		rk_job_ext(&jobs[i], &k->t, 1, NULL, NULL);
		jobs[i].core_mask = 1 << 1;
		jobs[i].timeout_ns = LONGEST_MS * RK_MS;
	}
	rk_latency_us(KEEPER_US);
	ret = rk_submit_ext(k->c.fd, jobs, KEEPER_JOBS, &first) ?: keeper_lock(k);
	rk_latency_us(VICTIM_US);
	if (!ret)
		ret = rk_wait_job(k->c.fd, first + KEEPER_JOBS - 1, rk_now() + 30000 * RK_MS, &w);
	/* They are freed a moment after that. */
	rk_sleep_ms(100 * rk_slow());
	if (!ret && !keeper_keeps(k))
		ret = -ESTALE;
	return ret;
}

static void keeper_fini(struct keeper *k)
{
	for (int i = SPINNERS; i >= 0; i--) {
		if (k->pid[i] <= 0)
			continue;
		kill(k->pid[i], SIGKILL);
		kill(k->pid[i], SIGCONT);
		waitpid(k->pid[i], NULL, 0);
	}
	if (k->buf > 0)
		close(k->buf);
	if (k->from > 0)
		close(k->from);
	if (k->c.fd > 0)
		rk_client_fini(&k->c);
}

#define REQUIRE_KEEPER(k)							\
	do {									\
		int begun = keeper_init(k);					\
										\
		if (begun == -ENXIO) {						\
			keeper_fini(k);						\
			SKIP(return, "needs two CPUs");				\
		}								\
		ASSERT_EQ(0, begun);						\
	} while (0)

/* For it, and for a victim; no more than an eighth of what is reserved for those that have little. */
#define KEPT_PERCENT	8
#define CLOSED_BYTES	(16u << 20)

/* All that is left for files of that user goes to one, so that no other one can be opened. */
static int take_rest(uid_t uid)
{
	int ret, fd = rk_open_as(uid, rk_open);

	if (fd < 0)
		return fd;
	ret = rk_take_memory(fd, MIB);
	return ret == -ENOMEM ? fd : ret;
}

RK_TEST_F_TIMEOUT(users, memory_is_not_kept_by_anothers_threads, 300,
		  "memory of a closed file is there for another file, while another user keeps an address space locked")
{
	static struct keeper k;
	struct rk_client c;
	uint32_t handle;
	struct rk_bo bo;
	long long bytes;
	int fd, again;

	RK_REQUIRE_MODEL();
	RK_REQUIRE_IOMMU();
	REQUIRE_KEEPER(&k);
	rk_module_param("max_job_ms", LONGEST_MS);
	bytes = rk_stat("bo_bytes");
	rk_module_param("max_user_memory_percent", KEPT_PERCENT);
	ASSERT_EQ(0, full_open(&c, CLOSER));
	ASSERT_EQ(0, rk_bo_init(&bo, c.fd, CLOSED_BYTES));
	fd = take_rest(CLOSER);
	ASSERT_LE(0, fd);
	ASSERT_EQ(-ENOMEM, rk_open_as(CLOSER, rk_open));

	ASSERT_EQ(0, keeper_keep(&k));
	EXPECT_EQ(0, rk_client_run(&c, 1));
	rk_bo_fini(&bo);
	rk_client_fini(&c);
	again = rk_open_as(CLOSER, rk_open);
	EXPECT_LE(0, again);
	EXPECT_EQ(0, rk_create_bo(again, CLOSED_BYTES / 2, &handle));
	EXPECT_TRUE(keeper_keeps(&k));
	close(again);
	close(fd);
	EXPECT_TRUE(rk_stat_settles("bo_bytes", bytes));
	EXPECT_TRUE(keeper_keeps(&k));
	keeper_fini(&k);
}

RK_TEST_F_TIMEOUT(users, room_is_not_kept_by_anothers_threads, 300,
		  "jobs of closed files make room for more, while another user keeps an address space locked")
{
	static struct full f;
	static struct keeper k;
	struct pollfd room = { .events = POLLOUT };

	REQUIRE_SPEED();
	if (rk_one_iommu())
		SKIP(return, "the job that hangs keeps the others waiting");
	REQUIRE_KEEPER(&k);
	rk_module_param("max_job_ms", LONGEST_MS);
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 0);
	ASSERT_EQ(0, full_init(&f, self->fd, CLOSER));

	ASSERT_EQ(0, keeper_keep(&k));
	for (uint32_t i = 0; i < f.files; i++) {
		rk_client_fini(&f.c[i]);
		f.c[i].fd = 0;
	}
	EXPECT_EQ(0, rk_submit_ext(f.c[f.files].fd, f.jobs, 1, NULL));
	room.fd = f.c[f.files].fd;
	EXPECT_EQ(1, poll(&room, 1, 30000));
	EXPECT_TRUE(keeper_keeps(&k));
	keeper_fini(&k);
	full_fini(&f);
}

RK_HARNESS_MAIN
