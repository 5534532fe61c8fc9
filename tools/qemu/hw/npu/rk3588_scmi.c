/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of RK3588 firmware that serves SCMI requests for the NPU's clock:
 * base and clock protocol over shared memory and SMC (Arm DEN 0056).
 *
 * Rates above 200 MHz come from an oscillator inside the NPU's power domain.
 * Firmware that is asked for one while the domain is off hangs (reported from
 * boards, also for a rate in the device tree that is set before the domain is
 * on).
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "hw/sysbus.h"
#include "hw/npu/rk3588_npu.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk3588_scmi.h"
#include "migration/vmstate.h"
#include "trace.h"

/* Set by firmware before the kernel starts. */
#define BOOT_HZ                 200000000u
/* The vendor's range; every rate in it can be had. */
#define MIN_HZ                  200000000u
#define MAX_HZ                  1000000000u
#define STEP_HZ                 1000000u

/* Layout of the shared memory. */
enum {
    SHM_STATUS = 0x04,
    SHM_LENGTH = 0x14,          /* of header and payload */
    SHM_HEADER = 0x18,
    SHM_PAYLOAD = 0x1c,
};

#define SHM_STATUS_FREE         1u
#define MAX_PAYLOAD             (RK3588_SCMI_SIZE - SHM_PAYLOAD)

#define HEADER_MESSAGE(h)       ((h) & 0xff)
#define HEADER_PROTOCOL(h)      (((h) >> 10) & 0xff)

enum {
    PROTOCOL_BASE = 0x10,
    PROTOCOL_CLOCK = 0x14,
};

enum {
    MSG_VERSION = 0,
    MSG_ATTRIBUTES = 1,
    MSG_MESSAGE_ATTRIBUTES = 2,
    BASE_VENDOR = 3,
    BASE_SUB_VENDOR = 4,
    BASE_IMPLEMENTATION = 5,
    BASE_LIST_PROTOCOLS = 6,
    CLOCK_ATTRIBUTES = 3,
    CLOCK_DESCRIBE_RATES = 4,
    CLOCK_RATE_SET = 5,
    CLOCK_RATE_GET = 6,
    CLOCK_CONFIG_SET = 7,
};

enum {
    SCMI_SUCCESS = 0,
    SCMI_NOT_SUPPORTED = -1,
    SCMI_INVALID_PARAMETERS = -2,
    SCMI_NOT_FOUND = -4,
    SCMI_OUT_OF_RANGE = -5,
};

struct Rk3588ScmiState {
    SysBusDevice parent_obj;

    MemoryRegion shm;
    Rk3588NpuState *core[NPU_MAX_CORES];
    bool hang;          /* property: hang as boards do, else refuse */
    bool in_domain;     /* property: the oscillator is in the power domain */
    uint32_t clock_id;  /* property */

    bool powered;
    uint32_t hz;
};

/* A request and the answer that is being put together. */
typedef struct ScmiMsg {
    uint8_t in[MAX_PAYLOAD];
    uint32_t in_len;
    uint8_t out[MAX_PAYLOAD];
    uint32_t out_len;
    bool never;
} ScmiMsg;

static uint32_t msg_arg(const ScmiMsg *m, unsigned n)
{
    return (n + 1) * 4 <= m->in_len ? ldl_le_p(&m->in[n * 4]) : 0;
}

static void msg_put(ScmiMsg *m, uint32_t value)
{
    stl_le_p(&m->out[m->out_len], value);
    m->out_len += 4;
}

static void msg_put_name(ScmiMsg *m, const char *name)
{
    strncpy((char *)&m->out[m->out_len], name, 15);
    m->out_len += 16;
}

/* --- Base protocol --- */

static int32_t base_call(uint32_t message, ScmiMsg *m)
{
    switch (message) {
    case MSG_VERSION:
        msg_put(m, 0x20000);
        return SCMI_SUCCESS;
    case MSG_ATTRIBUTES:
        msg_put(m, 1 << 8 | 1);         /* one agent, one more protocol */
        return SCMI_SUCCESS;
    case MSG_MESSAGE_ATTRIBUTES:
        if (msg_arg(m, 0) > BASE_LIST_PROTOCOLS) {
            return SCMI_NOT_FOUND;
        }
        msg_put(m, 0);
        return SCMI_SUCCESS;
    case BASE_VENDOR:
        msg_put_name(m, "rockchip");
        return SCMI_SUCCESS;
    case BASE_SUB_VENDOR:
        msg_put_name(m, "model");
        return SCMI_SUCCESS;
    case BASE_IMPLEMENTATION:
        msg_put(m, 1);
        return SCMI_SUCCESS;
    case BASE_LIST_PROTOCOLS:
        if (msg_arg(m, 0)) {
            msg_put(m, 0);
        } else {
            msg_put(m, 1);
            msg_put(m, PROTOCOL_CLOCK);
        }
        return SCMI_SUCCESS;
    default:
        return SCMI_NOT_SUPPORTED;
    }
}

