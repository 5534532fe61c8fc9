// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a recording saves: instructions of its second call, of the process in user space and
 * in the kernel, beside those of the first. With RKNPU_ICOUNT the guest's CPU counts them
 * (tools/testbed/bin/run --icount), and without it nothing is measured.
 *
 * boot: irqtime
 * boot: irqlong
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "npu.h"
#include "rknpu_harness.h"

#define WAIT_NS	(60000 * RK_MS)
#define LAYERS	2
#define SIDE	1024u
/* Of the first call, in percent. */
#define MOST	15

FIXTURE(cost) {
	struct npu_dev *dev;
	int counter;
};

FIXTURE_VARIANT(cost) {
	const char *uapi;
};

FIXTURE_VARIANT_ADD(cost, rocket) { .uapi = "rocket" };
FIXTURE_VARIANT_ADD(cost, vendor) { .uapi = "rknpu" };

/*
 * The process, and the kernel for it: a counter of all that the CPU runs takes the time that it
 * is idle for instructions, as measured here, with a tick's 4 ms in each wait.
 */
static int open_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

FIXTURE_SETUP(cost)
{
	int ret;

	if (!getenv("RKNPU_ICOUNT"))
		SKIP(return, "counts instructions, which takes a machine that does");
	setenv("NPU_UAPI", variant->uapi, 1);
	ret = npu_open(NULL, &self->dev);
	if (ret)
		SKIP(return, "no node %s: %s", variant->uapi, strerror(-ret));
	rk_model_calm();
	self->counter = open_counter();
	if (self->counter < 0)
		SKIP(return, "no instruction counter: %s", strerror(errno));
}

FIXTURE_TEARDOWN(cost)
{
	close(self->counter);
	npu_close(self->dev);
}

static uint64_t instructions(int counter)
{
	uint64_t v = 0;

	return read(counter, &v, sizeof(v)) == sizeof(v) ? v : 0;
}

struct mlp {
	struct npu_weights *w[LAYERS];
	struct npu_tensor *t[LAYERS + 1];
	struct npu_rec *rec;
};

static int pack(struct mlp *m, struct npu_dev *dev, const int8_t *src)
{
	struct npu_weights_desc d = {
		.size = sizeof(d),
		.type = NPU_PREC_INT8, .n = SIDE, .k = SIDE, .rq = { .scale = 1, .shift = 8 },
	};
	int ret = 0;

	for (int i = 0; i < LAYERS && !ret; i++)
		ret = npu_weights_new(dev, &d, src, &m->w[i]);
	for (int i = 0; i <= LAYERS && !ret; i++)
		ret = npu_tensor_new(dev, NPU_PREC_INT8, 1, SIDE, &m->t[i]);
	return ret;
}

static int record(struct mlp *m, struct npu_dev *dev)
{
	int ret = npu_rec_new(dev, NULL, &m->rec);

	for (int i = 0; i < LAYERS && !ret; i++)
		ret = npu_rec_matmul(m->rec, m->t[i], m->w[i], m->t[i + 1], NULL);
	return ret ?: npu_rec_end(m->rec);
}

static int run(struct mlp *m, const int8_t *x, int8_t *y)
{
	int ret = npu_tensor_write(m->t[0], x, 0);

	ret = ret ?: npu_rec_run(m->rec);
	ret = ret ?: npu_rec_wait(m->rec, WAIT_NS);
	return ret ?: npu_tensor_read(m->t[LAYERS], y, 0);
}

