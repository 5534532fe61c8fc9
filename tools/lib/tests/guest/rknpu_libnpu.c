// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libnpu promises beyond results, on the driver: waiting with a limit, the causes of
 * failures, several recordings and several files, raw programs.
 *
 * boot: library TEST_LIMIT=600
 * boot: armhf
 * boot: noiommulib RARE TEST_LIMIT=600 --model npu-iommu=0 --cmdline cma=256M --param unsafe_noiommu=1
 * boot: debug-libnpu KERNEL=debug TEST_LIMIT=1800 --param default_timeout_ms=10000
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "floats.h"
#include "npu_prog.h"
#include "one_op.h"
#include "rknpu_libnpu.h"

/* ---- recordings ---- */

#define M	16u
#define N	96u
#define K	64u

/* One product on three cores with its operands and result. */
struct product {
	struct one_op o;
	int8_t a[M * K];
	int8_t b[N * K];
	int32_t c[M * N];
};

FIXTURE(job) {
	struct npu_dev *dev;
	struct product *p;
};

static void product_fill(struct product *p)
{
	for (size_t i = 0; i < sizeof(p->a); i++)
		p->a[i] = (int8_t)libnpu_rnd();
	for (size_t i = 0; i < sizeof(p->b); i++)
		p->b[i] = (int8_t)libnpu_rnd();
	memset(p->c, 0xa5, sizeof(p->c));
}

static int product_start(struct product *p, struct npu_dev *dev)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = N, .k = K };
	struct npu_rec_opts opts = { .size = sizeof(opts), .cores = 3 };
	int ret;

	product_fill(p);
	ret = one_op_matmul(&p->o, dev, &d, p->b, M, NPU_PREC_INT32, &opts, NULL);
	return ret ?: one_op_start(&p->o, p->a);
}

static int product_wait(struct product *p, int64_t timeout_ns)
{
	return one_op_finish(&p->o, p->c, timeout_ns);
}

static bool product_right(const struct product *p)
{
	for (uint32_t m = 0; m < M; m++)
		for (uint32_t n = 0; n < N; n++) {
			int32_t sum = 0;

			for (uint32_t k = 0; k < K; k++)
				sum += p->a[m * K + k] * p->b[n * K + k];
			if (p->c[m * N + n] != sum)
				return false;
		}
	return true;
}

static void product_free(struct product *p)
{
	one_op_free(&p->o);
}

FIXTURE_SETUP(job)
{
	int ret = npu_open(NULL, &self->dev);

	if (ret)
		SKIP(return, "no NPU: %s", strerror(-ret));
	rk_model_calm();
	self->p = calloc(8, sizeof(*self->p));
	ASSERT_NE(NULL, self->p);
}

FIXTURE_TEARDOWN(job)
{
	rk_model_calm();
	for (int i = 0; self->p && i < 8; i++)
		product_free(&self->p[i]);
	free(self->p);
	npu_close(self->dev);
}

RK_TEST_F(job, many_in_flight_collected_backwards,
	  "eight recordings can be in flight, and waited for in any order")
{
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(0, product_start(&self->p[i], self->dev));
	for (int i = 7; i >= 0; i--) {
		EXPECT_EQ(0, product_wait(&self->p[i], WAIT_NS));
		EXPECT_TRUE(product_right(&self->p[i]));
	}
}

RK_TEST_F(job, several_files_of_one_process, "one process can have several devices open")
{
	struct npu_dev *dev[3];

	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, npu_open(NULL, &dev[i]));
		ASSERT_EQ(0, product_start(&self->p[i], dev[i]));
	}
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(0, product_wait(&self->p[i], WAIT_NS));
		EXPECT_TRUE(product_right(&self->p[i]));
		product_free(&self->p[i]);
		npu_close(dev[i]);
	}
}

/* The processor converts them here. */
RK_TEST_F(job, floats, "tensors take and give floats as the conversions of single numbers do")
{
	static const enum npu_prec types[] = { NPU_PREC_INT8, NPU_PREC_FP16, NPU_PREC_BF16 };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		EXPECT_EQ(0, floats_wrong(self->dev, types[i], 1));
		EXPECT_EQ(0, floats_wrong(self->dev, types[i], 0.3f));
	}
}

RK_TEST_F(job, runs_again, "a recording can be started again")
{
	struct product *p = &self->p[0];

	ASSERT_EQ(0, product_start(p, self->dev));
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(0, product_wait(p, WAIT_NS));
		EXPECT_TRUE(product_right(p));
		memset(p->c, 0x5a, sizeof(p->c));
		ASSERT_EQ(0, npu_rec_run(p->o.rec));
	}
}

