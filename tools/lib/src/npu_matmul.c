// SPDX-License-Identifier: MIT
/*
 * Matrix products of any size: operands laid out tile by tile, one task per
 * tile and stretch of K, partial sums added up on the CPU.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npu_internal.h"

struct matmul {
	struct npu_matmul_desc d;
	struct npu_plan plan;
	bool no_rdma;
	void *c;
	int32_t *bias;		/* copy for the CPU when K is cut, or NULL */
	size_t *a_off;		/* [tile][part] in the feature buffer */
	size_t *b_off;		/* [tile][part] in the weight buffer */
	size_t *c_off;		/* [tile] in the output buffer of its job */
};

static size_t part_index(const struct matmul *mm, uint32_t tile, uint32_t part)
{
	return (size_t)tile * mm->plan.nparts + part;
}

static size_t part_out_bytes(const struct matmul *mm, const struct npu_tile *t)
{
	return (size_t)t->mp * t->np * npu_prec_bytes(mm->plan.hw_out);
}

/*
 * Tiles of the same rows share features, tiles of the same columns share
 * weights; each block is stored once.
 */
static void place_operands(struct matmul *mm, size_t *a_bytes, size_t *b_bytes)
{
	const struct npu_plan *plan = &mm->plan;
	size_t bpe = npu_prec_bytes(plan->in), a = 0, b = 0;
	uint32_t row = 0;

	for (uint32_t i = 0; i < plan->ntiles; i++) {
		const struct npu_tile *t = &plan->tile[i];
		bool new_row = !t->n0, first_row = !t->m0;

		if (new_row)
			row = i;
		for (uint32_t k = 0; k < plan->nparts; k++) {
			size_t x = part_index(mm, i, k), kp = plan->part[k].kp;

			mm->a_off[x] = new_row ? a : mm->a_off[part_index(mm, row, k)];
			mm->b_off[x] = first_row ? b : mm->b_off[part_index(mm, i - row, k)];
			a += new_row ? t->mp * kp * bpe : 0;
			b += first_row ? t->np * kp * bpe : 0;
		}
	}
	*a_bytes = a;
	*b_bytes = b;
}

static void pack_a(struct npu_job *job, struct matmul *mm, const uint8_t *a)
{
	const struct npu_plan *plan = &mm->plan;
	size_t bpe = npu_prec_bytes(plan->in), lda = mm->d.lda;

	for (uint32_t i = 0; i < plan->ntiles; i++) {
		const struct npu_tile *t = &plan->tile[i];

		for (uint32_t k = 0; k < plan->nparts && !t->n0; k++) {
			const struct npu_kpart *p = &plan->part[k];

			npu_pack_feature((uint8_t *)job->in->map + mm->a_off[part_index(mm, i, k)],
					 a + (t->m0 * lda + p->k0) * bpe, lda, bpe,
					 t->m, p->k, t->mp, p->kp, 0);
		}
	}
}

static void pack_b(struct npu_job *job, struct matmul *mm, const uint8_t *b)
{
	const struct npu_plan *plan = &mm->plan;
	size_t bpe = npu_prec_bytes(plan->in);
	size_t sn = mm->d.b_is_kn ? 1 : mm->d.ldb;
	size_t sk = mm->d.b_is_kn ? mm->d.ldb : 1;

	for (uint32_t i = 0; i < plan->ntiles && !plan->tile[i].m0; i++) {
		const struct npu_tile *t = &plan->tile[i];

		for (uint32_t k = 0; k < plan->nparts; k++) {
			const struct npu_kpart *p = &plan->part[k];

			npu_pack_weights((uint8_t *)job->weights->map +
					 mm->b_off[part_index(mm, i, k)],
					 b + (t->n0 * sn + p->k0 * sk) * bpe, sn, 0, sk, bpe,
					 t->n, 1, p->k, t->np, p->kp, 0);
		}
	}
}

static int alloc_outputs(struct npu_job *job, struct matmul *mm)
{
	const struct npu_plan *plan = &mm->plan;
	uint32_t i = 0;
	int ret;

	for (uint32_t j = 0; j < plan->njobs; j++) {
		struct npu_hw *hw = &job->hw[j];
		size_t bytes = 0;

		hw->first_task = i * plan->nparts;
		for (; i < plan->ntiles && plan->tile[i].job == j; i++) {
			mm->c_off[i] = bytes;
			bytes += part_out_bytes(mm, &plan->tile[i]) * plan->nparts;
			hw->ntasks += plan->nparts;
		}
		ret = npu_job_buffer(job, bytes, &hw->out);
		if (ret)
			return ret;
	}
	return 0;
}

