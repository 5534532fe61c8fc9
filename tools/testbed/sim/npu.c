// SPDX-License-Identifier: GPL-2.0-only
/* The hardware's part, and what of the driver is below its scheduler: each call takes a while. */
#include "sim.h"

#include "debug/rknpu_dump.h"
#include "hw/rknpu_core.h"
#include "hw/rknpu_pc.h"
#include "hw/rknpu_poll.h"
#include "hw/rknpu_rate.h"
#include "hw/rknpu_regs.h"
#include "hw/rknpu_scrub.h"
#include "mem/rknpu_release.h"
#include "sched/rknpu_failure.h"
#include "sched/rknpu_irq.h"
#include "sched/rknpu_job.h"

#define DONE	BIT(8)
#define ERRORS	(RKNPU_INT_DMA_READ_ERROR | RKNPU_INT_DMA_WRITE_ERROR)

/* What a core's registers would say. */
static struct npu {
	bool running, dirty, reset, line_on, handling, again, was_polled;
	struct sim_job *job;
	u64 start_ns, busy_ns, kicks;
	u32 status;
	bool masked;
	struct sim_event *end, *poll;
	struct sim_queue handled;
	struct rknpu_domain *domain;
} npu[RKNPU_MAX_CORES];

static struct device devs[RKNPU_MAX_CORES];
static struct drm_device drm;
static struct rknpu_soc soc;
struct rknpu_hw hw;
struct sim_world world;

static struct npu *of(const struct rknpu_core *core)
{
	return &npu[core->index];
}

/* ---- interrupts ---- */

static void raise(struct rknpu_core *core);

static void handle(void *arg)
{
	struct rknpu_core *core = arg;
	struct npu *n = of(core);

	if (n->line_on && n->status && !n->masked)
		rknpu_irq_handler(0, core);
	n->handling = false;
	sim_wake(&n->handled);
	if (n->again || (n->status && !n->masked)) {
		n->again = false;
		raise(core);
	}
}

/* One processor at a time hears a line. */
static void raise(struct rknpu_core *core)
{
	struct npu *n = of(core);

	if (core->polled || !n->line_on || n->masked || !n->status)
		return;
	if (n->handling) {
		n->again = true;
		return;
	}
	n->handling = true;
	sim_at(sim_chance(98) ? 500 + sim_random(5000) : sim_random(400000), handle, core, true);
}

void rknpu_core_mask_irq(struct rknpu_core *core)
{
	lockdep_assert_held(&hw.lock);
	core->irq_off = true;
	of(core)->line_on = false;
}

void rknpu_core_sync_irq(struct rknpu_core *core)
{
	struct npu *n = of(core);

	sim_might_sleep();
	rknpu_poll_sync(core);
	while (n->handling)
		sim_block(&n->handled);
}

bool rknpu_core_irq_waits(const struct rknpu_core *core)
{
	return of(core)->handling;
}

void rknpu_core_disable_irq(struct rknpu_core *core)
{
	scoped_guard(spinlock_irq, &hw.lock)
		rknpu_core_mask_irq(core);
	rknpu_core_sync_irq(core);
}

void rknpu_core_enable_irq(struct rknpu_core *core)
{
	guard(spinlock_irq)(&hw.lock);
	core->irq_off = false;
	of(core)->line_on = true;
	raise(core);
}

/* ---- polling ---- */

static void poll(void *arg)
{
	struct rknpu_core *core = arg;
	struct npu *n = of(core);

	n->poll = NULL;
	n->handling = true;
	if (hw.ops->poll(core) && !n->poll)
		n->poll = sim_at(20000 + sim_random(100000), poll, core, true);
	n->handling = false;
	sim_wake(&n->handled);
}

void rknpu_poll_start(struct rknpu_core *core)
{
	struct npu *n = of(core);

	lockdep_assert_held(&hw.lock);
	if (!n->poll)
		n->poll = sim_at(20000, poll, core, true);
}

void rknpu_poll_sync(struct rknpu_core *core)
{
	struct npu *n = of(core);

	while (n->handling)
		sim_block(&n->handled);
	sim_cancel(n->poll);
	n->poll = NULL;
}

/* ---- the program controller ---- */

