// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vendor's uAPI on node "rknpu" but for jobs: every ioctl, flag, action and struct size.
 *
 * boot: vendor OLD TEST_LIMIT=400
 * boot: dtvendor TEST_LIMIT=400 --dt vendor --model npu-one-irq=on --param vendor_misc=1
 * boot: armhfvend LONG ARMHF TEST_LIMIT=400 --param vendor_misc=1
 * boot: noiommulib
 * boot: debug-vendor KERNEL=debug TEST_LIMIT=1800 --param vendor_misc=1
 * boot: kcsan-exec
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknpu_dmabuf.h"
#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

/* The first @size bytes of a struct, as older callers have it. */
#define SIZED(nr, size)	_IOC(_IOC_READ | _IOC_WRITE, 'd', 0x40 + (nr), size)

RV_FIXTURE(vendor);

/* ---- discovery ---- */

RK_TEST_F(vendor, version_and_empty_unique, "the node says that it is rknpu 0.9.8")
{
	char name[16] = "", desc[32] = "", date[16] = "", unique[16];
	struct drm_version v = {
		.name = name, .name_len = sizeof(name), .desc = desc, .desc_len = sizeof(desc),
		.date = date, .date_len = sizeof(date),
	};
	struct drm_unique u = { .unique = unique, .unique_len = sizeof(unique) };

	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_VERSION, &v));
	EXPECT_STREQ("rknpu", name);
	EXPECT_STREQ("RKNPU driver", desc);
	EXPECT_EQ(0, v.version_major);
	EXPECT_EQ(9, v.version_minor);
	EXPECT_EQ(8, v.version_patchlevel);
	/* libdrm takes a node with a unique name for one in use. */
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_GET_UNIQUE, &u));
	EXPECT_EQ(0, u.unique_len);
}

RK_TEST(master_does_not_hide_the_node, "whoever has the node open first cannot make libdrm pass it over")
{
	char unique[16];
	struct drm_unique u = { .unique = unique, .unique_len = sizeof(unique) };
	struct drm_set_version v = { 1, 4, -1, -1 };
	int master = rv_open(), fd;

	if (master < 0)
		SKIP(return, "no node of the vendor's uAPI");
	EXPECT_EQ(-EACCES, rk_ioctl(master, DRM_IOCTL_SET_VERSION, &v));
	fd = rv_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rk_ioctl(fd, DRM_IOCTL_GET_UNIQUE, &u));
	EXPECT_EQ(0, u.unique_len);
	close(fd);
	close(master);
}

RK_TEST_F(vendor, render_node_does_the_same, "the render node runs jobs, too")
{
	int fd = rv_open_render();
	struct rv_chain c;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rv_chain_init(&c, fd, 1, 0, 0));
	EXPECT_EQ(0, rv_chain_run(&c, 3));
	rv_chain_fini(&c);
	close(fd);
}

RK_TEST_F(vendor, fdinfo, "fdinfo tells the driver, the time on each core, and the memory")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	/* Kernels of that time have no fdinfo of their own. */
	if (rk_kernel_before(6, 5))
		SKIP(return, "before drm_show_memory_stats()");
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 1));
	rv_chain_submit(&c, &s);
	s.core_mask = 1;
	ASSERT_EQ(0, rv_submit(self->fd, &s));
	/* A word, and no number. */
	EXPECT_EQ(0, rk_fdinfo(self->fd, "drm-driver"));
	EXPECT_LT(0, rk_fdinfo(self->fd, "drm-engine-npu0"));
	EXPECT_LT(0, rk_fdinfo(self->fd, "drm-total-memory"));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, render_node_has_nothing_of_primary_nodes,
	  "the render node refuses calls of primary nodes, of which some kernels crash")
{
	static const unsigned int nr[] = { 0x01, 0x02, 0x07, 0x11 };
	uint64_t arg[2] = { 1 };
	int fd;

	if (!rk_ours())
		SKIP(return, "may oops in DRM's own code");
	fd = rv_open_render();
	ASSERT_LE(0, fd);
	for (size_t i = 0; i < ARRAY_SIZE(nr); i++) {
		EXPECT_EQ(-EACCES, rk_ioctl(fd, DRM_IOWR(nr[i], arg), arg)) {
			TH_LOG("nr %#x", nr[i]);
		}
	}
	close(fd);
}

