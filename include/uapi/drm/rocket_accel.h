/* SPDX-License-Identifier: MIT */
/*
 * Owns the user ABI of the accel node named "rocket": the four ioctls of mainline
 * Linux, byte for byte, the extensions to them that open user space looks for, and,
 * from number 0x20 on, this driver's own.
 */
#ifndef _UAPI_ROCKET_ACCEL_H_
#define _UAPI_ROCKET_ACCEL_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: Versions
 *
 * The version, which %DRM_IOCTL_VERSION tells, is about mainline's ioctls, those below
 * 0x20, and their extensions by open user space. Each version includes those before it.
 *
 * - 1.0: Mainline's.
 * - 1.1: &drm_rocket_job.flags and %DRM_ROCKET_JOB_BATCHED.
 * - 1.2: %DRM_ROCKET_JOB_NO_DPU_DONE.
 * - 1.3: %DRM_ROCKET_JOB_PPU_DONE.
 * - 1.4: Only its deadline limits how many tasks a batched job has.
 * - 1.5: %DRM_IOCTL_ROCKET_PREP_BO_RANGES and %DRM_IOCTL_ROCKET_FINI_BO_RANGES.
 * - 1.6: Only its deadline limits how long a single task takes.
 *
 * %DRM_ROCKET_PARAM_FEATURES is about all else: the driver's own ioctls, from 0x20 on,
 * and job flags from bit 16 on. A driver that has none of them fails
 * %DRM_IOCTL_ROCKET_GET_PARAM with %EINVAL.
 */

/**
 * DOC: Sizes
 *
 * An ioctl below 0x20 takes the struct here and no other size: mainline defines what
 * comes behind it.
 *
 * One from 0x20 on takes any size. What a shorter struct lacks counts as 0, and is not
 * written. What a longer one has beyond the struct here must be 0, else %E2BIG. Structs
 * grow at their end, and 0 in a new field means what was meant without it.
 *
 * Elements of arrays have the size that user space says they have, and the same rule.
 */

#define DRM_ROCKET_CREATE_BO			0x00
#define DRM_ROCKET_SUBMIT			0x01
#define DRM_ROCKET_PREP_BO			0x02
#define DRM_ROCKET_FINI_BO			0x03
#define DRM_ROCKET_PREP_BO_RANGES		0x04
#define DRM_ROCKET_FINI_BO_RANGES		0x05
#define DRM_ROCKET_GET_PARAM			0x20
#define DRM_ROCKET_SUBMIT_EXT			0x21
#define DRM_ROCKET_WAIT_JOB			0x22
#define DRM_ROCKET_GET_BO_INFO			0x23

#define DRM_IOCTL_ROCKET_CREATE_BO						\
	DRM_IOWR(DRM_COMMAND_BASE + DRM_ROCKET_CREATE_BO, struct drm_rocket_create_bo)
#define DRM_IOCTL_ROCKET_SUBMIT							\
	DRM_IOW(DRM_COMMAND_BASE + DRM_ROCKET_SUBMIT, struct drm_rocket_submit)
#define DRM_IOCTL_ROCKET_PREP_BO						\
	DRM_IOW(DRM_COMMAND_BASE + DRM_ROCKET_PREP_BO, struct drm_rocket_prep_bo)
#define DRM_IOCTL_ROCKET_FINI_BO						\
	DRM_IOW(DRM_COMMAND_BASE + DRM_ROCKET_FINI_BO, struct drm_rocket_fini_bo)
#define DRM_IOCTL_ROCKET_PREP_BO_RANGES						\
	DRM_IOW(DRM_COMMAND_BASE + DRM_ROCKET_PREP_BO_RANGES, struct drm_rocket_prep_bo_ranges)
#define DRM_IOCTL_ROCKET_FINI_BO_RANGES						\
	DRM_IOW(DRM_COMMAND_BASE + DRM_ROCKET_FINI_BO_RANGES, struct drm_rocket_fini_bo_ranges)
#define DRM_IOCTL_ROCKET_GET_PARAM						\
	DRM_IOWR(DRM_COMMAND_BASE + DRM_ROCKET_GET_PARAM, struct drm_rocket_get_param)
#define DRM_IOCTL_ROCKET_SUBMIT_EXT						\
	DRM_IOWR(DRM_COMMAND_BASE + DRM_ROCKET_SUBMIT_EXT, struct drm_rocket_submit_ext)
#define DRM_IOCTL_ROCKET_WAIT_JOB						\
	DRM_IOWR(DRM_COMMAND_BASE + DRM_ROCKET_WAIT_JOB, struct drm_rocket_wait_job)
#define DRM_IOCTL_ROCKET_GET_BO_INFO						\
	DRM_IOWR(DRM_COMMAND_BASE + DRM_ROCKET_GET_BO_INFO, struct drm_rocket_bo_info)

