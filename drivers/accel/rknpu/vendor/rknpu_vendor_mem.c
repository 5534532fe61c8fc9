// SPDX-License-Identifier: GPL-2.0-only
/* Owns memory of the vendor's uAPI: address spaces of processes, cookies for BOs, ioctls. */
#include <linux/cleanup.h>
#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "mem/rknpu_bo.h"
#include "mem/rknpu_vm.h"
#include "rknpu_device.h"
#include "rknpu_params.h"
#include "rknpu_vendor.h"
#include "sched/rknpu_client_types.h"

/* What fits one address space: runtimes ask for nearly 3 GB at once (public logs). */
#define RKNPU_VBO_MAX_SIZE	((u64)SZ_4G - 2 * PAGE_SIZE)

/* Each is a reference, and /dev/rknpu gives a new one for each import of the same dma-buf. */
#define RKNPU_VOBJECT_MAX_HANDLES	SZ_64K

static struct rknpu_space *rknpu_space_alloc(struct rknpu_vendor *vendor, struct mm_struct *mm)
{
	struct rknpu_space *space = kzalloc_obj(*space, GFP_KERNEL_ACCOUNT);

	if (!space)
		return NULL;

	kref_init(&space->ref);
	mutex_init(&space->lock);
	space->vendor = vendor;
	space->mm = mm;
	if (mm)
		mmgrab(mm);
	return space;
}

static void rknpu_space_free(struct rknpu_space *space)
{
	if (space->mm)
		mmdrop(space->mm);
	mutex_destroy(&space->lock);
	kfree(space);
}

/* That of @mm, or NULL: there is none, and @fresh, if any, is it from now on. */
static struct rknpu_space *rknpu_space_find(struct rknpu_vendor *vendor, struct mm_struct *mm,
					    struct rknpu_space *fresh)
{
	struct rknpu_space *space;

	guard(mutex)(&vendor->lock);
	hash_for_each_possible(vendor->spaces, space, link, (unsigned long)mm) {
		if (space->mm == mm) {
			kref_get(&space->ref);
			return space;
		}
	}
	if (fresh)
		hash_add(vendor->spaces, &fresh->link, (unsigned long)mm);
	return NULL;
}

/* All who open and close take the lock, so nobody waits for memory, of his cgroup's, with it. */
struct rknpu_space *rknpu_space_get(struct rknpu_vendor *vendor)
{
	struct mm_struct *mm = rknpu_params.vendor_shared_space ? NULL : current->mm;
	struct rknpu_space *space = rknpu_space_find(vendor, mm, NULL);
	struct rknpu_space *fresh;

	if (space)
		return space;
	fresh = rknpu_space_alloc(vendor, mm);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	space = rknpu_space_find(vendor, mm, fresh);
	if (!space)
		return fresh;
	/* Another thread of the process was faster. */
	rknpu_space_free(fresh);
	return space;
}

/* Under rknpu_vendor::lock, so that nobody finds it any more. */
static void rknpu_space_release(struct kref *ref)
{
	struct rknpu_space *space = container_of(ref, struct rknpu_space, ref);
	unsigned int i;

	hash_del(&space->link);
	mutex_unlock(&space->vendor->lock);

	for (i = 0; i < DRM_RKNPU_DOMAINS; i++) {
		if (space->vms[i])
			rknpu_vm_put(space->vms[i]);
	}
	rknpu_space_free(space);
}

void rknpu_space_put(struct rknpu_space *space)
{
	kref_put_mutex(&space->ref, rknpu_space_release, &space->vendor->lock);
}

struct rknpu_vm *rknpu_vfile_vm(struct rknpu_vfile *vfile, u32 domain)
{
	struct rknpu_space *space = vfile->space;
	struct rknpu_vm *vm;

	domain = array_index_nospec(domain, DRM_RKNPU_DOMAINS);
	mutex_lock(&space->lock);
	vm = space->vms[domain];
	if (!vm) {
		vm = rknpu_vm_create(&vfile->client->account);
		if (!IS_ERR(vm))
			space->vms[domain] = vm;
	}
	mutex_unlock(&space->lock);
	return vm;
}

/* A client may have a million objects, and close them in any order. */
static const struct rhashtable_params rknpu_vobjects_by_cookie = {
	.key_offset = offsetof(struct rknpu_vobject, cookie),
	.key_len = sizeof_field(struct rknpu_vobject, cookie),
	.head_offset = offsetof(struct rknpu_vobject, cookie_node),
	.automatic_shrinking = true,
};

