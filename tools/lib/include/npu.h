/* SPDX-License-Identifier: MIT */
/*
 * Owns the public interface of libnpu: devices, buffers, checked register programs,
 * matrix products and convolutions on the RK3588 NPU.
 */
#ifndef NPU_H
#define NPU_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include "npu_regs.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Conventions
 *
 * Functions that can fail return 0 or a negative errno. They write results through
 * pointers only on success.
 *
 * Matrices are dense and row-major unless a leading dimension says otherwise. fp16
 * values are IEEE binary16 bit patterns in uint16_t.
 *
 * A device and everything made from it belong to one thread at a time. Different
 * threads may use different devices.
 *
 * Opaque types: ``struct npu_dev`` is one open file of the node, with its own address
 * space; ``struct npu_prog`` is a register program under construction; ``struct
 * npu_job`` is one product or convolution.
 */

/**
 * DOC: Register programs
 *
 * A program is a list of 64-bit entries {block, value, register}. npu_prog_field()
 * stages field values in a register image that starts at 0, and npu_prog_emit()
 * appends one register of the image. A value that does not fit its field makes the
 * program bad: every later call returns the same error, and npu_prog_message() names
 * the field, the value and the limit. No value is ever masked to fit.
 */

/**
 * DOC: Beyond mainline's interface
 *
 * npu_param(), npu_submit_ext(), npu_wait_job(), syncobjs, ranges and dma-bufs need
 * more than mainline's driver offers; rknpu_accel has it on its node "rocket". On
 * another driver these functions either do the same in a plainer way, where their
 * description says so, or return -EOPNOTSUPP.
 */

/* ---- device ------------------------------------------------------------ */

struct npu_dev;

/**
 * struct npu_version - what DRM_IOCTL_VERSION says about the driver
 */
struct npu_version {
	/** @major: interface version; mainline's is 1 */
	/** @minor: grows when ioctls or flags are added */
	/** @patch: grows with fixes */
	int major, minor, patch;
	/** @name: "rocket", or "rknpu" for the vendor's interface */
	char name[32];
	/** @desc: description of the driver */
	char desc[64];
};

/**
 * npu_open - open an NPU
 * @path: device node, or NULL to search
 * @out: the device on success
 *
 * If @path is NULL the environment variable ``NPU_DEVICE`` names the node. If that is not
 * set either, the function takes the first node of ``/dev/accel/`` and then of
 * ``/dev/dri/`` (kernels without DRM_ACCEL) whose DRM driver is named "rocket", and then
 * the first one named "rknpu", which has the interface of Rockchip's own driver. The
 * environment variable ``NPU_UAPI``, "rocket" or "rknpu", restricts the search to one of
 * the two.
 *
 * Each call opens a new file, and with it a new address space: buffers of one device do
 * not exist in another.
 *
 * Return: 0, -ENODEV when no node belongs to the driver, or the errno of the
 * open() or ioctl() that failed.
 */
int npu_open(const char *path, struct npu_dev **out);

/**
 * npu_close - close a device
 * @dev: device, or NULL
 *
 * Free its buffers and jobs first. The driver cancels jobs that are still queued.
 */
void npu_close(struct npu_dev *dev);

/**
 * npu_fd - file descriptor of a device
 * @dev: device
 *
 * Return: the descriptor; the device owns it.
 */
int npu_fd(const struct npu_dev *dev);

/**
 * npu_path - the node that a device was opened from
 * @dev: device
 *
 * Return: the path; valid while the device is.
 */
const char *npu_path(const struct npu_dev *dev);

/**
 * npu_version - ask the driver for its name and version
 * @dev: device
 * @v: filled on success; strings are cut to fit and always terminated
 *
 * Return: 0 or a negative errno.
 */
int npu_version(const struct npu_dev *dev, struct npu_version *v);

/* ---- buffers ----------------------------------------------------------- */

/**
 * struct npu_bo - memory that CPU and NPU share; read-only for callers
 */
struct npu_bo {
	/** @dev: device whose address space holds the buffer */
	struct npu_dev *dev;
	/** @handle: GEM handle in that file */
	uint32_t handle;
	/** @iova: address the NPU sees, page aligned, the end is below 4 GiB */
	uint64_t iova;
	/** @offset: mmap() offset */
	uint64_t offset;
	/** @size: bytes asked for */
	size_t size;
	/** @map: CPU address once npu_bo_map() was called, else NULL */
	void *map;
};

/**
 * npu_bo_alloc - allocate a buffer
 * @dev: device
 * @size: bytes, 1 to 2 GiB - 4096
 * @out: the buffer; its content is zero
 *
 * Return: 0, -EINVAL for a size out of range, -ENOMEM, or another errno of
 * the driver.
 */
int npu_bo_alloc(struct npu_dev *dev, size_t size, struct npu_bo **out);

/**
 * npu_bo_free - unmap a buffer and drop its handle
 * @bo: buffer, or NULL
 *
 * A job that uses the buffer keeps the memory until the job is over.
 */
void npu_bo_free(struct npu_bo *bo);

