// SPDX-License-Identifier: GPL-2.0-only
/* Failing allocations and user copies, by the kernel's fail-nth. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest.h"
#include "rknpu_allocfail.h"
#include "rknpu_util.h"

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

bool rk_allocfail_init(void)
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

void rk_allocfail_at(unsigned int nth)
{
	char buf[16];
	int n = snprintf(buf, sizeof(buf), "%u", nth);

	/* This is a user copy, too, and the one that fails when a call met nothing. */
	for (int tries = 0; tries < 2; tries++)
		if (pwrite(nth_fd, buf, n, 0) == n)
			return;
	perror("# fail-nth");
	exit(1);
}

bool rk_allocfail_met(void)
{
	char buf[16] = "";
	ssize_t n = pread(nth_fd, buf, sizeof(buf) - 1, 0);

	/* That read is a user copy itself, the next in line if it fails. */
	rk_allocfail_at(0);
	return n > 0 && atoi(buf) == 0;
}

/* The address of @function, or if @after is not 0 the lowest one above that. */
static unsigned long look_up(const char *function, unsigned long after)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long addr, found = 0;
	char name[256];

	while (f && fscanf(f, "%lx %*c %255s%*[^\n]", &addr, name) == 2) {
		if (!after && !strcmp(name, function))
			found = addr;
		else if (after && addr > after && (!found || addr < found))
			found = addr;
	}
	if (f)
		fclose(f);
	return found;
}

static bool range_of(const char *function, unsigned long *start, unsigned long *end)
{
	*start = look_up(function, 0);
	*end = *start ? look_up(NULL, *start) : 0;
	return *end;
}

static bool set_range(const char *function, const char *which, unsigned long start,
		      unsigned long end)
{
	char file[32], value[32];

	if (function && !range_of(function, &start, &end))
		return false;
	snprintf(file, sizeof(file), "%s-start", which);
	snprintf(value, sizeof(value), "%#lx", start);
	if (!set_all(file, value))
		return false;
	snprintf(file, sizeof(file), "%s-end", which);
	snprintf(value, sizeof(value), "%#lx", end);
	return set_all(file, value);
}

bool rk_allocfail_below(const char *function)
{
	return set_range(function, "require", 0, -1ul);
}

bool rk_allocfail_except(const char *function)
{
	return set_range(function, "reject", 0, 0);
}

/* ---- choice ---- */

static const char *only;

void rk_allocfail_options(int argc, char **argv, void (*list)(void))
{
	if (argc == 2 && !strcmp(argv[1], "-l")) {
		list();
		exit(0);
	}
	if (argc == 3 && !strcmp(argv[1], "-t")) {
		only = argv[2];
	} else if (argc > 1) {
		fprintf(stderr, "usage: %s [-l | -t NAME]\n", argv[0]);
		exit(1);
	}
}

void rk_allocfail_list(const struct rk_allocfail_call *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%s: %s fails or has its full effect, whatever allocation or copy fails\n",
		       c[i].name, c[i].what);
}

bool rk_allocfail_wanted(const char *name)
{
	return !only || !strcmp(only, name);
}

bool rk_allocfail_chosen(void)
{
	return only;
}

/* ---- calls ---- */

static char message[256];

int rk_allocfail_wrong(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return -EILSEQ;
}

/* Memory that is not there, or an argument or result that cannot be copied. */
static bool errno_allowed(int ret)
{
	return ret == -ENOMEM || ret == -EFAULT;
}

struct tally {
	unsigned int nth;
	unsigned int errors;
	unsigned int ignored;
};

static int judge(const struct rk_allocfail_call *c, struct rk_allocfail_state *s, int result, bool met)
{
	if (!result)
		return c->check ? c->check(s) : 0;
	if (result == -EILSEQ)
		return result;
	if (!met || !errno_allowed(result))
		return rk_allocfail_wrong("returned %d", result);
	return c->failed ? c->failed(s, result) : 0;
}

/* One call: 1 when it met no failure, 0, or what was wrong. */
static int one(const struct rk_allocfail_call *c, struct rk_allocfail_state *s,
	       int (*finish)(struct rk_allocfail_state *s), struct tally *t)
{
	int result, ret, left;
	bool met;

	ret = c->prepare ? c->prepare(s) : 0;
	if (ret) {
		finish(s);
		return rk_allocfail_wrong("prepare: %s", strerror(-ret));
	}
	rk_allocfail_at(t->nth);
	result = c->call(s);
	met = rk_allocfail_met();

	ret = judge(c, s, result, met);
	t->errors += result < 0;
	t->ignored += met && !result;
	left = finish(s);
	if (!ret && left)
		ret = rk_allocfail_wrong("afterwards: %s", strerror(-left));
	return ret ? ret : !met;
}

bool rk_allocfail_each(const struct rk_allocfail_call *c, struct rk_allocfail_state *s,
		    int (*finish)(struct rk_allocfail_state *s))
{
	struct tally t = { 0 };
	int ret;

	message[0] = 0;
	do {
		t.nth++;
		ret = one(c, s, finish, &t);
	} while (!ret && t.nth < RK_ALLOCFAIL_MAX);

	ksft_print_msg("%s: %u failures: %u errnos, %u got over\n", c->name, t.nth - 1, t.errors,
		       t.ignored);
	if (ret != 1)
		ksft_print_msg("failure %u: %s %s\n", t.nth, strerror(-ret), message);
	/* Nothing met a failure: then nothing was tested. */
	return ret == 1 && (t.nth > 1) == !c->free;
}

int rk_next_fd(void)
{
	int fd = dup(nth_fd);

	close(fd);
	return fd;
}

bool rk_fd_used(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

int rk_allocfail_heap(void)
{
	struct dma_heap_allocation_data d = { .len = 64 << 10, .fd_flags = O_CLOEXEC | O_RDWR };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC), ret;

	if (heap < 0)
		return -errno;
	ret = rk_ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &d);
	close(heap);
	return ret ? ret : (int)d.fd;
}
