/* SPDX-License-Identifier: MIT */
/* Owns what the device asks of graphs. */
#ifndef RKNPU_BACKEND_H
#define RKNPU_BACKEND_H

#include "ops/rknpu_ops.h"

/* Is the operation for this backend? */
bool ggml_backend_rknpu_supports_op(struct rknpu_context *ctx, const struct ggml_tensor *op);
ggml_backend_t ggml_backend_rknpu_init(struct rknpu_context *ctx);

#endif /* RKNPU_BACKEND_H */
