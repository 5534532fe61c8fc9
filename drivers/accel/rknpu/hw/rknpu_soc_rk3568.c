// SPDX-License-Identifier: GPL-2.0-only
/* Owns the description of the RK3568, and of the RK3566, which has its NPU. */
#include <linux/bits.h>

#include "rknpu_regs.h"
#include "rknpu_soc.h"

/*
 * Nobody has run this driver on an RK3568. Sources: the vendor's driver 0.9.8 and its device
 * tree; iav, who has measured what the comments below say.
 *
 * The vendor's driver has its registers where those of the RK3588 are. What TASK_STATUS reads
 * behind the last task of a chain is inferred from that.
 *
 * No program is known that could overwrite the CBUF.
 */
const struct rknpu_soc rknpu_soc_rk3568 = {
	.number = 3568,
	.num_cores = 1,
	.dma_bits = 32,
	.core_base = { 0xfde40000 },
	/* Of mainline's DT shape, which has none for it. */
	.clks = { "npu", "aclk", "hclk", "pclk" },
	.resets = { "srst_a", "srst_h" },
	/* Without it the walker gives up on pages that are mapped (iav, on 7.1). */
	.mmu_gating = BIT(31),
	/* Linux's driver has the tables of such an IOMMU anywhere. */
	.far_tables = "rockchip,rk3568-iommu",
	.pc = {
		.task_con = RKNPU_PC_TASK_CON_LAST_LAYER_CLEAR |
			    RKNPU_PC_TASK_CON_TASK_COUNT_CLEAR,
		.task_con_pingpong = RKNPU_PC_TASK_CON_TASK_PP_EN,
		.max_tasks = RKNPU_PC_TASK_CON_TASK_NUMBER,
		.task_status = RKNPU_PC_TASK_STATUS,
		.tasks_done = RKNPU_PC_TASK_STATUS_COUNT,
		.all_done = GENMASK(15, 12),
		.commands_per_fetch = 1,
		/* The uppermost comes with a command fetch that fails (iav). */
		.events = GENMASK(RKNPU_EVENT_BITS - 1, 0),
		.fetch_error = BIT(RKNPU_EVENT_BITS - 1),
		/* An address there ends in a bus that hangs (iav). */
		.no_dma_base = true,
		/* Without it programs for mainline's uAPI end in a storm of interrupts (iav). */
		.s_pointer = RKNPU_CNA_S_POINTER_POINTER_PP_EN |
			     RKNPU_CNA_S_POINTER_EXECUTER_PP_EN |
			     RKNPU_CNA_S_POINTER_POINTER_PP_MODE,
		/* The vendor's driver has no such writes: its programs begin with them. */
		.s_pointer_in_programs = true,
	},
};
