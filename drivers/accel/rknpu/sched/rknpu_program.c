// SPDX-License-Identifier: GPL-2.0-only
/* Owns the check of programs where no IOMMU does it: addresses must be in BOs of the caller. */
#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include <drm/drm_print.h>

#include "hw/rknpu_hw.h"
#include "hw/rknpu_regs.h"
#include "mem/rknpu_vm.h"
#include "rknpu_job.h"
#include "rknpu_program.h"

/**
 * DOC: what the check of programs can tell
 *
 * A register that holds an address must point into a BO of the caller. How much is
 * accessed from there on follows from other registers. It is computed, and must be
 * in the same BO, for the DPU's and the PPU's output, for feature data and for
 * weights that are not compressed. Of operands that DPU_RDMA and PPU_RDMA fetch, and
 * of output in the DPU's unaligned mode, only the first byte is checked.
 *
 * A program that does not write a register gets what an earlier one left there, which
 * was checked then, or 0 after a reset. So one that uses an address must write it.
 */

/* Commands that are read at a time. */
#define RKNPU_PROGRAM_CHUNK	64u

/* What the blocks' memory is made of, as the TRM has it. */
#define RKNPU_ATOM		16

/* Registers with addresses come first. */
enum rknpu_program_reg {
	RKNPU_REG_FEATURE,
	RKNPU_REG_WEIGHTS,
	RKNPU_REG_DST,
	RKNPU_REG_SRC,
	RKNPU_REG_BS,
	RKNPU_REG_BN,
	RKNPU_REG_EW,
	RKNPU_REG_PPU_DST,
	RKNPU_REG_PPU_SRC,
	RKNPU_REG_ADDRESSES,

	RKNPU_REG_CONV_CON1 = RKNPU_REG_ADDRESSES,
	RKNPU_REG_DATA_SIZE0,
	RKNPU_REG_DATA_SIZE1,
	RKNPU_REG_WEIGHT_SIZE0,
	RKNPU_REG_CBUF_CON0,
	RKNPU_REG_DMA_CON1,
	RKNPU_REG_DMA_CON2,
	RKNPU_REG_FC_DATA_SIZE0,
	RKNPU_REG_DCOMP_CTRL,
	RKNPU_REG_DPU_MODE,
	RKNPU_REG_DPU_FORMAT,
	RKNPU_REG_DST_STRIDE,
	RKNPU_REG_DPU_NOTCH,
	RKNPU_REG_BS_OW_CFG,
	RKNPU_REG_WDMA_SIZE_0,
	RKNPU_REG_WDMA_SIZE_1,
	RKNPU_REG_SURFACE_ADD,
	RKNPU_REG_BRDMA_CFG,
	RKNPU_REG_NRDMA_CFG,
	RKNPU_REG_ERDMA_CFG,
	RKNPU_REG_RDMA_MODE,
	RKNPU_REG_PPU_WIDTH,
	RKNPU_REG_PPU_HEIGHT,
	RKNPU_REG_PPU_CHANNEL,
	RKNPU_REG_PPU_MODE,
	RKNPU_REG_PPU_STRIDE,
	RKNPU_REG_PPU_FORMAT,
	RKNPU_REG_COUNT
};

/* Names of the TRM, part 1, chapter 36. */
static const char * const rknpu_program_names[RKNPU_REG_ADDRESSES] = {
	[RKNPU_REG_FEATURE] = "CNA.FEATURE_DATA_ADDR",
	[RKNPU_REG_WEIGHTS] = "CNA.DCOMP_ADDR0",
	[RKNPU_REG_DST] = "DPU.DST_BASE_ADDR",
	[RKNPU_REG_SRC] = "DPU_RDMA.SRC_BASE_ADDR",
	[RKNPU_REG_BS] = "DPU_RDMA.BS_BASE_ADDR",
	[RKNPU_REG_BN] = "DPU_RDMA.BN_BASE_ADDR",
	[RKNPU_REG_EW] = "DPU_RDMA.EW_BASE_ADDR",
	[RKNPU_REG_PPU_DST] = "PPU.DST_BASE_ADDR",
	[RKNPU_REG_PPU_SRC] = "PPU_RDMA.SRC_BASE_ADDR",
};

