// SPDX-License-Identifier: GPL-2.0-only
/* Owns address spaces: IOVA allocator, mappings of BOs, and how long those must stay. */
#include <linux/bitmap.h>
#include <linux/cleanup.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <drm/drm_drv.h>

#include "rknpu_bo.h"
#include "rknpu_params.h"
#include "rknpu_release.h"
#include "rknpu_vm.h"

/*
 * Register programs hold 32-bit addresses and some treat 0 as "not set", so
 * page 0 stays empty. The last page does too: the end of every BO then fits 32
 * bits.
 */
#define RKNPU_VM_START	((u64)PAGE_SIZE)
#define RKNPU_VM_END	((u64)SZ_4G - PAGE_SIZE)

/* Long enough for hundreds of short jobs, short enough that nobody misses the memory. */
#define RKNPU_VM_REAP_DELAY_MS	10

/*
 * What the kernel keeps to know a BO in one more file, DRM's and the vendor uAPI's part
 * included, takes a page for so many.
 */
#define RKNPU_VM_MAPPINGS_PER_PAGE	8

/* The longest chain of releases: a job is freed, drops its VM, the VM drops the device. */
#define RKNPU_VM_RELEASE_DEPTH	3

/* By rknpu_quota::reap_link. */
static LIST_HEAD(rknpu_vm_reap_quotas);
/* Protects that, and in every quota and VM what is over and when it is freed. */
static DEFINE_SPINLOCK(rknpu_vm_reap_lock);

/* Of the hole behind @node. One that ends before it starts is passed over. */
static void rknpu_vm_guard(const struct drm_mm_node *node, unsigned long color,
			   u64 *start, u64 *end)
{
	u64 size = (u64)rknpu_params.iova_guard_pages << PAGE_SHIFT;

	if (drm_mm_node_allocated(node))
		*start += size;
	/* An end that wraps would be cut to the allocator's, and what is there taken for free. */
	if (drm_mm_node_allocated(list_next_entry(node, node_list)))
		*end -= min(*end, size);
}

static unsigned long rknpu_vm_count_tables(const struct rknpu_vm *vm, const struct rknpu_hw *hw)
{
	return hw->no_iommu ? 0 : 1 + bitmap_weight(vm->tables, RKNPU_VM_MAX_TABLES);
}

static void rknpu_vm_release(struct work_struct *work)
{
	struct rknpu_vm *vm = container_of(work, struct rknpu_vm, release_work);
	struct rknpu_account *account = vm->account;
	struct rknpu_hw *hw = vm->domain.hw;

	/* If it stays attached, this is queued again when the IOMMU lets go. */
	if (!rknpu_domain_fini(&vm->domain))
		return;
	rknpu_account_uncharge_tables(account, rknpu_vm_count_tables(vm, hw));
	drm_mm_takedown(&vm->mm);
	mutex_destroy(&vm->reap_lock);
	mutex_destroy(&vm->lock);
	kfree(vm);
	rknpu_device_stat_add(&hw->stats, RKNPU_DEVICE_STAT_VMS_FREED, 1);
	rknpu_account_put(account);
	drm_dev_put(hw->drm);
}

static void rknpu_vm_detached(struct rknpu_domain *domain)
{
	rknpu_release_queue(&container_of(domain, struct rknpu_vm, domain)->release_work);
}

static int rknpu_vm_init_domain(struct rknpu_vm *vm, struct rknpu_account *account)
{
	struct rknpu_hw *hw = account->mem->hw;
	int ret = rknpu_account_charge_tables_patiently(account, rknpu_vm_count_tables(vm, hw));

	if (ret)
		return ret;
	ret = rknpu_domain_init(&vm->domain, hw, rknpu_vm_detached);
	if (ret) {
		rknpu_account_uncharge_tables(account, rknpu_vm_count_tables(vm, hw));
		return ret;
	}
	vm->account = rknpu_account_get(account);
	return 0;
}

struct rknpu_vm *rknpu_vm_create(struct rknpu_account *account)
{
	struct rknpu_hw *hw = account->mem->hw;
	struct rknpu_vm *vm;
	int ret;

