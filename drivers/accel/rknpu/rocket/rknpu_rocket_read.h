/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns reading arrays of user space, whose elements may be longer or shorter than ours. */
#ifndef __RKNPU_ROCKET_READ_H__
#define __RKNPU_ROCKET_READ_H__

#include <linux/types.h>

/* Reads element @i of an array whose elements are @usize bytes in user space. */
int rknpu_rocket_read(void *to, size_t ksize, u64 array, u32 i, u32 usize);
/* Elements [first, first + count) of an array in user space whose elements are of @size. */
int rknpu_rocket_read_some(void *to, u64 array, u32 first, u32 count, u32 size);

#endif
