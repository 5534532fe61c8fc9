/* SPDX-License-Identifier: MIT */
/*
 * Owns the interface between the parts that read, write and interpret capture files.
 */
#ifndef CAP_H
#define CAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cap_format.h"
#include "chip/npu_chip.h"

/* ---- reading: the whole file is in memory and was found to make sense ---- */

struct cap_event {
	uint32_t type;
	uint32_t size;
	const void *data;
	/* Of CAP_WRITE: the bytes. Of CAP_SUBMIT: the struct cap_done of its end. */
	const void *more;
	uint32_t more_size;
};

struct cap {
	uint8_t *raw;
	size_t raw_size;
	struct cap_event *events;
	size_t nevents;
	size_t nsubmits;
	char error[256];
};

/* Most bytes of a file, unpacked, unless somebody says otherwise: a small file may unpack to many. */
#define CAP_READ_MAX	(UINT64_C(1) << 30)

/* 0, or -1 with a line in cap->error that names the file. Free it in either case. */
int cap_read(struct cap *cap, const char *path, uint64_t max);
/* The same for a file in memory, which it takes over; not compressed. */
int cap_parse(struct cap *cap, const char *name, uint8_t *raw, size_t size);
void cap_free(struct cap *cap);

/* A place inside a CAP_SUBMIT; the reader has checked that these stay inside. */
struct cap_cursor {
	const uint8_t *at;
};

const struct cap_submit *cap_submit_begin(const struct cap_event *ev, struct cap_cursor *c);
const struct cap_use *cap_submit_uses(struct cap_cursor *c, uint32_t n);
const struct cap_job *cap_submit_job(struct cap_cursor *c);
const struct cap_slice *cap_submit_slice(struct cap_cursor *c, const struct cap_task **tasks);
/* Of a CAP_FILE: whose programs its jobs run, as DRM_ROCKET_PARAM_SOC tells. */
uint32_t cap_file_soc(const struct cap_event *ev);

void cap_hash(const void *data, size_t size, uint64_t hash[2]);

/* ---- writing ---- */

struct cap_put {
	const void *data;
	size_t size;
};

/* Appends a record made of parts; false on a write error. */
bool cap_write_header(FILE *f);
bool cap_write_rec(FILE *f, uint32_t type, const struct cap_put *part, unsigned int n);
bool cap_write_content(FILE *f, const void *data, uint32_t size);

/* ---- register programs, of a chip whose registers are known here ---- */

#define CAP_ENTRY_TARGET(e)	((uint32_t)((e) >> 48))
#define CAP_ENTRY_VALUE(e)	((uint32_t)((e) >> 16))
#define CAP_ENTRY_REG(e)	((uint32_t)((e) & 0xffff))
#define CAP_VALUE_BITS		(UINT64_C(0xffffffff) << 16)

bool cap_knows(const struct npu_chip *chip);
/* The bits of a command's value that are an address: 0 if it has none. */
uint32_t cap_address_mask(const struct npu_chip *chip, uint64_t entry);
/* Whether that address is where a result goes. */
bool cap_is_destination(const struct npu_chip *chip, uint64_t entry);
bool cap_is_enable(uint64_t entry);
bool cap_is_write(uint64_t entry);

/* What registers say of where results lie; those of both writers are in the same order. */
enum cap_place {
	CAP_DPU_MODE, CAP_DPU_TYPE,
	CAP_DPU_DST, CAP_DPU_STRIDE, CAP_DPU_WIDTH, CAP_DPU_HEIGHT, CAP_DPU_NOTCH, CAP_DPU_CHANNELS,
	CAP_PPU_DST, CAP_PPU_STRIDE, CAP_PPU_WIDTH, CAP_PPU_HEIGHT, CAP_PPU_NOTCH, CAP_PPU_CHANNELS,
	CAP_PLACES
};

/* What programs leave in the registers of a core of @chip, which is there from the start. */
struct cap_image {
	const struct npu_chip *chip;
	uint32_t raw[CAP_PLACES];	/* of each field, where it is in its register */
	uint32_t enable;
	uint64_t next;			/* address of the next program, 0 = none */
	uint32_t next_entries;
};

/* Applies a program up to its end; the number of commands that it has. */
uint32_t cap_image_run(struct cap_image *im, const uint64_t *entry, uint32_t n);

struct cap_output {
	uint64_t base;
	uint64_t stride;	/* between surfaces */
	uint64_t plane;		/* bytes of one surface from its first to its last */
	uint64_t surfaces;
};

/* Up to two places; their number. Inferred from the registers, as the model has them. */
unsigned int cap_image_outputs(const struct cap_image *im, struct cap_output out[2]);
bool cap_output_has(const struct cap_output *out, uint64_t addr);

/* Registers of a chip that is not known here are numbers, also of NULL. */
void cap_print_program(FILE *f, const struct npu_chip *chip, const char *indent, const uint64_t *entry, uint32_t n);

/* ---- what is known to hang ---- */

#define CAP_HANGS	8

struct cap_hang {
	const char *field;	/* "BLOCK.REGISTER FIELD" */
	const char *why;
};

struct cap_hangs {
	unsigned int count;
	struct cap_hang hang[CAP_HANGS];
};

/* Of what the last command starts, rather than of a register. */
#define CAP_HANG_ENABLE	"PC.OPERATION_ENABLE"

/* Of a whole program of an RK3588 that relies on no register it does not write. */
void cap_find_hangs(struct cap_hangs *h, const uint64_t *entry, uint32_t n);
/* cap_print_program() of an RK3588's, with each mark behind its register. */
void cap_print_marked(FILE *f, const char *indent, const uint64_t *entry, uint32_t n,
		      const struct cap_hangs *h);

#endif /* CAP_H */
