/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clock and reset units: every register is storage with a write mask in its
 * upper half; only the NPU's gates and resets, the PLL lock bits and the global
 * reset have an effect.
 *
 * Register positions are from the tables of Linux's clk-* and rst-* drivers,
 * their meaning from the TRM.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/module.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "hw/sysbus.h"
#include "migration/vmstate.h"
#include "system/runstate.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk_cru.h"
#include "trace.h"

#define NUM_REGS        (RV1126B_CRU_SIZE / 4)  /* the largest one's */
#define MAX_GATES       3
#define MAX_MUXES       2

#define GLB_SRST_FST_MAGIC      0xfdb9
#define PLL_CON1_POWER_DOWN     (1u << 13)

typedef struct CruPll {
    uint32_t base;      /* offset of the PLL's CON0 */
    uint16_t con[3];    /* as a boot loader may leave it */
} CruPll;

typedef struct CruInit {
    uint32_t offset;
    uint16_t value;
} CruInit;

/* A bit of the register at an offset: a gate, or a reset. */
typedef struct CruBit {
    uint32_t offset;
    unsigned bit;
} CruBit;

/* A clock runs if none of its gates is closed; the first is the core's own. */
typedef struct CruCore {
    CruBit aclk[MAX_GATES], hclk[MAX_GATES];
    CruBit srst_a, srst_h;
} CruCore;

/* An unused CruBit has offset 0. */
typedef struct CruChip {
    const char *desc;
    uint32_t size;
    uint32_t glb_srst_fst;
    const CruPll *plls;
    unsigned num_plls;
    uint32_t lock_con;          /* of a PLL, from its CON0 */
    uint32_t lock;
    const CruInit *init;
    unsigned num_init;
    uint32_t mux[MAX_MUXES];    /* that choose the NPU's rates */
    unsigned num_cores;
    CruCore core[NPU_MAX_CORES];
} CruChip;

struct RkCruClass {
    SysBusDeviceClass parent_class;

    const CruChip *chip;
};

#define RK3562_CLKSEL_CON(n)    (0x100 + 4 * (n))
#define RK3562_CLKGATE_CON(n)   (0x300 + 4 * (n))
#define RK3562_SOFTRST_CON(n)   (0x400 + 4 * (n))

/* fbdiv and postdiv1; refdiv, postdiv2 and DSMPD, which is whole numbers. */
#define RK3036_PLL(base, fb, p1, ref, p2)                                   \
    { base, { (fb) | (p1) << 12, (ref) | (p2) << 6 | 1u << 12, 0 } }

static const CruPll rk3562_plls[] = {
    RK3036_PLL(0x00000, 68, 2, 1, 1),   /* APLL 816 MHz */
    RK3036_PLL(0x00060, 99, 2, 1, 1),   /* GPLL 1188 MHz */
    RK3036_PLL(0x00080, 99, 4, 1, 1),   /* VPLL 594 MHz */
    RK3036_PLL(0x000a0, 100, 2, 1, 1),  /* HPLL 1200 MHz */
    RK3036_PLL(0x18040, 125, 3, 1, 1),  /* CPLL 1000 MHz */
    RK3036_PLL(0x28020, 65, 1, 1, 1),   /* DPLL 1560 MHz */
};

static const CruInit rk3562_init[] = {
    { 0x600, 0x0145 },                  /* the PLLs' outputs */
    { 0x18380, 1 }, { 0x28380, 1 },
    { RK3562_CLKSEL_CON(15), 1 },       /* clk_npu_pre 594 MHz */
    { RK3562_CLKSEL_CON(16), 2 },       /* hclk_npu_pre 198 MHz */
};

/* CLK_NPU_PRE feeds HCLK_NPU_PRE, too. */
#define RK3562_NPU_PRE          { RK3562_CLKGATE_CON(6), 0 }

