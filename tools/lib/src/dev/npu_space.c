// SPDX-License-Identifier: MIT
/*
 * Memory and the address spaces that it is in: where there is room, and how a second space sees it.
 *
 * Addresses have 32 bits, so what exceeds 4 GiB goes to several spaces. One task sees one of them.
 * Drivers that import dma-bufs map the same memory there again, with the same fences; elsewhere
 * a second space has a copy, which the CPU carries back and forth.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npu_space.h"
#include "npu_struct.h"

#define PAGE		UINT64_C(4096)
/* Page 0 is never used. */
#define SPACE_BYTES	((UINT64_C(1) << 32) - PAGE)
/* Shares of a space that are left to what comes later: for tensors, and for recordings. */
#define FOR_TENSORS	8u
#define FOR_RECORDINGS	16u

static uint64_t limit_of(const struct npu_spaces *s)
{
	return s->limit ? min_u64(s->limit, SPACE_BYTES) : SPACE_BYTES;
}

static bool has_room(const struct npu_spaces *s, uint32_t space, size_t size, uint64_t limit)
{
	uint64_t bytes = round_up(size, PAGE);

	return bytes <= limit && s->used[space] <= limit - bytes;
}

/* What is large may fill a space of its own. */
static bool leaves_room(const struct npu_spaces *s, uint32_t space, size_t size, uint32_t share)
{
	uint64_t limit = limit_of(s);

	return has_room(s, space, size, s->used[space] ? limit - limit / share : limit);
}

static struct npu_mem *mem_alloc(struct npu_dev *dev, uint32_t space)
{
	struct npu_mem *mem = calloc(1, sizeof(*mem));

	if (!mem)
		return NULL;
	mem->dev = dev;
	mem->space = space;
	mem->refs = 1;
	return mem;
}

static void account(const struct npu_mem *mem, uint32_t space, const struct npu_bo *bo, int sign)
{
	struct npu_spaces *s = npu_dev_spaces(mem->dev);
	uint64_t bytes = round_up(bo->size, PAGE);

	s->used[space] += sign > 0 ? bytes : -bytes;
}

static void leave(const struct npu_mem *mem, uint32_t space, struct npu_bo *bo)
{
	if (!bo)
		return;
	account(mem, space, bo, -1);
	npu_kept(bo)->mem = NULL;
	npu_bo_free(bo);
}

static int alloc_mapped(struct npu_dev *dev, size_t size, struct npu_bo **out)
{
	int ret = npu_bo_alloc(dev, size, out);

	if (!ret && !npu_bo_map(*out)) {
		ret = -errno;
		npu_bo_free(*out);
	}
	return ret;
}

int npu_mem_new_at(struct npu_dev *dev, uint32_t space, size_t size, struct npu_mem **out)
{
	struct npu_spaces *s = npu_dev_spaces(dev);
	struct npu_mem *mem;
	int ret;

	if (!has_room(s, space, size, limit_of(s)))
		return -ENOSPC;
	mem = mem_alloc(dev, space);
	if (!mem)
		return -ENOMEM;
	ret = alloc_mapped(s->dev[space], size, &mem->bo);
	if (ret) {
		free(mem);
		return ret;
	}
	mem->iova = mem->bo->iova;
	npu_kept(mem->bo)->mem = mem;
	account(mem, space, mem->bo, 1);
	*out = mem;
	return 0;
}

/* A space that stays empty goes on being one. */
static int add_space(struct npu_dev *dev)
{
	struct npu_spaces *s = npu_dev_spaces(dev);
	int ret;

	if (s->n == NPU_MAX_SPACES)
		return -ENOSPC;
	ret = npu_dev_open_space(dev, s->n, &s->dev[s->n]);
	if (!ret)
		s->n++;
	return ret;
}

static int new_in_another(struct npu_dev *dev, size_t size, struct npu_mem **out)
{
	struct npu_spaces *s = npu_dev_spaces(dev);
	int ret;

	/* What no space can hold shall not open all that there are. */
	if (round_up(size, PAGE) > limit_of(s))
		return -ENOSPC;
	if (s->used[s->n - 1]) {
		ret = add_space(dev);
		if (ret)
			return ret;
	}
	return npu_mem_new_at(dev, s->n - 1, size, out);
}

int npu_mem_new(struct npu_dev *dev, size_t size, struct npu_mem **out)
{
	struct npu_spaces *s = npu_dev_spaces(dev);
	int ret = -ENOSPC;

	for (uint32_t i = 0; i < s->n && ret == -ENOSPC; i++)
		if (leaves_room(s, i, size, FOR_RECORDINGS))
			ret = npu_mem_new_at(dev, i, size, out);
	return ret == -ENOSPC ? new_in_another(dev, size, out) : ret;
}

/* Layers that follow each other stay together, where a recording is not cut. */
int npu_mem_new_weights(struct npu_dev *dev, size_t size, struct npu_mem **out)
{
	struct npu_spaces *s = npu_dev_spaces(dev);
	int ret = -ENOSPC;

	for (uint32_t i = 0; i < s->n && ret == -ENOSPC; i++) {
		uint32_t space = (s->newest + i) % s->n;

		if (leaves_room(s, space, size, FOR_TENSORS))
			ret = npu_mem_new_at(dev, space, size, out);
	}
	if (ret == -ENOSPC)
		ret = new_in_another(dev, size, out);
	if (!ret)
		s->newest = (*out)->space;
	return ret;
}

