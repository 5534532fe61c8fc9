// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the CPU writes gets to the NPU, and what the NPU writes to the CPU, by what each call promises to maintain.
 *
 * boot: memory
 * boot: coherent TEST_LIMIT=400 --model npu-coherent=on
 * boot: evict TEST_LIMIT=400 --model npu-evict=1 --model npu-ivac-cleans=off
 * boot: noiommu
 * boot: debug-ext
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <linux/dma-buf.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define LINE	64u
/* A job of these moves 32 KiB. */
#define ROWS	1024u
#define BYTES	((uint32_t)RK_OP_BYTES(ROWS))

FIXTURE(caches) {
	int fd;
	/* Each byte of the output is one more than that of the input. */
	struct rk_op inc;
	struct rk_bo in, out;
	uint64_t dirty;
};

FIXTURE_SETUP(caches)
{
	RK_OPEN_OR_SKIP(self->fd);
	ASSERT_EQ(0, rk_op_init(&self->inc, self->fd, ROWS, 1, 1));
	ASSERT_EQ(0, rk_bo_init(&self->in, self->fd, BYTES));
	ASSERT_EQ(0, rk_bo_init(&self->out, self->fd, BYTES));
	self->dirty = rk_count_all(NPU_CNT_DIRTY_READ);
}

FIXTURE_TEARDOWN(caches)
{
	/* The model's word for it: no result need have been wrong. */
	EXPECT_EQ(self->dirty, rk_count_all(NPU_CNT_DIRTY_READ));
	rk_bo_fini(&self->out);
	rk_bo_fini(&self->in);
	rk_op_fini(&self->inc);
	close(self->fd);
}

/* Bytes in [from, to) that are not @value. */
static size_t wrong(const uint8_t *p, size_t from, size_t to, uint8_t value)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += p[i] != value;
	return n;
}

static int fini_ranges(const struct rk_bo *bo, const struct drm_rocket_bo_range *r, uint32_t n)
{
	struct drm_rocket_fini_bo_ranges f = {
		.handle = bo->handle, .range_count = n, .ranges = (uintptr_t)r,
	};

	return rk_ioctl(bo->fd, DRM_IOCTL_ROCKET_FINI_BO_RANGES, &f);
}

static int prep_ranges(const struct rk_bo *bo, const struct drm_rocket_bo_range *r, uint32_t n)
{
	struct drm_rocket_prep_bo_ranges p = {
		.handle = bo->handle, .range_count = n, .ranges = (uintptr_t)r,
		.timeout_ns = rk_now() + 25000 * rk_slow() * RK_MS,
	};

	return rk_ioctl(bo->fd, DRM_IOCTL_ROCKET_PREP_BO_RANGES, &p);
}

RK_TEST_F(caches, fresh_bo_has_zeros, "the NPU finds zeros in a BO that nobody wrote, not what its pages held")
{
	/* So that pages with something else in them are free. */
	ASSERT_EQ(0, rk_bo_fill(&self->in, 0x5a, BYTES));
	rk_bo_fini(&self->in);
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, rk_bo_init(&self->in, self->fd, BYTES));
		ASSERT_EQ(0, rk_submit_op(&self->inc, &self->in, &self->out));
		EXPECT_EQ(0, rk_bo_differs(&self->out, 1, BYTES));
		self->inc.used = RK_OP_PROG;
		if (i < 3)
			rk_bo_fini(&self->in);
	}
}

RK_TEST_F(caches, both_ways_again_and_again, "the same memory takes the CPU's bytes and the NPU's in turn")
{
	struct rk_bo *from = &self->in, *to = &self->out;

	ASSERT_EQ(0, rk_bo_fill(from, 0, BYTES));
	for (int i = 0; i < 20; i++) {
		struct rk_bo *t = from;

		ASSERT_EQ(0, rk_submit_op(&self->inc, from, to));
		ASSERT_EQ(0, rk_bo_differs(to, 3 * i + 1, BYTES));
		for (size_t j = 0; j < BYTES; j++)
			to->map[j] += 2;
		ASSERT_EQ(0, rk_fini(to));
		self->inc.used = RK_OP_PROG;
		from = to;
		to = t;
	}
}