static int add_task(struct npu_prog *prog, const struct npu_job *job, const struct matmul *mm,
		    uint32_t tile, uint32_t part)
{
	const struct npu_plan *plan = &mm->plan;
	const struct npu_tile *t = &plan->tile[tile];
	size_t x = part_index(mm, tile, part);
	struct npu_conv_task task;

	npu_matmul_task(&task, plan->in, plan->hw_out, t->mp, t->np, plan->part[part].kp);
	task.no_rdma = mm->no_rdma;
	task.in_iova = job->in->iova + mm->a_off[x];
	task.weight_iova = job->weights->iova + mm->b_off[x];
	task.out_iova = job->hw[t->job].out->iova + mm->c_off[tile] +
			part * part_out_bytes(mm, t);
	if (plan->hw_out == NPU_PREC_INT8) {
		task.rq = mm->d.rq;
		task.has_bias = job->bias;
		if (job->bias)
			task.bias_iova = job->bias->iova + t->n0 * sizeof(int32_t);
	}
	return npu_prog_conv(prog, &task);
}

static int add_program(struct npu_job *job, const struct matmul *mm)
{
	struct npu_prog *prog = npu_prog_new();
	int ret = prog ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < mm->plan.ntiles && !ret; i++)
		for (uint32_t k = 0; k < mm->plan.nparts && !ret; k++)
			ret = add_task(prog, job, mm, i, k);
	if (!ret)
		ret = npu_job_program(job, prog);
	npu_prog_free(prog);
	return ret;
}

/* The NPU adds the bias unless K is cut; then the CPU does, after the sum. */
static int add_bias(struct npu_job *job, struct matmul *mm, const int32_t *bias)
{
	size_t bytes = mm->d.n * sizeof(*bias);
	int ret;

	if (!bias)
		return 0;
	if (mm->plan.hw_out != NPU_PREC_INT8) {
		free(mm->bias);
		mm->bias = malloc(bytes);
		if (!mm->bias)
			return -ENOMEM;
		memcpy(mm->bias, bias, bytes);
		return 0;
	}
	ret = npu_job_buffer(job, round_up(bytes, 128), &job->bias);
	if (!ret)
		memcpy(job->bias->map, bias, bytes);
	return ret;
}

static int32_t sum_i32(const uint8_t *part, size_t stride, uint32_t nparts)
{
	uint32_t sum = 0;
	int32_t v;

	for (uint32_t k = 0; k < nparts; k++) {
		memcpy(&v, part + k * stride, sizeof(v));
		sum += (uint32_t)v;
	}
	memcpy(&v, &sum, sizeof(v));
	return v;
}

static float sum_f32(const uint8_t *part, size_t stride, uint32_t nparts)
{
	float sum, v;

	memcpy(&sum, part, sizeof(sum));
	for (uint32_t k = 1; k < nparts; k++) {
		memcpy(&v, part + k * stride, sizeof(v));
		sum += v;
	}
	return sum;
}

static void store_sum(const struct matmul *mm, size_t i, uint32_t n, const uint8_t *part,
		      size_t stride)
{
	uint32_t nparts = mm->plan.nparts;
	int64_t acc;

	switch (mm->d.dtype) {
	case NPU_INT8_INT32:
		((int32_t *)mm->c)[i] = sum_i32(part, stride, nparts);
		break;
	case NPU_INT8_INT8:
		acc = sum_i32(part, stride, nparts);
		acc += mm->bias ? mm->bias[n] : 0;
		((int8_t *)mm->c)[i] = npu_requant_apply(&mm->d.rq, acc);
		break;
	case NPU_FP16_FP32:
		((float *)mm->c)[i] = sum_f32(part, stride, nparts);
		break;
	case NPU_FP16_FP16:
		((uint16_t *)mm->c)[i] = npu_f32_to_f16(sum_f32(part, stride, nparts));
		break;
	}
}

static void collect_sums(const struct matmul *mm, const struct npu_tile *t, const uint8_t *out)
{
	size_t stride = part_out_bytes(mm, t);

	for (uint32_t m = 0; m < t->m; m++)
		for (uint32_t n = 0; n < t->n; n++)
			store_sum(mm, (t->m0 + m) * mm->d.ldc + t->n0 + n, t->n0 + n,
				  out + npu_feature_offset(4, t->mp, m, n), stride);
}

static int collect(struct npu_job *job)
{
	const struct matmul *mm = job->priv;
	const struct npu_plan *plan = &mm->plan;
	size_t bpe = npu_prec_bytes(plan->hw_out);

	for (uint32_t i = 0; i < plan->ntiles; i++) {
		const struct npu_tile *t = &plan->tile[i];
		const uint8_t *out = (uint8_t *)job->hw[t->job].out->map + mm->c_off[i];

		if (plan->nparts > 1)
			collect_sums(mm, t, out);
		else
			npu_unpack_feature((uint8_t *)mm->c +
					   (t->m0 * mm->d.ldc + t->n0) * bpe, mm->d.ldc,
					   out, bpe, t->m, t->n, t->mp);
	}
	return 0;
}

