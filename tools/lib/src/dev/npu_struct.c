// SPDX-License-Identifier: MIT
/* Owns the copying of structures that begin with their size. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "npu_struct.h"

/* A size that was never set is more likely than a structure as large as that. */
#define MOST_BYTES	4096u

static size_t size_of(const void *s)
{
	size_t size;

	memcpy(&size, s, sizeof(size));
	return size;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	while (n && !*p) {
		p++;
		n--;
	}
	return !n;
}

int npu_take_struct(void *to, size_t known, size_t first, const void *from)
{
	size_t size;

	memset(to, 0, known);
	if (!from)
		return 0;
	size = size_of(from);
	if (size < first || size > MOST_BYTES)
		return -EINVAL;
	if (size > known && !is_zero((const uint8_t *)from + known, size - known))
		return -EOPNOTSUPP;
	memcpy(to, from, size < known ? size : known);
	return 0;
}

int npu_fill_struct(void *to, const void *from, size_t known, size_t first)
{
	size_t size = size_of(to), both = size < known ? size : known;

	if (size < first || size > MOST_BYTES)
		return -EINVAL;
	memcpy((uint8_t *)to + sizeof(size), (const uint8_t *)from + sizeof(size), both - sizeof(size));
	memset((uint8_t *)to + both, 0, size - both);
	return 0;
}
