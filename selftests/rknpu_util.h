/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the selftests share: the device, ioctls that return a negative errno,
 * buffers, a small provable job, and the test interface of the NPU model.
 */
#ifndef RKNPU_UTIL_H
#define RKNPU_UTIL_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>
#include <xf86drm.h>

#include <drm/rocket_accel.h>

#include "rknpu_model_regs.h"


#define RK_CORES	3
#define RK_PAGE		4096u
/* What an open file counts as page tables do. */
#define RK_FILE_BYTES	(160u * 1024)
#define RK_MS		1000000ll
#define RK_FOREVER	INT64_MAX
/* The module's default. */
#define RK_TASK_TIMEOUT_MS	500

/* ---- device ---- */

/* An open file of the node whose driver is named "rocket", or a negative errno. */
int rk_open(void);
/*
 * The same as root, but the file is that user's, as when one of its processes had opened it.
 * @open: rk_open() or another one of them.
 */
int rk_open_as(uid_t uid, int (*open)(void));
/* The path rk_open() found last. */
const char *rk_path(void);
/*
 * 0 or a negative errno, as the kernel said it at the first try: drmIoctl() of libdrm would hide what a signal does.
 */
int rk_ioctl(int fd, unsigned long request, void *arg);
/* Is that the name of the file's DRM driver? */
bool rk_is_driver(int fd, const char *name);
/* True when /sys/module says that our own module drives the device. */
bool rk_ours(void);
/* With the vendor's device tree: one device is all cores, and one address space is on all of them. */
bool rk_one_iommu(void);
/* Nothing translates what programs name: they hold bus addresses. */
bool rk_no_iommu(void);
/* Can a core lose its power? Kernels without a driver for power domains are given none. */
bool rk_power_domains(void);
/* Core 0 takes no interrupts: by parameter, or because it has none. */
bool rk_polled(void);
/* For what a kernel does without telling in another way. */
bool rk_kernel_before(unsigned int major, unsigned int minor);
/* To a file of the kernel's, which must be there. */
int rk_write_file(const char *path, const char *text);
/* How long cores without work stay awake; what it was, or a negative errno. */
int rk_autosuspend_ms(int ms);

/* The kernel's log, from now on. */
int rk_log_open(void);
/* Reads on until a line has it; false if no line of what is there has. */
bool rk_log_says(int log, const char *what);
/*
 * Has @refused called, which is to return @err, until the log says why, with DRM's messages for
 * the debugging of drivers on: there are few in a second. 0, or what else it returned, or -ENOMSG.
 */
int rk_refusal_told(int (*refused)(void *arg), void *arg, int err, const char *why);
/* Sets a parameter of our module; other drivers keep theirs. */
void rk_module_param(const char *name, unsigned int value);
/* Its deadline per task. */
void rk_task_timeout_ms(unsigned int ms);
/* Does it overwrite what a client leaves in a core's memories? By default it does. */
void rk_scrub(bool on);
/* As "EIO"; one without a name that a driver returns is "errno N", until the next call. The C library has it from 2.32 on. */
const char *rk_errno_name(int err);
/* RKNPU_TEST_SLOW: how many times longer than usual things may take, at least 1. */
unsigned int rk_slow(void);
/* RKNPU_LONG: take the time that thorough tests need. */
bool rk_long(void);
/* Gives up one of CAP_*, or what lets a process have the highest priority: 0 or a negative errno. */
int rk_drop_capability(unsigned int cap);
int rk_drop_sys_nice(void);
/* The calling thread runs on @cpu alone: 0 or a negative errno. */
int rk_use_cpu(int cpu);
/* Does it wait in an ioctl, at the latest in a while? */
bool rk_in_ioctl(pid_t pid);
int64_t rk_now(void);
void rk_sleep_ms(unsigned int ms);
/*
 * SIGALRM, which does nothing, again and again from now on: one may come before the call that it
 * is to interrupt. 0: no more.
 */
void rk_alarms(unsigned int ms, int flags);

/* ---- cases of programs that do without the harness ---- */

struct rk_named {
	const char *name;
	const char *shows;
};

/* Prints what each shows and returns true if "-l" asks for it. */
bool rk_listed(int argc, char **argv, const struct rk_named *cases, size_t n);

/* ---- buffers ---- */

struct rk_bo {
	int fd;
	uint32_t handle;
	uint32_t size;
	uint64_t iova;
	uint64_t offset;
	uint8_t *map;
};

