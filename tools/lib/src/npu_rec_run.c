// SPDX-License-Identifier: MIT
/*
 * Recordings while they run: the programs chained in memory, one job for all of them,
 * and how it ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drm/rocket_accel.h"
#include "npu_rec_impl.h"
#include "npu_vendor.h"

/* Entries that end a program: next base, next amount, marker, enable. */
#define TAIL		4u
#define PC_BASE		0x10u
#define PC_AMOUNTS	0x14u
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
		entry[first + count - TAIL] = pc_entry(PC_BASE, next->regcmd);
		entry[first + count - TAIL + 1] = pc_entry(PC_AMOUNTS, (next->count + 1) / 2 - 1);
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

static int write_programs(struct npu_rec *rec)
{
	size_t entries[NPU_MAX_SPACES] = { 0 }, at[NPU_MAX_SPACES] = { 0 }, bytes = 0;
	int ret = 0;

	for (uint32_t i = 0; i < rec->nchains; i++) {
		struct rec_chain *c = &rec->chain[i];

		c->first_task = rec->ntasks;
		c->ntasks = (uint32_t)npu_prog_ntasks(c->prog);
		rec->ntasks += c->ntasks;
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

/* The job belongs to the part before, or another address space begins. */
static void add_to_part(struct npu_rec *rec, uint32_t space)
{
	struct rec_part *p = &rec->part[rec->nparts];

	if (rec->nparts && p[-1].space == space) {
		p[-1].njobs++;
		return;
	}
	*p = (struct rec_part){ .space = space, .first_job = rec->njobs, .njobs = 1 };
	rec->nparts++;
}

static void add_job(struct npu_rec *rec, const struct lists *l, struct npu_bo **first, uint32_t nin,
		    uint32_t task, uint32_t ntasks)
{
	add_to_part(rec, l->space);
	rec->job[rec->njobs] = (struct npu_hwjob){
		.tasks = rec->task + task, .ntasks = ntasks, .in = first, .nin = nin,
		.out = first + nin, .nout = (uint32_t)(l->bo + l->n - first) - nin,
	};
	rec->job_opts[rec->njobs++] = (struct npu_job_opts){
		.flags = rec->chained ? DRM_ROCKET_JOB_BATCHED : 0,
		.core_mask = rec->opts.core_mask, .timeout_ns = rec->opts.timeout_ns,
	};
}

/* Jobs of a stage have a token each, and those of the next stage wait for all of them. */
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
	if (rec->stage)
		list(l, rec->token[c->stage % 2][c->core]);
	add_job(rec, l, first, nin, c->first_task, c->ntasks);
	c->part = rec->nparts - 1;
}

static uint32_t stage_tasks(const struct npu_rec *rec, uint32_t stage, uint32_t *first,
			    uint32_t *space)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rec->nchains; i++) {
		if (rec->chain[i].stage != stage)
			continue;
		if (!n)
			*first = rec->chain[i].first_task;
		*space = rec->chain[i].space;
		n += rec->chain[i].ntasks;
	}
	return n;
}

/* One for all cores; stages follow each other because all of them write the same memory. */
static void add_stage(struct npu_rec *rec, struct lists *l, uint32_t stage)
{
	struct npu_bo **from = l->bo + l->n;
	uint32_t nin, first = 0, n = stage_tasks(rec, stage, &first, &l->space);

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
	add_job(rec, l, from, nin, first, n);
	for (uint32_t i = 0; i < rec->nchains; i++)
		if (rec->chain[i].stage == stage)
			rec->chain[i].part = rec->nparts - 1;
}

static size_t most_listed(const struct npu_rec *rec)
{
	size_t n = (size_t)(rec->stage + 1) * (rec->nuses + 1);

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
			ret = npu_mem_enter(*token, i);
	return ret;
}

static int make_tokens(struct npu_rec *rec)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && rec->stage && i < 2; i++)
		for (uint32_t core = 0; !ret && core < rec->cores; core++)
			ret = make_token(rec, &rec->token[i][core]);
	return ret;
}