	vm = kzalloc_obj(*vm, GFP_KERNEL_ACCOUNT);
	if (!vm)
		return ERR_PTR(-ENOMEM);

	ret = rknpu_vm_init_domain(vm, account);
	if (ret) {
		kfree(vm);
		return ERR_PTR(ret);
	}

	kref_init(&vm->ref);
	mutex_init(&vm->lock);
	INIT_LIST_HEAD(&vm->uses);
	INIT_LIST_HEAD(&vm->orphans);
	INIT_LIST_HEAD(&vm->over);
	INIT_LIST_HEAD(&vm->reap_link);
	mutex_init(&vm->reap_lock);
	INIT_WORK(&vm->release_work, rknpu_vm_release);
	drm_mm_init(&vm->mm, RKNPU_VM_START, RKNPU_VM_END - RKNPU_VM_START);
	if (rknpu_params.iova_guard_pages && !hw->no_iommu)
		vm->mm.color_adjust = rknpu_vm_guard;

	drm_dev_get(hw->drm);
	rknpu_device_stat_add(&hw->stats, RKNPU_DEVICE_STAT_VMS_CREATED, 1);
	return vm;
}

struct rknpu_vm *rknpu_vm_get(struct rknpu_vm *vm)
{
	kref_get(&vm->ref);
	return vm;
}

static void rknpu_vm_last_put(struct kref *ref)
{
	rknpu_release_queue(&container_of(ref, struct rknpu_vm, ref)->release_work);
}

void rknpu_vm_put(struct rknpu_vm *vm)
{
	kref_put(&vm->ref, rknpu_vm_last_put);
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
		ret = rknpu_domain_map(&vm->domain, start + done, sg_dma_address(sg), len);
		if (ret) {
			rknpu_domain_unmap(&vm->domain, start, done);
			return ret;
		}
		done += len;
		cond_resched();
	}

	if (done == size)
		return 0;
	/* An exporter's table that is shorter than its dma-buf; none is known. */
	rknpu_domain_unmap(&vm->domain, start, done);
	return -EINVAL;
}

/* Once there, a table stays as long as the domain, so it is charged for as long. */
static int rknpu_vm_charge_tables(struct rknpu_vm *vm, u64 start, u64 size)
{
	unsigned int first = div_u64(start, RKNPU_DOMAIN_TABLE_SPAN);
	unsigned int last = div_u64(start + size - 1, RKNPU_DOMAIN_TABLE_SPAN);
	unsigned int i, count = 0;
	int ret;

	lockdep_assert_held(&vm->lock);
	if (vm->domain.hw->no_iommu)
		return 0;
	for (i = first; i <= last; i++)
		count += !test_bit(i, vm->tables);
	ret = count ? rknpu_account_charge_tables(vm->account, count) : 0;
	if (!ret)
		bitmap_set(vm->tables, first, last - first + 1);
	return ret;
}

/*
 * At an address chosen by the allocator; or at its bus address, which is taken already
 * if the same memory was imported twice.
 */
static int rknpu_vm_place(struct rknpu_vm *vm, struct sg_table *sgt, u64 size,
			  struct drm_mm_node *node)
{
	if (!vm->domain.hw->no_iommu)
		return drm_mm_insert_node_generic(&vm->mm, node, size, PAGE_SIZE, 0,
						  DRM_MM_INSERT_LOW);
	node->start = sg_dma_address(sgt->sgl);
	node->size = size;
	return drm_mm_reserve_node(&vm->mm, node);
}

static int rknpu_vm_charge_mapping(struct rknpu_vm *vm)
{
	bool page = vm->mappings % RKNPU_VM_MAPPINGS_PER_PAGE == RKNPU_VM_MAPPINGS_PER_PAGE - 1;
	int ret = page ? rknpu_account_charge_tables(vm->account, 1) : 0;

	lockdep_assert_held(&vm->lock);
	if (!ret)
		vm->mappings++;
	return ret;
}

