// SPDX-License-Identifier: MIT
/* Owns the reading of the environment, RKNPU_GGML_*; Documentation/accel/rknpu/ggml.rst says what each variable does. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rknpu_context.h"

static const char *text(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static void not_understood(const char *name)
{
	GGML_LOG_WARN("ggml-rknpu: %s=%s is not understood, and ignored\n", name, text(name));
}

static int64_t number(const char *name, int64_t otherwise)
{
	char *end;
	int64_t n;

	if (!*text(name))
		return otherwise;
	errno = 0;
	n = strtoll(text(name), &end, 0);
	if (!errno && end != text(name) && !*end)
		return n;
	not_understood(name);
	return otherwise;
}

/* Bytes, with K, M or G behind the number if they are many; false if it is no such number. */
static bool bytes(const char *value, uint64_t *out)
{
	static const char units[] = "KMG";
	unsigned int shift = 0;
	const char *unit;
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(value, &end, 0);
	if (errno || !isdigit((unsigned char)*value) || end == value)
		return false;
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (unsigned int)(unit - units + 1);
		end += 1 + (strcasecmp(end + 1, "b") && strcasecmp(end + 1, "ib") ? 0 : strlen(end + 1));
	}
	if (*end || n > UINT64_MAX >> shift)
		return false;
	*out = n << shift;
	return true;
}

static uint64_t memory_limit(void)
{
	static const char name[] = "RKNPU_GGML_MEMORY";
	uint64_t n = 0;

	if (*text(name) && !bytes(text(name), &n))
		not_understood(name);
	return n;
}

/* 0: as the chip has it. */
static uint32_t cores(void)
{
	static const char name[] = "RKNPU_GGML_CORES";
	int64_t n = number(name, INT64_MIN);

	if (n >= 1 && n <= NPU_MAX_CORES)
		return (uint32_t)n;
	if (n != INT64_MIN)
		not_understood(name);
	return 0;
}

static int weights(void)
{
	static const char name[] = "RKNPU_GGML_WEIGHTS";

	if (!strcmp(text(name), "int8"))
		return RKNPU_WEIGHTS_INT8;
	if (!strcmp(text(name), "int4"))
		return RKNPU_WEIGHTS_INT4;
	if (!strcmp(text(name), "f16"))
		return RKNPU_WEIGHTS_FP16;
	if (*text(name) && strcmp(text(name), "auto"))
		not_understood(name);
	return RKNPU_WEIGHTS_AUTO;
}

bool rknpu_params_parse(struct rknpu_params *p, const char *options)
{
	static const char memory[] = "memory=";

	if (!options || !*options)
		return true;
	if (strncmp(options, memory, strlen(memory)))
		return false;
	return bytes(options + strlen(memory), &p->memory);
}

/*
 * A product has to be worth an ioctl, an interrupt and moving its activations. Nobody has measured this
 * backend on a board; the least sizes follow what others measured: a submit costs 27 to 51 us, in which four
 * Cortex-A76 do some millions of multiply-accumulates; a single row was 82 times slower than on the CPU
 * (rocket-userspace).
 */
void rknpu_params_read(struct rknpu_params *p)
{
	*p = (struct rknpu_params){
		.min_rows = number("RKNPU_GGML_MIN_ROWS", 32),
		.min_k = number("RKNPU_GGML_MIN_K", 64),
		.min_macs = number("RKNPU_GGML_MIN_MACS", 4000000),
		.min_reuse = number("RKNPU_GGML_MIN_REUSE", 128),
		.cores = cores(),
		.weights = weights(),
		.memory = memory_limit(),
		.prefetch = number("RKNPU_GGML_AHEAD", 1),
		.keep = number("RKNPU_GGML_KEEP", 0) != 0,
	};
}
