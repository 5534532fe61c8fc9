// SPDX-License-Identifier: GPL-2.0-only
/* The vendor's uAPI on node "rknpu": every ioctl, flag, action and struct size. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "rknpu_vendor_util.h"

/* The first @size bytes of a struct, as older callers have it. */
#define SIZED(nr, size)	_IOC(_IOC_READ | _IOC_WRITE, 'd', 0x40 + (nr), size)

struct drm_unique_arg {
	__kernel_size_t unique_len;
	char *unique;
};

#define IOCTL_GET_UNIQUE	DRM_IOWR(0x01, struct drm_unique_arg)

struct drm_gem_flink_arg {
	uint32_t handle;
	uint32_t name;
};

#define IOCTL_GEM_FLINK		DRM_IOWR(0x0a, struct drm_gem_flink_arg)

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
	rk_model_calm();
	close(self->fd);
}

static int action(int fd, uint32_t flags, uint32_t *value)
{
	struct drm_rknpu_action a = { .flags = flags, .value = *value };
	int ret = rk_ioctl(fd, DRM_IOCTL_RKNPU_ACTION, &a);

	*value = a.value;
	return ret;
}

static int submit(int fd, struct drm_rknpu_submit *s)
{
	return rk_ioctl(fd, DRM_IOCTL_RKNPU_SUBMIT, s);
}

/* ---- discovery ---- */

TEST_F(vendor, version_and_empty_unique)
{
	char name[16] = "", desc[32] = "", date[16] = "", unique[16];
	struct drm_version v = {
		.name = name, .name_len = sizeof(name), .desc = desc, .desc_len = sizeof(desc),
		.date = date, .date_len = sizeof(date),
	};
	struct drm_unique_arg u = { .unique = unique, .unique_len = sizeof(unique) };

	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_VERSION, &v));
	EXPECT_STREQ("rknpu", name);
	EXPECT_STREQ("RKNPU driver", desc);
	EXPECT_EQ(0, v.version_major);
	EXPECT_EQ(9, v.version_minor);
	EXPECT_EQ(8, v.version_patchlevel);
	/* libdrm takes a node with a unique name for one in use. */
	ASSERT_EQ(0, rk_ioctl(self->fd, IOCTL_GET_UNIQUE, &u));
	EXPECT_EQ(0, u.unique_len);
}

TEST_F(vendor, render_node_does_the_same)
{
	int fd = rv_open_render();
	struct rv_chain c;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rv_chain_init(&c, fd, 1, 0, 0));
	EXPECT_EQ(0, rv_chain_run(&c, 3));
	rv_chain_fini(&c);
	close(fd);
}

/* Runtimes prefer it, and fail if it does not speak its ABI. */
TEST_F(vendor, misc_node_is_there_when_asked_for_only)
{
	char value = 'N';
	FILE *f = fopen("/sys/module/rknpu_accel/parameters/vendor_misc", "r");

	ASSERT_NE(NULL, f);
	ASSERT_EQ(1, fread(&value, 1, 1, f));
	fclose(f);
	EXPECT_EQ(value == 'Y' ? 0 : -1, access("/dev/rknpu", F_OK));
}

/* ---- ACTION ---- */

static const struct {
	uint32_t id;
	int ret;
	bool keeps;		/* the value that was sent */
	uint32_t value;
} actions[] = {
	{ DRM_RKNPU_GET_HW_VERSION, 0, false, 0x46495245 },
	{ DRM_RKNPU_GET_DRV_VERSION, 0, false, 908 },
	{ DRM_RKNPU_SET_FREQ, -EINVAL, true },
	{ DRM_RKNPU_SET_VOLT, -EINVAL, true },
	{ DRM_RKNPU_RESET, 0, true },
	{ DRM_RKNPU_GET_BW_PRIORITY, -EINVAL, true },
	{ DRM_RKNPU_SET_BW_PRIORITY, -EINVAL, true },
	{ DRM_RKNPU_GET_BW_EXPECT, -EINVAL, true },
	{ DRM_RKNPU_SET_BW_EXPECT, -EINVAL, true },
	{ DRM_RKNPU_GET_BW_TW, -EINVAL, true },
	{ DRM_RKNPU_SET_BW_TW, -EINVAL, true },
	{ DRM_RKNPU_CLEAR_TOTAL_RW_AMOUNT, 0, true },
	{ DRM_RKNPU_GET_DT_WR_AMOUNT, 0, true },
	{ DRM_RKNPU_GET_DT_RD_AMOUNT, 0, true },
	{ DRM_RKNPU_GET_WT_RD_AMOUNT, 0, true },
	{ DRM_RKNPU_GET_TOTAL_RW_AMOUNT, 0, true },
	{ DRM_RKNPU_GET_IOMMU_EN, 0, false, 1 },
	{ DRM_RKNPU_POWER_ON, -EINVAL, true },
	{ DRM_RKNPU_POWER_OFF, -EINVAL, true },
	{ DRM_RKNPU_GET_TOTAL_SRAM_SIZE, 0, false, 0 },
	{ DRM_RKNPU_GET_FREE_SRAM_SIZE, 0, false, 0 },
	{ DRM_RKNPU_GET_IOMMU_DOMAIN_ID, 0, false, 0 },
	{ 26, -EINVAL, true },
	{ 0x100, -EINVAL, true },
	{ 0xffffffff, -EINVAL, true },
};

