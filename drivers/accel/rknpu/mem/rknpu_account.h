/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns whom memory is charged to: accounts, what their owners and all together may have. */
#ifndef __RKNPU_ACCOUNT_H__
#define __RKNPU_ACCOUNT_H__

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct rknpu_account;
struct rknpu_hw;
struct rknpu_quota;

/**
 * struct rknpu_mem - memory of one device
 */
struct rknpu_mem {
	/** @hw: hardware */
	struct rknpu_hw *hw;
	/**
	 * @reclaim: frees what that owner's jobs that are over have kept, and address spaces that
	 * nobody has. Takes a while, and asks the same for others: returns whether that goes on.
	 */
	bool (*reclaim)(struct rknpu_mem *mem, struct rknpu_quota *quota);
	/** @pages: of all BOs, and @table_pages */
	atomic_long_t pages;
	/** @table_pages: pages of page tables, and of what BOs take beside their own */
	atomic_long_t table_pages;
};

/**
 * struct rknpu_quota - what accounts of one owner take together
 */
struct rknpu_quota {
	/** @pages: pages of all of them */
	atomic_long_t pages;
	/** @imports: attached BOs that nobody has any more, by rknpu_bo::release_link */
	struct llist_head imports;
	/** @imports_work: releases them */
	struct work_struct imports_work;
	/**
	 * @over: address spaces with jobs that are over, by rknpu_vm::reap_link; under the lock
	 * of rknpu_vm.c, as all that follows
	 */
	struct list_head over;
	/** @reap_work: frees those */
	struct delayed_work reap_work;
	/** @reap_account: one of its accounts, with a reference, until @reap_work begins */
	struct rknpu_account *reap_account;
	/** @reap_soon: until then: it does not wait for its time any more */
	bool reap_soon;
	/** @reap_link: in the list of those whose @reap_work is queued or runs */
	struct list_head reap_link;
};

/**
 * struct rknpu_account - whom memory is charged to
 */
struct rknpu_account {
	/** @ref: the owner has one, and every BO and address space that was charged */
	struct kref ref;
	/** @mem: device */
	struct rknpu_mem *mem;
	/** @quota: its owner's, which outlives the account */
	struct rknpu_quota *quota;
	/** @pages: pages of its BOs */
	atomic_long_t pages;
	/** @release: frees what the account is part of; process context */
	void (*release)(struct kref *ref);
};

void rknpu_account_init(struct rknpu_account *account, struct rknpu_mem *mem,
			struct rknpu_quota *quota, void (*release)(struct kref *ref));

static inline void rknpu_account_put(struct rknpu_account *account)
{
	kref_put(&account->ref, account->release);
}

static inline struct rknpu_account *rknpu_account_get(struct rknpu_account *account)
{
	kref_get(&account->ref);
	return account;
}

/*
 * -ENOMEM: the owner, or all together, would have too much. Patiently: after what is over has
 * made room, if that is necessary. That takes the locks of address spaces.
 */
int rknpu_account_charge(struct rknpu_account *account, unsigned long pages);
int rknpu_account_charge_patiently(struct rknpu_account *account, unsigned long pages);
void rknpu_account_uncharge(struct rknpu_account *account, unsigned long pages);

/*
 * The same for page tables. They count as BOs do, although it is the IOMMU's driver that
 * allocates them: the kernel's memory cgroups do not see them.
 */
int rknpu_account_charge_tables(struct rknpu_account *account, unsigned long pages);
int rknpu_account_charge_tables_patiently(struct rknpu_account *account, unsigned long pages);
void rknpu_account_uncharge_tables(struct rknpu_account *account, unsigned long pages);

/* Bytes of all BOs and of all page tables. */
u64 rknpu_mem_bo_bytes(struct rknpu_mem *mem);
u64 rknpu_mem_table_bytes(struct rknpu_mem *mem);

/* Limits of that memory, in bytes. They follow the memory that there is, and module parameters. */
u64 rknpu_mem_owner_limit(const struct rknpu_mem *mem);
u64 rknpu_mem_device_limit(const struct rknpu_mem *mem);

#endif
