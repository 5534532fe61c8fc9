// SPDX-License-Identifier: GPL-2.0-only
/*
 * Failures of the hardware: each that the model has on demand is met on each
 * core, the job that met it says so, no other job is lost, and the core works
 * again or is out of service. RKNPU_LONG=1 does more of it.
 *
 * boot: failures SHORT TEST_LIMIT=600
 * boot: long LONG TEST_LIMIT=1200 ENV=RKNPU_LONG=1
 * boot: dtlong LONG TEST_LIMIT=1200 --dt vendor
 * boot: debug-failures KERNEL=debug TEST_LIMIT=3600
 */
#define _GNU_SOURCE
#include <linux/dma-buf.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "rknpu_harness.h"
#include "rknpu_faults.h"

/* For a job that meets a failure; guest time is the host's, and the host may be busy. */
#define PATIENCE_MS	30000

/* Deadline of each task: the shorter, the sooner a hang is found. Healthy ones here take 10 ms. */
static unsigned int task_timeout_ms(void)
{
	return rk_slow() > 1 ? 1500 : 500;
}

/* What each core has to do afterwards. */
static unsigned int good_enough(void)
{
	return rk_long() ? 100 : 10;
}

/* Jobs until each core has done @wanted: 0, or what went wrong. */
static int good_jobs(struct rk_team *t, unsigned int wanted)
{
	uint64_t before[RK_CORES];
	unsigned int done = 0;
	int ret = 0;

	for (int i = 0; i < RK_CORES; i++)
		before[i] = rk_count(i, NPU_CNT_TASK_DONE);
	/* Long enough that no core does the work of others. */
	rk_latency_us(1000);
	for (int round = 0; round < 200 && done < RK_CORES && !ret; round++) {
		ret = rk_team_submit(t, RK_TEAM_JOBS, round % 100);
		if (ret)
			break;
		rk_team_collect(t, RK_TEAM_JOBS, round % 100, PATIENCE_MS);
		for (int i = 0; i < RK_TEAM_JOBS && !ret; i++)
			ret = t->ret[i];
		done = 0;
		for (int i = 0; i < RK_CORES; i++)
			done += rk_count(i, NPU_CNT_TASK_DONE) - before[i] >= wanted;
	}
	rk_latency_us(0);
	return ret ? ret : done == RK_CORES ? 0 : -ENODATA;
}

/* ---- every failure ---- */

FIXTURE(failure) {
	struct rk_team team;
	struct rk_trial trial;
};

FIXTURE_VARIANT(failure) {
	struct rk_fault f;
};

#define ROW(name, ...)	FIXTURE_VARIANT_ADD(failure, name) { .f = { __VA_ARGS__ } };
RK_FAULTS(ROW)

FIXTURE_SETUP(failure)
{
	memset(self, 0, sizeof(*self));
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	/* Then nothing but power would help, and does not. */
	if (variant->f.stuck)
		RK_REQUIRE_POWER_DOMAINS();
	rk_task_timeout_ms(task_timeout_ms());
}

FIXTURE_TEARDOWN(failure)
{
	rk_model_calm();
	if (self->team.fd > 0)
		rk_team_fini(&self->team);
	rk_trial_fini(&self->trial);
}

/* With one IOMMU for all cores some failures are all cores'. */
static bool hits_all(const struct rk_fault *f)
{
	return f->takes_all && rk_one_iommu();
}

static unsigned int first_core(const struct rk_fault *f)
{
	return f->slow && !rk_long() ? RK_CORES - 1 : 0;
}

/* For what happens as soon as it is armed; a busy host may have missed it. */
static void wait_busy(unsigned int core)
{
	for (int i = 0; i < 20 && !rk_count(core, NPU_CNT_BUSY); i++)
		rk_sleep_ms(1);
}

/*
 * Three jobs at once, one of which meets the failure on its core: unless the
 * host was so busy that another core took them all, then again.
 */
