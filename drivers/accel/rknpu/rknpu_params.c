// SPDX-License-Identifier: GPL-2.0-only
/* Owns the module parameters: their names, their defaults, and what they mean. */
#include <linux/module.h>

#include "rknpu_params.h"

struct rknpu_params rknpu_params = {
	.autosuspend_ms = 50,
	.cancel_grace_ms = 500,
	.default_timeout_ms = 500,
	.hang_ban_ms = 10000,
	.max_hangs = 8,
	.max_job_ms = 10000,
	.max_memory_percent = 75,
	.max_timeout_ms = 2000,
	.max_user_memory_percent = 65,
	.scrub = true,
	.sleep_wait_ms = 5000,
	.slice_us = 4000,
	.start_check_ms = 100,
#ifdef RKNPU_VENDOR
	.vendor_procfs = true,
	.vendor_uapi = true,
	.vendor_version = "0.9.8",
#endif
};

#define rknpu_param(name, type, mode, desc)						\
	module_param_named(name, rknpu_params.name, type, mode);			\
	MODULE_PARM_DESC(name, desc)

rknpu_param(autosuspend_ms, uint, 0444,
	    "How long an idle core stays powered, in ms (default 50)");

/* As long as one task may take by default: what ends by itself needs no reset. */
rknpu_param(cancel_grace_ms, uint, 0644,
	    "How long running jobs of a closed file may continue before they are stopped, in ms (default 500)");

rknpu_param(default_timeout_ms, uint, 0644,
	    "How long one task may take, in ms (default 500)");

/* So that who tries a program again and again can go on after seconds. */
rknpu_param(hang_ban_ms, uint, 0644,
	    "Time after which one failure of a user is forgiven, and length of a ban, in ms (default 10000)");

/* Off by default: programs made by Mesa write past some BOs and need the next one there. */
rknpu_param(iova_guard_pages, uint, 0444,
	    "Unmapped pages between BOs, to catch overruns (default 0)");

/*
 * BOs are pinned: nothing but their owner's end gives the memory back, so when
 * they have taken it all, others' processes are killed. Language models of half
 * the memory must fit, with room for what they compute with.
 */
rknpu_param(max_memory_percent, uint, 0644,
	    "Share of the machine's memory that all BOs may take, in percent (default 75)");
rknpu_param(max_user_memory_percent, uint, 0644,
	    "Share of the machine's memory that the BOs of one user may take, in percent; the rest of max_memory_percent is kept for users that have little (default 65)");

rknpu_param(max_hangs, uint, 0644,
	    "Number of failed jobs after which a user's jobs are refused for hang_ban_ms, and a file's for good; 0: no limit and no pauses (default 8)");

/*
 * What keeps its core from task to task, because it may leave data in it, must
 * not keep it from others, and from system sleep, for ever.
 */
rknpu_param(max_job_ms, uint, 0644,
	    "How long a job that cannot be interrupted between its tasks may keep a core, in ms (default 10000)");

/*
 * A task that hangs keeps its core until its timeout, and others wait. No known
 * program has a task that takes longer than the 500 ms which mainline gives a job;
 * this leaves room for one at a quarter of the clock. What Rockchip's runtimes ask
 * for, 6000 ms, is for all tasks of a job, which max_job_ms allows.
 */
rknpu_param(max_timeout_ms, uint, 0644,
	    "Longest timeout of a task that a program without CAP_SYS_NICE may ask for, in ms (1 to 60000, default 2000)");

/* For bring-up, and for kernels without a driver for the IOMMU. */
rknpu_param(noiommu, bool, 0444,
	    "Ignore the IOMMU in the device tree (default n)");

/* For hardware whose interrupt line is not wired or not known; costs timer interrupts instead. */
rknpu_param(poll, bool, 0444,
	    "Poll for the end of tasks with a timer instead of using interrupts (default n)");

rknpu_param(scrub, bool, 0644,
	    "Overwrite a core's memories before another client gets the core (default y)");

rknpu_param(sleep_wait_ms, uint, 0644,
	    "How long system sleep waits for a running job before it stops the job, to run it again later, in ms (default 5000)");

/*
 * Two clients on one core pay for every change between them with an IOMMU
 * attach, which is a hundred microseconds or so of polling (inferred from
 * rk_iommu).
 */
rknpu_param(slice_us, uint, 0644,
	    "How long a client may keep a core that others wait for, in us (default 4000)");

/* Saves a sleep and a wakeup when jobs are short, and keeps a CPU busy meanwhile. */
rknpu_param(spin_us, uint, 0644,
	    "How long a caller that waits for polled cores polls them itself before it sleeps, in us (default 0)");

/*
 * Only the blocks named CNA and CORE can be asked whether they are busy, so a
 * task of other blocks alone must not take that long.
 */
rknpu_param(start_check_ms, uint, 0644,
	    "After how long to check whether a task has started, in ms; 0: never (default 100)");

rknpu_param(unsafe_noiommu, bool, 0644,
	    "Without an IOMMU, let programs with CAP_SYS_RAWIO use the NPU: their jobs can access all memory below 4 GiB; taints the kernel (default n)");

#ifdef RKNPU_VENDOR
rknpu_param(vendor_misc, bool, 0444,
	    "Offer /dev/rknpu beside DRM node rknpu; the vendor's runtimes then use it instead (default n)");
rknpu_param(vendor_procfs, bool, 0444,
	    "Offer /proc/rknpu as well as /sys/kernel/debug/rknpu (default y)");
rknpu_param(vendor_shared_space, bool, 0444,
	    "One set of address spaces for all users of node rknpu, as in the vendor's driver: no isolation between them (default n)");
rknpu_param(vendor_uapi, bool, 0444,
	    "Offer the vendor's uAPI as DRM node rknpu (default y)");
rknpu_param(vendor_version, charp, 0444,
	    "Version that node rknpu reports (default 0.9.8)");
#endif
