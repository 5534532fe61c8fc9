/* SPDX-License-Identifier: MIT */
/*
 * What longer operations are made of: operations inside of another one.
 */
#ifndef NPU_PARTS_H
#define NPU_PARTS_H

#include "rec/npu_recorder.h"

/* npu_rec_ew.c: within an operation that has begun */

int npu_rec_ew(struct npu_rec *rec, enum npu_ew_op op, const struct npu_tensor *a,
	       const struct npu_tensor *b, struct npu_tensor *y);
int npu_rec_function(struct npu_rec *rec, const struct npu_table *table,
		     const struct npu_tensor *x, struct npu_tensor *y);
/* What programs read of a function, which may be NULL, on a chip that has it in memory. */
int npu_rec_table_record(struct npu_rec *rec, struct npu_dev *dev, const struct npu_table *table, uint64_t *iova);
/*
 * What fills the last 16 bytes of a row behind its last column is 0 in every result that others
 * see, unless the row is not finite: zero weights leave it out, but not if it is infinite, and
 * products and sums of what is not 0 may become so. Most operations make 0 of 0; this is for
 * functions that may not: what @table made of it in @y becomes 0. @table may be NULL.
 */
int npu_rec_clear_rest(struct npu_rec *rec, const struct npu_table *table, const struct npu_tensor *y);

/* npu_rec_matmul.c: modes of products, and functions that they can end with */
bool npu_product_types_fit(const struct npu_tensor *x, const struct npu_weights *w,
			   const struct npu_tensor *y);
bool npu_act_folds(enum npu_act act, const struct npu_tensor *y);

/* npu_rec_bytes.c: the same as npu_rec_ew.c; bytes that tasks read, a multiple of 32 */
int npu_rec_record(struct npu_rec *rec, const uint8_t *record, uint32_t bytes, uint64_t *iova);

/* npu_rec_ew.c: for messages; of any value */
const char *npu_act_name(enum npu_act act);

/* npu_rec_matmul.c: the same as npu_rec_ew.c */
int npu_rec_matmul_tasks(struct npu_rec *rec, const struct npu_tensor *x,
			 const struct npu_weights *w, struct npu_tensor *y,
			 const struct npu_rec_matmul_opts *opts);
/* The same with a function of the results, which must be there for them; what is behind the last column stays. */
int npu_rec_look_up_products(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w,
			     const struct npu_tensor *y, const struct npu_table *table);
/* The k_step that weights had better have for an operand of so many rows. */
uint32_t npu_sum_step(uint32_t rows, const struct npu_weights *w);

/* A part of @t from a row and a column on, which the layout must allow; to be read or written. */
static inline struct npu_tensor npu_part(const struct npu_tensor *t, uint32_t row, uint32_t rows,
					 uint32_t col, uint32_t cols)
{
	struct npu_tensor part = *t;

	part.offset += npu_tensor_place(t, row, col);
	part.shape.rows = rows;
	part.shape.cols = cols;
	return part;
}

/* Memory that the recording keeps if something uses it. */
int npu_rec_temp(struct npu_rec *rec, enum npu_prec type, uint32_t rows,
		 uint32_t cols, struct npu_tensor **out);

/* npu_rec_broadcast.c: the same */

/* Weights that are @value where the column of the input is below @k; the recording's own. */
int npu_rec_fill_weights(struct npu_rec *rec, uint32_t n, uint32_t k, float value,
			 const struct npu_weights **out);
/* Rows of one task of these: the width of the CNA has 11 bits, and the halves of each task begin at a whole atom. */
#define NPU_SPREAD_ROWS	2040u
/* Each element of @v, 1 x M, or of a column, M x 1, goes to all columns of a row of @y. */
int npu_rec_broadcast_row(struct npu_rec *rec, const struct npu_tensor *v, struct npu_tensor *y);
int npu_rec_broadcast_col(struct npu_rec *rec, const struct npu_tensor *col, struct npu_tensor *y);

/* npu_rec_reduce.c: the same; the largest of each row to @v, 1 x M */
int npu_rec_row_max(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *v);
/* 1 x N to whole groups of columns: largest for the first @cols, least behind them. */
int npu_rec_mask_row(struct npu_rec *rec, uint32_t cols,
		     struct npu_tensor **out);

/* npu_rec_softmax.c: the same */

/* What a half can sum up without overflow. */
#define NPU_SOFTMAX_COLS	32768u

int npu_rec_exp_table(struct npu_rec *rec, float scale, struct npu_table **out);
/* Row r may see the first @seen + r columns. */
int npu_rec_causal_mask(struct npu_rec *rec, uint32_t rows, uint32_t cols,
			uint32_t seen, struct npu_tensor **out);

/* What is in between: numbers, and a value per row. */
struct npu_softmax_temps {
	struct npu_tensor *a, *b;	/* with columns that fill the memory */
	struct npu_tensor *max, *sum;
};

int npu_softmax_temps_new(struct npu_rec *rec, struct npu_softmax_temps *t,
			  const struct npu_tensor *x);
void npu_softmax_temps_free(struct npu_softmax_temps *t);
int npu_rec_softmax_tasks(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
			  const struct npu_table *table, const struct npu_softmax_temps *t);

/* What a line of the read engine may leave out has 13 bits. */
#define NPU_PACK_PITCH	8192u

/* npu_rec_pack.c: the same; rows of @x to kernels of @w, which has as many rows and columns */
int npu_rec_pack(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w);
/* How many tasks that takes of @n x @k elements. */
uint32_t npu_pack_count(const struct npu_chip *chip, enum npu_prec type, uint32_t n, uint32_t k);
/* Memory for such weights; 0. */
int npu_rec_zero_weights(struct npu_rec *rec, struct npu_dev *dev, enum npu_prec type, uint32_t n,
			 uint32_t k, struct npu_weights **out);
/* What it takes to transpose tensors of at most @rows rows. */
struct npu_transposer {
	struct npu_tensor *identity;
	struct npu_weights *wide, *narrow;	/* of 64 columns, and of 32: their layouts differ */
};

int npu_transposer_new(struct npu_rec *rec, struct npu_transposer *t, struct npu_dev *dev,
		       enum npu_prec type, uint32_t rows);
void npu_transposer_free(struct npu_transposer *t);
int npu_rec_transpose_tasks(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
			    const struct npu_transposer *t);
/* How many tasks that takes of @rows rows; where a chain has no room for those of 64 columns another one follows. */
uint32_t npu_transpose_count(const struct npu_chip *chip, enum npu_prec type, uint32_t rows, uint32_t cols);

/* npu_rec_move.c: the same; FP32 to FP16, and FP32 or INT32 as they are, both perhaps by max(x, 0) */
int npu_rec_copy(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y, bool relu);
/* Bit by bit, with what is in atoms that are not full; @y has the type and size of @x. */
int npu_rec_copy_raw(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_tensor *y);

#endif /* NPU_PARTS_H */
