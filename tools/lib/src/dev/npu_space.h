/* SPDX-License-Identifier: MIT */
/*
 * Address spaces of one device: an open file each, or over the vendor's interface a domain each.
 */
#ifndef NPU_SPACE_H
#define NPU_SPACE_H

#include "npu_device.h"

/* As many domains as the vendor's interface has. */
#define NPU_MAX_SPACES	16u

/* Of a device that npu_open() returned. */
struct npu_spaces {
	struct npu_dev *dev[NPU_MAX_SPACES];	/* the first one is that device */
	uint64_t used[NPU_MAX_SPACES];		/* bytes of memory with addresses there */
	uint32_t n;
	uint32_t newest;			/* that weights went to last */
	uint64_t limit;				/* npu_limit_space(), or 0 */
};

/* npu_dev.c */
struct npu_spaces *npu_dev_spaces(struct npu_dev *dev);
/* Another address space of the same node; its number is what the vendor's interface calls it. */
int npu_dev_open_space(struct npu_dev *dev, uint32_t number, struct npu_dev **out);

/* A buffer with several users, which can be seen from several address spaces. */
struct npu_mem {
	struct npu_dev *dev;		/* that npu_open() returned */
	struct npu_bo *bo;
	uint32_t space;			/* of @bo */
	uint64_t iova;			/* in the space that was entered last */
	struct npu_bo *seen[NPU_MAX_SPACES];	/* in others, or NULL */
	uint32_t copied;		/* bit per space: what is seen there is a copy */
	unsigned int refs;
	const struct npu_rec *last;	/* that ran with it, perhaps long gone: only compared */
	bool last_shared;		/* and several cores wrote it */
	struct npu_bo *last_out;	/* in-tree rocket: who has waited for it can write; or NULL */
	bool foreign;			/* other clients may see it: it was exported or imported */
};

/* What one buffer can hold, see npu_bo_alloc(). */
#define NPU_MEM_MAX		UINT64_C(0x7ffff000)

/* All allocate and map; with one reference. In the first space with some room to spare, or a new one. */
int npu_mem_new(struct npu_dev *dev, size_t size, struct npu_mem **out);
/* The same with more to spare; first of all where weights were put last. */
int npu_mem_new_weights(struct npu_dev *dev, size_t size, struct npu_mem **out);
int npu_mem_new_at(struct npu_dev *dev, uint32_t space, size_t size, struct npu_mem **out);
int npu_mem_import(struct npu_dev *dev, int fd, struct npu_mem **out);
struct npu_mem *npu_mem_get(struct npu_mem *mem);
void npu_mem_put(struct npu_mem *mem);
/* Makes it seen there: @iova is its address in that space until it enters another one. */
int npu_mem_bind(struct npu_mem *mem, uint32_t space);
/* NULL if it never entered. */
struct npu_bo *npu_mem_bo(const struct npu_mem *mem, uint32_t space);
/* If what @space sees is a copy: brings it there, or back. Nothing may run with it. */
int npu_mem_copy_in(struct npu_mem *mem, uint32_t space);
int npu_mem_copy_out(struct npu_mem *mem, uint32_t space);

#endif /* NPU_SPACE_H */
