// SPDX-License-Identifier: MIT
/*
 * Recordings while they are made: the list of operations, their tasks in one program,
 * and the memory that they use.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drm/rocket_accel.h"
#include "npu_rec_impl.h"

int npu_rec_fail(struct npu_rec *rec, int err, const char *fmt, ...)
{
	va_list ap;

	if (rec->bad)
		return rec->bad;
	rec->bad = err;
	va_start(ap, fmt);
	vsnprintf(rec->msg, sizeof(rec->msg), fmt, ap);
	va_end(ap);
	return err;
}

/* Far beyond what a driver allows, and no product of it with a number of tasks wraps. */
#define MAX_TIMEOUT_NS	(UINT64_C(3600) * 1000000000)

static int check_opts(const struct npu_dev *dev, const struct npu_rec_opts *opts)
{
	if (opts->timeout_ns > MAX_TIMEOUT_NS)
		return -EINVAL;
	if (npu_is_vendor(dev))
		return opts->core_mask & (opts->core_mask - 1) ? -EINVAL : 0;
	if (opts->core_mask && !(npu_dev_features(dev) & DRM_ROCKET_FEATURE_SCHED))
		return -EOPNOTSUPP;
	if (opts->timeout_ns && !(npu_dev_features(dev) & DRM_ROCKET_FEATURE_SCHED))
		return -EOPNOTSUPP;
	return 0;
}

int npu_rec_new(struct npu_dev *dev, const struct npu_rec_opts *opts, struct npu_rec **out)
{
	static const struct npu_rec_opts defaults;
	struct npu_rec *rec;
	int ret;

	opts = opts ? opts : &defaults;
	ret = check_opts(dev, opts);
	if (ret)
		return ret;
	rec = calloc(1, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->dev = dev;
	rec->opts = *opts;
	rec->prog = npu_prog_new();
	if (!rec->prog) {
		free(rec);
		return -ENOMEM;
	}
	*out = rec;
	return 0;
}

void npu_rec_free(struct npu_rec *rec)
{
	if (!rec)
		return;
	npu_rec_stop(rec);
	for (uint32_t i = 0; i < rec->nuses; i++)
		npu_mem_put(rec->use[i].mem);
	for (uint32_t i = 0; i < rec->nconsts; i++)
		npu_weights_free(rec->consts[i].weights);
	npu_mem_put(rec->code);
	npu_prog_free(rec->prog);
	free(rec->consts);
	free(rec->use);
	free(rec->op);
	free(rec->task);
	free(rec->bo);
	free(rec);
}

/* Room for one more element in an array that doubles. */
static void *grow(void *array, uint32_t n, size_t size)
{
	if (n & (n - 1))
		return array;
	return realloc(array, (n ? 2 * (size_t)n : 1) * size);
}

int npu_rec_begin(struct npu_rec *rec, const char *name)
{
	struct rec_op *op;

	if (rec->bad)
		return rec->bad;
	if (rec->ended)
		return -EBUSY;
	op = grow(rec->op, rec->nops, sizeof(*op));
	if (!op)
		return npu_rec_fail(rec, -ENOMEM, "out of memory for operation %u", rec->nops);
	rec->op = op;
	rec->op[rec->nops].name = name;
	rec->op[rec->nops].first_task = (uint32_t)npu_prog_ntasks(rec->prog);
	return 0;
}

int npu_rec_use(struct npu_rec *rec, struct npu_mem *mem, bool write)
{
	struct rec_use *use;

	for (uint32_t i = 0; i < rec->nuses; i++) {
		if (rec->use[i].mem == mem) {
			rec->use[i].write |= write;
			return 0;
		}
	}
	use = grow(rec->use, rec->nuses, sizeof(*use));
	if (!use)
		return npu_rec_fail(rec, -ENOMEM, "out of memory for operation %u", rec->nops);
	rec->use = use;
	rec->use[rec->nuses++] = (struct rec_use){ .mem = npu_mem_get(mem), .write = write };
	return 0;
}

static struct npu_mem *idle_sums(const struct npu_rec *rec, uint64_t bytes)
{
	for (uint32_t i = 0; i < rec->nuses; i++) {
		const struct rec_use *u = &rec->use[i];

		if (u->sums && u->mem->refs == 1 && u->mem->bo->size >= bytes)
			return u->mem;
	}
	return NULL;
}

int npu_rec_sums(struct npu_rec *rec, enum npu_prec type, uint32_t rows, uint32_t cols,
		 struct npu_tensor **out)
{
	struct npu_mem *idle = idle_sums(rec, npu_tensor_bytes(type, rows, cols));
	struct npu_shape shape = { .type = type, .rows = rows, .cols = cols };
	int ret = idle ? npu_tensor_in(rec->dev, idle, shape, out) :
			 npu_tensor_new(rec->dev, type, rows, cols, out);

	if (ret)
		return npu_rec_fail(rec, ret, "no memory for sums of %u x %u", rows, cols);
	if (idle)
		return 0;
	ret = npu_rec_use(rec, (*out)->mem, true);
	if (!ret)
		rec->use[rec->nuses - 1].sums = true;
	return ret;
}

const struct npu_weights *npu_rec_const(const struct npu_rec *rec, uint32_t n, uint32_t k,
					float value)
{
	for (uint32_t i = 0; i < rec->nconsts; i++) {
		const struct rec_const *c = &rec->consts[i];

		if (c->n == n && c->k == k && c->value == value)
			return c->weights;
	}
	return NULL;
}

int npu_rec_keep_const(struct npu_rec *rec, uint32_t n, uint32_t k, float value,
		       struct npu_weights *w)
{
	struct rec_const *c = grow(rec->consts, rec->nconsts, sizeof(*c));

	if (!c) {
		npu_weights_free(w);
		return npu_rec_fail(rec, -ENOMEM, "out of memory for operation %u", rec->nops);
	}
	rec->consts = c;
	c[rec->nconsts++] = (struct rec_const){ n, k, value, w };
	return 0;
}

struct npu_prog *npu_rec_prog(struct npu_rec *rec)
{
	return rec->prog;
}

bool npu_rec_wants_table(struct npu_rec *rec, const struct npu_table *t)
{
	if (npu_table_is(t, &rec->table))
		return false;
	rec->table = npu_table_mark(t);
	return true;
}

bool npu_rec_room(const struct npu_rec *rec)
{
	return !npu_prog_error(rec->prog) && npu_prog_ntasks(rec->prog) <= NPU_REC_MAX_TASKS;
}

int npu_rec_commit(struct npu_rec *rec)
{
	const char *name = rec->op[rec->nops].name;

	if (npu_prog_error(rec->prog))
		return npu_rec_fail(rec, npu_prog_error(rec->prog), "operation %u, %s: %s",
				    rec->nops, name, npu_prog_message(rec->prog));
	if (npu_prog_ntasks(rec->prog) > NPU_REC_MAX_TASKS)
		return npu_rec_fail(rec, -E2BIG, "operation %u, %s: %zu tasks exceed the limit %u",
				    rec->nops, name, npu_prog_ntasks(rec->prog),
				    NPU_REC_MAX_TASKS);
	rec->nops++;
	return 0;
}

struct npu_rec_info npu_rec_info(const struct npu_rec *rec)
{
	return (struct npu_rec_info){
		.ops = rec->nops,
		.tasks = rec->ended ? rec->ntasks : (uint32_t)npu_prog_ntasks(rec->prog),
		.chained = rec->chained,
	};
}

const char *npu_rec_message(const struct npu_rec *rec)
{
	return rec->msg;
}
