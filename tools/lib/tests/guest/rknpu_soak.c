// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hours of everything at once: clients come, go and are killed, jobs of all
 * kinds are checked, an unprivileged user attacks in each of rknpu_hostile's
 * ways, faults are armed, cores unbound, power states forced, the system put to
 * sleep. Ends with counts; fails on any wrong result, on anything left over, if
 * an attack did nothing, and when the device does not work in the end.
 *
 * usage: rknpu_soak MINUTES [SEED]; RKNPU_SOAK_SLEEP=1 rehearses system sleep,
 * which costs a guest of the testbed its console for the time being.
 * RKNPU_SOAK_SECONDS: for so long instead, with more happening in that time.
 *
 * tool of: make soak and make chaos
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "npu.h"
#include "one_op.h"
#include "rknpu_hostile.h"
#include "rknpu_util.h"

#define WORKERS		4
#define ERRNOS		134
#define ATTACKER	3000
/* An attack that began that often must have done something. */
#define BEGUN_ENOUGH	5
#define WAIT_NS		(60000 * RK_MS)
#define DRIVER		"/sys/bus/platform/drivers/rknpu-accel"
#define NUM(a)		(sizeof(a) / sizeof((a)[0]))

enum kind { RAW, CHAIN, EXT, ORDER, MATMUL_INT8, MATMUL_FP16, CONV, KINDS };

static const char *const kind_names[KINDS] = {
	"raw", "chain", "ext", "order", "matmul_int8", "matmul_fp16", "conv",
};

struct shared {
	atomic_ulong good[KINDS], wrong[KINDS];
	atomic_ulong failed[KINDS * ERRNOS], refused[ERRNOS];
	atomic_ulong clients, power;
	atomic_bool stop;
};

static struct shared *shared;

/* What the controlling process did. */
static struct {
	unsigned long armed[NPU_FAULT_MAX + 1];
	unsigned long killed, unbinds, sleeps, sleeps_refused;
} did;

static struct attack {
	const char *name;
	void (*run)(void);
	unsigned long begun, hits;
} attacks[] = {
	{ "slots", attack_slots },
	{ "long", attack_long },
	{ "pauses", attack_pauses },
	{ "gangs", attack_gangs },
	{ "gangs_and_long", attack_gangs_and_long },
	{ "late_gangs", attack_late_gangs },
	{ "priorities", attack_priorities },
	{ "hangs", attack_hangs },
	{ "never_started", attack_never_started },
	{ "faults", attack_faults },
	{ "memory", attack_memory },
	{ "clock", attack_clock },
	{ "syncs", attack_syncs },
	{ "poll", attack_poll },
	{ "kills", attack_kills },
	{ "everything", attack_everything },
};

/* The one that lasts, and its process. */
static struct attack *attack = attacks;
static pid_t attacker;

/* Faults that fired before the count was last cleared. */
static unsigned long fired_before;

static uint64_t rng;

static uint32_t rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng * 0x2545f4914f6cdd1dull) >> 32;
}

static uint32_t below(uint32_t n)
{
	return rnd() % n;
}

/* ---- jobs; each returns 0, a negative errno, or -EILSEQ for a wrong result ---- */

static int8_t small_int(void)
{
	return (int)below(17) - 8;
}

static int run_raw(struct rk_client *c)
{
	return rk_client_run(c, below(120));
}

