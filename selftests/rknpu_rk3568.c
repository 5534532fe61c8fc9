// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chips with one core. An RK3568: programs counted by single commands, buffers and page tables below 4 GiB, what its IOMMU
 * wants of kernels that do not know it, and what is not written to its registers. An RK3562 and an RV1126B: their numbers.
 * Programs are copies by the DPU.
 *
 * A part of the RK3568's memory is above 4 GiB, where kernels look first. Unlike the RK3588, 6.1 has drivers for all of it.
 * boot: rk3568 OLD --dt vendor --model soc=rk3568 --model npu-iommu=1 --qemu-arg -m --qemu-arg 3G
 * boot: rk3568v2 LONG --dt vendor --model soc=rk3568
 * boot: supply68
 * boot: rk3562 --dt vendor --model soc=rk3562
 * boot: rv1126b --dt vendor --model soc=rv1126b
 */
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_rk3576_copy.h"
#include "rknpu_vendor_util.h"

#define TASKS		2
/* Each has its program, what it reads and where it writes. */
#define PROGRAM		0x400
#define FROM		0x800
#define TO		0xc00
#define BYTES		256
#define POOLED		(BYTES / 4)
#define STEP		RK_PAGE
#define BIG		(128u << 20)
#define DUMPS		"/sys/class/devcoredump/devcd*/data"

#define PC_AMOUNTS	0x0014
#define PC_INT_MASK	0x0020
#define FETCH_ERROR	0x10000
#define PC_TASK_CON	0x0030
#define PC_DMA_BASE	0x0034
#define CNA_S_POINTER	0x1004
#define WORD(target, value, reg)	((uint64_t)(target) << 48 | (uint64_t)(value) << 16 | (reg))

#define COUNT(rows)	(sizeof(rows) / sizeof((rows)[0]))

/* 4x4 positions of 16 channels. */
#define POSITIONS	16
static const struct rk_word copy_rk3568[] = {
	{ 0x4004, 0xe }, { 0x5004, 0xe }, { 0x400c, 0x109 }, { 0x4010, 0 }, { 0x4024, BYTES / 2 }, { 0x4030, 3 },
	{ 0x4034, 3 }, { 0x4038, 0 }, { 0x403c, 0xf000f }, { 0x4040, 0x53 }, { 0x4050, 2 }, { 0x4060, 0x53 },
	{ 0x4070, 0x383 }, { 0x4078, 1 }, { 0x4080, 0 }, { 0x4084, 1 }, { 0x4088, 0 }, { 0x40c0, BYTES / 2 },
	{ 0x500c, 3 }, { 0x5010, 3 }, { 0x5014, 15 }, { 0x501c, 1 }, { 0x5028, 1 }, { 0x5034, 1 },
	{ 0x5044, 0x4001 },
};

#define LEAST		0x80000000
#define MOST		0x7fffffff
static const struct rk_word copy_rk3562[] = {
	{ 0x4004, 0xe }, { 0x5004, 0xe }, { 0x400c, 0x1e5 }, { 0x4010, 0 }, { 0x401c, POSITIONS }, { 0x4020, 3 },
	{ 0x4024, 3 }, { 0x4028, 0 }, { 0x402c, 15 }, { 0x4030, 0xf0003 }, { 0x4034, 0x30003 }, { 0x4038, 0x53 },
	{ 0x4048, LEAST }, { 0x404c, MOST }, { 0x4050, 2 }, { 0x4054, 0 }, { 0x4058, LEAST }, { 0x405c, MOST },
	{ 0x4060, 0x13 }, { 0x406c, LEAST }, { 0x4070, MOST }, { 0x4074, LEAST }, { 0x4078, MOST },
	{ 0x407c, 0x10041c1 }, { 0x4080, 0 }, { 0x4084, 1 }, { 0x4088, LEAST }, { 0x408c, MOST }, { 0x40a4, LEAST },
	{ 0x40a8, MOST }, { 0x40ac, 0 }, { 0x40b0, 0x10001 }, { 0x40b4, 0 }, { 0x40b8, POSITIONS },
	{ 0x40c0, 0x4440002 }, { 0x40c8, 0 }, { 0x40cc, 0 }, { 0x500c, 3 }, { 0x5010, 3 }, { 0x5014, 15 },
	{ 0x501c, 0 }, { 0x5028, 0 }, { 0x5034, 1 }, { 0x5044, 0x7809 }, { 0x5048, 0 }, { 0x504c, 0 }, { 0x5078, 0 },
	{ 0x8028, 0xc }, { 0x802c, 0xffffffff },
};

