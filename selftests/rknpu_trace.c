// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commit sequence: which NPU registers the driver writes for a one-task
 * job, as recorded by the model.  "rknpu_trace print" prints it for people and
 * for comparison with other drivers; without arguments it is a test.
 * Documentation/accel/rknpu/commit-sequence.rst gives the reasons.
 *
 * boot: jobs
 * boot: noiommujob
 * boot: debug-main
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>

#include "rknpu_harness.h"

#define CORE_BASE(n)	(0xfdab0000u + 0x10000u * (n))

#define PC_OPERATION_ENABLE	0x0008
#define PC_REGISTER_AMOUNTS	0x0014
#define PC_INTERRUPT_MASK	0x0020
#define PC_INTERRUPT_CLEAR	0x0024
#define PC_INTERRUPT_STATUS	0x0028
#define PC_INTERRUPT_RAW	0x002c
#define PC_TASK_CON		0x0030
#define PC_TASK_DMA_BASE_ADDR	0x0034
#define CNA_S_POINTER		0x1004
#define CORE_S_POINTER		0x3004

static const struct {
	uint32_t off;
	const char *name;
} names[] = {
	{ 0x0000, "PC.VERSION" }, { 0x0004, "PC.VERSION_NUM" },
	{ PC_OPERATION_ENABLE, "PC.OPERATION_ENABLE" },
	{ PC_BASE_ADDRESS, "PC.BASE_ADDRESS" },
	{ PC_REGISTER_AMOUNTS, "PC.REGISTER_AMOUNTS" },
	{ PC_INTERRUPT_MASK, "PC.INTERRUPT_MASK" },
	{ PC_INTERRUPT_CLEAR, "PC.INTERRUPT_CLEAR" },
	{ PC_INTERRUPT_STATUS, "PC.INTERRUPT_STATUS" },
	{ PC_INTERRUPT_RAW, "PC.INTERRUPT_RAW_STATUS" },
	{ PC_TASK_CON, "PC.TASK_CON" },
	{ PC_TASK_DMA_BASE_ADDR, "PC.TASK_DMA_BASE_ADDR" },
	{ 0x003c, "PC.TASK_STATUS" },
	{ 0x1000, "CNA.S_STATUS" }, { CNA_S_POINTER, "CNA.S_POINTER" },
	{ 0x3000, "CORE.S_STATUS" }, { CORE_S_POINTER, "CORE.S_POINTER" },
};

static const char *name_of(uint32_t off)
{
	static char other[16];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].off == off)
			return names[i].name;
	snprintf(other, sizeof(other), "+0x%04x", off);
	return other;
}

struct access {
	unsigned int unit;
	unsigned int core;
	bool write;
	uint32_t off;
	uint32_t value;
};

/* One recorded job. */
struct record {
	struct access a[NPU_CTL_TRACE_DEPTH];
	size_t n;
	uint32_t regcmd;
	uint32_t count;
};

static void read_trace(struct record *r)
{
	uint32_t n = rk_ctl_read(NPU_CTL_TRACE_COUNT);

	r->n = 0;
	for (uint32_t i = 0; i < n && r->n < ARRAY_SIZE(r->a); i++) {
		struct access *a = &r->a[r->n++];
		uint32_t info, addr;

		rk_ctl_write(NPU_CTL_TRACE_INDEX, i);
		info = rk_ctl_read(NPU_CTL_TRACE_INFO);
		addr = rk_ctl_read(NPU_CTL_TRACE_ADDR);
		a->unit = NPU_CTL_TRACE_UNIT(info);
		a->core = NPU_CTL_TRACE_CORE(info);
		a->write = info & NPU_CTL_TRACE_WRITE;
		a->off = a->unit == NPU_CTL_UNIT_CORE ? addr - CORE_BASE(a->core) : addr;
		a->value = rk_ctl_read(NPU_CTL_TRACE_VALUE);
	}
}

/*
 * A job's fence signals before the driver masks and clears its interrupt, and another CPU may do
 * that when the next recording has begun already.
 */
static bool ends_a_job(const struct access *a)
{
	return a->unit == NPU_CTL_UNIT_CORE &&
	       (a->off == PC_INTERRUPT_MASK || (a->write && a->off == PC_INTERRUPT_CLEAR));
}

