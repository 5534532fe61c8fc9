// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBMIT with every field wrong in turn, and with everything it has to accept.
 *
 * boot: jobs
 * boot: armhf
 * boot: noiommujob RARE TEST_LIMIT=600 --model npu-iommu=0 --cmdline cma=256M --param unsafe_noiommu=1
 * boot: debug-main
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/mman.h>

#include "rknpu_harness.h"

#define JOBS	2
#define TASKS	2

/*
 * A submission of two jobs of two tasks, with two BOs in every list, and one
 * output BO per task.  Each case changes one thing in it.
 */
struct ctx {
	int fd;
	struct rk_op op;
	struct rk_bo in[2];
	struct rk_bo out[JOBS][TASKS];
	/* What the kernel gets to see. */
	struct drm_rocket_submit s;
	struct drm_rocket_job jobs[JOBS];
	struct drm_rocket_task tasks[JOBS][TASKS];
	uint32_t in_handles[JOBS][2];
	uint32_t out_handles[JOBS][TASKS];
	/* Three pages, the last one inaccessible. */
	uint8_t *arena;
};

#define ARENA_END	(2 * RK_PAGE)
#define KERNEL_ADDR	0xffff800010000000ull

static int build_job(struct ctx *c, int j)
{
	int ret = 0;

	for (int t = 0; t < TASKS && !ret; t++) {
		ret = rk_bo_init(&c->out[j][t], c->fd, RK_BYTES);
		if (!ret)
			ret = rk_op_task(&c->op, c->in[t].iova, c->out[j][t].iova, &c->tasks[j][t]);
		c->in_handles[j][t] = c->in[t].handle;
		c->out_handles[j][t] = c->out[j][t].handle;
	}
	rk_job(&c->jobs[j], c->tasks[j], TASKS, c->in_handles[j], 2, c->out_handles[j], TASKS);
	return ret;
}

static int ctx_init(struct ctx *c)
{
	int ret;

	ret = rk_op_init(&c->op, c->fd, RK_M, 1, 1);
	for (int i = 0; i < 2 && !ret; i++) {
		ret = rk_bo_init(&c->in[i], c->fd, RK_BYTES);
		if (!ret)
			ret = rk_bo_fill(&c->in[i], 40 + i, RK_BYTES);
	}
	for (int j = 0; j < JOBS && !ret; j++)
		ret = build_job(c, j);
	c->s = (struct drm_rocket_submit) {
		.jobs = (uintptr_t)c->jobs, .job_count = JOBS,
		.job_struct_size = sizeof(c->jobs[0]),
	};
	c->arena = mmap(NULL, 3 * RK_PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->arena == MAP_FAILED || mprotect(c->arena + ARENA_END, RK_PAGE, PROT_NONE))
		return -ENOMEM;
	return ret;
}

static int ctx_submit(struct ctx *c)
{
	return rk_ioctl(c->fd, DRM_IOCTL_ROCKET_SUBMIT, &c->s);
}

/* Number of output bytes that are not what @ran says they should be. */
static long ctx_wrong(struct ctx *c, bool ran)
{
	long wrong = 0;

	for (int j = 0; j < JOBS; j++)
		for (int t = 0; t < TASKS; t++)
			wrong += labs(rk_bo_differs(&c->out[j][t], ran ? 41 + t : 0, RK_BYTES));
	return wrong;
}

static long ctx_busy(struct ctx *c)
{
	long busy = 0;

	for (int j = 0; j < JOBS; j++)
		for (int t = 0; t < TASKS; t++)
			busy += !!rk_prep_until(c->fd, c->out[j][t].handle, 0);
	for (int i = 0; i < 2; i++)
		busy += !!rk_prep_until(c->fd, c->in[i].handle, 0);
	return busy;
}

/* Copies an array so that its last @accessible bytes end at the hole. */
static uint64_t at_hole(struct ctx *c, const void *src, size_t accessible)
{
	return (uintptr_t)memcpy(c->arena + ARENA_END - accessible, src, accessible);
}

