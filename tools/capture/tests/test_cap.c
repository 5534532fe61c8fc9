// SPDX-License-Identifier: MIT
/*
 * The capture format without an NPU: what is written is read, what is damaged is refused with
 * one line, and mutated files never do more than that.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

#include "cap.h"
#include "npu_regs.h"
#include "tap.h"

/* Of a file, in these tests. */
#define READ_MAX	(UINT64_C(16) << 20)

#define ENTRY(target, reg, value) \
	((uint64_t)(target) << 48 | (uint64_t)(uint32_t)(value) << 16 | (reg))

static const struct npu_chip *rk3576;

static const uint64_t program[] = {
	ENTRY(NPU_TGT_DPU, 0x400c, 0x1e4), ENTRY(NPU_TGT_DPU, 0x4010, 0x48000002),
	ENTRY(NPU_TGT_DPU, 0x4020, 0x12340000), ENTRY(NPU_TGT_DPU, 0x4024, 0x400),
	ENTRY(NPU_TGT_DPU, 0x4058, 0xf), ENTRY(NPU_TGT_DPU, 0x405c, 0x30007),
	ENTRY(NPU_TGT_CNA, 0x1070, 0x1000), ENTRY(NPU_TGT_PC, 0x10, 0x2000),
	ENTRY(NPU_TGT_PC, 0x14, 9), ENTRY(NPU_TGT_ENABLE, 8, 0x0d),
};

#define ENTRIES	(sizeof(program) / sizeof(program[0]))

static void rec(FILE *f, uint32_t type, const void *data, size_t size)
{
	struct cap_put part = { data, size };

	cap_write_rec(f, type, &part, 1);
}

static void put_start(FILE *f)
{
	struct cap_process p = { .bits = 64, .name = "test" };
	struct cap_file file = { .uapi = CAP_ROCKET, .major = 1, .soc = 3576 };

	cap_write_header(f);
	rec(f, CAP_PROCESS, &p, sizeof(p));
	rec(f, CAP_FILE, &file, sizeof(file));
}

static void put_memory(FILE *f)
{
	struct cap_bo bo = { .size = 8192 };
	struct cap_write w = { .bo = 0, .content = 0, .offset = 4096 };
	struct cap_reloc l = { .bo = 0, .target = 1, .offset = 4096 + 16, .target_offset = 32 };

	rec(f, CAP_BO, &bo, sizeof(bo));
	rec(f, CAP_BO, &bo, sizeof(bo));
	cap_write_content(f, program, sizeof(program));
	rec(f, CAP_WRITE, &w, sizeof(w));
	rec(f, CAP_RELOC, &l, sizeof(l));
}

static void put_submit(FILE *f)
{
	struct {
		struct cap_submit s;
		struct cap_use use[2];
		struct cap_job job;
		struct cap_slice slice;
		struct cap_task task;
	} submit = {
		.s = { .uses = 2, .jobs = 1 },
		.use = { { 0, CAP_USE_READ }, { 1, CAP_USE_WRITE } },
		.job = { .slices = 1 }, .slice = { .tasks = 1 },
		.task = { .bo = 0, .entries = ENTRIES, .offset = 4096 },
	};
	struct cap_write w = { .bo = 1, .content = 1, .offset = 32 };
	struct cap_done done = { 0 };

	rec(f, CAP_SUBMIT, &submit, sizeof(submit));
	cap_write_content(f, "result", 7);
	rec(f, CAP_WRITE, &w, sizeof(w));
	rec(f, CAP_DONE, &done, sizeof(done));
}

static uint8_t *sample(size_t *size)
{
	struct cap_bo_gone gone = { .bo = 1 };
	struct cap_end end = { .clean = 1 };
	char *raw = NULL;
	FILE *f = open_memstream(&raw, size);

	put_start(f);
	put_memory(f);
	put_submit(f);
	rec(f, CAP_BO_GONE, &gone, sizeof(gone));
	rec(f, CAP_END, &end, sizeof(end));
	rec(f, CAP_EOF, NULL, 0);
	fclose(f);
	return (uint8_t *)raw;
}

