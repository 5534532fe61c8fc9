// SPDX-License-Identifier: GPL-2.0-only
/*
 * As rknpu_allocfail_rocket, for the vendor's uAPI: every ioctl and every action, on
 * the DRM node and, where it is offered, on /dev/rknpu, and the files that tools
 * for the vendor's driver read and write.
 *
 * This one comes first: rknpu_allocfail_bind loads the module without vendor_misc.
 * boot: debug-faults KERNEL=debug CI COVERAGE TRACES TEST_LIMIT=1800 ENV=RKNPU_FAULT_STRIDE=101 --param vendor_misc=1
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm.h>

#include "kselftest.h"
#include "rknpu_allocfail.h"
#include "rknpu_vendor_util.h"

/* ---- what is called ---- */

#define CORES	3
#define TASKS	2
#define VALUE	20

/* What a call made is undone afterwards: @fd, @wait_for, @handle and @obj. */
struct rk_allocfail_state {
	int (*open)(void);
	int dev;
	struct rv_chain one;
	uint32_t domain;
	int fd;
	int wait_for;
	uint32_t handle;
	uint64_t obj;
	const char *path;
	uint32_t action;
};

static bool misc(const struct rk_allocfail_state *s)
{
	return s->open == rv_open_misc;
}

/* Without asking the file what it is, which could meet the failure. */
static int ioctl_of(const struct rk_allocfail_state *s, int fd, unsigned long cmd, void *arg)
{
	if (misc(s))
		cmd = RV_MISC(_IOC_NR(cmd) - 0x40, _IOC_SIZE(cmd));
	return rk_ioctl(fd, cmd, arg);
}

static int create(struct rk_allocfail_state *s, uint64_t size, uint32_t flags, int handle)
{
	struct drm_rknpu_mem_create c = {
		.flags = flags, .size = size, .handle = handle, .iommu_domain_id = s->domain,
	};
	int next = rk_next_fd(), ret;

	ret = ioctl_of(s, s->dev, DRM_IOCTL_RKNPU_MEM_CREATE, &c);
	if (!ret) {
		s->handle = c.handle;
		s->obj = c.obj_addr;
	} else if (ret == -EFAULT && misc(s) && rk_fd_used(next)) {
		/* All was done, but nobody could be told. */
		s->handle = next;
	}
	return ret;
}

static int create_page_call(struct rk_allocfail_state *s)
{
	return create(s, 4096, RV_FLAGS, 0);
}

static int create_large_call(struct rk_allocfail_state *s)
{
	return create(s, 300 * 1024, RV_FLAGS_TASK, 0);
}

/* The first object of a domain makes an address space, which stays until all files are closed. */
static int create_domain_call(struct rk_allocfail_state *s)
{
	s->domain = 1 + s->domain % (DRM_RKNPU_DOMAINS - 1);
	return create(s, 4096, RV_FLAGS, 0);
}

static int sync_object(struct rk_allocfail_state *s, uint64_t obj, uint32_t flags)
{
	struct drm_rknpu_mem_sync m = { .flags = flags, .obj_addr = obj, .size = 4096 };

	return ioctl_of(s, s->dev, DRM_IOCTL_RKNPU_MEM_SYNC, &m);
}

static int object_check(struct rk_allocfail_state *s)
{
	int ret = sync_object(s, s->obj, DRM_RKNPU_MEM_SYNC_TO_DEVICE);

	return ret ? rk_allocfail_wrong("the object cannot be synced: %d", ret) : 0;
}

static int query_prepare(struct rk_allocfail_state *s)
{
	return create_page_call(s);
}

/* /dev/rknpu imports it once more. */
static int query_call(struct rk_allocfail_state *s)
{
	struct drm_rknpu_mem_create c = { .handle = s->handle, .size = 4096, .flags = RV_FLAGS };
	int ret = ioctl_of(s, s->dev, DRM_IOCTL_RKNPU_MEM_CREATE, &c);

	if (!ret && c.obj_addr != s->obj)
		return rk_allocfail_wrong("another object");
	return ret;
}

