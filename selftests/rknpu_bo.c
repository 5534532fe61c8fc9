// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers: sizes, content, mmap, addresses, and how long they live.
 *
 * boot: memory OLD TEST_LIMIT=900
 * Clients of 32 bits, one boot for each uAPI.
 * boot: armhf LONG ARMHF TEST_LIMIT=400 --module vgem --module ours
 * boot: noiommujob
 * boot: noiommubig
 * boot: long
 * boot: debug-main KERNEL=debug TEST_LIMIT=3600
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

FIXTURE(bo) {
	int fd;
};

FIXTURE_SETUP(bo)
{
	RK_OPEN_OR_SKIP(self->fd);
}

FIXTURE_TEARDOWN(bo)
{
	rk_model_calm();
	close(self->fd);
}

static int create(int fd, struct drm_rocket_create_bo *c, uint32_t size)
{
	*c = (struct drm_rocket_create_bo) { .size = size };
	return rk_ioctl(fd, DRM_IOCTL_ROCKET_CREATE_BO, c);
}

static uint32_t pages(uint32_t size)
{
	return (size + RK_PAGE - 1) & ~(RK_PAGE - 1);
}

/* ---- sizes ---- */

FIXTURE(size) {
	int fd;
};

FIXTURE_VARIANT(size) {
	uint32_t size;
};

FIXTURE_VARIANT_ADD(size, one) { .size = 1 };
FIXTURE_VARIANT_ADD(size, page_minus_1) { .size = 4095 };
FIXTURE_VARIANT_ADD(size, page) { .size = 4096 };
FIXTURE_VARIANT_ADD(size, page_plus_1) { .size = 4097 };
FIXTURE_VARIANT_ADD(size, odd) { .size = 1234567 };
FIXTURE_VARIANT_ADD(size, dte) { .size = 4u << 20 };
FIXTURE_VARIANT_ADD(size, mib64) { .size = 64u << 20 };

FIXTURE_SETUP(size)
{
	RK_OPEN_OR_SKIP(self->fd);
}

FIXTURE_TEARDOWN(size)
{
	close(self->fd);
}

/* memcmp() is many times faster than a loop in an emulated guest. */
static long nonzero(const uint8_t *p, size_t n)
{
	static const uint8_t zeroes[65536];

	for (size_t done = 0; done < n; done += sizeof(zeroes)) {
		size_t part = n - done < sizeof(zeroes) ? n - done : sizeof(zeroes);

		if (memcmp(p + done, zeroes, part))
			return done;
	}
	return -1;
}

RK_TEST_F(size, works, "a BO of this size is zeroed, mapped, aligned, and keeps what is written")
{
	struct rk_bo bo;

	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, variant->size));
	EXPECT_NE(0, bo.handle);
	EXPECT_EQ(0, bo.iova % RK_PAGE);
	EXPECT_GE(1ull << 32, bo.iova + pages(variant->size));
	EXPECT_EQ(-1, nonzero(bo.map, variant->size));
	/* The rest of the last page is ours as well, and clean. */
	EXPECT_EQ(-1, nonzero(bo.map, pages(variant->size)));
	bo.map[variant->size - 1] = 0x5a;
	EXPECT_EQ(0, rk_fini(&bo));
	EXPECT_EQ(0, rk_prep(&bo, 1000));
	EXPECT_EQ(0x5a, bo.map[variant->size - 1]);
	rk_bo_fini(&bo);
}

FIXTURE(bad_size) {
	int fd;
};

FIXTURE_VARIANT(bad_size) {
	uint32_t size;
};

FIXTURE_VARIANT_ADD(bad_size, zero) { .size = 0 };
FIXTURE_VARIANT_ADD(bad_size, r1_gib2_minus_4095) { .size = (1u << 31) - 4095 };
FIXTURE_VARIANT_ADD(bad_size, r1_gib2_minus_1) { .size = (1u << 31) - 1 };
FIXTURE_VARIANT_ADD(bad_size, r1_gib2) { .size = 1u << 31 };
FIXTURE_VARIANT_ADD(bad_size, r1_gib3) { .size = 3u << 30 };
FIXTURE_VARIANT_ADD(bad_size, r1_gib4_minus_4096) { .size = -4096u };
FIXTURE_VARIANT_ADD(bad_size, r1_gib4_minus_1) { .size = UINT32_MAX };

