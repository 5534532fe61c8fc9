// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sequence of ioctls that librknnrt 2.3.0 makes for one model on driver
 * 0.9.8 (public trace), and what it checks of each answer. The programs are ours.
 *
 * boot: vendor
 * boot: dtvendor
 * boot: armhfvend
 * boot: noiommulib
 * boot: debug-vendor
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define INPUTS		4
#define TASKS		3

FIXTURE(replay)
{
	int fd;
	struct rv_chain c;
	struct rv_bo internal;
	struct rv_bo io[INPUTS];
};

FIXTURE_SETUP(replay)
{
	RV_OPEN_OR_SKIP(self->fd);
}

FIXTURE_TEARDOWN(replay)
{
	close(self->fd);
}

static int act(int fd, uint32_t flags, uint32_t *value)
{
	struct drm_rknpu_action a = { .flags = flags, .value = *value };
	int ret = rk_ioctl(fd, DRM_IOCTL_RKNPU_ACTION, &a);

	*value = a.value;
	return ret;
}

/* Steps 1 to 5: who are you, power, priority. */
static void greet(struct __test_metadata *_metadata, int fd)
{
	uint32_t v = ~0u;

	EXPECT_EQ(0, act(fd, DRM_RKNPU_GET_HW_VERSION, &v));
	EXPECT_EQ(0x46495245, v);
	v = 0;
	EXPECT_EQ(0, act(fd, DRM_RKNPU_GET_DRV_VERSION, &v));
	EXPECT_EQ(908, v);
	v = 0;
	/* Fails on the vendor's 0.9.8, and that is tolerated. */
	EXPECT_EQ(-EINVAL, act(fd, DRM_RKNPU_POWER_ON, &v));
	v = -19;
	EXPECT_EQ(0, act(fd, DRM_RKNPU_SET_PROC_NICE, &v));
	v = 0;
	EXPECT_EQ(0, act(fd, DRM_RKNPU_GET_DRV_VERSION, &v));
	EXPECT_EQ(908, v);
}

/* Step 6, per buffer: IOMMU?, create, name, export, map, sync of the exact size. */
static void buffer(struct __test_metadata *_metadata, int fd, struct rv_bo *bo, uint64_t size,
		   uint32_t flags)
{
	struct drm_rknpu_mem_create c = { .flags = flags, .size = size };
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct { uint32_t handle, name; } flink = { 0 };
	struct drm_rknpu_mem_map m = { 0 };
	uint32_t v = 0;

	EXPECT_EQ(0, act(fd, DRM_RKNPU_GET_IOMMU_EN, &v));
	EXPECT_EQ(!rk_no_iommu(), v);
	ASSERT_EQ(0, rk_ioctl(fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
	EXPECT_NE(0, c.handle);
	EXPECT_EQ(flags, c.flags);
	EXPECT_EQ((size + 4095) & ~4095ull, c.size);
	EXPECT_NE(0, c.obj_addr);
	EXPECT_NE(0, c.dma_addr);
	EXPECT_EQ(0, c.dma_addr & 4095);
	EXPECT_GE(1ull << 32, c.dma_addr + c.size);
	EXPECT_EQ(0, c.sram_size);
	EXPECT_EQ(0, c.iommu_domain_id);

	flink.handle = c.handle;
	EXPECT_EQ(0, rk_ioctl(fd, _IOWR('d', 0x0a, flink), &flink));
	EXPECT_NE(0, flink.name);
	p.handle = c.handle;
	EXPECT_EQ(0, rk_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p));
	EXPECT_LE(0, p.fd);
	close(p.fd);

	m.handle = c.handle;
	ASSERT_EQ(0, rk_ioctl(fd, DRM_IOCTL_RKNPU_MEM_MAP, &m));
	*bo = (struct rv_bo) {
		.fd = fd, .handle = c.handle, .size = c.size, .obj = c.obj_addr, .iova = c.dma_addr,
	};
	bo->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, m.offset);
	ASSERT_NE(MAP_FAILED, bo->map);
	EXPECT_EQ(0, rv_sync(bo, 3, 0, size));
}

