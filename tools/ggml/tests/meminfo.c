// SPDX-License-Identifier: GPL-2.0-only
/* Owns the memory that the backend reads of in /proc/meminfo: its calls of fopen() come here, because this program has one. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ggml_check.h"

static char text[64];
static unsigned int reads;

unsigned int meminfo_reads(void)
{
	return reads;
}

void set_available(uint64_t bytes)
{
	if (bytes)
		snprintf(text, sizeof(text), "MemTotal: 1 kB\nMemAvailable: %llu kB\n", (unsigned long long)bytes >> 10);
	else
		text[0] = 0;
}

FILE *fopen(const char *path, const char *mode)
{
	static FILE *(*real)(const char *path, const char *mode);

	if (!real)
		real = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
	reads += !strcmp(path, "/proc/meminfo");
	if (*text && !strcmp(path, "/proc/meminfo"))
		return fmemopen(text, strlen(text), "r");
	return real(path, mode);
}
