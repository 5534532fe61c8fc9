// SPDX-License-Identifier: MIT
/*
 * A stand-in for driver and NPU on the host, for the recorder and npu-replay: the ioctls of
 * both interfaces, on a file in the place of a device node. Which driver it is says NPU_UAPI;
 * with FAKE_OURS "rocket" is ours, and its jobs run when somebody waits for them. FAKE_SOC is its chip,
 * 3588 by default.
 *
 * It multiplies nothing. A task fills its result with bytes that depend on its operands, and
 * on no address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <linux/sync_file.h>

#include "drm.h"
#include "drm/rknpu_drm.h"
#include "drm/rocket_accel.h"
#include "cap.h"
#include "npu_prog.h"
#include "rec.h"

#define BOS		4096
#define OPERAND_BYTES	512u
/* Of a process of ours. */
#define JOBS		256
#define SYNCS		2

static struct bo {
	uint32_t handle;
	uint64_t iova, size, offset;
	uint8_t *map;
	ino_t ino;		/* /dev/rknpu: its dma-buf's */
	unsigned int opens;
	int err;		/* of a job that wrote it, and whether it was told */
	bool told;
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

/* Ours tells, and the vendor's. */
static uint32_t soc(void)
{
	const char *s = getenv("FAKE_SOC");

	return s ? (uint32_t)atoi(s) : 3588;
}

/* Where operands are; and, of an RK3576, CBUF_ROW, whose START is 0 for core 0 alone. */
static const struct inputs {
	uint32_t soc, features, weights, window;
} inputs[] = { { 3588, 0x1070, 0x1110, 0 }, { 3576, 0x1088, 0x1110, 0x103c } };

static const struct inputs *find_inputs(void)
{
	return &inputs[soc() == 3576];
}

static struct cap_image new_image(void)
{
	return (struct cap_image) { .chip = npu_chip_of_soc(soc()) };
}

static uint32_t value_of(const uint64_t *entry, uint32_t n, uint32_t reg)
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < n; i++)
		value = CAP_ENTRY_REG(entry[i]) == reg ? CAP_ENTRY_VALUE(entry[i]) : value;
	return value;
}

/* Cores are counted from 0. */
static bool run_task(uint64_t regcmd, uint32_t entries, uint32_t core, struct cap_image *im)
{
	const struct inputs *in = find_inputs();
	const uint64_t *entry = (const void *)at(regcmd, entries * UINT64_C(8));
	struct cap_output out[2];
	uint32_t seed;
	unsigned int n;

	if (!entry)
		return false;
	cap_image_run(im, entry, entries);
	/* RGP_TYPE, which the model refuses, too. */
	if (value_of(entry, entries, 0x400c) & 0x3c000000)
		return false;
	if (in->window && !(value_of(entry, entries, in->window) & 0xffff) != !core) {
		fprintf(stderr, "fake NPU: a program for another core than core %u\n", core);
		return false;
	}
	seed = operand(entry, entries, in->features) * 7 + operand(entry, entries, in->weights);
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
		struct cap_image im = new_image();

		for (uint32_t k = 0; k < job->task_count; k++) {
			if (!run_task(t[k].regcmd, t[k].regcmd_count, 0, &im))
				return -EINVAL;
		}
	}
	return 0;
}

/* ---- rocket, ours ---- */

static struct job {
	struct drm_rocket_task *tasks;
	uint32_t *bos;		/* those that it writes are first */
	uint32_t ntasks, nbos, nout;
	uint32_t core;
	int fence;		/* readable when it has signalled; 0 for none */
	bool over;
	int error;
} jobs[JOBS];

static uint64_t last_job;
static int syncs[SYNCS];

static bool is_ours(void)
{
	return getenv("FAKE_OURS");
}

static bool has_signalled(int fence)
{
	struct pollfd p = { .fd = fence, .events = POLLIN };

	return !fence || poll(&p, 1, 0) > 0;
}

static bool have_common_bo(const struct job *a, const struct job *b)
{
	for (uint32_t i = 0; i < a->nbos; i++) {
		for (uint32_t k = 0; k < b->nbos; k++) {
			if (a->bos[i] == b->bos[k] && (i < a->nout || k < b->nout))
				return true;
		}
	}
	return false;
}

static bool is_ready(const struct job *job)
{
	for (const struct job *j = jobs; j < job; j++) {
		if (!j->over && have_common_bo(j, job))
			return false;
	}
	return has_signalled(job->fence);
}

