// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files that tools for the vendor's driver read: debugfs, procfs and devfreq.
 *
 * boot: vendor
 * boot: dtvendor
 * boot: armhfvend
 * boot: noopps
 * boot: lowsupply
 * boot: readmargin
 * boot: noiommulib
 * boot: debug-vendor
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define PROC		"/proc/rknpu/"
#define DEBUGFS		"/sys/kernel/debug/rknpu/"
/* The path that librknnrt reads cur_freq at: named after the node of the vendor's tree, as of mainline's. */
#define DEVFREQ		"/sys/class/devfreq/fdab0000.npu/"
/* What firmware has to say about the clock; a board may not like the question while the NPU is off. */
#define CLK_RATE	"/sys/kernel/debug/clk/scmi_clk_npu/clk_rate"
/* Higher rates only while there is power. */
#define PARKED_HZ	200000000ul
#define MAX_RATES	32

static int read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	n = n < 0 ? -errno : n;
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? n : 0;
}

static int write_number(const char *path, unsigned long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu\n", value);
	return rk_write_file(path, text);
}

/* The number that is all of the file, or what nothing is. */
static unsigned long number(const char *path)
{
	char text[64], *end;
	unsigned long value;

	if (read_file(path, text, sizeof(text)))
		return ~0ul;
	value = strtoul(text, &end, 10);
	return end != text && !strcmp(end, "\n") ? value : ~0ul;
}

static bool says(const char *path, const char *wanted)
{
	char text[4096];

	return !read_file(path, text, sizeof(text)) && !strcmp(text, wanted);
}

static bool becomes(const char *path, const char *wanted, unsigned int ms)
{
	for (; !says(path, wanted) && ms; ms -= ms < 10 ? ms : 10)
		rk_sleep_ms(10);
	return says(path, wanted);
}

FIXTURE(files) {
	int fd;
	struct rv_chain c;
	unsigned long delay_ms;
};

FIXTURE_SETUP(files)
{
	RV_OPEN_OR_SKIP(self->fd);
	if (access(PROC, F_OK))
		SKIP(return, "vendor_procfs=0");
	if (geteuid())
		SKIP(return, "only root may write them");
	self->delay_ms = number(PROC "delayms");
	ASSERT_EQ(0, rv_chain_init(&self->c, self->fd, 2, 0, 0));
}

FIXTURE_TEARDOWN(files)
{
	if (self->fd < 0 || access(PROC, F_OK) || geteuid())
		return;
	rk_write_file(PROC "power", "off\n");
	write_number(PROC "delayms", self->delay_ms);
	rv_chain_fini(&self->c);
	close(self->fd);
}

RK_TEST_F(files, are_the_same_in_both_places, "debugfs and procfs have the same files")
{
	static const char * const names[] = {
		"version", "load", "power", "freq", "volt", "delayms", "reset",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char a[4096], b[4096], path[64];

		snprintf(path, sizeof(path), PROC "%s", names[i]);
		EXPECT_EQ(0, read_file(path, a, sizeof(a))) TH_LOG("%s", path);
		snprintf(path, sizeof(path), DEBUGFS "%s", names[i]);
		EXPECT_EQ(0, read_file(path, b, sizeof(b))) TH_LOG("%s", path);
		EXPECT_STREQ(a, b);
	}
	EXPECT_NE(0, access(PROC "mm", F_OK));
}

RK_TEST_F(files, version, "the version file says what tools look for, and cannot be written")
{
	EXPECT_TRUE(says(PROC "version", "RKNPU driver: v0.9.8\n"));
	EXPECT_EQ(-EACCES, rk_write_file(PROC "version", "1\n"));
}

/* Formats that public monitors parse; percent signs and commas are all there. */
static int parse_load(const char *text, unsigned int *percent)
{
	static const char head[] = "NPU load: ";
	int cores = 0, used = 0;
	unsigned int core;

	if (strncmp(text, head, strlen(head)))
		return -1;
	text += strlen(head);
	for (; cores < RK_CORES && *text == ' '; cores++) {
		if (sscanf(text, " Core%u: %3u%%,%n", &core, &percent[cores], &used) != 2 ||
		    core != (unsigned int)cores)
			return -1;
		/* "100%" is a digit longer. */
		if (strlen(" Core0:  0%,") > (size_t)used)
			return -1;
		text += used;
	}
	return strcmp(text, "\n") ? -1 : cores;
}

