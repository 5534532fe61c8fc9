// SPDX-License-Identifier: GPL-2.0-only
/* Owns the program controller: starting a task, its interrupts, its progress. */
#include <linux/io.h>

#include "rknpu_core.h"
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

static u32 rknpu_pc_read(struct rknpu_core *core, void __iomem *reg)
{
	rknpu_core_stat_add(&core->stats, RKNPU_CORE_STAT_MMIO_READS, 1);
	return readl_relaxed(reg);
}

/* The caller counts: a start is many writes. */
static void rknpu_pc_put(void __iomem *reg, u32 val)
{
	writel_relaxed(val, reg);
}

static void rknpu_pc_count_writes(struct rknpu_core *core, unsigned int n)
{
	rknpu_core_stat_add(&core->stats, RKNPU_CORE_STAT_MMIO_WRITES, n);
}

static void rknpu_pc_write(struct rknpu_core *core, void __iomem *reg, u32 val)
{
	rknpu_pc_count_writes(core, 1);
	rknpu_pc_put(reg, val);
}

static u32 rknpu_pc_done_mask(const struct rknpu_task *task)
{
	return task->int_mask ?: RKNPU_PC_INT_DEFAULT;
}

/*
 * Interrupts come from register group 0 or 1, and the two take turns from task
 * to task in a way that depends on the history since the last reset, so which
 * of them a task uses is not known.
 */
static u32 rknpu_pc_fuzz(u32 status)
{
	u32 pairs = status & RKNPU_INT_PAIRS;

	return status | ((pairs & 0x555) << 1) | ((pairs & 0xaaa) >> 1);
}

/* The CPU drives the registers only in slave mode, and the program must find this done. */
static void rknpu_pc_select_groups(struct rknpu_core *core)
{
	u32 pointer = RKNPU_BLOCK_S_POINTER_CORE(core->index) |
		      RKNPU_BLOCK_S_POINTER_POINTER_PP_EN |
		      RKNPU_BLOCK_S_POINTER_EXECUTER_PP_EN |
		      RKNPU_BLOCK_S_POINTER_POINTER_PP_MODE;

	rknpu_pc_put(core->pc + RKNPU_PC_BASE_ADDRESS, RKNPU_PC_BASE_ADDRESS_PC_SEL);
	rknpu_pc_put(core->cna + RKNPU_BLOCK_S_POINTER, pointer);
	rknpu_pc_put(core->mac + RKNPU_BLOCK_S_POINTER, pointer);
}

/* In rknpu_pc_start(), of both kinds. */
#define RKNPU_PC_START_WRITES	10

void rknpu_pc_start(struct rknpu_core *core, const struct rknpu_task *task)
{
	/* Two commands per fetch; an odd count fetches one more, which programs allow for. */
	u32 amounts = DIV_ROUND_UP(task->regcmd_count, 2) - 1;

	rknpu_pc_select_groups(core);
	rknpu_pc_put(core->pc + RKNPU_PC_BASE_ADDRESS, task->regcmd);
	rknpu_pc_put(core->pc + RKNPU_PC_REGISTER_AMOUNTS, amounts);
	rknpu_pc_put(core->pc + RKNPU_PC_INTERRUPT_MASK,
		     rknpu_pc_done_mask(task) | RKNPU_INT_DMA_ERROR);
	rknpu_pc_put(core->pc + RKNPU_PC_INTERRUPT_CLEAR, RKNPU_INT_ALL);
	rknpu_pc_put(core->pc + RKNPU_PC_TASK_CON,
		     RKNPU_PC_TASK_CON_BIT14 | RKNPU_PC_TASK_CON_TASK_COUNT_CLEAR |
		     RKNPU_PC_TASK_CON_TASK_PP_EN | RKNPU_PC_TASK_CON_TASK_NUMBER(1));
	rknpu_pc_put(core->pc + RKNPU_PC_TASK_DMA_BASE_ADDR, 0);
	/* The program and its data must be in memory before the NPU is told to look. */
	wmb();
	rknpu_pc_put(core->pc + RKNPU_PC_OPERATION_ENABLE, RKNPU_PC_OPERATION_ENABLE_OP_EN);
	rknpu_pc_count_writes(core, RKNPU_PC_START_WRITES);
}

/* A task starts when the bit rises (TRM), so somebody has to take it down again. */
void rknpu_pc_finish(struct rknpu_core *core)
{
	rknpu_pc_write(core, core->pc + RKNPU_PC_OPERATION_ENABLE, 0);
}

void rknpu_pc_quiesce(struct rknpu_core *core)
{
	rknpu_pc_mask(core);
	rknpu_pc_write(core, core->pc + RKNPU_PC_INTERRUPT_CLEAR, RKNPU_INT_ALL);
}

void rknpu_pc_mask(struct rknpu_core *core)
{
	rknpu_pc_write(core, core->pc + RKNPU_PC_INTERRUPT_MASK, 0);
}

u32 rknpu_pc_status(struct rknpu_core *core)
{
	return rknpu_pc_fuzz(rknpu_pc_read(core, core->pc + RKNPU_PC_INTERRUPT_STATUS));
}

bool rknpu_pc_done_raw(struct rknpu_core *core, const struct rknpu_task *task)
{
	u32 raw = rknpu_pc_read(core, core->pc + RKNPU_PC_INTERRUPT_RAW_STATUS);

	return !(raw & RKNPU_INT_DMA_ERROR) && (rknpu_pc_fuzz(raw) & rknpu_pc_done_mask(task));
}

static bool rknpu_pc_busy(struct rknpu_core *core)
{
	u32 cna = rknpu_pc_read(core, core->cna + RKNPU_BLOCK_S_STATUS);
	u32 mac = rknpu_pc_read(core, core->mac + RKNPU_BLOCK_S_STATUS);

	return (cna | mac) & RKNPU_BLOCK_S_STATUS_GROUPS;
}

bool rknpu_pc_progressed(struct rknpu_core *core)
{
	u32 status = rknpu_pc_read(core, core->pc + RKNPU_PC_TASK_STATUS);
	u32 raw = rknpu_pc_read(core, core->pc + RKNPU_PC_INTERRUPT_RAW_STATUS);

	/* Raw bits were cleared at the start, so any of them is the task's work. */
	return (status & RKNPU_PC_TASK_STATUS_COUNTER) || (raw & RKNPU_INT_ALL) ||
	       rknpu_pc_busy(core);
}

u32 rknpu_pc_version(struct rknpu_core *core)
{
	u32 version = rknpu_pc_read(core, core->pc + RKNPU_PC_VERSION);

	return version + (rknpu_pc_read(core, core->pc + RKNPU_PC_VERSION_NUM) & 0xffff);
}

bool rknpu_pc_looks_reset(struct rknpu_core *core)
{
	/* Never 0 once a task ran: slave mode sets bit 0 and no program is at address 0. */
	return !rknpu_pc_read(core, core->pc + RKNPU_PC_BASE_ADDRESS) && !rknpu_pc_busy(core);
}
