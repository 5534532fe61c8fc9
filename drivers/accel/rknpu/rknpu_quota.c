// SPDX-License-Identifier: GPL-2.0-only
/* Owns how much memory BOs may take: those of one client, and all of them. */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>

#include <drm/drm_print.h>

#include "rknpu_device.h"
#include "rknpu_quota.h"
#include "rknpu_sched.h"

/*
 * BOs are pinned: nothing but their owner's end gives the memory back, so when
 * they have taken it all, others' processes are killed. Language models of half
 * the memory must fit, with room for what they compute with.
 */
static uint max_memory_percent = 75;
module_param(max_memory_percent, uint, 0644);
MODULE_PARM_DESC(max_memory_percent, "How much of the memory all BOs may take, in percent (default 75)");

static uint max_file_memory_percent = 65;
module_param(max_file_memory_percent, uint, 0644);
MODULE_PARM_DESC(max_file_memory_percent, "How much of the memory the BOs of one open file may take, in percent (default 65)");

static unsigned long rknpu_quota_pages(unsigned int percent)
{
	return mul_u64_u32_div(totalram_pages(), min(percent, 100U), 100);
}

static u64 rknpu_quota_bytes(unsigned int percent)
{
	return (u64)rknpu_quota_pages(percent) << PAGE_SHIFT;
}

u64 rknpu_quota_file_bytes(void)
{
	return rknpu_quota_bytes(READ_ONCE(max_file_memory_percent));
}

u64 rknpu_quota_device_bytes(void)
{
	return rknpu_quota_bytes(READ_ONCE(max_memory_percent));
}

static bool rknpu_quota_add(atomic_long_t *count, unsigned long pages, unsigned int percent)
{
	if (atomic_long_add_return(pages, count) <= rknpu_quota_pages(percent))
		return true;
	atomic_long_sub(pages, count);
	return false;
}

int rknpu_quota_charge(struct rknpu_client *client, unsigned long pages)
{
	struct rknpu_device *rdev = client->rdev;

	if (!rknpu_quota_add(&client->bo_pages, pages, READ_ONCE(max_file_memory_percent))) {
		drm_dbg_ratelimited(&rdev->accel, "%lu more pages: the file's BOs take too much\n",
				    pages);
		return -ENOMEM;
	}
	if (!rknpu_quota_add(&rdev->bo_pages, pages, READ_ONCE(max_memory_percent))) {
		atomic_long_sub(pages, &client->bo_pages);
		drm_dbg_ratelimited(&rdev->accel, "%lu more pages: all BOs take too much\n", pages);
		return -ENOMEM;
	}
	return 0;
}

void rknpu_quota_uncharge(struct rknpu_client *client, unsigned long pages)
{
	atomic_long_sub(pages, &client->rdev->bo_pages);
	atomic_long_sub(pages, &client->bo_pages);
}
