/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control device of the RK3588 NPU model: counters, register trace, virtual
 * time, busy overlap and fault arming for tests.  Not part of any silicon.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "hw/sysbus.h"
#include "migration/vmstate.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk3588_poc.h"
#include "hw/npu/rk_chaos.h"
#include "compute/timing.h"
#include "rk3588_npu_faults.h"
#include "rk3588_npu_hang.h"
#include "trace.h"

#define NPU_CTL_IF_VERSION      1
/*
 * Peak of 64 bits of LPDDR4X at 4224 MT/s, which boards of this SoC have; what
 * of that the NPU can get is not published.
 */
#define NPU_MEMORY_MBS          33792
#define CORE_WINDOW             0x200u
#define HANG_WINDOW             0x1000u

typedef struct NpuTraceEntry {
    uint32_t addr;
    uint32_t val;
    uint32_t info;
} NpuTraceEntry;

typedef struct NpuArmedCb {
    NpuCtlArmedFn fn;
    void *opaque;
} NpuArmedCb;

typedef struct NpuShareCb {
    NpuCtlShareFn fn;
    void *opaque;
} NpuShareCb;

struct Rk3588NpuCtlState {
    SysBusDevice parent_obj;

    MemoryRegion iomem;
    uint32_t num_cores;

    Rk3588NpuStats stats[NPU_MAX_CORES];
    uint64_t overlap_ns[2];     /* [0] two or more, [1] all three cores */
    uint32_t max_busy;
    uint32_t busy_mask;
    uint32_t cbuf[NPU_MAX_CORES][2];    /* first and end; not migrated */
    int64_t accounted_ns;       /* busy time is accounted up to here */
    int64_t done_ns[NPU_MAX_CORES];     /* last completion, -1 = none */
    uint32_t clock_hz[NPU_MAX_CORES];       /* 0 = stands still */
    uint64_t cycle_rest[NPU_MAX_CORES];     /* 1e-9 cycles */
    uint32_t latency_ns;
    RkChaosState *chaos;
    Rk3588PocState *poc;        /* NULL: the NPU snoops the CPUs' caches */
    uint32_t flip;
    uint32_t latch_hi;

    uint32_t memory_mbs;
    uint64_t demand[NPU_MAX_CORES];         /* bytes per second */
    uint64_t grant[NPU_MAX_CORES];
    NpuShareCb share[NPU_MAX_CORES];
    unsigned meets[NPU_MAX_CORES];  /* other cores that it waits for, or 0 */
    NpuShareCb met[NPU_MAX_CORES];

    NpuHang hang[NPU_MAX_CORES];

    bool tracing;
    uint32_t trace_count;
    uint32_t trace_dropped;
    uint32_t trace_index;
    NpuTraceEntry trace[NPU_CTL_TRACE_DEPTH];

    NpuFaults faults;
    NpuArmedCb armed[NPU_MAX_CORES];
};

static bool counter_is_state(unsigned c)
{
    return c == NPU_CNT_POWERED || c == NPU_CNT_CLOCKED || c == NPU_CNT_BUSY;
}

void npu_ctl_count(Rk3588NpuCtlState *s, unsigned core,
                   enum npu_ctl_counter c, uint64_t n)
{
    if (s && core < NPU_MAX_CORES) {
        s->stats[core].c[c] += n;
    }
}

void npu_ctl_set(Rk3588NpuCtlState *s, unsigned core,
                 enum npu_ctl_counter c, uint64_t v)
{
    if (s && core < NPU_MAX_CORES) {
        s->stats[core].c[c] = v;
    }
}

void npu_ctl_hang(Rk3588NpuCtlState *s, unsigned core, unsigned kind,
                  const char *why, uint32_t enable, const uint32_t *regs)
{
    if (s && core < NPU_MAX_CORES) {
        npu_hang_set(&s->hang[core], kind, why, enable, regs);
    }
}

