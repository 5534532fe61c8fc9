// SPDX-License-Identifier: MIT
/*
 * Functions by the LUT: the codes of those of bytes, and for the RK3576, whose LUT takes what BS or BN makes of
 * sums, the program that loads it, and what a convolution needs that uses it.
 *
 * Tables are loaded by a task of the DPU alone, which copies an atom, and index 0 is where they meet,
 * all as Rockchip's compilers have it for this chip. They also have BN scale what is looked up. With bytes
 * gregordinary leaves BN off, as it is here, and found on boards that only then all of the tables is used. Halves
 * are as in Rockchip's programs: BN adds a number and multiplies by another one, and OUT_CVT makes a number of a code.
 */
#include <assert.h>
#include <errno.h>

#include "npu_rk3576.h"

#define STEPS		NPU_MAP_STEPS
#define EDGE		(STEPS * NPU_MAP_STEP)
#define STEP_SHIFT	5
#define TABLE_WRITE	1

#define EW_LUT		0x01004140
#define LUT_USE		0x02000006
#define LUT_LOAD	0x00ff0000
#define BN_SCALES	0x20
/* What BN has for all channels: an addend, a factor, shifts. */
#define NRDMA_SCALES	0x1a
#define ERDMA_OFF	0x41
/* Codes of halves are scaled by 1. */
#define CODE_SHIFT	14

#define SET		SET76

static_assert(NPU_MAP_STEP == 1 << STEP_SHIFT, "a step of a byte is one of the tables");

static int check(struct npu_prog *p)
{
	const struct npu_chip *chip = npu_prog_chip(p);

	if (!npu_prog_error(p) && chip->encoding != NPU_ENCODING_RK3576)
		npu_prog_fail(p, -EOPNOTSUPP, "no programs for functions of bytes on the %s", chip->name);
	return npu_prog_error(p);
}

/* At a step of the tables, which are longer than there are bytes: the ends go on. */
int32_t npu_map_code(const int8_t *map, int32_t step)
{
	int32_t x = step < INT8_MIN ? INT8_MIN : step > INT8_MAX ? INT8_MAX : step;

	return map[x - INT8_MIN] + NPU_MAP_BASE;
}

/* ---- the program that loads ---- */

/* Of a function, at a step of the tables. */
typedef int32_t (*code_fn)(const void *of, int32_t step);

static void emit_table(struct npu_prog *p, code_fn code, const void *of, uint32_t id)
{
	int32_t first = id ? 0 : -STEPS;

	SET(p, DPU_LUT_ACCESS_CFG_ACCESS_TYPE, TABLE_WRITE);
	SET(p, DPU_LUT_ACCESS_CFG_TABLE_ID, id);
	npu_prog_emit76(p, NPU_R76_DPU_LUT_ACCESS_CFG, NPU_R76_DPU_LUT_ACCESS_CFG);
	for (int32_t i = 0; i <= STEPS; i++) {
		SET(p, DPU_LUT_ACCESS_DATA_VALUE, code(of, first + i));
		npu_prog_emit76(p, NPU_R76_DPU_LUT_ACCESS_DATA, NPU_R76_DPU_LUT_ACCESS_DATA);
	}
}

static int load(struct npu_prog *p, code_fn code, const void *of, uint64_t from_iova, uint64_t to_iova)
{
	if ((from_iova | to_iova) % 16)
		return npu_prog_fail(p, -EINVAL, "an address is not a multiple of 16");
	npu_prog_begin_copy76(p, from_iova, to_iova);
	/* An access that reads, which changes nothing, comes first. */
	SET(p, DPU_LUT_CFG_VALUE, LUT_LOAD);
	npu_prog_emit76(p, NPU_R76_DPU_FEATURE_MODE, NPU_R76_DPU_LUT_ABOVE_1);
	npu_prog_emit76(p, NPU_R76_RDMA_CUBE_WIDTH, NPU_R76_RDMA_EW_SURF_NOTCH);
	emit_table(p, code, of, 0);
	emit_table(p, code, of, 1);
	return npu_prog_finish(p, NPU_EN_DPU | NPU_EN_DPU_RDMA);
}

