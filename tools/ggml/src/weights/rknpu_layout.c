// SPDX-License-Identifier: MIT
/*
 * Owns the layouts in which ggml's CPU backend keeps weights that it multiplies: its buffers for them rearrange what is
 * written. Which bit goes where depends on the CPU and on the version of ggml, so it is learnt: patterns are written and
 * looked at. A layout is used if what was learnt of a few rows undoes others, byte for byte.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_weights.h"

/* The CPU backend rearranges rows in groups, of which a power of 2 up to this is a multiple. */
#define MOST_ROWS	16
/* Of the matrix that what was learnt is tried with: as many times the blocks and rows of the one that it was learnt from. */
#define TRIED	3

/* Bits that go from one byte to another: those of @mask, when they are @left places further left. */
struct move {
	uint16_t from, to;
	int8_t left;
	uint8_t mask;
};

/* Of a row: where its moves begin, which are of one of its blocks. */
struct rknpu_layout {
	ggml_backend_buffer_type_t buffer_type;
	enum ggml_type type;
	int64_t least;		/* rows of matrices with that layout are a multiple of this and of no more, up to MOST_ROWS */
	uint32_t rows;		/* of a group; 0 if nobody knows the layout */
	size_t block;		/* bytes */
	struct move *moves;
	size_t first[MOST_ROWS + 1];
	uint8_t *flip;		/* bits of a block of each row that are turned over */
	struct rknpu_layout *next;
};

/* ---- the CPU backend ---- */

static ggml_backend_dev_t the_cpu(void)
{
	return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
}

static const ggml_backend_buffer_type_t *extra_types(void)
{
	static const ggml_backend_buffer_type_t none;
	ggml_backend_dev_t cpu = the_cpu();
	ggml_backend_dev_get_extra_bufts_t get = NULL;

	if (cpu)
		get = (ggml_backend_dev_get_extra_bufts_t)ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu),
											   "ggml_backend_dev_get_extra_bufts");
	return get ? get(cpu) : &none;
}

bool rknpu_is_cpu_extra(ggml_backend_buffer_type_t type)
{
	const ggml_backend_buffer_type_t *extra = extra_types();

	while (*extra && *extra != type)
		extra++;
	return *extra;
}

/* Would the CPU backend compute that with its weights in a buffer of this type? */
static bool cpu_takes(const struct ggml_tensor *op, ggml_backend_buffer_type_t type)
{
	struct ggml_tensor w = *op->src[0], asked = *op;
	ggml_backend_buffer_t dummy = ggml_backend_buft_alloc_buffer(type, 0);
	bool takes;

	if (!dummy)
		return false;
	w.buffer = dummy;
	asked.src[0] = &w;
	takes = ggml_backend_dev_supports_op(the_cpu(), &asked);
	ggml_backend_buffer_free(dummy);
	return takes;
}

/* ---- patterns ---- */

static struct ggml_context *context(void)
{
	struct ggml_init_params params = { .mem_size = 8 * ggml_tensor_overhead(), .no_alloc = true };

	return ggml_init(params);
}

/* What becomes of the matrix @in in a buffer of that type; false if nobody rearranges it. */
static bool rearrange_in(struct ggml_context *ctx, struct ggml_tensor *w, ggml_backend_buffer_type_t type, const void *in,
			 void *out)
{
	struct ggml_tensor *x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, w->ne[0], 1);
	ggml_backend_buffer_t buffer;
	bool ok;

	if (!cpu_takes(ggml_mul_mat(ctx, w, x), type))
		return false;
	buffer = ggml_backend_buft_alloc_buffer(type, ggml_nbytes(w));
	if (!buffer)
		return false;
	ok = ggml_backend_tensor_alloc(buffer, w, ggml_backend_buffer_get_base(buffer)) == GGML_STATUS_SUCCESS;
	if (ok) {
		ggml_backend_tensor_set(w, in, 0, ggml_nbytes(w));
		memcpy(out, w->data, ggml_nbytes(w));
	}
	ggml_backend_buffer_free(buffer);
	return ok;
}

static bool rearrange(const struct rknpu_layout *l, int64_t blocks, int64_t rows, const void *in, void *out)
{
	struct ggml_context *ctx = context();
	bool ok = false;

	if (ctx)
		ok = rearrange_in(ctx, ggml_new_tensor_2d(ctx, l->type, blocks * ggml_blck_size(l->type), rows),
				  l->buffer_type, in, out);
	ggml_free(ctx);
	return ok;
}

