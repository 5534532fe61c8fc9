// SPDX-License-Identifier: GPL-2.0-only
/* The calls of rknpu_pairs: of both uAPIs, of dma-bufs, sync_files and syncobjs, and of processes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm.h>

#include "rknpu_dmabuf.h"
#include "rknpu_pairs.h"

/* In the first rocket BO: what its program reads and writes. */
#define DATA_IN		(56u << 10)
#define DATA_OUT	(48u << 10)

#define SHORT_NS	(1 * RK_MS)
#define VENDOR_MS	100
/* More handles than that nobody has for one BO. */
#define MANY		64

struct pair_pool pool;
char pair_path[FILES][64];

static int fd_of(const struct pair_ctx *c)
{
	return pool.file[c->f].fd;
}

static struct pair_bo *bo_of(const struct pair_ctx *c)
{
	return &pool.file[c->f].bo[c->i];
}

static int sys(long ret)
{
	return ret < 0 ? -errno : 0;
}

static bool one_in(struct pair_ctx *c, uint32_t n)
{
	return !pair_below(c, n);
}

/* The slot has the new descriptor, and the old one is closed. */
static void keep_fd(int *slot, int fd)
{
	int old = __atomic_exchange_n(slot, fd, __ATOMIC_RELAXED);

	if (old >= 0)
		close(old);
}

static void keep_map(void **slot, void *map)
{
	void *old = __atomic_exchange_n(slot, map, __ATOMIC_RELAXED);

	if (old)
		munmap(old, RK_PAGE);
}

/* Without rv_ioctl()'s question which node it is: the call is to be most of the time. */
static int v_ioctl(enum pair_file f, unsigned long cmd, void *arg)
{
	if (f == MISC)
		cmd = RV_MISC(_IOC_NR(cmd) - DRM_COMMAND_BASE, _IOC_SIZE(cmd));
	return rk_ioctl(pool.file[f].fd, cmd, arg);
}

/* Each array on a page of its own. */
static void *array(struct pair_ctx *c, unsigned int page)
{
	return c->page + page * RK_PAGE;
}

static uint64_t seen(struct pair_ctx *c, const void *p)
{
	return (uintptr_t)(c->seen + ((const uint8_t *)p - c->page));
}

/* ---- DRM's BOs ---- */

static int gem_close(struct pair_ctx *c)
{
	return rk_gem_close(fd_of(c), bo_of(c)->handle);
}

static int export(struct pair_ctx *c)
{
	int fd = rk_export(fd_of(c), bo_of(c)->handle);

	if (fd >= 0)
		keep_fd(&bo_of(c)->dmabuf, fd);
	return fd < 0 ? fd : 0;
}

/* Of any file, or of another driver. */
static int some_dmabuf(struct pair_ctx *c)
{
	enum pair_file f = one_in(c, 2) ? c->f : pair_below(c, FILES);
	const struct pair_bo *bo = &pool.file[f].bo[c->i];

	if (one_in(c, 6))
		return pool.foreign;
	return f == MISC ? (int)bo->handle : bo->dmabuf;
}

static int import(struct pair_ctx *c)
{
	struct pair_bo *bo = &pool.file[c->f].bo[IMPORT];
	struct drm_rknpu_mem_create vc = { 0 };
	struct drm_prime_handle p = { .fd = some_dmabuf(c) };
	int ret = rk_ioctl(fd_of(c), DRM_IOCTL_PRIME_FD_TO_HANDLE, &p);

	if (ret)
		return ret;
	bo->handle = p.handle;
	vc.handle = p.handle;
	if (c->f == VENDOR && !v_ioctl(c->f, DRM_IOCTL_RKNPU_MEM_CREATE, &vc))
		bo->obj = vc.obj_addr;
	return 0;
}

/* ---- CPU mappings ---- */

static int map_bo(struct pair_ctx *c)
{
	const struct pair_bo *bo = bo_of(c);
	void *p = mmap(NULL, RK_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       c->f == MISC ? (int)bo->handle : fd_of(c), c->f == MISC ? 0 : bo->offset);

	if (p == MAP_FAILED)
		return -errno;
	keep_map(&bo_of(c)->map, p);
	return 0;
}

static int unmap_bo(struct pair_ctx *c)
{
	keep_map(&bo_of(c)->map, NULL);
	return 0;
}

