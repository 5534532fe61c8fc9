// SPDX-License-Identifier: GPL-2.0-only
/* Owns address spaces: IOMMU domain, IOVA allocator, and what each core has attached. */
#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/iommu.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "rknpu_bank.h"
#include "rknpu_core.h"
#include "rknpu_device.h"
#include "rknpu_map.h"
#include "rknpu_pc.h"
#include "rknpu_reap.h"
#include "rknpu_release.h"
#include "rknpu_sched.h"
#include "rknpu_stats.h"
#include "rknpu_vm.h"

/*
 * Register programs hold 32-bit addresses and some treat 0 as "not set", so
 * page 0 stays empty. The last page does too: the end of every BO then fits 32
 * bits.
 */
#define RKNPU_VM_START	((u64)PAGE_SIZE)
#define RKNPU_VM_END	((u64)SZ_4G - PAGE_SIZE)

/*
 * Off by default: programs made by Mesa write past the end of some BOs and
 * count on the next BO being there.
 */
static uint iova_guard_pages;
module_param(iova_guard_pages, uint, 0444);
MODULE_PARM_DESC(iova_guard_pages, "Unmapped pages between BOs, to catch overruns (default 0)");

static void rknpu_vm_guard(const struct drm_mm_node *node, unsigned long color,
			   u64 *start, u64 *end)
{
	if (drm_mm_node_allocated(node))
		*start += (u64)iova_guard_pages << PAGE_SHIFT;
}

static bool rknpu_vm_is_behind(struct rknpu_core *core, struct device *iommu)
{
	return core->dev && core->iommu->np && core->iommu->np == iommu->of_node;
}

/*
 * Rockchip's own kernels hand over the IOMMU's status register in place of
 * IOMMU_FAULT_READ or _WRITE (5.10.110, 6.1.75 and 6.1.99). It is above both,
 * for bit 1 says that there is a fault.
 */
#define RKNPU_VM_STATUS_IS_WRITE	BIT(5)

static bool rknpu_vm_fault_is_write(int flags)
{
	return flags & (flags > IOMMU_FAULT_WRITE ? RKNPU_VM_STATUS_IS_WRITE : IOMMU_FAULT_WRITE);
}

/*
 * Hard interrupt context. @dev is the IOMMU, not the core behind it. If several
 * are, its registers tell which one it is, or which ones.
 */
static int rknpu_vm_fault(struct iommu_domain *domain, struct device *dev,
			  unsigned long iova, int flags, void *token)
{
	struct rknpu_vm *vm = token;
	unsigned int i;

	atomic_inc(&vm->faults);
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *core = &vm->rdev->cores[i];

		if (rknpu_vm_is_behind(core, dev) &&
		    (!core->iommu->shared || rknpu_bank_faults(core, iova)))
			rknpu_sched_iommu_fault(core, iova, rknpu_vm_fault_is_write(flags));
	}
	return 0;
}

/* All IOMMUs of the NPU are of one kind, so any core's can make the tables. */
static struct iommu_domain *rknpu_vm_alloc_domain(struct rknpu_device *rdev)
{
	struct iommu_domain *domain = ERR_PTR(-ENODEV);
	int i, idx;

	/* Cores stay bound meanwhile: the vendor's uAPI gets here from any ioctl. */
	if (!drm_dev_enter(&rdev->accel, &idx))
		return domain;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rdev->iommus[i].group) {
			domain = iommu_paging_domain_alloc(rdev->cores[i].dev);
			break;
		}
	}
	drm_dev_exit(idx);
	return domain;
}

static void rknpu_vm_release(struct work_struct *work);

struct rknpu_vm *rknpu_vm_create(struct rknpu_device *rdev)
{
	struct rknpu_vm *vm;
	int ret;

	vm = kzalloc_obj(*vm, GFP_KERNEL_ACCOUNT);
	if (!vm)
		return ERR_PTR(-ENOMEM);

