// SPDX-License-Identifier: GPL-2.0-only
/* Device, buffer, job and model helpers of the selftests. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <xf86drmMode.h>

#include "npu_prog.h"
#include "rknpu_util.h"

static char found_path[300];

int rk_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

bool rk_is_driver(int fd, const char *name)
{
	drmVersionPtr v = drmGetVersion(fd);
	bool is = v && !strcmp(v->name, name);

	drmFreeVersion(v);
	return is;
}

static int try_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (!rk_is_driver(fd, "rocket")) {
		close(fd);
		return -ENODEV;
	}
	snprintf(found_path, sizeof(found_path), "%s", path);
	return fd;
}

/* Hangs of each core that are no news. */
static uint32_t hangs_seen[RK_CORES];

static uint32_t hangs(unsigned int core)
{
	return rk_ctl_read(NPU_CTL_HANG(core) + NPU_CTL_HANG_COUNT);
}

static void forget_hangs(void)
{
	for (unsigned int i = 0; i < RK_CORES && rk_model(); i++)
		hangs_seen[i] = hangs(i);
}

bool rk_hang_reason(unsigned int core, char *text, size_t size)
{
	size_t i;

	if (!rk_model() || !hangs(core))
		return false;
	for (i = 0; i + 1 < size && i < NPU_CTL_HANG_TEXT_SIZE; i++) {
		uint32_t word = rk_ctl_read(NPU_CTL_HANG(core) + NPU_CTL_HANG_TEXT + (i & ~3ul));

		text[i] = (char)(word >> i % 4 * 8);
	}
	text[i] = '\0';
	return true;
}

static void tell_hangs(void)
{
	char text[NPU_CTL_HANG_TEXT_SIZE];

	for (unsigned int i = 0; i < RK_CORES && rk_model(); i++) {
		if (hangs(i) != hangs_seen[i] && rk_hang_reason(i, text, sizeof(text)))
			printf("# core %u: %s: %s\n", i,
			       rk_ctl_read(NPU_CTL_HANG(i) + NPU_CTL_HANG_KIND) ==
			       NPU_CTL_HANG_REFUSED ? "the model cannot run this task"
						    : "this task hangs on silicon, too", text);
	}
	forget_hangs();
}

int rk_open(void)
{
	const char *env = getenv("NPU_DEVICE");
	glob_t g = { 0 };
	int fd = -ENODEV;

	forget_hangs();
	if (env)
		return try_open(env);
	/* The NPU may have a render node while something else has an accel node. */
	glob("/dev/accel/accel*", 0, NULL, &g);
	glob("/dev/dri/renderD*", GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		int r = try_open(g.gl_pathv[i]);

		if (r >= 0) {
			fd = r;
			break;
		}
		/* A node that is there but broken says more than "none". */
		if (r != -ENODEV)
			fd = r;
	}
	globfree(&g);
	return fd;
}

int rk_open_as(uid_t uid, int (*open)(void))
{
	uid_t self = getuid();
	int fd;

	if (setreuid(uid, -1))
		return -errno;
	fd = open();
	if (setreuid(self, -1))
		abort();
	return fd;
}

const char *rk_path(void)
{
	return found_path;
}

bool rk_ours(void)
{
	return !access("/sys/module/rknpu_accel", F_OK);
}

bool rk_one_iommu(void)
{
	glob_t g = { 0 };
	bool found;

	found = !glob("/sys/bus/platform/drivers/rknpu-accel-node/*.npu", 0, NULL, &g);
	globfree(&g);
	return found;
}

bool rk_power_domains(void)
{
	glob_t g = { 0 };
	bool found;

	found = !glob("/sys/bus/platform/devices/*.npu/of_node/power-domains", 0, NULL, &g);
	globfree(&g);
	return found;
}

/* Says the device tree, or a module parameter. */
bool rk_no_iommu(void)
{
	FILE *f = fopen("/sys/module/rknpu_accel/parameters/noiommu", "re");
	bool none = f && fgetc(f) == 'Y';
	char status[16] = "";

	if (f)
		fclose(f);
	f = fopen("/proc/device-tree/iommu@fdab9000/status", "re");
	if (f) {
		none |= fgets(status, sizeof(status), f) && !strcmp(status, "disabled");
		fclose(f);
	}
	return none || (!access("/proc/device-tree/npu@fdab0000", F_OK) &&
			access("/proc/device-tree/npu@fdab0000/iommus", F_OK));
}

