// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBMIT of the vendor's uAPI on node "rknpu": its fields, fences, failures.
 *
 * boot: vendor
 * boot: coherent
 * boot: evict
 * boot: dtvendor
 * boot: armhfvend
 * boot: novirq
 * boot: noiommulib
 * boot: noviommu
 * boot: noviommdis
 * boot: debug-vendor
 * boot: kcsan-exec
 */
#define _GNU_SOURCE
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rknpu_dmabuf.h"
#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

FIXTURE(vendor)
{
	int fd;
};

FIXTURE_SETUP(vendor)
{
	RV_OPEN_OR_SKIP(self->fd);
}

FIXTURE_TEARDOWN(vendor)
{
	rk_module_param("max_job_ms", 10000);
	rk_module_param("max_timeout_ms", 10000);
	rk_model_calm();
	close(self->fd);
}

/* ---- SUBMIT ---- */

RK_TEST_F(vendor, submit_chain,
	  "a chain of tasks runs, and SUBMIT tells what the vendor's driver tells")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	/* 5 * 40 bytes from the start: a task lies across a page boundary. */
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 5, 100, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 7));
	rv_chain_submit(&c, &s);
	s.task_counter = 99;
	ASSERT_EQ(0, rv_submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 12));
	EXPECT_EQ(15, s.task_counter);
	EXPECT_LT(0, s.hw_elapse_time);
	EXPECT_TRUE(s.core_mask == 1 || s.core_mask == 2 || s.core_mask == 4);
	ASSERT_EQ(0, rv_sync(&c.tasks, 2, 0, c.tasks.size));
	for (uint32_t i = 0; i < 4; i++)
		EXPECT_EQ(0, rv_chain_task(&c, i)->int_status);
	EXPECT_NE(0, rv_chain_task(&c, 4)->int_status & RV_INT_DPU);
	EXPECT_EQ(0, rv_chain_task(&c, 4)->int_status & ~RV_INT_DPU);
	rv_chain_fini(&c);
}

/* One kick and one interrupt, whatever the number of tasks. */
RK_TEST_F(vendor, submit_chain_is_one_kick, "a chain of tasks costs one kick and one interrupt")
{
	struct rv_chain c;
	uint64_t kicks, irqs, tasks;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 8, 0, 0));
	kicks = rk_count_all_jobs(NPU_CNT_KICK);
	irqs = rk_count_all(NPU_CNT_IRQ);
	tasks = rk_count_all_jobs(NPU_CNT_TASK_DONE);
	EXPECT_EQ(0, rv_chain_run(&c, 1));
	EXPECT_EQ(1, rk_count_all_jobs(NPU_CNT_KICK) - kicks);
	EXPECT_EQ(!rk_polled(), rk_count_all(NPU_CNT_IRQ) - irqs);
	EXPECT_EQ(8, rk_count_all_jobs(NPU_CNT_TASK_DONE) - tasks);
	rv_chain_fini(&c);
}

struct again {
	int fd;
	struct drm_rknpu_submit s;
};

static int submit_again(void *arg)
{
	struct again *a = arg;

	return rv_submit(a->fd, &a->s);
}

RK_TEST_F(vendor, refusals_say_why, "the log says what is wrong, if DRM's debug messages of drivers are on")
{
	struct again a = { .fd = self->fd, .s.flags = DRM_RKNPU_JOB_PC };

	if (geteuid())
		SKIP(return, "for root");
	EXPECT_EQ(0, rk_refusal_told(submit_again, &a, -EINVAL, "submit: task_number is 0"));
}

struct bad_submit {
	const char *what;
	void (*change)(struct drm_rknpu_submit *s);
};

