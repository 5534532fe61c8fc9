// SPDX-License-Identifier: GPL-2.0-only
/* Owns the IOMMUs: attaching and detaching domains, page faults, registers that a reset wipes. */
#include <linux/bits.h>
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/iommu.h>
#include <linux/iopoll.h>
#include <linux/minmax.h>
#include <linux/of.h>
#include <linux/of_irq.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "debug/rknpu_dump.h"
#include "rknpu_hw.h"
#include "rknpu_hw_trace.h"
#include "rknpu_iommu.h"
#include "rknpu_params.h"
#include "rknpu_pc.h"

/* Registers of Rockchip's MMUs, as drivers/iommu/rockchip-iommu.c uses them. */
#define RKNPU_MMU_DTE_ADDR		0x00
#define RKNPU_MMU_STATUS		0x04
#define RKNPU_MMU_STATUS_PAGING			BIT(0)
#define RKNPU_MMU_STATUS_FAULT			BIT(1)
#define RKNPU_MMU_COMMAND		0x08
#define RKNPU_MMU_COMMAND_ENABLE_PAGING		0
#define RKNPU_MMU_COMMAND_ZAP_CACHE		4
#define RKNPU_MMU_FAULT_ADDR		0x0c
#define RKNPU_MMU_INT_RAWSTAT		0x14
#define RKNPU_MMU_INT_MASK		0x1c
#define RKNPU_MMU_AUTO_GATING		0x24

/* A page, in the bits of DTE_ADDR that all of them keep. */
#define RKNPU_MMU_DTE_PROBE	0xcafeb000

#define RKNPU_MMU_POLL_US	10
#define RKNPU_MMU_TIMEOUT_US	1000

/* Unmapped in one go, which takes milliseconds; whole page tables, so that none is walked twice. */
#define RKNPU_DOMAIN_UNMAP_SIZE	SZ_16M

/* How long rknpu_iommu_wait_unparked() waits. */
#define RKNPU_IOMMU_UNPARK_TRIES	50
#define RKNPU_IOMMU_UNPARK_MS		20

static bool rknpu_mmu_is_on(void __iomem *mmu)
{
	u32 status = readl(mmu + RKNPU_MMU_STATUS);

	/* Ones come from a core that does not answer, and what else it says is not to be kept. */
	return status != ~0u && (status & RKNPU_MMU_STATUS_PAGING);
}

/* Its driver asks the same of the register before it uses it. */
static bool rknpu_mmu_answers(void __iomem *mmu)
{
	void __iomem *reg = mmu + RKNPU_MMU_DTE_ADDR;
	bool answers;

	if (readl(reg))
		return true;
	/* Where a reset has left 0, nothing is translated that this could lead astray. */
	writel(RKNPU_MMU_DTE_PROBE, reg);
	answers = readl(reg) == RKNPU_MMU_DTE_PROBE;
	writel(0, reg);
	return answers;
}

static bool rknpu_iommu_save_core(struct rknpu_core *core, struct rknpu_mmu_state *state)
{
	void __iomem *mmu = core->mmus[0];

	if (!core->num_mmus || !core->iommu->shared || !core->clocked || core->parked ||
	    !rknpu_mmu_is_on(mmu))
		return false;
	state->on = true;
	state->dte = readl(mmu + RKNPU_MMU_DTE_ADDR);
	state->mask = readl(mmu + RKNPU_MMU_INT_MASK);
	state->gating = readl(mmu + RKNPU_MMU_AUTO_GATING);
	return true;
}

void rknpu_iommu_save(struct rknpu_core *core, struct rknpu_mmu_state *state)
{
	struct rknpu_core *other;

	state->on = false;
	if (!core->num_mmus || rknpu_iommu_save_core(core, state))
		return;
	rknpu_for_each_core(other, core->hw) {
		if (rknpu_iommu_save_core(other, state))
			return;
	}
}

