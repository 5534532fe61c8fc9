// SPDX-License-Identifier: GPL-2.0-only
/* Owns the program controller: starting a task, its interrupts, its progress. */
#include <linux/cleanup.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include <drm/drm_print.h>

#include "debug/rknpu_dump.h"
#include "rknpu_hw.h"
#include "rknpu_pc.h"
#include "rknpu_regs.h"

/*
 * Which unit writes a program's result is known only to the program: the DPU,
 * or the PPU for pooling. The vendor's driver waits for the one its user space
 * names per task (0x300 or 0xc00), rocket always for the DPU. A task that says
 * nothing is done when either is. A program that chains both would need to name
 * the PPU, because the DPU's interrupt comes first.
 */
#define RKNPU_PC_INT_DEFAULT	(RKNPU_INT_DPU_DONE | RKNPU_INT_PPU_DONE)

static const struct rknpu_soc_pc *rknpu_pc_soc(const struct rknpu_core *core)
{
	return &core->hw->soc->pc;
}

u32 rknpu_pc_max_commands(const struct rknpu_soc *soc)
{
	return (RKNPU_PC_REGISTER_AMOUNTS_AMOUNT + 1) * soc->pc.commands_per_fetch;
}

static u32 rknpu_pc_read(struct rknpu_core *core, void __iomem *reg)
{
	rknpu_core_stat_add(core, RKNPU_CORE_STAT_MMIO_READS, 1);
	return readl_relaxed(reg);
}

/* The caller counts: a start is many writes. */
static void rknpu_pc_put(void __iomem *reg, u32 val)
{
	writel_relaxed(val, reg);
}

static void rknpu_pc_count_writes(struct rknpu_core *core, unsigned int n)
{
	rknpu_core_stat_add(core, RKNPU_CORE_STAT_MMIO_WRITES, n);
}

static void rknpu_pc_write(struct rknpu_core *core, void __iomem *reg, u32 val)
{
	rknpu_pc_count_writes(core, 1);
	rknpu_pc_put(reg, val);
}

static u32 rknpu_pc_named_mask(const struct rknpu_core *core)
{
	return core->kick.int_mask & RKNPU_INT_PAIRS;
}

static u32 rknpu_pc_done_mask(const struct rknpu_core *core)
{
	return rknpu_pc_named_mask(core) ?: RKNPU_PC_INT_DEFAULT;
}

u32 rknpu_pc_errors(const struct rknpu_core *core)
{
	return RKNPU_INT_DMA_ERROR | rknpu_pc_soc(core)->fetch_error;
}

/*
 * Interrupts come from register group 0 or 1, and the two alternate from task
 * to task in a way that depends on the history since the last reset, so which
 * of them a task uses is not known.
 */
static u32 rknpu_pc_fuzz(u32 status)
{
	u32 pairs = status & RKNPU_INT_PAIRS;

	return status | ((pairs & 0x555) << 1) | ((pairs & 0xaaa) >> 1);
}

/* The CPU drives the registers only in slave mode, and the program must find this done. */
static void rknpu_pc_select_groups(struct rknpu_core *core, const struct rknpu_kick *kick)
{
	const struct rknpu_soc_pc *soc = rknpu_pc_soc(core);
	u32 pointer = soc->s_pointer + core->index * soc->s_pointer_core;

	rknpu_pc_put(core->pc + RKNPU_PC_BASE_ADDRESS, RKNPU_PC_BASE_ADDRESS_PC_SEL);
	if (kick->own_pointer && soc->s_pointer_in_programs)
		return;
	rknpu_pc_put(core->cna + RKNPU_BLOCK_S_POINTER, pointer);
	rknpu_pc_put(core->mac + RKNPU_BLOCK_S_POINTER, pointer);
}

/* In rknpu_pc_put_kick(), of both kinds. */
#define RKNPU_PC_START_WRITES	10

