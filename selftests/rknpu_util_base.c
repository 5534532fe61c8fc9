// SPDX-License-Identifier: GPL-2.0-only
/* Time, environment, rights, files and the kernel's log. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "rknpu_util.h"

#define NAMED(e)	[e] = #e

const char *rk_errno_name(int err)
{
	static const char *const names[] = {
		NAMED(EPERM), NAMED(ENOENT), NAMED(ESRCH), NAMED(EINTR), NAMED(EIO), NAMED(ENXIO), NAMED(E2BIG),
		NAMED(EBADF), NAMED(ECHILD), NAMED(EAGAIN), NAMED(ENOMEM), NAMED(EACCES), NAMED(EFAULT), NAMED(EBUSY),
		NAMED(EEXIST), NAMED(EXDEV), NAMED(ENODEV), NAMED(ENOTDIR), NAMED(EISDIR), NAMED(EINVAL), NAMED(ENFILE),
		NAMED(EMFILE), NAMED(ENOTTY), NAMED(EFBIG), NAMED(ENOSPC), NAMED(ESPIPE), NAMED(EROFS), NAMED(EPIPE),
		NAMED(EDOM), NAMED(ERANGE), NAMED(EDEADLK), NAMED(ENOSYS), NAMED(ENODATA), NAMED(ETIME), NAMED(EPROTO),
		NAMED(EOVERFLOW), NAMED(EILSEQ), NAMED(EOPNOTSUPP), NAMED(ENOBUFS), NAMED(ESHUTDOWN), NAMED(ETIMEDOUT),
		NAMED(EALREADY), NAMED(EINPROGRESS), NAMED(ESTALE), NAMED(EREMOTEIO), NAMED(ECANCELED), NAMED(EHWPOISON),
	};
	static char number[16];

	if (err > 0 && (size_t)err < sizeof(names) / sizeof(names[0]) && names[err])
		return names[err];
	snprintf(number, sizeof(number), "errno %d", err);
	return number;
}

unsigned int rk_slow(void)
{
	const char *env = getenv("RKNPU_TEST_SLOW");
	int slow = env ? atoi(env) : 1;

	return slow < 1 ? 1 : slow;
}

bool rk_long(void)
{
	const char *env = getenv("RKNPU_LONG");

	return env && atoi(env);
}

int rk_drop_capability(unsigned int cap)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { 0 };

	if (syscall(SYS_capget, &h, d))
		return -errno;
	d[cap / 32].effective &= ~(1u << (cap % 32));
	return syscall(SYS_capset, &h, d) ? -errno : 0;
}

int rk_drop_sys_nice(void)
{
	return rk_drop_capability(CAP_SYS_NICE);
}

int64_t rk_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void do_nothing(int sig)
{
}

void rk_alarms(unsigned int ms, int flags)
{
	struct timeval every = { ms / 1000, ms % 1000 * 1000 };
	struct itimerval it = { every, every };
	struct sigaction sa = { .sa_handler = do_nothing, .sa_flags = flags };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

void rk_sleep_ms(unsigned int ms)
{
	poll(NULL, 0, ms);
}

int rk_use_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

bool rk_in_ioctl(pid_t pid)
{
	char path[64];
	int nr = -1;

	/* It says "running" as long as the thread is on a CPU. */
	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	for (int i = 0; i < 1000 && nr != SYS_ioctl; i++) {
		FILE *f = fopen(path, "re");

		nr = -1;
		if (!f)
			return false;
		if (fscanf(f, "%d", &nr) != 1)
			nr = -1;
		fclose(f);
		rk_sleep_ms(10);
	}
	return nr == SYS_ioctl;
}

bool rk_listed(int argc, char **argv, const struct rk_named *cases, size_t n)
{
	if (argc != 2 || strcmp(argv[1], "-l"))
		return false;
	for (size_t i = 0; i < n; i++)
		printf("%s: %s\n", cases[i].name, cases[i].shows);
	return true;
}

int rk_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int ret;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	ret = n < 0 ? -errno : 0;
	close(fd);
	return ret;
}

int rk_autosuspend_ms(int ms)
{
	glob_t g = { 0 };
	int was = -ENODEV;

	glob("/sys/bus/platform/devices/*.npu/power/autosuspend_delay_ms", 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		FILE *f = fopen(g.gl_pathv[i], "r+e");

		if (f && fscanf(f, "%d", &was) == 1) {
			rewind(f);
			fprintf(f, "%d", ms);
		}
		if (f)
			fclose(f);
	}
	globfree(&g);
	return was;
}

int rk_log_open(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (log >= 0)
		lseek(log, 0, SEEK_END);
	return log;
}

bool rk_log_says(int log, const char *what)
{
	char record[1024];
	ssize_t n;

	/* -EPIPE: some were overwritten. */
	while ((n = read(log, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		record[n < 0 ? 0 : n] = 0;
		if (strstr(record, what))
			return true;
	}
	return false;
}

#define DRM_DEBUG	"/sys/module/drm/parameters/debug"

int rk_refusal_told(int (*refused)(void *arg), void *arg, int err, const char *why)
{
	int log = rk_log_open();
	int ret = log < 0 ? log : rk_write_file(DRM_DEBUG, "2");
	bool told = false;

	for (int i = 0; i < 200 && !ret && !told; i++) {
		int got = refused(arg);

		if (got != err)
			ret = got ? got : -EILSEQ;
		told = rk_log_says(log, why);
		if (!told)
			rk_sleep_ms(100);
	}
	rk_write_file(DRM_DEBUG, "0");
	if (log >= 0)
		close(log);
	return ret ? ret : told ? 0 : -ENOMSG;
}