static int record_task(struct rk_client *c, const struct drm_rocket_task *t, struct record *r)
{
	int ret;

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_TRACE_START);
	ret = rk_submit_task(c->fd, t, &c->in, &c->out);
	if (!ret)
		ret = rk_prep(&c->out, 5000);
	/* What comes late still belongs to the job; power-down does not. */
	rk_sleep_ms(10);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_TRACE_STOP);
	read_trace(r);
	return ret;
}

/*
 * The core is powered and the address space attached by a job before. Once more if the record has
 * the end of that job, or the core fell asleep in between: both happen where a CPU stands still.
 */
static int record_job(struct rk_client *c, struct record *r)
{
	struct drm_rocket_task t;
	uint64_t powered;
	int ret, tries = 0;
	bool again;

	ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t);
	if (ret)
		return ret;
	r->regcmd = t.regcmd;
	r->count = t.regcmd_count;
	do {
		ret = rk_client_run(c, 1);
		powered = rk_count_all(NPU_CNT_POWER_ON);
		if (!ret)
			ret = record_task(c, &t, r);
		again = powered != rk_count_all(NPU_CNT_POWER_ON) || (r->n && ends_a_job(&r->a[0]));
	} while (!ret && again && ++tries < 100);
	return ret;
}

/* ---- print ---- */

static void print_value(const struct record *r, const struct access *a)
{
	if (a->write && a->off == PC_BASE_ADDRESS && a->value == r->regcmd)
		printf("<regcmd>");
	else if (a->off == PC_REGISTER_AMOUNTS && a->value == (r->count + 1) / 2 - 1)
		printf("<(count + 1) / 2 - 1>");
	else if ((a->off == CNA_S_POINTER || a->off == CORE_S_POINTER) &&
		 a->value >> 28 == a->core)
		printf("0x%08x | core << 28", a->value & 0x0fffffff);
	else if (!a->write && (a->off == PC_INTERRUPT_STATUS || a->off == PC_INTERRUPT_RAW))
		/* Which of the two groups a task gets depends on the history. */
		printf("0x%08x of either group", (a->value | a->value >> 1) & 0x555);
	else
		printf("0x%08x", a->value);
	printf("\n");
}

static int print_job(void)
{
	static struct record r;
	struct rk_client c;
	unsigned int mmu[2] = { 0 };
	int ret = rk_client_init(&c);

	if (!rk_model()) {
		fprintf(stderr, "rknpu_trace: needs the NPU model\n");
		return 4;
	}
	if (!ret)
		ret = record_job(&c, &r);
	if (ret) {
		fprintf(stderr, "rknpu_trace: %s\n", strerror(-ret));
		return 1;
	}
	for (size_t i = 0; i < r.n; i++) {
		const struct access *a = &r.a[i];

		if (a->unit == NPU_CTL_UNIT_MMU)
			mmu[a->write]++;
		if (a->unit != NPU_CTL_UNIT_CORE)
			continue;
		printf("%s %s ", a->write ? "write" : "read ", name_of(a->off));
		print_value(&r, a);
	}
	printf("# IOMMU: %u reads, %u writes\n", mmu[0], mmu[1]);
	return 0;
}

/* ---- test ---- */

FIXTURE(trace) {
	struct rk_client c;
	struct record r;
};

FIXTURE_SETUP(trace)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	RK_REQUIRE_MODEL();
	if (!rk_ours())
		SKIP(return, "documents our own module");
	ASSERT_EQ(0, rk_client_init(&self->c));
	ASSERT_EQ(0, record_job(&self->c, &self->r));
}

FIXTURE_TEARDOWN(trace)
{
	if (self->c.fd)
		rk_client_fini(&self->c);
}

/* Marks values that depend on the job or the core. */
#define V_REGCMD	0xfffffff1u
#define V_AMOUNTS	0xfffffff2u
#define V_POINTER	0xfffffff3u

struct expected {
	uint32_t off;
	uint32_t value;
};

/* From the first write to the start of the task. */
static const struct expected commit[] = {
	{ PC_BASE_ADDRESS, 1 },
	{ CNA_S_POINTER, V_POINTER },
	{ CORE_S_POINTER, V_POINTER },
	{ PC_BASE_ADDRESS, V_REGCMD },
	{ PC_REGISTER_AMOUNTS, V_AMOUNTS },
	{ PC_INTERRUPT_MASK, 0x3f00 },
	{ PC_INTERRUPT_CLEAR, 0x1ffff },
	{ PC_TASK_CON, 0x7001 },
	{ PC_TASK_DMA_BASE_ADDR, 0 },
	{ PC_OPERATION_ENABLE, 1 },
};

