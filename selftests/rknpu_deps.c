// SPDX-License-Identifier: GPL-2.0-only
/*
 * What jobs wait for: BOs that files share, other drivers' fences, fences in
 * files; and that all of it may go away meanwhile. Foreign fences are vgem's.
 *
 * Another driver with fences. A group that has too much memory may be ended by the kernel, which prints a call trace then.
 * boot: deps TRACES TEST_LIMIT=400 --module vgem --module ours
 * boot: armhf
 * boot: debug-deps KERNEL=debug TEST_LIMIT=1800 --module vgem --module ours
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "rknpu_dmabuf.h"
#include "rknpu_harness.h"

#define TASK_TIMEOUT_MS	20000
/* Not over before the call that finds it under way. */
#define JOB_US		(100000 * rk_slow())

/* ---- two files that share BOs ---- */

#define SHARED	4

struct side {
	struct rk_client c;
	/* The same memory on both sides, at addresses of its own. */
	struct rk_bo bo[SHARED];
	struct drm_rocket_task inc[SHARED][SHARED];
};

/* A BO of @from, for the file @fd; mapped by neither. */
static int share_bo(const struct rk_bo *from, int fd, struct rk_bo *to)
{
	int buf = rk_export(from->fd, from->handle);
	struct drm_rocket_bo_info info = { 0 };
	int ret = buf < 0 || drmPrimeFDToHandle(fd, buf, &info.handle) ? -errno : 0;

	if (buf >= 0)
		close(buf);
	if (!ret)
		ret = rk_ioctl(fd, DRM_IOCTL_ROCKET_GET_BO_INFO, &info);
	*to = (struct rk_bo) { .fd = fd, .handle = info.handle, .iova = info.dma_address };
	return ret;
}

static int side_init(struct side *s, struct side *first)
{
	int ret = rk_client_init(&s->c);

	for (int i = 0; i < SHARED && !ret; i++)
		ret = first ? share_bo(&first->bo[i], s->c.fd, &s->bo[i]) :
			      rk_bo_init(&s->bo[i], s->c.fd, RK_BYTES);
	for (int i = 0; i < SHARED && !ret; i++)
		for (int k = 0; k < SHARED && !ret; k++)
			ret = rk_op_task(&s->c.inc, s->bo[i].iova, s->bo[k].iova, &s->inc[i][k]);
	return ret;
}

/* @to = @from + 1. */
static int add_one(struct side *s, int from, int to, uint32_t mask)
{
	struct drm_rocket_job_ext job;

	rk_job_ext(&job, &s->inc[from][to], 1, &s->bo[from], &s->bo[to]);
	job.core_mask = mask;
	return rk_submit_ext(s->c.fd, &job, 1, NULL);
}

FIXTURE(files) {
	struct side s[2];
};

FIXTURE_SETUP(files)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_BO_INFO);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, side_init(&self->s[0], NULL));
	ASSERT_EQ(0, side_init(&self->s[1], &self->s[0]));
	for (int i = 0; i < SHARED; i++) {
		ASSERT_EQ(0, rk_bo_fill(&self->s[0].bo[i], 10 * i, RK_BYTES));
	}
	rk_task_timeout_ms(TASK_TIMEOUT_MS);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
}

FIXTURE_TEARDOWN(files)
{
	rk_model_calm();
	for (int i = 0; i < SHARED && self->s[1].c.fd; i++)
		rk_bo_fini(&self->s[0].bo[i]);
	for (int i = 0; i < 2; i++)
		if (self->s[i].c.fd)
			rk_client_fini(&self->s[i].c);
}

RK_TEST_F(files, read_after_write, "a job waits for another file's job that writes what it reads")
{
	rk_latency_us(JOB_US);
	ASSERT_EQ(0, add_one(&self->s[0], 0, 1, 1));
	ASSERT_EQ(0, add_one(&self->s[1], 1, 2, 2));
	ASSERT_EQ(0, add_one(&self->s[0], 2, 3, 4));
	EXPECT_EQ(0, rk_bo_differs(&self->s[0].bo[3], 3, RK_BYTES));
	EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
}