static void matmul_free(struct matmul *mm)
{
	npu_plan_free(&mm->plan);
	free(mm->bias);
	free(mm->a_off);
	free(mm->b_off);
	free(mm->c_off);
	free(mm);
}

static void release(struct npu_job *job)
{
	matmul_free(job->priv);
}

static int check_desc(struct npu_matmul_desc *d, const int32_t *bias)
{
	size_t b_row = d->b_is_kn ? d->n : d->k;

	d->lda = d->lda ? d->lda : d->k;
	d->ldb = d->ldb ? d->ldb : b_row;
	d->ldc = d->ldc ? d->ldc : d->n;
	if (d->lda < d->k || d->ldb < b_row || d->ldc < d->n)
		return -EINVAL;
	if (d->dtype != NPU_INT8_INT8)
		return bias ? -EINVAL : 0;
	return npu_requant_check(&d->rq);
}

static struct matmul *matmul_new(const struct npu_matmul_desc *desc, const int32_t *bias,
				 void *c, const struct npu_opts *opts, int *err)
{
	struct matmul *mm = calloc(1, sizeof(*mm));
	size_t n;

	*err = -ENOMEM;
	if (!mm)
		return NULL;
	mm->d = *desc;
	mm->c = c;
	mm->no_rdma = opts && opts->no_rdma;
	*err = check_desc(&mm->d, bias);
	if (!*err)
		*err = npu_plan_make(&mm->plan, &mm->d, opts);
	if (*err)
		goto fail;
	n = (size_t)mm->plan.ntiles * mm->plan.nparts;
	mm->a_off = calloc(n, sizeof(size_t));
	mm->b_off = calloc(n, sizeof(size_t));
	mm->c_off = calloc(mm->plan.ntiles, sizeof(size_t));
	*err = -ENOMEM;
	if (mm->a_off && mm->b_off && mm->c_off)
		return mm;
fail:
	matmul_free(mm);
	return NULL;
}

struct operands {
	const void *a, *b;
	const int32_t *bias;
};

static int fill_job(struct npu_job *job, const void *arg)
{
	const struct operands *o = arg;
	struct matmul *mm = job->priv;
	size_t a_bytes, b_bytes;
	int ret;

	place_operands(mm, &a_bytes, &b_bytes);
	ret = npu_job_buffer(job, a_bytes + NPU_FEATURE_SLACK, &job->in);
	if (!ret)
		ret = npu_job_buffer(job, b_bytes, &job->weights);
	if (!ret)
		ret = add_bias(job, mm, o->bias);
	if (!ret)
		ret = alloc_outputs(job, mm);
	if (!ret)
		ret = add_program(job, mm);
	if (ret)
		return ret;
	pack_a(job, mm, o->a);
	pack_b(job, mm, o->b);
	return npu_job_flush(job);
}

int npu_matmul_prepare(struct npu_dev *dev, const struct npu_matmul_desc *desc,
		       const void *a, const void *b, const int32_t *bias, void *c,
		       const struct npu_opts *opts, struct npu_job **out)
{
	const struct operands o = { a, b, bias };
	struct matmul *mm;
	struct npu_job *job;
	int ret;

	mm = matmul_new(desc, bias, c, opts, &ret);
	if (!mm)
		return ret;
	job = npu_job_new(dev, mm->plan.njobs);
	if (!job) {
		matmul_free(mm);
		return -ENOMEM;
	}
	job->priv = mm;
	job->collect = collect;
	job->release = release;
	job->info.k_parts = mm->plan.nparts;
	job->info.macs = mm->plan.macs;
	ret = npu_job_fill(job, &o, fill_job);
	if (ret) {
		npu_job_free(job);
		return ret;
	}
	*out = job;
	return 0;
}

struct npu_job *npu_matmul_submit(struct npu_dev *dev, const struct npu_matmul_desc *desc,
				  const void *a, const void *b, const int32_t *bias,
				  void *c, const struct npu_opts *opts)
{
	struct npu_job *job;
	int ret;

	ret = npu_matmul_prepare(dev, desc, a, b, bias, c, opts, &job);
	if (ret) {
		errno = -ret;
		return NULL;
	}
	ret = npu_job_start(job);
	if (ret) {
		npu_job_free(job);
		errno = -ret;
		return NULL;
	}
	return job;
}

int npu_matmul_run(struct npu_dev *dev, const struct npu_matmul_desc *desc,
		   const void *a, const void *b, const int32_t *bias, void *c,
		   const struct npu_opts *opts)
{
	struct npu_job *job = npu_matmul_submit(dev, desc, a, b, bias, c, opts);
	int ret;

	if (!job)
		return -errno;
	ret = npu_sync(job, -1);
	npu_job_free(job);
	return ret;
}