static int meet(const struct rk_fault *f, struct rk_team *t, unsigned int core)
{
	int ret;

	for (unsigned int us = 10000; us <= 160000; us *= 2) {
		if (f->when == RK_WHEN_ASLEEP && !rk_wait_asleep(20000))
			return -EBUSY;
		if (f->when != RK_WHEN_BUSY)
			rk_fault_arm_row(f, core, 0);
		rk_latency_us(us);
		ret = rk_team_submit(t, RK_CORES, 7);
		if (ret)
			return ret;
		if (f->when == RK_WHEN_BUSY) {
			wait_busy(core);
			rk_fault_arm_row(f, core, 0);
		}
		rk_team_collect(t, RK_CORES, 7, PATIENCE_MS);
		rk_latency_us(0);
		if (rk_fault_fired())
			return 0;
	}
	return -ENODATA;
}

/* A new device, new files, and what each core has to do then. */
static void rebind_team(struct __test_metadata *_metadata, struct rk_team *t, unsigned int core)
{
	rk_model_calm();
	rk_team_fini(t);
	ASSERT_EQ(0, rk_rebind(core));
	ASSERT_EQ(0, rk_team_init(t));
	EXPECT_EQ(0, good_jobs(t, good_enough())) TH_LOG("core %u", core);
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

static bool none_retired(void)
{
	long long sum = 0;

	for (int i = 0; i < RK_CORES; i++)
		sum += rk_core_stat(i, "retired");
	return !sum;
}

/* None of the first @n jobs ended in another way than done, @err, or for want of a core. */
static void check_lost(struct __test_metadata *_metadata, struct rk_team *t, int n, int err)
{
	int lost = rk_team_count(t, n, -ENODEV);

	EXPECT_EQ(n, rk_team_count(t, n, 0) + lost + (err ? rk_team_count(t, n, err) : 0));
	ASSERT_EQ(0, rk_team_submit(t, RK_TEAM_JOBS, 20));
	rk_team_collect(t, RK_TEAM_JOBS, 20, PATIENCE_MS);
	EXPECT_EQ(RK_TEAM_JOBS, rk_team_count(t, RK_TEAM_JOBS, -ENODEV));
	for (int i = 0; i < RK_CORES; i++) {
		EXPECT_EQ(1, rk_core_stat(i, "retired")) TH_LOG("core %d", i);
	}
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

/* Where all cores have the same fate. */
static void survive_all(struct __test_metadata *_metadata, const struct rk_fault *f,
			struct rk_team *t, unsigned int core)
{
	ASSERT_EQ(0, meet(f, t, core)) TH_LOG("core %u", core);
	if (f->power_helps && none_retired()) {
		rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
		EXPECT_EQ(0, good_jobs(t, good_enough())) TH_LOG("core %u", core);
		return;
	}
	check_lost(_metadata, t, RK_CORES, f->err);
	rebind_team(_metadata, t, core);
}

static void survive_one(struct __test_metadata *_metadata, const struct rk_fault *f,
			struct rk_team *t, unsigned int core)
{
	long long resets[RK_CORES], retired = rk_core_stat(core, "retired");
	long long timeouts = rk_core_stat(core, "timeouts");
	long long faults = rk_core_stat(core, "faults");

	for (int i = 0; i < RK_CORES; i++)
		resets[i] = rk_core_stat(i, "resets");
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	ASSERT_EQ(0, meet(f, t, core)) TH_LOG("core %u", core);
	EXPECT_EQ(f->err ? 1 : RK_CORES, rk_team_count(t, RK_CORES, f->err));
	EXPECT_EQ(f->err ? RK_CORES - 1 : RK_CORES, rk_team_count(t, RK_CORES, 0))
		TH_LOG("core %u: %d %d %d", core, t->ret[0], t->ret[1], t->ret[2]);
	EXPECT_EQ(timeouts + rk_fault_timeouts(f), rk_core_stat(core, "timeouts"));
	EXPECT_EQ(faults + (f->err == -EFAULT), rk_core_stat(core, "faults"));
	/* The others have not noticed. */
	for (int i = 0; i < RK_CORES; i++)
		if (i != core) {
			EXPECT_EQ(resets[i], rk_core_stat(i, "resets"));
		}
	EXPECT_EQ(retired + f->retires, rk_core_stat(core, "retired"));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));

	if (f->retires) {
		/* What is left does the work. */
		ASSERT_EQ(0, rk_team_submit(t, RK_TEAM_JOBS, 20));
		rk_team_collect(t, RK_TEAM_JOBS, 20, PATIENCE_MS);
		EXPECT_EQ(RK_TEAM_JOBS, rk_team_count(t, RK_TEAM_JOBS, 0));
		rebind_team(_metadata, t, core);
	} else {
		rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
		EXPECT_EQ(0, good_jobs(t, good_enough())) TH_LOG("core %u", core);
		EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
	}
}