/**
 * npu_bo_map - CPU address of a buffer
 * @bo: buffer
 *
 * The mapping is cached and shared, and lives until npu_bo_free(). Further calls return
 * the same address. Access the memory between npu_bo_prep() and npu_bo_fini(). Before the
 * first job uses the buffer only npu_bo_fini() is needed, after writing.
 *
 * Return: the address, or NULL with errno set.
 */
void *npu_bo_map(struct npu_bo *bo);

/**
 * npu_bo_prep - wait until jobs are done with a buffer, then read it safely
 * @bo: buffer
 * @timeout_ns: relative, in ns; 0 = only look, negative = no limit
 *
 * Return: 0; -EBUSY (@timeout_ns 0) or -ETIMEDOUT while the buffer is in use; or the
 * error of the job that last wrote it, see npu_cause_of_errno(). mainline's driver never
 * reports the latter.
 */
int npu_bo_prep(struct npu_bo *bo, int64_t timeout_ns);

/**
 * npu_bo_prep_until - npu_bo_prep() with an absolute limit
 * @bo: buffer
 * @deadline_ns: CLOCK_MONOTONIC in ns, INT64_MAX = no limit
 *
 * The function continues interrupted waits.
 *
 * Return: as npu_bo_prep().
 */
int npu_bo_prep_until(struct npu_bo *bo, int64_t deadline_ns);

/**
 * npu_bo_fini - hand a buffer to the NPU after the CPU wrote it
 * @bo: buffer
 *
 * Return: 0 or a negative errno.
 */
int npu_bo_fini(struct npu_bo *bo);

/* ---- register programs -------------------------------------------------- */

struct npu_prog;

/**
 * npu_prog_new - an empty program
 *
 * Return: the program, or NULL when out of memory.
 */
struct npu_prog *npu_prog_new(void);

/**
 * npu_prog_free - free a program
 * @p: program, or NULL
 */
void npu_prog_free(struct npu_prog *p);

/**
 * npu_prog_reset - make a program empty and good again
 * @p: program
 */
void npu_prog_reset(struct npu_prog *p);

/**
 * npu_prog_field - stage one field
 * @p: program
 * @f: ``NPU_F_*`` from npu_regs.h
 * @value: in the field's own units, see npu_regs.h: a count for fields the
 *         hardware stores minus one, bytes for fields stored in units of 16
 *
 * Return: 0, -ERANGE when @value does not fit or is not a multiple of the
 * unit, -EINVAL for an unknown field, or the first error of this program.
 */
int npu_prog_field(struct npu_prog *p, enum npu_field_id f, int64_t value);

/**
 * npu_prog_emit - append one register with its staged value
 * @p: program
 * @r: ``NPU_R_*``
 *
 * Return: 0, -EINVAL, -ENOMEM, or the first error of this program.
 */
int npu_prog_emit(struct npu_prog *p, enum npu_reg_id r);

/**
 * npu_prog_raw - append an arbitrary entry, for tests of hostile programs
 * @p: program
 * @target: bits 63:48
 * @reg: bits 15:0
 * @value: bits 47:16
 *
 * Return: 0, -ENOMEM, or the first error of this program.
 */
int npu_prog_raw(struct npu_prog *p, uint16_t target, uint16_t reg, uint32_t value);

/**
 * npu_prog_finish - close the last task
 * @p: program
 * @enable: blocks to start, OR of ``NPU_EN_*``
 *
 * Pads to an even number of entries, because the hardware fetches pairs, then appends the
 * tail: next address 0, next amount 0, marker, operation enable.
 *
 * Return: 0, -EINVAL when there are no entries, -ENOMEM, or the first error.
 */
int npu_prog_finish(struct npu_prog *p, uint32_t enable);

/**
 * npu_prog_entries - the entries of a program
 * @p: program
 *
 * Return: the entries; valid until the program changes.
 */
const uint64_t *npu_prog_entries(const struct npu_prog *p);

/**
 * npu_prog_count - number of entries
 * @p: program
 *
 * Return: entries of all tasks, gaps between tasks included.
 */
size_t npu_prog_count(const struct npu_prog *p);

/**
 * npu_prog_ntasks - number of finished tasks
 * @p: program
 *
 * Return: tasks closed by npu_prog_finish().
 */
size_t npu_prog_ntasks(const struct npu_prog *p);

/**
 * npu_prog_task - where a finished task lies among the entries
 * @p: program
 * @i: index below npu_prog_ntasks()
 * @first: first entry, a multiple of 8 (tasks start at 64 bytes)
 * @count: entries, tail included; what struct npu_task wants
 */
void npu_prog_task(const struct npu_prog *p, size_t i, size_t *first, size_t *count);

/**
 * npu_prog_error - the state of a program
 * @p: program
 *
 * Return: 0, or the first error as a negative errno.
 */
int npu_prog_error(const struct npu_prog *p);

/**
 * npu_prog_message - the first error in words
 * @p: program
 *
 * Return: the message, "" when there is none; valid until npu_prog_reset().
 */
const char *npu_prog_message(const struct npu_prog *p);

