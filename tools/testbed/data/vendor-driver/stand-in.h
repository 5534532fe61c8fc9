/* SPDX-License-Identifier: GPL-2.0-only */
/* What only Rockchip's kernel has for its NPU driver; make compare VENDOR= includes it first. */
#ifndef RKNPU_TESTBED_STAND_IN_H
#define RKNPU_TESTBED_STAND_IN_H

#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/types.h>
#include <linux/version.h>

struct device;
struct device_node;
struct iommu_domain;

struct rknpu_device;

struct rockchip_opp_info {
};

/*
 * Devfreq needs Rockchip's choice of operating points, so the clock stays as it is. In place of
 * rknpu_devfreq.h: without devfreq that one refuses to resume the device.
 */
#undef CONFIG_PM_DEVFREQ
#define __LINUX_RKNPU_DEVFREQ_H

static inline int rknpu_devfreq_init(struct rknpu_device *rknpu_dev)
{
	return 0;
}

static inline void rknpu_devfreq_remove(struct rknpu_device *rknpu_dev)
{
}

static inline void rknpu_devfreq_lock(struct rknpu_device *rknpu_dev)
{
}

static inline void rknpu_devfreq_unlock(struct rknpu_device *rknpu_dev)
{
}

static inline int rknpu_devfreq_runtime_suspend(struct device *dev)
{
	return 0;
}

static inline int rknpu_devfreq_runtime_resume(struct device *dev)
{
	return 0;
}

/* The driver waits for false before power goes; an IOMMU of mainline's is off by then. */
static inline bool rockchip_iommu_is_enabled(struct device *dev)
{
	return false;
}

static inline int rockchip_nvmem_cell_read_u8(struct device_node *node, const char *name, u8 *value)
{
	return -ENOENT;
}

/* Of 6.3, which Rockchip's 6.1 has from Android's. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* Not exported by other kernels: only the domain that the IOMMU's driver makes can be used. */
#define iommu_get_dma_cookie rknpu_stand_in_get_dma_cookie
static inline int rknpu_stand_in_get_dma_cookie(struct iommu_domain *domain)
{
	return -EOPNOTSUPP;
}

#endif
