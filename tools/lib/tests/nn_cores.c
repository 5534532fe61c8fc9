// SPDX-License-Identifier: MIT
/*
 * Recordings of several cores: results are those of one core, chains of a stage are independent,
 * and stages wait for each other. The simulator runs jobs as late as their lists allow first.
 */
#include <unistd.h>

#include "ops/npu_parts.h"
#include "nn.h"

#define ROWS	40u
#define WIDTH	96u
#define LONG	4200u
/* Columns of which halves take more than 1 MiB of weights. */
#define MANY	5472u

/* Operands of all cases, and one result. */
struct data {
	struct npu_tensor *x, *z, *row, *col, *mid, *y, *wide, *broad, *one;
	struct npu_weights *w, *back, *sum, *many;
};

static float *random_half(size_t n, float **v)
{
	free(*v);
	*v = nn_floats(n, 1);
	return *v;
}

static void make(struct data *d, struct npu_dev *dev)
{
	float *v = NULL, *bias;

	nn_seed = 5;
	bias = nn_floats(WIDTH, 1);
	d->x = nn_tensor(dev, NPU_PREC_FP16, ROWS, WIDTH, random_half(ROWS * WIDTH, &v));
	d->z = nn_tensor(dev, NPU_PREC_FP16, ROWS, WIDTH, random_half(ROWS * WIDTH, &v));
	d->row = nn_tensor(dev, NPU_PREC_FP16, 1, WIDTH, random_half(WIDTH, &v));
	d->col = nn_tensor(dev, NPU_PREC_FP16, ROWS, 1, random_half(ROWS, &v));
	d->wide = nn_tensor(dev, NPU_PREC_FP16, 2, LONG, random_half(2 * LONG, &v));
	d->w = nn_weights(dev, WIDTH, WIDTH, random_half(WIDTH * WIDTH, &v), bias);
	d->back = nn_weights(dev, WIDTH, WIDTH, random_half(WIDTH * WIDTH, &v), NULL);
	d->sum = nn_weights(dev, WIDTH, LONG, random_half(WIDTH * LONG, &v), bias);
	d->many = nn_weights(dev, MANY, WIDTH, random_half(MANY * WIDTH, &v), NULL);
	d->broad = nn_result(dev, NPU_PREC_FP16, ROWS, MANY);
	d->mid = nn_result(dev, NPU_PREC_FP16, ROWS, WIDTH);
	d->y = nn_result(dev, NPU_PREC_FP16, ROWS, WIDTH);
	d->one = nn_result(dev, NPU_PREC_FP16, ROWS, 1);
	free(v);
	free(bias);
}

static void drop(struct data *d)
{
	struct npu_tensor *t[] = { d->x, d->z, d->row, d->col, d->mid, d->y, d->wide, d->broad, d->one };
	struct npu_weights *w[] = { d->w, d->back, d->sum, d->many };

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		npu_tensor_free(t[i]);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		npu_weights_free(w[i]);
}

/* A row or two of the operands: by columns. */
static int by_columns(struct npu_rec *rec, struct data *d)
{
	struct npu_rec_matmul_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU };
	struct npu_tensor x = npu_part(d->x, 0, 1, 0, WIDTH), y = npu_part(d->y, 8, 1, 0, WIDTH);

	return npu_rec_matmul(rec, &x, d->w, &y, &relu);
}

static int long_sums(struct npu_rec *rec, struct data *d)
{
	struct npu_tensor y = npu_part(d->y, 0, 2, 0, WIDTH);

	return npu_rec_matmul(rec, d->wide, d->sum, &y, NULL);
}

static int by_rows(struct npu_rec *rec, struct data *d)
{
	return npu_rec_matmul(rec, d->x, d->w, d->y, NULL);
}

static int elements(struct npu_rec *rec, struct data *d)
{
	int ret = npu_rec_add(rec, d->x, d->row, d->mid);

	return ret ? ret : npu_rec_mul(rec, d->mid, d->col, d->y);
}

static int gated(struct npu_rec *rec, struct data *d)
{
	return npu_rec_act(rec, NPU_ACT_SILU, d->x, d->y);
}

static int causal(struct npu_rec *rec, struct data *d)
{
	struct npu_softmax_opts o = { .size = sizeof(o), .causal = true };

	return npu_rec_softmax(rec, d->x, d->y, &o);
}