static void check_registers(struct rknpu_core *core, const char *what)
{
	lockdep_assert_held(&hw.lock);
	if (!core->powered || core->parked)
		sim_fail("%s: core %u has no power, or is in reset", what, core->index);
}

static void finish(struct rknpu_core *core, u32 status)
{
	struct npu *n = of(core);

	n->running = false;
	n->busy_ns += sim_now() - n->start_ns;
	n->status |= status;
	raise(core);
}

static void ends(void *arg)
{
	struct rknpu_core *core = arg;
	struct npu *n = of(core);

	n->end = NULL;
	sim_trace("core %u: the kick of job %llu is over", core->index, n->job->id);
	if (world.lossy && sim_chance(10)) {
		n->masked = true;
		sim_trace("core %u: its interrupt is lost", core->index);
	}
	finish(core, n->job->deed == SIM_ERROR && to_rknpu_runqueue(core)->job &&
		     to_rknpu_runqueue(core)->job->result.task + core->kick.tasks > n->job->deed_task ?
		     RKNPU_INT_DMA_READ_ERROR : DONE);
}

static void faults(void *arg)
{
	struct rknpu_core *core = arg;
	struct npu *n = of(core);

	n->end = NULL;
	if (n->handling) {
		n->end = sim_at(1000, faults, core, true);
		return;
	}
	n->handling = true;
	rknpu_irq_iommu_fault(core, n->domain, 0x1000, true);
	n->handling = false;
	sim_wake(&n->handled);
}

/*
 * Jobs of two address spaces never run at the same time behind one IOMMU, or in one CBUF. Nor does one
 * begin while a core has not been reset since it ran for another: its program may go on after its job.
 */
static void check_isolation(struct rknpu_core *core, const struct rknpu_domain *domain)
{
	struct rknpu_core *other;

	if (core->iommu->domain != domain)
		sim_fail("core %u starts in an address space that is not attached", core->index);
	rknpu_for_each_core(other, &hw) {
		if ((!world.shared && !world.one_cbuf) || of(other)->domain == domain)
			continue;
		if (of(other)->running)
			sim_fail("cores %u and %u run in two address spaces", core->index, other->index);
		if (other->clocked && of(other)->dirty)
			sim_fail("core %u starts for address space %llu, and core %u has not been reset since it ran for %llu",
				 core->index, domain->id, other->index, of(other)->domain->id);
	}
}

void rknpu_pc_start(struct rknpu_core *core, const struct rknpu_kick *kick)
{
	struct rknpu_job *job = to_rknpu_runqueue(core)->job;
	struct npu *n = of(core);
	u32 first = job->result.task;
	u64 ns;

	check_registers(core, __func__);
	if (n->running || n->reset || !core->clocked)
		sim_fail("core %u is started while it runs or is in reset", core->index);
	check_isolation(core, &job->vm->domain);
	core->kick = *kick;
	n->job = sim_job(job);
	n->domain = &job->vm->domain;
	n->running = n->dirty = true;
	n->kicks++;
	n->status = 0;
	n->masked = core->polled;
	n->start_ns = sim_now();
	ns = kick->tasks * n->job->task_ns;
	if (n->job->deed == SIM_NEVER_STARTS || n->job->deed == SIM_HANGS || n->job->deed == SIM_FAULTS) {
		if (n->job->deed_task >= first + kick->tasks)
			n->end = sim_at(ns, ends, core, true);
		else if (n->job->deed == SIM_FAULTS)
			n->end = sim_at((n->job->deed_task - first) * n->job->task_ns + 5000, faults, core, true);
		return;
	}
	n->end = sim_at(ns, ends, core, true);
}

void rknpu_pc_finish(struct rknpu_core *core)
{
	check_registers(core, __func__);
	if (of(core)->running)
		sim_fail("core %u is done while it runs", core->index);
	of(core)->status = 0;
}

void rknpu_pc_quiesce(struct rknpu_core *core)
{
	check_registers(core, __func__);
	of(core)->masked = true;
	of(core)->status = 0;
}

void rknpu_pc_mask(struct rknpu_core *core)
{
	check_registers(core, __func__);
	of(core)->masked = true;
}

