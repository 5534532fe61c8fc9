/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Owns the user ABI of the DRM node "rknpu": what Rockchip's own NPU driver 0.9.8
 * offers, so that programs written for it run unchanged.
 *
 * Layouts, numbers and meanings are those of the vendor's driver 0.4.2 to 0.9.8
 * and of public traces of its user space; names and words are ours. Where this
 * driver behaves differently, the field says so.
 * Documentation/accel/rknpu/vendor-uapi.rst has the full comparison.
 */
#ifndef _UAPI_RKNPU_DRM_H_
#define _UAPI_RKNPU_DRM_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define DRM_RKNPU_ACTION	0x00
#define DRM_RKNPU_SUBMIT	0x01
#define DRM_RKNPU_MEM_CREATE	0x02
#define DRM_RKNPU_MEM_MAP	0x03
#define DRM_RKNPU_MEM_DESTROY	0x04
#define DRM_RKNPU_MEM_SYNC	0x05

/**
 * define DRM_RKNPU_DOMAINS - highest IOMMU domain id plus one
 */
#define DRM_RKNPU_DOMAINS	16
/**
 * define DRM_RKNPU_SUBCORES - elements of &drm_rknpu_submit.subcore_task
 */
#define DRM_RKNPU_SUBCORES	5

/**
 * enum drm_rknpu_action_id - what %DRM_IOCTL_RKNPU_ACTION does
 * @DRM_RKNPU_GET_HW_VERSION: version registers of core 0; "FIRE" on RK3588
 * @DRM_RKNPU_GET_DRV_VERSION: major * 10000 + minor * 100 + patch
 * @DRM_RKNPU_GET_FREQ: NPU clock in Hz
 * @DRM_RKNPU_SET_FREQ: %EINVAL, as the vendor's
 * @DRM_RKNPU_GET_VOLT: NPU supply in uV; %EINVAL if the supply is not known
 * @DRM_RKNPU_SET_VOLT: %EINVAL, as the vendor's
 * @DRM_RKNPU_RESET: ends the caller's own unfinished jobs; others are not touched. One
 *	that waits for a fence (%DRM_RKNPU_JOB_FENCE_IN) ends when that has signalled,
 *	without having run, and a SUBMIT that waits for it returns then
 * @DRM_RKNPU_GET_BW_PRIORITY: %EINVAL: RK3588 has no such registers
 * @DRM_RKNPU_SET_BW_PRIORITY: %EINVAL
 * @DRM_RKNPU_GET_BW_EXPECT: %EINVAL
 * @DRM_RKNPU_SET_BW_EXPECT: %EINVAL
 * @DRM_RKNPU_GET_BW_TW: %EINVAL
 * @DRM_RKNPU_SET_BW_TW: %EINVAL
 * @DRM_RKNPU_CLEAR_TOTAL_RW_AMOUNT: does nothing on RK3588
 * @DRM_RKNPU_GET_DT_WR_AMOUNT: leaves the value alone on RK3588
 * @DRM_RKNPU_GET_DT_RD_AMOUNT: the same
 * @DRM_RKNPU_GET_WT_RD_AMOUNT: the same
 * @DRM_RKNPU_GET_TOTAL_RW_AMOUNT: the same
 * @DRM_RKNPU_GET_IOMMU_EN: 1, or 0 without IOMMU
 * @DRM_RKNPU_SET_PROC_NICE: sets the nice value of the calling thread. If the caller
 *	lacks the permission the call succeeds and changes nothing
 * @DRM_RKNPU_POWER_ON: %EINVAL, as the vendor's 0.8.3 and later
 * @DRM_RKNPU_POWER_OFF: the same
 * @DRM_RKNPU_GET_TOTAL_SRAM_SIZE: 0: the driver uses no on-chip SRAM
 * @DRM_RKNPU_GET_FREE_SRAM_SIZE: 0
 * @DRM_RKNPU_GET_IOMMU_DOMAIN_ID: the domain that imported buffers go to
 * @DRM_RKNPU_SET_IOMMU_DOMAIN_ID: changes that, only for the address spaces of the
 *	calling process
 */
