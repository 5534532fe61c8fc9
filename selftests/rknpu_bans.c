// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users whose jobs fail again and again: what it costs them, and nobody else.
 *
 * boot: misc
 * boot: dtvendor
 * boot: debug-bans KERNEL=debug TEST_LIMIT=1800 --param vendor_misc=1
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

/* Failures until a ban, and a time in which none is forgiven. */
#define LIMIT		4
#define LONG_MS		3600000u
#define DEFAULT_MS	10000u
#define FOR_GOOD	UINT64_MAX
/* More than are allowed. */
#define TRIES		30
/* For tasks that end, as the host may be busy. */
#define PATIENCE_MS	20000

/* A file, and a program for it. */
struct actor {
	struct rk_client c;
	struct drm_rocket_task task;
};

FIXTURE(bans) {
	uid_t uid;
	struct actor victim;
};

static int actor_init(struct actor *a, uid_t uid)
{
	int fd = rk_open_as(uid, rk_open), ret;

	if (fd < 0)
		return fd;
	ret = rk_client_init_on(&a->c, fd);
	return ret ? ret : rk_op_task(&a->c.inc, a->c.in.iova, a->c.out.iova, &a->task);
}

static void actor_fini(struct actor *a)
{
	rk_client_fini(&a->c);
}

static int submit(struct actor *a)
{
	return rk_submit_task(a->c.fd, &a->task, &a->c.in, &a->c.out);
}

static int run(struct actor *a)
{
	int ret = submit(a);

	return ret ? ret : rk_prep(&a->c.out, 20000);
}

/* The next task meets @kind: how that job ended, or why it was not taken. */
static int fail_by(struct actor *a, uint32_t kind)
{
	int ret;

	rk_fault_arm(NPU_CTL_ANY_CORE, kind, 0, 1);
	ret = run(a);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
	return ret;
}

static int fail(struct actor *a)
{
	return fail_by(a, NPU_FAULT_DMA_READ);
}

/* How many jobs of the file fail until it may not submit, at most TRIES. */
static int fail_until_banned(struct actor *a, uint32_t kind, int err)
{
	int n, ret;

	for (n = 0; n < TRIES; n++) {
		ret = fail_by(a, kind);
		if (ret != err)
			break;
	}
	if (n < TRIES && ret != -EPIPE)
		printf("# job %d: %d\n", n, ret);
	return n;
}

/* The line comes after the job's fence. */
static bool log_comes(int log, const char *what)
{
	for (int i = 0; i < 1000; i++) {
		if (rk_log_says(log, what))
			return true;
		rk_sleep_ms(10);
	}
	return false;
}

static void wait_fired(uint32_t before)
{
	while (rk_fault_fired() == before)
		rk_sleep_ms(1);
}

static uint64_t banned_ns(const struct actor *a)
{
	return rk_param(a->c.fd, DRM_ROCKET_PARAM_BANNED_NS);
}

#define VICTIM_JOBS	30

/* @n jobs for each core, of @timeout_ms or by default; the numbers of the first ones go to @first. */
static int queue(struct actor *a, int n, unsigned int timeout_ms, uint64_t *first)
{
	struct drm_rocket_job_ext job[VICTIM_JOBS];
	int ret = 0;

	for (unsigned int core = 0; core < RK_CORES && !ret; core++) {
		for (int i = 0; i < n; i++) {
			rk_job_ext(&job[i], &a->task, 1, NULL, NULL);
			job[i].core_mask = 1u << core;
			job[i].timeout_ns = timeout_ms * RK_MS;
		}
		ret = rk_submit_ext(a->c.fd, job, n, &first[core]);
	}
	return ret;
}

FIXTURE_SETUP(bans)
{
	static const char *const param = "/sys/module/rknpu_accel/parameters/max_hangs";
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	RK_REQUIRE_MODEL();
	if (!rk_ours() || access(param, W_OK))
		SKIP(return, "needs our driver, and root");
	/* Nobody has seen them before: strikes are a user's, not a file's. */
	self->uid = 100000 + 10 * getpid();
	rk_module_param("hang_ban_ms", LONG_MS);
	rk_module_param("max_hangs", LIMIT);
	ASSERT_EQ(0, actor_init(&self->victim, self->uid));
}

