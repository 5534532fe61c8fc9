// SPDX-License-Identifier: GPL-2.0-only
/*
 * Execution: order by buffers, several tasks, three cores at once, and what a job costs.
 *
 * boot: jobs OLD TEST_LIMIT=400
 * boot: dt
 * boot: coherent
 * boot: evict
 * boot: armhf
 * boot: nonames
 * boot: polled
 * boot: noirq
 * boot: noiommu
 * boot: noviommu
 * boot: noiommudis
 * boot: noiommubig
 * boot: noiommuoff
 * boot: novendor
 * boot: debug-short KERNEL=debug CI TEST_LIMIT=1800 --param vendor_misc=1 --param autosuspend_ms=1000
 * boot: debug-node
 * boot: debug-noiommu
 * Of make check-kcsan:
 * boot: kcsan-exec KERNEL=kcsan TEST_LIMIT=1800
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "rknpu_harness.h"

FIXTURE(exec) {
	struct rk_client c;
	struct rk_op dbl;
	struct rk_op id;
};

FIXTURE_SETUP(exec)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	ASSERT_EQ(0, rk_client_init(&self->c));
	ASSERT_EQ(0, rk_op_init(&self->dbl, self->c.fd, RK_M, 2, 0));
	ASSERT_EQ(0, rk_op_init(&self->id, self->c.fd, RK_M, 1, 0));
}

FIXTURE_TEARDOWN(exec)
{
	rk_model_calm();
	rk_client_fini(&self->c);
}

static int sat8(int v)
{
	return v > 127 ? 127 : v < -128 ? -128 : v;
}

static void clear_counters(void)
{
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
}

RK_TEST_F(exec, one_job, "a job computes the right bytes")
{
	EXPECT_EQ(0, rk_client_run(&self->c, 41));
}

RK_TEST_F(exec, every_int8, "a job computes the right bytes for every input")
{
	for (int v = -128; v < 127; v++) {
		ASSERT_EQ(0, rk_client_run(&self->c, v)) TH_LOG("value %d", v);
	}
}

/* DATA_FORMAT of the DPU; its bit MC_SURF_OUT is for a layout that nobody has explained. */
#define DPU_DATA_FORMAT	0x1001000000004010ull
#define REGISTER	0xffff00000000ffffull
#define MC_SURF_OUT	(1ull << (16 + 3))

RK_TEST_F(exec, refusal_is_explained, "the model says why it cannot run a program")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task task;
	char why[256] = "";
	uint64_t *prog;
	bool told = false;
	int patched = 0;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, c->out.iova, &task));
	prog = (uint64_t *)(c->inc.bo.map + (task.regcmd - c->inc.bo.iova));
	for (uint32_t i = 0; i < task.regcmd_count; i++) {
		if ((prog[i] & REGISTER) == DPU_DATA_FORMAT) {
			prog[i] |= MC_SURF_OUT;
			patched++;
		}
	}
	ASSERT_EQ(1, patched);
	ASSERT_EQ(0, rk_fini(&c->inc.bo));
	rk_task_timeout_ms(100);
	ASSERT_EQ(0, rk_submit_task(c->fd, &task, &c->in, &c->out));
	EXPECT_EQ(-ETIME, rk_prep(&c->out, 10000));
	for (unsigned int i = 0; i < RK_CORES; i++)
		told = told || (rk_hang_reason(i, why, sizeof(why)) &&
				!strcmp(why, "DPU feature mode"));
	EXPECT_TRUE(told) TH_LOG("last reason: %s", why);
	rk_model_calm();
	EXPECT_EQ(0, rk_client_run(c, 3));
}

