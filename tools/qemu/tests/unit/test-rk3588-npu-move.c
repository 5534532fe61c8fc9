/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of the RK3588 NPU model's moves: cubes that DPU and DMA engines count
 * by different shapes, notches, enlarging.  The references move elements of
 * tensors; all of memory must be as they leave it.
 */
#define MEM_SIZE        (1u << 20)
#include "harness.h"
#include "compute/numeric.h"

#define ADDR_A          (MEM_BASE + 0x10000)
#define ADDR_B          (MEM_BASE + 0x40000)
#define ADDR_C          (MEM_BASE + 0x80000)
#define ATOM            16

static uint8_t expected[MEM_SIZE];

/* A tensor in memory: surfaces of lines of atoms. */
typedef struct Tensor {
    uint32_t base;
    int w, h;               /* of the whole, which tiles are part of */
} Tensor;

static uint32_t atom_at(const Tensor *t, int s, int y, int x)
{
    return t->base + ((s * t->h + y) * t->w + x) * ATOM;
}

static void expect_atom(uint32_t to, uint32_t from)
{
    memcpy(expected + (to - MEM_BASE), mem + (from - MEM_BASE), ATOM);
}

static void scramble(void)
{
    uint32_t i;

    for (i = 0; i < MEM_SIZE; i++) {
        mem[i] = rnd();
    }
    memcpy(expected, mem, MEM_SIZE);
}

static void finish(const Prog *p, const char *name)
{
    NpuTaskOptions opt = { .write_padding = false };
    const char *why = NULL;
    bool ok = run_prog(p, opt, &why) == NPU_TASK_RUN;
    uint32_t i;

    if (!ok) {
        printf("# refused: %s\n", why);
    }
    for (i = 0; i < MEM_SIZE && ok; i++) {
        ok = mem[i] == expected[i];
        if (!ok) {
            printf("# at %x: %02x, want %02x\n", MEM_BASE + i, mem[i],
                   expected[i]);
        }
    }
    report(ok, "%s", name);
}

static void refuse(const Prog *p, const char *name)
{
    NpuTaskOptions opt = { .write_padding = false };
    const char *why = NULL;
    bool ok = run_prog(p, opt, &why) == NPU_TASK_UNIMP;

    ok = ok && why && !memcmp(mem, expected, MEM_SIZE);
    report(ok, "refused: %s", name);
    printf("# %s\n", why ? why : "accepted");
}

/* --- The DPU alone, moving bytes --- */

typedef struct Move {
    int c;                  /* channels: bytes */
    int dpu_w, dpu_h;
    uint32_t from, to;
    int r_w, r_h, line_notch, surf_notch;       /* reading */
    int w_w, w_h, w_c, notch;                   /* writing */
    uint32_t surf_stride, surf_add;             /* atoms */
} Move;

static void move_prog(Prog *p, const Move *m)
{
    p->n = 0;
    put(p, 0x4004, 0xe);
    put(p, 0x5004, 0xe);
    put(p, 0x400c, 0x1e5);
    put(p, 0x4020, m->to);
    put(p, 0x4024, m->surf_stride * ATOM);
    put(p, 0x4030, m->dpu_w - 1);
    put(p, 0x4034, m->dpu_h - 1);
    put(p, 0x4038, m->notch << 16 | m->notch);
    put(p, 0x403c, (m->c - 1) << 16 | (m->c - 1));
    put(p, 0x4040, 0x53);
    put(p, 0x4050, 2);
    put(p, 0x4058, m->w_c - 1);
    put(p, 0x405c, (m->w_h - 1) << 16 | (m->w_w - 1));
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4078, 1);
    put(p, 0x4084, 1);
    put(p, 0x40c0, m->surf_add * ATOM);
    put(p, 0x500c, m->r_w - 1);
    put(p, 0x5010, m->r_h - 1);
    put(p, 0x5014, m->c - 1);
    put(p, 0x5018, m->from);
    put(p, 0x5034, 1);
    put(p, 0x5044, 0x7801);
    put(p, 0x5048, (uint32_t)m->line_notch << 19);
    put(p, 0x504c, (uint32_t)(m->surf_notch * ATOM));
    start(p, 0x18);
}

