/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random programs of the RK3588 NPU's DPU and PPU, against a reference that
 * is written from tensors: what a task should compute is drawn first, then the
 * program that asks for it, and the expected tensor never sees a register.
 */
#include "dpu-prog.h"

/* --- What was drawn --- */

static const char *const feature_name[] = {
    "int8 -> int8", "int8 -> int32", "int8 -> fp32", "int16 -> int16",
    "int16 -> int32", "int32 -> int32", "int32 -> fp32", "fp16 -> fp16",
    "fp16 -> fp32", "fp32 -> fp32", "flying DPU", "convolution",
    "depthwise convolution", "BS ALU from a register", "BS ALU by DMA",
    "BS multiplier from a register", "BS multiplier by DMA",
    "packed BS operands", "CPEND by DMA", "BS PReLU", "BS ReLU", "BS ReLUX",
    "shift of a bypassed multiplier", "shifts that differ",
    "BN ALU from a register", "BN ALU by DMA", "BN multiplier",
    "BN multiplier by DMA", "BN PReLU", "PReLU that shifts", "BN ReLUX",
    "EW max", "EW min",
    "EW add", "EW div", "EW minus", "EW abs", "EW neg", "EW floor", "EW ceil",
    "EW mul", "EW PReLU", "EW ReLU", "EW ReLUX", "EW operand per element",
    "EW operand per channel", "EW operand per channel of a convolution",
    "EW operand from a register",
    "EW pair of MRDMA and ERDMA", "EW operand conversion",
    "EW operand without conversion", "EW truncation",
    "EW truncation of sums",
    "LUT of integers", "LUT of floats", "LUT tables apart or overlapping",
    "LUT behind a convolution", "LUT behind an EW operation",
    "LUT with a floor",
    "OUT_CVT of LUT codes multiplies first", "OUT_CVT offset first",
    "OUT_CVT ties away from zero",
    "OUT_CVT negative scale", "MINUS_EXP of floats", "padded channels",
    "notch of output lines", "groups of output surfaces",
    "DPU to PPU, flying", "DPU to PPU, convolution", "pooling from memory",
    "int8 pooling", "int16 pooling", "fp16 pooling", "maximum", "minimum",
    "average", "global pooling", "pooling with padding", "pooling with a notch",
    "average of one row or column",
};

static unsigned drawn[ARRAY_SIZE(feature_name)];

static void mark(const char *name, bool seen)
{
    unsigned i;

    for (i = 0; seen; i++) {
        if (i == ARRAY_SIZE(feature_name)) {
            printf("# no such feature: %s\n", name);
            abort();
        }
        if (!strcmp(feature_name[i], name)) {
            drawn[i]++;
            return;
        }
    }
}

/* --- Drawing --- */

/* Small enough for a few stages, big enough to saturate at times. */
static void draw_stage(Stage *s, bool bn)
{
    bool flt = is_float(c.in);
    static const int algo[] = { MAXIMUM, MINIMUM, ADD, MINUS };
    bool memory = one_in(2);
    int i;

    s->on = !one_in(3);
    s->alu = one_in(3) ? -1 : algo[rnd() % 4];
    s->mul = !one_in(3);
    s->alu_mem = s->on && memory && s->alu >= 0;
    s->mul_mem = s->on && memory && !s->alu_mem && s->mul;
    s->packed = !bn && !flt && s->alu_mem && s->mul && one_in(2);
    s->mul_mem = s->mul_mem || s->packed;
    s->prelu = s->mul && one_in(4);
    s->relu = one_in(3);
    s->relux = s->relu && one_in(2);
    s->cmp = flt ? float_bits(rnd_in(1, 4000) / 64.0f)
                 : (uint32_t)rnd_in(0, 100000);
    s->shift = flt || one_in(3) ? 0 : rnd_in(1, 16);
    s->shift_neg = flt ? 0 : one_in(2) ? s->shift : rnd_in(0, 16);
    for (i = 0; i < MAX_C; i++) {
        s->alu_bits[i] = flt ? rnd_bits(FP32) : rnd_bits(INT32);
        s->mul_bits[i] = flt ? rnd_half() : rnd();
        if (i && !s->alu_mem) {
            s->alu_bits[i] = s->alu_bits[0];
        }
        if (i && !s->mul_mem) {
            s->mul_bits[i] = s->mul_bits[0];
        }
    }
    if (!s->on) {
        s->shift = s->shift_neg = rnd_in(0, 1) && !flt ? 14 : 0;
        s->alu = -1;
        s->packed = s->mul = s->prelu = s->relu = s->relux = false;
    }
}