RK_TEST_F(exec, many_pages, "a job works over many pages, and writes nothing beyond them")
{
	struct rk_client *c = &self->c;
	size_t bytes = RK_OP_BYTES(512);
	struct rk_op big;
	struct rk_bo in, out;

	ASSERT_EQ(0, rk_op_init(&big, c->fd, 512, 1, 9));
	ASSERT_EQ(0, rk_bo_init(&in, c->fd, bytes));
	ASSERT_EQ(0, rk_bo_init(&out, c->fd, bytes + RK_PAGE));
	for (size_t i = 0; i < bytes; i++)
		in.map[i] = i * 31 + (i >> 8);
	ASSERT_EQ(0, rk_fini(&in));
	ASSERT_EQ(0, rk_submit_op(&big, &in, &out));
	ASSERT_EQ(0, rk_prep(&out, 10000));
	for (size_t i = 0; i < bytes; i++) {
		ASSERT_EQ(sat8((int8_t)in.map[i] + 9), (int8_t)out.map[i]) TH_LOG("byte %zu", i);
	}
	/* Nothing beyond what the program describes. */
	for (size_t i = bytes; i < bytes + RK_PAGE; i++) {
		ASSERT_EQ(0, out.map[i]);
	}
}

/* ---- order ---- */

RK_TEST_F(exec, read_after_write, "each of 100 jobs reads what the one before wrote")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task there, back;

	ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, c->out.iova, &there));
	ASSERT_EQ(0, rk_op_task(&c->inc, c->out.iova, c->in.iova, &back));
	ASSERT_EQ(0, rk_bo_fill(&c->in, -60, RK_BYTES));
	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(0, rk_submit_task(c->fd, &there, &c->in, &c->out));
		ASSERT_EQ(0, rk_submit_task(c->fd, &back, &c->out, &c->in));
	}
	EXPECT_EQ(0, rk_bo_differs(&c->in, 40, RK_BYTES));
}

RK_TEST_F(exec, read_after_write_in_one_submit, "the same for 100 jobs of one call")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task t[2];
	struct drm_rocket_job jobs[100];

	ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, c->out.iova, &t[0]));
	ASSERT_EQ(0, rk_op_task(&c->inc, c->out.iova, c->in.iova, &t[1]));
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		const struct rk_bo *from = i % 2 ? &c->out : &c->in;
		const struct rk_bo *to = i % 2 ? &c->in : &c->out;

		rk_job(&jobs[i], &t[i % 2], 1, &from->handle, 1, &to->handle, 1);
	}
	ASSERT_EQ(0, rk_bo_fill(&c->in, -60, RK_BYTES));
	ASSERT_EQ(0, rk_submit(c->fd, jobs, ARRAY_SIZE(jobs)));
	EXPECT_EQ(0, rk_bo_differs(&c->in, 40, RK_BYTES));
}

RK_TEST_F(exec, order_of_operations,
	  "operations that do not commute run in the order of submission")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task t[2][2];
	unsigned int seed = 12345;

	for (int d = 0; d < 2; d++) {
		struct rk_bo *from = d ? &c->out : &c->in, *to = d ? &c->in : &c->out;

		ASSERT_EQ(0, rk_op_task(&c->inc, from->iova, to->iova, &t[d][0]));
		ASSERT_EQ(0, rk_op_task(&self->dbl, from->iova, to->iova, &t[d][1]));
	}
	for (int round = 0; round < 20; round++) {
		int want = -1;

		ASSERT_EQ(0, rk_bo_fill(&c->in, want, RK_BYTES));
		for (int i = 0; i < 12; i++) {
			int op = rand_r(&seed) >> 9 & 1;

			want = sat8(op ? 2 * want : want + 1);
			ASSERT_EQ(0, rk_submit_task(c->fd, &t[i % 2][op],
						    i % 2 ? &c->out : &c->in,
						    i % 2 ? &c->in : &c->out));
		}
		ASSERT_EQ(0, rk_bo_differs(&c->in, want, RK_BYTES)) TH_LOG("round %d", round);
	}
}

RK_TEST_F(exec, write_after_write, "a second writer does not overtake the first")
{
	struct rk_client *c = &self->c;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_bo_fill(&c->in, 10, RK_BYTES));
	rk_latency_us(100000);
	ASSERT_EQ(0, rk_submit_op(&self->dbl, &c->in, &c->out));
	rk_sleep_ms(30);
	rk_latency_us(0);
	ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &c->out));
	EXPECT_EQ(0, rk_bo_differs(&c->out, 11, RK_BYTES));
}