/* in -> a -> b -> c in three jobs of one submit, the middle one of four equal tasks. */
static int run_chain(struct rk_client *c)
{
	const uint8_t value = below(100);
	struct drm_rocket_task t[3][4];
	struct drm_rocket_job job[3];
	struct rk_bo bo[3];
	int ret = rk_bo_fill(&c->in, value, RK_BYTES);

	memset(bo, 0, sizeof(bo));
	c->inc.used = 2 * RK_PAGE;
	for (int i = 0; i < 3 && !ret; i++) {
		const struct rk_bo *from = i ? &bo[i - 1] : &c->in;

		ret = rk_bo_init(&bo[i], c->fd, RK_BYTES);
		for (int k = 0; k < (i == 1 ? 4 : 1) && !ret; k++)
			ret = rk_op_task(&c->inc, from->iova, bo[i].iova, &t[i][k]);
		if (!ret)
			rk_job(&job[i], t[i], i == 1 ? 4 : 1, &from->handle, 1, &bo[i].handle, 1);
	}
	if (!ret)
		ret = rk_submit(c->fd, job, 3);
	/* A job that follows a failed one runs, on whatever that left. */
	for (int i = 0; i < 3 && !ret; i++)
		ret = rk_prep(&bo[i], 60000);
	for (int i = 0; i < 3 && !ret; i++) {
		long differs = rk_bo_differs(&bo[i], value + i + 1, RK_BYTES);

		ret = differs > 0 ? -EILSEQ : differs;
	}
	for (int i = 0; i < 3; i++)
		rk_bo_fini(&bo[i]);
	return ret;
}

#define EXT_TASKS	6

/* One job of several tasks, with whatever can be said about it. */
static int run_ext(struct rk_client *c)
{
	static const uint32_t flags[] = { 0, DRM_ROCKET_JOB_BATCHED, DRM_ROCKET_JOB_DIVISIBLE };
	const uint8_t value = below(100);
	struct drm_rocket_task t[EXT_TASKS];
	struct drm_rocket_job_ext job;
	uint32_t n = 1 + below(EXT_TASKS);
	int ret = rk_bo_fill(&c->in, value, RK_BYTES);
	long differs;

	c->inc.used = 2 * RK_PAGE;
	for (uint32_t i = 0; i < n && !ret; i++) {
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t[i]);
		if (!ret && i)
			rk_chain(&c->inc, &t[i - 1], &t[i]);
	}
	if (!ret)
		ret = rk_fini(&c->inc.bo);
	if (!ret)
		ret = rk_bo_fill(&c->out, 0, RK_BYTES);
	rk_job_ext(&job, t, n, &c->in, &c->out);
	job.flags = flags[below(NUM(flags))];
	job.core_mask = below(8);
	job.priority = below(DRM_ROCKET_PRIORITY_HIGH + 1);
	if (!ret)
		ret = rk_submit_ext(c->fd, &job, 1, NULL);
	if (!ret)
		ret = rk_prep(&c->out, 60000);
	if (ret)
		return ret;
	differs = rk_bo_differs(&c->out, value + 1, RK_BYTES);
	return differs > 0 ? -EILSEQ : differs;
}

/* Jobs that write the same BO end in their order, also when there is no device to run them. */
static int run_ordered(struct rk_client *c)
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	struct drm_rocket_task t;
	uint64_t id[4];
	uint32_t n;
	int ret;

	c->inc.used = 2 * RK_PAGE;
	ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t);
	if (!ret)
		ret = rk_fini(&c->inc.bo);
	for (n = 0; n < NUM(id) && !ret; n++) {
		rk_job_ext(&job, &t, 1, &c->in, &c->out);
		job.core_mask = below(8);
		job.priority = below(DRM_ROCKET_PRIORITY_HIGH + 1);
		ret = rk_submit_ext(c->fd, &job, 1, &id[n]);
		if (ret)
			break;
	}
	if (n > 1) {
		/* Whoever saw the last one end must find that the others have. */
		do {
			ret = rk_wait_job(c->fd, id[n - 1], rk_now() + RK_MS, &w);
		} while (ret == -ETIMEDOUT || ret == -EBUSY);
		for (uint32_t i = 0; i < n - 1 && !ret; i++)
			if (rk_wait_job(c->fd, id[i], 0, &w))
				return -EILSEQ;
	}
	return ret ? ret : rk_prep(&c->out, 60000);
}

#define MAX_M	24u
#define MAX_N	80u
#define MAX_K	96u

static struct {
	int8_t a[MAX_M * MAX_K], b[MAX_N * MAX_K];
	uint16_t ah[MAX_M * MAX_K], bh[MAX_N * MAX_K];
	union {
		int32_t i[MAX_M * MAX_N];
		float f[MAX_M * MAX_N];
	} c;
} mm;