TEST_F(vendor, actions)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		uint32_t value = 0xabcd1234;

		EXPECT_EQ(actions[i].ret, action(self->fd, actions[i].id, &value))
			TH_LOG("action %u", actions[i].id);
		EXPECT_EQ(actions[i].keeps ? 0xabcd1234 : actions[i].value, value)
			TH_LOG("action %u", actions[i].id);
	}
}

TEST_F(vendor, freq_and_volt_are_those_of_the_files)
{
	uint32_t hz = 0, uv = 0;
	unsigned long file_hz = 0, file_uv = 0;
	FILE *f;

	ASSERT_EQ(0, action(self->fd, DRM_RKNPU_GET_FREQ, &hz));
	EXPECT_NE(0, hz);
	f = fopen("/proc/rknpu/freq", "r");
	ASSERT_NE(NULL, f);
	EXPECT_EQ(1, fscanf(f, "%lu", &file_hz));
	fclose(f);
	EXPECT_EQ(file_hz, hz);

	f = fopen("/proc/rknpu/volt", "r");
	ASSERT_NE(NULL, f);
	EXPECT_EQ(1, fscanf(f, "%lu", &file_uv));
	fclose(f);
	if (action(self->fd, DRM_RKNPU_GET_VOLT, &uv))
		uv = 0;
	EXPECT_EQ(file_uv, uv);
}