static const CruChip rk3562_chip = {
    .desc = "RK3562 clock and reset unit",
    .size = RK3562_CRU_SIZE,
    .glb_srst_fst = 0x614,
    .plls = rk3562_plls,
    .num_plls = ARRAY_SIZE(rk3562_plls),
    .lock_con = 4,
    .lock = 1u << 10,
    .init = rk3562_init,
    .num_init = ARRAY_SIZE(rk3562_init),
    .num_cores = RK3562_NPU_CORES,
    .core = {
        {
            .aclk = { { RK3562_CLKGATE_CON(6), 4 }, RK3562_NPU_PRE },
            .hclk = { { RK3562_CLKGATE_CON(6), 5 },
                      { RK3562_CLKGATE_CON(6), 1 }, RK3562_NPU_PRE },
            /* SRST_A_RKNN and SRST_H_RKNN */
            .srst_a = { RK3562_SOFTRST_CON(6), 4 },
            .srst_h = { RK3562_SOFTRST_CON(6), 5 },
        },
    },
};

#define RK3568_CLKSEL_CON(n)    (0x100 + 4 * (n))
#define RK3568_CLKGATE_CON(n)   (0x300 + 4 * (n))
#define RK3568_SOFTRST_CON(n)   (0x400 + 4 * (n))

static const CruPll rk3568_plls[] = {
    RK3036_PLL(0x00, 68, 2, 1, 1),      /* APLL 816 MHz */
    RK3036_PLL(0x20, 65, 1, 1, 1),      /* DPLL 1560 MHz */
    RK3036_PLL(0x40, 99, 2, 1, 1),      /* GPLL 1188 MHz */
    RK3036_PLL(0x60, 125, 3, 1, 1),     /* CPLL 1000 MHz */
    RK3036_PLL(0x80, 100, 2, 1, 1),     /* NPLL 1200 MHz */
    RK3036_PLL(0xa0, 99, 4, 1, 1),      /* VPLL 594 MHz */
};

static const CruInit rk3568_init[] = {
    { 0xc0, 0x1555 },                   /* the PLLs' outputs */
    { RK3568_CLKSEL_CON(7), 1 },        /* clk_npu_src 600 MHz */
};

static const CruChip rk3568_chip = {
    .desc = "RK3568 clock and reset unit",
    .size = RK3568_CRU_SIZE,
    .glb_srst_fst = 0xd4,
    .plls = rk3568_plls,
    .num_plls = ARRAY_SIZE(rk3568_plls),
    .lock_con = 4,
    .lock = 1u << 10,
    .init = rk3568_init,
    .num_init = ARRAY_SIZE(rk3568_init),
    .num_cores = RK3568_NPU_CORES,
    .core = {
        {
            /* ACLK_NPU, ACLK_NPU_PRE */
            .aclk = { { RK3568_CLKGATE_CON(3), 7 },
                      { RK3568_CLKGATE_CON(3), 4 } },
            /* HCLK_NPU, HCLK_NPU_PRE */
            .hclk = { { RK3568_CLKGATE_CON(3), 8 },
                      { RK3568_CLKGATE_CON(3), 2 } },
            /* SRST_A_NPU and SRST_H_NPU, 43 and 44 */
            .srst_a = { RK3568_SOFTRST_CON(2), 11 },
            .srst_h = { RK3568_SOFTRST_CON(2), 12 },
        },
    },
};

/* The RK3576's and the RK3588's. */
#define RK3588_MODE_CON0        0x280
#define RK3588_CLKSEL_CON(n)    (0x300 + 4 * (n))
#define RK3588_CLKGATE_CON(n)   (0x800 + 4 * (n))
#define RK3588_SOFTRST_CON(n)   (0xa00 + 4 * (n))

/* m; p, s; k: 24 MHz * (m + k / 65536) / p / 2^s */
#define RK3588_PLL(base, m, p, s, k)    { base, { m, (p) | (s) << 6, k } }

static const CruPll rk3576_plls[] = {
    RK3588_PLL(0x00000, 272, 2, 2, 0),          /* BPLL 816 MHz */
    RK3588_PLL(0x48040, 272, 2, 2, 0),          /* LPLL 816 MHz */
    RK3588_PLL(0x00160, 198, 2, 1, 0),          /* VPLL 1188 MHz */
    RK3588_PLL(0x00180, 262, 2, 2, 9437),       /* AUPLL 786.432 MHz */
    RK3588_PLL(0x001a0, 250, 3, 1, 0),          /* CPLL 1000 MHz */
    RK3588_PLL(0x001c0, 198, 2, 1, 0),          /* GPLL 1188 MHz */
    RK3588_PLL(0x08200, 325, 3, 1, 0),          /* PPLL 1300 MHz */
};

