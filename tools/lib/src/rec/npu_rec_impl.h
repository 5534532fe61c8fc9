/* SPDX-License-Identifier: MIT */
/*
 * A recording, as the files see it that make it and run it.
 */
#ifndef NPU_REC_IMPL_H
#define NPU_REC_IMPL_H

#include "npu_recorder.h"

struct npu_vendor_batch;

struct rec_op {
	const char *name;
};

/* Where tasks of an operation begin in a chain. */
struct rec_span {
	uint32_t op, chain, first_task;
};

struct rec_use {
	struct npu_mem *mem;
	uint32_t writers;	/* bit per core */
	bool sums;		/* may be used again when nobody else has it */
	uint32_t core;		/* that used it first */
};

/* Part of memory that a chain of this stage uses. */
struct rec_region {
	struct npu_tensor part;
	bool whole;		/* all of the memory */
	bool write;
	uint32_t core;
	uint32_t at;		/* tasks that the chain had then */
};

/* Memory that a chain uses. */
struct rec_access {
	struct npu_mem *mem;
	bool write;
	bool read;			/* what the chain had not written before */
	struct rec_region *written;	/* until then */
	uint32_t nwritten;
};

/* Tasks that follow each other on one core. */
struct rec_chain {
	uint32_t stage, core, space;
	uint32_t round;			/* how many of this stage the core has before it */
	struct npu_prog *prog;		/* until npu_rec_end() */
	struct rec_access *access;	/* each memory once */
	uint32_t naccesses;
	struct npu_table_mark table;	/* that the LUT holds after it */
	bool has_op;
	uint32_t op;			/* the last one */

	uint32_t first_task, ntasks;	/* in npu_rec.task */
	uint32_t part;			/* that it is submitted with */
};

/* What one submit, and one job, may have; beyond what there can be where the driver does not say. */
struct rec_limits {
	uint64_t jobs, tasks, handles, job_handles;
	uint64_t results;		/* of the newest jobs, which the driver tells */
};

/* Jobs that one submit hands over. */
struct rec_part {
	uint32_t space, first_job, njobs;
	uint64_t ntasks, nhandles;
	uint64_t number;		/* of the driver's first job, or 0 */
};

/* A task that does nothing, in a job that other clients wait for; see npu_rec_join.c. */
struct rec_join {
	struct npu_mem *scratch;	/* or NULL: there is none */
	uint32_t space;
	struct npu_task task;
	struct npu_bo **bo;		/* what the job lists: programs and scratch, then what it joins */
	uint32_t most;			/* that it may list */
};

/* Weights that are the same for every operation: n columns of k values. */
struct rec_const {
	uint32_t n, k;
	float value;
	struct npu_weights *weights;
};

struct npu_rec {
	struct npu_dev *dev;
	struct npu_rec_opts opts;
	struct rec_limits limits;
	int bad;			/* the first error of an operation */
	char msg[200];

	struct rec_op *op;
	uint32_t nops;
	struct rec_span *span;
	uint32_t nspans;
	struct rec_use *use;		/* each memory once */
	uint32_t nuses;
	struct rec_const *consts;
	uint32_t nconsts;

	/* npu_rec_cores.c */
	uint32_t cores;			/* 1 to NPU_MAX_CORES */
	int placed;			/* what npu_rec_on() said */
	uint32_t stage, core;		/* that tasks are appended to */
	uint32_t rounds;		/* the most that a core has more of in a stage than one chain */
	struct rec_chain *chain;	/* stage by stage */
	uint32_t nchains;
	int open[NPU_MAX_CORES];	/* chain of this stage, or -1 */
	struct rec_region *region;	/* of this stage, if there are several cores */
	uint32_t nregions, regions_room;

	/* npu_rec_space.c */
	bool settled;			/* is it known where operations run? */
	uint32_t space;			/* there */

