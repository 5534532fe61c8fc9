// SPDX-License-Identifier: GPL-2.0-only
/* Owns BOs: pages, whom memory is charged to, CPU mappings, caches, dma-bufs, writers' errors. */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/ioport.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/scatterlist.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>

#include "hw/rknpu_hw.h"
#include "rknpu_bo.h"
#include "rknpu_params.h"
#include "rknpu_release.h"

/* In rknpu_bo.write_error, beside the positive errno. */
#define RKNPU_BO_ERROR_REPORTED	BIT(16)
#define RKNPU_BO_ERROR_MASK	GENMASK(15, 0)

/* Pages made present by one CPU fault: a tensor is usually walked in order. */
#define RKNPU_BO_FAULT_AROUND	16

/* How often it is tried to make room while others are about to. */
#define RKNPU_MEM_TRIES		4

/* How many owners can have their part of what is kept for those that have little. */
#define RKNPU_MEM_SMALL_OWNERS	8

static struct device *rknpu_bo_dma_dev(struct rknpu_bo *bo)
{
	return bo->base.dev->dev;
}

/* BOs are where the NPU's addresses reach, and what is there is wanted by other devices, too. */
static unsigned long rknpu_mem_limit(const struct rknpu_mem *mem, unsigned int percent)
{
	u64 reach = BIT_ULL(mem->hw->soc->dma_bits - PAGE_SHIFT);

	return mul_u64_u32_div(min_t(u64, totalram_pages(), reach), min(percent, 100U), 100);
}

static unsigned long rknpu_mem_owner_pages(const struct rknpu_mem *mem)
{
	return rknpu_mem_limit(mem, READ_ONCE(rknpu_params.max_user_memory_percent));
}

static unsigned long rknpu_mem_device_pages(const struct rknpu_mem *mem)
{
	return rknpu_mem_limit(mem, READ_ONCE(rknpu_params.max_memory_percent));
}

u64 rknpu_mem_owner_limit(const struct rknpu_mem *mem)
{
	return (u64)rknpu_mem_owner_pages(mem) << PAGE_SHIFT;
}

u64 rknpu_mem_device_limit(const struct rknpu_mem *mem)
{
	return (u64)rknpu_mem_device_pages(mem) << PAGE_SHIFT;
}

/*
 * For an owner that has @own pages. What all may have beyond what one may have is
 * kept for those that have little, so that nobody takes all and the next one cannot
 * even open a file.
 */
static unsigned long rknpu_mem_device_pages_for(const struct rknpu_mem *mem, unsigned long own)
{
	unsigned long all = rknpu_mem_device_pages(mem), one = rknpu_mem_owner_pages(mem);

	if (all <= one || own <= (all - one) / RKNPU_MEM_SMALL_OWNERS)
		return all;
	return one;
}

void rknpu_account_init(struct rknpu_account *account, struct rknpu_mem *mem,
			struct rknpu_quota *quota, void (*release)(struct kref *ref))
{
	kref_init(&account->ref);
	account->mem = mem;
	account->quota = quota;
	account->release = release;
}

/*
 * Returns what @count is by that, or 0: what does not fit is not in it for a moment
 * either, since others would be refused for it.
 */
static unsigned long rknpu_mem_add_pages(atomic_long_t *count, unsigned long pages,
					 unsigned long limit)
{
	long old = atomic_long_read(count);

	do {
		if (pages > limit || old > limit - pages)
			return 0;
	} while (!atomic_long_try_cmpxchg(count, &old, old + pages));
	return old + pages;
}

/* -ENOMEM: the owner, or all together, would have too much. */
static int rknpu_account_charge(struct rknpu_account *account, unsigned long pages)
{
	struct rknpu_mem *mem = account->mem;
	unsigned long own;

	/* An address space without an IOMMU has no tables. */
	if (!pages)
		return 0;
	own = rknpu_mem_add_pages(&account->quota->pages, pages, rknpu_mem_owner_pages(mem));
	if (!own) {
		drm_dbg_ratelimited(mem->hw->drm, "%lu more pages exceed max_user_memory_percent\n",
				    pages);
		return -ENOMEM;
	}
	if (!rknpu_mem_add_pages(&mem->pages, pages, rknpu_mem_device_pages_for(mem, own))) {
		atomic_long_sub(pages, &account->quota->pages);
		drm_dbg_ratelimited(mem->hw->drm, "%lu more pages exceed max_memory_percent\n",
				    pages);
		return -ENOMEM;
	}
	return 0;
}

