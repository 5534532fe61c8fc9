// SPDX-License-Identifier: MIT
/*
 * Replaces npu_dev.c and npu_submit.c: buffers live in the model's memory and jobs are executed at
 * submission, program by program, by the model's arithmetic.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xf86drm.h>

#include "drm/rocket_accel.h"
#include "tensor/npu_compute.h"
#include "dev/npu_struct.h"
#include "dev/npu_vendor.h"
#include "sim.h"
#include "sim_model.h"

#define MAX_BOS		16384
#define PAGE		4096u
#define RESULTS		64u
#define MOST_JOBS	64u

/* Memory, which several address spaces may have. */
struct memory {
	uint8_t *at;
	size_t size;
	unsigned int refs;
	int err;			/* of the last job that wrote it */
	struct memory *next;		/* in the model's memory */
};

/* What a handle stands for, in one address space. */
struct slot {
	struct memory *mem;
	uint64_t iova;
};

/* An address space: the one of npu_open(), or another one. */
struct npu_dev {
	int fd;
	struct slot bo[MAX_BOS];
	int slots;			/* that were ever in use */
	uint64_t next_iova;
	uint64_t bytes;
	struct npu_stats stats;
	struct npu_spaces spaces;
	struct npu_kept_bo *bos;
	uint64_t jobs;
	struct drm_rocket_wait_job result[RESULTS];	/* of the newest jobs */
};

/* Above those of the process. */
#define FIRST_FD	1000
#define MAX_DEVS	32

static struct npu_dev *devs[MAX_DEVS];
static uint64_t most_bytes;
/* Memory behind the dma-bufs that are open, by their fd. */
static struct memory *exported[64];

unsigned int sim_submits;
uint32_t sim_core_mask, sim_core_masks;
unsigned int sim_jobs, sim_tasks, sim_starts, sim_shared_outputs, sim_depth;
static uint64_t features;
static const struct npu_chip *chip = &npu_rk3588;
static int hang_task = -1;
static int fail_index = -1, fail_err, busy_times, live_bos;

static bool unplugged;
static int wait_err;

void sim_refuse_wait(int err)
{
	wait_err = err;
}

static int refuse_index = -1, refuse_times, refuse_err;
static bool rerun;

void sim_rerun(void)
{
	rerun = true;
}

void sim_refuse_submits(int index, int times, int err)
{
	refuse_index = index;
	refuse_times = times;
	refuse_err = err;
}

void sim_refuse_submit(int index, int err)
{
	sim_refuse_submits(index, 1, err);
}

/* As our driver's, unless a test says otherwise; but for results, of which it keeps fewer. */
static uint64_t limits[] = {
	[DRM_ROCKET_PARAM_CORE_COUNT] = 3,
	[DRM_ROCKET_PARAM_MIN_TIMEOUT_NS] = 1000000,
	[DRM_ROCKET_PARAM_MAX_TIMEOUT_NS] = 10000000000,
	[DRM_ROCKET_PARAM_MAX_JOBS] = 1024,
	[DRM_ROCKET_PARAM_MAX_TASKS] = 65536,
	[DRM_ROCKET_PARAM_MAX_JOB_HANDLES] = 4096,
	[DRM_ROCKET_PARAM_MAX_SUBMIT_HANDLES] = 65536,
	[DRM_ROCKET_PARAM_RESULT_COUNT] = RESULTS,
};

void sim_limit(uint32_t param, uint64_t value)
{
	limits[param] = value;
}

void sim_unplug(bool gone)
{
	unplugged = gone;
}

void sim_fail_job(int index, int err)
{
	fail_index = index;
	fail_err = err;
}

void sim_features(uint64_t f)
{
	features = f;
}

void sim_soc(uint32_t soc)
{
	chip = npu_chip_of_soc(soc);
	if (!chip)
		abort();
}

void sim_hang_task(int index)
{
	hang_task = index;
}

void sim_stay_busy(int times)
{
	busy_times = times;
}

int sim_bos(void)
{
	return live_bos;
}

void sim_space_bytes(uint64_t bytes)
{
	most_bytes = bytes;
}