/* Spreads elements of @size bytes to a stride of @stride, the rest @fill. */
static uint64_t spread(struct ctx *c, const void *src, size_t size, size_t stride, int n, int fill)
{
	memset(c->arena, 0, n * stride);
	for (int i = 0; i < n; i++) {
		memcpy(c->arena + i * stride, (const uint8_t *)src + i * size, size);
		if (i == n - 1)
			c->arena[(i + 1) * stride - 1] = fill;
	}
	return (uintptr_t)c->arena;
}

/* ---- one thing wrong: errno, nothing queued, and the next one works ---- */

FIXTURE(bad) {
	struct ctx c;
};

FIXTURE_VARIANT(bad) {
	int err;
	void (*change)(struct ctx *c);
};

FIXTURE_SETUP(bad)
{
	memset(&self->c, 0, sizeof(self->c));
	RK_OPEN_OR_SKIP(self->c.fd);
	ASSERT_EQ(0, ctx_init(&self->c));
}

FIXTURE_TEARDOWN(bad)
{
	close(self->c.fd);
}

/* One more than a task may have. Mainline's driver does not tell. */
static uint32_t too_many_commands(struct ctx *c)
{
	return (rk_ours() ? rk_param(c->fd, DRM_ROCKET_PARAM_MAX_REGCMDS) : 131072) + 1;
}

