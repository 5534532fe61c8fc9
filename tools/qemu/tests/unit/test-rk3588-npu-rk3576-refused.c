/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs for the RK3576 that run but for one register, size or distance, and
 * why they are refused.
 */
#include "rk3576-conv.h"
#include "rk3576-product.h"

static const Refused refused[] = {
    { 0x1068, 1, "a register that nobody has seen" },
    { 0x1ffc, 1, "a register that nobody has seen" },
    { 0x1014, 0x10000009,
      "half of a pair in one place, a whole task in another" },
    { 0x1014, 0x00010009, "bits of CNA_CONV_CON3 that nobody has seen" },
    { 0x1014, 1, "stride of 0" },
    { 0x100c, 0x2000a000, "packed pixels, or lines without groups" },
    { 0x100c, 0x2000f006, "ARGB_IN" },
    { 0x100c, 3, "CNA convolution mode" },
    { 0x100c, 1, "blocks disagree about the convolution mode" },
    { 0x100c, 0x120, "blocks disagree about the precision" },
    { 0x100c, 0x70, "input precision" },
    { 0x1018, 0xc0000404,
      "rows retained in CBUF against the rows that are fetched" },
    { 0x1018, 0x404, "CBUF without its bit 30" },
    { 0x101c, 16, "weight bytes do not match the kernels" },
    { 0x1020, 16, "bytes per kernel do not match its shape" },
    { 0x1034, 1, "CNA and CORE disagree about the output size" },
    { 0x1040, 0x10000010,
      "fetch that resumes elsewhere than behind kept rows" },
    { 0x1048, 0, "input converter but of packed bytes" },
    { 0x1080, 0, "windows outside the padded input" },
    { 0x1090, 8, "gaps between lines of the input" },
    { 0x4010, 0xa0000000, "output of another precision" },
    { 0x4038, 0x53, "BS of this layer" },
    { 0x4050, 0x80011111, "BS_OW of this many channels" },
    { 0x4060, 0x403, "BN of unknown use" },
    { 0x4060, 0x402, "operands of BN in memory" },
    { 0x407c, 0x8002c0c1, "EW of unknown use" },
    { 0x407c, 0x8002c0c0, "RDMA of this layer" },
    { 0x40a4, 0, "clamp of the output" },
    { 0x40b8, 7, "SURF_ADD against the stride of surfaces" },
    { 0x501c, 0x108, "operands of BS" },
    { 0x5028, 0x1a, "operands of BN in memory" },
};

/* A convolution that runs, but for one register. */
static void test_refused(void)
{
    static Case k = {
        .h = 9, .w = 8, .ic = 32, .oc = 48, .kh = 3, .kw = 3, .sy = 1, .sx = 1,
        .top = 1, .left = 1, .bottom = 1, .right = 1, .oh = 9, .ow = 8,
        .scale = 1, .relux = HIGH,
    };
    const Part whole = { .rows = 9, .in_rows = 9, .top = 1, .bottom = 1 };
    unsigned i;

    random_tensors(&k);
    for (i = 0; i < ARRAY_SIZE(refused); i++) {
        const Refused *r = &refused[i];
        const char *why = NULL;
        NpuVerdict v;
        Prog p;

        put_program(&p, &k, &whole);
        p.n--;
        put(&p, r->reg, r->value);
        start(&p, CONV);
        v = run_prog(&p, options, &why);
        report(v == NPU_TASK_UNIMP && !strcmp(why, r->why),
               "%04x = %x is refused: %s", r->reg, r->value,
               v == NPU_TASK_RUN ? "it runs" : why);
    }
    free(k.x);
    free(k.wt);
}