static void rknpu_vm_uncharge_mapping(struct rknpu_vm *vm)
{
	lockdep_assert_held(&vm->lock);
	if (vm->mappings-- % RKNPU_VM_MAPPINGS_PER_PAGE == 0)
		rknpu_account_uncharge_tables(vm->account, 1);
}

static int rknpu_vm_map_node(struct rknpu_vm *vm, struct sg_table *sgt, u64 size,
			     struct drm_mm_node *node)
{
	int ret;

	ret = rknpu_vm_place(vm, sgt, size, node);
	if (ret)
		return ret;

	ret = rknpu_vm_charge_tables(vm, node->start, size) ?:
	      rknpu_vm_map_segments(vm, sgt, node->start, size);
	if (ret)
		drm_mm_remove_node(node);
	return ret;
}

/* Maps the DMA segments of @sgt. */
static int rknpu_vm_map(struct rknpu_vm *vm, struct sg_table *sgt, u64 size,
			struct drm_mm_node *node)
{
	int ret;

	guard(mutex)(&vm->lock);
	ret = rknpu_vm_charge_mapping(vm);
	if (ret)
		return ret;
	ret = rknpu_vm_map_node(vm, sgt, size, node);
	if (ret)
		rknpu_vm_uncharge_mapping(vm);
	return ret;
}

static void rknpu_vm_unmap(struct rknpu_vm *vm, struct drm_mm_node *node)
{
	guard(mutex)(&vm->lock);
	rknpu_domain_unmap(&vm->domain, node->start, node->size);
	drm_mm_remove_node(node);
	rknpu_vm_uncharge_mapping(vm);
}

void rknpu_vm_lookup_begin(struct rknpu_vm_lookup *look, struct rknpu_vm *vm)
{
	mutex_lock(&vm->lock);
	look->vm = vm;
	look->end = 0;
}

void rknpu_vm_lookup_end(struct rknpu_vm_lookup *look)
{
	mutex_unlock(&look->vm->lock);
}

bool rknpu_vm_lookup_range(struct rknpu_vm_lookup *look, u64 iova, u64 size)
{
	struct drm_mm_node *node;

	if (iova < RKNPU_VM_START || iova >= RKNPU_VM_END || !size ||
	    size > RKNPU_VM_END - iova)
		return false;
	/* Programs of one job are neighbours. */
	if (iova >= look->start && iova + size <= look->end)
		return true;

	lockdep_assert_held(&look->vm->lock);
	drm_mm_for_each_node_in_range(node, &look->vm->mm, iova, iova + size) {
		look->start = node->start;
		look->end = node->start + node->size;
		return node->start <= iova && look->end >= iova + size;
	}
	return false;
}

static struct rknpu_mapping *rknpu_mapping_create(struct rknpu_vm *vm, struct rknpu_bo *bo)
{
	struct rknpu_mapping *map;
	int ret;

	map = kzalloc_obj(*map, GFP_KERNEL_ACCOUNT);
	if (!map)
		return ERR_PTR(-ENOMEM);
	/* Whoever reads a program finds it as soon as it has an address. */
	map->bo = bo;
	map->vm = vm;

	rknpu_bo_before_mapping(bo);
	ret = rknpu_vm_map(vm, bo->sgt, bo->base.size, &map->node);
	if (ret) {
		kfree(map);
		return ERR_PTR(ret);
	}

	drm_gem_object_get(&bo->base);
	rknpu_vm_get(vm);
	return map;
}

static void rknpu_mapping_destroy(struct rknpu_mapping *map)
{
	rknpu_vm_unmap(map->vm, &map->node);
	rknpu_bo_put_freed(map->bo);
	rknpu_vm_put(map->vm);
	kfree(map);
}

static void rknpu_mapping_destroy_all(struct list_head *maps)
{
	struct rknpu_mapping *map, *next;

	list_for_each_entry_safe(map, next, maps, orphan_link) {
		list_del(&map->orphan_link);
		rknpu_mapping_destroy(map);
	}
}

