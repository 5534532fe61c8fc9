// SPDX-License-Identifier: MIT
/*
 * Programs submitted without a recording, in both of their forms, and how recordings report what
 * happened to their jobs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drm/rocket_accel.h"
#include "prog/npu_task.h"
#include "one_op.h"
#include "sim.h"
#include "tap.h"

#define OURS	(DRM_ROCKET_FEATURE_SUBMIT_EXT | DRM_ROCKET_FEATURE_BATCHED | DRM_ROCKET_FEATURE_SCHED)

/* ---- programs ---- */

static unsigned int seed = 1;

static int8_t rnd(void)
{
	seed = seed * 1664525u + 1013904223u;
	return (int8_t)((int)(seed >> 8) % 9 - 4);
}

struct program {
	uint32_t m, n, k;
	enum npu_prec in, out;
	bool no_rdma;
};

/* Small integers, so that sums are exact in every type. */
static void *operand(const int8_t *v, size_t n, enum npu_prec type)
{
	uint16_t *half = malloc(n * sizeof(*half));

	if (type == NPU_PREC_INT8)
		return memcpy(half, v, n);
	for (size_t i = 0; i < n; i++)
		half[i] = npu_f32_to_f16(v[i]);
	return half;
}

static double element(const void *c, size_t i, enum npu_prec type)
{
	if (type == NPU_PREC_INT32)
		return ((const int32_t *)c)[i];
	return type == NPU_PREC_FP32 ? (double)((const float *)c)[i] :
				       (double)npu_f16_to_f32(((const uint16_t *)c)[i]);
}

static uint32_t wrong(const struct program *p, const int8_t *a, const int8_t *b, const void *c)
{
	uint32_t bad = 0;

	for (uint32_t i = 0; i < p->m * p->n; i++) {
		int32_t sum = 0;

		for (uint32_t k = 0; k < p->k; k++)
			sum += a[i / p->n * p->k + k] * b[i % p->n * p->k + k];
		bad += element(c, i, p->out) != sum;
	}
	return bad;
}

/* A, B, the program and C in one buffer each, in the NPU's layouts. */
static int submit(struct npu_dev *dev, const struct program *p, struct npu_bo **bo)
{
	struct npu_prog *prog = npu_prog_new();
	struct npu_conv_task t;
	struct npu_task task;
	struct npu_hwjob job = { .tasks = &task, .ntasks = 1, .in = bo, .nin = 3, .out = bo + 3, .nout = 1 };
	int ret;

	npu_matmul_task(&t, p->in, p->out, p->m, p->n, p->k);
	t.in_iova = bo[0]->iova;
	t.weight_iova = bo[1]->iova;
	t.out_iova = bo[3]->iova;
	t.no_rdma = p->no_rdma;
	ret = npu_prog_conv(prog, &t);
	memcpy(npu_bo_map(bo[2]), npu_prog_entries(prog), npu_prog_count(prog) * sizeof(uint64_t));
	task = (struct npu_task){ .regcmd = (uint32_t)bo[2]->iova, .count = (uint32_t)npu_prog_count(prog) };
	ret = ret ? ret : npu_submit(dev, &job, 1);
	npu_prog_free(prog);
	return ret ? ret : npu_bo_prep(bo[3], -1);
}

