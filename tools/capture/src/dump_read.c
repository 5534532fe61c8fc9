// SPDX-License-Identifier: MIT
/* Reads dumps of the driver; Documentation/accel/rknpu/monitoring.rst has the lines. */
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "npu_plain.h"

/* Numbers of errors end there (linux/err.h). */
#define MAX_ERRNO	4095

static void copy(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text);
}

static bool read_error(const char *text, int *error)
{
	return sscanf(text, "%d", error) == 1 && *error <= 0 && *error >= -MAX_ERRNO;
}

static bool read_word(struct dump *d, const char *key, const char *text)
{
	if (!strcmp(key, "kernel"))
		copy(d->kernel, sizeof(d->kernel), text);
	else if (!strcmp(key, "driver"))
		copy(d->driver, sizeof(d->driver), text);
	else if (!strcmp(key, "npu"))
		copy(d->npu, sizeof(d->npu), text);
	else if (!strcmp(key, "time"))
		copy(d->time, sizeof(d->time), text);
	else if (!strcmp(key, "cause"))
		copy(d->cause, sizeof(d->cause), text);
	else if (!strcmp(key, "core"))
		return sscanf(text, "%u", &d->core) == 1;
	else if (!strcmp(key, "error"))
		return read_error(text, &d->error);
	else if (!strcmp(key, "lost"))
		return read_error(text, &d->lost);
	return true;
}

static bool read_job(struct dump *d, const char *key, const char *text)
{
	unsigned long long a, b = 0;

	if (!strcmp(key, "client")) {
		d->has_job = true;
		if (sscanf(text, "%llu pid %d comm %31[^\n]", &a, &d->pid, d->comm) < 2)
			return false;
		d->client = a;
	} else if (!strcmp(key, "job")) {
		if (sscanf(text, "%llu", &a) != 1)
			return false;
		d->job = a;
	} else if (!strcmp(key, "tag")) {
		if (sscanf(text, "%llx", &a) != 1)
			return false;
		d->tag = a;
	} else if (!strcmp(key, "task")) {
		return sscanf(text, "%u of %u", &d->task, &d->tasks) == 2;
	} else if (!strcmp(key, "elapsed_ns")) {
		if (sscanf(text, "%llu", &a) != 1)
			return false;
		d->elapsed_ns = a;
	} else if (!strcmp(key, "start")) {
		return sscanf(text, "tasks %u int_mask %i dma_base %i", &d->kick_tasks,
			      (int *)&d->int_mask, (int *)&d->dma_base) == 3;
	} else if (!strcmp(key, "program")) {
		if (sscanf(text, "%llx %u task %u", &b, &d->program_size, &d->program_task) != 3)
			return false;
		d->program = b;
	}
	return true;
}

static bool read_fault(struct dump *d, const char *text)
{
	unsigned long long iova;
	char how[8];

	if (sscanf(text, "%7s %llx", how, &iova) != 2)
		return false;
	d->has_fault = true;
	d->fault_write = !strcmp(how, "write");
	d->fault = iova;
	return true;
}

static bool read_reg(struct dump *d, const char *text)
{
	struct dump_reg *r = &d->reg[d->nregs];

	if (d->nregs == DUMP_REGS || sscanf(text, "%31s %x", r->name, &r->value) != 2)
		return false;
	d->nregs++;
	return true;
}

static bool read_page(struct dump *d, const char *text)
{
	unsigned long long iova, phys = 0;

	if (d->npages == DUMP_PAGES || sscanf(text, "%llx %llx", &iova, &phys) < 1)
		return false;
	d->page[d->npages++] = (struct dump_page) { iova, phys };
	return true;
}

static bool read_past(struct dump *d, const char *text)
{
	struct dump_job *j = &d->past[d->njobs];
	unsigned long long number, ns;
	char whose[8];

	if (d->njobs == DUMP_JOBS ||
	    sscanf(text, "%llu %7s %u of %u %llu %31[^\n]", &number, whose, &j->task, &j->tasks, &ns,
		   j->cause) != 6)
		return false;
	j->number = number;
	j->elapsed_ns = ns;
	j->own = !strcmp(whose, "own");
	d->njobs++;
	return true;
}

static bool read_command(struct dump *d, const char *text)
{
	unsigned long long command;
	unsigned int index;

	if (d->ncommands == DUMP_COMMANDS || sscanf(text, "%x %llx", &index, &command) != 2 ||
	    index != d->ncommands)
		return false;
	d->command[d->ncommands++] = command;
	return true;
}

static bool read_line(struct dump *d, const char *key, const char *text)
{
	if (!strcmp(key, "cmd"))
		return read_command(d, text);
	if (!strcmp(key, "reg"))
		return read_reg(d, text);
	if (!strcmp(key, "page"))
		return read_page(d, text);
	if (!strcmp(key, "past"))
		return read_past(d, text);
	if (!strcmp(key, "fault"))
		return read_fault(d, text);
	return read_word(d, key, text) && read_job(d, key, text);
}

const char *dump_read(struct dump *d, FILE *f)
{
	char line[256], key[32];
	int version, at;

	memset(d, 0, sizeof(*d));
	if (!fgets(line, sizeof(line), f) || sscanf(line, "rknpu-dump %d", &version) != 1)
		return "this is no dump of the driver";
	if (version != DUMP_VERSION)
		return "the dump has a format of another version";
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		/* Whoever wrote the file may have put anything into it. */
		npu_plain(line);
		if (!strcmp(line, "end"))
			return NULL;
		at = 0;
		if (sscanf(line, "%31s %n", key, &at) == 1 && at && !read_line(d, key, line + at))
			return "a line of the dump makes no sense";
	}
	return "the dump has no end";
}