static int32_t code_of_map(const void *of, int32_t step)
{
	return npu_map_code(of, step);
}

int npu_prog_load_map_rk3576(struct npu_prog *p, const int8_t *map, uint64_t from_iova, uint64_t to_iova)
{
	return load(p, code_of_map, map, from_iova, to_iova);
}

/* ---- programs that use it ---- */

/* Every value is there as two halves of a register, and alone in the upper half of another one. */
static int64_t twice(int32_t value)
{
	return (int64_t)value << 16 | value;
}

static void set_bounds(struct npu_prog *p)
{
	SET(p, DPU_LUT_START_0_VALUE, -EDGE);
	SET(p, DPU_LUT_START_1_VALUE, -EDGE);
	SET(p, DPU_LUT_START_2_VALUE, -EDGE);
	SET(p, DPU_LUT_START_3_VALUE, -EDGE);
	SET(p, DPU_LUT_END_0_VALUE, EDGE);
	SET(p, DPU_LUT_END_1_VALUE, EDGE);
	SET(p, DPU_LUT_END_2_VALUE, EDGE);
	SET(p, DPU_LUT_END_3_VALUE, EDGE);
}

/* Of both tables; beyond them it goes on as it is at their ends. */
static void set_lut(struct npu_prog *p, int32_t first, int32_t last)
{
	SET(p, DPU_EW_CFG_VALUE, EW_LUT);
	SET(p, DPU_LUT_CFG_VALUE, LUT_USE);
	SET(p, DPU_LUT_INFO_LE_INDEX_SELECT, STEP_SHIFT);
	SET(p, DPU_LUT_INFO_LO_INDEX_SELECT, STEP_SHIFT);
	set_bounds(p);
	SET(p, DPU_LUT_BELOW_0_VALUE, (int64_t)first << 16);
	SET(p, DPU_LUT_BELOW_1_VALUE, twice(first));
	SET(p, DPU_LUT_ABOVE_0_VALUE, (int64_t)last << 16);
	SET(p, DPU_LUT_ABOVE_1_VALUE, twice(last));
}

void npu_prog_set_map76(struct npu_prog *p, const int8_t *map)
{
	set_lut(p, npu_map_code(map, -STEPS), npu_map_code(map, STEPS));
	SET(p, DPU_OUT_CVT_OFFSET_VALUE, -NPU_MAP_BASE);
	SET(p, DPU_OUT_CVT_SCALE_SCALE, 1);
	SET(p, DPU_OUT_CVT_SHIFT_SHIFT, 0);
}

int npu_prog_map(struct npu_prog *p, const struct npu_conv_task *t, const int8_t *map)
{
	return check(p) ? npu_prog_error(p) : npu_prog_conv_map_rk3576(p, t, map);
}

/* ---- of halves ---- */

static int32_t code_of_table(const void *of, int32_t step)
{
	return npu_table_code(of, step);
}

int npu_prog_load_table76(struct npu_prog *p, const struct npu_table *t, uint64_t from_iova, uint64_t to_iova)
{
	return load(p, code_of_table, t, from_iova, to_iova);
}

void npu_prog_set_table76(struct npu_prog *p, const struct npu_table *t, uint64_t record_iova)
{
	SET(p, DPU_BN_CFG_VALUE, BN_SCALES);
	set_lut(p, npu_table_code(t, -STEPS), npu_table_code(t, STEPS));
	SET(p, DPU_OUT_CVT_OFFSET_VALUE, npu_table_offset(t));
	SET(p, DPU_OUT_CVT_SCALE_SCALE, 1 << CODE_SHIFT);
	SET(p, DPU_OUT_CVT_SHIFT_SHIFT, CODE_SHIFT);
	SET(p, DPU_OUT_CVT_SHIFT_MINUS_EXP, npu_table_bits(t));
	SET(p, RDMA_NRDMA_CFG_VALUE, NRDMA_SCALES);
	SET(p, RDMA_BN_WORD_ADDR_IOVA, (int64_t)record_iova);
	SET(p, RDMA_ERDMA_CFG_VALUE, ERDMA_OFF);
}
