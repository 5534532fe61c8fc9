// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both uAPIs at once: processes of either run jobs and verify every result while
 * tasks of either are made to hang. Exactly those jobs fail that hung, and with
 * the right error. If there is /dev/rknpu, one process uses that.
 *
 * boot: vendor
 * boot: dtvendor
 * boot: armhfvend
 * boot: noiommulib
 * boot: debug-vendor
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "rknpu_vendor_util.h"

#define CLIENTS		4	/* even ones rocket, odd ones rknpu */
/* At least, and for each uAPI; which one has the next job is chance. */
#define HANGS		12
#define HANGS_EACH	3
#define HANGS_MAX	100
#define TIMEOUT_MS	1500	/* a busy host may stop the guest for long */

struct tally {
	unsigned long good;
	unsigned long timeouts;
	unsigned long wrong;
};

struct shared {
	volatile bool stop;
	struct tally tally[CLIENTS];
};

static struct shared *shared;

static void count(struct tally *t, int ret)
{
	if (!ret)
		t->good++;
	else if (ret == -ETIME || ret == -ETIMEDOUT)
		t->timeouts++;
	else
		t->wrong++;
}

static int run_rocket(struct tally *t)
{
	struct rk_client c;
	int ret = rk_client_init(&c);

	for (int i = 0; !ret && !shared->stop; i++)
		count(t, rk_client_run(&c, i % 100));
	if (!ret)
		rk_client_fini(&c);
	return ret;
}

/* As rv_chain_run(), but with a shorter deadline than a runtime's. */
static int vendor_round(struct rv_chain *c, int value)
{
	struct drm_rknpu_submit s;
	int ret = rv_chain_fill(c, value);

	if (ret)
		return ret;
	rv_chain_submit(c, &s);
	s.timeout = TIMEOUT_MS;
	ret = rv_ioctl(c->fd, DRM_IOCTL_RKNPU_SUBMIT, &s);
	if (ret)
		return ret;
	return rv_chain_wrong(c, value + c->n) ? -EILSEQ : 0;
}

static int run_vendor_on(struct tally *t, int fd)
{
	struct rv_chain c;
	int ret;

	if (fd < 0)
		return fd;
	ret = rv_chain_init(&c, fd, 3, 0, 0);
	for (int i = 0; !ret && !shared->stop; i++)
		count(t, vendor_round(&c, i % 100));
	rv_chain_fini(&c);
	close(fd);
	return ret;
}

static int run_vendor(struct tally *t)
{
	return run_vendor_on(t, rv_open());
}

static int run_misc(struct tally *t)
{
	int fd = rv_open_misc();

	return run_vendor_on(t, fd < 0 ? rv_open() : fd);
}

static int (*const clients[CLIENTS])(struct tally *t) = {
	run_rocket, run_vendor, run_rocket, run_misc,
};

static bool either_hung(void)
{
	unsigned long n[2] = { 0 };

	for (int i = 0; i < CLIENTS; i++)
		n[i % 2] += shared->tally[i].timeouts;
	return n[0] >= HANGS_EACH && n[1] >= HANGS_EACH;
}

static unsigned long total_good(void)
{
	unsigned long n = 0;

	for (int i = 0; i < CLIENTS; i++)
		n += shared->tally[i].good;
	return n;
}

/* Everybody makes progress between hangs, or this would only test timeouts. */
static void wait_for_progress(void)
{
	unsigned long goal = total_good() + 10 * CLIENTS;

	for (int ms = 0; total_good() < goal && ms < 20000; ms += 10)
		rk_sleep_ms(10);
}

static unsigned int inject(void)
{
	unsigned int fired = 0;

	for (int i = 0; i < HANGS_MAX && (i < HANGS || !either_hung()); i++) {
		wait_for_progress();
		rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, i % 5, 1);
		for (int ms = 0; !rk_fault_fired() && ms < 20000; ms += 5)
			rk_sleep_ms(5);
		fired += rk_fault_fired();
		rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
	}
	wait_for_progress();
	return fired;
}

static const struct rk_named cases[] = {
	{ "all clients of both uAPIs made progress", "clients of both uAPIs go on although jobs hang" },
	{ "no result is wrong, no error unexpected", "each job gives the right result or times out" },
	{ "each hang is a timeout", "as many jobs time out as tasks were made to hang" },
	{ "jobs of both uAPIs hung", "jobs of both uAPIs met a hang, or nothing was tested" },
};

static void check(unsigned int fired, bool ended)
{
	unsigned long timeouts = 0, wrong = 0, fewest = ~0ul;

	for (int i = 0; i < CLIENTS; i++) {
		const struct tally *t = &shared->tally[i];

		ksft_print_msg("%s client: %lu good, %lu timed out, %lu wrong\n",
			       i % 2 ? "rknpu" : "rocket", t->good, t->timeouts, t->wrong);
		timeouts += t->timeouts;
		wrong += t->wrong;
		if (t->good < fewest)
			fewest = t->good;
	}
	ksft_test_result(ended && fewest >= 50, "%s\n", cases[0].name);
	ksft_test_result(!wrong, "%s\n", cases[1].name);
	ksft_print_msg("%u hangs, %lu jobs timed out\n", fired, timeouts);
	ksft_test_result(fired >= HANGS && timeouts == fired, "%s\n", cases[2].name);
	ksft_test_result(either_hung(), "%s\n", cases[3].name);
}

int main(int argc, char **argv)
{
	pid_t pid[CLIENTS];
	bool ended = true;
	unsigned int fired;
	int fd = rv_open();

	if (rk_listed(argc, argv, cases, ARRAY_SIZE(cases)))
		return 0;
	ksft_print_header();
	if (fd < 0)
		ksft_exit_skip("no vendor node: %s\n", strerror(-fd));
	close(fd);
	if (!rk_model())
		ksft_exit_skip("needs the NPU model\n");
	rk_model_calm();
	/* Hangs are for the clients' tasks. */
	rk_scrub(false);
	rk_task_timeout_ms(TIMEOUT_MS);
	ksft_set_plan(ARRAY_SIZE(cases));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	for (int i = 0; i < CLIENTS; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(!!clients[i](&shared->tally[i]));
	}
	fired = inject();
	shared->stop = true;
	for (int i = 0; i < CLIENTS; i++) {
		int status;

		waitpid(pid[i], &status, 0);
		ended &= !status;
	}
	rk_model_calm();
	check(fired, ended);
	ksft_finished();
}
