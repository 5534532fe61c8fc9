// SPDX-License-Identifier: GPL-2.0-only
/* Opens, feeds and runs compiled networks. */
#include <errno.h>
#include <linux/dma-buf.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "rknn_net.h"

static void *read_file(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	void *p = NULL;
	long n = -1;

	if (!f)
		return NULL;
	if (!fseek(f, 0, SEEK_END))
		n = ftell(f);
	rewind(f);
	if (n > 0)
		p = malloc(n);
	if (p && fread(p, 1, n, f) != (size_t)n) {
		free(p);
		p = NULL;
	}
	fclose(f);
	*bytes = n;
	return p;
}

/* What is no fault of the driver's: a file for another chip or another version, or with operators of somebody's own. */
static int refused(int err)
{
	switch (err) {
	case RT_ERR_MODEL_INVALID:
	case RT_ERR_DEVICE_UNMATCH:
	case RT_ERR_PLATFORM_UNMATCH:
		return rt_skip("this version does not take the model: rknn_init: %d", err);
	}
	/* The second is what 1.2.0 says. */
	if (rt_said("Invalid RKNN model version") || rt_said("Invalid RKNN format"))
		return rt_skip("is compiled for later versions");
	return rt_fail("rknn_init: %d", err);
}

bool net_is_float(const struct rt_tensor *t)
{
	return t->type == RT_FLOAT32 || t->type == RT_FLOAT16;
}

/* Networks of floats are fed floats, others bytes, as programs with pictures do. */
static size_t input_bytes(const struct rt_tensor *t)
{
	return net_is_float(t) ? t->n_elems * sizeof(float) : t->n_elems;
}

static int query_tensors(struct net *n, int what, struct rt_tensor *t, uint32_t count)
{
	/* 1.2.0 knows no stride of the height, and takes its own size only. */
	size_t bytes = rt.version < 10300 ? offsetof(struct rt_tensor, h_stride) : sizeof(*t);
	uint32_t i;
	int ret;

	for (i = 0; i < count; i++) {
		t[i].index = i;
		ret = rt.query(n->ctx, what, &t[i], bytes);
		if (ret)
			return rt_fail("rknn_query(%d) of tensor %u: %d", what, i, ret);
	}
	return RT_PASS;
}

static int describe(struct net *n)
{
	uint32_t i;
	int ret;

	ret = rt.query(n->ctx, RT_QUERY_IN_OUT_NUM, &n->num, sizeof(n->num));
	if (ret)
		return rt_fail("rknn_query of the number of tensors: %d", ret);
	if (n->num.inputs > NET_TENSORS || n->num.outputs > NET_TENSORS)
		return rt_fail("%u inputs and %u outputs", n->num.inputs, n->num.outputs);
	ret = query_tensors(n, RT_QUERY_INPUT, n->in, n->num.inputs);
	if (!ret)
		ret = query_tensors(n, RT_QUERY_OUTPUT, n->out, n->num.outputs);
	for (i = 0; !ret && i < n->num.inputs; i++) {
		n->input[i] = calloc(1, input_bytes(&n->in[i]));
		if (!n->input[i])
			ret = rt_fail("no memory");
	}
	return ret;
}

int net_open(struct net *n, const char *path, uint32_t flags)
{
	size_t bytes;
	void *file;
	int ret;

	memset(n, 0, sizeof(*n));
	file = read_file(path, &bytes);
	if (!file)
		return rt_fail("%s: %s", path, strerror(errno));
	ret = rt.init(&n->ctx, file, bytes, flags, NULL);
	free(file);
	return ret ? refused(ret) : describe(n);
}

int net_dup(struct net *n, struct net *of)
{
	int ret;

	memset(&n->num, 0, sizeof(n->num));
	ret = rt.dup_context(&of->ctx, &n->ctx);
	return ret ? rt_fail("rknn_dup_context: %d", ret) : describe(n);
}

int net_close(struct net *n)
{
	uint32_t i;
	int ret;

	for (i = 0; i < n->num.inputs; i++) {
		free(n->input[i]);
		if (n->in_mem[i])
			rt.destroy_mem(n->ctx, n->in_mem[i]);
	}
	for (i = 0; i < n->num.outputs; i++) {
		if (n->out_mem[i])
			rt.destroy_mem(n->ctx, n->out_mem[i]);
	}
	ret = rt.destroy(n->ctx);
	return ret ? rt_fail("rknn_destroy: %d", ret) : RT_PASS;
}

