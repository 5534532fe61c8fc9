/* SPDX-License-Identifier: MIT */
/*
 * Owns the public interface of libnpu for those who compute: devices, element types, how work
 * ends, and by the headers at its end tensors and recordings.
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
 * Matrices in the program's memory are dense and row-major unless a leading dimension says
 * otherwise. fp16 values are IEEE binary16 bit patterns in uint16_t.
 *
 * A device and everything made from it belong to one thread at a time. Different
 * threads may use different devices; what is made from one is refused by recordings of another, with -EXDEV
 * (see npu_tensor_export()). A child of fork() shares its parent's open files: it must leave
 * alone, and not free, what was made before, or it takes handles from the parent.
 *
 * Structures that may grow begin with their size: the program sets it to sizeof(), and the library
 * accepts those of older and newer versions of these headers. Fields that an older program's structure
 * lacks count as 0. Of a newer one the fields that the library does not know must be 0, or the call fails with
 * -EOPNOTSUPP; where the library fills the structure it sets them to 0. A size of no version, 0 among them,
 * is -EINVAL. struct npu_shape and struct npu_requant have no size, and stay as they are.
 *
 * Opaque types: ``struct npu_dev`` is an open file of the node, with its own address
 * space, and more of them when one is full.
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
 * NPU_LIBRARY_MAJOR - its first number, for #if
 */
#define NPU_LIBRARY_MAJOR	0

/**
 * NPU_LIBRARY_MINOR - its second number
 */
#define NPU_LIBRARY_MINOR	1

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
	/** @size: sizeof(struct npu_version) */
	size_t size;
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
 * @path: device node, of at most 255 bytes, or NULL to search
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
 * Return: 0, -ENODEV when no node belongs to the driver, -EINVAL for another ``NPU_UAPI``,
 * -EOPNOTSUPP for a chip whose programs libnpu does not make (all but the RK3588, the RK3576, the RK3568,
 * the RK3566 and the RK3562), or the errno of the open() or ioctl() that failed.
 */
int npu_open(const char *path, struct npu_dev **out);

/**
 * npu_close - close a device
 * @dev: device, or NULL
 *
 * Free what was made from it first. The driver cancels jobs that are still queued.
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
 * @v: filled on success, but for its size; strings are cut to fit and always terminated
 *
 * Return: 0, -EINVAL for a bad size of @v, or another negative errno.
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
 * @NPU_PREC_INT4: 4-bit two's complement, for products with each other, and on an RK3576 instead for weights
 *	of FP16: two in a byte, the first one in its lower half. There is no mode for INT4 with INT8
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
 * y = sat8(round(acc * scale / 2^shift + zp)). Ties round to even (evidence.toml, rows out.cvt-ties and
 * out.cvt-offset).
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
 * @NPU_CAUSE_DEVICE_GONE: the device was unbound, or its cores are out of service (ENODEV)
 * @NPU_CAUSE_OTHER: any other error of the driver
 * @NPU_CAUSE_BANNED: jobs of its file, or of its user, have failed too often (EPIPE)
 * @NPU_CAUSE_RERUN: it ran twice, after system sleep or because a start had left no trace, and a
 *	recording that writes over what it has read may have read that (ENOTRECOVERABLE)
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
	NPU_CAUSE_BANNED,
	NPU_CAUSE_RERUN,
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
