/* SPDX-License-Identifier: MIT */
/*
 * A recording, as the two files see it that make it and run it.
 */
#ifndef NPU_REC_IMPL_H
#define NPU_REC_IMPL_H

#include "npu_recorder.h"

struct npu_vendor_batch;

struct rec_op {
	const char *name;
	uint32_t first_task;
};

struct rec_use {
	struct npu_mem *mem;
	bool write;
	bool sums;		/* may be used again when nobody else has it */
};

/* Weights that are the same for every operation: n columns of k values. */
struct rec_const {
	uint32_t n, k;
	float value;
	struct npu_weights *weights;
};

struct npu_rec {
	struct npu_dev *dev;
	struct npu_rec_opts opts;
	int bad;			/* the first error of an operation */
	char msg[200];

	struct rec_op *op;
	uint32_t nops;
	struct rec_use *use;		/* each memory once */
	uint32_t nuses;
	struct npu_prog *prog;		/* until npu_rec_end() */
	struct rec_const *consts;
	uint32_t nconsts;
	struct npu_table_mark table;	/* that the LUT holds after it */

	bool ended;
	bool chained;
	struct npu_mem *code;		/* the programs */
	struct npu_task *task;
	uint32_t ntasks;
	struct npu_bo **bo;		/* those read, then those written */
	struct npu_hwjob job;
	struct npu_job_opts job_opts;
	struct npu_vendor_batch *batch;	/* over the vendor's interface */

	bool running;
	uint64_t number;		/* of the driver's job, or 0 */
	struct npu_rec_failure failure;	/* of the last run; err 0 = none */
};

/* Waits until nothing runs, and lets go of the driver. */
void npu_rec_stop(struct npu_rec *rec);

#endif /* NPU_REC_IMPL_H */