void npu_ctl_trace(Rk3588NpuCtlState *s, unsigned unit, unsigned core,
                   uint64_t addr, uint32_t val, bool write)
{
    NpuTraceEntry *e;

    if (!s) {
        return;
    }
    if (unit != NPU_CTL_UNIT_IRQ) {
        rk_chaos_access(s->chaos);
    }
    if (!s->tracing) {
        return;
    }
    if (s->trace_count == NPU_CTL_TRACE_DEPTH) {
        s->trace_dropped++;
        return;
    }
    e = &s->trace[s->trace_count++];
    e->addr = addr;
    e->val = val;
    e->info = (unit << 8) | ((core & 0xf) << 4) |
              (write ? NPU_CTL_TRACE_WRITE : 0);
}

bool npu_ctl_fault_due(Rk3588NpuCtlState *s, unsigned core, unsigned kind)
{
    return s && npu_faults_due(&s->faults, core, kind);
}

bool npu_ctl_fault(Rk3588NpuCtlState *s, unsigned core, unsigned kind,
                   uint32_t *param)
{
    return s && npu_faults_fire(&s->faults, core, kind, param);
}

uint32_t npu_ctl_latency_ns(Rk3588NpuCtlState *s)
{
    return s ? s->latency_ns : 0;
}

uint32_t npu_ctl_lag_ns(Rk3588NpuCtlState *s, unsigned core)
{
    return s ? rk_chaos_task_ns(s->chaos, core) : 0;
}

bool npu_ctl_flipped(Rk3588NpuCtlState *s, enum npu_ctl_reading reading)
{
    return s && (s->flip & (1u << reading));
}

void npu_ctl_set_armed_cb(Rk3588NpuCtlState *s, unsigned core,
                          NpuCtlArmedFn fn, void *opaque)
{
    if (s && core < NPU_MAX_CORES) {
        s->armed[core] = (NpuArmedCb) { fn, opaque };
    }
}

static void npu_ctl_account_cycles(Rk3588NpuCtlState *s, unsigned core,
                                   uint64_t delta)
{
    uint64_t hz = s->clock_hz[core];
    uint64_t part = delta % NANOSECONDS_PER_SECOND * hz + s->cycle_rest[core];
    bool busy = s->busy_mask & (1u << core);

    s->cycle_rest[core] = part % NANOSECONDS_PER_SECOND;
    npu_ctl_count(s, core, busy ? NPU_CNT_BUSY_CYCLES : NPU_CNT_IDLE_CYCLES,
                  delta / NANOSECONDS_PER_SECOND * hz +
                  part / NANOSECONDS_PER_SECOND);
}

/* Charge the time since the last call to whoever was busy during it. */
static void npu_ctl_account(Rk3588NpuCtlState *s)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    int64_t delta = now - s->accounted_ns;
    unsigned n = ctpop32(s->busy_mask);
    unsigned core;

    s->accounted_ns = now;
    if (delta <= 0) {
        return;
    }
    for (core = 0; core < NPU_MAX_CORES; core++) {
        if (s->busy_mask & (1u << core)) {
            s->stats[core].c[NPU_CNT_BUSY_NS] += delta;
        }
        npu_ctl_account_cycles(s, core, delta);
    }
    if (n >= 2) {
        s->overlap_ns[0] += delta;
    }
    if (n >= 3) {
        s->overlap_ns[1] += delta;
    }
}

void npu_ctl_set_clock(Rk3588NpuCtlState *s, unsigned core, uint32_t hz)
{
    if (s && core < NPU_MAX_CORES && s->clock_hz[core] != hz) {
        npu_ctl_account(s);
        s->clock_hz[core] = hz;
    }
}

static void npu_ctl_count_gap(uint64_t *c, uint64_t ns)
{
    c[NPU_CNT_GAP_MIN_NS] = c[NPU_CNT_GAPS] ? MIN(c[NPU_CNT_GAP_MIN_NS], ns)
                                            : ns;
    c[NPU_CNT_GAP_MAX_NS] = MAX(c[NPU_CNT_GAP_MAX_NS], ns);
    c[NPU_CNT_GAP_LAST_NS] = ns;
    c[NPU_CNT_GAP_NS] += ns;
    c[NPU_CNT_GAPS]++;
}

