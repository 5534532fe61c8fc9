/* SPDX-License-Identifier: GPL-2.0-only */
/* Failing allocations and user copies of the calling thread, one at a time. */
#ifndef RKNPU_INJECT_H
#define RKNPU_INJECT_H

#include <stdbool.h>

/* More than any call makes. */
#define RK_INJECT_MAX	20000

/* False when the kernel cannot do it. */
bool rk_inject_init(void);
/* The @nth allocation or user copy from here on fails, 0: none. */
void rk_inject(unsigned int nth);
/* True when the failure asked for has happened.  Switches it off. */
bool rk_injected(void);
/* Only what is called, directly or not, by this function of the kernel; NULL: all. */
bool rk_inject_below(const char *function);

#endif /* RKNPU_INJECT_H */