RK_TEST_F(files, write_after_read, "a job waits for another file's job that reads what it writes")
{
	rk_latency_us(JOB_US);
	ASSERT_EQ(0, add_one(&self->s[0], 2, 1, 1));
	ASSERT_EQ(0, add_one(&self->s[1], 3, 2, 2));
	EXPECT_EQ(0, rk_bo_differs(&self->s[0].bo[1], 21, RK_BYTES));
	EXPECT_EQ(0, rk_bo_differs(&self->s[0].bo[2], 31, RK_BYTES));
	EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
}

RK_TEST_F(files, write_after_write, "a job waits for another file's job that writes the same")
{
	rk_latency_us(JOB_US);
	ASSERT_EQ(0, add_one(&self->s[0], 3, 1, 1));
	ASSERT_EQ(0, add_one(&self->s[1], 0, 1, 2));
	EXPECT_EQ(0, rk_bo_differs(&self->s[0].bo[1], 1, RK_BYTES));
	EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
}

RK_TEST_F(files, of_one_call, "jobs of one call wait for each other")
{
	static const int from[] = { 1, 0, 1, 0 }, to[] = { 3, 1, 2, 2 };
	struct side *s = &self->s[0];
	struct drm_rocket_job_ext job[4];

	rk_latency_us(JOB_US);
	for (int i = 0; i < 4; i++) {
		rk_job_ext(&job[i], &s->inc[from[i]][to[i]], 1, &s->bo[from[i]], &s->bo[to[i]]);
		job[i].core_mask = 1u << (i % RK_CORES);
	}
	ASSERT_EQ(0, rk_submit_ext(s->c.fd, job, 4, NULL));
	EXPECT_EQ(0, rk_bo_differs(&s->bo[3], 11, RK_BYTES));
	EXPECT_EQ(0, rk_bo_differs(&s->bo[1], 1, RK_BYTES));
	EXPECT_EQ(0, rk_bo_differs(&s->bo[2], 1, RK_BYTES));
	EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
}

RK_TEST_F(files, readers_run_together,
	  "jobs of two files that read the same BO run at the same time")
{
	/* Awake, so that the second can follow while the first runs. */
	rk_latency_us(400000);
	ASSERT_EQ(0, add_one(&self->s[0], 0, 1, 1));
	ASSERT_EQ(0, add_one(&self->s[1], 0, 2, 2));
	EXPECT_EQ(0, rk_bo_differs(&self->s[0].bo[1], 1, RK_BYTES));
	EXPECT_EQ(0, rk_bo_differs(&self->s[0].bo[2], 1, RK_BYTES));
	EXPECT_EQ(2, rk_ctl_read(NPU_CTL_MAX_BUSY));
}

RK_TEST_F_TIMEOUT(files, random, 60,
		  "random jobs of two files over the same BOs end as if run one by one")
{
	unsigned int seed = 99;
	int want[SHARED];

	rk_latency_us(300);
	for (int i = 0; i < SHARED; i++)
		want[i] = 10 * i;
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 80; i++) {
			int from = (rand_r(&seed) >> 8) % SHARED;
			int to = (from + 1 + (rand_r(&seed) >> 8) % (SHARED - 1)) % SHARED;

			want[to] = want[from] + 1 > 127 ? 127 : want[from] + 1;
			ASSERT_EQ(0, add_one(&self->s[(rand_r(&seed) >> 8) % 2], from, to,
					     (rand_r(&seed) >> 8) % 8));
		}
		for (int i = 0; i < SHARED; i++) {
			ASSERT_EQ(0, rk_bo_differs(&self->s[0].bo[i], want[i], RK_BYTES))
				TH_LOG("round %d, BO %d", round, i);
		}
	}
}