/* Moves to @unused the orphans that no remaining use is older than. */
static void rknpu_vm_collect_orphans(struct rknpu_vm *vm, struct list_head *unused)
{
	struct rknpu_vm_use *oldest = list_first_entry_or_null(&vm->uses, struct rknpu_vm_use,
							       link);
	struct rknpu_mapping *map, *next;

	lockdep_assert_held(&vm->lock);
	list_for_each_entry_safe(map, next, &vm->orphans, orphan_link) {
		if (oldest && oldest->seq < map->orphan_seq)
			break;
		list_move_tail(&map->orphan_link, unused);
	}
}

static struct rknpu_mapping *rknpu_vm_mapping_at(struct rknpu_vm *vm, u64 iova)
{
	struct drm_mm_node *node;

	lockdep_assert_held(&vm->lock);
	if (iova < RKNPU_VM_START || iova >= RKNPU_VM_END)
		return NULL;
	drm_mm_for_each_node_in_range(node, &vm->mm, iova, iova + 1)
		return container_of(node, struct rknpu_mapping, node);
	return NULL;
}

size_t rknpu_vm_lookup_read(struct rknpu_vm_lookup *look, u64 iova, void *to, size_t size)
{
	struct rknpu_mapping *map = rknpu_vm_mapping_at(look->vm, iova);
	u64 offset;

	if (!map || !map->bo->pages)
		return 0;
	offset = iova - map->node.start;
	size = min_t(u64, size, map->node.size - offset);
	rknpu_bo_read(map->bo, offset, to, size);
	return size;
}

void rknpu_vm_use_begin(struct rknpu_vm *vm, struct rknpu_vm_use *use)
{
	guard(mutex)(&vm->lock);
	use->seq = vm->next_use++;
	list_add_tail(&use->link, &vm->uses);
}

void rknpu_vm_use_end(struct rknpu_vm *vm, struct rknpu_vm_use *use)
{
	LIST_HEAD(unused);

	scoped_guard(mutex, &vm->lock) {
		list_del(&use->link);
		rknpu_vm_collect_orphans(vm, &unused);
	}

	rknpu_mapping_destroy_all(&unused);
}

/* @map lost its last holder: destroyed as soon as no older use is left. */
static void rknpu_vm_orphan(struct rknpu_vm *vm, struct rknpu_mapping *map)
{
	LIST_HEAD(unused);

	scoped_guard(mutex, &vm->lock) {
		map->orphan_seq = vm->next_use;
		list_add_tail(&map->orphan_link, &vm->orphans);
		rknpu_vm_collect_orphans(vm, &unused);
	}

	rknpu_mapping_destroy_all(&unused);
}

static struct rknpu_mapping *rknpu_mapping_find(struct rknpu_vm *vm, struct rknpu_bo *bo)
{
	struct rknpu_mapping *map;

	lockdep_assert_held(&bo->map_lock);
	list_for_each_entry(map, &bo->mappings, bo_link) {
		if (map->vm == vm)
			return map;
	}
	return NULL;
}

static int rknpu_mapping_try_get(struct rknpu_vm *vm, struct rknpu_bo *bo, u64 *iova)
{
	struct rknpu_mapping *map;
	int ret;

	guard(mutex)(&bo->map_lock);
	map = rknpu_mapping_find(vm, bo);
	if (!map) {
		ret = rknpu_bo_attach(bo, vm->account);
		if (ret)
			return ret;
		map = rknpu_mapping_create(vm, bo);
		if (IS_ERR(map))
			return PTR_ERR(map);
		list_add(&map->bo_link, &bo->mappings);
	}
	map->handles++;
	*iova = map->node.start;
	return 0;
}

int rknpu_mapping_get(struct rknpu_vm *vm, struct rknpu_bo *bo, u64 *iova)
{
	int ret = rknpu_mapping_try_get(vm, bo, iova);

	if (ret != -ENOMEM && ret != -ENOSPC)
		return ret;
	/*
	 * As rknpu_account_charge_tables_patiently(), which vm->lock was in the way of. Jobs that
	 * rknpu_vm_reclaim() was too early for may still hold addresses, too.
	 */
	vm->account->mem->reclaim(vm->account->mem, vm->account->quota);
	return rknpu_mapping_try_get(vm, bo, iova);
}

