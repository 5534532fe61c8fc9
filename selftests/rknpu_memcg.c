// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of BOs and jobs is the memory of who asked for it: control groups with a limit.
 *
 * boot: deps
 * Memory that runs out prints a call trace.
 * boot: debug-reclaim KERNEL=debug TRACES TEST_LIMIT=1800
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define CG		"/tmp/rknpu-cgroup"
#define MIB		(1ll << 20)
/* Of the jobs that keep the others waiting. */
#define DEADLINE_MS	(rk_slow() > 1 ? 20000 : 5000)
#define TASKS		4096u
/* At least: two addresses, or a count. */
#define TASK_BYTES	8

static int write_number(const char *path, long long value)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	fprintf(f, "%lld", value);
	return fclose(f) ? -errno : 0;
}

static int enable_memory(void)
{
	FILE *f = fopen(CG "/cgroup.subtree_control", "we");

	if (!f)
		return -errno;
	fputs("+memory", f);
	return fclose(f) ? -errno : 0;
}

/* What the group's memory is now. */
static long long used(void)
{
	FILE *f = fopen(CG "/npu/memory.current", "re");
	long long v = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%lld", &v) != 1)
		v = -1;
	fclose(f);
	return v;
}

static bool used_becomes_less_than(long long bytes)
{
	for (int i = 0; i < 600 && used() >= bytes; i++)
		rk_sleep_ms(100);
	return used() < bytes;
}

/* How often it was at its limit. */
static long long times_full(void)
{
	FILE *f = fopen(CG "/npu/memory.events", "re");
	long long v, found = -1;
	char key[32];

	if (!f)
		return -1;
	while (fscanf(f, "%31s %lld", key, &v) == 2)
		if (!strcmp(key, "max"))
			found = v;
	fclose(f);
	return found;
}

static int cgroup_make(void)
{
	int ret;

	mkdir(CG, 0700);
	if (mount("none", CG, "cgroup2", 0, NULL))
		return -errno;
	ret = enable_memory();
	if (!ret && mkdir(CG "/npu", 0700))
		ret = -errno;
	return ret ? ret : write_number(CG "/npu/memory.max", 16 * MIB);
}

static void cgroup_remove(void)
{
	for (int i = 0; i < 100 && rmdir(CG "/npu") && errno == EBUSY; i++)
		rk_sleep_ms(20);
	umount(CG);
	rmdir(CG);
}

FIXTURE(memcg) {
	struct rk_client c;
	long long bos;
	long long vms;
};

FIXTURE_SETUP(memcg)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	if (cgroup_make()) {
		cgroup_remove();
		SKIP(return, "no memory cgroups");
	}
	/* Whoever was before may take a moment to go. */
	rk_stat_settles("vms", 0);
	self->bos = rk_stat("bos");
	self->vms = rk_stat("vms");
	ASSERT_EQ(0, rk_client_init(&self->c));
}

FIXTURE_TEARDOWN(memcg)
{
	rk_model_calm();
	cgroup_remove();
	if (self->c.fd > 0) {
		rk_client_fini(&self->c);
		EXPECT_TRUE(rk_stat_settles("bos", self->bos));
		EXPECT_TRUE(rk_stat_settles("vms", self->vms));
	}
}

/* A member of the group that exits with what @member returns, at most 255. */
static pid_t start_member(int (*member)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write_number(CG "/npu/cgroup.procs", getpid()))
		_exit(200);
	_exit(member());
}

/* Number of BOs of 1 MiB that fitted, or 200 and more for what went wrong. */
static int fill_with_bos(void)
{
	int fd = rk_open(), n, ret = 0;
	uint32_t handle;

	if (fd < 0)
		return 201;
	for (n = 0; n < 100 && !ret; n++)
		ret = rk_create_bo(fd, MIB, &handle);
	if (ret != -ENOMEM)
		return 202;
	return used() > 8 * MIB ? n - 1 : 203;
}

RK_TEST_F(memcg, pages_are_charged_to_the_cgroup,
	  "pages of BOs are charged to the cgroup, which refuses what is too much")
{
	int status;
	pid_t pid = start_member(fill_with_bos);

	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	/* Refused in time, and not killed for it. */
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_LE(8, WEXITSTATUS(status));
	EXPECT_GT(16, WEXITSTATUS(status));
	EXPECT_LT(0, times_full());
	EXPECT_EQ(0, rk_client_run(&self->c, 1));
}

