// SPDX-License-Identifier: MIT
/* The driver that libnpu's simulator stands for: one with the calls beyond mainline's that a backend has, and SIM_SOC's NPU. */
#include <stdlib.h>

#include "drm/rocket_accel.h"
#include "sim.h"

__attribute__((constructor)) static void all_calls(void)
{
	const char *soc = getenv("SIM_SOC");

	if (soc)
		sim_soc((uint32_t)atoi(soc));
	sim_features(DRM_ROCKET_FEATURE_SUBMIT_EXT | DRM_ROCKET_FEATURE_BATCHED |
		     DRM_ROCKET_FEATURE_SCHED);
}
