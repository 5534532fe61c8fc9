// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts what calls of the vendor's uAPI cost, and what clients do to each other: register
 * accesses, interrupts and flushes from the model, instructions and time from the CPU,
 * meaningful under QEMU's -icount. Prints lines "count MEASURE UNIT VALUE"; uses only what
 * Rockchip's driver has, too.
 *
 * tool of: make compare
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_counter.h"
#include "rknpu_crew.h"
#include "rknpu_vendor_util.h"

#define REPEATS		5
#define MAX_FILES	16
/* As many as Rockchip's driver takes of one file without a pause. */
#define IN_FLIGHT	16
#define LONG_CHAIN	461
/* Users: those whose jobs are looked at, from this one on, and another one. */
#define VICTIM		1000
#define OTHER		2000
#define KIB		1024u
#define MIB		(1024u * KIB)

/* ---- repetitions of something, counted ---- */

struct batch {
	const char *name;
	/* What one of @n is, and how many tasks it has. */
	const char *per;
	int n, tasks;
	int (*run)(const struct batch *b);
	/* For @run. */
	struct rv_chain *chains;
	int files;
	uint32_t size;
	uint32_t flags;
	struct rk_crew *crew;
};

static int count(const struct batch *b)
{
	struct rk_total total = { 0 };
	struct rk_counts before, after;
	/* The first time powers cores up, attaches and fills caches. */
	int ret = b->run(b);

	for (int i = 0; i < REPEATS && !ret; i++) {
		rk_counts_take(&before);
		ret = b->run(b);
		rk_counts_take(&after);
		rk_total_add(&total, &before, &after, b->n);
	}
	if (!ret)
		rk_total_print(b->name, b->per, &total, REPEATS * b->n, b->tasks);
	else
		fprintf(stderr, "# %s: %s\n", b->name, strerror(-ret));
	return ret;
}

/* ---- jobs ---- */

/* Without what rv_submit() does to find out what kind of file it is. */
static int submit(const struct rv_chain *c, struct drm_rknpu_submit *s)
{
	return rk_ioctl(c->fd, DRM_IOCTL_RKNPU_SUBMIT, s);
}

static int blocking(const struct batch *b)
{
	struct drm_rknpu_submit s;
	int ret = 0;

	for (int i = 0; i < b->n && !ret; i++) {
		rv_chain_submit(b->chains, &s);
		s.core_mask = 1;
		s.task_number = b->tasks;
		s.subcore_task[0] = (struct drm_rknpu_subcore_task) {
			b->tasks == LONG_CHAIN ? 0 : b->chains->first, b->tasks
		};
		ret = submit(b->chains, &s);
	}
	return ret;
}

/* The elements 2, 3 and 4 are those of a job of three cores. */
static int on_three_cores(const struct batch *b)
{
	int ret = 0;

	for (int i = 0; i < b->n && !ret; i++) {
		struct drm_rknpu_submit s = {
			.flags = DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG, .timeout = 6000,
			.task_number = 3, .task_obj_addr = b->chains->tasks.obj, .fence_fd = -1,
			.core_mask = 7,
			.subcore_task = { [2] = { 0, 1 }, [3] = { 1, 1 }, [4] = { 2, 1 } },
		};

		ret = submit(b->chains, &s);
	}
	return ret;
}

/* Jobs that are waited for by fences, of each file in turn, all on one core. */
static int by_fence(const struct batch *b)
{
	struct drm_rknpu_submit s;
	int fences[IN_FLIGHT], ret = 0, n;

	for (int done = 0; done < b->n && !ret; done += n) {
		for (n = 0; n < IN_FLIGHT && !ret; n++) {
			struct rv_chain *c = &b->chains[n % b->files];

			rv_chain_submit(c, &s);
			s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
			s.core_mask = 1;
			ret = submit(c, &s);
			fences[n] = s.fence_fd;
		}
		/* The last one has no fence if its submit failed. */
		for (int i = 0; i < n - !!ret; i++)
			ret = rv_wait_fence(fences[i]) ?: ret;
	}
	return ret;
}

/* @files files for as many chains, or one for all, of root's or of users @uid, @uid + 1, ... */
static int open_chains_as(uid_t uid, struct rv_chain *c, int chains, int files, uint32_t tasks)
{
	int ret = 0, fd = -1;

	memset(c, 0, chains * sizeof(*c));
	for (int i = 0; i < chains && !ret; i++) {
		if (i < files)
			fd = rk_open_as(uid ? uid + i : 0, rv_open);
		if (fd < 0)
			return fd;
		ret = rv_chain_init(&c[i], fd, tasks, 0, 0);
		if (!ret)
			ret = rv_chain_fill(&c[i], 1);
	}
	return ret;
}

