/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs for the RK3576 have in common: addresses, blocks and the DPU.
 */
#ifndef RK3576_PROG_H
#define RK3576_PROG_H

#include "reference.h"
#include "compute/numeric.h"

#define ADDR_X          (MEM_BASE + 0x100000)
#define ADDR_W          (MEM_BASE + 0x300000)
#define ADDR_BS         (MEM_BASE + 0x500000)
#define ADDR_SHIFT      (MEM_BASE + 0x580000)
#define ADDR_Y          (MEM_BASE + 0x600000)

#define CONV            0x1d
#define CONV_PAIR       0x0100001d
#define CONV_NO_RDMA    0x0d
#define ALONE           0x18
#define POOL            0x60
#define LOW             0x80000000u
#define HIGH            0x7fffffffu

static const NpuTaskOptions options = {
    .encoding = NPU_ENCODING_RK3576,
    .write_padding = true,
};

typedef struct Refused {
    uint16_t reg;
    uint32_t value;
    const char *why;
} Refused;

static inline void put_half(uint8_t *p, float v)
{
    stw_le_p(p, npu_fp32_to_fp16(v));
}

static inline void put_clamps(Prog *p, bool bs, uint32_t low, uint32_t high)
{
    put(p, bs ? 0x4048 : 0x406c, low);
    put(p, bs ? 0x404c : 0x4070, high);
    put(p, bs ? 0x4058 : 0x4074, low);
    put(p, bs ? 0x405c : 0x4078, high);
}

/* What all programs of the DPU have. */
static inline void put_dpu(Prog *p, int w, int h, int c, uint32_t dst)
{
    put(p, 0x4018, dst);
    put(p, 0x4020, w - 1);
    put(p, 0x4024, h - 1);
    put(p, 0x402c, c - 1);
    put(p, 0x4034, (h - 1) << 16 | (w - 1));
    put_clamps(p, true, LOW, HIGH);
    put(p, 0x4060, 0x903);
    put_clamps(p, false, LOW, HIGH);
    put(p, 0x407c, 0x10041c1);
    put(p, 0x4084, 1);
    put(p, 0x4088, LOW);
    put(p, 0x408c, HIGH);
    put(p, 0x40a4, LOW);
    put(p, 0x40a8, HIGH);
    put(p, 0x40b0, 0x10001);
    put(p, 0x40d0, 0x40ffff);
    put(p, 0x500c, w - 1);
    put(p, 0x5010, h - 1);
    put(p, 0x5014, c - 1);
}

static inline void put_alone(Prog *p, bool half, int w, int h, int c)
{
    p->n = 0;
    put_dpu(p, w, h, c, ADDR_Y);
    put(p, 0x400c, 5);
    put(p, 0x4010, half ? 0x40000002 : 0);
    put(p, 0x401c, w * h);
    put(p, 0x4030, (uint32_t)(c - 1) << 16 | 0xf00);
    put(p, 0x4038, 0x53);
    put(p, 0x4044, 2);
    put(p, 0x4050, 0x20000);
    put(p, 0x40c0, 0x4440000);
    put(p, 0x5018, ADDR_X);
    put(p, 0x5034, 1);
    put(p, 0x5044, 9);
}

#endif