/**
 * struct drm_rocket_create_bo - allocate a BO and map it for the NPU
 *
 * Argument of %DRM_IOCTL_ROCKET_CREATE_BO. The BO is zeroed. It counts against the
 * limits below until it is freed, wherever else it was imported.
 *
 * Errors:
 *
 * - %EINVAL: @size is out of its limits.
 * - %ENOMEM: no memory, or the BOs that the file made, or those of all files, would
 *   exceed %DRM_ROCKET_PARAM_MAX_USER_MEMORY or %DRM_ROCKET_PARAM_MAX_DEVICE_MEMORY.
 * - %ENOSPC: no room in the address space.
 * - %EINTR: the caller was killed.
 */
struct drm_rocket_create_bo {
	/**
	 * @size: In: bytes wanted, 1 to %DRM_ROCKET_PARAM_MAX_BO_SIZE; the BO is
	 * rounded up to whole pages.
	 */
	__u32 size;

	/** @handle: Out: GEM handle, valid in the calling file. */
	__u32 handle;

	/**
	 * @dma_address: Out: IOVA of the first byte in the address space of
	 * the calling file. Never 0, page aligned, and the BO ends below 4 GiB.
	 * The driver takes the lowest free place, so BOs that are made one after
	 * the other lie side by side. The BO stays mapped until the handle is
	 * closed and every job of the file that was submitted before is done.
	 */
	__u64 dma_address;

	/**
	 * @offset: Out: fake offset to pass to mmap() on the same file.
	 * Mappings are cached. A writable mapping must be shared.
	 */
	__u64 offset;
};

/**
 * struct drm_rocket_prep_bo - wait until the CPU may use a BO
 *
 * Argument of %DRM_IOCTL_ROCKET_PREP_BO. Waits for all jobs that list the BO, as
 * read or as written, then makes what the NPU wrote visible to the CPU. What the
 * CPU wrote and did not hand over (%DRM_IOCTL_ROCKET_FINI_BO) may be lost. The
 * caches of a BO that was imported from another driver are that driver's business
 * (%DMA_BUF_IOCTL_SYNC).
 *
 * Errors of the wait:
 *
 * - %ETIMEDOUT: @timeout_ns has passed.
 * - %EBUSY: jobs that are not over use the BO, and @timeout_ns was in the past.
 * - %EINTR: interrupted; the BO is still in use, call again.
 * - %ENOENT: no such handle.
 * - %EINVAL: @reserved is not 0.
 *
 * After a successful wait the call still fails if a job that lists the BO as
 * written failed. It reports the first error since the last report, and repeats it
 * until another job that writes the BO is submitted. The content of the BO is then
 * undefined, but visible.
 *
 * - %ETIME: a task took too long or never started.
 * - %EFAULT: the job accessed an IOVA where nothing is mapped.
 * - %EIO: a memory access of the job failed.
 * - %ECANCELED: the job's file was closed before the job was over.
 * - %EPIPE: the job's file was banned before, see %DRM_ROCKET_PARAM_BANNED_NS.
 * - %ENODEV: the device went away.
 */
struct drm_rocket_prep_bo {
	/** @handle: In: GEM handle. */
	__u32 handle;

	/** @reserved: In: must be 0. */
	__u32 reserved;

	/**
	 * @timeout_ns: In: absolute %CLOCK_MONOTONIC time in ns to give up at.
	 * In the past: do not wait, fail with %EBUSY while the BO is in use.
	 */
	__s64 timeout_ns;
};

/**
 * struct drm_rocket_fini_bo - hand a BO back to the NPU after CPU access
 *
 * Argument of %DRM_IOCTL_ROCKET_FINI_BO.
 *
 * Errors:
 *
 * - %ENOENT: no such handle.
 * - %EINVAL: @reserved is not 0.
 */
struct drm_rocket_fini_bo {
	/** @handle: In: GEM handle. */
	__u32 handle;

	/** @reserved: In: must be 0. */
	__u32 reserved;
};

/**
 * struct drm_rocket_task - the smallest unit of work: one register program
 *
 * Element of &drm_rocket_job.tasks.
 */
struct drm_rocket_task {
	/**
	 * @regcmd: In: IOVA of the register commands, 8-byte aligned. They must
	 * lie in one BO of the calling file, and so must one more where their
	 * number is odd, because the hardware fetches them in pairs. It begins
	 * at a multiple of 16 bytes: at an odd multiple of 8, the command in
	 * front of the first one is run as well, and the number must be odd, or
	 * the last one is not run.
	 */
	__u32 regcmd;

	/**
	 * @regcmd_count: In: number of 64-bit register commands, 1 to
	 * %DRM_ROCKET_PARAM_MAX_REGCMDS.
	 */
	__u32 regcmd_count;
};

/**
 * define DRM_ROCKET_JOB_BATCHED - the tasks are chained in memory
 *
 * In &drm_rocket_job.flags. Each program ends with the address and the length of
 * the next one. The hardware starts once and interrupts once. The first task must be
 * described, and &drm_rocket_job.task_count must be right. The driver checks the
 * other elements of &drm_rocket_job.tasks, but the hardware follows the programs. A
 * chain that is shorter than the count ends with %ETIME.
 */
