// SPDX-License-Identifier: GPL-2.0-only
/* Without an IOMMU: who may use the NPU, what memory is, and which programs are refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/udmabuf.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define LOG_SIZE	8192
/* More than the 1 GiB of the model has in one piece, and less than one file may have. */
#define HUGE_BO		(600u << 20)

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
	/* What was given to a client is among what its programs may name. */
	EXPECT_EQ(0, rk_bo_fill(&self->b.in, 7, RK_BYTES));
	EXPECT_EQ(0, run_raw(&self->b, self->b.in.iova, info.dma_address));
	EXPECT_EQ(0, rk_bo_differs(&self->a.out, 8, RK_BYTES));
	EXPECT_EQ(0, rk_gem_close(self->b.fd, info.handle));
	EXPECT_EQ(-EFAULT, run_raw(&self->b, self->b.in.iova, info.dma_address));
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

static int run_chain(struct rk_client *c, const struct drm_rocket_task *tasks, uint32_t n)
{
	struct drm_rocket_job_ext job;
	int ret;

	rk_job_ext(&job, tasks, n, &c->in, &c->out);
	if (n > 1)
		job.flags = DRM_ROCKET_JOB_BATCHED;
	ret = rk_submit_ext(c->fd, &job, 1, NULL);
	return ret ? ret : rk_prep(&c->out, 10000);
}

/* -EFAULT, if the log names the task and the register. It has few lines per second, so ask again. */
static int told(FIXTURE_DATA(noiommu) *self, const struct drm_rocket_task *tasks, uint32_t n,
		const char *task, const char *reg)
{
	int ret = -ENOMSG;

	for (int i = 0; i < 200; i++) {
		ret = run_chain(&self->b, tasks, n);
		if (ret != -EFAULT || says(self->log, task, reg))
			return ret;
		ret = -ENOMSG;
		rk_sleep_ms(100);
	}
	return ret;
}

/* The same of one task from and to these addresses. */
static int told_raw(FIXTURE_DATA(noiommu) *self, uint64_t in, uint64_t out, const char *reg)
{
	struct drm_rocket_task t;
	int ret = rk_op_task(&self->b.inc, in, out, &t);

	return ret ? ret : told(self, &t, 1, "task 0:", reg);
}

RK_TEST_F(noiommu, foreign_output, "a job that would write another file's memory is refused")
{
	uint64_t kicks = rk_count_all_jobs(NPU_CNT_KICK);

	ASSERT_EQ(0, rk_bo_fill(&self->a.out, 0x42, RK_BYTES));
	EXPECT_EQ(-EFAULT, told_raw(self, self->b.in.iova, self->a.out.iova, "DPU.DST_BASE_ADDR"));
	EXPECT_EQ(kicks, rk_count_all_jobs(NPU_CNT_KICK));
	EXPECT_EQ(0, rk_bo_differs(&self->a.out, 0x42, RK_BYTES));
	EXPECT_EQ(0, rk_client_run(&self->b, 2));
}

RK_TEST_F(noiommu, foreign_input, "a job that would read another file's memory is refused")
{
	struct rk_client *b = &self->b;

	EXPECT_EQ(-EFAULT, told_raw(self, self->a.in.iova, b->out.iova, "CNA.FEATURE_DATA_ADDR"));
	EXPECT_EQ(-EFAULT, told_raw(self, 0, b->out.iova, "CNA.FEATURE_DATA_ADDR"));
	EXPECT_EQ(0, rk_client_run(b, 2));
}

/* Its commands. */
static uint64_t *commands(struct rk_client *c, const struct drm_rocket_task *t)
{
	return (uint64_t *)(c->inc.bo.map + (t->regcmd - c->inc.bo.iova));
}

/* Changes the register in a program from @in to @out that is all right. */
static int poke(struct rk_client *c, struct drm_rocket_task *t, uint16_t reg, uint32_t value)
{
	int ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, t);
	uint64_t *cmd;

	if (ret)
		return ret;
	cmd = commands(c, t);
	for (uint32_t i = 0; i < t->regcmd_count; i++) {
		if ((uint16_t)cmd[i] != reg)
			continue;
		cmd[i] = (cmd[i] & 0xffff00000000ffffull) | (uint64_t)value << 16;
		return rk_fini(&c->inc.bo);
	}
	return -ENOENT;
}