static int rknpu_mmu_restore(void __iomem *mmu, const struct rknpu_mmu_state *state)
{
	u32 status;

	writel(state->dte, mmu + RKNPU_MMU_DTE_ADDR);
	writel(RKNPU_MMU_COMMAND_ZAP_CACHE, mmu + RKNPU_MMU_COMMAND);
	writel(state->mask, mmu + RKNPU_MMU_INT_MASK);
	writel(state->gating, mmu + RKNPU_MMU_AUTO_GATING);
	writel(RKNPU_MMU_COMMAND_ENABLE_PAGING, mmu + RKNPU_MMU_COMMAND);
	return readl_poll_timeout_atomic(mmu + RKNPU_MMU_STATUS, status,
					 status & RKNPU_MMU_STATUS_PAGING,
					 RKNPU_MMU_POLL_US, RKNPU_MMU_TIMEOUT_US);
}

int rknpu_iommu_restore(struct rknpu_core *core, const struct rknpu_mmu_state *state)
{
	unsigned int i;
	int ret = 0;

	/* No MMU is left that tells: the domain's jobs would run with physical addresses. */
	if (core->num_mmus && core->iommu->shared && core->iommu->domain && !state->on)
		return -EIO;
	for (i = 0; i < core->num_mmus && state->on && !ret; i++)
		ret = rknpu_mmu_restore(core->mmus[i], state);
	return ret;
}

static const u16 rknpu_mmu_dump_regs[] = {
	RKNPU_MMU_DTE_ADDR, RKNPU_MMU_STATUS, RKNPU_MMU_FAULT_ADDR, RKNPU_MMU_INT_RAWSTAT,
	RKNPU_MMU_INT_MASK,
};

#define RKNPU_MMU_DUMP_NAMES(mmu)							\
	{ mmu ".DTE_ADDR", mmu ".STATUS", mmu ".PAGE_FAULT_ADDR", mmu ".INT_RAWSTAT",	\
	  mmu ".INT_MASK" }

/* By MMU and, as above, by register. */
static const char * const
rknpu_mmu_dump_names[RKNPU_CORE_MAX_MMUS][ARRAY_SIZE(rknpu_mmu_dump_regs)] = {
	RKNPU_MMU_DUMP_NAMES("MMU0"), RKNPU_MMU_DUMP_NAMES("MMU1"),
};

void rknpu_iommu_dump(struct rknpu_core *core, struct rknpu_dump *dump)
{
	unsigned int mmu, i;

	lockdep_assert_held(&core->hw->lock);
	for (mmu = 0; mmu < core->num_mmus; mmu++) {
		for (i = 0; i < ARRAY_SIZE(rknpu_mmu_dump_regs); i++)
			rknpu_dump_add_reg(dump, rknpu_mmu_dump_names[mmu][i],
					   readl(core->mmus[mmu] + rknpu_mmu_dump_regs[i]));
	}
}

/* In the IOMMU's fault handler: is it this core that faults at @iova? */
static bool rknpu_iommu_core_faults(struct rknpu_core *core, unsigned long iova)
{
	unsigned int i;

	for (i = 0; i < core->num_mmus; i++) {
		void __iomem *mmu = core->mmus[i];

		if ((readl(mmu + RKNPU_MMU_STATUS) & RKNPU_MMU_STATUS_FAULT) &&
		    readl(mmu + RKNPU_MMU_FAULT_ADDR) == iova)
			return true;
	}
	return false;
}

static bool rknpu_iommu_is_behind(struct rknpu_core *core, struct device *iommu)
{
	return core->dev && core->iommu->np && core->iommu->np == iommu->of_node;
}

/*
 * Rockchip's own kernels hand over the IOMMU's status register in place of
 * IOMMU_FAULT_READ or _WRITE (5.10.110, 6.1.75 and 6.1.99). It is above both,
 * for bit 1 says that there is a fault.
 */
#define RKNPU_IOMMU_STATUS_IS_WRITE	BIT(5)

static bool rknpu_iommu_fault_is_write(int flags)
{
	return flags & (flags > IOMMU_FAULT_WRITE ? RKNPU_IOMMU_STATUS_IS_WRITE :
						    IOMMU_FAULT_WRITE);
}

/*
 * Hard interrupt context. @dev is the IOMMU, not the core behind it. If several
 * are, its registers tell which one it is, or which ones.
 */