static void rknpu_account_uncharge(struct rknpu_account *account, unsigned long pages)
{
	atomic_long_sub(pages, &account->mem->pages);
	atomic_long_sub(pages, &account->quota->pages);
}

/*
 * In other VMs, too, what is over still counts for a moment. So it does of other owners, if it
 * is all together that have too much, or they share a BO; but that is not waited for without
 * end: their threads can hold locks that it takes to free it.
 */
static int rknpu_account_charge_patiently(struct rknpu_account *account, unsigned long pages)
{
	int ret = rknpu_account_charge(account, pages);
	bool more = true;
	unsigned int i;

	for (i = 0; ret && more && i < RKNPU_MEM_TRIES; i++) {
		more = account->mem->reclaim(account->mem, account->quota);
		ret = rknpu_account_charge(account, pages);
	}
	return ret;
}

int rknpu_account_charge_tables(struct rknpu_account *account, unsigned long pages)
{
	int ret = rknpu_account_charge(account, pages);

	if (!ret)
		atomic_long_add(pages, &account->mem->table_pages);
	return ret;
}

int rknpu_account_charge_tables_patiently(struct rknpu_account *account, unsigned long pages)
{
	int ret = rknpu_account_charge_patiently(account, pages);

	if (!ret)
		atomic_long_add(pages, &account->mem->table_pages);
	return ret;
}

void rknpu_account_uncharge_tables(struct rknpu_account *account, unsigned long pages)
{
	atomic_long_sub(pages, &account->mem->table_pages);
	rknpu_account_uncharge(account, pages);
}

/*
 * Of what a BO takes beside its own: structs, those of its file among them, in at most a
 * page, and lists, which are longest if no two pages follow each other.
 */
static unsigned long rknpu_bo_extra_pages(unsigned long pages)
{
	return 1 + pages * (sizeof(struct page *) + sizeof(struct scatterlist)) / PAGE_SIZE;
}

/* Of what an exporter has made for us. */
static unsigned long rknpu_bo_list_pages(const struct sg_table *sgt)
{
	return DIV_ROUND_UP((size_t)sgt->orig_nents * sizeof(*sgt->sgl), PAGE_SIZE);
}

u64 rknpu_mem_table_bytes(struct rknpu_mem *mem)
{
	return (u64)atomic_long_read(&mem->table_pages) << PAGE_SHIFT;
}

