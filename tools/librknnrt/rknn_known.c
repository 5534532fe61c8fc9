// SPDX-License-Identifier: GPL-2.0-only
/* Networks about which something is known: sums, linear ones, and those whose outputs the host compares. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknn_net.h"

struct known {
	/* MODEL, or MODEL:JOB:FILE... */
	char *model;
	const char *job;
	const char *files[NET_TENSORS];
	int n_files;
};

/* Of the network that a case has opened: its outputs, run by run. */
#define RUNS 4
static float *outputs[RUNS][NET_TENSORS];
static int current;

static void keep_output(struct net *n, uint32_t i, const float *v)
{
	size_t bytes = n->out[i].n_elems * sizeof(*v);

	free(outputs[current][i]);
	outputs[current][i] = malloc(bytes);
	if (outputs[current][i])
		memcpy(outputs[current][i], v, bytes);
}

/* ---- a sum ---- */

/* fp16 addition, rounded once: what the hardware must give to the bit. */
static int case_add(void *arg)
{
	const struct known *k = arg;
	struct net n;
	uint64_t hash;
	unsigned int seed;
	size_t i;
	int ret;

	ret = net_open(&n, k->model, 0);
	if (ret)
		return ret;
	if (n.num.inputs != 2 || n.num.outputs != 1 || n.in[0].n_elems != n.out[0].n_elems ||
	    n.in[1].n_elems != n.out[0].n_elems || !net_is_float(&n.in[0]) || !net_is_float(&n.in[1]))
		return rt_fail("is no sum of two tensors of floats");
	n.output = keep_output;
	for (seed = 1; seed <= 5; seed++) {
		ret = net_run(&n, seed, &hash);
		if (ret)
			return ret;
		for (i = 0; i < n.out[0].n_elems; i++) {
			float a = ((float *)n.input[0])[i], b = ((float *)n.input[1])[i];
			float want = rt_half_to_float(rt_float_to_half(a + b));

			if (outputs[0][0][i] != want)
				return rt_fail("element %zu: %g + %g is %g", i, a, b, outputs[0][0][i]);
		}
	}
	return net_close(&n);
}

/* ---- linear networks ---- */

/* Run 0 is fed zeroes, 1 and 2 random numbers, 3 the sums of theirs. Sums of bytes stay bytes. */
static void fill_linear(struct net *n, uint32_t i, void *to, unsigned int run)
{
	struct rt_random a = { .state = 100 + i }, b = { .state = 200 + i };
	size_t k;

	for (k = 0; k < n->in[i].n_elems; k++) {
		uint32_t x = rt_random(&a) >> 25, y = rt_random(&b) >> 25;
		uint32_t v = (run & 1 ? x : 0) + (run & 2 ? y : 0);

		/* A sign for each element, the same in all runs. */
		if (net_is_float(&n->in[i]))
			((float *)to)[k] = (k * 2654435761u >> 16 & 1 ? 1 : -1) * (int)v / 64.0f;
		else
			((uint8_t *)to)[k] = v;
	}
}

/* What rounding of four outputs may add up to. */
static float rounding(const struct rt_tensor *t, float most)
{
	return net_is_float(t) ? 4 * most * 0x1p-11f : 4 * 0.75f * t->scale;
}

static bool saturated(const struct rt_tensor *t, float v)
{
	float q = v / t->scale + t->zero_point;

	return !net_is_float(t) && (q < -127.5f || q > 126.5f);
}

/* A channel's output: f(a + b) + f(0) = f(a) + f(b). */
static int check_linear(const struct net *n, uint32_t o)
{
	const struct rt_tensor *t = &n->out[o];
	float most = 0, worst = 0, e, *v[RUNS];
	size_t i, used = 0;
	int r;

	for (r = 0; r < RUNS; r++)
		v[r] = outputs[r][o];
	for (i = 0; i < t->n_elems; i++) {
		for (r = 0; r < RUNS; r++)
			most = fmaxf(most, fabsf(v[r][i]));
	}
	for (i = 0; i < t->n_elems; i++) {
		if (saturated(t, v[0][i]) || saturated(t, v[1][i]) || saturated(t, v[2][i]) || saturated(t, v[3][i]))
			continue;
		e = fabsf(v[3][i] + v[0][i] - v[1][i] - v[2][i]);
		if (!(e <= rounding(t, most)))
			return rt_fail("output %u, element %zu: f(a + b) + f(0) is %g, f(a) + f(b) is %g", o, i,
				       v[3][i] + v[0][i], v[1][i] + v[2][i]);
		worst = fmaxf(worst, e);
		used += v[1][i] != v[0][i] && v[2][i] != v[0][i];
	}
	printf("# %zu of %u elements depend on both inputs; at most %g off, %g allowed\n", used, t->n_elems, worst,
	       rounding(t, most));
	if (used < t->n_elems / 2)
		return rt_fail("output %u: only %zu elements of %u depend on the inputs", o, used, t->n_elems);
	return RT_PASS;
}

