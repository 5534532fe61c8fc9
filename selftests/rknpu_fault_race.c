// SPDX-License-Identifier: GPL-2.0-only
/*
 * One CPU has begun to report a page fault of the IOMMU, when another takes the
 * address space off, puts one on, lets the core sleep, or unbinds the device. The
 * first is held by the model in between, so that it is no matter of luck; a kernel
 * that does not wait for it crashes, or blames whoever comes next. And interrupts
 * that come late, because the CPU which handles them is held.
 *
 * boot: failures
 * boot: long
 * boot: dtlong
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "rknpu_harness.h"

/* After the job, when it has been put away; and how long the CPU is held. */
#define STRAY_NS	200000000u
#define HELD_NS		500000000u
#define ROUNDS		(rk_long() ? 5 : 1)
#define HOLD_TRIES	10

#define UNBOUND		"/sys/devices/virtual/workqueue/cpumask"

static int put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	fputs(text, f);
	return fclose(f) ? -errno : 0;
}

/* Interrupts of the NPU come to CPU 0. */
static int steer_irqs(void)
{
	FILE *f = fopen("/proc/interrupts", "re");
	char line[512], path[64];
	unsigned int irq, n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, ".npu") || sscanf(line, " %u:", &irq) != 1)
			continue;
		snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity", irq);
		if (put(path, "1"))
			break;
		n++;
	}
	if (f)
		fclose(f);
	return n ? 0 : -ENODEV;
}

/* What is held is CPU 0, and nothing else is to run there. */
#define REQUIRE_TWO_CPUS()						\
	do {								\
		int fd_;						\
									\
		RK_OPEN_OR_SKIP(fd_);					\
		close(fd_);						\
		RK_REQUIRE_MODEL();					\
		if (!rk_ours())						\
			SKIP(return, "our module's statistics");	\
		if (sysconf(_SC_NPROCESSORS_ONLN) < 2)			\
			SKIP(return, "needs two CPUs");			\
		if (put(UNBOUND, "2"))					\
			SKIP(return, "workers cannot be kept off a CPU"); \
		ASSERT_EQ(0, steer_irqs());				\
		ASSERT_EQ(0, rk_use_cpu(1));				\
	} while (0)

FIXTURE(race) {
	struct rk_client a;
	struct rk_client b;
	long long faults;
};

FIXTURE_VARIANT(race) {
	unsigned int core;
};

FIXTURE_VARIANT_ADD(race, core0) { .core = 0 };
FIXTURE_VARIANT_ADD(race, core2) { .core = 2 };

FIXTURE_SETUP(race)
{
	REQUIRE_TWO_CPUS();
	rk_stay_awake(true);
	ASSERT_EQ(0, rk_client_init(&self->b));
}

FIXTURE_TEARDOWN(race)
{
	if (!rk_model() || !rk_ours())
		return;
	rk_model_calm();
	rk_stay_awake(false);
	rk_client_fini(&self->b);
	put(UNBOUND, "3");
}

static int run_job(struct rk_client *c, unsigned int core, int value)
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_task t;
	long differs;
	int ret = rk_bo_fill(&c->in, value, RK_BYTES);

	if (!ret)
		ret = rk_bo_fill(&c->out, 0, RK_BYTES);
	c->inc.used = RK_OP_PROG;
	if (!ret)
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t);
	if (!ret)
		ret = rk_fini(&c->inc.bo);
	rk_job_ext(&job, &t, 1, &c->in, &c->out);
	job.core_mask = 1u << core;
	if (!ret)
		ret = rk_submit_ext(c->fd, &job, 1, NULL);
	if (!ret)
		ret = rk_prep(&c->out, 20000);
	if (ret)
		return ret;
	differs = rk_bo_differs(&c->out, value + 1, RK_BYTES);
	return differs > 0 ? -EILSEQ : differs;
}

static bool wait_fired(unsigned int n, unsigned int ms)
{
	for (unsigned int i = 0; i < ms && rk_fault_fired() < n; i++)
		rk_sleep_ms(1);
	return rk_fault_fired() == n;
}

/* Client @a had the core last, and CPU 0 is about to say that it faulted; there were @faults. */
static int try_hold(struct rk_client *a, unsigned int core, unsigned int ns, long long *faults)
{
	int ret = rk_client_init(a);

	if (ret)
		return ret;
	rk_model_calm();
	*faults = rk_core_stat(core, "faults");
	rk_fault_arm_param(core, NPU_FAULT_MMU_STRAY, 0, 1, STRAY_NS);
	rk_fault_arm_param(core, NPU_FAULT_CPU_HELD, 0, 1, ns);
	ret = run_job(a, core, 20);
	if (ret)
		return ret;
	if (!wait_fired(2, 10000))
		return -ETIME;
	return rk_core_stat(core, "faults") == *faults ? 0 : -EAGAIN;
}

