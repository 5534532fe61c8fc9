/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs that run for hours share: jobs that check their results, cores, output that survives system sleep. */
#ifndef RKNPU_SOAK_H
#define RKNPU_SOAK_H

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "npu.h"
#include "one_op.h"
#include "rknpu_util.h"

#define WAIT_NS		(60000 * RK_MS)
#define DRIVER		"/sys/bus/platform/drivers/rknpu-accel"
#define NUM(a)		(sizeof(a) / sizeof((a)[0]))

enum kind { RAW, CHAIN, EXT, ORDER, MATMUL_INT8, MATMUL_FP16, CONV, KINDS };

static const char *const kind_names[KINDS] = {
	"raw", "chain", "ext", "order", "matmul_int8", "matmul_fp16", "conv",
};

static uint64_t rng;

static uint32_t rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng * 0x2545f4914f6cdd1dull) >> 32;
}

static uint32_t below(uint32_t n)
{
	return rnd() % n;
}

/* ---- jobs; each returns 0, a negative errno, or -EILSEQ for a wrong result ---- */

static int8_t small_int(void)
{
	return (int)below(17) - 8;
}

static int run_raw(struct rk_client *c)
{
	return rk_client_run(c, below(120));
}

/* in -> a -> b -> c in three jobs of one submit, the middle one of four equal tasks. */
static int run_chain(struct rk_client *c)
{
	const uint8_t value = below(100);
	struct drm_rocket_task t[3][4];
	struct drm_rocket_job job[3];
	struct rk_bo bo[3];
	int ret = rk_bo_fill(&c->in, value, RK_BYTES);

	memset(bo, 0, sizeof(bo));
	c->inc.used = 2 * RK_PAGE;
	for (int i = 0; i < 3 && !ret; i++) {
		const struct rk_bo *from = i ? &bo[i - 1] : &c->in;

		ret = rk_bo_init(&bo[i], c->fd, RK_BYTES);
		for (int k = 0; k < (i == 1 ? 4 : 1) && !ret; k++)
			ret = rk_op_task(&c->inc, from->iova, bo[i].iova, &t[i][k]);
		if (!ret)
			rk_job(&job[i], t[i], i == 1 ? 4 : 1, &from->handle, 1, &bo[i].handle, 1);
	}
	if (!ret)
		ret = rk_submit(c->fd, job, 3);
	/* A job that follows a failed one runs, on whatever that left. */
	for (int i = 0; i < 3 && !ret; i++)
		ret = rk_prep(&bo[i], 60000);
	for (int i = 0; i < 3 && !ret; i++) {
		long differs = rk_bo_differs(&bo[i], value + i + 1, RK_BYTES);

		ret = differs > 0 ? -EILSEQ : differs;
	}
	for (int i = 0; i < 3; i++)
		rk_bo_fini(&bo[i]);
	return ret;
}

#define EXT_TASKS	6

/* One job of several tasks, with whatever can be said about it. */
static int run_ext(struct rk_client *c)
{
	static const uint32_t flags[] = { 0, DRM_ROCKET_JOB_BATCHED, DRM_ROCKET_JOB_DIVISIBLE };
	const uint8_t value = below(100);
	struct drm_rocket_task t[EXT_TASKS];
	struct drm_rocket_job_ext job;
	uint32_t n = 1 + below(EXT_TASKS);
	int ret = rk_bo_fill(&c->in, value, RK_BYTES);
	long differs;

	c->inc.used = 2 * RK_PAGE;
	for (uint32_t i = 0; i < n && !ret; i++) {
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t[i]);
		if (!ret && i)
			rk_chain(&c->inc, &t[i - 1], &t[i]);
	}
	if (!ret)
		ret = rk_fini(&c->inc.bo);
	if (!ret)
		ret = rk_bo_fill(&c->out, 0, RK_BYTES);
	rk_job_ext(&job, t, n, &c->in, &c->out);
	job.flags = flags[below(NUM(flags))];
	job.core_mask = below(8);
	job.priority = below(DRM_ROCKET_PRIORITY_HIGH + 1);
	if (!ret)
		ret = rk_submit_ext(c->fd, &job, 1, NULL);
	if (!ret)
		ret = rk_prep(&c->out, 60000);
	if (ret)
		return ret;
	differs = rk_bo_differs(&c->out, value + 1, RK_BYTES);
	return differs > 0 ? -EILSEQ : differs;
}

