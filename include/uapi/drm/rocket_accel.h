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
	 * the calling file. Never 0, page aligned, the BO ends below 4 GiB.
	 */
	__u64 dma_address;

	/** @offset: Out: fake offset to pass to mmap() on the same file. */
	__u64 offset;
};

/**
 * struct drm_rocket_prep_bo - wait until the CPU may use a BO
 *
 * Waits for all jobs that read or write the BO, then makes what the NPU wrote
 * visible to the CPU.
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
	/** @regcmd: In: IOVA of the register commands, 16-byte aligned. */
	__u32 regcmd;

	/**
	 * @regcmd_count: In: number of 64-bit register commands, 1 to 131072
	 * (the hardware counts 128-bit fetches in 16 bits).
	 */
	__u32 regcmd_count;
};

/**
 * struct drm_rocket_job - tasks that run in order on one core
 */
struct drm_rocket_job {
	/** @tasks: In: pointer to an array of struct drm_rocket_task. */
	__u64 tasks;

	/** @in_bo_handles: In: pointer to u32 handles of BOs the job reads. */
	__u64 in_bo_handles;

	/** @out_bo_handles: In: pointer to u32 handles of BOs the job writes. */
	__u64 out_bo_handles;

	/** @task_count: In: number of tasks, at least 1. */
	__u32 task_count;

	/** @task_struct_size: In: bytes per element of @tasks, at least 8. */
	__u32 task_struct_size;

	/** @in_bo_handle_count: In: number of handles in @in_bo_handles. */
	__u32 in_bo_handle_count;

	/** @out_bo_handle_count: In: number of handles in @out_bo_handles. */
	__u32 out_bo_handle_count;
};

/**
 * struct drm_rocket_submit - queue jobs for execution
 */
struct drm_rocket_submit {
	/** @jobs: In: pointer to an array of struct drm_rocket_job. */
	__u64 jobs;

	/** @job_count: In: number of jobs, at least 1. */
	__u32 job_count;

	/** @job_struct_size: In: bytes per element of @jobs, at least 40. */
	__u32 job_struct_size;

	/** @reserved: In: must be 0. */
	__u64 reserved;
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_ROCKET_ACCEL_H_ */