/* The largest of two by two of them. */
static const struct rk_word pool_rk3568[] = {
	{ 0x6004, 0xe }, { 0x7004, 0xe }, { 0x600c, 3 }, { 0x6010, 3 }, { 0x6014, 15 }, { 0x6018, 1 }, { 0x601c, 1 },
	{ 0x6020, 15 }, { 0x6024, 0x11 }, { 0x6034, 0x110101 }, { 0x607c, POOLED / 2 }, { 0x6084, POOLED / 2 },
	{ 0x60dc, 3 }, { 0x700c, 3 }, { 0x7010, 3 }, { 0x7014, 15 }, { 0x7018, 1 }, { 0x7024, 32 },
	{ 0x7028, BYTES / 2 },
};

static const struct rk_word pool_rk3562[] = {
	{ 0x6004, 0xe }, { 0x7004, 0xe }, { 0x600c, 3 }, { 0x6010, 3 }, { 0x6014, 15 }, { 0x6018, 1 }, { 0x601c, 1 },
	{ 0x6020, 15 }, { 0x6024, 0x11 }, { 0x6034, 0x110101 }, { 0x607c, POOLED }, { 0x6084, POOLED },
	{ 0x60dc, 3 }, { 0x700c, 3 }, { 0x7010, 3 }, { 0x7014, 15 }, { 0x7024, 64 }, { 0x7028, BYTES },
	{ 0x7030, 0x40 },
};

static const struct rk_word pool_rv1126b[] = {
	{ 0x6004, 0xe }, { 0x7004, 0xe }, { 0x600c, 3 }, { 0x6010, 3 }, { 0x6014, 15 }, { 0x6018, 1 }, { 0x601c, 1 },
	{ 0x6020, 15 }, { 0x6024, 0x11 }, { 0x6034, 0x110101 }, { 0x607c, POOLED }, { 0x6084, POOLED }, { 0x700c, 3 },
	{ 0x7010, 3 }, { 0x7014, 15 }, { 0x7024, 64 }, { 0x7028, BYTES }, { 0x7030, 0x40 },
};

/* What differs; @to is the register that has the address of a copy's result. */
static const struct chip {
	unsigned int soc, version;
	const struct rk_word *copy, *pool;
	uint32_t copy_words, pool_words;
	uint16_t to;
	uint32_t atom, per_amount;
	uint32_t conv, task_con;
	uint32_t fetch_error;
	bool silent_pool, in_reach, no_dma_base;
	const char *refusal;
} chips[] = {
	{
		3568, 0, copy_rk3568, pool_rk3568, COUNT(copy_rk3568), COUNT(pool_rk3568), 0x4020, 8, 1, 0x1f,
		0x7001, FETCH_ERROR, true, true, true, "fetches of the CNA",
	}, {
		3562, 0x54524549, copy_rk3562, pool_rk3562, COUNT(copy_rk3562), COUNT(pool_rk3562), 0x4018, 16, 2,
		0x1d, 0x70001, 0, false, false, false, "words of the CNA that nobody has seen",
	}, {
		1126, 0, copy_rk3576, pool_rv1126b, COUNT(copy_rk3576), COUNT(pool_rv1126b), 0x4018, 16, 2,
		0x1d, 0x70001, 0, false, false, false, "CORE mode",
	},
}, *chip;