static void test_windows(void)
{
    static Case k = {
        .h = 64, .w = 64, .ic = 64, .oc = 32, .kh = 1, .kw = 1, .sy = 1,
        .sx = 1, .oh = 64, .ow = 64, .scale = 1, .relux = HIGH,
    };
    Part whole = { .rows = 64, .in_rows = 64 };
    static uint32_t regs[NPU_REGFILE_WORDS];
    NpuTaskOptions opt = options;
    const char *why = NULL;
    static NpuTask t;
    unsigned i, j;
    Prog p;

    for (i = 0; i < 2; i++) {
        k.h = whole.in_rows = whole.rows = k.oh = 64 + i;
        memset(regs, 0, sizeof(regs));
        /* What a reset leaves, and no program writes. */
        regs[0x300c / 4] = 0x07800800;
        put_program(&p, &k, &whole);
        for (j = 0; j < p.n - 1; j++) {
            NpuCmd cmd = npu_cmd_decode(p.cmd[j]);

            regs[cmd.reg / 4] = cmd.value;
        }
        report(npu_task_decode(&t, regs, CONV, &opt, &why) == NPU_TASK_RUN &&
               !npu_task_cbuf_short(&t) == !i,
               "%u rows of 64 granules %s the window of 4096", 64 + i,
               i ? "exceed" : "fill");
    }
}

static const Refused refused_int4[] = {
    { 0x100c, 0x00400000, "int4 weights but of products with halves" },
    { 0x100c, 0x20600121, "int4 weights but of products with halves" },
    { 0x100c, 0x20400120, "blocks disagree about the precision" },
    { 0x1014, 10, "product of halves with windows" },
    { 0x1080, 1, "product of halves with windows" },
    { 0x1038, 0x80000007, "product of halves in a task of several" },
    { 0x1038, 0x40000007, "product of halves in a task of several" },
    { 0x1020, 128, "bytes per kernel do not match its shape" },
    { 0x1030, 0x800003, "two sizes of a kernel" },
    { 0x2810, 1, "registers of products against the window of CBUF" },
    { 0x2818, 0x1c000000, "registers of products against the window of CBUF" },
    { 0x2820, 0x38, "registers of products against the window of CBUF" },
    { 0x3018, 0x10000001, "blocks disagree about the precision" },
    { 0x4010, 0x40000002, "output of a product of halves but floats" },
    { 0x4010, 0x80000002, "output of a product of halves but floats" },
    { 0x4010, 0xa0000000, "output of a product of halves but floats" },
    { 0x4028, 1, "CUBE_NOTCH of this layer" },
    { 0x4030, 0x1f0710, "write DMA of this layer" },
    { 0x4038, 0x100092, "BS of this layer" },
    { 0x4044, 1, "operands of BS" },
    { 0x4050, 0x21111, "BS_OW of this many channels" },
    { 0x4060, 0x902, "clamp of words" },
    { 0x407c, 0x8002c0c0, "a second tensor but of bytes" },
    { 0x40ac, 1, "OUT_CVT arithmetic with floats" },
    { 0x40b0, 0x10001, "FP32TOFP16_EN of words" },
    { 0x40b8, 7, "SURF_ADD against the stride of surfaces" },
    /* Of those with RDMA. */
    { 0x500c, 3, "DPU and RDMA cubes disagree" },
    { 0x5014, 15, "DPU and RDMA cubes disagree" },
    { 0x501c, 0, "BRDMA of this layer" },
    { 0x5034, 0x4000004c, "ERDMA of this layer" },
    { 0x5044, 0x280a1, "RDMA of this layer" },
};

static const Refused refused_product[] = {
    { 0x100c, 0x200120, "convolution without RDMA but of halves" },
    { 0x1090, 8, "rows of a product that do not follow each other" },
    { 0x1094, 4, "rows of a product that do not follow each other" },
    { 0x401c, 4, "rows of a product that do not follow each other" },
    { 0x4010, 0x40000002, "output of a product of halves but floats" },
    { 0x4028, 0, "SURF_ADD against the stride of surfaces" },
    { 0x40b8, 4, "SURF_ADD against the stride of surfaces" },
};

static void report_refused(const Prog *p, const char *want, const char *what)
{
    const char *why = NULL;
    NpuVerdict v = run_prog(p, options, &why);

    report(v == NPU_TASK_UNIMP && !strcmp(why, want), "%s is refused: %s",
           what, v == NPU_TASK_RUN ? "it runs" : why);
}

