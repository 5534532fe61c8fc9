/* SPDX-License-Identifier: MIT */
/*
 * What can take the place of the simulator's own arithmetic, if it is linked.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/* Its memory, which the NPU sees at @base. */
uint8_t *sim_model_memory(uint32_t *base, uint32_t *size) __attribute__((weak));
/* True if it could be run. */
bool sim_model_run(const uint64_t *entry, uint32_t count) __attribute__((weak));

#endif /* SIM_MODEL_H */