static int open_chains(struct rv_chain *c, int chains, int files, uint32_t tasks)
{
	return open_chains_as(0, c, chains, files, tasks);
}

static void close_chains(struct rv_chain *c, int chains, int files)
{
	int fds[MAX_FILES];

	for (int i = 0; i < chains; i++) {
		fds[i] = c[i].fd;
		rv_chain_fini(&c[i]);
	}
	for (int i = 0; i < files; i++)
		close(fds[i]);
}

/* What a batch computed is what it should have. */
static int count_right(const struct batch *b, uint32_t tasks)
{
	int ret = count(b);

	for (int i = 0; i < b->files && !ret; i++)
		ret = rv_chain_wrong(&b->chains[i], 1 + tasks) ? -EILSEQ : 0;
	return ret;
}

static int count_long(int n)
{
	struct rv_chain c;
	struct batch b = {
		.name = "461 chained tasks", .per = "job", .n = n, .tasks = LONG_CHAIN,
		.run = blocking, .chains = &c, .files = 1,
	};
	int ret, fd = rv_open();

	if (fd < 0)
		return fd;
	ret = rv_chain_init(&c, fd, RV_MAX_CHAIN, LONG_CHAIN - RV_MAX_CHAIN, 0);
	if (!ret)
		ret = rv_chain_fill(&c, 1) ?: rv_chain_loop(&c, LONG_CHAIN) ?: count(&b);
	rv_chain_fini(&c);
	close(fd);
	return ret;
}

/* The tasks of three chains in the first one's buffer. */
static int count_three_cores(int n)
{
	struct rv_chain c[3];
	struct batch b = {
		.name = "3 tasks on 3 cores", .per = "job", .n = n, .tasks = 3,
		.run = on_three_cores, .chains = c, .files = 3,
	};
	int ret = open_chains(c, 3, 1, 1);

	if (!ret) {
		for (int i = 1; i < 3; i++)
			*rv_chain_task(&c[0], i) = *rv_chain_task(&c[i], 0);
		ret = rv_sync(&c[0].tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c[0].tasks.size);
	}
	if (!ret)
		ret = count_right(&b, 1);
	close_chains(c, 3, 1);
	return ret;
}

/* ---- jobs of several processes, each of a user of its own ---- */

static int begin_as_user(void *chain, int i)
{
	return open_chains_as(VICTIM + i, chain, 1, 1, 1);
}

static int work_blocking(void *chain, int n)
{
	const struct batch b = { .n = n, .tasks = 1, .chains = chain };

	return blocking(&b) ?: (rv_chain_wrong(chain, 2) ? -EILSEQ : 0);
}

/* All at the same time, on one core. */
static int by_crew(const struct batch *b)
{
	return rk_crew_work(b->crew, b->n / b->crew->members);
}

static int count_crew(int processes, int n)
{
	static struct rv_chain c;
	struct rk_crew crew = { .begin = begin_as_user, .work = work_blocking, .arg = &c };
	char name[64];
	struct batch b = { .name = name, .per = "job", .n = n, .tasks = 1, .run = by_crew, .crew = &crew };
	int ret;

	snprintf(name, sizeof(name), "1 task, of %d users' processes in turn", processes);
	ret = rk_crew_start(&crew, processes) ?: count(&b);
	rk_crew_end(&crew);
	return ret;
}

static int count_jobs(int n)
{
	static const struct {
		const char *name;
		int files, tasks;
		int (*run)(const struct batch *b);
	} all[] = {
		{ "1 task", 1, 1, blocking },
		{ "4 chained tasks", 1, 4, blocking },
		{ "1 task with a fence, 16 at a time", 1, 1, by_fence },
		{ "1 task with a fence, 2 files in turn", 2, 1, by_fence },
		{ "1 task with a fence, 4 files in turn", 4, 1, by_fence },
		{ "1 task with a fence, 16 files in turn", 16, 1, by_fence },
	};
	struct rv_chain c[MAX_FILES];
	int ret = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && !ret; i++) {
		struct batch b = {
			.name = all[i].name, .per = "job", .n = n, .tasks = all[i].tasks,
			.run = all[i].run, .chains = c, .files = all[i].files,
		};

		ret = open_chains(c, b.files, b.files, b.tasks) ?: count_right(&b, b.tasks);
		close_chains(c, b.files, b.files);
	}
	return ret ?: count_crew(2, n) ?: count_crew(4, n) ?: count_crew(MAX_FILES, n) ?:
	       count_long(n / 10 ?: 1) ?: count_three_cores(n);
}