#define TAIL		4u
/* What REGISTER_AMOUNTS can tell. */
#define MOST_AMOUNTS	65536u

static uint32_t words(void)
{
	return chip->copy_words + 2 + TAIL;
}

/* REGISTER_AMOUNTS of @n commands. */
static uint32_t amount(uint32_t n)
{
	return (n + chip->per_amount - 1) / chip->per_amount - 1;
}

static uint64_t command(uint16_t reg, uint32_t value)
{
	static const uint16_t target[] = { [4] = 0x1001, [5] = 0x2001, [6] = 0x4001, [7] = 0x8001, [8] = 0x0401 };

	return WORD(target[reg >> 12], value, reg);
}

/* What ends a program that goes on with @next, or with nothing, at command @n of @p. */
static void write_tail(uint64_t *p, uint32_t n, uint64_t next, uint32_t enable)
{
	p[n++] = WORD(0x0101, next, PC_BASE_ADDRESS);
	p[n++] = WORD(0x0101, next ? amount(words()) : 0, PC_AMOUNTS);
	p[n++] = WORD(0x0041, 0, 0);
	p[n++] = WORD(0x0081, enable, 0x8);
}

/* In memory at @map, which the NPU has at @iova; @next is the next program, or 0. */
static void write_copy(uint8_t *map, uint64_t iova, uint64_t next)
{
	uint64_t *p = (uint64_t *)(map + PROGRAM);
	uint32_t n = 0;

	for (uint32_t i = 0; i < chip->copy_words; i++)
		p[n++] = command(chip->copy[i].reg, chip->copy[i].value);
	p[n++] = command(chip->to, iova + TO);
	p[n++] = command(0x5018, iova + FROM);
	write_tail(p, n, next, 0x18);
}

/* Of the length of a copy, which follows. */
static void write_pool(uint8_t *map, uint64_t iova, uint64_t next)
{
	uint64_t *p = (uint64_t *)(map + PROGRAM);
	uint32_t n = 0;

	for (uint32_t i = 0; i < chip->pool_words; i++)
		p[n++] = command(chip->pool[i].reg, chip->pool[i].value);
	p[n++] = command(0x6070, iova + TO);
	p[n++] = command(0x701c, iova + FROM);
	while (n < words() - TAIL)
		p[n++] = 0;
	write_tail(p, n, next, 0x60);
}

/* How many bytes of the pooling are the largest of their four. */
static unsigned int pooled(const uint8_t *map)
{
	const int8_t *from = (const int8_t *)map + FROM, *to = (const int8_t *)map + TO;
	unsigned int right = 0;

	for (uint32_t i = 0; i < POOLED; i++) {
		uint32_t a = chip->atom, surface = i / (4 * a), y = i / (2 * a) % 2, x = i / a % 2;
		const int8_t *p = from + (surface * POSITIONS + y * 8 + x * 2) * a + i % a;
		int8_t most = p[0];

		for (uint32_t k = 1; k < 4; k++)
			most = p[(k / 2 * 4 + k % 2) * a] > most ? p[(k / 2 * 4 + k % 2) * a] : most;
		right += to[i] == most;
	}
	return right;
}

static void write_chain(uint8_t *map, uint64_t iova, int seed)
{
	for (int t = 0; t < TASKS; t++) {
		uint8_t *at = map + t * STEP;

		write_copy(at, iova + t * STEP, t < TASKS - 1 ? iova + (t + 1) * STEP + PROGRAM : 0);
		for (int i = 0; i < BYTES; i++) {
			at[FROM + i] = i * 7 + t + seed;
			at[TO + i] = 0x5a;
		}
	}
}

/* Tasks whose bytes have arrived. */
static int copied(const uint8_t *map)
{
	int done = 0;

	for (int t = 0; t < TASKS; t++)
		done += !memcmp(map + t * STEP + FROM, map + t * STEP + TO, BYTES);
	return done;
}

