// SPDX-License-Identifier: GPL-2.0-only
/*
 * Days of a guest that is idle most of the time. Each round has a burst of clients of all kinds, some of which are killed,
 * have a core unbound under them, a task that hangs or a system sleep; then the NPU is idle for minutes. What the driver,
 * the model and the kernel count must agree after each round, and memory must not shrink from round to round.
 *
 * usage: rknpu_day MINUTES [SEED]; without idle time skipped (run --icount) it lasts for real.
 *
 * tool of: make soak
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "rknpu_soak.h"
#include "rknpu_vendor_util.h"

#define CLIENTS		4
#define ROUND_S		600
/* Memory is compared between the second and the last cycle of all events. */
#define FIRST_CYCLE	1
#define RTC		"/sys/class/rtc/rtc0/wakealarm"
/* How far a sum of two times may be off that the kernel keeps in milliseconds, in a difference of two. */
#define ROUNDING_MS	4
/* Of a job beside what the hardware does: its interrupt, and the next one's start. */
#define TASK_NS		(5 * RK_MS)
/* Of the longest job. */
#define CHAIN_TASKS	8

enum { LIVE_RAW, LIVE_LIB, LIVE_VENDOR, LIVES };

/* What happens beside a burst. */
enum event { CALM, KILL, REBIND, HANG, POWER, SLEEP, EVENTS };

static struct shared {
	atomic_ulong good[LIVES], wrong, failed;
	/* What the clients' files say of their time on the cores. */
	atomic_ulong engine_ns[RK_CORES];
	atomic_bool stop;
} *shared;

static struct {
	unsigned long events[EVENTS], checks, bad, slept_s, refused, forgotten;
} did;

/* ---- what is counted ---- */

/* Each of these only grows. */
enum { JOBS, TASKS, IRQS, RESETS, POWER_UPS, ATTACHES, SCRUBS, SCRUB_NS, READS, WRITES, STATS };

static const char *const stat_names[STATS] = {
	"jobs", "tasks", "irqs", "resets", "power_ups", "attaches", "scrubs", "scrub_ns", "mmio_reads", "mmio_writes",
};

static const enum npu_ctl_counter model_counters[] = {
	NPU_CNT_TASK_DONE, NPU_CNT_IRQ, NPU_CNT_RESET, NPU_CNT_POWER_ON, NPU_CNT_BUSY_NS, NPU_CNT_KICK, NPU_CNT_MMIO_READ,
	NPU_CNT_MMIO_WRITE,
};

enum { DONE, LINE, RESET, POWER_ON, BUSY_NS, KICK, MODEL_READS, MODEL_WRITES, MODELS };

struct sample {
	long long stat[RK_CORES][STATS], model[RK_CORES][MODELS];
	/* Read after the first and before the second time. */
	int64_t from[RK_CORES], to[RK_CORES];
	long long active_ms[RK_CORES], suspended_ms[RK_CORES];
	unsigned long taken;
};

/* What is left when nobody uses the NPU. */
struct rest {
	long long available, unreclaimable, kmalloc, vmalloc, stacks, processes;
};

static long long number_in(const char *path)
{
	FILE *f = fopen(path, "re");
	long long v = -1;

	if (f && fscanf(f, "%lld", &v) != 1)
		v = -1;
	if (f)
		fclose(f);
	return v;
}

static long long of_core(int core, const char *file)
{
	char path[200];

	snprintf(path, sizeof(path), DRIVER "/%s/power/%s", cores[core], file);
	return number_in(path);
}

static void take(struct sample *s)
{
	for (int i = 0; i < RK_CORES; i++) {
		for (int k = 0; k < STATS; k++)
			s->stat[i][k] = rk_core_stat(i, stat_names[k]);
		for (int k = 0; k < MODELS; k++)
			s->model[i][k] = rk_count(i, model_counters[k]);
		s->from[i] = rk_now();
		s->active_ms[i] = of_core(i, "runtime_active_time");
		s->suspended_ms[i] = of_core(i, "runtime_suspended_time");
		s->to[i] = rk_now();
	}
	s->taken = rk_irqs_taken();
}

static long long meminfo(const char *key)
{
	FILE *f = fopen("/proc/meminfo", "re");
	size_t n = strlen(key);
	char line[128];
	long long v = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, n) && line[n] == ':')
			v = atoll(line + n + 1);
	if (f)
		fclose(f);
	return v;
}