#define BAD(_name, _err, ...)						\
	static void change_##_name(struct ctx *c)			\
	{								\
		__VA_ARGS__;						\
	}								\
	FIXTURE_VARIANT_ADD(bad, _name) { .err = -(_err), .change = change_##_name }

#define J0	c->jobs[0]
#define J1	c->jobs[1]

/* struct drm_rocket_submit */
BAD(jobs_null, EFAULT, c->s.jobs = 0);
BAD(jobs_low, EFAULT, c->s.jobs = 4096);
BAD(jobs_kernel, EFAULT, c->s.jobs = KERNEL_ADDR);
BAD(jobs_noncanonical, EFAULT, c->s.jobs = 1ull << 60);
BAD(jobs_unmapped, EFAULT, c->s.jobs = (uintptr_t)c->arena + ARENA_END);
BAD(jobs_second_unmapped, EFAULT, c->s.jobs = at_hole(c, c->jobs, sizeof(c->jobs[0])));
BAD(jobs_cut, EFAULT, c->s.jobs = at_hole(c, c->jobs, sizeof(c->jobs) - 1));
BAD(jobs_wrap, EFAULT, c->s.jobs = -16ull);
/* As mainline, which looks at nothing else then. */
BAD(job_count_zero, 0, c->s.job_count = 0; c->s.jobs = 0; c->s.job_struct_size = 0);
BAD(r15_job_count_huge, EINVAL, c->s.job_count = UINT32_MAX);
BAD(r15_job_count_beyond_limit, EINVAL, c->s.job_count = 1025);
BAD(r16_job_count_times_size_wraps, EINVAL, c->s.job_count = 1u << 31);
BAD(job_struct_size_zero, EINVAL, c->s.job_struct_size = 0);
BAD(job_struct_size_short, EINVAL, c->s.job_struct_size = 39);
BAD(r16_job_struct_size_tail_set, E2BIG,
    c->s.jobs = spread(c, c->jobs, sizeof(J0), 64, JOBS, 1); c->s.job_struct_size = 64);
BAD(r16_job_struct_size_huge, E2BIG, c->s.job_struct_size = UINT32_MAX);
BAD(submit_reserved_one, EINVAL, c->s.reserved = 1);
BAD(submit_reserved_top_bit, EINVAL, c->s.reserved = 1ull << 63);

/* struct drm_rocket_job */
BAD(tasks_null, EFAULT, J0.tasks = 0);
BAD(tasks_kernel, EFAULT, J0.tasks = KERNEL_ADDR);
BAD(tasks_unmapped, EFAULT, J0.tasks = (uintptr_t)c->arena + ARENA_END);
BAD(tasks_second_unmapped, EFAULT, J0.tasks = at_hole(c, c->tasks[0], sizeof(c->tasks[0][0])));
BAD(tasks_of_second_job_null, EFAULT, J1.tasks = 0);
BAD(task_count_zero, EINVAL, J0.task_count = 0);
BAD(task_count_zero_in_second_job, EINVAL, J1.task_count = 0);
BAD(r15_task_count_huge, EINVAL, J0.task_count = UINT32_MAX);
BAD(r15_task_count_beyond_limit, EINVAL, J0.task_count = 65537);
BAD(task_struct_size_zero, EINVAL, J0.task_struct_size = 0);
BAD(task_struct_size_short, EINVAL, J0.task_struct_size = 7);
BAD(r16_task_struct_size_tail_set, E2BIG,
    J0.tasks = spread(c, c->tasks[0], 8, 12, TASKS, 1); J0.task_struct_size = 12);
BAD(r16_task_struct_size_huge, E2BIG, J0.task_struct_size = UINT32_MAX);
BAD(in_handles_null, EFAULT, J0.in_bo_handles = 0);
BAD(in_handles_kernel, EFAULT, J0.in_bo_handles = KERNEL_ADDR);
BAD(in_handles_second_unmapped, EFAULT, J0.in_bo_handles = at_hole(c, c->in_handles[0], 4));
BAD(r15_in_count_huge, EINVAL, J0.in_bo_handle_count = UINT32_MAX);
BAD(r15_in_count_beyond_limit, EINVAL, J0.in_bo_handle_count = 4097);
BAD(in_handle_zero, ENOENT, c->in_handles[0][0] = 0);
BAD(in_handle_unused_second, ENOENT, c->in_handles[0][1] = 0x7ffff);
BAD(in_handle_max_in_second_job, ENOENT, c->in_handles[1][1] = UINT32_MAX);
BAD(out_handles_null, EFAULT, J0.out_bo_handles = 0);
BAD(out_handles_kernel, EFAULT, J0.out_bo_handles = KERNEL_ADDR);
BAD(out_handles_second_unmapped, EFAULT, J0.out_bo_handles = at_hole(c, c->out_handles[0], 4));
BAD(r15_out_count_huge, EINVAL, J0.out_bo_handle_count = UINT32_MAX);
BAD(r15_out_count_beyond_limit, EINVAL, J0.out_bo_handle_count = 4097);
BAD(r15_in_plus_out_wraps, EINVAL,
    J0.in_bo_handle_count = 1u << 31; J0.out_bo_handle_count = 1u << 31);
BAD(out_handle_zero, ENOENT, c->out_handles[0][0] = 0);
BAD(out_handle_unused_second, ENOENT, c->out_handles[0][1] = 0x7ffff);
BAD(out_handle_closed_in_second_job, ENOENT,
    struct rk_bo bo; rk_bo_init(&bo, c->fd, 1); c->out_handles[1][1] = bo.handle; rk_bo_fini(&bo));

/* struct drm_rocket_task */
BAD(r17_regcmd_zero, EINVAL, c->tasks[0][0].regcmd = 0);
BAD(r17_regcmd_misaligned_4, EINVAL, c->tasks[0][0].regcmd += 4);
BAD(r17_regcmd_misaligned_1, EINVAL, c->tasks[0][1].regcmd |= 1);
BAD(r17_regcmd_last_pair_over_the_end, EINVAL,
    c->tasks[0][0].regcmd = c->op.bo.iova + c->op.bo.size - 8; c->tasks[0][0].regcmd_count = 1);
BAD(r17_regcmd_unmapped, EINVAL, c->tasks[0][0].regcmd = 0xf0000000);
BAD(r17_regcmd_unmapped_in_last_task, EINVAL, c->tasks[1][1].regcmd = 0xf0000000);
BAD(r17_regcmd_wraps, EINVAL, c->tasks[0][0].regcmd = 0xfffffff0);
BAD(r17_regcmd_runs_over_the_end, EINVAL,
    c->tasks[0][0].regcmd = c->op.bo.iova + c->op.bo.size - 16; c->tasks[0][0].regcmd_count = 0x10000);
BAD(r17_regcmd_count_zero, EINVAL, c->tasks[0][0].regcmd_count = 0);
BAD(r17_regcmd_count_zero_in_last_task, EINVAL, c->tasks[1][1].regcmd_count = 0);
BAD(r17_regcmd_count_beyond_field, EINVAL, c->tasks[0][0].regcmd_count = too_many_commands(c));
BAD(r17_regcmd_count_huge, EINVAL, c->tasks[0][0].regcmd_count = UINT32_MAX);
BAD(r17_regcmd_count_bytes_wrap, EINVAL, c->tasks[0][0].regcmd_count = 1u << 29);

RK_TEST_F(bad, r11_refused, "SUBMIT of this field queues nothing, and the next call works")
{
	struct ctx *c = &self->c, good = *c;

	variant->change(c);
	EXPECT_EQ(variant->err, ctx_submit(c));
	/* All or nothing: not even the good first job was queued. */
	EXPECT_EQ(0, ctx_busy(c));
	rk_sleep_ms(20);
	EXPECT_EQ(0, ctx_wrong(c, false));
	/* The arrays are referenced through c, so restore them there. */
	*c = good;
	ASSERT_EQ(0, ctx_submit(c));
	EXPECT_EQ(0, ctx_wrong(c, true));
}

/* ---- what has to be accepted ---- */

FIXTURE(good) {
	struct ctx c;
};

FIXTURE_VARIANT(good) {
	void (*change)(struct ctx *c);
};

FIXTURE_SETUP(good)
{
	memset(&self->c, 0, sizeof(self->c));
	RK_OPEN_OR_SKIP(self->c.fd);
	ASSERT_EQ(0, ctx_init(&self->c));
}

FIXTURE_TEARDOWN(good)
{
	close(self->c.fd);
}

#define GOOD(_name, ...)						\
	static void change_##_name(struct ctx *c)			\
	{								\
		__VA_ARGS__;						\
	}								\
	FIXTURE_VARIANT_ADD(good, _name) { .change = change_##_name }

GOOD(as_is, (void)c);
GOOD(job_struct_size_larger,
     c->s.jobs = spread(c, c->jobs, sizeof(J0), 64, JOBS, 0); c->s.job_struct_size = 64);
GOOD(job_struct_size_odd,
     c->s.jobs = spread(c, c->jobs, sizeof(J0), 43, JOBS, 0); c->s.job_struct_size = 43);
GOOD(task_struct_size_larger,
     J0.tasks = spread(c, c->tasks[0], 8, 24, TASKS, 0); J0.task_struct_size = 24);
GOOD(task_struct_size_odd,
     J1.tasks = spread(c, c->tasks[1], 8, 9, TASKS, 0); J1.task_struct_size = 9);
GOOD(r14_in_handle_twice, c->in_handles[0][1] = c->in_handles[0][0]);
GOOD(r14_out_handle_in_both_lists, c->in_handles[0][1] = c->out_handles[0][0]);
GOOD(r14_same_input_of_both_jobs, c->in_handles[1][0] = c->in_handles[0][0]);
GOOD(no_inputs, J0.in_bo_handle_count = J1.in_bo_handle_count = 0);
GOOD(no_inputs_pointer_null, J0.in_bo_handle_count = 0; J0.in_bo_handles = 0);
GOOD(program_listed_as_input, c->in_handles[0][0] = c->op.bo.handle);

RK_TEST_F(good, submit, "SUBMIT accepts this")
{
	variant->change(&self->c);
	ASSERT_EQ(0, ctx_submit(&self->c));
	EXPECT_EQ(0, ctx_wrong(&self->c, true));
}

/* ---- the rest ---- */

FIXTURE(submit) {
	struct ctx c;
};

FIXTURE_SETUP(submit)
{
	memset(&self->c, 0, sizeof(self->c));
	RK_OPEN_OR_SKIP(self->c.fd);
	ASSERT_EQ(0, ctx_init(&self->c));
}

FIXTURE_TEARDOWN(submit)
{
	rk_model_calm();
	close(self->c.fd);
}

RK_TEST_F(submit, bad_pointer, "SUBMIT refuses bad pointers")
{
	EXPECT_EQ(-EFAULT, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_SUBMIT, NULL));
	EXPECT_EQ(-EFAULT, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_SUBMIT, (void *)KERNEL_ADDR));
}

