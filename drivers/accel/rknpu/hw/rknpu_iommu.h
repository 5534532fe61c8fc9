/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the IOMMUs: attaching and detaching domains, page faults, registers that a reset wipes. */
#ifndef __RKNPU_IOMMU_H__
#define __RKNPU_IOMMU_H__

#include <linux/sizes.h>
#include <linux/types.h>

struct device_node;
struct rknpu_core;
struct rknpu_domain;
struct rknpu_dump;
struct rknpu_hw;
struct rknpu_iommu;

/**
 * struct rknpu_mmu_state - what makes the MMUs of a core translate
 */
struct rknpu_mmu_state {
	/** @on: they do; otherwise the rest says nothing */
	bool on;
	/** @dte: address of the page directory, as encoded in the register */
	u32 dte;
	/** @mask: interrupts that are enabled */
	u32 mask;
	/** @gating: clock gating */
	u32 gating;
};

/*
 * A domain has a directory, and a table for each part of this size, aligned, where
 * something was ever mapped: a page each (drivers/iommu/rockchip-iommu.c, which frees
 * them with the domain).
 */
#define RKNPU_DOMAIN_TABLE_SPAN	SZ_4M

/* -ENODEV if no core is bound. */
int rknpu_domain_init(struct rknpu_domain *domain, struct rknpu_hw *hw,
		      void (*release)(struct rknpu_domain *domain));
/*
 * Takes the domain off all IOMMUs and frees it. False if one of them does not
 * let go: then it stays, @release is called when it does, and this is to be tried
 * again. Process context.
 */
bool rknpu_domain_fini(struct rknpu_domain *domain);
int rknpu_domain_map(struct rknpu_domain *domain, u64 iova, dma_addr_t addr, size_t size);
void rknpu_domain_unmap(struct rknpu_domain *domain, u64 iova, u64 size);
/* What pages around @iova are mapped to. Any context; the domain stays meanwhile. */
void rknpu_domain_dump(struct rknpu_domain *domain, u64 iova, struct rknpu_dump *dump);

/*
 * Does the device of that node have no IOMMU? Its device tree says so, or a module
 * parameter does.
 */
bool rknpu_iommu_is_absent(const struct device_node *np);
/* None of the NPU's devices has one. */
bool rknpu_iommu_are_absent(void);

/* Core side, while it is bound: fills core->iommu. */
int rknpu_iommu_get(struct rknpu_core *core);
void rknpu_iommu_put(struct rknpu_core *core);
/* In between: the interrupt on which it reports the core's faults, or 0. */
int rknpu_iommu_irq(const struct rknpu_core *core);

/*
 * All with attach_lock held, in process context, powered or not. With a shared
 * IOMMU they concern all its cores, and no job may be on any of them, unless it
 * is one that waits for its domain to be attached. The IOMMU holds no reference
 * on what is attached: a domain takes itself off all IOMMUs before it goes.
 */
int rknpu_iommu_attach(struct rknpu_core *core, struct rknpu_domain *domain);
/*
 * No job finds the domain attached from then on. On failure the IOMMU core still
 * has it, so it stays, and nothing can be attached, until this succeeds.
 *
 * While the cores sleep it is bookkeeping, unless user space keeps the IOMMU awake; and
 * nobody may wake that meanwhile, as its driver would program it from two sides, perhaps
 * in reset. So then the caller has disabled the cores' runtime PM, or runs in it, and
 * holds the lock of the IOMMU's device, which keeps sysfs out.
 */
int rknpu_iommu_detach(struct rknpu_core *core);
/* Outside attach_lock, inside power_lock. */
void rknpu_iommu_lock_dev(const struct rknpu_iommu *iommu);
void rknpu_iommu_unlock_dev(const struct rknpu_iommu *iommu);
/* Its device sleeps, or does so now: nobody but its cores has used it. */
bool rknpu_iommu_sleeps(const struct rknpu_iommu *iommu);
/*
 * Where power domains are suppliers they stay on from the first to the second, which puts the
 * IOMMU to sleep, and then the domains at once, but for what others need. In between the core
 * goes to sleep, if it does not yet. Under power_lock, or while the core is being unbound.
 */
void rknpu_iommu_hold_power(struct rknpu_core *core);
void rknpu_iommu_power_down(struct rknpu_core *core);
/* Disables the core's runtime PM, under power_lock. */
void rknpu_iommu_disable_pm(struct rknpu_core *core);
/* Is a core behind it held in reset? The second waits, for a while, dropping the lock. */
bool rknpu_iommu_parked(const struct rknpu_iommu *iommu);
void rknpu_iommu_wait_unparked(struct rknpu_iommu *iommu);

/*
 * Keep the IOMMU's handler from running, on any core's line, while the IOMMU is
 * programmed or reset. Process context; they nest.
 */
void rknpu_iommu_lines_off(struct rknpu_iommu *iommu);
void rknpu_iommu_lines_on(struct rknpu_iommu *iommu);

/*
 * A core's reset takes its MMUs along, and then they let everything through.
 * Programming an IOMMU anew through its driver stops all of its MMUs, that is,
 * all cores. So these put back what was there, and neither the driver nor other
 * cores notice. Nothing else writes to the registers meanwhile: the attach_lock
 * keeps the driver from switching, and a power reference from suspending; zaps
 * do no harm. For a core with an IOMMU of its own they do nothing.
 *
 * The core is clocked. All MMUs are always programmed alike, so one that was
 * off itself is given the state of another core's.
 */
void rknpu_iommu_save(struct rknpu_core *core, struct rknpu_mmu_state *state);
int rknpu_iommu_restore(struct rknpu_core *core, const struct rknpu_mmu_state *state);

/* With rknpu_hw::lock, powered: the core's part of the IOMMU, if its registers are mapped. */
void rknpu_iommu_dump(struct rknpu_core *core, struct rknpu_dump *dump);

#endif
