// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the first, second, third ... allocation or user copy of every call fail
 * until the call gets through without meeting one. Needs a kernel with failslab,
 * fail_page_alloc, fail_usercopy and debugfs.
 *
 * A call that met a failure must say so by an errno and change nothing, or have
 * got over it and have its full effect. The client must work afterwards, and in
 * the end no BO and no address space may be left over. What it leaked in other
 * ways is for kmemleak to say once the module is gone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/drm.h>

#include "kselftest.h"
#include "rknpu_inject.h"
#include "rknpu_util.h"

/* ---- what is called ---- */

#define MANY_JOBS	5
#define MANY_TASKS	4
#define UNTOUCHED	0x55

/* What a call made is undone afterwards: @fd, @handle and @map. */
struct state {
	struct rk_client c;
	struct rk_bo extra[MANY_JOBS];
	struct drm_rocket_task tasks[MANY_JOBS][MANY_TASKS];
	int fd;
	uint32_t handle;
	void *map;
};

static char message[256];

static int wrong(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return -EILSEQ;
}

/*
 * @prepare runs without failures, @call with one; then @failed or, when it
 * returned 0 although it met one, @check. All return 0 or a negative errno.
 */
struct call {
	const char *name;
	int (*prepare)(struct state *s);
	int (*call)(struct state *s);
	int (*check)(struct state *s);
	int (*failed)(struct state *s);
};

static int open_call(struct state *s)
{
	s->fd = open(rk_path(), O_RDWR | O_CLOEXEC);
	return s->fd < 0 ? -errno : 0;
}

static int open_check(struct state *s)
{
	struct rk_bo bo;
	int ret = rk_bo_init(&bo, s->fd, 4096);

	if (!ret)
		rk_bo_fini(&bo);
	return ret;
}

static int close_prepare(struct state *s)
{
	struct rk_bo bo;
	int ret = open_call(s);

	if (!ret)
		ret = rk_bo_init(&bo, s->fd, 65536);
	if (!ret)
		munmap(bo.map, bo.size);
	return ret;
}

static int close_call(struct state *s)
{
	int fd = s->fd;

	s->fd = -1;
	return close(fd) ? -errno : 0;
}

static int create(struct state *s, uint32_t size)
{
	struct drm_rocket_create_bo c = { .size = size };
	int ret = rk_ioctl(s->c.fd, DRM_IOCTL_ROCKET_CREATE_BO, &c);

	s->handle = ret ? 0 : c.handle;
	return ret;
}

static int create_page_call(struct state *s)
{
	return create(s, 4096);
}

static int create_large_call(struct state *s)
{
	return create(s, 300 * 1024);
}

static int handle_check(struct state *s)
{
	return rk_prep_until(s->c.fd, s->handle, 0);
}

static int map_call(struct state *s)
{
	s->map = mmap(NULL, RK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->c.fd, s->c.out.offset);
	if (s->map == MAP_FAILED) {
		s->map = NULL;
		return -errno;
	}
	/* A fault that finds no memory is tried again. */
	*(volatile char *)s->map = 1;
	return 0;
}

static int map_check(struct state *s)
{
	return s->c.out.map[0] == 1 ? 0 : wrong("the mapping shows other memory");
}

/* Tasks that write a BO each, none of them submitted. */
static int tasks_prepare(struct state *s)
{
	int ret = rk_bo_fill(&s->c.in, 6, RK_BYTES);

	s->c.inc.used = 2 * RK_PAGE;
	for (int j = 0; j < MANY_JOBS && !ret; j++) {
		ret = rk_bo_fill(&s->extra[j], UNTOUCHED, RK_BYTES);
		for (int t = 0; t < MANY_TASKS && !ret; t++)
			ret = rk_op_task(&s->c.inc, s->c.in.iova, s->extra[j].iova,
					 &s->tasks[j][t]);
	}
	return ret;
}

static int all_hold(struct state *s, int jobs, int value)
{
	for (int i = 0; i < jobs; i++) {
		long differs = rk_bo_differs(&s->extra[i], value, RK_BYTES);

		if (differs)
			return wrong("job %d: %ld", i, differs);
	}
	return 0;
}

static int one_ran(struct state *s)
{
	return all_hold(s, 1, 7);
}

static int many_ran(struct state *s)
{
	return all_hold(s, MANY_JOBS, 7);
}

