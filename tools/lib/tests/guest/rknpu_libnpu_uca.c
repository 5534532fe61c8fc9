// SPDX-License-Identifier: GPL-2.0-only
/*
 * The uCA interface on the driver and over both uAPIs: a feed-forward block of 4096 x 4096 twice, with
 * one sync and nothing touched by the CPU in between.
 *
 * boot: uca LONG TEST_LIMIT=900
 */
#include <errno.h>

#include "block.h"
#include "rknpu_libnpu.h"
#include "uca.h"

#define SIDE	4096u
/* Results that are checked: the first and the last ones. */
#define SOME	32u
#define CORES	3u

LIBNPU_FIXTURE(uca)

struct net {
	uint16_t *w, *back;		/* [n][k] both; the latter of the rows that are checked */
	uint16_t x[SIDE], y[SIDE];
	struct npu_weights *first, *second;
	struct npu_tensor *t[4];
};

/* The second layer's weights are the first's, transposed. Up to 1/32, so that sums are about 1. */
static int make(struct net *n, struct npu_dev *dev)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_FP16, .n = SIDE, .k = SIDE };
	int ret;

	n->w = malloc(SIDE * SIDE * sizeof(*n->w));
	n->back = malloc(2 * SOME * SIDE * sizeof(*n->back));
	if (!n->w || !n->back)
		return -ENOMEM;
	for (size_t i = 0; i < SIDE * SIDE; i++)
		n->w[i] = libnpu_small_half();
	for (uint32_t i = 0; i < 2 * SOME; i++)
		for (uint32_t k = 0; k < SIDE; k++)
			n->back[i * SIDE + k] = n->w[(size_t)k * SIDE + (i < SOME ? i : SIDE - 2 * SOME + i)];
	ret = npu_weights_new(dev, &d, n->w, &n->first);
	d.is_kn = true;
	ret = ret ?: npu_weights_new(dev, &d, n->w, &n->second);
	for (int i = 0; i < 4 && !ret; i++)
		ret = npu_tensor_new(dev, NPU_PREC_FP16, 1, SIDE, &n->t[i]);
	return ret;
}

static void release(struct net *n)
{
	for (int i = 0; i < 4; i++)
		npu_tensor_free(n->t[i]);
	npu_weights_free(n->first);
	npu_weights_free(n->second);
	free(n->w);
	free(n->back);
}

static int queue(struct uca *u, struct net *n)
{
	int ret = uca_memset(u, 0, 1, SIDE);

	for (uint32_t i = 0; i < SIDE; i++)
		n->x[i] = npu_f32_to_f16((float)(int)(libnpu_rnd() % 2001 - 1000) / 1000);
	ret = ret ?: uca_memcpy_to(u, n->t[0], n->x, 0);
	ret = ret ?: uca_gemv(u, n->t[1], n->t[0], n->first, 0, 0);
	ret = ret ?: uca_cvo(u, UCA_GELU, n->t[2], n->t[1], NULL, 0, 0);
	return ret ?: uca_gemv(u, n->t[3], n->t[2], n->second, 0, 0);
}

static void check(struct __test_metadata *_metadata, const struct net *n)
{
	struct block_row x = block_new(SIDE), h = block_new(SIDE), g = block_new(SIDE), y = block_new(2 * SOME);
	struct block_error e;
	float got[2 * SOME];

	for (uint32_t i = 0; i < SIDE; i++)
		x.v[i] = (double)npu_f16_to_f32(n->x[i]);
	block_product(n->w, &x, &h);
	block_gelu(&h, &g);
	block_product(n->back, &g, &y);
	for (uint32_t i = 0; i < 2 * SOME; i++)
		got[i] = npu_f16_to_f32(n->y[i < SOME ? i : SIDE - 2 * SOME + i]);
	e = block_compare(&y, got);
	EXPECT_TRUE(block_ok(&e));
	TH_LOG("off by %.2g, %.2g at most; bound %.2g", e.rms, e.most, e.bound);
	block_free(&x, 1);
	block_free(&h, 1);
	block_free(&g, 1);
	block_free(&y, 1);
}