/* Once, from the operand to the result. */
static int run_op(struct one_op *o, int ret, const void *x, void *y)
{
	if (!ret)
		ret = one_op_start(o, x);
	if (!ret)
		ret = one_op_finish(o, y, WAIT_NS);
	one_op_free(o);
	return ret;
}

/* Sums of products of small integers are exact in every type. */
static int run_matmul(struct npu_dev *dev, bool half)
{
	struct npu_rec_opts opts = { .size = sizeof(opts), .cores = below(4) };
	struct npu_rec_matmul_opts how = { .size = sizeof(how), .max_n = below(2) ? 32 : 0 };
	struct npu_weights_desc d = {
		.size = sizeof(d),
		.type = half ? NPU_PREC_FP16 : NPU_PREC_INT8, .n = 1 + below(MAX_N), .k = 1 + below(MAX_K),
	};
	uint32_t m = 1 + below(MAX_M);
	struct one_op o;
	int ret;

	for (size_t i = 0; i < m * d.k; i++) {
		mm.a[i] = small_int();
		mm.ah[i] = npu_f64_to_f16(mm.a[i]);
	}
	for (size_t i = 0; i < d.n * d.k; i++) {
		mm.b[i] = small_int();
		mm.bh[i] = npu_f64_to_f16(mm.b[i]);
	}
	memset(&mm.c, 0xa5, sizeof(mm.c));
	ret = one_op_matmul(&o, dev, &d, half ? (void *)mm.bh : mm.b, m, half ? NPU_PREC_FP32 : NPU_PREC_INT32,
			    &opts, &how);
	ret = run_op(&o, ret, half ? (void *)mm.ah : mm.a, &mm.c);
	if (ret)
		return ret;
	for (uint32_t r = 0; r < m; r++)
		for (uint32_t j = 0; j < d.n; j++) {
			size_t at = (size_t)r * d.n + j;
			int32_t sum = 0;

			for (uint32_t i = 0; i < d.k; i++)
				sum += mm.a[r * d.k + i] * mm.b[j * d.k + i];
			if (half ? mm.c.f[at] != sum : mm.c.i[at] != sum)
				return -EILSEQ;
		}
	return 0;
}

#define CONV_SIDE	9u
#define CONV_C		32u

static int32_t conv_sum(const int8_t *in, const int8_t *w, int y0, int x0)
{
	int32_t acc = 0;

	for (int ky = 0; ky < 3; ky++)
		for (int kx = 0; kx < 3; kx++) {
			int y = y0 + ky, x = x0 + kx;

			if (y < 0 || x < 0 || y >= (int)CONV_SIDE || x >= (int)CONV_SIDE)
				continue;
			for (uint32_t c = 0; c < CONV_C; c++)
				acc += in[(y * CONV_SIDE + x) * CONV_C + c] * w[(ky * 3 + kx) * CONV_C + c];
		}
	return acc;
}

static int run_conv(struct npu_dev *dev)
{
	static int8_t in[CONV_SIDE * CONV_SIDE * CONV_C], w[CONV_C * 9 * CONV_C];
	static int8_t out[CONV_SIDE * CONV_SIDE * CONV_C];
	static const struct npu_window win = {
		.size = sizeof(win),
		.in_w = CONV_SIDE, .in_h = CONV_SIDE, .kw = 3, .kh = 3,
		.pad_left = 1, .pad_right = 1, .pad_top = 1, .pad_bottom = 1,
	};
	static const struct npu_conv_weights_desc d = {
		.size = sizeof(d),
		.type = NPU_PREC_INT8, .in_c = CONV_C, .out_c = CONV_C, .kw = 3, .kh = 3,
		/* Ties go to even, as nearbyint() has them. */
		.rq = { .scale = 1, .shift = 5 },
	};
	struct npu_rec_opts opts = { .size = sizeof(opts), .cores = 1 + below(3) };
	struct one_op o;
	int ret;

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = small_int();
	for (size_t i = 0; i < sizeof(w); i++)
		w[i] = small_int();
	memset(out, 0xa5, sizeof(out));
	ret = run_op(&o, one_op_conv(&o, dev, &d, w, &win, &opts, NULL), in, out);
	if (ret)
		return ret;
	/* A sample: every element would be most of the time. */
	for (int i = 0; i < 300; i++) {
		uint32_t y = below(CONV_SIDE), x = below(CONV_SIDE), n = below(CONV_C);
		double v = nearbyint(conv_sum(in, w + n * 9 * CONV_C, y - 1, x - 1) / 32.0);

		v = v > 127 ? 127 : v < -128 ? -128 : v;
		if (out[(y * CONV_SIDE + x) * CONV_C + n] != v)
			return -EILSEQ;
	}
	return 0;
}

