/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The LUT of the RK3588 NPU's DPU: interpolation in two tables of 512 steps,
 * with a line beyond each end.
 *
 * Tables may meet at 0 (row lut.steps), overlap or leave gaps and choose by
 * priorities, as in NVDLA, from which the unit descends (row lut.anywhere).
 */
#include "qemu/osdep.h"
#include <math.h>
#include "qemu/bitops.h"
#include "lut.h"
#include "decode.h"
#include "numeric.h"

#define STEPS           (NPU_LUT_ENTRIES - 1)
#define KNOWN_MUX       2
#define MAX_STEP_SHIFT  22

void npu_lut_access(NpuLut *lut, uint32_t cfg)
{
    lut->writing = FIELD_EX32(cfg, DPU_LUT_ACCESS_CFG, ACCESS_TYPE);
    lut->table = FIELD_EX32(cfg, DPU_LUT_ACCESS_CFG, TABLE_ID);
    lut->addr = FIELD_EX32(cfg, DPU_LUT_ACCESS_CFG, ADDR);
}

void npu_lut_drop(NpuLut *lut)
{
    memset(lut, 0, sizeof(*lut));
}

void npu_lut_data(NpuLut *lut, uint32_t data)
{
    if (lut->writing && lut->table < NPU_LUT_TABLES &&
        lut->addr < NPU_LUT_ENTRIES) {
        uint32_t at = lut->table * NPU_LUT_ENTRIES + lut->addr;

        lut->entry[at] = data;
        lut->written[at] = true;
    }
    if (lut->addr < NPU_LUT_ENTRIES) {
        lut->addr++;
    }
}

static void decode_range(NpuLutRange *r, uint32_t scale, uint32_t shift)
{
    r->under = FIELD_EX32(scale, DPU_LUT_LE_SLOPE_SCALE, UFLOW);
    r->over = FIELD_EX32(scale, DPU_LUT_LE_SLOPE_SCALE, OFLOW);
    r->under_shift = FIELD_EX32(shift, DPU_LUT_LE_SLOPE_SHIFT, UFLOW);
    r->over_shift = FIELD_EX32(shift, DPU_LUT_LE_SLOPE_SHIFT, OFLOW);
}

/* Where the steps do not fill the range the last entry's meaning is unknown. */
static const char *check_range(const NpuLutRange *r)
{
    REFUSE_IF(r->shift > MAX_STEP_SHIFT, "LUT step");
    REFUSE_IF((int64_t)r->end - r->start != (int64_t)STEPS << r->shift,
              "LUT range");
    return NULL;
}

static const char *decode_ranges(NpuLutUse *u, const uint32_t *regs)
{
    NpuLutRange *le = &u->range[NPU_LUT_LE];
    NpuLutRange *lo = &u->range[NPU_LUT_LO];
    const char *why;

    le->start = regs[R_DPU_LUT_LE_START];
    le->end = regs[R_DPU_LUT_LE_END];
    le->shift = GET(regs, DPU_LUT_INFO, LE_INDEX_SELECT);
    decode_range(le, regs[R_DPU_LUT_LE_SLOPE_SCALE],
                 regs[R_DPU_LUT_LE_SLOPE_SHIFT]);
    lo->start = regs[R_DPU_LUT_LO_START];
    lo->end = regs[R_DPU_LUT_LO_END];
    lo->shift = GET(regs, DPU_LUT_INFO, LO_INDEX_SELECT);
    decode_range(lo, regs[R_DPU_LUT_LO_SLOPE_SCALE],
                 regs[R_DPU_LUT_LO_SLOPE_SHIFT]);
    why = check_range(le);
    return why ? why : check_range(lo);
}

const char *npu_lut_decode(NpuLutUse *u, const uint32_t *regs,
                           const NpuLut *lut)
{
    unsigned i;

    REFUSE_IF(GET(regs, DPU_LUT_CFG, LO_LE_MUX) != KNOWN_MUX ||
              GET(regs, DPU_LUT_CFG, EXPAND_EN) ||
              GET(regs, DPU_LUT_CFG, ROAD_SEL), "LUT_CFG");
    u->both = GET(regs, DPU_LUT_CFG, HYBRID_PRIORITY);
    u->below = GET(regs, DPU_LUT_CFG, UFLOW_PRIORITY);
    u->above = GET(regs, DPU_LUT_CFG, OFLOW_PRIORITY);
    for (i = 0; i < ARRAY_SIZE(lut->entry); i++) {
        REFUSE_IF(!lut->written[i], "LUT that was not written");
    }
    memcpy(u->entry, lut->entry, sizeof(u->entry));
    for (i = 0; i < NPU_LUT_TABLES; i++) {
        u->range[i].before = u->entry[i * NPU_LUT_ENTRIES];
        u->range[i].behind = u->entry[i * NPU_LUT_ENTRIES + STEPS];
    }
    return decode_ranges(u, regs);
}

/* Nearest, ties to even (rows lut.index, lut.index-ties). */
int32_t npu_lut_index(float x)
{
    double d = x;

    if (x != x) {
        return 0;
    }
    return rint(d < INT32_MIN ? INT32_MIN : d > INT32_MAX ? INT32_MAX : d);
}

static int32_t slope(int32_t edge, int64_t beyond, int16_t scale,
                     uint8_t shift)
{
    return npu_sat32(edge + (beyond * scale >> shift));
}

static bool covers(const NpuLutRange *r, int32_t x)
{
    return x >= r->start && x <= r->end;
}

static unsigned choose(const NpuLutUse *u, int32_t x)
{
    const NpuLutRange *le = &u->range[NPU_LUT_LE];
    const NpuLutRange *lo = &u->range[NPU_LUT_LO];

    if (covers(le, x) != covers(lo, x)) {
        return covers(le, x) ? NPU_LUT_LE : NPU_LUT_LO;
    }
    if (x < le->start && x < lo->start) {
        return u->below;
    }
    if (x > le->end && x > lo->end) {
        return u->above;
    }
    return u->both;
}

static int32_t value_at(const NpuLutUse *u, int32_t x)
{
    unsigned table = choose(u, x);
    const NpuLutRange *r = &u->range[table];
    const int16_t *entry = u->entry + table * NPU_LUT_ENTRIES;
    int64_t at = (int64_t)x - r->start, rest;
    uint32_t i;

    if (x < r->start) {
        return slope(r->before, at, r->under, r->under_shift);
    }
    if (x >= r->end) {
        return slope(r->behind, (int64_t)x - r->end, r->over, r->over_shift);
    }
    i = at >> r->shift;
    rest = at & (((int64_t)1 << r->shift) - 1);
    /* Rounds down (row lut.interpolation). */
    return entry[i] + ((entry[i + 1] - entry[i]) * rest >> r->shift);
}

void npu_lut_values(const NpuLutUse *u, int32_t *v, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        v[i] = value_at(u, v[i]);
    }
}
