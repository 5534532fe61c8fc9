// SPDX-License-Identifier: MIT
/*
 * Describes the machine that a report is about: board, kernel, driver, NPU. Nothing in it
 * names its owner: no host name, address or serial number.
 */
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xf86drm.h>

#include "drm/rknpu_drm.h"
#include "drm/rocket_accel.h"
#include "run_npu.h"

#define MODEL_COMPATIBLE	"rknpu-accel,model-control"

/* Of a file without a newline, with other control characters as spaces. */
static bool read_line(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		return false;
	n = fread(text, 1, size - 1, f);
	fclose(f);
	while (n && (text[n - 1] == '\0' || text[n - 1] == '\n'))
		n--;
	text[n] = '\0';
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)text[i] < ' ')
			text[i] = ' ';
	}
	return n > 0;
}

bool rp_is_model(void)
{
	glob_t g = { 0 };
	bool found = false;
	char text[64];

	glob("/proc/device-tree/*/compatible", 0, NULL, &g);
	glob("/proc/device-tree/*/*/compatible", GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc && !found; i++)
		found = read_line(g.gl_pathv[i], text, sizeof(text)) &&
			!strcmp(text, MODEL_COMPATIBLE);
	globfree(&g);
	return found;
}

static void print_files(FILE *f, const char *what, const char *pattern)
{
	glob_t g = { 0 };
	char text[256];

	glob(pattern, 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		if (read_line(g.gl_pathv[i], text, sizeof(text)))
			fprintf(f, "%-12s %s (%s)\n", what, text, g.gl_pathv[i]);
	}
	globfree(&g);
}

static void print_vendor_freq(FILE *f, struct rp_machine *m)
{
	struct drm_rknpu_action a = { .flags = DRM_RKNPU_GET_FREQ };

	if (m->vendor && !drmIoctl(npu_fd(m->dev), DRM_IOCTL_RKNPU_ACTION, &a))
		fprintf(f, "%-12s %u Hz (the driver's answer)\n", "clock", a.value);
}

static void print_versions(FILE *f, struct rp_machine *m)
{
	struct drm_rknpu_action a = { .flags = DRM_RKNPU_GET_HW_VERSION };
	uint64_t cores = 0, version;

	if (m->vendor && !drmIoctl(npu_fd(m->dev), DRM_IOCTL_RKNPU_ACTION, &a))
		fprintf(f, "%-12s core 0 says 0x%08x\n", "NPU", a.value);
	if (npu_param(m->dev, DRM_ROCKET_PARAM_CORE_COUNT, 0, &cores))
		return;
	for (uint32_t i = 0; i < cores; i++) {
		if (!npu_param(m->dev, DRM_ROCKET_PARAM_HW_VERSION, i, &version))
			fprintf(f, "%-12s core %u says 0x%08" PRIx64 "\n", "NPU", i, version);
	}
}

void rp_describe(FILE *f, struct rp_machine *m)
{
	struct utsname u;

	if (rp_is_model())
		fprintf(f, "%-12s the QEMU model of the NPU: no silicon is involved\n", "machine");
	fprintf(f, "%-12s %s\n", "hangs", m->no_model ? m->no_model : "the model says why");
	print_files(f, "board", "/proc/device-tree/model");
	print_files(f, "compatible", "/proc/device-tree/compatible");
	if (!uname(&u))
		fprintf(f, "%-12s %s %s %s\n", "kernel", u.sysname, u.release, u.machine);
	fprintf(f, "%-12s %s %d.%d.%d (%s), node %s\n", "driver", m->version.name, m->version.major,
		m->version.minor, m->version.patch, m->version.desc, npu_path(m->dev));
	fprintf(f, "%-12s RK%u\n", "NPU", npu_soc(m->dev));
	print_files(f, "module", "/sys/module/rknpu_accel/version");
	print_files(f, "module", "/sys/module/rknpu_accel/srcversion");
	print_versions(f, m);
	print_vendor_freq(f, m);
	print_files(f, "clock", "/sys/class/devfreq/*npu*/cur_freq");
	print_files(f, "clock", "/sys/kernel/debug/clk/scmi_clk_npu/clk_rate");
	print_files(f, "clock", "/sys/kernel/debug/clk/clk_npu_dsu0/clk_rate");
}