/**
 * enum npu_prec - element types as every block encodes them
 * @NPU_PREC_INT8: 8-bit two's complement
 * @NPU_PREC_FP16: IEEE binary16
 * @NPU_PREC_INT32: 32-bit two's complement, results only
 * @NPU_PREC_FP32: IEEE binary32, results only
 */
enum npu_prec {
	NPU_PREC_INT8 = 0,
	NPU_PREC_FP16 = 2,
	NPU_PREC_INT32 = 4,
	NPU_PREC_FP32 = 5,
};

/**
 * struct npu_requant - how int32 becomes int8
 *
 * y = sat8(round(acc * scale / 2^shift) + zp). Ties round to even: measured on RK3576
 * silicon; on RK3588 by the register's definition.
 */
struct npu_requant {
	/** @scale: 1 to 32767; above that the sign of the operand is unknown */
	uint16_t scale;
	/** @shift: 0 to 47 */
	uint8_t shift;
	/** @zp: zero point of the result, -128 to 127 */
	int32_t zp;
};

/**
 * npu_requant_from_double - nearest scale and shift for a real factor
 * @factor: input scale times weight scale by output scale, 2^-32 to 16383
 * @zp: zero point of the result
 * @rq: filled; scale has 15 significant bits
 *
 * Return: 0 or -ERANGE.
 */
int npu_requant_from_double(double factor, int32_t zp, struct npu_requant *rq);

/**
 * npu_requant_apply - what the NPU does with one accumulator, on the CPU
 * @rq: scale, shift and zero point in range
 * @acc: accumulator with bias, 32 bits on the NPU
 *
 * Return: the int8 result.
 */
int8_t npu_requant_apply(const struct npu_requant *rq, int64_t acc);

/**
 * struct npu_conv_task - one task of a direct convolution as the NPU sees it
 *
 * Sizes are in elements and positions; channel counts are those stored in memory. A
 * matrix product C[M,N] = A[M,K] * B[N,K]^T is the case in_w = 1, in_h = M, in_c = K,
 * out_c = N with a 1x1 kernel.
 */
struct npu_conv_task {
	/** @in: NPU_PREC_INT8 or NPU_PREC_FP16 */
	enum npu_prec in;
	/** @out: INT8 or INT32 for INT8, FP16 or FP32 for FP16 */
	enum npu_prec out;
	/** @in_w: width this task reads, 1 to 2047 */
	/** @in_h: height this task reads, 1 to 1022 */
	uint32_t in_w, in_h;
	/** @in_c: multiple of 32 */
	uint32_t in_c;
	/** @in_h_full: height of the whole tensor, gives the surface pitch */
	uint32_t in_h_full;
	/** @out_w: width this task writes */
	/** @out_h: height this task writes */
	uint32_t out_w, out_h;
	/** @out_h_full: height of the whole result */
	uint32_t out_h_full;
	/** @out_c: multiple of 32 (int8) or 16 (fp16), to 8192 */
	uint32_t out_c;
	/** @kw: kernel width, 1 to 31 */
	/** @kh: kernel height, 1 to 31 */
	uint32_t kw, kh;
	/** @stride_x: 1 to 7 */
	/** @stride_y: 1 to 7 */
	uint32_t stride_x, stride_y;
	/** @dil_x: dilation, 1 to 32 */
	/** @dil_y: dilation, 1 to 32 */
	uint32_t dil_x, dil_y;
	/** @pad_left: 0 to 15; the right side follows from the sizes */
	/** @pad_top: 0 to 15; the bottom follows from the sizes */
	uint32_t pad_left, pad_top;
	/** @pad_value: element that stands for positions outside */
	int32_t pad_value;
	/** @weight_zp: subtracted from every weight, int8 only, -128 to 127 */
	int32_t weight_zp;
	/** @in_iova: features, 16-byte aligned, below 4 GiB */
	/** @weight_iova: weights, 16-byte aligned, below 4 GiB */
	/** @out_iova: result, 16-byte aligned, below 4 GiB */
	uint64_t in_iova, weight_iova, out_iova;
	/**
	 * @has_bias: add one word per output channel: int32 for an int8 result, fp32
	 * for fp16 operands. A flag of its own, because in-tree rocket hands out IOVA 0
	 */
	bool has_bias;
	/** @bias_iova: the bias, used when @has_bias */
	uint64_t bias_iova;
	/** @rq: requantisation, int8 result only */
	struct npu_requant rq;
	/**
	 * @no_rdma: leave the DPU_RDMA block out (enable mask 0x0d and 108 entries,
	 * the vendor's form); only without bias. The default is the form that is
	 * known to work under the rocket driver, with every feed disabled.
	 */
	bool no_rdma;
	/** @relu: results below 0 (before requantisation) become 0 */
	bool relu;
};

/**
 * npu_prog_conv - append one whole task, tail included
 * @p: program; entries already there are kept
 * @t: task
 *
 * Sources of the facts: TRM chapter 36, the matmul program published by mtx512, and
 * Mesa's rocket driver.
 *
 * Return: 0, -EINVAL for a combination that the hardware has no mode for, -E2BIG
 * if the task does not fit the convolution buffer, -ERANGE if a field overflows;
 * npu_prog_message() says which.
 */