void npu_ctl_busy(Rk3588NpuCtlState *s, unsigned core, bool busy)
{
    uint64_t *c;

    if (!s || core >= NPU_MAX_CORES ||
        busy == !!(s->busy_mask & (1u << core))) {
        return;
    }
    npu_ctl_account(s);
    c = s->stats[core].c;
    c[NPU_CNT_BUSY] = busy;
    if (!busy) {
        s->busy_mask &= ~(1u << core);
        memset(s->cbuf[core], 0, sizeof(s->cbuf[core]));
        s->done_ns[core] = s->accounted_ns;
        return;
    }
    s->busy_mask |= 1u << core;
    s->max_busy = MAX(s->max_busy, ctpop32(s->busy_mask));
    if (s->done_ns[core] >= 0) {
        npu_ctl_count_gap(c, s->accounted_ns - s->done_ns[core]);
    }
}

bool npu_ctl_take_cbuf(Rk3588NpuCtlState *s, unsigned core, uint32_t first,
                       uint32_t end)
{
    bool taken = false;
    unsigned i;

    if (!s || core >= NPU_MAX_CORES) {
        return false;
    }
    for (i = 0; i < NPU_MAX_CORES; i++) {
        taken |= i != core && first < s->cbuf[i][1] && s->cbuf[i][0] < end;
    }
    s->cbuf[core][0] = first;
    s->cbuf[core][1] = end;
    return taken;
}

/* --- Memory --- */

/* @except has caused the change and looks by itself. */
static void npu_ctl_share(Rk3588NpuCtlState *s, unsigned except)
{
    uint64_t before[NPU_MAX_CORES];
    unsigned core;

    memcpy(before, s->grant, sizeof(before));
    npu_share_memory(s->demand, s->grant, NPU_MAX_CORES,
                     (uint64_t)s->memory_mbs * 1000000);
    for (core = 0; core < NPU_MAX_CORES; core++) {
        if (core != except && s->grant[core] != before[core] &&
            s->share[core].fn) {
            s->share[core].fn(s->share[core].opaque);
        }
    }
}

void npu_ctl_set_demand(Rk3588NpuCtlState *s, unsigned core, uint64_t demand)
{
    if (s && core < NPU_MAX_CORES && s->demand[core] != demand) {
        s->demand[core] = demand;
        npu_ctl_share(s, core);
    }
}

uint64_t npu_ctl_granted(Rk3588NpuCtlState *s, unsigned core)
{
    return s && core < NPU_MAX_CORES ? s->grant[core] : UINT64_MAX;
}

void npu_ctl_set_share_cb(Rk3588NpuCtlState *s, unsigned core,
                          NpuCtlShareFn fn, void *opaque)
{
    if (s && core < NPU_MAX_CORES) {
        s->share[core] = (NpuShareCb) { fn, opaque };
    }
}

bool npu_ctl_meet(Rk3588NpuCtlState *s, unsigned core, unsigned others)
{
    unsigned i;

    if (!s || core >= NPU_MAX_CORES) {
        return true;
    }
    s->meets[core] = others;
    for (i = 0; i <= others; i++) {
        if (i >= NPU_MAX_CORES || s->meets[i] != others) {
            return false;
        }
    }
    if (core > others) {
        return false;
    }
    memset(s->meets, 0, (others + 1) * sizeof(s->meets[0]));
    for (i = 0; i <= others; i++) {
        if (i != core && s->met[i].fn) {
            s->met[i].fn(s->met[i].opaque);
        }
    }
    return true;
}

void npu_ctl_part(Rk3588NpuCtlState *s, unsigned core)
{
    if (s && core < NPU_MAX_CORES) {
        s->meets[core] = 0;
    }
}

void npu_ctl_set_meet_cb(Rk3588NpuCtlState *s, unsigned core,
                         NpuCtlShareFn fn, void *opaque)
{
    if (s && core < NPU_MAX_CORES) {
        s->met[core] = (NpuShareCb) { fn, opaque };
    }
}