u64 rknpu_mem_bo_bytes(struct rknpu_mem *mem)
{
	long tables = atomic_long_read(&mem->table_pages);
	long bos = atomic_long_read(&mem->pages) - tables;

	/* Tables may have gone in between. */
	return (u64)max(bos, 0L) << PAGE_SHIFT;
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

static void rknpu_bo_sync_segment(struct rknpu_bo *bo, dma_addr_t addr, size_t size, bool for_cpu)
{
	if (for_cpu)
		dma_sync_single_for_cpu(rknpu_bo_dma_dev(bo), addr, size, DMA_BIDIRECTIONAL);
	else
		dma_sync_single_for_device(rknpu_bo_dma_dev(bo), addr, size, DMA_BIDIRECTIONAL);
}

/*
 * One walk over the segments serves all ranges, because they ascend. A segment
 * is contiguous in physical memory too: the DMA device has no IOMMU. Gigabytes take a
 * second or more, and not every kernel preempts that by itself.
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
			chunk = min3(end, start + sg_dma_len(sg), pos + SZ_16M) - pos;
			rknpu_bo_sync_segment(bo, sg_dma_address(sg) + (pos - start), chunk,
					      for_cpu);
			pos += chunk;
			cond_resched();
		}
	}
	rknpu_device_stat_add(&bo->mem->hw->stats, RKNPU_DEVICE_STAT_CACHE_BYTES, total);
}

void rknpu_bo_sync_ranges_for_cpu(struct rknpu_bo *bo, const struct rknpu_bo_range *ranges,
				  u32 count)
{
	if (!rknpu_bo_is_imported(bo))
		rknpu_bo_sync_ranges(bo, ranges, count, true);
}

void rknpu_bo_sync_ranges_for_device(struct rknpu_bo *bo, const struct rknpu_bo_range *ranges,
				     u32 count)
{
	if (!rknpu_bo_is_imported(bo))
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

void rknpu_bo_sync_for_cpu(struct rknpu_bo *bo)
{
	if (!rknpu_bo_is_imported(bo))
		rknpu_bo_sync_range_for_cpu(bo, 0, bo->base.size);
}

void rknpu_bo_sync_for_device(struct rknpu_bo *bo)
{
	if (!rknpu_bo_is_imported(bo))
		rknpu_bo_sync_range_for_device(bo, 0, bo->base.size);
}

/*
 * A chain of programs in a large BO is read in thousands of pieces, so no piece may look for
 * its segment: what one page's bus address differs by from its physical one, all do, as the
 * DMA device has no IOMMU.
 */
static dma_addr_t rknpu_bo_page_addr(const struct rknpu_bo *bo, pgoff_t page)
{
	return sg_dma_address(bo->sgt->sgl) +
	       (page_to_phys(bo->pages[page]) - sg_phys(bo->sgt->sgl));
}

void rknpu_bo_read(struct rknpu_bo *bo, u64 offset, void *to, size_t size)
{
	size_t done, n;

	for (done = 0; done < size; done += n) {
		size_t in_page = offset_in_page(offset + done);
		pgoff_t page = (offset + done) >> PAGE_SHIFT;

		n = min(size - done, PAGE_SIZE - in_page);
		/* The CPU's other mapping of it may hold old lines. */
		if (bo->uncached)
			rknpu_bo_sync_segment(bo, rknpu_bo_page_addr(bo, page) + in_page, n, true);
		memcpy_from_page(to + done, bo->pages[page], in_page, n);
	}
}

/*
 * By its table, if that has lengths, which an importer's has not with DMABUF_DEBUG. When
 * the same pages are imported twice, DMA_API_DEBUG knows only whole tables apart.
 */
void rknpu_bo_clean_imported(struct rknpu_bo *bo)
{
	if (!bo->ram)
		return;
	if (!bo->sgt->sgl->length) {
		rknpu_bo_sync_range_for_device(bo, 0, bo->base.size);
		return;
	}
	dma_sync_sgtable_for_device(rknpu_bo_dma_dev(bo), bo->sgt, DMA_BIDIRECTIONAL);
	rknpu_device_stat_add(&bo->mem->hw->stats, RKNPU_DEVICE_STAT_CACHE_BYTES,
			      bo->base.size);
}

static void rknpu_bo_drop_block(struct rknpu_bo *bo)
{
	if (bo->sgt) {
		sg_free_table(bo->sgt);
		kfree(bo->sgt);
	}
	kvfree(bo->pages);
	dma_free_pages(rknpu_bo_dma_dev(bo), bo->base.size, bo->block, bo->block_dma,
		       DMA_BIDIRECTIONAL);
}

static void rknpu_bo_drop_pages(struct rknpu_bo *bo)
{
	if (bo->block) {
		rknpu_bo_drop_block(bo);
		return;
	}
	if (bo->sgt) {
		/*
		 * The pages go back to the page allocator. Whoever has them next writes
		 * before it reads, and cleans before its device does, so no line of them
		 * need be invalidated: it would take as long as the BO is large.
		 */
		dma_unmap_sgtable(rknpu_bo_dma_dev(bo), bo->sgt, DMA_BIDIRECTIONAL,
				  DMA_ATTR_SKIP_CPU_SYNC);
		sg_free_table(bo->sgt);
		kfree(bo->sgt);
	}
	if (bo->pages)
		drm_gem_put_pages(&bo->base, bo->pages, false, false);
	/*
	 * Else they stay in the file until its last fput(), which waits for the calling task to
	 * return to user space: it may sleep first, while nobody is charged for them.
	 */
	if (bo->base.filp)
		shmem_truncate_range(file_inode(bo->base.filp), 0, (loff_t)-1);
}

static void rknpu_bo_drop_dmabuf(struct rknpu_bo *bo)
{
	unsigned long pages;

	if (!bo->sgt) {
		dma_buf_put(bo->dmabuf);
		return;
	}
	pages = rknpu_bo_list_pages(bo->sgt);
	/* This puts the reference, too. */
	drm_prime_gem_destroy(&bo->base, bo->sgt);
	rknpu_account_uncharge_tables(bo->account, pages);
}

static void rknpu_bo_uncharge(struct rknpu_bo *bo)
{
	unsigned long pages = bo->base.size >> PAGE_SHIFT;

	rknpu_account_uncharge_tables(bo->account, rknpu_bo_extra_pages(pages) + bo->beyond);
	rknpu_account_uncharge(bo->account, pages);
	atomic_long_sub(pages, &bo->account->pages);
}

static void rknpu_bo_release(struct rknpu_bo *bo)
{
	struct rknpu_account *account = bo->account;
	struct drm_device *drm = bo->base.dev;

	rknpu_device_stat_add(&bo->mem->hw->stats, RKNPU_DEVICE_STAT_BOS_FREED, 1);
	if (rknpu_bo_is_imported(bo))
		rknpu_bo_drop_dmabuf(bo);
	else
		rknpu_bo_drop_pages(bo);
	if (account && !rknpu_bo_is_imported(bo))
		rknpu_bo_uncharge(bo);
	drm_gem_object_release(&bo->base);
	mutex_destroy(&bo->map_lock);
	kfree(bo);
	/* Last: these may be what the devices still hang on. */
	if (account)
		rknpu_account_put(account);
	drm_dev_put(drm);
}

static void rknpu_quota_release_imports(struct work_struct *work)
{
	struct rknpu_quota *quota = container_of(work, struct rknpu_quota, imports_work);
	struct rknpu_bo *bo, *next;

	/* The last one may be the last to hold the quota, too. */
	llist_for_each_entry_safe(bo, next, llist_del_all(&quota->imports), release_link) {
		rknpu_bo_release(bo);
		cond_resched();
	}
}

void rknpu_quota_init(struct rknpu_quota *quota)
{
	init_llist_head(&quota->imports);
	INIT_WORK(&quota->imports_work, rknpu_quota_release_imports);
}

void rknpu_bo_gem_free(struct drm_gem_object *obj)
{
	rknpu_bo_release(to_rknpu_bo(obj));
}

/*
 * To detach from a dma-buf is to wait for its reservation, and for what else its exporter locks.
 * A client can hold these for seconds, by submits that name a thousand of them or by syncs of
 * large ones. That is left to a work of the user's.
 */
static void rknpu_bo_put_last(struct kref *ref)
{
	struct rknpu_bo *bo = container_of(ref, struct rknpu_bo, base.refcount);
	struct rknpu_quota *quota;

	if (!rknpu_bo_is_imported(bo) || !bo->sgt) {
		rknpu_bo_release(bo);
		return;
	}
	quota = bo->account->quota;
	/* Only who adds to an empty list has a BO there, and with it the quota, until the work. */
	if (llist_add(&bo->release_link, &quota->imports))
		rknpu_release_queue_foreign(&quota->imports_work);
}

void rknpu_bo_put_freed(struct rknpu_bo *bo)
{
	kref_put(&bo->base.refcount, rknpu_bo_put_last);
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

static void rknpu_bo_setup(struct rknpu_bo *bo, struct rknpu_mem *mem, struct drm_device *drm,
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

/* Segments that are not whole pages cannot be mapped without exposing what is beside them. */
static bool rknpu_bo_sgt_is_paged(struct sg_table *sgt, size_t size)
{
	struct scatterlist *sg;
	size_t sum = 0;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!PAGE_ALIGNED(sg_dma_address(sg) | sg_dma_len(sg)))
			return false;
		sum += sg_dma_len(sg);
	}
	return sum >= size;
}

void rknpu_bo_init_imported(struct rknpu_bo *bo, struct rknpu_mem *mem,
			    struct drm_device *drm, const struct drm_gem_object_funcs *funcs,
			    struct dma_buf *dmabuf)
{
	rknpu_bo_setup(bo, mem, drm, funcs);
	get_dma_buf(dmabuf);
	bo->dmabuf = dmabuf;
	bo->base.resv = dmabuf->resv;
	drm_gem_private_object_init(drm, &bo->base, dmabuf->size);
	bo->shared = true;
}

/*
 * What the kernel does not map, reserved memory or another device's, has no lines that it could
 * clean: it would crash. The DMA device has no IOMMU, so its addresses are physical.
 */
static bool rknpu_bo_sgt_is_ram(struct sg_table *sgt)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (region_intersects(sg_dma_address(sg), sg_dma_len(sg), IORESOURCE_SYSTEM_RAM,
				      IORES_DESC_NONE) != REGION_INTERSECTS)
			return false;
		cond_resched();
	}
	return true;
}

