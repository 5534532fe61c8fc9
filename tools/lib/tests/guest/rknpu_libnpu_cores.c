// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libnpu promises of recordings of several cores, on the driver and over both uAPIs: the
 * results of one core, an interrupt per chain, order where it matters, and where a run failed.
 *
 * boot: library
 * boot: noiommulib
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "npu_prog.h"
#include "rknpu_libnpu.h"

#define M	24u
#define K	64u
#define N	96u
#define CORES	3u

LIBNPU_FIXTURE(cores)

static const struct npu_requant rq = { .scale = 20000, .shift = 21, .zp = 3 };

/* y = W2 * relu(W1 * x) in integers, which are exact. */
struct net {
	int8_t x[M * K], w1[N * K], w2[K * N];
	int32_t want[M * K];
	struct npu_tensor *in, *mid, *out;
	struct npu_weights *first, *second;
	struct npu_rec *rec;
};

static int net_alloc(struct net *n, struct npu_dev *dev)
{
	struct npu_weights_desc d1 = { .size = sizeof(d1), .type = NPU_PREC_INT8, .n = N, .k = K, .rq = rq };
	struct npu_weights_desc d2 = { .size = sizeof(d2), .type = NPU_PREC_INT8, .n = K, .k = N };
	int ret;

	for (size_t i = 0; i < N * K; i++) {
		n->w1[i] = libnpu_rnd();
		n->w2[i] = libnpu_rnd();
	}
	ret = npu_weights_new(dev, &d1, n->w1, &n->first);
	ret = ret ?: npu_weights_new(dev, &d2, n->w2, &n->second);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, M, K, &n->in);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, M, N, &n->mid);
	return ret ?: npu_tensor_new(dev, NPU_PREC_INT32, M, K, &n->out);
}

static void net_free(struct net *n)
{
	npu_rec_free(n->rec);
	npu_tensor_free(n->in);
	npu_tensor_free(n->mid);
	npu_tensor_free(n->out);
	npu_weights_free(n->first);
	npu_weights_free(n->second);
}

static void net_expect(struct net *n)
{
	static int8_t h[M * N];

	for (uint32_t m = 0; m < M; m++)
		for (uint32_t c = 0; c < N; c++) {
			int32_t sum = 0;

			for (uint32_t k = 0; k < K; k++)
				sum += n->x[m * K + k] * n->w1[c * K + k];
			h[m * N + c] = npu_requant_apply(&rq, sum > 0 ? sum : 0);
		}
	for (uint32_t m = 0; m < M; m++)
		for (uint32_t c = 0; c < K; c++) {
			int32_t sum = 0;

			for (uint32_t k = 0; k < N; k++)
				sum += h[m * N + k] * n->w2[c * N + k];
			n->want[m * K + c] = sum;
		}
}

static int net_write(struct net *n)
{
	for (size_t i = 0; i < M * K; i++)
		n->x[i] = libnpu_rnd();
	net_expect(n);
	return npu_tensor_write(n->in, n->x, 0);
}

static int net_start(struct net *n)
{
	int ret = net_write(n);

	return ret ?: npu_rec_run(n->rec);
}

static bool net_right(struct net *n)
{
	static int32_t y[M * K];

	return !npu_tensor_read(n->out, y, 0) && !memcmp(y, n->want, sizeof(y));
}

static const struct npu_rec_matmul_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU, .max_m = 4 };
static const struct npu_rec_matmul_opts small = { .size = sizeof(small), .max_m = 4 };

