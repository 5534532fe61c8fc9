/* SPDX-License-Identifier: MIT */
/* What npu_dev.c needs of the backend for the DRM node "rknpu". */
#ifndef NPU_VENDOR_H
#define NPU_VENDOR_H

#include "npu_internal.h"

/* All return 0 or a negative errno; the meanings are those of npu.h. */
int npu_vendor_bo_alloc(struct npu_dev *dev, size_t size, struct npu_bo **out);
void npu_vendor_bo_free(struct npu_bo *bo);
int npu_vendor_bo_prep_until(struct npu_bo *bo, int64_t deadline_ns);
int npu_vendor_bo_fini(struct npu_bo *bo);
int npu_vendor_submit(struct npu_dev *dev, const struct npu_hwjob *jobs, uint32_t njobs);

#endif /* NPU_VENDOR_H */