static struct npu_dev *new_space(void)
{
	struct npu_dev *dev = calloc(1, sizeof(*dev));

	dev->next_iova = PAGE;
	for (int i = 0; i < MAX_DEVS; i++) {
		if (devs[i])
			continue;
		dev->fd = FIRST_FD + i;
		devs[i] = dev;
		return dev;
	}
	abort();
}

static void free_space(struct npu_dev *dev)
{
	devs[dev->fd - FIRST_FD] = NULL;
	free(dev);
}

int npu_open(const char *path, struct npu_dev **out)
{
	(void)path;
	*out = new_space();
	(*out)->spaces.dev[0] = *out;
	(*out)->spaces.n = 1;
	return 0;
}

int npu_dev_open_space(struct npu_dev *dev, uint32_t number, struct npu_dev **out)
{
	(void)dev;
	(void)number;
	*out = new_space();
	return 0;
}

void npu_close(struct npu_dev *dev)
{
	for (uint32_t i = 1; i < dev->spaces.n; i++)
		free_space(dev->spaces.dev[i]);
	free_space(dev);
}

struct npu_spaces *npu_dev_spaces(struct npu_dev *dev)
{
	return &dev->spaces;
}

struct npu_kept_bo **npu_dev_bos(struct npu_dev *dev)
{
	return &dev->bos;
}

uint32_t npu_dev_domain(const struct npu_dev *dev)
{
	(void)dev;
	return 0;
}

const struct npu_chip *npu_dev_chip(const struct npu_dev *dev)
{
	(void)dev;
	return chip;
}

/* By default it knows no more than mainline's driver. */
uint64_t npu_dev_features(const struct npu_dev *dev)
{
	(void)dev;
	return features;
}

bool npu_can_batch(const struct npu_dev *dev)
{
	return npu_dev_features(dev) & DRM_ROCKET_FEATURE_BATCHED;
}

struct npu_stats *npu_dev_stats(struct npu_dev *dev)
{
	return &dev->stats;
}

bool npu_is_vendor(const struct npu_dev *dev)
{
	(void)dev;
	return false;
}

static int wait_job(struct npu_dev *dev, struct drm_rocket_wait_job *w)
{
	if (wait_err)
		return wait_err;
	if (busy_times > 0) {
		busy_times--;
		/* Also after a deadline that has passed. */
		return -EBUSY;
	}
	if (!w->job || dev->result[w->job % RESULTS].job != w->job)
		return -ENOENT;
	*w = dev->result[w->job % RESULTS];
	return 0;
}

/* The last submission, if it is to run late. */
static struct {
	struct npu_dev *dev;
	const struct npu_hwjob *jobs;
	const struct npu_job_opts *opts;
	uint32_t njobs;
} pending;
static bool run_late;

static void execute(struct npu_dev *dev, const struct npu_hwjob *jobs,
		    const struct npu_job_opts *opts, uint32_t njobs);

static void run_pending(void)
{
	if (pending.dev)
		execute(pending.dev, pending.jobs, pending.opts, pending.njobs);
	pending.dev = NULL;
}

void sim_late(bool late)
{
	run_pending();
	run_late = late;
}

static bool has_memory(struct npu_bo *const *bo, uint32_t n, const struct memory *mem)
{
	for (uint32_t i = 0; i < n; i++)
		if (bo[i]->dev->bo[bo[i]->handle].mem == mem)
			return true;
	return false;
}

static void run_users(const struct memory *mem)
{
	bool readers = features & DRM_ROCKET_FEATURE_SUBMIT_EXT;

	for (uint32_t i = 0; pending.dev && i < pending.njobs; i++)
		if (has_memory(pending.jobs[i].out, pending.jobs[i].nout, mem) ||
		    (readers && has_memory(pending.jobs[i].in, pending.jobs[i].nin, mem)))
			run_pending();
}

static int prep(const struct slot *s, int64_t deadline)
{
	if (unplugged)
		return -ENODEV;
	if (deadline)
		run_users(s->mem);
	if (busy_times > 0) {
		busy_times--;
		return deadline ? -ETIMEDOUT : -EBUSY;
	}
	return s->mem->err;
}