/* Both layers for the rows of each core: four tasks, of which the last two are the second layer. */
static int append_placed(struct net *n)
{
	int ret = 0;

	for (uint32_t i = 0; i < CORES && !ret; i++) {
		struct npu_tensor *x = NULL, *h = NULL, *y = NULL;
		uint32_t row = M / CORES * i;

		ret = npu_rec_on(n->rec, i);
		ret = ret ?: npu_tensor_view(n->in, row, M / CORES, 0, K, &x);
		ret = ret ?: npu_tensor_view(n->mid, row, M / CORES, 0, N, &h);
		ret = ret ?: npu_tensor_view(n->out, row, M / CORES, 0, K, &y);
		ret = ret ?: npu_rec_matmul(n->rec, x, n->first, h, &relu);
		ret = ret ?: npu_rec_matmul(n->rec, h, n->second, y, &small);
		npu_tensor_free(x);
		npu_tensor_free(h);
		npu_tensor_free(y);
	}
	return ret;
}

/* The middle row is shared by columns, and each core then reads all of it. */
static int append_joined(struct net *n)
{
	int ret = 0;

	for (uint32_t row = 0; row < M && !ret; row++) {
		struct npu_tensor *x = NULL, *h = NULL, *y = NULL;

		ret = npu_tensor_view(n->in, row, 1, 0, K, &x);
		ret = ret ?: npu_tensor_view(n->mid, row, 1, 0, N, &h);
		ret = ret ?: npu_tensor_view(n->out, row, 1, 0, K, &y);
		ret = ret ?: npu_rec_matmul(n->rec, x, n->first, h, &relu);
		ret = ret ?: npu_rec_matmul(n->rec, h, n->second, y, NULL);
		npu_tensor_free(x);
		npu_tensor_free(h);
		npu_tensor_free(y);
	}
	return ret;
}

static int append_shared(struct net *n)
{
	int ret = npu_rec_matmul(n->rec, n->in, n->first, n->mid, &relu);

	return ret ?: npu_rec_matmul(n->rec, n->mid, n->second, n->out, NULL);
}

static void run_counted(struct __test_metadata *_metadata, struct net *n, const char *uapi)
{
	ASSERT_EQ(0, net_write(n));
	libnpu_run_counted(_metadata, n->rec, uapi);
	EXPECT_TRUE(net_right(n));
}

RK_TEST_F(cores, shared, "1, 2 and 3 cores share products, with one interrupt each")
{
	RK_REQUIRE_MODEL();
	rk_scrub(false);
	for (uint32_t cores = 1; cores <= CORES; cores++) {
		struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
		static struct net n;

		ASSERT_EQ(0, net_alloc(&n, self->dev));
		ASSERT_EQ(0, npu_rec_new(self->dev, &o, &n.rec));
		ASSERT_EQ(0, append_shared(&n));
		ASSERT_EQ(0, npu_rec_end(n.rec));
		EXPECT_EQ(cores, npu_rec_info(n.rec).chains);
		EXPECT_EQ(1, npu_rec_info(n.rec).stages);
		for (int i = 0; i < 3; i++)
			run_counted(_metadata, &n, variant->uapi);
		net_free(&n);
	}
}

RK_TEST_F(cores, joined, "cores wait for each other where they need what others made")
{
	RK_REQUIRE_MODEL();
	rk_scrub(false);
	for (uint32_t cores = 2; cores <= CORES; cores++) {
		struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
		static struct net n;

		ASSERT_EQ(0, net_alloc(&n, self->dev));
		ASSERT_EQ(0, npu_rec_new(self->dev, &o, &n.rec));
		ASSERT_EQ(0, append_joined(&n));
		ASSERT_EQ(0, npu_rec_end(n.rec));
		EXPECT_LE(M, npu_rec_info(n.rec).stages);
		for (int i = 0; i < 3; i++)
			run_counted(_metadata, &n, variant->uapi);
		net_free(&n);
	}
}

