// SPDX-License-Identifier: GPL-2.0-only
/* What the tests of the vendor's uAPI share: its node, buffers, and provable jobs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "rknpu_vendor_util.h"

static int open_named(const char *fmt, int first, int last)
{
	char path[64];

	for (int i = first; i <= last; i++) {
		int fd;

		snprintf(path, sizeof(path), fmt, i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (rk_is_driver(fd, "rknpu"))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

int rv_open(void)
{
	return open_named("/dev/dri/card%d", 0, 15);
}

int rv_open_render(void)
{
	return open_named("/dev/dri/renderD%d", 128, 143);
}

int rv_open_misc(void)
{
	int fd = open("/dev/rknpu", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool is_misc(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == 10;
}

int rv_ioctl(int fd, unsigned long cmd, void *arg)
{
	if (is_misc(fd))
		cmd = RV_MISC(_IOC_NR(cmd) - 0x40, _IOC_SIZE(cmd));
	return rk_ioctl(fd, cmd, arg);
}

int rv_create(int fd, struct drm_rknpu_mem_create *c)
{
	return rv_ioctl(fd, DRM_IOCTL_RKNPU_MEM_CREATE, c);
}

int rv_submit(int fd, struct drm_rknpu_submit *s)
{
	return rv_ioctl(fd, DRM_IOCTL_RKNPU_SUBMIT, s);
}

int rv_action(int fd, uint32_t flags, uint32_t *value)
{
	struct drm_rknpu_action a = { .flags = flags, .value = *value };
	int ret = rv_ioctl(fd, DRM_IOCTL_RKNPU_ACTION, &a);

	*value = a.value;
	return ret;
}

/* What to call mmap() with. */
static int map_target(struct rv_bo *bo, uint64_t *offset)
{
	struct drm_rknpu_mem_map m = { .handle = bo->handle };
	int ret;

	*offset = 0;
	if (is_misc(bo->fd))
		return bo->handle;
	ret = rk_ioctl(bo->fd, DRM_IOCTL_RKNPU_MEM_MAP, &m);
	*offset = m.offset;
	return ret ? ret : bo->fd;
}

int rv_bo_init(struct rv_bo *bo, int fd, uint64_t size, uint32_t flags, int domain)
{
	struct drm_rknpu_mem_create c = {
		.flags = flags, .size = size, .iommu_domain_id = domain,
	};
	uint64_t offset;
	void *map;
	int ret;

	memset(bo, 0, sizeof(*bo));
	ret = rv_ioctl(fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c);
	if (ret)
		return ret;
	*bo = (struct rv_bo) {
		.fd = fd, .handle = c.handle, .size = c.size, .obj = c.obj_addr, .iova = c.dma_addr,
	};
	ret = map_target(bo, &offset);
	if (ret < 0)
		return ret;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ret, offset);
	if (map == MAP_FAILED)
		return -errno;
	bo->map = map;
	return 0;
}

void rv_bo_fini(struct rv_bo *bo)
{
	struct drm_rknpu_mem_destroy d = { .handle = bo->handle, .obj_addr = bo->obj };

	if (bo->map)
		munmap(bo->map, bo->size);
	if (bo->handle)
		rv_ioctl(bo->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &d);
	if (bo->handle && is_misc(bo->fd))
		close(bo->handle);
	memset(bo, 0, sizeof(*bo));
}

int rv_sync(const struct rv_bo *bo, uint32_t flags, uint64_t offset, uint64_t size)
{
	struct drm_rknpu_mem_sync s = {
		.flags = flags, .obj_addr = bo->obj, .offset = offset, .size = size,
	};

	return rv_ioctl(bo->fd, DRM_IOCTL_RKNPU_MEM_SYNC, &s);
}

int rv_sync_every_way(int fd, uint64_t obj, uint64_t size)
{
	struct rv_bo bo = { .fd = fd, .obj = obj };
	int ret = 0;

	for (uint32_t flags = 0; flags < 4 && !ret; flags++)
		ret = rv_sync(&bo, flags, 0, size);
	return ret;
}

/* ---- chains ---- */

#define BIAS		RK_PAGE
#define DATA		(2 * RK_PAGE)	/* a page per step */
#define PROG		((2 + RV_MAX_CHAIN + 1) * RK_PAGE)
#define PROG_SIZE	(2 * RK_PAGE)
#define SIZE		(PROG + RV_MAX_CHAIN * PROG_SIZE)
#define PC_WRITE(reg, value)	(0x0101ull << 48 | (uint64_t)(uint32_t)(value) << 16 | (reg))

