// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a job's interrupt to the next one's start: what the kernel does there, as
 * its own tracing shows, and what 1,000 chained jobs cost.
 *
 * boot: sched
 * boot: irqtime
 * boot: irqlong
 * boot: noiommujob
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rknpu_harness.h"

#define JOBS		1000
#define SUBMITS		32
#define TRACING		"/sys/kernel/tracing/"
/* TRACE_FLAG_HARDIRQ */
#define IN_HARDIRQ	"common_flags & 8"

static const char *const allocations[] = {
	"kmem/kmalloc", "kmem/kmem_cache_alloc", "kmem/mm_page_alloc",
};

static int put(const char *file, const char *text)
{
	char path[160];
	int fd, ret;

	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int put_event(const char *event, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "events/%s/%s", event, file);
	return put(path, text);
}

/* @filter: of all events but works. */
static int trace_events(const char *filter)
{
	int ret = put("tracing_on", "0");

	for (size_t i = 0; i < ARRAY_SIZE(allocations) && !ret; i++) {
		ret = put_event(allocations[i], "filter", filter);
		if (!ret)
			ret = put_event(allocations[i], "enable", "1");
	}
	if (!ret)
		ret = put_event("irq/irq_handler_entry", "filter", filter);
	if (!ret)
		ret = put_event("irq/irq_handler_entry", "enable", "1");
	if (!ret)
		ret = put_event("workqueue/workqueue_execute_start", "enable", "1");
	if (!ret)
		ret = put("trace", "");
	return ret ? ret : put("tracing_on", "1");
}

static void trace_nothing(void)
{
	put("tracing_on", "0");
	put("events/enable", "0");
	for (size_t i = 0; i < ARRAY_SIZE(allocations); i++)
		put_event(allocations[i], "filter", "0");
	put_event("irq/irq_handler_entry", "filter", "0");
	put("trace", "");
	put("tracing_on", "1");
}

struct seen {
	int allocations;
	/* Of them. */
	char first[1024];
	int irqs;
	int works;
};

static void look_at(const char *line, struct seen *s)
{
	bool allocation = strstr(line, ": kmalloc: ") || strstr(line, ": kmem_cache_alloc: ") ||
			  strstr(line, ": mm_page_alloc: ");

	if (allocation && !s->allocations)
		snprintf(s->first, sizeof(s->first), "%.*s", (int)sizeof(s->first) - 1, line);
	s->allocations += allocation;
	s->irqs += strstr(line, ": irq_handler_entry: ") && strstr(line, ".npu");
	s->works += strstr(line, ": workqueue_execute_start: ") &&
		    (strstr(line, "rknpu_end_work") || strstr(line, "rknpu_recover_work"));
}

static int read_trace(struct seen *s)
{
	static char line[1024];
	FILE *f;

	memset(s, 0, sizeof(*s));
	put("tracing_on", "0");
	f = fopen(TRACING "trace", "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		look_at(line, s);
	fclose(f);
	return 0;
}

FIXTURE(hotpath) {
	struct rk_client c;
	struct drm_rocket_job jobs[JOBS];
	struct drm_rocket_task t[4];
};

FIXTURE_SETUP(hotpath)
{
	int fd;

	self->c.fd = 0;
	RK_OPEN_OR_SKIP(fd);
	close(fd);
	if (!rk_ours())
		SKIP(return, "our module's ways");
	ASSERT_EQ(0, rk_client_init(&self->c));
	/* Powers a core up and attaches. */
	ASSERT_EQ(0, rk_client_run(&self->c, 1));
	for (int i = 0; i < 4; i++) {
		/* Behind the one that has just run. */
		ASSERT_EQ(0, rk_op_task(&self->c.inc, self->c.in.iova, self->c.out.iova,
					&self->t[i]));
		if (i)
			rk_chain(&self->c.inc, &self->t[i - 1], &self->t[i]);
	}
	ASSERT_EQ(0, rk_fini(&self->c.inc.bo));
}

FIXTURE_TEARDOWN(hotpath)
{
	rk_model_calm();
	if (self->c.fd > 0)
		rk_client_fini(&self->c);
}

/* All write one BO, so they run one after the other, the first of them when all are queued. */
static int run_all(FIXTURE_DATA(hotpath) *h, uint32_t tasks, uint32_t flags)
{
	struct rk_client *c = &h->c;
	struct drm_rocket_task plug;
	int ret;

	for (int i = 0; i < JOBS; i++) {
		rk_job(&h->jobs[i], h->t, tasks, &c->in.handle, 1, &c->out.handle, 1);
		h->jobs[i].flags = flags;
	}
	ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &plug);
	rk_latency_us(200000);
	if (!ret)
		ret = rk_submit_task(c->fd, &plug, &c->in, &c->out);
	rk_sleep_ms(50);
	rk_latency_us(0);
	if (!ret)
		ret = rk_submit(c->fd, h->jobs, JOBS);
	return ret ? ret : rk_prep(&c->out, 60000);
}

