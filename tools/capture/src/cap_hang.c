// SPDX-License-Identifier: MIT
/*
 * Knows what makes a task hang on silicon: rules of the model, which has them from public
 * reports (Documentation/accel/rknpu/evidence.toml), as registers and fields.
 */
#include <string.h>

#include "cap.h"
#include "npu_regs.h"

/* Registers after all commands of a program; those that it leaves alone are 0. */
struct image {
	uint32_t reg[0x8000 / 4];
	uint32_t enable;
};

#define GET(im, b, r, f)	NPU_GET((im)->reg[NPU_OFF_##b##_##r / 4], b##_##r##_##f)

#define LARGE_KERNEL		7
#define LARGE_KERNEL_BITS	1024
#define TF32_CHANNELS		4096

static void add(struct cap_hangs *h, const char *field, const char *why)
{
	if (h->count < CAP_HANGS)
		h->hang[h->count++] = (struct cap_hang) { field, why };
}

static uint32_t bits_of(uint32_t precision)
{
	return precision == NPU_CODE_PREC_INT4 ? 4 : precision == NPU_CODE_PREC_TF32 ? 32 : 16;
}

static void check_kernel(struct cap_hangs *h, const struct image *im)
{
	uint32_t in = GET(im, CNA, CONV_CON1, IN_PRECISION);
	uint32_t limit = in == NPU_CODE_PREC_INT4 ? LARGE_KERNEL_BITS / 2 : LARGE_KERNEL_BITS;

	if (in == NPU_CODE_PREC_INT8 || GET(im, CNA, CONV_CON1, CONV_MODE) ||
	    GET(im, CNA, WEIGHT_SIZE2, WIDTH) < LARGE_KERNEL ||
	    GET(im, CNA, WEIGHT_SIZE2, HEIGHT) < LARGE_KERNEL)
		return;
	if (GET(im, CNA, DATA_SIZE1, DATAIN_CHANNEL) * bits_of(in) > limit)
		add(h, "CNA.DATA_SIZE1 DATAIN_CHANNEL", "too many channels for a kernel of 7x7 or more");
}

static void check_conv(struct cap_hangs *h, const struct image *im)
{
	uint32_t in = GET(im, CNA, CONV_CON1, IN_PRECISION);

	check_kernel(h, im);
	if (in == NPU_CODE_PREC_INT8 && GET(im, DPU, DATA_FORMAT, OUT_PRECISION) == NPU_CODE_PREC_INT16)
		add(h, "DPU.DATA_FORMAT OUT_PRECISION", "int16 output of int8");
	if (in == NPU_CODE_PREC_TF32 && GET(im, CNA, DATA_SIZE1, DATAIN_CHANNEL) > TF32_CHANNELS)
		add(h, "CNA.DATA_SIZE1 DATAIN_CHANNEL", "too many channels of tf32");
}

/* BS and BN have the same fields; so have what fetches for them. */
static uint32_t wanted(uint32_t cfg, uint32_t mul)
{
	uint32_t want = 0;

	if (NPU_GET(cfg, DPU_BS_CFG_BYPASS))
		return 0;
	if (!NPU_GET(cfg, DPU_BS_CFG_ALU_BYPASS) && NPU_GET(cfg, DPU_BS_CFG_ALU_SRC))
		want |= NPU_CODE_USE_ALU;
	if (!NPU_GET(cfg, DPU_BS_CFG_MUL_BYPASS) && NPU_GET(mul, DPU_BS_MUL_CFG_MUL_SRC))
		want |= NPU_CODE_USE_MUL;
	return want;
}

static uint32_t fetched(const struct image *im, uint32_t cfg)
{
	if (!(im->enable & NPU_EN_DPU_RDMA) || NPU_GET(cfg, RDMA_BRDMA_CFG_DISABLE))
		return 0;
	return NPU_GET(cfg, RDMA_BRDMA_CFG_DATA_USE);
}

static void check_stages(struct cap_hangs *h, const struct image *im)
{
	uint32_t bs = wanted(im->reg[NPU_OFF_DPU_BS_CFG / 4], im->reg[NPU_OFF_DPU_BS_MUL_CFG / 4]);
	uint32_t bn = wanted(im->reg[NPU_OFF_DPU_BN_CFG / 4], im->reg[NPU_OFF_DPU_BN_MUL_CFG / 4]);
	uint32_t bn_has = fetched(im, im->reg[NPU_OFF_RDMA_NRDMA_CFG / 4]);
	bool flying = GET(im, DPU, FEATURE_MODE_CFG, FLYING_MODE);

	if (!flying && !GET(im, DPU, BS_OW_CFG, OD_BYPASS) && GET(im, DPU, BS_OW_CFG, OW_SRC))
		bs |= NPU_CODE_USE_CPEND;
	if (bs & ~fetched(im, im->reg[NPU_OFF_RDMA_BRDMA_CFG / 4]))
		add(h, "RDMA.BRDMA_CFG DATA_USE", "BS waits for an operand that nothing fetches");
	if (bn & ~bn_has)
		add(h, "RDMA.NRDMA_CFG DATA_USE", "BN waits for an operand that nothing fetches");
	if ((bn & NPU_CODE_USE_MUL) && !flying && bn_has == NPU_CODE_USE_PACKED)
		add(h, "RDMA.NRDMA_CFG DATA_USE", "packed BN operands of a convolution");
}

