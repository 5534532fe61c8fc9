/* SPDX-License-Identifier: GPL-2.0-only */
/* For kernels without this header; ../../accel.h has what stands for it. */
#include <drm/drm_file.h>