RK_TEST_F(caches, ranges_cost_their_lines,
	  "FINI_BO_RANGES and PREP_BO_RANGES maintain the lines of their ranges, and no others of the BO")
{
	const struct drm_rocket_bo_range r = { 3 * LINE, 8 * LINE };
	uint64_t before, fini, prep;

	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	RK_REQUIRE_MODEL();
	before = rk_ctl_read64(NPU_CTL_CACHE_LINES_LO);
	if (!before)
		SKIP(return, "the NPU snoops the CPUs' caches");
	ASSERT_EQ(0, fini_ranges(&self->in, &r, 1));
	fini = rk_ctl_read64(NPU_CTL_CACHE_LINES_LO);
	ASSERT_EQ(0, prep_ranges(&self->in, &r, 1));
	prep = rk_ctl_read64(NPU_CTL_CACHE_LINES_LO);
	EXPECT_LE(r.size / LINE, fini - before);
	EXPECT_GT(BYTES / LINE, fini - before);
	EXPECT_LE(r.size / LINE, prep - fini);
	EXPECT_GT(BYTES / LINE, prep - fini);
}

RK_TEST_F(caches, fini_of_ranges_delivers, "FINI_BO_RANGES alone delivers its ranges, two in one cache line, too")
{
	const struct drm_rocket_bo_range r[] = {
		{ 5, 20 }, { 26, 30 }, { 3 * LINE, 4 * LINE }, { RK_PAGE - 3, 7 },
		{ 3 * RK_PAGE + 1, 2 * RK_PAGE },
	};
	size_t at = 0;

	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	ASSERT_EQ(0, rk_bo_fill(&self->in, 10, BYTES));
	for (size_t i = 0; i < ARRAY_SIZE(r); i++)
		memset(self->in.map + r[i].offset, 20 + i, r[i].size);
	ASSERT_EQ(0, fini_ranges(&self->in, r, ARRAY_SIZE(r)));
	ASSERT_EQ(0, rk_submit_op(&self->inc, &self->in, &self->out));
	ASSERT_EQ(0, rk_prep(&self->out, 25000));
	for (size_t i = 0; i < ARRAY_SIZE(r); i++) {
		EXPECT_EQ(0, wrong(self->out.map, at, r[i].offset, 11));
		at = r[i].offset + r[i].size;
		EXPECT_EQ(0, wrong(self->out.map, r[i].offset, at, 21 + i)) TH_LOG("range %zu", i);
	}
	EXPECT_EQ(0, wrong(self->out.map, at, BYTES, 11));
}

RK_TEST_F(caches, prep_of_ranges_fetches, "PREP_BO_RANGES shows what the NPU wrote in its ranges")
{
	const struct drm_rocket_bo_range r[] = {
		{ 7, 20 }, { 30, LINE }, { RK_PAGE - 3, 7 }, { 3 * RK_PAGE + 1, 2 * RK_PAGE },
	};

	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	ASSERT_EQ(0, rk_bo_fill(&self->in, 40, BYTES));
	/* Now the CPU has them all in its caches. */
	ASSERT_EQ(0, rk_bo_fill(&self->out, 0, BYTES));
	ASSERT_EQ(0, rk_submit_op(&self->inc, &self->in, &self->out));
	ASSERT_EQ(0, prep_ranges(&self->out, r, ARRAY_SIZE(r)));
	for (size_t i = 0; i < ARRAY_SIZE(r); i++) {
		EXPECT_EQ(0, wrong(self->out.map, r[i].offset, r[i].offset + r[i].size, 41))
			TH_LOG("range %zu", i);
	}
}

