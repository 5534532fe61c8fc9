// SPDX-License-Identifier: MIT
/*
 * Recordings beyond what the driver takes at once: they are cut into several submits, or jobs, and
 * compute the same; what cannot be cut is refused while it is recorded.
 */
#include <unistd.h>

#include "ops/npu_parts.h"
#include "nn.h"

#define WIDTH	96u
#define LAYERS	30u
/* So that rows neither vanish nor leave the range of halves. */
#define SCALE	0.18

/* What a test says of one of the driver's limits, and what it was before. */
struct limit {
	uint32_t param;
	uint64_t value, usual;
};

static const struct limit few_jobs = { DRM_ROCKET_PARAM_MAX_JOBS, 8, 1024 };
static const struct limit few_tasks = { DRM_ROCKET_PARAM_MAX_TASKS, 7, 65536 };
static const struct limit few_handles = { DRM_ROCKET_PARAM_MAX_SUBMIT_HANDLES, 100, 65536 };
static const struct limit few_job_handles = { DRM_ROCKET_PARAM_MAX_JOB_HANDLES, 45, 4096 };

/* A row that goes through many layers, which all cores share: each one is a stage. */
struct net {
	struct npu_tensor *t[2], *x;
	struct npu_weights *w;
	struct npu_rec *rec;
};

static int net_make(struct net *n, struct npu_dev *dev, uint32_t cores)
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
	float *w, *x;
	int ret;

	nn_seed = 9;
	w = nn_floats(WIDTH * WIDTH, SCALE);
	x = nn_floats(WIDTH, 1);
	n->w = nn_weights(dev, WIDTH, WIDTH, w, NULL);
	n->x = nn_tensor(dev, NPU_PREC_FP16, 1, WIDTH, x);
	n->t[0] = nn_result(dev, NPU_PREC_FP16, 1, WIDTH);
	n->t[1] = nn_result(dev, NPU_PREC_FP16, 1, WIDTH);
	free(w);
	free(x);
	ret = npu_rec_new(dev, &o, &n->rec);
	ret = ret ? ret : npu_rec_matmul(n->rec, n->x, n->w, n->t[0], NULL);
	for (uint32_t i = 1; i < LAYERS && !ret; i++)
		ret = npu_rec_matmul(n->rec, n->t[!(i % 2)], n->w, n->t[i % 2], NULL);
	return ret ? ret : npu_rec_end(n->rec);
}

static void net_free(struct net *n)
{
	npu_rec_free(n->rec);
	npu_tensor_free(n->t[0]);
	npu_tensor_free(n->t[1]);
	npu_tensor_free(n->x);
	npu_weights_free(n->w);
}

static int net_run(struct net *n, uint16_t *y)
{
	int ret = npu_rec_run(n->rec);

	memset(y, 0, WIDTH * sizeof(*y));
	ret = ret ? ret : npu_rec_wait(n->rec, -1);
	return ret ? ret : npu_tensor_read(n->t[(LAYERS - 1) % 2], y, 0);
}

static void expect(struct npu_dev *dev, uint16_t *y)
{
	struct net n = { 0 };
	int ret = net_make(&n, dev, 1);

	ret = ret ? ret : net_run(&n, y);
	tap_ok(!ret && npu_rec_info(n.rec).submits == 1, "one core, in one submit: %d", ret);
	net_free(&n);
}

static void test_cut(struct npu_dev *dev, const char *what, const struct limit *l, const uint16_t *want)
{
	unsigned int submits, jobs;
	struct npu_rec_info info;
	uint16_t got[WIDTH];
	struct net n = { 0 };
	int ret;

	sim_limit(l->param, l->value);
	ret = net_make(&n, dev, 3);
	submits = sim_submits;
	jobs = sim_jobs;
	ret = ret ? ret : net_run(&n, got);
	info = npu_rec_info(n.rec);
	tap_ok(!ret && info.chains == 3 * LAYERS && info.submits > 1 && sim_submits - submits == info.submits &&
	       sim_jobs - jobs == info.chains && !memcmp(got, want, sizeof(got)),
	       "more %s than a submit takes: %u submits, error %d %s", what, info.submits, ret,
	       npu_rec_message(n.rec));
	net_free(&n);
	sim_limit(l->param, l->usual);
}

