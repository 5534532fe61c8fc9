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
#include "gemm.h"
#include "numeric.h"

#if defined(__x86_64__) && !defined(NPU_GEMM_PORTABLE)
#define NPU_GEMM_X86 1
#include <immintrin.h>
#endif

/* Elements travel as bits: whatever they are, they stay what they are. */
typedef uint32_t Bits32 __attribute__((may_alias));
typedef uint64_t Bits64 __attribute__((may_alias));

/* --- int8, widened: lanes one after the other --- */

#define INT_ROWS        2
#define INT_COLS        4
#define INT_STEP        32
#define INT_LANE        (NPU_GEMM_BLOCK / 2)

static void pack_int(void *panel, unsigned k, const void *const *src,
                     unsigned lanes, unsigned n)
{
    unsigned lane, i;

    for (lane = 0; lane < lanes; lane++) {
        const int8_t *from = src[lane];
        int16_t *to = (int16_t *)panel + lane * INT_LANE + k;

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
    const int16_t *a0 = rows, *a1 = a0 + INT_LANE;                          \
    const int16_t *b0 = cols, *b1 = b0 + INT_LANE, *b2 = b1 + INT_LANE;     \
    const int16_t *b3 = b2 + INT_LANE;                                      \
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

/* --- double: rows one after the other, columns side by side --- */

#define LANE            (NPU_GEMM_BLOCK / 8)

static void pack_rows_double(void *panel, unsigned k, const void *const *src,
                             unsigned lanes, unsigned n)
{
    unsigned lane;

    for (lane = 0; lane < lanes; lane++) {
        memcpy((Bits64 *)panel + lane * LANE + k, src[lane], n * 8);
    }
}

static void pack_cols_double(double *to, unsigned width,
                             const void *const *src, unsigned lanes,
                             unsigned n)
{
    unsigned i, lane;

    for (i = 0; i < n; i++) {
        for (lane = 0; lane < lanes; lane++) {
            ((Bits64 *)to)[i * width + lane] = ((const Bits64 *)src[lane])[i];
        }
    }
}

static double half_at(const void *src, unsigned i)
{
    return npu_fp16_to_fp32(lduw_le_p((const uint8_t *)src + 2 * i));
}

static void pack_rows_half(void *panel, unsigned k, const void *const *src,
                           unsigned lanes, unsigned n)
{
    unsigned i, lane;

    for (lane = 0; lane < lanes; lane++) {
        for (i = 0; i < n; i++) {
            ((double *)panel)[lane * LANE + k + i] = half_at(src[lane], i);
        }
    }
}

static void pack_cols_half(double *to, unsigned width, const void *const *src,
                           unsigned lanes, unsigned n)
{
    unsigned i, lane;

    for (lane = 0; lane < lanes; lane++) {
        for (i = 0; i < n; i++) {
            to[i * width + lane] = half_at(src[lane], i);
        }
    }
}

/* Products of one step of all rows of a tile. */
#define MULTIPLY(nrows, vecs)                                               \
    do {                                                                    \
        _Pragma("GCC unroll 16")                                            \
        for (r = 0; r < (nrows); r++) {                                     \
            _Pragma("GCC unroll 4")                                         \
            for (v = 0; v < (vecs); v++) {                                  \
                sum[r][v] += a[r * LANE] * b[v];                            \
            }                                                               \
        }                                                                   \
        a++;                                                                \
        b += (vecs);                                                        \
    } while (0)

/*
 * Sums of products of halves that do not fit a double are kept in two: what is
 * added to this is cut off at 2^-12, and the rest of 32 products, which are
 * multiples of 2^-48 below 2^32, fits the second one.
 */
#define EXACT_FRAME     0x1.8p40

/*
 * Kernels with @vecs vectors of @lanes doubles for each of @nrows rows: sums
 * of everything, exact ones of a row's group, and sums of groups.
 */
#define DEFINE_TILE_DOUBLE(fn, attributes, nrows, vecs, lanes)              \
typedef double fn##_vec                                                     \
    __attribute__((vector_size((lanes) * 8), may_alias, aligned(8)));       \
typedef int64_t fn##_veci                                                   \
    __attribute__((vector_size((lanes) * 8)));                              \
typedef float fn##_vecf                                                     \
    __attribute__((vector_size((lanes) * 4), may_alias, aligned(4)));       \
                                                                            \
attributes                                                                  \
static void fn(const void *rows, const void *cols, unsigned len,            \
               void *acc, size_t pitch)                                     \
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
        MULTIPLY(nrows, vecs);                                              \
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
/* To nearest; what is odd in 53 bits is no tie in 24. */                   \
attributes                                                                  \
static inline fn##_vecf fn##_round(fn##_vec hi, fn##_vec lo)                \
{                                                                           \
    fn##_vec sum = hi + lo, part = sum - hi;                                \
    fn##_vec rest = (hi - (sum - part)) + (lo - part);                      \
    fn##_veci bits = (fn##_veci)sum, odd, finite = (hi - hi) == 0;          \
                                                                            \
    odd = ((rest > 0) | (rest < 0)) & ((bits & 1) == 0);                    \
    bits += odd & (1 + 2 * ((rest > 0) ^ (sum > 0)));                       \
    bits = (bits & finite) | ((fn##_veci)hi & ~finite);                     \
    return __builtin_convertvector((fn##_vec)bits, fn##_vecf);              \
}                                                                           \
                                                                            \
attributes                                                                  \
static void fn##_exact(const double *a, const fn##_vec *b, unsigned n,      \
                       fn##_vecf *out)                                      \
{                                                                           \
    fn##_vec hi[vecs], lo[vecs] = { 0 };                                    \
    unsigned i, v;                                                          \
                                                                            \
    _Pragma("GCC unroll 4")                                                 \
    for (v = 0; v < (vecs); v++) {                                          \
        hi[v] = lo[v] + EXACT_FRAME;                                        \
    }                                                                       \
    for (i = 0; i < n; i++, b += (vecs)) {                                  \
        _Pragma("GCC unroll 4")                                             \
        for (v = 0; v < (vecs); v++) {                                      \
            fn##_vec sum = hi[v] + a[i] * b[v];                             \
                                                                            \
            lo[v] += a[i] * b[v] - (sum - hi[v]);                           \
            hi[v] = sum;                                                    \
        }                                                                   \
    }                                                                       \
    _Pragma("GCC unroll 4")                                                 \
    for (v = 0; v < (vecs); v++) {                                          \
        out[v] += fn##_round(hi[v] - EXACT_FRAME, lo[v]);                   \
    }                                                                       \
}                                                                           \
                                                                            \
attributes                                                                  \
static void fn##_sums(const void *rows, const void *cols, unsigned groups,  \
                      unsigned n, const NpuGemmBits *row_bits,              \
                      const NpuGemmBits *col_bits, float *acc,              \
                      size_t pitch)                                         \
{                                                                           \
    const double *a = rows;                                                 \
    const fn##_vec *b = cols;                                               \
    unsigned g, i, r, v;                                                    \
                                                                            \
    for (g = 0; g < groups; g++) {                                          \
        int limit = NPU_GEMM_MAX_BITS - col_bits->top[g];                   \
        bool fits = row_bits->top[g] <= limit;                              \
        fn##_vec sum[nrows][vecs] = { 0 };                                  \
                                                                            \
        for (i = 0; i < n; i++) {                                           \
            MULTIPLY(nrows, vecs);                                          \
        }                                                                   \
        _Pragma("GCC unroll 16")                                            \
        for (r = 0; r < (nrows); r++) {                                     \
            fn##_vecf *out = (void *)(acc + r * pitch);                     \
                                                                            \
            if (!fits && row_bits->lane[g][r] > limit) {                    \
                fn##_exact(a - n + r * LANE, b - n * (vecs), n, out);       \
                continue;                                                   \
            }                                                               \
            _Pragma("GCC unroll 4")                                         \
            for (v = 0; v < (vecs); v++) {                                  \
                out[v] += __builtin_convertvector(sum[r][v], fn##_vecf);    \
            }                                                               \
        }                                                                   \
    }                                                                       \
}

/* The same for what @rows_fn and @cols_fn take. */
#define DEFINE_GEMM_DOUBLE(fn, rows_fn, cols_fn, tile_fn, nrows, ncols,     \
                           label)                                           \
static void fn##_cols(void *panel, unsigned k, const void *const *src,      \
                      unsigned lanes, unsigned n)                           \
{                                                                           \
    cols_fn((double *)panel + k * (ncols), ncols, src, lanes, n);           \
}                                                                           \
                                                                            \
static const NpuGemm gemm_##fn = {                                          \
    .name = label,                                                          \
    .rows = nrows,                                                          \
    .cols = ncols,                                                          \
    .elem = sizeof(double),                                                 \
    .k_align = 1,                                                           \
    .pack_rows = rows_fn,                                                   \
    .pack_cols = fn##_cols,                                                 \
    .tile = tile_fn,                                                        \
    .sums = tile_fn##_sums,                                                 \
}

DEFINE_TILE_DOUBLE(tile_double, , 4, 2, 2)
DEFINE_GEMM_DOUBLE(double, pack_rows_double, pack_cols_double, tile_double, 4,
                   4, "portable double");
DEFINE_GEMM_DOUBLE(half, pack_rows_half, pack_cols_half, tile_double, 4, 4,
                   "portable half");

#ifdef NPU_GEMM_X86

#define AVX2            __attribute__((target("avx2,fma")))
#define AVX2_F16C       __attribute__((target("avx2,f16c")))
#define AVX512          __attribute__((target("avx512f,avx512bw,fma")))
#define AVX512_VNNI     __attribute__((target("avx512f,avx512bw,avx512vnni")))

DEFINE_TILE_INT(tile_int_avx2, AVX2)
DEFINE_TILE_DOUBLE(tile_double_avx2, AVX2, 4, 3, 4)
DEFINE_TILE_DOUBLE(tile_double_avx512, AVX512, 12, 2, 8)

AVX2_F16C
static void pack_rows_f16c(void *panel, unsigned k, const void *const *src,
                           unsigned lanes, unsigned n)
{
    unsigned lane, i;

    for (lane = 0; lane < lanes; lane++) {
        double *to = (double *)panel + lane * LANE + k;
        const uint8_t *from = src[lane];

        for (i = 0; i < n; i += 4) {
            __m128 f = _mm_cvtph_ps(_mm_loadu_si64(from + 2 * i));

            _mm256_storeu_pd(to + i, _mm256_cvtps_pd(f));
        }
    }
}

/* Four halves of four lanes. */
AVX2_F16C
static inline void pack_half_4x4(double *to, unsigned width,
                                 const uint8_t *const *src, unsigned i)
{
    __m256d a = _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadu_si64(src[0] + 2 * i)));
    __m256d b = _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadu_si64(src[1] + 2 * i)));
    __m256d c = _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadu_si64(src[2] + 2 * i)));
    __m256d d = _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadu_si64(src[3] + 2 * i)));
    __m256d ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b);
    __m256d cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);

    to += (size_t)i * width;
    _mm256_storeu_pd(to, _mm256_permute2f128_pd(ab0, cd0, 0x20));
    _mm256_storeu_pd(to + width, _mm256_permute2f128_pd(ab1, cd1, 0x20));
    _mm256_storeu_pd(to + 2 * width, _mm256_permute2f128_pd(ab0, cd0, 0x31));
    _mm256_storeu_pd(to + 3 * width, _mm256_permute2f128_pd(ab1, cd1, 0x31));
}