FIXTURE_SETUP(bad_size)
{
	RK_OPEN_OR_SKIP(self->fd);
}

FIXTURE_TEARDOWN(bad_size)
{
	close(self->fd);
}

RK_TEST_F(bad_size, refused, "a BO of this size is refused")
{
	struct drm_rocket_create_bo c;

	EXPECT_EQ(-EINVAL, create(self->fd, &c, variant->size));
	EXPECT_EQ(0, c.handle);
}

/*
 * The largest legal size does not fit the guest's memory: it has to fail
 * without killing anybody and give back what it took.
 */
RK_TEST_F_TIMEOUT(bo, largest_size, 120,
		  "the largest size fails without harm if it does not fit memory, and gives all back")
{
	struct drm_rocket_create_bo c;
	long long before = rk_meminfo("MemAvailable");
	int ret = create(self->fd, &c, (1u << 31) - 4096);

	if (!ret) {
		EXPECT_EQ(0, rk_gem_close(self->fd, c.handle));
	} else {
		EXPECT_EQ(-ENOMEM, ret);
	}
	EXPECT_LT(before - (64ll << 20), rk_meminfo("MemAvailable"));
	EXPECT_EQ(0, rk_run_on_every_core(self->fd, 1));
}

RK_TEST_F(bo, bad_pointer, "CREATE_BO refuses bad pointers")
{
	EXPECT_EQ(-EFAULT, rk_ioctl(self->fd, DRM_IOCTL_ROCKET_CREATE_BO, NULL));
	EXPECT_EQ(-EFAULT, rk_ioctl(self->fd, DRM_IOCTL_ROCKET_CREATE_BO, (void *)-4096l));
}

/*
 * The answer cannot be delivered.  DRM copies it after the driver is done, so
 * the handle stays behind, but no longer than the file: 256 MiB would show.
 */
RK_TEST_F_TIMEOUT(bo, readonly_result, 120,
		  "a BO whose handle could not be told is freed with the file")
{
	struct drm_rocket_create_bo *c, probe;
	long long before = rk_meminfo("MemAvailable");

	c = mmap(NULL, RK_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, c);
	c->size = 8 << 20;
	ASSERT_EQ(0, mprotect(c, RK_PAGE, PROT_READ));
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 8; i++) {
			ASSERT_EQ(-EFAULT, rk_ioctl(self->fd, DRM_IOCTL_ROCKET_CREATE_BO, c));
		}
		close(self->fd);
		self->fd = rk_open();
		ASSERT_LE(0, self->fd);
	}
	for (int i = 0; i < 50 && before - rk_meminfo("MemAvailable") > 64ll << 20; i++)
		rk_sleep_ms(100);
	EXPECT_GT(64ll << 20, before - rk_meminfo("MemAvailable"));
	EXPECT_EQ(0, create(self->fd, &probe, RK_PAGE));
}

/* ---- content ---- */

RK_TEST_F(bo, never_shows_old_data,
	  "a new BO shows nothing of what another client left in its pages")
{
	struct rk_bo bo;

	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(0, rk_bo_init(&bo, self->fd, 8u << 20));
		EXPECT_EQ(-1, nonzero(bo.map, bo.size));
		memset(bo.map, 0xa5, bo.size);
		rk_bo_fini(&bo);
	}
}

RK_TEST_F(bo, data_persists, "data survives unmapping and mapping again")
{
	struct rk_bo bo;
	uint8_t *again;

	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, 1u << 20));
	for (uint32_t i = 0; i < bo.size; i++)
		bo.map[i] = i ^ (i >> 8);
	ASSERT_EQ(0, rk_fini(&bo));
	ASSERT_EQ(0, munmap(bo.map, bo.size));
	again = mmap(NULL, bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, bo.offset);
	ASSERT_NE(MAP_FAILED, again);
	bo.map = again;
	ASSERT_EQ(0, rk_prep(&bo, 1000));
	for (uint32_t i = 0; i < bo.size; i++) {
		ASSERT_EQ((uint8_t)(i ^ (i >> 8)), again[i]);
	}
	rk_bo_fini(&bo);
}

