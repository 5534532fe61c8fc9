/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The LUT of the RK3588 NPU's DPU: interpolation in two tables that meet at 0,
 * with a slope beyond their outer ends.
 *
 * Only the geometry that public activations were validated with is known: 512
 * steps of a power of two on either side.
 */
#include "qemu/osdep.h"
#include <math.h>
#include "qemu/bitops.h"
#include "rk3588_npu_decode.h"
#include "rk3588_npu_dpu.h"

#define STEPS           (NPU_LUT_ENTRIES - 1)
/* Overlap and overflow to LO, underflow to LE, multiplexer 2. */
#define KNOWN_LUT_CFG   0x68
#define MAX_STEP_SHIFT  16

void npu_lut_access(NpuLut *lut, uint32_t cfg)
{
    lut->writing = FIELD_EX32(cfg, DPU_LUT_ACCESS_CFG, ACCESS_TYPE);
    lut->table = FIELD_EX32(cfg, DPU_LUT_ACCESS_CFG, TABLE_ID);
    lut->addr = FIELD_EX32(cfg, DPU_LUT_ACCESS_CFG, ADDR);
}

void npu_lut_data(NpuLut *lut, uint32_t data)
{
    if (lut->writing && lut->table < NPU_LUT_NUM &&
        lut->addr < NPU_LUT_ENTRIES) {
        uint32_t at = lut->table * NPU_LUT_ENTRIES + lut->addr;

        lut->entry[at] = data;
        lut->written[at] = true;
    }
    if (lut->addr < NPU_LUT_ENTRIES) {
        lut->addr++;
    }
}

static const char *check_geometry(const NpuLutUse *u, const uint32_t *regs)
{
    REFUSE_IF(u->shift[NPU_LUT_LE] > MAX_STEP_SHIFT ||
              u->shift[NPU_LUT_LO] > MAX_STEP_SHIFT, "LUT step");
    REFUSE_IF((int32_t)regs[R_DPU_LUT_LE_START] !=
              -(STEPS << u->shift[NPU_LUT_LE]) ||
              regs[R_DPU_LUT_LE_END] || regs[R_DPU_LUT_LO_START] ||
              regs[R_DPU_LUT_LO_END] != STEPS << u->shift[NPU_LUT_LO],
              "LUT range");
    REFUSE_IF(u->slope[NPU_LUT_LE] > INT16_MAX ||
              u->slope[NPU_LUT_LO] > INT16_MAX, "negative LUT slope");
    return NULL;
}

const char *npu_lut_decode(NpuTask *t, const uint32_t *regs, const NpuLut *lut)
{
    NpuLutUse *u = &t->dpu.lut;
    unsigned i;

    REFUSE_IF(t->kind != NPU_KIND_FLYING || t->dpu.precision != NPU_PREC_FP16,
              "LUT but in a flying DPU of halves");
    REFUSE_IF(t->dpu.ew.op, "LUT behind an EW operation");
    REFUSE_IF(regs[R_DPU_LUT_CFG] != KNOWN_LUT_CFG, "LUT_CFG");
    u->shift[NPU_LUT_LE] = GET(regs, DPU_LUT_INFO, LE_INDEX_SELECT);
    u->shift[NPU_LUT_LO] = GET(regs, DPU_LUT_INFO, LO_INDEX_SELECT);
    u->slope[NPU_LUT_LE] = GET(regs, DPU_LUT_LE_SLOPE_SCALE, UFLOW);
    u->slope[NPU_LUT_LO] = GET(regs, DPU_LUT_LO_SLOPE_SCALE, OFLOW);
    u->slope_shift[NPU_LUT_LE] = GET(regs, DPU_LUT_LE_SLOPE_SHIFT, UFLOW);
    u->slope_shift[NPU_LUT_LO] = GET(regs, DPU_LUT_LO_SLOPE_SHIFT, OFLOW);
    for (i = 0; i < ARRAY_SIZE(lut->entry); i++) {
        REFUSE_IF(!lut->written[i], "LUT that was not written");
    }
    memcpy(u->entry, lut->entry, sizeof(u->entry));
    return check_geometry(u, regs);
}

/* Nearest, ties to even; how silicon converts is inferred. */
int32_t npu_lut_index(float x)
{
    double d = x;

    if (x != x) {
        return 0;
    }
    return rint(d < INT32_MIN ? INT32_MIN : d > INT32_MAX ? INT32_MAX : d);
}

static int32_t slope(int32_t edge, int64_t beyond, uint16_t scale,
                     uint8_t shift)
{
    return npu_sat32(edge + (beyond * scale >> shift));
}

int32_t npu_lut_value(const NpuLutUse *u, int32_t x)
{
    unsigned table = x < 0 ? NPU_LUT_LE : NPU_LUT_LO;
    const int16_t *entry = u->entry + table * NPU_LUT_ENTRIES;
    uint8_t shift = u->shift[table];
    int64_t end = (int64_t)STEPS << shift;
    int64_t at = x < 0 ? x + end : x;
    uint32_t i;

    if (at < 0) {
        return slope(entry[0], at, u->slope[table], u->slope_shift[table]);
    }
    if (at >= end) {
        return slope(entry[STEPS], at - end, u->slope[table],
                     u->slope_shift[table]);
    }
    i = at >> shift;
    /* Ties upwards are inferred. */
    return entry[i] + npu_round_shift((int64_t)(entry[i + 1] - entry[i]) *
                                      (at & ((1 << shift) - 1)), shift, true);
}