FIXTURE(rk3568) {
	int fd;
	struct rk_bo bo;
	struct drm_rocket_task tasks[TASKS];
};

FIXTURE_SETUP(rk3568)
{
	RK_OPEN_OR_SKIP(self->fd);
	for (uint32_t i = 0; i < COUNT(chips); i++) {
		if (rk_ours() && rk_param(self->fd, DRM_ROCKET_PARAM_SOC) == chips[i].soc)
			chip = &chips[i];
	}
	if (!chip)
		SKIP(return, "not a chip with one core");
	ASSERT_EQ(0, rk_bo_init(&self->bo, self->fd, TASKS * STEP));
	write_chain(self->bo.map, self->bo.iova, 1);
	ASSERT_EQ(0, rk_fini(&self->bo));
	for (int t = 0; t < TASKS; t++) {
		self->tasks[t].regcmd = self->bo.iova + t * STEP + PROGRAM;
		self->tasks[t].regcmd_count = words();
	}
}

FIXTURE_TEARDOWN(rk3568)
{
	rk_model_calm();
	rk_bo_fini(&self->bo);
	close(self->fd);
}

/* Tasks from @first on, in one kick. */
static int run(const FIXTURE_DATA(rk3568) *self, uint32_t first, uint32_t n, struct drm_rocket_wait_job *w)
{
	struct drm_rocket_job_ext job;
	uint64_t id;
	int ret;

	rk_job_ext(&job, self->tasks + first, n, &self->bo, &self->bo);
	job.in_bo_handle_count = 0;
	if (n > 1)
		job.flags |= DRM_ROCKET_JOB_BATCHED;
	ret = rk_submit_ext(self->fd, &job, 1, &id);
	if (!ret)
		ret = rk_wait_job(self->fd, id, rk_now() + 25000 * RK_MS, w);
	if (ret)
		return ret;
	/* Tells of an error once. */
	ret = rk_prep(&self->bo, 10000);
	return w->error ? w->error : ret;
}

/* A copy to where nothing is. */
static int copy_to_nowhere(FIXTURE_DATA(rk3568) *self, uint64_t iova)
{
	uint8_t *last = self->bo.map + (TASKS - 1) * STEP;
	struct drm_rocket_wait_job w;

	write_copy(last, self->bo.iova + (TASKS - 1) * STEP, 0);
	((uint64_t *)(last + PROGRAM))[chip->copy_words] = command(chip->to, iova);
	return rk_fini(&self->bo) ?: run(self, TASKS - 1, 1, &w);
}

/* Of the core's registers, after rk_trace_last(): was it ever written with one of @bits? */
static bool was_written(uint32_t offset, uint32_t bits)
{
	uint32_t entries = rk_ctl_read(NPU_CTL_TRACE_COUNT);

	for (uint32_t i = 0; i < entries; i++) {
		uint32_t info;

		rk_ctl_write(NPU_CTL_TRACE_INDEX, i);
		info = rk_ctl_read(NPU_CTL_TRACE_INFO);
		if (NPU_CTL_TRACE_UNIT(info) == NPU_CTL_UNIT_CORE && info & NPU_CTL_TRACE_WRITE &&
		    (rk_ctl_read(NPU_CTL_TRACE_ADDR) & 0xffff) == offset && rk_ctl_read(NPU_CTL_TRACE_VALUE) & bits)
			return true;
	}
	return false;
}

RK_TEST_F(rk3568, is_described, "one core, and the version that boards read or the runtime expects")
{
	struct drm_rocket_get_param p = { .param = DRM_ROCKET_PARAM_HW_VERSION };

	EXPECT_EQ(1, rk_param(self->fd, DRM_ROCKET_PARAM_CORE_COUNT));
	EXPECT_EQ(1, rk_param(self->fd, DRM_ROCKET_PARAM_CORE_MASK));
	RK_REQUIRE_MODEL();
	EXPECT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_ROCKET_GET_PARAM, &p));
	EXPECT_EQ(chip->version, p.value);
}

