/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns who may use an IOMMU that all cores share. */
#ifndef __RKNPU_SHARED_H__
#define __RKNPU_SHARED_H__

#include <linux/types.h>

struct rknpu_job;
struct rknpu_runqueue;
struct rknpu_vm;

/*
 * In the vendor's DT shape one IOMMU serves all cores; so they run jobs of one VM at a
 * time. All of these under rknpu_hw::lock.
 */

/* May the core, which is to run @job next, have it now? Yes, if its IOMMU is its own. */
bool rknpu_shared_admits(struct rknpu_runqueue *rq, struct rknpu_job *job);
/* That job comes to the core. */
void rknpu_shared_took(struct rknpu_runqueue *rq, struct rknpu_job *job);
/*
 * A VM that others wait for may go on for a slice; then its jobs that run end, no
 * new one starts, and the next VM comes.
 */
bool rknpu_shared_slice_over(struct rknpu_runqueue *rq, struct rknpu_vm *vm);

#endif
