/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Products of packed blocks of rows and columns, by the best instructions that
 * the host has.  All kernels of a kind give the same bits.
 */
#ifndef HW_NPU_COMPUTE_GEMM_H
#define HW_NPU_COMPUTE_GEMM_H

#define NPU_GEMM_BLOCK  1024    /* bytes of a lane, which stay in cache */
#define NPU_GEMM_ROWS   96      /* a multiple of every kernel's tile */
#define NPU_GEMM_TILE   64      /* no tile has more lanes */
/* Groups of products in a block of a lane of floats: none is shorter than 4. */
#define NPU_GEMM_GROUPS (NPU_GEMM_BLOCK / 8 / 4)

/* Sums of this many int8 products do not overflow an int32. */
#define NPU_GEMM_MAX_INT        65536

/* What kernels pack. */
typedef enum NpuGemmSource {
    NPU_GEMM_INT8,
    NPU_GEMM_HALF,              /* little endian; summed by groups */
    NPU_GEMM_FLOAT,             /* as doubles; summed by groups */
    NPU_GEMM_INT,               /* as doubles; sums are below 2^53 */
} NpuGemmSource;

/*
 * How many bits halves of a group span: in a row from the largest to the last
 * bit of the smallest, in a column from the sum of their amounts.  If a row's
 * and a column's add up to no more than NPU_GEMM_MAX_BITS, the sum of their
 * products is exact in double in any order.
 */
typedef struct NpuGemmBits {
    uint8_t top[NPU_GEMM_GROUPS];       /* the most of all lanes of a panel */
    uint8_t lane[NPU_GEMM_GROUPS][NPU_GEMM_TILE];   /* of rows alone */
} NpuGemmBits;

#define NPU_GEMM_MAX_BITS       53

/*
 * A lane is a row or a column; a panel has the lanes of a tile, of
 * NPU_GEMM_BLOCK bytes each.
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
     * Pack @n elements of @lanes lanes, each from its @src, at position @k on.
     * Bytes come by sixteens, halves by eights.
     */
    void (*pack_rows)(void *panel, unsigned k, const void *const *src,
                      unsigned lanes, unsigned n);
    void (*pack_cols)(void *panel, unsigned k, const void *const *src,
                      unsigned lanes, unsigned n);
    /* Add @len products to a tile of int32, or double for NPU_GEMM_INT. */
    void (*tile)(const void *rows, const void *cols, unsigned len, void *acc,
                 size_t pitch);
    /*
     * Add @groups sums of @n products to a tile of floats, one after the
     * other; each is rounded once.
     */
    void (*sums)(const void *rows, const void *cols, unsigned groups,
                 unsigned n, const NpuGemmBits *row_bits,
                 const NpuGemmBits *col_bits, float *acc, size_t pitch);
} NpuGemm;

/* The host's best kernel, or a slower one: @skip says how many to pass over. */
const NpuGemm *npu_gemm(NpuGemmSource source, unsigned skip);

#endif
