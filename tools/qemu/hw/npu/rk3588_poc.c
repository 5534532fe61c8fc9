/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory behind the CPUs' caches, for an NPU that does not snoop them.
 *
 * RAM is what the caches hold: they have every line from the start, and let
 * one go only where the property "evict" says so.  A clean takes a dirty line
 * to the memory behind them, an invalidation fetches a line from there, a
 * dirty one unless "ivac-cleans" has it cleaned first.  CPUs get at that
 * memory by mappings that are not cacheable, the NPU by its view.
 *
 * "clean" is each line's contents at its last clean or fetch; a line is dirty
 * when RAM differs, or when DC ZVA has filled it.  A line that CPUs wrote with
 * just what it held is a clean one.  For that not to matter, a CPU that has a
 * line which the NPU writes has poison for what was written: neither that nor
 * what was there.
 *
 * Not modelled: lines that are dropped and fetched again unasked; operations
 * by set and way, to the point of persistence, and those of AArch32; faults of
 * maintenance; RAM that is plugged in, which the NPU snoops.  With the MMU off
 * a CPU uses RAM, and maintenance does nothing, as if all that a boot loader
 * and the first code of a kernel do were right.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bitmap.h"
#include "qemu/lockable.h"
#include "qemu/module.h"
#include "qemu/stats64.h"
#include "qemu/thread.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "exec/address-spaces.h"
#include "exec/memory.h"
#include "hw/arm/arm_poc.h"
#include "hw/npu/rk3588_poc.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "trace.h"

#define POC_PAGE        4096u
/* What memory and stale lines hold: no zeros, which a missing clean hides. */
#define POC_POISON      0xa5
#define POC_MAX_PIECES  2
#define POC_LOCKS       64

/* Part of RAM that is in one piece. */
typedef struct PocPiece {
    hwaddr base;
    uint64_t offset;    /* in RAM */
    uint64_t size;
    MemoryRegion behind;
    MemoryRegion seen;
} PocPiece;

struct Rk3588PocState {
    DeviceState parent_obj;

    MemoryRegion *ram;
    uint32_t evict;
    bool ivac_cleans;

    MemoryRegion memory;
    MemoryRegion clean;
    MemoryRegion view;
    MemoryRegion view_rest;
    PocPiece piece[POC_MAX_PIECES];
    unsigned pieces;

    uint8_t *ram_ptr;
    uint8_t *memory_ptr;
    uint8_t *clean_ptr;
    /* Pages whose poison is in place. */
    unsigned long *touched;
    int32_t pages;
    QemuMutex touch_lock;
    /* Of lines: CPUs and the NPU see one whole step of each other. */
    QemuSpin lock[POC_LOCKS];
    Stat64 lines;
};

static bool poc_find(Rk3588PocState *s, hwaddr pa, uint64_t *at)
{
    unsigned i;

    for (i = 0; i < s->pieces; i++) {
        const PocPiece *p = &s->piece[i];

        if (pa - p->base < p->size) {
            *at = pa - p->base + p->offset;
            return true;
        }
    }
    return false;
}

/* Written by host pointers, which migration has to be told. */
static void poc_wrote(MemoryRegion *mr, uint64_t at, uint64_t len)
{
    if (memory_region_is_logging(mr, DIRTY_MEMORY_MIGRATION)) {
        memory_region_set_dirty(mr, at, len);
    }
}

static void poc_touch(Rk3588PocState *s, uint64_t at)
{
    uint64_t page = at / POC_PAGE;

    if (test_bit(page, s->touched)) {
        smp_rmb();  /* pairs with set_bit_atomic() */
        return;
    }
    QEMU_LOCK_GUARD(&s->touch_lock);
    if (!test_bit(page, s->touched)) {
        at = page * POC_PAGE;
        memset(s->memory_ptr + at, POC_POISON, POC_PAGE);
        memset(s->clean_ptr + at, POC_POISON, POC_PAGE);
        poc_wrote(&s->memory, at, POC_PAGE);
        poc_wrote(&s->clean, at, POC_PAGE);
        set_bit_atomic(page, s->touched);
    }
}

