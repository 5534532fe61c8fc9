// SPDX-License-Identifier: GPL-2.0-only
/* Owns reading and writing the task buffers of the vendor's uAPI. */
#include <linux/align.h>
#include <linux/highmem.h>
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

/*
 * The CPU's other mapping of what user space maps uncached may hold old lines,
 * from prefetching if nothing else.
 */
static bool rknpu_vtask_needs_sync(struct rknpu_vbo *vbo)
{
	return !(vbo->flags & DRM_RKNPU_MEM_CACHEABLE);
}

static void rknpu_vtask_copy(struct rknpu_vbo *vbo, u64 offset, void *to, size_t len)
{
	while (len) {
		size_t in_page = offset_in_page(offset);
		size_t n = min(len, PAGE_SIZE - in_page);

		memcpy_from_page(to, vbo->base.pages[offset >> PAGE_SHIFT], in_page, n);
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

int rknpu_vtask_read(struct rknpu_vbo *vbo, u32 start, struct rknpu_job *job)
{
	u64 offset = (u64)start * sizeof(struct drm_rknpu_task);
	u64 len = (u64)job->task_count * sizeof(struct drm_rknpu_task);
	struct drm_rknpu_task t;
	u32 i;
	int ret;

	if (offset + len > vbo->base.base.size) {
		drm_dbg_ratelimited(vbo->base.base.dev,
				    "submit: %u tasks from %u on are not in the buffer\n",
				    job->task_count, start);
		return -EINVAL;
	}

	if (rknpu_vtask_needs_sync(vbo))
		rknpu_bo_sync_range_for_cpu(&vbo->base, offset, len);
	for (i = 0; i < job->task_count; i++) {
		rknpu_vtask_copy(vbo, offset + i * sizeof(t), &t, sizeof(t));
		ret = rknpu_vtask_check(vbo, start + i, &t);
		if (ret)
			return ret;
		job->tasks[i].regcmd = lower_32_bits(t.regcmd_addr);
		job->tasks[i].regcmd_count = t.regcfg_amount + RKNPU_VTASK_TAIL;
		job->tasks[i].int_mask = t.int_mask;
	}
	return 0;
}

void rknpu_vtask_write_status(struct rknpu_vbo *vbo, u32 index, u32 int_status)
{
	u64 offset = (u64)index * sizeof(struct drm_rknpu_task) +
		     offsetof(struct drm_rknpu_task, int_status);

	/* Tasks are 40 bytes, so their members are aligned and never cross a page. */
	memcpy_to_page(vbo->base.pages[offset >> PAGE_SHIFT], offset_in_page(offset),
		       (const char *)&int_status, sizeof(int_status));
	if (rknpu_vtask_needs_sync(vbo))
		rknpu_bo_sync_range_for_device(&vbo->base, offset, sizeof(int_status));
}
