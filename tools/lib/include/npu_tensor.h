/* SPDX-License-Identifier: MIT */
/*
 * Owns the part of libnpu's interface that holds data: tensors in the NPU's layout,
 * packed weights, and the counters of what was packed.
 */
#ifndef NPU_TENSOR_H
#define NPU_TENSOR_H

#include "npu.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Tensors and weights
 *
 * A tensor is a matrix of rows (positions) and columns (channels) that stays in the
 * layout that the NPU reads and writes, NC1HWC2: 16 bytes of each row, then the next 16
 * bytes of each row. Operations leave their results there, and the next operation reads
 * them there, so only npu_tensor_write() and npu_tensor_read() move elements.
 *
 * Where the last 16 bytes of a row are not full, what is behind the last column is 0 in every
 * result, but for FP16 and BF16 rows that are not finite, and in INT8 results, whose 0 may be another
 * byte: there it is what the operation makes of 0, such as the zero point (npu_requant.zp),
 * npu_rec_map_bytes() or npu_rec_add_bytes(). It stays out of what later operations
 * make of a row. A function of halves by table that does not make 0 of 0 takes two more tasks for that.
 *
 * Weights are packed once, into the order in which the NPU reads them, and stay in
 * memory that the NPU sees until npu_weights_free().
 *
 * Opaque types: ``struct npu_tensor``, ``struct npu_weights``.
 */

/**
 * DOC: More than 4 GiB
 *
 * Addresses of the NPU have 32 bits. A device begins with one address space, and opens up to 15 more
 * when memory does not fit: over mainline's interface each is another open file of the node, over
 * the vendor's another of the domains of the process. Weights fill one after the other, each
 * to seven eighths; tensors go where there is room first. -ENOSPC says that no address space has
 * room for the memory; that memory itself is short, or that the driver allows no more of it
 * (:doc:`parameters`), is -ENOMEM.
 *
 * An operation runs where its weights are, and one without weights where the operation before it
 * runs. A recording is cut where that changes: npu_rec_run() has an ioctl for each part
 * (npu_rec_info.submits), and parts follow each other by the fences of the memory that they share.
 * So weights that are used in the order in which they were made need one cut per address space.
 * Tensors that are used in several are mapped in each of them, which takes addresses (the last
 * eighth is for that), but no memory. This wants a driver that imports dma-bufs. Elsewhere, and over the vendor's interface, where
 * memory belongs to one domain, each address space has a copy: npu_rec_run() then returns when
 * the run is over, and the CPU copies between the parts (npu_stats.copied).
 */

/* ---- tensors ------------------------------------------------------------- */

struct npu_tensor;

/**
 * struct npu_shape - type and size of a tensor, which is all there will be
 */
struct npu_shape {
	/**
	 * @type: INT8, FP16, BF16 or INT4; INT32, FP32 and INT16 for results only. INT4 has an even
	 * number of columns
	 */
	enum npu_prec type;
	/** @rows: rows of a matrix, or positions of an image */
	/** @cols: columns of a matrix, or channels of an image */
	uint32_t rows, cols;
};

/**
 * npu_tensor_new - allocate a tensor
 * @dev: device
 * @type: type of the elements
 * @rows: at least 1
 * @cols: at least 1
 * @out: the tensor; its elements are 0
 *
 * The memory holds rows in multiples of 4, unless there is only one, and columns in
 * multiples of 32.
 *
 * Return: 0, -EINVAL for a bad type or size, or if the tensor exceeds 2 GiB; -ENOMEM; -ENOSPC
 * if no address space has room; or another errno of the driver.
 */
int npu_tensor_new(struct npu_dev *dev, enum npu_prec type, uint32_t rows, uint32_t cols,
		   struct npu_tensor **out);

/**
 * npu_tensor_free - free a tensor or a view
 * @t: tensor, or NULL
 *
 * The memory lives on while a view or a recording uses it.
 */
void npu_tensor_free(struct npu_tensor *t);

