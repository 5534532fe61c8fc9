/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the fences of jobs, and the results they carry. */
#ifndef __RKNPU_FENCE_H__
#define __RKNPU_FENCE_H__

#include <linux/types.h>

struct dma_fence;
struct rknpu_job;
struct rknpu_result;

/* In a context of its own: jobs of one client end in any order. NULL: no memory. */
struct dma_fence *rknpu_fence_create(struct rknpu_job *job);

/*
 * Gives a fence that nobody else knows yet a seqno greater than any before:
 * among fences stamped under one reservation, the order of publication.
 */
void rknpu_fence_stamp(struct dma_fence *fence);

/* Before it signals, by whoever signals it. */
void rknpu_fence_set_result(struct dma_fence *fence, const struct rknpu_result *result);
/* After it signalled. Only for a fence that is known to be one of these. */
void rknpu_fence_get_result(struct dma_fence *fence, struct rknpu_result *result);

/*
 * @fence, of a job that nobody else knows yet, will signal after the job fence
 * @before. If nobody else has done so it goes on in that one's context, as its
 * successor: lists of fences then keep one of the two, and a chain of a
 * thousand jobs is as cheap to add to, and to wait for, as one job. What is in
 * one context is always such a chain.
 */
void rknpu_fence_follow(struct dma_fence *fence, struct dma_fence *before);

/*
 * Makes @heir, which waits for @fence, the heir of that fence's job, see struct
 * rknpu_job. Nothing happens if that job is over or has one already.
 */
void rknpu_fence_bequeath(struct dma_fence *fence, struct rknpu_job *heir);

/* Is it one of these? Possibly false for one that has signalled. */
bool rknpu_fence_is_job(const struct dma_fence *fence);

#endif
