// SPDX-License-Identifier: MIT
/*
 * Runs programs on the NPU of this machine, over whichever interface its driver has.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dev/npu_device.h"
#include "drm/rocket_accel.h"
#include "run_npu.h"

/* Blocks have been seen to read beyond their operands (rocket-userspace: one CBUF bank). */
#define SLACK		65536u
#define PROG_BYTES	((RP_ENTRIES + 1) * 8)
#define NEVER_NS	INT64_C(90000000000)
/* Mainline's driver gives a job 500 ms, and does not say that it gave up. */
#define HUNG_NS		INT64_C(400000000)
#define TIMEOUT_NS	UINT64_C(2000000000)

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static bool untouched(const uint8_t *out)
{
	for (unsigned int i = 0; i < RP_MEM; i++) {
		if (out[i] != RP_POISON)
			return false;
	}
	return true;
}

static int to_outcome(int ret)
{
	return npu_cause_of_errno(ret) == NPU_CAUSE_TIMEOUT ? -ETIMEDOUT : ret;
}

static bool pools_alone(const struct rp_span *task)
{
	return (task->enable & (NPU_EN_PPU | NPU_EN_DPU)) == NPU_EN_PPU;
}

/* Core 0 where the driver lets one choose: what a job leaves in a core is for the next one. */
static int submit(struct rp_machine *m, const struct npu_hwjob *job, const struct rp_span *last)
{
	struct npu_job_opts opts = { .core_mask = 1, .timeout_ns = TIMEOUT_NS };
	uint64_t first;

	bool sched = npu_features(m->dev) & DRM_ROCKET_FEATURE_SCHED;

	/*
	 * Ours takes either block's end for the task's; Rockchip's is asked for the PPU's. Mainline's
	 * waits for the DPU, which does not tell of what the PPU does alone.
	 */
	if ((last->dpu_done && m->tells_errors) || (last->core_mask && !sched) ||
	    (!m->tells_errors && !last->dpu_done && pools_alone(last)))
		return -EOPNOTSUPP;
	if (last->core_mask)
		opts.core_mask = last->core_mask;
	if (!sched)
		return npu_submit(m->dev, job, 1);
	if (job->ntasks > 1 && npu_features(m->dev) & DRM_ROCKET_FEATURE_BATCHED)
		opts.flags |= DRM_ROCKET_JOB_BATCHED;
	if (last->enable & NPU_EN_PPU)
		opts.flags |= DRM_ROCKET_JOB_PPU_DONE;
	return npu_submit_ext(m->dev, job, &opts, 1, &first);
}

/* A batched job's programs name each other. */
static void chain(struct rp_machine *m, const struct rp_span *task, unsigned int tasks)
{
	for (unsigned int i = 0; i + 1 < tasks; i++) {
		uint64_t *tail = m->entry + task[i].first + task[i].count - 4;
		uint64_t next = (uint32_t)(m->prog->iova + task[i + 1].first * 8);

		tail[0] = (uint64_t)NPU_TGT_PC << 48 | next << 16 | OFF_PC_BASE_ADDRESS;
		tail[1] = (uint64_t)NPU_TGT_PC << 48 |
			  (uint64_t)(task[i].meet << 16 | npu_amount(npu_dev_chip(m->dev), task[i + 1].count)) << 16 |
			  OFF_PC_REGISTER_AMOUNTS;
	}
}

static int run_job(struct rp_machine *m, const struct rp_span *span, unsigned int tasks)
{
	struct npu_bo *in[] = { m->prog, m->in }, *out[] = { m->out };
	struct npu_task task[RP_TASKS];
	struct npu_hwjob job = {
		.tasks = task, .ntasks = tasks, .in = in, .nin = 2, .out = out, .nout = 1,
	};
	int ret;

	for (unsigned int i = 0; i < tasks; i++)
		task[i] = (struct npu_task){
			.regcmd = (uint32_t)(m->prog->iova + span[i].first * 8),
			.count = span[i].count,
		};
	ret = npu_bo_fini(m->prog);
	if (!ret)
		ret = npu_bo_fini(m->in);
	if (!ret)
		ret = npu_bo_fini(m->out);
	if (!ret)
		ret = submit(m, &job, &span[tasks - 1]);
	return ret ? ret : npu_bo_prep(m->out, NEVER_NS);
}