static int submit_again(void *arg)
{
	return ctx_submit(arg);
}

RK_TEST_F(submit, refusals_say_why, "the log says what is wrong, if DRM's debug messages of drivers are on")
{
	if (!rk_ours() || geteuid())
		SKIP(return, "of this driver, and for root");
	self->c.s.reserved = 5;
	EXPECT_EQ(0, rk_refusal_told(submit_again, &self->c, -EINVAL,
				     "submit: reserved or flags are 0x5, not 0: error -22"));
}

RK_TEST_F(submit, r14_output_listed_twice, "a BO may be listed twice as an output")
{
	struct ctx *c = &self->c;
	uint32_t out[4] = { c->out_handles[0][0], c->out_handles[0][1],
			    c->out_handles[0][0], c->out_handles[0][1] };

	J0.out_bo_handles = (uintptr_t)out;
	J0.out_bo_handle_count = 4;
	ASSERT_EQ(0, ctx_submit(c));
	EXPECT_EQ(0, ctx_wrong(c, true));
}

RK_TEST_F(submit, no_outputs, "a job may have no outputs, and its inputs tell when it is over")
{
	struct ctx *c = &self->c;

	J0.out_bo_handle_count = 0;
	J0.out_bo_handles = 0;
	c->s.job_count = 1;
	ASSERT_EQ(0, ctx_submit(c));
	/* Its inputs still tell when it is over. */
	EXPECT_EQ(0, rk_prep(&c->in[0], 5000));
}

