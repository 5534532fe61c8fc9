/* SPDX-License-Identifier: MIT */
/*
 * Owns the uCA interface on libnpu: calls are queued, and one sync runs all of them. Everything
 * is inline, on what npu.h has.
 */
#ifndef UCA_H
#define UCA_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npu.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: uCA
 *
 * The interface of a small compute library for NPUs: init, gemv, gemm, cvo (functions of
 * elements), memcpy, memset (descriptors in slots) and sync. Here tensors and weights are those
 * of npu_tensor.h, of FP16; calls append to a recording, and uca_sync() runs it in one
 * submission. Between two of them the CPU touches nothing.
 *
 * A slot describes the shape of a result, and is set once. What does not fit a slot's shape, or
 * exceeds a width, is refused; nothing is cut off.
 */

/**
 * define UCA_SLOTS - descriptors
 */
#define UCA_SLOTS	64u
/**
 * define UCA_MAX_DIM - most rows or columns of a descriptor
 */
#define UCA_MAX_DIM	65535u

/**
 * define UCA_ACCM - add the result to what the destination has
 *
 * One more rounding to FP16.
 */
#define UCA_ACCM	(1u << 0)
/**
 * define UCA_FINDEMAX - keep the largest element of each row of the result, for uca_emax()
 */
#define UCA_FINDEMAX	(1u << 1)
/**
 * define UCA_FLAGS - all flags
 */
#define UCA_FLAGS	(UCA_ACCM | UCA_FINDEMAX)

/**
 * enum uca_func - functions of uca_cvo()
 * @UCA_EXP: as %NPU_ACT_EXP, for -16 to 0
 * @UCA_SQRT: as %NPU_ACT_SQRT
 * @UCA_GELU: as %NPU_ACT_GELU
 * @UCA_SIN: as %NPU_ACT_SIN
 * @UCA_COS: as %NPU_ACT_COS
 * @UCA_REDUCE_SUM: sum of each row, to one column; as npu_rec_reduce_sum()
 * @UCA_SCALE: product with an operand, as npu_rec_mul()
 * @UCA_RECIP: as %NPU_ACT_RECIPROCAL
 */
enum uca_func {
	UCA_EXP,
	UCA_SQRT,
	UCA_GELU,
	UCA_SIN,
	UCA_COS,
	UCA_REDUCE_SUM,
	UCA_SCALE,
	UCA_RECIP,
};

/**
 * struct uca - a device with its descriptors and what is queued
 */
struct uca {
	/** @dev: device, for npu_tensor_new() and npu_weights_new() */
	struct npu_dev *dev;
	/** @cores: that share each call */
	uint32_t cores;
	/** @rec: what is queued or runs, or NULL */
	struct npu_rec *rec;
	/** @running: a sync is not over */
	bool running;
	/** @started: and the recording was started */
	bool started;
	/** @err: the first error of a call that was refused since the last sync, or 0 */
	int err;
	/** @emax: of the last call with UCA_FINDEMAX, or NULL */
	struct npu_tensor *emax;
	/** @slot: descriptors; 0 rows = not set */
	struct {
		/** @slot.rows: rows */
		/** @slot.cols: columns */
		uint32_t rows, cols;
	} slot[UCA_SLOTS];
};

/**
 * uca_init - open a device
 * @u: filled
 * @path: node, or NULL as for npu_open()
 * @cores: 1 to 3
 *
 * Return: 0, -EINVAL for a bad number of cores, or as npu_open().
 */
static inline int uca_init(struct uca *u, const char *path, uint32_t cores)
{
	memset(u, 0, sizeof(*u));
	if (!cores || cores > NPU_MAX_CORES)
		return -EINVAL;
	u->cores = cores;
	return npu_open(path, &u->dev);
}

/**
 * uca_exit - close it
 * @u: from uca_init()
 *
 * Free tensors and weights first. What is queued and not synchronised is lost.
 */
static inline void uca_exit(struct uca *u)
{
	npu_rec_free(u->rec);
	npu_tensor_free(u->emax);
	npu_close(u->dev);
	memset(u, 0, sizeof(*u));
}

/**
 * uca_memset - set a descriptor
 * @u: device
 * @slot: number, below 64
 * @rows: 1 to 65535
 * @cols: 1 to 65535
 *
 * Return: 0, -EINVAL for a bad slot, -ERANGE for a bad size.
 */
static inline int uca_memset(struct uca *u, uint32_t slot, uint32_t rows, uint32_t cols)
{
	if (slot >= UCA_SLOTS)
		return -EINVAL;
	if (!rows || !cols || rows > UCA_MAX_DIM || cols > UCA_MAX_DIM)
		return -ERANGE;
	u->slot[slot].rows = rows;
	u->slot[slot].cols = cols;
	return 0;
}

