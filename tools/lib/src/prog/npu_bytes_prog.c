// SPDX-License-Identifier: MIT
/*
 * Which chips have which programs of bytes of the DPU alone. Others are refused.
 */
#include <errno.h>

#include "npu_rk3562.h"
#include "npu_rk3568.h"
#include "npu_rk3576.h"

static const struct {
	int (*copy)(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova);
	int (*add)(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_sum *how);
	int (*mul)(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_product *how,
		   uint64_t record_iova);
	int (*load_map)(struct npu_prog *p, const int8_t *map, uint64_t from_iova, uint64_t to_iova);
	int (*map)(struct npu_prog *p, const struct npu_ew_task *t);
} programs[NPU_ENCODINGS] = {
	[NPU_ENCODING_RK3576] = {
		.copy = npu_prog_copy_rk3576, .mul = npu_prog_mul_rk3576, .load_map = npu_prog_load_map_rk3576,
	},
	[NPU_ENCODING_RK3568] = {
		.copy = npu_prog_copy_rk3568, .add = npu_prog_add_rk3568, .load_map = npu_prog_load_map_rk3568,
		.map = npu_prog_map_rk3568,
	},
	[NPU_ENCODING_RK3562] = {
		.copy = npu_prog_copy_rk3562, .add = npu_prog_add_rk3562, .mul = npu_prog_mul_rk3562,
		.load_map = npu_prog_load_map_rk3562, .map = npu_prog_map_rk3562,
	},
};

static int check(struct npu_prog *p, bool known, uint64_t addresses, const char *what)
{
	const struct npu_chip *chip = npu_prog_chip(p);

	if (npu_prog_error(p))
		return npu_prog_error(p);
	if (!known)
		return npu_prog_fail(p, -EOPNOTSUPP, "no programs for %s on the %s", what, chip->name);
	if (addresses % chip->atom)
		return npu_prog_fail(p, -EINVAL, "an address is not a multiple of %u", chip->atom);
	return 0;
}

static uint64_t addresses(const struct npu_ew_task *t)
{
	return t->a.iova | t->b.iova | t->y.iova;
}

int npu_prog_copy_atom(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova)
{
	enum npu_encoding e = npu_prog_chip(p)->encoding;

	if (check(p, true, from_iova | to_iova, "copies of an atom"))
		return npu_prog_error(p);
	return programs[e].copy ? programs[e].copy(p, from_iova, to_iova) : npu_prog_move_atom(p, from_iova, to_iova);
}

int npu_prog_add_bytes(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_sum *how)
{
	enum npu_encoding e = npu_prog_chip(p)->encoding;

	if (check(p, programs[e].add, addresses(t), "sums of bytes"))
		return npu_prog_error(p);
	return programs[e].add(p, t, how);
}

int npu_prog_mul_bytes(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_product *how,
		       uint64_t record_iova)
{
	enum npu_encoding e = npu_prog_chip(p)->encoding;

	if (check(p, programs[e].mul, addresses(t) | record_iova, "products of bytes"))
		return npu_prog_error(p);
	return programs[e].mul(p, t, how, record_iova);
}

int npu_prog_load_map(struct npu_prog *p, const int8_t *map, uint64_t from_iova, uint64_t to_iova)
{
	enum npu_encoding e = npu_prog_chip(p)->encoding;

	if (check(p, programs[e].load_map, from_iova | to_iova, "functions of bytes"))
		return npu_prog_error(p);
	return programs[e].load_map(p, map, from_iova, to_iova);
}

int npu_prog_map_bytes(struct npu_prog *p, const struct npu_ew_task *t)
{
	enum npu_encoding e = npu_prog_chip(p)->encoding;

	if (check(p, programs[e].map, addresses(t), "functions of bytes"))
		return npu_prog_error(p);
	return programs[e].map(p, t);
}
