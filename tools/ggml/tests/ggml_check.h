/* SPDX-License-Identifier: MIT */
/* What the parts of ggml_check share. */
#ifndef GGML_CHECK_H
#define GGML_CHECK_H

#include <stdbool.h>

/* One result. */
__attribute__((format(printf, 2, 3))) void tap(bool ok, const char *fmt, ...);

void layout(void);

#endif /* GGML_CHECK_H */