RK_TEST_F(exec, r12_write_after_read, "a writer waits for a reader")
{
	struct rk_client *c = &self->c;
	struct rk_bo third;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_bo_init(&third, c->fd, RK_BYTES));
	ASSERT_EQ(0, rk_prep(&c->out, 1000));
	rk_latency_us(50000);
	clear_counters();
	ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &c->out));
	ASSERT_EQ(0, rk_submit_op(&c->inc, &third, &c->in));
	EXPECT_EQ(0, rk_prep(&c->in, 5000));
	EXPECT_EQ(0, rk_prep(&c->out, 5000));
	EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
}

RK_TEST_F(exec, readers_run_together, "jobs that read the same BO run at the same time")
{
	struct rk_client *c = &self->c;
	struct rk_bo out[RK_CORES];

	RK_REQUIRE_MODEL();
	RK_REQUIRE_CORES(c->fd);
	ASSERT_EQ(0, rk_bo_fill(&c->in, 10, RK_BYTES));
	for (int i = 0; i < RK_CORES; i++) {
		ASSERT_EQ(0, rk_bo_init(&out[i], c->fd, RK_BYTES));
	}
	/* So long that all are submitted before the first is over, however busy the host. */
	rk_latency_us(250000);
	clear_counters();
	for (int i = 0; i < RK_CORES; i++) {
		ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &out[i]));
	}
	for (int i = 0; i < RK_CORES; i++) {
		EXPECT_EQ(0, rk_bo_differs(&out[i], 11, RK_BYTES));
	}
	EXPECT_EQ(RK_CORES, rk_ctl_read(NPU_CTL_MAX_BUSY));
}

#define BUFS	6

RK_TEST_F_TIMEOUT(exec, random_dependencies, 60,
		  "random reads and writes over six BOs end as if run one by one")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task t[BUFS][BUFS];
	struct rk_bo buf[BUFS];
	unsigned int seed = 4711;
	int want[BUFS];

	for (int i = 0; i < BUFS; i++) {
		ASSERT_EQ(0, rk_bo_init(&buf[i], c->fd, RK_BYTES));
	}
	for (int i = 0; i < BUFS; i++)
		for (int k = 0; k < BUFS; k++) {
			ASSERT_EQ(0, rk_op_task(&c->inc, buf[i].iova, buf[k].iova, &t[i][k]));
		}
	rk_latency_us(500);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < BUFS; i++) {
			want[i] = i * 10;
			ASSERT_EQ(0, rk_prep(&buf[i], 10000));
			ASSERT_EQ(0, rk_bo_fill(&buf[i], want[i], RK_BYTES));
		}
		for (int i = 0; i < 60; i++) {
			int from = (rand_r(&seed) >> 8) % BUFS;
			int to = (from + 1 + (rand_r(&seed) >> 8) % (BUFS - 1)) % BUFS;

			want[to] = sat8(want[from] + 1);
			ASSERT_EQ(0, rk_submit_task(c->fd, &t[from][to], &buf[from], &buf[to]));
		}
		for (int i = 0; i < BUFS; i++) {
			ASSERT_EQ(0, rk_bo_differs(&buf[i], want[i], RK_BYTES))
				TH_LOG("round %d buffer %d", round, i);
		}
	}
}

/* ---- several tasks ---- */

RK_TEST_F(exec, forty_tasks_in_order, "40 tasks of a job run in order")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task t[40];
	struct drm_rocket_job job;
	uint32_t both[2] = { c->in.handle, c->out.handle };

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		ASSERT_EQ(0, rk_op_task(i % 3 ? &c->inc : &self->id,
					i % 2 ? c->out.iova : c->in.iova,
					i % 2 ? c->in.iova : c->out.iova, &t[i]));
	}
	ASSERT_EQ(0, rk_bo_fill(&c->in, 0, RK_BYTES));
	rk_job(&job, t, ARRAY_SIZE(t), NULL, 0, both, 2);
	ASSERT_EQ(0, rk_submit(c->fd, &job, 1));
	EXPECT_EQ(0, rk_bo_differs(&c->in, 26, RK_BYTES));
}

