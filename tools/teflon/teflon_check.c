// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs generated models through Mesa's Teflon delegate and prints TAP:
 * teflon_check DELEGATE MODELS MESA-VERSION [NAME]...
 * With RKNPU_BESIDE in the environment other clients use the NPU meanwhile.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "teflon_check.h"

#define MAX_MODELS	64
/* Fewer values than these in a reference would hide mistakes. */
#define MIN_DISTINCT	40

static int read_list(const char *dir, struct model *models)
{
	char path[4096], line[256];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/list", dir);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (n < MAX_MODELS && fgets(line, sizeof(line), f)) {
		struct model *m = &models[n];

		n += sscanf(line, "%79[^# \n] %d %d %lu %d %15s", m->name, &m->nodes, &m->delegated,
			    &m->macs, &m->tolerance, m->since) == 6;
	}
	fclose(f);
	return n;
}

static bool wanted(const char *name, char **names)
{
	if (!*names)
		return true;
	while (*names && strcmp(name, *names))
		names++;
	return *names;
}

/* What a process of its own makes of the model: a client that aborts takes only itself along. */
static void run_apart(const struct model *m, const char *dir, const char *delegate,
		      struct outcome *o)
{
	char file[4096];
	int status;
	pid_t pid;

	memset(o, 0, sizeof(*o));
	snprintf(file, sizeof(file), "%s/%s.tflite", dir, m->name);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		/* The libraries print to stdout; stdout is TAP. */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		teflon_run(m, file, delegate, o);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		snprintf(o->error, sizeof(o->error), "cannot start a process");
	else if (WIFSIGNALED(status))
		snprintf(o->error, sizeof(o->error), "the client died of %s",
			 strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		snprintf(o->error, sizeof(o->error), "the client ended with status %d",
			 WEXITSTATUS(status));
}

static bool complain(bool good, const char *what)
{
	if (!good)
		printf("# %s\n", what);
	return good;
}

/* What is counted for all clients. */
static bool counted(uint64_t all, uint64_t own)
{
	return getenv("RKNPU_BESIDE") ? all >= own : all == own;
}

static bool judge(const struct model *m, const struct outcome *o)
{
	bool good = true;

	if (o->error[0])
		return complain(false, o->error);
	good &= complain(o->nodes == m->nodes,
			 "the interpreter sees another number of nodes");
	good &= complain(o->delegated == m->delegated,
			 "the delegate took another number of nodes than expected");
	good &= complain(!m->delegated == !o->tasks,
			 "delegation and submission do not agree");
	good &= complain(!o->driver_counts ||
			 (counted(o->driver_jobs, o->jobs) && counted(o->driver_tasks, o->tasks)),
			 "the driver did not run what was submitted");
	good &= complain(!o->model_counts || counted(o->npu_tasks, o->tasks),
			 "the NPU did not finish the tasks that were submitted");
	good &= complain(!o->model_counts || o->macs >= ROUNDS * m->macs,
			 "the NPU multiplied less than the delegated nodes ask for");
	good &= complain(!o->hangs, "the NPU hung");
	good &= complain(o->distinct >= MIN_DISTINCT,
			 "the reference has too few values to prove anything");
	good &= complain(o->moved >= o->moved_of / 4,
			 "the reference hardly depends on the input");
	good &= complain(o->max <= m->tolerance, "results differ too much");
	return good;
}

static void describe(const struct outcome *o)
{
	printf("delegated %d of %d nodes in %d partition%s, %lu jobs, %lu tasks, ",
	       o->delegated, o->nodes, o->partitions, o->partitions == 1 ? "" : "s",
	       o->jobs, o->tasks);
	printf("%ld of %ld elements differ, by %d at most", o->differ, o->elements, o->max);
}

int main(int argc, char **argv)
{
	static struct model models[MAX_MODELS];
	int all, chosen = 0, done = 0, failed = 0;
	struct outcome *o;

	if (argc < 4) {
		fprintf(stderr, "usage: teflon_check DELEGATE MODELS MESA-VERSION [NAME]...\n");
		return 2;
	}
	o = mmap(NULL, sizeof(*o), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (o == MAP_FAILED)
		return 2;
	all = read_list(argv[2], models);
	for (int i = 0; i < all; i++)
		chosen += wanted(models[i].name, argv + 4);
	printf("TAP version 13\n1..%d\n", chosen);
	for (int i = 0; i < all; i++) {
		const struct model *m = &models[i];
		bool good;

		if (!wanted(m->name, argv + 4))
			continue;
		if (strverscmp(argv[3], m->since) < 0) {
			printf("ok %d - %s # SKIP Mesa %s gets it wrong, %s is the first not to\n",
			       ++done, m->name, argv[3], m->since);
			continue;
		}
		run_apart(m, argv[2], argv[1], o);
		good = judge(m, o);
		failed += !good;
		printf("%sok %d - %s: ", good ? "" : "not ", ++done, m->name);
		if (o->error[0])
			printf("no result");
		else
			describe(o);
		printf("\n# CPU result: %d values, %ld of %ld elements depend on the input; ",
		       o->distinct, o->moved, o->moved_of);
		printf("NPU: %lu tasks, %lu products\n", o->npu_tasks, o->macs);
	}
	return !chosen || failed;
}
