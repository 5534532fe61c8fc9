/* SPDX-License-Identifier: MIT */
/*
 * What the NPU cores did, as counted by the model or else by the driver.
 */
#ifndef DEMO_COUNTERS_H
#define DEMO_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#define DEMO_CORES	3

struct demo_counters {
	/* NULL when nothing counts */
	const char *source;
	uint64_t tasks[DEMO_CORES];
	uint64_t irqs[DEMO_CORES];
	/* What the model alone counts: of its clock, and of memory by all cores */
	uint64_t cycles[DEMO_CORES];
	uint64_t bytes;
};

/* Is there the model, whose counters can be read? */
bool demo_counters_model(void);
/* Read the counters now. */
void demo_counters_read(struct demo_counters *c);

#endif /* DEMO_COUNTERS_H */
