/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Program controller of an RK3588 NPU core: fetches command streams, runs the
 * tasks they describe one after the other, and reports their end.
 *
 * Every step runs from the main loop with the BQL held, never inside a
 * register access; between loading operands and storing results the worker
 * thread computes while virtual time passes.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/error-report.h"
#include "qemu/host-utils.h"
#include "qemu/log.h"
#include "system/cpu-timers.h"
#include "rk3588_npu_internal.h"
#include "trace.h"

/* From op-enable to the first command, and between chained tasks; inferred. */
#define NPU_FETCH_NS            500

static void npu_pc_arm(Rk3588NpuState *s, uint64_t delay_ns)
{
    timer_mod(&s->timer,
              qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + delay_ns);
}

static void npu_pc_set_phase(Rk3588NpuState *s, NpuPhase phase)
{
    trace_rk3588_npu_phase(s->core_index, s->phase, phase);
    s->phase = phase;
}

static void npu_pc_hang(Rk3588NpuState *s)
{
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_HANG, 1);
    npu_pc_set_phase(s, NPU_PHASE_HUNG);
}

static void npu_pc_guest_error(Rk3588NpuState *s, const char *why)
{
    qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: %s: hangs until reset\n",
                  s->core_index, why);
    npu_pc_hang(s);
}

void npu_pc_unimplemented(Rk3588NpuState *s, const char *why)
{
    qemu_log_mask(LOG_UNIMP,
                  "rk3588-npu%u: not implemented: %s: hangs until reset\n",
                  s->core_index, why);
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_UNIMPLEMENTED, 1);
    npu_pc_hang(s);
}

void npu_pc_out_of_memory(Rk3588NpuState *s)
{
    error_report("rk3588-npu%u: out of host memory", s->core_index);
    npu_pc_hang(s);
}

/* A DMA error is reported at once, whatever the place of its task. */
static void npu_pc_dma_error(Rk3588NpuState *s, bool write)
{
    uint32_t bit = write ? NPU_INT_DMA_WRITE_ERR : NPU_INT_DMA_READ_ERR;

    s->int_raw |= bit;
    s->int_open |= bit;
    npu_pc_guest_error(s, write ? "DMA write error" : "DMA read error");
    npu_update_irq(s);
}

/* True if the access is complete; otherwise the phase waits or has ended. */
static bool npu_pc_dma_result(Rk3588NpuState *s, RkDmaResult r, bool write)
{
    switch (r) {
    case RK_DMA_OK:
        return true;
    case RK_DMA_FAULT:
        s->blocked = true;
        return false;
    default:
        npu_pc_dma_error(s, write);
        return false;
    }
}

bool npu_pc_dma(Rk3588NpuState *s, unsigned bank, uint32_t iova,
                void *buf, size_t len, bool write)
{
    return npu_pc_dma_result(s, rk_iommu_dma(s->iommu, bank, iova, buf, len,
                                             write), write);
}

bool npu_pc_dma_span(void *opaque, uint64_t iova, size_t offset,
                     size_t len)
{
    NpuSpanDma *d = opaque;

    return npu_pc_dma(d->s, NPU_BANK_DATA, iova, d->buf + offset, len,
                      d->write);
}

/* Operands, arithmetic or results of a task are under way. */
static bool npu_pc_in_task(const Rk3588NpuState *s)
{
    return s->phase == NPU_PHASE_LOAD || s->phase == NPU_PHASE_RUN ||
           s->phase == NPU_PHASE_STORE;
}

/* --- Commands --- */

static void npu_pc_stream_write(Rk3588NpuState *s, const NpuCmd *cmd)
{
    if (cmd->mismatch) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "rk3588-npu%u: target 0x%04x for register 0x%04x\n",
                      s->core_index, cmd->target, cmd->reg);
    }
    if ((cmd->reg & 0xfff) == NPU_BLOCK_OP_ENABLE) {
        if (cmd->value & 1) {
            npu_pc_unimplemented(s, "op-enable of one block in a stream");
        }
        return;
    }
    switch (cmd->reg) {
    case A_PC_BASE_ADDRESS:
        s->next_addr = cmd->value & PC_BASE_ADDRESS_MASK;
        break;
    case A_PC_REGISTER_AMOUNTS:
        s->next_amount = FIELD_EX32(cmd->value, PC_REGISTER_AMOUNTS, AMOUNT);
        break;
    default:
        if (cmd->reg >> 12 == NPU_BLOCK_PC) {
            qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: command writes PC "
                          "register 0x%04x\n", s->core_index, cmd->reg);
            break;
        }
        npu_block_write(s, cmd->reg, cmd->value);
    }
}

