// SPDX-License-Identifier: MIT
/*
 * Follows the ioctls of Rockchip's driver, on the DRM node "rknpu" and on /dev/rknpu; the
 * structs are the same, and may be shorter.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sync_file.h>

#include "drm.h"
#include "drm/rknpu_drm.h"
#include "rec.h"

#define WAIT_MS		600000
/* Commands behind those that regcfg_amount counts. */
#define TAIL		4u

static size_t arg_size(unsigned long req)
{
	return req >> 16 & 0x3fff;
}

static bool copy_arg(void *to, size_t size, unsigned long req, const void *arg)
{
	memset(to, 0, size);
	return rec_copy(to, (uintptr_t)arg, arg_size(req) < size ? arg_size(req) : size);
}

static unsigned long same_kind(unsigned long req, unsigned long of_drm)
{
	unsigned long r = of_drm;

	if ((req >> 8 & 0xff) == 'r')
		r = (r & ~0xffffUL) | 'r' << 8 | ((of_drm & 0xff) - DRM_COMMAND_BASE);
	return r;
}

/* ---- submit ---- */

struct slices {
	struct drm_rknpu_subcore_task t[3];
	uint32_t core_mask[3];
	uint32_t n;
};

/* The slices that are run by the cores of a mask; uapi/drm/rknpu_drm.h. */
static struct slices slices_of(const struct drm_rknpu_submit *s, uint32_t mask)
{
	struct slices sl = { .core_mask = { 1, 2, 4 }, .n = 1 };

	switch (mask) {
	case 7:
		sl.n = 3;
		memcpy(sl.t, &s->subcore_task[2], sizeof(sl.t));
		break;
	case 3:
		sl.n = 2;
		memcpy(sl.t, s->subcore_task, 2 * sizeof(sl.t[0]));
		break;
	case 2:
		sl.core_mask[0] = mask;
		sl.t[0] = s->subcore_task[1];
		break;
	case 4:
		sl.core_mask[0] = mask;
		sl.t[0] = s->subcore_task[2];
		break;
	case 1:
		sl.t[0] = s->subcore_task[0];
		break;
	default:
		sl.core_mask[0] = 0;
		for (int i = 2; i >= 0; i--) {
			if (s->subcore_task[i].task_number)
				sl.t[0] = s->subcore_task[i];
		}
	}
	return sl;
}

/* Before 0.9.6 the object that holds the programs was named here, and all was in domain 0. */
static uint32_t domain_of(struct rec_file *f, const struct drm_rknpu_submit *s)
{
	uint64_t obj = (uint64_t)s->reserved << 32 | s->iommu_domain_id;
	bool programs = s->iommu_domain_id >= DRM_RKNPU_DOMAINS && rec_bo_by_obj(f, obj);

	return programs ? 0 : s->iommu_domain_id;
}

static void add_slice(struct rec_file *f, struct rec_job *j, const struct drm_rknpu_submit *s,
		      struct rec_bo *tasks, const struct drm_rknpu_subcore_task *range, uint32_t core_mask)
{
	struct drm_rknpu_task first;
	size_t head = j->size;
	uint32_t n;

	if (range->task_start >= tasks->size / sizeof(first)) {
		j->good = false;
		return;
	}
	memcpy(&first, tasks->map + range->task_start * sizeof(first), sizeof(first));
	rec_job_slice(j, f, core_mask, 0);
	n = rec_job_chain(j, f, domain_of(f, s), s->task_base_addr, first.regcmd_addr,
			  first.regcfg_amount + TAIL, range->task_number);
	if (j->good)
		((struct cap_slice *)(void *)(j->bytes + head))->tasks = n;
}

static struct rec_job describe(struct rec_file *f, const struct drm_rknpu_submit *s, uint32_t mask)
{
	struct rec_bo *tasks = rec_bo_by_obj(f, s->task_obj_addr);
	struct slices all = slices_of(s, mask), sl = { .n = 0 };
	struct rec_job j = { .good = tasks && rec_bo_map(tasks) };

	for (uint32_t i = 0; i < all.n; i++) {
		if (!all.t[i].task_number)
			continue;
		sl.core_mask[sl.n] = all.core_mask[i];
		sl.t[sl.n++] = all.t[i];
	}
	j.good &= sl.n > 0;
	if (j.good)
		rec_job_head(&j, sl.n, CAP_JOB_CHAINED);
	for (uint32_t i = 0; i < sl.n && j.good; i++)
		add_slice(f, &j, s, tasks, &sl.t[i], sl.core_mask[i]);
	for (struct rec_bo *bo = rec_bos; bo && j.good; bo = bo->next)
		j.good = !bo->use || rec_bo_map(bo);
	return j;
}