static int rknpu_iommu_fault(struct iommu_domain *iommu, struct device *dev,
			     unsigned long iova, int flags, void *token)
{
	bool write = rknpu_iommu_fault_is_write(flags);
	struct rknpu_domain *domain = token;
	struct rknpu_hw *hw = domain->hw;
	struct rknpu_core *core;

	atomic_inc(&domain->faults);
	rknpu_for_each_core(core, hw) {
		if (!rknpu_iommu_is_behind(core, dev) ||
		    (core->iommu->shared && !rknpu_iommu_core_faults(core, iova)))
			continue;
		trace_rknpu_fault(core->index, domain->id, iova, write);
		hw->ops->iommu_fault(core, domain, iova, write);
	}
	return 0;
}

/*
 * When the IOMMU's handler reports a fault, on any core's line, it follows the
 * table register of the MMU that has it. A reset, and programming the IOMMU,
 * leave 0 there for a moment: on another CPU the handler would oops (seen after
 * half an hour of faults on the model), or report the fault when the next domain
 * is attached, whose job would end for it (tested by the selftests). Turning the
 * lines off waits.
 */
void rknpu_iommu_lines_off(struct rknpu_iommu *iommu)
{
	struct rknpu_core *core;

	rknpu_for_each_core_behind(core, iommu)
		if (core->irq)
			disable_irq(core->irq);
}

void rknpu_iommu_lines_on(struct rknpu_iommu *iommu)
{
	struct rknpu_core *core;

	rknpu_for_each_core_behind(core, iommu)
		if (core->irq)
			enable_irq(core->irq);
}

bool rknpu_iommu_parked(const struct rknpu_iommu *iommu)
{
	struct rknpu_core *core;

	rknpu_for_each_core_behind(core, iommu) {
		if (READ_ONCE(core->parked))
			return true;
	}
	return false;
}

/*
 * A core that is power cycled or retired is held in reset for a moment, and
 * detaching from an IOMMU in reset ends in a warning. Bounded, because a core
 * can be left in reset for good.
 */
void rknpu_iommu_wait_unparked(struct rknpu_iommu *iommu)
{
	unsigned int tries;

	for (tries = 0; tries < RKNPU_IOMMU_UNPARK_TRIES && rknpu_iommu_parked(iommu); tries++) {
		mutex_unlock(&iommu->attach_lock);
		msleep(RKNPU_IOMMU_UNPARK_MS);
		mutex_lock(&iommu->attach_lock);
	}
}

/* Of cores behind one IOMMU none loses its clock alone, but they are told one by one. */
static bool rknpu_iommu_clocked(const struct rknpu_iommu *iommu)
{
	struct rknpu_core *core;

	rknpu_for_each_core_behind(core, iommu) {
		if (core->clocked)
			return true;
	}
	return false;
}

/*
 * A power domain takes a device for awake that is on its way to sleep. If its last two go
 * at the same time each counts the other one, and the domain stays on.
 */
static bool rknpu_iommu_cores_suspending(const struct rknpu_iommu *iommu)
{
	struct rknpu_core *core;

	rknpu_for_each_core_behind(core, iommu) {
		if (core->dev && READ_ONCE(core->dev->power.runtime_status) == RPM_SUSPENDING)
			return true;
	}
	return false;
}

bool rknpu_iommu_sleeps(const struct rknpu_iommu *iommu)
{
	if (!iommu->dev)
		return true;
	/* It would follow its cores in its own time. */
	if (!rknpu_iommu_cores_suspending(iommu))
		pm_runtime_suspend(iommu->dev);
	return pm_runtime_status_suspended(iommu->dev);
}

/*
 * A power domain that is a supplier of the core, or of its IOMMU, follows them to sleep by the
 * kernel's own work, at any time: a moment later, when the core is wanted again and finds it
 * still on; or while the IOMMU goes, when each counts the other, see above. So its device is
 * kept awake until nothing else is, and put to sleep here. The first one last: it may have the
 * others in it.
 */
void rknpu_iommu_hold_power(struct rknpu_core *core)
{
	unsigned int i;

	for (i = 0; i < core->num_domains; i++)
		pm_runtime_get_noresume(core->domains[i]);
}

void rknpu_iommu_power_down(struct rknpu_core *core)
{
	unsigned int i = core->num_domains;

	rknpu_iommu_sleeps(core->iommu);
	while (i--) {
		pm_runtime_put_noidle(core->domains[i]);
		pm_runtime_suspend(core->domains[i]);
	}
}

