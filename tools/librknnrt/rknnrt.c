// SPDX-License-Identifier: GPL-2.0-only
/* Loads librknnrt, and runs cases in processes of their own. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknnrt.h"
#include "rknpu_util.h"

/* An emulated core computes for minutes what silicon does in a millisecond. */
#define CASE_SECONDS	600u

struct rt_lib rt;

static const struct {
	const char *name;
	/* 1.2.0 spelt some otherwise. */
	const char *older;
	size_t at;
	bool optional;
} symbols[] = {
	{ "rknn_init", NULL, offsetof(struct rt_lib, init) },
	{ "rknn_dup_context", NULL, offsetof(struct rt_lib, dup_context) },
	{ "rknn_destroy", NULL, offsetof(struct rt_lib, destroy) },
	{ "rknn_query", NULL, offsetof(struct rt_lib, query) },
	{ "rknn_inputs_set", NULL, offsetof(struct rt_lib, inputs_set) },
	{ "rknn_set_core_mask", NULL, offsetof(struct rt_lib, set_core_mask) },
	{ "rknn_run", NULL, offsetof(struct rt_lib, run) },
	{ "rknn_outputs_get", NULL, offsetof(struct rt_lib, outputs_get) },
	{ "rknn_outputs_release", NULL, offsetof(struct rt_lib, outputs_release) },
	{ "rknn_create_mem", NULL, offsetof(struct rt_lib, create_mem) },
	{ "rknn_create_mem_from_fd", NULL, offsetof(struct rt_lib, create_mem_from_fd) },
	{ "rknn_destroy_mem", "rknn_destory_mem", offsetof(struct rt_lib, destroy_mem) },
	{ "rknn_set_io_mem", NULL, offsetof(struct rt_lib, set_io_mem) },
	{ "rknn_matmul_create", NULL, offsetof(struct rt_lib, matmul_create), true },
	{ "rknn_matmul_set_io_mem", NULL, offsetof(struct rt_lib, matmul_set_io_mem), true },
	{ "rknn_matmul_set_core_mask", NULL, offsetof(struct rt_lib, matmul_set_core_mask), true },
	{ "rknn_matmul_run", NULL, offsetof(struct rt_lib, matmul_run), true },
	{ "rknn_matmul_destroy", "rknn_matmul_destory", offsetof(struct rt_lib, matmul_destroy), true },
};

static void bail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

static void bail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("Bail out! ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	exit(1);
}

/* The library says its version to a context only, and a matmul's has no such query in 1.5.0: read it in the file. */
static unsigned int version_of(const char *path)
{
	static const char mark[] = "librknnrt version: ";
	unsigned int major, minor, patch, version = 0;
	FILE *f = fopen(path, "rb");
	size_t at = 0;
	char text[32];
	int c;

	if (!f)
		bail("%s: %s", path, strerror(errno));
	while (!version && (c = getc(f)) != EOF) {
		at = c == mark[at] ? at + 1 : c == mark[0];
		if (at < sizeof(mark) - 1)
			continue;
		at = 0;
		if (fgets(text, sizeof(text), f) &&
		    sscanf(text, "%u.%u.%u", &major, &minor, &patch) == 3)
			version = major * 10000 + minor * 100 + patch;
	}
	fclose(f);
	return version;
}

void rt_load(const char *path)
{
	void *lib, *p;
	size_t i;

	rt.version = version_of(path);
	lib = dlopen(path, RTLD_NOW);
	if (!lib)
		bail("%s", dlerror());
	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		p = dlsym(lib, symbols[i].name);
		if (!p && symbols[i].older)
			p = dlsym(lib, symbols[i].older);
		if (!p && !symbols[i].optional)
			bail("%s has no %s", path, symbols[i].name);
		memcpy((char *)&rt + symbols[i].at, &p, sizeof(p));
	}
}

void rt_begin(const char *path)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	rt_load(path);
	printf("# librknnrt %u.%u.%u, %zu bits\n", rt.version / 10000, rt.version / 100 % 100,
	       rt.version % 100, sizeof(void *) * 8);
}

/* ---- cases ---- */

static unsigned int cases, failed;
/* What a case and the library print while it runs. */
static FILE *said;
static char *why;
#define WHY_BYTES 512

void *rt_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		bail("mmap: %s", strerror(errno));
	return p;
}

static int because(enum rt_result result, const char *fmt, va_list ap)
{
	char *c;

	vsnprintf(why, WHY_BYTES, fmt, ap);
	for (c = why; *c; c++) {
		if (*c == '\n')
			*c = ' ';
	}
	return result;
}

int rt_fail(const char *fmt, ...)
{
	va_list ap;
	int ret;

	va_start(ap, fmt);
	ret = because(RT_FAIL, fmt, ap);
	va_end(ap);
	return ret;
}

int rt_skip(const char *fmt, ...)
{
	va_list ap;
	int ret;

	va_start(ap, fmt);
	ret = because(RT_SKIP, fmt, ap);
	va_end(ap);
	return ret;
}

bool rt_said(const char *text)
{
	bool found = false;
	char line[1024];
	FILE *f;

	fflush(stdout);
	/* A file position of its own. */
	snprintf(line, sizeof(line), "/proc/self/fd/%d", fileno(said));
	f = fopen(line, "r");
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, text);
	if (f)
		fclose(f);
	return found;
}

