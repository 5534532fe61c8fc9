/* SPDX-License-Identifier: MIT */
/*
 * Asks the QEMU model of the NPU why a task hung, through its control device.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "chip/npu_chip.h"
#include "hw/misc/rk3588_npu_ctl_regs.h"

#define MODEL_CORES	3u

struct model {
	const struct npu_chip *chip;	/* NULL for one that libnpu has no programs for */
	const volatile uint32_t *regs;
	uint32_t cores;
	uint32_t seen[MODEL_CORES];	/* hangs that were there before, per core */
};

struct model_hang {
	const struct npu_chip *chip;
	uint32_t count, kind, enable;
	uint32_t n;
	uint64_t entry[NPU_CTL_HANG_ENTRIES];
	char text[NPU_CTL_HANG_TEXT_SIZE];
};

/* NULL, or in words why there is no answer to be had. */
const char *model_open(struct model *m);
void model_close(struct model *m);
/* What happened up to now is no news. */
void model_forget(struct model *m);
/* The first core from @core on that has news, or -1. */
int model_news(const struct model *m, unsigned int core);
/* False if no task of the core has hung. */
bool model_read(const struct model *m, unsigned int core, struct model_hang *h);
/* "the model cannot run it: ..." */
void model_print_why(FILE *f, const struct model_hang *h);
/* The registers of the task, decoded. */
void model_print_task(FILE *f, const char *indent, const struct model_hang *h);

#endif /* MODEL_H */