/* On a busy host the time may be over before anybody has seen it begin. */
static int hold_cpu(struct rk_client *a, unsigned int core, unsigned int ns, long long *faults)
{
	int ret = -EAGAIN;

	for (int i = 0; i < HOLD_TRIES && ret == -EAGAIN; i++) {
		if (i)
			rk_client_fini(a);
		ret = try_hold(a, core, ns, faults);
	}
	return ret;
}

static int hold_handler(FIXTURE_DATA(race) *self, unsigned int core)
{
	return hold_cpu(&self->a, core, HELD_NS, &self->faults);
}

/* It was reported, once, and is not held against anybody. */
static bool fault_counted(FIXTURE_DATA(race) *self, unsigned int core)
{
	for (int i = 0; i < 500 && rk_core_stat(core, "faults") == self->faults; i++)
		rk_sleep_ms(10);
	return rk_core_stat(core, "faults") == self->faults + 1;
}

#define CHECK_AFTERWARDS()							\
	do {									\
		EXPECT_TRUE(fault_counted(self, variant->core));		\
		EXPECT_EQ(0, run_job(&self->b, variant->core, 30));		\
		EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));			\
	} while (0)

RK_TEST_F_TIMEOUT(race, detach, 120,
		  "a page fault that is being reported while its address space goes is counted once")
{
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, hold_handler(self, variant->core));
		rk_client_fini(&self->a);
		CHECK_AFTERWARDS();
	}
}

RK_TEST_F_TIMEOUT(race, attach, 120,
		  "a page fault that is being reported is not blamed on the next client's job")
{
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, hold_handler(self, variant->core));
		EXPECT_EQ(0, run_job(&self->b, variant->core, 40));
		CHECK_AFTERWARDS();
		EXPECT_EQ(0, run_job(&self->a, variant->core, 50));
		rk_client_fini(&self->a);
	}
}

RK_TEST_F_TIMEOUT(race, sleep, 120,
		  "a page fault that is being reported while the core falls asleep is counted once")
{
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, hold_handler(self, variant->core));
		rk_stay_awake(false);
		CHECK_AFTERWARDS();
		rk_stay_awake(true);
		EXPECT_EQ(0, run_job(&self->a, variant->core, 50));
		rk_client_fini(&self->a);
	}
}

/* The driver takes cores away in their order, and CPU 0 keeps it at the first one meanwhile. */
#define UNBIND_HELD_NS	3000000000u
#define RUNNING		1

FIXTURE(unbinding) {
	struct rk_client c;
	struct rk_client a;
	struct drm_rocket_task task;
	pthread_t thread;
	struct rk_unbound u;
	int ret;
};

FIXTURE_SETUP(unbinding)
{
	REQUIRE_TWO_CPUS();
	if (geteuid())
		SKIP(return, "needs root, to unbind the device");
	if (rk_one_iommu())
		SKIP(return, "whoever uses the IOMMU of all cores is held, too");
	ASSERT_EQ(0, rk_client_init(&self->c));
	ASSERT_EQ(0, rk_op_task(&self->c.inc, self->c.in.iova, self->c.out.iova, &self->task));
	ASSERT_EQ(0, rk_fini(&self->c.inc.bo));
	rk_stay_awake(true);
}

FIXTURE_TEARDOWN(unbinding)
{
	rk_stay_awake(false);
	put(UNBOUND, "3");
}

/* Writes the output of client c, so that each job waits for the one before. */
static int submit(FIXTURE_DATA(unbinding) *self, uint64_t *id)
{
	struct drm_rocket_job_ext job;

	rk_job_ext(&job, &self->task, 1, &self->c.in, &self->c.out);
	job.core_mask = 1u << RUNNING;
	job.timeout_ns = 60000 * RK_MS;
	return rk_submit_ext(self->c.fd, &job, 1, id);
}

static void *unbind(void *data)
{
	FIXTURE_DATA(unbinding) *self = data;

	self->ret = rk_unbind(0, &self->u);
	return NULL;
}

/* Jobs are refused from then on, or end without running. */
static bool wait_gone(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 20000 * rk_slow()) == 1 && (p.revents & POLLHUP);
}

