// SPDX-License-Identifier: MIT
/*
 * npu-report --doctor: looks at what an NPU needs, from the device tree to a job on each core, and
 * names the first thing that is missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xf86drm.h>

#include "drm/rocket_accel.h"
#include "run_npu.h"

#define LOG_LINES	4

/* ---- files ---- */

/* What a file holds, strings behind each other; the number of bytes. */
static size_t read_file(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, size - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return n;
}

/* Where the last name of a path begins; the rest is what it was. */
static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The last name of what a link points to, or "". */
static void link_name(const char *path, char *name, size_t size)
{
	char target[512];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	target[n > 0 ? n : 0] = '\0';
	snprintf(name, size, "%.*s", (int)size - 1, last_name(target));
}

/* ---- what is said ---- */

static void say(const char *what, const char *format, ...)
{
	va_list args;

	printf("%-12s ", what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

/* ---- the device tree ---- */

static bool is_npu(const char *compatible, size_t n)
{
	for (const char *s = compatible; s < compatible + n; s += strlen(s) + 1) {
		const char *end = strrchr(s, '-');

		if (!strcmp(s, "rockchip,rknpu") ||
		    (!strncmp(s, "rockchip,", 9) && end &&
		     (!strcmp(end, "-rknpu") || (!strcmp(end, "-core") && strstr(s, "-rknn-")))))
			return true;
	}
	return false;
}

/* Calls @fn with each directory that holds an NPU's file "compatible"; how often that was. */
static int for_each_npu(const char *const *patterns, bool (*fn)(const char *dir))
{
	glob_t g = { 0 };
	char text[256];
	int count = 0;

	for (int i = 0; patterns[i]; i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		if (!is_npu(text, read_file(g.gl_pathv[i], text, sizeof(text))))
			continue;
		*strrchr(g.gl_pathv[i], '/') = '\0';
		count += fn(g.gl_pathv[i]);
	}
	globfree(&g);
	return count;
}

static bool node_is_enabled(const char *dir)
{
	char path[512], status[32];
	bool enabled;

	snprintf(path, sizeof(path), "%s/status", dir);
	enabled = !read_file(path, status, sizeof(status)) || !strncmp(status, "ok", 2);
	say("device tree", "%s is %s", last_name(dir), enabled ? "enabled" : status);
	return enabled;
}

static const char *has_node(void)
{
	static const char *const nodes[] = {
		"/proc/device-tree/*/compatible", "/proc/device-tree/*/*/compatible", NULL
	};

	if (access("/proc/device-tree", F_OK))
		return "this machine has no device tree: boot it with one (install.rst, step 2)";
	return for_each_npu(nodes, node_is_enabled) ? NULL :
	       "the device tree enables no NPU: rknpu-dt, or an overlay (install.rst, step 2)";
}

/* ---- the module ---- */

static bool is_installed(const char *release)
{
	/* The last one: built with the kernel. */
	static const char *const dirs[] = {
		"updates", "updates/dkms", "extra", "kernel/drivers/accel/rknpu"
	};
	char path[256];
	glob_t g = { 0 };
	bool found;

	for (unsigned int i = 0; i < RP_COUNT(dirs); i++) {
		snprintf(path, sizeof(path), "/lib/modules/%s/%s/rknpu_accel.ko*", release, dirs[i]);
		glob(path, i ? GLOB_APPEND : 0, NULL, &g);
	}
	found = g.gl_pathc;
	globfree(&g);
	return found;
}

static const char *has_module(void)
{
	struct utsname u;

	/* One that is part of the kernel has a directory for its parameters, and no state. */
	if (!access("/sys/module/rknpu_accel", F_OK)) {
		say("module", "rknpu_accel is %s",
		    access("/sys/module/rknpu_accel/initstate", F_OK) ? "part of the kernel" : "loaded");
		return NULL;
	}
	if (uname(&u))
		return strerror(errno);
	say("module", "rknpu_accel is not loaded");
	return is_installed(u.release) ? "nobody has loaded the module: modprobe rknpu_accel" :
	       "there is no module for this kernel (install.rst, step 3)";
}

/* ---- who drives the cores ---- */

static char other[64];
static int ours;

static bool core_is_ours(const char *dir)
{
	char path[600], driver[64], module[64], device[512];

	/* .../fdab0000.npu/of_node */
	snprintf(device, sizeof(device), "%.*s", (int)(last_name(dir) - dir - 1), dir);
	snprintf(path, sizeof(path), "%s/driver", device);
	link_name(path, driver, sizeof(driver));
	snprintf(path, sizeof(path), "%s/driver/module", device);
	link_name(path, module, sizeof(module));
	say("device", "%s %s%s", last_name(device), *driver ? "has driver " : "has no driver", driver);
	if (!strcmp(module, "rknpu_accel") || !strncmp(driver, "rknpu", 5))
		return true;
	if (*driver)
		snprintf(other, sizeof(other), "%s", driver);
	return false;
}

static const char *is_left_alone(void)
{
	static const char *const devices[] = {
		"/sys/bus/platform/devices/*/of_node/compatible", NULL
	};
	static char text[160];

	ours = for_each_npu(devices, core_is_ours);
	if (ours || !*other)
		return NULL;
	snprintf(text, sizeof(text), "the driver %s has the NPU: see install.rst, \"Beside another driver\"",
		 other);
	return text;
}

/* Why devices wait, which root alone may know. */
static void say_what_is_awaited(void)
{
	char text[4096];
	char *save = NULL;

	read_file("/sys/kernel/debug/devices_deferred", text, sizeof(text));
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strstr(line, "npu"))
			say("waits", "%s", line);
	}
}

