// SPDX-License-Identifier: GPL-2.0-only
/*
 * Submitting beyond mainline's way: every field at its edges, and what each is good for.
 *
 * boot: sched
 * boot: armhf
 * boot: noiommujob
 * boot: debug-ext KERNEL=debug TEST_LIMIT=3600
 * boot: kcsan-sched
 */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "rknpu_harness.h"

#define KERNEL_ADDR	0xffff800010000000ull

/* ---- SUBMIT_EXT ---- */

/* Two jobs of one task each; each case changes one thing. */
struct ext {
	struct rk_client c;
	struct rk_bo out2;
	struct drm_rocket_task task[2];
	struct drm_rocket_job_ext job[2];
	struct drm_rocket_submit_ext s;
	struct drm_rocket_sync in_sync[65];
	struct drm_rocket_sync out_sync[65];
	uint32_t handle[65];
};

static uint32_t sync_create(int fd, uint32_t flags)
{
	uint32_t handle;

	return drmSyncobjCreate(fd, flags, &handle) ? 0 : handle;
}

/* Binary for @point 0. 0, -ETIME, or another error. */
static int sync_wait(int fd, uint32_t handle, uint64_t point, int64_t deadline)
{
	return point ? drmSyncobjTimelineWait(fd, &handle, &point, 1, deadline, 0, NULL) :
		       drmSyncobjWait(fd, &handle, 1, deadline, 0, NULL);
}

static int ext_init(struct ext *e)
{
	struct rk_bo *out[2] = { &e->c.out, &e->out2 };
	int ret = rk_client_init(&e->c);

	if (!ret)
		ret = rk_bo_init(&e->out2, e->c.fd, RK_BYTES);
	if (!ret)
		ret = rk_bo_fill(&e->c.in, 50, RK_BYTES);
	for (int i = 0; i < 2 && !ret; i++) {
		ret = rk_op_task(&e->c.inc, e->c.in.iova, out[i]->iova, &e->task[i]);
		e->job[i] = (struct drm_rocket_job_ext) {
			.tasks = (uintptr_t)&e->task[i], .task_count = 1,
			.task_struct_size = sizeof(e->task[i]),
			.in_bo_handles = (uintptr_t)&e->c.in.handle, .in_bo_handle_count = 1,
			.out_bo_handles = (uintptr_t)&out[i]->handle, .out_bo_handle_count = 1,
			.in_syncs = (uintptr_t)e->in_sync, .out_syncs = (uintptr_t)e->out_sync,
			.sync_struct_size = sizeof(e->in_sync[0]),
		};
	}
	for (int i = 0; i < 65 && !ret; i++) {
		e->handle[i] = sync_create(e->c.fd, DRM_SYNCOBJ_CREATE_SIGNALED);
		e->in_sync[i].handle = e->handle[i];
		e->out_sync[i].handle = e->handle[i];
		ret = e->handle[i] ? 0 : -EOPNOTSUPP;
	}
	e->s = (struct drm_rocket_submit_ext) {
		.jobs = (uintptr_t)e->job, .job_count = 2,
		.job_struct_size = sizeof(e->job[0]),
	};
	return ret;
}

static int ext_submit(struct ext *e)
{
	return rk_ioctl(e->c.fd, DRM_IOCTL_ROCKET_SUBMIT_EXT, &e->s);
}

static long ext_wrong(struct ext *e, int value)
{
	return labs(rk_bo_differs(&e->c.out, value, RK_BYTES)) +
	       labs(rk_bo_differs(&e->out2, value, RK_BYTES));
}

FIXTURE(bad) {
	struct ext e;
};

FIXTURE_VARIANT(bad) {
	int err;
	void (*change)(struct ext *e);
};

