/* SPDX-License-Identifier: MIT */
/*
 * Owns what programs find of this backend by ggml_backend_reg_get_proc_address(): its counters, as
 * "ggml_backend_rknpu_get_stats", and "ggml_backend_rknpu_read_params".
 */
#ifndef RKNPU_GGML_STATS_H
#define RKNPU_GGML_STATS_H

#include <stdint.h>

#include <ggml-backend.h>

struct rknpu_ggml_stats {
	/* Recordings started, each with one ioctl, and recordings made. */
	uint64_t runs, recorded;
	/* Matrices packed, bytes of those that are resident now, and address spaces open. */
	uint64_t packed, resident, spaces;
	/* Multiply-accumulates asked for, and failures. */
	uint64_t macs, failures;
	/* Chains of tasks started, each on a core and with an interrupt. */
	uint64_t chains;
	/* Bytes of operands and results that were laid out for the NPU and back. */
	uint64_t moved_in, moved_out;
	/* Operations that the CPU computed because they exceeded fp16, or had no room or no NPU. */
	uint64_t to_cpu;
};

typedef void (*ggml_backend_rknpu_get_stats_t)(ggml_backend_reg_t reg, struct rknpu_ggml_stats *stats);

/* Reads the environment once more: for a program that changes it after ggml has loaded the backend. */
typedef void (*ggml_backend_rknpu_read_params_t)(ggml_backend_reg_t reg);

#endif /* RKNPU_GGML_STATS_H */