RK_TEST_F(vendor, misc_node_is_there_when_asked_for_only,
	  "/dev/rknpu is there if the module parameter asks for it")
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

RK_TEST_F(vendor, actions, "each action answers as the vendor's driver does")
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		uint32_t value = 0xabcd1234, right = actions[i].keeps ? value : actions[i].value;

		if (actions[i].id == DRM_RKNPU_GET_IOMMU_EN)
			right = !rk_no_iommu();
		EXPECT_EQ(actions[i].ret, rv_action(self->fd, actions[i].id, &value))
			TH_LOG("action %u", actions[i].id);
		EXPECT_EQ(right, value)
			TH_LOG("action %u", actions[i].id);
	}
}

RK_TEST_F(vendor, freq_and_volt_are_those_of_the_files,
	  "frequency and voltage are those of the files in /proc/rknpu")
{
	uint32_t hz = 0, uv = 0;
	unsigned long file_hz = 0, file_uv = 0;
	FILE *f;

	ASSERT_EQ(0, rv_action(self->fd, DRM_RKNPU_GET_FREQ, &hz));
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
	if (rv_action(self->fd, DRM_RKNPU_GET_VOLT, &uv))
		uv = 0;
	EXPECT_EQ(file_uv, uv);
}

RK_TEST_F(vendor, domain_is_the_process_own, "the IOMMU domain that a process chooses is its own")
{
	uint32_t value = 5;
	pid_t pid;
	int status;

	EXPECT_EQ(0, rv_action(self->fd, DRM_RKNPU_SET_IOMMU_DOMAIN_ID, &value));
	value = 16;
	EXPECT_EQ(-EINVAL, rv_action(self->fd, DRM_RKNPU_SET_IOMMU_DOMAIN_ID, &value));
	EXPECT_EQ(0, rv_action(self->fd, DRM_RKNPU_GET_IOMMU_DOMAIN_ID, &value));
	EXPECT_EQ(5, value);

	pid = fork();
	if (!pid) {
		int fd = rv_open();

		value = 77;
		_exit(fd >= 0 && !rv_action(fd, DRM_RKNPU_GET_IOMMU_DOMAIN_ID, &value) && !value ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

RK_TEST_F(vendor, nice_needs_permission,
	  "a process may change its priority by the node as far as it may without it")
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct rlimit limit = { 0, 40 };
		uint32_t value = -19;
		int bad = 0;

		/* Privileged, as vendor runtimes run. */
		bad |= rv_action(self->fd, DRM_RKNPU_SET_PROC_NICE, &value);
		bad |= getpriority(PRIO_PROCESS, 0) != -19;
		value = 5;
		bad |= rv_action(self->fd, DRM_RKNPU_SET_PROC_NICE, &value);
		bad |= getpriority(PRIO_PROCESS, 0) != 5;
		setrlimit(RLIMIT_NICE, &limit);
		bad |= setuid(1000);
		value = -19;
		/* Goes on as if nothing were wrong, and changes nothing. */
		bad |= rv_action(self->fd, DRM_RKNPU_SET_PROC_NICE, &value);
		bad |= getpriority(PRIO_PROCESS, 0) != 5;
		/* Anybody may be nicer. */
		value = 9;
		bad |= rv_action(self->fd, DRM_RKNPU_SET_PROC_NICE, &value);
		bad |= getpriority(PRIO_PROCESS, 0) != 9;
		/* And less nice as far as the limit goes, which counts from 20 downwards. */
		limit.rlim_cur = 20;
		bad |= setrlimit(RLIMIT_NICE, &limit);
		value = -1;
		bad |= rv_action(self->fd, DRM_RKNPU_SET_PROC_NICE, &value);
		bad |= getpriority(PRIO_PROCESS, 0) != 9;
		value = 0;
		bad |= rv_action(self->fd, DRM_RKNPU_SET_PROC_NICE, &value);
		bad |= getpriority(PRIO_PROCESS, 0) != 0;
		_exit(!!bad);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

RK_TEST_F(vendor, reset_ends_own_jobs_only, "a reset does not touch other files' jobs")
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
	ASSERT_EQ(0, rv_submit(other, &s));
	EXPECT_EQ(0, rv_action(self->fd, DRM_RKNPU_RESET, &value));

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

RK_TEST_F(vendor, mem_create_of_every_size_that_shipped,
	  "MEM_CREATE takes the struct of every version of the driver")
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

RK_TEST_F(vendor, mem_create_refuses, "MEM_CREATE refuses sizes and domains out of range")
{
	struct drm_rknpu_mem_create c = { .flags = RV_FLAGS };

	EXPECT_EQ(-EINVAL, rv_create(self->fd, &c));
	c.size = 4096;
	c.iommu_domain_id = 16;
	EXPECT_EQ(-EINVAL, rv_create(self->fd, &c));
	c.iommu_domain_id = -1;
	EXPECT_EQ(-EINVAL, rv_create(self->fd, &c));
	c.iommu_domain_id = 0;
	c.size = 1ull << 32;
	EXPECT_EQ(-ENOMEM, rv_create(self->fd, &c));
	c.size = ~0ull;
	EXPECT_EQ(-ENOMEM, rv_create(self->fd, &c));
}

RK_TEST_F(vendor, mem_create_flags, "MEM_CREATE takes every flag, alone and all together")
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

RK_TEST_F(vendor, mem_create_as_a_question,
	  "MEM_CREATE of a handle that exists tells its address and cookie")
{
	struct drm_rknpu_mem_create c;
	struct rv_bo bo;

	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 10000, RV_FLAGS, 2));
	c = (struct drm_rknpu_mem_create) { .handle = bo.handle, .size = 1, .flags = 0xffff };
	ASSERT_EQ(0, rv_create(self->fd, &c));
	EXPECT_EQ(bo.handle, c.handle);
	EXPECT_EQ(12288, c.size);
	EXPECT_EQ(bo.obj, c.obj_addr);
	EXPECT_EQ(bo.iova, c.dma_addr);

	/* Not a handle of this file: a new object. */
	c = (struct drm_rknpu_mem_create) { .handle = 12345, .size = 4096, .flags = RV_FLAGS };
	ASSERT_EQ(0, rv_create(self->fd, &c));
	EXPECT_NE(12345, c.handle);
	EXPECT_NE(bo.obj, c.obj_addr);
	rv_bo_fini(&bo);
}

RK_TEST_F(vendor, mem_map, "MEM_MAP refuses unknown handles, and mmap() what is beyond the object")
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

RK_TEST_F(vendor, mem_destroy, "MEM_DESTROY frees an object once, and a mapping keeps the memory")
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

RK_TEST_F(vendor, mem_sync, "MEM_SYNC takes ranges inside the object only")
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

RK_TEST_F(vendor, flink_and_prime, "a dma-buf of an object that has a name is that object")
{
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_gem_flink flink = { 0 };
	struct rv_bo bo;

	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 4096, RV_FLAGS, 0));
	flink.handle = bo.handle;
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_GEM_FLINK, &flink));
	EXPECT_NE(0, flink.name);

	p.handle = bo.handle;
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p));
	p.handle = 0;
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	EXPECT_EQ(bo.handle, p.handle);
	EXPECT_EQ(0, rv_sync(&bo, 3, 0, 4096));
	close(p.fd);

	/* As long as there is a handle, the cookie lives. */
	munmap(bo.map, bo.size);
	ASSERT_EQ(0, rk_gem_close(self->fd, bo.handle));
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 1, 0, 4096));
}