static void no_pc(struct drm_rknpu_submit *s) { s->flags &= ~DRM_RKNPU_JOB_PC; }
static void no_tasks(struct drm_rknpu_submit *s) { s->task_number = 0; }
static void mask_5(struct drm_rknpu_submit *s) { s->core_mask = 5; }
static void mask_6(struct drm_rknpu_submit *s) { s->core_mask = 6; }
static void mask_8(struct drm_rknpu_submit *s) { s->core_mask = 8; }
static void mask_all(struct drm_rknpu_submit *s) { s->core_mask = ~0u; }
static void null_object(struct drm_rknpu_submit *s) { s->task_obj_addr = 0; }
static void kernel_object(struct drm_rknpu_submit *s) { s->task_obj_addr = 0xffffff8134cec000; }
static void domain_16(struct drm_rknpu_submit *s) { s->iommu_domain_id = 16; }
static void empty_slices(struct drm_rknpu_submit *s) { memset(s->subcore_task, 0, 40); }

static void beyond_buffer(struct drm_rknpu_submit *s)
{
	for (int i = 0; i < 5; i++)
		s->subcore_task[i].task_start = 103;
}

static void far_beyond_buffer(struct drm_rknpu_submit *s)
{
	for (int i = 0; i < 5; i++)
		s->subcore_task[i].task_start = ~0u;
}

static void many_tasks(struct drm_rknpu_submit *s)
{
	for (int i = 0; i < 5; i++)
		s->subcore_task[i].task_number = ~0u;
}

static void bad_fence(struct drm_rknpu_submit *s)
{
	s->flags |= DRM_RKNPU_JOB_FENCE_IN;
	s->fence_fd = 0;
}

static const struct bad_submit bad_submits[] = {
	{ "no PC flag", no_pc },
	{ "task_number 0", no_tasks },
	{ "core_mask 5", mask_5 },
	{ "core_mask 6", mask_6 },
	{ "core_mask 8", mask_8 },
	{ "core_mask ~0", mask_all },
	{ "task_obj_addr 0", null_object },
	{ "task_obj_addr in the kernel", kernel_object },
	{ "domain 16", domain_16 },
	{ "empty slices", empty_slices },
	{ "tasks beyond the buffer", beyond_buffer },
	{ "tasks far beyond the buffer", far_beyond_buffer },
	{ "too many tasks", many_tasks },
	{ "fence_fd that is no fence", bad_fence },
};

RK_TEST_F(vendor, submit_refuses, "SUBMIT refuses bad fields, and still answers")
{
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	for (size_t i = 0; i < ARRAY_SIZE(bad_submits); i++) {
		struct drm_rknpu_submit s;

		rv_chain_submit(&c, &s);
		s.task_counter = 5;
		bad_submits[i].change(&s);
		EXPECT_EQ(-EINVAL, rv_submit(self->fd, &s)) TH_LOG("%s", bad_submits[i].what);
		/* Copied back on errors, too. */
		EXPECT_EQ(0, s.task_counter);
	}

	/* A program must start at a multiple of 8; the lowest bit would be a mode. */
	struct drm_rknpu_submit s;

	rv_chain_task(&c, 0)->regcmd_addr |= 1;
	ASSERT_EQ(0, rv_sync(&c.tasks, 1, 0, 4096));
	rv_chain_submit(&c, &s);
	EXPECT_EQ(-EINVAL, rv_submit(self->fd, &s));
	rv_chain_task(&c, 0)->regcmd_addr &= ~1ull;
	ASSERT_EQ(0, rv_sync(&c.tasks, 1, 0, 4096));
	EXPECT_EQ(0, rv_chain_run(&c, 1));

	/* A data buffer is no task buffer. */
	rv_chain_submit(&c, &s);
	s.task_obj_addr = c.bo.obj;
	EXPECT_EQ(-EINVAL, rv_submit(self->fd, &s));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, task_base_addr_is_used,
	  "task_base_addr is added to addresses, as the register does")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 1));
	rv_chain_submit(&c, &s);
	s.task_base_addr = 0x40000000;
	/* Else that is memory. */
	if (!rk_no_iommu()) {
		EXPECT_EQ(-EFAULT, rv_submit(self->fd, &s));
	}
	/* 32 bits of it. */
	rv_chain_submit(&c, &s);
	s.task_base_addr = 0x100000000;
	EXPECT_EQ(0, rv_submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 2));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, uncached_task_buffer,
	  "tasks are read from a buffer that the CPU does not cache, and their end is written there")
{
	struct drm_rknpu_task *tasks;
	struct rv_chain c;
	struct rv_bo bo;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 3, 0, 0));
	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, RK_PAGE, RV_FLAGS_TASK & ~DRM_RKNPU_MEM_CACHEABLE, 0));
	tasks = (struct drm_rknpu_task *)bo.map;
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(0, rv_chain_run_from(&c, i, tasks, bo.obj));
		EXPECT_EQ(0, tasks[1].int_status);
		EXPECT_NE(0, tasks[2].int_status & RV_INT_DPU);
	}
	rv_bo_fini(&bo);
	rv_chain_fini(&c);
}