bool rk_polled(void)
{
	FILE *f = fopen("/sys/module/rknpu_accel/parameters/poll", "re");
	bool polled = f && fgetc(f) == 'Y';

	if (f)
		fclose(f);
	return polled || (!access("/proc/device-tree/npu@fdab0000", F_OK) &&
			  access("/proc/device-tree/npu@fdab0000/interrupts", F_OK));
}

bool rk_kernel_before(unsigned int major, unsigned int minor)
{
	struct utsname u;
	unsigned int a = 0, b = 0;

	if (uname(&u) || sscanf(u.release, "%u.%u", &a, &b) != 2)
		return false;
	return a < major || (a == major && b < minor);
}

void rk_module_param(const char *name, unsigned int value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/rknpu_accel/parameters/%s", name);
	f = fopen(path, "we");
	if (!f)
		return;
	fprintf(f, "%u\n", value);
	fclose(f);
}

void rk_scrub(bool on)
{
	rk_module_param("scrub", on);
}

void rk_task_timeout_ms(unsigned int ms)
{
	rk_module_param("default_timeout_ms", ms);
}

unsigned int rk_slow(void)
{
	const char *env = getenv("RKNPU_TEST_SLOW");
	int slow = env ? atoi(env) : 1;

	return slow < 1 ? 1 : slow;
}

bool rk_long(void)
{
	const char *env = getenv("RKNPU_LONG");

	return env && atoi(env);
}

int rk_drop_capability(unsigned int cap)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { 0 };

	if (syscall(SYS_capget, &h, d))
		return -errno;
	d[cap / 32].effective &= ~(1u << (cap % 32));
	return syscall(SYS_capset, &h, d) ? -errno : 0;
}

int rk_drop_sys_nice(void)
{
	return rk_drop_capability(CAP_SYS_NICE);
}

int64_t rk_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

void rk_sleep_ms(unsigned int ms)
{
	poll(NULL, 0, ms);
}

bool rk_listed(int argc, char **argv, const struct rk_named *cases, size_t n)
{
	if (argc != 2 || strcmp(argv[1], "-l"))
		return false;
	for (size_t i = 0; i < n; i++)
		printf("%s: %s\n", cases[i].name, cases[i].shows);
	return true;
}

/* ---- buffers ---- */

int rk_bo_init(struct rk_bo *bo, int fd, uint32_t size)
{
	struct drm_rocket_create_bo c = { .size = size };
	int ret = rk_ioctl(fd, DRM_IOCTL_ROCKET_CREATE_BO, &c);
	void *p;

	memset(bo, 0, sizeof(*bo));
	if (ret)
		return ret;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, c.offset);
	if (p == MAP_FAILED) {
		ret = -errno;
		rk_gem_close(fd, c.handle);
		return ret;
	}
	*bo = (struct rk_bo) {
		.fd = fd, .handle = c.handle, .size = size,
		.iova = c.dma_address, .offset = c.offset, .map = p,
	};
	return 0;
}

void rk_bo_fini(struct rk_bo *bo)
{
	if (bo->map)
		munmap(bo->map, bo->size);
	if (bo->handle)
		rk_gem_close(bo->fd, bo->handle);
	memset(bo, 0, sizeof(*bo));
}

int rk_gem_close(int fd, uint32_t handle)
{
	return drmCloseBufferHandle(fd, handle) ? -errno : 0;
}

int rk_export(int fd, uint32_t handle)
{
	int buf;

	return drmPrimeHandleToFD(fd, handle, DRM_CLOEXEC | DRM_RDWR, &buf) ? -errno : buf;
}

int rk_prep_until(int fd, uint32_t handle, int64_t deadline)
{
	struct drm_rocket_prep_bo p = { .handle = handle, .timeout_ns = deadline };

	return rk_ioctl(fd, DRM_IOCTL_ROCKET_PREP_BO, &p);
}

