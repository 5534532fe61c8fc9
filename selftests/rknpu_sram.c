// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a client leaves in a core's memories, CBUF and the tables of the LUT, is
 * out of the next one's reach, however that one asks for it; and what the driver
 * does about it costs only when the client on a core changes.
 *
 * boot: jobs
 * boot: dt
 * boot: noiommujob
 * boot: debug-main
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define CORE		0u
#define TIMEOUT_MS	10000
/* Of jobs that hang as they must. */
#define HANG_MS		60
#define ROUNDS		20

#define CBUF_CON0	0x1040u
#define WEIGHT_REUSE	(1u << 13)
#define DATA_REUSE	(1u << 12)
#define UNTOUCHED	0x5a

/* ---- products of bytes that are all the same ---- */

struct shape {
	uint32_t m, n, k;
};

/* One bank of feature data and one of weights; then 11 of either. */
static const struct shape small = { 4, RK_CHANNELS, 32 };
static const struct shape eleven_of_data = { 352, RK_CHANNELS, 1024 };
static const struct shape eleven_of_weights = { 1, RK_CHANNELS, 11264 };

struct work {
	int fd;
	struct rk_bo in, weights, out, prog;
	uint32_t out_bytes;
	struct drm_rocket_task task;
	uint64_t timeout_ns;
};

static void work_fini(struct work *w)
{
	rk_bo_fini(&w->in);
	rk_bo_fini(&w->weights);
	rk_bo_fini(&w->out);
	rk_bo_fini(&w->prog);
}

static uint32_t pages(uint32_t bytes)
{
	return (bytes + RK_PAGE - 1) & ~(RK_PAGE - 1);
}

static int work_init(struct work *w, int fd, uint32_t in, uint32_t weights, uint32_t out)
{
	int ret;

	memset(w, 0, sizeof(*w));
	w->fd = fd;
	w->out_bytes = out;
	ret = rk_bo_init(&w->in, fd, pages(in));
	if (!ret)
		ret = rk_bo_init(&w->weights, fd, pages(weights));
	if (!ret)
		ret = rk_bo_init(&w->out, fd, pages(out));
	return ret ? ret : rk_bo_init(&w->prog, fd, 4 * RK_PAGE);
}

static int work_program(struct work *w, const uint64_t *entries, uint32_t count)
{
	if (count * sizeof(*entries) > w->prog.size)
		return -ENOSPC;
	memcpy(w->prog.map, entries, count * sizeof(*entries));
	w->task = (struct drm_rocket_task) { .regcmd = w->prog.iova, .regcmd_count = count };
	return rk_fini(&w->prog);
}

static void set_bits(uint64_t *entries, uint32_t count, uint32_t reg, uint32_t bits)
{
	for (uint32_t i = 0; i < count; i++)
		if ((entries[i] & 0xffff) == reg && entries[i] >> 48)
			entries[i] |= (uint64_t)bits << 16;
}

/* What is @reuse of its operands comes from CBUF, whatever memory has. */
static int product_init(struct work *w, int fd, const struct shape *s, int in, int weight,
			uint32_t reuse)
{
	struct rk_product p = { .m = s->m, .k = s->k };
	uint64_t entries[RK_PROGRAM_ENTRIES];
	int ret = work_init(w, fd, s->m * s->k, s->n * s->k, s->m * s->n);

	if (!ret)
		ret = rk_bo_fill(&w->in, in, s->m * s->k);
	if (!ret)
		ret = rk_bo_fill(&w->weights, weight, s->n * s->k);
	if (ret)
		return ret;
	p.in = w->in.iova;
	p.weights = w->weights.iova;
	p.out = w->out.iova;
	rk_program(entries, &p);
	set_bits(entries, RK_PROGRAM_ENTRIES, CBUF_CON0, reuse);
	return work_program(w, entries, RK_PROGRAM_ENTRIES);
}

