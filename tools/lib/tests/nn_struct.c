// SPDX-License-Identifier: MIT
/*
 * Options and answers of recordings in structures of programs that were compiled with an older or a newer npu.h.
 */
#include "nn.h"

#define ROWS	8
#define COLS	32

/* A structure as a newer npu.h may have it. */
static union any {
	size_t size;
	struct npu_rec_opts rec;
	struct npu_rec_matmul_opts matmul;
	struct npu_rec_conv_opts conv;
	struct npu_softmax_opts softmax;
	struct npu_norm_opts norm;
	struct npu_attention_opts attention;
	struct npu_window window;
	char bytes[256];
} any;

static struct fixture {
	struct npu_dev *dev;
	struct npu_tensor *x, *y;
	struct npu_weights *w, *conv;
	struct npu_rec *rec;
} f;

static int a_rec(void)
{
	struct npu_rec *rec = NULL;
	int ret = npu_rec_new(f.dev, &any.rec, &rec);

	npu_rec_free(rec);
	return ret;
}

static int a_matmul(void)
{
	return npu_rec_matmul(f.rec, f.x, f.w, f.y, &any.matmul);
}

static const struct npu_window one = { .size = sizeof(one), .in_w = 4, .in_h = 2, .kw = 1, .kh = 1 };

static int a_conv(void)
{
	return npu_rec_conv(f.rec, f.x, f.conv, &one, f.y, &any.conv);
}

static void set_window(void)
{
	any.window.in_w = one.in_w;
	any.window.in_h = one.in_h;
	any.window.kw = any.window.kh = 1;
}

static int a_conv_window(void)
{
	set_window();
	return npu_rec_conv(f.rec, f.x, f.conv, &any.window, f.y, NULL);
}

static int a_pool_window(void)
{
	set_window();
	return npu_rec_pool(f.rec, NPU_POOL_MAX, f.x, &any.window, f.y);
}

static int a_softmax(void)
{
	return npu_rec_softmax(f.rec, f.x, f.y, &any.softmax);
}

static int a_norm(void)
{
	any.norm.epsilon = 0.5f;
	return npu_rec_rms_norm(f.rec, f.x, f.y, &any.norm);
}

static int an_attention(void)
{
	return npu_rec_attention(f.rec, f.x, f.x, f.x, f.y, &any.attention);
}

static int with(int (*call)(void), size_t size, size_t set, bool *told)
{
	int ret;

	memset(&any, 0, sizeof(any));
	any.size = size;
	if (set)
		any.bytes[set] = 1;
	f.rec = nn_rec(f.dev);
	ret = call();
	*told = npu_rec_message(f.rec)[0];
	if (call != a_rec)
		ret = nn_run(f.rec, ret);
	npu_rec_free(f.rec);
	return ret;
}

static void test_options(const char *name, size_t size, int (*call)(void))
{
	bool told[4], all = call == a_rec;
	int same = with(call, size, 0, &told[0]), larger = with(call, size + 8, 0, &told[1]);
	int unknown = with(call, size + 8, size, &told[2]), small = with(call, size - 8, 0, &told[3]);

	tap_ok(!same && !larger && unknown == -EOPNOTSUPP && small == -EINVAL && !told[0] && !told[1] &&
	       (all || (told[2] && told[3])), "%s: %d, larger %d, with something new %d, too small %d", name, same,
	       larger, unknown, small);
}

/* ---- answers ---- */

static int get_stats(void *s)
{
	return npu_stats(f.dev, s);
}

static int get_version(void *s)
{
	return npu_version(f.dev, s);
}

static int get_info(void *s)
{
	return npu_rec_get_info(f.rec, s);
}

static int get_failure(void *s)
{
	return npu_rec_failure(f.rec, s);
}

