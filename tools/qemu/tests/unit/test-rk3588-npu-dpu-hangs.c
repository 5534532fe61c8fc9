/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the RK3588 NPU's DPU and PPU must hang at, on silicon or for want of
 * knowledge.
 */
#include "dpu-prog.h"

typedef struct Write {
    uint32_t reg, value;
} Write;

static void expect(const char *what, NpuVerdict verdict,
                   const Write *writes, unsigned n, uint32_t more)
{
    NpuTaskOptions opt = { .write_padding = true };
    const char *why = NULL;
    uint32_t enable;
    NpuVerdict got;
    unsigned i;
    Prog p;

    store_operands();
    build(&p);
    if (run_prog(&p, opt, &why) != NPU_TASK_RUN) {
        printf("# refused without it: %s\n", why);
        report(false, what);
        return;
    }
    memset(at(ADDR_C), POISON, OUT_SIZE);
    enable = p.cmd[--p.n] >> 16;
    for (i = 0; i < n; i++) {
        put(&p, writes[i].reg, writes[i].value);
    }
    start(&p, enable | more);
    got = run_prog(&p, opt, &why);
    for (i = 0; i < OUT_SIZE && *at(ADDR_C + i) == POISON; i++) {
    }
    report(got == verdict && i == OUT_SIZE, what);
    printf("# %s\n", got == NPU_TASK_RUN ? "accepted" : why);
}

#define EXPECT(what, verdict, ...)                                      \
    do {                                                                \
        static const Write w[] = { __VA_ARGS__ };                       \
        expect(what, verdict, w, ARRAY_SIZE(w), 0);                     \
    } while (0)

static void test_stage_hangs(void)
{
    const NpuVerdict stall = NPU_TASK_STALL, unimp = NPU_TASK_UNIMP;

    base(CONV, INT8, false);
    EXPECT("BS multipliers that nothing fetches", stall,
           { 0x4040, 0x42 }, { 0x4048, 1 }, { 0x501c, 2 });
    EXPECT("BS operands of a disabled client", stall,
           { 0x4040, 0x20150 }, { 0x501c, 3 });
    EXPECT("BN operands that nothing fetches", stall,
           { 0x4060, 0x20150 }, { 0x5028, 0 });
    EXPECT("CPEND operands that nothing fetches", stall,
           { 0x4050, 1 }, { 0x501c, 2 });
    EXPECT("packed operands of BN", stall,
           { 0x4060, 0x20140 }, { 0x4068, 1 }, { 0x5028, 0xe });
    EXPECT("packed operands of which the multiplier takes none", unimp,
           { 0x4040, 0x20150 }, { 0x501c, 0xe });
    EXPECT("ALU and CPEND operands without multipliers", unimp,
           { 0x4040, 0x20150 }, { 0x501c, 6 });
    EXPECT("shifts from memory", unimp,
           { 0x4040, 0x42 }, { 0x4048, 2 });
    EXPECT("BS division", unimp, { 0x4040, 0x30050 });
    EXPECT("ERDMA alone beside a CORE", unimp,
           { 0x4070, 0x904202c0 }, { 0x5034, 0x40000004 });
    base(CONV, FP16, false);
    EXPECT("packed operands of floats", unimp,
           { 0x4040, 0x20140 }, { 0x4048, 1 }, { 0x501c, 0xe });
    EXPECT("shift of floats", unimp, { 0x4040, 0x42 }, { 0x4048, 0x100 });
    base(CONV, INT8, false);
    c.w = 1;
    EXPECT("ERDMA alone beside a CORE for a column", stall,
           { 0x4070, 0x904202c0 }, { 0x5034, 0x40000004 });
    EXPECT("operands per channel of a convolution from a pair", unimp,
           { 0x4070, 0x804202c0 }, { 0x5034, 4 }, { 0x5044, 0x7d00 });
    base(FLY, FP16, false);
    c.c = c.written = 12;
    EXPECT("multipliers of an incomplete second surface", unimp,
           { 0x4040, 0x42 }, { 0x4048, 1 }, { 0x501c, 8 });
}

