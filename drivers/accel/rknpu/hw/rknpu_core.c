// SPDX-License-Identifier: GPL-2.0-only
/* Owns one core: registers, clocks, resets, interrupt line, runtime PM. */
#include <linux/cleanup.h>
#include <linux/clk.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/pm_domain.h>
#include <linux/pm_runtime.h>
#include <linux/regulator/consumer.h>
#include <linux/reset.h>
#include <linux/slab.h>

#include "rknpu_core.h"
#include "rknpu_devfreq.h"
#include "rknpu_hw.h"
#include "rknpu_iommu.h"
#include "rknpu_params.h"
#include "rknpu_pc.h"
#include "rknpu_poll.h"
#include "rknpu_rate.h"
#include "rknpu_scrub.h"

#define CREATE_TRACE_POINTS
#include "rknpu_hw_trace.h"

/*
 * Reset for so long, and then not touched for so long. The TRM asks for 32 cycles of the slowest
 * clock in reset. The vendor's driver waits this long both times (0.9.8; earlier ones waited in
 * reset alone). What is written too early may be lost.
 */
#define RKNPU_CORE_RESET_US	10

#define RKNPU_CORE_POWER_TRIES	2

static int rknpu_core_map(struct rknpu_core *core, struct platform_device *pdev)
{
	core->pc = devm_platform_ioremap_resource_byname(pdev, "pc");
	if (IS_ERR(core->pc))
		return PTR_ERR(core->pc);

	core->cna = devm_platform_ioremap_resource_byname(pdev, "cna");
	if (IS_ERR(core->cna))
		return PTR_ERR(core->cna);

	core->mac = devm_platform_ioremap_resource_byname(pdev, "core");
	return PTR_ERR_OR_ZERO(core->mac);
}

static int rknpu_core_get_clks(struct rknpu_core *core)
{
	const char * const *names = core->hw->soc->clks;
	unsigned int i;
	int ret;

	core->clks = devm_kcalloc(core->dev, RKNPU_MAX_CLKS, sizeof(*core->clks), GFP_KERNEL);
	if (!core->clks)
		return -ENOMEM;

	for (i = 0; i < RKNPU_MAX_CLKS && names[i]; i++)
		core->clks[i].id = names[i];
	core->num_clks = i;
	ret = devm_clk_bulk_get(core->dev, core->num_clks, core->clks);
	if (!ret)
		core->npu_clk = core->clks[0].clk;
	return ret;
}

int rknpu_core_get_resets(struct rknpu_core *core, const char *suffix)
{
	const char * const *names = core->hw->soc->resets;
	char name[16];
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_RESETS && names[i]; i++) {
		snprintf(name, sizeof(name), "%s%s", names[i], suffix);
		core->resets[i] = devm_reset_control_get_exclusive(core->dev, name);
		if (IS_ERR(core->resets[i]))
			return dev_err_probe(core->dev, PTR_ERR(core->resets[i]),
					     "no reset %s\n", name);
	}
	return 0;
}

/*
 * Rockchip's reset controller writes a register and never fails; another one might. A chip has
 * fewer than there is room for: those are NULL, and the reset core does nothing.
 */
int rknpu_core_deassert(struct rknpu_core *core)
{
	unsigned int i;
	int ret, err = 0;

	for (i = 0; i < RKNPU_MAX_RESETS; i++) {
		ret = reset_control_deassert(core->resets[i]);
		err = err ?: ret;
	}
	udelay(RKNPU_CORE_RESET_US);
	return err;
}

static int rknpu_core_assert(struct rknpu_core *core)
{
	unsigned int i;
	int ret, err = 0;

	for (i = 0; i < RKNPU_MAX_RESETS; i++) {
		ret = reset_control_assert(core->resets[i]);
		err = err ?: ret;
	}
	return err;
}

void rknpu_core_add_domain(struct rknpu_core *core, struct device *domain)
{
	if (core->num_domains < ARRAY_SIZE(core->domains))
		core->domains[core->num_domains++] = domain;
}

static void rknpu_core_put_domain(void *domain)
{
	dev_pm_domain_detach(domain, true);
}

