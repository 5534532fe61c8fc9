// SPDX-License-Identifier: MIT
/*
 * Dumps of the driver without a driver: what is read, what is refused, and that nothing in a file
 * reaches the terminal as a command.
 */
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "tap.h"

#define HEAD	"rknpu-dump 1\nkernel 7.3\ndriver 1.0\nnpu rk3588 version 1\ntime 5.0\ncore 0\n"
#define JOB	"cause timeout\njob 5\ntask 1 of 2\nelapsed_ns 1000\n"

/* What npu-dump prints of a file, NULL if it refuses it. */
static char *shown(const char *text, const char **why)
{
	static struct dump d;
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	char *out = NULL;
	size_t size = 0;

	*why = dump_read(&d, f);
	fclose(f);
	if (*why)
		return NULL;
	f = open_memstream(&out, &size);
	dump_print(f, &d, true);
	fclose(f);
	return out;
}

static bool is_text(const char *s)
{
	for (; *s; s++)
		if (*s != '\n' && (*s < ' ' || *s > '~'))
			return false;
	return true;
}

static void test_text(const char *what, const char *dump, const char *has)
{
	const char *why;
	char *out = shown(dump, &why);

	tap_ok(out && is_text(out) && strstr(out, has), "%s: %s", what, why ? why : "shown as text");
	free(out);
}

static void test_error(const char *number, bool good)
{
	const char *why;
	char text[512], *out;

	snprintf(text, sizeof(text), HEAD "error %s\n" JOB "end\n", number);
	out = shown(text, &why);
	tap_ok(good ? out != NULL : !out && !strcmp(why, "a line of the dump makes no sense"), "error %s: %s",
	       number, why ? why : "taken");
	free(out);
	snprintf(text, sizeof(text), HEAD "error -62\nlost %s\n" JOB "end\n", number);
	out = shown(text, &why);
	tap_ok(good == !!out, "lost %s: %s", number, why ? why : "taken");
	free(out);
}

/* Of a program that the RK3588 would hang on: MRDMA, with nothing to feed. */
#define PROGRAM	"reg PC.TASK_CON 0x00071001\nprogram 0x1000 1 task 0\ncmd 0000 0081000000180008\nend\n"
#define OTHER	"rknpu-dump 1\nnpu rk3568 version 1\ncore 0\nerror -62\n" JOB
/* Of an RK3576, whose sizes are less 1, and whose blocks begin as the RK3588's. */
#define OWN	"rknpu-dump 1\nnpu rk3576 version 1\ncore 0\nerror -62\n" JOB \
		"program 0x1000 4 task 0\ncmd 0000 10010000000e4004\ncmd 0001 1001000000074020\n" \
		"cmd 0002 10010000fff04080\ncmd 0003 0081000000180008\nend\n"

static void test_chips(void)
{
	const char *why;
	char *out = shown(HEAD "error -62\n" JOB PROGRAM, &why);

	tap_ok(out && strstr(out, "known to hang: ") && strstr(out, "TASK_NUMBER=1 ") && strstr(out, "  enable 0x18"),
	       "an RK3588's program is decoded");
	free(out);
	out = shown(OTHER PROGRAM, &why);
	tap_ok(out && !strstr(out, "known to hang: ") && !strstr(out, "nothing in the program") &&
	       strstr(out, "0x00071001\n") && strstr(out, "  (0081:0008) = 0x00000018\n"),
	       "another chip's is not taken for one");
	free(out);
	out = shown(OWN, &why);
	tap_ok(out && !strstr(out, "known to hang: ") && strstr(out, "DPU.CUBE_WIDTH (1001:4020) = 0x00000007 WIDTH=8\n") &&
	       strstr(out, "DPU.EW_CVT_OFFSET (1001:4080) = 0x0000fff0 VALUE=-16\n") && strstr(out, "DPU.S_POINTER ") &&
	       strstr(out, "  enable 0x18"), "an RK3576's program is decoded: %s", why ? why : "");
	free(out);
}

int main(void)
{
	test_text("the name of a client", HEAD "error -62\nclient 3 pid 9 comm \033[2J\033]0;x\007prog\n" JOB "end\n",
		  ": ?[2J?]0;x?prog, pid 9");
	test_text("bytes above ASCII", HEAD "error -62\nclient 3 pid 9 comm \233\1x\n" JOB "end\n", ": ??x, pid 9");
	test_text("the name of a register", HEAD "error -62\n" JOB "reg \033c 1\nend\n", "  ?c ");
	test_text("the kernel's version", "rknpu-dump 1\nkernel \033c7.3\nerror -62\n" JOB "end\n", "kernel ?c7.3");
	test_text("a cause", HEAD "error -62\ncause \033c\npast 1 own 1 of 1 5 \033c\nend\n", "1 of 1 tasks, 0 us, ?c");
	test_error("-62", true);
	test_error("0", true);
	test_error("-2147483648", false);
	test_error("-99999999999", false);
	test_error("5", false);
	test_chips();
	return tap_done();
}
