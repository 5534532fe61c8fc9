/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the watchdog of a core: is its kick late, stuck, unwanted, or in the way of others? */
#ifndef __RKNPU_WATCHDOG_H__
#define __RKNPU_WATCHDOG_H__

#include <linux/workqueue.h>

/* rknpu_runqueue::watchdog */
void rknpu_watchdog_work(struct work_struct *work);

#endif
