// SPDX-License-Identifier: GPL-2.0-only
/*
 * How jobs end: for every failure of the model the cause, core, task, address
 * and time that WAIT_JOB tells; tries that are counted; files and devices that
 * go away.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <linux/sync_file.h>

#include "kselftest_harness.h"
#include "rknpu_util.h"

/* Of the jobs here; what is found out before was looked for. */
#define TIMEOUT_MS	1500
#define TASKS		3

/* A job of three tasks on one core, how long each may take, and how it ended. */
struct trial {
	struct rk_client c;
	struct drm_rocket_task t[TASKS];
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	uint64_t id;
};

static int trial_init(struct trial *t, unsigned int core)
{
	int ret;

	memset(t, 0, sizeof(*t));
	ret = rk_client_init(&t->c);
	for (int i = 0; i < TASKS && !ret; i++)
		ret = rk_op_task(&t->c.inc, t->c.in.iova, t->c.out.iova, &t->t[i]);
	rk_job_ext(&t->job, t->t, TASKS, &t->c.in, &t->c.out);
	t->job.core_mask = 1u << core;
	t->job.timeout_ns = TIMEOUT_MS * RK_MS;
	return ret ? ret : rk_bo_fill(&t->c.in, 5, RK_BYTES);
}

static int trial_run(struct trial *t)
{
	int ret = rk_submit_ext(t->c.fd, &t->job, 1, &t->id);

	return ret ? ret : rk_wait_job(t->c.fd, t->id, RK_FOREVER, &t->w);
}

static bool core_asleep(unsigned int core)
{
	if (!rk_power_domains())
		return rk_wait_asleep(5000);
	return rk_wait_count(core, NPU_CNT_POWERED, 0, 5000);
}

/* ---- every failure ---- */

FIXTURE(failure) {
	struct trial t;
};

FIXTURE_VARIANT(failure) {
	uint32_t kind;
	uint32_t param;
	uint32_t skip;
	/* Times that it happens; 0: always. */
	uint32_t times;
	/* Armed while the core is off. */
	bool asleep;
	/* Armed with it: a hang, and that resets do not end it. */
	bool hang;
	bool stuck;
	/* The core goes out of service. */
	bool retires;
	/* It does where only its power could be taken away, and cannot. */
	bool needs_power_off;

	uint32_t cause;
	int err;
	uint32_t task;
	uint32_t result;
	/* Page that was accessed, of the job's own buffers if not given. */
	uint64_t page;
	/* The same, and what is wrong with its address. */
	uint64_t elsewhere;
	/* Found out before the deadline, or not. */
	bool early;
	bool late;
};

#define FAILURE(name, ...)	FIXTURE_VARIANT_ADD(failure, name) { __VA_ARGS__ }
#define DONE			.cause = DRM_ROCKET_CAUSE_DONE, .task = TASKS
#define TIMEOUT(n)		.cause = DRM_ROCKET_CAUSE_TIMEOUT, .err = -ETIME, .task = (n), .late = true
#define GONE			.cause = DRM_ROCKET_CAUSE_DEVICE_GONE, .err = -ENODEV, .retires = true
#define FAULT			.cause = DRM_ROCKET_CAUSE_IOMMU_FAULT, .err = -EFAULT, .early = true

/* The second try is given all its time. */
FAILURE(never_start, .kind = NPU_FAULT_NEVER_START, .times = 2, .late = true,
	.cause = DRM_ROCKET_CAUSE_NEVER_STARTED, .err = -ETIME);
FAILURE(never_start_once, .kind = NPU_FAULT_NEVER_START, .times = 1, .early = true, DONE);
/* A later task may need what the first has left in the core. */
FAILURE(never_start_later, .kind = NPU_FAULT_NEVER_START, .times = 1, .skip = 1,
	.cause = DRM_ROCKET_CAUSE_NEVER_STARTED, .err = -ETIME, .task = 1);
FAILURE(hang, .kind = NPU_FAULT_HANG, .times = 1, .skip = 2, TIMEOUT(2));
FAILURE(irq_lost, .kind = NPU_FAULT_IRQ_LOST, .times = 1, .late = true, DONE);
FAILURE(irq_late, .kind = NPU_FAULT_IRQ_LATE, .times = 1, .param = 3000000, .early = true, DONE);
FAILURE(irq_dup, .kind = NPU_FAULT_IRQ_DUP, .times = 1, .early = true, DONE);
FAILURE(irq_mmu, .kind = NPU_FAULT_IRQ_MMU, .times = 1, .early = true, DONE);
FAILURE(irq_partial, .kind = NPU_FAULT_IRQ_PARTIAL, .times = 1, .param = 0x3f, TIMEOUT(0));
FAILURE(irq_partial_dpu, .kind = NPU_FAULT_IRQ_PARTIAL, .times = 1, .param = 0x300,
	.early = true, DONE);
