// SPDX-License-Identifier: MIT
/*
 * Unit tests of jobs over the vendor's interface, with an ioctl() of our own in its driver's place,
 * and a realloc() that can fail.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/sync_file.h>

#include "drm.h"
#include "drm/rknpu_drm.h"
#include "dev/npu_vendor.h"
#include "tap.h"

#define ROOM	0x10000u

static struct {
	uint32_t handles;
	unsigned int submits, alive, waits, inherited;
	bool slow;		/* jobs are over when somebody waits for them without a limit */
	uint32_t synced;	/* buffers that were handed over, a bit per handle */
} drv;

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	(void)fds;
	(void)n;
	drv.waits += ms < 0;
	return !drv.slow || ms < 0;
}

static unsigned int fail_at;	/* 1 = the next realloc() */

void *realloc(void *p, size_t size)
{
	static void *(*real)(void *, size_t);

	if (fail_at && !--fail_at)
		return NULL;
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "realloc");
	return real(p, size);
}

int ioctl(int fd, unsigned long req, ...)
{
	va_list ap;
	void *arg;

	(void)fd;
	va_start(ap, req);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (req == DRM_IOCTL_VERSION) {
		struct drm_version *v = arg;

		if (v->name_len)
			memcpy(v->name, "rknpu", v->name_len < 5 ? v->name_len : 5);
		v->name_len = 5;
		v->date_len = v->desc_len = 0;
	} else if (req == DRM_IOCTL_RKNPU_MEM_CREATE) {
		struct drm_rknpu_mem_create *c = arg;

		c->handle = ++drv.handles;
		c->dma_addr = c->obj_addr = c->handle * ROOM;
		drv.alive++;
	} else if (req == DRM_IOCTL_RKNPU_MEM_MAP) {
		((struct drm_rknpu_mem_map *)arg)->offset = ((struct drm_rknpu_mem_map *)arg)->handle * ROOM;
	} else if (req == DRM_IOCTL_RKNPU_MEM_DESTROY) {
		drv.alive--;
	} else if (req == DRM_IOCTL_RKNPU_SUBMIT) {
		struct drm_rknpu_submit *s = arg;

		if (s->flags & DRM_RKNPU_JOB_FENCE_IN)
			drv.inherited += !(fcntl(s->fence_fd, F_GETFD) & FD_CLOEXEC);
		/* It can be read, so it is over. */
		s->fence_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
		drv.submits++;
	} else if (req == SYNC_IOC_FILE_INFO) {
		((struct sync_file_info *)arg)->status = 1;
	} else if (req == SYNC_IOC_MERGE) {
		((struct sync_merge_data *)arg)->fence = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	} else if (req == DRM_IOCTL_RKNPU_MEM_SYNC) {
		struct drm_rknpu_mem_sync *s = arg;

		if (s->flags == DRM_RKNPU_MEM_SYNC_TO_DEVICE)
			drv.synced |= 1u << s->obj_addr / ROOM % 32;
	} else {
		errno = ENOTTY;
		return -1;
	}
	return 0;
}

/* Its memory is that of all buffers. */
static struct npu_dev *open_file(void)
{
	int fd = memfd_create("rknpu", MFD_CLOEXEC);
	struct npu_dev *dev = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || ftruncate(fd, 256 * ROOM) || npu_open(path, &dev))
		exit(1);
	close(fd);
	return dev;
}

/* A job that the driver has taken is known to each of its buffers, wherever memory runs out. */
static void test_no_memory(struct npu_dev *dev)
{
	struct npu_task task = { .count = 8 };
	struct npu_bo *in[4] = { NULL }, *out[2] = { NULL };
	struct npu_hwjob job = { .tasks = &task, .ntasks = 1, .in = in, .nin = 4, .out = out, .nout = 2 };
	unsigned int refused = 0, lost = 0;
	int ret = -ENOMEM;

	for (unsigned int at = 1; ret == -ENOMEM && at < 20; at++) {
		drv.submits = 0;
		if (npu_bo_alloc(dev, 4096, &in[0]) || npu_bo_alloc(dev, 4096, &in[1]) || npu_bo_alloc(dev, 4096, &out[0]))
			exit(1);
		in[2] = in[3] = in[1];
		out[1] = out[0];
		memset(npu_bo_map(in[0]), 0, 4096);
		task.regcmd = (uint32_t)in[0]->iova;
		fail_at = at;
		ret = npu_submit(dev, &job, 1);
		fail_at = 0;
		refused += ret == -ENOMEM && !drv.submits;
		lost += ret && drv.submits;
		npu_bo_free(in[0]);
		npu_bo_free(in[1]);
		npu_bo_free(out[0]);
	}
	tap_ok(!ret && refused == 6 && !lost && drv.submits == 1,
	       "buffers that a job lists twice: refused %u times before the driver has it, %u times after", refused, lost);
	tap_ok(!drv.alive, "and no buffer is left");
}