void rknpu_pc_unmask(struct rknpu_core *core)
{
	check_registers(core, __func__);
	of(core)->masked = false;
	raise(core);
}

u32 rknpu_pc_status(struct rknpu_core *core)
{
	check_registers(core, __func__);
	return of(core)->masked ? 0 : of(core)->status;
}

u32 rknpu_pc_errors(const struct rknpu_core *core)
{
	(void)core;
	return ERRORS;
}

bool rknpu_pc_over(struct rknpu_core *core, u32 status)
{
	(void)core;
	return status & DONE;
}

bool rknpu_pc_over_raw(struct rknpu_core *core)
{
	check_registers(core, __func__);
	return of(core)->status & DONE;
}

bool rknpu_pc_polled(struct rknpu_core *core, u32 *status)
{
	check_registers(core, __func__);
	*status = of(core)->status;
	return *status;
}

u32 rknpu_pc_tasks_done(struct rknpu_core *core)
{
	struct npu *n = of(core);
	u64 done;

	check_registers(core, __func__);
	if (!n->job || n->job->deed == SIM_NEVER_STARTS)
		return 0;
	done = (sim_now() - n->start_ns) / max(n->job->task_ns, 1ULL);
	if (n->job->deed == SIM_HANGS)
		done = min(done, (u64)n->job->deed_task);
	return min(done, (u64)core->kick.tasks);
}

bool rknpu_pc_progressed(struct rknpu_core *core)
{
	struct npu *n = of(core);

	check_registers(core, __func__);
	return !n->running || (n->job->deed != SIM_NEVER_STARTS && sim_now() - n->start_ns > 2000);
}

/* ---- resets and power ---- */

/* What runs is gone, and so is what is pending. */
static void wipe(struct rknpu_core *core)
{
	struct npu *n = of(core);

	sim_cancel(n->end);
	n->end = NULL;
	if (n->running)
		n->busy_ns += sim_now() - n->start_ns;
	n->running = n->dirty = false;
	n->status = 0;
	n->masked = true;
}

static int reset(struct rknpu_core *core)
{
	if (!core->clocked)
		sim_fail("core %u is reset without power", core->index);
	sim_sleep(10000 + sim_random(world.reset_ns));
	wipe(core);
	return world.breaks && sim_chance(3) ? -EIO : 0;
}

int rknpu_core_reset(struct rknpu_core *core)
{
	sim_assert_mutex(&core->iommu->attach_lock, __func__);
	return reset(core);
}

int rknpu_core_reset_locked(struct rknpu_core *core)
{
	guard(mutex)(&core->iommu->attach_lock);
	return reset(core);
}

int rknpu_core_stop(struct rknpu_core *core)
{
	if (core->iommu->shared || sim_chance(20))
		return -EOPNOTSUPP;
	sim_sleep(10000);
	wipe(core);
	of(core)->reset = true;
	return 0;
}

void rknpu_core_park(struct rknpu_core *core)
{
	guard(mutex)(&core->iommu->attach_lock);
	core->parked = true;
	wipe(core);
}

static void set_powered(struct rknpu_core *core, bool on)
{
	scoped_guard(mutex, &core->iommu->attach_lock) {
		/* A core that goes to sleep takes its domain off. */
		if (!on)
			core->iommu->domain = NULL;
		core->clocked = on;
	}
	guard(spinlock_irq)(&hw.lock);
	if (!on && to_rknpu_runqueue(core)->state == RKNPU_CORE_RUNNING)
		sim_fail("core %u loses its power while it runs", core->index);
	core->powered = on;
	if (!on)
		wipe(core);
}

static void set_active(struct device *dev, bool on)
{
	struct rknpu_core *core;

	rknpu_for_each_core(core, &hw) {
		if (core->dev == dev)
			set_powered(core, on);
	}
}

static void suspends(void *arg)
{
	struct device *dev = arg;
	struct rknpu_iommu *iommu = world.shared ? &hw.iommus[0] : &hw.iommus[dev - devs];

	dev->suspend = NULL;
	guard(mutex)(&iommu->power_lock);
	if (dev->usage || !dev->active)
		return;
	/* From here on nobody finds it active. */
	dev->active = false;
	set_active(dev, false);
}

