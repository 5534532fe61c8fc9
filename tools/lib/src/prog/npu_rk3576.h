/* SPDX-License-Identifier: MIT */
/*
 * Names registers and fields of the RK3576 for its programs, as npu_regs.h does those of the RK3588.
 */
#ifndef NPU_RK3576_H
#define NPU_RK3576_H

#include "npu_task.h"

enum npu_reg76_id {
#define NPU_REG(block, reg, offset)	NPU_R76_##block##_##reg,
#include "npu/rk3576_regs.h"
	NPU_R76_COUNT
};

enum npu_field76_id {
#define NPU_FIELD(block, reg, field, lsb, width, kind)	NPU_F76_##block##_##reg##_##field,
#include "npu/rk3576_regs.h"
	NPU_F76_COUNT
};

enum {
#define NPU_SIZE(name, value)		NPU_SIZE76_##name = (value),
#define NPU_CODE(set, name, value)	NPU_CODE76_##set##_##name = (value),
#define NPU_REG(block, reg, offset)	NPU_OFF76_##block##_##reg = (offset),
#include "npu/rk3576_regs.h"
};

/* npu_conv_prog_rk3576.c */
int npu_prog_conv_rk3576(struct npu_prog *p, const struct npu_conv_task *t,
			 const struct npu_table *table, bool upload);

/* The same with the LUT, of a function that is in it. */
int npu_prog_conv_map_rk3576(struct npu_prog *p, const struct npu_conv_task *t, const int8_t *map);
/* Clamps have no switch of their own: open ones let everything pass. */
void npu_prog_open_clamps76(struct npu_prog *p);

/* npu_map_prog_rk3576.c: stage EW and OUT_CVT, whatever was there before */
void npu_prog_set_map76(struct npu_prog *p, const int8_t *map);

/* Of npu_bytes_prog.c. */
int npu_prog_load_map_rk3576(struct npu_prog *p, const int8_t *map, uint64_t from_iova, uint64_t to_iova);

/* The same for a function of halves; and a task that loads it, and copies an atom. */
void npu_prog_set_table76(struct npu_prog *p, const struct npu_table *t, uint64_t record_iova);
int npu_prog_load_table76(struct npu_prog *p, const struct npu_table *t, uint64_t from_iova, uint64_t to_iova);

/* npu_fly_prog_rk3576.c: one atom; stage and begin such a program, whose registers follow */
int npu_prog_copy_rk3576(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova);
void npu_prog_begin_copy76(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova);

/* Of npu_bytes_prog.c. */
int npu_prog_mul_rk3576(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_product *how,
			uint64_t record_iova);

/* npu_pool_prog_rk3576.c */
int npu_prog_pool_rk3576(struct npu_prog *p, const struct npu_pool_task *t);

#define SET76(p, f, v)	npu_prog_field(p, (enum npu_field_id)NPU_F76_##f, v)

/* Appends registers in the order of the table. */
static inline void npu_prog_emit76(struct npu_prog *p, enum npu_reg76_id first, enum npu_reg76_id last)
{
	for (int r = first; r <= (int)last; r++)
		npu_prog_emit(p, (enum npu_reg_id)r);
}

/* S_POINTER: both groups of registers take turns, as on the RK3588. */
#define NPU_POINTERS76	0xe
/* All of them back to the first group, which compilers have in programs that use the LUT. */
#define NPU_POINTERS76_LUT	0x30

#endif /* NPU_RK3576_H */