static void rknpu_pc_put_kick(struct rknpu_core *core, const struct rknpu_kick *kick, u32 mask)
{
	const struct rknpu_soc_pc *soc = rknpu_pc_soc(core);
	/*
	 * The last fetch may get more than there is, which programs allow for. More than
	 * rknpu_pc_max_commands() would set the field next to it.
	 */
	u32 amounts = DIV_ROUND_UP(kick->regcmd_count, soc->commands_per_fetch) - 1;

	rknpu_pc_select_groups(core, kick);
	rknpu_pc_put(core->pc + RKNPU_PC_BASE_ADDRESS, kick->regcmd);
	rknpu_pc_put(core->pc + RKNPU_PC_REGISTER_AMOUNTS, amounts);
	rknpu_pc_put(core->pc + RKNPU_PC_INTERRUPT_MASK, mask);
	rknpu_pc_put(core->pc + RKNPU_PC_INTERRUPT_CLEAR, soc->events);
	rknpu_pc_put(core->pc + RKNPU_PC_TASK_CON,
		     soc->task_con | (kick->no_pingpong ? 0 : soc->task_con_pingpong) |
		     kick->tasks);
	rknpu_pc_put(core->pc + RKNPU_PC_TASK_DMA_BASE_ADDR,
		     soc->no_dma_base ? 0 : kick->dma_base);
	/* The program and its data must be in memory before the NPU is told to look. */
	wmb();
	rknpu_pc_put(core->pc + RKNPU_PC_OPERATION_ENABLE, RKNPU_PC_OPERATION_ENABLE_OP_EN);
	rknpu_pc_count_writes(core, RKNPU_PC_START_WRITES);
}

void rknpu_pc_start(struct rknpu_core *core, const struct rknpu_kick *kick)
{
	core->kick = *kick;
	rknpu_pc_put_kick(core, kick,
			  core->polled ? 0 : rknpu_pc_done_mask(core) | rknpu_pc_errors(core));
}

void rknpu_pc_unmask(struct rknpu_core *core)
{
	rknpu_pc_write(core, core->pc + RKNPU_PC_INTERRUPT_MASK,
		       rknpu_pc_done_mask(core) | rknpu_pc_errors(core));
}

void rknpu_pc_start_silent(struct rknpu_core *core, const struct rknpu_kick *kick)
{
	rknpu_pc_put_kick(core, kick, 0);
}

/* A task starts when the bit rises (TRM), so somebody has to take it down again. */
void rknpu_pc_finish(struct rknpu_core *core)
{
	rknpu_pc_write(core, core->pc + RKNPU_PC_OPERATION_ENABLE, 0);
}

/*
 * Writes are posted: they reach the core after the CPU went on, at the latest when it reads
 * there. Until then the line stays up, and what is written is lost if the clock goes.
 */
static void rknpu_pc_arrive(struct rknpu_core *core)
{
	rknpu_pc_read(core, core->pc + RKNPU_PC_INTERRUPT_MASK);
}

void rknpu_pc_quiesce(struct rknpu_core *core)
{
	rknpu_pc_write(core, core->pc + RKNPU_PC_INTERRUPT_MASK, 0);
	rknpu_pc_write(core, core->pc + RKNPU_PC_INTERRUPT_CLEAR, rknpu_pc_soc(core)->events);
	rknpu_pc_arrive(core);
}

void rknpu_pc_mask(struct rknpu_core *core)
{
	rknpu_pc_write(core, core->pc + RKNPU_PC_INTERRUPT_MASK, 0);
	rknpu_pc_arrive(core);
}

/* Bit 31 of the mask reads as 1 on a board (Awe31402), and so may what it masks. */
u32 rknpu_pc_status(struct rknpu_core *core)
{
	u32 status = rknpu_pc_read(core, core->pc + RKNPU_PC_INTERRUPT_STATUS);

	return status & rknpu_pc_soc(core)->events;
}

u32 rknpu_pc_raw_status(struct rknpu_core *core)
{
	return rknpu_pc_read(core, core->pc + RKNPU_PC_INTERRUPT_RAW_STATUS);
}

static u32 rknpu_pc_task_status(struct rknpu_core *core)
{
	return rknpu_pc_read(core, core->pc + rknpu_pc_soc(core)->task_status);
}

u32 rknpu_pc_tasks_done(struct rknpu_core *core)
{
	u32 mask = rknpu_pc_soc(core)->tasks_done;

	return (rknpu_pc_task_status(core) & mask) >> __ffs(mask);
}

/*
 * Tasks of a chain before the last one set their bits, too (and leave them behind, says the
 * TRM), so the counter has to agree. Unless it shows none, as on boards after the last task.
 */
static bool rknpu_pc_count_agrees(struct rknpu_core *core)
{
	u32 done;

	if (core->kick.tasks == 1)
		return true;
	if (rknpu_pc_soc(core)->tasks_wrap)
		return !rknpu_pc_task_status(core);
	done = rknpu_pc_tasks_done(core);
	return !done || done >= core->kick.tasks;
}

