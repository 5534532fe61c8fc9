/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RK3588 NPU core: the device with its register window, interrupt line,
 * power, clock and reset inputs.  The program controller does the work.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "migration/vmstate.h"
#include "qapi/visitor.h"
#include "rk3588_npu_internal.h"
#include "trace.h"

/*
 * Linux reports the sum of both; vendor and mainline drivers log 1179210309
 * ("FIRE").  How it is split between the two registers is not published.
 */
#define NPU_VERSION             0x46495245
#define NPU_VERSION_NUM         0
#define NPU_MAC_GATING_RESET    0x07800800      /* TRM */

#define NPU_CLOCK_HZ            200000000       /* as firmware leaves it */

static bool npu_held_in_reset(const Rk3588NpuState *s)
{
    return s->in_reset[0] || s->in_reset[1];
}

static uint32_t npu_pending(const Rk3588NpuState *s)
{
    return s->int_raw & s->int_open & s->regs[R_PC_INTERRUPT_MASK];
}

void npu_update_irq(Rk3588NpuState *s)
{
    bool level = (npu_pending(s) && !s->irq_lost) || s->irq_spurious;

    /* Whoever does not answer does not call, either. */
    level = level && !npu_ctl_fault_due(s->ctl, s->core_index,
                                        NPU_FAULT_CORE_DEAD);
    if (level == s->irq_level) {
        return;
    }
    s->irq_level = level;
    trace_rk3588_npu_irq(s->core_index, level, s->int_raw);
    if (level) {
        npu_ctl_count(s->ctl, s->core_index, NPU_CNT_IRQ, 1);
    }
    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_IRQ, s->core_index,
                  SYS_BUS_DEVICE(s)->mmio[0].addr, level, false);
    qemu_set_irq(s->irq, level);
}

static void npu_reset_registers(Rk3588NpuState *s)
{
    memset(s->regs, 0, sizeof(s->regs));
    memset(s->regs1, 0, sizeof(s->regs1));
    memset(s->executer, 0, sizeof(s->executer));
    memset(&s->lut, 0, sizeof(s->lut));
    s->regs[R_PC_VERSION] = NPU_VERSION;
    s->regs[R_PC_VERSION_NUM] = NPU_VERSION_NUM;
    s->regs[R_PC_INTERRUPT_MASK] = NPU_INT_ALL;
    s->regs[R_CORE_MAC_GATING] = NPU_MAC_GATING_RESET;
    s->regs1[R_CORE_MAC_GATING] = NPU_MAC_GATING_RESET;
    s->int_raw = 0;
    s->int_open = 0;
    npu_fault_reset(s);
    npu_update_irq(s);
}

/* CRU reset or loss of power: nothing of registers, CBUF or task survives. */
static void npu_hard_reset(Rk3588NpuState *s, NpuResetCause cause)
{
    bool stuck = npu_fault_keeps_hang(s, cause);

    trace_rk3588_npu_reset(s->core_index, s->phase, stuck);
    npu_pc_abort(s, stuck);
    npu_reset_registers(s);
}

/* --- Registers --- */

static uint32_t npu_pc_read(Rk3588NpuState *s, uint32_t offset)
{
    switch (offset) {
    case A_PC_INTERRUPT_CLEAR:
        return 0;
    case A_PC_INTERRUPT_STATUS:
        return npu_pending(s);
    case A_PC_INTERRUPT_RAW_STATUS:
        return s->int_raw;
    default:
        return s->regs[offset / 4];
    }
}