/* Jobs that write the same BO end in their order, also when there is no device to run them. */
static int run_ordered(struct rk_client *c)
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	struct drm_rocket_task t;
	uint64_t id[4];
	uint32_t n;
	int ret;

	c->inc.used = 2 * RK_PAGE;
	ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t);
	if (!ret)
		ret = rk_fini(&c->inc.bo);
	for (n = 0; n < NUM(id) && !ret; n++) {
		rk_job_ext(&job, &t, 1, &c->in, &c->out);
		job.core_mask = below(8);
		job.priority = below(DRM_ROCKET_PRIORITY_HIGH + 1);
		ret = rk_submit_ext(c->fd, &job, 1, &id[n]);
		if (ret)
			break;
	}
	if (n > 1) {
		/* Whoever saw the last one end must find that the others have. */
		do {
			ret = rk_wait_job(c->fd, id[n - 1], rk_now() + RK_MS, &w);
		} while (ret == -ETIMEDOUT || ret == -EBUSY);
		/* ENODEV if the device was unbound in between. */
		for (uint32_t i = 0; i < n - 1 && !ret; i++)
			ret = rk_wait_job(c->fd, id[i], 0, &w);
		if (ret == -EBUSY)
			return -EILSEQ;
	}
	return ret ? ret : rk_prep(&c->out, 60000);
}

#define MAX_M	24u
#define MAX_N	80u
#define MAX_K	96u

static struct {
	int8_t a[MAX_M * MAX_K], b[MAX_N * MAX_K];
	uint16_t ah[MAX_M * MAX_K], bh[MAX_N * MAX_K];
	union {
		int32_t i[MAX_M * MAX_N];
		float f[MAX_M * MAX_N];
	} c;
} mm;

/* Once, from the operand to the result. */
static int run_op(struct one_op *o, int ret, const void *x, void *y)
{
	if (!ret)
		ret = one_op_start(o, x);
	if (!ret)
		ret = one_op_finish(o, y, WAIT_NS);
	one_op_free(o);
	return ret;
}

/* Sums of products of small integers are exact in every type. */
static int run_matmul(struct npu_dev *dev, bool half)
{
	struct npu_rec_opts opts = { .size = sizeof(opts), .cores = below(4) };
	struct npu_rec_matmul_opts how = { .size = sizeof(how), .max_n = below(2) ? 32 : 0 };
	struct npu_weights_desc d = {
		.size = sizeof(d),
		.type = half ? NPU_PREC_FP16 : NPU_PREC_INT8, .n = 1 + below(MAX_N), .k = 1 + below(MAX_K),
	};
	uint32_t m = 1 + below(MAX_M);
	struct one_op o;
	int ret;

	for (size_t i = 0; i < m * d.k; i++) {
		mm.a[i] = small_int();
		mm.ah[i] = npu_f64_to_f16(mm.a[i]);
	}
	for (size_t i = 0; i < d.n * d.k; i++) {
		mm.b[i] = small_int();
		mm.bh[i] = npu_f64_to_f16(mm.b[i]);
	}
	memset(&mm.c, 0xa5, sizeof(mm.c));
	ret = one_op_matmul(&o, dev, &d, half ? (void *)mm.bh : mm.b, m, half ? NPU_PREC_FP32 : NPU_PREC_INT32,
			    &opts, &how);
	ret = run_op(&o, ret, half ? (void *)mm.ah : mm.a, &mm.c);
	if (ret)
		return ret;
	for (uint32_t r = 0; r < m; r++)
		for (uint32_t j = 0; j < d.n; j++) {
			size_t at = (size_t)r * d.n + j;
			int32_t sum = 0;

			for (uint32_t i = 0; i < d.k; i++)
				sum += mm.a[r * d.k + i] * mm.b[j * d.k + i];
			if (half ? mm.c.f[at] != sum : mm.c.i[at] != sum)
				return -EILSEQ;
		}
	return 0;
}

#define CONV_SIDE	9u
#define CONV_C		32u