enum drm_rknpu_action_id {
	DRM_RKNPU_GET_HW_VERSION = 0,
	DRM_RKNPU_GET_DRV_VERSION = 1,
	DRM_RKNPU_GET_FREQ = 2,
	DRM_RKNPU_SET_FREQ = 3,
	DRM_RKNPU_GET_VOLT = 4,
	DRM_RKNPU_SET_VOLT = 5,
	DRM_RKNPU_RESET = 6,
	DRM_RKNPU_GET_BW_PRIORITY = 7,
	DRM_RKNPU_SET_BW_PRIORITY = 8,
	DRM_RKNPU_GET_BW_EXPECT = 9,
	DRM_RKNPU_SET_BW_EXPECT = 10,
	DRM_RKNPU_GET_BW_TW = 11,
	DRM_RKNPU_SET_BW_TW = 12,
	DRM_RKNPU_CLEAR_TOTAL_RW_AMOUNT = 13,
	DRM_RKNPU_GET_DT_WR_AMOUNT = 14,
	DRM_RKNPU_GET_DT_RD_AMOUNT = 15,
	DRM_RKNPU_GET_WT_RD_AMOUNT = 16,
	DRM_RKNPU_GET_TOTAL_RW_AMOUNT = 17,
	DRM_RKNPU_GET_IOMMU_EN = 18,
	DRM_RKNPU_SET_PROC_NICE = 19,
	DRM_RKNPU_POWER_ON = 20,
	DRM_RKNPU_POWER_OFF = 21,
	DRM_RKNPU_GET_TOTAL_SRAM_SIZE = 22,
	DRM_RKNPU_GET_FREE_SRAM_SIZE = 23,
	DRM_RKNPU_GET_IOMMU_DOMAIN_ID = 24,
	DRM_RKNPU_SET_IOMMU_DOMAIN_ID = 25,
};

/**
 * struct drm_rknpu_action - query or setting
 * @flags: in: &enum drm_rknpu_action_id; %EINVAL for any other value
 * @value: in or out, as the action says
 *
 * Argument of %DRM_IOCTL_RKNPU_ACTION.
 */
struct drm_rknpu_action {
	__u32 flags;
	__u32 value;
};

/**
 * define DRM_RKNPU_MEM_NON_CONTIGUOUS - memory need not be physically contiguous
 *
 * In &drm_rknpu_mem_create.flags, as those that follow. Without effect: memory is never
 * physically contiguous, the IOMMU makes it look so.
 */
#define DRM_RKNPU_MEM_NON_CONTIGUOUS	(1u << 0)
/**
 * define DRM_RKNPU_MEM_CACHEABLE - the CPU maps it cached
 *
 * %DRM_IOCTL_RKNPU_MEM_SYNC may be used on it.
 */
#define DRM_RKNPU_MEM_CACHEABLE		(1u << 1)
/**
 * define DRM_RKNPU_MEM_WRITE_COMBINE - the CPU maps it write-combined
 *
 * So does it with neither this bit nor %DRM_RKNPU_MEM_CACHEABLE (vendor: as device
 * memory).
 */
#define DRM_RKNPU_MEM_WRITE_COMBINE	(1u << 2)
/**
 * define DRM_RKNPU_MEM_KERNEL_MAPPING - the kernel maps it
 *
 * Required of task buffers that are not imported.
 */
#define DRM_RKNPU_MEM_KERNEL_MAPPING	(1u << 3)
/**
 * define DRM_RKNPU_MEM_IOMMU - without effect
 */
#define DRM_RKNPU_MEM_IOMMU		(1u << 4)
/**
 * define DRM_RKNPU_MEM_ZEROING - without effect: memory is always zeroed
 */
