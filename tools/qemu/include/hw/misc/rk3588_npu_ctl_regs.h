/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Register interface of the model's control device: counters, register trace
 * and fault arming for tests.  It exists in the model only, never on silicon.
 * Shared by the model and by guest programs, so it holds nothing but numbers.
 */
#ifndef RK3588_NPU_CTL_REGS_H
#define RK3588_NPU_CTL_REGS_H

/* Fixed guest physical window; in the DT: "rknpu-accel,model-control". */
#define NPU_CTL_BASE            0xfdaf0000u
#define NPU_CTL_SIZE            0x00010000u

/* All registers are 32 bits wide; 64-bit values are lo at N, hi at N + 4. */
#define NPU_CTL_MAGIC           0x000   /* RO: NPU_CTL_MAGIC_VALUE */
#define NPU_CTL_MAGIC_VALUE     0x4d4e4b52u     /* "RKNM" */
#define NPU_CTL_VERSION         0x004   /* RO: 1 */
#define NPU_CTL_NUM_CORES       0x008   /* RO: 3 */
#define NPU_CTL_CMD             0x00c   /* WO: one of NPU_CTL_CMD_* */
#define NPU_CTL_CMD_CLEAR_COUNTERS      1
#define NPU_CTL_CMD_TRACE_START         2       /* also empties the trace */
#define NPU_CTL_CMD_TRACE_STOP          3
#define NPU_CTL_CMD_FAULT_CLEAR         4       /* disarm everything */
#define NPU_CTL_CMD_PING                5       /* trace marker, no effect */

/* Virtual time in ns, latched by reading LO. */
#define NPU_CTL_TIME_LO         0x010
#define NPU_CTL_TIME_HI         0x014

/*
 * Time in ns (virtual) during which at least two / all three cores were
 * executing a task at once, and the highest number seen busy together.
 */
#define NPU_CTL_OVERLAP2_LO     0x020
#define NPU_CTL_OVERLAP2_HI     0x024
#define NPU_CTL_OVERLAP3_LO     0x028
#define NPU_CTL_OVERLAP3_HI     0x02c
#define NPU_CTL_MAX_BUSY        0x030

/*
 * Cache lines that CPUs have cleaned or invalidated, whether dirty or not; 0
 * if the NPU snoops.  Starts anew at migration.
 */
#define NPU_CTL_CACHE_LINES_LO  0x060
#define NPU_CTL_CACHE_LINES_HI  0x064

/*
 * Task latency: 0 = from the cycle model (default), otherwise a fixed number
 * of ns per task.
 */
#define NPU_CTL_LATENCY_NS      0x034

/*
 * Memory bandwidth that the cores share, in units of 10^6 bytes per second;
 * 0 = each core is limited by its own port alone.
 */
#define NPU_CTL_MEMORY_MBS      0x038

/* Temperature that the sensors (TSADC) measure, in mC, signed. */
#define NPU_CTL_TEMPERATURE     0x03c

/* Register trace: set INDEX, then read the entry. */
#define NPU_CTL_TRACE_COUNT     0x040   /* RO: entries held */
#define NPU_CTL_TRACE_DROPPED   0x044   /* RO: entries that did not fit */
#define NPU_CTL_TRACE_INDEX     0x048   /* RW */
#define NPU_CTL_TRACE_ADDR      0x04c   /* RO: guest physical address */
#define NPU_CTL_TRACE_VALUE     0x050   /* RO: value read or written */
#define NPU_CTL_TRACE_INFO      0x054   /* RO: NPU_CTL_TRACE_* below */
#define NPU_CTL_TRACE_WRITE             (1u << 0)
#define NPU_CTL_TRACE_UNIT(info)        (((info) >> 8) & 0xff)
#define NPU_CTL_TRACE_CORE(info)        (((info) >> 4) & 0xf)   /* 15: none */
#define NPU_CTL_UNIT_CORE               0
#define NPU_CTL_UNIT_MMU                1
#define NPU_CTL_UNIT_CRU                2
#define NPU_CTL_UNIT_PMU                3
#define NPU_CTL_UNIT_IRQ                4   /* VALUE = NPU line level */
#define NPU_CTL_TRACE_DEPTH             8192

