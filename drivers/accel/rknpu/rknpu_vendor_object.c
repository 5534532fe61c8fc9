// SPDX-License-Identifier: GPL-2.0-only
/* Owns what a file of the vendor's uAPI calls its BOs: cookies, not kernel pointers. */
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/random.h>
#include <linux/slab.h>

#include <drm/drm_gem.h>

#include "rknpu_map.h"
#include "rknpu_vendor.h"
#include "rknpu_vm.h"

static struct rknpu_vobject *rknpu_vobject_find_cookie(struct rknpu_vfile *vfile, u64 cookie)
{
	struct rknpu_vobject *vobj;

	lockdep_assert_held(&vfile->lock);
	hash_for_each_possible(vfile->objects, vobj, node, cookie) {
		if (vobj->cookie == cookie)
			return vobj;
	}
	return NULL;
}

static struct rknpu_vobject *rknpu_vobject_find_bo(struct rknpu_vfile *vfile,
						   struct rknpu_vbo *vbo)
{
	struct rknpu_vobject *vobj, *found = NULL;

	lockdep_assert_held(&vfile->lock);
	spin_lock(&vbo->list_lock);
	list_for_each_entry(vobj, &vbo->objects, link) {
		if (vobj->vfile == vfile) {
			found = vobj;
			break;
		}
	}
	spin_unlock(&vbo->list_lock);
	return found;
}

static u64 rknpu_vobject_new_cookie(struct rknpu_vfile *vfile)
{
	u64 cookie;

	do {
		cookie = get_random_u64();
	} while (!cookie || rknpu_vobject_find_cookie(vfile, cookie));
	return cookie;
}

/*
 * What was imported goes where its first importer is at that time, and stays
 * there as long as anybody has a handle.
 */
static u32 rknpu_vobject_domain(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo)
{
	u32 current_domain = READ_ONCE(vfile->space->domain);

	spin_lock(&vbo->list_lock);
	if (drm_gem_is_imported(&vbo->base.base) && !vbo->openers)
		vbo->domain = current_domain;
	vbo->openers++;
	spin_unlock(&vbo->list_lock);
	return vbo->domain;
}

static void rknpu_vobject_leave_domain(struct rknpu_vbo *vbo)
{
	spin_lock(&vbo->list_lock);
	vbo->openers--;
	spin_unlock(&vbo->list_lock);
}

static struct rknpu_vobject *rknpu_vobject_map(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo,
					       u32 domain)
{
	struct rknpu_vm *vm = rknpu_space_vm(vfile->space, domain);
	struct rknpu_mapping *map;
	struct rknpu_vobject *vobj;

	if (IS_ERR(vm))
		return ERR_CAST(vm);

	vobj = kzalloc_obj(*vobj, GFP_KERNEL_ACCOUNT);
	if (!vobj)
		return ERR_PTR(-ENOMEM);

	map = rknpu_mapping_get(vm, &vbo->base);
	if (IS_ERR(map)) {
		kfree(vobj);
		return ERR_CAST(map);
	}
	vobj->vfile = vfile;
	vobj->vbo = vbo;
	vobj->vm = vm;
	vobj->iova = map->node.start;
	return vobj;
}

static struct rknpu_vobject *rknpu_vobject_create(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo)
{
	u32 domain = rknpu_vobject_domain(vfile, vbo);
	struct rknpu_vobject *vobj;

	vobj = rknpu_vobject_map(vfile, vbo, domain);
	if (IS_ERR(vobj)) {
		rknpu_vobject_leave_domain(vbo);
		return vobj;
	}
	vobj->cookie = rknpu_vobject_new_cookie(vfile);
	hash_add(vfile->objects, &vobj->node, vobj->cookie);
	spin_lock(&vbo->list_lock);
	list_add(&vobj->link, &vbo->objects);
	spin_unlock(&vbo->list_lock);
	return vobj;
}

int rknpu_vobject_open(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo)
{
	struct rknpu_vobject *vobj;
	int ret = 0;

	mutex_lock(&vfile->lock);
	vobj = rknpu_vobject_find_bo(vfile, vbo);
	if (!vobj)
		vobj = rknpu_vobject_create(vfile, vbo);
	if (IS_ERR(vobj))
		ret = PTR_ERR(vobj);
	else
		vobj->handles++;
	mutex_unlock(&vfile->lock);
	return ret;
}

static void rknpu_vobject_destroy(struct rknpu_vobject *vobj)
{
	struct rknpu_vbo *vbo = vobj->vbo;

	hash_del(&vobj->node);
	spin_lock(&vbo->list_lock);
	list_del(&vobj->link);
	spin_unlock(&vbo->list_lock);
	rknpu_mapping_put_handle(vobj->vm, &vbo->base);
	rknpu_vobject_leave_domain(vbo);
	kfree(vobj);
}

bool rknpu_vobject_close(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo)
{
	struct rknpu_vobject *vobj;

	mutex_lock(&vfile->lock);
	vobj = rknpu_vobject_find_bo(vfile, vbo);
	if (vobj && !--vobj->handles)
		rknpu_vobject_destroy(vobj);
	mutex_unlock(&vfile->lock);
	return vobj;
}

struct rknpu_vbo *rknpu_vobject_first(struct rknpu_vfile *vfile)
{
	struct rknpu_vobject *vobj;
	struct rknpu_vbo *vbo = NULL;
	int bucket;

	mutex_lock(&vfile->lock);
	hash_for_each(vfile->objects, bucket, vobj, node) {
		vbo = vobj->vbo;
		break;
	}
	mutex_unlock(&vfile->lock);
	return vbo;
}

int rknpu_vobject_describe(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo, u64 *cookie,
			   u64 *iova)
{
	struct rknpu_vobject *vobj;

	mutex_lock(&vfile->lock);
	vobj = rknpu_vobject_find_bo(vfile, vbo);
	if (vobj) {
		*cookie = vobj->cookie;
		*iova = vobj->iova;
	}
	mutex_unlock(&vfile->lock);
	return vobj ? 0 : -ENOENT;
}

struct rknpu_vbo *rknpu_vobject_lookup(struct rknpu_vfile *vfile, u64 cookie)
{
	struct rknpu_vobject *vobj;
	struct rknpu_vbo *vbo = NULL;

	mutex_lock(&vfile->lock);
	vobj = rknpu_vobject_find_cookie(vfile, cookie);
	if (vobj) {
		vbo = vobj->vbo;
		drm_gem_object_get(&vbo->base.base);
	}
	mutex_unlock(&vfile->lock);
	return vbo;
}