/* By the kernel, which another thread's munmap() does not harm. */
static int touch_bo(struct pair_ctx *c)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int ret = sys(read(zero, (uint8_t *)bo_of(c)->map + RK_PAGE - 8, 8));

	if (one_in(c, 2))
		madvise(bo_of(c)->map, RK_PAGE, MADV_DONTNEED);
	close(zero);
	return ret;
}

/* ---- files ---- */

static int close_file(struct pair_ctx *c)
{
	int fd = __atomic_exchange_n(&pool.file[c->f].fd, -1, __ATOMIC_RELAXED);

	return sys(close(fd));
}

static int poll_fd(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };

	return sys(poll(&p, 1, ms));
}

static int poll_file(struct pair_ctx *c)
{
	return poll_fd(fd_of(c), 0);
}

static int read_fdinfo(struct pair_ctx *c)
{
	long long ret = rk_fdinfo(fd_of(c), "drm-driver");

	return ret < 0 ? ret : 0;
}

/* ---- the rocket uAPI ---- */

static int r_create(struct pair_ctx *c)
{
	struct drm_rocket_create_bo a = { .size = 1 + pair_below(c, 4 * RK_PAGE) };
	struct pair_bo *bo = &pool.file[c->f].bo[PLAIN];
	int ret = rk_ioctl(fd_of(c), DRM_IOCTL_ROCKET_CREATE_BO, &a);
	uint32_t old = bo->handle;

	if (ret)
		return ret;
	bo->handle = a.handle;
	bo->iova = a.dma_address;
	bo->offset = a.offset;
	rk_gem_close(fd_of(c), old);
	return 0;
}

static void fill_job(struct pair_ctx *c, struct drm_rocket_job *job)
{
	const struct pair_bo *bo = pool.file[c->f].bo;
	struct drm_rocket_task *tasks = array(c, 1);
	uint32_t *handles = array(c, 2);
	unsigned int n = 1 + pair_below(c, 3);

	for (unsigned int i = 0; i < n; i++)
		tasks[i] = pool.task;
	handles[0] = bo[PROGRAM].handle;
	handles[1] = bo[PLAIN].handle;
	rk_job(job, (void *)(uintptr_t)seen(c, tasks), n, (void *)(uintptr_t)seen(c, &handles[1]), 1,
	       (void *)(uintptr_t)seen(c, &handles[0]), 1);
}

static int r_submit(struct pair_ctx *c)
{
	struct drm_rocket_job *job = array(c, 0);
	struct drm_rocket_submit s = {
		.jobs = seen(c, job), .job_count = 1, .job_struct_size = sizeof(*job),
	};

	fill_job(c, job);
	return rk_ioctl(fd_of(c), DRM_IOCTL_ROCKET_SUBMIT, &s);
}

static int r_submit_ext(struct pair_ctx *c)
{
	struct drm_rocket_job_ext *job = array(c, 0);
	struct drm_rocket_sync *sync = array(c, 3);
	struct drm_rocket_submit_ext s = {
		.jobs = seen(c, job), .job_count = 1, .job_struct_size = sizeof(*job),
	};
	int ret;

	memset(job, 0, sizeof(*job));
	fill_job(c, (struct drm_rocket_job *)job);
	sync[0] = (struct drm_rocket_sync) { .handle = pool.sync[0] };
	sync[1] = (struct drm_rocket_sync) {
		.handle = pool.sync[1], .point = 1 + pair_below(c, 1000),
	};
	job->in_syncs = seen(c, &sync[0]);
	job->in_sync_count = one_in(c, 2);
	job->out_syncs = seen(c, &sync[0]);
	job->out_sync_count = 2;
	job->sync_struct_size = sizeof(*sync);
	job->core_mask = pair_below(c, 8);
	ret = rk_ioctl(fd_of(c), DRM_IOCTL_ROCKET_SUBMIT_EXT, &s);
	if (!ret)
		pool.job = s.first_job;
	return ret;
}

static int64_t soon(struct pair_ctx *c)
{
	return one_in(c, 2) ? 0 : rk_now() + SHORT_NS;
}

static int r_wait_job(struct pair_ctx *c)
{
	struct drm_rocket_wait_job w = { .job = pool.job, .timeout_ns = soon(c) };

	return rk_ioctl(fd_of(c), DRM_IOCTL_ROCKET_WAIT_JOB, &w);
}

