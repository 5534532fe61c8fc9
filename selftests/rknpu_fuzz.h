/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the fuzzer share: random values, and the clients that send them. */
#ifndef RKNPU_FUZZ_H
#define RKNPU_FUZZ_H

#include <stdatomic.h>

#include "rknpu_vendor_util.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(arr)	(sizeof(arr) / sizeof((arr)[0]))
#endif

#define THREADS		2
#define FILES		2
#define BOS		12
#define SYNCS		4
#define ARENA		(2 * RK_PAGE)

/* ---- random values, by the calling thread's seed ---- */

uint64_t rnd(void);
uint32_t below(uint32_t n);
bool one_in(uint32_t n);
/* Never the address of anything: a driver that writes there must fail. */
uint64_t edge(void);
uint64_t pointer(void);
uint32_t number(void);

/* ---- what the threads of a client share, without any locks ---- */

struct bo {
	uint32_t handle;
	uint32_t size;
	uint64_t iova;
	uint64_t offset;
};

struct client;

struct thread {
	uint64_t rng;
	uint8_t *arena;
	struct client *client;
};

/* A file of the vendor's uAPI: the first of the DRM node, the second of /dev/rknpu. */
struct vfile {
	int fd;
	bool misc;
	struct rv_bo bo[BOS];
	/* Good programs to start from. */
	struct rv_chain chain;
};

struct client {
	int fd[FILES];
	struct bo bo[FILES][BOS];
	uint32_t sync[FILES][SYNCS];
	/* A good program to start from, in BO 0 of each file. */
	struct rk_op op[FILES];
	struct drm_rocket_task task[FILES];
	struct rk_bo in[FILES];
	struct vfile vendor[FILES];
	struct thread threads[THREADS];
};

extern __thread struct thread *self;

static inline struct client *cl(void)
{
	return self->client;
}

/* A BO of a file of the accel node that exists, mostly. */
struct bo *some_bo(unsigned int f);
/* A GEM handle of it, or what is none. */
uint32_t some_handle(unsigned int f);

/* Memory that another thread may take away: is the access over, or has it faulted? */
bool touch(volatile uint8_t *p, size_t size, bool write);

/* ---- mainline's uAPI and what goes beyond; each returns 0 or a negative errno ---- */

int fuzz_create(unsigned int f);
int fuzz_submit(unsigned int f);
int fuzz_submit_ext(unsigned int f);
int fuzz_wait_job(unsigned int f);
int fuzz_param(unsigned int f);
int fuzz_bo_info(unsigned int f);
int fuzz_ranges(unsigned int f);
int fuzz_syncobj(unsigned int f);
int fuzz_prep(unsigned int f);
int fuzz_fini(unsigned int f);
int fuzz_close(unsigned int f);

/* ---- the vendor's uAPI; each returns 0 or a negative errno ---- */

/* Is there such a file to be had? */
bool vendor_there(unsigned int f);
int vendor_file(struct client *c, unsigned int f);

int fuzz_v_create(unsigned int f);
int fuzz_v_map(unsigned int f);
int fuzz_v_destroy(unsigned int f);
int fuzz_v_sync(unsigned int f);
int fuzz_v_submit(unsigned int f);
int fuzz_v_action(unsigned int f);
int fuzz_v_raw(unsigned int f);
int fuzz_v_prime(unsigned int f);
int fuzz_v_reopen(unsigned int f);

#endif /* RKNPU_FUZZ_H */