RK_TEST_F(cost, second_call, "the second call costs at most 15 % of the first's instructions")
{
	int8_t *src = calloc(SIDE, SIDE), x[SIDE] = { 1 }, y[SIDE];
	uint64_t start, packed, recorded, first, second;
	struct mlp m = { 0 };

	ASSERT_NE(NULL, src);
	start = instructions(self->counter);
	ASSERT_EQ(0, pack(&m, self->dev, src));
	packed = instructions(self->counter);
	ASSERT_EQ(0, record(&m, self->dev));
	recorded = instructions(self->counter);
	ASSERT_EQ(0, run(&m, x, y));
	first = instructions(self->counter);
	ASSERT_EQ(0, run(&m, x, y));
	second = instructions(self->counter);
	TH_LOG("packing %llu, recording %llu, first run %llu, second run %llu instructions",
	       (unsigned long long)(packed - start), (unsigned long long)(recorded - packed),
	       (unsigned long long)(first - recorded), (unsigned long long)(second - first));
	EXPECT_LT(start, packed);
	EXPECT_LE((second - first) * 100, (first - start) * MOST);
	npu_rec_free(m.rec);
	for (int i = 0; i < LAYERS; i++)
		npu_weights_free(m.w[i]);
	for (int i = 0; i <= LAYERS; i++)
		npu_tensor_free(m.t[i]);
	free(src);
}

/* ---- floats ---- */

#define ROWS	64u
#define COLS	1024u

/* Instructions per thousand elements: raw, and as floats. */
struct access_cost {
	uint64_t raw[2], f32[2];
};

static void least(uint64_t *least, uint64_t now)
{
	if (!*least || now < *least)
		*least = now;
}

/* The first round has the pages come, and any of them may be interrupted. */
static int measure(struct npu_tensor *t, int counter, void *raw, float *f, struct access_cost *c)
{
	const uint64_t per = ROWS * COLS / 1000;
	uint64_t at[5];
	int ret = 0;

	*c = (struct access_cost){ 0 };
	for (int i = 0; i < 5; i++) {
		at[0] = instructions(counter);
		ret = ret ?: npu_tensor_write(t, raw, 0);
		at[1] = instructions(counter);
		ret = ret ?: npu_tensor_read(t, raw, 0);
		at[2] = instructions(counter);
		ret = ret ?: npu_tensor_write_f32(t, f, 0, 0.5f);
		at[3] = instructions(counter);
		ret = ret ?: npu_tensor_read_f32(t, f, 0, 0.5f);
		at[4] = instructions(counter);
		for (int k = 0; k < 2; k++) {
			least(&c->raw[k], (at[k + 1] - at[k]) / per);
			least(&c->f32[k], (at[k + 3] - at[k + 2]) / per);
		}
	}
	return ret;
}

RK_TEST_F(cost, floats, "writing and reading floats costs little more than copying")
{
	static const struct {
		enum npu_prec type;
		const char *name;
		unsigned int most;	/* times what copying costs */
	} types[] = {
		/* An atom of INT8 is four vectors of floats, and copied by one load and one store. */
		{ NPU_PREC_INT8, "INT8", 3 }, { NPU_PREC_FP16, "FP16", 2 }, { NPU_PREC_BF16, "BF16", 2 },
	};
	float *f = calloc(ROWS * COLS, sizeof(*f));
	void *raw = calloc(ROWS * COLS, 2);

	ASSERT_NE(NULL, f);
	ASSERT_NE(NULL, raw);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct access_cost c;
		struct npu_tensor *t;

		ASSERT_EQ(0, npu_tensor_new(self->dev, types[i].type, ROWS, COLS, &t));
		ASSERT_EQ(0, measure(t, self->counter, raw, f, &c));
		TH_LOG("%s: instructions per 1000 elements: write %llu, of floats %llu; read %llu, to floats %llu",
		       types[i].name, (unsigned long long)c.raw[0], (unsigned long long)c.f32[0],
		       (unsigned long long)c.raw[1], (unsigned long long)c.f32[1]);
		EXPECT_LE(c.f32[0], types[i].most * c.raw[0]);
		EXPECT_LE(c.f32[1], types[i].most * c.raw[1]);
		npu_tensor_free(t);
	}
	free(raw);
	free(f);
}

RK_HARNESS_MAIN
