// SPDX-License-Identifier: MIT
/*
 * A stand-in for driver and NPU on the host, for the recorder and npu-replay: the ioctls of
 * both interfaces, on a file in the place of a device node. Which driver it is says NPU_UAPI.
 *
 * It multiplies nothing. A task fills its result with bytes that depend on its operands, and
 * on no address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pthread.h>

#include <linux/sync_file.h>

#include "drm.h"
#include "drm/rknpu_drm.h"
#include "drm/rocket_accel.h"
#include "cap.h"
#include "npu_prog.h"
#include "rec.h"

#define BOS		4096
#define OPERAND_BYTES	512u

static struct bo {
	uint32_t handle;
	uint64_t iova, size, offset;
	uint8_t *map;
	ino_t ino;		/* /dev/rknpu: its dma-buf's */
	unsigned int opens;
} bos[BOS];

static pthread_mutex_t npu = PTHREAD_MUTEX_INITIALIZER;
static uint64_t next_iova = 0x10000;
static uint32_t next_handle = 1;

static bool is_vendor(void)
{
	const char *uapi = getenv("NPU_UAPI");

	return uapi && !strcmp(uapi, "rknpu");
}

static struct bo *find(uint32_t handle)
{
	for (int i = 0; i < BOS; i++) {
		if (bos[i].map && bos[i].handle == handle)
			return &bos[i];
	}
	return NULL;
}

/* Handles are of the process, not of a file. */
static struct bo *create_at(int fd, uint64_t offset, uint64_t size)
{
	for (int i = 0; i < BOS; i++) {
		struct bo *b = &bos[i];

		if (b->map)
			continue;
		b->size = (size + 4095) & ~UINT64_C(4095);
		b->iova = next_iova;
		b->offset = offset;
		b->map = mmap64(NULL, b->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				(off64_t)b->offset);
		if (b->map == MAP_FAILED) {
			b->map = NULL;
			return NULL;
		}
		memset(b->map, 0, b->size);
		b->handle = next_handle++;
		next_iova += b->size;
		return b;
	}
	return NULL;
}

/* Processes have memory of their own in the file. */
static struct bo *create(int fd, uint64_t size)
{
	return create_at(fd, ((uint64_t)(getpid() % 1024) << 32) + next_iova, size);
}

static void destroy(uint32_t handle)
{
	struct bo *b = find(handle);

	if (!b)
		return;
	munmap(b->map, b->size);
	b->map = NULL;
}

static uint8_t *at(uint64_t iova, uint64_t size)
{
	for (int i = 0; i < BOS; i++) {
		if (bos[i].map && iova >= bos[i].iova && size <= bos[i].size &&
		    iova - bos[i].iova <= bos[i].size - size)
			return bos[i].map + (iova - bos[i].iova);
	}
	return NULL;
}

static uint32_t operand(const uint64_t *entry, uint32_t n, uint32_t reg)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *p = CAP_ENTRY_REG(entry[i]) != reg ? NULL :
				   at(CAP_ENTRY_VALUE(entry[i]), OPERAND_BYTES);

		for (uint32_t k = 0; p && k < OPERAND_BYTES; k++)
			sum = sum * 31 + p[k];
	}
	return sum;
}

static bool run_task(uint64_t regcmd, uint32_t entries, struct cap_image *im)
{
	const uint64_t *entry = (const void *)at(regcmd, entries * UINT64_C(8));
	struct cap_output out[2];
	uint32_t seed;
	unsigned int n;

	if (!entry)
		return false;
	cap_image_run(im, entry, entries);
	seed = operand(entry, entries, 0x1070) * 7 + operand(entry, entries, 0x1110);
	n = cap_image_outputs(im, out);
	for (unsigned int i = 0; i < n; i++) {
		for (uint64_t s = 0; s < out[i].surfaces; s++) {
			uint8_t *p = at(out[i].base + s * out[i].stride, out[i].plane);

			for (uint64_t k = 0; p && k < out[i].plane; k++)
				p[k] = (uint8_t)(seed >> 3) ^ (uint8_t)(s * 5 + k);
			if (!p)
				return false;
		}
	}
	return n;
}

