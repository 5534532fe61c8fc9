/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs programs that it is given on standard input on the NPU model's
 * arithmetic, without a machine, for comparisons with stored programs.
 *
 * Lines, all numbers hexadecimal:
 *   chip NAME          rk3588, rk3576, rk3568, rk3562 or rv1126b; registers and
 *                      memory are 0 again
 *   mem IOVA BYTES     write memory
 *   zero IOVA LEN      clear memory
 *   only 0|1           1: programs are decoded and not run
 *   word COMMAND       one of a program; the one that starts a task prints
 *                      "runs", "refused REASON" or "stalls REASON"
 *   show IOVA LEN      print memory
 */
/* Programs that load tables copy an atom at address 0. */
#define MEM_BASE        0u
#define MEM_SIZE        (64u << 20)
#include "harness.h"

static uint32_t regs[NPU_REGFILE_WORDS];
static NpuLut lut;
static NpuTask task;
static NpuTaskOptions options = { .write_padding = true, .lut = &lut };
static bool only_decode;

static void set_chip(const char *name)
{
    static bool used;

    options.encoding = !strcmp(name, "rk3576") ? NPU_ENCODING_RK3576 :
                       !strcmp(name, "rk3568") ? NPU_ENCODING_RK3568 :
                       !strcmp(name, "rk3562") ? NPU_ENCODING_RK3562 :
                       !strcmp(name, "rv1126b") ? NPU_ENCODING_RV1126B
                                                : NPU_ENCODING_RK3588;
    memset(regs, 0, sizeof(regs));
    memset(&lut, 0, sizeof(lut));
    /* Pages that nobody has touched cost nothing. */
    if (used) {
        memset(mem, 0, sizeof(mem));
    }
    used = true;
}

static void start_task(uint32_t enable)
{
    const char *why = NULL;

    switch (npu_task_decode(&task, regs, enable, &options, &why)) {
    case NPU_TASK_RUN:
        if (only_decode || execute(&task)) {
            printf("runs\n");
        } else {
            printf("refused DMA outside memory\n");
        }
        break;
    case NPU_TASK_STALL:
        printf("stalls %s\n", why);
        break;
    default:
        printf("refused %s\n", why);
    }
}

static void take_word(uint64_t word)
{
    NpuCmd cmd = npu_cmd_decode(word);

    switch (cmd.kind) {
    case NPU_CMD_WRITE:
        regs[cmd.reg / 4] = cmd.value;
        if (cmd.reg == A_DPU_LUT_ACCESS_CFG) {
            npu_lut_access(&lut, cmd.value);
        } else if (cmd.reg == A_DPU_LUT_ACCESS_DATA) {
            npu_lut_data(&lut, cmd.value);
        }
        break;
    case NPU_CMD_ENABLE:
        start_task(cmd.value);
        break;
    case NPU_CMD_BAD:
        printf("refused a command that nobody has seen\n");
        break;
    default:
        break;
    }
}

static bool put_bytes(uint64_t iova, const char *hex)
{
    size_t len = strlen(hex) / 2, i;

    if (!mem_has(iova, len)) {
        return false;
    }
    for (i = 0; i < len; i++) {
        at(iova)[i] = g_ascii_xdigit_value(hex[2 * i]) << 4 |
                      g_ascii_xdigit_value(hex[2 * i + 1]);
    }
    return true;
}

static bool show(uint64_t iova, size_t len)
{
    size_t i;

    if (!mem_has(iova, len)) {
        return false;
    }
    for (i = 0; i < len; i++) {
        printf("%02x", at(iova)[i]);
    }
    printf("\n");
    return true;
}

static bool take_line(const char *verb, const char *first, const char *second)
{
    uint64_t n = strtoull(first, NULL, 16), m = strtoull(second, NULL, 16);

    if (!strcmp(verb, "chip")) {
        set_chip(first);
    } else if (!strcmp(verb, "mem")) {
        return put_bytes(n, second);
    } else if (!strcmp(verb, "zero")) {
        if (!mem_has(n, m)) {
            return false;
        }
        memset(at(n), 0, m);
    } else if (!strcmp(verb, "only")) {
        only_decode = n;
    } else if (!strcmp(verb, "word")) {
        take_word(n);
    } else if (!strcmp(verb, "show")) {
        return show(n, m);
    } else {
        return false;
    }
    return true;
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;

    while (getline(&line, &size, stdin) > 0) {
        char **part = g_strsplit(g_strchomp(line), " ", 3);
        unsigned n = g_strv_length(part);
        bool ok = n < 2 || take_line(part[0], part[1], n > 2 ? part[2] : "");

        if (!ok) {
            fprintf(stderr, "cannot do: %.60s\n", line);
            return 1;
        }
        g_strfreev(part);
    }
    free(line);
    return 0;
}