RK_TEST_F(files, listed_many_times, "a BO may be listed many times")
{
	struct side *s = &self->s[0];
	uint32_t in[5], out[5];
	struct drm_rocket_job job;

	for (int i = 0; i < 5; i++) {
		in[i] = s->bo[i % 2].handle;
		out[i] = s->bo[(i + 1) % 2].handle;
	}
	rk_latency_us(20000);
	for (int i = 0; i < 10; i++) {
		rk_job(&job, &s->inc[i % 2][(i + 1) % 2], 1, in, 5, out, 5);
		ASSERT_EQ(0, rk_submit(s->c.fd, &job, 1));
		ASSERT_EQ(0, add_one(&self->s[1], (i + 1) % 2, 2, 0));
	}
	EXPECT_EQ(0, rk_bo_differs(&s->bo[0], 10, RK_BYTES));
	EXPECT_EQ(0, rk_bo_differs(&s->bo[2], 11, RK_BYTES));
	EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
}

/* ---- fences in files ---- */

static int sync_file_of_job(int fd, struct drm_rocket_job_ext *job)
{
	struct drm_rocket_sync sync = { 0 };
	int file, ret = drmSyncobjCreate(fd, 0, &sync.handle) ? -errno : 0;

	job->out_syncs = (uintptr_t)&sync;
	job->out_sync_count = 1;
	if (!ret)
		ret = rk_submit_ext(fd, job, 1, NULL);
	if (!ret && drmSyncobjExportSyncFile(fd, sync.handle, &file))
		ret = -errno;
	return ret ? ret : file;
}

RK_TEST_F(files, sync_file_to_syncobj, "a job waits for a fence in a file, as a syncobj")
{
	struct side *a = &self->s[0], *b = &self->s[1];
	struct drm_rocket_sync sync = { 0 };
	struct drm_rocket_job_ext job;
	int file;

	rk_latency_us(JOB_US);
	rk_job_ext(&job, &a->inc[0][1], 1, NULL, NULL);
	job.core_mask = 1;
	file = sync_file_of_job(a->c.fd, &job);
	ASSERT_LE(0, file);
	ASSERT_EQ(0, drmSyncobjCreate(b->c.fd, 0, &sync.handle));
	ASSERT_EQ(0, drmSyncobjImportSyncFile(b->c.fd, sync.handle, file));
	close(file);
	rk_job_ext(&job, &b->inc[1][2], 1, NULL, &b->bo[2]);
	job.core_mask = 2;
	job.in_syncs = (uintptr_t)&sync;
	job.in_sync_count = 1;
	ASSERT_EQ(0, rk_submit_ext(b->c.fd, &job, 1, NULL));
	EXPECT_EQ(0, rk_bo_differs(&a->bo[2], 2, RK_BYTES));
	EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
}