static Move copy_of(const Tensor *from, const Tensor *to, int c, int w, int h)
{
    return (Move) {
        .c = c, .dpu_w = w, .dpu_h = h, .from = from->base, .to = to->base,
        .r_w = w, .r_h = h, .line_notch = from->w - w,
        .surf_notch = from->w * (from->h - h) + from->w - w,
        .w_w = w, .w_h = h, .w_c = c, .notch = to->w - w,
        .surf_stride = to->w * to->h, .surf_add = to->w * to->h,
    };
}

/* As networks widen a tensor by one on all sides. */
static void test_borders(void)
{
    const Tensor a = { ADDR_A, 7, 5 }, c = { ADDR_C, 9, 7 };
    Move m = copy_of(&a, &c, 32, 7, 5);
    int s, x, y;
    Prog p;

    scramble();
    m.to = atom_at(&c, 0, 1, 1);
    for (s = 0; s < 2; s++) {
        for (y = 0; y < 5; y++) {
            for (x = 0; x < 7; x++) {
                expect_atom(atom_at(&c, s, y + 1, x + 1),
                            atom_at(&a, s, y, x));
            }
        }
    }
    move_prog(&p, &m);
    finish(&p, "into the middle of a wider tensor");

    /* One line, of a DPU that is told of all of them. */
    scramble();
    m = copy_of(&c, &c, 32, 9, 1);
    m.dpu_w = 9;
    m.dpu_h = 7;
    m.from = atom_at(&c, 0, 1, 0);
    for (s = 0; s < 2; s++) {
        for (x = 0; x < 9; x++) {
            expect_atom(atom_at(&c, s, 0, x), atom_at(&c, s, 1, x));
        }
    }
    move_prog(&p, &m);
    finish(&p, "one line of a larger cube");

    scramble();
    m = copy_of(&c, &c, 32, 1, 7);
    m.dpu_w = 9;
    m.dpu_h = 7;
    m.from = atom_at(&c, 0, 0, 1);
    for (s = 0; s < 2; s++) {
        for (y = 0; y < 7; y++) {
            expect_atom(atom_at(&c, s, y, 0), atom_at(&c, s, y, 1));
        }
    }
    move_prog(&p, &m);
    finish(&p, "one column of a larger cube");
}

/* Heads: surfaces nested in lines on one side, in columns on the other. */
static void test_heads(void)
{
    const Move m = {
        .c = 3 * 16, .dpu_w = 8, .dpu_h = 2, .from = ADDR_A, .to = ADDR_C,
        .r_w = 2, .r_h = 8, .line_notch = 4, .surf_notch = 2 - (7 * 6 + 2),
        .w_w = 8, .w_h = 2, .w_c = 3 * 16, .notch = 2 * 8,
        .surf_stride = 1, .surf_add = 8,
    };
    int s, i;
    Prog p;

    scramble();
    for (s = 0; s < 3; s++) {
        for (i = 0; i < 16; i++) {
            expect_atom(ADDR_C + (i / 8 * 24 + s * 8 + i % 8) * ATOM,
                        ADDR_A + (i / 2 * 6 + s * 2 + i % 2) * ATOM);
        }
    }
    move_prog(&p, &m);
    finish(&p, "2x8 to 8x2 with nested surfaces");
}

/* As deconvolutions are put together: each line is a group of the write DMA. */
static void test_spread(void)
{
    const Tensor a = { ADDR_A, 5, 4 }, c = { ADDR_C, 10, 8 };
    Move m = {
        .c = 16, .dpu_w = 5, .dpu_h = 4, .from = ADDR_A,
        .to = atom_at(&c, 0, 1, 1), .r_w = 5, .r_h = 4, .w_w = 1, .w_h = 5,
        .w_c = 4 * 16, .notch = 1, .surf_stride = 80, .surf_add = 20,
    };
    int x, y;
    Prog p;

    scramble();
    for (y = 0; y < 4; y++) {
        for (x = 0; x < 5; x++) {
            expect_atom(atom_at(&c, 0, 2 * y + 1, 2 * x + 1),
                        atom_at(&a, 0, y, x));
        }
    }
    move_prog(&p, &m);
    finish(&p, "to every other line and column");

    scramble();
    m.w_h = 6;
    move_prog(&p, &m);
    refuse(&p, "a write DMA that wants more than there is");
    m.w_h = 4;
    move_prog(&p, &m);
    refuse(&p, "a write DMA that wants less than there is");
    m.w_h = 5;
    m.dpu_h = 3;
    move_prog(&p, &m);
    refuse(&p, "a DPU cube that is smaller than what MRDMA reads");
}