static int r_prep(struct pair_ctx *c)
{
	return rk_prep_until(fd_of(c), bo_of(c)->handle, soon(c));
}

static int r_fini(struct pair_ctx *c)
{
	struct drm_rocket_fini_bo a = { .handle = bo_of(c)->handle };

	return rk_ioctl(fd_of(c), DRM_IOCTL_ROCKET_FINI_BO, &a);
}

static uint64_t ranges(struct pair_ctx *c)
{
	struct drm_rocket_bo_range *r = array(c, 0);

	r[0] = (struct drm_rocket_bo_range) { .offset = 0, .size = 64 };
	r[1] = (struct drm_rocket_bo_range) { .offset = 128, .size = 64 };
	return seen(c, r);
}

static int r_prep_ranges(struct pair_ctx *c)
{
	struct drm_rocket_prep_bo_ranges a = {
		.handle = bo_of(c)->handle, .range_count = 2, .ranges = ranges(c),
		.timeout_ns = soon(c),
	};

	return rk_ioctl(fd_of(c), DRM_IOCTL_ROCKET_PREP_BO_RANGES, &a);
}

static int r_fini_ranges(struct pair_ctx *c)
{
	struct drm_rocket_fini_bo_ranges a = {
		.handle = bo_of(c)->handle, .range_count = 2, .ranges = ranges(c),
	};

	return rk_ioctl(fd_of(c), DRM_IOCTL_ROCKET_FINI_BO_RANGES, &a);
}

static int r_get_param(struct pair_ctx *c)
{
	struct drm_rocket_get_param a = { .param = pair_below(c, 20) };
	int ret = rk_ioctl(fd_of(c), DRM_IOCTL_ROCKET_GET_PARAM, &a);

	/* Some numbers are none. */
	return ret == -EINVAL ? 0 : ret;
}

static int r_bo_info(struct pair_ctx *c)
{
	struct drm_rocket_bo_info a = { .handle = bo_of(c)->handle };

	return rk_ioctl(fd_of(c), DRM_IOCTL_ROCKET_GET_BO_INFO, &a);
}

/* ---- syncobjs ---- */

static uint32_t *sync_of(struct pair_ctx *c)
{
	return &pool.sync[c->i % SYNCS];
}

static int s_create(struct pair_ctx *c)
{
	struct drm_syncobj_create a = { .flags = pair_below(c, 2) };
	struct drm_syncobj_destroy d = { .handle = *sync_of(c) };
	int ret = rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_CREATE, &a);

	if (ret)
		return ret;
	*sync_of(c) = a.handle;
	rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_DESTROY, &d);
	return 0;
}

static int s_destroy(struct pair_ctx *c)
{
	struct drm_syncobj_destroy a = { .handle = *sync_of(c) };

	return rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_DESTROY, &a);
}

static uint64_t sync_array(struct pair_ctx *c)
{
	uint32_t *handles = array(c, 0);

	memcpy(handles, pool.sync, sizeof(pool.sync));
	return seen(c, handles);
}

static int s_reset(struct pair_ctx *c)
{
	struct drm_syncobj_array a = { .handles = sync_array(c), .count_handles = SYNCS };

	return rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_RESET, &a);
}

static int s_signal(struct pair_ctx *c)
{
	struct drm_syncobj_array a = { .handles = sync_array(c), .count_handles = SYNCS };

	return rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_SIGNAL, &a);
}

static int s_wait(struct pair_ctx *c)
{
	struct drm_syncobj_wait a = {
		.handles = sync_array(c), .count_handles = SYNCS, .timeout_nsec = soon(c),
		.flags = pair_below(c, 4),
	};

	return rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_WAIT, &a);
}

static uint64_t sync_points(struct pair_ctx *c)
{
	uint64_t *points = array(c, 1);

	/* The first one has none, the other one mostly has. */
	points[0] = 0;
	points[1] = pair_below(c, 3);
	return seen(c, points);
}

static int s_timeline_wait(struct pair_ctx *c)
{
	struct drm_syncobj_timeline_wait a = {
		.handles = sync_array(c), .points = sync_points(c), .count_handles = SYNCS,
		.timeout_nsec = soon(c), .flags = pair_below(c, 4),
	};

	return rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &a);
}

