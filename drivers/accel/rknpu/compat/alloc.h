/* SPDX-License-Identifier: GPL-2.0-only */
/* Allocating by type, as since 7.0, and arrays of user space, as since 6.7. */
#ifndef __RKNPU_COMPAT_ALLOC_H__
#define __RKNPU_COMPAT_ALLOC_H__

#ifndef RKNPU_HAVE_KZALLOC_OBJ

#include <linux/mm.h>
#include <linux/slab.h>

#define RKNPU_COMPAT_ALLOC(alloc, var, gfp) ({				\
	typeof(var) *compat_new = alloc(sizeof(*compat_new), gfp);	\
									\
	compat_new;							\
})

#define kmalloc_obj(var, gfp)	RKNPU_COMPAT_ALLOC(kmalloc, var, gfp)
#define kzalloc_obj(var, gfp)	RKNPU_COMPAT_ALLOC(kzalloc, var, gfp)

#endif

#ifndef RKNPU_HAVE_MEMDUP_ARRAY_USER

#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/string.h>

static inline void *memdup_array_user(const void __user *src, size_t n, size_t size)
{
	size_t bytes;

	if (check_mul_overflow(n, size, &bytes))
		return ERR_PTR(-EOVERFLOW);
	return memdup_user(src, bytes);
}

#endif

#endif
