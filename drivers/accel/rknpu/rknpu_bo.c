// SPDX-License-Identifier: GPL-2.0-only
/* Owns BOs: pages, CPU mappings, cache maintenance, import, and their writers' errors. */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/scatterlist.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>

#include <drm/drm_file.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>

#include "rknpu_bo.h"
#include "rknpu_device.h"
#include "rknpu_file.h"
#include "rknpu_map.h"
#include "rknpu_prime.h"
#include "rknpu_quota.h"
#include "rknpu_sched.h"
#include "rknpu_stats.h"

/* In rknpu_bo.write_error, beside the positive errno. */
#define RKNPU_BO_ERROR_REPORTED	BIT(16)
#define RKNPU_BO_ERROR_MASK	GENMASK(15, 0)

/* Pages made present by one CPU fault: a tensor is usually walked in order. */
#define RKNPU_BO_FAULT_AROUND	16

static struct device *rknpu_bo_dma_dev(struct rknpu_bo *bo)
{
	return bo->base.dev->dev;
}

void rknpu_bo_record_error(struct rknpu_bo *bo, int error)
{
	int old = atomic_read(&bo->write_error);

	do {
		if (old && !(old & RKNPU_BO_ERROR_REPORTED))
			return;
	} while (!atomic_try_cmpxchg(&bo->write_error, &old, -error));
}

int rknpu_bo_report_error(struct rknpu_bo *bo)
{
	int old = atomic_read(&bo->write_error);

	/* Lost races are fine: the error that came meanwhile stays unreported. */
	if (old)
		atomic_cmpxchg(&bo->write_error, old, old | RKNPU_BO_ERROR_REPORTED);
	return -(int)(old & RKNPU_BO_ERROR_MASK);
}

void rknpu_bo_forget_reported_error(struct rknpu_bo *bo)
{
	int old = atomic_read(&bo->write_error);

	if (old & RKNPU_BO_ERROR_REPORTED)
		atomic_cmpxchg(&bo->write_error, old, 0);
}

void rknpu_bo_sync_for_cpu(struct rknpu_bo *bo)
{
	if (drm_gem_is_imported(&bo->base))
		return;
	dma_sync_sgtable_for_cpu(rknpu_bo_dma_dev(bo), bo->sgt, DMA_BIDIRECTIONAL);
	rknpu_device_stat_add(&bo->rdev->stats, RKNPU_DEVICE_STAT_CACHE_BYTES,
			      bo->base.size);
}

void rknpu_bo_sync_for_device(struct rknpu_bo *bo)
{
	if (drm_gem_is_imported(&bo->base))
		return;
	dma_sync_sgtable_for_device(rknpu_bo_dma_dev(bo), bo->sgt, DMA_BIDIRECTIONAL);
	rknpu_device_stat_add(&bo->rdev->stats, RKNPU_DEVICE_STAT_CACHE_BYTES,
			      bo->base.size);
}

static void rknpu_bo_sync_segment(struct rknpu_bo *bo, dma_addr_t addr, size_t size, bool for_cpu)
{
	if (for_cpu)
		dma_sync_single_for_cpu(rknpu_bo_dma_dev(bo), addr, size, DMA_BIDIRECTIONAL);
	else
		dma_sync_single_for_device(rknpu_bo_dma_dev(bo), addr, size, DMA_BIDIRECTIONAL);
}

/*
 * One walk over the segments serves all ranges, because they ascend. A segment
 * is contiguous in physical memory too: the DMA device has no IOMMU.
 */
static void rknpu_bo_sync_ranges(struct rknpu_bo *bo, const struct rknpu_bo_range *ranges,
				 u32 count, bool for_cpu)
{
	struct scatterlist *sg = bo->sgt->sgl;
	u64 pos, end, chunk, start = 0, total = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		pos = ranges[i].offset;
		end = pos + ranges[i].size;
		total += ranges[i].size;
		while (pos < end) {
			while (pos >= start + sg_dma_len(sg)) {
				start += sg_dma_len(sg);
				sg = sg_next(sg);
			}
			chunk = min(end, start + sg_dma_len(sg)) - pos;
			rknpu_bo_sync_segment(bo, sg_dma_address(sg) + (pos - start), chunk,
					      for_cpu);
			pos += chunk;
		}
		cond_resched();
	}
	rknpu_device_stat_add(&bo->rdev->stats, RKNPU_DEVICE_STAT_CACHE_BYTES, total);
}

void rknpu_bo_sync_ranges_for_cpu(struct rknpu_bo *bo, const struct rknpu_bo_range *ranges,
				  u32 count)
{
	if (!drm_gem_is_imported(&bo->base))
		rknpu_bo_sync_ranges(bo, ranges, count, true);
}

void rknpu_bo_sync_ranges_for_device(struct rknpu_bo *bo, const struct rknpu_bo_range *ranges,
				     u32 count)
{
	if (!drm_gem_is_imported(&bo->base))
		rknpu_bo_sync_ranges(bo, ranges, count, false);
}