static int run(struct rp_npu *npu, const uint64_t *entry, const struct rp_span *task,
	       unsigned int tasks)
{
	struct rp_machine *m = (struct rp_machine *)npu;
	int64_t begin = now();
	int ret;

	model_forget(&m->model);
	m->hang.count = 0;

	/* Where drivers start each task, none names the next. */
	if (task->meet && (m->vendor || !(npu_features(m->dev) & DRM_ROCKET_FEATURE_BATCHED)))
		return -EOPNOTSUPP;
	/* And the one behind, which is fetched with an odd last one. */
	memcpy(m->entry, entry,
	       (task[tasks - 1].first + task[tasks - 1].count + 1) * sizeof(*entry));
	if (!m->vendor)
		chain(m, task, tasks);
	ret = to_outcome(run_job(m, task, tasks));
	if (!ret && !m->tells_errors && now() - begin > HUNG_NS &&
	    (task[tasks - 1].dpu_done || untouched(npu->out)))
		ret = -ETIMEDOUT;
	if (ret == -ETIMEDOUT && model_news(&m->model, 0) >= 0)
		model_read(&m->model, (unsigned int)model_news(&m->model, 0), &m->hang);
	return ret;
}

static const char *refusal(struct rp_npu *npu)
{
	struct rp_machine *m = (struct rp_machine *)npu;

	return m->hang.count ? m->hang.text : NULL;
}

/* Before the core falls asleep, which takes longer than this. */
static int read_register(struct rp_npu *npu, const char *name, uint32_t *value)
{
	FILE *f = fopen("/sys/kernel/debug/rknpu/registers", "re");
	char line[80], is[64];
	unsigned int core;
	int ret = -ENODATA;

	(void)npu;
	if (!f)
		return -errno;
	while (ret && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "core%u.%63s %x", &core, is, value) == 3 && !core &&
		    !strcmp(is, name))
			ret = 0;
	}
	fclose(f);
	return ret;
}

static int alloc(struct rp_machine *m, size_t size, struct npu_bo **bo, void **map)
{
	int ret = npu_bo_alloc(m->dev, size, bo);

	if (ret)
		return ret;
	*map = npu_bo_map(*bo);
	return *map ? 0 : -errno;
}

/*
 * The result ends at the end of its BO, or nearly: what reaches beyond faults instead of
 * being overlooked.
 */
int rp_machine_open(struct rp_machine *m, const char *node)
{
	void *in, *out, *prog;
	int ret;

	memset(m, 0, sizeof(*m));
	m->version.size = sizeof(m->version);
	ret = npu_open(node, &m->dev);
	if (!ret)
		ret = npu_version(m->dev, &m->version);
	if (!ret)
		ret = alloc(m, RP_MEM + SLACK, &m->in, &in);
	if (!ret)
		ret = alloc(m, RP_MEM, &m->out, &out);
	if (!ret)
		ret = alloc(m, PROG_BYTES, &m->prog, &prog);
	if (ret) {
		rp_machine_close(m);
		return ret;
	}
	m->vendor = !strcmp(m->version.name, "rknpu");
	m->tells_errors = m->vendor || npu_features(m->dev) & DRM_ROCKET_FEATURE_SUBMIT_EXT;
	m->entry = prog;
	m->npu = (struct rp_npu){
		.soc = (uint32_t)npu_soc(m->dev), .in = in, .out = out, .in_iova = (uint32_t)m->in->iova,
		.out_iova = (uint32_t)m->out->iova, .run = run,
		.refusal = refusal, .reg = read_register,
	};
	m->no_model = model_open(&m->model);
	return 0;
}

void rp_machine_close(struct rp_machine *m)
{
	npu_bo_free(m->in);
	npu_bo_free(m->out);
	npu_bo_free(m->prog);
	model_close(&m->model);
	if (m->dev)
		npu_close(m->dev);
}
