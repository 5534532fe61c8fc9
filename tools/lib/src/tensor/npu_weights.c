// SPDX-License-Identifier: MIT
/*
 * Weights: a matrix packed once into the order that the NPU reads, with its bias behind.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npu_compute.h"
#include "dev/npu_struct.h"

/* A page of its own: the fetch of a bias in one never crosses into the next. */
#define BIAS_ALIGN	4096u

static int check_desc(const struct npu_dev *dev, const struct npu_weights_desc *d)
{
	size_t row = d->is_kn ? d->n : d->k;
	bool known = d->type == NPU_PREC_INT8 || d->type == NPU_PREC_FP16 || d->type == NPU_PREC_BF16 ||
		     d->type == NPU_PREC_INT4;

	if (d->type == NPU_PREC_INT4 &&
	    (d->n % npu_kernel_group(npu_dev_chip(dev), d->type) || d->k % 2 || d->ld % 2 || d->bias ||
	     (!d->part && d->k > NPU_TASK_MAX_K)))
		return -EINVAL;
	if (d->part % NPU_TENSOR_COLS || d->part > NPU_TASK_MAX_K || (d->part && (d->bias || d->rq.scale)))
		return -EINVAL;
	if (!known || !d->n || !d->k ||
	    d->n > INT32_MAX / 2 || d->k > INT32_MAX / 2 || (d->ld && d->ld < row))
		return -EINVAL;
	if (d->rq.scale && d->type != NPU_PREC_INT8)
		return -EINVAL;
	/* No product could use them. */
	if (d->bias && d->type == NPU_PREC_INT8 && !d->rq.scale)
		return -EINVAL;
	return d->rq.scale ? npu_requant_check(&d->rq) : 0;
}

/*
 * One stretch of K after the other, each as if it were all of the weights. What counts bits is wider than a
 * size_t may be: 512 MiB have 2^32 of them.
 */
static void pack(const struct npu_weights *w, const struct npu_weights_desc *d, const void *src,
		 uint32_t np)
{
	const struct npu_chip *chip = npu_dev_chip(w->dev);
	size_t ld = d->ld ? d->ld : d->is_kn ? d->n : d->k;
	uint64_t bits = npu_prec_bits(d->type);

	for (uint32_t k = 0; k < w->k; k += w->k_step) {
		const uint8_t *from = (const uint8_t *)src + (d->is_kn ? k * ld : k) * bits / 8;
		uint8_t *to = (uint8_t *)w->mem->bo->map + np * bits * k / 8;
		size_t cols = min_u64(w->k_step, w->k - k), padded = min_u64(w->k_step, w->kp - k);

		if (d->type == NPU_PREC_INT4)
			npu_pack_int4(to, from, ld, d->is_kn, chip->int4_group, d->n, cols, padded);
		else
			npu_pack_matrix(to, from, ld, d->is_kn, npu_prec_bytes(d->type), npu_kernel_group(chip, d->type),
					d->n, cols, np, padded);
	}
}

static int alloc_and_pack(struct npu_weights *w, int space, const struct npu_weights_desc *d,
			  const void *src)
{
	uint32_t np = (uint32_t)round_up(d->n, npu_kernel_group(npu_dev_chip(w->dev), d->type));
	/* Divided first: a product of all three may wrap. */
	uint64_t bytes = (uint64_t)np * w->kp / 8 * npu_prec_bits(d->type);
	bool operands = w->has_bias || npu_operands_always(w);
	int ret;

	w->bias_offset = round_up(bytes + npu_dev_chip(w->dev)->zero_bytes, BIAS_ALIGN);
	if (operands)
		bytes = w->bias_offset + npu_operands_bytes(w, round_up(d->n, NPU_OPERANDS_UNIT));
	if (bytes > NPU_MEM_MAX)
		return -E2BIG;
	ret = space == NPU_ANY_SPACE ? npu_mem_new_weights(w->dev, (size_t)bytes, &w->mem) :
				       npu_mem_new_at(w->dev, (uint32_t)space, (size_t)bytes, &w->mem);
	if (ret)
		return ret;
	pack(w, d, src, np);
	if (operands)
		npu_operands_write(w, d->bias);
	npu_dev_stats(w->dev)->weights += (uint64_t)d->n * d->k * npu_prec_bits(d->type) / 8;
	return npu_bo_fini(w->mem->bo);
}

int npu_weights_new_at(struct npu_dev *dev, int space, const struct npu_weights_desc *desc,
		       const void *src, struct npu_weights **out)
{
	struct npu_weights *w;
	int ret = check_desc(dev, desc);

	if (ret)
		return ret;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct npu_weights){
		.dev = dev, .type = desc->type, .n = desc->n, .k = desc->k,
		.kp = (uint32_t)round_up(desc->k, NPU_TENSOR_COLS),
		.k_step = desc->part ? desc->part : npu_k_step(desc->k), .parts = desc->part, .rq = desc->rq,
	};
	w->has_bias = desc->bias || ((w->rq.scale || w->type == NPU_PREC_FP16) && npu_operands_always(w));
	ret = alloc_and_pack(w, space, desc, src);
	if (ret) {
		npu_weights_free(w);
		return ret;
	}
	*out = w;
	return 0;
}

int npu_weights_new(struct npu_dev *dev, const struct npu_weights_desc *desc, const void *src,
		    struct npu_weights **out)
{
	struct npu_weights_desc d;
	int ret = NPU_TAKE(&d, rq, desc);

	return ret ? ret : npu_weights_new_at(dev, NPU_ANY_SPACE, &d, src, out);
}

int npu_weights_part(const struct npu_weights *w, uint32_t i, struct npu_weights **out)
{
	uint64_t k = (uint64_t)i * w->k_step;
	uint32_t np = (uint32_t)round_up(w->n, npu_kernel_group(npu_dev_chip(w->dev), w->type));
	struct npu_weights *part;

	if (!w->parts || k >= w->k)
		return -EINVAL;
	part = malloc(sizeof(*part));
	if (!part)
		return -ENOMEM;
	*part = *w;
	part->mem = npu_mem_get(w->mem);
	part->k = (uint32_t)min_u64(w->k_step, w->k - k);
	part->kp = (uint32_t)min_u64(w->k_step, w->kp - k);
	part->offset = k * np * npu_prec_bits(w->type) / 8;
	part->parts = false;
	*out = part;
	return 0;
}

void npu_weights_free(struct npu_weights *w)
{
	if (!w)
		return;
	npu_mem_put(w->mem);
	free(w);
}
