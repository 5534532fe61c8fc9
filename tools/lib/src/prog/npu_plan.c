// SPDX-License-Identifier: MIT
/*
 * How a matrix product is cut into tasks: M by what the convolution buffer holds next to the
 * weights of one group of kernels, N so that no task has more than its share of time.
 */
#include "npu_task.h"

#define M_ALIGN		4u
#define K_ALIGN		32u

/* Longest piece of @total in equal pieces of at most @max, both in @unit. */
static uint32_t even_piece(uint32_t total, uint64_t max, uint32_t unit)
{
	uint32_t units = (uint32_t)div_up(total, unit);
	uint64_t per = max_u64(max / unit, 1);
	uint64_t pieces = div_up(units, per);

	return (uint32_t)div_up(units, pieces) * unit;
}

uint32_t npu_k_step(uint32_t k)
{
	return even_piece(k, NPU_TASK_MAX_K, K_ALIGN);
}

static uint32_t limit(uint32_t opt, uint32_t hw)
{
	return opt && opt < hw ? opt : hw;
}

/* Rows of @in whose features fit the banks left by the weights. */
static uint32_t rows_fit(const struct npu_chip *chip, enum npu_prec in, uint32_t kp, size_t kernel)
{
	uint64_t bytes = (uint64_t)(chip->banks - npu_weight_banks(chip, kernel)) * chip->bank_bytes;

	return (uint32_t)min_u64(bytes / npu_row_bytes(chip, in, 1, kp), chip->rows);
}

struct npu_plan npu_plan_make(const struct npu_chip *chip, enum npu_prec in, uint32_t m, uint32_t n,
			      uint32_t k, uint32_t max_m, uint32_t max_n)
{
	struct npu_plan plan = {
		.m = m, .n = n, .m_unit = m == 1 ? 1 : M_ALIGN, .n_unit = npu_kernel_group(chip, in),
	};
	bool mixed = in == NPU_PREC_INT4 && chip->int4_halves;
	/* A group of INT4 takes what one of INT8 does, for twice as many kernels; rows take less. */
	enum npu_prec stored = mixed ? NPU_PREC_FP16 : in == NPU_PREC_INT4 ? NPU_PREC_INT8 : in;
	uint32_t kp = (uint32_t)round_up(k, K_ALIGN);
	size_t kernel = mixed ? kp / 2 : kp * npu_prec_bytes(stored);
	uint32_t kernels = npu_task_kernels(chip, kernel);

	plan.m_step = even_piece(m, limit(max_m, rows_fit(chip, stored, kp, kernel)), plan.m_unit);
	plan.n_step = even_piece(n, min_u64(limit(max_n, kernels),
					    NPU_TASK_MACS / ((uint64_t)plan.m_step * kp)), plan.n_unit);
	plan.ntiles = div_up(m, plan.m_step) * div_up(n, plan.n_step);
	return plan;
}

struct npu_tile npu_plan_tile(const struct npu_plan *plan, uint64_t i)
{
	uint64_t across = div_up(plan->n, plan->n_step);
	struct npu_tile t = {
		.m0 = (uint32_t)(i / across) * plan->m_step, .n0 = (uint32_t)(i % across) * plan->n_step,
	};

	t.m = (uint32_t)min_u64(plan->m_step, plan->m - t.m0);
	t.mp = (uint32_t)round_up(t.m, plan->m_unit);
	t.n = (uint32_t)min_u64(plan->n_step, plan->n - t.n0);
	t.np = (uint32_t)round_up(t.n, plan->n_unit);
	return t;
}