#define DRM_ROCKET_JOB_BATCHED		(1u << 0)
/**
 * define DRM_ROCKET_JOB_NO_DPU_DONE - no task raises the DPU's interrupt
 *
 * In &drm_rocket_job.flags. Accepted and without effect: the RK3588 raises that
 * interrupt for everything that the DPU writes. It exists for hardware that does not.
 */
#define DRM_ROCKET_JOB_NO_DPU_DONE	(1u << 1)
/**
 * define DRM_ROCKET_JOB_PPU_DONE - the PPU ends the last task
 *
 * In &drm_rocket_job.flags. The PPU (pooling) writes the last task's result, so the
 * task is over when the PPU reports. Without the flag a task is over when either the
 * DPU or the PPU reports, which is right for all tasks that use only one of them. A
 * task that does not use the PPU ends with %ETIME.
 */
#define DRM_ROCKET_JOB_PPU_DONE		(1u << 2)
/**
 * define DRM_ROCKET_JOB_DIVISIBLE - other jobs may run between the tasks
 *
 * In &drm_rocket_job.flags. No task needs what the one before it left in the core.
 * Such a job has no limit on the core time of all its tasks. %EINVAL together with
 * %DRM_ROCKET_JOB_BATCHED. This driver's own, see %DRM_ROCKET_FEATURE_DIVISIBLE.
 */
#define DRM_ROCKET_JOB_DIVISIBLE	(1u << 16)
/**
 * define DRM_ROCKET_JOB_POLLED - without effect
 *
 * In &drm_rocket_job.flags. Accepted and ignored: the job interrupts like any other.
 */
#define DRM_ROCKET_JOB_POLLED		(1u << 17)
/**
 * define DRM_ROCKET_JOB_QUIET - without effect
 *
 * In &drm_rocket_job.flags. Accepted and ignored: the job is started, interrupts and
 * signals on its own, as without the flag.
 */
#define DRM_ROCKET_JOB_QUIET		(1u << 18)

/**
 * struct drm_rocket_job - tasks that run in order on one core
 *
 * Element of &drm_rocket_submit.jobs. Jobs run on any core and side by side, ordered
 * only by the BOs that they list. A job starts when all earlier jobs are done that
 * write a BO it lists or read a BO it writes. A BO may be listed more than once; one
 * in both lists counts as written. A job runs even if a job before it failed.
 */
struct drm_rocket_job {
	/** @tasks: In: pointer to an array of struct drm_rocket_task. */
	__u64 tasks;

	/** @in_bo_handles: In: pointer to u32 handles of BOs that the job reads. */
	__u64 in_bo_handles;

	/** @out_bo_handles: In: pointer to u32 handles of BOs that the job writes. */
	__u64 out_bo_handles;

	/**
	 * @task_count: In: number of tasks, at least 1. All jobs of a submit
	 * together have at most %DRM_ROCKET_PARAM_MAX_TASKS.
	 */
	__u32 task_count;

	/**
	 * @task_struct_size: In: bytes per element of @tasks, 8 to the page
	 * size. Bytes beyond the fields here must be 0.
	 */
	__u32 task_struct_size;

	/**
	 * @in_bo_handle_count: In: number of handles in @in_bo_handles. Both
	 * lists together hold at most %DRM_ROCKET_PARAM_MAX_JOB_HANDLES, those of
	 * all jobs of a submit at most %DRM_ROCKET_PARAM_MAX_SUBMIT_HANDLES.
	 */
	__u32 in_bo_handle_count;

	/** @out_bo_handle_count: In: number of handles in @out_bo_handles. */
	__u32 out_bo_handle_count;

	/**
	 * @flags: In: OR of ``DRM_ROCKET_JOB_*``; an unknown one is %EINVAL. Not
	 * part of mainline's struct, which ends before it.
	 */
	__u32 flags;

	/** @reserved: In: must be 0. */
	__u32 reserved;
};

/**
 * struct drm_rocket_submit - queue jobs for execution
 *
 * Argument of %DRM_IOCTL_ROCKET_SUBMIT. All or nothing: after an error no job was
 * queued.
 *
 * Errors:
 *
 * - %EINVAL: a field is out of its limits, or &drm_rocket_task.regcmd is not in a BO.
 * - %E2BIG: an element size is above its limit, or an element holds something that
 *   this kernel does not know.
 * - %ENOENT: no such handle.
 * - %EFAULT: memory that cannot be read.
 * - %EBUSY: jobs that are not over have to end first: the file has as many as
 *   %DRM_ROCKET_PARAM_MAX_FILE_JOBS, or as many tasks as
 *   %DRM_ROCKET_PARAM_MAX_FILE_TASKS, or half as many BO handles; or all files of its user
 *   have %DRM_ROCKET_PARAM_MAX_USER_JOBS, or as many times the tasks or handles of one file.
 *   poll() of the file waits for room. Or the jobs wait for more fences, or name more BOs
 *   with more users, than a user or a call may: poll() does not wait for that.
 * - %EPIPE: too many jobs of the file or of its user have failed, see
 *   %DRM_ROCKET_PARAM_BANNED_NS.
 * - %EINTR: interrupted while another call had locked the BOs; nothing is queued, call
 *   again.
 */
