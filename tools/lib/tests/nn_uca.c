// SPDX-License-Identifier: MIT
/*
 * The uCA interface: functions and flags, what is refused, and a feed-forward block.
 */
#include "nn.h"
#include "uca.h"

#define ROWS	12u
#define COLS	40u

static double exact(enum uca_func f, double x)
{
	switch (f) {
	case UCA_EXP:
		return exp(x);
	case UCA_SQRT:
		return sqrt(x);
	case UCA_GELU:
		return x * erfc(-x / sqrt(2)) / 2;
	case UCA_SIN:
		return sin(x);
	case UCA_COS:
		return cos(x);
	case UCA_SCALE:
		return x * 3;
	default:
		return 1 / x;
	}
}

/* The bounds of enum npu_act; a product has one rounding. */
static double bound(enum uca_func f, double x, double y)
{
	switch (f) {
	case UCA_EXP:
		return 0x1p-10;
	case UCA_SQRT:
		return 5 * 0x1p-12 * fabs(y);
	case UCA_GELU:
		return 0x1p-11 * (fabs(x) + fabs(y)) + 0x1p-25;
	case UCA_SIN:
	case UCA_COS:
		return 0x1p-9;
	case UCA_SCALE:
		return 0x1p-11 * fabs(y);
	default:
		return 6 * 0x1p-12 * fabs(y);
	}
}

static void read_floats(struct npu_tensor *t, float *v)
{
	npu_tensor_read_f32(t, v, 0, 1);
}

/* Once as it is; then added to that, and the largest of each row. */
static void test_function(struct uca *u, enum uca_func f)
{
	static float x[ROWS * COLS], y[ROWS * COLS], twice[ROWS * COLS], most[ROWS];
	struct npu_tensor *src, *dst, *three;
	float factor[COLS];
	unsigned int bad = 0;
	int ret;

	for (uint32_t i = 0; i < ROWS * COLS; i++)
		x[i] = nn_half((fabsf(nn_rnd()) + 0x1p-6f) * 7 * (f == UCA_EXP ? -1 : 1));
	for (uint32_t i = 0; i < COLS; i++)
		factor[i] = 3;
	src = nn_tensor(u->dev, NPU_PREC_FP16, ROWS, COLS, x);
	dst = nn_tensor(u->dev, NPU_PREC_FP16, ROWS, COLS, NULL);
	three = nn_tensor(u->dev, NPU_PREC_FP16, 1, COLS, factor);
	uca_memset(u, 63, ROWS, COLS);
	ret = uca_cvo(u, f, dst, src, f == UCA_SCALE ? three : NULL, 63, 0);
	ret = ret ? ret : uca_sync(u, -1);
	read_floats(dst, y);
	ret = ret ? ret : uca_cvo(u, f, dst, src, f == UCA_SCALE ? three : NULL, 63,
				  UCA_ACCM | UCA_FINDEMAX);
	ret = ret ? ret : uca_sync(u, -1);
	read_floats(dst, twice);
	ret = ret ? ret : uca_emax(u, most);
	for (uint32_t i = 0; i < ROWS * COLS; i++) {
		double want = exact(f, (double)x[i]);

		bad += !(fabs((double)y[i] - want) <= bound(f, (double)x[i], want));
		/* Twice a half is exact. */
		bad += twice[i] != 2 * y[i];
	}
	for (uint32_t r = 0; r < ROWS; r++) {
		float largest = -INFINITY;

		for (uint32_t c = 0; c < COLS; c++)
			largest = fmaxf(largest, twice[r * COLS + c]);
		bad += most[r] != largest;
	}
	npu_tensor_free(src);
	npu_tensor_free(dst);
	npu_tensor_free(three);
	tap_ok(!ret && !bad, "function %d, accumulated, with the largest: error %d, %u wrong", f, ret, bad);
}

