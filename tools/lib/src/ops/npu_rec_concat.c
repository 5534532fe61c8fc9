// SPDX-License-Identifier: MIT
/*
 * Concatenation: tensors that are copied side by side, or below each other, unless they are
 * there already.
 */
#include <errno.h>

#include "npu_parts.h"

struct concat {
	const char *name;
	const struct npu_tensor *const *part;
	uint32_t n;
	const struct npu_tensor *y;
	bool rows;
};

static bool is_there(const struct npu_tensor *t, const struct npu_tensor *place)
{
	return t->mem == place->mem && t->offset == place->offset && t->pitch == place->pitch;
}

/* Where a part goes that begins at @at. */
static struct npu_tensor place_of(const struct concat *c, const struct npu_tensor *part, uint32_t at)
{
	return npu_part(c->y, c->rows ? at : 0, part->shape.rows, c->rows ? 0 : at, part->shape.cols);
}

static uint32_t length(const struct concat *c, const struct npu_tensor *t)
{
	return c->rows ? t->shape.rows : t->shape.cols;
}

/* Atoms are moved as they are, so that a part begins with one. */
static int check_part(struct npu_rec *rec, const struct concat *c, uint32_t i, uint64_t at)
{
	const struct npu_shape *t = &c->part[i]->shape, *y = &c->y->shape;
	struct npu_tensor place;

	if (t->type != y->type)
		return npu_rec_fail(rec, -EINVAL, "%s: part %u is %s, the result %s", c->name, i,
				    npu_prec_name(t->type), npu_prec_name(y->type));
	if ((c->rows ? t->cols != y->cols : t->rows != y->rows) ||
	    at + length(c, c->part[i]) > length(c, c->y))
		return npu_rec_fail(rec, -EINVAL, "%s: part %u of %u x %u does not fit %u x %u", c->name, i,
				    t->rows, t->cols, y->rows, y->cols);
	if (!c->rows && at % npu_tensor_lanes(c->y))
		return npu_rec_fail(rec, -EINVAL, "%s: part %u begins at column %u, no multiple of %u",
				    c->name, i, (uint32_t)at, npu_tensor_lanes(c->y));
	place = place_of(c, c->part[i], (uint32_t)at);
	if (!is_there(c->part[i], &place) && npu_tensor_overlap(c->part[i], c->y))
		return npu_rec_fail(rec, -EINVAL, "%s: part %u shares memory with the result", c->name, i);
	return 0;
}

static int check(struct npu_rec *rec, const struct concat *c)
{
	uint64_t at = 0;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < c->n; i++) {
		ret = check_part(rec, c, i, at);
		at += length(c, c->part[i]);
	}
	if (!ret && at != length(c, c->y))
		ret = npu_rec_fail(rec, -EINVAL, "%s: %u of %u parts, the result has %u", c->name,
				   (uint32_t)at, c->n, length(c, c->y));
	return ret;
}

struct copy {
	const struct npu_tensor *from, *to;
};

static int copy_rows(struct npu_rec *rec, const void *arg, uint32_t row, uint32_t rows)
{
	const struct copy *c = arg;
	struct npu_tensor from = npu_part(c->from, row, rows, 0, c->from->shape.cols);
	struct npu_tensor to = npu_part(c->to, row, rows, 0, c->to->shape.cols);

	return npu_rec_copy_raw(rec, &from, &to);
}

static int append(struct npu_rec *rec, const struct concat *c)
{
	int ret = npu_rec_begin(rec, c->name);
	uint32_t at = 0;

	if (!ret)
		ret = check(rec, c);
	for (uint32_t i = 0; !ret && i < c->n; i++) {
		struct npu_tensor place = place_of(c, c->part[i], at);
		struct copy copy = { c->part[i], &place };

		if (!is_there(c->part[i], &place))
			ret = npu_rec_by_rows(rec, place.shape.rows, &copy, copy_rows);
		at += length(c, c->part[i]);
	}
	return ret ? ret : npu_rec_commit(rec);
}

int npu_rec_concat_cols(struct npu_rec *rec, const struct npu_tensor *const *parts, uint32_t n,
			struct npu_tensor *y)
{
	return append(rec, &(struct concat){ "concat columns", parts, n, y, false });
}

int npu_rec_concat_rows(struct npu_rec *rec, const struct npu_tensor *const *parts, uint32_t n,
			struct npu_tensor *y)
{
	return append(rec, &(struct concat){ "concat rows", parts, n, y, true });
}