/* --- The same behind a convolution --- */

/* 1x1 kernels that hand each channel on; 32 channels, or 16 of them. */
static void identity_prog(Prog *p, int w, int h, int real)
{
    int i;

    memset(mem + (ADDR_B - MEM_BASE), 0, 32 * 32);
    for (i = 0; i < 32; i++) {
        mem[ADDR_B - MEM_BASE + i * 32 + i] = 1;
    }
    memcpy(expected, mem, MEM_SIZE);
    p->n = 0;
    put(p, 0x100c, 0);
    put(p, 0x1010, 1 << 4);
    put(p, 0x1014, 9);
    put(p, 0x1020, w << 16 | h);
    put(p, 0x1024, 31 << 16 | 32);
    put(p, 0x1028, w);
    put(p, 0x102c, w * h);
    put(p, 0x1030, 32 * 32);
    put(p, 0x1034, 32);
    put(p, 0x1038, 0x01010000 | 32);
    put(p, 0x1040, 11 << 4 | 1);
    put(p, 0x1044, DIV_ROUND_UP(w * 32, 128));
    put(p, 0x104c, 0xb);
    for (i = 0; i < 4; i++) {
        put(p, 0x1050 + 4 * i, 0x10000);
    }
    put(p, 0x1070, ADDR_A);
    put(p, 0x1078, 0xf000f);
    put(p, 0x107c, 4 * w);
    put(p, 0x1080, (uint32_t)(w * (h - 4)) & 0xfffffff);
    put(p, 0x1084, w << 16 | h);
    put(p, 0x1088, 32);
    put(p, 0x1110, ADDR_B);
    put(p, 0x3010, 1);
    put(p, 0x3014, (h - 1) << 16 | (w - 1));
    put(p, 0x3018, 31);
    put(p, 0x400c, 0x1e4);
    put(p, 0x4020, ADDR_C);
    put(p, 0x4030, w - 1);
    put(p, 0x4034, h - 1);
    put(p, 0x403c, (uint32_t)(real - 1) << 16 | 31);
    put(p, 0x4040, 0x53);
    put(p, 0x4050, 1 << 8 | 1 << 5 | 1 << 2 | 2);
    put(p, 0x4058, 31);
    put(p, 0x405c, (h - 1) << 16 | (w - 1));
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4078, 1);
    put(p, 0x4084, 1);
}

static void test_spread_conv(int real, const char *name)
{
    const Tensor a = { ADDR_A, 6, 3 }, c = { ADDR_C, 12, 6 };
    int s, x, y;
    Prog p;

    scramble();
    identity_prog(&p, 6, 3, real);
    put(&p, 0x4020, atom_at(&c, 0, 0, 1));
    put(&p, 0x4024, 12 * 6 * ATOM);
    put(&p, 0x4038, 0x10001);
    put(&p, 0x4058, 3 * 32 - 1);
    put(&p, 0x405c, 5 << 16);
    put(&p, 0x40c0, 24 * ATOM);
    start(&p, 0x0d);
    for (s = 0; s < real / 16; s++) {
        for (y = 0; y < 3; y++) {
            for (x = 0; x < 6; x++) {
                expect_atom(atom_at(&c, s, 2 * y, 2 * x + 1),
                            atom_at(&a, s, y, x));
            }
        }
    }
    finish(&p, name);
}

/* --- Enlarging --- */

