/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Program controller of an RK3588 NPU core: runs the tasks that command streams
 * describe one after the other, and reports their end.
 *
 * Every step runs from the main loop with the BQL held, never inside a
 * register access; between loading operands and storing results the worker
 * thread computes while virtual time passes.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/host-utils.h"
#include "qemu/log.h"
#include "system/cpu-timers.h"
#include "system/runstate.h"
#include "migration/vmstate.h"
#include "rk3588_npu_pc.h"
#include "trace.h"

/* From op-enable to the first command, and between tasks (row pc.prefetch). */
#define NPU_FETCH_NS            500

static void npu_pc_arm(NpuPc *pc, uint64_t delay_ns)
{
    timer_mod(&pc->timer,
              qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + delay_ns);
}

static void npu_pc_set_phase(NpuPc *pc, NpuPhase phase)
{
    trace_rk3588_npu_phase(pc->env->core_index, pc->phase, phase);
    pc->phase = phase;
    if (phase != NPU_PHASE_RUN) {
        npu_progress_freeze(&pc->progress);
    }
}

static void npu_pc_hang(NpuPc *pc)
{
    npu_count(pc->env, NPU_CNT_HANG, 1);
    npu_pc_set_phase(pc, NPU_PHASE_HUNG);
}

/* Operands, arithmetic or results of a task are under way. */
static bool npu_pc_in_task(const NpuPc *pc)
{
    return pc->phase == NPU_PHASE_LOAD || pc->phase == NPU_PHASE_RUN ||
           pc->phase == NPU_PHASE_STORE || pc->phase == NPU_PHASE_EMPTY;
}

/* --- Registers that differ between chips --- */

/* Flags of TASK_CON, above the number of tasks. */
#define NPU_TASK_PP_EN(pc)      (1u << (pc)->task_bits)
#define NPU_TASK_COUNT_CLEAR(pc)        (2u << (pc)->task_bits)
#define NPU_LAST_LAYER_CLEAR(pc)        (4u << (pc)->task_bits)

/* TASK_STATUS with flags of the first and the last task, and a count. */
static bool npu_pc_has_flags(const NpuPc *pc)
{
    return !npu_reads(pc->env, NPU_READ_STATUS_ALL_BITS);
}

void npu_pc_write_task_con(NpuPc *pc, uint32_t value)
{
    if (value & NPU_TASK_COUNT_CLEAR(pc)) {
        pc->groups->regs[R_PC_TASK_STATUS] &=
            npu_pc_has_flags(pc) ? 0 : R_PC_TASK_STATUS_STATE_MASK;
    }
    pc->groups->regs[R_PC_TASK_CON] = value & ~(NPU_TASK_COUNT_CLEAR(pc) |
                                                NPU_LAST_LAYER_CLEAR(pc));
}

/*
 * Where it is at 0x48: started and completed, modulo those of the kick.  One
 * that hangs has started.
 */
uint32_t npu_pc_task_status(const NpuPc *pc)
{
    uint32_t started = pc->tasks_done + !!pc->groups->enable;

    if (pc->task_status == A_PC_TASK_STATUS) {
        return pc->groups->regs[R_PC_TASK_STATUS];
    }
    if (!pc->tasks_wanted) {
        return 0;
    }
    return (pc->tasks_done % pc->tasks_wanted) << 16 |
           started % pc->tasks_wanted;
}

/* Lets the guest know; a task has registers from its start on. */
static void npu_pc_explain(NpuPc *pc, unsigned kind, const char *why)
{
    bool task = pc->phase == NPU_PHASE_START || npu_pc_in_task(pc);

    npu_ctl_hang(pc->env->ctl, pc->env->core_index, kind, why,
                 pc->groups->enable, task ? pc->groups->latched : NULL);
}

static void npu_pc_guest_error(NpuPc *pc, const char *why)
{
    qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: %s: hangs until reset\n",
                  pc->env->core_index, why);
    npu_pc_explain(pc, NPU_CTL_HANG_SILICON, why);
    npu_pc_hang(pc);
}

static void npu_pc_unimplemented(NpuPc *pc, const char *why)
{
    qemu_log_mask(LOG_UNIMP,
                  "rk3588-npu%u: not implemented: %s: hangs until reset\n",
                  pc->env->core_index, why);
    npu_pc_explain(pc, NPU_CTL_HANG_REFUSED, why);
    npu_count(pc->env, NPU_CNT_UNIMPLEMENTED, 1);
    npu_pc_hang(pc);
}

static void npu_pc_out_of_memory(NpuPc *pc)
{
    error_report("rk3588-npu%u: out of host memory", pc->env->core_index);
    npu_pc_hang(pc);
}

/* A DMA error is reported at once, whatever the place of its task. */
static void npu_pc_dma_error(NpuPc *pc, bool write)
{
    npu_pc_guest_error(pc, write ? "DMA write error" : "DMA read error");
    npu_irq_error(pc->irq, write ? NPU_INT_DMA_WRITE_ERR
                                 : NPU_INT_DMA_READ_ERR);
}