static int query_failed(struct rk_allocfail_state *s, int error)
{
	return object_check(s);
}

static int map_call(struct rk_allocfail_state *s)
{
	struct drm_rknpu_mem_map m = { .handle = s->one.bo.handle };

	return ioctl_of(s, s->dev, DRM_IOCTL_RKNPU_MEM_MAP, &m);
}

/* From ioctl to the first access. A fault that finds no memory is tried again. */
static int mmap_call(struct rk_allocfail_state *s)
{
	struct drm_rknpu_mem_map m = { .handle = s->one.bo.handle };
	uint8_t *p;
	int ret = 0;

	if (!misc(s))
		ret = ioctl_of(s, s->dev, DRM_IOCTL_RKNPU_MEM_MAP, &m);
	if (ret)
		return ret;
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
		 misc(s) ? (int)s->one.bo.handle : s->dev, m.offset);
	if (p == MAP_FAILED)
		return -errno;
	ret = memcmp(p, s->one.bo.map, 64) ? rk_allocfail_wrong("other memory") : 0;
	munmap(p, 4096);
	return ret;
}

static int destroy(struct rk_allocfail_state *s)
{
	struct drm_rknpu_mem_destroy d = { .handle = s->handle, .obj_addr = s->obj };

	return ioctl_of(s, s->dev, DRM_IOCTL_RKNPU_MEM_DESTROY, &d);
}

/* The answer is the struct as it was, so its copy can fail after all was done. */
static int destroy_call(struct rk_allocfail_state *s)
{
	int ret = destroy(s);

	return ret == -EFAULT && sync_object(s, s->obj, 0) == -EINVAL ? 0 : ret;
}

static int destroy_check(struct rk_allocfail_state *s)
{
	int ret = sync_object(s, s->obj, 0);

	return ret == -EINVAL ? 0 : rk_allocfail_wrong("the object is still there: %d", ret);
}

static int destroy_failed(struct rk_allocfail_state *s, int error)
{
	return object_check(s);
}

static int sync_call(struct rk_allocfail_state *s)
{
	return sync_object(s, s->one.bo.obj,
			   DRM_RKNPU_MEM_SYNC_TO_DEVICE | DRM_RKNPU_MEM_SYNC_FROM_DEVICE);
}

/* ---- jobs ---- */

static int submit_prepare(struct rk_allocfail_state *s)
{
	return rv_chain_fill(&s->one, VALUE);
}

static int submit(struct rk_allocfail_state *s, uint32_t flags, uint32_t cores)
{
	struct drm_rknpu_submit v;
	int next = rk_next_fd(), ret;

	rv_chain_submit(&s->one, &v);
	v.flags |= flags;
	v.core_mask = cores;
	v.fence_fd = s->wait_for;
	/* A job of all cores has its slices last; each does the same to the same place. */
	if (cores == 7) {
		for (int i = 0; i < CORES; i++)
			v.subcore_task[2 + i] = v.subcore_task[0];
	}
	ret = ioctl_of(s, s->dev, DRM_IOCTL_RKNPU_SUBMIT, &v);
	if (!ret && flags & DRM_RKNPU_JOB_FENCE_OUT)
		s->fd = v.fence_fd;
	else if (ret == -EFAULT && flags & DRM_RKNPU_JOB_FENCE_OUT && rk_fd_used(next))
		s->fd = next;
	return ret;
}

static int submit_call(struct rk_allocfail_state *s)
{
	return submit(s, 0, 0);
}

static int submit_gang_call(struct rk_allocfail_state *s)
{
	return submit(s, 0, 7);
}

static int submit_fence_call(struct rk_allocfail_state *s)
{
	return submit(s, DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT, 0);
}

static int submit_gang_fence_call(struct rk_allocfail_state *s)
{
	return submit(s, DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT, 7);
}

static bool over(int fence)
{
	struct pollfd p = { .fd = fence, .events = POLLIN };

	return fence < 0 || poll(&p, 1, 20000) == 1;
}