/* What a network without quantisation takes, of one that has the same inputs. */
static bool is_of_floats(const struct rt_tensor *t, size_t bytes)
{
	return !net_is_float(t) && bytes == t->n_elems * sizeof(float);
}

static int copy_file(const char *name, const struct rt_tensor *t, void *to)
{
	size_t bytes = 0, want = input_bytes(t);
	void *file = read_file(name, &bytes);
	int ret = RT_PASS;

	if (file && is_of_floats(t, bytes))
		ret = rt_skip("the network takes bytes, and %s has floats", name);
	else if (!file || bytes != want)
		ret = rt_fail("%s has not %zu bytes", name, want);
	else
		memcpy(to, file, bytes);
	free(file);
	return ret;
}

/* Floats are multiples of 1/64 in -2 to 2, which fp16 holds. */
static int fill(struct net *n, uint32_t i, void *to, unsigned int seed)
{
	struct rt_random r = { .state = seed * 7919u + i };
	const struct rt_tensor *t = &n->in[i];
	size_t k;

	if (n->files && n->files[i])
		return copy_file(n->files[i], t, to);
	if (n->fill) {
		n->fill(n, i, to, seed);
		return RT_PASS;
	}
	for (k = 0; k < t->n_elems; k++) {
		uint32_t v = rt_random(&r);

		if (net_is_float(t))
			((float *)to)[k] = (int)(v >> 24) / 64.0f - 2;
		else
			((uint8_t *)to)[k] = v >> 24;
	}
	return RT_PASS;
}

int net_fill(struct net *n, unsigned int seed)
{
	uint32_t i;
	int ret = RT_PASS;

	for (i = 0; !ret && i < n->num.inputs; i++)
		ret = fill(n, i, n->input[i], seed);
	return ret;
}

int net_give(struct net *n)
{
	struct rt_input in[NET_TENSORS] = { 0 };
	uint32_t i;
	int ret;

	for (i = 0; i < n->num.inputs; i++) {
		in[i].index = i;
		in[i].buf = n->input[i];
		in[i].size = input_bytes(&n->in[i]);
		in[i].type = net_is_float(&n->in[i]) ? RT_FLOAT32 : RT_UINT8;
		in[i].format = n->in[i].format;
	}
	ret = rt.inputs_set(n->ctx, n->num.inputs, in);
	return ret ? rt_fail("rknn_inputs_set: %d", ret) : RT_PASS;
}

int net_inputs(struct net *n, unsigned int seed)
{
	int ret = net_fill(n, seed);

	return ret ? ret : net_give(n);
}

static int look(struct net *n, uint32_t i, const float *v, uint64_t *hash)
{
	struct net_stats *s = &n->stats[i];
	size_t k;

	*s = (struct net_stats){ .low = INFINITY, .high = -INFINITY };
	for (k = 0; k < n->out[i].n_elems; k++) {
		if (isnan(v[k]))
			return rt_fail("element %zu of output %u is no number", k, i);
		s->low = fminf(s->low, v[k]);
		s->high = fmaxf(s->high, v[k]);
		s->mean += v[k] / n->out[i].n_elems;
	}
	*hash = rt_hash(*hash, v, n->out[i].n_elems * sizeof(*v));
	if (n->output)
		n->output(n, i, v);
	return RT_PASS;
}

int net_outputs(struct net *n, uint64_t *hash)
{
	struct rt_output out[NET_TENSORS] = { 0 };
	uint32_t i;
	int ret;

	for (i = 0; i < n->num.outputs; i++) {
		out[i].index = i;
		out[i].want_float = 1;
	}
	ret = rt.outputs_get(n->ctx, n->num.outputs, out, NULL);
	if (ret)
		return rt_fail("rknn_outputs_get: %d", ret);
	*hash = RT_HASH;
	for (i = 0; !ret && i < n->num.outputs; i++) {
		if (out[i].size < n->out[i].n_elems * sizeof(float))
			ret = rt_fail("output %u has %u bytes", i, out[i].size);
		else
			ret = look(n, i, out[i].buf, hash);
	}
	rt.outputs_release(n->ctx, n->num.outputs, out);
	return ret;
}

