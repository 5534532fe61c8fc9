// SPDX-License-Identifier: GPL-2.0-only
/* What one user, with as many files as may be, can take from another one: jobs, core time. */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/resource.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define ATTACKER	1001
#define VICTIM		1002

FIXTURE(users) {
	int fd;
};

FIXTURE_SETUP(users)
{
	struct rlimit files = { 4096, 4096 };

	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	self->fd = rk_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(users)
{
	rk_model_calm();
	rk_module_param("max_job_ms", 10000);
	if (self->fd > 0)
		close(self->fd);
}

/* ---- jobs that are not over ---- */

/* More than it takes to have as many jobs as a user may. */
#define FULL_FILES	9
/* The longest deadline. */
#define LONGEST_MS	60000
#define JOBS		1024

struct full {
	struct rk_client c[FULL_FILES];
	struct drm_rocket_task t;
	struct drm_rocket_job_ext jobs[JOBS];
	uint64_t jobs_of_file;
	uint32_t files;
};

static int full_open(struct rk_client *c, uid_t uid)
{
	int fd = rk_open_as(uid, rk_open);

	return fd < 0 ? fd : rk_client_init_on(c, fd);
}

/* As many files as it takes, each with as many jobs as it may have, behind one that hangs; and one without. */
static int full_init(struct full *f, int fd)
{
	int ret = 0;

	memset(f, 0, sizeof(*f));
	f->jobs_of_file = rk_param(fd, DRM_ROCKET_PARAM_MAX_FILE_JOBS);
	f->files = rk_param(fd, DRM_ROCKET_PARAM_MAX_USER_JOBS) / f->jobs_of_file;
	if (f->files != FULL_FILES - 1 || f->jobs_of_file % JOBS)
		return -EDOM;
	for (uint32_t i = 0; i <= f->files && !ret; i++) {
		struct rk_client *c = &f->c[i];

		ret = full_open(c, ATTACKER);
		if (!ret)
			ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &f->t);
		for (int k = 0; k < JOBS; k++) {
			rk_job_ext(&f->jobs[k], &f->t, 1, NULL, NULL);
			f->jobs[k].core_mask = 1;
			f->jobs[k].timeout_ns = LONGEST_MS * RK_MS;
		}
		for (uint64_t n = 0; i < f->files && n < f->jobs_of_file && !ret; n += JOBS)
			ret = rk_submit_ext(c->fd, f->jobs, JOBS, NULL);
	}
	return ret;
}

static void full_fini(struct full *f)
{
	for (int i = 0; i < FULL_FILES; i++)
		if (f->c[i].fd > 0)
			rk_client_fini(&f->c[i]);
}

#define REQUIRE_SPEED()								\
	do {									\
		RK_REQUIRE_MODEL();						\
		if (rk_slow() > 1 || rk_no_iommu())				\
			SKIP(return, "jobs that hang would be given up before so many were queued"); \
	} while (0)

RK_TEST_F_TIMEOUT(users, jobs_of_one_are_not_anothers, 300,
		  "a user can queue jobs up to its limit, and others can theirs")
{
	static struct full f;
	struct pollfd room = { .events = POLLOUT };
	struct rk_client other;
	struct rv_chain chain;
	int ret = 0, vendor;

	REQUIRE_SPEED();
	rk_module_param("max_job_ms", LONGEST_MS);
	/* All do: if one is given up while others are queued, the next one hangs. */
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 0);
	ASSERT_EQ(0, full_init(&f, self->fd));
	/* No more than were given up, of the file that has none. */
	for (int i = 0; i < 16 && !ret; i++)
		ret = rk_submit_ext(f.c[f.files].fd, f.jobs, 1, NULL);
	EXPECT_EQ(-EBUSY, ret);
	room.fd = f.c[f.files].fd;
	EXPECT_EQ(0, poll(&room, 1, 0));

	/* On the cores that do not hang. */
	ASSERT_EQ(0, full_open(&other, VICTIM));
	room.fd = other.fd;
	EXPECT_EQ(1, poll(&room, 1, 0));
	for (int i = 0; i < 100; i++)
		EXPECT_EQ(0, rk_client_run(&other, i));
	EXPECT_EQ(0, rk_fdinfo(other.fd, "rknpu-refused-jobs"));
	rk_client_fini(&other);
	vendor = rk_open_as(VICTIM, rv_open);
	if (vendor >= 0) {
		ASSERT_EQ(0, rv_chain_init(&chain, vendor, 3, 0, 0));
		for (int i = 0; i < 20; i++) {
			EXPECT_EQ(0, rv_chain_run(&chain, i));
		}
		rv_chain_fini(&chain);
		close(vendor);
	}

	/* Those of a file that goes make room. */
	rk_client_fini(&f.c[0]);
	f.c[0].fd = 0;
	room.fd = f.c[f.files].fd;
	EXPECT_EQ(1, poll(&room, 1, 60000));
	EXPECT_EQ(0, rk_submit_ext(f.c[f.files].fd, f.jobs, 1, NULL));
	full_fini(&f);
	rk_model_calm();
	EXPECT_EQ(0, rk_run_on_every_core(self->fd, 1));
}

RK_TEST_F_TIMEOUT(users, room_wakes_who_has_it, 300,
		  "poll() returns when its file and user have room, whoever's job made it")
{
	static struct full f;
	struct pollfd room = { .events = POLLOUT };

	REQUIRE_SPEED();
	rk_module_param("max_job_ms", LONGEST_MS);
	rk_latency_us(4000000);
	ASSERT_EQ(0, full_init(&f, self->fd));
	room.fd = f.c[f.files].fd;
	ASSERT_EQ(0, poll(&room, 1, 0));
	/* The files take turns: there is room for the user before any of them has some itself. */
	rk_latency_us(2000);
	EXPECT_EQ(1, poll(&room, 1, 100000));
	for (uint32_t i = 0; i < f.files; i++) {
		room.fd = f.c[i].fd;
		EXPECT_EQ(0, poll(&room, 1, 0)) TH_LOG("file %u", i);
	}
	full_fini(&f);
}

RK_HARNESS_MAIN
