/* SPDX-License-Identifier: MIT */
/*
 * Owns the part of libnpu's interface for the layers of neural networks: operations on
 * recordings that consist of several of npu_rec.h and run in the same submission.
 */
#ifndef NPU_NN_H
#define NPU_NN_H

#include "npu_rec.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Layers
 *
 * Each of these functions appends one operation that takes several tasks. Memory for what
 * is in between is allocated with the operation, and the recording keeps it; nothing of it
 * passes the CPU.
 *
 * Bounds of errors are for finite operands, are absolute unless they say otherwise, and add
 * up the roundings of each step. They assume that the NPU adds, multiplies and divides floats
 * in fp32 and rounds to nearest, as QEMU's model does.
 */

/* ---- over the columns of each row ------------------------------------------ */

/**
 * npu_rec_reduce_sum - append y = the sum of each row
 * @rec: recording
 * @x: M x N of FP16
 * @y: M x 1 of FP16 or FP32; shares no element with @x
 *
 * A product with ones: off by at most N * 2^-24 times the sum of the magnitudes, and rounded
 * to the type of @y.
 *
 * Return: as npu_rec_matmul(), or an errno of the driver.
 */
int npu_rec_reduce_sum(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y);

/**
 * npu_rec_reduce_mean - append y = the mean of each row
 * @rec: recording
 * @x: M x N of FP16, N to 16384
 * @y: M x 1 of FP16 or FP32; shares no element with @x
 *
 * A product with 1/N as FP16, which is off by at most 2^-11 of the mean; and as
 * npu_rec_reduce_sum() is, with the mean of the magnitudes.
 *
 * Return: as npu_rec_reduce_sum(); -E2BIG for more columns.
 */
int npu_rec_reduce_mean(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y);

/**
 * npu_rec_reduce_max - append y = the largest element of each row
 * @rec: recording
 * @x: M x N of FP16
 * @y: M x 1 of FP16; shares no element with @x
 *
 * Exact; but -65504 for rows of negative infinities, if N is no multiple of 16.
 *
 * Return: as npu_rec_reduce_sum().
 */
int npu_rec_reduce_max(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y);

#ifdef __cplusplus
}
#endif

#endif /* NPU_NN_H */
