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

/*
 * Core 0 has two AXI masters and so two translation banks; that the second
 * one is for commands and weights is inferred.  Other cores have one.
 */
enum {
    NPU_BANK_DATA = 0,
    NPU_BANK_PROGRAM = 1,
};

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

static void npu_pc_unimplemented(Rk3588NpuState *s, const char *why)
{
    qemu_log_mask(LOG_UNIMP,
                  "rk3588-npu%u: not implemented: %s: hangs until reset\n",
                  s->core_index, why);
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_UNIMPLEMENTED, 1);
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

static bool npu_pc_dma(Rk3588NpuState *s, unsigned bank, uint32_t iova,
                       void *buf, size_t len, bool write)
{
    return npu_pc_dma_result(s, rk_iommu_dma(s->iommu, bank, iova, buf, len,
                                             write), write);
}

typedef struct NpuSpanDma {
    Rk3588NpuState *s;
    uint8_t *buf;
    bool write;
} NpuSpanDma;

static bool npu_pc_dma_span(void *opaque, uint64_t iova, size_t offset,
                            size_t len)
{
    NpuSpanDma *d = opaque;

    return npu_pc_dma(d->s, NPU_BANK_DATA, iova, d->buf + offset, len,
                      d->write);
}

/* --- Register groups --- */

static uint32_t *npu_s_pointer(Rk3588NpuState *s, unsigned block)
{
    return &s->regs[(block << 12 | NPU_BLOCK_S_POINTER) / 4];
}

/* Blocks follow each other in the bitmap as in the address map. */
static bool npu_block_enabled(const Rk3588NpuState *s, unsigned block)
{
    return block != NPU_BLOCK_PC && (s->enable & (1u << (block - 1)));
}

static void npu_toggle_pointers(Rk3588NpuState *s, bool by_pointer)
{
    unsigned block;

    for (block = 0; block < NPU_BLOCK_NUM; block++) {
        uint32_t *p = npu_s_pointer(s, block);

        if (npu_block_enabled(s, block) &&
            (*p & NPU_S_POINTER_POINTER_PP_EN) &&
            !!(*p & NPU_S_POINTER_PP_MODE) == by_pointer) {
            *p ^= NPU_S_POINTER_POINTER;
        }
    }
}

static void npu_toggle_executers(Rk3588NpuState *s)
{
    unsigned block;

    for (block = 0; block < NPU_BLOCK_NUM; block++) {
        if (npu_block_enabled(s, block) &&
            (*npu_s_pointer(s, block) & NPU_S_POINTER_EXECUTER_PP_EN)) {
            s->executer[block] ^= 1;
        }
    }
}

/*
 * While pointers toggle by themselves a written POINTER is ignored (inferred:
 * every program of a chain writes 0 there and yet the groups alternate).
 */
static void npu_write_s_pointer(Rk3588NpuState *s, unsigned block,
                                uint32_t value)
{
    uint32_t *p = npu_s_pointer(s, block);
    uint32_t pointer = *p & NPU_S_POINTER_POINTER;

    if (!(value & NPU_S_POINTER_POINTER_PP_EN)) {
        pointer = value & NPU_S_POINTER_POINTER;
    }
    if (value & NPU_S_POINTER_POINTER_CLEAR) {
        pointer = 0;
    }
    if (value & NPU_S_POINTER_EXECUTER_CLEAR) {
        s->executer[block] = 0;
    }
    *p = (value & ~(NPU_S_POINTER_POINTER | NPU_S_POINTER_POINTER_CLEAR |
                    NPU_S_POINTER_EXECUTER_CLEAR |
                    NPU_S_POINTER_EXECUTER)) | pointer;
}

static bool npu_pc_executing(const Rk3588NpuState *s)
{
    switch (s->phase) {
    case NPU_PHASE_LOAD:
    case NPU_PHASE_RUN:
    case NPU_PHASE_STORE:
        return true;
    case NPU_PHASE_HUNG:
        return s->enable;
    default:
        return false;
    }
}

uint32_t npu_block_read(Rk3588NpuState *s, uint32_t offset)
{
    unsigned block = offset >> 12;
    uint32_t value = s->regs[offset / 4];

    switch (offset & 0xfff) {
    case NPU_BLOCK_S_STATUS:
        if (!npu_pc_executing(s) || !npu_block_enabled(s, block)) {
            return 0;
        }
        return s->executer[block] ? 1u << 16 : 1;
    case NPU_BLOCK_S_POINTER:
        return value | (s->executer[block] ? NPU_S_POINTER_EXECUTER : 0);
    default:
        return value;
    }
}