static const CruInit rk3576_init[] = {
    { RK3588_MODE_CON0, 0x0554 },               /* the PLLs' outputs */
    { 0x38280, 1 }, { 0x40280, 1 },
    { RK3588_CLKSEL_CON(86), 0 << 7 | 1 << 2 }, /* clk_rknn_dsu0 594 MHz */
};

/*
 * On silicon a core without the clocks of its CBUF answers, but computes
 * nothing.  Here it does not answer either: drivers that forget them show.
 */
#define RK3576_DSU0             { RK3588_CLKGATE_CON(31), 5 }
#define RK3576_ACLK_CBUF        { RK3588_CLKGATE_CON(32), 0 }
#define RK3576_HCLK_ROOT        { RK3588_CLKGATE_CON(31), 4 }
#define RK3576_HCLK_CBUF        { RK3588_CLKGATE_CON(32), 12 }

static const CruChip rk3576_chip = {
    .desc = "RK3576 clock and reset unit",
    .size = RK3576_CRU_SIZE,
    .glb_srst_fst = 0xc08,
    .plls = rk3576_plls,
    .num_plls = ARRAY_SIZE(rk3576_plls),
    .lock_con = 0x18,
    .lock = 1u << 15,
    .init = rk3576_init,
    .num_init = ARRAY_SIZE(rk3576_init),
    .num_cores = RK3576_NPU_CORES,
    .core = {
        {
            .aclk = { { RK3588_CLKGATE_CON(28), 9 }, RK3576_DSU0,
                      RK3576_ACLK_CBUF },
            .hclk = { { 0 }, RK3576_HCLK_ROOT, RK3576_HCLK_CBUF },
            .srst_a = { RK3588_SOFTRST_CON(28), 9 },
        }, {
            .aclk = { { RK3588_CLKGATE_CON(29), 0 }, RK3576_DSU0,
                      RK3576_ACLK_CBUF },
            .hclk = { { 0 }, RK3576_HCLK_ROOT, RK3576_HCLK_CBUF },
            .srst_a = { RK3588_SOFTRST_CON(29), 0 },
        },
    },
};

/*
 * Rates a boot loader leaves behind: the DT's assigned rates where it has some,
 * else common ones (row soc.domains).  They are only visible in the guest's
 * clock tree.
 */
static const CruPll rk3588_plls[] = {
    RK3588_PLL(0x50000, 272, 2, 2, 0),          /* B0PLL 816 MHz */
    RK3588_PLL(0x52020, 272, 2, 2, 0),          /* B1PLL 816 MHz */
    RK3588_PLL(0x58040, 272, 2, 2, 0),          /* LPLL 816 MHz */
    RK3588_PLL(0x00160, 198, 2, 1, 0),          /* V0PLL 1188 MHz */
    RK3588_PLL(0x00180, 262, 2, 2, 9437),       /* AUPLL 786.432 MHz */
    RK3588_PLL(0x001a0, 250, 2, 1, 0),          /* CPLL 1500 MHz */
    RK3588_PLL(0x001c0, 198, 2, 1, 0),          /* GPLL 1188 MHz */
    RK3588_PLL(0x001e0, 425, 3, 2, 0),          /* NPLL 850 MHz */
    RK3588_PLL(0x08200, 550, 3, 2, 0),          /* PPLL 1100 MHz */
};

/* Muxes on PLL output and rates of clk_*m_src dividers (row soc.domains) */
static const CruInit rk3588_init[] = {
    { RK3588_MODE_CON0, 0x0555 },
    { 0x50280, 1 }, { 0x52280, 1 }, { 0x58280, 1 },
    { RK3588_CLKSEL_CON(0), 1 << 11 | 14 << 6 | 1 << 5 | 29 }, /* 100, 50 MHz */
    { RK3588_CLKSEL_CON(1), 0 << 11 | 5 << 6 | 1 << 5 | 9 },  /* 198, 150 MHz */
    { RK3588_CLKSEL_CON(2), 1 << 11 | 4 << 6 | 1 << 5 | 5 },  /* 300, 250 MHz */
    { RK3588_CLKSEL_CON(3), 0 << 11 | 2 << 6 | 1 << 5 | 1 },  /* 396, 351 MHz */
    { RK3588_CLKSEL_CON(4), 1 << 11 | 2 << 6 | 0 << 5 | 1 },  /* 500, 475 MHz */
    { RK3588_CLKSEL_CON(5), 0 << 11 | 1 << 6 | 0 << 5 | 1 },  /* 594, 594 MHz */
    { RK3588_CLKSEL_CON(73), 0 << 7 | 1 << 2 },               /* dsu0 594 MHz */
};

