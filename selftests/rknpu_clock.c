// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compute clock follows load, requests and heat, on a device tree with operating
 * points; and what fdinfo counts of it. Times are compared with RKNPU_ICOUNT alone: then
 * the guest's nanoseconds are instructions (tools/testbed/bin/run --icount).
 *
 * Operating points, and a sensor whose temperature tests choose.
 * boot: clock TEST_LIMIT=600 ENV=RKNPU_ICOUNT=1 --icount --dt vendor --module rockchip_thermal --module ours
 * boot: debug-node
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_harness.h"

#define FREQ		"/proc/rknpu/freq"
#define VOLT		"/proc/rknpu/volt"
#define DEVFREQ		"/sys/class/devfreq/fdab0000.npu/"
#define TRACING		"/sys/kernel/tracing/"
#define ENABLE(event)	TRACING "events/" event "/enable"
#define PARKED_HZ	200000000ul
#define MAX_RATES	32
#define MAX_EVENTS	4096
#define TASK_US		10000
#define LOAD_MS		1000
/* In that time, at least. */
#define LOOKS		(rk_slow() > 1 ? 3 : 10)
/* Of a job whose cycles are counted. */
#define COUNTED_MS	(rk_slow() > 1 ? 500 : 100)
#define PATIENCE_MS	10000
/* How often the rate is asked for, and how long what firmware has told is told to others. */
#define ASKED		1000
#define ASK_AGAIN_MS	50
#define MHZ		1000000
/* Cycles that rounding may make of it. */
#define SLACK		4000

static int read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	while ((got = read(fd, text + n, size - 1 - n)) > 0)
		n += got;
	close(fd);
	text[n] = '\0';
	return 0;
}

static unsigned long number(const char *path)
{
	char text[64];

	return read_file(path, text, sizeof(text)) ? ~0ul : strtoul(text, NULL, 10);
}

static int write_number(const char *path, unsigned long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu\n", value);
	return rk_write_file(path, text);
}

static bool becomes(const char *path, unsigned long value)
{
	int64_t end = rk_now() + PATIENCE_MS * RK_MS * rk_slow();

	while (number(path) != value && rk_now() < end)
		rk_sleep_ms(5);
	return number(path) == value;
}

/* ---- what happened, as the tracepoints tell it ---- */

enum what { CLOCK, START, STOP, LOOK, FIRMWARE };

struct event {
	enum what what;
	double ms;
	unsigned long hz;
};

struct record {
	struct event event[MAX_EVENTS];
	int n;
};

static void tracing(bool on)
{
	rk_write_file(ENABLE("rknpu/rknpu_clock"), on ? "1" : "0");
	rk_write_file(ENABLE("rknpu/rknpu_job_start"), on ? "1" : "0");
	rk_write_file(ENABLE("rknpu/rknpu_job_stop"), on ? "1" : "0");
	rk_write_file(ENABLE("devfreq/devfreq_monitor"), on ? "1" : "0");
	rk_write_file(ENABLE("scmi/scmi_xfer_begin"), on ? "1" : "0");
}

static void begin_record(void)
{
	int fd = open(TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	tracing(true);
}

static bool parse(const char *line, struct event *e)
{
	static const char * const names[] = {
		[CLOCK] = ": rknpu_clock: hz=", [START] = ": rknpu_job_start: ",
		[STOP] = ": rknpu_job_stop: ", [LOOK] = ": devfreq_monitor: ",
		[FIRMWARE] = ": scmi_xfer_begin: ",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *p = strstr(line, names[i]), *time = p;

		if (!p)
			continue;
		while (time > line && time[-1] != ' ')
			time--;
		e->what = i;
		e->ms = strtod(time, NULL) * 1000;
		e->hz = i == CLOCK ? strtoul(p + strlen(names[i]), NULL, 10) : 0;
		return true;
	}
	return false;
}

static void take_record(struct record *r)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[512];

	r->n = 0;
	if (!f)
		return;
	while (r->n < MAX_EVENTS && fgets(line, sizeof(line), f))
		r->n += parse(line, &r->event[r->n]);
	fclose(f);
}