static void npu_ctl_clear_counters(Rk3588NpuCtlState *s)
{
    unsigned core, c;

    npu_ctl_account(s);
    for (core = 0; core < NPU_MAX_CORES; core++) {
        for (c = 0; c < NPU_CNT_NUM; c++) {
            if (!counter_is_state(c)) {
                s->stats[core].c[c] = 0;
            }
        }
        s->done_ns[core] = -1;
        s->cycle_rest[core] = 0;
    }
    if (s->poc) {
        rk3588_poc_clear_lines(s->poc);
    }
    s->overlap_ns[0] = 0;
    s->overlap_ns[1] = 0;
    s->max_busy = ctpop32(s->busy_mask);
}

/* What waits for no event. */
static void npu_ctl_tell_armed(Rk3588NpuCtlState *s, uint32_t kind,
                               uint32_t which)
{
    unsigned core;

    for (core = 0; core < NPU_MAX_CORES; core++) {
        const NpuArmedCb *cb = &s->armed[core];

        if (!cb->fn || (which != NPU_CTL_ANY_CORE && which != core)) {
            continue;
        }
        if (kind == NPU_FAULT_IRQ_SPURIOUS) {
            npu_faults_fired(&s->faults, core, kind, 0);
        }
        cb->fn(cb->opaque, kind);
    }
}

static void npu_ctl_arm(Rk3588NpuCtlState *s, uint32_t kind,
                        const NpuArmedFault *f)
{
    npu_faults_arm(&s->faults, kind, f);
    if (kind == NPU_FAULT_IRQ_SPURIOUS || kind == NPU_FAULT_CORE_DEAD) {
        npu_ctl_tell_armed(s, kind, f->core);
    }
}

static void npu_ctl_command(Rk3588NpuCtlState *s, uint32_t cmd)
{
    switch (cmd) {
    case NPU_CTL_CMD_CLEAR_COUNTERS:
        npu_ctl_clear_counters(s);
        break;
    case NPU_CTL_CMD_TRACE_START:
        s->trace_count = 0;
        s->trace_dropped = 0;
        s->tracing = true;
        break;
    case NPU_CTL_CMD_TRACE_STOP:
        s->tracing = false;
        break;
    case NPU_CTL_CMD_FAULT_CLEAR:
        npu_faults_disarm(&s->faults);
        break;
    case NPU_CTL_CMD_PING:
        npu_ctl_trace(s, NPU_CTL_UNIT_IRQ, NPU_CORE_NONE,
                      NPU_CTL_BASE + NPU_CTL_CMD, cmd, true);
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "%s: no such command %u\n",
                      __func__, cmd);
    }
}

static uint32_t latch(Rk3588NpuCtlState *s, uint64_t v)
{
    s->latch_hi = v >> 32;
    return v;
}

static uint32_t npu_ctl_read_counter(Rk3588NpuCtlState *s, hwaddr addr)
{
    unsigned core = (addr - NPU_CTL_CORE(0)) / CORE_WINDOW;
    unsigned c = (addr % CORE_WINDOW) / 8;

    if (core >= NPU_MAX_CORES || c >= NPU_CNT_NUM) {
        return 0;
    }
    if (addr & 4) {
        return s->latch_hi;
    }
    npu_ctl_account(s);
    return latch(s, s->stats[core].c[c]);
}

static uint32_t npu_ctl_read_trace(Rk3588NpuCtlState *s, hwaddr addr)
{
    const NpuTraceEntry *e;

    if (s->trace_index >= s->trace_count) {
        return 0;
    }
    e = &s->trace[s->trace_index];
    switch (addr) {
    case NPU_CTL_TRACE_ADDR:
        return e->addr;
    case NPU_CTL_TRACE_VALUE:
        return e->val;
    default:
        return e->info;
    }
}

