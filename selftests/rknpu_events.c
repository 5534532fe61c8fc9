// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver's tracepoints: what a recording says of a job, of a failure, and of a core.
 *
 * boot: jobs
 * boot: noiommujob
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "rknpu_harness.h"

#define TRACING		"/sys/kernel/tracing/"
#define EVENTS		512
#define TAG		0x7a67000000000001ll
#define PROBE		"rknpu_test/irq_waited_for"
#define CLOSED		100

struct event {
	char name[24];
	char fields[160];
	char comm[24];
};

static struct event events[EVENTS];
static int nevents;

static bool parse(const char *line, struct event *e)
{
	const char *name = strstr(line, ": rknpu_");

	return name && sscanf(line, " %23[^-]", e->comm) == 1 &&
	       sscanf(name, ": %23[a-z_]: %159[^\n]", e->name, e->fields) == 2;
}

static int start_events(void)
{
	/* Opening it for that empties it. */
	FILE *f = fopen(TRACING "trace", "we");

	if (!f)
		return -errno;
	fclose(f);
	return rk_write_file(TRACING "events/rknpu/enable", "1");
}

/* How many there are, which are in @events then. */
static int stop_events(void)
{
	char line[512];
	FILE *f;

	rk_write_file(TRACING "events/rknpu/enable", "0");
	nevents = 0;
	f = fopen(TRACING "trace", "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f) && nevents < EVENTS)
		nevents += parse(line, &events[nevents]);
	fclose(f);
	return nevents;
}

/* The value of "key=", or -1. */
static long long field(const struct event *e, const char *key)
{
	char word[32];
	const char *at;

	snprintf(word, sizeof(word), "%s=", key);
	at = strstr(e->fields, word);
	return at ? strtoll(at + strlen(word), NULL, 0) : -1;
}

/* The first one at or after *@at; *@at is behind it then. */
static const struct event *next_event(int *at, const char *name)
{
	while (*at < nevents) {
		const struct event *e = &events[(*at)++];

		if (!strcmp(e->name, name))
			return e;
	}
	return NULL;
}

static const struct event *first_event(const char *name)
{
	int at = 0;

	return next_event(&at, name);
}

static int count_events(const char *name)
{
	int at = 0, n = 0;

	while (next_event(&at, name))
		n++;
	return n;
}

/* Lines that have @what in them. */
static int count_lines(const char *what)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, what);
	if (f)
		fclose(f);
	return n;
}

FIXTURE(events) {
	struct rk_client c;
};

FIXTURE_SETUP(events)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	ASSERT_EQ(0, rk_client_init_on(&self->c, fd));
	if (access(TRACING "events/rknpu/enable", W_OK))
		SKIP(return, "no tracefs, not root, or not our module");
}

FIXTURE_TEARDOWN(events)
{
	rk_write_file(TRACING "events/rknpu/enable", "0");
	rk_write_file(TRACING "events/" PROBE "/enable", "0");
	rk_write_file(TRACING "kprobe_events", "-:" PROBE "\n");
	rk_model_calm();
	rk_client_fini(&self->c);
}

RK_TEST_F(events, a_job_from_submit_to_fence, "a job's events name it, its client and its core, in order")
{
	static const char *const names[] = {
		"rknpu_job_submit", "rknpu_job_queue", "rknpu_job_start", "rknpu_task_done",
		"rknpu_job_stop", "rknpu_job_done",
	};
	long long client = rk_fdinfo(self->c.fd, "rknpu-client"), job;
	int at = 0;

	ASSERT_LT(0, client);
	ASSERT_EQ(0, start_events());
	ASSERT_EQ(0, rk_client_run(&self->c, 1));
	ASSERT_LT(0, stop_events());
	ASSERT_NE(NULL, first_event(names[0]));
	job = field(first_event(names[0]), "job");
	EXPECT_STREQ("rknpu_events", first_event(names[0])->comm);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct event *e = next_event(&at, names[i]);

		ASSERT_NE(NULL, e) TH_LOG("no %s in its place", names[i]);
		EXPECT_EQ(client, field(e, "client"));
		EXPECT_EQ(job, field(e, "job"));
		if (i)
			EXPECT_EQ(field(first_event("rknpu_job_queue"), "core"), field(e, "core"));
	}
	EXPECT_LT(0, field(first_event("rknpu_job_done"), "elapsed_ns"));
	EXPECT_EQ(0, field(first_event("rknpu_job_done"), "tag"));
	EXPECT_EQ(0, count_events("rknpu_job_fail"));
}

RK_TEST_F(events, tasks_are_counted, "each task of a job that the driver starts has an event, and its tag is told")
{
	struct rk_trial t;
	int at = 0;

	ASSERT_EQ(0, rk_trial_init(&t, 0, 0));
	t.job.tag = TAG;
	ASSERT_EQ(0, start_events());
	ASSERT_EQ(0, rk_trial_run(&t));
	ASSERT_LT(0, stop_events());
	EXPECT_EQ(TAG, field(first_event("rknpu_job_submit"), "tag"));
	EXPECT_EQ(TAG, field(first_event("rknpu_job_done"), "tag"));
	for (int i = 1; i <= RK_TRIAL_TASKS; i++) {
		const struct event *e = next_event(&at, "rknpu_task_done");

		ASSERT_NE(NULL, e);
		EXPECT_EQ(i, field(e, "task"));
	}
	EXPECT_EQ(RK_TRIAL_TASKS, count_events("rknpu_task_done"));
	rk_trial_fini(&t);
}

