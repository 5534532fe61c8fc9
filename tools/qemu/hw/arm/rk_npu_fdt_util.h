/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device-tree nodes and properties that all NPU subsystems of the rk3588-npu
 * machine have.  A new node becomes the first child of its parent.
 */
#ifndef HW_ARM_RK_NPU_FDT_UTIL_H
#define HW_ARM_RK_NPU_FDT_UTIL_H

#include "exec/hwaddr.h"
#include "system/device_tree.h"
#include "rk3588_npu_fdt.h"

/* Several strings in one property, with \0 in between. */
#define RK_STRINGS(fdt, node, property, list) do {                      \
    static const char strings_[] = list;                                \
    qemu_fdt_setprop(fdt, node, property, strings_, sizeof(strings_));  \
} while (0)

void rk_phandle(void *fdt, const char *node, uint32_t phandle);
void rk_reg(void *fdt, const char *node, hwaddr base, hwaddr size);
void rk_interrupt(void *fdt, const char *node, int spi);
void rk_dma_coherent(void *fdt, const char *node, bool coherent);
void rk_fixed_clock(void *fdt, const char *node, const char *name, uint32_t hz);
/* The NPU's and its buses' clock, and its resets, of simple trees. */
void rk_simple_clocks(void *fdt, uint32_t npu_hz, uint32_t npu_phandle,
                      uint32_t bus_phandle);
void rk_simple_resets(void *fdt, uint32_t phandle);
/* The clock protocol of the firmware, which gets the phandle. */
void rk_scmi(void *fdt, uint32_t phandle);
/* With what Linux's clock and reset drivers look for. */
void rk_cru(void *fdt, const char *node, const char *compatible, hwaddr base,
            hwaddr size, uint32_t phandle);
/* In the PMU's node, which is there already. */
void rk_power_controller(void *fdt, const char *node, const char *compatible,
                         uint32_t phandle);
/*
 * A fixed one.  Where a line switches it there is another that nobody uses,
 * which tells guests when the kernel switches unused ones off.
 */
void rk_supply(void *fdt, const Rk3588NpuFdtConfig *config, const char *node,
               const char *name, uint32_t microvolt, uint32_t phandle);
void rk_model_control(void *fdt);

#endif
