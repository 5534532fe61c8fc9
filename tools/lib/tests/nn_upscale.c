// SPDX-License-Identifier: MIT
/*
 * Images that become larger in recordings, position by position.
 */
#include "nn.h"

#define I8	NPU_PREC_INT8
#define F16	NPU_PREC_FP16

static uint8_t *bytes(size_t n)
{
	uint8_t *v = malloc(n);

	for (size_t i = 0; i < n; i++)
		v[i] = (uint8_t)(nn_rnd() * 128);
	return v;
}

struct upscale_case {
	enum npu_prec type;
	uint32_t w, h, c, times_x, times_y, cores, tasks;
};

static const struct upscale_case enlarge[] = {
	{ F16, 5, 3, 32, 2, 2, 1, 4 }, { F16, 7, 4, 20, 4, 4, 1, 3 }, { I8, 3, 5, 33, 8, 8, 1, 3 },
	{ I8, 6, 2, 16, 3, 1, 1, 1 }, { F16, 1, 6, 8, 1, 5, 1, 1 }, { F16, 9, 1, 8, 7, 2, 1, 1 },
	{ I8, 4, 4, 16, 1, 1, 1, 1 }, { F16, 6, 7, 32, 2, 3, 2, 8 }, { I8, 3, 2, 96, 2, 2, 3, 6 },
};

static void upscale_case(struct npu_dev *dev, const struct upscale_case *e)
{
	size_t bpe = npu_prec_bytes(e->type), pos = e->c * bpe;
	uint32_t ow = e->w * e->times_x, oh = e->h * e->times_y;
	uint8_t *x = bytes(e->w * e->h * pos), *y = malloc(ow * oh * pos);
	struct npu_tensor *tx = nn_tensor(dev, e->type, e->w * e->h, e->c, NULL);
	struct npu_tensor *ty = nn_tensor(dev, e->type, ow * oh, e->c, NULL);
	struct npu_rec_opts o = { .size = sizeof(o), .cores = e->cores };
	struct npu_rec_info info;
	struct npu_rec *rec = NULL;
	unsigned int bad = 0;
	int ret = npu_tensor_write(tx, x, 0);

	npu_rec_new(dev, &o, &rec);
	ret = nn_run(rec, ret ? ret : npu_rec_upscale(rec, tx, e->w, e->h, e->times_x, e->times_y, ty));
	ret = ret ? ret : npu_tensor_read(ty, y, 0);
	info = npu_rec_info(rec);
	for (uint32_t i = 0; i < oh; i++)
		for (uint32_t j = 0; j < ow; j++)
			bad += !!memcmp(y + (i * ow + j) * pos,
					x + (i / e->times_y * e->w + j / e->times_x) * pos, pos);
	tap_ok(!ret && !bad && info.tasks == e->tasks && info.chains == e->cores && info.stages == 1,
	       "%u x %u of %u, type %d, %u x %u times, %u tasks in %u chains: error %d, %u wrong", e->w,
	       e->h, e->c, e->type, e->times_x, e->times_y, info.tasks, info.chains, ret, bad);
	npu_rec_free(rec);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	free(x);
	free(y);
}

static void refuse_enlarging(struct npu_dev *dev, const char *word, int err, const struct upscale_case *e,
			     enum npu_prec type, uint32_t rows)
{
	struct npu_tensor *x = nn_tensor(dev, e->type, e->w * e->h, e->c, NULL);
	struct npu_tensor *y = nn_tensor(dev, type, rows, e->c, NULL);
	struct npu_rec *rec = nn_rec(dev);
	int ret = npu_rec_upscale(rec, x, e->w, e->h, e->times_x, e->times_y, y);

	tap_ok(ret == err && strstr(npu_rec_message(rec), word), "%d, %s", ret, npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

static void test_refused_enlarging(struct npu_dev *dev)
{
	struct upscale_case e = { F16, 4, 4, 8, 2, 2, 1, 1 }, nine = { F16, 4, 4, 8, 9, 1, 1, 1 };
	struct upscale_case wide = { F16, 1400, 1, 8, 2, 4, 1, 1 };

	refuse_enlarging(dev, "no mode", -EINVAL, &e, I8, 64);
	refuse_enlarging(dev, "times as large", -EINVAL, &e, F16, 60);
	refuse_enlarging(dev, "not 1 to 8", -EINVAL, &nine, F16, 144);
	refuse_enlarging(dev, "exceed the limit", -E2BIG, &wide, F16, 1400 * 8);
}

int main(void)
{
	struct npu_dev *dev = nn_begin(OURS);

	for (size_t i = 0; i < ARRAY_SIZE(enlarge); i++)
		upscale_case(dev, &enlarge[i]);
	test_refused_enlarging(dev);
	return nn_end(dev);
}
