// SPDX-License-Identifier: MIT
/*
 * Programs for what evidence.toml says of the program controller and the register groups.
 */
#include "report.h"

static const double in[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static void plain(struct trial *t, struct rp_fly *f)
{
	*f = (struct rp_fly){ RP_INT16, RP_INT16, .n = RP_COUNT(in) };
	rp_clear(t);
	rp_fly(t, f, in);
}

/* The offset is written as if it were a register of the CNA. */
static void entry_target(struct trial *t)
{
	double added[RP_COUNT(in)];
	struct rp_fly f;

	for (unsigned int i = 0; i < RP_COUNT(in); i++)
		added[i] = in[i] + 7;
	plain(t, &f);
	rp_entry(t, NPU_TGT_CNA, OFF_DPU_OUT_CVT_OFFSET, 7);
	rp_fly_run(t, &f);
	rp_model(t, "the register decides where an entry goes, whatever its target", added);
	rp_other_reading(t, "an entry with another block's target does nothing", in);
}

/*
 * An odd count: the entry behind the op-enable is fetched, too. Two jobs before leave offsets
 * of 0 in both groups of the core, two jobs behind show what is there.
 */
static void behind_enable(struct trial *t)
{
	double added[RP_COUNT(in)];
	struct rp_fly f;

	t->core_mask = 1;
	for (unsigned int i = 0; i < 2; i++) {
		plain(t, &f);
		rp_fly_run(t, &f);
	}
	for (unsigned int i = 0; i < RP_COUNT(in); i++)
		added[i] = in[i] + 7;
	plain(t, &f);
	if (!(t->n % 2))
		rp_write(t, OFF_DPU_OUT_CVT_OFFSET, 0);
	rp_close_odd(t, NPU_EN_DPU | NPU_EN_DPU_RDMA, OFF_DPU_OUT_CVT_OFFSET, 7);
	rp_run_closed(t);
	rp_result(t, RP_INT16, 1, RP_COUNT(in), 16);
	rp_model(t, "a program of an odd number of entries completes", in);
	rp_other_reading(t, "the entry behind the op-enable counts for its task", added);
	for (unsigned int i = 0; i < 2; i++) {
		plain(t, &f);
		rp_remove(t, OFF_DPU_OUT_CVT_OFFSET);
		rp_fly_run(t, &f);
		rp_model(t, "what follows the op-enable is ignored", in);
		rp_other_reading(t, "the entry behind the op-enable counts for a later task",
				 added);
	}
}

static void pointer_toggle(struct trial *t)
{
	struct rp_fly f;

	for (unsigned int i = 0; i < 2; i++) {
		plain(t, &f);
		rp_set(t, OFF_DPU_S_POINTER, 0xf);
		rp_set(t, OFF_RDMA_S_POINTER, 0xf);
		rp_fly_run(t, &f);
		rp_model(t, "POINTER is ignored in a write that enables toggling", in);
		rp_other_hangs(t, "POINTER counts in a write that enables toggling");
	}
}

/* A product on core 2, with that number in S_POINTER, and with another one. */
static void core_number(struct trial *t)
{
	static double x[32], w[32 * 32], want[32];

	for (unsigned int i = 0; i < 32; i++) {
		x[i] = want[i] = i;
		w[i * 32 + i] = 1;
	}
	t->core_mask = 4;
	for (unsigned int core = 2; core <= 3; core++) {
		struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 1, .w = 1, .ic = 32,
				     .oc = 32 };
		uint32_t pointer = (core % 3) << 28 | 0xe;

		rp_clear(t);
		rp_conv(t, &c, x, w);
		rp_set(t, OFF_CNA_S_POINTER, pointer);
		rp_set(t, OFF_CORE_S_POINTER, pointer);
		rp_conv_run(t, &c);
		if (core == 2) {
			rp_model(t, "on core 2 bits 28 and 29 of S_POINTER are 2", want);
			rp_other_hangs(t,
				       "on core 2 a task with 2 in S_POINTER hangs");
		} else {
			rp_model_hangs(t,
				       "on core 2 a task with another number in S_POINTER hangs");
			rp_other_reading(t, "on core 2 the number in S_POINTER does not matter",
					 want);
		}
	}
}

