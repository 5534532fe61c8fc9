// SPDX-License-Identifier: MIT
/*
 * Unit tests of what libnpu says to the driver, with an ioctl() of our own in
 * the driver's place: one that is mainline's, and one that knows everything.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drm.h"
#include "drm/rocket_accel.h"
#include "dev/npu_space.h"
#include "tap.h"

static struct {
	bool plain;
	int minor;
	uint64_t nr_seen[4];	/* bit per ioctl number */
	unsigned int interrupts;
	struct drm_rocket_job_ext job[2];
	struct drm_rocket_sync sync;
	struct drm_rocket_wait_job wait;
	uint32_t cause;
	int error;
	uint32_t job_struct_size;
	uint32_t range_count;
	unsigned int closed;
	uint32_t import_is;	/* the handle, or 0 for a new one */
	dev_t node;		/* that alone is rocket's, or 0 */
	bool gone;
	bool busy;		/* whatever is waited for, and all deadlines are in the past */
} drv;

static void seen(unsigned long req)
{
	drv.nr_seen[_IOC_NR(req) / 64] |= UINT64_C(1) << (_IOC_NR(req) % 64);
}

static bool was_called(unsigned long req)
{
	return drv.nr_seen[_IOC_NR(req) / 64] >> (_IOC_NR(req) % 64) & 1;
}

static void answer_version(int fd, struct drm_version *v)
{
	struct stat st;

	v->version_major = 1;
	v->version_minor = drv.minor;
	/* As the kernel: cut to the room there is, and the true length told. */
	if (v->name_len)
		memcpy(v->name, drv.node && (fstat(fd, &st) || st.st_rdev != drv.node) ? "others" : "rocket",
		       v->name_len < 6 ? v->name_len : 6);
	v->name_len = 6;
	v->date_len = v->desc_len = 0;
}

static void take_jobs(uint64_t jobs, uint32_t count, uint32_t size)
{
	drv.job_struct_size = size;
	memset(drv.job, 0, sizeof(drv.job));
	for (uint32_t i = 0; i < count && i < 2; i++)
		memcpy(&drv.job[i], (void *)(uintptr_t)(jobs + (uint64_t)i * size), size);
	if (drv.job[0].in_sync_count)
		memcpy(&drv.sync, (void *)(uintptr_t)drv.job[0].in_syncs, sizeof(drv.sync));
}

static int refuse(int err)
{
	errno = err;
	return -1;
}

static int answer_ext(unsigned long req, void *arg)
{
	if (drv.plain)
		return refuse(EINVAL);
	switch (req) {
	case DRM_IOCTL_ROCKET_GET_PARAM: {
		struct drm_rocket_get_param *p = arg;

		if (p->param == DRM_ROCKET_PARAM_FEATURES)
			p->value = DRM_ROCKET_FEATURE_SUBMIT_EXT | DRM_ROCKET_FEATURE_BO_INFO |
				   DRM_ROCKET_FEATURE_SYNCOBJ;
		else if (p->param == DRM_ROCKET_PARAM_HW_VERSION && p->index < 3)
			p->value = 100 + p->index;
		else
			return refuse(EINVAL);
		return 0;
	}
	case DRM_IOCTL_ROCKET_SUBMIT_EXT: {
		struct drm_rocket_submit_ext *s = arg;

		take_jobs(s->jobs, s->job_count, s->job_struct_size);
		s->first_job = 41;
		return 0;
	}
	case DRM_IOCTL_ROCKET_WAIT_JOB: {
		struct drm_rocket_wait_job *w = arg;

		if (w->job != 41)
			return refuse(ENOENT);
		if (drv.busy)
			return refuse(EBUSY);
		drv.wait = *w;
		w->cause = drv.cause;
		w->error = drv.error;
		w->core = 2;
		w->task = 7;
		w->result = drv.cause == DRM_ROCKET_CAUSE_IOMMU_FAULT ? DRM_ROCKET_RESULT_FAULT_WRITE :
			    drv.cause == DRM_ROCKET_CAUSE_DONE ? DRM_ROCKET_RESULT_RERUN : 0;
		w->fault_address = 0x12345000;
		w->elapsed_ns = 99;
		w->tag = drv.job[0].tag;
		return 0;
	}
	case DRM_IOCTL_ROCKET_PREP_BO_RANGES:
		if (drv.busy)
			return refuse(EBUSY);
		drv.range_count = ((struct drm_rocket_prep_bo_ranges *)arg)->range_count;
		return 0;
	case DRM_IOCTL_ROCKET_FINI_BO_RANGES:
		drv.range_count = ((struct drm_rocket_fini_bo_ranges *)arg)->range_count;
		return 0;
	case DRM_IOCTL_PRIME_FD_TO_HANDLE:
		((struct drm_prime_handle *)arg)->handle = drv.import_is ? drv.import_is : 5;
		return 0;
	case DRM_IOCTL_ROCKET_GET_BO_INFO: {
		struct drm_rocket_bo_info *i = arg;

		i->size = 8192;
		i->dma_address = 0x3000;
		return 0;
	}
	case DRM_IOCTL_SYNCOBJ_CREATE:
		((struct drm_syncobj_create *)arg)->handle = 9;
		return 0;
	case DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT:
		return refuse(ETIME);
	default:
		return refuse(EINVAL);
	}
}

