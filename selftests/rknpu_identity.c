// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who the driver says it is, and what its node accepts.
 *
 * boot: memory
 * boot: dt
 * boot: armhf
 * boot: noiommujob
 * A module without the vendor's uAPI.
 * boot: novendor LONG ENV=RKNPU_VENDOR=n --module ours-without-vendor
 * boot: debug-main
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

FIXTURE(identity) {
	int fd;
};

FIXTURE_SETUP(identity)
{
	RK_OPEN_OR_SKIP(self->fd);
}

FIXTURE_TEARDOWN(identity)
{
	close(self->fd);
}

RK_TEST_F(identity, version_name, "DRM_VERSION says \"rocket\", with a version and a description")
{
	char name[32] = "", desc[64] = "";
	struct drm_version v = {
		.name = name, .name_len = sizeof(name) - 1,
		.desc = desc, .desc_len = sizeof(desc) - 1,
	};

	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_VERSION, &v));
	EXPECT_STREQ("rocket", name);
	EXPECT_EQ(6, v.name_len);
	EXPECT_GE(v.version_major, 0);
	EXPECT_LT(0, strlen(desc));
}

RK_TEST_F(identity, version_lengths,
	  "DRM_VERSION tells the lengths of its strings to who asks for them first, as Mesa does")
{
	struct drm_version v = { 0 };

	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_VERSION, &v));
	EXPECT_EQ(6, v.name_len);
}

RK_TEST_F(identity, node_is_char_device, "the node is a character device")
{
	struct stat st;

	ASSERT_EQ(0, fstat(self->fd, &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
}

RK_TEST_F(identity, unknown_ioctl, "ioctl numbers that nobody has are refused")
{
	static const unsigned int nr[] = { 0x1f, 0x3f, 0x5f };
	uint64_t buf[16] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(nr); i++) {
		int r = rk_ioctl(self->fd, DRM_IOWR(DRM_COMMAND_BASE + nr[i], uint64_t), buf);

		EXPECT_TRUE(r == -EINVAL || r == -ENOTTY) TH_LOG("nr %#x: %d", nr[i], r);
	}
}

RK_TEST_F(identity, wrong_ioctl_type, "an ioctl of another type than DRM's is refused")
{
	struct drm_rocket_fini_bo f = { .handle = 1 };

	EXPECT_EQ(-ENOTTY, rk_ioctl(self->fd, _IOW('D', DRM_COMMAND_BASE, f), &f));
}

RK_TEST_F(identity, vendor_node,
	  "the vendor's node is there, or with RKNPU_VENDOR=n not, as in a module that was built so")
{
	const char *built = getenv("RKNPU_VENDOR");
	int card = rv_open(), misc = rv_open_misc();

	if (built && !strcmp(built, "n")) {
		EXPECT_LT(card, 0);
		EXPECT_LT(misc, 0);
	} else {
		EXPECT_GE(card, 0);
	}
	if (card >= 0)
		close(card);
	if (misc >= 0)
		close(misc);
}

/* Clients that know several SoCs look there. */
RK_TEST_F(identity, root_names_the_soc, "the model's device tree says rockchip,rk3588 at its root")
{
	char names[256];
	ssize_t n;
	int fd;

	if (!rk_model())
		SKIP(return, "no model");
	fd = open("/proc/device-tree/compatible", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	n = read(fd, names, sizeof(names));
	close(fd);
	ASSERT_LT(0, n);
	EXPECT_NE(NULL, memmem(names, n, "rockchip,rk3588", sizeof("rockchip,rk3588")));
}

RK_TEST_F(identity, no_authentication, "a client computes without being master or authenticated")
{
	struct rk_client c;

	ASSERT_EQ(0, rk_client_init(&c));
	EXPECT_EQ(0, rk_client_run(&c, 7));
	rk_client_fini(&c);
}

/* DRM would let them through to code that expects a master, which an accel file has not. */
RK_TEST_F(identity, nothing_of_primary_nodes,
	  "calls that only a primary node offers are refused before DRM's code runs")
{
	/* GET_UNIQUE, GEM_FLINK (a name by which anybody opens the BO), AUTH_MAGIC, SET_MASTER */
	static const unsigned int nr[] = { 0x01, 0x0a, 0x11, 0x1e };
	uint64_t arg[2] = { 1 };

	if (!rk_ours())
		SKIP(return, "oopses in DRM's own code");
	for (size_t i = 0; i < ARRAY_SIZE(nr); i++) {
		EXPECT_EQ(-EACCES, rk_ioctl(self->fd, DRM_IOWR(nr[i], arg), arg)) {
			TH_LOG("nr %#x", nr[i]);
		}
	}
}

RK_TEST_F(identity, unprivileged_user,
	  "an unprivileged process may use a file that was opened for it")
{
	struct rk_bo bo;
	struct stat st;

	ASSERT_EQ(0, fstat(self->fd, &st));
	ASSERT_EQ(0, setgid(65534));
	ASSERT_EQ(0, setuid(65534));
	/* The file was opened before; only its mode decides who may open it. */
	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, 1));
	rk_bo_fini(&bo);
}

