/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of teflon_check share: one model's expectations and its outcome. */
#ifndef TEFLON_CHECK_H
#define TEFLON_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/* Inputs each model is run on, one after the other. */
#define ROUNDS	2

/* A line of the list that models.py writes. */
struct model {
	char name[80];
	int nodes;
	int delegated;
	uint64_t macs;
	int tolerance;
	char since[16];
};

/* Lives in memory shared with the parent, for a client that crashes is a result too. */
struct outcome {
	int nodes;
	int partitions;
	int delegated;
	/* Of the run with the delegate; jobs and tasks are those it submitted. */
	uint64_t jobs;
	uint64_t tasks;
	long elements;
	long differ;
	int max;
	int distinct;			/* values in the CPU's first output */
	long moved;			/* elements of it that the second input changed */
	long moved_of;
	bool model_counts;		/* the NPU is the model, which counts */
	uint64_t npu_tasks;
	uint64_t macs;
	uint64_t hangs;
	bool driver_counts;		/* the driver is ours, which counts */
	uint64_t driver_jobs;
	uint64_t driver_tasks;
	char error[200];		/* why there is no result; empty when there is */
};

/* Counts of DRM_IOCTL_ROCKET_SUBMIT of this process (submit_count.c). */
void submit_count(uint64_t *jobs, uint64_t *tasks);

/* Runs the model on the CPU and through the delegate (teflon_run.c). */
void teflon_run(const struct model *m, const char *file, const char *delegate, struct outcome *o);

#endif /* TEFLON_CHECK_H */