/* The first one from @from on, or NULL. */
static const struct event *find(const struct record *r, int from, enum what what, unsigned long hz)
{
	for (int i = from; i < r->n; i++)
		if (r->event[i].what == what && (!hz || r->event[i].hz == hz))
			return &r->event[i];
	return NULL;
}

static const struct event *find_last(const struct record *r, enum what what)
{
	for (int i = r->n - 1; i >= 0; i--)
		if (r->event[i].what == what)
			return &r->event[i];
	return NULL;
}

static int count(const struct record *r, enum what what)
{
	int n = 0;

	for (int i = 0; i < r->n; i++)
		n += r->event[i].what == what;
	return n;
}

/* What the clock was last set to before @e. */
static unsigned long rate_at(const struct record *r, const struct event *e)
{
	unsigned long hz = 0;

	for (const struct event *p = r->event; p < e; p++)
		if (p->what == CLOCK)
			hz = p->hz;
	return hz;
}

/* ---- load ---- */

FIXTURE(clock) {
	struct rk_client c;
	struct record *r;
	unsigned long rates[MAX_RATES];
	int count;
	unsigned long low, high;
};

static int load_for(struct rk_client *c, unsigned int ms)
{
	int64_t end = rk_now() + ms * RK_MS;
	int ret = 0;

	for (int i = 0; !ret && rk_now() < end; i++)
		ret = rk_client_run(c, i % 100);
	return ret;
}

struct loader {
	struct rk_client *c;
	volatile bool stop;
	pthread_t thread;
	unsigned long jobs;
	int ret;
};

static void *keep_loading(void *arg)
{
	struct loader *l = arg;

	while (!l->stop && !l->ret) {
		l->ret = rk_client_run(l->c, l->jobs % 100);
		l->jobs++;
	}
	return NULL;
}

static int start_load(struct loader *l, struct rk_client *c)
{
	*l = (struct loader){ .c = c };
	return -pthread_create(&l->thread, NULL, keep_loading, l);
}

static int stop_load(struct loader *l)
{
	l->stop = true;
	pthread_join(l->thread, NULL);
	return l->ret;
}

FIXTURE_SETUP(clock)
{
	char text[1024], *p, *end;
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	RK_REQUIRE_MODEL();
	if (geteuid() || access(DEVFREQ, F_OK) || access(FREQ, F_OK))
		SKIP(return, "no devfreq device, no file to write a rate to, or this is not root");
	ASSERT_EQ(0, read_file(DEVFREQ "available_frequencies", text, sizeof(text)));
	for (p = text; self->count < MAX_RATES; p = end) {
		self->rates[self->count] = strtoul(p, &end, 10);
		if (end == p)
			break;
		self->count++;
	}
	if (self->count < 3)
		SKIP(return, "the device tree has no operating points");
	self->low = self->rates[0];
	self->high = self->rates[self->count - 1];
	self->r = calloc(1, sizeof(*self->r));
	ASSERT_NE(NULL, self->r);
	ASSERT_EQ(0, rk_client_init(&self->c));
	ASSERT_EQ(0, rk_client_run(&self->c, 1));
	rk_latency_us(TASK_US);
	ASSERT_EQ(0, rk_write_file(DEVFREQ "governor", "rknpu_ondemand\n"));
	ASSERT_EQ(0, write_number(FREQ, 0));
}

FIXTURE_TEARDOWN(clock)
{
	tracing(false);
	rk_model_calm();
	rk_stay_awake(false);
	if (!self->r)
		return;
	rk_ctl_write(NPU_CTL_TEMPERATURE, 45000);
	write_number(DEVFREQ "max_freq", self->high);
	rk_write_file(DEVFREQ "governor", "rknpu_ondemand\n");
	write_number(FREQ, 0);
	free(self->r);
	if (self->c.fd > 0)
		rk_client_fini(&self->c);
}

RK_TEST_F(clock, is_the_default, "the clock follows load without anybody asking for it")
{
	char text[64];

	ASSERT_EQ(0, rk_rebind(0));
	ASSERT_EQ(0, read_file(DEVFREQ "governor", text, sizeof(text)));
	EXPECT_EQ(0, strcmp(text, "rknpu_ondemand\n"));
	rk_client_fini(&self->c);
	ASSERT_EQ(0, rk_client_init(&self->c));
	begin_record();
	ASSERT_EQ(0, load_for(&self->c, 100));
	take_record(self->r);
	EXPECT_NE(NULL, find(self->r, 0, CLOCK, self->high));
}

