/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a chain's results, which is in memory some time after the
 * interrupt.
 */
#include "qemu/osdep.h"
#include "system/runstate.h"
#include "rk3588_npu_dma.h"
#include "rk3588_npu_tail.h"

/* Whom the IOMMU refuses, it tells; the task is over in any case. */
void npu_tail_land(NpuTail *tail)
{
    g_autofree uint8_t *data = g_steal_pointer(&tail->data);

    if (data) {
        timer_del(&tail->timer);
        npu_dma(tail->env, NPU_BANK_DATA, tail->iova, data, tail->len, true);
    }
}

void npu_tail_drop(NpuTail *tail)
{
    timer_del(&tail->timer);
    g_free(g_steal_pointer(&tail->data));
}

static void npu_tail_due(void *opaque)
{
    npu_tail_land(opaque);
}

/* Nothing is under way in a machine that stands still, or migrates. */
static void npu_tail_vm_changed(void *opaque, bool running, RunState state)
{
    if (!running) {
        npu_tail_land(opaque);
    }
}

uint32_t npu_tail_ns(const NpuTail *tail)
{
    return rk_delay_ns(tail->env->delay, RK_DELAY_RESULT,
                       tail->env->core_index);
}

void npu_tail_hold(NpuTail *tail, uint32_t iova, const uint8_t *data,
                   size_t len, uint32_t ns)
{
    tail->iova = iova;
    tail->len = len;
    tail->data = g_memdup2(data, len);
    timer_mod(&tail->timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns);
}

void npu_tail_realize(NpuTail *tail, const NpuEnv *env)
{
    tail->env = env;
    timer_init_ns(&tail->timer, QEMU_CLOCK_VIRTUAL, npu_tail_due, tail);
    tail->vm_change = qemu_add_vm_change_state_handler(npu_tail_vm_changed,
                                                       tail);
}

void npu_tail_unrealize(NpuTail *tail)
{
    npu_tail_drop(tail);
    qemu_del_vm_change_state_handler(tail->vm_change);
}