static void test_ew_hangs(void)
{
    const NpuVerdict unimp = NPU_TASK_UNIMP;

    base(FLY, INT16, false);
    EXPECT("EW operands by channel and pixel", unimp,
           { 0x4070, 0x20820280 | 1 << 6 }, { 0x5034, 0x80000008 });
    EXPECT("EW and ERDMA of different modes", unimp, { 0x5034, 8 });
    EXPECT("EW and ERDMA of different sizes", unimp, { 0x5034, 0x40000004 });
    EXPECT("integer division", unimp, { 0x4070, 0x108302c0 });
    EXPECT("integer floor", unimp, { 0x4070, 0x108702c0 });
    EXPECT("unknown algorithm", unimp, { 0x4070, 0x108902c0 });
    EXPECT("binary results", unimp, { 0x4070, 0x109202c0 });
    EXPECT("truncation by more than 62", unimp, { 0x4078, 63u << 22 | 1 });
    EXPECT("multipliers above 16 bits", unimp,
           { 0x4070, 0x108002c4 }, { 0x4078, 2 });
    EXPECT("register operands that differ", unimp,
           { 0x4070, 0x10820380 }, { 0x5034, 1 }, { 0x4094, 5 });
    EXPECT("conversion of register operands", unimp,
           { 0x4070, 0x10820280 }, { 0x5034, 1 }, { 0x4078, 3 });
    EXPECT("int16 to int8", unimp, { 0x4010, 1 << 26 | 1 });
    EXPECT("a LUT of which half was not written", unimp,
           { 0x4070, 0x10820240 }, { 0x4108, 0x68 });
    EXPECT("transposed output", unimp, { 0x4050, 1 << 27 | 2 });
    EXPECT("output to both sides", unimp, { 0x400c, 0x1e7 });
    base(FLY, FP16, false);
    EXPECT("truncation of floats", unimp,
           { 0x4070, 0x108003c4 }, { 0x4078, 1u << 22 | 1 });
    EXPECT("arithmetic of OUT_CVT on floats", unimp, { 0x4080, 1 });
    EXPECT("MINUS_EXP without an offset first", unimp, { 0x4088, 1 << 12 });
}

static void test_pool_hangs(void)
{
    static const Write wide[] = { { 0x7030, 3 } };
    const NpuVerdict unimp = NPU_TASK_UNIMP;

    base(MEMORY, INT8, true);
    expect("RDMA of words", unimp, wide, 1, 0);
    EXPECT("RDMA of nibbles", unimp, { 0x7030, 0 });
    EXPECT("indices", unimp, { 0x6024, 0x40000011 });
    EXPECT("maximum of padding alone", unimp, { 0x6040, 0x2 });
    EXPECT("averages without padding", unimp, { 0x6024, 0x18 });
    EXPECT("16x16 with padding of 7", unimp, { 0x6034, 0x1010f0f },
           { 0x6040, 0x7777 });
    EXPECT("padding that does not fit", unimp,
           { 0x6024, 0x10 }, { 0x6040, 0x1000 }, { 0x6044, 0x80 });
    EXPECT("fp32 pooling", unimp, { 0x6084, 5 });
    EXPECT("pooling of what no DPU hands over", unimp, { 0x6024, 1 });
    EXPECT("a fly-in from nowhere", unimp, { 0x6084, 8 });
    base(FLY, INT16, true);
    EXPECT("a flying PPU behind a DPU", unimp, { 0x6024, 0x11 });
    EXPECT("a PPU that is not told of a flying DPU", unimp, { 0x6084, 1 });
    EXPECT("pooling in another precision", unimp, { 0x6084, 8 | 2 });
    EXPECT("pooling of another cube", unimp,
           { 0x6014, 7 }, { 0x6020, 7 });
    EXPECT("a DPU that writes to memory instead", unimp, { 0x400c, 0x1e5 });
    expect("PPU_RDMA with nothing to feed", NPU_TASK_STALL, NULL, 0, 0x40);
}

int main(void)
{
    printf("TAP version 13\n");
    test_stage_hangs();
    test_ew_hangs();
    test_pool_hangs();
    printf("1..%u\n", tests);
    return failures != 0;
}
