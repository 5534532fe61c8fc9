/* SPDX-License-Identifier: MIT */
/*
 * Owns the layout of capture files, version 2; Documentation/accel/rknpu/capture.rst
 * has it in words.
 *
 * A file is a struct cap_header and then records, as they are or as one gzip stream.
 * A record is a struct cap_rec, as many bytes as it says, and zeros up to the next
 * multiple of 8. All numbers are little endian.
 */
#ifndef CAP_FORMAT_H
#define CAP_FORMAT_H

#include <stdint.h>

#define CAP_MAGIC	"NPUCAP\r\n"
#define CAP_VERSION	2u

/* Contents are at most this long; the recorder stores memory page by page. */
#define CAP_CONTENT_MAX	(1u << 20)
#define CAP_PAGE	4096u
/* The NPU's address space. */
#define CAP_MEMORY_MAX	(UINT64_C(1) << 32)
#define CAP_SLICES_MAX	3u

struct cap_header {
	char magic[8];
	uint32_t version;
	uint32_t zero;
};

struct cap_rec {
	uint32_t type;
	uint32_t size;		/* of what follows, without the zeros behind it */
};

enum cap_type {
	CAP_PROCESS = 1,
	CAP_FILE = 2,
	CAP_CONTENT = 3,
	CAP_BO = 4,
	CAP_BO_GONE = 5,
	CAP_WRITE = 6,
	CAP_RELOC = 7,
	CAP_SUBMIT = 8,
	CAP_DONE = 9,
	CAP_END = 10,
	CAP_EOF = 11,
};

/* CAP_PROCESS: all numbers of BOs, files and contents begin anew. */
struct cap_process {
	uint32_t bits;		/* 32 or 64 */
	uint32_t zero;
	char name[16];
};

enum cap_uapi {
	CAP_ROCKET = 1,		/* DRM driver "rocket" */
	CAP_VENDOR = 2,		/* DRM driver "rknpu" */
	CAP_VENDOR_MISC = 3,	/* /dev/rknpu */
};

/*
 * CAP_FILE: an open device file, numbered from 0. Files of version 1 end before the chip, which was an RK3588,
 * and are not different otherwise.
 */
struct cap_file {
	uint32_t uapi;
	uint32_t major, minor, patch;
	uint32_t soc;		/* whose programs its jobs run: 3588 */
	uint32_t zero;
};

#define CAP_FILE_V1	16u	/* its size in files of version 1 */
#define CAP_SOC_V1	3588u

/* CAP_CONTENT: bytes that BOs have had, numbered from 0. This, then the bytes. */
struct cap_content {
	uint64_t hash[2];	/* XXH3, 128 bits, low half first */
};

/* CAP_BO: a buffer, all zeros; numbered from 0. */
struct cap_bo {
	uint32_t file;
	uint32_t zero;
	uint64_t size;
};

/* CAP_BO_GONE */
struct cap_bo_gone {
	uint32_t bo;
	uint32_t zero;
};

/*
 * CAP_WRITE: the bytes of a BO from an offset on are those of a content: by the client,
 * or, between CAP_SUBMIT and CAP_DONE, by the NPU.
 */
struct cap_write {
	uint32_t bo;
	uint32_t content;
	uint64_t offset;
};

/*
 * CAP_RELOC: bits 47:16 of the register command at an offset of a BO are the address of a
 * byte of a BO. A later CAP_WRITE there ends that.
 */
struct cap_reloc {
	uint32_t bo;
	uint32_t target;
	uint64_t offset;
	uint64_t target_offset;
};

#define CAP_USE_READ	1u	/* an address in its programs, or the client, names the BO */
#define CAP_USE_WRITE	2u	/* as the place of a result */
struct cap_use {
	uint32_t bo;
	uint32_t use;
};

/* CAP_SUBMIT: this, then uses, then for each job its head and slices with their tasks. */
struct cap_submit {
	uint32_t file;
	uint32_t uses;
	uint32_t jobs;
	uint32_t zero;
};

#define CAP_JOB_CHAINED	1u	/* each program names the next one */
struct cap_job {
	uint32_t slices;	/* 1 to 3, each on a core of its own, side by side */
	uint32_t flags;
};

struct cap_slice {
	uint32_t tasks;
	uint32_t core_mask;	/* the core that its programs are made for, or 0: any */
};

struct cap_task {
	uint32_t bo;
	uint32_t entries;	/* register commands, tail included */
	uint64_t offset;
};

#define CAP_DONE_UNKNOWN 1u	/* nobody waited for the end, so the output is not known */
/* CAP_DONE */
struct cap_done {
	int32_t status;		/* 0 or a negative errno: how the jobs ended */
	uint32_t flags;
};

/* CAP_END: of a process. */
struct cap_end {
	uint32_t clean;		/* 0: it was killed; what it did last may be missing */
	uint32_t zero;
};

#endif /* CAP_FORMAT_H */
