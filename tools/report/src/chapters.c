// SPDX-License-Identifier: MIT
/*
 * Lists the programs of npu-report and whose they are, in the order of evidence.toml.
 */
#include "report.h"

const struct rp_chapter rp_chapters[] = {
	{ "pc", 3588, rp_pc }, { "cna", 3588, rp_cna }, { "cbuf", 3588, rp_cbuf }, { "core", 3588, rp_core },
	{ "dpu", 3588, rp_dpu }, { "lut", 3588, rp_lut }, { "out", 3588, rp_out }, { "ppu", 3588, rp_ppu },
	{ "rk3576", 3576, rp_rk3576 }, { "rk3568", 3568, rp_rk3568 }, { "rk3562", 3562, rp_rk3562 },
	{ "around", 0, rp_around }, { 0 }
};