static void npu_pc_write(Rk3588NpuState *s, uint32_t offset, uint32_t value)
{
    uint32_t old;

    switch (offset) {
    case A_PC_OPERATION_ENABLE:
        value &= R_PC_OPERATION_ENABLE_OP_EN_MASK;
        old = s->regs[R_PC_OPERATION_ENABLE];
        s->regs[R_PC_OPERATION_ENABLE] = value;
        if (value & ~old) {
            npu_pc_kick(s);
        }
        break;
    case A_PC_INTERRUPT_MASK:
        s->regs[R_PC_INTERRUPT_MASK] = value & NPU_INT_ALL;
        npu_update_irq(s);
        break;
    case A_PC_INTERRUPT_CLEAR:
        npu_fault_cleared(s, value);
        s->int_raw &= ~value;
        s->int_open &= ~value;
        npu_fault_end_spurious(s);
        break;
    case A_PC_TASK_CON:
        if (FIELD_EX32(value, PC_TASK_CON, TASK_COUNT_CLEAR)) {
            s->regs[R_PC_TASK_STATUS] = 0;
        }
        s->regs[R_PC_TASK_CON] = value &
                                 ~(R_PC_TASK_CON_TASK_COUNT_CLEAR_MASK |
                                   R_PC_TASK_CON_LAST_LAYER_CLEAR_MASK);
        break;
    case A_PC_BASE_ADDRESS:
    case A_PC_REGISTER_AMOUNTS:
    case A_PC_TASK_DMA_BASE_ADDR:
        s->regs[offset / 4] = value;
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: write of 0x%08x to PC "
                      "offset 0x%04x\n", s->core_index, value, offset);
    }
}

static uint32_t npu_reg_read(Rk3588NpuState *s, uint32_t offset)
{
    if (offset >> 12 == NPU_BLOCK_PC) {
        return npu_pc_read(s, offset);
    }
    if (offset < NPU_REGFILE_SIZE) {
        return npu_block_read(s, offset);
    }
    if (offset != A_GLOBAL_OPERATION_ENABLE) {
        qemu_log_mask(LOG_UNIMP, "rk3588-npu%u: read of offset 0x%04x\n",
                      s->core_index, offset);
    }
    return 0;
}

static void npu_reg_write(Rk3588NpuState *s, uint32_t offset, uint32_t value)
{
    if (offset >> 12 == NPU_BLOCK_PC) {
        npu_pc_write(s, offset, value);
    } else if (offset < NPU_REGFILE_SIZE) {
        npu_block_write(s, offset, value);
    } else if (offset == A_GLOBAL_OPERATION_ENABLE) {
        npu_pc_enable(s, value);
    } else {
        qemu_log_mask(LOG_UNIMP, "rk3588-npu%u: write to offset 0x%04x\n",
                      s->core_index, offset);
    }
}

/* A spurious interrupt ends as soon as somebody looks for its cause. */
static void npu_looked_for_cause(Rk3588NpuState *s, uint32_t offset)
{
    if (s->irq_spurious && (offset == A_PC_INTERRUPT_STATUS ||
                            offset == A_PC_INTERRUPT_RAW_STATUS)) {
        npu_fault_end_spurious(s);
    }
}

static MemTxResult npu_inaccessible(Rk3588NpuState *s, hwaddr offset)
{
    qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: access to offset 0x%04"
                  HWADDR_PRIx " with power %d, aclk %d, hclk %d\n",
                  s->core_index, offset, s->power, s->aclk, s->hclk);
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_ABORT, 1);
    return MEMTX_DECODE_ERROR;
}

static MemTxResult npu_read(void *opaque, hwaddr offset, uint64_t *data,
                            unsigned size, MemTxAttrs attrs)
{
    Rk3588NpuState *s = opaque;
    uint32_t dead;

    *data = 0;
    if (!npu_clocked(s)) {
        return npu_inaccessible(s, offset);
    }
    if (npu_fault_dead(s, &dead)) {
        *data = dead;
    } else if (!npu_held_in_reset(s)) {
        *data = npu_reg_read(s, offset);
    }
    trace_rk3588_npu_read(s->core_index, offset, *data);
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_MMIO_READ, 1);
    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_CORE, s->core_index,
                  SYS_BUS_DEVICE(s)->mmio[0].addr + offset, *data, false);
    npu_looked_for_cause(s, offset);
    return MEMTX_OK;
}

static MemTxResult npu_write(void *opaque, hwaddr offset, uint64_t data,
                             unsigned size, MemTxAttrs attrs)
{
    Rk3588NpuState *s = opaque;

    if (!npu_clocked(s)) {
        return npu_inaccessible(s, offset);
    }
    trace_rk3588_npu_write(s->core_index, offset, data);
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_MMIO_WRITE, 1);
    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_CORE, s->core_index,
                  SYS_BUS_DEVICE(s)->mmio[0].addr + offset, data, true);
    if (!npu_fault_dead(s, NULL) && !npu_held_in_reset(s)) {
        npu_reg_write(s, offset, data);
    }
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