/* By the offset in the core; RKNPU_REG_COUNT for those that say nothing about addresses. */
static enum rknpu_program_reg rknpu_program_find(u16 offset)
{
	switch (offset) {
	case 0x1070: /* CNA.FEATURE_DATA_ADDR */
		return RKNPU_REG_FEATURE;
	case 0x1110: /* CNA.DCOMP_ADDR0 */
		return RKNPU_REG_WEIGHTS;
	case 0x4020: /* DPU.DST_BASE_ADDR */
		return RKNPU_REG_DST;
	case 0x5018: /* DPU_RDMA.SRC_BASE_ADDR */
		return RKNPU_REG_SRC;
	case 0x5020: /* DPU_RDMA.BS_BASE_ADDR */
		return RKNPU_REG_BS;
	case 0x502c: /* DPU_RDMA.BN_BASE_ADDR */
		return RKNPU_REG_BN;
	case 0x5038: /* DPU_RDMA.EW_BASE_ADDR */
		return RKNPU_REG_EW;
	case 0x6070: /* PPU.DST_BASE_ADDR */
		return RKNPU_REG_PPU_DST;
	case 0x701c: /* PPU_RDMA.SRC_BASE_ADDR */
		return RKNPU_REG_PPU_SRC;
	case 0x100c: /* CNA.CONV_CON1 */
		return RKNPU_REG_CONV_CON1;
	case 0x1020: /* CNA.DATA_SIZE0 */
		return RKNPU_REG_DATA_SIZE0;
	case 0x1024: /* CNA.DATA_SIZE1 */
		return RKNPU_REG_DATA_SIZE1;
	case 0x1030: /* CNA.WEIGHT_SIZE0 */
		return RKNPU_REG_WEIGHT_SIZE0;
	case 0x1040: /* CNA.CBUF_CON0 */
		return RKNPU_REG_CBUF_CON0;
	case 0x107c: /* CNA.DMA_CON1 */
		return RKNPU_REG_DMA_CON1;
	case 0x1080: /* CNA.DMA_CON2 */
		return RKNPU_REG_DMA_CON2;
	case 0x1084: /* CNA.FC_DATA_SIZE0 */
		return RKNPU_REG_FC_DATA_SIZE0;
	case 0x1100: /* CNA.DCOMP_CTRL */
		return RKNPU_REG_DCOMP_CTRL;
	case 0x400c: /* DPU.FEATURE_MODE_CFG */
		return RKNPU_REG_DPU_MODE;
	case 0x4010: /* DPU.DATA_FORMAT */
		return RKNPU_REG_DPU_FORMAT;
	case 0x4024: /* DPU.DST_SURF_STRIDE */
		return RKNPU_REG_DST_STRIDE;
	case 0x4038: /* DPU.DATA_CUBE_NOTCH_ADDR */
		return RKNPU_REG_DPU_NOTCH;
	case 0x4050: /* DPU.BS_OW_CFG */
		return RKNPU_REG_BS_OW_CFG;
	case 0x4058: /* DPU.WDMA_SIZE_0 */
		return RKNPU_REG_WDMA_SIZE_0;
	case 0x405c: /* DPU.WDMA_SIZE_1 */
		return RKNPU_REG_WDMA_SIZE_1;
	case 0x40c0: /* DPU.SURFACE_ADD */
		return RKNPU_REG_SURFACE_ADD;
	case 0x501c: /* DPU_RDMA.BRDMA_CFG */
		return RKNPU_REG_BRDMA_CFG;
	case 0x5028: /* DPU_RDMA.NRDMA_CFG */
		return RKNPU_REG_NRDMA_CFG;
	case 0x5034: /* DPU_RDMA.ERDMA_CFG */
		return RKNPU_REG_ERDMA_CFG;
	case 0x5044: /* DPU_RDMA.FEATURE_MODE_CFG */
		return RKNPU_REG_RDMA_MODE;
	case 0x6018: /* PPU.DATA_CUBE_OUT_WIDTH */
		return RKNPU_REG_PPU_WIDTH;
	case 0x601c: /* PPU.DATA_CUBE_OUT_HEIGHT */
		return RKNPU_REG_PPU_HEIGHT;
	case 0x6020: /* PPU.DATA_CUBE_OUT_CHANNEL */
		return RKNPU_REG_PPU_CHANNEL;
	case 0x6024: /* PPU.OPERATION_MODE_CFG */
		return RKNPU_REG_PPU_MODE;
	case 0x607c: /* PPU.DST_SURF_STRIDE */
		return RKNPU_REG_PPU_STRIDE;
	case 0x6084: /* PPU.DATA_FORMAT */
		return RKNPU_REG_PPU_FORMAT;
	default:
		return RKNPU_REG_COUNT;
	}
}

