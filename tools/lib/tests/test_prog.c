// SPDX-License-Identifier: MIT
/*
 * Unit tests of the register program builder: field widths, task layout, and
 * the matmul program compared entry by entry with the published one.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "prog/npu_task.h"
#include "tap.h"

struct fdesc {
	const char *name;
	int id, reg, target, lsb, width, kind;
};

static const struct fdesc fdescs[] = {
#define NPU_FIELD(b, r, f, lsb, w, k)	\
	{ #b "." #r "." #f, NPU_F_##b##_##r##_##f, NPU_R_##b##_##r, NPU_TGT_##b, lsb, w, NPU_FK_##k },
#include "npu/rk3588_regs.h"
};

static const uint16_t roffs[] = {
#define NPU_REG(b, r, off)	off,
#include "npu/rk3588_regs.h"
};

static void test_table(void)
{
	uint32_t used[NPU_R_COUNT] = { 0 };
	bool overlap = false, order = true, fits = true;

	for (size_t i = 0; i < NPU_F_COUNT; i++) {
		const struct fdesc *f = &fdescs[i];
		uint32_t mask = (uint32_t)(((UINT64_C(1) << f->width) - 1) << f->lsb);

		fits &= f->width >= 1 && f->lsb + f->width <= 32;
		overlap |= used[f->reg] & mask;
		used[f->reg] |= mask;
	}
	for (size_t i = 1; i < NPU_R_COUNT; i++)
		order &= roffs[i] > roffs[i - 1];
	tap_ok(fits, "every field lies within 32 bits");
	tap_ok(!overlap, "fields of one register do not overlap");
	tap_ok(order, "registers are listed once, by offset");
}

static int64_t stored(const struct fdesc *f, int64_t v)
{
	if (f->kind == NPU_FK_M1)
		return v - 1;
	return f->kind == NPU_FK_A16 ? v / 16 : v;
}

/* @v is accepted, lands in its bits and touches no other. */
static bool accepts(const struct fdesc *f, int64_t v)
{
	struct npu_prog *p = npu_prog_new();
	uint64_t mask = ((UINT64_C(1) << f->width) - 1) << f->lsb, val;
	bool ok = !npu_prog_field(p, f->id, v) && !npu_prog_emit(p, f->reg);

	if (ok) {
		val = npu_prog_entries(p)[0] >> 16 & 0xffffffff;
		ok = val == (((uint64_t)stored(f, v) << f->lsb) & mask) &&
		     (npu_prog_entries(p)[0] & 0xffff) == roffs[f->reg];
	}
	npu_prog_free(p);
	return ok;
}

/* @v is refused with a message that names field, value and limit. */
static bool refuses(const struct fdesc *f, int64_t v, int64_t limit)
{
	struct npu_prog *p = npu_prog_new();
	char value[32], lim[32];
	bool ok;

	snprintf(value, sizeof(value), " %" PRId64 " ", v);
	snprintf(lim, sizeof(lim), "limit %" PRId64, limit);
	ok = npu_prog_field(p, f->id, v) == -ERANGE &&
	     !strncmp(npu_prog_message(p), f->name, strlen(f->name)) &&
	     strstr(npu_prog_message(p), value) && strstr(npu_prog_message(p), lim) &&
	     npu_prog_emit(p, f->reg) == -ERANGE && !npu_prog_count(p);
	npu_prog_free(p);
	return ok;
}

static void test_widths(void)
{
	for (size_t i = 0; i < NPU_F_COUNT; i++) {
		const struct fdesc *f = &fdescs[i];
		int64_t lo = 0, hi = (INT64_C(1) << f->width) - 1, step = 1;

		if (!f->target)
			continue;
		if (f->kind == NPU_FK_S) {
			hi /= 2;
			lo = -hi - 1;
		} else if (f->kind == NPU_FK_M1) {
			lo++;
			hi++;
		} else if (f->kind == NPU_FK_A16) {
			hi *= 16;
			step = 16;
		}
		tap_ok(accepts(f, lo) && accepts(f, hi) && refuses(f, hi + step, hi) &&
		       refuses(f, lo - step, lo) && refuses(f, INT64_MAX, hi) &&
		       refuses(f, INT64_MIN, lo),
		       "%s takes %" PRId64 " to %" PRId64 " and nothing else", f->name, lo, hi);
	}
}

