/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of the RK3588 NPU: shifts that round, saturation and small floats.
 */
#ifndef HW_NPU_COMPUTE_NUMERIC_H
#define HW_NPU_COMPUTE_NUMERIC_H

static inline int64_t npu_clamp64(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static inline int32_t npu_sat32(int64_t v)
{
    return npu_clamp64(v, INT32_MIN, INT32_MAX);
}

/* value / 2^shift, rounded to nearest, ties to even; @shift is 1 to 62. */
static inline int64_t npu_round_even(int64_t value, unsigned shift)
{
    int64_t half = (int64_t)1 << (shift - 1);

    return (value + half - 1 + (value >> shift & 1)) >> shift;
}

/* The same for any shift, or with ties upwards. */
static inline int64_t npu_round_shift(int64_t value, unsigned shift,
                                      bool ties_up)
{
    if (!shift) {
        return value;
    }
    if (shift > 62) {
        /* Values come from 32 x 16 bit products: far below one half. */
        return 0;
    }
    return ties_up ? (value + ((int64_t)1 << (shift - 1))) >> shift
                   : npu_round_even(value, shift);
}

/*
 * value / 2^shift + offset in the converters of the DPU, rounded as a whole:
 * the sum decides where a tie goes (row out.cvt-offset).  The other ties go
 * away from zero, whatever the TRM says (row out.cvt-ties).
 */
static inline int64_t npu_cvt_shift(int64_t value, unsigned shift,
                                    bool ties_away, int32_t offset)
{
    int64_t half, floor;
    bool up;

    if (!shift) {
        return value + offset;
    }
    if (shift > 62) {
        return offset;
    }
    half = (int64_t)1 << (shift - 1);
    floor = (value >> shift) + offset;
    up = ties_away ? floor >= 0 : floor & 1;
    return ((value + half - 1 + up) >> shift) + offset;
}

/* The same with a shift for either sign, ties to even. */
static inline int64_t npu_sign_shift(int64_t v, unsigned shift,
                                     unsigned shift_neg)
{
    return npu_round_shift(v, v < 0 ? shift_neg : shift, false);
}

static inline float npu_bits_to_float(uint32_t bits)
{
    union { uint32_t u; float f; } v = { .u = bits };

    return v.f;
}

static inline uint32_t npu_float_bits(float f)
{
    union { float f; uint32_t u; } v = { .f = f };

    /* One NaN, whatever the host makes of it. */
    return f != f ? 0x7fc00000u : v.u;
}

uint16_t npu_fp32_to_fp16(float f);
float npu_fp16_to_fp32(uint16_t h);
uint16_t npu_fp32_to_bf16(float f);
float npu_bf16_to_fp32(uint16_t h);
/* A halfword of this precision: a half unless it says bf16. */
float npu_halfword_to_fp32(uint16_t h, uint8_t precision);

#endif
