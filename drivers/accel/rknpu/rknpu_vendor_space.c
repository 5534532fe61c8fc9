// SPDX-License-Identifier: GPL-2.0-only
/* Owns the address spaces of a process that uses the vendor's uAPI. */
#include <linux/err.h>
#include <linux/mm_types.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rknpu_vendor.h"
#include "rknpu_vm.h"

static bool vendor_shared_space;
module_param(vendor_shared_space, bool, 0444);
MODULE_PARM_DESC(vendor_shared_space, "One set of address spaces for all users of node rknpu, as the vendor's driver has it: no isolation between them (default n)");

static struct rknpu_space *rknpu_space_create(struct rknpu_vendor *vendor, struct mm_struct *mm)
{
	struct rknpu_space *space = kzalloc_obj(*space, GFP_KERNEL_ACCOUNT);

	if (!space)
		return ERR_PTR(-ENOMEM);

	kref_init(&space->ref);
	mutex_init(&space->lock);
	space->vendor = vendor;
	space->mm = mm;
	if (mm)
		mmgrab(mm);
	list_add(&space->link, &vendor->spaces);
	return space;
}

struct rknpu_space *rknpu_space_get(struct rknpu_vendor *vendor)
{
	struct mm_struct *mm = vendor_shared_space ? NULL : current->mm;
	struct rknpu_space *space;

	mutex_lock(&vendor->lock);
	list_for_each_entry(space, &vendor->spaces, link) {
		if (space->mm == mm) {
			kref_get(&space->ref);
			goto out;
		}
	}
	space = rknpu_space_create(vendor, mm);
out:
	mutex_unlock(&vendor->lock);
	return space;
}

/* Under rknpu_vendor::lock, so that nobody finds it any more. */
static void rknpu_space_release(struct kref *ref)
{
	struct rknpu_space *space = container_of(ref, struct rknpu_space, ref);
	unsigned int i;

	list_del(&space->link);
	mutex_unlock(&space->vendor->lock);

	for (i = 0; i < DRM_RKNPU_DOMAINS; i++) {
		if (space->vms[i])
			rknpu_vm_put(space->vms[i]);
	}
	if (space->mm)
		mmdrop(space->mm);
	mutex_destroy(&space->lock);
	kfree(space);
}

void rknpu_space_put(struct rknpu_space *space)
{
	kref_put_mutex(&space->ref, rknpu_space_release, &space->vendor->lock);
}

struct rknpu_vm *rknpu_space_vm(struct rknpu_space *space, u32 domain)
{
	struct rknpu_vm *vm;

	mutex_lock(&space->lock);
	vm = space->vms[domain];
	if (!vm) {
		vm = rknpu_vm_create(space->vendor->rdev);
		if (!IS_ERR(vm))
			space->vms[domain] = vm;
	}
	mutex_unlock(&space->lock);
	return vm;
}
