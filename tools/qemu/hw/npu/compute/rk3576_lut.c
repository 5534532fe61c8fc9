/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The LUT of the RK3576 NPU's DPU: the RK3588's two tables, with lines beyond
 * the ends that begin at values of their own.
 *
 * A table's bounds are in four registers, the lines beyond in two and one of
 * shifts, which nobody has been seen to give different ones (rows lut.rk3576
 * and lut.rk3576-lines).
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "rk3576_lut.h"
#include "rk3576_regs.h"

#define STEPS           (NPU_LUT_ENTRIES - 1)
#define MAX_STEP_SHIFT  22
/* Of a product of 48 bits; compilers write 22 at most. */
#define MAX_SLOPE_SHIFT 31
#define LUT_CFG_USE     0x02000006

static const char *decode_bounds(NpuLutUse *u, const uint32_t *regs)
{
    NpuLutRange *le = &u->range[NPU_LUT_LE];
    NpuLutRange *lo = &u->range[NPU_LUT_LO];
    unsigned i;

    for (i = 1; i < 4; i++) {
        REFUSE_IF(regs[R_RK3576_DPU_LUT_START_0 + i] !=
                  regs[R_RK3576_DPU_LUT_START_0] ||
                  regs[R_RK3576_DPU_LUT_END_0 + i] !=
                  regs[R_RK3576_DPU_LUT_END_0],
                  "bounds of the LUT that differ");
    }
    le->start = regs[R_RK3576_DPU_LUT_START_0];
    le->shift = GET76(regs, DPU_LUT_INFO, LE_INDEX_SELECT);
    lo->end = regs[R_RK3576_DPU_LUT_END_0];
    lo->shift = GET76(regs, DPU_LUT_INFO, LO_INDEX_SELECT);
    REFUSE_IF(le->shift > MAX_STEP_SHIFT || lo->shift > MAX_STEP_SHIFT,
              "LUT step");
    /* The lower table may end below 0 (row lut.rk3576-start). */
    REFUSE_IF(le->start >= 0 ||
              -(int64_t)le->start > (int64_t)STEPS << le->shift ||
              lo->end != (int64_t)STEPS << lo->shift, "LUT range");
    return NULL;
}

/* A slope, of which each half of two registers is one. */
static const char *decode_slope(int16_t *slope, uint8_t *shift, uint32_t reg,
                                uint32_t reg1, uint32_t shifts)
{
    REFUSE_IF(reg >> 16 != (reg & 0xffff) || reg != reg1 ||
              shifts != (shifts & 0xff) * 0x01010101,
              "lines beyond the ends of the LUT that differ");
    *slope = reg;
    *shift = shifts;
    REFUSE_IF(*shift > MAX_SLOPE_SHIFT, "slope of the LUT");
    return NULL;
}

static const char *decode_lines(NpuLutUse *u, const uint32_t *regs)
{
    NpuLutRange *le = &u->range[NPU_LUT_LE];
    NpuLutRange *lo = &u->range[NPU_LUT_LO];
    const char *why = decode_slope(&le->under, &le->under_shift,
                                   regs[R_RK3576_DPU_LUT_UNDER_0],
                                   regs[R_RK3576_DPU_LUT_UNDER_1],
                                   regs[R_RK3576_DPU_LUT_UNDER_SHIFT]);

    REFUSE_IF(why, why);
    return decode_slope(&lo->over, &lo->over_shift,
                        regs[R_RK3576_DPU_LUT_OVER_0],
                        regs[R_RK3576_DPU_LUT_OVER_1],
                        regs[R_RK3576_DPU_LUT_OVER_SHIFT]);
}

/* The values at which they begin. */
static const char *decode_beyond(NpuLutUse *u, const uint32_t *regs)
{
    NpuLutRange *le = &u->range[NPU_LUT_LE];
    NpuLutRange *lo = &u->range[NPU_LUT_LO];
    uint32_t below = regs[R_RK3576_DPU_LUT_BELOW_1];
    uint32_t above = regs[R_RK3576_DPU_LUT_ABOVE_1];

    REFUSE_IF(below >> 16 != (below & 0xffff) ||
              regs[R_RK3576_DPU_LUT_BELOW_0] != below << 16 ||
              above >> 16 != (above & 0xffff) ||
              regs[R_RK3576_DPU_LUT_ABOVE_0] != above << 16,
              "values beyond the ends of the LUT that differ");
    le->before = (int16_t)below;
    lo->behind = (int16_t)above;
    /* At 0 either is left to the other, whose entry it is. */
    le->behind = u->entry[STEPS];
    lo->before = u->entry[NPU_LUT_ENTRIES];
    return NULL;
}

const char *npu_rk3576_lut(NpuLutUse *u, const uint32_t *regs,
                           const NpuLut *lut)
{
    const char *why;
    unsigned i;

    REFUSE_OTHER(DPU_LUT_CFG, LUT_CFG_USE, "LUT_CFG");
    for (i = 0; i < ARRAY_SIZE(lut->entry); i++) {
        REFUSE_IF(!lut->written[i], "LUT that was not written");
    }
    memcpy(u->entry, lut->entry, sizeof(u->entry));
    u->both = NPU_LUT_LO;
    u->below = NPU_LUT_LE;
    u->above = NPU_LUT_LO;
    why = decode_bounds(u, regs);
    REFUSE_IF(why, why);
    why = decode_lines(u, regs);
    return why ? why : decode_beyond(u, regs);
}