static const char *has_driver(void)
{
	if (ours)
		return NULL;
	say_what_is_awaited();
	return geteuid() ? "no driver has taken the NPU: run this as root to learn why" :
	       "no driver has taken the NPU: see the lines above, and my-job-failed.rst";
}

/* ---- nodes ---- */

static bool is_our_node(const char *name)
{
	const char *classes[] = { "accel", "drm" };
	char path[512], driver[64];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/class/%s/%s/device/driver", classes[i], name);
		link_name(path, driver, sizeof(driver));
		if (!strncmp(driver, "rknpu", 5))
			return true;
	}
	return false;
}

/* 0, or why it cannot be opened. */
static int try_node(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), error = errno;
	drmVersionPtr v;

	if (fd < 0) {
		say("node", "%s: %s", path, strerror(error));
		return error;
	}
	v = drmGetVersion(fd);
	if (v)
		say("node", "%s: %s %d.%d.%d", path, v->name, v->version_major, v->version_minor,
		    v->version_patchlevel);
	drmFreeVersion(v);
	close(fd);
	return 0;
}

static const char *has_nodes(void)
{
	int found = 0, error = 0;
	glob_t g = { 0 };

	glob("/dev/accel/accel*", 0, NULL, &g);
	glob("/dev/dri/renderD*", GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		if (!is_our_node(last_name(g.gl_pathv[i])))
			continue;
		found++;
		error = try_node(g.gl_pathv[i]) ?: error;
	}
	globfree(&g);
	if (!found)
		return "there is no node: the driver found a fault in the device tree (see the log), or udev does not run";
	switch (error) {
	case 0:
		return NULL;
	case EACCES:
		return "you may not open the nodes: usermod -a -G render USER, and log in again";
	case EPERM:
		return "the NPU has no IOMMU: see my-job-failed.rst";
	case ENODEV:
		return "all cores are out of service: see the log; unbind and bind the device, or reboot";
	default:
		return strerror(error);
	}
}

/* ---- jobs ---- */

#define COLS		64u
#define ROWS		32u
#define WAIT_NS		(INT64_C(90) * 1000000000)

/*
 * Multiplies a row on this core: 0, or -EOPNOTSUPP where libnpu makes no such program for it, or why it failed. Bytes to
 * bytes, with half of the sums, is what all chips have programs for.
 */
static int run_on(struct npu_dev *dev, uint32_t core, enum npu_cause *cause)
{
	struct npu_weights_desc desc = { .size = sizeof(desc), .type = NPU_PREC_INT8, .n = ROWS, .k = COLS };
	struct npu_rec_opts opts = { .size = sizeof(opts), .core_mask = 1u << core };
	struct npu_rec_failure f = { .size = sizeof(f) };
	struct npu_tensor *in = NULL, *out = NULL;
	struct npu_weights *weights = NULL;
	struct npu_rec *rec = NULL;
	int8_t w[ROWS][COLS], x[COLS], y[ROWS] = { 0 };
	int ret;

	memset(w, 1, sizeof(w));
	memset(x, (int)core + 1, sizeof(x));
	ret = npu_requant_from_double(0.5, 0, &desc.rq);
	ret = ret ?: npu_weights_new(dev, &desc, w, &weights);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, 1, COLS, &in);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, 1, ROWS, &out);
	ret = ret ?: npu_rec_new(dev, &opts, &rec);
	ret = ret ?: npu_rec_matmul(rec, in, weights, out, NULL);
	ret = ret ?: npu_rec_end(rec);
	ret = ret ?: npu_tensor_write(in, x, 0);
	ret = ret ?: npu_rec_run(rec);
	ret = ret ?: npu_rec_wait(rec, WAIT_NS);
	if (ret && rec && !npu_rec_failure(rec, &f))
		*cause = f.cause;
	ret = ret ?: npu_tensor_read(out, y, 0);
	for (unsigned int i = 0; !ret && i < ROWS; i++)
		ret = y[i] == (int)((core + 1) * COLS / 2) ? 0 : -EILSEQ;
	npu_rec_free(rec);
	npu_tensor_free(in);
	npu_tensor_free(out);
	npu_weights_free(weights);
	return ret;
}