/* How it ended: 0, or the error of the job or of an ioctl. */
static int work_run(struct work *w)
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job wait;
	uint64_t id;
	int ret;

	ret = rk_bo_fill(&w->out, UNTOUCHED, w->out_bytes);
	rk_job_ext(&job, &w->task, 1, &w->in, &w->out);
	job.core_mask = 1u << CORE;
	job.timeout_ns = w->timeout_ns;
	if (!ret)
		ret = rk_submit_ext(w->fd, &job, 1, &id);
	if (!ret)
		ret = rk_wait_job(w->fd, id, rk_now() + TIMEOUT_MS * rk_slow() * RK_MS, &wait);
	return ret ? ret : wait.error;
}

/* Bytes of the output that are not 0, or a negative errno. */
static long work_loot(struct work *w)
{
	int ret = work_run(w);
	long n;

	if (ret)
		return ret;
	n = rk_bo_differs(&w->out, 0, w->out_bytes);
	return n;
}

static int run_product(int fd, const struct shape *s, int in, int weight)
{
	struct work w;
	int ret = product_init(&w, fd, s, in, weight, 0);

	if (!ret)
		ret = work_run(&w);
	work_fini(&w);
	return ret;
}

/* What a product of zeros is, where @reuse says that CBUF has one of the operands. */
static long steal_product(int fd, const struct shape *s, uint32_t reuse)
{
	int in = reuse & DATA_REUSE ? 0 : 1, weight = reuse & WEIGHT_REUSE ? 0 : 1;
	struct work w;
	long ret = product_init(&w, fd, s, in, weight, reuse);

	if (!ret)
		ret = work_loot(&w);
	work_fini(&w);
	return ret;
}

/* ---- a DPU that looks halves up in both tables ---- */

#define LUT_ENTRIES	513
/* As many for 1.0, which is what every input becomes. */
#define LUT_ONE		2048u
#define LUT_BYTES	16u

static uint64_t command(uint32_t reg, uint32_t value)
{
	return ((uint64_t)(0x100u << (reg >> 12) | 1) << 48) | (uint64_t)value << 16 | reg;
}

static uint32_t put_tables(uint64_t *e)
{
	uint32_t n = 0;

	for (uint32_t table = 0; table < 2; table++) {
		e[n++] = command(0x4100, 1u << 17 | table << 16);
		for (int i = 0; i < LUT_ENTRIES; i++)
			e[n++] = command(0x4104, LUT_ONE);
	}
	return n;
}

static uint32_t put_lookup(uint64_t *e, uint64_t in, uint64_t out)
{
	const struct {
		uint16_t reg;
		uint32_t value;
	} body[] = {
		{ 0x4004, 0xe }, { 0x5004, 0xe }, { 0x400c, 0x1e5 }, { 0x4010, 0x48000002 },
		{ 0x4020, out }, { 0x4024, 16 }, { 0x4030, 0 }, { 0x4034, 0 },
		{ 0x403c, 7 << 16 | 7 }, { 0x4040, 0x53 }, { 0x4050, 2 }, { 0x4058, 7 },
		{ 0x405c, 0 }, { 0x4060, 0x20040 }, { 0x4064, 0x80000000 }, { 0x4068, 0x64000000 },
		{ 0x4070, 0x302 }, { 0x4080, 0 }, { 0x4084, 0x10001 }, { 0x4088, 0x8000a000 },
		{ 0x40c0, 16 }, { 0x4108, 0x68 }, { 0x410c, 0x50500 }, { 0x4110, 0xffffc000 },
		{ 0x4114, 0 }, { 0x4118, 0 }, { 0x411c, 0x4000 }, { 0x4120, 0 }, { 0x4124, 0 },
		{ 0x4128, 0 }, { 0x412c, 0 }, { 0x500c, 0 }, { 0x5010, 0 }, { 0x5014, 7 },
		{ 0x5018, in }, { 0x5034, 1 }, { 0x5044, 0x17849 },
	};
	uint32_t n = 0;

	for (size_t i = 0; i < sizeof(body) / sizeof(body[0]); i++)
		e[n++] = command(body[i].reg, body[i].value);
	e[n++] = 0x0041ull << 48;
	e[n++] = 0x0081ull << 48 | 0x18 << 16 | 8;
	return n;
}

