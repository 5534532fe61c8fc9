// SPDX-License-Identifier: MIT
/*
 * A client of rocket that queues jobs in ways in which the recorder cannot wait for them by their BOs.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <xf86drm.h>

#include "client.h"
#include "dev/npu_device.h"
#include "drm/rocket_accel.h"
#include "prog/npu_task.h"

#define SIZE	4096u
/* Where no BO is. */
#define NOWHERE	UINT64_C(0xf0000000)

struct queue {
	struct npu_dev *dev;
	struct npu_bo *in, *weights, *out, *program;
};

static void start(struct queue *q)
{
	int ret = npu_open(NULL, &q->dev);

	if (ret)
		client_die("open", ret);
	q->in = client_alloc(q->dev, SIZE, 1);
	q->weights = client_alloc(q->dev, SIZE, 2);
	q->out = client_alloc(q->dev, SIZE, 0);
	q->program = client_alloc(q->dev, SIZE, 0);
}

static void end(struct queue *q)
{
	npu_bo_free(q->in);
	npu_bo_free(q->weights);
	npu_bo_free(q->out);
	npu_bo_free(q->program);
	npu_close(q->dev);
}

/* A job whose lists are @job's; its number, or 0. */
static uint64_t submit_with(struct queue *q, uint64_t out, struct npu_hwjob job,
			    const struct npu_job_opts *opts)
{
	struct npu_prog *p = npu_prog_new_for(npu_dev_chip(q->dev), 0);
	struct npu_task task;
	uint64_t number;
	int ret;

	client_product(p, q->in->iova, q->weights->iova, out);
	memcpy(q->program->map, npu_prog_entries(p), npu_prog_count(p) * 8);
	task = (struct npu_task) { (uint32_t)q->program->iova, (uint32_t)npu_prog_count(p) };
	npu_prog_free(p);
	job.tasks = &task;
	job.ntasks = 1;
	ret = npu_bo_fini(q->program);
	if (!ret)
		ret = npu_submit_ext(q->dev, &job, opts, 1, &number);
	if (ret)
		client_die("submit", ret);
	return number;
}

static uint64_t submit(struct queue *q, uint64_t out, struct npu_hwjob job)
{
	return submit_with(q, out, job, NULL);
}

bool client_has_numbers(void)
{
	struct npu_dev *dev;
	uint64_t soc;
	bool has;

	if (npu_open(NULL, &dev))
		return false;
	has = !npu_param(dev, DRM_ROCKET_PARAM_SOC, 0, &soc);
	npu_close(dev);
	return has;
}

/* Without a number, until its result begins to appear. */
static void wait_for(struct queue *q, uint64_t number)
{
	const uint32_t *first = q->out->map;
	struct npu_result result;
	int ret = number ? npu_wait_job(q->dev, number, -1, &result) : 0;

	if (ret)
		client_die("wait", ret);
	while (!number && !__atomic_load_n(first, __ATOMIC_RELAXED))
		usleep(1000);
	usleep(number ? 0 : 100000);
}

void client_unlisted(void)
{
	struct queue q;

	start(&q);
	wait_for(&q, submit(&q, q.out->iova, (struct npu_hwjob) { 0 }));
	end(&q);
}

void client_failed(void)
{
	struct queue q;
	struct npu_hwjob job = { .out = &q.out, .nout = 1 };

	start(&q);
	wait_for(&q, submit(&q, NOWHERE, job));
	submit(&q, q.out->iova, job);
	if (!npu_bo_prep(q.out, -1))
		client_die("the error of the first job was not told", -EIO);
	end(&q);
}

void client_late(void)
{
	struct queue q;
	struct npu_sync sync = { 0 };
	struct npu_job_opts opts = { .wait = &sync, .nwait = 1 };
	struct npu_hwjob job = { .out = &q.out, .nout = 1 };
	int fence = eventfd(0, EFD_CLOEXEC);

	start(&q);
	if (npu_sync_create(q.dev, false, &sync.handle) ||
	    drmSyncobjImportSyncFile(npu_fd(q.dev), sync.handle, fence))
		client_die("syncobj", -EIO);
	submit_with(&q, q.out->iova, job, &opts);
	submit(&q, q.out->iova, job);
	eventfd_write(fence, 1);
	npu_bo_prep(q.out, -1);
	submit(&q, q.out->iova, job);
	npu_bo_prep(q.out, -1);
	end(&q);
}