#define STATUS_LATENCY_US	300000

struct blocked {
	int fd;
	struct drm_rknpu_submit s;
	pthread_t thread;
	int ret;
};

static void *submit_blocking(void *arg)
{
	struct blocked *b = arg;

	b->ret = rv_submit(b->fd, &b->s);
	return NULL;
}

static void wake_up(int sig)
{
}

/* A job of another core that does not end: its sync_file, or a negative errno. */
static int endless_job(struct rv_chain *c)
{
	struct drm_rknpu_submit s;
	int ret;

	rk_fault_arm(1, NPU_FAULT_HANG, 0, 1);
	rv_chain_submit(c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	s.core_mask = 2;
	ret = rv_submit(c->fd, &s);
	return ret ? ret : s.fence_fd;
}

/*
 * The job of @c, with tasks in @buf, and while it runs the fence @other is added to @buf. What SUBMIT
 * returns, or -EBUSY if it waited for @other.
 */
static int run_beside(struct rv_chain *c, int buf, uint64_t obj, int other)
{
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_RW, .fd = other };
	struct pollfd over = { .fd = other, .events = POLLIN };
	struct blocked b = { .fd = c->fd };
	int ret;

	rv_chain_submit(c, &b.s);
	b.s.task_obj_addr = obj;
	b.s.core_mask = 1;
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	if (pthread_create(&b.thread, NULL, submit_blocking, &b))
		return -EAGAIN;
	ret = rk_wait_count(0, NPU_CNT_TASK_STARTED, 1, 10000) ? 0 : -ETIMEDOUT;
	if (!ret)
		ret = rk_ioctl(buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import);
	pthread_kill(b.thread, SIGUSR1);
	pthread_join(b.thread, NULL);
	if (!ret && poll(&over, 1, 0))
		ret = -EBUSY;
	return ret ? ret : b.ret;
}

RK_TEST_F(vendor, status_waits_for_nobody,
	  "the end of a task in imported memory is written there whoever else uses it, and whatever signal comes")
{
	struct sigaction act = { .sa_handler = wake_up };
	struct drm_prime_handle p = { 0 };
	struct drm_rknpu_mem_create create = { 0 };
	struct rv_chain c, endless;
	struct drm_rknpu_task *tasks;
	uint8_t *map;
	int other;

	RK_REQUIRE_MODEL();
	if (rk_kernel_before(6, 0))
		SKIP(return, "a kernel that takes no fences for dma-bufs");
	p.fd = rv_foreign_memory(RK_PAGE, &map);
	if (p.fd == -ENOENT)
		SKIP(return, "neither /dev/udmabuf nor a DMA heap");
	ASSERT_LE(0, p.fd);
	ASSERT_EQ(0, sigaction(SIGUSR1, &act, NULL));
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	create.handle = p.handle;
	ASSERT_EQ(0, rv_create(self->fd, &create));
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_init(&endless, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 1));
	tasks = (struct drm_rknpu_task *)map;
	memcpy(tasks, rv_chain_task(&c, 0), sizeof(*tasks));
	rk_latency_us(STATUS_LATENCY_US);
	other = endless_job(&endless);
	ASSERT_LE(0, other);
	EXPECT_EQ(0, run_beside(&c, p.fd, create.obj_addr, other));
	EXPECT_EQ(0, rv_chain_wrong(&c, 2));
	EXPECT_NE(0, tasks->int_status & RV_INT_DPU);
	rk_model_calm();
	EXPECT_EQ(0, rv_wait_fence(other));
	rv_chain_fini(&endless);
	rv_chain_fini(&c);
	munmap(map, RK_PAGE);
	close(p.fd);
}

