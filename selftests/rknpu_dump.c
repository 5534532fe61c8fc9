// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dumps of failures: each failure that the model has on demand gives one, which names what
 * failed, has the program of that task, and nothing of another client's memory.
 *
 * boot: dumps OLD TEST_LIMIT=600
 * boot: debug-dumps KERNEL=debug TEST_LIMIT=3600
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>

#include "rknpu_harness.h"
#include "rknpu_faults.h"
#include "rknpu_vendor_util.h"

#define DUMPS		"/sys/class/devcoredump/devcd*/data"
/* What Documentation/accel/rknpu/monitoring.rst promises. */
#define DUMP_MAX	(128 * 1024)
#define DUMP_COMMANDS	4096
#define DUMP_PAST	16

/* Of another client's buffers. */
#define SECRET		0xb7
#define CORE		1
#define TAG		0x7a67000000000002ll

/* With RKNPU_DUMP_DIR=DIR dumps are kept there, as DIR/CAUSE.N, for those who decode them. */
#define DUMP_DIR	"RKNPU_DUMP_DIR"

struct dump {
	char text[DUMP_MAX + 1];
	size_t size;
};

/* Reads it, if there is one, and makes room for the next. */
static bool take_dump(struct dump *d)
{
	glob_t g;
	FILE *f;

	if (glob(DUMPS, 0, NULL, &g))
		return false;
	f = fopen(g.gl_pathv[0], "re");
	d->size = f ? fread(d->text, 1, DUMP_MAX, f) : 0;
	d->text[d->size] = 0;
	if (f)
		fclose(f);
	/* The kernel drops it a little later, and until then it looks like another one. */
	rk_write_file(g.gl_pathv[0], "1");
	for (int i = 0; i < 10000 && !access(g.gl_pathv[0], F_OK); i++)
		rk_sleep_ms(1);
	globfree(&g);
	return f;
}

static bool wait_dump(struct dump *d)
{
	for (int i = 0; i < 10000; i++) {
		if (take_dump(d))
			return true;
		rk_sleep_ms(1);
	}
	return false;
}

static bool wait_published(void)
{
	for (int i = 0; i < 10000; i++) {
		glob_t g;

		if (!glob(DUMPS, 0, NULL, &g)) {
			globfree(&g);
			return true;
		}
		rk_sleep_ms(1);
	}
	return false;
}

/* The @n-th line that begins with @key and a space, from behind that; NULL if there is none. */
static const char *line(const struct dump *d, const char *key, unsigned int n)
{
	size_t len = strlen(key);

	for (const char *at = d->text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (!strncmp(at, key, len) && at[len] == ' ' && !n--)
			return at + len + 1;
	return NULL;
}

static bool line_is(const struct dump *d, const char *key, const char *value)
{
	const char *at = line(d, key, 0);
	size_t len = strlen(value);

	return at && !strncmp(at, value, len) && at[len] == '\n';
}

static unsigned int count(const struct dump *d, const char *key)
{
	unsigned int n = 0;

	while (line(d, key, n))
		n++;
	return n;
}

static long long number(const struct dump *d, const char *key)
{
	const char *at = line(d, key, 0);

	return at ? strtoll(at, NULL, 0) : -1;
}

/* Of "reg NAME VALUE". */
static long long reg(const struct dump *d, const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "reg %s", name);
	return number(d, key);
}

/* The program of @task of the client that has @op, as it is in the client's memory. */
static unsigned int commands_that_differ(const struct dump *d, const struct rk_op *op,
					 const struct drm_rocket_task *task)
{
	const uint8_t *mem = op->bo.map + (task->regcmd - op->bo.iova);
	unsigned int bad = 0;

	for (unsigned int i = 0; i < task->regcmd_count && i < DUMP_COMMANDS; i++) {
		const char *at = line(d, "cmd", i);
		uint64_t want;
		char text[32];

		memcpy(&want, mem + 8 * i, sizeof(want));
		snprintf(text, sizeof(text), "%04x %016llx\n", i, (unsigned long long)want);
		bad += !at || strncmp(at, text, strlen(text));
	}
	return bad;
}