	bool rewrites;			/* memory that an operation of the same chain has read */
	bool ended;
	bool chained;
	struct npu_mem *code[NPU_MAX_SPACES];	/* the programs of chains there */
	struct npu_mem *token[2][NPU_MAX_CORES];	/* of two stages in turns */
	struct npu_task *task;
	uint32_t ntasks;
	struct npu_bo **bo;		/* what jobs list */
	struct npu_hwjob *job;		/* one per chain, or over the vendor's interface per stage */
	struct npu_job_opts *job_opts;
	uint32_t njobs;			/* but for the one that joins, which follows them */
	struct rec_join join;
	struct rec_part *part;
	uint32_t nparts;
	struct npu_vendor_batch **batch;	/* over the vendor's interface: one per job */

	bool running;
	uint32_t started, waited;	/* jobs; those that are known to be over */
	uint32_t timed;			/* of them, those that the driver told the time of */
	uint64_t elapsed_ns;		/* of these */
	struct npu_rec_failure failure;	/* of the last run; err 0 = none */
};

/* npu_rec.c: room for one more element in an array that doubles */
void *npu_rec_grow(void *array, uint32_t n, size_t size);

/* npu_rec_cores.c */
int npu_rec_first_chain(struct npu_rec *rec);
uint32_t npu_rec_hw_core(const struct npu_rec *rec, uint32_t core);
/* For a job of @core. */
uint32_t npu_rec_core_mask(const struct npu_rec *rec, uint32_t core);
/* All cores wait for each other. */
int npu_rec_new_stage(struct npu_rec *rec);
/* Does the chain have it, or write it if asked for that? */
bool npu_rec_chain_uses(const struct rec_chain *c, const struct npu_mem *mem, bool write);
void npu_rec_free_chains(struct npu_rec *rec);
void npu_rec_free_accesses(struct rec_chain *c);
/* Is the memory written by several cores? Jobs list it as read then, or they would wait. */
static inline bool npu_use_is_shared(const struct rec_use *use)
{
	return use->writers & (use->writers - 1);
}

bool npu_rec_is_shared(const struct npu_rec *rec, const struct npu_mem *mem);
uint32_t npu_rec_count_shared(const struct npu_rec *rec);

/* npu_rec_limits.c: are options what the driver takes? */
bool npu_rec_takes(struct npu_dev *dev, const struct npu_rec_opts *opts);
void npu_rec_find_limits(struct npu_rec *rec);
/* How much memory a chain may use. */
uint32_t npu_rec_most_accesses(const struct npu_rec *rec);
/* May the submit have the job, too, and in the end the one that joins? */
bool npu_rec_fits(const struct npu_rec *rec, const struct rec_part *p, const struct npu_hwjob *job);

/* npu_rec_space.c: does a run copy between spaces? Into that of a part, and out of it. */
bool npu_rec_copies(const struct npu_rec *rec);
int npu_rec_copy_in(const struct npu_rec *rec, uint32_t part);
int npu_rec_copy_out(const struct npu_rec *rec, uint32_t part);

/* npu_rec_jobs.c: programs and jobs of a recording that is complete */
int npu_rec_write(struct npu_rec *rec);
/* The part that a job belongs to, and the address space of a part. */
struct rec_part *npu_rec_part_of(const struct npu_rec *rec, uint32_t job);
struct npu_dev *npu_rec_part_dev(const struct npu_rec *rec, const struct rec_part *p);

/* npu_rec_join.c: its program, or NULL if it needs none */
int npu_rec_make_join(struct npu_rec *rec, struct npu_prog **prog);
/* Is there memory that several cores write and that others see? */
bool npu_rec_has_to_join(const struct npu_rec *rec);
/* The job behind the others, for what others see now. */
void npu_rec_set_join(struct npu_rec *rec);

/* Waits until nothing runs, and lets go of the driver. */
void npu_rec_stop(struct npu_rec *rec);

#endif /* NPU_REC_IMPL_H */
