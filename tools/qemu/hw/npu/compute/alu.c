/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ALUs and ReLUs of the RK3588 NPU's DPU; the PPU pools with them, too.
 */
#include "qemu/osdep.h"
#include <math.h>
#include "alu.h"
#include "numeric.h"

/* Integers do not divide; what silicon makes of that is not known. */
bool npu_alu_known(uint32_t algo, bool is_float)
{
    switch (algo) {
    case NPU_ALU_MAX:
    case NPU_ALU_MIN:
    case NPU_ALU_ADD:
    case NPU_ALU_MINUS:
    case NPU_ALU_ABS:
    case NPU_ALU_NEG:
        return true;
    case NPU_ALU_DIV:
    case NPU_ALU_FLOOR:
    case NPU_ALU_CEIL:
        return is_float;
    default:
        return false;
    }
}

static int32_t negate(int32_t v)
{
    return -(uint32_t)v;
}

/*
 * The negative of INT32_MIN is itself, even inside of a subtraction, whose
 * addition then saturates: that is what edge cases gave on RK3588.
 */
int32_t npu_alu_int(uint8_t algo, int32_t v, int32_t operand)
{
    switch (algo) {
    case NPU_ALU_MAX:
        return MAX(v, operand);
    case NPU_ALU_MIN:
        return MIN(v, operand);
    case NPU_ALU_ADD:
        return npu_sat32((int64_t)v + operand);
    case NPU_ALU_MINUS:
        return npu_sat32((int64_t)v + negate(operand));
    case NPU_ALU_ABS:
        return v < 0 ? negate(v) : v;
    case NPU_ALU_NEG:
        return negate(v);
    default:
        return v;
    }
}

int64_t npu_alu_wide(uint8_t algo, int64_t v, int32_t operand)
{
    switch (algo) {
    case NPU_ALU_MAX:
        return MAX(v, operand);
    case NPU_ALU_MIN:
        return MIN(v, operand);
    case NPU_ALU_ADD:
        return v + operand;
    case NPU_ALU_MINUS:
        return v + negate(operand);
    default:
        return v;
    }
}

int32_t npu_relu_int(int32_t v, bool relux, uint32_t cmp)
{
    v = MAX(v, 0);
    return relux ? MIN(v, (int32_t)cmp) : v;
}

float npu_alu_float(uint8_t algo, float v, float operand)
{
    switch (algo) {
    case NPU_ALU_MAX:
        return v < operand ? operand : v;
    case NPU_ALU_MIN:
        return v > operand ? operand : v;
    case NPU_ALU_ADD:
        return v + operand;
    case NPU_ALU_DIV:
        return v / operand;
    case NPU_ALU_MINUS:
        return v - operand;
    case NPU_ALU_ABS:
        return fabsf(v);
    case NPU_ALU_NEG:
        return -v;
    case NPU_ALU_FLOOR:
        return floorf(v);
    case NPU_ALU_CEIL:
        return ceilf(v);
    default:
        return v;
    }
}

float npu_relu_float(float v, bool relux, uint32_t cmp)
{
    float limit = npu_bits_to_float(cmp);

    v = v < 0 ? 0 : v;
    return relux && v > limit ? limit : v;
}