#define RKNPU_CONV_CON1_IN_PRECISION	GENMASK(6, 4)
#define RKNPU_CONV_CON1_ARGB_IN		GENMASK(15, 12)
#define RKNPU_CONV_CON1_GROUP_LINE_OFF	BIT(29)
#define RKNPU_DATA_SIZE0_WIDTH		GENMASK(26, 16)
#define RKNPU_DATA_SIZE0_HEIGHT		GENMASK(10, 0)
#define RKNPU_DATA_SIZE1_CHANNEL	GENMASK(15, 0)
#define RKNPU_CBUF_CON0_DATA_REUSE	BIT(12)
#define RKNPU_CBUF_CON0_WEIGHT_REUSE	BIT(13)
#define RKNPU_DMA_CON1_LINE_STRIDE	GENMASK(27, 0)
#define RKNPU_DMA_CON2_SIGN		27
#define RKNPU_FC_DATA_SIZE0_DMA_WIDTH	GENMASK(29, 16)
#define RKNPU_DPU_MODE_TO_MEMORY	BIT(2)
#define RKNPU_DPU_MODE_NONALIGN		BIT(25)
#define RKNPU_DPU_FORMAT_OUT_PRECISION	GENMASK(31, 29)
#define RKNPU_DPU_NOTCH_0		GENMASK(12, 0)
#define RKNPU_BS_OW_CFG_SIZE_E		GENMASK(4, 2)
#define RKNPU_WDMA_SIZE_0_CHANNEL	GENMASK(12, 0)
#define RKNPU_WDMA_SIZE_1_HEIGHT	GENMASK(28, 16)
#define RKNPU_WDMA_SIZE_1_WIDTH		GENMASK(12, 0)
#define RKNPU_RDMA_DATA_USE		GENMASK(4, 1)
/* Of BRDMA and NRDMA reserved in the TRM, measured. */
#define RKNPU_RDMA_DISABLE		BIT(0)
#define RKNPU_RDMA_MODE_MRDMA_DISABLE	BIT(4)
#define RKNPU_PPU_CUBE_SIZE		GENMASK(12, 0)
#define RKNPU_PPU_MODE_NOTCH		GENMASK(28, 16)
#define RKNPU_PPU_FORMAT_PRECISION	GENMASK(2, 0)
#define RKNPU_STRIDE			GENMASK(31, 4)

/* In an op-enable command, and in this order from block 1, the CNA, on. */
#define RKNPU_ENABLE_CNA		BIT(0)
#define RKNPU_ENABLE_DPU		BIT(3)
#define RKNPU_ENABLE_DPU_RDMA		BIT(4)
#define RKNPU_ENABLE_PPU		BIT(5)
#define RKNPU_ENABLE_PPU_RDMA		BIT(6)
#define RKNPU_ENABLE_BLOCK(reg)		BIT(((reg) >> 12) - 1)