/**
 * npu_tensor_view - part of a tensor, without a copy
 * @t: tensor or view
 * @row: first row
 * @rows: number of rows
 * @col: first column
 * @ncols: number of columns
 * @out: the view, which shares the memory of @t
 *
 * Views of columns are how operations write into one concatenated tensor, and how a
 * tensor is split. The layout allows a single row, or rows from a multiple of 4 that are
 * a multiple of 4 or go to the last row; and columns from a multiple of 32 that are a
 * multiple of 32 or go to the last column.
 *
 * Return: 0, -EINVAL for a part that is not in @t or that the layout does not allow,
 * -ENOMEM.
 */
int npu_tensor_view(const struct npu_tensor *t, uint32_t row, uint32_t rows, uint32_t col,
		    uint32_t ncols, struct npu_tensor **out);

/**
 * npu_tensor_import - a tensor in the memory of a dma-buf, without a copy
 * @dev: device
 * @fd: dma-buf; it can be closed afterwards
 * @offset: where the tensor begins in it, a multiple of 16
 * @type: type of the elements
 * @rows: rows
 * @cols: columns
 * @out: the tensor
 *
 * The memory is in the NPU's layout, and as large as npu_tensor_bytes() says. From the last column
 * to the next multiple of 32 it holds 0, as that of tensors does: products read that far, and leave it out by
 * weights of 0, which an infinity there would spoil. npu_tensor_write() clears up to 16 bytes of a row.
 * An INT8 tensor that products read wants 32 KiB more: the NPU has been seen to read that far
 * behind it (rocket-userspace), and faults where nothing is mapped.
 * npu_tensor_write() and npu_tensor_read() work if it is the NPU driver's own.
 *
 * The device may have the memory already, by an earlier import or because it exported it: it is the same memory then,
 * which lives until the last tensor in it is freed, and recordings know that such tensors overlap.
 *
 * Return: 0, -EINVAL for a bad type, size or offset, or memory that is too small or that
 * the NPU cannot use; -EOPNOTSUPP, -ENOMEM, or another errno of the driver.
 */
int npu_tensor_import(struct npu_dev *dev, int fd, uint64_t offset, enum npu_prec type,
		      uint32_t rows, uint32_t cols, struct npu_tensor **out);

/**
 * npu_tensor_export - share the memory of a tensor
 * @t: tensor, or a view of all rows of one
 * @fd: a dma-buf; the caller owns it, and passes it on to another process or driver
 * @offset: where the tensor begins in it
 *
 * With these and the tensor's type and size npu_tensor_import() of another device has the same
 * elements, without a copy. The dma-buf is all of the memory: also what other views show.
 *
 * Over mainline's interface work is ordered by the fences of the memory, whoever submits it: who reads
 * it waits for all cores of a recording that write it (see npu_rec_run()). Where such a recording is running
 * the first export of the memory returns when the run is over. Over the vendor's interface
 * the two sides have to tell each other.
 *
 * Return: 0, -EINVAL for a view of some rows, -EOPNOTSUPP over the vendor's interface for a tensor
 * beyond the first address space, or an errno of the driver.
 */
int npu_tensor_export(const struct npu_tensor *t, int *fd, uint64_t *offset);

/**
 * npu_tensor_bytes - memory that a tensor takes in the NPU's layout
 * @type: type of the elements
 * @rows: rows
 * @cols: columns
 *
 * Return: bytes, 0 for a bad type or size.
 */
uint64_t npu_tensor_bytes(enum npu_prec type, uint32_t rows, uint32_t cols);

/**
 * npu_tensor_shape - type and size of a tensor
 * @t: tensor
 *
 * Return: the shape.
 */
struct npu_shape npu_tensor_shape(const struct npu_tensor *t);

/**
 * npu_tensor_write - lay out row-major elements in a tensor
 * @t: tensor or view
 * @src: elements of the tensor's type
 * @ld: elements from row to row in @src, 0 = dense
 *
 * Waits for recordings that use the tensor. Where the last 16 bytes of a row are not full, their
 * rest becomes 0.
 *
 * Return: 0, -EINVAL for @ld below the columns, or an errno of the driver.
 */
