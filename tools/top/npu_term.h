/* SPDX-License-Identifier: MIT */
/* A terminal that pictures are drawn on, each over the last one. */
#ifndef NPU_TERM_H
#define NPU_TERM_H

#include <stdbool.h>
#include <stdint.h>

enum npu_term_event {
	NPU_TERM_TIME,		/* it is time for the next picture */
	NPU_TERM_RESIZED,	/* the last one is to be drawn again */
	NPU_TERM_QUIT,		/* the user, or whoever ended the terminal, has had enough */
};

/* Takes standard output, which is a terminal, until npu_term_close(). */
void npu_term_open(void);
void npu_term_close(void);
unsigned int npu_term_columns(void);
/* Lines that do not fit are cut. */
void npu_term_draw(const char *text);
/* Until CLOCK_MONOTONIC shows @until_ns, or something happens before. */
enum npu_term_event npu_term_wait(uint64_t until_ns);

#endif /* NPU_TERM_H */
