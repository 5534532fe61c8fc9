/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BS and BN, the first two stages of the RK3588 NPU's DPU: an ALU, a
 * multiplier with its shift and a ReLU, with operands from registers or one
 * per channel from memory.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "stage.h"
#include "alu.h"
#include "decode.h"
#include "numeric.h"

/*
 * The packed operands of some channels: words of the ALU, halfwords of CPEND
 * where they are used, and of the multiplier (row stage.packed).
 */
#define PAIRED                  (NPU_USE_ALU | NPU_USE_MUL)

#define MAX_SHIFT               62

static uint32_t stage_cfg(const uint32_t *regs, unsigned idx)
{
    return regs[idx ? R_DPU_BN_CFG : R_DPU_BS_CFG];
}

static bool stage_on(uint32_t cfg)
{
    return !FIELD_EX32(cfg, DPU_BS_CFG, BYPASS);
}

static bool wants_alu(uint32_t cfg)
{
    return stage_on(cfg) && !FIELD_EX32(cfg, DPU_BS_CFG, ALU_BYPASS) &&
           FIELD_EX32(cfg, DPU_BS_CFG, ALU_SRC);
}

static bool wants_mul(uint32_t cfg, uint32_t mul)
{
    return stage_on(cfg) && !FIELD_EX32(cfg, DPU_BS_CFG, MUL_BYPASS) &&
           FIELD_EX32(mul, DPU_BS_MUL_CFG, MUL_SRC);
}

static bool wants_cpend(const uint32_t *regs)
{
    return !GET(regs, DPU_FEATURE_MODE_CFG, FLYING_MODE) &&
           !GET(regs, DPU_BS_OW_CFG, OD_BYPASS) &&
           GET(regs, DPU_BS_OW_CFG, OW_SRC);
}

/*
 * CPEND does nothing to halves, and without DPU_RDMA a bypassed BS does not
 * wait for its operands either (row stage.cpend-halves).
 */
bool npu_stage_skips_cpend(const uint32_t *regs, bool rdma)
{
    return !rdma && !stage_on(stage_cfg(regs, NPU_STAGE_BS)) &&
           GET(regs, DPU_DATA_FORMAT, IN_PRECISION) == NPU_PREC_FP16;
}

/* DATA_USE bits of what the stage takes from memory. */
static uint32_t wanted(const uint32_t *regs, unsigned idx, bool rdma)
{
    uint32_t cfg = stage_cfg(regs, idx);
    uint32_t mul = regs[idx ? R_DPU_BN_MUL_CFG : R_DPU_BS_MUL_CFG];

    return (wants_alu(cfg) ? NPU_USE_ALU : 0) |
           (wants_mul(cfg, mul) ? NPU_USE_MUL : 0) |
           (!idx && wants_cpend(regs) && !npu_stage_skips_cpend(regs, rdma)
            ? NPU_USE_CPEND : 0);
}

static uint32_t fetched(const uint32_t *regs, unsigned idx)
{
    uint32_t cfg = regs[idx ? R_RDMA_NRDMA_CFG : R_RDMA_BRDMA_CFG];

    return FIELD_EX32(cfg, RDMA_BRDMA_CFG, DISABLE)
           ? 0 : FIELD_EX32(cfg, RDMA_BRDMA_CFG, DATA_USE);
}

const char *npu_stage_stall(const uint32_t *regs, bool rdma)
{
    uint32_t bs = wanted(regs, NPU_STAGE_BS, rdma);
    uint32_t bn = wanted(regs, NPU_STAGE_BN, rdma);

    REFUSE_IF(bs & ~(rdma ? fetched(regs, NPU_STAGE_BS) : 0),
              "BS waits for an operand that nothing fetches");
    REFUSE_IF(bn & ~(rdma ? fetched(regs, NPU_STAGE_BN) : 0),
              "BN waits for an operand that nothing fetches");
    /* Every task of a public probe that tried this hung. */
    REFUSE_IF((bn & NPU_USE_MUL) && !GET(regs, DPU_FEATURE_MODE_CFG,
                                               FLYING_MODE) &&
              fetched(regs, NPU_STAGE_BN) == NPU_USE_PACKED,
              "packed BN operands of a convolution");
    return NULL;
}

