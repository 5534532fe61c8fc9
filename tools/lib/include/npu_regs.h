/* SPDX-License-Identifier: MIT */
/*
 * Names registers and fields for the builder of programs; the numbers are in the SoC's own file.
 */
#ifndef NPU_REGS_H
#define NPU_REGS_H

/* Kinds of fields; the builder's value is in the unit named here. */
enum npu_field_kind {
	NPU_FK_U,		/* unsigned number */
	NPU_FK_S,		/* two's complement number */
	NPU_FK_M1,		/* a count from 1, stored minus one */
	NPU_FK_A16,		/* bytes, a multiple of 16; the low 4 bits are not stored */
	NPU_FK_ADDR,		/* IOVA, a number like any other to the builder */
};

/** enum npu_reg_id - registers libnpu can emit */
enum npu_reg_id {
#define NPU_REG(block, reg, offset)	NPU_R_##block##_##reg,
#include "npu/rk3588_regs.h"
	NPU_R_COUNT
};

/** enum npu_field_id - fields npu_prog_field() accepts */
enum npu_field_id {
#define NPU_FIELD(block, reg, field, lsb, width, kind)	NPU_F_##block##_##reg##_##field,
#include "npu/rk3588_regs.h"
	NPU_F_COUNT
};

enum {
#define NPU_SIZE(name, value)		NPU_SIZE_##name = (value),
/* Targets, bits 63:48 of an entry. */
#define NPU_BLOCK(block, base, target)	NPU_TGT_##block = (target),
#define NPU_TARGET(name, value)		NPU_TGT_##name = (value),
/* Blocks to start, value of the operation-enable entry. */
#define NPU_UNIT(block, bit)		NPU_EN_##block = 1 << (bit),
#define NPU_CODE(set, name, value)	NPU_CODE_##set##_##name = (value),
#define NPU_REG(block, reg, offset)	NPU_OFF_##block##_##reg = (offset),
#define NPU_FIELD(block, reg, field, lsb, width, kind)	NPU_LSB_##block##_##reg##_##field = (lsb),
#include "npu/rk3588_regs.h"
};

/* An enum each: from gcc 13 on one that is no int makes all others of its enum unsigned. */
#define NPU_FIELD(block, reg, field, lsb, width, kind)				\
	enum { NPU_MASK_##block##_##reg##_##field = 0xffffffffu >> (32 - (width)) << (lsb) };
#include "npu/rk3588_regs.h"

/* The value that a field has in the contents of its register, and the contents with this value. */
#define NPU_GET(value, name)	(((value) & NPU_MASK_##name) >> NPU_LSB_##name)
#define NPU_PUT(name, value)	((uint32_t)(value) << NPU_LSB_##name)

/* Interrupts at the end of a task, of either group of registers. */
#define NPU_IRQ_DPU	(NPU_MASK_PC_INTERRUPT_MASK_DPU_0 | NPU_MASK_PC_INTERRUPT_MASK_DPU_1)
#define NPU_IRQ_PPU	(NPU_MASK_PC_INTERRUPT_MASK_PPU_0 | NPU_MASK_PC_INTERRUPT_MASK_PPU_1)
#define NPU_IRQ_ALL	((1u << NPU_SIZE_EVENT_BITS) - 1)

#endif /* NPU_REGS_H */