static long look_up(int fd, bool tables)
{
	uint64_t e[2 * (LUT_ENTRIES + 1) + 64];
	uint32_t n = tables ? put_tables(e) : 0;
	struct work w;
	long ret = work_init(&w, fd, LUT_BYTES, RK_PAGE, LUT_BYTES);

	if (!ret)
		ret = rk_bo_fill(&w.in, 0, LUT_BYTES);
	n += put_lookup(e + n, w.in.iova, w.out.iova);
	if (!ret)
		ret = work_program(&w, e, n);
	if (!ret)
		ret = work_loot(&w);
	work_fini(&w);
	return ret;
}

/* ---- cases ---- */

FIXTURE(sram) {
	int a;
	int b;
};

FIXTURE_SETUP(sram)
{
	RK_OPEN_OR_SKIP(self->a);
	RK_REQUIRE_SCHED(self->a);
	self->b = rk_open();
	ASSERT_LE(0, self->b);
	/* What the power takes with it nobody can steal. */
	rk_stay_awake(true);
}

FIXTURE_TEARDOWN(sram)
{
	rk_model_calm();
	rk_stay_awake(false);
	close(self->a);
	close(self->b);
}

RK_TEST_F(sram, weights, "a first task with WEIGHT_REUSE gets none of another client's weights")
{
	ASSERT_EQ(0, run_product(self->a, &small, 1, 3));
	EXPECT_EQ(0, steal_product(self->b, &small, WEIGHT_REUSE));
}

RK_TEST_F(sram, feature_data, "a first task with DATA_REUSE gets none of another client's data")
{
	ASSERT_EQ(0, run_product(self->a, &small, 2, 1));
	EXPECT_EQ(0, steal_product(self->b, &small, DATA_REUSE));
}

RK_TEST_F(sram, every_bank_as_data,
	  "banks 0 to 10 of CBUF, read as feature data, hold nothing of another client")
{
	ASSERT_EQ(0, run_product(self->a, &eleven_of_data, 0x11, 0x11));
	EXPECT_EQ(0, steal_product(self->b, &eleven_of_data, DATA_REUSE));
}

RK_TEST_F(sram, every_bank_as_weights,
	  "banks 1 to 11 of CBUF, read as weights, hold nothing of another client")
{
	ASSERT_EQ(0, run_product(self->a, &eleven_of_weights, 0x11, 0x11));
	EXPECT_EQ(0, steal_product(self->b, &eleven_of_weights, WEIGHT_REUSE));
}

RK_TEST_F(sram, data_as_weights, "data of one client cannot be had as weights by another")
{
	ASSERT_EQ(0, run_product(self->a, &eleven_of_data, 0x11, 0x11));
	EXPECT_EQ(0, steal_product(self->b, &eleven_of_weights, WEIGHT_REUSE));
}

RK_TEST_F(sram, tables, "a task that uses the LUT without writing it gets none of another's tables")
{
	ASSERT_LT(0, look_up(self->a, true));
	EXPECT_EQ(0, look_up(self->b, false));
}

RK_TEST_F(sram, own_leftovers, "a client's own weights, data and tables are there for its next job")
{
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, run_product(self->a, &small, 2, 3));
	EXPECT_EQ(4 * 32, steal_product(self->a, &small, WEIGHT_REUSE));
	EXPECT_EQ(4 * 32, steal_product(self->a, &small, DATA_REUSE));
	ASSERT_LT(0, look_up(self->a, true));
	EXPECT_LT(0, look_up(self->a, false));
}

