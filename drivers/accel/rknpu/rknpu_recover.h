/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns bringing a core back: late tasks, resets, power cycles, taking it out of service. */
#ifndef __RKNPU_RECOVER_H__
#define __RKNPU_RECOVER_H__

struct rknpu_core;
struct rknpu_vm;

/* All in process context, from the core's workqueue or after that was stopped. */

/* The core is RECOVERING: finds out what is wrong, ends the job, resets. */
void rknpu_recover(struct rknpu_core *core);

/* Powered. Attaches @vm, resetting the core as far as that takes. */
int rknpu_recover_attach(struct rknpu_core *core, struct rknpu_vm *vm);

/*
 * Powered, no job runs: a program that is over still made the IOMMU fault, and
 * the line was turned off for it. Back to a clean core and a line that is on.
 */
int rknpu_recover_clean(struct rknpu_core *core);

/* Nothing helps: the core's jobs go elsewhere, or fail if it was the last one. */
void rknpu_recover_give_up(struct rknpu_core *core, int error);

/* The interrupt line, which is the IOMMU's too, off (nobody is handling it any more) and on. */
void rknpu_recover_silence(struct rknpu_core *core);
void rknpu_recover_listen(struct rknpu_core *core);

#endif
