/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what the files of the rocket uAPI have in common. */
#ifndef __RKNPU_ROCKET_H__
#define __RKNPU_ROCKET_H__

#include <linux/stddef.h>
#include <linux/time64.h>
#include <linux/types.h>

#include <drm/drm.h>

/* By path: <drm/rocket_accel.h> could be the header of the kernel built against. */
#include "../../../../include/uapi/drm/rocket_accel.h"

struct dma_buf;
struct dma_fence;
struct drm_device;
struct drm_file;
struct drm_gem_object;
struct rknpu_client;
struct rknpu_device;
struct rknpu_history;
struct rknpu_vm;

/**
 * struct rknpu_rocket_file - an open file
 */
struct rknpu_rocket_file {
	/** @rdev: device */
	struct rknpu_device *rdev;
	/** @vm: its address space */
	struct rknpu_vm *vm;
	/** @client: what the scheduler knows of it */
	struct rknpu_client *client;
	/** @history: its newest jobs */
	struct rknpu_history *history;
};

/* Documented in the uAPI header. */
#define RKNPU_ROCKET_MAX_JOBS		1024
#define RKNPU_ROCKET_MAX_TASKS		65536
#define RKNPU_ROCKET_MAX_HANDLES	4096
#define RKNPU_ROCKET_MAX_ALL_HANDLES	65536
#define RKNPU_ROCKET_MAX_SYNCS		64
#define RKNPU_ROCKET_HISTORY_SIZE	1024
#define RKNPU_ROCKET_MIN_TIMEOUT_NS	NSEC_PER_MSEC

int rknpu_rocket_submit(struct drm_device *dev, void *data, struct drm_file *file);
int rknpu_rocket_submit_ext(struct drm_device *dev, void *data, struct drm_file *file);
int rknpu_rocket_wait_job(struct drm_device *dev, void *data, struct drm_file *file);

int rknpu_rocket_create_bo(struct drm_device *dev, void *data, struct drm_file *file);
int rknpu_rocket_prep_bo(struct drm_device *dev, void *data, struct drm_file *file);
int rknpu_rocket_fini_bo(struct drm_device *dev, void *data, struct drm_file *file);
int rknpu_rocket_prep_bo_ranges(struct drm_device *dev, void *data, struct drm_file *file);
int rknpu_rocket_fini_bo_ranges(struct drm_device *dev, void *data, struct drm_file *file);
int rknpu_rocket_get_bo_info(struct drm_device *dev, void *data, struct drm_file *file);

/* drm_driver.gem_prime_import */
struct drm_gem_object *rknpu_rocket_import(struct drm_device *dev, struct dma_buf *dmabuf);

/* The newest jobs of a file. NULL: no memory. */
struct rknpu_history *rknpu_history_create(void);
void rknpu_history_destroy(struct rknpu_history *history);
/*
 * Numbers @count jobs, by their fences, one after the other. Consumes the
 * references on @fences. Returns the number of the first; the file's first job
 * is number 1.
 */
u64 rknpu_history_add(struct rknpu_history *history, struct dma_fence **fences, u32 count);

#endif