FIXTURE_TEARDOWN(bans)
{
	rk_model_calm();
	rk_module_param("hang_ban_ms", DEFAULT_MS);
	rk_module_param("slice_us", 4000);
	if (!self->uid)
		return;
	EXPECT_EQ(0, rk_client_run(&self->victim.c, 1));
	actor_fini(&self->victim);
}

RK_TEST_F(bans, a_file_is_banned_for_good,
	  "a file of whose jobs four fail may not submit any more, and GET_PARAM, fdinfo and the log say so")
{
	int log = rk_log_open();
	struct actor a;

	ASSERT_EQ(0, actor_init(&a, self->uid + 1));
	EXPECT_EQ(0, banned_ns(&a));
	EXPECT_EQ(0, rk_fdinfo(a.c.fd, "rknpu-failures"));
	EXPECT_EQ(LIMIT, fail_until_banned(&a, NPU_FAULT_DMA_READ, -EIO));
	EXPECT_EQ(-EPIPE, submit(&a));
	EXPECT_EQ(FOR_GOOD, banned_ns(&a));
	EXPECT_EQ(LIMIT, rk_fdinfo(a.c.fd, "rknpu-failures"));
	EXPECT_LT(0, rk_fdinfo(a.c.fd, "rknpu-failure-time"));
	EXPECT_LT(0, rk_fdinfo(a.c.fd, "rknpu-banned"));
	EXPECT_TRUE(log_comes(log, "is banned for good"));
	EXPECT_EQ(0, rk_client_run(&self->victim.c, 2));
	actor_fini(&a);
	close(log);
}

RK_TEST_F(bans, a_user_is_banned_for_a_while,
	  "so may no other file of its user, old or new, until a failure is forgiven; other users may")
{
	struct actor a, old, new, next;
	uint64_t ns;

	ASSERT_EQ(0, actor_init(&a, self->uid + 1));
	ASSERT_EQ(0, actor_init(&old, self->uid + 1));
	ASSERT_EQ(LIMIT, fail_until_banned(&a, NPU_FAULT_DMA_READ, -EIO));
	ASSERT_EQ(0, actor_init(&new, self->uid + 1));
	EXPECT_EQ(-EPIPE, submit(&old));
	EXPECT_EQ(-EPIPE, submit(&new));
	EXPECT_LT(0, banned_ns(&old));
	EXPECT_GE(LONG_MS * RK_MS, banned_ns(&new));
	ASSERT_EQ(0, actor_init(&next, self->uid + 2));
	EXPECT_EQ(0, banned_ns(&next));
	EXPECT_EQ(0, run(&next));
	EXPECT_EQ(0, run(&self->victim));

	/* From now on three seconds are enough. */
	rk_module_param("hang_ban_ms", 3000);
	while ((ns = banned_ns(&new)))
		rk_sleep_ms(ns / RK_MS + 1);
	EXPECT_EQ(0, run(&new));
	EXPECT_EQ(0, run(&old));
	EXPECT_EQ(-EPIPE, submit(&a));
	actor_fini(&next);
	actor_fini(&new);
	actor_fini(&old);
	actor_fini(&a);
}

RK_TEST_F(bans, every_cause_counts, "timeouts and page faults count as errors of the bus do")
{
	static const struct {
		uint32_t kind;
		int err;
	} causes[] = {
		{ NPU_FAULT_HANG, -ETIME },
		{ NPU_FAULT_DMA_WRITE, -EIO },
		{ NPU_FAULT_MMU_READ, -EFAULT },
	};

	rk_task_timeout_ms(100);
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		struct actor a;

		if (causes[i].kind == NPU_FAULT_MMU_READ && rk_no_iommu())
			continue;
		ASSERT_EQ(0, actor_init(&a, self->uid + 1 + i));
		EXPECT_EQ(LIMIT, fail_until_banned(&a, causes[i].kind, causes[i].err))
			TH_LOG("fault %u", causes[i].kind);
		actor_fini(&a);
	}
}

