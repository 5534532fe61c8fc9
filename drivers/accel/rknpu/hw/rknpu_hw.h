/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the hardware as a whole: all cores and IOMMUs of the NPU, and what it calls above itself. */
#ifndef __RKNPU_HW_H__
#define __RKNPU_HW_H__

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <drm/drm_util.h>

#include "debug/rknpu_stats.h"
#include "rknpu_soc.h"

struct clk;
struct clk_bulk_data;
struct device;
struct device_node;
struct drm_device;
struct iommu_domain;
struct iommu_group;
struct regulator;
struct reset_control;
struct rknpu_core;
struct rknpu_hw;

/**
 * struct rknpu_domain - page tables that can be attached
 *
 * Without IOMMU (rknpu_hw::no_iommu) there are none: addresses are bus addresses in
 * all domains, and what is attached tells whose programs a core ran last.
 */
struct rknpu_domain {
	/** @hw: whose IOMMUs they are for */
	struct rknpu_hw *hw;
	/** @iommu: of the IOMMU core; NULL without IOMMU */
	struct iommu_domain *iommu;
	/** @id: no other domain ever has it */
	u64 id;
	/** @faults: page faults taken */
	atomic_t faults;
	/** @release: see rknpu_domain_fini() */
	void (*release)(struct rknpu_domain *domain);
};

/**
 * struct rknpu_iommu - what domains attach to: a core's IOMMU, or that of all cores
 */
struct rknpu_iommu {
	/** @hw: device */
	struct rknpu_hw *hw;
	/** @attach_lock: serialises changes of @domain and of what @group is attached to */
	struct mutex attach_lock;
	/**
	 * @power_lock: one core at a time wakes the device that may be that of all;
	 * outside @attach_lock
	 */
	struct mutex power_lock;
	/** @group: NULL while no core is bound, and without IOMMU */
	struct iommu_group *group;
	/** @np: its DT node, to tell whose fault it was */
	struct device_node *np;
	/** @dev: its device, which follows the cores to sleep */
	struct device *dev;
	/** @users: cores bound */
	unsigned int users;
	/** @halt: ends whatever a program left running on a core; @attach_lock is held */
	void (*halt)(struct rknpu_core *core);
	/** @domain: attached; compared, not followed; see rknpu_iommu_attach() */
	struct rknpu_domain *domain;
	/** @still: all that was started since @domain was attached has ended for certain */
	bool still;
	/** @stuck: a domain that could not be detached: the IOMMU core still has it */
	struct rknpu_domain *stuck;
	/** @stuck_over: @stuck is to be told once it is detached */
	bool stuck_over;
	/** @shared: of all cores; does not change while cores are bound */
	bool shared;
	/** @off: its cores are without power for good */
	bool off;
};

/* On the RK3588 only core 0 has two. */
#define RKNPU_CORE_MAX_MMUS	2

/**
 * struct rknpu_kick - what the program controller is started for
 */
struct rknpu_kick {
	/** @regcmd: IOVA of the first program */
	u32 regcmd;
	/** @regcmd_count: its 64-bit commands */
	u32 regcmd_count;
	/** @tasks: programs that are chained from there */
	u32 tasks;
	/** @int_mask: interrupts that mean "done", as the last program's task names them; or 0 */
	u32 int_mask;
	/** @dma_base: what hardware adds to the programs' addresses */
	u32 dma_base;
	/** @no_pingpong: the next program is not fetched while one executes */
	bool no_pingpong;
	/** @own_pointer: the programs write S_POINTER, if those for the chip do */
	bool own_pointer;
};

/**
 * struct rknpu_core - one core; lives as long as its rknpu_hw
 */