RK_TEST_F(job, freed_while_running, "a recording may be freed while it runs")
{
	RK_REQUIRE_MODEL();
	rk_latency_us(50000);
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, product_start(&self->p[0], self->dev));
		product_free(&self->p[0]);
	}
	ASSERT_EQ(0, product_start(&self->p[1], self->dev));
	EXPECT_EQ(0, product_wait(&self->p[1], WAIT_NS));
	EXPECT_TRUE(product_right(&self->p[1]));
}

RK_TEST_F(job, wait_that_expires_can_be_repeated, "a wait that expires can be repeated")
{
	struct product *p = &self->p[0];
	int64_t start;

	RK_REQUIRE_MODEL();
	rk_latency_us(300000);
	ASSERT_EQ(0, product_start(p, self->dev));
	EXPECT_EQ(-EBUSY, product_wait(p, 0));
	start = rk_now();
	EXPECT_EQ(-ETIMEDOUT, product_wait(p, 50 * RK_MS));
	EXPECT_LE(50 * RK_MS, rk_now() - start);
	EXPECT_EQ(NPU_CAUSE_NONE, one_op_cause(&p->o));
	EXPECT_EQ(-EBUSY, npu_rec_run(p->o.rec));
	EXPECT_EQ(0, product_wait(p, WAIT_NS));
	EXPECT_EQ(NPU_CAUSE_NONE, one_op_cause(&p->o));
	EXPECT_TRUE(product_right(p));
}

/* Only our driver tells; the one in mainline reports every job as done. */
#define REQUIRE_CAUSES()						\
	do {								\
		RK_REQUIRE_MODEL();					\
		if (!rk_ours())						\
			SKIP(return, "the driver does not report errors"); \
	} while (0)

static void fail_once(struct __test_metadata *_metadata, FIXTURE_DATA(job) *self, uint32_t kind,
		      int err, enum npu_cause cause)
{
	struct product *p = &self->p[0];

	rk_fault_arm(NPU_CTL_ANY_CORE, kind, 0, 1);
	ASSERT_EQ(0, product_start(p, self->dev));
	EXPECT_EQ(err, product_wait(p, WAIT_NS));
	EXPECT_EQ(cause, one_op_cause(&p->o));
	EXPECT_EQ((int32_t)0xa5a5a5a5, p->c[0]);
	EXPECT_EQ(err, product_wait(p, WAIT_NS));
	EXPECT_EQ(0, npu_rec_run(p->o.rec));
	EXPECT_EQ(0, product_wait(p, WAIT_NS));
	EXPECT_TRUE(product_right(p));
}

RK_TEST_F(job, hang_is_a_timeout, "a hang is a timeout, and the recording can be started again")
{
	REQUIRE_CAUSES();
	fail_once(_metadata, self, NPU_FAULT_HANG, -ETIME, NPU_CAUSE_TIMEOUT);
}

RK_TEST_F(job, bus_error_is_a_dma_error, "a bus error is a DMA error")
{
	REQUIRE_CAUSES();
	fail_once(_metadata, self, NPU_FAULT_DMA_READ, -EIO, NPU_CAUSE_DMA_ERROR);
}

RK_TEST_F(job, unmapped_address_is_an_iommu_fault,
	  "a program that reads where nothing is mapped is an IOMMU fault")
{
	struct npu_bo *out, *code;
	struct npu_prog *prog = npu_prog_new();
	struct npu_hwjob hw = { .ntasks = 1, .nin = 1, .nout = 1 };
	struct npu_conv_task t;
	struct npu_task task;

	REQUIRE_CAUSES();
	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, npu_bo_alloc(self->dev, 65536, &out));
	ASSERT_EQ(0, npu_bo_alloc(self->dev, 4096, &code));
	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT32, 4, 32, 32);
	t.in_iova = 0xe0000000;
	t.weight_iova = out->iova + 4096;
	t.out_iova = out->iova;
	ASSERT_EQ(0, npu_prog_conv(prog, &t));
	memcpy(npu_bo_map(code), npu_prog_entries(prog), npu_prog_count(prog) * 8);
	ASSERT_EQ(0, npu_bo_fini(code));
	task.regcmd = code->iova;
	task.count = npu_prog_count(prog);
	hw.tasks = &task;
	hw.in = &code;
	hw.out = &out;
	ASSERT_EQ(0, npu_submit(self->dev, &hw, 1));
	EXPECT_EQ(-EFAULT, npu_bo_prep(out, WAIT_NS));
	EXPECT_EQ(NPU_CAUSE_IOMMU_FAULT, npu_cause_of_errno(-EFAULT));
	npu_prog_free(prog);
	npu_bo_free(out);
	npu_bo_free(code);
	ASSERT_EQ(0, product_start(&self->p[0], self->dev));
	EXPECT_EQ(0, product_wait(&self->p[0], WAIT_NS));
	EXPECT_TRUE(product_right(&self->p[0]));
}

