/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what clients leave in a core's memories, CBUF and the tables of the LUT: overwriting it. */
#ifndef __RKNPU_SCRUB_H__
#define __RKNPU_SCRUB_H__

#include <linux/types.h>

struct rknpu_core;
struct rknpu_domain;
struct rknpu_hw;

/* While a core is bound whose IOMMU is known: the program, and the address space it runs in. */
int rknpu_scrub_get(struct rknpu_hw *hw);
void rknpu_scrub_put(struct rknpu_hw *hw);

/* Whoever had the core before it was bound may have left anything in it. */
void rknpu_scrub_forget(struct rknpu_core *core);
/* A job of @domain starts on the core. */
void rknpu_scrub_mark(struct rknpu_core *core, const struct rknpu_domain *domain);

/*
 * rknpu_iommu_attach(), after overwriting what the cores behind the IOMMU hold that
 * is not for programs of @domain. They are powered, and it sleeps.
 */
int rknpu_scrub_attach(struct rknpu_core *core, struct rknpu_domain *domain);

#endif
