// SPDX-License-Identifier: MIT
/*
 * Which core does what of a recording: chains of tasks, one per core and stage. Chains of a stage
 * touch nothing that another one writes, and a stage begins when the one before is over.
 */
#include <errno.h>
#include <stdlib.h>

#include "npu_rec_impl.h"

static int no_memory(struct npu_rec *rec)
{
	return npu_rec_fail(rec, -ENOMEM, "out of memory for operation %u", rec->nops);
}

static struct rec_chain *this_chain(const struct npu_rec *rec)
{
	return &rec->chain[rec->open[rec->core]];
}

static uint32_t tasks_now(const struct npu_rec *rec)
{
	return (uint32_t)npu_prog_ntasks(this_chain(rec)->prog);
}

/* Where programs differ from core to core, one that the recording has after the other. */
uint32_t npu_rec_hw_core(const struct npu_rec *rec, uint32_t core)
{
	uint32_t mask = rec->opts.core_mask, hw = 0;

	if (!npu_dev_chip(rec->dev)->core_mask || !mask)
		return core;
	while (core || !(mask >> hw & 1))
		core -= mask >> hw++ & 1;
	return hw;
}

uint32_t npu_rec_core_mask(const struct npu_rec *rec, uint32_t core)
{
	if (!npu_dev_chip(rec->dev)->core_mask || !rec->opts.core_mask)
		return rec->opts.core_mask;
	return 1u << npu_rec_hw_core(rec, core);
}

/* ---- chains ---- */

static int open_chain(struct npu_rec *rec)
{
	struct rec_chain *c = npu_rec_grow(rec->chain, rec->nchains, sizeof(*c));

	if (!c)
		return no_memory(rec);
	rec->chain = c;
	c[rec->nchains] = (struct rec_chain){
		.stage = rec->stage, .core = rec->core, .space = rec->space,
		.prog = npu_prog_new_for(npu_dev_chip(rec->dev), npu_rec_hw_core(rec, rec->core)),
	};
	if (!c[rec->nchains].prog)
		return no_memory(rec);
	rec->open[rec->core] = (int)rec->nchains++;
	return 0;
}

/* Another chain for this core. Nothing that was said before is of the tasks to come. */
static int next_round(struct npu_rec *rec)
{
	uint32_t round = this_chain(rec)->round + 1;
	int ret;

	for (uint32_t i = 0; i < rec->nregions; i++)
		if (rec->region[i].core == rec->core)
			rec->region[i].at = UINT32_MAX;
	ret = open_chain(rec);
	if (ret)
		return ret;
	this_chain(rec)->round = round;
	rec->rounds = (uint32_t)max_u64(rec->rounds, round);
	return 0;
}

/* A chain that uses much is left, so that an operation has as much again. */
int npu_rec_select_core(struct npu_rec *rec, uint32_t core)
{
	rec->core = core;
	if (rec->open[core] < 0)
		return open_chain(rec);
	return this_chain(rec)->naccesses > npu_rec_most_accesses(rec) / 2 ? next_round(rec) : 0;
}

int npu_rec_first_chain(struct npu_rec *rec)
{
	for (uint32_t i = 0; i < NPU_MAX_CORES; i++)
		rec->open[i] = -1;
	rec->placed = NPU_REC_SPREAD;
	return open_chain(rec);
}

void npu_rec_free_accesses(struct rec_chain *c)
{
	for (uint32_t i = 0; i < c->naccesses; i++)
		free(c->access[i].written);
	free(c->access);
	c->access = NULL;
	c->naccesses = 0;
}

void npu_rec_free_chains(struct npu_rec *rec)
{
	for (uint32_t i = 0; i < rec->nchains; i++) {
		npu_prog_free(rec->chain[i].prog);
		npu_rec_free_accesses(&rec->chain[i]);
	}
	free(rec->chain);
	free(rec->region);
}

/* The operation has tasks in this chain from here on. */
static int begin_span(struct npu_rec *rec, struct rec_chain *c)
{
	struct rec_span *s = npu_rec_grow(rec->span, rec->nspans, sizeof(*s));

	if (!s)
		return no_memory(rec);
	rec->span = s;
	s[rec->nspans++] = (struct rec_span){
		.op = rec->nops, .chain = (uint32_t)(c - rec->chain), .first_task = tasks_now(rec),
	};
	c->has_op = true;
	c->op = rec->nops;
	return 0;
}

struct npu_prog *npu_rec_prog(struct npu_rec *rec)
{
	struct rec_chain *c = this_chain(rec);

	if (!c->has_op || c->op != rec->nops)
		begin_span(rec, c);
	return c->prog;
}

bool npu_rec_wants_table(struct npu_rec *rec, const struct npu_table *t)
{
	struct rec_chain *c = this_chain(rec);

	if (npu_table_is(t, &c->table))
		return false;
	c->table = npu_table_mark(t);
	return true;
}

