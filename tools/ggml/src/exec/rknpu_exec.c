// SPDX-License-Identifier: MIT
/* Owns the open NPU, the tensors that recordings share, and the recordings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_exec.h"

/* Recordings that the same weights keep, or attention: of whole batches, and of the last one of a prompt. */
#define KEPT	2

/* Rows of recordings are multiples of that; those of views are of npu_tensor_view()'s. */
#define ROWS_STEP	32u
#define VIEW_ROWS	4u

/* A tensor that every recording may use while it runs. */
struct rknpu_scratch {
	struct npu_tensor *tensor;
	struct npu_shape shape;
	uint32_t which;
	unsigned int users;
	struct rknpu_scratch *next;
};

/* Of a product on a chip where libnpu does not add up several (npu_can_multiply()). */
#define MOST_COLUMNS	4096u

/* ---- the NPU ---- */

/* Results keep all bits of sums: of fp16 fp32, of int8 int32. */
static struct rknpu_can ask(struct npu_dev *npu)
{
	struct rknpu_can can = {
		.fp16 = npu_can_multiply(npu, NPU_PREC_FP16, NPU_PREC_FP32),
		.int8 = npu_can_multiply(npu, NPU_PREC_INT8, NPU_PREC_INT32),
		.int4 = npu_can_multiply(npu, NPU_PREC_INT4, NPU_PREC_FP32),
	};

	can.columns = can.fp16 ? UINT32_MAX : MOST_COLUMNS;
	/* Cores that share a CBUF: on boards both at once were wrong (gregordinary), or right (gahingwoo, with windows). */
	can.cores = can.fp16 ? NPU_MAX_CORES : 1;
	return can;
}

int rknpu_open(struct rknpu_context *ctx)
{
	struct npu_version v = { .size = sizeof(v) };
	int ret;

	if (ctx->npu)
		return 0;
	ret = npu_open(NULL, &ctx->npu);
	if (ret)
		return ret;
	ctx->can = ask(ctx->npu);
	if (!ctx->can.fp16 && !ctx->can.int8) {
		npu_close(ctx->npu);
		ctx->npu = NULL;
		return -EOPNOTSUPP;
	}
	if (npu_version(ctx->npu, &v))
		v.name[0] = 0;
	snprintf(ctx->description, sizeof(ctx->description), "Rockchip NPU, %.48s, driver %.16s", npu_path(ctx->npu),
		 v.name);
	return 0;
}

void rknpu_get_stats(struct rknpu_context *ctx, struct rknpu_ggml_stats *stats)
{
	struct npu_stats n = { .size = sizeof(n) };

	*stats = ctx->stats;
	if (!ctx->npu)
		return;
	npu_stats(ctx->npu, &n);
	stats->moved_in += n.packed;
	stats->moved_out += n.unpacked;
	stats->spaces = n.spaces;
}

/* ---- tensors that recordings share ---- */

static bool same_tensor(const struct rknpu_scratch *p, const struct npu_shape *shape, uint32_t which)
{
	return p->shape.type == shape->type && p->shape.rows == shape->rows &&
	       p->shape.cols == shape->cols && p->which == which;
}

int rknpu_run_tensor(struct rknpu_run *run, uint32_t i, struct npu_shape shape, uint32_t which)
{
	struct rknpu_context *ctx = run->ctx;
	struct rknpu_scratch *p;
	int ret;

	for (p = ctx->scratch; p; p = p->next)
		if (same_tensor(p, &shape, which)) {
			p->users++;
			run->t[i] = p->tensor;
			return 0;
		}
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	ret = npu_tensor_new(ctx->npu, shape.type, shape.rows, shape.cols, &p->tensor);
	if (ret) {
		free(p);
		return ret;
	}
	p->shape = shape;
	p->which = which;
	p->users = 1;
	p->next = ctx->scratch;
	ctx->scratch = p;
	run->t[i] = p->tensor;
	return 0;
}

uint32_t rknpu_run_rows(uint32_t m)
{
	/* An answer's row would cost as much as 32. */
	return m == 1 ? 1 : (m + ROWS_STEP - 1) / ROWS_STEP * ROWS_STEP;
}

static size_t element_bytes(enum npu_prec type)
{
	return type == NPU_PREC_INT8 ? sizeof(int8_t) : type == NPU_PREC_FP16 ? sizeof(uint16_t) : sizeof(uint32_t);
}

static int move_view(struct npu_tensor *t, uint32_t row, uint32_t rows, void *memory, size_t ld, bool write)
{
	struct npu_tensor *view;
	int ret = npu_tensor_view(t, row, rows, 0, npu_tensor_shape(t).cols, &view);

	if (ret)
		return ret;
	ret = write ? npu_tensor_write(view, memory, ld) : npu_tensor_read(view, memory, ld);
	npu_tensor_free(view);
	return ret;
}

/* Rows from @row to @m, too few for a view: by way of memory that has enough. */
static int move_rest(struct npu_tensor *t, uint32_t row, uint32_t m, char *memory, size_t pitch, bool write)
{
	size_t bytes = npu_tensor_shape(t).cols * element_bytes(npu_tensor_shape(t).type);
	char *rest = calloc(VIEW_ROWS, bytes);
	int ret = rest ? 0 : -ENOMEM;

	for (uint32_t i = 0; !ret && write && i < m - row; i++)
		memcpy(rest + i * bytes, memory + i * pitch, bytes);
	if (!ret)
		ret = move_view(t, row, VIEW_ROWS, rest, 0, write);
	for (uint32_t i = 0; !ret && !write && i < m - row; i++)
		memcpy(memory + i * pitch, rest + i * bytes, bytes);
	free(rest);
	return ret;
}