RK_TEST_F(vendor, names_open_nothing,
	  "who was master of the primary node cannot open another's objects by their names")
{
	struct drm_gem_flink flink = { 0 };
	struct drm_gem_open by_name = { 0 };
	struct rv_bo bo;
	int victim;

	/* The first that opens it is master; its file stays authenticated. */
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_DROP_MASTER, NULL));
	victim = rv_open();
	ASSERT_LE(0, victim);
	ASSERT_EQ(0, rv_bo_init(&bo, victim, 4096, RV_FLAGS, 0));
	flink.handle = bo.handle;
	ASSERT_EQ(0, rk_ioctl(victim, DRM_IOCTL_GEM_FLINK, &flink));
	by_name.name = flink.name;
	EXPECT_EQ(-EACCES, rk_ioctl(self->fd, DRM_IOCTL_GEM_OPEN, &by_name));
	/* Nor its own. */
	EXPECT_EQ(-EACCES, rk_ioctl(victim, DRM_IOCTL_GEM_OPEN, &by_name));
	rv_bo_fini(&bo);
	close(victim);
}

RK_TEST_F(vendor, import, "a BO of node rocket can be imported and synced")
{
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_rknpu_mem_create c = { 0 };
	struct drm_rknpu_mem_map m = { 0 };
	int rocket = rk_open();
	struct rk_bo bo;

	ASSERT_LE(0, rocket);
	ASSERT_EQ(0, rk_bo_init(&bo, rocket, 8192));
	p.handle = bo.handle;
	ASSERT_EQ(0, rk_ioctl(rocket, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p));
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	c.handle = p.handle;
	ASSERT_EQ(0, rv_create(self->fd, &c));
	EXPECT_EQ(8192, c.size);
	EXPECT_NE(0, c.dma_addr);
	EXPECT_NE(0, c.obj_addr);

	m.handle = p.handle;
	EXPECT_EQ(-EINVAL, rk_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_MAP, &m));
	EXPECT_EQ(0, rv_sync_every_way(self->fd, c.obj_addr, 8192));

	/* The kernel reads tasks there through a mapping of its own. */
	EXPECT_EQ(rk_kernel_before(5, 18) ? -EINVAL : 0,
		  rv_run_tasks_in(self->fd, c.obj_addr, bo.map));
	close(p.fd);
	close(rocket);
}