/* Until the guest is stopped; who follows it starts at the line printed. */
static int again(int n)
{
	struct rv_chain c;
	const struct batch b = { .n = n, .tasks = 1, .chains = &c };
	int ret = open_chains(&c, 1, 1, 1) ?: blocking(&b);

	printf("again\n");
	fflush(stdout);
	while (!ret)
		ret = blocking(&b);
	return ret;
}

/* ---- memory and files ---- */

static int make_bos(const struct batch *b)
{
	struct rv_bo bo;
	int ret = 0;

	for (int i = 0; i < b->n && !ret; i++) {
		ret = rv_bo_init(&bo, b->chains->fd, b->size, RV_FLAGS, 0);
		rv_bo_fini(&bo);
	}
	return ret;
}

/* All of them exist at the same time. */
static int make_many_bos(const struct batch *b)
{
	static struct rv_bo bo[1000];
	int ret = 0, n;

	for (n = 0; n < b->n && !ret; n++)
		ret = rv_bo_init(&bo[n], b->chains->fd, b->size, RV_FLAGS, 0);
	while (n--)
		rv_bo_fini(&bo[n]);
	return ret;
}

static int sync_bo(const struct batch *b)
{
	struct rv_bo bo;
	int ret = rv_bo_init(&bo, b->chains->fd, b->size, RV_FLAGS, 0);

	for (int i = 0; i < b->n && !ret; i++)
		ret = rv_sync(&bo, b->flags, 0, b->size);
	rv_bo_fini(&bo);
	return ret;
}

static int open_and_close(const struct batch *b)
{
	for (int i = 0; i < b->n; i++) {
		int fd = rv_open();

		if (fd < 0)
			return fd;
		close(fd);
	}
	return 0;
}

static int count_memory(int n)
{
	struct rv_chain c;
	const struct batch all[] = {
		{ "a BO of 1 MiB", "BO", n, 1, make_bos, &c, .size = MIB },
		{ "a BO of 64 MiB", "BO", 4, 1, make_bos, &c, .size = 64 * MIB },
		{ "1000 BOs of 4 KiB", "BO", 1000, 1, make_many_bos, &c, .size = 4 * KIB },
		{ "1 MiB for the NPU to read", "sync", n, 1, sync_bo, &c, .size = MIB,
		  .flags = DRM_RKNPU_MEM_SYNC_TO_DEVICE },
		{ "1 MiB that the NPU wrote", "sync", n, 1, sync_bo, &c, .size = MIB,
		  .flags = DRM_RKNPU_MEM_SYNC_FROM_DEVICE },
		{ "open and close", "file", n, 1, open_and_close, &c },
	};
	int ret = 0;

	c.fd = rv_open();
	if (c.fd < 0)
		return c.fd;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && !ret; i++)
		ret = count(&all[i]);
	close(c.fd);
	return ret;
}

/* ---- one client beside another ---- */

#define TASK_US		1000
#define VICTIM_JOBS	20

/* Runs in a thread: a SUBMIT of another user that takes long, and what it returned. */
struct other {
	struct rv_chain c;
	struct drm_rknpu_submit s;
	pthread_t thread;
	int ret;
	bool over;
};

static void *submit_other(void *arg)
{
	struct other *o = arg;

	o->ret = submit(&o->c, &o->s);
	__atomic_store_n(&o->over, true, __ATOMIC_RELEASE);
	return NULL;
}

/* How the jobs of a client ended, and how long the slowest took. */
struct outcome {
	int jobs, refused, wrong;
	double longest_ns;
};

static void run_victim(struct rv_chain *c, uint32_t mask, struct outcome *o)
{
	struct drm_rknpu_submit s;
	int64_t start;
	int ret = rv_chain_fill(c, 5);

	rv_chain_submit(c, &s);
	s.core_mask = mask;
	start = rk_now();
	if (!ret)
		ret = submit(c, &s);
	if (rk_now() - start > o->longest_ns)
		o->longest_ns = rk_now() - start;
	o->jobs++;
	o->refused += !!ret;
	o->wrong += !ret && rv_chain_wrong(c, 6);
}

static void print_outcome(const char *batch, const struct outcome *o)
{
	rk_count_print(batch, "jobs that failed", "jobs", o->refused);
	rk_count_print(batch, "wrong results", "jobs", o->wrong);
	rk_count_print(batch, "the slowest job", "ms", o->longest_ns / 1e6);
}