/* Internal: does a tensor have a descriptor's shape? */
static inline int uca_fits(const struct uca *u, uint32_t slot, const struct npu_tensor *t)
{
	struct npu_shape s = npu_tensor_shape(t);

	if (slot >= UCA_SLOTS || !u->slot[slot].rows || s.type != NPU_PREC_FP16)
		return -EINVAL;
	return s.rows == u->slot[slot].rows && s.cols == u->slot[slot].cols ? 0 : -EINVAL;
}

/**
 * uca_memcpy_to - copy halves to a tensor
 * @u: device
 * @dst: tensor
 * @src: halves, row by row
 * @slot: descriptor of the tensor
 *
 * Return: 0, -EBUSY before uca_sync(), -EINVAL for a bad slot or shape, or as npu_tensor_write().
 */
static inline int uca_memcpy_to(struct uca *u, struct npu_tensor *dst, const uint16_t *src,
				uint32_t slot)
{
	int ret = u->rec ? -EBUSY : uca_fits(u, slot, dst);

	return ret ? ret : npu_tensor_write(dst, src, 0);
}

/**
 * uca_memcpy_from - copy halves from a tensor
 * @u: device
 * @dst: halves, row by row
 * @src: tensor
 * @slot: descriptor of the tensor
 *
 * Return: as uca_memcpy_to().
 */
static inline int uca_memcpy_from(struct uca *u, uint16_t *dst, struct npu_tensor *src,
				  uint32_t slot)
{
	int ret = u->rec ? -EBUSY : uca_fits(u, slot, src);

	return ret ? ret : npu_tensor_read(src, dst, 0);
}

/* Internal: the end of a call that queues; what is refused keeps all that waits for the same sync from running. */
static inline int uca_note(struct uca *u, int ret)
{
	if (ret && !u->err && !u->running)
		u->err = ret;
	return ret;
}

/* Internal: a recording to append to. */
static inline int uca_begin(struct uca *u, uint32_t slot, const struct npu_tensor *dst,
			    uint32_t flags)
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = u->cores };
	int ret = flags & ~UCA_FLAGS ? -EINVAL : uca_fits(u, slot, dst);

	if (ret)
		return ret;
	if (u->running)
		return -EBUSY;
	return u->rec ? 0 : npu_rec_new(u->dev, &o, &u->rec);
}

/* Internal: what a call writes first, to be added to its destination. */
static inline int uca_target(struct uca *u, struct npu_tensor *dst, uint32_t flags,
			     struct npu_tensor **to)
{
	struct npu_shape s = npu_tensor_shape(dst);

	*to = dst;
	return flags & UCA_ACCM ? npu_tensor_new(u->dev, s.type, s.rows, s.cols, to) : 0;
}

/* Internal: sums are not formed in place. */
static inline int uca_accumulate(struct uca *u, struct npu_tensor *more, struct npu_tensor *dst)
{
	struct npu_shape s = npu_tensor_shape(dst);
	struct npu_tensor *sum = NULL;
	int ret = npu_tensor_new(u->dev, s.type, s.rows, s.cols, &sum);

	ret = ret ? ret : npu_rec_add(u->rec, dst, more, sum);
	ret = ret ? ret : npu_rec_max(u->rec, sum, sum, dst);
	npu_tensor_free(sum);
	return ret;
}

/* Internal: ends a call; @ret is what it has come to. */
static inline int uca_end(struct uca *u, struct npu_tensor *to, struct npu_tensor *dst,
			  uint32_t flags, int ret)
{
	struct npu_shape s = npu_tensor_shape(dst);

	if (!ret && to != dst)
		ret = uca_accumulate(u, to, dst);
	if (to != dst)
		npu_tensor_free(to);
	if (ret || !(flags & UCA_FINDEMAX))
		return ret;
	npu_tensor_free(u->emax);
	u->emax = NULL;
	ret = npu_tensor_new(u->dev, NPU_PREC_FP16, s.rows, 1, &u->emax);
	return ret ? ret : npu_rec_reduce_max(u->rec, dst, u->emax);
}

/**
 * uca_gemm - queue dst = x * W^T
 * @u: device
 * @dst: M x N
 * @x: M x K
 * @w: N x K weights
 * @slot: descriptor of @dst
 * @flags: UCA_ACCM, UCA_FINDEMAX
 *
 * Return: 0, -EINVAL for a bad slot, flag or shape, -EBUSY while a sync is not over, or as
 * npu_rec_matmul().
 */
static inline int uca_gemm(struct uca *u, struct npu_tensor *dst, const struct npu_tensor *x,
			   const struct npu_weights *w, uint32_t slot, uint32_t flags)
{
	struct npu_tensor *to = NULL;
	int ret = uca_begin(u, slot, dst, flags);

	ret = ret ? ret : uca_target(u, dst, flags, &to);
	ret = ret ? ret : uca_end(u, to, dst, flags, npu_rec_matmul(u->rec, x, w, to, NULL));
	return uca_note(u, ret);
}

/**
 * uca_gemv - queue a product of one row
 * @u: device
 * @dst: 1 x N
 * @x: 1 x K
 * @w: N x K weights
 * @slot: descriptor of @dst
 * @flags: as for uca_gemm()
 *
 * Return: as uca_gemm(); -EINVAL for more rows.
 */
