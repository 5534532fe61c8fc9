// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hours of everything at once: clients come, go and are killed, jobs of all
 * kinds are checked, an unprivileged user attacks in each of rknpu_hostile's
 * ways, faults are armed, cores unbound, power states forced, the system put to
 * sleep. Ends with counts; fails on any wrong result, on anything left over, if
 * an attack did nothing, and when the device does not work in the end.
 *
 * usage: rknpu_soak MINUTES [SEED]; RKNPU_SOAK_SLEEP=1 rehearses system sleep,
 * which costs a guest of the testbed its console for the time being.
 * RKNPU_SOAK_SECONDS: for so long instead, with more happening in that time.
 *
 * tool of: make soak and make chaos
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "rknpu_hostile.h"
#include "rknpu_soak.h"

#define WORKERS		4
#define ERRNOS		134
#define ATTACKER	3000
/* An attack that began that often must have done something. */
#define BEGUN_ENOUGH	5

struct shared {
	atomic_ulong good[KINDS], wrong[KINDS];
	atomic_ulong failed[KINDS * ERRNOS], refused[ERRNOS];
	atomic_ulong clients, power;
	atomic_bool stop;
};

static struct shared *shared;

/* What the controlling process did. */
static struct {
	unsigned long armed[NPU_FAULT_MAX + 1];
	unsigned long killed, unbinds, sleeps, sleeps_refused;
} did;

static struct attack {
	const char *name;
	void (*run)(void);
	unsigned long begun, hits;
} attacks[] = {
	{ "slots", attack_slots },
	{ "long", attack_long },
	{ "pauses", attack_pauses },
	{ "gangs", attack_gangs },
	{ "gangs_and_long", attack_gangs_and_long },
	{ "late_gangs", attack_late_gangs },
	{ "priorities", attack_priorities },
	{ "hangs", attack_hangs },
	{ "never_started", attack_never_started },
	{ "faults", attack_faults },
	{ "memory", attack_memory },
	{ "clock", attack_clock },
	{ "syncs", attack_syncs },
	{ "poll", attack_poll },
	{ "kills", attack_kills },
	{ "everything", attack_everything },
};

/* The one that lasts, and its process. */
static struct attack *attack = attacks;
static pid_t attacker;

/* Faults that fired before the count was last cleared. */
static unsigned long fired_before;

/* ---- clients ---- */

static int count(enum kind k, int ret)
{
	char line[64];

	if (!ret) {
		shared->good[k]++;
	} else if (ret == -EILSEQ) {
		shared->wrong[k]++;
		snprintf(line, sizeof(line), "soak: a result of %s is wrong\n", kind_names[k]);
		put("/dev/kmsg", line);
	} else {
		shared->failed[k * ERRNOS + (-ret < ERRNOS ? -ret : 0)]++;
	}
	return ret;
}

/* A device that is not there, or refuses to begin: also while a core is unbound. */
static void refused(int ret)
{
	shared->refused[-ret < ERRNOS ? -ret : 0]++;
	rk_sleep_ms(20);
}

static void live_raw(unsigned int jobs)
{
	struct rk_client c;
	int ret;

	memset(&c, 0, sizeof(c));
	c.fd = -1;
	ret = rk_client_init(&c);
	if (ret)
		refused(ret);
	for (unsigned int i = 0; i < jobs && !ret && !shared->stop; i++) {
		enum kind k = below(ORDER + 1);

		ret = count(k, k == RAW ? run_raw(&c) : k == CHAIN ? run_chain(&c) :
			       k == EXT ? run_ext(&c) : run_ordered(&c));
		/* Also of a job whose only core has been taken out of service. */
		if (ret != -ENODEV || k == EXT || k == ORDER)
			ret = 0;
	}
	if (c.fd >= 0)
		rk_client_fini(&c);
}