AVX2_F16C
static void pack_cols_f16c(double *to, unsigned width, const void *const *src,
                           unsigned lanes, unsigned n)
{
    unsigned i, lane;

    for (lane = 0; lane + 4 <= lanes; lane += 4) {
        for (i = 0; i < n; i += 4) {
            pack_half_4x4(to + lane, width, (const uint8_t *const *)src + lane,
                          i);
        }
    }
    pack_cols_half(to + lane, width, src + lane, lanes - lane, n);
}

DEFINE_GEMM_DOUBLE(double_avx2, pack_rows_double, pack_cols_double,
                   tile_double_avx2, 4, 12, "AVX2 double");
DEFINE_GEMM_DOUBLE(half_avx2, pack_rows_f16c, pack_cols_f16c, tile_double_avx2,
                   4, 12, "AVX2 half");
DEFINE_GEMM_DOUBLE(double_avx512, pack_rows_double, pack_cols_double,
                   tile_double_avx512, 12, 16, "AVX-512 double");
DEFINE_GEMM_DOUBLE(half_avx512, pack_rows_f16c, pack_cols_f16c,
                   tile_double_avx512, 12, 16, "AVX-512 half");

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

/* Sixteen bytes of four lanes, by words. */
static inline void pack_words_4x4(Bits32 *panel, unsigned width,
                                  const uint8_t *const *src, unsigned i,
                                  uint32_t flip)
{
    __m128i f = _mm_set1_epi32(flip);
    __m128i a = _mm_loadu_si128((const __m128i *)(src[0] + i));
    __m128i b = _mm_loadu_si128((const __m128i *)(src[1] + i));
    __m128i c = _mm_loadu_si128((const __m128i *)(src[2] + i));
    __m128i d = _mm_loadu_si128((const __m128i *)(src[3] + i));
    __m128i ab0 = _mm_xor_si128(_mm_unpacklo_epi32(a, b), f);
    __m128i ab1 = _mm_xor_si128(_mm_unpackhi_epi32(a, b), f);
    __m128i cd0 = _mm_xor_si128(_mm_unpacklo_epi32(c, d), f);
    __m128i cd1 = _mm_xor_si128(_mm_unpackhi_epi32(c, d), f);
    Bits32 *to = panel + (size_t)i / 4 * width;

    _mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi64(ab0, cd0));
    _mm_storeu_si128((__m128i *)(to + width), _mm_unpackhi_epi64(ab0, cd0));
    _mm_storeu_si128((__m128i *)(to + 2 * width), _mm_unpacklo_epi64(ab1, cd1));
    _mm_storeu_si128((__m128i *)(to + 3 * width), _mm_unpackhi_epi64(ab1, cd1));
}