static void rknpu_core_put_link(void *link)
{
	device_link_del(link);
}

static int rknpu_core_get_domain(struct rknpu_core *core, int index)
{
	struct device *dev = core->dev, *domain = dev_pm_domain_attach_by_id(dev, index);
	struct device_link *link;
	int ret;

	if (IS_ERR_OR_NULL(domain))
		return domain ? PTR_ERR(domain) : -ENOENT;
	ret = devm_add_action_or_reset(dev, rknpu_core_put_domain, domain);
	if (ret)
		return ret;
	link = device_link_add(dev, domain, DL_FLAG_STATELESS | DL_FLAG_PM_RUNTIME);
	if (!link)
		return -ENODEV;
	ret = devm_add_action_or_reset(dev, rknpu_core_put_link, link);
	if (!ret)
		rknpu_core_add_domain(core, domain);
	return ret;
}

/* The driver core attaches a single one, but of several none. */
static int rknpu_core_get_domains(struct rknpu_core *core)
{
	int count = of_count_phandle_with_args(core->dev->of_node, "power-domains",
					       "#power-domain-cells");
	int i, ret = 0;

	for (i = 0; count > 1 && i < count && !ret; i++)
		ret = rknpu_core_get_domain(core, i);
	return ret;
}

/* Here it is only read. */
static void rknpu_core_get_supply(struct rknpu_core *core)
{
	core->supply = devm_regulator_get_optional(core->dev, "npu");
	if (IS_ERR(core->supply))
		core->supply = NULL;
}

int rknpu_core_set_irq(struct rknpu_core *core, int irq)
{
	core->polled = rknpu_params.poll || irq == -ENXIO;
	core->irq = irq == -ENXIO ? 0 : irq;
	return min(core->irq, 0);
}

static int rknpu_core_get_resources(struct rknpu_core *core)
{
	struct platform_device *pdev = to_platform_device(core->dev);
	int ret;

	ret = rknpu_core_map(core, pdev);
	if (ret)
		return dev_err_probe(core->dev, ret, "no registers\n");

	ret = rknpu_core_get_clks(core);
	if (ret)
		return dev_err_probe(core->dev, ret, "no clocks\n");

	ret = rknpu_core_get_resets(core, "");
	if (ret)
		return ret;

	ret = rknpu_core_get_domains(core);
	if (ret)
		return dev_err_probe(core->dev, ret, "no power domains\n");

	rknpu_core_get_supply(core);
	return rknpu_core_set_irq(core, platform_get_irq_optional(pdev, 0));
}

/* May registers be touched? The interrupt handler asks under the lock. Returns what it was. */
static bool rknpu_core_set_powered(struct rknpu_core *core, bool powered)
{
	unsigned long flags;
	bool was;

	spin_lock_irqsave(&core->hw->lock, flags);
	was = core->powered;
	WRITE_ONCE(core->powered, powered);
	spin_unlock_irqrestore(&core->hw->lock, flags);
	return was;
}

void rknpu_core_mask_irq(struct rknpu_core *core)
{
	lockdep_assert_held(&core->hw->lock);
	if (core->irq_off)
		return;
	WRITE_ONCE(core->irq_off, true);
	if (core->irq)
		disable_irq_nosync(core->irq);
}

void rknpu_core_sync_irq(struct rknpu_core *core)
{
	rknpu_poll_sync(core);
	if (core->irq)
		synchronize_irq(core->irq);
}

bool rknpu_core_irq_waits(const struct rknpu_core *core)
{
	bool pending = false, masked = true;

	if (!core->irq)
		return false;
	/*
	 * disable_irq() leaves masking the line to whoever takes the interrupt. One that the
	 * kernel has given up because nobody cared is masked, and tells of nothing any more.
	 */
	return !irq_get_irqchip_state(core->irq, IRQCHIP_STATE_PENDING, &pending) && pending &&
	       !irq_get_irqchip_state(core->irq, IRQCHIP_STATE_MASKED, &masked) && !masked;
}

