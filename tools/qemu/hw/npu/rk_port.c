/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Posted writes of CPUs to the registers of a core and of its IOMMU.
 *
 * A burst lands as a whole, the time of its first write after that: several
 * timers would cost a guest more than they show.
 */
#include "qemu/osdep.h"
#include "hw/npu/rk_port.h"
#include "system/runstate.h"
#include "trace.h"

void rk_port_flush(RkPort *p)
{
    RkPostedWrite write[RK_PORT_DEPTH];
    unsigned num = p->num, i;

    if (!num) {
        return;
    }
    timer_del(&p->timer);
    memcpy(write, p->write, num * sizeof(*write));
    p->num = 0;
    for (i = 0; i < num; i++) {
        write[i].fn(write[i].opaque, write[i].offset, write[i].value);
    }
}

void rk_port_catch_up(RkPort *p)
{
    if (p->num && qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) >= p->due) {
        rk_port_flush(p);
    }
}

void rk_port_lost(RkPort *p, hwaddr addr, uint32_t value)
{
    trace_rk_port_lost(p->core, addr, value);
    npu_ctl_count(p->ctl, p->core, NPU_CNT_WRITE_LOST, 1);
}

void rk_port_drop(RkPort *p)
{
    timer_del(&p->timer);
    p->num = 0;
}

void rk_port_post(RkPort *p, RkPortFn fn, void *opaque, hwaddr offset,
                  uint32_t value)
{
    if (!p->num) {
        uint32_t ns = rk_delay_ns(p->delay, RK_DELAY_WRITE, p->core);

        if (!ns) {
            fn(opaque, offset, value);
            return;
        }
        p->due = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns;
        timer_mod(&p->timer, p->due);
    }
    p->write[p->num++] = (RkPostedWrite) { fn, opaque, offset, value };
    if (p->num == RK_PORT_DEPTH) {
        rk_port_flush(p);
    }
}

static void rk_port_land(void *opaque)
{
    rk_port_flush(opaque);
}

/* Nothing is under way in a machine that stands still, or migrates. */
static void rk_port_vm_changed(void *opaque, bool running, RunState state)
{
    if (!running) {
        rk_port_flush(opaque);
    }
}

void rk_port_init(RkPort *p, RkDelayState *delay, Rk3588NpuCtlState *ctl,
                  unsigned core)
{
    p->delay = delay;
    p->ctl = ctl;
    p->core = core;
    timer_init_ns(&p->timer, QEMU_CLOCK_VIRTUAL, rk_port_land, p);
    p->vm_change = qemu_add_vm_change_state_handler(rk_port_vm_changed, p);
}

void rk_port_fini(RkPort *p)
{
    rk_port_drop(p);
    qemu_del_vm_change_state_handler(p->vm_change);
}