/* ---- clients ---- */

static int count(enum kind k, int ret)
{
	if (!ret)
		shared->good[k]++;
	else if (ret == -EILSEQ)
		shared->wrong[k]++;
	else
		shared->failed[k * ERRNOS + (-ret < ERRNOS ? -ret : 0)]++;
	return ret;
}

/* A device that is not there, or refuses to begin: also while a core is unbound. */
static void refused(int ret)
{
	shared->refused[-ret < ERRNOS ? -ret : 0]++;
	rk_sleep_ms(20);
}

static void live_raw(unsigned int jobs)
{
	struct rk_client c;
	int ret;

	memset(&c, 0, sizeof(c));
	c.fd = -1;
	ret = rk_client_init(&c);
	if (ret)
		refused(ret);
	for (unsigned int i = 0; i < jobs && !ret && !shared->stop; i++) {
		enum kind k = below(ORDER + 1);

		ret = count(k, k == RAW ? run_raw(&c) : k == CHAIN ? run_chain(&c) :
			       k == EXT ? run_ext(&c) : run_ordered(&c));
		/* Also of a job whose only core has been taken out of service. */
		if (ret != -ENODEV || k == EXT || k == ORDER)
			ret = 0;
	}
	if (c.fd >= 0)
		rk_client_fini(&c);
}

static void live_lib(unsigned int jobs)
{
	struct npu_dev *dev;
	int ret = npu_open(NULL, &dev);

	if (ret) {
		refused(ret);
		return;
	}
	for (unsigned int i = 0; i < jobs && !shared->stop && ret != -ENODEV; i++) {
		enum kind k = MATMUL_INT8 + below(3);

		ret = count(k, k == CONV ? run_conv(dev) : run_matmul(dev, k == MATMUL_FP16));
	}
	npu_close(dev);
}

static void worker(uint64_t seed)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rng = seed;
	while (!shared->stop) {
		shared->clients++;
		if (below(2))
			live_raw(1 + below(60));
		else
			live_lib(1 + below(20));
	}
	_exit(0);
}

static pid_t start_worker(void)
{
	uint64_t seed = (uint64_t)rnd() << 32 | rnd() | 1;
	pid_t pid = fork();

	if (!pid)
		worker(seed);
	return pid;
}

/* ---- the attacker ---- */

static void end_attack(void)
{
	if (attacker)
		hostile_end(attacker);
	attacker = 0;
	attack->hits += atomic_exchange(&hostile->hits, 0);
}

static void begin_attack(void)
{
	hostile_let_open();
	attacker = hostile_start(ATTACKER, attack->run);
	attack->begun++;
}

/* Some attacks fail so often that their user is banned, if anybody is. */
static void change_attack(void)
{
	end_attack();
	attack = &attacks[below(NUM(attacks))];
	rk_module_param("max_hangs", below(2) ? 8 : 0);
	begin_attack();
}

/* It ends when the device goes, and where a fault that was armed for others meets it. */
static void keep_attacking(void)
{
	hostile_let_open();
	if (waitpid(attacker, NULL, WNOHANG) != attacker)
		return;
	end_attack();
	begin_attack();
}

static bool all_attacked(void)
{
	bool good = true;

	for (size_t i = 0; i < NUM(attacks); i++)
		good &= attacks[i].begun < BEGUN_ENOUGH || attacks[i].hits;
	return good;
}

