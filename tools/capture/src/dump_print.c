// SPDX-License-Identifier: MIT
/* Says in words what a dump of the driver has: who, what, registers, fields, what is known to hang. */
#include <string.h>

#include "cap.h"
#include "dump.h"
#include "npu_regs.h"

struct bits {
	const char *reg;
	const char *name;
	uint32_t mask;
	uint8_t lsb;
};

#define BITS(reg, name, field)	{ reg, name, NPU_MASK_##field, NPU_LSB_##field }

/* Registers that the CPU drives (TRM); those of Rockchip's MMUs as their driver uses them. */
static const struct bits bits[] = {
	BITS("PC.OPERATION_ENABLE", "OP_EN", PC_OPERATION_ENABLE_OP_EN),
	BITS("PC.BASE_ADDRESS", "PC_SEL", PC_BASE_ADDRESS_PC_SEL),
	BITS("PC.REGISTER_AMOUNTS", "AMOUNT", PC_REGISTER_AMOUNTS_AMOUNT),
	BITS("PC.TASK_CON", "TASK_NUMBER", PC_TASK_CON_TASK_NUMBER),
	BITS("PC.TASK_CON", "TASK_PP_EN", PC_TASK_CON_TASK_PP_EN),
	BITS("PC.TASK_STATUS", "COMPLETED", PC_TASK_STATUS_COUNT),
	BITS("PC.TASK_STATUS", "STATE", PC_TASK_STATUS_STATE),
	BITS(".S_POINTER", "POINTER", CNA_S_POINTER_POINTER),
	BITS(".S_POINTER", "POINTER_PP_EN", CNA_S_POINTER_POINTER_PP_EN),
	BITS(".S_POINTER", "EXECUTER_PP_EN", CNA_S_POINTER_EXECUTER_PP_EN),
	BITS(".S_POINTER", "POINTER_PP_MODE", CNA_S_POINTER_POINTER_PP_MODE),
	BITS(".S_POINTER", "EXECUTER", CNA_S_POINTER_EXECUTER),
	BITS(".S_POINTER", "CORE", CNA_S_POINTER_CORE),
};

struct flag {
	const char *reg;
	const char *name;
	uint32_t mask;
};

/* Of either group of registers. */
#define EVENT(name, event)	{ "PC.INTERRUPT", name, NPU_MASK_PC_INTERRUPT_MASK_##event##_0 | \
						NPU_MASK_PC_INTERRUPT_MASK_##event##_1 }