static int make_jobs(struct npu_rec *rec)
{
	struct lists l = { 0 };

	rec->bo = calloc(most_listed(rec), sizeof(*rec->bo));
	rec->job = calloc(rec->nchains, sizeof(*rec->job));
	rec->job_opts = calloc(rec->nchains, sizeof(*rec->job_opts));
	rec->part = calloc(rec->nchains, sizeof(*rec->part));
	if (!rec->bo || !rec->job || !rec->job_opts || !rec->part)
		return -ENOMEM;
	l.bo = rec->bo;
	if (npu_is_vendor(rec->dev)) {
		for (uint32_t i = 0; i <= rec->stage; i++)
			add_stage(rec, &l, i);
		return 0;
	}
	for (uint32_t i = 0; i < rec->nchains; i++)
		if (rec->chain[i].ntasks)
			add_chain(rec, &l, &rec->chain[i]);
	return 0;
}

static void find_slices(const struct npu_rec *rec, const struct npu_hwjob *job,
			struct npu_vendor_opts *o)
{
	uint32_t from = (uint32_t)(job->tasks - rec->task);

	for (uint32_t i = 0; i < rec->nchains; i++) {
		const struct rec_chain *c = &rec->chain[i];

		if (c->ntasks && c->first_task >= from && c->first_task < from + job->ntasks)
			o->slice[o->nslices++] = (struct npu_vendor_slice){ c->first_task - from, c->ntasks };
	}
}

static struct rec_part *part_of(const struct npu_rec *rec, uint32_t job)
{
	struct rec_part *p = rec->part;

	while (job >= p->first_job + p->njobs)
		p++;
	return p;
}

static struct npu_dev *part_dev(const struct npu_rec *rec, const struct rec_part *p)
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
		ret = npu_vendor_batch_new(part_dev(rec, part_of(rec, i)), &rec->job[i], &o,
					   &rec->batch[i]);
	}
	return ret;
}

static int write_all(struct npu_rec *rec)
{
	int ret;

	rec->chained = npu_is_vendor(rec->dev) || npu_can_batch(rec->dev);
	ret = write_programs(rec);
	if (!ret && !npu_is_vendor(rec->dev))
		ret = make_tokens(rec);
	if (!ret)
		ret = make_jobs(rec);
	if (!ret && npu_is_vendor(rec->dev))
		ret = make_batches(rec);
	return ret;
}

int npu_rec_end(struct npu_rec *rec)
{
	int ret;

	if (rec->bad)
		return rec->bad;
	if (rec->ended)
		return -EBUSY;
	if (!npu_rec_info(rec).tasks)
		return -EINVAL;
	ret = write_all(rec);
	if (ret)
		return npu_rec_fail(rec, ret, "the programs could not be written: %s",
				    strerror(-ret));
	rec->ended = true;
	for (uint32_t i = 0; i < rec->nchains; i++) {
		npu_prog_free(rec->chain[i].prog);
		rec->chain[i].prog = NULL;
	}
	return 0;
}

/* ---- who used memory last ---- */

/*
 * Jobs list memory that several cores write as if they read it, and so do not wait for each
 * other; whoever has it next, or had it before, cannot be told by its fences.
 */
static void settle_memory(const struct npu_rec *rec)
{
	for (uint32_t i = 0; i < rec->nuses; i++) {
		struct npu_mem *mem = rec->use[i].mem;

		if ((npu_use_is_shared(&rec->use[i]) || mem->last_shared) && mem->last && mem->last != rec)
			npu_bo_prep(mem->bo, -1);
	}
}

static void note_users(const struct npu_rec *rec)
{
	for (uint32_t i = 0; i < rec->nuses; i++) {
		rec->use[i].mem->last = rec;
		rec->use[i].mem->last_shared = npu_use_is_shared(&rec->use[i]);
	}
}

/* What a driver told of a job that is over. */
struct ending {
	int err;
	enum npu_cause cause;
	int task;
	int core;
	uint64_t fault_iova;
	bool timed;
	uint64_t elapsed_ns;
};