TEST_F(vendor, domain_is_the_process_own)
{
	uint32_t value = 5;
	pid_t pid;
	int status;

	EXPECT_EQ(0, action(self->fd, DRM_RKNPU_SET_IOMMU_DOMAIN_ID, &value));
	value = 16;
	EXPECT_EQ(-EINVAL, action(self->fd, DRM_RKNPU_SET_IOMMU_DOMAIN_ID, &value));
	EXPECT_EQ(0, action(self->fd, DRM_RKNPU_GET_IOMMU_DOMAIN_ID, &value));
	EXPECT_EQ(5, value);

	pid = fork();
	if (!pid) {
		int fd = rv_open();

		value = 77;
		_exit(fd >= 0 && !action(fd, DRM_RKNPU_GET_IOMMU_DOMAIN_ID, &value) && !value ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

TEST_F(vendor, nice_needs_permission)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct rlimit limit = { 0, 40 };
		uint32_t value = -19;
		int bad = 0;

		/* Privileged, as vendor runtimes run. */
		bad |= action(self->fd, DRM_RKNPU_SET_PROC_NICE, &value);
		bad |= getpriority(PRIO_PROCESS, 0) != -19;
		value = 5;
		bad |= action(self->fd, DRM_RKNPU_SET_PROC_NICE, &value);
		bad |= getpriority(PRIO_PROCESS, 0) != 5;
		setrlimit(RLIMIT_NICE, &limit);
		bad |= setuid(1000);
		value = -19;
		/* Goes on as if nothing were wrong, and changes nothing. */
		bad |= action(self->fd, DRM_RKNPU_SET_PROC_NICE, &value);
		bad |= getpriority(PRIO_PROCESS, 0) != 5;
		/* Anybody may be nicer. */
		value = 9;
		bad |= action(self->fd, DRM_RKNPU_SET_PROC_NICE, &value);
		bad |= getpriority(PRIO_PROCESS, 0) != 9;
		/* And less nice as far as the limit goes, which counts from 20 downwards. */
		limit.rlim_cur = 20;
		bad |= setrlimit(RLIMIT_NICE, &limit);
		value = -1;
		bad |= action(self->fd, DRM_RKNPU_SET_PROC_NICE, &value);
		bad |= getpriority(PRIO_PROCESS, 0) != 9;
		value = 0;
		bad |= action(self->fd, DRM_RKNPU_SET_PROC_NICE, &value);
		bad |= getpriority(PRIO_PROCESS, 0) != 0;
		_exit(!!bad);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

TEST_F(vendor, reset_ends_own_jobs_only)
{
	struct drm_rknpu_submit s;
	struct rv_chain a, b;
	uint32_t value = 0;
	int other = rv_open();

	RK_REQUIRE_MODEL();
	ASSERT_LE(0, other);
	ASSERT_EQ(0, rv_chain_init(&a, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_init(&b, other, 1, 0, 0));
	rk_latency_us(20000);
	ASSERT_EQ(0, rv_chain_fill(&b, 10));
	rv_chain_submit(&b, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	ASSERT_EQ(0, submit(other, &s));
	EXPECT_EQ(0, action(self->fd, DRM_RKNPU_RESET, &value));

	struct pollfd p = { .fd = s.fence_fd, .events = POLLIN };
	struct sync_file_info info = { 0 };

	EXPECT_EQ(1, poll(&p, 1, 20000));
	EXPECT_EQ(0, rk_ioctl(s.fence_fd, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(1, info.status);
	EXPECT_EQ(0, rv_chain_wrong(&b, 11));
	close(s.fence_fd);
	rv_chain_fini(&a);
	rv_chain_fini(&b);
	close(other);
}

/* ---- memory ---- */

TEST_F(vendor, mem_create_of_every_size_that_shipped)
{
	static const size_t sizes[] = { 32, 40, 48 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		/* What is behind the caller's struct must stay. */
		struct drm_rknpu_mem_create c = {
			.flags = RV_FLAGS, .size = 440, .sram_size = 0x5555,
			.iommu_domain_id = 99, .core_mask = 77,
		};

		if (sizes[i] == 48)
			c.iommu_domain_id = 0;
		ASSERT_EQ(0, rk_ioctl(self->fd, SIZED(DRM_RKNPU_MEM_CREATE, sizes[i]), &c));
		EXPECT_NE(0, c.handle);
		EXPECT_EQ(RV_FLAGS, c.flags);
		EXPECT_EQ(4096, c.size);
		EXPECT_NE(0, c.obj_addr);
		EXPECT_NE(0, c.dma_addr);
		EXPECT_EQ(0, c.dma_addr >> 32);
		EXPECT_EQ(sizes[i] > 32 ? 0 : 0x5555, c.sram_size);
		EXPECT_EQ(sizes[i] > 40 ? 0 : 99, c.iommu_domain_id);
		EXPECT_EQ(77, c.core_mask);
	}
}

TEST_F(vendor, mem_create_refuses)
{
	struct drm_rknpu_mem_create c = { .flags = RV_FLAGS };

	EXPECT_EQ(-EINVAL, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
	c.size = 4096;
	c.iommu_domain_id = 16;
	EXPECT_EQ(-EINVAL, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
	c.iommu_domain_id = -1;
	EXPECT_EQ(-EINVAL, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
	c.iommu_domain_id = 0;
	c.size = 1ull << 32;
	EXPECT_EQ(-ENOMEM, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
	c.size = ~0ull;
	EXPECT_EQ(-ENOMEM, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
}

TEST_F(vendor, mem_create_flags)
{
	/* Each bit alone and all that exist, and some that do not. */
	for (int bit = -1; bit < 32; bit++) {
		struct rv_bo bo;

		ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 5000, bit < 0 ? 0x7ff : 1u << bit, 0))
			TH_LOG("bit %d", bit);
		for (int i = 0; i < 5000; i++)
			ASSERT_EQ(0, bo.map[i]);
		memset(bo.map, 0x5a, 5000);
		EXPECT_EQ(bit < 0 || bit == 1 ? 0 : -EINVAL, rv_sync(&bo, 1, 0, 5000))
			TH_LOG("bit %d", bit);
		rv_bo_fini(&bo);
	}
}

TEST_F(vendor, mem_create_as_a_question)
{
	struct drm_rknpu_mem_create c;
	struct rv_bo bo;

	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 10000, RV_FLAGS, 2));
	c = (struct drm_rknpu_mem_create) { .handle = bo.handle, .size = 1, .flags = 0xffff };
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
	EXPECT_EQ(bo.handle, c.handle);
	EXPECT_EQ(12288, c.size);
	EXPECT_EQ(bo.obj, c.obj_addr);
	EXPECT_EQ(bo.iova, c.dma_addr);

	/* Not a handle of this file: a new object. */
	c = (struct drm_rknpu_mem_create) { .handle = 12345, .size = 4096, .flags = RV_FLAGS };
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
	EXPECT_NE(12345, c.handle);
	EXPECT_NE(bo.obj, c.obj_addr);
	rv_bo_fini(&bo);
}

TEST_F(vendor, mem_map)
{
	struct drm_rknpu_mem_map m = { .handle = 4711, .reserved = 5 };
	struct rv_bo bo;
	void *p;

	EXPECT_EQ(-ENOENT, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_MAP, &m));
	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 440, RV_FLAGS, 0));
	m.handle = bo.handle;
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_MAP, &m));
	p = mmap(NULL, 8192, PROT_READ, MAP_SHARED, self->fd, m.offset);
	EXPECT_EQ(MAP_FAILED, p);
	EXPECT_EQ(EINVAL, errno);
	rv_bo_fini(&bo);
}

TEST_F(vendor, mem_destroy)
{
	struct drm_rknpu_mem_destroy d = { .handle = 4711 };
	struct rv_bo bo;

	EXPECT_EQ(-EINVAL, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &d));
	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 4096, RV_FLAGS, 0));
	d.handle = bo.handle;
	d.obj_addr = 1234;
	EXPECT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &d));
	EXPECT_EQ(-EINVAL, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &d));
	/* The mapping keeps the memory. */
	bo.map[0] = 1;
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 1, 0, 4096));
	munmap(bo.map, bo.size);

	/* The struct of version 0.4. */
	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 4096, RV_FLAGS, 0));
	d.handle = bo.handle;
	EXPECT_EQ(0, rk_ioctl(self->fd, SIZED(DRM_RKNPU_MEM_DESTROY, 8), &d));
	munmap(bo.map, bo.size);
}

