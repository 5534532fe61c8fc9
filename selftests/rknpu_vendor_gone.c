// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vendor's uAPI when its device goes: unbinding, the end of jobs and closing files
 * in every order, on the DRM node and on /dev/rknpu. What is used after it was freed
 * shows on a kernel with KASAN.
 *
 * boot: gone TEST_LIMIT=600 --module vgem --module ours --param vendor_misc=1
 * boot: debug-gone KERNEL=debug TEST_LIMIT=1800 --module vgem --module ours --param vendor_misc=1
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define ROUNDS		3
/* Freeing it takes long enough for its file to be gone meanwhile. */
#define BIG		(32u << 20)

FIXTURE(gone) {
	struct rv_bo big;
	struct rv_chain chain;
	int fd;
};

FIXTURE_VARIANT(gone) {
	int (*open)(void);
	bool misc;
};

FIXTURE_VARIANT_ADD(gone, drm) { .open = rv_open_render };
FIXTURE_VARIANT_ADD(gone, misc) { .open = rv_open_misc, .misc = true };

/* A file of the device that there is now, once there is one. */
static int open_client(int (*open_node)(void), struct rv_bo *big, struct rv_chain *chain)
{
	int fd = -ENODEV, ret;

	for (int i = 0; i < 100 && fd < 0; i++) {
		fd = open_node();
		if (fd < 0)
			rk_sleep_ms(20);
	}
	if (fd < 0)
		return fd;
	/* The first, so that it is what goes first. */
	ret = rv_bo_init(big, fd, BIG, RV_FLAGS, 0);
	if (!ret)
		ret = rv_chain_init(chain, fd, 2, 0, 0);
	return ret ? ret : fd;
}

FIXTURE_SETUP(gone)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	RK_REQUIRE_MODEL();
	if (rk_stat("vms") < 0 || geteuid())
		SKIP(return, "needs root, to unbind the device");
	fd = variant->open();
	if (fd < 0)
		SKIP(return, "no such node: %s", strerror(-fd));
	close(fd);
	self->fd = open_client(variant->open, &self->big, &self->chain);
	ASSERT_LE(0, self->fd);
}

/* Mappings and dma-bufs would keep what is to go. */
static void forget(bool misc, struct rv_bo *bo)
{
	if (bo->map)
		munmap(bo->map, bo->size);
	if (misc && bo->handle)
		close(bo->handle);
	memset(bo, 0, sizeof(*bo));
}

static void forget_all(bool misc, struct rv_bo *big, struct rv_chain *chain)
{
	forget(misc, big);
	forget(misc, &chain->bo);
	forget(misc, &chain->tasks);
}

FIXTURE_TEARDOWN(gone)
{
	rk_model_calm();
	forget_all(variant->misc, &self->big, &self->chain);
	if (self->fd > 0)
		close(self->fd);
}

/* Something hangs on core 0, and more waits behind it. */
static int submit_some(struct rv_chain *chain)
{
	struct drm_rknpu_submit s;
	int ret = 0;

	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	for (int i = 0; i < 4 && !ret; i++) {
		rv_chain_submit(chain, &s);
		s.flags |= DRM_RKNPU_JOB_NONBLOCK;
		s.core_mask = 1;
		ret = rv_submit(chain->fd, &s);
	}
	return ret || rk_wait_count(0, NPU_CNT_BUSY, 1, 20000) ? ret : -ETIMEDOUT;
}

#define NEXT_CLIENT()								\
	do {									\
		rk_model_calm();						\
		self->fd = open_client(variant->open, &self->big, &self->chain);\
		ASSERT_LE(0, self->fd);						\
	} while (0)

RK_TEST_F_TIMEOUT(gone, closed_then_unbound, 120,
		  "a file with jobs that run and wait is closed, then the device goes")
{
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, submit_some(&self->chain));
		forget_all(variant->misc, &self->big, &self->chain);
		close(self->fd);
		ASSERT_EQ(0, rk_rebind(0));
		NEXT_CLIENT();
	}
	EXPECT_EQ(0, rv_chain_run(&self->chain, 1));
}