/* --- Clock protocol --- */

static void scmi_apply(Rk3588ScmiState *s)
{
    unsigned i;

    for (i = 0; i < NPU_MAX_CORES; i++) {
        if (s->core[i]) {
            npu_set_clock_hz(s->core[i], s->hz);
        }
    }
}

static int32_t clock_set(Rk3588ScmiState *s, ScmiMsg *m)
{
    uint64_t hz = msg_arg(m, 2) | (uint64_t)msg_arg(m, 3) << 32;

    if (hz < MIN_HZ || hz > MAX_HZ) {
        return SCMI_OUT_OF_RANGE;
    }
    trace_rk3588_scmi_rate(s->hz, hz, s->powered);
    if (hz > BOOT_HZ && !s->powered && s->in_domain) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-scmi: NPU clock raised while "
                      "its power domain is off%s\n",
                      s->hang ? ": firmware hangs" : "");
        m->never = s->hang;
        return SCMI_INVALID_PARAMETERS;
    }
    s->hz = hz;
    scmi_apply(s);
    return SCMI_SUCCESS;
}

static void clock_describe(ScmiMsg *m)
{
    msg_put(m, 1 << 12 | 3);            /* a triplet: lowest, highest, step */
    msg_put(m, MIN_HZ);
    msg_put(m, 0);
    msg_put(m, MAX_HZ);
    msg_put(m, 0);
    msg_put(m, STEP_HZ);
    msg_put(m, 0);
}

/* Of the SoC's clocks only the NPU's is here. */
static int32_t clock_call_npu(Rk3588ScmiState *s, uint32_t message, ScmiMsg *m)
{
    uint32_t id = msg_arg(m, message == CLOCK_RATE_SET ? 1 : 0);

    if (id != s->clock_id) {
        return SCMI_NOT_FOUND;
    }
    switch (message) {
    case CLOCK_ATTRIBUTES:
        msg_put(m, 1);                  /* enabled */
        msg_put_name(m, "scmi_clk_npu");
        return SCMI_SUCCESS;
    case CLOCK_DESCRIBE_RATES:
        clock_describe(m);
        return SCMI_SUCCESS;
    case CLOCK_RATE_SET:
        return clock_set(s, m);
    case CLOCK_RATE_GET:
        msg_put(m, s->hz);
        msg_put(m, 0);
        return SCMI_SUCCESS;
    default:
        /* CONFIG_SET: the gates are the CRU's. */
        return SCMI_SUCCESS;
    }
}

static int32_t clock_call(Rk3588ScmiState *s, uint32_t message, ScmiMsg *m)
{
    switch (message) {
    case MSG_VERSION:
        msg_put(m, 0x10000);
        return SCMI_SUCCESS;
    case MSG_ATTRIBUTES:
        msg_put(m, s->clock_id + 1);
        return SCMI_SUCCESS;
    case MSG_MESSAGE_ATTRIBUTES:
        if (msg_arg(m, 0) > CLOCK_CONFIG_SET) {
            return SCMI_NOT_FOUND;
        }
        msg_put(m, 0);
        return SCMI_SUCCESS;
    case CLOCK_ATTRIBUTES:
    case CLOCK_DESCRIBE_RATES:
    case CLOCK_RATE_SET:
    case CLOCK_RATE_GET:
    case CLOCK_CONFIG_SET:
        return clock_call_npu(s, message, m);
    default:
        return SCMI_NOT_SUPPORTED;
    }
}

/* --- Transport --- */

static int32_t scmi_serve(Rk3588ScmiState *s, uint32_t header, ScmiMsg *m)
{
    switch (HEADER_PROTOCOL(header)) {
    case PROTOCOL_BASE:
        return base_call(HEADER_MESSAGE(header), m);
    case PROTOCOL_CLOCK:
        return clock_call(s, HEADER_MESSAGE(header), m);
    default:
        return SCMI_NOT_SUPPORTED;
    }
}

