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
        /* Those of one operand, which EW alone has, of 32 bits. */
        return npu_alu_int(algo, v, operand);
    }
}

void npu_alu_ints(uint8_t algo, int32_t *v, unsigned n, int32_t operand)
{
    unsigned i;

    if (algo == NPU_ALU_ADD) {
        for (i = 0; i < n; i++) {
            v[i] = npu_sat32((int64_t)v[i] + operand);
        }
        return;
    }
    for (i = 0; i < n; i++) {
        v[i] = npu_alu_int(algo, v[i], operand);
    }
}

void npu_relu_ints(int32_t *v, unsigned n, bool relux, uint32_t cmp)
{
    int32_t limit = relux ? (int32_t)cmp : INT32_MAX;
    unsigned i;

    for (i = 0; i < n; i++) {
        v[i] = MIN(MAX(v[i], 0), limit);
    }
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

void npu_relu_floats(float *v, unsigned n, bool relux, uint32_t cmp)
{
    float limit = npu_bits_to_float(cmp);
    unsigned i;

    for (i = 0; i < n; i++) {
        v[i] = v[i] < 0 ? 0 : v[i];
    }
    for (i = 0; relux && i < n; i++) {
        v[i] = v[i] > limit ? limit : v[i];
    }
}
