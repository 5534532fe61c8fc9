/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packed pixel input of the RK3588 NPU's CNA, and its input converter.
 *
 * Packed pixels are rows of one to four channels without a group structure.
 * Halves come packed without conversion (run on silicon by allbilly/rk3588),
 * one channel of bytes comes converted (Mesa); that lanes have constants of
 * their own is what the register names say, nobody has been seen to use it.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "cvt.h"
#include "decode.h"
#include "numeric.h"

/* ARGB_IN: this many packed channels more than one. */
#define ARGB_IN_ONE     8
#define ARGB_IN_FOUR    11

static const char *decode_packed(NpuConv *c, const uint32_t *regs)
{
    uint32_t argb = GET(regs, CNA_CONV_CON1, ARGB_IN);

    REFUSE_IF(!argb && GET(regs, CNA_CONV_CON1, NONALIGN_DMA),
              "byte-wise fetch of atoms");
    if (!argb) {
        return NULL;
    }
    REFUSE_IF(argb < ARGB_IN_ONE || argb > ARGB_IN_FOUR, "ARGB_IN");
    c->packed = argb - ARGB_IN_ONE + 1;
    REFUSE_IF(!GET(regs, CNA_CONV_CON1, NONALIGN_DMA) ||
              !GET(regs, CNA_CONV_CON1, GROUP_LINE_OFF),
              "packed pixels in groups of lines");
    REFUSE_IF((c->bits != 8 && c->bits != 16) || c->depthwise,
              "packed pixels but for a direct convolution of 8 or 16 bits");
    REFUSE_IF(GET(regs, CNA_DATA_SIZE1, DATAIN_CHANNEL_REAL) + 1 != c->packed,
              "packed pixels of other channels than the input has");
    return NULL;
}

static const char *decode_lane(NpuCvt *cvt, const uint32_t *regs, unsigned i)
{
    uint32_t con = regs[R_CNA_CVT_CON1 + i];

    cvt->lane[i].scale = sextract32(con, R_CNA_CVT_CON1_SCALE_SHIFT, 16);
    cvt->lane[i].offset = sextract32(con, R_CNA_CVT_CON1_OFFSET_SHIFT, 16);
    cvt->lane[i].shift = extract32(regs[R_CNA_CVT_CON0],
                                   R_CNA_CVT_CON0_TRUNCATE_0_SHIFT +
                                   i * R_CNA_CVT_CON0_TRUNCATE_0_LENGTH,
                                   R_CNA_CVT_CON0_TRUNCATE_0_LENGTH);
    REFUSE_IF(cvt->lane[i].shift > 62, "converter shift above 62");
    return NULL;
}

const char *npu_cvt_decode(NpuConv *c, const uint32_t *regs)
{
    NpuCvt *cvt = &c->cvt;
    const char *why = decode_packed(c, regs);
    unsigned i;

    REFUSE_IF(why, why);
    cvt->mask = regs[R_CNA_CVT_CON5];
    cvt->on = !GET(regs, CNA_CVT_CON0, CVT_BYPASS) && cvt->mask;
    /* CBUF has them converted, the model's copy of it has not. */
    REFUSE_IF(c->data_reuse && (cvt->on || c->packed),
              "DATA_REUSE of packed or converted data");
    if (!cvt->on) {
        return NULL;
    }
    REFUSE_IF(c->precision != NPU_PREC_INT8 && c->precision != NPU_PREC_INT16,
              "input converter of this precision");
    cvt->is_signed = GET(regs, CNA_CVT_CON0, DATA_SIGN);
    cvt->ties_up = GET(regs, CNA_CVT_CON0, ROUND_TYPE);
    cvt->offset_first = GET(regs, CNA_CVT_CON0, CVT_TYPE);
    for (i = 0; i < NPU_CVT_LANES; i++) {
        why = decode_lane(cvt, regs, i);
        REFUSE_IF(why, why);
    }
    return NULL;
}

/* The shift comes before the offset (row cna.cvt-type-0). */
static int64_t convert(const NpuCvt *cvt, unsigned lane, int64_t v)
{
    int32_t scale = cvt->lane[lane].scale, offset = cvt->lane[lane].offset;
    uint32_t shift = cvt->lane[lane].shift;

    if (cvt->offset_first) {
        return npu_round_shift((v + offset) * scale, shift, cvt->ties_up);
    }
    return npu_round_shift(v * scale, shift, cvt->ties_up) + offset;
}

/* Element @ch of an atom, which the converter works on if it is in the mask. */
static void convert_element(const NpuConv *c, uint8_t *dst, const uint8_t *src,
                            unsigned ch)
{
    int64_t limit = 1ll << (c->bits - 1), v;

    if (!c->cvt.on || !(c->cvt.mask >> ch & 1)) {
        memcpy(dst, src, c->bits / 8);
        return;
    }
    v = c->bits == 8 ? *src : lduw_le_p(src);
    if (c->cvt.is_signed && v >= limit) {
        v -= 2 * limit;
    }
    v = convert(&c->cvt, ch % NPU_CVT_LANES, v);
    if (!c->cvt.wraps) {
        v = v < -limit ? -limit : v >= limit ? limit - 1 : v;
    }
    if (c->bits == 8) {
        *dst = v;
    } else {
        stw_le_p(dst, v);
    }
}

/* Channels that the pixels do not have are 0 (row cna.packed-others). */
static void unpack_line(const NpuConv *c, uint8_t *dst, const uint8_t *src)
{
    uint32_t x, ch, bytes = c->bits / 8;

    for (x = 0; x < c->in_w; x++) {
        for (ch = 0; ch < c->packed; ch++) {
            convert_element(c, dst + x * NPU_ATOM + ch * bytes,
                            src + (x * c->packed + ch) * bytes, ch);
        }
    }
}

uint8_t *npu_cvt_run(const NpuConv *c, const uint8_t *raw)
{
    uint8_t *atoms = g_try_malloc0(c->atoms.bytes);
    uint32_t per_atom = NPU_ATOM_BITS / c->bits, y;
    size_t i;

    if (!atoms) {
        return NULL;
    }
    for (y = 0; c->packed && y < c->in_h; y++) {
        unpack_line(c, atoms + y * c->atoms.host_line,
                    raw + y * c->feature.cube.host_line);
    }
    for (i = 0; !c->packed && i < c->atoms.bytes * 8 / c->bits; i++) {
        convert_element(c, atoms + i * c->bits / 8, raw + i * c->bits / 8,
                        i % per_atom);
    }
    return atoms;
}
