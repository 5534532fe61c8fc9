/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns dma-bufs of BOs: exporting them, CPU access to them, knowing them again. */
#ifndef __RKNPU_PRIME_H__
#define __RKNPU_PRIME_H__

struct dma_buf;
struct drm_device;
struct drm_gem_object;

/* drm_gem_object_funcs.export */
struct dma_buf *rknpu_prime_export(struct drm_gem_object *obj, int flags);
/* drm_driver.gem_prime_import */
struct drm_gem_object *rknpu_prime_import(struct drm_device *dev, struct dma_buf *dmabuf);

#endif