FAILURE(dma_read, .kind = NPU_FAULT_DMA_READ, .times = 1, .skip = 1, .early = true,
	.cause = DRM_ROCKET_CAUSE_DMA_READ, .err = -EIO, .task = 1);
FAILURE(dma_write, .kind = NPU_FAULT_DMA_WRITE, .times = 1, .skip = 2, .early = true,
	.cause = DRM_ROCKET_CAUSE_DMA_WRITE, .err = -EIO, .task = 2);
FAILURE(regcmd_unmapped, .kind = NPU_FAULT_REGCMD_ADDR, .times = 1, .skip = 1,
	.param = 0x40000000, FAULT, .task = 1, .elsewhere = 0x40000000);
/* Another page of the same buffer. */
FAILURE(regcmd_garbage, .kind = NPU_FAULT_REGCMD_ADDR, .times = 2, .param = 0x1000,
	.late = true, .cause = DRM_ROCKET_CAUSE_NEVER_STARTED, .err = -ETIME);
FAILURE(mmu_read, .kind = NPU_FAULT_MMU_READ, .times = 1, FAULT);
FAILURE(mmu_read_elsewhere, .kind = NPU_FAULT_MMU_READ, .times = 1, .param = 0xdeadb000,
	FAULT, .page = 0xdeadb000);
FAILURE(mmu_write, .kind = NPU_FAULT_MMU_WRITE, .times = 1, FAULT,
	.result = DRM_ROCKET_RESULT_FAULT_WRITE);
FAILURE(mmu_write_elsewhere, .kind = NPU_FAULT_MMU_WRITE, .times = 1, .param = 0xdeadb000,
	FAULT, .result = DRM_ROCKET_RESULT_FAULT_WRITE, .page = 0xdeadb000);
FAILURE(mmu_stall, .kind = NPU_FAULT_MMU_STALL, .asleep = true, .early = true, DONE);
FAILURE(mmu_reset, .kind = NPU_FAULT_MMU_RESET, .times = 1, .asleep = true, .early = true, DONE);
FAILURE(mmu_reset_always, .kind = NPU_FAULT_MMU_RESET, .asleep = true, GONE);
FAILURE(mmu_paging, .kind = NPU_FAULT_MMU_PAGING, .times = 1, .asleep = true, .early = true, DONE);
FAILURE(mmu_paging_always, .kind = NPU_FAULT_MMU_PAGING, .asleep = true, GONE);
FAILURE(reset_stuck, .kind = NPU_FAULT_RESET_STUCK, .times = 1, .hang = true, TIMEOUT(0));
FAILURE(reset_stuck_always, .kind = NPU_FAULT_RESET_STUCK, .hang = true, .needs_power_off = true,
	TIMEOUT(0));
FAILURE(off_stuck, .kind = NPU_FAULT_OFF_STUCK, .times = 1, .hang = true, .stuck = true,
	.retires = true, TIMEOUT(0));
FAILURE(dead_ones, .kind = NPU_FAULT_CORE_DEAD, .param = 0xffffffff, .asleep = true, GONE);
FAILURE(dead_zeroes, .kind = NPU_FAULT_CORE_DEAD, .asleep = true, GONE);

FIXTURE_SETUP(failure)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	if (variant->stuck)
		RK_REQUIRE_POWER_DOMAINS();
	ASSERT_EQ(0, trial_init(&self->t, 0));
}

FIXTURE_TEARDOWN(failure)
{
	rk_model_calm();
	if (self->t.c.fd)
		rk_client_fini(&self->t.c);
}

static void arm(const FIXTURE_VARIANT(failure) *v, unsigned int core)
{
	if (v->hang)
		rk_fault_arm(core, NPU_FAULT_HANG, 0, 1);
	if (v->stuck)
		rk_fault_arm(core, NPU_FAULT_RESET_STUCK, 0, 0);
	rk_fault_arm_param(core, v->kind, v->skip, v->times, v->param);
}

static bool in_page(uint64_t address, uint64_t page)
{
	return address >= page && address < page + RK_PAGE;
}

/* Of the program, what it reads, or what it writes. */
static bool in_own_bo(const struct trial *t, uint64_t address, bool write)
{
	const struct rk_client *c = &t->c;

	if (write)
		return in_page(address, c->out.iova);
	return in_page(address, c->in.iova) ||
	       (address >= c->inc.bo.iova && address < c->inc.bo.iova + c->inc.bo.size);
}