static int s_query(struct pair_ctx *c)
{
	struct drm_syncobj_timeline_array a = {
		.handles = sync_array(c), .points = sync_points(c), .count_handles = SYNCS,
	};

	return rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_QUERY, &a);
}

static int s_transfer(struct pair_ctx *c)
{
	struct drm_syncobj_transfer a = {
		.src_handle = pool.sync[0], .dst_handle = pool.sync[1],
		.dst_point = 1 + pair_below(c, 1000),
	};

	return rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_TRANSFER, &a);
}

static int s_export(struct pair_ctx *c)
{
	struct drm_syncobj_handle a = {
		.handle = *sync_of(c), .fd = -1,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	int ret = rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &a);

	if (!ret)
		keep_fd(&pool.sync_file[c->i % SYNC_FILES], a.fd);
	return ret;
}

static int s_import(struct pair_ctx *c)
{
	struct drm_syncobj_handle a = {
		.handle = *sync_of(c), .fd = pool.sync_file[c->i % SYNC_FILES],
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
	};

	return rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &a);
}

/* The syncobj itself, as another process would get it. */
static int s_pass(struct pair_ctx *c)
{
	struct drm_syncobj_handle a = { .handle = *sync_of(c), .fd = -1 }, b = { 0 };
	struct drm_syncobj_destroy d = { 0 };
	int ret = rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &a);

	if (ret)
		return ret;
	b.fd = a.fd;
	ret = rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &b);
	d.handle = b.handle;
	if (!ret)
		rk_ioctl(fd_of(c), DRM_IOCTL_SYNCOBJ_DESTROY, &d);
	close(a.fd);
	return ret;
}

/* ---- the vendor's uAPI, on either node ---- */

static int v_destroy_bo(enum pair_file f, const struct pair_bo *bo)
{
	struct drm_rknpu_mem_destroy a = { .handle = bo->handle, .obj_addr = bo->obj };

	return v_ioctl(f, DRM_IOCTL_RKNPU_MEM_DESTROY, &a);
}

static int v_create(struct pair_ctx *c)
{
	struct drm_rknpu_mem_create a = {
		.flags = RV_FLAGS, .size = 1 + pair_below(c, 4 * RK_PAGE),
		.iommu_domain_id = one_in(c, 4) ? (int)pair_below(c, 4) : 0,
	};
	int ret = v_ioctl(c->f, DRM_IOCTL_RKNPU_MEM_CREATE, &a);

	if (ret)
		return ret;
	v_destroy_bo(c->f, &(struct pair_bo) { .handle = a.handle, .obj = a.obj_addr });
	if (c->f == MISC)
		close(a.handle);
	return 0;
}

/* On the DRM node what was imported is described; on /dev/rknpu this is the import. */
static int v_import(struct pair_ctx *c)
{
	struct pair_bo *bo = &pool.file[c->f].bo[IMPORT];
	struct drm_rknpu_mem_create a = { .handle = bo_of(c)->handle };
	int ret;

	if (c->f == MISC && one_in(c, 2))
		a.handle = some_dmabuf(c);
	ret = v_ioctl(c->f, DRM_IOCTL_RKNPU_MEM_CREATE, &a);
	if (!ret && c->f == MISC)
		bo->obj = a.obj_addr;
	return ret;
}

static int v_mmap(struct pair_ctx *c)
{
	struct drm_rknpu_mem_map a = { .handle = bo_of(c)->handle };
	int ret = v_ioctl(c->f, DRM_IOCTL_RKNPU_MEM_MAP, &a);

	if (!ret)
		bo_of(c)->offset = a.offset;
	return ret;
}

static int v_destroy(struct pair_ctx *c)
{
	return v_destroy_bo(c->f, bo_of(c));
}

static int v_sync(struct pair_ctx *c)
{
	struct drm_rknpu_mem_sync a = {
		.flags = 1 + pair_below(c, 3), .obj_addr = bo_of(c)->obj, .size = 64,
	};

	return v_ioctl(c->f, DRM_IOCTL_RKNPU_MEM_SYNC, &a);
}