RK_TEST_F(files, sync_file_to_bo, "a job waits for a fence in a file that was put on its BO")
{
	struct side *a = &self->s[0], *b = &self->s[1];
	struct dma_buf_import_sync_file put = { .flags = DMA_BUF_SYNC_WRITE };
	struct dma_buf_export_sync_file get = { .flags = DMA_BUF_SYNC_READ };
	struct drm_rocket_job_ext job;
	int buf, ret;

	rk_latency_us(JOB_US);
	rk_job_ext(&job, &a->inc[0][1], 1, NULL, NULL);
	job.core_mask = 1;
	put.fd = sync_file_of_job(a->c.fd, &job);
	ASSERT_LE(0, put.fd);
	buf = rk_export(b->c.fd, b->bo[1].handle);
	ASSERT_LE(0, buf);
	ret = rk_ioctl(buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &put);
	close(put.fd);
	if (ret == -ENOTTY) {
		close(buf);
		SKIP(return, "no sync_files of dma-bufs before 6.0");
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(-EBUSY, rk_prep_until(b->c.fd, b->bo[1].handle, 0));
	ASSERT_EQ(0, add_one(b, 1, 2, 2));
	ASSERT_EQ(0, rk_ioctl(buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &get));
	close(get.fd);
	close(buf);
	EXPECT_EQ(0, rk_bo_differs(&a->bo[2], 2, RK_BYTES));
	EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
}

/* The fence goes onto @bo, for writing: -ENOTTY before 6.0. */
static int put_fence(const struct rk_bo *bo, int sync_file)
{
	struct dma_buf_import_sync_file put = { .flags = DMA_BUF_SYNC_WRITE, .fd = sync_file };
	int buf = rk_export(bo->fd, bo->handle);
	int ret = buf < 0 ? buf : rk_ioctl(buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &put);

	close(buf);
	close(sync_file);
	return ret;
}

#define PUT_FENCE(bo, sync_file)						\
	do {									\
		int ret_ = put_fence(bo, sync_file);				\
										\
		if (ret_ == -ENOTTY)						\
			SKIP(return, "no sync_files of dma-bufs before 6.0");	\
		ASSERT_EQ(0, ret_);						\
	} while (0)

/* A job that lists no BO, and its fence. */
static int submit_unlisted(struct side *s, const struct drm_rocket_task *task, uint32_t mask)
{
	struct drm_rocket_job_ext job;

	rk_job_ext(&job, task, 1, NULL, NULL);
	job.core_mask = mask;
	return sync_file_of_job(s->c.fd, &job);
}

#define WAITED_FOR	250
#define WAITING		1024
/* Of a user; two of each job are not counted. */
#define MOST_WAITS	262144
#define LONGEST_MS	240000u

/* Each has a fence of its own, and waits for the core. */
static int put_many_fences(struct side *s, const struct rk_bo *bo)
{
	struct drm_rocket_job_ext job;
	int ret = 0;

	for (int i = 0; i < WAITED_FOR && !ret; i++) {
		rk_job_ext(&job, &s->inc[0][1], 1, NULL, NULL);
		job.core_mask = 1;
		ret = put_fence(bo, sync_file_of_job(s->c.fd, &job));
	}
	return ret;
}

RK_TEST_F_TIMEOUT(files, number_of_fences_that_jobs_wait_for, 300,
		  "the jobs of a user can wait for 262144 fences in all, and no more, until they are over")
{
	static struct drm_rocket_job_ext jobs[WAITING];
	struct side *a = &self->s[0], *b = &self->s[1];
	uint64_t last;
	int ret;

	if (rk_slow() > 1)
		SKIP(return, "takes minutes");
	rk_module_param("max_job_ms", LONGEST_MS);
	rk_task_timeout_ms(LONGEST_MS);
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, add_one(b, 2, 3, 1));
	/* Of two files the other one's first job may come first. */
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_BUSY, 1, 10000));
	ret = put_many_fences(a, &a->bo[1]);
	if (ret == -ENOTTY)
		SKIP(return, "no sync_files of dma-bufs before 6.0");
	ASSERT_EQ(0, ret);
	for (int i = 0; i < WAITING; i++) {
		rk_job_ext(&jobs[i], &a->inc[1][0], 1, &a->bo[1], NULL);
		jobs[i].core_mask = 1;
	}
	ASSERT_LT(MOST_WAITS, (WAITED_FOR - 2) * 2 * WAITING);
	EXPECT_EQ(0, rk_submit_ext(a->c.fd, jobs, WAITING, NULL));
	EXPECT_EQ(-EBUSY, rk_submit_ext(a->c.fd, jobs, WAITING, NULL));
	/* What was refused has left nothing, and there is room for a few more. */
	EXPECT_EQ(0, rk_submit_ext(a->c.fd, jobs, 1, &last));
	rk_client_fini(&b->c);
	b->c.fd = 0;
	/* Closing ends what hangs, long before its time is over. */
	ASSERT_EQ(0, rk_prep(&a->bo[1], LONGEST_MS / 2));
	EXPECT_EQ(0, rk_submit_ext(a->c.fd, jobs, WAITING, NULL));
	EXPECT_EQ(0, rk_prep_until(a->c.fd, a->bo[1].handle, RK_FOREVER));
	rk_module_param("max_job_ms", 10000);
}

