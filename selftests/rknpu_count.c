// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts what jobs cost: registers, interrupts and attaches from the model,
 * instructions from the CPU's own counter (meaningful under QEMU's -icount).
 * Prints lines "count MEASURE UNIT VALUE"; uses mainline's ABI only.
 *
 * tool of: make compare
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_counter.h"
#include "rknpu_util.h"

#define MAX_JOBS	1000
#define MAX_TASKS	4
#define OUTPUTS		8

static int jobs_per_batch = MAX_JOBS;

/* ---- the batches ---- */

struct bench {
	struct rk_client c;
	struct rk_bo out[OUTPUTS];
	struct drm_rocket_task chain[MAX_TASKS];
	/* The same, each program naming the next. */
	struct drm_rocket_task linked[MAX_TASKS];
	/* The driver starts those with one kick. */
	bool batches;
	struct drm_rocket_task spread[OUTPUTS];
	struct drm_rocket_job jobs[MAX_JOBS];
};

/* Of the interface, which says what flags jobs may have. */
static int version_minor(int fd)
{
	struct drm_version v = { 0 };

	return rk_ioctl(fd, DRM_IOCTL_VERSION, &v) ? 0 : v.version_minor;
}

static int bench_init(struct bench *b)
{
	struct rk_client *c = &b->c;
	int ret = rk_client_init(c);

	for (int i = 0; i < MAX_TASKS && !ret; i++)
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &b->chain[i]);
	for (int i = 0; i < MAX_TASKS && !ret; i++) {
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &b->linked[i]);
		if (!ret && i)
			rk_chain(&c->inc, &b->linked[i - 1], &b->linked[i]);
	}
	if (!ret)
		ret = rk_fini(&c->inc.bo);
	b->batches = version_minor(c->fd) >= 1;
	for (int i = 0; i < OUTPUTS && !ret; i++) {
		ret = rk_bo_init(&b->out[i], c->fd, RK_BYTES);
		if (!ret)
			ret = rk_op_task(&c->inc, c->in.iova, b->out[i].iova, &b->spread[i]);
	}
	return ret ? ret : rk_bo_fill(&c->in, 3, RK_BYTES);
}

/* One SUBMIT of many jobs that write one buffer, so each depends on the last. */
static int dependent(struct bench *b, uint32_t ntasks)
{
	struct rk_client *c = &b->c;
	int ret;

	for (int i = 0; i < jobs_per_batch; i++)
		rk_job(&b->jobs[i], b->chain, ntasks, &c->in.handle, 1, &c->out.handle, 1);
	ret = rk_submit(c->fd, b->jobs, jobs_per_batch);
	return ret ? ret : rk_prep(&c->out, 60000);
}

/* The fastest that the driver has for several tasks: chained, or else one by one. */
static int linked(struct bench *b, uint32_t ntasks)
{
	struct rk_client *c = &b->c;
	int ret;

	for (int i = 0; i < jobs_per_batch; i++) {
		rk_job(&b->jobs[i], b->batches ? b->linked : b->chain, ntasks, &c->in.handle, 1,
		       &c->out.handle, 1);
		b->jobs[i].flags = b->batches ? DRM_ROCKET_JOB_BATCHED : 0;
	}
	ret = rk_submit(c->fd, b->jobs, jobs_per_batch);
	return ret ? ret : rk_prep(&c->out, 60000);
}

/* One SUBMIT of jobs over eight buffers: several are ready at any time. */
static int independent(struct bench *b, uint32_t unused)
{
	struct rk_client *c = &b->c;
	int ret;

	for (int i = 0; i < jobs_per_batch; i++)
		rk_job(&b->jobs[i], &b->spread[i % OUTPUTS], 1, &c->in.handle, 1,
		       &b->out[i % OUTPUTS].handle, 1);
	ret = rk_submit(c->fd, b->jobs, jobs_per_batch);
	for (int i = 0; i < OUTPUTS && !ret; i++)
		ret = rk_prep(&b->out[i], 60000);
	return ret;
}