static int get_info(const struct npu_dev *dev, struct drm_rocket_bo_info *info)
{
	const struct slot *s = &dev->bo[info->handle];

	info->dma_address = s->iova;
	info->size = s->mem->size;
	return 0;
}

static int get_param(struct drm_rocket_get_param *p)
{
	if (p->param >= ARRAY_SIZE(limits) || !limits[p->param])
		return -EINVAL;
	p->value = limits[p->param];
	return 0;
}

static uint64_t handed;

uint64_t sim_handed(void)
{
	return handed;
}

static void count_handed(const struct drm_rocket_fini_bo_ranges *f)
{
	const struct drm_rocket_bo_range *r = (const void *)(uintptr_t)f->ranges;

	for (uint32_t i = 0; i < f->range_count; i++)
		handed += r[i].size;
}

static int answer(struct npu_dev *dev, unsigned long req, void *arg)
{
	struct drm_rocket_prep_bo_ranges *ranges = arg;

	if (unplugged)
		return -ENODEV;
	switch (req) {
	case DRM_IOCTL_ROCKET_GET_PARAM:
		return get_param(arg);
	case DRM_IOCTL_ROCKET_WAIT_JOB:
		return wait_job(dev, arg);
	case DRM_IOCTL_ROCKET_PREP_BO_RANGES:
		return prep(&dev->bo[ranges->handle], ranges->timeout_ns);
	case DRM_IOCTL_ROCKET_FINI_BO_RANGES:
		count_handed(arg);
		return 0;
	case DRM_IOCTL_ROCKET_GET_BO_INFO:
		return get_info(dev, arg);
	default:
		return -ENOTTY;
	}
}

/* In libdrm's place. */
int drmIoctl(int fd, unsigned long req, void *arg)
{
	int ret = answer(devs[fd - FIRST_FD], req, arg);

	if (!ret)
		return 0;
	errno = -ret;
	return -1;
}

int npu_fd(const struct npu_dev *dev)
{
	return dev->fd;
}

const char *npu_path(const struct npu_dev *dev)
{
	(void)dev;
	return "simulator";
}

int npu_version(const struct npu_dev *dev, struct npu_version *v)
{
	const struct npu_version none = { .size = sizeof(none) };

	(void)dev;
	return NPU_FILL(v, desc, &none);
}

int64_t npu_deadline(int64_t timeout_ns)
{
	return timeout_ns;
}

static size_t pages(size_t size)
{
	return (size + PAGE - 1) / PAGE * PAGE;
}

/* What is in use of the model's memory, by address. */
static struct memory *placed;

/* Zeroed, in the first gap of the model's memory; false if none is large enough. */
static bool new_memory(struct npu_dev *dev, struct memory *new)
{
	struct memory **place = &placed;
	uint32_t base, limit;
	uint8_t *start, *from;

	start = from = sim_model_memory(&base, &limit);
	while (*place && (size_t)((*place)->at - from) < new->size) {
		from = (*place)->at + pages((*place)->size);
		place = &(*place)->next;
	}
	if ((size_t)(from - start) + pages(new->size) > limit)
		return false;
	new->at = memset(from, 0, new->size);
	new->next = *place;
	*place = new;
	/* Spaces have no addresses in common. */
	dev->next_iova = base + (uint64_t)(from - start);
	return true;
}

static void free_memory(struct memory *mem)
{
	struct memory **place = &placed;

	while (*place != mem)
		place = &(*place)->next;
	*place = mem->next;
}

/* The handle, or -ENOMEM. The model has no address spaces: what is shared keeps its address. */
static int add_slot(struct npu_dev *dev, struct memory *mem, uint64_t model_iova)
{
	for (int i = 0; i < MAX_BOS; i++) {
		if (dev->bo[i].mem)
			continue;
		dev->bo[i] = (struct slot){ mem, model_iova ? model_iova : dev->next_iova };
		if (!model_iova)
			dev->next_iova += (mem->size + PAGE - 1) / PAGE * PAGE;
		if (i >= dev->slots)
			dev->slots = i + 1;
		dev->bytes += mem->size;
		mem->refs++;
		live_bos++;
		return i;
	}
	return -ENOMEM;
}

