/* SPDX-License-Identifier: MIT */
/*
 * Registers and fields of the blocks that libnpu programs, as one table.
 *
 * Offsets, positions and widths: RK3588 TRM part 1 chapter 36 and the register
 * header of the in-tree rocket driver; both agree on everything listed here
 * unless a comment says otherwise.
 */
#ifndef NPU_REGS_H
#define NPU_REGS_H

/* Kinds of fields; the builder's value is in the unit named here. */
enum npu_field_kind {
	NPU_FK_U,		/* unsigned number */
	NPU_FK_S,		/* two's complement number */
	NPU_FK_M1,		/* a count from 1, stored minus one */
	NPU_FK_A16,		/* bytes, a multiple of 16; the low 4 bits are not stored */
};

/* Blocks to start, value of the operation-enable entry. */
#define NPU_EN_CNA		(1u << 0)
#define NPU_EN_CORE		(1u << 2)
#define NPU_EN_DPU		(1u << 3)
#define NPU_EN_DPU_RDMA		(1u << 4)
#define NPU_EN_PPU		(1u << 5)
#define NPU_EN_PPU_RDMA		(1u << 6)

/* Targets, bits 63:48 of an entry. */
#define NPU_TGT_PC		0x0101
#define NPU_TGT_CNA		0x0201
#define NPU_TGT_CORE		0x0801
#define NPU_TGT_DPU		0x1001
#define NPU_TGT_RDMA		0x2001
#define NPU_TGT_MARKER		0x0041
#define NPU_TGT_ENABLE		0x0081