/* As comments of TAP. */
static void show_said(void)
{
	bool start = true;
	int c;

	rewind(said);
	while ((c = getc(said)) != EOF) {
		if (start && c != '#')
			fputs("# ", stdout);
		putchar(c);
		start = c == '\n';
	}
	if (!start)
		putchar('\n');
	fclose(said);
}

/* The write end closes when the case's process, and whatever it has started, is gone. */
static enum rt_result wait_case(pid_t pid, int gone, unsigned int seconds)
{
	struct pollfd p = { .fd = gone };
	int status;

	if (poll(&p, 1, seconds * 1000) == 0) {
		kill(-pid, SIGKILL);
		rt_fail("did not end within %u s", seconds);
	}
	if (waitpid(pid, &status, 0) != pid)
		return rt_fail("waitpid: %s", strerror(errno));
	kill(-pid, SIGKILL);
	/* 1.2.0 throws at files of later compilers. */
	if (WIFSIGNALED(status) && rt_said("json_parse_error"))
		return rt_skip("is compiled for later versions");
	/* 1.3.0 does so with LPRNet: its own code writes there, not the kernel. */
	if (WIFSIGNALED(status) && rt.version < 10400 && rt_said("double free or corruption"))
		return rt_skip("this version writes behind a block of its heap");
	if (WIFSIGNALED(status))
		return *why ? RT_FAIL : rt_fail("died of signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) > RT_SKIP)
		return rt_fail("ended with status %d", WEXITSTATUS(status));
	return WEXITSTATUS(status);
}

enum rt_result rt_case_for(const char *name, int (*fn)(void *arg), void *arg, unsigned int seconds)
{
	enum rt_result result;
	int gone[2];
	pid_t pid;

	if (!why)
		why = rt_shared(WHY_BYTES);
	*why = 0;
	fflush(stdout);
	said = tmpfile();
	if (!said || pipe(gone))
		bail("rt_case: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		bail("fork: %s", strerror(errno));
	if (pid == 0) {
		setpgid(0, 0);
		close(gone[0]);
		/* Several processes of a case write to it. */
		fcntl(fileno(said), F_SETFL, O_APPEND);
		dup2(fileno(said), STDOUT_FILENO);
		dup2(fileno(said), STDERR_FILENO);
		result = fn(arg);
		fflush(stdout);
		/* Not the library's destructors: what it leaves behind is the driver's to clean up. */
		_exit(result);
	}
	setpgid(pid, pid);
	close(gone[1]);
	result = wait_case(pid, gone[0], seconds);
	close(gone[0]);
	show_said();

	cases++;
	failed += result == RT_FAIL;
	if (result == RT_FAIL && *why)
		printf("# %s: %s\n", name, why);
	printf("%s %u - %s%s%s\n", result == RT_FAIL ? "not ok" : "ok", cases, name,
	       result == RT_SKIP ? " # SKIP " : "", result == RT_SKIP ? why : "");
	return result;
}

enum rt_result rt_case(const char *name, int (*fn)(void *arg), void *arg)
{
	return rt_case_for(name, fn, arg, CASE_SECONDS * rk_slow());
}

int rt_end(void)
{
	printf("1..%u\n", cases);
	return failed != 0;
}

/* ---- numbers ---- */

/* Steele and others, "Fast splittable pseudorandom number generators": splitmix64. */
uint32_t rt_random(struct rt_random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) >> 32;
}

/* FNV-1a */
uint64_t rt_hash(uint64_t h, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	while (bytes--)
		h = (h ^ *p++) * 0x100000001b3ull;
	return h;
}

float rt_half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, mantissa = h & 0x3ff, bits;
	int exponent = h >> 10 & 0x1f;
	float f;

	if (exponent == 0x1f) {
		bits = 0x7f800000 | mantissa << 13;
	} else if (exponent) {
		bits = (uint32_t)(exponent + 112) << 23 | mantissa << 13;
	} else {
		f = mantissa * 0x1p-24f;
		memcpy(&bits, &f, sizeof(bits));
	}
	bits |= sign;
	memcpy(&f, &bits, sizeof(f));
	return f;
}

uint16_t rt_float_to_half(float f)
{
	uint32_t bits, sign, rest;
	int exponent, shift;

	memcpy(&bits, &f, sizeof(bits));
	sign = bits >> 16 & 0x8000;
	bits &= 0x7fffffff;
	if (bits > 0x7f800000)
		return sign | 0x7e00;
	/* 65520 and more. */
	if (bits >= 0x477ff000)
		return sign | 0x7c00;
	exponent = (int)(bits >> 23) - 112;
	if (exponent > 0) {
		bits -= 112u << 23;
		shift = 13;
	} else {
		shift = 14 - exponent;
		if (shift > 24)
			return sign;
		bits = (bits & 0x7fffff) | 0x800000;
	}
	rest = bits & ((1u << shift) - 1);
	bits >>= shift;
	if (rest > 1u << (shift - 1) || (rest == 1u << (shift - 1) && (bits & 1)))
		bits++;
	return sign | bits;
}
