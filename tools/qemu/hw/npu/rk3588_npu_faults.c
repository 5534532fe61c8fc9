/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Owns the faults that tests arm: when they fire, and their names. */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/log.h"
#include "qapi/error.h"
#include "migration/vmstate.h"
#include "rk3588_npu_faults.h"
#include "trace.h"

static const char *const fault_names[NPU_FAULT_MAX + 1] = {
    [NPU_FAULT_NEVER_START] = "never-start",
    [NPU_FAULT_HANG] = "hang",
    [NPU_FAULT_IRQ_LOST] = "irq-lost",
    [NPU_FAULT_DMA_READ] = "dma-read",
    [NPU_FAULT_DMA_WRITE] = "dma-write",
    [NPU_FAULT_IRQ_SPURIOUS] = "irq-spurious",
    [NPU_FAULT_RESET_STUCK] = "reset-stuck",
    [NPU_FAULT_IRQ_LATE] = "irq-late",
    [NPU_FAULT_IRQ_DUP] = "irq-dup",
    [NPU_FAULT_IRQ_MMU] = "irq-mmu",
    [NPU_FAULT_IRQ_PARTIAL] = "irq-partial",
    [NPU_FAULT_REGCMD_ADDR] = "regcmd-addr",
    [NPU_FAULT_MMU_READ] = "mmu-read",
    [NPU_FAULT_MMU_WRITE] = "mmu-write",
    [NPU_FAULT_MMU_STALL] = "mmu-stall",
    [NPU_FAULT_MMU_RESET] = "mmu-reset",
    [NPU_FAULT_MMU_PAGING] = "mmu-paging",
    [NPU_FAULT_MMU_ZAP] = "mmu-zap",
    [NPU_FAULT_POWER_STUCK] = "power-stuck",
    [NPU_FAULT_CLK_STUCK] = "clk-stuck",
    [NPU_FAULT_CORE_DEAD] = "core-dead",
    [NPU_FAULT_OFF_STUCK] = "off-stuck",
    [NPU_FAULT_MMU_STRAY] = "mmu-stray",
    [NPU_FAULT_CPU_HELD] = "cpu-held",
    [NPU_FAULT_RESET_HELD] = "reset-held",
};

static bool fault_concerns(const NpuArmedFault *f, unsigned core)
{
    return f->armed && (f->core == NPU_CTL_ANY_CORE || f->core == core);
}

bool npu_faults_due(const NpuFaults *s, unsigned core, unsigned kind)
{
    return fault_concerns(&s->fault[kind], core) && !s->fault[kind].skip;
}

void npu_faults_fired(NpuFaults *s, unsigned core, unsigned kind,
                      uint32_t param)
{
    s->fired++;
    trace_rk3588_npu_ctl_fault(core, kind, param);
}

bool npu_faults_fire(NpuFaults *s, unsigned core, unsigned kind,
                     uint32_t *param)
{
    NpuArmedFault *f = &s->fault[kind];

    if (!fault_concerns(f, core)) {
        return false;
    }
    if (f->skip) {
        f->skip--;
        return false;
    }
    if (f->count && --f->count == 0) {
        f->armed = false;
    }
    if (param) {
        *param = f->param;
    }
    npu_faults_fired(s, core, kind, f->param);
    return true;
}

void npu_faults_arm(NpuFaults *s, uint32_t kind, const NpuArmedFault *f)
{
    if (kind == 0 || kind > NPU_FAULT_MAX) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: no such fault kind %u\n",
                      __func__, kind);
        return;
    }
    trace_rk3588_npu_ctl_arm(fault_names[kind], f->core, f->skip, f->count,
                             f->param);
    if (kind != NPU_FAULT_IRQ_SPURIOUS) {
        s->fault[kind] = *f;
        s->fault[kind].armed = true;
    }
}

