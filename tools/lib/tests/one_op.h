/* SPDX-License-Identifier: MIT */
/*
 * A recording of one product or convolution, with the weights and tensors that belong to it.
 */
#ifndef ONE_OP_H
#define ONE_OP_H

#include "npu.h"

struct one_op {
	struct npu_weights *w;
	struct npu_tensor *x, *y;
	struct npu_rec *rec;
};

/* Without an operation yet; after an error one_op_free() is for what there is. */
static inline int one_op_make(struct one_op *o, struct npu_dev *dev, const struct npu_shape *x,
			      const struct npu_shape *y, const struct npu_rec_opts *opts)
{
	int ret = npu_tensor_new(dev, x->type, x->rows, x->cols, &o->x);

	if (!ret)
		ret = npu_tensor_new(dev, y->type, y->rows, y->cols, &o->y);
	return ret ? ret : npu_rec_new(dev, opts, &o->rec);
}

/* @rows of the operand, and results of @type. */
static inline int one_op_matmul(struct one_op *o, struct npu_dev *dev, const struct npu_weights_desc *w,
				const void *weights, uint32_t rows, enum npu_prec type,
				const struct npu_rec_opts *opts, const struct npu_rec_matmul_opts *how)
{
	const struct npu_shape x = { w->type, rows, w->k }, y = { type, rows, w->n };
	int ret;

	*o = (struct one_op){ 0 };
	ret = npu_weights_new(dev, w, weights, &o->w);
	if (!ret)
		ret = one_op_make(o, dev, &x, &y, opts);
	if (!ret)
		ret = npu_rec_matmul(o->rec, o->x, o->w, o->y, how);
	return ret ? ret : npu_rec_end(o->rec);
}

static inline int one_op_conv(struct one_op *o, struct npu_dev *dev, const struct npu_conv_weights_desc *w,
			      const void *weights, const struct npu_window *win,
			      const struct npu_rec_opts *opts, const struct npu_rec_conv_opts *how)
{
	const struct npu_shape x = { w->type, win->in_w * win->in_h, w->in_c };
	const struct npu_shape y = { w->type, npu_window_out_w(win) * npu_window_out_h(win), w->out_c };
	int ret;

	*o = (struct one_op){ 0 };
	ret = npu_conv_weights_new(dev, w, weights, &o->w);
	if (!ret)
		ret = one_op_make(o, dev, &x, &y, opts);
	if (!ret)
		ret = npu_rec_conv(o->rec, o->x, o->w, win, o->y, how);
	return ret ? ret : npu_rec_end(o->rec);
}

static inline int one_op_start(struct one_op *o, const void *x)
{
	int ret = npu_tensor_write(o->x, x, 0);

	return ret ? ret : npu_rec_run(o->rec);
}

/* Leaves @y alone unless it returns 0. */
static inline int one_op_finish(struct one_op *o, void *y, int64_t timeout_ns)
{
	int ret = npu_rec_wait(o->rec, timeout_ns);

	return ret ? ret : npu_tensor_read(o->y, y, 0);
}

static inline enum npu_cause one_op_cause(const struct one_op *o)
{
	struct npu_rec_failure f = { .size = sizeof(f) };

	return npu_rec_failure(o->rec, &f) ? NPU_CAUSE_NONE : f.cause;
}

static inline void one_op_free(struct one_op *o)
{
	npu_rec_free(o->rec);
	npu_tensor_free(o->x);
	npu_tensor_free(o->y);
	npu_weights_free(o->w);
	*o = (struct one_op){ 0 };
}

#endif /* ONE_OP_H */
