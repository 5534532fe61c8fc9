// SPDX-License-Identifier: MIT
/*
 * The examples, each as it is, with the simulator in place of the driver.
 */
#include "drm/rocket_accel.h"
#include "sim.h"
#include "tap.h"

int example_matmul(void);
int example_ffn(void);
int example_attention(void);
int example_classifier(void);
int example_two_layers(void);

static void run(const char *name, int (*example)(void))
{
	int ret;

	sim_features(DRM_ROCKET_FEATURE_SUBMIT_EXT | DRM_ROCKET_FEATURE_BATCHED |
		     DRM_ROCKET_FEATURE_SCHED);
	ret = example();
	tap_ok(!ret && !sim_bos(), "%s: exit status %d", name, ret);
}

int main(void)
{
	run("matmul", example_matmul);
	run("ffn", example_ffn);
	run("attention", example_attention);
	run("classifier", example_classifier);
	run("two_layers", example_two_layers);
	return tap_done();
}
