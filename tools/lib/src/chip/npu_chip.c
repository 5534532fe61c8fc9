// SPDX-License-Identifier: MIT
/*
 * The chips that there are programs for.
 */
#include <stddef.h>

#include "npu_chip.h"
#include "npu_regs.h"
#include "npu_util.h"

/*
 * FEATURE_GRAINS (10 bits) holds rows + 1; N up to 4096 is what public programs were run with on
 * silicon (mtx512). Fewer than two banks of weights have been seen to hang (11 data banks with
 * M=3000, K=384; rknpu2_matmul_open).
 */
const struct npu_chip npu_rk3588 = {
	.soc = 3588, .name = "RK3588", .encoding = NPU_ENCODING_RK3588,
	.banks = NPU_SIZE_CBUF_BANKS, .bank_bytes = NPU_SIZE_CBUF_BANK_BYTES, .weight_banks = 2,
	.rows = 1020, .kernels = 4096, .kernel_bytes = NPU_SIZE_CBUF_BANK_BYTES,
	.weight_bytes = UINT64_MAX,
};

static const struct npu_chip * const chips[] = { &npu_rk3588 };

const struct npu_chip *npu_chip_of_soc(uint64_t soc)
{
	for (size_t i = 0; i < ARRAY_SIZE(chips); i++)
		if (chips[i]->soc == soc)
			return chips[i];
	return NULL;
}

const struct npu_chip *npu_chip_of_version(uint32_t hw_version)
{
	for (size_t i = 0; i < ARRAY_SIZE(chips); i++)
		if (chips[i]->hw_version && chips[i]->hw_version == hw_version)
			return chips[i];
	return &npu_rk3588;
}
