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

#include <npu_prog.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define LOG_SIZE	8192
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

/* Changes a register in its program. */
static int change(struct rk_client *c, const struct drm_rocket_task *t, uint16_t reg,
		  uint32_t value)
{
	uint64_t *cmd = commands(c, t);

	for (uint32_t i = 0; i < t->regcmd_count; i++) {
		if ((uint16_t)cmd[i] != reg)
			continue;
		cmd[i] = (cmd[i] & 0xffff00000000ffffull) | (uint64_t)value << 16;
		return rk_fini(&c->inc.bo);
	}
	return -ENOENT;
}

/* The same in a program from @in to @out that is all right. */
static int poke(struct rk_client *c, struct drm_rocket_task *t, uint16_t reg, uint32_t value)
{
	int ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, t);

	return ret ? ret : change(c, t, reg, value);
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
	/* The same backwards, to below address 0. */
	ASSERT_EQ(0, poke(b, &t, 0x1080, 0x8000000));
	EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "CNA.FEATURE_DATA_ADDR"));
}

RK_TEST_F(noiommu, fetched_operands, "an operand that a program has fetched needs an address, one that is off does not")
{
	static const struct {
		const char *name;
		uint16_t reg;
		uint32_t value;
	} on[] = {
		{ "DPU_RDMA.SRC_BASE_ADDR", 0x5044, 0 }, { "DPU_RDMA.BS_BASE_ADDR", 0x5020, 0 },
		{ "DPU_RDMA.BN_BASE_ADDR", 0x5028, 1 << 1 }, { "DPU_RDMA.EW_BASE_ADDR", 0x5034, 0 },
	};
	struct rk_client *b = &self->b;
	struct drm_rocket_task t;

	for (size_t i = 0; i < sizeof(on) / sizeof(*on); i++) {
		ASSERT_EQ(0, poke(b, &t, on[i].reg, on[i].value));
		EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", on[i].name));
	}
	/* Disabled. */
	ASSERT_EQ(0, poke(b, &t, 0x5028, 1 << 1 | 1));
	ASSERT_EQ(0, rk_bo_fill(&b->in, 3, RK_BYTES));
	EXPECT_EQ(0, run_chain(b, &t, 1));
	EXPECT_EQ(0, rk_bo_differs(&b->out, 4, RK_BYTES));
}

RK_TEST_F(noiommu, blocks_enabled_one_by_one, "a register that starts a block is seen like the command that starts several")
{
	struct rk_client *b = &self->b;
	struct drm_rocket_task t;

	ASSERT_EQ(0, poke(b, &t, 0x4020, end_of(&b->out) - RK_BYTES + 16));
	commands(b, &t)[t.regcmd_count - 1] = (uint64_t)NPU_TGT_DPU << 48 | 1 << 16 | 0x4008;
	EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "DPU.DST_BASE_ADDR"));
	ASSERT_EQ(0, poke(b, &t, 0x1070, end_of(&b->in) - RK_BYTES + 16));
	commands(b, &t)[t.regcmd_count - 1] = (uint64_t)NPU_TGT_CNA << 48 | 1 << 16 | 0x1008;
	EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "CNA.FEATURE_DATA_ADDR"));
	/* Of no use, but harmless: in place of PC.BASE_ADDRESS. */
	ASSERT_EQ(0, rk_op_task(&b->inc, b->in.iova, b->out.iova, &t));
	commands(b, &t)[t.regcmd_count - 4] = (uint64_t)NPU_TGT_DPU << 48 | 0x4008;
	ASSERT_EQ(0, rk_fini(&b->inc.bo));
	ASSERT_EQ(0, rk_bo_fill(&b->in, 3, RK_BYTES));
	EXPECT_EQ(0, run_chain(b, &t, 1));
	EXPECT_EQ(0, rk_bo_differs(&b->out, 4, RK_BYTES));
}

/* Pools windows of one position, which copies: a surface of @pitch bytes for 16 bytes of channels. */
struct pool {
	uint32_t width, height, channels, notch, pitch, precision;
	uint64_t in, out;
};