TEST_F(vendor, mem_sync)
{
	struct rv_bo bo;

	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 10000, RV_FLAGS, 0));
	for (uint32_t flags = 0; flags < 4; flags++)
		EXPECT_EQ(0, rv_sync(&bo, flags, 0, 10000));
	EXPECT_EQ(0, rv_sync(&bo, 0xfffffff3, 4000, 5000));
	EXPECT_EQ(0, rv_sync(&bo, 3, 12288, 0));
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 3, 12288, 1));
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 3, 1, 12288));
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 3, ~0ull, 2));
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 3, 2, ~0ull));
	rv_bo_fini(&bo);
}

TEST_F(vendor, flink_and_prime)
{
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_gem_flink_arg flink = { 0 };
	struct drm_gem_open open_arg = { 0 };
	struct drm_rknpu_mem_create c = { 0 };
	struct rv_bo bo;

	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 4096, RV_FLAGS, 0));
	flink.handle = bo.handle;
	ASSERT_EQ(0, rk_ioctl(self->fd, IOCTL_GEM_FLINK, &flink));
	open_arg.name = flink.name;
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_GEM_OPEN, &open_arg));
	/* Two handles of one object in one file: one cookie, one address. */
	c.handle = open_arg.handle;
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
	EXPECT_EQ(bo.obj, c.obj_addr);
	EXPECT_EQ(bo.iova, c.dma_addr);

	p.handle = bo.handle;
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p));
	p.handle = 0;
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	EXPECT_EQ(0, rv_sync(&bo, 3, 0, 4096));
	close(p.fd);

	/* As long as there is a handle, the cookie lives. */
	munmap(bo.map, bo.size);
	ASSERT_EQ(0, rk_gem_close(self->fd, bo.handle));
	EXPECT_EQ(0, rv_sync(&bo, 1, 0, 4096));
	ASSERT_EQ(0, rk_gem_close(self->fd, open_arg.handle));
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 1, 0, 4096));
}

/* A BO of the other node is foreign memory here. */
TEST_F(vendor, import)
{
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_rknpu_mem_create c = { 0 };
	struct drm_rknpu_mem_map m = { 0 };
	struct drm_rknpu_submit s;
	int rocket = rk_open();
	struct rv_bo import;
	struct rv_chain chain;
	struct rk_bo bo;

	ASSERT_LE(0, rocket);
	ASSERT_EQ(0, rk_bo_init(&bo, rocket, 8192));
	p.handle = bo.handle;
	ASSERT_EQ(0, rk_ioctl(rocket, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p));
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	c.handle = p.handle;
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
	EXPECT_EQ(8192, c.size);
	EXPECT_NE(0, c.dma_addr);
	EXPECT_NE(0, c.obj_addr);

	m.handle = p.handle;
	EXPECT_EQ(-EINVAL, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_MAP, &m));
	import = (struct rv_bo) { .fd = self->fd, .obj = c.obj_addr };
	for (uint32_t flags = 0; flags < 4; flags++)
		EXPECT_EQ(0, rv_sync(&import, flags, 0, 8192));

	/* Its exporter does not let the kernel map it, so it cannot hold tasks. */
	ASSERT_EQ(0, rv_chain_init(&chain, self->fd, 1, 0, 0));
	rv_chain_submit(&chain, &s);
	s.task_obj_addr = c.obj_addr;
	EXPECT_EQ(-EINVAL, submit(self->fd, &s));
	rv_chain_fini(&chain);
	close(p.fd);
	close(rocket);
}

