// SPDX-License-Identifier: GPL-2.0-only
/* Owns whom memory is charged to: accounts, what their owners and all together may have. */
#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>

#include <drm/drm_print.h>

#include "hw/rknpu_hw.h"
#include "rknpu_account.h"
#include "rknpu_params.h"

/* How often it is tried to make room while others are about to. */
#define RKNPU_MEM_TRIES		4

/* How many owners can have their part of what is kept for those that have little. */
#define RKNPU_MEM_SMALL_OWNERS	8

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

int rknpu_account_charge(struct rknpu_account *account, unsigned long pages)
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

void rknpu_account_uncharge(struct rknpu_account *account, unsigned long pages)
{
	atomic_long_sub(pages, &account->mem->pages);
	atomic_long_sub(pages, &account->quota->pages);
}

/*
 * In other VMs, too, what is over still counts for a moment. So it does of other owners, if it
 * is all together that have too much, or they share a BO; but that is not waited for without
 * end: their threads can hold locks that it takes to free it.
 */
int rknpu_account_charge_patiently(struct rknpu_account *account, unsigned long pages)
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
