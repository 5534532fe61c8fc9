// SPDX-License-Identifier: GPL-2.0-only
/* Owns dumps of failures: the memory to collect them in, their text, passing them on. */
#include <linux/bitops.h>
#include <linux/devcoredump.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sysfs.h>
#include <linux/time64.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include <drm/drm_device.h>
#include <drm/drm_managed.h>

#include "rknpu_dump.h"

/* Changes when a line changes its meaning or goes; new kinds of lines may come. */
#define RKNPU_DUMP_FORMAT	1

/* Of the text: all but the commands, and a command. */
#define RKNPU_DUMP_TEXT_HEAD	8192
#define RKNPU_DUMP_TEXT_COMMAND	(sizeof("cmd ffff 0123456789abcdef\n") - 1)

static_assert(RKNPU_DUMP_TEXT_HEAD + RKNPU_DUMP_COMMANDS * RKNPU_DUMP_TEXT_COMMAND <
	      RKNPU_DUMP_TEXT_MAX);

/**
 * struct rknpu_dump_text - where the text goes
 */
struct rknpu_dump_text {
	/** @to: memory */
	char *to;
	/** @size: of it */
	size_t size;
	/** @len: filled part */
	size_t len;
};

static __printf(2, 3) void rknpu_dump_put(struct rknpu_dump_text *text, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text->len += vscnprintf(text->to + text->len, text->size - text->len, fmt, args);
	va_end(args);
}

/* A hash of the sources, if the kernel's configuration asks for one. What is built in has none. */
static const char *rknpu_dump_srcversion(void)
{
#ifdef MODULE
	return THIS_MODULE->srcversion ?: "-";
#else
	return "-";
#endif
}

static void rknpu_dump_put_versions(struct rknpu_dump_text *text, const struct rknpu_dump *dump)
{
	u32 ns;
	u64 s = div_u64_rem(dump->time_ns, NSEC_PER_SEC, &ns);

	rknpu_dump_put(text, "rknpu-dump %d\n", RKNPU_DUMP_FORMAT);
	rknpu_dump_put(text, "kernel %s\n", init_utsname()->release);
	rknpu_dump_put(text, "driver %s %s\n", KBUILD_MODNAME, rknpu_dump_srcversion());
	rknpu_dump_put(text, "npu rk%u version %u\n", dump->soc, dump->version);
	rknpu_dump_put(text, "time %llu.%09u\n", s, ns);
}

static void rknpu_dump_put_failure(struct rknpu_dump_text *text, const struct rknpu_dump *dump)
{
	rknpu_dump_put(text, "core %u\n", dump->core);
	rknpu_dump_put(text, "cause %s\n", dump->cause);
	rknpu_dump_put(text, "error %d\n", dump->error);
	if (dump->lost)
		rknpu_dump_put(text, "lost %d\n", dump->lost);
	if (dump->faulted)
		rknpu_dump_put(text, "fault %s %#llx\n", dump->fault_write ? "write" : "read",
			       dump->fault_iova);
}

static void rknpu_dump_put_job(struct rknpu_dump_text *text, const struct rknpu_dump *dump)
{
	if (!dump->client)
		return;
	rknpu_dump_put(text, "client %llu pid %d comm %s\n", dump->client, dump->pid, dump->comm);
	rknpu_dump_put(text, "job %llu\n", dump->seqno);
	rknpu_dump_put(text, "tag %#llx\n", dump->tag);
	rknpu_dump_put(text, "task %u of %u\n", dump->task, dump->tasks);
	rknpu_dump_put(text, "elapsed_ns %llu\n", dump->elapsed_ns);
	rknpu_dump_put(text, "start tasks %u int_mask %#x dma_base %#x\n", dump->kick_tasks,
		       dump->int_mask, dump->dma_base);
}

static void rknpu_dump_put_core(struct rknpu_dump_text *text, const struct rknpu_dump *dump)
{
	unsigned int i;

	for (i = 0; i < dump->reg_count; i++)
		rknpu_dump_put(text, "reg %s 0x%08x\n", dump->regs[i].name, dump->regs[i].value);
	for (i = 0; i < dump->page_count; i++) {
		const struct rknpu_dump_page *page = &dump->pages[i];

		if (page->phys)
			rknpu_dump_put(text, "page 0x%08llx %#llx\n", page->iova, page->phys);
		else
			rknpu_dump_put(text, "page 0x%08llx none\n", page->iova);
	}
}