RK_TEST_F(files, newer_sync_file_on_bo,
	  "another file's fence on a BO does not stand for what the BO's own writer still does")
{
	struct side *a = &self->s[0], *b = &self->s[1];
	int file;

	rk_latency_us(2000000);
	ASSERT_EQ(0, add_one(a, 0, 1, 1));
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_TASK_STARTED, 1, 10000));
	rk_latency_us(20000);
	file = submit_unlisted(b, &b->inc[2][3], 2);
	ASSERT_LE(0, file);
	PUT_FENCE(&b->bo[1], file);
	ASSERT_EQ(0, add_one(a, 1, 2, 4));
	EXPECT_EQ(0, rk_bo_differs(&a->bo[2], 2, RK_BYTES));
}

RK_TEST_F(files, older_sync_file_on_bo,
	  "a fence that was put on a BO counts, although a newer job writes the BO")
{
	struct side *a = &self->s[0], *b = &self->s[1];
	int file;

	rk_latency_us(2000000);
	file = submit_unlisted(b, &b->inc[0][2], 1);
	ASSERT_LE(0, file);
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_TASK_STARTED, 1, 10000));
	rk_latency_us(300000);
	ASSERT_EQ(0, add_one(a, 3, 2, 2));
	PUT_FENCE(&b->bo[2], file);
	ASSERT_EQ(0, add_one(a, 2, 1, 4));
	EXPECT_EQ(0, rk_bo_differs(&a->bo[1], 2, RK_BYTES));
}

/*
 * Two jobs read BO 0, the first of them for long; the fence of the second, or what
 * DMA_BUF_IOCTL_EXPORT_SYNC_FILE gives for both, is put there as if they wrote.
 */
static int readers_as_writers(struct side *a, struct side *b, bool both)
{
	struct dma_buf_export_sync_file get = { .flags = DMA_BUF_SYNC_RW };
	struct drm_rocket_job_ext job;
	int buf, file, ret;

	rk_latency_us(2000000);
	ret = add_one(a, 0, 1, 1);
	if (ret || !rk_wait_count(0, NPU_CNT_TASK_STARTED, 1, 10000))
		return ret ? ret : -ETIMEDOUT;
	rk_latency_us(20000);
	rk_job_ext(&job, &b->inc[0][2], 1, &b->bo[0], &b->bo[2]);
	job.core_mask = 2;
	file = sync_file_of_job(b->c.fd, &job);
	if (!both || file < 0)
		return file;
	close(file);
	buf = rk_export(b->c.fd, b->bo[0].handle);
	ret = buf < 0 ? buf : rk_ioctl(buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &get);
	close(buf);
	return ret ? ret : get.fd;
}

/* @to = @from + 1 has come to its end. */
static int end_on_core_2(struct side *s, int from, int to)
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	uint64_t id;
	int ret;

	rk_job_ext(&job, &s->inc[from][to], 1, &s->bo[from], &s->bo[to]);
	job.core_mask = 4;
	ret = rk_submit_ext(s->c.fd, &job, 1, &id);
	return ret ? ret : rk_wait_job(s->c.fd, id, RK_FOREVER, &w);
}

RK_TEST_F(files, reader_put_as_writer,
	  "a reader's fence that was put on its BO as a writer's does not stand for older readers")
{
	struct side *a = &self->s[0], *b = &self->s[1];
	int file = readers_as_writers(a, b, false);

	ASSERT_LE(0, file);
	PUT_FENCE(&b->bo[0], file);
	/* Whoever writes the BO ends after its readers. */
	ASSERT_EQ(0, end_on_core_2(b, 3, 0));
	EXPECT_EQ(0, rk_prep_until(a->c.fd, a->bo[1].handle, 0));
	EXPECT_EQ(0, rk_bo_differs(&a->bo[0], 31, RK_BYTES));
}

RK_TEST_F(files, readers_put_as_writers,
	  "readers' fences that were put on their BO as writers' all hold up who reads it")
{
	struct side *a = &self->s[0], *b = &self->s[1];
	int file = readers_as_writers(a, b, true);

	if (file == -ENOTTY)
		SKIP(return, "no sync_files of dma-bufs before 6.0");
	ASSERT_LE(0, file);
	PUT_FENCE(&b->bo[0], file);
	ASSERT_EQ(0, end_on_core_2(b, 0, 3));
	EXPECT_EQ(0, rk_prep_until(a->c.fd, a->bo[1].handle, 0));
	EXPECT_EQ(0, rk_bo_differs(&a->bo[3], 1, RK_BYTES));
}