static void test_refused_int4(void)
{
    Product k = {
        .int4 = true, .m = 4, .rows = 4, .k = 128, .n = 32, .lines = true,
    };
    char what[40];
    unsigned i;
    Prog p;

    for (i = 0; i < ARRAY_SIZE(refused_int4); i++) {
        const Refused *r = &refused_int4[i];

        k.rdma = r->reg >= 0x5000;
        put_product(&p, &k);
        put(&p, r->reg, r->value);
        start(&p, enable_product(&k));
        snprintf(what, sizeof(what), "%04x = %x of int4 weights", r->reg,
                 r->value);
        report_refused(&p, r->why, what);
    }
    k.rdma = false;
    k.int4 = false;
    for (i = 0; i < ARRAY_SIZE(refused_product); i++) {
        const Refused *r = &refused_product[i];

        put_product(&p, &k);
        put(&p, r->reg, r->value);
        start(&p, CONV_NO_RDMA);
        snprintf(what, sizeof(what), "%04x = %x of a product", r->reg,
                 r->value);
        report_refused(&p, r->why, what);
    }
    k.int4 = true;
    k.m = 3;
    put_product(&p, &k);
    start(&p, CONV_NO_RDMA);
    report_refused(&p, "int4 weights for an odd number of rows",
                   "int4 weights of 3 rows");
    k.m = 4;
    k.n = 24;
    put_product(&p, &k);
    start(&p, CONV_NO_RDMA);
    report_refused(&p, "product of halves whose kernels do not fill groups",
                   "int4 weights of 24 kernels");
    k.n = 32;
    k.k = 144;
    put_product(&p, &k);
    put(&p, 0x1028, 4 * 18 / 4 << 16 | 143);
    start(&p, CONV_NO_RDMA);
    report_refused(&p, "product of halves whose channels do not fill groups",
                   "int4 weights of 144 channels");
}

/* Other convolutions without operands, and with a notch. */
static void test_refused_no_rdma(void)
{
    static Case k = {
        .h = 4, .w = 4, .ic = 32, .oc = 16, .kh = 1, .kw = 1, .sy = 1,
        .sx = 1, .oh = 4, .ow = 4, .scale = 1, .relux = HIGH,
    };
    Prog p;

    put_program(&p, &k, &(const Part) { .rows = 4, .in_rows = 4 });
    p.n--;
    start(&p, CONV_NO_RDMA);
    report_refused(&p, "convolution without RDMA but of halves",
                   "a convolution of bytes without RDMA");
    p.n--;
    put(&p, 0x4028, 4);
    start(&p, CONV);
    report_refused(&p, "CUBE_NOTCH of this layer", "a notch of bytes");
}

static const Refused refused_halves[] = {
    { 0x4060, 0x903, "LUT of halves without a factor" },
    { 0x4060, 0x402, "operands of BN in memory" },
    { 0x4088, 0, "clamp of EW" },
    { 0x40b0, 0x4000, "FP32TOFP16_EN against the output precision" },
    { 0x501c, 0x710, "operands of BS" },
    { 0x5034, 1, "ERDMA of this layer" },
};

static const Refused refused_second[] = {
    { 0x407c, 0x810f4094, "a second tensor of such a convolution" },
    { 0x4080, 0x10000, "bits of DPU_EW_CVT_OFFSET that nobody has seen" },
    { 0x40a4, 0, "clamp of the output" },
    { 0x5034, 0x40000044, "ERDMA of this layer" },
    { 0x5040, 36, "surfaces of an EW operand that is not there" },
    { 0x504c, 0, "surfaces with a notch" },
    { 0x506c, 0, "surfaces with a notch" },
};