/* Submit, wait, submit: what a caller that needs each result pays. */
static int one_by_one(struct bench *b, uint32_t unused)
{
	struct rk_client *c = &b->c;
	int ret = 0;

	rk_job(b->jobs, b->chain, 1, &c->in.handle, 1, &c->out.handle, 1);
	for (int i = 0; i < jobs_per_batch && !ret; i++) {
		ret = rk_submit(c->fd, b->jobs, 1);
		if (!ret)
			ret = rk_prep(&c->out, 10000);
	}
	return ret;
}

#define REPEATS		5

enum plug { NOTHING, ONE_BUFFER, ALL_CORES };

/*
 * Keeps busy what the jobs of a batch need, until they are all queued: the buffer
 * that dependent ones write, or the cores. Else the first gap would be the time
 * it takes to submit them, which for many jobs in one call is most of all gaps.
 */
static int plug(struct bench *b, enum plug what)
{
	int ret = 0;

	if (what == NOTHING)
		return 0;
	rk_latency_us(20000);
	if (what == ONE_BUFFER)
		ret = rk_submit_task(b->c.fd, b->chain, &b->c.in, &b->c.out);
	/* No more: their client would come back to a core for the rest. */
	for (uint32_t i = 0; what == ALL_CORES && i < rk_ctl_read(NPU_CTL_NUM_CORES) && !ret; i++)
		ret = rk_submit_task(b->c.fd, &b->spread[i], &b->c.in, &b->out[i]);
	rk_sleep_ms(5);
	rk_latency_us(0);
	return ret;
}

static int measure(struct bench *b, const char *name, int (*run)(struct bench *, uint32_t),
		   uint32_t tasks, enum plug what)
{
	struct rk_total total = { 0 };
	struct rk_counts before, after;
	int ret = 0;

	for (int i = 0; i < REPEATS && !ret; i++) {
		/* Powers the core and attaches the address space. */
		ret = rk_client_run(&b->c, 3);
		if (!ret)
			ret = plug(b, what);
		if (ret)
			break;
		rk_counts_take(&before);
		ret = run(b, tasks);
		rk_counts_take(&after);
		if (!ret && rk_bo_differs(&b->c.out, 4, RK_BYTES))
			ret = -EILSEQ;
		rk_total_add(&total, &before, &after, jobs_per_batch);
	}
	if (!ret)
		rk_total_print(name, "job", &total, REPEATS * jobs_per_batch, tasks);
	return ret;
}

/* ---- clients that take turns ---- */

#define TURN_CLIENTS	16
/* Of all clients; rocket's, with a hundred accesses each, have to fit the model's trace. */
#define TURN_JOBS	48
#define TURN_REPEATS	3

struct turns {
	struct rk_client c[TURN_CLIENTS];
	/* Of different sizes, so that each client's program has an address of its own. */
	struct rk_bo pad[TURN_CLIENTS];
	struct drm_rocket_task task[TURN_CLIENTS];
	int clients;
};

static int turns_init(struct turns *t, int clients)
{
	int ret = 0;

	for (t->clients = 0; t->clients < clients && !ret; t->clients++) {
		int i = t->clients, fd = rk_open();
		struct rk_client *c = &t->c[i];

		if (fd < 0)
			return fd;
		ret = rk_bo_init(&t->pad[i], fd, (i + 1) * 4096);
		if (!ret)
			ret = rk_client_init_on(c, fd);
		if (!ret)
			ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t->task[i]);
		if (!ret)
			ret = rk_fini(&c->inc.bo);
		if (!ret)
			ret = rk_bo_fill(&c->in, i, RK_BYTES);
	}
	return ret;
}