static int ran(struct rk_allocfail_state *s)
{
	long wrong;

	if (!over(s->fd))
		return rk_allocfail_wrong("the fence does not signal");
	wrong = rv_chain_wrong(&s->one, VALUE + TASKS);
	return wrong ? rk_allocfail_wrong("%ld bytes are wrong", wrong) : 0;
}

/* What could not be copied may have been the answer. */
static int ran_or_not(struct rk_allocfail_state *s, int error)
{
	if (s->fd >= 0)
		return ran(s);
	if (!rv_chain_wrong(&s->one, (uint8_t)~VALUE))
		return 0;
	return error == -EFAULT ? ran(s) : rk_allocfail_wrong("a refused job ran");
}

static int fence_in_prepare(struct rk_allocfail_state *s)
{
	int ret;

	rk_latency_us(3000);
	ret = submit(s, DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT, 0);
	s->wait_for = s->fd;
	s->fd = -1;
	return ret;
}

static int fence_in_call(struct rk_allocfail_state *s)
{
	return submit(s, DRM_RKNPU_JOB_FENCE_IN, 2);
}

/* ---- the rest ---- */

static int action_call(struct rk_allocfail_state *s)
{
	struct drm_rknpu_action a = { .flags = s->action };
	int ret;

	if (a.flags == DRM_RKNPU_SET_PROC_NICE)
		a.value = 10;
	ret = ioctl_of(s, s->dev, DRM_IOCTL_RKNPU_ACTION, &a);
	return ret == -EINVAL ? 0 : ret;
}

static char drm_path[64];

static int open_call(struct rk_allocfail_state *s)
{
	s->fd = open(misc(s) ? "/dev/rknpu" : drm_path, O_RDWR | O_CLOEXEC);
	return s->fd < 0 ? -errno : 0;
}

static int open_check(struct rk_allocfail_state *s)
{
	struct rv_bo bo;
	int ret = rv_bo_init(&bo, s->fd, 4096, RV_FLAGS, 0);

	rv_bo_fini(&bo);
	return ret;
}

static int export_call(struct rk_allocfail_state *s)
{
	struct drm_prime_handle p = { .handle = s->one.bo.handle, .flags = DRM_CLOEXEC | DRM_RDWR };
	int next = rk_next_fd(), ret;

	ret = rk_ioctl(s->dev, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p);
	s->fd = ret ? -1 : p.fd;
	if (ret == -EFAULT && rk_fd_used(next))
		s->fd = next;
	return ret;
}

static int heap_prepare(struct rk_allocfail_state *s)
{
	s->fd = rk_allocfail_heap();
	return s->fd < 0 ? s->fd : 0;
}

static int import_call(struct rk_allocfail_state *s)
{
	struct drm_prime_handle p = { .fd = s->fd };
	struct drm_rknpu_mem_create c = { .handle = s->fd };
	int ret;

	if (!misc(s)) {
		ret = rk_ioctl(s->dev, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p);
		if (ret)
			return ret;
		c.handle = p.handle;
		s->handle = p.handle;
	}
	ret = ioctl_of(s, s->dev, DRM_IOCTL_RKNPU_MEM_CREATE, &c);
	if (!ret)
		s->obj = c.obj_addr;
	return ret;
}