/* @k times in both directions; halves are not looked at as such. */
static void enlarge_prog(Prog *p, int w, int h, int k, bool halves)
{
    int c = halves ? 8 : 16;

    p->n = 0;
    put(p, 0x400c, 0x1e5);
    put(p, 0x4010, halves ? 0x44000002 : 0x04000000);
    put(p, 0x4020, ADDR_C);
    put(p, 0x4024, w * k * ATOM);
    put(p, 0x4030, w * k - 1);
    put(p, 0x4034, h - 1);
    put(p, 0x4038, w * k * (k - 1) << 16 | w * k * (k - 1));
    put(p, 0x403c, (c - 1) << 16 | (c - 1));
    put(p, 0x4040, 0x53);
    put(p, 0x4050, (k - 1) * 0x124 | 2);
    put(p, 0x4058, c - 1);
    put(p, 0x405c, (h - 1) << 16 | (w * k - 1));
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4078, 1);
    put(p, 0x4084, 1);
    put(p, 0x40c0, w * h * k * k * ATOM);
    put(p, 0x500c, w - 1);
    put(p, 0x5010, h - 1);
    put(p, 0x5014, 7);
    put(p, 0x5018, ADDR_A);
    put(p, 0x5034, 1);
    put(p, 0x5044, halves ? 0xf841 : 0xf801);
    put(p, 0x5048, 0x1000 | (k - 1) * 0x249);
}

static void test_enlarge(int k, bool halves, const char *name)
{
    const Tensor a = { ADDR_A, 5, 3 }, c = { ADDR_C, 5 * k, 3 * k };
    int x, y;
    Prog p;

    scramble();
    for (y = 0; y < 3 * k; y++) {
        for (x = 0; x < 5 * k; x++) {
            expect_atom(atom_at(&c, 0, y, x), atom_at(&a, 0, y / k, x / k));
        }
    }
    enlarge_prog(&p, 5, 3, k, halves);
    start(&p, 0x18);
    finish(&p, name);
}

static void refuse_enlarging(uint16_t reg, uint32_t value, const char *name)
{
    Prog p;

    scramble();
    enlarge_prog(&p, 4, 4, 2, false);
    put(&p, reg, value);
    start(&p, 0x18);
    refuse(&p, name);
}

/* --- Transposing --- */

static void transpose_prog(Prog *p, int w, int h, int c)
{
    p->n = 0;
    put(p, 0x400c, 0x1e5);
    put(p, 0x4010, 0x24000001);
    put(p, 0x4020, ADDR_C);
    put(p, 0x4030, w - 1);
    put(p, 0x4034, h - 1);
    put(p, 0x403c, (c - 1) << 16 | (c - 1));
    put(p, 0x4040, 0x53);
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4078, 1);
    put(p, 0x4084, 1);
    put(p, 0x500c, w - 1);
    put(p, 0x5010, h - 1);
    put(p, 0x5014, c - 1);
    put(p, 0x5018, ADDR_A);
    put(p, 0x5034, 1);
    put(p, 0x5044, 0xf821);
}

/* Lines of 24 atoms become columns: eight of each line are a surface's. */
static void columns_prog(Prog *p)
{
    transpose_prog(p, 8, 5, 24);
    put(p, 0x400c, 0x400001e5);
    put(p, 0x4024, 5 * ATOM);
    put(p, 0x4038, 35 << 16 | 35);
    put(p, 0x4050, 0x7fe);
    put(p, 0x4058, 0x8000000 | 23);
    put(p, 0x405c, 2 << 16 | 4);
    put(p, 0x40c0, 40 * ATOM);
    put(p, 0x5048, 16 << 19);
    put(p, 0x504c, (uint32_t)((8 - (4 * 24 + 8)) * ATOM));
}

static void test_columns(void)
{
    int x, y;
    Prog p;

    scramble();
    for (y = 0; y < 5; y++) {
        for (x = 0; x < 24; x++) {
            expect_atom(ADDR_C + (x * 5 + y) * ATOM,
                        ADDR_A + (y * 24 + x) * ATOM);
        }
    }
    columns_prog(&p);
    start(&p, 0x18);
    finish(&p, "atoms of lines to columns");
}

