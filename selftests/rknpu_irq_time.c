// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the driver keeps interrupts off, however many clients, jobs, dependents and
 * BOs there are: its interrupts, and the times for which it holds its spinlocks. The
 * unit is instructions: with RKNPU_ICOUNT the guest's nanoseconds are that
 * (tools/testbed/bin/run --icount), and without it nothing is measured.
 *
 * One CPU, whose time is the instructions it has run. irqlong has all the clients, jobs and BOs, irqtime a quarter.
 * boot: irqtime LONG TEST_LIMIT=900 ENV=RKNPU_ICOUNT=1 --icount
 * boot: irqlong RARE TEST_LIMIT=900 ENV=RKNPU_ICOUNT=1 ENV=RKNPU_LONG=1 --icount
 * boot: clock
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rknpu_harness.h"

#define TRACING		"/sys/kernel/tracing/"
#define EVENTS		TRACING "events/"
#define ENTRY		EVENTS "irq/irq_handler_entry/trigger"
#define EXIT		EVENTS "irq/irq_handler_exit/trigger"
#define HIST		EVENTS "irq/irq_handler_exit/hist"
#define REMEMBER	"hist:keys=irq:ts0=common_timestamp if name ~ \"*.npu\""
#define FREQ		"/proc/rknpu/freq"
#define LOW_HZ		"300000000\n"
#define HIGH_HZ		"1000000000\n"
#define LONGEST		"hist:keys=irq:took=common_timestamp-$ts0:onmax($took).save(ret)"
#define MOST		8191u
#define AT_ONCE		1024u

/* One boot with operating points is for what changes rates, and another one for the rest. */
static bool has_rates(void)
{
	bool has = !rk_write_file(FREQ, LOW_HZ);

	rk_write_file(FREQ, "0\n");
	return has;
}

FIXTURE(time) {
	struct rk_client c;
	struct drm_rocket_task task;
	struct drm_rocket_job_ext jobs[AT_ONCE];
	struct drm_rocket_sync sync;
};

FIXTURE_SETUP(time)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	if (!getenv("RKNPU_ICOUNT"))
		SKIP(return, "counts instructions, which takes a machine that does");
	if (access(HIST, R_OK))
		SKIP(return, "the kernel has no histograms of events, or this is not root");
	if (has_rates())
		SKIP(return, "for a device tree without operating points");
	ASSERT_EQ(0, rk_client_init(&self->c));
	/* Powers the core up and attaches. */
	ASSERT_EQ(0, rk_client_run(&self->c, 1));
	ASSERT_EQ(0, drmSyncobjCreate(self->c.fd, 0, &self->sync.handle));
	ASSERT_EQ(0, rk_op_task(&self->c.inc, self->c.in.iova, self->c.out.iova, &self->task));
	ASSERT_EQ(0, rk_fini(&self->c.inc.bo));
	rk_stay_awake(true);
}

FIXTURE_TEARDOWN(time)
{
	rk_model_calm();
	rk_stay_awake(false);
	if (self->c.fd > 0)
		rk_client_fini(&self->c);
}

/* One on core 0 that takes long, and @n behind it that wait for its fence. */
static int queue(FIXTURE_DATA(time) *self, uint32_t n)
{
	struct drm_rocket_job_ext first;
	int ret;

	for (uint32_t i = 0; i < AT_ONCE; i++) {
		rk_job_ext(&self->jobs[i], &self->task, 1, NULL, NULL);
		self->jobs[i].core_mask = 1;
		self->jobs[i].in_syncs = (uintptr_t)&self->sync;
		self->jobs[i].in_sync_count = 1;
	}
	rk_job_ext(&first, &self->task, 1, &self->c.in, &self->c.out);
	first.core_mask = 1;
	first.timeout_ns = 20000 * RK_MS;
	first.out_syncs = (uintptr_t)&self->sync;
	first.out_sync_count = 1;
	rk_latency_us(4000000);
	ret = rk_submit_ext(self->c.fd, &first, 1, NULL);
	rk_sleep_ms(5);
	rk_latency_us(0);
	for (uint32_t done = 0, some; done < n && !ret; done += some) {
		some = n - done < AT_ONCE ? n - done : AT_ONCE;
		ret = rk_submit_ext(self->c.fd, self->jobs, some, NULL);
	}
	return ret;
}