/* ---- lifetime ---- */

RK_TEST_F(files, exporter_closes_while_the_job_runs,
	  "the file that made a BO may close while another's job uses it")
{
	struct side *a = &self->s[0], *b = &self->s[1];
	struct rk_bo mine;
	uint8_t *map;

	ASSERT_EQ(0, rk_bo_init(&mine, b->c.fd, RK_BYTES));
	map = mmap(NULL, RK_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, b->c.fd, mine.offset);
	ASSERT_NE(MAP_FAILED, map);
	rk_latency_us(200000);
	/* One that runs and one that waits for it, both into BOs of the other file. */
	ASSERT_EQ(0, add_one(b, 0, 1, 1));
	ASSERT_EQ(0, add_one(b, 1, 2, 2));
	for (int i = 0; i < SHARED; i++)
		rk_bo_fini(&a->bo[i]);
	rk_client_fini(&a->c);
	memset(&a->c, 0, sizeof(a->c));
	rk_latency_us(0);
	/* And a third, to where it can be seen. */
	ASSERT_EQ(0, rk_op_task(&b->c.inc, b->bo[2].iova, mine.iova, &b->inc[0][0]));
	ASSERT_EQ(0, rk_submit_task(b->c.fd, &b->inc[0][0], &b->bo[2], &mine));
	EXPECT_EQ(0, rk_bo_differs(&mine, 3, RK_BYTES));
	EXPECT_EQ(3, map[0]);
	munmap(map, RK_PAGE);
	rk_bo_fini(&mine);
	/* Its teardown does not look at what is gone. */
	rk_client_fini(&b->c);
	memset(&b->c, 0, sizeof(b->c));
}

RK_TEST_F(files, unmapped_while_the_job_runs, "the CPU's mappings may go while a job runs")
{
	struct rk_client *c = &self->s[0].c;
	void *in = c->in.map, *out = c->out.map, *prog = c->inc.bo.map;

	ASSERT_EQ(0, rk_bo_fill(&c->in, 40, RK_BYTES));
	rk_latency_us(JOB_US);
	ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &c->out));
	munmap(in, c->in.size);
	munmap(out, c->out.size);
	munmap(prog, c->inc.bo.size);
	c->in.map = c->inc.bo.map = NULL;
	c->out.map = mmap(NULL, c->out.size, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd,
			  c->out.offset);
	ASSERT_NE(MAP_FAILED, c->out.map);
	EXPECT_EQ(0, rk_bo_differs(&c->out, 41, RK_BYTES));
}