void rknpu_bo_sync_range_for_cpu(struct rknpu_bo *bo, u64 offset, u64 size)
{
	struct rknpu_bo_range range = { .offset = offset, .size = size };

	rknpu_bo_sync_ranges(bo, &range, 1, true);
}

void rknpu_bo_sync_range_for_device(struct rknpu_bo *bo, u64 offset, u64 size)
{
	struct rknpu_bo_range range = { .offset = offset, .size = size };

	rknpu_bo_sync_ranges(bo, &range, 1, false);
}

static int rknpu_bo_gem_open(struct drm_gem_object *obj, struct drm_file *file)
{
	struct rknpu_file *rfile = file->driver_priv;

	return PTR_ERR_OR_ZERO(rknpu_mapping_get(rfile->vm, to_rknpu_bo(obj)));
}

static void rknpu_bo_gem_close(struct drm_gem_object *obj, struct drm_file *file)
{
	struct rknpu_file *rfile = file->driver_priv;

	rknpu_mapping_put_handle(rfile->vm, to_rknpu_bo(obj));
}

static void rknpu_bo_drop_pages(struct rknpu_bo *bo)
{
	if (bo->sgt) {
		dma_unmap_sgtable(rknpu_bo_dma_dev(bo), bo->sgt, DMA_BIDIRECTIONAL, 0);
		sg_free_table(bo->sgt);
		kfree(bo->sgt);
	}
	if (bo->pages)
		drm_gem_put_pages(&bo->base, bo->pages, true, true);
}

void rknpu_bo_gem_free(struct drm_gem_object *obj)
{
	struct rknpu_bo *bo = to_rknpu_bo(obj);
	struct rknpu_client *payer = bo->payer;

	rknpu_device_stat_add(&bo->rdev->stats, RKNPU_DEVICE_STAT_BOS_FREED, 1);
	if (drm_gem_is_imported(obj))
		drm_prime_gem_destroy(obj, bo->sgt);
	else
		rknpu_bo_drop_pages(bo);
	if (payer)
		rknpu_quota_uncharge(payer, obj->size >> PAGE_SHIFT);
	drm_gem_object_release(obj);
	mutex_destroy(&bo->map_lock);
	kfree(bo);
	/* Last: it may be what the device still hangs on. */
	if (payer)
		rknpu_client_put(payer);
}

struct sg_table *rknpu_bo_gem_sgt(struct drm_gem_object *obj)
{
	return drm_prime_pages_to_sg(obj->dev, to_rknpu_bo(obj)->pages, obj->size >> PAGE_SHIFT);
}

enum drm_gem_object_status rknpu_bo_gem_status(struct drm_gem_object *obj)
{
	return DRM_GEM_OBJECT_RESIDENT;
}

int rknpu_bo_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	if (drm_gem_is_imported(obj))
		return -EINVAL;

	/* A private mapping would copy a page on write, and the NPU would never see it. */
	if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE)
		return -EINVAL;

	vm_flags_set(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	return 0;
}

static vm_fault_t rknpu_bo_vm_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct drm_gem_object *obj = vma->vm_private_data;
	struct rknpu_bo *bo = to_rknpu_bo(obj);
	/* Not from vm_start: a partly unmapped or moved area starts elsewhere. */
	pgoff_t page = vmf->pgoff - drm_vma_node_start(&obj->vma_node);
	unsigned long address = vmf->address & PAGE_MASK;
	unsigned long end = min(vma->vm_end, address + RKNPU_BO_FAULT_AROUND * PAGE_SIZE);
	pgoff_t count = obj->size >> PAGE_SHIFT;
	vm_fault_t first = VM_FAULT_SIGBUS;
	vm_fault_t ret;
	pgoff_t i;

	for (i = page; address < end && i < count; i++, address += PAGE_SIZE) {
		ret = vmf_insert_pfn(vma, address, page_to_pfn(bo->pages[i]));
		if (i == page)
			first = ret;
		if (ret != VM_FAULT_NOPAGE)
			break;
	}
	return first;
}

const struct vm_operations_struct rknpu_bo_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
	.fault = rknpu_bo_vm_fault,
};

static const struct drm_gem_object_funcs rknpu_bo_funcs = {
	.free = rknpu_bo_gem_free,
	.open = rknpu_bo_gem_open,
	.close = rknpu_bo_gem_close,
	.export = rknpu_prime_export,
	.get_sg_table = rknpu_bo_gem_sgt,
	.mmap = rknpu_bo_gem_mmap,
	.vm_ops = &rknpu_bo_vm_ops,
	RKNPU_COMPAT_GEM_STATUS(rknpu_bo_gem_status)
};

static void rknpu_bo_setup(struct rknpu_bo *bo, struct rknpu_device *rdev,
			   const struct drm_gem_object_funcs *funcs)
{
	bo->rdev = rdev;
	bo->base.funcs = funcs;
	mutex_init(&bo->map_lock);
	INIT_LIST_HEAD(&bo->mappings);
	rknpu_device_stat_add(&rdev->stats, RKNPU_DEVICE_STAT_BOS_CREATED, 1);
}