/* R(block, register, offset); F(block, register, field, lsb, width, kind) */
#define NPU_REG_TABLE(R, F)							\
	R(CNA, S_POINTER, 0x1004)						\
	F(CNA, S_POINTER, POINTER_PP_EN, 1, 1, U)				\
	F(CNA, S_POINTER, EXECUTER_PP_EN, 2, 1, U)				\
	F(CNA, S_POINTER, POINTER_PP_MODE, 3, 1, U)				\
	R(CNA, CONV_CON1, 0x100c)						\
	F(CNA, CONV_CON1, CONV_MODE, 0, 4, U)					\
	F(CNA, CONV_CON1, IN_PRECISION, 4, 3, U)				\
	F(CNA, CONV_CON1, PROC_PRECISION, 7, 3, U)				\
	F(CNA, CONV_CON1, ARGB_IN, 12, 4, U)					\
	F(CNA, CONV_CON1, DECONV, 16, 1, U)					\
	F(CNA, CONV_CON1, GROUP_LINE_OFF, 29, 1, U)				\
	F(CNA, CONV_CON1, NONALIGN_DMA, 30, 1, U)				\
	R(CNA, CONV_CON2, 0x1010)						\
	F(CNA, CONV_CON2, CMD_FIFO_SRST, 0, 1, U)				\
	F(CNA, CONV_CON2, CSC_DO_EN, 1, 1, U)					\
	F(CNA, CONV_CON2, CSC_WO_EN, 2, 1, U)					\
	F(CNA, CONV_CON2, FEATURE_GRAINS, 4, 10, U)				\
	F(CNA, CONV_CON2, KERNEL_GROUP, 16, 8, U)				\
	R(CNA, CONV_CON3, 0x1014)						\
	F(CNA, CONV_CON3, CONV_X_STRIDE, 0, 3, U)				\
	F(CNA, CONV_CON3, CONV_Y_STRIDE, 3, 3, U)				\
	F(CNA, CONV_CON3, DECONV_X_STRIDE, 8, 3, U)				\
	F(CNA, CONV_CON3, DECONV_Y_STRIDE, 11, 3, U)				\
	F(CNA, CONV_CON3, ATROUS_X, 16, 5, M1)					\
	F(CNA, CONV_CON3, ATROUS_Y, 21, 5, M1)					\
	F(CNA, CONV_CON3, NN_MODE, 28, 3, U)					\
	R(CNA, DATA_SIZE0, 0x1020)						\
	F(CNA, DATA_SIZE0, DATAIN_HEIGHT, 0, 11, U)				\
	F(CNA, DATA_SIZE0, DATAIN_WIDTH, 16, 11, U)				\
	R(CNA, DATA_SIZE1, 0x1024)						\
	F(CNA, DATA_SIZE1, DATAIN_CHANNEL, 0, 16, U)				\
	F(CNA, DATA_SIZE1, DATAIN_CHANNEL_REAL, 16, 14, M1)			\
	R(CNA, DATA_SIZE2, 0x1028)						\
	F(CNA, DATA_SIZE2, DATAOUT_WIDTH, 0, 11, U)				\
	R(CNA, DATA_SIZE3, 0x102c)						\
	F(CNA, DATA_SIZE3, DATAOUT_ATOMICS, 0, 22, U)				\
	F(CNA, DATA_SIZE3, SURF_MODE, 22, 2, U)					\
	R(CNA, WEIGHT_SIZE0, 0x1030)						\
	F(CNA, WEIGHT_SIZE0, BYTES, 0, 32, U)					\
	R(CNA, WEIGHT_SIZE1, 0x1034)						\
	F(CNA, WEIGHT_SIZE1, BYTES_PER_KERNEL, 0, 19, U)			\
	R(CNA, WEIGHT_SIZE2, 0x1038)						\
	F(CNA, WEIGHT_SIZE2, KERNELS, 0, 14, U)					\
	F(CNA, WEIGHT_SIZE2, HEIGHT, 16, 5, U)					\
	F(CNA, WEIGHT_SIZE2, WIDTH, 24, 5, U)					\
	R(CNA, CBUF_CON0, 0x1040)						\
	F(CNA, CBUF_CON0, DATA_BANK, 0, 4, U)					\
	F(CNA, CBUF_CON0, WEIGHT_BANK, 4, 4, U)					\
	F(CNA, CBUF_CON0, FC_DATA_BANK, 8, 3, U)				\
	F(CNA, CBUF_CON0, DATA_REUSE, 12, 1, U)					\
	F(CNA, CBUF_CON0, WEIGHT_REUSE, 13, 1, U)				\
	R(CNA, CBUF_CON1, 0x1044)						\
	F(CNA, CBUF_CON1, DATA_ENTRIES, 0, 14, U)				\
	R(CNA, CVT_CON0, 0x104c)						\
	F(CNA, CVT_CON0, CVT_BYPASS, 0, 1, U)					\
	F(CNA, CVT_CON0, CVT_TYPE, 1, 1, U)					\
	F(CNA, CVT_CON0, ROUND_TYPE, 2, 1, U)					\
	F(CNA, CVT_CON0, DATA_SIGN, 3, 1, U)					\
	F(CNA, CVT_CON0, TRUNCATE_0, 4, 6, U)					\
	F(CNA, CVT_CON0, TRUNCATE_1, 10, 6, U)					\
	F(CNA, CVT_CON0, TRUNCATE_2, 16, 6, U)					\
	F(CNA, CVT_CON0, TRUNCATE_3, 22, 6, U)					\
	R(CNA, CVT_CON1, 0x1050)						\
	F(CNA, CVT_CON1, OFFSET, 0, 16, S)					\
	F(CNA, CVT_CON1, SCALE, 16, 16, U)					\
	R(CNA, CVT_CON2, 0x1054)						\
	F(CNA, CVT_CON2, OFFSET, 0, 16, S)					\
	F(CNA, CVT_CON2, SCALE, 16, 16, U)					\
	R(CNA, CVT_CON3, 0x1058)						\
	F(CNA, CVT_CON3, OFFSET, 0, 16, S)					\
	F(CNA, CVT_CON3, SCALE, 16, 16, U)					\
	R(CNA, CVT_CON4, 0x105c)						\
	F(CNA, CVT_CON4, OFFSET, 0, 16, S)					\
	F(CNA, CVT_CON4, SCALE, 16, 16, U)					\
	R(CNA, FC_CON0, 0x1060)							\
	F(CNA, FC_CON0, FC_SKIP_EN, 0, 1, U)					\
	F(CNA, FC_CON0, FC_SKIP_DATA, 16, 16, U)				\
	R(CNA, FC_CON1, 0x1064)							\
	F(CNA, FC_CON1, DATA_OFFSET, 0, 17, U)					\
	R(CNA, PAD_CON0, 0x1068)						\
	F(CNA, PAD_CON0, PAD_TOP, 0, 4, U)					\
	F(CNA, PAD_CON0, PAD_LEFT, 4, 4, U)					\
	R(CNA, FEATURE_DATA_ADDR, 0x1070)					\
	F(CNA, FEATURE_DATA_ADDR, IOVA, 0, 32, U)				\
	R(CNA, FC_CON2, 0x1074)							\
	F(CNA, FC_CON2, WEIGHT_OFFSET, 0, 17, U)				\
	R(CNA, DMA_CON0, 0x1078)						\
	F(CNA, DMA_CON0, DATA_BURST, 0, 4, U)					\
	F(CNA, DMA_CON0, WEIGHT_BURST, 16, 4, U)				\
	F(CNA, DMA_CON0, OV4K_BYPASS, 31, 1, U)					\
	R(CNA, DMA_CON1, 0x107c)						\
	F(CNA, DMA_CON1, LINE_STRIDE, 0, 28, U)					\
	R(CNA, DMA_CON2, 0x1080)						\
	F(CNA, DMA_CON2, SURF_STRIDE, 0, 28, S)					\
	R(CNA, FC_DATA_SIZE0, 0x1084)						\
	F(CNA, FC_DATA_SIZE0, DMA_HEIGHT, 0, 11, U)				\
	F(CNA, FC_DATA_SIZE0, DMA_WIDTH, 16, 14, U)				\
	R(CNA, FC_DATA_SIZE1, 0x1088)						\
	F(CNA, FC_DATA_SIZE1, DMA_CHANNEL, 0, 16, U)				\
	R(CNA, DCOMP_CTRL, 0x1100)						\
	F(CNA, DCOMP_CTRL, DECOMP_CONTROL, 0, 3, U)				\
	F(CNA, DCOMP_CTRL, WT_DEC_BYPASS, 3, 1, U)				\
	R(CNA, DCOMP_REGNUM, 0x1104)						\
	F(CNA, DCOMP_REGNUM, COUNT, 0, 32, U)					\
	R(CNA, DCOMP_ADDR0, 0x1110)						\
	F(CNA, DCOMP_ADDR0, IOVA, 0, 32, U)					\
	R(CNA, DCOMP_AMOUNT0, 0x1140)						\
	F(CNA, DCOMP_AMOUNT0, BLOCKS, 0, 32, U)					\
	R(CNA, DCOMP_AMOUNT1, 0x1144)						\
	R(CNA, DCOMP_AMOUNT2, 0x1148)						\
	R(CNA, DCOMP_AMOUNT3, 0x114c)						\
	R(CNA, DCOMP_AMOUNT4, 0x1150)						\
	R(CNA, DCOMP_AMOUNT5, 0x1154)						\
	R(CNA, DCOMP_AMOUNT6, 0x1158)						\
	R(CNA, DCOMP_AMOUNT7, 0x115c)						\
	R(CNA, DCOMP_AMOUNT8, 0x1160)						\
	R(CNA, DCOMP_AMOUNT9, 0x1164)						\
	R(CNA, DCOMP_AMOUNT10, 0x1168)						\
	R(CNA, DCOMP_AMOUNT11, 0x116c)						\
	R(CNA, DCOMP_AMOUNT12, 0x1170)						\
	R(CNA, DCOMP_AMOUNT13, 0x1174)						\
	R(CNA, DCOMP_AMOUNT14, 0x1178)						\
	R(CNA, DCOMP_AMOUNT15, 0x117c)						\
	R(CNA, CVT_CON5, 0x1180)						\
	F(CNA, CVT_CON5, CHANNEL_ENABLE, 0, 32, U)				\
	R(CNA, PAD_CON1, 0x1184)						\
	F(CNA, PAD_CON1, PAD_VALUE, 0, 32, S)					\
	R(CORE, S_POINTER, 0x3004)						\
	F(CORE, S_POINTER, POINTER_PP_EN, 1, 1, U)				\
	F(CORE, S_POINTER, EXECUTER_PP_EN, 2, 1, U)				\
	F(CORE, S_POINTER, POINTER_PP_MODE, 3, 1, U)				\
	R(CORE, MISC_CFG, 0x3010)						\
	F(CORE, MISC_CFG, QD_EN, 0, 1, U)					\
	F(CORE, MISC_CFG, DW_EN, 1, 1, U)					\
	F(CORE, MISC_CFG, PROC_PRECISION, 8, 3, U)				\
	F(CORE, MISC_CFG, SOFT_GATING, 14, 6, U)				\
	R(CORE, DATAOUT_SIZE_0, 0x3014)						\
	F(CORE, DATAOUT_SIZE_0, WIDTH, 0, 16, M1)				\
	F(CORE, DATAOUT_SIZE_0, HEIGHT, 16, 16, M1)				\
	R(CORE, DATAOUT_SIZE_1, 0x3018)						\
	F(CORE, DATAOUT_SIZE_1, CHANNEL, 0, 16, M1)				\
	R(CORE, CLIP_TRUNCATE, 0x301c)						\
	F(CORE, CLIP_TRUNCATE, CLIP_TRUNCATE, 0, 5, U)				\
	F(CORE, CLIP_TRUNCATE, ROUND_TYPE, 6, 1, U)				\
	R(CORE, UNKNOWN_3030, 0x3030)						\
	R(DPU, S_POINTER, 0x4004)						\
	F(DPU, S_POINTER, POINTER_PP_EN, 1, 1, U)				\
	F(DPU, S_POINTER, EXECUTER_PP_EN, 2, 1, U)				\
	F(DPU, S_POINTER, POINTER_PP_MODE, 3, 1, U)				\
	R(DPU, FEATURE_MODE_CFG, 0x400c)					\
	F(DPU, FEATURE_MODE_CFG, FLYING_MODE, 0, 1, U)				\
	F(DPU, FEATURE_MODE_CFG, OUTPUT_MODE, 1, 2, U)				\
	F(DPU, FEATURE_MODE_CFG, CONV_MODE, 3, 2, U)				\
	F(DPU, FEATURE_MODE_CFG, BURST_LEN, 5, 4, U)				\
	F(DPU, FEATURE_MODE_CFG, SURF_LEN, 9, 16, U)				\
	R(DPU, DATA_FORMAT, 0x4010)						\
	F(DPU, DATA_FORMAT, PROC_PRECISION, 0, 3, U)				\
	F(DPU, DATA_FORMAT, MC_SURF_OUT, 3, 1, U)				\
	F(DPU, DATA_FORMAT, BS_MUL_SHIFT_NEG, 4, 6, U)				\
	F(DPU, DATA_FORMAT, BN_MUL_SHIFT_NEG, 10, 6, U)				\
	F(DPU, DATA_FORMAT, EW_TRUNCATE_NEG, 16, 10, U)				\
	F(DPU, DATA_FORMAT, IN_PRECISION, 26, 3, U)				\
	F(DPU, DATA_FORMAT, OUT_PRECISION, 29, 3, U)				\
	R(DPU, OFFSET_PEND, 0x4014)						\
	F(DPU, OFFSET_PEND, VALUE, 0, 16, U)					\
	R(DPU, DST_BASE_ADDR, 0x4020)						\
	F(DPU, DST_BASE_ADDR, IOVA, 0, 32, U)					\
	R(DPU, DST_SURF_STRIDE, 0x4024)						\
	F(DPU, DST_SURF_STRIDE, BYTES, 4, 28, A16)				\
	R(DPU, DATA_CUBE_WIDTH, 0x4030)						\
	F(DPU, DATA_CUBE_WIDTH, WIDTH, 0, 13, M1)				\
	R(DPU, DATA_CUBE_HEIGHT, 0x4034)					\
	F(DPU, DATA_CUBE_HEIGHT, HEIGHT, 0, 13, M1)				\
	F(DPU, DATA_CUBE_HEIGHT, MINMAX_CTL, 22, 3, U)				\
	R(DPU, DATA_CUBE_NOTCH, 0x4038)						\
	F(DPU, DATA_CUBE_NOTCH, NOTCH_0, 0, 13, U)				\
	F(DPU, DATA_CUBE_NOTCH, NOTCH_1, 16, 13, U)				\
	R(DPU, DATA_CUBE_CHANNEL, 0x403c)					\
	F(DPU, DATA_CUBE_CHANNEL, CHANNEL, 0, 13, M1)				\
	F(DPU, DATA_CUBE_CHANNEL, ORIG_CHANNEL, 16, 13, M1)			\
	R(DPU, BS_CFG, 0x4040)							\
	F(DPU, BS_CFG, BYPASS, 0, 1, U)						\
	F(DPU, BS_CFG, ALU_BYPASS, 1, 1, U)					\
	F(DPU, BS_CFG, MUL_BYPASS, 4, 1, U)					\
	F(DPU, BS_CFG, MUL_PRELU, 5, 1, U)					\
	F(DPU, BS_CFG, RELU_BYPASS, 6, 1, U)					\
	F(DPU, BS_CFG, RELUX_EN, 7, 1, U)					\
	F(DPU, BS_CFG, ALU_SRC, 8, 1, U)					\
	F(DPU, BS_CFG, ALU_ALGO, 16, 4, U)					\
	R(DPU, BS_ALU_CFG, 0x4044)						\
	F(DPU, BS_ALU_CFG, OPERAND, 0, 32, S)					\
	R(DPU, BS_MUL_CFG, 0x4048)						\
	F(DPU, BS_MUL_CFG, MUL_SRC, 0, 1, U)					\
	F(DPU, BS_MUL_CFG, TRUNCATE_SRC, 1, 1, U)				\
	F(DPU, BS_MUL_CFG, MUL_SHIFT, 8, 6, U)					\
	F(DPU, BS_MUL_CFG, MUL_OPERAND, 16, 16, U)				\
	R(DPU, BS_RELUX_CMP, 0x404c)						\
	F(DPU, BS_RELUX_CMP, VALUE, 0, 32, S)					\
	R(DPU, BS_OW_CFG, 0x4050)						\
	F(DPU, BS_OW_CFG, OW_SRC, 0, 1, U)					\
	F(DPU, BS_OW_CFG, OD_BYPASS, 1, 1, U)					\
	F(DPU, BS_OW_CFG, SIZE_E_0, 2, 3, U)					\
	F(DPU, BS_OW_CFG, SIZE_E_1, 5, 3, U)					\
	F(DPU, BS_OW_CFG, SIZE_E_2, 8, 3, U)					\
	F(DPU, BS_OW_CFG, TP_ORG_EN, 27, 1, U)					\
	F(DPU, BS_OW_CFG, RGP_CNTER, 28, 4, U)					\
	R(DPU, BS_OW_OP, 0x4054)						\
	F(DPU, BS_OW_OP, OPERAND, 0, 16, S)					\
	R(DPU, WDMA_SIZE_0, 0x4058)						\
	F(DPU, WDMA_SIZE_0, CHANNEL, 0, 13, M1)					\
	F(DPU, WDMA_SIZE_0, SIZE_C, 16, 11, U)					\
	F(DPU, WDMA_SIZE_0, TP_PRECISION, 27, 1, U)				\
	R(DPU, WDMA_SIZE_1, 0x405c)						\
	F(DPU, WDMA_SIZE_1, WIDTH, 0, 13, M1)					\
	F(DPU, WDMA_SIZE_1, HEIGHT, 16, 13, M1)					\
	R(DPU, BN_CFG, 0x4060)							\
	F(DPU, BN_CFG, BYPASS, 0, 1, U)						\
	F(DPU, BN_CFG, ALU_BYPASS, 1, 1, U)					\
	F(DPU, BN_CFG, MUL_BYPASS, 4, 1, U)					\
	F(DPU, BN_CFG, RELU_BYPASS, 6, 1, U)					\
	R(DPU, BN_ALU_CFG, 0x4064)						\
	R(DPU, BN_MUL_CFG, 0x4068)						\
	R(DPU, BN_RELUX_CMP, 0x406c)						\
	R(DPU, EW_CFG, 0x4070)							\
	F(DPU, EW_CFG, BYPASS, 0, 1, U)						\
	F(DPU, EW_CFG, OP_BYPASS, 1, 1, U)					\
	F(DPU, EW_CFG, OP_TYPE, 2, 1, U)					\
	F(DPU, EW_CFG, MUL_PRELU, 5, 1, U)					\
	F(DPU, EW_CFG, OP_SRC, 6, 1, U)						\
	F(DPU, EW_CFG, LUT_BYPASS, 7, 1, U)					\
	F(DPU, EW_CFG, OP_CVT_BYPASS, 8, 1, U)					\
	F(DPU, EW_CFG, RELU_BYPASS, 9, 1, U)					\
	F(DPU, EW_CFG, RELUX_EN, 10, 1, U)					\
	F(DPU, EW_CFG, ALU_ALGO, 16, 4, U)					\
	R(DPU, EW_CVT_OFFSET, 0x4074)						\
	R(DPU, EW_CVT_SCALE, 0x4078)						\
	F(DPU, EW_CVT_SCALE, CVT_SCALE, 0, 16, U)				\
	F(DPU, EW_CVT_SCALE, CVT_SHIFT, 16, 6, U)				\
	F(DPU, EW_CVT_SCALE, TRUNCATE, 22, 10, U)				\
	R(DPU, EW_RELUX_CMP, 0x407c)						\
	R(DPU, OUT_CVT_OFFSET, 0x4080)						\
	F(DPU, OUT_CVT_OFFSET, OFFSET, 0, 32, S)				\
	R(DPU, OUT_CVT_SCALE, 0x4084)						\
	F(DPU, OUT_CVT_SCALE, SCALE, 0, 16, U)					\
	F(DPU, OUT_CVT_SCALE, FP32TOFP16_EN, 16, 1, U)				\
	R(DPU, OUT_CVT_SHIFT, 0x4088)						\
	F(DPU, OUT_CVT_SHIFT, SHIFT, 0, 12, U)					\
	F(DPU, OUT_CVT_SHIFT, MINUS_EXP, 12, 8, U)				\
	F(DPU, OUT_CVT_SHIFT, CVT_ROUND, 30, 1, U)				\
	F(DPU, OUT_CVT_SHIFT, CVT_TYPE, 31, 1, U)				\
	R(DPU, EW_OP_VALUE_0, 0x4090)						\
	R(DPU, EW_OP_VALUE_1, 0x4094)						\
	R(DPU, EW_OP_VALUE_2, 0x4098)						\
	R(DPU, EW_OP_VALUE_3, 0x409c)						\
	R(DPU, EW_OP_VALUE_4, 0x40a0)						\
	R(DPU, EW_OP_VALUE_5, 0x40a4)						\
	R(DPU, EW_OP_VALUE_6, 0x40a8)						\
	R(DPU, EW_OP_VALUE_7, 0x40ac)						\
	R(DPU, SURFACE_ADD, 0x40c0)						\
	F(DPU, SURFACE_ADD, BYTES, 4, 28, A16)					\
	R(DPU, UNKNOWN_40C4, 0x40c4)						\
	R(DPU, LUT_ACCESS_CFG, 0x4100)						\
	R(DPU, LUT_ACCESS_DATA, 0x4104)						\
	R(DPU, LUT_CFG, 0x4108)							\
	R(DPU, LUT_INFO, 0x410c)						\
	R(DPU, LUT_LE_START, 0x4110)						\
	R(DPU, LUT_LE_END, 0x4114)						\
	R(DPU, LUT_LO_START, 0x4118)						\
	R(DPU, LUT_LO_END, 0x411c)						\
	R(DPU, LUT_LE_SLOPE_SCALE, 0x4120)					\
	R(DPU, LUT_LE_SLOPE_SHIFT, 0x4124)					\
	R(DPU, LUT_LO_SLOPE_SCALE, 0x4128)					\
	R(DPU, LUT_LO_SLOPE_SHIFT, 0x412c)					\
	R(RDMA, S_POINTER, 0x5004)						\
	F(RDMA, S_POINTER, POINTER_PP_EN, 1, 1, U)				\
	F(RDMA, S_POINTER, EXECUTER_PP_EN, 2, 1, U)				\
	F(RDMA, S_POINTER, POINTER_PP_MODE, 3, 1, U)				\
	R(RDMA, DATA_CUBE_WIDTH, 0x500c)					\
	F(RDMA, DATA_CUBE_WIDTH, WIDTH, 0, 13, M1)				\
	R(RDMA, DATA_CUBE_HEIGHT, 0x5010)					\
	F(RDMA, DATA_CUBE_HEIGHT, HEIGHT, 0, 13, M1)				\
	F(RDMA, DATA_CUBE_HEIGHT, EW_LINE_NOTCH, 16, 13, U)			\
	R(RDMA, DATA_CUBE_CHANNEL, 0x5014)					\
	F(RDMA, DATA_CUBE_CHANNEL, CHANNEL, 0, 13, M1)				\
	R(RDMA, SRC_BASE_ADDR, 0x5018)						\
	F(RDMA, SRC_BASE_ADDR, IOVA, 0, 32, U)					\
	R(RDMA, BRDMA_CFG, 0x501c)						\
	F(RDMA, BRDMA_CFG, DATA_USE, 1, 4, U)					\
	R(RDMA, BS_BASE_ADDR, 0x5020)						\
	F(RDMA, BS_BASE_ADDR, IOVA, 0, 32, U)					\
	R(RDMA, NRDMA_CFG, 0x5028)						\
	F(RDMA, NRDMA_CFG, DATA_USE, 1, 4, U)					\
	R(RDMA, BN_BASE_ADDR, 0x502c)						\
	F(RDMA, BN_BASE_ADDR, IOVA, 0, 32, U)					\
	R(RDMA, ERDMA_CFG, 0x5034)						\
	F(RDMA, ERDMA_CFG, DISABLE, 0, 1, U)					\
	F(RDMA, ERDMA_CFG, OV4K_BYPASS, 1, 1, U)				\
	F(RDMA, ERDMA_CFG, DATA_SIZE, 2, 2, U)					\
	F(RDMA, ERDMA_CFG, DATA_MODE, 30, 2, U)					\
	R(RDMA, EW_BASE_ADDR, 0x5038)						\
	F(RDMA, EW_BASE_ADDR, IOVA, 0, 32, U)					\
	R(RDMA, EW_SURF_STRIDE, 0x5040)						\
	F(RDMA, EW_SURF_STRIDE, BYTES, 4, 28, A16)				\
	R(RDMA, FEATURE_MODE_CFG, 0x5044)					\
	F(RDMA, FEATURE_MODE_CFG, FLYING_MODE, 0, 1, U)				\
	F(RDMA, FEATURE_MODE_CFG, CONV_MODE, 1, 2, U)				\
	F(RDMA, FEATURE_MODE_CFG, MRDMA_FP16TOFP32, 3, 1, U)			\
	F(RDMA, FEATURE_MODE_CFG, MRDMA_DISABLE, 4, 1, U)			\
	F(RDMA, FEATURE_MODE_CFG, PROC_PRECISION, 5, 3, U)			\
	F(RDMA, FEATURE_MODE_CFG, COMB_USE, 8, 3, U)				\
	F(RDMA, FEATURE_MODE_CFG, BURST_LEN, 11, 4, U)				\
	F(RDMA, FEATURE_MODE_CFG, IN_PRECISION, 15, 3, U)			\
	R(RDMA, SRC_DMA_CFG, 0x5048)						\
	F(RDMA, SRC_DMA_CFG, LINE_NOTCH, 19, 13, U)				\
	R(RDMA, SURF_NOTCH, 0x504c)						\
	F(RDMA, SURF_NOTCH, BYTES, 4, 28, A16)					\
	R(RDMA, PAD_CFG, 0x5064)						\
	R(RDMA, WEIGHT, 0x5068)							\
	F(RDMA, WEIGHT, M_WEIGHT, 0, 8, U)					\
	F(RDMA, WEIGHT, B_WEIGHT, 8, 8, U)					\
	F(RDMA, WEIGHT, N_WEIGHT, 16, 8, U)					\
	F(RDMA, WEIGHT, E_WEIGHT, 24, 8, U)					\
	R(RDMA, EW_SURF_NOTCH, 0x506c)						\
	F(RDMA, EW_SURF_NOTCH, BYTES, 4, 28, A16)

#define NPU_REG_ENUM(b, r, off)			NPU_R_##b##_##r,
#define NPU_REG_SKIP_F(b, r, f, lsb, w, k)
#define NPU_REG_SKIP_R(b, r, off)
#define NPU_FIELD_ENUM(b, r, f, lsb, w, k)	NPU_F_##b##_##r##_##f,

/** enum npu_reg_id - registers libnpu can emit */
enum npu_reg_id {
	NPU_REG_TABLE(NPU_REG_ENUM, NPU_REG_SKIP_F)
	NPU_R_COUNT
};

/** enum npu_field_id - fields npu_prog_field() accepts */
enum npu_field_id {
	NPU_REG_TABLE(NPU_REG_SKIP_R, NPU_FIELD_ENUM)
	NPU_F_COUNT
};

#endif /* NPU_REGS_H */
