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
 * @number: in the SoC's name
 * @num_cores: used part of @core_base
 * @dma_bits: physical address width of the NPU's IOMMU
 * @core_base: MMIO base of each core; the index is the hardware's core number
 */
struct rknpu_soc {
	unsigned int number;
	unsigned int num_cores;
	unsigned int dma_bits;
	phys_addr_t core_base[RKNPU_MAX_CORES];
};

extern const struct of_device_id rknpu_soc_of_match[];

/* The hardware's number of the core at @base, or -ENODEV. */
int rknpu_soc_core_index(const struct rknpu_soc *soc, phys_addr_t base);

#endif
