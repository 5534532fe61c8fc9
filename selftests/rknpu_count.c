// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts what jobs cost: registers, interrupts and attaches from the model,
 * instructions from the CPU's own counter (meaningful under QEMU's -icount).
 * Prints lines "count MEASURE UNIT VALUE"; uses mainline's ABI only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rknpu_util.h"

#define MAX_JOBS	1000
#define MAX_TASKS	4

static int jobs_per_batch = MAX_JOBS;

static const struct {
	enum npu_ctl_counter counter;
	const char *name;
	const char *unit;
} measures[] = {
	{ NPU_CNT_MMIO_READ, "NPU register reads", "reads" },
	{ NPU_CNT_MMIO_WRITE, "NPU register writes", "writes" },
	{ NPU_CNT_MMU_READ, "IOMMU register reads", "reads" },
	{ NPU_CNT_MMU_WRITE, "IOMMU register writes", "writes" },
	{ NPU_CNT_IRQ, "interrupts", "irqs" },
	{ NPU_CNT_MMU_ATTACH, "IOMMU attaches", "attaches" },
	{ NPU_CNT_MMU_ZAP_ALL, "IOMMU TLB flushes", "zaps" },
	{ NPU_CNT_POWER_ON, "power-ups", "power-ups" },
	{ NPU_CNT_RESET, "resets", "resets" },
};

#define NMEASURES (sizeof(measures) / sizeof(measures[0]))

/* ---- instructions of every CPU, kernel and idle loop included ---- */

static int perf_fd[8];
static int perf_cpus;

static void perf_init(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
	};
	int cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (cpus > 8)
		cpus = 8;
	for (int i = 0; i < cpus; i++) {
		perf_fd[i] = syscall(SYS_perf_event_open, &attr, -1, i, -1, 0);
		if (perf_fd[i] < 0) {
			fprintf(stderr, "# no instruction counter: %s\n", strerror(errno));
			perf_cpus = 0;
			return;
		}
		perf_cpus = i + 1;
	}
}

static double instructions(void)
{
	double sum = 0;

	for (int i = 0; i < perf_cpus; i++) {
		uint64_t v = 0;

		if (read(perf_fd[i], &v, sizeof(v)) == sizeof(v))
			sum += v;
	}
	return sum;
}

/* ---- batches ---- */

struct sample {
	uint64_t model[NMEASURES];
	double gap_ns, gaps, instructions;
};

static void take(struct sample *s)
{
	for (size_t i = 0; i < NMEASURES; i++)
		s->model[i] = rk_count_all(measures[i].counter);
	s->gap_ns = rk_count_all(NPU_CNT_GAP_NS);
	s->gaps = rk_count_all(NPU_CNT_GAPS);
	s->instructions = instructions();
}

static void print_one(const char *batch, const char *name, const char *unit, double value)
{
	printf("count\t%s: %s\t%s\t%.3f\n", batch, name, unit, value);
}

static void print_difference(const char *batch, const struct sample *a, const struct sample *b,
			     int jobs)
{
	char unit[64];

	for (size_t i = 0; i < NMEASURES; i++) {
		snprintf(unit, sizeof(unit), "%s/job", measures[i].unit);
		print_one(batch, measures[i].name, unit,
			  (double)(b->model[i] - a->model[i]) / jobs);
	}
	if (perf_cpus)
		print_one(batch, "guest instructions", "insns/job",
			  (b->instructions - a->instructions) / jobs);
	if (b->gaps > a->gaps)
		print_one(batch, "idle gap between tasks", "ns/task",
			  (b->gap_ns - a->gap_ns) / (b->gaps - a->gaps));
}

/* One SUBMIT of many jobs that write one buffer, so they follow one another. */
static int batch(struct rk_client *c, uint32_t ntasks)
{
	static struct drm_rocket_job jobs[MAX_JOBS];
	struct drm_rocket_task t[MAX_TASKS];
	int ret = 0;

	for (uint32_t i = 0; i < ntasks && !ret; i++)
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t[i]);
	for (int i = 0; i < jobs_per_batch; i++)
		rk_job(&jobs[i], t, ntasks, &c->in.handle, 1, &c->out.handle, 1);
	if (!ret)
		ret = rk_submit(c->fd, jobs, jobs_per_batch);
	if (!ret)
		ret = rk_prep(&c->out, 60000);
	return ret;
}

/* Submit, wait, submit: what a caller that needs each result pays. */
static int one_by_one(struct rk_client *c)
{
	struct drm_rocket_task t;
	int ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t);

	for (int i = 0; i < jobs_per_batch && !ret; i++) {
		ret = rk_submit_task(c->fd, &t, &c->in, &c->out);
		if (!ret)
			ret = rk_prep(&c->out, 10000);
	}
	return ret;
}

static int measure(struct rk_client *c, const char *name, uint32_t ntasks)
{
	struct sample before, after;
	int ret;

	ret = rk_client_run(c, 3);
	if (ret)
		return ret;
	take(&before);
	ret = ntasks ? batch(c, ntasks) : one_by_one(c);
	take(&after);
	if (!ret && rk_bo_differs(&c->out, 4, RK_BYTES))
		ret = -EILSEQ;
	if (!ret)
		print_difference(name, &before, &after, jobs_per_batch);
	return ret;
}

int main(int argc, char **argv)
{
	struct rk_client c;
	int ret;

	if (argc > 1)
		jobs_per_batch = atoi(argv[1]);
	if (jobs_per_batch < 1 || jobs_per_batch > MAX_JOBS) {
		fprintf(stderr, "usage: rknpu_count [JOBS (1..%d)]\n", MAX_JOBS);
		return 2;
	}
	if (!rk_model()) {
		fprintf(stderr, "rknpu_count: needs the NPU model\n");
		return 4;
	}
	perf_init();
	ret = rk_client_init(&c);
	if (!ret)
		ret = measure(&c, "1-task jobs, queued", 1);
	if (!ret)
		ret = measure(&c, "4-task jobs, queued", 4);
	if (!ret)
		ret = measure(&c, "1-task jobs, one by one", 0);
	if (ret)
		fprintf(stderr, "rknpu_count: %s\n", strerror(-ret));
	return !!ret;
}
