// SPDX-License-Identifier: MIT
/*
 * Recordings while they run: how they are started, waited for, and ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npu_rec_impl.h"
#include "dev/npu_vendor.h"

int npu_rec_end(struct npu_rec *rec)
{
	int ret;

	if (rec->bad)
		return rec->bad;
	if (rec->ended)
		return -EBUSY;
	if (!npu_rec_info(rec).tasks)
		return -EINVAL;
	ret = npu_rec_write(rec);
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
 * other; whoever has it next, or had it before, cannot be told by its fences. Other clients that
 * have it next can, see npu_rec_join.c.
 */
static void bind_memory(const struct npu_rec *rec)
{
	for (uint32_t i = 0; i < rec->nuses; i++) {
		struct npu_mem *mem = rec->use[i].mem;
		bool shared = npu_use_is_shared(&rec->use[i]);

		if ((shared && mem->foreign) || ((shared || mem->last_shared) && mem->last && mem->last != rec))
			npu_bo_prep(mem->bo, -1);
	}
}

static bool is_in_tree(const struct npu_rec *rec)
{
	return !npu_is_vendor(rec->dev) && !npu_dev_features(rec->dev);
}

/*
 * In-tree rocket's PREP_BO waits for those that write a buffer, and not for those that read it. It
 * runs the jobs of a file one after the other: the last one of them tells.
 */
static struct npu_bo *last_out(const struct npu_rec *rec)
{
	return is_in_tree(rec) ? rec->job[rec->njobs - 1].out[0] : NULL;
}

static void note_users(const struct npu_rec *rec)
{
	for (uint32_t i = 0; i < rec->nuses; i++) {
		rec->use[i].mem->last = rec;
		rec->use[i].mem->last_out = last_out(rec);
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
	int ret = npu_bo_prep_until(job->out[0], deadline);

	if (ret == -ETIMEDOUT || ret == -EBUSY)
		return ret;
	*e = (struct ending){
		.err = ret, .cause = npu_cause_of_errno(ret), .task = -1, .core = -1,
	};
	return 0;
}

static int wait_job(struct npu_dev *dev, uint64_t number, int64_t deadline, bool rewrites, struct ending *e)
{
	struct npu_result r;
	int ret = npu_wait_job_until(dev, number, deadline, &r);

	/* Nobody answers for an unbound device any more, so its jobs are over. */
	if (ret == -ENODEV) {
		*e = (struct ending){
			.err = ret, .cause = NPU_CAUSE_DEVICE_GONE, .task = -1, .core = -1,
		};
		return 0;
	}
	if (ret)
		return ret;
	*e = (struct ending){
		.err = r.err, .cause = r.cause, .task = (int)r.task, .core = r.core, .fault_iova = r.fault_iova,
		.timed = true, .elapsed_ns = r.elapsed_ns,
	};
	if (!r.err && r.rerun && rewrites) {
		e->err = -ENOTRECOVERABLE;
		e->cause = NPU_CAUSE_RERUN;
		e->task = -1;
	}
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
	for (uint32_t i = 0; i < rec->started; i++)
		for (uint32_t k = 0; k < rec->job[i].nout; k++)
			npu_bo_prep(rec->job[i].out[k], 0);
}

static int wait_one(struct npu_rec *rec, uint32_t i, int64_t deadline, struct ending *e)
{
	const struct rec_part *part = npu_rec_part_of(rec, i);
	int ret;

	if (rec->batch)
		return wait_batch(rec->batch[i], deadline, e);
	if (!part->number)
		return wait_buffer(&rec->job[i], deadline, e);
	ret = wait_job(npu_rec_part_dev(rec, part), part->number + i - part->first_job, deadline, rec->rewrites, e);
	if (!ret || ret == -ETIMEDOUT || ret == -EBUSY)
		return ret;
	/* The driver knows the newest jobs only; what it refuses otherwise it would refuse again. */
	return wait_buffer(&rec->job[i], deadline, e);
}

/* Until all that was started is over: 0, and perhaps a failure is known. */
static int wait_started(struct npu_rec *rec, int64_t deadline)
{
	struct ending e = { 0 };
	int ret;

	for (; rec->waited < rec->started; rec->waited++) {
		ret = wait_one(rec, rec->waited, deadline, &e);
		if (ret)
			return ret;
		/* What joins is no task of the recording. */
		if (rec->waited == rec->njobs)
			e.task = -1;
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
	uint32_t first = p->first_job, n = p->njobs;
	int ret;

	if (rec->batch)
		return start_batches(rec, p);
	if (rec->join.scratch && first + n == rec->njobs && npu_rec_has_to_join(rec)) {
		npu_rec_set_join(rec);
		n++;
	}
	ret = npu_submit_ext(npu_rec_part_dev(rec, p), rec->job + first, rec->job_opts + first, n,
			     &p->number);
	if (!ret)
		rec->started = first + n;
	return ret;
}

/* Unless a job failed: then what follows is not started. */
static int finish_started(struct npu_rec *rec)
{
	int ret = wait_started(rec, INT64_MAX);

	return ret ? ret : rec->failure.err ? JOB_FAILED : 0;
}

/* Takes the results where they belong. */
static int finish_part(struct npu_rec *rec, uint32_t part)
{
	int ret = finish_started(rec);

	return ret ? ret : npu_rec_copy_out(rec, part);
}

/* Waits where the driver would forget how jobs of this run end, or they have taken its room. */
static int start_in_turn(struct npu_rec *rec, struct rec_part *p)
{
	uint64_t jobs = (uint64_t)p->first_job + p->njobs + 1 - rec->waited;
	int ret = 0;

	if (rec->waited < rec->started && jobs > rec->limits.results)
		ret = finish_started(rec);
	if (!ret)
		ret = start_part(rec, p);
	if (ret != -EBUSY || rec->batch || rec->waited == rec->started)
		return ret;
	ret = finish_started(rec);
	return ret ? ret : start_part(rec, p);
}

static int start_parts(struct npu_rec *rec)
{
	bool copies = npu_rec_copies(rec);
	int ret = 0;

	for (uint32_t i = 0; !ret && i < rec->nparts; i++) {
		if (copies)
			ret = npu_rec_copy_in(rec, i);
		if (!ret)
			ret = start_in_turn(rec, &rec->part[i]);
		if (!ret && copies)
			ret = finish_part(rec, i);
	}
	return ret == JOB_FAILED ? 0 : ret;
}

/* Would others find no fence that all jobs are over with? */
static bool has_to_wait(const struct npu_rec *rec)
{
	if (rec->nparts > 1 && is_in_tree(rec))
		return true;
	return !rec->join.scratch && (rec->nparts > 1 || !rec->batch) && npu_rec_has_to_join(rec);
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
		bind_memory(rec);
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
	if (ret || rec->opts.block || has_to_wait(rec))
		npu_rec_wait(rec, -1);
	/* Because of what a part did a later one may have been refused: npu_rec_wait() says what. */
	if (ret && rec->failure.err)
		return 0;
	if (ret) {
		rec->running = false;
		rec->failure = (struct npu_rec_failure){ .cause = NPU_CAUSE_NONE };
		return ret == -EBUSY && rec->started ? -EAGAIN : ret;
	}
	npu_dev_stats(rec->dev)->runs++;
	return 0;
}

int npu_rec_failure(const struct npu_rec *rec, struct npu_rec_failure *f)
{
	if (rec->running || !rec->failure.err)
		return -ENOENT;
	return NPU_FILL(f, fault_iova, &rec->failure);
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