	vm->domain = rknpu_vm_alloc_domain(rdev);
	if (IS_ERR(vm->domain)) {
		ret = PTR_ERR(vm->domain);
		kfree(vm);
		return ERR_PTR(ret);
	}

	kref_init(&vm->ref);
	mutex_init(&vm->lock);
	INIT_LIST_HEAD(&vm->uses);
	INIT_LIST_HEAD(&vm->zombies);
	INIT_LIST_HEAD(&vm->over);
	INIT_LIST_HEAD(&vm->reap_link);
	mutex_init(&vm->reap_lock);
	INIT_WORK(&vm->release_work, rknpu_vm_release);
	drm_mm_init(&vm->mm, RKNPU_VM_START, RKNPU_VM_END - RKNPU_VM_START);
	if (iova_guard_pages)
		vm->mm.color_adjust = rknpu_vm_guard;

	drm_dev_get(&rdev->accel);
	vm->rdev = rdev;
	iommu_set_fault_handler(vm->domain, rknpu_vm_fault, vm);
	rknpu_device_stat_add(&rdev->stats, RKNPU_DEVICE_STAT_VMS_CREATED, 1);
	return vm;
}

struct rknpu_vm *rknpu_vm_get(struct rknpu_vm *vm)
{
	kref_get(&vm->ref);
	return vm;
}

/*
 * attach_lock held. A core that is power cycled or retired is held in reset for
 * a moment, and detaching from an IOMMU in reset ends in a warning. Bounded,
 * because a core can be left in reset for good.
 */
void rknpu_vm_wait_parked(struct rknpu_core *core)
{
	unsigned int tries;

	for (tries = 0; tries < 50 && rknpu_vm_core_parked(core); tries++) {
		mutex_unlock(&core->iommu->attach_lock);
		msleep(20);
		mutex_lock(&core->iommu->attach_lock);
	}
}

static bool rknpu_vm_on_iommu(struct rknpu_vm *vm, struct rknpu_iommu *iommu)
{
	return iommu->vm == vm || iommu->stuck == vm;
}

static bool rknpu_vm_detach_last(struct rknpu_vm *vm, struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;
	bool off;

	mutex_lock(&iommu->attach_lock);
	if (rknpu_vm_on_iommu(vm, iommu))
		rknpu_vm_wait_parked(core);
	if (rknpu_vm_on_iommu(vm, iommu))
		rknpu_vm_detach_core(core);
	/* The IOMMU's handler may have been about to call rknpu_vm_fault(). */
	if (iommu->group)
		synchronize_irq(core->irq);
	off = !rknpu_vm_on_iommu(vm, iommu);
	iommu->stuck_over |= !off;
	mutex_unlock(&iommu->attach_lock);
	return off;
}

/* If this fails, the release is queued again when the IOMMU lets go. */
static bool rknpu_vm_detach_all(struct rknpu_vm *vm)
{
	int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (!rknpu_vm_detach_last(vm, &vm->rdev->cores[i]))
			return false;
	}
	return true;
}

/*
 * IOMMUs are shut down after the device, while processes may still close what
 * they have; their driver warns when it is asked for anything after that. Until
 * rknpu_vm_iommu_exit() they are there, if this says so.
 */
static bool rknpu_vm_iommu_enter(struct rknpu_vm *vm)
{
	down_read(&vm->rdev->iommus_lock);
	if (!vm->rdev->down)
		return true;
	up_read(&vm->rdev->iommus_lock);
	return false;
}

static void rknpu_vm_iommu_exit(struct rknpu_vm *vm)
{
	up_read(&vm->rdev->iommus_lock);
}

/* What the machine goes down with needs not be freed, and IOMMUs still refer to it. */
static bool rknpu_vm_free_domain(struct rknpu_vm *vm)
{
	bool off;

	if (!rknpu_vm_iommu_enter(vm))
		return true;
	off = rknpu_vm_detach_all(vm);
	if (off)
		iommu_domain_free(vm->domain);
	rknpu_vm_iommu_exit(vm);
	return off;
}