struct rknpu_core {
	/** @hw: device */
	struct rknpu_hw *hw;
	/** @priv: of who set rknpu_hw::ops; does not change */
	void *priv;
	/** @dev: platform device, perhaps of all cores; NULL while not bound */
	struct device *dev;
	/** @index: the hardware's number */
	unsigned int index;
	/** @pc: program controller registers */
	void __iomem *pc;
	/** @cna: convolution front end registers */
	void __iomem *cna;
	/** @mac: MAC array registers (the block named "core") */
	void __iomem *mac;
	/** @mmus: the core's part of the IOMMU's registers, if that is shared or has mmu_gating */
	void __iomem *mmus[RKNPU_CORE_MAX_MMUS];
	/** @num_mmus: number of @mmus; 0 for other IOMMUs */
	unsigned int num_mmus;
	/** @clks: clocks, unless they are all cores' */
	struct clk_bulk_data *clks;
	/** @num_clks: number of @clks */
	int num_clks;
	/** @npu_clk: compute clock, to tell its rate */
	struct clk *npu_clk;
	/** @domains: devices of power domains, where there are several */
	struct device *domains[RKNPU_MAX_CORES];
	/** @num_domains: number of @domains */
	unsigned int num_domains;
	/** @supply: regulator, or NULL: only to tell its voltage */
	struct regulator *supply;
	/** @resets: all reset lines, by rknpu_soc::resets */
	struct reset_control *resets[RKNPU_MAX_RESETS];
	/** @irq: interrupt, shared with the IOMMU, or only that one's; 0: none */
	int irq;
	/** @irq_requested: it is the core's own, and has its handler */
	bool irq_requested;
	/** @version: version registers as read at bind time */
	u32 version;
	/** @reset_shows: registers tell whether a reset took */
	bool reset_shows;
	/** @reset_lock: one reset at a time */
	struct mutex reset_lock;
	/**
	 * @parked: reset, or held in reset; its IOMMU is not to be programmed. Under
	 * @reset_lock
	 */
	bool parked;
	/** @iommu: its own or a shared one */
	struct rknpu_iommu *iommu;
	/** @clocked: a reset would take, under rknpu_iommu::attach_lock */
	bool clocked;
	/**
	 * @sram_of: rknpu_domain::id of the last one whose job ran since the core's memories
	 * were overwritten; 0: none. Changes with rknpu_iommu::attach_lock, or when a job starts
	 */
	u64 sram_of;
	/** @scrub_tries: to overwrite them that failed since it was bound, before any job */
	unsigned int scrub_tries;

	/** @powered: registers may be touched; this and the rest under rknpu_hw::lock */
	bool powered;
	/** @irq_off: the interrupt line is disabled */
	bool irq_off;
	/** @polled: its tasks raise no interrupt, and their end is polled for */
	bool polled;
	/** @scrubbing: its end is polled for: nobody else clears what is pending */
	bool scrubbing;
	/** @kick: the running one, or the last; see rknpu_pc_start() */
	struct rknpu_kick kick;
	/** @poll: looks whether that is over, see rknpu_poll.c */
	struct {
		/** @poll.timer: runs while @kick is one that raises no interrupt */
		struct hrtimer timer;
		/** @poll.since: ktime_get_ns() when that began */
		u64 since;
		/** @poll.looking: callers of rknpu_poll_once() */
		atomic_t looking;
	} poll;
	/** @stats: counters */
	struct rknpu_core_stats stats;
};

/**
 * struct rknpu_refusal - an operating point that could not be set
 */
struct rknpu_refusal {
	/** @hz: its rate; 0: none */
	unsigned long hz;
	/** @retry_ns: ktime when to try again */
	u64 retry_ns;
};

/* Tables of Rockchip's trees have up to ten points. */
#define RKNPU_RATE_REFUSALS	16

/**
 * struct rknpu_rate - the compute clock
 *
 * Rates above 200 MHz come from an oscillator inside the power domain. Firmware
 * that is asked for one while the domain is off hangs, and so it may, on some
 * boards, when it is only asked what the rate is. So the clock is not touched
 * unless a core is powered: then the domain, which is the first core's and the
 * parent of the others', is on.
 */
struct rknpu_rate {
	/** @lock: protects changes of the rest; rknpu_rate_get() reads without it */
	struct mutex lock;
	/**
	 * @dev: whose operating points count: the first core's, or that of all cores;
	 * NULL while the rate is nobody's business
	 */
	struct device *dev;
	/** @clk: the clock */
	struct clk *clk;
	/** @powered: cores that are */
	unsigned int powered;
	/** @scales: the device tree has operating points, so the rate may be changed */
	bool scales;
	/** @opp_config: of the OPP core, to undo */
	int opp_config;
	/** @held: supply that others may not lower, if not @scales, or NULL */
	struct regulator *held;
	/** @hz: rate as last read; changes with rknpu_hw::lock, too */
	unsigned long hz;
	/** @supply: whose voltage is told, or NULL */
	struct regulator *supply;
	/** @uv: microvolts of @supply as last read, or an error */
	int uv;
	/** @look: asks @clk and @supply */
	struct work_struct look;
	/** @look_ns: ktime when it did so last */
	u64 look_ns;
	/** @set: the one that was set last, 0 if that failed */
	unsigned long set;
	/** @wanted: the operating point to run at, if @scales */
	unsigned long wanted;
	/** @told: the one that is told while no core is powered, 0: @wanted */
	unsigned long told;
	/** @min: the lowest operating point, 0 if there are none */
	unsigned long min;
	/** @max: the highest one */
	unsigned long max;
	/** @parked: rate to leave the clock at when the power goes off */
	unsigned long parked;
	/** @refused: those that were refused lately; others may be set meanwhile */
	struct rknpu_refusal refused[RKNPU_RATE_REFUSALS];
	/** @was_set: the OPP core has set a rate */
	bool was_set;
	/**
	 * @idle: cores are powered and have had nothing to do, so the rate is low; the
	 * next job that starts raises it. Under rknpu_hw::lock alone
	 */
	bool idle;
};

