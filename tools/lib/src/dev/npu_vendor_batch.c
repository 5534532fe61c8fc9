// SPDX-License-Identifier: MIT
/*
 * Runs chained programs again and again through the vendor's ioctls: recordings.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "drm/rknpu_drm.h"
#include "npu_vendor_run.h"

struct npu_vendor_batch {
	struct npu_dev *dev;
	struct npu_hwjob job;		/* what it points to is the caller's */
	struct npu_vendor_opts opts;
	struct npu_bo *tasks;
	struct npu_run *run;		/* the last one */
	struct npu_vendor_progress progress;
};

int npu_vendor_batch_new(struct npu_dev *dev, const struct npu_hwjob *job,
			 const struct npu_vendor_opts *opts, struct npu_vendor_batch **out)
{
	struct npu_vendor_batch *b = calloc(1, sizeof(*b));
	int ret;

	if (!b)
		return -ENOMEM;
	b->dev = dev;
	b->job = *job;
	b->opts = *opts;
	if (!b->opts.timeout_ms)
		b->opts.timeout_ms = NPU_VENDOR_TIMEOUT_MS;
	ret = npu_vendor_make_tasks(dev, job, &b->tasks);
	if (ret) {
		npu_vendor_batch_free(b);
		return ret;
	}
	*out = b;
	return 0;
}

void npu_vendor_batch_free(struct npu_vendor_batch *b)
{
	if (!b)
		return;
	/* The vendor's driver reads the tasks until the end. */
	if (b->run) {
		npu_run_wait(b->run, INT64_MAX);
		npu_run_put(b->run);
	}
	npu_vendor_bo_free(b->tasks);
	free(b);
}

/* Errors that tell how a job ended; blocking calls have one of them under another name. */
static bool ended_badly(int *err)
{
	if (*err == -ETIMEDOUT)
		*err = -ETIME;
	return *err == -ETIME || *err == -EIO || *err == -EFAULT || *err == -ECANCELED ||
	       *err == -ENODEV;
}

static struct drm_rknpu_task *last_task(const struct npu_vendor_batch *b, uint32_t slice)
{
	struct drm_rknpu_task *task = b->tasks->map;

	return &task[b->opts.slice[slice].first + b->opts.slice[slice].n - 1];
}

/* Drivers write the status of each core's last task when it is over, and only then. */
static void forget_status(struct npu_vendor_batch *b)
{
	for (uint32_t i = 0; b->opts.nslices > 1 && i < b->opts.nslices; i++)
		last_task(b, i)->int_status = 0;
}

/* Of the first core that failed they tell how many tasks it did. */
static void find_failure(struct npu_vendor_batch *b, uint32_t done)
{
	for (uint32_t i = 0; i < b->opts.nslices; i++) {
		if (last_task(b, i)->int_status)
			continue;
		b->progress.tasks = b->opts.slice[i].first + done;
		b->progress.core = (int)i;
		return;
	}
	b->progress.known = false;
}

static int submit_batch(struct npu_vendor_batch *b, struct npu_run *run, int fence)
{
	struct drm_rknpu_submit req;
	int ret;

	forget_status(b);
	ret = npu_vendor_submit_run(b->dev, &b->job, b->tasks, &b->opts, &req, fence);
	b->progress = (struct npu_vendor_progress){ .core = -1 };
	if (!b->opts.block) {
		run->fd = ret ? -1 : req.fence_fd;
		return ret;
	}
	if (ret && !ended_badly(&ret))
		return ret;
	run->done = true;
	run->err = ret;
	b->progress.known = true;
	b->progress.tasks = req.task_counter;
	b->progress.elapsed_ns = req.hw_elapse_time > 0 ? (uint64_t)req.hw_elapse_time : 0;
	for (int i = 0; i < 3; i++)
		if (req.core_mask == 1u << i)
			b->progress.core = i;
	if (ret && b->opts.nslices > 1)
		find_failure(b, req.task_counter);
	return 0;
}

int npu_vendor_batch_run(struct npu_vendor_batch *b)
{
	struct npu_run *run = calloc(1, sizeof(*run));
	int fence = -1, ret;

	if (!run)
		return -ENOMEM;
	run->fd = -1;
	run->refs = 1;
	ret = npu_vendor_reserve_uses(&b->job);
	if (!ret)
		ret = npu_vendor_collect_fences(&b->job, &fence);
	if (!ret)
		ret = submit_batch(b, run, fence);
	if (!ret)
		npu_vendor_add_uses(&b->job, run);
	if (fence >= 0)
		close(fence);
	if (ret) {
		npu_run_put(run);
		return ret;
	}
	if (b->run)
		npu_run_put(b->run);
	b->run = run;
	return 0;
}

int npu_vendor_batch_wait(struct npu_vendor_batch *b, int64_t deadline_ns,
			  struct npu_vendor_progress *progress)
{
	int ret = npu_run_wait(b->run, deadline_ns);

	if (ret)
		return ret;
	*progress = b->progress;
	progress->err = b->run->err;
	return 0;
}