/* Tasks are read from any memory that its exporter lets the kernel map, and told how they ended. */
TEST_F(vendor, imported_task_buffer)
{
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_rknpu_mem_create c = { 0 };
	struct drm_rknpu_submit s;
	struct drm_rknpu_task *tasks;
	struct rv_chain chain;
	uint8_t *map;

	p.fd = rv_foreign_memory(8192, &map);
	if (p.fd == -ENOENT)
		SKIP(return, "no /dev/udmabuf");
	ASSERT_LE(0, p.fd);
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	c.handle = p.handle;
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
	ASSERT_EQ(0, rv_chain_init(&chain, self->fd, 5, 100, 0));
	tasks = (struct drm_rknpu_task *)map;
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(0, rv_chain_run_from(&chain, i, tasks, c.obj_addr));
		EXPECT_EQ(0, tasks[103].int_status);
		EXPECT_NE(0, tasks[104].int_status & RV_INT_DPU);
	}
	rv_chain_submit(&chain, &s);
	s.task_obj_addr = c.obj_addr;
	/* 204 of them fit, and 4/5 of another one. */
	for (int i = 0; i < 3; i++)
		s.subcore_task[i].task_start = 200;
	EXPECT_EQ(-EINVAL, submit(self->fd, &s));
	rv_chain_fini(&chain);
	munmap(map, 8192);
	close(p.fd);
}

/* Nobody is known to use them. */
TEST_F(vendor, no_dumb_buffers)
{
	/* struct drm_mode_create_dumb: height, width, bits. */
	uint32_t d[8] = { 16, 16, 32 };

	EXPECT_EQ(-ENOSYS, rk_ioctl(self->fd, _IOC(3, 'd', 0xb2, sizeof(d)), d));
}

/* ---- SUBMIT ---- */

TEST_F(vendor, submit_chain)
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	/* 5 * 40 bytes from the start: a task lies across a page boundary. */
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 5, 100, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 7));
	rv_chain_submit(&c, &s);
	s.task_counter = 99;
	ASSERT_EQ(0, submit(self->fd, &s));
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
TEST_F(vendor, submit_chain_is_one_kick)
{
	struct rv_chain c;
	uint64_t kicks, irqs, tasks;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 8, 0, 0));
	kicks = rk_count_all(NPU_CNT_KICK);
	irqs = rk_count_all(NPU_CNT_IRQ);
	tasks = rk_count_all(NPU_CNT_TASK_DONE);
	EXPECT_EQ(0, rv_chain_run(&c, 1));
	EXPECT_EQ(1, rk_count_all(NPU_CNT_KICK) - kicks);
	EXPECT_EQ(1, rk_count_all(NPU_CNT_IRQ) - irqs);
	EXPECT_EQ(8, rk_count_all(NPU_CNT_TASK_DONE) - tasks);
	rv_chain_fini(&c);
}

TEST_F(vendor, submit_on_each_core)
{
	for (int core = 0; core < 3; core++) {
		struct drm_rknpu_submit s;
		struct rv_chain c;
		uint64_t done = 0;

		ASSERT_EQ(0, rv_chain_init(&c, self->fd, 2, 3, 0));
		ASSERT_EQ(0, rv_chain_fill(&c, core));
		rv_chain_submit(&c, &s);
		s.core_mask = 1 << core;
		for (int i = 0; i < 5; i++) {
			if (i != core)
				s.subcore_task[i] = (struct drm_rknpu_subcore_task) { 0, 0 };
		}
		if (rk_model())
			done = rk_count(core, NPU_CNT_TASK_DONE);
		ASSERT_EQ(0, submit(self->fd, &s));
		EXPECT_EQ(0, rv_chain_wrong(&c, core + 2));
		EXPECT_EQ(1 << core, s.core_mask);
		if (rk_model())
			EXPECT_EQ(2, rk_count(core, NPU_CNT_TASK_DONE) - done);
		rv_chain_fini(&c);
	}
}

