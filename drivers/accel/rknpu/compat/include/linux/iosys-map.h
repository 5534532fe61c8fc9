/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels before 5.18, where mappings of dma-bufs are plain pointers. */
#ifndef __RKNPU_COMPAT_IOSYS_MAP_H__
#define __RKNPU_COMPAT_IOSYS_MAP_H__

#include <linux/string.h>

struct iosys_map {
	void *vaddr;
};

static inline void iosys_map_set_vaddr(struct iosys_map *map, void *vaddr)
{
	map->vaddr = vaddr;
}

static inline void iosys_map_memcpy_from(void *dst, const struct iosys_map *src, size_t src_offset,
					 size_t len)
{
	memcpy(dst, src->vaddr + src_offset, len);
}

static inline void iosys_map_memcpy_to(struct iosys_map *dst, size_t dst_offset, const void *src,
				       size_t len)
{
	memcpy(dst->vaddr + dst_offset, src, len);
}

#endif
