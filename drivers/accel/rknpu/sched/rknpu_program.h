/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the check of programs where no IOMMU does it: addresses must be in BOs of the caller. */
#ifndef __RKNPU_PROGRAM_H__
#define __RKNPU_PROGRAM_H__

#include <linux/types.h>

struct rknpu_job;

/*
 * -EFAULT if a program of one of @jobs, or one that it goes on with, has a register
 * that points elsewhere. 0 with an IOMMU. Programs are read as they are now: who
 * can write to them can change them before they run. Process context; the uses of
 * the jobs have begun.
 */
int rknpu_program_check(struct rknpu_job **jobs, u32 count);

#endif
