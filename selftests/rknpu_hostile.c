// SPDX-License-Identifier: GPL-2.0-only
/*
 * One unprivileged user with all the files, processes, jobs and memory that it can get, against
 * two others, one of each uAPI, who run a short job at a time and check its result. Each attack
 * prints a row per victim. With RKNPU_ICOUNT (tools/testbed/bin/run --icount) time is the
 * instructions that the guest has run, and the bounds on time hold; otherwise it is only told.
 *
 * One CPU, whose time is the instructions it has run.
 * boot: hostile LONG TEST_LIMIT=900 ENV=RKNPU_ICOUNT=1 --icount
 * The same for longer, and all attacks at once.
 * boot: hostilelng RARE TEST_LIMIT=1800 ENV=RKNPU_ICOUNT=1 ENV=RKNPU_LONG=1 --icount
 * With one IOMMU for all cores: the attacks that keep it from others, and all of them for longer.
 * boot: hostiledt LONG TEST_LIMIT=900 ENV=RKNPU_ICOUNT=1 ENV=RKNPU_FEW=1 --icount --dt vendor
 * boot: hostiledtlng RARE TEST_LIMIT=1800 ENV=RKNPU_ICOUNT=1 ENV=RKNPU_LONG=1 --icount --dt vendor
 * All attacks on a kernel with detectors, whose time is not that of others.
 * boot: debug-hostile KERNEL=debug TEST_LIMIT=4000
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_hostile.h"

#define SLICE_MS	4
/* How late a job may be, in slices, beyond what runs when it comes and one recovery. */
#define LATE_SLICES	4
/* Jobs after which a victim closes its file and opens it again. */
#define REOPEN		16
#define REBINDS		6
/* What a victim does between two jobs, with nothing queued. */
#define THINK_US	200
/* How long an attack is looked at, at least and at most. */
#define WINDOW_MS	400
/* So that one job more or less of an attacker does not matter. */
#define WINDOW_JOBS	12
#define PATIENCE_MS	10000
#define MIN_JOBS	20

/* ---- victims ---- */

enum { ROCKET = 1, VENDOR = 2, BOTH = 3 };
#define VICTIMS		2

/* In memory that all processes share. */
struct tally {
	atomic_ulong jobs;
	/* Calls that failed, jobs that failed, and results that were wrong. */
	atomic_ulong refused, failed, wrong;
	/* Because the device was not there. */
	atomic_ulong gone;
	atomic_long longest_ns;
	atomic_long last_error;
};

static struct tally *tallies;

struct victim {
	struct tally *tally;
	uint32_t mask;
	/* The device may go away. */
	bool may_go;
	int fd;
	struct rk_client c;
	struct drm_rocket_task t;
	struct rv_chain chain;
};

static int rocket_open(struct victim *v)
{
	v->fd = rk_open();
	if (v->fd < 0)
		return v->fd;
	return rk_client_init_on(&v->c, v->fd) ?:
	       rk_op_task(&v->c.inc, v->c.in.iova, v->c.out.iova, &v->t);
}

static void rocket_close(struct victim *v)
{
	rk_client_fini(&v->c);
}

static int rocket_fill(struct victim *v, int value)
{
	return rk_bo_fill(&v->c.out, ~value, RK_BYTES) ?: rk_bo_fill(&v->c.in, value, RK_BYTES);
}

static int rocket_run(struct victim *v, int *error)
{
	struct drm_rocket_wait_job w;
	struct drm_rocket_job_ext job;
	uint64_t id;
	int ret;

	rk_job_ext(&job, &v->t, 1, &v->c.in, &v->c.out);
	job.core_mask = v->mask;
	ret = rk_submit_ext(v->fd, &job, 1, &id);
	if (ret)
		return ret;
	*error = rk_wait_job(v->fd, id, RK_FOREVER, &w) ?: w.error;
	return 0;
}

static bool rocket_right(struct victim *v, int value)
{
	return !rk_bo_differs(&v->c.out, value + 1, RK_BYTES);
}