static int pool_program(struct npu_prog *p, const struct pool *pool)
{
	const struct {
		enum npu_field_id field;
		uint64_t value;
		enum npu_reg_id reg;
	} set[] = {
		{ NPU_F_PPU_S_POINTER_POINTER_PP_EN, 1, NPU_R_PPU_S_POINTER },
		{ NPU_F_PPU_RDMA_S_POINTER_POINTER_PP_EN, 1, NPU_R_PPU_RDMA_S_POINTER },
		{ NPU_F_PPU_DATA_CUBE_IN_WIDTH_WIDTH, pool->width, NPU_R_PPU_DATA_CUBE_IN_WIDTH },
		{ NPU_F_PPU_DATA_CUBE_IN_HEIGHT_HEIGHT, pool->height,
		  NPU_R_PPU_DATA_CUBE_IN_HEIGHT },
		{ NPU_F_PPU_DATA_CUBE_IN_CHANNEL_CHANNEL, pool->channels,
		  NPU_R_PPU_DATA_CUBE_IN_CHANNEL },
		{ NPU_F_PPU_DATA_CUBE_OUT_WIDTH_WIDTH, pool->width,
		  NPU_R_PPU_DATA_CUBE_OUT_WIDTH },
		{ NPU_F_PPU_DATA_CUBE_OUT_HEIGHT_HEIGHT, pool->height,
		  NPU_R_PPU_DATA_CUBE_OUT_HEIGHT },
		{ NPU_F_PPU_DATA_CUBE_OUT_CHANNEL_CHANNEL, pool->channels,
		  NPU_R_PPU_DATA_CUBE_OUT_CHANNEL },
		/* The largest of each window, from PPU_RDMA. */
		{ NPU_F_PPU_OPERATION_MODE_CFG_POOLING_METHOD, 1, NPU_R_COUNT },
		{ NPU_F_PPU_OPERATION_MODE_CFG_FLYING_MODE, 1, NPU_R_COUNT },
		{ NPU_F_PPU_OPERATION_MODE_CFG_NOTCH, pool->notch,
		  NPU_R_PPU_OPERATION_MODE_CFG },
		{ NPU_F_PPU_POOLING_KERNEL_CFG_KERNEL_WIDTH, 1, NPU_R_COUNT },
		{ NPU_F_PPU_POOLING_KERNEL_CFG_KERNEL_HEIGHT, 1, NPU_R_COUNT },
		{ NPU_F_PPU_POOLING_KERNEL_CFG_STRIDE_WIDTH, 1, NPU_R_COUNT },
		{ NPU_F_PPU_POOLING_KERNEL_CFG_STRIDE_HEIGHT, 1, NPU_R_PPU_POOLING_KERNEL_CFG },
		{ NPU_F_PPU_DST_BASE_ADDR_IOVA, pool->out, NPU_R_PPU_DST_BASE_ADDR },
		{ NPU_F_PPU_DST_SURF_STRIDE_BYTES, pool->pitch, NPU_R_PPU_DST_SURF_STRIDE },
		{ NPU_F_PPU_DATA_FORMAT_PROC_PRECISION, pool->precision, NPU_R_PPU_DATA_FORMAT },
		{ NPU_F_PPU_MISC_CTRL_BURST_LEN, 3, NPU_R_PPU_MISC_CTRL },
		{ NPU_F_PPU_RDMA_CUBE_IN_WIDTH_WIDTH, pool->width, NPU_R_PPU_RDMA_CUBE_IN_WIDTH },
		{ NPU_F_PPU_RDMA_CUBE_IN_HEIGHT_HEIGHT, pool->height,
		  NPU_R_PPU_RDMA_CUBE_IN_HEIGHT },
		{ NPU_F_PPU_RDMA_CUBE_IN_CHANNEL_CHANNEL, pool->channels,
		  NPU_R_PPU_RDMA_CUBE_IN_CHANNEL },
		{ NPU_F_PPU_RDMA_SRC_BASE_ADDR_IOVA, pool->in, NPU_R_PPU_RDMA_SRC_BASE_ADDR },
		{ NPU_F_PPU_RDMA_SRC_LINE_STRIDE_BYTES, pool->width * 16,
		  NPU_R_PPU_RDMA_SRC_LINE_STRIDE },
		{ NPU_F_PPU_RDMA_SRC_SURF_STRIDE_BYTES, pool->width * pool->height * 16,
		  NPU_R_PPU_RDMA_SRC_SURF_STRIDE },
		{ NPU_F_PPU_RDMA_DATA_FORMAT_IN_PRECISION, 2, NPU_R_PPU_RDMA_DATA_FORMAT },
	};

	for (size_t i = 0; i < sizeof(set) / sizeof(*set); i++) {
		npu_prog_field(p, set[i].field, set[i].value);
		if (set[i].reg != NPU_R_COUNT)
			npu_prog_emit(p, set[i].reg);
	}
	return npu_prog_finish(p, NPU_EN_PPU | NPU_EN_PPU_RDMA);
}

static int pool_task(struct rk_client *c, const struct pool *pool, struct drm_rocket_task *t)
{
	struct npu_prog *p = npu_prog_new();
	int ret = p ? pool_program(p, pool) : -ENOMEM;

	/* In place of the client's own one, which is longer. */
	ret = ret ? ret : rk_op_task(&c->inc, c->in.iova, c->out.iova, t);
	if (!ret && npu_prog_count(p) > t->regcmd_count)
		ret = -ENOSPC;
	if (!ret) {
		t->regcmd_count = npu_prog_count(p);
		memcpy(commands(c, t), npu_prog_entries(p), t->regcmd_count * sizeof(uint64_t));
		ret = rk_fini(&c->inc.bo);
	}
	npu_prog_free(p);
	return ret;
}