void npu_block_write(Rk3588NpuState *s, uint32_t offset, uint32_t value)
{
    switch (offset & 0xfff) {
    case NPU_BLOCK_S_STATUS:
        break;
    case NPU_BLOCK_S_POINTER:
        npu_write_s_pointer(s, offset >> 12, value);
        break;
    case NPU_BLOCK_OP_ENABLE:
        qemu_log_mask(LOG_UNIMP, "rk3588-npu%u: op-enable of a single block "
                      "at 0x%04x\n", s->core_index, offset);
        break;
    default:
        s->regs[offset / 4] = value;
        if (offset == A_DPU_LUT_ACCESS_CFG) {
            npu_lut_access(&s->lut, value);
        } else if (offset == A_DPU_LUT_ACCESS_DATA) {
            npu_lut_data(&s->lut, value);
        }
    }
}

/* --- Commands --- */

static void npu_pc_stream_write(Rk3588NpuState *s, const NpuCmd *cmd)
{
    if (cmd->mismatch) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "rk3588-npu%u: target 0x%04x for register 0x%04x\n",
                      s->core_index, cmd->target, cmd->reg);
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

static void npu_pc_latch(Rk3588NpuState *s, uint32_t enable)
{
    s->enable = enable;
    memcpy(s->latched, s->regs, sizeof(s->latched));
    npu_toggle_pointers(s, true);
}

/* True when the entry was the op-enable that ends a segment. */
static bool npu_pc_command(Rk3588NpuState *s, uint64_t entry)
{
    NpuCmd cmd = npu_cmd_decode(entry);

    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_REGCMD, 1);
    switch (cmd.kind) {
    case NPU_CMD_WRITE:
        npu_pc_stream_write(s, &cmd);
        return false;
    case NPU_CMD_ENABLE:
        npu_pc_latch(s, cmd.value);
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

static void npu_pc_begin_segment(Rk3588NpuState *s, uint32_t addr,
                                 uint32_t amount)
{
    s->fetch_addr = addr;
    s->fetch_left = (amount + 1) * 16;
    s->next_addr = 0;
    s->next_amount = 0;
    npu_pc_set_phase(s, NPU_PHASE_FETCH);
    npu_pc_arm(s, NPU_FETCH_NS);
}

/*
 * Reads page by page, so that nothing behind the op-enable entry faults that
 * the stream itself does not reach.
 */
static void npu_pc_fetch(Rk3588NpuState *s)
{
    uint64_t chunk[512];

    while (s->fetch_left) {
        uint32_t len = MIN(s->fetch_left,
                           sizeof(chunk) - s->fetch_addr % sizeof(chunk));
        uint32_t i;

        if (!npu_pc_dma(s, NPU_BANK_PROGRAM, s->fetch_addr, chunk, len,
                        false)) {
            return;
        }
        s->fetch_addr += len;
        s->fetch_left -= len;
        for (i = 0; i < len / 8; i++) {
            if (npu_pc_command(s, le64_to_cpu(chunk[i]))) {
                npu_pc_set_phase(s, NPU_PHASE_START);
                return;
            }
        }
    }
    npu_pc_guest_error(s, "command stream without op-enable");
}

/* --- Tasks --- */

static void npu_pc_start(Rk3588NpuState *s)
{
    NpuTaskOptions opt = {
        .write_padding = s->write_padding,
        .idle_ppu_rdma = s->idle_ppu_rdma,
        .lut = &s->lut,
    };
    const char *why;
    NpuVerdict verdict;

    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_TASK_STARTED, 1);
    verdict = npu_task_decode(&s->task, s->latched, s->enable, &opt, &why);
    trace_rk3588_npu_task(s->core_index, s->enable, s->task.macs,
                          why ? why : "runs");
    if (npu_ctl_fault(s->ctl, s->core_index, NPU_FAULT_HANG, NULL)) {
        npu_pc_hang(s);
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

static bool npu_same_cube(const NpuCube *a, const NpuCube *b)
{
    return a->surfaces == b->surfaces && a->height == b->height &&
           a->row_bytes == b->row_bytes && a->surf_inner == b->surf_inner &&
           a->converted == b->converted;
}

static void npu_pc_out_of_memory(Rk3588NpuState *s)
{
    error_report("rk3588-npu%u: out of host memory", s->core_index);
    npu_pc_hang(s);
}

/* Puts the feature data of the task into CBUF unless it is there already. */
static bool npu_pc_load_feature(Rk3588NpuState *s)
{
    const NpuCube *cube = &s->task.conv.feature.cube;
    NpuSpanDma dma = { .s = s };
    NpuBuf *b = s->cbuf_feature;

    if (s->task.conv.data_reuse) {
        if (!b || !npu_same_cube(&b->cube, cube)) {
            npu_pc_unimplemented(s, "DATA_REUSE of what is not in CBUF");
            return false;
        }
        return true;
    }
    b = npu_buf_new(cube->bytes);
    if (!b) {
        npu_pc_out_of_memory(s);
        return false;
    }
    b->cube = *cube;
    dma.buf = b->data;
    if (!npu_task_feature_spans(&s->task, npu_pc_dma_span, &dma)) {
        npu_buf_unref(b);
        return false;
    }
    npu_buf_unref(s->cbuf_feature);
    s->cbuf_feature = b;
    return true;
}

static bool npu_pc_load_weights(Rk3588NpuState *s)
{
    const NpuConv *c = &s->task.conv;
    NpuBuf *b = s->cbuf_weights;

    if (c->weight_reuse) {
        if (!b || b->size != c->weight_bytes) {
            npu_pc_unimplemented(s, "WEIGHT_REUSE of what is not in CBUF");
            return false;
        }
        return true;
    }
    b = npu_buf_new(c->weight_bytes);
    if (!b) {
        npu_pc_out_of_memory(s);
        return false;
    }
    if (!npu_pc_dma(s, NPU_BANK_PROGRAM, c->weights, b->data, b->size,
                    false)) {
        npu_buf_unref(b);
        return false;
    }
    npu_buf_unref(s->cbuf_weights);
    s->cbuf_weights = b;
    return true;
}

static bool npu_pc_load_stages(Rk3588NpuState *s, NpuJob *job)
{
    unsigned i;

    for (i = 0; i < NPU_STAGE_NUM; i++) {
        size_t len = npu_task_stage_bytes(&s->task, i);

        if (!len) {
            continue;
        }
        job->stage[i] = g_malloc(len);
        if (!npu_pc_dma(s, NPU_BANK_DATA, s->task.dpu.stage[i].addr,
                        job->stage[i], len, false)) {
            return false;
        }
    }
    return true;
}

static bool npu_pc_load_feeds(Rk3588NpuState *s, NpuJob *job)
{
    unsigned i;

    for (i = 0; i < NPU_FEED_NUM; i++) {
        NpuSpanDma dma = { .s = s };

        if (!s->task.feed[i].cube.bytes) {
            continue;
        }
        job->feed[i] = g_try_malloc(s->task.feed[i].cube.bytes);
        if (!job->feed[i]) {
            npu_pc_out_of_memory(s);
            return false;
        }
        dma.buf = job->feed[i];
        if (!npu_task_feed_spans(&s->task, i, npu_pc_dma_span, &dma)) {
            return false;
        }
    }
    return true;
}

static uint64_t npu_pc_latency_ns(Rk3588NpuState *s)
{
    uint64_t fixed = npu_ctl_latency_ns(s->ctl);

    return fixed ? fixed : muldiv64(npu_task_cycles(&s->task),
                                    NANOSECONDS_PER_SECOND, s->clock_hz);
}

/* Silicon does not check; the result is garbage there, but not here. */
static void npu_pc_check_cbuf(Rk3588NpuState *s)
{
    const char *why = npu_task_cbuf_short(&s->task);
    uint32_t entries = npu_task_cbuf_entries(&s->task);

    if (why) {
        npu_ctl_count(s->ctl, s->core_index, NPU_CNT_CBUF_SHORT, 1);
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: %s: silicon would "
                      "compute garbage\n", s->core_index, why);
    }
    if (!s->task.conv.packed && s->task.conv.data_entries != entries) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: %u CBUF entries per line "
                      "where %u are usual\n", s->core_index,
                      s->task.conv.data_entries, entries);
    }
}