int npu_tensor_write(struct npu_tensor *t, const void *src, size_t ld);

/**
 * npu_tensor_read - copy a tensor to row-major memory
 * @t: tensor or view
 * @dst: elements of the tensor's type
 * @ld: elements from row to row in @dst, 0 = dense
 *
 * Waits for recordings that use the tensor.
 *
 * Return: 0, -EINVAL for @ld below the columns, or an errno of the driver; among them
 * that of a job that should have written the tensor, see npu_cause_of_errno().
 */
int npu_tensor_read(struct npu_tensor *t, void *dst, size_t ld);

/**
 * npu_tensor_write_f32 - npu_tensor_write() from floats
 * @t: tensor or view of INT8, FP16, BF16 or FP32
 * @src: numbers
 * @ld: elements from row to row in @src, 0 = dense
 * @scale: a number is an element times this, above 0
 *
 * Quotients are rounded to nearest even, and saturate in INT8. NaN is 0 in INT8.
 *
 * Return: as npu_tensor_write(), and -EINVAL for other types or a bad scale.
 */
int npu_tensor_write_f32(struct npu_tensor *t, const float *src, size_t ld, float scale);

/**
 * npu_tensor_read_f32 - npu_tensor_read() to floats
 * @t: tensor or view
 * @dst: numbers
 * @ld: elements from row to row in @dst, 0 = dense
 * @scale: a number is an element times this, above 0
 *
 * Return: as npu_tensor_read(), and -EINVAL for INT4 or a bad scale.
 */
int npu_tensor_read_f32(struct npu_tensor *t, float *dst, size_t ld, float scale);

/**
 * npu_tensor_read_scaled - npu_tensor_read_f32() with a scale for each column
 * @t: tensor or view
 * @dst: numbers
 * @ld: elements from row to row in @dst, 0 = dense
 * @scale: for each column of @t: a number is an element times this
 * @add: add the numbers to those in @dst
 *
 * For weights with a scale for each row of theirs. Where groups of their columns have scales, there is a product for
 * each group (npu_weights_part()), of a view of the operand, and @add sums up what they give.
 *
 * Return: as npu_tensor_read(), and -EINVAL for INT4.
 */
int npu_tensor_read_scaled(struct npu_tensor *t, float *dst, size_t ld, const float *scale, bool add);

/**
 * npu_tensor_argmax - where the largest element of each row is
 * @t: tensor or view
 * @col: a column for each row; of equal elements the first one
 *
 * On the CPU. NaN is no element; a row of nothing else has column 0.
 *
 * Return: as npu_tensor_read(), and -EINVAL for INT4.
 */
int npu_tensor_argmax(struct npu_tensor *t, uint32_t *col);

/* ---- weights ------------------------------------------------------------- */

struct npu_weights;

/**
 * struct npu_weights_desc - weights of y = x * W^T + bias
 */
struct npu_weights_desc {
	/** @size: sizeof(struct npu_weights_desc) */
	size_t size;
	/**
	 * @type: INT8, FP16, BF16 or INT4. The operand has the same type, but for INT4 on an RK3576, where
	 * it is FP16: no mode of the NPU that is known multiplies INT4 weights with INT8. Of INT4, @n is a
	 * multiple of 64, @k and @ld are even, @k is at most 4096 without @part, and there is no @bias and no @rq
	 */
	enum npu_prec type;
	/** @n: columns of the result */
	/** @k: columns of the input; above 4096 see npu_rec_matmul() */
	uint32_t n, k;
	/** @is_kn: the source is [k][n]; default [n][k] */
	bool is_kn;
	/** @ld: elements from row to row of the source, 0 = dense */
	size_t ld;
	/**
	 * @bias: n values that are added to each row of the result, int32_t for INT8 and
	 * float for others; or NULL. Copied. INT8 wants a requantisation then: no mode is known
	 * that adds to an INT32 result
	 */
	const void *bias;
	/** @rq: for INT8 results of INT8 weights; scale 0 = results are INT32 */
	struct npu_requant rq;
	/**
	 * @part: columns of each part that npu_weights_part() gives, but for the last one: a multiple of 32 up to
	 * 4096. 0 = as many as a product takes. Without @bias and @rq
	 */
	uint32_t part;
};

