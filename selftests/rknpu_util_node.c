// SPDX-License-Identifier: GPL-2.0-only
/* The NPU's node: opening it, what driver, device tree and kernel are behind it, binding and unbinding. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "rknpu_util.h"

static char found_path[300];

int rk_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

bool rk_is_driver(int fd, const char *name)
{
	drmVersionPtr v = drmGetVersion(fd);
	bool is = v && !strcmp(v->name, name);

	drmFreeVersion(v);
	return is;
}

static int try_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (!rk_is_driver(fd, "rocket")) {
		close(fd);
		return -ENODEV;
	}
	snprintf(found_path, sizeof(found_path), "%s", path);
	return fd;
}

int rk_open(void)
{
	const char *env = getenv("NPU_DEVICE");
	glob_t g = { 0 };
	int fd = -ENODEV;

	rk_forget_hangs();
	if (env)
		return try_open(env);
	/* The NPU may have a render node while something else has an accel node. */
	glob("/dev/accel/accel*", 0, NULL, &g);
	glob("/dev/dri/renderD*", GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		int r = try_open(g.gl_pathv[i]);

		if (r >= 0) {
			fd = r;
			break;
		}
		/* A node that is there but broken says more than "none". */
		if (r != -ENODEV)
			fd = r;
	}
	globfree(&g);
	return fd;
}

int rk_open_as(uid_t uid, int (*open)(void))
{
	uid_t self = getuid();
	int fd;

	if (setreuid(uid, -1))
		return -errno;
	fd = open();
	if (setreuid(self, -1))
		abort();
	return fd;
}

const char *rk_path(void)
{
	return found_path;
}

bool rk_ours(void)
{
	return !access("/sys/module/rknpu_accel", F_OK);
}

bool rk_one_iommu(void)
{
	glob_t g = { 0 };
	bool found;

	found = !glob("/sys/bus/platform/drivers/rknpu-accel-node/*.npu", 0, NULL, &g);
	globfree(&g);
	return found;
}

bool rk_power_domains(void)
{
	glob_t g = { 0 };
	bool found;

	found = !glob("/sys/bus/platform/devices/*.npu/of_node/power-domains", 0, NULL, &g);
	globfree(&g);
	return found;
}

/* Says the device tree, or a module parameter. */
bool rk_no_iommu(void)
{
	FILE *f = fopen("/sys/module/rknpu_accel/parameters/noiommu", "re");
	bool none = f && fgetc(f) == 'Y';
	char status[16] = "";

	if (f)
		fclose(f);
	f = fopen("/proc/device-tree/iommu@fdab9000/status", "re");
	if (f) {
		none |= fgets(status, sizeof(status), f) && !strcmp(status, "disabled");
		fclose(f);
	}
	return none || (!access("/proc/device-tree/npu@fdab0000", F_OK) &&
			access("/proc/device-tree/npu@fdab0000/iommus", F_OK));
}

bool rk_polled(void)
{
	FILE *f = fopen("/sys/module/rknpu_accel/parameters/poll", "re");
	bool polled = f && fgetc(f) == 'Y';

	if (f)
		fclose(f);
	return polled || (!access("/proc/device-tree/npu@fdab0000", F_OK) &&
			  access("/proc/device-tree/npu@fdab0000/interrupts", F_OK));
}

bool rk_kernel_before(unsigned int major, unsigned int minor)
{
	struct utsname u;
	unsigned int a = 0, b = 0;

	if (uname(&u) || sscanf(u.release, "%u.%u", &a, &b) != 2)
		return false;
	return a < major || (a == major && b < minor);
}

void rk_module_param(const char *name, unsigned int value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/rknpu_accel/parameters/%s", name);
	f = fopen(path, "we");
	if (!f)
		return;
	fprintf(f, "%u\n", value);
	fclose(f);
}

void rk_scrub(bool on)
{
	rk_module_param("scrub", on);
}

void rk_task_timeout_ms(unsigned int ms)
{
	rk_module_param("default_timeout_ms", ms);
}

/* Cores are in the order of their addresses. */
int rk_unbind(unsigned int core, struct rk_unbound *u)
{
	glob_t g = { 0 };
	int ret = -ENODEV;
	char *name;

	glob("/sys/bus/platform/drivers/rknpu*/*.npu", 0, NULL, &g);
	/* With the vendor's device tree all cores are one device. */
	if (g.gl_pathc) {
		snprintf(u->path, sizeof(u->path), "%s", g.gl_pathv[core < g.gl_pathc ? core : 0]);
		name = strrchr(u->path, '/') + 1;
		snprintf(u->name, sizeof(u->name), "%s", name);
		strcpy(name, "unbind");
		ret = rk_write_file(u->path, u->name);
		strcpy(name, "bind");
	}
	globfree(&g);
	return ret;
}

int rk_bind(const struct rk_unbound *u)
{
	int ret = rk_write_file(u->path, u->name), fd = -ENODEV;

	for (int i = 0; i < 100 && !ret && fd < 0; i++) {
		rk_sleep_ms(20);
		fd = rk_open();
	}
	if (fd < 0)
		return ret ? ret : fd;
	close(fd);
	return ret;
}

int rk_rebind(unsigned int core)
{
	struct rk_unbound u;
	int ret = rk_unbind(core, &u);

	return ret ? ret : rk_bind(&u);
}