RK_TEST_F(submit, handles_of_another_file, "another file's handles and addresses are unknown")
{
	struct ctx *c = &self->c;
	int fd = rk_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, rk_ioctl(fd, DRM_IOCTL_ROCKET_SUBMIT, &c->s));
	/* Not even the program's address. */
	for (int j = 0; j < JOBS; j++) {
		c->jobs[j].in_bo_handle_count = 0;
		c->jobs[j].out_bo_handle_count = 0;
	}
	EXPECT_EQ(-EINVAL, rk_ioctl(fd, DRM_IOCTL_ROCKET_SUBMIT, &c->s));
	close(fd);
}

RK_TEST_F(submit, program_in_a_freed_bo,
	  "a program at an address where no BO is any more is refused")
{
	struct ctx *c = &self->c;

	rk_op_fini(&c->op);
	EXPECT_EQ(-EINVAL, ctx_submit(c));
	EXPECT_EQ(0, ctx_busy(c));
}

RK_TEST_F(submit, r17_program_at_an_odd_multiple_of_8,
	  "a program may begin in the middle of a pair of commands")
{
	struct ctx *c = &self->c;
	struct drm_rocket_task *t = &c->tasks[0][0];
	uint32_t n = t->regcmd_count, odd = n | 1;
	uint64_t words[1 + odd];
	struct rk_bo bo;

	/* 0 does nothing, also in front of the first command. */
	memset(words, 0, sizeof(words));
	memcpy(&words[1 + odd - n], c->op.bo.map + (t->regcmd - c->op.bo.iova), n * sizeof(*words));
	ASSERT_EQ(0, rk_bo_init(&bo, c->fd, sizeof(words)));
	memcpy(bo.map, words, sizeof(words));
	ASSERT_EQ(0, rk_fini(&bo));
	t->regcmd = bo.iova + sizeof(*words);
	t->regcmd_count = odd;
	ASSERT_EQ(0, ctx_submit(c));
	EXPECT_EQ(0, ctx_wrong(c, true));
	rk_bo_fini(&bo);
}