void rknpu_core_disable_irq(struct rknpu_core *core)
{
	scoped_guard(spinlock_irq, &core->hw->lock)
		rknpu_core_mask_irq(core);
	rknpu_core_sync_irq(core);
}

void rknpu_core_enable_irq(struct rknpu_core *core)
{
	guard(spinlock_irq)(&core->hw->lock);
	if (!core->irq_off)
		return;
	WRITE_ONCE(core->irq_off, false);
	if (core->irq)
		enable_irq(core->irq);
}

static int rknpu_core_pulse_reset(struct rknpu_core *core)
{
	struct rknpu_mmu_state state;
	bool was_powered;
	int ret;

	rknpu_iommu_lines_off(core->iommu);
	mutex_lock(&core->reset_lock);
	was_powered = rknpu_core_set_powered(core, false);
	rknpu_iommu_save(core, &state);
	ret = rknpu_core_assert(core);
	if (!ret) {
		udelay(RKNPU_CORE_RESET_US);
		ret = rknpu_core_deassert(core);
	}
	WRITE_ONCE(core->parked, false);
	if (!ret)
		ret = rknpu_iommu_restore(core, &state);
	rknpu_core_set_powered(core, was_powered);
	mutex_unlock(&core->reset_lock);
	rknpu_iommu_lines_on(core->iommu);
	trace_rknpu_reset(core->index, ret);
	return ret;
}

/* Any core behind an IOMMU may be what keeps that from coming up. */
static void rknpu_core_pulse_asleep(struct rknpu_iommu *iommu)
{
	struct rknpu_core *core;

	guard(mutex)(&iommu->attach_lock);
	rknpu_for_each_core_behind(core, iommu) {
		/* One that is held in reset stays so. */
		if (!core->clocked && !READ_ONCE(core->parked))
			rknpu_core_pulse_reset(core);
	}
}

/*
 * Kernels up to 6.12 at least do not resume a device that has failed to, before
 * they are told what state it is in. Later ones remember failures to suspend.
 */
static void rknpu_core_forget_failure(struct device *dev)
{
	if (dev && dev->power.runtime_error && pm_runtime_suspended(dev))
		pm_runtime_set_suspended(dev);
}

static int rknpu_core_try_power_on(struct rknpu_core *core)
{
	unsigned int tries, i;
	int ret;

	for (tries = 1;; tries++) {
		for (i = 0; i < core->num_domains; i++)
			rknpu_core_forget_failure(core->domains[i]);
		rknpu_core_forget_failure(core->iommu->dev);
		rknpu_core_forget_failure(core->dev);
		ret = pm_runtime_resume_and_get(core->dev);
		if (!ret || tries == RKNPU_CORE_POWER_TRIES)
			return ret;
		dev_warn_ratelimited(core->dev, "core %u does not power up (%d), trying again\n",
				     core->index, ret);
		rknpu_iommu_hold_power(core);
		rknpu_iommu_power_down(core);
		rknpu_core_pulse_asleep(core->iommu);
	}
}

/*
 * What does not come up, the power domain or the IOMMU, may do so the next
 * time. A reset in between, as other cores may have kept the domain on. Cores
 * of one device wait for each other's tries: a failure counts for all of
 * them (up to 6.12), and a reset hits the IOMMU that another core's try programs.
 */
int rknpu_core_power_on(struct rknpu_core *core)
{
	guard(mutex)(&core->iommu->power_lock);
	return rknpu_core_try_power_on(core);
}

void rknpu_core_keep_on(struct rknpu_core *core)
{
	guard(mutex)(&core->iommu->power_lock);
	if (core->iommu->off)
		pm_runtime_get_noresume(core->dev);
	else
		pm_runtime_get_sync(core->dev);
}