static void print(const struct dump *d)
{
	for (const char *at = d->text; *at && strncmp(at, "cmd ", 4);) {
		const char *end = strchrnul(at, '\n');

		printf("# %.*s\n", (int)(end - at), at);
		at = *end ? end + 1 : end;
	}
}

/* For check-dump: false if that fails, or there is one of that name already. */
static bool keep(const struct dump *d, const char *name, const char *variant)
{
	const char *dir = getenv(DUMP_DIR);
	char path[256];
	size_t written;
	FILE *f;

	if (!dir)
		return true;
	snprintf(path, sizeof(path), "%s/%s.%s", dir, name, variant);
	f = fopen(path, "wxe");
	if (!f)
		return false;
	written = fwrite(d->text, 1, d->size, f);
	return !fclose(f) && written == d->size;
}

/* Each kind of line is known, so nothing else is in there. */
static bool only_known_lines(const struct dump *d)
{
	static const char *const keys[] = {
		"rknpu-dump ", "kernel ", "driver ", "npu ", "time ", "core ", "cause ", "error ",
		"lost ", "fault ", "client ", "job ", "tag ", "task ", "elapsed_ns ", "start ", "reg ",
		"page ", "past ", "program ", "cmd ", "end\n",
	};

	for (const char *at = d->text; *at; at = strchr(at, '\n') + 1) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
			known |= !strncmp(at, keys[i], strlen(keys[i]));
		if (!known || !strchr(at, '\n'))
			return false;
	}
	return true;
}

/* Neither bytes of its buffers nor addresses nor its number. */
static bool tells_of(const struct dump *d, const struct rk_trial *other)
{
	char id[32];

	snprintf(id, sizeof(id), "client %lld ", rk_fdinfo(other->c.fd, "rknpu-client"));
	return strcasestr(d->text, "b7b7b7") || strstr(d->text, id);
}

#define LOG_BURST	10
#define LOG_INTERVAL_US	5000000