/* ---- mmap ---- */

RK_TEST_F(bo, mmap_twice_is_the_same_memory, "two mappings of a BO show the same memory")
{
	struct rk_bo bo;
	uint8_t *second;

	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, RK_PAGE));
	second = mmap(NULL, RK_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, bo.offset);
	ASSERT_NE(MAP_FAILED, second);
	bo.map[17] = 99;
	EXPECT_EQ(99, second[17]);
	munmap(second, RK_PAGE);
	rk_bo_fini(&bo);
}

RK_TEST_F(bo, mmap_offset_of_64_bits, "a BO's offset for mmap() needs more than 32 bits, whatever the client has")
{
	struct rk_bo bo;
	uint8_t *again;

	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, RK_PAGE));
	EXPECT_LT(UINT32_MAX, bo.offset);
	memset(bo.map, 0x3c, RK_PAGE);
	again = mmap(NULL, RK_PAGE, PROT_READ, MAP_SHARED, self->fd, bo.offset);
	ASSERT_NE(MAP_FAILED, again);
	EXPECT_EQ(0x3c, again[RK_PAGE - 1]);
	munmap(again, RK_PAGE);
	rk_bo_fini(&bo);
}

RK_TEST_F(bo, mmap_part, "the first page of a BO can be mapped alone")
{
	struct rk_bo bo;
	uint8_t *part;

	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, 4 * RK_PAGE));
	bo.map[0] = 33;
	part = mmap(NULL, RK_PAGE, PROT_READ, MAP_SHARED, self->fd, bo.offset);
	ASSERT_NE(MAP_FAILED, part);
	EXPECT_EQ(33, part[0]);
	munmap(part, RK_PAGE);
	rk_bo_fini(&bo);
}

RK_TEST_F(bo, mmap_beyond_end, "a mapping longer than the BO is refused")
{
	struct rk_bo bo;
	void *p;

	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, 2 * RK_PAGE));
	p = mmap(NULL, 3 * RK_PAGE, PROT_READ, MAP_SHARED, self->fd, bo.offset);
	EXPECT_EQ(MAP_FAILED, p);
	EXPECT_EQ(EINVAL, errno);
	p = mmap(NULL, 64u << 20, PROT_READ, MAP_SHARED, self->fd, bo.offset);
	EXPECT_EQ(MAP_FAILED, p);
	rk_bo_fini(&bo);
}

RK_TEST_F(bo, mmap_bad_offset, "an offset that no BO has is refused")
{
	struct rk_bo bo;

	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, RK_PAGE));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, RK_PAGE, PROT_READ, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, RK_PAGE, PROT_READ, MAP_SHARED, self->fd,
				   bo.offset + (1ull << 30)));
	rk_bo_fini(&bo);
}

RK_TEST_F(bo, mmap_private,
	  "a private mapping is refused, as it would swallow what the CPU writes for the NPU")
{
	struct rk_bo bo;
	void *p;

	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, RK_PAGE));
	p = mmap(NULL, RK_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd, bo.offset);
	EXPECT_EQ(MAP_FAILED, p);
	EXPECT_EQ(EINVAL, errno);
	rk_bo_fini(&bo);
}

RK_TEST_F(bo, mmap_offset_of_another_file, "another file's offset is refused")
{
	struct rk_bo bo;
	int other = rk_open();
	void *p;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, RK_PAGE));
	p = mmap(NULL, RK_PAGE, PROT_READ, MAP_SHARED, other, bo.offset);
	EXPECT_EQ(MAP_FAILED, p);
	EXPECT_EQ(EACCES, errno);
	rk_bo_fini(&bo);
	close(other);
}