/* An op-enable: the registers are a task now, which starts when it can. */
static void npu_pc_latch(Rk3588NpuState *s, uint32_t enable, bool ahead)
{
    if (npu_groups_wrong(s, enable)) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: op-enable for a group "
                      "that does not execute\n", s->core_index);
        enable = 0;     /* no task at all: refused when its turn comes */
    }
    npu_groups_snapshot(s, s->pend_regs);
    s->pend_enable = enable;
    s->pending = true;
    npu_groups_toggle_pointers(s, enable, true);
    trace_rk3588_npu_latch(s->core_index, enable, ahead);
}

/* The waiting task becomes the one in flight. */
static void npu_pc_take_pending(Rk3588NpuState *s)
{
    s->pending = false;
    s->prefetching = false;
    s->enable = s->pend_enable;
    memcpy(s->latched, s->pend_regs, sizeof(s->latched));
    npu_pc_set_phase(s, NPU_PHASE_START);
}

/* True when the entry was the op-enable that ends a segment. */
static bool npu_pc_command(Rk3588NpuState *s, uint64_t entry, bool ahead)
{
    NpuCmd cmd = npu_cmd_decode(entry);

    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_REGCMD, 1);
    switch (cmd.kind) {
    case NPU_CMD_WRITE:
        npu_pc_stream_write(s, &cmd);
        return false;
    case NPU_CMD_ENABLE:
        npu_pc_latch(s, cmd.value, ahead);
        return true;
    case NPU_CMD_BAD:
        qemu_log_mask(LOG_GUEST_ERROR,
                      "rk3588-npu%u: bad command 0x%016" PRIx64 "\n",
                      s->core_index, entry);
        return false;
    default:
        return false;
    }
}

/*
 * Reading ahead must show in time alone: whatever would reach the task in
 * flight waits for its end.  The tables of the LUT exist once.
 */
static bool npu_pc_must_wait(Rk3588NpuState *s, uint64_t entry)
{
    NpuCmd cmd = npu_cmd_decode(entry);
    unsigned block = cmd.reg >> 12;

    if (cmd.kind == NPU_CMD_ENABLE) {
        return npu_groups_taken(s, cmd.value);
    }
    if (cmd.kind != NPU_CMD_WRITE || block == NPU_BLOCK_PC) {
        return false;
    }
    switch (cmd.reg & 0xfff) {
    case NPU_BLOCK_S_POINTER:
        return npu_groups_change(s, block, cmd.value);
    case NPU_BLOCK_OP_ENABLE:
        return true;
    }
    return cmd.reg == A_DPU_LUT_ACCESS_CFG ||
           cmd.reg == A_DPU_LUT_ACCESS_DATA ||
           npu_groups_taken(s, 1u << (block - 1));
}

static void npu_pc_point_at_segment(Rk3588NpuState *s, uint32_t addr,
                                    uint32_t amount)
{
    s->fetch_addr = addr;
    s->fetch_left = (amount + 1) * 16;
    s->next_addr = 0;
    s->next_amount = 0;
}

static void npu_pc_begin_segment(Rk3588NpuState *s, uint32_t addr,
                                 uint32_t amount)
{
    npu_pc_point_at_segment(s, addr, amount);
    npu_pc_set_phase(s, NPU_PHASE_FETCH);
    npu_pc_arm(s, NPU_FETCH_NS);
}

/*
 * Reads page by page, so that nothing behind the op-enable entry faults that
 * the stream itself does not reach.  True if it was reached.
 */