RK_TEST_F_TIMEOUT(gone, unbound_then_closed, 120,
		  "the device goes while jobs run and wait, then the file is closed")
{
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, submit_some(&self->chain));
		ASSERT_EQ(0, rk_rebind(0));
		EXPECT_EQ(-ENODEV, rv_chain_run(&self->chain, 1));
		forget_all(variant->misc, &self->big, &self->chain);
		close(self->fd);
		NEXT_CLIENT();
	}
	EXPECT_EQ(0, rv_chain_run(&self->chain, 1));
}

RK_TEST_F_TIMEOUT(gone, mapping_is_last, 120,
		  "a mapping and a dma-buf outlive the jobs, the device and the file")
{
	uint8_t *map = self->big.map;
	int buf = self->big.handle;

	if (!variant->misc)
		buf = rk_export(self->fd, self->big.handle);
	ASSERT_LE(0, buf);
	ASSERT_EQ(0, submit_some(&self->chain));
	ASSERT_EQ(0, rk_rebind(0));
	close(self->fd);
	memset(map, 0x5a, BIG);
	forget_all(false, &self->big, &self->chain);
	map = mmap(NULL, BIG, PROT_READ, MAP_SHARED, buf, 0);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0x5a, map[BIG - 1]);
	close(buf);
	munmap(map, BIG);
	NEXT_CLIENT();
	EXPECT_EQ(0, rv_chain_run(&self->chain, 1));
}

/* ---- calls that are under way when the device goes ---- */

struct caller {
	struct drm_rknpu_submit s;
	pthread_t thread;
	volatile pid_t tid;
	int fd;
	int ret;
};

/* Closes the file as soon as the call is over. */
static void *call_and_close(void *arg)
{
	struct caller *c = arg;

	c->tid = gettid();
	c->ret = rv_submit(c->fd, &c->s);
	close(c->fd);
	return NULL;
}

static bool sleeps(pid_t tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S' || state == 'D';
}

/* Returns when the call waits for something. */
static int start_call(struct caller *c, int fd, const struct rv_chain *chain, uint64_t tasks)
{
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	rv_chain_submit(chain, &c->s);
	c->s.core_mask = 1;
	c->s.task_obj_addr = tasks;
	if (pthread_create(&c->thread, NULL, call_and_close, c))
		return -EAGAIN;
	for (int i = 0, asleep = 0; i < 10000; i++) {
		asleep = c->tid && sleeps(c->tid) ? asleep + 1 : 0;
		if (asleep == 20)
			return 0;
		rk_sleep_ms(1);
	}
	return -ETIMEDOUT;
}

RK_TEST_F_TIMEOUT(gone, unbound_in_a_call, 120,
		  "the device goes while a call waits for its job, and the file is closed at once")
{
	struct caller c;

	for (int i = 0; i < ROUNDS; i++) {
		rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
		ASSERT_EQ(0, start_call(&c, self->fd, &self->chain, self->chain.tasks.obj));
		forget_all(variant->misc, &self->big, &self->chain);
		ASSERT_EQ(0, rk_rebind(0));
		pthread_join(c.thread, NULL);
		EXPECT_EQ(-ENODEV, c.ret);
		NEXT_CLIENT();
	}
	EXPECT_EQ(0, rv_chain_run(&self->chain, 1));
}

RK_TEST_F_TIMEOUT(gone, killed_in_a_call, 120,
		  "a client is killed while it waits for its job, then the device goes")
{
	int status;
	pid_t pid;

	for (int i = 0; i < ROUNDS; i++) {
		rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			struct drm_rknpu_submit s;
			struct rv_chain chain;
			struct rv_bo big;

			if (open_client(variant->open, &big, &chain) < 0)
				_exit(1);
			rv_chain_submit(&chain, &s);
			s.core_mask = 1;
			_exit(rv_submit(chain.fd, &s) ? 2 : 3);
		}
		ASSERT_TRUE(rk_wait_count(0, NPU_CNT_BUSY, 1, 20000));
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		ASSERT_EQ(0, rk_rebind(0));
		rk_model_calm();
	}
}

