/* SPDX-License-Identifier: MIT */
/*
 * What the NPU cores did, as counted by the model or else by the driver.
 */
#ifndef DEMO_COUNTERS_H
#define DEMO_COUNTERS_H

#include <stdint.h>

#define DEMO_CORES	3

struct demo_counters {
	/* NULL when nothing counts */
	const char *source;
	uint64_t tasks[DEMO_CORES];
	uint64_t irqs[DEMO_CORES];
};

/* Read the counters now. */
void demo_counters_read(struct demo_counters *c);

#endif /* DEMO_COUNTERS_H */