/* Of several units that a task names all have to be done, of the usual ones any. */
static bool rknpu_pc_units_done(struct rknpu_core *core, u32 status)
{
	u32 mask = rknpu_pc_done_mask(core);
	u32 done = rknpu_pc_fuzz(status) & mask;

	if (!rknpu_pc_named_mask(core))
		return done;
	return done && (rknpu_pc_fuzz(done) & mask) == mask;
}

/*
 * One of several units has reported, and holds the line up until it is masked;
 * its raw bit stays.
 */
static bool rknpu_pc_rest_done(struct rknpu_core *core)
{
	u32 raw = rknpu_pc_raw_status(core);
	u32 rest = rknpu_pc_done_mask(core) & ~rknpu_pc_fuzz(raw);

	if (rest)
		rknpu_pc_write(core, core->pc + RKNPU_PC_INTERRUPT_MASK,
			       rest | rknpu_pc_errors(core));
	return rknpu_pc_units_done(core, raw);
}

bool rknpu_pc_over(struct rknpu_core *core, u32 status)
{
	if (!rknpu_pc_units_done(core, status) && !rknpu_pc_rest_done(core))
		return false;
	if (rknpu_pc_count_agrees(core))
		return true;

	/*
	 * The line may be up for it. What ends meanwhile shows in the counter.
	 */
	rknpu_pc_write(core, core->pc + RKNPU_PC_INTERRUPT_CLEAR, RKNPU_INT_PAIRS);
	return rknpu_pc_count_agrees(core);
}

bool rknpu_pc_over_raw(struct rknpu_core *core)
{
	u32 raw = rknpu_pc_raw_status(core);

	return !(raw & rknpu_pc_errors(core)) &&
	       rknpu_pc_units_done(core, raw) && rknpu_pc_count_agrees(core);
}

static bool rknpu_pc_busy(struct rknpu_core *core)
{
	u32 cna = rknpu_pc_read(core, core->cna + RKNPU_BLOCK_S_STATUS);
	u32 mac = rknpu_pc_read(core, core->mac + RKNPU_BLOCK_S_STATUS);

	return (cna | mac) & (RKNPU_CNA_S_STATUS_STATUS_0 | RKNPU_CNA_S_STATUS_STATUS_1);
}

/*
 * As rknpu_pc_count_agrees(), for who looks while tasks may still run: then a counter
 * of none may be that of a first task whose bit came just before. After the last one boards
 * have no count, but a state of their own (measured by zevorn and Awe31402); the TRM has the
 * count.
 */
static bool rknpu_pc_chain_done(struct rknpu_core *core)
{
	const struct rknpu_soc_pc *soc = rknpu_pc_soc(core);
	u32 status, count;

	/* Where it wraps, it is 0 before the first one, too, but that has no bit then. */
	if (core->kick.tasks == 1 || soc->tasks_wrap)
		return rknpu_pc_count_agrees(core);
	status = rknpu_pc_task_status(core);
	count = (status & soc->tasks_done) >> __ffs(soc->tasks_done);
	if (count)
		return count >= core->kick.tasks;
	return (status & soc->all_done) == soc->all_done;
}

bool rknpu_pc_polled(struct rknpu_core *core, u32 *status)
{
	u32 raw = rknpu_pc_raw_status(core);

	*status = raw & (rknpu_pc_done_mask(core) | rknpu_pc_errors(core));
	if (raw & rknpu_pc_errors(core))
		return true;
	return rknpu_pc_units_done(core, raw) && rknpu_pc_chain_done(core);
}

bool rknpu_pc_progressed(struct rknpu_core *core)
{
	u32 raw = rknpu_pc_raw_status(core) & rknpu_pc_soc(core)->events;

	/* Raw bits were cleared at the start, so any of them is the task's work. */
	return rknpu_pc_tasks_done(core) || raw || rknpu_pc_busy(core);
}

u32 rknpu_pc_version(struct rknpu_core *core)
{
	u32 version;

	guard(spinlock_irqsave)(&core->hw->lock);
	version = rknpu_pc_read(core, core->pc + RKNPU_PC_VERSION);
	return version + (rknpu_pc_read(core, core->pc + RKNPU_PC_VERSION_NUM) & 0xffff);
}

bool rknpu_pc_answers(struct rknpu_core *core)
{
	return rknpu_pc_version(core) == core->version;
}