/* Positions of 16 bytes become rows of 48 positions, one for each byte. */
static void rows_prog(Prog *p)
{
    transpose_prog(p, 16, 3, 8);
    put(p, 0x4024, 3 * ATOM);
    put(p, 0x4038, 23 << 16 | 23);
    put(p, 0x4050, 0x80007fe);
    put(p, 0x4058, 2 << 16 | 7);
    put(p, 0x405c, 1 << 16);
    put(p, 0x40c0, ATOM);
}

static void test_rows(void)
{
    int pos, byte;
    Prog p;

    scramble();
    for (pos = 0; pos < 48; pos++) {
        for (byte = 0; byte < ATOM; byte++) {
            expected[ADDR_C - MEM_BASE + byte * 48 + pos] =
                *at(ADDR_A + pos * ATOM + byte);
        }
    }
    rows_prog(&p);
    start(&p, 0x18);
    finish(&p, "bytes of positions to rows");
}

/* Halves of 80 positions become planes, one for each of 16 channels. */
static void planes_prog(Prog *p)
{
    transpose_prog(p, 20, 4, 16);
    put(p, 0x4024, 10 * ATOM);
    put(p, 0x4050, 0x80007fe);
    put(p, 0x4058, 0x8000000 | 1 << 16 | 15);
    put(p, 0x405c, 1 << 16 | 4);
    put(p, 0x40c0, 80 * ATOM);
}

static void expect_half(uint32_t to, uint32_t from)
{
    memcpy(expected + (to - MEM_BASE), mem + (from - MEM_BASE), 2);
}

static void test_planes(void)
{
    int pos, c;
    Prog p;

    scramble();
    for (pos = 0; pos < 80; pos++) {
        for (c = 0; c < 16; c++) {
            expect_half(ADDR_C + (c * 80 + pos) * 2,
                        ADDR_A + (c / 8 * 80 + pos) * ATOM + c % 8 * 2);
        }
    }
    planes_prog(&p);
    start(&p, 0x18);
    finish(&p, "halves of positions to planes");
}

/* And 16 planes of 24 positions become positions of 16 channels again. */
static void test_positions(void)
{
    int pos, c;
    Prog p;

    scramble();
    for (pos = 0; pos < 24; pos++) {
        for (c = 0; c < 16; c++) {
            expect_half(ADDR_C + (c / 8 * 24 + pos) * ATOM + c % 8 * 2,
                        ADDR_A + (c * 24 + pos) * 2);
        }
    }
    transpose_prog(&p, 1, 16, 24);
    put(&p, 0x4024, ATOM);
    put(&p, 0x4038, 23 << 16 | 23);
    put(&p, 0x4050, 0x80007fe);
    put(&p, 0x4058, 0x8000000 | 2 << 16 | 23);
    put(&p, 0x405c, 1 << 16);
    put(&p, 0x40c0, 8 * ATOM);
    put(&p, 0x5048, 2 << 19);
    put(&p, 0x504c, (uint32_t)((1 - (15 * 3 + 1)) * ATOM));
    start(&p, 0x18);
    finish(&p, "halves of planes to positions");
}

static void refuse_transposing(void (*prog)(Prog *p), uint16_t reg,
                               uint32_t value, const char *name)
{
    Prog p;

    scramble();
    prog(&p);
    put(&p, reg, value);
    start(&p, 0x18);
    refuse(&p, name);
}

static void test_transposing(void)
{
    test_columns();
    test_rows();
    test_planes();
    test_positions();
    refuse_transposing(columns_prog, 0x4050, 0x80007fe, "both at once");
    refuse_transposing(columns_prog, 0x4058, 23, "columns of bytes");
    refuse_transposing(rows_prog, 0x4058, 1 << 16 | 7, "rows of less");
    refuse_transposing(rows_prog, 0x405c, 0, "blocks of eight positions");
    refuse_transposing(planes_prog, 0x4050, 0x8000126, "blocks of ten halves");
    refuse_transposing(rows_prog, 0x4040, 0x12, "ReLU beside it");
}

/* --- Operands in surfaces further apart --- */