/* Who other clients are is not told. */
static void rknpu_dump_put_history(struct rknpu_dump_text *text, const struct rknpu_dump *dump)
{
	unsigned int i;

	for (i = 0; i < dump->job_count; i++) {
		const struct rknpu_dump_job *job = &dump->jobs[i];

		rknpu_dump_put(text, "past %llu %s %u of %u %llu %s\n", job->seqno,
			       job->client == dump->client ? "own" : "other", job->task,
			       job->tasks, job->elapsed_ns, job->cause);
	}
}

static void rknpu_dump_put_program(struct rknpu_dump_text *text, const struct rknpu_dump *dump)
{
	u32 i;

	if (!dump->program_size)
		return;
	rknpu_dump_put(text, "program 0x%08llx %u task %u\n", dump->program, dump->program_size,
		       dump->program_task);
	for (i = 0; i < dump->command_count; i++)
		rknpu_dump_put(text, "cmd %04x %016llx\n", i, dump->commands[i]);
}

/*
 * Of a dump that nobody has read, which keeps others out, or of one that is being deleted:
 * its link goes last, and the kernel complains of a second one (seen on 6.1 and 7.3).
 */
static bool rknpu_dump_link_is_there(struct device *dev)
{
	struct kernfs_node *link = sysfs_get_dirent(dev->kobj.sd, "devcoredump");

	if (!link)
		return false;
	sysfs_put(link);
	return true;
}

static void rknpu_dump_publish(struct rknpu_dumps *dumps)
{
	const struct rknpu_dump *dump = dumps->dump;
	struct rknpu_dump_text text = {
		.size = RKNPU_DUMP_TEXT_HEAD + dump->command_count * RKNPU_DUMP_TEXT_COMMAND,
	};

	text.to = vmalloc(text.size);
	if (!text.to)
		return;
	rknpu_dump_put_versions(&text, dump);
	rknpu_dump_put_failure(&text, dump);
	rknpu_dump_put_job(&text, dump);
	rknpu_dump_put_core(&text, dump);
	rknpu_dump_put_history(&text, dump);
	rknpu_dump_put_program(&text, dump);
	rknpu_dump_put(&text, "end\n");
	dev_notice_ratelimited(dumps->dev, "core %u: there is a dump in /sys/class/devcoredump, of this failure or an older one that nobody has read\n",
			       dump->core);
	if (rknpu_dump_link_is_there(dumps->dev)) {
		vfree(text.to);
		return;
	}
	/* Takes the memory over. */
	dev_coredumpv(dumps->dev, text.to, text.len, GFP_KERNEL);
}

static void rknpu_dump_work(struct work_struct *work)
{
	struct rknpu_dumps *dumps = container_of(work, struct rknpu_dumps, work);

	if (dumps->dump->collect)
		dumps->dump->collect(dumps->dump);
	rknpu_dump_publish(dumps);
	clear_bit_unlock(0, &dumps->busy);
}

static void rknpu_dumps_fini(struct drm_device *drm, void *data)
{
	struct rknpu_dumps *dumps = data;

	cancel_work_sync(&dumps->work);
	vfree(dumps->dump);
}

int rknpu_dumps_init(struct rknpu_dumps *dumps, struct drm_device *drm)
{
	dumps->dev = drm->dev;
	INIT_WORK(&dumps->work, rknpu_dump_work);
	if (!IS_ENABLED(CONFIG_DEV_COREDUMP))
		return 0;
	dumps->dump = vzalloc(sizeof(*dumps->dump));
	if (!dumps->dump)
		return -ENOMEM;
	return drmm_add_action_or_reset(drm, rknpu_dumps_fini, dumps);
}

void rknpu_dumps_flush(struct rknpu_dumps *dumps)
{
	flush_work(&dumps->work);
}

struct rknpu_dump *rknpu_dump_begin(struct rknpu_dumps *dumps)
{
	if (!dumps->dump || test_and_set_bit_lock(0, &dumps->busy))
		return NULL;
	memset(dumps->dump, 0, offsetof(struct rknpu_dump, commands));
	return dumps->dump;
}

void rknpu_dump_end(struct rknpu_dumps *dumps, struct rknpu_dump *dump)
{
	if (!dump)
		return;
	if (dump->cause)
		schedule_work(&dumps->work);
	else
		clear_bit_unlock(0, &dumps->busy);
}

void rknpu_dump_add_reg(struct rknpu_dump *dump, const char *name, u32 value)
{
	if (dump->reg_count < RKNPU_DUMP_REGS)
		dump->regs[dump->reg_count++] = (struct rknpu_dump_reg) { name, value };
}

void rknpu_dump_add_page(struct rknpu_dump *dump, u64 iova, u64 phys)
{
	if (dump->page_count < RKNPU_DUMP_PAGES)
		dump->pages[dump->page_count++] = (struct rknpu_dump_page) { iova, phys };
}
