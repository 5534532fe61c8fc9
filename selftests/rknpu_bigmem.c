// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory beyond 4 GiB: address spaces that hold more than that together, pages and page
 * tables whose physical addresses need more than 32 bits.
 *
 * More than fits below 4 GiB. It takes 5 GiB of the host's memory and two minutes of a CPU.
 * boot: bigmem RARE TEST_LIMIT=900 --dt vendor --qemu-arg -m --qemu-arg 6G --param max_memory_percent=90 --param max_user_memory_percent=90
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define GIB		(1ULL << 30)
#define SPACES		2
#define PIECES		9
#define PIECE		(256u << 20)

FIXTURE(bigmem) {
	int fd;
};

FIXTURE_SETUP(bigmem)
{
	/* What they take, and some for all else. */
	if ((uint64_t)sysconf(_SC_PHYS_PAGES) * RK_PAGE < SPACES * PIECES * (uint64_t)PIECE + GIB)
		SKIP(return, "it takes a machine with 6 GiB of memory");
	RK_OPEN_OR_SKIP(self->fd);
}

FIXTURE_TEARDOWN(bigmem)
{
	rk_model_calm();
	close(self->fd);
}

#define DUMP_MAX	(128 * 1024)
#define DUMPS		"/sys/class/devcoredump/devcd*/data"

/* Of the dump that a failed job left: the number behind @key; the dump is gone then. */
static bool dumped(const char *key, uint64_t *value)
{
	static char text[DUMP_MAX + 1];
	const char *at = NULL;
	FILE *f = NULL;
	glob_t g;

	for (int i = 0; i < 10000 && !f; i++) {
		rk_sleep_ms(1);
		if (glob(DUMPS, 0, NULL, &g))
			continue;
		f = fopen(g.gl_pathv[0], "re");
		if (f) {
			text[fread(text, 1, DUMP_MAX, f)] = 0;
			fclose(f);
			at = strstr(text, key);
			rk_write_file(g.gl_pathv[0], "1");
		}
		globfree(&g);
	}
	if (at)
		*value = strtoull(at + strlen(key), NULL, 0);
	return at;
}

struct space {
	struct rk_client c;
	struct rk_bo piece[PIECES];
};

static int space_init(struct space *s)
{
	int ret = rk_client_init(&s->c);

	for (int i = 0; i < PIECES && !ret; i++)
		ret = rk_bo_init(&s->piece[i], s->c.fd, PIECE);
	return ret;
}

static void space_fini(struct space *s)
{
	for (int i = 0; i < PIECES; i++)
		rk_bo_fini(&s->piece[i]);
	rk_client_fini(&s->c);
}

/* Adds 1 to what is at @in and puts it @at bytes into @out. */
static int add(struct space *s, const struct rk_bo *in, uint64_t in_at, const struct rk_bo *out,
	       uint64_t at)
{
	struct drm_rocket_task t;
	int ret = rk_op_task(&s->c.inc, in->iova + in_at, out->iova + at, &t);

	if (!ret)
		ret = rk_fini(&s->c.inc.bo);
	if (!ret)
		ret = rk_submit_task(s->c.fd, &t, in, out);
	return ret ? ret : rk_prep(out, 20000);
}

static long wrong(const uint8_t *p, int value)
{
	long n = 0;

	for (size_t i = 0; i < RK_BYTES; i++)
		n += p[i] != value;
	return n;
}

