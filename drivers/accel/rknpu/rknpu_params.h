/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the module parameters; rknpu_params.c describes each of them. */
#ifndef __RKNPU_PARAMS_H__
#define __RKNPU_PARAMS_H__

#include <linux/types.h>

/**
 * struct rknpu_params - values; those that can be written at run time are read with READ_ONCE()
 */
struct rknpu_params {
	/** @autosuspend_ms: read only */
	unsigned int autosuspend_ms;
	/** @cancel_grace_ms: writable */
	unsigned int cancel_grace_ms;
	/** @default_timeout_ms: writable */
	unsigned int default_timeout_ms;
	/** @hang_ban_ms: writable */
	unsigned int hang_ban_ms;
	/** @iova_guard_pages: read only */
	unsigned int iova_guard_pages;
	/** @max_hangs: writable */
	unsigned int max_hangs;
	/** @max_job_ms: writable */
	unsigned int max_job_ms;
	/** @max_memory_percent: writable */
	unsigned int max_memory_percent;
	/** @max_timeout_ms: writable */
	unsigned int max_timeout_ms;
	/** @max_user_memory_percent: writable */
	unsigned int max_user_memory_percent;
	/** @noiommu: read only */
	bool noiommu;
	/** @poll: read only */
	bool poll;
	/** @scrub: writable */
	bool scrub;
	/** @sleep_wait_ms: writable */
	unsigned int sleep_wait_ms;
	/** @slice_us: writable */
	unsigned int slice_us;
	/** @spin_us: writable */
	unsigned int spin_us;
	/** @start_check_ms: writable */
	unsigned int start_check_ms;
	/** @unsafe_noiommu: writable */
	bool unsafe_noiommu;
#ifdef RKNPU_VENDOR
	/** @vendor_misc: read only */
	bool vendor_misc;
	/** @vendor_procfs: read only */
	bool vendor_procfs;
	/** @vendor_shared_space: read only */
	bool vendor_shared_space;
	/** @vendor_uapi: read only */
	bool vendor_uapi;
	/** @vendor_version: read only */
	char *vendor_version;
#endif
};

extern struct rknpu_params rknpu_params;

#endif