static int file_call(struct rk_allocfail_state *s)
{
	char buf[512];
	int fd = open(s->path, O_RDONLY | O_CLOEXEC), ret = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, buf, sizeof(buf));
	while (n > 0);
	ret = n < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int power_write(const char *what)
{
	int fd = open("/sys/kernel/debug/rknpu/power", O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, what, strlen(what)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int power_call(struct rk_allocfail_state *s)
{
	int ret = power_write("on");

	return ret ? ret : power_write("off");
}

static int power_failed(struct rk_allocfail_state *s, int error)
{
	return power_write("off");
}

static int fdinfo_prepare(struct rk_allocfail_state *s)
{
	static char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", s->dev);
	s->path = path;
	return 0;
}

/* What both nodes have. */
static const struct rk_allocfail_call calls[] = {
	{ "open", "open()", NULL, open_call, open_check },
	{ "mem_create_of_a_page", "MEM_CREATE of a page", NULL, create_page_call, object_check },
	{ "mem_create_of_many", "MEM_CREATE of many pages", NULL, create_large_call, object_check },
	{ "mem_create_in_a_new_domain", "MEM_CREATE in a new domain", NULL, create_domain_call, object_check },
	{ "mem_create_as_a_question", "MEM_CREATE of a handle that exists", query_prepare, query_call, object_check, query_failed },
	{ "mmap", "mmap()", NULL, mmap_call },
	{ "mem_destroy", "MEM_DESTROY", create_page_call, destroy_call, destroy_check, destroy_failed },
	{ "mem_sync", "MEM_SYNC", NULL, sync_call },
	{ "submit", "SUBMIT", submit_prepare, submit_call, ran, ran_or_not },
	{ "submit_on_all_cores", "SUBMIT for all cores", submit_prepare, submit_gang_call, ran, ran_or_not },
	{ "submit_with_fence", "SUBMIT with a fence", submit_prepare, submit_fence_call, ran, ran_or_not },
	{ "submit_on_all_cores_with_fence", "SUBMIT for all cores with a fence", submit_prepare, submit_gang_fence_call, ran,
	  ran_or_not },
	{ "submit_behind_a_fence", "SUBMIT that waits for a fence", fence_in_prepare, fence_in_call },
	{ "import", "import of a dma-buf", heap_prepare, import_call },
};

static const struct rk_allocfail_call drm_calls[] = {
	{ "mem_map", "MEM_MAP", NULL, map_call },
	{ "prime_export", "export as a dma-buf", NULL, export_call },
	{ "fdinfo", "reading fdinfo", fdinfo_prepare, file_call },
};

static const struct rk_allocfail_call power = { "power", "writing the file power", NULL, power_call, NULL, power_failed };

static const char *const files[] = {
	"version", "load", "power", "freq", "volt", "delayms", "reset",
};

/* ---- the loop ---- */

/* The chain is written anew: nothing may read it any more. */
static int finish(struct rk_allocfail_state *s)
{
	rk_latency_us(0);
	if (!over(s->wait_for))
		return -ETIME;
	if (s->obj)
		destroy(s);
	else if (s->handle && !misc(s))
		rk_gem_close(s->dev, s->handle);
	if (s->handle && misc(s))
		close(s->handle);
	if (s->fd >= 0)
		close(s->fd);
	if (s->wait_for >= 0)
		close(s->wait_for);
	s->fd = -1;
	s->wait_for = -1;
	s->handle = 0;
	s->obj = 0;
	return rv_chain_run(&s->one, 33);
}

static int state_init(struct rk_allocfail_state *s, int (*open)(void))
{
	memset(s, 0, sizeof(*s));
	s->open = open;
	s->fd = -1;
	s->wait_for = -1;
	s->dev = open();
	return s->dev < 0 ? s->dev : rv_chain_init(&s->one, s->dev, TASKS, 0, 0);
}

static void state_fini(struct rk_allocfail_state *s)
{
	rv_chain_fini(&s->one);
	close(s->dev);
}

/* Of a process that has no other file open, so that its address spaces are made and freed, too. */
static int fresh_call(struct rk_allocfail_state *s)
{
	struct drm_rknpu_mem_create c = {
		.flags = RV_FLAGS, .size = 4096, .iommu_domain_id = 3,
	};
	int next, ret;

	ret = open_call(s);
	if (ret)
		return ret;
	next = rk_next_fd();
	ret = ioctl_of(s, s->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c);
	if (misc(s) && rk_fd_used(next))
		close(next);
	close(s->fd);
	s->fd = -1;
	return ret;
}

static int fresh_finish(struct rk_allocfail_state *s)
{
	struct rk_allocfail_state other;
	int ret = state_init(&other, s->open);

	if (!ret)
		ret = rv_chain_run(&other.one, 40);
	state_fini(&other);
	return ret;
}

static void test_fresh(int (*open)(void), const char *node)
{
	static const struct rk_allocfail_call c = { "first_file", "the first file of a process", NULL, fresh_call };
	struct rk_allocfail_state s = { .open = open, .fd = -1 };

	if (rk_allocfail_wanted(c.name))
		ksft_test_result(rk_allocfail_each(&c, &s, fresh_finish), "%s_first_file\n", node);
}

static void test_calls(struct rk_allocfail_state *s, const struct rk_allocfail_call *c, size_t n,
		       const char *node)
{
	for (size_t i = 0; i < n; i++)
		if (rk_allocfail_wanted(c[i].name))
			ksft_test_result(rk_allocfail_each(&c[i], s, finish), "%s_%s\n", node, c[i].name);
}

static void test_actions(struct rk_allocfail_state *s, const char *node)
{
	static const struct rk_allocfail_call c = { "action", "every ACTION", NULL, action_call };
	bool good = true;

	if (!rk_allocfail_wanted(c.name))
		return;
	for (s->action = 0; s->action <= DRM_RKNPU_SET_IOMMU_DOMAIN_ID; s->action++)
		good &= rk_allocfail_each(&c, s, finish);
	ksft_test_result(good, "%s_actions\n", node);
}

static void test_files(struct rk_allocfail_state *s)
{
	static const struct rk_allocfail_call c = { "file", "reading the files of tools", NULL, file_call };
	char path[64];
	bool good = true;

	if (rk_allocfail_wanted(power.name))
		ksft_test_result(rk_allocfail_each(&power, s, finish), "power_file\n");
	if (!rk_allocfail_wanted(c.name))
		return;
	s->path = path;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/rknpu/%s", i % 2 ? "/proc" : "/sys/kernel/debug",
			 files[i / 2]);
		good &= rk_allocfail_each(&c, s, finish);
	}
	ksft_test_result(good, "files\n");
}

