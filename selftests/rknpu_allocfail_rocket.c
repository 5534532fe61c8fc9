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
 *
 * boot: debug-faults
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm.h>

#include "kselftest.h"
#include "rknpu_allocfail.h"
#include "rknpu_util.h"

/* ---- what is called ---- */

#define MANY_JOBS	5
#define MANY_TASKS	4
#define UNTOUCHED	0x55

/* What a call made is undone afterwards: @fd, @handle and @map. @sync are syncobjs. */
struct rk_allocfail_state {
	struct rk_client c;
	struct rk_bo extra[MANY_JOBS];
	struct drm_rocket_task tasks[MANY_JOBS][MANY_TASKS];
	uint32_t sync[2];
	uint64_t job;
	int fd;
	uint32_t handle;
	void *map;
};

static int open_call(struct rk_allocfail_state *s)
{
	s->fd = open(rk_path(), O_RDWR | O_CLOEXEC);
	return s->fd < 0 ? -errno : 0;
}

static int open_check(struct rk_allocfail_state *s)
{
	struct rk_bo bo;
	int ret = rk_bo_init(&bo, s->fd, 4096);

	if (!ret)
		rk_bo_fini(&bo);
	return ret;
}

static int close_prepare(struct rk_allocfail_state *s)
{
	struct rk_bo bo;
	int ret = open_call(s);

	if (!ret)
		ret = rk_bo_init(&bo, s->fd, 65536);
	if (!ret)
		munmap(bo.map, bo.size);
	return ret;
}

static int close_call(struct rk_allocfail_state *s)
{
	int fd = s->fd;

	s->fd = -1;
	return close(fd) ? -errno : 0;
}

static int create(struct rk_allocfail_state *s, uint32_t size)
{
	struct drm_rocket_create_bo c = { .size = size };
	int ret = rk_ioctl(s->c.fd, DRM_IOCTL_ROCKET_CREATE_BO, &c);

	s->handle = ret ? 0 : c.handle;
	return ret;
}

static int create_page_call(struct rk_allocfail_state *s)
{
	return create(s, 4096);
}

static int create_large_call(struct rk_allocfail_state *s)
{
	return create(s, 300 * 1024);
}

static int handle_check(struct rk_allocfail_state *s)
{
	return rk_prep_until(s->c.fd, s->handle, 0);
}

static int map_call(struct rk_allocfail_state *s)
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

static int map_check(struct rk_allocfail_state *s)
{
	return s->c.out.map[0] == 1 ? 0 : rk_allocfail_wrong("the mapping shows other memory");
}

/* Tasks that write a BO each, none of them submitted. */
static int tasks_prepare(struct rk_allocfail_state *s)
{
	int ret = rk_bo_fill(&s->c.in, 6, RK_BYTES);

	s->c.inc.used = RK_OP_PROG;
	for (int j = 0; j < MANY_JOBS && !ret; j++) {
		ret = rk_bo_fill(&s->extra[j], UNTOUCHED, RK_BYTES);
		for (int t = 0; t < MANY_TASKS && !ret; t++)
			ret = rk_op_task(&s->c.inc, s->c.in.iova, s->extra[j].iova,
					 &s->tasks[j][t]);
	}
	return ret;
}

static int all_hold(struct rk_allocfail_state *s, int jobs, int value)
{
	for (int i = 0; i < jobs; i++) {
		long differs = rk_bo_differs(&s->extra[i], value, RK_BYTES);

		if (differs)
			return rk_allocfail_wrong("job %d: %ld", i, differs);
	}
	return 0;
}

static int one_ran(struct rk_allocfail_state *s)
{
	return all_hold(s, 1, 7);
}

static int many_ran(struct rk_allocfail_state *s)
{
	return all_hold(s, MANY_JOBS, 7);
}

/* Of a call that failed beside jobs that were there before. */
static int others_ran(struct rk_allocfail_state *s, int error)
{
	return many_ran(s);
}

static int handle_is_left(struct rk_allocfail_state *s, int error)
{
	return handle_check(s);
}

static int none_ran(struct rk_allocfail_state *s, int error)
{
	for (int i = 0; i < MANY_JOBS; i++)
		if (rk_prep_until(s->c.fd, s->extra[i].handle, 0))
			return rk_allocfail_wrong("BO %d of a refused job is not idle", i);
	return all_hold(s, MANY_JOBS, UNTOUCHED);
}