/* Free pages that CPUs keep for themselves, as many as they like: none of what is available. */
static long long kept_kib(void)
{
	FILE *f = fopen("/proc/zoneinfo", "re");
	long long n, pages = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %lld", &n) == 1)
			pages += n;
	if (f)
		fclose(f);
	return pages * sysconf(_SC_PAGESIZE) / 1024;
}

/* Objects of the kernel's own sizes, which the driver's are among; exact after the caches were shrunk. */
static long long kmalloc_bytes(void)
{
	FILE *f = fopen("/proc/slabinfo", "re");
	char line[256], name[64];
	long long n, total, size, bytes = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %lld %lld %lld", name, &n, &total, &size) == 4 && !strncmp(name, "kmalloc-", 8))
			bytes += n * size;
	if (f)
		fclose(f);
	return bytes;
}

/* Without workers, which the kernel starts and ends as it likes. */
static long long processes(void)
{
	char path[300], name[32];
	DIR *d = opendir("/proc");
	struct dirent *e;
	long long n = 0;
	FILE *f;

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = isdigit(e->d_name[0]) ? fopen(path, "re") : NULL;
		n += f && fgets(name, sizeof(name), f) && strncmp(name, "kworker", 7);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return n;
}

static void rest(struct rest *r)
{
	glob_t g = { 0 };

	/* 4: without a line in the log. */
	put("/proc/sys/vm/drop_caches", "7");
	glob("/sys/kernel/slab/*/shrink", 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++)
		put(g.gl_pathv[i], "1");
	globfree(&g);
	r->available = meminfo("MemAvailable") + kept_kib();
	r->unreclaimable = meminfo("SUnreclaim");
	r->vmalloc = meminfo("VmallocUsed");
	r->kmalloc = kmalloc_bytes() / 1024;
	r->stacks = meminfo("KernelStack") + meminfo("PageTables") + meminfo("Percpu");
	r->processes = processes();
}

/* ---- clients ---- */

static void add_times(void)
{
	char key[32];

	for (int fd = 3; fd < 32; fd++)
		for (int i = 0; i < RK_CORES; i++) {
			long long ns;

			snprintf(key, sizeof(key), "drm-engine-npu%d", i);
			ns = rk_fdinfo(fd, key);
			if (ns > 0)
				shared->engine_ns[i] += ns;
		}
}

static int live_raw(unsigned int jobs)
{
	static int (*const run[])(struct rk_client *c) = { run_raw, run_chain, run_ext, run_ordered };
	struct rk_client c;
	int ret = rk_client_init(&c);

	for (unsigned int i = 0; i < jobs && !ret && !shared->stop; i++) {
		ret = run[below(NUM(run))](&c);
		shared->good[LIVE_RAW] += !ret;
	}
	add_times();
	if (c.fd >= 0)
		rk_client_fini(&c);
	return ret;
}

static int live_lib(unsigned int jobs)
{
	struct npu_dev *dev;
	int ret = npu_open(NULL, &dev);

	if (ret)
		return ret;
	for (unsigned int i = 0; i < jobs && !ret && !shared->stop; i++) {
		enum kind k = MATMUL_INT8 + below(3);

		ret = k == CONV ? run_conv(dev) : run_matmul(dev, k == MATMUL_FP16);
		shared->good[LIVE_LIB] += !ret;
	}
	add_times();
	npu_close(dev);
	return ret;
}

static int live_vendor(unsigned int jobs)
{
	struct rv_chain c;
	int fd = rv_open(), ret;

	if (fd < 0)
		return fd;
	ret = rv_chain_init(&c, fd, 1 + below(RV_MAX_CHAIN), 0, 0);
	for (unsigned int i = 0; i < jobs && !ret && !shared->stop; i++) {
		ret = rv_chain_run(&c, below(100));
		shared->good[LIVE_VENDOR] += !ret;
	}
	add_times();
	rv_chain_fini(&c);
	close(fd);
	return ret;
}

static pid_t start_client(int live, unsigned int jobs)
{
	uint64_t seed = (uint64_t)rnd() << 32 | rnd() | 1;
	pid_t pid = fork();
	int ret;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rng = seed;
	ret = live == LIVE_RAW ? live_raw(jobs) : live == LIVE_LIB ? live_lib(jobs) : live_vendor(jobs);
	if (ret == -EILSEQ)
		shared->wrong++;
	else if (ret)
		shared->failed++;
	_exit(0);
}

/* ---- what happens to the device ---- */

