/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns a core's part of the registers of an IOMMU that all cores share. */
#ifndef __RKNPU_BANK_H__
#define __RKNPU_BANK_H__

#include <linux/types.h>

#include "rknpu_core.h"

/**
 * struct rknpu_bank_state - what makes a bank translate
 * @on: it does; otherwise the rest says nothing
 * @dte: address of the page directory, as encoded in the register
 * @mask: interrupts that are enabled
 * @gating: clock gating
 */
struct rknpu_bank_state {
	bool on;
	u32 dte;
	u32 mask;
	u32 gating;
};

/*
 * A core's reset takes its banks along, and then they let everything through.
 * Programming an IOMMU anew through its driver stops all of its banks, that is,
 * all cores. So these put back what was there, and neither the driver nor other
 * cores notice. Nothing else writes to the banks meanwhile: the attach_lock
 * keeps the driver from switching, and a power reference from suspending; zaps
 * do no harm. For a core with an IOMMU of its own they do nothing.
 *
 * The core is clocked. All banks are always programmed alike, so a bank that
 * was off itself is given the state of another core's.
 */
void rknpu_bank_save(struct rknpu_core *core, struct rknpu_bank_state *state);
int rknpu_bank_restore(struct rknpu_core *core, const struct rknpu_bank_state *state);

/* In the IOMMU's fault handler: is it this core that faults at @iova? */
bool rknpu_bank_faults(struct rknpu_core *core, unsigned long iova);

#endif