RK_TEST_F(bans, files_are_no_way_out, "a user who opens a file for each job that fails is banned as soon")
{
	int n;

	for (n = 0; n < TRIES; n++) {
		struct actor a;
		int ret;

		ASSERT_EQ(0, actor_init(&a, self->uid + 1));
		ret = fail(&a);
		/* The last file of the user. */
		actor_fini(&a);
		if (ret == -EPIPE)
			break;
		ASSERT_EQ(-EIO, ret);
	}
	EXPECT_EQ(LIMIT, n);
	EXPECT_EQ(0, run(&self->victim));
}

#define MANY_FILES	1000

RK_TEST_F_TIMEOUT(bans, a_thousand_files_are_one_user, 120, "nor do a thousand files that are open at once help")
{
	struct rlimit files = { MANY_FILES + 100, MANY_FILES + 100 };
	static struct actor a[LIMIT + 2];
	static int fd[MANY_FILES];

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	for (int i = 0; i < MANY_FILES; i++) {
		fd[i] = rk_open_as(self->uid + 1, rk_open);
		ASSERT_LE(0, fd[i]);
	}
	for (int i = 0; i < LIMIT + 2; i++) {
		int *one = &fd[i * MANY_FILES / (LIMIT + 2)];

		ASSERT_EQ(0, rk_client_init_on(&a[i].c, *one));
		ASSERT_EQ(0, rk_op_task(&a[i].c.inc, a[i].c.in.iova, a[i].c.out.iova, &a[i].task));
		EXPECT_EQ(i < LIMIT ? -EIO : -EPIPE, fail(&a[i]));
	}
	for (int i = 0; i < MANY_FILES; i++) {
		EXPECT_LT(0, rk_param(fd[i], DRM_ROCKET_PARAM_BANNED_NS));
		close(fd[i]);
	}
	EXPECT_EQ(0, run(&self->victim));
}

RK_TEST_F_TIMEOUT(bans, at_once_is_one_failure, 60,
		  "what fails on several cores at once is one failure: its program could not know")
{
	uint64_t first[RK_CORES];
	struct drm_rocket_wait_job w;
	struct actor a;

	RK_REQUIRE_CORES(self->victim.c.fd);
	ASSERT_EQ(0, actor_init(&a, self->uid + 1));
	rk_task_timeout_ms(500);
	for (int n = 0; n < LIMIT; n++) {
		rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, RK_CORES);
		ASSERT_EQ(0, queue(&a, 1, 0, first));
		for (int i = 0; i < RK_CORES; i++) {
			ASSERT_EQ(0, rk_wait_job(a.c.fd, first[i], RK_FOREVER, &w));
			EXPECT_EQ(-ETIME, w.error);
		}
	}
	EXPECT_EQ(RK_CORES * LIMIT, rk_fdinfo(a.c.fd, "rknpu-failures"));
	EXPECT_EQ(-EPIPE, submit(&a));
	actor_fini(&a);
}

#define HANG_MS		400

RK_TEST_F(bans, reading_hides_nothing,
	  "what a failure costs is all of it, and one failure is one, while somebody reads fdinfo all the time")
{
	struct drm_rocket_wait_job w;
	uint64_t first[RK_CORES];
	long long least;
	struct actor a;
	pid_t reader;

	RK_REQUIRE_CORES(self->victim.c.fd);
	ASSERT_EQ(0, actor_init(&a, self->uid + 1));
	rk_task_timeout_ms(HANG_MS);
	reader = fork();
	ASSERT_LE(0, reader);
	if (!reader) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			rk_fdinfo(a.c.fd, "drm-engine-npu0");
	}
	for (int n = 1; n < LIMIT; n++) {
		rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, RK_CORES);
		ASSERT_EQ(0, queue(&a, 1, 0, first));
		for (int i = 0; i < RK_CORES; i++)
			EXPECT_EQ(0, rk_wait_job(a.c.fd, first[i], RK_FOREVER, &w));
		/* The time of recovery is known when that has ended, which the fences do not wait for. */
		least = n * RK_CORES * HANG_MS * RK_MS;
		for (int i = 0; i < 1000 && rk_fdinfo(a.c.fd, "rknpu-failure-time") < least; i++)
			rk_sleep_ms(10);
		EXPECT_LE(least, rk_fdinfo(a.c.fd, "rknpu-failure-time"));
		EXPECT_GE(0, rk_fdinfo(a.c.fd, "rknpu-banned"));
	}
	kill(reader, SIGKILL);
	EXPECT_EQ(reader, waitpid(reader, NULL, 0));
	actor_fini(&a);
}