RK_TEST_F(submit, arrays_may_be_reused_at_once, "the arrays that SUBMIT is given are copied")
{
	struct ctx *c = &self->c, good = *c;

	rk_latency_us(50000);
	ASSERT_EQ(0, ctx_submit(c));
	memset(c->jobs, 0xff, sizeof(c->jobs));
	memset(c->tasks, 0xff, sizeof(c->tasks));
	memset(c->in_handles, 0xff, sizeof(c->in_handles));
	memset(c->out_handles, 0xff, sizeof(c->out_handles));
	EXPECT_EQ(0, ctx_wrong(&good, true));
}

RK_TEST_F(submit, largest_job_count, "one call takes 1024 jobs")
{
	static struct drm_rocket_job jobs[1024];
	struct ctx *c = &self->c;

	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		jobs[i] = c->jobs[i % JOBS];
	ASSERT_EQ(0, rk_submit(c->fd, jobs, ARRAY_SIZE(jobs)));
	EXPECT_EQ(0, rk_prep(&c->in[0], 20000));
	EXPECT_EQ(0, ctx_wrong(c, true));
}

RK_TEST_F_TIMEOUT(submit, r15_too_many_unfinished_jobs, 120,
		  "the number of a file's unfinished jobs is bounded, and poll() tells when there is room")
{
	static struct drm_rocket_job jobs[1024];
	struct ctx *c = &self->c;
	struct pollfd room = { .fd = c->fd, .events = POLLOUT };
	int i, ret = 0;

	if (!rk_model())
		SKIP(return, "needs the model to make jobs slow");
	/* Where the CPU is slow, jobs end as fast as they are submitted, or late. */
	rk_task_timeout_ms(RK_TASK_TIMEOUT_MS * rk_slow());
	rk_latency_us(rk_slow() > 1 ? 10000 : 2000);
	for (size_t k = 0; k < ARRAY_SIZE(jobs); k++)
		jobs[k] = c->jobs[0];
	for (i = 0; i < 16 && !ret; i++)
		ret = rk_submit(c->fd, jobs, ARRAY_SIZE(jobs));
	EXPECT_EQ(-EBUSY, ret);
	/* 8192 fit, and some more as the first ones end. */
	EXPECT_LE(9, i);
	if (rk_ours()) {
		EXPECT_EQ(0, poll(&room, 1, 0));
		EXPECT_LT(0, rk_fdinfo(c->fd, "rknpu-refused-jobs"));
	}
	rk_latency_us(0);
	if (rk_ours()) {
		EXPECT_EQ(1, poll(&room, 1, 60000));
		EXPECT_EQ(POLLOUT, room.revents);
		EXPECT_EQ(0, rk_submit(c->fd, jobs, ARRAY_SIZE(jobs)));
	}
	/* Of 9216 jobs. */
	EXPECT_EQ(0, rk_prep(&c->out[0][0], 120000));
	EXPECT_EQ(0, rk_submit(c->fd, jobs, 1));
	EXPECT_EQ(0, rk_prep(&c->out[0][0], 20000));
}

RK_TEST_F(submit, many_tasks, "a job may have 500 tasks")
{
	static struct drm_rocket_task tasks[500];
	struct ctx *c = &self->c;

	for (size_t i = 0; i < ARRAY_SIZE(tasks); i++)
		tasks[i] = c->tasks[0][i % TASKS];
	J0.tasks = (uintptr_t)tasks;
	J0.task_count = ARRAY_SIZE(tasks);
	ASSERT_EQ(0, ctx_submit(c));
	EXPECT_EQ(0, rk_prep(&c->out[0][0], 20000));
	EXPECT_EQ(0, ctx_wrong(c, true));
}

RK_TEST_F(submit, many_handles, "a job may list 4000 handles")
{
	static uint32_t handles[4000];
	struct ctx *c = &self->c;

	for (size_t i = 0; i < ARRAY_SIZE(handles); i++)
		handles[i] = c->in[i % 2].handle;
	J0.in_bo_handles = (uintptr_t)handles;
	J0.in_bo_handle_count = ARRAY_SIZE(handles);
	ASSERT_EQ(0, ctx_submit(c));
	EXPECT_EQ(0, ctx_wrong(c, true));
}

