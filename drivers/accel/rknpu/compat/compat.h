/* SPDX-License-Identifier: GPL-2.0-only */
/* Included before everything else: makes an older kernel look like the newest one to the driver. */
#ifndef __RKNPU_COMPAT_H__
#define __RKNPU_COMPAT_H__

#include "accel.h"
#include "alloc.h"
#include "capability.h"
#include "compiler.h"
#include "devfreq.h"
#include "drm.h"
#include "fence.h"
#include "fs.h"
#include "hrtimer.h"
#include "iommu.h"
#include "mm.h"
#include "module.h"
#include "opp.h"
#include "platform.h"
#include "pm.h"
#include "resv.h"
#include "vmap.h"
/* Last, as it changes what a name of DRM's headers means. */
#include "drm_driver.h"

#endif
