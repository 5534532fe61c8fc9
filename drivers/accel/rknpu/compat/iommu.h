/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels whose IOMMU domains belong to a bus (before 6.11), and whose map calls do not say how to allocate (before 6.3). */
#ifndef __RKNPU_COMPAT_IOMMU_H__
#define __RKNPU_COMPAT_IOMMU_H__

#include <linux/err.h>
#include <linux/iommu.h>

#ifndef RKNPU_HAVE_IOMMU_PAGING_DOMAIN_ALLOC

static inline struct iommu_domain *iommu_paging_domain_alloc(struct device *dev)
{
	return iommu_domain_alloc(dev->bus) ?: ERR_PTR(-ENOMEM);
}

#endif

#ifndef RKNPU_HAVE_IOMMU_MAP_GFP

/* They may sleep to allocate, and charge it to nobody. */
#define iommu_map(domain, iova, paddr, size, prot, gfp)	iommu_map(domain, iova, paddr, size, prot)

#endif

#endif