static int norms(struct npu_rec *rec, struct data *d)
{
	struct npu_norm_opts o = { .size = sizeof(o), .gamma = d->row };
	int ret = npu_rec_layer_norm(rec, d->x, d->mid, &o);

	return ret ? ret : npu_rec_rms_norm(rec, d->mid, d->y, NULL);
}

static int reductions(struct npu_rec *rec, struct data *d)
{
	int ret = npu_rec_reduce_max(rec, d->x, d->one);

	ret = ret ? ret : npu_rec_add(rec, d->x, d->one, d->mid);
	ret = ret ? ret : npu_rec_reduce_mean(rec, d->mid, d->one);
	return ret ? ret : npu_rec_sub(rec, d->x, d->one, d->y);
}

static int heads(struct npu_rec *rec, struct data *d)
{
	struct npu_attention_opts o = { .size = sizeof(o), .heads = 3, .causal = true };

	return npu_rec_attention(rec, d->x, d->z, d->x, d->y, &o);
}

static int queries(struct npu_rec *rec, struct data *d)
{
	struct npu_attention_opts o = { .size = sizeof(o), .heads = 3, .kv_heads = 1 };
	struct npu_tensor k = npu_part(d->z, 0, ROWS, 0, 32), v = npu_part(d->x, 0, ROWS, 32, 32);

	return npu_rec_attention(rec, d->x, &k, &v, d->y, &o);
}

/* By columns, and then a core needs what the others made. */
static int two_layers(struct npu_rec *rec, struct data *d)
{
	struct npu_tensor x = npu_part(d->x, 0, 1, 0, WIDTH), mid = npu_part(d->mid, 0, 1, 0, WIDTH);
	struct npu_tensor y = npu_part(d->y, 0, 1, 0, WIDTH);
	int ret = npu_rec_matmul(rec, &x, d->w, &mid, NULL);

	return ret ? ret : npu_rec_matmul(rec, &mid, d->back, &y, NULL);
}

/* Rows of mid are transposed by one core, which the others wait for, and then overwrite. */
static int crossed(struct npu_rec *rec, struct data *d)
{
	struct npu_tensor mid = npu_part(d->mid, 0, ROWS, 0, 32), turned = npu_part(d->y, 0, 32, 0, ROWS);
	int ret = npu_rec_matmul(rec, d->x, d->w, d->mid, NULL);

	ret = ret ? ret : npu_rec_transpose(rec, &mid, &turned);
	ret = ret ? ret : npu_rec_max(rec, d->x, d->z, d->mid);
	turned = npu_part(d->y, 0, 32, 64, 32);
	mid = npu_part(d->mid, 0, 32, 0, 32);
	return ret ? ret : npu_rec_act(rec, NPU_ACT_TANH, &mid, &turned);
}

/* Each core fetches a part of them; then all need what all have computed. */
static int many_weights(struct npu_rec *rec, struct data *d)
{
	struct npu_tensor first = npu_part(d->broad, 0, ROWS, 0, WIDTH);
	int ret = npu_rec_matmul(rec, d->x, d->many, d->broad, NULL);

	return ret ? ret : npu_rec_matmul(rec, &first, d->back, d->y, NULL);
}

static const struct op_case {
	const char *name;
	int (*append)(struct npu_rec *rec, struct data *d);
	uint32_t stages[2];	/* of two and three cores */
} cases[] = {
	{ "a product by columns", by_columns, { 1, 1 } },
	{ "sums of several programs by columns", long_sums, { 1, 1 } },
	{ "a product by rows", by_rows, { 1, 1 } },
	{ "operands per column and per row", elements, { 1, 1 } },
	{ "SiLU", gated, { 1, 1 } },
	{ "a causal softmax", causal, { 1, 1 } },
	{ "norms one after the other", norms, { 1, 1 } },
	{ "reductions", reductions, { 1, 1 } },
	{ "attention by heads", heads, { 1, 1 } },
	{ "attention by heads of queries", queries, { 1, 1 } },
	{ "two layers by columns", two_layers, { 2, 2 } },
	{ "many weights by columns, few by rows", many_weights, { 2, 2 } },
	{ "what one core does in between", crossed, { 3, 4 } },
};