RK_TEST_F(noiommu, pooled_output, "all that pooling writes must be in a BO, and where it reads from")
{
	struct rk_client *b = &self->b;
	const uint64_t at = end_of(&b->out) - RK_BYTES;
	/* 4 positions of 32 channels. */
	const struct pool fits = { 2, 2, 32, 0, 64, NPU_PREC_INT8, b->in.iova, at };
	const struct pool beyond[] = {
		{ 3, 2, 32, 0, 64, NPU_PREC_INT8, b->in.iova, at },
		{ 2, 3, 32, 0, 64, NPU_PREC_INT8, b->in.iova, at },
		{ 2, 2, 33, 0, 64, NPU_PREC_INT8, b->in.iova, at },
		{ 2, 2, 32, 1, 64, NPU_PREC_INT8, b->in.iova, at },
		{ 2, 2, 32, 0, 80, NPU_PREC_INT8, b->in.iova, at },
		{ 2, 2, 32, 0, 64, NPU_PREC_FP16, b->in.iova, at },
		{ 2, 2, 32, 0, 64, NPU_PREC_INT8, b->in.iova, at + 16 },
		{ 2, 2, 32, 0, 64, NPU_PREC_INT8, b->in.iova, 0 },
	};
	const struct pool from_nowhere = { 2, 2, 32, 0, 64, NPU_PREC_INT8, 0, at };
	struct drm_rocket_task t;

	ASSERT_EQ(0, rk_bo_fill(&b->in, 0x39, RK_BYTES));
	memset(b->out.map, 0, at - b->out.iova + RK_BYTES);
	ASSERT_EQ(0, pool_task(b, &fits, &t));
	EXPECT_EQ(0, run_chain(b, &t, 1));
	for (size_t i = 0; i < RK_BYTES; i++)
		ASSERT_EQ(0x39, b->out.map[at - b->out.iova + i]);
	for (size_t i = 0; i < sizeof(beyond) / sizeof(*beyond); i++) {
		ASSERT_EQ(0, pool_task(b, &beyond[i], &t));
		EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "PPU.DST_BASE_ADDR")) {
			printf("# case %zu\n", i);
		}
	}
	ASSERT_EQ(0, pool_task(b, &from_nowhere, &t));
	EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "PPU_RDMA.SRC_BASE_ADDR"));
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

RK_TEST_F(noiommu, each_task_is_checked, "of tasks that are no chain, too, each is looked at")
{
	struct drm_rocket_task t[2];
	struct drm_rocket_job_ext job;
	struct rk_client *b = &self->b;

	for (int bad = 0; bad < 2; bad++) {
		for (int i = 0; i < 2; i++)
			ASSERT_EQ(0, rk_op_task(&b->inc, b->in.iova,
						i == bad ? self->a.out.iova : b->out.iova, &t[i]));
		rk_job_ext(&job, t, 2, &b->in, &b->out);
		EXPECT_EQ(-EFAULT, rk_submit_ext(b->fd, &job, 1, NULL));
	}
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
	int fd = scattered_dmabuf(), vendor;

	if (fd < 0)
		SKIP(return, "no /dev/udmabuf");
	EXPECT_EQ(-1, drmPrimeFDToHandle(self->a.fd, fd, &handle));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_TRUE(says(self->log, "import", "contiguous"));
	vendor = rv_open();
	if (vendor >= 0) {
		EXPECT_EQ(-1, drmPrimeFDToHandle(vendor, fd, &handle));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_TRUE(says(self->log, "import", "contiguous"));
		close(vendor);
	}
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

RK_TEST_F(noiommu, program_in_foreign_memory, "a program that another driver's memory holds cannot be checked, and is refused")
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
	memcpy(map, commands(b, &t), t.regcmd_count * sizeof(uint64_t));
	t.regcmd = info.dma_address;
	EXPECT_EQ(-EFAULT, told(self, &t, 1, "task 0:", "program to be read"));
	EXPECT_EQ(0, rk_client_run(b, 2));
	EXPECT_EQ(0, rk_gem_close(b->fd, info.handle));
	munmap(map, RK_PAGE);
	close(fd);
}

RK_TEST_F(noiommu, vendor_is_checked, "jobs of the vendor's uAPI run, and are refused alike")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;
	uint64_t *cmd;
	uint32_t value;
	int fd = rv_open(), next;

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
	/* There is no job, and no fence of it. */
	next = dup(fd);
	close(next);
	rv_chain_submit(&c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	EXPECT_EQ(-EFAULT, rv_submit(fd, &s));
	EXPECT_EQ(next, dup(fd));
	close(next);
	rv_chain_fini(&c);
	close(fd);
}

RK_HARNESS_MAIN
