// SPDX-License-Identifier: MIT
/*
 * What the driver is given of a recording: programs chained in memory, and jobs with the memory that
 * they use.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drm/rocket_accel.h"
#include "npu_rec_impl.h"
#include "dev/npu_vendor.h"

/* Entries that end a program: next base, next amount, marker, enable. */
#define TAIL		4u
/* Entries: a program begins at a multiple of 64 bytes. */
#define CHAIN_ALIGN	8u
#define TOKEN_BYTES	4096u

static uint64_t pc_entry(uint32_t reg, uint32_t value)
{
	return (uint64_t)NPU_TGT_PC << 48 | (uint64_t)value << 16 | reg;
}

/* Each program ends by naming the next one; the last one names none. */
static void link_programs(const struct npu_rec *rec, const struct rec_chain *c, uint64_t *entry)
{
	for (uint32_t i = 0; i + 1 < c->ntasks; i++) {
		const struct npu_task *next = &rec->task[c->first_task + i + 1];
		size_t first, count;

		npu_prog_task(c->prog, i, &first, &count);
		entry[first + count - TAIL] = pc_entry(NPU_OFF_PC_BASE_ADDRESS, next->regcmd);
		entry[first + count - TAIL + 1] = pc_entry(NPU_OFF_PC_REGISTER_AMOUNTS,
							   npu_amount(npu_dev_chip(rec->dev), next->count));
	}
}

static size_t chain_entries(const struct rec_chain *c)
{
	return round_up(npu_prog_count(c->prog), CHAIN_ALIGN);
}

static void write_chain(struct npu_rec *rec, const struct rec_chain *c, size_t at)
{
	const struct npu_bo *code = rec->code[c->space]->bo;
	uint64_t *entry = (uint64_t *)code->map + at;
	size_t first, count;

	for (uint32_t i = 0; i < c->ntasks; i++) {
		npu_prog_task(c->prog, i, &first, &count);
		rec->task[c->first_task + i] = (struct npu_task){
			.regcmd = (uint32_t)(code->iova + (at + first) * sizeof(uint64_t)),
			.count = (uint32_t)count,
		};
	}
	memcpy(entry, npu_prog_entries(c->prog), npu_prog_count(c->prog) * sizeof(uint64_t));
	/* A driver that starts task by task must not find a next one (rocket-userspace). */
	if (rec->chained)
		link_programs(rec, c, entry);
}

/* Chains of a stage lie together, and the first behind its last one ends them. */
static uint32_t stage_end(const struct npu_rec *rec, uint32_t first)
{
	uint32_t i = first;

	while (i < rec->nchains && rec->chain[i].stage == rec->chain[first].stage)
		i++;
	return i;
}

/* Stage by stage, and in each round by round: the vendor's jobs have the chains of a round. */
static void number_tasks(struct npu_rec *rec)
{
	for (uint32_t first = 0, end; first < rec->nchains; first = end) {
		end = stage_end(rec, first);
		for (uint32_t round = 0; round <= rec->rounds; round++)
			for (uint32_t i = first; i < end; i++) {
				struct rec_chain *c = &rec->chain[i];

				if (c->round != round)
					continue;
				c->first_task = rec->ntasks;
				c->ntasks = (uint32_t)npu_prog_ntasks(c->prog);
				rec->ntasks += c->ntasks;
			}
	}
}

/* Behind the chains of its space. */
static void write_join(struct npu_rec *rec, const struct npu_prog *join, size_t at)
{
	const struct npu_bo *code = rec->code[rec->join.space]->bo;

	rec->join.task = (struct npu_task){
		.regcmd = (uint32_t)(code->iova + at * sizeof(uint64_t)),
		.count = (uint32_t)npu_prog_count(join),
	};
	memcpy((uint64_t *)code->map + at, npu_prog_entries(join), npu_prog_count(join) * sizeof(uint64_t));
}

static int write_programs(struct npu_rec *rec, const struct npu_prog *join)
{
	size_t entries[NPU_MAX_SPACES] = { 0 }, at[NPU_MAX_SPACES] = { 0 }, bytes = 0;
	int ret = 0;

	number_tasks(rec);
	if (join)
		entries[rec->join.space] += npu_prog_count(join);
	for (uint32_t i = 0; i < rec->nchains; i++) {
		const struct rec_chain *c = &rec->chain[i];

		if (c->ntasks)
			entries[c->space] += chain_entries(c);
		bytes += npu_prog_count(c->prog) * sizeof(uint64_t);
	}
	rec->task = calloc(rec->ntasks, sizeof(*rec->task));
	if (!rec->task)
		return -ENOMEM;
	for (uint32_t i = 0; !ret && i < NPU_MAX_SPACES; i++)
		if (entries[i])
			ret = npu_mem_new_at(rec->dev, i, entries[i] * sizeof(uint64_t), &rec->code[i]);
	for (uint32_t i = 0; !ret && i < rec->nchains; i++) {
		const struct rec_chain *c = &rec->chain[i];

		if (!c->ntasks)
			continue;
		write_chain(rec, c, at[c->space]);
		at[c->space] += chain_entries(c);
	}
	if (!ret && join)
		write_join(rec, join, at[rec->join.space]);
	for (uint32_t i = 0; !ret && i < NPU_MAX_SPACES; i++)
		if (entries[i])
			ret = npu_bo_fini(rec->code[i]->bo);
	if (!ret)
		npu_dev_stats(rec->dev)->programmed += bytes;
	return ret;
}