static void run(struct npu_dev *dev, const struct program *p)
{
	size_t bpe = npu_prec_bytes(p->in), out = npu_prec_bytes(p->out);
	size_t bytes[] = { p->m * p->k * bpe + NPU_FEATURE_SLACK, p->n * p->k * bpe, 4096, p->m * p->n * out };
	int8_t *a = malloc(p->m * p->k), *b = malloc(p->n * p->k);
	void *x, *w, *c = malloc(p->m * p->n * out);
	struct npu_bo *bo[4];
	uint32_t bad;
	int ret;

	for (uint32_t i = 0; i < p->m * p->k; i++)
		a[i] = rnd();
	for (uint32_t i = 0; i < p->n * p->k; i++)
		b[i] = rnd();
	for (size_t i = 0; i < ARRAY_SIZE(bo); i++)
		npu_bo_alloc(dev, bytes[i], &bo[i]);
	x = operand(a, p->m * p->k, p->in);
	w = operand(b, p->n * p->k, p->in);
	npu_pack_feature(npu_bo_map(bo[0]), x, p->k, bpe, p->m, p->k, p->m, p->k, 0);
	npu_pack_weights(npu_bo_map(bo[1]), w, p->k, 0, 1, bpe, p->n, 1, p->k, p->n, p->k, 0);
	ret = submit(dev, p, bo);
	npu_unpack_feature(c, p->n, npu_bo_map(bo[3]), out, p->m, p->n, p->m);
	bad = wrong(p, a, b, c);
	for (size_t i = 0; i < ARRAY_SIZE(bo); i++)
		npu_bo_free(bo[i]);
	tap_ok(!ret && !bad && !sim_bos(), "type %d to %d, M %u N %u K %u, %s program: error %d, %u wrong", p->in,
	       p->out, p->m, p->n, p->k, p->no_rdma ? "short" : "long", ret, bad);
	free(a);
	free(b);
	free(x);
	free(w);
	free(c);
}

static void test_programs(struct npu_dev *dev)
{
	static const enum npu_prec types[][2] = {
		{ NPU_PREC_INT8, NPU_PREC_INT32 }, { NPU_PREC_FP16, NPU_PREC_FP32 }, { NPU_PREC_FP16, NPU_PREC_FP16 },
	};
	static const uint32_t size[][3] = { { 1, 32, 32 }, { 4, 64, 96 }, { 20, 96, 160 } };

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		for (size_t t = 0; t < 2 * ARRAY_SIZE(types); t++)
			run(dev, &(struct program){ size[i][0], size[i][1], size[i][2], types[t / 2][0],
						    types[t / 2][1], t % 2 });
}

/* ---- recordings ---- */

#define ROWS	8u
#define COLS	96u
#define DEPTH	32u

static const int8_t zeros[COLS * DEPTH];

static int make_on(struct npu_dev *dev, struct one_op *o, uint32_t cores)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = COLS, .k = DEPTH };
	struct npu_rec_opts opts = { .size = sizeof(opts), .cores = cores };

	return one_op_matmul(o, dev, &d, zeros, ROWS, NPU_PREC_INT32, &opts, NULL);
}

static int make(struct npu_dev *dev, struct one_op *o)
{
	return make_on(dev, o, 3);
}

static void test_causes(struct npu_dev *dev)
{
	static const struct { int err; enum npu_cause cause; const char *text; } c[] = {
		{ -ETIME, NPU_CAUSE_TIMEOUT, "timeout" },
		{ -EIO, NPU_CAUSE_DMA_ERROR, "DMA error" },
		{ -EFAULT, NPU_CAUSE_IOMMU_FAULT, "IOMMU fault" },
		{ -ECANCELED, NPU_CAUSE_CANCELLED, "cancelled" },
		{ -ENODEV, NPU_CAUSE_DEVICE_GONE, "device gone" },
		{ -EPIPE, NPU_CAUSE_BANNED, "banned after too many failures" },
		{ -ENOTRECOVERABLE, NPU_CAUSE_RERUN, "ran twice over its own results" },
		{ -EXDEV, NPU_CAUSE_OTHER, "unknown error" },
	};
	int32_t out[ROWS * COLS];

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct one_op o;
		bool ok = !make(dev, &o) && npu_rec_info(o.rec).chains == 3;

		out[0] = 1234;
		sim_fail_job(1, c[i].err);
		ok = ok && !one_op_start(&o, zeros) && one_op_finish(&o, out, -1) == c[i].err &&
		     one_op_cause(&o) == c[i].cause && out[0] == 1234 &&
		     !strcmp(npu_strcause(one_op_cause(&o)), c[i].text) &&
		     one_op_finish(&o, out, -1) == c[i].err;
		ok = ok && !one_op_start(&o, zeros) && !one_op_finish(&o, out, -1) && !out[0] &&
		     one_op_cause(&o) == NPU_CAUSE_NONE;
		one_op_free(&o);
		tap_ok(ok, "%s is reported, stays, and a second start works", c[i].text);
	}
	tap_ok(!sim_bos() && !sim_shared_outputs, "no buffer is left, no output was shared");
}