/* The kernel prints ten such messages in five seconds. Were the last ten that close? */
static bool log_is_full(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	unsigned long long at[LOG_BURST] = { 0 };
	char record[1024];
	unsigned int seen = 0;
	ssize_t n;

	while ((n = read(fd, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		record[n < 0 ? 0 : n] = 0;
		if (strstr(record, " failed at task ") &&
		    sscanf(record, "%*u,%*u,%llu", &at[seen % LOG_BURST]) == 1)
			seen++;
	}
	close(fd);
	/* The next one would replace the oldest. */
	return seen >= LOG_BURST &&
	       at[(seen - 1) % LOG_BURST] - at[seen % LOG_BURST] <= LOG_INTERVAL_US;
}

struct both {
	struct rk_trial t;
	struct rk_trial other;
	struct dump *d;
};

static int both_init(struct both *b, unsigned int timeout_ms)
{
	int ret;

	b->d = malloc(sizeof(*b->d));
	if (!b->d)
		return -ENOMEM;
	while (take_dump(b->d))
		;
	ret = rk_trial_init(&b->t, CORE, timeout_ms);
	b->t.job.tag = TAG;
	if (!ret)
		ret = rk_trial_init(&b->other, CORE, timeout_ms);
	if (!ret)
		ret = rk_bo_fill(&b->other.c.in, SECRET, b->other.c.in.size);
	/* Behind its weights and programs, which are those that everybody has. */
	if (!ret)
		memset(b->other.c.inc.bo.map + b->other.c.inc.bo.size - RK_PAGE, SECRET, RK_PAGE);
	return ret;
}

static void both_fini(struct both *b)
{
	rk_trial_fini(&b->t);
	rk_trial_fini(&b->other);
	free(b->d);
	b->d = NULL;
}

static void check_core(struct __test_metadata *_metadata, const struct both *b)
{
	const struct dump *d = b->d;

	EXPECT_TRUE(line_is(d, "rknpu-dump", "1"));
	EXPECT_NE(NULL, strstr(line(d, "npu", 0), "rk3588 version "));
	EXPECT_EQ(CORE, number(d, "core"));
	EXPECT_TRUE(only_known_lines(d));
	EXPECT_FALSE(tells_of(d, &b->other));
	EXPECT_NE(NULL, strstr(d->text, "\nend\n"));
}

static void check_names(struct __test_metadata *_metadata, const struct both *b, unsigned int task)
{
	const struct dump *d = b->d;
	char who[64], which[32];

	snprintf(who, sizeof(who), "%lld pid %d comm rknpu_dump",
		 rk_fdinfo(b->t.c.fd, "rknpu-client"), getpid());
	snprintf(which, sizeof(which), "%u of %u", task, RK_TRIAL_TASKS);
	check_core(_metadata, b);
	EXPECT_TRUE(line_is(d, "client", who));
	EXPECT_TRUE(line_is(d, "task", which));
	EXPECT_LT(0, number(d, "job"));
	EXPECT_EQ(TAG, number(d, "tag"));
	EXPECT_EQ(0, commands_that_differ(d, &b->t.c.inc, &b->t.t[task]));
	EXPECT_EQ(b->t.t[task].regcmd_count, count(d, "cmd"));
	EXPECT_EQ(b->t.t[task].regcmd, number(d, "program"));
}

/* Nothing ran there, so it is nobody's fault. */
static void check_nobody(struct __test_metadata *_metadata, const struct both *b)
{
	check_core(_metadata, b);
	EXPECT_EQ(NULL, line(b->d, "client", 0));
	EXPECT_EQ(NULL, line(b->d, "job", 0));
	EXPECT_EQ(NULL, line(b->d, "program", 0));
	EXPECT_EQ(NULL, strstr(b->d->text, " own "));
}

static const char *cause_of(uint32_t cause)
{
	switch (cause) {
	case DRM_ROCKET_CAUSE_NEVER_STARTED:
		return "timeout, never started";
	case DRM_ROCKET_CAUSE_TIMEOUT:
		return "timeout, running";
	case DRM_ROCKET_CAUSE_DMA_READ:
		return "DMA read error";
	case DRM_ROCKET_CAUSE_DMA_WRITE:
		return "DMA write error";
	case DRM_ROCKET_CAUSE_IOMMU_FAULT:
		return "IOMMU fault";
	case DRM_ROCKET_CAUSE_DEVICE_GONE:
		return "core lost";
	default:
		return "";
	}
}

static void check_log(struct __test_metadata *_metadata, int log, const struct rk_fault *f,
		      const struct both *b)
{
	char what[256];

	if (f->gone)
		snprintf(what, sizeof(what), "core %d is out of service (", CORE);
	else
		snprintf(what, sizeof(what),
			 "core %d: job %lld of rknpu_dump[%d] (client %lld) failed at task %u of %u: %s",
			 CORE, number(b->d, "job"), getpid(), rk_fdinfo(b->t.c.fd, "rknpu-client"),
			 f->skip, RK_TRIAL_TASKS, cause_of(f->cause));
	EXPECT_TRUE(rk_log_says(log, what) || log_is_full()) TH_LOG("no line has: %s", what);
}

/* Of the core, the last jobs: the other client's and an own one were run before. */
static void check_past(struct __test_metadata *_metadata, const struct dump *d)
{
	unsigned int n = count(d, "past");
	const char *last, *before;

	ASSERT_LE(2, n);
	EXPECT_GE(DUMP_PAST, n);
	last = strchr(line(d, "past", n - 1), ' ');
	before = strchr(line(d, "past", n - 2), ' ');
	EXPECT_EQ(0, strncmp(last, " own 3 of 3 ", 12));
	EXPECT_EQ(0, strncmp(before, " other 3 of 3 ", 14));
	EXPECT_GT(number(d, "job"), strtoll(line(d, "past", n - 1), NULL, 0));
}

/* Those from before the reset: after it the first is 0 or 1, and the second 0. */
static void check_registers(struct __test_metadata *_metadata, const struct dump *d)
{
	EXPECT_LT(1, reg(d, "PC.BASE_ADDRESS"));
	EXPECT_NE(0, reg(d, "PC.TASK_CON"));
	EXPECT_LE(0, reg(d, "PC.INTERRUPT_RAW_STATUS"));
	EXPECT_LE(0, reg(d, "CNA.S_STATUS"));
	EXPECT_LE(0, reg(d, "CORE.S_POINTER"));
	EXPECT_EQ(reg(d, "PC.VERSION") + (reg(d, "PC.VERSION_NUM") & 0xffff),
		  strtoll(strstr(line(d, "npu", 0), "version ") + 8, NULL, 0));
}

/* The page that faulted is among those told, and mapped if it is the job's own. */
static void check_pages(struct __test_metadata *_metadata, const struct rk_fault *f,
			const struct both *b)
{
	bool mapped = !f->page && !f->elsewhere;
	unsigned long long iova;
	char access[8], key[32];
	const char *page;

	ASSERT_EQ(2, sscanf(line(b->d, "fault", 0), "%7s %llx", access, &iova));
	EXPECT_STREQ(f->result == DRM_ROCKET_RESULT_FAULT_WRITE ? "write" : "read", access);
	EXPECT_EQ(b->t.w.fault_address, iova);
	snprintf(key, sizeof(key), "page 0x%08llx", iova & ~0xfffull);
	page = line(b->d, key, 0);
	ASSERT_NE(NULL, page);
	EXPECT_EQ(mapped, !!strncmp(page, "none\n", 5));
}

/* The same as the name of a file. */
static const char *name_of(uint32_t cause)
{
	static char name[32];

	snprintf(name, sizeof(name), "%s", cause_of(cause));
	for (char *c = name; *c; c++)
		if (*c == ' ' || *c == ',')
			*c = '-';
	return name;
}

#define REQUIRE_DUMPS()									\
	do {										\
		RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);				\
		RK_REQUIRE_MODEL();							\
		if (access("/sys/class/devcoredump", F_OK) || geteuid())		\
			SKIP(return, "no devcoredump in this kernel, or not root");	\
	} while (0)

static unsigned int task_timeout_ms(void)
{
	return rk_slow() > 1 ? 1500 : 500;
}

FIXTURE(dump) {
	struct both b;
};

FIXTURE_VARIANT(dump) {
	const char *name;
	struct rk_fault f;
};

#define ROW(_name, ...)								\
	FIXTURE_VARIANT_ADD(dump, _name) { .name = #_name, .f = { __VA_ARGS__ } };
RK_FAULTS(ROW)

FIXTURE_SETUP(dump)
{
	memset(self, 0, sizeof(*self));
	REQUIRE_DUMPS();
	if (variant->f.stuck || variant->f.power_helps)
		RK_REQUIRE_POWER_DOMAINS();
	if (variant->f.takes_all && rk_one_iommu())
		SKIP(return, "one core cannot fail alone here");
	rk_task_timeout_ms(task_timeout_ms());
	ASSERT_EQ(0, both_init(&self->b, task_timeout_ms()));
}

FIXTURE_TEARDOWN(dump)
{
	bool began = self->b.d;

	rk_model_calm();
	both_fini(&self->b);
	if (began && variant->f.retires)
		rk_rebind(CORE);
}

static bool core_asleep(void)
{
	if (!rk_power_domains() || rk_one_iommu())
		return rk_wait_asleep(5000);
	return rk_wait_count(CORE, NPU_CNT_POWERED, 0, 5000);
}

/* The other client, then an own job, then the failure. */
static int meet(struct both *b, const struct rk_fault *f)
{
	int ret;

	ret = rk_trial_run(&b->other);
	if (!ret)
		ret = rk_trial_run(&b->t);
	if (ret)
		return ret;
	if (f->when == RK_WHEN_ASLEEP && !core_asleep())
		return -EBUSY;
	rk_fault_arm_row(f, CORE, f->skip);
	return rk_trial_run(&b->t);
}

/* The next one is told, so nothing was in its way. */
static int hang(struct both *b)
{
	rk_model_calm();
	rk_fault_arm(CORE, NPU_FAULT_HANG, 1, 1);
	return rk_trial_run(&b->t);
}

RK_TEST_F_TIMEOUT(dump, tells_what_failed, 120,
		  "this failure, if it costs a job, leaves a dump with all that is known of it")
{
	const struct rk_fault *f = &variant->f;
	const struct dump *d = self->b.d;
	bool fails = f->err || f->gone;
	int log = rk_log_open();

	ASSERT_LE(0, log);
	ASSERT_EQ(0, meet(&self->b, f));
	if (!fails) {
		ASSERT_EQ(DRM_ROCKET_CAUSE_DONE, self->b.t.w.cause);
		ASSERT_EQ(0, hang(&self->b));
		ASSERT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, self->b.t.w.cause);
		ASSERT_TRUE(wait_dump(self->b.d));
		check_names(_metadata, &self->b, 1);
		return;
	}
	ASSERT_EQ(f->cause, self->b.t.w.cause);
	ASSERT_TRUE(wait_dump(self->b.d));
	print(d);
	EXPECT_TRUE(keep(d, name_of(f->cause), variant->name));
	EXPECT_TRUE(line_is(d, "cause", cause_of(f->cause)));
	EXPECT_EQ(f->gone ? -ENODEV : f->err, number(d, "error"));
	EXPECT_EQ(f->retires, !!line(d, "lost", 0));
	if (f->gone) {
		check_nobody(_metadata, &self->b);
	} else {
		check_names(_metadata, &self->b, f->skip);
		check_past(_metadata, d);
		check_registers(_metadata, d);
	}
	if (f->err == -EFAULT)
		check_pages(_metadata, f, &self->b);
	EXPECT_EQ(f->err == -EFAULT ? 16 : 0, count(d, "page"));
	check_log(_metadata, log, f, &self->b);
	close(log);
	/* It was the only one. */
	EXPECT_FALSE(take_dump(self->b.d));
}

FIXTURE(special) {
	struct both b;
};

FIXTURE_SETUP(special)
{
	memset(self, 0, sizeof(*self));
	REQUIRE_DUMPS();
	ASSERT_EQ(0, both_init(&self->b, task_timeout_ms()));
}

FIXTURE_TEARDOWN(special)
{
	rk_model_calm();
	both_fini(&self->b);
}

RK_TEST_F(special, in_a_chain, "of a chain of programs the dump has the one that hung")
{
	struct rk_trial *t = &self->b.t;

	if (!(rk_param(t->c.fd, DRM_ROCKET_PARAM_FEATURES) & DRM_ROCKET_FEATURE_BATCHED))
		SKIP(return, "not offered");
	for (int i = 1; i < RK_TRIAL_TASKS; i++)
		rk_chain(&t->c.inc, &t->t[i - 1], &t->t[i]);
	ASSERT_EQ(0, rk_fini(&t->c.inc.bo));
	t->job.flags |= DRM_ROCKET_JOB_BATCHED;
	ASSERT_EQ(0, rk_trial_run(t));
	ASSERT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
	rk_fault_arm(CORE, NPU_FAULT_HANG, 2, 1);
	ASSERT_EQ(0, rk_trial_run(t));
	ASSERT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, t->w.cause);
	ASSERT_EQ(2, t->w.task);
	ASSERT_TRUE(wait_dump(self->b.d));
	check_names(_metadata, &self->b, 2);
	EXPECT_TRUE(keep(self->b.d, "chain", "hang"));
	EXPECT_NE(NULL, strstr(line(self->b.d, "program", 0), " task 2\n"));
}