RK_TEST_F(bo, mapping_outlives_handle_and_file,
	  "a mapping keeps the memory after handle and file are closed")
{
	struct rk_bo bo;
	int fd = rk_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rk_bo_init(&bo, fd, 1u << 20));
	memset(bo.map, 0x3c, bo.size);
	ASSERT_EQ(0, rk_gem_close(fd, bo.handle));
	EXPECT_EQ(0x3c, bo.map[bo.size - 1]);
	close(fd);
	EXPECT_EQ(0x3c, bo.map[0]);
	bo.map[5] = 1;
	EXPECT_EQ(1, bo.map[5]);
	EXPECT_EQ(0, munmap(bo.map, bo.size));
}

RK_TEST_F(bo, mremap_moves, "a mapping can be moved but not grown")
{
	struct rk_bo bo;
	uint8_t *p;

	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, 4 * RK_PAGE));
	bo.map[2 * RK_PAGE] = 7;
	p = mmap(NULL, 4 * RK_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	p = mremap(bo.map, bo.size, bo.size, MREMAP_MAYMOVE | MREMAP_FIXED, p);
	ASSERT_NE(MAP_FAILED, p);
	bo.map = p;
	EXPECT_EQ(7, p[2 * RK_PAGE]);
	/* Growing would reach into what is not ours. */
	EXPECT_EQ(MAP_FAILED, mremap(p, bo.size, 8 * RK_PAGE, MREMAP_MAYMOVE));
	rk_bo_fini(&bo);
}

RK_TEST_F(bo, fork_shares_the_memory, "a child writes to the parent's BO, and both files' jobs run")
{
	struct rk_bo bo;
	int status;
	pid_t pid;

	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, RK_PAGE));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		bo.map[9] = 77;
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(77, bo.map[9]);
	EXPECT_EQ(0, rk_run_on_every_core(self->fd, 1));
	rk_bo_fini(&bo);
}

/* ---- addresses ---- */

RK_TEST_F(bo, r37_iova_never_zero,
	  "no BO is at address 0, which means \"unset\" in register programs")
{
	struct rk_bo bo;

	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, rk_bo_init(&bo, self->fd, RK_PAGE << i));
		EXPECT_NE(0, bo.iova);
		rk_bo_fini(&bo);
	}
}

RK_TEST_F(bo, iova_packed_lowest_first, "addresses are given lowest first without gaps")
{
	struct rk_bo a, b, c, d;

	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rk_bo_init(&a, self->fd, 3 * RK_PAGE));
	ASSERT_EQ(0, rk_bo_init(&b, self->fd, RK_PAGE - 5));
	ASSERT_EQ(0, rk_bo_init(&c, self->fd, RK_PAGE));
	/* Mesa's programs run over the end of some BOs into the next. */
	EXPECT_EQ(a.iova + 3 * RK_PAGE, b.iova);
	EXPECT_EQ(b.iova + RK_PAGE, c.iova);
	EXPECT_GE(1u << 20, a.iova);
	rk_bo_fini(&b);
	ASSERT_EQ(0, rk_bo_init(&d, self->fd, RK_PAGE));
	EXPECT_EQ(a.iova + 3 * RK_PAGE, d.iova);
	rk_bo_fini(&a);
	rk_bo_fini(&c);
	rk_bo_fini(&d);
}