static inline void pack_words(Bits32 *panel, unsigned width,
                              const void *const *src, unsigned lanes,
                              unsigned n, uint32_t flip)
{
    unsigned i, lane;

    for (lane = 0; lane + 4 <= lanes; lane += 4) {
        for (i = 0; i < n; i += 16) {
            pack_words_4x4(panel + lane, width,
                           (const uint8_t *const *)src + lane, i, flip);
        }
    }
    for (; lane < lanes; lane++) {
        for (i = 0; i < n / 4; i++) {
            panel[i * width + lane] = ((const Bits32 *)src[lane])[i] ^ flip;
        }
    }
}

static void vnni_pack_rows(void *panel, unsigned k,
                           const void *const *src, unsigned lanes, unsigned n)
{
    pack_words((Bits32 *)panel + (size_t)k / 4 * VNNI_ROWS, VNNI_ROWS, src,
               lanes, n, 0x80808080u);
}

static void vnni_pack_cols(void *panel, unsigned k,
                           const void *const *src, unsigned lanes, unsigned n)
{
    pack_words((Bits32 *)panel + (size_t)k / 4 * VNNI_COLS, VNNI_COLS, src,
               lanes, n, 0);
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

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw");
}

static bool has_vnni(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512vnni");
}

#else

#define gemm_vnni               gemm_int
#define gemm_int_avx2           gemm_int
#define gemm_half_avx512        gemm_half
#define gemm_half_avx2          gemm_half
#define gemm_double_avx512      gemm_double
#define gemm_double_avx2        gemm_double
#define has_avx2()              false
#define has_avx512()            false
#define has_vnni()              false

#endif

const NpuGemm *npu_gemm(NpuGemmSource source, unsigned skip)
{
    static const NpuGemm *const kernel[][3] = {
        [NPU_GEMM_INT8] = { &gemm_vnni, &gemm_int_avx2, &gemm_int },
        [NPU_GEMM_HALF] = { &gemm_half_avx512, &gemm_half_avx2, &gemm_half },
        [NPU_GEMM_FLOAT] = { &gemm_double_avx512, &gemm_double_avx2,
                             &gemm_double },
        [NPU_GEMM_INT] = { &gemm_double_avx512, &gemm_double_avx2,
                           &gemm_double },
    };
    bool has[2] = {
        source == NPU_GEMM_INT8 ? has_vnni() : has_avx512(), has_avx2(),
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(has); i++) {
        if (has[i] && !skip--) {
            return kernel[source][i];
        }
    }
    return kernel[source][i];
}
