/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs that stand still, and interrupts that come late, at random.
 *
 * A CPU is away as for other work in firmware, or for a hypervisor that runs
 * another guest.  With -icount one thread of the host runs all CPUs, and what
 * the clock's next timer is decides when the next one has its turn, so that the
 * timer here is what mixes them.
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "hw/core/cpu.h"
#include "hw/irq.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk_chaos.h"
#include "hw/npu/rk_delay.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "system/runstate.h"
#include "trace.h"

/* More CPUs than these go on undisturbed. */
#define CHAOS_CPUS      8

typedef struct ChaosCpu {
    CPUState *held;     /* stands still until then */
    QEMUTimer timer;
} ChaosCpu;

typedef struct ChaosLine {
    qemu_irq out;
    bool level;         /* of the input; the output follows */
    QEMUTimer timer;
} ChaosLine;

struct RkChaosState {
    DeviceState parent_obj;

    RkDelayState *delay;
    VMChangeStateEntry *vm_change;
    QEMUTimer turn;
    ChaosCpu cpu[CHAOS_CPUS];
    ChaosLine line[NPU_MAX_CORES];
};

static void chaos_after(QEMUTimer *timer, uint32_t ns)
{
    timer_mod(timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns);
}

/* --- CPUs --- */

static void chaos_release(void *opaque)
{
    ChaosCpu *c = opaque;
    CPUState *cs = c->held;

    c->held = NULL;
    if (cs) {
        cpu_resume(cs);
    }
}

static void chaos_hold(RkChaosState *s, CPUState *cs, uint32_t ns)
{
    ChaosCpu *c = &s->cpu[cs->cpu_index];

    if (!ns || c->held || cs->stop || cs->stopped) {
        return;
    }
    trace_rk_chaos_hold(cs->cpu_index, ns);
    c->held = cs;
    cs->stop = true;
    qemu_cpu_kick(cs);
    chaos_after(&c->timer, ns);
}

void rk_chaos_access(RkChaosState *s)
{
    if (s && current_cpu && current_cpu->cpu_index < CHAOS_CPUS) {
        chaos_hold(s, current_cpu,
                   rk_delay_rare_ns(s->delay, RK_DELAY_CPU,
                                    RK_DELAY_UNIT_SOC));
    }
}

static uint32_t chaos_turn_ns(RkChaosState *s)
{
    return rk_delay_ns(s->delay, RK_DELAY_TURN, RK_DELAY_UNIT_SOC);
}

static void chaos_turn(void *opaque)
{
    RkChaosState *s = opaque;
    CPUState *cs;

    CPU_FOREACH(cs) {
        if (cs->cpu_index < CHAOS_CPUS) {
            chaos_hold(s, cs, rk_delay_rare_ns(s->delay, RK_DELAY_CPU, 0));
        }
    }
    chaos_after(&s->turn, MAX(chaos_turn_ns(s), 1));
}

/* --- Interrupts --- */

static void chaos_raise(void *opaque)
{
    ChaosLine *l = opaque;

    qemu_set_irq(l->out, l->level);
}

static void chaos_set_line(void *opaque, int n, int level)
{
    RkChaosState *s = opaque;
    ChaosLine *l = &s->line[n];
    uint32_t ns = 0;

    if (level == l->level) {
        return;
    }
    l->level = level;
    if (level) {
        ns = rk_delay_rare_ns(s->delay, RK_DELAY_IRQ, n);
    }
    timer_del(&l->timer);
    if (ns) {
        trace_rk_chaos_irq(n, ns);
        chaos_after(&l->timer, ns);
    } else {
        chaos_raise(l);
    }
}

/* --- Tasks --- */

uint32_t rk_chaos_task_ns(RkChaosState *s, unsigned core)
{
    return s ? rk_delay_rare_ns(s->delay, RK_DELAY_DMA, core) : 0;
}

/* --- Life --- */

/* A machine that stands still, or migrates, has no late interrupt. */
static void chaos_vm_changed(void *opaque, bool running, RunState state)
{
    RkChaosState *s = opaque;
    unsigned i;

    for (i = 0; !running && i < NPU_MAX_CORES; i++) {
        if (timer_pending(&s->line[i].timer)) {
            timer_del(&s->line[i].timer);
            chaos_raise(&s->line[i]);
        }
    }
    if (running && !timer_pending(&s->turn)) {
        uint32_t ns = chaos_turn_ns(s);

        if (ns) {
            chaos_after(&s->turn, ns);
        }
    }
}

static const VMStateDescription vmstate_chaos_line = {
    .name = "rk-chaos/line",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(level, ChaosLine),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_chaos = {
    .name = TYPE_RK_CHAOS,
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(line, RkChaosState, NPU_MAX_CORES, 1,
                             vmstate_chaos_line, ChaosLine),
        VMSTATE_END_OF_LIST()
    }
};

static void chaos_init(Object *obj)
{
    RkChaosState *s = RK_CHAOS(obj);
    DeviceState *dev = DEVICE(obj);
    unsigned i;

    qdev_init_gpio_in(dev, chaos_set_line, NPU_MAX_CORES);
    for (i = 0; i < NPU_MAX_CORES; i++) {
        qdev_init_gpio_out(dev, &s->line[i].out, 1);
    }
}

static void chaos_realize(DeviceState *dev, Error **errp)
{
    RkChaosState *s = RK_CHAOS(dev);
    unsigned i;

    if (!s->delay) {
        error_setg(errp, "link 'delay' is not set");
        return;
    }
    timer_init_ns(&s->turn, QEMU_CLOCK_VIRTUAL, chaos_turn, s);
    for (i = 0; i < CHAOS_CPUS; i++) {
        timer_init_ns(&s->cpu[i].timer, QEMU_CLOCK_VIRTUAL, chaos_release,
                      &s->cpu[i]);
    }
    for (i = 0; i < NPU_MAX_CORES; i++) {
        timer_init_ns(&s->line[i].timer, QEMU_CLOCK_VIRTUAL, chaos_raise,
                      &s->line[i]);
    }
    s->vm_change = qemu_add_vm_change_state_handler(chaos_vm_changed, s);
}

static const Property chaos_properties[] = {
    DEFINE_PROP_LINK("delay", RkChaosState, delay, TYPE_RK_DELAY,
                     RkDelayState *),
};

static void chaos_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);

    dc->desc = "CPUs that stand still and interrupts that come late";
    dc->realize = chaos_realize;
    dc->vmsd = &vmstate_chaos;
    dc->user_creatable = false;
    device_class_set_props(dc, chaos_properties);
}

static const TypeInfo chaos_info = {
    .name = TYPE_RK_CHAOS,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(RkChaosState),
    .instance_init = chaos_init,
    .class_init = chaos_class_init,
};

static void chaos_register_types(void)
{
    type_register_static(&chaos_info);
}
type_init(chaos_register_types)
