/* SPDX-License-Identifier: GPL-2.0-only */
/* Variables that the compiler is not to fill with zeros, as since 6.9. */
#ifndef __RKNPU_COMPAT_COMPILER_H__
#define __RKNPU_COMPAT_COMPILER_H__

#ifndef RKNPU_HAVE_UNINITIALIZED

/* Stable kernels have it since 5.10.222, 6.1.100 and 6.6.41 only. */
#define __uninitialized

#endif

#endif
