// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts what runs of a network and of a matrix product cost with librknnrt: on one core and on
 * three, of one process and of several. Prints TAP, and lines "count MEASURE UNIT VALUE" as
 * rknpu_vendor_count does; uses only what Rockchip's driver has, too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknn_net.h"
#include "rknpu_counter.h"
#include "rknpu_crew.h"

#define REPEATS		3
#define CASE_SECONDS	1200
#define PRODUCT_ROWS	64
#define PRODUCT_SIDE	1024

struct bench;

/* What is run; both return RT_PASS, or tell why not and return RT_FAIL. */
struct kind {
	int (*open)(struct bench *b);
	int (*run)(struct bench *b);
};

struct bench {
	const struct kind *kind;
	const char *model;
	int cores, processes, runs;
	/* Of a network, and what it said first. */
	struct net net;
	uint64_t first;
	/* Of a product. */
	rt_context product;
	struct rt_mem *c;
	/* In memory that a case shares with the program. */
	struct rk_total *total;
};

/* ---- networks ---- */

/* As a client does for each picture. */
static int run_given(struct bench *b, uint64_t *hash)
{
	int ret = net_give(&b->net);

	if (!ret && rt.run(b->net.ctx, NULL))
		ret = rt_fail("rknn_run failed");
	return ret ? ret : net_outputs(&b->net, hash);
}

static int open_net(struct bench *b)
{
	int ret = net_open(&b->net, b->model, 0);

	if (!ret && rt.set_core_mask(b->net.ctx, b->cores == 1 ? RT_CORES_1 : RT_CORES_3))
		ret = rt_fail("rknn_set_core_mask failed");
	if (!ret)
		ret = net_fill(&b->net, 1);
	return ret ? ret : run_given(b, &b->first);
}

static int run_net(struct bench *b)
{
	uint64_t hash;
	int ret = run_given(b, &hash);

	return ret || hash == b->first ? ret : rt_fail("a later run has another output");
}

static const struct kind network = { open_net, run_net };

/* ---- products ---- */

/* Ones times ones, of bytes; sums are integers of 32 bits. */
static int open_product(struct bench *b)
{
	struct rt_matmul_info info = {
		.m = PRODUCT_ROWS, .k = PRODUCT_SIDE, .n = PRODUCT_SIDE, .type = RT_INT8,
	};
	struct rt_matmul_io io;
	struct rt_mem *m[3];

	if (rt.matmul_create(&b->product, &info, &io))
		return rt_fail("rknn_matmul_create failed");
	/* Without this it is any that is free, and the others' idle time would count. */
	if (rt.matmul_set_core_mask(b->product, RT_CORES_1))
		return rt_fail("rknn_matmul_set_core_mask failed");
	m[0] = rt.create_mem(b->product, io.a.size);
	m[1] = rt.create_mem(b->product, io.b.size);
	m[2] = b->c = rt.create_mem(b->product, io.c.size);
	if (!m[0] || !m[1] || !m[2])
		return rt_fail("no memory");
	memset(m[0]->addr, 1, io.a.size);
	memset(m[1]->addr, 1, io.b.size);
	memset(m[2]->addr, 0, io.c.size);
	if (rt.matmul_set_io_mem(b->product, m[0], &io.a) ||
	    rt.matmul_set_io_mem(b->product, m[1], &io.b) ||
	    rt.matmul_set_io_mem(b->product, m[2], &io.c))
		return rt_fail("rknn_matmul_set_io_mem failed");
	return RT_PASS;
}

static int run_product(struct bench *b)
{
	const int32_t *c = b->c->addr;
	size_t i;

	if (rt.matmul_run(b->product))
		return rt_fail("rknn_matmul_run failed");
	for (i = 0; i < PRODUCT_ROWS * PRODUCT_SIDE; i += PRODUCT_SIDE + 1) {
		if (c[i] != PRODUCT_SIDE)
			return rt_fail("element %zu is %d and not %d", i, c[i], PRODUCT_SIDE);
	}
	return RT_PASS;
}

static const struct kind product = { open_product, run_product };

/* ---- counting ---- */

static int begin(void *arg, int member)
{
	struct bench *b = arg;

	return b->kind->open(b) ? -EIO : 0;
}

static int work(void *arg, int n)
{
	struct bench *b = arg;
	int ret = RT_PASS;

	while (n-- && !ret)
		ret = b->kind->run(b);
	return ret ? -EIO : 0;
}

static int case_count(void *arg)
{
	struct bench *b = arg;
	struct rk_crew crew = { .begin = begin, .work = work, .arg = b };
	struct rk_counts before, after;
	int ret = rk_crew_start(&crew, b->processes), i;

	/* The first time fills caches. */
	if (!ret)
		ret = rk_crew_work(&crew, 1);
	for (i = 0; i < REPEATS && !ret; i++) {
		rk_counts_take(&before);
		ret = rk_crew_work(&crew, b->runs);
		rk_counts_take(&after);
		rk_total_add(b->total, &before, &after, b->runs * b->processes);
	}
	rk_crew_end(&crew);
	if (!ret && !rk_counts_instructions())
		return rt_fail("there is no counter of instructions");
	if (ret && ret != -EIO)
		return rt_fail("several processes: %s", strerror(-ret));
	/* Whoever failed has told why. */
	return ret ? RT_FAIL : RT_PASS;
}

static void count(const struct kind *kind, const char *what, const char *model, int cores, int processes, int runs)
{
	struct rk_total *total = rt_shared(sizeof(*total));
	struct bench b = {
		.kind = kind, .model = model, .cores = cores, .processes = processes, .runs = runs, .total = total,
	};
	char name[128];

	snprintf(name, sizeof(name), "%s, %d core%s, %d process%s", what, cores, cores == 1 ? "" : "s", processes,
		 processes == 1 ? "" : "es");
	if (rt_case_for(name, case_count, &b, CASE_SECONDS) == RT_PASS)
		rk_total_print(name, "run", total, REPEATS * runs * processes, 1);
}

int main(int argc, char **argv)
{
	const char *slash;
	char what[64];
	int runs, i;

	if (argc != 4 || (runs = atoi(argv[2])) < 1) {
		fprintf(stderr, "usage: rknn_count librknnrt.so RUNS MODEL.rknn|matmul\n");
		return 2;
	}
	rt_begin(argv[1]);
	rk_counts_init();
	/* Let the rest of the system come to rest. */
	rk_sleep_ms(3000);
	if (!strcmp(argv[3], "matmul")) {
		snprintf(what, sizeof(what), "librknnrt: bytes, %dx%dx%d", PRODUCT_ROWS, PRODUCT_SIDE, PRODUCT_SIDE);
		for (i = 1; i <= 4; i *= 2)
			count(&product, what, NULL, 1, i, runs);
		return rt_end();
	}
	slash = strrchr(argv[3], '/');
	snprintf(what, sizeof(what), "librknnrt: %.*s", (int)strcspn(slash ? slash + 1 : argv[3], "."),
		 slash ? slash + 1 : argv[3]);
	for (i = 1; i <= 4; i *= 2) {
		count(&network, what, argv[3], 1, i, runs);
		count(&network, what, argv[3], 3, i, runs);
	}
	return rt_end();
}