/* True if memory was accessed; otherwise the phase waits or has ended. */
static bool npu_pc_accessed(NpuPc *pc, NpuMemResult r, const char *why)
{
    switch (r) {
    case NPU_MEM_OK:
        return true;
    case NPU_MEM_BLOCKED:
        pc->blocked = true;
        break;
    case NPU_MEM_READ_ERROR:
    case NPU_MEM_WRITE_ERROR:
        npu_pc_dma_error(pc, r == NPU_MEM_WRITE_ERROR);
        break;
    case NPU_MEM_NO_HOST_MEMORY:
        npu_pc_out_of_memory(pc);
        break;
    case NPU_MEM_UNIMPLEMENTED:
        npu_pc_unimplemented(pc, why);
        break;
    }
    return false;
}

/* --- Commands --- */

/* An op-enable: the registers are a task now, which starts when it can. */
static void npu_pc_latch(NpuPc *pc, uint32_t enable, bool ahead)
{
    if (npu_groups_wrong(pc->groups, enable)) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: op-enable for a group "
                      "that does not execute\n", pc->env->core_index);
        enable = 0;     /* no task at all: refused when its turn comes */
    }
    npu_groups_snapshot(pc->groups, pc->next.regs);
    pc->next.enable = enable;
    pc->next.pending = true;
    npu_groups_toggle_pointers(pc->groups, enable, true);
    trace_rk3588_npu_latch(pc->env->core_index, enable, ahead);
}

/* The waiting task becomes the one in flight. */
static void npu_pc_take_pending(NpuPc *pc)
{
    pc->next.pending = false;
    pc->prefetching = false;
    pc->meet = pc->slave ? 0 : pc->fetch.next_meet;
    pc->groups->enable = pc->next.enable;
    memcpy(pc->groups->latched, pc->next.regs, sizeof(pc->groups->latched));
    npu_pc_set_phase(pc, NPU_PHASE_START);
}

static void npu_pc_begin_segment(NpuPc *pc, uint32_t addr, uint32_t amount)
{
    npu_fetch_point_at(&pc->fetch, addr, amount);
    npu_pc_set_phase(pc, NPU_PHASE_FETCH);
    npu_pc_arm(pc, NPU_FETCH_NS);
}

static NpuFetchResult npu_pc_read_segment(NpuPc *pc, bool ahead)
{
    uint32_t enable;
    NpuFetchResult r = npu_fetch_read(&pc->fetch, ahead, &enable);

    switch (r) {
    case NPU_FETCH_ENABLE:
        npu_pc_latch(pc, enable, ahead);
        break;
    case NPU_FETCH_BLOCKED:
        pc->blocked = true;
        break;
    case NPU_FETCH_READ_ERROR:
        npu_irq_error(pc->irq, pc->fetch_error ? NPU_INT_FETCH_ERR : 0);
        npu_pc_dma_error(pc, false);
        break;
    case NPU_FETCH_BLOCK_ENABLE:
        npu_pc_unimplemented(pc, "op-enable of one block in a stream");
        break;
    case NPU_FETCH_END:
    case NPU_FETCH_LATER:
        break;
    }
    return r;
}

static void npu_pc_fetch(NpuPc *pc)
{
    NpuFetchResult r = npu_pc_read_segment(pc, false);

    if (r == NPU_FETCH_ENABLE) {
        npu_pc_take_pending(pc);
    } else if (r == NPU_FETCH_END) {
        npu_pc_guest_error(pc, "command stream without op-enable");
    }
}

static bool npu_pc_chain_goes_on(const NpuPc *pc)
{
    return !pc->slave && pc->tasks_done + 1 < pc->tasks_wanted &&
           pc->fetch.next_amount;
}

/* Will another task of the chain follow, whose segment may have been read? */
static bool npu_pc_inside_chain(const NpuPc *pc)
{
    return npu_pc_chain_goes_on(pc) ||
           (!pc->slave && (pc->next.pending || pc->prefetching));
}

static void npu_pc_begin_prefetch(NpuPc *pc)
{
    if (pc->prefetch && !pc->next.pending && !pc->prefetching &&
        npu_pc_chain_goes_on(pc) &&
        (pc->groups->regs[R_PC_TASK_CON] & NPU_TASK_PP_EN(pc))) {
        npu_fetch_point_at(&pc->fetch, pc->fetch.next_addr,
                           pc->fetch.next_amount);
        pc->prefetching = true;
        timer_mod(&pc->fetch_timer,
                  qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + NPU_FETCH_NS);
    }
}

static void npu_pc_prefetch(void *opaque)
{
    NpuPc *pc = opaque;

    /* While clocks are off it is left to the end of the task in flight. */
    if (pc->prefetching && !pc->next.pending && npu_clocked(pc->env) &&
        !pc->blocked && npu_pc_in_task(pc)) {
        npu_pc_read_segment(pc, true);
    }
}

