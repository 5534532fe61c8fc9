// SPDX-License-Identifier: GPL-2.0-only
/* Owns reading and writing the task buffers of the vendor's uAPI. */
#include <linux/align.h>
#include <linux/dma-buf.h>
#include <linux/highmem.h>
#include <linux/iosys-map.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include <drm/drm_print.h>

#include "rknpu_job.h"
#include "rknpu_vendor.h"
#include "rknpu_vendor_task.h"

/* Two commands make one fetch, and programs start with one. */
#define RKNPU_VTASK_ALIGN	16
/* Commands that end a program; regcfg_amount does not count them. */
#define RKNPU_VTASK_TAIL	4
/* The register that takes half of this has 16 bits. */
#define RKNPU_VTASK_MAX_REGCMDS	131072u

/**
 * struct rknpu_vtask_range - part of a task buffer that the CPU has access to
 * @vbo: the buffer
 * @offset: first byte
 * @len: bytes
 * @map: all of the buffer, if it is imported
 */
struct rknpu_vtask_range {
	struct rknpu_vbo *vbo;
	u64 offset;
	u64 len;
	struct iosys_map map;
};

static struct dma_buf *rknpu_vtask_dmabuf(struct rknpu_vbo *vbo)
{
	return vbo->base.base.import_attach->dmabuf;
}

/*
 * The CPU's other mapping of what user space maps uncached may hold old lines,
 * from prefetching if nothing else.
 */
static bool rknpu_vtask_needs_sync(struct rknpu_vbo *vbo)
{
	return !(vbo->flags & DRM_RKNPU_MEM_CACHEABLE);
}

static int rknpu_vtask_begin_imported(struct rknpu_vtask_range *r)
{
	struct dma_buf *dmabuf = rknpu_vtask_dmabuf(r->vbo);
	int ret;

	ret = dma_buf_begin_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	if (ret)
		return ret;
	ret = dma_buf_vmap_unlocked(dmabuf, &r->map);
	if (ret)
		dma_buf_end_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	return ret;
}

/* Not every exporter lets the kernel have a mapping. */
static int rknpu_vtask_begin(struct rknpu_vtask_range *r)
{
	if (drm_gem_is_imported(&r->vbo->base.base))
		return rknpu_vtask_begin_imported(r);
	if (rknpu_vtask_needs_sync(r->vbo))
		rknpu_bo_sync_range_for_cpu(&r->vbo->base, r->offset, r->len);
	return 0;
}

static void rknpu_vtask_end(struct rknpu_vtask_range *r, bool written)
{
	if (drm_gem_is_imported(&r->vbo->base.base)) {
		dma_buf_vunmap_unlocked(rknpu_vtask_dmabuf(r->vbo), &r->map);
		dma_buf_end_cpu_access(rknpu_vtask_dmabuf(r->vbo), DMA_BIDIRECTIONAL);
	} else if (written && rknpu_vtask_needs_sync(r->vbo)) {
		rknpu_bo_sync_range_for_device(&r->vbo->base, r->offset, r->len);
	}
}

static void rknpu_vtask_copy(struct rknpu_vtask_range *r, u64 offset, void *to, size_t len)
{
	if (drm_gem_is_imported(&r->vbo->base.base)) {
		iosys_map_memcpy_from(to, &r->map, offset, len);
		return;
	}
	while (len) {
		size_t in_page = offset_in_page(offset);
		size_t n = min(len, PAGE_SIZE - in_page);

		memcpy_from_page(to, r->vbo->base.pages[offset >> PAGE_SHIFT], in_page, n);
		to += n;
		offset += n;
		len -= n;
	}
}

static int rknpu_vtask_check(struct rknpu_vbo *vbo, u32 i, const struct drm_rknpu_task *t)
{
	struct drm_device *dev = vbo->base.base.dev;

	if (!IS_ALIGNED(lower_32_bits(t->regcmd_addr), RKNPU_VTASK_ALIGN)) {
		drm_dbg_ratelimited(dev, "submit: task %u: regcmd_addr %#llx is not aligned to %u\n",
				    i, t->regcmd_addr, RKNPU_VTASK_ALIGN);
		return -EINVAL;
	}
	if (t->regcfg_amount > RKNPU_VTASK_MAX_REGCMDS - RKNPU_VTASK_TAIL) {
		drm_dbg_ratelimited(dev, "submit: task %u: regcfg_amount %u is over %u\n", i,
				    t->regcfg_amount, RKNPU_VTASK_MAX_REGCMDS - RKNPU_VTASK_TAIL);
		return -EINVAL;
	}
	return 0;
}

static int rknpu_vtask_read_one(struct rknpu_vtask_range *r, u32 start, struct rknpu_job *job,
				u32 i)
{
	struct drm_rknpu_task t;
	int ret;

	rknpu_vtask_copy(r, r->offset + i * sizeof(t), &t, sizeof(t));
	ret = rknpu_vtask_check(r->vbo, start + i, &t);
	if (ret)
		return ret;
	job->tasks[i].regcmd = lower_32_bits(t.regcmd_addr);
	job->tasks[i].regcmd_count = t.regcfg_amount + RKNPU_VTASK_TAIL;
	job->tasks[i].int_mask = t.int_mask;
	return 0;
}

int rknpu_vtask_read(struct rknpu_vbo *vbo, u32 start, struct rknpu_job *job)
{
	struct rknpu_vtask_range r = {
		.vbo = vbo,
		.offset = (u64)start * sizeof(struct drm_rknpu_task),
		.len = (u64)job->task_count * sizeof(struct drm_rknpu_task),
	};
	u32 i;
	int ret;

	if (r.offset + r.len > vbo->base.base.size) {
		drm_dbg_ratelimited(vbo->base.base.dev,
				    "submit: %u tasks from %u on are not in the buffer\n",
				    job->task_count, start);
		return -EINVAL;
	}

	ret = rknpu_vtask_begin(&r);
	if (ret) {
		drm_dbg_ratelimited(vbo->base.base.dev,
				    "submit: the task buffer cannot be read: %d\n", ret);
		return ret;
	}
	for (i = 0; i < job->task_count && !ret; i++)
		ret = rknpu_vtask_read_one(&r, start, job, i);
	rknpu_vtask_end(&r, false);
	return ret;
}

void rknpu_vtask_write_status(struct rknpu_vbo *vbo, u32 index, u32 int_status)
{
	struct rknpu_vtask_range r = {
		.vbo = vbo,
		.offset = (u64)index * sizeof(struct drm_rknpu_task) +
			  offsetof(struct drm_rknpu_task, int_status),
		.len = sizeof(int_status),
	};

	/* The job is over, whether user space gets to know this or not. */
	if (rknpu_vtask_begin(&r))
		return;
	if (drm_gem_is_imported(&vbo->base.base))
		iosys_map_memcpy_to(&r.map, r.offset, &int_status, sizeof(int_status));
	else
		/* Tasks are 40 bytes, so their members are aligned and never cross a page. */
		memcpy_to_page(vbo->base.pages[r.offset >> PAGE_SHIFT], offset_in_page(r.offset),
			       (const char *)&int_status, sizeof(int_status));
	rknpu_vtask_end(&r, true);
}