static int rknpu_bo_get_sgt(struct rknpu_bo *bo)
{
	struct sg_table *sgt = rknpu_bo_gem_sgt(&bo->base);
	int ret;

	if (IS_ERR(sgt))
		return PTR_ERR(sgt);

	ret = dma_map_sgtable(rknpu_bo_dma_dev(bo), sgt, DMA_BIDIRECTIONAL, 0);
	if (ret) {
		sg_free_table(sgt);
		kfree(sgt);
		return ret;
	}
	bo->sgt = sgt;
	return 0;
}

/* Gigabytes take seconds, and drm_gem_get_pages() does not look for signals. */
static int rknpu_bo_fault_in(struct rknpu_bo *bo)
{
	struct address_space *mapping = bo->base.filp->f_mapping;
	pgoff_t i, count = bo->base.size >> PAGE_SHIFT;
	struct page *page;

	/* Until they are pinned. */
	mapping_set_unevictable(mapping);
	for (i = 0; i < count; i++) {
		if (fatal_signal_pending(current))
			return -EINTR;
		page = shmem_read_mapping_page_gfp(mapping, i, mapping_gfp_mask(mapping));
		if (IS_ERR(page))
			return PTR_ERR(page);
		put_page(page);
		cond_resched();
	}
	return 0;
}

static int rknpu_bo_populate(struct rknpu_bo *bo)
{
	struct page **pages;
	int ret;

	/* Trying that would push everybody else's memory out first. */
	if (bo->base.size >> PAGE_SHIFT > totalram_pages())
		return -ENOMEM;
	/* A BO larger than what is free is the caller's error, no reason to kill processes. */
	mapping_set_gfp_mask(bo->base.filp->f_mapping,
			     GFP_HIGHUSER | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);

	ret = rknpu_bo_fault_in(bo);
	if (ret)
		return ret;
	pages = drm_gem_get_pages(&bo->base);
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	bo->pages = pages;

	return rknpu_bo_get_sgt(bo);
}

static int rknpu_bo_charge(struct rknpu_bo *bo, struct rknpu_client *client)
{
	int ret = rknpu_quota_charge(client, bo->base.size >> PAGE_SHIFT);

	if (!ret)
		bo->payer = rknpu_client_get(client);
	return ret;
}

int rknpu_bo_init(struct rknpu_bo *bo, struct rknpu_client *client, struct drm_device *drm,
		  const struct drm_gem_object_funcs *funcs, size_t size)
{
	int ret;

	rknpu_bo_setup(bo, client->rdev, funcs);
	ret = drm_gem_object_init(drm, &bo->base, PAGE_ALIGN(size));
	/* What shmem says when it finds no memory for an inode; to our callers it means IOVAs. */
	if (ret == -ENOSPC)
		return -ENOMEM;
	if (!ret)
		ret = rknpu_bo_charge(bo, client);
	if (!ret)
		ret = drm_gem_create_mmap_offset(&bo->base);
	return ret ?: rknpu_bo_populate(bo);
}

struct rknpu_bo *rknpu_bo_create(struct rknpu_client *client, size_t size)
{
	struct rknpu_bo *bo = kzalloc_obj(*bo, GFP_KERNEL_ACCOUNT);
	int ret;

	if (!bo)
		return ERR_PTR(-ENOMEM);

	ret = rknpu_bo_init(bo, client, &client->rdev->accel, &rknpu_bo_funcs, size);
	if (ret) {
		rknpu_bo_put(bo);
		return ERR_PTR(ret);
	}
	return bo;
}

/* Segments that are not whole pages cannot be mapped without exposing what is beside them. */
static bool rknpu_bo_sgt_is_paged(struct sg_table *sgt)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!PAGE_ALIGNED(sg_dma_address(sg) | sg_dma_len(sg)))
			return false;
	}
	return true;
}

int rknpu_bo_check_import(struct dma_buf_attachment *attach, struct sg_table *sgt)
{
	size_t size = attach->dmabuf->size;

	if (size > RKNPU_BO_MAX_SIZE || !PAGE_ALIGNED(size) || !rknpu_bo_sgt_is_paged(sgt))
		return -EINVAL;
	return 0;
}

void rknpu_bo_init_imported(struct rknpu_bo *bo, struct rknpu_device *rdev,
			    struct drm_device *drm, const struct drm_gem_object_funcs *funcs,
			    size_t size, struct sg_table *sgt)
{
	rknpu_bo_setup(bo, rdev, funcs);
	drm_gem_private_object_init(drm, &bo->base, size);
	bo->sgt = sgt;
}

struct drm_gem_object *rknpu_bo_import_sgt(struct drm_device *dev,
					   struct dma_buf_attachment *attach,
					   struct sg_table *sgt)
{
	struct rknpu_bo *bo;
	int ret;

	ret = rknpu_bo_check_import(attach, sgt);
	if (ret)
		return ERR_PTR(ret);

	bo = kzalloc_obj(*bo, GFP_KERNEL_ACCOUNT);
	if (!bo)
		return ERR_PTR(-ENOMEM);
	rknpu_bo_init_imported(bo, to_rknpu_device(dev), dev, &rknpu_bo_funcs,
			       attach->dmabuf->size, sgt);
	return &bo->base;
}
