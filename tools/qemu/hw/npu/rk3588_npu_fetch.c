/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command streams of an RK3588 NPU core: reads them from memory and writes the
 * registers they name, up to the op-enable that makes a task of them.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "migration/vmstate.h"
#include "compute/task.h"
#include "rk3588_npu_fetch.h"

static void npu_fetch_write(NpuFetch *f, const NpuCmd *cmd)
{
    switch (cmd->reg) {
    case A_PC_BASE_ADDRESS:
        f->next_addr = cmd->value & PC_BASE_ADDRESS_MASK;
        break;
    case A_PC_REGISTER_AMOUNTS:
        f->next_amount = FIELD_EX32(cmd->value, PC_REGISTER_AMOUNTS, AMOUNT);
        f->next_meet = FIELD_EX32(cmd->value, PC_REGISTER_AMOUNTS, MEET);
        break;
    default:
        if (cmd->reg >> 12 == NPU_BLOCK_PC) {
            qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: command writes PC "
                          "register 0x%04x\n", f->env->core_index, cmd->reg);
            break;
        }
        npu_groups_write(f->groups, cmd->reg, cmd->value);
    }
}

/* False for a command that the model cannot do. */
static bool npu_fetch_stream_write(NpuFetch *f, const NpuCmd *cmd)
{
    if (cmd->mismatch) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "rk3588-npu%u: target 0x%04x for register 0x%04x\n",
                      f->env->core_index, cmd->target, cmd->reg);
    }
    if ((cmd->reg & 0xfff) == NPU_BLOCK_OP_ENABLE) {
        return !(cmd->value & 1);
    }
    npu_fetch_write(f, cmd);
    return true;
}

/*
 * Reading ahead must show in time alone: whatever would reach the task in
 * flight waits for its end.  The tables of the LUT exist once.
 */
static bool npu_fetch_must_wait(NpuGroups *g, const NpuCmd *cmd)
{
    unsigned block = cmd->reg >> 12;

    if (cmd->kind == NPU_CMD_ENABLE) {
        return npu_groups_taken(g, cmd->value);
    }
    if (cmd->kind != NPU_CMD_WRITE || block == NPU_BLOCK_PC) {
        return false;
    }
    switch (cmd->reg & 0xfff) {
    case NPU_BLOCK_S_POINTER:
        return npu_groups_change(g, block, cmd->value);
    case NPU_BLOCK_OP_ENABLE:
        return true;
    }
    return cmd->reg == A_DPU_LUT_ACCESS_CFG ||
           cmd->reg == A_DPU_LUT_ACCESS_DATA ||
           npu_groups_taken(g, 1u << (block - 1));
}

/* NPU_FETCH_END if the stream goes on behind this entry. */
static NpuFetchResult npu_fetch_command(NpuFetch *f, uint64_t entry, bool ahead,
                                        uint32_t *enable)
{
    NpuCmd cmd = npu_cmd_decode(entry);

    if (ahead && npu_fetch_must_wait(f->groups, &cmd)) {
        return NPU_FETCH_LATER;
    }
    f->addr += 8;
    f->left -= 8;
    npu_count(f->env, NPU_CNT_REGCMD, 1);
    switch (cmd.kind) {
    case NPU_CMD_WRITE:
        return npu_fetch_stream_write(f, &cmd) ? NPU_FETCH_END
                                               : NPU_FETCH_BLOCK_ENABLE;
    case NPU_CMD_ENABLE:
        *enable = cmd.value;
        return NPU_FETCH_ENABLE;
    case NPU_CMD_BAD:
        qemu_log_mask(LOG_GUEST_ERROR,
                      "rk3588-npu%u: bad command 0x%016" PRIx64 "\n",
                      f->env->core_index, entry);
        return NPU_FETCH_END;
    default:
        return NPU_FETCH_END;
    }
}

/*
 * Reads page by page, so that nothing behind the op-enable entry faults that
 * the stream itself does not reach.
 */
NpuFetchResult npu_fetch_read(NpuFetch *f, bool ahead, uint32_t *enable)
{
    uint64_t chunk[512];

    while (f->left) {
        uint32_t len = MIN(f->left, sizeof(chunk) - f->addr % sizeof(chunk));
        NpuMemResult mem;
        uint32_t i;

        /* A fault is for the time when the segment is due. */
        if (ahead && !rk_iommu_probe_read(f->env->iommu, NPU_BANK_PROGRAM,
                                          f->addr, len)) {
            return NPU_FETCH_LATER;
        }
        mem = npu_dma(f->env, NPU_BANK_PROGRAM, f->addr, chunk, len, false);
        if (mem != NPU_MEM_OK) {
            return mem == NPU_MEM_BLOCKED ? NPU_FETCH_BLOCKED
                                          : NPU_FETCH_READ_ERROR;
        }
        for (i = 0; i < len / 8; i++) {
            NpuFetchResult r = npu_fetch_command(f, le64_to_cpu(chunk[i]),
                                                 ahead, enable);

            if (r != NPU_FETCH_END) {
                return r;
            }
        }
    }
    return NPU_FETCH_END;
}

void npu_fetch_point_at(NpuFetch *f, uint32_t addr, uint32_t amount)
{
    f->addr = addr;
    f->left = (amount + 1) * f->per_amount * 8;
    f->next_addr = 0;
    f->next_amount = 0;
    f->next_meet = 0;
}

void npu_fetch_init(NpuFetch *f, const NpuEnv *env, NpuGroups *groups)
{
    f->env = env;
    f->groups = groups;
}

static int npu_fetch_post_load(void *opaque, int version_id)
{
    NpuFetch *f = opaque;

    return f->addr % 8 || f->left % 8 ? -EINVAL : 0;
}

const VMStateDescription vmstate_npu_fetch = {
    .name = "rk3588-npu-core/fetch",
    .version_id = 2,
    .minimum_version_id = 2,
    .post_load = npu_fetch_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(addr, NpuFetch),
        VMSTATE_UINT32(left, NpuFetch),
        VMSTATE_UINT32(next_addr, NpuFetch),
        VMSTATE_UINT32(next_amount, NpuFetch),
        VMSTATE_UINT32(next_meet, NpuFetch),
        VMSTATE_END_OF_LIST()
    }
};
