// SPDX-License-Identifier: MIT
/*
 * npu-report: runs what evidence.toml has no proof of on the NPU of this machine, and writes one
 * text file that says where it differs from the model.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_npu.h"

#define DEFAULT_FILE	"npu-report.txt"
#define SELFTESTS	"/usr/bin/rknpu-selftests"

enum { EXIT_AS_MODELLED = 0, EXIT_DIFFERS = 1, EXIT_USAGE = 2, EXIT_BROKEN = 3 };

struct options {
	const char *file, *node, *selftests;
	bool force, list, doctor, times;
	char *const *only;	/* programs that are named */
	int nonly;
};

struct totals {
	unsigned int n[RP_DIFFERS + 1];
	unsigned int left_out;
	int lost;	/* why the driver takes no job of ours any more, or 0 */
};

static int usage(void)
{
	fprintf(stderr, "usage: npu-report [-f] [-o FILE] [--uapi rocket|rknpu] [--device NODE]\n"
		"                  [--selftests PROGRAM | --no-selftests] [--no-times] [ID]...\n"
		"       npu-report --list | --doctor\n"
		"  -o FILE        the report (" DEFAULT_FILE ")\n"
		"  -f             replace FILE\n"
		"  --selftests    what runs the selftests (" SELFTESTS ", if it is there)\n"
		"  --list         name the programs, without an NPU\n"
		"  --doctor       say what keeps the NPU from working\n"
		"exit status: 0 as modelled, 1 something differs, 2 FILE or options are wrong,\n"
		"             3 no NPU, or it was lost, or nothing could be run\n");
	return EXIT_USAGE;
}

/* Each line is on the disk before the next program runs, which may stop the machine. */
static void keep(FILE *f)
{
	fflush(f);
	fsync(fileno(f));
}

static bool wanted(const struct options *o, const char *id)
{
	for (int i = 0; i < o->nonly; i++) {
		if (!strcmp(o->only[i], id))
			return true;
	}
	return !o->nonly;
}

static int list(void)
{
	for (const struct rp_chapter *c = rp_chapters; c->name; c++) {
		for (const struct rp_program *p = c->programs; p->id; p++)
			printf("%-20s %s%s%s\n", p->id, p->what, p->why_not ? " (not run: " : "",
			       p->why_not ? p->why_not : "");
	}
	return EXIT_AS_MODELLED;
}

static bool known(const char *id)
{
	for (const struct rp_chapter *c = rp_chapters; c->name; c++) {
		for (const struct rp_program *p = c->programs; p->id; p++) {
			if (!strcmp(p->id, id))
				return true;
		}
	}
	return false;
}

/* If its last task hung. */
static void print_hang(FILE *f, const struct rp_machine *m)
{
	if (!m->hang.count)
		return;
	fprintf(f, "%20s ", "");
	model_print_why(f, &m->hang);
	fprintf(f, "\n");
}

static void try_one(FILE *f, struct rp_machine *m, const struct rp_program *p, struct totals *sum)
{
	static const char * const verdicts[] = { "not run", "as modelled", "differs" };
	static struct trial t;

	fprintf(f, "%-20s ", p->id);
	keep(f);
	m->hang.count = 0;
	rp_try(&t, &m->npu, p);
	fprintf(f, "%s (%s)\n%20s %s\n", verdicts[t.verdict], t.text, "", p->what);
	print_hang(f, m);
	sum->n[t.verdict]++;
	/* Unbound, or we were banned: nothing that follows can run. */
	if (t.outcome == -ENODEV || t.outcome == -EPIPE)
		sum->lost = t.outcome;
}

static bool is_for(const struct rp_chapter *c, const struct rp_machine *m)
{
	return !c->soc || c->soc == npu_soc(m->dev);
}

static void leave_out(FILE *f, const struct rp_machine *m, const struct rp_chapter *c,
		      const struct options *o, struct totals *sum)
{
	unsigned int n = 0;

	for (const struct rp_program *p = c->programs; p->id; p++)
		n += wanted(o, p->id);
	sum->left_out += n;
	if (n)
		fprintf(f, "%-20s left out, %u statements: its programs are for the RK%u, and this is an RK%u\n",
			c->name, n, c->soc, npu_soc(m->dev));
}

static void try_all(FILE *f, struct rp_machine *m, const struct options *o, struct totals *sum)
{
	fprintf(f, "\nStatements of evidence.toml\n===========================\n\n");
	for (const struct rp_chapter *c = rp_chapters; c->name; c++) {
		if (!is_for(c, m))
			continue;
		for (const struct rp_program *p = c->programs; p->id; p++) {
			if (wanted(o, p->id))
				try_one(f, m, p, sum);
		}
	}
	for (const struct rp_chapter *c = rp_chapters; c->name; c++) {
		if (!is_for(c, m))
			leave_out(f, m, c, o, sum);
	}
}

/* Their results alone; the tests print more for whoever runs them. Whether one has passed. */
static bool copy_results(FILE *f, FILE *tests)
{
	bool passed = false;
	char line[512];

	while (fgets(line, sizeof(line), tests)) {
		const char *text = line + strspn(line, "# ");

		if (!strncmp(text, "ok ", 3) || !strncmp(text, "not ok ", 7) ||
		    !strncmp(text, "Totals:", 7))
			fputs(line, f);
		passed |= !strncmp(text, "ok ", 3) && !strstr(text, "# SKIP");
	}
	return passed;
}

