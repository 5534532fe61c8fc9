/* SPDX-License-Identifier: MIT */
/*
 * What the simulator has of the model, its memory and its arithmetic, and what the model asks it.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Its memory, which the NPU sees at @base. */
uint8_t *sim_model_memory(uint32_t *base, uint32_t *size);
/* True if it could be run, in the registers of NpuEncoding @encoding. */
bool sim_model_run(const uint64_t *entry, uint32_t count, uint32_t encoding);

/* May the task that runs touch it? */
bool sim_is_mapped(uint64_t iova, size_t len);

#endif /* SIM_MODEL_H */