static const struct rhashtable_params rknpu_vobjects_by_bo = {
	.key_offset = offsetof(struct rknpu_vobject, vbo),
	.key_len = sizeof_field(struct rknpu_vobject, vbo),
	.head_offset = offsetof(struct rknpu_vobject, bo_node),
	.automatic_shrinking = true,
};

int rknpu_vobjects_init(struct rknpu_vfile *vfile)
{
	int ret;

	ret = rhashtable_init(&vfile->objects_by_cookie, &rknpu_vobjects_by_cookie);
	if (ret)
		return ret;
	ret = rhashtable_init(&vfile->objects_by_bo, &rknpu_vobjects_by_bo);
	if (ret) {
		rhashtable_destroy(&vfile->objects_by_cookie);
		return ret;
	}
	mutex_init(&vfile->lock);
	INIT_LIST_HEAD(&vfile->objects);
	return 0;
}

void rknpu_vobjects_fini(struct rknpu_vfile *vfile)
{
	mutex_destroy(&vfile->lock);
	rhashtable_destroy(&vfile->objects_by_bo);
	rhashtable_destroy(&vfile->objects_by_cookie);
}

static struct rknpu_vobject *rknpu_vobject_find_cookie(struct rknpu_vfile *vfile, u64 cookie)
{
	lockdep_assert_held(&vfile->lock);
	return rhashtable_lookup_fast(&vfile->objects_by_cookie, &cookie, rknpu_vobjects_by_cookie);
}

static struct rknpu_vobject *rknpu_vobject_find_bo(struct rknpu_vfile *vfile,
						   struct rknpu_vbo *vbo)
{
	lockdep_assert_held(&vfile->lock);
	return rhashtable_lookup_fast(&vfile->objects_by_bo, &vbo, rknpu_vobjects_by_bo);
}

static u64 rknpu_vobject_new_cookie(struct rknpu_vfile *vfile)
{
	u64 cookie;

	do {
		cookie = get_random_u64();
	} while (!cookie || rknpu_vobject_find_cookie(vfile, cookie));
	return cookie;
}

/* -ENOMEM: there is no memory for larger tables. */
static int rknpu_vobject_enter(struct rknpu_vfile *vfile, struct rknpu_vobject *vobj)
{
	int ret;

	vobj->cookie = rknpu_vobject_new_cookie(vfile);
	ret = rhashtable_insert_fast(&vfile->objects_by_cookie, &vobj->cookie_node,
				     rknpu_vobjects_by_cookie);
	if (ret)
		return -ENOMEM;
	ret = rhashtable_insert_fast(&vfile->objects_by_bo, &vobj->bo_node, rknpu_vobjects_by_bo);
	if (ret) {
		rhashtable_remove_fast(&vfile->objects_by_cookie, &vobj->cookie_node,
				       rknpu_vobjects_by_cookie);
		return -ENOMEM;
	}
	list_add_tail(&vobj->link, &vfile->objects);
	return 0;
}

static void rknpu_vobject_leave(struct rknpu_vfile *vfile, struct rknpu_vobject *vobj)
{
	list_del(&vobj->link);
	rhashtable_remove_fast(&vfile->objects_by_bo, &vobj->bo_node, rknpu_vobjects_by_bo);
	rhashtable_remove_fast(&vfile->objects_by_cookie, &vobj->cookie_node,
			       rknpu_vobjects_by_cookie);
}

/*
 * What was imported goes where its first importer is at that time, and stays
 * there as long as anybody has a handle.
 */
static u32 rknpu_vobject_domain(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo)
{
	u32 current_domain = READ_ONCE(vfile->space->domain);

	spin_lock(&vbo->openers_lock);
	if (rknpu_bo_is_imported(&vbo->base) && !vbo->openers)
		vbo->domain = current_domain;
	vbo->openers++;
	spin_unlock(&vbo->openers_lock);
	return vbo->domain;
}

static void rknpu_vobject_leave_domain(struct rknpu_vbo *vbo)
{
	spin_lock(&vbo->openers_lock);
	vbo->openers--;
	spin_unlock(&vbo->openers_lock);
}

static struct rknpu_vobject *rknpu_vobject_map(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo,
					       u32 domain)
{
	struct rknpu_vm *vm = rknpu_vfile_vm(vfile, domain);
	struct rknpu_vobject *vobj;
	int ret;

	if (IS_ERR(vm))
		return ERR_CAST(vm);

	vobj = kzalloc_obj(*vobj, GFP_KERNEL_ACCOUNT);
	if (!vobj)
		return ERR_PTR(-ENOMEM);

	rknpu_vm_reclaim(vm);
	ret = rknpu_mapping_get(vm, &vbo->base, &vobj->iova);
	if (ret) {
		kfree(vobj);
		return ERR_PTR(ret);
	}
	vobj->vbo = vbo;
	vobj->vm = vm;
	return vobj;
}

