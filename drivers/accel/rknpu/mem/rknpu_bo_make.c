// SPDX-License-Identifier: GPL-2.0-only
/* Owns the making of BOs, their CPU mappings and their writers' errors. */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/scatterlist.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>

#include "hw/rknpu_hw.h"
#include "rknpu_bo_impl.h"

/* In rknpu_bo.write_error, beside the positive errno. */
#define RKNPU_BO_ERROR_REPORTED	BIT(16)
#define RKNPU_BO_ERROR_MASK	GENMASK(15, 0)

/* Pages made present by one CPU fault: a tensor is usually walked in order. */
#define RKNPU_BO_FAULT_AROUND	16

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
	int old;

	/* Pairs with dma_fence_signal(), before which it was recorded. */
	smp_rmb();
	old = atomic_read(&bo->write_error);
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
	if (rknpu_bo_is_imported(to_rknpu_bo(obj)))
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

void rknpu_bo_setup(struct rknpu_bo *bo, struct rknpu_mem *mem, struct drm_device *drm,
		    const struct drm_gem_object_funcs *funcs)
{
	/* Jobs keep BOs a while after handles, files and the device's own reference are gone. */
	drm_dev_get(drm);
	bo->mem = mem;
	bo->base.funcs = funcs;
	mutex_init(&bo->map_lock);
	INIT_LIST_HEAD(&bo->mappings);
	rknpu_device_stat_add(&mem->hw->stats, RKNPU_DEVICE_STAT_BOS_CREATED, 1);
}

static int rknpu_bo_get_sgt(struct rknpu_bo *bo)
{
	struct sg_table *sgt = rknpu_bo_gem_sgt(&bo->base);
	int ret;

	if (IS_ERR(sgt))
		return PTR_ERR(sgt);

	ret = dma_map_sgtable(rknpu_bo_dma_dev(bo), sgt, DMA_BIDIRECTIONAL,
			      DMA_ATTR_SKIP_CPU_SYNC);
	/* Memory that the NPU's addresses do not reach. */
	if (ret) {
		sg_free_table(sgt);
		kfree(sgt);
		return ret;
	}
	bo->sgt = sgt;
	/* The zeros that it was filled with, in pieces. */
	rknpu_bo_sync_range_for_device(bo, 0, bo->base.size);
	return 0;
}

/*
 * Gigabytes take seconds, and drm_gem_get_pages() looks neither for signals nor
 * whether the device is still there.
 */
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
		if (drm_dev_is_unplugged(bo->base.dev))
			return -ENODEV;
		page = shmem_read_mapping_page_gfp(mapping, i, mapping_gfp_mask(mapping));
		if (IS_ERR(page))
			return PTR_ERR(page);
		/* Or vm.drop_caches takes it away, and drm_gem_get_pages() makes it again. */
		set_page_dirty(page);
		put_page(page);
		cond_resched();
	}
	return 0;
}

/* A BO larger than what is free is the caller's error, no reason to kill processes. */
static gfp_t rknpu_bo_gfp(const struct rknpu_bo *bo)
{
	gfp_t reach = bo->mem->hw->soc->dma_bits > 32 ? GFP_HIGHUSER : GFP_USER | GFP_DMA32;

	return reach | __GFP_RETRY_MAYFAIL | __GFP_NOWARN;
}

/*
 * If the administrator wants huge pages for shared memory (shmem_enabled), the last one goes
 * on behind the end, up to 2 MiB for a BO of a page, and while it is pinned nobody splits it.
 */
static int rknpu_bo_charge_beyond(struct rknpu_bo *bo)
{
	pgoff_t count = bo->base.size >> PAGE_SHIFT;
	unsigned long beyond = folio_next_index(page_folio(bo->pages[count - 1])) - count;
	int ret = rknpu_account_charge_tables_patiently(bo->account, beyond);

	if (!ret)
		bo->beyond = beyond;
	return ret;
}

