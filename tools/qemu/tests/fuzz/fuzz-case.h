/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A case of the fuzzer: one command stream and how it is run, and its text
 * form, in which seeds are kept and findings are reported.
 */
#ifndef FUZZ_CASE_H
#define FUZZ_CASE_H

#include <stdio.h>
#include "compute/task.h"

#define FUZZ_MAX_CMDS   512

typedef struct FuzzCase {
    uint32_t data;          /* seed of the operands' contents */
    unsigned encoding;      /* NpuTaskOptions.encoding */
    bool padding;           /* NpuTaskOptions.write_padding */
    bool idle_rdma;         /* NpuTaskOptions.idle_ppu_rdma */
    bool lut;               /* the tables have been written */
    bool cancel;
    unsigned n;
    uint64_t cmd[FUZZ_MAX_CMDS];
} FuzzCase;

static inline void fuzz_case_add(FuzzCase *c, uint64_t entry)
{
    if (c->n < FUZZ_MAX_CMDS) {
        c->cmd[c->n++] = entry;
    }
}

static inline uint64_t fuzz_write_entry(uint32_t reg, uint32_t value)
{
    return (uint64_t)(1u << (8 + (reg >> 12)) | NPU_TARGET_WRITE) << 48 |
           (uint64_t)value << 16 | reg;
}

static inline void fuzz_case_put(FuzzCase *c, uint32_t reg, uint32_t value)
{
    fuzz_case_add(c, fuzz_write_entry(reg, value));
}

static inline void fuzz_case_enable(FuzzCase *c, uint32_t enable)
{
    fuzz_case_add(c, (uint64_t)NPU_TARGET_ENABLE << 48 |
                     (uint64_t)enable << 16 | 8);
}

static inline void fuzz_case_write(const FuzzCase *c, FILE *f)
{
    unsigned i;

    fprintf(f, "case %u %u %d %d %d %d %u\n", c->data, c->encoding,
            c->padding, c->idle_rdma, c->lut, c->cancel, c->n);
    for (i = 0; i < c->n; i++) {
        fprintf(f, "%016llx\n", (unsigned long long)c->cmd[i]);
    }
}

static inline bool fuzz_case_read(FuzzCase *c, FILE *f)
{
    int padding, idle_rdma, lut, cancel;
    unsigned i;

    if (fscanf(f, " case %u %u %d %d %d %d %u", &c->data, &c->encoding,
               &padding, &idle_rdma, &lut, &cancel, &c->n) != 7 ||
        c->encoding >= NPU_ENCODING_NUM || c->n > FUZZ_MAX_CMDS) {
        return false;
    }
    c->padding = padding;
    c->idle_rdma = idle_rdma;
    c->lut = lut;
    c->cancel = cancel;
    for (i = 0; i < c->n; i++) {
        unsigned long long v;

        if (fscanf(f, "%llx", &v) != 1) {
            return false;
        }
        c->cmd[i] = v;
    }
    return true;
}

#endif