static void run_job(struct job *job)
{
	struct cap_image im = new_image();

	for (uint32_t i = 0; i < job->ntasks && !job->error; i++) {
		if (!run_task(job->tasks[i].regcmd, job->tasks[i].regcmd_count, job->core, &im))
			job->error = -ETIME;
	}
	job->over = true;
	for (uint32_t i = 0; i < job->nout && job->error; i++) {
		struct bo *b = find(job->bos[i]);

		if (!b || (b->err && !b->told))
			continue;
		b->err = job->error;
		b->told = false;
	}
}

static bool uses(const struct job *job, uint32_t handle)
{
	for (uint32_t i = 0; i < job->nbos; i++) {
		if (job->bos[i] == handle)
			return true;
	}
	return false;
}

/* One job, or those that use a BO, and those before that they wait for. Are they over? */
static bool run_jobs(uint64_t number, uint32_t handle)
{
	bool wanted[JOBS], over = true;

	for (uint64_t i = last_job; i-- > 0;) {
		wanted[i] = number ? i + 1 == number : uses(&jobs[i], handle);
		for (uint64_t k = i + 1; k < last_job && !wanted[i]; k++)
			wanted[i] = wanted[k] && have_common_bo(&jobs[i], &jobs[k]);
	}
	for (uint64_t i = 0; i < last_job; i++) {
		if (wanted[i] && !jobs[i].over && is_ready(&jobs[i]))
			run_job(&jobs[i]);
		over &= !wanted[i] || jobs[i].over;
	}
	return over;
}

static int wait_for(uint64_t number, uint32_t handle, int64_t timeout_ns)
{
	struct timespec ts;

	while (!run_jobs(number, handle)) {
		if (timeout_ns <= 0)
			return -EBUSY;
		clock_gettime(CLOCK_MONOTONIC, &ts);
		if (ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec >= timeout_ns)
			return -ETIMEDOUT;
		pthread_mutex_unlock(&npu);
		usleep(1000);
		pthread_mutex_lock(&npu);
	}
	return 0;
}

static void *copy(uint64_t from, size_t size)
{
	return memcpy(malloc(size + 1), (const void *)(uintptr_t)from, size);
}

static int add_job(const struct drm_rocket_job_ext *e)
{
	struct job *job = &jobs[last_job];
	const struct drm_rocket_sync *in = (const void *)(uintptr_t)e->in_syncs;

	if (last_job == JOBS)
		return -EBUSY;
	job->ntasks = e->task_count;
	job->tasks = copy(e->tasks, e->task_count * sizeof(*job->tasks));
	job->core = e->core_mask ? (uint32_t)__builtin_ctz(e->core_mask) : 0;
	job->nout = e->out_bo_handle_count;
	job->nbos = job->nout + e->in_bo_handle_count;
	job->bos = calloc(job->nbos + 1, sizeof(*job->bos));
	memcpy(job->bos, (const void *)(uintptr_t)e->out_bo_handles, job->nout * 4);
	memcpy(job->bos + job->nout, (const void *)(uintptr_t)e->in_bo_handles,
	       e->in_bo_handle_count * 4);
	if (e->in_sync_count)
		job->fence = syncs[in->handle];
	for (uint32_t i = 0; i < job->nout; i++) {
		struct bo *b = find(job->bos[i]);

		if (b && b->told) {
			b->err = 0;
			b->told = false;
		}
	}
	last_job++;
	return 0;
}

static int ours_submit(const struct drm_rocket_submit *s)
{
	for (uint32_t i = 0; i < s->job_count; i++) {
		struct drm_rocket_job_ext e = { 0 };
		int ret;

		memcpy(&e, (const uint8_t *)(uintptr_t)s->jobs + i * s->job_struct_size,
		       s->job_struct_size);
		ret = add_job(&e);
		if (ret)
			return ret;
	}
	return 0;
}

static int wait_job(struct drm_rocket_wait_job *w)
{
	int ret = w->job && w->job <= last_job ? wait_for(w->job, 0, w->timeout_ns) : -ENOENT;

	if (ret)
		return ret;
	w->error = jobs[w->job - 1].error;
	w->cause = w->error ? DRM_ROCKET_CAUSE_TIMEOUT : DRM_ROCKET_CAUSE_DONE;
	return 0;
}

static int prep_bo(const struct drm_rocket_prep_bo *p)
{
	struct bo *b = find(p->handle);
	int ret = b ? wait_for(0, p->handle, p->timeout_ns) : -ENOENT;

	if (ret)
		return ret;
	b->told = b->err;
	return b->err;
}