RK_TEST_F(sram, without_scrubbing,
	  "with the parameter scrub off there is all of that to steal, so these cases would see it")
{
	RK_REQUIRE_MODEL();
	rk_scrub(false);
	ASSERT_EQ(0, run_product(self->a, &small, 1, 3));
	EXPECT_EQ(4 * 32, steal_product(self->b, &small, WEIGHT_REUSE));
	ASSERT_EQ(0, run_product(self->a, &small, 2, 1));
	EXPECT_EQ(4 * 32, steal_product(self->b, &small, DATA_REUSE));
	ASSERT_EQ(0, run_product(self->a, &eleven_of_data, 0x11, 0x11));
	EXPECT_EQ(352 * 32, steal_product(self->b, &eleven_of_data, DATA_REUSE));
	EXPECT_LT(0, steal_product(self->b, &eleven_of_weights, WEIGHT_REUSE));
	ASSERT_LT(0, look_up(self->a, true));
	EXPECT_LT(0, look_up(self->b, false));
}

static bool untouched(const struct work *w)
{
	for (uint32_t i = 0; i < w->out_bytes; i++)
		if (w->out.map[i] != UNTOUCHED)
			return false;
	return true;
}

static int run_partial(int fd, const uint64_t *body, uint32_t n, uint32_t enable, struct work *w)
{
	uint64_t e[16];

	memcpy(e, body, n * sizeof(*e));
	e[n++] = 0x0041ull << 48;
	e[n++] = 0x0081ull << 48 | (uint64_t)enable << 16 | 8;
	w->timeout_ns = HANG_MS * RK_MS;
	return work_program(w, e, n) ?: work_run(w);
}

RK_TEST_F(sram, partial_programs,
	  "programs that lean on another client's registers run into nothing: a switch resets them")
{
	struct work w;

	ASSERT_EQ(0, work_init(&w, self->b, RK_PAGE, RK_PAGE, RK_PAGE));
	uint64_t product[] = {
		command(0x4004, 0xe), command(0x1070, w.in.iova), command(0x1110, w.weights.iova),
		command(0x4020, w.out.iova),
	};
	uint64_t lookup[] = {
		command(0x4004, 0xe), command(0x5004, 0xe), command(0x4020, w.out.iova),
		command(0x5018, w.in.iova),
	};

	ASSERT_EQ(0, run_product(self->a, &small, 1, 3));
	EXPECT_GT(0, run_partial(self->b, product, 4, 0xd, &w));
	EXPECT_TRUE(untouched(&w));
	ASSERT_LT(0, look_up(self->a, true));
	EXPECT_GT(0, run_partial(self->b, lookup, 4, 0x18, &w));
	EXPECT_TRUE(untouched(&w));
	work_fini(&w);
}

/* Through the vendor's uAPI: one chained task that adds 1, with weights of 0 in memory. */
static long steal_by_vendor(int fd)
{
	struct drm_rknpu_submit s;
	struct rv_chain c;
	long ret = rv_chain_init(&c, fd, 1, 0, 0);

	if (!ret) {
		struct drm_rknpu_task *t = rv_chain_task(&c, 0);
		uint64_t *e = (uint64_t *)(c.bo.map + (t->regcmd_addr - c.bo.iova));

		memset(c.bo.map, 0, 32 * 32);
		set_bits(e, t->regcfg_amount, CBUF_CON0, WEIGHT_REUSE);
		ret = rv_sync(&c.bo, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c.bo.size);
	}
	if (!ret)
		ret = rv_chain_fill(&c, 1);
	rv_chain_submit(&c, &s);
	s.core_mask = 1u << CORE;
	if (!ret)
		ret = rv_submit(fd, &s);
	/* 0 x 1 + 1 */
	if (!ret)
		ret = rv_chain_wrong(&c, 1);
	rv_chain_fini(&c);
	return ret;
}