/* From the interrupt on. */
static const struct expected completion[] = {
	{ PC_OPERATION_ENABLE, 0 },
	{ PC_INTERRUPT_MASK, 0 },
	{ PC_INTERRUPT_CLEAR, 0x1ffff },
};

static uint32_t expected_value(const struct record *r, const struct expected *e, unsigned int core)
{
	switch (e->value) {
	case V_REGCMD:
		return r->regcmd;
	case V_AMOUNTS:
		return (r->count + 1) / 2 - 1;
	case V_POINTER:
		return 0xe | core << 28;
	default:
		return e->value;
	}
}

static size_t core_writes(const struct record *r, struct access *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n && n < max; i++)
		if (r->a[i].unit == NPU_CTL_UNIT_CORE && r->a[i].write)
			out[n++] = r->a[i];
	return n;
}

RK_TEST_F(trace, commit_sequence, "a task is started by the documented register writes, in order")
{
	struct access w[64];
	size_t n = core_writes(&self->r, w, ARRAY_SIZE(w));

	ASSERT_LE(ARRAY_SIZE(commit), n);
	for (size_t i = 0; i < ARRAY_SIZE(commit); i++) {
		ASSERT_EQ(commit[i].off, w[i].off) {
			TH_LOG("write %zu: %s instead of %s", i, name_of(w[i].off),
			       name_of(commit[i].off));
		}
		ASSERT_EQ(expected_value(&self->r, &commit[i], w[i].core), w[i].value) {
			TH_LOG("write %zu: %s", i, name_of(w[i].off));
		}
	}
}

RK_TEST_F(trace, r28_each_core_gets_its_number,
	  "each core is given its own number, whatever the order of probing")
{
	unsigned int seen = 0;

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_TRACE_START);
	ASSERT_EQ(0, rk_run_on_every_core(self->c.fd, 1));
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_TRACE_STOP);
	read_trace(&self->r);
	for (size_t i = 0; i < self->r.n; i++) {
		const struct access *a = &self->r.a[i];

		if (a->unit != NPU_CTL_UNIT_CORE || !a->write ||
		    (a->off != CNA_S_POINTER && a->off != CORE_S_POINTER))
			continue;
		EXPECT_EQ(0xe | a->core << 28, a->value);
		seen |= 1u << a->core;
	}
	EXPECT_EQ(7, seen);
}

RK_TEST_F(trace, nothing_else_is_written, "no other register is written for a job")
{
	struct access w[64];
	size_t n = core_writes(&self->r, w, ARRAY_SIZE(w));

	ASSERT_EQ(ARRAY_SIZE(commit) + ARRAY_SIZE(completion), n);
	for (size_t i = 0; i < ARRAY_SIZE(completion); i++) {
		const struct access *a = &w[ARRAY_SIZE(commit) + i];

		ASSERT_EQ(completion[i].off, a->off) {
			TH_LOG("%s instead of %s", name_of(a->off), name_of(completion[i].off));
		}
		ASSERT_EQ(completion[i].value, a->value) {
			TH_LOG("%s", name_of(a->off));
		}
	}
}

RK_TEST_F(trace, two_reads, "an interrupt costs one register read, and a core that goes idle one more")
{
	unsigned int reads = 0;

	for (size_t i = 0; i < self->r.n; i++)
		reads += self->r.a[i].unit == NPU_CTL_UNIT_CORE && !self->r.a[i].write;
	EXPECT_EQ(2, reads) {
		for (size_t i = 0; i < self->r.n; i++)
			TH_LOG("%s %s", self->r.a[i].write ? "write" : "read",
			       name_of(self->r.a[i].off));
	}
}

RK_TEST_F(trace, r38_iommu_is_not_touched,
	  "the IOMMU is left alone while the address space stays attached")
{
	unsigned int mmu = 0;

	for (size_t i = 0; i < self->r.n; i++)
		mmu += self->r.a[i].unit == NPU_CTL_UNIT_MMU && self->r.a[i].write;
	EXPECT_EQ(0, mmu);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "print"))
		return print_job();
	return rk_main(argc, argv);
}