#define DRM_RKNPU_MEM_ZEROING		(1u << 5)
/**
 * define DRM_RKNPU_MEM_SECURE - without effect
 */
#define DRM_RKNPU_MEM_SECURE		(1u << 6)
/**
 * define DRM_RKNPU_MEM_DMA32 - without effect: addresses are always below 4 GiB
 */
#define DRM_RKNPU_MEM_DMA32		(1u << 7)
/**
 * define DRM_RKNPU_MEM_TRY_ALLOC_SRAM - without effect: &drm_rknpu_mem_create.sram_size is 0
 */
#define DRM_RKNPU_MEM_TRY_ALLOC_SRAM	(1u << 8)
/**
 * define DRM_RKNPU_MEM_TRY_ALLOC_NBUF - without effect
 */
#define DRM_RKNPU_MEM_TRY_ALLOC_NBUF	(1u << 9)
/**
 * define DRM_RKNPU_MEM_LIMIT_IOVA_ALIGNMENT - without effect: addresses are page aligned
 */
#define DRM_RKNPU_MEM_LIMIT_IOVA_ALIGNMENT	(1u << 10)

/**
 * struct drm_rknpu_mem_create - allocate memory, or ask about an object
 * @handle: in: 0 to allocate, or a handle of this file to ask about; out: handle
 * @flags: in: OR of ``DRM_RKNPU_MEM_*``; unknown bits are ignored
 * @size: in: bytes, not 0; out: rounded up to pages
 * @obj_addr: out: what SUBMIT and MEM_SYNC call this object. A number that
 *	means something only in this file (vendor: a kernel address)
 * @dma_addr: out: IOVA, below 4 GiB
 * @sram_size: since 0.8.0; out: 0
 * @iommu_domain_id: since 0.9.6; in: 0 to 15, which address space of the process
 * @core_mask: since 0.9.7; ignored
 *
 * Argument of %DRM_IOCTL_RKNPU_MEM_CREATE. A nonzero handle that this file does not
 * have allocates, too. Callers of older versions send 32 or 40 bytes; what is missing
 * counts as 0.
 *
 * Errors:
 *
 * - %EINVAL: @size is 0, or @iommu_domain_id is not 0 to 15.
 * - %ENOMEM: no memory, or more than BOs may take.
 * - %EFAULT: no room in the 4 GiB of the address space.
 */
struct drm_rknpu_mem_create {
	__u32 handle;
	__u32 flags;
	__u64 size;
	__u64 obj_addr;
	__u64 dma_addr;
	__u64 sram_size;
	__s32 iommu_domain_id;
	__u32 core_mask;
};

/**
 * struct drm_rknpu_mem_map - where to mmap() an object
 * @handle: in: handle
 * @reserved: ignored
 * @offset: out: for mmap()
 *
 * Argument of %DRM_IOCTL_RKNPU_MEM_MAP.
 *
 * Errors:
 *
 * - %ENOENT: no such handle.
 * - %EINVAL: the object was imported; map its dma-buf instead.
 */
struct drm_rknpu_mem_map {
	__u32 handle;
	__u32 reserved;
	__u64 offset;
};

/**
 * struct drm_rknpu_mem_destroy - drop a handle
 * @handle: in: handle
 * @reserved: ignored
 * @obj_addr: ignored
 *
 * Argument of %DRM_IOCTL_RKNPU_MEM_DESTROY. The memory stays while it is mapped,
 * exported, or used by a job.
 *
 * Errors:
 *
 * - %EINVAL: no such handle.
 */
struct drm_rknpu_mem_destroy {
	__u32 handle;
	__u32 reserved;
	__u64 obj_addr;
};

/**
 * define DRM_RKNPU_MEM_SYNC_TO_DEVICE - clean caches: the CPU wrote, the NPU will read
 *
 * In &drm_rknpu_mem_sync.flags.
 */