void npu_rec_forget_table(struct npu_rec *rec)
{
	this_chain(rec)->table = (struct npu_table_mark){ 0 };
}

int npu_rec_make_room(struct npu_rec *rec, uint32_t tasks)
{
	if (!tasks_now(rec) || tasks_now(rec) + tasks <= NPU_REC_MAX_TASKS)
		return 0;
	return next_round(rec);
}

uint32_t npu_rec_tasks(const struct npu_rec *rec)
{
	return tasks_now(rec);
}

bool npu_rec_room(const struct npu_rec *rec)
{
	const struct npu_prog *p = this_chain(rec)->prog;

	return !rec->bad && !npu_prog_error(p) && npu_prog_ntasks(p) <= NPU_REC_MAX_TASKS;
}

/* ---- what is used ---- */

int npu_rec_keep(struct npu_rec *rec, struct npu_mem *mem)
{
	struct rec_use *use;

	for (uint32_t i = 0; i < rec->nuses; i++)
		if (rec->use[i].mem == mem)
			return (int)i;
	use = npu_rec_grow(rec->use, rec->nuses, sizeof(*use));
	if (!use)
		return no_memory(rec);
	rec->use = use;
	use[rec->nuses] = (struct rec_use){ .mem = npu_mem_get(mem), .core = rec->core };
	return (int)rec->nuses++;
}

bool npu_rec_is_shared(const struct npu_rec *rec, const struct npu_mem *mem)
{
	for (uint32_t i = 0; i < rec->nuses; i++)
		if (rec->use[i].mem == mem)
			return npu_use_is_shared(&rec->use[i]);
	return false;
}

uint32_t npu_rec_count_shared(const struct npu_rec *rec)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rec->nuses; i++)
		n += npu_use_is_shared(&rec->use[i]);
	return n;
}

static bool regions_overlap(const struct rec_region *a, const struct rec_region *b)
{
	return a->whole || b->whole || npu_tensor_overlap(&a->part, &b->part);
}

static bool same_region(const struct rec_region *a, const struct rec_region *b)
{
	return a->part.mem == b->part.mem && a->core == b->core && a->write == b->write &&
	       a->whole == b->whole && a->part.offset == b->part.offset && a->part.pitch == b->part.pitch &&
	       a->part.shape.type == b->part.shape.type &&
	       a->part.shape.rows == b->part.shape.rows && a->part.shape.cols == b->part.shape.cols;
}

static bool was_written(const struct rec_access *a, const struct rec_region *r)
{
	for (uint32_t i = 0; i < a->nwritten; i++)
		if (a->written[i].whole)
			return true;
	return a->nwritten && !r->whole &&
	       npu_tensor_covered(&r->part, &a->written->part, sizeof(*a->written), a->nwritten);
}

static int note_write(struct npu_rec *rec, struct rec_access *a, const struct rec_region *r)
{
	struct rec_region *all;

	a->write = true;
	rec->rewrites |= a->read;
	for (uint32_t i = 0; i < a->nwritten; i++)
		if (same_region(&a->written[i], r))
			return 0;
	if (a->read)
		return 0;
	all = npu_rec_grow(a->written, a->nwritten, sizeof(*all));
	if (!all)
		return no_memory(rec);
	a->written = all;
	all[a->nwritten++] = *r;
	return 0;
}

/*
 * A job that runs twice reads again what it had written over, if it had not made it itself: all of
 * it, by operations that may have written parts.
 */
static int note_access(struct npu_rec *rec, struct rec_access *a, const struct rec_region *r)
{
	if (r->write)
		return note_write(rec, a, r);
	a->read |= !was_written(a, r);
	return 0;
}

static int list_memory(struct npu_rec *rec, const struct rec_region *r)
{
	struct rec_chain *c = this_chain(rec);
	struct npu_mem *mem = r->part.mem;
	struct rec_access *a;
	int use = npu_rec_keep(rec, mem);

	if (use < 0)
		return use;
	rec->use[use].writers |= (uint32_t)r->write << rec->core;
	for (uint32_t i = 0; i < c->naccesses; i++)
		if (c->access[i].mem == mem)
			return note_access(rec, &c->access[i], r);
	if (c->naccesses == npu_rec_most_accesses(rec))
		return npu_rec_fail(rec, -E2BIG, "operation %u, %s: more than %u tensors and weights exceed a job's list",
				    rec->nops, rec->op[rec->nops].name, c->naccesses);
	a = npu_rec_grow(c->access, c->naccesses, sizeof(*a));
	if (!a)
		return no_memory(rec);
	c->access = a;
	a[c->naccesses] = (struct rec_access){ .mem = mem };
	return note_access(rec, &a[c->naccesses++], r);
}

/* ---- stages ---- */

static bool regions_clash(const struct rec_region *a, const struct rec_region *b)
{
	if (a->core == b->core || a->part.mem != b->part.mem || !(a->write || b->write))
		return false;
	return regions_overlap(a, b);
}

