// SPDX-License-Identifier: GPL-2.0-only
/* Matrix products by librknnrt's own interface for them, checked element by element against the CPU. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rknnrt.h"
#include "rknpu_util.h"

enum mm_type { FP16 = 1, INT8 = 2, INT4 = 10 };

static const struct mm_kind {
	enum mm_type type;
	const char *name;
	/* What the elements of A and B are taken from; sums stay exact in C's type, and in fp32. */
	int low;
	int high;
	/* Of the native layouts: elements of K side by side in A, columns of C, columns and rows of B. */
	unsigned int a_tile;
	unsigned int c_tile;
	unsigned int b_columns;
	unsigned int b_rows;
	/* The first version that has it. */
	unsigned int since;
} kinds[] = {
	{ FP16, "fp16", -8, 8, 8, 4, 16, 32, 10500 },
	{ INT8, "int8", -128, 127, 16, 4, 32, 32, 10500 },
	{ INT4, "int4", -8, 7, 32, 8, 64, 32, 10600 },
};

static const struct shape {
	int m, k, n;
	bool slow;
} shapes[] = {
	{ 1, 32, 64 }, { 4, 64, 64 }, { 1, 1024, 1024 }, { 16, 256, 128 }, { 37, 128, 64 }, { 128, 256, 256 },
	{ 64, 4096, 128 }, { 1, 4096, 4096 }, { 8, 10240, 64 }, { 512, 64, 64 }, { 512, 1024, 128 },
	{ 3, 96, 192 }, { 16, 2048, 128 },
	{ 1, 10240, 4096, true }, { 128, 1024, 4096, true }, { 512, 4096, 1024, true }, { 512, 10240, 4096, true },
};

struct mm {
	const struct mm_kind *kind;
	struct shape s;
	bool b_native;
	bool ac_native;
	int cores;
	/* Fractions instead of integers: the sum depends on its order, and has a bound. */
	bool real;
};

/* Where an element of a matrix lies: the offset of its row plus that of its column, in elements. */
struct place {
	uint32_t *row;
	uint32_t *col;
};

struct operands {
	struct rt_matmul_io io;
	struct rt_mem *mem_a, *mem_b, *mem_c;
	struct place at_a, at_b, at_c;
	/* In rows, as integers; fractions are 256 times as much. */
	int16_t *a, *b;
};

/* ---- layouts ---- */

static bool place(struct place *p, uint32_t rows, uint32_t cols, uint32_t pitch)
{
	uint32_t i;

	p->row = malloc(rows * sizeof(*p->row));
	p->col = malloc(cols * sizeof(*p->col));
	if (!p->row || !p->col)
		return false;
	for (i = 0; i < rows; i++)
		p->row[i] = i * pitch;
	for (i = 0; i < cols; i++)
		p->col[i] = i;
	return true;
}

/*
 * A and C: planes of 16 bytes of each row. Those of more than one row have a
 * multiple of four, of which the library's header and sizes tell nothing.
 */
static uint32_t plane_rows(uint32_t rows)
{
	return rows == 1 ? 1 : (rows + 3) & ~3u;
}

static void place_planes(struct place *p, uint32_t rows, uint32_t cols, uint32_t tile)
{
	uint32_t high = plane_rows(rows), i;

	for (i = 0; i < rows; i++)
		p->row[i] = i * tile;
	for (i = 0; i < cols; i++)
		p->col[i] = i / tile * high * tile + i % tile;
}

/* B: blocks of some columns and some rows, those of the same columns side by side, a column's elements together. */
static void place_blocks(struct place *p, uint32_t rows, uint32_t cols, uint32_t high, uint32_t wide)
{
	uint32_t i;

	for (i = 0; i < rows; i++)
		p->row[i] = i / high * wide * high + i % high;
	for (i = 0; i < cols; i++)
		p->col[i] = i / wide * rows * wide + i % wide * high;
}

