// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vendor's uAPI on /dev/rknpu, where handles are dma-buf fds.
 *
 * boot: misc TEST_LIMIT=600 --param vendor_misc=1
 * boot: dtvendor
 * boot: armhfvend
 * boot: debug-vendor
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define LARGE	(64u << 20)

FIXTURE(misc)
{
	int fd;
};

FIXTURE_SETUP(misc)
{
	self->fd = rv_open_misc();
	if (self->fd < 0)
		SKIP(return, "no /dev/rknpu: %s", strerror(-self->fd));
	rk_model_calm();
}

FIXTURE_TEARDOWN(misc)
{
	rk_model_calm();
	close(self->fd);
}

static int destroy(int fd, uint64_t obj)
{
	struct drm_rknpu_mem_destroy d = { .obj_addr = obj };

	return rk_ioctl(fd, RV_MISC(DRM_RKNPU_MEM_DESTROY, sizeof(d)), &d);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

RK_TEST_F(misc, actions_work, "actions answer on /dev/rknpu as on the DRM node")
{
	static const struct {
		uint32_t id;
		int ret;
		uint32_t value;
	} want[] = {
		{ DRM_RKNPU_GET_HW_VERSION, 0, 0x46495245 },
		{ DRM_RKNPU_GET_DRV_VERSION, 0, 908 },
		{ DRM_RKNPU_GET_IOMMU_EN, 0, 1 },
		{ DRM_RKNPU_POWER_ON, -EINVAL, 0xabcd },
	};

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct drm_rknpu_action a = { .flags = want[i].id, .value = 0xabcd };

		EXPECT_EQ(want[i].ret, rk_ioctl(self->fd, RV_MISC(DRM_RKNPU_ACTION, 8), &a));
		EXPECT_EQ(want[i].value, a.value);
	}
}

RK_TEST_F(misc, is_no_drm_node,
	  "/dev/rknpu answers no DRM ioctl, by which programs tell the nodes apart")
{
	struct drm_rknpu_action a = { .flags = DRM_RKNPU_GET_DRV_VERSION };
	struct drm_version v = { 0 };

	EXPECT_EQ(-ENOTTY, rk_ioctl(self->fd, DRM_IOCTL_VERSION, &v));
	EXPECT_EQ(-ENOTTY, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_ACTION, &a));
	EXPECT_EQ(-ENOTTY, rk_ioctl(self->fd, RV_MISC(6, 8), &a));
	EXPECT_EQ(-ENOTTY, rk_ioctl(self->fd, RV_MISC(255, 8), &a));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd, 0));
}

RK_TEST_F(misc, structs_of_every_size,
	  "structs of every size are taken, and nothing behind them is touched")
{
	static const size_t sizes[] = { 32, 40, 48, 64, 4096, 16383 };
	struct drm_rknpu_mem_create *c;
	uint8_t buf[16384];

	c = (struct drm_rknpu_mem_create *)buf;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(buf, 0x77, sizeof(buf));
		*c = (struct drm_rknpu_mem_create) {
			.flags = RV_FLAGS, .size = 440, .sram_size = 0x5555,
			.iommu_domain_id = sizes[i] < 48 ? 99 : 0, .core_mask = 77,
		};
		ASSERT_EQ(0, rk_ioctl(self->fd, RV_MISC(DRM_RKNPU_MEM_CREATE, sizes[i]), buf))
			TH_LOG("%zu bytes", sizes[i]);
		EXPECT_LT(2, c->handle);
		EXPECT_EQ(4096, c->size);
		EXPECT_NE(0, c->obj_addr);
		EXPECT_NE(0, c->dma_addr);
		EXPECT_EQ(sizes[i] > 32 ? 0 : 0x5555, c->sram_size);
		EXPECT_EQ(sizes[i] < 48 ? 99 : 0, c->iommu_domain_id);
		for (size_t j = sizeof(*c); j < sizeof(buf); j++)
			ASSERT_EQ(0x77, buf[j]);
		EXPECT_EQ(0, destroy(self->fd, c->obj_addr));
		close(c->handle);
	}
	/* Nothing at all: no size. */
	EXPECT_EQ(-EINVAL, rk_ioctl(self->fd, RV_MISC(DRM_RKNPU_MEM_CREATE, 0), buf));
	EXPECT_EQ(-EFAULT, rk_ioctl(self->fd, RV_MISC(DRM_RKNPU_MEM_CREATE, 48), (void *)8));
}