#define RKNPU_CMD_TARGET_NOP0		0x0000
#define RKNPU_CMD_TARGET_NOP1		0x0001
#define RKNPU_CMD_TARGET_MARKER		0x0041
#define RKNPU_CMD_TARGET_ENABLE		0x0081
#define RKNPU_CMD_TARGET_BLOCK(reg)	((0x100U << ((reg) >> 12)) | 1)
#define RKNPU_CMD_REG_BLOCK		GENMASK(15, 12)
#define RKNPU_CMD_REG_IN_BLOCK		GENMASK(11, 0)
#define RKNPU_BLOCK_OPERATION_ENABLE	0x08

/* Of each precision, by its code. */
static const u8 rknpu_precision_bits[] = { 8, 16, 16, 16, 32, 32, 4, 32 };

/**
 * struct rknpu_program - a program being checked
 */
struct rknpu_program {
	/** @job: whose it is */
	const struct rknpu_job *job;
	/** @look: into the job's VM */
	struct rknpu_vm_look look;
	/** @task: its number */
	u32 task;
	/** @addr: IOVA of the next command */
	u32 addr;
	/** @left: commands from there on */
	u32 left;
	/** @next: IOVA of the program that follows in a chain */
	u32 next;
	/** @next_amounts: its REGISTER_AMOUNTS; 0: none does */
	u32 next_amounts;
	/** @regs: values; 0 of what the program does not write */
	u32 regs[RKNPU_REG_COUNT];
};

/**
 * struct rknpu_program_span - what is accessed, relative to an address
 */
struct rknpu_program_span {
	/** @first: first byte */
	s64 first;
	/** @size: bytes from there on; 0: none */
	u64 size;
};

static int rknpu_program_refuse(const struct rknpu_program *p, const char *name, s64 start,
				u64 size)
{
	drm_dbg_ratelimited(p->job->client->sched->hw->drm,
			    "submit: task %u: %s: %llu bytes at %#llx are not in a BO of the caller\n",
			    p->task, name, size, start);
	return -EFAULT;
}

static int rknpu_program_look(struct rknpu_program *p, const char *name, s64 start, u64 size)
{
	if (start >= 0 && rknpu_vm_look_at(&p->look, start, size))
		return 0;
	return rknpu_program_refuse(p, name, start, size);
}

/* Hardware adds the base to what a program says, and both are of 32 bits. */
static u32 rknpu_program_address(const struct rknpu_program *p, enum rknpu_program_reg reg)
{
	return p->regs[reg] + (p->job->dma_base & RKNPU_STRIDE);
}

static int rknpu_program_check_span(struct rknpu_program *p, enum rknpu_program_reg reg,
				    const struct rknpu_program_span *span)
{
	return rknpu_program_look(p, rknpu_program_names[reg],
				  rknpu_program_address(p, reg) + span->first, span->size);
}

/* Of what is known to be used, but not how much. */
static int rknpu_program_check_used(struct rknpu_program *p, enum rknpu_program_reg reg)
{
	const struct rknpu_program_span one = { .size = 1 };

	return rknpu_program_check_span(p, reg, &one);
}

/*
 * Lines come in groups of four or of one; of the groups each has its stride, and of
 * the lines in them.
 */
static s64 rknpu_program_last_line(u32 lines, u32 group, u32 group_stride, u32 line_stride)
{
	u32 last = (lines - 1) / group;
	s64 end = (s64)last * group_stride + (s64)((lines - 1) % group) * line_stride;
	s64 before = last ? (s64)(last - 1) * group_stride + (s64)(group - 1) * line_stride : 0;

	return max(end, before);
}