#define BAD(name, error, ...)						\
	static void bad_##name(struct ext *e) { __VA_ARGS__; }		\
	FIXTURE_VARIANT_ADD(bad, name) { .err = -(error), .change = bad_##name }

BAD(flags, EINVAL, e->s.flags = 1);
BAD(flags_high, EINVAL, e->s.flags = 1u << 31);
BAD(reserved, EINVAL, e->s.reserved = 1);
BAD(job_count_zero, EINVAL, e->s.job_count = 0);
BAD(job_count_large, EINVAL, e->s.job_count = 1025);
BAD(job_struct_size_zero, EINVAL, e->s.job_struct_size = 0);
BAD(job_struct_size_short, EINVAL, e->s.job_struct_size = 39);
BAD(job_struct_size_huge, E2BIG, e->s.job_struct_size = 4097);
BAD(jobs_null, EFAULT, e->s.jobs = 0);
BAD(jobs_in_the_kernel, EFAULT, e->s.jobs = KERNEL_ADDR);
BAD(task_count_zero, EINVAL, e->job[1].task_count = 0);
BAD(task_struct_size_short, EINVAL, e->job[1].task_struct_size = 7);
BAD(tasks_null, EFAULT, e->job[1].tasks = 0);
BAD(handles_too_many, EINVAL, e->job[1].in_bo_handle_count = 4097);
BAD(handle_unknown, ENOENT, e->job[1].in_bo_handles = (uintptr_t)&e->s.job_struct_size);
BAD(job_flags_unknown, EINVAL, e->job[1].flags = 8);
BAD(job_flags_high, EINVAL, e->job[1].flags = 1u << 31);
BAD(job_flags_contradict, EINVAL,
    e->job[1].flags = DRM_ROCKET_JOB_BATCHED | DRM_ROCKET_JOB_DIVISIBLE);
BAD(job_reserved, EINVAL, e->job[1].reserved = 1);
BAD(job_pad, EINVAL, e->job[1].pad = 1);
BAD(core_mask_unknown, EINVAL, e->job[1].core_mask = 1u << RK_CORES);
BAD(core_mask_one_unknown, EINVAL, e->job[1].core_mask = 1u << RK_CORES | 1);
BAD(core_mask_all_bits, EINVAL, e->job[1].core_mask = UINT32_MAX);
BAD(priority_unknown, EINVAL, e->job[1].priority = 4);
BAD(priority_high_bit, EINVAL, e->job[1].priority = UINT32_MAX);
BAD(timeout_1_ns, EINVAL, e->job[1].timeout_ns = 1);
BAD(timeout_too_short, EINVAL, e->job[1].timeout_ns = RK_MS - 1);
BAD(timeout_too_long, EINVAL, e->job[1].timeout_ns = 60000 * RK_MS + 1);
BAD(timeout_forever, EINVAL, e->job[1].timeout_ns = UINT64_MAX);
BAD(in_syncs_null, EFAULT, e->job[1].in_syncs = 0; e->job[1].in_sync_count = 1);
BAD(in_syncs_too_many, EINVAL, e->job[1].in_sync_count = 65);
BAD(in_syncs_huge, EINVAL, e->job[1].in_sync_count = UINT32_MAX);
BAD(out_syncs_null, EFAULT, e->job[1].out_syncs = 0; e->job[1].out_sync_count = 1);
BAD(out_syncs_too_many, EINVAL, e->job[1].out_sync_count = 65);
BAD(syncs_too_many_together, EINVAL,
    e->job[1].in_sync_count = 32; e->job[1].out_sync_count = 33);
BAD(syncs_wrap_together, EINVAL,
    e->job[1].in_sync_count = UINT32_MAX; e->job[1].out_sync_count = 1);
BAD(sync_struct_size_zero, EINVAL, e->job[1].sync_struct_size = 0; e->job[1].in_sync_count = 1);
BAD(sync_struct_size_short, EINVAL,
    e->job[1].sync_struct_size = 15; e->job[1].out_sync_count = 1);
BAD(sync_struct_size_huge, E2BIG,
    e->job[1].sync_struct_size = 4097; e->job[1].out_sync_count = 1);
/* The second one's handle is not 0. */
BAD(sync_struct_size_newer, E2BIG,
    e->job[1].sync_struct_size = 24; e->job[1].in_sync_count = 1);
BAD(in_sync_unknown, ENOENT, e->in_sync[1].handle = 0x7fffffff; e->job[1].in_sync_count = 2);
BAD(in_sync_handle_zero, ENOENT, e->in_sync[0].handle = 0; e->job[1].in_sync_count = 1);
BAD(in_sync_flags, EINVAL, e->in_sync[0].flags = 1; e->job[1].in_sync_count = 1);
BAD(in_sync_without_fence, EINVAL,
    e->in_sync[0].handle = sync_create(e->c.fd, 0); e->job[1].in_sync_count = 1);
/* A signalled binary payload has no such point. */
BAD(in_sync_point_not_there, EINVAL,
    e->in_sync[0].handle = sync_create(e->c.fd, 0); e->in_sync[0].point = 5;
    e->job[1].in_sync_count = 1);
BAD(out_sync_unknown, ENOENT, e->out_sync[1].handle = 0x7fffffff; e->job[1].out_sync_count = 2);
BAD(out_sync_flags, EINVAL, e->out_sync[1].flags = 1u << 31; e->job[1].out_sync_count = 2);
BAD(out_sync_point_unknown, ENOENT, e->out_sync[1].handle = 0x7fffffff;
    e->out_sync[1].point = 9; e->job[1].out_sync_count = 2);

FIXTURE_SETUP(bad)
{
	memset(self, 0, sizeof(*self));
	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	ASSERT_EQ(0, ext_init(&self->e));
}

FIXTURE_TEARDOWN(bad)
{
	rk_client_fini(&self->e.c);
}

RK_TEST_F(bad, submit_ext, "SUBMIT_EXT refuses this field as a whole, and the next call works")
{
	struct ext *e = &self->e, good = *e;

	variant->change(e);
	EXPECT_EQ(variant->err, ext_submit(e));
	EXPECT_EQ(0, ext_wrong(e, 0));
	EXPECT_EQ(0, rk_last_job(e->c.fd));
	e->s = good.s;
	memcpy(e->job, good.job, sizeof(e->job));
	EXPECT_EQ(0, ext_submit(e));
	EXPECT_EQ(1, e->s.first_job);
	EXPECT_EQ(0, ext_wrong(e, 51));
}

FIXTURE(good) {
	struct ext e;
};

FIXTURE_VARIANT(good) {
	void (*change)(struct ext *e);
};

#define GOOD(name, ...)							\
	static void good_##name(struct ext *e) { __VA_ARGS__; }		\
	FIXTURE_VARIANT_ADD(good, name) { .change = good_##name }

GOOD(plain, (void)e);
GOOD(core_masks, e->job[0].core_mask = 7; e->job[1].core_mask = 2);
GOOD(priorities, e->job[0].priority = DRM_ROCKET_PRIORITY_LOW;
     e->job[1].priority = DRM_ROCKET_PRIORITY_HIGH);
GOOD(priority_normal, e->job[0].priority = DRM_ROCKET_PRIORITY_NORMAL);
GOOD(timeout_longest, e->job[0].timeout_ns = 60000 * RK_MS);
GOOD(timeout_one_second, e->job[0].timeout_ns = e->job[1].timeout_ns = 1000 * RK_MS);
GOOD(no_dpu_done, e->job[0].flags = DRM_ROCKET_JOB_NO_DPU_DONE);
GOOD(divisible, e->job[0].flags = DRM_ROCKET_JOB_DIVISIBLE);
GOOD(in_syncs_most, e->job[1].in_sync_count = 64);
GOOD(out_syncs_most, e->job[1].out_sync_count = 64);
GOOD(same_sync_in_and_out, e->job[1].in_sync_count = e->job[1].out_sync_count = 1);
GOOD(same_out_twice, e->out_sync[1] = e->out_sync[0]; e->job[0].out_sync_count = 2);
GOOD(counts_zero_pointers_bad, e->job[0].in_syncs = e->job[0].out_syncs = KERNEL_ADDR);
GOOD(timeline_point_out, e->out_sync[0].point = 7; e->job[0].out_sync_count = 1);

FIXTURE_SETUP(good)
{
	memset(self, 0, sizeof(*self));
	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	ASSERT_EQ(0, ext_init(&self->e));
}

FIXTURE_TEARDOWN(good)
{
	rk_model_calm();
	rk_client_fini(&self->e.c);
}

RK_TEST_F(good, submit_ext, "SUBMIT_EXT accepts this")
{
	variant->change(&self->e);
	ASSERT_EQ(0, ext_submit(&self->e));
	EXPECT_EQ(1, self->e.s.first_job);
	EXPECT_EQ(0, ext_wrong(&self->e, 51));
}

FIXTURE(ext) {
	struct ext e;
};

FIXTURE_SETUP(ext)
{
	memset(self, 0, sizeof(*self));
	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	ASSERT_EQ(0, ext_init(&self->e));
}

FIXTURE_TEARDOWN(ext)
{
	rk_model_calm();
	rk_client_fini(&self->e.c);
}

RK_TEST_F(ext, job_struct_sizes,
	  "job structs of older and newer programs are accepted by both calls")
{
	static const uint32_t sizes[] = { 40, 44, 48, 56, 84, 88, 96, 104, 112, 4096 };
	struct ext *e = &self->e;
	uint8_t *mem;

	mem = calloc(1, 2 * 4096);
	ASSERT_NE(NULL, mem);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (int ext = 0; ext < 2; ext++) {
			struct drm_rocket_submit s = { 0 };

			memset(mem, 0, 2 * 4096);
			for (int j = 0; j < 2; j++)
				memcpy(mem + j * sizes[i], &e->job[j],
				       sizes[i] < 48 ? sizes[i] : 48);
			e->s.jobs = (uintptr_t)mem;
			e->s.job_struct_size = sizes[i];
			s.jobs = (uintptr_t)mem;
			s.job_count = 2;
			s.job_struct_size = sizes[i];
			ASSERT_EQ(0, rk_bo_fill(&e->c.out, 0, RK_BYTES));
			ASSERT_EQ(0, rk_bo_fill(&e->out2, 0, RK_BYTES));
			EXPECT_EQ(0, ext ? ext_submit(e) :
				  rk_ioctl(e->c.fd, DRM_IOCTL_ROCKET_SUBMIT, &s));
			EXPECT_EQ(0, ext_wrong(e, 51)) TH_LOG("size %u", sizes[i]);
			/* What the kernel does not know must be 0. */
			if (sizes[i] > (ext ? 104 : 48)) {
				mem[2 * sizes[i] - 1] = 1;
				EXPECT_EQ(-E2BIG, ext ? ext_submit(e) :
					  rk_ioctl(e->c.fd, DRM_IOCTL_ROCKET_SUBMIT, &s));
			}
		}
	}
	free(mem);
}

RK_TEST_F(ext, sync_struct_sizes, "syncobjs of newer programs are accepted, in both lists")
{
	static const uint32_t sizes[] = { 16, 24, 64, 4096 };
	struct ext *e = &self->e;
	uint8_t *mem = calloc(2, 4096);

	ASSERT_NE(NULL, mem);
	e->job[0].in_syncs = (uintptr_t)mem;
	e->job[0].out_syncs = (uintptr_t)mem;
	e->job[0].in_sync_count = 2;
	e->job[0].out_sync_count = 2;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		e->job[0].sync_struct_size = sizes[i];
		memset(mem, 0, 2 * 4096);
		for (int j = 0; j < 2; j++)
			memcpy(mem + j * sizes[i], &e->in_sync[j], sizeof(e->in_sync[j]));
		EXPECT_EQ(0, ext_submit(e)) TH_LOG("size %u", sizes[i]);
		EXPECT_EQ(0, ext_wrong(e, 51)) TH_LOG("size %u", sizes[i]);
		if (sizes[i] == sizeof(e->in_sync[0]))
			continue;
		mem[2 * sizes[i] - 1] = 1;
		EXPECT_EQ(-E2BIG, ext_submit(e));
		e->job[0].in_sync_count = 0;
		EXPECT_EQ(-E2BIG, ext_submit(e));
		e->job[0].in_sync_count = 2;
	}
	/* Without any it does not matter. */
	e->job[0].in_sync_count = 0;
	e->job[0].out_sync_count = 0;
	e->job[0].sync_struct_size = 7;
	EXPECT_EQ(0, ext_submit(e));
	EXPECT_EQ(0, ext_wrong(e, 51));
	free(mem);
}