static int move_rows(struct npu_tensor *t, uint32_t m, char *memory, size_t ld, bool write)
{
	struct npu_shape shape = npu_tensor_shape(t);
	uint32_t whole = m == shape.rows ? m : m / VIEW_ROWS * VIEW_ROWS;
	size_t pitch = (ld ? ld : shape.cols) * element_bytes(shape.type);
	int ret = whole ? move_view(t, 0, whole, memory, ld, write) : 0;

	return ret || whole == m ? ret : move_rest(t, whole, m, memory + whole * pitch, pitch, write);
}

int rknpu_write_rows(struct npu_tensor *t, uint32_t m, const void *src, size_t ld)
{
	return move_rows(t, m, (char *)src, ld, true);
}

int rknpu_read_rows(struct npu_tensor *t, uint32_t m, void *dst, size_t ld)
{
	return move_rows(t, m, dst, ld, false);
}

static void put_tensor(struct rknpu_context *ctx, struct npu_tensor *t)
{
	struct rknpu_scratch **at = &ctx->scratch, *p;

	while (*at && (*at)->tensor != t)
		at = &(*at)->next;
	p = *at;
	if (!p || --p->users)
		return;
	*at = p->next;
	npu_tensor_free(p->tensor);
	free(p);
}

/* ---- recordings ---- */

static void run_free(struct rknpu_run *run)
{
	npu_rec_free(run->rec);
	for (uint32_t i = 0; i < RKNPU_MOST_TENSORS; i++)
		if (run->t[i])
			put_tensor(run->ctx, run->t[i]);
	free(run);
}

static bool has(const struct rknpu_run *run, const struct rknpu_weights *w)
{
	for (uint32_t i = 0; i < run->n; i++)
		if (run->w[i] == w)
			return true;
	return false;
}

void rknpu_runs_free(struct rknpu_context *ctx, const struct rknpu_weights *w)
{
	struct rknpu_run **at = &ctx->runs;

	while (*at) {
		struct rknpu_run *run = *at;

		if (!has(run, w)) {
			at = &run->next;
			continue;
		}
		*at = run->next;
		run_free(run);
	}
}

/* Frees all but the newest @kept of those that do the same with the same weights. */
static void forget(const struct rknpu_run *like, unsigned int kept)
{
	int (*record)(struct rknpu_run *run) = like->record;
	const struct rknpu_weights *w = like->w[0];
	unsigned int n = 0;

	for (struct rknpu_run **at = &like->ctx->runs; *at;) {
		struct rknpu_run *old = *at;
		bool alike = old->record == record && old->w[0] == w;

		n += alike;
		if (!alike || n <= kept) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		run_free(old);
	}
}

static bool same(const struct rknpu_run *a, const struct rknpu_run *b)
{
	return a->record == b->record && a->m == b->m && !memcmp(a->shape, b->shape, sizeof(a->shape)) &&
	       a->n == b->n && !memcmp(a->w, b->w, a->n * sizeof(*a->w));
}

static int record(struct rknpu_run *run)
{
	const struct rknpu_context *ctx = run->ctx;
	struct npu_rec_opts opts = {
		.size = sizeof(opts), .block = true, .cores = ctx->params.cores ? ctx->params.cores : ctx->can.cores,
	};
	int ret = npu_rec_new(ctx->npu, &opts, &run->rec);

	if (!ret)
		ret = run->record(run);
	return ret ? ret : npu_rec_end(run->rec);
}

int rknpu_run_get(const struct rknpu_run *want, struct rknpu_run **out)
{
	struct rknpu_context *ctx = want->ctx;
	struct rknpu_run *run = ctx->runs;
	int ret;

	while (run && !same(run, want))
		run = run->next;
	*out = run;
	if (run)
		return 0;
	run = malloc(sizeof(*run));
	if (!run)
		return -ENOMEM;
	*run = *want;
	ret = record(run);
	if (ret) {
		run_free(run);
		return ret;
	}
	ctx->stats.recorded++;
	run->next = ctx->runs;
	ctx->runs = run;
	forget(run, KEPT);
	*out = run;
	return 0;
}

int rknpu_run_compute(struct rknpu_run *run)
{
	int ret = npu_rec_run(run->rec);

	run->ctx->stats.runs++;
	run->ctx->stats.chains += npu_rec_info(run->rec).chains;
	return ret ? ret : npu_rec_wait(run->rec, -1);
}

void rknpu_run_failed(struct rknpu_run *run, int err, char *why, size_t size)
{
	struct npu_rec_failure f = { .size = sizeof(f) };

	if (rknpu_is_full(err)) {
		snprintf(why, size, "the driver has no room for more jobs");
		return;
	}
	if (npu_rec_failure(run->rec, &f))
		snprintf(why, size, "%s", err == -EPIPE ? npu_strcause(NPU_CAUSE_BANNED) : strerror(-err));
	else if (f.task < 0)
		snprintf(why, size, "%s", npu_strcause(f.cause));
	else
		snprintf(why, size, "%s, in task %d on core %d", npu_strcause(f.cause), f.task, f.core);
	forget(run, 0);
}
