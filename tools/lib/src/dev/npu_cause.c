// SPDX-License-Identifier: MIT
/*
 * Why work ended: what the driver's errors mean, and their words.
 */
#include <errno.h>

#include "npu.h"

enum npu_cause npu_cause_of_errno(int err)
{
	switch (err) {
	case 0:
		return NPU_CAUSE_DONE;
	case -ETIME:
		return NPU_CAUSE_TIMEOUT;
	case -EIO:
		return NPU_CAUSE_DMA_ERROR;
	case -EFAULT:
		return NPU_CAUSE_IOMMU_FAULT;
	case -ECANCELED:
		return NPU_CAUSE_CANCELLED;
	case -ENODEV:
		return NPU_CAUSE_DEVICE_GONE;
	case -EPIPE:
		return NPU_CAUSE_BANNED;
	case -ENOTRECOVERABLE:
		return NPU_CAUSE_RERUN;
	case -ETIMEDOUT:
	case -EBUSY:
		return NPU_CAUSE_NONE;
	default:
		return NPU_CAUSE_OTHER;
	}
}

const char *npu_strcause(enum npu_cause cause)
{
	switch (cause) {
	case NPU_CAUSE_NONE:
		return "not finished";
	case NPU_CAUSE_DONE:
		return "done";
	case NPU_CAUSE_NEVER_STARTED:
		return "never started";
	case NPU_CAUSE_TIMEOUT:
		return "timeout";
	case NPU_CAUSE_DMA_ERROR:
		return "DMA error";
	case NPU_CAUSE_IOMMU_FAULT:
		return "IOMMU fault";
	case NPU_CAUSE_CANCELLED:
		return "cancelled";
	case NPU_CAUSE_DEVICE_GONE:
		return "device gone";
	case NPU_CAUSE_BANNED:
		return "banned after too many failures";
	case NPU_CAUSE_RERUN:
		return "ran twice over its own results";
	default:
		return "unknown error";
	}
}