/*
 * Three layouts are known: words of the ALU alone, halfwords of the multiplier
 * alone, and all three operands packed, of which CPEND may be ignored.
 */
static const char *decode_layout(NpuTask *t, const uint32_t *regs,
                                 unsigned idx)
{
    NpuStage *s = &t->dpu.stage[idx];
    uint32_t want = wanted(regs, idx, t->enable & NPU_ENABLE_DPU_RDMA);

    s->use = fetched(regs, idx);
    s->addr = npu_dma_addr(regs, regs[idx ? R_RDMA_BN_BASE_ADDR
                                          : R_RDMA_BS_BASE_ADDR]);
    s->alu_dma = want & NPU_USE_ALU;
    s->mul_dma = want & NPU_USE_MUL;
    s->cpend_dma = want & NPU_USE_CPEND;
    if (!want) {
        s->use = 0;
        return NULL;
    }
    switch (s->use) {
    case NPU_USE_ALU:
        return NULL;
    case NPU_USE_MUL:
        /* Silicon takes zeros for a part of a surface behind a whole one. */
        REFUSE_IF(t->dpu.channels > t->dpu.packed &&
                  t->dpu.channels % t->dpu.packed,
                  "multipliers of an incomplete surface");
        return NULL;
    case PAIRED:
        REFUSE_IF(t->encoding != NPU_ENCODING_RK3562 || s->cpend_dma,
                  "layout of BS or BN operands");
        /* fall through */
    case NPU_USE_PACKED:
        REFUSE_IF(idx == NPU_STAGE_BN, "packed BN operands");
        REFUSE_IF(t->dpu.is_float, "packed BS operands of floats");
        REFUSE_IF(!s->alu_dma || !s->mul_dma,
                  "packed BS operands that the stage does not take");
        return NULL;
    default:
        return "layout of BS or BN operands";
    }
}

static const char *decode_mul(NpuDpu *d, const uint32_t *regs, unsigned idx)
{
    NpuStage *s = &d->stage[idx];
    uint32_t cfg = stage_cfg(regs, idx);
    uint32_t mul = regs[idx ? R_DPU_BN_MUL_CFG : R_DPU_BS_MUL_CFG];

    s->mul = !FIELD_EX32(cfg, DPU_BS_CFG, MUL_BYPASS);
    s->mul_operand = FIELD_EX32(mul, DPU_BS_MUL_CFG, MUL_OPERAND);
    s->prelu = s->mul && FIELD_EX32(cfg, DPU_BS_CFG, MUL_PRELU);
    s->shift = FIELD_EX32(mul, DPU_BS_MUL_CFG, MUL_SHIFT);
    s->shift_neg = idx ? GET(regs, DPU_DATA_FORMAT, BN_MUL_SHIFT_NEG)
                       : GET(regs, DPU_DATA_FORMAT, BS_MUL_SHIFT_NEG);
    REFUSE_IF(FIELD_EX32(mul, DPU_BS_MUL_CFG, TRUNCATE_SRC),
              "BS or BN shift by DMA");
    REFUSE_IF(d->is_float && s->shift, "BS or BN shift of floats");
    REFUSE_IF(d->is_float && s->shift_neg, "BS or BN shift of floats");
    REFUSE_IF(s->shift > MAX_SHIFT || s->shift_neg > MAX_SHIFT,
              "BS or BN shift above 62");
    /* Those of bf16 are bf16, of halves and fp32 halves; else not known. */
    s->operands = d->operands;
    REFUSE_IF(s->mul && d->is_float && !npu_mul_known(d->operands),
              "BS or BN multiplier of this precision");
    return NULL;
}