int rk_prep(const struct rk_bo *bo, int64_t timeout_ms)
{
	int ret = rk_prep_until(bo->fd, bo->handle, rk_now() + timeout_ms * rk_slow() * RK_MS);

	if (ret)
		tell_hangs();
	return ret;
}

int rk_fini(const struct rk_bo *bo)
{
	struct drm_rocket_fini_bo f = { .handle = bo->handle };

	return rk_ioctl(bo->fd, DRM_IOCTL_ROCKET_FINI_BO, &f);
}

int rk_bo_fill(struct rk_bo *bo, int value, size_t n)
{
	memset(bo->map, value, n);
	return rk_fini(bo);
}

long rk_bo_differs(struct rk_bo *bo, int value, size_t n)
{
	long wrong = 0;
	int ret = rk_prep(bo, 10000);

	if (ret)
		return ret;
	for (size_t i = 0; i < n; i++)
		wrong += bo->map[i] != (uint8_t)value;
	return wrong;
}

/* ---- jobs ---- */

#define OP_SIZE		(64u << 10)
#define OP_BIAS		RK_PAGE
#define OP_PROG		(2 * RK_PAGE)
#define OP_CHANNELS	32u

int rk_op_init(struct rk_op *op, int fd, uint32_t m, int gain, int bias)
{
	int8_t w[OP_CHANNELS][OP_CHANNELS] = { 0 };
	int32_t *b;
	int ret;

	ret = rk_bo_init(&op->bo, fd, OP_SIZE);
	if (ret)
		return ret;
	b = (int32_t *)(op->bo.map + OP_BIAS);
	for (unsigned int i = 0; i < OP_CHANNELS; i++) {
		w[i][i] = gain;
		b[i] = bias;
	}
	npu_pack_weights(op->bo.map, w, OP_CHANNELS, 0, 1, 1, OP_CHANNELS, 1, OP_CHANNELS,
			 OP_CHANNELS, OP_CHANNELS, 0);
	op->m = m;
	op->bias = bias;
	op->used = OP_PROG;
	return rk_fini(&op->bo);
}

static int op_program(struct rk_op *op, struct npu_prog *p, uint64_t in, uint64_t out)
{
	struct npu_conv_task t;

	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT8, op->m, OP_CHANNELS, OP_CHANNELS);
	t.in_iova = in;
	t.out_iova = out;
	t.weight_iova = op->bo.iova;
	t.has_bias = true;
	t.bias_iova = op->bo.iova + OP_BIAS;
	t.rq = (struct npu_requant) { .scale = 1 };
	return npu_prog_conv(p, &t);
}

int rk_op_task(struct rk_op *op, uint64_t in, uint64_t out, struct drm_rocket_task *task)
{
	struct npu_prog *p = npu_prog_new();
	size_t bytes;
	int ret;

	if (!p)
		return -ENOMEM;
	ret = op_program(op, p, in, out);
	bytes = npu_prog_count(p) * sizeof(uint64_t);
	if (!ret && op->used + bytes > OP_SIZE)
		ret = -ENOSPC;
	if (!ret) {
		memcpy(op->bo.map + op->used, npu_prog_entries(p), bytes);
		task->regcmd = op->bo.iova + op->used;
		task->regcmd_count = npu_prog_count(p);
		op->used += (bytes + 63) & ~(size_t)63;
		ret = rk_fini(&op->bo);
	}
	npu_prog_free(p);
	return ret;
}

void rk_op_fini(struct rk_op *op)
{
	rk_bo_fini(&op->bo);
}

void rk_job(struct drm_rocket_job *job, const struct drm_rocket_task *tasks, uint32_t ntasks,
	    const uint32_t *in, uint32_t nin, const uint32_t *out, uint32_t nout)
{
	*job = (struct drm_rocket_job) {
		.tasks = (uintptr_t)tasks, .task_count = ntasks,
		.task_struct_size = sizeof(*tasks),
		.in_bo_handles = (uintptr_t)in, .in_bo_handle_count = nin,
		.out_bo_handles = (uintptr_t)out, .out_bo_handle_count = nout,
	};
}

