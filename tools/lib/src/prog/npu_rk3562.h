/* SPDX-License-Identifier: MIT */
/*
 * Names registers and fields of the RK3562 that are not the RK3588's, and owns what makes programs for it of
 * the RK3588's.
 */
#ifndef NPU_RK3562_H
#define NPU_RK3562_H

#include "npu_rk3568.h"

/* Behind the RK3588's, in which programs are staged, and the RK3568's, whose pooling it has. */
enum npu_reg62_id {
	NPU_R62_FIRST = NPU_R68_COUNT - 1,
#define NPU_REG(block, reg, offset)	NPU_R62_##block##_##reg,
#include "npu/rk3562_regs.h"
	NPU_R62_COUNT
};

enum npu_field62_id {
	NPU_F62_FIRST = NPU_F68_COUNT - 1,
#define NPU_FIELD(block, reg, field, lsb, width, kind)	NPU_F62_##block##_##reg##_##field,
#include "npu/rk3562_regs.h"
	NPU_F62_COUNT
};

enum {
#define NPU_SIZE(name, value)		NPU_SIZE62_##name = (value),
#define NPU_CODE(set, name, value)	NPU_CODE62_##set##_##name = (value),
#define NPU_REG(block, reg, offset)	NPU_OFF62_##block##_##reg = (offset),
#include "npu/rk3562_regs.h"
};

/*
 * npu_regs_rk3562.c: of what is staged in the RK3588's registers, stage all that this chip has elsewhere or in
 * other units, and what its DPU has in all programs: stages that are off, clamps that are open.
 */
void npu_prog_move62(struct npu_prog *p);
/* A stage has this clamp from 0 on. */
void npu_prog_clamp_bn62(struct npu_prog *p);
void npu_prog_clamp_ew62(struct npu_prog *p);
/* Append S_POINTER of the blocks that are started; registers; what ends a program. */
void npu_prog_emit_pointers62(struct npu_prog *p, uint32_t enable, uint32_t pointers);
void npu_prog_emit62(struct npu_prog *p, uint32_t enable);
int npu_prog_finish62(struct npu_prog *p, uint32_t enable);
/* The two words that all programs end with, for a block that no task starts. */
void npu_prog_emit_tail62(struct npu_prog *p);

/* npu_conv_prog_rk3562.c */
int npu_prog_conv_rk3562(struct npu_prog *p, const struct npu_conv_task *t,
			 const struct npu_table *table, bool upload);

/* npu_fly_prog_rk3562.c: of npu_bytes_prog.c */
int npu_prog_copy_rk3562(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova);
int npu_prog_add_rk3562(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_sum *how);
int npu_prog_mul_rk3562(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_product *how,
			uint64_t record_iova);
/* One task that loads the LUT. */
int npu_prog_load_map_rk3562(struct npu_prog *p, const int8_t *map, uint64_t from_iova, uint64_t to_iova);
int npu_prog_map_rk3562(struct npu_prog *p, const struct npu_ew_task *t);

/* S_POINTER: both groups of registers take turns, as on the RK3588. */
#define NPU_POINTERS62		0xe

/* Forms of a stage, which are known as a whole. */
#define NPU_BS62_OFF		0x53
#define NPU_EW62_OFF		0x010041c1

#define SET62(p, f, v)	npu_prog_field(p, (enum npu_field_id)NPU_F62_##f, v)

#endif /* NPU_RK3562_H */