static int none_ran(struct state *s)
{
	for (int i = 0; i < MANY_JOBS; i++)
		if (rk_prep_until(s->c.fd, s->extra[i].handle, 0))
			return wrong("BO %d of a refused job is not idle", i);
	return all_hold(s, MANY_JOBS, UNTOUCHED);
}

static int submit_one_call(struct state *s)
{
	return rk_submit_task(s->c.fd, &s->tasks[0][0], &s->c.in, &s->extra[0]);
}

static int submit_many_call(struct state *s)
{
	struct drm_rocket_job jobs[MANY_JOBS];
	uint32_t in[MANY_JOBS][2];

	for (int i = 0; i < MANY_JOBS; i++) {
		in[i][0] = s->c.in.handle;
		in[i][1] = s->extra[(i + 1) % MANY_JOBS].handle;
		rk_job(&jobs[i], s->tasks[i], MANY_TASKS, in[i], 2, &s->extra[i].handle, 1);
	}
	return rk_submit(s->c.fd, jobs, MANY_JOBS);
}

/* Every BO is being written and read, so that there is much to wait for. */
static int busy_prepare(struct state *s)
{
	int ret = tasks_prepare(s);

	rk_latency_us(3000);
	return ret ? ret : submit_many_call(s);
}

static int prep_wait_call(struct state *s)
{
	return rk_prep(&s->extra[0], 10000);
}

static int prep_call(struct state *s)
{
	return rk_prep_until(s->c.fd, s->c.out.handle, 0);
}

static int fini_call(struct state *s)
{
	return rk_fini(&s->c.out);
}

static int gem_close_prepare(struct state *s)
{
	return create(s, 8192);
}

static int gem_close_call(struct state *s)
{
	return rk_gem_close(s->c.fd, s->handle);
}

static int gem_close_check(struct state *s)
{
	return rk_gem_close(s->c.fd, s->handle) ? 0 : wrong("the handle is still there");
}

static int export_call(struct state *s)
{
	struct drm_prime_handle p = { .handle = s->c.out.handle, .flags = DRM_CLOEXEC | DRM_RDWR };
	int next = dup(s->c.fd), ret;

	close(next);
	ret = rk_ioctl(s->c.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p);
	s->fd = ret ? -1 : p.fd;
	/* DRM has made the descriptor when it fails to tell its number. */
	if (ret == -EFAULT && fcntl(next, F_GETFD) >= 0)
		s->fd = next;
	return ret;
}

static int export_check(struct state *s)
{
	return fcntl(s->fd, F_GETFD) < 0 ? -errno : 0;
}

static int heap_prepare(struct state *s)
{
	struct dma_heap_allocation_data d = { .len = 64 << 10, .fd_flags = O_CLOEXEC | O_RDWR };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC), ret;

	if (heap < 0)
		return -errno;
	ret = rk_ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &d);
	s->fd = ret ? -1 : d.fd;
	close(heap);
	return ret;
}

static int import_call(struct state *s)
{
	struct drm_prime_handle p = { .fd = s->fd };
	int ret = rk_ioctl(s->c.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p);

	s->handle = ret ? 0 : p.handle;
	return ret;
}

static int import_job_prepare(struct state *s)
{
	int ret = heap_prepare(s);

	if (!ret)
		ret = import_call(s);
	return ret ? ret : tasks_prepare(s);
}

static int import_job_call(struct state *s)
{
	struct drm_rocket_job job;
	uint32_t in[2] = { s->c.in.handle, s->handle };

	rk_job(&job, s->tasks[0], 1, in, 2, &s->extra[0].handle, 1);
	return rk_submit(s->c.fd, &job, 1);
}

static int read_all(const char *path)
{
	char buf[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, buf, sizeof(buf));
	while (n > 0);
	n = n < 0 ? -errno : 0;
	close(fd);
	return n;
}

static int stats_call(struct state *s)
{
	return read_all("/sys/kernel/debug/rknpu/stats");
}

static int fdinfo_call(struct state *s)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", s->c.fd);
	return read_all(path);
}