RK_TEST_F_TIMEOUT(bigmem, files_exceed_4gib, 400,
		  "files whose BOs take more than 4 GiB together, up to the last page of each BO")
{
	const uint64_t end = PIECE - RK_BYTES;
	static struct space s[SPACES];
	struct drm_rocket_task t;
	struct space *mine = &s[0];
	struct rk_bo *first = &mine->piece[0];
	char page[32];
	uint64_t at = 0;

	for (int f = 0; f < SPACES; f++)
		ASSERT_EQ(0, space_init(&s[f]));
	for (int f = 0; f < SPACES; f++) {
		ASSERT_EQ(0, rk_bo_fill(&s[f].c.in, 10 * f, RK_BYTES));
		for (int i = 0; i < PIECES; i++) {
			const struct rk_bo *from = i ? &s[f].piece[i - 1] : &s[f].c.in;
			struct rk_bo *to = &s[f].piece[i];

			ASSERT_EQ(0, add(&s[f], from, i ? end : 0, to, end));
			EXPECT_EQ(0, wrong(to->map + end, 10 * f + i + 1));
		}
	}
	/* Nobody wrote into the other's. */
	for (int f = 0; f < SPACES; f++)
		for (int i = 0; i < PIECES; i++)
			EXPECT_EQ(0, wrong(s[f].piece[i].map + end, 10 * f + i + 1));

	/*
	 * The kernel gives high memory away first. A job that goes on behind the first piece,
	 * when the next one is gone, leaves a dump that tells where its pages are.
	 */
	rk_bo_fini(&mine->piece[1]);
	ASSERT_EQ(0, rk_op_task(&mine->c.inc, mine->c.in.iova,
				first->iova + PIECE, &t));
	ASSERT_EQ(0, rk_fini(&mine->c.inc.bo));
	ASSERT_EQ(0, rk_submit_task(mine->c.fd, &t, &mine->c.in, first));
	EXPECT_EQ(-EFAULT, rk_prep(first, 20000));
	snprintf(page, sizeof(page), "page 0x%08llx ",
		 (unsigned long long)first->iova + PIECE - RK_PAGE);
	EXPECT_TRUE(dumped(page, &at));
	fprintf(stderr, "# its last page is at 0x%llx\n", (unsigned long long)at);
	EXPECT_LE(4 * GIB, at);
	for (int f = 0; f < SPACES; f++)
		space_fini(&s[f]);
}

RK_TEST_F_TIMEOUT(bigmem, domains_exceed_4gib, 400,
		  "IOMMU domains of one vendor file that hold more than 4 GiB together")
{
	struct rv_bo ballast[SPACES] = { 0 };
	struct rv_chain c[SPACES];
	struct drm_rknpu_submit s;
	int fd;

	RV_OPEN_OR_SKIP(fd);
	for (int d = 0; d < SPACES; d++) {
		ASSERT_EQ(0, rv_bo_init(&ballast[d], fd, (uint64_t)PIECES * PIECE, RV_FLAGS, d));
		ASSERT_EQ(0, rv_chain_init(&c[d], fd, 3, 0, d));
	}
	for (int d = 0; d < SPACES; d++) {
		ASSERT_EQ(0, rv_chain_fill(&c[d], 10 * d));
		rv_chain_submit(&c[d], &s);
		s.iommu_domain_id = d;
		EXPECT_EQ(0, rv_submit(fd, &s));
		EXPECT_EQ(0, rv_chain_wrong(&c[d], 10 * d + 3));
	}
	for (int d = 0; d < SPACES; d++) {
		rv_chain_fini(&c[d]);
		rv_bo_fini(&ballast[d]);
	}
	close(fd);
}

RK_TEST_F_TIMEOUT(bigmem, tables_above_4gib, 120,
		  "an address space whose page directory lies above 4 GiB works")
{
	uint64_t directory = 0;
	struct rk_client c;

	if (!rk_one_iommu())
		SKIP(return, "dumps have no registers of IOMMUs that are devices of their own");
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_client_init(&c));
	EXPECT_EQ(0, rk_client_run(&c, 7));
	/* A job that hangs tells in its dump where the directory was. */
	rk_task_timeout_ms(100);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 1);
	EXPECT_EQ(-ETIME, rk_client_run(&c, 8));
	ASSERT_TRUE(dumped("DTE_ADDR ", &directory));
	/* Bits 11:8 are bits 35:32 of the address. */
	fprintf(stderr, "# the directory's register holds 0x%llx\n", (unsigned long long)directory);
	EXPECT_NE(0, directory & 0xf00);
	EXPECT_EQ(0, rk_client_run(&c, 9));
	rk_client_fini(&c);
}

RK_HARNESS_MAIN