static void rebind(const char *core)
{
	put(DRIVER "/unbind", core);
	rk_sleep_ms(below(300));
	for (int i = 0; i < 100 && !put(DRIVER "/bind", core); i++)
		rk_sleep_ms(50);
}

static void force_power(int core, const char *how)
{
	char path[128];

	snprintf(path, sizeof(path), DRIVER "/%s/power/control", cores[core]);
	put(path, how);
}

/* To idle, until the RTC's alarm: what a CPU without firmware can do. The testbed's console would not come back. */
static void sleep_of_system(unsigned int seconds)
{
	char when[16];
	bool slept;

	snprintf(when, sizeof(when), "+%u", seconds);
	console(false);
	put(RTC, "0");
	slept = put(RTC, when) && put("/sys/power/state", "freeze");
	put(RTC, "0");
	console(true);
	if (slept)
		did.slept_s += seconds;
	else
		did.refused++;
}

/* ---- a round ---- */

static void tell(const char *fmt, ...)
{
	char text[250], line[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "soak: %s\n", text);
	put("/dev/kmsg", line);
}

static void expect(bool good, int round, const char *what, int core, long long is, long long should)
{
	did.checks++;
	if (good)
		return;
	did.bad++;
	tell("round %d: %s of core %d: %lld, not %lld", round, what, core, is, should);
}

/* The NPUs and IOMMUs that are not suspended, which it names. */
static int tell_awake(void)
{
	static const char *const devices[] = { "/sys/bus/platform/devices/*.npu", "/sys/bus/platform/devices/*.iommu" };
	char path[512], status[16];
	glob_t g = { 0 };
	int awake = 0;
	FILE *f;

	for (size_t i = 0; i < NUM(devices); i++)
		glob(devices[i], i ? GLOB_APPEND : 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		snprintf(path, sizeof(path), "%s/power/runtime_status", g.gl_pathv[i]);
		f = fopen(path, "re");
		if (f && fgets(status, sizeof(status), f) && strncmp(status, "suspended", 9)) {
			tell("%s is %.*s", g.gl_pathv[i], (int)strcspn(status, "\n"), status);
			awake++;
		}
		if (f)
			fclose(f);
	}
	globfree(&g);
	return awake;
}

/*
 * The kernel's power domains may stay on for good: a device that is on its way to sleep counts as awake for those that
 * go to sleep meanwhile, in its domain or in one below, and nobody looks again (genpd_power_off() up to 7.3 at least, by
 * reading). The next use of a core ends that.
 */
static bool went_to_sleep(int round)
{
	if (rk_wait_asleep(60000))
		return true;
	if (tell_awake())
		return false;
	tell("round %d: all devices sleep and a power domain is on", round);
	did.forgotten++;
	force_power(0, "on");
	force_power(0, "auto");
	return rk_wait_asleep(60000);
}

static void nothing_left(int round, const char *what)
{
	long long n = rk_stat(what);

	expect(!n, round, what, -1, n, 0);
}

/* Does that many milliseconds lie between the samples? */
static void expect_ms(int round, const char *what, int core, long long ms, const struct sample *a, const struct sample *b)
{
	long long least = (b->from[core] - a->to[core]) / RK_MS, most = (b->to[core] - a->from[core]) / RK_MS;

	expect(ms >= least - ROUNDING_MS, round, what, core, ms, least);
	expect(ms <= most + ROUNDING_MS, round, what, core, ms, most);
}

static void burst(enum event event)
{
	const unsigned int jobs = event == CALM ? 4 + below(20) : 1000000;
	pid_t pid[CLIENTS], victim = 0;
	int core = below(RK_CORES);

	shared->stop = false;
	if (event == HANG)
		rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, below(10), 1);
	for (int i = 0; i < CLIENTS; i++)
		pid[i] = start_client(i % LIVES, jobs);
	if (event == KILL)
		victim = start_client(below(LIVES), jobs);
	if (event != CALM)
		rk_sleep_ms(20 + below(200));
	switch (event) {
	case KILL:
		kill(victim, SIGKILL);
		waitpid(victim, NULL, 0);
		break;
	case REBIND:
		rebind(cores[core]);
		break;
	case POWER:
		force_power(core, "on");
		rk_sleep_ms(below(500));
		force_power(core, "auto");
		break;
	case SLEEP:
		sleep_of_system(60 + below(ROUND_S - 120));
		break;
	default:
		break;
	}
	if (event != CALM)
		rk_sleep_ms(50 + below(200));
	shared->stop = event != CALM;
	for (int i = 0; i < CLIENTS; i++)
		waitpid(pid[i], NULL, 0);
	if (event == HANG) {
		rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
		rk_scrub(true);
	}
	did.events[event]++;
}

