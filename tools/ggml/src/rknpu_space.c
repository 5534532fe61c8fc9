// SPDX-License-Identifier: MIT
/*
 * The NPU: open files of it, each with an address space of its own, and memory in them that
 * products share.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "rknpu_ggml.h"

/* An address space holds 4 GiB, and boards have 32 GiB at most. */
#define SPACES	8

struct scratch {
	struct npu_tensor *tensor;
	struct npu_shape shape;
	uint32_t which;
	unsigned int users;
	struct scratch *next;
};

struct rknpu_space {
	struct npu_dev *dev;
	struct scratch *scratch;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rknpu_space spaces[SPACES];
static unsigned int nspaces;
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

static int open_another(void)
{
	int ret;

	if (nspaces == SPACES)
		return -ENOSPC;
	ret = npu_open(NULL, &spaces[nspaces].dev);
	if (ret)
		return ret;
	nspaces++;
	rknpu_stats.spaces = nspaces;
	return 0;
}

int rknpu_open(void)
{
	struct npu_version v;
	int ret;

	if (nspaces)
		return 0;
	ret = open_another();
	if (ret)
		return ret;
	if (npu_version(spaces[0].dev, &v))
		v.name[0] = 0;
	snprintf(description, sizeof(description), "Rockchip NPU, %.48s, driver %.16s",
		 npu_path(spaces[0].dev), v.name);
	return 0;
}

const char *rknpu_description(void)
{
	return description;
}

struct rknpu_space *rknpu_space(void)
{
	return &spaces[nspaces - 1];
}

struct rknpu_space *rknpu_next_space(void)
{
	return open_another() ? NULL : rknpu_space();
}

struct npu_dev *rknpu_space_dev(struct rknpu_space *s)
{
	return s->dev;
}

static bool same(const struct scratch *p, const struct npu_shape *shape, uint32_t which)
{
	return p->shape.type == shape->type && p->shape.rows == shape->rows &&
	       p->shape.cols == shape->cols && p->which == which;
}

int rknpu_scratch_get(struct rknpu_space *s, struct npu_shape shape, uint32_t which,
		      struct npu_tensor **out)
{
	struct scratch *p;
	int ret;

	for (p = s->scratch; p; p = p->next)
		if (same(p, &shape, which)) {
			p->users++;
			*out = p->tensor;
			return 0;
		}
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	ret = npu_tensor_new(s->dev, shape.type, shape.rows, shape.cols, &p->tensor);
	if (ret) {
		free(p);
		return ret;
	}
	p->shape = shape;
	p->which = which;
	p->users = 1;
	p->next = s->scratch;
	s->scratch = p;
	*out = p->tensor;
	return 0;
}

void rknpu_get_stats(struct rknpu_ggml_stats *stats)
{
	*stats = rknpu_stats;
	for (unsigned int i = 0; i < nspaces; i++) {
		struct npu_stats n;

		npu_stats(spaces[i].dev, &n);
		stats->moved_in += n.packed;
		stats->moved_out += n.unpacked;
	}
}

void rknpu_scratch_put(struct rknpu_space *s, struct npu_tensor *t)
{
	struct scratch **at = &s->scratch, *p;

	while (*at && (*at)->tensor != t)
		at = &(*at)->next;
	p = *at;
	if (!p || --p->users)
		return;
	*at = p->next;
	npu_tensor_free(p->tensor);
	free(p);
}
