/* SPDX-License-Identifier: MIT */
/*
 * What operations need of the recording that they are appended to.
 */
#ifndef NPU_RECORDER_H
#define NPU_RECORDER_H

#include "dev/npu_struct.h"
#include "tensor/npu_compute.h"

/* TASK_CON counts tasks in 12 bits. */
#define NPU_REC_MAX_TASKS	4095u

/* The first error stays; 0 or a negative errno. */
int npu_rec_fail(struct npu_rec *rec, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Begins an operation: 0, or why nothing can be appended. */
int npu_rec_begin(struct npu_rec *rec, const char *name);
/* npu_take_struct() for an operation that has begun; NPU_REC_TAKE() as NPU_TAKE(). */
int npu_rec_take_struct(struct npu_rec *rec, void *to, size_t known, size_t first, const void *from);
#define NPU_REC_TAKE(rec, to, last, from)				\
	npu_rec_take_struct(rec, to, sizeof(*(to)), NPU_SIZE_TO(__typeof__(*(to)), last), from)
/*
 * What the tasks read or write that are appended next. Where that is what another core has to
 * do with in this stage, a new stage begins.
 */
int npu_rec_reads(struct npu_rec *rec, const struct npu_tensor *t);
int npu_rec_writes(struct npu_rec *rec, const struct npu_tensor *t);
int npu_rec_reads_weights(struct npu_rec *rec, const struct npu_weights *w);
int npu_rec_writes_weights(struct npu_rec *rec, const struct npu_weights *w);
/* The operation that has begun runs in the address space of these weights. */
int npu_rec_bind_weights(struct npu_rec *rec, const struct npu_weights *w);
/* Its space has this memory from here on. */
int npu_rec_bind_mem(struct npu_rec *rec, struct npu_mem *mem);
/* Weights, memory and tensors there, or anywhere while nothing says which space it is. */
int npu_rec_weights(const struct npu_rec *rec, const struct npu_weights_desc *desc, const void *src,
		    struct npu_weights **out);
int npu_rec_mem(struct npu_rec *rec, size_t size, struct npu_mem **out);
int npu_rec_tensor(struct npu_rec *rec, enum npu_prec type, uint32_t rows, uint32_t cols,
		   struct npu_tensor **out);
/* Keeps memory; each is kept once. */
int npu_rec_keep(struct npu_rec *rec, struct npu_mem *mem);
/* Memory for sums, perhaps that of an operation before. */
int npu_rec_sums(struct npu_rec *rec, enum npu_prec type, uint32_t rows, uint32_t cols,
		 struct npu_tensor **out);
/* Weights that are the recording's own: those found by these numbers, or NULL; and new ones. */
const struct npu_weights *npu_rec_const(const struct npu_rec *rec, uint32_t n, uint32_t k,
					float value);
int npu_rec_keep_const(struct npu_rec *rec, uint32_t n, uint32_t k, float value,
		       struct npu_weights *w);
/* How many cores may share what has @units parts at most: 1 where the caller chose a core. */
uint32_t npu_rec_shares(const struct npu_rec *rec, uint32_t units);
/* Tasks are appended to this core's chain from now on, until the next operation. */
int npu_rec_select_core(struct npu_rec *rec, uint32_t core);
/* Calls @append for the rows of each core; they begin at multiples of 4. */
int npu_rec_by_rows(struct npu_rec *rec, uint32_t rows, const void *arg,
		    int (*append)(struct npu_rec *rec, const void *arg, uint32_t row, uint32_t n));
/* Its tasks are appended here; see what npu_prog_finish() closes. */
struct npu_prog *npu_rec_prog(struct npu_rec *rec);
/* Will the LUT hold another table when the next task begins? From then on it holds @t. */
bool npu_rec_wants_table(struct npu_rec *rec, const struct npu_table *t);
/* Tasks that are appended next put something else there. */
void npu_rec_forget_table(struct npu_rec *rec);
/* Tasks that this core's chain has. */
uint32_t npu_rec_tasks(const struct npu_rec *rec);
/*
 * Another chain follows on this core if this one cannot have so many more tasks. What they use is
 * said after that.
 */
int npu_rec_make_room(struct npu_rec *rec, uint32_t tasks);
/* Can there be more tasks on this core? Where not, the end of the operation says why. */
bool npu_rec_room(const struct npu_rec *rec);
/* Ends it: checks the program and the number of tasks. */
int npu_rec_commit(struct npu_rec *rec);

#endif /* NPU_RECORDER_H */
