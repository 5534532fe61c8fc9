// SPDX-License-Identifier: MIT
/*
 * The NPU, and memory of it that products share.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "rknpu_ggml.h"

struct scratch {
	struct npu_tensor *tensor;
	struct npu_shape shape;
	uint32_t which;
	unsigned int users;
	struct scratch *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct npu_dev *npu;
static struct scratch *scratch;
static char description[128];

struct rknpu_ggml_stats rknpu_stats;

void rknpu_say(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "ggml-rknpu: %s\n", line);
}

void rknpu_lock(void)
{
	pthread_mutex_lock(&lock);
}

void rknpu_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

int rknpu_open(void)
{
	struct npu_version v = { .size = sizeof(v) };
	int ret;

	if (npu)
		return 0;
	ret = npu_open(NULL, &npu);
	if (ret)
		return ret;
	if (npu_version(npu, &v))
		v.name[0] = 0;
	snprintf(description, sizeof(description), "Rockchip NPU, %.48s, driver %.16s", npu_path(npu),
		 v.name);
	return 0;
}

const char *rknpu_description(void)
{
	return description;
}

struct npu_dev *rknpu_npu(void)
{
	return npu;
}

static bool same(const struct scratch *p, const struct npu_shape *shape, uint32_t which)
{
	return p->shape.type == shape->type && p->shape.rows == shape->rows &&
	       p->shape.cols == shape->cols && p->which == which;
}

int rknpu_scratch_get(struct npu_shape shape, uint32_t which, struct npu_tensor **out)
{
	struct scratch *p;
	int ret;

	for (p = scratch; p; p = p->next)
		if (same(p, &shape, which)) {
			p->users++;
			*out = p->tensor;
			return 0;
		}
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	ret = npu_tensor_new(npu, shape.type, shape.rows, shape.cols, &p->tensor);
	if (ret) {
		free(p);
		return ret;
	}
	p->shape = shape;
	p->which = which;
	p->users = 1;
	p->next = scratch;
	scratch = p;
	*out = p->tensor;
	return 0;
}

void rknpu_get_stats(struct rknpu_ggml_stats *stats)
{
	struct npu_stats n = { .size = sizeof(n) };

	*stats = rknpu_stats;
	if (!npu)
		return;
	npu_stats(npu, &n);
	stats->moved_in += n.packed;
	stats->moved_out += n.unpacked;
	stats->spaces = n.spaces;
}

void rknpu_scratch_put(struct npu_tensor *t)
{
	struct scratch **at = &scratch, *p;

	while (*at && (*at)->tensor != t)
		at = &(*at)->next;
	p = *at;
	if (!p || --p->users)
		return;
	*at = p->next;
	npu_tensor_free(p->tensor);
	free(p);
}