/* As long as one start can be. */
#define CHAIN		4095
#define HAMMERS		2
#define EVENTS		"/sys/kernel/tracing/events/"
#define TRACE		"/sys/kernel/tracing/trace"

struct hammer {
	pthread_t thread;
	int fd;
	bool stop;
};

/* Maps and unmaps, so that who wants to read what is mapped has to wait. */
static void *hammer(void *data)
{
	struct hammer *h = data;
	struct rk_bo bo;

	while (!__atomic_load_n(&h->stop, __ATOMIC_RELAXED))
		if (!rk_bo_init(&bo, h->fd, 256 * RK_PAGE))
			rk_bo_fini(&bo);
	return NULL;
}

/* In the trace: the first line that has @what behind one that has @after; or 0. */
static int trace_line(const char *after, const char *what)
{
	FILE *f = fopen(TRACE, "re");
	char text[512];
	int n = 0, found = 0;
	bool behind = !after;

	while (f && fgets(text, sizeof(text), f) && !found) {
		n++;
		if (behind && strstr(text, what))
			found = n;
		behind |= after && strstr(text, after);
	}
	if (f)
		fclose(f);
	return found;
}

RK_TEST_F_TIMEOUT(special, of_a_long_chain, 120,
		  "no fence waits for the dump of a long chain whose client keeps it waiting")
{
	static const char *const events[] = {
		EVENTS "rknpu/rknpu_job_fail/enable", EVENTS "rknpu/rknpu_job_dump/enable",
		EVENTS "dma_fence/dma_fence_signaled/enable",
	};
	static struct drm_rocket_task tasks[CHAIN];
	struct hammer hammers[HAMMERS] = { 0 };
	struct rk_trial *t = &self->b.t;
	int signalled = 0, dumped = 0;

	if (!(rk_param(t->c.fd, DRM_ROCKET_PARAM_FEATURES) & DRM_ROCKET_FEATURE_BATCHED) ||
	    access(events[1], W_OK))
		SKIP(return, "not offered, or no tracefs");
	for (int i = 0; i < CHAIN; i++)
		tasks[i] = t->t[0];
	rk_chain(&t->c.inc, &t->t[0], &t->t[0]);
	ASSERT_EQ(0, rk_fini(&t->c.inc.bo));
	t->job.flags |= DRM_ROCKET_JOB_BATCHED;
	t->job.tasks = (uintptr_t)tasks;
	t->job.task_count = CHAIN;
	for (int i = 0; i < HAMMERS; i++) {
		hammers[i].fd = t->c.fd;
		ASSERT_EQ(0, pthread_create(&hammers[i].thread, NULL, hammer, &hammers[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		EXPECT_EQ(0, rk_write_file(events[i], "1"));
	/* On a busy host the hammers may not get to keep it waiting. */
	for (int i = 0; i < 5 && signalled >= dumped; i++) {
		rk_fault_arm(CORE, NPU_FAULT_HANG, CHAIN - 1, 1);
		ASSERT_EQ(0, rk_write_file(TRACE, ""));
		EXPECT_EQ(0, rk_trial_run(t));
		EXPECT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, t->w.cause);
		EXPECT_EQ(CHAIN - 1, t->w.task);
		EXPECT_TRUE(wait_dump(self->b.d));
		signalled = trace_line(" rknpu_job_fail:", " dma_fence_signaled:");
		dumped = trace_line(NULL, " rknpu_job_dump:");
	}
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		rk_write_file(events[i], "0");
	for (int i = 0; i < HAMMERS; i++) {
		__atomic_store_n(&hammers[i].stop, true, __ATOMIC_RELAXED);
		pthread_join(hammers[i].thread, NULL);
	}
	EXPECT_NE(NULL, strstr(line(self->b.d, "program", 0), " task 4094\n"));
	EXPECT_EQ(0, commands_that_differ(self->b.d, &t->c.inc, &t->t[0]));
	EXPECT_LT(0, signalled);
	EXPECT_LT(signalled, dumped);
}

/* MRDMA is on and has nothing to feed: the CPU's part of a trap that public programs fell into. */
static bool spoil(struct rk_op *op, const struct drm_rocket_task *task)
{
	uint8_t *mem = op->bo.map + (task->regcmd - op->bo.iova);
	bool found = false;

	for (unsigned int i = 0; i < task->regcmd_count; i++) {
		uint64_t command;

		memcpy(&command, mem + 8 * i, sizeof(command));
		/* RDMA_FEATURE_MODE_CFG, of which MRDMA_DISABLE is bit 4. */
		if (command >> 48 != 0x2001 || (command & 0xffff) != 0x5044)
			continue;
		found = command & 16ull << 16;
		command &= ~(16ull << 16);
		memcpy(mem + 8 * i, &command, sizeof(command));
	}
	return found;
}

RK_TEST_F(special, of_a_program_that_hangs,
	  "a program that hangs by itself is in the dump as it is in memory")
{
	struct rk_trial *t = &self->b.t;

	ASSERT_TRUE(spoil(&t->c.inc, &t->t[1]));
	ASSERT_EQ(0, rk_fini(&t->c.inc.bo));
	ASSERT_EQ(0, rk_trial_run(t));
	ASSERT_EQ(-ETIME, t->w.error);
	ASSERT_TRUE(wait_dump(self->b.d));
	check_names(_metadata, &self->b, 1);
	EXPECT_TRUE(keep(self->b.d, "known", "mrdma"));
}

RK_TEST_F(special, of_a_program_written_past_the_caches,
	  "a program that a client of node rknpu writes without caches is in each dump as it is then")
{
	struct drm_rocket_task task = { 0 };
	struct drm_rknpu_submit s;
	struct rk_op as_op = { 0 };
	struct rv_chain c;
	struct rv_bo prog;
	int fd = rv_open();

	if (fd < 0)
		SKIP(return, "no vendor node");
	ASSERT_EQ(0, rv_chain_init(&c, fd, 2, 0, 0));
	ASSERT_EQ(0, rv_bo_init(&prog, fd, RK_PAGE, RV_FLAGS & ~DRM_RKNPU_MEM_CACHEABLE, 0));
	as_op.bo = (struct rk_bo) { .map = prog.map, .iova = prog.iova };
	task.regcmd = prog.iova;
	for (int i = 0; i < 2; i++) {
		struct drm_rknpu_task *t = rv_chain_task(&c, i);

		task.regcmd_count = t->regcfg_amount + RV_TASK_TAIL;
		ASSERT_GE(RK_PAGE, 8 * task.regcmd_count);
		memcpy(prog.map, c.bo.map + (t->regcmd_addr - c.bo.iova), 8 * task.regcmd_count);
		t->regcmd_addr = prog.iova;
		ASSERT_EQ(0, rv_sync(&c.tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c.tasks.size));
		rv_chain_submit(&c, &s);
		s.timeout = task_timeout_ms();
		s.task_number = 3;
		for (int j = 0; j < 3; j++)
			s.subcore_task[j] = (struct drm_rknpu_subcore_task) { i, 1 };
		rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 1);
		EXPECT_GT(0, rv_submit(fd, &s));
		ASSERT_TRUE(wait_dump(self->b.d));
		EXPECT_EQ(task.regcmd, number(self->b.d, "program"));
		/* The lines of the last dump, if it were not for the driver. */
		EXPECT_EQ(0, commands_that_differ(self->b.d, &as_op, &task)) TH_LOG("dump %d", i);
	}
	rv_bo_fini(&prog);
	rv_chain_fini(&c);
	close(fd);
}

RK_TEST_F(special, is_bounded, "a long program is cut, and the dump keeps to its size")
{
	struct rk_trial *t = &self->b.t;
	struct rk_bo big;

	ASSERT_EQ(0, rk_bo_init(&big, t->c.fd, 16 * RK_PAGE));
	/* Commands that do nothing, so it never ends. */
	ASSERT_EQ(0, rk_bo_fill(&big, 0, big.size));
	t->t[0].regcmd = big.iova;
	t->t[0].regcmd_count = big.size / 8;
	ASSERT_EQ(0, rk_trial_run(t));
	ASSERT_EQ(-ETIME, t->w.error);
	ASSERT_TRUE(wait_dump(self->b.d));
	EXPECT_GT(DUMP_MAX, self->b.d->size);
	EXPECT_EQ(DUMP_COMMANDS, count(self->b.d, "cmd"));
	EXPECT_TRUE(keep(self->b.d, "cut", "long"));
	EXPECT_TRUE(only_known_lines(self->b.d));
	EXPECT_NE(NULL, strstr(self->b.d->text, "\nend\n"));
	rk_bo_fini(&big);
}

RK_TEST_F_TIMEOUT(special, of_a_core_without_power, 600,
		  "a core whose power domain does not come up leaves a dump, without registers")
{
	struct both *b = &self->b;

	RK_REQUIRE_POWER_DOMAINS();
	if (rk_kernel_before(6, 13) || rk_one_iommu())
		SKIP(return, "this kernel crashes of it, or one core cannot be without power");
	/* rknpu_power_domain has it there: the kernel reads the domain's status ten million times for each try. */
	if (rk_slow() > 1)
		SKIP(return, "takes up to half an hour");
	ASSERT_EQ(0, rk_trial_run(&b->other));
	ASSERT_TRUE(core_asleep());
	rk_fault_arm(CORE, NPU_FAULT_POWER_STUCK, 0, 0);
	ASSERT_EQ(0, rk_trial_run(&b->t));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DEVICE_GONE, b->t.w.cause);
	EXPECT_TRUE(wait_dump(b->d));
	rk_model_calm();
	print(b->d);
	check_nobody(_metadata, b);
	EXPECT_TRUE(line_is(b->d, "cause", "core lost"));
	EXPECT_EQ(-ENODEV, number(b->d, "error"));
	EXPECT_NE(NULL, line(b->d, "lost", 0));
	EXPECT_EQ(0, count(b->d, "reg"));
	EXPECT_TRUE(keep(b->d, "core-lost", "power_stuck"));
	both_fini(b);
	EXPECT_EQ(0, rk_rebind(CORE));
}

RK_TEST_F(special, one_at_a_time, "while a dump is unread others are dropped, and jobs end as ever")
{
	long long first, last = 0, told = -1;

	ASSERT_EQ(0, hang(&self->b));
	ASSERT_EQ(-ETIME, self->b.t.w.error);
	ASSERT_TRUE(wait_published());
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, hang(&self->b));
		ASSERT_EQ(-ETIME, self->b.t.w.error);
	}
	ASSERT_TRUE(wait_dump(self->b.d));
	first = number(self->b.d, "job");
	/* The third one's may have been published only now, and then the next is dropped. */
	for (int i = 0; i < 10 && told != last; i++) {
		ASSERT_EQ(0, hang(&self->b));
		ASSERT_TRUE(wait_dump(self->b.d));
		told = number(self->b.d, "job");
		last = first + 4 + i;
		EXPECT_LE(first + 3, told);
	}
	EXPECT_EQ(last, told);
}

RK_TEST_F(special, survives_unbinding, "an unread dump outlives the device, and the next device has dumps, too")
{
	struct both *b = &self->b;

	ASSERT_EQ(0, hang(b));
	ASSERT_EQ(-ETIME, b->t.w.error);
	rk_model_calm();
	both_fini(b);
	ASSERT_EQ(0, rk_rebind(CORE));
	b->d = malloc(sizeof(*b->d));
	ASSERT_TRUE(wait_dump(b->d));
	EXPECT_TRUE(line_is(b->d, "cause", "timeout, running"));
	both_fini(b);
	ASSERT_EQ(0, both_init(b, task_timeout_ms()));
	ASSERT_EQ(0, hang(b));
	ASSERT_TRUE(wait_dump(b->d));
	check_names(_metadata, b, 1);
}

RK_HARNESS_MAIN