static bool npu_pc_read_segment(Rk3588NpuState *s, bool ahead)
{
    uint64_t chunk[512];

    while (s->fetch_left && s->phase != NPU_PHASE_HUNG) {
        uint32_t len = MIN(s->fetch_left,
                           sizeof(chunk) - s->fetch_addr % sizeof(chunk));
        uint32_t i;

        /* A fault is for the time when the segment is due. */
        if (ahead && !rk_iommu_probe_read(s->iommu, NPU_BANK_PROGRAM,
                                          s->fetch_addr, len)) {
            return false;
        }
        if (!npu_pc_dma(s, NPU_BANK_PROGRAM, s->fetch_addr, chunk, len,
                        false)) {
            return false;
        }
        for (i = 0; i < len / 8 && s->phase != NPU_PHASE_HUNG; i++) {
            uint64_t entry = le64_to_cpu(chunk[i]);

            if (ahead && npu_pc_must_wait(s, entry)) {
                return false;
            }
            s->fetch_addr += 8;
            s->fetch_left -= 8;
            if (npu_pc_command(s, entry, ahead)) {
                return true;
            }
        }
    }
    return false;
}

static void npu_pc_fetch(Rk3588NpuState *s)
{
    if (npu_pc_read_segment(s, false)) {
        npu_pc_take_pending(s);
    } else if (!s->blocked && s->phase != NPU_PHASE_HUNG) {
        npu_pc_guest_error(s, "command stream without op-enable");
    }
}

static bool npu_pc_chain_goes_on(const Rk3588NpuState *s)
{
    return !s->slave && s->tasks_done + 1 < s->tasks_wanted && s->next_amount;
}

static void npu_pc_begin_prefetch(Rk3588NpuState *s)
{
    if (s->pc_prefetch && !s->pending && !s->prefetching &&
        npu_pc_chain_goes_on(s) &&
        FIELD_EX32(s->regs[R_PC_TASK_CON], PC_TASK_CON, TASK_PP_EN)) {
        npu_pc_point_at_segment(s, s->next_addr, s->next_amount);
        s->prefetching = true;
        timer_mod(&s->fetch_timer,
                  qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + NPU_FETCH_NS);
    }
}

void npu_pc_prefetch(void *opaque)
{
    Rk3588NpuState *s = opaque;

    /* While clocks are off it is left to the end of the task in flight. */
    if (s->prefetching && !s->pending && npu_clocked(s) && !s->blocked &&
        npu_pc_in_task(s)) {
        npu_pc_read_segment(s, true);
    }
}

/* The rest of a segment that was read ahead in part. */
static void npu_pc_finish_prefetch(Rk3588NpuState *s)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint64_t due = timer_pending(&s->fetch_timer)
                   ? timer_expire_time_ns(&s->fetch_timer) : now;

    timer_del(&s->fetch_timer);
    s->prefetching = false;
    npu_pc_set_phase(s, NPU_PHASE_FETCH);
    npu_pc_arm(s, due > now ? due - now : 0);
}

/* --- Tasks --- */

/* When the flags of the TASK_STATUS register come and go is inferred. */
static void npu_pc_show_progress(Rk3588NpuState *s)
{
    uint32_t *status = &s->regs[R_PC_TASK_STATUS];

    if (s->tasks_done == 0) {
        *status |= R_PC_TASK_STATUS_FIRST_MASK;
    }
    if (s->tasks_done + 1 == s->tasks_wanted) {
        *status |= R_PC_TASK_STATUS_LAST_MASK;
    }
}

static NpuTaskOptions npu_pc_options(const Rk3588NpuState *s)
{
    return (NpuTaskOptions) {
        .write_padding = s->write_padding,
        .idle_ppu_rdma = s->idle_ppu_rdma,
        .lut = &s->lut,
    };
}