/* ---- rocket ---- */

static int rocket_submit(const struct drm_rocket_submit *s)
{
	const uint8_t *jobs = (const void *)(uintptr_t)s->jobs;

	for (uint32_t i = 0; i < s->job_count; i++) {
		const struct drm_rocket_job *job = (const void *)(jobs + i * s->job_struct_size);
		const struct drm_rocket_task *t = (const void *)(uintptr_t)job->tasks;
		struct cap_image im = { 0 };

		for (uint32_t k = 0; k < job->task_count; k++) {
			if (!run_task(t[k].regcmd, t[k].regcmd_count, &im))
				return -EINVAL;
		}
	}
	return 0;
}

static int rocket(int fd, unsigned long req, void *arg)
{
	struct drm_rocket_create_bo *c = arg;
	struct bo *b;

	switch (req) {
	case DRM_IOCTL_ROCKET_CREATE_BO:
		b = create(fd, c->size);
		if (!b)
			return -ENOMEM;
		c->handle = b->handle;
		c->dma_address = b->iova;
		c->offset = b->offset;
		return 0;
	case DRM_IOCTL_ROCKET_SUBMIT:
		return rocket_submit(arg);
	case DRM_IOCTL_ROCKET_PREP_BO:
	case DRM_IOCTL_ROCKET_FINI_BO:
		return find(*(uint32_t *)arg) ? 0 : -EINVAL;
	case DRM_IOCTL_GEM_CLOSE:
		destroy(((struct drm_gem_close *)arg)->handle);
		return 0;
	default:
		return -ENOTTY;
	}
}

/* ---- vendor ---- */

/* An object's number is no address, and in no half a domain's. */
#define OBJECTS	UINT64_C(0xffff000080000000)

static struct bo *object(uint64_t addr)
{
	return find((uint32_t)(addr - OBJECTS));
}

static int vendor_submit(struct drm_rknpu_submit *s)
{
	struct bo *b = object(s->task_obj_addr);
	int single = s->core_mask == 7 ? -1 : 0, first = s->core_mask == 7 ? 2 : 0;
	int last = s->core_mask == 7 ? 4 : s->core_mask == 3 ? 1 : single;

	if (!b)
		return -EINVAL;
	for (int i = first; i <= last; i++) {
		const struct drm_rknpu_subcore_task *r = &s->subcore_task[i];
		const struct drm_rknpu_task *t = (const void *)b->map;
		struct cap_image im = { .next = t[r->task_start].regcmd_addr };

		im.next_entries = t[r->task_start].regcfg_amount + 4;
		for (uint32_t k = 0; k < r->task_number; k++) {
			if (!run_task(im.next, im.next_entries, &im))
				return -EFAULT;
		}
	}
	if (!s->core_mask)
		s->core_mask = 1;
	if (s->flags & DRM_RKNPU_JOB_FENCE_OUT)
		s->fence_fd = eventfd(1, EFD_CLOEXEC);
	return 0;
}

static int vendor(int fd, unsigned long req, void *arg)
{
	struct drm_rknpu_mem_create *c = arg;
	struct drm_rknpu_mem_map *m = arg;
	struct bo *b;

	switch (req) {
	case DRM_IOCTL_RKNPU_MEM_CREATE:
		b = create(fd, c->size);
		if (!b)
			return -ENOMEM;
		c->handle = b->handle;
		c->obj_addr = OBJECTS + b->handle;
		c->dma_addr = b->iova;
		c->size = b->size;
		return 0;
	case DRM_IOCTL_RKNPU_MEM_MAP:
		b = find(m->handle);
		m->offset = b ? b->offset : 0;
		return b ? 0 : -ENOENT;
	case DRM_IOCTL_RKNPU_MEM_DESTROY:
		destroy(m->handle);
		return 0;
	case DRM_IOCTL_RKNPU_MEM_SYNC:
		return object(((struct drm_rknpu_mem_sync *)arg)->obj_addr) ? 0 : -EINVAL;
	case DRM_IOCTL_RKNPU_SUBMIT:
		return vendor_submit(arg);
	default:
		return -ENOTTY;
	}
}

