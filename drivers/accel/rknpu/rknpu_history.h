/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the newest jobs of a file by number, for those who ask how they ended. */
#ifndef __RKNPU_HISTORY_H__
#define __RKNPU_HISTORY_H__

#include <linux/types.h>

struct dma_fence;
struct rknpu_history;

/* Jobs that are known; documented in the uAPI header. */
#define RKNPU_HISTORY_SIZE	1024

/* NULL: no memory. */
struct rknpu_history *rknpu_history_create(void);
void rknpu_history_destroy(struct rknpu_history *history);

/*
 * Numbers @count jobs, by their fences, one after the other. Consumes the
 * references on @fences. Returns the number of the first; the file's first job
 * is number 1.
 */
u64 rknpu_history_add(struct rknpu_history *history, struct dma_fence **fences, u32 count);

/* The fence of job @number, with a reference, or NULL: there is none, or it is too old. */
struct dma_fence *rknpu_history_find(struct rknpu_history *history, u64 number);

/* Number of the newest job, or 0. */
u64 rknpu_history_last(struct rknpu_history *history);

#endif
