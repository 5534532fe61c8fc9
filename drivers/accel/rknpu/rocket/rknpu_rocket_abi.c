// SPDX-License-Identifier: GPL-2.0-only
/* Owns the proof that the rocket uAPI is laid out as its user space was compiled. */
#include <linux/build_bug.h>
#include <linux/stddef.h>

#include "rknpu_rocket.h"

/* Mainline Linux 7.3, include/uapi/drm/rocket_accel.h, compiled for arm64. */
static_assert(sizeof(struct drm_rocket_create_bo) == 24);
static_assert(sizeof(struct drm_rocket_prep_bo) == 16);
static_assert(sizeof(struct drm_rocket_fini_bo) == 8);
static_assert(offsetof(struct drm_rocket_create_bo, handle) == 4);
static_assert(offsetof(struct drm_rocket_create_bo, dma_address) == 8);
static_assert(offsetof(struct drm_rocket_create_bo, offset) == 16);
static_assert(offsetof(struct drm_rocket_prep_bo, timeout_ns) == 8);
static_assert(DRM_IOCTL_ROCKET_CREATE_BO == 0xc0186440);
static_assert(DRM_IOCTL_ROCKET_PREP_BO == 0x40106442);
static_assert(DRM_IOCTL_ROCKET_FINI_BO == 0x40086443);

/* What rocket-userspace was compiled with (interface 1.5). */
static_assert(sizeof(struct drm_rocket_bo_range) == 16);
static_assert(sizeof(struct drm_rocket_prep_bo_ranges) == 32);
static_assert(sizeof(struct drm_rocket_fini_bo_ranges) == 24);
static_assert(offsetof(struct drm_rocket_prep_bo_ranges, range_count) == 4);
static_assert(offsetof(struct drm_rocket_prep_bo_ranges, ranges) == 8);
static_assert(offsetof(struct drm_rocket_prep_bo_ranges, timeout_ns) == 16);
static_assert(offsetof(struct drm_rocket_prep_bo_ranges, reserved) == 24);
static_assert(offsetof(struct drm_rocket_fini_bo_ranges, range_count) == 4);
static_assert(offsetof(struct drm_rocket_fini_bo_ranges, ranges) == 8);
static_assert(offsetof(struct drm_rocket_fini_bo_ranges, reserved) == 16);
static_assert(DRM_IOCTL_ROCKET_PREP_BO_RANGES == 0x40206444);
static_assert(DRM_IOCTL_ROCKET_FINI_BO_RANGES == 0x40186445);

/* Ours. */
static_assert(sizeof(struct drm_rocket_bo_info) == 40);
static_assert(offsetof(struct drm_rocket_bo_info, flags) == 4);
static_assert(offsetof(struct drm_rocket_bo_info, size) == 8);
static_assert(offsetof(struct drm_rocket_bo_info, dma_address) == 16);
static_assert(offsetof(struct drm_rocket_bo_info, offset) == 24);
static_assert(offsetof(struct drm_rocket_bo_info, reserved) == 32);
static_assert(DRM_IOCTL_ROCKET_GET_BO_INFO == 0xc0286463);

/* Mainline Linux 7.3, include/uapi/drm/rocket_accel.h, compiled for arm64. */
static_assert(sizeof(struct drm_rocket_task) == 8);
static_assert(offsetofend(struct drm_rocket_job, out_bo_handle_count) == 40);
static_assert(sizeof(struct drm_rocket_submit) == 24);
static_assert(offsetof(struct drm_rocket_task, regcmd_count) == 4);
static_assert(offsetof(struct drm_rocket_job, in_bo_handles) == 8);
static_assert(offsetof(struct drm_rocket_job, out_bo_handles) == 16);
static_assert(offsetof(struct drm_rocket_job, task_count) == 24);
static_assert(offsetof(struct drm_rocket_job, task_struct_size) == 28);
static_assert(offsetof(struct drm_rocket_job, in_bo_handle_count) == 32);
static_assert(offsetof(struct drm_rocket_job, out_bo_handle_count) == 36);
static_assert(offsetof(struct drm_rocket_submit, job_count) == 8);
static_assert(offsetof(struct drm_rocket_submit, job_struct_size) == 12);
static_assert(offsetof(struct drm_rocket_submit, reserved) == 16);
static_assert(DRM_IOCTL_ROCKET_SUBMIT == 0x40186441);