static int turns_submit(struct bench *b, struct turns *t)
{
	int n = TURN_JOBS / t->clients, ret = 0;

	for (int i = 0; i < t->clients && !ret; i++) {
		struct rk_client *c = &t->c[i];

		for (int k = 0; k < n; k++)
			rk_job(&b->jobs[k], &t->task[i], 1, &c->in.handle, 1, &c->out.handle, 1);
		ret = rk_submit(c->fd, b->jobs, n);
	}
	return ret;
}

static int turns_wait(struct turns *t)
{
	int ret = 0;

	for (int i = 0; i < t->clients && !ret; i++) {
		ret = rk_prep(&t->c[i].out, 60000);
		if (!ret && rk_bo_differs(&t->c[i].out, i + 1, RK_BYTES))
			ret = -EILSEQ;
	}
	return ret;
}

static int client_of(struct turns *t, uint32_t regcmd)
{
	for (int i = 0; i < t->clients; i++) {
		if (t->task[i].regcmd == regcmd)
			return i;
	}
	return -1;
}

static long long attaches_so_far(void)
{
	long long sum = 0;

	for (uint32_t i = 0; i < rk_ctl_read(NPU_CTL_NUM_CORES); i++)
		sum += rk_core_stat(i, "attaches");
	return sum;
}

/*
 * How often a core ran a job of another client than before; or an error. Ours says
 * how often it attached an address space, and no core sleeps meanwhile; what it
 * does for a switch is too much for the trace.
 */
static int count_switches(struct turns *t, long long attaches)
{
	static struct rk_start s[2 * TURN_JOBS + 64];
	int n = rk_trace_starts(s, sizeof(s) / sizeof(s[0])), switches = 0;
	int last[RK_CORES] = { -1, -1, -1 };

	if (attaches >= 0)
		return attaches_so_far() - attaches;
	for (int i = 0; i < n; i++) {
		int client = client_of(t, s[i].regcmd);

		/* What keeps the cores busy before, and what our driver runs between clients. */
		if (client < 0)
			continue;
		switches += client != last[s[i].core];
		last[s[i].core] = client;
	}
	return n < 0 ? -ENOSPC : switches;
}

static void print_both(const char *batch, const char *name, const char *unit, double value,
		       int jobs, int switches)
{
	char u[64], per_switch[64];

	snprintf(u, sizeof(u), "%s/job", unit);
	rk_count_print(batch, name, u, value / jobs);
	/* A name of its own, by which the two drivers' rows are put together. */
	snprintf(per_switch, sizeof(per_switch), "%s per switch", name);
	snprintf(u, sizeof(u), "%s/switch", unit);
	rk_count_print(batch, per_switch, u, value / switches);
}

static void print_turns(const char *batch, const struct rk_counts *a, const struct rk_counts *b,
			int switches)
{
	rk_count_print(batch, "switches", "switches/job", (double)switches / TURN_JOBS);
	if (rk_counts_instructions())
		print_both(batch, "guest instructions", "insns", b->instructions - a->instructions,
			   TURN_JOBS, switches);
	print_both(batch, "register accesses", "accesses",
		   rk_counts_accesses(b) - rk_counts_accesses(a),
		   TURN_JOBS, switches);
	print_both(batch, "resets", "resets",
		   rk_counts_of(b, NPU_CNT_RESET) - rk_counts_of(a, NPU_CNT_RESET), TURN_JOBS,
		   switches);
	print_both(batch, "idle time of cores", "ns", b->gap_ns - a->gap_ns, TURN_JOBS, switches);
}

/* The least disturbed repetition; each finds all queues full when the first job starts. */
static int turns_measure(struct bench *b, struct turns *t, const char *batch)
{
	struct rk_counts best[2] = { 0 }, s[2];
	int ret, switches = 0;
	long long attaches;

	for (int i = 0; i < TURN_REPEATS; i++) {
		ret = plug(b, ALL_CORES);
		/* The plug did without, as everything does whose time is fixed. */
		rk_model_calm();
		if (ret)
			return ret;
		attaches = attaches_so_far();
		rk_counts_take(&s[0]);
		rk_trace_start();
		ret = turns_submit(b, t);
		if (!ret)
			ret = turns_wait(t);
		rk_counts_take(&s[1]);
		if (!ret)
			ret = count_switches(t, attaches);
		if (ret <= 0)
			return ret ? ret : -ENODATA;
		if (!switches || s[1].instructions - s[0].instructions <
				 best[1].instructions - best[0].instructions) {
			memcpy(best, s, sizeof(best));
			switches = ret;
		}
	}
	print_turns(batch, &best[0], &best[1], switches);
	return 0;
}