/* Up within 100 ms of the first job, there until the last one, and down within a second. */
static void check_load(struct __test_metadata *_metadata, const struct record *r,
		       unsigned long high, unsigned long low)
{
	const struct event *first = find(r, 0, START, 0), *last = find_last(r, STOP);
	const struct event *up = find(r, 0, CLOCK, high), *down;

	ASSERT_NE(NULL, first);
	ASSERT_NE(NULL, last);
	ASSERT_NE(NULL, up);
	/* There the client leaves the cores idle between two jobs, so the rate is right to fall. */
	if (rk_slow() > 1)
		return;
	EXPECT_EQ(high, rate_at(r, last));
	down = find(r, last - r->event, CLOCK, low);
	ASSERT_NE(NULL, down);
	if (!getenv("RKNPU_ICOUNT"))
		return;
	TH_LOG("up %.3f ms after the first job, down %.3f ms after the last one",
	       up->ms - first->ms, down->ms - last->ms);
	EXPECT_LT(900, last->ms - first->ms);
	EXPECT_GT(100, up->ms - first->ms);
	EXPECT_GT(1000, down->ms - last->ms);
}

RK_TEST_F(clock, asking_keeps_firmware_free,
	  "whoever asks for the rate over and over has firmware tell it now and then only")
{
	double ms;

	if (access(ENABLE("scmi/scmi_xfer_begin"), F_OK))
		SKIP(return, "the kernel does not trace calls of firmware");
	rk_stay_awake(true);
	ASSERT_TRUE(becomes(DEVFREQ "cur_freq", self->low));
	begin_record();
	ms = -rk_now() / (double)RK_MS;
	for (int i = 0; i < ASKED; i++)
		EXPECT_EQ(self->low, number(DEVFREQ "cur_freq"));
	ms += rk_now() / (double)RK_MS;
	take_record(self->r);
	TH_LOG("%d calls of firmware in %.0f ms", count(self->r, FIRMWARE), ms);
	EXPECT_GE(ms / ASK_AGAIN_MS + 2, count(self->r, FIRMWARE));
}

/* Reads of the voltage of any supply, since the probe was made. */
static unsigned long voltage_reads(void)
{
	char text[4096], *p;

	if (read_file(TRACING "kprobe_profile", text, sizeof(text)))
		return ~0ul;
	p = strstr(text, "rknpu_voltage");
	return p ? strtoul(p + strlen("rknpu_voltage"), NULL, 10) : ~0ul;
}

RK_TEST_F(clock, asking_keeps_supply_free,
	  "whoever asks for the voltage over and over has the supply tell it now and then only")
{
	unsigned long uv, reads;
	double ms;

	if (rk_write_file(TRACING "kprobe_events", "p:rknpu_voltage regulator_get_voltage\n"))
		SKIP(return, "the kernel has no probes");
	EXPECT_EQ(0, rk_write_file(ENABLE("kprobes/rknpu_voltage"), "1"));
	uv = number(VOLT);
	EXPECT_NE(0, uv);
	reads = voltage_reads();
	ms = -rk_now() / (double)RK_MS;
	for (int i = 0; i < ASKED; i++)
		EXPECT_EQ(uv, number(VOLT));
	ms += rk_now() / (double)RK_MS;
	reads = voltage_reads() - reads;
	rk_write_file(ENABLE("kprobes/rknpu_voltage"), "0");
	EXPECT_EQ(0, rk_write_file(TRACING "kprobe_events", "-:rknpu_voltage\n"));
	TH_LOG("%lu reads of a supply in %.0f ms", reads, ms);
	EXPECT_GE(ms / ASK_AGAIN_MS + 2, reads);
}