static void fill_submit(struct pair_ctx *c, struct drm_rknpu_submit *s)
{
	static const uint32_t masks[] = { 0, 1, 2, 4, 3, 7 };
	const struct rv_chain chain = { .n = 1, .tasks.obj = pool.file[c->f].bo[PLAIN].obj };

	rv_chain_submit(&chain, s);
	/* A job of three cores has its slices behind the others'. */
	s->subcore_task[3] = s->subcore_task[0];
	s->subcore_task[4] = s->subcore_task[0];
	s->timeout = VENDOR_MS;
	s->core_mask = masks[pair_below(c, 6)];
}

static int v_submit(struct pair_ctx *c)
{
	struct drm_rknpu_submit s;

	fill_submit(c, &s);
	return v_ioctl(c->f, DRM_IOCTL_RKNPU_SUBMIT, &s);
}

static int v_submit_async(struct pair_ctx *c)
{
	struct drm_rknpu_submit s;
	int ret;

	fill_submit(c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	s.fence_fd = pool.sync_file[0];
	if (s.fence_fd >= 0 && one_in(c, 2))
		s.flags |= DRM_RKNPU_JOB_FENCE_IN;
	ret = v_ioctl(c->f, DRM_IOCTL_RKNPU_SUBMIT, &s);
	if (!ret)
		keep_fd(&pool.sync_file[0], s.fence_fd);
	return ret;
}

static int v_action(struct pair_ctx *c)
{
	static const uint32_t ids[] = {
		DRM_RKNPU_GET_HW_VERSION, DRM_RKNPU_GET_FREQ, DRM_RKNPU_GET_VOLT,
		DRM_RKNPU_SET_IOMMU_DOMAIN_ID, DRM_RKNPU_GET_IOMMU_DOMAIN_ID,
	};
	struct drm_rknpu_action a = { .flags = ids[pair_below(c, 5)] };
	int ret = v_ioctl(c->f, DRM_IOCTL_RKNPU_ACTION, &a);

	/* Not every device tree has a supply. */
	return ret == -EINVAL ? 0 : ret;
}

static int v_reset(struct pair_ctx *c)
{
	struct drm_rknpu_action a = { .flags = DRM_RKNPU_RESET };

	return v_ioctl(c->f, DRM_IOCTL_RKNPU_ACTION, &a);
}

/* ---- dma-bufs and sync_files ---- */

static int dmabuf_of(struct pair_ctx *c)
{
	return c->f == MISC ? (int)bo_of(c)->handle : bo_of(c)->dmabuf;
}

static int d_sync(struct pair_ctx *c)
{
	struct dma_buf_sync a = { .flags = DMA_BUF_SYNC_START | (1 + pair_below(c, 3)) };
	int fd = dmabuf_of(c);
	int ret = rk_ioctl(fd, DMA_BUF_IOCTL_SYNC, &a);

	a.flags = DMA_BUF_SYNC_END | (a.flags & DMA_BUF_SYNC_RW);
	return ret ? ret : rk_ioctl(fd, DMA_BUF_IOCTL_SYNC, &a);
}

static int d_export_fence(struct pair_ctx *c)
{
	struct dma_buf_export_sync_file a = { .flags = DMA_BUF_SYNC_RW, .fd = -1 };
	int ret = rk_ioctl(dmabuf_of(c), DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &a);

	if (!ret)
		keep_fd(&pool.sync_file[c->i % SYNC_FILES], a.fd);
	return ret;
}

static int d_import_fence(struct pair_ctx *c)
{
	struct dma_buf_import_sync_file a = {
		.flags = 1 + pair_below(c, 2), .fd = pool.sync_file[c->i % SYNC_FILES],
	};

	return rk_ioctl(dmabuf_of(c), DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &a);
}

static int d_map(struct pair_ctx *c)
{
	void *p = mmap(NULL, RK_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf_of(c), 0);

	if (p == MAP_FAILED)
		return -errno;
	keep_map(&bo_of(c)->map, p);
	return 0;
}

static int d_close(struct pair_ctx *c)
{
	if (c->f == MISC)
		return sys(close(bo_of(c)->handle));
	keep_fd(&bo_of(c)->dmabuf, -1);
	return 0;
}

static int d_poll(struct pair_ctx *c)
{
	/*
	 * Before 5.16 (ff2d23843f7f) the kernel hits a BUG_ON() in dma_buf_release() if a dma-buf
	 * is closed while a fence holds a poll() of it.
	 */
	if (rk_kernel_before(5, 16))
		return -EOPNOTSUPP;
	return poll_fd(dmabuf_of(c), 1);
}

static int f_merge(struct pair_ctx *c)
{
	struct sync_merge_data a = { .fd2 = pool.sync_file[1], .name = "pair" };
	int ret = rk_ioctl(pool.sync_file[0], SYNC_IOC_MERGE, &a);

	if (!ret)
		keep_fd(&pool.sync_file[pair_below(c, 2)], a.fence);
	return ret;
}

static int f_info(struct pair_ctx *c)
{
	struct sync_fence_info *fences = array(c, 0);
	struct sync_file_info a = { .num_fences = 8, .sync_fence_info = seen(c, fences) };

	return rk_ioctl(pool.sync_file[c->i % SYNC_FILES], SYNC_IOC_FILE_INFO, &a);
}

static int f_close(struct pair_ctx *c)
{
	return sys(close(__atomic_exchange_n(&pool.sync_file[c->i % SYNC_FILES], -1,
					     __ATOMIC_RELAXED)));
}

static int f_poll(struct pair_ctx *c)
{
	return poll_fd(pool.sync_file[c->i % SYNC_FILES], 1);
}

/* ---- processes, and everything at once ---- */

static int p_fork(struct pair_ctx *c)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		munmap(bo_of(c)->map, RK_PAGE);
		close(fd_of(c));
		_exit(0);
	}
	return sys(waitpid(pid, NULL, 0));
}

