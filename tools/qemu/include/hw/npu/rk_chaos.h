/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What no driver may rely on not to happen, at random times: CPUs that stand
 * still, at an access to a register or anywhere, interrupts that come late,
 * tasks that take longer.
 *
 * How long at most are properties of rk-delay, 0 by default: "cpu-ns", and for
 * CPUs that stand still anywhere, "turn-ns" between two of these; "irq-ns";
 * "dma-ns".  All of them are rare, see rk_delay_rare_ns().
 */
#ifndef HW_NPU_RK_CHAOS_H
#define HW_NPU_RK_CHAOS_H

#include "qom/object.h"

#define TYPE_RK_CHAOS "rk-chaos"
OBJECT_DECLARE_SIMPLE_TYPE(RkChaosState, RK_CHAOS)

/*
 * A CPU accesses a register of the NPU's.  It goes on to the end of its block
 * of instructions and may stand still there.  BQL held, @s may be NULL.
 */
void rk_chaos_access(RkChaosState *s);

/* By how much the next task of @core takes longer. */
uint32_t rk_chaos_task_ns(RkChaosState *s, unsigned core);

#endif
