// SPDX-License-Identifier: GPL-2.0-only
/* Failing allocations and user copies, by the kernel's fail-nth. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rknpu_inject.h"

static const char *const attrs[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
#define NATTRS	(sizeof(attrs) / sizeof(attrs[0]))

static int nth_fd = -1;

static bool set_attr(const char *attr, const char *file, const char *value)
{
	char path[128];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", attr, file);
	f = fopen(path, "we");
	if (!f)
		return false;
	ok = fputs(value, f) >= 0;
	return !fclose(f) && ok;
}

static bool set_all(const char *file, const char *value)
{
	for (size_t i = 0; i < NATTRS; i++)
		if (!set_attr(attrs[i], file, value))
			return false;
	return true;
}

bool rk_inject_init(void)
{
	char path[64];

	/*
	 * Every failure would print a call trace; and by default allocations
	 * that may sleep are left alone, and those of one page.
	 */
	if (!set_all("verbose", "0") ||
	    !set_attr("failslab", "ignore-gfp-wait", "N") ||
	    !set_attr("fail_page_alloc", "ignore-gfp-wait", "N") ||
	    !set_attr("fail_page_alloc", "ignore-gfp-highmem", "N") ||
	    !set_attr("fail_page_alloc", "min-order", "0"))
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth", syscall(SYS_gettid));
	nth_fd = open(path, O_RDWR | O_CLOEXEC);
	return nth_fd >= 0;
}

void rk_inject(unsigned int nth)
{
	char buf[16];
	int n = snprintf(buf, sizeof(buf), "%u", nth);

	if (pwrite(nth_fd, buf, n, 0) == n)
		return;
	perror("# fail-nth");
	exit(1);
}

bool rk_injected(void)
{
	char buf[16] = "";
	ssize_t n = pread(nth_fd, buf, sizeof(buf) - 1, 0);

	/* That read is a user copy itself, the next in line if it fails. */
	rk_inject(0);
	return n > 0 && atoi(buf) == 0;
}

/* Addresses of @function and of whatever comes next. */
static bool range_of(const char *function, unsigned long *start, unsigned long *end)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long addr;
	char name[256];

	*start = 0;
	*end = -1ul;
	while (f && fscanf(f, "%lx %*c %255s%*[^\n]", &addr, name) == 2) {
		if (!strcmp(name, function))
			*start = addr;
		else if (*start && addr > *start && addr < *end)
			*end = addr;
		else if (!*start)
			continue;
	}
	if (f)
		fclose(f);
	return *start && *end != -1ul;
}

bool rk_inject_below(const char *function)
{
	unsigned long start = 0, end = -1ul;
	char from[32], to[32];

	if (function && !range_of(function, &start, &end))
		return false;
	snprintf(from, sizeof(from), "%#lx", start);
	snprintf(to, sizeof(to), "%#lx", end);
	return set_all("require-start", from) && set_all("require-end", to);
}
