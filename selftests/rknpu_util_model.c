// SPDX-License-Identifier: GPL-2.0-only
/* The model: its counters, its trace, and the faults that it has on demand. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rknpu_util.h"

static volatile uint32_t *ctl;

static bool node_is_model(const char *path)
{
	char name[600], buf[64] = "";
	int fd;
	ssize_t n;

	snprintf(name, sizeof(name), "%s/compatible", path);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	return n > 0 && !strcmp(buf, "rknpu-accel,model-control");
}

/*
 * The window must never be touched on silicon, where it may hang the bus, so
 * the device tree has to name it first.
 */
static bool in_device_tree(void)
{
	glob_t g = { 0 };
	bool found = false;

	glob("/proc/device-tree/*", GLOB_ONLYDIR, NULL, &g);
	glob("/proc/device-tree/*/*", GLOB_ONLYDIR | GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc && !found; i++)
		found = node_is_model(g.gl_pathv[i]);
	globfree(&g);
	return found;
}

static void map_ctl(void)
{
	int fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	void *p;

	if (fd < 0)
		return;
	p = mmap(NULL, NPU_CTL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, NPU_CTL_BASE);
	close(fd);
	if (p == MAP_FAILED)
		return;
	ctl = p;
	if (ctl[NPU_CTL_MAGIC / 4] != NPU_CTL_MAGIC_VALUE)
		ctl = NULL;
}

bool rk_model(void)
{
	static bool looked;

	/* RKNPU_NO_MODEL: behave as on a board. */
	if (!looked && !getenv("RKNPU_NO_MODEL") && in_device_tree())
		map_ctl();
	looked = true;
	return ctl;
}

uint32_t rk_ctl_read(uint32_t off)
{
	return rk_model() ? ctl[off / 4] : 0;
}

void rk_ctl_write(uint32_t off, uint32_t value)
{
	if (rk_model())
		ctl[off / 4] = value;
}

uint64_t rk_ctl_read64(uint32_t off)
{
	uint64_t lo = rk_ctl_read(off);

	return lo | (uint64_t)rk_ctl_read(off + 4) << 32;
}

uint64_t rk_count(unsigned int core, enum npu_ctl_counter c)
{
	return rk_ctl_read64(NPU_CTL_CORE(core) + 8 * c);
}

uint64_t rk_count_all(enum npu_ctl_counter c)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < RK_CORES; i++)
		sum += rk_count(i, c);
	return sum;
}

static uint64_t scrubs(unsigned int core)
{
	long long n = rk_core_stat(core, "scrubs");

	return n < 0 ? 0 : n;
}

uint64_t rk_count_jobs(unsigned int core, enum npu_ctl_counter c)
{
	return rk_count(core, c) - scrubs(core);
}

uint64_t rk_count_all_jobs(enum npu_ctl_counter c)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < RK_CORES; i++)
		sum += rk_count_jobs(i, c);
	return sum;
}

void rk_latency_us(uint32_t us)
{
	uint64_t ns = us * 1000ull;

	/* It would take as long as the task that is meant. */
	if (us)
		rk_scrub(false);
	rk_ctl_write(NPU_CTL_LATENCY_NS, ns < UINT32_MAX ? ns : UINT32_MAX);
}

void rk_fault_arm_param(uint32_t core, uint32_t kind, uint32_t skip, uint32_t count,
			uint32_t param)
{
	/* It would have the fault in place of the task that is meant. */
	rk_scrub(false);
	rk_ctl_write(NPU_CTL_FAULT_CORE, core);
	rk_ctl_write(NPU_CTL_FAULT_SKIP, skip);
	rk_ctl_write(NPU_CTL_FAULT_COUNT, count);
	rk_ctl_write(NPU_CTL_FAULT_PARAM, param);
	rk_ctl_write(NPU_CTL_FAULT_ARM, kind);
}

void rk_fault_arm(uint32_t core, uint32_t kind, uint32_t skip, uint32_t count)
{
	rk_fault_arm_param(core, kind, skip, count, 0);
}

uint32_t rk_fault_fired(void)
{
	return rk_ctl_read(NPU_CTL_FAULT_FIRED);
}

void rk_trace_start(void)
{
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_TRACE_START);
}

/* Of entry @i; false if it is none. The driver also writes a 1 there before each program. */
static bool is_start(uint32_t i, struct rk_start *s)
{
	uint32_t info;

	rk_ctl_write(NPU_CTL_TRACE_INDEX, i);
	info = rk_ctl_read(NPU_CTL_TRACE_INFO);
	s->core = NPU_CTL_TRACE_CORE(info);
	s->regcmd = rk_ctl_read(NPU_CTL_TRACE_VALUE);
	return NPU_CTL_TRACE_UNIT(info) == NPU_CTL_UNIT_CORE && info & NPU_CTL_TRACE_WRITE &&
	       (rk_ctl_read(NPU_CTL_TRACE_ADDR) & 0xffff) == PC_BASE_ADDRESS && s->regcmd != 1;
}

int rk_trace_starts(struct rk_start *s, unsigned int max)
{
	unsigned int n = 0;
	uint32_t entries;

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_TRACE_STOP);
	entries = rk_ctl_read(NPU_CTL_TRACE_COUNT);
	for (uint32_t i = 0; i < entries && n < max; i++)
		n += is_start(i, &s[n]);
	return rk_ctl_read(NPU_CTL_TRACE_DROPPED) ? -1 : n;
}

