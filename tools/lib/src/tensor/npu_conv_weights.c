// SPDX-License-Identifier: MIT
/*
 * Weights of convolutions for recordings: packed by taps, with a bias that has what zero points
 * add.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npu_compute.h"
#include "dev/npu_struct.h"

/* A page of its own: the fetch of a bias in one never crosses into the next. */
#define BIAS_ALIGN	4096u
#define MAX_KERNEL	31u
#define MAX_CHANNELS	8192u

static bool is_quantised(const struct npu_conv_weights_desc *d)
{
	return d->type == NPU_PREC_INT8 && d->rq.scale;
}

static bool byte(int32_t v)
{
	return v >= INT8_MIN && v <= INT8_MAX;
}

static int check_desc(const struct npu_conv_weights_desc *d)
{
	if ((d->type != NPU_PREC_INT8 && d->type != NPU_PREC_FP16) || !d->in_c || !d->out_c ||
	    d->in_c > MAX_CHANNELS || d->out_c > MAX_CHANNELS || !d->kw || !d->kh ||
	    d->kw > MAX_KERNEL || d->kh > MAX_KERNEL || (d->depthwise && d->in_c != d->out_c))
		return -EINVAL;
	if (d->rq.scale && d->type != NPU_PREC_INT8)
		return -EINVAL;
	if (!is_quantised(d) && (d->in_zp || d->weight_zp || (d->type == NPU_PREC_INT8 && d->bias)))
		return -EINVAL;
	if (!byte(d->in_zp) || !byte(d->weight_zp))
		return -EINVAL;
	return is_quantised(d) ? npu_requant_check(&d->rq) : 0;
}

/* Elements that kernel @n has at tap @tap. */
static const int8_t *tap_of(const struct npu_conv_weights_desc *d, const int8_t *src, uint32_t n,
			    uint32_t tap)
{
	uint32_t taps = d->kw * d->kh;

	return d->depthwise ? src + (size_t)tap * d->in_c + n :
			      src + ((size_t)n * taps + tap) * d->in_c;
}

static int64_t sum_of(const struct npu_conv_weights_desc *d, const int8_t *src, uint32_t n)
{
	uint32_t channels = d->depthwise ? 1 : d->in_c;
	int64_t sum = 0;

	for (uint32_t tap = 0; tap < d->kw * d->kh; tap++) {
		const int8_t *w = tap_of(d, src, n, tap);

		for (uint32_t c = 0; c < channels; c++)
			sum += w[c] - d->weight_zp;
	}
	return sum;
}

/* The zero point of the input takes away the same everywhere, for padding holds it, too. */
static int fold_bias(int32_t *dst, const struct npu_conv_weights_desc *d, const int8_t *src)
{
	const int32_t *bias = d->bias;

	for (uint32_t n = 0; n < d->out_c; n++) {
		int64_t v = (bias ? bias[n] : 0) - (d->in_zp ? sum_of(d, src, n) * d->in_zp : 0);

		if (v < INT32_MIN || v > INT32_MAX)
			return -ERANGE;
		dst[n] = (int32_t)v;
	}
	return 0;
}

/* One run of a group's channels after the other; what is behind the last channel counts as 0. */
static void pack_depthwise(uint8_t *dst, const uint8_t *src, const struct npu_conv_weights_desc *d,
			   uint32_t group)
{
	size_t bpe = npu_prec_bytes(d->type), run = group * bpe;

	for (uint32_t c = 0; c < d->in_c; c += group)
		for (uint32_t tap = 0; tap < d->kw * d->kh; tap++, dst += run) {
			memset(dst, (uint8_t)d->weight_zp, run);
			memcpy(dst, src + ((size_t)tap * d->in_c + c) * bpe,
			       min_u64(group, d->in_c - c) * bpe);
		}
}

/*
 * Two bytes that are added for each weight, without its zero point, by groups of 64 channels: of two
 * channels the first bytes, then the second ones (gregordinary's boards), as which 0x80 is 128 (the
 * vendor's compiler). So there is room for -255 to 255.
 */
static void pack_depthwise_pairs(uint8_t *dst, const int8_t *src, const struct npu_conv_weights_desc *d,
				 const struct npu_weights *w)
{
	uint32_t group = npu_depthwise_group(npu_dev_chip(w->dev), d->type);

	memset(dst, 0, (size_t)d->kw * d->kh * w->kp * npu_weight_bytes(w));
	for (uint32_t c = 0; c < d->in_c; c++) {
		uint32_t first = c / group * group, held = (uint32_t)min_u64(group, w->kp - first);

		for (uint32_t tap = 0; tap < d->kw * d->kh; tap++) {
			uint8_t *to = dst + 2 * ((size_t)first * d->kw * d->kh + tap * held) +
				      (c - first) / 2 * 4 + c % 2;
			int32_t v = *tap_of(d, src, c, tap) - d->weight_zp, most;

			most = v > INT8_MAX ? INT8_MAX : v < INT8_MIN ? INT8_MIN : v;
			to[0] = (uint8_t)most;
			to[2] = (uint8_t)(v - most);
		}
	}
}