static int run(struct npu_dev *dev, struct data *d, const struct op_case *c, uint32_t cores,
	       struct npu_rec_info *info, uint16_t *y)
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
	struct npu_rec *rec;
	int ret = npu_rec_new(dev, &o, &rec);

	ret = ret ? ret : nn_run(rec, c->append(rec, d));
	*info = npu_rec_info(rec);
	npu_rec_free(rec);
	return ret ? ret : npu_tensor_read(d->y, y, 0);
}

static void test_case(struct npu_dev *dev, const struct op_case *c)
{
	static uint16_t want[ROWS * WIDTH], got[ROWS * WIDTH];
	struct npu_rec_info info;
	struct data d;
	unsigned int jobs;
	int ret;

	for (uint32_t cores = 1; cores <= NPU_MAX_CORES; cores++) {
		uint32_t stages = cores > 1 ? c->stages[cores - 2] : 1;

		make(&d, dev);
		jobs = sim_jobs;
		ret = run(dev, &d, c, cores, &info, cores > 1 ? got : want);
		drop(&d);
		tap_ok(!ret && info.stages == stages && sim_depth == stages &&
		       sim_jobs - jobs == 2 * info.chains && info.chains <= cores * stages &&
		       info.chains >= cores + stages - 1 && !sim_bos(),
		       "%s, %u cores: %u chains in %u stages, %u jobs deep, error %d", c->name, cores,
		       info.chains, info.stages, sim_depth, ret);
		if (cores > 1)
			tap_ok(!memcmp(got, want, sizeof(want)), "the same as of one core");
	}
}

/* ---- placed by the caller ---- */

/* Two layers of the rows of each core, which needs nothing of the others. */
static int append_placed(struct npu_rec *rec, struct data *d)
{
	int ret = 0;

	for (int i = 0; !ret && i < 3; i++) {
		uint32_t row = (uint32_t)i * 16, rows = (uint32_t)min_u64(ROWS - row, 16);
		struct npu_tensor x = npu_part(d->x, row, rows, 0, WIDTH);
		struct npu_tensor mid = npu_part(d->mid, row, rows, 0, WIDTH);
		struct npu_tensor y = npu_part(d->y, row, rows, 0, WIDTH);

		ret = npu_rec_on(rec, i);
		ret = ret ? ret : npu_rec_matmul(rec, &x, d->w, &mid, NULL);
		ret = ret ? ret : npu_rec_matmul(rec, &mid, d->back, &y, NULL);
	}
	return ret;
}

static void test_placed(struct npu_dev *dev)
{
	static uint16_t want[ROWS * WIDTH], got[ROWS * WIDTH];
	static const struct op_case placed = { "", append_placed, { 1, 1 } };
	struct npu_rec_opts o = { .size = sizeof(o), .cores = 3 };
	struct npu_rec_failure f = { .size = sizeof(f) };
	struct npu_rec_info info;
	struct npu_rec *rec;
	struct data d;
	int ret;

	sim_features(0);
	make(&d, dev);
	ret = run(dev, &d, &placed, 3, &info, want);
	drop(&d);
	tap_ok(!ret && info.chains == 1, "a driver without SUBMIT_EXT has one core");
	sim_features(OURS);
	make(&d, dev);
	ret = run(dev, &d, &placed, 3, &info, got);
	tap_ok(!ret && info.chains == 3 && info.stages == 1 && sim_depth == 1 &&
	       !memcmp(got, want, sizeof(want)), "operations placed on three cores: error %d", ret);

	npu_rec_new(dev, &o, &rec);
	ret = append_placed(rec, &d);
	ret = ret ? ret : npu_rec_end(rec);
	info = npu_rec_info(rec);
	/* The second task of the last core. */
	sim_hang_task((int)info.tasks - 1);
	ret = ret ? ret : npu_rec_run(rec);
	tap_ok(!ret && npu_rec_wait(rec, -1) == -ETIME && !npu_rec_failure(rec, &f) && f.op == 5 &&
	       !strcmp(f.op_name, "matmul") && f.task == (int)info.tasks - 1 && f.core == 0,
	       "a hang tells operation, task and core");
	memset(got, 0, sizeof(got));
	tap_ok(!npu_rec_run(rec) && !npu_rec_wait(rec, -1) && !npu_tensor_read(d.y, got, 0) &&
	       !memcmp(got, want, sizeof(want)), "and the next run is right");
	npu_rec_free(rec);

	npu_rec_new(dev, &o, &rec);
	tap_ok(npu_rec_on(rec, 3) == -EINVAL && strstr(npu_rec_message(rec), "core 3"),
	       "a core that the recording does not have");
	npu_rec_free(rec);
	o.cores = 4;
	tap_ok(npu_rec_new(dev, &o, &rec) == -EINVAL, "more cores than there are");
	drop(&d);
	tap_ok(!sim_bos(), "nothing is left");
}

