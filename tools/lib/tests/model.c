// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The arithmetic of QEMU's model of the NPU, for unit tests: it has a memory and runs one
 * program after the other, and refuses what nobody has seen silicon do.
 */

#include "sim_model.h"

/* Only what tests touch of it takes memory. */
#define MEM_SIZE	(256u << 20)
#define MEM_IS_MAPPED(iova, len)	sim_is_mapped(iova, len)
#include "harness.h"

uint8_t *sim_model_memory(uint32_t *base, uint32_t *size)
{
	*base = MEM_BASE;
	*size = MEM_SIZE;
	return mem;
}

bool sim_model_run(const uint64_t *entry, uint32_t count, uint32_t encoding)
{
	const NpuTaskOptions options = { .encoding = encoding };
	static Prog prog;
	const char *why = "program too long";

	must_fit = true;
	if (count <= ARRAY_SIZE(prog.cmd)) {
		memcpy(prog.cmd, entry, count * sizeof(*entry));
		prog.n = count;
		if (run_prog(&prog, options, &why) == NPU_TASK_RUN)
			return true;
	}
	printf("# the model refuses: %s\n", why);
	return false;
}
