/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels before 6.3, where everybody writes the flags of an area. */
#ifndef __RKNPU_COMPAT_MM_H__
#define __RKNPU_COMPAT_MM_H__

#ifndef RKNPU_HAVE_VM_FLAGS_SET

#include <linux/mm.h>

static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

#endif

#endif