static void rknpu_vm_release(struct work_struct *work)
{
	struct rknpu_vm *vm = container_of(work, struct rknpu_vm, release_work);
	struct rknpu_device *rdev = vm->rdev;

	if (!rknpu_vm_free_domain(vm))
		return;
	drm_mm_takedown(&vm->mm);
	mutex_destroy(&vm->reap_lock);
	mutex_destroy(&vm->lock);
	kfree(vm);
	rknpu_device_stat_add(&rdev->stats, RKNPU_DEVICE_STAT_VMS_FREED, 1);
	drm_dev_put(&rdev->accel);
}

static void rknpu_vm_last_put(struct kref *ref)
{
	struct rknpu_vm *vm = container_of(ref, struct rknpu_vm, ref);

	rknpu_release_queue(&vm->release_work);
}

void rknpu_vm_put(struct rknpu_vm *vm)
{
	kref_put(&vm->ref, rknpu_vm_last_put);
}

void rknpu_vm_use_begin(struct rknpu_vm *vm, struct rknpu_vm_use *use)
{
	mutex_lock(&vm->lock);
	use->seq = vm->next_use++;
	list_add_tail(&use->link, &vm->uses);
	mutex_unlock(&vm->lock);
}

/* Moves to @dead what no remaining use is older than. */
static void rknpu_vm_reap_locked(struct rknpu_vm *vm, struct list_head *dead)
{
	struct rknpu_vm_use *oldest = list_first_entry_or_null(&vm->uses, struct rknpu_vm_use,
							       link);
	struct rknpu_mapping *map, *next;

	list_for_each_entry_safe(map, next, &vm->zombies, dead_link) {
		if (oldest && oldest->seq < map->dead_seq)
			break;
		list_move_tail(&map->dead_link, dead);
	}
}

static void rknpu_vm_destroy_mappings(struct list_head *dead)
{
	struct rknpu_mapping *map, *next;

	list_for_each_entry_safe(map, next, dead, dead_link) {
		list_del(&map->dead_link);
		rknpu_mapping_destroy(map);
	}
}

void rknpu_vm_use_end(struct rknpu_vm *vm, struct rknpu_vm_use *use)
{
	LIST_HEAD(dead);

	if (!use->link.next)
		return;

	mutex_lock(&vm->lock);
	list_del(&use->link);
	rknpu_vm_reap_locked(vm, &dead);
	mutex_unlock(&vm->lock);
	use->link.next = NULL;

	rknpu_vm_destroy_mappings(&dead);
}

void rknpu_vm_retire(struct rknpu_vm *vm, struct rknpu_mapping *map)
{
	LIST_HEAD(dead);

	mutex_lock(&vm->lock);
	map->dead_seq = vm->next_use;
	list_add_tail(&map->dead_link, &vm->zombies);
	rknpu_vm_reap_locked(vm, &dead);
	mutex_unlock(&vm->lock);

	rknpu_vm_destroy_mappings(&dead);
}

/*
 * Jobs are freed a moment after they end. A client that saw them end and closed
 * BOs expects their addresses to be free.
 */
void rknpu_vm_reclaim(struct rknpu_vm *vm)
{
	bool pending;

	mutex_lock(&vm->lock);
	pending = !list_empty(&vm->zombies);
	mutex_unlock(&vm->lock);

	if (pending)
		rknpu_reap_vm(vm);
}

static void rknpu_vm_unmap_range(struct rknpu_vm *vm, u64 iova, u64 size)
{
	size_t unmapped;

	if (!size || !rknpu_vm_iommu_enter(vm))
		return;

	unmapped = iommu_unmap(vm->domain, iova, size);
	rknpu_vm_iommu_exit(vm);
	if (unmapped != size)
		drm_err(&vm->rdev->accel, "unmapped %zu of %llu bytes at %#llx\n",
			unmapped, size, iova);
}

