/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns jobs that are over and nobody refers to, until they are freed. */
#ifndef __RKNPU_REAP_H__
#define __RKNPU_REAP_H__

struct rknpu_job;
struct rknpu_vm;

/*
 * Any context. Freed by the next rknpu_reap_vm() of its VM, or a little
 * later if there is none: waking a thread for each job would cost more than
 * everything else that ends one.
 */
void rknpu_reap_add(struct rknpu_job *job);

/* On return everything added so far that belongs to @vm is freed. May sleep. */
void rknpu_reap_vm(struct rknpu_vm *vm);

/* Nobody comes back for it: frees everything soon. Any context. */
void rknpu_reap_soon(void);

/* Everything added so far is freed on return. */
void rknpu_reap_flush(void);

#endif