RK_TEST_F_TIMEOUT(failure, is_survived, 240,
		  "this failure, met on each core, fails one job at most, and the core works again or is retired")
{
	const struct rk_fault *f = &variant->f;
	struct rk_team *t = &self->team;

	if (f->power_helps)
		RK_REQUIRE_POWER_DOMAINS();
	ASSERT_EQ(0, rk_team_init(t));
	ASSERT_EQ(0, good_jobs(t, 1));
	for (unsigned int core = first_core(f); core < RK_CORES; core++) {
		/* Calming the model has set it back. */
		rk_task_timeout_ms(task_timeout_ms());
		if (hits_all(f))
			survive_all(_metadata, f, t, core);
		else
			survive_one(_metadata, f, t, core);
	}
}

static bool core_asleep(unsigned int core)
{
	if (!rk_power_domains() || rk_one_iommu())
		return rk_wait_asleep(20000);
	return rk_wait_count(core, NPU_CNT_POWERED, 0, 5000);
}

static bool in_page(uint64_t address, uint64_t page)
{
	return address >= page && address < page + RK_PAGE;
}

/* Of the program, what it reads, or what it writes. */
static bool in_own_bo(const struct rk_trial *t, uint64_t address, bool write)
{
	const struct rk_client *c = &t->c;

	if (write)
		return in_page(address, c->out.iova);
	return in_page(address, c->in.iova) ||
	       (address >= c->inc.bo.iova && address < c->inc.bo.iova + c->inc.bo.size);
}

static int trial_meet(struct rk_trial *t, const struct rk_fault *f, unsigned int core)
{
	int ret;

	if (f->when == RK_WHEN_ASLEEP && !core_asleep(core))
		return -EBUSY;
	if (f->when != RK_WHEN_BUSY) {
		rk_fault_arm_row(f, core, f->skip);
		return rk_trial_run(t);
	}
	rk_latency_us(20000);
	ret = rk_trial_submit(t);
	if (ret)
		return ret;
	wait_busy(core);
	rk_fault_arm_row(f, core, 0);
	ret = rk_wait_job(t->c.fd, t->id, RK_FOREVER, &t->w);
	rk_latency_us(0);
	return ret;
}

static void check_record(struct __test_metadata *_metadata, const struct rk_fault *f,
			 struct rk_trial *t, unsigned int core)
{
	int err = f->gone ? -ENODEV : f->err;
	int64_t deadline = t->job.timeout_ns;