/*
 * A power domain takes a device for awake, too, whose runtime PM is disabled: so if the core
 * sleeps, its IOMMU and the domain's own device go before, not after. Meanwhile nobody lets
 * them sleep.
 */
void rknpu_iommu_disable_pm(struct rknpu_core *core)
{
	pm_runtime_get_noresume(core->dev);
	pm_runtime_barrier(core->dev);
	if (pm_runtime_status_suspended(core->dev)) {
		rknpu_iommu_hold_power(core);
		rknpu_iommu_power_down(core);
	}
	pm_runtime_disable(core->dev);
	pm_runtime_put_noidle(core->dev);
}

void rknpu_iommu_lock_dev(const struct rknpu_iommu *iommu)
{
	if (iommu->dev)
		device_lock(iommu->dev);
}

void rknpu_iommu_unlock_dev(const struct rknpu_iommu *iommu)
{
	if (iommu->dev)
		device_unlock(iommu->dev);
}

/* A dead core reads as ones or as zeros, and some have zeros for a version. */
static bool rknpu_iommu_core_answers(struct rknpu_core *core)
{
	if (!rknpu_pc_answers(core))
		return false;
	return core->version || !core->num_mmus || rknpu_mmu_answers(core->mmus[0]);
}

/*
 * One that sleeps is not programmed, and does not wake up meanwhile: see
 * rknpu_iommu_detach(). User space may keep it awake when its cores sleep, in reset or
 * for good.
 */
static bool rknpu_iommu_answers(const struct rknpu_iommu *iommu)
{
	struct rknpu_core *core;

	if (!rknpu_iommu_clocked(iommu))
		return rknpu_iommu_sleeps(iommu) ||
		       !(rknpu_iommu_parked(iommu) || READ_ONCE(iommu->off));
	rknpu_for_each_core_behind(core, iommu) {
		if (core->dev && (READ_ONCE(core->parked) || !rknpu_iommu_core_answers(core)))
			return false;
	}
	return true;
}

/*
 * The default domain may be one that has to be programmed, too (with Debian's
 * configuration it is, 7.3 included). If that fails, the IOMMU core WARNs and may
 * stay with the domain that was to be left. So an IOMMU that will not answer is
 * not asked: its core has no clock or power, or is held in reset.
 */
static int rknpu_iommu_leave(struct rknpu_core *core, struct rknpu_domain *domain)
{
	struct rknpu_iommu *iommu = core->iommu;

	if (!domain->iommu)
		return 0;
	/* Without a group it is unbound, and did not let go before. */
	if (!iommu->group || !rknpu_iommu_answers(iommu))
		return -EIO;
	iommu_detach_group(domain->iommu, iommu->group);
	return iommu_get_domain_for_dev(core->dev) == domain->iommu ? -EIO : 0;
}

/* Its end came while it could not be detached. */
static void rknpu_iommu_unstick(struct rknpu_iommu *iommu)
{
	struct rknpu_domain *domain = iommu->stuck;

	WRITE_ONCE(iommu->stuck, NULL);
	if (!iommu->stuck_over)
		return;
	iommu->stuck_over = false;
	domain->release(domain);
}

int rknpu_iommu_detach(struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;
	struct rknpu_domain *domain = iommu->stuck ?: iommu->domain;
	struct rknpu_core *other;
	int ret;

	lockdep_assert_held(&iommu->attach_lock);

	if (!domain)
		return 0;
	rknpu_iommu_lines_off(iommu);
	if (!iommu->still) {
		rknpu_for_each_core_behind(other, iommu)
			iommu->halt(other);
	}
	iommu->still = false;
	ret = rknpu_iommu_leave(core, domain);
	if (ret)
		WRITE_ONCE(iommu->stuck, domain);
	/* In this order, for rknpu_domain_is_on(). It may be gone from here on. */
	smp_store_release(&iommu->domain, NULL);
	rknpu_iommu_lines_on(iommu);

	if (ret)
		drm_dbg_ratelimited(iommu->hw->drm, "core %u: cannot detach its IOMMU: %d\n",
				    core->index, ret);
	else if (iommu->stuck)
		rknpu_iommu_unstick(iommu);
	return ret;
}

/*
 * What the chip wants of AUTO_GATING, which the IOMMU's driver may not set. A core that
 * sleeps has no domain of ours, so that it is enough to do so whenever one is attached.
 */