static uint64_t iova_of(const struct memory *mem)
{
	for (int d = 0; d < MAX_DEVS; d++)
		for (int i = 0; devs[d] && i < devs[d]->slots; i++)
			if (devs[d]->bo[i].mem == mem)
				return devs[d]->bo[i].iova;
	return 0;
}

int npu_bo_alloc(struct npu_dev *dev, size_t size, struct npu_bo **out)
{
	struct memory *mem;
	struct npu_bo *bo;

	if (most_bytes && dev->bytes + size > most_bytes)
		return -ENOSPC;
	mem = calloc(1, sizeof(*mem));
	mem->size = size;
	if (!new_memory(dev, mem)) {
		free(mem);
		return -ENOMEM;
	}
	bo = calloc(1, sizeof(struct npu_kept_bo));
	bo->dev = dev;
	bo->iova = dev->next_iova;
	bo->handle = (uint32_t)add_slot(dev, mem, 0);
	bo->map = mem->at;
	bo->size = size;
	if ((int)bo->handle < 0)
		abort();
	npu_bo_keep(bo);
	*out = bo;
	return 0;
}

static void put_memory(struct memory *mem)
{
	if (--mem->refs)
		return;
	free_memory(mem);
	free(mem);
}

void npu_bo_free(struct npu_bo *bo)
{
	struct slot *s;

	if (!bo || !npu_bo_unref(bo))
		return;
	s = &bo->dev->bo[bo->handle];
	bo->dev->bytes -= s->mem->size;
	put_memory(s->mem);
	s->mem = NULL;
	free(bo);
	live_bos--;
}

void *npu_bo_map(struct npu_bo *bo)
{
	bo->map = bo->dev->bo[bo->handle].mem->at;
	return bo->map;
}

int npu_bo_prep_until(struct npu_bo *bo, int64_t deadline)
{
	return prep(&bo->dev->bo[bo->handle], deadline);
}

/* In libdrm's place. */
int drmPrimeHandleToFD(int fd, uint32_t handle, uint32_t flags, int *prime)
{
	(void)flags;
	*prime = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (*prime < 0 || *prime >= (int)ARRAY_SIZE(exported))
		abort();
	exported[*prime] = devs[fd - FIRST_FD]->bo[handle].mem;
	return 0;
}

int drmPrimeFDToHandle(int fd, int prime, uint32_t *handle)
{
	struct npu_dev *dev = devs[fd - FIRST_FD];
	struct memory *mem = exported[prime];
	int slot = 0;

	/* A file has one handle of a memory. */
	while (slot < dev->slots && dev->bo[slot].mem != mem)
		slot++;
	if (slot == dev->slots)
		slot = add_slot(dev, mem, iova_of(mem));
	*handle = (uint32_t)slot;
	return slot < 0 ? -1 : 0;
}

int npu_bo_prep(struct npu_bo *bo, int64_t timeout_ns)
{
	return npu_bo_prep_until(bo, npu_deadline(timeout_ns));
}

int npu_bo_fini(struct npu_bo *bo)
{
	(void)bo;
	return 0;
}

/* ---- the NPU ---- */

static bool faulted;
/* The address space that the task is in which runs. */
static struct npu_dev *running;

/* The memory there that has all of it, or NULL. An IOMMU maps whole pages. */
static uint8_t *at(uint64_t iova, size_t len)
{
	static int last;

	/* Mostly it is where the one before was. */
	for (int n = 0; n < running->slots; n++) {
		int i = (last + n) % running->slots;
		const struct slot *s = &running->bo[i];

		if (s->mem && iova >= s->iova && iova + len <= s->iova + pages(s->mem->size)) {
			last = i;
			return s->mem->at + (iova - s->iova);
		}
	}
	return NULL;
}

bool sim_is_mapped(uint64_t iova, size_t len)
{
	return at(iova, len);
}

/* Did the last task set no interrupt bit? */
static bool silent;

/* Of an RK3576's CBUF core 0 has the granules below this one. */
#define CORE_1	7168u

