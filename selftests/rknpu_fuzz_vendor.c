// SPDX-License-Identifier: GPL-2.0-only
/* The part of the fuzzer that calls the vendor's uAPI, on its DRM node and on /dev/rknpu. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm.h>

#include "rknpu_fuzz.h"

/* A task that hangs keeps a core for so long, and the other clients wait. */
#define MAX_TIMEOUT_MS	150

static struct vfile *vf(unsigned int f)
{
	return &cl()->vendor[f];
}

static int open_vendor(unsigned int f)
{
	int fd;

	if (f)
		return rv_open_misc();
	fd = one_in(2) ? rv_open() : rv_open_render();
	return fd < 0 ? rv_open() : fd;
}

bool vendor_there(unsigned int f)
{
	int fd = f ? rv_open_misc() : rv_open();

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void forget_map(struct rv_bo *bo)
{
	if (bo->map)
		munmap(bo->map, bo->size);
	memset(bo, 0, sizeof(*bo));
}

int vendor_file(struct client *c, unsigned int f)
{
	struct vfile *v = &c->vendor[f];
	int fd = open_vendor(f);

	if (fd < 0)
		return fd;
	v->fd = fd;
	v->misc = f;
	memset(v->bo, 0, sizeof(v->bo));
	/* What it had went with the old file. */
	forget_map(&v->chain.bo);
	forget_map(&v->chain.tasks);
	return rv_chain_init(&v->chain, fd, 1 + below(3), below(3), 0);
}

/* One that exists, mostly. */
static struct rv_bo *some_vbo(unsigned int f)
{
	struct rv_bo *bo = &vf(f)->bo[below(BOS)];

	for (int i = 0; i < 8 && !bo->handle; i++)
		bo = &vf(f)->bo[below(BOS)];
	return bo->handle ? bo : &vf(f)->chain.bo;
}

static uint32_t some_vhandle(unsigned int f)
{
	switch (below(8)) {
	case 0:
		return number();
	case 1:
		return vf((f + 1) % FILES)->bo[below(BOS)].handle;
	case 2:
		return vf(f)->chain.tasks.handle;
	default:
		return some_vbo(f)->handle;
	}
}

/* A number that stands for a BO: this file's, another one's, or nobody's. */
static uint64_t some_obj(unsigned int f)
{
	switch (below(8)) {
	case 0:
		return edge();
	case 1:
		return vf((f + 1) % FILES)->bo[below(BOS)].obj;
	case 2:
		return vf((f + 1) % FILES)->chain.tasks.obj;
	case 3:
		return rnd();
	default:
		return some_vbo(f)->obj;
	}
}

static int call(unsigned int f, unsigned long request, void *arg)
{
	return rv_ioctl(vf(f)->fd, request, one_in(30) ? (void *)(uintptr_t)pointer() : arg);
}

static int destroy(unsigned int f, const struct rv_bo *bo)
{
	struct drm_rknpu_mem_destroy d = { .handle = bo->handle, .obj_addr = bo->obj };
	int ret = rv_ioctl(vf(f)->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &d);

	/* There, handles are descriptors. */
	if (vf(f)->misc && bo->handle)
		close(bo->handle);
	return ret;
}

static void remember(unsigned int f, const struct drm_rknpu_mem_create *c)
{
	struct rv_bo *bo = &vf(f)->bo[below(BOS)], old = *bo;

	*bo = (struct rv_bo) {
		.fd = vf(f)->fd, .handle = c->handle, .size = c->size, .obj = c->obj_addr,
		.iova = c->dma_addr,
	};
	if (old.handle)
		destroy(f, &old);
}

int fuzz_v_create(unsigned int f)
{
	struct drm_rknpu_mem_create c = {
		.flags = one_in(3) ? number() : one_in(2) ? RV_FLAGS_TASK : RV_FLAGS,
		.size = 1 + below(64 << 10),
		.iommu_domain_id = one_in(4) ? (int)below(20) - 2 : 0,
	};
	bool made;
	int ret;

	if (one_in(4))
		c.size = one_in(2) ? edge() : number();
	if (one_in(6))
		c.handle = some_vhandle(f);
	if (one_in(6)) {
		c.obj_addr = rnd();
		c.dma_addr = rnd();
		c.sram_size = edge();
		c.core_mask = number();
	}
	made = !c.handle;
	ret = call(f, DRM_IOCTL_RKNPU_MEM_CREATE, &c);
	if (!ret && made && c.handle)
		remember(f, &c);
	return ret;
}

int fuzz_v_map(unsigned int f)
{
	struct drm_rknpu_mem_map m = { .handle = some_vhandle(f) };
	size_t size = one_in(4) ? 1 + (edge() & 0xffffff) : RK_PAGE;
	int ret = call(f, DRM_IOCTL_RKNPU_MEM_MAP, &m);
	void *p;

	if (ret && !vf(f)->misc)
		return ret;
	if (one_in(10))
		m.offset = edge();
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, one_in(8) ? MAP_PRIVATE : MAP_SHARED,
		 vf(f)->misc ? (int)m.handle : vf(f)->fd, m.offset);
	if (p == MAP_FAILED)
		return -errno;
	touch(p, size, true);
	return munmap(p, size) ? -errno : 0;
}

int fuzz_v_destroy(unsigned int f)
{
	struct rv_bo bo = vf(f)->bo[below(BOS)];

	if (one_in(3))
		bo.obj = some_obj(f);
	/* Any descriptor is a handle of the misc device, and closed as one. */
	if (one_in(3) && !vf(f)->misc)
		bo.handle = some_vhandle(f);
	return destroy(f, &bo);
}