/* hclk_npu_root; clk_npu_dsu0, parent of every aclk_npuN */
#define RK3588_HCLK_ROOT        { RK3588_CLKGATE_CON(29), 0 }
#define RK3588_DSU0             { RK3588_CLKGATE_CON(29), 1 }

/* The resets' bits have the gates' numbers. */
#define RK3588_CORE(con, a, h)                                              \
    {                                                                       \
        .aclk = { { RK3588_CLKGATE_CON(con), a }, RK3588_DSU0 },            \
        .hclk = { { RK3588_CLKGATE_CON(con), h }, RK3588_HCLK_ROOT },       \
        .srst_a = { RK3588_SOFTRST_CON(con), a },                           \
        .srst_h = { RK3588_SOFTRST_CON(con), h },                           \
    }

static const CruChip rk3588_chip = {
    .desc = "RK3588 clock and reset unit",
    .size = RK3588_CRU_SIZE,
    .glb_srst_fst = 0xc08,
    .plls = rk3588_plls,
    .num_plls = ARRAY_SIZE(rk3588_plls),
    .lock_con = 0x18,
    .lock = 1u << 15,
    .init = rk3588_init,
    .num_init = ARRAY_SIZE(rk3588_init),
    .mux = { RK3588_CLKSEL_CON(73), RK3588_CLKSEL_CON(74) },
    .num_cores = NPU_MAX_CORES,
    .core = {
        RK3588_CORE(30, 6, 8),
        RK3588_CORE(27, 0, 2),
        RK3588_CORE(28, 0, 2),
    },
};

/* Parts of the CRU; registers have the RK3588's places in each. */
#define RV1126B_PERI_CRU        0x20000
#define RV1126B_SUBDDR_CRU      0x68000
#define RV1126B_NPU_CRU         0x90000

static const CruPll rv1126b_plls[] = {
    RK3036_PLL(0x00, 65, 2, 1, 1),                  /* AUPLL 780 MHz */
    RK3036_PLL(0x20, 99, 2, 1, 1),                  /* GPLL 1188 MHz */
    RK3036_PLL(RV1126B_PERI_CRU, 125, 3, 1, 1),     /* CPLL 1000 MHz */
    RK3036_PLL(RV1126B_SUBDDR_CRU, 65, 1, 1, 1),    /* DPLL 1560 MHz */
};

static const CruInit rv1126b_init[] = {
    { RK3588_MODE_CON0, 0x0015 },                   /* the PLLs' outputs */
    { RK3588_CLKSEL_CON(2), 7 },                    /* clk_gpll_div8 */
    { RK3588_CLKSEL_CON(60), 1 << 6 },              /* clk_npu_pll 594 MHz */
};

static const CruChip rv1126b_chip = {
    .desc = "RV1126B clock and reset unit",
    .size = RV1126B_CRU_SIZE,
    .glb_srst_fst = 0xc08,
    .plls = rv1126b_plls,
    .num_plls = ARRAY_SIZE(rv1126b_plls),
    .lock_con = 4,
    .lock = 1u << 10,
    .init = rv1126b_init,
    .num_init = ARRAY_SIZE(rv1126b_init),
    .num_cores = RV1126B_NPU_CORES,
    .core = {
        {
            /* CLK_NPU_PLL: ACLK_RKNN has no gate of its own. */
            .aclk = { { RK3588_CLKGATE_CON(5), 1 } },
            /* HCLK_RKNN, CLK_GPLL_DIV8 */
            .hclk = { { RK3588_CLKGATE_CON(5), 10 },
                      { RK3588_CLKGATE_CON(0), 3 } },
            /* SRST_A_RKNN and SRST_H_RKNN */
            .srst_a = { RV1126B_NPU_CRU + RK3588_SOFTRST_CON(0), 10 },
            .srst_h = { RV1126B_NPU_CRU + RK3588_SOFTRST_CON(0), 9 },
        },
    },
};