/* Halves of some columns of one line: x + y, exactly. */
static void add_prog(Prog *p, int from, int w, int line)
{
    const Tensor a = { ADDR_A, line, 1 }, b = { ADDR_B, line, 1 },
                 c = { ADDR_C, line, 1 };

    p->n = 0;
    put(p, 0x400c, 0x1e5);
    put(p, 0x4010, 0x48000002);
    put(p, 0x4020, atom_at(&c, 0, 0, from));
    put(p, 0x4024, line * ATOM);
    put(p, 0x4030, w - 1);
    put(p, 0x403c, 23 << 16 | 23);
    put(p, 0x4040, 0x53);
    put(p, 0x4050, 2);
    put(p, 0x4058, 23);
    put(p, 0x405c, w - 1);
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x108202c0);
    put(p, 0x4078, 1);
    put(p, 0x4084, 0x10001);
    put(p, 0x40c0, line * ATOM);
    put(p, 0x500c, w - 1);
    put(p, 0x5014, 23);
    put(p, 0x5018, atom_at(&a, 0, 0, from));
    put(p, 0x5034, 0x40000008);
    put(p, 0x5038, atom_at(&b, 0, 0, from));
    put(p, 0x5040, line * ATOM);
    put(p, 0x5044, 0x17849);
    put(p, 0x504c, (line - w) * ATOM);
    put(p, 0x506c, (line - w) * ATOM);
}

static uint16_t half_at(uint32_t addr)
{
    uint16_t v;

    memcpy(&v, at(addr), 2);
    return v;
}

static void tame_halves(uint32_t addr, int n)
{
    int i;

    for (i = 0; i < n; i++) {
        uint16_t v = npu_fp32_to_fp16(rnd_in(-4000, 4000) / 16.0f);

        memcpy(at(addr + 2 * i), &v, 2);
    }
}

static void test_add(int from, int w, int line, const char *name)
{
    int s, i;
    Prog p;

    scramble();
    tame_halves(ADDR_A, 3 * line * 8);
    tame_halves(ADDR_B, 3 * line * 8);
    memcpy(expected, mem, MEM_SIZE);
    for (s = 0; s < 3; s++) {
        for (i = 0; i < w * 8; i++) {
            uint32_t offset = (s * line + from) * ATOM + 2 * i;
            uint16_t sum = npu_fp32_to_fp16(
                npu_fp16_to_fp32(half_at(ADDR_A + offset)) +
                npu_fp16_to_fp32(half_at(ADDR_B + offset)));

            memcpy(expected + (ADDR_C - MEM_BASE) + offset, &sum, 2);
        }
    }
    add_prog(&p, from, w, line);
    start(&p, 0x18);
    finish(&p, name);
}

static void refuse_addition(uint16_t reg, uint32_t value, const char *name)
{
    Prog p;

    scramble();
    add_prog(&p, 0, 5, 12);
    put(&p, reg, value);
    start(&p, 0x18);
    refuse(&p, name);
}

/* --- The main input by two engines --- */

/* fp32 in surfaces of four channels to halves, times 0.5. */
static void pair_prog(Prog *p, int w, int h)
{
    p->n = 0;
    put(p, 0x400c, 0x800001e5);
    put(p, 0x4010, 0x54000005);
    put(p, 0x4020, ADDR_C);
    put(p, 0x4024, w * h * ATOM);
    put(p, 0x4030, w - 1);
    put(p, 0x4034, h - 1);
    put(p, 0x403c, 15 << 16 | 15);
    put(p, 0x4040, 0x42);
    put(p, 0x4048, 0x38000000);
    put(p, 0x4050, 2);
    put(p, 0x4058, 15);
    put(p, 0x405c, (h - 1) << 16 | (w - 1));
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4078, 1);
    put(p, 0x4084, 0x10001);
    put(p, 0x40c0, w * h * ATOM);
    put(p, 0x500c, w - 1);
    put(p, 0x5010, h - 1);
    put(p, 0x5014, 15);
    put(p, 0x5018, ADDR_A);
    put(p, 0x5034, 0x4000000c);
    put(p, 0x5038, ADDR_A + w * h * ATOM);
    put(p, 0x5040, 2 * w * h * ATOM);
    put(p, 0x5044, 0x2fba9);
    put(p, 0x504c, w * h * ATOM);
    put(p, 0x506c, w * h * ATOM);
}