/* In positions, of an atom or of a packed pixel; surfaces may overlap, or go backwards. */
static void rknpu_program_feature(const struct rknpu_program *p, struct rknpu_program_span *span)
{
	u32 con1 = p->regs[RKNPU_REG_CONV_CON1];
	u32 bits = rknpu_precision_bits[FIELD_GET(RKNPU_CONV_CON1_IN_PRECISION, con1)];
	u32 argb = FIELD_GET(RKNPU_CONV_CON1_ARGB_IN, con1);
	u32 group = con1 & RKNPU_CONV_CON1_GROUP_LINE_OFF ? 1 : 4;
	u32 height = FIELD_GET(RKNPU_DATA_SIZE0_HEIGHT, p->regs[RKNPU_REG_DATA_SIZE0]);
	u32 width = FIELD_GET(RKNPU_DATA_SIZE0_WIDTH, p->regs[RKNPU_REG_DATA_SIZE0]);
	u32 channel = FIELD_GET(RKNPU_DATA_SIZE1_CHANNEL, p->regs[RKNPU_REG_DATA_SIZE1]);
	u32 dma_width = FIELD_GET(RKNPU_FC_DATA_SIZE0_DMA_WIDTH, p->regs[RKNPU_REG_FC_DATA_SIZE0]);
	u32 stride = FIELD_GET(RKNPU_DMA_CON1_LINE_STRIDE, p->regs[RKNPU_REG_DMA_CON1]);
	u32 surfaces = max(DIV_ROUND_UP(channel * bits, 8 * RKNPU_ATOM), 1U);
	u32 unit = RKNPU_ATOM;
	s64 pitch, to;

	pitch = (s64)group * dma_width +
		sign_extend32(p->regs[RKNPU_REG_DMA_CON2], RKNPU_DMA_CON2_SIGN);
	/* Pixels of 1 to 4 channels. */
	if (argb & BIT(3)) {
		unit = max(((argb & 3) + 1) * bits / 8, 1U);
		surfaces = 1;
	}
	pitch *= surfaces - 1;
	to = max(pitch, 0LL) + max(width, 1U);
	to += rknpu_program_last_line(max(height, 1U), group, stride, dma_width);
	span->first = min(pitch, 0LL) * unit;
	span->size = to * unit - span->first;
}

static void rknpu_program_weights(const struct rknpu_program *p, struct rknpu_program_span *span)
{
	span->first = 0;
	span->size = 1;
	if (!p->regs[RKNPU_REG_DCOMP_CTRL])
		span->size = max(p->regs[RKNPU_REG_WEIGHT_SIZE0], 1U);
}

/* Where lines are of atoms: @notch of them are skipped behind each. */
static u64 rknpu_program_surface(u32 width, u32 height, u32 notch)
{
	return ((u64)(height - 1) * (width + notch) + width) * RKNPU_ATOM;
}

static u32 rknpu_program_surfaces(u32 channels, u32 bits)
{
	return DIV_ROUND_UP(channels * bits, 8 * RKNPU_ATOM);
}

/* Surfaces, too, come in groups. */
static void rknpu_program_output(const struct rknpu_program *p, struct rknpu_program_span *span)
{
	u32 size0 = p->regs[RKNPU_REG_WDMA_SIZE_0];
	u32 size1 = p->regs[RKNPU_REG_WDMA_SIZE_1];
	u32 group = FIELD_GET(RKNPU_BS_OW_CFG_SIZE_E, p->regs[RKNPU_REG_BS_OW_CFG]) + 1;
	u32 precision = FIELD_GET(RKNPU_DPU_FORMAT_OUT_PRECISION,
				  p->regs[RKNPU_REG_DPU_FORMAT]);
	u32 surfaces = rknpu_program_surfaces(FIELD_GET(RKNPU_WDMA_SIZE_0_CHANNEL, size0) + 1,
					      rknpu_precision_bits[precision]);

	span->first = 0;
	span->size = 1;
	if (p->regs[RKNPU_REG_DPU_MODE] & RKNPU_DPU_MODE_NONALIGN)
		return;
	span->size = rknpu_program_last_line(surfaces, group,
					     p->regs[RKNPU_REG_SURFACE_ADD] & RKNPU_STRIDE,
					     p->regs[RKNPU_REG_DST_STRIDE] & RKNPU_STRIDE);
	span->size += rknpu_program_surface(FIELD_GET(RKNPU_WDMA_SIZE_1_WIDTH, size1) + 1,
					    FIELD_GET(RKNPU_WDMA_SIZE_1_HEIGHT, size1) + 1,
					    FIELD_GET(RKNPU_DPU_NOTCH_0,
						      p->regs[RKNPU_REG_DPU_NOTCH]));
}

