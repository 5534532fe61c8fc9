// SPDX-License-Identifier: MIT
/*
 * Direct int8 convolutions with bias and requantisation, cut into bands of
 * output rows and stretches of kernels.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npu_window.h"

#define CHANNEL_ALIGN	32u
#define KERNEL_ALIGN	32u

/* One task: a band of output rows of a stretch of kernels. */
struct band {
	uint32_t y0, rows;		/* output rows */
	uint32_t in_y0, in_rows;	/* input rows under them */
	uint32_t pad_top;
	uint32_t n0, n, np;
	size_t w_off, out_off;
	uint32_t job;
};

struct conv {
	struct npu_conv_desc d;
	uint32_t out_w, out_h;
	uint32_t cp;			/* channels with padding */
	uint32_t row_step, n_step;
	struct band *band;
	uint32_t nbands;
	uint32_t njobs;
	bool no_rdma;
	int8_t *c;
};

static struct npu_side side_x(const struct npu_conv_desc *d)
{
	return (struct npu_side){
		.in = d->in_w, .kernel = d->kw, .stride = d->stride_x, .dil = d->dil_x,
		.before = d->pad_left, .after = d->pad_right,
	};
}

static struct npu_side side_y(const struct npu_conv_desc *d)
{
	return (struct npu_side){
		.in = d->in_h, .kernel = d->kh, .stride = d->stride_y, .dil = d->dil_y,
		.before = d->pad_top, .after = d->pad_bottom,
	};
}

uint32_t npu_conv_out_w(const struct npu_conv_desc *d)
{
	struct npu_side s = side_x(d);

	return npu_side_convolves(&s) ? npu_side_out(&s) : 0;
}

uint32_t npu_conv_out_h(const struct npu_conv_desc *d)
{
	struct npu_side s = side_y(d);

	return npu_side_convolves(&s) ? npu_side_out(&s) : 0;
}

static size_t kernel_bytes(const struct conv *cv)
{
	return (size_t)cv->d.kw * cv->d.kh * cv->cp;
}

static uint64_t row_macs(const struct conv *cv)
{
	return (uint64_t)cv->out_w * kernel_bytes(cv);
}

static void place_band(const struct conv *cv, struct band *b, uint32_t y0, uint32_t n0)
{
	const struct npu_conv_desc *d = &cv->d;
	struct npu_side side = side_y(d);
	struct npu_band under;

	b->y0 = y0;
	b->rows = (uint32_t)min_u64(cv->row_step, cv->out_h - y0);
	b->n0 = n0;
	b->n = (uint32_t)min_u64(cv->n_step, d->out_c - n0);
	b->np = (uint32_t)round_up(b->n, KERNEL_ALIGN);

	under = npu_side_band(&side, y0, b->rows);
	b->pad_top = under.before;
	b->in_y0 = under.first;
	b->in_rows = under.n;
}

/* Most output rows whose input fits the banks left by the weights. */
static uint32_t rows_fit(const struct conv *cv)
{
	const struct npu_conv_desc *d = &cv->d;
	uint64_t row = (uint64_t)npu_row_entries(NPU_PREC_INT8, d->in_w, cv->cp) *
		       NPU_CBUF_ENTRY_BYTES;
	uint32_t wbanks = npu_weight_banks(kernel_bytes(cv));
	struct npu_side side = side_y(d);
	uint64_t in_rows;

	if (wbanks >= NPU_CBUF_BANKS || kernel_bytes(cv) > NPU_CBUF_BANK_BYTES)
		return 0;
	in_rows = (uint64_t)(NPU_CBUF_BANKS - wbanks) * NPU_CBUF_BANK_BYTES / row;
	return (uint32_t)min_u64(npu_side_fit(&side, min_u64(in_rows, NPU_TASK_MAX_ROWS)), cv->out_h);
}

static int choose_steps(struct conv *cv, const struct npu_opts *opts)
{
	uint64_t budget = npu_job_budget(opts);
	uint64_t total = row_macs(cv) * cv->out_h * round_up(cv->d.out_c, KERNEL_ALIGN);
	uint32_t jobs = npu_jobs_wanted(opts, total);
	uint64_t rows = rows_fit(cv), n;

	if (!rows)
		return -E2BIG;
	if (opts->max_m)
		rows = min_u64(rows, opts->max_m);
	rows = min_u64(rows, div_up(cv->out_h, jobs));
	cv->row_step = (uint32_t)rows;

	n = min_u64(NPU_TASK_MAX_N, budget / (row_macs(cv) * rows));
	if (opts->max_n)
		n = min_u64(n, opts->max_n);
	cv->n_step = (uint32_t)max_u64(n / KERNEL_ALIGN * KERNEL_ALIGN, KERNEL_ALIGN);
	cv->njobs = jobs;
	return 0;
}

