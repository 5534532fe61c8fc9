// SPDX-License-Identifier: GPL-2.0-only
/*
 * For checks of what monitors show: rknpu_load CORE is a client that keeps one core busy until
 * it is killed, with -v one of the vendor's uAPI, which waits for each job before the next one.
 * rknpu_load -u PROGRAM... runs a program as a user without rights.
 *
 * tool of: make check-top and others
 */
#define _GNU_SOURCE
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_vendor_util.h"

/* Jobs of three tasks of 2 ms: a second is hundreds of them. */
#define TASK_US		2000
#define IN_FLIGHT	4

/* The overflow user. */
#define NOBODY		65534

static int run_as_nobody(char **argv)
{
	if (!setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY))
		execv(argv[0], argv);
	perror("rknpu_load");
	return 1;
}

static void say_busy(void)
{
	puts("busy");
	fflush(stdout);
}

/* Both end only when something fails. */
static int keep_busy(unsigned int core)
{
	struct rk_trial t;
	int ret = rk_trial_init(&t, core, 0);

	for (int i = 1; i < IN_FLIGHT && !ret; i++)
		ret = rk_trial_submit(&t);
	/* The last one of those that are in flight, when the next one is queued. */
	for (bool first = true; !ret; first = false) {
		uint64_t before = t.id;

		ret = rk_trial_submit(&t);
		if (!ret)
			ret = rk_wait_job(t.c.fd, before, RK_FOREVER, &t.w);
		if (first && !ret)
			say_busy();
	}
	return ret;
}

static int keep_busy_by_vendor(unsigned int core)
{
	struct drm_rknpu_submit s;
	struct rv_chain c;
	int fd = rv_open();
	int ret = fd < 0 ? fd : rv_chain_init(&c, fd, RV_MAX_CHAIN, 0, 0);

	if (!ret)
		ret = rv_chain_fill(&c, 1);
	for (bool first = true; !ret; first = false) {
		rv_chain_submit(&c, &s);
		s.core_mask = 1u << core;
		ret = rv_submit(fd, &s);
		if (first && !ret)
			say_busy();
	}
	return ret;
}

int main(int argc, char **argv)
{
	bool vendor = argc == 3 && !strcmp(argv[1], "-v");
	unsigned int core;
	int ret;

	if (argc > 2 && !strcmp(argv[1], "-u"))
		return run_as_nobody(argv + 2);
	if (argc != 2 && !vendor) {
		fprintf(stderr, "usage: rknpu_load [-v] CORE | rknpu_load -u PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	core = strtoul(argv[argc - 1], NULL, 0);
	if (rk_model())
		rk_latency_us(TASK_US);
	ret = vendor ? keep_busy_by_vendor(core) : keep_busy(core);
	fprintf(stderr, "rknpu_load: %s\n", strerror(-ret));
	return 1;
}
