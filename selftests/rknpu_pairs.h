/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two parts of rknpu_pairs share: the objects that calls work on, and the table of calls. */
#ifndef RKNPU_PAIRS_H
#define RKNPU_PAIRS_H

#include "rknpu_vendor_util.h"

/* A file of the accel node and another one, one of the vendor's node, and one of /dev/rknpu. */
enum pair_file { ROCKET, OTHER, VENDOR, MISC, FILES };

/* A program with its data, what else a job names, and an import. */
enum { PROGRAM, PLAIN, IMPORT, BOS };

#define PAIR_PAGES	4
#define SYNCS		2
#define SYNC_FILES	2

/*
 * The names that user space has for one BO. Both threads read and change them without a lock,
 * so that one of them works with what the other one is just giving up.
 */
struct pair_bo {
	uint32_t handle;
	uint64_t obj;
	uint64_t iova;
	uint64_t offset;
	void *map;
	/* An export; -1: none. On /dev/rknpu the handle is one. */
	int dmabuf;
};

struct pair_pool {
	struct {
		int fd;
		struct pair_bo bo[BOS];
	} file[FILES];
	/* Of the file ROCKET. */
	uint32_t sync[SYNCS];
	struct drm_rocket_task task;
	uint64_t job;
	int sync_file[SYNC_FILES];
	/* Memory of another driver, which stays; or negative. */
	int foreign;
};

extern struct pair_pool pool;
extern char pair_path[FILES][64];

/* What a call works on, and by what it chooses among the ways to make it. */
struct pair_ctx {
	enum pair_file f;
	unsigned int i;
	uint64_t rng;
	/* Pages for arrays, and where the kernel is to read them. */
	uint8_t *page;
	uint8_t *seen;
};

static inline uint32_t pair_below(struct pair_ctx *c, uint32_t n)
{
	c->rng ^= c->rng << 13;
	c->rng ^= c->rng >> 7;
	c->rng ^= c->rng << 17;
	return (c->rng * 0x2545f4914f6cdd1dull >> 33) % n;
}

/* How a call wants to be run. */
enum {
	/* Its arguments have arrays, which it puts into pair_ctx::page. */
	PAIR_ARRAYS = 1,
	/* Nothing is left of the process. */
	PAIR_LETHAL = 2,
};

struct pair_op {
	/* Of both the thread's name is made. */
	const char *name;
	/* Returns 0 or a negative errno. */
	int (*call)(struct pair_ctx *c);
	enum pair_file file;
	unsigned int flags;
};

extern const struct pair_op pair_ops[];
extern const unsigned int pair_op_count;

/* Makes again what a file lacks: 0 or a negative errno. */
int pair_fill(enum pair_file f);
/* Gives up every name of the file's BOs, and the sync_files, as often as that is possible. */
void pair_drop(enum pair_file f);
/* Closes everything; fds from @first on are the pool's. */
void pair_reset(int first);

#endif /* RKNPU_PAIRS_H */
