// SPDX-License-Identifier: MIT
/* The driver that libnpu's simulator stands for: one with the calls beyond mainline's that a backend has. */
#include "drm/rocket_accel.h"
#include "sim.h"

__attribute__((constructor)) static void all_calls(void)
{
	sim_features(DRM_ROCKET_FEATURE_SUBMIT_EXT | DRM_ROCKET_FEATURE_BATCHED |
		     DRM_ROCKET_FEATURE_SCHED);
}
