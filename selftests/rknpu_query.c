// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls beyond mainline's that do not run jobs: what there is, where BOs are, and their caches.
 *
 * boot: memory
 * boot: coherent
 * boot: evict
 * boot: armhf
 * boot: noiommujob
 * boot: debug-ext
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>
#include <linux/dma-buf.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define KERNEL_ADDR	0xffff800010000000ull

/* ---- GET_PARAM ---- */

FIXTURE(param) {
	int fd;
};

FIXTURE_SETUP(param)
{
	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	self->fd = rk_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(param)
{
	close(self->fd);
}

RK_TEST_F(param, limits_are_told, "GET_PARAM tells this release's limits")
{
	EXPECT_EQ(1024, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_JOBS));
	EXPECT_EQ(65536, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_TASKS));
	EXPECT_EQ(131072, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_REGCMDS));
	EXPECT_EQ(4096, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_JOB_HANDLES));
	EXPECT_EQ(65536, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_SUBMIT_HANDLES));
	EXPECT_EQ(64, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_JOB_SYNCS));
	EXPECT_EQ(8192, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_FILE_JOBS));
	EXPECT_EQ(65536, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_USER_JOBS));
	EXPECT_EQ(1048576, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_FILE_TASKS));
	EXPECT_EQ(1024, rk_param(self->fd, DRM_ROCKET_PARAM_RESULT_COUNT));
	EXPECT_EQ(0x7ffff000, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_BO_SIZE));
	EXPECT_EQ(RK_MS, rk_param(self->fd, DRM_ROCKET_PARAM_MIN_TIMEOUT_NS));
	EXPECT_LE(RK_MS, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_TIMEOUT_NS));
	EXPECT_GE(60000 * RK_MS, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_TIMEOUT_NS));
}

RK_TEST_F(param, default_timeout_follows_the_module,
	  "GET_PARAM tells the deadline that the module parameter sets")
{
	rk_task_timeout_ms(1234);
	EXPECT_EQ(1234 * RK_MS, rk_param(self->fd, DRM_ROCKET_PARAM_DEFAULT_TIMEOUT_NS));
	rk_task_timeout_ms(RK_TASK_TIMEOUT_MS);
	EXPECT_EQ(RK_TASK_TIMEOUT_MS * RK_MS,
		  rk_param(self->fd, DRM_ROCKET_PARAM_DEFAULT_TIMEOUT_NS));
}

RK_TEST_F(param, hardware, "GET_PARAM tells SoC, cores and the hardware version of each core")
{
	uint64_t cores = rk_param(self->fd, DRM_ROCKET_PARAM_CORE_COUNT);
	uint64_t mask = rk_param(self->fd, DRM_ROCKET_PARAM_CORE_MASK), first, v;

	EXPECT_EQ(3588, rk_param(self->fd, DRM_ROCKET_PARAM_SOC));
	EXPECT_EQ(RK_CORES, cores);
	EXPECT_NE(0, mask);
	EXPECT_EQ(0, mask >> cores);
	ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_HW_VERSION, __builtin_ctzll(mask), &first));
	EXPECT_NE(0, first);
	for (uint32_t i = 0; i < cores; i++) {
		if (!(mask & 1u << i))
			continue;
		ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_HW_VERSION, i, &v));
		EXPECT_EQ(first, v);
	}
}

RK_TEST_F(param, refused, "GET_PARAM refuses unknown parameters, indices and bad pointers")
{
	uint64_t v;

	EXPECT_EQ(-EINVAL, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_FILE_TASKS + 1, 0, &v));
	/* It was the newest job. */
	EXPECT_EQ(-EINVAL, rk_get_param(self->fd, 18, 0, &v));
	EXPECT_EQ(-EINVAL, rk_get_param(self->fd, 0x7fffffff, 0, &v));
	EXPECT_EQ(-EINVAL, rk_get_param(self->fd, UINT32_MAX, 0, &v));
	EXPECT_EQ(-EINVAL, rk_get_param(self->fd, DRM_ROCKET_PARAM_SOC, 1, &v));
	EXPECT_EQ(-EINVAL, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_JOBS, UINT32_MAX, &v));
	EXPECT_EQ(-EINVAL, rk_get_param(self->fd, DRM_ROCKET_PARAM_HW_VERSION, RK_CORES, &v));
	EXPECT_EQ(-EINVAL, rk_get_param(self->fd, DRM_ROCKET_PARAM_HW_VERSION, UINT32_MAX, &v));
	EXPECT_EQ(-EFAULT, rk_ioctl(self->fd, DRM_IOCTL_ROCKET_GET_PARAM, NULL));
	EXPECT_EQ(-EFAULT, rk_ioctl(self->fd, DRM_IOCTL_ROCKET_GET_PARAM, (void *)KERNEL_ADDR));
}