/* Others that see the result have to wait for all cores: for a job that does. */
static void test_foreign(struct npu_dev *dev)
{
	static uint16_t want[ROWS * WIDTH], got[ROWS * WIDTH];
	struct npu_rec_opts o = { .size = sizeof(o), .cores = 3 };
	struct npu_rec_failure f = { .size = sizeof(f) };
	struct npu_rec *rec = NULL;
	struct data d;
	uint64_t offset;
	int fd = -1, ret;

	make(&d, dev);
	npu_rec_new(dev, &o, &rec);
	ret = npu_rec_add(rec, d.x, d.z, d.y);
	ret = ret ? ret : npu_rec_end(rec);
	for (unsigned int seen = 0; seen < 2; seen++) {
		unsigned int jobs = sim_jobs, submits = sim_submits;

		if (seen)
			ret = ret ? ret : npu_tensor_export(d.y, &fd, &offset);
		ret = ret ? ret : npu_rec_run(rec);
		ret = ret ? ret : npu_rec_wait(rec, -1);
		ret = ret ? ret : npu_tensor_read(d.y, seen ? got : want, 0);
		tap_ok(!ret && sim_jobs - jobs == 3 + seen && sim_depth == 1 + seen && sim_submits - submits == 1,
		       "three cores write what others %s: %u jobs, %u of them in turns: error %d",
		       seen ? "see" : "do not see", sim_jobs - jobs, sim_depth, ret);
	}
	tap_ok(!memcmp(want, got, sizeof(got)), "and it is the same");
	sim_hang_task((int)npu_rec_info(rec).tasks);
	tap_ok(!npu_rec_run(rec) && npu_rec_wait(rec, -1) == -ETIME && !npu_rec_failure(rec, &f) &&
	       f.op == -1 && f.task == -1, "a hang of what joins them is none of an operation");
	tap_ok(!npu_rec_run(rec) && !npu_rec_wait(rec, -1) && !npu_tensor_read(d.y, got, 0) &&
	       !memcmp(want, got, sizeof(got)), "and the next run is right");
	npu_rec_free(rec);
	close(fd);
	drop(&d);
	tap_ok(!sim_bos(), "nothing is left");
}

/* What runs already has no job that joins, so that it is over before others see the memory. */
static void test_export_late(struct npu_dev *dev)
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = 3 };
	struct npu_rec *rec = NULL;
	unsigned int jobs;
	struct data d;
	uint64_t offset;
	int fd = -1, ret;

	make(&d, dev);
	npu_rec_new(dev, &o, &rec);
	ret = npu_rec_add(rec, d.x, d.z, d.y);
	ret = ret ? ret : npu_rec_end(rec);
	sim_late(true);
	jobs = sim_jobs;
	ret = ret ? ret : npu_rec_run(rec);
	tap_ok(!ret && sim_jobs == jobs, "three cores write what nobody else sees: error %d", ret);
	ret = npu_tensor_export(d.y, &fd, &offset);
	tap_ok(!ret && sim_jobs - jobs == 3, "who exports it meanwhile waits for them: %u jobs, error %d",
	       sim_jobs - jobs, ret);
	tap_ok(!npu_rec_wait(rec, -1), "and they are right");
	sim_late(false);
	npu_rec_free(rec);
	close(fd);
	drop(&d);
	tap_ok(!sim_bos(), "nothing is left");
}

int main(void)
{
	struct npu_dev *dev;

	npu_open(NULL, &dev);
	sim_features(OURS);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		test_case(dev, &cases[i]);
	test_placed(dev);
	test_foreign(dev);
	test_export_late(dev);
	npu_close(dev);
	return tap_done();
}