static void test_sum(struct uca *u)
{
	static float x[ROWS * COLS];
	struct npu_tensor *src, *dst;
	float y[ROWS];
	unsigned int bad = 0;
	int ret;

	/* Whole numbers: sums are exact. */
	for (uint32_t i = 0; i < ROWS * COLS; i++)
		x[i] = (float)(int)(nn_rnd() * 9);
	src = nn_tensor(u->dev, NPU_PREC_FP16, ROWS, COLS, x);
	dst = nn_tensor(u->dev, NPU_PREC_FP16, ROWS, 1, NULL);
	ret = uca_memset(u, 1, ROWS, 1);
	ret = ret ? ret : uca_cvo(u, UCA_REDUCE_SUM, dst, src, NULL, 1, 0);
	ret = ret ? ret : uca_cvo(u, UCA_REDUCE_SUM, dst, src, NULL, 1, UCA_ACCM);
	ret = ret ? ret : uca_sync(u, -1);
	read_floats(dst, y);
	for (uint32_t r = 0; r < ROWS; r++) {
		float sum = 0;

		for (uint32_t c = 0; c < COLS; c++)
			sum += x[r * COLS + c];
		bad += y[r] != 2 * sum;
	}
	npu_tensor_free(src);
	npu_tensor_free(dst);
	tap_ok(!ret && !bad, "sums of rows, twice: error %d, %u wrong", ret, bad);
}

static void test_refused(struct uca *u)
{
	struct npu_tensor *t = nn_tensor(u->dev, NPU_PREC_FP16, 4, 32, NULL);
	struct npu_tensor *y = nn_tensor(u->dev, NPU_PREC_FP16, 4, 32, NULL);
	uint16_t half[4 * 32] = { 0 };
	float most[4];
	unsigned int runs;
	struct uca none;

	tap_ok(uca_memset(u, 64, 1, 1) == -EINVAL && uca_memset(u, UINT32_MAX, 1, 1) == -EINVAL,
	       "slot 64");
	tap_ok(uca_memset(u, 2, 65536, 1) == -ERANGE && uca_memset(u, 2, 1, 65536 + 1) == -ERANGE &&
	       uca_memset(u, 2, 0, 1) == -ERANGE, "sizes of 17 bits are not cut to 16");
	tap_ok(uca_memcpy_to(u, t, half, 2) == -EINVAL, "a slot that was not set");
	uca_memset(u, 2, 4, 32);
	uca_memset(u, 3, 8, 32);
	tap_ok(!uca_memcpy_to(u, t, half, 2) && uca_memcpy_to(u, t, half, 3) == -EINVAL,
	       "a slot of another shape");
	tap_ok(uca_cvo(u, (enum uca_func)8, y, t, NULL, 2, 0) == -EINVAL &&
	       uca_cvo(u, UCA_EXP, y, t, t, 2, 0) == -EINVAL &&
	       uca_cvo(u, UCA_SCALE, y, t, NULL, 2, 0) == -EINVAL &&
	       uca_cvo(u, UCA_EXP, y, t, NULL, 2, 4) == -EINVAL, "functions, operands and flags");
	tap_ok(!uca_sync(u, 0), "nothing to wait for");
	tap_ok(!uca_cvo(u, UCA_EXP, y, t, NULL, 2, UCA_FINDEMAX) &&
	       uca_memcpy_from(u, half, y, 2) == -EBUSY && uca_emax(u, most) == -EBUSY,
	       "no copy of what is queued");
	sim_stay_busy(2);
	tap_ok(uca_sync(u, 0) == -EBUSY && uca_cvo(u, UCA_EXP, y, t, NULL, 2, 0) == -EBUSY &&
	       uca_sync(u, 1000) == -ETIMEDOUT && !uca_sync(u, 1000) &&
	       !uca_memcpy_from(u, half, y, 2) && !uca_emax(u, most), "a sync that expires");
	uca_cvo(u, UCA_EXP, y, t, NULL, 2, 0);
	runs = sim_submits;
	sim_refuse_submit(0, -EBUSY);
	tap_ok(uca_sync(u, -1) == -EBUSY && uca_cvo(u, UCA_EXP, y, t, NULL, 2, 0) == -EBUSY && !uca_sync(u, 0) &&
	       sim_submits - runs == 1 && !uca_sync(u, 0) && sim_submits - runs == 1, "a driver without room for jobs: %u ran",
	       sim_submits - runs);
	tap_ok(uca_init(&none, NULL, 0) == -EINVAL && uca_init(&none, NULL, 4) == -EINVAL,
	       "no core, and more than there are");
	npu_tensor_free(t);
	npu_tensor_free(y);
}