int npu_prog_conv(struct npu_prog *p, const struct npu_conv_task *t);

/**
 * npu_matmul_task - fill a task for C[M,N] = A[M,K] * B[N,K]^T
 * @t: filled; set the addresses (and rq) afterwards
 * @in: type of A and B
 * @out: type of C
 * @m: 1 or a multiple of 4
 * @n: multiple of 32 (int8) or 16 (fp16)
 * @k: multiple of 32
 *
 * Sizes of the three buffers: m*k, n*k and m*n elements, laid out by
 * npu_pack_feature(), npu_pack_weights() and npu_unpack_feature().
 */
void npu_matmul_task(struct npu_conv_task *t, enum npu_prec in, enum npu_prec out,
		     uint32_t m, uint32_t n, uint32_t k);

/* ---- submission ---------------------------------------------------------- */

/**
 * struct npu_task - where one register program lies
 */
struct npu_task {
	/** @regcmd: IOVA of the first entry, 16-byte aligned */
	uint32_t regcmd;
	/** @count: entries, tail included */
	uint32_t count;
};

/**
 * struct npu_hwjob - tasks that run in order on one core
 */
struct npu_hwjob {
	/** @tasks: what to run, in order */
	/** @ntasks: elements of @tasks, at least 1 */
	const struct npu_task *tasks;
	uint32_t ntasks;
	/** @in: buffers the job reads; it waits for their writers */
	/** @nin: elements of @in */
	struct npu_bo *const *in;
	uint32_t nin;
	/** @out: buffers the job writes; it waits for all their users */
	/** @nout: elements of @out */
	struct npu_bo *const *out;
	uint32_t nout;
};

/**
 * npu_submit - queue jobs
 * @dev: device all buffers belong to
 * @jobs: jobs; those that share no output may run on several cores at once
 * @njobs: elements of @jobs
 *
 * Return: 0 or a negative errno of the driver.
 */
int npu_submit(struct npu_dev *dev, const struct npu_hwjob *jobs, uint32_t njobs);

/* ---- beyond mainline's interface ---------------------------------------- */

/**
 * npu_param - ask what driver and hardware can do
 * @dev: device
 * @param: ``DRM_ROCKET_PARAM_*`` from drm/rocket_accel.h
 * @index: core number for DRM_ROCKET_PARAM_HW_VERSION, else 0
 * @value: the answer
 *
 * Return: 0, -EINVAL for a parameter or index that is not known, -ENODEV for a
 * core that is not there, -EOPNOTSUPP.
 */
int npu_param(struct npu_dev *dev, uint32_t param, uint32_t index, uint64_t *value);

/**
 * npu_features - DRM_ROCKET_PARAM_FEATURES, asked once
 * @dev: device
 *
 * Return: OR of ``DRM_ROCKET_FEATURE_*``, 0 on another driver.
 */
uint64_t npu_features(struct npu_dev *dev);

/**
 * struct npu_sync - a syncobj, or a point of its timeline
 */
struct npu_sync {
	/** @handle: from npu_sync_create() */
	uint32_t handle;
	/** @zero: must be 0 */
	uint32_t zero;
	/** @point: point of the timeline, 0 = binary */
	uint64_t point;
};

/**
 * struct npu_job_opts - options of a job; all zero = defaults
 */
struct npu_job_opts {
	/** @flags: ``DRM_ROCKET_JOB_*`` */
	uint32_t flags;
	/** @core_mask: cores that may run it, 0 = any */
	uint32_t core_mask;
	/** @priority: ``DRM_ROCKET_PRIORITY_*`` */
	uint32_t priority;
	/** @timeout_ns: how long one task may take, 0 = the driver's default */
	uint64_t timeout_ns;
	/** @wait: syncobjs that the job waits for */
	/** @nwait: elements of @wait */
	const struct npu_sync *wait;
	uint32_t nwait;
	/** @signal: syncobjs that get a fence, which signals when the job is over */
	/** @nsignal: elements of @signal */
	const struct npu_sync *signal;
	uint32_t nsignal;
};

/**
 * npu_submit_ext - queue jobs with options
 * @dev: device all buffers belong to
 * @jobs: jobs
 * @opts: one per job, or NULL
 * @njobs: elements of @jobs and @opts
 * @first: number of the first job for npu_wait_job(), the others' follow; 0
 *         if the driver does not number jobs
 *
 * On a driver that knows no options it does what npu_submit() does, if @opts asks for
 * none.
 *
 * Return: 0, a negative errno of the driver, -EOPNOTSUPP.
 */
int npu_submit_ext(struct npu_dev *dev, const struct npu_hwjob *jobs,
		   const struct npu_job_opts *opts, uint32_t njobs, uint64_t *first);

/**
 * struct npu_result - how a job ended
 */
