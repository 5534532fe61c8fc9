/* SPDX-License-Identifier: GPL-2.0-only */
/* Failing allocations and user copies of the calling thread, one at a time. */
#ifndef RKNPU_ALLOCFAIL_H
#define RKNPU_ALLOCFAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "kselftest.h"

/* More than any call makes. */
#define RK_ALLOCFAIL_MAX	20000

/* False when the kernel cannot do it. */
bool rk_allocfail_init(void);
/* The @nth allocation or user copy from here on fails, 0: none. */
void rk_allocfail_at(unsigned int nth);
/* True when the failure asked for has happened.  Switches it off. */
bool rk_allocfail_met(void);
/* Only what is called, directly or not, by this function of the kernel; NULL: all. */
bool rk_allocfail_below(const char *function);
/* Nothing that is called by this one; NULL: no exception. */
bool rk_allocfail_except(const char *function);

/* ---- calls, each with its first, second, third ... failure ---- */

/* What the calls of a program share; the program says what that is. */
struct rk_allocfail_state;

/*
 * @prepare runs without failures, @call with one. When @call returned 0, @check
 * says whether it had its full effect; after -ENOMEM or -EFAULT, the only errnos
 * allowed, @failed says whether it had none. All return 0 or a negative errno.
 * @free: it allocates nothing and copies nothing.
 */
struct rk_allocfail_call {
	const char *name;
	/* With each allocation and each copy failing once: what "-l" prints. */
	const char *what;
	int (*prepare)(struct rk_allocfail_state *s);
	int (*call)(struct rk_allocfail_state *s);
	int (*check)(struct rk_allocfail_state *s);
	int (*failed)(struct rk_allocfail_state *s, int error);
	bool free;
};

/*
 * "-l" lists the calls, which @list prints by rk_allocfail_list(), and ends the
 * program; "-t NAME" is the only one that is wanted.
 */
void rk_allocfail_options(int argc, char **argv, void (*list)(void));
void rk_allocfail_list(const struct rk_allocfail_call *c, size_t n);
bool rk_allocfail_wanted(const char *name);
bool rk_allocfail_chosen(void);

/* The plan of a whole run, which a chosen call has not. The counts are those of the file that includes kselftest.h. */
static inline void rk_allocfail_plan(unsigned int n)
{
	if (!rk_allocfail_chosen())
		ksft_set_plan(n);
}

/* @checks: those that are always made, in the end. */
static inline void rk_allocfail_end(unsigned int checks)
{
	if (rk_allocfail_chosen()) {
		if (ksft_test_num() <= checks)
			ksft_exit_fail_msg("no such call\n");
		ksft_set_plan(ksft_test_num());
	}
	ksft_finished();
}

/*
 * Calls @c until it meets no failure. @finish waits for what it started, frees
 * what it made, and says whether the client still works.
 */
bool rk_allocfail_each(const struct rk_allocfail_call *c, struct rk_allocfail_state *s,
		    int (*finish)(struct rk_allocfail_state *s));
/* For any of the functions above: -EILSEQ, and why. */
int rk_allocfail_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The lowest descriptor that is free, and then whether it is in use: made by a call that failed. */
int rk_next_fd(void);
bool rk_fd_used(int fd);

/* A dma-buf of 64 KiB from the system's heap, or a negative errno. */
int rk_allocfail_heap(void);

#endif /* RKNPU_ALLOCFAIL_H */
