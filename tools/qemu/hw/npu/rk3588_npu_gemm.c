/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Products of packed blocks of rows and columns for the RK3588 NPU's array.
 *
 * Floats are multiplied and summed in double.  A product of two inputs of any
 * float type of the NPU is exact in double, so it does not matter whether
 * multiplication and addition are fused.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rk3588_npu_gemm.h"
#include "rk3588_npu_dpu.h"

#if defined(__x86_64__) && !defined(NPU_GEMM_PORTABLE)
#define NPU_GEMM_X86 1
#include <immintrin.h>
#endif

/* Lanes side by side: element i of a lane goes to panel[i * width + lane]. */
#define DEFINE_TRANSPOSE(name, type)                                        \
static inline void name(type *panel, unsigned width, const type *src,       \
                        unsigned pitch, unsigned lanes, unsigned n,         \
                        type flip)                                          \
{                                                                           \
    unsigned i, lane;                                                       \
                                                                            \
    for (i = 0; i < n; i++) {                                               \
        for (lane = 0; lane < lanes; lane++) {                              \
            panel[i * width + lane] = src[lane * pitch + i] ^ flip;         \
        }                                                                   \
    }                                                                       \
}

/* Elements travel as bits: whatever they are, they stay what they are. */
typedef uint32_t Bits32 __attribute__((may_alias));
typedef uint64_t Bits64 __attribute__((may_alias));

DEFINE_TRANSPOSE(transpose_64, Bits64)

/* --- int8, widened: lanes one after the other --- */

#define INT_ROWS        2
#define INT_COLS        4
#define INT_STEP        32

static void pack_int(void *panel, unsigned k, unsigned len, const void *src,
                     unsigned lanes, unsigned n)
{
    unsigned lane, i;

    for (lane = 0; lane < lanes; lane++) {
        const int8_t *from = (const int8_t *)src + lane * NPU_GEMM_PIECE;
        int16_t *to = (int16_t *)panel + (size_t)lane * len + k;

        for (i = 0; i < n; i++) {
            to[i] = from[i];
        }
    }
}

#define DEFINE_TILE_INT(name, attributes)                                   \
attributes                                                                  \
static void name(const void *rows, const void *cols, unsigned len,          \
                 void *acc, size_t pitch)                                   \
{                                                                           \
    const int16_t *a0 = rows, *a1 = a0 + len;                               \
    const int16_t *b0 = cols, *b1 = b0 + len, *b2 = b1 + len;               \
    const int16_t *b3 = b2 + len;                                           \
    int32_t *out0 = acc, *out1 = out0 + pitch;                              \
    int32_t s00 = 0, s01 = 0, s02 = 0, s03 = 0;                             \
    int32_t s10 = 0, s11 = 0, s12 = 0, s13 = 0;                             \
    unsigned i;                                                             \
                                                                            \
    len &= ~(INT_STEP - 1u);                                                \
    for (i = 0; i < len; i++) {                                             \
        s00 += a0[i] * b0[i];                                               \
        s01 += a0[i] * b1[i];                                               \
        s02 += a0[i] * b2[i];                                               \
        s03 += a0[i] * b3[i];                                               \
        s10 += a1[i] * b0[i];                                               \
        s11 += a1[i] * b1[i];                                               \
        s12 += a1[i] * b2[i];                                               \
        s13 += a1[i] * b3[i];                                               \
    }                                                                       \
    out0[0] += s00;                                                         \
    out0[1] += s01;                                                         \
    out0[2] += s02;                                                         \
    out0[3] += s03;                                                         \
    out1[0] += s10;                                                         \
    out1[1] += s11;                                                         \
    out1[2] += s12;                                                         \
    out1[3] += s13;                                                         \
}

DEFINE_TILE_INT(tile_int, )

static const NpuGemm gemm_int = {
    .name = "portable int8",
    .rows = INT_ROWS,
    .cols = INT_COLS,
    .elem = sizeof(int16_t),
    .k_align = INT_STEP,
    .pack_rows = pack_int,
    .pack_cols = pack_int,
    .tile = tile_int,
};

/* --- double: lanes side by side --- */

/* @vecs vectors of @lanes doubles for each of @nrows rows. */
#define DEFINE_TILE_DOUBLE(fn, attributes, nrows, vecs, lanes)              \
typedef double fn##_vec                                                     \
    __attribute__((vector_size((lanes) * 8), may_alias, aligned(8)));       \
                                                                            \