int rk_submit(int fd, const struct drm_rocket_job *jobs, uint32_t njobs)
{
	struct drm_rocket_submit s = {
		.jobs = (uintptr_t)jobs, .job_count = njobs, .job_struct_size = sizeof(*jobs),
	};

	return rk_ioctl(fd, DRM_IOCTL_ROCKET_SUBMIT, &s);
}

int rk_submit_task(int fd, const struct drm_rocket_task *task,
		   const struct rk_bo *in, const struct rk_bo *out)
{
	struct drm_rocket_job job;

	rk_job(&job, task, 1, &in->handle, 1, &out->handle, 1);
	return rk_submit(fd, &job, 1);
}

int rk_submit_op(struct rk_op *op, const struct rk_bo *in, const struct rk_bo *out)
{
	struct drm_rocket_task task;
	int ret = rk_op_task(op, in->iova, out->iova, &task);

	return ret ? ret : rk_submit_task(op->bo.fd, &task, in, out);
}

/* The registers that a program's last commands set for the next one. */
#define PC_BASE_ADDRESS		0x10
#define PC_REGISTER_AMOUNTS	0x14
#define PC_COMMAND(reg, value)	(0x0101ull << 48 | (uint64_t)(value) << 16 | (reg))

void rk_chain(struct rk_op *op, const struct drm_rocket_task *t, const struct drm_rocket_task *next)
{
	uint64_t *tail = (uint64_t *)(op->bo.map + (t->regcmd - op->bo.iova)) + t->regcmd_count - 4;

	tail[0] = PC_COMMAND(PC_BASE_ADDRESS, next->regcmd);
	tail[1] = PC_COMMAND(PC_REGISTER_AMOUNTS, (next->regcmd_count + 1) / 2 - 1);
}

void rk_job_ext(struct drm_rocket_job_ext *job, const struct drm_rocket_task *tasks,
		uint32_t ntasks, const struct rk_bo *in, const struct rk_bo *out)
{
	*job = (struct drm_rocket_job_ext) {
		.tasks = (uintptr_t)tasks, .task_count = ntasks,
		.task_struct_size = sizeof(*tasks),
		.sync_struct_size = sizeof(struct drm_rocket_sync),
	};
	if (in) {
		job->in_bo_handles = (uintptr_t)&in->handle;
		job->in_bo_handle_count = 1;
	}
	if (out) {
		job->out_bo_handles = (uintptr_t)&out->handle;
		job->out_bo_handle_count = 1;
	}
}

int rk_submit_ext(int fd, const struct drm_rocket_job_ext *jobs, uint32_t njobs, uint64_t *first)
{
	struct drm_rocket_submit_ext s = {
		.jobs = (uintptr_t)jobs, .job_count = njobs, .job_struct_size = sizeof(*jobs),
	};
	int ret = rk_ioctl(fd, DRM_IOCTL_ROCKET_SUBMIT_EXT, &s);

	if (!ret && first)
		*first = s.first_job;
	return ret;
}

int rk_wait_job(int fd, uint64_t job, int64_t deadline, struct drm_rocket_wait_job *w)
{
	*w = (struct drm_rocket_wait_job) { .job = job, .timeout_ns = deadline };
	return rk_ioctl(fd, DRM_IOCTL_ROCKET_WAIT_JOB, w);
}

static bool knows_job(int fd, uint64_t job)
{
	struct drm_rocket_wait_job w = { .job = job };

	return rk_ioctl(fd, DRM_IOCTL_ROCKET_WAIT_JOB, &w) != -ENOENT;
}

uint64_t rk_last_job(int fd)
{
	uint64_t count = rk_param(fd, DRM_ROCKET_PARAM_RESULT_COUNT);
	uint64_t known = 1, unknown;

	if (!count)
		return 0;
	while (!knows_job(fd, known) && known < 1000 * count)
		known += count;
	if (!knows_job(fd, known))
		return 0;
	for (unknown = known + count; unknown - known > 1;) {
		uint64_t middle = known + (unknown - known) / 2;

		if (knows_job(fd, middle))
			known = middle;
		else
			unknown = middle;
	}
	return known;
}