#define QUEUED		20

RK_TEST_F(bans, what_is_queued_ends, "queued jobs of a file end with EPIPE when it is banned, without having run")
{
	struct drm_rocket_job_ext job[QUEUED];
	struct drm_rocket_wait_job w;
	int banned = 0, failed = 0;
	uint64_t tasks, first;
	struct actor a;

	ASSERT_EQ(0, actor_init(&a, self->uid + 1));
	for (int i = 0; i < LIMIT - 1; i++)
		ASSERT_EQ(-EIO, fail(&a));
	tasks = rk_count_all_jobs(NPU_CNT_TASK_DONE);
	for (int i = 0; i < QUEUED; i++) {
		rk_job_ext(&job[i], &a.task, 1, &a.c.in, i % 2 ? &a.c.out : NULL);
		job[i].core_mask = 1;
	}
	rk_fault_arm(0, NPU_FAULT_DMA_READ, 0, 1);
	ASSERT_EQ(0, rk_submit_ext(a.c.fd, job, QUEUED, &first));
	for (int i = 0; i < QUEUED; i++) {
		ASSERT_EQ(0, rk_wait_job(a.c.fd, first + i, RK_FOREVER, &w));
		banned += w.cause == DRM_ROCKET_CAUSE_BANNED && w.error == -EPIPE;
		failed += w.cause == DRM_ROCKET_CAUSE_DMA_READ;
	}
	EXPECT_EQ(1, failed);
	EXPECT_EQ(QUEUED - 1, banned);
	EXPECT_EQ(tasks, rk_count_all_jobs(NPU_CNT_TASK_DONE));
	EXPECT_EQ(-EPIPE, rk_prep(&a.c.out, 20000));
	actor_fini(&a);
}

RK_TEST_F(bans, closing_is_no_way_out, "jobs of a closed file that a reset has to stop count as well")
{
	struct actor a;
	int n, ret;

	rk_module_param("cancel_grace_ms", 1);
	for (n = 0; n < TRIES; n++) {
		uint32_t fired = rk_fault_fired();
		struct pollfd over = { .events = POLLOUT };

		ASSERT_EQ(0, actor_init(&a, self->uid + 1));
		over.fd = rk_export(a.c.fd, a.c.out.handle);
		ASSERT_LE(0, over.fd);
		rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 1);
		ret = submit(&a);
		if (!ret)
			wait_fired(fired);
		actor_fini(&a);
		EXPECT_EQ(1, poll(&over, 1, 20000));
		close(over.fd);
		rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
		if (ret)
			break;
	}
	rk_module_param("cancel_grace_ms", 500);
	EXPECT_EQ(-EPIPE, ret);
	EXPECT_EQ(LIMIT, n);
}

/* After the end of the job, and before its core goes to sleep. */
#define STRAY_NS	3000000

RK_TEST_F(bans, faults_after_the_end_count,
	  "so do page faults that come when the job is over and nobody else's runs")
{
	long long faults;
	struct actor a;
	int n, ret;

	RK_REQUIRE_IOMMU();
	rk_stay_awake(true);
	ASSERT_EQ(0, actor_init(&a, self->uid + 1));
	for (n = 0; n < TRIES; n++) {
		faults = rk_cores_stat("faults");
		rk_fault_arm_param(NPU_CTL_ANY_CORE, NPU_FAULT_MMU_STRAY, 0, 1, STRAY_NS);
		ret = run(&a);
		if (ret)
			break;
		while (rk_cores_stat("faults") == faults)
			rk_sleep_ms(1);
	}
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
	rk_stay_awake(false);
	EXPECT_EQ(-EPIPE, ret);
	EXPECT_EQ(LIMIT, n);
	EXPECT_EQ(LIMIT, rk_fdinfo(a.c.fd, "rknpu-failures"));
	actor_fini(&a);
}