RK_TEST_F(rk3568, bytes_are_copied, "a program with an odd number of commands is read to its end, and copies")
{
	struct drm_rocket_wait_job w;
	uint32_t value;

	ASSERT_EQ(1, words() % 2);
	rk_trace_start();
	ASSERT_EQ(0, run(self, TASKS - 1, 1, &w));
	EXPECT_EQ(1, copied(self->bo.map));
	RK_REQUIRE_MODEL();
	ASSERT_TRUE(rk_trace_last(PC_AMOUNTS, &value));
	EXPECT_EQ(amount(words()), value);
	ASSERT_TRUE(rk_trace_last(PC_TASK_CON, &value));
	EXPECT_EQ(chip->task_con, value);
	/* A fetch that fails would interrupt. */
	if (chip->fetch_error)
		EXPECT_TRUE(was_written(PC_INT_MASK, chip->fetch_error));
	ASSERT_TRUE(rk_trace_last(CNA_S_POINTER, &value));
	EXPECT_EQ(0xe, value);
}

RK_TEST_F(rk3568, chain_is_one_kick, "two chained programs copy, and one interrupt tells of both")
{
	uint64_t irqs = rk_count(0, NPU_CNT_IRQ), kicks = rk_count(0, NPU_CNT_KICK);
	struct drm_rocket_wait_job w;

	ASSERT_EQ(0, run(self, 0, TASKS, &w));
	EXPECT_EQ(TASKS, w.task);
	EXPECT_EQ(TASKS, copied(self->bo.map));
	RK_REQUIRE_MODEL();
	EXPECT_EQ(kicks + 1, rk_count(0, NPU_CNT_KICK));
	EXPECT_EQ(irqs + 1, rk_count(0, NPU_CNT_IRQ));
}

RK_TEST_F(rk3568, pooling_is_silent, "a pooling before a copy is right, without an interrupt of its own, and one alone ends")
{
	uint64_t irqs = rk_count(0, NPU_CNT_IRQ);
	struct drm_rocket_wait_job w;

	write_pool(self->bo.map, self->bo.iova, self->bo.iova + STEP + PROGRAM);
	ASSERT_EQ(0, rk_fini(&self->bo));
	ASSERT_EQ(0, run(self, 0, TASKS, &w));
	EXPECT_EQ(POOLED, pooled(self->bo.map));
	EXPECT_EQ(1, copied(self->bo.map));
	RK_REQUIRE_MODEL();
	/* Of the others it is not known. */
	if (chip->silent_pool)
		EXPECT_EQ(irqs + 1, rk_count(0, NPU_CNT_IRQ));
	write_pool(self->bo.map, self->bo.iova, 0);
	ASSERT_EQ(0, rk_fini(&self->bo));
	EXPECT_EQ(0, run(self, 0, 1, &w));
}

RK_TEST_F(rk3568, hang_is_recovered, "after a hang in a chain, and after a page fault, chains copy again")
{
	struct drm_rocket_wait_job w;

	RK_REQUIRE_MODEL();
	rk_fault_arm(0, NPU_FAULT_HANG, 1, 1);
	EXPECT_EQ(-ETIME, run(self, 0, TASKS, &w));
	EXPECT_EQ(1, w.task);
	EXPECT_EQ(-EFAULT, copy_to_nowhere(self, self->bo.iova + TASKS * STEP));
	write_chain(self->bo.map, self->bo.iova, 2);
	ASSERT_EQ(0, rk_fini(&self->bo));
	ASSERT_EQ(0, run(self, 0, TASKS, &w));
	EXPECT_EQ(TASKS, copied(self->bo.map));
}

