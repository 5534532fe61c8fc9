// SPDX-License-Identifier: MIT
/*
 * Tensors: memory in the NPU's layout, views of it, and copies from and to row-major
 * memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npu_compute.h"

/* Whatever the chip. */
#define IMPORT_ALIGN	16u

static bool known_type(enum npu_prec type)
{
	return type == NPU_PREC_INT8 || type == NPU_PREC_FP16 || type == NPU_PREC_BF16 ||
	       type == NPU_PREC_INT32 || type == NPU_PREC_FP32 || type == NPU_PREC_INT4 ||
	       type == NPU_PREC_INT16;
}

uint64_t npu_tensor_bytes(enum npu_prec type, uint32_t rows, uint32_t cols)
{
	/* The product must not wrap. */
	if (!known_type(type) || !rows || !cols || rows > INT32_MAX || cols > INT32_MAX / 4)
		return 0;
	/* Rows are read and written in whole bytes. */
	if (type == NPU_PREC_INT4 && cols % 2)
		return 0;
	return npu_rows_stored(rows) * (round_up(cols, NPU_TENSOR_COLS) * npu_prec_bits(type) / 8);
}

static struct npu_tensor *tensor_new(struct npu_dev *dev, struct npu_mem *mem,
				     struct npu_shape shape, uint32_t pitch, uint64_t offset)
{
	struct npu_tensor *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct npu_tensor){
		.dev = dev, .mem = mem, .shape = shape, .pitch = pitch, .offset = offset,
	};
	return t;
}

struct npu_tensor *npu_tensor_take(struct npu_dev *dev, struct npu_mem *mem, struct npu_shape shape)
{
	struct npu_tensor *t = tensor_new(dev, mem, shape, npu_rows_stored(shape.rows), 0);

	if (!t)
		npu_mem_put(mem);
	return t;
}

size_t npu_tensor_alloc_bytes(struct npu_shape shape)
{
	uint64_t bytes = npu_tensor_bytes(shape.type, shape.rows, shape.cols);

	return !bytes || bytes > NPU_MEM_MAX - NPU_FEATURE_SLACK ? 0 : (size_t)bytes + NPU_FEATURE_SLACK;
}

int npu_tensor_new(struct npu_dev *dev, enum npu_prec type, uint32_t rows, uint32_t cols,
		   struct npu_tensor **out)
{
	struct npu_shape shape = { .type = type, .rows = rows, .cols = cols };
	size_t bytes = npu_tensor_alloc_bytes(shape);
	struct npu_tensor *t;
	struct npu_mem *mem;
	int ret;

	if (!bytes)
		return -EINVAL;
	ret = npu_mem_new(dev, bytes, &mem);
	if (ret)
		return ret;
	t = npu_tensor_take(dev, mem, shape);
	if (!t)
		return -ENOMEM;
	*out = t;
	return 0;
}

int npu_tensor_in(struct npu_dev *dev, struct npu_mem *mem, struct npu_shape shape,
		  struct npu_tensor **out)
{
	*out = tensor_new(dev, mem, shape, npu_rows_stored(shape.rows), 0);
	if (!*out)
		return -ENOMEM;
	npu_mem_get(mem);
	return 0;
}

int npu_tensor_import(struct npu_dev *dev, int fd, uint64_t offset, enum npu_prec type,
		      uint32_t rows, uint32_t cols, struct npu_tensor **out)
{
	struct npu_shape shape = { .type = type, .rows = rows, .cols = cols };
	uint64_t bytes = npu_tensor_bytes(type, rows, cols);
	struct npu_mem *mem;
	struct npu_tensor *t;
	int ret;

	if (!bytes || bytes > NPU_MEM_MAX || offset % IMPORT_ALIGN)
		return -EINVAL;
	ret = npu_mem_import(dev, fd, &mem);
	if (ret)
		return ret;
	if (mem->bo->size < bytes || offset > mem->bo->size - bytes)
		ret = -EINVAL;
	t = ret ? NULL : tensor_new(dev, mem, shape, npu_rows_stored(rows), offset);
	if (!t) {
		npu_mem_put(mem);
		return ret ? ret : -ENOMEM;
	}
	*out = t;
	return 0;
}

int npu_tensor_export(const struct npu_tensor *t, int *fd, uint64_t *offset)
{
	int ret;

	/* Who imports it takes its rows to be all that there are. */
	if (t->pitch != npu_rows_stored(t->shape.rows))
		return -EINVAL;
	/* And can only guess domain 0. */
	if (npu_is_vendor(t->dev) && t->mem->space)
		return -EOPNOTSUPP;
	ret = npu_bo_export(t->mem->bo, fd);
	if (ret)
		return ret;
	/* A run that is under way has no job that others could wait for, see npu_rec_join.c. */
	if (!t->mem->foreign && t->mem->last && t->mem->last_shared)
		npu_bo_prep(t->mem->bo, -1);
	t->mem->foreign = true;
	*offset = t->offset;
	return 0;
}

void npu_tensor_free(struct npu_tensor *t)
{
	if (!t)
		return;
	npu_mem_put(t->mem);
	free(t);
}