/* The operation whose tasks begin last before it, or with it. */
static void find_op(const struct npu_rec *rec, struct npu_rec_failure *f)
{
	int64_t newest = -1;

	for (uint32_t i = 0; f->task >= 0 && i < rec->nspans; i++) {
		const struct rec_span *s = &rec->span[i];
		int64_t first = (int64_t)rec->chain[s->chain].first_task + s->first_task;

		if (first > f->task || first < newest)
			continue;
		newest = first;
		f->op = (int)s->op;
		f->op_name = rec->op[s->op].name;
	}
}

/* Of several failures the first one counts: later ones may come of it. */
static void note_ending(struct npu_rec *rec, const struct npu_hwjob *job, const struct ending *e)
{
	struct npu_rec_failure *f = &rec->failure;

	rec->timed += e->timed;
	rec->elapsed_ns += e->elapsed_ns;
	if (f->err)
		return;
	*f = (struct npu_rec_failure){
		.cause = e->cause, .err = e->err, .op = -1, .core = e->core,
		.task = e->task < 0 ? -1 : (int)(job->tasks - rec->task) + e->task,
		.fault_iova = e->fault_iova,
	};
	find_op(rec, f);
}

/* The buffers know that a job failed, but not where. */
static int wait_buffer(const struct npu_hwjob *job, int64_t deadline, struct ending *e)
{
	int ret = npu_bo_prep_until(job->nout ? job->out[0] : job->in[0], deadline);

	if (ret == -ETIMEDOUT || ret == -EBUSY)
		return ret;
	*e = (struct ending){
		.err = ret, .cause = npu_cause_of_errno(ret), .task = -1, .core = -1,
	};
	return 0;
}

static int wait_job(struct npu_dev *dev, uint64_t number, int64_t deadline, struct ending *e)
{
	struct npu_result r;
	int ret = npu_wait_job_until(dev, number, deadline, &r);

	if (ret)
		return ret;
	*e = (struct ending){
		.err = r.err, .cause = r.cause, .task = (int)r.task, .core = r.core, .fault_iova = r.fault_iova,
		.timed = true, .elapsed_ns = r.elapsed_ns,
	};
	return 0;
}

static int wait_batch(struct npu_vendor_batch *batch, int64_t deadline, struct ending *e)
{
	struct npu_vendor_progress p;
	int ret = npu_vendor_batch_wait(batch, deadline, &p);

	if (ret)
		return ret;
	*e = (struct ending){
		.err = p.err, .cause = npu_cause_of_errno(p.err),
		.task = p.known ? (int)p.tasks : -1, .core = p.core,
		.timed = p.known, .elapsed_ns = p.elapsed_ns,
	};
	return 0;
}

/*
 * The driver reports the first error of a buffer that was not reported yet, even after
 * later jobs: so it is taken here, or the result of the next run could not be read.
 */
static void take_errors(const struct npu_rec *rec)
{
	for (uint32_t i = 0; i < rec->njobs; i++)
		for (uint32_t k = 0; k < rec->job[i].nout; k++)
			npu_bo_prep(rec->job[i].out[k], 0);
}

static int wait_one(struct npu_rec *rec, uint32_t i, int64_t deadline, struct ending *e)
{
	const struct rec_part *part = part_of(rec, i);
	int ret;

	if (rec->batch)
		return wait_batch(rec->batch[i], deadline, e);
	if (part->number) {
		ret = wait_job(part_dev(rec, part), part->number + i - part->first_job, deadline, e);
		/* The driver knows the newest jobs only. */
		if (ret != -ENOENT)
			return ret;
	}
	return wait_buffer(&rec->job[i], deadline, e);
}

/* Until all that was started is over: 0, and perhaps a failure is known. */
static int wait_started(struct npu_rec *rec, int64_t deadline)
{
	struct ending e;
	int ret;

	for (; rec->waited < rec->started; rec->waited++) {
		ret = wait_one(rec, rec->waited, deadline, &e);
		if (ret)
			return ret;
		note_ending(rec, &rec->job[rec->waited], &e);
	}
	return 0;
}