int ioctl(int fd, unsigned long req, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, req);
	arg = va_arg(ap, void *);
	va_end(ap);
	seen(req);
	if (drv.interrupts) {
		drv.interrupts--;
		return refuse(EINTR);
	}
	switch (req) {
	case DRM_IOCTL_VERSION:
		if (drv.gone)
			return refuse(ENODEV);
		answer_version(fd, arg);
		return 0;
	case DRM_IOCTL_ROCKET_CREATE_BO:
		((struct drm_rocket_create_bo *)arg)->handle = 3;
		((struct drm_rocket_create_bo *)arg)->dma_address = 0x1000;
		return 0;
	case DRM_IOCTL_ROCKET_SUBMIT: {
		struct drm_rocket_submit *s = arg;

		take_jobs(s->jobs, s->job_count, s->job_struct_size);
		return 0;
	}
	case DRM_IOCTL_GEM_CLOSE:
		drv.closed++;
		return 0;
	case DRM_IOCTL_ROCKET_PREP_BO:
		return drv.busy ? refuse(EBUSY) : 0;
	case DRM_IOCTL_ROCKET_FINI_BO:
		return 0;
	default:
		return answer_ext(req, arg);
	}
}

/* Of the sanitizer that unit tests are built with. */
int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void *p, size_t n),
					      void (*freed)(const volatile void *p));

static void allocated(const volatile void *p, size_t n)
{
	(void)p;
	(void)n;
}

/* free() may change errno, as older C libraries' did. */
static void freed(const volatile void *p)
{
	(void)p;
	if (drv.gone)
		errno = 0;
}

static struct npu_dev *open_as(bool plain, int minor)
{
	struct npu_dev *dev = NULL;

	memset(&drv, 0, sizeof(drv));
	drv.plain = plain;
	drv.minor = minor;
	if (npu_open("/dev/null", &dev))
		exit(1);
	memset(drv.nr_seen, 0, sizeof(drv.nr_seen));
	return dev;
}

static const struct npu_task task = { .regcmd = 0x1000, .count = 10 };

static void test_plain(void)
{
	struct npu_dev *dev = open_as(true, 0);
	struct npu_range range = { 0, 64 };
	struct npu_job_opts opts = { 0 };
	struct npu_hwjob job[2] = { { .tasks = &task, .ntasks = 1 }, { .tasks = &task, .ntasks = 1 } };
	struct npu_result result;
	struct npu_bo *bo;
	uint64_t v = 77;
	uint32_t handle;

	tap_ok(!npu_features(dev), "plain: no features");
	tap_ok(npu_param(dev, DRM_ROCKET_PARAM_SOC, 0, &v) == -EOPNOTSUPP && v == 77,
	       "plain: no parameters");
	tap_ok(!npu_submit_ext(dev, job, NULL, 2, &v) && !v, "plain: submit_ext without wishes");
	tap_ok(was_called(DRM_IOCTL_ROCKET_SUBMIT) && drv.job_struct_size == 40 &&
	       drv.job[1].task_count == 1, "plain: as mainline's SUBMIT of 40 bytes a job");
	opts.core_mask = 1;
	tap_ok(npu_submit_ext(dev, job, &opts, 1, &v) == -EOPNOTSUPP, "plain: no core mask");
	tap_ok(npu_wait_job(dev, 1, 0, &result) == -EOPNOTSUPP, "plain: no results");
	tap_ok(npu_sync_create(dev, true, &handle) == -EOPNOTSUPP, "plain: no syncobjs");
	tap_ok(npu_bo_import(dev, 0, &bo) == -EOPNOTSUPP, "plain: no import");
	npu_bo_alloc(dev, 4096, &bo);
	tap_ok(!npu_bo_prep_ranges(bo, &range, 1, 0) && was_called(DRM_IOCTL_ROCKET_PREP_BO) &&
	       !was_called(DRM_IOCTL_ROCKET_PREP_BO_RANGES), "plain: ranges wait for all");
	tap_ok(!npu_bo_fini_ranges(bo, &range, 1) && was_called(DRM_IOCTL_ROCKET_FINI_BO) &&
	       !was_called(DRM_IOCTL_ROCKET_FINI_BO_RANGES), "plain: ranges hand over all");
	npu_bo_free(bo);
	npu_close(dev);
}