static void npu_pc_start(Rk3588NpuState *s)
{
    NpuTaskOptions opt = npu_pc_options(s);
    const char *why;
    NpuVerdict verdict;

    npu_groups_execute(s);
    npu_pc_show_progress(s);
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_TASK_STARTED, 1);
    verdict = npu_task_decode(&s->task, s->latched, s->enable, &opt, &why);
    trace_rk3588_npu_task(s->core_index, s->enable, s->task.macs,
                          why ? why : "runs");
    if (npu_ctl_fault(s->ctl, s->core_index, NPU_FAULT_HANG, NULL)) {
        npu_pc_hang(s);
    } else if (!s->enable) {
        npu_pc_guest_error(s, "op-enable of no block that executes");
    } else if (npu_groups_wrong_core(s)) {
        npu_pc_guest_error(s, "S_POINTER of CNA or CORE has another core's "
                           "number");
    } else if (verdict == NPU_TASK_STALL) {
        npu_pc_guest_error(s, why);
    } else if (verdict == NPU_TASK_UNIMP) {
        npu_pc_unimplemented(s, why);
    } else if (npu_ctl_fault(s->ctl, s->core_index, NPU_FAULT_DMA_READ,
                             NULL)) {
        npu_pc_dma_error(s, false);
    } else {
        npu_pc_set_phase(s, NPU_PHASE_LOAD);
    }
}

static void npu_pc_submit(Rk3588NpuState *s, NpuJob *job)
{
    if (s->task.kind == NPU_KIND_CONV) {
        npu_operands_check_cbuf(s);
        job->feature = npu_buf_ref(s->cbuf_feature);
        job->weights = npu_buf_ref(s->cbuf_weights);
    }
    s->job = job;
    s->late = false;
    npu_worker_submit(&s->worker, job);
    npu_pc_set_phase(s, NPU_PHASE_RUN);
    if (s->resumed) {
        s->resumed = false;
        npu_progress_resume(s);
    } else {
        NpuCost cost;

        npu_task_cost(&s->task, &cost);
        npu_progress_start(s, &cost, npu_ctl_latency_ns(s->ctl));
    }
    npu_pc_begin_prefetch(s);
}

static void npu_pc_load(Rk3588NpuState *s)
{
    NpuJob *job;

    if (s->task.kind == NPU_KIND_CONV && !npu_operands_to_cbuf(s)) {
        return;
    }
    job = npu_job_new(&s->task);
    job->out = g_try_malloc(s->task.dpu.out.cube.bytes);
    if (!job->out) {
        npu_job_free(job);
        npu_pc_out_of_memory(s);
    } else if (!npu_operands_to_job(s, job)) {
        npu_job_free(job);
    } else {
        npu_pc_submit(s, job);
    }
}

/* --- Interrupts --- */

/* Let software see bits that have latched, if its mask does. */
static void npu_pc_open(Rk3588NpuState *s, uint32_t bits)
{
    s->int_open |= bits;
    npu_fault_completion(s);
    npu_update_irq(s);
}

static bool npu_pc_last_task(const Rk3588NpuState *s)
{
    return s->slave || s->tasks_done + 1 >= s->tasks_wanted;
}

/* The mask gates the last task of a chain alone; others only latch. */
static void npu_pc_events(Rk3588NpuState *s, uint32_t events)
{
    static const struct {
        unsigned block;
        uint32_t bit;
    } of[NPU_EVENT_NUM] = {
        [NPU_EVENT_FEATURE] = { NPU_BLOCK_CNA, NPU_INT_CNA_FEATURE },
        [NPU_EVENT_WEIGHT] = { NPU_BLOCK_CNA, NPU_INT_CNA_WEIGHT },
        [NPU_EVENT_CSC] = { NPU_BLOCK_CNA, NPU_INT_CNA_CSC },
        [NPU_EVENT_CORE] = { NPU_BLOCK_CORE, NPU_INT_CORE },
    };
    uint32_t bits = 0;
    unsigned i;

    for (i = 0; i < NPU_EVENT_NUM; i++) {
        if (events & (1u << i)) {
            bits |= of[i].bit << !!(s->group & (1u << of[i].block));
        }
    }
    s->int_raw |= bits;
    if (bits && npu_pc_last_task(s)) {
        npu_pc_open(s, bits);
    }
}

