// SPDX-License-Identifier: MIT
/*
 * The operation matmul: tiles that fit the convolution buffer, all read from and written
 * to tensors in place.
 */
#include <errno.h>

#include "npu_recorder.h"

static bool types_fit(const struct npu_tensor *x, const struct npu_weights *w,
		      const struct npu_tensor *y)
{
	enum npu_prec out = y->shape.type;

	if (x->shape.type != w->type)
		return false;
	if (w->type == NPU_PREC_FP16)
		return out == NPU_PREC_FP16 || out == NPU_PREC_FP32;
	return w->rq.scale ? out == NPU_PREC_INT8 : out == NPU_PREC_INT32 && !w->has_bias;
}

static int check(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w,
		 const struct npu_tensor *y, const struct npu_rec_matmul_opts *opts)
{
	if (!types_fit(x, w, y))
		return npu_rec_fail(rec, -EINVAL,
				    "matmul: no mode for x of type %d, weights of %d%s%s, y of %d",
				    x->shape.type, w->type, w->rq.scale ? " requantised" : "",
				    w->has_bias ? " with bias" : "", y->shape.type);
	if (x->shape.rows != y->shape.rows || x->shape.cols != w->k || y->shape.cols != w->n)
		return npu_rec_fail(rec, -EINVAL,
				    "matmul: x %u x %u, weights %u x %u, y %u x %u do not fit",
				    x->shape.rows, x->shape.cols, w->n, w->k, y->shape.rows,
				    y->shape.cols);
	if (npu_tensor_overlap(x, y))
		return npu_rec_fail(rec, -EINVAL, "matmul: x and y share memory");
	if (opts && opts->act > NPU_ACT_RELU &&
	    (!npu_table_of(opts->act) || y->shape.type != NPU_PREC_FP16))
		return npu_rec_fail(rec, -EINVAL, "matmul: activation %d cannot be folded into y of type %d",
				    opts->act, y->shape.type);
	return 0;
}

static int make_plan(struct npu_plan *plan, const struct npu_tensor *x,
		     const struct npu_weights *w, const struct npu_rec_matmul_opts *opts)
{
	struct npu_matmul_desc d = {
		.dtype = w->type == NPU_PREC_INT8 ? NPU_INT8_INT32 : NPU_FP16_FP32,
		.m = x->shape.rows, .n = w->n, .k = w->k,
	};
	struct npu_opts o = { .jobs = 1 };

	if (opts) {
		o.max_m = opts->max_m;
		o.max_n = opts->max_n;
	}
	return npu_plan_make(plan, &d, &o);
}

static int add_tile(struct npu_rec *rec, const struct npu_tile *t, const struct npu_tensor *x,
		    const struct npu_weights *w, const struct npu_tensor *y, enum npu_act act,
		    bool first)
{
	const struct npu_table *table = npu_table_of(act);
	struct npu_conv_task task;

	npu_matmul_task(&task, w->type, y->shape.type, t->mp, t->np, w->kp);
	task.in_h_full = x->pitch;
	task.out_h_full = y->pitch;
	task.in_iova = npu_tensor_iova(x) + (uint64_t)t->m0 * NPU_ATOM_BYTES;
	task.weight_iova = w->mem->bo->iova + (uint64_t)t->n0 * w->kp * npu_prec_bytes(w->type);
	task.out_iova = npu_tensor_iova(y) +
			npu_feature_offset(npu_prec_bytes(y->shape.type), y->pitch, t->m0, t->n0);
	task.relu = act == NPU_ACT_RELU;
	task.has_bias = w->has_bias;
	if (w->has_bias)
		task.bias_iova = w->mem->bo->iova + w->bias_offset + t->n0 * sizeof(int32_t);
	if (y->shape.type == NPU_PREC_INT8)
		task.rq = w->rq;
	return npu_prog_conv_table(npu_rec_prog(rec), &task, table, table && first);
}

/* Stops soon after what a recording can hold: there may be billions of tiles. */
static void add_tiles(struct npu_rec *rec, const struct npu_plan *plan,
		      const struct npu_tensor *x, const struct npu_weights *w,
		      const struct npu_tensor *y, enum npu_act act)
{
	for (uint32_t i = 0; i < plan->ntiles; i++)
		if (add_tile(rec, &plan->tile[i], x, w, y, act, !i) ||
		    npu_prog_ntasks(npu_rec_prog(rec)) > NPU_REC_MAX_TASKS)
			return;
}

int npu_rec_matmul(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w,
		   struct npu_tensor *y, const struct npu_rec_matmul_opts *opts)
{
	struct npu_plan plan;
	int ret = npu_rec_begin(rec, "matmul");

	if (!ret)
		ret = check(rec, x, w, y, opts);
	if (!ret)
		ret = npu_rec_use(rec, x->mem, false);
	if (!ret)
		ret = npu_rec_use(rec, w->mem, false);
	if (!ret)
		ret = npu_rec_use(rec, y->mem, true);
	if (ret)
		return ret;
	ret = make_plan(&plan, x, w, opts);
	if (ret)
		return npu_rec_fail(rec, ret, "matmul: no plan for %u x %u x %u", x->shape.rows,
				    w->n, w->k);
	add_tiles(rec, &plan, x, w, y, opts ? opts->act : NPU_ACT_NONE);
	npu_plan_free(&plan);
	return npu_rec_commit(rec);
}