int fuzz_v_sync(unsigned int f)
{
	const struct rv_bo *bo = some_vbo(f);
	struct drm_rknpu_mem_sync s = {
		.flags = one_in(4) ? number() : 1 + below(3),
		.obj_addr = one_in(4) ? some_obj(f) : bo->obj,
		.offset = one_in(4) ? edge() : 0,
		.size = one_in(4) ? edge() : RK_PAGE,
	};

	return call(f, DRM_IOCTL_RKNPU_MEM_SYNC, &s);
}

static void corrupt_submit(unsigned int f, struct drm_rknpu_submit *s)
{
	switch (below(9)) {
	case 0:
		s->flags = number();
		break;
	case 1:
		s->task_start = number();
		break;
	case 2:
		s->task_number = number();
		break;
	case 3:
		s->task_obj_addr = some_obj(f);
		break;
	case 4:
		s->iommu_domain_id = one_in(2) ? below(20) : number();
		break;
	case 5:
		s->task_base_addr = edge();
		break;
	case 6:
		s->core_mask = number();
		break;
	case 7:
		s->flags |= DRM_RKNPU_JOB_FENCE_IN;
		s->fence_fd = one_in(2) ? (int)below(64) : (int)number();
		break;
	case 8:
		s->subcore_task[below(DRM_RKNPU_SUBCORES)] = (struct drm_rknpu_subcore_task) {
			one_in(2) ? below(8) : number(), one_in(2) ? below(8) : number(),
		};
		break;
	}
}

/* A word of a task, while it may be read; it is put back later. */
static uint32_t *corrupt_task(unsigned int f, uint32_t *old)
{
	struct rv_chain *c = &vf(f)->chain;
	uint32_t *word = (uint32_t *)c->tasks.map + 10 * c->first + below(10 * c->n);

	if (!c->tasks.map || !touch((uint8_t *)word, 1, false))
		return NULL;
	*old = *word;
	*word = one_in(2) ? number() : *word ^ 1u << below(32);
	return word;
}

int fuzz_v_submit(unsigned int f)
{
	static const uint32_t masks[] = { 0, 0, 1, 2, 4, 3, 7 };
	struct drm_rknpu_submit s;
	uint32_t *word = NULL, old = 0;
	int ret;

	rv_chain_submit(&vf(f)->chain, &s);
	s.timeout = 1 + below(MAX_TIMEOUT_MS);
	s.core_mask = masks[below(ARRAY_SIZE(masks))];
	if (one_in(2))
		s.flags |= DRM_RKNPU_JOB_NONBLOCK;
	if (one_in(4))
		s.flags |= DRM_RKNPU_JOB_FENCE_OUT;
	if (one_in(3))
		corrupt_submit(f, &s);
	if (one_in(4))
		word = corrupt_task(f, &old);
	ret = call(f, DRM_IOCTL_RKNPU_SUBMIT, &s);
	if (word && touch((uint8_t *)word, 1, false))
		*word = old;
	if (!ret && (s.flags & DRM_RKNPU_JOB_FENCE_OUT) && s.fence_fd >= 0)
		close(s.fence_fd);
	return ret;
}

int fuzz_v_action(unsigned int f)
{
	struct drm_rknpu_action a = {
		.flags = one_in(8) ? number() : below(28), .value = number(),
	};

	/* It is the thread that would be slow for ever. */
	if (a.flags == DRM_RKNPU_SET_PROC_NICE)
		a.value = 0;
	return call(f, DRM_IOCTL_RKNPU_ACTION, &a);
}

int fuzz_v_raw(unsigned int f)
{
	uint64_t arg[32];
	unsigned int nr = below(16) + (vf(f)->misc ? 0 : one_in(2) ? DRM_COMMAND_BASE : below(200));
	unsigned int size = one_in(2) ? below(256) : 8 * below(10);
	unsigned int type = one_in(30) ? below(256) : vf(f)->misc ? 'r' : DRM_IOCTL_BASE;

	for (size_t i = 0; i < ARRAY_SIZE(arg); i++)
		arg[i] = one_in(2) ? pointer() : edge();
	return rk_ioctl(vf(f)->fd, _IOC(below(4), type, nr, size),
			one_in(10) ? (void *)(uintptr_t)pointer() : arg);
}

/* A BO of the vendor's node in a file of the accel node, or the other way round. */
int fuzz_v_prime(unsigned int f)
{
	bool to_vendor = one_in(2);
	int from = to_vendor ? cl()->fd[f] : vf(0)->fd, to = to_vendor ? vf(0)->fd : cl()->fd[f];
	struct drm_prime_handle p = {
		.handle = to_vendor ? some_handle(f) : some_vhandle(0),
		.flags = DRM_CLOEXEC | DRM_RDWR,
	};
	struct drm_rknpu_mem_create c = { 0 };
	struct drm_prime_handle back = { 0 };
	int ret;

	ret = rk_ioctl(from, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p);
	if (ret)
		return ret;
	back.fd = p.fd;
	ret = rk_ioctl(to, DRM_IOCTL_PRIME_FD_TO_HANDLE, &back);
	c.handle = back.handle;
	if (!ret && to_vendor && !rv_ioctl(to, DRM_IOCTL_RKNPU_MEM_CREATE, &c))
		remember(0, &c);
	else if (!ret)
		rk_gem_close(to, back.handle);
	close(p.fd);
	return ret;
}

/* The old one ends under the other thread's calls. */
int fuzz_v_reopen(unsigned int f)
{
	for (int i = 0; i < BOS && vf(f)->misc; i++)
		if (vf(f)->bo[i].handle)
			close(vf(f)->bo[i].handle);
	if (vf(f)->misc && vf(f)->chain.bo.handle) {
		close(vf(f)->chain.bo.handle);
		close(vf(f)->chain.tasks.handle);
	}
	close(vf(f)->fd);
	return vendor_file(cl(), f);
}