/* Others wait for all submits, by the job that joins them in the last one. */
static void test_foreign(struct npu_dev *dev, const uint16_t *want)
{
	struct net n = { 0 };
	uint16_t got[WIDTH];
	unsigned int jobs;
	uint64_t offset;
	int fd = -1, ret;

	sim_limit(few_jobs.param, few_jobs.value);
	ret = net_make(&n, dev, 3);
	ret = ret ? ret : npu_tensor_export(n.t[0], &fd, &offset);
	jobs = sim_jobs;
	ret = ret ? ret : net_run(&n, got);
	tap_ok(!ret && sim_jobs - jobs == 3 * LAYERS + 1 && !memcmp(got, want, sizeof(got)),
	       "one job joins them all: error %d", ret);
	net_free(&n);
	close(fd);
	sim_limit(few_jobs.param, few_jobs.usual);
}

/* What the driver remembers, and room that it has, is less than all jobs of a run. */
static void test_room(struct npu_dev *dev, const uint16_t *want)
{
	struct npu_rec_failure f = { .size = sizeof(f) };
	struct net n = { 0 };
	uint16_t got[WIDTH];
	uint64_t ns;
	int ret;

	sim_limit(few_jobs.param, few_jobs.value);
	ret = net_make(&n, dev, 3);
	sim_refuse_submit(2, -EBUSY);
	ret = ret ? ret : net_run(&n, got);
	tap_ok(!ret && !memcmp(got, want, sizeof(got)), "jobs of the run itself make room for others: %d", ret);
	sim_refuse_submits(2, 2, -EBUSY);
	ret = ret ? ret : npu_rec_run(n.rec);
	tap_ok(ret == -EAGAIN && !npu_rec_wait(n.rec, -1), "jobs of others do not: %d", ret);
	ret = net_run(&n, got);
	tap_ok(!ret && !memcmp(got, want, sizeof(got)) && !npu_rec_elapsed(n.rec, &ns),
	       "each job of %u is told how it ended: %d", npu_rec_info(n.rec).chains, ret);
	sim_hang_task(1);
	tap_ok(!npu_rec_run(n.rec) && npu_rec_wait(n.rec, -1) == -ETIME && !npu_rec_failure(n.rec, &f) &&
	       f.task == 1 && !f.op, "the first one, too: task %d", f.task);
	ret = net_run(&n, got);
	tap_ok(!ret && !memcmp(got, want, sizeof(got)), "and the next run is right: %d", ret);
	net_free(&n);
	sim_limit(few_jobs.param, few_jobs.usual);
}

/* ---- memory of one job ---- */

#define MANY	100u

/* Each number is the one before and the first one: the last is MANY times that. */
static void test_many_tensors(struct npu_dev *dev, uint32_t cores)
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
	struct npu_tensor *t[MANY];
	float v[8 * 32], got[8 * 32] = { 0 };
	struct npu_rec_info info;
	struct npu_rec *rec = NULL;
	bool right = true;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = (float)(i % 7);
	for (uint32_t i = 0; i < MANY; i++)
		t[i] = nn_tensor(dev, NPU_PREC_FP16, 8, 32, i ? NULL : v);
	sim_limit(few_job_handles.param, few_job_handles.value);
	ret = npu_rec_new(dev, &o, &rec);
	for (uint32_t i = 1; i < MANY && !ret; i++)
		ret = npu_rec_add(rec, t[i - 1], t[0], t[i]);
	ret = nn_run(rec, ret);
	info = npu_rec_info(rec);
	ret = ret ? ret : npu_tensor_read_f32(t[MANY - 1], got, 0, 1);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		right &= got[i] == MANY * v[i];
	tap_ok(!ret && right && info.chains > info.stages && info.submits == 1,
	       "%u cores, more tensors than a job takes: %u chains, error %d", cores, info.chains, ret);
	npu_rec_free(rec);
	sim_limit(few_job_handles.param, few_job_handles.usual);
	for (uint32_t i = 0; i < MANY; i++)
		npu_tensor_free(t[i]);
}