#define SLOW_BO		(64 * MIB)
#define DROP_CACHES	"/proc/sys/vm/drop_caches"

static int slow_node;

/* 0 if the device went away meanwhile, or 200 and more. */
static int create_slowly(void)
{
	struct drm_rknpu_mem_create v = { .size = SLOW_BO, .flags = RV_FLAGS };
	int fd = slow_node == 0 ? rk_open() : slow_node == 1 ? rv_open_render() : rv_open_misc();
	uint32_t handle;
	int ret;

	if (fd < 0)
		return 201;
	ret = slow_node == 0 ? rk_create_bo(fd, SLOW_BO, &handle) : rv_create(fd, &v);
	if (ret)
		return ret == -ENODEV ? 0 : 202;
	return 203;
}

/* The group is given memory so slowly that all of the BO would take minutes. */
RK_TEST_F_TIMEOUT(memcg, unbinding_does_not_wait_for_memory, 180,
		  "the device goes while a large BO is being made, which fails then")
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, write_number(CG "/npu/memory.max", 2 * SLOW_BO));
	ASSERT_EQ(0, write_number(CG "/npu/memory.high", 4 * MIB));
	for (slow_node = 0; slow_node < 3; slow_node++) {
		int fd = slow_node == 0 ? -1 : slow_node == 1 ? rv_open_render() : rv_open_misc();

		if (slow_node && fd < 0)
			continue;
		close(fd);
		pid = start_member(create_slowly);
		ASSERT_LT(0, pid);
		while (used() < 5 * MIB && !waitpid(pid, &status, WNOHANG))
			rk_sleep_ms(10);
		/* Pages that go would be made again while others are pinned, where nobody looks. */
		EXPECT_EQ(0, rk_write_file(DROP_CACHES, "1"));
		EXPECT_LT(4 * MIB, used()) TH_LOG("node %d", slow_node);
		ASSERT_EQ(0, rk_rebind(0));
		EXPECT_GT(SLOW_BO / 2, used());
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFEXITED(status));
		EXPECT_EQ(0, WEXITSTATUS(status)) TH_LOG("node %d", slow_node);
		EXPECT_TRUE(used_becomes_less_than(5 * MIB));
	}
}

/* Jobs of many tasks on core 0, where the first of them hangs. */
struct queuer {
	struct rk_client c;
	struct drm_rocket_task t[TASKS];
	struct drm_rocket_job_ext job;
};

static int queuer_init(struct queuer *q)
{
	int ret = rk_client_init(&q->c);

	if (!ret)
		ret = rk_op_task(&q->c.inc, q->c.in.iova, q->c.out.iova, &q->t[0]);
	for (uint32_t i = 1; i < TASKS; i++)
		q->t[i] = q->t[0];
	rk_job_ext(&q->job, q->t, 1, NULL, NULL);
	q->job.core_mask = 1;
	q->job.timeout_ns = DEADLINE_MS * RK_MS;
	if (!ret)
		ret = rk_submit_ext(q->c.fd, &q->job, 1, NULL);
	q->job.task_count = TASKS;
	return ret;
}

#define QUEUED	64

/* 0 if the group's memory has grown by that of the jobs. */
static int queue_some_jobs(void)
{
	static struct queuer q;
	long long before, want = QUEUED * TASKS * TASK_BYTES;

	if (queuer_init(&q))
		return 201;
	before = used();
	for (int i = 0; i < QUEUED; i++)
		if (rk_submit_ext(q.c.fd, &q.job, 1, NULL))
			return 202;
	return before > 0 && used() - before >= want ? 0 : 203;
}

RK_TEST_F_TIMEOUT(memcg, jobs_are_charged_to_the_cgroup, 180,
		  "memory of queued jobs is charged to the cgroup, and given back when they are cancelled")
{
	int status;
	pid_t pid;

	RK_REQUIRE_MODEL();
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	pid = start_member(queue_some_jobs);
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_TRUE(used_becomes_less_than(MIB)) TH_LOG("%lld bytes", used());
}

/* The error that ended it, less than 200. */
static int queue_until_it_fails(void)
{
	static struct queuer q;
	int ret = queuer_init(&q);

	if (ret)
		return 201;
	while (!ret)
		ret = rk_submit_ext(q.c.fd, &q.job, 1, NULL);
	return -ret;
}