RK_TEST_F(caches, prep_of_ranges_keeps_what_was_handed_over,
	  "PREP_BO_RANGES takes nothing of what FINI_BO_RANGES has handed over beside it")
{
	const struct drm_rocket_bo_range mine = { 10, 30 }, other = { 40, 30 };

	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	ASSERT_EQ(0, rk_bo_fill(&self->in, 0, BYTES));
	memset(self->in.map + mine.offset, 50, mine.size);
	ASSERT_EQ(0, fini_ranges(&self->in, &mine, 1));
	ASSERT_EQ(0, prep_ranges(&self->in, &other, 1));
	EXPECT_EQ(0, wrong(self->in.map, 10, 40, 50));
	ASSERT_EQ(0, rk_submit_op(&self->inc, &self->in, &self->out));
	ASSERT_EQ(0, rk_prep(&self->out, 25000));
	EXPECT_EQ(0, wrong(self->out.map, 10, 40, 51));
	EXPECT_EQ(0, wrong(self->out.map, 40, BYTES, 1));
}

/* ---- node rknpu ---- */

FIXTURE(vcaches) {
	int fd;
	uint64_t dirty;
};

FIXTURE_SETUP(vcaches)
{
	RV_OPEN_OR_SKIP(self->fd);
	self->dirty = rk_count_all(NPU_CNT_DIRTY_READ);
}

FIXTURE_TEARDOWN(vcaches)
{
	EXPECT_EQ(self->dirty, rk_count_all(NPU_CNT_DIRTY_READ));
	close(self->fd);
}

RK_TEST_F(vcaches, mem_sync_both_ways, "MEM_SYNC with both directions keeps what the CPU has just written")
{
	struct rv_bo bo;

	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 2 * RK_PAGE, RV_FLAGS, 0));
	for (int i = 1; i < 4; i++) {
		memset(bo.map, i, bo.size);
		ASSERT_EQ(0, rv_sync(&bo, DRM_RKNPU_MEM_SYNC_TO_DEVICE |
				     DRM_RKNPU_MEM_SYNC_FROM_DEVICE, 0, bo.size));
		EXPECT_EQ(0, wrong(bo.map, 0, bo.size, i));
	}
	rv_bo_fini(&bo);
}

RK_TEST_F(vcaches, status_outlives_a_sync, "MEM_SYNC from the device leaves int_status in the task buffer")
{
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 3, 0, 0));
	for (int i = 0; i < 3; i++) {
		for (uint32_t j = 0; j < c.n; j++)
			rv_chain_task(&c, j)->int_status = 0;
		ASSERT_EQ(0, rv_sync(&c.tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c.tasks.size));
		ASSERT_EQ(0, rv_chain_run(&c, i));
		ASSERT_EQ(0, rv_sync(&c.tasks, DRM_RKNPU_MEM_SYNC_FROM_DEVICE, 0, c.tasks.size));
		EXPECT_NE(0, rv_chain_task(&c, c.n - 1)->int_status & RV_INT_DPU);
	}
	rv_chain_fini(&c);
}

RK_TEST_F(vcaches, tasks_from_any_mapping, "tasks are read, and their end is written, with each kind of mapping")
{
	/* Cacheable, write-combined, neither. */
	static const uint32_t kinds[] = { 0x40bu, 0x40du, 0x409u };
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 2, 0, 0));
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		struct rv_bo tasks;

		ASSERT_EQ(0, rv_bo_init(&tasks, self->fd, RK_PAGE, kinds[k], 0));
		for (int i = 0; i < 3; i++) {
			struct drm_rknpu_task *t = (struct drm_rknpu_task *)tasks.map;

			if (kinds[k] & DRM_RKNPU_MEM_CACHEABLE)
				ASSERT_EQ(0, rv_chain_run_from(&c, 0, t, tasks.obj));
			ASSERT_EQ(0, rv_chain_run_from(&c, 10 * i, t, tasks.obj)) TH_LOG("%zu", k);
			EXPECT_NE(0, t[1].int_status & RV_INT_DPU) TH_LOG("kind %zu", k);
		}
		rv_bo_fini(&tasks);
	}
	rv_chain_fini(&c);
}