static void run_selftests(FILE *f, const struct options *o)
{
	const char *program = o->selftests ? o->selftests : SELFTESTS;
	FILE *tests;
	bool passed;
	int status;

	if (!*program || o->nonly)
		return;
	fprintf(f, "\nSelftests\n=========\n\n");
	if (access(program, X_OK)) {
		fprintf(f, "not run: %s: %s\n", program, strerror(errno));
		return;
	}
	keep(f);
	/* Its name may have blanks. */
	tests = setenv("NPU_REPORT_SELFTESTS", program, 1) ? NULL : popen("exec \"$NPU_REPORT_SELFTESTS\"", "r");
	if (!tests) {
		fprintf(f, "not run: %s: %s\n", program, strerror(errno));
		return;
	}
	passed = copy_results(f, tests);
	status = pclose(tests);
	fprintf(f, "%s\n", status ? "some failed" : passed ? "passed" : "none was run");
}

static void run_times(FILE *f, struct rp_machine *m, const struct options *o)
{
	if (!o->times || o->nonly)
		return;
	fprintf(f, "\nTimings\n=======\n\n");
	keep(f);
	rp_times(f, m);
}

static int status_of(const struct totals *sum)
{
	if (sum->lost)
		fprintf(stderr, "npu-report: the driver takes no more jobs: %s\n", strerror(-sum->lost));
	else if (!sum->n[RP_AS_MODELLED] && !sum->n[RP_DIFFERS])
		fprintf(stderr, "npu-report: nothing could be run\n");
	else
		return sum->n[RP_DIFFERS] ? EXIT_DIFFERS : EXIT_AS_MODELLED;
	return EXIT_BROKEN;
}

static int write_report(FILE *f, struct rp_machine *m, const struct options *o)
{
	struct totals sum = { 0 };

	fprintf(f, "npu-report 1\n\n");
	rp_describe(f, m);
	try_all(f, m, o, &sum);
	run_times(f, m, o);
	run_selftests(f, o);
	fprintf(f, "\n%u as modelled, %u differ, %u not run, %u left out\n", sum.n[RP_AS_MODELLED],
		sum.n[RP_DIFFERS], sum.n[RP_NOT_RUN], sum.left_out);
	keep(f);
	printf("%s: %u statements as modelled, %u differ, %u not run, %u left out\n", o->file,
	       sum.n[RP_AS_MODELLED], sum.n[RP_DIFFERS], sum.n[RP_NOT_RUN], sum.left_out);
	return status_of(&sum);
}

static FILE *create(const struct options *o)
{
	int fd = open(o->file, O_WRONLY | O_CREAT | O_CLOEXEC | (o->force ? O_TRUNC : O_EXCL),
		      0644);

	return fd < 0 ? NULL : fdopen(fd, "w");
}

/* keep() drops what it cannot write, so that fclose() would find nothing left. */
static bool close_report(FILE *f)
{
	bool lost = ferror(f);

	return !fclose(f) && !lost;
}

static int report(const struct options *o)
{
	struct rp_machine m;
	FILE *f;
	int ret = rp_machine_open(&m, o->node);

	if (ret) {
		fprintf(stderr, "npu-report: %s: %s; see npu-report --doctor\n",
			o->node ? o->node : "no NPU", strerror(-ret));
		return EXIT_BROKEN;
	}
	f = create(o);
	if (!f) {
		fprintf(stderr, "npu-report: %s: %s\n", o->file, strerror(errno));
		ret = EXIT_USAGE;
	} else {
		ret = write_report(f, &m, o);
		if (!close_report(f)) {
			fprintf(stderr, "npu-report: %s: not all of it could be written\n", o->file);
			ret = EXIT_USAGE;
		}
	}
	rp_machine_close(&m);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "uapi", required_argument, NULL, 'u' },
		{ "device", required_argument, NULL, 'd' },
		{ "selftests", required_argument, NULL, 's' },
		{ "no-selftests", no_argument, NULL, 'n' },
		{ "no-times", no_argument, NULL, 't' },
		{ "list", no_argument, NULL, 'l' },
		{ "doctor", no_argument, NULL, 'D' },
		{ 0 },
	};
	struct options o = { .file = DEFAULT_FILE, .times = true };
	int opt;

	while ((opt = getopt_long(argc, argv, "fo:", options, NULL)) != -1) {
		if (opt == 'f')
			o.force = true;
		else if (opt == 'o')
			o.file = optarg;
		else if (opt == 'u' && (!strcmp(optarg, "rocket") || !strcmp(optarg, "rknpu")))
			setenv("NPU_UAPI", optarg, 1);
		else if (opt == 'd')
			o.node = optarg;
		else if (opt == 's')
			o.selftests = optarg;
		else if (opt == 'n')
			o.selftests = "";
		else if (opt == 't')
			o.times = false;
		else if (opt == 'l')
			o.list = true;
		else if (opt == 'D')
			o.doctor = true;
		else
			return usage();
	}
	if (o.doctor)
		return rp_doctor() ? EXIT_AS_MODELLED : EXIT_BROKEN;
	o.only = argv + optind;
	o.nonly = argc - optind;
	for (int i = 0; i < o.nonly; i++) {
		if (!known(o.only[i])) {
			fprintf(stderr, "npu-report: %s: no such program; --list names them\n",
				o.only[i]);
			return EXIT_USAGE;
		}
	}
	return o.list ? list() : report(&o);
}