static void put_in(struct device *dev, u64 ns)
{
	if (--dev->usage < 0)
		sim_fail("a power reference too few");
	if (dev->usage)
		return;
	sim_cancel(dev->suspend);
	dev->suspend = sim_at(ns, suspends, dev, false);
}

int pm_runtime_get_if_active(struct device *dev)
{
	if (!dev->active)
		return 0;
	return ++dev->usage;
}

void pm_runtime_put_autosuspend(struct device *dev)
{
	put_in(dev, rknpu_params.autosuspend_ms * NSEC_PER_MSEC);
}

void pm_runtime_put(struct device *dev)
{
	put_in(dev, 0);
}

void pm_runtime_put_noidle(struct device *dev)
{
	if (--dev->usage < 0)
		sim_fail("a power reference too few");
}

void pm_runtime_get_noresume(struct device *dev)
{
	dev->usage++;
}

/* One that has gone for good is let go when all of them have. */
static void check_may_wake(const struct rknpu_core *core)
{
	struct rknpu_core *other;

	rknpu_for_each_core_behind(other, core->iommu) {
		if (other->parked && to_rknpu_runqueue(other)->postponed)
			sim_fail("core %u wakes while core %u is held in reset", core->index, other->index);
	}
}

int rknpu_core_power_on(struct rknpu_core *core)
{
	guard(mutex)(&core->iommu->power_lock);
	core->dev->usage++;
	if (core->dev->active)
		return 0;
	check_may_wake(core);
	sim_sleep(20000 + sim_random(world.wake_ns));
	if (world.breaks && sim_chance(3)) {
		core->dev->usage--;
		return -EIO;
	}
	set_active(core->dev, true);
	core->dev->active = true;
	return 0;
}

/* As far as other cores allow; what the core was attached to is detached by the caller. */
int rknpu_core_power_cycle(struct rknpu_core *core)
{
	bool off = !world.shared && core->dev->usage == 1;
	struct rknpu_core *other;

	guard(mutex)(&core->iommu->power_lock);
	if (off)
		set_powered(core, false);
	sim_sleep(20000 + sim_random(world.wake_ns));
	of(core)->reset = false;
	core->parked = false;
	if (!core->dev->active) {
		rknpu_for_each_core_behind(other, core->iommu)
			other->parked = false;
	}
	if (off || !core->dev->active)
		set_active(core->dev, true);
	core->dev->active = true;
	return rknpu_core_reset_locked(core);
}

void rknpu_core_retire(struct rknpu_core *core)
{
	guard(mutex)(&core->iommu->power_lock);
	if (core->dev->usage && !world.shared)
		sim_fail("core %u is retired with power references", core->index);
	core->iommu->off = true;
	scoped_guard(mutex, &core->iommu->attach_lock)
		core->iommu->domain = NULL;
	set_active(core->dev, false);
	core->dev->active = false;
}

static bool is_behind(const struct rknpu_core *core, const struct rknpu_iommu *iommu)
{
	return core->dev && core->iommu == iommu;
}

/* All that ran there is reset before another address space comes. */
static void halt(struct rknpu_iommu *iommu)
{
	struct rknpu_core *core;

	rknpu_for_each_core(core, &hw) {
		if (!is_behind(core, iommu))
			continue;
		if (of(core)->running && to_rknpu_runqueue(core)->state == RKNPU_CORE_RUNNING)
			sim_fail("core %u is reset while it runs", core->index);
		wipe(core);
	}
}

int rknpu_iommu_detach(struct rknpu_core *core)
{
	sim_assert_mutex(&core->iommu->attach_lock, __func__);
	if (!core->iommu->domain)
		return 0;
	sim_sleep(10000 + sim_random(world.reset_ns));
	halt(core->iommu);
	core->iommu->domain = NULL;
	return 0;
}

void rknpu_iommu_wait_unparked(struct rknpu_iommu *iommu)
{
	sim_assert_mutex(&iommu->attach_lock, __func__);
}