RK_TEST_F(bans, no_second_try, "a task that does not start is tried again only for users who owe nothing")
{
	long long retries = rk_cores_stat("retries");
	struct actor a;

	rk_task_timeout_ms(1000);
	ASSERT_EQ(0, actor_init(&a, self->uid + 1));
	EXPECT_EQ(0, fail_by(&a, NPU_FAULT_NEVER_START));
	EXPECT_EQ(retries + 1, rk_cores_stat("retries"));
	EXPECT_EQ(-EIO, fail(&a));
	EXPECT_EQ(-ETIME, fail_by(&a, NPU_FAULT_NEVER_START));
	EXPECT_EQ(retries + 1, rk_cores_stat("retries"));
	EXPECT_EQ(2, rk_fdinfo(a.c.fd, "rknpu-failures"));
	actor_fini(&a);
}

RK_TEST_F(bans, may_be_off, "with max_hangs=0 nobody is banned, and who was may submit at once")
{
	struct actor a, b;

	ASSERT_EQ(0, actor_init(&a, self->uid + 1));
	ASSERT_EQ(0, actor_init(&b, self->uid + 1));
	ASSERT_EQ(LIMIT, fail_until_banned(&a, NPU_FAULT_DMA_READ, -EIO));
	EXPECT_EQ(-EPIPE, submit(&b));
	rk_module_param("max_hangs", 0);
	EXPECT_EQ(0, banned_ns(&b));
	EXPECT_EQ(0, run(&b));
	EXPECT_EQ(TRIES, fail_until_banned(&b, NPU_FAULT_DMA_READ, -EIO));
	/* For good is for good. */
	EXPECT_EQ(-EPIPE, submit(&a));
	actor_fini(&b);
	actor_fini(&a);
}

/* Lines of the IOMMU's driver since @log was opened. */
static int iommu_lines(int log)
{
	char record[1024];
	int lines = 0;
	ssize_t n;

	while ((n = read(log, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		record[n < 0 ? 0 : n] = 0;
		lines += strstr(record, "rk_iommu") != NULL;
	}
	return lines;
}

RK_TEST_F(bans, the_log_is_not_flooded,
	  "a client that faults all the time fills the log with the lines of four faults")
{
	int log = rk_log_open(), one;
	struct actor a, b;

	RK_REQUIRE_IOMMU();
	ASSERT_LE(0, log);
	ASSERT_EQ(0, actor_init(&a, self->uid + 1));
	ASSERT_EQ(0, actor_init(&b, self->uid + 2));
	ASSERT_EQ(-EFAULT, fail_by(&a, NPU_FAULT_MMU_READ));
	one = iommu_lines(log);
	EXPECT_LT(0, one);
	fail_until_banned(&b, NPU_FAULT_MMU_READ, -EFAULT);
	EXPECT_GE(LIMIT * one, iommu_lines(log));
	actor_fini(&b);
	actor_fini(&a);
	close(log);
}

/* ---- the vendor's uAPI ---- */

static int vendor_fail(struct rv_chain *c)
{
	int ret;

	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_DMA_READ, 0, 1);
	ret = rv_chain_run(c, 1);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
	return ret;
}

static void check_vendor(struct __test_metadata *_metadata, uid_t uid, int (*open_node)(void))
{
	int fd = rk_open_as(uid, open_node);
	struct rv_chain c;
	struct actor a;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rv_chain_init(&c, fd, 1, 0, 0));
	for (int i = 0; i < LIMIT; i++)
		EXPECT_EQ(-EIO, vendor_fail(&c));
	EXPECT_EQ(-EPIPE, rv_chain_run(&c, 1));
	EXPECT_EQ(LIMIT, rk_fdinfo(fd, "rknpu-failures"));
	EXPECT_LT(0, rk_fdinfo(fd, "rknpu-banned"));
	/* It is one user, whatever the node. */
	ASSERT_EQ(0, actor_init(&a, uid));
	EXPECT_EQ(-EPIPE, submit(&a));
	actor_fini(&a);
	rv_chain_fini(&c);
	close(fd);
	fd = rk_open_as(uid, open_node);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rv_chain_init(&c, fd, 1, 0, 0));
	EXPECT_EQ(-EPIPE, rv_chain_run(&c, 1));
	rk_module_param("max_hangs", 0);
	EXPECT_EQ(0, rv_chain_run(&c, 1));
	rk_module_param("max_hangs", LIMIT);
	rv_chain_fini(&c);
	close(fd);
}