/*
 * Fault arming: fill the parameters, then write the kind to FAULT_ARM.  An
 * armed fault fires on core FAULT_CORE (or any, if NPU_CTL_ANY_CORE) after
 * FAULT_SKIP matching events, FAULT_COUNT times (0 = until cleared).  One
 * fault of each kind can be armed; arming it again replaces it.  What each
 * does, and what its events are, is in docs/system/arm/rk3588-npu.rst.
 */
#define NPU_CTL_FAULT_CORE      0x080
#define NPU_CTL_ANY_CORE                0xffffffffu
#define NPU_CTL_FAULT_SKIP      0x084
#define NPU_CTL_FAULT_COUNT     0x088
#define NPU_CTL_FAULT_PARAM     0x08c   /* meaning depends on the kind */
#define NPU_CTL_FAULT_ARM       0x090   /* WO: one of NPU_FAULT_* */
#define NPU_CTL_FAULT_FIRED     0x094   /* RO: times any armed fault fired */
#define NPU_FAULT_NEVER_START    1   /* op_en accepted, nothing runs */
#define NPU_FAULT_HANG           2   /* task starts, never completes */
#define NPU_FAULT_IRQ_LOST       3   /* raw bits latch, line stays low */
#define NPU_FAULT_DMA_READ       4   /* raw bit 12, task hangs */
#define NPU_FAULT_DMA_WRITE      5   /* raw bit 13, task hangs */
#define NPU_FAULT_IRQ_SPURIOUS   6   /* raise the line now, no raw bit */
#define NPU_FAULT_RESET_STUCK    7   /* CRU reset does not clear a hang */
#define NPU_FAULT_IRQ_LATE       8   /* the line rises PARAM ns late */
#define NPU_FAULT_IRQ_DUP        9   /* line rises again, PARAM ns later */
#define NPU_FAULT_IRQ_MMU       10   /* so does the IOMMU's; PARAM: its bits */
#define NPU_FAULT_IRQ_PARTIAL   11   /* only raw bits in PARAM latch */
#define NPU_FAULT_REGCMD_ADDR   12   /* program fetched from address ^ PARAM */
#define NPU_FAULT_MMU_READ      13   /* page fault at PARAM; 0: where it read */
#define NPU_FAULT_MMU_WRITE     14   /* the same of a write */
#define NPU_FAULT_MMU_STALL     15   /* a stall request has no effect */
#define NPU_FAULT_MMU_RESET     16   /* a force reset has no effect */
#define NPU_FAULT_MMU_PAGING    17   /* enabling paging has no effect */
#define NPU_FAULT_MMU_ZAP       18   /* a TLB zap (all, one line) is lost */
#define NPU_FAULT_POWER_STUCK   19   /* the domain does not come up */
#define NPU_FAULT_CLK_STUCK     20   /* a gate of the core does not open */
#define NPU_FAULT_CORE_DEAD     21   /* reads return PARAM, writes are lost */
#define NPU_FAULT_OFF_STUCK     22   /* loss of power does not clear a hang */
#define NPU_FAULT_MMU_STRAY     23   /* page fault PARAM ns after the end */
#define NPU_FAULT_CPU_HELD      24   /* PARAM ns; the one that looks for it */
#define NPU_FAULT_RESET_HELD    25   /* PARAM ns; a CPU at an MMU in reset */
#define NPU_FAULT_MAX           25

/*
 * Properties of all cores that mean their opposite, 1 << one of these: a test
 * tries each reading of what sources do not agree on in one machine.
 */
#define NPU_CTL_FLIP            0x098
enum npu_ctl_reading {
    NPU_READ_PPU_SETS_DPU_DONE, /* "ppu-sets-dpu-done" */
    NPU_READ_RAW_HIGH_BITS,     /* "raw-high-bits" */
    NPU_READ_RAW_KEEPS,         /* "raw-keeps" */
    NPU_READ_STATUS_ALL_BITS,   /* "status-all-bits" */
    NPU_READ_S_STATUS_DONE,     /* "s-status-done" */
    NPU_READ_EXECUTER_SHOWS,    /* "executer-shows" */
    NPU_READ_NUM
};

