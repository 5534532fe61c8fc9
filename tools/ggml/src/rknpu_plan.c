// SPDX-License-Identifier: MIT
/*
 * The planner: operations that the CPU is better at stay there.
 *
 * A product has to be worth an ioctl, an interrupt and moving its activations. Nobody has
 * measured this backend on a board; the defaults follow what others measured: a submit costs
 * 27 to 51 us, in which four Cortex-A76 do some millions of multiply-accumulates; a single row
 * was 82 times slower than on the CPU (rocket-userspace).
 *
 * The environment changes them, 0 switches one off:
 *   RKNPU_GGML_MIN_ROWS	rows of activations, at least 32
 *   RKNPU_GGML_MIN_K		columns of them, at least 64
 *   RKNPU_GGML_MIN_MACS	multiply-accumulates, at least 4 million
 *   RKNPU_GGML_MIN_REUSE	rows if the weights must be packed for this product alone: 128
 */
#include <stdlib.h>

#include "rknpu_ggml.h"

int64_t rknpu_setting(const char *name, int64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoll(text, NULL, 0) : otherwise;
}

/* Weights of a model; before it is loaded its tensors have no memory, and this is asked, too. */
static bool stays(const struct ggml_tensor *w)
{
	ggml_backend_buffer_t buffer = w->view_src ? w->view_src->buffer : w->buffer;

	return !buffer || rknpu_cache_of(w);
}

/* For each matrix of weights; if rows choose theirs, as many for each on average. */
static int64_t rows_each(const struct ggml_tensor *op)
{
	const struct ggml_tensor *w = op->src[0], *x = op->src[1];

	if (op->op == GGML_OP_MUL_MAT_ID)
		return op->ne[1] * op->ne[2] / w->ne[2];
	return x->ne[1] * (x->ne[2] / w->ne[2]);
}

bool rknpu_worthwhile(const struct ggml_tensor *op)
{
	const struct ggml_tensor *w = op->src[0];
	int64_t rows = rows_each(op);
	int64_t macs = ggml_nelements(op) * w->ne[0];

	if (rows < rknpu_setting("RKNPU_GGML_MIN_ROWS", 32) ||
	    w->ne[0] < rknpu_setting("RKNPU_GGML_MIN_K", 64) ||
	    macs < rknpu_setting("RKNPU_GGML_MIN_MACS", 4000000) || !rknpu_has_place(op))
		return false;
	return stays(w) || rows >= rknpu_setting("RKNPU_GGML_MIN_REUSE", 128);
}

/* Keys and values move with the queries, and are made weights on the NPU. */
bool rknpu_attention_worthwhile(const struct ggml_tensor *op)
{
	const struct ggml_tensor *q = op->src[0], *k = op->src[1];
	int64_t macs = 2 * ggml_nelements(q) * k->ne[1];

	return q->ne[1] >= rknpu_setting("RKNPU_GGML_MIN_ROWS", 32) &&
	       k->ne[1] >= rknpu_setting("RKNPU_GGML_MIN_K", 64) &&
	       macs >= rknpu_setting("RKNPU_GGML_MIN_MACS", 4000000);
}