static int case_linear(void *arg)
{
	const struct known *k = arg;
	struct net n;
	uint64_t hash;
	uint32_t o;
	int ret;

	ret = net_open(&n, k->model, 0);
	if (ret)
		return ret;
	n.fill = fill_linear;
	n.output = keep_output;
	for (current = 0; current < RUNS; current++) {
		ret = net_run(&n, current, &hash);
		if (ret)
			return ret;
	}
	for (o = 0; !ret && o < n.num.outputs; o++)
		ret = check_linear(&n, o);
	return ret ? ret : net_close(&n);
}

/* ---- for the host ---- */

static void print_output(struct net *n, uint32_t i, const float *v)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t bytes = n->out[i].n_elems * sizeof(*v), at;
	const uint8_t *p = (const uint8_t *)v;
	uint32_t three;

	printf("# base64 %u ", i);
	for (at = 0; at < bytes; at += 3) {
		three = p[at] << 16 | (at + 1 < bytes ? p[at + 1] : 0) << 8 | (at + 2 < bytes ? p[at + 2] : 0);
		putchar(digits[three >> 18]);
		putchar(digits[three >> 12 & 63]);
		putchar(at + 1 < bytes ? digits[three >> 6 & 63] : '=');
		putchar(at + 2 < bytes ? digits[three & 63] : '=');
	}
	putchar('\n');
}

static int case_run(void *arg)
{
	const struct known *k = arg;
	struct net n;
	uint64_t hash;
	int ret;

	ret = net_open(&n, k->model, 0);
	if (ret)
		return ret;
	if (n.num.inputs != k->n_files)
		return rt_fail("the network has %u inputs", n.num.inputs);
	n.files = k->files;
	n.output = print_output;
	printf("# job %s\n", k->job);
	ret = net_run(&n, 1, &hash);
	return ret ? ret : net_close(&n);
}

/* Noise is all the same to networks that look for something: waves across the picture, by channel. */
static void fill_waves(struct net *n, uint32_t i, void *to, unsigned int seed)
{
	const struct rt_tensor *t = &n->in[i];
	uint32_t c = t->dims[t->n_dims - 1], w = t->n_dims > 2 ? t->dims[t->n_dims - 2] : 1;
	size_t k;

	for (k = 0; k < t->n_elems; k++) {
		float v = sinf(k / c % w / 17.0f + k % c + seed) * cosf(k / c / w / 23.0f + 0.7f * (k % c));

		if (net_is_float(t))
			((float *)to)[k] = v;
		else
			((uint8_t *)to)[k] = 127.5f + 127 * v;
	}
}

/* Noise, waves, and the noise again. */
static int case_noise(void *arg)
{
	const struct known *k = arg;
	uint64_t first = 0, hash = 0;
	struct net n;
	int ret;

	ret = net_open(&n, k->model, 0);
	if (ret)
		return ret;
	n.output = print_output;
	printf("# job noise\n");
	ret = net_run(&n, 1, &first);
	if (ret)
		return ret;
	n.fill = fill_waves;
	printf("# job waves\n");
	ret = net_run(&n, 1, &hash);
	if (ret)
		return ret;
	n.fill = NULL;
	n.output = NULL;
	ret = net_run(&n, 1, &hash);
	if (!ret && hash != first)
		return rt_fail("the same input gives other outputs");
	return ret ? ret : net_close(&n);
}

/* ---- which ---- */

static const struct {
	const char *name;
	const char *shows;
	int (*fn)(void *arg);
} kinds[] = {
	{ "add", "is fp16 addition", case_add },
	{ "linear", "is linear in its inputs", case_linear },
	{ "run", "runs", case_run },
	{ "noise", "gives the same for the same inputs", case_noise },
};

/* KIND:MODEL[:JOB:FILE...] */
static bool parse(char *text, struct known *k, size_t *kind)
{
	char *word = strsep(&text, ":");

	memset(k, 0, sizeof(*k));
	for (*kind = 0; *kind < sizeof(kinds) / sizeof(kinds[0]); ++*kind) {
		if (!strcmp(word, kinds[*kind].name))
			break;
	}
	k->model = strsep(&text, ":");
	k->job = strsep(&text, ":");
	while (text && k->n_files < NET_TENSORS)
		k->files[k->n_files++] = strsep(&text, ":");
	return *kind < sizeof(kinds) / sizeof(kinds[0]) && k->model;
}

int main(int argc, char **argv)
{
	struct known k;
	char name[256];
	size_t kind;
	int i;

	if (argc < 3) {
		fprintf(stderr, "usage: rknn_known librknnrt.so KIND:MODEL[:JOB:INPUT...]...; add, linear, noise, run\n");
		return 2;
	}
	rt_begin(argv[1]);
	for (i = 2; i < argc; i++) {
		if (!parse(argv[i], &k, &kind)) {
			fprintf(stderr, "rknn_known: what is %s?\n", argv[i]);
			return 2;
		}
		snprintf(name, sizeof(name), "%s: %s%s%s", k.model, kinds[kind].shows, k.job ? " with " : "",
			 k.job ? k.job : "");
		rt_case(name, kinds[kind].fn, &k);
	}
	return rt_end();
}