int rknpu_scrub_attach(struct rknpu_core *core, struct rknpu_domain *domain)
{
	struct rknpu_iommu *iommu = core->iommu;

	sim_assert_mutex(&iommu->attach_lock, __func__);
	if (iommu->domain == domain)
		return 0;
	if (!core->clocked)
		sim_fail("core %u is attached without power", core->index);
	iommu->domain = NULL;
	halt(iommu);
	sim_sleep(5000 + sim_random(world.attach_ns));
	if (world.breaks && sim_chance(3))
		return -EIO;
	iommu->domain = domain;
	return 0;
}

void rknpu_scrub_mark(struct rknpu_core *core, const struct rknpu_domain *domain)
{
	(void)core;
	(void)domain;
}

unsigned long rknpu_rate_max(struct rknpu_hw *h)
{
	(void)h;
	return 0;
}

/* ---- dumps, which cost nothing here ---- */

int rknpu_dumps_init(struct rknpu_dumps *dumps, struct drm_device *d)
{
	(void)dumps;
	(void)d;
	return 0;
}

void rknpu_dumps_flush(struct rknpu_dumps *dumps)
{
	(void)dumps;
}

void rknpu_dump_end(struct rknpu_dumps *dumps, struct rknpu_dump *dump)
{
	(void)dumps;
	(void)dump;
}

struct rknpu_dump *rknpu_failure_begin(struct rknpu_runqueue *rq)
{
	(void)rq;
	sim_sleep(sim_random(20000));
	return NULL;
}

void rknpu_failure_report(struct rknpu_dump *dump, struct rknpu_runqueue *rq, struct rknpu_job *job,
			  enum rknpu_cause cause)
{
	(void)dump;
	(void)rq;
	(void)job;
	(void)cause;
}

void rknpu_failure_report_lost(struct rknpu_dump *dump, struct rknpu_runqueue *rq, int error)
{
	(void)dump;
	(void)rq;
	(void)error;
}

/* ---- address spaces, accounts, BOs ---- */

static u64 last_domain;
static LIST_HEAD(over);
static bool reaping;

struct rknpu_vm *npu_vm_create(struct rknpu_account *account)
{
	struct rknpu_vm *vm = sim_alloc(sizeof(*vm));

	kref_init(&vm->ref);
	vm->domain.hw = &hw;
	vm->domain.id = ++last_domain;
	vm->account = rknpu_account_get(account);
	return vm;
}

/* It takes itself off all IOMMUs before it goes. */
static void release_vm(void *arg)
{
	struct rknpu_vm *vm = arg;
	struct rknpu_core *core;

	rknpu_for_each_core(core, &hw) {
		if (!core->iommu)
			continue;
		guard(mutex)(&core->iommu->attach_lock);
		if (of(core)->running && of(core)->domain == &vm->domain)
			sim_fail("an address space goes while core %u runs in it", core->index);
		if (core->iommu->domain == &vm->domain)
			rknpu_iommu_detach(core);
	}
	rknpu_account_put(vm->account);
	sim_free(vm);
}

static void last_vm_put(struct kref *ref)
{
	sim_at(1000, release_vm, container_of(ref, struct rknpu_vm, ref), false);
}

struct rknpu_vm *rknpu_vm_get(struct rknpu_vm *vm)
{
	kref_get(&vm->ref);
	return vm;
}

void rknpu_vm_put(struct rknpu_vm *vm)
{
	kref_put(&vm->ref, last_vm_put);
}

void rknpu_vm_use_end(struct rknpu_vm *vm, struct rknpu_vm_use *use)
{
	(void)vm;
	(void)use;
}

static void reap(void *arg)
{
	struct rknpu_vm_use *use;

	(void)arg;
	reaping = false;
	while (!list_empty(&over)) {
		use = list_first_entry(&over, struct rknpu_vm_use, over_link);
		list_del(&use->over_link);
		use->free(use);
	}
}

void rknpu_vm_reap_soon(struct rknpu_quota *quota)
{
	(void)quota;
	if (!reaping && !list_empty(&over))
		sim_at(sim_random(100000), reap, NULL, false);
	reaping = !list_empty(&over);
}

void rknpu_vm_use_over(struct rknpu_vm *vm, struct rknpu_vm_use *use)
{
	list_add_tail(&use->over_link, &over);
	rknpu_vm_reap_soon(vm->account->quota);
}