/* Slices 0 and 1 of two cores, 2, 3 and 4 of three, each with its own tasks. */
static int submit_on_several(int fd, struct rv_chain *c, unsigned int cores)
{
	unsigned int slice = cores == 3 ? 2 : 0;
	struct drm_rknpu_submit s = {
		.flags = DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG, .timeout = 6000,
		.task_number = cores, .task_obj_addr = c[0].tasks.obj, .fence_fd = -1,
		.core_mask = (1u << cores) - 1,
	};
	int ret = 0;

	for (unsigned int i = 0; i < cores && !ret; i++) {
		/* All tasks in the first chain's buffer. */
		*rv_chain_task(&c[0], i) = *rv_chain_task(&c[i], 0);
		s.subcore_task[slice + i] = (struct drm_rknpu_subcore_task) { i, 1 };
		ret = rv_chain_fill(&c[i], 20 + i);
	}
	if (!ret)
		ret = rv_sync(&c[0].tasks, 1, 0, c[0].tasks.size);
	if (!ret)
		ret = submit(fd, &s);
	if (!ret && s.task_counter != cores)
		ret = -EILSEQ;
	for (unsigned int i = 0; i < cores && !ret; i++)
		ret = rv_chain_wrong(&c[i], 21 + i) ? -EILSEQ : 0;
	return ret;
}

TEST_F(vendor, submit_on_several_cores)
{
	for (unsigned int cores = 2; cores <= 3; cores++) {
		struct rv_chain c[3];
		uint64_t done[3] = { 0 };

		for (unsigned int i = 0; i < 3; i++) {
			ASSERT_EQ(0, rv_chain_init(&c[i], self->fd, 1, 0, 0));
			if (rk_model())
				done[i] = rk_count(i, NPU_CNT_TASK_DONE);
		}
		EXPECT_EQ(0, submit_on_several(self->fd, c, cores));
		for (unsigned int i = 0; i < cores && rk_model(); i++)
			EXPECT_EQ(1, rk_count(i, NPU_CNT_TASK_DONE) - done[i]);
		for (unsigned int i = 0; i < 3; i++)
			rv_chain_fini(&c[i]);
	}
}

static int start_pinned(int fd, struct rv_chain *c, uint32_t mask, int *fence)
{
	struct drm_rknpu_submit s;
	int ret = rv_chain_fill(c, 1);

	if (ret)
		return ret;
	rv_chain_submit(c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	s.core_mask = mask;
	ret = submit(fd, &s);
	*fence = s.fence_fd;
	return ret;
}

static int wait_fence(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int ret = poll(&p, 1, 20000);

	close(fd);
	return ret == 1 ? 0 : -ETIMEDOUT;
}

/* A job of two cores waits until both are free, and others pass it by on none. */
TEST_F(vendor, several_cores_start_together)
{
	struct rv_chain busy, gang, after;
	int fence[3];
	uint64_t started;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&busy, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_init(&gang, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_init(&after, self->fd, 1, 0, 0));
	rk_latency_us(150000);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	ASSERT_EQ(0, start_pinned(self->fd, &busy, 2, &fence[0]));
	ASSERT_TRUE(rk_wait_count(1, NPU_CNT_BUSY, 1, 20000));
	started = rk_count(0, NPU_CNT_TASK_STARTED);
	ASSERT_EQ(0, start_pinned(self->fd, &gang, 3, &fence[1]));
	ASSERT_EQ(0, start_pinned(self->fd, &after, 1, &fence[2]));
	rk_sleep_ms(20);
	if (rk_count(1, NPU_CNT_TASK_DONE) == 0)
		EXPECT_EQ(0, rk_count(0, NPU_CNT_TASK_STARTED) - started);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, wait_fence(fence[i]));
	/* Both cores at once, for most of the time that one task takes. */
	EXPECT_EQ(2, rk_ctl_read(NPU_CTL_MAX_BUSY));
	EXPECT_LT(100000000, rk_ctl_read64(NPU_CTL_OVERLAP2_LO));
	EXPECT_EQ(2, rk_count(0, NPU_CNT_TASK_DONE));
	EXPECT_EQ(2, rk_count(1, NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, rv_chain_wrong(&gang, 2));
	EXPECT_EQ(0, rv_chain_wrong(&after, 2));
	rv_chain_fini(&busy);
	rv_chain_fini(&gang);
	rv_chain_fini(&after);
}

/* Cancelled while one of its cores waits for the other: nothing of it runs. */
TEST_F(vendor, a_cancelled_gang_never_starts)
{
	struct rv_chain busy, gang;
	int fence[2], other = rv_open();
	uint32_t value = 0;

	RK_REQUIRE_MODEL();
	ASSERT_LE(0, other);
	ASSERT_EQ(0, rv_chain_init(&busy, other, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_init(&gang, self->fd, 1, 0, 0));
	rk_latency_us(300000);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	ASSERT_EQ(0, start_pinned(other, &busy, 2, &fence[0]));
	ASSERT_TRUE(rk_wait_count(1, NPU_CNT_BUSY, 1, 20000));
	ASSERT_EQ(0, start_pinned(self->fd, &gang, 3, &fence[1]));
	rk_sleep_ms(50);
	/* It cancels the caller's jobs, and no others. */
	ASSERT_EQ(0, action(self->fd, DRM_RKNPU_RESET, &value));
	EXPECT_EQ(0, wait_fence(fence[1]));
	EXPECT_EQ(0, wait_fence(fence[0]));
	EXPECT_EQ(0, rk_count(0, NPU_CNT_TASK_STARTED));
	EXPECT_EQ(1, rk_count(1, NPU_CNT_TASK_STARTED));
	EXPECT_EQ(0, rv_chain_wrong(&busy, 2));
	EXPECT_NE(0, rv_chain_wrong(&gang, 2));
	rv_chain_fini(&busy);
	rv_chain_fini(&gang);
	close(other);
}

/* Jobs for two and for three cores at the same time, from several threads. */
static void *crowd(void *arg)
{
	struct rv_chain c[3];
	long bad = 0;
	int fd = rv_open();

	for (int i = 0; i < 3; i++)
		bad += !!rv_chain_init(&c[i], fd, 1, 0, 0);
	for (int i = 0; i < 40 && !bad; i++)
		bad = submit_on_several(fd, c, 2 + (i + (uintptr_t)arg) % 2);
	close(fd);
	return (void *)bad;
}

TEST_F(vendor, jobs_of_several_cores_do_not_block_each_other)
{
	pthread_t t[4];
	void *bad;

	for (uintptr_t i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, crowd, (void *)i));
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &bad);
		EXPECT_EQ(NULL, bad);
	}
}

