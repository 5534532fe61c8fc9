// SPDX-License-Identifier: MIT
/*
 * The hash that contents are known by.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cap.h"

void cap_hash(const void *data, size_t size, uint64_t hash[2])
{
	XXH128_hash_t h = XXH3_128bits(data, size);

	hash[0] = h.low64;
	hash[1] = h.high64;
}
