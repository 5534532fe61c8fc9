/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of one RK3588 NPU core: QEMU's names for what is in the table of
 * registers, R_<block>_<register> and so on, and what only the model needs.
 */
#ifndef HW_NPU_COMPUTE_REGS_H
#define HW_NPU_COMPUTE_REGS_H

#include "hw/registerfields.h"

#define NPU_WINDOW_SIZE         0x10000
/* Blocks 0x0000..0x7fff have registers that tasks are made of. */
#define NPU_REGFILE_SIZE        0x8000
#define NPU_REGFILE_WORDS       (NPU_REGFILE_SIZE / 4)

#define NPU_REG(block, reg, offset)                                         \
    REG32(block##_##reg, offset)
#define NPU_FIELD(block, reg, field, lsb, width, kind)                      \
    FIELD(block##_##reg, field, lsb, width)
#include "npu/rk3588_regs.h"

enum {
#define NPU_SIZE(name, value)           NPU_##name = (value),
#define NPU_TARGET(name, value)         NPU_TARGET_##name = (value),
/* Offset bits 15:12 select the block. */
#define NPU_BLOCK(block, base, target)  NPU_BLOCK_##block = (base) >> 12,
#define NPU_UNIT(block, bit)            NPU_ENABLE_##block = 1 << (bit),
#define NPU_CODE(set, name, value)      NPU_##set##_##name = (value),
#include "npu/rk3588_regs.h"
    /* Those whose registers are in the file. */
    NPU_BLOCK_NUM = NPU_REGFILE_SIZE >> 12,
};

/* Of the chips whose registers become those of the RK3588. */
enum {
#define NPU_SIZE(name, value)           RK3562_##name = (value),
#define NPU_CODE(set, name, value)      RK3562_##set##_##name = (value),
#include "npu/rk3562_regs.h"
#define NPU_SIZE(name, value)           RK3568_##name = (value),
#include "npu/rk3568_regs.h"
};

/* Every block but the PC starts with the same three registers. */
#define NPU_BLOCK_S_STATUS      (A_CNA_S_STATUS & 0xfff)
#define NPU_BLOCK_S_POINTER     (A_CNA_S_POINTER & 0xfff)
#define NPU_BLOCK_OP_ENABLE     (A_CNA_OPERATION_ENABLE & 0xfff)
#define NPU_BLOCK_SHADOWED      0x8     /* each group has its own from here */
#define NPU_S_POINTER(field)    R_CNA_S_POINTER_##field##_MASK
/* What reads back as it was written (row groups.s-pointer). */
#define NPU_S_POINTER_KEPT      0x3000000fu

/* In bits 1:0 for group 0 and 17:16 for group 1; 0 is idle. */
#define NPU_S_STATUS_RUNS               1u
#define NPU_S_STATUS_WAITS              2u
/* Row groups.s-status. */
#define NPU_S_STATUS_DONE               0xcu

/* Low byte of the target of a command that writes a register. */
#define NPU_TARGET_WRITE        0x01

/* Interrupt bits of group 0; group 1 has the next one. */
#define NPU_INT(event)          R_PC_INTERRUPT_MASK_##event##_0_MASK
#define NPU_INT_DMA_READ_ERR    R_PC_INTERRUPT_MASK_DMA_READ_ERROR_MASK
#define NPU_INT_DMA_WRITE_ERR   R_PC_INTERRUPT_MASK_DMA_WRITE_ERROR_MASK
#define NPU_INT_ALL             ((1u << NPU_EVENT_BITS) - 1)
#define NPU_INT_PAIRS           0xfffu
/* Row pc.raw-high: of any core, and of one that has started something. */
#define NPU_INT_RAW_ALWAYS      (1u << 30)
#define NPU_INT_RAW_STARTED     (1u << 31)
/* Row pc.mask-high. */
#define NPU_INT_MASK_HIGH       (1u << 31)
#define NPU_INT_FETCH_ERR       (1u << 16)      /* RK3568 */
#define NPU_INT_PC_DONE         (1u << 28)      /* or bit 29: RK3576 */

/* STATE of TASK_STATUS: in the TRM, and on boards (row pc.task-status). */
#define NPU_FLAG_FIRST          1u
#define NPU_FLAG_LAST           2u
#define NPU_STATE_RUNS          0xau
#define NPU_STATE_DONE          0xfu

#define PC_BASE_ADDRESS_MASK    R_PC_BASE_ADDRESS_IOVA_MASK
#define DPU_EW_OP_VALUE_NUM     8

#endif
