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
#include "dev/npu_struct.h"

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

static int check_opts(struct npu_dev *dev, const struct npu_rec_opts *opts)
{
	uint32_t cores = npu_dev_chip(dev)->core_mask;

	if (opts->timeout_ns > MAX_TIMEOUT_NS || opts->cores > NPU_MAX_CORES)
		return -EINVAL;
	if (cores && opts->core_mask & ~cores)
		return -EOPNOTSUPP;
	if (npu_is_vendor(dev))
		return opts->core_mask & (opts->core_mask - 1) || (opts->core_mask && opts->cores > 1) ?
			       -EINVAL : 0;
	if (opts->core_mask && !(npu_dev_features(dev) & DRM_ROCKET_FEATURE_SCHED))
		return -EOPNOTSUPP;
	if (opts->timeout_ns && !(npu_dev_features(dev) & DRM_ROCKET_FEATURE_SCHED))
		return -EOPNOTSUPP;
	return npu_rec_takes(dev, opts) ? 0 : -EINVAL;
}

/* Does the driver let its caller say on which core a job runs? */
static bool can_place(const struct npu_dev *dev)
{
	return npu_is_vendor(dev) || npu_dev_features(dev) & DRM_ROCKET_FEATURE_SCHED;
}

/* Another driver runs the jobs of a file one after the other, or tells nothing of them. */
static bool can_broadcast(const struct npu_dev *dev)
{
	/* Programs for one core are wrong on another. */
	if (npu_dev_chip(dev)->core_mask && !can_place(dev))
		return false;
	return npu_is_vendor(dev) || (npu_dev_features(dev) & DRM_ROCKET_FEATURE_SUBMIT_EXT &&
				      npu_can_batch(dev));
}

/* How many cores of @mask there may be programs for; 0 = any. */
static uint32_t most_cores(uint32_t mask)
{
	return mask ? (uint32_t)__builtin_popcount(mask) : NPU_MAX_CORES;
}

int npu_rec_new(struct npu_dev *dev, const struct npu_rec_opts *opts, struct npu_rec **out)
{
	struct npu_rec_opts o;
	struct npu_rec *rec;
	int ret = NPU_TAKE(&o, cores, opts);

	if (!ret)
		ret = check_opts(dev, &o);
	if (ret)
		return ret;
	rec = calloc(1, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->dev = dev;
	rec->opts = o;
	npu_rec_find_limits(rec);
	rec->opts.cores = o.cores ? o.cores : 1;
	/* A driver that takes no masks has a core of its own choice for such programs. */
	if (!o.core_mask && can_place(dev))
		rec->opts.core_mask = npu_dev_chip(dev)->core_mask;
	rec->cores = can_broadcast(dev) ? rec->opts.cores : 1;
	if (npu_dev_chip(dev)->core_mask)
		rec->cores = (uint32_t)min_u64(rec->cores, most_cores(rec->opts.core_mask));
	ret = npu_rec_first_chain(rec);
	if (ret) {
		npu_rec_free(rec);
		return ret;
	}
	*out = rec;
	return 0;
}

void npu_rec_free(struct npu_rec *rec)
{
	if (!rec)
		return;
	npu_rec_stop(rec);
	for (uint32_t i = 0; i < rec->nuses; i++) {
		/* Its jobs are over, so nobody has to wait for them. */
		if (rec->use[i].mem->last == rec) {
			rec->use[i].mem->last = NULL;
			rec->use[i].mem->last_out = NULL;
		}
		npu_mem_put(rec->use[i].mem);
	}
	for (uint32_t i = 0; i < rec->nconsts; i++)
		npu_weights_free(rec->consts[i].weights);
	for (uint32_t i = 0; i < NPU_MAX_SPACES; i++)
		npu_mem_put(rec->code[i]);
	for (uint32_t i = 0; i < NPU_MAX_CORES; i++) {
		npu_mem_put(rec->token[0][i]);
		npu_mem_put(rec->token[1][i]);
	}
	npu_mem_put(rec->join.scratch);
	npu_rec_free_chains(rec);
	free(rec->join.bo);
	free(rec->consts);
	free(rec->use);
	free(rec->span);
	free(rec->op);
	free(rec->task);
	free(rec->bo);
	free(rec->job);
	free(rec->job_opts);
	free(rec->part);
	free(rec);
}

/* Room for one more element in an array that doubles. */
void *npu_rec_grow(void *array, uint32_t n, size_t size)
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
	op = npu_rec_grow(rec->op, rec->nops, sizeof(*op));
	if (!op)
		return npu_rec_fail(rec, -ENOMEM, "out of memory for operation %u", rec->nops);
	rec->op = op;
	rec->op[rec->nops].name = name;
	return npu_rec_select_core(rec, rec->placed == NPU_REC_SPREAD ? 0 : (uint32_t)rec->placed);
}