struct drm_rocket_submit {
	/** @jobs: In: pointer to an array of struct drm_rocket_job. */
	__u64 jobs;

	/**
	 * @job_count: In: number of jobs, at most %DRM_ROCKET_PARAM_MAX_JOBS. With 0
	 * the call does nothing, and the other fields do not matter.
	 */
	__u32 job_count;

	/**
	 * @job_struct_size: In: bytes per element of @jobs, 40 to the page
	 * size. Bytes beyond the fields here must be 0.
	 */
	__u32 job_struct_size;

	/** @reserved: In: must be 0. */
	__u64 reserved;
};

/**
 * struct drm_rocket_bo_range - part of a BO
 *
 * Element of &drm_rocket_prep_bo_ranges.ranges.
 */
struct drm_rocket_bo_range {
	/** @offset: In: first byte, from the start of the BO. */
	__u64 offset;

	/** @size: In: number of bytes, at least 1. */
	__u64 size;
};

/**
 * struct drm_rocket_prep_bo_ranges - wait until the CPU may use parts of a BO
 *
 * Argument of %DRM_IOCTL_ROCKET_PREP_BO_RANGES. Does what %DRM_IOCTL_ROCKET_PREP_BO
 * does, but maintains caches only for the ranges.
 *
 * Errors: those of %DRM_IOCTL_ROCKET_PREP_BO, and
 *
 * - %EINVAL: a range is empty or reaches beyond the BO, ranges are not in ascending
 *   order or overlap, or there are too many.
 * - %EFAULT: memory that cannot be read.
 */
struct drm_rocket_prep_bo_ranges {
	/** @handle: In: GEM handle. */
	__u32 handle;

	/**
	 * @range_count: In: elements of @ranges, at most 1024, which version 1.5
	 * promises; 0 for the whole BO.
	 */
	__u32 range_count;

	/**
	 * @ranges: In: pointer to an array of struct drm_rocket_bo_range, in
	 * ascending order, not overlapping.
	 */
	__u64 ranges;

	/** @timeout_ns: In: see &drm_rocket_prep_bo.timeout_ns. */
	__s64 timeout_ns;

	/** @reserved: In: must be 0. */
	__u64 reserved;
};

/**
 * struct drm_rocket_fini_bo_ranges - hand parts of a BO back to the NPU
 *
 * Argument of %DRM_IOCTL_ROCKET_FINI_BO_RANGES. Does what %DRM_IOCTL_ROCKET_FINI_BO
 * does, for the ranges. What the CPU wrote elsewhere in the BO may not have reached
 * memory.
 *
 * Errors:
 *
 * - %ENOENT: no such handle.
 * - %EINVAL: as in &struct drm_rocket_prep_bo_ranges.
 * - %EFAULT: memory that cannot be read.
 */
struct drm_rocket_fini_bo_ranges {
	/** @handle: In: GEM handle. */
	__u32 handle;

	/** @range_count: In: see &drm_rocket_prep_bo_ranges.range_count. */
	__u32 range_count;

	/** @ranges: In: see &drm_rocket_prep_bo_ranges.ranges. */
	__u64 ranges;

	/** @reserved: In: must be 0. */
	__u64 reserved;
};

/**
 * define DRM_ROCKET_FEATURE_SUBMIT_EXT - SUBMIT_EXT and WAIT_JOB exist
 *
 * In the value of %DRM_ROCKET_PARAM_FEATURES, as those that follow.
 */
#define DRM_ROCKET_FEATURE_SUBMIT_EXT		(1ull << 0)
/**
 * define DRM_ROCKET_FEATURE_BO_INFO - GET_BO_INFO exists
 */
#define DRM_ROCKET_FEATURE_BO_INFO		(1ull << 1)
/**
 * define DRM_ROCKET_FEATURE_SYNCOBJ - SUBMIT_EXT takes syncobjs and timeline points
 */
#define DRM_ROCKET_FEATURE_SYNCOBJ		(1ull << 2)
/**
 * define DRM_ROCKET_FEATURE_BATCHED - the hardware runs the tasks of a batched job in one go
 *
 * See %DRM_ROCKET_JOB_BATCHED.
 */
#define DRM_ROCKET_FEATURE_BATCHED		(1ull << 3)
/**
 * define DRM_ROCKET_FEATURE_SCHED - core mask, priority and timeout have an effect
 *
 * &drm_rocket_job_ext.core_mask, &drm_rocket_job_ext.priority and
 * &drm_rocket_job_ext.timeout_ns are followed, not only checked.
 */
#define DRM_ROCKET_FEATURE_SCHED		(1ull << 4)
/**
 * define DRM_ROCKET_FEATURE_DIVISIBLE - DRM_ROCKET_JOB_DIVISIBLE is known
 */
#define DRM_ROCKET_FEATURE_DIVISIBLE		(1ull << 5)
/**
 * define DRM_ROCKET_FEATURE_POLLED - not reported: DRM_ROCKET_JOB_POLLED has no effect
 */
