/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what the files that make up BOs share with each other alone. */
#ifndef __RKNPU_BO_IMPL_H__
#define __RKNPU_BO_IMPL_H__

#include <linux/mm_types.h>
#include <linux/scatterlist.h>

#include <drm/drm_device.h>

#include "rknpu_bo.h"

/*
 * Of what a BO takes beside its own: structs, those of its file among them, in at most a
 * page, and lists, which are longest if no two pages follow each other.
 */
static inline unsigned long rknpu_bo_extra_pages(unsigned long pages)
{
	return 1 + pages * (sizeof(struct page *) + sizeof(struct scatterlist)) / PAGE_SIZE;
}

static inline struct device *rknpu_bo_dma_dev(struct rknpu_bo *bo)
{
	return bo->base.dev->dev;
}

void rknpu_bo_setup(struct rknpu_bo *bo, struct rknpu_mem *mem, struct drm_device *drm,
		    const struct drm_gem_object_funcs *funcs);
/* What an imported BO has of its exporter. */
void rknpu_bo_drop_dmabuf(struct rknpu_bo *bo);

#endif