/* Of all interrupts of the NPU since the triggers were set, the longest, or an error. */
static long longest_interrupt(void)
{
	FILE *f = fopen(HIST, "re");
	char line[256], *max;
	long longest = -ENOENT;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		max = strstr(line, "max:");
		if (max && atol(max + 4) > longest)
			longest = atol(max + 4);
	}
	fclose(f);
	return longest;
}

/* The longest interrupt from before the first job's end until all are over, or an error. */
static long measure_interrupt(FIXTURE_DATA(time) *self, uint32_t n)
{
	long long end = rk_core_stat(0, "jobs") + n + 1;
	long ret = queue(self, n);

	if (!ret)
		ret = rk_write_file(ENTRY, REMEMBER);
	if (!ret)
		ret = rk_write_file(EXIT, LONGEST);
	if (!ret)
		ret = rk_prep(&self->c.out, 60000);
	for (int i = 0; i < 6000 && !ret && rk_core_stat(0, "jobs") != end; i++)
		rk_sleep_ms(10);
	if (!ret)
		ret = rk_core_stat(0, "jobs") == end ? longest_interrupt() : -ETIME;
	rk_write_file(EXIT, "!" LONGEST);
	rk_write_file(ENTRY, "!" REMEMBER);
	return ret;
}

/* Fewer than these show a loop over them only if it is a long one. */
#define FEW	1000u

static uint32_t so_many(uint32_t n)
{
	return rk_long() || n <= FEW ? n : n / 4;
}

RK_TEST_F_TIMEOUT(time, an_interrupt_and_jobs_that_wait, 300,
		  "an interrupt takes as long with thousands of jobs that wait for the one it ends as with one")
{
	const uint32_t counts[] = { 1, 100, so_many(MOST) };
	long took[3];

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		took[i] = measure_interrupt(self, counts[i]);
		TH_LOG("%u jobs wait: %ld instructions", counts[i], took[i]);
		ASSERT_LT(0, took[i]);
	}
	EXPECT_GT(2 * took[0], took[1]);
	EXPECT_GT(2 * took[0], took[2]);
}

/* ---- how long the driver holds spinlocks ---- */

/* Three pairs of functions of the kernel, with a probe on each. */
static const struct {
	const char *lock;
	const char *unlock;
} pairs[] = {
	{ "_raw_spin_lock", "_raw_spin_unlock" },
	{ "_raw_spin_lock_irq", "_raw_spin_unlock_irq" },
	{ "_raw_spin_lock_irqsave", "_raw_spin_unlock_irqrestore" },
};

struct hold {
	long took;
	unsigned long ip;
};

static int append(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int add_probe(const char *format, const char *function)
{
	char line[128];

	snprintf(line, sizeof(line), format, function, function);
	return append(TRACING "kprobe_events", line);
}

/* Once locked, with interrupts off, and until they are on again: nobody comes between the two. */
static int add_probes(void)
{
	int ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(pairs) && !ret; i++)
		ret = add_probe("r:rknpu_locks/on%s %s lock=$arg1", pairs[i].lock) ?:
		      add_probe("p:rknpu_locks/off%s %s lock=$arg1 ip=%%lr", pairs[i].unlock);
	return ret;
}

static void remove_probes(void)
{
	append(TRACING "kprobe_events", "-:rknpu_locks/");
}

/* Where the driver's code is: what it locks itself counts. */
static int find_module(unsigned long *start, unsigned long *end)
{
	FILE *f = fopen("/proc/modules", "re");
	unsigned long size;
	char line[512];
	int ret = -ENOENT;

	if (!f)
		return -errno;
	while (ret && fgets(line, sizeof(line), f)) {
		char *at = strstr(line, " 0x");

		if (!at || sscanf(line, "rknpu_accel %lu ", &size) != 1)
			continue;
		*start = strtoul(at, NULL, 16);
		*end = *start + size;
		ret = 0;
	}
	fclose(f);
	return ret;
}