/* Is @n of @total from @first a part that can be read and written by itself? */
static bool part_ok(uint32_t first, uint32_t n, uint32_t total, uint32_t unit)
{
	if (!n || first >= total || n > total - first)
		return false;
	return first % unit == 0 && (n % unit == 0 || n == total - first);
}

int npu_tensor_view(const struct npu_tensor *t, uint32_t row, uint32_t rows, uint32_t col,
		    uint32_t ncols, struct npu_tensor **out)
{
	struct npu_shape shape = { .type = t->shape.type, .rows = rows, .cols = ncols };
	bool one = rows == 1 && row < t->shape.rows;
	uint64_t offset;
	struct npu_tensor *v;

	if (!(one || part_ok(row, rows, t->shape.rows, NPU_TENSOR_ROWS)) ||
	    !part_ok(col, ncols, t->shape.cols, NPU_TENSOR_COLS))
		return -EINVAL;
	offset = t->offset + npu_tensor_place(t, row, col);
	v = tensor_new(t->dev, t->mem, shape, t->pitch, offset);
	if (!v)
		return -ENOMEM;
	npu_mem_get(t->mem);
	*out = v;
	return 0;
}

struct npu_shape npu_tensor_shape(const struct npu_tensor *t)
{
	return t->shape;
}

static uint32_t surfaces(const struct npu_tensor *t)
{
	return (uint32_t)div_up(t->shape.cols, npu_tensor_lanes(t));
}

/* Rows and surfaces that tasks touch, as ranges from the start of the buffer. */
struct box {
	uint64_t row, rows, surf, surfs;
};

static struct box tensor_box(const struct npu_tensor *t)
{
	uint64_t atom = t->offset / npu_tensor_atom_bytes(t);

	return (struct box){
		.row = atom % t->pitch, .rows = npu_rows_stored(t->shape.rows),
		.surf = atom / t->pitch,
		.surfs = round_up(t->shape.cols, NPU_TENSOR_COLS) / npu_tensor_lanes(t),
	};
}

/* From its first atom to its last one. */
static uint64_t box_bytes(const struct npu_tensor *t, const struct box *b)
{
	return ((b->surfs - 1) * t->pitch + b->rows) * npu_tensor_atom_bytes(t);
}

static bool ranges_overlap(uint64_t a, uint64_t na, uint64_t b, uint64_t nb)
{
	return a < b + nb && b < a + na;
}

/* Imports may divide one memory into rows in several ways. */
static bool same_rows(const struct npu_tensor *a, const struct npu_tensor *b, const struct box *x,
		      const struct box *y)
{
	return a->pitch == b->pitch && x->row + x->rows <= a->pitch && y->row + y->rows <= a->pitch;
}

bool npu_tensor_overlap(const struct npu_tensor *a, const struct npu_tensor *b)
{
	struct box x = tensor_box(a), y = tensor_box(b);

	if (a->mem != b->mem)
		return false;
	if (!same_rows(a, b, &x, &y))
		return ranges_overlap(a->offset, box_bytes(a, &x), b->offset, box_bytes(b, &y));
	return ranges_overlap(x.row, x.rows, y.row, y.rows) && ranges_overlap(x.surf, x.surfs, y.surf, y.surfs);
}

/* What of @x is beside @y, with which it overlaps: up to four boxes. Returns how many. */
static uint32_t box_without(const struct box *x, const struct box *y, struct box *left)
{
	uint64_t row = max_u64(x->row, y->row), row_end = min_u64(x->row + x->rows, y->row + y->rows);
	uint64_t surf = max_u64(x->surf, y->surf), surf_end = min_u64(x->surf + x->surfs, y->surf + y->surfs);
	uint32_t n = 0;

	if (row > x->row)
		left[n++] = (struct box){ x->row, row - x->row, x->surf, x->surfs };
	if (row_end < x->row + x->rows)
		left[n++] = (struct box){ row_end, x->row + x->rows - row_end, x->surf, x->surfs };
	if (surf > x->surf)
		left[n++] = (struct box){ row, row_end - row, x->surf, surf - x->surf };
	if (surf_end < x->surf + x->surfs)
		left[n++] = (struct box){ row, row_end - row, surf_end, x->surf + x->surfs - surf_end };
	return n;
}

static bool box_covered(const struct npu_tensor *t, const struct box *x, const uint8_t *by, size_t stride, uint32_t n)
{
	struct box y, left[4];
	uint32_t count;

	for (; n; n--, by += stride) {
		const struct npu_tensor *b = (const struct npu_tensor *)by;

		y = tensor_box(b);
		if (b->mem != t->mem || !same_rows(t, b, x, &y) || !ranges_overlap(x->row, x->rows, y.row, y.rows) ||
		    !ranges_overlap(x->surf, x->surfs, y.surf, y.surfs))
			continue;
		count = box_without(x, &y, left);
		for (uint32_t i = 0; i < count; i++)
			if (!box_covered(t, &left[i], by + stride, stride, n - 1))
				return false;
		return true;
	}
	return false;
}