RK_TEST_F(ext, flags_in_plain_submit, "SUBMIT takes the flags that exist, and refuses others")
{
	struct ext *e = &self->e;
	struct drm_rocket_job j;

	memcpy(&j, &e->job[0], sizeof(j));
	j.flags = 8;
	EXPECT_EQ(-EINVAL, rk_submit(e->c.fd, &j, 1));
	j.flags = 1u << 31;
	EXPECT_EQ(-EINVAL, rk_submit(e->c.fd, &j, 1));
	j.flags = 0;
	j.reserved = 1;
	EXPECT_EQ(-EINVAL, rk_submit(e->c.fd, &j, 1));
	j.reserved = 0;
	j.flags = DRM_ROCKET_JOB_NO_DPU_DONE;
	EXPECT_EQ(0, rk_submit(e->c.fd, &j, 1));
	EXPECT_EQ(0, rk_bo_differs(&e->c.out, 51, RK_BYTES));
}

RK_TEST_F(ext, flags_without_effect,
	  "POLLED and QUIET are taken and ignored: each job interrupts, signals, and has its own result")
{
	struct ext *e = &self->e;
	struct drm_rocket_wait_job w;
	struct drm_rocket_job j;
	long long irqs, polls;

	EXPECT_EQ(0, rk_param(e->c.fd, DRM_ROCKET_PARAM_FEATURES) &
		     (DRM_ROCKET_FEATURE_POLLED | DRM_ROCKET_FEATURE_QUIET));
	irqs = rk_cores_stat("irqs");
	polls = rk_cores_stat("polls");
	/* Nothing in it says that the two are one burst, and the first one ends without the second. */
	e->job[0].flags = DRM_ROCKET_JOB_POLLED | DRM_ROCKET_JOB_QUIET | DRM_ROCKET_JOB_DIVISIBLE;
	e->job[0].core_mask = 1;
	e->job[0].out_sync_count = 1;
	e->job[0].tag = 1;
	e->job[1].flags = DRM_ROCKET_JOB_QUIET;
	e->job[1].core_mask = 2;
	e->job[1].priority = DRM_ROCKET_PRIORITY_LOW;
	e->job[1].tag = 2;
	ASSERT_EQ(0, ext_submit(e));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, rk_wait_job(e->c.fd, e->s.first_job + i, RK_FOREVER, &w));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
		EXPECT_EQ(i, w.core);
		EXPECT_EQ(1, w.task);
		EXPECT_EQ(i + 1, w.tag);
	}
	EXPECT_EQ(0, sync_wait(e->c.fd, e->handle[0], 0, 0));
	EXPECT_EQ(0, ext_wrong(e, 51));
	if (!rk_polled()) {
		EXPECT_EQ(irqs + 2, rk_cores_stat("irqs"));
		EXPECT_EQ(polls, rk_cores_stat("polls"));
	}

	memcpy(&j, &e->job[1], sizeof(j));
	j.flags = DRM_ROCKET_JOB_POLLED | DRM_ROCKET_JOB_QUIET;
	ASSERT_EQ(0, rk_bo_fill(&e->out2, 0, RK_BYTES));
	ASSERT_EQ(0, rk_submit(e->c.fd, &j, 1));
	EXPECT_EQ(0, rk_bo_differs(&e->out2, 51, RK_BYTES));
}