RK_TEST_F(bo, iova_never_overlaps, "addresses of BOs never overlap while BOs come and go")
{
	struct rk_bo bo[128];

	for (size_t i = 0; i < ARRAY_SIZE(bo); i++) {
		ASSERT_EQ(0, rk_bo_init(&bo[i], self->fd, 1 + (i * 7919) % 50000));
		if (i % 3 == 2) {
			size_t k = i / 2;

			rk_bo_fini(&bo[k]);
			ASSERT_EQ(0, rk_bo_init(&bo[k], self->fd, 1 + (i * 104729) % 20000));
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(bo); i++)
		for (size_t j = 0; j < i; j++) {
			EXPECT_TRUE(bo[i].iova + pages(bo[i].size) <= bo[j].iova ||
				    bo[j].iova + pages(bo[j].size) <= bo[i].iova)
				TH_LOG("%zu and %zu overlap", i, j);
		}
	for (size_t i = 0; i < ARRAY_SIZE(bo); i++)
		rk_bo_fini(&bo[i]);
}

RK_TEST_F(bo, iova_per_file, "each file has the whole address space")
{
	struct rk_bo a, b;
	int other = rk_open();

	RK_REQUIRE_IOMMU();
	ASSERT_LE(0, other);
	ASSERT_EQ(0, rk_bo_init(&a, self->fd, RK_PAGE));
	ASSERT_EQ(0, rk_bo_init(&b, other, RK_PAGE));
	EXPECT_EQ(a.iova, b.iova);
	rk_bo_fini(&a);
	rk_bo_fini(&b);
	close(other);
}

RK_TEST_F(bo, reuse_many_times, "a freed address is given again, many times over")
{
	struct rk_bo bo;
	uint64_t iova = 0;

	for (int i = 0; i < (rk_long() ? 1000 : 200); i++) {
		ASSERT_EQ(0, rk_bo_init(&bo, self->fd, 64 * RK_PAGE));
		if (!i)
			iova = bo.iova;
		ASSERT_EQ(iova, bo.iova);
		bo.map[0] = 1;
		rk_bo_fini(&bo);
	}
}

#define IMPORTS		20

RK_TEST_F(bo, address_of_a_closed_import,
	  "the address of an import that is closed right after a job is given to the next import")
{
	struct rk_client c;
	struct rk_bo bo;
	uint64_t iova = 0;
	int same = 0, buf;

	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_BO_INFO);
	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rk_client_init(&c));
	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, 1u << 20));
	buf = rk_export(self->fd, bo.handle);
	ASSERT_LE(0, buf);
	for (int i = 0; i < IMPORTS; i++) {
		struct drm_rocket_bo_info info = { 0 };

		ASSERT_EQ(0, drmPrimeFDToHandle(c.fd, buf, &info.handle));
		ASSERT_EQ(0, rk_ioctl(c.fd, DRM_IOCTL_ROCKET_GET_BO_INFO, &info));
		same += info.dma_address == iova;
		iova = info.dma_address;
		ASSERT_EQ(0, rk_client_run(&c, 1));
		ASSERT_EQ(0, rk_gem_close(c.fd, info.handle));
	}
	/* A core may be at the end of its job a moment longer than who waited. */
	EXPECT_LT(IMPORTS * 3 / 4, same);
	close(buf);
	rk_bo_fini(&bo);
	rk_client_fini(&c);
}

/* ---- handles ---- */

RK_TEST_F(bo, handle_of_another_file, "another file's handle is unknown")
{
	struct rk_bo bo;
	int other = rk_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, RK_PAGE));
	EXPECT_EQ(-ENOENT, rk_prep_until(other, bo.handle, 0));
	EXPECT_EQ(-EINVAL, rk_gem_close(other, bo.handle));
	rk_bo_fini(&bo);
	close(other);
}

RK_TEST_F(bo, close_twice, "a handle can be closed once")
{
	struct drm_rocket_create_bo c;

	ASSERT_EQ(0, create(self->fd, &c, RK_PAGE));
	EXPECT_EQ(0, rk_gem_close(self->fd, c.handle));
	EXPECT_EQ(-EINVAL, rk_gem_close(self->fd, c.handle));
	EXPECT_EQ(-ENOENT, rk_prep_until(self->fd, c.handle, 0));
}

RK_TEST_F(bo, close_file_with_everything_open, "closing a file frees all its BOs")
{
	for (int round = 0; round < 20; round++) {
		struct drm_rocket_create_bo c;
		int fd = rk_open();

		ASSERT_LE(0, fd);
		for (int i = 0; i < 50; i++) {
			ASSERT_EQ(0, create(fd, &c, RK_PAGE << (i % 4)));
		}
		close(fd);
	}
	EXPECT_EQ(0, rk_run_on_every_core(self->fd, 1));
}

/* ---- lifetime against jobs ---- */

