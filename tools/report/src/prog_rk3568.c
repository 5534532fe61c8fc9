// SPDX-License-Identifier: MIT
/*
 * Programs for what is inferred of the RK3566 and RK3568 or has not been measured, as libnpu writes them.
 */
#include "layer.h"
#include "prog/npu_rk3568.h"

static void truncate(struct trial *t)
{
	rp_try_truncate(t, NPU_OFF68_CORE_CLIP_TRUNCATE, 1);
}

const struct rp_program rp_rk3568[] = {
	RP_TRY("rk3568-ties", "OUT_CVT of bytes rounds ties to even", rp_try_ties),
	RP_TRY("rk3568-floor", "results of bytes below the zero point", rp_try_zero_point),
	RP_TRY("rk3568-truncate", "CORE's 0x302c rounds bits of sums off, ties to even", truncate),
	RP_TRY("rk3568-sum", "the DPU alone adds bytes, with factors of either sign", rp_try_sum),
	RP_TRY("rk3568-map", "tables that tasks load are there for the next task", rp_try_map),
	RP_TRY("rk3568-pool", "a pooling that ends a job sets its interrupt bit", rp_try_pool),
	RP_WHY("rk3568-burst", "a burst length of 7 in DPU_RDMA stops the bus",
	       "the board would have to be switched off"),
	RP_WHY("rk3568-fed", "the DPU hands halves to the PPU, and does not write them itself",
	       "libnpu has no programs of both"),
	RP_WHY("rk3568-halves", "a convolution of halves rounds sums of 16 channels",
	       "libnpu has no convolutions of halves"),
	{ 0 }
};