RK_TEST_F_TIMEOUT(hotpath, no_allocation_and_no_work_per_job, 120,
		  "the next job is started in the interrupt, without an allocation or a worker")
{
	struct seen s;
	int ret;

	if (access(TRACING "events/kmem/kmalloc/filter", W_OK))
		SKIP(return, "no tracefs, or not root");
	/* First everywhere: queueing does allocate, and that is seen. */
	ASSERT_EQ(0, trace_events("0"));
	ret = run_all(self, 1, 0);
	read_trace(&s);
	trace_nothing();
	ASSERT_EQ(0, ret);
	EXPECT_LT(JOBS / 2, s.allocations);

	/* Then in the interrupt only, which starts all of them. */
	ASSERT_EQ(0, trace_events(IN_HARDIRQ));
	ret = run_all(self, 1, 0);
	read_trace(&s);
	trace_nothing();
	ASSERT_EQ(0, ret);
	EXPECT_LE(JOBS, s.irqs);
	EXPECT_EQ(0, s.allocations) TH_LOG("%s", s.first);
	/* What starts jobs otherwise: a core that was asleep, or had another address space. */
	EXPECT_GE(10, s.works);
}

/* All that the caller allocates; it may be charged to a page or two as well. */
static int trace_allocations_of_caller(void)
{
	char filter[64];

	snprintf(filter, sizeof(filter), "common_pid == %d", (int)syscall(SYS_gettid));
	return trace_events(filter);
}

/* @n SUBMITs of a job with a task and a BO each, which find the memory of those before freed. */
static int submit_singly(FIXTURE_DATA(hotpath) *h, int n)
{
	struct rk_client *c = &h->c;
	int ret = 0;

	for (int i = 0; i < n && !ret; i++) {
		rk_job(&h->jobs[0], h->t, 1, NULL, 0, &c->out.handle, 1);
		ret = rk_submit(c->fd, h->jobs, 1);
	}
	return ret;
}

RK_TEST_F_TIMEOUT(hotpath, allocations_of_a_submit, 120,
		  "a submit of one job with one BO allocates at most three times")
{
	struct seen s;
	int ret;

	if (access(TRACING "events/kmem/kmalloc/filter", W_OK))
		SKIP(return, "no tracefs, or not root");
	/* Lists of the BO's fences have grown. */
	ASSERT_EQ(0, submit_singly(self, SUBMITS));
	ASSERT_EQ(0, rk_prep(&self->c.out, 60000));

	ASSERT_EQ(0, trace_allocations_of_caller());
	ret = submit_singly(self, SUBMITS);
	read_trace(&s);
	trace_nothing();
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, rk_prep(&self->c.out, 60000));
	EXPECT_LE(SUBMITS, s.allocations);
	EXPECT_GE(3 * SUBMITS, s.allocations) TH_LOG("%s", s.first);
	fprintf(stderr, "# %d submits, %d allocations\n", SUBMITS, s.allocations);
}

RK_TEST_F_TIMEOUT(hotpath, chained_jobs, 120,
		  "a chain of four tasks costs one kick and one interrupt")
{
	unsigned long irqs;
	int tries = 0;

	RK_REQUIRE_MODEL();
	/* Where the guest stood still, the power went between two jobs, or a job had not started when that was checked. */
	do {
		rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
		irqs = rk_irqs_taken();
		ASSERT_EQ(0, run_all(self, 4, DRM_ROCKET_JOB_BATCHED));
		irqs = rk_irqs_taken() - irqs;
	} while ((rk_count_all(NPU_CNT_POWER_ON) || rk_count_all(NPU_CNT_RESET)) && ++tries < 20);
	EXPECT_EQ(4 * JOBS + 1, rk_count_all(NPU_CNT_TASK_DONE));
	EXPECT_EQ(JOBS + 1, rk_count_all(NPU_CNT_KICK));
	EXPECT_EQ(JOBS + 1, rk_count_all(NPU_CNT_IRQ));
	EXPECT_GE(13 * (JOBS + 1), rk_count_all(NPU_CNT_MMIO_WRITE));
	/* One for each interrupt, and one when nothing is left to do. */
	EXPECT_GE(JOBS + irqs + 20, rk_count_all(NPU_CNT_MMIO_READ));
	EXPECT_GE(1, rk_count_all(NPU_CNT_MMU_ATTACH));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_RESET));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_POWER_ON));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
	EXPECT_EQ(0, rk_bo_differs(&self->c.out, 2, RK_BYTES));
}