/* What a replay would look at, so that the sanitizers see it. */
static uint64_t walk(const struct cap *cap)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < cap->nevents; i++) {
		const struct cap_event *ev = &cap->events[i];
		const struct cap_submit *s;
		const struct cap_task *t;
		struct cap_cursor c;

		for (uint32_t k = 0; k < ev->more_size; k++)
			sum += ((const uint8_t *)ev->more)[k];
		if (ev->type != CAP_SUBMIT)
			continue;
		s = cap_submit_begin(ev, &c);
		for (uint32_t k = 0; k < s->uses; k++)
			sum += cap_submit_uses(&c, 1)->bo;
		for (uint32_t j = 0; j < s->jobs; j++) {
			uint32_t n = cap_submit_job(&c)->slices;

			while (n--) {
				const struct cap_slice *sl = cap_submit_slice(&c, &t);

				for (uint32_t k = 0; k < sl->tasks; k++)
					sum += t[k].entries;
			}
		}
	}
	return sum;
}

/* Parses a copy; the error, or "". */
static const char *parse(const uint8_t *raw, size_t size)
{
	static char error[256];
	uint8_t *copy = malloc(size ? size : 1);
	struct cap cap;

	memcpy(copy, raw, size);
	error[0] = '\0';
	if (cap_parse(&cap, "x", copy, size))
		snprintf(error, sizeof(error), "%s", cap.error);
	else
		walk(&cap);
	cap_free(&cap);
	return error;
}

static bool refused(const uint8_t *raw, size_t size, const char *why)
{
	const char *error = parse(raw, size);

	if (strstr(error, why) && !strchr(error, '\n'))
		return true;
	printf("# said: %s\n", error);
	return false;
}

static void test_sample(void)
{
	size_t size;
	uint8_t *raw = sample(&size);
	const struct cap_event *submit = NULL, *write = NULL;
	struct cap cap;
	int ret = cap_parse(&cap, "x", raw, size);

	tap_ok(!ret && cap.nsubmits == 1, "what was written is read %s", ret ? cap.error : "");
	for (size_t i = 0; !ret && i < cap.nevents; i++) {
		if (cap.events[i].type == CAP_SUBMIT)
			submit = &cap.events[i];
		if (cap.events[i].type == CAP_WRITE)
			write = &cap.events[i];
	}
	tap_ok(submit && submit->more && !((const struct cap_done *)submit->more)->status,
	       "a submit knows its end");
	tap_ok(write && write->more_size == 7 && !memcmp(write->more, "result", 7),
	       "a write knows its bytes");
	cap_free(&cap);
}

/* Every prefix is a truncated file, and says so. */
static void test_truncated(void)
{
	size_t size, silent = 0, wrong = 0;
	uint8_t *raw = sample(&size);

	for (size_t n = 0; n < size; n++) {
		const char *error = parse(raw, n);

		silent += !*error;
		wrong += n >= sizeof(struct cap_header) && !strstr(error, "truncated");
	}
	tap_ok(!silent, "no prefix of a file is taken for the file");
	tap_ok(!wrong, "all that have a header are called truncated");
	raw = realloc(raw, size + 8);
	memset(raw + size, 0, 8);
	tap_ok(refused(raw, size + 8, "behind the end"), "bytes behind the end are refused");
	free(raw);
}

static void test_damaged(void)
{
	size_t size;
	uint8_t *raw = sample(&size), *at;

	at = memmem(raw, size, "result", 6);
	at[2] ^= 1;
	tap_ok(refused(raw, size, "does not match its hash"), "a content that was changed");
	at[2] ^= 1;
	raw[8] = 3;
	tap_ok(refused(raw, size, "version 3, where 1 to 2 are known"), "another version");
	raw[8] = 0;
	tap_ok(refused(raw, size, "version 0, where 1 to 2 are known"), "no version");
	raw[8] = 1;
	tap_ok(refused(raw, size, "type 2 with 24 bytes"), "a FILE of version 2 in a file of version 1");
	raw[8] = 2;
	raw[0] = 'X';
	tap_ok(refused(raw, size, "no capture file"), "another kind of file");
	raw[0] = 'N';
	tap_ok(!*parse(raw, size), "the same file undamaged");
	free(raw);
}

