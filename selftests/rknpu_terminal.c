// SPDX-License-Identifier: GPL-2.0-only
/*
 * For checks of what programs do on a terminal: rknpu_terminal COLUMNSxROWS STEP... -- PROGRAM...
 * runs one there, and prints its output in hexadecimal ("out 1b5b48") between the steps ("step
 * key:q"). In the end it prints the program's status, and whether the terminal's modes are as
 * before. Steps:
 *   picture       wait until the cursor went home, which ends a picture of npu-top
 *   key:X         type a key; ^C and the like are one
 *   size:CxR      make the terminal another size
 *   stopped       wait until the program is stopped
 *   continue      let it go on
 *   kill:PID      end another program
 *   end           wait until it ends
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* A guest may be slow; that is how long a step may take. */
#define PATIENCE_S	120

static int terminal, inside;
static pid_t child;
static char seen[4];		/* the last output */

static int fail(const char *what)
{
	fprintf(stderr, "rknpu_terminal: %s: %s\n", what, strerror(errno));
	return 2;
}

static int set_size(const char *text)
{
	struct winsize w = { 0 };

	if (sscanf(text, "%hux%hu", &w.ws_col, &w.ws_row) != 2) {
		errno = EINVAL;
		return -1;
	}
	return ioctl(terminal, TIOCSWINSZ, &w);
}

/* Passes output on: 1 if a picture ended in it, 0 if there was none for a while, or negative. */
static int read_output(void)
{
	struct pollfd p = { .fd = terminal, .events = POLLIN };
	unsigned char data[4096];
	bool home = false;
	ssize_t n;

	if (poll(&p, 1, 100) <= 0)
		return 0;
	n = read(terminal, data, sizeof(data));
	if (n <= 0)
		return -1;
	printf("out ");
	for (ssize_t i = 0; i < n; i++) {
		printf("%02x", data[i]);
		memmove(seen, seen + 1, sizeof(seen) - 1);
		seen[sizeof(seen) - 1] = data[i];
		home |= !memcmp(seen + 1, "\033[H", 3);
	}
	putchar('\n');
	fflush(stdout);
	return home;
}

static int wait_for_picture(void)
{
	int ret = 0;

	for (int i = 0; i < PATIENCE_S * 10 && !ret; i++)
		ret = read_output();
	return ret > 0 ? 0 : -1;
}

/* The child's status, passing its output on meanwhile. */
static int wait_for_child(int options, int *status)
{
	for (int i = 0; i < PATIENCE_S * 10; i++) {
		pid_t pid = waitpid(child, status, options | WNOHANG);

		while (read_output() > 0)
			;
		if (pid)
			return pid == child ? 0 : -1;
	}
	errno = ETIMEDOUT;
	return -1;
}

static int type(const char *key)
{
	char c = key[0] == '^' ? key[1] & 0x1f : key[0];

	return write(terminal, &c, 1) == 1 ? 0 : -1;
}

/* Those that are in the table of steps above. */
static int take_step(const char *step, int *status)
{
	if (!strcmp(step, "picture"))
		return wait_for_picture();
	if (!strncmp(step, "key:", 4))
		return type(step + 4);
	if (!strncmp(step, "size:", 5))
		return set_size(step + 5);
	if (!strcmp(step, "stopped"))
		return wait_for_child(WUNTRACED, status) || !WIFSTOPPED(*status) ? -1 : 0;
	if (!strcmp(step, "continue"))
		return kill(child, SIGCONT);
	if (!strncmp(step, "kill:", 5))
		return kill(atoi(step + 5), SIGKILL);
	if (!strcmp(step, "end"))
		return wait_for_child(0, status);
	errno = EINVAL;
	return -1;
}

static void run(char **argv)
{
	setsid();
	ioctl(inside, TIOCSCTTY, 0);
	for (int fd = 0; fd < 3; fd++)
		dup2(inside, fd);
	execvp(argv[0], argv);
	_exit(127);
}

static bool is_as_before(const struct termios *before)
{
	struct termios now;

	return !tcgetattr(inside, &now) && now.c_iflag == before->c_iflag &&
	       now.c_oflag == before->c_oflag && now.c_lflag == before->c_lflag &&
	       !memcmp(now.c_cc, before->c_cc, sizeof(now.c_cc));
}

int main(int argc, char **argv)
{
	struct termios before;
	int program = 2, status = 0;

	while (program < argc && strcmp(argv[program], "--"))
		program++;
	if (program + 1 >= argc) {
		fprintf(stderr, "usage: rknpu_terminal COLUMNSxROWS STEP... -- PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal))
		return fail("no terminal");
	/* Held open, so that the modes are there to look at when the program has ended. */
	inside = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (inside < 0 || set_size(argv[1]) || tcgetattr(inside, &before))
		return fail(argv[1]);
	child = fork();
	if (!child)
		run(argv + program + 1);
	for (int i = 2; i < program; i++) {
		printf("step %s\n", argv[i]);
		if (take_step(argv[i], &status)) {
			kill(child, SIGKILL);
			return fail(argv[i]);
		}
	}
	printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	printf("modes %s\n", is_as_before(&before) ? "same" : "changed");
	return 0;
}
