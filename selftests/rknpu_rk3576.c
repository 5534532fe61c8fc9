// SPDX-License-Identifier: GPL-2.0-only
/*
 * An RK3576: its numbers, its way of counting tasks, and that its two cores share a memory. Most programs have no register,
 * and their tasks end without having done anything; what registers do is tested beside the model's arithmetic.
 *
 * boot: rk3576 --model soc=rk3576 --model rk3588-npu-core.empty-tasks=on
 * boot: rk3576dt LONG --dt vendor --model soc=rk3576 --model rk3588-npu-core.empty-tasks=on
 * boot: supply76
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "rknpu_harness.h"
#include "rknpu_rk3576_copy.h"

#define CORES		2
#define TASKS		5
#define WORDS		6
/* Programs begin on multiples of it. */
#define PROGRAM		64
#define LATENCY_US	200000
#define MODEL_VERSION	0x46495247

#define PC_TASK_CON	0x0030
#define WORD(target, value, reg)	((uint64_t)(target) << 48 | (uint64_t)(value) << 16 | (reg))

/* A file with chained programs that only start CNA, CORE and DPU. */
struct empty {
	int fd;
	struct rk_bo bo;
	struct drm_rocket_task tasks[TASKS];
};

static int empty_init(struct empty *e, int fd)
{
	int ret;

	e->fd = fd;
	ret = rk_bo_init(&e->bo, fd, RK_PAGE);
	if (ret)
		return ret;
	for (int i = 0; i < TASKS; i++) {
		uint64_t *p = (uint64_t *)(e->bo.map + i * PROGRAM);
		bool last = i == TASKS - 1;

		p[0] = WORD(0x1001, 0xe, 0x4004);
		p[1] = WORD(0, 0, 0);
		p[2] = WORD(0x0101, last ? 0 : e->bo.iova + (i + 1) * PROGRAM, PC_BASE_ADDRESS);
		p[3] = WORD(0x0101, last ? 0 : WORDS / 2 - 1, 0x14);
		p[4] = WORD(0x0041, 0, 0);
		p[5] = WORD(0x0081, 0xd, 0x8);
		e->tasks[i].regcmd = e->bo.iova + i * PROGRAM;
		e->tasks[i].regcmd_count = WORDS;
	}
	return rk_fini(&e->bo);
}

static void empty_fini(struct empty *e)
{
	rk_bo_fini(&e->bo);
	close(e->fd);
}

static void empty_job(struct empty *e, struct drm_rocket_job_ext *job, uint32_t tasks, uint32_t core_mask)
{
	/* Any of them, as the last one would end a chain. */
	rk_job_ext(job, &e->tasks[tasks == 1 ? TASKS - 1 : 0], tasks, &e->bo, &e->bo);
	job->out_bo_handle_count = 0;
	job->core_mask = core_mask;
	if (tasks > 1)
		job->flags |= DRM_ROCKET_JOB_BATCHED;
}

static int wait_for(struct empty *e, uint64_t id, struct drm_rocket_wait_job *w)
{
	int ret = rk_wait_job(e->fd, id, rk_now() + 25000 * RK_MS, w);

	return ret ? ret : w->error;
}

static int run(struct empty *e, uint32_t tasks, uint32_t core_mask, struct drm_rocket_wait_job *w)
{
	struct drm_rocket_job_ext job;
	uint64_t id;
	int ret;

	empty_job(e, &job, tasks, core_mask);
	ret = rk_submit_ext(e->fd, &job, 1, &id);
	return ret ? ret : wait_for(e, id, w);
}

/* What the trace has of programs: 1 << core for a start, 0 for an end, in order. */
static int trace_events(unsigned int *events, int max)
{
	uint32_t entries;
	int n = 0;

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_TRACE_STOP);
	entries = rk_ctl_read(NPU_CTL_TRACE_COUNT);
	for (uint32_t i = 0; i < entries && n < max; i++) {
		uint32_t info, off;

		rk_ctl_write(NPU_CTL_TRACE_INDEX, i);
		info = rk_ctl_read(NPU_CTL_TRACE_INFO);
		off = rk_ctl_read(NPU_CTL_TRACE_ADDR) & 0x7fff;
		if (NPU_CTL_TRACE_UNIT(info) == NPU_CTL_UNIT_IRQ && rk_ctl_read(NPU_CTL_TRACE_VALUE))
			events[n++] = 0;
		else if (NPU_CTL_TRACE_UNIT(info) == NPU_CTL_UNIT_CORE && info & NPU_CTL_TRACE_WRITE && off == 0x8 &&
			 rk_ctl_read(NPU_CTL_TRACE_VALUE))
			events[n++] = 1 << NPU_CTL_TRACE_CORE(info);
	}
	return n;
}

