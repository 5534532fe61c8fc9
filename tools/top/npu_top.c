// SPDX-License-Identifier: MIT
/*
 * npu-top: how busy each core of the NPU is, and which clients keep it so, once a second.
 *
 * Clients are from /proc/PID/fdinfo, which shows a user the own processes and root all; the
 * cores' load is from /proc/rknpu/load, where that is not from debugfs, which is root's; the clock
 * is from devfreq, for everybody.
 */
#include <ctype.h>
#include <curses.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CORES		8
#define SECOND		1000000000ull

struct client {
	uint64_t id;
	int pid;
	char comm[32];
	/* Between these it was read: with many processes not all are at once. */
	uint64_t from_ns, to_ns;
	uint64_t core_ns[CORES];
	uint64_t memory;	/* bytes of BOs */
};

struct sample {
	uint64_t at_ns;
	unsigned int count, cores;
	unsigned long long hz, max_hz;		/* 0: not known */
	bool has_load;
	unsigned int load[CORES];
	struct client *client;
	unsigned int room;			/* of them */
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

static bool read_text(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, size - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	return n;
}

/* ---- clients ---- */

/* "drm-total-memory: 12 KiB"; the unit is left out for bytes. */
static uint64_t bytes(const char *text)
{
	char unit[8] = "";
	unsigned long long n = 0;

	sscanf(text, "%llu %7s", &n, unit);
	return n << (!strcmp(unit, "KiB") ? 10 : !strcmp(unit, "MiB") ? 20 : 0);
}

static void read_key(struct sample *s, struct client *c, const char *line)
{
	unsigned long long n;
	unsigned int core;

	if (sscanf(line, "rknpu-client: %llu", &n) == 1)
		c->id = n;
	else if (sscanf(line, "drm-engine-npu%u: %llu ns", &core, &n) == 2 && core < CORES) {
		c->core_ns[core] = n;
		if (core >= s->cores)
			s->cores = core + 1;
	} else if (sscanf(line, "drm-maxfreq-npu%u: %llu", &core, &n) == 2 && !s->max_hz)
		s->max_hz = n;
	else if (!strncmp(line, "drm-total-memory:", 17))
		c->memory = bytes(line + 17);
}

/* False if that is no file of ours, or it is gone, or another user's. */
static bool read_client(struct sample *s, struct client *c, const char *path)
{
	char line[256];
	FILE *f = fopen(path, "re");

	memset(c, 0, sizeof(*c));
	if (!f)
		return false;
	c->from_ns = now();
	while (fgets(line, sizeof(line), f))
		read_key(s, c, line);
	fclose(f);
	c->to_ns = now();
	return c->id;
}

/* Files that processes share are one client. */
static bool is_known(const struct sample *s, uint64_t id)
{
	for (unsigned int i = 0; i < s->count; i++)
		if (s->client[i].id == id)
			return true;
	return false;
}

/* Only those are worth the reading: asking for other files' fdinfo costs. */
static bool is_device(const char *pid, const char *fd)
{
	char path[64], to[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.16s/fd/%.16s", pid, fd);
	n = readlink(path, to, sizeof(to) - 1);
	if (n < 0)
		return false;
	to[n] = '\0';
	return !strncmp(to, "/dev/dri/", 9) || !strncmp(to, "/dev/accel/", 11) ||
	       !strncmp(to, "/dev/rknpu", 10);
}

/* Room for one more client, or NULL. */
static struct client *next_client(struct sample *s)
{
	unsigned int room = s->room ? 2 * s->room : 64;
	struct client *more;

	if (s->count < s->room)
		return &s->client[s->count];
	more = realloc(s->client, room * sizeof(*more));
	if (!more)
		return NULL;
	s->client = more;
	s->room = room;
	return &s->client[s->count];
}

static void add_client(struct sample *s, const char *pid, const char *fd)
{
	struct client *c;
	char path[PATH_MAX];

	if (!is_device(pid, fd))
		return;
	c = next_client(s);
	if (!c)
		return;
	snprintf(path, sizeof(path), "/proc/%.16s/fdinfo/%.16s", pid, fd);
	if (!read_client(s, c, path) || is_known(s, c->id))
		return;
	c->pid = atoi(pid);
	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	read_text(path, c->comm, sizeof(c->comm));
	/* Whoever made the name may have put anything into it. */
	for (char *p = c->comm; *p; p++)
		if (*p == '\n')
			*p = '\0';
		else if (!isprint((unsigned char)*p) || *p == '"' || *p == '\\')
			*p = '?';
	s->count++;
}

static void add_process(struct sample *s, const char *pid)
{
	struct dirent *e;
	char path[PATH_MAX];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			add_client(s, pid, e->d_name);
	if (d)
		closedir(d);
}

/* ---- the device ---- */

static unsigned long long read_number(const char *dir, const char *name)
{
	char path[PATH_MAX], text[32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return read_text(path, text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

static void read_clock(struct sample *s)
{
	glob_t g;

	if (glob("/sys/class/devfreq/*npu*", 0, NULL, &g))
		return;
	s->hz = read_number(g.gl_pathv[0], "cur_freq");
	s->max_hz = read_number(g.gl_pathv[0], "max_freq");
	globfree(&g);
}

/* "NPU load:  Core0:  3%, Core1: ..." of the last full second. */
static void read_load(struct sample *s)
{
	unsigned int core, percent;
	char text[256];

	if (!read_text("/proc/rknpu/load", text, sizeof(text)) &&
	    !read_text("/sys/kernel/debug/rknpu/load", text, sizeof(text)))
		return;
	for (const char *at = strstr(text, "Core"); at; at = strstr(at + 1, "Core")) {
		if (sscanf(at, "Core%u: %u%%", &core, &percent) != 2 || core >= CORES)
			continue;
		s->has_load = true;
		s->load[core] = percent;
		if (core >= s->cores)
			s->cores = core + 1;
	}
}

static void take(struct sample *s)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	*s = (struct sample){ .at_ns = now(), .client = s->client, .room = s->room };
	while (d && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			add_process(s, e->d_name);
	if (d)
		closedir(d);
	read_clock(s);
	read_load(s);
}

/* ---- between two samples ---- */

struct use {
	double core[CORES];
	double all;
};

static const struct client *find(const struct sample *s, uint64_t id)
{
	for (unsigned int i = 0; i < s->count; i++)
		if (s->client[i].id == id)
			return &s->client[i];
	return NULL;
}

/* Not of the one that had its number before the module was loaded again: times only grow. */
static const struct client *find_same(const struct sample *before, const struct client *c)
{
	const struct client *old = find(before, c->id);

	for (unsigned int i = 0; old && i < CORES; i++)
		if (old->core_ns[i] > c->core_ns[i])
			return NULL;
	return old;
}

/* In percent of one core. A client that is new has done all it did since. */
/* Of the longest time that it can have been, so that nobody is busy for more than that. */
static struct use use_of(const struct sample *before, const struct sample *s, const struct client *c)
{
	const struct client *old = find_same(before, c);
	double ns = c->to_ns - (old ? old->from_ns : before->at_ns);
	struct use u = { 0 };

	for (unsigned int i = 0; i < s->cores; i++) {
		u.core[i] = 100 * (c->core_ns[i] - (old ? old->core_ns[i] : 0)) / ns;
		u.all += u.core[i];
	}
	return u;
}

/* The driver's, or what the clients that can be seen add up to. */
static double core_load(const struct sample *before, const struct sample *s, unsigned int core)
{
	double sum = 0;

	if (s->has_load)
		return s->load[core];
	for (unsigned int i = 0; i < s->count; i++)
		sum += use_of(before, s, &s->client[i]).core[core];
	return sum > 100 ? 100 : sum;
}

static const struct sample *sort_before, *sort_now;

/* The busiest first; of equals the oldest, so that idle ones keep their places. */
static int by_use(const void *a, const void *b)
{
	double x = use_of(sort_before, sort_now, a).all, y = use_of(sort_before, sort_now, b).all;
	uint64_t i = ((const struct client *)a)->id, j = ((const struct client *)b)->id;

	if (x != y)
		return x < y ? 1 : -1;
	return i > j ? 1 : i < j ? -1 : 0;
}

static void sort(const struct sample *before, struct sample *s)
{
	/* qsort() moves what use_of() looks at, but not what it is given. */
	sort_before = before;
	sort_now = s;
	qsort(s->client, s->count, sizeof(s->client[0]), by_use);
}

/* ---- output ---- */

static void print_json(const struct sample *before, const struct sample *s)
{
	printf("{\"seconds\": %.3f, \"hz\": %llu, \"max_hz\": %llu, \"load_from\": \"%s\", \"cores\": [",
	       (s->at_ns - before->at_ns) / (double)SECOND, s->hz, s->max_hz,
	       s->has_load ? "driver" : "clients");
	for (unsigned int i = 0; i < s->cores; i++)
		printf("%s%.1f", i ? ", " : "", core_load(before, s, i));
	printf("], \"clients\": [");
	for (unsigned int i = 0; i < s->count; i++) {
		const struct client *c = &s->client[i];
		struct use u = use_of(before, s, c);

		printf("%s{\"client\": %llu, \"pid\": %d, \"comm\": \"%s\", \"memory\": %llu, \"cores\": [",
		       i ? ", " : "", (unsigned long long)c->id, c->pid, c->comm,
		       (unsigned long long)c->memory);
		for (unsigned int j = 0; j < s->cores; j++)
			printf("%s%.1f", j ? ", " : "", u.core[j]);
		printf("]}");
	}
	printf("]}\n");
}

static void print_bar(FILE *f, double percent)
{
	unsigned int full = percent / 5 + 0.5;

	fputc('[', f);
	for (unsigned int i = 0; i < 20; i++)
		fputc(i < full ? '|' : ' ', f);
	fputc(']', f);
}

static void print_cores(FILE *f, const struct sample *before, const struct sample *s)
{
	if (s->hz)
		fprintf(f, "NPU at %llu of %llu MHz\n", s->hz / 1000000, s->max_hz / 1000000);
	else if (s->max_hz)
		fprintf(f, "NPU, at most %llu MHz\n", s->max_hz / 1000000);
	else
		fprintf(f, "NPU\n");
	for (unsigned int i = 0; i < s->cores; i++) {
		fprintf(f, "core %u ", i);
		print_bar(f, core_load(before, s, i));
		fprintf(f, " %5.1f %%\n", core_load(before, s, i));
	}
	if (!s->has_load)
		fprintf(f, "(of the clients that can be seen; /proc/rknpu/load is not there)\n");
}

/* Without what there is no room for, the least wanted first. */
static void print_clients(FILE *f, const struct sample *before, const struct sample *s,
			  unsigned int columns)
{
	unsigned int room = 26 + 7 * s->cores;
	bool has_memory = columns >= room + 11 + 9, has_pid = columns >= room + 9;

	fprintf(f, "%8s", "CLIENT");
	if (has_pid)
		fprintf(f, " %8s", "PID");
	fprintf(f, "  %-16s", "NAME");
	if (has_memory)
		fprintf(f, " %10s", "MEMORY");
	for (unsigned int i = 0; i < s->cores; i++)
		fprintf(f, "  CORE%u", i);
	fputc('\n', f);
	for (unsigned int i = 0; i < s->count; i++) {
		const struct client *c = &s->client[i];
		struct use u = use_of(before, s, c);

		fprintf(f, "%8llu", (unsigned long long)c->id);
		if (has_pid)
			fprintf(f, " %8d", c->pid);
		fprintf(f, "  %-16s", c->comm);
		if (has_memory)
			fprintf(f, " %6llu KiB", (unsigned long long)c->memory >> 10);
		for (unsigned int j = 0; j < s->cores; j++)
			fprintf(f, " %5.1f%%", u.core[j]);
		fputc('\n', f);
	}
}

static void print_all(FILE *f, const struct sample *before, const struct sample *s,
		      unsigned int columns)
{
	print_cores(f, before, s);
	fputc('\n', f);
	print_clients(f, before, s, columns);
	if (geteuid())
		fprintf(f, "\nonly your own processes: others' take root\n");
}

static void draw(const struct sample *before, const struct sample *s)
{
	char *text = NULL, *at;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	if (!f)
		return;
	print_all(f, before, s, COLS);
	fclose(f);
	erase();
	at = text;
	for (int row = 0; *at && row < LINES; row++) {
		length = strcspn(at, "\n");
		mvaddnstr(row, 0, at, length < (size_t)COLS ? (int)length : COLS);
		at += length + !!at[length];
	}
	refresh();
	free(text);
}

static void wait_until(uint64_t at_ns)
{
	struct timespec t = { .tv_sec = at_ns / SECOND, .tv_nsec = at_ns % SECOND };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static int usage(void)
{
	fprintf(stderr, "usage: npu-top [--once] [--json] [--seconds N]\n"
		"  --once       one look, over N seconds\n"
		"  --json       a line of JSON for each\n"
		"  --seconds N  between two looks, from 0.1 on; 1 by default\n"
		"on a terminal q ends it\n"
		"exit status: 0, or 1 without an NPU of this driver or where nothing can be written,\n"
		"or 2 if the options are wrong\n");
	return 2;
}

/* A device of the driver's has a link to its driver. */
static bool has_device(void)
{
	glob_t g;
	bool there = !glob("/sys/bus/platform/drivers/rknpu-accel*/*/driver", 0, NULL, &g);

	if (there)
		globfree(&g);
	return there;
}

static int say_nothing_seen(void)
{
	if (access("/sys/module/rknpu_accel", F_OK))
		fprintf(stderr, "npu-top: there is no NPU: the module rknpu_accel is not loaded\n");
	else if (!has_device())
		fprintf(stderr, "npu-top: rknpu_accel is loaded and has no NPU: the kernel's log (dmesg) may say why\n");
	else
		fprintf(stderr, "npu-top: nothing can be seen of the NPU: no client is yours, and /proc/rknpu/load "
			"is not there (parameter vendor_procfs)%s\n", geteuid() ? "; try as root" : "");
	return 1;
}

static volatile sig_atomic_t is_ended;

static void end(int signal)
{
	(void)signal;
	is_ended = 1;
}

/* Those of ncurses, which has two of these, end the program as if it had failed. */
static void catch_signals(void)
{
	static const int which[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction a = { .sa_handler = end };

	for (unsigned int i = 0; i < sizeof(which) / sizeof(which[0]); i++)
		sigaction(which[i], &a, NULL);
}

static bool is_hung_up(void)
{
	struct pollfd p = { .fd = STDIN_FILENO };

	return poll(&p, 1, 0) > 0;
}

/* False when it is to end. @s is NULL as long as there is nothing to show. */
static bool wait_on_screen(const struct sample *before, const struct sample *s, uint64_t until_ns)
{
	for (uint64_t at = now(); at < until_ns && !is_ended; at = now()) {
		int key;

		timeout((until_ns - at + 999999) / 1000000);
		key = getch();
		if (key == 'q' || key == 'Q')
			return false;
		if (key == KEY_RESIZE && s)
			draw(before, s);
		/* Without a terminal it returns at once, and would forever. */
		if (key == ERR && is_hung_up())
			return false;
	}
	return !is_ended;
}

static int run_on_screen(struct sample *before, struct sample *s, double seconds)
{
	const struct sample *shown = NULL;
	struct sample *other;
	int ret = 0;

	catch_signals();
	cbreak();
	noecho();
	curs_set(0);
	while (wait_on_screen(s, shown, before->at_ns + (uint64_t)(seconds * SECOND))) {
		take(s);
		if (!s->cores) {
			ret = 1;
			break;
		}
		sort(before, s);
		draw(before, s);
		shown = s;
		other = before;
		before = s;
		s = other;
	}
	endwin();
	return ret ? say_nothing_seen() : 0;
}

static int run(struct sample *before, struct sample *s, bool once, bool json, double seconds)
{
	struct sample *other;

	do {
		wait_until(before->at_ns + (uint64_t)(seconds * SECOND));
		take(s);
		if (!s->cores)
			return say_nothing_seen();
		sort(before, s);
		if (json)
			print_json(before, s);
		else
			print_all(stdout, before, s, UINT_MAX);
		fflush(stdout);
		other = before;
		before = s;
		s = other;
	} while (!once && !ferror(stdout));
	if (!ferror(stdout))
		return 0;
	fprintf(stderr, "npu-top: standard output: %s\n", strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "once", no_argument, NULL, 'o' }, { "json", no_argument, NULL, 'j' },
		{ "seconds", required_argument, NULL, 's' }, { 0 },
	};
	static struct sample samples[2];
	bool once = false, json = false;
	double seconds = 1;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (opt == 'o')
			once = true;
		else if (opt == 'j')
			json = true;
		else if (opt == 's')
			seconds = atof(optarg);
		else
			return usage();
	}
	/* Also refuses what is no number. */
	if (optind != argc || !(seconds >= 0.1 && seconds <= 3600))
		return usage();
	take(&samples[0]);
	if (!samples[0].cores)
		return say_nothing_seen();
	/* A terminal that terminfo does not know gets one look below the other. */
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !once && !json && newterm(NULL, stdout, stdin))
		return run_on_screen(&samples[0], &samples[1], seconds);
	return run(&samples[0], &samples[1], once, json, seconds);
}