#define NODE_TESTS	(ARRAY_SIZE(calls) + 2)
#define DRM_TESTS	(ARRAY_SIZE(drm_calls) + 2)

static void test_node(int (*open)(void), const char *node)
{
	struct rk_allocfail_state s;

	test_fresh(open, node);
	if (state_init(&s, open))
		ksft_exit_fail_msg("%s does not work\n", node);
	test_calls(&s, calls, ARRAY_SIZE(calls), node);
	test_actions(&s, node);
	if (!misc(&s)) {
		test_calls(&s, drm_calls, ARRAY_SIZE(drm_calls), node);
		test_files(&s);
	}
	state_fini(&s);
}

static bool path_of(int fd, char *path, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, size - 1);
	path[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

static void list(void)
{
	rk_allocfail_list(calls, ARRAY_SIZE(calls));
	rk_allocfail_list(drm_calls, ARRAY_SIZE(drm_calls));
	rk_allocfail_list(&power, 1);
	printf("first_file: so does the first file of a process, which makes its address spaces\n");
	printf("action: so does every ACTION\n");
	printf("file: so does reading every file of tools\n");
	printf("no_bo_is_left: no call that failed has left a BO\n");
	printf("no_address_space_is_left: no call that failed has left an address space\n");
}

int main(int argc, char **argv)
{
	bool has_misc = !access("/dev/rknpu", F_OK);
	long long bos, vms;
	int fd;

	rk_allocfail_options(argc, argv, list);
	ksft_print_header();
	if (!rk_allocfail_init())
		ksft_exit_skip("this kernel cannot make allocations fail\n");
	fd = rv_open();
	if (fd < 0)
		ksft_exit_skip("no vendor node: %s\n", strerror(-fd));
	if (!path_of(fd, drm_path, sizeof(drm_path)))
		ksft_exit_fail_msg("the node has no path\n");
	close(fd);
	rk_model_calm();
	bos = rk_stat("bos");
	vms = rk_stat("vms");
	rk_allocfail_plan(NODE_TESTS * (1 + has_misc) + DRM_TESTS + 2);

	test_node(rv_open, "drm");
	if (has_misc)
		test_node(rv_open_misc, "misc");
	ksft_test_result(rk_stat_settles("bos", bos), "no_bo_is_left\n");
	ksft_test_result(rk_stat_settles("vms", vms), "no_address_space_is_left\n");
	rk_allocfail_end(2);
}
