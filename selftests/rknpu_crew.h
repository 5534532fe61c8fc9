/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes that do the same thing at the same time, as often as they are told. */
#ifndef RKNPU_CREW_H
#define RKNPU_CREW_H

#define RK_CREW_MAX	16

struct rk_crew {
	/* Both return 0 or a negative error; called in the member @i's process. */
	int (*begin)(void *arg, int i);
	int (*work)(void *arg, int n);
	void *arg;
	/* Owned by the functions below. */
	int order[RK_CREW_MAX], result[RK_CREW_MAX];
	int members;
};

/* Starts @members processes, and waits until each has begun. */
int rk_crew_start(struct rk_crew *crew, int members);
/* Has each of them work on @n; the first error of a member. */
int rk_crew_work(struct rk_crew *crew, int n);
void rk_crew_end(struct rk_crew *crew);

#endif /* RKNPU_CREW_H */