static int trigger(const char *kind, const char *function, const char *text, bool on)
{
	char path[192], line[256];

	snprintf(path, sizeof(path), EVENTS "rknpu_locks/%s%s/trigger", kind, function);
	snprintf(line, sizeof(line), "%s%s", on ? "" : "!", text);
	return append(path, line);
}

static int watch(size_t i, unsigned long start, unsigned long end, bool on)
{
	char remember[160], longest[192];

	snprintf(remember, sizeof(remember),
		 "hist:keys=lock:at%zu=common_timestamp if __probe_ret_ip >= 0x%lx && __probe_ret_ip < 0x%lx",
		 i, start, end);
	snprintf(longest, sizeof(longest),
		 "hist:keys=lock:took=common_timestamp-$at%zu:onmax($took).save(ip) if ip >= 0x%lx && ip < 0x%lx",
		 i, start, end);
	/* The second one refers to the first one's variable. */
	if (on)
		return trigger("on", pairs[i].lock, remember, true) ?:
		       trigger("off", pairs[i].unlock, longest, true);
	return trigger("off", pairs[i].unlock, longest, false) ?:
	       trigger("on", pairs[i].lock, remember, false);
}

static int watch_all(bool on)
{
	unsigned long start, end;
	int ret = find_module(&start, &end);

	for (size_t i = 0; i < ARRAY_SIZE(pairs) && !ret; i++)
		ret = watch(i, start, end, on);
	return ret;
}

static void find_longest(const char *function, struct hold *hold)
{
	char path[192], line[256], *max;
	bool longer = false;
	FILE *f;

	snprintf(path, sizeof(path), EVENTS "rknpu_locks/off%s/hist", function);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		max = strstr(line, "max:");
		if (max) {
			longer = atol(max + 4) > hold->took;
			if (longer)
				hold->took = atol(max + 4);
		}
		max = strstr(line, "ip:");
		if (max && longer)
			hold->ip = strtoul(max + 3, NULL, 0);
	}
	fclose(f);
}

/* Of all that the driver held since watch_all(). */
static struct hold longest_hold(void)
{
	struct hold hold = { .took = -ENOENT };

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		find_longest(pairs[i].unlock, &hold);
	return hold;
}

static void name_of(unsigned long ip, char *name, size_t size)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long at, best = 0;
	char line[512], symbol[128];

	snprintf(name, size, "?");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %*c %127s", &at, symbol) != 2 || at > ip || at < best)
			continue;
		best = at;
		snprintf(name, size, "%s", symbol);
	}
	if (f)
		fclose(f);
}

FIXTURE(locks) {
	struct rk_client c;
	struct drm_rocket_task task;
	struct drm_rocket_job_ext jobs[AT_ONCE];
	struct drm_rocket_sync sync;
	struct rk_unbound unbound;
	/* What there can be many of. */
	int *files;
	uint32_t file_count;
	struct rk_client *clients;
	uint32_t client_count;
	uint32_t *handles;
	uint32_t handle_count;
	uint64_t last;
};

/* The client whose jobs most kinds are about. */
static int open_client(FIXTURE_DATA(locks) *self)
{
	int ret = rk_client_init(&self->c);

	if (ret)
		return ret;
	ret = rk_client_run(&self->c, 1);
	ret = ret ?: drmSyncobjCreate(self->c.fd, 0, &self->sync.handle);
	ret = ret ?: rk_op_task(&self->c.inc, self->c.in.iova, self->c.out.iova, &self->task);
	return ret ?: rk_fini(&self->c.inc.bo);
}

static void close_client(FIXTURE_DATA(locks) *self)
{
	if (self->c.fd > 0)
		rk_client_fini(&self->c);
	self->c.fd = -1;
}

