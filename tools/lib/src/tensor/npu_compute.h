/* SPDX-License-Identifier: MIT */
/*
 * What tensors, weights and recordings know of each other.
 */
#ifndef NPU_COMPUTE_H
#define NPU_COMPUTE_H

#include "dev/npu_space.h"
#include "prog/npu_task.h"

/* What programs read and write of a tensor comes in these units. */
#define NPU_TENSOR_ROWS		4u
#define NPU_TENSOR_COLS		32u

struct npu_tensor {
	struct npu_dev *dev;	/* that npu_open() returned */
	struct npu_mem *mem;
	struct npu_shape shape;
	uint32_t pitch;		/* rows from one surface to the next */
	uint64_t offset;	/* of the first element in the buffer */
};

struct npu_weights {
	struct npu_dev *dev;
	struct npu_mem *mem;
	enum npu_prec type;
	uint32_t n, k, kp;
	uint32_t n_from, n_all;	/* of those in memory, which are @n if @n_all is 0 */
	uint32_t k_step;	/* of one program; the last one may be shorter */
	bool parts;		/* these are what npu_weights_part() gives */
	uint64_t offset;	/* of a part in the buffer */
	bool has_bias;
	uint64_t bias_offset;
	struct npu_requant rq;

	/* Of a convolution; k is its channels. */
	uint32_t kw, kh;	/* 0 for a matrix */
	bool depthwise;
	int32_t in_zp, weight_zp;
};

/* Bytes of one weight; an RK3576 adds two for a depthwise one. */
static inline size_t npu_weight_bytes(const struct npu_weights *w)
{
	return w->depthwise && w->type == NPU_PREC_INT8 ? npu_dev_chip(w->dev)->depthwise_weight :
							  npu_prec_bytes(w->type);
}

/* Channels of depthwise layers come in multiples of it. */
static inline uint32_t npu_depthwise_unit(const struct npu_chip *chip, enum npu_prec type)
{
	return (uint32_t)min_u64(npu_depthwise_group(chip, type),
				 type == NPU_PREC_INT8 ? chip->depthwise_cols : NPU_TENSOR_COLS);
}

/* In memory a tensor of several rows has whole units. */
static inline uint32_t npu_rows_stored(uint32_t rows)
{
	return rows == 1 ? 1 : (uint32_t)round_up(rows, NPU_TENSOR_ROWS);
}

/* In the space that the memory entered last. */
static inline uint64_t npu_tensor_iova(const struct npu_tensor *t)
{
	return t->mem->iova + t->offset;
}

/* Bytes of a row in a surface. */
static inline uint32_t npu_tensor_atom_bytes(const struct npu_tensor *t)
{
	return npu_dev_chip(t->dev)->atom;
}

/* Columns of one surface. */
static inline uint32_t npu_tensor_lanes(const struct npu_tensor *t)
{
	return 8 * npu_tensor_atom_bytes(t) / npu_prec_bits(t->shape.type);
}

/* Where an element is, from the first one on. */
static inline uint64_t npu_tensor_place(const struct npu_tensor *t, uint64_t row, uint32_t col)
{
	uint32_t lanes = npu_tensor_lanes(t);

	return ((uint64_t)(col / lanes) * t->pitch + row) * npu_tensor_atom_bytes(t) +
	       col % lanes * npu_prec_bits(t->shape.type) / 8;
}

/* In memory that becomes the tensor's own; NULL where there is no memory for the tensor. */
struct npu_tensor *npu_tensor_take(struct npu_dev *dev, struct npu_mem *mem, struct npu_shape shape);
/* Bytes of memory that programs may touch for a tensor; 0 for one that cannot be. */
size_t npu_tensor_alloc_bytes(struct npu_shape shape);
/* A tensor at the start of memory that is large enough. */
int npu_tensor_in(struct npu_dev *dev, struct npu_mem *mem, struct npu_shape shape,
		  struct npu_tensor **out);
/* Do two tensors share elements? */
bool npu_tensor_overlap(const struct npu_tensor *a, const struct npu_tensor *b);
/* Is each element of @t in one of @n tensors, which follow each other by @stride bytes? */
bool npu_tensor_covered(const struct npu_tensor *t, const struct npu_tensor *by, size_t stride, uint32_t n);
/* Between these two the CPU may use a tensor's elements; end with what was written. */
int npu_tensor_begin(struct npu_tensor *t, bool write);
int npu_tensor_end(struct npu_tensor *t);
/* npu_tensor_write_f32() between these two, of what it takes. */
void npu_tensor_store_f32(struct npu_tensor *t, const float *src, size_t ld, float scale);
/* CPU address of a row of a surface. */
uint8_t *npu_tensor_atom(const struct npu_tensor *t, uint32_t surface, uint32_t row);

/* npu_operands.c: what layers add to the sums of each channel, and how they scale them */

/* Channels that operands are fetched for at a time (inferred from Mesa's and MTX's programs). */
#define NPU_OPERANDS_UNIT	32u
/* Bytes of @n channels. */
uint64_t npu_operands_bytes(const struct npu_weights *w, uint64_t n);
/* To where @w has them: @bias is one word per channel, or NULL. */
void npu_operands_write(const struct npu_weights *w, const int32_t *bias);
/* Those of the channels from @n on, a multiple of 8. */
void npu_operands_set(const struct npu_weights *w, uint32_t n, struct npu_conv_task *t);
/* Have weights operands in memory without a bias, too? */
bool npu_operands_always(const struct npu_weights *w);

/* npu_weights.c: npu_weights_new() in an address space of one's choice */
#define NPU_ANY_SPACE	(-1)
int npu_weights_new_at(struct npu_dev *dev, int space, const struct npu_weights_desc *desc,
		       const void *src, struct npu_weights **out);

/* npu_pack_int4.c: elements are nibbles; @n is a multiple of @group, @ld and @k are even */
void npu_pack_int4(uint8_t *dst, const uint8_t *src, size_t ld, bool is_kn, size_t group, size_t n, size_t k,
		   size_t k_pad);

/* npu_pack.c: npu_pack_kernels() for matrices, faster */
void npu_pack_matrix(void *dst, const void *src, size_t ld, bool is_kn, size_t bpe, size_t group,
		     size_t n, size_t k, size_t n_pad, size_t k_pad);

#endif /* NPU_COMPUTE_H */