#define DRM_ROCKET_FEATURE_POLLED		(1ull << 6)
/**
 * define DRM_ROCKET_FEATURE_TAG - jobs have tags
 *
 * &drm_rocket_job_ext.tag and &drm_rocket_wait_job.tag exist.
 */
#define DRM_ROCKET_FEATURE_TAG			(1ull << 7)
/**
 * define DRM_ROCKET_FEATURE_QUIET - not reported: DRM_ROCKET_JOB_QUIET has no effect
 */
#define DRM_ROCKET_FEATURE_QUIET		(1ull << 8)

/**
 * enum drm_rocket_param - what %DRM_IOCTL_ROCKET_GET_PARAM can tell
 * @DRM_ROCKET_PARAM_FEATURES: OR of ``DRM_ROCKET_FEATURE_*``
 * @DRM_ROCKET_PARAM_SOC: number in the SoC's name, 3588 for the RK3588. Programs are
 *	for one of them: registers differ
 * @DRM_ROCKET_PARAM_CORE_COUNT: number of cores of the SoC
 * @DRM_ROCKET_PARAM_CORE_MASK: bit per core that can be given jobs now. A core
 *	is missing if it is not bound, or did not come back after a hang
 * @DRM_ROCKET_PARAM_HW_VERSION: sum of the version registers of core
 *	&drm_rocket_get_param.index, read when it was bound; %ENODEV if it is not bound
 * @DRM_ROCKET_PARAM_DEFAULT_TIMEOUT_NS: timeout of a task if the job does not set
 *	one, in ns; the administrator can change it at any time
 * @DRM_ROCKET_PARAM_MIN_TIMEOUT_NS: least &drm_rocket_job_ext.timeout_ns
 * @DRM_ROCKET_PARAM_MAX_TIMEOUT_NS: greatest &drm_rocket_job_ext.timeout_ns that the
 *	caller may use now; the administrator can change it at any time, but not what
 *	it is with %CAP_SYS_NICE
 * @DRM_ROCKET_PARAM_MAX_BO_SIZE: greatest size of a BO, in bytes
 * @DRM_ROCKET_PARAM_MAX_JOBS: jobs in one submit
 * @DRM_ROCKET_PARAM_MAX_TASKS: tasks in all jobs of one submit
 * @DRM_ROCKET_PARAM_MAX_REGCMDS: register commands in one task, not as many on each chip
 * @DRM_ROCKET_PARAM_MAX_JOB_HANDLES: BO handles in one job
 * @DRM_ROCKET_PARAM_MAX_SUBMIT_HANDLES: BO handles in all jobs of one submit
 * @DRM_ROCKET_PARAM_MAX_JOB_SYNCS: syncobjs in one job
 * @DRM_ROCKET_PARAM_MAX_FILE_JOBS: jobs of one file that are not over
 * @DRM_ROCKET_PARAM_MAX_USER_JOBS: jobs of all files of one user that are not over
 * @DRM_ROCKET_PARAM_RESULT_COUNT: how many of a file's newest jobs
 *	%DRM_IOCTL_ROCKET_WAIT_JOB knows
 * @DRM_ROCKET_PARAM_MAX_PRIORITY: greatest priority that the caller may use now
 * @DRM_ROCKET_PARAM_MAX_USER_MEMORY: bytes that all files of one user may take: their
 *	BOs, and what the kernel keeps for BOs, imports, address spaces and the files
 *	themselves; the administrator can change it at any time
 * @DRM_ROCKET_PARAM_MAX_DEVICE_MEMORY: the same of all files of the
 *	device; what it is beyond %DRM_ROCKET_PARAM_MAX_USER_MEMORY is for users
 *	that have no more than an eighth of that; the administrator can change it at any
 *	time
 * @DRM_ROCKET_PARAM_MAX_JOB_TIME_NS: how long the tasks of a job together may keep a
 *	core, in ns, see &drm_rocket_job_ext.timeout_ns; the administrator can change
 *	it at any time
 * @DRM_ROCKET_PARAM_BANNED_NS: ns until the user of the calling file may submit again
 *	after jobs that failed; 0 if it may now, ~0 if the file never may
 * @DRM_ROCKET_PARAM_MAX_FILE_TASKS: tasks of one file's jobs that are not over
 */
