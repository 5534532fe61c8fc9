/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RK3588 NPU core: the device with its register window, interrupt line,
 * power, clock and reset inputs.  The program controller does the work.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "migration/vmstate.h"
#include "qapi/visitor.h"
#include "hw/npu/rk3588_npu.h"
#include "rk3588_npu_pc.h"
#include "trace.h"

#define NPU_VERSION             0x46495245
#define NPU_CLOCK_HZ            200000000       /* as firmware leaves it */

typedef enum NpuResetCause {
    NPU_RESET_MACHINE,
    NPU_RESET_LINE,     /* of the CRU */
    NPU_RESET_POWER,    /* lost */
} NpuResetCause;

struct Rk3588NpuState {
    SysBusDevice parent_obj;

    MemoryRegion iomem;
    bool reset_keeps_sram;  /* property: CBUF and tables of the LUT */
    uint32_t version;       /* properties: of the chip */
    uint32_t version_num;
    uint32_t window_size;
    bool in_reset[2];       /* inputs; they survive a reset of this device */
    NpuEnv env;
    NpuIrq irq;
    NpuGroups groups;
    NpuPc pc;
};

static bool npu_held_in_reset(const Rk3588NpuState *s)
{
    return s->in_reset[0] || s->in_reset[1];
}

/* Do its registers take no part in anything? */
static bool npu_silent(const Rk3588NpuState *s)
{
    return npu_held_in_reset(s) || rk_iommu_settles(s->env.iommu);
}

/* An armed fault: does a reset of a core that hangs not help? */
static bool npu_stays_hung(Rk3588NpuState *s, NpuResetCause cause)
{
    if (s->pc.phase != NPU_PHASE_HUNG) {
        return false;
    }
    switch (cause) {
    case NPU_RESET_LINE:
        return npu_fault(&s->env, NPU_FAULT_RESET_STUCK, NULL);
    case NPU_RESET_POWER:
        return npu_fault(&s->env, NPU_FAULT_OFF_STUCK, NULL);
    default:
        return false;
    }
}

/* An armed fault: registers do not answer; *@value is what they read. */
static bool npu_dead(Rk3588NpuState *s, uint32_t *value)
{
    return npu_fault(&s->env, NPU_FAULT_CORE_DEAD, value);
}

/*
 * CRU reset or loss of power: nothing of registers or task survives.  A reset
 * line reaches flip-flops and not RAM (row cbuf.survives).
 */
static void npu_hard_reset(Rk3588NpuState *s, NpuResetCause cause)
{
    bool stuck = npu_stays_hung(s, cause);
    bool keeps = cause == NPU_RESET_LINE && s->reset_keeps_sram;

    trace_rk3588_npu_reset(s->env.core_index, s->pc.phase, stuck);
    npu_pc_abort(&s->pc, stuck);
    npu_groups_reset(&s->groups);
    npu_irq_reset(&s->irq);
    if (!keeps) {
        npu_cbuf_drop(&s->pc.cbuf);
        npu_lut_drop(&s->groups.lut);
    }
}

/* --- Registers --- */

static uint32_t npu_pc_read(Rk3588NpuState *s, uint32_t offset)
{
    if (offset == s->pc.task_status) {
        return npu_pc_task_status(&s->pc);
    }
    switch (offset) {
    case A_PC_VERSION:
        return s->version;
    case A_PC_VERSION_NUM:
        return s->version_num;
    case A_PC_TASK_STATUS:
    case A_PC_INTERRUPT_CLEAR:
        return 0;
    case A_PC_INTERRUPT_STATUS:
        return npu_irq_status(&s->irq);
    case A_PC_INTERRUPT_RAW_STATUS:
        return npu_irq_raw(&s->irq);
    case A_PC_INTERRUPT_MASK:
        return npu_irq_mask(&s->irq);
    default:
        return s->groups.regs[offset / 4];
    }
}

