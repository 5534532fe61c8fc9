/* SPDX-License-Identifier: GPL-2.0-only */
/* For kernels before 5.11, which have this in another header. */
#include <linux/kernel.h>