static void live_lib(unsigned int jobs)
{
	struct npu_dev *dev;
	int ret = npu_open(NULL, &dev);

	if (ret) {
		refused(ret);
		return;
	}
	for (unsigned int i = 0; i < jobs && !shared->stop && ret != -ENODEV; i++) {
		enum kind k = MATMUL_INT8 + below(3);

		ret = count(k, k == CONV ? run_conv(dev) : run_matmul(dev, k == MATMUL_FP16));
	}
	npu_close(dev);
}

static void worker(uint64_t seed)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rng = seed;
	while (!shared->stop) {
		shared->clients++;
		if (below(2))
			live_raw(1 + below(60));
		else
			live_lib(1 + below(20));
	}
	_exit(0);
}

static pid_t start_worker(void)
{
	uint64_t seed = (uint64_t)rnd() << 32 | rnd() | 1;
	pid_t pid = fork();

	if (!pid)
		worker(seed);
	return pid;
}

/* ---- the attacker ---- */

static void end_attack(void)
{
	if (attacker)
		hostile_end(attacker);
	attacker = 0;
	attack->hits += atomic_exchange(&hostile->hits, 0);
}

static void begin_attack(void)
{
	hostile_let_open();
	attacker = hostile_start(ATTACKER, attack->run);
	attack->begun++;
}

/* Some attacks fail so often that their user is banned, if anybody is. */
static void change_attack(void)
{
	end_attack();
	attack = &attacks[below(NUM(attacks))];
	rk_module_param("max_hangs", below(2) ? 8 : 0);
	begin_attack();
}

/* It ends when the device goes, and where a fault that was armed for others meets it. */
static void keep_attacking(void)
{
	hostile_let_open();
	if (waitpid(attacker, NULL, WNOHANG) != attacker)
		return;
	end_attack();
	begin_attack();
}

static bool all_attacked(void)
{
	bool good = true;

	for (size_t i = 0; i < NUM(attacks); i++)
		good &= attacks[i].begun < BEGUN_ENOUGH || attacks[i].hits;
	return good;
}

/* ---- what happens to the device ---- */

/* Of an IOMMU that does not reset or start. */
static bool mmu_failures;

static unsigned long fired(void)
{
	return fired_before + rk_fault_fired();
}

static void disarm(void)
{
	unsigned long n = rk_fault_fired();

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
	fired_before += n;
}

/* "identity" where the kernel attaches nothing to an IOMMU that has no address space of ours. */
static bool passthrough(void)
{
	char path[128], type[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), DRIVER "/%s/iommu_group/type", cores[0]);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%15s", type) != 1)
		type[0] = 0;
	fclose(f);
	return !strcmp(type, "identity");
}

/*
 * What no driver of the NPU can help: the kernel's IOMMU driver accesses
 * registers whose clock it was told is on, and follows a table register whose
 * value got lost (an oops); and going back to the default domain, between two
 * address spaces, must not fail (a warning), unless that is none.
 */
static bool survivable(uint32_t kind)
{
	switch (kind) {
	case NPU_FAULT_CLK_STUCK:
	case NPU_FAULT_CORE_DEAD:
		return false;
	case NPU_FAULT_MMU_RESET:
	case NPU_FAULT_MMU_PAGING:
		return mmu_failures;
	case NPU_FAULT_POWER_STUCK:
		/* Older drivers of the domains do not tell that one stayed off. */
		return !rk_kernel_before(6, 13);
	default:
		return true;
	}
}

/* Of the other kinds, 0 is the most general one. */
static uint32_t fault_param(uint32_t kind)
{
	switch (kind) {
	case NPU_FAULT_MMU_STRAY:
		return below(1000000);
	case NPU_FAULT_CPU_HELD:
		return below(20000000);
	default:
		return 0;
	}
}

static void arm_something(void)
{
	uint32_t kind = 1 + below(NPU_FAULT_MAX);

	if (!survivable(kind))
		return;
	/* Costs a core until it is bound again: seldom. */
	if (kind == NPU_FAULT_RESET_STUCK && below(10))
		kind = NPU_FAULT_HANG;
	/*
	 * The kernel asks ten million times whether the domain is on, which takes
	 * a guest more than a minute.
	 */
	if (kind == NPU_FAULT_POWER_STUCK && below(20))
		return;
	rk_fault_arm_param(below(2) ? NPU_CTL_ANY_CORE : below(RK_CORES), kind, below(6), 1,
			   fault_param(kind));
	did.armed[kind]++;
	if (!below(10))
		disarm();
}