RK_TEST_F(sram, between_uapis, "nor is there anything for a client of the vendor's uAPI, or from one")
{
	struct rv_chain c;
	int fd = rv_open();

	if (fd < 0)
		SKIP(return, "no vendor node");
	ASSERT_EQ(0, run_product(self->a, &small, 1, 3));
	EXPECT_EQ(0, steal_by_vendor(fd));
	if (rk_model()) {
		rk_scrub(false);
		ASSERT_EQ(0, run_product(self->a, &small, 1, 3));
		EXPECT_EQ(RK_BYTES, steal_by_vendor(fd));
		rk_scrub(true);
	}

	ASSERT_EQ(0, rv_chain_init(&c, fd, 1, 0, 0));
	EXPECT_EQ(0, rv_chain_run(&c, 7));
	EXPECT_EQ(0, steal_product(self->b, &small, WEIGHT_REUSE));
	rv_chain_fini(&c);
	close(fd);
}

static const struct cost {
	const char *what;
	enum npu_ctl_counter counter;
	/* At most, per job. */
	uint64_t same, change, scrubbed;
} costs[] = {
	{ "cycles", NPU_CNT_BUSY_CYCLES, UINT64_MAX, UINT64_MAX, UINT64_MAX },
	{ "interrupts", NPU_CNT_IRQ, 1, 1, 1 },
	{ "resets", NPU_CNT_RESET, 0, 1, 1 },
	{ "iommu-attaches", NPU_CNT_MMU_ATTACH, 0, 3, 6 },
	{ "register-writes", NPU_CNT_MMIO_WRITE, UINT64_MAX, UINT64_MAX, UINT64_MAX },
	{ "register-reads", NPU_CNT_MMIO_READ, UINT64_MAX, UINT64_MAX, UINT64_MAX },
	{ "iommu-writes", NPU_CNT_MMU_WRITE, UINT64_MAX, UINT64_MAX, UINT64_MAX },
	{ "iommu-reads", NPU_CNT_MMU_READ, UINT64_MAX, UINT64_MAX, UINT64_MAX },
};

#define COSTS	(sizeof(costs) / sizeof(costs[0]))

/* Jobs of two files in turns; @cost: what that takes. */
static int take_turns(int a, int b, uint64_t *cost)
{
	int ret = run_product(b, &small, 1, 1);

	for (size_t i = 0; i < COSTS; i++)
		cost[i] = rk_count(CORE, costs[i].counter);
	for (int i = 0; i < ROUNDS && !ret; i++) {
		ret = run_product(a, &small, 1, 1);
		if (!ret)
			ret = run_product(b, &small, 1, 1);
	}
	for (size_t i = 0; i < COSTS; i++)
		cost[i] = rk_count(CORE, costs[i].counter) - cost[i];
	return ret;
}

RK_TEST_F(sram, only_at_a_change, "a core is scrubbed when its client changes, and only then")
{
	long long scrubs = rk_core_stat(CORE, "scrubs");
	long long attaches;
	uint64_t cost[COSTS];

	if (scrubs < 0)
		SKIP(return, "the driver does not count that");
	ASSERT_EQ(0, run_product(self->b, &small, 1, 1));
	scrubs = rk_core_stat(CORE, "scrubs");
	attaches = rk_core_stat(CORE, "attaches");
	ASSERT_EQ(0, take_turns(self->a, self->b, cost));
	EXPECT_EQ(2 * ROUNDS, rk_core_stat(CORE, "scrubs") - scrubs);
	EXPECT_EQ(2 * ROUNDS, rk_core_stat(CORE, "attaches") - attaches);
	ASSERT_EQ(0, take_turns(self->b, self->b, cost));
	EXPECT_EQ(2 * ROUNDS, rk_core_stat(CORE, "scrubs") - scrubs);
	EXPECT_EQ(2 * ROUNDS, rk_core_stat(CORE, "attaches") - attaches);
}

