/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two parts of rknpu_hostile share: the attacks, and what they tell of themselves. */
#ifndef RKNPU_HOSTILE_H
#define RKNPU_HOSTILE_H

#include <stdatomic.h>

#include "rknpu_vendor_util.h"

/* What one task takes, whosever it is. */
#define TASK_MS		1u
/* Of those of attackers that keep a core for long. */
#define LONG_TASKS	100u
/* The longest deadline that anybody may ask for, and after how long a failure is forgiven. */
#define LONGEST_MS	100u
#define FORGIVEN_MS	200u

struct hostile_state {
	/* The attack is at its full strength. */
	atomic_bool on;
	/* What it has done, so that none is taken for one that was not there. */
	atomic_ulong hits;
	/* What was not as an attack had to find it. */
	atomic_ulong odd;
	/* No more jobs of victims. */
	atomic_bool stop;
};

/* In memory that all processes share. */
extern struct hostile_state *hostile;

/*
 * Each goes on until it is killed, in a process that is its user's alone, and may
 * make more of them. One that returns has failed.
 */
void attack_nothing(void);
void attack_slots(void);
void attack_long(void);
void attack_pauses(void);
void attack_gangs(void);
void attack_priorities(void);
void attack_hangs(void);
void attack_never_started(void);
void attack_faults(void);
void attack_memory(void);
void attack_clock(void);
void attack_syncs(void);
void attack_poll(void);
void attack_kills(void);
void attack_everything(void);

#endif /* RKNPU_HOSTILE_H */