/* A number inside a record, replaced; the record is the nth of its type. */
static void set(uint8_t *raw, size_t size, uint32_t type, size_t at, uint64_t value, size_t bytes)
{
	for (size_t i = sizeof(struct cap_header); i < size;) {
		struct cap_rec r;

		memcpy(&r, raw + i, sizeof(r));
		if (r.type == type) {
			memcpy(raw + i + sizeof(r) + at, &value, bytes);
			return;
		}
		i += sizeof(r) + ((r.size + 7) & ~7u);
	}
}

struct lie {
	uint32_t type;
	size_t at;
	uint64_t value;
	size_t bytes;
	const char *why;
};

static void test_lies(void)
{
	static const struct lie lies[] = {
		{ CAP_BO, offsetof(struct cap_bo, size), 0, 8, "a BO of 0 bytes" },
		{ CAP_BO, offsetof(struct cap_bo, size), UINT64_C(1) << 40, 8, "a BO of" },
		{ CAP_BO, offsetof(struct cap_bo, file), 7, 4, "no file 7" },
		{ CAP_WRITE, offsetof(struct cap_write, bo), 9, 4, "no BO 9" },
		{ CAP_WRITE, offsetof(struct cap_write, content), 9, 4, "no content 9" },
		{ CAP_WRITE, offsetof(struct cap_write, offset), 8191, 8, "not inside BO 0" },
		{ CAP_WRITE, offsetof(struct cap_write, offset), UINT64_MAX, 8, "not inside BO 0" },
		{ CAP_RELOC, offsetof(struct cap_reloc, offset), 4097, 8, "at offset 4097" },
		{ CAP_RELOC, offsetof(struct cap_reloc, offset), 8192, 8, "not inside BO 0" },
		{ CAP_RELOC, offsetof(struct cap_reloc, target_offset), 8192, 8, "not inside BO 1" },
		{ CAP_SUBMIT, offsetof(struct cap_submit, uses), 0x20000000, 4, "too short" },
		{ CAP_SUBMIT, offsetof(struct cap_submit, jobs), 2, 4, "too short" },
		{ CAP_SUBMIT, offsetof(struct cap_submit, jobs), 0, 4, "too short" },
		{ CAP_SUBMIT, sizeof(struct cap_submit) + 16, 4, 4, "4 slices" },
		{ CAP_SUBMIT, sizeof(struct cap_submit) + 24, 0, 4, "without tasks" },
		{ CAP_SUBMIT, sizeof(struct cap_submit) + 24, UINT32_MAX, 4, "too short" },
		{ CAP_SUBMIT, sizeof(struct cap_submit) + 36, 1000, 4, "not inside BO 0" },
		{ CAP_DONE, offsetof(struct cap_done, status), 0x80000000, 4, "status -2147483648" },
		{ CAP_DONE, offsetof(struct cap_done, status), 5, 4, "status 5" },
		{ CAP_DONE, (size_t)-8, 99, 4, "type 99 is unknown" },
		{ CAP_DONE, (size_t)-8, CAP_END, 4, "in the middle of a submit" },
		{ CAP_FILE, (size_t)-8, CAP_PROCESS, 4, "type 1 inside of a process" },
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		size_t size;
		uint8_t *raw = sample(&size);

		set(raw, size, lies[i].type, lies[i].at, lies[i].value, lies[i].bytes);
		tap_ok(refused(raw, size, lies[i].why), "refused: %s", lies[i].why);
		free(raw);
	}
}

static bool file_says(const char *path, const char *why)
{
	struct cap cap;
	bool ok = cap_read(&cap, path, READ_MAX) && strstr(cap.error, why);

	if (!ok)
		printf("# said: %s\n", cap.error);
	cap_free(&cap);
	return ok;
}

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "wb");

	fwrite(data, size, 1, f);
	fclose(f);
}