static int p_kill(struct pair_ctx *c)
{
	return sys(kill(getpid(), SIGKILL));
}

static int p_drop(struct pair_ctx *c)
{
	for (unsigned int i = 0; i < FILES; i++)
		pair_drop((c->f + i) % FILES);
	return 0;
}

#define DRM_OPS(p, file)							\
	{ p "gclose", gem_close, file }, { p "export", export, file },		\
	{ p "fdtoh", import, file }

#define FILE_OPS(p, file)							\
	{ p "map", map_bo, file }, { p "unmap", unmap_bo, file },		\
	{ p "touch", touch_bo, file }, { p "close", close_file, file },		\
	{ p "poll", poll_file, file }, { p "fdinfo", read_fdinfo, file }

#define VENDOR_OPS(p, file)							\
	{ p "create", v_create, file }, { p "import", v_import, file },		\
	{ p "destr", v_destroy, file }, { p "sync", v_sync, file },		\
	{ p "submit", v_submit, file }, { p "subasy", v_submit_async, file },	\
	{ p "action", v_action, file }, { p "reset", v_reset, file }

#define DMABUF_OPS(p, file)							\
	{ p "dsync", d_sync, file }, { p "dexpf", d_export_fence, file },	\
	{ p "dimpf", d_import_fence, file }, { p "dmap", d_map, file },		\
	{ p "dclose", d_close, file }, { p "dpoll", d_poll, file }

const struct pair_op pair_ops[] = {
	{ "rcreate", r_create, ROCKET }, { "rsubmit", r_submit, ROCKET, PAIR_ARRAYS },
	{ "rsubext", r_submit_ext, ROCKET, PAIR_ARRAYS }, { "rwait", r_wait_job, ROCKET },
	{ "rprep", r_prep, ROCKET }, { "rfini", r_fini, ROCKET },
	{ "rprepr", r_prep_ranges, ROCKET, PAIR_ARRAYS },
	{ "rfinir", r_fini_ranges, ROCKET, PAIR_ARRAYS },
	{ "rparam", r_get_param, ROCKET }, { "rboinf", r_bo_info, ROCKET },
	DRM_OPS("r", ROCKET), FILE_OPS("r", ROCKET), DMABUF_OPS("r", ROCKET),
	{ "screate", s_create, ROCKET }, { "sdestr", s_destroy, ROCKET },
	{ "sreset", s_reset, ROCKET, PAIR_ARRAYS }, { "ssignal", s_signal, ROCKET, PAIR_ARRAYS },
	{ "swait", s_wait, ROCKET, PAIR_ARRAYS }, { "stwait", s_timeline_wait, ROCKET, PAIR_ARRAYS },
	{ "squery", s_query, ROCKET, PAIR_ARRAYS }, { "stransf", s_transfer, ROCKET },
	{ "sexport", s_export, ROCKET }, { "simport", s_import, ROCKET }, { "spass", s_pass, ROCKET },
	{ "fmerge", f_merge, ROCKET }, { "finfo", f_info, ROCKET, PAIR_ARRAYS },
	{ "fclose", f_close, ROCKET }, { "fpoll", f_poll, ROCKET },
	/* The same BOs in another file. */
	{ "oprep", r_prep, OTHER }, { "oboinf", r_bo_info, OTHER }, { "omap", map_bo, OTHER },
	{ "oclose", close_file, OTHER }, DRM_OPS("o", OTHER),
	{ "fork", p_fork, ROCKET }, { "kill", p_kill, ROCKET, PAIR_LETHAL }, { "drop", p_drop, ROCKET },
	VENDOR_OPS("v", VENDOR), { "vmmap", v_mmap, VENDOR },
	DRM_OPS("v", VENDOR), FILE_OPS("v", VENDOR), DMABUF_OPS("v", VENDOR),
	VENDOR_OPS("m", MISC), FILE_OPS("m", MISC), DMABUF_OPS("m", MISC),
};

