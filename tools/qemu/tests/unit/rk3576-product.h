/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Products of halves to floats for the RK3576: where the tensors are in memory,
 * and the program.
 */
#ifndef RK3576_PRODUCT_H
#define RK3576_PRODUCT_H

#include "rk3576-prog.h"

/*
 * With 4-bit weights rows are positions of surfaces; without these they follow
 * each other in memory.
 */

typedef struct Product {
    bool int4;
    int m, k, n;
    int rows, first;        /* of the tensors, of which M are computed */
    int core;
    bool rdma, lines;       /* operands are fetched; GROUP_LINE_OFF */
    float *x;               /* [rows][k] */
    float *w;               /* [n][k] */
} Product;

static inline uint8_t *product_x(const Product *k, int row, int c)
{
    return at(ADDR_X) + (k->int4 ? (c / 8 * k->rows + row) * 16 + c % 8 * 2
                                 : (row * k->k + c) * 2);
}

static inline uint8_t *product_y(const Product *k, int row, int o)
{
    return at(ADDR_Y) + (k->int4 ? (o / 4 * k->rows + row) * 16 + o % 4 * 4
                                 : (row * k->n + o) * 4);
}

/* The words that gahingwoo tells of, of his own programs and Rockchip's. */
static inline void put_product(Prog *p, const Product *k)
{
    int w = k->int4 ? k->m : 1, h = k->int4 ? 1 : k->m, i;
    int row = w * k->k / 32, base = k->core * 0x1c00;
    int notch = k->int4 ? k->rows - k->m : k->n / 4 - 1;
    uint32_t kernel = k->int4 ? k->k / 2 : k->k * 2;

    p->n = 0;
    put(p, 0x100c, 0x200120 | (k->lines ? 0x20000000 : 0) |
                   (k->int4 ? 0x400000 : 0));
    put(p, 0x1010, 0xfff);
    put(p, 0x1014, 9);
    put(p, 0x1018, 0x40000404 + 7 * k->core);
    put(p, 0x101c, kernel * k->n);
    put(p, 0x1020, kernel);
    put(p, 0x1024, k->n - 1);
    put(p, 0x1028, row * h << 16 | (k->k - 1));
    put(p, 0x102c, (w - 1) << 16 | (h - 1));
    put(p, 0x1030, kernel << 16 | (w - 1));
    put(p, 0x1034, k->m - 1);
    put(p, 0x1038, k->core ? 0x10e : 7);
    put(p, 0x103c, row << 16 | base);
    put(p, 0x1040, (uint32_t)(base + 0x1000) << 16 | base);
    put(p, 0x1044, w << 16 | row);
    put(p, 0x1048, 0xb);
    put(p, 0x104c, 0x10001);
    put(p, 0x1050, 0x10001);
    put(p, 0x1078, (w - 1) << 16 | (h - 1));
    put(p, 0x107c, k->k - 1);
    put(p, 0x1088, MEM_BASE + (product_x(k, k->first, 0) - mem));
    put(p, 0x108c, 0xf000f);
    put(p, 0x1090, k->int4 ? k->m * 4 : k->k / 8);
    put(p, 0x1094, k->int4 ? k->rows : 1);
    put(p, 0x1098, k->m);
    put(p, 0x1110, ADDR_W);
    put(p, 0x118c, (w - 1) << 16 | (w - 1));
    for (i = 0; i < 5; i++) {
        put(p, 0x2810 + 4 * i, i == 2 ? base << 16 : i == 4 ? base / 128 : 0);
    }
    put(p, 0x3018, 0x10000200);
    put(p, 0x301c, (h - 1) << 16 | (w - 1));
    put(p, 0x3020, k->n - 1);
    put_dpu(p, w, h, k->n, MEM_BASE + (product_y(k, k->first, 0) - mem));
    put(p, 0x400c, 0x40000004);
    put(p, 0x4010, 0xa0000002);
    put(p, 0x401c, k->int4 ? k->rows : 1);
    put(p, 0x4028, notch);
    put(p, 0x4030, (uint32_t)(k->n - 1) << 16 | 0x310);
    put(p, 0x4038, 0x53);
    put(p, 0x4044, 2);
    put(p, 0x4050, 0x23333);
    put(p, 0x40b0, 1);
    put(p, 0x40b8, k->int4 ? 4 * k->rows - k->m
                           : k->n / 4 + 3 - k->m * k->n / 4);
    put(p, 0x40c0, 0x4440100);
    if (k->rdma) {
        put(p, 0x500c, 0);
        put(p, 0x5010, k->m - 1);
        put(p, 0x501c, 0x710);
        put(p, 0x5020, ADDR_BS);
        put(p, 0x5024, ADDR_SHIFT);
        put(p, 0x5034, 0x41);
        put(p, 0x5044, 0x40000010);
    }
}

static inline uint32_t enable_product(const Product *k)
{
    return k->rdma ? CONV : CONV_NO_RDMA;
}

#endif
