/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults that a test has armed in the control device: which, on which core,
 * after how many events.
 */
#ifndef HW_NPU_RK3588_NPU_FAULTS_H
#define HW_NPU_RK3588_NPU_FAULTS_H

#include "qemu/typedefs.h"
#include "hw/misc/rk3588_npu_ctl_regs.h"

typedef struct NpuArmedFault {
    bool armed;
    uint32_t core;          /* or NPU_CTL_ANY_CORE */
    uint32_t skip;          /* events that pass before it fires */
    uint32_t count;         /* how often it fires; 0 = always */
    uint32_t param;
} NpuArmedFault;

typedef struct NpuFaults {
    NpuArmedFault next;     /* registers: what the guest will arm */
    uint32_t fired;
    NpuArmedFault fault[NPU_FAULT_MAX + 1];
} NpuFaults;

extern const VMStateDescription vmstate_npu_faults;

/*
 * NPU_FAULT_IRQ_SPURIOUS waits for no event and is not kept: the caller makes
 * it happen.
 */
void npu_faults_arm(NpuFaults *s, uint32_t kind, const NpuArmedFault *f);
void npu_faults_disarm(NpuFaults *s);
void npu_faults_reset(NpuFaults *s);

bool npu_faults_due(const NpuFaults *s, unsigned core, unsigned kind);
/* One event that the fault may fire at. */
bool npu_faults_fire(NpuFaults *s, unsigned core, unsigned kind,
                     uint32_t *param);
/* One of @kind has happened. */
void npu_faults_fired(NpuFaults *s, unsigned core, unsigned kind,
                      uint32_t param);

/* What is armed, as words of the form that npu_faults_parse() takes. */
char *npu_faults_format(const NpuFaults *s);
/* NAME[,core=,skip=,count=,param=]: the kind, or 0 with @errp. */
uint32_t npu_faults_parse(const char *text, NpuArmedFault *f, Error **errp);

#endif