RK_TEST_F(job, buffer_sizes_out_of_range, "buffer sizes out of range are refused")
{
	struct npu_bo *bo;

	EXPECT_EQ(-EINVAL, npu_bo_alloc(self->dev, 0, &bo));
	EXPECT_EQ(-EINVAL, npu_bo_alloc(self->dev, (size_t)1 << 31, &bo));
	if (SIZE_MAX > UINT32_MAX)
		EXPECT_EQ(-EINVAL, npu_bo_alloc(self->dev, (size_t)((1ull << 32) + 1), &bo));
}

/* ---- raw programs ---- */

#define PROGS	2
/* Where the parts of one program lie in their buffers. */
#define CODE_AT(i)	((i) * 2048u)
#define IN_AT(i)	((i) * 32768u)
#define WEIGHTS_AT(i)	(IN_AT(i) + 16384u)
#define OUT_AT(i)	((i) * (uint32_t)sizeof(((struct product *)0)->c))

/* Products whose programs and operands share buffers. */
struct raw {
	struct npu_bo *in, *out, *code;
	struct npu_task task[PROGS];
	struct product *p;	/* one for each */
};

LIBNPU_FIXTURE(raw)

/* The vendor's short programs: operands behind each other in the NPU's layouts. */
static void raw_program(struct __test_metadata *_metadata, struct raw *r, unsigned int i)
{
	struct npu_prog *prog = npu_prog_new();
	struct product *p = &r->p[i];
	struct npu_conv_task t;

	product_fill(p);
	npu_pack_feature((uint8_t *)r->in->map + IN_AT(i), p->a, K, 1, M, K, M, K, 0);
	npu_pack_weights((uint8_t *)r->in->map + WEIGHTS_AT(i), p->b, K, 0, 1, 1, N, 1, K, N, K, 0);
	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT32, M, N, K);
	t.in_iova = r->in->iova + IN_AT(i);
	t.weight_iova = r->in->iova + WEIGHTS_AT(i);
	t.out_iova = r->out->iova + OUT_AT(i);
	t.no_rdma = true;
	ASSERT_EQ(0, npu_prog_conv(prog, &t));
	ASSERT_GE(CODE_AT(1), npu_prog_count(prog) * 8);
	memcpy((uint8_t *)r->code->map + CODE_AT(i), npu_prog_entries(prog), npu_prog_count(prog) * 8);
	r->task[i].regcmd = r->code->iova + CODE_AT(i);
	r->task[i].count = npu_prog_count(prog);
	npu_prog_free(prog);
}

static void raw_make(struct __test_metadata *_metadata, struct raw *r, struct npu_dev *dev)
{
	memset(r, 0, sizeof(*r));
	r->p = calloc(PROGS, sizeof(*r->p));
	ASSERT_NE(NULL, r->p);
	ASSERT_EQ(0, npu_bo_alloc(dev, IN_AT(PROGS), &r->in));
	ASSERT_EQ(0, npu_bo_alloc(dev, OUT_AT(PROGS), &r->out));
	ASSERT_EQ(0, npu_bo_alloc(dev, CODE_AT(PROGS), &r->code));
	ASSERT_NE(NULL, npu_bo_map(r->in));
	ASSERT_NE(NULL, npu_bo_map(r->out));
	ASSERT_NE(NULL, npu_bo_map(r->code));
	for (unsigned int i = 0; i < PROGS; i++)
		raw_program(_metadata, r, i);
	ASSERT_EQ(0, npu_bo_fini(r->in));
	ASSERT_EQ(0, npu_bo_fini(r->code));
}

static void raw_free(struct raw *r)
{
	npu_bo_free(r->in);
	npu_bo_free(r->out);
	npu_bo_free(r->code);
	free(r->p);
}

