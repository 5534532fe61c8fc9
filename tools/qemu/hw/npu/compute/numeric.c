/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Halves and bf16 of the RK3588 NPU.
 */
#include "qemu/osdep.h"
#include "regs.h"
#include "numeric.h"

float npu_fp16_to_fp32(uint16_t h)
{
    union { uint32_t u; float f; } v = { .u = (h & 0x7fffu) << 13 };

    if (v.u >= 0x0f800000u) {
        v.u |= 0x7f800000u;
    } else {
        /* Moves the exponent bias; makes subnormals of the half normal. */
        v.f *= 0x1p112f;
    }
    v.u |= (uint32_t)(h & 0x8000u) << 16;
    return v.f;
}

/*
 * To nearest even; overflow gives infinity and subnormals are kept, as IEEE
 * wants (row out.fp16).
 */
uint16_t npu_fp32_to_fp16(float f)
{
    union { float f; uint32_t u; } v = { .f = f };
    uint32_t sign = (v.u >> 16) & 0x8000u;
    uint32_t abs = v.u & 0x7fffffffu;
    uint32_t shift, man, half, q, rem;

    if (abs > 0x7f800000u) {
        return 0x7e00;
    }
    if (abs >= 0x47800000u) {
        return sign | 0x7c00;
    }
    if (abs < 0x33000000u) {
        return sign;
    }
    if (abs >= 0x38800000u) {
        shift = 13;
        man = abs - 0x38000000u;
    } else {
        shift = 126 - (abs >> 23);
        man = (abs & 0x7fffffu) | 0x800000u;
    }
    q = man >> shift;
    rem = man & ((1u << shift) - 1);
    half = 1u << (shift - 1);
    if (rem > half || (rem == half && (q & 1))) {
        q++;
    }
    return sign | q;
}

/* To nearest even, as for halves. */
uint16_t npu_fp32_to_bf16(float f)
{
    uint32_t bits = npu_float_bits(f);

    if (f != f) {
        return bits >> 16;
    }
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

float npu_bf16_to_fp32(uint16_t h)
{
    return npu_bits_to_float((uint32_t)h << 16);
}

float npu_halfword_to_fp32(uint16_t h, uint8_t precision)
{
    return precision == NPU_PREC_BF16 ? npu_bf16_to_fp32(h)
                                      : npu_fp16_to_fp32(h);
}
