// SPDX-License-Identifier: MIT
/*
 * The chips that there are programs for.
 */
#include <stddef.h>

#include "npu_chip.h"
#include "npu_regs.h"
#include "npu_util.h"

enum {
#define NPU_SIZE(name, value)	RK3576_##name = (value),
#include "npu/rk3576_regs.h"
#define NPU_SIZE(name, value)	RK3568_##name = (value),
#include "npu/rk3568_regs.h"
#define NPU_SIZE(name, value)	RK3562_##name = (value),
#include "npu/rk3562_regs.h"
};

/*
 * FEATURE_GRAINS (10 bits) holds rows + 1; N up to 4096 is what public programs were run with on
 * silicon (mtx512). Fewer than two banks of weights have been seen to hang (11 data banks with
 * M=3000, K=384; rknpu2_matmul_open).
 */
const struct npu_chip npu_rk3588 = {
	.soc = 3588, .name = "RK3588", .encoding = NPU_ENCODING_RK3588,
	.fetch = 2, .atom = 16, .kernel_group = 32, .depthwise_group = 64, .int4_group = 64,
	.banks = NPU_SIZE_CBUF_BANKS, .bank_bytes = NPU_SIZE_CBUF_BANK_BYTES, .weight_banks = 2,
	.rows = 1020, .kernels = 4096, .kernel_bytes = NPU_SIZE_CBUF_BANK_BYTES,
	.weight_bytes = UINT64_MAX,
	.depthwise_cols = 64, .depthwise_weight = 1, .depthwise_bytes = NPU_SIZE_CBUF_BANK_BYTES,
	.pools_columns = true,
	.operand_bytes = sizeof(int32_t),
};

/*
 * One CBUF for both cores: Rockchip's compilers give each four banks of features and three of
 * weights, or five and two, and store a program for either. Measured on core 0 by gregordinary: weights of 32
 * outputs to 144 KiB, 2944 outputs, 6 MiB of weights; beyond, outputs are lost without a fault.
 * Rows as on the RK3588: nobody has told of more.
 */
static const struct npu_chip rk3576 = {
	.soc = 3576, .hw_version = 0x46495247, .name = "RK3576", .encoding = NPU_ENCODING_RK3576,
	.core_mask = 3,
	.fetch = 2, .atom = 16, .kernel_group = 32, .depthwise_group = 64, .int4_group = 16,
	.banks = 7, .bank_bytes = RK3576_CBUF_BANK_BYTES, .weight_banks = 3, .few_weight_banks = 2,
	.rows = 1020, .kernels = 2944, .kernel_bytes = 144 * 1024 / 32, .weight_bytes = 6 << 20,
	.depthwise_cols = 32, .depthwise_weight = 2, .depthwise_bytes = 144 * 1024,
	.int4_halves = true, .adds_bytes = true, .multiplies_bytes = true, .convolves_tables = true,
	.operand_bytes = 8, .zero_bytes = 64, .operand_channels = 8,
};

/*
 * Also the RK3566. In some 650 stored programs of Rockchip's compilers lines are up to 240 positions
 * long, there are up to 1008 kernels, of 4896 bytes at most, and up to 62720 bytes of depthwise weights.
 * Here a group of kernels may have all banks but one.
 */
static const struct npu_chip rk3568 = {
	.soc = 3568, .hw_version = 0, .name = "RK3568", .encoding = NPU_ENCODING_RK3568,
	.core_mask = 1,
	.fetch = 1, .atom = RK3568_ATOM, .kernel_group = 16, .depthwise_group = 32, .int4_group = 64,
	.banks = RK3568_CBUF_BANKS, .bank_bytes = NPU_SIZE_CBUF_BANK_BYTES, .weight_banks = 1,
	.rows = 1020, .kernels = 1024, .kernel_bytes = 7 * NPU_SIZE_CBUF_BANK_BYTES / 16,
	.weight_bytes = UINT64_MAX,
	.depthwise_cols = 32, .depthwise_weight = 1, .depthwise_bytes = 2 * NPU_SIZE_CBUF_BANK_BYTES,
	.pools_columns = true, .flies_bytes = true, .silent_pools = true,
	.operand_bytes = sizeof(int32_t),
};

/*
 * No board is known to have been asked for its version, or to have told of limits. In some 2050 stored programs of
 * Rockchip's compilers there are up to 1280 kernels, and up to 125440 bytes of depthwise weights. Weights have one
 * bank to six, two or three where they do not fit at once.
 */
static const struct npu_chip rk3562 = {
	.soc = 3562, .hw_version = 0x54524549, .name = "RK3562", .encoding = NPU_ENCODING_RK3562,
	.core_mask = 1,
	.fetch = 2, .atom = 16, .kernel_group = 16, .depthwise_group = RK3562_DEPTHWISE_CHANNELS, .int4_group = 64,
	.banks = RK3562_CBUF_BANKS, .bank_bytes = RK3562_CBUF_BANK_GRANULES * RK3562_CBUF_GRANULE_BYTES,
	.weight_banks = 2, .few_weight_banks = 1,
	.rows = 1020, .kernels = 1280, .kernel_bytes = 6 * RK3562_CBUF_BANK_GRANULES * RK3562_CBUF_GRANULE_BYTES / 16,
	.weight_bytes = UINT64_MAX,
	.depthwise_cols = 32, .depthwise_weight = 2,
	.depthwise_bytes = 4 * RK3562_CBUF_BANK_GRANULES * RK3562_CBUF_GRANULE_BYTES,
	.pools_columns = true, .flies_bytes = true, .multiplies_bytes = true, .silent_pools = true,
	.operand_bytes = 8, .operand_channels = RK3562_PACKED_CHANNELS, .factor_bits = 14,
};

static const struct npu_chip * const chips[] = { &npu_rk3588, &rk3576, &rk3568, &rk3562 };

const struct npu_chip *npu_chip_of_soc(uint64_t soc)
{
	for (size_t i = 0; i < ARRAY_SIZE(chips); i++)
		if (chips[i]->soc == soc)
			return chips[i];
	return NULL;
}

const struct npu_chip *npu_chip_of_version(uint32_t hw_version)
{
	/* An RK3588 has several. */
	for (size_t i = 0; i < ARRAY_SIZE(chips); i++)
		if (chips[i] != &npu_rk3588 && chips[i]->hw_version == hw_version)
			return chips[i];
	return &npu_rk3588;
}