	EXPECT_EQ(f->cause, t->w.cause);
	EXPECT_EQ(err, t->w.error);
	EXPECT_EQ(f->gone ? 0 : err ? f->skip : RK_TRIAL_TASKS, t->w.task);
	EXPECT_EQ(f->result, t->w.result);
	if (!f->gone) {
		EXPECT_EQ(core, t->w.core);
		EXPECT_LT(0, t->w.elapsed_ns);
	}
	/* What has run well and lost its interrupt alone may be found earlier. */
	if (f->late && err) {
		/* It is counted in jiffies, which are behind when a CPU has stood still. */
		EXPECT_LE(deadline - deadline / 5, t->w.elapsed_ns);
	}
	if (f->early) {
		EXPECT_GT(deadline, t->w.elapsed_ns);
	}
	if (err != -EFAULT) {
		EXPECT_EQ(0, t->w.fault_address);
	} else if (f->page) {
		EXPECT_TRUE(in_page(t->w.fault_address, f->page))
			TH_LOG("%#llx", (unsigned long long)t->w.fault_address);
	} else {
		EXPECT_TRUE(in_own_bo(t, t->w.fault_address ^ f->elsewhere, f->result))
			TH_LOG("%#llx", (unsigned long long)t->w.fault_address);
	}
	/* The BO tells the same. */
	EXPECT_EQ(err, rk_prep(&t->c.out, 5000));
	if (!err) {
		EXPECT_EQ(6, t->c.out.map[0]);
	}
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

/* Nobody else's job is lost, and there is no such core any more. */
static void check_retired(struct __test_metadata *_metadata, struct rk_trial *t, unsigned int core)
{
	EXPECT_EQ(-ENODEV, rk_submit_ext(t->c.fd, &t->job, 1, NULL));
	EXPECT_EQ(7u & ~(1u << core), rk_param(t->c.fd, DRM_ROCKET_PARAM_CORE_MASK));
	EXPECT_EQ(0, rk_client_run(&t->c, 6));
	rk_model_calm();
	ASSERT_EQ(0, rk_rebind(core));
	rk_trial_fini(t);
	ASSERT_EQ(0, rk_trial_init(t, core, task_timeout_ms()));
}

/* What udev hears, or -1. */
static int open_uevents(void)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&kernel, sizeof(kernel))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Is there a string in a message of them? */
static bool has(const char *message, ssize_t size, const char *wanted)
{
	for (const char *p = message; p < message + size; p += strlen(p) + 1)
		if (!strcmp(p, wanted))
			return true;
	return false;
}

/* A message of both nodes that the device wants to be bound anew. */
static bool hears_wedged(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char message[4096 + 1];
	unsigned int heard = 0;

	while (heard < 2 && poll(&p, 1, PATIENCE_MS) == 1) {
		ssize_t n = recv(fd, message, sizeof(message) - 1, 0);

		if (n <= 0)
			break;
		message[n] = '\0';
		heard += has(message, n, "WEDGED=rebind") && has(message, n, "ACTION=change");
	}
	return heard == 2;
}

RK_TEST_F_TIMEOUT(failure, tells_its_cause, 240,
		  "WAIT_JOB tells cause, core, task, address and time of this failure, met on each core")
{
	const struct rk_fault *f = &variant->f;
	struct rk_trial *t = &self->trial;
	bool retires = f->retires || (f->power_helps && !rk_power_domains());
	/* The kernel has the function. */
	int uevents = retires && !rk_kernel_before(6, 17) ? open_uevents() : -1;

	if (hits_all(f))
		SKIP(return, "one core cannot fail alone here");
	for (unsigned int core = first_core(f); core < RK_CORES; core++) {
		rk_trial_fini(t);
		ASSERT_EQ(0, rk_trial_init(t, core, task_timeout_ms()));
		/* What is found out early is not so early on a busy host. */
		if (f->early || f->gone)
			t->job.timeout_ns = 5000 * RK_MS;
		/* Some failures are those of a core that is awake. */
		ASSERT_EQ(0, rk_trial_run(t));
		ASSERT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
		rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
		ASSERT_EQ(0, trial_meet(t, f, core)) TH_LOG("core %u", core);
		EXPECT_NE(0, rk_fault_fired());
		check_record(_metadata, f, t, core);
		if (uevents >= 0) {
			EXPECT_TRUE(hears_wedged(uevents)) TH_LOG("core %u", core);
		}
		if (retires)
			check_retired(_metadata, t, core);
		rk_model_calm();
		ASSERT_EQ(0, rk_trial_run(t));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
	}
	if (uevents >= 0)
		close(uevents);
}

/* ---- what does not fit the table ---- */

FIXTURE(special) {
	struct rk_team t;
};

FIXTURE_SETUP(special)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_team_init(&self->t));
}

FIXTURE_TEARDOWN(special)
{
	rk_stay_awake(false);
	rk_model_calm();
	rk_team_fini(&self->t);
}