/* Two tasks on core 0, between which other cores are waited for, which have nothing to do. */
static void chain_of_two(struct trial *t, uint32_t meet)
{
	struct rp_fly f;

	plain(t, &f);
	t->core_mask = 1;
	t->meet = meet;
	rp_close(t, NPU_EN_DPU | NPU_EN_DPU_RDMA);
	t->meet = 0;
	rp_fly(t, &f, in);
	rp_fly_run(t, &f);
}

static void cores_meet(struct trial *t)
{
	chain_of_two(t, 0);
	rp_model(t, "where no core is to be waited for, a chain completes", in);
	for (uint32_t last = 1; last < 3; last++) {
		chain_of_two(t, last);
		rp_model_hangs(t, "a core waits for others that never come");
		rp_other_reading(t, "bits 17:16 of the word that names the next task do nothing",
				 in);
	}
}

/* For statements about what a core shows after a job. */
static bool chain_on_core_0(struct trial *t)
{
	rp_clear(t);
	chain_of_two(t, 0);
	if (!t->outcome)
		return true;
	rp_model(t, "a chain completes", in);
	return false;
}

static void one(struct trial *t, const char *name, uint32_t mask, const char *model, double want,
		const char *other, double else_want)
{
	if (!rp_register(t, name, mask))
		return;
	rp_model(t, model, &want);
	rp_other_reading(t, other, &else_want);
}

static void task_status(struct trial *t)
{
	if (!chain_on_core_0(t))
		return;
	one(t, "PC.TASK_STATUS", ~0u, "after a chain TASK_STATUS is 0xf000", 0xf000,
	    "after a chain of two TASK_STATUS is 0x3002", 0x3002);
	one(t, "PC.TASK_CON", ~0u, "TASK_CON reads without bits 13 and 14", 0x1002,
	    "TASK_CON reads as it was written", 0x7002);
	one(t, "CNA.S_STATUS", ~0u, "S_STATUS is 0 after a task", 0,
	    "S_STATUS has bits 2 and 3 after a task", 0xc);
}

static void interrupt_bits(struct trial *t)
{
	double n, last = 1, both = 2;

	if (!chain_on_core_0(t))
		return;
	if (!rp_register(t, "PC.INTERRUPT_RAW_STATUS", 0x300))
		return;
	n = !!((unsigned int)t->got[0] & 0x100) + !!((unsigned int)t->got[0] & 0x200);
	t->got[0] = n;
	rp_model(t, "after a chain the last task's raw bits are set", &last);
	rp_other_reading(t, "after a chain the raw bits of all tasks are set", &both);
	one(t, "PC.INTERRUPT_RAW_STATUS", 0xc0000000, "raw bits 30 and 31 are set", 0xc0000000,
	    "raw bits 30 and 31 are not set", 0);
}

static void version_split(struct trial *t)
{
	if (chain_on_core_0(t))
		one(t, "PC.VERSION_NUM", 0xffff, "VERSION_NUM is 0", 0, "VERSION_NUM has a part", 1);
}

#define DRIVERS		"only drivers reach these registers"

const struct rp_program rp_pc[] = {
	RP_TRY("entry-target", "target and register of an entry", entry_target),
	RP_TRY("behind-enable", "what follows the op-enable", behind_enable),
	RP_TRY("pointer-toggle", "POINTER beside the bits that toggle it", pointer_toggle),
	RP_TRY_KIND("core-number", "the core's number in S_POINTER", core_number, RP_NEEDS_CORE),
	RP_WHY("chain-short", "a chain that ends early",
	       "drivers count the tasks of a chain by themselves"),
	RP_TRY_KIND("cores-meet", "cores that wait for each other", cores_meet, RP_NEEDS_CORE),
	RP_WHY("prefetch", "when the next program is read", "no result shows when it is read"),
	RP_TRY_KIND("interrupt-bits", "which interrupt bits a chain leaves", interrupt_bits, RP_NEEDS_CORE),
	RP_TRY_KIND("task-status", "TASK_STATUS, TASK_CON, S_STATUS", task_status, RP_NEEDS_CORE),
	RP_WHY("dma-base", "TASK_DMA_BASE_ADDR", DRIVERS),
	RP_TRY_KIND("version-split", "VERSION and VERSION_NUM", version_split, RP_NEEDS_CORE),
	RP_WHY("slave-mode", "tasks without programs", DRIVERS),
	RP_WHY("group-turn", "a task for a group whose turn it is not",
	       "drivers set the groups before each job"),
	{ 0 }
};
