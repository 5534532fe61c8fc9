/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packed pixel input of the RK3588 NPU's CNA, and its input converter.
 *
 * One channel of bytes is known, as Mesa's first layers use it: rows of bytes
 * without a group structure, all lanes converted alike.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "rk3588_npu_decode.h"
#include "rk3588_npu_conv.h"
#include "rk3588_npu_dpu.h"

/* ARGB_IN: this many packed channels more than one. */
#define ARGB_IN_ONE     8

const char *npu_cvt_decode(NpuConv *c, const uint32_t *regs)
{
    NpuCvt *cvt = &c->cvt;
    uint32_t argb = GET(regs, CNA_CONV_CON1, ARGB_IN);
    uint32_t con1 = regs[R_CNA_CVT_CON1];

    cvt->on = !GET(regs, CNA_CVT_CON0, CVT_BYPASS);
    REFUSE_IF(!argb && GET(regs, CNA_CONV_CON1, NONALIGN_DMA),
              "byte-wise fetch of atoms");
    REFUSE_IF(!argb && cvt->on, "input converter of atoms");
    if (!argb) {
        return NULL;
    }
    REFUSE_IF(argb != ARGB_IN_ONE, "more than one packed channel");
    REFUSE_IF(!GET(regs, CNA_CONV_CON1, NONALIGN_DMA) ||
              !GET(regs, CNA_CONV_CON1, GROUP_LINE_OFF),
              "packed pixels in groups of lines");
    REFUSE_IF(c->precision != NPU_PREC_INT8 || c->depthwise,
              "packed pixels but for a direct int8 convolution");
    REFUSE_IF(c->in_c != NPU_ATOM ||
              GET(regs, CNA_DATA_SIZE1, DATAIN_CHANNEL_REAL),
              "packed pixels of several channels");
    REFUSE_IF(!cvt->on || !(regs[R_CNA_CVT_CON5] & 1),
              "packed pixels without the converter");
    /* CBUF has them converted, the model's copy of it has not. */
    REFUSE_IF(c->data_reuse, "DATA_REUSE of packed pixels");
    cvt->is_signed = GET(regs, CNA_CVT_CON0, DATA_SIGN);
    cvt->ties_up = GET(regs, CNA_CVT_CON0, ROUND_TYPE);
    cvt->offset_first = GET(regs, CNA_CVT_CON0, CVT_TYPE);
    cvt->shift = GET(regs, CNA_CVT_CON0, TRUNCATE_0);
    cvt->scale = sextract32(con1, R_CNA_CVT_CON1_SCALE_SHIFT, 16);
    cvt->offset = sextract32(con1, R_CNA_CVT_CON1_OFFSET_SHIFT, 16);
    REFUSE_IF(cvt->shift > 62, "converter shift above 62");
    return NULL;
}

/* That the shift comes before the offset is inferred from Mesa's constants. */
static int8_t convert(const NpuCvt *cvt, uint8_t raw)
{
    int64_t v = cvt->is_signed ? (int8_t)raw : raw;

    if (cvt->offset_first) {
        v = npu_round_shift((v + cvt->offset) * cvt->scale, cvt->shift,
                            cvt->ties_up);
    } else {
        v = npu_round_shift(v * cvt->scale, cvt->shift, cvt->ties_up) +
            cvt->offset;
    }
    return v < INT8_MIN ? INT8_MIN : v > INT8_MAX ? INT8_MAX : v;
}

/* Channels that the pixels do not have are 0 (inferred). */
uint8_t *npu_cvt_unpack(const NpuConv *c, const uint8_t *pixels)
{
    uint8_t *atoms = g_try_malloc0(c->atoms.bytes);
    uint32_t y, x;

    for (y = 0; atoms && y < c->in_h; y++) {
        const uint8_t *src = pixels + y * c->feature.cube.host_line;
        uint8_t *dst = atoms + y * c->atoms.host_line;

        for (x = 0; x < c->in_w; x++) {
            dst[(size_t)x * NPU_ATOM] = convert(&c->cvt, src[x]);
        }
    }
    return atoms;
}