/* ---- jobs of the driver ---- */

/* What a job's lists are put together from. */
struct lists {
	struct npu_bo **bo;
	uint32_t n;
	uint32_t space;		/* whose buffers are listed */
};

static void list(struct lists *l, const struct npu_mem *mem)
{
	struct npu_bo *bo = npu_mem_bo(mem, l->space);

	if (bo)
		l->bo[l->n++] = bo;
}

/* The newest job belongs to the part before, unless another address space begins, or a submit is full. */
static void add_to_part(struct npu_rec *rec, uint32_t space)
{
	const struct npu_hwjob *job = &rec->job[rec->njobs];
	struct rec_part *p = &rec->part[rec->nparts];

	if (rec->nparts && p[-1].space == space && npu_rec_fits(rec, &p[-1], job)) {
		p--;
	} else {
		*p = (struct rec_part){ .space = space, .first_job = rec->njobs };
		rec->nparts++;
	}
	p->njobs++;
	p->ntasks += job->ntasks;
	p->nhandles += (uint64_t)job->nin + job->nout;
}

static void add_job(struct npu_rec *rec, const struct lists *l, struct npu_bo **first, uint32_t nin,
		    uint32_t task, uint32_t ntasks, uint32_t core_mask)
{
	rec->job[rec->njobs] = (struct npu_hwjob){
		.tasks = rec->task + task, .ntasks = ntasks, .in = first, .nin = nin,
		.out = first + nin, .nout = (uint32_t)(l->bo + l->n - first) - nin,
	};
	add_to_part(rec, l->space);
	rec->job_opts[rec->njobs++] = (struct npu_job_opts){
		.flags = rec->chained ? DRM_ROCKET_JOB_BATCHED : 0,
		.core_mask = core_mask, .timeout_ns = rec->opts.timeout_ns,
	};
}

/*
 * Jobs of a stage write a token per core, and those of the next stage wait for all of them. Jobs of
 * one core follow each other, because they write the same one. Where cores share what they write,
 * it is the token that still tells how a job ended when the driver has forgotten the job.
 */
static bool has_tokens(const struct npu_rec *rec)
{
	return rec->stage || rec->rounds || npu_rec_count_shared(rec);
}

static void add_chain(struct npu_rec *rec, struct lists *l, struct rec_chain *c)
{
	struct npu_bo **first = l->bo + l->n;
	uint32_t nin;

	l->space = c->space;
	list(l, rec->code[c->space]);
	for (uint32_t i = 0; i < c->naccesses; i++)
		if (!c->access[i].write || npu_rec_is_shared(rec, c->access[i].mem))
			list(l, c->access[i].mem);
	for (uint32_t i = 0; c->stage && i < rec->cores; i++)
		list(l, rec->token[(c->stage - 1) % 2][i]);
	nin = (uint32_t)(l->bo + l->n - first);
	for (uint32_t i = 0; i < c->naccesses; i++)
		if (c->access[i].write && !npu_rec_is_shared(rec, c->access[i].mem))
			list(l, c->access[i].mem);
	if (has_tokens(rec))
		list(l, rec->token[c->stage % 2][c->core]);
	add_job(rec, l, first, nin, c->first_task, c->ntasks, npu_rec_core_mask(rec, c->core));
	c->part = rec->nparts - 1;
}

static bool is_of(const struct rec_chain *c, uint32_t stage, uint32_t round)
{
	return c->stage == stage && c->round == round;
}

static uint32_t round_tasks(const struct npu_rec *rec, uint32_t stage, uint32_t round, uint32_t *first,
			    uint32_t *space)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rec->nchains; i++) {
		if (!is_of(&rec->chain[i], stage, round))
			continue;
		if (!n)
			*first = rec->chain[i].first_task;
		*space = rec->chain[i].space;
		n += rec->chain[i].ntasks;
	}
	return n;
}

/* One for all cores; they follow each other because all of them write the same memory. */
static void add_round(struct npu_rec *rec, struct lists *l, uint32_t stage, uint32_t round)
{
	struct npu_bo **from = l->bo + l->n;
	uint32_t nin, first = 0, n = round_tasks(rec, stage, round, &first, &l->space);

	if (!n)
		return;
	list(l, rec->code[l->space]);
	for (uint32_t i = 0; i < rec->nuses; i++)
		if (!rec->use[i].writers)
			list(l, rec->use[i].mem);
	nin = (uint32_t)(l->bo + l->n - from);
	for (uint32_t i = 0; i < rec->nuses; i++)
		if (rec->use[i].writers)
			list(l, rec->use[i].mem);
	add_job(rec, l, from, nin, first, n, rec->opts.core_mask);
	for (uint32_t i = 0; i < rec->nchains; i++)
		if (is_of(&rec->chain[i], stage, round))
			rec->chain[i].part = rec->nparts - 1;
}

