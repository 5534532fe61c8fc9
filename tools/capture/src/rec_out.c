// SPDX-License-Identifier: MIT
/*
 * The recorder's file: one per process, uncompressed, in the directory that NPU_CAPTURE_DIR
 * names. npu-capture puts them together.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rec.h"

/* The lowest number that its descriptor gets, where the limit permits. */
#define OUT_FD	128

static FILE *out;
static atomic_int out_fd = -1;	/* the same, to be asked for without the lock */
static bool broken;

/* Which contents the file has: open addressing, never more than half full. */
static struct slot {
	uint64_t hash[2];
	uint32_t index;
	bool used;
} *table;
static size_t table_size, contents;

void rec_complain(const char *fmt, ...)
{
	va_list ap;

	fputs("npu-capture: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void give_up(const char *why)
{
	rec_complain("%s: nothing more is recorded", why);
	broken = true;
	rec_out_forget();
}

/* A child has a copy of what was buffered when a signal handler made it, or of a call that is being recorded. */
static ssize_t write_out(void *fd, const char *data, size_t size)
{
	size_t done = 0;

	if (!rec_is_ours())
		return (ssize_t)size;
	while (done < size) {
		ssize_t n = write((int)(intptr_t)fd, data + done, size - done);

		if (n < 0)
			return 0;
		done += (size_t)n;
	}
	return (ssize_t)size;
}

static int close_out(void *fd)
{
	return rec_raw_close((int)(intptr_t)fd);
}

/* Clients that have closed standard error go on writing there, and others expect the number that they have closed. */
static int move_away(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, OUT_FD);

	if (high < 0)
		high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (high < 0)
		return fd;
	rec_raw_close(fd);
	return high;
}

static bool open_new(const char *dir)
{
	const cookie_io_functions_t how = { .write = write_out, .close = close_out };
	char name[4096];
	int fd = -1;

	/* A process may start others that get its number later. */
	for (int i = 0; i < 1000 && fd < 0; i++) {
		snprintf(name, sizeof(name), "%s/%010ld.%03d", dir, (long)getpid(), i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return false;
	fd = move_away(fd);
	out = fopencookie((void *)(intptr_t)fd, "w", how);
	if (!out)
		rec_raw_close(fd);
	else
		atomic_store(&out_fd, fd);
	return out;
}

int rec_out_fd(void)
{
	return atomic_load(&out_fd);
}

static void process_name(struct cap_process *p)
{
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, p->name, sizeof(p->name) - 1);
	if (n > 0)
		p->name[n - 1] = '\0';
	rec_raw_close(fd);
}

bool rec_out_open(void)
{
	struct cap_process p = { .bits = sizeof(void *) * 8 };
	const char *dir = getenv("NPU_CAPTURE_DIR");
	int saved = errno;

	if (out || broken || !dir || !*dir)
		return out;
	if (!open_new(dir)) {
		give_up(strerror(errno));
	} else if (!cap_write_header(out)) {
		give_up(strerror(errno));
	} else {
		process_name(&p);
		rec_put(CAP_PROCESS, &p, sizeof(p));
	}
	errno = saved;
	return out;
}

void rec_put2(uint32_t type, const void *a, size_t an, const void *b, size_t bn)
{
	struct cap_put part[] = { { a, an }, { b, bn } };

	if (out && !cap_write_rec(out, type, part, b ? 2 : 1))
		give_up(strerror(errno));
}

void rec_put(uint32_t type, const void *data, size_t size)
{
	rec_put2(type, data, size, NULL, 0);
}

void rec_out_flush(void)
{
	if (out && fflush(out))
		give_up(strerror(errno));
}

static bool table_grow(void)
{
	size_t size = table_size ? table_size * 2 : 1024;
	struct slot *grown = calloc(size, sizeof(*grown));

	if (!grown)
		return false;
	for (size_t i = 0; i < table_size; i++) {
		size_t at = table[i].hash[0] & (size - 1);

		if (!table[i].used)
			continue;
		while (grown[at].used)
			at = (at + 1) & (size - 1);
		grown[at] = table[i];
	}
	free(table);
	table = grown;
	table_size = size;
	return true;
}

/* The number of a content, which is stored if it is new. */
uint32_t rec_out_content(const void *data, uint32_t size, const uint64_t hash[2])
{
	uint32_t index;
	size_t at;

	if (contents * 2 >= table_size && !table_grow()) {
		give_up("out of memory");
		return 0;
	}
	at = hash[0] & (table_size - 1);
	while (table[at].used) {
		if (!memcmp(table[at].hash, hash, sizeof(table[at].hash)))
			return table[at].index;
		at = (at + 1) & (table_size - 1);
	}
	index = (uint32_t)contents++;
	table[at] = (struct slot) { { hash[0], hash[1] }, index, true };
	/* Frees the table if that cannot be written. */
	rec_put2(CAP_CONTENT, hash, sizeof(table[at].hash), data, size);
	return index;
}

void rec_out_forget(void)
{
	atomic_store(&out_fd, -1);
	if (out)
		fclose(out);
	out = NULL;
	free(table);
	table = NULL;
	table_size = contents = 0;
}

void rec_out_end(void)
{
	struct cap_end end = { .clean = 1 };

	if (!out)
		return;
	rec_put(CAP_END, &end, sizeof(end));
	rec_out_forget();
}