static const char *words(int ret, enum npu_cause cause)
{
	switch (ret) {
	case 0:
		return "right";
	case -EILSEQ:
		return "its result is wrong";
	case -EPIPE:
		return "too many jobs of this user have failed";
	default:
		return cause == NPU_CAUSE_NONE || cause == NPU_CAUSE_OTHER ? strerror(-ret) : npu_strcause(cause);
	}
}

static bool has_run;

static const char *run_on_each(struct npu_dev *dev)
{
	static char text[160];
	uint64_t cores = 0, version;
	unsigned int tried = 0;
	int ret = npu_param(dev, DRM_ROCKET_PARAM_CORE_COUNT, 0, &cores);

	if (ret)
		return strerror(-ret);
	for (uint32_t i = 0; i < cores; i++) {
		enum npu_cause cause = NPU_CAUSE_NONE;

		/* The device tree may have fewer. */
		if (npu_param(dev, DRM_ROCKET_PARAM_HW_VERSION, i, &version))
			continue;
		ret = run_on(dev, i, &cause);
		say("job", "core %u: %s", i, ret == -EOPNOTSUPP ? "not tried" : words(ret, cause));
		tried += ret != -EOPNOTSUPP;
		if (ret && ret != -EOPNOTSUPP && !*text)
			snprintf(text, sizeof(text), "a job on core %u failed: %s; see my-job-failed.rst", i,
				 words(ret, cause));
	}
	has_run = tried;
	return !tried ? "no core has run a job" : *text ? text : NULL;
}

static const char *runs_jobs(void)
{
	struct npu_dev *dev;
	const char *wrong;
	int ret;

	/* The interface that tells of cores; whatever the environment names. */
	unsetenv("NPU_DEVICE");
	setenv("NPU_UAPI", "rocket", 1);
	ret = npu_open(NULL, &dev);
	if (ret == -EOPNOTSUPP) {
		say("job", "not tried: libnpu makes no programs for this chip");
		return NULL;
	}
	if (ret)
		return strerror(-ret);
	wrong = run_on_each(dev);
	npu_close(dev);
	return wrong;
}

/* ---- the kernel's log ---- */

/* Of the driver, or of the power domain that a core is in. */
static bool is_of_npu(const char *text)
{
	return (strstr(text, "rknpu") && !strstr(text, "taints kernel")) || strstr(text, "domain 'npu");
}

/* Its last warnings and errors that name the NPU, if it may be read. */
static void say_log(void)
{
	static char line[LOG_LINES][256];
	char record[2048];
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	unsigned int n = 0;
	ssize_t size;

	if (fd < 0) {
		say("log", "not readable: run this as root");
		return;
	}
	/* EPIPE: records were overwritten meanwhile; the next read goes on behind them. */
	while ((size = read(fd, record, sizeof(record) - 1)) > 0 || (size < 0 && errno == EPIPE)) {
		char *text;

		record[size > 0 ? size : 0] = '\0';
		text = strchr(record, ';');
		if (!text || (atoi(record) & 7) > 4)
			continue;
		text[strcspn(text, "\n")] = '\0';
		if (is_of_npu(text))
			snprintf(line[n++ % LOG_LINES], sizeof(line[0]), "%s", text + 1);
	}
	close(fd);
	for (unsigned int i = n > LOG_LINES ? n - LOG_LINES : 0; i < n; i++)
		say("log", "%s", line[i % LOG_LINES]);
}

bool rp_doctor(void)
{
	static const char *(*const steps[])(void) = {
		has_node, is_left_alone, has_module, has_driver, has_nodes, runs_jobs
	};
	const char *wrong = NULL;

	for (unsigned int i = 0; i < RP_COUNT(steps) && !wrong; i++)
		wrong = steps[i]();
	say_log();
	say(wrong ? "problem" : "result", "%s", wrong ? wrong : has_run ? "the NPU is ready" :
	    "the NPU is ready, as far as can be seen without a job");
	return !wrong;
}
