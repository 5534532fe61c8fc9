/* SPDX-License-Identifier: GPL-2.0-only */
/* The attacks, who runs them, and what they tell: of rknpu_hostile and of the soak. */
#ifndef RKNPU_HOSTILE_H
#define RKNPU_HOSTILE_H

#include <stdatomic.h>

#include "rknpu_vendor_util.h"

/* What one task takes, whosever it is. */
#define TASK_MS		1u
/* Of those of attackers that keep a core for long. */
#define LONG_TASKS	100u
/* And of those that take longer than a gang waits for its last core, half a second. */
#define LATE_TASKS	600u
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

/* Those who may open the nodes, since they came last: their group. */
void hostile_let_open(void);
/* Nobody but that user, of that group, in a process that does not outlive its parent. */
void hostile_become(uid_t uid);
/*
 * An attack by a user who has all the files and processes that it may. hostile_end() ends it and
 * all that it has forked, for which the caller must be a subreaper.
 */
pid_t hostile_start(uid_t uid, void (*attack)(void));
void hostile_end(pid_t pid);

/*
 * Each goes on until it is killed, in a process that is its user's alone, and may
 * make more of them. One that returns has failed.
 */
void attack_nothing(void);
void attack_slots(void);
void attack_long(void);
void attack_pauses(void);
void attack_gangs(void);
void attack_gangs_and_long(void);
void attack_late_gangs(void);
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
