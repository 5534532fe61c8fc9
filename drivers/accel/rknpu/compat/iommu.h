/* SPDX-License-Identifier: GPL-2.0-only */
/* IOMMU domains of a bus (before 6.11), and mapping with no word on memory for it (before 6.3). */
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
static inline int rknpu_compat_iommu_map(struct iommu_domain *domain, unsigned long iova,
					 phys_addr_t paddr, size_t size, int prot, gfp_t gfp)
{
	return iommu_map(domain, iova, paddr, size, prot);
}

#define iommu_map	rknpu_compat_iommu_map

#endif

#endif