static void rebind(const char *core)
{
	if (put(DRIVER "/unbind", core))
		did.unbinds++;
	rk_sleep_ms(below(300));
	for (int i = 0; i < 100 && !put(DRIVER "/bind", core); i++)
		rk_sleep_ms(50);
}

static void force_power(void)
{
	char path[128];

	/* One in four wakes the IOMMU alone. */
	snprintf(path, sizeof(path), DRIVER "/%s/%spower/control", cores[below(RK_CORES)],
		 below(4) ? "" : "iommu/device/");
	if (put(path, below(2) ? "on" : "auto"))
		shared->power++;
}

/* In a hurry: whatever else happens meets cores and IOMMUs that somebody wakes. */
static pid_t start_waker(void)
{
	uint64_t seed = (uint64_t)rnd() << 32 | rnd() | 1;
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rng = seed;
	while (!shared->stop) {
		force_power();
		usleep(below(4000));
	}
	_exit(0);
}

/* All of system sleep but the sleep itself. The testbed's console would not come back. */
static void rehearse_sleep(void)
{
	console(false);
	put("/sys/module/suspend/parameters/pm_test_delay", "1");
	if (put("/sys/power/pm_test", "devices") && put("/sys/power/state", "freeze"))
		did.sleeps++;
	else
		did.sleeps_refused++;
	put("/sys/power/pm_test", "none");
	console(true);
}

/* ---- telling ---- */

static unsigned long sum(atomic_ulong *v, size_t n)
{
	unsigned long s = 0;

	for (size_t i = 0; i < n; i++)
		s += v[i];
	return s;
}

static void progress(unsigned int minute)
{
	char line[200];

	snprintf(line, sizeof(line),
		 "soak: minute %u: %lu good, %lu failed, %lu wrong, %lu faults, %lu unbinds, %lu sleeps\n",
		 minute, sum(shared->good, KINDS), sum(shared->failed, KINDS * ERRNOS),
		 sum(shared->wrong, KINDS), fired(), did.unbinds, did.sleeps);
	put("/dev/kmsg", line);
	if (!did.sleeps && !did.sleeps_refused)
		say("%s", line);
}

static void report(void)
{
	say("clients         %lu, %lu of their processes killed\n", shared->clients, did.killed);
	for (int k = 0; k < KINDS; k++)
		say("%-15s %lu good, %lu wrong\n", kind_names[k], shared->good[k],
		    shared->wrong[k]);
	for (int k = 0; k < KINDS; k++)
		for (int e = 0; e < ERRNOS; e++)
			if (shared->failed[k * ERRNOS + e])
				say("failed          %lu %s of %s\n",
				    shared->failed[k * ERRNOS + e],
				    e ? rk_errno_name(e) : "?", kind_names[k]);
	for (int e = 0; e < ERRNOS; e++)
		if (shared->refused[e])
			say("no device       %lu %s\n", shared->refused[e],
			    e ? rk_errno_name(e) : "?");
	say("attacks        ");
	for (size_t i = 0; i < NUM(attacks); i++)
		say(" %s:%lu/%lu", attacks[i].name, attacks[i].hits, attacks[i].begun);
	say("\nfaults armed   ");
	for (int i = 1; i <= NPU_FAULT_MAX; i++)
		say(" %d:%lu", i, did.armed[i]);
	say(", fired %lu\n", fired());
	say("core resets     %llu, hangs %llu\n",
	    (unsigned long long)rk_count_all(NPU_CNT_RESET),
	    (unsigned long long)rk_count_all(NPU_CNT_HANG));
	say("unbinds         %lu, power states %lu, sleeps %lu (%lu refused)\n",
	    did.unbinds, shared->power, did.sleeps, did.sleeps_refused);
}