RK_TEST_F(identity, read_gives_nothing, "read() returns an error, and does not block")
{
	char b;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	EXPECT_GT(0, read(self->fd, &b, 1));
}

RK_TEST_F(identity, open_64_times, "each of 64 open files has an address space of its own")
{
	int fd[64];

	for (size_t i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = open(rk_path(), O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, fd[i]) TH_LOG("open %zu: %m", i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fd); i++) {
		struct rk_bo bo;

		/* Every file starts with an address space of its own. */
		ASSERT_EQ(0, rk_bo_init(&bo, fd[i], RK_PAGE));
		rk_bo_fini(&bo);
		close(fd[i]);
	}
}

RK_TEST_F(identity, r8_open_close_1000_times,
	  "opening and closing 1,000 times leaks no kernel memory")
{
	long long before = rk_meminfo("SUnreclaim");

	for (int i = 0; i < 1000; i++) {
		int fd = open(rk_path(), O_RDWR | O_CLOEXEC);

		ASSERT_LE(0, fd);
		close(fd);
	}
	/* Such kernels keep freed memory for a while, and find what is lost better. */
	if (!access("/sys/kernel/debug/kmemleak", F_OK))
		return;
	/* An allocation lost per open would be a kilobyte each or more. */
	for (int i = 0; i < 30 && rk_meminfo("SUnreclaim") - before >= 1000 << 10; i++)
		rk_sleep_ms(100);
	EXPECT_GT(1000 << 10, rk_meminfo("SUnreclaim") - before);
}

RK_TEST_F(identity, three_cores_bound,
	  "the driver is bound to three cores, or to the one node that stands for them")
{
	glob_t g = { 0 };

	glob("/sys/bus/platform/drivers/*/*.npu", 0, NULL, &g);
	EXPECT_EQ(rk_one_iommu() ? 1 : RK_CORES, g.gl_pathc);
	globfree(&g);
	if (rk_model()) {
		EXPECT_EQ(RK_CORES, rk_ctl_read(NPU_CTL_NUM_CORES));
	}
}

RK_TEST_F(identity, three_cores_compute, "jobs of one file are run by all three cores")
{
	uint64_t done[RK_CORES];

	RK_REQUIRE_MODEL();
	for (int i = 0; i < RK_CORES; i++)
		done[i] = rk_count(i, NPU_CNT_TASK_DONE);
	ASSERT_EQ(0, rk_run_on_every_core(self->fd, 4));
	for (int i = 0; i < RK_CORES; i++) {
		EXPECT_LT(done[i], rk_count(i, NPU_CNT_TASK_DONE)) TH_LOG("core %d idle", i);
	}
}