/* Does the call fill what it knows, and nothing behind the end of the program's structure? */
static void test_answer(const char *name, size_t known, int (*get)(void *s))
{
	uint8_t same[256], larger[256], small[256], old[256];
	size_t newer = known + 16, none = known - 8;
	int ret;

	memset(same, 0xa5, sizeof(same));
	memset(larger, 0xa5, sizeof(larger));
	memset(small, 0xa5, sizeof(small));
	memcpy(old, small, sizeof(old));
	memcpy(same, &known, sizeof(known));
	memcpy(larger, &newer, sizeof(newer));
	memcpy(small, &none, sizeof(none));
	memcpy(old, &none, sizeof(none));
	ret = get(same);
	tap_ok(!ret && same[known] == 0xa5 && same[sizeof(size_t)] != 0xa5, "%s is filled to its end", name);
	ret = get(larger);
	tap_ok(!ret && !memcmp(larger + sizeof(size_t), same + sizeof(size_t), known - sizeof(size_t)) &&
	       !larger[known] && !larger[newer - 1] && larger[newer] == 0xa5, "a larger one the same, and 0 beyond");
	ret = get(small);
	tap_ok(ret == -EINVAL && !memcmp(small, old, sizeof(small)), "a size below the first one is refused");
}

static void test_answers(void)
{
	struct npu_rec_info info;

	f.rec = nn_rec(f.dev);
	memset(&any, 0, sizeof(any));
	any.size = sizeof(any.matmul);
	nn_run(f.rec, a_matmul());
	info = npu_rec_info(f.rec);
	tap_ok(info.size == sizeof(info) && info.ops == 1 && info.tasks == 1, "npu_rec_info() says the same");
	test_answer("struct npu_rec_info", sizeof(struct npu_rec_info), get_info);
	test_answer("struct npu_stats", sizeof(struct npu_stats), get_stats);
	test_answer("struct npu_version", sizeof(struct npu_version), get_version);
	sim_hang_task(0);
	tap_ok(!npu_rec_run(f.rec) && npu_rec_wait(f.rec, -1) == -ETIME, "a run that hangs");
	sim_hang_task(-1);
	test_answer("struct npu_rec_failure", sizeof(struct npu_rec_failure), get_failure);
	npu_rec_free(f.rec);
}

int main(void)
{
	struct npu_conv_weights_desc d = {
		.size = sizeof(d), .type = NPU_PREC_FP16, .in_c = COLS, .out_c = COLS, .kw = 1, .kh = 1,
	};
	float v[COLS * COLS] = { 1 };
	uint16_t h[COLS * COLS] = { 0x3c00 };

	npu_open(NULL, &f.dev);
	sim_features(DRM_ROCKET_FEATURE_SUBMIT_EXT | DRM_ROCKET_FEATURE_BATCHED | DRM_ROCKET_FEATURE_SCHED);
	f.x = nn_tensor(f.dev, NPU_PREC_FP16, ROWS, COLS, v);
	f.y = nn_result(f.dev, NPU_PREC_FP16, ROWS, COLS);
	f.w = nn_weights(f.dev, COLS, COLS, v, NULL);
	npu_conv_weights_new(f.dev, &d, h, &f.conv);
	test_options("struct npu_rec_opts", sizeof(any.rec), a_rec);
	test_options("struct npu_rec_matmul_opts", sizeof(any.matmul), a_matmul);
	test_options("struct npu_rec_conv_opts", sizeof(any.conv), a_conv);
	test_options("struct npu_window of conv", sizeof(any.window), a_conv_window);
	test_options("struct npu_window of pool", sizeof(any.window), a_pool_window);
	test_options("struct npu_softmax_opts", sizeof(any.softmax), a_softmax);
	test_options("struct npu_norm_opts", sizeof(any.norm), a_norm);
	test_options("struct npu_attention_opts", sizeof(any.attention), an_attention);
	test_answers();
	npu_weights_free(f.conv);
	npu_weights_free(f.w);
	npu_tensor_free(f.x);
	npu_tensor_free(f.y);
	tap_ok(!sim_bos(), "nothing is left");
	npu_close(f.dev);
	return tap_done();
}
