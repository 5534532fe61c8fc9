/* SPDX-License-Identifier: MIT */
/*
 * Owns the part of libnpu's interface for those who write register programs: buffers,
 * checked programs, tasks, jobs and their fences, layouts in memory.
 */
#ifndef NPU_PROG_H
#define NPU_PROG_H

#include "npu.h"
#include "npu_regs.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Register programs
 *
 * A program is a list of 64-bit entries {block, value, register}. npu_prog_field()
 * stages field values in a register image that starts at 0, and npu_prog_emit()
 * appends one register of the image. A value that does not fit its field makes the
 * program bad: every later call returns the same error, and npu_prog_message() names
 * the field, the value and the limit. No value is ever masked to fit.
 *
 * Opaque type: ``struct npu_prog`` is a register program under construction.
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

/**
 * npu_fd - file descriptor of a device
 * @dev: device
 *
 * Return: the descriptor; the device owns it.
 */
int npu_fd(const struct npu_dev *dev);

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
 * A job that uses the buffer keeps the memory until the job is over. Rockchip's own driver is not told
 * which buffers a job uses: over the vendor's interface wait with npu_bo_prep() first. A buffer that
 * npu_bo_import() returned, too, is there until the last of these calls.
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
 * reports the latter, and does not wait for jobs that only read the buffer.
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
 * struct npu_conv_task - one task of a direct convolution as the NPU sees it
 *
 * Sizes are in elements and positions; channel counts are those stored in memory. A
 * matrix product C[M,N] = A[M,K] * B[N,K]^T is the case in_w = 1, in_h = M, in_c = K,
 * out_c = N with a 1x1 kernel.
 */
struct npu_conv_task {
	/**
	 * @in: NPU_PREC_INT8, NPU_PREC_FP16, NPU_PREC_BF16 or NPU_PREC_INT4. In programs for an RK3576, which
	 * npu_prog_new() does not make, INT4 is the weights' type, and features are FP16
	 */
	enum npu_prec in;
	/**
	 * @out: INT8 or INT32 for INT8, FP16 or FP32 for FP16, BF16 or FP32 for BF16, INT16 for INT4, and FP32
	 * for INT4 weights with FP16
	 */
	enum npu_prec out;
	/** @in_w: width this task reads, 1 to 2047 */
	/** @in_h: height this task reads, 1 to 1022 */
	uint32_t in_w, in_h;
	/** @in_c: multiple of 32 */
	uint32_t in_c;
	/** @in_h_full: height of the whole tensor, gives the surface pitch */
	uint32_t in_h_full;
	/** @in_pitch: positions from one surface to the next, 0 = in_w * in_h_full */
	uint32_t in_pitch;
	/** @out_w: width this task writes */
	/** @out_h: height this task writes */
	uint32_t out_w, out_h;
	/** @out_h_full: height of the whole result */
	uint32_t out_h_full;
	/** @out_pitch: positions from one surface to the next, 0 = out_w * out_h_full */
	uint32_t out_pitch;
	/** @out_c: multiple of 32 (int8), 16 (fp16) or 64 (int4), to 8192 */
	uint32_t out_c;
	/**
	 * @depthwise: channel by channel; @in_c and @out_c are the same multiple of 64
	 * (int8) or 32 (fp16), because others have been seen to hang (gregordinary). There
	 * is no mode for int32 results, or for bf16
	 */
	bool depthwise;
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
	/**
	 * @bias_iova: the bias, used when @has_bias. In programs for an RK3576, which
	 * npu_prog_new() does not make, int8 operands have 64 bytes per 8 channels there; they are
	 * read for int32 results as well, for which nothing of them counts; fp16 operands have words there.
	 * In programs for an RK3562 int8 operands have 32 bytes per 4 channels
	 */
	uint64_t bias_iova;
	/** @zeros_iova: 64 bytes of zeros, read by programs for an RK3576 alone */
	/** @table_iova: what npu_table_record() writes of a function, read by these alone */
	uint64_t zeros_iova, table_iova;
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
 * @n: multiple of 32 (int8), 16 (fp16) or 64 (int4)
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
 * Over the vendor's interface the end of each task's program comes to name the next one: programs are in
 * inputs that are mapped, and where one has to name another than before the call waits for the jobs that
 * use its buffer.
 *
 * Return: 0, -EXDEV for a buffer of another device, or a negative errno of the driver.
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
 * npu_soc - whose programs the device runs
 * @dev: device
 *
 * What npu_prog_new() and npu_prog_conv() make are programs for an RK3588: another chip takes their
 * registers for others.
 *
 * Return: 3588, 3576, 3562 or, for an RK3566 as well, 3568; 3588 on drivers that do not tell.
 */
uint32_t npu_soc(const struct npu_dev *dev);

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
	/** @tag: comes back in &npu_result.tag, and is in the driver's traces and dumps */
	uint64_t tag;
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
 * Return: 0, -EXDEV for a buffer of another device, a negative errno of the driver, -EOPNOTSUPP.
 */
int npu_submit_ext(struct npu_dev *dev, const struct npu_hwjob *jobs,
		   const struct npu_job_opts *opts, uint32_t njobs, uint64_t *first);

/**
 * struct npu_result - how a job ended
 */
struct npu_result {
	/** @cause: why */
	enum npu_cause cause;
	/** @err: 0 or the negative errno that waiting for it reports */
	int err;
	/** @core: core that it ran on last, -1 = none */
	int core;
	/** @task: number of tasks done, thus the index of the one that failed */
	uint32_t task;
	/** @fault_iova: address that was accessed, for NPU_CAUSE_IOMMU_FAULT */
	uint64_t fault_iova;
	/** @fault_write: the access that failed was a write */
	bool fault_write;
	/** @elapsed_ns: how long it occupied a core */
	uint64_t elapsed_ns;
	/** @tag: &npu_job_opts.tag */
	uint64_t tag;
	/**
	 * @rerun: it was started again, after system sleep or because a start had left no trace; if its
	 * programs write over what they read, the result may be wrong
	 */
	bool rerun;
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
 * Return: 0; -EBUSY (@timeout_ns 0) or -ETIMEDOUT while it has not; -EINVAL while there is
 * no fence.
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
 * If the device already has the memory, by npu_bo_alloc() or an import, @out is the same buffer, and
 * npu_bo_free() is called once for each of them.
 *
 * Return: 0, -EINVAL for memory that the NPU cannot use, -EOPNOTSUPP, or
 * another negative errno.
 */
int npu_bo_import(struct npu_dev *dev, int fd, struct npu_bo **out);

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

#ifdef __cplusplus
}
#endif

#endif /* NPU_PROG_H */