static void test_refused_ends(Case k, const Refused *r, unsigned n,
                              const char *kind)
{
    Part whole = { .rows = k.oh, .in_rows = k.h };
    char what[40];
    unsigned i;
    Prog p;

    for (i = 0; i < n; i++) {
        put_program(&p, &k, &whole);
        p.n--;
        put(&p, r[i].reg, r[i].value);
        start(&p, CONV);
        snprintf(what, sizeof(what), "%04x = %x %s", r[i].reg, r[i].value,
                 kind);
        report_refused(&p, r[i].why, what);
    }
}

/* What halves look up, and convolutions that a tensor is added to. */
static void test_refused_lut_and_second(void)
{
    const char *why = NULL;
    Case k = {
        .h = 4, .w = 8, .ic = 32, .oc = 32, .kh = 1, .kw = 1, .sy = 1,
        .sx = 1, .oh = 4, .ow = 8, .scale = 0x4000, .out_shift = 14,
        .relux = HIGH, .half = true, .lut = true, .lut_start = -0x4000,
        .bn = 4, .exp = 15,
    };
    unsigned i;
    Prog p;

    put_alone(&p, false, 1, 1, 16);
    for (i = 0; i < 1026; i++) {
        if (i % 513 == 0) {
            put(&p, 0x4100, i ? 0x30000 : 0x20000);
        }
        put(&p, 0x4104, i);
    }
    start(&p, ALONE);
    report(run_prog(&p, options, &why) == NPU_TASK_RUN, "tables are loaded");
    test_refused_ends(k, refused_halves, ARRAY_SIZE(refused_halves),
                      "of a LUT of halves");
    k.half = k.lut = false;
    k.bn = k.exp = 0;
    k.second = true;
    test_refused_ends(k, refused_second, ARRAY_SIZE(refused_second),
                      "of a second tensor");
    k.layer = true;
    put_program(&p, &k, &(Part) { .rows = 4, .in_rows = 4 });
    p.n--;
    put(&p, 0x501c, 0x114);
    start(&p, CONV);
    report_refused(&p, "a second tensor of such a convolution",
                   "one beside a zero point for all channels");
}

/* Surfaces of two tensors, wherever these are. */
static void test_distance(void)
{
    static Case k = {
        .h = 4, .w = 4, .ic = 32, .oc = 16, .kh = 1, .kw = 1, .sy = 1,
        .sx = 1, .oh = 4, .ow = 4, .scale = 1, .relux = HIGH,
    };
    static const uint32_t distance[] = { 16, 0xfffffff, 0x10000000 };
    Part whole = { .rows = 4, .in_rows = 4 };
    static uint32_t regs[NPU_REGFILE_WORDS];
    NpuTaskOptions opt = options;
    static NpuTask t;
    unsigned i, j;
    Prog p;

    put_program(&p, &k, &whole);
    for (i = 0; i < ARRAY_SIZE(distance); i++) {
        const char *why = NULL;
        bool fits = i < 2;

        memset(regs, 0, sizeof(regs));
        regs[0x300c / 4] = 0x07800800;
        for (j = 0; j < p.n - 1; j++) {
            NpuCmd cmd = npu_cmd_decode(p.cmd[j]);

            regs[cmd.reg / 4] = cmd.value;
        }
        regs[0x1094 / 4] = distance[i];
        report(npu_task_decode(&t, regs, CONV, &opt, &why) ==
               (fits ? NPU_TASK_RUN : NPU_TASK_UNIMP) &&
               (fits || !strcmp(why, "surfaces that are 4 GiB apart")),
               "surfaces %u atoms apart are %s", distance[i],
               fits ? "taken" : "refused");
    }
}

static NpuVerdict run_on(NpuEncoding encoding, const Case *k, uint16_t reg,
                         uint32_t value, uint32_t enable, const char **why)
{
    const Part whole = { .rows = k->oh, .in_rows = k->h };
    NpuTaskOptions opt = options;
    Prog p;

    opt.encoding = encoding;
    put_program(&p, k, &whole);
    p.n--;
    put(&p, 0x1010, encoding == NPU_ENCODING_RV1126B ? 0x3fff : 0xfff);
    put(&p, reg, value);
    start(&p, enable);
    memset(at(ADDR_Y), POISON, 0x1000);
    return run_prog(&p, opt, why);
}