struct npu_result {
	/** @cause: ``DRM_ROCKET_CAUSE_*`` */
	uint32_t cause;
	/** @err: 0 or the negative errno that npu_bo_prep() reports for it */
	int err;
	/** @core: core that it ran on last, -1 = none */
	int core;
	/** @task: number of tasks done, thus the index of the one that failed */
	uint32_t task;
	/** @fault_iova: address that was accessed, for DRM_ROCKET_CAUSE_IOMMU_FAULT */
	uint64_t fault_iova;
	/** @fault_write: the access was a write */
	bool fault_write;
	/** @elapsed_ns: how long it occupied a core */
	uint64_t elapsed_ns;
};

/**
 * npu_wait_job - wait for a job and learn how it ended
 * @dev: device
 * @number: from npu_submit_ext()
 * @timeout_ns: relative, in ns; 0 = only look, negative = no limit
 * @result: filled on success, also for a job that failed
 *
 * Return: 0; -EBUSY (@timeout_ns 0) or -ETIMEDOUT while it runs; -ENOENT if the
 * number is not among the newest 1024; -EOPNOTSUPP.
 */
int npu_wait_job(struct npu_dev *dev, uint64_t number, int64_t timeout_ns,
		 struct npu_result *result);

/**
 * npu_sync_create - make a syncobj
 * @dev: device
 * @signalled: whether it has a fence that has signalled, or none
 * @handle: its handle
 *
 * Return: 0, -EOPNOTSUPP, or another negative errno.
 */
int npu_sync_create(struct npu_dev *dev, bool signalled, uint32_t *handle);
/**
 * npu_sync_destroy - drop a syncobj's handle
 * @dev: device
 * @handle: handle
 *
 * Return: 0 or a negative errno.
 */
int npu_sync_destroy(struct npu_dev *dev, uint32_t handle);
/**
 * npu_sync_wait - wait until a syncobj's fence, or that of a point, has signalled
 * @dev: device
 * @sync: what to wait for
 * @timeout_ns: relative, in ns; 0 = only look, negative = no limit
 *
 * Return: 0, -ETIME after the timeout, -EINVAL while there is no fence.
 */
int npu_sync_wait(struct npu_dev *dev, const struct npu_sync *sync, int64_t timeout_ns);

/**
 * struct npu_range - part of a buffer
 */
struct npu_range {
	/** @offset: first byte */
	uint64_t offset;
	/** @size: bytes, at least 1 */
	uint64_t size;
};

/**
 * npu_bo_prep_ranges - npu_bo_prep() for parts of a buffer
 * @bo: buffer
 * @ranges: ascending, not overlapping, inside the buffer
 * @n: elements of @ranges, at most 1024; 0 = all of it
 * @timeout_ns: as npu_bo_prep()
 *
 * Afterwards only the ranges can be read safely. On a driver that knows no ranges the
 * function prepares the whole buffer.
 *
 * Return: as npu_bo_prep(), and -EINVAL for bad ranges.
 */
int npu_bo_prep_ranges(struct npu_bo *bo, const struct npu_range *ranges, uint32_t n,
		       int64_t timeout_ns);
/**
 * npu_bo_fini_ranges - npu_bo_fini() for parts of a buffer
 * @bo: buffer
 * @ranges: everything that the CPU wrote, as for npu_bo_prep_ranges()
 * @n: elements of @ranges
 *
 * Return: 0, -EINVAL for bad ranges, or another negative errno.
 */
int npu_bo_fini_ranges(struct npu_bo *bo, const struct npu_range *ranges, uint32_t n);

/**
 * npu_bo_export - export a buffer as a dma-buf
 * @bo: buffer
 * @fd: file descriptor; the caller owns it
 *
 * Return: 0 or a negative errno.
 */
int npu_bo_export(struct npu_bo *bo, int *fd);
/**
 * npu_bo_import - use a dma-buf as a buffer
 * @dev: device
 * @fd: dma-buf; it can be closed afterwards
 * @out: the buffer; npu_bo_map() works if the memory is the NPU driver's own
 *
 * If the device already has the memory the new buffer gets the same handle: free only one
 * of the two.
 *
 * Return: 0, -EINVAL for memory that the NPU cannot use, -EOPNOTSUPP, or
 * another negative errno.
 */
int npu_bo_import(struct npu_dev *dev, int fd, struct npu_bo **out);

/**
 * enum npu_cause - how a job ended
 * @NPU_CAUSE_NONE: not started, or still running
 * @NPU_CAUSE_DONE: finished
 * @NPU_CAUSE_TIMEOUT: the core did not finish in time (ETIME)
 * @NPU_CAUSE_DMA_ERROR: bus error while reading or writing (EIO)
 * @NPU_CAUSE_IOMMU_FAULT: access to an unmapped address (EFAULT)
 * @NPU_CAUSE_CANCELLED: its file was closed before it was over (ECANCELED)
 * @NPU_CAUSE_DEVICE_GONE: the device was unbound (ENODEV)
 * @NPU_CAUSE_OTHER: any other error of the driver
 */
enum npu_cause {
	NPU_CAUSE_NONE,
	NPU_CAUSE_DONE,
	NPU_CAUSE_TIMEOUT,
	NPU_CAUSE_DMA_ERROR,
	NPU_CAUSE_IOMMU_FAULT,
	NPU_CAUSE_CANCELLED,
	NPU_CAUSE_DEVICE_GONE,
	NPU_CAUSE_OTHER,
};