RK_TEST_F(vendor, every_unit_named_has_to_be_done,
	  "a task that names two units is not over when one of them is, and the line does not storm")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;
	long long irqs;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 1));
	rv_chain_task(&c, 0)->int_mask = RV_INT_DPU | RV_INT_PPU;
	ASSERT_EQ(0, rv_sync(&c.tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c.tasks.size));
	rv_chain_submit(&c, &s);
	s.timeout = 300;
	irqs = rk_cores_stat("irqs");
	EXPECT_EQ(-ETIMEDOUT, rv_submit(self->fd, &s));
	EXPECT_EQ(irqs + !rk_polled(), rk_cores_stat("irqs"));
	rv_chain_task(&c, 0)->int_mask = RV_INT_DPU;
	ASSERT_EQ(0, rv_sync(&c.tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c.tasks.size));
	EXPECT_EQ(0, rv_chain_run(&c, 1));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, submit_ignores, "SUBMIT ignores the fields that the vendor's driver ignores")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 1));
	rv_chain_submit(&c, &s);
	s.flags |= 0xffffffe0;
	s.task_start = ~0u;
	s.priority = -5;
	s.reserved = ~0u;
	EXPECT_EQ(0, rv_submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 2));
	/* The struct of 0.7 to 0.9.5 has the same size as today's. */
	EXPECT_EQ(104, sizeof(s));
	rv_chain_fini(&c);
}

#define PC_TASK_CON	0x30

/* Runs @c, whose buffer has been filled with @value, and returns what TASK_CON was given. */
static uint32_t run_with_flags(struct rv_chain *c, uint32_t flags, int value)
{
	struct drm_rknpu_submit s;
	uint32_t con = 0;

	if (rv_chain_fill(c, value))
		return 0;
	rv_chain_submit(c, &s);
	s.flags = flags;
	rk_trace_start();
	if (rv_submit(c->fd, &s) || !rk_trace_last(PC_TASK_CON, &con) ||
	    rv_chain_wrong(c, value + 3))
		return 0;
	return con;
}