static uint64_t npu_ctl_read(void *opaque, hwaddr addr, unsigned size)
{
    Rk3588NpuCtlState *s = opaque;

    if (addr >= NPU_CTL_HANG(0)) {
        return addr < NPU_CTL_HANG(NPU_MAX_CORES)
            ? npu_hang_read(&s->hang[(addr - NPU_CTL_HANG(0)) / HANG_WINDOW],
                            addr % HANG_WINDOW)
            : 0;
    }
    if (addr >= NPU_CTL_CORE(0)) {
        return npu_ctl_read_counter(s, addr);
    }

    switch (addr) {
    case NPU_CTL_MAGIC:
        return NPU_CTL_MAGIC_VALUE;
    case NPU_CTL_VERSION:
        return NPU_CTL_IF_VERSION;
    case NPU_CTL_NUM_CORES:
        return s->num_cores;
    case NPU_CTL_TIME_LO:
        return latch(s, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
    case NPU_CTL_OVERLAP2_LO:
        npu_ctl_account(s);
        return latch(s, s->overlap_ns[0]);
    case NPU_CTL_OVERLAP3_LO:
        npu_ctl_account(s);
        return latch(s, s->overlap_ns[1]);
    case NPU_CTL_CACHE_LINES_LO:
        return latch(s, s->poc ? rk3588_poc_lines(s->poc) : 0);
    case NPU_CTL_TIME_HI:
    case NPU_CTL_CACHE_LINES_HI:
    case NPU_CTL_OVERLAP2_HI:
    case NPU_CTL_OVERLAP3_HI:
        return s->latch_hi;
    case NPU_CTL_MAX_BUSY:
        return s->max_busy;
    case NPU_CTL_LATENCY_NS:
        return s->latency_ns;
    case NPU_CTL_FLIP:
        return s->flip;
    case NPU_CTL_MEMORY_MBS:
        return s->memory_mbs;
    case NPU_CTL_TRACE_COUNT:
        return s->trace_count;
    case NPU_CTL_TRACE_DROPPED:
        return s->trace_dropped;
    case NPU_CTL_TRACE_INDEX:
        return s->trace_index;
    case NPU_CTL_TRACE_ADDR:
    case NPU_CTL_TRACE_VALUE:
    case NPU_CTL_TRACE_INFO:
        return npu_ctl_read_trace(s, addr);
    case NPU_CTL_FAULT_CORE:
        return s->faults.next.core;
    case NPU_CTL_FAULT_SKIP:
        return s->faults.next.skip;
    case NPU_CTL_FAULT_COUNT:
        return s->faults.next.count;
    case NPU_CTL_FAULT_PARAM:
        return s->faults.next.param;
    case NPU_CTL_FAULT_FIRED:
        return s->faults.fired;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "%s: bad offset 0x%" HWADDR_PRIx "\n",
                      __func__, addr);
        return 0;
    }
}

static void npu_ctl_write(void *opaque, hwaddr addr, uint64_t val,
                          unsigned size)
{
    Rk3588NpuCtlState *s = opaque;

    switch (addr) {
    case NPU_CTL_CMD:
        npu_ctl_command(s, val);
        break;
    case NPU_CTL_FLIP:
        s->flip = val;
        break;
    case NPU_CTL_LATENCY_NS:
        s->latency_ns = val;
        break;
    case NPU_CTL_MEMORY_MBS:
        s->memory_mbs = val;
        npu_ctl_share(s, NPU_CORE_NONE);
        break;
    case NPU_CTL_TRACE_INDEX:
        s->trace_index = val;
        break;
    case NPU_CTL_FAULT_CORE:
        s->faults.next.core = val;
        break;
    case NPU_CTL_FAULT_SKIP:
        s->faults.next.skip = val;
        break;
    case NPU_CTL_FAULT_COUNT:
        s->faults.next.count = val;
        break;
    case NPU_CTL_FAULT_PARAM:
        s->faults.next.param = val;
        break;
    case NPU_CTL_FAULT_ARM:
        npu_ctl_arm(s, val, &s->faults.next);
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "%s: bad offset 0x%" HWADDR_PRIx "\n",
                      __func__, addr);
    }
}