static void draw_ew_cvt(void)
{
    Ew *e = &c.ew;
    bool narrow = c.in == INT8 || c.in == INT16;

    /* The conversion is what widens halves; multipliers stay as they are. */
    e->cvt = e->op >= 0 && e->from != REGISTER &&
             (narrow ? !one_in(4) : c.in == FP16 && e->op != MUL);
    e->cvt_scale = 1;
    if (!e->cvt || !narrow) {
        return;
    }
    e->cvt_first = rnd() % 2;
    e->cvt_away = rnd() % 2;
    if (e->op != MUL) {
        e->cvt_offset = rnd_in(-300, 300);
        e->cvt_scale = rnd_in(-0x7fff, 0x7fff);
        e->cvt_shift = rnd_in(0, 20);
    } else if (c.in == INT8) {
        e->cvt_offset = rnd_in(-100, 100);
        e->cvt_scale = rnd_in(-100, 100);
        e->cvt_shift = rnd_in(0, 4);
    } else {
        e->cvt_scale = rnd_in(-0x7fff, 0x7fff);
        e->cvt_shift = 15;
    }
}

static void draw_ew(void)
{
    Ew *e = &c.ew;
    bool flt = is_float(c.in);
    int i;

    e->op = -1;
    e->cvt_scale = 1;
    e->on = !one_in(4);
    if (!e->on) {
        return;
    }
    if (!one_in(5)) {
        do {
            e->op = rnd_in(MAXIMUM, MUL);
        } while (!flt && (e->op == DIV || e->op == FLOOR || e->op == CEIL));
        e->from = rnd_in(REGISTER, CHANNEL);
        e->prelu = e->op == MUL && one_in(3);
    }
    if (e->op >= 0 && !flt && one_in(2)) {
        e->shift = e->prelu ? 0 : rnd_in(0, 15);
        e->shift_neg = rnd_in(0, 15);
    }
    e->relu = one_in(3);
    e->relux = e->relu && one_in(2);
    e->cmp = flt ? float_bits(rnd_in(1, 4000) / 64.0f)
                 : (uint32_t)rnd_in(0, 100000);
    draw_ew_cvt();
    for (i = 0; i < ARRAY_SIZE(e->bits); i++) {
        e->bits[i] = e->op == MUL && flt ? rnd_half() : rnd_bits(c.in);
    }
    if (e->from == REGISTER && e->op >= 0) {
        e->bits[0] = flt ? e->op == MUL ? rnd_half() : rnd_bits(FP32)
                         : e->op == MUL && c.in != INT32
                           ? (uint32_t)rnd_in(-32768, 32767) : rnd_bits(INT32);
    }
}