static int make_bands(struct conv *cv, uint64_t budget)
{
	uint64_t nrows = div_up(cv->out_h, cv->row_step);
	uint64_t nn = div_up(cv->d.out_c, cv->n_step), per_job;
	uint32_t i = 0;

	if (nrows * nn > UINT32_MAX / 2)
		return -EINVAL;
	cv->nbands = (uint32_t)(nrows * nn);
	cv->band = calloc(cv->nbands, sizeof(*cv->band));
	if (!cv->band)
		return -ENOMEM;
	per_job = max_u64(budget / (row_macs(cv) * cv->row_step * cv->n_step), 1);
	cv->njobs = (uint32_t)max_u64(cv->njobs, div_up(cv->nbands, per_job));
	cv->njobs = (uint32_t)min_u64(cv->njobs, cv->nbands);
	for (uint32_t y = 0; y < cv->out_h; y += cv->row_step)
		for (uint32_t n = 0; n < cv->d.out_c; n += cv->n_step, i++) {
			place_band(cv, &cv->band[i], y, n);
			cv->band[i].w_off = n * kernel_bytes(cv);
			cv->band[i].job = (uint32_t)((uint64_t)i * cv->njobs / cv->nbands);
		}
	return 0;
}

static int check_desc(const struct npu_conv_desc *d)
{
	if (!npu_conv_out_w(d) || !npu_conv_out_h(d))
		return -EINVAL;
	if (!d->in_c || !d->out_c || d->in_c > 8192 || d->out_c > INT32_MAX / 2 || d->in_w > 2047)
		return -EINVAL;
	if (d->in_zp < -128 || d->in_zp > 127 || d->weight_zp < -128 || d->weight_zp > 127)
		return -ERANGE;
	return npu_requant_check(&d->rq);
}

static void conv_free(struct conv *cv)
{
	free(cv->band);
	free(cv);
}

static int conv_new(const struct npu_conv_desc *d, int8_t *c, const struct npu_opts *opts,
		    struct conv **out)
{
	static const struct npu_opts defaults;
	struct conv *cv;
	int ret = check_desc(d);

	if (ret)
		return ret;
	cv = calloc(1, sizeof(*cv));
	if (!cv)
		return -ENOMEM;
	if (!opts)
		opts = &defaults;
	cv->d = *d;
	cv->c = c;
	cv->no_rdma = opts->no_rdma;
	cv->out_w = npu_conv_out_w(d);
	cv->out_h = npu_conv_out_h(d);
	cv->cp = (uint32_t)round_up(d->in_c, CHANNEL_ALIGN);
	ret = choose_steps(cv, opts);
	if (!ret)
		ret = make_bands(cv, npu_job_budget(opts));
	if (ret)
		conv_free(cv);
	else
		*out = cv;
	return ret;
}

/*
 * The NPU multiplies raw inputs: sum x * (w - wzp).  What the input zero point
 * takes away, zp * sum(w - wzp), is a constant per kernel because positions
 * outside count as zp too, so it goes into the bias.
 */
static int fold_bias(int32_t *dst, const struct conv *cv, const int8_t *w, const int32_t *bias)
{
	size_t per = (size_t)cv->d.kw * cv->d.kh * cv->d.in_c;

	for (uint32_t n = 0; n < cv->d.out_c; n++) {
		int64_t sum = 0;

		for (size_t i = 0; i < per; i++)
			sum += w[n * per + i] - cv->d.weight_zp;
		sum = (bias ? bias[n] : 0) - sum * cv->d.in_zp;
		if (sum < INT32_MIN || sum > INT32_MAX)
			return -ERANGE;
		dst[n] = (int32_t)sum;
	}
	return 0;
}

static int alloc_outputs(struct npu_job *job, struct conv *cv)
{
	uint32_t i = 0;
	int ret;

	for (uint32_t j = 0; j < cv->njobs; j++) {
		struct npu_hw *hw = &job->hw[j];
		size_t bytes = 0;

		hw->first_task = i;
		for (; i < cv->nbands && cv->band[i].job == j; i++) {
			cv->band[i].out_off = bytes;
			bytes += (size_t)cv->out_w * cv->band[i].rows * cv->band[i].np;
			hw->ntasks++;
		}
		ret = npu_job_buffer(job, bytes, &hw->out);
		if (ret)
			return ret;
	}
	return 0;
}