int rk_get_param(int fd, uint32_t which, uint32_t index, uint64_t *value)
{
	struct drm_rocket_get_param p = { .param = which, .index = index };
	int ret = rk_ioctl(fd, DRM_IOCTL_ROCKET_GET_PARAM, &p);

	*value = p.value;
	return ret;
}

uint64_t rk_param(int fd, uint32_t which)
{
	uint64_t value;

	return rk_get_param(fd, which, 0, &value) ? 0 : value;
}

/* ---- clients ---- */

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
	c->inc.used = OP_PROG;
	if (!ret)
		ret = rk_submit_op(&c->inc, &c->in, &c->out);
	if (ret)
		return ret;
	wrong = rk_bo_differs(&c->out, value + 1, RK_BYTES);
	return wrong > 0 ? -EILSEQ : wrong;
}

/* One job per core, all submitted before the first can be over. */
static int run_round(struct rk_client *c, unsigned int seed)
{
	int ret = 0;

	for (unsigned int i = 0; i < RK_CORES; i++) {
		rk_bo_fill(&c[i].out, 0, RK_BYTES);
		rk_bo_fill(&c[i].in, seed + i, RK_BYTES);
		c[i].inc.used = OP_PROG;
	}
	for (unsigned int i = 0; i < RK_CORES && !ret; i++)
		ret = rk_submit_op(&c[i].inc, &c[i].in, &c[i].out);
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
 * Jobs must last until all have been submitted, or one core takes several. How
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
	for (unsigned int us = 5000; us < 400000 && !ret; us *= 4) {
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

/* ---- the model ---- */

static volatile uint32_t *ctl;

static bool node_is_model(const char *path)
{
	char name[600], buf[64] = "";
	int fd;
	ssize_t n;

	snprintf(name, sizeof(name), "%s/compatible", path);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	return n > 0 && !strcmp(buf, "rknpu-accel,model-control");
}

/*
 * The window must never be touched on silicon, where it may hang the bus, so
 * the device tree has to name it first.
 */
static bool in_device_tree(void)
{
	glob_t g = { 0 };
	bool found = false;

	glob("/proc/device-tree/*", GLOB_ONLYDIR, NULL, &g);
	glob("/proc/device-tree/*/*", GLOB_ONLYDIR | GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc && !found; i++)
		found = node_is_model(g.gl_pathv[i]);
	globfree(&g);
	return found;
}

static void map_ctl(void)
{
	int fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	void *p;

	if (fd < 0)
		return;
	p = mmap(NULL, NPU_CTL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, NPU_CTL_BASE);
	close(fd);
	if (p == MAP_FAILED)
		return;
	ctl = p;
	if (ctl[NPU_CTL_MAGIC / 4] != NPU_CTL_MAGIC_VALUE)
		ctl = NULL;
}

bool rk_model(void)
{
	static bool looked;

	/* RKNPU_NO_MODEL: behave as on a board. */
	if (!looked && !getenv("RKNPU_NO_MODEL") && in_device_tree())
		map_ctl();
	looked = true;
	return ctl;
}

uint32_t rk_ctl_read(uint32_t off)
{
	return rk_model() ? ctl[off / 4] : 0;
}

void rk_ctl_write(uint32_t off, uint32_t value)
{
	if (rk_model())
		ctl[off / 4] = value;
}

uint64_t rk_ctl_read64(uint32_t off)
{
	uint64_t lo = rk_ctl_read(off);

	return lo | (uint64_t)rk_ctl_read(off + 4) << 32;
}

uint64_t rk_count(unsigned int core, enum npu_ctl_counter c)
{
	return rk_ctl_read64(NPU_CTL_CORE(core) + 8 * c);
}

uint64_t rk_count_all(enum npu_ctl_counter c)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < RK_CORES; i++)
		sum += rk_count(i, c);
	return sum;
}

static uint64_t scrubs(unsigned int core)
{
	long long n = rk_core_stat(core, "scrubs");

	return n < 0 ? 0 : n;
}