/* Tables that meet at 0, or anywhere. */
static void draw_lut(void)
{
    Lut *l = &c.lut;
    int i, k;

    l->on = c.ew.on && one_in(4);
    if (!l->on) {
        return;
    }
    if (c.ew.op >= 0 && c.ew.from == REGISTER) {
        c.ew.op = MAXIMUM;
        c.ew.prelu = false;
        c.ew.shift = c.ew.shift_neg = 0;
        c.ew.bits[0] = 0;
    }
    l->both = l->above = 1;
    l->below = 0;
    for (k = 0; k < 2; k++) {
        Table *t = &l->table[k];

        t->shift = rnd_in(0, 9);
        t->start = k ? 0 : -((int64_t)LUT_STEPS << t->shift);
        t->under = rnd();
        t->over = rnd();
        t->under_shift = rnd_in(0, 31);
        t->over_shift = rnd_in(0, 31);
        for (i = 0; i <= LUT_STEPS; i++) {
            t->y[i] = rnd();
        }
    }
    if (one_in(2)) {
        mark("LUT tables apart or overlapping", true);
        l->both = rnd() % 2;
        l->above = rnd() % 2;
        l->below = rnd() % 2;
        for (k = 0; k < 2; k++) {
            l->table[k].start = rnd_in(-100000, 100000);
        }
    }
}

static void draw_cvt(void)
{
    c.scale = 1;
    if (is_float(c.in)) {
        c.minus_exp = c.lut.on ? rnd_in(4, 15) : one_in(4) ? rnd_in(1, 6) : 0;
        c.cvt_first = c.lut.on ? rnd() % 2 : c.minus_exp;
        if (c.lut.on) {
            c.offset = rnd_in(-500, 500);
            c.scale = rnd_in(-3, 3);
        }
        return;
    }
    c.cvt_first = rnd() % 2;
    c.cvt_away = rnd() % 2;
    c.minus_exp = one_in(4) ? rnd_in(1, 20) : 0;
    c.offset = rnd_in(-200, 200);
    if (!one_in(3)) {
        c.scale = rnd_in(-0x7fff, 0x7fff);
        c.shift = rnd_in(0, 30);
    } else {
        /* Ties are common. */
        c.shift = rnd_in(0, 3);
        c.scale = one_in(2) ? 1 : -1;
    }
}

static void draw_types(void)
{
    static const struct {
        int in, out;
    } fly[] = {
        { INT8, INT8 }, { INT16, INT16 }, { INT16, INT32 }, { INT32, INT32 },
        { INT32, FP32 }, { FP16, FP16 }, { FP16, FP32 }, { FP32, FP32 },
    }, conv[] = {
        { INT8, INT8 }, { INT8, INT8 }, { INT8, INT32 }, { INT8, FP32 },
        { FP16, FP16 }, { FP16, FP32 },
    };
    unsigned i = rnd() % (c.feed == FLY ? ARRAY_SIZE(fly) : ARRAY_SIZE(conv));

    c.in = c.feed == FLY ? fly[i].in : conv[i].in;
    c.out = c.feed == FLY ? fly[i].out : conv[i].out;
}

static void draw_pool(void)
{
    static const int type[] = { INT8, INT16, FP16 };
    Pool *p = &c.pool;
    bool padded;

    p->on = true;
    p->method = rnd_in(0, 2);
    p->use_cnt = rnd_in(0, 7);
    if (c.feed == MEMORY) {
        c.out = c.in = type[rnd() % 3];
        p->rdma_width = c.out == INT8 ? rnd_in(1, 2) : 2;
    }
    p->sy = rnd_in(1, 4);
    p->sx = rnd_in(1, 4);
    if (one_in(5)) {
        p->kh = c.h;
        p->kw = c.w;
    } else {
        do {
            p->kh = rnd_in(1, 16);
            p->kw = rnd_in(1, 16);
            p->top = rnd_in(0, MIN(p->kh - 1, 7));
            p->left = rnd_in(0, MIN(p->kw - 1, 7));
            p->bottom = rnd_in(0, 7);
            p->right = rnd_in(0, 7);
            padded = p->top || p->left || p->bottom || p->right;
        } while (c.h + p->top + p->bottom < p->kh ||
                 c.w + p->left + p->right < p->kw ||
                 (padded && MAX(p->kh, p->kw) == 16));
    }
    p->h = (c.h + p->top + p->bottom - p->kh) / p->sy + 1;
    p->w = (c.w + p->left + p->right - p->kw) / p->sx + 1;
    if (p->method) {
        /* A maximum has to have something to choose from. */
        p->h = MIN(p->h, (c.h + p->top - 1) / p->sy + 1);
        p->w = MIN(p->w, (c.w + p->left - 1) / p->sx + 1);
    }
    p->pad = rnd_bits(c.out);
    c.notch = one_in(2) ? rnd_in(1, 9) : 0;
    c.group = 1;
    c.group_gap = 0;
}

