// SPDX-License-Identifier: GPL-2.0-only
/* What the driver counts, in debugfs and fdinfo, and the kernel; and keeping cores awake. */
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_util.h"

void rk_stay_awake(bool on)
{
	glob_t g = { 0 };

	glob("/sys/bus/platform/drivers/rknpu*/*.npu/power/control", 0, NULL, &g);
	for (size_t n = 0; n < g.gl_pathc; n++)
		rk_write_file(g.gl_pathv[n], on ? "on" : "auto");
	globfree(&g);
}

long long rk_stat(const char *name)
{
	FILE *f = fopen("/sys/kernel/debug/rknpu/stats", "re");
	char key[64];
	long long v, found = -1;

	if (!f)
		return -1;
	while (fscanf(f, "%63s %lld", key, &v) == 2)
		if (!strcmp(key, name))
			found = v;
	fclose(f);
	return found;
}

long long rk_meminfo(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "re");
	size_t n = strlen(name);
	long long bytes = -1;
	char line[128];

	while (f && bytes < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n) && line[n] == ':')
			bytes = atoll(line + n + 1) * 1024;
	if (f)
		fclose(f);
	return bytes;
}

long long rk_core_stat(unsigned int core, const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "core%u.%s", core, name);
	return rk_stat(key);
}

long long rk_cores_stat(const char *name)
{
	long long sum = 0;

	for (int i = 0; i < RK_CORES; i++)
		sum += rk_core_stat(i, name);
	return sum;
}

bool rk_stat_settles(const char *name, long long value)
{
	for (int i = 0; i < 600 && rk_stat(name) != value; i++)
		rk_sleep_ms(50);
	if (rk_stat(name) == value)
		return true;
	printf("# %s: %lld before, %lld now\n", name, value, rk_stat(name));
	return false;
}

long long rk_fdinfo(int fd, const char *key)
{
	char path[64], line[256];
	long long v = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (v < 0 && fgets(line, sizeof(line), f)) {
		size_t n = strlen(key);

		if (!strncmp(line, key, n) && line[n] == ':')
			v = atoll(line + n + 1);
	}
	fclose(f);
	return v;
}

unsigned long rk_irqs_taken(void)
{
	FILE *f = fopen("/proc/interrupts", "re");
	char line[512], *at, *end;
	unsigned long sum = 0, n;

	while (f && fgets(line, sizeof(line), f)) {
		at = strchr(line, ':');
		if (!at || !strstr(line, ".npu"))
			continue;
		for (at++, n = strtoul(at, &end, 10); end != at; n = strtoul(at, &end, 10)) {
			sum += n;
			at = end;
		}
	}
	if (f)
		fclose(f);
	return sum;
}