static void npu_pc_write(Rk3588NpuState *s, uint32_t offset, uint32_t value)
{
    uint32_t *regs = s->groups.regs;
    uint32_t old;

    switch (offset) {
    case A_PC_OPERATION_ENABLE:
        value &= R_PC_OPERATION_ENABLE_OP_EN_MASK;
        old = regs[R_PC_OPERATION_ENABLE];
        regs[R_PC_OPERATION_ENABLE] = value;
        if (value & ~old) {
            npu_pc_kick(&s->pc);
        }
        break;
    case A_PC_INTERRUPT_MASK:
        npu_irq_set_mask(&s->irq, value);
        break;
    case A_PC_INTERRUPT_CLEAR:
        npu_irq_clear(&s->irq, value);
        break;
    case A_PC_TASK_CON:
        npu_pc_write_task_con(&s->pc, value);
        break;
    case A_PC_BASE_ADDRESS:
    case A_PC_REGISTER_AMOUNTS:
    case A_PC_TASK_DMA_BASE_ADDR:
        regs[offset / 4] = value;
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: write of 0x%08x to PC "
                      "offset 0x%04x\n", s->env.core_index, value, offset);
    }
}

static uint32_t npu_reg_read(Rk3588NpuState *s, uint32_t offset)
{
    if (offset >> 12 == NPU_BLOCK_PC) {
        return npu_pc_read(s, offset);
    }
    if (offset < NPU_REGFILE_SIZE) {
        return npu_groups_read(&s->groups, offset, npu_pc_running(&s->pc),
                               npu_pc_waiting(&s->pc));
    }
    if (offset != A_GLOBAL_OPERATION_ENABLE) {
        qemu_log_mask(LOG_UNIMP, "rk3588-npu%u: read of offset 0x%04x\n",
                      s->env.core_index, offset);
    }
    return 0;
}

static void npu_reg_write(Rk3588NpuState *s, uint32_t offset, uint32_t value)
{
    if (offset >> 12 == NPU_BLOCK_PC) {
        npu_pc_write(s, offset, value);
    } else if (offset < NPU_REGFILE_SIZE) {
        if (npu_groups_write(&s->groups, offset, value)) {
            npu_pc_enable_block(&s->pc, offset >> 12);
        }
    } else if (offset == A_GLOBAL_OPERATION_ENABLE) {
        npu_pc_enable(&s->pc, value);
    } else {
        qemu_log_mask(LOG_UNIMP, "rk3588-npu%u: write to offset 0x%04x\n",
                      s->env.core_index, offset);
    }
}

/* A spurious interrupt ends as soon as somebody looks for its cause. */
static void npu_looked_for_cause(Rk3588NpuState *s, uint32_t offset)
{
    if (s->irq.spurious && (offset == A_PC_INTERRUPT_STATUS ||
                            offset == A_PC_INTERRUPT_RAW_STATUS)) {
        npu_irq_end_spurious(&s->irq);
    }
}

static MemTxResult npu_inaccessible(Rk3588NpuState *s, hwaddr offset)
{
    qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: access to offset 0x%04"
                  HWADDR_PRIx " with power %d, aclk %d, hclk %d\n",
                  s->env.core_index, offset, s->env.power, s->env.aclk,
                  s->env.hclk);
    npu_count(&s->env, NPU_CNT_ABORT, 1);
    return MEMTX_DECODE_ERROR;
}

/*
 * Other chips have counters there.  On boards one such read is an abort and
 * another hangs the bus (row soc.holes).
 */
static bool npu_in_hole(const Rk3588NpuState *s, hwaddr offset)
{
    return s->pc.encoding == NPU_ENCODING_RK3588 &&
           (offset >> 12 == 2 || (offset >= 0x8000 && offset < 0xf000));
}

static MemTxResult npu_read_hole(Rk3588NpuState *s, hwaddr offset)
{
    qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: read of offset 0x%04"
                  HWADDR_PRIx ", which hangs boards\n", s->env.core_index,
                  offset);
    npu_count(&s->env, NPU_CNT_ABORT, 1);
    return MEMTX_DECODE_ERROR;
}

static MemTxResult npu_read(void *opaque, hwaddr offset, uint64_t *data,
                            unsigned size, MemTxAttrs attrs)
{
    Rk3588NpuState *s = opaque;
    uint32_t dead;

    *data = 0;
    if (!npu_clocked(&s->env)) {
        return npu_inaccessible(s, offset);
    }
    if (npu_in_hole(s, offset)) {
        return npu_read_hole(s, offset);
    }
    rk_port_flush(rk_iommu_port(s->env.iommu));
    if (npu_dead(s, &dead)) {
        *data = dead;
    } else if (!npu_silent(s)) {
        *data = npu_reg_read(s, offset);
    }
    trace_rk3588_npu_read(s->env.core_index, offset, *data);
    npu_count(&s->env, NPU_CNT_MMIO_READ, 1);
    npu_trace_access(&s->env, NPU_CTL_UNIT_CORE, offset, *data, false);
    npu_looked_for_cause(s, offset);
    return MEMTX_OK;
}

