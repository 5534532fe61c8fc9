/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look-up tables of the RK3588 NPU's DPU.  There is one RAM for both register
 * groups, and it keeps its contents from task to task.
 */
#ifndef HW_NPU_COMPUTE_LUT_H
#define HW_NPU_COMPUTE_LUT_H

#include "regs.h"

enum {
    NPU_LUT_LE,         /* negative inputs */
    NPU_LUT_LO,
};

typedef struct NpuLut {
    int16_t entry[NPU_LUT_TABLES * NPU_LUT_ENTRIES];
    bool written[NPU_LUT_TABLES * NPU_LUT_ENTRIES];
    bool writing;
    uint32_t table;
    uint32_t addr;      /* of the next access */
} NpuLut;

/* What a table covers; beyond its ends there are lines from these values on. */
typedef struct NpuLutRange {
    int32_t start, end;
    int32_t before, behind;
    uint8_t shift;          /* log2 of the step */
    int16_t under, over;    /* slopes */
    uint8_t under_shift, over_shift;
} NpuLutRange;

/* How a task uses the tables: which of them where both or neither cover it. */
typedef struct NpuLutUse {
    NpuLutRange range[NPU_LUT_TABLES];
    uint8_t both, below, above;
    int16_t entry[NPU_LUT_TABLES * NPU_LUT_ENTRIES];
} NpuLutUse;

/* Registers LUT_ACCESS_CFG and LUT_ACCESS_DATA are written. */
void npu_lut_access(NpuLut *lut, uint32_t cfg);
void npu_lut_data(NpuLut *lut, uint32_t data);
/* Loss of power. */
void npu_lut_drop(NpuLut *lut);

/*
 * How @regs use the tables; NULL, or why that cannot be computed.
 */
const char *npu_lut_decode(NpuLutUse *u, const uint32_t *regs,
                           const NpuLut *lut);

/* Elements become the values at them. */
void npu_lut_values(const NpuLutUse *u, int32_t *v, unsigned n);
/* To the nearest input of the tables. */
int32_t npu_lut_index(float x);

#endif