/* Are weights inside CBUF that end with bank @end? */
static bool fits_on(NpuEncoding encoding, const Case *k, uint32_t end)
{
    static uint32_t regs[NPU_REGFILE_WORDS];
    const Part whole = { .rows = k->oh, .in_rows = k->h };
    NpuTaskOptions opt = options;
    const char *why = NULL;
    static NpuTask t;
    unsigned i;
    Prog p;

    opt.encoding = encoding;
    memset(regs, 0, sizeof(regs));
    /* What a reset leaves, and no program writes. */
    regs[0x300c / 4] = 0x07800800;
    put_program(&p, k, &whole);
    for (i = 0; i < p.n - 1; i++) {
        NpuCmd cmd = npu_cmd_decode(p.cmd[i]);

        regs[cmd.reg / 4] = cmd.value;
    }
    regs[0x1010 / 4] = encoding == NPU_ENCODING_RV1126B ? 0x3fff : 0xfff;
    regs[0x1038 / 4] = end;
    return npu_task_decode(&t, regs, CONV, &opt, &why) == NPU_TASK_RUN &&
           !npu_task_cbuf_short(&t);
}

/* The same computation, but for what its programs have otherwise. */
static void test_rv1126b(void)
{
    static Case k = {
        .h = 4, .w = 4, .ic = 32, .oc = 32, .kh = 1, .kw = 1, .sy = 1,
        .sx = 1, .oh = 4, .ow = 4, .scale = 1, .relux = HIGH,
    };
    static const struct {
        uint16_t reg;
        uint32_t value;
        uint32_t enable;
        const char *why;
    } refused[] = {
        { 0x1010, 0xfff, CONV, "CONV_CON2" },
        { 0x1014, 0x10000009, CONV_PAIR,
          "half of a pair on a chip with one core" },
    };
    static uint8_t want[0x1000];
    const char *why = NULL;
    NpuVerdict v;
    unsigned i;
    bool ok;

    random_tensors(&k);
    lay_features(&k);
    lay_weights(&k);
    lay_operands(&k);
    ok = run_on(NPU_ENCODING_RK3576, &k, 0x1018, 0x40000404, CONV, &why) ==
         NPU_TASK_RUN;
    memcpy(want, at(ADDR_Y), sizeof(want));
    ok = ok && run_on(NPU_ENCODING_RV1126B, &k, 0x1018, 0x40000202, CONV,
                      &why) == NPU_TASK_RUN;
    report(ok && !memcmp(want, at(ADDR_Y), sizeof(want)),
           "a convolution on an RV1126B gives what the RK3576's does: %s",
           why ? why : "it runs");
    v = run_on(NPU_ENCODING_RK3576, &k, 0x1010, 0x3fff, CONV, &why);
    report(v == NPU_TASK_UNIMP && !strcmp(why, "CONV_CON2"),
           "the RV1126B's number of grains is refused on an RK3576");
    report(fits_on(NPU_ENCODING_RV1126B, &k, 8) &&
           !fits_on(NPU_ENCODING_RV1126B, &k, 9) &&
           fits_on(NPU_ENCODING_RK3576, &k, 9),
           "an RV1126B's CBUF ends behind eight banks");
    for (i = 0; i < ARRAY_SIZE(refused); i++) {
        v = run_on(NPU_ENCODING_RV1126B, &k, refused[i].reg, refused[i].value,
                   refused[i].enable, &why);
        report(v == NPU_TASK_UNIMP && !strcmp(why, refused[i].why),
               "on an RV1126B %04x = %x is refused: %s", refused[i].reg,
               refused[i].value, why);
    }
    free(k.x);
    free(k.wt);
}

int main(void)
{
    rnd_state = 0x3576;
    test_refused();
    test_rv1126b();
    test_windows();
    test_distance();
    test_refused_int4();
    test_refused_no_rdma();
    test_refused_lut_and_second();
    printf("1..%u\n", tests);
    return failures != 0;
}