uint64_t rk_count_jobs(unsigned int core, enum npu_ctl_counter c)
{
	return rk_count(core, c) - scrubs(core);
}

uint64_t rk_count_all_jobs(enum npu_ctl_counter c)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < RK_CORES; i++)
		sum += rk_count_jobs(i, c);
	return sum;
}

void rk_latency_us(uint32_t us)
{
	uint64_t ns = us * 1000ull;

	/* It would take as long as the task that is meant. */
	if (us)
		rk_scrub(false);
	rk_ctl_write(NPU_CTL_LATENCY_NS, ns < UINT32_MAX ? ns : UINT32_MAX);
}

void rk_fault_arm_param(uint32_t core, uint32_t kind, uint32_t skip, uint32_t count,
			uint32_t param)
{
	/* It would have the fault in place of the task that is meant. */
	rk_scrub(false);
	rk_ctl_write(NPU_CTL_FAULT_CORE, core);
	rk_ctl_write(NPU_CTL_FAULT_SKIP, skip);
	rk_ctl_write(NPU_CTL_FAULT_COUNT, count);
	rk_ctl_write(NPU_CTL_FAULT_PARAM, param);
	rk_ctl_write(NPU_CTL_FAULT_ARM, kind);
}

void rk_fault_arm(uint32_t core, uint32_t kind, uint32_t skip, uint32_t count)
{
	rk_fault_arm_param(core, kind, skip, count, 0);
}

uint32_t rk_fault_fired(void)
{
	return rk_ctl_read(NPU_CTL_FAULT_FIRED);
}

void rk_trace_start(void)
{
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_TRACE_START);
}

/* Of entry @i; false if it is none. The driver also writes a 1 there before each program. */
static bool is_start(uint32_t i, struct rk_start *s)
{
	uint32_t info;

	rk_ctl_write(NPU_CTL_TRACE_INDEX, i);
	info = rk_ctl_read(NPU_CTL_TRACE_INFO);
	s->core = NPU_CTL_TRACE_CORE(info);
	s->regcmd = rk_ctl_read(NPU_CTL_TRACE_VALUE);
	return NPU_CTL_TRACE_UNIT(info) == NPU_CTL_UNIT_CORE && info & NPU_CTL_TRACE_WRITE &&
	       (rk_ctl_read(NPU_CTL_TRACE_ADDR) & 0xffff) == PC_BASE_ADDRESS && s->regcmd != 1;
}

int rk_trace_starts(struct rk_start *s, unsigned int max)
{
	unsigned int n = 0;
	uint32_t entries;

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_TRACE_STOP);
	entries = rk_ctl_read(NPU_CTL_TRACE_COUNT);
	for (uint32_t i = 0; i < entries && n < max; i++)
		n += is_start(i, &s[n]);
	return rk_ctl_read(NPU_CTL_TRACE_DROPPED) ? -1 : n;
}

bool rk_trace_last(uint32_t offset, uint32_t *value)
{
	uint32_t entries;
	bool found = false;

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_TRACE_STOP);
	entries = rk_ctl_read(NPU_CTL_TRACE_COUNT);
	for (uint32_t i = 0; i < entries; i++) {
		uint32_t info;

		rk_ctl_write(NPU_CTL_TRACE_INDEX, i);
		info = rk_ctl_read(NPU_CTL_TRACE_INFO);
		if (NPU_CTL_TRACE_UNIT(info) != NPU_CTL_UNIT_CORE ||
		    !(info & NPU_CTL_TRACE_WRITE) ||
		    (rk_ctl_read(NPU_CTL_TRACE_ADDR) & 0xffff) != offset)
			continue;
		*value = rk_ctl_read(NPU_CTL_TRACE_VALUE);
		found = true;
	}
	return found;
}

void rk_model_calm(void)
{
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
	rk_latency_us(0);
	rk_task_timeout_ms(RK_TASK_TIMEOUT_MS);
	rk_scrub(true);
	/* Tests are one user, and many are about failures, or keep a core busy by a task. */
	rk_module_param("max_hangs", 0);
	rk_module_param("max_timeout_ms", 10000);
}

