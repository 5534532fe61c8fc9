// SPDX-License-Identifier: GPL-2.0-only
/*
 * As rknpu_allocfail_rocket, for the life of the device: binding and unbinding a core
 * and loading the module meet one failing allocation or user copy each, further
 * on every time. Whatever comes of it, the next attempt without one must work.
 * RKNPU_FAULT_STRIDE=n takes every n-th only.
 *
 * boot: debug-faults
 * boot: debug-bind KERNEL=debug COVERAGE TRACES TEST_LIMIT=3600 ENV=RKNPU_FAULT_STRIDE=7
 * Makes the device anew a thousand times and more.
 * boot: debug-bindall KERNEL=debug RARE TRACES TEST_LIMIT=9000
 * boot: debug-bindnode KERNEL=debug COVERAGE TRACES TEST_LIMIT=3600 ENV=RKNPU_FAULT_STRIDE=11 --dt vendor
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest.h"
#include "rknpu_allocfail.h"
#include "rknpu_util.h"

/* That of cores, or of the one node of the vendor's device tree. */
#define CORES	"/sys/bus/platform/drivers/rknpu-accel*/*.npu"
#define MODULE	"/modules/rknpu_accel.ko"

static char core[64];
static char driver[64];
static unsigned int stride = 1;

/* ---- actions ---- */

/* Descriptors are opened beforehand: only the action itself is to meet failures. */
struct action {
	const char *name;
	const char *what;
	int (*prepare)(void);
	int (*act)(int fd);
	int (*undo)(void);
	/* Only failures in what these functions call, or in what they do not. */
	const char *below;
	const char *except;
	/* A file of the driver's; NULL: the module. */
	const char *file;
};

static int write_core(int fd)
{
	size_t n = strlen(core);

	return write(fd, core, n) == (ssize_t)n ? 0 : -errno;
}