/**
 * npu_weights_new - pack weights into memory of the NPU
 * @dev: device
 * @desc: shape and type
 * @src: elements; not needed after the call
 * @out: the weights
 *
 * Return: 0, -EINVAL for a bad description, among them INT8 with @desc->bias and without
 * @desc->rq; -EOPNOTSUPP for one of a newer library; -E2BIG if they exceed 2 GiB, -ERANGE for a
 * requantisation out of range, -ENOMEM, -ENOSPC if no address space has room, or another errno of
 * the driver.
 */
int npu_weights_new(struct npu_dev *dev, const struct npu_weights_desc *desc, const void *src,
		    struct npu_weights **out);

/**
 * npu_weights_free - free weights
 * @w: weights, or NULL
 *
 * The memory lives on while a recording uses it.
 */
void npu_weights_free(struct npu_weights *w);

/**
 * npu_weights_part - weights of some of the columns, without a copy
 * @w: weights with npu_weights_desc.part
 * @i: which part
 * @out: the part, which shares the memory of @w
 *
 * For weights whose columns have scales by groups, and for a chip on which one product does not take all of them: each
 * part multiplies a view of the operand.
 *
 * Return: 0, -EINVAL for weights without parts or with fewer, -ENOMEM.
 */
int npu_weights_part(const struct npu_weights *w, uint32_t i, struct npu_weights **out);

/* ---- address spaces -------------------------------------------------------- */

/**
 * npu_limit_space - use less of each address space
 * @dev: device
 * @bytes: most bytes of tensors, weights and recordings in one, 0 = 4 GiB
 *
 * It holds for what is allocated from now on, and is for tests and for those who fill an address
 * space with memory of their own, too (npu_bo_alloc()).
 */
void npu_limit_space(struct npu_dev *dev, uint64_t bytes);

/**
 * npu_reserve_spaces - open address spaces before they are needed
 * @dev: device
 * @n: how many there are to be, at most 16; fewer than there are already changes nothing
 *
 * Over mainline's interface each is an open file, so memory for which another one has to be opened
 * fails with -EACCES after a program has given up the right to open the node. Such a program calls this
 * first. No path is looked up again, and a device that is gone is not mistaken for another one with
 * its number: that is -ENODEV.
 *
 * Return: 0, -EINVAL for more than 16, or an errno of the open() or ioctl() that failed.
 */
int npu_reserve_spaces(struct npu_dev *dev, uint32_t n);

/* ---- counters ------------------------------------------------------------ */

/**
 * struct npu_stats - what a device was given since it was opened
 */
struct npu_stats {
	/** @size: sizeof(struct npu_stats) */
	size_t size;
	/** @packed: bytes of elements that npu_tensor_write() laid out */
	uint64_t packed;
	/** @unpacked: bytes of elements that npu_tensor_read() copied back */
	uint64_t unpacked;
	/** @weights: bytes of elements that npu_weights_new() packed */
	uint64_t weights;
	/** @programmed: bytes of register programs of recordings */
	uint64_t programmed;
	/** @runs: recordings started */
	uint64_t runs;
	/** @copied: bytes that the CPU copied from one address space to another */
	uint64_t copied;
	/** @spaces: address spaces open now, at least 1 */
	uint32_t spaces;
};

/**
 * npu_stats - ask for the counters
 * @dev: device
 * @s: filled, but for its size
 *
 * Return: 0, -EINVAL for a bad size of @s.
 */
int npu_stats(struct npu_dev *dev, struct npu_stats *s);

#ifdef __cplusplus
}
#endif

#endif /* NPU_TENSOR_H */