/* Queues the programs @tasks of @r as one job. */
static int raw_submit(struct raw *r, struct npu_dev *dev, const struct npu_task *tasks, uint32_t n)
{
	struct npu_bo *const in[] = { r->code, r->in };
	struct npu_hwjob hw = {
		.tasks = tasks, .ntasks = n, .in = in, .nin = 2, .out = &r->out, .nout = 1,
	};

	return npu_submit(dev, &hw, 1);
}

static void raw_blank(struct __test_metadata *_metadata, struct raw *r)
{
	ASSERT_EQ(0, npu_bo_prep(r->out, WAIT_NS));
	memset(r->out->map, 0xa5, r->out->size);
	ASSERT_EQ(0, npu_bo_fini(r->out));
}

/* After npu_bo_prep(): has program @i run? */
static bool raw_right(struct raw *r, unsigned int i)
{
	npu_unpack_feature(r->p[i].c, N, (uint8_t *)r->out->map + OUT_AT(i), 4, M, N, M);
	return product_right(&r->p[i]);
}

RK_TEST_F(raw, one, "the vendor's short program computes a product")
{
	struct raw r;

	raw_make(_metadata, &r, self->dev);
	raw_blank(_metadata, &r);
	ASSERT_EQ(0, raw_submit(&r, self->dev, r.task, 1));
	ASSERT_EQ(0, npu_bo_prep(r.out, WAIT_NS));
	EXPECT_TRUE(raw_right(&r, 0));
	EXPECT_FALSE(raw_right(&r, 1));
	raw_free(&r);
}

/* Over the vendor's interface npu_submit() writes into programs which comes next, each time. */
RK_TEST_F(raw, in_any_order, "the same programs run alone, and behind each other in any order")
{
	struct npu_task back[PROGS];
	struct raw r;

	raw_make(_metadata, &r, self->dev);
	back[0] = r.task[1];
	back[1] = r.task[0];
	for (int i = 0; i < 3; i++) {
		raw_blank(_metadata, &r);
		ASSERT_EQ(0, raw_submit(&r, self->dev, r.task, PROGS));
		ASSERT_EQ(0, npu_bo_prep(r.out, WAIT_NS));
		EXPECT_TRUE(raw_right(&r, 0));
		EXPECT_TRUE(raw_right(&r, 1));
		raw_blank(_metadata, &r);
		ASSERT_EQ(0, raw_submit(&r, self->dev, back, PROGS));
		ASSERT_EQ(0, npu_bo_prep(r.out, WAIT_NS));
		EXPECT_TRUE(raw_right(&r, 0));
		EXPECT_TRUE(raw_right(&r, 1));
		raw_blank(_metadata, &r);
		ASSERT_EQ(0, raw_submit(&r, self->dev, back, 1));
		ASSERT_EQ(0, npu_bo_prep(r.out, WAIT_NS));
		EXPECT_FALSE(raw_right(&r, 0));
		EXPECT_TRUE(raw_right(&r, 1));
	}
	raw_free(&r);
}

RK_TEST_F(raw, in_flight, "programs of a job that has not run can be part of the next one")
{
	struct npu_hwjob hw = { .ntasks = 1, .nin = 2, .nout = 2 };
	struct npu_task back[PROGS];
	struct npu_bo *in[2], *out[2];
	struct raw r, before;

	RK_REQUIRE_MODEL();
	raw_make(_metadata, &r, self->dev);
	raw_make(_metadata, &before, self->dev);
	raw_blank(_metadata, &r);
	back[0] = r.task[1];
	back[1] = r.task[0];
	rk_latency_us(100000);
	/* Keeps the next one from starting, and has its result's errors. */
	hw.tasks = before.task;
	hw.in = in;
	hw.out = out;
	in[0] = before.code;
	in[1] = before.in;
	out[0] = before.out;
	out[1] = r.out;
	ASSERT_EQ(0, npu_submit(self->dev, &hw, 1));
	hw.tasks = r.task;
	hw.ntasks = PROGS;
	in[0] = r.code;
	in[1] = r.in;
	ASSERT_EQ(0, npu_submit(self->dev, &hw, 1));
	ASSERT_EQ(0, raw_submit(&r, self->dev, back, PROGS));
	EXPECT_EQ(0, npu_bo_prep(before.out, WAIT_NS));
	ASSERT_EQ(0, npu_bo_prep(r.out, WAIT_NS));
	EXPECT_TRUE(raw_right(&r, 0));
	EXPECT_TRUE(raw_right(&r, 1));
	raw_free(&r);
	raw_free(&before);
}

RK_HARNESS_MAIN