static void npu_pc_submit(Rk3588NpuState *s, NpuJob *job)
{
    if (s->task.kind == NPU_KIND_CONV) {
        npu_pc_check_cbuf(s);
        job->feature = npu_buf_ref(s->cbuf_feature);
        job->weights = npu_buf_ref(s->cbuf_weights);
    }
    s->job = job;
    s->late = false;
    npu_worker_submit(&s->worker, job);
    npu_pc_set_phase(s, NPU_PHASE_RUN);
    npu_pc_arm(s, npu_pc_latency_ns(s));
}

static void npu_pc_load(Rk3588NpuState *s)
{
    NpuJob *job;

    if (s->task.kind == NPU_KIND_CONV &&
        (!npu_pc_load_feature(s) || !npu_pc_load_weights(s))) {
        return;
    }
    job = npu_job_new(&s->task);
    job->out = g_try_malloc(s->task.dpu.out.cube.bytes);
    if (!job->out) {
        npu_job_free(job);
        npu_pc_out_of_memory(s);
    } else if (!npu_pc_load_stages(s, job) || !npu_pc_load_feeds(s, job)) {
        npu_job_free(job);
    } else {
        npu_pc_submit(s, job);
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

/* All events of a convolution are reported at its end. */
static uint32_t npu_pc_done_bits(const Rk3588NpuState *s)
{
    static const struct {
        unsigned block;
        uint32_t bits;
    } event[] = {
        { NPU_BLOCK_CNA, NPU_INT_CNA_FEATURE | NPU_INT_CNA_WEIGHT |
                         NPU_INT_CNA_CSC },
        { NPU_BLOCK_CORE, NPU_INT_CORE },
        { NPU_BLOCK_DPU, NPU_INT_DPU },
        { NPU_BLOCK_PPU, NPU_INT_PPU },
    };
    uint32_t bits = 0;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(event); i++) {
        if (npu_block_enabled(s, event[i].block)) {
            bits |= event[i].bits << s->executer[event[i].block];
        }
    }
    /* Drivers that know of the DPU alone have been seen to complete. */
    if (s->ppu_sets_dpu_done && (bits & (NPU_INT_PPU | NPU_INT_PPU << 1))) {
        bits |= NPU_INT_DPU << s->executer[NPU_BLOCK_PPU];
    }
    return bits;
}

static void npu_pc_end_chain(Rk3588NpuState *s)
{
    npu_pc_set_phase(s, NPU_PHASE_IDLE);
    npu_ctl_busy(s->ctl, s->core_index, false);
    s->int_open |= s->int_raw;
    if (!s->irq_level && (s->int_raw & s->regs[R_PC_INTERRUPT_MASK]) &&
        npu_ctl_fault(s->ctl, s->core_index, NPU_FAULT_IRQ_LOST, NULL)) {
        s->irq_lost = true;
    }
    npu_update_irq(s);
}

/* The mask gates the last task of a chain alone; others only latch. */
static void npu_pc_end_task(Rk3588NpuState *s)
{
    uint32_t *status = &s->regs[R_PC_TASK_STATUS];

    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_TASK_DONE, 1);
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_MACS, s->task.macs);
    s->int_raw |= npu_pc_done_bits(s);
    npu_toggle_executers(s);
    npu_toggle_pointers(s, false);
    *status = (*status + 1) & PC_TASK_STATUS_COUNT;
    s->enable = 0;
    s->tasks_done++;
    if (s->tasks_done >= s->tasks_wanted) {
        npu_pc_end_chain(s);
    } else if (s->next_amount) {
        npu_pc_begin_segment(s, s->next_addr, s->next_amount);
    } else {
        npu_pc_guest_error(s, "chain ends before the last task");
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
        npu_pc_collect(s);
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

static bool npu_pc_accept(Rk3588NpuState *s, const char *what)
{
    if (s->phase != NPU_PHASE_IDLE) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: %s while busy\n",
                      s->core_index, what);
        return false;
    }
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_KICK, 1);
    npu_ctl_busy(s->ctl, s->core_index, true);
    s->tasks_done = 0;
    s->enable = 0;
    s->irq_lost = false;
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
    if (!npu_pc_accept(s, "op-enable")) {
        return;
    }
    s->tasks_wanted = FIELD_EX32(s->regs[R_PC_TASK_CON], PC_TASK_CON,
                                 TASK_NUMBER);
    if (!s->tasks_wanted) {
        npu_pc_guest_error(s, "op-enable for no task");
        return;
    }
    npu_pc_begin_segment(s, base & PC_BASE_ADDRESS_MASK,
                         FIELD_EX32(s->regs[R_PC_REGISTER_AMOUNTS],
                                    PC_REGISTER_AMOUNTS, AMOUNT));
}

