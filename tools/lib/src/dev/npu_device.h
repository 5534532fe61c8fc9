/* SPDX-License-Identifier: MIT */
/*
 * Owns what devices and buffers are to the library's other files.
 */
#ifndef NPU_DEVICE_H
#define NPU_DEVICE_H

#include <errno.h>

#include "chip/npu_chip.h"
#include "npu_prog.h"
#include "npu_util.h"

/*
 * What a function of libdrm returned, as this library returns it.  They restart calls after a
 * signal, which is right here: every wait has an absolute deadline.
 */
static inline int npu_errno(int ret)
{
	return ret ? -errno : 0;
}

/* The same of a wait. A driver that finds a deadline in the past returns EBUSY, as if it was not to wait. */
static inline int npu_wait_errno(int ret, int64_t deadline_ns)
{
	ret = npu_errno(ret);
	return ret == -EBUSY && deadline_ns ? -ETIMEDOUT : ret;
}

/* Does it say how a job ended, not that a wait failed? */
static inline bool npu_is_job_error(int err)
{
	return err == -ETIME || err == -EFAULT || err == -EIO || err == -ECANCELED || err == -EPIPE ||
	       err == -ENODEV;
}

/* npu_ext.c: does npu_bo_import() work? */
bool npu_can_import(const struct npu_dev *dev);

/*
 * What every buffer begins with. A handle is a number of the open file: whoever imports what that has
 * already gets the same one, and closing it once takes it from all.
 */
struct npu_kept_bo {
	struct npu_bo base;
	unsigned int refs;		/* npu_bo_free() ends one */
	struct npu_mem *mem;		/* that consists of it, or NULL */
	struct npu_kept_bo *next, **link;	/* in the list of its file */
};

static inline struct npu_kept_bo *npu_kept(struct npu_bo *bo)
{
	return (struct npu_kept_bo *)bo;
}

/* npu_ext.c: a new handle, with the first reference to it; and whether that was the last one */
void npu_bo_keep(struct npu_bo *bo);
bool npu_bo_unref(struct npu_bo *bo);
/* npu_dev.c: those of a file */
struct npu_kept_bo **npu_dev_bos(struct npu_dev *dev);

/* npu_dev.c */
int64_t npu_deadline(int64_t timeout_ns);
int npu_wait_job_until(struct npu_dev *dev, uint64_t number, int64_t deadline_ns,
		       struct npu_result *result);
bool npu_is_vendor(const struct npu_dev *dev);
/* Whose programs the device runs, as npu_open() found it. */
const struct npu_chip *npu_dev_chip(const struct npu_dev *dev);
/* DRM_ROCKET_PARAM_FEATURES as npu_open() found it. */
uint64_t npu_dev_features(const struct npu_dev *dev);
struct npu_stats *npu_dev_stats(struct npu_dev *dev);

/* npu_submit.c: does the driver start chained programs in one go? */
bool npu_can_batch(const struct npu_dev *dev);

#endif /* NPU_DEVICE_H */
