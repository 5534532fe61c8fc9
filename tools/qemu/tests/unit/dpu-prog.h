/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs that ask for the tasks of dpu-case.h, their operands in memory,
 * and what they leave there.
 */
#ifndef DPU_PROG_H
#define DPU_PROG_H

#include "dpu-case.h"

#define ADDR_X          (MEM_BASE + 0x00000)    /* main input */
#define ADDR_E          (MEM_BASE + 0x20000)    /* EW operands */
#define ADDR_BS         (MEM_BASE + 0x40000)
#define ADDR_BN         (MEM_BASE + 0x41000)
#define ADDR_W          (MEM_BASE + 0x50000)    /* weights */
#define ADDR_C          (MEM_BASE + 0x80000)    /* output */
#define OUT_SIZE        0x80000

/* --- Programs --- */

static inline uint32_t stage_cfg(const Stage *s)
{
    return !s->on ? 0x53 :
           (s->alu < 0 ? 2u : (uint32_t)s->alu << 16) | s->alu_mem << 8 |
           !s->relu << 6 | s->relux << 7 | s->prelu << 5 | !s->mul << 4;
}

static inline void put_stage(Prog *p, const Stage *s, bool bn)
{
    uint32_t reg = bn ? 0x4060 : 0x4040;
    uint32_t use = s->packed ? 7 : s->alu_mem ? 1 : s->mul_mem ? 4 : 0;

    put(p, reg, stage_cfg(s));
    put(p, reg + 4, s->alu_bits[0]);
    put(p, reg + 8, (uint32_t)s->mul_bits[0] << 16 | s->shift << 8 |
                    s->mul_mem);
    put(p, reg + 12, s->cmp);
    /* A disabled client says so. */
    put(p, bn ? 0x5028 : 0x501c, use ? use << 1 : 0x1f);
    put(p, bn ? 0x502c : 0x5020, bn ? ADDR_BN : ADDR_BS);
}

static inline void store_stage(const Stage *s, bool bn)
{
    uint8_t *base = at(bn ? ADDR_BN : ADDR_BS);
    int ch;

    for (ch = 0; ch < c.c; ch++) {
        if (s->packed) {
            uint8_t *eight = base + ch / 8 * 64;

            memcpy(eight + ch % 8 * 4, &s->alu_bits[ch], 4);
            memcpy(eight + 32 + ch % 8 * 2, &c.cpend_op[ch], 2);
            memcpy(eight + 48 + ch % 8 * 2, &s->mul_bits[ch], 2);
        } else if (s->alu_mem) {
            memcpy(base + ch * 4, &s->alu_bits[ch], 4);
        } else {
            memcpy(base + ch * 2, &s->mul_bits[ch], 2);
        }
    }
}

static inline void put_ew(Prog *p)
{
    const Ew *e = &c.ew;
    uint32_t size = size_of(c.in) == 1 ? 1 : size_of(c.in) == 2 ? 2 : 3;
    uint32_t mode = e->from == CHANNEL ? 0 : 1;
    bool reads = e->on && e->op >= 0 && e->from != REGISTER;
    uint32_t op = e->op < 0 ? 2 : e->op == MUL ? 4 : (uint32_t)e->op << 16;
    int i;

    put(p, 0x4070, !e->on ? 0x383 :
        op | (uint32_t)e->cvt_first << 31 | e->cvt_away << 30 | mode << 28 |
        size << 22 | e->relux << 10 | !e->relu << 9 | !e->cvt << 8 |
        !c.lut.on << 7 | reads << 6 | e->prelu << 5);
    put(p, 0x4074, e->cvt_offset);
    put(p, 0x4078, (uint32_t)e->shift << 22 | e->cvt_shift << 16 |
                   (e->cvt_scale & 0xffff));
    put(p, 0x407c, e->cmp);
    for (i = 0; i < 8; i++) {
        put(p, 0x4090 + 4 * i, e->bits[0]);
    }
    put(p, 0x5034, reads ? mode << 30 | size << 2 : 1);
    put(p, 0x5038, c.feed == FLY || e->from == CHANNEL
                   ? ADDR_E : ADDR_E + c.h * c.w * 16);
    put(p, 0x5040, e->from == CHANNEL ? 16 : c.h * c.w * 16);
}