RK_TEST_F(misc, mem_create_refuses, "MEM_CREATE refuses bad sizes, domains and descriptors")
{
	struct drm_rknpu_mem_create c = { .flags = RV_FLAGS };
	int before = count_fds();

	EXPECT_EQ(-EINVAL, rv_create(self->fd, &c));
	c.size = 4096;
	c.iommu_domain_id = 16;
	EXPECT_EQ(-EINVAL, rv_create(self->fd, &c));
	c.iommu_domain_id = 0;
	c.size = ~0ull;
	EXPECT_EQ(-ENOMEM, rv_create(self->fd, &c));
	c.size = 4096;
	c.handle = 4711;
	EXPECT_EQ(-EBADF, rv_create(self->fd, &c));
	c.handle = ~0u;
	EXPECT_EQ(-EBADF, rv_create(self->fd, &c));
	c.handle = self->fd;
	EXPECT_EQ(-EINVAL, rv_create(self->fd, &c));
	EXPECT_EQ(before, count_fds());
}

RK_TEST_F(misc, no_descriptor_left, "MEM_CREATE without a descriptor left says so, and keeps nothing")
{
	struct drm_rknpu_mem_create c = { .flags = RV_FLAGS, .size = 4096 };
	long long bos = rk_stat("bos");
	struct rlimit limit, none;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(-EMFILE, rv_create(self->fd, &c));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	EXPECT_TRUE(rk_stat_settles("bos", bos));
	c = (struct drm_rknpu_mem_create) { .flags = RV_FLAGS, .size = 4096 };
	ASSERT_EQ(0, rv_create(self->fd, &c));
	EXPECT_EQ(0, destroy(self->fd, c.obj_addr));
	close(c.handle);
}

RK_TEST_F_TIMEOUT(misc, no_address_left, 120,
		  "MEM_CREATE without addresses left says so as the vendor's driver does, and keeps nothing")
{
	struct drm_rknpu_mem_create c = { .flags = RV_FLAGS, .size = LARGE };
	uint64_t objs[4096 / (LARGE >> 20)];
	int n, ret = 0, fds, fd;
	long long bos;
	uint8_t *map;

	RK_REQUIRE_IOMMU();
	if (!access("/sys/kernel/debug/dma-api", F_OK))
		SKIP(return, "DMA-API debugging warns of memory that is mapped again and again");
	fd = rv_foreign_memory(LARGE, &map);
	if (fd == -ENOENT)
		SKIP(return, "neither /dev/udmabuf nor a DMA heap");
	ASSERT_LE(0, fd);
	/* The same memory each time, at other addresses. */
	for (n = 0; n < (int)(sizeof(objs) / sizeof(*objs)); n++) {
		struct drm_rknpu_mem_create again = { .handle = fd };

		ret = rv_create(self->fd, &again);
		if (ret)
			break;
		objs[n] = again.obj_addr;
	}
	EXPECT_EQ(-EFAULT, ret);
	ASSERT_LT(1, n);
	fds = count_fds();
	bos = rk_stat("bos");
	EXPECT_EQ(-EFAULT, rv_create(self->fd, &c));
	EXPECT_EQ(fds, count_fds());
	EXPECT_TRUE(rk_stat_settles("bos", bos));

	EXPECT_EQ(0, destroy(self->fd, objs[--n]));
	c = (struct drm_rknpu_mem_create) { .flags = RV_FLAGS, .size = LARGE };
	EXPECT_EQ(0, rv_create(self->fd, &c));
	EXPECT_EQ(0, destroy(self->fd, c.obj_addr));
	close(c.handle);
	while (n--)
		EXPECT_EQ(0, destroy(self->fd, objs[n]));
	munmap(map, LARGE);
	close(fd);
}

