/* SPDX-License-Identifier: MIT */
/* Owns the context of the backend: what ggml knows of the device, its parameters, and what each layer keeps. */
#ifndef RKNPU_CONTEXT_H
#define RKNPU_CONTEXT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ggml_iface.h"
#include "npu.h"
#include "rknpu_ggml_stats.h"

#define RKNPU_NAME	"RKNPU"
#define RKNPU_DEVICE	"RKNPU0"

/* Products of one recording, which share activations. */
#define RKNPU_MOST_SHARED	4u

/*
 * What weights may be for the NPU, by the type that they have there; the columns that one product takes; and how many
 * cores share it unless the user says.
 */
struct rknpu_can {
	bool fp16, int8, int4;
	uint32_t columns, cores;
};

/* What the environment says; ggml.rst has the table. */
struct rknpu_params {
	int64_t min_rows, min_k, min_macs, min_reuse;
	uint32_t cores;
	enum { RKNPU_WEIGHTS_AUTO, RKNPU_WEIGHTS_FP16, RKNPU_WEIGHTS_INT8, RKNPU_WEIGHTS_INT4 } weights;
	uint64_t memory;	/* bytes for weights at most; 0 without a limit */
	bool prefetch, keep;
};

/* rknpu_params.c */
void rknpu_params_read(struct rknpu_params *p);
/* The option of ggml_backend_dev_init(), memory=BYTES; false if it is another one, or no such number. */
bool rknpu_params_parse(struct rknpu_params *p, const char *options);

/* State of ops/rknpu_prefetch.c. */
struct rknpu_prefetch {
	struct rknpu_group *groups;
	/* The product before. */
	const struct ggml_tensor *x;
	const void *data;
	struct rknpu_weights *leader;
	/* Results of a group that nobody has asked for yet, and a copy of the activations that they are of. */
	struct rknpu_group *ready;
	float *copy, *y[RKNPU_MOST_SHARED];
	uint32_t m, k, left;
};

struct rknpu_context {
	struct ggml_backend_reg reg;
	struct ggml_backend_device device;
	struct ggml_backend_buffer_type buffer_type;
	ggml_guid guid;
	struct rknpu_params params;
	bool complained;	/* that the NPU is not used, and why */

	/*
	 * Held for all that follows: ggml may call from several threads, and a libnpu device belongs to
	 * one at a time.
	 */
	pthread_mutex_t lock;
	struct rknpu_ggml_stats stats;

	/* exec */
	struct npu_dev *npu;
	struct rknpu_can can;
	char description[128];
	struct rknpu_scratch *scratch;
	struct rknpu_run *runs;		/* the newest first */

	/* weights; layouts have a lock of their own */
	pthread_mutex_t layouts_lock;
	struct rknpu_layout *layouts;
	struct rknpu_weights *newest;	/* of all buffers */
	struct rknpu_claim *claims;	/* of all buffers, the oldest first */
	bool full;			/* memory ran out since weights were last dropped */
	void (*weights_freed)(struct rknpu_context *ctx, const struct rknpu_weights *w);

	/* ops */
	struct rknpu_prefetch prefetch;

	/*
	 * backend: that the CPU computes what exceeds fp16, or has no room, in memory or in the driver, or no NPU; ggml's
	 * CPU backend, if it was needed
	 */
	bool said_range, said_memory, said_full, said_gone;
	ggml_backend_t cpu;
	/* Held while that computes; without the other lock. */
	pthread_mutex_t cpu_lock;
};

static inline void rknpu_lock(struct rknpu_context *ctx)
{
	pthread_mutex_lock(&ctx->lock);
}

static inline void rknpu_unlock(struct rknpu_context *ctx)
{
	pthread_mutex_unlock(&ctx->lock);
}

#endif /* RKNPU_CONTEXT_H */
