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

static uint64_t pc_entry(uint32_t reg, uint32_t value)
{
	return (uint64_t)NPU_TGT_PC << 48 | (uint64_t)value << 16 | reg;
}

/* Each program ends by naming the next one; the last one names none. */
static void chain(const struct npu_rec *rec, uint64_t *entry)
{
	for (uint32_t i = 0; i + 1 < rec->ntasks; i++) {
		const struct npu_task *next = &rec->task[i + 1];
		size_t first, count;

		npu_prog_task(rec->prog, i, &first, &count);
		entry[first + count - TAIL] = pc_entry(PC_BASE, next->regcmd);
		entry[first + count - TAIL + 1] = pc_entry(PC_AMOUNTS, (next->count + 1) / 2 - 1);
	}
}

static int write_programs(struct npu_rec *rec)
{
	size_t bytes = npu_prog_count(rec->prog) * sizeof(uint64_t), first, count;
	int ret;

	rec->ntasks = (uint32_t)npu_prog_ntasks(rec->prog);
	rec->task = calloc(rec->ntasks, sizeof(*rec->task));
	if (!rec->task)
		return -ENOMEM;
	ret = npu_mem_new(rec->dev, bytes, &rec->code);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < rec->ntasks; i++) {
		npu_prog_task(rec->prog, i, &first, &count);
		rec->task[i].regcmd = (uint32_t)(rec->code->bo->iova + first * sizeof(uint64_t));
		rec->task[i].count = (uint32_t)count;
	}
	memcpy(rec->code->bo->map, npu_prog_entries(rec->prog), bytes);
	/* A driver that starts task by task must not find a next one (rocket-userspace). */
	if (rec->chained)
		chain(rec, rec->code->bo->map);
	npu_dev_stats(rec->dev)->programmed += bytes;
	return npu_bo_fini(rec->code->bo);
}

static uint32_t list_buffers(struct npu_rec *rec, uint32_t at, bool write)
{
	for (uint32_t i = 0; i < rec->nuses; i++)
		if (rec->use[i].write == write)
			rec->bo[at++] = rec->use[i].mem->bo;
	return at;
}

static int fill_job(struct npu_rec *rec)
{
	uint32_t nin, n;

	rec->bo = calloc(rec->nuses + 1, sizeof(struct npu_bo *));
	if (!rec->bo)
		return -ENOMEM;
	rec->bo[0] = rec->code->bo;
	nin = list_buffers(rec, 1, false);
	n = list_buffers(rec, nin, true);
	rec->job = (struct npu_hwjob){
		.tasks = rec->task, .ntasks = rec->ntasks,
		.in = rec->bo, .nin = nin, .out = rec->bo + nin, .nout = n - nin,
	};
	rec->job_opts = (struct npu_job_opts){
		.flags = rec->chained ? DRM_ROCKET_JOB_BATCHED : 0,
		.core_mask = rec->opts.core_mask, .timeout_ns = rec->opts.timeout_ns,
	};
	return 0;
}

static int make_batch(struct npu_rec *rec)
{
	uint64_t ms = div_up(rec->opts.timeout_ns * rec->ntasks, 1000000);
	struct npu_vendor_opts opts = {
		.core_mask = rec->opts.core_mask, .timeout_ms = (uint32_t)min_u64(ms, INT32_MAX),
		.block = rec->opts.block,
	};

	return npu_vendor_batch_new(rec->dev, &rec->job, &opts, &rec->batch);
}

int npu_rec_end(struct npu_rec *rec)
{
	int ret;

	if (rec->bad)
		return rec->bad;
	if (rec->ended)
		return -EBUSY;
	if (!rec->nops)
		return -EINVAL;
	rec->chained = npu_is_vendor(rec->dev) || npu_can_batch(rec->dev);
	ret = write_programs(rec);
	if (!ret)
		ret = fill_job(rec);
	if (!ret && npu_is_vendor(rec->dev))
		ret = make_batch(rec);
	if (ret)
		return npu_rec_fail(rec, ret, "the programs could not be written: %s",
				    strerror(-ret));
	rec->ended = true;
	npu_prog_free(rec->prog);
	rec->prog = NULL;
	return 0;
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
	ret = rec->batch ? npu_vendor_batch_run(rec->batch) :
			   npu_submit_ext(rec->dev, &rec->job, &rec->job_opts, 1, &rec->number);
	if (ret)
		return ret;
	rec->running = true;
	rec->failure = (struct npu_rec_failure){ .cause = NPU_CAUSE_NONE };
	npu_dev_stats(rec->dev)->runs++;
	if (rec->opts.block)
		npu_rec_wait(rec, -1);
	return 0;
}