/*
 * The dma-buf core waits too, but only after this, and caches must not be
 * invalidated before the NPU's last write.
 */
static int rknpu_bo_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct drm_gem_object *obj = dmabuf->priv;
	bool write = dir != DMA_FROM_DEVICE;
	long ret;

	ret = dma_resv_wait_timeout(obj->resv, dma_resv_usage_rw(write), true,
				    MAX_SCHEDULE_TIMEOUT);
	if (ret < 0)
		return ret;

	/* Also for a CPU that only writes: it may write parts of cache lines. */
	rknpu_bo_sync_for_cpu(to_rknpu_bo(obj));
	return 0;
}

static int rknpu_bo_end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	if (dir != DMA_FROM_DEVICE)
		rknpu_bo_sync_for_device(to_rknpu_bo(dmabuf->priv));
	return 0;
}

/* As rknpu_bo_gem_sgt(), with the addresses that the DMA device has of it already. */
static struct sg_table *rknpu_bo_mapped_sgt(struct rknpu_bo *bo)
{
	struct sg_table *sgt = rknpu_bo_gem_sgt(&bo->base);
	struct scatterlist *from, *to;
	unsigned int i;

	if (IS_ERR(sgt))
		return sgt;

	to = sgt->sgl;
	for_each_sgtable_dma_sg(bo->sgt, from, i) {
		sg_dma_address(to) = sg_dma_address(from);
		sg_dma_len(to) = sg_dma_len(from);
		to = sg_next(to);
	}
	sgt->nents = bo->sgt->nents;
	return sgt;
}

