/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns which job runs next, and where. */
#ifndef __RKNPU_QUEUE_H__
#define __RKNPU_QUEUE_H__

#include <linux/types.h>

struct list_head;
struct rknpu_client;
struct rknpu_core;
struct rknpu_device;
struct rknpu_job;

void rknpu_queue_init_core(struct rknpu_core *core);
void rknpu_queue_init_client(struct rknpu_client *client);

/* All of these under rknpu_device::lock. */

/* The core that @job should wait for, or NULL if none that it may run on is in service. */
struct rknpu_core *rknpu_queue_choose(struct rknpu_device *rdev, struct rknpu_job *job);
void rknpu_queue_add(struct rknpu_core *core, struct rknpu_job *job);
/* The same for one that was on @core: it is the first of its client's. */
void rknpu_queue_put_back(struct rknpu_core *core, struct rknpu_job *job);
void rknpu_queue_remove(struct rknpu_device *rdev, struct rknpu_job *job);

/*
 * The job that an idle core should run next: one of its own queues', in turns,
 * else one taken over from a busy core. It stays queued. NULL if there is none.
 */
struct rknpu_job *rknpu_queue_next(struct rknpu_core *core);
/* That job comes to the core: the same as removing it, and its client's turn is counted. */
void rknpu_queue_take(struct rknpu_core *core, struct rknpu_job *job);

/* Between two tasks of @job, which runs there: should others come first? */
bool rknpu_queue_wants_core(struct rknpu_core *core, struct rknpu_job *job);

/* Moves jobs of a core that went out of service to others, or to @stranded. */
void rknpu_queue_evacuate(struct rknpu_core *core, struct list_head *stranded);

#endif