/* /dev/rknpu: handles are descriptors of what can be mapped. */
static int misc_create(struct drm_rknpu_mem_create *c)
{
	struct stat st = { 0 };
	struct bo *b = NULL;
	int fd = c->handle ? (int)c->handle : memfd_create("bo", MFD_CLOEXEC);

	if (!c->handle && ftruncate(fd, (off_t)(c->size + 4095) & ~4095))
		return -ENOMEM;
	if (fstat(fd, &st))
		return -EBADF;
	for (int i = 0; i < BOS && c->handle; i++) {
		if (bos[i].map && bos[i].ino == st.st_ino)
			b = &bos[i];
	}
	if (!c->handle)
		b = create_at(fd, 0, c->size);
	if (!b)
		return -EINVAL;
	b->ino = st.st_ino;
	b->opens++;
	c->handle = (uint32_t)fd;
	c->obj_addr = OBJECTS + b->handle;
	c->dma_addr = b->iova;
	c->size = b->size;
	return 0;
}

static int misc_destroy(const struct drm_rknpu_mem_destroy *d)
{
	struct bo *b = object(d->obj_addr);

	if (!b)
		return -EINVAL;
	if (!--b->opens)
		destroy(b->handle);
	return 0;
}

static int misc(int fd, unsigned long req, void *arg)
{
	switch (req & 0xff) {
	case DRM_RKNPU_MEM_CREATE:
		return misc_create(arg);
	case DRM_RKNPU_MEM_DESTROY:
		return misc_destroy(arg);
	case DRM_RKNPU_MEM_MAP:
		return -EINVAL;
	default:
		return vendor(fd, (req & ~0xffffUL) | 'd' << 8 | (DRM_COMMAND_BASE + (req & 0xff)), arg);
	}
}

bool rec_raw_is_misc(int fd)
{
	const char *node = getenv("CLIENT_MISC");
	struct stat a, b;

	return node && !stat(node, &a) && !fstat(fd, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* ---- both ---- */

static int dispatch(int fd, unsigned long req, void *arg)
{
	struct drm_version *v = arg;

	if (req == DRM_IOCTL_VERSION) {
		const char *name = is_vendor() ? "rknpu" : "rocket";

		v->version_major = 1;
		v->version_minor = 0;
		if (v->name_len)
			memcpy(v->name, name, v->name_len < 6 ? v->name_len : strlen(name));
		v->name_len = strlen(name);
		v->date_len = v->desc_len = 0;
		return 0;
	}
	if (req == SYNC_IOC_FILE_INFO) {
		((struct sync_file_info *)arg)->status = 1;
		return 0;
	}
	if (req == SYNC_IOC_MERGE) {
		((struct sync_merge_data *)arg)->fence = dup(fd);
		return 0;
	}
	if ((req >> 8 & 0xff) == 'r')
		return misc(fd, req, arg);
	return is_vendor() ? vendor(fd, req, arg) : rocket(fd, req, arg);
}

int rec_raw_ioctl(int fd, unsigned long req, void *arg)
{
	int ret;

	pthread_mutex_lock(&npu);
	ret = dispatch(fd, req, arg);
	pthread_mutex_unlock(&npu);
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

#ifdef WITHOUT_RECORDER
#include <stdarg.h>

int ioctl(int fd, unsigned long req, ...);
int ioctl(int fd, unsigned long req, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, req);
	arg = va_arg(ap, void *);
	va_end(ap);
	return rec_raw_ioctl(fd, req, arg);
}
#endif
