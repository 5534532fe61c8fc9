/* SPDX-License-Identifier: GPL-2.0-only */
/* Flags of an area, which everybody writes before 6.3, and copying from and to a page, as since 5.12. */
#ifndef __RKNPU_COMPAT_MM_H__
#define __RKNPU_COMPAT_MM_H__

#ifndef RKNPU_HAVE_VM_FLAGS_SET

#include <linux/mm.h>

static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

#endif

#ifndef RKNPU_HAVE_MEMCPY_PAGE

#include <linux/highmem.h>
#include <linux/string.h>

static inline void memcpy_from_page(char *to, struct page *page, size_t offset, size_t len)
{
	char *from = kmap_atomic(page);

	memcpy(to, from + offset, len);
	kunmap_atomic(from);
}

static inline void memcpy_to_page(struct page *page, size_t offset, const char *from, size_t len)
{
	char *to = kmap_atomic(page);

	memcpy(to + offset, from, len);
	kunmap_atomic(to);
}

#endif

#endif