/* ---- which cores a burst of two jobs uses ---- */

#define BURSTS		8

struct pair {
	struct rk_client c;
	struct rk_bo out;
	struct drm_rocket_task task[2];
};

static int pair_init(struct pair *p)
{
	int ret = rk_client_init(&p->c);

	if (!ret)
		ret = rk_bo_init(&p->out, p->c.fd, RK_BYTES);
	if (!ret)
		ret = rk_op_task(&p->c.inc, p->c.in.iova, p->c.out.iova, &p->task[0]);
	if (!ret)
		ret = rk_op_task(&p->c.inc, p->c.in.iova, p->out.iova, &p->task[1]);
	if (!ret)
		ret = rk_fini(&p->c.inc.bo);
	return ret ? ret : rk_bo_fill(&p->c.in, 1, RK_BYTES);
}

/* The first @n, of which neither waits for the other. */
static int pair_run(struct pair *p, int n)
{
	struct drm_rocket_job jobs[2];
	int ret;

	rk_job(&jobs[0], &p->task[0], 1, &p->c.in.handle, 1, &p->c.out.handle, 1);
	rk_job(&jobs[1], &p->task[1], 1, &p->c.in.handle, 1, &p->out.handle, 1);
	ret = rk_submit(p->c.fd, jobs, n);
	if (!ret)
		ret = rk_prep(&p->c.out, 10000);
	return ret || n < 2 ? ret : rk_prep(&p->out, 10000);
}

static long long power_ups(void)
{
	long long sum = 0;

	for (int i = 0; i < RK_CORES; i++)
		sum += rk_core_stat(i, "power_ups");
	return sum;
}

RK_TEST_F_TIMEOUT(hotpath, short_burst_wakes_one_core, 120,
		  "two short jobs at once do not wake a second core, two long ones do")
{
	uint64_t overlap;
	long long ups;
	struct pair p = { 0 };
	int ret = 0;

	RK_REQUIRE_MODEL();
	if (!rk_power_domains())
		SKIP(return, "cores cannot lose their power");
	/* Elsewhere jobs take as long as the host is late, and are worth a second core then. */
	if (!getenv("RKNPU_ICOUNT"))
		SKIP(return, "for a machine whose time is the instructions that it has run");
	ASSERT_EQ(0, pair_init(&p));
	/* How long they take, and waking a core. */
	rk_latency_us(20);
	for (int i = 0; i < 2 * BURSTS && !ret; i++)
		ret = pair_run(&p, 1);
	ASSERT_EQ(0, ret);

	ups = power_ups();
	for (int i = 0; i < BURSTS && !ret; i++) {
		ASSERT_TRUE(rk_wait_asleep(10000));
		ret = pair_run(&p, 1);
		if (!ret)
			ret = pair_run(&p, 2);
	}
	ASSERT_EQ(0, ret);
	ups = power_ups() - ups;
	fprintf(stderr, "# %d bursts, %lld power-ups\n", BURSTS, ups);
	EXPECT_LE(BURSTS, ups);
	EXPECT_GE(BURSTS + BURSTS / 4, ups);

	/* It is noticed that they take longer now. */
	ASSERT_TRUE(rk_wait_asleep(10000));
	ASSERT_EQ(0, pair_run(&p, 1));
	rk_latency_us(200000);
	overlap = rk_ctl_read64(NPU_CTL_OVERLAP2_LO);
	ASSERT_EQ(0, pair_run(&p, 2));
	EXPECT_LT(overlap, rk_ctl_read64(NPU_CTL_OVERLAP2_LO));
	EXPECT_EQ(0, rk_bo_differs(&p.out, 2, RK_BYTES));

	rk_bo_fini(&p.out);
	rk_client_fini(&p.c);
}

RK_HARNESS_MAIN