static void check_ew(struct cap_hangs *h, const struct image *im)
{
	bool reads = !GET(im, DPU, EW_CFG, BYPASS) && !GET(im, DPU, EW_CFG, OP_BYPASS) &&
		     GET(im, DPU, EW_CFG, OP_SRC);

	if (!reads)
		return;
	if (!(im->enable & NPU_EN_DPU_RDMA) || GET(im, RDMA, ERDMA_CFG, DISABLE))
		add(h, "RDMA.ERDMA_CFG DISABLE", "EW waits for an operand that nothing fetches");
	if (!GET(im, DPU, FEATURE_MODE_CFG, FLYING_MODE) &&
	    GET(im, RDMA, FEATURE_MODE_CFG, MRDMA_DISABLE) && GET(im, DPU, EW_CFG, DATA_MODE) &&
	    !GET(im, DPU, DATA_CUBE_WIDTH, WIDTH))
		add(h, "RDMA.FEATURE_MODE_CFG MRDMA_DISABLE", "ERDMA alone beside a CORE for a column");
}

static void check_dpu(struct cap_hangs *h, const struct image *im)
{
	if (im->enable & NPU_EN_CNA)
		check_conv(h, im);
	if ((im->enable & NPU_EN_DPU_RDMA) && !GET(im, RDMA, FEATURE_MODE_CFG, FLYING_MODE) &&
	    !GET(im, RDMA, FEATURE_MODE_CFG, MRDMA_DISABLE) &&
	    !GET(im, RDMA, FEATURE_MODE_CFG, COMB_USE))
		add(h, "RDMA.FEATURE_MODE_CFG MRDMA_DISABLE", "MRDMA enabled with nothing to feed");
	if (im->enable & NPU_EN_PPU_RDMA)
		add(h, CAP_HANG_ENABLE " PPU_RDMA", "PPU_RDMA enabled with nothing to feed");
	check_stages(h, im);
	check_ew(h, im);
}

static void check_pooling(struct cap_hangs *h, const struct image *im)
{
	uint32_t k_w = GET(im, PPU, POOLING_KERNEL_CFG, KERNEL_WIDTH) + 1;
	uint32_t k_h = GET(im, PPU, POOLING_KERNEL_CFG, KERNEL_HEIGHT) + 1;
	uint32_t s_x = GET(im, PPU, POOLING_KERNEL_CFG, STRIDE_WIDTH) + 1;
	uint32_t s_y = GET(im, PPU, POOLING_KERNEL_CFG, STRIDE_HEIGHT) + 1;
	uint32_t k = k_w < k_h ? k_w : k_h;
	bool overlap = s_x < k_w || s_y < k_h;

	if (((k == 3 || k == 4) && s_y == 1 && GET(im, PPU, DATA_CUBE_OUT_WIDTH, WIDTH) + 1 > 32) ||
	    (k > 4 && overlap && GET(im, PPU, DATA_CUBE_IN_WIDTH, WIDTH) + 1 > 20))
		add(h, "PPU.POOLING_KERNEL_CFG STRIDE_HEIGHT",
		    "overlapping pooling windows in a wide tile");
}

static bool read_image(struct image *im, const uint64_t *entry, uint32_t n)
{
	memset(im, 0, sizeof(*im));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t off = CAP_ENTRY_REG(entry[i]);

		if (cap_is_enable(entry[i])) {
			im->enable = CAP_ENTRY_VALUE(entry[i]);
			return true;
		}
		if (cap_is_write(entry[i]) && off / 4 < sizeof(im->reg) / sizeof(im->reg[0]))
			im->reg[off / 4] = CAP_ENTRY_VALUE(entry[i]);
	}
	return false;
}

void cap_find_hangs(struct cap_hangs *h, const uint64_t *entry, uint32_t n)
{
	struct image im;

	h->count = 0;
	if (!read_image(&im, entry, n)) {
		add(h, CAP_HANG_ENABLE, "the program starts nothing");
		return;
	}
	if (im.enable & NPU_EN_PPU_RDMA)
		check_pooling(h, &im);
	if (im.enable & NPU_EN_DPU)
		check_dpu(h, &im);
}