/* A device that is unbound answers no question about its jobs. */
static void test_unplugged(struct npu_dev *dev)
{
	struct one_op o;
	int32_t out[ROWS * COLS];
	bool ok = !make(dev, &o) && !one_op_start(&o, zeros);

	sim_unplug(true);
	ok = ok && npu_rec_wait(o.rec, -1) == -ENODEV && one_op_cause(&o) == NPU_CAUSE_DEVICE_GONE &&
	     npu_rec_wait(o.rec, 0) == -ENODEV;
	sim_unplug(false);
	ok = ok && !one_op_start(&o, zeros) && !one_op_finish(&o, out, -1);
	one_op_free(&o);
	tap_ok(ok && !sim_bos(), "a device that goes away ends the run, and its cause is told");
}

/* Memory of the NPU's results is also the CPU's to write, as that of keys and values. */
static void test_rewrite(struct npu_dev *dev)
{
	static const int err[] = { -ETIME, -EFAULT, -EIO, -ECANCELED, -EPIPE, -ENODEV };
	static const int32_t in[ROWS * COLS] = { 7 };
	int32_t out[ROWS * COLS];
	bool ok = true;

	for (size_t i = 0; i < ARRAY_SIZE(err); i++) {
		struct one_op o;
		int ret = make_on(dev, &o, 1);

		sim_fail_job(0, err[i]);
		ok = ok && !ret && !one_op_start(&o, zeros) && one_op_finish(&o, out, -1) == err[i] &&
		     !npu_tensor_write(o.y, in, 0) && npu_tensor_read(o.y, out, 0) == err[i];
		sim_unplug(true);
		ok = ok && npu_tensor_write(o.y, in, 0) == -ENODEV;
		sim_unplug(false);
		one_op_free(&o);
	}
	tap_ok(ok && !sim_bos(), "what a job failed to write can be written, whatever its end was");
}

/* The driver forgets old jobs, and a filter of system calls may refuse the question. */
static void test_refused_wait(struct npu_dev *dev, int err)
{
	for (int cores = 1; cores <= 3; cores += 2) {
		struct one_op o;
		int32_t out[ROWS * COLS];
		bool ok = !make_on(dev, &o, cores);

		sim_refuse_wait(err);
		ok = ok && !one_op_start(&o, zeros) && !one_op_finish(&o, out, -1);
		sim_fail_job(cores - 1, -EIO);
		ok = ok && !one_op_start(&o, zeros) && one_op_finish(&o, out, -1) == -EIO &&
		     one_op_cause(&o) == NPU_CAUSE_DMA_ERROR && !one_op_start(&o, zeros) &&
		     !one_op_finish(&o, out, -1);
		sim_refuse_wait(0);
		one_op_free(&o);
		tap_ok(ok && !sim_bos(), "where WAIT_JOB ends with %d, buffers tell how a run on %d cores ended",
		       err, cores);
	}
}

int main(void)
{
	struct npu_dev *dev;

	npu_open(NULL, &dev);
	test_programs(dev);
	sim_features(OURS);
	test_causes(dev);
	test_unplugged(dev);
	test_refused_wait(dev, -EPERM);
	test_refused_wait(dev, -ENOENT);
	test_rewrite(dev);
	npu_close(dev);
	return tap_done();
}
