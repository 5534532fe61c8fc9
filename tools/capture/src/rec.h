/* SPDX-License-Identifier: MIT */
/*
 * What the recorder's files share. All state but rec_lock.c's is under one lock, held by
 * ioctl(); memory is the client's, so it is looked at only while the client is inside a call.
 */
#ifndef REC_H
#define REC_H

#include "cap.h"

#define REC_NONE	UINT32_MAX

/* A register command that holds an address. */
struct rec_reloc {
	uint64_t offset;
	uint64_t word;		/* as the client wrote it */
	uint64_t target_offset;
	struct rec_bo *target;
	bool told;		/* the file has it */
};

struct rec_bo {
	struct rec_bo *next;
	struct rec_file *file;
	uint32_t id;		/* in the capture; REC_NONE until a submit needs it */
	uint32_t handle;
	uint64_t iova;
	uint64_t size;
	uint64_t obj_addr;	/* vendor */
	unsigned int opens;	/* /dev/rknpu: how often it was made and not destroyed */
	uint32_t domain;
	bool cacheable;
	bool imported;
	bool foreign;		/* rocket: another driver's, whose caches are not ours to sync */
	uint8_t *map;		/* our own mapping */
	uint64_t (*hash)[2];	/* of each page, as the file has it */
	struct rec_reloc *reloc;	/* sorted by offset */
	size_t nrelocs, room;
	uint32_t use;		/* in the submit being recorded */
};

struct rec_file {
	struct rec_file *next;
	int fd[16];		/* descriptors that are known to name it */
	unsigned int users;	/* calls that wait without the lock */
	bool closed;		/* and it goes with the last of them */
	uint32_t id;
	enum cap_uapi uapi;
	const struct npu_chip *chip;
	bool numbers;		/* its jobs have: our rocket */
	uint64_t loose, loose_end;	/* of those that were not waited for, and may not be over */
	int version[3];
};

extern struct rec_bo *rec_bos;

/* ---- rec_out.c: the file ---- */

bool rec_out_open(void);
void rec_out_end(void);
void rec_out_forget(void);
void rec_put(uint32_t type, const void *data, size_t size);
void rec_put2(uint32_t type, const void *a, size_t an, const void *b, size_t bn);
uint32_t rec_out_content(const void *data, uint32_t size, const uint64_t hash[2]);
void rec_out_flush(void);
/* -1 while there is none; needs no lock. */
int rec_out_fd(void);
void rec_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- rec_bo.c: files, buffers, relocations ---- */

struct rec_file *rec_file_of(int fd, unsigned long req);
/* What the descriptor named is no longer its. */
void rec_file_close(int fd);
void rec_file_close_from(int fd);
/* It outlives a call that gives the lock away. */
void rec_file_hold(struct rec_file *f);
void rec_file_put(struct rec_file *f);
/* Of files whose descriptors are all marked as closed. */
void rec_files_unmap(void);
struct rec_bo *rec_bo_new(struct rec_file *f, uint32_t handle, uint64_t iova, uint64_t size);
struct rec_bo *rec_bo_find(struct rec_file *f, uint32_t handle);
struct rec_bo *rec_bo_by_obj(struct rec_file *f, uint64_t obj_addr);
/* The BO that has an address; of a rocket file, or of a domain of the process. */
struct rec_bo *rec_bo_at(struct rec_file *f, uint32_t domain, uint64_t iova);
bool rec_bo_map(struct rec_bo *bo);
void rec_bo_gone(struct rec_bo *bo);
void rec_bo_reloc(struct rec_bo *bo, uint64_t offset, uint64_t word, struct rec_bo *target,
		  uint64_t target_offset);
/* Gives numbers in the capture. */
void rec_file_tell(struct rec_file *f);
bool rec_bo_tell(struct rec_bo *bo);
/* Tells the capture what has changed in a BO. */
void rec_bo_scan(struct rec_bo *bo);
void rec_bo_tell_relocs(struct rec_bo *bo);
/* In a child process nothing was told yet. */
void rec_forget_all(void);

/* ---- rec_submit.c: what a submit runs ---- */

struct rec_job {
	uint8_t *bytes;		/* as CAP_SUBMIT has it */
	size_t size;
	bool good;
};

void rec_submit_begin(void);
void rec_submit_use(struct rec_bo *bo, uint32_t use);
/* Appends to the jobs of a submit. */
void rec_job_head(struct rec_job *j, uint32_t slices, uint32_t flags);
/* @cores: those that may run it, 0 = any. */
void rec_job_slice(struct rec_job *j, const struct rec_file *f, uint32_t cores, uint32_t tasks);
void rec_job_task(struct rec_job *j, struct rec_file *f, uint32_t domain, uint64_t base,
		  uint64_t regcmd, uint32_t entries, struct cap_image *im);
/* A chain of up to @n programs; returns how many there are. */
uint32_t rec_job_chain(struct rec_job *j, struct rec_file *f, uint32_t domain, uint64_t base,
		       uint64_t regcmd, uint32_t entries, uint32_t n);
void rec_submit_before(void);
void rec_submit_tell(struct rec_file *f, const struct rec_job *j, uint32_t jobs);
void rec_submit_after(int status, bool known);

/* ---- rec_rocket.c, rec_vendor.c: the two interfaces; both return what the ioctl did ---- */

bool rec_rocket_wants(unsigned long req);
bool rec_vendor_wants(unsigned long req);
int rec_rocket_ioctl(struct rec_file *f, int fd, unsigned long req, void *arg);
int rec_vendor_ioctl(struct rec_file *f, int fd, unsigned long req, void *arg);

/* ---- rec_raw.c ---- */

int rec_raw_ioctl(int fd, unsigned long req, void *arg);	/* -1 and errno */
bool rec_raw_is_misc(int fd);				/* /dev/rknpu? */
int rec_raw_close(int fd);
int rec_raw_dup3(int from, int to, int flags);
int rec_raw_close_range(unsigned int first, unsigned int last, int flags);
void *rec_raw_mmap(uint64_t size, int fd, uint64_t offset);
/* Of the client's arguments, which may point anywhere; false where EFAULT is to be expected. */
bool rec_copy(void *to, uint64_t from, size_t size);

/* ---- rec_lock.c ---- */

bool rec_is_ours(void);
/* In a child process, which has the lock. */
void rec_is_child(void);
/* unlock and lock are also around a call that may last until another thread does something. */
bool rec_lock(void);
void rec_unlock(void);
/* These need no lock. */
void rec_mark_closed(unsigned int first, unsigned int last);
bool rec_is_marked(int fd);
void rec_let_go(void);
/* Under the lock: rec_file_close() for all that was closed. */
void rec_take_closed(void);

#endif /* REC_H */