static inline void store_ew(void)
{
    int bytes = size_of(c.in), per = 16 / bytes, pos, ch;

    for (pos = 0; pos < (c.ew.from == CHANNEL ? 1 : c.h * c.w); pos++) {
        for (ch = 0; ch < c.c; ch++) {
            int pitch = c.ew.from == CHANNEL ? 1 : c.h * c.w;

            memcpy(at(ADDR_E + (ch / per * pitch + pos) * 16 +
                      ch % per * bytes), &c.ew.bits[pos * c.c + ch], bytes);
        }
    }
}

static inline void put_lut(Prog *p)
{
    const Table *le = &c.lut.table[0], *lo = &c.lut.table[1];
    int i, k;

    for (k = 0; k < 2; k++) {
        put(p, 0x4100, 1 << 17 | k << 16);
        for (i = 0; i <= LUT_STEPS; i++) {
            put(p, 0x4104, (uint16_t)c.lut.table[k].y[i]);
        }
    }
    put(p, 0x4108, c.lut.both << 6 | c.lut.above << 5 | c.lut.below << 4 |
                   2 << 2);
    put(p, 0x410c, lo->shift << 16 | le->shift << 8);
    for (k = 0; k < 2; k++) {
        const Table *t = &c.lut.table[k];

        put(p, 0x4110 + 8 * k, t->start);
        put(p, 0x4114 + 8 * k, t->start + ((int64_t)LUT_STEPS << t->shift));
        put(p, 0x4120 + 8 * k, (uint32_t)(uint16_t)t->over << 16 |
                               (uint16_t)t->under);
        put(p, 0x4124 + 8 * k, t->over_shift << 5 | t->under_shift);
    }
}

static inline int surf_stride(void)
{
    return ((c.w + c.notch) * c.h + c.gap) * 16;
}

static inline int surf_add(void)
{
    return surf_stride() * c.group + c.group_gap * 16;
}

static inline void put_dpu(Prog *p)
{
    uint32_t mode = c.feed == DEPTHWISE ? 3 : 0;
    bool pair = c.feed != FLY && c.ew.op >= 0 && c.ew.from == ELEMENT;
    bool to_half = c.out == FP16 && is_float(c.in);

    put(p, 0x4004, 0xe);
    put(p, 0x5004, 0xe);
    put(p, 0x400c, 0x1e0 | mode << 3 | (c.pool.on ? 2 : 4) |
                   (c.feed == FLY));
    put(p, 0x4010, (uint32_t)c.out << 29 | c.in << 26 | c.ew.shift_neg << 16 |
                   c.bn.shift_neg << 10 | c.bs.shift_neg << 4 | c.in);
    put(p, 0x4014, c.pend);
    put(p, 0x4020, ADDR_C);
    put(p, 0x4024, surf_stride());
    put(p, 0x4030, c.w - 1);
    put(p, 0x4034, c.h - 1);
    put(p, 0x4038, c.notch << 16 | c.notch);
    put(p, 0x403c, (c.c - 1) << 16 | (c.written - 1));
    put_stage(p, &c.bs, false);
    put(p, 0x4050, (c.group - 1) * 0x124 | !c.cpend << 1 | c.cpend_mem);
    put(p, 0x4054, (uint16_t)c.cpend_op[0]);
    put(p, 0x4058, c.written - 1);
    put(p, 0x405c, (c.h - 1) << 16 | (c.w - 1));
    put_stage(p, &c.bn, true);
    put_ew(p);
    put(p, 0x4080, c.offset);
    put(p, 0x4084, (c.scale & 0xffff) | to_half << 16);
    put(p, 0x4088, (uint32_t)c.cvt_first << 31 | c.cvt_away << 30 |
                   c.minus_exp << 12 | c.shift);
    put(p, 0x40c0, surf_add());
    put(p, 0x500c, c.w - 1);
    put(p, 0x5010, c.h - 1);
    put(p, 0x5014, c.written - 1);
    put(p, 0x5018, c.feed == FLY ? ADDR_X : ADDR_E);
    put(p, 0x5044, c.in << 15 | 15 << 11 | c.in << 5 | mode << 1 |
                   (c.feed == FLY ? (c.in == FP16) << 3 | 1 :
                    pair ? 5 << 8 : 1 << 4));
    put(p, 0x504c, (c.feed == FLY ? c.in_notch : c.h * c.w) * 16);
    put(p, 0x506c, pair ? c.h * c.w * 16 : 0);
}