/**
 * struct rknpu_scrub - the program that overwrites a core's memories
 */
struct rknpu_scrub {
	/** @domain: what it runs in */
	struct rknpu_domain domain;
	/** @mem: the program and its data, or NULL */
	void *mem;
	/** @dma: address of @mem */
	dma_addr_t dma;
	/** @count: commands */
	unsigned int count;
	/** @users: cores bound */
	unsigned int users;
	/** @stuck: an IOMMU did not let @domain go, and the drm_device stays for it */
	bool stuck;
};

/**
 * struct rknpu_hw_ops - what the hardware asks of the scheduler
 */
struct rknpu_hw_ops {
	/** @init_core: before @irq can be called for the core */
	int (*init_core)(struct rknpu_core *core);
	/** @fini_core: undoes it; no interrupt comes any more */
	void (*fini_core)(struct rknpu_core *core);
	/** @start_core: the core is powered down, clean, and ready for jobs */
	void (*start_core)(struct rknpu_core *core);
	/** @irq: handler of a core's interrupt line; its data is the core */
	irq_handler_t irq;
	/** @poll: hard interrupt context, of a core that is polled; true: look again */
	bool (*poll)(struct rknpu_core *core);
	/**
	 * @iommu_fault: hard interrupt context, which keeps @domain; the line of the core
	 * storms until it is off
	 */
	void (*iommu_fault)(struct rknpu_core *core, struct rknpu_domain *domain,
			    unsigned long iova, bool write);
	/** @busy_ns: for how long the core has run jobs, up to now */
	u64 (*busy_ns)(struct rknpu_core *core);
	/** @rate_changes: rknpu_hw::lock held; the clock was at rknpu_rate::hz until now */
	void (*rate_changes)(struct rknpu_hw *hw);
};

/**
 * struct rknpu_hw - the NPU
 */
struct rknpu_hw {
	/** @drm: the accel drm_device, whose references keep all of this alive */
	struct drm_device *drm;
	/** @soc: description of the chip */
	const struct rknpu_soc *soc;
	/** @no_iommu: nothing is between the cores and memory; does not change */
	bool no_iommu;
	/** @ops: the scheduler's */
	const struct rknpu_hw_ops *ops;
	/**
	 * @core_mask: cores that are bound, alive or not; does not change while user
	 * space is let in
	 */
	u32 core_mask;
	/** @iommus: each core's own; the first one is the shared one, if there is such */
	struct rknpu_iommu iommus[RKNPU_MAX_CORES];
	/** @cores: by the hardware's core number */
	struct rknpu_core cores[RKNPU_MAX_CORES];
	/**
	 * @lock: whether registers may be touched, and all state of the scheduler. One
	 * for all cores, because jobs move between them and a task starts in about ten
	 * register writes. Taken inside fence locks: never signal a fence under it.
	 */
	spinlock_t lock;
	/**
	 * @iommus_lock: held for reading by who asks something of an IOMMU and is not the
	 * scheduler; protects @down
	 */
	struct rw_semaphore iommus_lock;
	/** @down: the machine is being shut down, and IOMMUs with it */
	bool down;
	/** @rate: the compute clock */
	struct rknpu_rate rate;
	/** @scrub: between clients */
	struct rknpu_scrub scrub;
	/** @stats: counters */
	struct rknpu_device_stats stats;
};

/* With rknpu_hw::lock. */
static inline void rknpu_core_stat_add(struct rknpu_core *core, enum rknpu_core_stat which, u64 n)
{
	lockdep_assert_held(&core->hw->lock);
	WRITE_ONCE(core->stats.v[which], core->stats.v[which] + n);
}

/* Without it, for what is rare. */
static inline void rknpu_core_stat_count(struct rknpu_core *core, enum rknpu_core_stat which,
					 u64 n)
{
	unsigned long flags;

	spin_lock_irqsave(&core->hw->lock, flags);
	rknpu_core_stat_add(core, which, n);
	spin_unlock_irqrestore(&core->hw->lock, flags);
}

/* The attached domain: compared, not followed. */
static inline struct rknpu_domain *rknpu_iommu_domain(const struct rknpu_iommu *iommu)
{
	return READ_ONCE(iommu->domain);
}

/* Every core, bound or not, and those behind one IOMMU. */
#define rknpu_for_each_core(core, hw)							\
	for ((core) = (hw)->cores; (core) < (hw)->cores + RKNPU_MAX_CORES; (core)++)

#define rknpu_for_each_core_behind(core, iommu_)					\
	for ((core) = (iommu_)->hw->cores;						\
	     (core) < (iommu_)->hw->cores + RKNPU_MAX_CORES; (core)++)			\
		for_each_if((core)->iommu == (iommu_))

#endif
