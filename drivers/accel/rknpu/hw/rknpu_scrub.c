// SPDX-License-Identifier: GPL-2.0-only
/* Owns what clients leave in a core's memories, CBUF and the tables of the LUT: overwriting it. */
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/iopoll.h>
#include <linux/ktime.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "rknpu_hw.h"
#include "rknpu_hw_trace.h"
#include "rknpu_iommu.h"
#include "rknpu_params.h"
#include "rknpu_pc.h"
#include "rknpu_regs.h"
#include "rknpu_scrub.h"

/**
 * DOC: what a client leaves in a core
 *
 * A reset clears registers. CBUF, the RAM that feature data and weights are
 * fetched into, and the tables of the LUT are RAM, which as far as anybody knows
 * keeps its contents: a program may ask for what is there, with DATA_REUSE and
 * WEIGHT_REUSE, or use tables that it has not written. Programs are not looked
 * into, and could be changed while they run. So before a core gets an address
 * space other than the one whose jobs it ran last, it runs a program of the
 * driver's: a matrix product of zeros that fills all banks, and whose commands write
 * zeros to the tables. It is part of the chip's description (struct rknpu_soc_scrub); on
 * a chip of which none is known a client may find what another one left.
 *
 * It runs in an address space of its own, where no client's programs ever run:
 * they can neither change it, nor skip it, nor read what it writes. Without IOMMU
 * that is only so as long as they keep to their own memory.
 *
 * So a change of client takes, in this order:
 *
 * - A reset of the core, in rknpu_iommu_detach(). It ends what the last client's
 *   programs may still be doing, before the IOMMU lets everything through while
 *   it is being switched, and it clears what they left in registers.
 * - The driver's address space, so that the last client's page tables are out of
 *   use and the next one's not yet in reach.
 * - The program, for the RAM. All that it starts has ended when the DPU reports
 *   (inferred: it is the last of the blocks), and what it leaves in registers is
 *   no secret; so no reset follows, unless it fails.
 * - The next client's address space. The IOMMU's driver drops cached translations
 *   whenever it goes from one to another.
 *
 * The program has not been seen to run on silicon. If it fails on a core that no client
 * has used yet, on a machine where it has never succeeded, it is left out on that core:
 * a client may find what another one left, as with other drivers. Once it has succeeded
 * on any core that is over, for the lifetime of the module: nobody turns it off by what
 * his programs do to a core, nor by having the device bound again. Then a core on which
 * it fails gets no other client.
 */

/* It has succeeded on this machine. */
static bool rknpu_scrub_proven;

/* Addresses in rknpu_scrub::domain. One page of zeros is mapped as often as it takes. */
#define RKNPU_SCRUB_PROGRAM	0x100000
#define RKNPU_SCRUB_ZEROS	0x200000
#define RKNPU_SCRUB_RESULT	0x300000

#define RKNPU_SCRUB_PAGE	SZ_4K
#define RKNPU_SCRUB_PROGRAM_MAX	SZ_16K
/* The allocation: the program, a page of results, a page of zeros, or without IOMMU all of them. */
#define RKNPU_SCRUB_RESULT_AT	RKNPU_SCRUB_PROGRAM_MAX
#define RKNPU_SCRUB_ZEROS_AT	(RKNPU_SCRUB_RESULT_AT + RKNPU_SCRUB_PAGE)

#define RKNPU_SCRUB_POLL_US	50
/* A virtual machine's CPU may stand still. */
#define RKNPU_SCRUB_TIMEOUT_US	(500 * USEC_PER_MSEC)

/* Of a core that no client has used: after that it is left out. */
#define RKNPU_SCRUB_TRIES	2

/* Of rknpu_core::sram_of: nobody knows. No domain gets so far. */
#define RKNPU_SRAM_UNKNOWN	U64_MAX

struct rknpu_scrub_prog {
	__le64 *commands;
	unsigned int count;
};

static void rknpu_scrub_put_command(struct rknpu_scrub_prog *p, u16 target, u16 reg, u32 value)
{
	/* A count beyond the buffer shows in rknpu_scrub_write(). */
	if (p->count < RKNPU_SCRUB_PROGRAM_MAX / sizeof(*p->commands))
		p->commands[p->count] = cpu_to_le64((u64)target << 48 | (u64)value << 16 | reg);
	p->count++;
}

