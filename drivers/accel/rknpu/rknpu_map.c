// SPDX-License-Identifier: GPL-2.0-only
/* Owns mappings: the presence of one BO in one VM, held by the handles of the VM's file. */
#include <linux/slab.h>

#include "rknpu_bo.h"
#include "rknpu_map.h"
#include "rknpu_vm.h"

static struct rknpu_mapping *rknpu_mapping_create(struct rknpu_vm *vm, struct rknpu_bo *bo)
{
	struct rknpu_mapping *map;
	int ret;

	map = kzalloc_obj(*map, GFP_KERNEL_ACCOUNT);
	if (!map)
		return ERR_PTR(-ENOMEM);

	ret = rknpu_vm_map(vm, bo->sgt, bo->base.size, &map->node);
	if (ret) {
		kfree(map);
		return ERR_PTR(ret);
	}

	drm_gem_object_get(&bo->base);
	map->bo = bo;
	map->vm = rknpu_vm_get(vm);
	return map;
}

void rknpu_mapping_destroy(struct rknpu_mapping *map)
{
	rknpu_vm_unmap(map->vm, &map->node);
	rknpu_bo_put(map->bo);
	rknpu_vm_put(map->vm);
	kfree(map);
}

static struct rknpu_mapping *rknpu_mapping_find_locked(struct rknpu_vm *vm, struct rknpu_bo *bo)
{
	struct rknpu_mapping *map;

	lockdep_assert_held(&bo->map_lock);
	list_for_each_entry(map, &bo->mappings, bo_link) {
		if (map->vm == vm)
			return map;
	}
	return NULL;
}

struct rknpu_mapping *rknpu_mapping_get(struct rknpu_vm *vm, struct rknpu_bo *bo)
{
	struct rknpu_mapping *map;

	mutex_lock(&bo->map_lock);
	map = rknpu_mapping_find_locked(vm, bo);
	if (!map) {
		map = rknpu_mapping_create(vm, bo);
		if (IS_ERR(map))
			goto out;
		list_add(&map->bo_link, &bo->mappings);
	}
	map->handles++;
out:
	mutex_unlock(&bo->map_lock);
	return map;
}

static bool rknpu_mapping_drop_locked(struct rknpu_mapping *map)
{
	if (--map->handles)
		return false;
	list_del(&map->bo_link);
	return true;
}

void rknpu_mapping_put(struct rknpu_mapping *map)
{
	struct rknpu_bo *bo = map->bo;
	bool last;

	mutex_lock(&bo->map_lock);
	last = rknpu_mapping_drop_locked(map);
	mutex_unlock(&bo->map_lock);

	if (last)
		rknpu_vm_retire(map->vm, map);
}

void rknpu_mapping_put_handle(struct rknpu_vm *vm, struct rknpu_bo *bo)
{
	struct rknpu_mapping *map;
	bool last;

	mutex_lock(&bo->map_lock);
	map = rknpu_mapping_find_locked(vm, bo);
	last = map && rknpu_mapping_drop_locked(map);
	mutex_unlock(&bo->map_lock);

	if (last)
		rknpu_vm_retire(vm, map);
}
