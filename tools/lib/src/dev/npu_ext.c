// SPDX-License-Identifier: MIT
/*
 * What the driver offers beyond mainline's interface: questions, results,
 * syncobjs, parts of buffers, buffers shared with others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <xf86drm.h>

#include "drm/rocket_accel.h"
#include "npu_vendor.h"

_Static_assert(sizeof(struct npu_range) == sizeof(struct drm_rocket_bo_range) &&
	       offsetof(struct npu_range, size) == offsetof(struct drm_rocket_bo_range, size),
	       "passed on as it is");

const char *npu_library_version(void)
{
	return NPU_LIBRARY_VERSION;
}

uint64_t npu_features(struct npu_dev *dev)
{
	return npu_dev_features(dev);
}

uint32_t npu_soc(const struct npu_dev *dev)
{
	return npu_dev_chip(dev)->soc;
}

int npu_param(struct npu_dev *dev, uint32_t param, uint32_t index, uint64_t *value)
{
	struct drm_rocket_get_param req = { .param = param, .index = index };
	int ret;

	if (!npu_dev_features(dev))
		return -EOPNOTSUPP;
	ret = npu_errno(drmIoctl(npu_fd(dev), DRM_IOCTL_ROCKET_GET_PARAM, &req));
	if (!ret)
		*value = req.value;
	return ret;
}

static enum npu_cause cause_of(const struct drm_rocket_wait_job *w)
{
	return w->cause == DRM_ROCKET_CAUSE_NEVER_STARTED ? NPU_CAUSE_NEVER_STARTED :
							     npu_cause_of_errno(w->error);
}

int npu_wait_job_until(struct npu_dev *dev, uint64_t number, int64_t deadline_ns,
		       struct npu_result *result)
{
	struct drm_rocket_wait_job req = { .job = number, .timeout_ns = deadline_ns };
	int ret;

	if (!(npu_dev_features(dev) & DRM_ROCKET_FEATURE_SUBMIT_EXT))
		return -EOPNOTSUPP;
	ret = npu_wait_errno(drmIoctl(npu_fd(dev), DRM_IOCTL_ROCKET_WAIT_JOB, &req), deadline_ns);
	if (ret)
		return ret;
	*result = (struct npu_result) {
		.cause = cause_of(&req), .err = req.error, .core = req.core, .task = req.task,
		.fault_iova = req.fault_address, .elapsed_ns = req.elapsed_ns,
		.tag = req.tag,
		.fault_write = req.cause == DRM_ROCKET_CAUSE_DMA_WRITE ||
			       req.result & DRM_ROCKET_RESULT_FAULT_WRITE,
		.rerun = req.result & DRM_ROCKET_RESULT_RERUN,
	};
	return 0;
}

int npu_wait_job(struct npu_dev *dev, uint64_t number, int64_t timeout_ns,
		 struct npu_result *result)
{
	return npu_wait_job_until(dev, number, npu_deadline(timeout_ns), result);
}

static bool has_syncs(struct npu_dev *dev)
{
	return npu_dev_features(dev) & DRM_ROCKET_FEATURE_SYNCOBJ;
}

int npu_sync_create(struct npu_dev *dev, bool signalled, uint32_t *handle)
{
	if (!has_syncs(dev))
		return -EOPNOTSUPP;
	return npu_errno(drmSyncobjCreate(npu_fd(dev), signalled ? DRM_SYNCOBJ_CREATE_SIGNALED : 0,
					  handle));
}

int npu_sync_destroy(struct npu_dev *dev, uint32_t handle)
{
	return has_syncs(dev) ? npu_errno(drmSyncobjDestroy(npu_fd(dev), handle)) : -EOPNOTSUPP;
}

int npu_sync_wait(struct npu_dev *dev, const struct npu_sync *sync, int64_t timeout_ns)
{
	uint32_t handle = sync->handle;
	uint64_t point = sync->point;

	int ret;

	if (!has_syncs(dev))
		return -EOPNOTSUPP;
	/* Point 0 of a timeline is the binary payload. */
	ret = npu_errno(drmSyncobjTimelineWait(npu_fd(dev), &handle, &point, 1,
					       npu_deadline(timeout_ns), 0, NULL));
	if (ret != -ETIME)
		return ret;
	return timeout_ns ? -ETIMEDOUT : -EBUSY;
}