static void test_sticky(void)
{
	struct npu_prog *p = npu_prog_new();

	npu_prog_field(p, NPU_F_CNA_DATA_SIZE0_DATAIN_HEIGHT, 2048);
	npu_prog_field(p, NPU_F_CNA_CBUF_CON0_DATA_BANK, 99);
	tap_ok(!strcmp(npu_prog_message(p),
		       "CNA.DATA_SIZE0.DATAIN_HEIGHT: 2048 exceeds the limit 2047"),
	       "the first error stays: %s", npu_prog_message(p));
	tap_ok(npu_prog_raw(p, 1, 2, 3) == -ERANGE && npu_prog_finish(p, 0xd) == -ERANGE &&
	       !npu_prog_count(p), "a bad program takes nothing more");
	npu_prog_reset(p);
	tap_ok(!npu_prog_error(p) && !npu_prog_field(p, NPU_F_CNA_CBUF_CON0_DATA_BANK, 1),
	       "reset makes it good again");
	tap_ok(npu_prog_field(p, NPU_F_DPU_DST_SURF_STRIDE_BYTES, 24) == -ERANGE &&
	       strstr(npu_prog_message(p), "24 is not a multiple of 16"),
	       "an unaligned stride is refused");
	npu_prog_reset(p);
	tap_ok(npu_prog_field(p, NPU_F_COUNT, 0) == -EINVAL, "an unknown field is refused");
	npu_prog_reset(p);
	tap_ok(npu_prog_emit(p, NPU_R_GLOBAL_OPERATION_ENABLE) == -EINVAL && !npu_prog_count(p),
	       "a register that commands do not reach is refused");
	npu_prog_reset(p);
	tap_ok(npu_prog_finish(p, 0xd) == -EINVAL, "an empty task is refused");
	npu_prog_free(p);
}

static void test_tail(void)
{
	struct npu_prog *p = npu_prog_new();
	const uint64_t *e;
	size_t first, count;

	npu_prog_raw(p, 0x1001, 0x4004, 0xe);
	npu_prog_finish(p, 0x1d);
	npu_prog_raw(p, 0x1001, 0x4004, 0xe);
	npu_prog_raw(p, 0x0201, 0x100c, 0x120);
	npu_prog_finish(p, 0x0d);
	e = npu_prog_entries(p);
	tap_ok(npu_prog_ntasks(p) == 2, "two tasks");
	npu_prog_task(p, 0, &first, &count);
	tap_ok(first == 0 && count == 6, "an odd body is padded to even");
	tap_ok(e[0] == UINT64_C(0x10010000000e4004) && e[1] == 0 && e[2] == 0 &&
	       e[3] == UINT64_C(0x0101000000000014) && e[4] == UINT64_C(0x0041000000000000) &&
	       e[5] == UINT64_C(0x00810000001d0008), "body, padding and tail of task 0");
	npu_prog_task(p, 1, &first, &count);
	tap_ok(first == 8 && count == 6 && e[6] == 0 && e[7] == 0,
	       "the next task starts at 64 bytes after no-ops");
	tap_ok(e[13] == UINT64_C(0x00810000000d0008), "tail of task 1");
	npu_prog_free(p);
}

struct want {
	uint16_t target, reg;
	uint32_t value;
};

#define ADDR_A	0x10000u
#define ADDR_B	0x20000u
#define ADDR_C	0x30000u