void npu_faults_disarm(NpuFaults *s)
{
    memset(s->fault, 0, sizeof(s->fault));
    s->fired = 0;
}

void npu_faults_reset(NpuFaults *s)
{
    npu_faults_disarm(s);
    s->next = (NpuArmedFault) { .core = NPU_CTL_ANY_CORE };
}

char *npu_faults_format(const NpuFaults *s)
{
    GString *out = g_string_new(NULL);
    unsigned kind;

    for (kind = 1; kind <= NPU_FAULT_MAX; kind++) {
        const NpuArmedFault *f = &s->fault[kind];

        if (!f->armed) {
            continue;
        }
        g_string_append_printf(out, "%s%s,", out->len ? " " : "",
                               fault_names[kind]);
        if (f->core == NPU_CTL_ANY_CORE) {
            g_string_append(out, "core=any");
        } else {
            g_string_append_printf(out, "core=%u", f->core);
        }
        g_string_append_printf(out, ",skip=%u,count=%u,param=0x%x", f->skip,
                               f->count, f->param);
    }
    return g_string_free(out, false);
}

static uint32_t fault_kind(const char *name)
{
    uint32_t kind;

    for (kind = 1; kind <= NPU_FAULT_MAX; kind++) {
        if (!strcmp(fault_names[kind], name)) {
            return kind;
        }
    }
    return 0;
}

static bool parse_field(NpuArmedFault *f, const char *word)
{
    static const struct {
        const char *key;
        size_t offset;
    } field[] = {
        { "core=", offsetof(NpuArmedFault, core) },
        { "skip=", offsetof(NpuArmedFault, skip) },
        { "count=", offsetof(NpuArmedFault, count) },
        { "param=", offsetof(NpuArmedFault, param) },
    };
    const char *value;
    unsigned i, n;

    if (!strcmp(word, "core=any")) {
        f->core = NPU_CTL_ANY_CORE;
        return true;
    }
    for (i = 0; i < ARRAY_SIZE(field); i++) {
        if (strstart(word, field[i].key, &value)) {
            if (qemu_strtoui(value, NULL, 0, &n)) {
                return false;
            }
            *(uint32_t *)((char *)f + field[i].offset) = n;
            return true;
        }
    }
    return false;
}

uint32_t npu_faults_parse(const char *text, NpuArmedFault *f, Error **errp)
{
    g_auto(GStrv) word = g_strsplit(text, ",", -1);
    uint32_t kind = word[0] ? fault_kind(word[0]) : 0;
    unsigned i;

    if (!kind) {
        error_setg(errp, "no such fault: '%s'", word[0] ?: "");
        return 0;
    }
    *f = (NpuArmedFault) { .core = NPU_CTL_ANY_CORE, .count = 1 };
    for (i = 1; word[i]; i++) {
        if (!parse_field(f, word[i])) {
            error_setg(errp, "'%s' is not core=, skip=, count= or param= "
                       "with a number", word[i]);
            return 0;
        }
    }
    return kind;
}

static const VMStateDescription vmstate_npu_fault = {
    .name = "rk3588-npu-ctl/fault",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(armed, NpuArmedFault),
        VMSTATE_UINT32(core, NpuArmedFault),
        VMSTATE_UINT32(skip, NpuArmedFault),
        VMSTATE_UINT32(count, NpuArmedFault),
        VMSTATE_UINT32(param, NpuArmedFault),
        VMSTATE_END_OF_LIST()
    }
};

const VMStateDescription vmstate_npu_faults = {
    .name = "rk3588-npu-ctl/faults",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT(next, NpuFaults, 1, vmstate_npu_fault, NpuArmedFault),
        VMSTATE_UINT32(fired, NpuFaults),
        VMSTATE_STRUCT_ARRAY(fault, NpuFaults, NPU_FAULT_MAX + 1, 1,
                             vmstate_npu_fault, NpuArmedFault),
        VMSTATE_END_OF_LIST()
    }
};