/* What ran before (a boot loader, another driver) may have left anything behind. */
static int rknpu_core_check(struct rknpu_core *core)
{
	int ret;

	/* Powering up programs the IOMMU, which is behind the same resets. */
	ret = rknpu_core_deassert(core);
	if (!ret)
		ret = rknpu_core_power_on(core);
	if (ret)
		return dev_err_probe(core->dev, ret, "core %u does not power up\n",
				     core->index);

	core->reset_shows = true;
	ret = rknpu_core_reset(core);
	if (ret == -EIO) {
		/* Then the registers do not tell on this hardware, and must not be asked later. */
		dev_dbg(core->dev, "a reset does not show in the registers\n");
		core->reset_shows = false;
		ret = 0;
	}
	core->version = rknpu_pc_version(core);
	scoped_guard(spinlock_irq, &core->hw->lock)
		rknpu_pc_quiesce(core);

	pm_runtime_put_autosuspend(core->dev);
	return ret;
}

/*
 * With runtime PM disabled, so that nobody wakes the device before it is enabled again.
 * Unlike a put, also if user space keeps the device on through sysfs.
 * pm_runtime_force_suspend() is for system sleep alone: a device with more than one user
 * is to be resumed by pm_runtime_force_resume() then, and newer kernels take it for
 * awake until that.
 *
 * A power domain takes devices without runtime PM for awake, but not the one that goes
 * to sleep. So for it to go off now, what else is in it has to sleep before: what @core
 * needs, or NULL if a program may still run. Where the device is in none, its domains are
 * among what it needs, and go after it.
 */
static void rknpu_core_suspend(struct device *dev, struct rknpu_core *core)
{
	struct dev_pm_domain *domain = dev->pm_domain;
	bool inside = domain && domain->ops.runtime_suspend;
	int ret;

	if (pm_runtime_status_suspended(dev))
		return;
	if (core)
		rknpu_iommu_hold_power(core);
	if (core && inside) {
		pm_runtime_set_suspended(dev);
		rknpu_iommu_power_down(core);
	}
	ret = inside ? domain->ops.runtime_suspend(dev) : pm_generic_runtime_suspend(dev);
	if (!ret)
		pm_runtime_set_suspended(dev);
	if (core && !inside)
		rknpu_iommu_power_down(core);
}

/* The runtime PM callbacks must see the same owner going down as going up. */
void rknpu_core_set_owner(struct device *dev, void *owner)
{
	pm_runtime_disable(dev);
	rknpu_core_suspend(dev, NULL);
	dev_set_drvdata(dev, owner);
	pm_runtime_enable(dev);
}

void rknpu_core_begin_unbind(struct rknpu_core *core)
{
	rknpu_iommu_hold_power(core);
	rknpu_core_set_owner(core->dev, NULL);
	/* First this, for the power domain to go off. */
	rknpu_iommu_power_down(core);
	pm_runtime_disable(core->dev);
	/* rknpu_core_unprepare() resets the cores of one that is awake. */
	core->iommu->off = false;
}

void rknpu_core_end_unbind(struct device *dev)
{
	pm_runtime_enable(dev);
}

static void rknpu_core_unpark(struct rknpu_core *core)
{
	guard(mutex)(&core->reset_lock);
	rknpu_core_deassert(core);
	WRITE_ONCE(core->parked, false);
}

int rknpu_core_prepare(struct rknpu_core *core)
{
	const struct rknpu_hw_ops *ops = core->hw->ops;
	int ret;

	ret = ops->init_core(core);
	if (ret)
		return ret;

	ret = rknpu_iommu_get(core);
	if (ret)
		goto err_core;

	/* A fault must not keep the IOMMU's line up until the core is reset. */
	if (!core->irq)
		core->irq = rknpu_iommu_irq(core);

	ret = rknpu_scrub_get(core->hw);
	if (ret)
		goto err_iommu;
	rknpu_scrub_forget(core);
	return 0;

err_iommu:
	rknpu_iommu_put(core);
err_core:
	ops->fini_core(core);
	return ret;
}

void rknpu_core_unprepare(struct rknpu_core *core)
{
	/* If user space keeps the IOMMU awake it is programmed, and must be able to. */
	if (!rknpu_iommu_sleeps(core->iommu))
		rknpu_core_pulse_reset(core);
	/* Otherwise this needs nothing from an IOMMU that may be stuck. */
	rknpu_iommu_put(core);
	rknpu_scrub_put(core->hw);
	/* It may be retired, but another driver may have better luck. */
	rknpu_core_unpark(core);
	core->hw->ops->fini_core(core);
}