static void draw_shape(void)
{
    c.h = rnd_in(1, MAX_SIDE);
    c.w = rnd_in(1, MAX_SIDE);
    if (c.feed == FLY || c.feed == MEMORY) {
        c.c = rnd_in(1, MAX_C / 2);
        c.written = one_in(2) ? c.c : rnd_in(c.c, MAX_C);
        c.in_notch = one_in(2) ? rnd_in(0, 20) : 0;
        return;
    }
    c.k = one_in(2) ? 1 : 3;
    c.ic = rnd_in(1, 4) * (c.in == FP16 ? 8 : 16);
    c.ic = c.feed == CONV ? MIN(c.ic, 32) : MIN(c.ic, c.in == FP16 ? 32 : 64);
    c.c = c.feed == DEPTHWISE ? rnd_in(1, c.ic) : rnd_in(1, 20) * 2;
    c.written = gives_depthwise_words() ? 64 : (c.c + 31) / 32 * 32;
}

static void draw_layout(void)
{
    c.notch = one_in(3) ? rnd_in(1, 5) : 0;
    c.gap = one_in(3) ? rnd_in(1, 9) : 0;
    c.group = gives_depthwise_words() ? 1 << rnd_in(0, 2) : rnd_in(1, 4);
    c.group_gap = one_in(3) ? rnd_in(1, 9) : 0;
}

/* Multipliers on their own come for whole surfaces, or one alone. */
static void fit_multipliers(void)
{
    bool alone = (c.bs.mul_mem && !c.bs.packed) ||
                 (c.bn.mul_mem && !c.bn.packed);

    if (alone && c.written > 8) {
        c.written = (c.written + 7) / 8 * 8;
    }
}

static void draw_cpend(void)
{
    int i;

    c.cpend = c.feed != FLY && !is_float(c.in) && one_in(2) &&
              (c.feed == DEPTHWISE || c.out != INT32);
    c.cpend_mem = c.cpend && c.bs.packed;
    for (i = 0; i < MAX_C; i++) {
        c.cpend_op[i] = i && !c.cpend_mem ? c.cpend_op[0]
                                          : rnd_in(-128, 127);
    }
}

static void draw_dpu(void)
{
    int i;

    draw_types();
    draw_shape();
    draw_layout();
    draw_stage(&c.bs, false);
    draw_stage(&c.bn, true);
    fit_multipliers();
    draw_cpend();
    draw_ew();
    draw_lut();
    draw_cvt();
    c.pend = c.out == FP32 ? 0 : rnd();
    for (i = 0; i < ARRAY_SIZE(x_bits); i++) {
        x_bits[i] = rnd_bits(c.in);
    }
    for (i = 0; i < ARRAY_SIZE(w_bits); i++) {
        w_bits[i] = rnd_bits(c.in);
    }
}

static void draw_memory(void)
{
    int i;

    draw_shape();
    draw_pool();
    for (i = 0; i < ARRAY_SIZE(want); i++) {
        want[i] = rnd_bits(c.out);
    }
}

