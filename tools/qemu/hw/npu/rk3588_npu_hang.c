/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps why the last task of a core hung, and its registers as the entries of a
 * program that would write them.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "migration/vmstate.h"
#include "compute/regs.h"
#include "rk3588_npu_hang.h"

/* Blocks have 4 KiB each; the PC's come first and are no task's. */
#define BLOCK_SIZE      0x1000u

static void npu_hang_add(NpuHang *h, uint32_t offset, uint32_t value)
{
    uint64_t target = 1u << (8 + offset / BLOCK_SIZE) | 1;

    /* A port, not a register. */
    if (value && offset != A_DPU_LUT_ACCESS_DATA &&
        h->n < NPU_CTL_HANG_ENTRIES) {
        h->entry[h->n++] = target << 48 | (uint64_t)value << 16 | offset;
    }
}

void npu_hang_set(NpuHang *h, unsigned kind, const char *why, uint32_t enable,
                  const uint32_t *regs)
{
    uint32_t i;

    h->count++;
    h->kind = kind;
    h->enable = regs ? enable : 0;
    h->n = 0;
    for (i = BLOCK_SIZE / 4; regs && i < NPU_REGFILE_WORDS; i++) {
        npu_hang_add(h, i * 4, regs[i]);
    }
    strpadcpy((char *)h->text, sizeof(h->text) - 1, why, 0);
    h->text[sizeof(h->text) - 1] = 0;
}

uint32_t npu_hang_read(const NpuHang *h, uint32_t offset)
{
    uint32_t i = (offset - NPU_CTL_HANG_ENTRY(0)) / 8;

    switch (offset) {
    case NPU_CTL_HANG_COUNT:
        return h->count;
    case NPU_CTL_HANG_KIND:
        return h->kind;
    case NPU_CTL_HANG_ENABLE:
        return h->enable;
    case NPU_CTL_HANG_NUM:
        return h->n;
    }
    if (offset >= NPU_CTL_HANG_TEXT &&
        offset < NPU_CTL_HANG_TEXT + NPU_CTL_HANG_TEXT_SIZE) {
        return ldl_le_p(h->text + (offset - NPU_CTL_HANG_TEXT));
    }
    if (offset >= NPU_CTL_HANG_ENTRY(0) && i < h->n) {
        return offset & 4 ? h->entry[i] >> 32 : h->entry[i];
    }
    return 0;
}

static int npu_hang_post_load(void *opaque, int version_id)
{
    NpuHang *h = opaque;

    h->text[sizeof(h->text) - 1] = 0;
    return h->n > NPU_CTL_HANG_ENTRIES ? -EINVAL : 0;
}

const VMStateDescription vmstate_npu_hang = {
    .name = "rk3588-npu-ctl/hang",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = npu_hang_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(count, NpuHang),
        VMSTATE_UINT32(kind, NpuHang),
        VMSTATE_UINT32(enable, NpuHang),
        VMSTATE_UINT32(n, NpuHang),
        VMSTATE_UINT64_ARRAY(entry, NpuHang, NPU_CTL_HANG_ENTRIES),
        VMSTATE_UINT8_ARRAY(text, NpuHang, NPU_CTL_HANG_TEXT_SIZE),
        VMSTATE_END_OF_LIST()
    }
};