static void rknpu_scrub_put_reg(struct rknpu_scrub_prog *p, u16 reg, u32 value)
{
	rknpu_scrub_put_command(p, RKNPU_CMD_TARGET_OF(reg), reg, value);
}

static size_t rknpu_scrub_size(const struct rknpu_hw *hw)
{
	return RKNPU_SCRUB_ZEROS_AT + (hw->no_iommu ? hw->soc->scrub->zeros : RKNPU_SCRUB_PAGE);
}

/* Where the core finds what is @at in the allocation. */
static u32 rknpu_scrub_address(const struct rknpu_hw *hw, u32 iova, u32 at)
{
	return hw->no_iommu ? hw->scrub.dma + at : iova;
}

static u32 rknpu_scrub_operand(const struct rknpu_hw *hw, const struct rknpu_soc_regs *r)
{
	switch (r->operand) {
	case RKNPU_SOC_ZEROS:
		return rknpu_scrub_address(hw, RKNPU_SCRUB_ZEROS, RKNPU_SCRUB_ZEROS_AT);
	case RKNPU_SOC_RESULT:
		return rknpu_scrub_address(hw, RKNPU_SCRUB_RESULT, RKNPU_SCRUB_RESULT_AT);
	default:
		return r->value;
	}
}

static int rknpu_scrub_write(struct rknpu_hw *hw)
{
	const struct rknpu_soc_scrub *soc = hw->soc->scrub;
	struct rknpu_scrub *scrub = &hw->scrub;
	struct rknpu_scrub_prog p = { .commands = scrub->mem };
	const struct rknpu_soc_regs *r;
	unsigned int i;

	for (r = soc->regs; r < soc->regs + soc->num_regs; r++) {
		for (i = 0; i < r->count; i++)
			rknpu_scrub_put_reg(&p, r->reg + r->step * i, rknpu_scrub_operand(hw, r));
	}
	/* Nothing follows. */
	rknpu_scrub_put_reg(&p, RKNPU_PC_REGISTER_AMOUNTS, 0);
	rknpu_scrub_put_command(&p, RKNPU_CMD_TARGET_MARKER, 0, 0);
	rknpu_scrub_put_command(&p, RKNPU_CMD_TARGET_ENABLE, RKNPU_PC_OPERATION_ENABLE,
				soc->units);
	scrub->count = p.count;
	return p.count * sizeof(*p.commands) <= RKNPU_SCRUB_PROGRAM_MAX ? 0 : -ENOSPC;
}

static int rknpu_scrub_map_one(struct rknpu_scrub *scrub, u32 iova, u32 at, u32 size, int prot)
{
	return iommu_map(scrub->domain.iommu, iova, scrub->dma + at, size, prot, GFP_KERNEL);
}

/* The DMA device has no IOMMU, so its addresses are physical ones. */
static int rknpu_scrub_map(struct rknpu_hw *hw)
{
	struct rknpu_scrub *scrub = &hw->scrub;
	u32 at;
	int ret;

	if (!scrub->domain.iommu)
		return 0;

	ret = rknpu_scrub_map_one(scrub, RKNPU_SCRUB_PROGRAM, 0, RKNPU_SCRUB_PROGRAM_MAX,
				  IOMMU_READ);
	for (at = 0; at < hw->soc->scrub->zeros && !ret; at += RKNPU_SCRUB_PAGE)
		ret = rknpu_scrub_map_one(scrub, RKNPU_SCRUB_ZEROS + at, RKNPU_SCRUB_ZEROS_AT,
					  RKNPU_SCRUB_PAGE, IOMMU_READ);
	return ret ?: rknpu_scrub_map_one(scrub, RKNPU_SCRUB_RESULT, RKNPU_SCRUB_RESULT_AT,
					  RKNPU_SCRUB_PAGE, IOMMU_WRITE);
}

/* It is used again, if the device ever is. */
static void rknpu_scrub_detached(struct rknpu_domain *domain)
{
}

static void rknpu_scrub_free(struct rknpu_hw *hw)
{
	struct rknpu_scrub *scrub = &hw->scrub;

	dma_free_coherent(hw->drm->dev, rknpu_scrub_size(hw), scrub->mem, scrub->dma);
	scrub->mem = NULL;
}

