/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the syncobjs of a submit. */
#ifndef __RKNPU_ROCKET_SYNC_H__
#define __RKNPU_ROCKET_SYNC_H__

#include <linux/list.h>
#include <linux/types.h>

struct drm_file;
struct drm_rocket_job_ext;
struct rknpu_job;

/* @job waits for drm_rocket_job_ext.in_syncs. */
int rknpu_rocket_wait_for_syncs(struct drm_file *file, struct rknpu_job *job,
				const struct drm_rocket_job_ext *args);

/*
 * Looks up drm_rocket_job_ext.out_syncs, which are to get the fence of @job, and adds them
 * to @outs. On success and on failure @outs must be published or dropped.
 */
int rknpu_rocket_find_outs(struct drm_file *file, struct rknpu_job *job,
			   const struct drm_rocket_job_ext *args, struct list_head *outs);
/* Cannot fail. The jobs have been armed. */
void rknpu_rocket_publish_outs(struct list_head *outs);
void rknpu_rocket_drop_outs(struct list_head *outs);

#endif