/* A write of a CPU arrives. */
static void npu_land(void *opaque, hwaddr offset, uint32_t value)
{
    Rk3588NpuState *s = opaque;

    if (!npu_clocked(&s->env)) {
        rk_port_lost(rk_iommu_port(s->env.iommu), s->iomem.addr + offset,
                     value);
    } else if (!npu_dead(s, NULL) && !npu_silent(s)) {
        npu_reg_write(s, offset, value);
    }
}

static MemTxResult npu_write(void *opaque, hwaddr offset, uint64_t data,
                             unsigned size, MemTxAttrs attrs)
{
    Rk3588NpuState *s = opaque;

    if (!npu_clocked(&s->env)) {
        return npu_inaccessible(s, offset);
    }
    trace_rk3588_npu_write(s->env.core_index, offset, data);
    npu_count(&s->env, NPU_CNT_MMIO_WRITE, 1);
    npu_trace_access(&s->env, NPU_CTL_UNIT_CORE, offset, data, true);
    rk_port_post(rk_iommu_port(s->env.iommu), npu_land, s, offset, data);
    return MEMTX_OK;
}

static const MemoryRegionOps npu_ops = {
    .read_with_attrs = npu_read,
    .write_with_attrs = npu_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

/* --- Inputs --- */

void npu_set_clock_hz(Rk3588NpuState *s, uint32_t hz)
{
    if (hz != s->env.clock_hz) {
        s->env.clock_hz = hz;
        npu_pc_clocks_changed(&s->pc);
    }
}

static void npu_get_clock(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    Rk3588NpuState *s = RK3588_NPU(obj);

    visit_type_uint32(v, name, &s->env.clock_hz, errp);
}

static void npu_set_clock(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    uint32_t hz;

    if (!visit_type_uint32(v, name, &hz, errp)) {
        return;
    }
    if (!hz) {
        error_setg(errp, "clock-frequency must not be 0");
        return;
    }
    npu_set_clock_hz(RK3588_NPU(obj), hz);
}

/* Has the time of a task passed while the host still computes it? */
static bool npu_get_late(Object *obj, Error **errp)
{
    return RK3588_NPU(obj)->pc.late;
}

/*
 * RAM, and registers that only software gives a meaning, come up with anything
 * in them (row soc.garbage).
 */
static void npu_power_up(Rk3588NpuState *s)
{
    static const uint32_t any[] = {
        R_PC_REGISTER_AMOUNTS, R_PC_TASK_CON, R_PC_TASK_DMA_BASE_ADDR,
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(any); i++) {
        s->groups.regs[any[i]] = rk_delay_garbage(s->env.delay,
                                                  s->env.core_index);
    }
    npu_cbuf_fill(&s->pc.cbuf, rk_delay_garbage(s->env.delay,
                                                s->env.core_index));
}

static void npu_set_power(void *opaque, int n, int level)
{
    Rk3588NpuState *s = opaque;

    rk_port_catch_up(rk_iommu_port(s->env.iommu));
    if (s->env.power && !level) {
        npu_hard_reset(s, NPU_RESET_POWER);
    } else if (!s->env.power && level) {
        npu_power_up(s);
    }
    s->env.power = level;
    npu_pc_clocks_changed(&s->pc);
}

static void npu_set_aclk(void *opaque, int n, int level)
{
    Rk3588NpuState *s = opaque;

    rk_port_catch_up(rk_iommu_port(s->env.iommu));
    s->env.aclk = level;
    npu_pc_clocks_changed(&s->pc);
}

static void npu_set_hclk(void *opaque, int n, int level)
{
    Rk3588NpuState *s = opaque;

    rk_port_catch_up(rk_iommu_port(s->env.iommu));
    s->env.hclk = level;
    npu_pc_clocks_changed(&s->pc);
}

/* Either of srst_a and srst_h resets everything; both make one reset. */
static void npu_set_reset(void *opaque, int n, int level)
{
    Rk3588NpuState *s = opaque;
    bool before = npu_held_in_reset(s);

    rk_port_catch_up(rk_iommu_port(s->env.iommu));
    s->in_reset[n] = level;
    if (!before && level) {
        npu_hard_reset(s, NPU_RESET_LINE);
    }
}

/* --- Device --- */

static void npu_reset_hold(Object *obj, ResetType type)
{
    npu_hard_reset(RK3588_NPU(obj), NPU_RESET_MACHINE);
}

static void npu_init(Object *obj)
{
    Rk3588NpuState *s = RK3588_NPU(obj);
    DeviceState *dev = DEVICE(obj);

    s->env.sbd = SYS_BUS_DEVICE(obj);
    npu_irq_init(&s->irq, &s->env);
    s->groups.env = &s->env;
    npu_pc_init(&s->pc, &s->env, &s->groups, &s->irq);
    s->env.aclk = true;
    s->env.hclk = true;
    s->env.clock_hz = NPU_CLOCK_HZ;
    qdev_init_gpio_in_named(dev, npu_set_power, "power", 1);
    qdev_init_gpio_in_named(dev, npu_set_aclk, "aclk", 1);
    qdev_init_gpio_in_named(dev, npu_set_hclk, "hclk", 1);
    qdev_init_gpio_in_named(dev, npu_set_reset, "reset", 2);
    sysbus_init_irq(SYS_BUS_DEVICE(obj), &s->irq.line);
}

static void npu_realize(DeviceState *dev, Error **errp)
{
    Rk3588NpuState *s = RK3588_NPU(dev);

    if (!s->env.iommu) {
        error_setg(errp, "rk3588-npu-core needs its iommu");
        return;
    }
    if (s->pc.task_bits != 12 && s->pc.task_bits != 16) {
        error_setg(errp, "task-bits must be 12 or 16");
        return;
    }
    if (s->pc.fetch.per_amount != 1 && s->pc.fetch.per_amount != 2) {
        error_setg(errp, "commands-per-amount must be 1 or 2");
        return;
    }
    if (s->pc.encoding >= NPU_ENCODING_NUM) {
        error_setg(errp, "encoding must be 0, RK3588, 1, RK3576, 2, RK3568, "
                   "3, RK3562, or 4, RV1126B");
        return;
    }
    memory_region_init_io(&s->iomem, OBJECT(dev), &npu_ops, s, TYPE_RK3588_NPU,
                          s->window_size);
    sysbus_init_mmio(SYS_BUS_DEVICE(dev), &s->iomem);
    npu_irq_realize(&s->irq);
    npu_pc_realize(&s->pc, dev);
}

static void npu_unrealize(DeviceState *dev)
{
    Rk3588NpuState *s = RK3588_NPU(dev);

    npu_irq_unrealize(&s->irq);
    npu_pc_unrealize(&s->pc);
}

static int npu_pre_load(void *opaque)
{
    Rk3588NpuState *s = opaque;

    /* The control device may have its state already: it is left alone. */
    npu_pc_forget(&s->pc);
    npu_cbuf_drop(&s->pc.cbuf);
    return 0;
}

static int npu_post_load(void *opaque, int version_id)
{
    Rk3588NpuState *s = opaque;

    if (!s->env.clock_hz) {
        return -EINVAL;
    }
    npu_pc_resume(&s->pc);
    return 0;
}

static const VMStateDescription vmstate_npu = {
    .name = TYPE_RK3588_NPU,
    .version_id = 8,
    .minimum_version_id = 8,
    .pre_load = npu_pre_load,
    .post_load = npu_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL_ARRAY(in_reset, Rk3588NpuState, 2),
        VMSTATE_BOOL(env.power, Rk3588NpuState),
        VMSTATE_BOOL(env.aclk, Rk3588NpuState),
        VMSTATE_BOOL(env.hclk, Rk3588NpuState),
        VMSTATE_UINT32(env.clock_hz, Rk3588NpuState),
        VMSTATE_STRUCT(irq, Rk3588NpuState, 1, vmstate_npu_irq, NpuIrq),
        VMSTATE_STRUCT(groups, Rk3588NpuState, 1, vmstate_npu_groups,
                       NpuGroups),
        VMSTATE_STRUCT(pc, Rk3588NpuState, 1, vmstate_npu_pc, NpuPc),
        VMSTATE_END_OF_LIST()
    }
};