static bool place_all(const struct mm *x, struct operands *o)
{
	const struct mm_kind *k = x->kind;

	if (!place(&o->at_a, x->s.m, x->s.k, x->s.k) || !place(&o->at_b, x->s.k, x->s.n, x->s.n) ||
	    !place(&o->at_c, x->s.m, x->s.n, x->s.n))
		return false;
	if (x->ac_native) {
		place_planes(&o->at_a, x->s.m, x->s.k, k->a_tile);
		place_planes(&o->at_c, x->s.m, x->s.n, k->c_tile);
	}
	if (x->b_native)
		place_blocks(&o->at_b, x->s.k, x->s.n, k->b_rows, k->b_columns);
	return true;
}

/* ---- elements ---- */

static uint16_t halves[1024];

static void put(const struct mm *x, void *to, uint32_t i, int v)
{
	uint8_t *byte;

	switch (x->kind->type) {
	case FP16:
		((uint16_t *)to)[i] = halves[v + 512];
		break;
	case INT8:
		((int8_t *)to)[i] = v;
		break;
	case INT4:
		byte = (uint8_t *)to + i / 2;
		/* The first of two is the high half: B in normal layout shows it, elsewhere A's and B's order cancel. */
		*byte = i & 1 ? (*byte & 0xf0) | (v & 15) : (*byte & 0x0f) | (v & 15) << 4;
		break;
	}
}

static double get(const struct mm *x, const struct operands *o, uint32_t row, uint32_t col)
{
	const void *from = o->mem_c->addr;
	uint32_t i = o->at_c.row[row] + o->at_c.col[col];

	switch (x->kind->type) {
	case FP16:
		return ((const float *)from)[i];
	case INT8:
		return ((const int32_t *)from)[i];
	case INT4:
		return ((const int16_t *)from)[i];
	}
	return NAN;
}

/* Marsaglia's xorshift: there are many elements. */
static void fill_matrix(const struct mm *x, void *to, const struct place *p, int16_t *v, uint32_t rows, uint32_t cols,
			uint32_t state)
{
	int low = x->real ? -512 : x->kind->low;
	uint32_t span = x->real ? 1024 : x->kind->high - x->kind->low + 1, i, j;

	for (i = 0; i < rows; i++) {
		for (j = 0; j < cols; j++, v++) {
			state ^= state << 13;
			state ^= state >> 17;
			state ^= state << 5;
			*v = low + (int)((uint64_t)state * span >> 32);
			put(x, to, p->row[i] + p->col[j], *v);
		}
	}
}

static void fill(const struct mm *x, struct operands *o)
{
	int i;

	for (i = 0; i < 1024; i++)
		halves[i] = rt_float_to_half(x->real ? (i - 512) / 256.0f : i - 512);
	fill_matrix(x, o->mem_a->addr, &o->at_a, o->a, x->s.m, x->s.k, 1 + x->s.m);
	fill_matrix(x, o->mem_b->addr, &o->at_b, o->b, x->s.k, x->s.n, 1000003 + x->s.n);
	/* No product is this. */
	memset(o->mem_c->addr, 0x7e, o->io.c.size);
}

/* ---- the result ---- */

/* What the sum is, and what of its terms' sizes. */
static double exact(const struct mm *x, const struct operands *o, uint32_t row, uint32_t col, double *magnitude)
{
	double scale = x->real ? 0x1p-16 : 1;
	int64_t sum = 0, most = 0;
	uint32_t k;

	for (k = 0; k < x->s.k; k++) {
		int32_t v = o->a[row * x->s.k + k] * o->b[k * x->s.n + col];

		sum += v;
		most += abs(v);
	}
	if (magnitude)
		*magnitude = most * scale;
	return sum * scale;
}

static int wrong_in_row(const struct mm *x, const struct operands *o, uint32_t row)
{
	uint32_t j;

	for (j = 0; j < x->s.n; j++) {
		double want = exact(x, o, row, j, NULL), got = get(x, o, row, j);

		if (got != want)
			return rt_fail("[%u, %u] is %.9g and not %.9g", row, j, got, want);
	}
	return rt_fail("row %u differs from A * (B * r)", row);
}