#define CHAIN	5

RK_TEST_F(ext, batched,
	  "tasks that name each other cost one kick and one interrupt, and a wrong count is found out")
{
	struct ext *e = &self->e;
	struct drm_rocket_task t[CHAIN];
	struct rk_bo bo[CHAIN + 1];
	uint32_t out[CHAIN];
	struct drm_rocket_wait_job w;

	if (!(rk_param(e->c.fd, DRM_ROCKET_PARAM_FEATURES) & DRM_ROCKET_FEATURE_BATCHED))
		SKIP(return, "not offered");
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_bo_init(&bo[0], e->c.fd, RK_BYTES));
	ASSERT_EQ(0, rk_bo_fill(&bo[0], 60, RK_BYTES));
	/* Each reads what the one before it wrote. */
	for (int i = 0; i < CHAIN; i++) {
		ASSERT_EQ(0, rk_bo_init(&bo[i + 1], e->c.fd, RK_BYTES));
		out[i] = bo[i + 1].handle;
		ASSERT_EQ(0, rk_op_task(&e->c.inc, bo[i].iova, bo[i + 1].iova, &t[i]));
		if (i)
			rk_chain(&e->c.inc, &t[i - 1], &t[i]);
	}
	ASSERT_EQ(0, rk_fini(&e->c.inc.bo));

	for (int ext = 0; ext < 2; ext++) {
		uint64_t irqs, done;
		struct drm_rocket_job j;

		rk_job(&j, t, CHAIN, &bo[0].handle, 1, out, CHAIN);
		j.flags = DRM_ROCKET_JOB_BATCHED;
		memcpy(&e->job[0], &j, sizeof(j));
		e->s.job_count = 1;
		for (int i = 0; i < CHAIN; i++) {
			ASSERT_EQ(0, rk_bo_fill(&bo[i + 1], 0, RK_BYTES));
		}
		irqs = rk_count_all(NPU_CNT_IRQ);
		done = rk_count_all_jobs(NPU_CNT_TASK_DONE);
		ASSERT_EQ(0, ext ? ext_submit(e) : rk_submit(e->c.fd, &j, 1));
		ASSERT_EQ(0, rk_wait_job(e->c.fd, ext + 1, RK_FOREVER, &w));
		EXPECT_EQ(0, w.error);
		EXPECT_EQ(CHAIN, w.task);
		EXPECT_EQ(done + CHAIN, rk_count_all_jobs(NPU_CNT_TASK_DONE));
		EXPECT_EQ(irqs + 1, rk_count_all(NPU_CNT_IRQ));
		for (int i = 0; i < CHAIN; i++) {
			EXPECT_EQ(0, rk_bo_differs(&bo[i + 1], 61 + i, RK_BYTES));
		}
	}

	/* A count that the chain does not have: found out by the deadline. */
	e->job[0].task_count = CHAIN - 1;
	e->job[0].tasks = (uintptr_t)&t[1];
	ASSERT_EQ(0, ext_submit(e));
	ASSERT_EQ(0, rk_wait_job(e->c.fd, 3, RK_FOREVER, &w));
	EXPECT_EQ(0, w.error);
	t[0] = t[CHAIN - 1];
	e->job[0].tasks = (uintptr_t)t;
	e->job[0].task_count = 2;
	e->job[0].timeout_ns = 100 * RK_MS;
	ASSERT_EQ(0, ext_submit(e));
	ASSERT_EQ(0, rk_wait_job(e->c.fd, 4, RK_FOREVER, &w));
	EXPECT_EQ(-ETIME, w.error);
	EXPECT_EQ(1, w.task);
	EXPECT_EQ(-ETIME, rk_prep(&bo[CHAIN], 5000));
	EXPECT_EQ(0, rk_client_run(&e->c, 9));
}