/*
 * What the driver counts is what the model did. Binding a core again makes the device anew: its counters begin at 0, and
 * so do those of the core's runtime PM.
 */
static void check_burst(int round, enum event event, const struct sample *a, const struct sample *b)
{
#define D(k)	(b->stat[i][k] - a->stat[i][k])
#define M(k)	(b->model[i][k] - a->model[i][k])
	long long lines = 0;

	if (event == REBIND)
		return;
	for (int i = 0; i < RK_CORES; i++) {
		long long pm_ms = b->active_ms[i] - a->active_ms[i] + b->suspended_ms[i] - a->suspended_ms[i];
		long long own_ns = shared->engine_ns[i];

		/* A chain that hangs may have done some of its tasks, none of which count. */
		expect(D(TASKS) + D(SCRUBS) <= M(DONE), round, "tasks at most", i, D(TASKS) + D(SCRUBS), M(DONE));
		expect(D(TASKS) + D(SCRUBS) + (event == HANG ? CHAIN_TASKS : 0) >= M(DONE), round, "tasks at least", i,
		       D(TASKS) + D(SCRUBS), M(DONE));
		expect(D(IRQS) == M(LINE), round, "interrupts", i, D(IRQS), M(LINE));
		expect(D(READS) == M(MODEL_READS), round, "register reads", i, D(READS), M(MODEL_READS));
		expect(D(WRITES) == M(MODEL_WRITES), round, "register writes", i, D(WRITES), M(MODEL_WRITES));
		/* The first core's domain is on for the others, too, each one's for its IOMMU, and all of them after sleep. */
		expect(!i || event == SLEEP || D(POWER_UPS) >= M(POWER_ON), round, "power-ups", i, D(POWER_UPS), M(POWER_ON));
		expect(D(RESETS) <= M(RESET), round, "resets", i, D(RESETS), M(RESET));
		lines += M(LINE);
		/* System sleep and the recovery of a core disable runtime PM for a moment, which then counts nothing. */
		if (event != SLEEP && event != HANG)
			expect_ms(round, "runtime PM's milliseconds", i, pm_ms, a, b);
		if (event != CALM && event != POWER)
			continue;
		expect(own_ns + D(SCRUB_NS) >= M(BUSY_NS), round, "clients' nanoseconds at least", i,
		       own_ns + D(SCRUB_NS), M(BUSY_NS));
		expect(own_ns <= M(BUSY_NS) + D(TASKS) * TASK_NS, round, "clients' nanoseconds at most", i, own_ns,
		       M(BUSY_NS) + D(TASKS) * TASK_NS);
	}
	expect(b->taken - a->taken == (unsigned long)lines, round, "the kernel's interrupts", -1, b->taken - a->taken, lines);
}

/* Nothing has happened, and no time is lost. */
static void check_idle(int round, const struct sample *a, const struct sample *b)
{
	for (int i = 0; i < RK_CORES; i++) {
		for (int k = 0; k < STATS; k++)
			expect(!D(k), round, stat_names[k], i, D(k), 0);
		for (int k = 0; k < MODELS; k++)
			expect(!M(k), round, "the model's counter", i, k, -1);
		expect(b->active_ms[i] == a->active_ms[i], round, "active milliseconds while idle", i,
		       b->active_ms[i] - a->active_ms[i], 0);
		expect_ms(round, "suspended milliseconds while idle", i, b->suspended_ms[i] - a->suspended_ms[i], a, b);
	}
	expect(a->taken == b->taken, round, "interrupts while idle", -1, b->taken - a->taken, 0);
	nothing_left(round, "bos");
	nothing_left(round, "vms");
	nothing_left(round, "bo_bytes");
	nothing_left(round, "table_bytes");
}

/* Sums over the rounds of a cycle. */
static void add(struct rest *r, const struct rest *n)
{
	r->available += n->available;
	r->unreclaimable += n->unreclaimable;
	r->kmalloc += n->kmalloc;
	r->vmalloc += n->vmalloc;
	r->stacks += n->stacks;
	r->processes += n->processes;
}

static void grown(const char *what, long long first, long long last, long long limit)
{
	say("%-15s %lld KiB, then %lld\n", what, first / EVENTS, last / EVENTS);
	did.checks++;
	if (last - first > limit * EVENTS) {
		did.bad++;
		tell("%s grew from %lld to %lld KiB", what, first / EVENTS, last / EVENTS);
	}
}