/* The rest of a segment that was read ahead in part. */
static void npu_pc_finish_prefetch(NpuPc *pc)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint64_t due = timer_pending(&pc->fetch_timer)
                   ? timer_expire_time_ns(&pc->fetch_timer) : now;

    timer_del(&pc->fetch_timer);
    pc->prefetching = false;
    npu_pc_set_phase(pc, NPU_PHASE_FETCH);
    npu_pc_arm(pc, due > now ? due - now : 0);
}

/* --- Tasks --- */

/* A task starts. */
static void npu_pc_show_progress(NpuPc *pc)
{
    uint32_t *status = &pc->groups->regs[R_PC_TASK_STATUS];
    uint32_t state = FIELD_EX32(*status, PC_TASK_STATUS, STATE);

    if (npu_pc_has_flags(pc)) {
        state = pc->tasks_done ? state : NPU_FLAG_FIRST;
        state |= pc->tasks_done + 1 == pc->tasks_wanted ? NPU_FLAG_LAST : 0;
    } else if (!pc->slave) {
        state = NPU_STATE_RUNS;
    }
    *status = FIELD_DP32(*status, PC_TASK_STATUS, STATE, state);
}

static NpuTaskOptions npu_pc_options(const NpuPc *pc)
{
    return (NpuTaskOptions) {
        .encoding = pc->encoding,
        .write_padding = pc->write_padding,
        .idle_ppu_rdma = pc->idle_ppu_rdma,
        .lut = &pc->groups->lut,
    };
}

/* A task without registers beyond S_POINTER, and a test that wants those. */
static bool npu_pc_is_empty(const NpuPc *pc)
{
    unsigned block, i;

    if (!pc->empty_tasks) {
        return false;
    }
    for (block = NPU_BLOCK_CNA; block < NPU_BLOCK_NUM; block++) {
        for (i = 3; npu_block_enabled(pc->groups, block) && i < 0x400; i++) {
            /* The only one that a reset leaves a value in. */
            if (pc->groups->latched[block * 0x400 + i] &&
                block * 0x400 + i != R_CORE_MAC_GATING) {
                return false;
            }
        }
    }
    return true;
}

static NpuVerdict npu_pc_decode(NpuPc *pc, bool empty, const char **why)
{
    NpuTaskOptions opt = npu_pc_options(pc);

    if (empty) {
        memset(&pc->task, 0, sizeof(pc->task));
        *why = NULL;
        return NPU_TASK_RUN;
    }
    return npu_task_decode(&pc->task, pc->groups->latched, pc->groups->enable,
                           &opt, why);
}

/* The number alternates, as the groups of registers do. */
static void npu_pc_commands_done(NpuPc *pc)
{
    if (pc->pc_done_bits) {
        npu_irq_latch(pc->irq, NPU_INT_PC_DONE << (pc->tasks_done & 1));
    }
}

/* A test of drivers: nothing is read, computed or written. */
static void npu_pc_start_empty(NpuPc *pc)
{
    npu_pc_set_phase(pc, NPU_PHASE_EMPTY);
    npu_pc_arm(pc, MAX(npu_ctl_latency_ns(pc->env->ctl), NPU_FETCH_NS));
    npu_pc_begin_prefetch(pc);
}

static void npu_pc_start(NpuPc *pc)
{
    NpuGroups *g = pc->groups;
    const char *why;
    NpuVerdict verdict;
    bool empty;

    npu_groups_execute(g);
    npu_cbuf_next_task(&pc->cbuf);
    npu_pc_show_progress(pc);
    if (pc->tasks_done) {
        npu_irq_next_task(pc->irq);
    }
    npu_count(pc->env, NPU_CNT_TASK_STARTED, 1);
    npu_pc_commands_done(pc);
    empty = npu_pc_is_empty(pc);
    verdict = npu_pc_decode(pc, empty, &why);
    trace_rk3588_npu_task(pc->env->core_index, g->enable, pc->task.macs,
                          why ? why : "runs");
    if (npu_fault(pc->env, NPU_FAULT_HANG, NULL)) {
        npu_pc_hang(pc);
    } else if (!g->enable) {
        npu_pc_guest_error(pc, "op-enable of no block that executes");
    } else if (pc->encoding == NPU_ENCODING_RK3588 &&
               npu_groups_wrong_core(g, pc->env->core_index)) {
        npu_pc_guest_error(pc, "S_POINTER of CNA or CORE has another core's "
                           "number");
    } else if (verdict == NPU_TASK_STALL) {
        npu_pc_guest_error(pc, why);
    } else if (verdict == NPU_TASK_UNIMP) {
        npu_pc_unimplemented(pc, why);
    } else if (npu_fault(pc->env, NPU_FAULT_DMA_READ, NULL)) {
        npu_pc_dma_error(pc, false);
    } else if (empty) {
        npu_pc_start_empty(pc);
    } else {
        npu_pc_set_phase(pc, NPU_PHASE_LOAD);
    }
}

