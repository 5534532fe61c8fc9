/* SPDX-License-Identifier: MIT */
/*
 * Owns the NPU of this machine as npu-report sees it.
 */
#ifndef RUN_NPU_H
#define RUN_NPU_H

#include "model.h"
#include "npu_prog.h"
#include "report.h"

struct rp_machine {
	struct rp_npu npu;	/* first: the programs' view */
	struct npu_dev *dev;
	struct npu_version version;
	struct npu_bo *in, *out, *prog;
	uint64_t *entry;	/* what @prog holds */
	bool vendor;
	bool tells_errors;	/* the driver says how a job ended */
	struct model model;
	const char *no_model;	/* why it cannot be asked, or NULL */
	struct model_hang hang;	/* of the last job, if that hung */
};

/* 0 or a negative errno. */
int rp_machine_open(struct rp_machine *m, const char *node);
void rp_machine_close(struct rp_machine *m);

bool rp_is_model(void);
/* Facts about machine, kernel, driver and NPU, a line each. */
void rp_describe(FILE *f, struct rp_machine *m);
/* Prints what this machine's NPU needs and has; false if something is missing. */
bool rp_doctor(void);
void rp_times(FILE *f, struct rp_machine *m);

#endif /* RUN_NPU_H */