/* One user's chain of 461 ms, and another's jobs of 1 ms on the same core. */
static int beside_a_chain(int unused)
{
	struct outcome out = { 0 };
	struct other o = { 0 };
	struct rv_chain victim;
	int ret, fd = rk_open_as(OTHER, rv_open);

	if (fd < 0)
		return fd;
	ret = rv_chain_init(&o.c, fd, RV_MAX_CHAIN, LONG_CHAIN - RV_MAX_CHAIN, 0);
	if (!ret)
		ret = rv_chain_loop(&o.c, LONG_CHAIN) ?:
		      open_chains_as(VICTIM, &victim, 1, 1, 1);
	if (ret)
		return ret;
	rk_latency_us(TASK_US);
	rv_chain_submit(&o.c, &o.s);
	o.s.core_mask = 1;
	o.s.subcore_task[0] = (struct drm_rknpu_subcore_task) { 0, LONG_CHAIN };
	ret = -pthread_create(&o.thread, NULL, submit_other, &o);
	if (ret)
		return ret;
	/* It has begun. */
	while (!rk_count(0, NPU_CNT_BUSY))
		rk_sleep_ms(1);
	do {
		run_victim(&victim, 1, &out);
	} while (out.jobs < VICTIM_JOBS && !__atomic_load_n(&o.over, __ATOMIC_ACQUIRE));
	pthread_join(o.thread, NULL);
	rk_latency_us(0);
	print_outcome("jobs of 1 ms beside another user's chain of 461 ms", &out);
	rk_count_print("jobs of 1 ms beside another user's chain of 461 ms", "the chain failed",
		       "chains", !!o.ret);
	return 0;
}

/* One user's job hangs on a core; another's run on @mask meanwhile, and afterwards. */
static int beside_a_hang(const char *name, uint32_t mask)
{
	struct outcome out = { 0 };
	struct other o = { 0 };
	struct rv_chain victim;
	char after[96];
	int ret = open_chains_as(OTHER, &o.c, 1, 1, 1) ?:
		  open_chains_as(VICTIM, &victim, 1, 1, 1);

	if (ret)
		return ret;
	run_victim(&victim, mask, &out);
	out = (struct outcome) { 0 };
	rk_latency_us(10 * TASK_US);
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	rv_chain_submit(&o.c, &o.s);
	o.s.core_mask = 1;
	o.s.timeout = 1000;
	ret = -pthread_create(&o.thread, NULL, submit_other, &o);
	if (ret)
		return ret;
	while (!rk_fault_fired())
		rk_sleep_ms(1);
	do {
		run_victim(&victim, mask, &out);
	} while (!__atomic_load_n(&o.over, __ATOMIC_ACQUIRE));
	pthread_join(o.thread, NULL);
	print_outcome(name, &out);
	out = (struct outcome) { 0 };
	for (int i = 0; i < VICTIM_JOBS; i++)
		run_victim(&victim, mask, &out);
	rk_latency_us(0);
	snprintf(after, sizeof(after), "%s, afterwards", name);
	print_outcome(after, &out);
	return 0;
}

static int beside_a_hang_elsewhere(int unused)
{
	return beside_a_hang("jobs of 10 ms while another user's hangs on another core", 2);
}

static int beside_a_hang_here(int unused)
{
	return beside_a_hang("jobs of 10 ms while another user's hangs on the same core", 1);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int (*run)(int n); } parts[] = {
		{ "jobs", count_jobs },
		{ "memory", count_memory },
		{ "chain", beside_a_chain },
		{ "hang-elsewhere", beside_a_hang_elsewhere },
		{ "hang-here", beside_a_hang_here },
		{ "again", again },
	};
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (n < 1 || n % IN_FLIGHT) {
		fprintf(stderr, "usage: rknpu_vendor_count PART JOBS; JOBS is a multiple of %d\n",
			IN_FLIGHT);
		return 2;
	}
	if (!rk_model()) {
		fprintf(stderr, "rknpu_vendor_count: needs the NPU model\n");
		return 4;
	}
	rk_counts_init();
	/* Let the rest of the system come to rest. */
	rk_sleep_ms(3000);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int ret;

		if (strcmp(parts[i].name, argv[1]))
			continue;
		ret = parts[i].run(n);
		if (ret)
			fprintf(stderr, "rknpu_vendor_count: %s\n", strerror(-ret));
		return !!ret;
	}
	fprintf(stderr, "rknpu_vendor_count: no such part: %s\n", argv[1]);
	return 2;
}
