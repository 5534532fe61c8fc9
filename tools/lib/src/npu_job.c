// SPDX-License-Identifier: MIT
/*
 * A call in flight: its buffers, its driver jobs, and how they ended.
 *
 * Every driver job has an output buffer of its own.  The driver orders jobs by
 * the buffers they share, so jobs that only share inputs run side by side.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drm/rocket_accel.h"
#include "npu_space.h"

enum npu_cause npu_cause_of_errno(int err)
{
	switch (err) {
	case 0:
		return NPU_CAUSE_DONE;
	case -ETIME:
		return NPU_CAUSE_TIMEOUT;
	case -EIO:
		return NPU_CAUSE_DMA_ERROR;
	case -EFAULT:
		return NPU_CAUSE_IOMMU_FAULT;
	case -ECANCELED:
		return NPU_CAUSE_CANCELLED;
	case -ENODEV:
		return NPU_CAUSE_DEVICE_GONE;
	case -ETIMEDOUT:
	case -EBUSY:
		return NPU_CAUSE_NONE;
	default:
		return NPU_CAUSE_OTHER;
	}
}

const char *npu_strcause(enum npu_cause cause)
{
	switch (cause) {
	case NPU_CAUSE_NONE:
		return "not finished";
	case NPU_CAUSE_DONE:
		return "done";
	case NPU_CAUSE_NEVER_STARTED:
		return "never started";
	case NPU_CAUSE_TIMEOUT:
		return "timeout";
	case NPU_CAUSE_DMA_ERROR:
		return "DMA error";
	case NPU_CAUSE_IOMMU_FAULT:
		return "IOMMU fault";
	case NPU_CAUSE_CANCELLED:
		return "cancelled";
	case NPU_CAUSE_DEVICE_GONE:
		return "device gone";
	default:
		return "unknown error";
	}
}

struct npu_job *npu_job_new(struct npu_dev *dev, uint32_t nhw)
{
	struct npu_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->dev = dev;
	job->nhw = nhw;
	job->hw = calloc(nhw, sizeof(*job->hw));
	if (!job->hw) {
		free(job);
		return NULL;
	}
	job->info.jobs = nhw;
	return job;
}

int npu_job_buffer(struct npu_job *job, size_t size, struct npu_bo **bo)
{
	int ret = npu_space_bo(job->dev, job->space, size, bo);

	if (!ret)
		job->info.bytes += size;
	return ret;
}

static void drop_buffer(const struct npu_job *job, struct npu_bo **bo)
{
	npu_space_bo_free(job->dev, job->space, *bo);
	*bo = NULL;
}

static void drop_buffers(struct npu_job *job)
{
	for (uint32_t i = 0; i < job->nhw; i++) {
		drop_buffer(job, &job->hw[i].out);
		job->hw[i].ntasks = 0;
	}
	drop_buffer(job, &job->in);
	drop_buffer(job, &job->weights);
	drop_buffer(job, &job->bias);
	drop_buffer(job, &job->regcmd);
	free(job->task);
	job->task = NULL;
	job->info.bytes = 0;
}

int npu_job_fill(struct npu_job *job, const void *arg, int (*fill)(struct npu_job *job, const void *arg))
{
	int ret = fill(job, arg);

	while (ret == -ENOSPC) {
		drop_buffers(job);
		ret = npu_space_next(job->dev, job->space);
		if (ret)
			return ret;
		job->space++;
		ret = fill(job, arg);
	}
	return ret;
}

static struct npu_dev *space_of(const struct npu_job *job)
{
	return npu_dev_spaces(job->dev)->dev[job->space];
}

/* Tasks of the program follow each other in the order of the driver jobs. */
int npu_job_program(struct npu_job *job, const struct npu_prog *prog)
{
	size_t n = npu_prog_ntasks(prog), bytes = npu_prog_count(prog) * sizeof(uint64_t);
	size_t first, count;
	int ret;

	if (npu_prog_error(prog))
		return npu_prog_error(prog);
	job->task = calloc(n, sizeof(*job->task));
	if (!job->task)
		return -ENOMEM;
	ret = npu_job_buffer(job, bytes, &job->regcmd);
	if (ret)
		return ret;
	memcpy(job->regcmd->map, npu_prog_entries(prog), bytes);
	for (size_t i = 0; i < n; i++) {
		npu_prog_task(prog, i, &first, &count);
		job->task[i].regcmd = (uint32_t)(job->regcmd->iova + first * sizeof(uint64_t));
		job->task[i].count = (uint32_t)count;
	}
	job->ntasks = (uint32_t)n;
	job->info.tasks = job->ntasks;
	return 0;
}

