/* SPDX-License-Identifier: MIT */
/* What the parts of ggml_check share. */
#ifndef GGML_CHECK_H
#define GGML_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include <ggml-backend.h>
#include <ggml.h>

#include "rknpu_ggml_stats.h"

/* One result. */
__attribute__((format(printf, 2, 3))) void tap(bool ok, const char *fmt, ...);

/* ---- the NPU under test: npu_guest.c or npu_host.c ---- */

/* The next task never ends, until npu_calm(); false if that cannot be made. */
bool npu_hang_next(void);
void npu_calm(void);
/* The next job is cancelled; false if that cannot be made. */
bool npu_cancel_next(void);
/* The next job is refused with this error, or until it is there again the NPU is gone; false if that cannot be made. */
bool npu_refuse_next(int err);
bool npu_gone(bool gone);
/* How often cores were started; false if nobody counts. */
bool npu_starts(uint64_t *starts);
/* From now on an address space has no more than that, without a limit if 0; false if that cannot be made. */
bool npu_limit(uint64_t bytes);

/* ---- the backend: ggml_check.c ---- */

struct rknpu_ggml_stats stats(void);
/* Sets a variable of the environment, or removes it if @value is NULL, and the backend reads them again. */
void parameter(const char *name, const char *value);
/*
 * A hang while @compute, and once more without: failure and one line with these words, then success. True without
 * anything if no hang can be made.
 */
bool survives_hang(bool (*compute)(void *arg), void *arg, const char *a, const char *b);
/* Does @compute, and does the backend write one line with these words meanwhile? */
bool says(bool (*compute)(void *arg), void *arg, const char *a, const char *b);
/* Does @compute, and is the line about memory for weights, which says() does not look at, one with these words? */
bool logs(bool (*compute)(void *arg), void *arg, const char *words);
/* From now on the machine has so much memory left, or what it has if 0: meminfo.c. */
void set_available(uint64_t bytes);
/* How often somebody asked for that. */
unsigned int meminfo_reads(void);
ggml_backend_t tested(void);
/* A context for tensors that have their memory elsewhere. */
struct ggml_context *context(void);
/* -1 to 1; the same ones after each seed. */
float rnd(void);
void seed_rnd(unsigned int by);
/* Halves as @t, which has their memory. */
void fill_fp16(struct ggml_tensor *t);
/* In the backend's memory. */
ggml_backend_buffer_t allocate(struct ggml_context *ctx, enum ggml_backend_buffer_usage usage);

/* ---- cases in files of their own ---- */

void layout(void);
void shared(void);
/* Behind those that look at what is said of a driver without room. */
void shared_refused(void);
void attention(void);
void feed_forward(void);
void load(void);
void cpu_buffers(void);
/* The last one: @unload ends the tested backend. */
void outlives(void (*unload)(void));
void budget(void);

#endif /* GGML_CHECK_H */