const unsigned int pair_op_count = sizeof(pair_ops) / sizeof(pair_ops[0]);

/* ---- the pool ---- */

static int open_file(enum pair_file f)
{
	int fd;

	for (int i = 0; i < BOS; i++) {
		struct pair_bo *bo = &pool.file[f].bo[i];

		keep_map(&bo->map, NULL);
		keep_fd(&bo->dmabuf, -1);
		*bo = (struct pair_bo) { .dmabuf = -1 };
	}
	if (f == ROCKET)
		memset(pool.sync, 0, sizeof(pool.sync));
	fd = open(pair_path[f], O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	pool.file[f].fd = fd;
	return 0;
}

/* Handles and descriptors may stand for something else by now. */
static bool there(enum pair_file f, const struct pair_bo *bo)
{
	struct drm_rocket_bo_info info = { .handle = bo->handle };
	struct drm_rknpu_mem_create a = { .handle = bo->handle };
	int fd = pool.file[f].fd;

	if (!bo->handle)
		return false;
	if (f < VENDOR)
		return !rk_ioctl(fd, DRM_IOCTL_ROCKET_GET_BO_INFO, &info) && info.dma_address == bo->iova;
	if (v_ioctl(f, DRM_IOCTL_RKNPU_MEM_CREATE, &a))
		return false;
	/* That was an import. */
	if (f == MISC)
		v_destroy_bo(f, &(struct pair_bo) { .obj = a.obj_addr });
	return a.obj_addr == bo->obj;
}

static int fill_rocket(void)
{
	struct pair_bo *bo = pool.file[ROCKET].bo;
	int fd = pool.file[ROCKET].fd;
	struct rk_bo plain;
	struct rk_op op;
	int ret = rk_op_init(&op, fd, RK_M, 1, 1);

	if (!ret)
		ret = rk_op_task(&op, op.bo.iova + DATA_IN, op.bo.iova + DATA_OUT, &pool.task);
	if (!ret)
		ret = rk_bo_init(&plain, fd, RK_PAGE);
	if (ret)
		return ret;
	/* All but a page of it. */
	munmap(op.bo.map + RK_PAGE, op.bo.size - RK_PAGE);
	bo[PROGRAM] = (struct pair_bo) { op.bo.handle, 0, op.bo.iova, op.bo.offset, op.bo.map, -1 };
	bo[PLAIN] = (struct pair_bo) { plain.handle, 0, plain.iova, plain.offset, plain.map, -1 };
	return 0;
}

/* Those of the first file. */
static int fill_other(void)
{
	int ret = pair_fill(ROCKET);

	for (unsigned int i = PROGRAM; i <= PLAIN && !ret; i++) {
		struct drm_prime_handle p = { .fd = pool.file[ROCKET].bo[i].dmabuf };
		struct drm_rocket_bo_info info = { 0 };

		ret = rk_ioctl(pool.file[OTHER].fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p);
		info.handle = p.handle;
		if (!ret)
			ret = rk_ioctl(pool.file[OTHER].fd, DRM_IOCTL_ROCKET_GET_BO_INFO, &info);
		pool.file[OTHER].bo[i] = (struct pair_bo) {
			info.handle, 0, info.dma_address, info.offset, NULL, -1,
		};
	}
	return ret;
}

static struct pair_bo from_vendor(const struct rv_bo *bo)
{
	if (bo->size > RK_PAGE)
		munmap(bo->map + RK_PAGE, bo->size - RK_PAGE);
	return (struct pair_bo) { bo->handle, bo->obj, bo->iova, 0, bo->map, -1 };
}

static int fill_vendor(enum pair_file f)
{
	struct rv_chain chain;
	int ret = rv_chain_init(&chain, pool.file[f].fd, 1, 0, 0);

	if (ret)
		return ret;
	pool.file[f].bo[PROGRAM] = from_vendor(&chain.bo);
	pool.file[f].bo[PLAIN] = from_vendor(&chain.tasks);
	return 0;
}

static int fill_syncs(void)
{
	for (int i = 0; i < SYNCS; i++) {
		struct drm_syncobj_create a = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };
		int ret = pool.sync[i] ? 0 : rk_ioctl(pool.file[ROCKET].fd, DRM_IOCTL_SYNCOBJ_CREATE, &a);

		if (ret)
			return ret;
		if (a.handle)
			pool.sync[i] = a.handle;
	}
	for (unsigned int i = 0; i < SYNC_FILES; i++) {
		struct pair_ctx c = { .f = ROCKET, .i = i, .rng = 1 };

		/* Of a syncobj that another thread has just reset there is none. */
		if (pool.sync_file[i] < 0)
			s_export(&c);
	}
	return 0;
}

