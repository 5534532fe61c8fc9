// SPDX-License-Identifier: GPL-2.0-only
/* Owns the description of the RK3588, and of the RK3588S, RK3582 and RK3583, which have its NPU. */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/kernel.h>

#include "rknpu_regs.h"
#include "rknpu_soc.h"

static const struct rknpu_soc_regs rknpu_rk3588_scrub_regs[] = {
#define NPU_BANK				RKNPU_CBUF_BANK_BYTES
#define NPU_IN(field, value)			RKNPU_FIELD(field, value)
#define NPU_SCRUB(block, reg, count, value)	\
	{ RKNPU_##block##_##reg, 4, count, RKNPU_SOC_VALUE, value },
#include "../../../../include/npu/rk3588_scrub.h"
	{ RKNPU_CNA_FEATURE_DATA_ADDR, 0, 1, RKNPU_SOC_ZEROS, 0 },
	{ RKNPU_CNA_DCOMP_ADDR0, 0, 1, RKNPU_SOC_ZEROS, 0 },
	{ RKNPU_DPU_DST_BASE_ADDR, 0, 1, RKNPU_SOC_RESULT, 0 },
	/* Zeros in both tables of the LUT: for writing, number 0 or 1. */
	{ RKNPU_DPU_LUT_ACCESS_CFG, 0, 1, RKNPU_SOC_VALUE,
	  RKNPU_FIELD(DPU_LUT_ACCESS_CFG_ACCESS_TYPE, 1) },
	{ RKNPU_DPU_LUT_ACCESS_DATA, 0, RKNPU_LUT_ENTRIES, RKNPU_SOC_VALUE, 0 },
	{ RKNPU_DPU_LUT_ACCESS_CFG, 0, 1, RKNPU_SOC_VALUE,
	  RKNPU_FIELD(DPU_LUT_ACCESS_CFG_ACCESS_TYPE, 1) |
	  RKNPU_FIELD(DPU_LUT_ACCESS_CFG_TABLE_ID, 1) },
	{ RKNPU_DPU_LUT_ACCESS_DATA, 0, RKNPU_LUT_ENTRIES, RKNPU_SOC_VALUE, 0 },
	{ RKNPU_DPU_LUT_ACCESS_CFG, 0, 1, RKNPU_SOC_VALUE, 0 },
};

static_assert(NPU_SCRUB_WEIGHTS + NPU_SCRUB_FEATURE == RKNPU_CBUF_BANKS * RKNPU_CBUF_BANK_BYTES);
static_assert(RKNPU_LUT_TABLES == 2);

/* All banks of the CBUF, 384 KiB, four with feature data and eight with weights, and the LUT. */
static const struct rknpu_soc_scrub rknpu_rk3588_scrub = {
	.regs = rknpu_rk3588_scrub_regs,
	.num_regs = ARRAY_SIZE(rknpu_rk3588_scrub_regs),
	.units = RKNPU_UNIT_CNA | RKNPU_UNIT_CORE | RKNPU_UNIT_DPU,
	.zeros = NPU_SCRUB_WEIGHTS,
	/* By the model. */
	.cycles = 39800,
};

const struct rknpu_soc rknpu_soc_rk3588 = {
	.number = 3588,
	.num_cores = 3,
	.dma_bits = 40,
	.core_base = { 0xfdab0000, 0xfdac0000, 0xfdad0000 },
	.clks = { "npu", "aclk", "hclk", "pclk" },
	/* One for the AXI side and one for the AHB side. */
	.resets = { "srst_a", "srst_h" },
	.pc = {
		.task_con = RKNPU_PC_TASK_CON_LAST_LAYER_CLEAR |
			    RKNPU_PC_TASK_CON_TASK_COUNT_CLEAR,
		.task_con_pingpong = RKNPU_PC_TASK_CON_TASK_PP_EN,
		.max_tasks = RKNPU_PC_TASK_CON_TASK_NUMBER,
		.task_status = RKNPU_PC_TASK_STATUS,
		.tasks_done = RKNPU_PC_TASK_STATUS_COUNT,
		/* Measured by zevorn and Awe31402; the TRM keeps the count. */
		.all_done = GENMASK(15, 12),
		.commands_per_fetch = 2,
		.events = GENMASK(RKNPU_EVENT_BITS - 1, 0),
		.s_pointer = RKNPU_CNA_S_POINTER_POINTER_PP_EN |
			     RKNPU_CNA_S_POINTER_EXECUTER_PP_EN |
			     RKNPU_CNA_S_POINTER_POINTER_PP_MODE,
		.s_pointer_core = RKNPU_FIELD(CNA_S_POINTER_CORE, 1),
	},
	.scrub = &rknpu_rk3588_scrub,
};