/* ---- what happens to the device ---- */

static bool put(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);

	if (fd >= 0)
		close(fd);
	return ok;
}

static char cores[RK_CORES][32];
/* Of an IOMMU that does not reset or start. */
static bool mmu_failures;

static bool find_cores(void)
{
	glob_t g = { 0 };
	bool ok = !glob(DRIVER "/*.npu", 0, NULL, &g) && g.gl_pathc == RK_CORES;

	for (size_t i = 0; ok && i < RK_CORES; i++)
		snprintf(cores[i], sizeof(cores[i]), "%s", strrchr(g.gl_pathv[i], '/') + 1);
	globfree(&g);
	return ok;
}

static unsigned long fired(void)
{
	return fired_before + rk_fault_fired();
}

static void disarm(void)
{
	unsigned long n = rk_fault_fired();

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
	fired_before += n;
}

/* "identity" where the kernel attaches nothing to an IOMMU that has no address space of ours. */
static bool passthrough(void)
{
	char path[128], type[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), DRIVER "/%s/iommu_group/type", cores[0]);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%15s", type) != 1)
		type[0] = 0;
	fclose(f);
	return !strcmp(type, "identity");
}

/*
 * What no driver of the NPU can help: the kernel's IOMMU driver accesses
 * registers whose clock it was told is on, and going back to the default domain,
 * between two address spaces, must not fail (a warning), unless that is none.
 */
static bool survivable(uint32_t kind)
{
	switch (kind) {
	case NPU_FAULT_CLK_STUCK:
		return false;
	case NPU_FAULT_MMU_RESET:
	case NPU_FAULT_MMU_PAGING:
		return mmu_failures;
	case NPU_FAULT_POWER_STUCK:
		/* Older drivers of the domains do not tell that one stayed off. */
		return !rk_kernel_before(6, 13);
	default:
		return true;
	}
}

/* Of the other kinds, 0 is the most general one. */
static uint32_t fault_param(uint32_t kind)
{
	switch (kind) {
	case NPU_FAULT_MMU_STRAY:
		return below(1000000);
	case NPU_FAULT_CPU_HELD:
		return below(20000000);
	default:
		return 0;
	}
}

static void arm_something(void)
{
	uint32_t kind = 1 + below(NPU_FAULT_MAX);

	if (!survivable(kind))
		return;
	/* Costs a core until it is bound again: seldom. */
	if (kind == NPU_FAULT_RESET_STUCK && below(10))
		kind = NPU_FAULT_HANG;
	/*
	 * The kernel asks ten million times whether the domain is on, which takes
	 * a guest more than a minute.
	 */
	if (kind == NPU_FAULT_POWER_STUCK && below(20))
		return;
	rk_fault_arm_param(below(2) ? NPU_CTL_ANY_CORE : below(RK_CORES), kind, below(6), 1,
			   fault_param(kind));
	did.armed[kind]++;
	if (!below(10))
		disarm();
}

static void rebind(const char *core)
{
	if (put(DRIVER "/unbind", core))
		did.unbinds++;
	rk_sleep_ms(below(300));
	for (int i = 0; i < 100 && !put(DRIVER "/bind", core); i++)
		rk_sleep_ms(50);
}

static void force_power(void)
{
	char path[128];

	/* One in four wakes the IOMMU alone. */
	snprintf(path, sizeof(path), DRIVER "/%s/%spower/control", cores[below(RK_CORES)],
		 below(4) ? "" : "iommu/device/");
	if (put(path, below(2) ? "on" : "auto"))
		shared->power++;
}

/* In a hurry: whatever else happens meets cores and IOMMUs that somebody wakes. */
static pid_t start_waker(void)
{
	uint64_t seed = (uint64_t)rnd() << 32 | rnd() | 1;
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rng = seed;
	while (!shared->stop) {
		force_power();
		usleep(below(4000));
	}
	_exit(0);
}

