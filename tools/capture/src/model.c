// SPDX-License-Identifier: MIT
/*
 * Reads what the model's control device says of the last task that hung on each core.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cap.h"
#include "model.h"

#define COMPATIBLE	"rknpu-accel,model-control"

/*
 * On silicon nothing answers at the control device's address and reading it may hang the
 * bus, so the device tree has to name the device first.
 */
static bool is_control(const char *path)
{
	char text[64] = "";
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	return n && !strcmp(text, COMPATIBLE);
}

static bool in_device_tree(void)
{
	bool found = false;
	glob_t g = { 0 };

	glob("/proc/device-tree/*/compatible", 0, NULL, &g);
	glob("/proc/device-tree/*/*/compatible", GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc && !found; i++)
		found = is_control(g.gl_pathv[i]);
	globfree(&g);
	return found;
}

/* The root is compatible with "rockchip,rk3588", which is not the first of its strings. */
static const struct npu_chip *find_chip(void)
{
	char text[256] = "";
	FILE *f = fopen("/proc/device-tree/compatible", "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	unsigned int soc;

	if (f)
		fclose(f);
	for (const char *s = text; s < text + n; s += strlen(s) + 1)
		if (sscanf(s, "rockchip,rk%u", &soc) == 1)
			return npu_chip_of_soc(soc);
	return NULL;
}

static uint32_t reg(const struct model *m, uint32_t offset)
{
	return m->regs[offset / 4];
}

const char *model_open(struct model *m)
{
	void *map;
	int fd;

	memset(m, 0, sizeof(*m));
	if (!in_device_tree())
		return "there is no model to ask: this NPU is silicon";
	fd = open("/dev/mem", O_RDONLY | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? "only root may ask the model"
							  : "/dev/mem does not open";
	map = mmap(NULL, NPU_CTL_SIZE, PROT_READ, MAP_SHARED, fd, NPU_CTL_BASE);
	close(fd);
	if (map == MAP_FAILED)
		return "the model's control device cannot be mapped";
	m->regs = map;
	m->chip = find_chip();
	m->cores = reg(m, NPU_CTL_NUM_CORES);
	if (reg(m, NPU_CTL_MAGIC) != NPU_CTL_MAGIC_VALUE || m->cores > MODEL_CORES) {
		model_close(m);
		return "the model's control device is another one than is known";
	}
	model_forget(m);
	return NULL;
}

void model_close(struct model *m)
{
	if (m->regs)
		munmap((void *)m->regs, NPU_CTL_SIZE);
	m->regs = NULL;
	m->cores = 0;
}

void model_forget(struct model *m)
{
	for (unsigned int i = 0; i < m->cores; i++)
		m->seen[i] = reg(m, NPU_CTL_HANG(i) + NPU_CTL_HANG_COUNT);
}

int model_news(const struct model *m, unsigned int core)
{
	for (unsigned int i = core; i < m->cores; i++) {
		if (reg(m, NPU_CTL_HANG(i) + NPU_CTL_HANG_COUNT) != m->seen[i])
			return (int)i;
	}
	return -1;
}

bool model_read(const struct model *m, unsigned int core, struct model_hang *h)
{
	uint32_t base = NPU_CTL_HANG(core);

	memset(h, 0, sizeof(*h));
	h->chip = m->chip;
	if (core >= m->cores)
		return false;
	h->count = reg(m, base + NPU_CTL_HANG_COUNT);
	h->kind = reg(m, base + NPU_CTL_HANG_KIND);
	h->enable = reg(m, base + NPU_CTL_HANG_ENABLE);
	h->n = reg(m, base + NPU_CTL_HANG_NUM);
	if (h->n > NPU_CTL_HANG_ENTRIES)
		h->n = 0;
	for (uint32_t i = 0; i < NPU_CTL_HANG_TEXT_SIZE; i += 4) {
		uint32_t word = reg(m, base + NPU_CTL_HANG_TEXT + i);

		memcpy(h->text + i, &word, sizeof(word));
	}
	h->text[NPU_CTL_HANG_TEXT_SIZE - 1] = '\0';
	for (uint32_t i = 0; i < h->n; i++)
		h->entry[i] = reg(m, base + NPU_CTL_HANG_ENTRY(i)) |
			      (uint64_t)reg(m, base + NPU_CTL_HANG_ENTRY(i) + 4) << 32;
	return h->count;
}

void model_print_why(FILE *f, const struct model_hang *h)
{
	fprintf(f, "%s: %s", h->kind == NPU_CTL_HANG_REFUSED ?
		"the model cannot run this task" : "this task hangs on silicon, too", h->text);
}

void model_print_task(FILE *f, const char *indent, const struct model_hang *h)
{
	if (!h->enable) {
		fprintf(f, "%sno task had started\n", indent);
		return;
	}
	cap_print_program(f, h->chip, indent, h->entry, h->n);
	fprintf(f, "%senable 0x%02x; registers that are 0 are left out\n", indent, h->enable);
}