static void mark_stages(void)
{
    const Stage *s = &c.bs;

    mark("BS ALU from a register", s->on && s->alu >= 0 && !s->alu_mem);
    mark("BS ALU by DMA", s->alu_mem && !s->packed);
    mark("BS multiplier from a register", s->on && s->mul && !s->mul_mem);
    mark("BS multiplier by DMA", s->mul_mem && !s->packed);
    mark("packed BS operands", s->packed);
    mark("CPEND by DMA", c.cpend_mem);
    mark("BS PReLU", s->prelu);
    mark("BS ReLU", s->relu);
    mark("BS ReLUX", s->relux);
    mark("shift of a bypassed multiplier", s->on && !s->mul && s->shift);
    mark("shifts that differ", s->on && s->shift != s->shift_neg);
    s = &c.bn;
    mark("BN ALU from a register", s->on && s->alu >= 0 && !s->alu_mem);
    mark("BN ALU by DMA", s->alu_mem);
    mark("BN multiplier", s->on && s->mul && !s->mul_mem);
    mark("BN multiplier by DMA", s->mul_mem);
    mark("BN PReLU", s->prelu);
    mark("PReLU that shifts", s->prelu && s->shift);
    mark("BN ReLUX", s->relux);
}

static void mark_ew(void)
{
    static const char *const op[] = {
        "EW max", "EW min", "EW add", "EW div", "EW minus", "EW abs",
        "EW neg", "EW floor", "EW ceil", "EW mul",
    };
    const Ew *e = &c.ew;

    if (e->op >= 0) {
        mark(op[e->op], true);
        mark("EW operand per element", e->from == ELEMENT && c.feed == FLY);
        mark("EW operand per channel", e->from == CHANNEL && c.feed == FLY);
        mark("EW operand per channel of a convolution",
             e->from == CHANNEL && c.feed != FLY);
        mark("EW operand from a register", e->from == REGISTER);
        mark("EW pair of MRDMA and ERDMA", e->from == ELEMENT &&
                                           c.feed != FLY);
    }
    mark("EW PReLU", e->prelu);
    mark("EW ReLU", e->relu);
    mark("EW ReLUX", e->relux);
    mark("EW operand conversion", e->cvt && !is_float(c.in));
    mark("EW operand without conversion",
         e->op >= 0 && e->from != REGISTER && !e->cvt && size_of(c.in) < 4 &&
         !is_float(c.in));
    mark("EW truncation", e->shift || e->shift_neg);
    mark("EW truncation of sums", e->op == ADD && e->shift);
    mark("LUT of integers", c.lut.on && !is_float(c.in));
    mark("LUT of floats", c.lut.on && is_float(c.in));
    mark("LUT behind a convolution", c.lut.on && c.feed != FLY);
    mark("LUT behind an EW operation",
         c.lut.on && e->op >= 0 && e->from != REGISTER);
    mark("LUT with a floor", c.lut.on && e->op >= 0 && e->from == REGISTER);
}

static void mark_dpu(void)
{
    static const char *const name[] = {
        [INT8] = "int8", [INT16] = "int16", [FP16] = "fp16",
        [INT32] = "int32", [FP32] = "fp32",
    };
    char types[32];

    snprintf(types, sizeof(types), "%s -> %s", name[c.in], name[c.out]);
    mark(types, true);
    mark("flying DPU", c.feed == FLY);
    mark("convolution", c.feed == CONV);
    mark("depthwise convolution", c.feed == DEPTHWISE);
    mark_stages();
    mark_ew();
    mark("OUT_CVT of LUT codes multiplies first",
         c.lut.on && is_float(c.in) && !c.cvt_first);
    mark("OUT_CVT offset first", c.cvt_first && !is_float(c.in));
    mark("OUT_CVT ties away from zero", c.cvt_away);
    mark("OUT_CVT negative scale", c.scale < 0);
    mark("MINUS_EXP of floats", c.minus_exp && is_float(c.in) && !c.lut.on);
    mark("padded channels", c.written > c.c);
    mark("notch of output lines", c.notch);
    mark("groups of output surfaces", c.group > 1);
}