/**
 * npu_cause_of_errno - cause that belongs to an error of npu_bo_prep()
 * @err: 0 or negative errno
 *
 * Return: the cause; NPU_CAUSE_NONE for an expired wait.
 */
enum npu_cause npu_cause_of_errno(int err);

/**
 * npu_strcause - a cause in words
 * @cause: any value
 *
 * Return: the words, never NULL.
 */
const char *npu_strcause(enum npu_cause cause);

/* ---- matrix products ----------------------------------------------------- */

/**
 * enum npu_dtype - operand and result types of a product
 * @NPU_INT8_INT32: int8 * int8 to int32, exact
 * @NPU_INT8_INT8: as NPU_INT8_INT32 plus bias, then requantised
 * @NPU_FP16_FP32: fp16 * fp16 to fp32
 * @NPU_FP16_FP16: as NPU_FP16_FP32, rounded to fp16
 */
enum npu_dtype {
	NPU_INT8_INT32,
	NPU_INT8_INT8,
	NPU_FP16_FP32,
	NPU_FP16_FP16,
};

/**
 * struct npu_matmul_desc - the product C[m,n] = A[m,k] * B
 */
struct npu_matmul_desc {
	/** @dtype: types of A, B and C */
	enum npu_dtype dtype;
	/** @m: rows of A and C, any number from 1 */
	/** @n: columns of C, any number from 1 */
	/** @k: columns of A, any number from 1 */
	uint32_t m, n, k;
	/** @b_is_kn: B is stored [k][n]; default [n][k], as weights are */
	bool b_is_kn;
	/** @lda: elements from row to row of A, 0 = dense */
	/** @ldb: elements from row to row of B as stored, 0 = dense */
	/** @ldc: elements from row to row of C, 0 = dense */
	size_t lda, ldb, ldc;
	/** @rq: NPU_INT8_INT8 only */
	struct npu_requant rq;
};

/**
 * struct npu_opts - how to split a product or convolution; NULL or all zero = defaults
 */
struct npu_opts {
	/**
	 * @jobs: split into at least this many jobs if the shape allows it;
	 * 0 = three when there is enough work for three cores
	 */
	uint32_t jobs;
	/** @max_job_macs: most multiply-accumulates in one job; 0 = default */
	uint64_t max_job_macs;
	/** @max_m: most rows per task, 0 = as many as fit; rounded to 4 */
	/** @max_n: most columns per task, 0 = 4096; rounded to the kernel group */
	/** @max_k: longest stretch of K per task, 0 = 4096; rounded to 32 */
	uint32_t max_m, max_n, max_k;
	/** @no_rdma: see struct npu_conv_task */
	bool no_rdma;
};

struct npu_job;

/**
 * struct npu_job_info - what a call was split into
 */
struct npu_job_info {
	/** @jobs: driver jobs */
	/** @tasks: hardware tasks in all jobs */
	uint32_t jobs, tasks;
	/** @k_parts: partial products summed on the CPU, 1 = none */
	uint32_t k_parts;
	/** @macs: multiply-accumulates including padding */
	uint64_t macs;
	/** @bytes: memory of all buffers */
	uint64_t bytes;
};

/**
 * npu_matmul_prepare - allocate, lay out and program a product
 * @dev: device
 * @desc: shapes and types
 * @a: operand, m rows of k; copied, not needed after the call
 * @b: operand, n rows of k (or k rows of n, see @desc); copied
 * @bias: n int32 values added before requantisation, or NULL
 * @c: result, written by the npu_sync() that returns 0
 * @opts: options or NULL
 * @out: the job, not started
 *
 * Shapes beyond one task are tiled. If K does not fit one task, the CPU sums partial
 * results in ascending k: in int32 modulo 2^32, or in fp32 rounded to nearest even after
 * each addition. NPU_FP16_FP16 then rounds the fp32 sum once to fp16; NPU_INT8_INT8
 * applies bias and requantisation to the int32 sum with npu_requant_apply().
 *
 * Return: 0, -EINVAL for a bad description, -ERANGE for a requantisation out
 * of range, -ENOMEM, or an errno of the driver.
 */
int npu_matmul_prepare(struct npu_dev *dev, const struct npu_matmul_desc *desc,
		       const void *a, const void *b, const int32_t *bias, void *c,
		       const struct npu_opts *opts, struct npu_job **out);

/**
 * npu_matmul_submit - npu_matmul_prepare() and npu_job_start() in one
 * @dev: device
 * @desc: shapes and types
 * @a: operand, m rows of k
 * @b: operand, n rows of k (or k rows of n, see @desc)
 * @bias: n int32 values, NPU_INT8_INT8 only, or NULL
 * @c: result, m rows of n
 * @opts: options or NULL
 *
 * Return: the job, or NULL with errno set.
 */
