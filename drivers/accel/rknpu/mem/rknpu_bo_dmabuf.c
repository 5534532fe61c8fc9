// SPDX-License-Identifier: GPL-2.0-only
/* Owns BOs as dma-bufs: those that others import, and those that others exported. */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>

#include "hw/rknpu_hw.h"
#include "rknpu_bo_impl.h"

/* Of what an exporter has made for us. */
static unsigned long rknpu_bo_list_pages(const struct sg_table *sgt)
{
	return DIV_ROUND_UP((size_t)sgt->orig_nents * sizeof(*sgt->sgl), PAGE_SIZE);
}

void rknpu_bo_drop_dmabuf(struct rknpu_bo *bo)
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