/* The published program for the given sizes, written out index by index. */
static size_t published(struct want *w, bool fp16, uint32_t result_mult, uint32_t size_e,
			uint32_t format, uint32_t cvt_scale, uint32_t M, uint32_t N, uint32_t K)
{
	uint32_t bpe = fp16 ? 2 : 1;
	uint32_t fd = (M * K * bpe + 32767) / 32768;
	int32_t surf = 4 * ((int32_t)(M / 4) - 1);
	size_t n = 0;

#define CNA(r, v)	(w[n++] = (struct want){ 0x0201, r, v })
#define CORE(r, v)	(w[n++] = (struct want){ 0x0801, r, v })
#define DPU(r, v)	(w[n++] = (struct want){ 0x1001, r, v })
	if (surf < 0)
		surf++;
	DPU(0x4004, 0xe);
	CNA(0x100c, fp16 ? 0x120 : 0);
	CNA(0x1010, (M + 1) << 4);
	CNA(0x1014, 9);
	CNA(0x1020, 1u << 16 | M);
	CNA(0x1024, (K - 1) << 16 | K);
	CNA(0x1028, 1);
	CNA(0x102c, M);
	CNA(0x1030, K * bpe * N);
	CNA(0x1034, K * bpe);
	CNA(0x1038, 0x01010000 | N);
	CNA(0x1040, (12 - fd) << 4 | fd);
	CNA(0x1044, fp16 ? (K + 31) / 32 : (K + 63) / 64);
	CNA(0x104c, 0xb);
	CNA(0x1050, 0x10000);
	CNA(0x1054, 0x10000);
	CNA(0x1058, 0x10000);
	CNA(0x105c, 0x10000);
	CNA(0x1060, 0);
	CNA(0x1064, 0);
	CNA(0x1068, 0);
	CNA(0x1070, ADDR_A);
	CNA(0x1074, 0);
	CNA(0x1078, 0xf000f);
	CNA(0x107c, 4);
	CNA(0x1080, (uint32_t)surf & 0xfffffff);
	CNA(0x1084, 1u << 16 | M);
	CNA(0x1088, K);
	CNA(0x1100, 0);
	CNA(0x1104, 0);
	CNA(0x1110, ADDR_B);
	for (uint16_t r = 0x1140; r <= 0x117c; r += 4)
		CNA(r, 0);
	CNA(0x1180, 0);
	CNA(0x1184, 0);
	CORE(0x3010, fp16 ? 0x201 : 0);
	CORE(0x3014, (M - 1) << 16);
	CORE(0x3018, N - 1);
	CORE(0x301c, 0);
	CORE(0x3030, 0);
	DPU(0x400c, 0x1e4);
	DPU(0x4010, format);
	DPU(0x4014, 0);
	DPU(0x4020, ADDR_C);
	DPU(0x4024, M << 4);
	DPU(0x4030, 0);
	DPU(0x4034, M - 1);
	DPU(0x4038, 0);
	DPU(0x403c, (N - 1) << 16 | (N - 1));
	DPU(0x4040, 0x53);
	DPU(0x4044, 0);
	DPU(0x4048, 0);
	DPU(0x404c, 0);
	DPU(0x4050, size_e * 0x124 | 2);
	DPU(0x4054, 0);
	DPU(0x4058, N - 1);
	DPU(0x405c, (M - 1) << 16);
	DPU(0x4060, 0x53);
	DPU(0x4064, 0);
	DPU(0x4068, 0);
	DPU(0x406c, 0);
	DPU(0x4070, 0x383);
	DPU(0x4074, 0);
	DPU(0x4078, 1);
	DPU(0x407c, 0);
	DPU(0x4080, 0);
	DPU(0x4084, cvt_scale);
	DPU(0x4088, 0);
	for (uint16_t r = 0x4090; r <= 0x40ac; r += 4)
		DPU(r, 0);
	DPU(0x40c0, M * result_mult << 4);
	DPU(0x40c4, 0);
	for (uint16_t r = 0x4100; r <= 0x412c; r += 4)
		DPU(r, 0);
	w[n++] = (struct want){ 0, 0, 0 };
	w[n++] = (struct want){ 0x0101, 0x14, 0 };
	w[n++] = (struct want){ 0x0041, 0, 0 };
	w[n++] = (struct want){ 0x0081, 0x8, 0x0d };
	return n;
}

static uint64_t entry(const struct want *w)
{
	return (uint64_t)w->target << 48 | (uint64_t)w->value << 16 | w->reg;
}

static void build(struct npu_prog *p, enum npu_prec in, enum npu_prec out,
		  uint32_t M, uint32_t N, uint32_t K, bool no_rdma)
{
	struct npu_conv_task t;

	npu_matmul_task(&t, in, out, M, N, K);
	t.in_iova = ADDR_A;
	t.weight_iova = ADDR_B;
	t.out_iova = ADDR_C;
	t.no_rdma = no_rdma;
	npu_prog_reset(p);
	npu_prog_conv(p, &t);
}

static void compare(struct npu_prog *p, enum npu_prec out, uint32_t M, uint32_t N, uint32_t K)
{
	bool fp16 = out != NPU_PREC_INT32;
	uint32_t mult = out == NPU_PREC_INT32 ? 8 : out == NPU_PREC_FP32 ? 4 : 2;
	uint32_t size_e = out == NPU_PREC_INT32 ? 7 : out == NPU_PREC_FP32 ? 3 : 1;
	uint32_t format = out == NPU_PREC_INT32 ? 0x80000000 :
			  out == NPU_PREC_FP32 ? 0xa8000002 : 0x48000002;
	struct want w[128];
	size_t n, bad = 0;

	n = published(w, fp16, mult, size_e, format, out == NPU_PREC_FP16 ? 0x10001 : 1, M, N, K);
	build(p, fp16 ? NPU_PREC_FP16 : NPU_PREC_INT8, out, M, N, K, true);
	if (npu_prog_error(p))
		printf("# %s\n", npu_prog_message(p));
	for (size_t i = 0; i < n && i < npu_prog_count(p); i++) {
		if (npu_prog_entries(p)[i] == entry(&w[i]))
			continue;
		bad++;
		printf("# entry %zu: %016" PRIx64 ", published %016" PRIx64 "\n", i,
		       npu_prog_entries(p)[i], entry(&w[i]));
	}
	tap_ok(n == 108 && npu_prog_count(p) == 108 && !bad,
	       "the 108 entries for result type %d, M %u, N %u, K %u", out, M, N, K);
}