/* What rocket-userspace was compiled with (interface 1.1 to 1.3). */
static_assert(sizeof(struct drm_rocket_job) == 48);
static_assert(offsetof(struct drm_rocket_job, flags) == 40);
static_assert(offsetof(struct drm_rocket_job, reserved) == 44);
static_assert(DRM_ROCKET_JOB_BATCHED == 1);
static_assert(DRM_ROCKET_JOB_NO_DPU_DONE == 2);
static_assert(DRM_ROCKET_JOB_PPU_DONE == 4);

/* Ours. */
static_assert(sizeof(struct drm_rocket_submit_ext) == 32);
static_assert(offsetof(struct drm_rocket_submit_ext, job_count) == 8);
static_assert(offsetof(struct drm_rocket_submit_ext, job_struct_size) == 12);
static_assert(offsetof(struct drm_rocket_submit_ext, flags) == 16);
static_assert(offsetof(struct drm_rocket_submit_ext, reserved) == 20);
static_assert(offsetof(struct drm_rocket_submit_ext, first_job) == 24);
static_assert(sizeof(struct drm_rocket_job_ext) == 104);
static_assert(offsetof(struct drm_rocket_job_ext, in_syncs) == sizeof(struct drm_rocket_job));
static_assert(offsetof(struct drm_rocket_job_ext, out_syncs) == 56);
static_assert(offsetof(struct drm_rocket_job_ext, in_sync_count) == 64);
static_assert(offsetof(struct drm_rocket_job_ext, out_sync_count) == 68);
static_assert(offsetof(struct drm_rocket_job_ext, sync_struct_size) == 72);
static_assert(offsetof(struct drm_rocket_job_ext, core_mask) == 76);
static_assert(offsetof(struct drm_rocket_job_ext, priority) == 80);
static_assert(offsetof(struct drm_rocket_job_ext, pad) == 84);
static_assert(offsetof(struct drm_rocket_job_ext, timeout_ns) == 88);
static_assert(offsetof(struct drm_rocket_job_ext, tag) == 96);
static_assert(DRM_IOCTL_ROCKET_SUBMIT_EXT == 0xc0206461);

/* It begins as struct drm_rocket_job, which is read into it. */
static_assert(!offsetof(struct drm_rocket_job_ext, tasks));
static_assert(offsetof(struct drm_rocket_job_ext, in_bo_handles) == 8);
static_assert(offsetof(struct drm_rocket_job_ext, out_bo_handles) == 16);
static_assert(offsetof(struct drm_rocket_job_ext, task_count) == 24);
static_assert(offsetof(struct drm_rocket_job_ext, task_struct_size) == 28);
static_assert(offsetof(struct drm_rocket_job_ext, in_bo_handle_count) == 32);
static_assert(offsetof(struct drm_rocket_job_ext, out_bo_handle_count) == 36);
static_assert(offsetof(struct drm_rocket_job_ext, flags) == 40);
static_assert(offsetof(struct drm_rocket_job_ext, reserved) == 44);

static_assert(sizeof(struct drm_rocket_get_param) == 16);
static_assert(offsetof(struct drm_rocket_get_param, index) == 4);
static_assert(offsetof(struct drm_rocket_get_param, value) == 8);
static_assert(DRM_IOCTL_ROCKET_GET_PARAM == 0xc0106460);

static_assert(sizeof(struct drm_rocket_sync) == 16);
static_assert(offsetof(struct drm_rocket_sync, flags) == 4);
static_assert(offsetof(struct drm_rocket_sync, point) == 8);

static_assert(sizeof(struct drm_rocket_wait_job) == 64);
static_assert(offsetof(struct drm_rocket_wait_job, timeout_ns) == 8);
static_assert(offsetof(struct drm_rocket_wait_job, flags) == 16);
static_assert(offsetof(struct drm_rocket_wait_job, cause) == 20);
static_assert(offsetof(struct drm_rocket_wait_job, error) == 24);
static_assert(offsetof(struct drm_rocket_wait_job, core) == 28);
static_assert(offsetof(struct drm_rocket_wait_job, task) == 32);
static_assert(offsetof(struct drm_rocket_wait_job, result) == 36);
static_assert(offsetof(struct drm_rocket_wait_job, fault_address) == 40);
static_assert(offsetof(struct drm_rocket_wait_job, elapsed_ns) == 48);
static_assert(offsetof(struct drm_rocket_wait_job, tag) == 56);
static_assert(DRM_IOCTL_ROCKET_WAIT_JOB == 0xc0406462);