RK_TEST_F_TIMEOUT(special, dies_while_it_works, 120,
		  "a core that dies in the middle of a job takes that job with it, and no other")
{
	static const uint32_t reads[] = { 0xffffffff, 0 };

	for (int i = 0; i < 2 * RK_CORES; i++) {
		unsigned int core = i / 2;
		struct rk_team *t = &self->t;

		/*
		 * Any core's interrupt makes the IOMMU's driver look at the registers of all
		 * MMUs, and it follows the page table address of one that reads as ones.
		 */
		if (rk_one_iommu() && reads[i % 2])
			continue;
		ASSERT_EQ(0, good_jobs(t, 1));
		/* Enough for a busy host to get to arming it before the jobs are over. */
		rk_latency_us(150000);
		ASSERT_EQ(0, rk_team_submit(t, 2 * RK_CORES, 3));
		ASSERT_TRUE(rk_wait_count(core, NPU_CNT_BUSY, 1, 5000));
		rk_fault_arm_param(core, NPU_FAULT_CORE_DEAD, 0, 0, reads[i % 2]);
		rk_team_collect(t, 2 * RK_CORES, 3, PATIENCE_MS);
		rk_latency_us(0);
		if (rk_one_iommu()) {
			check_lost(_metadata, t, 2 * RK_CORES, -ETIME);
			rebind_team(_metadata, t, core);
			continue;
		}
		/* Zeroes are a job that never started to the driver, which tries it once more. */
		EXPECT_EQ(2 * RK_CORES - !!reads[i % 2], rk_team_count(t, 2 * RK_CORES, 0))
			TH_LOG("core %u reads %#x: %d %d %d %d %d %d", core, reads[i % 2], t->ret[0],
			       t->ret[1], t->ret[2], t->ret[3], t->ret[4], t->ret[5]);
		ASSERT_EQ(0, rk_team_submit(t, RK_TEAM_JOBS, 4));
		rk_team_collect(t, RK_TEAM_JOBS, 4, PATIENCE_MS);
		EXPECT_EQ(RK_TEAM_JOBS, rk_team_count(t, RK_TEAM_JOBS, 0));
		EXPECT_NE(0, rk_core_stat(core, "retired"));
		rebind_team(_metadata, t, core);
	}
}

/*
 * One that dies with a VM attached takes nothing along, and the kernels that
 * program the IOMMU to detach it (up to 6.1 at least) have nothing to warn of.
 */
RK_TEST_F_TIMEOUT(special, dies_while_it_idles, 120,
		  "a core that dies while it idles costs nothing, and the kernel does not warn")
{
	static const uint32_t reads[] = { 0xffffffff, 0 };

	for (int i = 0; i < 2 * RK_CORES; i++) {
		struct rk_team *t = &self->t;

		rk_stay_awake(true);
		ASSERT_EQ(0, good_jobs(t, 1));
		rk_fault_arm_param(i / 2, NPU_FAULT_CORE_DEAD, 0, 0, reads[i % 2]);
		rk_stay_awake(false);
		EXPECT_TRUE(rk_wait_asleep(20000));
		EXPECT_LE(1, rk_fault_fired()) TH_LOG("core %d, %#x", i / 2, reads[i % 2]);
		rk_model_calm();
		EXPECT_EQ(0, good_jobs(t, good_enough())) TH_LOG("core %d, %#x", i / 2, reads[i % 2]);
	}
	for (int i = 0; i < RK_CORES; i++)
		EXPECT_EQ(0, rk_core_stat(i, "retired"));
}

/*
 * Jobs are over before their interrupts' registers are cleared, by writes that arrive late. The
 * line calls the IOMMU's driver, too, which follows the page table address of one that reads
 * as ones.
 */
static void dies_idle(unsigned int core, uint32_t reads)
{
	rk_sleep_ms(2);
	rk_fault_arm_param(core, NPU_FAULT_CORE_DEAD, 0, 0, reads);
}

