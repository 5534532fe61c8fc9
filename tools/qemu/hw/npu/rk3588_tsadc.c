/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RK3588's temperature sensors (TSADC): values and the alarm at a high
 * temperature.  A conversion takes no time, and the lines that shut the
 * board down are not there.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/log.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "hw/irq.h"
#include "hw/npu/rk3588_tsadc.h"
#include "hw/resettable.h"
#include "hw/sysbus.h"
#include "migration/vmstate.h"

/* Upper halves of these select the bits of the lower halves to write. */
#define AUTO_CON                0x004
#define AUTO_CON_EN             1u
#define AUTO_SRC_CON            0x00c
#define HT_INT_EN               0x014
#define HSHUT_GPIO_INT_EN       0x018
#define HSHUT_CRU_INT_EN        0x01c
/* Bits are cleared by writing 1. */
#define HT_INT_PD               0x024
#define HSHUT_PD                0x028
/* One for each sensor. */
#define DATA                    0x02c
#define COMP_INT                0x06c

#define TSADC_REGS              (RK3588_TSADC_SIZE / 4)
#define TSADC_BOOT_MC           45000

struct Rk3588TsadcState {
    SysBusDevice parent_obj;

    MemoryRegion iomem;
    MemoryRegion word;
    qemu_irq alarm;

    uint32_t regs[TSADC_REGS];
    int32_t mc;
};

/* As Linux's driver has it; straight lines in between. */
static const struct {
    uint32_t code;
    int32_t mc;
} tsadc_curve[] = {
    { 215, -40000 },
    { 285, 25000 },
    { 350, 85000 },
    { 395, 125000 },
};

/* The lowest code that is read as @mc or more. */
static uint32_t tsadc_code(int32_t mc)
{
    unsigned i = 1;
    int32_t span;

    if (mc <= tsadc_curve[0].mc) {
        return tsadc_curve[0].code;
    }
    while (i < ARRAY_SIZE(tsadc_curve) - 1 && mc > tsadc_curve[i].mc) {
        i++;
    }
    mc = MIN(mc, tsadc_curve[i].mc);
    span = tsadc_curve[i].mc - tsadc_curve[i - 1].mc;
    return tsadc_curve[i - 1].code +
           DIV_ROUND_UP((mc - tsadc_curve[i - 1].mc) *
                        (int32_t)(tsadc_curve[i].code -
                                  tsadc_curve[i - 1].code), span);
}

static uint32_t *tsadc_reg(Rk3588TsadcState *s, hwaddr offset)
{
    return &s->regs[offset / 4];
}

static bool tsadc_measures(Rk3588TsadcState *s, unsigned sensor)
{
    return (*tsadc_reg(s, AUTO_CON) & AUTO_CON_EN) &&
           (*tsadc_reg(s, AUTO_SRC_CON) & BIT(sensor));
}

/* Measures, and raises the alarm of each sensor that is above its limit. */
static void tsadc_update(Rk3588TsadcState *s)
{
    uint32_t code = tsadc_code(s->mc);
    unsigned i;

    for (i = 0; i < RK3588_TSADC_SENSORS; i++) {
        if (!tsadc_measures(s, i)) {
            continue;
        }
        *tsadc_reg(s, DATA + 4 * i) = code;
        if ((*tsadc_reg(s, HT_INT_EN) & BIT(i)) &&
            code >= *tsadc_reg(s, COMP_INT + 4 * i)) {
            *tsadc_reg(s, HT_INT_PD) |= BIT(i);
        }
    }
    qemu_set_irq(s->alarm, (*tsadc_reg(s, HT_INT_PD) &
                            *tsadc_reg(s, HT_INT_EN)) != 0);
}

static uint64_t tsadc_read(void *opaque, hwaddr offset, unsigned size)
{
    return *tsadc_reg(opaque, offset);
}