RK_TEST_F_TIMEOUT(cores, long_recording, 120,
		  "more jobs than the driver takes at once are handed over one part after the other")
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = CORES };
	static struct net n;
	uint64_t most = 0;

	ASSERT_EQ(0, net_alloc(&n, self->dev));
	ASSERT_EQ(0, npu_rec_new(self->dev, &o, &n.rec));
	for (int i = 0; i < 16; i++)
		ASSERT_EQ(0, append_joined(&n));
	ASSERT_EQ(0, npu_rec_end(n.rec));
	if (!libnpu_is_vendor(variant->uapi)) {
		ASSERT_EQ(0, npu_param(self->dev, DRM_ROCKET_PARAM_MAX_JOBS, 0, &most));
		EXPECT_LT(most, npu_rec_info(n.rec).chains);
		EXPECT_EQ(2, npu_rec_info(n.rec).submits);
	}
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, net_start(&n));
		ASSERT_EQ(0, npu_rec_wait(n.rec, WAIT_NS));
		EXPECT_TRUE(net_right(&n));
	}
	net_free(&n);
}

#define MANY	4100u

RK_TEST_F_TIMEOUT(cores, many_tensors, 120,
		  "more tensors than the driver lets a job list make one more chain")
{
	static struct npu_tensor *t[MANY];
	static const uint16_t one = 0x3c00;
	struct npu_rec *rec;
	uint16_t last = 0;

	for (uint32_t i = 0; i < MANY; i++)
		ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_FP16, 1, 1, &t[i]));
	for (uint32_t i = 0; i < MANY; i++)
		ASSERT_EQ(0, npu_tensor_write(t[i], &one, 0));
	ASSERT_EQ(0, npu_rec_new(self->dev, NULL, &rec));
	for (uint32_t i = 0; i + 2 < MANY; i += 2)
		ASSERT_EQ(0, npu_rec_add(rec, t[i], t[i + 1], t[i + 2]));
	ASSERT_EQ(0, npu_rec_end(rec));
	ASSERT_EQ(0, npu_rec_run(rec));
	ASSERT_EQ(0, npu_rec_wait(rec, WAIT_NS));
	ASSERT_EQ(0, npu_tensor_read(t[MANY - 2], &last, 0));
	/* One more each time, which halves count to 2048. */
	EXPECT_EQ(2048, (int)npu_f16_to_f32(last));
	npu_rec_free(rec);
	for (uint32_t i = 0; i < MANY; i++)
		npu_tensor_free(t[i]);
}

RK_TEST_F(cores, placed, "each core does the layers of its rows: one ioctl, an interrupt per core")
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = CORES };
	long long irqs[CORES];
	static struct net n;

	RK_REQUIRE_MODEL();
	rk_scrub(false);
	ASSERT_EQ(0, net_alloc(&n, self->dev));
	ASSERT_EQ(0, npu_rec_new(self->dev, &o, &n.rec));
	ASSERT_EQ(0, append_placed(&n));
	ASSERT_EQ(0, npu_rec_end(n.rec));
	EXPECT_EQ(CORES, npu_rec_info(n.rec).chains);
	run_counted(_metadata, &n, variant->uapi);
	/* Long enough that no core is free again before all have begun. */
	rk_latency_us(20000);
	for (uint32_t i = 0; i < CORES; i++)
		irqs[i] = rk_core_stat(i, "irqs");
	run_counted(_metadata, &n, variant->uapi);
	for (uint32_t i = 0; i < CORES; i++)
		EXPECT_EQ(1, rk_core_stat(i, "irqs") - irqs[i]);
	net_free(&n);
}