FIXTURE(rk3576) {
	struct empty e, other;
};

FIXTURE_SETUP(rk3576)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	if (!rk_ours() || rk_param(fd, DRM_ROCKET_PARAM_SOC) != 3576)
		SKIP(return, "not an RK3576");
	ASSERT_EQ(0, empty_init(&self->e, fd));
	fd = rk_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, empty_init(&self->other, fd));
}

FIXTURE_TEARDOWN(rk3576)
{
	rk_model_calm();
	empty_fini(&self->e);
	empty_fini(&self->other);
}

RK_TEST_F(rk3576, is_described, "two cores, and the version by which Rockchip's runtime knows the chip")
{
	struct drm_rocket_get_param p = { .param = DRM_ROCKET_PARAM_HW_VERSION };

	EXPECT_EQ(CORES, rk_param(self->e.fd, DRM_ROCKET_PARAM_CORE_COUNT));
	EXPECT_EQ((1 << CORES) - 1, rk_param(self->e.fd, DRM_ROCKET_PARAM_CORE_MASK));
	RK_REQUIRE_MODEL();
	for (p.index = 0; p.index < CORES; p.index++) {
		EXPECT_EQ(0, rk_ioctl(self->e.fd, DRM_IOCTL_ROCKET_GET_PARAM, &p));
		EXPECT_EQ(MODEL_VERSION, p.value);
	}
}

RK_TEST_F(rk3576, job_runs_on_each_core, "a job of one task ends by an interrupt on the core that it names")
{
	struct drm_rocket_wait_job w;
	uint32_t con;

	RK_REQUIRE_MODEL();
	for (int core = 0; core < CORES; core++) {
		uint64_t irqs = rk_count(core, NPU_CNT_IRQ), done = rk_count(core, NPU_CNT_TASK_DONE);

		rk_trace_start();
		EXPECT_EQ(0, run(&self->e, 1, 1 << core, &w));
		EXPECT_EQ(core, w.core);
		EXPECT_EQ(1, w.task);
		EXPECT_EQ(irqs + 1, rk_count(core, NPU_CNT_IRQ));
		EXPECT_EQ(done + 1, rk_count(core, NPU_CNT_TASK_DONE));
	}
	/* Of core 0: rk_trace_last() takes the windows for those of an RK3588. */
	rk_trace_start();
	EXPECT_EQ(0, run(&self->e, 1, 1, &w));
	ASSERT_TRUE(rk_trace_last(PC_TASK_CON, &con));
	EXPECT_EQ(0x70001, con);
}

RK_TEST_F(rk3576, chain_is_one_kick, "a chain is counted by 16 bits that are 0 again in the end")
{
	struct drm_rocket_wait_job w;
	uint64_t irqs, kicks, done;
	uint32_t con;

	RK_REQUIRE_MODEL();
	irqs = rk_count(0, NPU_CNT_IRQ);
	kicks = rk_count(0, NPU_CNT_KICK);
	done = rk_count(0, NPU_CNT_TASK_DONE);
	rk_trace_start();
	EXPECT_EQ(0, run(&self->e, TASKS, 1, &w));
	EXPECT_EQ(TASKS, w.task);
	EXPECT_EQ(kicks + 1, rk_count(0, NPU_CNT_KICK));
	EXPECT_EQ(irqs + 1, rk_count(0, NPU_CNT_IRQ));
	EXPECT_EQ(done + TASKS, rk_count(0, NPU_CNT_TASK_DONE));
	ASSERT_TRUE(rk_trace_last(PC_TASK_CON, &con));
	EXPECT_EQ(0x70000 | TASKS, con);
}

RK_TEST_F(rk3576, hang_in_a_chain_is_placed, "of a chain that hangs it is told how many tasks were done")
{
	struct drm_rocket_wait_job w;

	RK_REQUIRE_MODEL();
	rk_fault_arm(0, NPU_FAULT_HANG, 2, 1);
	EXPECT_EQ(-ETIME, run(&self->e, TASKS, 1, &w));
	EXPECT_EQ(2, w.task);
	EXPECT_EQ(0, run(&self->e, TASKS, 1, &w));
}