RK_TEST_F_TIMEOUT(clock, follows_load_awake, 120,
		  "cores that are awake: up at once with a load, down after it")
{
	rk_stay_awake(true);
	ASSERT_TRUE(becomes(DEVFREQ "cur_freq", self->low));
	begin_record();
	ASSERT_EQ(0, load_for(&self->c, LOAD_MS));
	EXPECT_TRUE(becomes(DEVFREQ "cur_freq", self->low));
	take_record(self->r);
	check_load(_metadata, self->r, self->high, self->low);
	EXPECT_LE(LOOKS, count(self->r, LOOK));
	EXPECT_GE(8, count(self->r, CLOCK));
}

RK_TEST_F_TIMEOUT(clock, follows_load_asleep, 120,
		  "cores that sleep: they wake up at the highest rate, and nobody looks at them when they sleep again")
{
	long long power_ups;

	rk_stay_awake(false);
	ASSERT_TRUE(rk_wait_asleep(PATIENCE_MS));
	EXPECT_EQ(self->low, number(DEVFREQ "cur_freq"));
	begin_record();
	ASSERT_EQ(0, load_for(&self->c, LOAD_MS));
	ASSERT_TRUE(rk_wait_asleep(PATIENCE_MS));
	EXPECT_EQ(self->low, number(DEVFREQ "cur_freq"));
	take_record(self->r);
	check_load(_metadata, self->r, self->high, PARKED_HZ);
	EXPECT_EQ(self->high, rate_at(self->r, find(self->r, 0, START, 0)));
	EXPECT_LE(LOOKS, count(self->r, LOOK));

	power_ups = rk_cores_stat("power_ups");
	begin_record();
	rk_sleep_ms(500);
	take_record(self->r);
	EXPECT_EQ(0, count(self->r, LOOK));
	EXPECT_EQ(0, count(self->r, CLOCK));
	EXPECT_EQ(power_ups, rk_cores_stat("power_ups"));
}

RK_TEST_F_TIMEOUT(clock, fits_the_load, 120, "a load that leaves the cores idle most of the time does not keep the rate up")
{
	rk_stay_awake(true);
	rk_latency_us(1000);
	for (int i = 0; i < 100; i++) {
		ASSERT_EQ(0, rk_client_run(&self->c, i));
		rk_sleep_ms(10);
	}
	/* There a job takes as long as the pause after it. */
	if (rk_slow() == 1)
		EXPECT_GE(self->rates[self->count / 2], number(DEVFREQ "cur_freq"));
	begin_record();
	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(0, rk_client_run(&self->c, i));
		rk_sleep_ms(10);
	}
	take_record(self->r);
	/* A job in each look is no start after idle. */
	if (getenv("RKNPU_ICOUNT")) {
		EXPECT_EQ(NULL, find(self->r, 0, CLOCK, self->high));
	}
}

RK_TEST_F_TIMEOUT(clock, request_wins, 120, "a rate that was asked for stays with and without load, until 0 is asked for")
{
	unsigned long middle = self->rates[self->count / 2];

	rk_stay_awake(true);
	ASSERT_EQ(0, write_number(FREQ, middle));
	EXPECT_EQ(middle, number(DEVFREQ "cur_freq"));
	begin_record();
	ASSERT_EQ(0, load_for(&self->c, 300));
	rk_sleep_ms(300);
	take_record(self->r);
	EXPECT_EQ(0, count(self->r, CLOCK));
	EXPECT_EQ(middle, number(DEVFREQ "cur_freq"));

	ASSERT_EQ(0, write_number(FREQ, 0));
	ASSERT_TRUE(becomes(DEVFREQ "cur_freq", self->low));
	begin_record();
	ASSERT_EQ(0, load_for(&self->c, 300));
	take_record(self->r);
	EXPECT_NE(NULL, find(self->r, 0, CLOCK, self->high));
}