static inline void put_cna(Prog *p)
{
    int bytes = size_of(c.in), kernels = c.feed == DEPTHWISE ? 1 : c.c;
    uint32_t mode = c.feed == DEPTHWISE ? 3 : 0;
    int pad = c.k / 2;

    put(p, 0x100c, c.in << 7 | c.in << 4 | mode);
    put(p, 0x1014, 1 << 3 | 1);
    put(p, 0x1020, c.w << 16 | c.h);
    put(p, 0x1024, (c.ic - 1) << 16 | c.ic);
    put(p, 0x1028, c.w);
    put(p, 0x102c, c.w * c.h);
    put(p, 0x1030, c.k * c.k * c.ic * bytes * kernels);
    put(p, 0x1034, c.k * c.k * c.ic * bytes);
    put(p, 0x1038, c.k << 24 | c.k << 16 | kernels);
    put(p, 0x1040, 6 << 4 | 6);
    put(p, 0x104c, 0xb);
    put(p, 0x1068, pad << 4 | pad);
    put(p, 0x1070, ADDR_X);
    put(p, 0x107c, 4 * c.w);
    put(p, 0x1080, (uint32_t)(c.w * (c.h - 4)) & 0xfffffff);
    put(p, 0x1084, c.w << 16 | c.h);
    put(p, 0x1088, c.ic);
    put(p, 0x1110, ADDR_W);
    put(p, 0x3010, c.in << 8 | (c.feed == DEPTHWISE) << 1 | 1);
    put(p, 0x3014, (c.h - 1) << 16 | (c.w - 1));
    put(p, 0x3018, c.written - 1);
}

static inline void put_pool(Prog *p)
{
    const Pool *o = &c.pool;
    bool flt = c.out == FP16, average = o->method == 0;
    /* Bits of the half 65536 / k, to which 1 / k in FP17 is equal. */
    uint32_t one = 0x7c00;

    put(p, 0x6004, 0xe);
    put(p, 0x600c, c.w - 1);
    put(p, 0x6010, c.h - 1);
    put(p, 0x6014, c.written - 1);
    put(p, 0x6018, o->w - 1);
    put(p, 0x601c, o->h - 1);
    put(p, 0x6020, c.written - 1);
    put(p, 0x6024, (uint32_t)c.notch << 16 | (c.feed == MEMORY) << 4 |
                   o->use_cnt << 5 | o->method);
    put(p, 0x6034, (o->sy - 1) << 20 | (o->sx - 1) << 16 | (o->kh - 1) << 8 |
                   (o->kw - 1));
    put(p, 0x6038, !average ? 0 : !flt ? recip_int(o->kw) :
                   o->kw == 1 ? one : half_bits(65536.0f / o->kw));
    put(p, 0x603c, !average ? 0 : !flt ? recip_int(o->kh) :
                   o->kh == 1 ? one : half_bits(65536.0f / o->kh));
    put(p, 0x6040, o->bottom << 12 | o->right << 8 | o->top << 4 | o->left);
    put(p, 0x6044, flt ? (uint32_t)o->pad :
                   (uint32_t)value_of(o->pad, c.out).i & 0x7ffff);
    put(p, 0x6070, ADDR_C);
    put(p, 0x607c, ((o->w + c.notch) * o->h + c.gap) * 16);
    put(p, 0x6084, (c.feed == FLY) << 3 | c.out);
    put(p, 0x60dc, 3);
    if (c.feed == MEMORY) {
        put(p, 0x7004, 0xe);
        put(p, 0x700c, c.w - 1);
        put(p, 0x7010, c.h - 1);
        put(p, 0x7014, c.written - 1);
        put(p, 0x701c, ADDR_X);
        put(p, 0x7024, (c.w + c.in_notch) * 16);
        put(p, 0x7028, (c.w + c.in_notch) * c.h * 16);
        put(p, 0x7030, o->rdma_width);
    }
}

