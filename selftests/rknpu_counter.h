/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs that count share: samples of the model's counters and of instructions. */
#ifndef RKNPU_COUNTER_H
#define RKNPU_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "rknpu_util.h"

#define RK_COUNTS	10

struct rk_counts {
	uint64_t model[RK_COUNTS];
	uint64_t lines;
	double gap_ns, gaps, instructions;
};

/* What all repetitions of a batch came to. */
struct rk_total {
	uint64_t model[RK_COUNTS];
	uint64_t lines;
	double instructions;
	double gap_ns;
	double idle_ns;
};

/* Opens the counter of instructions of every CPU, the kernel's and the idle loop's included. */
void rk_counts_init(void);
/* There is such a counter. */
bool rk_counts_instructions(void);
void rk_counts_take(struct rk_counts *c);
/* One of the model's counts that are taken, or 0. */
double rk_counts_of(const struct rk_counts *c, enum npu_ctl_counter counter);
/* Of registers, the NPU's and the IOMMU's. */
double rk_counts_accesses(const struct rk_counts *c);

/*
 * Counts are exact, so they are summed.  Instructions and the gaps between
 * tasks include whatever else the system did meanwhile: the least disturbed
 * repetition is the one that says most. Both are of one of @n jobs.
 */
void rk_total_add(struct rk_total *t, const struct rk_counts *before, const struct rk_counts *after,
		  int n);
/* Prints what one of @n was, each @per ("job"), and what each of its @tasks was, if it has several. */
void rk_total_print(const char *batch, const char *per, const struct rk_total *t, int n,
		    int tasks);
void rk_count_print(const char *batch, const char *name, const char *unit, double value);

#endif /* RKNPU_COUNTER_H */