RK_TEST_F(rk3568, wakes_up, "what is set in the IOMMU is set again when power comes back")
{
	struct drm_rocket_wait_job w;
	uint64_t ons = rk_count(0, NPU_CNT_POWER_ON);

	RK_REQUIRE_MODEL();
	RK_REQUIRE_POWER_DOMAINS();
	ASSERT_EQ(0, run(self, 0, TASKS, &w));
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_POWERED, 0, 10000));
	write_chain(self->bo.map, self->bo.iova, 3);
	ASSERT_EQ(0, rk_fini(&self->bo));
	ASSERT_EQ(0, run(self, 0, TASKS, &w));
	EXPECT_EQ(TASKS, copied(self->bo.map));
	EXPECT_LT(ons, rk_count(0, NPU_CNT_POWER_ON));
}

RK_TEST_F_TIMEOUT(rk3568, power_ends_what_no_reset_ends, 60,
		  "a hang that no reset ends is over once the power was off, every time, and the core is not lost")
{
	struct drm_rocket_wait_job w;

	RK_REQUIRE_MODEL();
	RK_REQUIRE_POWER_DOMAINS();
	rk_fault_arm(0, NPU_FAULT_RESET_STUCK, 0, 0);
	for (int i = 0; i < 10; i++) {
		/* In the first task it would not show, and be tried again. */
		rk_fault_arm(0, NPU_FAULT_HANG, 1, 1);
		ASSERT_EQ(-ETIME, run(self, 0, TASKS, &w)) TH_LOG("hang %d", i);
		ASSERT_EQ(0, run(self, 0, TASKS, &w)) TH_LOG("hang %d", i);
	}
	EXPECT_EQ(0, rk_core_stat(0, "retired"));
}

RK_TEST_F_TIMEOUT(rk3568, dies_while_it_idles, 60,
		  "a core that dies while it idles costs nothing, and the kernel does not warn of its IOMMU")
{
	static const uint32_t reads[] = { 0xffffffff, 0 };
	struct drm_rocket_wait_job w;
	int log = rk_log_open();

	RK_REQUIRE_MODEL();
	ASSERT_LE(0, log);
	for (int i = 0; i < 2; i++) {
		rk_stay_awake(true);
		ASSERT_EQ(0, run(self, 0, TASKS, &w));
		rk_fault_arm_param(0, NPU_FAULT_CORE_DEAD, 0, 0, reads[i]);
		rk_stay_awake(false);
		EXPECT_TRUE(rk_wait_asleep(20000));
		EXPECT_LE(1, rk_fault_fired());
		rk_model_calm();
		EXPECT_EQ(0, run(self, 0, TASKS, &w)) TH_LOG("reads %#x", reads[i]);
	}
	EXPECT_EQ(0, rk_core_stat(0, "retired"));
	EXPECT_FALSE(rk_log_says(log, "WARNING"));
	close(log);
}

/* The next dump that nobody has read, as text that is valid until the one after it; it is gone then. */
static const char *next_dump(unsigned int patience_ms)
{
	static char text[128 * 1024 + 1];
	FILE *f = NULL;
	glob_t g;

	for (unsigned int i = 0; i <= patience_ms && !f; i++) {
		rk_sleep_ms(!!i);
		if (glob(DUMPS, 0, NULL, &g))
			continue;
		f = fopen(g.gl_pathv[0], "re");
		if (f) {
			text[fread(text, 1, sizeof(text) - 1, f)] = 0;
			fclose(f);
			rk_write_file(g.gl_pathv[0], "1");
		}
		globfree(&g);
	}
	return f ? text : NULL;
}

