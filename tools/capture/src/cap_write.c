// SPDX-License-Identifier: MIT
/*
 * Writes the records of a capture file.
 */
#include <string.h>

#include "cap.h"

bool cap_write_header(FILE *f)
{
	struct cap_header h = { .version = CAP_VERSION };

	memcpy(h.magic, CAP_MAGIC, sizeof(h.magic));
	return fwrite(&h, sizeof(h), 1, f) == 1;
}

bool cap_write_rec(FILE *f, uint32_t type, const struct cap_put *part, unsigned int n)
{
	static const uint8_t zeros[8];
	struct cap_rec rec = { .type = type };
	size_t size = 0;
	bool ok;

	for (unsigned int i = 0; i < n; i++)
		size += part[i].size;
	rec.size = (uint32_t)size;
	if (rec.size != size)
		return false;
	ok = fwrite(&rec, sizeof(rec), 1, f) == 1;
	for (unsigned int i = 0; i < n && ok; i++)
		ok = !part[i].size || fwrite(part[i].data, part[i].size, 1, f) == 1;
	return ok && (!(size % 8) || fwrite(zeros, 8 - size % 8, 1, f) == 1);
}

bool cap_write_content(FILE *f, const void *data, uint32_t size)
{
	struct cap_content c;
	struct cap_put part[] = { { &c, sizeof(c) }, { data, size } };

	cap_hash(data, size, c.hash);
	return cap_write_rec(f, CAP_CONTENT, part, 2);
}