bool rk_wait_count(unsigned int core, enum npu_ctl_counter c, uint64_t value, unsigned int ms)
{
	int64_t end = rk_now() + (int64_t)ms * rk_slow() * RK_MS;

	while (rk_count(core, c) != value) {
		if (rk_now() > end)
			return false;
		rk_sleep_ms(1);
	}
	return true;
}

/* Of NPU and IOMMU, which goes last; without power domains nothing else tells. */
static bool all_suspended(void)
{
	glob_t g = { 0 };
	bool all = true;

	glob("/sys/bus/platform/devices/*.npu/power/runtime_status", 0, NULL, &g);
	glob("/sys/bus/platform/drivers/rk_iommu/*.iommu/power/runtime_status", GLOB_APPEND, NULL,
	     &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		FILE *f = fopen(g.gl_pathv[i], "re");
		char status[16] = "";

		all = all && f && fgets(status, sizeof(status), f) && !strcmp(status, "suspended\n");
		if (f)
			fclose(f);
	}
	all = all && g.gl_pathc;
	globfree(&g);
	return all;
}

static bool all_off(void)
{
	unsigned int on = 0;

	for (unsigned int i = 0; i < RK_CORES; i++)
		on += rk_count(i, NPU_CNT_POWERED);
	return !on;
}

bool rk_wait_asleep(unsigned int ms)
{
	int64_t end = rk_now() + (int64_t)ms * rk_slow() * RK_MS;

	while (!(rk_power_domains() ? all_off() : all_suspended())) {
		if (rk_now() > end)
			return false;
		rk_sleep_ms(5);
	}
	return true;
}

int rk_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int ret;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	ret = n < 0 ? -errno : 0;
	close(fd);
	return ret;
}

int rk_log_open(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (log >= 0)
		lseek(log, 0, SEEK_END);
	return log;
}

