// SPDX-License-Identifier: MIT
/*
 * Weights: matrices of ggml's types as halves or bytes in the NPU's memory.
 */
#include <errno.h>
#include <stdlib.h>

#include "rknpu_ggml.h"

bool rknpu_can_pack(enum ggml_type type)
{
	return type == GGML_TYPE_F32 || ggml_get_type_traits(type)->to_float;
}

static const void *row(const struct rknpu_matrix *m, uint32_t n)
{
	return (const char *)m->data + n * m->stride;
}

size_t rknpu_weights_bytes(const struct rknpu_weights *w)
{
	size_t unit = w->type == NPU_PREC_INT8 ? sizeof(int8_t) : sizeof(uint16_t);

	return (size_t)w->from.n * w->from.k * unit;
}

/* A row as floats, in @floats unless it is. */
static const float *row_floats(const struct rknpu_matrix *m, uint32_t n, float *floats)
{
	if (m->type == GGML_TYPE_F32)
		return row(m, n);
	ggml_get_type_traits(m->type)->to_float(row(m, n), floats, m->k);
	return floats;
}

/* Returns the largest magnitude of all. */
static float convert(uint16_t *dst, const struct rknpu_matrix *m, float *floats, float scale)
{
	float most = 0;

	for (uint32_t n = 0; n < m->n; n++) {
		float largest = rknpu_to_half(dst + (size_t)n * m->k, row_floats(m, n, floats), m->k, scale);

		most = largest > most ? largest : most;
	}
	return most;
}

static void to_halves(struct rknpu_weights *w, uint16_t *dst, float *floats)
{
	float wanted = rknpu_scale_for(convert(dst, &w->from, floats, 1));

	if (wanted == 1)
		return;
	w->scale = wanted;
	convert(dst, &w->from, floats, wanted);
}

static int to_bytes(struct rknpu_weights *w, int8_t *dst, float *floats)
{
	const struct rknpu_matrix *m = &w->from;

	w->row_scale = malloc(m->n * sizeof(*w->row_scale));
	if (!w->row_scale)
		return -ENOMEM;
	for (uint32_t n = 0; n < m->n; n++)
		w->row_scale[n] = rknpu_to_int8(dst + (size_t)n * m->k, row_floats(m, n, floats), m->k);
	return 0;
}

static int pack(struct rknpu_weights *w, const void *src, size_t ld)
{
	struct npu_weights_desc desc = {
		.size = sizeof(desc),
		.type = w->type, .n = w->from.n, .k = w->from.k, .ld = ld,
	};

	return npu_weights_new(rknpu_npu(), &desc, src, &w->npu);
}

static int pack_converted(struct rknpu_weights *w)
{
	void *packed = malloc(rknpu_weights_bytes(w));
	float *floats = malloc(w->from.k * sizeof(*floats));
	int ret = packed && floats ? 0 : -ENOMEM;

	if (!ret && w->type == NPU_PREC_INT8)
		ret = to_bytes(w, packed, floats);
	else if (!ret)
		to_halves(w, packed, floats);
	free(floats);
	if (!ret)
		ret = pack(w, packed, 0);
	free(packed);
	return ret;
}

static int pack_any(struct rknpu_weights *w)
{
	const struct rknpu_matrix *m = &w->from;

	if (m->type == GGML_TYPE_F16 && !(m->stride % sizeof(uint16_t)))
		return pack(w, m->data, m->stride / sizeof(uint16_t));
	return pack_converted(w);
}

int rknpu_weights_new(const struct rknpu_matrix *m, struct rknpu_weights **out)
{
	struct rknpu_weights *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return -ENOMEM;
	w->from = *m;
	w->type = rknpu_prec_of(m->type);
	w->scale = 1;
	ret = pack_any(w);
	if (ret) {
		free(w->row_scale);
		free(w);
		return ret;
	}
	rknpu_stats.packed++;
	rknpu_stats.resident += rknpu_weights_bytes(w);
	*out = w;
	return 0;
}

void rknpu_weights_free(struct rknpu_weights *w)
{
	rknpu_ahead_forget(w);
	rknpu_runs_free(w);
	npu_weights_free(w->npu);
	rknpu_stats.resident -= rknpu_weights_bytes(w);
	free(w->row_scale);
	free(w);
}
