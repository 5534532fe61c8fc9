/* SPDX-License-Identifier: MIT */
/*
 * Owns what register programs of tasks are to the library's other files: limits of the hardware,
 * tasks of each kind, how a product is cut into them.
 */
#ifndef NPU_TASK_H
#define NPU_TASK_H

#include "chip/npu_chip.h"
#include "npu_prog.h"
#include "npu_util.h"

/* Atoms of an entry of CBUF. */
#define NPU_ENTRY_ATOMS		4u

/* K up to 4096 is what public programs were run with on silicon (mtx512). */
#define NPU_TASK_MAX_K		4096u

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

#define NPU_HALF_MAX	65504.0f

/* npu_prog.c */
int npu_prog_fail(struct npu_prog *p, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void npu_prog_clear_image(struct npu_prog *p);
void npu_prog_clear_register(struct npu_prog *p, enum npu_reg_id r);
/* What a field of programs was set to, in its unit. */
int64_t npu_prog_value(struct npu_prog *p, enum npu_field_id id);
/* Its programs are @chip's, and those of its core @core where they differ; npu_prog_new() makes those of an RK3588. */
struct npu_prog *npu_prog_new_for(const struct npu_chip *chip, uint32_t core);
uint32_t npu_prog_core(const struct npu_prog *p);
const struct npu_chip *npu_prog_chip(const struct npu_prog *p);
/* 0, or an error: one that there was, or that only the RK3588 has programs for @what here. */
int npu_prog_begin(struct npu_prog *p, const char *what);

/* npu_conv_prog.c */
uint32_t npu_prec_bits(enum npu_prec prec);
/* For messages; of any value. */
const char *npu_prec_name(enum npu_prec prec);
/* Of types that fill bytes. */
size_t npu_prec_bytes(enum npu_prec prec);
uint32_t npu_kernel_group(const struct npu_chip *chip, enum npu_prec in);
/* Channels that depthwise weights keep together. */
uint32_t npu_depthwise_group(const struct npu_chip *chip, enum npu_prec in);
/* What a line takes of CBUF, in entries and in bytes. */
uint32_t npu_row_entries(const struct npu_chip *chip, enum npu_prec in, uint32_t w, uint32_t c);
uint64_t npu_row_bytes(const struct npu_chip *chip, enum npu_prec in, uint32_t w, uint32_t c);
uint32_t npu_weight_banks(const struct npu_chip *chip, size_t kernel_bytes);
/* The most output channels of a task whose kernels have so many bytes, a multiple of 32. */
uint32_t npu_task_kernels(const struct npu_chip *chip, uint64_t kernel_bytes);
/* Stage what the RK3588's registers have of a convolution, but for CORE's. */
void npu_prog_stage_conv(struct npu_prog *p, const struct npu_conv_task *t);
/* Append the CNA's registers up to the weights' address. */
void npu_prog_emit_cna(struct npu_prog *p);
/* What windows reach behind the last position. */
int64_t npu_pad_after(uint32_t in, uint32_t out, uint32_t kernel, uint32_t stride, uint32_t before);
/* What is wrong with a task that depends on no encoding. */
int npu_prog_check_conv(struct npu_prog *p, const struct npu_conv_task *t);

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
	uint32_t pitch;		/* rows from one surface to the next */
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
/* Stage a task that reads and writes, with stages that do nothing; and the operation of one. */
void npu_prog_stage_fly(struct npu_prog *p, const struct npu_ew_task *t);
void npu_prog_set_operation(struct npu_prog *p, const struct npu_ew_task *t);

/* npu_table.c: functions by the LUT, for halves */

struct npu_table;

/* NULL for what is none. */
const struct npu_table *npu_table_of(enum npu_act act);
/* Does it take halves as integers? */
bool npu_table_of_patterns(const struct npu_table *t);
/* Is f(0) nothing but 0? False also for what is close to 0. */
bool npu_table_keeps_zero(const struct npu_table *t);
/* Which table the LUT holds. */
struct npu_table_mark {
	const struct npu_table *table;
	uint64_t serial;
};

struct npu_table_mark npu_table_mark(const struct npu_table *t);
bool npu_table_is(const struct npu_table *t, const struct npu_table_mark *mark);
/* The share of a normal distribution below x. */
const struct npu_table *npu_table_normal(void);
/* What it is at a step of the tables, -NPU_MAP_STEPS to NPU_MAP_STEPS, and what makes a number of it. */
int32_t npu_table_code(const struct npu_table *t, int32_t step);
int32_t npu_table_offset(const struct npu_table *t);
uint32_t npu_table_bits(const struct npu_table *t);
/* What BN of an RK3576 reads of a function of numbers: an addend and a factor. */
#define NPU_TABLE_RECORD	64u
void npu_table_record(const struct npu_table *t, uint8_t record[NPU_TABLE_RECORD]);
/* Stage BN, EW and OUT_CVT, whatever was there before. */
void npu_prog_set_table(struct npu_prog *p, const struct npu_table *t);
void npu_prog_upload_table(struct npu_prog *p, const struct npu_table *t);

/*
 * npu_conv_prog.c: npu_prog_conv() with a function of fp16 results; NULL for none. On an RK3576 one that is not in
 * the LUT yet takes a task more, which leaves something in the first atom of the result.
 */
int npu_prog_conv_table(struct npu_prog *p, const struct npu_conv_task *t,
			const struct npu_table *table, bool upload);

/* npu_table.c: stage EW and the tables, which meet at 0; append the word behind which one is written */
void npu_prog_set_lut(struct npu_prog *p);
void npu_prog_select_table(struct npu_prog *p, uint32_t id);

/*
 * npu_bytes_prog.c, npu_map_prog_rk3576.c: functions of bytes, @map[x + 128]; the RK3588's are refused.
 * Tasks that load the LUT copy an atom. Convolutions that follow on an RK3576 look up their sums, in
 * steps of NPU_MAP_STEP; of their requantisation nothing counts.
 */
#define NPU_MAP_STEP	32
#define NPU_MAP_STEPS	(NPU_SIZE_LUT_ENTRIES - 1)
/* Codes are from 1 on: boards of the RK3588 read an entry of 0 as 4.0 (rocket-userspace). */
#define NPU_MAP_BASE	(1 - INT8_MIN)
int32_t npu_map_code(const int8_t *map, int32_t step);
int npu_prog_load_map(struct npu_prog *p, const int8_t *map, uint64_t from_iova, uint64_t to_iova);
int npu_prog_map(struct npu_prog *p, const struct npu_conv_task *t, const int8_t *map);

/*
 * npu_fly_prog_rk3576.c: what an RK3576 has at @record_iova, which npu_product_record() writes; its surfaces follow
 * each other.
 */
#define NPU_PRODUCT_RECORD	64u
void npu_product_record(const struct npu_byte_product *how, uint8_t record[NPU_PRODUCT_RECORD]);
/* npu_bytes_prog.c: of an RK3576 or RK3562; others are refused */
int npu_prog_mul_bytes(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_product *how,
		       uint64_t record_iova);

/* npu_layout.c: npu_pack_weights() by so many kernels, npu_unpack_feature() of atoms of 8 bytes */
void npu_pack_kernels(size_t group, void *dst, const void *src, size_t sn, size_t st, size_t sc,
		      size_t bpe, size_t n, size_t taps, size_t c, size_t n_pad, size_t c_pad, int fill);
void npu_unpack_narrow(void *dst, size_t ld, const void *src, size_t bpe, size_t pos, size_t c, size_t pos_pad);

/* npu_requant.c */
int npu_requant_check(const struct npu_requant *rq);

/* npu_bytes_prog.c: the DPU of an RK3568 or RK3562 alone; others are refused */
int npu_prog_add_bytes(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_sum *how);
/* By the LUT, which npu_prog_load_map() loaded. */
int npu_prog_map_bytes(struct npu_prog *p, const struct npu_ew_task *t);

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
struct npu_plan npu_plan_make(const struct npu_chip *chip, enum npu_prec in, uint32_t m, uint32_t n,
			      uint32_t k, uint32_t max_m, uint32_t max_n);
struct npu_tile npu_plan_tile(const struct npu_plan *plan, uint64_t i);
/* K of all programs of a product but perhaps the last one. */
uint32_t npu_k_step(uint32_t k);

/*
 * Of one task. The DPU's sizes have 13 bits; 8191 positions have been seen to corrupt some
 * (rocket-userspace).
 */
#define NPU_FLY_ROWS	4096u
#define NPU_FLY_COLS	4096u

/* npu_move_prog.c: tasks of the DPU alone that compute next to nothing */

/* Atoms of 16 bytes: columns lie side by side, lines and surfaces at distances in atoms. */
struct npu_atoms {
	uint64_t iova;
	uint32_t width, height, surfaces;
	uint32_t line, surf;
};

/* What is read surface by surface, line by line, is written so. */
struct npu_move_task {
	enum npu_prec in, out;
	bool raw;		/* as it is, whatever @in is */
	bool relu;
	struct npu_atoms from, to;
};

int npu_prog_move(struct npu_prog *p, const struct npu_move_task *t);
/* An atom of an RK3588. */
int npu_prog_move_atom(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova);
/* npu_bytes_prog.c: 16 bytes, or 8 on an RK3568; on any chip */
int npu_prog_copy_atom(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova);

/* The largest of @cols halves of each position, one behind the other at @out_iova. */
struct npu_row_max_task {
	struct npu_atoms from;	/* one line */
	uint32_t cols;
	uint64_t out_iova;
};

int npu_prog_row_max(struct npu_prog *p, const struct npu_row_max_task *t);

/* npu_conv_prog.c: each of the halves at @in_iova times a weight per column */

/* Channels of a weight in memory; the first one counts. */
#define NPU_BROADCAST_CHANNELS	8u

struct npu_broadcast_task {
	uint64_t in_iova, weight_iova, out_iova;
	uint32_t rows;		/* halves, below 2048 */
	uint32_t cols;		/* a multiple of 16 */
	uint32_t out_pitch;
};

int npu_prog_broadcast(struct npu_prog *p, const struct npu_broadcast_task *t);

/* npu_pool_prog.c: positions of the PPU, which reads and writes parts of lines */
struct npu_pool_task {
	enum npu_pool pool;
	enum npu_prec type;		/* INT8 or FP16 */
	uint32_t in_w, in_h;
	uint32_t in_line, in_pitch;	/* positions from line to line, and to the next surface */
	uint32_t out_w, out_h;
	uint32_t out_line, out_pitch;
	uint32_t channels;		/* that fill atoms */
	uint32_t kw, kh, stride_x, stride_y;
	uint32_t left, right, top, bottom;
	uint32_t pad_value;		/* of averages */
	uint64_t in_iova, out_iova;
};

int npu_prog_pool(struct npu_prog *p, const struct npu_pool_task *t);
/* For chips that maxima and averages of bytes are known of. */
int npu_prog_check_pool_bytes(struct npu_prog *p, const struct npu_pool_task *t);
/* The value as a number: tasks have it as the RK3588's field, without its sign. */
int32_t npu_pool_pad_value(const struct npu_pool_task *t);

/* npu_upscale_prog.c: lines of one surface, each atom so many times */
struct npu_upscale_task {
	enum npu_prec type;		/* INT8 or FP16 */
	uint32_t width, lines;
	uint32_t times_x, times_y;	/* to 8 */
	uint64_t in_iova, out_iova;
};

int npu_prog_upscale(struct npu_prog *p, const struct npu_upscale_task *t);

#endif /* NPU_TASK_H */