/* The chain of a core has 4 tasks: two of the first layer, two of the second. */
RK_TEST_F(cores, hang_on_one_core, "a hang of one of three cores tells operation, task and core")
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = CORES, .timeout_ns = 100 * RK_MS, .block = true };
	struct npu_rec_failure f = { .size = sizeof(f) };
	static struct net n;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, net_alloc(&n, self->dev));
	ASSERT_EQ(0, npu_rec_new(self->dev, &o, &n.rec));
	ASSERT_EQ(0, append_placed(&n));
	ASSERT_EQ(0, npu_rec_end(n.rec));
	ASSERT_EQ(4 * CORES, npu_rec_info(n.rec).tasks);
	for (uint32_t core = 0; core < CORES; core++) {
		rk_latency_us(5000);
		rk_fault_arm(core, NPU_FAULT_HANG, 2, 1);
		ASSERT_EQ(0, net_start(&n));
		EXPECT_EQ(-ETIME, npu_rec_wait(n.rec, WAIT_NS));
		ASSERT_EQ(0, npu_rec_failure(n.rec, &f));
		EXPECT_EQ(NPU_CAUSE_TIMEOUT, f.cause);
		EXPECT_EQ(core, f.core);
		EXPECT_EQ(2, f.task % 4);
		/* The driver chose a core for each job, unless the client did. */
		if (libnpu_is_vendor(variant->uapi))
			EXPECT_EQ(core * 4 + 2, f.task);
		EXPECT_EQ(f.task / 4 * 2 + 1, f.op);
		EXPECT_STREQ("matmul", f.op_name);
		rk_model_calm();
		ASSERT_EQ(0, net_start(&n));
		EXPECT_EQ(0, npu_rec_wait(n.rec, WAIT_NS));
		EXPECT_EQ(-ENOENT, npu_rec_failure(n.rec, &f));
		EXPECT_TRUE(net_right(&n));
	}
	net_free(&n);
}

RK_TEST_F(cores, two_in_turns, "another recording waits for all cores that write what it reads")
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = CORES };
	static struct net n;
	struct npu_rec *layer[2];

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, net_alloc(&n, self->dev));
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, npu_rec_new(self->dev, i ? NULL : &o, &layer[i]));
	ASSERT_EQ(0, npu_rec_matmul(layer[0], n.in, n.first, n.mid, &relu));
	ASSERT_EQ(0, npu_rec_matmul(layer[1], n.mid, n.second, n.out, NULL));
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, npu_rec_end(layer[i]));
	rk_latency_us(2000);
	for (int i = 0; i < 10; i++) {
		n.rec = layer[0];
		ASSERT_EQ(0, net_start(&n));
		ASSERT_EQ(0, npu_rec_run(layer[1]));
		ASSERT_EQ(0, npu_rec_wait(layer[1], WAIT_NS));
		EXPECT_TRUE(net_right(&n));
		ASSERT_EQ(0, npu_rec_wait(layer[0], WAIT_NS));
	}
	npu_rec_free(layer[1]);
	net_free(&n);
}

/* ---- what others see ---- */

/* The first layer: four rows of one task on two cores each, and sixteen of four on the third one. */
static int append_uneven(struct npu_rec *rec, struct net *n)
{
	static const uint32_t first[] = { 0, 4, 8 }, rows[] = { 4, 4, 16 };
	int ret = 0;

	for (uint32_t i = 0; i < CORES && !ret; i++) {
		struct npu_tensor *x = NULL, *h = NULL;

		ret = npu_rec_on(rec, i);
		ret = ret ?: npu_tensor_view(n->in, first[i], rows[i], 0, K, &x);
		ret = ret ?: npu_tensor_view(n->mid, first[i], rows[i], 0, N, &h);
		ret = ret ?: npu_rec_matmul(rec, x, n->first, h, &relu);
		npu_tensor_free(x);
		npu_tensor_free(h);
	}
	return ret;
}

/* The second layer, of a device that has the middle by its dma-buf. */
static int other_layer(struct net *n, struct npu_dev *dev, int fd, uint64_t offset)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = K, .k = N };
	int ret = npu_tensor_import(dev, fd, offset, NPU_PREC_INT8, M, N, &n->mid);

	ret = ret ?: npu_weights_new(dev, &d, n->w2, &n->second);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT32, M, K, &n->out);
	ret = ret ?: npu_rec_new(dev, NULL, &n->rec);
	ret = ret ?: npu_rec_matmul(n->rec, n->mid, n->second, n->out, NULL);
	return ret ?: npu_rec_end(n->rec);
}

