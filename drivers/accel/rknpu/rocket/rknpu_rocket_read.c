// SPDX-License-Identifier: GPL-2.0-only
/* Owns reading arrays of user space, whose elements may be longer or shorter than ours. */
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "rknpu_rocket_read.h"

/* Elements are read one by one: look for a signal every so often. */
#define RKNPU_ROCKET_SIGNAL_MASK	0xfff

int rknpu_rocket_read(void *to, size_t ksize, u64 array, u32 i, u32 usize)
{
	u64 from;

	if (!(i & RKNPU_ROCKET_SIGNAL_MASK) && fatal_signal_pending(current))
		return -EINTR;
	if (check_add_overflow(array, (u64)i * usize, &from))
		return -EFAULT;
	return copy_struct_from_user(to, ksize, u64_to_user_ptr(from), usize);
}

int rknpu_rocket_read_some(void *to, u64 array, u32 first, u32 count, u32 size)
{
	u64 from;

	if (fatal_signal_pending(current))
		return -EINTR;
	if (check_add_overflow(array, (u64)first * size, &from))
		return -EFAULT;
	return copy_from_user(to, u64_to_user_ptr(from), (size_t)count * size) ? -EFAULT : 0;
}