/* ---- the run ---- */

static void one_event(pid_t *pid, bool sleeps)
{
	unsigned int w = below(WORKERS);
	uint32_t dice = below(1000);

	if (dice < 450) {
		arm_something();
	} else if (dice < 650) {
		kill(pid[w], SIGKILL);
		waitpid(pid[w], NULL, 0);
		did.killed++;
		pid[w] = start_worker();
	} else if (dice < 750) {
		rebind(cores[below(RK_CORES)]);
	} else if (dice < 850) {
		force_power();
	} else if (dice < 880 && sleeps) {
		rehearse_sleep();
	} else if (dice < 900) {
		change_attack();
	} else {
		rk_latency_us(below(4) ? 0 : below(20000));
	}
	keep_attacking();
	/* Whatever was armed: it is to survive that, too. */
	rk_scrub(below(4));
}

static void run(unsigned int seconds, bool hurry, bool sleeps)
{
	int64_t start = rk_now(), end = start + seconds * 1000ll * RK_MS;
	unsigned int pause_ms = hurry ? 40 : 800;
	pid_t pid[WORKERS], waker = 0;
	unsigned int minute = 0;

	for (int i = 0; i < WORKERS; i++)
		pid[i] = start_worker();
	if (hurry)
		waker = start_waker();
	change_attack();
	while (rk_now() < end) {
		rk_sleep_ms(pause_ms / 16 + below(pause_ms));
		one_event(pid, sleeps);
		if (rk_now() > start + (minute + 1) * 60000ll * RK_MS)
			progress(++minute);
	}
	disarm();
	rk_latency_us(0);
	end_attack();
	rk_module_param("max_hangs", 0);
	shared->stop = true;
	for (int i = 0; i < WORKERS; i++)
		waitpid(pid[i], NULL, 0);
	if (waker)
		waitpid(waker, NULL, 0);
}

static bool settles(const char *stat)
{
	for (int i = 0; i < 200 && rk_stat(stat); i++)
		rk_sleep_ms(50);
	say("%-15s %lld left\n", stat, rk_stat(stat));
	return !rk_stat(stat);
}

static bool works(void)
{
	int fd = -ENODEV;

	for (int i = 0; i < RK_CORES; i++)
		rebind(cores[i]);
	for (int i = 0; i < 200 && fd < 0; i++, rk_sleep_ms(10))
		fd = rk_open();
	return fd >= 0 && !rk_run_on_every_core(fd, 20);
}

int main(int argc, char **argv)
{
	const char *hurry = getenv("RKNPU_SOAK_SECONDS");
	unsigned int seconds = hurry ? atoi(hurry) : 60 * (argc > 1 ? atoi(argv[1]) : 30);
	bool sleeps = getenv("RKNPU_SOAK_SLEEP"), clean, working;

	rng = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	rng = rng * 0x9e3779b97f4a7c15 + 1;
	signal(SIGPIPE, SIG_IGN);
	if (!rk_model() || !find_cores()) {
		fprintf(stderr, "needs the NPU model and three cores\n");
		return 1;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	hostile = mmap(NULL, sizeof(*hostile), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || hostile == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1))
		return 1;
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
	rk_module_param("hang_ban_ms", FORGIVEN_MS);
	/* So that the attacker takes all of it in a moment. */
	rk_module_param("max_user_memory_percent", 13);
	rk_module_param("max_memory_percent", 15);
	mmu_failures = passthrough();
	run(seconds, hurry, sleeps);
	if (did.sleeps || did.sleeps_refused) {
		out = -1;
		find_output();
	}
	report();
	clean = settles("bos");
	clean &= settles("vms");
	working = works();
	say("the device      %s\n", working ? "works" : "DOES NOT WORK");
	/* In a hurry the device may be gone whenever an attack begins. */
	return sum(shared->wrong, KINDS) || !clean || !working || !sum(shared->good, KINDS) ||
	       (!hurry && !all_attacked());
}
