// SPDX-License-Identifier: MIT
/*
 * npu-capture: runs a command with the recorder preloaded, then puts what its processes
 * have recorded into one compressed file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zlib.h>

#include "cap.h"

#define LIBRARY		"librknpu-capture.so"
/* In the directory with the parts, none of which begins with a dot. */
#define WHOLE		".whole"
/* Where COMMAND's own status is 0. */
#define EXIT_NOTHING	124

static int usage(void)
{
	fprintf(stderr, "usage: npu-capture [-f] -o FILE [-l LIBRARY | -s] COMMAND [ARGUMENT]...\n"
		"  -o  where to write the capture, for nobody else to read\n"
		"  -f  replace FILE if it exists\n"
		"  -l  the recorder (default: " LIBRARY " beside this program, or in ../lib)\n"
		"  -s  preload nothing: COMMAND has the recorder linked in\n"
		"exit status: COMMAND's; 124 if that is 0 and no submit was recorded; 125 if FILE cannot be written\n");
	return 2;
}

static int fail(const char *what)
{
	fprintf(stderr, "npu-capture: %s: %s\n", what, strerror(errno));
	return 125;
}

/* ---- putting parts together ---- */

struct part {
	const char *name;
	FILE *f;
	bool clean;
	long end;		/* of the last record that leaves no submit open */
	unsigned long submits;
};

/* Finds how much of a part is whole: its process may have been killed. */
static bool measure(struct part *p)
{
	struct cap_header h;
	struct cap_rec rec;
	bool submit = false;
	struct stat st;
	long at;

	if (fread(&h, sizeof(h), 1, p->f) != 1 || memcmp(h.magic, CAP_MAGIC, sizeof(h.magic)) ||
	    fstat(fileno(p->f), &st))
		return false;
	p->end = at = sizeof(h);
	while (fread(&rec, sizeof(rec), 1, p->f) == 1) {
		long padded = (long)(((uint64_t)rec.size + 7) & ~UINT64_C(7));

		at += (long)sizeof(rec) + padded;
		if (at > st.st_size || fseek(p->f, padded, SEEK_CUR))
			break;
		submit = rec.type == CAP_SUBMIT || (submit && rec.type != CAP_DONE);
		p->submits += rec.type == CAP_DONE;
		p->clean = rec.type == CAP_END;
		if (!submit)
			p->end = at;
	}
	return p->end > (long)sizeof(h);
}

static bool put_rec(gzFile out, uint32_t type, const void *data, uint32_t size)
{
	struct cap_rec rec = { type, size };

	return gzwrite(out, &rec, sizeof(rec)) == sizeof(rec) &&
	       (!size || gzwrite(out, data, size) == (int)size);
}

static bool copy(struct part *p, gzFile out)
{
	static uint8_t buf[1 << 16];
	long left = p->end - (long)sizeof(struct cap_header);
	struct cap_end end = { .clean = 0 };

	if (fseek(p->f, sizeof(struct cap_header), SEEK_SET))
		return false;
	while (left > 0) {
		size_t n = left < (long)sizeof(buf) ? (size_t)left : sizeof(buf);

		if (fread(buf, 1, n, p->f) != n || gzwrite(out, buf, (unsigned int)n) != (int)n)
			return false;
		left -= (long)n;
	}
	return p->clean || put_rec(out, CAP_END, &end, sizeof(end));
}