RK_TEST_F(param, other_numbers_are_no_ioctls, "the holes in the table of ioctls are no ioctls")
{
	uint8_t arg[256] = { 0 };

	for (unsigned int nr = 0x06; nr < 0x20; nr++) {
		EXPECT_EQ(-EINVAL, rk_ioctl(self->fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', 0x40 + nr, 16),
					    arg)) TH_LOG("number %#x", nr);
	}
	for (unsigned int nr = 0x24; nr < 0x60; nr++) {
		EXPECT_EQ(-EINVAL, rk_ioctl(self->fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', 0x40 + nr, 16),
					    arg)) TH_LOG("number %#x", nr);
	}
}

static unsigned long resized(unsigned long cmd, unsigned int size)
{
	return _IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), size);
}

/* A bit in the direction, or in mainline's numbers a few bytes: another call that has the same number. */
static long differs_as(unsigned long cmd, unsigned int way)
{
	unsigned int dir = _IOC_DIR(cmd), size = _IOC_SIZE(cmd);

	switch (way) {
	case 0:
		dir ^= _IOC_READ;
		break;
	case 1:
		dir ^= _IOC_WRITE;
		break;
	case 2:
		dir = _IOC_NONE;
		break;
	case 3:
		size -= 8;
		break;
	case 4:
		size += 8;
		break;
	case 5:
		size = 0;
		break;
	default:
		return 0;
	}
	if (way > 2 && _IOC_NR(cmd) >= DRM_COMMAND_BASE + DRM_ROCKET_GET_PARAM)
		return 0;
	return _IOC(dir, _IOC_TYPE(cmd), _IOC_NR(cmd), size);
}

RK_TEST_F(param, another_call_of_the_same_number_is_none,
	  "a call with one of the numbers and another direction, or of mainline's with another size, is no ioctl, and does nothing")
{
	static const unsigned long cmds[] = {
		DRM_IOCTL_ROCKET_CREATE_BO, DRM_IOCTL_ROCKET_SUBMIT, DRM_IOCTL_ROCKET_PREP_BO,
		DRM_IOCTL_ROCKET_FINI_BO, DRM_IOCTL_ROCKET_PREP_BO_RANGES,
		DRM_IOCTL_ROCKET_FINI_BO_RANGES, DRM_IOCTL_ROCKET_GET_PARAM,
		DRM_IOCTL_ROCKET_SUBMIT_EXT, DRM_IOCTL_ROCKET_WAIT_JOB,
		DRM_IOCTL_ROCKET_GET_BO_INFO,
	};
	struct drm_rocket_create_bo c = { .size = RK_PAGE };
	uint8_t arg[256], before[256];

	if (!rk_ours())
		SKIP(return, "mainline's driver goes by the number");
	/* The first handle: there is a BO that these could be about. */
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_ROCKET_CREATE_BO, &c));
	memset(before, 0, sizeof(before));
	before[0] = c.handle;
	for (size_t i = 0; i < ARRAY_SIZE(cmds); i++) {
		unsigned long cmd;

		for (unsigned int way = 0; (cmd = differs_as(cmds[i], way)); way++) {
			memcpy(arg, before, sizeof(arg));
			EXPECT_EQ(-ENOTTY, rk_ioctl(self->fd, cmd, arg)) TH_LOG("%#lx", cmd);
			EXPECT_EQ(0, memcmp(before, arg, sizeof(arg))) TH_LOG("%#lx", cmd);
		}
	}
	/* No BO was made of it, and the one that there is was not touched. */
	EXPECT_EQ(0, rk_gem_close(self->fd, c.handle));
	EXPECT_EQ(-EINVAL, rk_gem_close(self->fd, c.handle + 1));
}