static void npu_pc_submit(NpuPc *pc, NpuJob *job)
{
    if (pc->task.kind == NPU_KIND_CONV) {
        npu_cbuf_check(pc->env, &pc->task);
        job->feature = npu_cbuf_feature(&pc->cbuf, &pc->task);
        job->weights = npu_buf_ref(pc->cbuf.weights);
    }
    pc->job = job;
    pc->late = false;
    npu_worker_submit(&pc->worker, job);
    npu_pc_set_phase(pc, NPU_PHASE_RUN);
    if (pc->resumed) {
        pc->resumed = false;
        npu_progress_resume(&pc->progress);
    } else {
        NpuCost cost;

        npu_task_cost(&pc->task, &cost);
        /* Memory that is slow to answer, at a clock of about 1 GHz. */
        cost.cycles += npu_ctl_lag_ns(pc->env->ctl, pc->env->core_index);
        npu_progress_start(&pc->progress, &cost,
                           npu_ctl_latency_ns(pc->env->ctl));
    }
    npu_pc_begin_prefetch(pc);
}

static void npu_pc_load(NpuPc *pc)
{
    const char *why = NULL;
    NpuMemResult r;
    NpuJob *job;

    npu_tail_land(&pc->tail);
    if (pc->task.kind == NPU_KIND_CONV) {
        r = npu_cbuf_load(&pc->cbuf, pc->env, &pc->task, &why);
        if (!npu_pc_accessed(pc, r, why)) {
            return;
        }
    }
    job = npu_job_new(&pc->task);
    job->out = g_try_malloc(pc->task.dpu.out.cube.bytes);
    r = job->out ? npu_operands_load(pc->env, &pc->task, job)
                 : NPU_MEM_NO_HOST_MEMORY;
    if (npu_pc_accessed(pc, r, NULL)) {
        npu_pc_submit(pc, job);
    } else {
        npu_job_free(job);
    }
}

/* --- Interrupts --- */

static bool npu_pc_last_task(const NpuPc *pc)
{
    return pc->slave || pc->tasks_done + 1 >= pc->tasks_wanted;
}

/* The mask gates the last task of a chain alone; others only latch. */
static void npu_pc_events(NpuPc *pc, uint32_t events)
{
    static const struct {
        unsigned block;
        uint32_t bit;
    } of[NPU_EVENT_NUM] = {
        [NPU_EVENT_FEATURE] = { NPU_BLOCK_CNA, NPU_INT(CNA_FEATURE) },
        [NPU_EVENT_WEIGHT] = { NPU_BLOCK_CNA, NPU_INT(CNA_WEIGHT) },
        [NPU_EVENT_CSC] = { NPU_BLOCK_CNA, NPU_INT(CNA_CSC) },
        [NPU_EVENT_CORE] = { NPU_BLOCK_CORE, NPU_INT(CORE) },
    };
    uint32_t bits = 0;
    unsigned i;

    for (i = 0; i < NPU_EVENT_NUM; i++) {
        if (events & (1u << i)) {
            bits |= of[i].bit << !!(pc->groups->group & (1u << of[i].block));
        }
    }
    npu_irq_latch(pc->irq, bits);
    if (bits && npu_pc_last_task(pc)) {
        npu_irq_open(pc->irq, bits);
    }
}

/* The deadline has passed, or the arithmetic was late and is now ready. */
static void npu_pc_collect(NpuPc *pc)
{
    if (!npu_worker_is_done(&pc->worker, pc->job)) {
        if (!icount_enabled()) {
            pc->late = true;
            trace_rk3588_npu_late(pc->env->core_index);
            return;
        }
        /* Completion must not depend on the speed of the host. */
        if (!npu_worker_wait(&pc->worker, pc->job)) {
            npu_worker_release(&pc->worker, pc->job);
            pc->job = NULL;
            npu_pc_hang(pc);
            return;
        }
    }
    if (!pc->job->ok) {
        npu_worker_release(&pc->worker, pc->job);
        pc->job = NULL;
        npu_pc_out_of_memory(pc);
        return;
    }
    if (npu_fault(pc->env, NPU_FAULT_DMA_WRITE, NULL)) {
        npu_worker_release(&pc->worker, pc->job);
        pc->job = NULL;
        npu_pc_dma_error(pc, true);
        return;
    }
    npu_pc_set_phase(pc, NPU_PHASE_STORE);
}

/* Other blocks have reported theirs before. */
static uint32_t npu_pc_done_bits(const NpuPc *pc)
{
    bool silent = pc->silent_ppu && npu_pc_inside_chain(pc);
    uint32_t bits = 0;

    if (npu_block_enabled(pc->groups, NPU_BLOCK_DPU)) {
        bits |= NPU_INT(DPU) << !!(pc->groups->group & (1u << NPU_BLOCK_DPU));
    }
    if (npu_block_enabled(pc->groups, NPU_BLOCK_PPU) && !silent) {
        unsigned group = !!(pc->groups->group & (1u << NPU_BLOCK_PPU));

        bits |= NPU_INT(PPU) << group;
        /* Drivers that know of the DPU alone have been seen to complete. */
        bits |= npu_reads(pc->env, NPU_READ_PPU_SETS_DPU_DONE)
                ? NPU_INT(DPU) << group : 0;
    }
    return bits;
}

