// SPDX-License-Identifier: GPL-2.0-only
/* Owns the description of the RK3576. */
#include <linux/bits.h>

#include "rknpu_regs.h"
#include "rknpu_soc.h"

/*
 * Nobody has run this driver on an RK3576. Sources: the vendor's driver 0.9.8 and its device
 * tree; the series "accel/rocket: add RK3576 NPU (RKNN) support", version 14, whose layout of
 * TASK_CON Rockchip has confirmed; gregordinary, who measured TASK_STATUS, the two bits of
 * the interrupt registers that say that the program controller is done, and that the vendor's
 * initial writes to CNA (state_init) change no result.
 *
 * That one RAM is the CBUF of both cores is inferred, from windows that Rockchip's compiler
 * gives the programs of each core. No program is known that could overwrite it.
 *
 * A domain that comes on needs 15 us and a reset of its bus interface before registers are
 * touched (same series). That is the power domains' driver's part: the IOMMU is touched first.
 */
const struct rknpu_soc rknpu_soc_rk3576 = {
	.number = 3576,
	.num_cores = 2,
	.dma_bits = 40,
	.core_base = { 0x27700000, 0x27708000 },
	.clks = { "npu", "aclk", "hclk", "pclk", "aclk_cbuf", "hclk_cbuf" },
	.resets = { "srst_a" },
	.shared_resets = { "srst_a_cbuf", "srst_h_cbuf" },
	.one_cbuf = true,
	.pc = {
		/* LAST_LAYER_CLEAR, TASK_COUNT_CLEAR; TASK_PP_EN */
		.task_con = BIT(18) | BIT(17),
		.task_con_pingpong = BIT(16),
		.max_tasks = GENMASK(15, 0),
		/* In the lower half are the tasks that have started. */
		.task_status = 0x48,
		.tasks_done = GENMASK(31, 16),
		.tasks_wrap = true,
		.commands_per_fetch = 2,
		/* The upper two say that a program's commands have been written (PC_DONE). */
		.events = GENMASK(16, 0) | BIT(28) | BIT(29),
		.s_pointer = RKNPU_CNA_S_POINTER_POINTER_PP_EN |
			     RKNPU_CNA_S_POINTER_EXECUTER_PP_EN |
			     RKNPU_CNA_S_POINTER_POINTER_PP_MODE,
		.s_pointer_core = RKNPU_FIELD(CNA_S_POINTER_CORE, 1),
	},
};