enum drm_rocket_param {
	DRM_ROCKET_PARAM_FEATURES = 0,
	DRM_ROCKET_PARAM_SOC = 1,
	DRM_ROCKET_PARAM_CORE_COUNT = 2,
	DRM_ROCKET_PARAM_CORE_MASK = 3,
	DRM_ROCKET_PARAM_HW_VERSION = 4,
	DRM_ROCKET_PARAM_DEFAULT_TIMEOUT_NS = 5,
	DRM_ROCKET_PARAM_MIN_TIMEOUT_NS = 6,
	DRM_ROCKET_PARAM_MAX_TIMEOUT_NS = 7,
	DRM_ROCKET_PARAM_MAX_BO_SIZE = 8,
	DRM_ROCKET_PARAM_MAX_JOBS = 9,
	DRM_ROCKET_PARAM_MAX_TASKS = 10,
	DRM_ROCKET_PARAM_MAX_REGCMDS = 11,
	DRM_ROCKET_PARAM_MAX_JOB_HANDLES = 12,
	DRM_ROCKET_PARAM_MAX_SUBMIT_HANDLES = 13,
	DRM_ROCKET_PARAM_MAX_JOB_SYNCS = 14,
	DRM_ROCKET_PARAM_MAX_FILE_JOBS = 15,
	DRM_ROCKET_PARAM_MAX_USER_JOBS = 16,
	DRM_ROCKET_PARAM_RESULT_COUNT = 17,
	/* 18 told the newest job, which could be another thread's. */
	DRM_ROCKET_PARAM_MAX_PRIORITY = 19,
	DRM_ROCKET_PARAM_MAX_USER_MEMORY = 20,
	DRM_ROCKET_PARAM_MAX_DEVICE_MEMORY = 21,
	DRM_ROCKET_PARAM_MAX_JOB_TIME_NS = 22,
	DRM_ROCKET_PARAM_BANNED_NS = 23,
	DRM_ROCKET_PARAM_MAX_FILE_TASKS = 24,
};

/**
 * struct drm_rocket_get_param - ask what the driver and the hardware can do
 *
 * Argument of %DRM_IOCTL_ROCKET_GET_PARAM.
 *
 * Errors:
 *
 * - %EINVAL: @param is not known, or @index is out of its limits.
 * - %E2BIG: see "Sizes"; any of the ioctls from 0x20 on can fail so.
 * - %ENODEV: see %DRM_ROCKET_PARAM_HW_VERSION.
 */
struct drm_rocket_get_param {
	/** @param: In: &enum drm_rocket_param. */
	__u32 param;

	/**
	 * @index: In: core number, below %DRM_ROCKET_PARAM_CORE_COUNT, for
	 * %DRM_ROCKET_PARAM_HW_VERSION; must be 0 otherwise.
	 */
	__u32 index;

	/** @value: Out: the answer. */
	__u64 value;
};

/**
 * struct drm_rocket_sync - a syncobj, or a point of its timeline
 *
 * Element of &drm_rocket_job_ext.in_syncs and &drm_rocket_job_ext.out_syncs.
 */
struct drm_rocket_sync {
	/** @handle: In: syncobj handle. */
	__u32 handle;

	/** @flags: In: must be 0. */
	__u32 flags;

	/** @point: In: point of the timeline; 0 for a binary syncobj. */
	__u64 point;
};

/**
 * enum drm_rocket_priority - which job goes first when a core is free
 * @DRM_ROCKET_PRIORITY_DEFAULT: the same as %DRM_ROCKET_PRIORITY_NORMAL
 * @DRM_ROCKET_PRIORITY_LOW: after all others
 * @DRM_ROCKET_PRIORITY_NORMAL: what %DRM_IOCTL_ROCKET_SUBMIT uses
 * @DRM_ROCKET_PRIORITY_HIGH: before all others; needs %CAP_SYS_NICE, else %EACCES
 *
 * A running task is never interrupted.
 */
enum drm_rocket_priority {
	DRM_ROCKET_PRIORITY_DEFAULT = 0,
	DRM_ROCKET_PRIORITY_LOW = 1,
	DRM_ROCKET_PRIORITY_NORMAL = 2,
	DRM_ROCKET_PRIORITY_HIGH = 3,
};

/**
 * struct drm_rocket_job_ext - a job with all its options
 *
 * Element of &drm_rocket_submit_ext.jobs. Begins as &struct drm_rocket_job, whose
 * rules apply.
 */
struct drm_rocket_job_ext {
	/** @tasks: In: see &drm_rocket_job.tasks. */
	__u64 tasks;

	/** @in_bo_handles: In: see &drm_rocket_job.in_bo_handles. */
	__u64 in_bo_handles;

	/** @out_bo_handles: In: see &drm_rocket_job.out_bo_handles. */
	__u64 out_bo_handles;

	/** @task_count: In: see &drm_rocket_job.task_count. */
	__u32 task_count;

	/** @task_struct_size: In: see &drm_rocket_job.task_struct_size. */
	__u32 task_struct_size;

	/** @in_bo_handle_count: In: see &drm_rocket_job.in_bo_handle_count. */
	__u32 in_bo_handle_count;

	/** @out_bo_handle_count: In: see &drm_rocket_job.out_bo_handle_count. */
	__u32 out_bo_handle_count;

	/** @flags: In: see &drm_rocket_job.flags. */
	__u32 flags;

	/** @reserved: In: must be 0. */
	__u32 reserved;

	/**
	 * @in_syncs: In: pointer to an array of struct drm_rocket_sync that the
	 * job waits for. Each must have a fence, at its point, before the call;
	 * fences of jobs of the same submit do not count. The job runs even if a
	 * fence signals an error.
	 */
	__u64 in_syncs;