RK_TEST_F(misc, handles_are_dma_bufs, "a handle is a dma-buf that keeps the memory")
{
	struct dma_buf_sync s = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	struct drm_rknpu_mem_map m = { 0 };
	struct rv_bo bo;

	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 10000, RV_FLAGS, 0));
	EXPECT_EQ(12288, lseek(bo.handle, 0, SEEK_END));
	EXPECT_EQ(0, rk_ioctl(bo.handle, DMA_BUF_IOCTL_SYNC, &s));
	m.handle = bo.handle;
	EXPECT_EQ(-EINVAL, rk_ioctl(self->fd, RV_MISC(DRM_RKNPU_MEM_MAP, sizeof(m)), &m));
	EXPECT_EQ(FD_CLOEXEC, fcntl(bo.handle, F_GETFD));
	for (int i = 0; i < 10000; i++)
		ASSERT_EQ(0, bo.map[i]);
	EXPECT_EQ(0, rv_sync(&bo, 3, 0, 10000));
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 3, 0, 12289));

	/* The object goes, the memory stays while its fd is open. */
	EXPECT_EQ(0, destroy(self->fd, bo.obj));
	EXPECT_EQ(-EINVAL, destroy(self->fd, bo.obj));
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 3, 0, 1));
	bo.map[0] = 7;
	munmap(bo.map, bo.size);
	bo.map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, bo.handle, 0);
	ASSERT_NE(MAP_FAILED, bo.map);
	EXPECT_EQ(7, bo.map[0]);
	munmap(bo.map, 4096);
	close(bo.handle);
}

RK_TEST_F(misc, jobs_run, "a job runs and tells what it took, and so does fdinfo")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 5, 100, 3));
	ASSERT_EQ(0, rv_chain_fill(&c, 20));
	rv_chain_submit(&c, &s);
	s.iommu_domain_id = 3;
	s.task_counter = 99;
	ASSERT_EQ(0, rv_submit(self->fd, &s));
	EXPECT_EQ(15, s.task_counter);
	EXPECT_LT(0, s.hw_elapse_time);
	EXPECT_EQ(0, rv_chain_wrong(&c, 25));
	EXPECT_LT(0, rk_fdinfo(self->fd, "rknpu-client"));
	EXPECT_LT(0, rk_fdinfo(self->fd, "drm-engine-npu0") + rk_fdinfo(self->fd, "drm-engine-npu1") +
		     rk_fdinfo(self->fd, "drm-engine-npu2"));
	EXPECT_LT(0, rk_fdinfo(self->fd, "drm-total-memory"));
	rv_chain_fini(&c);
}

RK_TEST_F(misc, failing_jobs_tell, "a job that is refused or faults says why")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	rv_chain_submit(&c, &s);
	s.task_obj_addr++;
	s.task_counter = 99;
	EXPECT_EQ(-EINVAL, rv_submit(self->fd, &s));
	EXPECT_EQ(0, s.task_counter);
	rv_chain_submit(&c, &s);
	s.core_mask = 5;
	EXPECT_EQ(-EINVAL, rv_submit(self->fd, &s));
	/* Its buffers are in another domain. */
	rv_chain_submit(&c, &s);
	s.iommu_domain_id = 4;
	EXPECT_EQ(-EFAULT, rv_submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_run(&c, 9));
	rv_chain_fini(&c);
}

RK_TEST_F(misc, objects_live_as_long_as_they_are_used, "objects live as long as jobs use them")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 3, 0, 0));
	close(c.bo.handle);
	close(c.tasks.handle);
	EXPECT_EQ(0, rv_chain_run(&c, 30));

	for (int i = 0; i < 20; i++) {
		rv_chain_submit(&c, &s);
		s.flags |= DRM_RKNPU_JOB_NONBLOCK;
		ASSERT_EQ(0, rv_submit(self->fd, &s));
	}
	EXPECT_EQ(0, destroy(self->fd, c.tasks.obj));
	EXPECT_EQ(0, destroy(self->fd, c.bo.obj));
	munmap(c.bo.map, c.bo.size);
	munmap(c.tasks.map, c.tasks.size);
}