int npu_rec_take_struct(struct npu_rec *rec, void *to, size_t known, size_t first, const void *from)
{
	int ret = npu_take_struct(to, known, first, from);

	if (ret == -EOPNOTSUPP)
		return npu_rec_fail(rec, ret, "%s: library %s does not know all of the options", rec->op[rec->nops].name,
				    npu_library_version());
	return ret ? npu_rec_fail(rec, ret, "%s: no options have this size", rec->op[rec->nops].name) : 0;
}

static struct npu_mem *idle_sums(const struct npu_rec *rec, uint64_t bytes)
{
	for (uint32_t i = 0; i < rec->nuses; i++) {
		const struct rec_use *u = &rec->use[i];

		if (u->sums && u->core == rec->core && u->mem->refs == 1 && u->mem->bo->size >= bytes &&
		    u->mem->space == rec->space)
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
			 npu_rec_tensor(rec, type, rows, cols, out);

	if (ret)
		return npu_rec_fail(rec, ret, "no memory for sums of %u x %u", rows, cols);
	if (idle)
		return 0;
	ret = npu_rec_keep(rec, (*out)->mem);
	if (ret >= 0)
		rec->use[ret].sums = true;
	return ret < 0 ? ret : 0;
}

const struct npu_weights *npu_rec_const(const struct npu_rec *rec, uint32_t n, uint32_t k,
					float value)
{
	for (uint32_t i = 0; i < rec->nconsts; i++) {
		const struct rec_const *c = &rec->consts[i];

		if (c->n == n && c->k == k && c->value == value && c->weights->mem->space == rec->space)
			return c->weights;
	}
	return NULL;
}

int npu_rec_keep_const(struct npu_rec *rec, uint32_t n, uint32_t k, float value,
		       struct npu_weights *w)
{
	struct rec_const *c = npu_rec_grow(rec->consts, rec->nconsts, sizeof(*c));

	if (!c) {
		npu_weights_free(w);
		return npu_rec_fail(rec, -ENOMEM, "out of memory for operation %u", rec->nops);
	}
	rec->consts = c;
	c[rec->nconsts++] = (struct rec_const){ n, k, value, w };
	return 0;
}

static int check_chain(struct npu_rec *rec, const struct rec_chain *c)
{
	const char *name = rec->op[rec->nops].name;

	if (npu_prog_error(c->prog))
		return npu_rec_fail(rec, npu_prog_error(c->prog), "operation %u, %s: %s", rec->nops, name,
				    npu_prog_message(c->prog));
	if (npu_prog_ntasks(c->prog) > NPU_REC_MAX_TASKS)
		return npu_rec_fail(rec, -E2BIG, "operation %u, %s: %zu tasks exceed the limit %u",
				    rec->nops, name, npu_prog_ntasks(c->prog), NPU_REC_MAX_TASKS);
	return 0;
}

int npu_rec_commit(struct npu_rec *rec)
{
	int ret = rec->bad;

	for (uint32_t i = 0; i < rec->nchains && !ret; i++)
		ret = check_chain(rec, &rec->chain[i]);
	rec->nops += !ret;
	return ret;
}

static uint32_t chain_tasks(const struct npu_rec *rec, const struct rec_chain *c)
{
	return rec->ended ? c->ntasks : (uint32_t)npu_prog_ntasks(c->prog);
}

int npu_rec_get_info(const struct npu_rec *rec, struct npu_rec_info *out)
{
	struct npu_rec_info info = {
		.ops = rec->nops, .chained = rec->chained, .stages = rec->stage + 1,
		.submits = rec->nparts,
	};
	uint32_t spaces = 0;

	for (uint32_t i = 0; i < rec->nchains; i++) {
		info.tasks += chain_tasks(rec, &rec->chain[i]);
		info.chains += chain_tasks(rec, &rec->chain[i]) != 0;
		if (chain_tasks(rec, &rec->chain[i]))
			spaces |= UINT32_C(1) << rec->chain[i].space;
	}
	for (; spaces; spaces &= spaces - 1)
		info.spaces++;
	return NPU_FILL(out, spaces, &info);
}

const char *npu_rec_message(const struct npu_rec *rec)
{
	return rec->msg;
}