static int submit_one_call(struct rk_allocfail_state *s)
{
	return rk_submit_task(s->c.fd, &s->tasks[0][0], &s->c.in, &s->extra[0]);
}

static int submit_many_call(struct rk_allocfail_state *s)
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
static int busy_prepare(struct rk_allocfail_state *s)
{
	int ret = tasks_prepare(s);

	rk_latency_us(3000);
	return ret ? ret : submit_many_call(s);
}

static int prep_wait_call(struct rk_allocfail_state *s)
{
	return rk_prep(&s->extra[0], 10000);
}

static int prep_call(struct rk_allocfail_state *s)
{
	return rk_prep_until(s->c.fd, s->c.out.handle, 0);
}

static int fini_call(struct rk_allocfail_state *s)
{
	return rk_fini(&s->c.out);
}

static int gem_close_prepare(struct rk_allocfail_state *s)
{
	return create(s, 8192);
}

static int gem_close_call(struct rk_allocfail_state *s)
{
	return rk_gem_close(s->c.fd, s->handle);
}

static int gem_close_check(struct rk_allocfail_state *s)
{
	return rk_gem_close(s->c.fd, s->handle) ? 0 : rk_allocfail_wrong("the handle is still there");
}

static int export_call(struct rk_allocfail_state *s)
{
	struct drm_prime_handle p = { .handle = s->c.out.handle, .flags = DRM_CLOEXEC | DRM_RDWR };
	int next = rk_next_fd(), ret;

	ret = rk_ioctl(s->c.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p);
	s->fd = ret ? -1 : p.fd;
	/* DRM has made the descriptor when it fails to tell its number. */
	if (ret == -EFAULT && rk_fd_used(next))
		s->fd = next;
	return ret;
}

static int export_check(struct rk_allocfail_state *s)
{
	return rk_fd_used(s->fd) ? 0 : -EBADF;
}

static int heap_prepare(struct rk_allocfail_state *s)
{
	s->fd = rk_allocfail_heap();
	return s->fd < 0 ? s->fd : 0;
}

static int import_call(struct rk_allocfail_state *s)
{
	struct drm_prime_handle p = { .fd = s->fd };
	int ret = rk_ioctl(s->c.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p);

	s->handle = ret ? 0 : p.handle;
	return ret;
}

static int import_job_prepare(struct rk_allocfail_state *s)
{
	int ret = heap_prepare(s);

	if (!ret)
		ret = import_call(s);
	return ret ? ret : tasks_prepare(s);
}

static int import_job_call(struct rk_allocfail_state *s)
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

static int stats_call(struct rk_allocfail_state *s)
{
	return read_all("/sys/kernel/debug/rknpu/stats");
}

static int fdinfo_call(struct rk_allocfail_state *s)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", s->c.fd);
	return read_all(path);
}

/* ---- what mainline does not have ---- */

#define RANGES		40

static int ranges_call(struct rk_allocfail_state *s, unsigned long request)
{
	struct drm_rocket_bo_range range[RANGES];
	struct drm_rocket_prep_bo_ranges p = {
		.handle = s->c.out.handle, .ranges = (uintptr_t)range, .range_count = RANGES,
	};
	struct drm_rocket_fini_bo_ranges f = {
		.handle = s->c.out.handle, .ranges = (uintptr_t)range, .range_count = RANGES,
	};

	for (int i = 0; i < RANGES; i++)
		range[i] = (struct drm_rocket_bo_range) { .offset = 2 * i, .size = 1 };
	return rk_ioctl(s->c.fd, request, request == DRM_IOCTL_ROCKET_PREP_BO_RANGES ?
			(void *)&p : (void *)&f);
}

static int prep_ranges_call(struct rk_allocfail_state *s)
{
	return ranges_call(s, DRM_IOCTL_ROCKET_PREP_BO_RANGES);
}

static int fini_ranges_call(struct rk_allocfail_state *s)
{
	return ranges_call(s, DRM_IOCTL_ROCKET_FINI_BO_RANGES);
}

/* Told the newest job once. */
#define NO_PARAM	18

static int params_call(struct rk_allocfail_state *s)
{
	uint64_t value;
	int ret = 0;

	for (uint32_t i = 0; i <= DRM_ROCKET_PARAM_MAX_FILE_TASKS && !ret; i++) {
		if (i != NO_PARAM)
			ret = rk_get_param(s->c.fd, i, 0, &value);
	}
	return ret;
}