static void poc_touch_all(Rk3588PocState *s, uint64_t at, uint64_t len)
{
    uint64_t page;

    for (page = at / POC_PAGE; page <= (at + len - 1) / POC_PAGE; page++) {
        poc_touch(s, page * POC_PAGE);
    }
}

static QemuSpin *line_lock(Rk3588PocState *s, uint64_t at)
{
    return &s->lock[at / ARM_POC_LINE % POC_LOCKS];
}

static bool line_is_dirty(Rk3588PocState *s, uint64_t at)
{
    return memcmp(s->ram_ptr + at, s->clean_ptr + at, ARM_POC_LINE);
}

static void line_clean(Rk3588PocState *s, uint64_t at)
{
    uint8_t line[ARM_POC_LINE];

    /* Once: what a CPU stores meanwhile makes it dirty again. */
    memcpy(line, s->ram_ptr + at, sizeof(line));
    memcpy(s->memory_ptr + at, line, sizeof(line));
    memcpy(s->clean_ptr + at, line, sizeof(line));
    poc_wrote(&s->memory, at, sizeof(line));
    poc_wrote(&s->clean, at, sizeof(line));
}

/*
 * Word by word: what a CPU stores meanwhile beside what is fetched stays.  By
 * the address space, because there may be translated code in RAM.
 */
static void line_fetch(Rk3588PocState *s, hwaddr pa, uint64_t at)
{
    uint64_t line[ARM_POC_LINE / 8];
    unsigned i;

    memcpy(line, s->memory_ptr + at, sizeof(line));
    memcpy(s->clean_ptr + at, line, sizeof(line));
    poc_wrote(&s->clean, at, sizeof(line));
    for (i = 0; i < ARRAY_SIZE(line); i++) {
        if (memcmp(s->ram_ptr + at + 8 * i, &line[i], 8)) {
            address_space_write(&address_space_memory, pa + 8 * i,
                                MEMTXATTRS_UNSPECIFIED, &line[i], 8);
        }
    }
}

static hwaddr poc_uncached(void *opaque, hwaddr pa)
{
    Rk3588PocState *s = opaque;
    uint64_t at;

    if (!poc_find(s, pa, &at)) {
        return pa;
    }
    poc_touch(s, at);
    return pa + ARM_POC_OFFSET;
}

static void poc_maintain(void *opaque, hwaddr pa, unsigned op)
{
    Rk3588PocState *s = opaque;
    QemuSpin *lock;
    uint64_t at;
    bool dirty;

    if (pa >= ARM_POC_OFFSET) {
        pa -= ARM_POC_OFFSET;
    }
    pa = QEMU_ALIGN_DOWN(pa, ARM_POC_LINE);
    if (!poc_find(s, pa, &at)) {
        return;
    }
    poc_touch(s, at);
    stat64_add(&s->lines, 1);
    lock = line_lock(s, at);
    qemu_spin_lock(lock);
    dirty = line_is_dirty(s, at);
    if (dirty && ((op & ARM_POC_CLEAN) || s->ivac_cleans)) {
        line_clean(s, at);
    } else if (op & ARM_POC_INVALIDATE) {
        if (dirty) {
            trace_rk3588_poc_lost(pa);
        }
        line_fetch(s, pa, at);
    }
    qemu_spin_unlock(lock);
}

uint64_t rk3588_poc_lines(Rk3588PocState *s)
{
    return stat64_get(&s->lines);
}

void rk3588_poc_clear_lines(Rk3588PocState *s)
{
    stat64_set(&s->lines, 0);
}