static int rknpu_vm_map_range(struct rknpu_vm *vm, u64 iova, dma_addr_t addr, size_t size)
{
	int ret;

	if (!rknpu_vm_iommu_enter(vm))
		return -ENODEV;
	ret = iommu_map(vm->domain, iova, addr, size, IOMMU_READ | IOMMU_WRITE,
			GFP_KERNEL_ACCOUNT);
	rknpu_vm_iommu_exit(vm);
	return ret;
}

static int rknpu_vm_map_segments(struct rknpu_vm *vm, struct sg_table *sgt, u64 start, u64 size)
{
	struct scatterlist *sg;
	u64 done = 0;
	int i, ret;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		size_t len = min_t(u64, sg_dma_len(sg), size - done);

		if (!len)
			break;
		ret = rknpu_vm_map_range(vm, start + done, sg_dma_address(sg), len);
		if (ret) {
			rknpu_vm_unmap_range(vm, start, done);
			return ret;
		}
		done += len;
	}

	if (done == size)
		return 0;
	rknpu_vm_unmap_range(vm, start, done);
	return -EINVAL;
}

int rknpu_vm_map(struct rknpu_vm *vm, struct sg_table *sgt, u64 size,
		 struct drm_mm_node *node)
{
	int ret;

	mutex_lock(&vm->lock);
	ret = drm_mm_insert_node_generic(&vm->mm, node, size, PAGE_SIZE, 0, DRM_MM_INSERT_LOW);
	if (ret)
		goto out;

	ret = rknpu_vm_map_segments(vm, sgt, node->start, size);
	if (ret)
		drm_mm_remove_node(node);
out:
	mutex_unlock(&vm->lock);
	return ret;
}

void rknpu_vm_unmap(struct rknpu_vm *vm, struct drm_mm_node *node)
{
	mutex_lock(&vm->lock);
	rknpu_vm_unmap_range(vm, node->start, node->size);
	drm_mm_remove_node(node);
	mutex_unlock(&vm->lock);
}

bool rknpu_vm_range_mapped(struct rknpu_vm *vm, u64 iova, u64 size)
{
	struct drm_mm_node *node;
	bool inside = false;

	if (iova < RKNPU_VM_START || iova >= RKNPU_VM_END || !size ||
	    size > RKNPU_VM_END - iova)
		return false;

	mutex_lock(&vm->lock);
	drm_mm_for_each_node_in_range(node, &vm->mm, iova, iova + size) {
		inside = node->start <= iova && node->start + node->size >= iova + size;
		break;
	}
	mutex_unlock(&vm->lock);
	return inside;
}

static struct device *rknpu_vm_find_iommu(struct device_node *np)
{
	struct platform_device *pdev = of_find_device_by_node(np);

	return pdev ? &pdev->dev : NULL;
}

int rknpu_vm_core_init(struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;
	struct iommu_group *group;

	if (iommu->users++)
		return 0;

	group = iommu_group_get(core->dev);
	if (!group) {
		iommu->users--;
		return dev_err_probe(core->dev, -EPROBE_DEFER, "no IOMMU yet\n");
	}

	iommu->np = of_parse_phandle(core->dev->of_node, "iommus", 0);
	if (!iommu->np) {
		iommu_group_put(group);
		iommu->users--;
		return dev_err_probe(core->dev, -EINVAL, "no iommus property\n");
	}
	iommu->vm = NULL;
	iommu->lost = false;
	iommu->closing = false;
	iommu->off = false;
	iommu->dev = rknpu_vm_find_iommu(iommu->np);
	iommu->group = group;
	return 0;
}

void rknpu_vm_core_fini(struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;

	if (--iommu->users)
		return;
	mutex_lock(&iommu->attach_lock);
	rknpu_vm_detach_core(core);
	mutex_unlock(&iommu->attach_lock);

	iommu_group_put(iommu->group);
	iommu->group = NULL;
	put_device(iommu->dev);
	iommu->dev = NULL;
	of_node_put(iommu->np);
	iommu->np = NULL;
}

