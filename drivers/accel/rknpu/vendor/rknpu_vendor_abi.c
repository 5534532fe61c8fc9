// SPDX-License-Identifier: GPL-2.0-only
/* Owns the proof that the vendor's uAPI is laid out as the vendor's user space was compiled. */
#include <linux/build_bug.h>
#include <linux/stddef.h>

#include "rknpu_vendor.h"

/* Vendor driver 0.9.8, compiled for arm64, and traces of its user space. */
static_assert(sizeof(struct drm_rknpu_action) == 8);
static_assert(sizeof(struct drm_rknpu_mem_create) == 48);
static_assert(sizeof(struct drm_rknpu_mem_map) == 16);
static_assert(sizeof(struct drm_rknpu_mem_destroy) == 16);
static_assert(sizeof(struct drm_rknpu_mem_sync) == 32);
static_assert(sizeof(struct drm_rknpu_submit) == 104);
static_assert(sizeof(struct drm_rknpu_task) == 40);
static_assert(offsetof(struct drm_rknpu_mem_create, size) == 8);
static_assert(offsetof(struct drm_rknpu_mem_create, obj_addr) == 16);
static_assert(offsetof(struct drm_rknpu_mem_create, dma_addr) == 24);
static_assert(offsetof(struct drm_rknpu_mem_create, sram_size) == 32);
static_assert(offsetof(struct drm_rknpu_mem_create, iommu_domain_id) == 40);
static_assert(offsetof(struct drm_rknpu_mem_create, core_mask) == 44);
static_assert(offsetof(struct drm_rknpu_mem_map, offset) == 8);
static_assert(offsetof(struct drm_rknpu_mem_sync, obj_addr) == 8);
static_assert(offsetof(struct drm_rknpu_mem_sync, offset) == 16);
static_assert(offsetof(struct drm_rknpu_mem_sync, size) == 24);
static_assert(offsetof(struct drm_rknpu_submit, task_counter) == 16);
static_assert(offsetof(struct drm_rknpu_submit, task_obj_addr) == 24);
static_assert(offsetof(struct drm_rknpu_submit, iommu_domain_id) == 32);
static_assert(offsetof(struct drm_rknpu_submit, task_base_addr) == 40);
static_assert(offsetof(struct drm_rknpu_submit, hw_elapse_time) == 48);
static_assert(offsetof(struct drm_rknpu_submit, core_mask) == 56);
static_assert(offsetof(struct drm_rknpu_submit, fence_fd) == 60);
static_assert(offsetof(struct drm_rknpu_submit, subcore_task) == 64);
static_assert(offsetof(struct drm_rknpu_task, int_mask) == 12);
static_assert(offsetof(struct drm_rknpu_task, int_status) == 20);
static_assert(offsetof(struct drm_rknpu_task, regcfg_amount) == 24);
static_assert(offsetof(struct drm_rknpu_task, regcmd_addr) == 32);
static_assert(DRM_IOCTL_RKNPU_ACTION == 0xc0086440);
static_assert(DRM_IOCTL_RKNPU_SUBMIT == 0xc0686441);
static_assert(DRM_IOCTL_RKNPU_MEM_CREATE == 0xc0306442);
static_assert(DRM_IOCTL_RKNPU_MEM_MAP == 0xc0106443);
static_assert(DRM_IOCTL_RKNPU_MEM_DESTROY == 0xc0106444);
static_assert(DRM_IOCTL_RKNPU_MEM_SYNC == 0xc0206445);