static int32_t conv_sum(const int8_t *in, const int8_t *w, int y0, int x0)
{
	int32_t acc = 0;

	for (int ky = 0; ky < 3; ky++)
		for (int kx = 0; kx < 3; kx++) {
			int y = y0 + ky, x = x0 + kx;

			if (y < 0 || x < 0 || y >= (int)CONV_SIDE || x >= (int)CONV_SIDE)
				continue;
			for (uint32_t c = 0; c < CONV_C; c++)
				acc += in[(y * CONV_SIDE + x) * CONV_C + c] * w[(ky * 3 + kx) * CONV_C + c];
		}
	return acc;
}

static int run_conv(struct npu_dev *dev)
{
	static int8_t in[CONV_SIDE * CONV_SIDE * CONV_C], w[CONV_C * 9 * CONV_C];
	static int8_t out[CONV_SIDE * CONV_SIDE * CONV_C];
	static const struct npu_window win = {
		.size = sizeof(win),
		.in_w = CONV_SIDE, .in_h = CONV_SIDE, .kw = 3, .kh = 3,
		.pad_left = 1, .pad_right = 1, .pad_top = 1, .pad_bottom = 1,
	};
	static const struct npu_conv_weights_desc d = {
		.size = sizeof(d),
		.type = NPU_PREC_INT8, .in_c = CONV_C, .out_c = CONV_C, .kw = 3, .kh = 3,
		/* Ties go to even, as nearbyint() has them. */
		.rq = { .scale = 1, .shift = 5 },
	};
	struct npu_rec_opts opts = { .size = sizeof(opts), .cores = 1 + below(3) };
	struct one_op o;
	int ret;

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = small_int();
	for (size_t i = 0; i < sizeof(w); i++)
		w[i] = small_int();
	memset(out, 0xa5, sizeof(out));
	ret = run_op(&o, one_op_conv(&o, dev, &d, w, &win, &opts, NULL), in, out);
	if (ret)
		return ret;
	/* A sample: every element would be most of the time. */
	for (int i = 0; i < 300; i++) {
		uint32_t y = below(CONV_SIDE), x = below(CONV_SIDE), n = below(CONV_C);
		double v = nearbyint(conv_sum(in, w + n * 9 * CONV_C, y - 1, x - 1) / 32.0);

		v = v > 127 ? 127 : v < -128 ? -128 : v;
		if (out[(y * CONV_SIDE + x) * CONV_C + n] != v)
			return -EILSEQ;
	}
	return 0;
}

static bool put(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);

	if (fd >= 0)
		close(fd);
	return ok;
}

static char cores[RK_CORES][32];

static bool find_cores(void)
{
	glob_t g = { 0 };
	bool ok = !glob(DRIVER "/*.npu", 0, NULL, &g) && g.gl_pathc == RK_CORES;

	for (size_t i = 0; ok && i < RK_CORES; i++)
		snprintf(cores[i], sizeof(cores[i]), "%s", strrchr(g.gl_pathv[i], '/') + 1);
	globfree(&g);
	return ok;
}

static void console(bool there)
{
	glob_t g = { 0 };
	static char device[64];

	if (!there && !glob("/sys/bus/virtio/drivers/virtio_console/virtio*", 0, NULL, &g))
		snprintf(device, sizeof(device), "%s", strrchr(g.gl_pathv[0], '/') + 1);
	globfree(&g);
	if (device[0])
		put(there ? "/sys/bus/virtio/drivers/virtio_console/bind" :
			    "/sys/bus/virtio/drivers/virtio_console/unbind", device);
}

static int out = 1;

/* The console that took over from the one that went to sleep. */
static void find_output(void)
{
	glob_t g = { 0 };

	for (int tries = 0; tries < 50; tries++, rk_sleep_ms(20)) {
		if (glob("/sys/class/virtio-ports/*", 0, NULL, &g))
			continue;
		for (size_t i = 0; i < g.gl_pathc; i++) {
			char path[300], name[64] = "";
			FILE *f;

			snprintf(path, sizeof(path), "%s/name", g.gl_pathv[i]);
			f = fopen(path, "re");
			if (f && !fgets(name, sizeof(name), f))
				name[0] = 0;
			if (f)
				fclose(f);
			if (strcmp(name, "testbed.out\n"))
				continue;
			snprintf(path, sizeof(path), "/dev/%s", strrchr(g.gl_pathv[i], '/') + 1);
			out = open(path, O_WRONLY | O_CLOEXEC);
		}
		globfree(&g);
		if (out >= 0)
			return;
	}
}

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (out >= 0)
		vdprintf(out, fmt, ap);
	va_end(ap);
}

#endif