static void rknpu_vobject_unmap(struct rknpu_vobject *vobj)
{
	rknpu_mapping_put(vobj->vm, &vobj->vbo->base);
	rknpu_vobject_leave_domain(vobj->vbo);
	kfree(vobj);
}

static struct rknpu_vobject *rknpu_vobject_create(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo)
{
	u32 domain = rknpu_vobject_domain(vfile, vbo);
	struct rknpu_vobject *vobj;
	int ret;

	vobj = rknpu_vobject_map(vfile, vbo, domain);
	if (IS_ERR(vobj)) {
		rknpu_vobject_leave_domain(vbo);
		return vobj;
	}
	ret = rknpu_vobject_enter(vfile, vobj);
	if (ret) {
		rknpu_vobject_unmap(vobj);
		return ERR_PTR(ret);
	}
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
	else if (vobj->handles == RKNPU_VOBJECT_MAX_HANDLES)
		ret = -EMFILE;
	else
		vobj->handles++;
	mutex_unlock(&vfile->lock);
	return ret;
}

bool rknpu_vobject_close(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo)
{
	struct rknpu_vobject *vobj;
	bool found;

	mutex_lock(&vfile->lock);
	vobj = rknpu_vobject_find_bo(vfile, vbo);
	found = vobj;
	if (found && !--vobj->handles) {
		rknpu_vobject_leave(vfile, vobj);
		rknpu_vobject_unmap(vobj);
	}
	mutex_unlock(&vfile->lock);
	return found;
}

struct rknpu_vbo *rknpu_vobject_first(struct rknpu_vfile *vfile)
{
	struct rknpu_vobject *vobj;

	guard(mutex)(&vfile->lock);
	vobj = list_first_entry_or_null(&vfile->objects, struct rknpu_vobject, link);
	return vobj ? vobj->vbo : NULL;
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

static int rknpu_vbo_gem_open(struct drm_gem_object *obj, struct drm_file *file)
{
	return rknpu_vobject_open(file->driver_priv, to_rknpu_vbo(to_rknpu_bo(obj)));
}

static void rknpu_vbo_gem_close(struct drm_gem_object *obj, struct drm_file *file)
{
	rknpu_vobject_close(file->driver_priv, to_rknpu_vbo(to_rknpu_bo(obj)));
}

/*
 * The vendor's driver maps as device memory what is neither cached nor
 * write-combined; that faults on unaligned accesses and is no use to anybody.
 */
static int rknpu_vbo_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	int ret;

	ret = rknpu_bo_gem_mmap(obj, vma);
	if (!ret && !(to_rknpu_vbo(to_rknpu_bo(obj))->flags & DRM_RKNPU_MEM_CACHEABLE))
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	return ret;
}

static const struct drm_gem_object_funcs rknpu_vbo_funcs = {
	.free = rknpu_bo_gem_free,
	.open = rknpu_vbo_gem_open,
	.close = rknpu_vbo_gem_close,
	.export = rknpu_bo_export,
	.get_sg_table = rknpu_bo_gem_sgt,
	.mmap = rknpu_vbo_gem_mmap,
	.vm_ops = &rknpu_bo_vm_ops,
	RKNPU_COMPAT_GEM_STATUS(rknpu_bo_gem_status)
};

static struct rknpu_vbo *rknpu_vbo_alloc(u32 flags, u32 domain, gfp_t gfp)
{
	struct rknpu_vbo *vbo = kzalloc_obj(*vbo, gfp);

	BUILD_BUG_ON(offsetof(struct rknpu_vbo, base.base));
	if (vbo) {
		vbo->flags = flags;
		vbo->domain = domain;
		spin_lock_init(&vbo->openers_lock);
	}
	return vbo;
}

struct drm_gem_object *rknpu_vbo_import(struct drm_device *dev, struct dma_buf *dmabuf)
{
	struct drm_gem_object *own = rknpu_bo_import_own(dev, dmabuf);
	struct rknpu_mem *mem = &to_rknpu_vendor(dev)->rdev->mem;
	struct rknpu_vbo *vbo;
	int ret;