TEST_F_TIMEOUT(failure, tells_its_cause, 120)
{
	struct trial *t = &self->t;
	bool retires = variant->retires || (variant->needs_power_off && !rk_power_domains());

	for (int core = 0; core < RK_CORES; core++) {
		rk_client_fini(&t->c);
		ASSERT_EQ(0, trial_init(t, core));
		/* Some failures are those of a core that is awake. */
		ASSERT_EQ(0, trial_run(t));
		ASSERT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
		if (variant->asleep) {
			ASSERT_TRUE(core_asleep(core));
		}
		rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
		arm(variant, core);
		ASSERT_EQ(0, trial_run(t)) TH_LOG("core %d", core);
		EXPECT_NE(0, rk_fault_fired());
		EXPECT_EQ(variant->cause, t->w.cause);
		EXPECT_EQ(variant->err, t->w.error);
		EXPECT_EQ(variant->task, t->w.task);
		EXPECT_EQ(variant->result, t->w.result);
		if (variant->cause != DRM_ROCKET_CAUSE_DEVICE_GONE) {
			EXPECT_EQ(core, t->w.core);
			EXPECT_LT(0, t->w.elapsed_ns);
		}
		if (variant->late) {
			EXPECT_LE(TIMEOUT_MS * RK_MS, t->w.elapsed_ns);
		}
		if (variant->early) {
			EXPECT_GT(TIMEOUT_MS * RK_MS, t->w.elapsed_ns);
		}
		if (variant->err != -EFAULT) {
			EXPECT_EQ(0, t->w.fault_address);
		} else if (variant->page) {
			EXPECT_TRUE(in_page(t->w.fault_address, variant->page))
				TH_LOG("%#llx", (unsigned long long)t->w.fault_address);
		} else {
			EXPECT_TRUE(in_own_bo(t, t->w.fault_address ^ variant->elsewhere,
					      variant->result))
				TH_LOG("%#llx", (unsigned long long)t->w.fault_address);
		}
		/* The BO tells the same. */
		EXPECT_EQ(variant->err, rk_prep(&t->c.out, 5000));
		if (!variant->err) {
			EXPECT_EQ(6, t->c.out.map[0]);
		}
		EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
		if (retires) {
			/* Nobody else's, and there is no such core any more. */
			EXPECT_EQ(-ENODEV, rk_submit_ext(t->c.fd, &t->job, 1, NULL));
			EXPECT_EQ(7u & ~(1u << core), rk_param(t->c.fd, DRM_ROCKET_PARAM_CORE_MASK));
			EXPECT_EQ(0, rk_client_run(&t->c, 6));
			rk_model_calm();
			ASSERT_EQ(0, rk_rebind(core));
			rk_client_fini(&t->c);
			ASSERT_EQ(0, trial_init(t, core));
		}
		rk_model_calm();
		ASSERT_EQ(0, trial_run(t));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
	}
}

/* ---- a job that never started ---- */

FIXTURE(retry) {
	struct trial t;
};

FIXTURE_SETUP(retry)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, trial_init(&self->t, 1));
}

FIXTURE_TEARDOWN(retry)
{
	rk_model_calm();
	rk_module_param("start_check_ms", 100);
	if (self->t.c.fd)
		rk_client_fini(&self->t.c);
}

/* Counters of core 1. */
struct counts {
	long long timeouts, retries, resets;
};

static struct counts counts(void)
{
	return (struct counts) {
		rk_core_stat(1, "timeouts"), rk_core_stat(1, "retries"), rk_core_stat(1, "resets"),
	};
}

/* Seen long before its deadline, tried once more, and counted. */
TEST_F(retry, once)
{
	struct trial *t = &self->t;
	struct counts before, after;

	t->job.timeout_ns = 4000 * RK_MS;
	for (int times = 0; times < 3; times++) {
		uint64_t kicks;

		ASSERT_EQ(0, trial_run(t));
		before = counts();
		kicks = rk_count(1, NPU_CNT_KICK);
		rk_fault_arm(1, NPU_FAULT_NEVER_START, 0, times);
		if (!times)
			rk_model_calm();
		ASSERT_EQ(0, trial_run(t));
		after = counts();
		EXPECT_EQ(times == 2 ? -ETIME : 0, t->w.error);
		EXPECT_EQ(times == 2 ? 0 : TASKS, t->w.task);
		EXPECT_EQ(times, after.timeouts - before.timeouts);
		EXPECT_EQ(times, after.resets - before.resets);
		EXPECT_EQ(!!times, after.retries - before.retries);
		/* A second try is given all its time. */
		EXPECT_EQ(times == 2, t->w.elapsed_ns >= 4000 * RK_MS);
		EXPECT_EQ(times == 2 ? 2 : TASKS + times, rk_count(1, NPU_CNT_KICK) - kicks);
	}
}