static void console(bool there)
{
	glob_t g = { 0 };
	static char device[64];

	if (!there && !glob("/sys/bus/virtio/drivers/virtio_console/virtio*", 0, NULL, &g))
		snprintf(device, sizeof(device), "%s", strrchr(g.gl_pathv[0], '/') + 1);
	globfree(&g);
	if (device[0])
		put(there ? "/sys/bus/virtio/drivers/virtio_console/bind" :
			    "/sys/bus/virtio/drivers/virtio_console/unbind", device);
}

/* All of system sleep but the sleep itself. The testbed's console would not come back. */
static void rehearse_sleep(void)
{
	console(false);
	put("/sys/module/suspend/parameters/pm_test_delay", "1");
	if (put("/sys/power/pm_test", "devices") && put("/sys/power/state", "freeze"))
		did.sleeps++;
	else
		did.sleeps_refused++;
	put("/sys/power/pm_test", "none");
	console(true);
}

/* ---- telling ---- */

static int out = 1;

/* The console that took over from the one that went to sleep. */
static void find_output(void)
{
	glob_t g = { 0 };

	for (int tries = 0; tries < 50; tries++, rk_sleep_ms(20)) {
		if (glob("/sys/class/virtio-ports/*", 0, NULL, &g))
			continue;
		for (size_t i = 0; i < g.gl_pathc; i++) {
			char path[300], name[64] = "";
			FILE *f;

			snprintf(path, sizeof(path), "%s/name", g.gl_pathv[i]);
			f = fopen(path, "re");
			if (f && !fgets(name, sizeof(name), f))
				name[0] = 0;
			if (f)
				fclose(f);
			if (strcmp(name, "testbed.out\n"))
				continue;
			snprintf(path, sizeof(path), "/dev/%s", strrchr(g.gl_pathv[i], '/') + 1);
			out = open(path, O_WRONLY | O_CLOEXEC);
		}
		globfree(&g);
		if (out >= 0)
			return;
	}
}

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (out >= 0)
		vdprintf(out, fmt, ap);
	va_end(ap);
}

static unsigned long sum(atomic_ulong *v, size_t n)
{
	unsigned long s = 0;

	for (size_t i = 0; i < n; i++)
		s += v[i];
	return s;
}

static void progress(unsigned int minute)
{
	char line[200];

	snprintf(line, sizeof(line),
		 "soak: minute %u: %lu good, %lu failed, %lu wrong, %lu faults, %lu unbinds, %lu sleeps\n",
		 minute, sum(shared->good, KINDS), sum(shared->failed, KINDS * ERRNOS),
		 sum(shared->wrong, KINDS), fired(), did.unbinds, did.sleeps);
	put("/dev/kmsg", line);
	if (!did.sleeps && !did.sleeps_refused)
		say("%s", line);
}

static void report(void)
{
	say("clients         %lu, %lu of their processes killed\n", shared->clients, did.killed);
	for (int k = 0; k < KINDS; k++)
		say("%-15s %lu good, %lu wrong\n", kind_names[k], shared->good[k],
		    shared->wrong[k]);
	for (int k = 0; k < KINDS; k++)
		for (int e = 0; e < ERRNOS; e++)
			if (shared->failed[k * ERRNOS + e])
				say("failed          %lu %s of %s\n",
				    shared->failed[k * ERRNOS + e],
				    e ? strerrorname_np(e) : "?", kind_names[k]);
	for (int e = 0; e < ERRNOS; e++)
		if (shared->refused[e])
			say("no device       %lu %s\n", shared->refused[e],
			    e ? strerrorname_np(e) : "?");
	say("attacks        ");
	for (size_t i = 0; i < NUM(attacks); i++)
		say(" %s:%lu/%lu", attacks[i].name, attacks[i].hits, attacks[i].begun);
	say("\nfaults armed   ");
	for (int i = 1; i <= NPU_FAULT_MAX; i++)
		say(" %d:%lu", i, did.armed[i]);
	say(", fired %lu\n", fired());
	say("core resets     %llu, hangs %llu\n",
	    (unsigned long long)rk_count_all(NPU_CNT_RESET),
	    (unsigned long long)rk_count_all(NPU_CNT_HANG));
	say("unbinds         %lu, power states %lu, sleeps %lu (%lu refused)\n",
	    did.unbinds, shared->power, did.sleeps, did.sleeps_refused);
}