attributes                                                                  \
static void fn(const void *rows, const void *cols, unsigned len,            \
                 void *acc, size_t pitch)                                   \
{                                                                           \
    const double *a = rows;                                                 \
    const fn##_vec *b = cols;                                               \
    fn##_vec sum[nrows][vecs];                                              \
    unsigned i, r, v;                                                       \
                                                                            \
    _Pragma("GCC unroll 16")                                                \
    for (r = 0; r < (nrows); r++) {                                         \
        const fn##_vec *in = (void *)((double *)acc + r * pitch);           \
                                                                            \
        _Pragma("GCC unroll 4")                                             \
        for (v = 0; v < (vecs); v++) {                                      \
            sum[r][v] = in[v];                                              \
        }                                                                   \
    }                                                                       \
    for (i = 0; i < len; i++) {                                             \
        _Pragma("GCC unroll 16")                                            \
        for (r = 0; r < (nrows); r++) {                                     \
            _Pragma("GCC unroll 4")                                         \
            for (v = 0; v < (vecs); v++) {                                  \
                sum[r][v] += a[r] * b[v];                                   \
            }                                                               \
        }                                                                   \
        a += (nrows);                                                       \
        b += (vecs);                                                        \
    }                                                                       \
    _Pragma("GCC unroll 16")                                                \
    for (r = 0; r < (nrows); r++) {                                         \
        fn##_vec *out = (void *)((double *)acc + r * pitch);                \
                                                                            \
        _Pragma("GCC unroll 4")                                             \
        for (v = 0; v < (vecs); v++) {                                      \
            out[v] = sum[r][v];                                             \
        }                                                                   \
    }                                                                       \
}                                                                           \
                                                                            \
static void fn##_pack_rows(void *panel, unsigned k, unsigned len,           \
                             const void *src, unsigned count, unsigned n)   \
{                                                                           \
    transpose_64((Bits64 *)panel + (size_t)k * (nrows), nrows, src,         \
                 NPU_GEMM_PIECE, count, n, 0);                              \
}                                                                           \
                                                                            \
static void fn##_pack_cols(void *panel, unsigned k, unsigned len,           \
                             const void *src, unsigned count, unsigned n)   \
{                                                                           \
    transpose_64((Bits64 *)panel + (size_t)k * (vecs) * (lanes),            \
                 (vecs) * (lanes), src, NPU_GEMM_PIECE, count, n, 0);       \
}                                                                           \
                                                                            \
static const NpuGemm gemm_##fn = {                                          \
    .name = #fn,                                                            \
    .rows = nrows,                                                          \
    .cols = (vecs) * (lanes),                                               \
    .elem = sizeof(double),                                                 \
    .k_align = 1,                                                           \
    .pack_rows = fn##_pack_rows,                                            \
    .pack_cols = fn##_pack_cols,                                            \
    .tile = fn,                                                             \
};

DEFINE_TILE_DOUBLE(double_portable, , 4, 2, 2)

static void widen_half(double *dst, const uint8_t *src, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        dst[i] = npu_fp16_to_fp32(lduw_le_p(src + 2 * i));
    }
}

#ifdef NPU_GEMM_X86

#define AVX2            __attribute__((target("avx2,fma")))
#define AVX512          __attribute__((target("avx512f,avx512bw,fma")))
#define AVX512_VNNI     __attribute__((target("avx512f,avx512bw,avx512vnni")))
#define F16C            __attribute__((target("avx512f,f16c")))

DEFINE_TILE_INT(tile_int_avx2, AVX2)
DEFINE_TILE_DOUBLE(double_avx2, AVX2, 4, 3, 4)
DEFINE_TILE_DOUBLE(double_avx512, AVX512, 12, 2, 8)
DEFINE_TRANSPOSE(transpose_32, Bits32)

static const NpuGemm gemm_int_avx2 = {
    .name = "AVX2 int8",
    .rows = INT_ROWS,
    .cols = INT_COLS,
    .elem = sizeof(int16_t),
    .k_align = INT_STEP,
    .pack_rows = pack_int,
    .pack_cols = pack_int,
    .tile = tile_int_avx2,
};