static void test_compressed(void)
{
	char path[] = "/tmp/test_cap.XXXXXX";
	size_t size, packed;
	uint8_t *raw = sample(&size), buf[8192];
	gzFile z;
	FILE *f;
	struct cap cap;

	close(mkstemp(path));
	z = gzopen(path, "wb");
	gzwrite(z, raw, (unsigned int)size);
	gzclose(z);
	tap_ok(!cap_read(&cap, path, READ_MAX), "a compressed file is read");
	cap_free(&cap);
	f = fopen(path, "rb");
	packed = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	write_file(path, buf, packed - 9);
	tap_ok(file_says(path, "truncated"), "one that was cut off is called truncated");
	buf[packed / 2] ^= 0x10;
	write_file(path, buf, packed);
	tap_ok(file_says(path, "damaged") || file_says(path, "record"),
	       "one that was damaged is refused");
	unlink(path);
	tap_ok(file_says(path, "No such file"), "one that is not there is refused");
	free(raw);
}

/* A content per MiB, each another one, of a file a thousandth of their size. */
static void pack_many(const char *path, uint32_t contents)
{
	static uint64_t content[CAP_CONTENT_MAX / 8];
	size_t size;
	char *raw = NULL;
	gzFile z = gzopen(path, "wb9");
	FILE *f;

	for (uint32_t i = 0; i <= contents; i++) {
		f = open_memstream(&raw, &size);
		content[0] = i;
		if (i)
			cap_write_content(f, content, sizeof(content));
		else
			put_start(f);
		fclose(f);
		gzwrite(z, raw, (unsigned int)size);
		free(raw);
	}
	gzclose(z);
}

static void test_limit(void)
{
	const uint64_t mib = 1 << 20;
	char path[] = "/tmp/test_cap.XXXXXX";
	struct stat st;
	struct cap cap;

	close(mkstemp(path));
	pack_many(path, 3 * READ_MAX / CAP_CONTENT_MAX);
	stat(path, &st);
	tap_ok(st.st_size < (off_t)mib && file_says(path, "more than 16 MiB, unpacked"),
	       "%lld bytes that unpack to three times the limit are refused", (long long)st.st_size);
	tap_ok(cap_read(&cap, path, 49 * mib) && strstr(cap.error, "truncated"), "with another limit they are read");
	cap_free(&cap);
	unlink(path);
}

static uint32_t first_soc(const struct cap *cap)
{
	for (size_t i = 0; i < cap->nevents; i++)
		if (cap->events[i].type == CAP_FILE)
			return cap_file_soc(&cap->events[i]);
	return 0;
}

/* As they were written before files named a chip. */
static void test_first_version(void)
{
	struct cap_process p = { .bits = 64, .name = "test" };
	struct cap_file file = { .uapi = CAP_VENDOR, .patch = 8, .soc = 3576 };
	struct cap_end end = { .clean = 1 };
	size_t size;
	uint8_t *raw = sample(&size);
	char *old = NULL;
	struct cap cap;
	FILE *f;

	tap_ok(!cap_parse(&cap, "x", raw, size) && first_soc(&cap) == 3576, "a file names its chip %s", cap.error);
	cap_free(&cap);
	f = open_memstream(&old, &size);
	cap_write_header(f);
	rec(f, CAP_PROCESS, &p, sizeof(p));
	rec(f, CAP_FILE, &file, CAP_FILE_V1);
	put_memory(f);
	put_submit(f);
	rec(f, CAP_END, &end, sizeof(end));
	rec(f, CAP_EOF, NULL, 0);
	fclose(f);
	tap_ok(refused((uint8_t *)old, size, "type 2 with 16 bytes"), "one without a chip is none of version 2");
	old[8] = 1;
	tap_ok(!cap_parse(&cap, "x", (uint8_t *)old, size) && first_soc(&cap) == 3588 && walk(&cap),
	       "of version 1 it is an RK3588's %s", cap.error);
	cap_free(&cap);
}

/* @n registers that take addresses, and no others. */
static bool only_addresses(const struct npu_chip *chip, const uint16_t *addresses, size_t n)
{
	unsigned int found = 0;
	bool all = true;

	for (uint32_t reg = 0; reg < 0x8000; reg += 4)
		found += cap_address_mask(chip, ENTRY(NPU_TGT_CNA, reg, 0)) != 0;
	for (size_t i = 0; i < n; i++)
		all &= cap_address_mask(chip, ENTRY(NPU_TGT_DPU, addresses[i], 0)) != 0;
	return all && found == n;
}