/* A job on core 0 that takes @ms. */
static int occupy(FIXTURE_DATA(locks) *self, uint32_t ms, uint32_t timeout_ms)
{
	struct drm_rocket_job_ext first;
	int ret;

	rk_job_ext(&first, &self->task, 1, &self->c.in, &self->c.out);
	first.core_mask = 1;
	first.timeout_ns = timeout_ms * RK_MS;
	first.out_syncs = (uintptr_t)&self->sync;
	first.out_sync_count = 1;
	rk_latency_us(ms * 1000);
	ret = rk_submit_ext(self->c.fd, &first, 1, NULL);
	if (!ret && !rk_wait_count(0, NPU_CNT_KICK, rk_count(0, NPU_CNT_KICK), 1000))
		ret = -ETIME;
	rk_sleep_ms(5);
	rk_latency_us(0);
	return ret;
}

static int submit_many(FIXTURE_DATA(locks) *self, uint32_t n, uint32_t mask, bool wait)
{
	uint64_t first = 0;
	int ret = 0;

	for (uint32_t i = 0; i < AT_ONCE; i++) {
		rk_job_ext(&self->jobs[i], &self->task, 1, NULL, NULL);
		self->jobs[i].core_mask = mask;
		self->jobs[i].in_syncs = (uintptr_t)&self->sync;
		self->jobs[i].in_sync_count = wait;
	}
	for (uint32_t done = 0, some; done < n && !ret; done += some) {
		some = n - done < AT_ONCE ? n - done : AT_ONCE;
		ret = rk_submit_ext(self->c.fd, self->jobs, some, &first);
		self->last = first + some - 1;
	}
	return ret;
}

static int wait_for_last(FIXTURE_DATA(locks) *self)
{
	struct drm_rocket_wait_job w;
	int ret;

	do
		ret = rk_wait_job(self->c.fd, self->last, rk_now() + 60000 * RK_MS, &w);
	while (ret == -EINTR);
	return ret;
}

static int open_files(FIXTURE_DATA(locks) *self, uint32_t n)
{
	while (self->file_count < n) {
		int fd = open(rk_path(), O_RDWR | O_CLOEXEC);

		if (fd < 0)
			return -errno;
		self->files[self->file_count++] = fd;
	}
	return 0;
}

static void close_files(FIXTURE_DATA(locks) *self)
{
	while (self->file_count)
		close(self->files[--self->file_count]);
}

static int change_rate(FIXTURE_DATA(locks) *self)
{
	int ret = rk_write_file(FREQ, LOW_HZ) ?: rk_write_file(FREQ, HIGH_HZ);

	return ret ?: rk_write_file(FREQ, "0\n");
}

static int while_busy(FIXTURE_DATA(locks) *self, uint32_t n)
{
	return open_files(self, n) ?: occupy(self, 1000, 20000);
}

static int look(FIXTURE_DATA(locks) *self)
{
	return rk_fdinfo(self->c.fd, "drm-engine-npu0") < 0 || rk_core_stat(0, "jobs") < 0 ||
	       rk_param(self->c.fd, DRM_ROCKET_PARAM_CORE_MASK) == 0 ? -EINVAL : 0;
}

static int run_one(FIXTURE_DATA(locks) *self)
{
	return rk_client_run(&self->c, 3);
}

static int close_one(FIXTURE_DATA(locks) *self)
{
	close(self->files[--self->file_count]);
	return 0;
}

static int unbind(FIXTURE_DATA(locks) *self)
{
	return rk_unbind(0, &self->unbound);
}

static void bind_again(FIXTURE_DATA(locks) *self)
{
	close_client(self);
	close_files(self);
	while (self->client_count)
		rk_client_fini(&self->clients[--self->client_count]);
	if (self->unbound.path[0])
		rk_bind(&self->unbound);
	memset(&self->unbound, 0, sizeof(self->unbound));
	rk_stay_awake(true);
	open_client(self);
}

static int queue_jobs(FIXTURE_DATA(locks) *self, uint32_t n)
{
	return occupy(self, 3000, 20000) ?: submit_many(self, n, 1, false);
}

static int queue_dependents(FIXTURE_DATA(locks) *self, uint32_t n)
{
	return occupy(self, 3000, 20000) ?: submit_many(self, n, 1, true);
}