/* The deadline has passed, or the arithmetic was late and is now ready. */
static void npu_pc_collect(Rk3588NpuState *s)
{
    if (!npu_worker_is_done(&s->worker, s->job)) {
        if (!icount_enabled()) {
            s->late = true;
            trace_rk3588_npu_late(s->core_index);
            return;
        }
        /* Completion must not depend on the speed of the host. */
        npu_worker_wait(&s->worker, s->job);
    }
    if (!s->job->ok) {
        npu_job_release(s->job);
        s->job = NULL;
        npu_pc_out_of_memory(s);
        return;
    }
    if (npu_ctl_fault(s->ctl, s->core_index, NPU_FAULT_DMA_WRITE, NULL)) {
        npu_job_release(s->job);
        s->job = NULL;
        npu_pc_dma_error(s, true);
        return;
    }
    npu_pc_set_phase(s, NPU_PHASE_STORE);
}

/* Other blocks have reported theirs before. */
static uint32_t npu_pc_done_bits(const Rk3588NpuState *s)
{
    uint32_t bits = 0;

    if (npu_block_enabled(s, NPU_BLOCK_DPU)) {
        bits |= NPU_INT_DPU << !!(s->group & (1u << NPU_BLOCK_DPU));
    }
    if (npu_block_enabled(s, NPU_BLOCK_PPU)) {
        unsigned group = !!(s->group & (1u << NPU_BLOCK_PPU));

        bits |= NPU_INT_PPU << group;
        /* Drivers that know of the DPU alone have been seen to complete. */
        bits |= s->ppu_sets_dpu_done ? NPU_INT_DPU << group : 0;
    }
    return bits;
}

static void npu_pc_end_chain(Rk3588NpuState *s)
{
    npu_pc_set_phase(s, NPU_PHASE_IDLE);
    npu_ctl_busy(s->ctl, s->core_index, false);
    npu_pc_open(s, s->int_raw);
}

static void npu_pc_next_task(Rk3588NpuState *s)
{
    if (s->pending) {
        npu_pc_take_pending(s);
    } else if (s->prefetching) {
        npu_pc_finish_prefetch(s);
    } else if (s->next_amount) {
        npu_pc_begin_segment(s, s->next_addr, s->next_amount);
    } else {
        npu_pc_guest_error(s, "chain ends before the last task");
    }
}

/* Each task of slave mode is a chain of its own, and one more may wait. */
static void npu_pc_end_slave_task(Rk3588NpuState *s)
{
    if (s->pending) {
        s->tasks_done = 0;
        npu_pc_take_pending(s);
        npu_pc_open(s, s->int_raw);
    } else {
        npu_pc_end_chain(s);
    }
}

static void npu_pc_end_task(Rk3588NpuState *s)
{
    uint32_t *status = &s->regs[R_PC_TASK_STATUS];
    uint32_t done = FIELD_EX32(*status, PC_TASK_STATUS, COUNT);

    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_TASK_DONE, 1);
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_MACS, s->task.macs);
    s->int_raw |= npu_fault_done_bits(s, npu_pc_done_bits(s));
    npu_groups_toggle_executers(s);
    npu_groups_toggle_pointers(s, s->enable, false);
    *status = FIELD_DP32(*status, PC_TASK_STATUS, COUNT, done + 1);
    s->enable = 0;
    s->tasks_done++;
    if (s->slave) {
        npu_pc_end_slave_task(s);
    } else if (s->tasks_done >= s->tasks_wanted) {
        npu_pc_end_chain(s);
    } else {
        npu_pc_next_task(s);
    }
}

static void npu_pc_store(Rk3588NpuState *s)
{
    NpuSpanDma dma = { .s = s, .buf = s->job->out, .write = true };
    bool ok = npu_task_output_spans(&s->task, npu_pc_dma_span, &dma);

    if (s->blocked) {
        return;
    }
    npu_job_release(s->job);
    s->job = NULL;
    if (ok) {
        npu_pc_end_task(s);
    }
}

static void npu_pc_run(Rk3588NpuState *s)
{
    npu_pc_events(s, npu_progress_update(s));
    if (!s->run_left) {
        npu_pc_collect(s);
    }
}

