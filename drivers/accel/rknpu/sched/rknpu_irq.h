/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what a core tells: interrupts, what polling finds instead of them, page faults. */
#ifndef __RKNPU_IRQ_H__
#define __RKNPU_IRQ_H__

#include <linux/irqreturn.h>
#include <linux/types.h>

struct rknpu_core;
struct rknpu_domain;

/* struct rknpu_hw_ops */
irqreturn_t rknpu_irq_handler(int irq, void *data);
bool rknpu_irq_poll(struct rknpu_core *core);
void rknpu_irq_iommu_fault(struct rknpu_core *core, struct rknpu_domain *domain,
			   unsigned long iova, bool write);

#endif