static int queue_behind_a_hang(FIXTURE_DATA(locks) *self, uint32_t n)
{
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	return occupy(self, 0, 3000) ?: submit_many(self, n, 1, true);
}

static int queue_on_a_dead_core(FIXTURE_DATA(locks) *self, uint32_t n)
{
	int ret;

	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	ret = occupy(self, 0, 3000) ?: submit_many(self, (n + 1) / 2, 1, false) ?:
	      submit_many(self, n / 2, 3, false);
	rk_fault_arm_param(0, NPU_FAULT_CORE_DEAD, 0, 0, 0);
	return ret;
}

static int queue_of_many(FIXTURE_DATA(locks) *self, uint32_t n)
{
	int ret = 0;

	while (self->client_count < n && !ret) {
		ret = rk_client_init(&self->clients[self->client_count]);
		self->client_count += !ret;
	}
	ret = ret ?: occupy(self, 3000, 20000);
	for (uint32_t i = 0; i < n && !ret; i++) {
		struct rk_client *c = &self->clients[i];
		struct drm_rocket_task task;
		struct drm_rocket_job_ext job;

		c->inc.used = RK_OP_PROG;
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &task) ?: rk_fini(&c->inc.bo);
		rk_job_ext(&job, &task, 1, &c->in, &c->out);
		job.core_mask = 1;
		ret = ret ?: rk_submit_ext(c->fd, &job, 1, NULL);
	}
	return ret;
}

static int wait_for_many(FIXTURE_DATA(locks) *self)
{
	int ret = 0;

	for (uint32_t i = 0; i < self->client_count && !ret; i++)
		ret = rk_prep(&self->clients[i].out, 60000);
	return ret;
}

static void close_many(FIXTURE_DATA(locks) *self)
{
	while (self->client_count)
		rk_client_fini(&self->clients[--self->client_count]);
}

static int submit_another(FIXTURE_DATA(locks) *self)
{
	return submit_many(self, 1, 1, false);
}

static int close_all(FIXTURE_DATA(locks) *self)
{
	close_client(self);
	return 0;
}

static void open_again(FIXTURE_DATA(locks) *self)
{
	close_client(self);
	rk_model_calm();
	open_client(self);
}

static int wait_until_lost(FIXTURE_DATA(locks) *self)
{
	for (int i = 0; i < 3000; i++) {
		if (!(rk_param(self->c.fd, DRM_ROCKET_PARAM_CORE_MASK) & 1))
			return 0;
		rk_sleep_ms(10);
	}
	return -ETIME;
}

static void find_again(FIXTURE_DATA(locks) *self)
{
	close_client(self);
	rk_model_calm();
	rk_rebind(0);
	rk_stay_awake(true);
	open_client(self);
}

/* A job that writes @n BOs. */
static int list_bos(FIXTURE_DATA(locks) *self, uint32_t n)
{
	int ret = 0;

	while (self->handle_count < n && !ret) {
		ret = rk_create_bo(self->c.fd, RK_PAGE, &self->handles[self->handle_count]);
		self->handle_count += !ret;
	}
	return ret;
}

static int submit_bos(FIXTURE_DATA(locks) *self)
{
	struct drm_rocket_job_ext *job = &self->jobs[0];

	rk_job_ext(job, &self->task, 1, NULL, NULL);
	job->core_mask = 1;
	job->out_bo_handles = (uintptr_t)self->handles;
	job->out_bo_handle_count = self->handle_count;
	return rk_submit_ext(self->c.fd, job, 1, &self->last);
}

static int run_bos(FIXTURE_DATA(locks) *self)
{
	return submit_bos(self) ?: wait_for_last(self);
}