RK_TEST_F(bans, of_vendor_clients, "SUBMIT of the vendor's uAPI fails with EPIPE, too, and both uAPIs count together")
{
	int fd = rv_open();

	if (fd < 0)
		SKIP(return, "no vendor node");
	close(fd);
	check_vendor(_metadata, self->uid + 1, rv_open);
}

RK_TEST_F(bans, of_misc_clients, "so it does on /dev/rknpu")
{
	int fd = rv_open_misc();

	if (fd < 0)
		SKIP(return, "no /dev/rknpu");
	close(fd);
	check_vendor(_metadata, self->uid + 1, rv_open_misc);
}

/* ---- who has no rights at all ---- */

/* As a process of its own would: 0, or the number of the step that went wrong. */
static int unprivileged(uid_t uid)
{
	struct actor a;
	int fd;

	if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return 1;
	fd = rk_open();
	if (fd < 0 || rk_client_init_on(&a.c, fd) ||
	    rk_op_task(&a.c.inc, a.c.in.iova, a.c.out.iova, &a.task))
		return 2;
	/* It does not start, is tried again, and ends; then it is not tried again. */
	memset(a.c.inc.bo.map + (a.task.regcmd - a.c.inc.bo.iova), 0, a.task.regcmd_count * 8);
	rk_fini(&a.c.inc.bo);
	for (int i = 0; i < LIMIT; i++)
		if (run(&a) != -ETIME)
			return 3;
	if (submit(&a) != -EPIPE || banned_ns(&a) != FOR_GOOD)
		return 4;
	/* From here on it is another file's turn. */
	rk_client_fini(&a.c);
	fd = rk_open();
	if (fd < 0 || rk_client_init_on(&a.c, fd) ||
	    rk_op_task(&a.c.inc, a.c.in.iova, a.c.out.iova, &a.task))
		return 5;
	return submit(&a) == -EPIPE ? 0 : 6;
}

RK_TEST_F_TIMEOUT(bans, of_unprivileged_users, 60,
		  "a process without rights is banned, a second one of its user is, and one of another user is not")
{
	const char *path = rk_path();
	struct stat st;
	int status;

	rk_task_timeout_ms(200);
	ASSERT_EQ(0, stat(path, &st));
	ASSERT_EQ(0, chmod(path, 0666));
	/* The second time, of the same user, no job is taken. */
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid)
			_exit(unprivileged(self->uid + 1 + i / 2));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(i == 1 ? 3 : 0, WEXITSTATUS(status)) TH_LOG("process %d", i);
		rk_task_timeout_ms(PATIENCE_MS);
		EXPECT_EQ(0, run(&self->victim));
		rk_task_timeout_ms(200);
	}
	EXPECT_EQ(0, chmod(path, st.st_mode & 07777));
}

/* ---- what is left to others meanwhile ---- */

#define HANGS		10

/* Its programs are empty and never end. It is not banned for that. */
static int hanger_init(struct actor *a, uid_t uid)
{
	int ret = actor_init(a, uid);

	if (ret)
		return ret;
	rk_module_param("max_hangs", 100);
	rk_task_timeout_ms(200);
	memset(a->c.inc.bo.map + (a->task.regcmd - a->c.inc.bo.iova), 0, a->task.regcmd_count * 8);
	return rk_fini(&a->c.inc.bo);
}

RK_TEST_F_TIMEOUT(bans, others_have_their_share, 120,
		  "of a user who hangs all cores all the time others who have jobs queued notice a few hangs, not all")
{
	uint64_t hangs[RK_CORES], first[RK_CORES];
	struct drm_rocket_wait_job w;
	struct actor a;

	RK_REQUIRE_CORES(self->victim.c.fd);
	ASSERT_EQ(0, hanger_init(&a, self->uid + 1));
	rk_latency_us(10000);
	ASSERT_EQ(0, queue(&a, HANGS, 0, hangs));
	ASSERT_EQ(0, queue(&self->victim, VICTIM_JOBS, PATIENCE_MS, first));
	for (unsigned int core = 0; core < RK_CORES; core++) {
		for (int i = 0; i < VICTIM_JOBS; i++) {
			ASSERT_EQ(0, rk_wait_job(self->victim.c.fd, first[core] + i, RK_FOREVER, &w));
			EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
		}
	}
	EXPECT_LT(0, rk_fdinfo(a.c.fd, "rknpu-failures"));
	EXPECT_GE(RK_CORES * HANGS / 2, rk_fdinfo(a.c.fd, "rknpu-failures"));
	printf("# %lld of %d\n", rk_fdinfo(a.c.fd, "rknpu-failures"), RK_CORES * HANGS);
	actor_fini(&a);
}