static int rknpu_bo_populate(struct rknpu_bo *bo)
{
	struct page **pages;
	int ret;

	/* Trying that would push everybody else's memory out first. */
	if (bo->base.size >> PAGE_SHIFT > totalram_pages())
		return -ENOMEM;
	mapping_set_gfp_mask(bo->base.filp->f_mapping, rknpu_bo_gfp(bo));

	ret = rknpu_bo_fault_in(bo);
	if (ret)
		return ret;
	pages = drm_gem_get_pages(&bo->base);
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	bo->pages = pages;

	return rknpu_bo_charge_beyond(bo) ?: rknpu_bo_get_sgt(bo);
}

/* Pages that follow each other, which jobs find at their bus address. */
static int rknpu_bo_get_block(struct rknpu_bo *bo)
{
	bo->block = dma_alloc_pages(rknpu_bo_dma_dev(bo), bo->base.size, &bo->block_dma,
				    DMA_BIDIRECTIONAL,
				    GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (bo->block)
		return 0;
	drm_dbg_ratelimited(bo->base.dev, "no %zu contiguous bytes: reserve memory for large BOs with cma= on the kernel's command line\n",
			    bo->base.size);
	return -ENOMEM;
}

static int rknpu_bo_list_block(struct rknpu_bo *bo)
{
	pgoff_t i, count = bo->base.size >> PAGE_SHIFT;
	unsigned long pfn = page_to_pfn(bo->block);
	struct sg_table *sgt;

	bo->pages = kvmalloc_array(count, sizeof(*bo->pages), GFP_KERNEL_ACCOUNT);
	if (!bo->pages)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		bo->pages[i] = pfn_to_page(pfn + i);

	sgt = kzalloc_obj(*sgt, GFP_KERNEL_ACCOUNT);
	if (!sgt)
		return -ENOMEM;
	if (sg_alloc_table(sgt, 1, GFP_KERNEL)) {
		kfree(sgt);
		return -ENOMEM;
	}
	sg_set_page(sgt->sgl, bo->block, bo->base.size, 0);
	sg_dma_address(sgt->sgl) = bo->block_dma;
	sg_dma_len(sgt->sgl) = bo->base.size;
	bo->sgt = sgt;
	return 0;
}

static int rknpu_bo_populate_block(struct rknpu_bo *bo)
{
	int ret = rknpu_bo_get_block(bo) ?: rknpu_bo_list_block(bo);

	/* The zeros that it was filled with. */
	if (!ret)
		dma_sync_sgtable_for_device(rknpu_bo_dma_dev(bo), bo->sgt, DMA_BIDIRECTIONAL);
	return ret;
}

static int rknpu_bo_charge(struct rknpu_bo *bo, struct rknpu_account *account)
{
	unsigned long pages = bo->base.size >> PAGE_SHIFT;
	unsigned long extra = rknpu_bo_extra_pages(pages);
	int ret = rknpu_account_charge_patiently(account, pages + extra);

	if (ret)
		return ret;
	atomic_long_add(extra, &account->mem->table_pages);
	atomic_long_add(pages, &account->pages);
	bo->account = rknpu_account_get(account);
	return 0;
}

static int rknpu_bo_make(struct rknpu_bo *bo, struct rknpu_account *account,
			 struct drm_device *drm, size_t size)
{
	int ret = 0;

	if (account->mem->hw->no_iommu)
		drm_gem_private_object_init(drm, &bo->base, size);
	else
		ret = drm_gem_object_init(drm, &bo->base, size);
	if (ret)
		return ret;

	ret = rknpu_bo_charge(bo, account);
	if (ret)
		return ret;

	ret = drm_gem_create_mmap_offset(&bo->base);
	if (ret)
		return ret;

	return bo->base.filp ? rknpu_bo_populate(bo) : rknpu_bo_populate_block(bo);
}

int rknpu_bo_init(struct rknpu_bo *bo, struct rknpu_account *account, struct drm_device *drm,
		  const struct drm_gem_object_funcs *funcs, size_t size)
{
	int ret;

	rknpu_bo_setup(bo, account->mem, drm, funcs);
	ret = rknpu_bo_make(bo, account, drm, PAGE_ALIGN(size));
	/* What shmem says without memory for an inode, or for a page with overcommit_memory=2. */
	return ret == -ENOSPC ? -ENOMEM : ret;
}