struct RkCruState {
    SysBusDevice parent_obj;

    MemoryRegion iomem;
    MemoryRegion resets;
    Rk3588NpuCtlState *ctl;
    uint32_t regs[NUM_REGS];
    bool in_reset[NPU_MAX_CORES];       /* as last reported */

    qemu_irq aclk[NPU_MAX_CORES];
    qemu_irq hclk[NPU_MAX_CORES];
    qemu_irq srst_a[NPU_MAX_CORES];
    qemu_irq srst_h[NPU_MAX_CORES];
};

static const CruChip *cru_chip(RkCruState *s)
{
    return RK_CRU_GET_CLASS(s)->chip;
}

static bool cru_bit(const RkCruState *s, CruBit bit)
{
    return bit.offset && (s->regs[bit.offset / 4] & (1u << bit.bit));
}

static bool cru_runs(const RkCruState *s, const CruBit *gates)
{
    unsigned i;

    for (i = 0; i < MAX_GATES; i++) {
        if (cru_bit(s, gates[i])) {
            return false;
        }
    }
    return true;
}

static void cru_update_core(RkCruState *s, unsigned core)
{
    const CruCore *c = &cru_chip(s)->core[core];
    bool aclk = cru_runs(s, c->aclk);
    bool hclk = cru_runs(s, c->hclk);
    bool srst_a = cru_bit(s, c->srst_a);
    bool srst_h = cru_bit(s, c->srst_h);
    bool reset = srst_a || srst_h;

    trace_rk_cru_core(core, aclk, hclk, srst_a, srst_h);
    if (reset && !s->in_reset[core]) {
        npu_ctl_count(s->ctl, core, NPU_CNT_RESET, 1);
    }
    s->in_reset[core] = reset;
    npu_ctl_set(s->ctl, core, NPU_CNT_CLOCKED, aclk && hclk);
    qemu_set_irq(s->srst_a[core], srst_a);
    qemu_set_irq(s->srst_h[core], srst_h);
    qemu_set_irq(s->aclk[core], aclk);
    qemu_set_irq(s->hclk[core], hclk);
}

static void cru_update(RkCruState *s)
{
    unsigned core;

    for (core = 0; core < cru_chip(s)->num_cores; core++) {
        cru_update_core(s, core);
    }
}

static bool cru_drives_core(const CruCore *c, hwaddr addr)
{
    unsigned i;

    for (i = 0; i < MAX_GATES; i++) {
        if (c->aclk[i].offset == addr || c->hclk[i].offset == addr) {
            return true;
        }
    }
    return c->srst_a.offset == addr || c->srst_h.offset == addr;
}

static bool cru_drives_npu(RkCruState *s, hwaddr addr)
{
    const CruChip *chip = cru_chip(s);
    unsigned core;

    for (core = 0; addr && core < chip->num_cores; core++) {
        if (cru_drives_core(&chip->core[core], addr)) {
            return true;
        }
    }
    return false;
}

/* Its mask in the register at @addr, if it is there. */
static uint32_t cru_bit_mask(CruBit bit, hwaddr addr)
{
    return bit.offset && bit.offset == addr ? 1u << bit.bit : 0;
}

/* A test keeps gates from opening: what to add to @val to keep them shut. */
static uint32_t cru_stuck_gates(RkCruState *s, hwaddr addr, uint32_t mask,
                                uint32_t val)
{
    uint32_t opening = mask & ~val & s->regs[addr / 4], stuck = 0;
    unsigned core;

    for (core = 0; core < cru_chip(s)->num_cores; core++) {
        const CruCore *c = &cru_chip(s)->core[core];
        uint32_t bits = (cru_bit_mask(c->aclk[0], addr) |
                         cru_bit_mask(c->hclk[0], addr)) & opening;

        if (bits && npu_ctl_fault(s->ctl, core, NPU_FAULT_CLK_STUCK, NULL)) {
            stuck |= bits;
        }
    }
    return stuck;
}