/* One that is polled leaves the line to its IOMMU's driver. */
static int rknpu_core_request_irq(struct rknpu_core *core)
{
	int ret;

	core->irq_requested = !core->polled;
	if (core->polled) {
		dev_info(core->dev, "core %u is polled, %s\n", core->index,
			 rknpu_params.poll ? "as asked for" : "having no interrupt");
		return 0;
	}
	ret = devm_request_irq(core->dev, core->irq, core->hw->ops->irq, IRQF_SHARED,
			       dev_name(core->dev), core);
	if (ret)
		return dev_err_probe(core->dev, ret, "no interrupt\n");
	return 0;
}

int rknpu_core_bring_up(struct rknpu_core *core)
{
	int ret;

	ret = rknpu_core_check(core);
	if (ret)
		return ret;

	ret = rknpu_core_request_irq(core);
	if (ret)
		return ret;

	core->hw->ops->start_core(core);
	return 0;
}

void rknpu_core_free_irq(struct rknpu_core *core)
{
	/* The IOMMU's driver keeps its part of the line. */
	rknpu_core_enable_irq(core);
	if (core->irq_requested)
		devm_free_irq(core->dev, core->irq, core);
}

/* Who releases an address space may be at it. */
void rknpu_core_forget_dev(struct rknpu_core *core)
{
	guard(mutex)(&core->iommu->power_lock);
	core->dev = NULL;
	core->num_domains = 0;
}

int rknpu_core_bind(struct rknpu_core *core, struct device *dev)
{
	int ret;

	core->dev = dev;
	ret = rknpu_core_get_resources(core);
	if (ret)
		goto err_dev;

	ret = rknpu_core_prepare(core);
	if (ret)
		goto err_dev;

	rknpu_core_set_owner(dev, core);
	ret = rknpu_core_bring_up(core);
	if (ret)
		goto err_off;
	return 0;

err_off:
	rknpu_core_begin_unbind(core);
	rknpu_core_unprepare(core);
	rknpu_core_end_unbind(dev);
err_dev:
	rknpu_core_forget_dev(core);
	return ret;
}

void rknpu_core_unbind(struct rknpu_core *core)
{
	struct device *dev = core->dev;

	/* Off before the line is heard again: it may be kept up by a fault. */
	rknpu_core_begin_unbind(core);
	rknpu_core_free_irq(core);
	rknpu_core_unprepare(core);
	rknpu_core_end_unbind(dev);
	rknpu_core_forget_dev(core);
}

/*
 * A job is over when the unit it waits for reports. Another unit that its
 * program started may still access memory, while the IOMMU, which passes
 * everything through as long as it is being switched, goes from one address
 * space to the next.
 */
static void rknpu_core_halt(struct rknpu_core *core)
{
	int ret;

	lockdep_assert_held(&core->iommu->attach_lock);
	if (!core->clocked || READ_ONCE(core->parked))
		return;
	ret = rknpu_core_pulse_reset(core);
	if (ret)
		dev_err_ratelimited(core->dev, "core %u cannot be reset between two clients: %d\n",
				    core->index, ret);
	rknpu_core_stat_count(core, RKNPU_CORE_STAT_HALTS, 1);
}

static void rknpu_core_init_static(struct rknpu_hw *hw, unsigned int index)
{
	struct rknpu_core *core = &hw->cores[index];
	struct rknpu_iommu *iommu = &hw->iommus[index];

	mutex_init(&iommu->attach_lock);
	mutex_init(&iommu->power_lock);
	iommu->hw = hw;
	iommu->halt = rknpu_core_halt;

	core->hw = hw;
	core->index = index;
	core->iommu = iommu;
	mutex_init(&core->reset_lock);
	rknpu_poll_init(core);
}

void rknpu_hw_init(struct rknpu_hw *hw, struct drm_device *drm, const struct rknpu_hw_ops *ops)
{
	unsigned int i;

	hw->drm = drm;
	hw->ops = ops;
	spin_lock_init(&hw->lock);
	init_rwsem(&hw->iommus_lock);
	rknpu_rate_init_static(hw);
	for (i = 0; i < RKNPU_MAX_CORES; i++)
		rknpu_core_init_static(hw, i);
}