#define DRM_RKNPU_MEM_SYNC_TO_DEVICE	(1u << 0)
/**
 * define DRM_RKNPU_MEM_SYNC_FROM_DEVICE - invalidate caches: the NPU wrote, the CPU will read
 *
 * In &drm_rknpu_mem_sync.flags.
 */
#define DRM_RKNPU_MEM_SYNC_FROM_DEVICE	(1u << 1)

/**
 * struct drm_rknpu_mem_sync - maintain caches for a part of an object
 * @flags: in: OR of ``DRM_RKNPU_MEM_SYNC_*``; 0 does nothing
 * @reserved: ignored
 * @obj_addr: in: from MEM_CREATE in this file
 * @offset: in: first byte
 * @size: in: bytes
 *
 * Argument of %DRM_IOCTL_RKNPU_MEM_SYNC. The exporter syncs an imported object as a
 * whole (vendor: %EINVAL).
 *
 * Errors:
 *
 * - %EINVAL: no such object in this file, the range is not inside it, or the CPU maps
 *   it uncached.
 */
struct drm_rknpu_mem_sync {
	__u32 flags;
	__u32 reserved;
	__u64 obj_addr;
	__u64 offset;
	__u64 size;
};

/**
 * define DRM_RKNPU_JOB_PC - the program controller runs the tasks
 *
 * In &drm_rknpu_submit.flags, as those that follow. Required.
 */
#define DRM_RKNPU_JOB_PC		(1u << 0)
/**
 * define DRM_RKNPU_JOB_NONBLOCK - do not wait for the job
 *
 * Only a fence tells how the job ends, see %DRM_RKNPU_JOB_FENCE_OUT.
 */
#define DRM_RKNPU_JOB_NONBLOCK		(1u << 1)
/**
 * define DRM_RKNPU_JOB_PINGPONG - a program may be fetched while the one before executes
 */
#define DRM_RKNPU_JOB_PINGPONG		(1u << 2)
/**
 * define DRM_RKNPU_JOB_FENCE_IN - start after &drm_rknpu_submit.fence_fd has signalled
 */
#define DRM_RKNPU_JOB_FENCE_IN		(1u << 3)
/**
 * define DRM_RKNPU_JOB_FENCE_OUT - return a sync_file in &drm_rknpu_submit.fence_fd
 */
#define DRM_RKNPU_JOB_FENCE_OUT		(1u << 4)

/**
 * struct drm_rknpu_subcore_task - which tasks of the buffer a core runs
 * @task_start: index of the first task
 * @task_number: number of tasks; they are chained in memory
 *
 * One slice: an element of &drm_rknpu_submit.subcore_task.
 */
struct drm_rknpu_subcore_task {
	__u32 task_start;
	__u32 task_number;
};

