// SPDX-License-Identifier: GPL-2.0-only
/*
 * For checks of what monitors show: rknpu_load CORE is a client that keeps one core busy until
 * it is killed, and rknpu_load -u PROGRAM... runs a program as a user without rights.
 */
#define _GNU_SOURCE
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_util.h"

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

int main(int argc, char **argv)
{
	struct rk_trial t;
	int ret;

	if (argc > 2 && !strcmp(argv[1], "-u"))
		return run_as_nobody(argv + 2);
	if (argc != 2) {
		fprintf(stderr, "usage: rknpu_load CORE | rknpu_load -u PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	ret = rk_trial_init(&t, strtoul(argv[1], NULL, 0), 0);
	if (!ret && rk_model())
		rk_latency_us(TASK_US);
	for (int i = 1; i < IN_FLIGHT && !ret; i++)
		ret = rk_trial_submit(&t);
	/* The last one of those that are in flight, when the next one is queued. */
	for (bool first = true; !ret; first = false) {
		uint64_t before = t.id;

		ret = rk_trial_submit(&t);
		if (!ret)
			ret = rk_wait_job(t.c.fd, before, RK_FOREVER, &t.w);
		if (first && !ret) {
			puts("busy");
			fflush(stdout);
		}
	}
	fprintf(stderr, "rknpu_load: %s\n", strerror(-ret));
	return 1;
}