static void npu_pc_run_phase(Rk3588NpuState *s)
{
    switch (s->phase) {
    case NPU_PHASE_FETCH:
        npu_pc_fetch(s);
        break;
    case NPU_PHASE_START:
        npu_pc_start(s);
        break;
    case NPU_PHASE_LOAD:
        npu_pc_load(s);
        break;
    case NPU_PHASE_RUN:
        npu_pc_run(s);
        break;
    case NPU_PHASE_STORE:
        npu_pc_store(s);
        break;
    }
}

/* Runs phases until one waits for time, the worker, the IOMMU or software. */
void npu_pc_step(void *opaque)
{
    Rk3588NpuState *s = opaque;
    uint32_t phase;

    if (!npu_clocked(s)) {
        s->held = true;
        return;
    }
    do {
        phase = s->phase;
        npu_pc_run_phase(s);
    } while (s->phase != phase && !s->blocked && !timer_pending(&s->timer));
}

void npu_pc_retry(void *opaque)
{
    Rk3588NpuState *s = opaque;

    if (s->blocked) {
        s->blocked = false;
        npu_pc_step(s);
    }
}

void npu_pc_job_done(void *opaque, NpuJob *job)
{
    Rk3588NpuState *s = opaque;

    if (job == s->job && s->late) {
        s->late = false;
        npu_pc_step(s);
    }
}

/* --- Starting and stopping --- */

static bool npu_pc_accept(Rk3588NpuState *s, bool slave)
{
    if (s->phase != NPU_PHASE_IDLE) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: op-enable while busy\n",
                      s->core_index);
        return false;
    }
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_KICK, 1);
    npu_ctl_busy(s->ctl, s->core_index, true);
    s->slave = slave;
    s->tasks_done = 0;
    s->enable = 0;
    s->irq_lost = false;
    s->regs[R_PC_TASK_STATUS] &= R_PC_TASK_STATUS_COUNT_MASK;
    if (npu_ctl_fault(s->ctl, s->core_index, NPU_FAULT_NEVER_START, NULL)) {
        npu_pc_hang(s);
        return false;
    }
    return true;
}

void npu_pc_kick(Rk3588NpuState *s)
{
    uint32_t base = s->regs[R_PC_BASE_ADDRESS];

    if (FIELD_EX32(base, PC_BASE_ADDRESS, PC_SEL)) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: op-enable in slave mode "
                      "fetches nothing\n", s->core_index);
        return;
    }
    if (!npu_pc_accept(s, false)) {
        return;
    }
    s->tasks_wanted = FIELD_EX32(s->regs[R_PC_TASK_CON], PC_TASK_CON,
                                 TASK_NUMBER);
    if (!s->tasks_wanted) {
        npu_pc_guest_error(s, "op-enable for no task");
        return;
    }
    npu_pc_begin_segment(s, npu_fault_regcmd(s, base & PC_BASE_ADDRESS_MASK),
                         FIELD_EX32(s->regs[R_PC_REGISTER_AMOUNTS],
                                    PC_REGISTER_AMOUNTS, AMOUNT));
}

/* While a task executes, one more can wait in the other groups. */
static void npu_pc_enable_next(Rk3588NpuState *s, uint32_t enable)
{
    if (!s->slave || s->pending || !npu_pc_in_task(s) ||
        npu_groups_taken(s, enable)) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: op-enable while both "
                      "groups are in use\n", s->core_index);
        return;
    }
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_KICK, 1);
    npu_pc_latch(s, enable, true);
}

static bool npu_pc_in_slave_mode(Rk3588NpuState *s, const char *what)
{
    if (FIELD_EX32(s->regs[R_PC_BASE_ADDRESS], PC_BASE_ADDRESS, PC_SEL)) {
        return true;
    }
    qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: %s outside slave mode\n",
                  s->core_index, what);
    return false;
}

void npu_pc_enable(Rk3588NpuState *s, uint32_t enable)
{
    if (!enable || !npu_pc_in_slave_mode(s, "global op-enable")) {
        return;
    }
    if (s->phase != NPU_PHASE_IDLE) {
        npu_pc_enable_next(s, enable);
    } else if (npu_pc_accept(s, true)) {
        s->tasks_wanted = 1;
        npu_pc_latch(s, enable, false);
        npu_pc_take_pending(s);
        npu_pc_arm(s, NPU_FETCH_NS);
    }
}