static void mark_pool(void)
{
    const Pool *p = &c.pool;

    mark("DPU to PPU, flying", c.feed == FLY);
    mark("DPU to PPU, convolution", c.feed == CONV || c.feed == DEPTHWISE);
    mark("pooling from memory", c.feed == MEMORY);
    mark("int8 pooling", c.out == INT8);
    mark("int16 pooling", c.out == INT16);
    mark("fp16 pooling", c.out == FP16);
    mark("average", p->method == 0);
    mark("maximum", p->method == 1);
    mark("minimum", p->method == 2);
    mark("global pooling", p->kh == c.h && p->kw == c.w && !p->top);
    mark("pooling with a notch", c.notch);
    mark("pooling with padding", p->top || p->left || p->bottom || p->right);
    mark("average of one row or column", p->method == 0 &&
                                         (p->kh == 1 || p->kw == 1));
}

/* --- One program --- */

static void tell(void)
{
    printf("# feed %d, %d -> %d, %d x %d x %d of %d, BS %x %d/%d, "
           "BN %x %d/%d, EW op %d from %d, LUT %d, cvt %d >> %d + %d, "
           "pool %d: %d of %d x %d\n", c.feed, c.in, c.out, c.h, c.w, c.c,
           c.written, stage_cfg(&c.bs), c.bs.shift, c.bs.shift_neg,
           stage_cfg(&c.bn), c.bn.shift, c.bn.shift_neg, c.ew.op, c.ew.from,
           c.lut.on, c.scale, c.shift, c.offset, c.pool.on, c.pool.method,
           c.pool.kh, c.pool.kw);
}

static void draw(void)
{
    memset(&c, 0, sizeof(c));
    c.feed = rnd() % 8;
    c.feed = c.feed < 4 ? FLY : c.feed < 6 ? CONV :
             c.feed == 6 ? DEPTHWISE : MEMORY;
    if (c.feed == MEMORY) {
        c.group = 1;
        draw_memory();
    } else {
        draw_dpu();
        if ((c.out == INT8 || c.out == INT16 || c.out == FP16) && one_in(4)) {
            draw_pool();
        }
    }
}

static bool one_program(void)
{
    static Prog p;
    NpuTaskOptions opt = { .write_padding = true };
    const char *why = NULL;

    draw();
    store_operands();
    build(&p);
    if (c.feed != MEMORY) {
        ref_dpu();
    }
    if (c.pool.on) {
        ref_pool();
    }
    if (run_prog(&p, opt, &why) != NPU_TASK_RUN) {
        printf("# refused: %s\n", why);
        tell();
        return false;
    }
    if (!check()) {
        tell();
        return false;
    }
    if (c.feed != MEMORY) {
        mark_dpu();
    }
    if (c.pool.on) {
        mark_pool();
    }
    return true;
}

static void test_random(unsigned programs)
{
    unsigned i, wrong = 0, missing = 0;
    char what[64];

    for (i = 0; i < programs && wrong < 5; i++) {
        wrong += !one_program();
    }
    snprintf(what, sizeof(what), "%u random programs of DPU and PPU", programs);
    report(!wrong, what);
    for (i = 0; i < ARRAY_SIZE(feature_name); i++) {
        printf("# %5u %s\n", drawn[i], feature_name[i]);
        missing += !drawn[i];
    }
    report(!missing, "every feature was drawn");
}

/*
 * What public probes measured of int8 averages on RK3588: the nearest integer,
 * ties to even where both reciprocals are exact, else towards zero.
 */
static int probed_average(int sum, int n, bool exact)
{
    int size = sum < 0 ? -sum : sum, q = size / n, twice = size % n * 2;

    if (twice > n || (twice == n && exact && q % 2)) {
        q++;
    }
    return sum < 0 ? -q : q;
}

