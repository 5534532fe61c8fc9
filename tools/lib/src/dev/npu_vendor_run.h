/* SPDX-License-Identifier: MIT */
/*
 * One submission through the vendor's ioctls, as plain jobs and batches make it.
 */
#ifndef NPU_VENDOR_RUN_H
#define NPU_VENDOR_RUN_H

#include "npu_vendor.h"

struct drm_rknpu_submit;

/* For all tasks of a job together: emulators are slow, and hangs are rare. */
#define NPU_VENDOR_TIMEOUT_MS	60000u

struct npu_run {
	int fd;			/* sync_file */
	unsigned int refs;
	bool done;
	int err;
	struct npu_bo *tasks;	/* read by the vendor's driver until it is done */
};

void npu_run_put(struct npu_run *run);
/* 0, and then the run has its error; -EBUSY or -ETIMEDOUT while it goes on. */
int npu_run_wait(struct npu_run *run, int64_t deadline_ns);

/* Room for the uses of all buffers of a job, which npu_vendor_add_uses() takes up: nothing may fail once it runs. */
int npu_vendor_reserve_uses(const struct npu_hwjob *job);
void npu_vendor_add_uses(const struct npu_hwjob *job, struct npu_run *run);
/* A sync_file of all that the job has to wait for, or -1. */
int npu_vendor_collect_fences(const struct npu_hwjob *job, int *fd);
/* The driver's description of the job's tasks. */
int npu_vendor_make_tasks(struct npu_dev *dev, const struct npu_hwjob *job, struct npu_bo **out);
int npu_vendor_submit_run(struct npu_dev *dev, const struct npu_hwjob *job, struct npu_bo *tasks,
			  const struct npu_vendor_opts *opts, struct drm_rknpu_submit *req,
			  int fence);

#endif /* NPU_VENDOR_RUN_H */