bool rk_trace_last(uint32_t offset, uint32_t *value)
{
	uint32_t entries;
	bool found = false;

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_TRACE_STOP);
	entries = rk_ctl_read(NPU_CTL_TRACE_COUNT);
	for (uint32_t i = 0; i < entries; i++) {
		uint32_t info;

		rk_ctl_write(NPU_CTL_TRACE_INDEX, i);
		info = rk_ctl_read(NPU_CTL_TRACE_INFO);
		if (NPU_CTL_TRACE_UNIT(info) != NPU_CTL_UNIT_CORE ||
		    !(info & NPU_CTL_TRACE_WRITE) ||
		    (rk_ctl_read(NPU_CTL_TRACE_ADDR) & 0xffff) != offset)
			continue;
		*value = rk_ctl_read(NPU_CTL_TRACE_VALUE);
		found = true;
	}
	return found;
}

void rk_model_calm(void)
{
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
	rk_ctl_write(NPU_CTL_FLIP, 0);
	rk_latency_us(0);
	rk_task_timeout_ms(RK_TASK_TIMEOUT_MS);
	rk_scrub(true);
	/* Tests are one user, and many are about failures, or keep a core busy by a task. */
	rk_module_param("max_hangs", 0);
	rk_module_param("max_timeout_ms", 10000);
}

bool rk_wait_count(unsigned int core, enum npu_ctl_counter c, uint64_t value, unsigned int ms)
{
	int64_t end = rk_now() + (int64_t)ms * rk_slow() * RK_MS;

	while (rk_count(core, c) != value) {
		if (rk_now() > end)
			return false;
		rk_sleep_ms(1);
	}
	return true;
}

/* Of NPU and IOMMU, which goes last; without power domains nothing else tells. */
static bool all_suspended(void)
{
	glob_t g = { 0 };
	bool all = true;

	glob("/sys/bus/platform/devices/*.npu/power/runtime_status", 0, NULL, &g);
	glob("/sys/bus/platform/drivers/rk_iommu/*.iommu/power/runtime_status", GLOB_APPEND, NULL,
	     &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		FILE *f = fopen(g.gl_pathv[i], "re");
		char status[16] = "";

		all = all && f && fgets(status, sizeof(status), f) && !strcmp(status, "suspended\n");
		if (f)
			fclose(f);
	}
	all = all && g.gl_pathc;
	globfree(&g);
	return all;
}

static bool all_off(void)
{
	unsigned int on = 0;

	for (unsigned int i = 0; i < RK_CORES; i++)
		on += rk_count(i, NPU_CNT_POWERED);
	return !on;
}

bool rk_wait_asleep(unsigned int ms)
{
	int64_t again = rk_now() + 1000 * rk_slow() * RK_MS;
	int64_t end = rk_now() + (int64_t)ms * rk_slow() * RK_MS;

	while (!(rk_power_domains() ? all_off() : all_suspended())) {
		if (rk_now() > end)
			return false;
		/*
		 * The kernel may leave a domain on that has others in it if the last devices of
		 * both go to sleep at once (7.3, one of some 400 times): genpd_power_off() takes
		 * one for awake that is about to be asleep.
		 */
		if (rk_now() > again && all_suspended()) {
			rk_stay_awake(true);
			rk_stay_awake(false);
			again = rk_now() + 1000 * rk_slow() * RK_MS;
		}
		rk_sleep_ms(5);
	}
	return true;
}

/* ---- tasks that hang ---- */

/* Hangs of each core that are no news. */
static uint32_t hangs_seen[RK_CORES];

static uint32_t hangs(unsigned int core)
{
	return rk_ctl_read(NPU_CTL_HANG(core) + NPU_CTL_HANG_COUNT);
}

void rk_forget_hangs(void)
{
	for (unsigned int i = 0; i < RK_CORES && rk_model(); i++)
		hangs_seen[i] = hangs(i);
}

bool rk_hang_reason(unsigned int core, char *text, size_t size)
{
	size_t i;

	if (!rk_model() || !hangs(core))
		return false;
	for (i = 0; i + 1 < size && i < NPU_CTL_HANG_TEXT_SIZE; i++) {
		uint32_t word = rk_ctl_read(NPU_CTL_HANG(core) + NPU_CTL_HANG_TEXT + (i & ~3ul));

		text[i] = (char)(word >> i % 4 * 8);
	}
	text[i] = '\0';
	return true;
}

void rk_tell_hangs(void)
{
	char text[NPU_CTL_HANG_TEXT_SIZE];

	for (unsigned int i = 0; i < RK_CORES && rk_model(); i++) {
		if (hangs(i) != hangs_seen[i] && rk_hang_reason(i, text, sizeof(text)))
			printf("# core %u: %s: %s\n", i,
			       rk_ctl_read(NPU_CTL_HANG(i) + NPU_CTL_HANG_KIND) ==
			       NPU_CTL_HANG_REFUSED ? "the model cannot run this task"
						    : "this task hangs on silicon, too", text);
	}
	rk_forget_hangs();
}

/* In the driver: if that many never come from the first one on, the core is polled. */
#define LOST_IRQS	3

int rk_poll_core(unsigned int core)
{
	struct rk_trial t;
	int ret;

	if (rk_polled())
		return 0;
	ret = rk_rebind(core);
	if (ret)
		return ret;
	ret = rk_trial_init(&t, core, 100 * rk_slow());
	t.job.task_count = 1;
	rk_fault_arm(core, NPU_FAULT_IRQ_LOST, 0, 0);
	for (int i = 0; i < LOST_IRQS && !ret; i++)
		ret = rk_trial_run(&t);
	rk_model_calm();
	rk_trial_fini(&t);
	return ret;
}