/* Somebody else's 1.5: ranges, but nothing of ours. */
static void test_minor(void)
{
	struct npu_dev *dev = open_as(true, 5);
	struct npu_range range = { 0, 64 };
	struct npu_bo *bo;

	npu_bo_alloc(dev, 4096, &bo);
	tap_ok(npu_bo_prep_ranges(bo, &range, 1, 0) == -EINVAL &&
	       was_called(DRM_IOCTL_ROCKET_PREP_BO_RANGES), "1.5: ranges are used");
	npu_bo_free(bo);
	npu_close(dev);
}

static void test_version(void)
{
	struct npu_dev *dev = open_as(false, 3), *second = NULL;
	struct npu_version v = { .size = sizeof(v) };

	tap_ok(!npu_version(dev, &v) && v.major == 1 && v.minor == 3 && !strcmp(v.name, "rocket") && !*v.desc,
	       "version: numbers and names");
	drv.gone = true;
	tap_ok(npu_version(dev, &v) == -ENODEV, "version: none of a device that is gone");
	tap_ok(npu_open("/dev/null", &second) == -ENODEV, "version: which cannot be opened either");
	npu_close(dev);
}

static void test_ext(void)
{
	struct npu_sync sync = { .handle = 9, .point = 1ull << 40 };
	struct npu_job_opts opts[2] = {
		{ .flags = 1, .core_mask = 5, .priority = 2, .timeout_ns = 1ull << 33,
		  .wait = &sync, .nwait = 1, .tag = 1ull << 63 },
		{ .signal = &sync, .nsignal = 1 },
	};
	struct npu_hwjob job[2] = { { .tasks = &task, .ntasks = 1 }, { .tasks = &task, .ntasks = 1 } };
	struct npu_dev *dev = open_as(false, 0);
	struct npu_range range[2] = { { 0, 64 }, { 64, 64 } };
	struct npu_result r;
	struct npu_bo *bo;
	uint64_t v;
	uint32_t handle;

	tap_ok(npu_features(dev) & DRM_ROCKET_FEATURE_SUBMIT_EXT, "ext: features");
	tap_ok(!npu_param(dev, DRM_ROCKET_PARAM_HW_VERSION, 2, &v) && v == 102, "ext: parameter");
	tap_ok(npu_param(dev, 12345, 0, &v) == -EINVAL, "ext: unknown parameter");
	drv.interrupts = 2;
	tap_ok(!npu_submit_ext(dev, job, opts, 2, &v) && v == 41, "ext: submit after two signals");
	tap_ok(drv.job_struct_size == sizeof(drv.job[0]) && drv.job[0].flags == 1 &&
	       drv.job[0].core_mask == 5 && drv.job[0].priority == 2 &&
	       drv.job[0].timeout_ns == 1ull << 33 && drv.job[0].in_sync_count == 1 &&
	       drv.job[0].tag == 1ull << 63 && !drv.job[0].out_sync_count && drv.sync.handle == 9 && !drv.sync.flags &&
	       drv.sync.point == 1ull << 40, "ext: all wishes of the first job arrive");
	tap_ok(drv.job[1].out_sync_count == 1 && !drv.job[1].in_sync_count &&
	       !drv.job[1].core_mask, "ext: and of the second");
	tap_ok(!npu_submit_ext(dev, job, NULL, 2, &v) && v == 41 && !drv.job[0].core_mask,
	       "ext: submit without wishes");
	drv.cause = DRM_ROCKET_CAUSE_IOMMU_FAULT;
	drv.error = -EFAULT;
	drv.job[0].tag = 1ull << 63;
	tap_ok(!npu_wait_job(dev, 41, 0, &r) && r.cause == NPU_CAUSE_IOMMU_FAULT &&
	       r.err == -EFAULT && r.core == 2 && r.task == 7 && r.fault_write &&
	       r.fault_iova == 0x12345000 && r.elapsed_ns == 99 && r.tag == 1ull << 63 &&
	       !drv.wait.timeout_ns,
	       "ext: result");
	tap_ok(!npu_wait_job(dev, 41, -1, &r) && drv.wait.timeout_ns == INT64_MAX,
	       "ext: wait without limit");
	tap_ok(npu_wait_job(dev, 42, 0, &r) == -ENOENT, "ext: unknown job");
	tap_ok(!npu_sync_create(dev, false, &handle) && handle == 9, "ext: syncobj");
	tap_ok(npu_sync_wait(dev, &sync, 0) == -EBUSY && npu_sync_wait(dev, &sync, 5) == -ETIMEDOUT,
	       "ext: syncobj that has not signalled");
	tap_ok(!npu_bo_import(dev, 0, &bo) && bo->handle == 5 && bo->iova == 0x3000 &&
	       bo->size == 8192, "ext: import tells the address");
	tap_ok(!npu_bo_prep_ranges(bo, range, 2, 0) && drv.range_count == 2, "ext: prep ranges");
	drv.range_count = 0;
	tap_ok(!npu_bo_fini_ranges(bo, range, 2) && drv.range_count == 2, "ext: fini ranges");
	drv.busy = true;
	tap_ok(npu_wait_job(dev, 41, 0, &r) == -EBUSY && npu_wait_job(dev, 41, 5, &r) == -ETIMEDOUT,
	       "ext: a job that is not over, without a wait and at a deadline in the past");
	tap_ok(npu_bo_prep(bo, 0) == -EBUSY && npu_bo_prep(bo, 5) == -ETIMEDOUT, "ext: the same of a buffer");
	tap_ok(npu_bo_prep_ranges(bo, range, 2, 0) == -EBUSY &&
	       npu_bo_prep_ranges(bo, range, 2, 5) == -ETIMEDOUT, "ext: the same of ranges");
	drv.busy = false;
	npu_bo_free(bo);
	npu_close(dev);
}