RK_TEST_F_TIMEOUT(files, load, 120,
		  "the load file has the format that monitors parse, and shows a busy core")
{
	unsigned int percent[RK_CORES], most = 0;
	struct drm_rknpu_submit s;
	char text[256];

	ASSERT_EQ(0, read_file(PROC "load", text, sizeof(text)));
	EXPECT_LT(0, parse_load(text, percent)) TH_LOG("%s", text);
	RK_REQUIRE_MODEL();
	/* Two tasks that take two seconds together. */
	rk_latency_us(1000000);
	ASSERT_EQ(0, rv_chain_fill(&self->c, 1));
	rv_chain_submit(&self->c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK;
	s.timeout = 20000;
	ASSERT_EQ(0, rv_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT, &s));
	for (int ms = 0; most < 90 && ms < 4000; ms += 100) {
		rk_sleep_ms(100);
		ASSERT_EQ(0, read_file(PROC "load", text, sizeof(text)));
		for (int n = parse_load(text, percent); n > 0; n--)
			most = percent[n - 1] > most ? percent[n - 1] : most;
	}
	EXPECT_LE(90, most);
	EXPECT_GE(100, most);
	rk_latency_us(0);
}

RK_TEST_F_TIMEOUT(files, power_and_delayms, 120,
		  "power and delayms can be read and written, and refuse nonsense")
{
	EXPECT_EQ(0, rk_write_file(PROC "delayms", "20\n"));
	EXPECT_TRUE(says(PROC "delayms", "20\n"));
	EXPECT_EQ(0, rv_chain_run(&self->c, 5));
	EXPECT_TRUE(becomes(PROC "power", "off\n", 10000));
	EXPECT_EQ(0, rk_write_file(PROC "power", "on\n"));
	EXPECT_TRUE(says(PROC "power", "on\n"));
	/* Twice is as good as once. */
	EXPECT_EQ(0, rk_write_file(PROC "power", "on\n"));
	rk_sleep_ms(200);
	EXPECT_TRUE(says(PROC "power", "on\n"));
	EXPECT_EQ(0, rk_write_file(PROC "power", "off\n"));
	EXPECT_TRUE(becomes(PROC "power", "off\n", 10000));
	EXPECT_EQ(-EINVAL, rk_write_file(PROC "power", "perhaps\n"));
	EXPECT_EQ(-EINVAL, rk_write_file(PROC "delayms", "-1\n"));
	EXPECT_EQ(-EINVAL, rk_write_file(PROC "delayms", "soon\n"));
	EXPECT_EQ(-EINVAL, rk_write_file(PROC "delayms",
					 "11111111111111111111111111111111111111\n"));
	EXPECT_TRUE(says(PROC "delayms", "20\n"));
	EXPECT_EQ(0, rv_chain_run(&self->c, 6));
}

RK_TEST_F(files, reset_harms_nobody, "writing the reset file harms nobody")
{
	EXPECT_TRUE(says(PROC "reset", "on\n"));
	EXPECT_EQ(0, rk_write_file(PROC "reset", "1\n"));
	EXPECT_EQ(0, rk_write_file(PROC "reset", "on\n"));
	EXPECT_EQ(-EINVAL, rk_write_file(PROC "reset", "off\n"));
	EXPECT_TRUE(says(PROC "reset", "on\n"));
	EXPECT_EQ(0, rv_chain_run(&self->c, 7));
}

RK_TEST_F(files, writing_needs_a_capability, "root without capabilities reads the files, and cannot write them")
{
	static const char * const names[] = { "power", "freq", "delayms", "reset" };
	char path[64], text[64];

	ASSERT_EQ(0, rk_drop_capability(CAP_SYS_ADMIN));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), PROC "%s", names[i]);
		EXPECT_EQ(0, read_file(path, text, sizeof(text))) TH_LOG("%s", path);
		EXPECT_EQ(-EPERM, rk_write_file(path, text)) TH_LOG("%s", path);
		snprintf(path, sizeof(path), DEBUGFS "%s", names[i]);
		EXPECT_EQ(-EPERM, rk_write_file(path, text)) TH_LOG("%s", path);
	}
}

/* ---- the rate of the clock ---- */

FIXTURE(freq) {
	int fd;
	struct rv_chain c;
	unsigned long delay_ms;
	unsigned long rates[MAX_RATES];
	int count;
};

static void fini_freq(FIXTURE_DATA(freq) *self)
{
	rk_write_file(DEVFREQ "governor", "rknpu_ondemand\n");
	write_number(DEVFREQ "min_freq", 0);
	write_number(DEVFREQ "max_freq", 2000000000);
	/* Where there is a choice, load chooses again. */
	write_number(PROC "freq", 0);
	rk_write_file(PROC "power", "off\n");
	write_number(PROC "delayms", self->delay_ms);
}