RK_TEST_F_TIMEOUT(misc, closing_frees, 120, "closing a file frees its objects and addresses")
{
	uint64_t obj = 0, iova = 0;
	int before = count_fds();

	for (int round = 0; round < 20; round++) {
		int fd = rv_open_misc();

		ASSERT_LE(0, fd);
		for (int i = 0; i < 8; i++) {
			struct drm_rknpu_mem_create c = { .flags = RV_FLAGS, .size = 1 << 20 };

			ASSERT_EQ(0, rv_create(fd, &c));
			close(c.handle);
			/* All are mapped from the start of what is free. */
			if (!round && !i)
				iova = c.dma_addr;
			if (!i)
				EXPECT_EQ(iova, c.dma_addr);
			obj = c.obj_addr;
		}
		close(fd);
		EXPECT_EQ(-EINVAL, destroy(self->fd, obj));
	}
	EXPECT_EQ(before, count_fds());
}

RK_TEST_F(misc, cookies_mean_nothing_to_other_files, "cookies of one file are unknown to another")
{
	int other = rv_open_misc();
	struct drm_rknpu_submit s;
	struct rv_chain c;
	struct rv_bo bo;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	rv_chain_submit(&c, &s);
	EXPECT_EQ(-EINVAL, rv_submit(other, &s));
	EXPECT_EQ(-EINVAL, destroy(other, c.tasks.obj));
	bo = c.bo;
	bo.fd = other;
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 3, 0, 4096));
	EXPECT_EQ(0, rv_chain_run(&c, 1));
	rv_chain_fini(&c);
	close(other);
}

RK_TEST_F(misc, import_of_own_objects,
	  "importing an object again adds a handle, in its file and in another one")
{
	struct drm_rknpu_mem_create c = { 0 };
	int other = rv_open_misc();
	struct rv_bo bo;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 8192, RV_FLAGS, 5));
	c.handle = bo.handle;
	ASSERT_EQ(0, rv_create(self->fd, &c));
	EXPECT_EQ(bo.handle, c.handle);
	EXPECT_EQ(8192, c.size);
	EXPECT_EQ(bo.obj, c.obj_addr);
	EXPECT_EQ(bo.iova, c.dma_addr);
	EXPECT_EQ(0, destroy(self->fd, bo.obj));
	EXPECT_EQ(0, rv_sync(&bo, 3, 0, 8192));

	ASSERT_EQ(0, rv_create(other, &c));
	EXPECT_NE(bo.obj, c.obj_addr);
	EXPECT_EQ(bo.iova, c.dma_addr);
	EXPECT_EQ(0, destroy(other, c.obj_addr));
	close(other);
	rv_bo_fini(&bo);
}

RK_TEST_F_TIMEOUT(misc, handles_of_an_object, 300, "an object has at most 65536 handles in a file")
{
	struct drm_rknpu_mem_create c = { 0 };
	struct rv_bo bo;
	int n, ret = 0;

	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 8192, RV_FLAGS, 0));
	c.handle = bo.handle;
	for (n = 1; n <= 65536 && !ret; n += !ret)
		ret = rv_create(self->fd, &c);
	EXPECT_EQ(65536, n);
	EXPECT_EQ(-EMFILE, ret);
	/* One less is one more. */
	EXPECT_EQ(0, destroy(self->fd, bo.obj));
	EXPECT_EQ(0, rv_create(self->fd, &c));
	rv_bo_fini(&bo);
}