static inline int uca_gemv(struct uca *u, struct npu_tensor *dst, const struct npu_tensor *x,
			   const struct npu_weights *w, uint32_t slot, uint32_t flags)
{
	return npu_tensor_shape(x).rows == 1 ? uca_gemm(u, dst, x, w, slot, flags) : uca_note(u, -EINVAL);
}

/* Internal: the function alone. */
static inline int uca_apply(struct uca *u, enum uca_func func, struct npu_tensor *to,
			    const struct npu_tensor *src, const struct npu_tensor *operand)
{
	switch (func) {
	case UCA_EXP:
		return npu_rec_act(u->rec, NPU_ACT_EXP, src, to);
	case UCA_SQRT:
		return npu_rec_act(u->rec, NPU_ACT_SQRT, src, to);
	case UCA_GELU:
		return npu_rec_act(u->rec, NPU_ACT_GELU, src, to);
	case UCA_SIN:
		return npu_rec_act(u->rec, NPU_ACT_SIN, src, to);
	case UCA_COS:
		return npu_rec_act(u->rec, NPU_ACT_COS, src, to);
	case UCA_REDUCE_SUM:
		return npu_rec_reduce_sum(u->rec, src, to);
	case UCA_SCALE:
		return npu_rec_mul(u->rec, src, operand, to);
	default:
		return npu_rec_act(u->rec, NPU_ACT_RECIPROCAL, src, to);
	}
}

/**
 * uca_cvo - queue a function of elements
 * @u: device
 * @func: function
 * @dst: result, of the shape of @src; one column for UCA_REDUCE_SUM
 * @src: M x N
 * @operand: for UCA_SCALE what npu_rec_mul() takes as b, else NULL
 * @slot: descriptor of @dst
 * @flags: UCA_ACCM, UCA_FINDEMAX
 *
 * Return: as uca_gemm(); -EINVAL for a function that does not exist, an operand that is missing
 * or one that is not wanted.
 */
static inline int uca_cvo(struct uca *u, enum uca_func func, struct npu_tensor *dst,
			  const struct npu_tensor *src, const struct npu_tensor *operand,
			  uint32_t slot, uint32_t flags)
{
	struct npu_tensor *to = NULL;
	int ret;

	if ((unsigned int)func > UCA_RECIP || !operand != (func != UCA_SCALE))
		return uca_note(u, -EINVAL);
	ret = uca_begin(u, slot, dst, flags);
	ret = ret ? ret : uca_target(u, dst, flags, &to);
	ret = ret ? ret : uca_end(u, to, dst, flags, uca_apply(u, func, to, src, operand));
	return uca_note(u, ret);
}

/* Internal: forgets what was queued, and what it should have found. */
static inline int uca_done(struct uca *u, int ret)
{
	npu_rec_free(u->rec);
	u->rec = NULL;
	u->running = false;
	u->started = false;
	u->err = 0;
	if (ret) {
		npu_tensor_free(u->emax);
		u->emax = NULL;
	}
	return ret;
}

/**
 * uca_sync - run what was queued, and wait
 * @u: device
 * @timeout_ns: relative, in ns; negative = no limit
 *
 * One submission. If a call was refused, before others or after them, that is an error here, too, and
 * nothing runs. What is refused while a sync is not over does not count.
 *
 * Return: 0, also if nothing is queued, whatever was refused; -ETIMEDOUT (-EBUSY with @timeout_ns 0)
 * while it runs, call again; -EBUSY, whatever @timeout_ns, if the driver has no room for its jobs,
 * call again when others have ended; the error of the first call that was refused; or as npu_rec_end(),
 * npu_rec_run() and npu_rec_wait(). The queue is empty then.
 */
static inline int uca_sync(struct uca *u, int64_t timeout_ns)
{
	int ret;

	if (!u->rec)
		return uca_done(u, 0);
	if (!u->running) {
		ret = u->err ? u->err : npu_rec_end(u->rec);
		if (ret)
			return uca_done(u, ret);
		u->running = true;
	}
	if (!u->started) {
		ret = npu_rec_run(u->rec);
		if (ret)
			return ret == -EBUSY ? ret : uca_done(u, ret);
		u->started = true;
	}
	ret = npu_rec_wait(u->rec, timeout_ns);
	return ret == -ETIMEDOUT || ret == -EBUSY ? ret : uca_done(u, ret);
}

/**
 * uca_emax - the largest elements that the last UCA_FINDEMAX found
 * @u: device
 * @v: one per row of that result
 *
 * Return: 0, -ENOENT if none was asked for, or a sync has failed since; -EBUSY before uca_sync(), or as
 * npu_tensor_read().
 */
static inline int uca_emax(struct uca *u, float *v)
{
	if (!u->emax)
		return -ENOENT;
	return u->rec ? -EBUSY : npu_tensor_read_f32(u->emax, v, 0, 1);
}

#ifdef __cplusplus
}
#endif

#endif /* UCA_H */