/* It is cancelled while it runs, and ends by its interrupt. */
static int list_bos_of_running(FIXTURE_DATA(locks) *self, uint32_t n)
{
	int ret = list_bos(self, n);
	struct drm_rocket_task two[2] = { self->task, self->task };
	struct drm_rocket_job_ext *job = &self->jobs[0];

	rk_latency_us(20000);
	rk_job_ext(job, two, 2, NULL, NULL);
	job->core_mask = 1;
	job->out_bo_handles = (uintptr_t)self->handles;
	job->out_bo_handle_count = self->handle_count;
	ret = ret ?: rk_submit_ext(self->c.fd, job, 1, &self->last);
	rk_sleep_ms(2);
	return ret;
}

static int cancel(FIXTURE_DATA(locks) *self)
{
	long long jobs = rk_core_stat(0, "jobs");

	close_client(self);
	for (int i = 0; i < 3000; i++) {
		if (rk_core_stat(0, "jobs") > jobs)
			return 0;
		rk_sleep_ms(1);
	}
	return -ETIME;
}

static void forget_bos(FIXTURE_DATA(locks) *self)
{
	self->handle_count = 0;
	open_again(self);
}

/* @act is measured, with one and with @many of what @prepare makes. */
FIXTURE_VARIANT(locks) {
	int (*prepare)(FIXTURE_DATA(locks) *self, uint32_t n);
	int (*act)(FIXTURE_DATA(locks) *self);
	void (*undo)(FIXTURE_DATA(locks) *self);
	uint32_t many;
	bool takes_rates;
	bool interrupts;
};

#define CLIENTS	10000u
#define BUSY_CLIENTS 1000u
/*
 * Locks that the kernel takes within the driver's have the probes' time added. How many those are
 * depends on the way that a job goes, not on how many jobs there are.
 */
#define PATHS	10000
#define BOS	4096u

#define KIND(name, ...) FIXTURE_VARIANT_ADD(locks, name) { __VA_ARGS__ }
KIND(clients_and_a_change_of_rate, while_busy, change_rate, close_files, CLIENTS, .takes_rates = true);
KIND(clients_and_readers, open_files, look, close_files, CLIENTS);
KIND(clients_and_a_job, open_files, run_one, close_files, CLIENTS, .interrupts = true);
KIND(clients_and_a_close, open_files, close_one, close_files, CLIENTS);
KIND(clients_and_unbind, open_files, unbind, bind_again, CLIENTS);
KIND(jobs_of_clients_that_run, queue_of_many, wait_for_many, close_many, BUSY_CLIENTS, .interrupts = true);
KIND(jobs_of_clients_and_unbind, queue_of_many, unbind, bind_again, BUSY_CLIENTS);
KIND(jobs_and_submit, queue_jobs, submit_another, open_again, MOST - 1);
KIND(jobs_that_run, queue_jobs, wait_for_last, open_again, MOST, .interrupts = true);
KIND(jobs_and_close, queue_jobs, close_all, open_again, MOST);
KIND(jobs_and_unbind, queue_jobs, unbind, bind_again, MOST);
KIND(jobs_of_a_lost_core, queue_on_a_dead_core, wait_until_lost, find_again, MOST);
KIND(dependents_that_run, queue_dependents, wait_for_last, open_again, MOST, .interrupts = true);
KIND(dependents_and_close, queue_dependents, close_all, open_again, MOST);
KIND(dependents_and_unbind, queue_dependents, unbind, bind_again, MOST);
KIND(dependents_and_a_timeout, queue_behind_a_hang, wait_for_last, open_again, MOST, .interrupts = true);
KIND(bos_of_a_job, list_bos, run_bos, forget_bos, BOS, .interrupts = true);
KIND(bos_of_a_job_that_is_cancelled, list_bos_of_running, cancel, forget_bos, BOS, .interrupts = true);

