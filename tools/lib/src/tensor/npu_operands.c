// SPDX-License-Identifier: MIT
/*
 * Operands of the DPU's first stage, one set per output channel behind the weights. An RK3588
 * adds a word. An RK3576 computes (sum + word + halfword * sum of inputs) * factor of bytes, whose
 * operands lie by groups of eight channels, and reads a word with shifts beside them; an RK3562 has groups of
 * four, and shifts in its programs. Depthwise
 * layers have no halfword: there the weights are without their zero point. Where results are
 * the sums themselves, programs read the operands as well, and nothing uses them. Of halves they are a word
 * there, too, which programs always add.
 */
#include <string.h>

#include "npu_compute.h"

#define HALFWORD	2u

/* Of floats it is one word everywhere. */
static bool has_sets(const struct npu_weights *w)
{
	return w->type == NPU_PREC_INT8 && npu_dev_chip(w->dev)->operand_bytes > sizeof(int32_t);
}

uint64_t npu_operands_bytes(const struct npu_weights *w, uint64_t n)
{
	if (!has_sets(w))
		return n * sizeof(int32_t);
	return n * (npu_dev_chip(w->dev)->operand_bytes - (w->depthwise ? HALFWORD : 0));
}

bool npu_operands_always(const struct npu_weights *w)
{
	return has_sets(w) || (w->type == NPU_PREC_FP16 && npu_dev_chip(w->dev)->zero_bytes);
}

/* Host and NPU are little endian. */
static void write_set(const struct npu_weights *w, uint8_t *group, uint32_t lane, int32_t word)
{
	const struct npu_chip *chip = npu_dev_chip(w->dev);
	uint32_t channels = chip->operand_channels;
	uint8_t *factors = group + npu_operands_bytes(w, channels) - channels * HALFWORD;
	int16_t one = (int16_t)(1 << chip->factor_bits), zero_point = (int16_t)-w->weight_zp;

	memcpy(group + sizeof(word) * lane, &word, sizeof(word));
	memcpy(factors + HALFWORD * lane, &one, HALFWORD);
	if (!w->depthwise)
		memcpy(group + sizeof(word) * channels + HALFWORD * lane, &zero_point, HALFWORD);
}

void npu_operands_write(const struct npu_weights *w, const int32_t *bias)
{
	const struct npu_chip *chip = npu_dev_chip(w->dev);
	uint8_t *to = (uint8_t *)w->mem->bo->map + w->bias_offset;

	memset(to - chip->zero_bytes, 0, chip->zero_bytes);
	if (!has_sets(w)) {
		if (bias)
			memcpy(to, bias, w->n * sizeof(*bias));
		else
			memset(to, 0, w->n * sizeof(*bias));
		return;
	}
	memset(to, 0, npu_operands_bytes(w, round_up(w->n, NPU_OPERANDS_UNIT)));
	for (uint32_t n = 0; n < w->n; n++)
		write_set(w, to + npu_operands_bytes(w, n - n % chip->operand_channels), n % chip->operand_channels,
			  bias ? bias[n] : 0);
}

void npu_operands_set(const struct npu_weights *w, uint32_t n, struct npu_conv_task *t)
{
	t->bias_iova = w->mem->iova + w->bias_offset + npu_operands_bytes(w, n);
	t->zeros_iova = w->mem->iova + w->bias_offset - npu_dev_chip(w->dev)->zero_bytes;
}