static void test_programs(void)
{
	static const uint16_t addresses[] = {
		0x10, 0x1070, 0x1110, 0x4020, 0x5018, 0x5020, 0x502c, 0x5038, 0x6070, 0x701c,
	};
	struct cap_image im = { .chip = &npu_rk3588 };
	struct cap_output out[2];
	unsigned int n;

	tap_ok(only_addresses(&npu_rk3588, addresses, sizeof(addresses) / sizeof(addresses[0])),
	       "exactly the registers that take addresses have one");
	tap_ok(!cap_address_mask(&npu_rk3588, ENTRY(NPU_TGT_ENABLE, 0x4020, 0)), "only writes have one");
	tap_ok(cap_address_mask(&npu_rk3588, ENTRY(NPU_TGT_PC, 0x10, 0)) == 0xfffffff0, "PC_SEL is no address");
	tap_ok(cap_is_destination(&npu_rk3588, ENTRY(NPU_TGT_DPU, 0x4020, 0)) &&
	       cap_is_destination(&npu_rk3588, ENTRY(NPU_TGT_PPU, 0x6070, 0)) &&
	       !cap_is_destination(&npu_rk3588, ENTRY(NPU_TGT_DPU, 0x4018, 0)), "where results go");
	tap_ok(cap_image_run(&im, program, ENTRIES) == ENTRIES && im.enable == 0x0d &&
	       im.next == 0x2000 && im.next_entries == 20, "a program and its successor");
	n = cap_image_outputs(&im, out);
	/* 8 columns of 16 bytes, 4 rows, 16 channels of 2 bytes in 2 surfaces 0x400 apart. */
	tap_ok(n == 1 && cap_output_has(out, 0x12340000) && cap_output_has(out, 0x123401ff) &&
	       !cap_output_has(out, 0x12340200) && cap_output_has(out, 0x12340400) &&
	       !cap_output_has(out, 0x12340800) && !cap_output_has(out, 0x1233ffff),
	       "where its result lies");
}

/* The same result in the words of an RK3576; and a pooled one. */
static void test_rk3576(void)
{
	static const uint16_t addresses[] = {
		0x10, 0x1088, 0x1110, 0x4018, 0x5018, 0x5020, 0x5024, 0x502c, 0x5030, 0x5038, 0x6070, 0x701c,
	};
	static const uint64_t conv[] = {
		ENTRY(NPU_TGT_DPU, 0x400c, 0x40000004), ENTRY(NPU_TGT_DPU, 0x4010, 0x48000002),
		ENTRY(NPU_TGT_DPU, 0x4018, 0x12340000), ENTRY(NPU_TGT_DPU, 0x401c, 0x40),
		ENTRY(NPU_TGT_DPU, 0x4020, 7), ENTRY(NPU_TGT_DPU, 0x4030, 0xf0710), ENTRY(NPU_TGT_DPU, 0x4034, 0x30007),
		ENTRY(NPU_TGT_PC, 0x10, 0x2000), ENTRY(NPU_TGT_PC, 0x14, 9), ENTRY(NPU_TGT_ENABLE, 8, 0x1d),
	}, pool[] = {
		ENTRY(NPU_TGT_PPU, 0x6018, 7), ENTRY(NPU_TGT_PPU, 0x601c, 3), ENTRY(NPU_TGT_PPU, 0x6020, 15),
		ENTRY(NPU_TGT_PPU, 0x6070, 0x5000), ENTRY(NPU_TGT_PPU, 0x607c, 0x400), ENTRY(NPU_TGT_ENABLE, 8, 0x60),
	};
	struct cap_image im = { .chip = rk3576 };
	struct cap_output out[2];
	unsigned int n;

	tap_ok(only_addresses(rk3576, addresses, sizeof(addresses) / sizeof(addresses[0])),
	       "RK3576: exactly the registers that take addresses have one");
	tap_ok(cap_is_destination(rk3576, ENTRY(NPU_TGT_DPU, 0x4018, 0)) &&
	       cap_is_destination(rk3576, ENTRY(NPU_TGT_PPU, 0x6070, 0)) &&
	       !cap_is_destination(rk3576, ENTRY(NPU_TGT_DPU, 0x4020, 0)), "RK3576: where results go");
	tap_ok(cap_image_run(&im, conv, 10) == 10 && im.enable == 0x1d && im.next == 0x2000 && im.next_entries == 20,
	       "RK3576: a program and its successor");
	n = cap_image_outputs(&im, out);
	tap_ok(n == 1 && cap_output_has(out, 0x12340000) && cap_output_has(out, 0x123401ff) &&
	       !cap_output_has(out, 0x12340200) && cap_output_has(out, 0x12340400) &&
	       !cap_output_has(out, 0x12340800) && !cap_output_has(out, 0x1233ffff), "RK3576: where its result lies");
	im = (struct cap_image) { .chip = rk3576 };
	cap_image_run(&im, pool, 6);
	n = cap_image_outputs(&im, out);
	tap_ok(n == 1 && cap_output_has(out, 0x5000) && cap_output_has(out, 0x51ff) && !cap_output_has(out, 0x5200) &&
	       cap_output_has(out, 0x5400) && !cap_output_has(out, 0x5800), "RK3576: where a pooled one lies");
	im = (struct cap_image) { .chip = npu_chip_of_soc(3568) };
	cap_image_run(&im, conv, 10);
	tap_ok(!cap_knows(im.chip) && !cap_address_mask(im.chip, conv[2]) && !cap_image_outputs(&im, out),
	       "nothing is said of a chip whose registers are not known");
}