static int turns(struct bench *b)
{
	static const int clients[] = { 2, 4, TURN_CLIENTS };
	uint32_t cores = rk_ctl_read(NPU_CTL_NUM_CORES);
	int ret = 0;

	for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]) && !ret; i++) {
		struct turns t = { 0 };
		char batch[64];

		snprintf(batch, sizeof(batch), "%d clients take turns on %u core%s", clients[i],
			 cores, cores > 1 ? "s" : "");
		ret = turns_init(&t, clients[i]);
		if (!ret)
			ret = turns_measure(b, &t, batch);
		/*
		 * In-tree rocket lets go of a job's BOs some time after its fence, which
		 * nothing tells; if the file is closed by then the kernel crashes.
		 */
		rk_sleep_ms(500);
		for (int k = 0; k < t.clients; k++) {
			rk_bo_fini(&t.pad[k]);
			rk_client_fini(&t.c[k]);
		}
	}
	return ret;
}

/* ---- how many jobs a second of the model's time ---- */

#define RATE_JOBS	300
#define RATE_TASK_US	1000

/* A file of its own for each chain, or all chains in one. */
struct rate {
	struct rk_client c[RK_CORES];
	struct rk_bo out[RK_CORES];
	struct drm_rocket_task task[RK_CORES];
	int files;
};

static int rate_init(struct rate *r, int chains, int files)
{
	int ret = 0;

	r->files = files;
	for (int i = 0; i < files && !ret; i++)
		ret = rk_client_init(&r->c[i]);
	for (int i = 0; i < chains && !ret; i++) {
		struct rk_client *c = &r->c[i % files];

		ret = rk_bo_init(&r->out[i], c->fd, RK_BYTES);
		if (!ret)
			ret = rk_op_task(&c->inc, c->in.iova, r->out[i].iova, &r->task[i]);
	}
	return ret;
}

static int rate_run(struct bench *b, struct rate *r, int chains)
{
	int n = RATE_JOBS / r->files, ret = 0;

	for (int f = 0; f < r->files && !ret; f++) {
		struct rk_client *c = &r->c[f];

		for (int i = 0; i < n; i++) {
			int k = r->files > 1 ? f : i % chains;

			rk_job(&b->jobs[i], &r->task[k], 1, &c->in.handle, 1, &r->out[k].handle, 1);
		}
		ret = rk_submit(c->fd, b->jobs, n);
	}
	for (int i = 0; i < chains && !ret; i++)
		ret = rk_prep(&r->out[i], 60000);
	return ret;
}

/* @chains of jobs, so that as many cores can be busy; the rate is returned, or an error. */
static int rate(struct bench *b, int chains, int files, double *jobs_per_s)
{
	struct rate r = { 0 };
	uint64_t start = 0;
	int ret = rate_init(&r, chains, files);

	rk_latency_us(RATE_TASK_US);
	/* The first time powers cores up and attaches address spaces. */
	for (int i = 0; i < 2 && !ret; i++) {
		start = rk_ctl_read64(NPU_CTL_TIME_LO);
		ret = rate_run(b, &r, chains);
	}
	*jobs_per_s = RATE_JOBS * 1e9 / (rk_ctl_read64(NPU_CTL_TIME_LO) - start);
	rk_latency_us(0);
	for (int i = 0; i < files; i++)
		rk_client_fini(&r.c[i]);
	return ret;
}