/* Calls that are queued beside one that is not. */
static void test_refused_beside(struct uca *u)
{
	float zero[4 * 32] = { 0 }, out[4 * 32], most[4];
	struct npu_tensor *t = nn_tensor(u->dev, NPU_PREC_FP16, 4, 32, zero);
	struct npu_tensor *y = nn_tensor(u->dev, NPU_PREC_FP16, 4, 32, NULL);
	struct npu_stats s0 = { .size = sizeof(s0) }, s1 = { .size = sizeof(s1) };
	int queued[4], refused[4], sync[4], emax[4];
	unsigned int bad = 0;

	uca_memset(u, 2, 4, 32);
	uca_memset(u, 3, 8, 32);
	npu_stats(u->dev, &s0);
	for (int i = 0; i < 4; i++) {
		queued[i] = i == 1 ? 0 : uca_cvo(u, UCA_EXP, y, t, NULL, 2, UCA_FINDEMAX);
		if (i < 2)
			refused[i] = uca_cvo(u, UCA_EXP, y, t, NULL, 3, 0);
		else if (i == 2)
			refused[i] = uca_cvo(u, UCA_SCALE, y, t, NULL, 2, 0);
		else
			refused[i] = uca_gemv(u, y, t, NULL, 2, 0);
		if (i == 1)
			queued[i] = uca_cvo(u, UCA_EXP, y, t, NULL, 2, UCA_FINDEMAX);
		sync[i] = uca_sync(u, -1);
		emax[i] = uca_emax(u, most);
		bad += queued[i] || refused[i] != -EINVAL || sync[i] != -EINVAL || emax[i] != -ENOENT;
	}
	npu_stats(u->dev, &s1);
	read_floats(y, out);
	tap_ok(!bad && s1.runs == s0.runs && !out[0],
	       "a call beside one that is refused: syncs %d %d %d %d, maxima %d, %u runs, exp(0) is %g", sync[0], sync[1],
	       sync[2], sync[3], emax[0], (unsigned int)(s1.runs - s0.runs), (double)out[0]);
	tap_ok(!uca_sync(u, -1) && !uca_cvo(u, UCA_EXP, y, t, NULL, 2, UCA_FINDEMAX) && !uca_sync(u, -1) &&
	       !uca_emax(u, most) && most[3] == 1, "after that calls run");
	npu_tensor_free(t);
	npu_tensor_free(y);
}

/* A sum for which there is no memory, but for so many tensors. */
static void test_no_memory(struct uca *u, uint32_t left)
{
	float zero[4 * 32] = { 0 }, out[4 * 32] = { 0 };
	struct npu_tensor *t = nn_tensor(u->dev, NPU_PREC_FP16, 4, 32, zero), *fill[160] = { 0 };
	struct npu_tensor *y = nn_tensor(u->dev, NPU_PREC_FP16, 4, 32, NULL);
	struct npu_stats s0 = { .size = sizeof(s0) }, s1 = { .size = sizeof(s1) };
	uint32_t n = 0, first = 0;
	int ret, more, sync;

	uca_memset(u, 2, 4, 32);
	ret = uca_cvo(u, UCA_EXP, y, t, NULL, 2, 0);
	npu_limit_space(u->dev, 256 << 10);
	while (n < ARRAY_SIZE(fill) && !npu_tensor_new(u->dev, NPU_PREC_FP16, 4, 32, &fill[n]))
		n++;
	/* Where the queue is. */
	while (first < left && first < n)
		npu_tensor_free(fill[first++]);
	npu_stats(u->dev, &s0);
	more = uca_cvo(u, UCA_EXP, y, t, NULL, 2, UCA_ACCM);
	npu_limit_space(u->dev, 0);
	while (n > first)
		npu_tensor_free(fill[--n]);
	sync = uca_sync(u, -1);
	npu_stats(u->dev, &s1);
	read_floats(y, out);
	tap_ok(!ret && more && sync == more && s1.runs == s0.runs && !out[0],
	       "memory for %u tensors, not for a sum: %d, sync %d, %u runs, exp(0) is %g", left, more, sync,
	       (unsigned int)(s1.runs - s0.runs), (double)out[0]);
	npu_tensor_free(t);
	npu_tensor_free(y);
}

/* ---- a feed-forward block, twice ---- */

#define SIDE	4096u

static uint16_t *square(void)
{
	uint16_t *w = malloc((size_t)SIDE * SIDE * sizeof(*w));

	for (size_t i = 0; i < (size_t)SIDE * SIDE; i++)
		w[i] = npu_f32_to_f16(nn_rnd() / 32);
	return w;
}

/* Sums of SIDE products; what the operand may be off by counts, too, with random signs. */
static void layer(const uint16_t *w, const double *x, const double *off, double *y, double *far)
{
	for (uint32_t n = 0; n < SIDE; n++) {
		double sum = 0, size = 0, var = 0;

		for (uint32_t k = 0; k < SIDE; k++) {
			double v = (double)npu_f16_to_f32(w[(size_t)n * SIDE + k]);

			sum += v * x[k];
			size += fabs(v * x[k]);
			var += v * off[k] * v * off[k];
		}
		y[n] = sum;
		far[n] = 8 * sqrt(SIDE) * 0x1p-24 * size + fabs(sum) * 0x1p-11 + 0x1p-25 + 8 * sqrt(var);
	}
}

