/* SPDX-License-Identifier: MIT */
/*
 * What longer operations are made of: tasks that move elements, and operations inside of
 * another one.
 */
#ifndef NPU_PARTS_H
#define NPU_PARTS_H

#include "npu_recorder.h"

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

/* npu_rec_ew.c: within an operation that has begun */

int npu_rec_ew(struct npu_rec *rec, enum npu_ew_op op, const struct npu_tensor *a,
	       const struct npu_tensor *b, struct npu_tensor *y);
int npu_rec_function(struct npu_rec *rec, const struct npu_table *table,
		     const struct npu_tensor *x, struct npu_tensor *y);

/* npu_rec_matmul.c: the same */
int npu_rec_matmul_tasks(struct npu_rec *rec, const struct npu_tensor *x,
			 const struct npu_weights *w, struct npu_tensor *y,
			 const struct npu_rec_matmul_opts *opts);

/* npu_rec_move.c: the same; FP32 to FP16, and FP32 or INT32 as they are, both perhaps by max(x, 0) */
int npu_rec_copy(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y, bool relu);

#endif /* NPU_PARTS_H */