RK_TEST_F(misc, import_of_foreign_memory, "a BO of node rocket can be imported and synced")
{
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_rknpu_mem_create c = { 0 };
	int rocket = rk_open();
	struct rk_bo bo;

	ASSERT_LE(0, rocket);
	ASSERT_EQ(0, rk_bo_init(&bo, rocket, 8192));
	p.handle = bo.handle;
	ASSERT_EQ(0, rk_ioctl(rocket, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p));
	c.handle = p.fd;
	ASSERT_EQ(0, rv_create(self->fd, &c));
	EXPECT_EQ(p.fd, c.handle);
	EXPECT_EQ(8192, c.size);
	EXPECT_NE(0, c.dma_addr);
	EXPECT_EQ(0, rv_sync_every_way(self->fd, c.obj_addr, 8192));

	/* The kernel reads tasks there through a mapping of its own. */
	EXPECT_EQ(rk_kernel_before(5, 18) ? -EINVAL : 0,
		  rv_run_tasks_in(self->fd, c.obj_addr, bo.map));
	EXPECT_EQ(0, destroy(self->fd, c.obj_addr));
	close(p.fd);
	close(rocket);
}

RK_TEST_F(misc, imported_task_buffer, "tasks are read from a DMA heap's memory")
{
	struct drm_rknpu_mem_create c = { 0 };
	struct rv_chain chain;
	uint8_t *map;
	int fd = rv_foreign_memory(4096, &map);

	if (fd == -ENOENT)
		SKIP(return, "neither /dev/udmabuf nor a DMA heap");
	ASSERT_LE(0, fd);
	c.handle = fd;
	ASSERT_EQ(0, rv_create(self->fd, &c));
	close(fd);
	ASSERT_EQ(0, rv_chain_init(&chain, self->fd, 2, 3, 0));
	for (int i = 0; i < 3; i++) {
		struct drm_rknpu_task *tasks = (struct drm_rknpu_task *)map;

		EXPECT_EQ(0, rv_chain_run_from(&chain, i, tasks, c.obj_addr));
		EXPECT_NE(0, tasks[4].int_status & RV_INT_DPU);
	}
	EXPECT_EQ(0, destroy(self->fd, c.obj_addr));
	EXPECT_EQ(-EINVAL, rv_chain_run_from(&chain, 1, (struct drm_rknpu_task *)map, c.obj_addr));
	rv_chain_fini(&chain);
	munmap(map, 4096);
}