static void npu_pc_end_chain(NpuPc *pc)
{
    if (!npu_pc_has_flags(pc) && !pc->slave) {
        pc->groups->regs[R_PC_TASK_STATUS] =
            FIELD_DP32(0, PC_TASK_STATUS, STATE, NPU_STATE_DONE);
    }
    npu_pc_set_phase(pc, NPU_PHASE_IDLE);
    npu_ctl_busy(pc->env->ctl, pc->env->core_index, false);
    npu_irq_open(pc->irq, pc->irq->raw);
}

static void npu_pc_next_task(NpuPc *pc)
{
    if (pc->next.pending) {
        npu_pc_take_pending(pc);
    } else if (pc->prefetching) {
        npu_pc_finish_prefetch(pc);
    } else if (pc->fetch.next_amount) {
        npu_pc_begin_segment(pc, pc->fetch.next_addr, pc->fetch.next_amount);
    } else {
        npu_pc_guest_error(pc, "chain ends before the last task");
    }
}

/*
 * Tasks of a network on several cores read what the others have written.  The
 * word that names the next task says how many cores it waits for, counted
 * from core 0 (programs of Rockchip's compilers; jobs for cores 0 and 2 or 1
 * and 2 time out on boards).
 */
static void npu_pc_meet(NpuPc *pc)
{
    npu_pc_set_phase(pc, NPU_PHASE_MEET);
    if (npu_ctl_meet(pc->env->ctl, pc->env->core_index, pc->meet)) {
        npu_pc_next_task(pc);
    }
}

/* Each task of slave mode is a chain of its own, and one more may wait. */
static void npu_pc_end_slave_task(NpuPc *pc)
{
    if (pc->next.pending) {
        pc->tasks_done = 0;
        npu_pc_take_pending(pc);
        npu_irq_open(pc->irq, pc->irq->raw);
    } else {
        npu_pc_end_chain(pc);
    }
}

static void npu_pc_end_task(NpuPc *pc)
{
    uint32_t *status = &pc->groups->regs[R_PC_TASK_STATUS];
    uint32_t done = FIELD_EX32(*status, PC_TASK_STATUS, COUNT);

    npu_count(pc->env, NPU_CNT_TASK_DONE, 1);
    npu_count(pc->env, NPU_CNT_MACS, pc->task.macs);
    npu_irq_latch_done(pc->irq, npu_pc_done_bits(pc));
    npu_groups_finish(pc->groups);
    npu_groups_toggle_pointers(pc->groups, pc->groups->enable, false);
    if (npu_pc_has_flags(pc) || !pc->slave) {
        *status = FIELD_DP32(*status, PC_TASK_STATUS, COUNT, done + 1);
    }
    pc->groups->enable = 0;
    pc->tasks_done++;
    if (pc->slave) {
        npu_pc_end_slave_task(pc);
    } else if (pc->tasks_done >= pc->tasks_wanted) {
        npu_pc_end_chain(pc);
    } else if (pc->meet) {
        npu_pc_meet(pc);
    } else {
        npu_pc_next_task(pc);
    }
}

static void npu_pc_store(NpuPc *pc)
{
    NpuTail *tail = npu_pc_last_task(pc) ? &pc->tail : NULL;
    NpuMemResult r = npu_results_store(pc->env, &pc->task, pc->job->out, tail);
    bool ok = npu_pc_accessed(pc, r, NULL);

    if (pc->blocked) {
        return;
    }
    npu_worker_release(&pc->worker, pc->job);
    pc->job = NULL;
    if (ok) {
        npu_pc_end_task(pc);
    }
}

static void npu_pc_run(NpuPc *pc)
{
    npu_pc_events(pc, npu_progress_update(&pc->progress));
    if (!pc->progress.left) {
        npu_pc_collect(pc);
    }
}

static void npu_pc_run_phase(NpuPc *pc)
{
    switch (pc->phase) {
    case NPU_PHASE_FETCH:
        npu_pc_fetch(pc);
        break;
    case NPU_PHASE_START:
        npu_pc_start(pc);
        break;
    case NPU_PHASE_LOAD:
        npu_pc_load(pc);
        break;
    case NPU_PHASE_RUN:
        npu_pc_run(pc);
        break;
    case NPU_PHASE_STORE:
        npu_pc_store(pc);
        break;
    case NPU_PHASE_EMPTY:
        npu_pc_end_task(pc);
        break;
    }
}

/* Runs phases until one waits for time, the worker, the IOMMU or software. */
static void npu_pc_step(void *opaque)
{
    NpuPc *pc = opaque;
    uint32_t phase;

    if (!npu_clocked(pc->env)) {
        pc->held = true;
        return;
    }
    do {
        phase = pc->phase;
        npu_pc_run_phase(pc);
    } while (pc->phase != phase && !pc->blocked && !timer_pending(&pc->timer));
}