/* Every slice that may be run: the core is known only afterwards. */
static bool before(struct rec_file *f, const struct drm_rknpu_submit *s)
{
	static const uint32_t masks[] = { 1, 2, 4 };
	uint32_t mask = s->core_mask;
	bool good = false;

	rec_submit_begin();
	if (mask) {
		struct rec_job j = describe(f, s, mask);

		good = j.good;
		free(j.bytes);
	}
	for (int i = 0; !mask && i < 3; i++) {
		struct rec_job j = describe(f, s, masks[i]);

		good |= j.good;
		free(j.bytes);
	}
	if (good)
		rec_submit_before();
	return good;
}

static bool fence_is_over(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int ret;

	do {
		ret = poll(&p, 1, ms);
	} while (ret < 0 && errno == EINTR);
	return ret > 0;
}

static int fence_status(int fd)
{
	struct sync_file_info info = { 0 };

	if (rec_raw_ioctl(fd, SYNC_IOC_FILE_INFO, &info))
		return -errno;
	return info.status < 0 ? info.status : 0;
}

/*
 * What the CPU has cached of results is old. Lines that the client wrote and did not sync
 * would be lost, as they would be by its own sync.
 */
static void sync_outputs(int fd, unsigned long req)
{
	unsigned long sync = same_kind(req, DRM_IOCTL_RKNPU_MEM_SYNC);

	for (struct rec_bo *bo = rec_bos; bo; bo = bo->next) {
		struct drm_rknpu_mem_sync m = {
			.flags = DRM_RKNPU_MEM_SYNC_FROM_DEVICE, .obj_addr = bo->obj_addr,
			.size = bo->size,
		};
		int any = -1;

		for (size_t i = 0; i < sizeof(bo->file->fd) / sizeof(bo->file->fd[0]); i++)
			any = bo->file->fd[i] >= 0 ? bo->file->fd[i] : any;
		if (bo->use & CAP_USE_WRITE && bo->cacheable)
			rec_raw_ioctl(any >= 0 ? any : fd, sync, &m);
	}
}

/* Runs the job; a copy of the request asks for a fence if the client does not wait. */
static int run(int fd, unsigned long req, void *arg, struct drm_rknpu_submit *s, int *fence)
{
	bool ask = s->flags & DRM_RKNPU_JOB_NONBLOCK && !(s->flags & DRM_RKNPU_JOB_FENCE_OUT) &&
		   arg_size(req) == sizeof(*s);
	struct drm_rknpu_submit *client = arg, mine = *s;
	int ret;

	*fence = -1;
	if (!ask) {
		ret = rec_raw_ioctl(fd, req, arg);
		copy_arg(s, sizeof(*s), req, arg);
		if (!ret && s->flags & DRM_RKNPU_JOB_FENCE_OUT)
			*fence = s->fence_fd;
		return ret;
	}
	mine.flags |= DRM_RKNPU_JOB_FENCE_OUT;
	ret = rec_raw_ioctl(fd, req, &mine);
	if (!ret)
		*fence = mine.fence_fd;
	mine.flags = client->flags;
	mine.fence_fd = client->fence_fd;
	*client = mine;
	*s = mine;
	return ret;
}

static void ended(struct rec_file *f, int fd, unsigned long req, const struct drm_rknpu_submit *s,
		  int status, bool known)
{
	struct rec_job j;

	if (known)
		sync_outputs(fd, req);
	/* Uses are those of what ran, now that it is known. */
	rec_submit_begin();
	j = describe(f, s, s->core_mask);
	if (j.good) {
		rec_submit_tell(f, &j, 1);
		rec_submit_after(status, known);
	}
	free(j.bytes);
}

/* How jobs end that the client waited for, and that were started at all. */
static bool job_failed(int err)
{
	return err == ETIMEDOUT || err == EIO || err == EFAULT;
}

static int submit(struct rec_file *f, int fd, unsigned long req, void *arg)
{
	struct drm_rknpu_submit s;
	int ret, err, fence, status = 0;
	bool known, good, unlocked;

	if (!copy_arg(&s, sizeof(s), req, arg) || !rec_out_open())
		return rec_raw_ioctl(fd, req, arg);
	good = before(f, &s);
	/* A fence of others may signal only when another thread gets on. */
	known = !(s.flags & DRM_RKNPU_JOB_FENCE_IN) || fence_is_over(s.fence_fd, 0);
	unlocked = !known;
	if (unlocked) {
		rec_file_hold(f);
		rec_unlock();
	}
	ret = run(fd, req, arg, &s, &fence);
	err = errno;
	if (unlocked)
		rec_lock();
	if (!ret && s.flags & DRM_RKNPU_JOB_NONBLOCK) {
		known = known && fence >= 0 && fence_is_over(fence, WAIT_MS);
		status = known ? fence_status(fence) : 0;
		if (!(s.flags & DRM_RKNPU_JOB_FENCE_OUT) && fence >= 0)
			rec_raw_close(fence);
	} else if (ret) {
		status = -err;
	}
	if (good && (!ret || job_failed(err)))
		ended(f, fd, req, &s, status, known);
	else if (!ret)
		rec_complain("a submit was not recorded: its programs or BOs are not known");
	if (unlocked)
		rec_file_put(f);
	errno = err;
	return ret;
}