/*
 * ---- imported memory; vgem's is in rknpu_vendor_gone ----
 */

static int new_udmabuf(uint8_t **map)
{
	return rv_udmabuf(BYTES, map);
}

static int new_heap(uint8_t **map)
{
	return rv_heap_memory(BYTES, map);
}

static int new_vendor(uint8_t **map)
{
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct rv_bo bo;
	int fd = rv_open(), ret;

	if (fd < 0)
		return -ENOENT;
	ret = rv_bo_init(&bo, fd, BYTES, RV_FLAGS_TASK, 0);
	if (!ret) {
		p.handle = bo.handle;
		ret = rk_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p);
		*map = bo.map;
	}
	close(fd);
	return ret ? ret : p.fd;
}

FIXTURE(imported) {
	struct rk_client c;
	struct rk_op inc;
	struct rk_bo bo;
	uint64_t dirty;
	uint8_t *map;
	int buf;
};

FIXTURE_VARIANT(imported) {
	int (*make)(uint8_t **map);
};

FIXTURE_VARIANT_ADD(imported, udmabuf) { .make = new_udmabuf };
FIXTURE_VARIANT_ADD(imported, dma_heap) { .make = new_heap };
FIXTURE_VARIANT_ADD(imported, node_rknpu) { .make = new_vendor };

FIXTURE_SETUP(imported)
{
	struct drm_rocket_bo_info i = { 0 };
	uint32_t handle;
	int fd;

	RK_REQUIRE_IOMMU();
	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	RK_OPEN_OR_SKIP(fd);
	ASSERT_EQ(0, rk_client_init_on(&self->c, fd));
	ASSERT_EQ(0, rk_op_init(&self->inc, fd, ROWS, 1, 1));
	self->buf = variant->make(&self->map);
	if (self->buf == -ENOENT)
		SKIP(return, "this kernel has no such exporter");
	ASSERT_LE(0, self->buf);
	ASSERT_EQ(0, drmPrimeFDToHandle(fd, self->buf, &handle));
	i.handle = handle;
	ASSERT_EQ(0, rk_ioctl(fd, DRM_IOCTL_ROCKET_GET_BO_INFO, &i));
	self->bo = (struct rk_bo) { .fd = fd, .handle = handle, .iova = i.dma_address };
	self->dirty = rk_count_all(NPU_CNT_DIRTY_READ);
}

FIXTURE_TEARDOWN(imported)
{
	EXPECT_EQ(self->dirty, rk_count_all(NPU_CNT_DIRTY_READ));
	munmap(self->map, BYTES);
	close(self->buf);
	rk_op_fini(&self->inc);
	rk_client_fini(&self->c);
}