RK_TEST_F_TIMEOUT(special, dies_before_the_file_closes, 120,
		  "a core that dies does not keep the address space of a closed file")
{
	long long vms = rk_stat("vms");

	for (unsigned int core = 0; core < RK_CORES; core++) {
		struct rk_team *t = &self->t;

		rk_stay_awake(true);
		ASSERT_EQ(0, good_jobs(t, 1));
		dies_idle(core, core % 2 ? 0 : ~0u);
		rk_team_fini(t);
		rk_stay_awake(false);
		EXPECT_TRUE(rk_wait_asleep(20000));
		rk_model_calm();
		ASSERT_EQ(0, rk_team_init(t));
		EXPECT_EQ(0, good_jobs(t, good_enough())) TH_LOG("core %u", core);
		EXPECT_EQ(0, rk_core_stat(core, "retired"));
	}
	EXPECT_TRUE(rk_stat_settles("vms", vms));
}

/*
 * The file's end and the core's sleep both find an IOMMU that does not answer. A power domain
 * stays on if the core's and the IOMMU's devices get in each other's way. Not core 0's, in
 * which the others' are: the kernel itself may leave it on if all go at the same time (7.3).
 */
RK_TEST_F_TIMEOUT(special, dies_asleep_while_the_file_closes, 600,
		  "a dead core's power domain goes off, whenever its file closes")
{
	unsigned int rounds = rk_long() ? 600 : 60;

	RK_REQUIRE_POWER_DOMAINS();
	if (rk_one_iommu())
		SKIP(return, "one IOMMU for all cores");
	for (unsigned int i = 0; i < rounds; i++) {
		unsigned int core = 1 + i % (RK_CORES - 1);
		struct rk_team *t = &self->t;

		rk_stay_awake(true);
		ASSERT_EQ(0, good_jobs(t, 1));
		dies_idle(core, 0);
		rk_stay_awake(false);
		usleep(i / 2 * 400 % 6000);
		rk_team_fini(t);
		ASSERT_TRUE(rk_wait_count(core, NPU_CNT_POWERED, 0, 20000)) TH_LOG("round %u", i);
		rk_model_calm();
		ASSERT_EQ(0, rk_team_init(t));
	}
}

RK_TEST_F_TIMEOUT(special, dies_before_a_switch, 120,
		  "a core that dies before another file's address space is attached takes nobody along")
{
	for (unsigned int core = 0; core < RK_CORES; core++) {
		struct rk_team *t = &self->t, other;

		ASSERT_EQ(0, rk_team_init(&other));
		rk_stay_awake(true);
		ASSERT_EQ(0, good_jobs(t, 1));
		dies_idle(core, rk_one_iommu() ? 0 : ~0u);
		ASSERT_EQ(0, rk_team_submit(&other, RK_TEAM_JOBS, 6));
		rk_team_collect(&other, RK_TEAM_JOBS, 6, PATIENCE_MS);
		EXPECT_EQ(RK_TEAM_JOBS, rk_team_count(&other, RK_TEAM_JOBS, 0) +
			  rk_team_count(&other, RK_TEAM_JOBS, -ENODEV));
		rk_team_fini(&other);
		rk_stay_awake(false);
		rebind_team(_metadata, t, core);
	}
}

RK_TEST_F_TIMEOUT(special, does_not_power_up_when_bound, 120,
		  "a core that does not power up is not bound, and is when it does")
{
	struct rk_team *t = &self->t;
	struct rk_unbound u;

	RK_REQUIRE_IOMMU();
	for (unsigned int core = 0; core < RK_CORES; core++) {
		rk_team_fini(t);
		ASSERT_EQ(0, rk_unbind(core, &u));
		/* One for all cores goes to sleep some time after the last user. */
		if (rk_one_iommu()) {
			ASSERT_TRUE(rk_wait_asleep(20000));
		}
		/* Its IOMMU fails to resume, and so it does. */
		rk_fault_arm(core, NPU_FAULT_MMU_RESET, 0, 0);
		EXPECT_GT(0, rk_bind(&u)) TH_LOG("core %u", core);
		EXPECT_LE(1, rk_fault_fired()) TH_LOG("core %u", core);
		EXPECT_GT(0, rk_open());
		rk_model_calm();
		ASSERT_EQ(0, rk_bind(&u)) TH_LOG("core %u", core);
		ASSERT_EQ(0, rk_team_init(t));
		EXPECT_EQ(0, good_jobs(t, good_enough())) TH_LOG("core %u", core);
		EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
	}
}