int pair_fill(enum pair_file f)
{
	struct pair_bo *bo = pool.file[f].bo;
	int ret = 0;

	if (pool.file[f].fd < 0)
		ret = open_file(f);
	if (!ret && (!there(f, &bo[PROGRAM]) || !there(f, &bo[PLAIN]))) {
		pair_drop(f);
		ret = f >= VENDOR ? fill_vendor(f) : f == OTHER ? fill_other() : fill_rocket();
	}
	for (unsigned int i = PROGRAM; i <= PLAIN && !ret; i++) {
		struct pair_ctx c = { .f = f, .i = i, .rng = 1 };

		if (f != MISC && bo[i].dmabuf < 0)
			ret = export(&c);
		if (!ret && f == VENDOR)
			v_mmap(&c);
		if (!ret && !bo[i].map)
			map_bo(&c);
	}
	if (!ret && f == ROCKET)
		ret = fill_syncs();
	return ret;
}

void pair_drop(enum pair_file f)
{
	for (unsigned int i = 0; i < BOS; i++) {
		struct pair_bo *bo = &pool.file[f].bo[i], old = *bo;

		*bo = (struct pair_bo) { .dmabuf = -1 };
		for (int n = 0; n < MANY && f == MISC && old.obj && !v_destroy_bo(f, &old); n++)
			;
		for (int n = 0; n < MANY && f != MISC && old.handle &&
		     !rk_gem_close(pool.file[f].fd, old.handle); n++)
			;
		if (f == MISC && old.handle)
			close(old.handle);
		if (old.dmabuf >= 0)
			close(old.dmabuf);
		if (old.map)
			munmap(old.map, RK_PAGE);
	}
	for (unsigned int i = 0; i < SYNCS && f == ROCKET; i++) {
		struct drm_syncobj_destroy a = { .handle = pool.sync[i] };

		pool.sync[i] = 0;
		rk_ioctl(pool.file[f].fd, DRM_IOCTL_SYNCOBJ_DESTROY, &a);
	}
	for (unsigned int i = 0; i < SYNC_FILES; i++)
		keep_fd(&pool.sync_file[i], -1);
}

void pair_reset(int first)
{
	for (enum pair_file f = 0; f < FILES; f++) {
		for (unsigned int i = 0; i < BOS; i++) {
			if (pool.file[f].bo[i].map)
				munmap(pool.file[f].bo[i].map, RK_PAGE);
			pool.file[f].bo[i] = (struct pair_bo) { .dmabuf = -1 };
		}
		pool.file[f].fd = -1;
	}
	for (unsigned int i = 0; i < SYNC_FILES; i++)
		pool.sync_file[i] = -1;
	memset(pool.sync, 0, sizeof(pool.sync));
	pool.job = 0;
	for (int fd = first; fd < first + 256; fd++)
		close(fd);
}