int rknpu_core_reset(struct rknpu_core *core)
{
	int ret;

	rknpu_core_stat_count(core, RKNPU_CORE_STAT_RESETS, 1);
	ret = rknpu_core_pulse_reset(core);
	if (ret)
		return ret;

	if (core->reset_shows && !rknpu_pc_looks_reset(core))
		return -EIO;
	return 0;
}

static void rknpu_core_set_parked(struct rknpu_core *core)
{
	guard(mutex)(&core->reset_lock);
	WRITE_ONCE(core->parked, true);
}

/*
 * Whether what is in reset answers the CPU is not known (soc.reset-reads in evidence.toml). The
 * IOMMU's driver on its way to sleep and the switch of the power domain access what is behind
 * the core's resets. So what can be seen to have stopped is reset and let go.
 */
static bool rknpu_core_comes_to_rest(struct rknpu_core *core)
{
	if (!core->clocked || !core->reset_shows || rknpu_core_pulse_reset(core) ||
	    !rknpu_pc_looks_reset(core))
		return false;
	rknpu_core_set_parked(core);
	return true;
}

/*
 * The IOMMU is in the same reset: its interrupt handler must not find its
 * registers gone, least of all the address of its table, which it follows.
 */
static int rknpu_core_hold_in_reset(struct rknpu_core *core)
{
	int ret;

	rknpu_iommu_lines_off(core->iommu);
	mutex_lock(&core->reset_lock);
	WRITE_ONCE(core->parked, true);
	ret = rknpu_core_assert(core);
	mutex_unlock(&core->reset_lock);
	rknpu_iommu_lines_on(core->iommu);
	return ret;
}

/*
 * Without rknpu_iommu::attach_lock, which others hold while they wait: the
 * domain that the job ran in is attached, so nobody programs the IOMMU.
 */
int rknpu_core_stop(struct rknpu_core *core)
{
	int ret;

	/* What cannot be seen to have stopped is switched off first. */
	if (core->iommu->shared || !core->reset_shows)
		return -EOPNOTSUPP;
	ret = rknpu_core_pulse_reset(core);
	if (ret)
		return ret;
	rknpu_core_stat_count(core, RKNPU_CORE_STAT_HALTS, 1);
	if (!rknpu_pc_looks_reset(core))
		return -EIO;
	/* The domain may go once the job has ended, and its IOMMU has been wiped. */
	rknpu_core_set_parked(core);
	return 0;
}

int rknpu_core_reset_locked(struct rknpu_core *core)
{
	guard(mutex)(&core->iommu->attach_lock);
	return rknpu_core_reset(core);
}

void rknpu_core_park(struct rknpu_core *core)
{
	int ret;

	/* Not while the IOMMU is being programmed. */
	guard(mutex)(&core->iommu->attach_lock);
	if (READ_ONCE(core->parked) || rknpu_core_comes_to_rest(core))
		return;
	ret = rknpu_core_hold_in_reset(core);
	if (ret)
		dev_err(core->dev, "core %u cannot be held in reset: %d\n", core->index, ret);
}

/* While the core sleeps, detaching is bookkeeping, if its IOMMU does, too. */
static void rknpu_core_detach_asleep(struct rknpu_core *core)
{
	guard(mutex)(&core->iommu->attach_lock);
	if (!core->clocked)
		rknpu_iommu_detach(core);
}

/* The power is off, so they need not stay parked: an IOMMU in reset cannot be resumed. */
static void rknpu_core_unpark_behind(struct rknpu_iommu *iommu)
{
	struct rknpu_core *core;

	rknpu_for_each_core_behind(core, iommu) {
		if (core->dev)
			rknpu_core_unpark(core);
	}
}