/* A divisible job says that its tasks need nothing of each other. */
TEST_F(retry, a_later_task_of_a_divisible_job)
{
	struct trial *t = &self->t;
	struct counts before = counts();

	t->job.flags = DRM_ROCKET_JOB_DIVISIBLE;
	rk_fault_arm(1, NPU_FAULT_NEVER_START, 2, 1);
	ASSERT_EQ(0, trial_run(t));
	EXPECT_EQ(0, t->w.error);
	EXPECT_EQ(TASKS, t->w.task);
	EXPECT_EQ(1, counts().retries - before.retries);
	EXPECT_EQ(0, rk_bo_differs(&t->c.out, 6, RK_BYTES));
}

TEST_F(retry, not_looked_for)
{
	struct trial *t = &self->t;

	rk_module_param("start_check_ms", 0);
	t->job.timeout_ns = 700 * RK_MS;
	rk_fault_arm(1, NPU_FAULT_NEVER_START, 0, 1);
	ASSERT_EQ(0, trial_run(t));
	EXPECT_EQ(0, t->w.error);
	EXPECT_LE(700 * RK_MS, t->w.elapsed_ns);
}

/* Looking costs a healthy job nothing but being looked at once. */
TEST_F(retry, slow_is_not_suspicious_twice)
{
	struct trial *t = &self->t;
	struct counts before = counts(), after;
	uint64_t reads;

	rk_module_param("start_check_ms", 20);
	t->job.timeout_ns = 30000 * RK_MS;
	t->job.task_count = 1;
	rk_latency_us(500000);
	ASSERT_EQ(0, trial_run(t));
	rk_sleep_ms(20);
	reads = rk_count(1, NPU_CNT_MMIO_READ);
	ASSERT_EQ(0, trial_run(t));
	after = counts();
	EXPECT_EQ(0, t->w.error);
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
	/* The interrupt's, and few to see that it has begun. */
	EXPECT_GE(10, rk_count(1, NPU_CNT_MMIO_READ) - reads);
}

/* ---- what goes away ---- */

FIXTURE(gone) {
	struct trial t;
	int sync;
};

FIXTURE_SETUP(gone)
{
	self->sync = -1;
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, trial_init(&self->t, 0));
	rk_task_timeout_ms(20000);
	self->t.job.timeout_ns = 20000 * RK_MS;
}

FIXTURE_TEARDOWN(gone)
{
	rk_model_calm();
	if (self->sync >= 0)
		close(self->sync);
	if (self->t.c.fd > 0)
		rk_client_fini(&self->t.c);
}

/* Submits the job; a file that lasts longer than everything else tells how it ended. */
static int submit_with_file(struct trial *t)
{
	struct drm_syncobj_create create = { 0 };
	struct drm_syncobj_handle h = { .flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE };
	struct drm_rocket_sync sync;
	int ret = rk_ioctl(t->c.fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);

	sync = (struct drm_rocket_sync) { .handle = create.handle };
	t->job.out_syncs = (uintptr_t)&sync;
	t->job.out_sync_count = 1;
	if (!ret)
		ret = rk_submit_ext(t->c.fd, &t->job, 1, &t->id);
	h.handle = create.handle;
	if (!ret)
		ret = rk_ioctl(t->c.fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h);
	t->job.out_sync_count = 0;
	return ret ? ret : h.fd;
}

/* For good: a mapping would keep it open. */
static void close_file(struct trial *t)
{
	rk_client_fini(&t->c);
	t->c.fd = 0;
}

/* 1: fine. 0: not over. Else how it ended. */
static int file_status(int file, int timeout_ms)
{
	struct pollfd p = { .fd = file, .events = POLLIN };
	struct sync_file_info info = { 0 };

	poll(&p, 1, timeout_ms);
	return rk_ioctl(file, SYNC_IOC_FILE_INFO, &info) ? -EBADF : info.status;
}

