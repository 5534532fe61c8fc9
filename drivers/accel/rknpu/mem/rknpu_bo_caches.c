// SPDX-License-Identifier: GPL-2.0-only
/* Owns the cache maintenance of BOs, and reads them through the CPU's cache. */
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/minmax.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/sizes.h>

#include "hw/rknpu_hw.h"
#include "rknpu_bo_impl.h"

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
