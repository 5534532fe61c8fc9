// SPDX-License-Identifier: GPL-2.0-only
/*
 * Domains and address spaces of the vendor's uAPI: whose objects have addresses where.
 *
 * boot: vendor
 * boot: dtvendor
 * boot: clock
 * boot: armhfvend
 * boot: novirq
 * boot: noiommulib
 * boot: noviommu
 * boot: noviommdis
 * boot: debug-vendor
 * boot: kcsan-exec
 * boot: irqtime
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

RV_FIXTURE(vendor);

RK_TEST_F(vendor, every_domain_works, "jobs run in each of the 16 domains")
{
	for (int d = 0; d < DRM_RKNPU_DOMAINS; d++) {
		struct drm_rknpu_submit s;
		struct rv_chain c;

		ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, d));
		ASSERT_EQ(0, rv_chain_fill(&c, d));
		rv_chain_submit(&c, &s);
		s.iommu_domain_id = d;
		EXPECT_EQ(0, rv_submit(self->fd, &s)) TH_LOG("domain %d", d);
		EXPECT_EQ(0, rv_chain_wrong(&c, d + 1)) TH_LOG("domain %d", d);
		rv_chain_fini(&c);
	}
}

/* As librknnrt 1.2.0 does, which was made for drivers before 0.9.6. */
RK_TEST_F(vendor, programs_in_place_of_a_domain,
	  "an object of the file where the domain is stands for domain 0")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 0));
	rv_chain_submit(&c, &s);
	s.iommu_domain_id = (uint32_t)c.bo.obj;
	s.reserved = c.bo.obj >> 32;
	EXPECT_EQ(0, rv_submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 1));
	/* No object of this file. */
	s.iommu_domain_id ^= 1u << 31;
	EXPECT_EQ(-EINVAL, rv_submit(self->fd, &s));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, objects_are_in_their_domain_only, "an object has no address in another domain")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 3));
	rv_chain_submit(&c, &s);
	s.iommu_domain_id = 4;
	EXPECT_EQ(-EFAULT, rv_submit(self->fd, &s));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, files_of_a_process_share_addresses,
	  "two files of a process have one address space, as runtimes expect")
{
	struct rv_chain c;
	int other = rv_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 60));
	EXPECT_EQ(0, rv_chain_submit_by(&c, other));
	EXPECT_EQ(0, rv_chain_wrong(&c, 61));
	rv_chain_fini(&c);
	close(other);
}

RK_TEST_F(vendor, cookies_mean_nothing_to_other_files, "cookies of one file are unknown to another")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;
	int other = rv_open();
	struct rv_bo bo;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	rv_chain_submit(&c, &s);
	EXPECT_EQ(-EINVAL, rv_submit(other, &s));
	bo = c.bo;
	bo.fd = other;
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 3, 0, 4096));
	rv_chain_fini(&c);
	close(other);
}

RK_TEST_F(vendor, processes_do_not_share_addresses, "another process has another address space")
{
	struct rv_chain c;
	int status;
	pid_t pid;

	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 50));
	pid = fork();
	if (!pid) {
		int fd = rv_open();

		_exit(fd >= 0 && rv_chain_submit_by(&c, fd) == -EFAULT ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	/* Untouched. */
	EXPECT_EQ(0, rv_chain_wrong(&c, ~50 & 0xff));
	EXPECT_EQ(0, rv_chain_run(&c, 1));
	rv_chain_fini(&c);
}

#define OTHER		1234
#define JOBS		400
#define TASK_US		20
#define LONG_US		800000

/* On core 0, each in the next one's domain, of which there are @spaces; the last one has a fence. */
static int queue_jobs(struct rv_chain *c, uint32_t spaces, uint32_t n, int *fence)
{
	int ret = 0;

	for (uint32_t i = 0; i < n && !ret; i++) {
		struct drm_rknpu_submit s;

		rv_chain_submit(&c[i % spaces], &s);
		s.flags |= DRM_RKNPU_JOB_NONBLOCK;
		if (i == n - 1)
			s.flags |= DRM_RKNPU_JOB_FENCE_OUT;
		s.core_mask = 1;
		s.iommu_domain_id = i % spaces;
		ret = rv_submit(c->fd, &s);
		*fence = s.fence_fd;
	}
	return ret;
}

RK_TEST_F_TIMEOUT(vendor, changes_of_space_are_paid_for, 120,
		  "who changes its address space with each job pays for the time, if another user waits")
{
	struct rv_chain first, a[2], b;
	int fd[2], fence[3];
	long long jobs;

	RK_REQUIRE_MODEL();
	RK_REQUIRE_IOMMU();
	if (!getenv("RKNPU_ICOUNT"))
		SKIP(return, "an interrupt takes about as long as a change, without -icount");
	for (int i = 0; i < 2; i++) {
		fd[i] = rk_open_as(OTHER + i, rv_open);
		ASSERT_LE(0, fd[i]);
	}
	ASSERT_EQ(0, rv_chain_init(&first, fd[0], 1, 0, 0));
	ASSERT_EQ(0, rv_chain_init(&a[0], self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_init(&a[1], self->fd, 1, 0, 1));
	ASSERT_EQ(0, rv_chain_init(&b, fd[1], 1, 0, 0));
	rk_latency_us(LONG_US);
	ASSERT_EQ(0, queue_jobs(&first, 1, 1, &fence[0]));
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_BUSY, 1, 20000));
	jobs = rk_core_stat(0, "jobs");
	rk_latency_us(TASK_US);
	ASSERT_EQ(0, queue_jobs(a, 2, JOBS, &fence[1]));
	ASSERT_EQ(0, queue_jobs(&b, 1, JOBS, &fence[2]));
	/* They have waited for it, all of them. */
	ASSERT_EQ(jobs, rk_core_stat(0, "jobs"));
	EXPECT_EQ(0, rv_wait_fence(fence[2]));
	/* As many if changes cost nothing. */
	EXPECT_GT(JOBS * 3 / 4, rk_core_stat(0, "jobs") - jobs - JOBS - 1);
	EXPECT_EQ(0, rv_wait_fence(fence[0]));
	EXPECT_EQ(0, rv_wait_fence(fence[1]));
	rv_chain_fini(&first);
	rv_chain_fini(&a[0]);
	rv_chain_fini(&a[1]);
	rv_chain_fini(&b);
	close(fd[0]);
	close(fd[1]);
}