RK_TEST_F(noiommu, every_address_counts, "each register that holds an address is looked at, and named")
{
	static const struct {
		uint16_t reg;
		const char *name;
	} regs[] = {
		{ 0x1070, "CNA.FEATURE_DATA_ADDR" }, { 0x1110, "CNA.DCOMP_ADDR0" },
		{ 0x4020, "DPU.DST_BASE_ADDR" }, { 0x5018, "DPU_RDMA.SRC_BASE_ADDR" },
		{ 0x5020, "DPU_RDMA.BS_BASE_ADDR" }, { 0x502c, "DPU_RDMA.BN_BASE_ADDR" },
		{ 0x5038, "DPU_RDMA.EW_BASE_ADDR" },
	};
	struct rk_client *b = &self->b;
	struct drm_rocket_task t;

	for (size_t i = 0; i < sizeof(regs) / sizeof(*regs); i++) {
		ASSERT_EQ(0, poke(b, &t, regs[i].reg, self->a.out.iova)) {
			printf("# %s is not in the program\n", regs[i].name);
		}
		EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", regs[i].name));
	}
	/* Of blocks that the program does not use. */
	ASSERT_EQ(0, rk_op_task(&b->inc, b->in.iova, b->out.iova, &t));
	commands(b, &t)[0] = 0x4001ull << 48 | self->a.out.iova << 16 | 0x6070;
	EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "PPU.DST_BASE_ADDR"));
	commands(b, &t)[0] = 0x8001ull << 48 | self->a.out.iova << 16 | 0x701c;
	EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "PPU_RDMA.SRC_BASE_ADDR"));
	/* The base of all addresses, and a command whose target and register do not agree. */
	commands(b, &t)[0] = 0x0101ull << 48 | 16ull << 16 | 0x34;
	EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "PC.TASK_DMA_BASE_ADDR"));
	commands(b, &t)[0] = 0x1001ull << 48 | b->out.iova << 16 | 0x1070;
	EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "no block"));
	EXPECT_EQ(0, rk_client_run(b, 2));
}

static uint64_t end_of(const struct rk_bo *bo)
{
	return bo->iova + (bo->size + RK_PAGE - 1) / RK_PAGE * RK_PAGE;
}

RK_TEST_F(noiommu, beyond_the_end, "what begins in a BO must end in it")
{
	struct rk_client *b = &self->b;
	uint64_t end = end_of(&b->out);
	struct drm_rocket_task t;

	EXPECT_EQ(0, run_raw(b, b->in.iova, end - RK_BYTES));
	EXPECT_EQ(-EFAULT, told_raw(self, b->in.iova, end - RK_BYTES + 16, "DPU.DST_BASE_ADDR"));
	end = end_of(&b->in);
	EXPECT_EQ(0, run_raw(b, end - RK_BYTES, b->out.iova));
	EXPECT_EQ(-EFAULT, told_raw(self, end - RK_BYTES + 16, b->out.iova,
				    "CNA.FEATURE_DATA_ADDR"));
	/* Weights of 1 KiB. */
	ASSERT_EQ(0, poke(b, &t, 0x1110, end - 512));
	EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "CNA.DCOMP_ADDR0"));
	/* Surfaces that are far apart. */
	ASSERT_EQ(0, poke(b, &t, 0x4024, 0xfffffff0));
	EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "DPU.DST_BASE_ADDR"));
	ASSERT_EQ(0, poke(b, &t, 0x1080, 0x4000000));
	EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "CNA.FEATURE_DATA_ADDR"));
}

RK_TEST_F(noiommu, chain_to_a_foreign_program, "a program that goes on with another file's is refused")
{
	struct drm_rocket_task t[2], foreign;
	struct rk_client *b = &self->b;

	ASSERT_EQ(0, rk_op_task(&self->a.inc, self->a.in.iova, self->a.out.iova, &foreign));
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, rk_op_task(&b->inc, b->in.iova, b->out.iova, &t[i]));
	rk_chain(&b->inc, &t[0], &t[1]);
	ASSERT_EQ(0, rk_fini(&b->inc.bo));
	EXPECT_EQ(0, run_chain(b, t, 2));
	rk_chain(&b->inc, &t[0], &foreign);
	ASSERT_EQ(0, rk_fini(&b->inc.bo));
	EXPECT_EQ(-EFAULT, told(self, t, 2, "task 0:", "PC.BASE_ADDRESS"));
	/* Also where nobody would go there. */
	EXPECT_EQ(-EFAULT, told(self, t, 1, "task 0:", "PC.BASE_ADDRESS"));
}

