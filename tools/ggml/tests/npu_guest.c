// SPDX-License-Identifier: GPL-2.0-only
/* The NPU under test is QEMU's model in a guest: what fails there, and what it counts; or a board, and nobody does. */
#include "ggml_check.h"
#include "rknpu_util.h"

bool npu_hang_next(void)
{
	if (!rk_model())
		return false;
	/* All of them until npu_calm(): the driver starts a job again whose first task shows nothing. */
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 0);
	return true;
}

void npu_calm(void)
{
	rk_model_calm();
}

/* The driver cancels jobs of files that are closed, so not of a program that waits for them. */
bool npu_cancel_next(void)
{
	return false;
}

bool npu_refuse_next(int err)
{
	(void)err;
	return false;
}

bool npu_gone(bool gone)
{
	return false;
}

bool npu_starts(uint64_t *starts)
{
	*starts = rk_model() ? rk_count_all_jobs(NPU_CNT_KICK) : 0;
	return rk_model();
}

/* The driver's limits are parts of the memory; llama-parts/trouble has them. */
bool npu_limit(uint64_t bytes)
{
	return false;
}