static const MemoryRegionOps npu_ctl_ops = {
    .read = npu_ctl_read,
    .write = npu_ctl_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

/* All counters as "coreN.<index>=<value>" words, for qom-get. */
static char *npu_ctl_get_counters(Object *obj, Error **errp)
{
    Rk3588NpuCtlState *s = RK3588_NPU_CTL(obj);
    GString *out = g_string_new(NULL);
    unsigned core, c;

    npu_ctl_account(s);
    for (core = 0; core < s->num_cores; core++) {
        for (c = 0; c < NPU_CNT_NUM; c++) {
            g_string_append_printf(out, "core%u.%u=%" PRIu64 " ", core, c,
                                   s->stats[core].c[c]);
        }
    }
    g_string_append_printf(out, "max_busy=%u", s->max_busy);
    return g_string_free(out, false);
}

static char *npu_ctl_get_arm(Object *obj, Error **errp)
{
    return npu_faults_format(&RK3588_NPU_CTL(obj)->faults);
}

static void npu_ctl_set_arm(Object *obj, const char *value, Error **errp)
{
    Rk3588NpuCtlState *s = RK3588_NPU_CTL(obj);
    NpuArmedFault f;
    uint32_t kind;

    if (!strcmp(value, "none")) {
        npu_faults_disarm(&s->faults);
        return;
    }
    kind = npu_faults_parse(value, &f, errp);
    if (kind) {
        npu_ctl_arm(s, kind, &f);
    }
}

/*
 * POWERED and CLOCKED belong to other devices, which report them again when
 * they leave reset.
 */
static void npu_ctl_reset_hold(Object *obj, ResetType type)
{
    Rk3588NpuCtlState *s = RK3588_NPU_CTL(obj);
    unsigned core;

    npu_ctl_clear_counters(s);
    s->busy_mask = 0;
    memset(s->cbuf, 0, sizeof(s->cbuf));
    s->max_busy = 0;
    for (core = 0; core < NPU_MAX_CORES; core++) {
        s->stats[core].c[NPU_CNT_BUSY] = 0;
    }
    npu_faults_reset(&s->faults);
    memset(s->hang, 0, sizeof(s->hang));
    s->tracing = false;
    s->trace_count = 0;
    s->trace_dropped = 0;
    s->trace_index = 0;
    s->latch_hi = 0;
}

static void npu_ctl_realize(DeviceState *dev, Error **errp)
{
    Rk3588NpuCtlState *s = RK3588_NPU_CTL(dev);

    if (s->num_cores < 1 || s->num_cores > NPU_MAX_CORES) {
        error_setg(errp, "num-cores must be 1..%d", NPU_MAX_CORES);
        return;
    }
    memory_region_init_io(&s->iomem, OBJECT(dev), &npu_ctl_ops, s,
                          TYPE_RK3588_NPU_CTL, NPU_CTL_SIZE);
    sysbus_init_mmio(SYS_BUS_DEVICE(dev), &s->iomem);
}

static const VMStateDescription vmstate_npu_stats = {
    .name = "rk3588-npu-ctl/stats",
    .version_id = 4,
    .minimum_version_id = 4,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64_ARRAY(c, Rk3588NpuStats, NPU_CNT_NUM),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_npu_trace = {
    .name = "rk3588-npu-ctl/trace",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(addr, NpuTraceEntry),
        VMSTATE_UINT32(val, NpuTraceEntry),
        VMSTATE_UINT32(info, NpuTraceEntry),
        VMSTATE_END_OF_LIST()
    }
};

static int npu_ctl_post_load(void *opaque, int version_id)
{
    Rk3588NpuCtlState *s = opaque;

    return s->trace_count > NPU_CTL_TRACE_DEPTH ? -EINVAL : 0;
}

static const VMStateDescription vmstate_npu_ctl = {
    .name = TYPE_RK3588_NPU_CTL,
    .version_id = 6,
    .minimum_version_id = 6,
    .post_load = npu_ctl_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(stats, Rk3588NpuCtlState, NPU_MAX_CORES, 2,
                             vmstate_npu_stats, Rk3588NpuStats),
        VMSTATE_UINT64_ARRAY(overlap_ns, Rk3588NpuCtlState, 2),
        VMSTATE_UINT32(max_busy, Rk3588NpuCtlState),
        VMSTATE_UINT32(busy_mask, Rk3588NpuCtlState),
        VMSTATE_INT64(accounted_ns, Rk3588NpuCtlState),
        VMSTATE_INT64_ARRAY(done_ns, Rk3588NpuCtlState, NPU_MAX_CORES),
        VMSTATE_UINT32_ARRAY(clock_hz, Rk3588NpuCtlState, NPU_MAX_CORES),
        VMSTATE_UINT64_ARRAY(cycle_rest, Rk3588NpuCtlState, NPU_MAX_CORES),
        VMSTATE_UINT32(latency_ns, Rk3588NpuCtlState),
        VMSTATE_UINT32(flip, Rk3588NpuCtlState),
        VMSTATE_UINT32(memory_mbs, Rk3588NpuCtlState),
        VMSTATE_UINT64_ARRAY(demand, Rk3588NpuCtlState, NPU_MAX_CORES),
        VMSTATE_UINT64_ARRAY(grant, Rk3588NpuCtlState, NPU_MAX_CORES),
        VMSTATE_UINT32(latch_hi, Rk3588NpuCtlState),
        VMSTATE_STRUCT_ARRAY(hang, Rk3588NpuCtlState, NPU_MAX_CORES, 1,
                             vmstate_npu_hang, NpuHang),
        VMSTATE_BOOL(tracing, Rk3588NpuCtlState),
        VMSTATE_UINT32(trace_count, Rk3588NpuCtlState),
        VMSTATE_UINT32(trace_dropped, Rk3588NpuCtlState),
        VMSTATE_UINT32(trace_index, Rk3588NpuCtlState),
        VMSTATE_STRUCT_ARRAY(trace, Rk3588NpuCtlState, NPU_CTL_TRACE_DEPTH, 1,
                             vmstate_npu_trace, NpuTraceEntry),
        VMSTATE_STRUCT(faults, Rk3588NpuCtlState, 1, vmstate_npu_faults,
                       NpuFaults),
        VMSTATE_END_OF_LIST()
    }
};