/* What the modes of the blocks of @enable say that they work with. */
static uint32_t npu_pc_neighbours(Rk3588NpuState *s, uint32_t enable)
{
    const uint32_t pool = NPU_ENABLE_PPU | NPU_ENABLE_PPU_RDMA;
    uint32_t dpu = npu_group_regs(s, NPU_BLOCK_DPU)[R_DPU_FEATURE_MODE_CFG];
    uint32_t ppu = npu_group_regs(s, NPU_BLOCK_PPU)
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
static bool npu_pc_complete_set(Rk3588NpuState *s, uint32_t enable)
{
    NpuTaskOptions opt = npu_pc_options(s);
    uint32_t need = npu_pc_neighbours(s, enable);
    const char *why;
    NpuTask *t;
    bool starves;

    if ((enable & need) != need) {
        return false;
    }
    /* A DPU whose operands nobody fetches waits for DPU_RDMA. */
    t = g_new(NpuTask, 1);
    npu_groups_snapshot(s, s->pend_regs);
    starves = npu_task_decode(t, s->pend_regs, enable, &opt, &why) ==
              NPU_TASK_STALL;
    g_free(t);
    return !starves || (enable & NPU_ENABLE_DPU_RDMA);
}

/*
 * Inferred: each block waits for its neighbours, so the order of the op-enables
 * does not matter and the task runs from the one that completes it on.
 */
void npu_pc_enable_block(Rk3588NpuState *s, unsigned block)
{
    uint32_t enable;

    if (!npu_pc_in_slave_mode(s, "op-enable of a block")) {
        return;
    }
    if (s->pending) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: op-enable while both "
                      "groups are in use\n", s->core_index);
        return;
    }
    enable = s->armed | 1u << (block - 1);
    if (npu_pc_complete_set(s, enable)) {
        s->armed = 0;
        npu_pc_enable(s, enable);
    } else {
        s->armed = enable;
    }
}

void npu_pc_forget(Rk3588NpuState *s)
{
    timer_del(&s->timer);
    timer_del(&s->fetch_timer);
    if (s->job) {
        npu_job_release(s->job);
        s->job = NULL;
    }
    npu_buf_unref(s->cbuf_feature);
    npu_buf_unref(s->cbuf_weights);
    s->cbuf_feature = NULL;
    s->cbuf_weights = NULL;
    s->blocked = false;
    s->held = false;
    s->late = false;
    s->resumed = false;
    s->pending = false;
    s->prefetching = false;
    s->armed = 0;
    s->next_addr = 0;
    s->next_amount = 0;
}

void npu_pc_abort(Rk3588NpuState *s, bool stuck)
{
    if (s->blocked) {
        npu_ctl_count(s->ctl, s->core_index, NPU_CNT_HANG, 1);
    }
    npu_pc_forget(s);
    npu_progress_stop(s);
    if (!stuck) {
        s->enable = 0;
        npu_pc_set_phase(s, NPU_PHASE_IDLE);
        npu_ctl_busy(s->ctl, s->core_index, false);
    }
}

/*
 * Arithmetic does not migrate: a task that had not stored its result loads
 * its operands again, which its program must not have changed meanwhile.
 */
void npu_pc_resume(Rk3588NpuState *s)
{
    NpuTaskOptions opt = npu_pc_options(s);
    const char *why;

    switch (s->phase) {
    case NPU_PHASE_RUN:
    case NPU_PHASE_STORE:
        s->phase = NPU_PHASE_LOAD;
        s->resumed = true;
        s->blocked = false;
        s->late = false;
        npu_pc_arm(s, 0);
        /* fall through */
    case NPU_PHASE_LOAD:
        if (npu_task_decode(&s->task, s->latched, s->enable, &opt, &why) !=
            NPU_TASK_RUN) {
            s->phase = NPU_PHASE_HUNG;
            return;
        }
        break;
    case NPU_PHASE_IDLE:
    case NPU_PHASE_HUNG:
        return;
    }
    if (!s->blocked && !s->held && !timer_pending(&s->timer)) {
        npu_pc_arm(s, 0);
    }
}