	/**
	 * @out_syncs: In: pointer to an array of struct drm_rocket_sync. Each
	 * gets a fence, at its point, that signals when the job is over. That of a
	 * binary syncobj carries the job's error; that of a point does not, but
	 * %DRM_IOCTL_ROCKET_WAIT_JOB tells. If the caller is killed meanwhile, some
	 * may get none.
	 */
	__u64 out_syncs;

	/**
	 * @in_sync_count: In: elements of @in_syncs; with those of @out_syncs at
	 * most %DRM_ROCKET_PARAM_MAX_JOB_SYNCS.
	 */
	__u32 in_sync_count;

	/** @out_sync_count: In: elements of @out_syncs. */
	__u32 out_sync_count;

	/**
	 * @sync_struct_size: In: bytes per element of @in_syncs and @out_syncs, 16
	 * to the page size; without any of them it does not matter. Bytes beyond
	 * the fields here must be 0.
	 */
	__u32 sync_struct_size;

	/**
	 * @core_mask: In: bit per core that may run the job; 0 for any. %EINVAL if
	 * the SoC does not have such a core, %ENODEV if none of them is in
	 * %DRM_ROCKET_PARAM_CORE_MASK.
	 *
	 * On an RK3576 the cores share their CBUF, and programs name the part that they
	 * use. There the lowest of the cores runs the job: programs that are made for
	 * core 0, as most are, need nothing, and those for core 1 name it alone.
	 */
	__u32 core_mask;

	/** @priority: In: &enum drm_rocket_priority; another value is %EINVAL. */
	__u32 priority;

	/** @pad: In: must be 0. */
	__u32 pad;

	/**
	 * @timeout_ns: In: how long one task may take from its start, in ns; 0 for
	 * the default. %EINVAL if it is out of the limits that
	 * %DRM_IOCTL_ROCKET_GET_PARAM tells. A task of a batched job adds as much
	 * to what the whole job may take. Unless it is divisible, no job may take
	 * more than %DRM_ROCKET_PARAM_MAX_JOB_TIME_NS, or than one of its tasks if
	 * that is more. Rounded up to the resolution of the kernel's timer.
	 */
	__u64 timeout_ns;

	/**
	 * @tag: In: what the caller likes. It comes back in
	 * &drm_rocket_wait_job.tag, and is in tracepoints and in the dump of a
	 * failure. See %DRM_ROCKET_FEATURE_TAG.
	 */
	__u64 tag;
};

/**
 * struct drm_rocket_submit_ext - queue jobs with all their options
 *
 * Argument of %DRM_IOCTL_ROCKET_SUBMIT_EXT. All or nothing, as
 * %DRM_IOCTL_ROCKET_SUBMIT.
 *
 * Errors: those of %DRM_IOCTL_ROCKET_SUBMIT, and
 *
 * - %EINVAL: a syncobj of &drm_rocket_job_ext.in_syncs has no fence yet.
 * - %ENOENT: no such syncobj.
 * - %EACCES: see &enum drm_rocket_priority.
 * - %ENODEV: see &drm_rocket_job_ext.core_mask.
 */
struct drm_rocket_submit_ext {
	/** @jobs: In: pointer to an array of struct drm_rocket_job_ext. */
	__u64 jobs;

	/** @job_count: In: number of jobs, 1 to %DRM_ROCKET_PARAM_MAX_JOBS. */
	__u32 job_count;

	/**
	 * @job_struct_size: In: bytes per element of @jobs, 40 to the page
	 * size. Bytes beyond the fields here must be 0.
	 */
	__u32 job_struct_size;

	/** @flags: In: must be 0. */
	__u32 flags;

	/** @reserved: In: must be 0. */
	__u32 reserved;

	/**
	 * @first_job: Out: id of the first job; the others' follow. Ids count all
	 * jobs of a file from 1, including those of %DRM_IOCTL_ROCKET_SUBMIT.
	 */
	__u64 first_job;
};

/**
 * enum drm_rocket_cause - how a job ended
 * @DRM_ROCKET_CAUSE_UNKNOWN: %EIO; for a reason that this list does not have
 * @DRM_ROCKET_CAUSE_DONE: all tasks done; the only one without an error
 * @DRM_ROCKET_CAUSE_NEVER_STARTED: %ETIME; the hardware did not begin the task
 * @DRM_ROCKET_CAUSE_TIMEOUT: %ETIME; the task took longer than it may
 * @DRM_ROCKET_CAUSE_DMA_READ: %EIO; the NPU reported an error when it read
 * @DRM_ROCKET_CAUSE_DMA_WRITE: %EIO; the NPU reported an error when it wrote
 * @DRM_ROCKET_CAUSE_IOMMU_FAULT: %EFAULT; nothing is mapped at the address
 * @DRM_ROCKET_CAUSE_CANCELLED: %ECANCELED; its file was closed
 * @DRM_ROCKET_CAUSE_DEVICE_GONE: %ENODEV; the device, or every core that the job
 *	may use, is gone
 * @DRM_ROCKET_CAUSE_BANNED: %EPIPE; jobs of its user or of its file have failed so
 *	often that they may not run now, see %DRM_ROCKET_PARAM_BANNED_NS
 */
