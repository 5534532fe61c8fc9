/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the description of a chip: all that differs between the SoCs that have this NPU. */
#ifndef __RKNPU_SOC_H__
#define __RKNPU_SOC_H__

#include <linux/mod_devicetable.h>
#include <linux/types.h>

/* Sizes of arrays per core. */
#define RKNPU_MAX_CORES		3
#define RKNPU_MAX_CLKS		6
#define RKNPU_MAX_RESETS	2

/**
 * struct rknpu_soc_pc - the program controller
 *
 * Blocks, the registers of the program controller but TASK_STATUS, and the head of each other
 * block are where the RK3588 has them on all chips (rknpu_regs.h).
 */
struct rknpu_soc_pc {
	/** @task_con: TASK_CON of a kick, but for its number of tasks, in the low bits */
	u32 task_con;
	/** @task_con_pingpong: what is added if the next program is fetched while one executes */
	u32 task_con_pingpong;
	/** @max_tasks: that fit into TASK_CON */
	u32 max_tasks;
	/** @task_status: offset of TASK_STATUS */
	u32 task_status;
	/** @tasks_done: its bits that count tasks of the kick that have ended */
	u32 tasks_done;
	/** @all_done: bits that are all set after the last task, when the count is gone */
	u32 all_done;
	/** @tasks_wrap: modulo the tasks of the kick: TASK_STATUS is 0 when all have ended */
	bool tasks_wrap;
	/** @commands_per_fetch: what REGISTER_AMOUNTS counts */
	u32 commands_per_fetch;
	/** @events: bits of the interrupt registers */
	u32 events;
	/** @s_pointer: S_POINTER of CNA and CORE before a kick, of core 0 */
	u32 s_pointer;
	/** @s_pointer_core: what is added for each core number */
	u32 s_pointer_core;
	/** @s_pointer_in_programs: those for the vendor's uAPI write S_POINTER themselves */
	bool s_pointer_in_programs;
	/** @fetch_error: of @events, what says that a program could not be read */
	u32 fetch_error;
	/** @no_dma_base: nothing but 0 may be written to TASK_DMA_BASE_ADDR */
	bool no_dma_base;
};

/* What a row of a program writes. */
enum rknpu_soc_operand {
	RKNPU_SOC_VALUE,
	/* The address of zeros, and of where the result goes. */
	RKNPU_SOC_ZEROS,
	RKNPU_SOC_RESULT,
};

/**
 * struct rknpu_soc_regs - commands of a program that write the same
 */
struct rknpu_soc_regs {
	/** @reg: the first register */
	u16 reg;
	/** @step: from one to the next */
	u16 step;
	/** @count: number of commands */
	u16 count;
	/** @operand: enum rknpu_soc_operand */
	u16 operand;
	/** @value: of RKNPU_SOC_VALUE */
	u32 value;
};

/**
 * struct rknpu_soc_scrub - a program that overwrites a core's memories, see rknpu_scrub.c
 */
struct rknpu_soc_scrub {
	/** @regs: its commands, but for those that end it */
	const struct rknpu_soc_regs *regs;
	/** @num_regs: number of @regs */
	unsigned int num_regs;
	/** @units: that it starts */
	u32 units;
	/** @zeros: bytes that it reads */
	u32 zeros;
	/** @cycles: of the compute clock that it takes, or somewhat less */
	u32 cycles;
};

/**
 * struct rknpu_soc - one chip
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
	/** @clks: a core's, by mainline's names, the compute clock first */
	const char *clks[RKNPU_MAX_CLKS];
	/**
	 * @resets: a core's, by mainline's names. In the vendor's DT shape the core's number
	 * follows
	 */
	const char *resets[RKNPU_MAX_RESETS];
	/** @shared_resets: others that the vendor's DT shape has, of what all cores share */
	const char *shared_resets[RKNPU_MAX_RESETS];
	/**
	 * @one_cbuf: the cores share their RAM, of which programs name the parts that they use:
	 * jobs of two VMs do not run at the same time, and each runs on the core that it is for
	 */
	bool one_cbuf;
	/**
	 * @mmu_gating: bits of the IOMMU's AUTO_GATING that have to be set while it translates,
	 * which kernels before 7.2 leave to us; in the vendor's DT shape alone
	 */
	u32 mmu_gating;
	/**
	 * @far_tables: what its IOMMU may be compatible with, though that has page tables where
	 * the chip's does not reach; or NULL
	 */
	const char *far_tables;
	/** @pc: program controller */
	struct rknpu_soc_pc pc;
	/** @scrub: NULL: none is known */
	const struct rknpu_soc_scrub *scrub;
};

extern const struct rknpu_soc rknpu_soc_rk3562;
extern const struct rknpu_soc rknpu_soc_rk3568;
extern const struct rknpu_soc rknpu_soc_rk3576;
extern const struct rknpu_soc rknpu_soc_rk3588;
extern const struct rknpu_soc rknpu_soc_rv1126b;

/* DT shapes: one DT node per core, as mainline has it; one for all cores, as the vendor has it. */
extern const struct of_device_id rknpu_soc_mainline_match[];
extern const struct of_device_id rknpu_soc_vendor_match[];

/* Which of the two the NPU has, or NULL. In a tree that has both, mainline's. */
const struct of_device_id *rknpu_soc_find_shape(const struct rknpu_soc **soc);

/* The hardware's number of the core at @base, or -ENODEV. */
int rknpu_soc_core_index(const struct rknpu_soc *soc, phys_addr_t base);

#endif