#define CLOSERS		4
#define CLOSED		16
#define GOES		10

/* Many address spaces that are released as soon as the device is gone. */
static pid_t start_closer(int (*open_node)(void), int ready)
{
	pid_t pid = fork();
	struct pollfd p[CLOSED];

	if (pid)
		return pid;
	for (int i = 0; i < CLOSED; i++) {
		struct rv_bo bo;

		p[i] = (struct pollfd) { .fd = open_node() };
		if (p[i].fd < 0 || rv_bo_init(&bo, p[i].fd, RK_PAGE, RV_FLAGS, 0))
			_exit(1);
		if (bo.map)
			munmap(bo.map, bo.size);
	}
	if (write(ready, "", 1) == 1)
		poll(p, 1, -1);
	_exit(0);
}

RK_TEST_F_TIMEOUT(gone, closed_by_many_as_it_goes, 300,
		  "many close their files while the device goes, and who comes next can run jobs")
{
	int ready[2], status, fd;
	pid_t pid[CLOSERS];
	char c;

	forget_all(variant->misc, &self->big, &self->chain);
	close(self->fd);
	self->fd = 0;
	ASSERT_EQ(0, pipe(ready));
	for (int n = 0; n < GOES; n++) {
		for (int i = 0; i < CLOSERS; i++) {
			pid[i] = start_closer(variant->open, ready[1]);
			ASSERT_LT(0, pid[i]);
		}
		for (int i = 0; i < CLOSERS; i++)
			ASSERT_EQ(1, read(ready[0], &c, 1));
		ASSERT_EQ(0, rk_rebind(n % RK_CORES));
		for (int i = 0; i < CLOSERS; i++) {
			EXPECT_EQ(pid[i], waitpid(pid[i], &status, 0));
			EXPECT_EQ(0, status);
		}
		fd = rk_open();
		EXPECT_EQ(0, rk_run_on_every_core(fd, 1));
		close(fd);
	}
	close(ready[0]);
	close(ready[1]);
}

/* What @fd calls the object in @buf. */
static int import(bool misc, int fd, int buf, uint64_t *obj)
{
	struct drm_prime_handle p = { .fd = buf };
	struct drm_rknpu_mem_create c = { .handle = buf };
	int ret = misc ? 0 : rk_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p);

	if (!misc)
		c.handle = p.handle;
	if (!ret)
		ret = rv_create(fd, &c);
	*obj = c.obj_addr;
	return ret;
}

/*
 * The job is there before its tasks are read, and reading them waits for another driver,
 * so its memory is freed a while after the call: when file and device are gone.
 */
RK_TEST_F_TIMEOUT(gone, memory_is_last, 120,
		  "the memory of a job is freed when its device and its file are gone")
{
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	int vgem = rk_vgem_open();
	uint32_t handle, fence;
	struct caller c;
	uint64_t obj;

	if (vgem < 0)
		SKIP(return, "needs vgem");
	ASSERT_EQ(0, rk_vgem_create(vgem, &handle));
	p.handle = handle;
	ASSERT_EQ(0, rk_ioctl(vgem, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p));
	/* Its zeros are still in the caches, where vgem left them: the import cleans those. */
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, import(variant->misc, self->fd, p.fd, &obj));
		fence = rk_vgem_begin(vgem, handle, RK_VGEM_WRITE);
		ASSERT_NE(0, fence);
		ASSERT_EQ(0, start_call(&c, self->fd, &self->chain, obj));
		forget_all(variant->misc, &self->big, &self->chain);
		ASSERT_EQ(0, rk_rebind(0));
		/* Else vgem gave up waiting, and the call did not wait for us. */
		EXPECT_EQ(0, rk_vgem_end(vgem, fence));
		pthread_join(c.thread, NULL);
		EXPECT_EQ(-ENODEV, c.ret);
		NEXT_CLIENT();
	}
	close(p.fd);
	close(vgem);
	EXPECT_EQ(0, rv_chain_run(&self->chain, 1));
}

RK_HARNESS_MAIN