static void test_pair(void)
{
    const int w = 5, h = 3;
    int i, ch;
    Prog p;

    scramble();
    for (ch = 0; ch < 16; ch++) {
        for (i = 0; i < w * h; i++) {
            float v = rnd_in(-9999, 9999) / 128.0f;
            uint16_t half = npu_fp32_to_fp16(v / 2);

            memcpy(at(ADDR_A + (ch / 4 * w * h + i) * ATOM + ch % 4 * 4), &v,
                   4);
            memcpy(expected + (ADDR_C - MEM_BASE) +
                   (ch / 8 * w * h + i) * ATOM + ch % 8 * 2, &half, 2);
        }
    }
    memcpy(expected + (ADDR_A - MEM_BASE), at(ADDR_A), w * h * 4 * ATOM);
    pair_prog(&p, w, h);
    start(&p, 0x18);
    finish(&p, "words of MRDMA and ERDMA in turns to halves");
}

static void refuse_pair(uint16_t reg, uint32_t value, const char *name)
{
    Prog p;

    scramble();
    pair_prog(&p, 4, 4);
    put(&p, reg, value);
    start(&p, 0x18);
    refuse(&p, name);
}

/* --- The largest channel of each position --- */

static void row_max_prog(Prog *p, int c, int w)
{
    p->n = 0;
    put(p, 0x400c, 0x20001e5 | DIV_ROUND_UP(w, 8) << 9);
    put(p, 0x4010, 0x48000002);
    put(p, 0x4014, 0xfbff);
    put(p, 0x4020, ADDR_C + 6);
    put(p, 0x4030, w - 1);
    put(p, 0x4034, 7 << 22);
    put(p, 0x403c, (c - 1) << 16 | (ROUND_UP(c, 16) - 1));
    put(p, 0x4040, 0x53);
    put(p, 0x4050, 2);
    put(p, 0x4058, ROUND_UP(c, 16) - 1);
    put(p, 0x405c, w - 1);
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4078, 1);
    put(p, 0x4084, 1);
    put(p, 0x4088, 0x40000000);
    put(p, 0x500c, w - 1);
    put(p, 0x5014, ROUND_UP(c, 16) - 1);
    put(p, 0x5018, ADDR_A);
    put(p, 0x5034, 3);
    put(p, 0x5044, 0x17841);
    put(p, 0x504c, 5 * ATOM);
}

static void test_row_max(int c, int w, const char *name)
{
    int x, ch;
    Prog p;

    scramble();
    tame_halves(ADDR_A, ROUND_UP(c, 16) * (w + 5));
    memcpy(expected, mem, MEM_SIZE);
    for (x = 0; x < w; x++) {
        uint16_t most = 0xfc00;

        for (ch = 0; ch < c; ch++) {
            uint16_t v = half_at(ADDR_A + (ch / 8 * (w + 5) + x) * ATOM +
                                 ch % 8 * 2);

            if (npu_fp16_to_fp32(v) > npu_fp16_to_fp32(most)) {
                most = v;
            }
        }
        memcpy(expected + (ADDR_C + 6 - MEM_BASE) + 2 * x, &most, 2);
    }
    row_max_prog(&p, c, w);
    start(&p, 0x18);
    finish(&p, name);
}

static void refuse_row_max(uint16_t reg, uint32_t value, const char *name)
{
    Prog p;

    scramble();
    row_max_prog(&p, 16, 8);
    put(&p, reg, value);
    start(&p, 0x18);
    refuse(&p, name);
}

/* --- A channel of bytes, without the rest of its atoms --- */

static void bytes_prog(Prog *p, int w, int h)
{
    p->n = 0;
    put(p, 0x400c, 0xa0001e5 | DIV_ROUND_UP(w * h, 16) << 9);
    put(p, 0x4010, 0x24000001);
    put(p, 0x4020, ADDR_C + 6);
    put(p, 0x4030, w - 1);
    put(p, 0x4034, h - 1);
    put(p, 0x403c, 7);
    put(p, 0x4040, 0x53);
    put(p, 0x4050, 2);
    put(p, 0x4058, 7);
    put(p, 0x405c, (h - 1) << 16 | (w - 1));
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4078, 1);
    put(p, 0x4084, 1);
    put(p, 0x500c, w - 1);
    put(p, 0x5010, h - 1);
    put(p, 0x5014, 7);
    put(p, 0x5018, ADDR_A);
    put(p, 0x5034, 1);
    put(p, 0x5044, 0xf821);
}