/**
 * struct drm_rknpu_submit - run the tasks of a task buffer
 * @flags: in: OR of ``DRM_RKNPU_JOB_*``; unknown bits are ignored
 * @timeout: in: ms for all tasks, from when the hardware starts; 0 counts as 1. The
 *	administrator limits what a task and a job may take; more counts as the limit
 * @task_start: in: index of the first task on an NPU of one core; else ignored
 * @task_number: in: not 0: the number of tasks on an NPU of one core; else only echoed in
 *	@task_counter
 * @task_counter: out: @task_number, or how many tasks were completed if the job failed
 * @priority: ignored, as by the vendor's driver
 * @task_obj_addr: in: obj_addr of a buffer of struct drm_rknpu_task
 * @iommu_domain_id: in: 0 to 15: the address space that the job runs in; or the low half of
 *	obj_addr of a buffer of this file, which stands for 0, as clients made for drivers
 *	before 0.9.6 pass it
 * @reserved: in: the high half of that, else ignored
 * @task_base_addr: in: the hardware adds the low 32 bits to addresses of the programs
 * @hw_elapse_time: out: ns from start to end
 * @core_mask: in: 0 for any core that has a slice, or 1, 2, 4, 3 or 7; %EINVAL for
 *	others; out: the core that was chosen
 * @fence_fd: sync_file; in with %DRM_RKNPU_JOB_FENCE_IN, out with
 *	%DRM_RKNPU_JOB_FENCE_OUT
 * @subcore_task: in: slices. A job of one or two cores uses the element of each core's
 *	number, one of three cores the elements 2, 3 and 4. Ignored on an NPU of one core
 *
 * Argument of %DRM_IOCTL_RKNPU_SUBMIT. Without %DRM_RKNPU_JOB_NONBLOCK it returns when
 * the job is over. The struct is copied back in all cases.
 *
 * Errors:
 *
 * - %EINVAL: a field is out of its limits, or a slice reaches beyond the buffer.
 * - %ETIMEDOUT: the job ran out of time.
 * - %EFAULT: the job accessed what is not mapped.
 * - %EIO: bus error.
 * - %ECANCELED: %DRM_RKNPU_RESET ended the job.
 * - %EPIPE: too many jobs of the file or of its user have failed.
 * - %EBUSY: the file or its user has too many jobs that are not over; poll() of the file
 *   waits for room. Or they wait for too many fences; poll() does not wait for that.
 * - %ENOMEM: no memory.
 * - %EMFILE: no file descriptor is left for @fence_fd.
 * - %ENODEV: the device went away.
 * - %EINTR: the caller was killed, or interrupted before anything was queued.
 */
struct drm_rknpu_submit {
	__u32 flags;
	__u32 timeout;
	__u32 task_start;
	__u32 task_number;
	__u32 task_counter;
	__s32 priority;
	__u64 task_obj_addr;
	__u32 iommu_domain_id;
	__u32 reserved;
	__u64 task_base_addr;
	__s64 hw_elapse_time;
	__u32 core_mask;
	__s32 fence_fd;
	struct drm_rknpu_subcore_task subcore_task[DRM_RKNPU_SUBCORES];
};

/**
 * struct drm_rknpu_task - one task in a task buffer
 * @flags: ignored
 * @op_idx: ignored
 * @enable_mask: ignored: the program says which units run
 * @int_mask: of the last task of a slice: the interrupts that all must come,
 *	either one of each pair
 * @int_clear: ignored
 * @int_status: out: written for the last task of a slice of a blocking job
 * @regcfg_amount: number of 64-bit commands before the four that end a program; with those
 *	at most %DRM_ROCKET_PARAM_MAX_REGCMDS
 * @regcfg_offset: ignored
 * @regcmd_addr: IOVA of the program, 8-byte aligned; see &drm_rocket_task.regcmd
 *
 * Element of the buffer that &drm_rknpu_submit.task_obj_addr names. Programs lead to each
 * other, so the driver looks at the first and the last task of a slice alone, or of as many
 * of its tasks as the hardware counts. It copies what it uses when the job is submitted.
 */
struct drm_rknpu_task {
	__u32 flags;
	__u32 op_idx;
	__u32 enable_mask;
	__u32 int_mask;
	__u32 int_clear;
	__u32 int_status;
	__u32 regcfg_amount;
	__u32 regcfg_offset;
	__u64 regcmd_addr;
} __attribute__((packed));

#define DRM_IOCTL_RKNPU_ACTION \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_ACTION, struct drm_rknpu_action)
#define DRM_IOCTL_RKNPU_SUBMIT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_SUBMIT, struct drm_rknpu_submit)
#define DRM_IOCTL_RKNPU_MEM_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_MEM_CREATE, struct drm_rknpu_mem_create)
#define DRM_IOCTL_RKNPU_MEM_MAP \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_MEM_MAP, struct drm_rknpu_mem_map)
#define DRM_IOCTL_RKNPU_MEM_DESTROY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_MEM_DESTROY, struct drm_rknpu_mem_destroy)
#define DRM_IOCTL_RKNPU_MEM_SYNC \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_MEM_SYNC, struct drm_rknpu_mem_sync)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_RKNPU_DRM_H_ */
