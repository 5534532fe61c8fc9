/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flags of an area, which everybody writes before 6.3; copying from and to pages, as since 5.12;
 * folios, as since 5.16.
 */
#ifndef __RKNPU_COMPAT_MM_H__
#define __RKNPU_COMPAT_MM_H__

#ifndef RKNPU_HAVE_VM_FLAGS_SET

#include <linux/mm.h>

static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

#endif

#ifndef RKNPU_HAVE_PAGE_FOLIO

#include <linux/mm.h>

static inline struct page *page_folio(struct page *page)
{
	return compound_head(page);
}

static inline pgoff_t folio_next_index(struct page *head)
{
	return head->index + compound_nr(head);
}

#endif

#ifndef RKNPU_HAVE_MEMCPY_PAGE

#include <linux/mm.h>
#include <linux/string.h>

/* The SoCs are 64-bit ones, which have no memory that must be mapped first. */
static inline void memcpy_from_page(char *to, struct page *page, size_t offset, size_t len)
{
	memcpy(to, page_address(page) + offset, len);
}

static inline void memcpy_to_page(struct page *page, size_t offset, const char *from, size_t len)
{
	memcpy(page_address(page) + offset, from, len);
}

#endif

#endif
