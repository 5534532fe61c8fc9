/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of the vendor's uAPI share: its node, buffers, and provable jobs. */
#ifndef RKNPU_VENDOR_UTIL_H
#define RKNPU_VENDOR_UTIL_H

#include <drm/rknpu_drm.h>

#include "rknpu_util.h"

#define RV_FLAGS	0x403u	/* what librknnrt 2.3 uses: data */
#define RV_FLAGS_TASK	0x40bu	/* task buffers */
#define RV_INT_DPU	0x300u
#define RV_INT_PPU	0xc00u
#define RV_TASK_TAIL	4u
/* As RK_FILE_BYTES. */
#define RV_FILE_BYTES	(16u * 1024)

/* The primary node named "rknpu", or the render node; or a negative errno. */
int rv_open(void);
int rv_open_render(void);
/* /dev/rknpu, which is an option. All below works on it, too. */
int rv_open_misc(void);

#define RV_MISC(nr, size)	_IOC(_IOC_READ | _IOC_WRITE, 'r', nr, size)

/* DRM_IOCTL_RKNPU_*, or the same of /dev/rknpu if that is what @fd is. */
int rv_ioctl(int fd, unsigned long cmd, void *arg);

int rv_create(int fd, struct drm_rknpu_mem_create *c);
int rv_submit(int fd, struct drm_rknpu_submit *s);
int rv_action(int fd, uint32_t flags, uint32_t *value);

struct rv_bo {
	int fd;
	uint32_t handle;
	uint64_t size;
	uint64_t obj;
	uint64_t iova;
	uint8_t *map;
};

/* Creates and maps; every function returns 0 or a negative errno. */
int rv_bo_init(struct rv_bo *bo, int fd, uint64_t size, uint32_t flags, int domain);
void rv_bo_fini(struct rv_bo *bo);
int rv_sync(const struct rv_bo *bo, uint32_t flags, uint64_t offset, uint64_t size);
/* All of an object, with each combination of the flags. */
int rv_sync_every_way(int fd, uint64_t obj, uint64_t size);

/*
 * A dma-buf of another driver, mapped at *map, or a negative errno: -ENOENT if
 * the kernel has none that gives memory away.
 */
int rv_foreign_memory(size_t size, uint8_t **map);
/* The same @size bytes @times times, and not mapped. */
int rv_repeated_memory(size_t size, unsigned int times);
/* Memory of one exporter alone. */
int rv_udmabuf(size_t size, uint8_t **map);
int rv_heap_memory(size_t size, uint8_t **map);

#define RV_MAX_CHAIN	8

/*
 * @n chained tasks, each of which adds 1 to all of its RK_BYTES bytes, up to 127: from in to
 * mid[0], ..., to out.  The buffer holds weights, programs and data; the tasks
 * are in a buffer of their own from index @first on.
 */
struct rv_chain {
	int fd;
	uint32_t n;
	uint32_t first;
	struct rv_bo bo;
	struct rv_bo tasks;
};

int rv_chain_init(struct rv_chain *c, int fd, uint32_t n, uint32_t first, int domain);
void rv_chain_fini(struct rv_chain *c);
struct drm_rknpu_task *rv_chain_task(struct rv_chain *c, uint32_t i);
/* Fills the input with @value, overwrites all that follows, and hands it to the NPU. */
int rv_chain_fill(struct rv_chain *c, int value);
/*
 * The last program leads to the first one, and the tasks repeat from index 0 on, @n
 * of them: a chain of any length. The buffer has to have room for them.
 */
int rv_chain_loop(struct rv_chain *c, uint32_t n);
/* Bytes of the output that are not @value. */
long rv_chain_wrong(struct rv_chain *c, int value);
/* As librknnrt fills it: any core, one slice for all. */
void rv_chain_submit(const struct rv_chain *c, struct drm_rknpu_submit *s);
/* Fill, submit, wait, compare: 0, a negative errno, or -EILSEQ. */
int rv_chain_run(struct rv_chain *c, int value);

/* The same tasks in a buffer at @tasks, which the file knows as @obj: 0, or as rv_chain_run(). */
int rv_chain_run_from(struct rv_chain *c, int value, struct drm_rknpu_task *tasks, uint64_t obj);

/* Waits for a sync_file, closes it, and says nothing of how the job ended: 0 or -ETIMEDOUT. */
int rv_wait_fence(int fd);

/*
 * SUBMIT by @fd, whose tasks are copies of the first of @c. Only in the same
 * address space do they find their programs and data.
 */
int rv_chain_submit_by(const struct rv_chain *c, int fd);
/* As rv_chain_run(), with tasks in that object, which is mapped at @map. */
int rv_run_tasks_in(int fd, uint64_t obj, void *map);

#define RV_OPEN_OR_SKIP(fd)						\
	do {								\
		(fd) = rv_open();					\
		if ((fd) < 0)						\
			SKIP(return, "no vendor node: %s", strerror(-(fd)));	\
		rk_model_calm();					\
	} while (0)

/* A fixture that has the node open. */
#define RV_FIXTURE(name)						\
	FIXTURE(name) {							\
		int fd;							\
	};								\
	FIXTURE_SETUP(name)						\
	{								\
		RV_OPEN_OR_SKIP(self->fd);				\
	}								\
	FIXTURE_TEARDOWN(name)						\
	{								\
		rk_model_calm();					\
		close(self->fd);					\
	}								\
	struct rv_fixture_##name##_ends

#endif /* RKNPU_VENDOR_UTIL_H */