/* At one moment: a core that goes to sleep in between is asked whether it answers. */
static void count_both(const char *name, enum npu_ctl_counter counter, long long *driver,
		       long long *model)
{
	do {
		*driver = rk_cores_stat(name);
		*model = rk_count_all(counter);
	} while (rk_cores_stat(name) != *driver);
}

RK_TEST_F(identity, driver_counters, "the driver's statistics count what the model counts")
{
	static const struct {
		const char *name;
		enum npu_ctl_counter counter;
	} pair[] = {
		{ "tasks", NPU_CNT_TASK_DONE },
		{ "irqs", NPU_CNT_IRQ },
		{ "mmio_reads", NPU_CNT_MMIO_READ },
		{ "mmio_writes", NPU_CNT_MMIO_WRITE },
	};
	long long driver[ARRAY_SIZE(pair)], model[ARRAY_SIZE(pair)], driver_now, model_now, jobs;

	if (!rk_ours())
		SKIP(return, "only our module has counters");
	if (rk_stat("bos") < 0)
		SKIP(return, "no debugfs");
	RK_REQUIRE_MODEL();
	for (size_t i = 0; i < ARRAY_SIZE(pair); i++)
		count_both(pair[i].name, pair[i].counter, &driver[i], &model[i]);
	jobs = rk_cores_stat("jobs");
	ASSERT_EQ(0, rk_run_on_every_core(self->fd, 10));
	/* One task each, and rounds are repeated where the host is slow. */
	EXPECT_LE(30, rk_cores_stat("jobs") - jobs);
	EXPECT_EQ((long long)rk_count_all(NPU_CNT_TASK_DONE) - model[0], rk_cores_stat("jobs") - jobs);
	for (size_t i = 0; i < ARRAY_SIZE(pair); i++) {
		count_both(pair[i].name, pair[i].counter, &driver_now, &model_now);
		EXPECT_EQ(model_now - model[i], driver_now - driver[i])
			TH_LOG("%s", pair[i].name);
	}
}

RK_TEST_F(identity, r10_failing_creates_leak_nothing,
	  "a CREATE_BO that fails does not keep the address space alive")
{
	long long vms;
	int fd;

	if (!rk_ours() || rk_stat("vms") < 0)
		SKIP(return, "needs our module and debugfs");
	/* What earlier tests left may still be on its way out. */
	for (int i = 0; i < 100 && rk_stat("vms") > 1; i++)
		rk_sleep_ms(10);
	vms = rk_stat("vms");
	fd = rk_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(vms + 1, rk_stat("vms"));
	for (int i = 0; i < 100; i++) {
		struct drm_rocket_create_bo c = { .size = i % 2 ? 0 : UINT32_MAX };

		ASSERT_EQ(-EINVAL, rk_ioctl(fd, DRM_IOCTL_ROCKET_CREATE_BO, &c));
	}
	close(fd);
	for (int i = 0; i < 100 && rk_stat("vms") != vms; i++)
		rk_sleep_ms(10);
	EXPECT_EQ(vms, rk_stat("vms"));
}

RK_TEST_F(identity, driver_frees_everything,
	  "no BO of a client is left when it has closed its file")
{
	long long bos, vms;

	if (!rk_ours())
		SKIP(return, "only our module has counters");
	bos = rk_stat("bos");
	vms = rk_stat("vms");
	if (bos < 0)
		SKIP(return, "no debugfs");
	for (int i = 0; i < 10; i++) {
		struct rk_client c;

		ASSERT_EQ(0, rk_client_init(&c));
		ASSERT_EQ(0, rk_client_run(&c, i));
		rk_client_fini(&c);
	}
	/* A core may keep the last address space attached; one per core. */
	for (int i = 0; i < 100 && rk_stat("bos") != bos; i++)
		rk_sleep_ms(10);
	EXPECT_EQ(bos, rk_stat("bos"));
	EXPECT_GE(vms + RK_CORES, rk_stat("vms"));
}

RK_HARNESS_MAIN