/* One that runs is ended between its tasks; one that waits for its turn at once. */
TEST_F(gone, file_closed)
{
	struct trial *t = &self->t;
	int queued;

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	rk_latency_us(300000);
	t->job.out_bo_handle_count = 0;
	self->sync = submit_with_file(t);
	ASSERT_LE(0, self->sync);
	queued = submit_with_file(t);
	ASSERT_LE(0, queued);
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_TASK_STARTED, 1, 5000));
	EXPECT_EQ(0, file_status(self->sync, 0));
	EXPECT_EQ(0, file_status(queued, 0));
	close_file(t);
	EXPECT_EQ(-ECANCELED, file_status(queued, 0));
	EXPECT_EQ(-ECANCELED, file_status(self->sync, 10000));
	EXPECT_GT(TASKS, rk_count(0, NPU_CNT_TASK_DONE));
	EXPECT_LE(1, rk_count(0, NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_HANG));
	close(queued);
}

/* Who shares a BO with it is told. */
TEST_F(gone, file_closed_with_a_shared_bo)
{
	struct drm_prime_handle h = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct trial *t = &self->t;
	struct rk_client other;

	ASSERT_EQ(0, rk_client_init(&other));
	h.handle = t->c.out.handle;
	ASSERT_EQ(0, rk_ioctl(t->c.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &h));
	ASSERT_EQ(0, rk_ioctl(other.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &h));
	close(h.fd);
	rk_latency_us(200000);
	ASSERT_EQ(0, rk_submit_ext(t->c.fd, &t->job, 1, NULL));
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_BUSY, 1, 5000));
	close_file(t);
	EXPECT_EQ(-ECANCELED, rk_prep_until(other.fd, h.handle, RK_FOREVER));
	rk_latency_us(0);
	EXPECT_EQ(0, rk_client_run(&other, 3));
	rk_client_fini(&other);
}

/* Another file that refers to the same one keeps it and its jobs. */
TEST_F(gone, one_of_two_descriptors_closed)
{
	struct trial *t = &self->t;
	int second = dup(t->c.fd);

	ASSERT_LE(0, second);
	rk_latency_us(100000);
	ASSERT_EQ(0, rk_submit_ext(t->c.fd, &t->job, 1, &t->id));
	close(t->c.fd);
	t->c.fd = second;
	t->c.in.fd = t->c.out.fd = second;
	ASSERT_EQ(0, rk_wait_job(second, t->id, RK_FOREVER, &t->w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
	EXPECT_EQ(0, rk_bo_differs(&t->c.out, 6, RK_BYTES));
}

struct waiter {
	pthread_t thread;
	struct trial *t;
	uint64_t id;
	struct drm_rocket_wait_job w;
	int ret;
};

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;

	w->ret = rk_wait_job(w->t->c.fd, w->id, RK_FOREVER, &w->w);
	return NULL;
}

/* Who is waiting when the device goes is told, of jobs that run as of those that wait. */
TEST_F_TIMEOUT(gone, device, 60)
{
	struct trial *t = &self->t;

	for (unsigned int core = 0; core < RK_CORES; core++) {
		struct waiter w[2];

		if (core) {
			ASSERT_EQ(0, trial_init(t, 0));
		}
		rk_latency_us(5000000);
		t->job.timeout_ns = 20000 * RK_MS;
		for (int i = 0; i < 2; i++) {
			ASSERT_EQ(0, rk_submit_ext(t->c.fd, &t->job, 1, &t->id));
			w[i] = (struct waiter) { .t = t, .id = t->id };
			ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, waiter_main, &w[i]));
		}
		self->sync = submit_with_file(t);
		ASSERT_LE(0, self->sync);
		rk_sleep_ms(100);
		ASSERT_EQ(0, rk_rebind(core));
		for (int i = 0; i < 2; i++) {
			pthread_join(w[i].thread, NULL);
			EXPECT_EQ(0, w[i].ret);
			EXPECT_EQ(DRM_ROCKET_CAUSE_DEVICE_GONE, w[i].w.cause);
			EXPECT_EQ(-ENODEV, w[i].w.error);
			EXPECT_EQ(0, w[i].w.task);
			/* The second has not been on a core. */
			EXPECT_EQ(i ? -1 : 0, w[i].w.core);
		}
		EXPECT_EQ(-ENODEV, file_status(self->sync, 5000));
		close(self->sync);
		self->sync = -1;
		EXPECT_EQ(-ENODEV, rk_wait_job(t->c.fd, 1, 0, &t->w));
		rk_model_calm();
		rk_client_fini(&t->c);
	}
	ASSERT_EQ(0, trial_init(t, 0));
	ASSERT_EQ(0, trial_run(t));
	EXPECT_EQ(0, t->w.error);
}

TEST_HARNESS_MAIN