RK_TEST_F(ext, ppu_done_waits_for_the_ppu,
	  "a job that is said to end with the PPU waits for the PPU")
{
	struct ext *e = &self->e;
	struct drm_rocket_wait_job w;

	RK_REQUIRE_MODEL();
	e->job[0].flags = DRM_ROCKET_JOB_PPU_DONE;
	e->job[0].timeout_ns = 100 * RK_MS;
	e->s.job_count = 1;
	ASSERT_EQ(0, ext_submit(e));
	ASSERT_EQ(0, rk_wait_job(e->c.fd, e->s.first_job, RK_FOREVER, &w));
	EXPECT_EQ(-ETIME, w.error);
	EXPECT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, w.cause);
	/* Told once; then the BO is as good as any. */
	EXPECT_EQ(-ETIME, rk_prep(&e->c.out, 5000));
	EXPECT_EQ(0, rk_client_run(&e->c, 3));
}

RK_TEST_F(ext, priority_high_needs_the_capability, "the highest priority needs CAP_SYS_NICE")
{
	struct ext *e = &self->e;
	int status;
	pid_t pid;

	e->job[1].priority = DRM_ROCKET_PRIORITY_HIGH;
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (rk_drop_sys_nice())
			_exit(99);
		_exit(-ext_submit(e));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(EACCES, WEXITSTATUS(status));
	EXPECT_EQ(0, rk_last_job(e->c.fd));
	EXPECT_EQ(0, ext_submit(e));
}