RK_TEST_F(vendor, tasks_between_are_not_looked_at,
	  "programs lead to each other: what tasks between the first and the last say is ignored")
{
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 4, 100, 0));
	memset(rv_chain_task(&c, 1), 0xff, 2 * sizeof(struct drm_rknpu_task));
	ASSERT_EQ(0, rv_sync(&c.tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c.tasks.size));
	EXPECT_EQ(0, rv_chain_run(&c, 5));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, pingpong_is_the_clients_choice,
	  "programs are fetched early only if PINGPONG asks for it")
{
	struct rv_chain c;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 3, 0, 0));
	/* Its first job may attach the address space. */
	ASSERT_EQ(0, rv_chain_run(&c, 1));
	EXPECT_EQ(0x7003, run_with_flags(&c, DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG, 1));
	EXPECT_EQ(0x6003, run_with_flags(&c, DRM_RKNPU_JOB_PC, 2));
	EXPECT_EQ(0x7003, run_with_flags(&c, DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG, 3));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, nonblock_and_fences,
	  "jobs wait for each other's fences without blocking the caller")
{
	struct drm_rknpu_submit s[3];
	struct sync_file_info info = { 0 };
	struct rv_chain c[3];

	RK_REQUIRE_MODEL();
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	rk_latency_us(50000);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	/* Each waits for the one before, on another core. */
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, rv_chain_init(&c[i], self->fd, 1, 0, 0));
		ASSERT_EQ(0, rv_chain_fill(&c[i], i));
		rv_chain_submit(&c[i], &s[i]);
		s[i].flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
		s[i].core_mask = 1 << i;
		if (i) {
			s[i].flags |= DRM_RKNPU_JOB_FENCE_IN;
			s[i].fence_fd = s[i - 1].fence_fd;
		}
		ASSERT_EQ(0, rv_submit(self->fd, &s[i]));
		ASSERT_LE(0, s[i].fence_fd);
	}
	EXPECT_EQ(0, rk_ioctl(s[2].fence_fd, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(0, info.status);

	struct pollfd p = { .fd = s[2].fence_fd, .events = POLLIN };

	EXPECT_EQ(1, poll(&p, 1, 20000));
	for (int i = 0; i < 3; i++) {
		info = (struct sync_file_info) { 0 };
		EXPECT_EQ(0, rk_ioctl(s[i].fence_fd, SYNC_IOC_FILE_INFO, &info));
		EXPECT_EQ(1, info.status);
		EXPECT_EQ(0, rv_chain_wrong(&c[i], i + 1));
		close(s[i].fence_fd);
		rv_chain_fini(&c[i]);
	}
	/* None of them ran beside another. */
	EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
}

RK_TEST_F(vendor, no_descriptor_left, "SUBMIT that has no descriptor left for its fence says so, and runs nothing")
{
	struct rlimit limit, none;
	struct drm_rknpu_submit s;
	struct rv_chain c;
	int ret;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 1));
	rv_chain_submit(&c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	ret = rv_submit(self->fd, &s);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	EXPECT_EQ(-EMFILE, ret);
	EXPECT_NE(0, rv_chain_wrong(&c, 2));
	EXPECT_EQ(0, rv_chain_run(&c, 1));
	rv_chain_fini(&c);
}

/* More than a file may have that are not over. */
#define TOO_MANY_JOBS	10000

RK_TEST_F_TIMEOUT(vendor, poll_tells_of_room, 120,
		  "the number of a file's unfinished jobs is bounded, and poll() tells when there is room")
{
	struct pollfd room = { .fd = self->fd, .events = POLLIN | POLLOUT };
	struct drm_rknpu_submit s;
	struct rv_chain c;
	uint32_t value = 0;
	int ret = 0;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	EXPECT_EQ(1, poll(&room, 1, 0));
	EXPECT_EQ(POLLOUT, room.revents);
	if (rk_slow() > 1)
		SKIP(return, "the job that hangs would be given up before so many were queued");
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	for (int i = 0; i < TOO_MANY_JOBS && !ret; i++) {
		rv_chain_submit(&c, &s);
		s.flags |= DRM_RKNPU_JOB_NONBLOCK;
		s.core_mask = 1;
		s.timeout = 10000;
		ret = rv_submit(self->fd, &s);
	}
	EXPECT_EQ(-EBUSY, ret);
	EXPECT_EQ(0, poll(&room, 1, 0));
	EXPECT_EQ(0, rv_action(self->fd, DRM_RKNPU_RESET, &value));
	EXPECT_EQ(1, poll(&room, 1, 60000));
	EXPECT_EQ(POLLOUT, room.revents);
	/* Once the core is back. */
	ASSERT_EQ(0, rv_chain_fill(&c, 5));
	rv_chain_submit(&c, &s);
	s.core_mask = 1;
	EXPECT_EQ(0, rv_submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 6));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, timeout_is_in_ms_and_tells_how_far,
	  "a timeout is told, and how many tasks were done")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 4, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 0));
	rv_chain_submit(&c, &s);
	s.timeout = 300;
	/* The third task of the chain hangs. */
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 2, 1);
	EXPECT_EQ(-ETIMEDOUT, rv_submit(self->fd, &s));
	EXPECT_EQ(2, s.task_counter);
	EXPECT_EQ(1, rk_fault_fired());
	EXPECT_EQ(0, rv_chain_run(&c, 5));
	rv_chain_fini(&c);
}