static int vendor_open(struct victim *v)
{
	v->fd = rv_open();
	return v->fd < 0 ? v->fd : rv_chain_init(&v->chain, v->fd, 1, 0, 0);
}

static void vendor_close(struct victim *v)
{
	rv_chain_fini(&v->chain);
	close(v->fd);
}

static int vendor_fill(struct victim *v, int value)
{
	return rv_chain_fill(&v->chain, value);
}

static int vendor_run(struct victim *v, int *error)
{
	struct drm_rknpu_submit s;
	int ret;

	rv_chain_submit(&v->chain, &s);
	s.core_mask = v->mask;
	ret = rv_submit(v->fd, &s);
	/* The call waits, so how the job ended is what it returns. */
	*error = ret == -ETIMEDOUT || ret == -EIO || ret == -EFAULT ? ret : 0;
	return *error ? 0 : ret;
}

static bool vendor_right(struct victim *v, int value)
{
	return !rv_chain_wrong(&v->chain, value + 1);
}

static const struct kind {
	const char *name;
	uid_t uid;
	int (*open)(struct victim *v);
	void (*close)(struct victim *v);
	int (*fill)(struct victim *v, int value);
	int (*run)(struct victim *v, int *error);
	bool (*right)(struct victim *v, int value);
} kinds[VICTIMS] = {
	{ "rocket", 2001, rocket_open, rocket_close, rocket_fill, rocket_run, rocket_right },
	{ "rknpu", 2002, vendor_open, vendor_close, vendor_fill, vendor_run, vendor_right },
};

/* While the device is away its nodes are, too, or root's alone. */
static bool is_gone(const struct victim *v, int ret)
{
	return v->may_go && (ret == -ENODEV || ret == -EACCES || ret == -ENOENT || ret == -ENXIO);
}

static void tell(struct victim *v, int ret, atomic_ulong *what)
{
	/*
	 * A process of its priority that tries at once would let no other one run. To fail takes
	 * longer than a millisecond on a kernel with detectors, on a CPU that is shared.
	 */
	rk_sleep_ms(4 * rk_slow());
	if (is_gone(v, ret)) {
		v->tally->gone++;
		return;
	}
	(*what)++;
	v->tally->last_error = ret;
}

/* 0 if the file can be used again. */
static int one_job(const struct kind *k, struct victim *v, int value)
{
	int64_t start;
	int error = 0, ret = k->fill(v, value);
	long ns;

	start = rk_now();
	if (!ret)
		ret = k->run(v, &error);
	ns = rk_now() - start;
	if (ret) {
		tell(v, ret, &v->tally->refused);
		return ret;
	}
	if (error) {
		tell(v, error, &v->tally->failed);
		return error;
	}
	if (ns > v->tally->longest_ns)
		v->tally->longest_ns = ns;
	v->tally->wrong += !k->right(v, value);
	v->tally->jobs++;
	return 0;
}

static void live(const struct kind *k, struct victim *v)
{
	for (int n = 0; !hostile->stop;) {
		int ret = k->open(v);

		if (ret)
			tell(v, ret, &v->tally->refused);
		for (int i = 0; i < REOPEN && !ret && !hostile->stop; i++) {
			ret = one_job(k, v, n++ % 100);
			usleep(THINK_US);
		}
		if (v->fd >= 0)
			k->close(v);
		v->fd = -1;
	}
}

/* ---- processes ---- */

static pid_t start_victim(int i, uint32_t mask, bool may_go)
{
	static struct victim v;
	/* Who has the CPUs is not what is measured: those of victims are not attackers'. */
	struct sched_param first = { .sched_priority = 1 };
	pid_t pid = fork();

	if (pid)
		return pid;
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		_exit(1);
	hostile_become(kinds[i].uid);
	v.tally = &tallies[i];
	v.mask = mask;
	v.may_go = may_go;
	v.fd = -1;
	live(&kinds[i], &v);
	_exit(0);
}

/* ---- what is measured ---- */

static const char *const memory[] = { "bos", "vms", "bo_bytes", "table_bytes" };