static void npu_pc_retry(void *opaque)
{
    NpuPc *pc = opaque;

    if (pc->blocked) {
        pc->blocked = false;
        npu_pc_step(pc);
    }
}

/* The last of the cores has come. */
static void npu_pc_met(void *opaque)
{
    NpuPc *pc = opaque;

    npu_pc_next_task(pc);
    if (!timer_pending(&pc->timer)) {
        npu_pc_arm(pc, 0);
    }
}

/* Nothing of a machine that stands still changes, so a task waits for it. */
static void npu_pc_end_late(NpuPc *pc)
{
    if (pc->late && runstate_is_running() &&
        npu_worker_is_done(&pc->worker, pc->job)) {
        pc->late = false;
        npu_pc_step(pc);
    }
}

static void npu_pc_job_done(void *opaque, NpuJob *job)
{
    NpuPc *pc = opaque;

    if (job == pc->job) {
        npu_pc_end_late(pc);
    }
}

static void npu_pc_vm_changed(void *opaque, bool running, RunState state)
{
    npu_pc_end_late(opaque);
}

uint32_t npu_pc_running(const NpuPc *pc)
{
    uint32_t events = pc->progress.events;
    uint32_t blocks = pc->groups->enable;

    switch (pc->phase) {
    case NPU_PHASE_LOAD:
    case NPU_PHASE_EMPTY:
    case NPU_PHASE_HUNG:
        return blocks;
    case NPU_PHASE_RUN:
    case NPU_PHASE_STORE:
        blocks &= ~(events & (1u << NPU_EVENT_CSC) ? NPU_ENABLE_CNA : 0);
        blocks &= ~(events & (1u << NPU_EVENT_CORE) ? NPU_ENABLE_CORE : 0);
        return blocks;
    default:
        return 0;
    }
}

/* A block that was enabled on its own has nobody to work with yet. */
uint32_t npu_pc_waiting(const NpuPc *pc)
{
    return (pc->next.pending ? pc->next.enable : 0) | pc->armed;
}

/* --- Starting and stopping --- */

static bool npu_pc_accept(NpuPc *pc, bool slave)
{
    if (pc->phase != NPU_PHASE_IDLE) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: op-enable while busy\n",
                      pc->env->core_index);
        return false;
    }
    npu_count(pc->env, NPU_CNT_KICK, 1);
    npu_ctl_busy(pc->env->ctl, pc->env->core_index, true);
    pc->slave = slave;
    pc->tasks_done = 0;
    pc->groups->enable = 0;
    npu_irq_start(pc->irq);
    if (npu_pc_has_flags(pc)) {
        pc->groups->regs[R_PC_TASK_STATUS] &= R_PC_TASK_STATUS_COUNT_MASK;
    }
    if (npu_fault(pc->env, NPU_FAULT_NEVER_START, NULL)) {
        npu_pc_hang(pc);
        return false;
    }
    return true;
}

/* Where a program is fetched from. */
static uint32_t npu_pc_program(NpuPc *pc, uint32_t addr)
{
    uint32_t param;

    if (npu_fault(pc->env, NPU_FAULT_REGCMD_ADDR, &param)) {
        addr ^= param & PC_BASE_ADDRESS_MASK;
    }
    return addr;
}

void npu_pc_kick(NpuPc *pc)
{
    uint32_t base = pc->groups->regs[R_PC_BASE_ADDRESS];

    if (FIELD_EX32(base, PC_BASE_ADDRESS, PC_SEL)) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: op-enable in slave mode "
                      "fetches nothing\n", pc->env->core_index);
        return;
    }
    if (!npu_pc_accept(pc, false)) {
        return;
    }
    if (pc->no_dma_base && pc->groups->regs[R_PC_TASK_DMA_BASE_ADDR]) {
        npu_pc_guest_error(pc, "TASK_DMA_BASE_ADDR with an address");
        return;
    }
    pc->tasks_wanted = extract32(pc->groups->regs[R_PC_TASK_CON], 0,
                                 pc->task_bits);
    if (!pc->tasks_wanted) {
        npu_pc_guest_error(pc, "op-enable for no task");
        return;
    }
    npu_pc_begin_segment(pc, npu_pc_program(pc, base & PC_BASE_ADDRESS_MASK),
                         FIELD_EX32(pc->groups->regs[R_PC_REGISTER_AMOUNTS],
                                    PC_REGISTER_AMOUNTS, AMOUNT));
}

/* While a task executes, one more can wait in the other groups. */
static void npu_pc_enable_next(NpuPc *pc, uint32_t enable)
{
    if (!pc->slave || pc->next.pending || !npu_pc_in_task(pc) ||
        npu_groups_taken(pc->groups, enable)) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: op-enable while both "
                      "groups are in use\n", pc->env->core_index);
        return;
    }
    npu_count(pc->env, NPU_CNT_KICK, 1);
    npu_pc_latch(pc, enable, true);
}