/* Of a process without the capability. 0, or a positive errno. */
static int submit_unprivileged(struct ext *e, int64_t limit_ms)
{
	if (rk_drop_sys_nice())
		return 99;
	if (rk_param(e->c.fd, DRM_ROCKET_PARAM_MAX_TIMEOUT_NS) != (uint64_t)(limit_ms * RK_MS))
		return 98;
	e->job[1].timeout_ns = limit_ms * RK_MS;
	if (ext_submit(e))
		return 97;
	e->job[1].timeout_ns++;
	return -ext_submit(e);
}

RK_TEST_F(ext, long_timeouts_need_the_capability,
	  "a timeout beyond the administrator's limit, which GET_PARAM tells, needs CAP_SYS_NICE")
{
	static const int64_t limit_ms[] = { 10000, 2000 };
	struct ext *e = &self->e;

	for (size_t i = 0; i < ARRAY_SIZE(limit_ms); i++) {
		int status;
		pid_t pid;

		rk_module_param("max_timeout_ms", limit_ms[i]);
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(submit_unprivileged(e, limit_ms[i]));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(EINVAL, WEXITSTATUS(status));
		EXPECT_EQ(60000 * RK_MS, rk_param(e->c.fd, DRM_ROCKET_PARAM_MAX_TIMEOUT_NS));
		e->job[1].timeout_ns = 60000 * RK_MS;
		EXPECT_EQ(0, ext_submit(e));
	}
	rk_module_param("max_timeout_ms", 10000);
	EXPECT_EQ(0, ext_wrong(e, 51));
}

/* ---- syncobjs ---- */