/* A chain of eight tasks of 150 ms whose runtime would wait for ever. */
static int submit_for_ever(struct rv_chain *c, struct drm_rknpu_submit *s)
{
	int ret = rv_chain_fill(c, 0);

	rk_latency_us(150000);
	rv_chain_submit(c, s);
	s->timeout = UINT32_MAX;
	return ret ? ret : rv_submit(c->fd, s);
}

RK_TEST_F(vendor, timeout_is_limited,
	  "the administrator's limits for a task and for a job hold, whatever timeout is asked for")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 8, 0, 0));
	rk_module_param("max_job_ms", 400);
	EXPECT_EQ(-ETIMEDOUT, submit_for_ever(&c, &s));
	EXPECT_LE(1, s.task_counter);
	EXPECT_GT(8, s.task_counter);

	rk_module_param("max_job_ms", 10000);
	EXPECT_EQ(0, submit_for_ever(&c, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 8));

	/* The third task hangs. */
	rk_module_param("max_timeout_ms", 400);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 2, 1);
	EXPECT_EQ(-ETIMEDOUT, submit_for_ever(&c, &s));
	EXPECT_EQ(2, s.task_counter);
	rk_module_param("max_timeout_ms", 10000);
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, fault_is_told_apart, "a page fault has another errno than a timeout")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	rv_chain_task(&c, 0)->regcmd_addr = 0xf0000000;
	ASSERT_EQ(0, rv_sync(&c.tasks, 1, 0, 4096));
	rv_chain_submit(&c, &s);
	EXPECT_EQ(-EFAULT, rv_submit(self->fd, &s));
	rv_chain_fini(&c);
}

/* All of system sleep up to the freezing of tasks, for a second: 0 or a negative errno. */
static int freeze_tasks(void)
{
	int ret;

	/* Not built into every kernel. */
	rk_write_file("/sys/module/suspend/parameters/pm_test_delay", "1");
	rk_write_file("/sys/power/pm_freeze_timeout", "2000");
	ret = rk_write_file("/sys/power/pm_test", "freezer");
	if (!ret)
		ret = rk_write_file("/sys/power/state", "freeze");
	rk_write_file("/sys/power/pm_test", "none");
	rk_write_file("/sys/power/pm_freeze_timeout", "20000");
	return ret;
}

RK_TEST_F_TIMEOUT(vendor, system_sleep_does_not_wait_for_callers, 120,
		  "a caller that waits for its job is frozen for system sleep, and goes on after it")
{
	/* The job goes on after the sleep, and ends during it. */
	static const unsigned int latency_ms[] = { 500, 100 };
	struct rv_chain c;

	RK_REQUIRE_MODEL();
	if (access("/sys/power/pm_test", W_OK))
		SKIP(return, "no CONFIG_PM_DEBUG");
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 8, 0, 0));
	for (size_t i = 0; i < ARRAY_SIZE(latency_ms); i++) {
		struct blocked b = { .fd = c.fd };

		rv_chain_submit(&c, &b.s);
		b.s.timeout = 10000;
		ASSERT_EQ(0, rv_chain_fill(&c, 10 * i));
		rk_latency_us(latency_ms[i] * 1000);
		rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
		ASSERT_EQ(0, pthread_create(&b.thread, NULL, submit_blocking, &b));
		for (int ms = 0; !rk_count_all(NPU_CNT_TASK_STARTED) && ms < 10000; ms++)
			rk_sleep_ms(1);
		EXPECT_EQ(0, freeze_tasks());
		pthread_join(b.thread, NULL);
		EXPECT_EQ(0, b.ret);
		EXPECT_EQ(0, rv_chain_wrong(&c, 10 * i + 8));
	}
	rv_chain_fini(&c);
}

RK_HARNESS_MAIN