RK_TEST_F(imported, goes_both_ways, "memory of this exporter takes the CPU's bytes and the NPU's in turn")
{
	struct rk_bo own;

	ASSERT_EQ(0, rk_bo_init(&own, self->c.fd, BYTES));
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, rk_dmabuf_sync(self->buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
		memset(self->map, 10 * i, BYTES);
		ASSERT_EQ(0, rk_dmabuf_sync(self->buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
		self->inc.used = RK_OP_PROG;
		ASSERT_EQ(0, rk_submit_op(&self->inc, &self->bo, &own));
		EXPECT_EQ(0, rk_bo_differs(&own, 10 * i + 1, BYTES));
		self->inc.used = RK_OP_PROG;
		ASSERT_EQ(0, rk_submit_op(&self->inc, &own, &self->bo));
		/* udmabuf invalidates before it waits. */
		ASSERT_EQ(0, rk_prep(&self->bo, 25000));
		ASSERT_EQ(0, rk_dmabuf_sync(self->buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
		EXPECT_EQ(0, wrong(self->map, 0, BYTES, 10 * i + 2));
		ASSERT_EQ(0, rk_dmabuf_sync(self->buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	}
	rk_bo_fini(&own);
}

RK_TEST_F(imported, fresh_has_zeros, "the NPU finds zeros in memory of this exporter that nobody wrote")
{
	struct rk_bo own;

	ASSERT_EQ(0, rk_bo_init(&own, self->c.fd, BYTES));
	ASSERT_EQ(0, rk_submit_op(&self->inc, &self->bo, &own));
	EXPECT_EQ(0, rk_bo_differs(&own, 1, BYTES));
	rk_bo_fini(&own);
}

/* On node rknpu, which is @fd. */
static int import(struct rv_bo *bo, int fd, int buf)
{
	struct drm_prime_handle p = { .fd = buf };
	struct drm_rknpu_mem_create c = { 0 };
	int ret = rk_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p);

	c.handle = p.handle;
	if (!ret)
		ret = rv_create(fd, &c);
	*bo = (struct rv_bo) { .fd = fd, .obj = c.obj_addr };
	return ret;
}

RK_TEST_F(imported, status_outlives_a_sync,
	  "MEM_SYNC from the device leaves int_status in a task buffer of this exporter")
{
	struct drm_rknpu_task *tasks = (struct drm_rknpu_task *)self->map;
	struct rv_chain c;
	struct rv_bo bo;
	int fd = rv_open();

	if (fd < 0)
		SKIP(return, "no vendor node");
	ASSERT_EQ(0, import(&bo, fd, self->buf));
	ASSERT_EQ(0, rv_chain_init(&c, fd, 3, 0, 0));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, rv_chain_run_from(&c, i, tasks, bo.obj));
		ASSERT_EQ(0, rv_sync(&bo, DRM_RKNPU_MEM_SYNC_FROM_DEVICE, 0, BYTES));
		EXPECT_NE(0, tasks[c.n - 1].int_status & RV_INT_DPU);
	}
	rv_chain_fini(&c);
	close(fd);
}

RK_TEST_F(imported, mem_sync, "MEM_SYNC does for this exporter's memory what it does for the node's own")
{
	struct rk_bo own;
	struct rv_bo bo;
	int fd = rv_open();

	if (fd < 0)
		SKIP(return, "no vendor node");
	ASSERT_EQ(0, import(&bo, fd, self->buf));
	ASSERT_EQ(0, rk_bo_init(&own, self->c.fd, BYTES));
	for (int i = 0; i < 5; i++) {
		memset(self->map, 10 * i, BYTES);
		/* Of udmabuf's, too, though nobody has begun an access. */
		ASSERT_EQ(0, rv_sync(&bo, DRM_RKNPU_MEM_SYNC_TO_DEVICE |
				     (i & 1 ? DRM_RKNPU_MEM_SYNC_FROM_DEVICE : 0), 0, BYTES));
		EXPECT_EQ(0, wrong(self->map, 0, BYTES, 10 * i))
		self->inc.used = RK_OP_PROG;
		ASSERT_EQ(0, rk_submit_op(&self->inc, &self->bo, &own));
		EXPECT_EQ(0, rk_bo_differs(&own, 10 * i + 1, BYTES));
		self->inc.used = RK_OP_PROG;
		ASSERT_EQ(0, rk_submit_op(&self->inc, &own, &self->bo));
		ASSERT_EQ(0, rk_prep(&self->bo, 25000));
		ASSERT_EQ(0, rv_sync(&bo, DRM_RKNPU_MEM_SYNC_FROM_DEVICE, 0, BYTES));
		EXPECT_EQ(0, wrong(self->map, 0, BYTES, 10 * i + 2));
	}
	rk_bo_fini(&own);
	close(fd);
}

RK_HARNESS_MAIN
