/* SPDX-License-Identifier: MIT */
/*
 * What the files of npu-report share: register programs with the results that tell readings
 * of a statement apart, and the NPU that runs them.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "npu_regs.h"

/* Offsets of registers: OFF_DPU_OUT_CVT_SHIFT. */
enum {
#define NPU_REG(block, reg, offset)	OFF_##block##_##reg = (offset),
#include "npu/rk3588_regs.h"
};

/* Elements, by the code that every block uses; tf32 lies in memory as fp32. */
enum rp_type {
	RP_INT8 = NPU_CODE_PREC_INT8, RP_INT16 = NPU_CODE_PREC_INT16, RP_FP16 = NPU_CODE_PREC_FP16,
	RP_BF16 = NPU_CODE_PREC_BF16, RP_INT32 = NPU_CODE_PREC_INT32, RP_FP32 = NPU_CODE_PREC_FP32,
	RP_INT4 = NPU_CODE_PREC_INT4, RP_TF32 = NPU_CODE_PREC_TF32,
};

/* ---- the NPU ---- */

#define RP_MEM		0x80000u	/* bytes of operands, and of results */
#define RP_POISON	0xa5		/* what results hold before */
#define RP_ENTRIES	2048u
#define RP_TASKS	3u

struct rp_span {
	unsigned int first, count;	/* entries of a task, tail included */
	uint32_t enable;
	bool dpu_done;			/* wait for the DPU's interrupt, even if the PPU runs */
	uint32_t core_mask;		/* where it must run, 0 = anywhere */
	uint32_t meet;			/* cores 0 to this one wait behind it, 0 = none do */
};

struct rp_npu {
	uint8_t *in, *out;
	uint32_t in_iova, out_iova;
	uint32_t soc;			/* which chip it is */
	/*
	 * Runs tasks in order, in one job. 0, -ETIMEDOUT if one of them hung, or another
	 * negative errno, for which @message may say more.
	 */
	int (*run)(struct rp_npu *npu, const uint64_t *entry, const struct rp_span *task,
		   unsigned int tasks);
	/* Why a model refused the last task, or NULL. */
	const char *(*refusal)(struct rp_npu *npu);
	/* What a register of core 0 reads now; may be NULL. */
	int (*reg)(struct rp_npu *npu, const char *name, uint32_t *value);
};

/* ---- programs ---- */

enum rp_verdict { RP_NOT_RUN, RP_AS_MODELLED, RP_DIFFERS };

#define RP_VALUES	2048u
#define RP_TEXT		400u

struct trial;

/*
 * RP_REFUSED: the model refuses it, and thereby agrees with the statement. RP_NEEDS_CORE: it
 * leans on what tasks leave in a core, which arithmetic alone does not have.
 */
struct rp_program {
	const char *id;		/* as evidence.toml names it under report */
	const char *what;	/* the statement, in one line */
	void (*run)(struct trial *t);
	const char *why_not;	/* if there is no program: why */
	enum { RP_PLAIN, RP_REFUSED, RP_NEEDS_CORE } kind;
};

#define RP_TRY_KIND(id, what, fn, kind)	{ id, what, fn, NULL, kind }
#define RP_TRY(id, what, fn)		RP_TRY_KIND(id, what, fn, RP_PLAIN)
#define RP_WHY(id, what, why)		{ id, what, NULL, why, RP_PLAIN }

extern const struct rp_program rp_pc[], rp_cna[], rp_cbuf[], rp_core[], rp_dpu[], rp_lut[],
	rp_out[], rp_ppu[], rp_around[], rp_rk3576[], rp_rk3568[], rp_rk3562[];

/* Statements of one part. Another chip than @soc would take the registers of their programs for others. */
struct rp_chapter {
	const char *name;
	uint32_t soc;		/* 0 = there are no programs */
	const struct rp_program *programs;
};

/* Up to one without a name. */
extern const struct rp_chapter rp_chapters[];

struct trial {
	struct rp_npu *npu;
	uint64_t entry[RP_ENTRIES + 1];
	unsigned int n;			/* entries so far */
	struct rp_span task[RP_TASKS];
	unsigned int tasks;		/* closed ones */
	unsigned int first;		/* entry of the open one */
	bool dpu_done;			/* wait for the DPU, even if the PPU runs */
	uint32_t core_mask;		/* where it must run, 0 = anywhere */
	uint32_t meet;			/* which cores wait behind it, if another follows */
	uint32_t enable;		/* blocks of the open one, if libnpu has written it */
	uint32_t atom;			/* bytes of a position in a surface, 0 = 16 */
	int outcome;			/* of the last run */
	bool ran;
	/* What came out, as numbers, and how they lie in memory. */
	enum rp_type type;
	double got[RP_VALUES];
	unsigned int ngot;
	enum rp_verdict verdict;
	bool modelled;			/* the model's reading was named */
	bool known;			/* the result fits another reading */
	bool settled;			/* no later run changes the verdict */
	bool ambiguous;			/* another reading gives what the model does */
	char agreed[RP_TEXT];		/* readings of the model that fitted */
	char text[RP_TEXT];
};