static uint8_t *step(struct rv_chain *c, uint32_t i)
{
	return c->bo.map + DATA + i * RK_PAGE;
}

/* The program of @n commands at @at ends by naming the one of task @next, which is as long. */
static void lead_to(const struct rv_chain *c, uint64_t *at, uint32_t n, uint32_t next)
{
	at[n - RV_TASK_TAIL] = PC_WRITE(0x10, c->bo.iova + PROG + next * PROG_SIZE);
	at[n - RV_TASK_TAIL + 1] = PC_WRITE(0x14, (n + 1) / 2 - 1);
}

static void make_task(struct rv_chain *c, uint32_t i)
{
	const struct rk_product p = {
		.m = RK_M, .k = RK_CHANNELS, .in = c->bo.iova + DATA + i * RK_PAGE, .weights = c->bo.iova,
		.out = c->bo.iova + DATA + (i + 1) * RK_PAGE, .bias = c->bo.iova + BIAS,
	};
	uint64_t *at = (uint64_t *)(c->bo.map + PROG + i * PROG_SIZE);
	uint32_t n = rk_program(at, &p);

	if (i + 1 < c->n)
		lead_to(c, at, n, i + 1);
	*rv_chain_task(c, i) = (struct drm_rknpu_task) {
		.op_idx = i, .enable_mask = 0xd, .int_mask = RV_INT_DPU,
		.int_clear = 0x1ffff, .regcfg_amount = n - RV_TASK_TAIL,
		.regcmd_addr = c->bo.iova + PROG + i * PROG_SIZE,
	};
}

int rv_chain_init(struct rv_chain *c, int fd, uint32_t n, uint32_t first, int domain)
{
	int ret;

	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->n = n;
	c->first = first;
	ret = rv_bo_init(&c->bo, fd, SIZE, RV_FLAGS, domain);
	if (!ret)
		ret = rv_bo_init(&c->tasks, fd, (first + n) * sizeof(struct drm_rknpu_task),
				 RV_FLAGS_TASK, domain);
	if (ret)
		return ret;
	rk_diagonal((int8_t *)c->bo.map, 1, (int32_t *)(c->bo.map + BIAS), 1);
	for (uint32_t i = 0; i < n; i++)
		make_task(c, i);
	ret = rv_sync(&c->tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c->tasks.size);
	return ret ? ret : rv_sync(&c->bo, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c->bo.size);
}

static int make_udmabuf(int memfd, size_t size, unsigned int times)
{
	struct udmabuf_create_list *create =
		calloc(1, sizeof(*create) + times * sizeof(create->list[0]));
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	int fd;

	if (dev < 0 || !create) {
		fd = -errno;
	} else {
		create->flags = UDMABUF_FLAGS_CLOEXEC;
		create->count = times;
		for (unsigned int i = 0; i < times; i++) {
			create->list[i].memfd = memfd;
			create->list[i].size = size;
		}
		fd = ioctl(dev, UDMABUF_CREATE_LIST, create);
		if (fd < 0)
			fd = -errno;
	}
	if (dev >= 0)
		close(dev);
	free(create);
	return fd;
}

static int make_heap_memory(size_t size)
{
	struct dma_heap_allocation_data a = { .len = size, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	int ret;

	if (heap < 0)
		return -errno;
	ret = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &a) ? -errno : (int)a.fd;
	close(heap);
	return ret;
}

