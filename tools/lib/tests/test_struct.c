// SPDX-License-Identifier: MIT
/*
 * Unit tests of structures that begin with their size: those of programs that were compiled with an older or a
 * newer npu.h.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "npu.h"
#include "npu_util.h"
#include "dev/npu_struct.h"
#include "tap.h"

/* A structure in three versions. */
struct v1 {
	size_t size;
	uint32_t a;
	bool b;
};

struct v2 {
	size_t size;
	uint32_t a;
	bool b;
	uint64_t c;
};

struct v3 {
	size_t size;
	uint32_t a;
	bool b;
	uint64_t c, d;
};

static int take(struct v2 *to, const void *from)
{
	return NPU_TAKE(to, b, from);
}

static void test_take(void)
{
	struct v1 old = { sizeof(old), 1, true };
	struct v3 new = { sizeof(new), 1, true, 2, 0 };
	struct v2 got;
	int ret;

	memset(&got, 0xff, sizeof(got));
	ret = take(&got, NULL);
	tap_ok(!ret && !got.a && !got.b && !got.c, "none counts as zeros");
	memset(&got, 0xff, sizeof(got));
	ret = take(&got, &old);
	tap_ok(!ret && got.a == 1 && got.b && !got.c, "an older one: what it lacks is 0");
	ret = take(&got, &new);
	tap_ok(!ret && got.a == 1 && got.b && got.c == 2, "a newer one that asks for nothing new");
	new.d = UINT64_C(1) << 63;
	tap_ok(take(&got, &new) == -EOPNOTSUPP, "a newer one that does");
	for (size_t size = 0; size < sizeof(old); size++) {
		old.size = size;
		ret = take(&got, &old);
		if (ret != -EINVAL)
			break;
	}
	tap_ok(ret == -EINVAL, "sizes below the first one, 0 among them");
	old.size = SIZE_MAX;
	tap_ok(take(&got, &old) == -EINVAL, "a size that was never set");
}

static void test_fill(void)
{
	const struct v2 from = { .size = 99, .a = 1, .b = true, .c = 2 };
	struct v3 new = { .size = sizeof(new), .d = 7 };
	struct {
		struct v1 old;
		uint64_t behind;
	} s = { .old.size = sizeof(s.old), .behind = 5 };
	int ret = NPU_FILL(&new, b, &from);

	tap_ok(!ret && new.size == sizeof(new) && new.a == 1 && new.b && new.c == 2 && !new.d,
	       "a newer one is filled, and 0 beyond");
	ret = NPU_FILL(&s.old, b, &from);
	tap_ok(!ret && s.old.size == sizeof(s.old) && s.old.a == 1 && s.old.b && s.behind == 5,
	       "an older one is filled to its end");
	s.old.size--;
	tap_ok(NPU_FILL(&s.old, b, &from) == -EINVAL, "one below the first size is not");
}

/* ---- the library's own ---- */

#define MOST	256

/* Those that it reads, with as much behind them as a newer one may have. */
static union any {
	size_t size;
	struct npu_weights_desc weights;
	struct npu_conv_weights_desc conv_weights;
	struct npu_window window;
	char bytes[MOST];
} any;

static int weights(void)
{
	struct npu_weights *w;

	/* No type of weights: a description that is read is refused before the device is asked. */
	any.weights.type = NPU_PREC_FP32;
	return npu_weights_new(NULL, &any.weights, NULL, &w);
}

static int conv_weights(void)
{
	struct npu_weights *w;

	any.conv_weights.type = NPU_PREC_FP32;
	return npu_conv_weights_new(NULL, &any.conv_weights, NULL, &w);
}

static int window(void)
{
	any.window.in_w = any.window.in_h = 4;
	any.window.kw = any.window.kh = 1;
	return npu_window_out_w(&any.window) == 4 && npu_window_out_h(&any.window) == 4 ? 0 : -EOPNOTSUPP;
}

static void test_own(const char *name, size_t size, int (*call)(void), int read)
{
	int same, larger, unknown, small;

	memset(&any, 0, sizeof(any));
	any.size = size;
	same = call();
	any.size = size + 8;
	larger = call();
	any.bytes[size + 7] = 1;
	unknown = call();
	any.size = size - 8;
	small = call();
	tap_ok(same == read && larger == read && unknown == -EOPNOTSUPP && small < 0,
	       "struct %s: %d, larger %d, with something new %d, too small %d", name, same, larger, unknown, small);
}

int main(void)
{
	test_take();
	test_fill();
	test_own("npu_weights_desc", sizeof(any.weights), weights, -EINVAL);
	test_own("npu_conv_weights_desc", sizeof(any.conv_weights), conv_weights, -EINVAL);
	test_own("npu_window", sizeof(any.window), window, 0);
	return tap_done();
}
