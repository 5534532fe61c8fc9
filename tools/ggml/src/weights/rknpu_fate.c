// SPDX-License-Identifier: MIT
/* Owns what weights may be for the NPU: by the chip, their type and what the user wants. */
#include "rknpu_weights.h"

enum npu_prec rknpu_prec_of_fate(enum rknpu_fate fate)
{
	return fate == RKNPU_INT8 ? NPU_PREC_INT8 : fate == RKNPU_INT4 ? NPU_PREC_INT4 : NPU_PREC_FP16;
}

static bool may_be_int8(const struct rknpu_context *ctx, const struct ggml_tensor *w)
{
	return ctx->can.int8 && w->ne[0] <= RKNPU_MOST_INT8_SUMMED;
}

/* Results of all groups lie in memory at once. */
static bool may_be_int4(const struct rknpu_context *ctx, const struct ggml_tensor *w)
{
	return ctx->can.int4 && rknpu_is_int4(w->type) && w->ne[0] * w->ne[1] <= RKNPU_MOST_INT4;
}

/* Only an NPU that does nothing more exact has floats as int8, if it is told to. */
enum rknpu_fate rknpu_best(const struct rknpu_context *ctx, const struct ggml_tensor *w)
{
	int asked = ctx->params.weights;
	bool int8 = may_be_int8(ctx, w) && (ggml_is_quantized(w->type) || (asked == RKNPU_WEIGHTS_INT8 && !ctx->can.fp16));

	if (ctx->can.fp16)
		return int8 && asked == RKNPU_WEIGHTS_INT8 ? RKNPU_INT8 : RKNPU_FP16;
	if (asked == RKNPU_WEIGHTS_INT4 && may_be_int4(ctx, w))
		return RKNPU_INT4;
	return int8 && asked != RKNPU_WEIGHTS_FP16 ? RKNPU_INT8 : RKNPU_CPU;
}

enum rknpu_fate rknpu_smallest(const struct rknpu_context *ctx, const struct ggml_tensor *w)
{
	bool leave = ctx->params.weights == RKNPU_WEIGHTS_FP16 || ctx->params.weights == RKNPU_WEIGHTS_INT8;

	if (leave || !ggml_is_quantized(w->type))
		return rknpu_best(ctx, w);
	if (may_be_int4(ctx, w))
		return RKNPU_INT4;
	return may_be_int8(ctx, w) ? RKNPU_INT8 : rknpu_best(ctx, w);
}
