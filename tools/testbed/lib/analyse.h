/* SPDX-License-Identifier: GPL-2.0-only */
/* Tells clang's analyzer what it cannot conclude: who returns PTR_ERR() of an error has not returned 0. */
#include <linux/err.h>

static inline long rk_ptr_err(const void *ptr)
{
	long error = PTR_ERR(ptr);

	if (error >= 0)
		__builtin_unreachable();
	return error;
}

#define PTR_ERR(ptr) rk_ptr_err(ptr)
