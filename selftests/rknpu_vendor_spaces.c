// SPDX-License-Identifier: GPL-2.0-only
/*
 * Domains and address spaces of the vendor's uAPI: whose objects have addresses where.
 *
 * boot: vendor
 * boot: dtvendor
 * boot: armhfvend
 * boot: novirq
 * boot: noiommulib
 * boot: noviommu
 * boot: noviommdis
 * boot: debug-vendor
 * boot: kcsan-exec
 */
#define _GNU_SOURCE
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

RK_HARNESS_MAIN