RK_TEST_F(bo, r2_freed_while_the_job_is_queued,
	  "BOs may be closed while jobs that use them are queued")
{
	struct rk_client c, spare;

	ASSERT_EQ(0, rk_client_init(&c));
	ASSERT_EQ(0, rk_client_init(&spare));
	rk_latency_us(30000);
	for (int i = 0; i < 6; i++) {
		struct rk_bo out, in;

		ASSERT_EQ(0, rk_bo_init(&in, c.fd, RK_BYTES));
		ASSERT_EQ(0, rk_bo_init(&out, c.fd, RK_BYTES));
		ASSERT_EQ(0, rk_submit_op(&c.inc, &in, &out));
		rk_bo_fini(&in);
		rk_bo_fini(&out);
	}
	rk_latency_us(0);
	EXPECT_EQ(0, rk_client_run(&c, 11));
	EXPECT_EQ(0, rk_client_run(&spare, 12));
	rk_client_fini(&c);
	rk_client_fini(&spare);
}

/*
 * The address of a BO that a queued job still uses must not be given to a new
 * one, or the job would write over it.
 */
RK_TEST_F(bo, address_not_reused_while_in_use,
	  "the address of a BO that a queued job writes is not given to a new BO")
{
	struct rk_client c;
	struct rk_bo out, fresh;
	uint64_t iova;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_client_init(&c));
	ASSERT_EQ(0, rk_bo_fill(&c.in, 20, RK_BYTES));
	ASSERT_EQ(0, rk_bo_init(&out, c.fd, RK_BYTES));
	iova = out.iova;
	rk_latency_us(100000);
	ASSERT_EQ(0, rk_submit_op(&c.inc, &c.in, &out));
	rk_bo_fini(&out);
	ASSERT_EQ(0, rk_bo_init(&fresh, c.fd, RK_BYTES));
	EXPECT_NE(iova, fresh.iova);
	ASSERT_EQ(0, rk_prep(&c.in, 5000));
	rk_sleep_ms(200);
	EXPECT_EQ(-1, nonzero(fresh.map, RK_BYTES));
	rk_latency_us(0);
	EXPECT_EQ(0, rk_client_run(&c, 1));
	rk_bo_fini(&fresh);
	rk_client_fini(&c);
}

/*
 * Mesa lists neither program nor weights: whatever a queued job may use has to
 * stay mapped until it is over.
 */
RK_TEST_F(bo, program_freed_while_the_job_is_queued,
	  "a program may be closed while jobs that run it are queued")
{
	struct rk_client c;
	struct rk_op op;

	ASSERT_EQ(0, rk_client_init(&c));
	rk_latency_us(30000);
	ASSERT_EQ(0, rk_op_init(&op, c.fd, RK_M, 1, 3));
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, rk_submit_op(&op, &c.in, &c.out));
	}
	rk_op_fini(&op);
	EXPECT_EQ(0, rk_bo_differs(&c.out, 3, RK_BYTES));
	rk_latency_us(0);
	EXPECT_EQ(0, rk_client_run(&c, 1));
	rk_client_fini(&c);
}

static void queue_and_vanish(bool kill_me)
{
	struct rk_client c;

	if (rk_client_init(&c))
		_exit(2);
	rk_latency_us(20000);
	for (int i = 0; i < 20; i++)
		if (rk_submit_op(&c.inc, &c.in, &c.out))
			_exit(3);
	if (kill_me)
		raise(SIGKILL);
	_exit(0);
}

static int vanish(bool kill_me)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		queue_and_vanish(kill_me);
	waitpid(pid, &status, 0);
	return kill_me ? !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) : status;
}

RK_TEST_F(bo, r2_exit_with_jobs_in_flight,
	  "a client may exit with jobs queued, and others' jobs run")
{
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, vanish(false));
		rk_latency_us(0);
		EXPECT_EQ(0, rk_run_on_every_core(self->fd, 2));
	}
}

RK_TEST_F(bo, r2_killed_with_jobs_in_flight,
	  "a client may be killed with jobs queued, and others' jobs run")
{
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, vanish(true));
		rk_latency_us(0);
		EXPECT_EQ(0, rk_run_on_every_core(self->fd, 2));
	}
}

