// SPDX-License-Identifier: MIT
/*
 * Lists the programs of npu-report, in the order of evidence.toml.
 */
#include "report.h"

const struct rp_program *const rp_chapters[] = {
	rp_pc, rp_cna, rp_cbuf, rp_core, rp_dpu, rp_lut, rp_out, rp_ppu, rp_around, NULL
};