/* ---- what is learnt ---- */

static bool bit(const uint8_t *bytes, size_t i)
{
	return bytes[i / 8] >> i % 8 & 1;
}

/*
 * For each bit of the rearranged rows the one that it was, in @was: pattern p has the bits whose number has bit p. @zeros is
 * what becomes of zeros.
 */
static bool watch(const struct rknpu_layout *l, uint32_t *was, uint8_t *zeros)
{
	size_t bytes = (size_t)l->least * l->block, bits = 8 * bytes;
	uint8_t *in = calloc(2, bytes), *out = in ? in + bytes : NULL;
	bool ok = in && rearrange(l, 1, l->least, in, zeros);

	memset(was, 0, bits * sizeof(*was));
	for (unsigned int p = 0; ok && bits >> p; p++) {
		memset(in, 0, bytes);
		for (size_t i = 0; i < bits; i++)
			in[i / 8] |= (uint8_t)((i >> p & 1) << i % 8);
		ok = rearrange(l, 1, l->least, in, out);
		for (size_t i = 0; ok && i < bits; i++)
			was[i] |= (uint32_t)(bit(out, i) ^ bit(zeros, i)) << p;
	}
	free(in);
	return ok;
}

/* @is[i] is where bit i went; false if two went to one place, as when numbers were computed. */
static bool turn(const uint32_t *was, uint32_t *is, size_t bits)
{
	memset(is, 0xff, bits * sizeof(*is));
	for (size_t i = 0; i < bits; i++) {
		if (was[i] >= bits || is[was[i]] != UINT32_MAX)
			return false;
		is[was[i]] = (uint32_t)i;
	}
	return true;
}

/* Do groups of so many rows keep their bits? */
static bool keeps_groups(const struct rknpu_layout *l, const uint32_t *is, uint32_t rows)
{
	size_t bits = 8 * rows * l->block;

	for (size_t i = 0; i < 8 * (size_t)l->least * l->block; i++)
		if (i / bits != is[i] / bits)
			return false;
	return true;
}

/* One more move of row @r, of which there are @n; bits that go together are one. */
static void add_bit(struct rknpu_layout *l, uint32_t r, size_t *n, size_t from, size_t to)
{
	struct move m = {
		.from = (uint16_t)(from / 8), .to = (uint16_t)(to / 8), .left = (int8_t)((int)(to % 8) - (int)(from % 8)),
		.mask = (uint8_t)(1 << to % 8),
	};

	/* Those of a byte are neighbours. */
	for (size_t i = *n; i-- > l->first[r] && l->moves[i].to == m.to;) {
		struct move *old = &l->moves[i];

		if (old->from == m.from && old->left == m.left) {
			old->mask |= m.mask;
			return;
		}
	}
	l->moves[(*n)++] = m;
}

static bool keep(struct rknpu_layout *l, const uint32_t *is, const uint8_t *zeros)
{
	size_t row = 8 * l->block, n = 0;

	l->moves = malloc(l->rows * row * sizeof(*l->moves));
	l->flip = calloc(l->rows, l->block);
	if (!l->moves || !l->flip)
		return false;
	for (size_t i = 0; i < l->rows * row; i++) {
		if (i % row == 0)
			l->first[i / row] = n;
		add_bit(l, (uint32_t)(i / row), &n, is[i], i % row);
		l->flip[i / 8] |= (uint8_t)(bit(zeros, is[i]) << i % 8);
	}
	l->first[l->rows] = n;
	return true;
}

static bool learn(struct rknpu_layout *l)
{
	size_t bytes = (size_t)l->least * l->block, bits = 8 * bytes;
	uint32_t *was = malloc(2 * bits * sizeof(*was)), *is = was ? was + bits : NULL;
	uint8_t *zeros = malloc(bytes);
	bool ok = was && zeros && bytes <= UINT16_MAX && watch(l, was, zeros) && turn(was, is, bits);

	l->rows = 1;
	while (ok && !keeps_groups(l, is, l->rows))
		l->rows *= 2;
	ok = ok && keep(l, is, zeros);
	free(was);
	free(zeros);
	return ok;
}