static int rates(struct bench *b)
{
	static const struct { int files[RK_CORES]; const char *batch; } from[] = {
		{ { 1, 1, 1 }, "1 ms jobs from one file" },
		{ { 1, 2, 3 }, "1 ms jobs from a file per chain" },
	};
	int ret = 0;

	for (size_t f = 0; f < 2 && !ret; f++) {
		double per_s[RK_CORES];

		for (int n = 1; n <= RK_CORES && !ret; n++) {
			char name[32];

			ret = rate(b, n, from[f].files[n - 1], &per_s[n - 1]);
			snprintf(name, sizeof(name), "%d chain%s", n, n > 1 ? "s" : "");
			if (!ret)
				rk_count_print(from[f].batch, name, "jobs/s", per_s[n - 1]);
		}
		if (!ret)
			rk_count_print(from[f].batch, "3 chains over 1", "times", per_s[2] / per_s[0]);
	}
	return ret;
}

static int all_batches(struct bench *b)
{
	int ret = measure(b, "1-task jobs, each after the last", dependent, 1, ONE_BUFFER);

	if (!ret)
		ret = measure(b, "4-task jobs, each after the last", dependent, 4, ONE_BUFFER);
	if (!ret)
		ret = measure(b, "4-task jobs, chained if possible", linked, 4, ONE_BUFFER);
	if (!ret)
		ret = measure(b, "1-task jobs, independent", independent, 1, ALL_CORES);
	if (!ret)
		ret = measure(b, "1-task jobs, one by one", one_by_one, 1, NOTHING);
	return ret;
}

/* As turns_measure(), without the counts. */
static int in_turn(struct bench *b, uint32_t unused)
{
	static struct turns t;
	int ret = t.clients ? 0 : turns_init(&t, TURN_CLIENTS);

	if (!ret)
		ret = plug(b, ALL_CORES);
	rk_model_calm();
	if (!ret)
		ret = turns_submit(b, &t);
	return ret ? ret : turns_wait(&t);
}

/* Until the guest is stopped; who profiles it starts at the line printed. */
static int again(struct bench *b, const char *what)
{
	int (*run)(struct bench *, uint32_t) = dependent;
	uint32_t tasks = 4;
	int ret;

	if (!strcmp(what, "one_by_one")) {
		run = one_by_one;
		tasks = 1;
	} else if (!strcmp(what, "in_turn")) {
		run = in_turn;
	}
	ret = run(b, tasks);
	printf("again\n");
	fflush(stdout);
	while (!ret)
		ret = run(b, tasks);
	return ret;
}

int main(int argc, char **argv)
{
	static struct bench b;
	const char *only = argc > 2 ? argv[2] : "";
	bool only_turns = !strcmp(only, "turns");
	bool only_again = !strcmp(only, "one_by_one") || !strcmp(only, "unchained") ||
			  !strcmp(only, "in_turn");
	int ret;

	if (argc > 1)
		jobs_per_batch = atoi(argv[1]);
	if (jobs_per_batch < 1 || jobs_per_batch > MAX_JOBS || (*only && !only_turns && !only_again)) {
		fprintf(stderr,
			"usage: rknpu_count [JOBS (1..%d) [turns | one_by_one | unchained | in_turn]]\n",
			MAX_JOBS);
		return 2;
	}
	if (!rk_model()) {
		fprintf(stderr, "rknpu_count: needs the NPU model\n");
		return 4;
	}
	rk_counts_init();
	/* Let the rest of the system come to rest. */
	rk_sleep_ms(3000);
	ret = bench_init(&b);
	if (!ret && only_again)
		ret = again(&b, only);
	if (!ret && !only_turns)
		ret = all_batches(&b);
	if (!ret)
		ret = turns(&b);
	if (!ret && !only_turns)
		ret = rates(&b);
	if (ret)
		fprintf(stderr, "rknpu_count: %s\n", strerror(-ret));
	return !!ret;
}
