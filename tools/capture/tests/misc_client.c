// SPDX-License-Identifier: MIT
/*
 * A client of /dev/rknpu that needs the descriptor of a BO's dma-buf only until it is mapped, so that all of its
 * BOs have the same one. Two products, the second of which reads what the first wrote.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client.h"
#include "drm/rknpu_drm.h"
#include "npu_regs.h"
#include "prog/npu_task.h"

#define SIZE	4096u
/* Commands behind those that regcfg_amount counts. */
#define TAIL	4u

#define MISC(name, type)	_IOWR('r', DRM_RKNPU_##name, struct type)

struct bo {
	uint64_t obj, iova;
	uint8_t *map;
};

static void call(int fd, unsigned long req, void *arg)
{
	if (ioctl(fd, req, arg))
		client_die("ioctl", -errno);
}

static void destroy(int fd, const struct bo *bo)
{
	struct drm_rknpu_mem_destroy d = { .obj_addr = bo->obj };

	call(fd, MISC(MEM_DESTROY, drm_rknpu_mem_destroy), &d);
}

static void sync_to(int fd, const struct bo *bo, uint32_t flags)
{
	struct drm_rknpu_mem_sync s = { .flags = flags, .obj_addr = bo->obj, .size = SIZE };

	call(fd, MISC(MEM_SYNC, drm_rknpu_mem_sync), &s);
}

static struct bo alloc(int fd, int seed)
{
	struct drm_rknpu_mem_create c = {
		.flags = DRM_RKNPU_MEM_CACHEABLE | DRM_RKNPU_MEM_KERNEL_MAPPING, .size = SIZE,
	};
	struct bo bo;

	call(fd, MISC(MEM_CREATE, drm_rknpu_mem_create), &c);
	bo = (struct bo) { c.obj_addr, c.dma_addr,
			   mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)c.handle, 0) };
	if (bo.map == MAP_FAILED)
		client_die("mmap", -errno);
	/* Asked about, it has to be given up once more. */
	call(fd, MISC(MEM_CREATE, drm_rknpu_mem_create), &c);
	destroy(fd, &bo);
	close((int)c.handle);
	client_fill(bo.map, SIZE, seed);
	sync_to(fd, &bo, DRM_RKNPU_MEM_SYNC_TO_DEVICE);
	return bo;
}

static const struct npu_chip *chip_of(int fd)
{
	struct drm_rknpu_action version = { .flags = DRM_RKNPU_GET_HW_VERSION };

	call(fd, MISC(ACTION, drm_rknpu_action), &version);
	return npu_chip_of_version(version.value);
}

static void multiply(int fd, const struct bo *program, const struct bo *tasks, const struct bo *in,
		     const struct bo *weights, const struct bo *out)
{
	struct npu_prog *p = npu_prog_new_for(chip_of(fd), 0);
	struct drm_rknpu_task t = {
		.enable_mask = 0xd, .int_mask = NPU_IRQ_DPU, .int_clear = NPU_IRQ_ALL, .regcmd_addr = program->iova,
	};
	struct drm_rknpu_submit s = {
		.flags = DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG, .timeout = 6000, .task_number = 1,
		.task_obj_addr = tasks->obj, .core_mask = 1, .fence_fd = -1, .subcore_task = { { 0, 1 } },
	};

	client_product(p, in->iova, weights->iova, out->iova);
	t.regcfg_amount = (uint32_t)npu_prog_count(p) - TAIL;
	memcpy(program->map, npu_prog_entries(p), npu_prog_count(p) * 8);
	memcpy(tasks->map, &t, sizeof(t));
	npu_prog_free(p);
	sync_to(fd, program, DRM_RKNPU_MEM_SYNC_TO_DEVICE);
	sync_to(fd, tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE);
	call(fd, MISC(SUBMIT, drm_rknpu_submit), &s);
	sync_to(fd, out, DRM_RKNPU_MEM_SYNC_FROM_DEVICE);
}

void client_misc(void)
{
	const char *node = getenv("CLIENT_MISC");
	int fd = open(node ? node : "/dev/rknpu", O_RDWR | O_CLOEXEC);
	struct bo bo[6];

	if (fd < 0)
		client_die("open", -errno);
	for (int i = 0; i < 6; i++)
		bo[i] = alloc(fd, i < 2 ? i + 1 : 0);
	multiply(fd, &bo[4], &bo[5], &bo[0], &bo[1], &bo[2]);
	multiply(fd, &bo[4], &bo[5], &bo[2], &bo[1], &bo[3]);
	for (int i = 0; i < 6; i++)
		destroy(fd, &bo[i]);
	close(fd);
}