static void test_published(void)
{
	static const uint32_t size[][3] = {
		{ 4, 32, 64 }, { 1, 64, 512 }, { 64, 1024, 1024 }, { 128, 4096, 1536 },
		{ 384, 32, 64 },
	};
	static const enum npu_prec out[] = { NPU_PREC_INT32, NPU_PREC_FP32, NPU_PREC_FP16 };
	struct npu_prog *p = npu_prog_new();

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		for (size_t o = 0; o < 3; o++)
			if (out[o] == NPU_PREC_INT32 || size[i][0] * size[i][2] < 160000)
				compare(p, out[o], size[i][0], size[i][1], size[i][2]);
	npu_prog_free(p);
}

/* Every entry of the short form is in the long one, in the same order. */
static void test_rdma_form(void)
{
	struct npu_prog *a = npu_prog_new(), *b = npu_prog_new();
	size_t i = 0, extra = 0;
	bool only_rdma = true;

	build(a, NPU_PREC_FP16, NPU_PREC_FP16, 4, 32, 64, true);
	build(b, NPU_PREC_FP16, NPU_PREC_FP16, 4, 32, 64, false);
	for (size_t j = 0; j < npu_prog_count(b) - 1; j++) {
		uint64_t e = npu_prog_entries(b)[j];

		if (i < npu_prog_count(a) - 1 && e == npu_prog_entries(a)[i]) {
			i++;
			continue;
		}
		extra++;
		only_rdma &= e >> 48 == 0x2001 || e == 0;
	}
	tap_ok(i == npu_prog_count(a) - 1 && only_rdma && extra == 18,
	       "the rocket form adds the 18 RDMA entries and changes nothing else");
	tap_ok(npu_prog_entries(b)[npu_prog_count(b) - 1] == UINT64_C(0x00810000001d0008),
	       "and enables DPU_RDMA");
	tap_ok(npu_prog_count(b) % 2 == 0, "with an even number of entries");
	npu_prog_free(a);
	npu_prog_free(b);
}

static int conv_error(struct npu_conv_task t)
{
	struct npu_prog *p = npu_prog_new();
	int err;

	npu_prog_conv(p, &t);
	err = npu_prog_error(p);
	if (err)
		printf("# %s\n", npu_prog_message(p));
	if (err && npu_prog_ntasks(p))
		err = 0;
	npu_prog_free(p);
	return err;
}

static struct npu_conv_task task(uint32_t m, uint32_t n, uint32_t k)
{
	struct npu_conv_task t;

	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT32, m, n, k);
	t.in_iova = ADDR_A;
	t.weight_iova = ADDR_B;
	t.out_iova = ADDR_C;
	return t;
}

static void test_refused_tasks(void)
{
	struct npu_conv_task t;

	tap_ok(!conv_error(task(4, 32, 32)), "a small task is fine");
	tap_ok(conv_error(task(1024, 32, 32)) == -ERANGE, "too many rows");
	tap_ok(conv_error(task(4, 8224, 32)) == -ERANGE, "too many kernels");
	tap_ok(conv_error(task(4, 32, 32800)) == -E2BIG, "a kernel larger than a bank");
	tap_ok(conv_error(task(512, 32, 4096)) == -E2BIG, "features larger than the buffer");
	tap_ok(conv_error(task(4, 16, 32)) == -EINVAL, "a kernel count off the group");
	tap_ok(conv_error(task(4, 32, 48)) == -EINVAL, "a channel count off the group");
	t = task(4, 32, 32);
	t.out_iova = 0x100000000;
	tap_ok(conv_error(t) == -ERANGE, "an address beyond 4 GiB");
	t = task(4, 32, 32);
	t.in_iova += 8;
	tap_ok(conv_error(t) == -EINVAL, "an unaligned address");
	t = task(4, 32, 32);
	t.pad_top = 16;
	tap_ok(conv_error(t) == -ERANGE, "too much padding");
	t = task(4, 32, 32);
	t.out = NPU_PREC_FP32;
	tap_ok(conv_error(t) == -EINVAL, "a pair of types without a mode");
	t = task(4, 32, 32);
	t.has_bias = true;
	t.bias_iova = 0x40000;
	tap_ok(conv_error(t) == -EINVAL, "bias on an int32 result");
	t = task(4, 32, 32);
	t.out = NPU_PREC_INT8;
	t.rq.scale = 0x8000;
	tap_ok(conv_error(t) == -ERANGE, "a scale of unknown sign");
	t = task(4, 32, 32);
	t.stride_x = 8;
	tap_ok(conv_error(t) == -ERANGE, "a stride of 8");
	t = task(4, 32, 32);
	t.dil_y = 33;
	tap_ok(conv_error(t) == -ERANGE, "a dilation of 33");
}

int main(void)
{
	test_table();
	test_widths();
	test_sticky();
	test_tail();
	test_published();
	test_rdma_form();
	test_refused_tasks();
	return tap_done();
}