static bool cru_concerns_npu(RkCruState *s, hwaddr addr)
{
    const uint32_t *mux = cru_chip(s)->mux;

    return cru_drives_npu(s, addr) ||
           (addr && (addr == mux[0] || addr == mux[1]));
}

static void cru_note(RkCruState *s, hwaddr addr, uint32_t val, bool write)
{
    if (cru_concerns_npu(s, addr)) {
        npu_ctl_trace(s->ctl, NPU_CTL_UNIT_CRU, NPU_CORE_NONE,
                      s->iomem.addr + addr, val, write);
    }
}

static uint64_t cru_read(void *opaque, hwaddr addr, unsigned size)
{
    RkCruState *s = opaque;
    const CruChip *chip = cru_chip(s);
    uint32_t val = s->regs[addr / 4];
    unsigned i;

    for (i = 0; i < chip->num_plls; i++) {
        /* A PLL locks as soon as it is powered. */
        if (addr == chip->plls[i].base + chip->lock_con &&
            !(s->regs[chip->plls[i].base / 4 + 1] & PLL_CON1_POWER_DOWN)) {
            val |= chip->lock;
        }
    }
    trace_rk_cru_read(addr, val);
    cru_note(s, addr, val, false);
    return val;
}

static void cru_write(void *opaque, hwaddr addr, uint64_t data, unsigned size)
{
    RkCruState *s = opaque;
    uint32_t mask = data >> 16 & 0xffff;
    uint32_t *reg = &s->regs[addr / 4];

    trace_rk_cru_write(addr, data);
    cru_note(s, addr, data, true);
    if (addr == cru_chip(s)->glb_srst_fst) {
        if (data == GLB_SRST_FST_MAGIC) {
            qemu_system_reset_request(SHUTDOWN_CAUSE_GUEST_RESET);
        }
        return;
    }
    *reg = (*reg & ~mask) | (data & mask) |
           cru_stuck_gates(s, addr, mask, data);
    if (cru_drives_npu(s, addr)) {
        cru_update(s);
    }
}

static const MemoryRegionOps cru_ops = {
    .read = cru_read,
    .write = cru_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

/* The same resets, without what only a driver of the CRU knows. */
static uint32_t cru_resets(RkCruState *s)
{
    uint32_t val = 0;
    unsigned core;

    for (core = 0; core < cru_chip(s)->num_cores; core++) {
        const CruCore *c = &cru_chip(s)->core[core];

        val = deposit32(val, 2 * core, 1, cru_bit(s, c->srst_a));
        val = deposit32(val, 2 * core + 1, 1, cru_bit(s, c->srst_h));
    }
    return val;
}

static uint64_t cru_resets_read(void *opaque, hwaddr addr, unsigned size)
{
    RkCruState *s = opaque;
    uint32_t val = cru_resets(s);

    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_CRU, NPU_CORE_NONE, s->resets.addr, val,
                  false);
    return val;
}

static void cru_set_bit(RkCruState *s, CruBit bit, bool value)
{
    uint32_t *reg = &s->regs[bit.offset / 4];

    if (bit.offset) {
        *reg = deposit32(*reg, bit.bit, 1, value);
    }
}

static void cru_resets_write(void *opaque, hwaddr addr, uint64_t data,
                             unsigned size)
{
    RkCruState *s = opaque;
    unsigned core;

    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_CRU, NPU_CORE_NONE, s->resets.addr, data,
                  true);
    for (core = 0; core < cru_chip(s)->num_cores; core++) {
        const CruCore *c = &cru_chip(s)->core[core];

        cru_set_bit(s, c->srst_a, extract32(data, 2 * core, 1));
        cru_set_bit(s, c->srst_h, extract32(data, 2 * core + 1, 1));
    }
    cru_update(s);
}