void rknpu_layout_undo(const struct rknpu_layout *l, const void *group, size_t blocks, void *plain)
{
	size_t stride = l->rows * l->block;

	for (uint32_t r = 0; r < l->rows; r++)
		for (size_t b = 0; b < blocks; b++) {
			uint8_t *to = (uint8_t *)plain + (r * blocks + b) * l->block;
			const uint8_t *from = (const uint8_t *)group + b * stride;

			memcpy(to, l->flip + r * l->block, l->block);
			for (size_t i = l->first[r]; i < l->first[r + 1]; i++) {
				const struct move *m = &l->moves[i];
				unsigned int byte = from[m->from];

				to[m->to] ^= (uint8_t)(m->left < 0 ? byte >> -m->left : byte << m->left) & m->mask;
			}
		}
}

/* Of other bytes, more rows and more blocks. */
static bool undoes(const struct rknpu_layout *l)
{
	int64_t rows = TRIED * l->least;
	size_t bytes = TRIED * l->block * (size_t)rows, group = TRIED * l->block * l->rows;
	uint8_t *in = malloc(3 * bytes), *out = in ? in + bytes : NULL, *plain = in ? in + 2 * bytes : NULL;
	uint32_t seed = 1;
	bool ok = in;

	for (size_t i = 0; ok && i < bytes; i++) {
		seed = seed * 1664525u + 1013904223u;
		in[i] = (uint8_t)(seed >> 24);
	}
	ok = ok && rearrange(l, TRIED, rows, in, out);
	for (size_t at = 0; ok && at < bytes; at += group)
		rknpu_layout_undo(l, out + at, TRIED, plain + at);
	ok = ok && !memcmp(in, plain, bytes);
	free(in);
	return ok;
}

/* ---- layouts that are known ---- */

static int64_t least_of(int64_t rows)
{
	int64_t n = rows & -rows;

	return n > MOST_ROWS ? MOST_ROWS : n;
}

static const struct rknpu_layout *find(struct rknpu_context *ctx, ggml_backend_buffer_type_t buffer_type, enum ggml_type type,
				       int64_t rows)
{
	struct rknpu_layout *l = ctx->layouts;

	while (l && !(l->buffer_type == buffer_type && l->type == type && l->least == least_of(rows)))
		l = l->next;
	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->buffer_type = buffer_type;
	l->type = type;
	l->least = least_of(rows);
	l->block = ggml_type_size(type);
	if (!learn(l) || !undoes(l)) {
		free(l->moves);
		free(l->flip);
		l->rows = 0;
	}
	l->next = ctx->layouts;
	ctx->layouts = l;
	return l;
}

static const struct rknpu_layout *layout_of(struct rknpu_context *ctx, ggml_backend_buffer_type_t buffer_type,
					    const struct ggml_tensor *w)
{
	const struct rknpu_layout *l;

	pthread_mutex_lock(&ctx->layouts_lock);
	l = find(ctx, buffer_type, w->type, w->ne[1]);
	pthread_mutex_unlock(&ctx->layouts_lock);
	return l && l->rows ? l : NULL;
}

const struct rknpu_layout *rknpu_layout_of(struct rknpu_context *ctx, const struct ggml_tensor *w)
{
	ggml_backend_buffer_t buffer = w->view_src ? w->view_src->buffer : w->buffer;

	return buffer && rknpu_is_cpu_extra(buffer->type) ? layout_of(ctx, buffer->type, w) : NULL;
}

bool rknpu_is_readable(struct rknpu_context *ctx, const struct ggml_tensor *w)
{
	ggml_backend_buffer_t buffer = w->view_src ? w->view_src->buffer : w->buffer;

	return !buffer || ggml_backend_buffer_is_host(buffer) || (!w->view_src && rknpu_layout_of(ctx, w));
}

bool rknpu_is_rearranged(struct rknpu_context *ctx, const struct ggml_tensor *op)
{
	const ggml_backend_buffer_type_t *extra = extra_types();

	while (*extra && !cpu_takes(op, *extra))
		extra++;
	return *extra && layout_of(ctx, *extra, op->src[0]);
}

uint32_t rknpu_layout_rows(const struct rknpu_layout *l)
{
	return l->rows;
}