RK_TEST_F(sram, costs, "what a change of clients costs, with scrubbing and without: printed, and no interrupt")
{
	uint64_t scrubbed[COSTS], change[COSTS], same[COSTS];

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, take_turns(self->a, self->b, scrubbed));
	rk_scrub(false);
	ASSERT_EQ(0, take_turns(self->a, self->b, change));
	ASSERT_EQ(0, take_turns(self->b, self->b, same));
	printf("# %-16s %10s %10s %10s\n", "per job", "same", "change", "scrubbed");
	for (size_t i = 0; i < COSTS; i++) {
		printf("# %-16s %10.1f %10.1f %10.1f\n", costs[i].what, same[i] / (2.0 * ROUNDS),
		       change[i] / (2.0 * ROUNDS), scrubbed[i] / (2.0 * ROUNDS));
		EXPECT_GE(costs[i].same, same[i] / (2 * ROUNDS)) TH_LOG("%s", costs[i].what);
		EXPECT_GE(costs[i].change, change[i] / (2 * ROUNDS)) TH_LOG("%s", costs[i].what);
		EXPECT_GE(costs[i].scrubbed, scrubbed[i] / (2 * ROUNDS)) TH_LOG("%s", costs[i].what);
	}
}

RK_TEST_F(sram, sleep_is_no_switch, "a client that comes back to a core that has slept does not pay")
{
	long long scrubs;

	rk_stay_awake(false);
	ASSERT_EQ(0, run_product(self->a, &small, 1, 1));
	scrubs = rk_core_stat(CORE, "scrubs");
	if (scrubs < 0)
		SKIP(return, "the driver does not count that");
	ASSERT_TRUE(rk_wait_asleep(10000));
	ASSERT_EQ(0, run_product(self->a, &small, 1, 1));
	EXPECT_EQ(scrubs, rk_core_stat(CORE, "scrubs"));
	/* But another one does, whether it slept or not. */
	ASSERT_TRUE(rk_wait_asleep(10000));
	ASSERT_EQ(0, run_product(self->b, &small, 1, 1));
	EXPECT_EQ(scrubs + 1, rk_core_stat(CORE, "scrubs"));
}

RK_TEST_F(sram, first_after_binding, "the first client of a core that was bound just now finds nothing")
{
	long long scrubs;

	close(self->a);
	close(self->b);
	ASSERT_EQ(0, rk_rebind(CORE));
	self->a = rk_open();
	ASSERT_LE(0, self->a);
	self->b = rk_open();
	ASSERT_LE(0, self->b);
	scrubs = rk_core_stat(CORE, "scrubs");
	ASSERT_EQ(0, run_product(self->a, &small, 1, 1));
	if (scrubs >= 0)
		EXPECT_EQ(scrubs + 1, rk_core_stat(CORE, "scrubs"));
}

/* What goes wrong is the driver's own program, once. */
static const struct {
	const char *name;
	uint32_t kind, param;
} failures[] = {
	{ "never starts", NPU_FAULT_NEVER_START },
	{ "hangs", NPU_FAULT_HANG },
	{ "cannot read", NPU_FAULT_DMA_READ },
	{ "cannot write", NPU_FAULT_DMA_WRITE },
	{ "faults", NPU_FAULT_MMU_READ },
	{ "is not there", NPU_FAULT_REGCMD_ADDR, 0x40000000 },
};

RK_TEST_F_TIMEOUT(sram, scrub_fails, 120,
		  "if scrubbing fails the core is reset, and the client that waits does not notice")
{
	RK_REQUIRE_MODEL();
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		long long retired = rk_core_stat(CORE, "retired");
		long long timeouts = rk_core_stat(CORE, "timeouts");

		if (failures[i].kind == NPU_FAULT_MMU_READ && rk_no_iommu())
			continue;
		ASSERT_EQ(0, run_product(self->a, &small, 1, 3));
		rk_fault_arm_param(CORE, failures[i].kind, 0, 1, failures[i].param);
		rk_scrub(true);
		EXPECT_EQ(0, steal_product(self->b, &small, WEIGHT_REUSE))
			TH_LOG("one that %s", failures[i].name);
		EXPECT_EQ(1, rk_fault_fired());
		EXPECT_EQ(retired, rk_core_stat(CORE, "retired"));
		EXPECT_EQ(timeouts, rk_core_stat(CORE, "timeouts"));
		rk_model_calm();
	}
}

RK_HARNESS_MAIN
