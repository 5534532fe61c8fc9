/* SPDX-License-Identifier: MIT */
/*
 * Owns the arithmetic of sizes that all layers use.
 */
#ifndef NPU_UTIL_H
#define NPU_UTIL_H

#include <stdint.h>

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

static inline uint64_t div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static inline uint64_t round_up(uint64_t a, uint64_t b)
{
	return div_up(a, b) * b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif /* NPU_UTIL_H */
