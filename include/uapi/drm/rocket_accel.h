/* SPDX-License-Identifier: MIT */
/*
 * User ABI of the accel node named "rocket": the four ioctls of mainline
 * Linux, byte for byte.
 */
#ifndef _UAPI_ROCKET_ACCEL_H_
#define _UAPI_ROCKET_ACCEL_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define DRM_ROCKET_CREATE_BO			0x00
#define DRM_ROCKET_SUBMIT			0x01
#define DRM_ROCKET_PREP_BO			0x02
#define DRM_ROCKET_FINI_BO			0x03

#define DRM_IOCTL_ROCKET_CREATE_BO						\
	DRM_IOWR(DRM_COMMAND_BASE + DRM_ROCKET_CREATE_BO, struct drm_rocket_create_bo)
#define DRM_IOCTL_ROCKET_SUBMIT							\
	DRM_IOW(DRM_COMMAND_BASE + DRM_ROCKET_SUBMIT, struct drm_rocket_submit)
#define DRM_IOCTL_ROCKET_PREP_BO						\
	DRM_IOW(DRM_COMMAND_BASE + DRM_ROCKET_PREP_BO, struct drm_rocket_prep_bo)
#define DRM_IOCTL_ROCKET_FINI_BO						\
	DRM_IOW(DRM_COMMAND_BASE + DRM_ROCKET_FINI_BO, struct drm_rocket_fini_bo)

/**
 * struct drm_rocket_create_bo - allocate a BO and map it for the NPU
 *
 * The BO is zeroed. EINVAL: @size is out of its limits. ENOMEM: no memory.
 * ENOSPC: no room in the address space.
 */
struct drm_rocket_create_bo {
	/**
	 * @size: In: bytes wanted, 1 to 2 GiB - 4096; the BO is rounded up to
	 * whole pages.
	 */
	__u32 size;

	/** @handle: Out: GEM handle, valid in the calling file. */
	__u32 handle;

	/**
	 * @dma_address: Out: IOVA of the first byte in the address space of
	 * the calling file. Never 0, page aligned, the BO ends below 4 GiB;
	 * the lowest place that is free, so that BOs made one after the other
	 * lie side by side. It stays mapped until the handle is closed and
	 * every job of the file that was submitted before that is done.
	 */
	__u64 dma_address;

	/**
	 * @offset: Out: fake offset to pass to mmap() on the same file.
	 * Mappings are cached, and must be shared if they can be written.
	 */
	__u64 offset;
};

/**
 * struct drm_rocket_prep_bo - wait until the CPU may use a BO
 *
 * Waits for all jobs that list the BO, as read or as written, then makes what
 * the NPU wrote visible to the CPU. Caches of a BO that was imported from
 * another driver are that driver's business (DMA_BUF_IOCTL_SYNC).
 *
 * ETIMEDOUT: the time came. EBUSY: see @timeout_ns. EINTR: interrupted; the BO
 * is still in use, call again. ENOENT: no such handle. EINVAL: @reserved.
 *
 * After a successful wait the call still fails if a job that lists the BO as
 * written failed: with the first error since one was last reported, and again
 * with the same one until another job that writes the BO is submitted. ETIME: a
 * task took too long or never started. EFAULT: it accessed an IOVA where
 * nothing is mapped. EIO: its memory access failed. ECANCELED: its file was
 * closed before it ran. ENODEV: the device went away. What the BO then holds is
 * undefined, but visible.
 */
struct drm_rocket_prep_bo {
	/** @handle: In: GEM handle. */
	__u32 handle;

	/** @reserved: In: must be 0. */
	__u32 reserved;

	/**
	 * @timeout_ns: In: absolute CLOCK_MONOTONIC time in ns to give up at.
	 * In the past: do not wait, fail with EBUSY while the BO is in use.
	 */
	__s64 timeout_ns;
};

/**
 * struct drm_rocket_fini_bo - hand a BO back to the NPU after CPU access
 */
struct drm_rocket_fini_bo {
	/** @handle: In: GEM handle. */
	__u32 handle;

	/** @reserved: In: must be 0. */
	__u32 reserved;
};

/**
 * struct drm_rocket_task - the smallest unit of work: one register program
 */
struct drm_rocket_task {
	/**
	 * @regcmd: In: IOVA of the register commands, 16-byte aligned. They
	 * lie in one BO of the calling file, up to the next multiple of 16
	 * bytes (the hardware fetches them in pairs).
	 */
	__u32 regcmd;

	/**
	 * @regcmd_count: In: number of 64-bit register commands, 1 to 131072
	 * (the hardware counts 128-bit fetches in 16 bits).
	 */
	__u32 regcmd_count;
};

/**
 * struct drm_rocket_job - tasks that run in order on one core
 *
 * Jobs run on any core and side by side, ordered only by the BOs they list: a
 * job starts when the jobs submitted earlier that write a BO it lists are done,
 * and those that read a BO it writes. A BO may be listed more than once; in
 * both lists it is written.
 */
struct drm_rocket_job {
	/** @tasks: In: pointer to an array of struct drm_rocket_task. */
	__u64 tasks;

	/** @in_bo_handles: In: pointer to u32 handles of BOs the job reads. */
	__u64 in_bo_handles;

	/** @out_bo_handles: In: pointer to u32 handles of BOs the job writes. */
	__u64 out_bo_handles;

	/**
	 * @task_count: In: number of tasks, at least 1, and at most 65536 in
	 * all jobs of a submit.
	 */
	__u32 task_count;

	/**
	 * @task_struct_size: In: bytes per element of @tasks, 8 to the page
	 * size; what is beyond the fields here must be 0.
	 */
	__u32 task_struct_size;

	/**
	 * @in_bo_handle_count: In: number of handles in @in_bo_handles; both
	 * lists together hold at most 4096, and those of all jobs of a submit
	 * at most 65536.
	 */
	__u32 in_bo_handle_count;

	/** @out_bo_handle_count: In: number of handles in @out_bo_handles. */
	__u32 out_bo_handle_count;
};

/**
 * struct drm_rocket_submit - queue jobs for execution
 *
 * All or nothing: on any error no job was queued. EINVAL: a field is out of its
 * limits, or @drm_rocket_task.regcmd is not in a BO. E2BIG: an element size is
 * above its limit, or holds something this kernel does not know. ENOENT: no
 * such handle. EFAULT: memory that cannot be read. EBUSY: the file has 8192 jobs
 * that are not over, or all files together 65536; wait for some.
 */
struct drm_rocket_submit {
	/** @jobs: In: pointer to an array of struct drm_rocket_job. */
	__u64 jobs;

	/** @job_count: In: number of jobs, 1 to 1024. */
	__u32 job_count;

	/**
	 * @job_struct_size: In: bytes per element of @jobs, 40 to the page
	 * size; what is beyond the fields here must be 0.
	 */
	__u32 job_struct_size;

	/** @reserved: In: must be 0. */
	__u64 reserved;
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_ROCKET_ACCEL_H_ */
