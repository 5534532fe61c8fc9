/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What takes time on silicon, and how long is not known: times and contents
 * that are random, and the same for the same seed.
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "hw/npu/rk_delay.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "hw/sysbus.h"
#include "migration/vmstate.h"

/* A sequence of its own for contents. */
#define SEQUENCES       (RK_DELAY_NUM + 1)

/* What a draw of something rare has left for its time. */
#define RARE_BITS       26

struct RkDelayState {
    SysBusDevice parent_obj;    /* for the machine's reset to reach it */

    uint32_t seed;
    uint32_t max_ns[RK_DELAY_NUM];
    uint32_t drawn[SEQUENCES * RK_DELAY_UNITS];
};

/* The next number of a sequence: a hash of the seed and of how many it had. */
static uint32_t rk_delay_draw(RkDelayState *s, unsigned sequence, unsigned unit)
{
    unsigned which = sequence * RK_DELAY_UNITS + unit;
    uint32_t x = s->seed * 0x9e3779b1u ^ which << 24 ^ s->drawn[which]++;

    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

uint32_t rk_delay_ns(RkDelayState *s, RkDelayKind kind, unsigned unit)
{
    if (!s || !s->seed || !s->max_ns[kind]) {
        return 0;
    }
    return rk_delay_draw(s, kind, unit) % ((uint64_t)s->max_ns[kind] + 1);
}

uint32_t rk_delay_rare_ns(RkDelayState *s, RkDelayKind kind, unsigned unit)
{
    uint64_t n;
    uint32_t x;

    if (!s || !s->seed || !s->max_ns[kind]) {
        return 0;
    }
    x = rk_delay_draw(s, kind, unit);
    if (x & 7) {
        return 0;
    }
    n = ((uint64_t)s->max_ns[kind] >> (x >> 3 & 7)) + 1;
    x >>= 32 - RARE_BITS;
    return n >> RARE_BITS ? x * n >> RARE_BITS : x % n;
}

uint32_t rk_delay_garbage(RkDelayState *s, unsigned unit)
{
    return s && s->seed ? rk_delay_draw(s, RK_DELAY_NUM, unit) : 0;
}

static void rk_delay_reset_enter(Object *obj, ResetType type)
{
    RkDelayState *s = RK_DELAY(obj);

    memset(s->drawn, 0, sizeof(s->drawn));
}

static const VMStateDescription vmstate_rk_delay = {
    .name = TYPE_RK_DELAY,
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(drawn, RkDelayState, SEQUENCES * RK_DELAY_UNITS),
        VMSTATE_END_OF_LIST()
    }
};

/* Where the times come from: rows soc.posted to soc.garbage, pc.results. */
static const Property rk_delay_properties[] = {
    DEFINE_PROP_UINT32("seed", RkDelayState, seed, 0),
    DEFINE_PROP_UINT32("write-ns", RkDelayState, max_ns[RK_DELAY_WRITE], 1000),
    DEFINE_PROP_UINT32("result-ns", RkDelayState, max_ns[RK_DELAY_RESULT], 0),
    DEFINE_PROP_UINT32("power-ns", RkDelayState, max_ns[RK_DELAY_POWER],
                       50000),
    DEFINE_PROP_UINT32("idle-ns", RkDelayState, max_ns[RK_DELAY_IDLE], 5000),
    DEFINE_PROP_UINT32("reset-ns", RkDelayState, max_ns[RK_DELAY_RESET], 5000),
    DEFINE_PROP_UINT32("irq-ns", RkDelayState, max_ns[RK_DELAY_IRQ], 0),
    DEFINE_PROP_UINT32("dma-ns", RkDelayState, max_ns[RK_DELAY_DMA], 0),
    DEFINE_PROP_UINT32("cpu-ns", RkDelayState, max_ns[RK_DELAY_CPU], 0),
    DEFINE_PROP_UINT32("turn-ns", RkDelayState, max_ns[RK_DELAY_TURN], 0),
};

static void rk_delay_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->desc = "how long things take in the RK3588 NPU subsystem";
    dc->vmsd = &vmstate_rk_delay;
    dc->user_creatable = false;
    device_class_set_props(dc, rk_delay_properties);
    rc->phases.enter = rk_delay_reset_enter;
}

static const TypeInfo rk_delay_info = {
    .name = TYPE_RK_DELAY,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(RkDelayState),
    .class_init = rk_delay_class_init,
};

static void rk_delay_register_types(void)
{
    type_register_static(&rk_delay_info);
}
type_init(rk_delay_register_types)