RK_TEST_F(exec, ends_with_the_last_task, "a job is over when its last task is")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task t[4];
	struct drm_rocket_job job;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		ASSERT_EQ(0, rk_op_task(i == 3 ? &c->inc : &self->id, c->in.iova,
					c->out.iova, &t[i]));
	}
	ASSERT_EQ(0, rk_bo_fill(&c->in, 5, RK_BYTES));
	rk_latency_us(20000);
	rk_job(&job, t, ARRAY_SIZE(t), &c->in.handle, 1, &c->out.handle, 1);
	ASSERT_EQ(0, rk_submit(c->fd, &job, 1));
	EXPECT_EQ(0, rk_bo_differs(&c->out, 6, RK_BYTES));
}

RK_TEST_F(exec, r23_long_healthy_job,
	  "the deadline is each task's, so a long healthy job is left alone")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task t[5];
	struct drm_rocket_job job;

	RK_REQUIRE_MODEL();
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, c->out.iova, &t[i]));
	}
	ASSERT_EQ(0, rk_bo_fill(&c->in, 5, RK_BYTES));
	rk_latency_us(250000);
	rk_job(&job, t, ARRAY_SIZE(t), &c->in.handle, 1, &c->out.handle, 1);
	ASSERT_EQ(0, rk_submit(c->fd, &job, 1));
	EXPECT_EQ(0, rk_bo_differs(&c->out, 6, RK_BYTES));
}

/* ---- many jobs ---- */

