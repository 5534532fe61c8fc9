// SPDX-License-Identifier: MIT
/*
 * Register programs of the DPU of an RK3566 or RK3568 alone, of bytes: copies of an atom; and what
 * convolutions have of them.
 *
 * Registers, and the forms of the stages, are those of Rockchip's compilers for these chips.
 */
#include <errno.h>

#include "npu_rk3568.h"

#define DPU_BURST	4
/* Others hang the bus (iav: 7). */
#define RDMA_BURST	8

#define SET(p, f, v)	npu_prog_field(p, NPU_F_##f, v)

void npu_prog_set_modes68(struct npu_prog *p, bool flying, bool depthwise)
{
	npu_prog_clear_register(p, NPU_R_DPU_FEATURE_MODE_CFG);
	SET68(p, DPU_FEATURE_MODE_CFG_FLYING_MODE, flying);
	SET68(p, DPU_FEATURE_MODE_CFG_OUTPUT_MODE, NPU_CODE_OUTPUT_TO_MEMORY);
	SET68(p, DPU_FEATURE_MODE_CFG_CONV_MODE, depthwise ? NPU_CODE_MODE_DEPTHWISE : NPU_CODE_MODE_DIRECT);
	SET68(p, DPU_FEATURE_MODE_CFG_BURST_LEN, DPU_BURST);
	SET(p, RDMA_FEATURE_MODE_CFG_BURST_LEN, RDMA_BURST);
	SET(p, RDMA_FEATURE_MODE_CFG_MRDMA_DISABLE, 0);
	SET68(p, RDMA_NRDMA_CFG_DISABLE, 1);
}

void npu_prog_emit_rdma68(struct npu_prog *p)
{
	npu_prog_emit_rdma(p);
	EMIT68(p, RDMA_BS_LENGTH);
	EMIT68(p, RDMA_BN_LENGTH);
	EMIT68(p, RDMA_EW_SURF_END);
}

static int check(struct npu_prog *p, const struct npu_ew_task *t, const char *what)
{
	const struct npu_chip *chip = npu_prog_chip(p);

	if (npu_prog_error(p))
		return npu_prog_error(p);
	if (chip->encoding != NPU_ENCODING_RK3568)
		return npu_prog_fail(p, -EOPNOTSUPP, "no programs for %s on the %s", what, chip->name);
	if ((t->a.iova | t->b.iova | t->y.iova) % chip->atom)
		return npu_prog_fail(p, -EINVAL, "an address is not a multiple of %u", chip->atom);
	return 0;
}

/* No operands but the main one. */
static void stage(struct npu_prog *p, const struct npu_ew_task *t)
{
	npu_prog_stage_fly(p, t);
	npu_prog_set_modes68(p, true, false);
	SET(p, RDMA_BRDMA_CFG_DISABLE, 1);
	SET(p, RDMA_ERDMA_CFG_DISABLE, 1);
}

static void emit(struct npu_prog *p, uint32_t pointers)
{
	npu_prog_raw(p, NPU_TGT_DPU, NPU_OFF_DPU_S_POINTER, pointers);
	npu_prog_raw(p, NPU_TGT_RDMA, NPU_OFF_RDMA_S_POINTER, pointers);
	npu_prog_emit_dpu(p);
	npu_prog_emit_rdma68(p);
}

static int finish(struct npu_prog *p)
{
	return npu_prog_finish(p, NPU_EN_DPU | NPU_EN_DPU_RDMA);
}

static struct npu_ew_task atom_task(const struct npu_prog *p, uint64_t from, uint64_t to)
{
	return (struct npu_ew_task){
		.type = NPU_PREC_INT8, .rows = 1, .cols = npu_prog_chip(p)->atom,
		.a = { .iova = from, .pitch = 1 }, .y = { .iova = to, .pitch = 1 },
	};
}

int npu_prog_copy_atom(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova)
{
	struct npu_ew_task t = atom_task(p, from_iova, to_iova);

	if (check(p, &t, "copies of an atom"))
		return npu_prog_error(p);
	stage(p, &t);
	emit(p, NPU_POINTERS68);
	return finish(p);
}