static const struct flag flags[] = {
	EVENT("CNA-feature", CNA_FEATURE),
	EVENT("CNA-weight", CNA_WEIGHT),
	EVENT("CNA-CSC", CNA_CSC),
	EVENT("CORE", CORE),
	EVENT("DPU", DPU),
	EVENT("PPU", PPU),
	{ "PC.INTERRUPT", "DMA-read-error", NPU_MASK_PC_INTERRUPT_MASK_DMA_READ_ERROR },
	{ "PC.INTERRUPT", "DMA-write-error", NPU_MASK_PC_INTERRUPT_MASK_DMA_WRITE_ERROR },
	{ ".S_STATUS", "group-0-runs", 1 << 0 },
	{ ".S_STATUS", "group-0-waits", 1 << 1 },
	{ ".S_STATUS", "group-1-runs", 1 << 16 },
	{ ".S_STATUS", "group-1-waits", 1 << 17 },
	{ "MMU0.STATUS", "paging", 1 << 0 },
	{ "MMU0.STATUS", "page-fault", 1 << 1 },
	{ "MMU1.STATUS", "paging", 1 << 0 },
	{ "MMU1.STATUS", "page-fault", 1 << 1 },
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* "rk3588 version 1179210309" */
static const struct npu_chip *chip_of(const struct dump *d)
{
	unsigned int soc;

	return sscanf(d->npu, "rk%u ", &soc) == 1 ? npu_chip_of_soc(soc) : NULL;
}

/* What the CPU drives, and what hangs, is known of this one. */
static bool is_rk3588(const struct dump *d)
{
	return chip_of(d) == &npu_rk3588;
}

/* TASK_CON and TASK_STATUS are not the same on all chips, as the others here are. */
static bool is_own(const struct dump_reg *r)
{
	return !strncmp(r->name, "PC.TASK_", 8);
}

static void print_reg(FILE *f, const struct dump_reg *r, bool known)
{
	fprintf(f, "  %-24s 0x%08x", r->name, r->value);
	for (size_t i = 0; i < COUNT(bits); i++) {
		if (strstr(r->name, bits[i].reg) && (known || !is_own(r)))
			fprintf(f, " %s=%u", bits[i].name,
				(r->value & bits[i].mask) >> bits[i].lsb);
	}
	for (size_t i = 0; i < COUNT(flags); i++) {
		if (strstr(r->name, flags[i].reg) && (r->value & flags[i].mask))
			fprintf(f, " %s", flags[i].name);
	}
	fputc('\n', f);
}

static void print_failure(FILE *f, const struct dump *d)
{
	if (d->has_job)
		fprintf(f, "core %u: task %u of %u: %s (%s)\n", d->core, d->task, d->tasks, d->cause,
			strerror(-d->error));
	else
		fprintf(f, "core %u: %s, with no job on it\n", d->core, d->cause);
	if (d->lost)
		fprintf(f, "the core is out of service until the device is bound again (%s)\n",
			strerror(-d->lost));
	if (d->has_job)
		fprintf(f, "job %llu of client %llu: %s, pid %d; it had the core for %llu.%03llu ms\n",
			(unsigned long long)d->job, (unsigned long long)d->client, d->comm, d->pid,
			(unsigned long long)d->elapsed_ns / 1000000,
			(unsigned long long)d->elapsed_ns / 1000 % 1000);
	if (d->tag)
		fprintf(f, "its tag is %#llx\n", (unsigned long long)d->tag);
	if (d->kick_tasks > 1)
		fprintf(f, "the task is one of a chain of %u that were started at once\n", d->kick_tasks);
	fprintf(f, "%s, module %s, kernel %s, %s s after boot\n", d->npu, d->driver, d->kernel, d->time);
}

static void print_pages(FILE *f, const struct dump *d)
{
	if (!d->has_fault)
		return;
	fprintf(f, "page fault: %s of 0x%08llx; the page table there:\n",
		d->fault_write ? "write" : "read", (unsigned long long)d->fault);
	for (unsigned int i = 0; i < d->npages; i++) {
		const struct dump_page *p = &d->page[i];

		fprintf(f, "  0x%08llx %s%s\n", (unsigned long long)p->iova,
			p->phys ? "mapped" : "not mapped",
			d->fault >= p->iova && d->fault - p->iova < 4096 ? "    <-- faulted" : "");
	}
}

static void print_past(FILE *f, const struct dump *d)
{
	fprintf(f, d->njobs ? "what the core did before:\n" : "the core had not done anything before\n");
	for (unsigned int i = 0; i < d->njobs; i++) {
		const struct dump_job *j = &d->past[i];

		fprintf(f, "  job %llu of %s client: %u of %u tasks, %llu us, %s\n",
			(unsigned long long)j->number, j->own ? "the same" : "another", j->task,
			j->tasks, (unsigned long long)j->elapsed_ns / 1000, j->cause);
	}
}

static void print_hangs(FILE *f, const struct cap_hangs *h)
{
	for (unsigned int i = 0; i < h->count; i++)
		fprintf(f, "known to hang: %s: %s\n", h->hang[i].field, h->hang[i].why);
	if (!h->count)
		fprintf(f, "nothing in the program is known to hang\n");
}

/* A later one of a chain may rely on registers that earlier ones wrote. */
static bool is_whole(const struct dump *d)
{
	return d->ncommands == d->program_size && (d->kick_tasks < 2 || !d->program_task);
}

static void print_program(FILE *f, const struct dump *d, bool program)
{
	struct cap_hangs h = { .count = 0 };

	if (!d->program_size)
		return;
	fprintf(f, "program of task %u at 0x%08llx, %u commands%s\n", d->program_task,
		(unsigned long long)d->program, d->program_size,
		d->ncommands == d->program_size ? "" : d->ncommands ? ", cut" : ", not in the dump");
	if (!is_rk3588(d)) {
		fprintf(f, "it is no RK3588's program: what is known to hang is not looked for\n");
		if (program)
			cap_print_program(f, chip_of(d), "  ", d->command, d->ncommands);
		return;
	}
	if (is_whole(d)) {
		cap_find_hangs(&h, d->command, d->ncommands);
		print_hangs(f, &h);
	}
	if (program)
		cap_print_marked(f, "  ", d->command, d->ncommands, &h);
}

void dump_print(FILE *f, const struct dump *d, bool program)
{
	print_failure(f, d);
	print_pages(f, d);
	fprintf(f, d->nregs ? "registers before the reset:\n" : "registers could not be read\n");
	for (unsigned int i = 0; i < d->nregs; i++)
		print_reg(f, &d->reg[i], is_rk3588(d));
	print_past(f, d);
	print_program(f, d, program);
}