void rknpu_core_retire(struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;

	guard(mutex)(&iommu->power_lock);
	rknpu_iommu_lock_dev(iommu);
	rknpu_iommu_disable_pm(core);
	rknpu_core_suspend(core->dev, core);
	WRITE_ONCE(iommu->off, true);
	rknpu_core_detach_asleep(core);
	pm_runtime_enable(core->dev);
	rknpu_iommu_unlock_dev(iommu);
	/* A core of its own stays parked, as others may keep the power domain on. */
	if (iommu->shared)
		rknpu_core_unpark_behind(iommu);
}

/* With runtime PM disabled. A device that is all cores may have other users. */
static bool rknpu_core_may_go_off(const struct rknpu_core *core)
{
	return !core->iommu->shared || atomic_read(&core->dev->power.usage_count) <= 1;
}

/*
 * In reset the IOMMU cannot be programmed: its driver fails, and the IOMMU core WARNs.
 * So until it is out of reset nobody may wake it. The driver's own users of the core
 * wait for the power_lock; others, who come by sysfs, are turned away, as the core's
 * runtime PM is disabled, or wait for the lock of the IOMMU's device.
 */
static void rknpu_core_power_off(struct rknpu_core *core)
{
	/*
	 * If other cores keep the domain on, what hangs stays alive, and a
	 * suspended IOMMU passes everything: it must have stopped, or be held in reset.
	 */
	rknpu_iommu_lock_dev(core->iommu);
	rknpu_core_park(core);
	rknpu_iommu_disable_pm(core);
	if (rknpu_core_may_go_off(core))
		rknpu_core_suspend(core->dev, core);
	rknpu_core_detach_asleep(core);
	if (pm_runtime_status_suspended(core->dev))
		rknpu_core_unpark_behind(core->iommu);
	else
		rknpu_core_unpark(core);
	pm_runtime_enable(core->dev);
	rknpu_iommu_unlock_dev(core->iommu);
}

/*
 * Off and on, and reset once more: if the power stayed on for other cores' sake, nothing has
 * cleared what hangs. All of it under the power_lock, so that nobody's try to power up meets
 * an IOMMU in reset.
 */
int rknpu_core_power_cycle(struct rknpu_core *core)
{
	int ret;

	guard(mutex)(&core->iommu->power_lock);
	rknpu_core_power_off(core);
	ret = rknpu_core_try_power_on(core);
	if (ret)
		return ret;
	/* The caller's reference is enough. */
	pm_runtime_put_noidle(core->dev);
	/* If it stayed on, a domain that goes away may be detached just now. */
	return rknpu_core_reset_locked(core);
}

/*
 * The IOMMU goes after the core, and lets everything through from then on. Or
 * it does not go, if the core is wanted again at once: then its driver does not
 * program it anew either, although halting the core wiped its registers. So the
 * address space is detached, unless there is an IOMMU in reset to be spared.
 */
static void rknpu_core_leave_domain(struct rknpu_core *core)
{
	guard(mutex)(&core->iommu->attach_lock);
	/* Under the lock: rknpu_core_halt() puts back what it found. */
	rknpu_core_set_powered(core, false);
	if (!rknpu_iommu_parked(core->iommu))
		rknpu_iommu_detach(core);
	core->clocked = false;
}

int rknpu_core_runtime_suspend(struct rknpu_core *core)
{
	rknpu_core_leave_domain(core);
	rknpu_rate_power_down(core->hw);
	rknpu_devfreq_power_changed(core->hw);
	clk_bulk_disable_unprepare(core->num_clks, core->clks);
	trace_rknpu_power(core->index, false);
	return 0;
}

int rknpu_core_runtime_resume(struct rknpu_core *core)
{
	int ret;

	ret = clk_bulk_prepare_enable(core->num_clks, core->clks);
	if (ret)
		return ret;

	rknpu_rate_power_up(core->hw);
	rknpu_devfreq_power_changed(core->hw);
	scoped_guard(mutex, &core->iommu->attach_lock) {
		core->clocked = true;
		rknpu_core_set_powered(core, true);
	}
	rknpu_core_stat_count(core, RKNPU_CORE_STAT_POWER_UPS, 1);
	trace_rknpu_power(core->index, true);
	return 0;
}