RK_TEST_F(bo, file_closed_by_the_last_of_two_processes,
	  "a file lives until the last process closes it, without the handles closed before")
{
	struct drm_rocket_wait_job w;
	int status, closed[2];
	struct rk_client c;
	pid_t pid;

	ASSERT_EQ(0, rk_client_init(&c));
	ASSERT_EQ(0, pipe(closed));
	rk_latency_us(20000);
	ASSERT_EQ(0, rk_submit_op(&c.inc, &c.in, &c.out));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(closed[1]);
		if (read(closed[0], &status, 1) || rk_wait_job(c.fd, rk_last_job(c.fd), RK_FOREVER, &w))
			_exit(2);
		rk_latency_us(0);
		_exit(rk_client_run(&c, 4) ? 1 : 0);
	}
	close(closed[0]);
	rk_client_fini(&c);
	close(closed[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	/* The child keeps the file, but its BO handles were closed with ours. */
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(1, WEXITSTATUS(status));
	EXPECT_EQ(0, rk_run_on_every_core(self->fd, 1));
}

/* ---- dma-buf ---- */

RK_TEST_F(bo, r2_dmabuf_keeps_memory_after_close,
	  "a dma-buf keeps the memory after BO and file are closed")
{
	struct rk_bo bo;
	int fd = rk_open(), buf;
	uint8_t *p;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rk_bo_init(&bo, fd, 4 * RK_PAGE));
	memset(bo.map, 0x77, bo.size);
	buf = rk_export(fd, bo.handle);
	if (buf == -EOPNOTSUPP || buf == -ENOSYS)
		SKIP(return, "no dma-buf export");
	ASSERT_LE(0, buf) TH_LOG("export: %d", buf);
	EXPECT_EQ(bo.size, lseek(buf, 0, SEEK_END));
	rk_bo_fini(&bo);
	close(fd);
	p = mmap(NULL, 4 * RK_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, buf, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(0x77, p[0]);
	EXPECT_EQ(0x77, p[4 * RK_PAGE - 1]);
	p[1] = 1;
	munmap(p, 4 * RK_PAGE);
	close(buf);
	EXPECT_EQ(0, rk_run_on_every_core(self->fd, 1));
}

RK_TEST_F(bo, dmabuf_reimport_is_the_same_handle,
	  "a BO exported and imported in one file keeps its handle")
{
	struct rk_bo bo;
	uint32_t handle;
	int buf;

	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, RK_PAGE));
	buf = rk_export(self->fd, bo.handle);
	if (buf == -EOPNOTSUPP || buf == -ENOSYS)
		SKIP(return, "no dma-buf export");
	ASSERT_LE(0, buf);
	ASSERT_EQ(0, drmPrimeFDToHandle(self->fd, buf, &handle));
	EXPECT_EQ(bo.handle, handle);
	close(buf);
	rk_bo_fini(&bo);
}

/*
 * Whether another file may import is the driver's choice; what it must not do
 * is run a job on a buffer that has no address there.
 */
RK_TEST_F(bo, r35_dmabuf_in_another_file,
	  "a job never runs on a BO that has no address in its file")
{
	struct rk_client c;
	struct drm_rocket_task task;
	struct drm_rocket_job job;
	struct rk_bo bo;
	uint32_t handle;
	int buf, ret;

	ASSERT_EQ(0, rk_client_init(&c));
	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, RK_PAGE));
	buf = rk_export(self->fd, bo.handle);
	if (buf == -EOPNOTSUPP || buf == -ENOSYS)
		SKIP(return, "no dma-buf export");
	ASSERT_LE(0, buf);
	ret = drmPrimeFDToHandle(c.fd, buf, &handle) ? -errno : 0;
	if (!ret) {
		ASSERT_EQ(0, rk_op_task(&c.inc, c.in.iova, c.out.iova, &task));
		rk_job(&job, &task, 1, &handle, 1, &c.out.handle, 1);
		ret = rk_submit(c.fd, &job, 1);
		EXPECT_TRUE(ret == 0 || ret == -EINVAL) TH_LOG("submit: %d", ret);
		/* It reads memory that it did not name. */
		EXPECT_EQ(0, rk_prep(&c.out, 5000));
		EXPECT_EQ(0, rk_gem_close(c.fd, handle));
	} else {
		EXPECT_TRUE(ret == -EOPNOTSUPP || ret == -EINVAL) TH_LOG("import: %d", ret);
	}
	close(buf);
	EXPECT_EQ(0, rk_client_run(&c, 2));
	rk_bo_fini(&bo);
	rk_client_fini(&c);
}