/* ---- memory ---- */

/* On /dev/rknpu a handle is a descriptor, which the client may close: the next BO gets it. */
static struct rec_bo *find_bo(struct rec_file *f, uint32_t handle, uint64_t obj_addr)
{
	return f->uapi == CAP_VENDOR_MISC ? rec_bo_by_obj(f, obj_addr) : rec_bo_find(f, handle);
}

static void created(struct rec_file *f, unsigned long req, const void *arg)
{
	struct drm_rknpu_mem_create c;
	struct rec_bo *bo;

	copy_arg(&c, sizeof(c), req, arg);
	bo = find_bo(f, c.handle, c.obj_addr);
	if (!bo)
		bo = rec_bo_new(f, c.handle, c.dma_addr, c.size);
	if (!bo)
		return;
	if (bo->imported && !bo->size)
		bo->size = c.size;
	bo->iova = c.dma_addr;
	bo->obj_addr = c.obj_addr;
	bo->domain = (uint32_t)c.iommu_domain_id;
	bo->cacheable = c.flags & DRM_RKNPU_MEM_CACHEABLE;
	bo->opens++;
	if (f->uapi == CAP_VENDOR_MISC && !bo->map)
		bo->map = rec_raw_mmap(bo->size, (int)c.handle, 0);
}

/* Also GEM_CLOSE, whose struct begins with the same. */
static void destroy(struct rec_file *f, unsigned long req, const void *arg)
{
	struct drm_rknpu_mem_destroy d;
	struct rec_bo *bo = copy_arg(&d, sizeof(d), req, arg) ? find_bo(f, d.handle, d.obj_addr) :
			    NULL;

	if (bo && !(f->uapi == CAP_VENDOR_MISC && --bo->opens))
		rec_bo_gone(bo);
}

/* The dma-buf is what it can be mapped by; MEM_CREATE will tell the address. */
static void imported(struct rec_file *f, const struct drm_prime_handle *p)
{
	off64_t size;
	struct rec_bo *bo;

	if (rec_bo_find(f, p->handle))
		return;
	size = lseek64(p->fd, 0, SEEK_END);
	bo = size > 0 ? rec_bo_new(f, p->handle, 0, (uint64_t)size) : NULL;
	if (!bo)
		return;
	lseek64(p->fd, 0, SEEK_SET);
	bo->imported = true;
	bo->map = rec_raw_mmap(bo->size, p->fd, 0);
}

bool rec_vendor_wants(unsigned long req)
{
	bool misc = (req >> 8 & 0xff) == 'r';

	switch ((req & 0xff) + (misc ? DRM_COMMAND_BASE : 0)) {
	case DRM_COMMAND_BASE + DRM_RKNPU_SUBMIT:
	case DRM_COMMAND_BASE + DRM_RKNPU_MEM_CREATE:
	case DRM_COMMAND_BASE + DRM_RKNPU_MEM_DESTROY:
		return true;
	case DRM_IOCTL_GEM_CLOSE & 0xff:
	case DRM_IOCTL_PRIME_FD_TO_HANDLE & 0xff:
		return !misc;
	default:
		return false;
	}
}

int rec_vendor_ioctl(struct rec_file *f, int fd, unsigned long req, void *arg)
{
	bool misc = (req >> 8 & 0xff) == 'r';
	unsigned int nr = (req & 0xff) + (misc ? DRM_COMMAND_BASE : 0);
	int ret, err;

	if (nr == DRM_COMMAND_BASE + DRM_RKNPU_SUBMIT)
		return submit(f, fd, req, arg);
	if (nr == DRM_COMMAND_BASE + DRM_RKNPU_MEM_DESTROY ||
	    (nr == (DRM_IOCTL_GEM_CLOSE & 0xff) && !misc))
		destroy(f, req, arg);
	ret = rec_raw_ioctl(fd, req, arg);
	err = errno;
	if (!ret && nr == DRM_COMMAND_BASE + DRM_RKNPU_MEM_CREATE)
		created(f, req, arg);
	else if (!ret && nr == (DRM_IOCTL_PRIME_FD_TO_HANDLE & 0xff) && !misc)
		imported(f, arg);
	errno = err;
	return ret;
}
