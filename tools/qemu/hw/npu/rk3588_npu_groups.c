/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Register groups of an RK3588 NPU core: each block has two, which software
 * writes and which execute in turns.
 */
#include "qemu/osdep.h"
#include "migration/vmstate.h"
#include "compute/regs.h"
#include "rk3588_npu_groups.h"

static uint32_t *npu_s_pointer(NpuGroups *g, unsigned block)
{
    return &g->regs[(block << 12 | NPU_BLOCK_S_POINTER) / 4];
}

/* Blocks follow each other in the bitmap as in the address map. */
static bool npu_block_in(uint32_t enable, unsigned block)
{
    return block != NPU_BLOCK_PC && (enable & (1u << (block - 1)));
}

bool npu_block_enabled(const NpuGroups *g, unsigned block)
{
    return npu_block_in(g->enable, block);
}

/* The group that register accesses reach. */
static unsigned npu_pointer(NpuGroups *g, unsigned block)
{
    return block == NPU_BLOCK_PC ? 0 : *npu_s_pointer(g, block) &
                                       NPU_S_POINTER(POINTER);
}

uint32_t *npu_group_regs(NpuGroups *g, unsigned block)
{
    return g->pp_banks && npu_pointer(g, block) ? g->regs1 : g->regs;
}

static uint32_t *npu_block_reg(NpuGroups *g, uint32_t offset)
{
    bool shadowed = (offset & 0xfff) >= NPU_BLOCK_SHADOWED;

    return (shadowed ? npu_group_regs(g, offset >> 12) : g->regs) + offset / 4;
}

void npu_groups_snapshot(NpuGroups *g, uint32_t *to)
{
    const size_t words = 0x1000 / 4, shared = NPU_BLOCK_SHADOWED / 4;
    unsigned block;

    for (block = 0; block < NPU_BLOCK_NUM; block++) {
        size_t at = block * words;

        memcpy(to + at, g->regs + at, NPU_BLOCK_SHADOWED);
        memcpy(to + at + shared, npu_group_regs(g, block) + at + shared,
               0x1000 - NPU_BLOCK_SHADOWED);
    }
}

void npu_groups_toggle_pointers(NpuGroups *g, uint32_t enable,
                                bool by_pointer)
{
    unsigned block;

    for (block = 0; block < NPU_BLOCK_NUM; block++) {
        uint32_t *p = npu_s_pointer(g, block);

        if (npu_block_in(enable, block) &&
            (*p & NPU_S_POINTER(POINTER_PP_EN)) &&
            !!(*p & NPU_S_POINTER(POINTER_PP_MODE)) == by_pointer) {
            *p ^= NPU_S_POINTER(POINTER);
        }
    }
}

static bool npu_executer_toggles(NpuGroups *g, unsigned block)
{
    return npu_block_enabled(g, block) &&
           (*npu_s_pointer(g, block) & NPU_S_POINTER(EXECUTER_PP_EN));
}

void npu_groups_finish(NpuGroups *g)
{
    unsigned block;

    for (block = 0; block < NPU_BLOCK_NUM; block++) {
        if (npu_block_enabled(g, block)) {
            g->done[g->executer[block]] |= 1u << block;
        }
        g->executer[block] ^= npu_executer_toggles(g, block);
    }
}

/*
 * While pointers toggle by themselves a written POINTER is ignored (row
 * groups.pointer-toggles).
 */
static void npu_write_s_pointer(NpuGroups *g, unsigned block,
                                uint32_t value)
{
    uint32_t *p = npu_s_pointer(g, block);
    uint32_t pointer = *p & NPU_S_POINTER(POINTER);

    if (!(value & NPU_S_POINTER(POINTER_PP_EN))) {
        pointer = value & NPU_S_POINTER(POINTER);
    }
    if (value & NPU_S_POINTER(POINTER_PP_CLEAR)) {
        pointer = 0;
    }
    if (value & NPU_S_POINTER(EXECUTER_PP_CLEAR)) {
        g->executer[block] = 0;
    }
    *p = (value & ~(NPU_S_POINTER(POINTER) | NPU_S_POINTER(POINTER_PP_CLEAR) |
                    NPU_S_POINTER(EXECUTER_PP_CLEAR) |
                    NPU_S_POINTER(EXECUTER))) | pointer;
    *p &= NPU_S_POINTER_KEPT;
}

/* What a block does in either group: nothing, run or wait. */
static uint32_t npu_block_status(NpuGroups *g, unsigned block, uint32_t runs,
                                 uint32_t waits)
{
    unsigned run = !!(g->group & (1u << block));
    unsigned next = g->executer[block] ^ npu_executer_toggles(g, block);
    uint32_t value = 0;

    if (npu_block_in(runs, block)) {
        value |= NPU_S_STATUS_RUNS << (16 * run);
    }
    if (npu_block_in(waits, block)) {
        value |= NPU_S_STATUS_WAITS << (16 * next);
    }
    if (npu_reads(g->env, NPU_READ_S_STATUS_DONE)) {
        value |= g->done[0] & (1u << block) ? NPU_S_STATUS_DONE : 0;
        value |= g->done[1] & (1u << block) ? NPU_S_STATUS_DONE << 16 : 0;
    }
    return value;
}

uint32_t npu_groups_read(NpuGroups *g, uint32_t offset, uint32_t runs,
                         uint32_t waits)
{
    unsigned block = offset >> 12;

    switch (offset & 0xfff) {
    case NPU_BLOCK_S_STATUS:
        return npu_block_status(g, block, runs, waits);
    case NPU_BLOCK_S_POINTER:
        return g->regs[offset / 4] |
               (g->executer[block] &&
                npu_reads(g->env, NPU_READ_EXECUTER_SHOWS)
                ? NPU_S_POINTER(EXECUTER) : 0);
    default:
        return *npu_block_reg(g, offset);
    }
}