/* What a driver told of a run that is over. */
struct ending {
	int err;
	enum npu_cause cause;
	int task;
	int core;
	uint64_t fault_iova;
};

static void note_ending(struct npu_rec *rec, const struct ending *e)
{
	struct npu_rec_failure *f = &rec->failure;

	rec->running = false;
	*f = (struct npu_rec_failure){
		.cause = e->cause, .err = e->err, .task = e->task, .op = -1,
		.core = e->core, .fault_iova = e->fault_iova,
	};
	for (uint32_t i = 0; e->task >= 0 && i < rec->nops; i++) {
		if (rec->op[i].first_task <= (uint32_t)e->task) {
			f->op = (int)i;
			f->op_name = rec->op[i].name;
		}
	}
}

/* The buffers know that a job failed, but not where. */
static int wait_buffer(struct npu_rec *rec, int64_t timeout_ns, struct ending *e)
{
	int ret = npu_bo_prep(rec->job.out[0], timeout_ns);

	if (ret == -ETIMEDOUT || ret == -EBUSY)
		return ret;
	*e = (struct ending){
		.err = ret, .cause = npu_cause_of_errno(ret), .task = -1, .core = -1,
	};
	return 0;
}

static int wait_job(struct npu_rec *rec, int64_t timeout_ns, struct ending *e)
{
	struct npu_result r;
	int ret = npu_wait_job(rec->dev, rec->number, timeout_ns, &r);

	if (ret)
		return ret;
	*e = (struct ending){
		.err = r.err, .cause = r.cause, .task = (int)r.task, .core = r.core, .fault_iova = r.fault_iova,
	};
	return 0;
}

static int wait_batch(struct npu_rec *rec, int64_t timeout_ns, struct ending *e)
{
	struct npu_vendor_progress p;
	int ret = npu_vendor_batch_wait(rec->batch, npu_deadline(timeout_ns), &p);

	if (ret)
		return ret;
	*e = (struct ending){
		.err = p.err, .cause = npu_cause_of_errno(p.err),
		.task = p.known ? (int)p.tasks : -1, .core = p.core,
	};
	return 0;
}

/*
 * The driver reports the first error of a buffer that was not reported yet, even after
 * later jobs: so it is taken here, or the result of the next run could not be read.
 */
static void take_errors(const struct npu_rec *rec)
{
	for (uint32_t i = 0; i < rec->job.nout; i++)
		npu_bo_prep(rec->job.out[i], 0);
}

static int wait_any(struct npu_rec *rec, int64_t timeout_ns, struct ending *e)
{
	int ret;

	if (rec->batch)
		return wait_batch(rec, timeout_ns, e);
	if (rec->number) {
		ret = wait_job(rec, timeout_ns, e);
		/* The driver knows the newest jobs only. */
		if (ret != -ENOENT)
			return ret;
	}
	return wait_buffer(rec, timeout_ns, e);
}

int npu_rec_wait(struct npu_rec *rec, int64_t timeout_ns)
{
	struct ending e;
	int ret;

	if (!rec->running)
		return rec->failure.err;
	ret = wait_any(rec, timeout_ns, &e);
	if (ret)
		return ret;
	note_ending(rec, &e);
	if (e.err && !rec->batch)
		take_errors(rec);
	return e.err;
}

int npu_rec_failure(const struct npu_rec *rec, struct npu_rec_failure *f)
{
	if (rec->running || !rec->failure.err)
		return -ENOENT;
	*f = rec->failure;
	return 0;
}

void npu_rec_stop(struct npu_rec *rec)
{
	if (rec->running)
		npu_rec_wait(rec, -1);
	npu_vendor_batch_free(rec->batch);
	rec->batch = NULL;
}