/* Files of this process, and buffers: what jobs leave. */
static unsigned int left(void)
{
	int fd = dup(0);

	close(fd);
	return (unsigned int)fd + drv.alive;
}

/* Two jobs again and again, of which only the second one's result is waited for. */
static void test_chain(struct npu_dev *dev)
{
	struct npu_task task = { .count = 8 };
	/* The program is in the first one's input. */
	struct npu_bo *bo[3] = { NULL };
	struct npu_hwjob job[2] = {
		{ .tasks = &task, .ntasks = 1, .in = bo, .nin = 1, .out = bo + 1, .nout = 1 },
		{ .tasks = &task, .ntasks = 1, .in = bo, .nin = 2, .out = bo + 2, .nout = 1 },
	};
	unsigned int few = 0, many;
	int ret = 0;

	for (int i = 0; i < 3 && !ret; i++)
		ret = npu_bo_alloc(dev, 4096, &bo[i]);
	memset(npu_bo_map(bo[0]), 0, 4096);
	task.regcmd = (uint32_t)bo[0]->iova;
	for (int i = 0; i < 50 && !ret; i++) {
		ret = npu_submit(dev, &job[0], 1);
		ret = ret ? ret : npu_submit(dev, &job[1], 1);
		ret = ret ? ret : npu_bo_prep(bo[2], -1);
		if (i == 1)
			few = left();
	}
	many = left();
	tap_ok(!ret && many <= few, "jobs that nobody waits for: %u files and buffers after two rounds, %u after fifty: %d",
	       few, many, ret);
	for (int i = 0; i < 3; i++)
		npu_bo_free(bo[i]);
	tap_ok(!drv.alive, "and no buffer is left");
}

static uint32_t handle_bit(const struct npu_bo *bo)
{
	return 1u << bo->handle % 32;
}

/* Tasks whose programs are in two buffers; a job of the first one alone that runs meanwhile. */
static void test_programs(struct npu_dev *dev)
{
	struct npu_task task[3] = { { .count = 8 }, { .count = 8 }, { .count = 8 } };
	struct npu_bo *bo[3] = { NULL };
	struct npu_hwjob one = { .tasks = task, .ntasks = 1, .in = bo, .nin = 1, .out = bo + 2, .nout = 1 };
	struct npu_hwjob all = { .tasks = task, .ntasks = 3, .in = bo, .nin = 2, .out = bo + 2, .nout = 1 };
	unsigned int waits[4];
	int ret = 0;

	for (int i = 0; i < 3 && !ret; i++)
		ret = npu_bo_alloc(dev, 4096, &bo[i]);
	for (int i = 0; i < 2 && !ret; i++)
		memset(npu_bo_map(bo[i]), 0, 4096);
	task[0].regcmd = (uint32_t)bo[0]->iova;
	task[1].regcmd = (uint32_t)bo[1]->iova;
	task[2].regcmd = (uint32_t)bo[1]->iova + 64;
	drv.synced = 0;
	ret = ret ? ret : npu_submit(dev, &all, 1);
	tap_ok(!ret && drv.synced & handle_bit(bo[0]) && drv.synced & handle_bit(bo[1]),
	       "programs in two buffers: both are handed over: %d", ret);
	drv.slow = true;
	for (int i = 0; i < 4; i++) {
		waits[i] = drv.waits;
		ret = ret ? ret : npu_submit(dev, i == 0 || i == 3 ? &all : &one, 1);
		waits[i] = drv.waits - waits[i];
	}
	tap_ok(!ret && !waits[0] && waits[1] && !waits[2] && waits[3],
	       "what names another one than before waits for jobs that use it: %u, %u, %u, %u waits: %d", waits[0],
	       waits[1], waits[2], waits[3], ret);
	tap_ok(!drv.inherited, "no child that a program starts inherits a fence");
	drv.slow = false;
	for (int i = 0; i < 3; i++)
		npu_bo_free(bo[i]);
}

/* As long as can be told, and one longer. */
static void test_path(void)
{
	struct npu_dev *dev = NULL;
	char path[257] = "/dev/null";
	int ret;

	memset(path, '/', 256 - 8);
	memcpy(path + 256 - 8, "dev/null", 9);
	ret = npu_open(path + 1, &dev);
	tap_ok(!ret && !strcmp(npu_path(dev), path + 1), "a path of 255 bytes: %d", ret);
	npu_close(dev);
	dev = NULL;
	ret = npu_open(path, &dev);
	tap_ok(ret == -ENAMETOOLONG, "and of 256: %d", ret);
	npu_close(dev);
}

int main(void)
{
	struct npu_dev *dev = open_file();

	tap_ok(npu_is_vendor(dev), "the driver is the vendor's");
	test_no_memory(dev);
	test_chain(dev);
	test_programs(dev);
	npu_close(dev);
	test_path();
	return tap_done();
}