/* A file has one handle of a memory, however often it is imported. */
static void test_handles(void)
{
	struct npu_dev *dev = open_as(false, 0);
	struct npu_bo *own, *a = NULL, *b = NULL;
	int ret;

	npu_bo_alloc(dev, 4096, &own);
	ret = npu_bo_import(dev, 0, &a);
	ret = ret ? ret : npu_bo_import(dev, 0, &b);
	tap_ok(!ret && a == b && a != own, "handles: an import of what was imported is the same buffer: %d", ret);
	npu_bo_free(own);
	tap_ok(drv.closed == 1, "handles: one is closed with its only user");
	npu_bo_free(a);
	tap_ok(drv.closed == 1, "handles: the first of two users does not close theirs");
	npu_bo_free(b);
	tap_ok(drv.closed == 2, "handles: the second one does");
	drv.import_is = 3;
	npu_bo_alloc(dev, 4096, &own);
	ret = npu_bo_import(dev, 0, &a);
	tap_ok(!ret && a == own && a->iova == 0x1000, "handles: the device's own memory comes back as it is: %d", ret);
	npu_bo_free(own);
	npu_bo_free(a);
	tap_ok(drv.closed == 3, "handles: and is closed once");
	npu_close(dev);
}

static dev_t device_of(const struct npu_dev *dev)
{
	struct stat st = { 0 };

	fstat(npu_fd(dev), &st);
	return st.st_rdev;
}

/* Opens another address space; what is at the path has changed meanwhile. */
static int space_after(struct npu_dev *dev, const char *path, const char *now, dev_t *device)
{
	struct npu_stats before = { .size = sizeof(before) }, after = { .size = sizeof(after) };
	int ret;

	unlink(path);
	if (now && symlink(now, path))
		return -errno;
	npu_stats(dev, &before);
	ret = npu_reserve_spaces(dev, before.spaces + 1);
	npu_stats(dev, &after);
	if (after.spaces > before.spaces)
		*device = device_of(npu_dev_spaces(dev)->dev[before.spaces]);
	return ret;
}