RK_TEST_F_TIMEOUT(clock, limits_count, 120, "a limit counts for a load, also one that was set while cores slept")
{
	unsigned long middle = self->rates[self->count / 2];

	rk_stay_awake(false);
	ASSERT_TRUE(rk_wait_asleep(PATIENCE_MS));
	ASSERT_EQ(0, write_number(DEVFREQ "max_freq", middle));
	begin_record();
	ASSERT_EQ(0, load_for(&self->c, 300));
	take_record(self->r);
	EXPECT_NE(NULL, find(self->r, 0, CLOCK, middle));
	EXPECT_EQ(NULL, find(self->r, 0, CLOCK, self->high));
	ASSERT_TRUE(rk_wait_asleep(PATIENCE_MS));
	ASSERT_EQ(0, write_number(DEVFREQ "max_freq", self->high));
	begin_record();
	ASSERT_EQ(0, load_for(&self->c, 100));
	take_record(self->r);
	EXPECT_EQ(self->high, rate_at(self->r, find(self->r, 0, START, 0)));
}

/* The path of a file in the directory below /sys/class/thermal whose "type" it is. */
static bool find_thermal(const char *kind, const char *type, char *path, size_t size)
{
	char text[64], pattern[64];
	bool found = false;
	glob_t g;

	snprintf(pattern, sizeof(pattern), "/sys/class/thermal/%s*/type", kind);
	if (glob(pattern, 0, NULL, &g))
		return false;
	for (size_t i = 0; !found && i < g.gl_pathc; i++) {
		found = !read_file(g.gl_pathv[i], text, sizeof(text)) &&
			!strncmp(text, type, strlen(type));
		if (found)
			snprintf(path, size, "%.*s", (int)(strlen(g.gl_pathv[i]) - 4), g.gl_pathv[i]);
	}
	globfree(&g);
	return found;
}

RK_TEST_F_TIMEOUT(clock, heat_limits, 240, "a thermal zone that trips lowers the rate under load, and no job fails; it rises when it has cooled down")
{
	char zone[128], cooler[128], state[160];
	unsigned long hot;
	struct loader l;
	int mc = 90000;

	if (!find_thermal("thermal_zone", "npu-thermal", zone, sizeof(zone)))
		SKIP(return, "no thermal zone, or no driver of its sensor (rockchip_thermal)");
	ASSERT_TRUE(find_thermal("cooling_device", "devfreq-fdab0000.npu", cooler, sizeof(cooler)));
	snprintf(state, sizeof(state), "%scur_state", cooler);
	ASSERT_EQ(0, number(state));
	ASSERT_EQ(0, start_load(&l, &self->c));
	EXPECT_TRUE(becomes(DEVFREQ "cur_freq", self->high));

	/* Warmer and warmer, below what is critical. */
	while (number(DEVFREQ "cur_freq") > self->rates[self->count / 2] && mc < 112000) {
		rk_ctl_write(NPU_CTL_TEMPERATURE, mc += 500);
		rk_sleep_ms(120);
	}
	hot = number(DEVFREQ "cur_freq");
	TH_LOG("%d mC: %lu Hz, state %lu", mc, hot, number(state));
	EXPECT_GE(self->rates[self->count / 2], hot);
	EXPECT_LT(0, number(state));
	/* Nor does a request get through. */
	EXPECT_EQ(0, write_number(FREQ, self->high));
	EXPECT_EQ(hot, number(DEVFREQ "cur_freq"));
	EXPECT_EQ(0, write_number(FREQ, 0));

	for (int i = 0; number(state) && i < 100; i++) {
		rk_ctl_write(NPU_CTL_TEMPERATURE, mc > 46000 ? mc -= 1000 : mc);
		rk_sleep_ms(120);
	}
	EXPECT_EQ(0, number(state));
	EXPECT_TRUE(becomes(DEVFREQ "cur_freq", self->high));
	EXPECT_EQ(0, stop_load(&l));
	EXPECT_LT(20, l.jobs);
}

/* Both of core 0, from one look; -1 if they are not there. */
static void read_counters(int fd, long long *ns, long long *cycles)
{
	char path[64], text[4096], *p;

	*ns = *cycles = -1;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (read_file(path, text, sizeof(text)))
		return;
	p = strstr(text, "drm-engine-npu0:");
	if (p)
		*ns = strtoll(p + 16, NULL, 10);
	p = strstr(text, "drm-cycles-npu0:");
	if (p)
		*cycles = strtoll(p + 16, NULL, 10);
}

