// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program that the tests run: an int8 product of rows by 32 kernels, as register writes.
 *
 * Order and constants are those of the product that mtx512 published; the bias is as Mesa's rocket driver adds it.
 */
#include "rknpu_util.h"

/* Blocks as an entry names them; PC is the one that fetches. */
#define PC	0x0101
#define CNA	0x0201
#define CORE	0x0801
#define DPU	0x1001
#define RDMA	0x2001
/* DPU_RDMA, DPU, CORE and CNA start with the entry of this block. */
#define START	0x0081
#define LAST	0x0041

/* CBUF: what one entry and one bank hold, and how many banks features and weights share. */
#define CBUF_ENTRY	64
#define CBUF_BANK	32768
#define CBUF_BANKS	12

#define KERNELS	RK_CHANNELS
#define ONE	0x10000		/* scale of an input that is taken as it is */

/* The registers from @first to @last of a block, and what all of them get. */
struct run {
	uint16_t block, first, last;
	uint32_t value;
};

uint32_t rk_program(uint64_t *entries, const struct rk_product *p)
{
	uint32_t m = p->m, k = p->k, cbuf = (k + CBUF_ENTRY - 1) / CBUF_ENTRY;
	uint32_t banks = (cbuf * CBUF_ENTRY * m + CBUF_BANK - 1) / CBUF_BANK;
	/* Rows are the height of an image whose width is 1. */
	uint32_t size = 1 << 16 | m, rows = (m - 1) << 16;
	const struct run runs[] = {
		/* Both sets of registers of the output's blocks. */
		{ DPU, 0x4004, 0x4004, 0xe }, { RDMA, 0x5004, 0x5004, 0xe },
		/* Sizes of features and weights, and the banks that they take. */
		{ CNA, 0x100c, 0x100c, 0 }, { CNA, 0x1010, 0x1010, (m + 1) << 4 }, { CNA, 0x1014, 0x1014, 9 },
		{ CNA, 0x1020, 0x1020, size }, { CNA, 0x1024, 0x1024, (k - 1) << 16 | k },
		{ CNA, 0x1028, 0x1028, 1 }, { CNA, 0x102c, 0x102c, m },
		{ CNA, 0x1030, 0x1030, KERNELS * k }, { CNA, 0x1034, 0x1034, k },
		{ CNA, 0x1038, 0x1038, 1 << 24 | 1 << 16 | KERNELS },
		{ CNA, 0x1040, 0x1040, (CBUF_BANKS - banks) << 4 | banks }, { CNA, 0x1044, 0x1044, cbuf },
		/* The input converter is bypassed. */
		{ CNA, 0x104c, 0x104c, 0xb }, { CNA, 0x1050, 0x105c, ONE }, { CNA, 0x1060, 0x1068, 0 },
		/* Where features are and how far apart; the strides count lines in groups of four. */
		{ CNA, 0x1070, 0x1070, p->in }, { CNA, 0x1074, 0x1074, 0 }, { CNA, 0x1078, 0x1078, 0xf000f },
		{ CNA, 0x107c, 0x107c, 4 }, { CNA, 0x1080, 0x1080, (m - 4) & 0xfffffff },
		{ CNA, 0x1084, 0x1084, size }, { CNA, 0x1088, 0x1088, k },
		{ CNA, 0x1100, 0x1104, 0 }, { CNA, 0x1110, 0x1110, p->weights }, { CNA, 0x1140, 0x1184, 0 },
		{ CORE, 0x3010, 0x3010, 1 }, { CORE, 0x3014, 0x3014, rows }, { CORE, 0x3018, 0x3018, KERNELS - 1 },
		{ CORE, 0x301c, 0x301c, 0 }, { CORE, 0x3030, 0x3030, 0 },
		/* The output goes to memory, saturated; one of the BS stages adds the bias. */
		{ DPU, 0x400c, 0x400c, 0x1e4 }, { DPU, 0x4010, 0x4014, 0 }, { DPU, 0x4020, 0x4020, p->out },
		{ DPU, 0x4024, 0x4024, 16 * m }, { DPU, 0x4030, 0x4030, 0 }, { DPU, 0x4034, 0x4034, m - 1 },
		{ DPU, 0x4038, 0x4038, 0 }, { DPU, 0x403c, 0x403c, (KERNELS - 1) << 16 | (KERNELS - 1) },
		{ DPU, 0x4040, 0x4040, p->bias ? 0x20150 : 0x53 }, { DPU, 0x4044, 0x404c, 0 },
		{ DPU, 0x4050, 0x4050, 0x124 }, { DPU, 0x4054, 0x4054, 0 }, { DPU, 0x4058, 0x4058, KERNELS - 1 },
		{ DPU, 0x405c, 0x405c, rows }, { DPU, 0x4060, 0x4060, 0x53 }, { DPU, 0x4064, 0x406c, 0 },
		{ DPU, 0x4070, 0x4070, 0x383 }, { DPU, 0x4074, 0x4074, 0 }, { DPU, 0x4078, 0x4078, 1 },
		{ DPU, 0x407c, 0x4080, 0 }, { DPU, 0x4084, 0x4084, 1 }, { DPU, 0x4088, 0x4088, 0 },
		{ DPU, 0x4090, 0x40ac, 0 }, { DPU, 0x40c0, 0x40c0, 32 * m }, { DPU, 0x40c4, 0x40c4, 0 },
		{ DPU, 0x4100, 0x412c, 0 },
		{ RDMA, 0x500c, 0x500c, 0 }, { RDMA, 0x5010, 0x5010, m - 1 }, { RDMA, 0x5014, 0x5014, KERNELS - 1 },
		{ RDMA, 0x5018, 0x5018, 0 }, { RDMA, 0x501c, 0x501c, p->bias ? 2 : 0 },
		{ RDMA, 0x5020, 0x5020, p->bias }, { RDMA, 0x5028, 0x502c, 0 }, { RDMA, 0x5034, 0x5034, 1 },
		{ RDMA, 0x5038, 0x5038, 0 }, { RDMA, 0x5040, 0x5040, 0 }, { RDMA, 0x5044, 0x5044, 0x7810 },
		{ RDMA, 0x5048, 0x504c, 0 }, { RDMA, 0x5064, 0x5064, 0 }, { RDMA, 0x5068, 0x5068, 0x01010101 },
		{ RDMA, 0x506c, 0x506c, 0 },
		/* The tail: no next program, then all blocks start. */
		{ 0, 0, 0, 0 }, { PC, 0x14, 0x14, 0 }, { LAST, 0, 0, 0 }, { START, 0x8, 0x8, 0x1d },
	};
	uint32_t n = 0;

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
		for (uint32_t reg = runs[i].first; reg <= runs[i].last; reg += 4)
			entries[n++] = (uint64_t)runs[i].block << 48 | (uint64_t)runs[i].value << 16 | reg;
	return n;
}
