// SPDX-License-Identifier: GPL-2.0-only
/* Owns dma-bufs of BOs: exporting them, CPU access to them, knowing them again. */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/sched.h>

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>

#include "rknpu_bo.h"
#include "rknpu_prime.h"

/*
 * The dma-buf core waits too, but only after this, and caches must not be
 * invalidated before the NPU's last write.
 */
static int rknpu_prime_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct drm_gem_object *obj = dmabuf->priv;
	bool write = dir != DMA_FROM_DEVICE;
	long ret;

	ret = dma_resv_wait_timeout(obj->resv, dma_resv_usage_rw(write), true,
				    MAX_SCHEDULE_TIMEOUT);
	if (ret < 0)
		return ret;

	/* Also for a CPU that only writes: it may write parts of cache lines. */
	rknpu_bo_sync_for_cpu(to_rknpu_bo(obj));
	return 0;
}

static int rknpu_prime_end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	if (dir != DMA_FROM_DEVICE)
		rknpu_bo_sync_for_device(to_rknpu_bo(dmabuf->priv));
	return 0;
}

/* What drm uses for every driver, with CPU access, which drm leaves out. */
static const struct dma_buf_ops rknpu_prime_ops = {
	.attach = drm_gem_map_attach,
	.detach = drm_gem_map_detach,
	.map_dma_buf = drm_gem_map_dma_buf,
	.unmap_dma_buf = drm_gem_unmap_dma_buf,
	.release = drm_gem_dmabuf_release,
	.mmap = drm_gem_dmabuf_mmap,
	.begin_cpu_access = rknpu_prime_begin_cpu_access,
	.end_cpu_access = rknpu_prime_end_cpu_access,
};

struct dma_buf *rknpu_prime_export(struct drm_gem_object *obj, int flags)
{
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = obj->dev->driver->fops->owner,
		.ops = &rknpu_prime_ops,
		.size = obj->size,
		.flags = flags,
		.priv = obj,
		.resv = obj->resv,
	};

	return drm_gem_dmabuf_export(obj->dev, &info);
}

/* drm knows a device's own dma-buf again only by drm's operations. */
struct drm_gem_object *rknpu_prime_import(struct drm_device *dev, struct dma_buf *dmabuf)
{
	struct drm_gem_object *obj = dmabuf->priv;

	if (dmabuf->ops != &rknpu_prime_ops || obj->dev != dev)
		return drm_gem_prime_import(dev, dmabuf);

	drm_gem_object_get(obj);
	return obj;
}
