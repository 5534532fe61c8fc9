// SPDX-License-Identifier: MIT
/*
 * npu-dump: decodes a dump of the driver, or says why the last task of each core hung, as the
 * model of the NPU knows it, with the task's registers.
 */
#include <errno.h>
#include <string.h>

#include "dump.h"
#include "model.h"

enum { EXIT_OK = 0, EXIT_NONE = 1, EXIT_USAGE = 2, EXIT_NO_MODEL = 3 };

static int usage(void)
{
	fprintf(stderr, "usage: npu-dump [-q] [FILE]\n"
		"  FILE  what was in /sys/class/devcoredump/devcd*/data, \"-\" for standard input;\n"
		"        without it the model is asked why tasks hung\n"
		"  -q    without the registers of programs\n"
		"exit status: 0 decoded, or a task has hung, 1 none has, 2 options or FILE are wrong,\n"
		"3 no model to ask\n");
	return EXIT_USAGE;
}

static int ask(const struct model *m, bool registers)
{
	int ret = EXIT_NONE;

	for (unsigned int i = 0; i < m->cores; i++) {
		struct model_hang h;

		if (!model_read(m, i, &h)) {
			printf("core %u: no task has hung\n", i);
			continue;
		}
		ret = EXIT_OK;
		printf("core %u: ", i);
		model_print_why(stdout, &h);
		printf(" (%u such tasks in all)\n", h.count);
		if (registers)
			model_print_task(stdout, "  ", &h);
	}
	return ret;
}

static int ask_model(bool registers)
{
	struct model m;
	const char *why = model_open(&m);
	int ret;

	if (why) {
		fprintf(stderr, "npu-dump: %s\n", why);
		return EXIT_NO_MODEL;
	}
	ret = ask(&m, registers);
	model_close(&m);
	return ret;
}

static int decode(const char *path, bool registers)
{
	static struct dump d;
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	const char *why = f ? dump_read(&d, f) : strerror(errno);

	if (f && f != stdin)
		fclose(f);
	if (why) {
		fprintf(stderr, "npu-dump: %s: %s\n", path, why);
		return EXIT_USAGE;
	}
	dump_print(stdout, &d, registers);
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	bool quiet = argc > 1 && !strcmp(argv[1], "-q");
	const char *path = argv[1 + quiet];

	if (argc > 2 + quiet || (path && path[0] == '-' && path[1]))
		return usage();
	return path ? decode(path, !quiet) : ask_model(!quiet);
}
