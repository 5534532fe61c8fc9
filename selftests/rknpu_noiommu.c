// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without an IOMMU: who may use the NPU, who gets to know, and what memory is.
 *
 * Without IOMMU, on either device tree, and where one is there that nobody is to use.
 * boot: noiommu TEST_LIMIT=600 --model npu-iommu=0 --cmdline cma=256M --param unsafe_noiommu=1 --param vendor_misc=1
 * boot: noviommu LONG TEST_LIMIT=600 --dt vendor --dt-edit /npu@fdab0000:iommus --cmdline cma=256M --param unsafe_noiommu=1
 * boot: noviommu1 RARE TEST_LIMIT=600 --dt vendor --model npu-cores=1 --model npu-one-irq=on --model npu-iommu=0 --cmdline cma=256M --param unsafe_noiommu=1
 * Two cores, and IOMMUs whose nodes say disabled; and memory that the NPU's addresses do not reach.
 * boot: noiommudis RARE TEST_LIMIT=600 --model npu-cores=2 --dt-edit /iommu@fdab9000:status=64697361,626c6564,0 --dt-edit /iommu@fdaca000:status=64697361,626c6564,0 --cmdline cma=256M --param unsafe_noiommu=1
 * boot: noviommdis RARE TEST_LIMIT=600 --dt vendor --dt-edit /iommu@fdab9000:status=64697361,626c6564,0 --cmdline cma=256M --param unsafe_noiommu=1
 * boot: noiommubig RARE TEST_LIMIT=600 --model npu-iommu=0 --qemu-arg -m --qemu-arg 6G --cmdline cma=256M --param unsafe_noiommu=1
 * boot: noiommuoff RARE TEST_LIMIT=600 --cmdline iommu.passthrough=1 --cmdline cma=256M --param noiommu=1 --param unsafe_noiommu=1
 * boot: debug-noiommu KERNEL=debug TEST_LIMIT=1800 --model npu-iommu=0 --cmdline cma=128M --param unsafe_noiommu=1
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/capability.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define LOG_SIZE	8192
/* As /proc/sys/kernel/tainted numbers it. */
#define TAINT_USER	6
/* More than any CMA area of ours, and less than one file may have with KASAN. */
#define HUGE_BO		(300u << 20)

FIXTURE(noiommu) {
	struct rk_client a;
	struct rk_client b;
	int log;
};

FIXTURE_SETUP(noiommu)
{
	int fd;

	if (!rk_ours() || !rk_no_iommu())
		SKIP(return, "the NPU has an IOMMU");
	rk_module_param("unsafe_noiommu", 1);
	RK_OPEN_OR_SKIP(fd);
	close(fd);
	ASSERT_EQ(0, rk_client_init(&self->a));
	ASSERT_EQ(0, rk_client_init(&self->b));
	/* Refusals tell why. */
	ASSERT_EQ(0, rk_write_file("/sys/module/drm/parameters/debug", "2"));
	self->log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ASSERT_LE(0, self->log);
	lseek(self->log, 0, SEEK_END);
}

FIXTURE_TEARDOWN(noiommu)
{
	rk_write_file("/sys/module/drm/parameters/debug", "0");
	rk_module_param("unsafe_noiommu", 1);
	rk_model_calm();
	close(self->log);
	rk_client_fini(&self->a);
	rk_client_fini(&self->b);
}