FIXTURE_SETUP(freq)
{
	char text[1024], *p, *end;

	RV_OPEN_OR_SKIP(self->fd);
	if (access(DEVFREQ, F_OK))
		SKIP(return, "no devfreq device, or not an RK3588");
	if (geteuid())
		SKIP(return, "only root may write them");
	self->delay_ms = number(PROC "delayms");
	ASSERT_EQ(0, read_file(DEVFREQ "available_frequencies", text, sizeof(text)));
	for (p = text; self->count < MAX_RATES; p = end) {
		self->rates[self->count] = strtoul(p, &end, 10);
		if (end == p)
			break;
		self->count++;
	}
	ASSERT_LE(1, self->count);
	if (self->count > 1)
		ASSERT_EQ(0, write_number(PROC "freq", self->rates[0]));
	ASSERT_EQ(0, rv_chain_init(&self->c, self->fd, 2, 0, 0));
}

FIXTURE_TEARDOWN(freq)
{
	if (self->fd < 0 || access(DEVFREQ, F_OK) || geteuid())
		return;
	fini_freq(self);
	rv_chain_fini(&self->c);
	close(self->fd);
}

#define NEEDS_OPERATING_POINTS()					\
	do {								\
		if (self->count < 2)					\
			SKIP(return, "the device tree has no operating points");	\
	} while (0)

RK_TEST_F(freq, is_the_same_everywhere,
	  "the rate is the same in the file, by the ioctl and in devfreq")
{
	struct drm_rknpu_action a = { .flags = DRM_RKNPU_GET_FREQ };

	EXPECT_EQ(0, rv_ioctl(self->fd, DRM_IOCTL_RKNPU_ACTION, &a));
	EXPECT_NE(0, a.value);
	EXPECT_EQ(a.value, number(PROC "freq"));
	EXPECT_EQ(a.value, number(DEVFREQ "cur_freq"));
	EXPECT_TRUE(says(DEVFREQ "governor", "rknpu_ondemand\n"));
}

RK_TEST_F(freq, stays_without_operating_points,
	  "without operating points the rate cannot be changed")
{
	if (self->count > 1)
		SKIP(return, "there are some");
	EXPECT_EQ(self->rates[0], number(DEVFREQ "cur_freq"));
	EXPECT_EQ(-EFAULT, write_number(PROC "freq", 300000000));
	EXPECT_EQ(-EFAULT, write_number(PROC "freq", self->rates[0]));
	EXPECT_EQ(self->rates[0], number(DEVFREQ "cur_freq"));
	EXPECT_EQ(0, rv_chain_run(&self->c, 5));
}

RK_TEST_F_TIMEOUT(freq, can_be_chosen, 120,
		  "each operating point can be chosen, and the clock follows")
{
	NEEDS_OPERATING_POINTS();
	ASSERT_EQ(0, rk_write_file(PROC "power", "on\n"));
	for (int i = self->count - 1; i >= 0; i--) {
		ASSERT_EQ(0, write_number(PROC "freq", self->rates[i]));
		EXPECT_EQ(self->rates[i], number(PROC "freq"));
		EXPECT_EQ(self->rates[i], number(DEVFREQ "cur_freq"));
		EXPECT_EQ(self->rates[i], number(CLK_RATE));
		EXPECT_EQ(0, rv_chain_run(&self->c, 10 + i));
	}
}

RK_TEST_F(freq, is_between_the_limits, "a rate out of range is limited, and devfreq's limits count")
{
	unsigned long low, high;

	NEEDS_OPERATING_POINTS();
	low = self->rates[0];
	high = self->rates[self->count - 1];
	EXPECT_EQ(0, write_number(PROC "freq", 1));
	EXPECT_EQ(low, number(PROC "freq"));
	EXPECT_EQ(0, write_number(PROC "freq", ~0ul));
	EXPECT_EQ(high, number(PROC "freq"));
	EXPECT_EQ(-EINVAL, rk_write_file(PROC "freq", "fast\n"));
	EXPECT_EQ(-ERANGE, rk_write_file(PROC "freq", "99999999999999999999\n"));
	EXPECT_EQ(high, number(PROC "freq"));
	/* What lies between two is the next higher one. */
	EXPECT_EQ(0, write_number(PROC "freq", low + 1));
	EXPECT_EQ(self->rates[1], number(PROC "freq"));
	/* A thermal limit would do the same. */
	EXPECT_EQ(0, write_number(PROC "freq", high));
	EXPECT_EQ(0, write_number(DEVFREQ "max_freq", low));
	EXPECT_EQ(low, number(PROC "freq"));
	EXPECT_EQ(0, write_number(PROC "freq", high));
	EXPECT_EQ(low, number(PROC "freq"));
	EXPECT_EQ(0, write_number(DEVFREQ "max_freq", high));
	EXPECT_EQ(high, number(PROC "freq"));
	EXPECT_EQ(0, rv_chain_run(&self->c, 5));
}