RK_TEST_F_TIMEOUT(exec, thousand_small_jobs, 60, "1,000 small jobs compute the right bytes")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task t[8];
	struct rk_bo out[8];

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		ASSERT_EQ(0, rk_bo_init(&out[i], c->fd, RK_BYTES));
		ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, out[i].iova, &t[i]));
	}
	ASSERT_EQ(0, rk_bo_fill(&c->in, 70, RK_BYTES));
	for (int i = 0; i < 1000; i++) {
		ASSERT_EQ(0, rk_submit_task(c->fd, &t[i % 8], &c->in, &out[i % 8]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		EXPECT_EQ(0, rk_bo_differs(&out[i], 71, RK_BYTES));
	}
}

struct worker {
	pthread_t thread;
	int fd;
	int ret;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct rk_client c = { .fd = w->fd };

	w->ret = rk_op_init(&c.inc, w->fd, RK_M, 1, 1);
	if (!w->ret)
		w->ret = rk_bo_init(&c.in, w->fd, RK_BYTES);
	if (!w->ret)
		w->ret = rk_bo_init(&c.out, w->fd, RK_BYTES);
	for (int i = 0; i < (rk_long() ? 100 : 40) && !w->ret; i++)
		w->ret = rk_client_run(&c, i);
	return NULL;
}

RK_TEST_F_TIMEOUT(exec, threads_on_one_file, 60, "six threads share one file")
{
	struct worker w[6] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(w); i++) {
		w[i].fd = self->c.fd;
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, work, &w[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(w); i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(0, w[i].ret);
	}
}

RK_TEST_F_TIMEOUT(exec, threads_on_their_own_files, 60, "six threads have a file each")
{
	struct worker w[6] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(w); i++) {
		w[i].fd = rk_open();
		ASSERT_LE(0, w[i].fd);
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, work, &w[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(w); i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(0, w[i].ret);
		close(w[i].fd);
	}
}

/* ---- three cores, proven by the model's counters and not by time ---- */

RK_TEST_F(exec, r39_three_cores_from_one_file, "jobs of one file run on three cores at once")
{
	RK_REQUIRE_MODEL();
	RK_REQUIRE_CORES(self->c.fd);
	clear_counters();
	ASSERT_EQ(0, rk_run_on_every_core(self->c.fd, 5));
	EXPECT_EQ(RK_CORES, rk_ctl_read(NPU_CTL_MAX_BUSY));
	EXPECT_LT(0, rk_ctl_read64(NPU_CTL_OVERLAP3_LO));
	/* More if a busy host made a round be repeated. */
	EXPECT_LE(15, rk_count_all(NPU_CNT_TASK_DONE));
	for (int i = 0; i < RK_CORES; i++) {
		EXPECT_LT(0, rk_count(i, NPU_CNT_TASK_DONE)) {
			TH_LOG("core %d idle", i);
		}
	}
}

RK_TEST_F(exec, three_cores_from_three_files,
	  "jobs of three files run on three cores at once, where each core has an IOMMU")
{
	struct rk_client c[RK_CORES];

	RK_REQUIRE_MODEL();
	RK_REQUIRE_CORES(self->c.fd);
	for (int i = 0; i < RK_CORES; i++) {
		ASSERT_EQ(0, rk_client_init(&c[i]));
		ASSERT_EQ(0, rk_bo_fill(&c[i].in, 10 * i, RK_BYTES));
	}
	clear_counters();
	rk_latency_us(100000);
	for (int round = 0; round < 4; round++)
		for (int i = 0; i < RK_CORES; i++) {
			ASSERT_EQ(0, rk_submit_op(&c[i].inc, &c[i].in, &c[i].out));
		}
	for (int i = 0; i < RK_CORES; i++) {
		EXPECT_EQ(0, rk_bo_differs(&c[i].out, 10 * i + 1, RK_BYTES));
	}
	EXPECT_EQ(12, rk_count_all(NPU_CNT_TASK_DONE));
	if (rk_one_iommu()) {
		/* Two at once would run in one of their address spaces. */
		EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
	} else {
		EXPECT_EQ(RK_CORES, rk_ctl_read(NPU_CTL_MAX_BUSY));
		EXPECT_LT(0, rk_ctl_read64(NPU_CTL_OVERLAP3_LO));
		for (int i = 0; i < RK_CORES; i++) {
			EXPECT_LT(0, rk_count(i, NPU_CNT_TASK_DONE)) TH_LOG("core %d idle", i);
		}
	}
	for (int i = 0; i < RK_CORES; i++)
		rk_client_fini(&c[i]);
}

RK_TEST_F(exec, dependent_jobs_never_overlap,
	  "two jobs that write one BO never overlap, whatever cores are free")
{
	struct rk_client *c = &self->c;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_prep(&c->out, 1000));
	clear_counters();
	rk_latency_us(3000);
	for (int i = 0; i < 30; i++) {
		ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &c->out));
	}
	ASSERT_EQ(0, rk_prep(&c->out, 10000));
	EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
	EXPECT_EQ(0, rk_ctl_read64(NPU_CTL_OVERLAP2_LO));
}

/* ---- who runs next, told by the order in which the model saw them start ---- */

/* On the core that starts @regcmd, what was started before it? */
static int started_before(uint32_t regcmd)
{
	static struct rk_start s[1000];
	int others[RK_CORES] = { 0 };
	int n = rk_trace_starts(s, ARRAY_SIZE(s));

	for (int i = 0; i < n; i++) {
		if (s[i].regcmd == regcmd)
			return others[s[i].core];
		others[s[i].core]++;
	}
	return -1;
}