/*
 * The other nodes of this device import what is mapped for its DMA device
 * already. DMA-API debugging warns of a sync of a part of memory that one
 * device has mapped twice.
 */
static struct sg_table *rknpu_bo_map_dma_buf(struct dma_buf_attachment *attach,
					     enum dma_data_direction dir)
{
	struct rknpu_bo *bo = to_rknpu_bo(attach->dmabuf->priv);

	if (attach->dev != rknpu_bo_dma_dev(bo))
		return drm_gem_map_dma_buf(attach, dir);
	return rknpu_bo_mapped_sgt(bo);
}

static void rknpu_bo_unmap_dma_buf(struct dma_buf_attachment *attach, struct sg_table *sgt,
				   enum dma_data_direction dir)
{
	if (attach->dev != rknpu_bo_dma_dev(to_rknpu_bo(attach->dmabuf->priv))) {
		drm_gem_unmap_dma_buf(attach, sgt, dir);
		return;
	}
	sg_free_table(sgt);
	kfree(sgt);
}

/* For drivers that write with the CPU, USB cameras' among them: who submits cleans the caches. */
static int __maybe_unused rknpu_bo_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct rknpu_bo *bo = to_rknpu_bo(dmabuf->priv);
	void *vaddr = vmap(bo->pages, bo->base.size >> PAGE_SHIFT, VM_MAP, PAGE_KERNEL);

	if (!vaddr)
		return -ENOMEM;
	iosys_map_set_vaddr(map, vaddr);
	return 0;
}

static void __maybe_unused rknpu_bo_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	vunmap(map->vaddr);
}

/* What drm uses for every driver, with CPU access, which drm leaves out. */
static const struct dma_buf_ops rknpu_bo_dma_buf_ops = {
	.attach = drm_gem_map_attach,
	.detach = drm_gem_map_detach,
	.map_dma_buf = rknpu_bo_map_dma_buf,
	.unmap_dma_buf = rknpu_bo_unmap_dma_buf,
	.release = drm_gem_dmabuf_release,
	.mmap = drm_gem_dmabuf_mmap,
	RKNPU_COMPAT_DMA_BUF_VMAP(rknpu_bo_vmap, rknpu_bo_vunmap)
	.begin_cpu_access = rknpu_bo_begin_cpu_access,
	.end_cpu_access = rknpu_bo_end_cpu_access,
};

/*
 * Of memory that the NPU's addresses do not reach the DMA API makes one copy (swiotlb), as long
 * as there is room for copies, which other devices need: neither side would see what the
 * other writes later. Tables without lengths (DMABUF_DEBUG) do not tell. BOs of the other
 * node are in reach in any case.
 */
static bool rknpu_bo_sgt_is_in_reach(struct dma_buf_attachment *attach, struct sg_table *sgt)
{
	struct scatterlist *sg;
	int i;

	if (attach->dmabuf->ops == &rknpu_bo_dma_buf_ops || !dma_addressing_limited(attach->dev))
		return true;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!sg->length || sg_dma_address(sg) != sg_phys(sg))
			return false;
	}
	return true;
}

static bool rknpu_bo_sgt_is_block(struct sg_table *sgt)
{
	struct scatterlist *sg;
	dma_addr_t next = 0;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (i && sg_dma_address(sg) != next)
			return false;
		next = sg_dma_address(sg) + sg_dma_len(sg);
	}
	return true;
}

