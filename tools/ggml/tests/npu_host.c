// SPDX-License-Identifier: MIT
/* The NPU under test is the simulator in librknpu.so: what fails there, and what it counts. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "ggml_check.h"

static void *symbol(const char *name)
{
	/* ggml loads the backend, and with it this one, for itself. */
	void *lib = dlopen("librknpu.so.0", RTLD_NOW | RTLD_NOLOAD);
	void *at = lib ? dlsym(lib, name) : NULL;

	if (!at) {
		tap(false, "librknpu.so has no %s", name);
		abort();
	}
	return at;
}

bool npu_hang_next(void)
{
	((void (*)(int))symbol("sim_hang_task"))(0);
	return true;
}

void npu_calm(void)
{
	((void (*)(int))symbol("sim_hang_task"))(-1);
}

bool npu_cancel_next(void)
{
	((void (*)(int, int))symbol("sim_fail_job"))(0, -ECANCELED);
	return true;
}

bool npu_refuse_next(int err)
{
	((void (*)(int, int))symbol("sim_refuse_submit"))(0, err);
	return true;
}

bool npu_gone(bool gone)
{
	((void (*)(bool))symbol("sim_unplug"))(gone);
	return true;
}

bool npu_starts(uint64_t *starts)
{
	*starts = *(unsigned int *)symbol("sim_starts");
	return true;
}

bool npu_limit(uint64_t bytes)
{
	((void (*)(uint64_t))symbol("sim_space_bytes"))(bytes);
	return true;
}