RK_TEST_F_TIMEOUT(exec, one_job_does_not_wait_for_a_queue, 60,
		  "one job waits for at most one of another client's 1,000 queued jobs per core")
{
	static struct drm_rocket_job jobs[1000];
	struct drm_rocket_task t[8], last;
	struct rk_client single, many;
	struct rk_bo out[8];

	RK_REQUIRE_MODEL();
	if (!rk_ours())
		SKIP(return, "our module's scheduler");
	ASSERT_EQ(0, rk_client_init(&many));
	ASSERT_EQ(0, rk_client_init(&single));
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		ASSERT_EQ(0, rk_bo_init(&out[i], many.fd, RK_BYTES));
		ASSERT_EQ(0, rk_op_task(&many.inc, many.in.iova, out[i].iova, &t[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		rk_job(&jobs[i], &t[i % 8], 1, &many.in.handle, 1, &out[i % 8].handle, 1);
	/* A program of its own place, to be told from the others'. */
	for (int i = 0; i < 12; i++) {
		ASSERT_EQ(0, rk_op_task(&single.inc, single.in.iova, single.out.iova, &last));
	}
	/* Long enough for most hosts to submit within one. */
	rk_latency_us(50000);
	ASSERT_EQ(0, rk_submit(many.fd, jobs, ARRAY_SIZE(jobs)));
	for (int round = 0, tries = 0; round < 5; tries++) {
		int64_t began;
		bool in_time;
		int before;

		ASSERT_GT(50, tries);
		rk_sleep_ms(120);
		began = rk_now();
		rk_trace_start();
		ASSERT_EQ(0, rk_submit_task(single.fd, &last, &single.in, &single.out));
		in_time = rk_now() - began < 50 * RK_MS;
		ASSERT_EQ(0, rk_prep(&single.out, 5000));
		/* On a busy host others may have started before it was there. */
		if (!in_time)
			continue;
		before = started_before(last.regcmd);
		EXPECT_LE(0, before);
		EXPECT_GE(1, before) TH_LOG("round %d", round);
		round++;
	}
	/* They were still there all the time. */
	EXPECT_EQ(-EBUSY, rk_prep_until(many.fd, out[7].handle, 0));
	rk_latency_us(0);
	rk_client_fini(&many);
	rk_client_fini(&single);
}

/* ---- one job cannot keep a core for ever ---- */

#define LONG_TASKS	64

RK_TEST_F(exec, a_job_has_a_budget,
	  "a job is ended when its core time is used up, though each task makes progress")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task t[LONG_TASKS];
	struct drm_rocket_job job;

	RK_REQUIRE_MODEL();
	if (!rk_ours())
		SKIP(return, "needs our module");
	ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, c->out.iova, &t[0]));
	for (int i = 1; i < LONG_TASKS; i++)
		t[i] = t[0];
	clear_counters();
	rk_job(&job, t, LONG_TASKS, &c->in.handle, 1, &c->out.handle, 1);
	rk_latency_us(50000);
	rk_module_param("max_job_ms", 600);
	EXPECT_EQ(0, rk_submit(c->fd, &job, 1));
	EXPECT_EQ(-ETIME, rk_prep(&c->out, 20000));
	rk_module_param("max_job_ms", 10000);
	EXPECT_GT(LONG_TASKS, rk_count_all(NPU_CNT_TASK_DONE));
	rk_model_calm();
	EXPECT_EQ(0, rk_client_run(c, 5));
}

/* ---- what 1,000 back-to-back jobs cost (design, property 3) ---- */

FIXTURE(cost) {
	struct rk_client c;
	int autosuspend_ms;
};

FIXTURE_VARIANT(cost) {
	uint32_t tasks;
};

FIXTURE_VARIANT_ADD(cost, one_task) { .tasks = 1 };
FIXTURE_VARIANT_ADD(cost, four_tasks) { .tasks = 4 };

FIXTURE_SETUP(cost)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	/* On a busy host a guest's CPU stands still for as long as a core waits to sleep. */
	self->autosuspend_ms = rk_autosuspend_ms(10000);
	ASSERT_LE(0, self->autosuspend_ms);
	ASSERT_EQ(0, rk_client_init(&self->c));
}

FIXTURE_TEARDOWN(cost)
{
	rk_client_fini(&self->c);
	rk_autosuspend_ms(self->autosuspend_ms);
}

#define COST_JOBS	1000