static int open_file(const char *file)
{
	char path[128];

	if (!file)
		return open(MODULE, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/%s", driver, file);
	return open(path, O_WRONLY | O_CLOEXEC);
}

static int to_driver(const char *file)
{
	int fd = open_file(file), ret;

	if (fd < 0)
		return -errno;
	ret = write_core(fd);
	close(fd);
	return ret;
}

static bool bound(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", driver, core);
	return !access(path, F_OK);
}

static int bind_core(void)
{
	return bound() ? 0 : to_driver("bind");
}

static int unbind_core(void)
{
	return bound() ? to_driver("unbind") : 0;
}

static int load(int fd)
{
	return syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
}

static int load_again(void)
{
	int fd, ret;

	if (rk_ours())
		return 0;
	fd = open_file(NULL);
	ret = fd < 0 ? -errno : load(fd);
	close(fd);
	return ret;
}

static int unload(void)
{
	if (!rk_ours())
		return 0;
	return syscall(SYS_delete_module, "rknpu_accel", O_NONBLOCK) ? -errno : 0;
}

/* A core that cannot be probed does not keep the module from being loaded. */
static int reload(void)
{
	int ret = unload();

	return ret ? ret : load_again();
}

/*
 * Binding in parts, because what is to be left out is one function at a time:
 * when they find no memory, drm_minor_alloc() hands the error of
 * drm_sysfs_minor_alloc() to put_device(), and devfreq_add_device() frees what it
 * has not initialised yet. Both crash the kernel (7.3.4). And when a regulator is
 * put, devlink_remove_symlinks() warns that it found no memory for a name.
 */
static const struct action actions[] = {
	{ "bind_create", "making the device", unbind_core, write_core, bind_core, .file = "bind",
	  .below = "rknpu_device_create", .except = "drm_sysfs_minor_alloc" },
	{ "bind_cores", "binding the cores", unbind_core, write_core, bind_core, .file = "bind",
	  .below = "component_bind_all" },
	{ "bind_publish", "publishing the device", unbind_core, write_core, bind_core, .file = "bind",
	  .below = "rknpu_device_publish", .except = "devfreq_add_device" },
	{ "bind_around", "the rest of binding", unbind_core, write_core, bind_core, .file = "bind",
	  .except = "rknpu_facade_bind" },
	{ "unbind", "unbinding a core", bind_core, write_core, bind_core, .file = "unbind",
	  .except = "devlink_remove_symlinks" },
	{ "load", "loading the module", unload, load, reload,
	  .below = "do_one_initcall", .except = "try_to_bring_up_aggregate_device" },
};

/* ---- the loop ---- */

/* The device has been made anew, but only some of the times is it tried at length. */
#define THOROUGH	16

static int run_job(int fd)
{
	struct rk_client c;
	int ret = rk_client_init_on(&c, fd);

	if (!ret)
		ret = rk_client_run(&c, 3);
	rk_bo_fini(&c.in);
	rk_bo_fini(&c.out);
	rk_op_fini(&c.inc);
	return ret;
}

/* The node comes from another thread. */
static int open_node(void)
{
	int fd = -ENODEV;

	for (int i = 0; i < 200 && fd < 0; i++) {
		fd = rk_open();
		if (fd < 0)
			rk_sleep_ms(10);
	}
	return fd;
}

static bool published(void)
{
	glob_t g = { 0 };
	bool found = !glob("/sys/class/accel/accel*", 0, NULL, &g);

	globfree(&g);
	return found;
}

/*
 * device_add() goes on when it finds no memory for the name of the node: then the
 * device is there, and its node is not, or not where it belongs.
 */
static bool lost_node(const struct action *a, int opened)
{
	return opened == -ENODEV && a->file && published();
}

static int works(const struct action *a, bool thorough)
{
	int fd = open_node(), ret;

	if (lost_node(a, fd)) {
		ret = unbind_core();
		if (!ret)
			ret = bind_core();
		if (ret)
			return ret;
		fd = open_node();
	}
	if (fd < 0)
		return fd;
	ret = thorough ? rk_run_on_every_core(fd, 1) : run_job(fd);
	close(fd);
	return ret;
}

static void complain(const struct action *a, unsigned int nth, const char *what, int ret)
{
	ksft_print_msg("%s: failure %u: %s: %s\n", a->name, nth, what, strerror(-ret));
}

/* 1 when @nth was never reached, 0, or a negative errno. */
static int one(const struct action *a, unsigned int nth, unsigned int *errors)
{
	int fd, ret = a->prepare(), result;
	bool met;

	if (ret) {
		complain(a, nth, "prepare", ret);
		return ret;
	}
	fd = open_file(a->file);
	if (fd < 0)
		return -errno;
	rk_allocfail_at(nth);
	result = a->act(fd);
	met = rk_allocfail_met();
	close(fd);
	*errors += result < 0;

	if (result && !met)
		complain(a, nth, "none met, but", result);
	ret = a->undo();
	if (ret)
		complain(a, nth, "undo", ret);
	if (!ret) {
		ret = works(a, nth / stride % THOROUGH == 0);
		if (ret)
			complain(a, nth, "does not work", ret);
	}
	return ret ? ret : !met && !result;
}

static void test_action(const struct action *a)
{
	unsigned int nth = 1, errors = 0;
	int ret;

	if (!rk_allocfail_below(a->below) || !rk_allocfail_except(a->except)) {
		ksft_test_result_fail("%s: no stack filter\n", a->name);
		return;
	}
	do {
		if (nth / stride % 100 == 99)
			ksft_print_msg("%s: %u\n", a->name, nth);
		ret = one(a, nth, &errors);
		nth += stride;
	} while (!ret && nth < RK_ALLOCFAIL_MAX);
	rk_allocfail_below(NULL);
	rk_allocfail_except(NULL);
	ksft_print_msg("%s: %u failures, every %u. of %u: %u errnos\n", a->name,
		       nth / stride - 1, stride, nth - stride - 1, errors);
	ksft_test_result(ret == 1 && (errors > 0 || stride > 1), "%s\n", a->name);
}

static bool find_core(void)
{
	glob_t g = { 0 };
	bool found = !glob(CORES, 0, NULL, &g);
	char *name;

	if (found) {
		name = strrchr(g.gl_pathv[0], '/');
		*name++ = 0;
		snprintf(core, sizeof(core), "%s", name);
		snprintf(driver, sizeof(driver), "%s", g.gl_pathv[0]);
	}
	globfree(&g);
	return found;
}

static void list(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		printf("%s: %s may fail at any allocation or copy, and the next attempt works\n",
		       actions[i].name, actions[i].what);
	printf("nothing_is_left: no BO and no address space is left\n");
}

int main(int argc, char **argv)
{
	long long bos = rk_stat("bos"), vms = rk_stat("vms");
	const char *env = getenv("RKNPU_FAULT_STRIDE");
	size_t n = ARRAY_SIZE(actions);

	rk_allocfail_options(argc, argv, list);
	ksft_print_header();
	if (!rk_allocfail_init())
		ksft_exit_skip("this kernel cannot make allocations fail\n");
	if (!find_core())
		ksft_exit_skip("no NPU\n");
	if (env && atoi(env) > 0)
		stride = atoi(env);
	rk_model_calm();
	rk_allocfail_plan(n + 1);
	for (size_t i = 0; i < n; i++) {
		if (!rk_allocfail_wanted(actions[i].name))
			continue;
		if (!actions[i].file && access(MODULE, R_OK))
			ksft_test_result_skip("load: the module's file is not here\n");
		else
			test_action(&actions[i]);
	}
	/* The last job is freed a moment after it ended. */
	ksft_test_result(rk_stat_settles("bos", bos) && rk_stat_settles("vms", vms), "nothing_is_left\n");
	rk_allocfail_end(1);
}