/* Does the program fetch to where its core has its features? A driver without masks has core 0. */
static bool is_of_core(uint16_t tgt, uint16_t off, uint32_t value)
{
	if (chip->soc != 3576 || tgt != NPU_TGT_CNA || off != 0x1040)
		return true;
	return (uint16_t)value == (sim_core_mask == 2 ? CORE_1 : 0) && sim_core_mask < 3;
}

/* What the program says comes next; count 0 if nothing does. */
static struct npu_task run_task(struct npu_task t)
{
	const uint64_t *prog = (const void *)at(t.regcmd, t.count * 8);
	struct npu_task next = { 0 };

	sim_tasks++;
	for (uint32_t i = 0; prog && i < t.count; i++) {
		uint16_t tgt = (uint16_t)(prog[i] >> 48), off = (uint16_t)prog[i];

		faulted |= !is_of_core(tgt, off, (uint32_t)(prog[i] >> 16));
		if (tgt == 0x0101 && off == 0x10)
			next.regcmd = (uint32_t)(prog[i] >> 16);
		/* Fetches, less one. */
		if (tgt == 0x0101 && off == 0x14 && next.regcmd)
			next.count = chip->fetch * (((uint32_t)(prog[i] >> 16) & 0xffff) + 1);
		if (tgt == 0x0081) {
			faulted |= !sim_model_run(prog, t.count, chip->encoding);
			silent = chip->silent_pools && prog[i] >> 16 & NPU_EN_PPU;
			return next;
		}
	}
	faulted = true;
	return next;
}

/* Tasks done before something went wrong. */
static uint32_t run_job(const struct npu_hwjob *job, bool chained, int hangs)
{
	struct npu_task t = job->tasks[0];

	for (uint32_t i = 0; i < job->ntasks; i++) {
		if (hangs == (int)i)
			return i;
		if (!chained)
			t = job->tasks[i];
		sim_starts += !chained || !i;
		/* A chain that ends too soon never gets to its end. */
		if (!t.count)
			return i;
		t = run_task(t);
		if (faulted || (!chained && t.count) || (silent && (!chained || i + 1 == job->ntasks)))
			return i;
	}
	/* Nothing stops a chain that goes on. */
	return t.count && chained ? 0 : job->ntasks;
}

static int submit_one(struct npu_dev *dev, const struct npu_hwjob *job, bool chained, uint32_t index,
		      int hangs, bool fails)
{
	uint64_t number = dev->jobs + 1 + index;
	uint32_t tasks;
	int err = 0;

	sim_jobs++;
	faulted = false;
	running = dev;
	tasks = run_job(job, chained, hangs);
	if (tasks < job->ntasks)
		err = faulted ? -EFAULT : -ETIME;
	if (fails)
		err = fail_err;
	dev->result[number % RESULTS] = (struct drm_rocket_wait_job){
		.job = number, .error = err, .core = (int)(1 + index) % 3, .task = tasks,
		.result = rerun ? DRM_ROCKET_RESULT_RERUN : 0,
	};
	rerun = false;
	for (uint32_t o = 0; o < job->nout; o++)
		dev->bo[job->out[o]->handle].mem->err = err;
	return err;
}

static bool lists(struct npu_bo *const *bo, uint32_t n, const struct npu_bo *one)
{
	for (uint32_t i = 0; i < n; i++)
		if (bo[i] == one)
			return true;
	return false;
}

/* As drm_rocket_job says. */
static bool waits_for(const struct npu_hwjob *job, const struct npu_hwjob *before)
{
	for (uint32_t i = 0; i < job->nout; i++)
		if (lists(before->out, before->nout, job->out[i]) ||
		    lists(before->in, before->nin, job->out[i]))
			return true;
	for (uint32_t i = 0; i < job->nin; i++)
		if (lists(before->out, before->nout, job->in[i]))
			return true;
	return false;
}

static void note_depth(const struct npu_hwjob *jobs, uint32_t njobs)
{
	unsigned int depth[MOST_JOBS];

	sim_depth = 0;
	for (uint32_t i = 0; i < njobs && i < MOST_JOBS; i++) {
		depth[i] = 1;
		for (uint32_t k = 0; k < i; k++)
			if (waits_for(&jobs[i], &jobs[k]) && depth[k] >= depth[i])
				depth[i] = depth[k] + 1;
		sim_depth = depth[i] > sim_depth ? depth[i] : sim_depth;
	}
}