/* Handles are numbers from 1 on. */
#define GUESSES		3
#define GUESS_ROUNDS	(rk_slow() > 1 ? 100 : 500)
/* So large that others wait while it is mapped. */
#define GUESS_BYTES	(32u << 20)

/* That are imported, by a thread each, so that they wait for each other. */
#define GUESS_BUFS	2

struct guess {
	int fd;
	int buf[GUESS_BUFS];
	atomic_int next;
	atomic_bool stop;
	atomic_int closed;
};

static void *guess_handles(void *arg)
{
	struct guess *g = arg;

	while (!g->stop)
		for (uint32_t i = 1; i <= GUESSES; i++)
			g->closed += !rk_gem_close(g->fd, i);
	return NULL;
}

static void *guess_import(void *arg)
{
	struct guess *g = arg;
	int buf = g->buf[g->next++];
	uint32_t handle;

	while (!g->stop)
		if (!drmPrimeFDToHandle(g->fd, buf, &handle))
			rk_gem_close(g->fd, handle);
	return NULL;
}

FIXTURE(guess) {
	struct rk_bo bo[GUESS_BUFS];
	struct guess g;
	long long vms;
};

FIXTURE_VARIANT(guess) {
	int (*open)(void);
	int (*make)(int fd, struct drm_rocket_create_bo *c, uint32_t size);
};

FIXTURE_VARIANT_ADD(guess, rocket) { rk_open, create };
/* There it imports alone. */
FIXTURE_VARIANT_ADD(guess, rknpu) { rv_open, NULL };

FIXTURE_SETUP(guess)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	if (rk_stat("vms") < 0)
		SKIP(return, "no debugfs");
	for (int i = 0; i < GUESS_BUFS; i++) {
		if (rk_bo_init(&self->bo[i], fd, GUESS_BYTES))
			SKIP(return, "no memory");
		self->g.buf[i] = rk_export(fd, self->bo[i].handle);
		ASSERT_LE(0, self->g.buf[i]);
	}
	self->vms = rk_stat("vms");
	self->g.fd = variant->open();
	if (self->g.fd < 0)
		SKIP(return, "no such node");
}

FIXTURE_TEARDOWN(guess)
{
	for (int i = 0; i < GUESS_BUFS; i++) {
		close(self->g.buf[i]);
		rk_bo_fini(&self->bo[i]);
	}
}

RK_TEST_F_TIMEOUT(guess, closed_before_it_is_there, 240,
		  "a thread that guesses handles and closes them while others get them leaves nothing behind")
{
	struct drm_rocket_create_bo c;
	pthread_t t[1 + GUESS_BUFS];

	for (int i = 0; i <= GUESS_BUFS; i++) {
		ASSERT_EQ(0, pthread_create(&t[i], NULL, i ? guess_import : guess_handles, &self->g));
	}
	for (int i = 0; i < GUESS_ROUNDS && variant->make; i++) {
		ASSERT_EQ(0, variant->make(self->g.fd, &c, RK_PAGE));
		rk_gem_close(self->g.fd, c.handle);
	}
	while (self->g.closed < GUESS_ROUNDS)
		rk_sleep_ms(1);
	self->g.stop = true;
	for (int i = 0; i <= GUESS_BUFS; i++)
		pthread_join(t[i], NULL);
	close(self->g.fd);
	EXPECT_TRUE(rk_stat_settles("vms", self->vms));
}

RK_HARNESS_MAIN
