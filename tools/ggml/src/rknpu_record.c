// SPDX-License-Identifier: MIT
/*
 * Recordings: on how many cores they run, how they are started, and how they fail.
 */
#include <stdio.h>
#include <string.h>

#include "rknpu_ggml.h"

uint32_t rknpu_cores(void)
{
	int64_t n = rknpu_setting("RKNPU_GGML_CORES", NPU_MAX_CORES);

	return n < 1 ? 1 : n > NPU_MAX_CORES ? NPU_MAX_CORES : (uint32_t)n;
}

int rknpu_record(struct npu_rec **out)
{
	struct npu_rec_opts opts = { .size = sizeof(opts), .block = true, .cores = rknpu_cores() };

	return npu_rec_new(rknpu_npu(), &opts, out);
}

int rknpu_go(struct npu_rec *rec)
{
	int ret = npu_rec_run(rec);

	rknpu_stats.runs++;
	rknpu_stats.chains += npu_rec_info(rec).chains;
	return ret ? ret : npu_rec_wait(rec, -1);
}

void rknpu_explain(const struct npu_rec *rec, int err, char *why, size_t size)
{
	struct npu_rec_failure f = { .size = sizeof(f) };

	if (npu_rec_failure(rec, &f))
		snprintf(why, size, "%s", strerror(-err));
	else if (f.task < 0)
		snprintf(why, size, "%s", npu_strcause(f.cause));
	else
		snprintf(why, size, "%s, in task %d on core %d", npu_strcause(f.cause), f.task, f.core);
}
