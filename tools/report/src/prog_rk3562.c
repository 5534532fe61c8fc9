// SPDX-License-Identifier: MIT
/*
 * Programs for what is inferred of the RK3562 or has not been measured, as libnpu writes them.
 */
#include "layer.h"
#include "prog/npu_rk3562.h"

/* CLIP_TRUNCATE of 1, twice. */
#define ONE_BIT		0x21u

static void truncate(struct trial *t)
{
	rp_try_truncate(t, NPU_OFF62_CORE_MODE, ONE_BIT);
}

const struct rp_program rp_rk3562[] = {
	RP_TRY("rk3562-ties", "OUT_CVT of bytes rounds ties to even", rp_try_ties),
	RP_TRY("rk3562-floor", "results of bytes below the zero point", rp_try_zero_point),
	RP_TRY("rk3562-truncate", "CORE's 0x3024 rounds bits of sums off, ties to even", truncate),
	RP_TRY("rk3562-sum", "the DPU alone adds bytes, with factors of either sign", rp_try_sum),
	RP_TRY("rk3562-map", "tables that tasks load are there for the next task", rp_try_map),
	RP_TRY("rk3562-pool", "a pooling that ends a job sets its interrupt bit", rp_try_pool),
	RP_WHY("rk3562-words", "a product of bytes to words, a convolution of halves", "libnpu has no such programs"),
	{ 0 }
};