static void tsadc_write(void *opaque, hwaddr offset, uint64_t value,
                        unsigned size)
{
    Rk3588TsadcState *s = opaque;
    uint32_t *reg = tsadc_reg(s, offset);
    uint32_t mask = value >> 16;

    switch (offset) {
    case AUTO_CON:
    case AUTO_SRC_CON:
    case HT_INT_EN:
    case HSHUT_GPIO_INT_EN:
    case HSHUT_CRU_INT_EN:
        *reg = (*reg & ~mask) | (value & mask);
        break;
    case HT_INT_PD:
    case HSHUT_PD:
        *reg &= ~value;
        break;
    case DATA ... DATA + 4 * RK3588_TSADC_SENSORS - 1:
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-tsadc: write to data\n");
        break;
    default:
        *reg = value;
        break;
    }
    tsadc_update(s);
}

static const MemoryRegionOps tsadc_ops = {
    .read = tsadc_read,
    .write = tsadc_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
};

static void tsadc_set_mc(Rk3588TsadcState *s, int32_t mc)
{
    s->mc = mc;
    tsadc_update(s);
}

static uint64_t tsadc_word_read(void *opaque, hwaddr offset, unsigned size)
{
    Rk3588TsadcState *s = opaque;

    return (uint32_t)s->mc;
}

static void tsadc_word_write(void *opaque, hwaddr offset, uint64_t value,
                             unsigned size)
{
    tsadc_set_mc(opaque, (int32_t)value);
}

static const MemoryRegionOps tsadc_word_ops = {
    .read = tsadc_word_read,
    .write = tsadc_word_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
};

static void tsadc_get_temperature(Object *obj, Visitor *v, const char *name,
                                  void *opaque, Error **errp)
{
    visit_type_int32(v, name, &RK3588_TSADC(obj)->mc, errp);
}

static void tsadc_set_temperature(Object *obj, Visitor *v, const char *name,
                                  void *opaque, Error **errp)
{
    int32_t mc;

    if (visit_type_int32(v, name, &mc, errp)) {
        tsadc_set_mc(RK3588_TSADC(obj), mc);
    }
}

static void tsadc_reset_hold(Object *obj, ResetType type)
{
    Rk3588TsadcState *s = RK3588_TSADC(obj);

    memset(s->regs, 0, sizeof(s->regs));
    s->mc = TSADC_BOOT_MC;
    qemu_set_irq(s->alarm, 0);
}

static void tsadc_realize(DeviceState *dev, Error **errp)
{
    Rk3588TsadcState *s = RK3588_TSADC(dev);
    SysBusDevice *sbd = SYS_BUS_DEVICE(dev);

    memory_region_init_io(&s->iomem, OBJECT(dev), &tsadc_ops, s,
                          TYPE_RK3588_TSADC, RK3588_TSADC_SIZE);
    memory_region_init_io(&s->word, OBJECT(dev), &tsadc_word_ops, s,
                          TYPE_RK3588_TSADC "-temperature", 4);
    sysbus_init_mmio(sbd, &s->iomem);
    sysbus_init_mmio(sbd, &s->word);
    sysbus_init_irq(sbd, &s->alarm);
}

static int tsadc_post_load(void *opaque, int version_id)
{
    tsadc_update(opaque);
    return 0;
}

static const VMStateDescription vmstate_tsadc = {
    .name = TYPE_RK3588_TSADC,
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = tsadc_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, Rk3588TsadcState, TSADC_REGS),
        VMSTATE_INT32(mc, Rk3588TsadcState),
        VMSTATE_END_OF_LIST()
    },
};

static void tsadc_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->realize = tsadc_realize;
    dc->vmsd = &vmstate_tsadc;
    dc->desc = "RK3588 temperature sensors";
    rc->phases.hold = tsadc_reset_hold;
    object_class_property_add(klass, "temperature", "int32",
                              tsadc_get_temperature, tsadc_set_temperature,
                              NULL, NULL);
    object_class_property_set_description(klass, "temperature",
        "What all sensors measure, in thousandths of a degree Celsius");
}

static const TypeInfo tsadc_info = {
    .name = TYPE_RK3588_TSADC,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(Rk3588TsadcState),
    .class_init = tsadc_class_init,
};

static void tsadc_register_types(void)
{
    type_register_static(&tsadc_info);
}
type_init(tsadc_register_types)