/* On core 0, by turns in both files and domains, each after the one before; the last one has a fence. */
static int queue_by_turns(struct rv_chain *c, uint32_t n, int *fence)
{
	int ret = 0;

	*fence = -1;
	for (uint32_t i = 0; i < n && !ret; i++) {
		struct drm_rknpu_submit s;
		int before = *fence;

		rv_chain_submit(&c[i % 2], &s);
		s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
		s.core_mask = 1;
		s.iommu_domain_id = 1 + i % 2;
		if (before >= 0) {
			s.flags |= DRM_RKNPU_JOB_FENCE_IN;
			s.fence_fd = before;
		}
		ret = rv_submit(c[i % 2].fd, &s);
		*fence = s.fence_fd;
		if (before >= 0)
			close(before);
	}
	return ret;
}

#define LONG_TASKS	6
RK_TEST_F_TIMEOUT(vendor, changes_between_users_are_paid_for, 120,
		  "two users whose jobs wait for each other have no more of a core than a third one")
{
	struct rv_chain first, a[2], b;
	long long jobs, theirs;
	int fd[3], fence[3];

	RK_REQUIRE_MODEL();
	RK_REQUIRE_IOMMU();
	if (!getenv("RKNPU_ICOUNT"))
		SKIP(return, "an interrupt takes about as long as a change, without -icount");
	for (int i = 0; i < 3; i++) {
		/* Not those of the case above, who may have had more than others. */
		fd[i] = rk_open_as(OTHER + 10 + i, rv_open);
		ASSERT_LE(0, fd[i]);
	}
	ASSERT_EQ(0, rv_chain_init(&first, self->fd, LONG_TASKS, 0, 0));
	/* All are one process, whose files have the domains in common. */
	ASSERT_EQ(0, rv_chain_init(&a[0], fd[0], 1, 0, 1));
	ASSERT_EQ(0, rv_chain_init(&a[1], fd[1], 1, 0, 2));
	ASSERT_EQ(0, rv_chain_init(&b, fd[2], 1, 0, 0));
	rk_latency_us(LONG_US);
	ASSERT_EQ(0, queue_jobs(&first, 1, 1, &fence[0]));
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_BUSY, 1, 20000));
	jobs = rk_core_stat(0, "jobs");
	ASSERT_EQ(0, queue_by_turns(a, 2 * JOBS, &fence[1]));
	ASSERT_EQ(0, queue_jobs(&b, 1, JOBS, &fence[2]));
	rk_latency_us(TASK_US);
	ASSERT_EQ(jobs, rk_core_stat(0, "jobs"));
	EXPECT_EQ(0, rv_wait_fence(fence[2]));
	theirs = rk_core_stat(0, "jobs") - jobs - JOBS - 1;
	printf("# beside %d jobs of the third user: %lld\n", JOBS, theirs);
	EXPECT_GT(JOBS, theirs);
	EXPECT_EQ(0, rv_wait_fence(fence[0]));
	EXPECT_EQ(0, rv_wait_fence(fence[1]));
	rv_chain_fini(&first);
	rv_chain_fini(&a[0]);
	rv_chain_fini(&a[1]);
	rv_chain_fini(&b);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
}

RK_HARNESS_MAIN