int npu_rec_wait(struct npu_rec *rec, int64_t timeout_ns)
{
	int ret;

	if (!rec->running)
		return rec->failure.err;
	ret = wait_started(rec, npu_deadline(timeout_ns));
	if (ret)
		return ret;
	rec->running = false;
	if (rec->failure.err && !rec->batch)
		take_errors(rec);
	return rec->failure.err;
}

/* ---- starting ---- */

/* No errno: the run is over, and npu_rec_wait() says why. */
#define JOB_FAILED	1

static int start_batches(struct npu_rec *rec, const struct rec_part *part)
{
	struct npu_vendor_progress p = { 0 };
	int ret = 0;

	for (uint32_t i = 0; !ret && !p.err && i < part->njobs; i++) {
		ret = npu_vendor_batch_run(rec->batch[rec->started]);
		if (ret)
			break;
		/* What comes next would work with nothing. */
		if (rec->opts.block)
			npu_vendor_batch_wait(rec->batch[rec->started], 0, &p);
		rec->started++;
	}
	return ret ? ret : p.err ? JOB_FAILED : 0;
}

static int start_part(struct npu_rec *rec, struct rec_part *p)
{
	uint32_t first = p->first_job;
	int ret;

	if (rec->batch)
		return start_batches(rec, p);
	ret = npu_submit_ext(part_dev(rec, p), rec->job + first, rec->job_opts + first, p->njobs,
			     &p->number);
	if (!ret)
		rec->started = first + p->njobs;
	return ret;
}

/* Takes the results where they belong, unless a job failed: then what follows is not started. */
static int finish_part(struct npu_rec *rec, uint32_t part)
{
	int ret = wait_started(rec, INT64_MAX);

	if (ret)
		return ret;
	return rec->failure.err ? JOB_FAILED : npu_rec_copy_out(rec, part);
}

static int start_parts(struct npu_rec *rec)
{
	bool copies = npu_rec_copies(rec);
	int ret = 0;

	for (uint32_t i = 0; !ret && i < rec->nparts; i++) {
		if (copies)
			ret = npu_rec_copy_in(rec, i);
		if (!ret)
			ret = start_part(rec, &rec->part[i]);
		if (!ret && copies)
			ret = finish_part(rec, i);
	}
	return ret == JOB_FAILED ? 0 : ret;
}

int npu_rec_run(struct npu_rec *rec)
{
	int ret;

	if (rec->bad)
		return rec->bad;
	if (!rec->ended)
		return -EINVAL;
	if (rec->running)
		return -EBUSY;
	if (!rec->batch)
		settle_memory(rec);
	rec->running = true;
	rec->started = 0;
	rec->waited = 0;
	rec->timed = 0;
	rec->elapsed_ns = 0;
	rec->failure = (struct npu_rec_failure){ .cause = NPU_CAUSE_NONE };
	ret = start_parts(rec);
	if (rec->started && !rec->batch)
		note_users(rec);
	/* What was started before is of no use. */
	if (ret || rec->opts.block)
		npu_rec_wait(rec, -1);
	if (ret) {
		rec->running = false;
		rec->failure = (struct npu_rec_failure){ .cause = NPU_CAUSE_NONE };
		return ret;
	}
	npu_dev_stats(rec->dev)->runs++;
	return 0;
}

int npu_rec_failure(const struct npu_rec *rec, struct npu_rec_failure *f)
{
	if (rec->running || !rec->failure.err)
		return -ENOENT;
	*f = rec->failure;
	return 0;
}

int npu_rec_elapsed(const struct npu_rec *rec, uint64_t *ns)
{
	if (rec->running || !rec->waited)
		return -ENOENT;
	if (rec->timed < rec->waited)
		return -EOPNOTSUPP;
	*ns = rec->elapsed_ns;
	return 0;
}

void npu_rec_stop(struct npu_rec *rec)
{
	if (rec->running)
		npu_rec_wait(rec, -1);
	for (uint32_t i = 0; rec->batch && i < rec->njobs; i++)
		npu_vendor_batch_free(rec->batch[i]);
	free(rec->batch);
	rec->batch = NULL;
}