void npu_pc_enable(Rk3588NpuState *s, uint32_t enable)
{
    if (!enable) {
        return;
    }
    if (!FIELD_EX32(s->regs[R_PC_BASE_ADDRESS], PC_BASE_ADDRESS, PC_SEL)) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: global op-enable outside "
                      "slave mode\n", s->core_index);
        return;
    }
    if (npu_pc_accept(s, "global op-enable")) {
        s->tasks_wanted = 1;
        npu_pc_latch(s, enable);
        npu_pc_set_phase(s, NPU_PHASE_START);
        npu_pc_arm(s, NPU_FETCH_NS);
    }
}

void npu_pc_abort(Rk3588NpuState *s, bool stuck)
{
    timer_del(&s->timer);
    if (s->blocked) {
        npu_ctl_count(s->ctl, s->core_index, NPU_CNT_HANG, 1);
    }
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
    s->next_addr = 0;
    s->next_amount = 0;
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
    NpuTaskOptions opt = {
        .write_padding = s->write_padding,
        .idle_ppu_rdma = s->idle_ppu_rdma,
        .lut = &s->lut,
    };
    const char *why;

    switch (s->phase) {
    case NPU_PHASE_RUN:
    case NPU_PHASE_STORE:
        s->phase = NPU_PHASE_LOAD;
        s->blocked = false;
        s->late = false;
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
