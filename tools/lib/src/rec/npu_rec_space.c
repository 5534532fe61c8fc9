// SPDX-License-Identifier: MIT
/*
 * Recordings across address spaces: where an operation runs, and memory in that place. A recording
 * is cut where the space changes: what follows is another stage, and another submit.
 */
#include <errno.h>

#include "npu_rec_impl.h"

static bool stage_has_tasks(const struct npu_rec *rec)
{
	for (uint32_t i = 0; i < NPU_MAX_CORES; i++) {
		const struct rec_chain *c = rec->open[i] < 0 ? NULL : &rec->chain[rec->open[i]];

		if (c && (c->round || npu_prog_ntasks(c->prog)))
			return true;
	}
	return false;
}

/* What chains without tasks were to use belongs to the space before. */
static void move_chains(const struct npu_rec *rec)
{
	for (uint32_t i = 0; i < NPU_MAX_CORES; i++) {
		struct rec_chain *c = rec->open[i] < 0 ? NULL : &rec->chain[rec->open[i]];

		if (!c)
			continue;
		c->space = rec->space;
		npu_rec_free_accesses(c);
	}
}

static int settle(struct npu_rec *rec, uint32_t space)
{
	if (rec->settled && space == rec->space)
		return 0;
	rec->settled = true;
	rec->space = space;
	rec->nregions = 0;
	if (stage_has_tasks(rec))
		return npu_rec_new_stage(rec);
	move_chains(rec);
	return 0;
}

/* Spaces of another device have the same numbers, and are others. */
static int check_device(struct npu_rec *rec, const struct npu_mem *mem)
{
	return mem->dev == rec->dev ? 0 :
	       npu_rec_fail(rec, -EXDEV, "operation %u, %s: a tensor or weights of another device", rec->nops,
			    rec->op[rec->nops].name);
}

int npu_rec_bind_weights(struct npu_rec *rec, const struct npu_weights *w)
{
	int ret = check_device(rec, w->mem);

	return ret ? ret : settle(rec, w->mem->space);
}

int npu_rec_bind_mem(struct npu_rec *rec, struct npu_mem *mem)
{
	int ret = check_device(rec, mem);

	if (ret)
		return ret;
	/* Operations without weights run where the one before did. */
	ret = rec->settled ? 0 : settle(rec, mem->space);
	if (!ret)
		ret = npu_mem_bind(mem, rec->space);
	return ret ? npu_rec_fail(rec, ret, "operation %u, %s: %zu bytes have no room in address space %u",
				  rec->nops, rec->op[rec->nops].name, mem->bo->size, rec->space) : 0;
}

int npu_rec_weights(const struct npu_rec *rec, const struct npu_weights_desc *desc, const void *src,
		    struct npu_weights **out)
{
	return npu_weights_new_at(rec->dev, rec->settled ? (int)rec->space : NPU_ANY_SPACE, desc, src, out);
}

int npu_rec_mem(struct npu_rec *rec, size_t size, struct npu_mem **out)
{
	return rec->settled ? npu_mem_new_at(rec->dev, rec->space, size, out) :
			      npu_mem_new(rec->dev, size, out);
}

int npu_rec_tensor(struct npu_rec *rec, enum npu_prec type, uint32_t rows, uint32_t cols,
		   struct npu_tensor **out)
{
	struct npu_shape shape = { .type = type, .rows = rows, .cols = cols };
	size_t bytes = npu_tensor_alloc_bytes(shape);
	struct npu_mem *mem;
	int ret = bytes ? npu_rec_mem(rec, bytes, &mem) : -EINVAL;

	if (ret)
		return ret;
	*out = npu_tensor_take(rec->dev, mem, shape);
	return *out ? 0 : -ENOMEM;
}

/* ---- runs ---- */

bool npu_rec_copies(const struct npu_rec *rec)
{
	for (uint32_t i = 0; i < rec->nuses; i++)
		if (rec->use[i].mem->copied)
			return true;
	return false;
}

static bool part_uses(const struct npu_rec *rec, uint32_t part, const struct npu_mem *mem, bool write)
{
	for (uint32_t i = 0; i < rec->nchains; i++)
		if (rec->chain[i].part == part && npu_rec_chain_uses(&rec->chain[i], mem, write))
			return true;
	return false;
}

int npu_rec_copy_in(const struct npu_rec *rec, uint32_t part)
{
	int ret = 0;

	for (uint32_t i = 0; i < rec->nuses && !ret; i++)
		if (part_uses(rec, part, rec->use[i].mem, false))
			ret = npu_mem_copy_in(rec->use[i].mem, rec->part[part].space);
	return ret;
}

int npu_rec_copy_out(const struct npu_rec *rec, uint32_t part)
{
	int ret = 0;

	for (uint32_t i = 0; i < rec->nuses && !ret; i++)
		if (part_uses(rec, part, rec->use[i].mem, true))
			ret = npu_mem_copy_out(rec->use[i].mem, rec->part[part].space);
	return ret;
}