/* Is there a line with both, among those that were not read before? */
static bool says(int log, const char *what, const char *also)
{
	char line[LOG_SIZE];
	ssize_t n;

	while ((n = read(log, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		line[n < 0 ? 0 : n] = 0;
		if (strstr(line, what) && strstr(line, also))
			return true;
	}
	return false;
}

/* As it would be by anybody who may open the node: 0 or a negative errno. */
static int open_unprivileged(const char *path)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		if (rk_drop_capability(CAP_SYS_RAWIO))
			_exit(255);
		_exit(open(path, O_RDWR | O_CLOEXEC) < 0 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	return -WEXITSTATUS(status);
}

static bool tainted_by_users(void)
{
	FILE *f = fopen("/proc/sys/kernel/tainted", "re");
	unsigned long taints = 0;

	if (f && fscanf(f, "%lu", &taints) != 1)
		taints = 0;
	if (f)
		fclose(f);
	return taints >> TAINT_USER & 1;
}

/* From the oldest line on. */
static int count_told(void)
{
	int n = 0, log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	while (says(log, "uses the NPU without an IOMMU", "tainted"))
		n++;
	close(log);
	return n;
}

/* The first case, as the taint stays. */
RK_TEST(first_use_taints, "the first open that is allowed taints the kernel, none that is refused does")
{
	int fd;

	if (!rk_ours() || !rk_no_iommu())
		SKIP(return, "the NPU has an IOMMU");
	if (tainted_by_users())
		SKIP(return, "it was used before");
	rk_module_param("unsafe_noiommu", 0);
	EXPECT_EQ(-EPERM, rk_open());
	rk_module_param("unsafe_noiommu", 1);
	EXPECT_EQ(-EPERM, open_unprivileged(access("/dev/accel/accel0", F_OK) ?
					    "/dev/dri/renderD128" : "/dev/accel/accel0"));
	EXPECT_FALSE(tainted_by_users());
	EXPECT_EQ(0, count_told());
	fd = rk_open();
	ASSERT_LE(0, fd);
	EXPECT_TRUE(tainted_by_users());
	EXPECT_EQ(1, count_told());
	close(fd);
}

/* One task of @c, from and to addresses that need not be its own. */
static int run_raw(struct rk_client *c, uint64_t in, uint64_t out)
{
	struct drm_rocket_task task;
	int ret = rk_op_task(&c->inc, in, out, &task);

	if (!ret)
		ret = rk_submit_task(c->fd, &task, &c->in, &c->out);
	return ret ? ret : rk_prep(&c->out, 10000);
}

RK_TEST_F(noiommu, adds_one, "a job computes the right bytes, on every core")
{
	EXPECT_EQ(0, rk_client_run(&self->a, 41));
	EXPECT_EQ(0, rk_run_on_every_core(self->a.fd, 4));
}

RK_TEST_F(noiommu, addresses_are_real, "BOs have bus addresses, which are the same in all files")
{
	struct drm_rocket_bo_info info = { 0 };
	int buf = rk_export(self->a.fd, self->a.out.handle);

	EXPECT_NE(self->a.out.iova, self->b.out.iova);
	EXPECT_NE(0, self->a.out.iova);
	EXPECT_GT(1ull << 32, self->a.out.iova);
	ASSERT_LE(0, buf);
	ASSERT_EQ(0, drmPrimeFDToHandle(self->b.fd, buf, &info.handle));
	close(buf);
	ASSERT_EQ(0, rk_ioctl(self->b.fd, DRM_IOCTL_ROCKET_GET_BO_INFO, &info));
	EXPECT_EQ(self->a.out.iova, info.dma_address);
	EXPECT_EQ(0, rk_bo_fill(&self->b.in, 7, RK_BYTES));
	EXPECT_EQ(0, run_raw(&self->b, self->b.in.iova, info.dma_address));
	EXPECT_EQ(0, rk_bo_differs(&self->a.out, 8, RK_BYTES));
	EXPECT_EQ(0, rk_gem_close(self->b.fd, info.handle));
}

RK_TEST_F(noiommu, refused_unless_privileged, "nobody can open a node without CAP_SYS_RAWIO")
{
	static const char *const paths[] = {
		"/dev/accel/accel0", "/dev/dri/card0", "/dev/dri/renderD128", "/dev/rknpu",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (access(paths[i], F_OK))
			continue;
		EXPECT_EQ(-EPERM, open_unprivileged(paths[i])) TH_LOG("%s", paths[i]);
		EXPECT_TRUE(says(self->log, "open: no IOMMU", "CAP_SYS_RAWIO"));
	}
	/* Files have been opened, and the kernel says so of one. */
	EXPECT_TRUE(tainted_by_users());
	EXPECT_EQ(1, count_told());
}

RK_TEST_F(noiommu, refused_unless_allowed, "nobody can open a node unless a module parameter allows it")
{
	int fd, log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	/* From the oldest line on: it was said when the module was loaded. */
	ASSERT_LE(0, log);
	EXPECT_TRUE(says(log, "no IOMMU: a job can read and write all memory", "unsafe_noiommu"));
	close(log);
	fd = rv_open();
	rk_module_param("unsafe_noiommu", 0);
	EXPECT_EQ(-EPERM, rk_open());
	EXPECT_TRUE(says(self->log, "open: no IOMMU", "unsafe_noiommu"));
	/* Where there is the vendor's uAPI. */
	if (fd >= 0) {
		close(fd);
		EXPECT_GT(0, open("/dev/dri/card0", O_RDWR | O_CLOEXEC));
		EXPECT_EQ(EPERM, errno);
		EXPECT_GT(0, rv_open());
	}
	/* Who is in stays in. */
	EXPECT_EQ(0, rk_client_run(&self->a, 1));
	rk_module_param("unsafe_noiommu", 1);
	fd = rk_open();
	EXPECT_LE(0, fd);
	close(fd);
}

static int run_task(struct rk_client *c, const struct drm_rocket_task *task)
{
	int ret = rk_submit_task(c->fd, task, &c->in, &c->out);

	return ret ? ret : rk_prep(&c->out, 10000);
}

RK_TEST_F(noiommu, nobody_looks_at_programs, "a job writes where its program says, also into another file's memory")
{
	ASSERT_EQ(0, rk_bo_fill(&self->a.out, 0x42, RK_BYTES));
	ASSERT_EQ(0, rk_bo_fill(&self->b.in, 7, RK_BYTES));
	EXPECT_EQ(0, run_raw(&self->b, self->b.in.iova, self->a.out.iova));
	EXPECT_EQ(0, rk_bo_differs(&self->a.out, 8, RK_BYTES));
}

RK_TEST_F(noiommu, bo_too_large, "a BO for which there is no contiguous memory fails with ENOMEM")
{
	struct rk_bo bo;

	EXPECT_EQ(-ENOMEM, rk_bo_init(&bo, self->a.fd, HUGE_BO));
	EXPECT_TRUE(says(self->log, "contiguous", "cma="));
	ASSERT_EQ(0, rk_bo_init(&bo, self->a.fd, 2u << 20));
	rk_bo_fini(&bo);
	EXPECT_EQ(0, rk_client_run(&self->a, 1));
}

/* Dma-bufs, and attachments to all of them, or -1. */
static int dma_bufs(unsigned int *attached)
{
	FILE *f = fopen("/sys/kernel/debug/dma_buf/bufinfo", "re");
	int total = -1, n;
	char line[256];

	*attached = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Total %d devices", &n) == 1 && strstr(line, "attached"))
			*attached += n;
		else if (strstr(line, " objects"))
			sscanf(line, "Total %d", &total);
	}
	if (f)
		fclose(f);
	return total;
}

/* Of two reasons the log has one: where there is memory above 4 GiB, pages may be there. */
static bool says_why_not(int log)
{
	bool beyond = sysconf(_SC_PHYS_PAGES) * (uint64_t)RK_PAGE > 3ull << 30;

	return says(log, "import: ", beyond ? "" : "contiguous");
}

RK_TEST_F(noiommu, import_must_be_contiguous, "a dma-buf in several pieces cannot be imported")
{
	unsigned int attached, before;
	uint32_t handle;
	int total = dma_bufs(&before);
	/* No two pages of it follow each other. */
	int fd = rv_repeated_memory(RK_PAGE, 2), vendor;

	if (fd < 0)
		SKIP(return, "no /dev/udmabuf");
	EXPECT_EQ(-1, drmPrimeFDToHandle(self->a.fd, fd, &handle));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_TRUE(says_why_not(self->log));
	vendor = rv_open();
	if (vendor >= 0) {
		EXPECT_EQ(-1, drmPrimeFDToHandle(vendor, fd, &handle));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_TRUE(says_why_not(self->log));
		close(vendor);
	}
	/* Nothing of the attempts is left. */
	EXPECT_EQ(total < 0 ? total : total + 1, dma_bufs(&attached));
	EXPECT_EQ(before, attached);
	close(fd);
	EXPECT_EQ(total, dma_bufs(&attached));
}

/* The DMA API may then import a copy of the memory, which the driver refuses. */
static bool memory_above_4gib(void)
{
	FILE *f = fopen("/proc/iomem", "re");
	unsigned long long end;
	char line[128];
	bool above = false;

	while (f && fgets(line, sizeof(line), f))
		above |= strstr(line, "System RAM") && sscanf(line, "%*x-%llx", &end) == 1 &&
			 end > UINT32_MAX;
	if (f)
		fclose(f);
	return above;
}

RK_TEST_F(noiommu, import_of_a_copy_is_refused,
	  "with memory that the NPU cannot reach nothing foreign is imported")
{
	uint32_t handle;
	uint8_t *map;
	int fd = rv_foreign_memory(RK_PAGE, &map);

	if (fd < 0 || !memory_above_4gib())
		SKIP(return, "no foreign memory, or all memory is below 4 GiB");
	EXPECT_EQ(-1, drmPrimeFDToHandle(self->a.fd, fd, &handle));
	EXPECT_EQ(EINVAL, errno);
	munmap(map, RK_PAGE);
	close(fd);
}

RK_TEST_F(noiommu, import_in_one_piece, "a dma-buf in one piece is used where it is, once per address space")
{
	struct drm_rocket_bo_info info = { 0 };
	struct rk_client *a = &self->a;
	uint8_t nines[RK_BYTES];
	unsigned int attached, before;
	uint32_t handles[2];
	uint8_t *map;
	int total = dma_bufs(&before);
	int fd = rv_foreign_memory(RK_PAGE, &map), one = rv_open(), two = rv_open();

	if (fd < 0 || memory_above_4gib())
		SKIP(return, "no foreign memory, or it may be a copy");
	ASSERT_EQ(0, drmPrimeFDToHandle(a->fd, fd, &info.handle));
	ASSERT_EQ(0, rk_ioctl(a->fd, DRM_IOCTL_ROCKET_GET_BO_INFO, &info));
	memset(nines, 9, sizeof(nines));
	ASSERT_EQ(0, rk_dmabuf_write(fd, map, nines, sizeof(nines)));
	EXPECT_EQ(0, run_raw(a, info.dma_address, a->out.iova));
	EXPECT_EQ(0, rk_bo_differs(&a->out, 10, RK_BYTES));
	EXPECT_EQ(0, rk_gem_close(a->fd, info.handle));
	/* Files of one process share the vendor's address spaces, but not what they import. */
	if (one >= 0 && two >= 0) {
		EXPECT_EQ(0, drmPrimeFDToHandle(one, fd, &handles[0]));
		EXPECT_EQ(-1, drmPrimeFDToHandle(two, fd, &handles[1]));
		EXPECT_EQ(ENOSPC, errno);
		/* That of the other file goes with its job, a moment after that has ended. */
		for (int ms = 0; dma_bufs(&attached) >= 0 && attached > before + 1 && ms < 1000; ms++)
			rk_sleep_ms(1);
		EXPECT_EQ(total < 0 ? 0 : before + 1, attached);
	}
	close(one);
	close(two);
	munmap(map, RK_PAGE);
	close(fd);
	EXPECT_EQ(total, dma_bufs(&attached));
}

RK_TEST_F(noiommu, program_in_foreign_memory, "a program may be in another driver's memory")
{
	struct drm_rocket_bo_info info = { 0 };
	struct rk_client *b = &self->b;
	struct drm_rocket_task t;
	uint8_t *map;
	int fd = rv_foreign_memory(RK_PAGE, &map);

	if (fd < 0 || memory_above_4gib())
		SKIP(return, "no foreign memory, or it may be a copy");
	ASSERT_EQ(0, drmPrimeFDToHandle(b->fd, fd, &info.handle));
	ASSERT_EQ(0, rk_ioctl(b->fd, DRM_IOCTL_ROCKET_GET_BO_INFO, &info));
	ASSERT_EQ(0, rk_op_task(&b->inc, b->in.iova, b->out.iova, &t));
	ASSERT_GE(RK_PAGE, t.regcmd_count * sizeof(uint64_t));
	ASSERT_EQ(0, rk_dmabuf_write(fd, map, b->inc.bo.map + (t.regcmd - b->inc.bo.iova),
				     t.regcmd_count * sizeof(uint64_t)));
	t.regcmd = info.dma_address;
	ASSERT_EQ(0, rk_bo_fill(&b->in, 3, RK_BYTES));
	EXPECT_EQ(0, run_task(b, &t));
	EXPECT_EQ(0, rk_bo_differs(&b->out, 4, RK_BYTES));
	EXPECT_EQ(0, rk_gem_close(b->fd, info.handle));
	munmap(map, RK_PAGE);
	close(fd);
}

RK_TEST_F(noiommu, vendor_uapi, "jobs of the vendor's uAPI run, and it says that there is no IOMMU")
{
	struct rv_chain c;
	uint32_t value;
	int fd = rv_open();

	if (fd < 0)
		SKIP(return, "no vendor node");
	EXPECT_EQ(0, rv_action(fd, DRM_RKNPU_GET_IOMMU_EN, &value));
	EXPECT_EQ(0, value);
	ASSERT_EQ(0, rv_chain_init(&c, fd, 3, 0, 0));
	EXPECT_EQ(0, rv_chain_run(&c, 5));
	rv_chain_fini(&c);
	close(fd);
}

RK_HARNESS_MAIN
