// SPDX-License-Identifier: GPL-2.0-only
/* Owns a core's part of the registers of an IOMMU that all cores share. */
#include <linux/bits.h>
#include <linux/iopoll.h>

#include "rknpu_bank.h"
#include "rknpu_device.h"

/* Registers of Rockchip's IOMMU, as drivers/iommu/rockchip-iommu.c uses them. */
#define RKNPU_BANK_DTE_ADDR		0x00
#define RKNPU_BANK_STATUS		0x04
#define RKNPU_BANK_STATUS_PAGING		BIT(0)
#define RKNPU_BANK_STATUS_FAULT			BIT(1)
#define RKNPU_BANK_COMMAND		0x08
#define RKNPU_BANK_COMMAND_ENABLE_PAGING	0
#define RKNPU_BANK_COMMAND_ZAP_CACHE		4
#define RKNPU_BANK_FAULT_ADDR		0x0c
#define RKNPU_BANK_INT_MASK		0x1c
#define RKNPU_BANK_AUTO_GATING		0x24

#define RKNPU_BANK_POLL_US	10
#define RKNPU_BANK_TIMEOUT_US	1000

static bool rknpu_bank_is_on(void __iomem *bank)
{
	u32 status = readl(bank + RKNPU_BANK_STATUS);

	/* Ones come from a core that does not answer, and what else it says is not to be kept. */
	return status != ~0u && (status & RKNPU_BANK_STATUS_PAGING);
}

static bool rknpu_bank_save_one(struct rknpu_core *core, struct rknpu_bank_state *state)
{
	void __iomem *bank = core->banks[0];

	if (!core->num_banks || !core->clocked || core->parked || !rknpu_bank_is_on(bank))
		return false;
	state->on = true;
	state->dte = readl(bank + RKNPU_BANK_DTE_ADDR);
	state->mask = readl(bank + RKNPU_BANK_INT_MASK);
	state->gating = readl(bank + RKNPU_BANK_AUTO_GATING);
	return true;
}

void rknpu_bank_save(struct rknpu_core *core, struct rknpu_bank_state *state)
{
	unsigned int i;

	state->on = false;
	if (!core->num_banks || rknpu_bank_save_one(core, state))
		return;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rknpu_bank_save_one(&core->rdev->cores[i], state))
			return;
	}
}

static int rknpu_bank_restore_one(void __iomem *bank, const struct rknpu_bank_state *state)
{
	u32 status;

	writel(state->dte, bank + RKNPU_BANK_DTE_ADDR);
	writel(RKNPU_BANK_COMMAND_ZAP_CACHE, bank + RKNPU_BANK_COMMAND);
	writel(state->mask, bank + RKNPU_BANK_INT_MASK);
	writel(state->gating, bank + RKNPU_BANK_AUTO_GATING);
	writel(RKNPU_BANK_COMMAND_ENABLE_PAGING, bank + RKNPU_BANK_COMMAND);
	return readl_poll_timeout_atomic(bank + RKNPU_BANK_STATUS, status,
					 status & RKNPU_BANK_STATUS_PAGING,
					 RKNPU_BANK_POLL_US, RKNPU_BANK_TIMEOUT_US);
}

int rknpu_bank_restore(struct rknpu_core *core, const struct rknpu_bank_state *state)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < core->num_banks && state->on && !ret; i++)
		ret = rknpu_bank_restore_one(core->banks[i], state);
	return ret;
}

bool rknpu_bank_faults(struct rknpu_core *core, unsigned long iova)
{
	unsigned int i;

	for (i = 0; i < core->num_banks; i++) {
		void __iomem *bank = core->banks[i];

		if ((readl(bank + RKNPU_BANK_STATUS) & RKNPU_BANK_STATUS_FAULT) &&
		    readl(bank + RKNPU_BANK_FAULT_ADDR) == iova)
			return true;
	}
	return false;
}