bool rk_log_says(int log, const char *what)
{
	char record[1024];
	ssize_t n;

	/* -EPIPE: some were overwritten. */
	while ((n = read(log, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		record[n < 0 ? 0 : n] = 0;
		if (strstr(record, what))
			return true;
	}
	return false;
}

#define DRM_DEBUG	"/sys/module/drm/parameters/debug"

int rk_refusal_told(int (*refused)(void *arg), void *arg, int err, const char *why)
{
	int log = rk_log_open();
	int ret = log < 0 ? log : rk_write_file(DRM_DEBUG, "2");
	bool told = false;

	for (int i = 0; i < 200 && !ret && !told; i++) {
		int got = refused(arg);

		if (got != err)
			ret = got ? got : -EILSEQ;
		told = rk_log_says(log, why);
		if (!told)
			rk_sleep_ms(100);
	}
	rk_write_file(DRM_DEBUG, "0");
	if (log >= 0)
		close(log);
	return ret ? ret : told ? 0 : -ENOMSG;
}

void rk_stay_awake(bool on)
{
	glob_t g = { 0 };

	glob("/sys/bus/platform/drivers/rknpu*/*.npu/power/control", 0, NULL, &g);
	for (size_t n = 0; n < g.gl_pathc; n++)
		rk_write_file(g.gl_pathv[n], on ? "on" : "auto");
	globfree(&g);
}

/* ---- the driver's own counters ---- */

long long rk_stat(const char *name)
{
	FILE *f = fopen("/sys/kernel/debug/rknpu/stats", "re");
	char key[64];
	long long v, found = -1;

	if (!f)
		return -1;
	while (fscanf(f, "%63s %lld", key, &v) == 2)
		if (!strcmp(key, name))
			found = v;
	fclose(f);
	return found;
}

long long rk_core_stat(unsigned int core, const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "core%u.%s", core, name);
	return rk_stat(key);
}

long long rk_cores_stat(const char *name)
{
	long long sum = 0;

	for (int i = 0; i < RK_CORES; i++)
		sum += rk_core_stat(i, name);
	return sum;
}

bool rk_stat_settles(const char *name, long long value)
{
	for (int i = 0; i < 600 && rk_stat(name) != value; i++)
		rk_sleep_ms(50);
	if (rk_stat(name) == value)
		return true;
	printf("# %s: %lld before, %lld now\n", name, value, rk_stat(name));
	return false;
}

/* ---- vgem ---- */

struct vgem_attach {
	uint32_t handle, flags, fence, pad;
};

struct vgem_signal {
	uint32_t fence, flags;
};

#define VGEM_ATTACH	DRM_IOWR(DRM_COMMAND_BASE + 1, struct vgem_attach)
#define VGEM_SIGNAL	DRM_IOW(DRM_COMMAND_BASE + 2, struct vgem_signal)

int rk_vgem_open(void)
{
	glob_t g = { 0 };
	int fd = -1;

	glob("/dev/dri/card*", 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc && fd < 0; i++) {
		fd = open(g.gl_pathv[i], O_RDWR | O_CLOEXEC);
		if (fd >= 0 && !rk_is_driver(fd, "vgem")) {
			close(fd);
			fd = -1;
		}
	}
	globfree(&g);
	return fd;
}

int rk_vgem_create(int vgem, uint32_t *handle)
{
	uint32_t pitch;
	uint64_t size;

	return drmModeCreateDumbBuffer(vgem, 1024, 1, 32, 0, handle, &pitch, &size);
}

uint32_t rk_vgem_begin(int vgem, uint32_t handle, uint32_t flags)
{
	struct vgem_attach a = { .handle = handle, .flags = flags };

	return rk_ioctl(vgem, VGEM_ATTACH, &a) ? 0 : a.fence;
}

int rk_vgem_end(int vgem, uint32_t fence)
{
	struct vgem_signal s = { .fence = fence };

	return rk_ioctl(vgem, VGEM_SIGNAL, &s);
}

/* ---- binding ---- */

long long rk_fdinfo(int fd, const char *key)
{
	char path[64], line[256];
	long long v = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (v < 0 && fgets(line, sizeof(line), f)) {
		size_t n = strlen(key);

		if (!strncmp(line, key, n) && line[n] == ':')
			v = atoll(line + n + 1);
	}
	fclose(f);
	return v;
}

/* Cores are in the order of their addresses. */
int rk_unbind(unsigned int core, struct rk_unbound *u)
{
	glob_t g = { 0 };
	int ret = -ENODEV;
	char *name;

	glob("/sys/bus/platform/drivers/rknpu*/*.npu", 0, NULL, &g);
	/* With the vendor's device tree all cores are one device. */
	if (g.gl_pathc) {
		snprintf(u->path, sizeof(u->path), "%s", g.gl_pathv[core < g.gl_pathc ? core : 0]);
		name = strrchr(u->path, '/') + 1;
		snprintf(u->name, sizeof(u->name), "%s", name);
		strcpy(name, "unbind");
		ret = rk_write_file(u->path, u->name);
		strcpy(name, "bind");
	}
	globfree(&g);
	return ret;
}

int rk_bind(const struct rk_unbound *u)
{
	int ret = rk_write_file(u->path, u->name), fd = -ENODEV;

	for (int i = 0; i < 100 && !ret && fd < 0; i++) {
		rk_sleep_ms(20);
		fd = rk_open();
	}
	if (fd < 0)
		return ret ? ret : fd;
	close(fd);
	return ret;
}

int rk_rebind(unsigned int core)
{
	struct rk_unbound u;
	int ret = rk_unbind(core, &u);

	return ret ? ret : rk_bind(&u);
}

/* In the driver: if that many never come from the first one on, the core is polled. */
#define LOST_IRQS	3

int rk_poll_core(unsigned int core)
{
	struct rk_trial t;
	int ret;

	if (rk_polled())
		return 0;
	ret = rk_rebind(core);
	if (ret)
		return ret;
	ret = rk_trial_init(&t, core, 100 * rk_slow());
	t.job.task_count = 1;
	rk_fault_arm(core, NPU_FAULT_IRQ_LOST, 0, 0);
	for (int i = 0; i < LOST_IRQS && !ret; i++)
		ret = rk_trial_run(&t);
	rk_model_calm();
	rk_trial_fini(&t);
	return ret;
}