bool rknpu_vm_core_parked(struct rknpu_core *core)
{
	struct rknpu_device *rdev = core->rdev;
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rdev->cores[i].iommu == core->iommu && READ_ONCE(rdev->cores[i].parked))
			return true;
	}
	return false;
}

static void rknpu_vm_halt_all(struct rknpu_device *rdev, struct rknpu_iommu *iommu)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rdev->cores[i].iommu == iommu)
			rknpu_core_halt(&rdev->cores[i]);
	}
}

/* Of cores behind one IOMMU none loses its clock alone, but they are told one by one. */
static bool rknpu_vm_clocked(struct rknpu_device *rdev, struct rknpu_iommu *iommu)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rdev->cores[i].iommu == iommu && rdev->cores[i].clocked)
			return true;
	}
	return false;
}

static bool rknpu_vm_answers(struct rknpu_device *rdev, struct rknpu_iommu *iommu)
{
	unsigned int i;

	if (!rknpu_vm_clocked(rdev, iommu))
		return true;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *core = &rdev->cores[i];

		if (core->iommu == iommu && core->dev &&
		    (READ_ONCE(core->parked) || !rknpu_pc_answers(core)))
			return false;
	}
	return true;
}

/*
 * The default domain may be one that has to be programmed, too (with Debian's
 * configuration it is, 7.3 included). If that fails, the IOMMU core WARNs and may
 * stay with the domain that was to be left. So an IOMMU that will not answer is
 * not asked: its core has no clock or power, or is held in reset.
 */
static int rknpu_vm_leave_domain(struct rknpu_vm *vm, struct rknpu_core *core)
{
	if (!rknpu_vm_answers(core->rdev, core->iommu))
		return -EIO;
	iommu_detach_group(vm->domain, core->iommu->group);
	return iommu_get_domain_for_dev(core->dev) == vm->domain ? -EIO : 0;
}

/* Its release came while it could not be detached. */
static void rknpu_vm_unstick(struct rknpu_iommu *iommu)
{
	struct rknpu_vm *vm = iommu->stuck;

	iommu->stuck = NULL;
	if (!iommu->stuck_over)
		return;
	iommu->stuck_over = false;
	rknpu_release_queue(&vm->release_work);
}

int rknpu_vm_detach_core(struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;
	struct rknpu_vm *vm = iommu->stuck ?: iommu->vm;
	int ret;

	lockdep_assert_held(&iommu->attach_lock);

	if (!vm)
		return 0;
	rknpu_core_lines_off(core);
	rknpu_vm_halt_all(core->rdev, iommu);
	ret = rknpu_vm_leave_domain(vm, core);
	WRITE_ONCE(iommu->vm, NULL);
	rknpu_core_lines_on(core);

	if (ret) {
		iommu->stuck = vm;
		drm_dbg_ratelimited(&core->rdev->accel, "core %u: the IOMMU does not let go: %d\n",
				    core->index, ret);
	} else if (iommu->stuck) {
		rknpu_vm_unstick(iommu);
	}
	return ret;
}

int rknpu_vm_attach_core(struct rknpu_vm *vm, struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;
	int ret;

	lockdep_assert_held(&iommu->attach_lock);

	if (iommu->vm == vm)
		return 0;

	/* The IOMMU core goes from one private domain to another only through the default one. */
	ret = rknpu_vm_detach_core(core);
	if (ret)
		return ret;
	rknpu_core_lines_off(core);
	ret = iommu_attach_group(vm->domain, iommu->group);
	rknpu_core_lines_on(core);
	if (ret)
		return ret;

	WRITE_ONCE(iommu->vm, vm);
	rknpu_core_stat_add(&core->stats, RKNPU_CORE_STAT_ATTACHES, 1);
	return 0;
}
