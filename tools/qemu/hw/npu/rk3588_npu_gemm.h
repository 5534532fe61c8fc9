/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Products of packed blocks of rows and columns, by the best instructions that
 * the host has.  All kernels of a kind give the same bits.
 */
#ifndef HW_NPU_RK3588_NPU_GEMM_H
#define HW_NPU_RK3588_NPU_GEMM_H

#define NPU_GEMM_BLOCK  1024    /* bytes of a lane that stay in cache */
#define NPU_GEMM_ROWS   96      /* a multiple of every kernel's tile */

/* Sums of this many int8 products do not overflow an int32. */
#define NPU_GEMM_MAX_INT        65536

/* What kernels pack. */
typedef enum NpuGemmSource {
    NPU_GEMM_INT8,
    NPU_GEMM_HALF,              /* little endian */
    NPU_GEMM_DOUBLE,
} NpuGemmSource;

/* A lane is a row or a column; a panel has the lanes of a tile. */
typedef struct NpuGemm {
    const char *name;
    unsigned rows, cols;        /* of a tile */
    unsigned elem;              /* bytes of a packed element */
    unsigned k_align;
    /*
     * Rows are packed plus 128, so results exceed the true ones by 128 times
     * the sum of their column.
     */
    bool biased;
    /*
     * Pack @n elements of @lanes lanes, each from its @src, at position @k of
     * @len on.  Bytes come by sixteens, halves by eights.
     */
    void (*pack_rows)(void *panel, unsigned k, unsigned len,
                      const void *const *src, unsigned lanes, unsigned n);
    void (*pack_cols)(void *panel, unsigned k, unsigned len,
                      const void *const *src, unsigned lanes, unsigned n);
    /* Add to a tile of int32, or double; each sum goes in order of k. */
    void (*tile)(const void *rows, const void *cols, unsigned len, void *acc,
                 size_t pitch);
} NpuGemm;

/* The host's best kernel, or a slower one: @skip says how many to pass over. */
const NpuGemm *npu_gemm(NpuGemmSource source, unsigned skip);

#endif
