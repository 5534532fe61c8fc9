/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the tables of what differs between SoCs. */
#ifndef __RKNPU_SOC_H__
#define __RKNPU_SOC_H__

#include <linux/mod_devicetable.h>
#include <linux/types.h>

/* Size of every per-core array. */
#define RKNPU_MAX_CORES		3

/**
 * struct rknpu_soc - one SoC
 */
struct rknpu_soc {
	/** @number: in the SoC's name */
	unsigned int number;
	/** @num_cores: used part of @core_base */
	unsigned int num_cores;
	/** @dma_bits: physical address width of the NPU's IOMMU */
	unsigned int dma_bits;
	/** @core_base: MMIO base of each core; the index is the hardware's core number */
	phys_addr_t core_base[RKNPU_MAX_CORES];
};

/* DT shapes: one DT node per core, as mainline has it; one for all cores, as the vendor has it. */
extern const struct of_device_id rknpu_soc_mainline_match[];
extern const struct of_device_id rknpu_soc_vendor_match[];

/* Which of the two the NPU has, or NULL. In a tree that has both, mainline's. */
const struct of_device_id *rknpu_soc_find_shape(const struct rknpu_soc **soc);

/* The hardware's number of the core at @base, or -ENODEV. */
int rknpu_soc_core_index(const struct rknpu_soc *soc, phys_addr_t base);

#endif