static bool average_of(int kh, int kw, int sum, bool exact)
{
    NpuTaskOptions opt = { .write_padding = true };
    int n = kh * kw, i, left = sum;
    const char *why;
    Prog p;

    memset(&c, 0, sizeof(c));
    c = (Case) { .feed = MEMORY, .in = INT8, .out = INT8, .h = kh, .w = kw,
                 .c = 16, .written = 16, .group = 1 };
    c.pool = (Pool) { .on = true, .kh = kh, .kw = kw, .sy = 1, .sx = 1,
                      .h = 1, .w = 1, .rdma_width = 1 };
    for (i = 0; i < n; i++) {
        int v = ref_clip(left, -128, 127), ch;

        left -= v;
        for (ch = 0; ch < 16; ch++) {
            want[i * 16 + ch] = v & 0xff;
        }
    }
    store_operands();
    build(&p);
    return run_prog(&p, opt, &why) == NPU_TASK_RUN &&
           (int8_t)*at(ADDR_C) == probed_average(sum, n, exact);
}

static void test_probed_averages(void)
{
    static const struct {
        int h, w;
        bool exact;
    } k[] = {
        { 2, 2, true }, { 4, 4, true }, { 2, 3, false }, { 3, 3, false },
        { 3, 2, false },
    };
    bool ok = true;
    unsigned i;
    int sum;

    for (i = 0; i < ARRAY_SIZE(k); i++) {
        int n = k[i].h * k[i].w;

        for (sum = -128 * n; sum <= 127 * n && ok; sum++) {
            ok = average_of(k[i].h, k[i].w, sum, k[i].exact);
            if (!ok) {
                printf("# %d x %d, sum %d\n", k[i].h, k[i].w, sum);
            }
        }
    }
    report(ok, "int8 averages of every sum, as probes measured them");
}

/* With the other reading of an idle PPU_RDMA the same task runs. */
static void test_idle_rdma(void)
{
    NpuTaskOptions opt = { .write_padding = true, .idle_ppu_rdma = true };
    const char *why = NULL;
    unsigned i;
    Prog p;

    base(FLY, INT16, true);
    for (i = 0; i < ARRAY_SIZE(x_bits); i++) {
        x_bits[i] = rnd_bits(INT16);
        c.ew.bits[i] = rnd_bits(INT16);
    }
    store_operands();
    build(&p);
    p.n--;
    start(&p, 0x78);
    ref_dpu();
    ref_pool();
    report(run_prog(&p, opt, &why) == NPU_TASK_RUN && check(),
           "PPU_RDMA that idles, by option");
}

/* Random changes to random programs: no crash, no access out of bounds. */
static void test_fuzz(unsigned programs)
{
    unsigned verdict[3] = { 0 }, i, j, k;
    static Prog p;

    for (i = 0; i < programs; i++) {
        NpuTaskOptions opt = { .write_padding = one_in(2),
                               .idle_ppu_rdma = one_in(2) };
        const char *why;

        draw();
        store_operands();
        build(&p);
        for (j = 0; j < 8; j++) {
            for (k = rnd_in(1, 3); k; k--) {
                p.cmd[rnd() % p.n] ^= 1ull << rnd_in(16, 47);
            }
            verdict[run_prog(&p, opt, &why)]++;
        }
    }
    report(verdict[NPU_TASK_RUN] && verdict[NPU_TASK_STALL] &&
           verdict[NPU_TASK_UNIMP], "fuzzed programs");
    printf("# %u ran, %u refused, %u stalled\n", verdict[NPU_TASK_RUN],
           verdict[NPU_TASK_UNIMP], verdict[NPU_TASK_STALL]);
}

int main(int argc, char **argv)
{
    unsigned programs = 2000;
    uint64_t seed = 88172645463325252ull;
    int i;

    for (i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick")) {
            programs = 1000;
        } else if (!strcmp(argv[i], "--programs") && i + 1 < argc) {
            programs = strtoul(argv[++i], NULL, 0);
        } else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 0);
        }
    }
    rnd_state = seed ? seed : 1;
    printf("TAP version 13\n# seed %llu\n", (unsigned long long)seed);
    test_idle_rdma();
    test_random(programs);
    test_probed_averages();
    test_fuzz(programs);
    printf("1..%u\n", tests);
    return failures != 0;
}
