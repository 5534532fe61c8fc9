/* SPDX-License-Identifier: MIT */
/*
 * What libnpu's source files share with each other and with its unit tests.
 */
#ifndef NPU_INTERNAL_H
#define NPU_INTERNAL_H

#include <errno.h>

#include "npu_prog.h"

#define NPU_CBUF_BANKS		12u
#define NPU_CBUF_BANK_BYTES	32768u
#define NPU_CBUF_ENTRY_BYTES	64u

/*
 * Limits of one matmul task: FEATURE_GRAINS (10 bits) holds rows + 1; K and N
 * up to 4096 are what public programs were run with on silicon (mtx512).
 */
#define NPU_TASK_MAX_ROWS	1020u
#define NPU_TASK_MAX_K		4096u
#define NPU_TASK_MAX_N		4096u

/*
 * The feature DMA of int8 tasks has been seen to read up to one CBUF bank past
 * the tensor on silicon (rocket-userspace).
 */
#define NPU_FEATURE_SLACK	32768u

/*
 * Most MACs of a task, unless no smaller one can be.  At the 200 MHz that mainline leaves the NPU at,
 * a core peaks at 204 (int8) or 102 (fp16) GMAC/s, and 15 % of that was sustained by
 * rocket-userspace: 0.5 to 1 ms.  The driver allows 500 ms, which a simulated NPU on a busy host may
 * well need.
 */
#define NPU_TASK_MACS		(UINT64_C(16) << 20)

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

static inline uint64_t div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static inline uint64_t round_up(uint64_t a, uint64_t b)
{
	return div_up(a, b) * b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * What a function of libdrm returned, as this library returns it.  They restart calls after a
 * signal, which is right here: every wait has an absolute deadline.
 */
static inline int npu_errno(int ret)
{
	return ret ? -errno : 0;
}

/* npu_prog.c */
int npu_prog_fail(struct npu_prog *p, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void npu_prog_clear_image(struct npu_prog *p);

/* npu_conv_prog.c */
uint32_t npu_prec_bits(enum npu_prec prec);
/* For messages; of any value. */
const char *npu_prec_name(enum npu_prec prec);
/* Of types that fill bytes. */
size_t npu_prec_bytes(enum npu_prec prec);
uint32_t npu_kernel_group(enum npu_prec in);
/* Channels that depthwise weights keep together. */
uint32_t npu_depthwise_group(enum npu_prec in);
uint32_t npu_row_entries(enum npu_prec in, uint32_t w, uint32_t c);
uint32_t npu_weight_banks(size_t kernel_bytes);

/* npu_dpu_prog.c: stage what all tasks of the DPU need; append all registers of a block */
void npu_prog_set_pointers(struct npu_prog *p);
void npu_prog_set_stages_off(struct npu_prog *p);
void npu_prog_set_shares(struct npu_prog *p);
void npu_prog_emit_all(struct npu_prog *p, const enum npu_reg_id *order, size_t n);
void npu_prog_emit_dpu(struct npu_prog *p);
void npu_prog_emit_rdma(struct npu_prog *p);

/* npu_ew_prog.c: tasks of the DPU alone ("flying"), which reads tensors by its RDMA */

enum npu_ew_op {
	NPU_EW_ADD,
	NPU_EW_SUB,
	NPU_EW_MUL,
	NPU_EW_MAX,
	NPU_EW_MIN,
	NPU_EW_DIV,
	NPU_EW_TABLE,		/* a function of the first operand */
};

/* Rows of a tensor in memory. */
struct npu_ew_operand {
	uint64_t iova;
	uint32_t pitch;		/* rows from one 16-byte surface to the next */
};

struct npu_ew_task {
	enum npu_prec type;
	enum npu_ew_op op;
	uint32_t rows, cols;
	struct npu_ew_operand a, b, y;
	bool b_is_row;		/* one row for all of a's */
	const struct npu_table *table;
	bool upload;		/* the table is not in the LUT yet */
};

int npu_prog_ew(struct npu_prog *p, const struct npu_ew_task *t);

/* npu_table.c: functions by the LUT, for halves */

struct npu_table;

/* NULL for what is none. */
const struct npu_table *npu_table_of(enum npu_act act);
/* Does it take halves as integers? */
bool npu_table_of_patterns(const struct npu_table *t);
/* Which table the LUT holds. */
struct npu_table_mark {
	const struct npu_table *table;
	uint64_t serial;
};

struct npu_table_mark npu_table_mark(const struct npu_table *t);
bool npu_table_is(const struct npu_table *t, const struct npu_table_mark *mark);
/* The share of a normal distribution below x. */
const struct npu_table *npu_table_normal(void);
/* Stage BN, EW and OUT_CVT, whatever was there before. */
void npu_prog_set_table(struct npu_prog *p, const struct npu_table *t);
void npu_prog_upload_table(struct npu_prog *p, const struct npu_table *t);

/* npu_conv_prog.c: npu_prog_conv() with a function of fp16 results; NULL for none */
int npu_prog_conv_table(struct npu_prog *p, const struct npu_conv_task *t,
			const struct npu_table *table, bool upload);

/* npu_requant.c */
int npu_requant_check(const struct npu_requant *rq);

/* npu_plan.c: how a product is cut */

/* One rectangle of the result, computed by one task; @mp and @np are what it writes. */
struct npu_tile {
	uint32_t m0, m, mp;
	uint32_t n0, n, np;
};

struct npu_plan {
	uint32_t m, n;
	uint32_t m_unit, n_unit;
	uint32_t m_step, n_step;	/* of a tile */
	uint64_t ntiles;
};

/* M, N and K are at least 1, K at most NPU_TASK_MAX_K; 0 = no limit of the caller's. */
struct npu_plan npu_plan_make(enum npu_prec in, uint32_t m, uint32_t n, uint32_t k, uint32_t max_m,
			      uint32_t max_n);
struct npu_tile npu_plan_tile(const struct npu_plan *plan, uint64_t i);
/* K of all programs of a product but perhaps the last one. */
uint32_t npu_k_step(uint32_t k);

/* npu_ext.c: does npu_bo_import() work? */
bool npu_can_import(const struct npu_dev *dev);

/*
 * What every buffer begins with. A handle is a number of the open file: whoever imports what that has
 * already gets the same one, and closing it once takes it from all.
 */
struct npu_kept_bo {
	struct npu_bo base;
	unsigned int refs;		/* npu_bo_free() ends one */
	struct npu_mem *mem;		/* that consists of it, or NULL */
	struct npu_kept_bo *next, **link;	/* in the list of its file */
};

static inline struct npu_kept_bo *npu_kept(struct npu_bo *bo)
{
	return (struct npu_kept_bo *)bo;
}

/* npu_ext.c: a new handle, with the first reference to it; and whether that was the last one */
void npu_bo_keep(struct npu_bo *bo);
bool npu_bo_unref(struct npu_bo *bo);
/* npu_dev.c: those of a file */
struct npu_kept_bo **npu_dev_bos(struct npu_dev *dev);

/* npu_dev.c */
int64_t npu_deadline(int64_t timeout_ns);
int npu_wait_job_until(struct npu_dev *dev, uint64_t number, int64_t deadline_ns,
		       struct npu_result *result);
bool npu_is_vendor(const struct npu_dev *dev);
/* DRM_ROCKET_PARAM_FEATURES as npu_open() found it. */
uint64_t npu_dev_features(const struct npu_dev *dev);

#endif /* NPU_INTERNAL_H */