/*
 * Freivalds: C * r must be A * (B * r), which touches each element of C and
 * costs no more than reading the matrices. All numbers are integers, so the
 * comparison is exact; a wrong row passes once in 65,536 times.
 */
static int check_exact(const struct mm *x, const struct operands *o)
{
	struct rt_random r = { .state = 88172645463325252ull };
	int32_t *weight = calloc(x->s.n, sizeof(*weight));
	int64_t *br = calloc(x->s.k, sizeof(*br)), want, got;
	uint32_t i, j;
	double v;

	if (!weight || !br)
		return rt_fail("no memory");
	for (j = 0; j < x->s.n; j++)
		weight[j] = 1 + (rt_random(&r) & 0xffff);
	for (i = 0; i < x->s.k; i++) {
		for (j = 0; j < x->s.n; j++)
			br[i] += o->b[i * x->s.n + j] * weight[j];
	}
	for (i = 0; i < x->s.m; i++) {
		want = got = 0;
		for (j = 0; j < x->s.k; j++)
			want += o->a[i * x->s.k + j] * br[j];
		for (j = 0; j < x->s.n; j++) {
			v = get(x, o, i, j);
			/* Neither NaN nor a fraction is. */
			if (!(fabs(v) < 0x1p31) || v != (int32_t)v)
				return rt_fail("[%u, %u] is %g, which no sum of integers is", i, j, v);
			got += (int64_t)(int32_t)v * weight[j];
		}
		if (want != got)
			return wrong_in_row(x, o, i);
	}
	free(weight);
	free(br);
	return RT_PASS;
}

/* All of a small product, of a large one as many elements as time allows. fp32 adds up to 1e-5 of what is summed. */
static int check_bounded(const struct mm *x, const struct operands *o)
{
	uint32_t all = x->s.m * x->s.n, n = 4000000 / x->s.k, i, at;
	struct rt_random r = { .state = 1 };
	double want, got, most;

	if (n > all)
		n = all;
	for (i = 0; i < n; i++) {
		at = n == all ? i : rt_random(&r) % all;
		want = exact(x, o, at / x->s.n, at % x->s.n, &most);
		got = get(x, o, at / x->s.n, at % x->s.n);
		if (!(fabs(got - want) <= most * 1e-5))
			return rt_fail("[%u, %u] is %.9g and not %.9g", at / x->s.n, at % x->s.n, got, want);
	}
	return RT_PASS;
}

/* ---- one product ---- */

/* 1.6.0 of 32 bits does with int4 of 512x1024x128 in native layout, before it asks anything of the driver. */
static void divided_by_zero(int sig)
{
	_exit(rt_skip("rknn_matmul_create divides by zero"));
}

/* 1.5.0 of 32 bits does in rknn_matmul_run(), before any SUBMIT, and in its own demo, too. */
static void null_pointer(int sig)
{
	_exit(rt_skip("rknn_matmul_run follows a null pointer"));
}