static void pack(struct npu_weights *w, const struct npu_conv_weights_desc *d, const void *src,
		 uint32_t np)
{
	const struct npu_chip *chip = npu_dev_chip(w->dev);
	uint32_t taps = d->kw * d->kh;

	if (npu_weight_bytes(w) > npu_prec_bytes(d->type))
		pack_depthwise_pairs(w->mem->bo->map, src, d, w);
	else if (d->depthwise)
		pack_depthwise(w->mem->bo->map, src, d, npu_depthwise_group(chip, d->type));
	else
		npu_pack_kernels(npu_kernel_group(chip, d->type), w->mem->bo->map, src, (size_t)taps * d->in_c, d->in_c, 1,
				 npu_prec_bytes(d->type), d->out_c, taps, d->in_c, np, w->kp,
				 (uint8_t)d->weight_zp);
}

static int fill(struct npu_weights *w, const struct npu_conv_weights_desc *d, const void *src,
		uint32_t np)
{
	int32_t *folded = is_quantised(d) ? malloc(d->out_c * sizeof(*folded)) : NULL;
	int ret = 0;

	if (is_quantised(d))
		ret = folded ? fold_bias(folded, d, src) : -ENOMEM;
	if (!ret && w->has_bias)
		npu_operands_write(w, folded ? folded : d->bias);
	free(folded);
	if (ret)
		return ret;
	pack(w, d, src, np);
	return npu_bo_fini(w->mem->bo);
}

static int alloc_and_fill(struct npu_weights *w, const struct npu_conv_weights_desc *d,
			  const void *src)
{
	const struct npu_chip *chip = npu_dev_chip(w->dev);
	uint32_t np = d->depthwise ? w->kp : (uint32_t)round_up(d->out_c, npu_kernel_group(chip, d->type));
	uint64_t taps = d->kw * d->kh, bpe = npu_prec_bytes(d->type), bytes;
	int ret;

	bytes = taps * npu_weight_bytes(w) * w->kp * (d->depthwise ? 1 : np);
	w->bias_offset = round_up(bytes + chip->zero_bytes, BIAS_ALIGN);
	if (w->has_bias)
		bytes = w->bias_offset + npu_operands_bytes(w, round_up(np, NPU_OPERANDS_UNIT));
	if (bytes > NPU_MEM_MAX)
		return -E2BIG;
	ret = npu_mem_new_weights(w->dev, (size_t)bytes, &w->mem);
	if (!ret)
		ret = fill(w, d, src, np);
	if (!ret)
		npu_dev_stats(w->dev)->weights += taps * bpe * d->in_c * (d->depthwise ? 1 : d->out_c);
	return ret;
}

int npu_conv_weights_new(struct npu_dev *dev, const struct npu_conv_weights_desc *desc,
			 const void *src, struct npu_weights **out)
{
	struct npu_conv_weights_desc d;
	const struct npu_chip *chip;
	struct npu_weights *w;
	uint32_t unit;
	int ret = NPU_TAKE(&d, weight_zp, desc);

	if (!ret)
		ret = check_desc(&d);
	if (ret)
		return ret;
	chip = npu_dev_chip(dev);
	unit = d.depthwise ? npu_depthwise_unit(chip, d.type) : NPU_TENSOR_COLS;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct npu_weights){
		.dev = dev, .type = d.type, .n = d.out_c, .k = d.in_c,
		.kp = (uint32_t)round_up(d.in_c, unit), .has_bias = d.bias || is_quantised(&d),
		.rq = d.rq, .kw = d.kw, .kh = d.kh, .depthwise = d.depthwise,
		.in_zp = d.in_zp, .weight_zp = d.weight_zp,
	};
	w->has_bias |= w->type == NPU_PREC_FP16 && npu_operands_always(w);
	/* A task has all channels of a kernel, or one group of depthwise ones. */
	ret = npu_weight_bytes(w) * d.kw * d.kh * (d.depthwise ? npu_depthwise_group(chip, d.type) : w->kp) >
	      (d.depthwise ? chip->depthwise_bytes : chip->kernel_bytes) ? -E2BIG : alloc_and_fill(w, &d, src);
	if (ret) {
		npu_weights_free(w);
		return ret;
	}
	*out = w;
	return 0;
}
