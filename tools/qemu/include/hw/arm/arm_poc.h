/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interface of machines in which not everything snoops the CPUs' caches, so
 * that cache maintenance to the point of coherency matters.
 *
 * RAM is what the caches hold.  What lies behind them is at ARM_POC_OFFSET
 * above RAM's physical addresses.
 */
#ifndef HW_ARM_ARM_POC_H
#define HW_ARM_ARM_POC_H

#include "exec/hwaddr.h"

#define ARM_POC_LINE    64
/* Beyond the physical addresses of a CPU, so that no guest gets there. */
#define ARM_POC_OFFSET  (1ULL << 44)

enum {
    ARM_POC_CLEAN = 1,
    ARM_POC_INVALIDATE = 2,
};

typedef struct ArmPocOps {
    /* Where an access of @pa ends that caches take no part in. */
    hwaddr (*uncached)(void *opaque, hwaddr pa);
    /* DC IVAC, CVAC or CIVAC of the line of @pa, which may be behind them. */
    void (*maintain)(void *opaque, hwaddr pa, unsigned op);
    /* DC ZVA has filled @len bytes of the host's memory. */
    void (*zeroed)(void *opaque, void *host, uint64_t len);
} ArmPocOps;

/* NULL where all is coherent.  Set before a CPU runs. */
extern const ArmPocOps *arm_poc_ops;
extern void *arm_poc_opaque;

#endif