static int bo_info_call(struct rk_allocfail_state *s)
{
	struct drm_rocket_bo_info info = { .handle = s->c.out.handle };
	int ret = rk_ioctl(s->c.fd, DRM_IOCTL_ROCKET_GET_BO_INFO, &info);

	if (!ret && info.dma_address != s->c.out.iova)
		return rk_allocfail_wrong("address %#llx", (unsigned long long)info.dma_address);
	return ret;
}

static int sync_create(struct rk_allocfail_state *s, uint32_t flags, uint32_t *handle)
{
	struct drm_syncobj_create c = { .flags = flags };
	int ret = rk_ioctl(s->c.fd, DRM_IOCTL_SYNCOBJ_CREATE, &c);

	*handle = ret ? 0 : c.handle;
	return ret;
}

static int submit_ext_prepare(struct rk_allocfail_state *s)
{
	int ret = sync_create(s, DRM_SYNCOBJ_CREATE_SIGNALED, &s->sync[0]);

	if (!ret)
		ret = sync_create(s, 0, &s->sync[1]);
	s->job = rk_last_job(s->c.fd);
	return ret ? ret : tasks_prepare(s);
}

/* One job waits for a syncobj, and another signals two, of which one at a point. */
static int submit_ext_call(struct rk_allocfail_state *s)
{
	struct drm_rocket_sync sync[2] = {
		{ .handle = s->sync[0] },
		{ .handle = s->sync[1], .point = 1 },
	};
	struct drm_rocket_job_ext job[MANY_JOBS];
	struct drm_rocket_submit_ext e = {
		.jobs = (uintptr_t)job, .job_count = MANY_JOBS, .job_struct_size = sizeof(job[0]),
	};

	for (int i = 0; i < MANY_JOBS; i++)
		job[i] = (struct drm_rocket_job_ext) {
			.tasks = (uintptr_t)s->tasks[i], .task_count = MANY_TASKS,
			.task_struct_size = sizeof(s->tasks[i][0]),
			.in_bo_handles = (uintptr_t)&s->c.in.handle, .in_bo_handle_count = 1,
			.out_bo_handles = (uintptr_t)&s->extra[i].handle, .out_bo_handle_count = 1,
			.in_syncs = (uintptr_t)sync, .in_sync_count = i == 1,
			.out_syncs = (uintptr_t)sync, .out_sync_count = i == 2 ? 2 : 0,
			.sync_struct_size = sizeof(sync[0]),
		};
	return rk_ioctl(s->c.fd, DRM_IOCTL_ROCKET_SUBMIT_EXT, &e);
}

static int submit_ext_check(struct rk_allocfail_state *s)
{
	uint64_t point = 1;
	struct drm_syncobj_timeline_wait w = {
		.handles = (uintptr_t)&s->sync[1], .points = (uintptr_t)&point,
		.timeout_nsec = RK_FOREVER, .count_handles = 1,
	};
	int ret = rk_ioctl(s->c.fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &w);

	return ret ? rk_allocfail_wrong("the syncobj has no fence: %d", ret) : many_ran(s);
}

/* What could not be copied may have been the answer. */
static int submit_ext_failed(struct rk_allocfail_state *s, int error)
{
	uint64_t last = rk_last_job(s->c.fd);

	if (error == -EFAULT && last == s->job + MANY_JOBS)
		return submit_ext_check(s);
	if (last != s->job)
		return rk_allocfail_wrong("%d jobs of a refused call", (int)(last - s->job));
	return none_ran(s, error);
}

static int wait_job_prepare(struct rk_allocfail_state *s)
{
	int ret = tasks_prepare(s);

	rk_latency_us(3000);
	if (!ret)
		ret = submit_one_call(s);
	s->job = rk_last_job(s->c.fd);
	return ret;
}

static int wait_job_call(struct rk_allocfail_state *s)
{
	struct drm_rocket_wait_job w = { .job = s->job, .timeout_ns = RK_FOREVER };
	int ret = rk_ioctl(s->c.fd, DRM_IOCTL_ROCKET_WAIT_JOB, &w);

	if (!ret && w.cause != DRM_ROCKET_CAUSE_DONE)
		return rk_allocfail_wrong("cause %u", w.cause);
	return ret;
}