/* ---- mutated files ---- */

static uint64_t seed;

static uint64_t rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static void mutate(uint8_t *raw, size_t *size)
{
	static const uint64_t values[] = { 0, 1, 7, 8, 0x7fffffff, 0xffffffff, UINT64_MAX };

	for (uint64_t n = 1 + rnd(4); n; n--) {
		size_t at = sizeof(struct cap_header) + rnd(*size - sizeof(struct cap_header) - 8);

		if (rnd(3))
			memcpy(raw + (at & ~(size_t)3), &values[rnd(7)], rnd(2) ? 4 : 8);
		else if (rnd(8))
			raw[at] ^= (uint8_t)(1 << rnd(8));
		else if (*size > 256)
			*size -= rnd(128);
	}
}

/* A mutation of a content would go no further than its hash. */
static void mend_hashes(uint8_t *raw, size_t size)
{
	for (size_t i = sizeof(struct cap_header); i + 24 <= size;) {
		struct cap_rec r;

		memcpy(&r, raw + i, sizeof(r));
		if (r.size > size - i - sizeof(r))
			return;
		if (r.type == CAP_CONTENT && r.size > 16) {
			uint64_t hash[2];

			cap_hash(raw + i + 24, r.size - 16, hash);
			memcpy(raw + i + sizeof(r), hash, sizeof(hash));
		}
		i += sizeof(r) + ((r.size + UINT64_C(7)) & ~UINT64_C(7));
	}
}

static void test_fuzz(void)
{
	const char *s = getenv("CAP_FUZZ_SECONDS"), *first = getenv("CAP_FUZZ_SEED");
	time_t end = time(NULL) + (s ? atoi(s) : 2);
	unsigned long runs = 0, taken = 0, lines = 0;
	size_t size;
	uint8_t *raw = sample(&size), *copy = malloc(size);

	seed = first ? strtoull(first, NULL, 0) : 88172645463325252u;
	do {
		size_t n = size;
		const char *error;

		memcpy(copy, raw, size);
		mutate(copy, &n);
		mend_hashes(copy, n);
		error = parse(copy, n);
		taken += !*error;
		lines += !!strchr(error, '\n');
		runs++;
	} while (runs % 1000 || time(NULL) < end);
	tap_ok(!lines && taken && taken < runs, "%lu mutated files, %lu of them still right", runs, taken);
	free(raw);
	free(copy);
}

int main(void)
{
	rk3576 = npu_chip_of_soc(3576);
	test_sample();
	test_truncated();
	test_damaged();
	test_lies();
	test_compressed();
	test_limit();
	test_first_version();
	test_programs();
	test_rk3576();
	test_fuzz();
	return tap_done();
}
