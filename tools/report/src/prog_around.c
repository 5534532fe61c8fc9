// SPDX-License-Identifier: MIT
/*
 * Statements of evidence.toml about what surrounds the cores. No register program reaches any of
 * it, so each says why.
 */
#include "report.h"

#define DRIVERS		"only drivers reach the IOMMU"
#define SYSTEM		"user space cannot switch clocks, resets and power of the NPU"
#define TIMES		"a time: see Timings"

const struct rp_program rp_around[] = {
	RP_WHY("mmu-banks", "which bank translates commands and weights", DRIVERS),
	RP_WHY("mmu-replay", "an access that faulted, once it is acknowledged", DRIVERS),
	RP_WHY("mmu-tlb", "entries of the TLB", DRIVERS),
	RP_WHY("mmu-off", "addresses while paging is off", DRIVERS),
	RP_WHY("mmu-reset", "reset values of the IOMMU", DRIVERS),
	RP_WHY("bus-errors", "what a bus error sets", "no program makes the bus fail"),
	RP_WHY("gated-access", "accesses without power or clock",
	       "such an access may stop the machine"),
	RP_WHY("reset-lines", "registers in reset, and what each line resets", SYSTEM),
	RP_WHY("sram-survives", "memories of a core after a reset", SYSTEM),
	RP_WHY("power-domains", "domains within each other, and at boot", SYSTEM),
	RP_WHY("one-interrupt", "one interrupt for all cores", "the RK3588 has one for each"),
	RP_WHY("clock-rates", "rates that can be set, and voltages for them", SYSTEM),
	RP_WHY("time-products", "products per cycle", TIMES),
	RP_WHY("time-memory", "bandwidth of a core's port, and of the memory", TIMES),
	RP_WHY("time-task", "cycles that each task takes", TIMES),
	{ 0 }
};