RK_TEST_F_TIMEOUT(memcg, too_many_jobs_are_the_callers_trouble, 180,
		  "who queues more jobs than its cgroup allows fails or is killed, and nobody else notices")
{
	int status, jobs = 0;
	pid_t pid;

	RK_REQUIRE_MODEL();
	/* Less than all the tasks that a file may have take. */
	ASSERT_EQ(0, write_number(CG "/npu/memory.max", 6 * MIB));
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	pid = start_member(queue_until_it_fails);
	ASSERT_LT(0, pid);
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_BUSY, 1, 20000));
	rk_task_timeout_ms(5000);
	do {
		ASSERT_EQ(0, rk_client_run(&self->c, jobs++ % 100));
	} while (!waitpid(pid, &status, WNOHANG));
	if (WIFSIGNALED(status)) {
		EXPECT_EQ(SIGKILL, WTERMSIG(status));
	} else {
		EXPECT_EQ(ENOMEM, WEXITSTATUS(status));
	}
	EXPECT_LT(0, times_full());
	EXPECT_EQ(0, rk_client_run(&self->c, 1));
	EXPECT_TRUE(used_becomes_less_than(MIB)) TH_LOG("%lld bytes", used());
}

/* Until it is killed: memory is taken up to the limit and freed, and caches are dropped. */
static int press(void)
{
	for (;;) {
		int fd = rk_open();
		uint32_t handle;

		if (fd < 0)
			return 201;
		while (!rk_create_bo(fd, MIB, &handle))
			;
		close(fd);
		write_number("/proc/sys/vm/drop_caches", 3);
	}
}

/* A job per core. 0 if the one on core 1 ends with @want because of a fault, or what else. */
static int run_with_fault(struct rk_team *t, uint32_t fault, int want)
{
	int ret;

	rk_fault_arm(1, fault, 0, 1);
	rk_latency_us(20000);
	ret = rk_team_submit(t, RK_CORES, 30);
	rk_latency_us(0);
	if (ret)
		return ret;
	rk_team_collect(t, RK_CORES, 30, 60000);
	if (!rk_fault_fired())
		return -ENODATA;
	return rk_team_count(t, RK_CORES, want) == 1 &&
	       rk_team_count(t, RK_CORES, 0) == RK_CORES - 1 ? 0 : -EPROTO;
}

/* Jobs of a file that is closed while they are queued, behind one that hangs. */
static int close_with_jobs(void)
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_task task;
	struct rk_client c;
	int ret = rk_client_init(&c);

	if (!ret)
		ret = rk_op_task(&c.inc, c.in.iova, c.out.iova, &task);
	if (!ret)
		ret = rk_fini(&c.inc.bo);
	rk_job_ext(&job, &task, 1, &c.in, &c.out);
	job.core_mask = 1;
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	if (!ret)
		ret = rk_submit_ext(c.fd, &job, 1, NULL);
	if (!ret && !rk_wait_count(0, NPU_CNT_BUSY, 1, 10000))
		ret = -ETIME;
	for (int i = 0; i < 20 && !ret; i++)
		ret = rk_submit_op(&c.inc, &c.in, &c.out);
	rk_client_fini(&c);
	return ret;
}

#define PRESS_ROUNDS	(rk_slow() > 1 ? 3 : 10)

/*
 * Lockdep is what judges, if the kernel has it: what ends jobs may not wait for
 * what others do while they wait for memory.
 */
RK_TEST_F_TIMEOUT(memcg, jobs_end_while_memory_is_reclaimed, 600,
		  "jobs end, and cores recover, while memory is reclaimed all the time")
{
	struct rk_team team;
	int status;
	pid_t pid;

	RK_REQUIRE_MODEL();
	rk_task_timeout_ms(RK_TASK_TIMEOUT_MS * rk_slow());
	pid = start_member(press);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, rk_team_init(&team));
	for (int i = 0; i < PRESS_ROUNDS; i++) {
		/* Two address spaces in turn, and now and then a core that slept. */
		EXPECT_EQ(0, rk_client_run(&self->c, i));
		EXPECT_EQ(0, run_with_fault(&team, NPU_FAULT_HANG, -ETIME));
		EXPECT_EQ(0, rk_client_run(&self->c, i));
		EXPECT_EQ(0, run_with_fault(&team, NPU_FAULT_MMU_READ, -EFAULT));
		EXPECT_EQ(0, close_with_jobs());
		EXPECT_TRUE(rk_wait_asleep(10000));
	}
	EXPECT_LT(0, times_full());
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	rk_team_fini(&team);
}

RK_HARNESS_MAIN