RK_TEST_F(param, structs_of_newer_programs,
	  "this driver's own ioctls take longer structs whose rest is 0, and refuse others")
{
	static const uint32_t sizes[] = { 24, 32, 4096, (1 << _IOC_SIZEBITS) - 8 };
	uint8_t *mem = calloc(1, 1 << _IOC_SIZEBITS);
	struct drm_rocket_get_param *p = (void *)mem;

	if (!rk_ours())
		SKIP(return, "mainline's driver has no ioctls of its own");
	ASSERT_NE(NULL, mem);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		unsigned long cmd = resized(DRM_IOCTL_ROCKET_GET_PARAM, sizes[i]);

		memset(mem, 0, 1 << _IOC_SIZEBITS);
		p->param = DRM_ROCKET_PARAM_SOC;
		EXPECT_EQ(0, rk_ioctl(self->fd, cmd, mem)) TH_LOG("%u", sizes[i]);
		EXPECT_EQ(3588, p->value);
		p->value = 7;
		mem[sizes[i] - 1] = 1;
		EXPECT_EQ(-E2BIG, rk_ioctl(self->fd, cmd, mem)) TH_LOG("%u", sizes[i]);
		mem[sizes[i] - 1] = 0;
		mem[sizeof(*p)] = 1;
		EXPECT_EQ(-E2BIG, rk_ioctl(self->fd, cmd, mem)) TH_LOG("%u", sizes[i]);
		EXPECT_EQ(7, p->value);
		EXPECT_EQ(-EFAULT, rk_ioctl(self->fd, cmd, NULL));
	}
	/* The others, with a rest that is not 0. */
	memset(mem, 0, 256);
	memset(mem + 128, 1, 8);
	EXPECT_EQ(-E2BIG, rk_ioctl(self->fd, resized(DRM_IOCTL_ROCKET_SUBMIT_EXT, 136), mem));
	EXPECT_EQ(-E2BIG, rk_ioctl(self->fd, resized(DRM_IOCTL_ROCKET_WAIT_JOB, 136), mem));
	EXPECT_EQ(-E2BIG, rk_ioctl(self->fd, resized(DRM_IOCTL_ROCKET_GET_BO_INFO, 136), mem));
	free(mem);
}

RK_TEST_F(param, structs_of_older_programs,
	  "what a shorter struct lacks counts as 0, and is not written")
{
	uint8_t arg[64];
	struct drm_rocket_get_param *p = (void *)arg;
	struct drm_rocket_create_bo c = { .size = RK_PAGE };
	struct drm_rocket_bo_info *info = (void *)arg;

	if (!rk_ours())
		SKIP(return, "mainline's driver has no ioctls of its own");
	memset(arg, 0xff, sizeof(arg));
	p->param = DRM_ROCKET_PARAM_SOC;
	/* Without an index, and without room for the answer. */
	EXPECT_EQ(0, rk_ioctl(self->fd, resized(DRM_IOCTL_ROCKET_GET_PARAM, 4), arg));
	EXPECT_EQ(UINT32_MAX, p->index);
	EXPECT_EQ(UINT64_MAX, p->value);
	p->index = 0;
	EXPECT_EQ(0, rk_ioctl(self->fd, resized(DRM_IOCTL_ROCKET_GET_PARAM, 12), arg));
	EXPECT_EQ(UINT64_MAX << 32 | 3588, p->value);

	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_ROCKET_CREATE_BO, &c));
	memset(arg, 0xff, sizeof(arg));
	info->handle = c.handle;
	EXPECT_EQ(0, rk_ioctl(self->fd, resized(DRM_IOCTL_ROCKET_GET_BO_INFO, 24), arg));
	EXPECT_EQ(RK_PAGE, info->size);
	EXPECT_EQ(c.dma_address, info->dma_address);
	EXPECT_EQ(UINT64_MAX, info->offset);
	EXPECT_EQ(0, rk_gem_close(self->fd, c.handle));
}

RK_TEST_F(param, priority_follows_capabilities,
	  "the highest priority is offered to who has CAP_SYS_NICE only")
{
	pid_t pid;
	int status;

	EXPECT_EQ(DRM_ROCKET_PRIORITY_HIGH, rk_param(self->fd, DRM_ROCKET_PARAM_MAX_PRIORITY));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (rk_drop_sys_nice())
			_exit(99);
		_exit(rk_param(self->fd, DRM_ROCKET_PARAM_MAX_PRIORITY));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(DRM_ROCKET_PRIORITY_NORMAL, WEXITSTATUS(status));
}

#define TRACING		"/sys/kernel/tracing/"
#define PROBE		TRACING "events/rknpu_query/asked/"

