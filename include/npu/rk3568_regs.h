/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Owns the numbers of the RK3566's and RK3568's NPU that differ from the RK3588's.
 *
 * A file of the form that rk3588_regs.h describes: a register without a row here is where that one
 * has it and means the same, but that strides count 8 bytes. The CMAC is a block that the RK3588
 * has not.
 *
 * No manual describes these registers. They are the words of some 1400 programs of Rockchip's
 * compilers for this chip, read beside the log of iav/rk3568-npu, with names as the RK3588 TRM has
 * them for what looks the same.
 */
#ifndef NPU_SIZE
#define NPU_SIZE(name, value)
#endif
#ifndef NPU_REG
#define NPU_REG(block, reg, offset)
#endif
#ifndef NPU_FIELD
#define NPU_FIELD(block, reg, field, lsb, width, kind)
#endif

NPU_SIZE(CBUF_BANKS, 8)
/* Bytes of a position in a surface. */
NPU_SIZE(ATOM, 8)
/* Whose operands of BS lie together. */
NPU_SIZE(PACKED_CHANNELS, 4)
/* Of the word that starts a task, between CNA and CORE. */
NPU_SIZE(ENABLE_CMAC, 2)

NPU_REG(CNA, CONV_CON1, 0x100c)
	NPU_FIELD(CNA, CONV_CON1, CONV_MODE, 0, 4, U)
	NPU_FIELD(CNA, CONV_CON1, IN_PRECISION, 4, 3, U)
	NPU_FIELD(CNA, CONV_CON1, PROC_PRECISION, 8, 3, U)
	NPU_FIELD(CNA, CONV_CON1, ARGB_IN, 12, 4, U)
	NPU_FIELD(CNA, CONV_CON1, DECONV, 16, 1, U)
NPU_REG(CNA, CVT_CON0, 0x104c)
	/* The RK3588 has the opposite there. */
	NPU_FIELD(CNA, CVT_CON0, CVT_EN, 0, 1, U)
NPU_REG(CNA, PAD_CON0, 0x1068)
	NPU_FIELD(CNA, PAD_CON0, PAD_TOP, 0, 4, U)
	NPU_FIELD(CNA, PAD_CON0, PAD_LEFT, 4, 4, U)
	NPU_FIELD(CNA, PAD_CON0, PAD_VALUE, 16, 16, U)
NPU_REG(CNA, DMA_CON0, 0x1078)
NPU_REG(CNA, DMA_CON2, 0x1080)
	/* Of a whole surface, in atoms. */
	NPU_FIELD(CNA, DMA_CON2, SURF_STRIDE, 0, 28, U)

NPU_REG(CMAC, MISC_CFG, 0x200c)
	NPU_FIELD(CMAC, MISC_CFG, QD_EN, 0, 1, U)
	NPU_FIELD(CMAC, MISC_CFG, DW_EN, 1, 1, U)
	NPU_FIELD(CMAC, MISC_CFG, PROC_PRECISION, 12, 3, U)

NPU_REG(CORE, MISC_CFG, 0x300c)
	NPU_FIELD(CORE, MISC_CFG, DW_EN, 1, 1, U)
	NPU_FIELD(CORE, MISC_CFG, PROC_PRECISION, 12, 3, U)
NPU_REG(CORE, DATAOUT_SIZE_0, 0x3010)
	NPU_FIELD(CORE, DATAOUT_SIZE_0, WIDTH, 0, 16, M1)
	NPU_FIELD(CORE, DATAOUT_SIZE_0, HEIGHT, 16, 16, M1)
NPU_REG(CORE, DATAOUT_SIZE_1, 0x3014)
	NPU_FIELD(CORE, DATAOUT_SIZE_1, CHANNEL, 0, 16, M1)

NPU_REG(DPU, FEATURE_MODE_CFG, 0x400c)
	NPU_FIELD(DPU, FEATURE_MODE_CFG, FLYING_MODE, 0, 1, U)
	NPU_FIELD(DPU, FEATURE_MODE_CFG, OUTPUT_MODE, 2, 2, U)
	NPU_FIELD(DPU, FEATURE_MODE_CFG, CONV_MODE, 4, 2, U)
	NPU_FIELD(DPU, FEATURE_MODE_CFG, BURST_LEN, 6, 4, U)
	NPU_FIELD(DPU, FEATURE_MODE_CFG, SURF_LEN, 10, 15, U)
	NPU_FIELD(DPU, FEATURE_MODE_CFG, NONALIGN, 25, 1, U)
NPU_REG(DPU, BS_CFG, 0x4040)
	NPU_FIELD(DPU, BS_CFG, ALU_ALGO, 2, 2, U)
NPU_REG(DPU, BN_CFG, 0x4060)
	NPU_FIELD(DPU, BN_CFG, ALU_ALGO, 2, 2, U)
NPU_REG(DPU, EW_CFG, 0x4070)
	NPU_FIELD(DPU, EW_CFG, ALU_ALGO, 3, 2, U)

NPU_REG(RDMA, BS_LENGTH, 0x5024)
	/* Of the operands, in 8 bytes. */
	NPU_FIELD(RDMA, BS_LENGTH, WORDS, 0, 16, M1)
NPU_REG(RDMA, BN_LENGTH, 0x5030)
	NPU_FIELD(RDMA, BN_LENGTH, WORDS, 0, 16, M1)
NPU_REG(RDMA, ERDMA_CFG, 0x5034)
	NPU_FIELD(RDMA, ERDMA_CFG, DISABLE, 0, 1, U)
	/* Less than the RK3588's by 1. */
	NPU_FIELD(RDMA, ERDMA_CFG, DATA_SIZE, 2, 2, U)
	NPU_FIELD(RDMA, ERDMA_CFG, DATA_MODE, 30, 2, U)
/* The last atom of a surface of EW's operands. */
NPU_REG(RDMA, EW_SURF_END, 0x503c)

NPU_REG(PPU, PADDING_VALUE_1, 0x6044)
NPU_REG(PPU, PADDING_VALUE_2, 0x6048)
NPU_REG(PPU, PADDING_VALUE_3, 0x604c)
NPU_REG(PPU, PADDING_VALUE_4, 0x6050)

#undef NPU_SIZE
#undef NPU_REG
#undef NPU_FIELD
