/* SPDX-License-Identifier: GPL-2.0-only */
/* Mapping dma-bufs, for the CPU and for devices. */
#ifndef __RKNPU_COMPAT_VMAP_H__
#define __RKNPU_COMPAT_VMAP_H__

#include <linux/dma-buf.h>
#include <linux/iosys-map.h>

/* Members of an initializer of struct dma_buf_ops. */
#ifdef RKNPU_HAVE_DMA_BUF_VMAP_MAP
#define RKNPU_COMPAT_DMA_BUF_VMAP(map, unmap)	.vmap = map, .vunmap = unmap,
#else
/* Before 5.18 it has another type: what maps dma-bufs there cannot map ours. */
#define RKNPU_COMPAT_DMA_BUF_VMAP(map, unmap)
#endif

#ifndef RKNPU_HAVE_DMA_BUF_VMAP_UNLOCKED

/* Before 6.2: nobody need hold the reservation. */
#define dma_buf_map_attachment_unlocked		dma_buf_map_attachment
#define dma_buf_unmap_attachment_unlocked	dma_buf_unmap_attachment

#ifdef RKNPU_HAVE_DMA_BUF_VMAP_MAP

#define dma_buf_vmap_unlocked	dma_buf_vmap
#define dma_buf_vunmap_unlocked	dma_buf_vunmap

#else

static inline int dma_buf_vmap_unlocked(struct dma_buf *dmabuf, struct iosys_map *map)
{
	map->vaddr = dma_buf_vmap(dmabuf);
	/* As newer ones for an exporter that cannot. */
	return map->vaddr ? 0 : -EINVAL;
}

static inline void dma_buf_vunmap_unlocked(struct dma_buf *dmabuf, struct iosys_map *map)
{
	dma_buf_vunmap(dmabuf, map->vaddr);
}

#endif

#endif

#endif
