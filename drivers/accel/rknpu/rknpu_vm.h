/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns address spaces: IOMMU domain, IOVA allocator, and what each core has attached. */
#ifndef __RKNPU_VM_H__
#define __RKNPU_VM_H__

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <drm/drm_mm.h>

struct iommu_domain;
struct rknpu_core;
struct rknpu_device;
struct rknpu_mapping;
struct sg_table;

/**
 * struct rknpu_vm - one address space
 * @ref: files, mappings and jobs hold one each
 * @rdev: device, with a reference on its drm_device
 * @domain: page tables
 * @lock: serialises @mm, changes of @domain, and the lists below
 * @mm: IOVA allocator
 * @uses: jobs that may still access memory, oldest first
 * @next_use: sequence number of the next job
 * @zombies: mappings without a handle that a job in @uses may still access
 * @over: jobs to be freed, see rknpu_reap.h
 * @reap_link: belongs to rknpu_reap
 * @reap_lock: one frees at a time
 * @faults: page faults taken
 * @release_work: end of life
 */
struct rknpu_vm {
	struct kref ref;
	struct rknpu_device *rdev;
	struct iommu_domain *domain;
	struct mutex lock; /* see above */
	struct drm_mm mm;
	struct list_head uses;
	u64 next_use;
	struct list_head zombies;
	struct list_head over;
	struct list_head reap_link;
	struct mutex reap_lock; /* see above */
	atomic_t faults;
	struct work_struct release_work;
};

/**
 * struct rknpu_vm_use - a job's claim on everything mapped in its VM
 * @link: in rknpu_vm::uses; NULL while the use has not begun
 * @seq: age
 *
 * Clients do not list all the memory their programs touch (Mesa lists neither
 * weights nor programs), so what is mapped while a job lives stays mapped
 * until that job is gone, whatever handles are closed meanwhile. Embedded in
 * struct rknpu_job as "use"; must be zeroed before rknpu_vm_use_begin().
 */
struct rknpu_vm_use {
	struct list_head link;
	u64 seq;
};

struct rknpu_vm *rknpu_vm_create(struct rknpu_device *rdev);
struct rknpu_vm *rknpu_vm_get(struct rknpu_vm *vm);
/* Any context, hard interrupts included: the release runs from rknpu_release. */
void rknpu_vm_put(struct rknpu_vm *vm);

/* Process context. End is a no-op for a use that never began. */
void rknpu_vm_use_begin(struct rknpu_vm *vm, struct rknpu_vm_use *use);
void rknpu_vm_use_end(struct rknpu_vm *vm, struct rknpu_vm_use *use);

/* Maps the DMA segments of @sgt at an address chosen by the allocator. */
int rknpu_vm_map(struct rknpu_vm *vm, struct sg_table *sgt, u64 size,
		 struct drm_mm_node *node);
void rknpu_vm_unmap(struct rknpu_vm *vm, struct drm_mm_node *node);

/* @map lost its last holder: destroyed as soon as no older use is left. */
void rknpu_vm_retire(struct rknpu_vm *vm, struct rknpu_mapping *map);

/* Before an allocation: waits for what only needs the release of finished jobs. */
void rknpu_vm_reclaim(struct rknpu_vm *vm);

/*
 * Is [iova, iova + size) inside one BO? Stays true while the caller holds a use
 * of @vm, if the BO had a handle when that began; else it may end with older
 * uses, and the worst is a fault in the caller's own address space.
 */
bool rknpu_vm_range_mapped(struct rknpu_vm *vm, u64 iova, u64 size);

/*
 * Core side: fills core->iommu. Its vm is written under its attach_lock (which
 * lives as long as the device). It is compared, not followed: it holds no
 * reference, a VM takes itself off all cores before it goes.
 */
int rknpu_vm_core_init(struct rknpu_core *core);
void rknpu_vm_core_fini(struct rknpu_core *core);

/*
 * All with attach_lock held, in process context, powered or not. With a shared
 * IOMMU they concern all its cores, and no job may be on any of them, unless it
 * is one that waits for its VM to be attached.
 */
int rknpu_vm_attach_core(struct rknpu_vm *vm, struct rknpu_core *core);
/*
 * No job finds the VM attached from then on. On failure the IOMMU core still has
 * its domain, so the VM stays, and nothing can be attached, until this succeeds.
 */
int rknpu_vm_detach_core(struct rknpu_core *core);
/* Is a part of the IOMMU in reset? The second waits, for a while, dropping the lock. */
bool rknpu_vm_core_parked(struct rknpu_core *core);
void rknpu_vm_wait_parked(struct rknpu_core *core);

#endif