static bool rknpu_mapping_drop(struct rknpu_mapping *map)
{
	lockdep_assert_held(&map->bo->map_lock);
	if (--map->handles)
		return false;
	list_del(&map->bo_link);
	return true;
}

void rknpu_mapping_put(struct rknpu_vm *vm, struct rknpu_bo *bo)
{
	struct rknpu_mapping *map;
	bool last = false;

	scoped_guard(mutex, &bo->map_lock) {
		map = rknpu_mapping_find(vm, bo);
		last = map && rknpu_mapping_drop(map);
	}
	if (last)
		rknpu_vm_orphan(vm, map);
}

/* None comes or goes any more but those that nobody holds. */
static struct rknpu_bo *rknpu_vm_find_stray(struct rknpu_vm *vm)
{
	struct drm_mm_node *node;

	guard(mutex)(&vm->lock);
	drm_mm_for_each_node(node, &vm->mm) {
		struct rknpu_mapping *map = container_of(node, struct rknpu_mapping, node);

		if (map->handles) {
			drm_gem_object_get(&map->bo->base);
			return map->bo;
		}
	}
	return NULL;
}

void rknpu_vm_put_stray_mappings(struct rknpu_vm *vm)
{
	struct rknpu_bo *bo;

	while ((bo = rknpu_vm_find_stray(vm))) {
		rknpu_mapping_put(vm, bo);
		rknpu_bo_put(bo);
	}
}

/* @account pins the quota until the work is done, whoever frees what is over meanwhile. */
static void rknpu_vm_queue_reap(struct rknpu_account *account)
{
	struct rknpu_quota *quota = account->quota;

	lockdep_assert_held(&rknpu_vm_reap_lock);
	if (quota->reap_account)
		return;
	quota->reap_account = rknpu_account_get(account);
	list_move_tail(&quota->reap_link, &rknpu_vm_reap_quotas);
	rknpu_release_delay(&quota->reap_work, msecs_to_jiffies(RKNPU_VM_REAP_DELAY_MS));
}

void rknpu_vm_use_over(struct rknpu_vm *vm, struct rknpu_vm_use *use)
{
	struct rknpu_account *account = vm->account;

	guard(spinlock_irqsave)(&rknpu_vm_reap_lock);
	if (list_empty(&vm->over)) {
		list_add_tail(&vm->reap_link, &account->quota->over);
		rknpu_vm_queue_reap(account);
	}
	list_add_tail(&use->over_link, &vm->over);
}

void rknpu_vm_reap_if_any(struct rknpu_vm *vm)
{
	/* What comes just now is freed by the next one. */
	if (!list_empty_careful(&vm->over))
		rknpu_vm_reap(vm);
}

void rknpu_vm_reap(struct rknpu_vm *vm)
{
	struct rknpu_vm_use *use, *next;
	LIST_HEAD(over);

	/* Who comes while another is at it has to wait for what that one has taken. */
	guard(mutex)(&vm->reap_lock);
	scoped_guard(spinlock_irq, &rknpu_vm_reap_lock) {
		list_splice_init(&vm->over, &over);
		list_del_init(&vm->reap_link);
	}
	list_for_each_entry_safe(use, next, &over, over_link)
		use->free(use);
}

/* A VM with jobs is kept alive by them, but not for longer than they are. */
static struct rknpu_vm *rknpu_vm_first_to_reap(struct list_head *vms)
{
	struct rknpu_vm *vm;

	guard(spinlock_irq)(&rknpu_vm_reap_lock);
	vm = list_first_entry_or_null(vms, struct rknpu_vm, reap_link);
	return vm ? rknpu_vm_get(vm) : NULL;
}

/* Takes the reference that the work has. */
static struct rknpu_account *rknpu_vm_begin_reap(struct rknpu_quota *quota, struct list_head *vms)
{
	struct rknpu_account *account;