/* How often this process asked for CAP_SYS_NICE, of which a refusal would be audited. */
static int audited(void)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[256];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, " asked: ");
	if (f)
		fclose(f);
	return n;
}

static int watch_capabilities(void)
{
	char filter[64];
	int ret = rk_write_file(TRACING "kprobe_events",
				"p:rknpu_query/asked security_capable cap=%x2:u32 opts=%x3:u32\n");

	/* 23 is CAP_SYS_NICE; CAP_OPT_NOAUDIT is one of the options. */
	snprintf(filter, sizeof(filter), "common_pid == %d && cap == 23 && opts == 0", getpid());
	if (!ret)
		ret = rk_write_file(PROBE "filter", filter);
	return ret ? ret : rk_write_file(PROBE "enable", "1");
}

static void watch_nothing(void)
{
	rk_write_file(PROBE "enable", "0");
	rk_write_file(TRACING "kprobe_events", "-:rknpu_query/asked\n");
}

RK_TEST_F(param, questions_are_not_audited,
	  "who asks GET_PARAM what it may do leaves no audit record of a capability that it lacks")
{
	struct drm_rocket_task none = { 0 };
	struct drm_rocket_job_ext job;
	int before;

	if (!rk_ours())
		SKIP(return, "our module's ways");
	if (watch_capabilities()) {
		watch_nothing();
		SKIP(return, "a kernel without kprobe events");
	}
	before = audited();
	rk_param(self->fd, DRM_ROCKET_PARAM_MAX_PRIORITY);
	rk_param(self->fd, DRM_ROCKET_PARAM_MAX_TIMEOUT_NS);
	EXPECT_EQ(before, audited());
	/* Who wants to make use of it does leave one. */
	rk_job_ext(&job, &none, 1, NULL, NULL);
	job.priority = DRM_ROCKET_PRIORITY_HIGH;
	EXPECT_EQ(-EINVAL, rk_submit_ext(self->fd, &job, 1, NULL));
	EXPECT_EQ(before + 1, audited());
	watch_nothing();
}

/* ---- GET_BO_INFO, ranges, dma-buf ---- */

#define BO_BYTES	(256u << 10)

FIXTURE(bo) {
	struct rk_client c;
	struct rk_bo bo;
};

FIXTURE_SETUP(bo)
{
	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	ASSERT_EQ(0, rk_client_init(&self->c));
	ASSERT_EQ(0, rk_bo_init(&self->bo, self->c.fd, BO_BYTES));
}

FIXTURE_TEARDOWN(bo)
{
	rk_model_calm();
	rk_client_fini(&self->c);
}

static int get_info(int fd, uint32_t handle, struct drm_rocket_bo_info *i)
{
	*i = (struct drm_rocket_bo_info) { .handle = handle };
	return rk_ioctl(fd, DRM_IOCTL_ROCKET_GET_BO_INFO, i);
}

RK_TEST_F(bo, info, "GET_BO_INFO tells size, address and mmap offset, and refuses bad arguments")
{
	struct drm_rocket_bo_info i;

	ASSERT_EQ(0, get_info(self->c.fd, self->bo.handle, &i));
	EXPECT_EQ(BO_BYTES, i.size);
	EXPECT_EQ(self->bo.iova, i.dma_address);
	EXPECT_EQ(self->bo.offset, i.offset);
	EXPECT_EQ(0, i.flags);
	EXPECT_EQ(-ENOENT, get_info(self->c.fd, 0, &i));
	EXPECT_EQ(-ENOENT, get_info(self->c.fd, UINT32_MAX, &i));
	i = (struct drm_rocket_bo_info) { .handle = self->bo.handle, .reserved = 1ull << 63 };
	EXPECT_EQ(-EINVAL, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_GET_BO_INFO, &i));
	EXPECT_EQ(-EFAULT, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_GET_BO_INFO, NULL));
}