static const struct call calls[] = {
	{ "open", NULL, open_call, open_check },
	{ "close", close_prepare, close_call },
	{ "create_bo_of_a_page", NULL, create_page_call, handle_check },
	{ "create_bo_of_many", NULL, create_large_call, handle_check },
	{ "mmap", NULL, map_call, map_check },
	{ "submit_one", tasks_prepare, submit_one_call, one_ran, none_ran },
	{ "submit_many", tasks_prepare, submit_many_call, many_ran, none_ran },
	{ "submit_behind_others", busy_prepare, submit_many_call, many_ran, many_ran },
	{ "prep_bo", NULL, prep_call },
	{ "prep_bo_that_waits", busy_prepare, prep_wait_call, NULL, many_ran },
	{ "fini_bo", NULL, fini_call },
	{ "gem_close", gem_close_prepare, gem_close_call, gem_close_check, handle_check },
	{ "prime_export", NULL, export_call, export_check },
	{ "prime_import", heap_prepare, import_call, handle_check },
	{ "job_with_imported_bo", import_job_prepare, import_job_call, one_ran, none_ran },
	{ "stats", NULL, stats_call },
	{ "fdinfo", NULL, fdinfo_call },
};

/* ---- the loop ---- */

/* Waits for whatever a call or its preparation started, and frees what it made. */
static int finish(struct state *s)
{
	int ret = 0;

	rk_latency_us(0);
	for (int i = 0; i < MANY_JOBS && !ret; i++)
		ret = rk_prep(&s->extra[i], 10000);
	if (s->fd >= 0)
		close(s->fd);
	if (s->handle)
		rk_gem_close(s->c.fd, s->handle);
	if (s->map)
		munmap(s->map, RK_BYTES);
	return ret;
}

/* Memory that is not there, or an argument or result that cannot be copied. */
static bool errno_allowed(int ret)
{
	return ret == -ENOMEM || ret == -EFAULT;
}

/* One call with failure @nth: 1 when it met none, 0, or what was wrong. */
static int one(struct state *s, const struct call *c, unsigned int nth, unsigned int *errors)
{
	int ret, result, left;
	bool met;

	s->fd = -1;
	s->handle = 0;
	s->map = NULL;
	ret = c->prepare ? c->prepare(s) : 0;
	if (ret)
		return ret;

	rk_inject(nth);
	result = c->call(s);
	met = rk_injected();

	if (!result)
		ret = c->check ? c->check(s) : 0;
	else if (!met || !errno_allowed(result))
		ret = wrong("returned %d (%s)", result, strerror(-result));
	else
		ret = c->failed ? c->failed(s) : 0;
	*errors += result < 0;

	left = finish(s);
	if (!ret)
		ret = left;
	if (!ret)
		ret = rk_client_run(&s->c, nth % 100);
	return ret ? ret : !met;
}

static void test_call(struct state *s, const struct call *c)
{
	unsigned int nth = 1, errors = 0;
	int ret;

	message[0] = 0;
	do
		ret = one(s, c, nth++, &errors);
	while (!ret && nth < RK_INJECT_MAX);

	ksft_print_msg("%s: %u failures, %u errnos\n", c->name, nth - 2, errors);
	if (ret != 1)
		ksft_print_msg("failure %u: %s %s\n", nth - 1, strerror(-ret), message);
	/* Nothing met a failure: then nothing was tested. */
	ksft_test_result(ret == 1 && nth > 2, "%s\n", c->name);
}

static int state_init(struct state *s)
{
	int ret = rk_client_init(&s->c);

	for (int i = 0; i < MANY_JOBS && !ret; i++)
		ret = rk_bo_init(&s->extra[i], s->c.fd, RK_BYTES);
	return ret;
}

static void state_fini(struct state *s)
{
	for (int i = 0; i < MANY_JOBS; i++)
		rk_bo_fini(&s->extra[i]);
	rk_client_fini(&s->c);
}

static bool settles(const char *stat, long long value)
{
	for (int i = 0; i < 100 && rk_stat(stat) != value; i++)
		rk_sleep_ms(50);
	ksft_print_msg("%s: %lld before, %lld now\n", stat, value, rk_stat(stat));
	return rk_stat(stat) == value;
}

int main(void)
{
	long long bos = rk_stat("bos"), vms = rk_stat("vms");
	struct state s;
	int ret;

	ksft_print_header();
	if (!rk_inject_init())
		ksft_exit_skip("this kernel cannot make allocations fail\n");
	ret = state_init(&s);
	if (ret)
		ksft_exit_skip("no NPU: %s\n", strerror(-ret));
	rk_model_calm();
	ksft_set_plan(ARRAY_SIZE(calls) + 3);

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		test_call(&s, &calls[i]);
	ksft_test_result(!rk_run_on_every_core(s.c.fd, 10), "every_core_works\n");
	state_fini(&s);
	ksft_test_result(settles("bos", bos), "no_bo_is_left\n");
	ksft_test_result(settles("vms", vms), "no_address_space_is_left\n");
	ksft_finished();
}
