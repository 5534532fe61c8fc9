// SPDX-License-Identifier: GPL-2.0-only
/* Clients that check their results: alone, on every core, several at once. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_util.h"

int rk_client_init_on(struct rk_client *c, int fd)
{
	int ret;

	memset(c, 0, sizeof(*c));
	c->fd = fd;
	ret = rk_op_init(&c->inc, fd, RK_M, 1, 1);
	if (!ret)
		ret = rk_bo_init(&c->in, fd, RK_BYTES);
	if (!ret)
		ret = rk_bo_init(&c->out, fd, RK_BYTES);
	return ret;
}

int rk_client_init(struct rk_client *c)
{
	int fd = rk_open();

	return fd < 0 ? fd : rk_client_init_on(c, fd);
}

void rk_client_fini(struct rk_client *c)
{
	rk_bo_fini(&c->in);
	rk_bo_fini(&c->out);
	rk_op_fini(&c->inc);
	close(c->fd);
}

int rk_client_run(struct rk_client *c, int value)
{
	long wrong;
	int ret;

	rk_bo_fill(&c->out, ~value, RK_BYTES);
	ret = rk_bo_fill(&c->in, value, RK_BYTES);
	c->inc.used = RK_OP_PROG;
	if (!ret)
		ret = rk_submit_op(&c->inc, &c->in, &c->out);
	if (ret)
		return ret;
	wrong = rk_bo_differs(&c->out, value + 1, RK_BYTES);
	return wrong > 0 ? -EILSEQ : wrong;
}

/* One job per core. By one ioctl, so that as little as can be is between them. */
static int run_round(struct rk_client *c, unsigned int seed)
{
	struct drm_rocket_task task[RK_CORES];
	struct drm_rocket_job job[RK_CORES];
	int ret = 0;

	for (unsigned int i = 0; i < RK_CORES && !ret; i++) {
		rk_bo_fill(&c[i].out, 0, RK_BYTES);
		rk_bo_fill(&c[i].in, seed + i, RK_BYTES);
		c[i].inc.used = RK_OP_PROG;
		ret = rk_op_task(&c[i].inc, c[i].in.iova, c[i].out.iova, &task[i]);
		rk_job(&job[i], &task[i], 1, &c[i].in.handle, 1, &c[i].out.handle, 1);
	}
	if (!ret)
		ret = rk_submit(c->fd, job, RK_CORES);
	for (unsigned int i = 0; i < RK_CORES && !ret; i++) {
		long wrong = rk_bo_differs(&c[i].out, seed + i + 1, RK_BYTES);

		if (wrong)
			ret = wrong > 0 ? -EILSEQ : wrong;
	}
	return ret;
}

static unsigned int cores_that_worked(uint64_t *done)
{
	unsigned int cores = 0;

	for (unsigned int i = 0; i < RK_CORES; i++) {
		uint64_t now = rk_count(i, NPU_CNT_TASK_DONE);

		cores += now != done[i];
		done[i] = now;
	}
	return cores;
}

/*
 * Jobs must last until all have been started, or one core takes several. How
 * long that is depends on the host, so they get longer until every core has
 * worked: but never as long as a task may take. A driver that uses one core at
 * a time, as rocket does, gets them all the same.
 */
static int run_round_on_all(struct rk_client *c, unsigned int seed)
{
	uint64_t done[RK_CORES] = { 0 };
	int ret = 0;

	if (!rk_model())
		return run_round(c, seed);
	cores_that_worked(done);
	for (unsigned int us = rk_slow() > 1 ? 20000 : 5000; us < 400000 && !ret; us *= 4) {
		rk_latency_us(us);
		ret = run_round(c, seed);
		if (cores_that_worked(done) == RK_CORES)
			break;
	}
	rk_latency_us(0);
	return ret;
}

