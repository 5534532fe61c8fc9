/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last task of a core that hung for a reason of its own, as the guest reads
 * it through the control device.
 */
#ifndef HW_NPU_RK3588_NPU_HANG_H
#define HW_NPU_RK3588_NPU_HANG_H

#include "qemu/typedefs.h"
#include "hw/misc/rk3588_npu_ctl_regs.h"

typedef struct NpuHang {
    uint32_t count;
    uint32_t kind;          /* NPU_CTL_HANG_* */
    uint32_t enable;        /* its blocks */
    uint32_t n;             /* registers that are not 0 */
    uint64_t entry[NPU_CTL_HANG_ENTRIES];
    uint8_t text[NPU_CTL_HANG_TEXT_SIZE];
} NpuHang;

extern const VMStateDescription vmstate_npu_hang;

/* @regs of the task that @enable started, or NULL if there was none yet. */
void npu_hang_set(NpuHang *h, unsigned kind, const char *why, uint32_t enable,
                  const uint32_t *regs);
/* @offset into the window of a core. */
uint32_t npu_hang_read(const NpuHang *h, uint32_t offset);

#endif