/* Creates and maps; every function returns 0 or a negative errno. */
int rk_bo_init(struct rk_bo *bo, int fd, uint32_t size);
void rk_bo_fini(struct rk_bo *bo);
/* One that nobody maps. */
int rk_create_bo(int fd, uint32_t size, uint32_t *handle);
/* Such BOs of @largest bytes, of half of that and so on, until a page is refused: with what. */
int rk_take_memory(int fd, uint32_t largest);
int rk_gem_close(int fd, uint32_t handle);
/* A dma-buf of it, or a negative errno. */
int rk_export(int fd, uint32_t handle);
/* The CPU's access to a dma-buf begins or ends: DMA_BUF_SYNC_* of linux/dma-buf.h. */
int rk_dmabuf_sync(int buf, uint64_t flags);
/* Copies to where it is mapped, as an access that begins and ends. */
int rk_dmabuf_write(int buf, void *map, const void *from, size_t n);
/* PREP_BO with an absolute deadline, and relative to now. */
int rk_prep_until(int fd, uint32_t handle, int64_t deadline);
/* With patience: @timeout_ms times rk_slow(). */
int rk_prep(const struct rk_bo *bo, int64_t timeout_ms);
int rk_fini(const struct rk_bo *bo);
/* Fills the first @n bytes and hands the BO to the NPU. */
int rk_bo_fill(struct rk_bo *bo, int value, size_t n);
/* Waits, then: number of bytes among the first @n that differ from @value. */
long rk_bo_differs(struct rk_bo *bo, int value, size_t n);

/* ---- a job whose result shows whether, when and on what it ran ---- */

/* The register that takes the address of a program. */
#define PC_BASE_ADDRESS		0x0010

#define RK_CHANNELS		32u
#define RK_PROGRAM_ENTRIES	126u

/*
 * C[m][32] = A[m][k] * B[32][k], saturated to int8. @m is 1 or a multiple of 4, @k one of 32;
 * @bias has an int32 for each column, or is 0.
 */
struct rk_product {
	uint32_t m, k;
	uint32_t in, weights, out, bias;
};

/* Writes RK_PROGRAM_ENTRIES entries, and returns their number. */
uint32_t rk_program(uint64_t *entries, const struct rk_product *p);
/* The weights of m * 32 bytes times @gain, plus @bias. */
void rk_diagonal(int8_t *weights, int gain, int32_t *biases, int bias);

/*
 * out[i] = saturate_int8(in[i] * gain + bias) for m * 32 bytes: a 1x1 int8
 * convolution with a diagonal weight matrix, bias and requantisation by 1.
 */
struct rk_op {
	struct rk_bo bo;
	uint32_t m;
	int bias;
	uint32_t used;
};

/* Where its programs begin: @used of an op that has none. */
#define RK_OP_PROG	(2 * RK_PAGE)
#define RK_OP_BYTES(m)	((size_t)(m) * 32)
#define RK_M		4u
#define RK_BYTES	RK_OP_BYTES(RK_M)

int rk_op_init(struct rk_op *op, int fd, uint32_t m, int gain, int bias);
/* Appends a program and describes it in @task; each op has room for 48. */
int rk_op_task(struct rk_op *op, uint64_t in, uint64_t out, struct drm_rocket_task *task);
void rk_op_fini(struct rk_op *op);

/* Fills a job; the arrays are referenced, not copied. */
void rk_job(struct drm_rocket_job *job, const struct drm_rocket_task *tasks, uint32_t ntasks,
	    const uint32_t *in, uint32_t nin, const uint32_t *out, uint32_t nout);
int rk_submit(int fd, const struct drm_rocket_job *jobs, uint32_t njobs);
/* One job of one task, @in to @out. */
int rk_submit_op(struct rk_op *op, const struct rk_bo *in, const struct rk_bo *out);
/* A job that reads @in and writes @out with a task described before. */
int rk_submit_task(int fd, const struct drm_rocket_task *task,
		   const struct rk_bo *in, const struct rk_bo *out);

/* Ends the program of @t by naming that of @next, for batched jobs; rk_fini() has to follow. */
void rk_chain(struct rk_op *op, const struct drm_rocket_task *t, const struct drm_rocket_task *next);

/* The same for the calls beyond mainline's. */
void rk_job_ext(struct drm_rocket_job_ext *job, const struct drm_rocket_task *tasks,
		uint32_t ntasks, const struct rk_bo *in, const struct rk_bo *out);
/* The number of the first job goes to @first, unless that is NULL. */
int rk_submit_ext(int fd, const struct drm_rocket_job_ext *jobs, uint32_t njobs, uint64_t *first);
int rk_wait_job(int fd, uint64_t job, int64_t deadline, struct drm_rocket_wait_job *w);
int rk_get_param(int fd, uint32_t which, uint32_t index, uint64_t *value);
/* 0 for one that is refused. */
uint64_t rk_param(int fd, uint32_t which);
/* The number of the file's newest job, found by asking about numbers; 0 if there is none. */
uint64_t rk_last_job(int fd);