static int rknpu_scrub_make(struct rknpu_hw *hw)
{
	struct rknpu_scrub *scrub = &hw->scrub;
	int ret;

	scrub->mem = dma_alloc_coherent(hw->drm->dev, rknpu_scrub_size(hw), &scrub->dma,
					GFP_KERNEL);
	if (!scrub->mem)
		return -ENOMEM;
	ret = rknpu_scrub_write(hw) ?:
	      rknpu_domain_init(&scrub->domain, hw, rknpu_scrub_detached);
	if (ret) {
		rknpu_scrub_free(hw);
		return ret;
	}
	ret = rknpu_scrub_map(hw);
	if (ret) {
		rknpu_domain_fini(&scrub->domain);
		rknpu_scrub_free(hw);
	}
	return ret;
}

int rknpu_scrub_get(struct rknpu_hw *hw)
{
	struct rknpu_scrub *scrub = &hw->scrub;
	int ret = scrub->mem || !hw->soc->scrub ? 0 : rknpu_scrub_make(hw);

	if (!hw->soc->scrub)
		drm_info_once(hw->drm, "this chip's memories are not overwritten between clients\n");
	if (!ret)
		scrub->users++;
	return ret;
}

void rknpu_scrub_put(struct rknpu_hw *hw)
{
	struct rknpu_scrub *scrub = &hw->scrub;

	if (--scrub->users || !scrub->mem)
		return;
	if (rknpu_domain_fini(&scrub->domain)) {
		rknpu_scrub_free(hw);
	} else if (!scrub->stuck) {
		/*
		 * An IOMMU that does not let go still refers to it: that stays for good. In no
		 * test: a core is left in a client's domain or in none.
		 */
		scrub->stuck = true;
		drm_dev_get(hw->drm);
	}
}

void rknpu_scrub_forget(struct rknpu_core *core)
{
	WRITE_ONCE(core->sram_of, RKNPU_SRAM_UNKNOWN);
	core->scrub_tries = 0;
}

void rknpu_scrub_mark(struct rknpu_core *core, const struct rknpu_domain *domain)
{
	WRITE_ONCE(core->sram_of, domain->id);
}

static bool rknpu_scrub_left_out(const struct rknpu_core *core)
{
	return !core->hw->soc->scrub ||
	       (core->scrub_tries == RKNPU_SCRUB_TRIES && !READ_ONCE(rknpu_scrub_proven));
}

static bool rknpu_scrub_core_is_due(const struct rknpu_core *core,
				    const struct rknpu_domain *domain)
{
	u64 of = READ_ONCE(core->sram_of);

	return core->dev && of && of != domain->id && !rknpu_scrub_left_out(core);
}

static bool rknpu_scrub_is_due(struct rknpu_iommu *iommu, const struct rknpu_domain *domain)
{
	struct rknpu_core *core;

	if (!READ_ONCE(rknpu_params.scrub))
		return false;
	rknpu_for_each_core_behind(core, iommu) {
		if (rknpu_scrub_core_is_due(core, domain))
			return true;
	}
	return false;
}

static int rknpu_scrub_start(struct rknpu_core *core)
{
	const struct rknpu_kick kick = {
		.regcmd = rknpu_scrub_address(core->hw, RKNPU_SCRUB_PROGRAM, 0),
		.regcmd_count = core->hw->scrub.count,
		.tasks = 1,
	};

	if (!core->clocked || READ_ONCE(core->parked))
		return -EIO;
	guard(spinlock_irq)(&core->hw->lock);
	core->scrubbing = true;
	rknpu_pc_start_silent(core, &kick);
	return 0;
}

static void rknpu_scrub_stop(struct rknpu_core *core)
{
	guard(spinlock_irq)(&core->hw->lock);
	core->scrubbing = false;
	rknpu_pc_finish(core);
	rknpu_pc_quiesce(core);
}

static u32 rknpu_scrub_status(struct rknpu_core *core)
{
	guard(spinlock_irq)(&core->hw->lock);
	return rknpu_pc_raw_status(core);
}

