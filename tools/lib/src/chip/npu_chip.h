/* SPDX-License-Identifier: MIT */
/*
 * Owns what differs from chip to chip: whose registers programs are in, what a task may be, how
 * the operands of a layer lie.
 */
#ifndef NPU_CHIP_H
#define NPU_CHIP_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of a position in a surface. */
#define NPU_WIDE_ATOM	16u
#define NPU_NARROW_ATOM	8u

/* Whose registers programs are in. */
enum npu_encoding {
	NPU_ENCODING_RK3588,
	NPU_ENCODING_RK3576,
	NPU_ENCODING_RK3568,
	NPU_ENCODING_RK3562,
	NPU_ENCODINGS
};

struct npu_chip {
	uint32_t soc;			/* DRM_ROCKET_PARAM_SOC */
	uint32_t hw_version;		/* of the vendor's interface */
	const char *name;
	enum npu_encoding encoding;
	uint32_t core_mask;		/* cores that programs are made for, each its own; 0 = one for any */
	uint32_t fetch;			/* commands that REGISTER_AMOUNTS counts as one */

	/* Of memory: bytes of a position in a surface; int8 kernels, and depthwise channels, of a group. */
	uint32_t atom, kernel_group, depthwise_group;
	uint32_t int4_group;		/* kernels of INT4 that lie together */

	/* Of CBUF, what programs use. */
	uint32_t banks, bank_bytes;
	uint32_t weight_banks;		/* at least so many are the weights' */
	uint32_t few_weight_banks;	/* or so many, if all weights of a task are in them; 0 = no such tasks */

	/* Of one task. */
	uint32_t rows;			/* positions of a product, lines of an image */
	uint32_t kernels;
	uint32_t kernel_bytes;
	uint64_t weight_bytes;

	/* Of depthwise int8 layers: channels come in so many, and weights have so many bytes. */
	uint32_t depthwise_cols, depthwise_weight;
	uint32_t depthwise_bytes;	/* of all weights of a task, of any type */

	bool int4_halves;		/* INT4 weights multiply halves, and not INT4 */
	bool pools_columns;		/* a pooling task may write a part of each line */
	bool adds_bytes;		/* a convolution may take surfaces from anywhere, and write a single one */
	bool flies_bytes;		/* the DPU alone adds bytes, and looks them up */
	bool multiplies_bytes;		/* the DPU alone multiplies bytes, without @flies_bytes by surfaces */
	bool convolves_tables;		/* functions of halves are of what convolutions give, with a record in memory */
	bool silent_pools;		/* nobody has measured an interrupt of a pooling */

	/* What int8 layers have for each channel, and zeros before it that programs read. */
	uint32_t operand_bytes, zero_bytes;
	/* If that is more than a word: it lies together for so many channels, with factors that are shifted back. */
	uint32_t operand_channels, factor_bits;
};

/* What REGISTER_AMOUNTS has for so many commands. */
static inline uint32_t npu_amount(const struct npu_chip *chip, uint32_t commands)
{
	return (commands + chip->fetch - 1) / chip->fetch - 1;
}

/* What drivers have that do not tell. */
extern const struct npu_chip npu_rk3588;

/* NULL for a chip that nothing here writes programs for. */
const struct npu_chip *npu_chip_of_soc(uint64_t soc);
const struct npu_chip *npu_chip_of_version(uint32_t hw_version);

#endif /* NPU_CHIP_H */