static void rknpu_iommu_set_gating(struct rknpu_core *core)
{
	u32 want = core->hw->soc->mmu_gating;
	unsigned int i;

	if (!core->clocked || READ_ONCE(core->parked))
		return;
	for (i = 0; want && i < core->num_mmus; i++) {
		void __iomem *reg = core->mmus[i] + RKNPU_MMU_AUTO_GATING;
		u32 gating = readl(reg);

		if ((gating & want) != want)
			writel(gating | want, reg);
	}
}

static int rknpu_iommu_enter(struct rknpu_iommu *iommu, struct rknpu_domain *domain)
{
	struct rknpu_core *core;
	int ret;

	if (!domain->iommu)
		return 0;
	rknpu_iommu_lines_off(iommu);
	ret = iommu_attach_group(domain->iommu, iommu->group);
	rknpu_for_each_core_behind(core, iommu)
		rknpu_iommu_set_gating(core);
	rknpu_iommu_lines_on(iommu);
	return ret;
}

int rknpu_iommu_attach(struct rknpu_core *core, struct rknpu_domain *domain)
{
	struct rknpu_iommu *iommu = core->iommu;
	int ret;

	lockdep_assert_held(&iommu->attach_lock);

	if (iommu->domain == domain)
		return 0;

	/* The IOMMU core goes from one private domain to another only through the default one. */
	ret = rknpu_iommu_detach(core);
	if (ret)
		return ret;
	ret = rknpu_iommu_enter(iommu, domain);
	trace_rknpu_attach(core->index, domain->id, ret);
	if (ret)
		return ret;

	WRITE_ONCE(iommu->domain, domain);
	/* Those of clients' jobs. */
	if (domain != &core->hw->scrub.domain)
		rknpu_core_stat_count(core, RKNPU_CORE_STAT_ATTACHES, 1);
	return 0;
}

/* All IOMMUs of the NPU are of one kind, so any core's can make the tables. NULL: there is none. */
static struct iommu_domain *rknpu_domain_alloc(struct rknpu_hw *hw)
{
	struct iommu_domain *iommu = ERR_PTR(-ENODEV);
	int i, idx;

	/* Cores stay bound meanwhile: the vendor's uAPI gets here from any ioctl. */
	if (!drm_dev_enter(hw->drm, &idx))
		return iommu;
	if (hw->no_iommu)
		iommu = NULL;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (hw->iommus[i].group) {
			iommu = iommu_paging_domain_alloc(hw->cores[i].dev);
			break;
		}
	}
	drm_dev_exit(idx);
	return iommu;
}

int rknpu_domain_init(struct rknpu_domain *domain, struct rknpu_hw *hw,
		      void (*release)(struct rknpu_domain *domain))
{
	static atomic64_t last_id = ATOMIC64_INIT(0);
	struct iommu_domain *iommu = rknpu_domain_alloc(hw);

	if (IS_ERR(iommu))
		return PTR_ERR(iommu);
	domain->hw = hw;
	domain->id = atomic64_inc_return(&last_id);
	domain->iommu = iommu;
	domain->release = release;
	if (iommu)
		iommu_set_fault_handler(iommu, rknpu_iommu_fault, domain);
	return 0;
}

/*
 * With rknpu_iommu::attach_lock; or without it, once no job is left that could have the domain
 * attached. If it is not on then, nothing touches it any more: who took it off had waited for
 * the IOMMU's handler.
 */
static bool rknpu_domain_is_on(const struct rknpu_domain *domain, const struct rknpu_iommu *iommu)
{
	/* Before @stuck, which rknpu_iommu_detach() sets first. */
	return smp_load_acquire(&iommu->domain) == domain || READ_ONCE(iommu->stuck) == domain;
}

static bool rknpu_domain_detach_locked(struct rknpu_domain *domain, struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;
	bool off;

	guard(mutex)(&iommu->attach_lock);
	if (rknpu_domain_is_on(domain, iommu))
		rknpu_iommu_detach(core);
	/* The IOMMU's handler may have been about to call rknpu_iommu_fault(). */
	if (iommu->group && core->irq)
		synchronize_irq(core->irq);
	off = !rknpu_domain_is_on(domain, iommu);
	iommu->stuck_over |= !off;
	return off;
}