/* 0, or 1 when cycles are other than the time at @hz to within a few. */
static int differs(long long ns, long long cycles, unsigned long hz)
{
	/* Operating points are of whole MHz. */
	long long expected = ns * (long long)(hz / MHZ) / 1000;

	return cycles < expected - 4 || cycles > expected + 4;
}

RK_TEST_F_TIMEOUT(clock, counts_cycles, 120, "fdinfo counts cycles at the rate that there was, over its changes within a job")
{
	long long ns[3], cycles[3], last = 0;
	struct rk_trial t;

	ASSERT_EQ(0, write_number(FREQ, self->low));
	rk_stay_awake(true);
	ASSERT_EQ(0, rk_trial_init(&t, 0, 5000));
	rk_latency_us(COUNTED_MS * 1000);
	read_counters(t.c.fd, &ns[0], &cycles[0]);
	EXPECT_EQ(0, ns[0]);
	EXPECT_EQ(0, cycles[0]);
	/* Three tasks. */
	ASSERT_EQ(0, rk_trial_submit(&t));
	do
		read_counters(t.c.fd, &ns[0], &cycles[0]);
	while (ns[0] < COUNTED_MS * RK_MS);
	EXPECT_EQ(0, differs(ns[0], cycles[0], self->low)) TH_LOG("%lld ns %lld", ns[0], cycles[0]);
	ASSERT_EQ(0, write_number(FREQ, self->high));
	read_counters(t.c.fd, &ns[1], &cycles[1]);
	EXPECT_LT(ns[0], ns[1]);
	/* Not what came before at the rate that came after. */
	EXPECT_GE((ns[1] - ns[0]) / 1000 * (long long)(self->high / MHZ) + SLACK,
		  cycles[1] - cycles[0]);
	EXPECT_LE((ns[1] - ns[0]) / 1000 * (long long)(self->low / MHZ), cycles[1] - cycles[0] + SLACK);
	EXPECT_GT(3 * COUNTED_MS * RK_MS, ns[1]);
	do {
		read_counters(t.c.fd, &ns[2], &cycles[2]);
		EXPECT_LE(last, cycles[2]);
		last = cycles[2];
	} while (ns[2] < (3 * COUNTED_MS - 10) * RK_MS);
	EXPECT_EQ(0, differs(ns[2] - ns[1], cycles[2] - cycles[1], self->high))
		TH_LOG("%lld ns %lld", ns[2] - ns[1], cycles[2] - cycles[1]);
	ASSERT_EQ(0, rk_wait_job(t.c.fd, t.id, RK_FOREVER, &t.w));
	read_counters(t.c.fd, &ns[2], &cycles[2]);
	EXPECT_LE(last, cycles[2]);
	EXPECT_EQ(0, differs(ns[2] - ns[1], cycles[2] - cycles[1], self->high))
		TH_LOG("%lld ns %lld", ns[2] - ns[1], cycles[2] - cycles[1]);
	/* Asleep the clock is parked, and that counts for nobody. */
	rk_stay_awake(false);
	ASSERT_TRUE(rk_wait_asleep(PATIENCE_MS));
	read_counters(t.c.fd, &ns[1], &cycles[1]);
	EXPECT_EQ(ns[2], ns[1]);
	EXPECT_EQ(cycles[2], cycles[1]);
	rk_trial_fini(&t);
}

RK_TEST_F_TIMEOUT(clock, goes_while_it_polls, 240, "the device goes and comes back while its load is looked at, hot or not")
{
	for (int i = 0; i < 6; i++) {
		ASSERT_EQ(0, load_for(&self->c, 60));
		rk_ctl_write(NPU_CTL_TEMPERATURE, i % 2 ? 95000 : 45000);
		ASSERT_EQ(0, rk_write_file(DEVFREQ "governor",
					   i % 3 ? "rknpu_ondemand\n" : "simple_ondemand\n"));
		rk_client_fini(&self->c);
		ASSERT_EQ(0, rk_rebind(0));
		ASSERT_EQ(0, rk_client_init(&self->c));
		rk_latency_us(TASK_US);
	}
	rk_ctl_write(NPU_CTL_TEMPERATURE, 45000);
	ASSERT_EQ(0, load_for(&self->c, 60));
}

RK_HARNESS_MAIN