static void test_reopen(void)
{
	char dir[] = "/tmp/test_ext.XXXXXX", path[64];
	dev_t null, got = 0;
	struct npu_dev *dev;
	int ret;

	memset(&drv, 0, sizeof(drv));
	if (!mkdtemp(dir))
		exit(1);
	snprintf(path, sizeof(path), "%s/accel0", dir);
	if (symlink("/dev/null", path) || npu_open(path, &dev))
		exit(1);
	null = drv.node = device_of(dev);
	ret = space_after(dev, path, "/dev/zero", &got);
	tap_ok(!ret && got == null, "reopen: a path that leads to another driver now: %d", ret);
	got = 0;
	ret = space_after(dev, path, NULL, &got);
	tap_ok(!ret && got == null, "reopen: a path that is gone: %d", ret);
	drv.gone = true;
	got = 0;
	ret = space_after(dev, path, "/dev/null", &got);
	tap_ok(ret == -ENODEV && !got, "reopen: a device that is gone, whose number may be another's: %d", ret);
	npu_close(dev);
	unlink(path);
	rmdir(dir);
}

/* A typing error is not taken for a missing device. */
static void test_uapi(void)
{
	static const struct {
		const char *value;
		int ret;
	} tries[] = { { "rocket", 0 }, { "", 0 }, { "rknpu", -ENODEV }, { "vendor", -EINVAL } };
	struct npu_dev *dev;
	int ret;

	memset(&drv, 0, sizeof(drv));
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		setenv("NPU_UAPI", tries[i].value, 1);
		ret = npu_open("/dev/null", &dev);
		tap_ok(ret == tries[i].ret, "uapi: NPU_UAPI=%s: %d", tries[i].value, ret);
		if (!ret)
			npu_close(dev);
	}
	unsetenv("NPU_UAPI");
}

/* All causes of the driver are causes of the library; what is lost of them is in other fields. */
static void test_causes(void)
{
	static const struct {
		uint32_t cause;
		int error;
		enum npu_cause is;
		bool write;
	} t[] = {
		{ DRM_ROCKET_CAUSE_DONE, 0, NPU_CAUSE_DONE, false },
		{ DRM_ROCKET_CAUSE_NEVER_STARTED, -ETIME, NPU_CAUSE_NEVER_STARTED, false },
		{ DRM_ROCKET_CAUSE_TIMEOUT, -ETIME, NPU_CAUSE_TIMEOUT, false },
		{ DRM_ROCKET_CAUSE_DMA_READ, -EIO, NPU_CAUSE_DMA_ERROR, false },
		{ DRM_ROCKET_CAUSE_DMA_WRITE, -EIO, NPU_CAUSE_DMA_ERROR, true },
		{ DRM_ROCKET_CAUSE_IOMMU_FAULT, -EFAULT, NPU_CAUSE_IOMMU_FAULT, true },
		{ DRM_ROCKET_CAUSE_CANCELLED, -ECANCELED, NPU_CAUSE_CANCELLED, false },
		{ DRM_ROCKET_CAUSE_DEVICE_GONE, -ENODEV, NPU_CAUSE_DEVICE_GONE, false },
		{ DRM_ROCKET_CAUSE_BANNED, -EPIPE, NPU_CAUSE_BANNED, false },
		{ DRM_ROCKET_CAUSE_UNKNOWN, -EINVAL, NPU_CAUSE_OTHER, false },
	};
	struct npu_dev *dev = open_as(false, 0);
	struct npu_result r;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		drv.cause = t[i].cause;
		drv.error = t[i].error;
		tap_ok(!npu_wait_job(dev, 41, 0, &r) && r.cause == t[i].is && r.err == t[i].error &&
		       r.fault_write == t[i].write && r.rerun == !t[i].error, "causes: %s", npu_strcause(t[i].is));
	}
	npu_close(dev);
}

int main(void)
{
	if (!__sanitizer_install_malloc_and_free_hooks(allocated, freed))
		return 1;
	test_plain();
	test_minor();
	test_version();
	test_ext();
	test_handles();
	test_reopen();
	test_uapi();
	test_causes();
	return tap_done();
}