RK_TEST_F(ext, out_sync_signals_when_the_job_is_over,
	  "syncobjs that a job signals are signalled when it is over")
{
	struct ext *e = &self->e;
	int fd = e->c.fd, file;

	RK_REQUIRE_MODEL();
	rk_latency_us(200000);
	e->out_sync[1].point = 3;
	e->out_sync[1].handle = sync_create(fd, 0);
	e->job[1].out_sync_count = 2;
	e->job[0].out_bo_handle_count = e->job[1].out_bo_handle_count = 0;
	ASSERT_EQ(0, ext_submit(e));
	EXPECT_EQ(-ETIME, sync_wait(fd, e->out_sync[0].handle, 0, 0));
	EXPECT_EQ(-ETIME, sync_wait(fd, e->out_sync[1].handle, 3, 0));
	EXPECT_EQ(0, sync_wait(fd, e->out_sync[0].handle, 0, RK_FOREVER));
	EXPECT_EQ(0, sync_wait(fd, e->out_sync[1].handle, 3, RK_FOREVER));
	/* And as a file that poll() and others understand. */
	ASSERT_EQ(0, drmSyncobjExportSyncFile(fd, e->out_sync[0].handle, &file));
	close(file);
}

RK_TEST_F(ext, in_sync_orders_jobs,
	  "jobs that have no BO in common run in the order that syncobjs say")
{
	struct ext *e = &self->e;
	struct drm_rocket_task task[2];
	uint32_t a = sync_create(e->c.fd, 0);
	struct drm_rocket_wait_job w;

	/* The second adds 1 to what the first wrote, and lists nothing. */
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_op_task(&e->c.inc, e->c.in.iova, e->c.out.iova, &task[0]));
	ASSERT_EQ(0, rk_op_task(&e->c.inc, e->c.out.iova, e->out2.iova, &task[1]));
	for (int i = 0; i < 2; i++) {
		e->job[i].tasks = (uintptr_t)&task[i];
		e->job[i].in_bo_handle_count = 0;
		e->job[i].out_bo_handle_count = 0;
	}
	e->out_sync[0] = e->in_sync[0] = (struct drm_rocket_sync) { .handle = a, .point = 11 };
	e->job[0].out_sync_count = 1;
	e->s.job_count = 1;
	rk_latency_us(100000);
	ASSERT_EQ(0, ext_submit(e));
	e->s.jobs = (uintptr_t)&e->job[1];
	e->job[1].in_sync_count = 1;
	ASSERT_EQ(0, ext_submit(e));
	EXPECT_EQ(2, e->s.first_job);
	ASSERT_EQ(0, rk_wait_job(e->c.fd, 2, RK_FOREVER, &w));
	EXPECT_EQ(0, w.error);
	/* It waited for the first one. */
	ASSERT_EQ(0, rk_wait_job(e->c.fd, 1, 0, &w));
	EXPECT_EQ(0, rk_bo_differs(&e->out2, 52, RK_BYTES));
}

RK_TEST_F(ext, in_sync_of_a_file_that_closes,
	  "a job that waits for another file's job runs when that file is closed")
{
	struct ext *e = &self->e, other;
	uint32_t h;
	int share;

	memset(&other, 0, sizeof(other));
	ASSERT_EQ(0, ext_init(&other));
	RK_REQUIRE_MODEL();
	/* The other file's job is what ours waits for. */
	rk_latency_us(150000);
	h = sync_create(other.c.fd, 0);
	other.out_sync[0].handle = h;
	other.job[0].out_sync_count = 1;
	ASSERT_EQ(0, ext_submit(&other));
	ASSERT_EQ(0, drmSyncobjHandleToFD(other.c.fd, h, &share));
	ASSERT_EQ(0, drmSyncobjFDToHandle(e->c.fd, share, &e->in_sync[0].handle));
	e->job[0].in_sync_count = 1;
	ASSERT_EQ(0, ext_submit(e));
	close(share);
	close(other.c.fd);
	EXPECT_EQ(0, ext_wrong(e, 51));
}

#define MANY_JOBS	256
#define MANY_POINTS	64

RK_TEST_F_TIMEOUT(ext, killed_while_points_get_fences, 120,
		  "a caller that is killed while points of a timeline get their fences is gone at once")
{
	static struct drm_rocket_sync sync[MANY_JOBS][MANY_POINTS];
	static struct drm_rocket_job_ext jobs[MANY_JOBS];
	struct drm_rocket_task tasks[2];
	struct ext *e = &self->e;
	struct drm_rocket_wait_job w;
	uint32_t timeline = sync_create(e->c.fd, 0);
	int64_t start;
	pid_t pid;

	RK_REQUIRE_MODEL();
	RK_REQUIRE_SCHED(e->c.fd);
	if (rk_slow() > 1)
		SKIP(return, "the first job would be over before so many were read");
	/* All wait for the first one, of eight seconds. */
	tasks[0] = tasks[1] = e->task[0];
	rk_latency_us(4000000);
	for (int i = 0; i < MANY_JOBS; i++) {
		jobs[i] = e->job[0];
		jobs[i].tasks = (uintptr_t)tasks;
		jobs[i].task_count = i ? 1 : 2;
		jobs[i].timeout_ns = 10000 * RK_MS;
		jobs[i].core_mask = 1;
		jobs[i].out_syncs = (uintptr_t)sync[i];
		jobs[i].out_sync_count = MANY_POINTS;
		for (int k = 0; k < MANY_POINTS; k++)
			sync[i][k] = (struct drm_rocket_sync) {
				.handle = timeline, .point = i * MANY_POINTS + k + 1,
			};
	}
	pid = fork();
	if (!pid)
		_exit(!!rk_submit_ext(e->c.fd, jobs, MANY_JOBS, NULL));
	ASSERT_LT(0, pid);
	/* They are queued, and their points follow. */
	while (rk_wait_job(e->c.fd, 1, 0, &w) == -ENOENT && !waitpid(pid, NULL, WNOHANG))
		rk_sleep_ms(1);
	start = rk_now();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_GT(2000 * RK_MS, rk_now() - start);
}

