/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns polling: a timer per core that looks whether a kick is over, where no interrupt tells. */
#ifndef __RKNPU_POLL_H__
#define __RKNPU_POLL_H__

struct rknpu_core;

void rknpu_poll_init(struct rknpu_core *core);

/* rknpu_hw::lock held: looks at the running kick from now on. */
void rknpu_poll_start(struct rknpu_core *core);
/* Looks once, as the timer does; false: no kick is running, or the core is not polled. */
bool rknpu_poll_once(struct rknpu_core *core);
/* Process context: nobody is looking, nor will, before the next kick is started. */
void rknpu_poll_sync(struct rknpu_core *core);

#endif
