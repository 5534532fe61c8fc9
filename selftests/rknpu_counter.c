// SPDX-License-Identifier: GPL-2.0-only
/* Owns samples of the model's counters and of the CPU's instructions. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rknpu_counter.h"

static const struct {
	enum npu_ctl_counter counter;
	const char *name;
	const char *unit;
} measures[RK_COUNTS] = {
	{ NPU_CNT_MMIO_READ, "NPU register reads", "reads" },
	{ NPU_CNT_MMIO_WRITE, "NPU register writes", "writes" },
	{ NPU_CNT_MMU_READ, "IOMMU register reads", "reads" },
	{ NPU_CNT_MMU_WRITE, "IOMMU register writes", "writes" },
	{ NPU_CNT_IRQ, "interrupts", "irqs" },
	{ NPU_CNT_MMU_ATTACH, "IOMMU attaches", "attaches" },
	{ NPU_CNT_MMU_ZAP_ALL, "IOMMU TLB flushes", "zaps" },
	{ NPU_CNT_MMU_ZAP_LINE, "IOMMU TLB lines flushed", "lines" },
	{ NPU_CNT_POWER_ON, "power-ups", "power-ups" },
	{ NPU_CNT_RESET, "resets", "resets" },
};

static int perf_fd[8];
static int perf_cpus;

void rk_counts_init(void)
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

bool rk_counts_instructions(void)
{
	return perf_cpus > 0;
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

void rk_counts_take(struct rk_counts *c)
{
	for (size_t i = 0; i < RK_COUNTS; i++)
		c->model[i] = rk_count_all(measures[i].counter);
	c->lines = rk_ctl_read64(NPU_CTL_CACHE_LINES_LO);
	c->gap_ns = rk_count_all(NPU_CNT_GAP_NS);
	c->gaps = rk_count_all(NPU_CNT_GAPS);
	c->instructions = instructions();
}

double rk_counts_of(const struct rk_counts *c, enum npu_ctl_counter counter)
{
	for (size_t i = 0; i < RK_COUNTS; i++) {
		if (measures[i].counter == counter)
			return c->model[i];
	}
	return 0;
}

double rk_counts_accesses(const struct rk_counts *c)
{
	return rk_counts_of(c, NPU_CNT_MMIO_READ) + rk_counts_of(c, NPU_CNT_MMIO_WRITE) +
	       rk_counts_of(c, NPU_CNT_MMU_READ) + rk_counts_of(c, NPU_CNT_MMU_WRITE);
}

void rk_total_add(struct rk_total *t, const struct rk_counts *before, const struct rk_counts *after,
		  int n)
{
	double insns = (after->instructions - before->instructions) / n;
	double gaps = after->gaps - before->gaps;
	double gap = gaps > 0 ? (after->gap_ns - before->gap_ns) / gaps : 0;

	for (size_t i = 0; i < RK_COUNTS; i++)
		t->model[i] += after->model[i] - before->model[i];
	t->lines += after->lines - before->lines;
	if (!t->instructions || insns < t->instructions)
		t->instructions = insns;
	if (!t->gap_ns || gap < t->gap_ns) {
		t->gap_ns = gap;
		t->idle_ns = (after->gap_ns - before->gap_ns) / n;
	}
}

void rk_count_print(const char *batch, const char *name, const char *unit, double value)
{
	printf("count\t%s: %s\t%s\t%.3f\n", batch, name, unit, value);
}

void rk_total_print(const char *batch, const char *per, const struct rk_total *t, int n, int tasks)
{
	char unit[64];

	for (size_t i = 0; i < RK_COUNTS; i++) {
		snprintf(unit, sizeof(unit), "%s/%s", measures[i].unit, per);
		rk_count_print(batch, measures[i].name, unit, (double)t->model[i] / n);
	}
	snprintf(unit, sizeof(unit), "lines/%s", per);
	rk_count_print(batch, "cache lines cleaned or invalidated", unit, (double)t->lines / n);
	snprintf(unit, sizeof(unit), "insns/%s", per);
	if (perf_cpus)
		rk_count_print(batch, "guest instructions", unit, t->instructions);
	if (tasks > 1) {
		rk_count_print(batch, "NPU register writes per task", "writes/task",
			       (double)t->model[1] / n / tasks);
		rk_count_print(batch, "interrupts per task", "irqs/task",
			       (double)t->model[4] / n / tasks);
		if (perf_cpus)
			rk_count_print(batch, "guest instructions per task", "insns/task",
				       t->instructions / tasks);
	}
	if (!t->gap_ns)
		return;
	rk_count_print(batch, "idle gap between kicks", "ns/gap", t->gap_ns);
	snprintf(unit, sizeof(unit), "ns/%s", per);
	rk_count_print(batch, "idle time of cores", unit, t->idle_ns);
}
