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
 * up the roundings of each step. They assume that the NPU adds and multiplies floats in fp32 and
 * rounds to nearest, as QEMU's model does, and that npu_rec_div() is off by 5/8 of a unit.
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
 * Exact; but infinities count as 65504 and -65504, if N is no multiple of 16.
 *
 * Return: as npu_rec_reduce_sum().
 */
int npu_rec_reduce_max(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y);

/* ---- concatenation ---------------------------------------------------------- */

/**
 * npu_rec_concat_cols - append y = tensors side by side
 * @rec: recording
 * @parts: tensors with the rows and the type of @y, any type
 * @n: how many
 * @y: with as many columns as all of them
 *
 * A part that is where it belongs, a view of @y from npu_tensor_view(), is not copied: give the
 * operations that make the parts such views if the columns of each are a multiple of 32. Others
 * are copied on the NPU, 16 bytes at a time: the columns of all but the last one are a multiple
 * of 16 of INT8, 8 of FP16, 4 of INT32 and FP32. There is no mode for other ones. Exact.
 *
 * Return: as npu_rec_matmul().
 */
int npu_rec_concat_cols(struct npu_rec *rec, const struct npu_tensor *const *parts, uint32_t n,
			struct npu_tensor *y);

/**
 * npu_rec_concat_rows - append y = tensors below each other
 * @rec: recording
 * @parts: tensors with the columns and the type of @y, any type
 * @n: how many
 * @y: with as many rows as all of them
 *
 * As npu_rec_concat_cols(), but parts may have any number of rows; several cores wait for each
 * other before one that begins at a row that is no multiple of 4.
 *
 * Return: as npu_rec_matmul().
 */
int npu_rec_concat_rows(struct npu_rec *rec, const struct npu_tensor *const *parts, uint32_t n,
			struct npu_tensor *y);

/* ---- transposition ----------------------------------------------------------- */

/**
 * npu_rec_transpose - append y = x with rows as columns
 * @rec: recording
 * @x: M x N of FP16 or INT8
 * @y: N x M of the same type; shares no element with @x
 *
 * Exact for finite numbers; a row of @y that has others is spoilt. The NPU moves 16 bytes at
 * a time, so that the columns are products with ones: @x becomes weights first, 8192 rows at a time, and
 * after a copy if it is a tensor of more rows, or a view of such. Several cores share the columns of @x by
 * multiples of 64. Tasks beyond the 4095 that a chain can have follow in another chain of the same core.
 *
 * Return: as npu_rec_reduce_sum().
 */
int npu_rec_transpose(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y);

/* ---- softmax and norms ------------------------------------------------------ */

/**
 * struct npu_softmax_opts - options of npu_rec_softmax(); NULL or all but the size zero = defaults
 */
struct npu_softmax_opts {
	/** @size: sizeof(struct npu_softmax_opts) */
	size_t size;
	/** @scale: what elements are multiplied with, from 2^-11 to 8; 0 = 1 */
	float scale;
	/** @causal: row r of M counts its first N - M + r + 1 columns only; N is M or more */
	bool causal;
};

/**
 * npu_rec_softmax - append y = exp(scale * x) / sum of exp(scale * x), row by row
 * @rec: recording
 * @x: M x N of FP16, N to 32768
 * @y: M x N of FP16; shares no element with @x
 * @opts: options or NULL
 *
 * The largest element of a row is subtracted first. With t = scale * (largest - x), an element
 * y is off by at most y * ((13 + t + ln(N)) * 2^-11 + sqrt(N) * 2^-14) + sqrt(y) * 2^-14 +
 * 2^-24. (The difference is rounded to FP16, which is t * 2^-11 of y. exp(-t/2) is a table of
 * 1023 steps, whose entries are multiples of 2^-15; it is squared, the squares are summed up
 * in fp32, and y is their quotient: eight roundings to FP16 of y or the sum, 2^-14 * sqrt(y)
 * for the entry, and what the errors of the others add to the sum, where the mean of t by y
 * is at most ln(N).)
 *
 * Masked elements may be large negative numbers in @x: they count as 0 from 18 / scale below
 * the largest one on. What @causal leaves out counts as -65504.
 *
 * Return: as npu_rec_reduce_sum(); -EOPNOTSUPP for options of a newer library; -E2BIG for more columns.
 */
int npu_rec_softmax(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
		    const struct npu_softmax_opts *opts);

/**
 * struct npu_norm_opts - options of npu_rec_rms_norm() and npu_rec_layer_norm(); NULL or all
 * but the size zero = defaults
 */
struct npu_norm_opts {
	/** @size: sizeof(struct npu_norm_opts) */
	size_t size;
	/** @gamma: 1 x N of FP16, a factor per column, or NULL */
	/** @beta: 1 x N of FP16, added to each row, or NULL */
	const struct npu_tensor *gamma, *beta;
	/**
	 * @epsilon: added to the mean of squares, 0 to 1; its root is rounded to FP16, and is
	 * 2^-13 at least
	 */
	float epsilon;
};