static const struct rk_allocfail_call calls[] = {
	{ "open", "open()", NULL, open_call, open_check },
	{ "close", "close()", close_prepare, close_call, .free = true },
	{ "create_bo_of_a_page", "CREATE_BO of a page", NULL, create_page_call, handle_check },
	{ "create_bo_of_many", "CREATE_BO of many pages", NULL, create_large_call, handle_check },
	{ "mmap", "mmap()", NULL, map_call, map_check },
	{ "submit_one", "SUBMIT of one job", tasks_prepare, submit_one_call, one_ran, none_ran },
	{ "submit_many", "SUBMIT of many jobs", tasks_prepare, submit_many_call, many_ran, none_ran },
	{ "submit_behind_others", "SUBMIT behind queued jobs", busy_prepare, submit_many_call, many_ran, others_ran },
	{ "prep_bo", "PREP_BO", NULL, prep_call },
	{ "prep_bo_that_waits", "PREP_BO that waits", busy_prepare, prep_wait_call, NULL, others_ran },
	{ "fini_bo", "FINI_BO", NULL, fini_call },
	{ "prep_bo_ranges", "PREP_BO_RANGES", NULL, prep_ranges_call },
	{ "fini_bo_ranges", "FINI_BO_RANGES", NULL, fini_ranges_call },
	{ "get_param", "GET_PARAM", NULL, params_call },
	{ "submit_ext", "SUBMIT_EXT with syncobjs", submit_ext_prepare, submit_ext_call, submit_ext_check, submit_ext_failed },
	{ "wait_job", "WAIT_JOB", wait_job_prepare, wait_job_call },
	{ "get_bo_info", "GET_BO_INFO", NULL, bo_info_call },
	{ "gem_close", "GEM_CLOSE", gem_close_prepare, gem_close_call, gem_close_check, handle_is_left },
	{ "prime_export", "export as a dma-buf", NULL, export_call, export_check },
	{ "prime_import", "import of a dma-buf", heap_prepare, import_call, handle_check },
	{ "job_with_imported_bo", "SUBMIT with an imported BO", import_job_prepare, import_job_call, one_ran, none_ran },
	{ "stats", "reading the statistics", NULL, stats_call },
	{ "fdinfo", "reading fdinfo", NULL, fdinfo_call },
};

static void free_syncs(struct rk_allocfail_state *s)
{
	for (int i = 0; i < 2; i++) {
		struct drm_syncobj_destroy d = { .handle = s->sync[i] };

		if (s->sync[i])
			rk_ioctl(s->c.fd, DRM_IOCTL_SYNCOBJ_DESTROY, &d);
		s->sync[i] = 0;
	}
}

static int finish(struct rk_allocfail_state *s)
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
	free_syncs(s);
	s->fd = -1;
	s->handle = 0;
	s->map = NULL;
	return ret ? ret : rk_client_run(&s->c, 17);
}

static int state_init(struct rk_allocfail_state *s)
{
	int ret;

	memset(s, 0, sizeof(*s));
	s->fd = -1;
	ret = rk_client_init(&s->c);
	for (int i = 0; i < MANY_JOBS && !ret; i++)
		ret = rk_bo_init(&s->extra[i], s->c.fd, RK_BYTES);
	return ret;
}

static void state_fini(struct rk_allocfail_state *s)
{
	for (int i = 0; i < MANY_JOBS; i++)
		rk_bo_fini(&s->extra[i]);
	rk_client_fini(&s->c);
}

static void list(void)
{
	rk_allocfail_list(calls, ARRAY_SIZE(calls));
	printf("every_core_works: each core works afterwards\n");
	printf("no_bo_is_left: no call that failed has left a BO\n");
	printf("no_address_space_is_left: no call that failed has left an address space\n");
}

int main(int argc, char **argv)
{
	long long bos = rk_stat("bos"), vms = rk_stat("vms");
	struct rk_allocfail_state s;
	int ret;

	rk_allocfail_options(argc, argv, list);
	ksft_print_header();
	if (!rk_allocfail_init())
		ksft_exit_skip("this kernel cannot make allocations fail\n");
	ret = state_init(&s);
	if (ret)
		ksft_exit_skip("no NPU: %s\n", strerror(-ret));
	rk_model_calm();
	rk_allocfail_plan(ARRAY_SIZE(calls) + 3);

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (rk_allocfail_wanted(calls[i].name))
			ksft_test_result(rk_allocfail_each(&calls[i], &s, finish), "%s\n",
					 calls[i].name);
	ksft_test_result(!rk_run_on_every_core(s.c.fd, 10), "every_core_works\n");
	state_fini(&s);
	ksft_test_result(rk_stat_settles("bos", bos), "no_bo_is_left\n");
	ksft_test_result(rk_stat_settles("vms", vms), "no_address_space_is_left\n");
	rk_allocfail_end(3);
}