RK_TEST_F(special, stale_tlb,
	  "a BO at a reused address is seen at its new pages; the model shows if a TLB flush is lost")
{
	struct rk_team *t = &self->t;
	struct rk_client c;
	struct rk_bo old;
	int buf;

	ASSERT_EQ(0, rk_client_init(&c));
	/* Asleep, the TLB forgets. */
	rk_stay_awake(true);
	for (int lost = 0; lost < 2; lost++) {
		ASSERT_EQ(0, rk_client_run(&c, 5));
		/* Its page stays, through the mapping, so that another one takes its place. */
		old = c.out;
		buf = rk_export(c.fd, old.handle);
		ASSERT_LE(0, buf);
		if (lost)
			rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_MMU_ZAP, 0, 0);
		ASSERT_EQ(0, rk_gem_close(c.fd, old.handle));
		ASSERT_EQ(0, rk_bo_init(&c.out, c.fd, RK_BYTES));
		ASSERT_EQ(old.iova, c.out.iova);
		EXPECT_EQ(lost ? -EILSEQ : 0, rk_client_run(&c, 9));
		EXPECT_EQ(0, rk_dmabuf_sync(buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
		EXPECT_EQ(lost ? 10 : 6, old.map[0]);
		munmap(old.map, old.size);
		close(buf);
	}
	rk_client_fini(&c);
	rk_model_calm();
	EXPECT_EQ(0, good_jobs(t, good_enough()));
}

#define HANG_BATCH	25

RK_TEST_F_TIMEOUT(special, hangs_in_a_row, 400, "many hangs in a row leave nothing behind")
{
	struct rk_team *t = &self->t;
	int hangs = rk_long() ? 1000 : 100, lost = 0;

	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 0);
	rk_task_timeout_ms(10);
	for (int i = 0; i < hangs / HANG_BATCH; i++) {
		ASSERT_EQ(0, rk_team_submit(t, HANG_BATCH, 1)) TH_LOG("batch %d", i);
		rk_team_collect(t, HANG_BATCH, 1, PATIENCE_MS);
		lost += rk_team_count(t, HANG_BATCH, -ETIME);
	}
	EXPECT_EQ(hangs, lost);
	EXPECT_LE(hangs, rk_fault_fired());
	rk_model_calm();
	EXPECT_EQ(0, good_jobs(t, good_enough()));
	for (int i = 0; i < RK_CORES; i++)
		EXPECT_EQ(0, rk_core_stat(i, "retired"));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

/* ---- a job that never started ---- */

FIXTURE(retry) {
	struct rk_trial t;
};

FIXTURE_SETUP(retry)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_trial_init(&self->t, 1, task_timeout_ms()));
}