RK_TEST_F(cores, another_client, "another client's job waits for all cores that write what it reads")
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = CORES };
	struct npu_rec *rec = NULL;
	static struct net n, other;
	struct npu_dev *dev;
	long long irqs, tasks;
	uint64_t offset;
	struct pollfd p = { .events = POLLIN };

	RK_REQUIRE_MODEL();
	if (libnpu_is_vendor(variant->uapi))
		SKIP(return, "the vendor's interface has no fences in dma-bufs");
	ASSERT_EQ(0, net_alloc(&n, self->dev));
	ASSERT_EQ(0, npu_rec_new(self->dev, &o, &rec));
	ASSERT_EQ(0, append_uneven(rec, &n));
	ASSERT_EQ(0, npu_rec_end(rec));
	ASSERT_EQ(CORES, npu_rec_info(rec).chains);
	ASSERT_EQ(0, npu_tensor_export(n.mid, &p.fd, &offset));
	ASSERT_EQ(0, libnpu_open(variant->uapi, &dev));
	memcpy(other.w2, n.w2, sizeof(n.w2));
	ASSERT_EQ(0, other_layer(&other, dev, p.fd, offset));
	rk_latency_us(20000);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, net_write(&n));
		irqs = rk_cores_stat("irqs");
		tasks = rk_cores_stat("tasks");
		ioctls = 0;
		ASSERT_EQ(0, npu_rec_run(rec));
		/* One that waits for whoever reads the memory. */
		EXPECT_EQ(2, ioctls);
		EXPECT_EQ(0, poll(&p, 1, 0));
		ASSERT_EQ(0, npu_rec_run(other.rec));
		ASSERT_EQ(1, poll(&p, 1, 60000));
		/* A task joins three cores. */
		EXPECT_LE(npu_rec_info(rec).tasks + 1, rk_cores_stat("tasks") - tasks);
		ASSERT_EQ(0, npu_rec_wait(other.rec, WAIT_NS));
		memcpy(other.want, n.want, sizeof(n.want));
		EXPECT_TRUE(net_right(&other));
		ASSERT_EQ(0, npu_rec_wait(rec, WAIT_NS));
		EXPECT_EQ(CORES + 2, rk_cores_stat("irqs") - irqs);
	}
	npu_rec_free(rec);
	net_free(&n);
	net_free(&other);
	npu_close(dev);
	close(p.fd);
}

/* ---- attention ---- */

/* Blocks of 32 rows, of some ten tasks each, 720 of them: more than a chain of a core can have. */
RK_TEST_F_TIMEOUT(cores, several_chains, 300, "a core that has more tasks than a chain takes two of them")
{
	enum { ROWS = 2560, FEW = 64, DIMS = 32, ALL = 9 * DIMS };
	static float x[ROWS * ALL];
	static uint16_t want[ROWS * ALL], got[ROWS * ALL];
	struct npu_tensor *q, *k, *y;

	RK_REQUIRE_MODEL();
	rk_scrub(false);
	for (size_t i = 0; i < ROWS * ALL; i++)
		x[i] = (float)(int)(libnpu_rnd() % 2001 - 1000) / 1000;
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_FP16, ROWS, ALL, &q));
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_FP16, FEW, ALL, &k));
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_FP16, ROWS, ALL, &y));
	ASSERT_EQ(0, npu_tensor_write_f32(q, x, 0, 1));
	ASSERT_EQ(0, npu_tensor_write_f32(k, x, 0, 1));
	for (uint32_t cores = 1; cores <= CORES; cores += 2) {
		struct npu_attention_opts heads = { .size = sizeof(heads), .heads = 9, .max_rows = cores == 1 ? 32 : 0 };
		struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
		struct npu_rec *rec = NULL;

		ASSERT_EQ(0, npu_rec_new(self->dev, &o, &rec));
		ASSERT_EQ(0, npu_rec_attention(rec, q, k, k, y, &heads)) TH_LOG("%s", npu_rec_message(rec));
		ASSERT_EQ(0, npu_rec_end(rec));
		EXPECT_EQ(cores == 1 ? 2 : cores, npu_rec_info(rec).chains)
			TH_LOG("%u tasks", npu_rec_info(rec).tasks);
		libnpu_run_counted(_metadata, rec, variant->uapi);
		ASSERT_EQ(0, npu_tensor_read(y, cores == 1 ? want : got, 0));
		npu_rec_free(rec);
	}
	EXPECT_EQ(0, memcmp(want, got, sizeof(got)));
	npu_tensor_free(q);
	npu_tensor_free(k);
	npu_tensor_free(y);
}