/*
 * Why the last task of a core hung, if the model decided that: RO, and not
 * cleared by NPU_CTL_CMD_CLEAR_COUNTERS.  Armed faults leave nothing here.
 */
#define NPU_CTL_HANG(n)         (0x4000u + 0x1000u * (n))
#define NPU_CTL_HANG_COUNT      0x000   /* such tasks since the machine reset */
#define NPU_CTL_HANG_KIND       0x004
#define NPU_CTL_HANG_SILICON            1       /* so does silicon, is known */
#define NPU_CTL_HANG_REFUSED            2       /* the model cannot run it */
#define NPU_CTL_HANG_ENABLE     0x008   /* blocks that it started, or 0 */
#define NPU_CTL_HANG_NUM        0x00c   /* entries below */
#define NPU_CTL_HANG_TEXT       0x100   /* bytes, up to one that is 0 */
#define NPU_CTL_HANG_TEXT_SIZE  0x100
/* Its registers that are not 0, as entries of a program: lo, then hi. */
#define NPU_CTL_HANG_ENTRY(i)   (0x400u + 8u * (i))
#define NPU_CTL_HANG_ENTRIES    256

/* Per-core counters: 64-bit, at CORE(n) + 8 * index; read LO first. */
#define NPU_CTL_CORE(n)         (0x1000u + 0x200u * (n))
enum npu_ctl_counter {
    NPU_CNT_MMIO_READ,          /* NPU register reads by a CPU */
    NPU_CNT_MMIO_WRITE,
    NPU_CNT_IRQ,                /* rising edges of the core's own line */
    NPU_CNT_KICK,               /* PC op_en rising edges accepted */
    NPU_CNT_TASK_STARTED,
    NPU_CNT_TASK_DONE,
    NPU_CNT_HANG,               /* tasks that will never complete */
    NPU_CNT_UNIMPLEMENTED,      /* hangs because the model lacks the feature */
    NPU_CNT_REGCMD,             /* regcmd entries executed */
    NPU_CNT_DMA_READ_BYTES,
    NPU_CNT_DMA_WRITE_BYTES,
    NPU_CNT_MACS,
    NPU_CNT_BUSY_NS,
    NPU_CNT_GAP_NS,             /* sum of (kick - previous completion) */
    NPU_CNT_GAPS,               /* number of gaps in GAP_NS */
    NPU_CNT_POWER_ON,
    NPU_CNT_RESET,              /* CRU reset assertions */
    NPU_CNT_ABORT,              /* accesses while gated or unpowered */
    NPU_CNT_MMU_READ,           /* IOMMU register reads by a CPU */
    NPU_CNT_MMU_WRITE,
    NPU_CNT_MMU_ATTACH,         /* paging enabled on bank 0 (off -> on) */
    NPU_CNT_MMU_ZAP_ALL,
    NPU_CNT_MMU_ZAP_LINE,
    NPU_CNT_MMU_FAULT,
    NPU_CNT_TLB_HIT,
    NPU_CNT_TLB_MISS,
    NPU_CNT_POWERED,            /* state, not a count: 1 = domain on */
    NPU_CNT_CLOCKED,            /* state: 1 = aclk and hclk running */
    NPU_CNT_BUSY,               /* state: 1 = executing or hung */
    NPU_CNT_BUSY_CYCLES,        /* of the core's clock; none while gated */
    NPU_CNT_IDLE_CYCLES,        /* likewise, clocked but not busy */
    NPU_CNT_GAP_LAST_NS,        /* the last, shortest and longest of the */
    NPU_CNT_GAP_MIN_NS,         /* gaps in GAP_NS */
    NPU_CNT_GAP_MAX_NS,
    NPU_CNT_CBUF_SHORT,         /* tasks with too few CBUF banks, or with */
                                /* some that another core has */
    NPU_CNT_DIRTY_READ,         /* DMA reads, page walks of what a CPU has */
                                /* written and not cleaned */
    NPU_CNT_DIRTY_WRITE,        /* DMA writes to lines that a CPU has dirty */
    NPU_CNT_WRITE_LOST,         /* register writes that were still under way */
                                /* when the clock or the power went */
    NPU_CNT_NUM
};

#endif
