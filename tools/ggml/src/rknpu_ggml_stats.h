/* SPDX-License-Identifier: MIT */
/*
 * Counters of the backend, which ggml_backend_reg_get_proc_address() finds as
 * "rknpu_ggml_get_stats".
 */
#ifndef RKNPU_GGML_STATS_H
#define RKNPU_GGML_STATS_H

#include <stdint.h>

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
};

typedef void (*rknpu_ggml_get_stats_t)(struct rknpu_ggml_stats *stats);

#endif /* RKNPU_GGML_STATS_H */
