/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns address spaces: IOVA allocator, mappings of BOs, and how long those must stay. */
#ifndef __RKNPU_VM_H__
#define __RKNPU_VM_H__

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <drm/drm_mm.h>

#include "hw/rknpu_hw.h"
#include "hw/rknpu_iommu.h"

struct rknpu_account;
struct rknpu_bo;
struct rknpu_quota;

#define RKNPU_VM_MAX_TABLES	(SZ_4G / RKNPU_DOMAIN_TABLE_SPAN)

/**
 * struct rknpu_vm - one address space
 *
 * Without IOMMU every BO is at its bus address in all of them, and what is mapped
 * tells where a client's programs may be.
 */
struct rknpu_vm {
	/** @ref: files, mappings and jobs hold one each */
	struct kref ref;
	/** @domain: page tables; rknpu_domain::hw with a reference on its drm_device */
	struct rknpu_domain domain;
	/** @account: what the page tables are charged to, with a reference */
	struct rknpu_account *account;
	/** @tables: page tables that it was charged for; there is one more, the directory */
	DECLARE_BITMAP(tables, RKNPU_VM_MAX_TABLES);
	/** @mappings: number of mappings, which it was charged for by the eight */
	unsigned int mappings;
	/** @lock: serialises @mm, changes of @domain, @tables, @mappings, @uses and @orphans */
	struct mutex lock;
	/** @mm: IOVA allocator */
	struct drm_mm mm;
	/** @uses: jobs that may still access memory, oldest first */
	struct list_head uses;
	/** @next_use: sequence number of the next job */
	u64 next_use;
	/** @orphans: mappings without a handle that a job in @uses may still access */
	struct list_head orphans;
	/** @over: uses that are to be freed, see rknpu_vm_use_over() */
	struct list_head over;
	/** @reap_link: in rknpu_quota::over while @over is not empty */
	struct list_head reap_link;
	/** @reap_lock: one frees at a time */
	struct mutex reap_lock;
	/** @release_work: end of life */
	struct work_struct release_work;
};

/**
 * struct rknpu_vm_use - a job's claim on everything mapped in its VM
 *
 * Clients do not list all the memory their programs touch (Mesa lists neither
 * weights nor programs), so what is mapped while a job lives stays mapped
 * until that job is gone, whatever handles are closed meanwhile. Embedded in
 * struct rknpu_job as "use".
 */
struct rknpu_vm_use {
	/** @link: in rknpu_vm::uses */
	struct list_head link;
	/** @seq: age */
	u64 seq;
	/** @over_link: in rknpu_vm::over */
	struct list_head over_link;
	/** @free: frees what the use is part of, with rknpu_vm_use_end(). May sleep. */
	void (*free)(struct rknpu_vm_use *use);
};

/**
 * struct rknpu_mapping - the presence of one BO in one VM, held by the handles of the VM's file
 */
struct rknpu_mapping {
	/** @vm: holds a reference */
	struct rknpu_vm *vm;
	/** @bo: holds a reference */
	struct rknpu_bo *bo;
	/** @node: IOVA range */
	struct drm_mm_node node;
	/** @handles: holders, under @bo->map_lock; unmapped when none is left */
	unsigned int handles;
	/** @bo_link: in @bo->mappings while there are holders */
	struct list_head bo_link;
	/** @orphan_link: in @vm->orphans */
	struct list_head orphan_link;
	/** @orphan_seq: uses of @vm before this one may still access it */
	u64 orphan_seq;
};

/* Its page tables are charged to @account as long as it lives. */
struct rknpu_vm *rknpu_vm_create(struct rknpu_account *account);
struct rknpu_vm *rknpu_vm_get(struct rknpu_vm *vm);
/* Any context, hard interrupts included: the release runs from rknpu_release. */
void rknpu_vm_put(struct rknpu_vm *vm);

/* Process context. A use that has begun ends once. */
void rknpu_vm_use_begin(struct rknpu_vm *vm, struct rknpu_vm_use *use);
void rknpu_vm_use_end(struct rknpu_vm *vm, struct rknpu_vm_use *use);

/*
 * Any context: nobody refers to the use's job any more. It is freed by the next
 * rknpu_vm_reap(), or a little later if there is none: waking a thread for each
 * job would cost more than everything else that ends one. Its reference on @vm
 * goes with it.
 */
void rknpu_vm_use_over(struct rknpu_vm *vm, struct rknpu_vm_use *use);
/* On return everything over so far in @vm is freed. May sleep. */
void rknpu_vm_reap(struct rknpu_vm *vm);
/* The same, unless there is nothing, or another thread is just at it. */
void rknpu_vm_reap_if_any(struct rknpu_vm *vm);
/* Beside rknpu_quota_init(). */
void rknpu_vm_reaper_init(struct rknpu_quota *quota);
/* Nobody comes back for it: frees everything soon that is charged to @quota. Any context. */
void rknpu_vm_reap_soon(struct rknpu_quota *quota);
/* Everything of it that is over so far is freed on return. Not for what is charged to others. */
void rknpu_vm_reap_all(struct rknpu_quota *quota);
/* Is anything being freed, or to be, that is charged to others? */
bool rknpu_vm_reaps_others(struct rknpu_quota *quota);
/* Everything over so far, whoever it is charged to: takes as long as their threads let it. */
void rknpu_vm_reap_everything(void);
/*
 * As rknpu_vm_reap_all(), and what its release queues; what is charged to others goes soon.
 * Or, if @quota is NULL, as rknpu_vm_reap_everything(). Not inside of a release.
 */
void rknpu_vm_flush(struct rknpu_quota *quota);

/* Before an allocation: waits for what only needs the release of finished jobs. */
void rknpu_vm_reclaim(struct rknpu_vm *vm);

/**
 * struct rknpu_vm_lookup - looking up many ranges
 */
struct rknpu_vm_lookup {
	/** @vm: where */
	struct rknpu_vm *vm;
	/** @start: of the BO that the last range was in */
	u64 start;
	/** @end: its end; 0: none yet */
	u64 end;
};

/* Between the two nothing is mapped or unmapped; so no user memory may be touched there. */
void rknpu_vm_lookup_begin(struct rknpu_vm_lookup *look, struct rknpu_vm *vm);
void rknpu_vm_lookup_end(struct rknpu_vm_lookup *look);
/*
 * Is [iova, iova + size) inside one BO? Stays true while the caller holds a use
 * of the VM, if the BO had a handle when that began; else it may end with older
 * uses, and the worst is a fault in the caller's own address space.
 */
bool rknpu_vm_lookup_range(struct rknpu_vm_lookup *look, u64 iova, u64 size);
/*
 * Copies what lies there, up to the end of the BO: returns how much, 0 if nothing
 * does that is the driver's to read.
 */
size_t rknpu_vm_lookup_read(struct rknpu_vm_lookup *look, u64 iova, void *to, size_t size);

/*
 * Finds or makes the mapping, whose address is in @iova then; every get needs one put. Nobody
 * keeps a pointer to it: before 6.16, 6.1.146 and 5.15.189 DRM closes a handle that is guessed
 * before it has opened it, so a put may be another holder's. Process context.
 */
int rknpu_mapping_get(struct rknpu_vm *vm, struct rknpu_bo *bo, u64 *iova);
void rknpu_mapping_put(struct rknpu_vm *vm, struct rknpu_bo *bo);
/* Of a file that is closed: what such handles have left behind. */
void rknpu_vm_put_stray_mappings(struct rknpu_vm *vm);

#endif