void rknpu_vm_reap_if_any(struct rknpu_vm *vm)
{
	(void)vm;
	sim_might_sleep();
}

void rknpu_vm_reap_all(struct rknpu_quota *quota)
{
	(void)quota;
	sim_might_sleep();
}

void rknpu_account_init(struct rknpu_account *account, struct rknpu_mem *mem, struct rknpu_quota *quota,
			void (*release)(struct kref *ref))
{
	kref_init(&account->ref);
	account->mem = mem;
	account->quota = quota;
	account->release = release;
}

int rknpu_account_charge_tables_patiently(struct rknpu_account *account, unsigned long pages)
{
	(void)account;
	(void)pages;
	return 0;
}

void rknpu_account_uncharge_tables(struct rknpu_account *account, unsigned long pages)
{
	(void)account;
	(void)pages;
}

void rknpu_bo_record_error(struct rknpu_bo *bo, int error)
{
	(void)bo;
	(void)error;
}

void rknpu_quota_init(struct rknpu_quota *quota)
{
}

void rknpu_vm_reaper_init(struct rknpu_quota *quota)
{
	(void)quota;
}

void rknpu_bo_put_freed(struct rknpu_bo *bo)
{
}

void rknpu_bo_forget_fence(struct rknpu_bo *bo)
{
	(void)bo;
}

/* ---- all of it ---- */

static struct {
	void (*fn)(struct drm_device *d, void *data);
	void *data;
} actions[8];
static unsigned int action_count;

int drmm_add_action_or_reset(struct drm_device *d, void (*fn)(struct drm_device *d, void *data), void *data)
{
	(void)d;
	actions[action_count].fn = fn;
	actions[action_count++].data = data;
	return 0;
}

u64 npu_busy_ns(unsigned int core)
{
	return npu[core].busy_ns + (npu[core].running ? sim_now() - npu[core].start_ns : 0);
}

u64 npu_kicks(unsigned int core)
{
	return npu[core].kicks;
}

bool npu_sleeps(void)
{
	unsigned int i;

	for (i = 0; i < world.cores; i++) {
		if (devs[i].usage || npu[i].running)
			return false;
	}
	return true;
}

void npu_stray_fault(unsigned int core)
{
	struct rknpu_domain *domain = hw.cores[core].iommu->domain;

	/* Somebody holds the domain while its IOMMU's handler runs: here nothing else does. */
	if (!domain || !hw.cores[core].powered || hw.cores[core].irq_off || sched.rqs[core].job ||
	    npu[core].handling)
		return;
	sim_trace("core %u: a stray fault", core);
	npu[core].domain = domain;
	npu[core].handling = true;
	rknpu_irq_iommu_fault(&hw.cores[core], domain, 0x2000, false);
	npu[core].handling = false;
	sim_wake(&npu[core].handled);
}

void npu_init(void)
{
	unsigned int i;

	memset(npu, 0, sizeof(npu));
	memset(devs, 0, sizeof(devs));
	memset(&hw, 0, sizeof(hw));
	memset(&soc, 0, sizeof(soc));
	INIT_LIST_HEAD(&over);
	reaping = false;
	action_count = 0;
	drm.dev = &devs[0];
	drm.ref = 1;
	soc.number = 3588;
	soc.num_cores = world.cores;
	soc.one_cbuf = world.one_cbuf;
	soc.pc.max_tasks = 8;
	hw.drm = &drm;
	hw.soc = &soc;
	hw.lock.outer = true;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *core = &hw.cores[i];

		core->hw = &hw;
		core->index = i;
		core->iommu = &hw.iommus[world.shared ? 0 : i];
		core->iommu->hw = &hw;
		core->iommu->shared = world.shared;
		npu[i].line_on = true;
		npu[i].masked = true;
		if (i >= world.cores)
			continue;
		core->dev = &devs[world.shared ? 0 : i];
		core->polled = world.polled;
		core->irq = 1;
	}
}

void npu_fini(void)
{
	while (action_count--)
		actions[action_count].fn(&drm, actions[action_count].data);
	if (drm.ref != 1)
		sim_fail("%d references on the device are left", drm.ref - 1);
}