enum drm_rocket_cause {
	DRM_ROCKET_CAUSE_UNKNOWN = 0,
	DRM_ROCKET_CAUSE_DONE = 1,
	DRM_ROCKET_CAUSE_NEVER_STARTED = 2,
	DRM_ROCKET_CAUSE_TIMEOUT = 3,
	DRM_ROCKET_CAUSE_DMA_READ = 4,
	DRM_ROCKET_CAUSE_DMA_WRITE = 5,
	DRM_ROCKET_CAUSE_IOMMU_FAULT = 6,
	/* 7 was never reported. */
	DRM_ROCKET_CAUSE_CANCELLED = 8,
	DRM_ROCKET_CAUSE_DEVICE_GONE = 9,
	DRM_ROCKET_CAUSE_BANNED = 10,
};

/**
 * define DRM_ROCKET_RESULT_FAULT_WRITE - the access that faulted was a write
 *
 * In &drm_rocket_wait_job.result.
 */
#define DRM_ROCKET_RESULT_FAULT_WRITE	(1u << 0)
/**
 * define DRM_ROCKET_RESULT_RERUN - the job was started again
 *
 * In &drm_rocket_wait_job.result. System sleep stopped it, and it ran again from its
 * first task; or a task had left no trace in any register for a while. If its
 * programs write over what they read, the result may be wrong.
 */
#define DRM_ROCKET_RESULT_RERUN		(1u << 1)

/**
 * struct drm_rocket_wait_job - wait for a job and learn how it ended
 *
 * Argument of %DRM_IOCTL_ROCKET_WAIT_JOB. It knows the newest
 * %DRM_ROCKET_PARAM_RESULT_COUNT jobs of a file, over or not, and can be asked about
 * each any number of times. If the job failed the call still succeeds. If the call fails
 * it writes nothing.
 *
 * Errors:
 *
 * - %ENOENT: @job is not the id of a known job: there is none yet, or too many newer ones.
 * - %ETIMEDOUT: @timeout_ns has passed.
 * - %EBUSY: the job is not over, and @timeout_ns was in the past.
 * - %EINTR: interrupted; call again.
 * - %EINVAL: @flags is not 0.
 */
struct drm_rocket_wait_job {
	/** @job: In: id, see &drm_rocket_submit_ext.first_job. */
	__u64 job;

	/** @timeout_ns: In: see &drm_rocket_prep_bo.timeout_ns. */
	__s64 timeout_ns;

	/** @flags: In: must be 0. */
	__u32 flags;

	/** @cause: Out: &enum drm_rocket_cause. */
	__u32 cause;

	/**
	 * @error: Out: 0 or the negative errno that belongs to @cause: what a program
	 * can say of a cause that is newer than itself. The job's fence has it, too.
	 */
	__s32 error;

	/** @core: Out: core that it ran on last, -1 if it did not run. */
	__s32 core;

	/** @task: Out: number of tasks done, thus the index of the one that failed. */
	__u32 task;

	/** @result: Out: OR of ``DRM_ROCKET_RESULT_*``. */
	__u32 result;

	/**
	 * @fault_address: Out: IOVA that was accessed, for
	 * %DRM_ROCKET_CAUSE_IOMMU_FAULT; otherwise 0.
	 */
	__u64 fault_address;

	/** @elapsed_ns: Out: how long it occupied a core, in ns. */
	__u64 elapsed_ns;

	/**
	 * @tag: Out: &drm_rocket_job_ext.tag of the job, 0 after
	 * %DRM_IOCTL_ROCKET_SUBMIT. See %DRM_ROCKET_FEATURE_TAG.
	 */
	__u64 tag;
};

/**
 * define DRM_ROCKET_BO_IMPORTED - the memory belongs to another driver
 *
 * In &drm_rocket_bo_info.flags.
 */
#define DRM_ROCKET_BO_IMPORTED		(1u << 0)

/**
 * struct drm_rocket_bo_info - ask about a BO, such as an imported one
 *
 * Argument of %DRM_IOCTL_ROCKET_GET_BO_INFO.
 *
 * Errors:
 *
 * - %ENOENT: no such handle.
 * - %EINVAL: @reserved is not 0.
 * - %ENOSPC: no room in the address space.
 */
struct drm_rocket_bo_info {
	/** @handle: In: GEM handle. */
	__u32 handle;

	/** @flags: Out: OR of ``DRM_ROCKET_BO_*``. */
	__u32 flags;

	/** @size: Out: bytes, a multiple of the page size. */
	__u64 size;

	/** @dma_address: Out: see &drm_rocket_create_bo.dma_address. */
	__u64 dma_address;

	/**
	 * @offset: Out: see &drm_rocket_create_bo.offset; 0 for an imported BO,
	 * which is mapped through its dma-buf.
	 */
	__u64 offset;

	/** @reserved: In: must be 0. */
	__u64 reserved;
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_ROCKET_ACCEL_H_ */