RK_TEST_F_TIMEOUT(rk3576, power_ends_what_no_reset_ends, 60,
		  "a hang that no reset ends is over once the power was off, every time, and no core is lost")
{
	struct drm_rocket_wait_job w;

	RK_REQUIRE_MODEL();
	RK_REQUIRE_POWER_DOMAINS();
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_RESET_STUCK, 0, 0);
	for (int i = 0; i < 20; i++) {
		int core = i % CORES;

		/* In mainline's shape each core keeps the other's domain on. */
		ASSERT_TRUE(rk_wait_asleep(10000));
		rk_fault_arm(core, NPU_FAULT_HANG, 0, 1);
		ASSERT_EQ(-ETIME, run(&self->e, 1, 1 << core, &w)) TH_LOG("hang %d", i);
		ASSERT_EQ(0, run(&self->e, 1, 1 << core, &w)) TH_LOG("hang %d", i);
	}
	for (int core = 0; core < CORES; core++)
		EXPECT_EQ(0, rk_core_stat(core, "retired"));
}

RK_TEST_F(rk3576, unknown_program_is_refused, "the model refuses a register that no program has had, and says so")
{
	struct drm_rocket_wait_job w;
	uint64_t *p = (uint64_t *)(self->e.bo.map + (TASKS - 1) * PROGRAM);
	char text[128];

	RK_REQUIRE_MODEL();
	p[1] = WORD(0x1001, 1, 0x403c);
	ASSERT_EQ(0, rk_fini(&self->e.bo));
	EXPECT_EQ(-ETIME, run(&self->e, 1, 1, &w));
	ASSERT_TRUE(rk_hang_reason(0, text, sizeof(text)));
	EXPECT_STREQ("a register that nobody has seen", text);
	EXPECT_EQ(0, run(&self->other, 1, 1, &w));
}

#define COPY_BYTES	256
#define COPY_FROM	0x800
#define COPY_TO		0xc00

static uint32_t write_copy(struct rk_bo *bo)
{
	uint64_t *p = (uint64_t *)bo->map;
	uint32_t n = 0;

	for (size_t i = 0; i < sizeof(copy_rk3576) / sizeof(copy_rk3576[0]); i++)
		p[n++] = WORD(copy_rk3576[i].reg >> 12 == 4 ? 0x1001 : 0x2001, copy_rk3576[i].value, copy_rk3576[i].reg);
	p[n++] = WORD(0x1001, bo->iova + COPY_TO, 0x4018);
	p[n++] = WORD(0x2001, bo->iova + COPY_FROM, 0x5018);
	p[n++] = WORD(0x0101, 0, 0x14);
	p[n++] = WORD(0x0041, 0, 0);
	p[n++] = WORD(0x0081, 0x18, 0x8);
	return n;
}

RK_TEST_F(rk3576, copy_runs_on_each_core, "a program in this chip's registers copies on either core")
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	struct drm_rocket_task task;
	struct rk_bo bo;
	uint8_t *bytes;
	uint64_t id;

	ASSERT_EQ(0, rk_bo_init(&bo, self->e.fd, RK_PAGE));
	bytes = bo.map;
	for (int core = 0; core < 2; core++) {
		task.regcmd = bo.iova;
		task.regcmd_count = write_copy(&bo);
		for (int i = 0; i < COPY_BYTES; i++) {
			bytes[COPY_FROM + i] = i * 7 + core;
			bytes[COPY_TO + i] = 0x5a;
		}
		ASSERT_EQ(0, rk_fini(&bo));
		rk_job_ext(&job, &task, 1, &bo, &bo);
		job.in_bo_handle_count = 0;
		job.core_mask = 1 << core;
		ASSERT_EQ(0, rk_submit_ext(self->e.fd, &job, 1, &id));
		ASSERT_EQ(0, wait_for(&self->e, id, &w));
		EXPECT_EQ(core, w.core);
		ASSERT_EQ(0, rk_prep(&bo, 10000));
		EXPECT_EQ(0, memcmp(bytes + COPY_FROM, bytes + COPY_TO, COPY_BYTES));
	}
	rk_bo_fini(&bo);
}

RK_TEST_F(rk3576, nothing_said_is_core_0, "a job that may run anywhere runs on the core that programs are made for")
{
	struct drm_rocket_job_ext jobs[4];
	struct drm_rocket_wait_job w;
	uint64_t id;

	for (int i = 0; i < 4; i++)
		empty_job(&self->e, &jobs[i], 1, i & 1 ? 3 : 0);
	ASSERT_EQ(0, rk_submit_ext(self->e.fd, jobs, 4, &id));
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(0, wait_for(&self->e, id + i, &w));
		EXPECT_EQ(0, w.core);
	}
}