/* BN repeats BS's registers one field set further on. */
const char *npu_stage_decode(NpuTask *t, const uint32_t *regs, unsigned idx)
{
    NpuStage *s = &t->dpu.stage[idx];
    const uint32_t *r = &regs[idx ? R_DPU_BN_CFG : R_DPU_BS_CFG];
    const char *why = decode_layout(t, regs, idx);

    REFUSE_IF(why, why);
    if (!stage_on(r[0])) {
        return NULL;
    }
    s->on = true;
    s->mul_first = idx == NPU_STAGE_BN;
    s->alu = !FIELD_EX32(r[0], DPU_BS_CFG, ALU_BYPASS);
    s->alu_algo = FIELD_EX32(r[0], DPU_BS_CFG, ALU_ALGO);
    s->alu_operand = r[1];
    REFUSE_IF(s->alu && s->alu_algo != NPU_ALU_MAX &&
              s->alu_algo != NPU_ALU_MIN && s->alu_algo != NPU_ALU_ADD &&
              s->alu_algo != NPU_ALU_MINUS, "BS or BN ALU algorithm");
    why = decode_mul(&t->dpu, regs, idx);
    REFUSE_IF(why, why);
    s->relu = !FIELD_EX32(r[0], DPU_BS_CFG, RELU_BYPASS);
    s->relux = s->relu && FIELD_EX32(r[0], DPU_BS_CFG, RELUX_EN);
    s->relux_cmp = r[3];
    return NULL;
}

/* Of a channel. */
static uint32_t packed_bytes(const NpuStage *s)
{
    return s->use == PAIRED ? sizeof(uint32_t) + sizeof(uint16_t)
                            : sizeof(uint32_t) + 2 * sizeof(uint16_t);
}

size_t npu_task_stage_bytes(const NpuTask *t, unsigned stage)
{
    switch (t->dpu.stage[stage].use) {
    case 0:
        return 0;
    case NPU_USE_ALU:
        return t->dpu.channels * sizeof(uint32_t);
    case NPU_USE_MUL:
        return t->dpu.channels * sizeof(uint16_t);
    default:
        return ROUND_UP(t->dpu.channels, t->dpu.packed) *
               (size_t)packed_bytes(&t->dpu.stage[stage]);
    }
}

/* The packed operands of which @channel has some. */
static const uint8_t *packed(const NpuTask *t, const NpuOperands *in,
                             unsigned stage, uint32_t channel)
{
    return in->stage[stage] + (channel - channel % t->dpu.packed) *
           (size_t)packed_bytes(&t->dpu.stage[stage]);
}

NpuStageOperand npu_stage_operand(const NpuTask *t, const NpuOperands *in,
                                  unsigned stage, uint32_t channel)
{
    const NpuStage *s = &t->dpu.stage[stage];
    const uint8_t *p = in->stage[stage];
    uint32_t group = t->dpu.packed, lane = channel % group;
    NpuStageOperand op = { .alu = s->alu_operand, .mul = s->mul_operand };

    if (s->use == NPU_USE_PACKED || s->use == PAIRED) {
        p = packed(t, in, stage, channel);
        op.alu = ldl_le_p(p + 4 * lane);
        op.mul = lduw_le_p(p + (s->use == PAIRED ? 4 : 6) * group + 2 * lane);
    } else if (s->alu_dma) {
        op.alu = ldl_le_p(p + 4 * (size_t)channel);
    } else if (s->mul_dma) {
        op.mul = lduw_le_p(p + 2 * (size_t)channel);
    }
    return op;
}

int32_t npu_cpend_operand(const NpuTask *t, const NpuOperands *in,
                          uint32_t channel)
{
    const NpuStage *s = &t->dpu.stage[NPU_STAGE_BS];

    if (!s->cpend_dma || channel >= t->dpu.channels) {
        return t->conv.zero_point;
    }
    return (int16_t)lduw_le_p(packed(t, in, NPU_STAGE_BS, channel) +
                              4 * t->dpu.packed +
                              2 * (channel % t->dpu.packed));
}