/* Memory that is in a space has a handle there, which is what an import gets. */
static struct npu_mem *known_elsewhere(struct npu_dev *dev, int fd)
{
	const struct npu_spaces *s = npu_dev_spaces(dev);
	struct npu_mem *mem = NULL;
	struct npu_bo *bo;

	/* Those of the vendor's interface are one file. */
	for (uint32_t i = 1; i < s->n && !mem && !npu_is_vendor(dev); i++) {
		if (npu_bo_import(s->dev[i], fd, &bo))
			continue;
		mem = npu_kept(bo)->mem;
		npu_bo_free(bo);
	}
	return mem;
}

static int adopt(struct npu_dev *dev, struct npu_bo *bo, struct npu_mem **out)
{
	struct npu_mem *mem = mem_alloc(dev, 0);

	if (!mem)
		return -ENOMEM;
	mem->bo = bo;
	mem->iova = bo->iova;
	npu_kept(bo)->mem = mem;
	account(mem, 0, bo, 1);
	*out = mem;
	return 0;
}

int npu_mem_import(struct npu_dev *dev, int fd, struct npu_mem **out)
{
	struct npu_bo *bo = NULL;
	int ret = npu_bo_import(dev, fd, &bo);
	struct npu_mem *mem = ret ? NULL : npu_kept(bo)->mem;

	if (!mem)
		mem = known_elsewhere(dev, fd);
	if (mem) {
		npu_mem_get(mem);
		npu_bo_free(bo);
	} else if (!ret) {
		ret = adopt(dev, bo, &mem);
		if (ret)
			npu_bo_free(bo);
	}
	if (!mem)
		return ret;
	mem->foreign = true;
	*out = mem;
	return 0;
}

struct npu_mem *npu_mem_get(struct npu_mem *mem)
{
	mem->refs++;
	return mem;
}

void npu_mem_put(struct npu_mem *mem)
{
	if (!mem || --mem->refs)
		return;
	for (uint32_t i = 0; i < NPU_MAX_SPACES; i++)
		leave(mem, i, mem->seen[i]);
	leave(mem, mem->space, mem->bo);
	free(mem);
}

/* ---- a second space ---- */

static int share(const struct npu_mem *mem, struct npu_dev *with, struct npu_bo **out)
{
	int fd, ret;

	/* Memory of the vendor's interface is in one domain, whoever imports it. */
	if (npu_is_vendor(with) || !npu_can_import(with))
		return -EOPNOTSUPP;
	ret = npu_bo_export(mem->bo, &fd);
	if (ret)
		return ret;
	ret = npu_bo_import(with, fd, out);
	close(fd);
	return ret;
}

int npu_mem_bind(struct npu_mem *mem, uint32_t space)
{
	struct npu_spaces *s = npu_dev_spaces(mem->dev);
	struct npu_bo *bo = npu_mem_bo(mem, space);
	int ret;

	if (!bo) {
		if (!has_room(s, space, mem->bo->size, limit_of(s)))
			return -ENOSPC;
		ret = share(mem, s->dev[space], &bo);
		if (ret == -EOPNOTSUPP) {
			ret = alloc_mapped(s->dev[space], mem->bo->size, &bo);
			mem->copied |= (uint32_t)!ret << space;
		}
		if (ret)
			return ret;
		account(mem, space, bo, 1);
		npu_kept(bo)->mem = mem;
		mem->seen[space] = bo;
	}
	mem->iova = bo->iova;
	return 0;
}

struct npu_bo *npu_mem_bo(const struct npu_mem *mem, uint32_t space)
{
	return space == mem->space ? mem->bo : mem->seen[space];
}

static int copy(struct npu_dev *dev, struct npu_bo *from, struct npu_bo *to)
{
	int ret;

	if (!npu_bo_map(from) || !npu_bo_map(to))
		return -errno;
	ret = npu_bo_prep(from, -1);
	/* What a job failed to write is as good as where jobs read it without a copy, or is written anew. */
	if (ret && !npu_is_job_error(ret))
		return ret;
	npu_bo_prep(to, -1);
	memcpy(to->map, from->map, min_u64(from->size, to->size));
	npu_dev_stats(dev)->copied += min_u64(from->size, to->size);
	return npu_bo_fini(to);
}

int npu_mem_copy_in(struct npu_mem *mem, uint32_t space)
{
	return mem->copied >> space & 1 ? copy(mem->dev, mem->bo, mem->seen[space]) : 0;
}

int npu_mem_copy_out(struct npu_mem *mem, uint32_t space)
{
	return mem->copied >> space & 1 ? copy(mem->dev, mem->seen[space], mem->bo) : 0;
}

/* ---- public ---- */

void npu_limit_space(struct npu_dev *dev, uint64_t bytes)
{
	npu_dev_spaces(dev)->limit = bytes;
}

int npu_reserve_spaces(struct npu_dev *dev, uint32_t n)
{
	const struct npu_spaces *s = npu_dev_spaces(dev);
	int ret = n > NPU_MAX_SPACES ? -EINVAL : 0;

	while (s->n < n && !ret)
		ret = add_space(dev);
	return ret;
}

int npu_stats(struct npu_dev *dev, struct npu_stats *s)
{
	struct npu_stats now = *npu_dev_stats(dev);

	now.spaces = npu_dev_spaces(dev)->n;
	return NPU_FILL(s, spaces, &now);
}