/* Not waited for: its fence as a file. */
static int submit_with_fence(struct rv_chain *c, int value, int fence_in)
{
	struct drm_rknpu_submit s;
	int ret = rv_chain_fill(c, value);

	rv_chain_submit(c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	if (fence_in >= 0) {
		s.flags |= DRM_RKNPU_JOB_FENCE_IN;
		s.fence_fd = fence_in;
	}
	ret = ret ? ret : rv_submit(c->fd, &s);
	return ret ? ret : s.fence_fd;
}

static bool signalled(int fence, int timeout_ms)
{
	struct pollfd p = { .fd = fence, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

RK_TEST_F_TIMEOUT(vendor, fences_of_a_dma_buf, 120,
		  "jobs of the two nodes wait for each other by the fences of a dma-buf")
{
	struct dma_buf_export_sync_file get = { .flags = DMA_BUF_SYNC_READ };
	struct dma_buf_import_sync_file put = { .flags = DMA_BUF_SYNC_WRITE };
	struct drm_rocket_wait_job w;
	struct rv_chain chain;
	struct rk_client c;
	int buf, ret, fence;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_client_init(&c));
	ASSERT_EQ(0, rv_chain_init(&chain, self->fd, 3, 0, 0));
	ASSERT_EQ(0, rk_bo_fill(&c.in, 40, RK_BYTES));
	buf = rk_export(c.fd, c.out.handle);
	ASSERT_LE(0, buf);
	rk_task_timeout_ms(20000);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);

	/* This node's job waits for the other's, by what the dma-buf gives. */
	rk_latency_us(1000000);
	ASSERT_EQ(0, rk_submit_op(&c.inc, &c.in, &c.out));
	for (int ms = 0; !rk_count_all(NPU_CNT_TASK_STARTED) && ms < 10000; ms++)
		rk_sleep_ms(1);
	rk_latency_us(1000);
	ret = rk_ioctl(buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &get);
	if (ret == -ENOTTY)
		SKIP(return, "no sync_files of dma-bufs before 6.0");
	ASSERT_EQ(0, ret);
	EXPECT_FALSE(signalled(get.fd, 0));
	fence = submit_with_fence(&chain, 10, get.fd);
	ASSERT_LE(0, fence);
	EXPECT_TRUE(signalled(fence, 20000));
	EXPECT_TRUE(signalled(get.fd, 0));
	EXPECT_EQ(0, rv_chain_wrong(&chain, 13));
	close(get.fd);
	close(fence);

	/* And the other way, by what is put there. */
	rk_latency_us(300000);
	put.fd = submit_with_fence(&chain, 20, -1);
	ASSERT_LE(0, put.fd);
	ASSERT_EQ(0, rk_ioctl(buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &put));
	ASSERT_EQ(0, rk_submit_op(&c.inc, &c.out, &c.in));
	EXPECT_FALSE(signalled(put.fd, 0));
	ASSERT_EQ(0, rk_wait_job(c.fd, 2, RK_FOREVER, &w));
	EXPECT_TRUE(signalled(put.fd, 0));
	EXPECT_EQ(0, rv_chain_wrong(&chain, 23));
	close(put.fd);
	close(buf);
	rv_chain_fini(&chain);
	rk_client_fini(&c);
}

#define IMPORTS		20

RK_TEST_F(vendor, address_of_a_closed_import,
	  "the address of an import that is closed right after a job is given to the next import")
{
	struct drm_prime_handle p = { 0 };
	struct rv_chain chain;
	struct rk_bo bo;
	int same = 0, rocket = rk_open();
	uint64_t iova = 0;

	RK_REQUIRE_IOMMU();
	ASSERT_LE(0, rocket);
	ASSERT_EQ(0, rk_bo_init(&bo, rocket, 1u << 20));
	p.fd = rk_export(rocket, bo.handle);
	ASSERT_LE(0, p.fd);
	ASSERT_EQ(0, rv_chain_init(&chain, self->fd, 1, 0, 0));
	for (int i = 0; i < IMPORTS; i++) {
		struct drm_rknpu_mem_create c = { 0 };

		ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
		c.handle = p.handle;
		ASSERT_EQ(0, rv_create(self->fd, &c));
		same += c.dma_addr == iova;
		iova = c.dma_addr;
		ASSERT_EQ(0, rv_chain_run(&chain, 1));
		ASSERT_EQ(0, rk_gem_close(self->fd, p.handle));
	}
	/* A core may be at the end of its job a moment longer than who waited. */
	EXPECT_LT(IMPORTS * 3 / 4, same);
	rv_chain_fini(&chain);
	close(p.fd);
	rk_bo_fini(&bo);
	close(rocket);
}

RK_TEST_F(vendor, part_of_an_imported_bo, "parts of a BO are synced while node rknpu has it, too")
{
	struct drm_prime_handle p = { 0 };
	struct rk_bo bo;
	int rocket = rk_open();
	struct drm_rocket_bo_range part = { .offset = 26, .size = 32 };
	struct drm_rocket_prep_bo_ranges prep = {
		.ranges = (uintptr_t)&part, .range_count = 1,
	};
	struct drm_rocket_fini_bo_ranges fini = {
		.ranges = (uintptr_t)&part, .range_count = 1,
	};

	ASSERT_LE(0, rocket);
	ASSERT_EQ(0, rk_bo_init(&bo, rocket, 8192));
	p.fd = rk_export(rocket, bo.handle);
	ASSERT_LE(0, p.fd);
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	prep.handle = bo.handle;
	fini.handle = bo.handle;
	EXPECT_EQ(0, rk_ioctl(rocket, DRM_IOCTL_ROCKET_PREP_BO_RANGES, &prep));
	EXPECT_EQ(0, rk_ioctl(rocket, DRM_IOCTL_ROCKET_FINI_BO_RANGES, &fini));
	ASSERT_EQ(0, rk_gem_close(self->fd, p.handle));
	EXPECT_EQ(0, rk_ioctl(rocket, DRM_IOCTL_ROCKET_FINI_BO_RANGES, &fini));
	close(p.fd);
	close(rocket);
}

RK_TEST_F(vendor, imported_task_buffer,
	  "tasks are read from imported memory, and their end is written there")
{
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_rknpu_mem_create c = { 0 };
	struct drm_rknpu_submit s;
	struct drm_rknpu_task *tasks;
	struct rv_chain chain;
	uint8_t *map;

	/* Its two pages do not follow each other. */
	RK_REQUIRE_IOMMU();
	p.fd = rv_foreign_memory(8192, &map);
	if (p.fd == -ENOENT)
		SKIP(return, "neither /dev/udmabuf nor a DMA heap");
	ASSERT_LE(0, p.fd);
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	c.handle = p.handle;
	ASSERT_EQ(0, rv_create(self->fd, &c));
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
	EXPECT_EQ(-EINVAL, rv_submit(self->fd, &s));
	rv_chain_fini(&chain);
	munmap(map, 8192);
	close(p.fd);
}

RK_TEST_F_TIMEOUT(vendor, import_beyond_2_gib, 120,
		  "as much can be imported as fits the address space, of which node rocket takes half")
{
	struct drm_rknpu_mem_create c = { 0 };
	struct drm_prime_handle p = { 0 };
	int rocket = rk_open();

	RK_REQUIRE_IOMMU();
	if (!access("/sys/kernel/debug/dma-api", F_OK))
		SKIP(return, "DMA-API debugging warns of memory that is mapped again and again");
	ASSERT_LE(0, rocket);
	/* Some kernels begin with 64. */
	rk_write_file("/sys/module/udmabuf/parameters/size_limit_mb", "4096");
	p.fd = rv_repeated_memory(64u << 20, 34);
	if (p.fd == -ENOENT || sizeof(void *) < 8)
		SKIP(return, "no /dev/udmabuf, or not so large");
	ASSERT_LE(0, p.fd);
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	c.handle = p.handle;
	ASSERT_EQ(0, rv_create(self->fd, &c));
	EXPECT_EQ(34ull << 26, c.size);
	EXPECT_NE(0, c.dma_addr);
	EXPECT_EQ(-EINVAL, rk_ioctl(rocket, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	ASSERT_EQ(0, rk_gem_close(self->fd, c.handle));
	close(p.fd);
	p.fd = rv_repeated_memory(64u << 20, 64);
	ASSERT_LE(0, p.fd);
	EXPECT_EQ(-EINVAL, rk_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	close(p.fd);
	close(rocket);
}

#define TRACING		"/sys/kernel/tracing/"
#define PROBES		TRACING "events/rknpu_vendor/"

static void empty_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
}

static void watch_nothing(void)
{
	rk_write_file(PROBES "enable", "0");
	empty_file(TRACING "kprobe_events");
}

/* Calls of these functions by this process, in the kernel's words for kprobe events. */
static int watch(const char *probes)
{
	char filter[32];

	snprintf(filter, sizeof(filter), "common_pid == %d", getpid());
	empty_file(TRACING "trace");
	if (!rk_write_file(TRACING "kprobe_events", probes) &&
	    !rk_write_file(PROBES "filter", filter) && !rk_write_file(PROBES "enable", "1"))
		return 0;
	watch_nothing();
	return -ENOENT;
}

/* The first letters of the names of the probes that were met, in their order. */
static void watched(char *names, size_t size)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[256], *at;
	size_t n = 0;

	while (f && n + 1 < size && fgets(line, sizeof(line), f)) {
		at = strstr(line, ": (");
		while (at && at > line && at[-1] != ' ')
			at--;
		if (line[0] != '#' && at)
			names[n++] = *at;
	}
	names[n] = 0;
	if (f)
		fclose(f);
	watch_nothing();
}

/* What takes as long as the buffer is large must not be done with a lock that all clients need. */
RK_TEST_F(vendor, import_delays_nobody,
	  "an import attaches to the dma-buf, and maps it, after it let go of DRM's lock for handles")
{
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	int rocket = rk_open();
	struct rv_bo bo;
	char names[16];

	ASSERT_LE(0, rocket);
	if (!rk_ours())
		SKIP(return, "our module's ways");
	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 8192, RV_FLAGS, 0));
	p.handle = bo.handle;
	ASSERT_EQ(0, rk_ioctl(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p));
	if (watch("p:rknpu_vendor/handle drm_gem_handle_create_tail\n"
		  "p:rknpu_vendor/attach dma_buf_attach\n"))
		SKIP(return, "a kernel without kprobe events");
	/* The function that makes a handle drops the lock, and calls the driver then. */
	EXPECT_EQ(0, rk_ioctl(rocket, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	watched(names, sizeof(names));
	EXPECT_STREQ("ha", names);
	close(p.fd);
	close(rocket);
	rv_bo_fini(&bo);
}

RK_TEST_F_TIMEOUT(vendor, import_too_large_costs_nothing, 120,
		  "a dma-buf that is too large is refused before it is attached")
{
	struct drm_prime_handle p = { 0 };
	int rocket = rk_open();
	char names[16];

	ASSERT_LE(0, rocket);
	if (!rk_ours())
		SKIP(return, "our module's ways");
	rk_write_file("/sys/module/udmabuf/parameters/size_limit_mb", "4096");
	p.fd = rv_repeated_memory(64u << 20, 32);
	if (p.fd == -ENOENT || sizeof(void *) < 8)
		SKIP(return, "no /dev/udmabuf, or not so large");
	ASSERT_LE(0, p.fd);
	if (watch("p:rknpu_vendor/attach dma_buf_attach\n"))
		SKIP(return, "a kernel without kprobe events");
	EXPECT_EQ(-EINVAL, rk_ioctl(rocket, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p));
	watched(names, sizeof(names));
	EXPECT_STREQ("", names);
	close(p.fd);
	close(rocket);
}

RK_TEST_F(vendor, unmapped_in_pieces, "a large object is unmapped in pieces, between which others may run")
{
	struct rv_bo bo;
	char names[16];

	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, 64u << 20, RV_FLAGS, 0));
	if (watch("p:rknpu_vendor/unmap iommu_unmap\n"))
		SKIP(return, "a kernel without kprobe events");
	rv_bo_fini(&bo);
	watched(names, sizeof(names));
	EXPECT_LE(4, strlen(names));
}

/* Nobody is known to use them. */
RK_TEST_F(vendor, no_dumb_buffers, "the node offers no dumb buffers")
{
	/* struct drm_mode_create_dumb: height, width, bits. */
	uint32_t d[8] = { 16, 16, 32 };

	EXPECT_EQ(-ENOSYS, rk_ioctl(self->fd, _IOC(3, 'd', 0xb2, sizeof(d)), d));
}

RK_HARNESS_MAIN
