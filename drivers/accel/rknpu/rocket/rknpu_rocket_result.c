// SPDX-License-Identifier: GPL-2.0-only
/* Owns how jobs ended: the newest jobs of a file by number, and the WAIT_JOB ioctl. */
#include <linux/cleanup.h>
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/drm_utils.h>

#include "sched/rknpu_job.h"
#include "sched/rknpu_spin.h"
#include "rknpu_device.h"
#include "rknpu_rocket.h"

/**
 * struct rknpu_history - a ring of fences, which carry the results
 */
struct rknpu_history {
	/** @lock: protects the rest; process context only */
	spinlock_t lock;
	/** @last: number of the newest job */
	u64 last;
	/** @fences: of job n at n modulo the size, with a reference; exactly two pages */
	struct dma_fence **fences;
};

static struct dma_fence **rknpu_history_slot(struct rknpu_history *history, u64 number)
{
	return &history->fences[number % RKNPU_ROCKET_HISTORY_SIZE];
}

struct rknpu_history *rknpu_history_create(void)
{
	struct rknpu_history *history = kzalloc_obj(*history, GFP_KERNEL_ACCOUNT);

	if (!history)
		return NULL;
	history->fences = kvcalloc(RKNPU_ROCKET_HISTORY_SIZE, sizeof(*history->fences),
				   GFP_KERNEL_ACCOUNT);
	if (!history->fences) {
		kfree(history);
		return NULL;
	}
	spin_lock_init(&history->lock);
	return history;
}

void rknpu_history_destroy(struct rknpu_history *history)
{
	u32 i;

	for (i = 0; i < RKNPU_ROCKET_HISTORY_SIZE; i++)
		dma_fence_put(history->fences[i]);
	kvfree(history->fences);
	kfree(history);
}

u64 rknpu_history_add(struct rknpu_history *history, struct dma_fence **fences, u32 count)
{
	u64 first;
	u32 i;

	spin_lock(&history->lock);
	first = history->last + 1;
	for (i = 0; i < count; i++) {
		struct dma_fence **slot = rknpu_history_slot(history, first + i);

		dma_fence_put(*slot);
		*slot = fences[i];
	}
	history->last += count;
	spin_unlock(&history->lock);
	return first;
}

static struct dma_fence *rknpu_history_find(struct rknpu_history *history, u64 number)
{
	guard(spinlock)(&history->lock);
	if (!number || number > history->last ||
	    history->last - number >= RKNPU_ROCKET_HISTORY_SIZE)
		return NULL;
	return dma_fence_get(*rknpu_history_slot(history, number));
}

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
	case RKNPU_CAUSE_CANCELLED:
		return DRM_ROCKET_CAUSE_CANCELLED;
	case RKNPU_CAUSE_DEVICE_GONE:
		return DRM_ROCKET_CAUSE_DEVICE_GONE;
	case RKNPU_CAUSE_BANNED:
		return DRM_ROCKET_CAUSE_BANNED;
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
	args->tag = r.tag;
	args->fault_address = 0;
	args->result = r.rerun ? DRM_ROCKET_RESULT_RERUN : 0;
	if (r.cause == RKNPU_CAUSE_IOMMU_FAULT) {
		args->fault_address = r.fault_iova;
		if (r.fault_write)
			args->result |= DRM_ROCKET_RESULT_FAULT_WRITE;
	}
}

static bool rknpu_rocket_fence_over(void *fence)
{
	return dma_fence_is_signaled(fence);
}

/* As PREP_BO: not inside drm_dev_enter(), and jiffies that were late catch up at once. */
static int rknpu_rocket_wait_fence(struct drm_device *dev, struct dma_fence *fence,
				   s64 timeout_ns)
{
	long timeout = timeout_ns > 0 ? drm_timeout_abs_to_jiffies(timeout_ns) : 0;
	long ret;

	if (!timeout)
		return rknpu_rocket_fence_over(fence) ? 0 : -EBUSY;

	if (rknpu_spin_until(&to_rknpu_device(dev)->sched, timeout_ns, rknpu_rocket_fence_over,
			     fence))
		return 0;
	timeout = drm_timeout_abs_to_jiffies(timeout_ns);
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
	struct rknpu_rocket_file *rfile = file->driver_priv;
	struct dma_fence *fence;
	int ret;

	if (args->flags) {
		drm_dbg_ratelimited(dev, "wait_job: flags are %#x, not 0\n", args->flags);
		return -EINVAL;
	}

	fence = rknpu_history_find(rfile->history, args->job);
	if (!fence) {
		drm_dbg_ratelimited(dev, "wait_job: job %llu is not among the newest %u\n",
				    args->job, RKNPU_ROCKET_HISTORY_SIZE);
		return -ENOENT;
	}

	ret = rknpu_rocket_wait_fence(dev, fence, args->timeout_ns);
	if (!ret)
		rknpu_rocket_fill_result(args, fence);
	dma_fence_put(fence);
	return ret;
}