bool npu_groups_write(NpuGroups *g, uint32_t offset, uint32_t value)
{
    switch (offset & 0xfff) {
    case NPU_BLOCK_S_STATUS:
        break;
    case NPU_BLOCK_S_POINTER:
        npu_write_s_pointer(g, offset >> 12, value);
        break;
    case NPU_BLOCK_OP_ENABLE:
        return value & 1;
    default:
        *npu_block_reg(g, offset) = value;
        if (offset == A_DPU_LUT_ACCESS_CFG) {
            npu_lut_access(&g->lut, value);
        } else if (offset == A_DPU_LUT_ACCESS_DATA) {
            npu_lut_data(&g->lut, value);
        }
    }
    return false;
}

/* With two register files such a task would wait for ever. */
bool npu_groups_wrong(NpuGroups *g, uint32_t enable)
{
    unsigned block;

    for (block = 0; g->pp_banks && block < NPU_BLOCK_NUM; block++) {
        unsigned next = g->executer[block] ^ npu_executer_toggles(g, block);

        if (npu_block_in(enable, block) && npu_pointer(g, block) != next) {
            return true;
        }
    }
    return false;
}

/* CNA and CORE want to be told which core they are in. */
bool npu_groups_wrong_core(const NpuGroups *g, uint32_t core)
{
    static const unsigned blocks[] = { NPU_BLOCK_CNA, NPU_BLOCK_CORE };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(blocks); i++) {
        uint32_t pointer = g->latched[(blocks[i] << 12 |
                                       NPU_BLOCK_S_POINTER) / 4];

        if (npu_block_enabled(g, blocks[i]) &&
            FIELD_EX32(pointer, CNA_S_POINTER, CORE) != core) {
            return true;
        }
    }
    return false;
}

bool npu_groups_taken(NpuGroups *g, uint32_t enable)
{
    unsigned block;

    for (block = 0; block < NPU_BLOCK_NUM; block++) {
        if (npu_block_in(enable, block) && npu_block_enabled(g, block) &&
            npu_pointer(g, block) == !!(g->group & (1u << block))) {
            return true;
        }
    }
    return false;
}

bool npu_groups_change(NpuGroups *g, unsigned block, uint32_t value)
{
    const uint32_t modes = NPU_S_POINTER(POINTER_PP_EN) |
                           NPU_S_POINTER(EXECUTER_PP_EN) |
                           NPU_S_POINTER(POINTER_PP_MODE);

    return npu_block_enabled(g, block) &&
           ((value & (NPU_S_POINTER(POINTER_PP_CLEAR) |
                      NPU_S_POINTER(EXECUTER_PP_CLEAR))) ||
            ((value ^ *npu_s_pointer(g, block)) & modes));
}

void npu_groups_execute(NpuGroups *g)
{
    unsigned block;

    g->group = 0;
    for (block = 0; block < NPU_BLOCK_NUM; block++) {
        g->group |= g->executer[block] << block;
        if (npu_block_enabled(g, block)) {
            g->done[g->executer[block]] &= ~(1u << block);
        }
    }
}

void npu_groups_reset(NpuGroups *g)
{
    static const struct {
        uint32_t reg, value;
    } set[] = {
#define NPU_RESET(block, reg, value)    { R_##block##_##reg, value },
#include "npu/rk3588_regs.h"
    };
    unsigned i;

    memset(g->regs, 0, sizeof(g->regs));
    memset(g->regs1, 0, sizeof(g->regs1));
    memset(g->executer, 0, sizeof(g->executer));
    memset(g->done, 0, sizeof(g->done));
    npu_lut_access(&g->lut, 0);
    for (i = 0; i < ARRAY_SIZE(set); i++) {
        g->regs[set[i].reg] = set[i].value;
        g->regs1[set[i].reg] = set[i].value;
    }
    if (!npu_reads(g->env, NPU_READ_STATUS_ALL_BITS)) {
        g->regs[R_PC_TASK_STATUS] = 0;
    }
}

const VMStateDescription vmstate_npu_groups = {
    .name = "rk3588-npu-core/groups",
    .version_id = 2,
    .minimum_version_id = 2,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, NpuGroups, NPU_REGFILE_WORDS),
        VMSTATE_UINT32_ARRAY(regs1, NpuGroups, NPU_REGFILE_WORDS),
        VMSTATE_BOOL_ARRAY(executer, NpuGroups, NPU_BLOCK_NUM),
        VMSTATE_UINT32_ARRAY(done, NpuGroups, 2),
        VMSTATE_INT16_ARRAY(lut.entry, NpuGroups,
                            NPU_LUT_TABLES * NPU_LUT_ENTRIES),
        VMSTATE_BOOL_ARRAY(lut.written, NpuGroups,
                           NPU_LUT_TABLES * NPU_LUT_ENTRIES),
        VMSTATE_BOOL(lut.writing, NpuGroups),
        VMSTATE_UINT32(lut.table, NpuGroups),
        VMSTATE_UINT32(lut.addr, NpuGroups),
        VMSTATE_UINT32(enable, NpuGroups),
        VMSTATE_UINT32(group, NpuGroups),
        VMSTATE_UINT32_ARRAY(latched, NpuGroups, NPU_REGFILE_WORDS),
        VMSTATE_END_OF_LIST()
    }
};
