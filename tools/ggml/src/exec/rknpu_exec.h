/* SPDX-License-Identifier: MIT */
/* Owns what computing needs of the NPU: the open device, and recordings with the tensors that they share. */
#ifndef RKNPU_EXEC_H
#define RKNPU_EXEC_H

#include <errno.h>

#include "rknpu_context.h"

/* Tensors of a recording, and numbers that say what it is for, beside its rows. */
#define RKNPU_MOST_TENSORS	6u
#define RKNPU_SHAPE		5u

/* Opens the NPU if it is not open yet; 0 or a negative errno. */
int rknpu_open(struct rknpu_context *ctx);
/* The backend's counters and libnpu's. */
void rknpu_get_stats(struct rknpu_context *ctx, struct rknpu_ggml_stats *stats);

/*
 * A recording, made once for some rows of activations and some weights, and kept until the weights go.
 * @record appends the operations; it gets tensors by rknpu_run_tensor().
 */
struct rknpu_run {
	struct rknpu_context *ctx;
	int (*record)(struct rknpu_run *run);
	uint32_t m, shape[RKNPU_SHAPE], n;	/* rows are those of rknpu_run_rows() */
	struct rknpu_weights *w[RKNPU_MOST_SHARED];
	struct npu_rec *rec;
	struct npu_tensor *t[RKNPU_MOST_TENSORS];
	struct rknpu_run *next;
};

/* The one that was made with all that is in @want, or a new one. */
int rknpu_run_get(const struct rknpu_run *want, struct rknpu_run **out);
/* Tensor @i of a run: number @which of that shape, which all recordings share. */
int rknpu_run_tensor(struct rknpu_run *run, uint32_t i, struct npu_shape shape, uint32_t which);
/* Rows that a recording for @m of them has: few numbers, so that prompts of other lengths use it again. */
uint32_t rknpu_run_rows(uint32_t m);
/* The first @m rows of a tensor that has as many or more; what follows them stays. @ld as for npu_tensor_write(). */
int rknpu_write_rows(struct npu_tensor *t, uint32_t m, const void *src, size_t ld);
int rknpu_read_rows(struct npu_tensor *t, uint32_t m, void *dst, size_t ld);
/* Runs it and waits for its end. */
int rknpu_run_compute(struct rknpu_run *run);
/* Has the driver no room for more jobs, which other programs have? Nothing is wrong with a recording then. */
static inline bool rknpu_is_full(int err)
{
	return err == -EBUSY || err == -EAGAIN;
}

/*
 * Says in words why it failed, and unless rknpu_is_full() frees it and those of other rows: they are recorded again
 * the next time.
 */
void rknpu_run_failed(struct rknpu_run *run, int err, char *why, size_t size);
/* Frees what was recorded with @w. */
void rknpu_runs_free(struct rknpu_context *ctx, const struct rknpu_weights *w);

#endif /* RKNPU_EXEC_H */