static int run(struct net *n)
{
	int ret = rt.run(n->ctx, NULL);

	if (ret && rt_said("no custom delegate"))
		return rt_skip("needs an operator of its author's");
	return ret ? rt_fail("rknn_run: %d", ret) : RT_PASS;
}

int net_run(struct net *n, unsigned int seed, uint64_t *hash)
{
	int ret;

	ret = net_inputs(n, seed);
	if (ret)
		return ret;
	ret = run(n);
	return ret ? ret : net_outputs(n, hash);
}

/* ---- memory of the client's ---- */

static int give(struct net *n, struct rt_tensor *t, bool input, struct rt_mem *(*make)(struct net *n, uint32_t bytes),
		struct rt_mem **mem, const char *whose)
{
	struct rt_tensor as = *t;
	uint32_t bytes = t->size_with_stride > t->size ? t->size_with_stride : t->size;
	int ret;

	as.pass_through = 0;
	if (!input || net_is_float(t))
		as.type = RT_FLOAT32;
	else
		as.type = RT_UINT8;
	if (as.type == RT_FLOAT32)
		bytes = t->n_elems * sizeof(float);
	*mem = make(n, bytes);
	if (!*mem)
		return rt_fail("%s of %u bytes: %s", whose, bytes, strerror(errno));
	ret = rt.set_io_mem(n->ctx, *mem, &as);
	return ret ? rt_fail("rknn_set_io_mem of %s %u: %d", input ? "input" : "output", t->index, ret) : RT_PASS;
}

int net_set_memory(struct net *n, struct rt_mem *(*make)(struct net *n, uint32_t bytes), const char *whose)
{
	int ret = RT_PASS;
	uint32_t i;

	for (i = 0; !ret && i < n->num.inputs; i++) {
		/* Lines of such memory have gaps where the width is no multiple of 16. */
		if (n->in[i].w_stride && n->in[i].format == RT_NHWC && n->in[i].n_dims == 4 &&
		    n->in[i].w_stride != n->in[i].dims[2])
			return rt_skip("input %u has lines of %u for %u columns", i, n->in[i].w_stride,
				       n->in[i].dims[2]);
		ret = give(n, &n->in[i], true, make, &n->in_mem[i], whose);
	}
	for (i = 0; !ret && i < n->num.outputs; i++)
		ret = give(n, &n->out[i], false, make, &n->out_mem[i], whose);
	return ret;
}

/* The library leaves the caches of memory that it has by a file descriptor to the client. */
static int access_memory(struct rt_mem *const *mem, uint32_t count, uint64_t flags)
{
	struct dma_buf_sync s = { .flags = flags };
	uint32_t i;

	for (i = 0; i < count; i++)
		if (ioctl(mem[i]->fd, DMA_BUF_IOCTL_SYNC, &s))
			return rt_fail("DMA_BUF_IOCTL_SYNC: %s", strerror(errno));
	return RT_PASS;
}

static int fill_memory(struct net *n, unsigned int seed)
{
	uint32_t i;
	int ret = RT_PASS;

	for (i = 0; !ret && i < n->num.inputs; i++)
		ret = fill(n, i, n->in_mem[i]->addr, seed);
	return ret;
}

static int look_at_memory(struct net *n, uint64_t *hash)
{
	uint32_t i;
	int ret = RT_PASS;

	*hash = RT_HASH;
	for (i = 0; !ret && i < n->num.outputs; i++)
		ret = look(n, i, n->out_mem[i]->addr, hash);
	return ret;
}

int net_run_memory(struct net *n, unsigned int seed, bool by_fd, uint64_t *hash)
{
	int ret = by_fd ? access_memory(n->in_mem, n->num.inputs, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW) : RT_PASS;

	if (!ret)
		ret = fill_memory(n, seed);
	if (!ret && by_fd)
		ret = access_memory(n->in_mem, n->num.inputs, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
	if (!ret)
		ret = run(n);
	if (!ret && by_fd)
		ret = access_memory(n->out_mem, n->num.outputs, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ);
	if (!ret)
		ret = look_at_memory(n, hash);
	if (!ret && by_fd)
		ret = access_memory(n->out_mem, n->num.outputs, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ);
	return ret;
}