static const Property npu_properties[] = {
    DEFINE_PROP_UINT32("core-index", Rk3588NpuState, env.core_index, 0),
    DEFINE_PROP_BOOL("write-padding", Rk3588NpuState, pc.write_padding, true),
    DEFINE_PROP_BOOL("idle-ppu-rdma", Rk3588NpuState, pc.idle_ppu_rdma, false),
    DEFINE_PROP_BOOL("ppu-sets-dpu-done", Rk3588NpuState,
                     env.reading[NPU_READ_PPU_SETS_DPU_DONE], false),
    DEFINE_PROP_BOOL("raw-high-bits", Rk3588NpuState,
                     env.reading[NPU_READ_RAW_HIGH_BITS], true),
    DEFINE_PROP_BOOL("raw-keeps", Rk3588NpuState,
                     env.reading[NPU_READ_RAW_KEEPS], false),
    DEFINE_PROP_BOOL("status-all-bits", Rk3588NpuState,
                     env.reading[NPU_READ_STATUS_ALL_BITS], true),
    DEFINE_PROP_BOOL("s-status-done", Rk3588NpuState,
                     env.reading[NPU_READ_S_STATUS_DONE], false),
    DEFINE_PROP_BOOL("executer-shows", Rk3588NpuState,
                     env.reading[NPU_READ_EXECUTER_SHOWS], true),
    DEFINE_PROP_UINT32("window-size", Rk3588NpuState, window_size,
                       RK3588_NPU_WINDOW_SIZE),
    DEFINE_PROP_UINT32("version", Rk3588NpuState, version, NPU_VERSION),
    DEFINE_PROP_UINT32("version-num", Rk3588NpuState, version_num, 0),
    DEFINE_PROP_UINT32("task-bits", Rk3588NpuState, pc.task_bits, 12),
    DEFINE_PROP_UINT32("task-status", Rk3588NpuState, pc.task_status,
                       A_PC_TASK_STATUS),
    DEFINE_PROP_BOOL("pc-done-bits", Rk3588NpuState, pc.pc_done_bits, false),
    DEFINE_PROP_BOOL("fetch-error-bit", Rk3588NpuState, pc.fetch_error, false),
    DEFINE_PROP_BOOL("no-dma-base", Rk3588NpuState, pc.no_dma_base, false),
    DEFINE_PROP_BOOL("silent-ppu", Rk3588NpuState, pc.silent_ppu, false),
    DEFINE_PROP_UINT32("commands-per-amount", Rk3588NpuState,
                       pc.fetch.per_amount, 2),
    DEFINE_PROP_UINT32("encoding", Rk3588NpuState, pc.encoding,
                       NPU_ENCODING_RK3588),
    DEFINE_PROP_BOOL("empty-tasks", Rk3588NpuState, pc.empty_tasks, false),
    DEFINE_PROP_BOOL("pp-banks", Rk3588NpuState, groups.pp_banks, true),
    DEFINE_PROP_BOOL("pc-prefetch", Rk3588NpuState, pc.prefetch, true),
    DEFINE_PROP_BOOL("reset-keeps-sram", Rk3588NpuState, reset_keeps_sram,
                     true),
    DEFINE_PROP_LINK("iommu", Rk3588NpuState, env.iommu, TYPE_RK_IOMMU,
                     RkIommuState *),
    DEFINE_PROP_LINK("ctl", Rk3588NpuState, env.ctl, TYPE_RK3588_NPU_CTL,
                     Rk3588NpuCtlState *),
    DEFINE_PROP_LINK("delay", Rk3588NpuState, env.delay, TYPE_RK_DELAY,
                     RkDelayState *),
};

static void npu_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->desc = "RK3588 NPU core";
    dc->realize = npu_realize;
    dc->unrealize = npu_unrealize;
    dc->vmsd = &vmstate_npu;
    dc->user_creatable = false;
    device_class_set_props(dc, npu_properties);
    object_class_property_add(klass, "clock-frequency", "uint32",
                              npu_get_clock, npu_set_clock, NULL, NULL);
    object_class_property_add_bool(klass, "late", npu_get_late, NULL);
    rc->phases.hold = npu_reset_hold;
}

static const TypeInfo npu_info = {
    .name = TYPE_RK3588_NPU,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(Rk3588NpuState),
    .instance_init = npu_init,
    .class_init = npu_class_init,
};

static void npu_register_types(void)
{
    type_register_static(&npu_info);
}
type_init(npu_register_types)