static int get_param(struct drm_rocket_get_param *p)
{
	switch (p->param) {
	case DRM_ROCKET_PARAM_FEATURES:
		p->value = DRM_ROCKET_FEATURE_SUBMIT_EXT | DRM_ROCKET_FEATURE_SYNCOBJ | DRM_ROCKET_FEATURE_SCHED |
			   DRM_ROCKET_FEATURE_BATCHED;
		return 0;
	case DRM_ROCKET_PARAM_SOC:
		p->value = soc();
		return 0;
	default:
		return -EINVAL;
	}
}

static int ours(unsigned long req, void *arg)
{
	struct drm_syncobj_timeline_wait *w = arg;
	struct drm_rocket_prep_bo_ranges *r = arg;
	struct drm_syncobj_handle *h = arg;
	struct drm_rocket_submit_ext *s = arg;

	switch (req) {
	case DRM_IOCTL_ROCKET_GET_PARAM:
		return get_param(arg);
	case DRM_IOCTL_ROCKET_SUBMIT:
		return ours_submit(arg);
	case DRM_IOCTL_ROCKET_SUBMIT_EXT:
		s->first_job = last_job + 1;
		return ours_submit(arg);
	case DRM_IOCTL_ROCKET_WAIT_JOB:
		return wait_job(arg);
	case DRM_IOCTL_ROCKET_PREP_BO:
		return prep_bo(arg);
	case DRM_IOCTL_ROCKET_PREP_BO_RANGES:
		return prep_bo(&(struct drm_rocket_prep_bo) { .handle = r->handle, .timeout_ns = r->timeout_ns });
	case DRM_IOCTL_ROCKET_FINI_BO_RANGES:
		return find(*(uint32_t *)arg) ? 0 : -ENOENT;
	case DRM_IOCTL_PRIME_HANDLE_TO_FD:
		((struct drm_prime_handle *)arg)->fd = eventfd(1, EFD_CLOEXEC);
		return find(((struct drm_prime_handle *)arg)->handle) ? 0 : -ENOENT;
	case DMA_BUF_IOCTL_SYNC:
		return 0;
	case DRM_IOCTL_SYNCOBJ_CREATE:
		((struct drm_syncobj_create *)arg)->handle = 1;
		return 0;
	case DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE:
		syncs[h->handle] = dup(h->fd);
		return 0;
	case DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT:
		return has_signalled(syncs[*(uint32_t *)(uintptr_t)w->handles]) ? 0 : -ETIME;
	default:
		return -ENOTTY;
	}
}

static int rocket(int fd, unsigned long req, void *arg)
{
	struct drm_rocket_create_bo *c = arg;
	struct bo *b;

	if (is_ours()) {
		int ret = ours(req, arg);

		if (ret != -ENOTTY)
			return ret;
	}
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
	bool alone = !(s->core_mask & (s->core_mask - 1));
	int core = alone && s->core_mask ? __builtin_ctz(s->core_mask) : 0;
	int first = alone ? core : s->core_mask == 7 ? 2 : 0;
	int last = s->core_mask == 7 ? 4 : s->core_mask == 3 ? 1 : first;

	if (!b)
		return -EINVAL;
	for (int i = first; i <= last; i++) {
		const struct drm_rknpu_subcore_task *r = &s->subcore_task[i];
		const struct drm_rknpu_task *t = (const void *)b->map;
		struct cap_image im = new_image();

		im.next = t[r->task_start].regcmd_addr;
		im.next_entries = t[r->task_start].regcfg_amount + 4;
		for (uint32_t k = 0; k < r->task_number; k++) {
			if (!run_task(im.next, im.next_entries, (uint32_t)(core + i - first), &im))
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
	case DRM_IOCTL_RKNPU_ACTION:
		if (((struct drm_rknpu_action *)arg)->flags != DRM_RKNPU_GET_HW_VERSION)
			return -EINVAL;
		/* As the chips' registers have them; npu_chip.c. */
		((struct drm_rknpu_action *)arg)->value = soc() == 3588 ? 0x46495245 : soc() == 3576 ? 0x46495247 : 0;
		return 0;
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

	if (getenv("FAKE_SIGNAL") && (req == DRM_IOCTL_ROCKET_SUBMIT || req == DRM_IOCTL_RKNPU_SUBMIT))
		raise(SIGUSR1);
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
