/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the registers that the CPU touches, named as in the RK3588 TRM part 1, chapter 36. */
#ifndef __RKNPU_REGS_H__
#define __RKNPU_REGS_H__

#include <linux/bits.h>

/* Program controller, window "pc". */
#define RKNPU_PC_VERSION		0x00
#define RKNPU_PC_VERSION_NUM		0x04
#define RKNPU_PC_OPERATION_ENABLE	0x08
#define RKNPU_PC_OPERATION_ENABLE_OP_EN		BIT(0)
#define RKNPU_PC_BASE_ADDRESS		0x10
#define RKNPU_PC_BASE_ADDRESS_PC_SEL		BIT(0)	/* 1: the CPU writes the blocks */
#define RKNPU_PC_REGISTER_AMOUNTS	0x14	/* fetches of 128 bits, minus 1 */
#define RKNPU_PC_REGISTER_AMOUNTS_MASK		0xffff
#define RKNPU_PC_INTERRUPT_MASK		0x20	/* 1: enabled */
#define RKNPU_PC_INTERRUPT_CLEAR	0x24
#define RKNPU_PC_INTERRUPT_STATUS	0x28	/* raw status and mask */
#define RKNPU_PC_INTERRUPT_RAW_STATUS	0x2c
#define RKNPU_PC_TASK_CON		0x30
#define RKNPU_PC_TASK_CON_TASK_NUMBER(n)	((n) & 0xfff)
#define RKNPU_PC_TASK_CON_TASK_NUMBER_MAX	0xfff
#define RKNPU_PC_TASK_CON_TASK_PP_EN		BIT(12)
#define RKNPU_PC_TASK_CON_TASK_COUNT_CLEAR	BIT(13)
/* Not in the TRM; both existing drivers always set it. */
#define RKNPU_PC_TASK_CON_BIT14			BIT(14)
#define RKNPU_PC_TASK_DMA_BASE_ADDR	0x34	/* added to every address of a program */
#define RKNPU_PC_TASK_STATUS		0x3c
#define RKNPU_PC_TASK_STATUS_COUNTER		0xfff	/* tasks completed */

/*
 * Interrupts. Bit 2n and 2n + 1 are one event, told apart by which of a
 * block's two register groups the task ran from.
 */
#define RKNPU_INT_DPU_DONE		(BIT(8) | BIT(9))
#define RKNPU_INT_PPU_DONE		(BIT(10) | BIT(11))
#define RKNPU_INT_PAIRS			GENMASK(11, 0)
#define RKNPU_INT_DMA_READ_ERROR	BIT(12)
#define RKNPU_INT_DMA_WRITE_ERROR	BIT(13)
#define RKNPU_INT_DMA_ERROR		(RKNPU_INT_DMA_READ_ERROR | RKNPU_INT_DMA_WRITE_ERROR)
#define RKNPU_INT_ALL			GENMASK(16, 0)

/* Commands of programs. */
#define RKNPU_CMD_TARGET(cmd)		((u16)((cmd) >> 48))
#define RKNPU_CMD_TARGET_PC			0x0101
#define RKNPU_CMD_VALUE(cmd)		((u32)((cmd) >> 16))
#define RKNPU_CMD_REG(cmd)		((u16)(cmd))

/* Common to the windows "cna" and "core". */
#define RKNPU_BLOCK_S_STATUS		0x00	/* 0: idle, for each group */
#define RKNPU_BLOCK_S_STATUS_GROUPS		(GENMASK(1, 0) | GENMASK(17, 16))
#define RKNPU_BLOCK_S_POINTER		0x04
#define RKNPU_BLOCK_S_POINTER_POINTER_PP_EN	BIT(1)
#define RKNPU_BLOCK_S_POINTER_EXECUTER_PP_EN	BIT(2)
#define RKNPU_BLOCK_S_POINTER_POINTER_PP_MODE	BIT(3)
/* Reserved in the TRM; both existing drivers put the core's number here. */
#define RKNPU_BLOCK_S_POINTER_CORE(n)		((u32)(n) << 28)

#endif