static const MemoryRegionOps cru_resets_ops = {
    .read = cru_resets_read,
    .write = cru_resets_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

static void cru_reset_enter(Object *obj, ResetType type)
{
    RkCruState *s = RK_CRU(obj);
    const CruChip *chip = cru_chip(s);
    unsigned i, n;

    memset(s->regs, 0, sizeof(s->regs));
    memset(s->in_reset, 0, sizeof(s->in_reset));
    for (i = 0; i < chip->num_plls; i++) {
        for (n = 0; n < ARRAY_SIZE(chip->plls[i].con); n++) {
            s->regs[chip->plls[i].base / 4 + n] = chip->plls[i].con[n];
        }
    }
    for (i = 0; i < chip->num_init; i++) {
        s->regs[chip->init[i].offset / 4] = chip->init[i].value;
    }
}

static void cru_reset_exit(Object *obj, ResetType type)
{
    cru_update(RK_CRU(obj));
}

static void cru_init_instance(Object *obj)
{
    DeviceState *dev = DEVICE(obj);
    RkCruState *s = RK_CRU(obj);
    unsigned cores = cru_chip(s)->num_cores;

    memory_region_init_io(&s->iomem, obj, &cru_ops, s, TYPE_RK_CRU,
                          cru_chip(s)->size);
    sysbus_init_mmio(SYS_BUS_DEVICE(obj), &s->iomem);
    memory_region_init_io(&s->resets, obj, &cru_resets_ops, s, "rk-resets",
                          RK_CRU_RESETS_SIZE);
    sysbus_init_mmio(SYS_BUS_DEVICE(obj), &s->resets);
    qdev_init_gpio_out_named(dev, s->aclk, "aclk", cores);
    qdev_init_gpio_out_named(dev, s->hclk, "hclk", cores);
    qdev_init_gpio_out_named(dev, s->srst_a, "srst-a", cores);
    qdev_init_gpio_out_named(dev, s->srst_h, "srst-h", cores);
}

/* The lines are not driven again on load: their receivers keep their level. */
static const VMStateDescription vmstate_cru = {
    .name = TYPE_RK_CRU,
    .version_id = 3,
    .minimum_version_id = 3,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL_ARRAY(in_reset, RkCruState, NPU_MAX_CORES),
        VMSTATE_UINT32_ARRAY(regs, RkCruState, NUM_REGS),
        VMSTATE_END_OF_LIST()
    }
};

static const Property cru_properties[] = {
    DEFINE_PROP_LINK("ctl", RkCruState, ctl, TYPE_RK3588_NPU_CTL,
                     Rk3588NpuCtlState *),
};

static void cru_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->vmsd = &vmstate_cru;
    dc->user_creatable = false;
    device_class_set_props(dc, cru_properties);
    rc->phases.enter = cru_reset_enter;
    rc->phases.exit = cru_reset_exit;
}

static void cru_chip_class_init(ObjectClass *klass, void *data)
{
    RK_CRU_CLASS(klass)->chip = data;
    DEVICE_CLASS(klass)->desc = RK_CRU_CLASS(klass)->chip->desc;
}

static const TypeInfo cru_info[] = {
    {
        .name = TYPE_RK_CRU,
        .parent = TYPE_SYS_BUS_DEVICE,
        .abstract = true,
        .instance_size = sizeof(RkCruState),
        .instance_init = cru_init_instance,
        .class_size = sizeof(RkCruClass),
        .class_init = cru_class_init,
    }, {
        .name = TYPE_RK3562_CRU,
        .parent = TYPE_RK_CRU,
        .class_init = cru_chip_class_init,
        .class_data = (void *)&rk3562_chip,
    }, {
        .name = TYPE_RK3568_CRU,
        .parent = TYPE_RK_CRU,
        .class_init = cru_chip_class_init,
        .class_data = (void *)&rk3568_chip,
    }, {
        .name = TYPE_RK3576_CRU,
        .parent = TYPE_RK_CRU,
        .class_init = cru_chip_class_init,
        .class_data = (void *)&rk3576_chip,
    }, {
        .name = TYPE_RK3588_CRU,
        .parent = TYPE_RK_CRU,
        .class_init = cru_chip_class_init,
        .class_data = (void *)&rk3588_chip,
    }, {
        .name = TYPE_RV1126B_CRU,
        .parent = TYPE_RK_CRU,
        .class_init = cru_chip_class_init,
        .class_data = (void *)&rv1126b_chip,
    },
};

DEFINE_TYPES(cru_info)