/**
 * npu_rec_rms_norm - append y = x / sqrt(mean of squares + epsilon) * gamma + beta
 * @rec: recording
 * @x: M x N of FP16, N to 8192
 * @y: M x N of FP16; shares no element with @x
 * @opts: options or NULL
 *
 * Rows are divided by their largest magnitude first. Before @beta y is off by at most
 * 11 * 2^-11 of itself and 2^-18 of gamma, and by 2^-24; @beta rounds once more. (Ten roundings
 * to FP16, those under the root by half, two of quotients. A quotient below 2^-14 is off by 2^-25, and then
 * multiplied with at most sqrt(N).)
 *
 * Return: as npu_rec_reduce_sum(); -EOPNOTSUPP for options of a newer library; -E2BIG for more columns.
 */
int npu_rec_rms_norm(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
		     const struct npu_norm_opts *opts);

/**
 * npu_rec_layer_norm - append y = (x - mean) / sqrt(variance + epsilon) * gamma + beta
 * @rec: recording
 * @x: M x N of FP16, N to 8192
 * @y: M x N of FP16; shares no element with @x
 * @opts: options or NULL
 *
 * The mean is subtracted twice, so that its own rounding does not count. Before gamma the
 * result is off by at most (21 * abs(y) + 2) * 2^-11 and 2^-18 * abs(mean) / sqrt(variance +
 * epsilon); gamma and beta round once each, and by 2^-24. (As npu_rec_rms_norm(); differences
 * are off by 2^-11 of themselves, whose mean moves all by as much; the first mean by 2^-10 of
 * itself, the second one by 2^-10 of that.) No difference from the mean may exceed 65504.
 *
 * Return: as npu_rec_rms_norm().
 */
int npu_rec_layer_norm(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
		       const struct npu_norm_opts *opts);

/* ---- attention -------------------------------------------------------------- */

/**
 * struct npu_attention_opts - options of npu_rec_attention(); NULL or all but the size zero = defaults
 */
struct npu_attention_opts {
	/** @size: sizeof(struct npu_attention_opts) */
	size_t size;
	/** @heads: heads of the queries, 0 = 1 */
	/** @kv_heads: heads of keys and values, each for as many of @heads; 0 = @heads */
	uint32_t heads, kv_heads;
	/** @scale: what scores are multiplied with, from 2^-11 to 8; 0 = 1 / sqrt(D) */
	float scale;
	/** @causal: row r of M sees the first T - M + r + 1 of T tokens only */
	bool causal;
	/** @max_rows: most rows with scores at a time, 0 = 4 MiB of them; rounded to 32 */
	uint32_t max_rows;
	/**
	 * @mask: M x T of FP16 or NULL: added to the scores of all heads before they are scaled. A
	 * large negative number masks a token, as with npu_rec_softmax()
	 */
	const struct npu_tensor *mask;
};

/**
 * npu_rec_attention - append y = softmax(scale * (q * k^T + mask)) * v for each head
 * @rec: recording
 * @q: M x (heads * D) of FP16, D a multiple of 32 up to 4096
 * @k: T x (kv_heads * D) of FP16, T to 32768
 * @v: T x (kv_heads * D) of FP16
 * @y: M x (heads * D) of FP16; shares no element with the others
 * @opts: options or NULL
 *
 * One operation of one recording, however many heads and tokens there are; what grows is the
 * number of tasks. Keys and values are tensors that the NPU may have written: it makes weights of
 * them, once per head of theirs; of those that are tensors of more than 8192 rows, or views of such, it
 * makes a copy first, a head at a time. Several cores share the heads of keys and values, or if there is
 * one of them the heads of queries.
 *
 * Scores must not exceed 65504 before they are scaled, with and without the mask. They are rounded
 * to FP16, so that the exponent is off by e = scale * (2^-11 * the largest score + D * 2^-24 * the
 * largest sum of magnitudes) at most; with a mask by scale * 2^-11 * the largest sum with it, too,
 * of those that count. The result is off by the largest value of @v times exp(2 * e) - 1 +
 * (15 + 2 * ln(T)) * 2^-11 + 2 * sqrt(T) * 2^-14 + T * 2^-23, and 2^-11 of itself.
 * (The bound of npu_rec_softmax() summed up over a row, in which the mean of t is at most ln(T);
 * then products and sums in fp32.)
 *
 * Tasks beyond the 4095 that a chain can have follow in another chain of the same core, with an
 * interrupt of its own: 4096 tokens and a head of 64 columns take 633, four heads of 128 with keys in
 * common 2338.
 *
 * Return: as npu_rec_reduce_sum(); -EOPNOTSUPP for options of a newer library; -E2BIG for more tokens or columns
 * of a head, or max_rows that take more tasks than a chain can have.
 */
int npu_rec_attention(struct npu_rec *rec, const struct npu_tensor *q, const struct npu_tensor *k,
		      const struct npu_tensor *v, struct npu_tensor *y,
		      const struct npu_attention_opts *opts);

#ifdef __cplusplus
}
#endif

#endif /* NPU_NN_H */