RK_TEST_F(misc, objects_travel_to_the_drm_node_and_back,
	  "a dma-buf is one object for both nodes, whoever lets go first")
{
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_rknpu_mem_create c = { 0 };
	int drm = rv_open();
	struct rv_bo bo;

	ASSERT_LE(0, drm);
	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 4096, RV_FLAGS, 0));
	for (int i = 0; i < 2; i++) {
		p.fd = bo.handle;
		ASSERT_EQ(0, rk_ioctl(drm, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
		c = (struct drm_rknpu_mem_create) { .handle = p.handle };
		ASSERT_EQ(0, rk_ioctl(drm, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
		EXPECT_EQ(bo.iova, c.dma_addr);
		EXPECT_NE(bo.obj, c.obj_addr);
		ASSERT_EQ(0, rk_ioctl(drm, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p));
		c = (struct drm_rknpu_mem_create) { .handle = p.fd };
		ASSERT_EQ(0, rv_create(self->fd, &c));
		EXPECT_EQ(bo.obj, c.obj_addr);
		EXPECT_EQ(0, destroy(self->fd, bo.obj));
		close(p.fd);
		ASSERT_EQ(0, rk_gem_close(drm, p.handle));
	}
	rv_bo_fini(&bo);

	ASSERT_EQ(0, rv_bo_init(&bo, drm, 4096, RV_FLAGS, 0));
	p.handle = bo.handle;
	ASSERT_EQ(0, rk_ioctl(drm, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p));
	c = (struct drm_rknpu_mem_create) { .handle = p.fd };
	ASSERT_EQ(0, rv_create(self->fd, &c));
	EXPECT_EQ(bo.iova, c.dma_addr);
	rv_bo_fini(&bo);
	ASSERT_EQ(0, rk_ioctl(drm, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	close(p.fd);
	EXPECT_EQ(0, destroy(self->fd, c.obj_addr));
	close(drm);
}

struct racer {
	int fd;
	uint64_t obj;
	int ret;
};

static void *race(void *data)
{
	struct racer *r = data;

	r->ret = destroy(r->fd, r->obj);
	return NULL;
}

RK_TEST_F(misc, destroying_at_once, "of two threads that destroy an object one succeeds")
{
	for (int i = 0; i < 100; i++) {
		struct drm_rknpu_mem_create c = { .flags = RV_FLAGS, .size = 4096 };
		struct racer r[2];
		pthread_t t[2];

		ASSERT_EQ(0, rv_create(self->fd, &c));
		for (int j = 0; j < 2; j++) {
			r[j] = (struct racer) { self->fd, c.obj_addr, 1 };
			ASSERT_EQ(0, pthread_create(&t[j], NULL, race, &r[j]));
		}
		for (int j = 0; j < 2; j++)
			pthread_join(t[j], NULL);
		EXPECT_EQ(true, !r[0].ret || !r[1].ret);
		/* The fd still keeps the memory. */
		EXPECT_EQ(4096, lseek(c.handle, 0, SEEK_END));
		close(c.handle);
	}
}

RK_TEST_F(misc, processes_do_not_share_addresses, "another process has another address space")
{
	struct rv_chain c;
	int status;
	pid_t pid;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 50));
	pid = fork();
	if (!pid) {
		int fd = rv_open_misc();

		_exit(fd >= 0 && rv_chain_submit_by(&c, fd) == -EFAULT ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, rv_chain_wrong(&c, ~50 & 0xff));
	rv_chain_fini(&c);
}

RK_TEST_F(misc, device_goes_and_comes_back,
	  "what belongs to a device that is gone can still be let go")
{
	struct drm_rknpu_mem_create create_arg = { .flags = RV_FLAGS, .size = 4096 };
	struct drm_rknpu_action a = { .flags = DRM_RKNPU_GET_DRV_VERSION };
	struct pollfd room = { .fd = self->fd, .events = POLLIN | POLLOUT };
	struct drm_rknpu_submit s;
	struct rv_chain c;
	int fd = -1, ret;

	EXPECT_EQ(1, poll(&room, 1, 0));
	EXPECT_EQ(POLLOUT, room.revents);
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 3, 0, 0));
	rv_chain_submit(&c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK;
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(0, rv_submit(self->fd, &s));
	ret = rk_rebind(0);
	if (ret == -ENODEV || ret == -EACCES)
		SKIP(return, "cannot unbind a core: %s", strerror(-ret));
	ASSERT_EQ(0, ret);

	EXPECT_EQ(-ENODEV, rk_ioctl(self->fd, RV_MISC(DRM_RKNPU_ACTION, 8), &a));
	EXPECT_EQ(-ENODEV, rv_create(self->fd, &create_arg));
	EXPECT_EQ(-ENODEV, rv_submit(self->fd, &s));
	EXPECT_EQ(-ENODEV, destroy(self->fd, c.bo.obj));
	EXPECT_EQ(1, poll(&room, 1, 0));
	EXPECT_EQ(POLLERR | POLLHUP, room.revents);
	munmap(c.bo.map, c.bo.size);
	munmap(c.tasks.map, c.tasks.size);
	close(c.tasks.handle);

	for (int i = 0; i < 100 && fd < 0; i++) {
		rk_sleep_ms(20);
		fd = rv_open_misc();
	}
	ASSERT_LE(0, fd);
	/* Memory of the device that is gone is foreign now, and good. */
	create_arg = (struct drm_rknpu_mem_create) { .handle = c.bo.handle };
	EXPECT_EQ(0, rv_create(fd, &create_arg));
	close(c.bo.handle);
	ASSERT_EQ(0, rv_chain_init(&c, fd, 2, 0, 0));
	EXPECT_EQ(0, rv_chain_run(&c, 5));
	rv_chain_fini(&c);
	close(fd);
}

RK_HARNESS_MAIN