bool npu_tensor_covered(const struct npu_tensor *t, const struct npu_tensor *by, size_t stride, uint32_t n)
{
	struct box x = tensor_box(t);

	/* What fills the last columns up to 32 is not written anew. */
	x.surfs = surfaces(t);
	return box_covered(t, &x, (const uint8_t *)by, stride, n);
}

static struct npu_range byte_range(const struct npu_tensor *t)
{
	uint64_t atoms = (uint64_t)(surfaces(t) - 1) * t->pitch + t->shape.rows;

	return (struct npu_range){ .offset = t->offset, .size = atoms * npu_tensor_atom_bytes(t) };
}

int npu_tensor_begin(struct npu_tensor *t, bool write)
{
	struct npu_range range = byte_range(t);
	int ret;

	if (!npu_bo_map(t->mem->bo))
		return -errno;
	if (write && t->mem->last_out) {
		npu_bo_prep(t->mem->last_out, -1);
		t->mem->last_out = NULL;
	}
	ret = npu_bo_prep_ranges(t->mem->bo, &range, 1, -1);
	/*
	 * That an earlier job failed to write it does not keep the CPU from doing so. Of a device that is
	 * gone the end of the access says so, too.
	 */
	return write && npu_is_job_error(ret) ? 0 : ret;
}

int npu_tensor_end(struct npu_tensor *t)
{
	struct npu_range range = byte_range(t);

	return npu_bo_fini_ranges(t->mem->bo, &range, 1);
}

uint8_t *npu_tensor_atom(const struct npu_tensor *t, uint32_t surface, uint32_t row)
{
	return (uint8_t *)t->mem->bo->map + t->offset +
	       ((uint64_t)surface * t->pitch + row) * npu_tensor_atom_bytes(t);
}

/* Bytes of so many elements of a row; of 512 MiB a size_t may not hold the bits. */
static size_t row_bytes(const struct npu_tensor *t, size_t cols)
{
	return (size_t)((uint64_t)cols * npu_prec_bits(t->shape.type) / 8);
}

static uint64_t payload(const struct npu_tensor *t)
{
	return t->shape.rows * (uint64_t)row_bytes(t, t->shape.cols);
}

/* A last surface that is not full belongs to this tensor alone, so its rest is cleared. */
static inline void copy_in_atoms(struct npu_tensor *t, const uint8_t *src, size_t pitch, const size_t atom)
{
	size_t bytes = row_bytes(t, t->shape.cols);
	uint32_t n = surfaces(t);

	for (uint32_t s = 0; s < n; s++) {
		size_t at = s * atom, have = min_u64(bytes - at, atom);
		uint8_t *d = npu_tensor_atom(t, s, 0);
		const uint8_t *p = src + at;

		if (have == atom) {
			for (uint32_t r = 0; r < t->shape.rows; r++)
				memcpy(d + r * atom, p + r * pitch, atom);
			continue;
		}
		for (uint32_t r = 0; r < t->shape.rows; r++) {
			memset(d + r * atom, 0, atom);
			memcpy(d + r * atom, p + r * pitch, have);
		}
	}
}

static bool is_narrow(const struct npu_tensor *t)
{
	return npu_tensor_atom_bytes(t) == NPU_NARROW_ATOM;
}

/* Sizes that the compiler knows become moves. */
static void copy_in(struct npu_tensor *t, const uint8_t *src, size_t pitch)
{
	if (is_narrow(t))
		copy_in_atoms(t, src, pitch, NPU_NARROW_ATOM);
	else
		copy_in_atoms(t, src, pitch, NPU_WIDE_ATOM);
}

static bool ld_fits(const struct npu_tensor *t, size_t ld)
{
	return ld >= t->shape.cols && (t->shape.type != NPU_PREC_INT4 || ld % 2 == 0);
}

int npu_tensor_write(struct npu_tensor *t, const void *src, size_t ld)
{
	int ret;

	ld = ld ? ld : t->shape.cols;
	if (!ld_fits(t, ld))
		return -EINVAL;
	ret = npu_tensor_begin(t, true);
	if (ret)
		return ret;
	copy_in(t, src, row_bytes(t, ld));
	npu_dev_stats(t->dev)->packed += payload(t);
	return npu_tensor_end(t);
}

int npu_tensor_read(struct npu_tensor *t, void *dst, size_t ld)
{
	bool nibbles = t->shape.type == NPU_PREC_INT4;
	size_t bpe = nibbles ? 1 : npu_prec_bytes(t->shape.type), per = nibbles ? 2 : 1;
	int ret;

	ld = ld ? ld : t->shape.cols;
	if (!ld_fits(t, ld))
		return -EINVAL;
	ret = npu_tensor_begin(t, false);
	if (ret)
		return ret;
	(is_narrow(t) ? npu_unpack_narrow : npu_unpack_feature)(dst, ld / per, npu_tensor_atom(t, 0, 0), bpe,
								t->shape.rows, t->shape.cols / per, t->pitch);
	npu_dev_stats(t->dev)->unpacked += payload(t);
	return 0;
}