RK_TEST_F(rk3568, memory_is_in_reach, "pages of BOs are below 4 GiB, where there is memory above")
{
	const char *dump;
	struct rk_bo big;
	int pages = 0;

	if (!chip->in_reach)
		SKIP(return, "this chip's IOMMU reaches all memory");
	/* More than bounce buffers have room for. */
	ASSERT_EQ(0, rk_bo_init(&big, self->fd, BIG));
	/* The kernel drops them a little later. */
	while (next_dump(0))
		;
	rk_sleep_ms(200);
	EXPECT_EQ(-EFAULT, copy_to_nowhere(self, big.iova + BIG));
	dump = next_dump(10000);
	ASSERT_NE(NULL, dump);
	for (dump = strstr(dump, "\npage 0x"); dump; dump = strstr(dump + 1, "\npage 0x")) {
		unsigned long long iova, at;

		if (sscanf(dump, " page %llx %llx", &iova, &at) != 2)
			continue;
		EXPECT_GT(1ULL << 32, at);
		pages++;
	}
	EXPECT_LT(0, pages);
	rk_bo_fini(&big);
}

RK_TEST_F(rk3568, unknown_program_is_refused, "the model refuses a convolution, and says so")
{
	uint64_t *p = (uint64_t *)(self->bo.map + (TASKS - 1) * STEP + PROGRAM);
	struct drm_rocket_wait_job w;
	char text[128];

	RK_REQUIRE_MODEL();
	p[words() - 1] = WORD(0x0081, chip->conv, 0x8);
	ASSERT_EQ(0, rk_fini(&self->bo));
	EXPECT_EQ(-ETIME, run(self, TASKS - 1, 1, &w));
	ASSERT_TRUE(rk_hang_reason(0, text, sizeof(text)));
	EXPECT_STREQ(chip->refusal, text);
}

/* A copy whose program is a page behind, and has @n commands, most of which do nothing. */
static void write_long(uint8_t *map, uint64_t iova, uint32_t n)
{
	write_chain(map, iova, 6);
	memset(map + STEP, 0, n * sizeof(uint64_t));
	memcpy(map + STEP, map + PROGRAM, (words() - TAIL) * sizeof(uint64_t));
	write_tail((uint64_t *)(map + STEP), n - TAIL, 0, 0x18);
}

static uint32_t long_size(uint32_t n)
{
	return 2 * STEP + n * sizeof(uint64_t);
}

static bool long_copied(const uint8_t *map)
{
	return !memcmp(map + FROM, map + TO, BYTES);
}

RK_TEST_F(rk3568, longest_program, "a program has as many commands as the register can tell, and no more")
{
	uint32_t most = rk_param(self->fd, DRM_ROCKET_PARAM_MAX_REGCMDS), value = 0;
	struct drm_rocket_wait_job w;

	EXPECT_EQ(MOST_AMOUNTS * chip->per_amount, most);
	rk_bo_fini(&self->bo);
	ASSERT_EQ(0, rk_bo_init(&self->bo, self->fd, long_size(most)));
	write_long(self->bo.map, self->bo.iova, most);
	ASSERT_EQ(0, rk_fini(&self->bo));
	self->tasks[0] = (struct drm_rocket_task) { .regcmd = self->bo.iova + STEP, .regcmd_count = most + 1 };
	EXPECT_EQ(-EINVAL, run(self, 0, 1, &w));
	self->tasks[0].regcmd_count = most;
	rk_trace_start();
	EXPECT_EQ(0, run(self, 0, 1, &w));
	EXPECT_TRUE(long_copied(self->bo.map));
	RK_REQUIRE_MODEL();
	ASSERT_TRUE(rk_trace_last(PC_AMOUNTS, &value));
	EXPECT_EQ(MOST_AMOUNTS - 1, value);
}