static int product(void *arg)
{
	const struct mm *x = arg;
	struct rt_matmul_info info = {
		.m = x->s.m, .k = x->s.k, .n = x->s.n, .type = x->kind->type,
		.b_native = x->b_native, .ac_native = x->ac_native,
	};
	struct operands o = { 0 };
	rt_context ctx = 0;
	int ret;

	signal(SIGFPE, divided_by_zero);
	ret = rt.matmul_create(&ctx, &info, &o.io);
	signal(SIGFPE, SIG_DFL);
	if (ret && rt_said("matmul K must be less than"))
		return rt_skip("this version takes no such K");
	if (ret)
		return rt_fail("rknn_matmul_create: %d", ret);
	if (x->cores != RT_CORES_AUTO) {
		ret = rt.matmul_set_core_mask ? rt.matmul_set_core_mask(ctx, x->cores) : -1;
		/* 1.6.0 takes one core for a product, whichever; it says so and nothing more. */
		if (ret && rt_said("Not support core mask"))
			return rt_skip("this version runs a product on one core only");
		if (ret)
			return rt_fail("rknn_matmul_set_core_mask: %d", ret);
	}
	o.mem_a = rt.create_mem(ctx, o.io.a.size / x->s.m * plane_rows(x->s.m));
	o.mem_b = rt.create_mem(ctx, o.io.b.size);
	o.mem_c = rt.create_mem(ctx, o.io.c.size / x->s.m * plane_rows(x->s.m));
	o.a = malloc(sizeof(*o.a) * x->s.m * x->s.k);
	o.b = malloc(sizeof(*o.b) * x->s.k * x->s.n);
	if (!o.mem_a || !o.mem_b || !o.mem_c || !o.a || !o.b || !place_all(x, &o))
		return rt_fail("no memory for %u, %u and %u bytes", o.io.a.size, o.io.b.size, o.io.c.size);
	fill(x, &o);
	ret = rt.matmul_set_io_mem(ctx, o.mem_a, &o.io.a);
	if (!ret)
		ret = rt.matmul_set_io_mem(ctx, o.mem_b, &o.io.b);
	if (!ret)
		ret = rt.matmul_set_io_mem(ctx, o.mem_c, &o.io.c);
	if (ret)
		return rt_fail("rknn_matmul_set_io_mem: %d", ret);
	if (rt.version == 10500)
		signal(SIGSEGV, null_pointer);
	ret = rt.matmul_run(ctx);
	signal(SIGSEGV, SIG_DFL);
	if (ret)
		return rt_fail("rknn_matmul_run: %d", ret);
	ret = x->real ? check_bounded(x, &o) : check_exact(x, &o);
	if (ret)
		return ret;
	rt.destroy_mem(ctx, o.mem_a);
	rt.destroy_mem(ctx, o.mem_b);
	rt.destroy_mem(ctx, o.mem_c);
	ret = rt.matmul_destroy(ctx);
	return ret ? rt_fail("rknn_matmul_destroy: %d", ret) : RT_PASS;
}

static void run(const struct mm *x)
{
	static const char *const cores[] = { "any core", "core 0", "core 1", "2 cores", "core 2",
						  NULL, NULL, "3 cores" };
	char name[128];

	snprintf(name, sizeof(name), "matmul %s %dx%dx%d, B %s, A and C %s, %s, %s", x->kind->name, x->s.m, x->s.k,
		 x->s.n, x->b_native ? "native" : "normal", x->ac_native ? "native" : "normal", cores[x->cores],
		 x->real ? "bounded" : "exact");
	rt_case(name, product, (void *)x);
}

static int no_matmul(void *arg)
{
	return rt_skip("%s has no published interface for products", (const char *)arg);
}

static void run_kind(const struct mm_kind *kind, bool slow)
{
	static const int masks[] = { RT_CORES_1, RT_CORE_1, RT_CORE_2, RT_CORES_2, RT_CORES_3 };
	size_t s, i;

	for (s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		struct mm x = { .kind = kind, .s = shapes[s] };

		if (x.s.slow && !slow)
			continue;
		for (i = 0; i < 4; i++) {
			x.b_native = i & 1;
			x.ac_native = i & 2;
			run(&x);
		}
		x.b_native = x.ac_native = false;
		if (kind->type == FP16) {
			x.real = true;
			run(&x);
			x.real = false;
		}
		/* A product of one row and one of many. */
		if (x.s.n < 1024 && x.s.m < 128)
			continue;
		for (i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
			x.cores = masks[i];
			run(&x);
		}
	}
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc != 2) {
		fprintf(stderr, "usage: rknn_matmul librknnrt.so\nRKNPU_LONG=1 adds large products.\n");
		return 2;
	}
	rt_begin(argv[1]);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (rt.version < kinds[i].since || !rt.matmul_create) {
			char name[32];

			snprintf(name, sizeof(name), "matmul %s", kinds[i].name);
			rt_case(name, no_matmul, "this version");
			continue;
		}
		run_kind(&kinds[i], rk_long());
	}
	return rt_end();
}