static void test_feed_forward(struct uca *u)
{
	static uint16_t x[SIDE], y[SIDE];
	static double vx[SIDE], h[SIDE], g[SIDE], want[SIDE], off[3][SIDE];
	uint16_t *w = square();
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_FP16, .n = SIDE, .k = SIDE };
	struct npu_weights *first = NULL, *second = NULL;
	struct npu_tensor *t[4];
	struct npu_stats s0 = { .size = sizeof(s0) }, s1 = { .size = sizeof(s1) };
	unsigned int jobs, bad = 0;
	int ret = npu_weights_new(u->dev, &d, w, &first);

	d.is_kn = true;
	ret = ret ? ret : npu_weights_new(u->dev, &d, w, &second);
	for (int i = 0; i < 4; i++)
		t[i] = nn_tensor(u->dev, NPU_PREC_FP16, 1, SIDE, NULL);
	for (uint32_t i = 0; i < SIDE; i++) {
		x[i] = npu_f32_to_f16(nn_rnd());
		vx[i] = (double)npu_f16_to_f32(x[i]);
	}
	npu_stats(u->dev, &s0);
	jobs = sim_jobs;
	ret = ret ? ret : uca_memset(u, 0, 1, SIDE);
	ret = ret ? ret : uca_memcpy_to(u, t[0], x, 0);
	ret = ret ? ret : uca_gemv(u, t[1], t[0], first, 0, 0);
	ret = ret ? ret : uca_cvo(u, UCA_GELU, t[2], t[1], NULL, 0, 0);
	ret = ret ? ret : uca_gemv(u, t[3], t[2], second, 0, 0);
	ret = ret ? ret : uca_sync(u, -1);
	ret = ret ? ret : uca_memcpy_from(u, y, t[3], 0);
	npu_stats(u->dev, &s1);
	tap_ok(!ret && sim_jobs - jobs == 1 && s1.runs - s0.runs == 1, "two layers of 4096, one sync: error %d",
	       ret);
	tap_ok(s1.packed - s0.packed == SIDE * 2 && s1.unpacked - s0.unpacked == SIDE * 2 &&
	       s1.weights == s0.weights, "repacked: 8 KiB of input and 8 KiB of result");
	layer(w, vx, off[0], h, off[1]);
	for (uint32_t i = 0; i < SIDE; i++) {
		g[i] = exact(UCA_GELU, h[i]);
		off[2][i] = 1.13 * off[1][i] + bound(UCA_GELU, h[i], g[i]);
	}
	/* The second layer's weights are the first's, transposed. */
	for (uint32_t n = 0; n < SIDE; n++)
		for (uint32_t k = 0; k < n; k++) {
			uint16_t v = w[(size_t)n * SIDE + k];

			w[(size_t)n * SIDE + k] = w[(size_t)k * SIDE + n];
			w[(size_t)k * SIDE + n] = v;
		}
	layer(w, g, off[2], want, off[1]);
	for (uint32_t i = 0; i < SIDE; i++)
		bad += !(fabs((double)npu_f16_to_f32(y[i]) - want[i]) <= off[1][i]);
	tap_ok(!bad, "right within the roundings of both: %u wrong", bad);
	for (int i = 0; i < 4; i++)
		npu_tensor_free(t[i]);
	npu_weights_free(first);
	npu_weights_free(second);
	free(w);
}

int main(void)
{
	static const enum uca_func f[] = {
		UCA_EXP, UCA_SQRT, UCA_GELU, UCA_SIN, UCA_COS, UCA_SCALE, UCA_RECIP,
	};
	struct uca u;

	sim_features(OURS);
	uca_init(&u, NULL, 1);
	for (size_t i = 0; i < ARRAY_SIZE(f); i++)
		test_function(&u, f[i]);
	test_sum(&u);
	test_refused(&u);
	test_refused_beside(&u);
	test_no_memory(&u, 0);
	test_no_memory(&u, 1);
	test_feed_forward(&u);
	uca_exit(&u);
	uca_init(&u, NULL, 3);
	test_function(&u, UCA_GELU);
	test_sum(&u);
	uca_exit(&u);
	tap_ok(!sim_bos(), "nothing is left");
	return tap_done();
}