/* The last one that need not wait: who relies on more than what jobs list gets wrong results. */
static uint32_t next_job(const struct npu_hwjob *jobs, uint32_t njobs, const bool *done)
{
	for (uint32_t i = njobs - 1;; i--) {
		bool ready = !done[i];

		for (uint32_t k = 0; k < i && ready; k++)
			ready = done[k] || !waits_for(&jobs[i], &jobs[k]);
		if (ready)
			return i;
	}
}

static void forget_faults(const struct npu_hwjob *jobs, uint32_t njobs)
{
	int tasks = 0;

	for (uint32_t i = 0; i < njobs; i++)
		tasks += (int)jobs[i].ntasks;
	hang_task = hang_task >= tasks ? hang_task - tasks : -1;
	fail_index = fail_index >= (int)njobs ? fail_index - (int)njobs : -1;
}

static void execute(struct npu_dev *dev, const struct npu_hwjob *jobs,
		    const struct npu_job_opts *opts, uint32_t njobs)
{
	bool *done = calloc(njobs, sizeof(*done));

	for (uint32_t n = 0; n < njobs; n++) {
		uint32_t i = next_job(jobs, njobs, done);
		int hangs = hang_task;

		for (uint32_t k = 0; k < i; k++) {
			hangs -= (int)jobs[k].ntasks;
			for (uint32_t o = 0; o < jobs[i].nout; o++)
				sim_shared_outputs += jobs[k].out[0] == jobs[i].out[o];
		}
		sim_core_mask = opts ? opts[i].core_mask : 0;
		sim_core_masks |= sim_core_mask;
		submit_one(dev, &jobs[i], opts && opts[i].flags & DRM_ROCKET_JOB_BATCHED, i, hangs,
			   fail_index == (int)i);
		done[i] = true;
	}
	free(done);
	dev->jobs += njobs;
	forget_faults(jobs, njobs);
}

static bool takes(const struct npu_hwjob *jobs, uint32_t njobs)
{
	uint64_t tasks = 0, handles = 0;

	for (uint32_t i = 0; i < njobs; i++) {
		uint64_t listed = (uint64_t)jobs[i].nin + jobs[i].nout;

		if (listed > limits[DRM_ROCKET_PARAM_MAX_JOB_HANDLES])
			return false;
		tasks += jobs[i].ntasks;
		handles += listed;
	}
	return njobs <= limits[DRM_ROCKET_PARAM_MAX_JOBS] && tasks <= limits[DRM_ROCKET_PARAM_MAX_TASKS] &&
	       handles <= limits[DRM_ROCKET_PARAM_MAX_SUBMIT_HANDLES];
}

static bool is_refused(void)
{
	if (refuse_index < 0 || refuse_index--)
		return false;
	refuse_index = --refuse_times ? 0 : -1;
	return true;
}

static int submit(struct npu_dev *dev, const struct npu_hwjob *jobs,
		  const struct npu_job_opts *opts, uint32_t njobs)
{
	if (is_refused())
		return refuse_err;
	if (features & DRM_ROCKET_FEATURE_SUBMIT_EXT && !takes(jobs, njobs))
		return -EINVAL;
	sim_submits++;
	note_depth(jobs, njobs);
	run_pending();
	pending.dev = dev;
	pending.jobs = jobs;
	pending.opts = opts;
	pending.njobs = njobs;
	if (!run_late)
		run_pending();
	return 0;
}

int npu_submit(struct npu_dev *dev, const struct npu_hwjob *jobs, uint32_t njobs)
{
	return submit(dev, jobs, NULL, njobs);
}

int npu_submit_ext(struct npu_dev *dev, const struct npu_hwjob *jobs,
		   const struct npu_job_opts *opts, uint32_t njobs, uint64_t *first)
{
	*first = features & DRM_ROCKET_FEATURE_SUBMIT_EXT ? dev->jobs + 1 : 0;
	return submit(dev, jobs, opts, njobs);
}
