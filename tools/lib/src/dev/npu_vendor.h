/* SPDX-License-Identifier: MIT */
/* What npu_dev.c needs of the backend for the DRM node "rknpu". */
#ifndef NPU_VENDOR_H
#define NPU_VENDOR_H

#include "npu_device.h"

/* npu_dev.c: number of the address space among those of the process. */
uint32_t npu_dev_domain(const struct npu_dev *dev);

/* All return 0 or a negative errno; the meanings are those of npu.h. */
int npu_vendor_bo_alloc(struct npu_dev *dev, size_t size, struct npu_bo **out);
void npu_vendor_bo_free(struct npu_bo *bo);
/* A buffer for a handle that was imported. */
int npu_vendor_bo_describe(struct npu_dev *dev, uint32_t handle, struct npu_bo **out);
int npu_vendor_bo_prep_until(struct npu_bo *bo, int64_t deadline_ns);
int npu_vendor_bo_fini(struct npu_bo *bo);
int npu_vendor_submit(struct npu_dev *dev, const struct npu_hwjob *jobs, uint32_t njobs);

/* Tasks of a job that run on one core. */
struct npu_vendor_slice {
	uint32_t first, n;
};

/* How a batch is run; all zero = defaults. */
struct npu_vendor_opts {
	uint32_t core_mask;	/* one bit, or 0 for any */
	uint32_t timeout_ms;	/* for all tasks together */
	bool block;		/* return when it is over */
	uint32_t nslices;	/* on so many cores, from core 0 on; 0 or 1 = all tasks on one */
	struct npu_vendor_slice slice[NPU_MAX_CORES];
};

/* How a batch ended. */
struct npu_vendor_progress {
	int err;
	bool known;		/* do the next three mean anything? Only after blocking */
	uint32_t tasks;		/* done */
	uint64_t elapsed_ns;	/* on the hardware */
	int core;		/* -1 = none or not known */
};

/* One job whose programs are chained already, and whose arrays live longer than it. */
struct npu_vendor_batch;
int npu_vendor_batch_new(struct npu_dev *dev, const struct npu_hwjob *job,
			 const struct npu_vendor_opts *opts, struct npu_vendor_batch **out);
/* Waits until it is over. */
void npu_vendor_batch_free(struct npu_vendor_batch *b);
int npu_vendor_batch_run(struct npu_vendor_batch *b);
/* -EBUSY or -ETIMEDOUT while it runs. */
int npu_vendor_batch_wait(struct npu_vendor_batch *b, int64_t deadline_ns,
			  struct npu_vendor_progress *progress);

#endif /* NPU_VENDOR_H */