RK_TEST_F(noiommu, chain_is_followed, "the programs that a chain leads to are checked, not those that the job lists")
{
	struct drm_rocket_task t[2], bad;
	struct rk_client *b = &self->b;

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, rk_op_task(&b->inc, b->in.iova, b->out.iova, &t[i]));
	ASSERT_EQ(0, rk_op_task(&b->inc, b->in.iova, self->a.out.iova, &bad));
	rk_chain(&b->inc, &t[0], &bad);
	ASSERT_EQ(0, rk_fini(&b->inc.bo));
	EXPECT_EQ(-EFAULT, told(self, t, 2, "task 1:", "DPU.DST_BASE_ADDR"));
	EXPECT_EQ(0, rk_client_run(b, 2));
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

/* The page twice: no two pages of it follow each other. */
static int scattered_dmabuf(void)
{
	struct {
		struct udmabuf_create_list head;
		struct udmabuf_create_item list[2];
	} create = { .head = { .flags = UDMABUF_FLAGS_CLOEXEC, .count = 2 } };
	int memfd = memfd_create("rknpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	int fd = -1;

	for (int i = 0; i < 2; i++)
		create.list[i] = (struct udmabuf_create_item) { .memfd = memfd, .size = RK_PAGE };
	if (memfd >= 0 && dev >= 0 && !ftruncate(memfd, RK_PAGE) &&
	    !fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		fd = ioctl(dev, UDMABUF_CREATE_LIST, &create);
	close(memfd);
	close(dev);
	return fd;
}

RK_TEST_F(noiommu, import_must_be_contiguous, "a dma-buf in several pieces cannot be imported")
{
	uint32_t handle;
	int fd = scattered_dmabuf();

	if (fd < 0)
		SKIP(return, "no /dev/udmabuf");
	EXPECT_EQ(-1, drmPrimeFDToHandle(self->a.fd, fd, &handle));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_TRUE(says(self->log, "import", "contiguous"));
	close(fd);
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
	uint32_t handles[2];
	uint8_t *map;
	int fd = rv_foreign_memory(RK_PAGE, &map), one = rv_open(), two = rv_open();

	if (fd < 0 || memory_above_4gib())
		SKIP(return, "no foreign memory, or it may be a copy");
	ASSERT_EQ(0, drmPrimeFDToHandle(a->fd, fd, &info.handle));
	ASSERT_EQ(0, rk_ioctl(a->fd, DRM_IOCTL_ROCKET_GET_BO_INFO, &info));
	memset(map, 9, RK_BYTES);
	EXPECT_EQ(0, run_raw(a, info.dma_address, a->out.iova));
	EXPECT_EQ(0, rk_bo_differs(&a->out, 10, RK_BYTES));
	EXPECT_EQ(0, rk_gem_close(a->fd, info.handle));
	/* Files of one process share the vendor's address spaces, but not what they import. */
	if (one >= 0 && two >= 0) {
		EXPECT_EQ(0, drmPrimeFDToHandle(one, fd, &handles[0]));
		EXPECT_EQ(-1, drmPrimeFDToHandle(two, fd, &handles[1]));
		EXPECT_EQ(ENOSPC, errno);
	}
	close(one);
	close(two);
	munmap(map, RK_PAGE);
	close(fd);
}

RK_TEST_F(noiommu, vendor_is_checked, "jobs of the vendor's uAPI run, and are refused alike")
{
	struct rv_chain c;
	uint64_t *cmd;
	uint32_t value;
	int fd = rv_open();

	if (fd < 0)
		SKIP(return, "no vendor node");
	EXPECT_EQ(0, rv_action(fd, DRM_RKNPU_GET_IOMMU_EN, &value));
	EXPECT_EQ(0, value);
	ASSERT_EQ(0, rv_chain_init(&c, fd, 3, 0, 0));
	EXPECT_EQ(0, rv_chain_run(&c, 5));
	/* In the second program of the chain. */
	cmd = (uint64_t *)(c.bo.map + (rv_chain_task(&c, 1)->regcmd_addr - c.bo.iova));
	while ((uint16_t)*cmd != 0x4020)
		cmd++;
	*cmd = (*cmd & 0xffff00000000ffffull) | self->a.out.iova << 16;
	ASSERT_EQ(0, rv_sync(&c.bo, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c.bo.size));
	EXPECT_EQ(-EFAULT, rv_chain_run(&c, 5));
	rv_chain_fini(&c);
	close(fd);
}

RK_HARNESS_MAIN