/* Step 8. */
static void infer(struct __test_metadata *_metadata, struct rv_chain *c, struct rv_bo *input,
		  int value)
{
	struct drm_rknpu_submit s;

	ASSERT_EQ(0, rv_chain_fill(c, value));
	EXPECT_EQ(0, rv_sync(&c->bo, 1, 2 * RK_PAGE + 512, 6656));
	EXPECT_EQ(0, rv_sync(input, 1, 0, input->size));
	EXPECT_EQ(0, rv_sync(input, 1, 0, input->size));
	memset(&s, 0, sizeof(s));
	s.flags = 5;
	s.timeout = 6000;
	s.task_number = TASKS * 3;
	s.task_obj_addr = c->tasks.obj;
	s.fence_fd = -1;
	for (int i = 0; i < 3; i++)
		s.subcore_task[i] = (struct drm_rknpu_subcore_task) { 0, TASKS };
	EXPECT_EQ(0, rk_ioctl(c->fd, DRM_IOCTL_RKNPU_SUBMIT, &s));
	EXPECT_EQ(5, s.flags);
	EXPECT_EQ(6000, s.timeout);
	EXPECT_EQ(0, s.task_start);
	EXPECT_EQ(TASKS * 3, s.task_number);
	/* The runtime calls it a failure if this is less. */
	EXPECT_EQ(TASKS * 3, s.task_counter);
	EXPECT_EQ(c->tasks.obj, s.task_obj_addr);
	EXPECT_EQ(0, s.iommu_domain_id);
	EXPECT_EQ(0, s.task_base_addr);
	EXPECT_LT(0, s.hw_elapse_time);
	EXPECT_TRUE(s.core_mask == 1 || s.core_mask == 2 || s.core_mask == 4);
	EXPECT_EQ(-1, s.fence_fd);
	/* Up to three times. */
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, rv_sync(&c->bo, 2, 0, c->bo.size));
	EXPECT_EQ(0, rv_chain_wrong(c, value + TASKS));
	EXPECT_NE(0, rv_chain_task(c, TASKS - 1)->int_status & RV_INT_DPU);
}

RK_TEST_F(replay, one_model, "the calls of librknnrt for one model give the answers that it checks")
{
	uint32_t v = 0;

	greet(_metadata, self->fd);
	ASSERT_EQ(0, rv_chain_init(&self->c, self->fd, TASKS, 0, 0));
	buffer(_metadata, self->fd, &self->internal, 150528, RV_FLAGS);
	for (int i = 0; i < INPUTS; i++)
		buffer(_metadata, self->fd, &self->io[i], 440 + 4000 * i, RV_FLAGS);
	EXPECT_EQ(0, rv_sync(&self->c.bo, 1, 0, self->c.bo.size));
	EXPECT_EQ(0, rv_sync(&self->c.tasks, 1, 0, TASKS * sizeof(struct drm_rknpu_task)));
	for (int run = 0; run < 5; run++)
		infer(_metadata, &self->c, &self->io[0], run * 10);
	for (int i = 0; i < INPUTS; i++)
		rv_bo_fini(&self->io[i]);
	rv_bo_fini(&self->internal);
	rv_chain_fini(&self->c);
	EXPECT_EQ(-EINVAL, act(self->fd, DRM_RKNPU_POWER_OFF, &v));
}

RK_TEST_F(replay, one_core_by_name, "the calls of another trace run on the core that they name")
{
	struct drm_rknpu_submit s;

	ASSERT_EQ(0, rv_chain_init(&self->c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&self->c, 9));
	rv_chain_submit(&self->c, &s);
	s.core_mask = 1;
	s.task_number = 1;
	for (int i = 1; i < 5; i++)
		s.subcore_task[i] = (struct drm_rknpu_subcore_task) { i < 3 ? i : 0, 0 };
	EXPECT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT, &s));
	EXPECT_EQ(1, s.task_counter);
	EXPECT_EQ(1, s.core_mask);
	EXPECT_EQ(0, rv_chain_wrong(&self->c, 10));
	rv_chain_fini(&self->c);
}

RK_HARNESS_MAIN