RK_TEST_F_TIMEOUT(rk3576, without_core_0, 120,
		  "once core 0 is out of service, what may run anywhere runs on core 1, also what waits")
{
	struct drm_rocket_job_ext jobs[3];
	struct drm_rocket_wait_job w;
	uint64_t id;

	RK_REQUIRE_MODEL();
	if (rk_one_iommu())
		SKIP(return, "a dead core takes the IOMMU with it, and so the other one");
	if (rk_kernel_before(6, 13))
		SKIP(return, "the kernel warns of an IOMMU that cannot go back to what it was attached to");
	for (int i = 0; i < 3; i++)
		empty_job(&self->e, &jobs[i], 1, 0);
	rk_fault_arm_param(0, NPU_FAULT_CORE_DEAD, 0, 0, 0);
	ASSERT_EQ(0, rk_submit_ext(self->e.fd, jobs, 3, &id));
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(0, wait_for(&self->e, id + i, &w)) TH_LOG("job %d", i);
		EXPECT_EQ(1, w.core);
	}
	EXPECT_NE(0, rk_core_stat(0, "retired"));
	rk_model_calm();
	empty_fini(&self->other);
	empty_fini(&self->e);
	ASSERT_EQ(0, rk_rebind(0));
	ASSERT_EQ(0, empty_init(&self->e, rk_open()));
	ASSERT_EQ(0, empty_init(&self->other, rk_open()));
	EXPECT_EQ(0, run(&self->e, 1, 0, &w));
	EXPECT_EQ(0, w.core);
}

/* With jobs of 200 ms on both cores: what started before the first of them had ended. */
static unsigned int started_together(struct empty *a, struct empty *b)
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	unsigned int events[16] = { 0 }, together = 0;
	uint64_t first, second;
	int n;

	rk_latency_us(LATENCY_US);
	rk_trace_start();
	empty_job(a, &job, 1, 1);
	if (rk_submit_ext(a->fd, &job, 1, &first))
		return 0;
	empty_job(b, &job, 1, 2);
	if (rk_submit_ext(b->fd, &job, 1, &second) || wait_for(a, first, &w) || wait_for(b, second, &w))
		return 0;
	n = trace_events(events, 16);
	for (int i = 0; i < n && events[i]; i++)
		together |= events[i];
	return together;
}

RK_TEST_F(rk3576, clients_take_turns, "two clients never have programs on the two cores at the same time")
{
	unsigned int cores;

	RK_REQUIRE_MODEL();
	/* Which of them is first is nobody's concern. */
	cores = started_together(&self->e, &self->other);
	EXPECT_TRUE(cores == 1 || cores == 2) TH_LOG("cores %#x", cores);
}

/* @a's job on core 0, then @b's on core 1, @n times: how often core 0 was reset between two address spaces. */
static long long halts_of(struct empty *a, struct empty *b, int n)
{
	struct drm_rocket_wait_job w;
	long long halts;
	int ret = 0;

	/* Or it would sleep meanwhile, which resets it, too. */
	rk_stay_awake(true);
	ret = run(a, 1, 1, &w) ?: run(b, 1, 2, &w);
	halts = rk_core_stat(0, "halts");
	for (int i = 0; i < n && !ret; i++)
		ret = run(a, 1, 1, &w) ?: run(b, 1, 2, &w);
	halts = rk_core_stat(0, "halts") - halts;
	rk_stay_awake(false);
	return ret ? ret : halts;
}

RK_TEST_F(rk3576, core_is_reset_before_others_run,
	  "what a program does after its job is over, it does not do while another client's runs on the other core")
{
	if (rk_one_iommu())
		SKIP(return, "an address space is on both cores, which are reset before the next one");
	EXPECT_LE(4, halts_of(&self->e, &self->other, 4));
}

RK_TEST_F(rk3576, own_cores_are_not_reset, "a client that uses both cores by turns does not pay for any reset")
{
	EXPECT_EQ(0, halts_of(&self->e, &self->e, 4));
}

RK_TEST_F(rk3576, one_client_has_both, "a client that names both cores has them at the same time")
{
	RK_REQUIRE_MODEL();
	EXPECT_EQ(3, started_together(&self->e, &self->e));
}

RK_HARNESS_MAIN
