/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the checks use of Rockchip's librknnrt: its binary interface as of 1.2.0
 * to 1.6.0, found in a library at run time, and how cases are run and reported.
 */
#ifndef RKNNRT_H
#define RKNNRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the interface: layouts and numbers match byte for byte ---- */

/* 32 bits on arm, 64 on aarch64. */
typedef uintptr_t rt_context;

enum rt_query {
	RT_QUERY_IN_OUT_NUM = 0,
	RT_QUERY_INPUT = 1,
	RT_QUERY_OUTPUT = 2,
	RT_QUERY_PERF_DETAIL = 3,
	RT_QUERY_PERF_RUN = 4,
	RT_QUERY_VERSION = 5,
};

enum rt_type {
	RT_FLOAT32 = 0,
	RT_FLOAT16 = 1,
	RT_INT8 = 2,
	RT_UINT8 = 3,
};

enum rt_format {
	RT_NCHW = 0,
	RT_NHWC = 1,
};

#define RT_FLAG_ASYNC		0x4u
#define RT_FLAG_COLLECT_PERF	0x8u

#define RT_CORES_AUTO	0
#define RT_CORES_1	1
#define RT_CORE_1	2
#define RT_CORE_2	4
#define RT_CORES_2	3
#define RT_CORES_3	7

/* What rknn_init() says about files of other chips, compilers and versions. */
#define RT_ERR_MODEL_INVALID	-6
#define RT_ERR_DEVICE_UNMATCH	-10
#define RT_ERR_PLATFORM_UNMATCH	-13

struct rt_num {
	uint32_t inputs;
	uint32_t outputs;
};

struct rt_tensor {
	uint32_t index;
	uint32_t n_dims;
	uint32_t dims[16];
	char name[256];
	uint32_t n_elems;
	uint32_t size;
	int32_t format;
	int32_t type;
	int32_t quant;
	int8_t fl;
	int32_t zero_point;
	float scale;
	uint32_t w_stride;
	uint32_t size_with_stride;
	uint8_t pass_through;
	uint32_t h_stride;
};

struct rt_input {
	uint32_t index;
	void *buf;
	uint32_t size;
	uint8_t pass_through;
	int32_t type;
	int32_t format;
};

struct rt_output {
	uint8_t want_float;
	uint8_t is_prealloc;
	uint32_t index;
	void *buf;
	uint32_t size;
};

struct rt_mem {
	void *addr;
	uint64_t phys;
	int32_t fd;
	int32_t offset;
	uint32_t size;
	uint32_t flags;
	void *priv;
};

struct rt_run {
	uint64_t frame;
	int32_t non_block;
	int32_t timeout_ms;
	int32_t fence_fd;
};

struct rt_version {
	char api[256];
	char driver[256];
};

struct rt_perf_detail {
	char *text;
	uint64_t bytes;
};

struct rt_perf_run {
	int64_t us;
};

struct rt_matmul_info {
	int32_t m;
	int32_t k;
	int32_t n;
	int32_t type;
	int32_t b_native;
	int32_t ac_native;
};

struct rt_matmul_tensor {
	char name[256];
	uint32_t n_dims;
	uint32_t dims[16];
	uint32_t size;
	int32_t type;
};

struct rt_matmul_io {
	struct rt_matmul_tensor a;
	struct rt_matmul_tensor b;
	struct rt_matmul_tensor c;
};

/* Those of a version that lacks them are NULL. */
struct rt_lib {
	int (*init)(rt_context *ctx, void *model, uint32_t size, uint32_t flags, void *extend);
	int (*dup_context)(rt_context *from, rt_context *to);
	int (*destroy)(rt_context ctx);
	int (*query)(rt_context ctx, int what, void *info, uint32_t size);
	int (*inputs_set)(rt_context ctx, uint32_t n, struct rt_input *in);
	int (*set_core_mask)(rt_context ctx, int mask);
	int (*run)(rt_context ctx, struct rt_run *extend);
	int (*outputs_get)(rt_context ctx, uint32_t n, struct rt_output *out, void *extend);
	int (*outputs_release)(rt_context ctx, uint32_t n, struct rt_output *out);
	struct rt_mem *(*create_mem)(rt_context ctx, uint32_t size);
	struct rt_mem *(*create_mem_from_fd)(rt_context ctx, int32_t fd, void *addr, uint32_t size,
					     int32_t offset);
	int (*destroy_mem)(rt_context ctx, struct rt_mem *mem);
	int (*set_io_mem)(rt_context ctx, struct rt_mem *mem, struct rt_tensor *attr);
	int (*matmul_create)(rt_context *ctx, struct rt_matmul_info *info, struct rt_matmul_io *io);
	int (*matmul_set_io_mem)(rt_context ctx, struct rt_mem *mem, struct rt_matmul_tensor *attr);
	int (*matmul_set_core_mask)(rt_context ctx, int mask);
	int (*matmul_run)(rt_context ctx);
	int (*matmul_destroy)(rt_context ctx);
	/* 10600 for 1.6.0. */
	unsigned int version;
};

extern struct rt_lib rt;

/* Loads the library of this path into rt, or ends the program. */
void rt_load(const char *path);
/* The same, after TAP's first line, and says its version. */
void rt_begin(const char *path);

/* ---- cases ---- */

enum rt_result { RT_PASS, RT_FAIL, RT_SKIP };

/*
 * Runs a case in a process of its own, so that one that crashes or hangs ends
 * nothing else, and prints its line of TAP.
 */
enum rt_result rt_case(const char *name, int (*fn)(void *arg), void *arg);
/* One that may take so many seconds. */
enum rt_result rt_case_for(const char *name, int (*fn)(void *arg), void *arg, unsigned int seconds);
/* In a case: why it failed or skips; returns RT_FAIL or RT_SKIP. */
int rt_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int rt_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* In a case: has the library, or the case, printed this? */
bool rt_said(const char *text);
/* Prints the plan; the program's exit status. */
int rt_end(void);

/* Numbers that are the same in every run. */
struct rt_random {
	uint64_t state;
};

uint32_t rt_random(struct rt_random *r);
uint64_t rt_hash(uint64_t h, const void *data, size_t bytes);
#define RT_HASH 0xcbf29ce484222325ull

float rt_half_to_float(uint16_t h);
/* Rounds to nearest even. */
uint16_t rt_float_to_half(float f);

/* Memory that a case shares with the program. */
void *rt_shared(size_t bytes);

#endif
