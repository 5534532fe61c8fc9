// SPDX-License-Identifier: GPL-2.0-only
/* Owns the WAIT_JOB ioctl of the rocket uAPI: how jobs ended. */
#include <linux/build_bug.h>
#include <linux/dma-fence.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/drm_utils.h>

#include "rknpu_fence.h"
#include "rknpu_file.h"
#include "rknpu_history.h"
#include "rknpu_job.h"
#include "rknpu_rocket.h"

static_assert(sizeof(struct drm_rocket_wait_job) == 56);
static_assert(offsetof(struct drm_rocket_wait_job, timeout_ns) == 8);
static_assert(offsetof(struct drm_rocket_wait_job, flags) == 16);
static_assert(offsetof(struct drm_rocket_wait_job, cause) == 20);
static_assert(offsetof(struct drm_rocket_wait_job, error) == 24);
static_assert(offsetof(struct drm_rocket_wait_job, core) == 28);
static_assert(offsetof(struct drm_rocket_wait_job, task) == 32);
static_assert(offsetof(struct drm_rocket_wait_job, result) == 36);
static_assert(offsetof(struct drm_rocket_wait_job, fault_address) == 40);
static_assert(offsetof(struct drm_rocket_wait_job, elapsed_ns) == 48);
static_assert(DRM_IOCTL_ROCKET_WAIT_JOB == 0xc0386462);

static enum drm_rocket_cause rknpu_rocket_cause(enum rknpu_cause cause)
{
	switch (cause) {
	case RKNPU_CAUSE_DONE:
		return DRM_ROCKET_CAUSE_DONE;
	case RKNPU_CAUSE_TIMEOUT_NEVER_STARTED:
		return DRM_ROCKET_CAUSE_NEVER_STARTED;
	case RKNPU_CAUSE_TIMEOUT_RUNNING:
		return DRM_ROCKET_CAUSE_TIMEOUT;
	case RKNPU_CAUSE_DMA_READ:
		return DRM_ROCKET_CAUSE_DMA_READ;
	case RKNPU_CAUSE_DMA_WRITE:
		return DRM_ROCKET_CAUSE_DMA_WRITE;
	case RKNPU_CAUSE_IOMMU_FAULT:
		return DRM_ROCKET_CAUSE_IOMMU_FAULT;
	case RKNPU_CAUSE_RESET_OTHER:
		return DRM_ROCKET_CAUSE_RESET;
	case RKNPU_CAUSE_CANCELLED:
	case RKNPU_CAUSE_KILLED:
		return DRM_ROCKET_CAUSE_CANCELLED;
	case RKNPU_CAUSE_DEVICE_GONE:
		return DRM_ROCKET_CAUSE_DEVICE_GONE;
	default:
		return DRM_ROCKET_CAUSE_UNKNOWN;
	}
}

static void rknpu_rocket_fill_result(struct drm_rocket_wait_job *args, struct dma_fence *fence)
{
	struct rknpu_result r;

	rknpu_fence_get_result(fence, &r);
	args->cause = rknpu_rocket_cause(r.cause);
	args->error = rknpu_cause_error(r.cause);
	args->core = r.core;
	args->task = r.task;
	args->elapsed_ns = r.elapsed_ns;
	args->fault_address = 0;
	args->result = r.rerun ? DRM_ROCKET_RESULT_RERUN : 0;
	if (r.cause == RKNPU_CAUSE_IOMMU_FAULT) {
		args->fault_address = r.fault_iova;
		if (r.fault_write)
			args->result |= DRM_ROCKET_RESULT_FAULT_WRITE;
	}
}

/* As PREP_BO: not inside drm_dev_enter(), and jiffies that were late catch up at once. */
static int rknpu_rocket_wait_fence(struct dma_fence *fence, s64 timeout_ns)
{
	long timeout = timeout_ns > 0 ? drm_timeout_abs_to_jiffies(timeout_ns) : 0;
	long ret;

	if (!timeout)
		return dma_fence_is_signaled(fence) ? 0 : -EBUSY;

	do {
		ret = dma_fence_wait_timeout(fence, true, timeout);
		timeout = drm_timeout_abs_to_jiffies(timeout_ns);
	} while (!ret && timeout);

	if (!ret)
		return -ETIMEDOUT;
	return ret < 0 ? ret : 0;
}

int rknpu_rocket_wait_job(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_wait_job *args = data;
	struct rknpu_file *rfile = file->driver_priv;
	struct dma_fence *fence;
	int ret;

	if (args->flags) {
		drm_dbg_ratelimited(dev, "wait_job: flags are %#x, not 0\n", args->flags);
		return -EINVAL;
	}

	fence = rknpu_history_find(rfile->history, args->job);
	if (!fence) {
		drm_dbg_ratelimited(dev, "wait_job: job %llu is not among the newest %u\n",
				    args->job, RKNPU_HISTORY_SIZE);
		return -ENOENT;
	}

	ret = rknpu_rocket_wait_fence(fence, args->timeout_ns);
	if (!ret)
		rknpu_rocket_fill_result(args, fence);
	dma_fence_put(fence);
	return ret;
}