FIXTURE_SETUP(locks)
{
	struct rlimit files = { 2 * CLIENTS, 2 * CLIENTS };

	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	if (!getenv("RKNPU_ICOUNT"))
		SKIP(return, "counts instructions, which takes a machine that does");
	if (access(HIST, R_OK) || access(TRACING "kprobe_events", W_OK))
		SKIP(return, "the kernel has no histograms of events or no probes, or this is not root");
	if (rk_kernel_before(6, 9))
		SKIP(return, "the kernel's probes of returns know no arguments");
	if (variant->takes_rates != has_rates())
		SKIP(return, "for a device tree with operating points, or for one without");
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	self->files = calloc(CLIENTS, sizeof(*self->files));
	self->clients = calloc(BUSY_CLIENTS, sizeof(*self->clients));
	self->handles = calloc(BOS, sizeof(*self->handles));
	ASSERT_TRUE(self->files && self->clients && self->handles);
	rk_stay_awake(true);
	ASSERT_EQ(0, open_client(self));
	remove_probes();
	ASSERT_EQ(0, add_probes());
}

FIXTURE_TEARDOWN(locks)
{
	rk_model_calm();
	rk_stay_awake(false);
	close_client(self);
	remove_probes();
	free(self->files);
	free(self->clients);
	free(self->handles);
}

/* Of all locks of the driver, or an error. */
static struct hold measure_hold(FIXTURE_DATA(locks) *self, const FIXTURE_VARIANT(locks) *v,
				uint32_t n)
{
	struct hold hold;
	int ret = v->prepare(self, n) ?: watch_all(true);

	ret = ret ?: v->act(self);
	hold = longest_hold();
	watch_all(false);
	v->undo(self);
	if (ret)
		hold.took = ret;
	return hold;
}

/* Of all interrupts of the NPU, or an error. */
static long measure_longest(FIXTURE_DATA(locks) *self, const FIXTURE_VARIANT(locks) *v, uint32_t n)
{
	long ret = v->prepare(self, n);

	ret = ret ?: rk_write_file(ENTRY, REMEMBER);
	ret = ret ?: rk_write_file(EXIT, LONGEST);
	ret = ret ?: v->act(self);
	ret = ret ?: longest_interrupt();
	rk_write_file(EXIT, "!" LONGEST);
	rk_write_file(ENTRY, "!" REMEMBER);
	v->undo(self);
	return ret;
}

/* What the probes themselves take, with a lock that is held for hardly any time. */
static long measure_probes(FIXTURE_DATA(locks) *self)
{
	uint64_t v;
	long took;

	if (watch_all(true))
		return -EINVAL;
	rk_get_param(self->c.fd, DRM_ROCKET_PARAM_HW_VERSION, 0, &v);
	took = longest_hold().took;
	watch_all(false);
	return took;
}

static void check_interrupts(struct __test_metadata *_metadata, FIXTURE_DATA(locks) *self,
			     const FIXTURE_VARIANT(locks) *v)
{
	long one = measure_longest(self, v, 1), many = measure_longest(self, v, so_many(v->many));

	TH_LOG("interrupts: 1: %ld instructions, %u: %ld", one, so_many(v->many), many);
	ASSERT_LT(0, one);
	ASSERT_LT(0, many);
	EXPECT_GT(2 * one, many);
}

RK_TEST_F_TIMEOUT(locks, interrupts_are_off_as_long, 900,
		  "neither a lock of the driver nor its interrupt takes twice as long with thousands as with one")
{
	uint32_t counts[] = { 1, so_many(variant->many) };
	long probe = measure_probes(self), took[2];
	struct hold hold;
	char name[128];

	ASSERT_LT(0, probe);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		hold = measure_hold(self, variant, counts[i]);
		/* Waiting for another CPU that has the lock counts as well, but is not there each time. */
		if (i) {
			struct hold again = measure_hold(self, variant, counts[i]);

			hold = again.took > 0 && again.took < hold.took ? again : hold;
		}
		ASSERT_LT(0, hold.took) TH_LOG("%u: %ld", counts[i], hold.took);
		name_of(hold.ip, name, sizeof(name));
		took[i] = hold.took - probe;
		TH_LOG("locks: %u: %ld instructions (probes take %ld), until %s", counts[i],
		       took[i], probe, name);
	}
	EXPECT_GT(2 * (took[0] > PATHS ? took[0] : PATHS), took[1]);
	remove_probes();
	if (variant->interrupts)
		check_interrupts(_metadata, self, variant);
}

RK_HARNESS_MAIN