RK_TEST_F(events, attached_is_what_was_submitted, "the domain that is attached is that of the submit")
{
	const struct event *submit, *e;
	long long domain = -1;
	int at = 0;

	ASSERT_EQ(0, start_events());
	ASSERT_EQ(0, rk_client_run(&self->c, 1));
	ASSERT_LT(0, stop_events());
	submit = first_event("rknpu_job_submit");
	ASSERT_NE(NULL, submit);
	/* The last one: before it, if the core was somebody else's, its memories are overwritten. */
	while ((e = next_event(&at, "rknpu_attach")))
		domain = field(e, "domain");
	EXPECT_EQ(field(submit, "domain"), domain);
	EXPECT_EQ(0, field(first_event("rknpu_attach"), "error"));
}

/* To wait for a core's interrupt takes the locks that waking the core takes. */
RK_TEST_F(events, what_is_not_attached_waits_for_no_core,
	  "address spaces that no core has attached are closed without waiting for any")
{
	long long vms = rk_stat("vms");

	RK_REQUIRE_IOMMU();
	if (rk_write_file(TRACING "kprobe_events", "p:" PROBE " synchronize_irq\n"))
		SKIP(return, "no kprobes");
	ASSERT_EQ(0, start_events());
	ASSERT_EQ(0, rk_write_file(TRACING "events/" PROBE "/enable", "1"));
	for (int i = 0; i < CLOSED; i++) {
		int fd = rk_open();

		ASSERT_LE(0, fd);
		close(fd);
	}
	while (rk_stat("vms") > vms)
		rk_sleep_ms(1);
	EXPECT_GT(CLOSED, count_lines(": irq_waited_for: "));
}

RK_TEST_F(events, power_goes_off_and_on, "a core's power has an event each way")
{
	const struct event *e;
	int at = 0;

	ASSERT_EQ(0, start_events());
	ASSERT_EQ(0, rk_client_run(&self->c, 1));
	ASSERT_TRUE(rk_wait_asleep(10000));
	ASSERT_EQ(0, rk_client_run(&self->c, 2));
	ASSERT_LT(0, stop_events());
	/* Off after the first job, and on before the second. */
	ASSERT_NE(NULL, next_event(&at, "rknpu_job_done"));
	do {
		e = next_event(&at, "rknpu_power");
		ASSERT_NE(NULL, e);
	} while (field(e, "on"));
	do {
		e = next_event(&at, "rknpu_power");
		ASSERT_NE(NULL, e);
	} while (!field(e, "on"));
	EXPECT_NE(NULL, next_event(&at, "rknpu_job_start"));
}

RK_TEST_F(events, a_change_of_client_is_scrubbed,
	  "overwriting a core's memories for another client has an event")
{
	struct rk_client other;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_client_init(&other));
	ASSERT_EQ(0, start_events());
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, rk_client_run(&self->c, i));
		ASSERT_EQ(0, rk_client_run(&other, i));
	}
	ASSERT_LT(0, stop_events());
	ASSERT_NE(NULL, first_event("rknpu_scrub"));
	EXPECT_LT(0, field(first_event("rknpu_scrub"), "elapsed_ns"));
	rk_client_fini(&other);
}

RK_TEST_F(events, a_page_fault, "a page fault and the job that it ends name the same address")
{
	struct drm_rocket_task task;
	const struct event *fault, *fail;
	int at = 0;

	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rk_op_task(&self->c.inc, self->c.in.iova, 0xfff00000, &task));
	ASSERT_EQ(0, start_events());
	ASSERT_EQ(0, rk_submit_task(self->c.fd, &task, &self->c.in, &self->c.out));
	EXPECT_EQ(-EFAULT, rk_prep(&self->c.out, 10000));
	ASSERT_TRUE(rk_client_run(&self->c, 1) == 0);
	ASSERT_LT(0, stop_events());
	fault = next_event(&at, "rknpu_fault");
	ASSERT_NE(NULL, fault);
	fail = next_event(&at, "rknpu_job_fail");
	ASSERT_NE(NULL, fail);
	EXPECT_EQ(0xfff00000, field(fault, "iova"));
	EXPECT_EQ(1, field(fault, "write"));
	EXPECT_EQ(field(first_event("rknpu_job_submit"), "domain"), field(fault, "domain"));
	EXPECT_EQ(0xfff00000, field(fail, "iova"));
	EXPECT_NE(NULL, strstr(fail->fields, "cause=iommu-fault"));
	EXPECT_EQ(field(fault, "core"), field(fail, "core"));
}

RK_TEST_F(events, a_hang, "a hang has a job that fails with its cause and task, and a reset")
{
	const struct event *fail;
	struct rk_trial t;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_trial_init(&t, 0, 0));
	t.job.tag = TAG;
	rk_fault_arm(0, NPU_FAULT_HANG, 1, 1);
	ASSERT_EQ(0, start_events());
	ASSERT_EQ(0, rk_trial_run(&t));
	ASSERT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, t.w.cause);
	/* Which waits for the core. */
	ASSERT_EQ(0, rk_client_run(&self->c, 1));
	rk_trial_fini(&t);
	ASSERT_LT(0, stop_events());
	fail = first_event("rknpu_job_fail");
	ASSERT_NE(NULL, fail);
	EXPECT_NE(NULL, strstr(fail->fields, "cause=timeout-running"));
	EXPECT_EQ(1, field(fail, "task"));
	EXPECT_EQ(0, field(fail, "core"));
	EXPECT_EQ(TAG, field(fail, "tag"));
	ASSERT_NE(NULL, first_event("rknpu_reset"));
	EXPECT_EQ(0, field(first_event("rknpu_reset"), "error"));
}

RK_HARNESS_MAIN
