// SPDX-License-Identifier: GPL-2.0-only
/* Owns the description of the RV1126B. */
#include <linux/bits.h>

#include "rknpu_regs.h"
#include "rknpu_soc.h"

/*
 * Nobody has run this driver on an RV1126B. Sources: the vendor's driver 0.9.8 and its device
 * tree. What the bits of TASK_CON and TASK_STATUS are is inferred: both are where the RK3576
 * has them, and Rockchip's compiler writes the same registers for both chips.
 *
 * Whether there are bits that say PC_DONE is not known; nothing here waits for any.
 *
 * No program is known that could overwrite the CBUF.
 */
const struct rknpu_soc rknpu_soc_rv1126b = {
	.number = 1126,
	.num_cores = 1,
	.dma_bits = 40,
	.core_base = { 0x22000000 },
	/* Of mainline's DT shape, which has none for it. The compute clock is the bus's. */
	.clks = { "aclk", "hclk" },
	.resets = { "srst_a", "srst_h" },
	.pc = {
		/* LAST_LAYER_CLEAR, TASK_COUNT_CLEAR; TASK_PP_EN */
		.task_con = BIT(18) | BIT(17),
		.task_con_pingpong = BIT(16),
		.max_tasks = GENMASK(15, 0),
		.task_status = 0x48,
		.tasks_done = GENMASK(31, 16),
		.tasks_wrap = true,
		.commands_per_fetch = 2,
		.events = GENMASK(RKNPU_EVENT_BITS - 1, 0),
		.s_pointer = RKNPU_CNA_S_POINTER_POINTER_PP_EN |
			     RKNPU_CNA_S_POINTER_EXECUTER_PP_EN |
			     RKNPU_CNA_S_POINTER_POINTER_PP_MODE,
		/* The vendor's driver has no such writes: its programs begin with them. */
		.s_pointer_in_programs = true,
	},
};
