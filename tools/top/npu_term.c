// SPDX-License-Identifier: MIT
/* Owns the terminal while npu-top has it: size, pictures, keys, and that all is as before in the end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "npu_term.h"

#define MS		1000000ull

/* The other screen, which has no history; and the cursor. */
#define ENTER		"\033[?1049h\033[?25l\033[2J"
#define LEAVE		"\033[?25h\033[?1049l"

static struct {
	struct termios before;
	bool is_taken;
	bool has_keys;		/* standard input is the terminal, too */
	int signals;
} term = { .signals = -1 };

static void take(void)
{
	struct termios t;

	/* It can be told to go on without having been stopped. */
	if (!term.is_taken)
		term.has_keys = !tcgetattr(STDIN_FILENO, &term.before);
	term.is_taken = true;
	if (term.has_keys) {
		t = term.before;
		t.c_lflag &= ~(ICANON | ECHO);
		t.c_cc[VMIN] = 1;
		t.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSANOW, &t);
	}
	fputs(ENTER, stdout);
	fflush(stdout);
}

static void give_back(void)
{
	fputs(LEAVE, stdout);
	fflush(stdout);
	if (term.has_keys)
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &term.before);
	term.is_taken = false;
}

void npu_term_open(void)
{
	static const int which[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
	sigset_t set;

	/* They are events between two pictures, so that none ends the program with the terminal changed. */
	sigemptyset(&set);
	for (unsigned int i = 0; i < sizeof(which) / sizeof(which[0]); i++)
		sigaddset(&set, which[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	term.signals = signalfd(-1, &set, SFD_CLOEXEC);
	take();
}

void npu_term_close(void)
{
	give_back();
	close(term.signals);
}

static struct winsize size(void)
{
	struct winsize w;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_row || !w.ws_col)
		w = (struct winsize) { .ws_row = 24, .ws_col = 80 };
	return w;
}

unsigned int npu_term_columns(void)
{
	return size().ws_col;
}

void npu_term_draw(const char *text)
{
	struct winsize w = size();
	unsigned int row = 1;

	for (; *text && row <= w.ws_row; row++) {
		int length = strcspn(text, "\n");

		/* Each goes to its own place: a terminal that was filled to its edge wraps when more comes. */
		printf("\033[%u;1H\033[2K%.*s", row, length < w.ws_col ? length : w.ws_col, text);
		text += length + !!text[length];
	}
	if (row <= w.ws_row)
		printf("\033[%u;1H\033[J", row);
	fputs("\033[H", stdout);
	fflush(stdout);
}

static enum npu_term_event read_signal(void)
{
	struct signalfd_siginfo info;

	if (read(term.signals, &info, sizeof(info)) != sizeof(info))
		return NPU_TERM_QUIT;
	if (info.ssi_signo == SIGWINCH)
		return NPU_TERM_RESIZED;
	if (info.ssi_signo == SIGCONT) {
		/* Whoever stopped it, by ^Z or not: the shell may have changed the terminal. */
		take();
		return NPU_TERM_RESIZED;
	}
	if (info.ssi_signo != SIGTSTP)
		return NPU_TERM_QUIT;
	give_back();
	raise(SIGSTOP);
	return NPU_TERM_TIME;
}

static enum npu_term_event read_key(void)
{
	char key;

	/* Nothing: the terminal is gone. */
	if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q')
		return NPU_TERM_QUIT;
	return NPU_TERM_TIME;
}

static int ms_until(uint64_t until_ns)
{
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = t.tv_sec * 1000 * MS + t.tv_nsec;
	return now < until_ns ? (until_ns - now + MS - 1) / MS : 0;
}

enum npu_term_event npu_term_wait(uint64_t until_ns)
{
	enum npu_term_event event = NPU_TERM_TIME;

	while (event == NPU_TERM_TIME) {
		struct pollfd p[] = {
			{ .fd = term.signals, .events = POLLIN },
			{ .fd = term.has_keys ? STDIN_FILENO : -1, .events = POLLIN },
		};
		int n = poll(p, 2, ms_until(until_ns));

		if (!n)
			return NPU_TERM_TIME;
		if (n < 0 && errno != EINTR)
			return NPU_TERM_QUIT;
		if (n > 0)
			event = p[0].revents ? read_signal() : read_key();
	}
	return event;
}