static bool rknpu_domain_detach(struct rknpu_domain *domain, struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;
	bool stuck, off;

	/* Clients close thousands at once, while others' jobs need the locks to wake cores. */
	if (!rknpu_domain_is_on(domain, iommu))
		return true;
	scoped_guard(mutex, &iommu->attach_lock) {
		if (rknpu_domain_is_on(domain, iommu))
			rknpu_iommu_wait_unparked(iommu);
	}
	/* The core may sleep with what is stuck. Then it does not wake up meanwhile. */
	guard(mutex)(&iommu->power_lock);
	stuck = core->dev && READ_ONCE(iommu->stuck) == domain;
	if (stuck)
		rknpu_iommu_disable_pm(core);
	rknpu_iommu_lock_dev(iommu);
	off = rknpu_domain_detach_locked(domain, core);
	rknpu_iommu_unlock_dev(iommu);
	if (stuck) {
		pm_runtime_enable(core->dev);
		/* Its timer was stopped, too. */
		pm_request_idle(core->dev);
	}
	return off;
}

/* If this fails, the domain is told when the IOMMU lets go. */
static bool rknpu_domain_detach_all(struct rknpu_domain *domain)
{
	struct rknpu_core *core;

	rknpu_for_each_core(core, domain->hw) {
		if (!rknpu_domain_detach(domain, core))
			return false;
	}
	return true;
}

/*
 * IOMMUs are shut down after the device, while processes may still close what
 * they have; their driver warns when it is asked for anything after that. So
 * whoever is not the scheduler asks with iommus_lock held, and not once the
 * machine goes down.
 */
bool rknpu_domain_fini(struct rknpu_domain *domain)
{
	guard(rwsem_read)(&domain->hw->iommus_lock);
	/* IOMMUs still refer to it, and the machine goes down: it stays for good. */
	if (domain->hw->down)
		return false;
	if (!rknpu_domain_detach_all(domain))
		return false;
	if (domain->iommu)
		iommu_domain_free(domain->iommu);
	return true;
}

int rknpu_domain_map(struct rknpu_domain *domain, u64 iova, dma_addr_t addr, size_t size)
{
	guard(rwsem_read)(&domain->hw->iommus_lock);
	if (domain->hw->down)
		return -ENODEV;
	if (!domain->iommu)
		return iova == addr ? 0 : -EINVAL;
	return iommu_map(domain->iommu, iova, addr, size, IOMMU_READ | IOMMU_WRITE,
			 GFP_KERNEL_ACCOUNT);
}

/* Gigabytes take a second or so, and not every kernel preempts that by itself. */
static u64 rknpu_domain_unmap_pieces(struct rknpu_domain *domain, u64 iova, u64 size)
{
	u64 piece, done, unmapped = 0;

	for (done = 0; done < size; done += piece) {
		piece = RKNPU_DOMAIN_UNMAP_SIZE - ((iova + done) & (RKNPU_DOMAIN_UNMAP_SIZE - 1));
		piece = min(piece, size - done);
		unmapped += iommu_unmap(domain->iommu, iova + done, piece);
		cond_resched();
	}
	return unmapped;
}

void rknpu_domain_unmap(struct rknpu_domain *domain, u64 iova, u64 size)
{
	u64 unmapped;

	if (!size || !domain->iommu)
		return;
	guard(rwsem_read)(&domain->hw->iommus_lock);
	if (domain->hw->down)
		return;
	unmapped = rknpu_domain_unmap_pieces(domain, iova, size);
	/* What is unmapped was mapped as a whole. */
	if (unmapped != size)
		drm_err_ratelimited(domain->hw->drm, "only %llu of %llu bytes at %#llx could be unmapped; please report it\n",
				    unmapped, size, iova);
}

/* As many pages below the one that faulted as from it on. */
void rknpu_domain_dump(struct rknpu_domain *domain, u64 iova, struct rknpu_dump *dump)
{
	u64 page = round_down(iova, SZ_4K);
	u64 below = min_t(u64, page, RKNPU_DUMP_PAGES / 2 * SZ_4K);
	u64 at = page - below;
	unsigned int i;

	if (!domain->iommu)
		return;
	for (i = 0; i < RKNPU_DUMP_PAGES && at < SZ_4G; i++, at += SZ_4K)
		rknpu_dump_add_page(dump, at, iommu_iova_to_phys(domain->iommu, at));
}

