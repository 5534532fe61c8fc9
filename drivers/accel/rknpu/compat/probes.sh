# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# One line for each question to the kernel; conftest.sh says what the words mean, the headers here what follows.

# accel.h
defined CONFIG_DRM_ACCEL 'linux/kconfig.h' CONFIG_DRM_ACCEL

# alloc.h
defined KZALLOC_OBJ 'linux/slab.h' kvzalloc_obj
probe MEMDUP_ARRAY_USER 'linux/string.h' 'memdup_array_user(0, 1, 1);'

# capability.h
probe CAPABLE_NOAUDIT 'linux/capability.h' '(void)capable_noaudit(0);'

# compiler.h
defined UNINITIALIZED 'linux/compiler.h' __uninitialized

# devfreq.h, include/linux/devfreq-governor.h
probe DEVFREQ_COOLING 'linux/devfreq.h' 'struct devfreq_dev_profile p; p.is_cooling_device = false;'

# drm.h
probe DRM_WEDGED_EVENT 'drm/drm_device.h drm/drm_drv.h' 'drm_dev_wedged_event(0, DRM_WEDGE_RECOVERY_REBIND, 0);'
defined DRM_DBG_RATELIMITED 'drm/drm_device.h drm/drm_print.h' drm_dbg_ratelimited
probe DRM_GEM_STATUS 'drm/drm_gem.h' 'struct drm_gem_object_funcs f; f.status = 0;'

# drm_driver.h
probe DRM_DRIVER_DATE 'drm/drm_drv.h' 'struct drm_driver d; d.date = "";'
probe DRM_DRIVER_PRIME_MMAP 'drm/drm_drv.h drm/drm_prime.h' 'struct drm_driver d; d.gem_prime_mmap = drm_gem_prime_mmap;'
probe DRM_SHOW_FDINFO 'drm/drm_drv.h drm/drm_file.h' 'struct drm_driver d; d.show_fdinfo = 0; (void)drm_show_memory_stats;'

# fence.h
probe FENCE_LOCK_INLINE 'linux/dma-fence.h' 'struct dma_fence *f = 0; (void)&f->inline_lock;'
probe FENCE_ARRAY_CREATE_5 'linux/dma-fence-array.h' 'dma_fence_array_create(1, 0, 0, 0, false);'
probe FENCE_ENABLE_SIGNALING 'linux/dma-fence.h' 'dma_fence_enable_signaling(0);'
probe FENCE_CHAIN_FREE 'linux/dma-fence-chain.h' 'dma_fence_chain_free(0);'

# fs.h
probe FOP_FLAGS 'linux/fs.h' 'struct file_operations f = { .fop_flags = FOP_UNSIGNED_OFFSET };'
probe PDE_DATA 'linux/proc_fs.h' 'struct inode *i = 0; pde_data(i);'

# hrtimer.h
probe HRTIMER_SETUP 'linux/hrtimer.h' 'hrtimer_setup(0, 0, 0, 0);'

# iommu.h
probe IOMMU_PAGING_DOMAIN_ALLOC 'linux/iommu.h' 'struct device *d = 0; struct iommu_domain *m = iommu_paging_domain_alloc(d);'
probe IOMMU_MAP_GFP 'linux/iommu.h' 'struct iommu_domain *d = 0; iommu_map(d, 0, 0, 0, IOMMU_READ, GFP_KERNEL);'

# mm.h
probe MEMCPY_PAGE 'linux/highmem.h' 'struct page *p = 0; memcpy_from_page(0, p, 0, 0); memcpy_to_page(p, 0, 0, 0);'
probe PAGE_FOLIO 'linux/mm.h linux/pagemap.h' 'struct page *p = 0; folio_next_index(page_folio(p));'
probe VM_FLAGS_SET 'linux/mm.h' 'struct vm_area_struct *v = 0; vm_flags_set(v, 0);'

# module.h: old ones make a string of the name, which then is one twice.
probe IMPORT_NS_STRING 'linux/module.h linux/stringify.h' '_Static_assert(sizeof(__stringify(MODULE_IMPORT_NS("X"))) <= sizeof(__stringify(MODULE_INFO(import_ns, "X"))) + 2, "");'

# opp.h
probe OPP_CONFIG 'linux/pm_opp.h' 'struct dev_pm_opp_config c; dev_pm_opp_set_config(0, &c);'
probe ROCKCHIP_OPP 'linux/pm_opp.h soc/rockchip/rockchip_opp_select.h' 'struct rockchip_opp_data d = { .config_regulators = 0, .config_clks = 0, .get_soc_info = 0, .set_soc_info = 0, .set_read_margin = 0 }; struct rockchip_opp_info i = { .data = &d }; rockchip_init_opp_info(0, &i, 0, 0); rockchip_opp_config_clks(0, 0, 0, 0, false, &i);'

# platform.h
probe PLATFORM_REMOVE_VOID 'linux/platform_device.h' 'void (*f)(struct platform_device *) = 0; struct platform_driver d; d.remove = f;'

# pm.h
probe PM_GET_IF_ACTIVE_1 'linux/pm_runtime.h' 'struct device *d = 0; pm_runtime_get_if_active(d);'
defined PM_RUNTIME_ACQUIRE 'linux/pm_runtime.h' PM_RUNTIME_ACQUIRE
defined RUNTIME_PM_OPS 'linux/pm.h' RUNTIME_PM_OPS
defined TASK_FREEZABLE 'linux/sched.h' TASK_FREEZABLE

# resv.h
probe DMA_RESV_USAGE 'linux/dma-resv.h' 'enum dma_resv_usage u = DMA_RESV_USAGE_WRITE;'

# vmap.h
probe DMA_BUF_VMAP_MAP 'linux/dma-buf.h' 'struct iosys_map *m = 0; int ret = dma_buf_vmap(0, m);'
probe DMA_BUF_VMAP_UNLOCKED 'linux/dma-buf.h' 'struct iosys_map *m = 0; dma_buf_vmap_unlocked(0, m);'