	if (own)
		return own;
	ret = rknpu_bo_check_import(mem, dmabuf, RKNPU_VBO_MAX_SIZE);
	if (ret)
		return ERR_PTR(ret);

	/* Other files can get the same object, so its domain cannot be the importer's. */
	/* Under a lock that all clients need: nobody waits there for memory of a cgroup. */
	vbo = rknpu_vbo_alloc(0, 0, GFP_KERNEL);
	if (!vbo)
		return ERR_PTR(-ENOMEM);
	rknpu_bo_init_imported(&vbo->base, mem, dev, &rknpu_vbo_funcs, dmabuf);
	return &vbo->base.base;
}

static struct rknpu_vbo *rknpu_vbo_create(struct rknpu_vfile *vfile,
					  const struct drm_rknpu_mem_create *args)
{
	struct rknpu_vbo *vbo = rknpu_vbo_alloc(args->flags, args->iommu_domain_id,
						GFP_KERNEL_ACCOUNT);
	int ret;

	if (!vbo)
		return ERR_PTR(-ENOMEM);
	vbo->base.uncached = !(args->flags & DRM_RKNPU_MEM_CACHEABLE);

	ret = rknpu_bo_init(&vbo->base, &vfile->client->account, &vfile->vendor->drm,
			    &rknpu_vbo_funcs, args->size);
	if (ret) {
		rknpu_bo_put(&vbo->base);
		return ERR_PTR(ret);
	}
	return vbo;
}

int rknpu_vendor_describe(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo,
			  struct drm_rknpu_mem_create *args)
{
	args->size = vbo->base.base.size;
	args->sram_size = 0;
	return rknpu_vobject_describe(vfile, vbo, &args->obj_addr, &args->dma_addr);
}

static int rknpu_vendor_check_create(struct drm_device *dev,
				     const struct drm_rknpu_mem_create *args)
{
	if (!args->size) {
		drm_dbg_ratelimited(dev, "mem_create: size is 0\n");
		return -EINVAL;
	}
	if ((u32)args->iommu_domain_id >= DRM_RKNPU_DOMAINS) {
		drm_dbg_ratelimited(dev, "mem_create: iommu_domain_id %d is not 0..%d\n",
				    args->iommu_domain_id, DRM_RKNPU_DOMAINS - 1);
		return -EINVAL;
	}
	if (args->size > RKNPU_VBO_MAX_SIZE) {
		drm_dbg_ratelimited(dev, "mem_create: size %#llx is over %#llx\n", args->size,
				    RKNPU_VBO_MAX_SIZE);
		return -ENOMEM;
	}
	return 0;
}

struct rknpu_vbo *rknpu_vendor_new_bo(struct rknpu_vfile *vfile,
				      const struct drm_rknpu_mem_create *args)
{
	struct rknpu_vm *vm;
	int ret;

	ret = rknpu_vendor_check_create(&vfile->vendor->drm, args);
	if (ret)
		return ERR_PTR(ret);

	/* So that addresses of closed buffers are free by now. */
	vm = rknpu_vfile_vm(vfile, args->iommu_domain_id);
	if (IS_ERR(vm))
		return ERR_CAST(vm);
	rknpu_vm_reclaim(vm);

	return rknpu_vbo_create(vfile, args);
}

static int rknpu_vendor_publish(struct drm_file *file, struct rknpu_vbo *vbo,
				struct drm_rknpu_mem_create *args)
{
	struct rknpu_vfile *vfile = file->driver_priv;
	int ret;

	/*
	 * The handle can be guessed and closed, so the answer is about an object
	 * that another handle may stand for by now; that is its owner's doing.
	 */
	ret = rknpu_vobject_open(vfile, vbo);
	if (!ret) {
		ret = rknpu_vendor_describe(vfile, vbo, args);
		if (!ret)
			ret = drm_gem_handle_create(file, &vbo->base.base, &args->handle);
		rknpu_vobject_close(vfile, vbo);
	}
	/* What the vendor's driver says when addresses run out. */
	return ret == -ENOSPC ? -EFAULT : ret;
}

static int rknpu_vendor_allocate(struct drm_device *dev, struct drm_file *file,
				 struct drm_rknpu_mem_create *args)
{
	struct rknpu_vbo *vbo = rknpu_vendor_new_bo(file->driver_priv, args);
	int ret;

	if (IS_ERR(vbo))
		return PTR_ERR(vbo);
	ret = rknpu_vendor_publish(file, vbo, args);
	rknpu_bo_put(&vbo->base);
	return ret;
}