static inline void build(Prog *p)
{
    static const uint32_t enable[] = {
        [FLY] = 0x18, [CONV] = 0x1d, [DEPTHWISE] = 0x1d, [MEMORY] = 0x60,
    };

    p->n = 0;
    if (c.feed == CONV || c.feed == DEPTHWISE) {
        put_cna(p);
    }
    if (c.feed != MEMORY) {
        put_dpu(p);
    }
    if (c.lut.on) {
        put_lut(p);
    }
    if (c.pool.on) {
        put_pool(p);
    }
    start(p, enable[c.feed] | (c.pool.on ? 0x20 : 0));
}

/* A tensor of rows, columns and channels as 16-byte atoms. */
static inline void store_cube(const uint32_t *bits, int channels, int type,
                       int line, int pitch)
{
    int bytes = size_of(type), per = 16 / bytes, i;

    for (i = 0; i < c.h * c.w * channels; i++) {
        int ch = i % channels, x = i / channels % c.w, y = i / channels / c.w;

        memcpy(at(ADDR_X + (ch / per * pitch + y * line + x) * 16 +
                  ch % per * bytes), &bits[i], bytes);
    }
}

/* Groups of kernels, then taps, then the kernels' channels, up to 32. */
static inline void store_weights(void)
{
    int bytes = size_of(c.in), group = c.in == FP16 ? 16 : 32;
    int kernels = c.feed == DEPTHWISE ? 1 : c.c, first, tap, k;
    uint8_t *p = at(ADDR_W);

    for (first = 0; first < kernels; first += group) {
        for (tap = 0; tap < c.k * c.k; tap++) {
            for (k = first; k < kernels && k < first + group; k++) {
                int i;

                for (i = 0; i < c.ic; i++) {
                    memcpy(p, &w_bits[(k * c.k * c.k + tap) * c.ic + i],
                           bytes);
                    p += bytes;
                }
            }
        }
    }
}

static inline void store_operands(void)
{
    memset(mem, POISON, sizeof(mem));
    if (c.feed == FLY) {
        store_cube(x_bits, c.c, c.in, c.w, c.w * c.h + c.in_notch);
    } else if (c.feed == MEMORY) {
        store_cube(want, whole_atoms(c.written), c.out, c.w + c.in_notch,
                   (c.w + c.in_notch) * c.h);
    } else {
        store_cube(x_bits, c.ic, c.in, c.w, c.w * c.h);
        store_weights();
    }
    if (c.feed != MEMORY) {
        store_stage(&c.bs, false);
        store_stage(&c.bn, true);
        if (c.ew.on && c.ew.op >= 0 && c.ew.from != REGISTER) {
            store_ew();
        }
    }
}

/* --- What is written --- */

static inline uint32_t take(uint32_t addr)
{
    uint32_t bits = 0;

    memcpy(&bits, at(addr), size_of(c.out));
    memset(at(addr), POISON, size_of(c.out));
    return bits;
}

static inline uint32_t out_addr(int pos, int ch)
{
    int surface = ch / out_lanes();
    int w = c.pool.on ? c.pool.w : c.w;
    uint32_t add = c.pool.on ? ((c.pool.w + c.notch) * c.pool.h + c.gap) * 16
                             : surf_add();

    if (gives_depthwise_words()) {
        deal_words(c.group, c.w * c.h, &surface, &pos);
    }
    return ADDR_C + surface / c.group * add +
           surface % c.group * surf_stride() +
           (pos / w * (w + c.notch) + pos % w) * 16 +
           ch % out_lanes() * size_of(c.out);
}

/* Every element as expected, and nothing else written. */
static inline bool check(void)
{
    int positions = c.pool.on ? c.pool.w * c.pool.h : c.w * c.h;
    int channels = whole_atoms(c.written), pos, ch, i;

    for (pos = 0; pos < positions; pos++) {
        for (ch = 0; ch < channels; ch++) {
            uint32_t got = take(out_addr(pos, ch));

            if (!same(got, want[pos * channels + ch], c.out)) {
                printf("# position %d channel %d: %08x, want %08x\n", pos, ch,
                       got, want[pos * channels + ch]);
                return false;
            }
        }
    }
    for (i = 0; i < OUT_SIZE; i++) {
        if (mem[ADDR_C - MEM_BASE + i] != POISON) {
            printf("# offset %x of the output was written\n", i);
            return false;
        }
    }
    return true;
}

#endif