ArmSmcVerdict rk3588_scmi_call(Rk3588ScmiState *s, int32_t *ret)
{
    uint8_t *shm = memory_region_get_ram_ptr(&s->shm);
    uint32_t header = ldl_le_p(&shm[SHM_HEADER]);
    uint32_t length = ldl_le_p(&shm[SHM_LENGTH]);
    /* The status of the answer comes before all else. */
    ScmiMsg m = { .out_len = 4 };
    int32_t status;

    *ret = 0;
    if (length < 4 || length - 4 > MAX_PAYLOAD) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-scmi: message of %u bytes\n",
                      length);
        status = SCMI_INVALID_PARAMETERS;
    } else {
        m.in_len = length - 4;
        memcpy(m.in, &shm[SHM_PAYLOAD], m.in_len);
        status = scmi_serve(s, header, &m);
    }
    trace_rk3588_scmi_call(HEADER_PROTOCOL(header), HEADER_MESSAGE(header),
                           status);
    if (m.never) {
        return ARM_SMC_NEVER;
    }
    if (status != SCMI_SUCCESS) {
        m.out_len = 4;
    }
    stl_le_p(m.out, status);
    memcpy(&shm[SHM_PAYLOAD], m.out, m.out_len);
    stl_le_p(&shm[SHM_LENGTH], 4 + m.out_len);
    stl_le_p(&shm[SHM_STATUS], SHM_STATUS_FREE);
    memory_region_set_dirty(&s->shm, 0, RK3588_SCMI_SIZE);
    return ARM_SMC_DONE;
}

/* --- Device --- */

static void scmi_set_power(void *opaque, int n, int level)
{
    Rk3588ScmiState *s = opaque;

    s->powered = level;
}

/* For tests without a CPU: serves the shared memory.  True: firmware hangs. */
static bool scmi_ring(Object *obj, Error **errp)
{
    int32_t ret;

    return rk3588_scmi_call(RK3588_SCMI(obj), &ret) == ARM_SMC_NEVER;
}

static void scmi_reset_hold(Object *obj, ResetType type)
{
    Rk3588ScmiState *s = RK3588_SCMI(obj);

    s->hz = BOOT_HZ;
    scmi_apply(s);
    stl_le_p((uint8_t *)memory_region_get_ram_ptr(&s->shm) + SHM_STATUS,
             SHM_STATUS_FREE);
}

static void scmi_realize(DeviceState *dev, Error **errp)
{
    Rk3588ScmiState *s = RK3588_SCMI(dev);

    if (!memory_region_init_ram(&s->shm, OBJECT(s), "rk3588-scmi",
                                RK3588_SCMI_SIZE, errp)) {
        return;
    }
    sysbus_init_mmio(SYS_BUS_DEVICE(s), &s->shm);
}

static void scmi_init(Object *obj)
{
    qdev_init_gpio_in(DEVICE(obj), scmi_set_power, 1);
}

static int scmi_post_load(void *opaque, int version_id)
{
    Rk3588ScmiState *s = opaque;

    if (s->hz < MIN_HZ || s->hz > MAX_HZ) {
        return -EINVAL;
    }
    /* The cores bring their own. */
    return 0;
}

static const VMStateDescription vmstate_scmi = {
    .name = TYPE_RK3588_SCMI,
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = scmi_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(hz, Rk3588ScmiState),
        VMSTATE_BOOL(powered, Rk3588ScmiState),
        VMSTATE_END_OF_LIST()
    },
};

static const Property scmi_properties[] = {
    DEFINE_PROP_LINK("core0", Rk3588ScmiState, core[0], TYPE_RK3588_NPU,
                     Rk3588NpuState *),
    DEFINE_PROP_LINK("core1", Rk3588ScmiState, core[1], TYPE_RK3588_NPU,
                     Rk3588NpuState *),
    DEFINE_PROP_LINK("core2", Rk3588ScmiState, core[2], TYPE_RK3588_NPU,
                     Rk3588NpuState *),
    DEFINE_PROP_BOOL("hang", Rk3588ScmiState, hang, true),
    DEFINE_PROP_BOOL("in-domain", Rk3588ScmiState, in_domain, true),
    DEFINE_PROP_UINT32("clock-id", Rk3588ScmiState, clock_id,
                       RK3588_SCMI_CLK_NPU),
};

static void scmi_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->realize = scmi_realize;
    dc->vmsd = &vmstate_scmi;
    dc->desc = "SCMI firmware of the RK3588's NPU clock";
    rc->phases.hold = scmi_reset_hold;
    device_class_set_props(dc, scmi_properties);
    object_class_property_add_bool(klass, "ring", scmi_ring, NULL);
}

static const TypeInfo scmi_info = {
    .name = TYPE_RK3588_SCMI,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(Rk3588ScmiState),
    .instance_init = scmi_init,
    .class_init = scmi_class_init,
};

static void scmi_register_types(void)
{
    type_register_static(&scmi_info);
}
type_init(scmi_register_types)
