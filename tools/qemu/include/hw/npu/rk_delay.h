/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What takes time on silicon, and how long is not known: one device that all
 * of the NPU's ask how long something takes this time.
 *
 * Each kind has a longest time, a property of its name ("write-ns" and so on).
 * Each event takes between 0 and that, by "seed" and how many events of that
 * kind its unit has had, so that the same seed gives the same times to a guest
 * that does the same (with -icount).  Seed 0: nothing takes any time.
 *
 * A new kind is a line of the enum here and of the table in rk_delay.c.
 */
#ifndef HW_NPU_RK_DELAY_H
#define HW_NPU_RK_DELAY_H

#include "qom/object.h"

#define TYPE_RK_DELAY "rk-delay"
OBJECT_DECLARE_SIMPLE_TYPE(RkDelayState, RK_DELAY)

typedef enum RkDelayKind {
    RK_DELAY_WRITE,     /* from a CPU's register write to its effect */
    RK_DELAY_RESULT,    /* from the interrupt to the last results in memory */
    RK_DELAY_POWER,     /* from a request for power to the domain's status */
    RK_DELAY_IDLE,      /* from a bus idle request to its acknowledgement */
    RK_DELAY_RESET,     /* from the release of a reset until registers answer */
    RK_DELAY_IRQ,       /* from an interrupt line to the interrupt controller */
    RK_DELAY_DMA,       /* a task takes longer */
    RK_DELAY_CPU,       /* a CPU stands still */
    RK_DELAY_TURN,      /* until a CPU may stand still anywhere */
    RK_DELAY_NUM
} RkDelayKind;

/* Who has events: cores by their number, and what there is once. */
#define RK_DELAY_UNIT_SOC       3
#define RK_DELAY_UNITS          4

/*
 * How long the next event of @unit takes, in ns.  BQL held.  0 without a device
 * and with a longest time of 0.
 */
uint32_t rk_delay_ns(RkDelayState *s, RkDelayKind kind, unsigned unit);

/*
 * The same for what is rare: seven of eight times 0, else with all orders of
 * magnitude down to a hundredth of the longest time alike.
 */
uint32_t rk_delay_rare_ns(RkDelayState *s, RkDelayKind kind, unsigned unit);

/* Contents of what powers up with anything in it; 0 without a seed. */
uint32_t rk_delay_garbage(RkDelayState *s, unsigned unit);

#endif