static void rknpu_program_pooled(const struct rknpu_program *p, struct rknpu_program_span *span)
{
	u32 width = FIELD_GET(RKNPU_PPU_CUBE_SIZE, p->regs[RKNPU_REG_PPU_WIDTH]) + 1;
	u32 height = FIELD_GET(RKNPU_PPU_CUBE_SIZE, p->regs[RKNPU_REG_PPU_HEIGHT]) + 1;
	u32 channels = FIELD_GET(RKNPU_PPU_CUBE_SIZE, p->regs[RKNPU_REG_PPU_CHANNEL]) + 1;
	u32 precision = FIELD_GET(RKNPU_PPU_FORMAT_PRECISION, p->regs[RKNPU_REG_PPU_FORMAT]);
	u32 surfaces = rknpu_program_surfaces(channels, rknpu_precision_bits[precision]);

	span->first = 0;
	span->size = (u64)(surfaces - 1) * (p->regs[RKNPU_REG_PPU_STRIDE] & RKNPU_STRIDE);
	span->size += rknpu_program_surface(width, height,
					    FIELD_GET(RKNPU_PPU_MODE_NOTCH,
						      p->regs[RKNPU_REG_PPU_MODE]));
}

static int rknpu_program_check_cna(struct rknpu_program *p)
{
	u32 con0 = p->regs[RKNPU_REG_CBUF_CON0];
	struct rknpu_program_span span;
	int ret = 0;

	if (!(con0 & RKNPU_CBUF_CON0_DATA_REUSE)) {
		rknpu_program_feature(p, &span);
		ret = rknpu_program_check_span(p, RKNPU_REG_FEATURE, &span);
	}
	if (!ret && !(con0 & RKNPU_CBUF_CON0_WEIGHT_REUSE)) {
		rknpu_program_weights(p, &span);
		ret = rknpu_program_check_span(p, RKNPU_REG_WEIGHTS, &span);
	}
	return ret;
}

static bool rknpu_program_fetches(u32 cfg)
{
	return !(cfg & RKNPU_RDMA_DISABLE) && (cfg & RKNPU_RDMA_DATA_USE);
}

static int rknpu_program_check_rdma(struct rknpu_program *p)
{
	int ret = 0;

	if (!(p->regs[RKNPU_REG_RDMA_MODE] & RKNPU_RDMA_MODE_MRDMA_DISABLE))
		ret = rknpu_program_check_used(p, RKNPU_REG_SRC);
	if (!ret && rknpu_program_fetches(p->regs[RKNPU_REG_BRDMA_CFG]))
		ret = rknpu_program_check_used(p, RKNPU_REG_BS);
	if (!ret && rknpu_program_fetches(p->regs[RKNPU_REG_NRDMA_CFG]))
		ret = rknpu_program_check_used(p, RKNPU_REG_BN);
	if (!ret && !(p->regs[RKNPU_REG_ERDMA_CFG] & RKNPU_RDMA_DISABLE))
		ret = rknpu_program_check_used(p, RKNPU_REG_EW);
	return ret;
}