static void poc_zeroed(void *opaque, void *host, uint64_t len)
{
    Rk3588PocState *s = opaque;
    uint64_t at = (uintptr_t)host - (uintptr_t)s->ram_ptr;

    /* What has not been touched has poison to differ from. */
    if (at < memory_region_size(s->ram) &&
        test_bit(at / POC_PAGE, s->touched)) {
        memset(s->clean_ptr + at, POC_POISON, len);
        poc_wrote(&s->clean, at, len);
    }
}

static const ArmPocOps rk3588_poc_ops = {
    .uncached = poc_uncached,
    .maintain = poc_maintain,
    .zeroed = poc_zeroed,
};

/*
 * A line that a CPU just fetches, or the NPU just poisons, differs until that
 * is done.
 */
static bool span_is_clean(Rk3588PocState *s, uint64_t at, uint64_t len)
{
    while (len) {
        unsigned n = MIN(len, ARM_POC_LINE - at % ARM_POC_LINE);
        QemuSpin *lock = line_lock(s, at);
        bool clean;

        qemu_spin_lock(lock);
        clean = !memcmp(s->ram_ptr + at, s->clean_ptr + at, n);
        qemu_spin_unlock(lock);
        if (!clean) {
            return false;
        }
        at += n;
        len -= n;
    }
    return true;
}

bool rk3588_poc_begin_dma(Rk3588PocState *s, hwaddr pa, uint64_t len,
                          bool write)
{
    uint64_t at;

    if (!poc_find(s, pa, &at)) {
        return true;
    }
    poc_touch_all(s, at, len);
    return write || !memcmp(s->ram_ptr + at, s->clean_ptr + at, len) ||
           span_is_clean(s, at, len);
}

/* The same lines are evicted whenever the same is done with the same seed. */
static bool line_is_evicted(Rk3588PocState *s, uint64_t at)
{
    uint32_t x = s->evict ^ (uint32_t)(at / ARM_POC_LINE) * 0x9e3779b1u;

    x ^= x >> 15;
    x *= 0x85ebca6bu;
    return s->evict && (x >> 16 & 1);
}

/* @len bytes of a line were written behind a CPU's back. */
static void line_poison(Rk3588PocState *s, hwaddr pa, uint64_t at, unsigned len)
{
    uint8_t poison[ARM_POC_LINE];

    memset(poison, POC_POISON, len);
    memcpy(s->clean_ptr + at, poison, len);
    poc_wrote(&s->clean, at, len);
    address_space_write(&address_space_memory, pa, MEMTXATTRS_UNSPECIFIED,
                        poison, len);
}

unsigned rk3588_poc_end_write(Rk3588PocState *s, hwaddr pa, uint64_t len)
{
    unsigned dirty = 0;
    uint64_t at;

    if (!poc_find(s, pa, &at)) {
        return 0;
    }
    while (len) {
        uint64_t line = QEMU_ALIGN_DOWN(at, ARM_POC_LINE);
        unsigned n = MIN(len, line + ARM_POC_LINE - at);
        QemuSpin *lock = line_lock(s, line);

        qemu_spin_lock(lock);
        if (!line_is_dirty(s, line)) {
            line_poison(s, pa, at, n);
        } else {
            dirty++;
            if (line_is_evicted(s, line)) {
                line_clean(s, line);
            }
        }
        qemu_spin_unlock(lock);
        pa += n;
        at += n;
        len -= n;
    }
    return dirty;
}

MemoryRegion *rk3588_poc_view(Rk3588PocState *s)
{
    return &s->view;
}

void rk3588_poc_map(Rk3588PocState *s, hwaddr base, uint64_t offset,
                    uint64_t size)
{
    PocPiece *p = &s->piece[s->pieces];

    assert(s->pieces < POC_MAX_PIECES);
    p->base = base;
    p->offset = offset;
    p->size = size;
    memory_region_init_alias(&p->behind, OBJECT(s), "poc-behind", &s->memory,
                             offset, size);
    memory_region_init_alias(&p->seen, OBJECT(s), "poc-seen", &s->memory,
                             offset, size);
    memory_region_add_subregion(get_system_memory(), base + ARM_POC_OFFSET,
                                &p->behind);
    memory_region_add_subregion_overlap(&s->view, base, &p->seen, 1);
    s->pieces++;
}