/* Runs @n programs of @bo, each at @first in its page, by the vendor's uAPI. */
static int run_vendor_words(struct rv_bo *bo, uint32_t n, uint32_t enable, uint32_t int_mask, uint32_t first,
			    uint32_t commands)
{
	struct drm_rknpu_submit s = {
		.flags = DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG, .timeout = 6000, .task_number = n,
		.fence_fd = -1,
		/* Which hangs the RK3568's bus, if it got there. */
		.task_base_addr = chip->no_dma_base ? 0x1000 : 0,
	};
	struct drm_rknpu_task *task;
	struct rv_bo tasks;
	int ret = rv_bo_init(&tasks, bo->fd, RK_PAGE, RV_FLAGS_TASK, 0);

	if (ret)
		return ret;
	task = (struct drm_rknpu_task *)tasks.map;
	for (uint32_t t = 0; t < n; t++) {
		task[t] = (struct drm_rknpu_task) {
			.op_idx = t, .enable_mask = enable, .int_mask = int_mask, .int_clear = 0x1ffff,
			.regcfg_amount = commands - RV_TASK_TAIL, .regcmd_addr = bo->iova + t * STEP + first,
		};
	}
	ret = rv_sync(bo, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, bo->size) ?:
	      rv_sync(&tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, tasks.size);
	s.task_obj_addr = tasks.obj;
	ret = ret ?: rv_submit(bo->fd, &s);
	ret = ret ?: rv_sync(bo, DRM_RKNPU_MEM_SYNC_FROM_DEVICE, 0, bo->size);
	rv_bo_fini(&tasks);
	return ret;
}

static int run_vendor(struct rv_bo *bo, uint32_t n, uint32_t enable, uint32_t int_mask)
{
	return run_vendor_words(bo, n, enable, int_mask, PROGRAM, words());
}

RK_TEST_F(rk3568, vendor_chain, "the vendor's uAPI copies, and leaves to programs what its own driver leaves to them")
{
	uint32_t value = 0;
	struct rv_bo bo;
	int fd = rv_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rv_bo_init(&bo, fd, TASKS * STEP, RV_FLAGS, 0));
	write_chain(bo.map, bo.iova, 4);
	rk_trace_start();
	ASSERT_EQ(0, run_vendor(&bo, TASKS, 0x18, RV_INT_DPU));
	EXPECT_EQ(TASKS, copied(bo.map));
	RK_REQUIRE_MODEL();
	EXPECT_FALSE(rk_trace_last(CNA_S_POINTER, &value));
	ASSERT_TRUE(rk_trace_last(PC_AMOUNTS, &value));
	EXPECT_EQ(amount(words()), value);
	ASSERT_TRUE(rk_trace_last(PC_DMA_BASE, &value));
	EXPECT_EQ(0, value);
	rv_bo_fini(&bo);
	close(fd);
}

RK_TEST_F(rk3568, vendor_pooling, "a submit of the vendor's uAPI may end in a pooling, which has an interrupt then")
{
	struct rv_bo bo;
	int fd = rv_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rv_bo_init(&bo, fd, TASKS * STEP, RV_FLAGS, 0));
	write_chain(bo.map, bo.iova, 5);
	write_pool(bo.map, bo.iova, 0);
	ASSERT_EQ(0, run_vendor(&bo, 1, 0x60, RV_INT_PPU));
	EXPECT_EQ(POOLED, pooled(bo.map));
	rv_bo_fini(&bo);
	close(fd);
}

RK_TEST_F(rk3568, vendor_longest_program, "by the vendor's uAPI a program has as many commands, with those that end it")
{
	uint32_t most = MOST_AMOUNTS * chip->per_amount, value = 0;
	struct rv_bo bo;
	int fd = rv_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rv_bo_init(&bo, fd, long_size(most), RV_FLAGS, 0));
	write_long(bo.map, bo.iova, most);
	EXPECT_EQ(-EINVAL, run_vendor_words(&bo, 1, 0x18, RV_INT_DPU, STEP, most + 1));
	rk_trace_start();
	EXPECT_EQ(0, run_vendor_words(&bo, 1, 0x18, RV_INT_DPU, STEP, most));
	EXPECT_TRUE(long_copied(bo.map));
	if (rk_model() && rk_trace_last(PC_AMOUNTS, &value))
		EXPECT_EQ(MOST_AMOUNTS - 1, value);
	rv_bo_fini(&bo);
	close(fd);
}

RK_HARNESS_MAIN