static bool clashes(const struct npu_rec *rec, const struct rec_region *r)
{
	for (uint32_t i = 0; i < rec->nregions; i++)
		if (regions_clash(&rec->region[i], r))
			return true;
	return false;
}

/* What was said of the tasks to come goes along; the rest is over when the new stage begins. */
int npu_rec_new_stage(struct npu_rec *rec)
{
	uint32_t now = tasks_now(rec), n = 0;
	int ret;

	for (uint32_t i = 0; i < rec->nregions; i++)
		if (rec->region[i].core == rec->core && rec->region[i].at == now)
			rec->region[n++] = rec->region[i];
	rec->nregions = n;
	rec->stage++;
	for (uint32_t i = 0; i < NPU_MAX_CORES; i++)
		rec->open[i] = -1;
	ret = open_chain(rec);
	for (uint32_t i = 0; i < n && !ret; i++) {
		rec->region[i].at = 0;
		ret = list_memory(rec, &rec->region[i]);
	}
	return ret;
}

static int note_region(struct npu_rec *rec, struct rec_region *r)
{
	struct rec_region *all;

	r->at = tasks_now(rec);
	for (uint32_t i = 0; i < rec->nregions; i++) {
		if (same_region(&rec->region[i], r)) {
			rec->region[i].at = r->at;
			return 0;
		}
	}
	/* npu_rec_new_stage() shortens the array, which does not matter to one that is only grown. */
	if (rec->nregions == rec->regions_room) {
		uint32_t room = rec->regions_room ? 2 * rec->regions_room : 16;

		all = realloc(rec->region, room * sizeof(*all));
		if (!all)
			return no_memory(rec);
		rec->region = all;
		rec->regions_room = room;
	}
	rec->region[rec->nregions++] = *r;
	return 0;
}

bool npu_rec_chain_uses(const struct rec_chain *c, const struct npu_mem *mem, bool write)
{
	for (uint32_t i = 0; c->ntasks && i < c->naccesses; i++)
		if (c->access[i].mem == mem)
			return !write || c->access[i].write;
	return false;
}

static int use(struct npu_rec *rec, struct rec_region r)
{
	int ret = npu_rec_bind_mem(rec, r.part.mem);

	r.core = rec->core;
	if (!ret && rec->cores > 1) {
		if (clashes(rec, &r))
			ret = npu_rec_new_stage(rec);
		if (!ret)
			ret = note_region(rec, &r);
	}
	return ret ? ret : list_memory(rec, &r);
}

int npu_rec_reads(struct npu_rec *rec, const struct npu_tensor *t)
{
	return use(rec, (struct rec_region){ .part = *t });
}

int npu_rec_writes(struct npu_rec *rec, const struct npu_tensor *t)
{
	return use(rec, (struct rec_region){ .part = *t, .write = true });
}

int npu_rec_reads_weights(struct npu_rec *rec, const struct npu_weights *w)
{
	return use(rec, (struct rec_region){ .part = { .mem = w->mem }, .whole = true });
}

int npu_rec_writes_weights(struct npu_rec *rec, const struct npu_weights *w)
{
	return use(rec, (struct rec_region){ .part = { .mem = w->mem }, .whole = true, .write = true });
}

/* ---- who does what ---- */

int npu_rec_on(struct npu_rec *rec, int core)
{
	if (rec->bad)
		return rec->bad;
	if (rec->ended)
		return -EBUSY;
	if (core != NPU_REC_SPREAD && (core < 0 || (uint32_t)core >= rec->opts.cores))
		return npu_rec_fail(rec, -EINVAL, "core %d of a recording of %u", core,
				    rec->opts.cores);
	/* Where the driver has one core for a file, all are the same. */
	rec->placed = core == NPU_REC_SPREAD || (uint32_t)core < rec->cores ? core : 0;
	return 0;
}

uint32_t npu_rec_shares(const struct npu_rec *rec, uint32_t units)
{
	return rec->placed == NPU_REC_SPREAD ? (uint32_t)max_u64(min_u64(rec->cores, units), 1) : 1;
}

int npu_rec_by_rows(struct npu_rec *rec, uint32_t rows, const void *arg,
		    int (*append)(struct npu_rec *rec, const void *arg, uint32_t row, uint32_t n))
{
	uint32_t shares = npu_rec_shares(rec, rows / NPU_TENSOR_ROWS);
	uint32_t step = (uint32_t)round_up(div_up(rows, shares), NPU_TENSOR_ROWS);
	int ret = 0;

	if (shares == 1)
		return append(rec, arg, 0, rows);
	for (uint32_t i = 0; !ret && i < shares && i * step < rows; i++) {
		ret = npu_rec_select_core(rec, i);
		if (!ret)
			ret = append(rec, arg, i * step, (uint32_t)min_u64(step, rows - i * step));
	}
	return ret;
}
