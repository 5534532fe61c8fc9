/* SPDX-License-Identifier: MIT */
/*
 * Owns the public interface of libnpu for those who compute: devices, matrix products and
 * convolutions, how they end, and by the headers at its end tensors and recordings.
 */
#ifndef NPU_H
#define NPU_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

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
 * Opaque types: ``struct npu_dev`` is an open file of the node, with its own address
 * space, and more of them when one is full; ``struct npu_job`` is one product or convolution.
 *
 * Waiting functions return -ETIMEDOUT when the time is up, or -EBUSY if they were only to
 * look. How work ended is an enum npu_cause, which npu_strcause() has in words.
 */

/* ---- version ------------------------------------------------------------ */

/**
 * NPU_LIBRARY_VERSION - version that these headers belong to
 */
#define NPU_LIBRARY_VERSION	"0.1"

/**
 * npu_library_version - version of the library that runs
 *
 * Not that of the driver, which npu_version() tells.
 *
 * Return: as %NPU_LIBRARY_VERSION of the headers that the library was built with.
 */
const char *npu_library_version(void);

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

/* ---- element types ------------------------------------------------------ */

/**
 * enum npu_prec - element types as every block encodes them
 * @NPU_PREC_INT8: 8-bit two's complement
 * @NPU_PREC_INT16: 16-bit two's complement, results of INT4 only
 * @NPU_PREC_FP16: IEEE binary16
 * @NPU_PREC_BF16: the upper half of IEEE binary32, for products
 * @NPU_PREC_INT32: 32-bit two's complement, results only
 * @NPU_PREC_FP32: IEEE binary32, results only
 * @NPU_PREC_INT4: 4-bit two's complement, for products with each other: two in a byte, the first one in
 *	its lower half. There is no mode for INT4 with INT8
 */
enum npu_prec {
	NPU_PREC_INT8 = 0,
	NPU_PREC_INT16 = 1,
	NPU_PREC_FP16 = 2,
	NPU_PREC_BF16 = 3,
	NPU_PREC_INT32 = 4,
	NPU_PREC_FP32 = 5,
	NPU_PREC_INT4 = 6,
};

/**
 * struct npu_requant - how int32 becomes int8
 *
 * y = sat8(round(acc * scale / 2^shift) + zp). Ties round to even (evidence.toml, row out.cvt-ties); with
 * an odd zp boards add it before they round (row out.cvt-offset).
 */
struct npu_requant {
	/** @scale: 1 to 32767; above that the operand is negative */
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

/* ---- how things end ------------------------------------------------------ */

/**
 * enum npu_cause - how a job ended
 * @NPU_CAUSE_NONE: not started, or still running
 * @NPU_CAUSE_DONE: finished
 * @NPU_CAUSE_NEVER_STARTED: the core did not begin (ETIME); told only by drivers that
 *	keep results of jobs, which is a timeout to others
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
	NPU_CAUSE_NEVER_STARTED,
	NPU_CAUSE_TIMEOUT,
	NPU_CAUSE_DMA_ERROR,
	NPU_CAUSE_IOMMU_FAULT,
	NPU_CAUSE_CANCELLED,
	NPU_CAUSE_DEVICE_GONE,
	NPU_CAUSE_OTHER,
};

/**
 * npu_cause_of_errno - cause that belongs to the error of a job
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
};

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
 * All memory of a job is in one address space, the first that has room for it (see "More than 4 GiB"
 * in npu_tensor.h).
 *
 * Return: 0, -EINVAL for a bad description, -ERANGE for a requantisation out
 * of range, -ENOMEM, -ENOSPC if no address space has room, or an errno of the driver.
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
 * must fit the convolution buffer. Memory is where that of npu_matmul_prepare() is.
 *
 * Return: 0, -EINVAL, -ERANGE, -E2BIG when one output row does not fit,
 * -ENOMEM, -ENOSPC, or an errno of the driver.
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
/**
 * npu_f32_to_bf16 - convert to bf16, rounded to nearest even
 * @f: number; beyond the range becomes infinity, NaN stays NaN
 *
 * Return: bf16 bits.
 */
uint16_t npu_f32_to_bf16(float f);
/**
 * npu_bf16_to_f32 - convert bf16 to fp32, exactly
 * @h: bf16 bits
 *
 * Return: the same number.
 */
float npu_bf16_to_f32(uint16_t h);

#ifdef __cplusplus
}
#endif

#include "npu_tensor.h"
#include "npu_rec.h"
#include "npu_nn.h"
#include "npu_image.h"

#endif /* NPU_H */