RK_TEST_F(bo, info_in_another_file,
	  "a file that imports a BO learns its address there, and jobs use it")
{
	struct drm_rocket_bo_info i;
	struct drm_rocket_task task;
	struct rk_client other;
	struct rk_bo shared;
	uint32_t handle;
	uint8_t *map;
	int buf;

	ASSERT_EQ(0, rk_client_init(&other));
	buf = rk_export(self->c.fd, self->bo.handle);
	ASSERT_LE(0, buf);
	ASSERT_EQ(0, drmPrimeFDToHandle(other.fd, buf, &handle));
	ASSERT_EQ(0, get_info(other.fd, handle, &i));
	EXPECT_EQ(BO_BYTES, i.size);
	EXPECT_NE(0, i.dma_address);
	EXPECT_EQ(0, i.flags);
	map = mmap(NULL, BO_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, other.fd, i.offset);
	ASSERT_NE(MAP_FAILED, map);

	shared = (struct rk_bo) { .fd = other.fd, .handle = handle, .iova = i.dma_address };
	ASSERT_EQ(0, rk_bo_fill(&other.in, 7, RK_BYTES));
	ASSERT_EQ(0, rk_op_task(&other.inc, other.in.iova, i.dma_address, &task));
	ASSERT_EQ(0, rk_submit_task(other.fd, &task, &other.in, &shared));
	/* Fences are the BO's, so the first file waits for the second one's job. */
	EXPECT_EQ(0, rk_bo_differs(&self->bo, 8, RK_BYTES));
	EXPECT_EQ(8, map[0]);
	munmap(map, BO_BYTES);
	close(buf);
	rk_client_fini(&other);
}

