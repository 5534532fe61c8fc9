/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the NPU model's arithmetic tests share. */
#ifndef TEST_NPU_H
#define TEST_NPU_H

#include "rk3588_npu_task.h"

#define MEM_BASE        0x10000000u
#define MEM_SIZE        (24u << 20)
#define ADDR_A          (MEM_BASE + 0x000000)
#define ADDR_B          (MEM_BASE + 0x800000)
#define ADDR_C          (MEM_BASE + 0x1000000)
#define ADDR_BIAS       (MEM_BASE + 0x1700000)
#define ADDR_E          (MEM_BASE + 0x1600000)
#define POISON          0xa5

typedef struct Prog {
    uint64_t cmd[1300];
    unsigned n;
} Prog;

extern bool quick;
/* Kernels of the model's array to pass over, so that all get their turn. */
extern unsigned skip_kernels;

__attribute__((format(printf, 2, 3)))
void report(bool ok, const char *fmt, ...);
uint32_t rnd(void);
int rnd_in(int lo, int hi);
uint8_t *at(uint32_t iova);
void put(Prog *p, uint16_t reg, uint32_t value);
void tail(Prog *p, uint32_t enable);
NpuVerdict run_prog(const Prog *p, const char **why);
NpuVerdict run_prog_with(const Prog *p, NpuTaskOptions opt, const char **why);
bool untouched(uint32_t from, uint32_t len);
int64_t ref_round(int64_t p, int s, bool up);
int64_t ref_clip(int64_t v, int64_t lo, int64_t hi);

/* Convolutions of every precision, at random. */
void test_cna(void);
/* The DPU and the PPU, at random. */
void test_dpu(void);

#endif