/*
 * The product is kept wide until it is shifted, the two signs by shifts of
 * their own, and ties go to even (row stage.bs).  A multiplier that is bypassed
 * still shifts (row stage.bypassed-shift), and so do values that PReLU spares
 * (row stage.prelu).  Where the ALU comes behind the multiplier it adds to the
 * wide product (row stage.bn-wide).
 */
static int64_t product(const NpuStage *s, int32_t v, int32_t factor)
{
    return (int64_t)v * (s->prelu && v >= 0 ? 1 : factor);
}

static int32_t truncate_int(const NpuStage *s, int64_t wide)
{
    return npu_sat32(npu_sign_shift(wide, s->shift, s->shift_neg));
}

static int64_t product_and_sum(const NpuStage *s, int32_t v, int32_t factor,
                               int32_t operand)
{
    int64_t wide = product(s, v, factor);

    return s->alu ? npu_alu_wide(s->alu_algo, wide, operand) : wide;
}

static void run_products(const NpuStage *s, int32_t *v, unsigned n,
                         int32_t factor)
{
    unsigned shift = s->shift, i;

    if (s->prelu || shift != s->shift_neg) {
        for (i = 0; i < n; i++) {
            v[i] = truncate_int(s, product(s, v[i], factor));
        }
    } else if (shift) {
        for (i = 0; i < n; i++) {
            v[i] = npu_sat32(npu_round_even((int64_t)v[i] * factor, shift));
        }
    } else {
        for (i = 0; i < n; i++) {
            v[i] = npu_sat32((int64_t)v[i] * factor);
        }
    }
}

/* @s is a copy, which stores to @v leave alone for the compiler, too. */
static void run_ints(NpuStage s, int32_t *v, unsigned n,
                     const NpuStageOperand *op)
{
    int32_t factor = s.mul ? (int16_t)op->mul : 1, operand = op->alu;
    unsigned i;

    if (s.alu && !s.mul_first) {
        npu_alu_ints(s.alu_algo, v, n, operand);
    }
    if (s.alu && s.mul_first) {
        for (i = 0; i < n; i++) {
            v[i] = truncate_int(&s, product_and_sum(&s, v[i], factor,
                                                    operand));
        }
    } else if (s.mul || s.shift || s.shift_neg) {
        run_products(&s, v, n, factor);
    }
    if (s.relu) {
        npu_relu_ints(v, n, s.relux, s.relux_cmp);
    }
}

void npu_stage_ints(const NpuStage *s, int32_t *v, unsigned n,
                    const NpuStageOperand *op)
{
    if (s->on) {
        run_ints(*s, v, n, op);
    }
}

/*
 * Exact in double and rounded once: the same as a product of floats, but no
 * compiler can contract it with a later addition.
 */
static float mul_float(const NpuStage *s, float v, float operand)
{
    return s->mul && (!s->prelu || v < 0) ? (double)v * operand : v;
}

static float stage_float(const NpuStage *s, float v, float alu, float mul)
{
    if (s->mul_first) {
        v = mul_float(s, v, mul);
    }
    if (s->alu) {
        v = npu_alu_float(s->alu_algo, v, alu);
    }
    if (!s->mul_first) {
        v = mul_float(s, v, mul);
    }
    return v;
}

void npu_stage_floats(const NpuStage *s, float *v, unsigned n,
                      const NpuStageOperand *op)
{
    float alu = npu_bits_to_float(op->alu);
    float mul = npu_halfword_to_fp32(op->mul, s->operands);
    unsigned i;

    if (!s->on) {
        return;
    }
    for (i = 0; i < n; i++) {
        v[i] = stage_float(s, v[i], alu, mul);
    }
    if (s->relu) {
        npu_relu_floats(v, n, s->relux, s->relux_cmp);
    }
}