int rknpu_bo_check_import(struct rknpu_mem *mem, const struct dma_buf *dmabuf, u64 max_size)
{
	if (dmabuf->size <= max_size && PAGE_ALIGNED(dmabuf->size))
		return 0;
	drm_dbg_ratelimited(mem->hw->drm, "import: %zu bytes are over %llu, or not whole pages\n",
			    dmabuf->size, max_size);
	return -EINVAL;
}

static int rknpu_bo_check_sgt(struct rknpu_bo *bo, struct dma_buf_attachment *attach,
			      struct sg_table *sgt)
{
	struct rknpu_hw *hw = bo->mem->hw;

	if (!rknpu_bo_sgt_is_paged(sgt, bo->base.size)) {
		drm_dbg_ratelimited(hw->drm, "import: its segments are not whole pages\n");
		return -EINVAL;
	}
	if (!rknpu_bo_sgt_is_in_reach(attach, sgt)) {
		drm_dbg_ratelimited(hw->drm, "import: the NPU reaches memory below 4 GiB only\n");
		return -EINVAL;
	}
	if (hw->no_iommu && !rknpu_bo_sgt_is_block(sgt)) {
		drm_dbg_ratelimited(hw->drm, "import: without IOMMU it has to be contiguous\n");
		return -EINVAL;
	}
	return 0;
}

static int rknpu_bo_map_attached(struct rknpu_bo *bo, struct dma_buf_attachment *attach,
				 struct rknpu_account *account)
{
	struct sg_table *sgt = dma_buf_map_attachment_unlocked(attach, DMA_BIDIRECTIONAL);
	int ret;

	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	ret = rknpu_bo_check_sgt(bo, attach, sgt) ?:
	      rknpu_account_charge_tables(account, rknpu_bo_list_pages(sgt));
	if (ret) {
		dma_buf_unmap_attachment_unlocked(attach, sgt, DMA_BIDIRECTIONAL);
		return ret;
	}
	bo->base.import_attach = attach;
	bo->sgt = sgt;
	bo->account = rknpu_account_get(account);
	return 0;
}

/*
 * Not at the import, during which DRM holds a lock that all clients need for their handles:
 * exporters allocate, make tables, and clean caches, which takes as long as the buffer is large.
 * Until the first mapping nobody but its importer can reach the BO.
 */
int rknpu_bo_attach(struct rknpu_bo *bo, struct rknpu_account *account)
{
	struct dma_buf_attachment *attach;
	int ret;

	lockdep_assert_held(&bo->map_lock);
	if (!rknpu_bo_is_imported(bo) || bo->sgt)
		return 0;
	attach = dma_buf_attach(bo->dmabuf, rknpu_bo_dma_dev(bo));
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	ret = rknpu_bo_map_attached(bo, attach, account);
	if (ret)
		dma_buf_detach(bo->dmabuf, attach);
	return ret;
}

/*
 * Exporters need not clean what they map (drm_gem_map_dma_buf() and udmabuf do not). Until
 * somebody does, the NPU reads what the pages held before the kernel filled them with zeros.
 */
void rknpu_bo_before_mapping(struct rknpu_bo *bo)
{
	lockdep_assert_held(&bo->map_lock);
	if (!rknpu_bo_is_imported(bo) || !list_empty(&bo->mappings) ||
	    bo->dmabuf->ops == &rknpu_bo_dma_buf_ops)
		return;
	bo->ram = rknpu_bo_sgt_is_ram(bo->sgt);
	rknpu_bo_clean_imported(bo);
}

struct dma_buf *rknpu_bo_export(struct drm_gem_object *obj, int flags)
{
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = obj->dev->driver->fops->owner,
		.ops = &rknpu_bo_dma_buf_ops,
		.size = obj->size,
		.flags = flags,
		.priv = obj,
		.resv = obj->resv,
	};

	/* Whoever finds such a fence has locked the reservation since. */
	WRITE_ONCE(to_rknpu_bo(obj)->shared, true);
	return drm_gem_dmabuf_export(obj->dev, &info);
}

/* drm knows a device's own dma-buf again only by drm's operations. */
struct drm_gem_object *rknpu_bo_import_own(struct drm_device *dev, struct dma_buf *dmabuf)
{
	struct drm_gem_object *obj = dmabuf->priv;

	if (dmabuf->ops != &rknpu_bo_dma_buf_ops || obj->dev != dev)
		return NULL;

	drm_gem_object_get(obj);
	return obj;
}

MODULE_IMPORT_NS("DMA_BUF");