/* ---- a self-contained client: one op and two buffers ---- */

struct rk_client {
	int fd;
	struct rk_op inc;
	struct rk_bo in;
	struct rk_bo out;
};

int rk_client_init(struct rk_client *c);
/* On an open file, which belongs to the client from then on. */
int rk_client_init_on(struct rk_client *c, int fd);
void rk_client_fini(struct rk_client *c);
/*
 * Runs a job that adds 1 to @value and checks every byte: 0, a negative errno
 * of the driver, or -EILSEQ when the result is wrong.
 */
int rk_client_run(struct rk_client *c, int value);
/*
 * @rounds times three independent jobs at once, checked: one per core, which
 * the model's counters can confirm.  0 or a negative errno as rk_client_run().
 */
int rk_run_on_every_core(int fd, unsigned int rounds);

/* ---- a job of three tasks on one core, and how it ended ---- */

#define RK_TRIAL_TASKS	3

struct rk_trial {
	struct rk_client c;
	struct drm_rocket_task t[RK_TRIAL_TASKS];
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	uint64_t id;
};

int rk_trial_init(struct rk_trial *t, unsigned int core, unsigned int task_timeout_ms);
/* Does nothing the second time. */
void rk_trial_fini(struct rk_trial *t);
int rk_trial_submit(struct rk_trial *t);
/* Waits, too. Each byte of the output is 6 then. */
int rk_trial_run(struct rk_trial *t);

/* ---- one file, and as many independent jobs as fit one program buffer ---- */

#define RK_TEAM_JOBS	30

struct rk_team {
	int fd;
	struct rk_op inc;
	struct rk_bo in;
	struct rk_bo out[RK_TEAM_JOBS];
	struct drm_rocket_task task[RK_TEAM_JOBS];
	int ret[RK_TEAM_JOBS];
};

int rk_team_init(struct rk_team *t);
void rk_team_fini(struct rk_team *t);
/* The first @n jobs, in one ioctl: each adds 1 to @value. */
int rk_team_submit(struct rk_team *t, int n, int value);
/* Fills rk_team::ret: 0 with the right result, -EILSEQ with a wrong one, or the driver's error. */
void rk_team_collect(struct rk_team *t, int n, int value, unsigned int patience_ms);
/* How many of the first @n ended that way. */
int rk_team_count(const struct rk_team *t, int n, int ret);

/* ---- vgem, another driver whose fences user space signals ---- */

#define RK_VGEM_WRITE	1u

/* A file of its node, or negative if there is none. */
int rk_vgem_open(void);
/* A BO of one page. */
int rk_vgem_create(int vgem, uint32_t *handle);
/* From now on vgem reads or writes its BO, for 10 s at most. The fence, or 0. */
uint32_t rk_vgem_begin(int vgem, uint32_t handle, uint32_t flags);
int rk_vgem_end(int vgem, uint32_t fence);

/* ---- the model's control device; absent on a board ---- */

bool rk_model(void);
uint32_t rk_ctl_read(uint32_t off);
void rk_ctl_write(uint32_t off, uint32_t value);
uint64_t rk_ctl_read64(uint32_t off);
uint64_t rk_count(unsigned int core, enum npu_ctl_counter c);
uint64_t rk_count_all(enum npu_ctl_counter c);
/*
 * Why the last task of a core hung for which the model itself decided that: false if there
 * was none. Armed faults do not count. rk_prep() prints what is new when a job fails.
 */
bool rk_hang_reason(unsigned int core, char *text, size_t size);
/* Prints the reasons of those that are new; and what is old from now on. */
void rk_tell_hangs(void);
void rk_forget_hangs(void);
/*
 * For differences of kicks and tasks: without those by which the driver overwrites a
 * core's memories when its client changes, as it does with the first job of a file.
 */
uint64_t rk_count_jobs(unsigned int core, enum npu_ctl_counter c);
uint64_t rk_count_all_jobs(enum npu_ctl_counter c);
/*
 * Fixed task time, 4.29 s at most; 0 = the model's own.  That time and armed faults are
 * for tasks of tests: cores are not scrubbed from then on until rk_model_calm().
 */
void rk_latency_us(uint32_t us);
void rk_fault_arm(uint32_t core, uint32_t kind, uint32_t skip, uint32_t count);
/* The same for kinds that take a parameter. */
void rk_fault_arm_param(uint32_t core, uint32_t kind, uint32_t skip, uint32_t count,
			uint32_t param);
