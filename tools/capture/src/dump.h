/* SPDX-License-Identifier: MIT */
/* Owns the reading of dumps that the driver leaves in /sys/class/devcoredump. */
#ifndef DUMP_H
#define DUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define DUMP_VERSION	1
#define DUMP_REGS	64
#define DUMP_PAGES	64
#define DUMP_JOBS	64
#define DUMP_COMMANDS	4096

struct dump_reg {
	char name[32];
	uint32_t value;
};

struct dump_page {
	uint64_t iova;
	uint64_t phys;		/* 0: not mapped */
};

struct dump_job {
	uint64_t number, elapsed_ns;
	uint32_t task, tasks;
	bool own;
	char cause[32];
};

struct dump {
	char kernel[64], driver[64], npu[64], time[32], cause[64];
	unsigned int core;
	int error, lost;
	bool has_fault, fault_write;
	uint64_t fault;
	bool has_job;
	uint64_t client, job, tag, elapsed_ns;
	int pid;
	char comm[32];
	uint32_t task, tasks;
	uint32_t kick_tasks, int_mask, dma_base;
	uint64_t program;
	uint32_t program_size, program_task;
	unsigned int nregs, npages, njobs;
	uint32_t ncommands;
	struct dump_reg reg[DUMP_REGS];
	struct dump_page page[DUMP_PAGES];
	struct dump_job past[DUMP_JOBS];
	uint64_t command[DUMP_COMMANDS];
};

/* NULL, or what is wrong with the file, of static memory. Lines of unknown kinds are skipped. */
const char *dump_read(struct dump *d, FILE *f);
/* In words; @program: the registers of the program, too. */
void dump_print(FILE *f, const struct dump *d, bool program);

#endif /* DUMP_H */