struct npu_job *npu_matmul_submit(struct npu_dev *dev, const struct npu_matmul_desc *desc,
				  const void *a, const void *b, const int32_t *bias,
				  void *c, const struct npu_opts *opts);

/**
 * npu_matmul_run - compute a whole product and wait for it
 * @dev: device
 * @desc: shapes and types
 * @a: operand, m rows of k
 * @b: operand, n rows of k (or k rows of n, see @desc)
 * @bias: n int32 values, NPU_INT8_INT8 only, or NULL
 * @c: result, m rows of n
 * @opts: options or NULL
 *
 * The function has no time limit; the driver has one per task.
 *
 * Return: 0 or a negative errno as from npu_matmul_prepare() and npu_sync().
 */
int npu_matmul_run(struct npu_dev *dev, const struct npu_matmul_desc *desc,
		   const void *a, const void *b, const int32_t *bias, void *c,
		   const struct npu_opts *opts);

/* ---- convolutions --------------------------------------------------------- */

/**
 * struct npu_conv_desc - direct int8 convolution with bias and requantisation
 *
 * Input [in_h][in_w][in_c], weights [out_c][kh][kw][in_c], result
 * [out_h][out_w][out_c], all int8 and dense. acc = bias + sum of
 * (x - in_zp) * (w - weight_zp); positions outside the input count as in_zp.
 */
struct npu_conv_desc {
	/** @in_w: input width, 1 to 2047 */
	/** @in_h: input height */
	/** @in_c: input channels, 1 to 8192 */
	uint32_t in_w, in_h, in_c;
	/** @out_c: kernels */
	uint32_t out_c;
	/** @kw: kernel width, 1 to 31 */
	/** @kh: kernel height, 1 to 31 */
	uint32_t kw, kh;
	/** @stride_x: 1 to 7 */
	/** @stride_y: 1 to 7 */
	uint32_t stride_x, stride_y;
	/** @dil_x: dilation, 1 to 32 */
	/** @dil_y: dilation, 1 to 32 */
	uint32_t dil_x, dil_y;
	/** @pad_left: 0 to 15, less than the dilated kernel */
	/** @pad_right: as @pad_left */
	/** @pad_top: as @pad_left */
	/** @pad_bottom: as @pad_left */
	uint32_t pad_left, pad_right, pad_top, pad_bottom;
	/** @in_zp: zero point of the input, -128 to 127 */
	/** @weight_zp: zero point of the weights, -128 to 127 */
	int32_t in_zp, weight_zp;
	/** @rq: result scale and zero point */
	struct npu_requant rq;
};

/**
 * npu_conv_out_w - width of the result
 * @desc: convolution
 *
 * Return: positions per row, 0 when the description is bad.
 */
uint32_t npu_conv_out_w(const struct npu_conv_desc *desc);
/**
 * npu_conv_out_h - height of the result
 * @desc: convolution
 *
 * Return: rows, 0 when the description is bad.
 */
uint32_t npu_conv_out_h(const struct npu_conv_desc *desc);

/**
 * npu_conv_prepare - allocate, lay out and program a convolution
 * @dev: device
 * @desc: shapes and types
 * @in: input; copied
 * @weights: kernels; copied
 * @bias: out_c int32 values, or NULL
 * @c: result, written by the npu_sync() that returns 0
 * @opts: options (max_m = output rows, max_n = kernels per task) or NULL
 * @out: the job, not started
 *
 * Tiled over output rows and kernels; one kernel and the input rows under it
 * must fit the convolution buffer.
 *
 * Return: 0, -EINVAL, -ERANGE, -E2BIG when one output row does not fit,
 * -ENOMEM, or an errno of the driver.
 */
int npu_conv_prepare(struct npu_dev *dev, const struct npu_conv_desc *desc,
		     const int8_t *in, const int8_t *weights, const int32_t *bias,
		     int8_t *c, const struct npu_opts *opts, struct npu_job **out);

/**
 * npu_conv_run - compute a whole convolution and wait for it
 * @dev: device
 * @desc: shapes and types
 * @in: input
 * @weights: kernels
 * @bias: out_c int32 values, or NULL
 * @c: result
 * @opts: options or NULL
 *
 * Return: 0 or a negative errno as from npu_conv_prepare() and npu_sync().
 */
int npu_conv_run(struct npu_dev *dev, const struct npu_conv_desc *desc,
		 const int8_t *in, const int8_t *weights, const int32_t *bias,
		 int8_t *c, const struct npu_opts *opts);

/* ---- jobs ----------------------------------------------------------------- */

/**
 * npu_job_start - queue a prepared job
 * @job: job that is not running
 *
 * May be called again after npu_sync() to run the same product once more.
 *
 * Return: 0, -EBUSY when it runs already, or an errno of the driver.
 */
int npu_job_start(struct npu_job *job);

/**
 * npu_sync - wait for a job and collect its result
 * @job: started job
 * @timeout_ns: relative, in ns; 0 = only look, negative = no limit
 *
 * Return: 0 with the result written; -ETIMEDOUT (-EBUSY with @timeout_ns 0) while it
 * runs, call again; -EINVAL if it was never started. Any other error is final:
 * npu_job_cause() names it, and the result is not written.
 */