static struct device *rknpu_iommu_find(struct device_node *np)
{
	struct platform_device *pdev = of_find_device_by_node(np);

	return pdev ? &pdev->dev : NULL;
}

bool rknpu_iommu_is_absent(const struct device_node *np)
{
	struct device_node *iommu = of_parse_phandle(np, "iommus", 0);
	bool absent = rknpu_params.noiommu || !iommu || !of_device_is_available(iommu);

	of_node_put(iommu);
	return absent;
}

bool rknpu_iommu_are_absent(void)
{
	const struct rknpu_soc *soc;
	const struct of_device_id *shape = rknpu_soc_find_shape(&soc);
	struct device_node *np;

	if (!shape)
		return false;
	for_each_matching_node(np, shape) {
		if (of_device_is_available(np) && !rknpu_iommu_is_absent(np)) {
			of_node_put(np);
			return false;
		}
	}
	return true;
}

/*
 * A core resets its IOMMU before it is used, and one that nobody turns on lets
 * everything through. The kernel turns on what it has another domain for.
 */
static int rknpu_iommu_check_absent(struct rknpu_core *core)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(core->dev);

	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY)
		return dev_err_probe(core->dev, -EBUSY,
				     "noiommu is set, but the kernel uses the IOMMU: boot with iommu.passthrough=1, or remove the IOMMU from the device tree\n");
	return 0;
}

static void rknpu_iommu_check_reach(struct rknpu_core *core)
{
	const struct rknpu_soc *soc = core->hw->soc;

	if (!soc->far_tables ||
	    of_property_match_string(core->iommu->np, "compatible", soc->far_tables) < 0 ||
	    dma_get_required_mask(core->hw->drm->dev) <= DMA_BIT_MASK(soc->dma_bits))
		return;
	dev_warn(core->dev, "page tables may be where this IOMMU cannot read them: its node wants the compatible rockchip,iommu\n");
}

static int rknpu_iommu_get_group(struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;
	struct iommu_group *group = iommu_group_get(core->dev);

	/* By default kernels probe the IOMMU's driver first, and it makes one. */
	if (!group)
		return dev_err_probe(core->dev, -EPROBE_DEFER, "no IOMMU yet\n");

	iommu->np = of_parse_phandle(core->dev->of_node, "iommus", 0);
	iommu->dev = rknpu_iommu_find(iommu->np);
	iommu->group = group;
	rknpu_iommu_check_reach(core);
	return 0;
}

int rknpu_iommu_get(struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;
	struct rknpu_hw *hw = core->hw;
	int ret;

	if (rknpu_iommu_is_absent(core->dev->of_node) != hw->no_iommu)
		return dev_err_probe(core->dev, -EINVAL,
				     "some cores have an IOMMU, and some have none\n");
	if (iommu->users++)
		return 0;

	iommu->domain = NULL;
	ret = hw->no_iommu ? rknpu_iommu_check_absent(core) : rknpu_iommu_get_group(core);
	if (ret)
		iommu->users--;
	return ret;
}

/* A shared one has one for each core, or one for all. */
int rknpu_iommu_irq(const struct rknpu_core *core)
{
	const struct rknpu_iommu *iommu = core->iommu;
	int irq;

	if (!iommu->np)
		return 0;
	irq = iommu->shared ? of_irq_get(iommu->np, core->index) : 0;
	return irq > 0 ? irq : max(of_irq_get(iommu->np, 0), 0);
}

void rknpu_iommu_put(struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;

	if (--iommu->users)
		return;
	/* Address spaces that are released meanwhile lock its device, and unlock the same one. */
	guard(mutex)(&iommu->power_lock);
	rknpu_iommu_lock_dev(iommu);
	mutex_lock(&iommu->attach_lock);
	rknpu_iommu_detach(core);
	mutex_unlock(&iommu->attach_lock);
	rknpu_iommu_unlock_dev(iommu);

	iommu_group_put(iommu->group);
	iommu->group = NULL;
	put_device(iommu->dev);
	iommu->dev = NULL;
	of_node_put(iommu->np);
	iommu->np = NULL;
}
