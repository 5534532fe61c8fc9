/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns waiting without sleeping: a caller looks at cores that are polled itself. */
#ifndef __RKNPU_SPIN_H__
#define __RKNPU_SPIN_H__

#include <linux/types.h>

struct rknpu_sched;

/*
 * Before sleeping: looks at cores that are polled until @over says so (true), until
 * @deadline_ns, a signal, or another thread's turn, or for as long as the administrator
 * allows.
 */
bool rknpu_spin_until(struct rknpu_sched *sched, s64 deadline_ns, bool (*over)(void *data),
		      void *data);

#endif