/* A stage begins where a core needs what others made: over the vendor's interface it is a submit each. */
static uint32_t most_submits(const struct npu_rec *rec, const char *uapi)
{
	return libnpu_is_vendor(uapi) ? npu_rec_info(rec).stages : 1;
}

static void run(struct __test_metadata *_metadata, struct uca *u, struct net *n, const char *uapi)
{
	struct npu_stats before = { .size = sizeof(before) }, after = { .size = sizeof(after) };
	long long irqs, tasks;
	uint32_t chains, wanted, submitted;

	npu_stats(u->dev, &before);
	ASSERT_EQ(0, queue(u, n)) TH_LOG("%s", u->rec ? npu_rec_message(u->rec) : "no recording");
	chains = npu_rec_info(u->rec).chains;
	wanted = npu_rec_info(u->rec).tasks;
	submitted = most_submits(u->rec, uapi);
	irqs = rk_cores_stat("irqs");
	tasks = rk_cores_stat("tasks");
	submits = 0;
	ASSERT_EQ(0, uca_sync(u, WAIT_NS));
	EXPECT_EQ(submitted, submits);
	EXPECT_EQ(chains, rk_cores_stat("irqs") - irqs);
	EXPECT_EQ(wanted, rk_cores_stat("tasks") - tasks);
	ASSERT_EQ(0, uca_memcpy_from(u, n->y, n->t[3], 0));
	npu_stats(u->dev, &after);
	EXPECT_EQ(1, after.runs - before.runs);
	/* The input and the result. */
	EXPECT_EQ(SIDE * sizeof(uint16_t), after.packed - before.packed);
	EXPECT_EQ(SIDE * sizeof(uint16_t), after.unpacked - before.unpacked);
	EXPECT_EQ(0, after.weights - before.weights);
	TH_LOG("%u cores: %u tasks, %u submits, %u interrupts, %zu bytes repacked", u->cores, wanted, submitted,
	       chains, 2 * SIDE * sizeof(uint16_t));
}

RK_TEST_F_TIMEOUT(uca, feed_forward, 600, "two layers of 4096 x 4096, one sync, nothing in between for the CPU")
{
	static struct net n;

	RK_REQUIRE_MODEL();
	rk_scrub(false);
	/* A task reads 32 MiB of weights: on a busy host the model takes long. */
	rk_task_timeout_ms(20000);
	for (uint32_t cores = 1; cores <= CORES; cores += 2) {
		struct uca u;

		ASSERT_EQ(0, uca_init(&u, NULL, cores));
		ASSERT_EQ(0, make(&n, u.dev));
		for (int i = 0; i < 2; i++)
			run(_metadata, &u, &n, variant->uapi);
		check(_metadata, &n);
		release(&n);
		uca_exit(&u);
	}
}

RK_TEST_F(uca, sync_that_expires, "a sync that expires says so, and is over later")
{
	struct npu_tensor *x, *y;
	uint16_t half[32] = { 0 };
	struct uca u;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, uca_init(&u, NULL, 1));
	ASSERT_EQ(0, npu_tensor_new(u.dev, NPU_PREC_FP16, 1, 32, &x));
	ASSERT_EQ(0, npu_tensor_new(u.dev, NPU_PREC_FP16, 1, 32, &y));
	ASSERT_EQ(0, uca_memset(&u, 63, 1, 32));
	ASSERT_EQ(0, uca_memcpy_to(&u, x, half, 63));
	rk_latency_us(200000);
	ASSERT_EQ(0, uca_cvo(&u, UCA_COS, y, x, NULL, 63, 0));
	EXPECT_EQ(-EBUSY, uca_sync(&u, 0));
	EXPECT_EQ(-EBUSY, uca_memcpy_from(&u, half, y, 63));
	EXPECT_EQ(-ETIMEDOUT, uca_sync(&u, RK_MS));
	EXPECT_EQ(0, uca_sync(&u, WAIT_NS));
	EXPECT_EQ(0, uca_memcpy_from(&u, half, y, 63));
	/* cos(0) by the table, off by 2^-9 at most. */
	EXPECT_LE(fabs(npu_f16_to_f32(half[31]) - 1.0), 0x1p-9);
	npu_tensor_free(x);
	npu_tensor_free(y);
	uca_exit(&u);
}

RK_HARNESS_MAIN
