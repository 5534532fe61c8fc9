/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the program controller: starting a task, its interrupts, its progress. */
#ifndef __RKNPU_PC_H__
#define __RKNPU_PC_H__

#include <linux/types.h>

struct drm_printer;
struct rknpu_core;
struct rknpu_dump;
struct rknpu_kick;
struct rknpu_soc;

/* All of these touch registers: only while the core is powered, and with rknpu_hw::lock. */

/* Clears old interrupts and starts @kick, which the functions below ask about from then on. */
void rknpu_pc_start(struct rknpu_core *core, const struct rknpu_kick *kick);
/* The same, but nothing interrupts, and nobody asks. */
void rknpu_pc_start_silent(struct rknpu_core *core, const struct rknpu_kick *kick);
/* The kick is over: makes the next rknpu_pc_start() possible. */
void rknpu_pc_finish(struct rknpu_core *core);
/* No interrupts until the next rknpu_pc_start(); forgets pending ones. */
void rknpu_pc_quiesce(struct rknpu_core *core);
/* No interrupts, but what is pending stays visible to rknpu_pc_over_raw(). */
void rknpu_pc_mask(struct rknpu_core *core);

/* As rknpu_pc_start() has it: what is pending interrupts. */
void rknpu_pc_unmask(struct rknpu_core *core);

/* What interrupts now, and what would if it was not masked. */
u32 rknpu_pc_status(struct rknpu_core *core);
u32 rknpu_pc_raw_status(struct rknpu_core *core);
/* The bits of both that say that memory could not be read or written. */
u32 rknpu_pc_errors(const struct rknpu_core *core);
/* Is the kick over, if this is what interrupts? */
bool rknpu_pc_over(struct rknpu_core *core, u32 status);
/* The same, interrupt or not. */
bool rknpu_pc_over_raw(struct rknpu_core *core);
/* Of a core that is polled: is the kick over, or is there an error? @status has what says so. */
bool rknpu_pc_polled(struct rknpu_core *core, u32 *status);
/* Tasks of the kick that are complete. */
u32 rknpu_pc_tasks_done(struct rknpu_core *core);
/* Has the kick got anywhere? */
bool rknpu_pc_progressed(struct rknpu_core *core);
/* All registers that the CPU drives and that can be read; reading changes none of them. */
void rknpu_pc_dump(struct rknpu_core *core, struct rknpu_dump *dump);

/* The rest without the lock. */

/* How many commands of a program REGISTER_AMOUNTS can tell. */
u32 rknpu_pc_max_commands(const struct rknpu_soc *soc);
/* As the vendor's driver and rocket report it. */
u32 rknpu_pc_version(struct rknpu_core *core);
/* Is that still what it reads? Zeroes or ones come from a core without clock or power. */
bool rknpu_pc_answers(struct rknpu_core *core);
/* What rknpu_pc_dump() has, or nothing of a core without power or in reset. */
void rknpu_pc_print(struct rknpu_core *core, struct drm_printer *p);
/* Has everything that a task leaves behind gone? */
bool rknpu_pc_looks_reset(struct rknpu_core *core);

#endif