/* ---- the run ---- */

static void one_event(pid_t *pid, bool sleeps)
{
	unsigned int w = below(WORKERS);
	uint32_t dice = below(1000);

	if (dice < 450) {
		arm_something();
	} else if (dice < 650) {
		kill(pid[w], SIGKILL);
		waitpid(pid[w], NULL, 0);
		did.killed++;
		pid[w] = start_worker();
	} else if (dice < 750) {
		rebind(cores[below(RK_CORES)]);
	} else if (dice < 850) {
		force_power();
	} else if (dice < 880 && sleeps) {
		rehearse_sleep();
	} else if (dice < 900) {
		change_attack();
	} else {
		rk_latency_us(below(4) ? 0 : below(20000));
	}
	keep_attacking();
	/* Whatever was armed: it is to survive that, too. */
	rk_scrub(below(4));
}

static void run(unsigned int seconds, bool hurry, bool sleeps)
{
	int64_t start = rk_now(), end = start + seconds * 1000ll * RK_MS;
	unsigned int pause_ms = hurry ? 40 : 800;
	pid_t pid[WORKERS], waker = 0;
	unsigned int minute = 0;

	for (int i = 0; i < WORKERS; i++)
		pid[i] = start_worker();
	if (hurry)
		waker = start_waker();
	change_attack();
	while (rk_now() < end) {
		rk_sleep_ms(pause_ms / 16 + below(pause_ms));
		one_event(pid, sleeps);
		if (rk_now() > start + (minute + 1) * 60000ll * RK_MS)
			progress(++minute);
	}
	disarm();
	rk_latency_us(0);
	end_attack();
	rk_module_param("max_hangs", 0);
	shared->stop = true;
	for (int i = 0; i < WORKERS; i++)
		waitpid(pid[i], NULL, 0);
	if (waker)
		waitpid(waker, NULL, 0);
}

static bool settles(const char *stat)
{
	for (int i = 0; i < 200 && rk_stat(stat); i++)
		rk_sleep_ms(50);
	say("%-15s %lld left\n", stat, rk_stat(stat));
	return !rk_stat(stat);
}

static bool works(void)
{
	int fd = -ENODEV;

	for (int i = 0; i < RK_CORES; i++)
		rebind(cores[i]);
	for (int i = 0; i < 200 && fd < 0; i++, rk_sleep_ms(10))
		fd = rk_open();
	return fd >= 0 && !rk_run_on_every_core(fd, 20);
}

int main(int argc, char **argv)
{
	const char *hurry = getenv("RKNPU_SOAK_SECONDS");
	unsigned int seconds = hurry ? atoi(hurry) : 60 * (argc > 1 ? atoi(argv[1]) : 30);
	bool sleeps = getenv("RKNPU_SOAK_SLEEP"), clean, working;

	rng = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	rng = rng * 0x9e3779b97f4a7c15 + 1;
	signal(SIGPIPE, SIG_IGN);
	if (!rk_model() || !find_cores()) {
		fprintf(stderr, "needs the NPU model and three cores\n");
		return 1;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	hostile = mmap(NULL, sizeof(*hostile), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || hostile == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1))
		return 1;
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
	rk_module_param("hang_ban_ms", FORGIVEN_MS);
	/* So that the attacker takes all of it in a moment. */
	rk_module_param("max_user_memory_percent", 13);
	rk_module_param("max_memory_percent", 15);
	mmu_failures = passthrough();
	run(seconds, hurry, sleeps);
	if (did.sleeps || did.sleeps_refused) {
		out = -1;
		find_output();
	}
	report();
	clean = settles("bos") & settles("vms");
	working = works();
	say("the device      %s\n", working ? "works" : "DOES NOT WORK");
	/* In a hurry the device may be gone whenever an attack begins. */
	return sum(shared->wrong, KINDS) || !clean || !working || !sum(shared->good, KINDS) ||
	       (!hurry && !all_attacked());
}