static bool npu_pc_in_slave_mode(NpuPc *pc, const char *what)
{
    uint32_t base = pc->groups->regs[R_PC_BASE_ADDRESS];

    if (FIELD_EX32(base, PC_BASE_ADDRESS, PC_SEL)) {
        return true;
    }
    qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: %s outside slave mode\n",
                  pc->env->core_index, what);
    return false;
}

void npu_pc_enable(NpuPc *pc, uint32_t enable)
{
    if (!enable || !npu_pc_in_slave_mode(pc, "global op-enable")) {
        return;
    }
    if (pc->phase != NPU_PHASE_IDLE) {
        npu_pc_enable_next(pc, enable);
    } else if (npu_pc_accept(pc, true)) {
        pc->tasks_wanted = 1;
        npu_pc_latch(pc, enable, false);
        npu_pc_take_pending(pc);
        npu_pc_arm(pc, NPU_FETCH_NS);
    }
}

/* What the modes of the blocks of @enable say that they work with. */
static uint32_t npu_pc_neighbours(NpuPc *pc, uint32_t enable)
{
    const uint32_t pool = NPU_ENABLE_PPU | NPU_ENABLE_PPU_RDMA;
    uint32_t dpu = npu_group_regs(pc->groups, NPU_BLOCK_DPU)
                   [R_DPU_FEATURE_MODE_CFG];
    uint32_t ppu = npu_group_regs(pc->groups, NPU_BLOCK_PPU)
                   [R_PPU_OPERATION_MODE_CFG];
    uint32_t need = NPU_ENABLE_CNA | NPU_ENABLE_CORE | NPU_ENABLE_DPU;

    if ((enable & pool) &&
        FIELD_EX32(ppu, PPU_OPERATION_MODE_CFG, FLYING_MODE)) {
        return pool;
    }
    if (FIELD_EX32(dpu, DPU_FEATURE_MODE_CFG, FLYING_MODE)) {
        need = NPU_ENABLE_DPU | NPU_ENABLE_DPU_RDMA;
    }
    if ((enable & pool) || FIELD_EX32(dpu, DPU_FEATURE_MODE_CFG,
                                      OUTPUT_MODE) == NPU_OUTPUT_TO_PPU) {
        need |= NPU_ENABLE_PPU;
    }
    return need;
}

/* Do the blocks of @enable have all the neighbours that they work with? */
static bool npu_pc_complete_set(NpuPc *pc, uint32_t enable)
{
    NpuTaskOptions opt = npu_pc_options(pc);
    uint32_t need = npu_pc_neighbours(pc, enable);
    const char *why;
    NpuTask *t;
    bool starves;

    if ((enable & need) != need) {
        return false;
    }
    /* A DPU whose operands nobody fetches waits for DPU_RDMA. */
    t = g_new(NpuTask, 1);
    npu_groups_snapshot(pc->groups, pc->next.regs);
    starves = npu_task_decode(t, pc->next.regs, enable, &opt, &why) ==
              NPU_TASK_STALL;
    g_free(t);
    return !starves || (enable & NPU_ENABLE_DPU_RDMA);
}

/*
 * Each block waits for its neighbours, so the order of the op-enables does not
 * matter and the task runs from the one that completes it on (row
 * pc.slave-mode).
 */
void npu_pc_enable_block(NpuPc *pc, unsigned block)
{
    uint32_t enable;

    if (!npu_pc_in_slave_mode(pc, "op-enable of a block")) {
        return;
    }
    if (pc->next.pending) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: op-enable while both "
                      "groups are in use\n", pc->env->core_index);
        return;
    }
    enable = pc->armed | 1u << (block - 1);
    if (pc->encoding == NPU_ENCODING_RK3568) {
        /* Units that start one by one gave 41 % wrong bytes (IAV). */
        npu_pc_unimplemented(pc, "op-enable of one block of an RK3568");
        return;
    }
    if (npu_pc_complete_set(pc, enable)) {
        pc->armed = 0;
        npu_pc_enable(pc, enable);
    } else {
        pc->armed = enable;
    }
}

/* A step that came due while the clocks were off is due now. */
void npu_pc_clocks_changed(NpuPc *pc)
{
    npu_progress_clock(&pc->progress);
    if (npu_clocked(pc->env) && pc->held) {
        pc->held = false;
        npu_pc_arm(pc, 0);
    }
}

void npu_pc_forget(NpuPc *pc)
{
    timer_del(&pc->timer);
    timer_del(&pc->fetch_timer);
    if (pc->job) {
        npu_worker_release(&pc->worker, pc->job);
        pc->job = NULL;
    }
    npu_progress_freeze(&pc->progress);
    npu_tail_drop(&pc->tail);
    pc->blocked = false;
    pc->held = false;
    pc->late = false;
    pc->resumed = false;
    pc->next.pending = false;
    pc->prefetching = false;
    pc->armed = 0;
    pc->fetch.next_addr = 0;
    pc->fetch.next_amount = 0;
    pc->fetch.next_meet = 0;
    npu_ctl_part(pc->env->ctl, pc->env->core_index);
}