static bool add_part(const char *dir, const char *name, gzFile out, unsigned long *submits)
{
	struct part p = { .name = name };
	char path[PATH_MAX];
	bool ok = true;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return false;
	p.f = fopen(path, "rb");
	if (!p.f)
		return false;
	if (measure(&p) && p.submits) {
		if (!p.clean)
			fprintf(stderr, "npu-capture: a process did not end by itself; what it "
				"recorded is kept up to its last whole submit\n");
		*submits += p.submits;
		ok = copy(&p, out);
	}
	fclose(p.f);
	return ok;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int no_dots(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Nobody else may read what memory held. */
static gzFile create(const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	gzFile out = fd < 0 ? NULL : gzdopen(fd, "wb");

	if (!out && fd >= 0)
		close(fd);
	return out;
}

static int gather(const char *dir, const char *file, unsigned long *submits)
{
	struct cap_header h = { .version = CAP_VERSION };
	struct dirent **names;
	int n = scandir(dir, &names, no_dots, by_name);
	gzFile out = create(file);
	bool ok = n >= 0 && out;

	memcpy(h.magic, CAP_MAGIC, sizeof(h.magic));
	ok = ok && gzwrite(out, &h, sizeof(h)) == sizeof(h);
	for (int i = 0; i < n; i++) {
		ok = add_part(dir, names[i]->d_name, out, submits) && ok;
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	ok = ok && put_rec(out, CAP_EOF, NULL, 0);
	if (out && gzclose(out) != Z_OK)
		ok = false;
	return ok ? 0 : fail(file);
}

static void remove_parts(const char *dir)
{
	char path[PATH_MAX];
	struct dirent **names;
	int n = scandir(dir, &names, no_dots, NULL);

	for (int i = 0; i < n; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name) < (int)sizeof(path))
			unlink(path);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* A file that is there, or a link, is replaced, never written through. */
static int put_in_place(const char *whole, const char *file, bool force)
{
	if (force)
		return rename(whole, file);
	if (!renameat2(AT_FDCWD, whole, AT_FDCWD, file, RENAME_NOREPLACE))
		return 0;
	/* Not all file systems can do that. */
	return errno != EINVAL || link(whole, file) ? -1 : unlink(whole);
}

/* What may not be there, or is no file that may be replaced. */
static bool is_in_the_way(const char *file, bool force)
{
	struct stat st;

	if (lstat(file, &st))
		return false;
	errno = EEXIST;
	return !force || !(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode));
}

/* ---- running ---- */

static bool find_library(char *path, size_t size)
{
	static const char * const places[] = { "", "../lib/rknpu-accel/", "../lib/" };
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return false;
	self[n] = '\0';
	slash = strrchr(self, '/');
	slash[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (snprintf(path, size, "%s%s" LIBRARY, self, places[i]) < (int)size &&
		    !access(path, R_OK))
			return true;
	}
	errno = ENOENT;
	return false;
}

static void preload(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char both[2 * PATH_MAX];

	if (old && *old && snprintf(both, sizeof(both), "%s:%s", library, old) < (int)sizeof(both))
		setenv("LD_PRELOAD", both, 1);
	else
		setenv("LD_PRELOAD", library, 1);
}

static int run(char **argv, const char *library, const char *dir)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old_int, old_quit;
	int status;
	pid_t pid;

	/* ^C is for the command; what it has recorded is still to be kept. */
	sigaction(SIGINT, &ignore, &old_int);
	sigaction(SIGQUIT, &ignore, &old_quit);
	pid = fork();
	if (!pid) {
		sigaction(SIGINT, &old_int, NULL);
		sigaction(SIGQUIT, &old_quit, NULL);
		setenv("NPU_CAPTURE_DIR", dir, 1);
		if (library)
			preload(library);
		execvp(argv[0], argv);
		fail(argv[0]);
		_exit(127);
	}
	if (pid < 0)
		return fail("fork");
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return fail("waitpid");
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int capture(char **argv, const char *file, bool force, const char *library)
{
	char dir[PATH_MAX], full[PATH_MAX], whole[PATH_MAX + sizeof(WHOLE)];
	unsigned long submits = 0;
	int ret, err;

	if (snprintf(dir, sizeof(dir), "%s.XXXXXX", file) >= (int)sizeof(dir) || !mkdtemp(dir))
		return fail(file);
	/* The command may change its directory. */
	if (!realpath(dir, full))
		return fail(dir);
	snprintf(whole, sizeof(whole), "%s/" WHOLE, full);
	ret = run(argv, library, full);
	err = gather(full, whole, &submits);
	if (err) {
		unlink(whole);
		if (rmdir(full))
			fprintf(stderr, "npu-capture: what each process recorded is in %s\n", full);
		return err;
	}
	remove_parts(full);
	if (put_in_place(whole, file, force)) {
		err = fail(file);
		fprintf(stderr, "npu-capture: the capture is %s\n", whole);
		return err;
	}
	rmdir(full);
	if (submits) {
		fprintf(stderr, "npu-capture: %lu submits in %s\n", submits, file);
		return ret;
	}
	fprintf(stderr, "npu-capture: no submit was recorded in %s: the command ran nothing on the "
		"NPU, or is linked statically\n", file);
	return ret ? ret : EXIT_NOTHING;
}

int main(int argc, char **argv)
{
	const char *file = NULL, *library = NULL;
	char found[PATH_MAX], full[PATH_MAX];
	bool force = false, linked = false;
	int opt;

	while ((opt = getopt(argc, argv, "+fo:l:s")) != -1) {
		if (opt == 'f')
			force = true;
		else if (opt == 'o')
			file = optarg;
		else if (opt == 'l')
			library = optarg;
		else if (opt == 's')
			linked = true;
		else
			return usage();
	}
	if (!file || optind == argc)
		return usage();
	if (is_in_the_way(file, force))
		return fail(file);
	if (linked)
		return capture(argv + optind, file, force, NULL);
	if (!library)
		library = find_library(found, sizeof(found)) ? found : LIBRARY;
	if (!realpath(library, full))
		return fail(library);
	/* Where LD_PRELOAD ends a name; the linker would go on without it. */
	if (strpbrk(full, " :")) {
		fprintf(stderr, "npu-capture: %s: a name with a blank or a colon cannot be preloaded\n", full);
		return 125;
	}
	return capture(argv + optind, file, force, full);
}