#define TOKENS	64u
#define HEADS	3u
#define DIM	32u
#define WIDTH	(HEADS * DIM)

struct att {
	struct npu_tensor *x, *z, *y;
	struct npu_rec *rec;
};

static int att_make(struct att *a, struct npu_dev *dev, const struct npu_rec_opts *o)
{
	struct npu_attention_opts heads = { .size = sizeof(heads), .heads = HEADS, .causal = true };
	static float x[TOKENS * WIDTH];
	int ret;

	for (size_t i = 0; i < TOKENS * WIDTH; i++)
		x[i] = (float)(int)(libnpu_rnd() % 2001 - 1000) / 1000;
	ret = npu_tensor_new(dev, NPU_PREC_FP16, TOKENS, WIDTH, &a->x);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_FP16, TOKENS, WIDTH, &a->z);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_FP16, TOKENS, WIDTH, &a->y);
	ret = ret ?: npu_tensor_write_f32(a->x, x, 0, 1);
	ret = ret ?: npu_rec_new(dev, o, &a->rec);
	ret = ret ?: npu_rec_act(a->rec, NPU_ACT_TANH, a->x, a->z);
	ret = ret ?: npu_rec_attention(a->rec, a->x, a->x, a->x, a->y, &heads);
	return ret ?: npu_rec_end(a->rec);
}

static void att_free(struct att *a)
{
	npu_rec_free(a->rec);
	npu_tensor_free(a->x);
	npu_tensor_free(a->z);
	npu_tensor_free(a->y);
}

/* The first task of the core that hangs is the table's; what comes then is attention. */
RK_TEST_F(cores, hang_in_attention, "a hang inside of attention tells so, and the next run is right")
{
	static uint16_t want[TOKENS * WIDTH], got[TOKENS * WIDTH];
	struct npu_rec_failure f = { .size = sizeof(f) };

	RK_REQUIRE_MODEL();
	for (uint32_t cores = 1; cores <= CORES; cores += 2) {
		struct npu_rec_opts o = { .size = sizeof(o), .cores = cores, .timeout_ns = 100 * RK_MS, .block = true };
		struct att a = { 0 };

		if (cores == 1)
			o.core_mask = 1 << 1;
		ASSERT_EQ(0, att_make(&a, self->dev, &o));
		ASSERT_EQ(0, npu_rec_run(a.rec));
		ASSERT_EQ(0, npu_rec_wait(a.rec, WAIT_NS));
		ASSERT_EQ(0, npu_tensor_read(a.y, want, 0));
		rk_latency_us(cores > 1 ? 1000 : 0);
		rk_fault_arm(1, NPU_FAULT_HANG, 15, 1);
		ASSERT_EQ(0, npu_rec_run(a.rec));
		EXPECT_EQ(-ETIME, npu_rec_wait(a.rec, WAIT_NS));
		ASSERT_EQ(0, npu_rec_failure(a.rec, &f));
		EXPECT_EQ(1, f.op);
		EXPECT_STREQ("attention", f.op_name);
		EXPECT_EQ(1, f.core);
		EXPECT_LE(15, f.task);
		rk_model_calm();
		ASSERT_EQ(0, npu_rec_run(a.rec));
		ASSERT_EQ(0, npu_rec_wait(a.rec, WAIT_NS));
		ASSERT_EQ(0, npu_tensor_read(a.y, got, 0));
		EXPECT_EQ(0, memcmp(want, got, sizeof(got)));
		att_free(&a);
	}
}

RK_HARNESS_MAIN