int rknpu_vendor_mem_create(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rknpu_mem_create *args = data;
	struct drm_gem_object *obj;
	struct rknpu_vbo *vbo;
	int ret;

	/* Above all, this is how user space learns about what it imported. */
	obj = args->handle ? drm_gem_object_lookup(file, args->handle) : NULL;
	if (obj) {
		vbo = to_rknpu_vbo(to_rknpu_bo(obj));
		ret = rknpu_vendor_describe(file->driver_priv, vbo, args);
		drm_gem_object_put(obj);
		return ret;
	}

	return rknpu_vendor_allocate(dev, file, args);
}

int rknpu_vendor_mem_map(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rknpu_mem_map *args = data;
	struct drm_gem_object *obj = drm_gem_object_lookup(file, args->handle);
	int ret = 0;

	if (!obj) {
		drm_dbg_ratelimited(dev, "mem_map: no BO has handle %u\n", args->handle);
		return -ENOENT;
	}
	if (rknpu_bo_is_imported(to_rknpu_bo(obj))) {
		drm_dbg_ratelimited(dev, "mem_map: handle %u is imported\n", args->handle);
		ret = -EINVAL;
	} else {
		args->offset = drm_vma_node_offset_addr(&obj->vma_node);
	}
	drm_gem_object_put(obj);
	return ret;
}

int rknpu_vendor_mem_destroy(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rknpu_mem_destroy *args = data;

	return drm_gem_handle_delete(file, args->handle);
}

int rknpu_vbo_clean_imported(struct rknpu_vbo *vbo)
{
	struct dma_buf *dmabuf = vbo->base.dmabuf;
	int ret = dma_buf_end_cpu_access(dmabuf, DMA_BIDIRECTIONAL);

	if (ret != -EINVAL)
		return ret;
	/* udmabuf, until somebody begins, which throws away what nobody has cleaned. */
	rknpu_bo_clean_imported(&vbo->base);
	return 0;
}

/* The exporter knows no ranges. */
static int rknpu_vendor_sync_imported(struct rknpu_vbo *vbo, u32 flags)
{
	struct dma_buf *dmabuf = vbo->base.dmabuf;
	int ret = 0;

	if (flags & DRM_RKNPU_MEM_SYNC_TO_DEVICE)
		ret = rknpu_vbo_clean_imported(vbo);
	if (!ret && (flags & DRM_RKNPU_MEM_SYNC_FROM_DEVICE))
		ret = dma_buf_begin_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	return ret;
}

static int rknpu_vendor_sync(struct drm_device *dev, struct rknpu_vbo *vbo,
			     const struct drm_rknpu_mem_sync *args)
{
	u64 end;

	if (check_add_overflow(args->offset, args->size, &end) || end > vbo->base.base.size) {
		drm_dbg_ratelimited(dev, "mem_sync: %#llx bytes at %#llx are not in the object\n",
				    args->size, args->offset);
		return -EINVAL;
	}
	if (rknpu_bo_is_imported(&vbo->base))
		return rknpu_vendor_sync_imported(vbo, args->flags);
	if (!(vbo->flags & DRM_RKNPU_MEM_CACHEABLE)) {
		drm_dbg_ratelimited(dev, "mem_sync: the object is not cacheable\n");
		return -EINVAL;
	}

	/* In this order, or what the CPU wrote would be lost. */
	if (args->flags & DRM_RKNPU_MEM_SYNC_TO_DEVICE)
		rknpu_bo_sync_range_for_device(&vbo->base, args->offset, args->size);
	if (args->flags & DRM_RKNPU_MEM_SYNC_FROM_DEVICE)
		rknpu_bo_sync_range_for_cpu(&vbo->base, args->offset, args->size);
	return 0;
}

int rknpu_vendor_do_sync(struct rknpu_vfile *vfile, const struct drm_rknpu_mem_sync *args)
{
	struct rknpu_vbo *vbo = rknpu_vobject_lookup(vfile, args->obj_addr);
	struct drm_device *dev = &vfile->vendor->drm;
	int ret;

	if (!vbo) {
		drm_dbg_ratelimited(dev, "mem_sync: obj_addr %#llx is not of this file\n",
				    args->obj_addr);
		return -EINVAL;
	}
	ret = rknpu_vendor_sync(dev, vbo, args);
	rknpu_bo_put(&vbo->base);
	return ret;
}

int rknpu_vendor_mem_sync(struct drm_device *dev, void *data, struct drm_file *file)
{
	return rknpu_vendor_do_sync(file->driver_priv, data);
}