static int add_task(struct npu_prog *prog, const struct npu_job *job, const struct conv *cv,
		    const struct band *b)
{
	const struct npu_conv_desc *d = &cv->d;
	struct npu_conv_task t = {
		.in = NPU_PREC_INT8, .out = NPU_PREC_INT8,
		.in_w = d->in_w, .in_h = b->in_rows, .in_c = cv->cp, .in_h_full = d->in_h,
		.out_w = cv->out_w, .out_h = b->rows, .out_h_full = b->rows, .out_c = b->np,
		.kw = d->kw, .kh = d->kh,
		.stride_x = d->stride_x, .stride_y = d->stride_y,
		.dil_x = d->dil_x, .dil_y = d->dil_y,
		.pad_left = d->pad_left, .pad_top = b->pad_top, .pad_value = d->in_zp,
		.weight_zp = d->weight_zp,
		.in_iova = job->in->iova + (uint64_t)b->in_y0 * d->in_w * 16,
		.weight_iova = job->weights->iova + b->w_off,
		.out_iova = job->hw[b->job].out->iova + b->out_off,
		.has_bias = true,
		.bias_iova = job->bias->iova + b->n0 * sizeof(int32_t),
		.rq = d->rq,
		.no_rdma = cv->no_rdma,
	};

	return npu_prog_conv(prog, &t);
}

static int add_program(struct npu_job *job, const struct conv *cv)
{
	struct npu_prog *prog = npu_prog_new();
	int ret = prog ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < cv->nbands && !ret; i++)
		ret = add_task(prog, job, cv, &cv->band[i]);
	if (!ret)
		ret = npu_job_program(job, prog);
	npu_prog_free(prog);
	return ret;
}

static int collect(struct npu_job *job)
{
	const struct conv *cv = job->priv;

	for (uint32_t i = 0; i < cv->nbands; i++) {
		const struct band *b = &cv->band[i];
		size_t pos = (size_t)cv->out_w * b->rows;

		npu_unpack_feature(cv->c + (size_t)b->y0 * cv->out_w * cv->d.out_c + b->n0,
				   cv->d.out_c,
				   (uint8_t *)job->hw[b->job].out->map + b->out_off,
				   1, pos, b->n, pos);
	}
	return 0;
}

static void release(struct npu_job *job)
{
	conv_free(job->priv);
}

struct operands {
	const int8_t *in, *weights;
	const int32_t *bias;
};

static int fill_job(struct npu_job *job, const void *arg)
{
	const struct conv *cv = job->priv;
	const struct operands *o = arg;
	const struct npu_conv_desc *d = &cv->d;
	size_t taps = (size_t)d->kw * d->kh, pos = (size_t)d->in_w * d->in_h;
	size_t np = round_up(d->out_c, KERNEL_ALIGN);
	int ret;

	ret = npu_job_buffer(job, pos * cv->cp + NPU_FEATURE_SLACK, &job->in);
	if (!ret)
		ret = npu_job_buffer(job, np * kernel_bytes(cv), &job->weights);
	if (!ret)
		ret = npu_job_buffer(job, np * sizeof(int32_t), &job->bias);
	if (!ret)
		ret = fold_bias(job->bias->map, cv, o->weights, o->bias);
	if (!ret)
		ret = alloc_outputs(job, (struct conv *)job->priv);
	if (!ret)
		ret = add_program(job, cv);
	if (ret)
		return ret;
	npu_pack_feature(job->in->map, o->in, d->in_c, 1, pos, d->in_c, pos, cv->cp, 0);
	/* Padding weights equal the zero point, so they count as nothing. */
	npu_pack_weights(job->weights->map, o->weights, taps * d->in_c, d->in_c, 1, 1,
			 d->out_c, taps, d->in_c, np, cv->cp, (uint8_t)d->weight_zp);
	return npu_job_flush(job);
}

int npu_conv_prepare(struct npu_dev *dev, const struct npu_conv_desc *desc,
		     const int8_t *in, const int8_t *weights, const int32_t *bias,
		     int8_t *c, const struct npu_opts *opts, struct npu_job **out)
{
	const struct operands o = { in, weights, bias };
	struct npu_job *job;
	struct conv *cv;
	int ret;

	ret = conv_new(desc, c, opts, &cv);
	if (ret)
		return ret;
	job = npu_job_new(dev, cv->njobs);
	if (!job) {
		conv_free(cv);
		return -ENOMEM;
	}
	job->priv = cv;
	job->collect = collect;
	job->release = release;
	job->info.k_parts = 1;
	job->info.macs = row_macs(cv) * cv->out_h * round_up(desc->out_c, KERNEL_ALIGN);
	ret = npu_job_fill(job, &o, fill_job);
	if (ret) {
		npu_job_free(job);
		return ret;
	}
	*out = job;
	return 0;
}

int npu_conv_run(struct npu_dev *dev, const struct npu_conv_desc *desc,
		 const int8_t *in, const int8_t *weights, const int32_t *bias,
		 int8_t *c, const struct npu_opts *opts)
{
	struct npu_job *job;
	int ret;

	ret = npu_conv_prepare(dev, desc, in, weights, bias, c, opts, &job);
	if (ret)
		return ret;
	ret = npu_job_start(job);
	if (!ret)
		ret = npu_sync(job, -1);
	npu_job_free(job);
	return ret;
}