/* From interface 1.5 on; ours has them at any version. */
static bool has_ranges(struct npu_dev *dev)
{
	struct npu_version v = { .size = sizeof(v) };

	if (npu_dev_features(dev))
		return true;
	if (npu_is_vendor(dev) || npu_version(dev, &v))
		return false;
	return v.major > 1 || (v.major == 1 && v.minor >= 5);
}

int npu_bo_prep_ranges(struct npu_bo *bo, const struct npu_range *ranges, uint32_t n,
		       int64_t timeout_ns)
{
	struct drm_rocket_prep_bo_ranges req = {
		.handle = bo->handle, .range_count = n, .ranges = (uintptr_t)ranges,
		.timeout_ns = npu_deadline(timeout_ns),
	};

	if (!has_ranges(bo->dev))
		return npu_bo_prep(bo, timeout_ns);
	return npu_wait_errno(drmIoctl(npu_fd(bo->dev), DRM_IOCTL_ROCKET_PREP_BO_RANGES, &req),
			      req.timeout_ns);
}

int npu_bo_fini_ranges(struct npu_bo *bo, const struct npu_range *ranges, uint32_t n)
{
	struct drm_rocket_fini_bo_ranges req = {
		.handle = bo->handle, .range_count = n, .ranges = (uintptr_t)ranges,
	};

	if (!has_ranges(bo->dev))
		return npu_bo_fini(bo);
	return npu_errno(drmIoctl(npu_fd(bo->dev), DRM_IOCTL_ROCKET_FINI_BO_RANGES, &req));
}

int npu_bo_export(struct npu_bo *bo, int *fd)
{
	return npu_errno(drmPrimeHandleToFD(npu_fd(bo->dev), bo->handle, DRM_CLOEXEC | DRM_RDWR,
					    fd));
}

void npu_bo_keep(struct npu_bo *bo)
{
	struct npu_kept_bo *k = npu_kept(bo), **first = npu_dev_bos(bo->dev);

	k->refs = 1;
	k->link = first;
	k->next = *first;
	if (k->next)
		k->next->link = &k->next;
	*first = k;
}

bool npu_bo_unref(struct npu_bo *bo)
{
	struct npu_kept_bo *k = npu_kept(bo);

	if (--k->refs)
		return false;
	*k->link = k->next;
	if (k->next)
		k->next->link = k->link;
	return true;
}

static struct npu_bo *find_handle(struct npu_dev *dev, uint32_t handle)
{
	struct npu_kept_bo *k = *npu_dev_bos(dev);

	while (k && k->base.handle != handle)
		k = k->next;
	return k ? &k->base : NULL;
}

static int describe(struct npu_dev *dev, uint32_t handle, struct npu_bo **out)
{
	struct npu_bo *bo = calloc(1, sizeof(struct npu_kept_bo));
	struct drm_rocket_bo_info req = { .handle = handle };
	int ret;

	if (!bo)
		return -ENOMEM;
	ret = npu_errno(drmIoctl(npu_fd(dev), DRM_IOCTL_ROCKET_GET_BO_INFO, &req));
	if (ret) {
		free(bo);
		return ret;
	}
	bo->dev = dev;
	bo->handle = handle;
	bo->iova = req.dma_address;
	bo->offset = req.offset;
	bo->size = req.size;
	npu_bo_keep(bo);
	*out = bo;
	return 0;
}

bool npu_can_import(const struct npu_dev *dev)
{
	return npu_is_vendor(dev) || npu_dev_features(dev) & DRM_ROCKET_FEATURE_BO_INFO;
}

int npu_bo_import(struct npu_dev *dev, int fd, struct npu_bo **out)
{
	struct npu_bo *bo;
	uint32_t handle;
	int ret;

	if (!npu_can_import(dev))
		return -EOPNOTSUPP;
	ret = npu_errno(drmPrimeFDToHandle(npu_fd(dev), fd, &handle));
	if (ret)
		return ret;
	bo = find_handle(dev, handle);
	if (bo) {
		npu_kept(bo)->refs++;
		*out = bo;
		return 0;
	}
	ret = npu_is_vendor(dev) ? npu_vendor_bo_describe(dev, handle, out) : describe(dev, handle, out);
	if (ret)
		drmIoctl(npu_fd(dev), DRM_IOCTL_GEM_CLOSE, &(struct drm_gem_close) { .handle = handle });
	return ret;
}
