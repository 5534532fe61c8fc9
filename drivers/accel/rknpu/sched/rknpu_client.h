/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns clients: their lifetime, and the core time they used. */
#ifndef __RKNPU_CLIENT_H__
#define __RKNPU_CLIENT_H__

#include <linux/types.h>

struct drm_printer;
struct rknpu_client;
struct rknpu_job;
struct rknpu_load;
struct rknpu_sched;

/*
 * ERR_PTR on failure; -EPERM: there is no IOMMU, and nobody has allowed that. To be
 * closed by rknpu_sched_close_client(), until when it counts as a BO of @file_bytes, for
 * what the kernel may keep for the file.
 */
struct rknpu_client *rknpu_client_create(struct rknpu_sched *sched, size_t file_bytes);
struct rknpu_client *rknpu_client_get(struct rknpu_client *client);
void rknpu_client_put(struct rknpu_client *client);

/*
 * With rknpu_hw::lock: what @job has had of its core until @now, at the rate that the compute
 * clock has, is its client's; nothing while it is on no core.
 */
void rknpu_client_count_time(struct rknpu_job *job, u64 now);
/* The lines of fdinfo that say how long each core worked for the client. */
void rknpu_client_show_busy(struct rknpu_client *client, struct drm_printer *p);

/* With rknpu_hw::lock: ns in the given second that finished jobs took. */
u64 rknpu_load_finished(struct rknpu_load *load, u64 second);
/* What of [start, end) is in the given second. */
u64 rknpu_load_overlap(u64 start, u64 end, u64 second);

#endif