int rv_repeated_memory(size_t size, unsigned int times)
{
	int memfd = memfd_create("rknpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int fd;

	if (memfd < 0)
		return -errno;
	if (ftruncate(memfd, size) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		fd = -errno;
	else
		fd = make_udmabuf(memfd, size, times);
	close(memfd);
	return fd;
}

/* @fd is a dma-buf, or a negative errno to return. */
static int map_memory(int fd, size_t size, uint8_t **map)
{
	if (fd < 0)
		return fd;
	*map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*map != MAP_FAILED)
		return fd;
	close(fd);
	return -ENOMEM;
}

int rv_udmabuf(size_t size, uint8_t **map)
{
	return map_memory(rv_repeated_memory(size, 1), size, map);
}

int rv_heap_memory(size_t size, uint8_t **map)
{
	return map_memory(make_heap_memory(size), size, map);
}

int rv_foreign_memory(size_t size, uint8_t **map)
{
	int fd = rv_udmabuf(size, map);

	/* All that Rockchip's kernels have. */
	return fd == -ENOENT ? rv_heap_memory(size, map) : fd;
}

void rv_chain_fini(struct rv_chain *c)
{
	rv_bo_fini(&c->tasks);
	rv_bo_fini(&c->bo);
}

struct drm_rknpu_task *rv_chain_task(struct rv_chain *c, uint32_t i)
{
	return (struct drm_rknpu_task *)c->tasks.map + c->first + i;
}

int rv_chain_fill(struct rv_chain *c, int value)
{
	memset(step(c, 0), value, RK_BYTES);
	for (uint32_t i = 1; i <= c->n; i++)
		memset(step(c, i), ~value, RK_BYTES);
	return rv_sync(&c->bo, DRM_RKNPU_MEM_SYNC_TO_DEVICE, DATA, (c->n + 1) * RK_PAGE);
}

int rv_chain_loop(struct rv_chain *c, uint32_t n)
{
	struct drm_rknpu_task *tasks = (struct drm_rknpu_task *)c->tasks.map;
	uint32_t last = c->n - 1;
	struct drm_rknpu_task t[RV_MAX_CHAIN];
	int ret;

	for (uint32_t i = 0; i < c->n; i++)
		t[i] = *rv_chain_task(c, i);
	lead_to(c, (uint64_t *)(c->bo.map + PROG + last * PROG_SIZE),
		t[last].regcfg_amount + RV_TASK_TAIL, 0);
	for (uint32_t i = 0; i < n; i++)
		tasks[i] = t[i % c->n];
	ret = rv_sync(&c->tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c->tasks.size);
	return ret ? ret : rv_sync(&c->bo, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c->bo.size);
}

long rv_chain_wrong(struct rv_chain *c, int value)
{
	const uint8_t *out = step(c, c->n);
	long wrong = 0;
	int ret;

	ret = rv_sync(&c->bo, DRM_RKNPU_MEM_SYNC_FROM_DEVICE, DATA + c->n * RK_PAGE, RK_PAGE);
	if (ret)
		return ret;
	for (size_t i = 0; i < RK_BYTES; i++)
		wrong += out[i] != (uint8_t)value;
	return wrong;
}

void rv_chain_submit(const struct rv_chain *c, struct drm_rknpu_submit *s)
{
	*s = (struct drm_rknpu_submit) {
		.flags = DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG, .timeout = 6000,
		.task_number = c->n * 3, .task_obj_addr = c->tasks.obj, .fence_fd = -1,
	};
	for (int i = 0; i < 3; i++)
		s->subcore_task[i] = (struct drm_rknpu_subcore_task) { c->first, c->n };
}

static int submit_and_compare(struct rv_chain *c, int value, struct drm_rknpu_submit *s)
{
	long wrong;
	int ret;

	ret = rv_ioctl(c->fd, DRM_IOCTL_RKNPU_SUBMIT, s);
	if (ret)
		return ret;
	wrong = rv_chain_wrong(c, value + c->n);
	return wrong > 0 ? -EILSEQ : wrong;
}

int rv_chain_run(struct rv_chain *c, int value)
{
	struct drm_rknpu_submit s;
	int ret = rv_chain_fill(c, value);

	if (ret)
		return ret;
	rv_chain_submit(c, &s);
	return submit_and_compare(c, value, &s);
}

int rv_chain_run_from(struct rv_chain *c, int value, struct drm_rknpu_task *tasks, uint64_t obj)
{
	struct drm_rknpu_submit s;
	int ret = rv_chain_fill(c, value);

	if (ret)
		return ret;
	memcpy(tasks + c->first, rv_chain_task(c, 0), c->n * sizeof(*tasks));
	rv_chain_submit(c, &s);
	s.task_obj_addr = obj;
	return submit_and_compare(c, value, &s);
}

int rv_wait_fence(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int ret = poll(&p, 1, 20000);

	close(fd);
	return ret == 1 ? 0 : -ETIMEDOUT;
}

int rv_chain_submit_by(const struct rv_chain *c, int fd)
{
	struct drm_rknpu_submit s;
	struct rv_bo tasks;
	int ret = rv_bo_init(&tasks, fd, RK_PAGE, RV_FLAGS_TASK, 0);

	if (ret)
		return ret;
	memcpy(tasks.map, c->tasks.map, sizeof(struct drm_rknpu_task));
	ret = rv_sync(&tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, RK_PAGE);
	rv_chain_submit(c, &s);
	s.task_obj_addr = tasks.obj;
	if (!ret)
		ret = rv_submit(fd, &s);
	rv_bo_fini(&tasks);
	return ret;
}

int rv_run_tasks_in(int fd, uint64_t obj, void *map)
{
	struct rv_chain c;
	int ret = rv_chain_init(&c, fd, 5, 0, 0);

	if (!ret)
		ret = rv_chain_run_from(&c, 1, map, obj);
	rv_chain_fini(&c);
	return ret;
}