static int64_t boottime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void one_round(int round, int64_t next, struct rest *r)
{
	enum event event = round % EVENTS;
	unsigned long failed = shared->failed;
	struct sample before, after, end;
	int64_t left;

	memset(shared->engine_ns, 0, sizeof(shared->engine_ns));
	take(&before);
	burst(event);
	expect(went_to_sleep(round), round, "power after a minute", -1, 1, 0);
	take(&after);
	check_burst(round, event, &before, &after);
	if (event != REBIND && event != HANG)
		expect(shared->failed == failed, round, "failed clients", -1, shared->failed - failed, 0);
	left = next - boottime();
	if (left > 0)
		rk_sleep_ms(left / RK_MS);
	take(&end);
	check_idle(round, &after, &end);
	rest(r);
}

static void report(int rounds, const struct rest *first, const struct rest *last)
{
	say("rounds          %d: %lu calm, %lu with a killed client, %lu rebinds, %lu hangs, %lu power states, %lu sleeps\n",
	    rounds, did.events[CALM], did.events[KILL], did.events[REBIND], did.events[HANG], did.events[POWER],
	    did.events[SLEEP]);
	say("asleep          %lu s, %lu refused\n", did.slept_s, did.refused);
	say("power domains   %lu times left on by the kernel\n", did.forgotten);
	say("raw             %lu good, %lu wrong\n", shared->good[LIVE_RAW], shared->wrong);
	say("libnpu          %lu good,\nvendor          %lu good,\n", shared->good[LIVE_LIB], shared->good[LIVE_VENDOR]);
	say("failed          %lu clients, of rebinds and hangs\n", shared->failed);
	if (rounds >= (FIRST_CYCLE + 2) * EVENTS) {
		grown("kmalloc", first->kmalloc, last->kmalloc, 64);
		grown("unreclaimable", first->unreclaimable, last->unreclaimable, 256);
		grown("vmalloc", first->vmalloc, last->vmalloc, 64);
		grown("stacks, tables", first->stacks, last->stacks, 256);
		/* The other way round: what is gone. */
		grown("not available", -first->available, -last->available, 1024);
		did.checks++;
		did.bad += last->processes > first->processes;
		say("processes       %lld, then %lld\n", first->processes / EVENTS, last->processes / EVENTS);
	} else {
		say("memory          not judged in fewer than %d rounds\n", (FIRST_CYCLE + 2) * EVENTS);
	}
	say("checks          %lu, %lu bad\n", did.checks, did.bad);
}

int main(int argc, char **argv)
{
	unsigned int minutes = argc > 1 ? atoi(argv[1]) : 1440;
	struct rest r, first = { 0 }, last = { 0 };
	int64_t start, end;
	int n;

	rng = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	rng = rng * 0x9e3779b97f4a7c15 + 1;
	signal(SIGPIPE, SIG_IGN);
	if (!rk_model() || !find_cores()) {
		fprintf(stderr, "needs the NPU model and three cores\n");
		return 1;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	rk_model_calm();
	rk_wait_asleep(60000);
	start = boottime();
	end = start + minutes * 60000ll * RK_MS;
	for (n = 0; boottime() < end; n++) {
		one_round(n, start + (n + 1ll) * ROUND_S * 1000 * RK_MS, &r);
		if (n % EVENTS == 0)
			memset(&last, 0, sizeof(last));
		if (n / EVENTS == FIRST_CYCLE)
			add(&first, &r);
		add(&last, &r);
		if (n % EVENTS == EVENTS - 1)
			tell("hour %lld: %lu raw, %lu libnpu, %lu vendor jobs, %lu rebinds, %lu sleeps, %lu checks, %lu bad, "
			     "%lld KiB available, %lld KiB kmalloc", (boottime() - start) / (3600000 * RK_MS),
			     shared->good[LIVE_RAW], shared->good[LIVE_LIB], shared->good[LIVE_VENDOR], did.events[REBIND],
			     did.events[SLEEP], did.checks, did.bad, r.available, r.kmalloc);
	}
	if (did.events[SLEEP]) {
		out = -1;
		find_output();
	}
	report(n, &first, &last);
	return did.bad || shared->wrong || did.refused || !shared->good[LIVE_RAW] || !shared->good[LIVE_LIB] ||
	       !shared->good[LIVE_VENDOR];
}
