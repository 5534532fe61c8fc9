// SPDX-License-Identifier: MIT
/*
 * npu-dump: says why the last task of each core hung, as the model of the NPU knows it, and
 * decodes the task's registers.
 */
#include <string.h>

#include "model.h"

enum { EXIT_OK = 0, EXIT_NONE = 1, EXIT_USAGE = 2, EXIT_NO_MODEL = 3 };

static int usage(void)
{
	fprintf(stderr, "usage: npu-dump [-q]\n"
		"  -q    only the reasons, without registers\n"
		"exit status: 0 a task has hung, 1 none has, 2 options are wrong, 3 no model to ask\n");
	return EXIT_USAGE;
}

static int dump(const struct model *m, bool registers)
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

int main(int argc, char **argv)
{
	bool quiet = argc == 2 && !strcmp(argv[1], "-q");
	struct model m;
	const char *why;
	int ret;

	if (argc > 1 && !quiet)
		return usage();
	why = model_open(&m);
	if (why) {
		fprintf(stderr, "npu-dump: %s\n", why);
		return EXIT_NO_MODEL;
	}
	ret = dump(&m, !quiet);
	model_close(&m);
	return ret;
}