RK_TEST_F(files, submitted_by_a_child_that_exits, "a job lives as long as one process has its file")
{
	struct rk_client *c = &self->s[0].c;
	struct drm_rocket_wait_job w;
	int status;
	pid_t pid;

	ASSERT_EQ(0, rk_bo_fill(&c->in, 50, RK_BYTES));
	rk_latency_us(300000);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(rk_submit_op(&c->inc, &c->in, &c->out) ? 1 : 0);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_EQ(0, rk_wait_job(c->fd, 1, RK_FOREVER, &w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
	EXPECT_EQ(0, rk_bo_differs(&c->out, 51, RK_BYTES));
}

/* ---- another driver's fences ---- */

FIXTURE(foreign) {
	struct rk_client c;
	int vgem;
	/* Vgem's, imported into the client; the job in question lists it. */
	uint32_t vgem_handle;
	struct rk_bo bo;
	struct drm_rocket_task task;
};

FIXTURE_SETUP(foreign)
{
	uint32_t handle;
	int buf;

	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	self->vgem = rk_vgem_open();
	if (self->vgem < 0)
		SKIP(return, "needs vgem");
	ASSERT_EQ(0, rk_vgem_create(self->vgem, &self->vgem_handle));
	buf = rk_export(self->vgem, self->vgem_handle);
	ASSERT_LE(0, buf);
	ASSERT_EQ(0, rk_client_init(&self->c));
	ASSERT_EQ(0, drmPrimeFDToHandle(self->c.fd, buf, &handle));
	close(buf);
	self->bo = (struct rk_bo) { .fd = self->c.fd, .handle = handle };
	ASSERT_EQ(0, rk_op_task(&self->c.inc, self->c.in.iova, self->c.out.iova, &self->task));
	ASSERT_EQ(0, rk_bo_fill(&self->c.in, 60, RK_BYTES));
}

FIXTURE_TEARDOWN(foreign)
{
	rk_model_calm();
	if (self->c.fd)
		rk_client_fini(&self->c);
	if (self->vgem > 0)
		close(self->vgem);
}

/* The job lists vgem's BO, as read or as written, besides its own. */
static int submit_with(struct rk_client *c, const struct drm_rocket_task *task,
		       const struct rk_bo *bo, bool write)
{
	uint32_t in[2] = { c->in.handle, bo->handle }, out[2] = { c->out.handle, bo->handle };
	struct drm_rocket_job job;

	rk_job(&job, task, 1, in, write ? 1 : 2, out, write ? 2 : 1);
	return rk_submit(c->fd, &job, 1);
}

RK_TEST_F(foreign, writer_holds_up_a_reader,
	  "another driver's write holds up jobs that read the BO, and no others")
{
	struct rk_client *c = &self->c;
	uint32_t fence = rk_vgem_begin(self->vgem, self->vgem_handle, RK_VGEM_WRITE);
	struct drm_rocket_wait_job w;

	ASSERT_NE(0, fence);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	ASSERT_EQ(0, submit_with(c, &self->task, &self->bo, false));
	EXPECT_EQ(-ETIMEDOUT, rk_wait_job(c->fd, 1, rk_now() + 200 * RK_MS, &w));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_KICK));
	/* Whoever does not list it is not held up. */
	ASSERT_EQ(0, rk_submit_task(c->fd, &self->task, &c->in, &c->inc.bo));
	ASSERT_EQ(0, rk_wait_job(c->fd, 2, RK_FOREVER, &w));
	EXPECT_EQ(-EBUSY, rk_wait_job(c->fd, 1, 0, &w));
	EXPECT_EQ(0, rk_vgem_end(self->vgem, fence));
	ASSERT_EQ(0, rk_wait_job(c->fd, 1, RK_FOREVER, &w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
	EXPECT_EQ(0, rk_bo_differs(&c->out, 61, RK_BYTES));
}

RK_TEST_F(foreign, reader_holds_up_a_writer_only,
	  "another driver's read holds up jobs that write the BO only")
{
	struct rk_client *c = &self->c;
	uint32_t fence = rk_vgem_begin(self->vgem, self->vgem_handle, 0);
	struct drm_rocket_wait_job w;

	ASSERT_NE(0, fence);
	ASSERT_EQ(0, submit_with(c, &self->task, &self->bo, false));
	ASSERT_EQ(0, rk_wait_job(c->fd, 1, RK_FOREVER, &w));
	ASSERT_EQ(0, submit_with(c, &self->task, &self->bo, true));
	EXPECT_EQ(-ETIMEDOUT, rk_wait_job(c->fd, 2, rk_now() + 200 * RK_MS, &w));
	EXPECT_EQ(0, rk_vgem_end(self->vgem, fence));
	ASSERT_EQ(0, rk_wait_job(c->fd, 2, RK_FOREVER, &w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
}

RK_TEST_F(foreign, our_fences_are_theirs, "another driver finds the BO busy as long as our job is")
{
	struct rk_client *c = &self->c;
	uint32_t fence;

	rk_latency_us(300000);
	ASSERT_EQ(0, submit_with(c, &self->task, &self->bo, false));
	EXPECT_EQ(0, rk_vgem_begin(self->vgem, self->vgem_handle, RK_VGEM_WRITE));
	fence = rk_vgem_begin(self->vgem, self->vgem_handle, 0);
	EXPECT_NE(0, fence);
	EXPECT_EQ(0, rk_vgem_end(self->vgem, fence));
	ASSERT_EQ(0, rk_prep(&c->out, 5000));
	fence = rk_vgem_begin(self->vgem, self->vgem_handle, RK_VGEM_WRITE);
	EXPECT_NE(0, fence);
	EXPECT_EQ(0, rk_vgem_end(self->vgem, fence));
}

static long long alive(const char *what)
{
	char created[32], freed[32];

	snprintf(created, sizeof(created), "%s_created", what);
	snprintf(freed, sizeof(freed), "%s_freed", what);
	return rk_stat(created) - rk_stat(freed);
}

static bool back_to(long long bos, long long vms)
{
	for (int i = 0; i < 500; i++) {
		if (alive("bos") == bos && alive("vms") == vms)
			return true;
		rk_sleep_ms(10);
	}
	return false;
}

/* A child with a job that waits for the fence, others that wait for that, and one that runs. */
static void wait_to_be_killed(int vgem, uint32_t vgem_handle, int ready)
{
	int buf = rk_export(vgem, vgem_handle);
	struct rk_client c, other;
	struct drm_rocket_task task;
	struct rk_bo bo;
	uint32_t handle;

	if (rk_client_init(&c) || rk_client_init(&other) || drmPrimeFDToHandle(c.fd, buf, &handle) ||
	    rk_op_task(&c.inc, c.in.iova, c.out.iova, &task))
		_exit(1);
	bo = (struct rk_bo) { .fd = c.fd, .handle = handle };
	rk_latency_us(JOB_US);
	for (int i = 0; i < 20; i++)
		if (submit_with(&c, &task, &bo, i % 2) || rk_submit_op(&other.inc, &other.in, &other.out))
			_exit(2);
	rk_latency_us(0);
	if (write(ready, "", 1) != 1)
		_exit(3);
	/* In the middle of the call. */
	rk_prep(&c.out, 60000);
	_exit(4);
}

RK_TEST_F(foreign, killed_while_jobs_wait,
	  "a client killed while its jobs wait for another driver leaves nothing when that is done")
{
	uint32_t fence = rk_vgem_begin(self->vgem, self->vgem_handle, RK_VGEM_WRITE);
	long long bos = alive("bos"), vms = alive("vms");
	int status, ready[2];
	char byte;
	pid_t pid;

	ASSERT_NE(0, fence);
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		wait_to_be_killed(self->vgem, self->vgem_handle, ready[1]);
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	close(ready[0]);
	rk_sleep_ms(50);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(0, rk_run_on_every_core(self->c.fd, 1));
	EXPECT_LT(vms, alive("vms"));
	EXPECT_EQ(0, rk_vgem_end(self->vgem, fence));
	EXPECT_TRUE(back_to(bos, vms)) TH_LOG("%lld more BOs, %lld more address spaces",
					      alive("bos") - bos, alive("vms") - vms);
	EXPECT_EQ(0, rk_client_run(&self->c, 1));
}

RK_TEST_F(foreign, device_gone_while_a_job_waits,
	  "a job that waits for another driver ends when the device goes")
{
	uint32_t fence = rk_vgem_begin(self->vgem, self->vgem_handle, RK_VGEM_WRITE);
	struct rk_client *c = &self->c;

	ASSERT_NE(0, fence);
	ASSERT_EQ(0, submit_with(c, &self->task, &self->bo, false));
	EXPECT_EQ(-EBUSY, rk_prep_until(c->fd, c->out.handle, 0));
	ASSERT_EQ(0, rk_rebind(1));
	EXPECT_EQ(-ENODEV, rk_prep_until(c->fd, c->out.handle, 0));
	EXPECT_EQ(0, rk_vgem_end(self->vgem, fence));
	rk_client_fini(c);
	ASSERT_EQ(0, rk_client_init(c));
	EXPECT_EQ(0, rk_client_run(c, 2));
}

RK_HARNESS_MAIN
