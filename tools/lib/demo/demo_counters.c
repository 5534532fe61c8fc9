// SPDX-License-Identifier: MIT
/*
 * What the NPU cores did, as counted by the model or else by the driver.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "demo_counters.h"
#include "hw/misc/rk3588_npu_ctl_regs.h"

#define MODEL_COMPATIBLE	"rknpu-accel,model-control"

static bool node_is_model(const char *dir)
{
	char path[512], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/compatible", dir);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fread(text, 1, sizeof(text) - 1, f))
		text[0] = '\0';
	fclose(f);
	return !strcmp(text, MODEL_COMPATIBLE);
}

/*
 * On silicon nothing answers at the control device's address and reading it
 * may hang the bus, so the device tree has to name the device first.
 */
static bool model_present(void)
{
	bool found = false;
	glob_t g = { 0 };

	glob("/proc/device-tree/*", GLOB_ONLYDIR, NULL, &g);
	glob("/proc/device-tree/*/*", GLOB_ONLYDIR | GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc && !found; i++)
		found = node_is_model(g.gl_pathv[i]);
	globfree(&g);
	return found;
}

static const volatile uint32_t *map_model(void)
{
	const volatile uint32_t *p;
	int fd;

	if (!model_present())
		return NULL;
	fd = open("/dev/mem", O_RDONLY | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	p = mmap(NULL, NPU_CTL_SIZE, PROT_READ, MAP_SHARED, fd, NPU_CTL_BASE);
	close(fd);
	if (p == MAP_FAILED)
		return NULL;
	if (p[NPU_CTL_MAGIC / 4] != NPU_CTL_MAGIC_VALUE) {
		munmap((void *)p, NPU_CTL_SIZE);
		return NULL;
	}
	return p;
}

static uint64_t model_count(const volatile uint32_t *ctl, unsigned int core,
			    enum npu_ctl_counter which)
{
	unsigned int off = (NPU_CTL_CORE(core) + 8 * which) / 4;
	uint64_t lo = ctl[off];

	return lo | (uint64_t)ctl[off + 1] << 32;
}

static bool read_model(struct demo_counters *c)
{
	const volatile uint32_t *ctl = map_model();

	if (!ctl)
		return false;
	for (unsigned int i = 0; i < DEMO_CORES; i++) {
		c->tasks[i] = model_count(ctl, i, NPU_CNT_TASK_DONE);
		c->irqs[i] = model_count(ctl, i, NPU_CNT_IRQ);
		c->cycles[i] = model_count(ctl, i, NPU_CNT_BUSY_CYCLES);
		c->bytes += model_count(ctl, i, NPU_CNT_DMA_READ_BYTES) +
			    model_count(ctl, i, NPU_CNT_DMA_WRITE_BYTES);
	}
	munmap((void *)ctl, NPU_CTL_SIZE);
	c->source = "model";
	return true;
}

bool demo_counters_model(void)
{
	const volatile uint32_t *ctl = map_model();

	if (ctl)
		munmap((void *)ctl, NPU_CTL_SIZE);
	return ctl;
}

static bool read_stats(struct demo_counters *c, const char *path)
{
	unsigned long long value;
	unsigned int core;
	char name[64];
	FILE *f = fopen(path, "re");

	if (!f)
		return false;
	while (fscanf(f, "%63s %llu", name, &value) == 2) {
		char what[32];

		if (sscanf(name, "core%u.%31s", &core, what) != 2 || core >= DEMO_CORES)
			continue;
		if (!strcmp(what, "tasks"))
			c->tasks[core] = value;
		if (!strcmp(what, "irqs"))
			c->irqs[core] = value;
	}
	fclose(f);
	c->source = "driver";
	return true;
}

static bool read_driver(struct demo_counters *c)
{
	bool ok = false;
	glob_t g = { 0 };

	glob("/sys/kernel/debug/rknpu/stats", 0, NULL, &g);
	glob("/sys/kernel/debug/*/rknpu/stats", GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc && !ok; i++)
		ok = read_stats(c, g.gl_pathv[i]);
	globfree(&g);
	return ok;
}

void demo_counters_read(struct demo_counters *c)
{
	memset(c, 0, sizeof(*c));
	if (!read_model(c))
		read_driver(c);
}