RK_TEST_F(submit, many_handles_of_all_jobs, "the jobs of one call may list 65536 handles")
{
	static struct drm_rocket_job jobs[17];
	static uint32_t handles[4096];
	struct ctx *c = &self->c;

	if (!rk_ours())
		SKIP(return, "mainline's driver has no limit");
	for (size_t i = 0; i < ARRAY_SIZE(handles); i++)
		handles[i] = c->in[i % 2].handle;
	J0.in_bo_handles = (uintptr_t)handles;
	J0.in_bo_handle_count = ARRAY_SIZE(handles) - J0.out_bo_handle_count;
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		jobs[i] = J0;
	EXPECT_EQ(-EINVAL, rk_submit(c->fd, jobs, ARRAY_SIZE(jobs)));
	EXPECT_EQ(0, ctx_busy(c));
	ASSERT_EQ(0, rk_submit(c->fd, jobs, ARRAY_SIZE(jobs) - 1));
	EXPECT_EQ(0, rk_prep(&c->out[0][0], 20000));
	ASSERT_EQ(0, ctx_submit(c));
	EXPECT_EQ(0, ctx_wrong(c, true));
}

RK_TEST_F(submit, shorter_ioctl_struct, "a shorter ioctl struct is another call, which is not there")
{
	struct ctx *c = &self->c;
	unsigned long req = _IOC(_IOC_WRITE, DRM_IOCTL_BASE,
				 DRM_COMMAND_BASE + DRM_ROCKET_SUBMIT, 16);

	if (!rk_ours())
		SKIP(return, "mainline's driver takes it for one whose rest is zero");
	EXPECT_EQ(-ENOTTY, rk_ioctl(c->fd, req, &c->s));
	ASSERT_EQ(0, ctx_submit(c));
	EXPECT_EQ(0, ctx_wrong(c, true));
}

RK_TEST_F(submit, failing_1000_times_costs_nothing,
	  "a call that is refused 1,000 times costs nothing")
{
	struct ctx *c = &self->c;
	struct ctx good = *c;

	c->out_handles[1][1] = 0x7ffff;
	for (int i = 0; i < 1000; i++) {
		ASSERT_EQ(-ENOENT, ctx_submit(c));
	}
	*c = good;
	ASSERT_EQ(0, ctx_submit(c));
	EXPECT_EQ(0, ctx_wrong(c, true));
}

#define MANY_TASKS	65536u

RK_TEST(too_many_unfinished_tasks, "the number of a file's unfinished tasks is bounded")
{
	static struct drm_rocket_task tasks[MANY_TASKS];
	struct drm_rocket_job job;
	struct rk_client c;
	int fd, ret = 0;
	int n;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	RK_REQUIRE_MODEL();
	if (!rk_ours())
		SKIP(return, "needs our module");
	if (rk_slow() > 1)
		SKIP(return, "the first job is over before the last has been read");
	ASSERT_EQ(0, rk_client_init(&c));
	ASSERT_EQ(0, rk_op_task(&c.inc, c.in.iova, c.out.iova, &tasks[0]));
	for (unsigned int i = 1; i < MANY_TASKS; i++)
		tasks[i] = tasks[0];
	rk_job(&job, tasks, MANY_TASKS, &c.in.handle, 1, &c.out.handle, 1);
	/* So that the first is not over before the last is refused. */
	rk_latency_us(1000 * rk_slow());
	rk_task_timeout_ms(10000);
	for (n = 0; n < 17 && !ret; n++)
		ret = rk_submit(c.fd, &job, 1);
	EXPECT_EQ(-EBUSY, ret);
	EXPECT_EQ(17, n);
	rk_model_calm();
	rk_client_fini(&c);
}

RK_HARNESS_MAIN
