/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the driver's names for the numbers of the NPU, which are in the table of the RK3588's
 * registers. What other chips have elsewhere is for rknpu_soc_rk3588.c alone.
 */
#ifndef __RKNPU_REGS_H__
#define __RKNPU_REGS_H__

#include <linux/bitfield.h>
#include <linux/bits.h>

/* RKNPU_PC_TASK_CON is an offset in a core, RKNPU_PC_TASK_CON_TASK_PP_EN a mask. */
enum {
#define NPU_SIZE(name, value)		RKNPU_##name = (value),
#define NPU_TARGET(name, value)		RKNPU_CMD_TARGET_##name = (value),
#define NPU_BLOCK(block, base, target)	RKNPU_BASE_##block = (base), \
					RKNPU_CMD_TARGET_##block = (target),
#define NPU_UNIT(block, bit)		RKNPU_UNIT_##block = BIT(bit),
#define NPU_REG(block, reg, offset)	RKNPU_##block##_##reg = (offset),
#include "../../../../include/npu/rk3588_regs.h"
};

/* An enum each: from gcc 13 on one that is no int makes all others of its enum unsigned. */
#define NPU_FIELD(block, reg, field, lsb, width, kind) \
	enum { RKNPU_##block##_##reg##_##field = (u32)GENMASK((lsb) + (width) - 1, lsb) };
#include "../../../../include/npu/rk3588_regs.h"

/* Constant, as FIELD_PREP() is not. */
#define RKNPU_FIELD(field, value)	((u32)(value) << __bf_shf(RKNPU_##field))

/* Of an event's two bits each is for one of the block's groups of registers. */
#define RKNPU_INT(event)		RKNPU_PC_INTERRUPT_MASK_##event
#define RKNPU_INT_DPU_DONE		(RKNPU_INT(DPU_0) | RKNPU_INT(DPU_1))
#define RKNPU_INT_PPU_DONE		(RKNPU_INT(PPU_0) | RKNPU_INT(PPU_1))
#define RKNPU_INT_PAIRS			GENMASK(11, 0)
#define RKNPU_INT_DMA_READ_ERROR	RKNPU_INT(DMA_READ_ERROR)
#define RKNPU_INT_DMA_WRITE_ERROR	RKNPU_INT(DMA_WRITE_ERROR)
#define RKNPU_INT_DMA_ERROR		(RKNPU_INT_DMA_READ_ERROR | RKNPU_INT_DMA_WRITE_ERROR)

/* Commands of programs. */
#define RKNPU_CMD_TARGET(cmd)		((u16)((cmd) >> 48))
#define RKNPU_CMD_VALUE(cmd)		((u32)((cmd) >> 16))
#define RKNPU_CMD_REG(cmd)		((u16)(cmd))
/* The target of writes to a register: its block's number shifted. */
#define RKNPU_CMD_TARGET_OF(reg)	(0x100U << ((reg) >> 12) | 1)

/* In the windows "cna" and "core", which are blocks. */
#define RKNPU_BLOCK_S_STATUS		(RKNPU_CNA_S_STATUS - RKNPU_BASE_CNA)
#define RKNPU_BLOCK_S_POINTER		(RKNPU_CNA_S_POINTER - RKNPU_BASE_CNA)

#endif