struct bad_submit {
	const char *what;
	void (*spoil)(struct drm_rknpu_submit *s);
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

TEST_F(vendor, submit_refuses)
{
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	for (size_t i = 0; i < ARRAY_SIZE(bad_submits); i++) {
		struct drm_rknpu_submit s;

		rv_chain_submit(&c, &s);
		s.task_counter = 5;
		bad_submits[i].spoil(&s);
		EXPECT_EQ(-EINVAL, submit(self->fd, &s)) TH_LOG("%s", bad_submits[i].what);
		/* Copied back on errors, too. */
		EXPECT_EQ(0, s.task_counter);
	}

	/* A program must start at a multiple of 16, or it would be a mode bit. */
	struct drm_rknpu_submit s;

	rv_chain_task(&c, 0)->regcmd_addr |= 1;
	ASSERT_EQ(0, rv_sync(&c.tasks, 1, 0, 4096));
	rv_chain_submit(&c, &s);
	EXPECT_EQ(-EINVAL, submit(self->fd, &s));
	rv_chain_task(&c, 0)->regcmd_addr &= ~1ull;
	ASSERT_EQ(0, rv_sync(&c.tasks, 1, 0, 4096));
	EXPECT_EQ(0, rv_chain_run(&c, 1));

	/* A data buffer is no task buffer. */
	rv_chain_submit(&c, &s);
	s.task_obj_addr = c.bo.obj;
	EXPECT_EQ(-EINVAL, submit(self->fd, &s));
	rv_chain_fini(&c);
}

/* The register that it goes to adds it to the addresses of operands. */
TEST_F(vendor, task_base_addr_is_used)
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 1));
	rv_chain_submit(&c, &s);
	s.task_base_addr = 0x40000000;
	EXPECT_EQ(-EFAULT, submit(self->fd, &s));
	/* 32 bits of it. */
	rv_chain_submit(&c, &s);
	s.task_base_addr = 0x100000000;
	EXPECT_EQ(0, submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 2));
	rv_chain_fini(&c);
}

TEST_F(vendor, submit_ignores)
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
	EXPECT_EQ(0, submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 2));
	/* Without PINGPONG as well. */
	ASSERT_EQ(0, rv_chain_fill(&c, 2));
	rv_chain_submit(&c, &s);
	s.flags = DRM_RKNPU_JOB_PC;
	EXPECT_EQ(0, submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 3));
	/* The struct of 0.7 to 0.9.5 has the same size as today's. */
	EXPECT_EQ(104, sizeof(s));
	rv_chain_fini(&c);
}

TEST_F(vendor, nonblock_and_fences)
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
		ASSERT_EQ(0, submit(self->fd, &s[i]));
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