/* A step that came due while the clocks were off is due now. */
static void npu_clocks_changed(Rk3588NpuState *s)
{
    npu_progress_clock(s);
    if (npu_clocked(s) && s->held) {
        s->held = false;
        timer_mod(&s->timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
    }
}

static void npu_get_clock(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    Rk3588NpuState *s = RK3588_NPU(obj);

    visit_type_uint32(v, name, &s->clock_hz, errp);
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
    return RK3588_NPU(obj)->late;
}

static void npu_set_power(void *opaque, int n, int level)
{
    Rk3588NpuState *s = opaque;

    if (s->power && !level) {
        npu_hard_reset(s, NPU_RESET_POWER);
    }
    s->power = level;
    npu_clocks_changed(s);
}

static void npu_set_aclk(void *opaque, int n, int level)
{
    Rk3588NpuState *s = opaque;

    s->aclk = level;
    npu_clocks_changed(s);
}

static void npu_set_hclk(void *opaque, int n, int level)
{
    Rk3588NpuState *s = opaque;

    s->hclk = level;
    npu_clocks_changed(s);
}

/* Either of srst_a and srst_h resets everything; both make one reset. */
static void npu_set_reset(void *opaque, int n, int level)
{
    Rk3588NpuState *s = opaque;
    bool before = npu_held_in_reset(s);

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

    s->aclk = true;
    s->hclk = true;
    s->clock_hz = NPU_CLOCK_HZ;
    qdev_init_gpio_in_named(dev, npu_set_power, "power", 1);
    qdev_init_gpio_in_named(dev, npu_set_aclk, "aclk", 1);
    qdev_init_gpio_in_named(dev, npu_set_hclk, "hclk", 1);
    qdev_init_gpio_in_named(dev, npu_set_reset, "reset", 2);
    memory_region_init_io(&s->iomem, obj, &npu_ops, s, TYPE_RK3588_NPU,
                          RK3588_NPU_WINDOW_SIZE);
    sysbus_init_mmio(SYS_BUS_DEVICE(obj), &s->iomem);
    sysbus_init_irq(SYS_BUS_DEVICE(obj), &s->irq);
}

static void npu_realize(DeviceState *dev, Error **errp)
{
    Rk3588NpuState *s = RK3588_NPU(dev);

    if (!s->iommu) {
        error_setg(errp, "rk3588-npu-core needs its iommu");
        return;
    }
    timer_init_ns(&s->timer, QEMU_CLOCK_VIRTUAL, npu_pc_step, s);
    timer_init_ns(&s->fetch_timer, QEMU_CLOCK_VIRTUAL, npu_pc_prefetch, s);
    npu_fault_realize(s);
    npu_worker_init(&s->worker, dev, npu_pc_job_done, s);
    rk_iommu_set_retry(s->iommu, npu_pc_retry, s);
    npu_ctl_set_share_cb(s->ctl, s->core_index, npu_progress_changed, s);
}

static void npu_unrealize(DeviceState *dev)
{
    Rk3588NpuState *s = RK3588_NPU(dev);

    rk_iommu_set_retry(s->iommu, NULL, NULL);
    npu_fault_unrealize(s);
    npu_ctl_set_share_cb(s->ctl, s->core_index, NULL, NULL);
    npu_pc_abort(s, false);
    npu_worker_fini(&s->worker);
}

static void npu_save_buf(NpuBuf *b, uint8_t **data, uint32_t *size)
{
    *data = b ? b->data : NULL;
    *size = b ? b->size : 0;
}

static int npu_pre_save(void *opaque)
{
    Rk3588NpuState *s = opaque;

    npu_save_buf(s->cbuf_feature, &s->mig_feature, &s->mig_feature_size);
    npu_save_buf(s->cbuf_weights, &s->mig_weights, &s->mig_weights_size);
    s->mig_cube = (NpuCube) { 0 };
    if (s->cbuf_feature) {
        s->mig_cube = s->cbuf_feature->cube;
    }
    return 0;
}

static int npu_post_save(void *opaque)
{
    Rk3588NpuState *s = opaque;

    s->mig_feature = NULL;
    s->mig_weights = NULL;
    return 0;
}

static int npu_pre_load(void *opaque)
{
    /* The control device may have its state already: it is left alone. */
    npu_pc_forget(opaque);
    return 0;
}

static NpuBuf *npu_load_buf(uint8_t **data, uint32_t size)
{
    NpuBuf *b = NULL;

    if (size) {
        b = g_new0(NpuBuf, 1);
        b->refs = 1;
        b->size = size;
        b->data = g_steal_pointer(data);
    }
    return b;
}

static bool npu_loaded_cube_fits(const Rk3588NpuState *s)
{
    const NpuCube *c = &s->mig_cube;

    return (uint64_t)c->surfaces * c->height <= UINT32_MAX &&
           (uint64_t)c->surfaces * c->height * c->row_bytes ==
           s->mig_feature_size;
}

static int npu_post_load(void *opaque, int version_id)
{
    Rk3588NpuState *s = opaque;

    if (s->phase >= NPU_PHASE_NUM || !npu_loaded_cube_fits(s) ||
        s->fetch_addr % 8 || s->fetch_left % 8 || !s->clock_hz ||
        (s->run_bytes && !s->run_cycles)) {
        return -EINVAL;
    }
    s->cbuf_weights = npu_load_buf(&s->mig_weights, s->mig_weights_size);
    s->cbuf_feature = npu_load_buf(&s->mig_feature, s->mig_feature_size);
    if (s->cbuf_feature) {
        s->cbuf_feature->cube = s->mig_cube;
    }
    npu_pc_resume(s);
    return 0;
}

static const VMStateDescription vmstate_npu_cube = {
    .name = "rk3588-npu-core/cube",
    .version_id = 2,
    .minimum_version_id = 2,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(surfaces, NpuCube),
        VMSTATE_UINT32(height, NpuCube),
        VMSTATE_UINT32(row_bytes, NpuCube),
        VMSTATE_BOOL(surf_inner, NpuCube),
        VMSTATE_BOOL(converted, NpuCube),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_npu = {
    .name = TYPE_RK3588_NPU,
    .version_id = 4,
    .minimum_version_id = 4,
    .pre_save = npu_pre_save,
    .post_save = npu_post_save,
    .pre_load = npu_pre_load,
    .post_load = npu_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(power, Rk3588NpuState),
        VMSTATE_BOOL(aclk, Rk3588NpuState),
        VMSTATE_BOOL(hclk, Rk3588NpuState),
        VMSTATE_BOOL_ARRAY(in_reset, Rk3588NpuState, 2),
        VMSTATE_UINT32(clock_hz, Rk3588NpuState),
        VMSTATE_UINT32_ARRAY(regs, Rk3588NpuState, NPU_REGFILE_WORDS),
        VMSTATE_UINT32_ARRAY(regs1, Rk3588NpuState, NPU_REGFILE_WORDS),
        VMSTATE_BOOL_ARRAY(executer, Rk3588NpuState, NPU_BLOCK_NUM),
        VMSTATE_INT16_ARRAY(lut.entry, Rk3588NpuState,
                            NPU_LUT_NUM * NPU_LUT_ENTRIES),
        VMSTATE_BOOL_ARRAY(lut.written, Rk3588NpuState,
                           NPU_LUT_NUM * NPU_LUT_ENTRIES),
        VMSTATE_BOOL(lut.writing, Rk3588NpuState),
        VMSTATE_UINT32(lut.table, Rk3588NpuState),
        VMSTATE_UINT32(lut.addr, Rk3588NpuState),
        VMSTATE_UINT32(int_raw, Rk3588NpuState),
        VMSTATE_UINT32(int_open, Rk3588NpuState),
        VMSTATE_BOOL(irq_lost, Rk3588NpuState),
        VMSTATE_BOOL(irq_spurious, Rk3588NpuState),
        VMSTATE_BOOL(irq_level, Rk3588NpuState),
        VMSTATE_UINT32(phase, Rk3588NpuState),
        VMSTATE_BOOL(blocked, Rk3588NpuState),
        VMSTATE_BOOL(held, Rk3588NpuState),
        VMSTATE_UINT32(fetch_addr, Rk3588NpuState),
        VMSTATE_UINT32(fetch_left, Rk3588NpuState),
        VMSTATE_UINT32(next_addr, Rk3588NpuState),
        VMSTATE_UINT32(next_amount, Rk3588NpuState),
        VMSTATE_UINT32(tasks_wanted, Rk3588NpuState),
        VMSTATE_UINT32(tasks_done, Rk3588NpuState),
        VMSTATE_UINT32(enable, Rk3588NpuState),
        VMSTATE_UINT32(group, Rk3588NpuState),
        VMSTATE_UINT32_ARRAY(latched, Rk3588NpuState, NPU_REGFILE_WORDS),
        VMSTATE_TIMER(timer, Rk3588NpuState),
        VMSTATE_BOOL(slave, Rk3588NpuState),
        VMSTATE_UINT32(armed, Rk3588NpuState),
        VMSTATE_BOOL(prefetching, Rk3588NpuState),
        VMSTATE_BOOL(pending, Rk3588NpuState),
        VMSTATE_UINT32(pend_enable, Rk3588NpuState),
        VMSTATE_UINT32_ARRAY(pend_regs, Rk3588NpuState, NPU_REGFILE_WORDS),
        VMSTATE_TIMER(fetch_timer, Rk3588NpuState),
        VMSTATE_BOOL(run_fixed, Rk3588NpuState),
        VMSTATE_UINT64(run_cycles, Rk3588NpuState),
        VMSTATE_UINT64(run_bytes, Rk3588NpuState),
        VMSTATE_UINT64(run_left, Rk3588NpuState),
        VMSTATE_UINT64(run_rate, Rk3588NpuState),
        VMSTATE_INT64(run_since, Rk3588NpuState),
        VMSTATE_UINT32(run_events, Rk3588NpuState),
        VMSTATE_UINT64_ARRAY(run_event_left, Rk3588NpuState, NPU_EVENT_NUM),
        VMSTATE_TIMER(spurious_timer, Rk3588NpuState),
        VMSTATE_TIMER(late_timer, Rk3588NpuState),
        VMSTATE_TIMER(dup_timer, Rk3588NpuState),
        VMSTATE_STRUCT(mig_cube, Rk3588NpuState, 1, vmstate_npu_cube,
                       NpuCube),
        VMSTATE_UINT32(mig_feature_size, Rk3588NpuState),
        VMSTATE_UINT32(mig_weights_size, Rk3588NpuState),
        VMSTATE_VBUFFER_ALLOC_UINT32(mig_feature, Rk3588NpuState, 0, NULL,
                                     mig_feature_size),
        VMSTATE_VBUFFER_ALLOC_UINT32(mig_weights, Rk3588NpuState, 0, NULL,
                                     mig_weights_size),
        VMSTATE_END_OF_LIST()
    }
};

static const Property npu_properties[] = {
    DEFINE_PROP_UINT32("core-index", Rk3588NpuState, core_index, 0),
    DEFINE_PROP_BOOL("write-padding", Rk3588NpuState, write_padding, true),
    DEFINE_PROP_BOOL("idle-ppu-rdma", Rk3588NpuState, idle_ppu_rdma, false),
    DEFINE_PROP_BOOL("ppu-sets-dpu-done", Rk3588NpuState, ppu_sets_dpu_done,
                     true),
    DEFINE_PROP_BOOL("pp-banks", Rk3588NpuState, pp_banks, true),
    DEFINE_PROP_BOOL("pc-prefetch", Rk3588NpuState, pc_prefetch, true),
    DEFINE_PROP_LINK("iommu", Rk3588NpuState, iommu, TYPE_RK_IOMMU,
                     RkIommuState *),
    DEFINE_PROP_LINK("ctl", Rk3588NpuState, ctl, TYPE_RK3588_NPU_CTL,
                     Rk3588NpuCtlState *),
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