/* Runs a program and judges it. */
void rp_try(struct trial *t, struct rp_npu *npu, const struct rp_program *p);

/* A write of a register; one of the open task that is there already is replaced. */
void rp_set(struct trial *t, uint32_t off, uint32_t value);
/* The same for some of its bits. */
void rp_bits(struct trial *t, uint32_t off, uint32_t mask, uint32_t value);
/* Always one more: for ports, and for what is not a plain write. */
void rp_entry(struct trial *t, uint32_t target, uint32_t off, uint32_t value);
void rp_write(struct trial *t, uint32_t off, uint32_t value);
/* Ends a task that enables these blocks. */
void rp_close(struct trial *t, uint32_t enable);
/* The same without the entry that makes the count even, and with a write behind the end. */
void rp_close_odd(struct trial *t, uint32_t enable, uint32_t off, uint32_t value);
/* Takes a register's write out. */
void rp_remove(struct trial *t, uint32_t off);
/* Runs the tasks that are closed. */
void rp_run_closed(struct trial *t);
/* Ends the last task and runs all. */
void rp_run(struct trial *t, uint32_t enable);
/* Empties it for another run. */
void rp_clear(struct trial *t);

/* ---- tensors: values by position, then by channel, whose bytes make atoms (trial::atom) ---- */

unsigned int rp_bytes(enum rp_type type);
void rp_put(struct trial *t, uint32_t at, enum rp_type type, double value);
void rp_cube(struct trial *t, uint32_t at, enum rp_type type, unsigned int positions,
	     unsigned int channels, const double *v);
/* Into trial::got; surfaces are @pitch bytes apart. */
void rp_result(struct trial *t, enum rp_type type, unsigned int positions, unsigned int channels,
	       uint32_t pitch);
/* One value of trial::got, from any place. */
void rp_read(struct trial *t, unsigned int i, enum rp_type type, uint32_t at);
/*
 * Some bits of a register of core 0, which has run what was run last, instead of a result. False: there is no
 * telling.
 */
bool rp_register(struct trial *t, const char *name, uint32_t mask);
/* A half's bits as a number. */
double rp_half(uint16_t bits);

/* ---- where operands lie in rp_npu::in ---- */

#define RP_X		0x00000u
#define RP_E		0x10000u
#define RP_BS		0x18000u
#define RP_BN		0x1a000u
#define RP_W		0x20000u

/* ---- programs to begin with ---- */

/* What a DPU's registers say of its task, whose other stages are bypassed. */
struct rp_dpu {
	uint32_t mode;			/* FEATURE_MODE_CFG */
	enum rp_type in, out;
	uint32_t w, h;
	uint32_t channels, written;
	uint32_t ow_cfg;		/* BS_OW_CFG */
	uint32_t pitch, add;		/* bytes from surface to surface, from group to group */
};

void rp_put_dpu(struct trial *t, const struct rp_dpu *d);

/*
 * A DPU on its own: @n values from RP_X to the result, by default unchanged. How many of them
 * share a position follows from the types.
 */
struct rp_fly {
	enum rp_type in, out;
	unsigned int n;
	unsigned int channels, positions;	/* filled in by rp_fly() */
};

void rp_fly(struct trial *t, struct rp_fly *f, const double *v);
/* Has the DPU copy so many surfaces of bytes, and ends the task. */
void rp_copy(struct trial *t, unsigned int positions, unsigned int surfaces);
/* Gives the main operand's partner of the same type to EW, by ERDMA: one value for each. */
void rp_fly_operand(struct trial *t, const struct rp_fly *f, const double *v);
/* Runs it and reads the result. */
void rp_fly_run(struct trial *t, const struct rp_fly *f);

/*
 * A convolution without strides, of @x by position and channel, and @w by kernel, tap and
 * channel. What is 0 becomes: taps 1, @stored @ic, the output's size the input's, @written
 * and @kernels @oc.
 */
struct rp_conv {
	enum rp_type in, out;
	bool depthwise;
	unsigned int h, w, ic;
	unsigned int oc, kernels, written, stored;
	unsigned int kh, kw, top, left, oh, ow;
};

void rp_conv(struct trial *t, struct rp_conv *c, const double *x, const double *w);
/* Runs it with DPU_RDMA idle beside it, and reads the result. */
void rp_conv_run(struct trial *t, const struct rp_conv *c);
/* The exact sum behind value @i of the result; @pad is what is outside of the input. */
double rp_conv_sum(const struct rp_conv *c, const double *x, const double *w, unsigned int i,
		   double pad);

/* ---- roundings of v / 2^shift ---- */

double rp_even(double v, int shift);
double rp_away(double v, int shift);
double rp_upwards(double v, int shift);

/* ---- readings: the model's first, then others that are known ---- */

void rp_model(struct trial *t, const char *reading, const double *v);
void rp_other_reading(struct trial *t, const char *reading, const double *v);
void rp_model_hangs(struct trial *t, const char *reading);
void rp_other_hangs(struct trial *t, const char *reading);
void rp_not_run(struct trial *t, const char *why);

#define RP_COUNT(a)	(sizeof(a) / sizeof((a)[0]))

#endif /* REPORT_H */