int npu_sync(struct npu_job *job, int64_t timeout_ns);

/**
 * npu_job_cause - how a job ended
 * @job: job
 *
 * Return: the cause, NPU_CAUSE_NONE until npu_sync() knows.
 */
enum npu_cause npu_job_cause(const struct npu_job *job);

/**
 * npu_job_result - the driver's record of a job that failed
 * @job: job for which npu_sync() returned an error
 * @result: filled on success: the first of its driver jobs that failed
 *
 * Return: 0, -ENOENT if none failed or the driver has forgotten it, -EOPNOTSUPP.
 */
int npu_job_result(const struct npu_job *job, struct npu_result *result);

/**
 * npu_job_info - what a job was split into
 * @job: job
 * @info: filled
 */
void npu_job_info(const struct npu_job *job, struct npu_job_info *info);

/**
 * npu_job_free - free a job and its buffers
 * @job: job, or NULL
 *
 * Does not wait: a job that is still running goes on in the driver, and its result is
 * dropped.
 */
void npu_job_free(struct npu_job *job);

/* ---- layouts --------------------------------------------------------------- */

/**
 * npu_pack_feature - row-major [positions][channels] to NC1HWC2
 * @dst: [c_pad * bpe / 16][positions_pad][16 bytes], fully written
 * @src: row-major source
 * @ld: elements from position to position in @src
 * @bpe: bytes per element, 1, 2 or 4
 * @pos: positions of @src
 * @c: channels of @src
 * @pos_pad: positions of @dst
 * @c_pad: channels of @dst; c_pad * bpe is a multiple of 16
 * @fill: byte for the padding
 */
void npu_pack_feature(void *dst, const void *src, size_t ld, size_t bpe,
		      size_t pos, size_t c, size_t pos_pad, size_t c_pad, int fill);

/**
 * npu_unpack_feature - NC1HWC2 to row-major, the inverse of npu_pack_feature()
 * @dst: row-major, only [pos][c] is written
 * @ld: elements from position to position in @dst
 * @src: as npu_pack_feature() or the NPU left it
 * @bpe: bytes per element, 1, 2 or 4
 * @pos: positions wanted
 * @c: channels wanted
 * @pos_pad: positions @src holds
 */
void npu_unpack_feature(void *dst, size_t ld, const void *src, size_t bpe,
			size_t pos, size_t c, size_t pos_pad);

/**
 * npu_pack_weights - [kernels][taps][channels] to the order the NPU reads
 * @dst: n_pad * taps * c_pad elements, fully written
 * @src: element of kernel n, tap t, channel c at n * sn + t * st + c * sc
 * @sn: elements from kernel to kernel in @src
 * @st: elements from tap to tap in @src
 * @sc: elements from channel to channel in @src
 * @bpe: 1 (groups of 32 kernels) or 2 (groups of 16)
 * @n: kernels of @src
 * @taps: kernel height * width
 * @c: channels of @src
 * @n_pad: kernels of @dst, a multiple of the group
 * @c_pad: channels of @dst, a multiple of 32
 * @fill: byte for the padding
 *
 * Order: kernel group, channel group of 32, tap, kernel, channel.
 */
void npu_pack_weights(void *dst, const void *src, size_t sn, size_t st, size_t sc,
		      size_t bpe, size_t n, size_t taps, size_t c,
		      size_t n_pad, size_t c_pad, int fill);

/**
 * npu_feature_offset - where an element is in NC1HWC2
 * @bpe: bytes per element
 * @pos_pad: positions the tensor holds
 * @pos: position
 * @c: channel
 *
 * Return: offset in bytes.
 */
size_t npu_feature_offset(size_t bpe, size_t pos_pad, size_t pos, size_t c);

/**
 * npu_weight_offset - where an element is in the weight order
 * @bpe: bytes per element, 1 or 2
 * @taps: kernel height * width
 * @c_pad: channels stored, a multiple of 32
 * @n: kernel
 * @tap: ky * kernel width + kx
 * @c: channel
 *
 * Return: offset in bytes.
 */
size_t npu_weight_offset(size_t bpe, size_t taps, size_t c_pad,
			 size_t n, size_t tap, size_t c);

/* ---- fp16 ------------------------------------------------------------------ */

/**
 * npu_f32_to_f16 - convert to fp16, rounded to nearest even
 * @f: number; beyond the range becomes infinity, NaN stays NaN
 *
 * Return: fp16 bits.
 */
uint16_t npu_f32_to_f16(float f);
/**
 * npu_f64_to_f16 - as npu_f32_to_f16(), with one rounding from double
 * @d: number
 *
 * Return: fp16 bits.
 */
uint16_t npu_f64_to_f16(double d);
/**
 * npu_f16_to_f32 - convert fp16 to fp32, exactly
 * @h: fp16 bits
 *
 * Return: the same number.
 */
float npu_f16_to_f32(uint16_t h);

#ifdef __cplusplus
}
#endif

#include "npu_tensor.h"
#include "npu_rec.h"

#endif /* NPU_H */