uint32_t rk_fault_fired(void);
/* Starts of programs that the model saw since its trace was started, in order. */
struct rk_start {
	uint32_t regcmd;
	unsigned int core;
};

void rk_trace_start(void);
/* Stops the trace; how many starts were filled in, or -1 if some were not recorded. */
int rk_trace_starts(struct rk_start *s, unsigned int max);
/* What was last written to the register at @offset of a core; false if nothing was. */
bool rk_trace_last(uint32_t offset, uint32_t *value);
/*
 * No fault armed, the model's own task time, the module's own deadline, and it scrubs.
 * Nobody is slowed down or banned for what fails, and tasks may take 10 s.
 */
void rk_model_calm(void);
/* Polls a counter until it is @value; false when @ms passed. */
bool rk_wait_count(unsigned int core, enum npu_ctl_counter c, uint64_t value, unsigned int ms);

/* Waits until no core is in use: off or, where there are no power domains, suspended. */
bool rk_wait_asleep(unsigned int ms);
/* No core goes to sleep: the VM of its last job stays attached. */
void rk_stay_awake(bool on);

/* Value of "name" in a line "name value" of the driver's stats, or -1. */
long long rk_stat(const char *name);
/* Bytes of a row of /proc/meminfo, whose name has no colon here, or -1. */
long long rk_meminfo(const char *name);
long long rk_core_stat(unsigned int core, const char *name);
/* The sum over all cores. */
long long rk_cores_stat(const char *name);
/* Waits for "name" to be @value again, and prints both if it is not; false after 30 s. */
bool rk_stat_settles(const char *name, long long value);
/* Interrupts that the kernel took on all lines of cores, also those that were over by then. */
unsigned long rk_irqs_taken(void);
/* The number behind "key:" in what /proc says of a file, -1 if it does not, or another negative errno. */
long long rk_fdinfo(int fd, const char *key);
/* A core that no driver has, and with it the device. */
struct rk_unbound {
	char path[512];
	char name[64];
};

int rk_unbind(unsigned int core, struct rk_unbound *u);
/* Waits for the device node, unless the driver refuses. */
int rk_bind(const struct rk_unbound *u);
/* Unbinds a core from our driver and binds it again. */
int rk_rebind(unsigned int core);
/*
 * Makes a core one that is polled, if it is not: binds it anew, and loses interrupts of its
 * until the driver gives them up. Files that were open are of no use then. rk_rebind() undoes it.
 */
int rk_poll_core(unsigned int core);

/* A driver that has all or some of the calls beyond mainline's. */
#define RK_ANY_FEATURE	UINT64_MAX

#define RK_REQUIRE_FEATURE(feature)					\
	do {								\
		int fd_;						\
									\
		RK_OPEN_OR_SKIP(fd_);					\
		if (!(rk_param(fd_, DRM_ROCKET_PARAM_FEATURES) & (feature)))	\
			SKIP(return, "not this driver");		\
		close(fd_);						\
	} while (0)

#define RK_REQUIRE_SCHED(fd)						\
	do {								\
		if (!(rk_param(fd, DRM_ROCKET_PARAM_FEATURES) &		\
		      DRM_ROCKET_FEATURE_SCHED))			\
			SKIP(return, "the driver only checks what the scheduler is told"); \
	} while (0)

#define RK_REQUIRE_MODEL()						\
	do {								\
		if (!rk_model())					\
			SKIP(return, "needs the NPU model");		\
	} while (0)

#define RK_REQUIRE_IOMMU()						\
	do {								\
		if (rk_no_iommu())					\
			SKIP(return, "the NPU has no IOMMU");		\
	} while (0)

/* Some of an SoC's cores may be disabled, or out of service. In-tree rocket does not tell. */
#define RK_REQUIRE_CORES(fd)						\
	do {								\
		if (rk_ours() && rk_param(fd, DRM_ROCKET_PARAM_CORE_MASK) != (1 << RK_CORES) - 1)	\
			SKIP(return, "not all cores can be given jobs");	\
	} while (0)

#define RK_REQUIRE_POWER_DOMAINS()					\
	do {								\
		if (!rk_power_domains())				\
			SKIP(return, "the NPU has no power domain here");	\
	} while (0)

#define RK_OPEN_OR_SKIP(fd)						\
	do {								\
		(fd) = rk_open();					\
		if ((fd) < 0)						\
			SKIP(return, "no NPU: %s", strerror(-(fd)));	\
		rk_model_calm();					\
	} while (0)

#endif /* RKNPU_UTIL_H */