/*
 * VNNI multiplies four unsigned bytes of a row by four signed ones of a
 * column.  Sums wrap as int32, which the caller's correction undoes.
 */
#define VNNI_ROWS       12
#define VNNI_VECS       2
#define VNNI_COLS       (16 * VNNI_VECS)

static void vnni_pack_rows(void *panel, unsigned k, unsigned len,
                           const void *src, unsigned lanes, unsigned n)
{
    transpose_32((Bits32 *)panel + (size_t)k / 4 * VNNI_ROWS, VNNI_ROWS, src,
                 NPU_GEMM_PIECE / 4, lanes, n / 4, 0x80808080u);
}

static void vnni_pack_cols(void *panel, unsigned k, unsigned len,
                           const void *src, unsigned lanes, unsigned n)
{
    transpose_32((Bits32 *)panel + (size_t)k / 4 * VNNI_COLS, VNNI_COLS, src,
                 NPU_GEMM_PIECE / 4, lanes, n / 4, 0);
}

AVX512_VNNI
static void vnni_tile(const void *rows, const void *cols, unsigned len,
                      void *acc, size_t pitch)
{
    const Bits32 *a = rows;
    const __m512i *b = cols;
    __m512i sum[VNNI_ROWS][VNNI_VECS];
    unsigned i, r, v;

#pragma GCC unroll 12
    for (r = 0; r < VNNI_ROWS; r++) {
#pragma GCC unroll 2
        for (v = 0; v < VNNI_VECS; v++) {
            sum[r][v] = _mm512_loadu_si512((int32_t *)acc + r * pitch + 16 * v);
        }
    }
    for (i = 0; i < len; i += 4) {
        __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + 1);

#pragma GCC unroll 12
        for (r = 0; r < VNNI_ROWS; r++) {
            __m512i x = _mm512_set1_epi32(a[r]);

            sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], x, b0);
            sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], x, b1);
        }
        a += VNNI_ROWS;
        b += VNNI_VECS;
    }
#pragma GCC unroll 12
    for (r = 0; r < VNNI_ROWS; r++) {
#pragma GCC unroll 2
        for (v = 0; v < VNNI_VECS; v++) {
            _mm512_storeu_si512((int32_t *)acc + r * pitch + 16 * v, sum[r][v]);
        }
    }
}

static const NpuGemm gemm_vnni = {
    .name = "AVX-512 VNNI int8",
    .rows = VNNI_ROWS,
    .cols = VNNI_COLS,
    .elem = 1,
    .k_align = 4,
    .biased = true,
    .pack_rows = vnni_pack_rows,
    .pack_cols = vnni_pack_cols,
    .tile = vnni_tile,
};

F16C
static void widen_half_f16c(double *dst, const uint8_t *src, unsigned n)
{
    unsigned i;

    for (i = 0; i + 8 <= n; i += 8) {
        __m128i h = _mm_loadu_si128((const __m128i *)(src + 2 * i));

        _mm512_storeu_pd(dst + i, _mm512_cvtps_pd(_mm256_cvtph_ps(h)));
    }
    widen_half(dst + i, src + 2 * i, n - i);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw");
}

const NpuGemm *npu_gemm_int(unsigned skip)
{
    if (has_avx512() && __builtin_cpu_supports("avx512vnni") && !skip--) {
        return &gemm_vnni;
    }
    if (has_avx2() && !skip--) {
        return &gemm_int_avx2;
    }
    return &gemm_int;
}

const NpuGemm *npu_gemm_double(unsigned skip)
{
    if (has_avx512() && !skip--) {
        return &gemm_double_avx512;
    }
    if (has_avx2() && !skip--) {
        return &gemm_double_avx2;
    }
    return &gemm_double_portable;
}

void npu_gemm_widen_half(double *dst, const uint8_t *src, unsigned n)
{
    if (has_avx512() && __builtin_cpu_supports("f16c")) {
        widen_half_f16c(dst, src, n);
    } else {
        widen_half(dst, src, n);
    }
}

#else

const NpuGemm *npu_gemm_int(unsigned skip)
{
    return &gemm_int;
}

const NpuGemm *npu_gemm_double(unsigned skip)
{
    return &gemm_double_portable;
}

void npu_gemm_widen_half(double *dst, const uint8_t *src, unsigned n)
{
    widen_half(dst, src, n);
}

#endif