FIXTURE(hostile) {
	long long before[ARRAY_SIZE(memory)];
	pid_t victim[VICTIMS];
	pid_t attacker;
	/* Of the measurement, and what one recovery takes. */
	double window_ms;
	double recovery_ms;
};

FIXTURE_VARIANT(hostile) {
	const char *name;
	void (*attack)(void);
	int victims;
	/* Where the victims' jobs may run; 0: on any core. */
	uint32_t mask;
	/* How long the attack keeps a core by one job that nobody may interrupt. */
	unsigned int holds_ms;
	/* And cores where no victim's job may run. */
	unsigned int holds_others_ms;
	/* How often the core is recovered from a job of it. */
	unsigned int recoveries;
	bool rebinds;
	/* It is on when there is no room for a job more. */
	bool fills;
	/* Only where there is time. */
	bool takes_long;
	/* One of those that are left if there is little: it keeps what all cores share. */
	bool matters_most;
};

#define ROW(_name, ...)		\
	FIXTURE_VARIANT_ADD(hostile, _name) { .name = #_name, __VA_ARGS__ }
#define ATTACK(_name, ...)	\
	ROW(_name, .attack = attack_##_name, .victims = BOTH, .mask = 1, __VA_ARGS__)

#define LONG_MS		(LONG_TASKS * TASK_MS)

ATTACK(nothing);
ATTACK(slots, .fills = true, .matters_most = true);
ATTACK(long, .holds_ms = LONG_MS, .matters_most = true);
ATTACK(pauses);
ATTACK(gangs, .holds_ms = LONG_MS, .matters_most = true);
ATTACK(gangs_and_long, .holds_ms = LONG_MS);
ATTACK(late_gangs, .holds_others_ms = LATE_TASKS * TASK_MS);
ATTACK(priorities, .holds_ms = LONG_MS, .fills = true);
/* The deadline begins anew when the first task of the chain is found to be over. */
ATTACK(hangs, .holds_ms = 2 * LONGEST_MS, .recoveries = 1, .matters_most = true);
/* The first one is tried once more. */
ATTACK(never_started, .holds_ms = 2 * LONGEST_MS, .recoveries = 2);
ATTACK(faults, .recoveries = 1);
ATTACK(memory);
ATTACK(clock);
ATTACK(syncs);
ATTACK(poll);
ATTACK(kills, .holds_ms = 4 * TASK_MS, .matters_most = true);
ROW(long_against_rocket, .attack = attack_long, .victims = ROCKET, .mask = 1, .holds_ms = LONG_MS,
	.matters_most = true);
ROW(long_against_rknpu, .attack = attack_long, .victims = VENDOR, .mask = 1, .holds_ms = LONG_MS);
ROW(long_on_any_core, .attack = attack_long, .victims = BOTH, .holds_ms = LONG_MS,
	.matters_most = true);
ROW(slots_on_any_core, .attack = attack_slots, .victims = BOTH, .fills = true);
ROW(unbind, .attack = attack_kills, .victims = BOTH, .holds_ms = LONG_MS, .rebinds = true);
ROW(everything, .attack = attack_everything, .victims = BOTH, .mask = 1,
	.holds_ms = 2 * LONGEST_MS + LONG_MS, .recoveries = 2, .fills = true, .takes_long = true);

static bool counts_time(void)
{
	return getenv("RKNPU_ICOUNT");
}

/* From the deadline of a job that hangs to the end of the next one, less that job. */
static double one_recovery_ms(void)
{
	struct drm_rocket_job_ext job[2];
	struct drm_rocket_wait_job w;
	struct drm_rocket_task t;
	struct rk_client c;
	uint64_t id;
	int64_t start, ns = -1;

	if (rk_client_init(&c))
		return -1;
	if (!rk_op_task(&c.inc, c.in.iova, c.out.iova, &t)) {
		for (int i = 0; i < 2; i++) {
			rk_job_ext(&job[i], &t, 1, &c.in, &c.out);
			job[i].core_mask = 1;
			job[i].timeout_ns = LONGEST_MS * RK_MS;
		}
		rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
		start = rk_now();
		if (!rk_submit_ext(c.fd, job, 2, &id) && !rk_wait_job(c.fd, id + 1, RK_FOREVER, &w))
			ns = rk_now() - start - (LONGEST_MS + TASK_MS) * RK_MS;
	}
	rk_client_fini(&c);
	return ns / 1e6;
}

FIXTURE_SETUP(hostile)
{
	int fd;

	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	if (geteuid())
		SKIP(return, "needs root");
	if (variant->takes_long && !rk_long())
		SKIP(return, "takes long");
	if (!variant->matters_most && getenv("RKNPU_FEW"))
		SKIP(return, "one of many");
	fd = rv_open();
	if (fd < 0)
		SKIP(return, "no vendor node");
	close(fd);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* Those of the case before this one. */
	ASSERT_TRUE(rk_stat_settles("bos", 0));
	ASSERT_TRUE(rk_stat_settles("vms", 0));
	for (size_t i = 0; i < ARRAY_SIZE(memory); i++)
		self->before[i] = rk_stat(memory[i]);
	rk_latency_us(TASK_MS * 1000);
	self->recovery_ms = one_recovery_ms();
	ASSERT_LE(0, self->recovery_ms);
	rk_module_param("max_hangs", 8);
	rk_module_param("hang_ban_ms", FORGIVEN_MS);
	rk_module_param("max_timeout_ms", LONGEST_MS);
	/* So that all of it can be taken in a moment. */
	rk_module_param("max_user_memory_percent", 13);
	rk_module_param("max_memory_percent", 15);
	hostile_let_open();

	tallies = mmap(NULL, RK_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	hostile = mmap(NULL, RK_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, tallies);
	ASSERT_NE(MAP_FAILED, hostile);
}

FIXTURE_TEARDOWN(hostile)
{
	rk_module_param("max_user_memory_percent", 65);
	rk_module_param("max_memory_percent", 75);
	rk_module_param("hang_ban_ms", 10000);
	rk_model_calm();
}

static bool all_have(int victims, const unsigned long *first, unsigned long jobs)
{
	for (int i = 0; i < VICTIMS; i++)
		if ((victims & (1 << i)) && tallies[i].jobs < first[i] + jobs)
			return false;
	return true;
}

/* At its full strength, for which a kernel with detectors takes long; false if it ended before. */
static bool comes(pid_t attacker, bool fills)
{
	/* Such a one submits no faster than cores run jobs of TASK_MS. */
	if (fills && rk_slow() > 1)
		rk_latency_us(LONGEST_MS * 1000 / 2);
	while (!hostile->on && !waitpid(attacker, NULL, WNOHANG))
		rk_sleep_ms(1);
	rk_latency_us(TASK_MS * 1000);
	return hostile->on;
}

/* Until the victims have had their jobs, and long enough for a share to be one. */
static double look(int victims, unsigned long *jobs, unsigned int window_ms, bool rebinds)
{
	int64_t start = rk_now(), now = start, end = start + PATIENCE_MS * rk_slow() * RK_MS;
	unsigned long first[VICTIMS];

	for (int i = 0; i < VICTIMS; i++) {
		first[i] = tallies[i].jobs;
		tallies[i].longest_ns = 0;
	}
	for (int n = 0; rebinds && n < REBINDS; n++) {
		unsigned long had[VICTIMS] = { tallies[0].jobs, tallies[1].jobs };

		if (rk_rebind(n % RK_CORES))
			return -1;
		hostile_let_open();
		for (int ms = 0; !all_have(victims, had, MIN_JOBS) && ms < PATIENCE_MS; ms++)
			rk_sleep_ms(1);
	}
	while (now < start + window_ms * RK_MS || !all_have(victims, first, MIN_JOBS)) {
		if (now > end)
			break;
		rk_sleep_ms(1);
		now = rk_now();
	}
	for (int i = 0; i < VICTIMS; i++)
		jobs[i] = tallies[i].jobs - first[i];
	return (now - start) / 1e6;
}

/* True if they came to their end by themselves: while the attack lasts, one that starves does not. */
static bool victims_end(const pid_t *pid)
{
	int64_t end = rk_now() + PATIENCE_MS * rk_slow() * RK_MS;
	bool good = true;

	for (int i = 0; i < VICTIMS; i++) {
		int status = 0;
		pid_t ret = 0;

		while (pid[i] && !ret && rk_now() < end) {
			ret = waitpid(pid[i], &status, WNOHANG);
			if (!ret)
				rk_sleep_ms(1);
		}
		good &= !pid[i] || (ret == pid[i] && !status);
	}
	return good;
}

RK_TEST_F_TIMEOUT(hostile, is_bounded, 120,
		  "what it takes from two other users is no job, no result, and no more than its share")
{
	unsigned int users = 1 + __builtin_popcount(variant->victims);
	double late = LATE_SLICES * SLICE_MS + variant->holds_ms +
		      variant->recoveries * self->recovery_ms +
		      /* What another core runs holds all of them. */
		      (rk_one_iommu() ? variant->holds_others_ms : 0);
	unsigned int holds_ms = variant->holds_ms + variant->holds_others_ms;
	unsigned int window_ms = WINDOW_MS * (rk_long() ? 4 : 1);
	unsigned long jobs[VICTIMS] = { 0 };
	int fd;

	/* On any core victims may meet on one for a while, and change. */
	if (!variant->mask)
		holds_ms *= 2;
	if (window_ms < WINDOW_JOBS * holds_ms)
		window_ms = WINDOW_JOBS * holds_ms;

	for (int i = 0; i < VICTIMS; i++)
		if (variant->victims & (1 << i))
			self->victim[i] = start_victim(i, variant->mask, variant->rebinds);
	self->attacker = hostile_start(3000 + getpid(), variant->attack);
	EXPECT_TRUE(comes(self->attacker, variant->fills));
	self->window_ms = look(variant->victims, jobs, window_ms, variant->rebinds);
	EXPECT_LT(0, self->window_ms);
	/* The last job of each is under attack, too. */
	hostile->stop = true;
	EXPECT_TRUE(victims_end(self->victim));
	EXPECT_LT(0, atomic_load(&hostile->hits));
	EXPECT_EQ(0, atomic_load(&hostile->odd));
	hostile_end(self->attacker);
	while (wait(NULL) > 0)
		;

	for (int i = 0; i < VICTIMS; i++) {
		struct tally *t = &tallies[i];
		double share = jobs[i] * TASK_MS / self->window_ms;

		if (!self->victim[i])
			continue;
		printf("# row\t%s\t%s\t%lu\t%lu\t%lu\t%lu\t%lu\t%.1f\t%.1f\t%.3f\t%.3f\t%lu\n",
		       variant->name, kinds[i].name, jobs[i], t->refused, t->failed,
		       t->wrong, t->gone, t->longest_ns / 1e6 / SLICE_MS, late / SLICE_MS, share,
		       1.0 / (users + 1), hostile->hits);
		EXPECT_LE(MIN_JOBS, jobs[i]);
		EXPECT_EQ(0, atomic_load(&t->refused)) TH_LOG("%ld", t->last_error);
		EXPECT_EQ(0, atomic_load(&t->failed)) TH_LOG("%ld", t->last_error);
		EXPECT_EQ(0, atomic_load(&t->wrong));
		if (variant->rebinds || !counts_time())
			continue;
		EXPECT_LE(1, share * (users + 1));
		EXPECT_GE(late, t->longest_ns / 1e6);
	}
	for (size_t i = 0; i < ARRAY_SIZE(memory); i++) {
		EXPECT_TRUE(rk_stat_settles(memory[i], self->before[i]));
	}
	rk_model_calm();
	fd = rk_open();
	EXPECT_EQ(0, rk_run_on_every_core(fd, 1));
	close(fd);
}

/* The table goes to build/rknpu_hostile.tsv, by tools/testbed/bin/one. */
int main(int argc, char **argv)
{
	/* Times are in time slices. */
	printf("# row\tattack\tvictim\tjobs\trefused\tfailed\twrong\tgone\t"
	       "longest\tbound\tshare\tbound\thits\n");
	return rk_main(argc, argv);
}
