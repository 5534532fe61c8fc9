/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collects the programs that the unit tests run, as seeds for the fuzzer.
 *
 * Linked to the unit tests with --wrap: every register snapshot that the
 * model would run is written out as a program, and nothing is computed.
 */
#include "qemu/osdep.h"
#include <stdio.h>
#include "fuzz-case.h"

/* Mutants of the tests' own fuzzers would be seeds without end. */
#define MAX_SEEDS       3000

static FILE *out;
static unsigned seeds;

int unit_main(int argc, char **argv);
NpuVerdict __real_npu_task_decode(NpuTask *t, const uint32_t *regs,
                                  uint32_t enable, const NpuTaskOptions *opt,
                                  const char **why);
NpuVerdict __wrap_npu_task_decode(NpuTask *t, const uint32_t *regs,
                                  uint32_t enable, const NpuTaskOptions *opt,
                                  const char **why);
bool __wrap_npu_task_compute(const NpuTask *t, const NpuOperands *in,
                             uint8_t *data);

static void write_seed(const NpuTask *t, const uint32_t *regs, uint32_t enable,
                       const NpuTaskOptions *opt)
{
    FuzzCase c = { 0 };
    unsigned i;

    c.encoding = opt->encoding;
    c.padding = opt->write_padding;
    c.idle_rdma = opt->idle_ppu_rdma;
    c.lut = t->dpu.ew.lut;
    for (i = 0; i < NPU_REGFILE_WORDS; i++) {
        if (regs[i]) {
            fuzz_case_put(&c, 4 * i, regs[i]);
        }
    }
    fuzz_case_enable(&c, enable);
    fuzz_case_write(&c, out);
    seeds++;
}

NpuVerdict __wrap_npu_task_decode(NpuTask *t, const uint32_t *regs,
                                  uint32_t enable, const NpuTaskOptions *opt,
                                  const char **why)
{
    NpuVerdict v = __real_npu_task_decode(t, regs, enable, opt, why);

    if (v == NPU_TASK_RUN && seeds < MAX_SEEDS) {
        write_seed(t, regs, enable, opt);
    }
    return v;
}

/* The tests then fail, which does not matter here. */
bool __wrap_npu_task_compute(const NpuTask *t, const NpuOperands *in,
                             uint8_t *data)
{
    return false;
}

int main(int argc, char **argv)
{
    char *unit_argv[] = { argv[0], (char *)"--quick", NULL };

    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    out = fopen(argv[1], "w");
    if (!out || !freopen("/dev/null", "w", stdout)) {
        perror(argv[1]);
        return 2;
    }
    unit_main(2, unit_argv);
    if (fclose(out) || !seeds) {
        fprintf(stderr, "%s: no seeds\n", argv[1]);
        return 2;
    }
    return 0;
}