static void test_bytes(int w, int h, const char *name)
{
    int i;
    Prog p;

    scramble();
    memcpy(expected, mem, MEM_SIZE);
    for (i = 0; i < w * h; i++) {
        expected[ADDR_C + 6 - MEM_BASE + i] = *at(ADDR_A + i * ATOM);
    }
    bytes_prog(&p, w, h);
    start(&p, 0x18);
    finish(&p, name);
}

static void refuse_bytes(uint16_t reg, uint32_t value, const char *name)
{
    Prog p;

    scramble();
    bytes_prog(&p, 16, 4);
    put(&p, reg, value);
    start(&p, 0x18);
    refuse(&p, name);
}

int main(void)
{
    rnd_state = 0x6d6f7665;

    test_borders();
    test_heads();
    test_spread();
    test_spread_conv(32, "a convolution to every other line and column");
    test_spread_conv(16, "the same with padding in its groups");
    test_enlarge(2, false, "bytes enlarged 2x2");
    test_enlarge(2, true, "halves enlarged 2x2");
    test_enlarge(4, true, "halves enlarged 4x4");
    test_enlarge(8, false, "bytes enlarged 8x8");
    refuse_enlarging(0x5048, 0x3249, "unpooling of maxima");
    refuse_enlarging(0x5048, 0x1049, "unpooling with gaps");
    refuse_enlarging(0x5064, 0x11, "padded unpooling");
    refuse_enlarging(0x4050, 2, "unpooling in groups of one");
    refuse_enlarging(0x4040, 0x12, "ReLU of what is moved as it is");
    refuse_enlarging(0x4084, 2, "scaling of what is moved as it is");
    refuse_enlarging(0x4010, 0x84000000, "conversion of what is moved");
    refuse_enlarging(0x5014, 15, "unpooling of two surfaces");
    test_transposing();
    test_add(0, 12, 12, "fp16 + fp16 of whole lines");
    test_add(5, 5, 12, "fp16 + fp16 of some columns");
    refuse_addition(0x506c, 6 * ATOM, "ERDMA notch against the stride");
    refuse_addition(0x5048, 1 << 19, "line notches beside an EW operand");

    test_pair();
    refuse_pair(0x5034, 1, "a pair without ERDMA");
    refuse_pair(0x400c, 0x1e5, "a pair that the DPU does not know of");
    refuse_pair(0x5044, 0x2f8a9, "a pair that RDMA does not know of");
    refuse_pair(0x5048, 1 << 19, "line notches of a pair");

    test_bytes(16, 4, "a channel of bytes without the rest of its atoms");
    test_bytes(13, 5, "the same, of 65 bytes");
    refuse_bytes(0x400c, 0xa0001e5 | 8 << 9,
                 "SURF_LEN of halfwords of a channel of bytes");
    refuse_bytes(0x400c, 0x60001e5 | 4 << 9, "another RGP_TYPE");
    refuse_bytes(0x403c, 1 << 16 | 7, "unaligned output of two channels");
    refuse_bytes(0x4084, 2, "scaling of bytes that are moved");

    test_row_max(48, 24, "the largest of 48 halves at 24 positions");
    test_row_max(41, 13, "the largest of 41 halves, 13 in part of an atom");
    refuse_row_max(0x4034, 1 << 22, "another MINMAX_CTL");
    refuse_row_max(0x4034, 0, "unaligned output of what is no maximum");
    refuse_row_max(0x400c, 0x3e5, "a maximum with aligned output");
    refuse_row_max(0x400c, 0x20005e5, "a maximum with too long a line");
    refuse_row_max(0x4060, 0x12, "ReLU beside a maximum");

    printf("1..%u\n", tests);
    return failures != 0;
}
