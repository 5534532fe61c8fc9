/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns mappings: the presence of one BO in one VM, held by the handles of the VM's file. */
#ifndef __RKNPU_MAP_H__
#define __RKNPU_MAP_H__

#include <linux/list.h>
#include <linux/types.h>

#include <drm/drm_mm.h>

struct rknpu_bo;
struct rknpu_vm;

/**
 * struct rknpu_mapping - one BO in one VM
 * @vm: holds a reference
 * @bo: holds a reference
 * @node: IOVA range
 * @handles: holders, under @bo->map_lock; unmapped when none is left
 * @bo_link: in @bo->mappings while there are holders
 * @dead_link: in @vm->zombies
 * @dead_seq: uses of @vm before this one may still access it
 */
struct rknpu_mapping {
	struct rknpu_vm *vm;
	struct rknpu_bo *bo;
	struct drm_mm_node node;
	unsigned int handles;
	struct list_head bo_link;
	struct list_head dead_link;
	u64 dead_seq;
};

/* Finds or makes the mapping; every get needs one put. Process context. */
struct rknpu_mapping *rknpu_mapping_get(struct rknpu_vm *vm,
					struct rknpu_bo *bo);
void rknpu_mapping_put(struct rknpu_mapping *map);
/* The same for a holder that kept no pointer, as handles do. */
void rknpu_mapping_put_handle(struct rknpu_vm *vm, struct rknpu_bo *bo);

/* For rknpu_vm: unmaps and frees a mapping that no holder and no job needs. */
void rknpu_mapping_destroy(struct rknpu_mapping *map);

#endif