RK_TEST_F(bo, dmabuf_sync, "the CPU's access to an exported BO waits for jobs and maintains caches")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task task;
	long long bytes;
	uint8_t *p;
	int buf;

	buf = rk_export(c->fd, self->bo.handle);
	ASSERT_LE(0, buf);
	p = mmap(NULL, BO_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, buf, 0);
	ASSERT_NE(MAP_FAILED, p);

	bytes = rk_stat("cache_bytes");
	EXPECT_EQ(0, rk_dmabuf_sync(buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE));
	memset(p, 20, RK_BYTES);
	EXPECT_EQ(0, rk_dmabuf_sync(buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE));
	EXPECT_EQ(bytes + 2ll * BO_BYTES, rk_stat("cache_bytes"));

	rk_latency_us(100000);
	ASSERT_EQ(0, rk_op_task(&c->inc, self->bo.iova, c->out.iova, &task));
	ASSERT_EQ(0, rk_submit_task(c->fd, &task, &self->bo, &c->out));
	ASSERT_EQ(0, rk_op_task(&c->inc, c->out.iova, self->bo.iova, &task));
	ASSERT_EQ(0, rk_submit_task(c->fd, &task, &c->out, &self->bo));
	EXPECT_EQ(0, rk_dmabuf_sync(buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
	for (size_t i = 0; i < RK_BYTES; i++) {
		ASSERT_EQ(22, p[i]);
	}
	/* Nothing was written, so there is nothing to write back. */
	bytes = rk_stat("cache_bytes");
	EXPECT_EQ(0, rk_dmabuf_sync(buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	EXPECT_EQ(bytes, rk_stat("cache_bytes"));
	munmap(p, BO_BYTES);
	close(buf);
}

static int prep_ranges(int fd, uint32_t handle, const void *r, uint32_t n, uint64_t reserved)
{
	struct drm_rocket_prep_bo_ranges p = {
		.handle = handle, .range_count = n, .ranges = (uintptr_t)r, .reserved = reserved,
	};

	return rk_ioctl(fd, DRM_IOCTL_ROCKET_PREP_BO_RANGES, &p);
}

static int fini_ranges(int fd, uint32_t handle, const void *r, uint32_t n, uint64_t reserved)
{
	struct drm_rocket_fini_bo_ranges f = {
		.handle = handle, .range_count = n, .ranges = (uintptr_t)r, .reserved = reserved,
	};

	return rk_ioctl(fd, DRM_IOCTL_ROCKET_FINI_BO_RANGES, &f);
}

RK_TEST_F(bo, imported, "PREP and FINI take a BO of another driver, by ranges, too, and jobs use it")
{
	struct drm_rocket_bo_range r = { 64, 64 }, beyond = { RK_PAGE, 1 };
	struct rk_client *c = &self->c;
	struct drm_rocket_task task;
	struct drm_rocket_bo_info i;
	struct rk_bo bo = { .fd = c->fd };
	uint8_t nines[RK_BYTES], *map;
	int fd = rv_foreign_memory(RK_PAGE, &map);

	if (fd < 0 || rk_no_iommu())
		SKIP(return, "no foreign memory, or it may be refused");
	ASSERT_EQ(0, drmPrimeFDToHandle(c->fd, fd, &bo.handle));
	ASSERT_EQ(0, get_info(c->fd, bo.handle, &i));
	EXPECT_EQ(DRM_ROCKET_BO_IMPORTED, i.flags);
	EXPECT_EQ(RK_PAGE, i.size);
	EXPECT_EQ(0, i.offset);
	/* Read by a job, and then written. */
	memset(nines, 9, sizeof(nines));
	ASSERT_EQ(0, rk_dmabuf_write(fd, map, nines, sizeof(nines)));
	EXPECT_EQ(0, rk_fini(&bo));
	EXPECT_EQ(0, fini_ranges(c->fd, bo.handle, &r, 1, 0));
	ASSERT_EQ(0, rk_op_task(&c->inc, i.dma_address, c->out.iova, &task));
	ASSERT_EQ(0, rk_submit_task(c->fd, &task, &bo, &c->out));
	EXPECT_EQ(0, rk_bo_differs(&c->out, 10, RK_BYTES));
	ASSERT_EQ(0, rk_op_task(&c->inc, c->out.iova, i.dma_address, &task));
	ASSERT_EQ(0, rk_submit_task(c->fd, &task, &c->out, &bo));
	EXPECT_EQ(0, rk_prep(&bo, 10000));
	EXPECT_EQ(0, prep_ranges(c->fd, bo.handle, &r, 1, 0));
	EXPECT_EQ(-EINVAL, prep_ranges(c->fd, bo.handle, &beyond, 1, 0));
	EXPECT_EQ(-EINVAL, fini_ranges(c->fd, bo.handle, &beyond, 1, 0));
	EXPECT_EQ(0, rk_dmabuf_sync(fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
	for (size_t k = 0; k < RK_BYTES; k++)
		ASSERT_EQ(11, map[k]);
	EXPECT_EQ(0, rk_dmabuf_sync(fd, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	EXPECT_EQ(0, rk_gem_close(c->fd, bo.handle));
	munmap(map, RK_PAGE);
	close(fd);
}

struct ranges_case {
	const char *name;
	int err;
	uint32_t count;
	struct drm_rocket_bo_range r[4];
};

static const struct ranges_case ranges_cases[] = {
	{ "none: all", 0, 0 },
	{ "one", 0, 1, { { 0, 64 } } },
	{ "one byte", 0, 1, { { 4095, 1 } } },
	{ "odd, over a page", 0, 1, { { 4001, 200 } } },
	{ "last", 0, 1, { { BO_BYTES - 64, 64 } } },
	{ "last byte", 0, 1, { { BO_BYTES - 1, 1 } } },
	{ "whole", 0, 1, { { 0, BO_BYTES } } },
	{ "four", 0, 4, { { 0, 64 }, { 4096, 64 }, { 65536, 128 }, { 131072, 1 } } },
	{ "adjacent", 0, 2, { { 0, 64 }, { 64, 64 } } },
	{ "empty", -EINVAL, 1, { { 0, 0 } } },
	{ "second empty", -EINVAL, 2, { { 0, 64 }, { 64, 0 } } },
	{ "one byte too long", -EINVAL, 1, { { 0, BO_BYTES + 1 } } },
	{ "over the end", -EINVAL, 1, { { BO_BYTES - 32, 64 } } },
	{ "at the end", -EINVAL, 1, { { BO_BYTES, 1 } } },
	{ "beyond", -EINVAL, 1, { { 1ull << 40, 64 } } },
	{ "wraps", -EINVAL, 1, { { 4096, UINT64_MAX - 1024 } } },
	{ "wraps to 0", -EINVAL, 1, { { 4096, 0ull - 4096 } } },
	{ "descending", -EINVAL, 2, { { 4096, 64 }, { 0, 64 } } },
	{ "overlapping", -EINVAL, 2, { { 0, 128 }, { 127, 64 } } },
	{ "twice", -EINVAL, 2, { { 0, 128 }, { 0, 128 } } },
};

RK_TEST_F(bo, ranges, "PREP and FINI of ranges maintain exactly the bytes that are named")
{
	int fd = self->c.fd;
	uint32_t h = self->bo.handle;

	for (size_t i = 0; i < ARRAY_SIZE(ranges_cases); i++) {
		const struct ranges_case *k = &ranges_cases[i];
		long long bytes = rk_stat("cache_bytes"), want = 0;

		for (uint32_t j = 0; j < k->count && !k->err; j++)
			want += k->r[j].size;
		if (!k->count)
			want = BO_BYTES;
		EXPECT_EQ(k->err, prep_ranges(fd, h, k->r, k->count, 0)) TH_LOG("%s", k->name);
		EXPECT_EQ(bytes + want, rk_stat("cache_bytes")) TH_LOG("%s", k->name);
		EXPECT_EQ(k->err, fini_ranges(fd, h, k->r, k->count, 0)) TH_LOG("%s", k->name);
		EXPECT_EQ(bytes + 2 * want, rk_stat("cache_bytes")) TH_LOG("%s", k->name);
	}
}

RK_TEST_F(bo, ranges_refused, "PREP and FINI of ranges refuse bad ranges, counts and pointers")
{
	static struct drm_rocket_bo_range r[1025];
	int fd = self->c.fd;
	uint32_t h = self->bo.handle;

	for (size_t i = 0; i < ARRAY_SIZE(r); i++)
		r[i] = (struct drm_rocket_bo_range) { .offset = i * 128, .size = 64 };
	EXPECT_EQ(0, prep_ranges(fd, h, r, 1024, 0));
	EXPECT_EQ(0, fini_ranges(fd, h, r, 1024, 0));
	EXPECT_EQ(-EINVAL, prep_ranges(fd, h, r, 1025, 0));
	EXPECT_EQ(-EINVAL, fini_ranges(fd, h, r, 1025, 0));
	EXPECT_EQ(-EINVAL, prep_ranges(fd, h, r, UINT32_MAX, 0));
	EXPECT_EQ(-EINVAL, fini_ranges(fd, h, r, UINT32_MAX, 0));
	EXPECT_EQ(-ENOENT, prep_ranges(fd, 0x7fffffff, r, 1, 0));
	EXPECT_EQ(-ENOENT, fini_ranges(fd, 0x7fffffff, r, 1, 0));
	EXPECT_EQ(-EINVAL, prep_ranges(fd, h, r, 1, 1));
	EXPECT_EQ(-EINVAL, fini_ranges(fd, h, r, 1, 1ull << 32));
	EXPECT_EQ(-EFAULT, prep_ranges(fd, h, NULL, 1, 0));
	EXPECT_EQ(-EFAULT, fini_ranges(fd, h, NULL, 1, 0));
	EXPECT_EQ(-EFAULT, prep_ranges(fd, h, (void *)KERNEL_ADDR, 1, 0));
	EXPECT_EQ(-EFAULT, fini_ranges(fd, h, (void *)KERNEL_ADDR, 1, 0));
	EXPECT_EQ(-EFAULT, rk_ioctl(fd, DRM_IOCTL_ROCKET_PREP_BO_RANGES, NULL));
	EXPECT_EQ(-EFAULT, rk_ioctl(fd, DRM_IOCTL_ROCKET_FINI_BO_RANGES, NULL));
}

RK_TEST_F(bo, ranges_wait_as_prep_does,
	  "PREP of ranges waits for jobs with a deadline, as PREP_BO does")
{
	struct drm_rocket_bo_range r = { 0, RK_BYTES };
	struct rk_client *c = &self->c;
	struct drm_rocket_prep_bo_ranges p = {
		.handle = c->out.handle, .range_count = 1, .ranges = (uintptr_t)&r,
	};

	RK_REQUIRE_MODEL();
	rk_task_timeout_ms(RK_TASK_TIMEOUT_MS * rk_slow());
	rk_latency_us(200000 * rk_slow());
	ASSERT_EQ(0, rk_bo_fill(&c->in, 30, RK_BYTES));
	ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &c->out));
	EXPECT_EQ(-EBUSY, rk_ioctl(c->fd, DRM_IOCTL_ROCKET_PREP_BO_RANGES, &p));
	/* Long enough not to have passed before the call. */
	p.timeout_ns = rk_now() + 10 * rk_slow() * RK_MS;
	EXPECT_EQ(-ETIMEDOUT, rk_ioctl(c->fd, DRM_IOCTL_ROCKET_PREP_BO_RANGES, &p));
	p.timeout_ns = RK_FOREVER;
	EXPECT_EQ(0, rk_ioctl(c->fd, DRM_IOCTL_ROCKET_PREP_BO_RANGES, &p));
	EXPECT_EQ(31, c->out.map[0]);
	EXPECT_EQ(31, c->out.map[RK_BYTES - 1]);
}

RK_HARNESS_MAIN
