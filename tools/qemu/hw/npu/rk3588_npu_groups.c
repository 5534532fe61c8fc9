/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Register groups of an RK3588 NPU core: each block has two, which software
 * writes and which execute in turns.
 */
#include "qemu/osdep.h"
#include "rk3588_npu_internal.h"

static uint32_t *npu_s_pointer(Rk3588NpuState *s, unsigned block)
{
    return &s->regs[(block << 12 | NPU_BLOCK_S_POINTER) / 4];
}

/* Blocks follow each other in the bitmap as in the address map. */
static bool npu_block_in(uint32_t enable, unsigned block)
{
    return block != NPU_BLOCK_PC && (enable & (1u << (block - 1)));
}

bool npu_block_enabled(const Rk3588NpuState *s, unsigned block)
{
    return npu_block_in(s->enable, block);
}

/* The group that register accesses reach. */
static unsigned npu_pointer(Rk3588NpuState *s, unsigned block)
{
    return block == NPU_BLOCK_PC ? 0 : *npu_s_pointer(s, block) &
                                       NPU_S_POINTER_POINTER;
}

uint32_t *npu_group_regs(Rk3588NpuState *s, unsigned block)
{
    return s->pp_banks && npu_pointer(s, block) ? s->regs1 : s->regs;
}

static uint32_t *npu_block_reg(Rk3588NpuState *s, uint32_t offset)
{
    bool shadowed = (offset & 0xfff) >= NPU_BLOCK_SHADOWED;

    return (shadowed ? npu_group_regs(s, offset >> 12) : s->regs) + offset / 4;
}

void npu_groups_snapshot(Rk3588NpuState *s, uint32_t *to)
{
    const size_t words = 0x1000 / 4, shared = NPU_BLOCK_SHADOWED / 4;
    unsigned block;

    for (block = 0; block < NPU_BLOCK_NUM; block++) {
        size_t at = block * words;

        memcpy(to + at, s->regs + at, NPU_BLOCK_SHADOWED);
        memcpy(to + at + shared, npu_group_regs(s, block) + at + shared,
               0x1000 - NPU_BLOCK_SHADOWED);
    }
}

void npu_groups_toggle_pointers(Rk3588NpuState *s, uint32_t enable,
                                bool by_pointer)
{
    unsigned block;

    for (block = 0; block < NPU_BLOCK_NUM; block++) {
        uint32_t *p = npu_s_pointer(s, block);

        if (npu_block_in(enable, block) &&
            (*p & NPU_S_POINTER_POINTER_PP_EN) &&
            !!(*p & NPU_S_POINTER_PP_MODE) == by_pointer) {
            *p ^= NPU_S_POINTER_POINTER;
        }
    }
}

static bool npu_executer_toggles(Rk3588NpuState *s, unsigned block)
{
    return npu_block_enabled(s, block) &&
           (*npu_s_pointer(s, block) & NPU_S_POINTER_EXECUTER_PP_EN);
}

void npu_groups_toggle_executers(Rk3588NpuState *s)
{
    unsigned block;

    for (block = 0; block < NPU_BLOCK_NUM; block++) {
        s->executer[block] ^= npu_executer_toggles(s, block);
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

static bool npu_block_runs(const Rk3588NpuState *s, unsigned block)
{
    static const unsigned last[NPU_BLOCK_NUM] = {
        [NPU_BLOCK_CNA] = 1u << NPU_EVENT_CSC,
        [NPU_BLOCK_CORE] = 1u << NPU_EVENT_CORE,
    };

    if (!npu_block_enabled(s, block)) {
        return false;
    }
    if (s->phase == NPU_PHASE_RUN || s->phase == NPU_PHASE_STORE) {
        return !(s->run_events & last[block]);
    }
    return s->phase == NPU_PHASE_LOAD || s->phase == NPU_PHASE_HUNG;
}

/* What a block does in either group: nothing, run or wait. */
static uint32_t npu_block_status(Rk3588NpuState *s, unsigned block)
{
    unsigned run = !!(s->group & (1u << block));
    unsigned next = s->executer[block] ^ npu_executer_toggles(s, block);
    uint32_t value = 0;

    if (npu_block_runs(s, block)) {
        value |= NPU_S_STATUS_RUNS << (16 * run);
    }
    /* A block that was enabled on its own has nobody to work with yet. */
    if ((s->pending && npu_block_in(s->pend_enable, block)) ||
        npu_block_in(s->armed, block)) {
        value |= NPU_S_STATUS_WAITS << (16 * next);
    }
    return value;
}

uint32_t npu_block_read(Rk3588NpuState *s, uint32_t offset)
{
    unsigned block = offset >> 12;

    switch (offset & 0xfff) {
    case NPU_BLOCK_S_STATUS:
        return npu_block_status(s, block);
    case NPU_BLOCK_S_POINTER:
        return s->regs[offset / 4] |
               (s->executer[block] ? NPU_S_POINTER_EXECUTER : 0);
    default:
        return *npu_block_reg(s, offset);
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
        if (value & 1) {
            npu_pc_enable_block(s, offset >> 12);
        }
        break;
    default:
        *npu_block_reg(s, offset) = value;
        if (offset == A_DPU_LUT_ACCESS_CFG) {
            npu_lut_access(&s->lut, value);
        } else if (offset == A_DPU_LUT_ACCESS_DATA) {
            npu_lut_data(&s->lut, value);
        }
    }
}

/* With two register files such a task would wait for ever. */
bool npu_groups_wrong(Rk3588NpuState *s, uint32_t enable)
{
    unsigned block;

    for (block = 0; s->pp_banks && block < NPU_BLOCK_NUM; block++) {
        unsigned next = s->executer[block] ^ npu_executer_toggles(s, block);

        if (npu_block_in(enable, block) && npu_pointer(s, block) != next) {
            return true;
        }
    }
    return false;
}

/* The task in flight: CNA and CORE want to be told which core they are in. */
bool npu_groups_wrong_core(const Rk3588NpuState *s)
{
    static const unsigned blocks[] = { NPU_BLOCK_CNA, NPU_BLOCK_CORE };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(blocks); i++) {
        uint32_t pointer = s->latched[(blocks[i] << 12 |
                                       NPU_BLOCK_S_POINTER) / 4];

        if (npu_block_enabled(s, blocks[i]) &&
            (pointer >> NPU_S_POINTER_CORE_SHIFT & NPU_S_POINTER_CORE_MASK) !=
            s->core_index) {
            return true;
        }
    }
    return false;
}

bool npu_groups_taken(Rk3588NpuState *s, uint32_t enable)
{
    unsigned block;

    for (block = 0; block < NPU_BLOCK_NUM; block++) {
        if (npu_block_in(enable, block) && npu_block_enabled(s, block) &&
            npu_pointer(s, block) == !!(s->group & (1u << block))) {
            return true;
        }
    }
    return false;
}

bool npu_groups_change(Rk3588NpuState *s, unsigned block, uint32_t value)
{
    const uint32_t modes = NPU_S_POINTER_POINTER_PP_EN |
                           NPU_S_POINTER_EXECUTER_PP_EN |
                           NPU_S_POINTER_PP_MODE;

    return npu_block_enabled(s, block) &&
           ((value & (NPU_S_POINTER_POINTER_CLEAR |
                      NPU_S_POINTER_EXECUTER_CLEAR)) ||
            ((value ^ *npu_s_pointer(s, block)) & modes));
}

void npu_groups_execute(Rk3588NpuState *s)
{
    unsigned block;

    s->group = 0;
    for (block = 0; block < NPU_BLOCK_NUM; block++) {
        s->group |= s->executer[block] << block;
    }
}
