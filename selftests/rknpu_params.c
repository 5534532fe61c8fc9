// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parameters that count when the module is loaded. The module must be in /modules, and nobody may use it.
 *
 * boot: library
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define MODULE	"/modules/rknpu_accel.ko"

/* Before 7.2 fences hold the module for a while after their last user let go of them. */
static int unload(void)
{
	int ret = 0;

	for (unsigned int i = 0; i < 500 * rk_slow(); i++) {
		ret = syscall(SYS_delete_module, "rknpu_accel", O_NONBLOCK) ? -errno : 0;
		if (ret != -EAGAIN && ret != -EBUSY)
			return ret;
		rk_sleep_ms(10);
	}
	return ret;
}

static int load(const char *params)
{
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, params, 0) ? -errno : 0;
	close(fd);
	return ret;
}

static int reload(const char *params)
{
	int ret = rk_ours() ? unload() : 0;

	return ret ? ret : load(params);
}

FIXTURE(load) {
};

FIXTURE_SETUP(load)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	if (!rk_ours() || access(MODULE, R_OK))
		SKIP(return, "the module's file is not here");
}

FIXTURE_TEARDOWN(load)
{
	if (!access(MODULE, R_OK) && reload(""))
		perror("# loading it again");
}

/* The NPU works, whatever the vendor's uAPI is. */
static int rocket_works(void)
{
	struct rk_client c;
	int ret = rk_client_init(&c);

	if (ret)
		return ret;
	ret = rk_client_run(&c, 7);
	rk_client_fini(&c);
	return ret;
}

RK_TEST_F(load, without_the_vendors_uapi, "vendor_uapi=n leaves out the vendor's node, and its device if that is asked for")
{
	ASSERT_EQ(0, reload("vendor_uapi=n vendor_misc=y"));
	EXPECT_EQ(0, rocket_works());
	EXPECT_GT(0, rv_open_render());
	EXPECT_GT(0, rv_open_misc());
}

RK_TEST_F(load, without_procfs, "vendor_procfs=n leaves out /proc/rknpu, and no other file")
{
	struct stat st;

	ASSERT_EQ(0, reload("vendor_procfs=n"));
	EXPECT_EQ(-1, stat("/proc/rknpu", &st));
	EXPECT_EQ(0, stat("/sys/kernel/debug/rknpu/version", &st));
	ASSERT_EQ(0, reload("vendor_procfs=y"));
	EXPECT_EQ(0, stat("/proc/rknpu/version", &st));
}

RK_TEST_F(load, version, "vendor_version is what ACTION says the driver's version is")
{
	uint32_t value = 0;
	int fd;

	ASSERT_EQ(0, reload("vendor_version=1.2.34"));
	fd = rv_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, rv_action(fd, DRM_RKNPU_GET_DRV_VERSION, &value));
	EXPECT_EQ(10234u, value);
	close(fd);
}

RK_TEST_F(load, no_version, "with a vendor_version that is none there is no device, and the module unloads")
{
	static const char *const bad[] = { "1.2", "1.2.3a", "-1.2.3", "1.-2.3", "1.100.3", "1.2.-3", "1.2.100", "new" };
	char params[64];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(params, sizeof(params), "vendor_version=%s", bad[i]);
		ASSERT_EQ(0, reload(params));
		EXPECT_GT(0, rk_open()) {
			TH_LOG("%s is taken", bad[i]);
		}
	}
	ASSERT_EQ(0, reload(""));
	EXPECT_EQ(0, rocket_works());
}

RK_TEST_F(load, guard_pages, "iova_guard_pages is how many pages at least are unmapped between BOs")
{
	struct rk_bo a, b, c, d;
	uint64_t hole;
	int fd;

	ASSERT_EQ(0, reload("iova_guard_pages=3"));
	fd = rk_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rk_bo_init(&a, fd, 2 * RK_PAGE));
	ASSERT_EQ(0, rk_bo_init(&b, fd, RK_PAGE));
	ASSERT_EQ(0, rk_bo_init(&c, fd, RK_PAGE));
	EXPECT_EQ(a.iova + (2 + 3) * RK_PAGE, b.iova);
	hole = b.iova;
	rk_bo_fini(&b);
	/* It would fill what is free there to its end. */
	ASSERT_EQ(0, rk_bo_init(&d, fd, 4 * RK_PAGE));
	EXPECT_EQ(c.iova + (1 + 3) * RK_PAGE, d.iova);
	ASSERT_EQ(0, rk_bo_init(&b, fd, RK_PAGE));
	EXPECT_EQ(hole, b.iova);
	rk_bo_fini(&a);
	rk_bo_fini(&b);
	rk_bo_fini(&c);
	rk_bo_fini(&d);
	close(fd);
	EXPECT_EQ(0, rocket_works());
}

/* Another process with a file of its own runs the tasks of @c: 0, a negative errno, or -EILSEQ. */
static int run_in_child(struct rv_chain *c)
{
	int status;
	pid_t pid;

	if (rv_chain_fill(c, 1))
		return -EIO;
	pid = fork();
	if (!pid) {
		int fd = rv_open();

		_exit(fd < 0 ? EIO : -rv_chain_submit_by(c, fd));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -ECHILD;
	if (WEXITSTATUS(status))
		return -WEXITSTATUS(status);
	return rv_chain_wrong(c, 2) ? -EILSEQ : 0;
}

RK_TEST_F(load, shared_space, "with vendor_shared_space processes share addresses, by default they do not")
{
	struct rv_chain c;
	int fd;

	ASSERT_EQ(0, reload("vendor_shared_space=y"));
	fd = rv_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rv_chain_init(&c, fd, 1, 0, 0));
	EXPECT_EQ(0, run_in_child(&c));
	rv_chain_fini(&c);
	close(fd);

	ASSERT_EQ(0, reload(""));
	fd = rv_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rv_chain_init(&c, fd, 1, 0, 0));
	EXPECT_NE(0, run_in_child(&c));
	rv_chain_fini(&c);
	close(fd);
}

RK_HARNESS_MAIN