bool rknpu_pc_looks_reset(struct rknpu_core *core)
{
	u32 base;

	guard(spinlock_irqsave)(&core->hw->lock);
	base = rknpu_pc_read(core, core->pc + RKNPU_PC_BASE_ADDRESS);
	/*
	 * 1, which is slave mode, on a board (measured by Awe31402), 0 in the TRM. No program is
	 * at address 0.
	 */
	return !FIELD_GET(RKNPU_PC_BASE_ADDRESS_IOVA, base) && !rknpu_pc_busy(core);
}

struct rknpu_pc_reg {
	const char *name;
	u16 offset;
};

static const struct rknpu_pc_reg rknpu_pc_regs[] = {
	{ "PC.VERSION", RKNPU_PC_VERSION },
	{ "PC.VERSION_NUM", RKNPU_PC_VERSION_NUM },
	{ "PC.OPERATION_ENABLE", RKNPU_PC_OPERATION_ENABLE },
	{ "PC.BASE_ADDRESS", RKNPU_PC_BASE_ADDRESS },
	{ "PC.REGISTER_AMOUNTS", RKNPU_PC_REGISTER_AMOUNTS },
	{ "PC.INTERRUPT_MASK", RKNPU_PC_INTERRUPT_MASK },
	{ "PC.INTERRUPT_STATUS", RKNPU_PC_INTERRUPT_STATUS },
	{ "PC.INTERRUPT_RAW_STATUS", RKNPU_PC_INTERRUPT_RAW_STATUS },
	{ "PC.TASK_CON", RKNPU_PC_TASK_CON },
	{ "PC.TASK_DMA_BASE_ADDR", RKNPU_PC_TASK_DMA_BASE_ADDR },
};

static const struct rknpu_pc_reg rknpu_cna_regs[] = {
	{ "CNA.S_STATUS", RKNPU_BLOCK_S_STATUS },
	{ "CNA.S_POINTER", RKNPU_BLOCK_S_POINTER },
};

static const struct rknpu_pc_reg rknpu_mac_regs[] = {
	{ "CORE.S_STATUS", RKNPU_BLOCK_S_STATUS },
	{ "CORE.S_POINTER", RKNPU_BLOCK_S_POINTER },
};

typedef void (*rknpu_pc_reg_fn)(void *data, const char *name, u32 value);

static void rknpu_pc_tell_window(struct rknpu_core *core, void __iomem *window,
				 const struct rknpu_pc_reg *regs, unsigned int count,
				 rknpu_pc_reg_fn fn, void *data)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		fn(data, regs[i].name, rknpu_pc_read(core, window + regs[i].offset));
}

static void rknpu_pc_tell(struct rknpu_core *core, rknpu_pc_reg_fn fn, void *data)
{
	const struct rknpu_pc_reg status = { "PC.TASK_STATUS", rknpu_pc_soc(core)->task_status };

	rknpu_pc_tell_window(core, core->pc, rknpu_pc_regs, ARRAY_SIZE(rknpu_pc_regs), fn, data);
	rknpu_pc_tell_window(core, core->pc, &status, 1, fn, data);
	rknpu_pc_tell_window(core, core->cna, rknpu_cna_regs, ARRAY_SIZE(rknpu_cna_regs), fn, data);
	rknpu_pc_tell_window(core, core->mac, rknpu_mac_regs, ARRAY_SIZE(rknpu_mac_regs), fn, data);
}

static void rknpu_pc_dump_reg(void *dump, const char *name, u32 value)
{
	rknpu_dump_add_reg(dump, name, value);
}

void rknpu_pc_dump(struct rknpu_core *core, struct rknpu_dump *dump)
{
	rknpu_pc_tell(core, rknpu_pc_dump_reg, dump);
}

struct rknpu_pc_print {
	struct drm_printer *p;
	unsigned int index;
};

static void rknpu_pc_print_reg(void *data, const char *name, u32 value)
{
	struct rknpu_pc_print *print = data;

	drm_printf(print->p, "core%u.%s 0x%08x\n", print->index, name, value);
}

void rknpu_pc_print(struct rknpu_core *core, struct drm_printer *p)
{
	struct rknpu_pc_print print = { .p = p, .index = core->index };

	guard(mutex)(&core->reset_lock);
	guard(spinlock_irqsave)(&core->hw->lock);
	/* Without power an access may hang the bus. */
	if (core->powered && !READ_ONCE(core->parked))
		rknpu_pc_tell(core, rknpu_pc_print_reg, &print);
}
