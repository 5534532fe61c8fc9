// SPDX-License-Identifier: MIT
/* Owns the reading of the environment, RKNPU_GGML_*; Documentation/accel/rknpu/ggml.rst says what each variable does. */
#include <stdlib.h>
#include <string.h>

#include "rknpu_context.h"

static const char *text(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static int64_t number(const char *name, int64_t otherwise)
{
	return *text(name) ? strtoll(text(name), NULL, 0) : otherwise;
}

/* Bytes, with K, M or G behind the number if they are many. */
static uint64_t bytes(const char *value)
{
	static const char units[] = "KMG";
	char *end;
	uint64_t n = strtoull(value, &end, 0);
	const char *unit = *end ? strchr(units, *end) : NULL;

	return unit ? n << 10 * (unit - units + 1) : n;
}

bool rknpu_params_parse(struct rknpu_params *p, const char *options)
{
	static const char memory[] = "memory=";

	if (!options || !*options)
		return true;
	if (strncmp(options, memory, strlen(memory)))
		return false;
	p->memory = bytes(options + strlen(memory));
	return true;
}

/*
 * A product has to be worth an ioctl, an interrupt and moving its activations. Nobody has measured this
 * backend on a board; the least sizes follow what others measured: a submit costs 27 to 51 us, in which four
 * Cortex-A76 do some millions of multiply-accumulates; a single row was 82 times slower than on the CPU
 * (rocket-userspace).
 */
void rknpu_params_read(struct rknpu_params *p)
{
	int64_t cores = number("RKNPU_GGML_CORES", NPU_MAX_CORES);

	*p = (struct rknpu_params){
		.min_rows = number("RKNPU_GGML_MIN_ROWS", 32),
		.min_k = number("RKNPU_GGML_MIN_K", 64),
		.min_macs = number("RKNPU_GGML_MIN_MACS", 4000000),
		.min_reuse = number("RKNPU_GGML_MIN_REUSE", 128),
		.cores = cores < 1 ? 1 : cores > NPU_MAX_CORES ? NPU_MAX_CORES : (uint32_t)cores,
		.weights = !strcmp(text("RKNPU_GGML_WEIGHTS"), "int8") ? RKNPU_WEIGHTS_INT8 :
			   !strcmp(text("RKNPU_GGML_WEIGHTS"), "f16") ? RKNPU_WEIGHTS_FP16 : RKNPU_WEIGHTS_AUTO,
		.memory = bytes(text("RKNPU_GGML_MEMORY")),
		.prefetch = number("RKNPU_GGML_AHEAD", 1),
		.keep = getenv("RKNPU_GGML_KEEP") && strcmp(text("RKNPU_GGML_KEEP"), "0"),
	};
}