	guard(spinlock_irq)(&rknpu_vm_reap_lock);
	account = quota->reap_account;
	quota->reap_account = NULL;
	quota->reap_soon = false;
	list_splice_init(&quota->over, vms);
	return account;
}

static void rknpu_vm_end_reap(struct rknpu_quota *quota)
{
	guard(spinlock_irq)(&rknpu_vm_reap_lock);
	/* Else it is queued again. */
	if (!quota->reap_account)
		list_del_init(&quota->reap_link);
}

/* Once each, for whoever waits for this: what is over from now on has queued the work again. */
static void rknpu_vm_reap_work_fn(struct work_struct *work)
{
	struct rknpu_quota *quota = container_of(to_delayed_work(work), struct rknpu_quota,
						 reap_work);
	struct rknpu_account *account;
	struct rknpu_vm *vm;
	LIST_HEAD(vms);

	account = rknpu_vm_begin_reap(quota, &vms);
	while ((vm = rknpu_vm_first_to_reap(&vms))) {
		rknpu_vm_reap(vm);
		rknpu_vm_put(vm);
		cond_resched();
	}
	rknpu_vm_end_reap(quota);
	/* May be what the quota still hangs on, and this work with it. */
	rknpu_account_put(account);
}

void rknpu_vm_reaper_init(struct rknpu_quota *quota)
{
	INIT_LIST_HEAD(&quota->over);
	INIT_LIST_HEAD(&quota->reap_link);
	INIT_DELAYED_WORK(&quota->reap_work, rknpu_vm_reap_work_fn);
}

static void rknpu_vm_hurry_reap(struct rknpu_quota *quota)
{
	lockdep_assert_held(&rknpu_vm_reap_lock);
	/* It has begun, and may be about to let go of the quota; or it is its turn soon. */
	if (!quota->reap_account || quota->reap_soon)
		return;
	quota->reap_soon = true;
	rknpu_release_hurry(&quota->reap_work);
}

void rknpu_vm_reap_soon(struct rknpu_quota *quota)
{
	guard(spinlock_irqsave)(&rknpu_vm_reap_lock);
	rknpu_vm_hurry_reap(quota);
}

static void rknpu_vm_reap_everything_soon(void)
{
	struct rknpu_quota *quota;

	guard(spinlock_irq)(&rknpu_vm_reap_lock);
	list_for_each_entry(quota, &rknpu_vm_reap_quotas, reap_link)
		rknpu_vm_hurry_reap(quota);
}

void rknpu_vm_reap_all(struct rknpu_quota *quota)
{
	rknpu_vm_reap_soon(quota);
	/* Not flush_delayed_work(): it is what is over by now that is waited for. */
	flush_work(&quota->reap_work.work);
}

bool rknpu_vm_reaps_others(struct rknpu_quota *quota)
{
	struct rknpu_quota *other;

	guard(spinlock_irq)(&rknpu_vm_reap_lock);
	list_for_each_entry(other, &rknpu_vm_reap_quotas, reap_link) {
		if (other != quota)
			return true;
	}
	return false;
}

void rknpu_vm_reap_everything(void)
{
	rknpu_vm_reap_everything_soon();
	rknpu_release_flush_users();
}

void rknpu_vm_flush(struct rknpu_quota *quota)
{
	int i;

	/* Jobs whose fences have signalled, but that are not put yet: see rknpu_end_job(). */
	synchronize_rcu();
	rknpu_vm_reap_everything_soon();
	/* Not drain_workqueue(): that refuses work queued from elsewhere meanwhile. */
	for (i = 0; i < RKNPU_VM_RELEASE_DEPTH; i++) {
		if (quota)
			rknpu_vm_reap_all(quota);
		else
			rknpu_vm_reap_everything();
		rknpu_release_flush();
	}
}

/*
 * Jobs are freed a moment after they end. A client that saw them end and closed
 * BOs expects their addresses to be free.
 */
void rknpu_vm_reclaim(struct rknpu_vm *vm)
{
	bool pending = false;

	scoped_guard(mutex, &vm->lock)
		pending = !list_empty(&vm->orphans);
	if (pending)
		rknpu_vm_reap(vm);
}
