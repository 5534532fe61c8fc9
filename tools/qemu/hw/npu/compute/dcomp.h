/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compressed weights of the RK3588 NPU.
 */
#ifndef HW_NPU_COMPUTE_DCOMP_H
#define HW_NPU_COMPUTE_DCOMP_H

#include "types.h"

/* Whether the weights of @c, whose precision is known, are compressed. */
const char *npu_dcomp_decode(NpuConv *c, const uint32_t *regs);
/*
 * Expand @stream, d->bytes long, to @len bytes of weights.  NULL, or what is
 * wrong with the stream.
 */
const char *npu_dcomp_expand(const NpuDcomp *d, const uint8_t *stream,
                             uint8_t *weights, size_t len);

#endif