RK_TEST_F_TIMEOUT(freq, is_raised_with_power_only, 120,
		  "the rate is raised while there is power only")
{
	unsigned long high;

	NEEDS_OPERATING_POINTS();
	RK_REQUIRE_MODEL();
	high = self->rates[self->count - 1];
	ASSERT_EQ(0, rk_write_file(PROC "delayms", "20\n"));
	for (int i = 0; i < 5; i++) {
		unsigned long wanted = i % 2 ? self->rates[0] : high;

		ASSERT_TRUE(becomes(PROC "power", "off\n", 10000));
		EXPECT_EQ(0, write_number(PROC "freq", wanted));
		/* What the next job will have, and what the clock is parked at. */
		EXPECT_EQ(wanted, number(PROC "freq"));
		EXPECT_EQ(wanted, number(DEVFREQ "cur_freq"));
		EXPECT_EQ(PARKED_HZ, number(CLK_RATE));
		EXPECT_TRUE(says(PROC "power", "off\n"));
		ASSERT_EQ(0, rk_write_file(PROC "power", "on\n"));
		EXPECT_EQ(wanted, number(CLK_RATE));
		EXPECT_EQ(0, rv_chain_run(&self->c, 20 + i));
		ASSERT_EQ(0, rk_write_file(PROC "power", "off\n"));
	}
}

RK_TEST_F_TIMEOUT(freq, governors, 120, "devfreq's governors can be chosen")
{
	unsigned long high;

	NEEDS_OPERATING_POINTS();
	high = self->rates[self->count - 1];
	EXPECT_EQ(0, rk_write_file(DEVFREQ "governor", "simple_ondemand\n"));
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(0, rv_chain_run(&self->c, 30 + i));
		rk_sleep_ms(60);
	}
	EXPECT_TRUE(says(DEVFREQ "governor", "simple_ondemand\n"));
	EXPECT_EQ(0, rk_write_file(DEVFREQ "governor", "rknpu_ondemand\n"));
	EXPECT_EQ(0, write_number(PROC "freq", high));
	EXPECT_EQ(high, number(PROC "freq"));
	EXPECT_EQ(-EINVAL, rk_write_file(DEVFREQ "governor", "nobody\n") ? -EINVAL : 0);

	/* What the vendor's scripts do; Debian has it as a module. */
	if (rk_write_file(DEVFREQ "governor", "userspace\n"))
		return;
	EXPECT_EQ(0, write_number(DEVFREQ "userspace/set_freq", self->rates[1]));
	EXPECT_EQ(self->rates[1], number(DEVFREQ "cur_freq"));
	EXPECT_EQ(0, rv_chain_run(&self->c, 50));
}

struct changer {
	const unsigned long *rates;
	int count;
	volatile bool stop;
	unsigned long changes;
};

static void *change_rates(void *arg)
{
	struct changer *ch = arg;

	while (!ch->stop) {
		if (!write_number(PROC "freq", ch->rates[ch->changes * 7 % ch->count]))
			ch->changes++;
		rk_sleep_ms(1);
	}
	return NULL;
}

RK_TEST_F_TIMEOUT(freq, changes_under_running_jobs, 120, "the rate may change under running jobs")
{
	struct changer ch = { .rates = self->rates, .count = self->count };
	pthread_t thread;

	NEEDS_OPERATING_POINTS();
	ASSERT_EQ(0, rk_write_file(PROC "delayms", "0\n"));
	ASSERT_EQ(0, pthread_create(&thread, NULL, change_rates, &ch));
	for (int i = 0; i < 100; i++) {
		EXPECT_EQ(0, rv_chain_run(&self->c, i % 100));
	}
	ch.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LE(20, ch.changes);
	/* All of them got what was asked for, so the last one did. */
	EXPECT_EQ(self->rates[(ch.changes - 1) * 7 % self->count], number(PROC "freq"));
}

RK_TEST_F(freq, comes_back_with_the_device,
	  "the files are there again after the device was bound again")
{
	NEEDS_OPERATING_POINTS();
	EXPECT_EQ(0, write_number(PROC "freq", self->rates[self->count - 1]));
	rv_chain_fini(&self->c);
	close(self->fd);
	ASSERT_EQ(0, rk_rebind(0));
	self->fd = rv_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, rv_chain_init(&self->c, self->fd, 2, 0, 0));
	EXPECT_EQ(self->rates[0], number(DEVFREQ "cur_freq"));
	EXPECT_EQ(0, write_number(PROC "freq", self->rates[1]));
	EXPECT_EQ(self->rates[1], number(DEVFREQ "cur_freq"));
	EXPECT_EQ(0, rv_chain_run(&self->c, 60));
}

RK_HARNESS_MAIN