static void poc_realize(DeviceState *dev, Error **errp)
{
    Rk3588PocState *s = RK3588_POC(dev);
    uint64_t size;
    unsigned i;

    if (!s->ram) {
        error_setg(errp, "link 'ram' is not set");
        return;
    }
    size = memory_region_size(s->ram);
    if (!memory_region_init_ram(&s->memory, OBJECT(dev), "rk3588-poc.memory",
                                size, errp) ||
        !memory_region_init_ram(&s->clean, OBJECT(dev), "rk3588-poc.clean",
                                size, errp)) {
        return;
    }
    memory_region_init(&s->view, OBJECT(dev), "rk3588-poc.view", UINT64_MAX);
    memory_region_init_alias(&s->view_rest, OBJECT(dev), "rk3588-poc.rest",
                             get_system_memory(), 0, UINT64_MAX);
    memory_region_add_subregion_overlap(&s->view, 0, &s->view_rest, 0);

    s->ram_ptr = memory_region_get_ram_ptr(s->ram);
    s->memory_ptr = memory_region_get_ram_ptr(&s->memory);
    s->clean_ptr = memory_region_get_ram_ptr(&s->clean);
    s->pages = DIV_ROUND_UP(size, POC_PAGE);
    s->touched = bitmap_new(s->pages);
    qemu_mutex_init(&s->touch_lock);
    for (i = 0; i < POC_LOCKS; i++) {
        qemu_spin_init(&s->lock[i]);
    }
    arm_poc_opaque = s;
    arm_poc_ops = &rk3588_poc_ops;
}

static const VMStateDescription vmstate_poc = {
    .name = TYPE_RK3588_POC,
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BITMAP(touched, Rk3588PocState, 1, pages),
        VMSTATE_END_OF_LIST()
    },
};

static const Property poc_properties[] = {
    DEFINE_PROP_UINT32("evict", Rk3588PocState, evict, 0),
    DEFINE_PROP_BOOL("ivac-cleans", Rk3588PocState, ivac_cleans, true),
    DEFINE_PROP_LINK("ram", Rk3588PocState, ram, TYPE_MEMORY_REGION,
                     MemoryRegion *),
};

/* From outside: a line at a physical address. */
static void poc_set_line(Object *obj, Visitor *v, const char *name,
                         void *opaque, Error **errp)
{
    uint64_t pa;

    if (visit_type_uint64(v, name, &pa, errp)) {
        poc_maintain(RK3588_POC(obj), pa, GPOINTER_TO_UINT(opaque));
    }
}

static void poc_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);

    dc->desc = "memory behind the CPUs' caches";
    dc->realize = poc_realize;
    dc->vmsd = &vmstate_poc;
    dc->user_creatable = false;
    device_class_set_props(dc, poc_properties);
    object_class_property_add(klass, "clean", "uint64", NULL, poc_set_line,
                              NULL, GUINT_TO_POINTER(ARM_POC_CLEAN));
    object_class_property_set_description(klass, "clean",
        "Clean the cache line at a physical address");
    object_class_property_add(klass, "invalidate", "uint64", NULL,
                              poc_set_line, NULL,
                              GUINT_TO_POINTER(ARM_POC_INVALIDATE));
    object_class_property_set_description(klass, "invalidate",
        "Invalidate the cache line at a physical address");
}

static const TypeInfo poc_info = {
    .name = TYPE_RK3588_POC,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(Rk3588PocState),
    .class_init = poc_class_init,
};

static void poc_register_types(void)
{
    type_register_static(&poc_info);
}
type_init(poc_register_types)