int rk_run_on_every_core(int fd, unsigned int rounds)
{
	struct rk_client c[RK_CORES];
	int ret = 0;

	memset(c, 0, sizeof(c));
	for (unsigned int i = 0; i < RK_CORES && !ret; i++)
		ret = rk_client_init_on(&c[i], fd);
	for (unsigned int r = 0; r < rounds && !ret; r++)
		ret = run_round_on_all(c, r);
	for (unsigned int i = 0; i < RK_CORES; i++) {
		rk_bo_fini(&c[i].in);
		rk_bo_fini(&c[i].out);
		rk_op_fini(&c[i].inc);
	}
	return ret;
}

/* ---- trials ---- */

int rk_trial_init(struct rk_trial *t, unsigned int core, unsigned int task_timeout_ms)
{
	int ret;

	memset(t, 0, sizeof(*t));
	ret = rk_client_init(&t->c);
	for (int i = 0; i < RK_TRIAL_TASKS && !ret; i++)
		ret = rk_op_task(&t->c.inc, t->c.in.iova, t->c.out.iova, &t->t[i]);
	rk_job_ext(&t->job, t->t, RK_TRIAL_TASKS, &t->c.in, &t->c.out);
	t->job.core_mask = 1u << core;
	t->job.timeout_ns = task_timeout_ms * RK_MS;
	return ret ? ret : rk_bo_fill(&t->c.in, 5, RK_BYTES);
}

void rk_trial_fini(struct rk_trial *t)
{
	if (t->c.fd > 0)
		rk_client_fini(&t->c);
	t->c.fd = 0;
}

int rk_trial_submit(struct rk_trial *t)
{
	return rk_submit_ext(t->c.fd, &t->job, 1, &t->id);
}

int rk_trial_run(struct rk_trial *t)
{
	int ret = rk_trial_submit(t);

	return ret ? ret : rk_wait_job(t->c.fd, t->id, RK_FOREVER, &t->w);
}

/* ---- teams ---- */

int rk_team_init(struct rk_team *t)
{
	int ret;

	memset(t, 0, sizeof(*t));
	t->fd = rk_open();
	if (t->fd < 0)
		return t->fd;
	ret = rk_op_init(&t->inc, t->fd, RK_M, 1, 1);
	if (!ret)
		ret = rk_bo_init(&t->in, t->fd, RK_BYTES);
	for (int i = 0; i < RK_TEAM_JOBS && !ret; i++) {
		ret = rk_bo_init(&t->out[i], t->fd, RK_BYTES);
		if (!ret)
			ret = rk_op_task(&t->inc, t->in.iova, t->out[i].iova, &t->task[i]);
	}
	return ret;
}

void rk_team_fini(struct rk_team *t)
{
	for (int i = 0; i < RK_TEAM_JOBS; i++)
		rk_bo_fini(&t->out[i]);
	rk_bo_fini(&t->in);
	rk_op_fini(&t->inc);
	close(t->fd);
}

int rk_team_submit(struct rk_team *t, int n, int value)
{
	struct drm_rocket_job job[RK_TEAM_JOBS];
	int ret = rk_bo_fill(&t->in, value, RK_BYTES);

	for (int i = 0; i < n && !ret; i++) {
		ret = rk_bo_fill(&t->out[i], ~value, RK_BYTES);
		rk_job(&job[i], &t->task[i], 1, &t->in.handle, 1, &t->out[i].handle, 1);
	}
	return ret ? ret : rk_submit(t->fd, job, n);
}

void rk_team_collect(struct rk_team *t, int n, int value, unsigned int patience_ms)
{
	for (int i = 0; i < n; i++) {
		t->ret[i] = rk_prep(&t->out[i], patience_ms);
		if (!t->ret[i] && rk_bo_differs(&t->out[i], value + 1, RK_BYTES))
			t->ret[i] = -EILSEQ;
	}
}

int rk_team_count(const struct rk_team *t, int n, int ret)
{
	int found = 0;

	for (int i = 0; i < n; i++)
		found += t->ret[i] == ret;
	return found;
}