static int rknpu_program_check_enabled(struct rknpu_program *p, u32 blocks)
{
	struct rknpu_program_span span;
	int ret = 0;

	if (blocks & RKNPU_ENABLE_CNA)
		ret = rknpu_program_check_cna(p);
	if (!ret && (blocks & RKNPU_ENABLE_DPU) &&
	    (p->regs[RKNPU_REG_DPU_MODE] & RKNPU_DPU_MODE_TO_MEMORY)) {
		rknpu_program_output(p, &span);
		ret = rknpu_program_check_span(p, RKNPU_REG_DST, &span);
	}
	if (!ret && (blocks & RKNPU_ENABLE_DPU_RDMA))
		ret = rknpu_program_check_rdma(p);
	if (!ret && (blocks & RKNPU_ENABLE_PPU)) {
		rknpu_program_pooled(p, &span);
		ret = rknpu_program_check_span(p, RKNPU_REG_PPU_DST, &span);
	}
	if (!ret && (blocks & RKNPU_ENABLE_PPU_RDMA))
		ret = rknpu_program_check_used(p, RKNPU_REG_PPU_SRC);
	return ret;
}

static int rknpu_program_write_pc(struct rknpu_program *p, u16 reg, u32 value)
{
	switch (reg) {
	case RKNPU_PC_BASE_ADDRESS:
		p->next = value & RKNPU_STRIDE;
		return 0;
	case RKNPU_PC_REGISTER_AMOUNTS:
		p->next_amounts = value & RKNPU_PC_REGISTER_AMOUNTS_MASK;
		return 0;
	case RKNPU_PC_TASK_DMA_BASE_ADDR:
		/* It would move all that is checked here. */
		return rknpu_program_refuse(p, "PC.TASK_DMA_BASE_ADDR", value, 1);
	default:
		return 0;
	}
}

static int rknpu_program_write(struct rknpu_program *p, u16 reg, u32 value)
{
	enum rknpu_program_reg i;

	if (!(reg & RKNPU_CMD_REG_BLOCK))
		return rknpu_program_write_pc(p, reg, value);
	if ((reg & RKNPU_CMD_REG_IN_BLOCK) == RKNPU_BLOCK_OPERATION_ENABLE)
		return value & 1 ? rknpu_program_check_enabled(p, RKNPU_ENABLE_BLOCK(reg)) : 0;
	i = rknpu_program_find(reg);
	if (i == RKNPU_REG_COUNT)
		return 0;
	p->regs[i] = value;
	/* Also of blocks that it does not enable: another one may. 0 means none. */
	return i < RKNPU_REG_ADDRESSES && value ? rknpu_program_check_used(p, i) : 0;
}

/* The register's number has the block's, and so has the target. Hardware may go by either. */
static int rknpu_program_command(struct rknpu_program *p, u64 command)
{
	u32 value = RKNPU_CMD_VALUE(command);
	u16 reg = RKNPU_CMD_REG(command);
	u16 target = RKNPU_CMD_TARGET(command);

	switch (target) {
	case RKNPU_CMD_TARGET_NOP0:
	case RKNPU_CMD_TARGET_NOP1:
	case RKNPU_CMD_TARGET_MARKER:
		return 0;
	case RKNPU_CMD_TARGET_ENABLE:
		/* What an odd number of commands is fetched with is not read any more. */
		if (p->left == 1)
			p->left = 0;
		return rknpu_program_check_enabled(p, value);
	}
	if (reg < 0x8000 && target == RKNPU_CMD_TARGET_BLOCK(reg))
		return rknpu_program_write(p, reg, value);
	drm_dbg_ratelimited(p->job->client->sched->hw->drm,
			    "submit: task %u: no block has register %#x and target %#x\n",
			    p->task, reg, target);
	return -EFAULT;
}