/* Hand everything the CPU wrote while preparing to the NPU. */
int npu_job_flush(struct npu_job *job)
{
	struct npu_bo *bo[] = { job->in, job->weights, job->bias, job->regcmd };
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(bo); i++) {
		ret = bo[i] ? npu_bo_fini(bo[i]) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

/* Every task loads all it needs, so a job of many need not keep others from the core. */
static int submit_divisible(struct npu_job *job, const struct npu_hwjob *hw)
{
	struct npu_job_opts *opts = calloc(job->nhw, sizeof(*opts));
	int ret;

	if (!opts)
		return -ENOMEM;
	for (uint32_t i = 0; i < job->nhw; i++)
		opts[i].flags = DRM_ROCKET_JOB_DIVISIBLE;
	ret = npu_submit_ext(space_of(job), hw, opts, job->nhw, &job->first);
	free(opts);
	return ret;
}

static int submit(struct npu_job *job)
{
	struct npu_bo *in[] = { job->in, job->weights, job->regcmd, job->bias };
	struct npu_hwjob *hw = calloc(job->nhw, sizeof(*hw));
	int ret = 0;

	if (!hw)
		return -ENOMEM;
	for (uint32_t i = 0; i < job->nhw && !ret; i++) {
		hw[i].tasks = job->task + job->hw[i].first_task;
		hw[i].ntasks = job->hw[i].ntasks;
		hw[i].in = in;
		hw[i].nin = job->bias ? 4 : 3;
		hw[i].out = &job->hw[i].out;
		hw[i].nout = 1;
		ret = npu_bo_fini(job->hw[i].out);
	}
	if (!ret && npu_dev_features(job->dev) & DRM_ROCKET_FEATURE_DIVISIBLE)
		ret = submit_divisible(job, hw);
	else if (!ret)
		ret = npu_submit_ext(space_of(job), hw, NULL, job->nhw, &job->first);
	free(hw);
	return ret;
}

int npu_job_start(struct npu_job *job)
{
	int ret;

	if (job->running)
		return -EBUSY;
	ret = submit(job);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < job->nhw; i++) {
		job->hw[i].done = false;
		job->hw[i].err = 0;
	}
	job->running = true;
	job->started = true;
	job->cause = NPU_CAUSE_NONE;
	return 0;
}

/*
 * The buffer's fence may be gone once something else uses the buffer, so a
 * job's error is taken down the first time it is seen.
 */
static int wait_hw(struct npu_hw *hw, int64_t deadline)
{
	int ret;

	if (hw->done)
		return 0;
	ret = npu_bo_prep_until(hw->out, deadline);
	if (ret == -ETIMEDOUT || ret == -EBUSY)
		return ret;
	hw->done = true;
	hw->err = ret;
	return 0;
}

int npu_sync(struct npu_job *job, int64_t timeout_ns)
{
	int64_t deadline = npu_deadline(timeout_ns);
	int ret;

	if (!job->started)
		return -EINVAL;
	if (!job->running)
		return job->err;
	for (uint32_t i = 0; i < job->nhw; i++) {
		ret = wait_hw(&job->hw[i], deadline);
		if (ret)
			return ret;
	}
	job->running = false;
	job->err = 0;
	for (uint32_t i = 0; i < job->nhw && !job->err; i++)
		job->err = job->hw[i].err;
	job->cause = npu_cause_of_errno(job->err);
	if (!job->err)
		job->err = job->collect(job);
	return job->err;
}

enum npu_cause npu_job_cause(const struct npu_job *job)
{
	return job->cause;
}

int npu_job_result(const struct npu_job *job, struct npu_result *result)
{
	if (!job->started || job->running)
		return -ENOENT;
	for (uint32_t i = 0; i < job->nhw; i++) {
		if (job->hw[i].err)
			return job->first ? npu_wait_job(space_of(job), job->first + i, 0, result) :
					    -EOPNOTSUPP;
	}
	return -ENOENT;
}

void npu_job_info(const struct npu_job *job, struct npu_job_info *info)
{
	*info = job->info;
}

void npu_job_free(struct npu_job *job)
{
	if (!job)
		return;
	if (job->release)
		job->release(job);
	drop_buffers(job);
	free(job->hw);
	free(job);
}
