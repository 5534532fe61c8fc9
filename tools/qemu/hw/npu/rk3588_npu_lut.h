/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look-up tables of the RK3588 NPU's DPU.  There is one RAM for both register
 * groups, and it keeps its contents from task to task.
 */
#ifndef HW_NPU_RK3588_NPU_LUT_H
#define HW_NPU_RK3588_NPU_LUT_H

#define NPU_LUT_ENTRIES         513

enum {
    NPU_LUT_LE,         /* negative inputs */
    NPU_LUT_LO,
    NPU_LUT_NUM,
};

typedef struct NpuLut {
    int16_t entry[NPU_LUT_NUM * NPU_LUT_ENTRIES];
    bool written[NPU_LUT_NUM * NPU_LUT_ENTRIES];
    bool writing;
    uint32_t table;
    uint32_t addr;      /* of the next access */
} NpuLut;

/* How a task uses the tables. */
typedef struct NpuLutUse {
    uint8_t shift[NPU_LUT_NUM];         /* log2 of the step */
    uint16_t slope[NPU_LUT_NUM];        /* beyond the outer end */
    uint8_t slope_shift[NPU_LUT_NUM];
    int16_t entry[NPU_LUT_NUM * NPU_LUT_ENTRIES];
} NpuLutUse;

/* Registers LUT_ACCESS_CFG and LUT_ACCESS_DATA are written. */
void npu_lut_access(NpuLut *lut, uint32_t cfg);
void npu_lut_data(NpuLut *lut, uint32_t data);

/* The value at @x, of which a step of a table has 2^shift units. */
int32_t npu_lut_value(const NpuLutUse *u, int32_t x);
/* To the nearest input of the tables. */
int32_t npu_lut_index(float x);

#endif