RK_TEST_F_TIMEOUT(bans, others_find_free_cores, 120,
		  "nor does it hang all cores again before others could come, though none of them waits")
{
	uint64_t hangs[RK_CORES], first[RK_CORES];
	struct drm_rocket_wait_job w;
	int found = 0;
	struct actor a;

	RK_REQUIRE_CORES(self->victim.c.fd);
	ASSERT_EQ(0, hanger_init(&a, self->uid + 1));
	ASSERT_EQ(0, queue(&a, HANGS, 0, hangs));
	/* Each core fails once before any can fail again. Hangs are left at all times. */
	for (int n = RK_CORES; n < RK_CORES * (HANGS - 1); n += RK_CORES - n % RK_CORES) {
		while (rk_fdinfo(a.c.fd, "rknpu-failures") < n)
			rk_sleep_ms(1);
		n = rk_fdinfo(a.c.fd, "rknpu-failures");
		ASSERT_EQ(0, queue(&self->victim, 1, PATIENCE_MS, first));
		for (int i = 0; i < RK_CORES; i++) {
			ASSERT_EQ(0, rk_wait_job(self->victim.c.fd, first[i], RK_FOREVER, &w));
			EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
		}
		found += rk_fdinfo(a.c.fd, "rknpu-failures") == n;
	}
	printf("# %d times\n", found);
	/* On a busy host short pauses may be over before. A core that hangs ends only by a failure. */
	EXPECT_LE(HANGS / 2, found);
	actor_fini(&a);
}

/* Submits a job that reads what @before writes. */
static int wait_for(struct actor *a, const struct actor *before)
{
	int buf = rk_export(before->c.fd, before->c.out.handle), ret;
	struct drm_rocket_job job;
	uint32_t in[1];

	if (buf < 0)
		return buf;
	ret = drmPrimeFDToHandle(a->c.fd, buf, &in[0]) ? -errno : 0;
	close(buf);
	if (ret)
		return ret;
	rk_job(&job, &a->task, 1, in, 1, &a->c.out.handle, 1);
	return rk_submit(a->c.fd, &job, 1);
}

RK_TEST_F_TIMEOUT(bans, what_waits_can_go, 60,
		  "jobs that wait for the end of a ban end when their file is closed, or the device goes")
{
	struct pollfd over[2] = { { .events = POLLOUT }, { .events = POLLOUT } };
	uint32_t fired = rk_fault_fired();
	struct actor a, b[2];
	struct rk_unbound u;

	ASSERT_EQ(0, actor_init(&a, self->uid + 1));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, actor_init(&b[i], self->uid + 1));
		over[i].fd = rk_export(b[i].c.fd, b[i].c.out.handle);
		ASSERT_LE(0, over[i].fd);
	}
	for (int i = 0; i < LIMIT - 1; i++)
		ASSERT_EQ(-EIO, fail(&a));
	/* Queued while one hangs that ends with a ban. */
	fired = rk_fault_fired();
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, submit(&a));
	wait_fired(fired);
	/* They wait for the one that hangs. */
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, wait_for(&b[i], &a));
	while (!banned_ns(&b[0]))
		rk_sleep_ms(1);
	EXPECT_EQ(0, run(&self->victim));
	EXPECT_EQ(0, poll(over, 2, 100));
	actor_fini(&b[0]);
	EXPECT_EQ(1, poll(over, 2, 20000));
	EXPECT_EQ(0, over[1].revents);
	actor_fini(&self->victim);
	ASSERT_EQ(0, rk_unbind(0, &u));
	EXPECT_EQ(2, poll(over, 2, 20000));
	actor_fini(&b[1]);
	actor_fini(&a);
	close(over[0].fd);
	close(over[1].fd);
	ASSERT_EQ(0, rk_bind(&u));
	ASSERT_EQ(0, actor_init(&self->victim, self->uid));
}

RK_HARNESS_MAIN
