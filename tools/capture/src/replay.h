/* SPDX-License-Identifier: MIT */
/*
 * What the files of npu-replay share.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include "cap.h"
#include "npu_prog.h"

struct replay_bo {
	struct npu_bo *bo;
	uint8_t *map;
	uint8_t *shadow;	/* what the capture says it holds */
	uint64_t size;
	bool touched;		/* by the CPU since the last job */
	bool written;		/* by the submit that runs */
};

struct replay {
	struct npu_dev *dev;
	const struct npu_chip *chip;
	bool vendor;
	struct npu_version version;
	uint64_t timeout_ns;	/* 0 = the driver's */
	struct replay_bo *bo;
	uint32_t nbos;
	/* Vendor: a buffer of tasks. */
	uint32_t task_handle;
	uint64_t task_obj;
	void *task_map;
	uint32_t task_room;
};

/* Runs one job to its end; 0 or a negative errno. */
int replay_job(struct replay *r, const struct cap_submit *s, const struct cap_use *use,
	       const struct cap_job *job, struct cap_cursor *c);
void replay_job_skip(const struct cap_job *job, struct cap_cursor *c);
void replay_job_free(struct replay *r);

#endif /* REPLAY_H */