void npu_pc_abort(NpuPc *pc, bool stuck)
{
    if (pc->blocked) {
        npu_count(pc->env, NPU_CNT_HANG, 1);
    }
    npu_pc_forget(pc);
    npu_progress_stop(&pc->progress);
    if (!stuck) {
        pc->groups->enable = 0;
        pc->tasks_wanted = 0;
        pc->tasks_done = 0;
        npu_pc_set_phase(pc, NPU_PHASE_IDLE);
        npu_ctl_busy(pc->env->ctl, pc->env->core_index, false);
    }
}

/*
 * Arithmetic does not migrate: a task that had not stored its result loads
 * its operands again, which its program must not have changed meanwhile.
 */
void npu_pc_resume(NpuPc *pc)
{
    const char *why;

    switch (pc->phase) {
    case NPU_PHASE_RUN:
    case NPU_PHASE_STORE:
        pc->phase = NPU_PHASE_LOAD;
        pc->resumed = true;
        pc->blocked = false;
        pc->late = false;
        npu_pc_arm(pc, 0);
        /* fall through */
    case NPU_PHASE_LOAD:
        if (npu_pc_decode(pc, false, &why) != NPU_TASK_RUN) {
            pc->phase = NPU_PHASE_HUNG;
            return;
        }
        break;
    case NPU_PHASE_MEET:
        npu_pc_meet(pc);
        break;
    case NPU_PHASE_IDLE:
    case NPU_PHASE_HUNG:
        return;
    }
    if (!pc->blocked && !pc->held && !timer_pending(&pc->timer)) {
        npu_pc_arm(pc, 0);
    }
}

void npu_pc_init(NpuPc *pc, const NpuEnv *env, NpuGroups *groups, NpuIrq *irq)
{
    pc->env = env;
    pc->groups = groups;
    pc->irq = irq;
    npu_fetch_init(&pc->fetch, env, groups);
    npu_progress_init(&pc->progress, env, &pc->timer);
}

void npu_pc_realize(NpuPc *pc, DeviceState *dev)
{
    timer_init_ns(&pc->timer, QEMU_CLOCK_VIRTUAL, npu_pc_step, pc);
    timer_init_ns(&pc->fetch_timer, QEMU_CLOCK_VIRTUAL, npu_pc_prefetch, pc);
    npu_worker_init(&pc->worker, dev, npu_pc_job_done, pc);
    pc->vm_change = qemu_add_vm_change_state_handler(npu_pc_vm_changed, pc);
    rk_iommu_set_retry(pc->env->iommu, npu_pc_retry, pc);
    npu_ctl_set_meet_cb(pc->env->ctl, pc->env->core_index, npu_pc_met, pc);
    npu_progress_realize(&pc->progress);
    npu_tail_realize(&pc->tail, pc->env);
}

void npu_pc_unrealize(NpuPc *pc)
{
    rk_iommu_set_retry(pc->env->iommu, NULL, NULL);
    npu_ctl_set_meet_cb(pc->env->ctl, pc->env->core_index, NULL, NULL);
    npu_progress_unrealize(&pc->progress);
    npu_pc_abort(pc, false);
    npu_tail_unrealize(&pc->tail);
    qemu_del_vm_change_state_handler(pc->vm_change);
    npu_cbuf_drop(&pc->cbuf);
    npu_worker_fini(&pc->worker);
}

static int npu_pc_post_load(void *opaque, int version_id)
{
    NpuPc *pc = opaque;

    return pc->phase >= NPU_PHASE_NUM ? -EINVAL : 0;
}

const VMStateDescription vmstate_npu_pc = {
    .name = "rk3588-npu-core/pc",
    .version_id = 3,
    .minimum_version_id = 3,
    .post_load = npu_pc_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(phase, NpuPc),
        VMSTATE_BOOL(blocked, NpuPc),
        VMSTATE_BOOL(held, NpuPc),
        VMSTATE_BOOL(resumed, NpuPc),
        VMSTATE_BOOL(slave, NpuPc),
        VMSTATE_UINT32(tasks_wanted, NpuPc),
        VMSTATE_UINT32(tasks_done, NpuPc),
        VMSTATE_UINT32(meet, NpuPc),
        VMSTATE_UINT32(armed, NpuPc),
        VMSTATE_TIMER(timer, NpuPc),
        VMSTATE_STRUCT(fetch, NpuPc, 1, vmstate_npu_fetch, NpuFetch),
        VMSTATE_BOOL(prefetching, NpuPc),
        VMSTATE_TIMER(fetch_timer, NpuPc),
        VMSTATE_BOOL(next.pending, NpuPc),
        VMSTATE_UINT32(next.enable, NpuPc),
        VMSTATE_UINT32_ARRAY(next.regs, NpuPc, NPU_REGFILE_WORDS),
        VMSTATE_STRUCT(progress, NpuPc, 1, vmstate_npu_progress, NpuProgress),
        VMSTATE_STRUCT(cbuf, NpuPc, 1, vmstate_npu_cbuf, NpuCbuf),
        VMSTATE_END_OF_LIST()
    }
};