static const Property npu_ctl_properties[] = {
    DEFINE_PROP_UINT32("num-cores", Rk3588NpuCtlState, num_cores,
                       NPU_MAX_CORES),
    DEFINE_PROP_LINK("chaos", Rk3588NpuCtlState, chaos, TYPE_RK_CHAOS,
                     RkChaosState *),
    DEFINE_PROP_LINK("poc", Rk3588NpuCtlState, poc, TYPE_RK3588_POC,
                     Rk3588PocState *),
    DEFINE_PROP_UINT32("latency-ns", Rk3588NpuCtlState, latency_ns, 0),
    DEFINE_PROP_UINT32("memory-mbs", Rk3588NpuCtlState, memory_mbs,
                       NPU_MEMORY_MBS),
};

static void npu_ctl_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->desc = "RK3588 NPU model control";
    dc->realize = npu_ctl_realize;
    dc->vmsd = &vmstate_npu_ctl;
    dc->user_creatable = false;
    device_class_set_props(dc, npu_ctl_properties);
    rc->phases.hold = npu_ctl_reset_hold;
    object_class_property_add_str(klass, "counters", npu_ctl_get_counters,
                                  NULL);
    object_class_property_add_str(klass, "arm", npu_ctl_get_arm,
                                  npu_ctl_set_arm);
    object_class_property_set_description(klass, "arm",
        "Faults that are armed; write NAME[,core=,skip=,count=,param=] or "
        "none");
}

static void npu_ctl_init(Object *obj)
{
    Rk3588NpuCtlState *s = RK3588_NPU_CTL(obj);

    object_property_add_uint32_ptr(obj, "fired", &s->faults.fired,
                                   OBJ_PROP_FLAG_READ);
}

static const TypeInfo npu_ctl_info = {
    .name = TYPE_RK3588_NPU_CTL,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(Rk3588NpuCtlState),
    .instance_init = npu_ctl_init,
    .class_init = npu_ctl_class_init,
};

static void npu_ctl_register_types(void)
{
    type_register_static(&npu_ctl_info);
}
type_init(npu_ctl_register_types)