static void test_one_operation(struct npu_dev *dev)
{
	struct npu_tensor *t[MANY], *y = nn_result(dev, NPU_PREC_FP16, 4 * MANY, 32);
	struct npu_rec *rec;
	int ret;

	for (uint32_t i = 0; i < MANY; i++)
		t[i] = nn_tensor(dev, NPU_PREC_FP16, 4, 32, NULL);
	sim_limit(few_job_handles.param, few_job_handles.value);
	rec = nn_rec(dev);
	ret = npu_rec_concat_rows(rec, (const struct npu_tensor *const *)t, MANY, y);
	tap_ok(ret == -E2BIG && npu_rec_end(rec) == -E2BIG && strstr(npu_rec_message(rec), "40 tensors"),
	       "one operation cannot be cut: %d %s", ret, npu_rec_message(rec));
	npu_rec_free(rec);
	sim_limit(few_job_handles.param, few_job_handles.usual);
	npu_tensor_free(y);
	for (uint32_t i = 0; i < MANY; i++)
		npu_tensor_free(t[i]);
}

/* What hangs may have the file banned, which refuses what comes next. */
static void test_refused_for_what_hangs(struct npu_dev *dev)
{
	struct npu_rec_failure f = { .size = sizeof(f) };
	struct net n = { 0 };
	int ret, end;

	sim_limit(few_tasks.param, few_tasks.value);
	ret = net_make(&n, dev, 3);
	sim_limit(few_tasks.param, few_tasks.usual);
	tap_ok(!ret && npu_rec_info(n.rec).submits > 1, "a recording of several submits");
	sim_hang_task(0);
	sim_refuse_submit(1, -EPIPE);
	ret = npu_rec_run(n.rec);
	end = npu_rec_wait(n.rec, -1);
	tap_ok(!ret && end && end != -EPIPE && !npu_rec_failure(n.rec, &f) && !f.task,
	       "one hangs, and the next is refused: the wait says what hung (%d, %d, task %d)", ret, end, f.task);
	net_free(&n);
}

/* ---- options ---- */

static int try_opts(struct npu_dev *dev, uint32_t core_mask, uint64_t timeout_ns)
{
	struct npu_rec_opts o = { .size = sizeof(o), .core_mask = core_mask, .timeout_ns = timeout_ns };
	struct npu_rec *rec;
	int ret = npu_rec_new(dev, &o, &rec);

	if (!ret)
		npu_rec_free(rec);
	return ret;
}

static void test_opts(struct npu_dev *dev)
{
	tap_ok(!try_opts(dev, 7, 0) && try_opts(dev, 8, 0) == -EINVAL, "a core that the SoC does not have");
	tap_ok(!try_opts(dev, 0, 10000000000) && try_opts(dev, 0, 10000000001) == -EINVAL,
	       "a task longer than the driver lets one be");
	tap_ok(!try_opts(dev, 0, 1000000) && try_opts(dev, 0, 999999) == -EINVAL, "and a shorter one");
}

int main(void)
{
	struct npu_dev *dev = nn_begin(OURS);
	uint16_t want[WIDTH];

	expect(dev, want);
	test_cut(dev, "jobs", &few_jobs, want);
	test_cut(dev, "tasks", &few_tasks, want);
	test_cut(dev, "handles", &few_handles, want);
	test_foreign(dev, want);
	test_room(dev, want);
	test_many_tensors(dev, 1);
	test_many_tensors(dev, 3);
	test_one_operation(dev);
	test_refused_for_what_hangs(dev);
	test_opts(dev);
	return nn_end(dev);
}