static size_t most_listed(const struct npu_rec *rec)
{
	size_t n = (size_t)(rec->stage + 1) * (rec->rounds + 1) * (rec->nuses + 1);

	for (uint32_t i = 0; i < rec->nchains; i++)
		n += rec->chain[i].naccesses + 2 + NPU_MAX_CORES;
	return n;
}

/* Every space that has tasks sees it. */
static int make_token(struct npu_rec *rec, struct npu_mem **token)
{
	int ret = npu_mem_new(rec->dev, TOKEN_BYTES, token);

	for (uint32_t i = 0; !ret && i < NPU_MAX_SPACES; i++)
		if (rec->code[i])
			ret = npu_mem_bind(*token, i);
	return ret;
}

static int make_tokens(struct npu_rec *rec)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && has_tokens(rec) && i < 2; i++)
		for (uint32_t core = 0; !ret && core < rec->cores; core++)
			ret = make_token(rec, &rec->token[i][core]);
	return ret;
}

static int make_jobs(struct npu_rec *rec)
{
	struct lists l = { 0 };

	rec->bo = calloc(most_listed(rec), sizeof(*rec->bo));
	/* And one that joins. */
	rec->job = calloc(rec->nchains + 1, sizeof(*rec->job));
	rec->job_opts = calloc(rec->nchains + 1, sizeof(*rec->job_opts));
	rec->part = calloc(rec->nchains, sizeof(*rec->part));
	if (!rec->bo || !rec->job || !rec->job_opts || !rec->part)
		return -ENOMEM;
	l.bo = rec->bo;
	if (npu_is_vendor(rec->dev)) {
		for (uint32_t i = 0; i <= rec->stage; i++)
			for (uint32_t k = 0; k <= rec->rounds; k++)
				add_round(rec, &l, i, k);
		return 0;
	}
	for (uint32_t i = 0; i < rec->nchains; i++)
		if (rec->chain[i].ntasks)
			add_chain(rec, &l, &rec->chain[i]);
	return 0;
}

static void find_slice(const struct npu_rec *rec, const struct npu_hwjob *job, uint32_t core,
		       struct npu_vendor_opts *o)
{
	uint32_t from = (uint32_t)(job->tasks - rec->task);

	for (uint32_t i = 0; i < rec->nchains; i++) {
		const struct rec_chain *c = &rec->chain[i];

		if (c->core != core || !c->ntasks || c->first_task < from || c->first_task >= from + job->ntasks)
			continue;
		o->core_mask = npu_rec_core_mask(rec, core);
		o->slice[o->nslices++] = (struct npu_vendor_slice){ c->first_task - from, c->ntasks };
	}
}

/* The driver gives the first slice to core 0 and so on, but for a single one, which goes to any core of the mask. */
static void find_slices(const struct npu_rec *rec, const struct npu_hwjob *job, struct npu_vendor_opts *o)
{
	for (uint32_t core = 0; core < rec->cores; core++)
		find_slice(rec, job, core, o);
}

struct rec_part *npu_rec_part_of(const struct npu_rec *rec, uint32_t job)
{
	struct rec_part *p = rec->part;

	while (p + 1 < rec->part + rec->nparts && job >= p->first_job + p->njobs)
		p++;
	return p;
}

struct npu_dev *npu_rec_part_dev(const struct npu_rec *rec, const struct rec_part *p)
{
	return npu_dev_spaces(rec->dev)->dev[p->space];
}

static int make_batches(struct npu_rec *rec)
{
	int ret = 0;

	rec->batch = calloc(rec->njobs, sizeof(struct npu_vendor_batch *));
	if (!rec->batch)
		return -ENOMEM;
	for (uint32_t i = 0; !ret && i < rec->njobs; i++) {
		uint64_t ms = div_up(rec->opts.timeout_ns * rec->job[i].ntasks, 1000000);
		struct npu_vendor_opts o = {
			.core_mask = rec->opts.core_mask, .block = rec->opts.block,
			.timeout_ms = (uint32_t)min_u64(ms, INT32_MAX),
		};

		find_slices(rec, &rec->job[i], &o);
		ret = npu_vendor_batch_new(npu_rec_part_dev(rec, npu_rec_part_of(rec, i)), &rec->job[i], &o,
					   &rec->batch[i]);
	}
	return ret;
}

int npu_rec_write(struct npu_rec *rec)
{
	struct npu_prog *join = NULL;
	int ret;

	rec->chained = npu_is_vendor(rec->dev) || npu_can_batch(rec->dev);
	ret = npu_rec_make_join(rec, &join);
	if (!ret)
		ret = write_programs(rec, join);
	npu_prog_free(join);
	if (!ret && !npu_is_vendor(rec->dev))
		ret = make_tokens(rec);
	if (!ret)
		ret = make_jobs(rec);
	if (!ret && npu_is_vendor(rec->dev))
		ret = make_batches(rec);
	return ret;
}