/* ---- fdinfo ---- */

static long long busy_ns(int fd, int core)
{
	char key[32];

	snprintf(key, sizeof(key), "drm-engine-npu%d", core);
	return rk_fdinfo(fd, key);
}

RK_TEST_F(ext, fdinfo_busy_time_per_core,
	  "fdinfo tells the time that each core worked for the file")
{
	struct ext *e = &self->e;

	RK_REQUIRE_MODEL();
	RK_REQUIRE_SCHED(e->c.fd);
	for (int i = 0; i < RK_CORES; i++) {
		struct drm_rocket_wait_job w;
		long long before[RK_CORES];

		for (int k = 0; k < RK_CORES; k++) {
			before[k] = busy_ns(e->c.fd, k);
			ASSERT_LE(0, before[k]);
		}
		rk_latency_us(20000);
		e->job[0].core_mask = 1u << i;
		e->s.job_count = 1;
		ASSERT_EQ(0, ext_submit(e));
		ASSERT_EQ(0, rk_wait_job(e->c.fd, e->s.first_job, RK_FOREVER, &w));
		EXPECT_EQ(i, w.core);
		for (int k = 0; k < RK_CORES; k++) {
			long long d = busy_ns(e->c.fd, k) - before[k];

			EXPECT_EQ(k == i, d >= 15 * RK_MS) TH_LOG("core %d, job on %d: %lld", k, i, d);
			EXPECT_EQ(k == i, d != 0) TH_LOG("core %d, job on %d: %lld", k, i, d);
		}
	}
	EXPECT_EQ(-1, busy_ns(e->c.fd, RK_CORES));
}

RK_TEST_F(ext, fdinfo_counts_what_runs, "fdinfo tells the time of a job that is still running, and the clock")
{
	struct ext *e = &self->e;
	struct drm_rocket_wait_job w;
	long long before = busy_ns(e->c.fd, 0);
	bool seen = false;
	int ret;

	RK_REQUIRE_MODEL();
	RK_REQUIRE_SCHED(e->c.fd);
	EXPECT_LT(0, rk_fdinfo(e->c.fd, "drm-maxfreq-npu0"));
	rk_latency_us(300000);
	e->job[0].core_mask = 1;
	e->s.job_count = 1;
	ASSERT_EQ(0, ext_submit(e));
	do {
		long long now = busy_ns(e->c.fd, 0);

		/* In this order: it ran when its time was told. */
		ret = rk_wait_job(e->c.fd, e->s.first_job, 0, &w);
		if (!ret)
			break;
		seen = now > before;
	} while (!seen);
	EXPECT_TRUE(seen);
	ASSERT_EQ(0, rk_wait_job(e->c.fd, e->s.first_job, RK_FOREVER, &w));
}

RK_TEST_F(ext, fdinfo_memory, "fdinfo tells the memory of the file's BOs")
{
	struct ext *e = &self->e;
	long long before = rk_fdinfo(e->c.fd, "drm-total-memory");
	struct rk_bo bo;

	ASSERT_LE(0, before);
	EXPECT_LT(0, rk_fdinfo(e->c.fd, "drm-client-id"));
	ASSERT_EQ(0, rk_bo_init(&bo, e->c.fd, 1u << 20));
	/* In KiB. */
	EXPECT_EQ(before + 1024, rk_fdinfo(e->c.fd, "drm-total-memory"));
	rk_bo_fini(&bo);
	EXPECT_EQ(before, rk_fdinfo(e->c.fd, "drm-total-memory"));
}

RK_HARNESS_MAIN
