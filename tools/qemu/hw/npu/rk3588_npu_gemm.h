/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Products of packed blocks of rows and columns, by the best instructions that
 * the host has.  All kernels of a kind give the same bits.
 */
#ifndef HW_NPU_RK3588_NPU_GEMM_H
#define HW_NPU_RK3588_NPU_GEMM_H

#define NPU_GEMM_PIECE  32      /* elements of a lane that are packed at once */
#define NPU_GEMM_BLOCK  2048    /* bytes of a lane that stay in cache */
#define NPU_GEMM_ROWS   96      /* a multiple of every kernel's tile */

/* Sums of this many int8 products do not overflow an int32. */
#define NPU_GEMM_MAX_INT        65536

/*
 * A lane is a row or a column; a panel has the lanes of a tile.  Elements to
 * pack are int8, or double.
 */
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
     * Pack @n elements of @lanes lanes from position @k of @len on.  The
     * lanes of @src are NPU_GEMM_PIECE elements apart.
     */
    void (*pack_rows)(void *panel, unsigned k, unsigned len, const void *src,
                      unsigned lanes, unsigned n);
    void (*pack_cols)(void *panel, unsigned k, unsigned len, const void *src,
                      unsigned lanes, unsigned n);
    /* Add to a tile of int32, or double; each sum goes in order of k. */
    void (*tile)(const void *rows, const void *cols, unsigned len, void *acc,
                 size_t pitch);
} NpuGemm;

/* The host's best kernel, or a slower one: @skip says how many to pass over. */
const NpuGemm *npu_gemm_int(unsigned skip);
const NpuGemm *npu_gemm_double(unsigned skip);

/* Halves, little endian, to double. */
void npu_gemm_widen_half(double *dst, const uint8_t *src, unsigned n);

#endif