FIXTURE_TEARDOWN(retry)
{
	rk_model_calm();
	rk_module_param("start_check_ms", 100);
	rk_trial_fini(&self->t);
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

RK_TEST_F(retry, once, "a job that never started is seen early, tried once more, and counted")
{
	struct rk_trial *t = &self->t;
	struct counts before, after;

	t->job.timeout_ns = 1500 * RK_MS;
	for (int times = 0; times < 3; times++) {
		uint64_t kicks;

		ASSERT_EQ(0, rk_trial_run(t));
		before = counts();
		kicks = rk_count(1, NPU_CNT_KICK);
		rk_fault_arm(1, NPU_FAULT_NEVER_START, 0, times);
		if (!times)
			rk_model_calm();
		ASSERT_EQ(0, rk_trial_run(t));
		/* A job that failed does not wait for the reset behind it. */
		rk_stat_settles("core1.resets", before.resets + times);
		after = counts();
		EXPECT_EQ(times == 2 ? -ETIME : 0, t->w.error);
		EXPECT_EQ(times == 2 ? 0 : RK_TRIAL_TASKS, t->w.task);
		EXPECT_EQ(times, after.timeouts - before.timeouts);
		EXPECT_EQ(times, after.resets - before.resets);
		EXPECT_EQ(!!times, after.retries - before.retries);
		/* A second try is given all its time. */
		EXPECT_EQ(times == 2, t->w.elapsed_ns >= 1500 * RK_MS);
		EXPECT_EQ(times == 2 ? 2 : RK_TRIAL_TASKS + times, rk_count(1, NPU_CNT_KICK) - kicks);
	}
}

RK_TEST_F_TIMEOUT(retry, limit_of_the_second_try, 60,
		  "what the first try lost is not taken from the job's own limit")
{
	struct rk_trial *t = &self->t;

	rk_module_param("start_check_ms", 2600);
	rk_latency_us(3500000);
	t->job.flags = DRM_ROCKET_JOB_BATCHED;
	t->job.task_count = 1;
	t->job.timeout_ns = 5000 * RK_MS;
	rk_fault_arm(1, NPU_FAULT_NEVER_START, 0, 1);
	ASSERT_EQ(0, rk_trial_run(t));
	EXPECT_EQ(0, t->w.error);
	EXPECT_EQ(1, t->w.task);
	EXPECT_LE(5000 * RK_MS, t->w.elapsed_ns);
}

RK_TEST_F(retry, a_later_task_of_a_divisible_job,
	  "a later task is tried again if the job says that its tasks need nothing of each other")
{
	struct rk_trial *t = &self->t;
	struct counts before = counts();

	t->job.flags = DRM_ROCKET_JOB_DIVISIBLE;
	rk_fault_arm(1, NPU_FAULT_NEVER_START, 2, 1);
	ASSERT_EQ(0, rk_trial_run(t));
	EXPECT_EQ(0, t->w.error);
	EXPECT_EQ(RK_TRIAL_TASKS, t->w.task);
	EXPECT_EQ(1, counts().retries - before.retries);
	EXPECT_EQ(0, rk_bo_differs(&t->c.out, 6, RK_BYTES));
}

RK_TEST_F(retry, a_later_task_is_not_tried_again,
	  "a later task that never started is not tried again")
{
	struct rk_trial *t = &self->t;
	struct counts before = counts();

	rk_fault_arm(1, NPU_FAULT_NEVER_START, 1, 1);
	ASSERT_EQ(0, rk_trial_run(t));
	EXPECT_EQ(DRM_ROCKET_CAUSE_NEVER_STARTED, t->w.cause);
	EXPECT_EQ(-ETIME, t->w.error);
	EXPECT_EQ(1, t->w.task);
	EXPECT_EQ(0, counts().retries - before.retries);
	EXPECT_EQ(-ETIME, rk_prep(&t->c.out, 5000));
	ASSERT_EQ(0, rk_trial_run(t));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
}

RK_TEST_F(retry, not_looked_for, "the look for jobs that never started can be switched off")
{
	struct rk_trial *t = &self->t;

	rk_module_param("start_check_ms", 0);
	t->job.timeout_ns = 300 * RK_MS;
	rk_fault_arm(1, NPU_FAULT_NEVER_START, 0, 1);
	ASSERT_EQ(0, rk_trial_run(t));
	EXPECT_EQ(0, t->w.error);
	EXPECT_LE(300 * RK_MS, t->w.elapsed_ns);
}

RK_TEST_F(retry, slow_is_not_suspicious_twice, "a slow healthy job is looked at once")
{
	struct rk_trial *t = &self->t;
	struct counts before = counts(), after;
	uint64_t reads;

	rk_module_param("start_check_ms", 20);
	t->job.timeout_ns = 30000 * RK_MS;
	t->job.task_count = 1;
	rk_latency_us(500000);
	ASSERT_EQ(0, rk_trial_run(t));
	rk_sleep_ms(20);
	reads = rk_count(1, NPU_CNT_MMIO_READ);
	ASSERT_EQ(0, rk_trial_run(t));
	after = counts();
	EXPECT_EQ(0, t->w.error);
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
	/* The interrupt's, and few to see that it has begun. */
	EXPECT_GE(10, rk_count(1, NPU_CNT_MMIO_READ) - reads);
}

RK_HARNESS_MAIN