/* True: the failure is the program's own, and not of what a client did to the core. */
static bool rknpu_scrub_forgive(struct rknpu_core *core, int error)
{
	if (READ_ONCE(rknpu_scrub_proven) || READ_ONCE(core->sram_of) != RKNPU_SRAM_UNKNOWN)
		return false;
	if (++core->scrub_tries == RKNPU_SCRUB_TRIES)
		dev_warn_once(core->dev,
			      "core %u: the scrub program hangs here (%d) and is disabled: a client may read what another one left; please report it, with what \"npu-report scrub\" writes\n",
			      core->index, error);
	return true;
}

static int rknpu_scrub_finish(struct rknpu_core *core, u64 start_ns)
{
	u64 elapsed;
	u32 raw;
	int ret;

	ret = read_poll_timeout(rknpu_scrub_status, raw,
				raw & (RKNPU_INT_DPU_DONE | RKNPU_INT_DMA_ERROR),
				RKNPU_SCRUB_POLL_US, RKNPU_SCRUB_TIMEOUT_US, false, core);
	rknpu_scrub_stop(core);
	if (!ret && (raw & RKNPU_INT_DMA_ERROR))
		ret = -EIO;
	if (ret) {
		rknpu_core_stat_count(core, RKNPU_CORE_STAT_SCRUB_FAILS, 1);
		return ret;
	}
	WRITE_ONCE(rknpu_scrub_proven, true);
	WRITE_ONCE(core->sram_of, 0);
	elapsed = ktime_get_ns() - start_ns;
	rknpu_core_stat_count(core, RKNPU_CORE_STAT_SCRUBS, 1);
	rknpu_core_stat_count(core, RKNPU_CORE_STAT_SCRUB_NS, elapsed);
	trace_rknpu_scrub(core->index, elapsed);
	return 0;
}

/*
 * One sleep for what it should take: polling alone would be one for each 50 us. The rate
 * is the one last read, as asking for it may be a call of the firmware.
 */
static void rknpu_scrub_sleep(const struct rknpu_hw *hw)
{
	unsigned long cycles_per_us = READ_ONCE(hw->rate.hz) / USEC_PER_SEC;
	unsigned long us = cycles_per_us ? hw->soc->scrub->cycles / cycles_per_us : 0;

	if (us)
		usleep_range(us, us + us / 32);
}

/*
 * Cores behind one IOMMU at once. They have been reset, and no job is on any of
 * them. Those that fail are still due, unless it is left out on them.
 */
static int rknpu_scrub_run(struct rknpu_iommu *iommu, const struct rknpu_domain *domain)
{
	u64 start_ns = ktime_get_ns();
	struct rknpu_core *core;
	bool still = true;
	u32 started = 0;
	int ret = 0, err;

	rknpu_for_each_core_behind(core, iommu) {
		if (!rknpu_scrub_core_is_due(core, domain))
			continue;
		err = rknpu_scrub_start(core);
		if (!err)
			started |= BIT(core->index);
		ret = ret ?: err;
	}
	if (started)
		rknpu_scrub_sleep(iommu->hw);
	rknpu_for_each_core_behind(core, iommu) {
		if (!(started & BIT(core->index)))
			continue;
		err = rknpu_scrub_finish(core, start_ns);
		still &= !err;
		if (!err || rknpu_scrub_forgive(core, err))
			continue;
		dev_warn_ratelimited(core->dev,
				     "core %u: cannot scrub its memories: %d; the module parameter scrub=n disables that\n",
				     core->index, err);
		ret = ret ?: err;
	}
	iommu->still = still && !ret;
	return ret;
}

int rknpu_scrub_attach(struct rknpu_core *core, struct rknpu_domain *domain)
{
	struct rknpu_iommu *iommu = core->iommu;
	int ret = 0;

	lockdep_assert_held(&iommu->attach_lock);

	if (rknpu_iommu_domain(iommu) == domain)
		return 0;
	while (!ret && rknpu_scrub_is_due(iommu, domain))
		ret = rknpu_iommu_detach(core) ?:
		      rknpu_iommu_attach(core, &core->hw->scrub.domain) ?:
		      rknpu_scrub_run(iommu, domain);
	return ret ?: rknpu_iommu_attach(core, domain);
}