TEST_F(vendor, fence_of_several_cores)
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 4));
	rv_chain_submit(&c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	/* The same task on each, to the same place. */
	s.core_mask = 7;
	for (int i = 2; i < 5; i++)
		s.subcore_task[i] = (struct drm_rknpu_subcore_task) { 0, 1 };
	ASSERT_EQ(0, submit(self->fd, &s));

	struct pollfd p = { .fd = s.fence_fd, .events = POLLIN };

	EXPECT_EQ(1, poll(&p, 1, 20000));
	EXPECT_EQ(0, rv_chain_wrong(&c, 5));
	close(s.fence_fd);
	rv_chain_fini(&c);
}

TEST_F(vendor, timeout_is_in_ms_and_tells_how_far)
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
	EXPECT_EQ(-ETIMEDOUT, submit(self->fd, &s));
	EXPECT_EQ(2, s.task_counter);
	EXPECT_EQ(1, rk_fault_fired());
	EXPECT_EQ(0, rv_chain_run(&c, 5));
	rv_chain_fini(&c);
}

TEST_F(vendor, fault_is_told_apart)
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	rv_chain_task(&c, 0)->regcmd_addr = 0xf0000000;
	ASSERT_EQ(0, rv_sync(&c.tasks, 1, 0, 4096));
	rv_chain_submit(&c, &s);
	EXPECT_EQ(-EFAULT, submit(self->fd, &s));
	rv_chain_fini(&c);
}

/* ---- domains and address spaces ---- */

TEST_F(vendor, every_domain_works)
{
	for (int d = 0; d < DRM_RKNPU_DOMAINS; d++) {
		struct drm_rknpu_submit s;
		struct rv_chain c;

		ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, d));
		ASSERT_EQ(0, rv_chain_fill(&c, d));
		rv_chain_submit(&c, &s);
		s.iommu_domain_id = d;
		EXPECT_EQ(0, submit(self->fd, &s)) TH_LOG("domain %d", d);
		EXPECT_EQ(0, rv_chain_wrong(&c, d + 1)) TH_LOG("domain %d", d);
		rv_chain_fini(&c);
	}
}

TEST_F(vendor, objects_are_in_their_domain_only)
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 3));
	rv_chain_submit(&c, &s);
	s.iommu_domain_id = 4;
	EXPECT_EQ(-EFAULT, submit(self->fd, &s));
	rv_chain_fini(&c);
}

/* Runtimes share weights between the contexts of a process. */
TEST_F(vendor, files_of_a_process_share_addresses)
{
	struct drm_rknpu_submit s;
	struct rv_chain c;
	struct rv_bo tasks;
	int other = rv_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_bo_init(&tasks, other, 4096, RV_FLAGS_TASK, 0));
	memcpy(tasks.map, c.tasks.map, sizeof(struct drm_rknpu_task));
	ASSERT_EQ(0, rv_sync(&tasks, 1, 0, 4096));
	ASSERT_EQ(0, rv_chain_fill(&c, 60));
	rv_chain_submit(&c, &s);
	s.task_obj_addr = tasks.obj;
	EXPECT_EQ(0, submit(other, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 61));
	rv_bo_fini(&tasks);
	rv_chain_fini(&c);
	close(other);
}

TEST_F(vendor, cookies_mean_nothing_to_other_files)
{
	struct drm_rknpu_submit s;
	struct rv_chain c;
	int other = rv_open();
	struct rv_bo bo;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	rv_chain_submit(&c, &s);
	EXPECT_EQ(-EINVAL, submit(other, &s));
	bo = c.bo;
	bo.fd = other;
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 3, 0, 4096));
	rv_chain_fini(&c);
	close(other);
}

TEST_F(vendor, processes_do_not_share_addresses)
{
	struct rv_chain c;
	int status;
	pid_t pid;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 50));
	pid = fork();
	if (!pid) {
		int fd = rv_open();
		struct drm_rknpu_submit s;
		struct rv_bo tasks;
		int ret;

		if (fd < 0)
			_exit(1);
		/* Large, so that this is not where the victim's programs are. */
		if (rv_bo_init(&tasks, fd, 4096, RV_FLAGS_TASK, 0))
			_exit(2);
		memcpy(tasks.map, c.tasks.map, sizeof(struct drm_rknpu_task));
		rv_sync(&tasks, 1, 0, 4096);
		rv_chain_submit(&c, &s);
		s.task_obj_addr = tasks.obj;
		ret = submit(fd, &s);
		_exit(ret == -EFAULT ? 0 : 3);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	/* Untouched. */
	EXPECT_EQ(0, rv_chain_wrong(&c, ~50 & 0xff));
	EXPECT_EQ(0, rv_chain_run(&c, 1));
	rv_chain_fini(&c);
}

TEST_HARNESS_MAIN
