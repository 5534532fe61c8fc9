/* SPDX-License-Identifier: MIT */
/*
 * Names registers and fields of the RK3566 and RK3568 that are not the RK3588's, and owns what makes
 * programs for them of the RK3588's.
 */
#ifndef NPU_RK3568_H
#define NPU_RK3568_H

#include "npu_task.h"

/* Behind the RK3588's, which are registers and fields of these chips as well. */
enum npu_reg68_id {
	NPU_R68_FIRST = NPU_R_COUNT - 1,
#define NPU_REG(block, reg, offset)	NPU_R68_##block##_##reg,
#include "npu/rk3568_regs.h"
	NPU_R68_COUNT
};

enum npu_field68_id {
	NPU_F68_FIRST = NPU_F_COUNT - 1,
#define NPU_FIELD(block, reg, field, lsb, width, kind)	NPU_F68_##block##_##reg##_##field,
#include "npu/rk3568_regs.h"
	NPU_F68_COUNT
};

enum {
#define NPU_SIZE(name, value)		NPU_SIZE68_##name = (value),
#define NPU_BLOCK(block, base, target)	NPU_TGT_##block = (target),
#define NPU_REG(block, reg, offset)	NPU_OFF68_##block##_##reg = (offset),
#include "npu/rk3568_regs.h"
};

/* npu_conv_prog_rk3568.c */
int npu_prog_conv_rk3568(struct npu_prog *p, const struct npu_conv_task *t,
			 const struct npu_table *table, bool upload);

/* npu_fly_prog_rk3568.c: stage the modes of the DPU and its RDMA; append the registers of the latter */
void npu_prog_set_modes68(struct npu_prog *p, bool flying, bool depthwise);
void npu_prog_emit_rdma68(struct npu_prog *p);
/* Of npu_bytes_prog.c. */
int npu_prog_copy_rk3568(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova);
int npu_prog_add_rk3568(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_sum *how);
int npu_prog_map_rk3568(struct npu_prog *p, const struct npu_ew_task *t);
/* Two tasks that load the LUT. */
int npu_prog_load_map_rk3568(struct npu_prog *p, const int8_t *map, uint64_t from_iova, uint64_t to_iova);

/* S_POINTER: both groups of registers take turns, as on the RK3588. */
#define NPU_POINTERS68	0xe

#define SET68(p, f, v)	npu_prog_field(p, (enum npu_field_id)NPU_F68_##f, v)
#define EMIT68(p, r)	npu_prog_emit(p, (enum npu_reg_id)NPU_R68_##r)

#endif /* NPU_RK3568_H */