static int rknpu_program_read(struct rknpu_program *p)
{
	__le64 commands[RKNPU_PROGRAM_CHUNK];
	u32 i, n;
	int ret = 0;

	while (p->left && !ret) {
		n = min(p->left, RKNPU_PROGRAM_CHUNK);
		/* The memory is there, but another driver's. */
		if (rknpu_vm_look_read(&p->look, p->addr, commands, n * sizeof(*commands)) !=
		    n * sizeof(*commands))
			return rknpu_program_refuse(p, "program to be read", p->addr,
						    n * sizeof(*commands));
		for (i = 0; i < n && p->left && !ret; i++) {
			p->left--;
			ret = rknpu_program_command(p, le64_to_cpu(commands[i]));
		}
		p->addr += n * sizeof(*commands);
	}
	return ret;
}

static int rknpu_program_check_next(struct rknpu_program *p)
{
	if (!p->next && !p->next_amounts)
		return 0;
	return rknpu_program_look(p, "PC.BASE_ADDRESS", p->next,
				  (u64)(p->next_amounts + 1) * 2 * sizeof(u64));
}

/* The one at @addr, of which hardware fetches pairs of commands. */
static int rknpu_program_check_one(struct rknpu_program *p, u32 addr, u32 count)
{
	int ret;

	memset(p->regs, 0, sizeof(p->regs));
	p->next = 0;
	p->next_amounts = 0;
	p->addr = addr;
	p->left = round_up(count, 2);

	rknpu_vm_look_begin(&p->look, p->job->vm);
	ret = rknpu_program_look(p, "program", addr, (u64)p->left * sizeof(u64)) ?:
	      rknpu_program_read(p) ?:
	      rknpu_program_check_next(p);
	rknpu_vm_look_end(&p->look);
	return ret;
}

/* Those of a chain are found as hardware finds them: each names the next one. */
static int rknpu_program_check_kick(struct rknpu_program *p, const struct rknpu_task *task,
				    u32 tasks)
{
	u32 addr = task->regcmd;
	u32 count = task->regcmd_count;
	int ret = 0;

	while (tasks-- && !ret) {
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = rknpu_program_check_one(p, addr, count);
		p->task++;
		/* Then it ends early, and the job is late. */
		if (!p->next_amounts)
			break;
		addr = p->next;
		count = (p->next_amounts + 1) * 2;
		cond_resched();
	}
	return ret;
}

/*
 * Behind the last program of a quiet job hardware goes on with the one that it names:
 * that has to be the next job's first one, which is checked with that job.
 */
static int rknpu_program_check_follower(const struct rknpu_program *p)
{
	const struct rknpu_job *next = p->job->chained->job;
	const struct rknpu_task *task = rknpu_job_task(next, 0);

	/* Without one the chain ends early, and the next job is late. */
	if (!p->next_amounts ||
	    (p->next == task->regcmd &&
	     p->next_amounts + 1 == DIV_ROUND_UP(task->regcmd_count, 2)))
		return 0;
	drm_dbg_ratelimited(next->client->sched->hw->drm,
			    "submit: PC.BASE_ADDRESS %#x of a quiet job is not the next job's program\n",
			    p->next);
	return -EFAULT;
}

static int rknpu_program_check_job(const struct rknpu_job *job)
{
	u32 tasks, step = job->batched ? RKNPU_PC_TASK_CON_TASK_NUMBER_MAX : 1;
	struct rknpu_program p = { .job = job };
	u32 first;
	int ret = 0;

	for (first = 0; first < job->task_count && !ret; first += step) {
		tasks = min(job->task_count - first, step);
		p.task = first;
		ret = rknpu_program_check_kick(&p, rknpu_job_task(job, first), tasks);
	}
	if (!ret && job->chained)
		ret = rknpu_program_check_follower(&p);
	return ret;
}

int rknpu_program_check(struct rknpu_job **jobs, u32 count)
{
	u32 i;
	int ret = 0;

	for (i = 0; i < count && !ret && jobs[i]->vm->domain.hw->no_iommu; i++)
		ret = rknpu_program_check_job(jobs[i]);
	return ret;
}
