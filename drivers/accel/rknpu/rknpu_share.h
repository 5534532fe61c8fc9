/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns whose VM may be on an IOMMU that several cores share. */
#ifndef __RKNPU_SHARE_H__
#define __RKNPU_SHARE_H__

#include <linux/types.h>

struct rknpu_core;
struct rknpu_job;

/*
 * In the vendor's device tree one IOMMU serves all cores, so all of them run
 * jobs of one VM at a time. A VM that others wait for may go on for a slice;
 * then its jobs that run end, no new one starts, and the next VM comes.
 *
 * All of these under rknpu_device::lock. For a core with an IOMMU of its own
 * every job is admitted.
 */

/* May @job, which is the next of an idle core, start on it? If not, the core waits. */
bool rknpu_share_admits(struct rknpu_core *core, struct rknpu_job *job);
/* It has been taken for the core. */
void rknpu_share_took(struct rknpu_core *core, struct rknpu_job *job);
/* Between two tasks of a running job: is the turn of its VM over? */
bool rknpu_share_turn_ends(struct rknpu_core *core, struct rknpu_job *job);

/* Without the lock: the core is held in reset for good. Are all others? Says so once. */
bool rknpu_share_last(struct rknpu_core *core);

#endif