RK_TEST_F_TIMEOUT(unbinding, ends_in_order, 120,
		  "a job submitted while its device is unbound ends after the one that it waits for")
{
	struct drm_rocket_wait_job w;
	uint64_t first, second;
	long long faults;

	ASSERT_EQ(0, hold_cpu(&self->a, 0, UNBIND_HELD_NS, &faults));
	rk_fault_arm(RUNNING, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, submit(self, &first));
	ASSERT_TRUE(rk_wait_count(RUNNING, NPU_CNT_BUSY, 1, 10000));
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, unbind, self));
	ASSERT_TRUE(wait_gone(self->c.fd));
	ASSERT_EQ(0, submit(self, &second));
	/* Looks once. */
	if (!rk_wait_job(self->c.fd, second, 0, &w))
		EXPECT_EQ(0, rk_wait_job(self->c.fd, first, 0, &w));
	EXPECT_EQ(0, rk_wait_job(self->c.fd, second, RK_FOREVER, &w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DEVICE_GONE, w.cause);
	EXPECT_EQ(0, rk_wait_job(self->c.fd, first, 0, &w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DEVICE_GONE, w.cause);

	ASSERT_EQ(0, pthread_join(self->thread, NULL));
	ASSERT_EQ(0, self->ret);
	rk_model_calm();
	rk_client_fini(&self->a);
	rk_client_fini(&self->c);
	EXPECT_EQ(0, rk_bind(&self->u));
}

/* In the driver: if that many never come from the first one on, the core is polled. */
#define LOST		3
#define LATE		0
#define HELD		2

FIXTURE(late) {
	struct rk_client c;
	struct rk_client a;
	struct drm_rocket_job_ext job;
	struct drm_rocket_task task;
};

FIXTURE_SETUP(late)
{
	REQUIRE_TWO_CPUS();
	if (geteuid())
		SKIP(return, "needs root, to bind a core again");
	if (rk_one_iommu())
		SKIP(return, "whoever uses the IOMMU of all cores is held, too");
	if (rk_polled())
		SKIP(return, "no interrupt that could be late");
	/* It has had none of its interrupts. */
	ASSERT_EQ(0, rk_rebind(LATE));
	ASSERT_EQ(0, steer_irqs());
	ASSERT_EQ(0, rk_client_init(&self->c));
	ASSERT_EQ(0, rk_op_task(&self->c.inc, self->c.in.iova, self->c.out.iova, &self->task));
	ASSERT_EQ(0, rk_fini(&self->c.inc.bo));
	rk_job_ext(&self->job, &self->task, 1, &self->c.in, &self->c.out);
	self->job.core_mask = 1u << LATE;
	self->job.timeout_ns = RK_MS;
	rk_stay_awake(true);
}

FIXTURE_TEARDOWN(late)
{
	rk_model_calm();
	rk_stay_awake(false);
	rk_client_fini(&self->a);
	rk_client_fini(&self->c);
	put(UNBOUND, "3");
}

/* Not asleep: timers of a CPU that is are left to the other one. */
static int run_awake(int fd, struct drm_rocket_job_ext *job, struct drm_rocket_wait_job *w)
{
	int64_t until = rk_now() + 60000 * RK_MS;
	uint64_t id;
	int ret = rk_submit_ext(fd, job, 1, &id);

	while (!ret) {
		ret = rk_wait_job(fd, id, 0, w);
		if (!ret || rk_now() > until)
			return ret;
		ret = 0;
	}
	return ret;
}

RK_TEST_F_TIMEOUT(late, are_not_lost, 120,
		  "a core is not polled because interrupts were late while their CPU was busy")
{
	long long irqs = rk_core_stat(LATE, "irqs"), polls = rk_core_stat(LATE, "polls");
	struct drm_rocket_wait_job w;
	long long faults;

	ASSERT_EQ(0, hold_cpu(&self->a, HELD, UNBIND_HELD_NS, &faults));
	for (int i = 0; i <= LOST; i++) {
		ASSERT_EQ(0, run_awake(self->c.fd, &self->job, &w));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
	}
	/* The CPU has not been back in between. */
	EXPECT_EQ(faults, rk_core_stat(HELD, "faults"));
	EXPECT_EQ(irqs, rk_core_stat(LATE, "irqs"));
	EXPECT_EQ(polls, rk_core_stat(LATE, "polls"));

	for (int i = 0; i < 500 && rk_core_stat(HELD, "faults") == faults; i++)
		rk_sleep_ms(10);
	self->job.timeout_ns = 0;
	ASSERT_EQ(0, run_awake(self->c.fd, &self->job, &w));
	EXPECT_EQ(irqs + 1, rk_core_stat(LATE, "irqs"));
	EXPECT_EQ(polls, rk_core_stat(LATE, "polls"));
}

RK_HARNESS_MAIN
