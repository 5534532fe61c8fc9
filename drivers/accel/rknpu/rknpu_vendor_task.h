/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns reading and writing the task buffers of the vendor's uAPI. */
#ifndef __RKNPU_VENDOR_TASK_H__
#define __RKNPU_VENDOR_TASK_H__

#include <linux/types.h>

struct rknpu_job;
struct rknpu_vbo;

/* What one job may name; each is copied. */
#define RKNPU_VTASK_MAX		65536

/*
 * Copies the tasks [start, start + job->task_count) into @job, once and for all:
 * user space may change the buffer meanwhile. -EINVAL if they are not inside it
 * or cannot be run, or if it is imported and its exporter cannot map it.
 */
int rknpu_vtask_read(struct rknpu_vbo *vbo, u32 start, struct rknpu_job *job);

/* Tells user space how task @index ended. @index has been read before. */
void rknpu_vtask_write_status(struct rknpu_vbo *vbo, u32 index, u32 int_status);

#endif