RK_TEST_F_TIMEOUT(cost, r38_thousand_jobs, 60,
		  "1,000 back-to-back jobs cost one attach, one power-up and the register accesses of the design")
{
	static struct drm_rocket_job jobs[COST_JOBS];
	struct rk_client *c = &self->c;
	uint32_t n = variant->tasks;
	struct drm_rocket_task t[4];
	long long cache_bytes, attaches[RK_CORES], power_ups[RK_CORES];
	unsigned long irqs, again;

	RK_REQUIRE_MODEL();
	if (rk_polled())
		SKIP(return, "counts interrupts");
	for (uint32_t i = 0; i < n; i++) {
		ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, c->out.iova, &t[i]));
	}
	for (int i = 0; i < COST_JOBS; i++)
		rk_job(&jobs[i], t, n, &c->in.handle, 1, &c->out.handle, 1);
	ASSERT_EQ(0, rk_client_run(c, 1));
	/* Until the core is asked to be quiet. */
	rk_sleep_ms(5);
	cache_bytes = rk_stat("cache_bytes");
	for (int i = 0; i < RK_CORES; i++) {
		attaches[i] = rk_core_stat(i, "attaches");
		power_ups[i] = rk_core_stat(i, "power_ups");
	}
	clear_counters();
	irqs = rk_irqs_taken();
	ASSERT_EQ(0, rk_submit(c->fd, jobs, COST_JOBS));
	ASSERT_EQ(0, rk_prep(&c->out, 40000));
	again = rk_irqs_taken() - irqs - rk_count_all(NPU_CNT_IRQ);
	if (rk_ours()) {
		/* Ten to start a task and one to end it; two whenever nothing is left to do. */
		EXPECT_LE(11 * COST_JOBS * n, rk_count_all(NPU_CNT_MMIO_WRITE));
		EXPECT_GE((11 * n + 2) * COST_JOBS, rk_count_all(NPU_CNT_MMIO_WRITE));
		/*
		 * One to see what interrupts, also when the line is still up because the write
		 * that clears it is on its way, and one whenever nothing is left to do; few for
		 * what a slow host makes suspicious.
		 */
		EXPECT_LE(COST_JOBS * n, rk_count_all(NPU_CNT_MMIO_READ));
		EXPECT_GE(COST_JOBS * (n + 1) + again + 20, rk_count_all(NPU_CNT_MMIO_READ));
		/* What PREP_BO asked for: all of a BO of one page. */
		EXPECT_EQ(RK_PAGE, rk_stat("cache_bytes") - cache_bytes);
	}
	EXPECT_EQ(COST_JOBS * n, rk_count_all(NPU_CNT_TASK_DONE));
	EXPECT_EQ(COST_JOBS * n, rk_count_all(NPU_CNT_IRQ));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
	for (int i = 0; i < RK_CORES; i++) {
		if (rk_ours())
			EXPECT_GE(1, rk_core_stat(i, "attaches") - attaches[i]);
		/*
		 * A core that slept has had its IOMMU programmed for the domain that the
		 * kernel falls back to, when it went to sleep and when it woke up. It may
		 * have been on its way to sleep, which ends in a reset, when counting began.
		 */
		power_ups[i] = rk_core_stat(i, "power_ups") - power_ups[i];
		/* Only our driver tells; and it may wake up before its domain was off. */
		if (power_ups[i] < (long long)rk_count(i, NPU_CNT_POWER_ON))
			power_ups[i] = rk_count(i, NPU_CNT_POWER_ON);
		/*
		 * Going to sleep resets it: once if it was busy before, and on a slow host
		 * again after the jobs, before this is read.
		 */
		EXPECT_GE(1 + power_ups[i], rk_count(i, NPU_CNT_RESET))
			TH_LOG("resets of core %d", i);
		EXPECT_GE(1 + 3 * power_ups[i] + rk_count(i, NPU_CNT_RESET),
			  rk_count(i, NPU_CNT_MMU_ATTACH)) {
			TH_LOG("attaches of core %d; power-ups %lld, resets %llu, tasks %llu", i,
			       power_ups[i], (unsigned long long)rk_count(i, NPU_CNT_RESET),
			       (unsigned long long)rk_count(i, NPU_CNT_TASK_DONE));
		}
		EXPECT_GE(1, power_ups[i]) TH_LOG("power-ups of core %d", i);
	}
}

RK_HARNESS_MAIN
