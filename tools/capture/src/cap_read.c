// SPDX-License-Identifier: MIT
/*
 * Reads a capture file, and refuses it with one line unless all of it makes sense.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "cap.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are read as they lie");

/* Numbers of errors end there (linux/err.h). */
#define MAX_ERRNO	4095

/* A BO while the file is checked. */
struct live {
	uint64_t size;
	bool gone;
};

struct content {
	const uint8_t *data;
	uint32_t size;
};

struct reader {
	struct cap *cap;
	const char *name;
	size_t at;
	size_t event;		/* number of the record, for messages */
	struct live *bo;
	uint32_t nbos;
	struct content *content;
	uint32_t ncontents;
	uint32_t nfiles;
	uint64_t memory;
	bool in_process;
	struct cap_event *submit;	/* the open one */
	size_t submit_index;
	bool eof;
};

static int __attribute__((format(printf, 2, 3))) bad(struct reader *r, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(r->cap->error, sizeof(r->cap->error), "%s: record %zu at byte %zu: %s", r->name,
		 r->event, r->at, text);
	return -1;
}

/* Room for one more, in steps that double. */
static void *grow(void *array, size_t n, size_t size)
{
	if (n & (n - 1))
		return array;
	return realloc(array, (n ? n * 2 : 1) * size);
}

static int check_range(struct reader *r, uint32_t bo, uint64_t offset, uint64_t size)
{
	if (bo >= r->nbos || r->bo[bo].gone)
		return bad(r, "there is no BO %u", bo);
	if (size > r->bo[bo].size || offset > r->bo[bo].size - size)
		return bad(r, "offset %" PRIu64 " is not inside BO %u", offset, bo);
	return 0;
}

static void new_process(struct reader *r)
{
	r->nbos = 0;
	r->ncontents = 0;
	r->nfiles = 0;
	r->memory = 0;
	r->in_process = true;
}

static int read_content(struct reader *r, const struct cap_event *ev)
{
	const struct cap_content *c = ev->data;
	uint32_t size = ev->size - sizeof(*c);
	struct content *grown;
	uint64_t hash[2];

	if (!size || size > CAP_CONTENT_MAX)
		return bad(r, "a content of %u bytes", size);
	cap_hash(c + 1, size, hash);
	if (memcmp(hash, c->hash, sizeof(hash)))
		return bad(r, "content %u does not match its hash: the file is damaged",
			   r->ncontents);
	grown = grow(r->content, r->ncontents, sizeof(*grown));
	if (!grown)
		return bad(r, "out of memory");
	r->content = grown;
	r->content[r->ncontents++] = (struct content) { (const uint8_t *)(c + 1), size };
	return 0;
}

static int read_bo(struct reader *r, const struct cap_event *ev)
{
	const struct cap_bo *b = ev->data;
	struct live *grown;

	if (b->file >= r->nfiles)
		return bad(r, "there is no file %u", b->file);
	if (!b->size || b->size > CAP_MEMORY_MAX - r->memory)
		return bad(r, "a BO of %" PRIu64 " bytes, beside %" PRIu64, b->size, r->memory);
	grown = grow(r->bo, r->nbos, sizeof(*grown));
	if (!grown)
		return bad(r, "out of memory");
	r->bo = grown;
	r->bo[r->nbos++] = (struct live) { .size = b->size };
	r->memory += b->size;
	return 0;
}

static int read_gone(struct reader *r, const struct cap_event *ev)
{
	const struct cap_bo_gone *g = ev->data;

	if (r->submit)
		return bad(r, "a BO goes in the middle of a submit");
	if (check_range(r, g->bo, 0, 0))
		return -1;
	r->bo[g->bo].gone = true;
	r->memory -= r->bo[g->bo].size;
	return 0;
}

static int read_write(struct reader *r, struct cap_event *ev)
{
	const struct cap_write *w = ev->data;

	if (w->content >= r->ncontents)
		return bad(r, "there is no content %u", w->content);
	ev->more = r->content[w->content].data;
	ev->more_size = r->content[w->content].size;
	return check_range(r, w->bo, w->offset, ev->more_size);
}

static int read_reloc(struct reader *r, const struct cap_event *ev)
{
	const struct cap_reloc *l = ev->data;

	if (l->offset % 8)
		return bad(r, "a register command at offset %" PRIu64, l->offset);
	if (check_range(r, l->bo, l->offset, 8))
		return -1;
	return check_range(r, l->target, l->target_offset, 1);
}

/* Takes bytes of a submit, of which *left are there. */
static const void *take(const uint8_t **at, size_t *left, uint64_t size)
{
	const void *p = *at;

	if (size > *left)
		return NULL;
	*at += size;
	*left -= size;
	return p;
}

static int read_tasks(struct reader *r, const struct cap_task *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!t[i].entries || t[i].offset % 8)
			return bad(r, "a program of %u commands at offset %" PRIu64, t[i].entries,
				   t[i].offset);
		if (check_range(r, t[i].bo, t[i].offset, t[i].entries * UINT64_C(8)))
			return -1;
	}
	return 0;
}

static int read_job(struct reader *r, const uint8_t **at, size_t *left)
{
	const struct cap_job *job = take(at, left, sizeof(*job));

	if (!job)
		return bad(r, "a submit that is too short");
	if (!job->slices || job->slices > CAP_SLICES_MAX)
		return bad(r, "a job of %u slices", job->slices);
	for (uint32_t s = 0; s < job->slices; s++) {
		const struct cap_slice *sl = take(at, left, sizeof(*sl));
		const struct cap_task *t;

		if (!sl || !sl->tasks)
			return bad(r, "a slice without tasks");
		t = take(at, left, sl->tasks * (uint64_t)sizeof(*t));
		if (!t)
			return bad(r, "a submit that is too short");
		if (read_tasks(r, t, sl->tasks))
			return -1;
	}
	return 0;
}

static int read_submit(struct reader *r, struct cap_event *ev)
{
	const struct cap_submit *s = ev->data;
	const uint8_t *at = (const uint8_t *)(s + 1);
	size_t left = ev->size - sizeof(*s);
	const struct cap_use *use;

	if (r->submit)
		return bad(r, "a submit in the middle of another");
	if (s->file >= r->nfiles)
		return bad(r, "there is no file %u", s->file);
	use = take(&at, &left, s->uses * (uint64_t)sizeof(*use));
	if (!use || !s->jobs)
		return bad(r, "a submit that is too short");
	for (uint32_t i = 0; i < s->uses; i++) {
		if (check_range(r, use[i].bo, 0, 0))
			return -1;
	}
	for (uint32_t j = 0; j < s->jobs; j++) {
		if (read_job(r, &at, &left))
			return -1;
	}
	if (left)
		return bad(r, "%zu bytes behind a submit", left);
	r->submit_index = r->cap->nevents - 1;
	r->submit = ev;
	r->cap->nsubmits++;
	return 0;
}

static int read_done(struct reader *r, const struct cap_event *ev)
{
	const struct cap_done *done = ev->data;

	if (!r->submit)
		return bad(r, "the end of a submit that did not begin");
	if (done->status > 0 || done->status < -MAX_ERRNO)
		return bad(r, "a submit that ended with status %d", done->status);
	r->cap->events[r->submit_index].more = ev->data;
	r->cap->events[r->submit_index].more_size = ev->size;
	r->submit = NULL;
	return 0;
}

static const uint32_t sizes[] = {
	[CAP_PROCESS] = sizeof(struct cap_process), [CAP_FILE] = sizeof(struct cap_file),
	[CAP_CONTENT] = sizeof(struct cap_content), [CAP_BO] = sizeof(struct cap_bo),
	[CAP_BO_GONE] = sizeof(struct cap_bo_gone), [CAP_WRITE] = sizeof(struct cap_write),
	[CAP_RELOC] = sizeof(struct cap_reloc), [CAP_SUBMIT] = sizeof(struct cap_submit),
	[CAP_DONE] = sizeof(struct cap_done), [CAP_END] = sizeof(struct cap_end),
	[CAP_EOF] = 0,
};

static uint32_t size_of(const struct reader *r, uint32_t type)
{
	const struct cap_header *h = (const void *)r->cap->raw;

	return type == CAP_FILE && h->version == 1 ? CAP_FILE_V1 : sizes[type];
}

static int check_size(struct reader *r, const struct cap_rec *rec)
{
	bool longer = rec->type == CAP_CONTENT || rec->type == CAP_SUBMIT;

	if (!rec->type || rec->type >= sizeof(sizes) / sizeof(sizes[0]))
		return bad(r, "type %u is unknown", rec->type);
	if (longer ? rec->size < sizes[rec->type] : rec->size != size_of(r, rec->type))
		return bad(r, "type %u with %u bytes", rec->type, rec->size);
	if (!r->in_process && rec->type != CAP_PROCESS && rec->type != CAP_EOF)
		return bad(r, "type %u outside of a process", rec->type);
	if (r->in_process && (rec->type == CAP_PROCESS || rec->type == CAP_EOF))
		return bad(r, "type %u inside of a process", rec->type);
	return 0;
}

static int read_event(struct reader *r, struct cap_event *ev)
{
	switch (ev->type) {
	case CAP_PROCESS:
		new_process(r);
		return 0;
	case CAP_FILE:
		r->nfiles++;
		return 0;
	case CAP_CONTENT:
		return read_content(r, ev);
	case CAP_BO:
		return read_bo(r, ev);
	case CAP_BO_GONE:
		return read_gone(r, ev);
	case CAP_WRITE:
		return read_write(r, ev);
	case CAP_RELOC:
		return read_reloc(r, ev);
	case CAP_SUBMIT:
		return read_submit(r, ev);
	case CAP_DONE:
		return read_done(r, ev);
	case CAP_END:
		if (r->submit)
			return bad(r, "the process ends in the middle of a submit");
		r->in_process = false;
		return 0;
	default:
		r->eof = true;
		return 0;
	}
}

static int read_record(struct reader *r)
{
	struct cap *cap = r->cap;
	size_t left = cap->raw_size - r->at, padded;
	const struct cap_rec *rec = (const void *)(cap->raw + r->at);
	struct cap_event *grown;

	if (r->eof)
		return bad(r, "%zu bytes behind the end", left);
	if (left < sizeof(*rec))
		return bad(r, "the file is truncated");
	if (check_size(r, rec))
		return -1;
	padded = ((size_t)rec->size + 7) & ~(size_t)7;
	if (padded < rec->size || padded > left - sizeof(*rec))
		return bad(r, "the file is truncated");
	grown = grow(cap->events, cap->nevents, sizeof(*grown));
	if (!grown)
		return bad(r, "out of memory");
	cap->events = grown;
	cap->events[cap->nevents] = (struct cap_event) {
		.type = rec->type, .size = rec->size, .data = rec + 1,
	};
	cap->nevents++;
	if (read_event(r, &cap->events[cap->nevents - 1]))
		return -1;
	r->at += sizeof(*rec) + padded;
	r->event++;
	return 0;
}

static int read_header(struct reader *r)
{
	const struct cap_header *h = (const void *)r->cap->raw;

	if (r->cap->raw_size < sizeof(*h) || memcmp(h->magic, CAP_MAGIC, sizeof(h->magic))) {
		snprintf(r->cap->error, sizeof(r->cap->error), "%s: this is no capture file",
			 r->name);
		return -1;
	}
	if (!h->version || h->version > CAP_VERSION) {
		snprintf(r->cap->error, sizeof(r->cap->error),
			 "%s: a capture file of version %u, where 1 to %u are known", r->name, h->version,
			 CAP_VERSION);
		return -1;
	}
	r->at = sizeof(*h);
	return 0;
}

int cap_parse(struct cap *cap, const char *name, uint8_t *raw, size_t size)
{
	struct reader r = { .cap = cap, .name = name };
	int ret;

	memset(cap, 0, sizeof(*cap));
	cap->raw = raw;
	cap->raw_size = size;
	ret = read_header(&r);
	while (!ret && r.at < size)
		ret = read_record(&r);
	if (!ret && !r.eof)
		ret = bad(&r, "the file is truncated");
	free(r.bo);
	free(r.content);
	return ret;
}

/* All bytes of a file, compressed or not. */
static int slurp(struct cap *cap, const char *path, gzFile f, uint64_t max, uint8_t **raw, size_t *size)
{
	size_t room = 0;
	const char *why;
	int got, err;

	do {
		if (room - *size < CAP_CONTENT_MAX) {
			uint8_t *grown = realloc(*raw, room = room * 2 + 4 * CAP_CONTENT_MAX);

			if (!grown) {
				snprintf(cap->error, sizeof(cap->error), "%s: out of memory", path);
				return -1;
			}
			*raw = grown;
		}
		got = gzread(f, *raw + *size, CAP_CONTENT_MAX);
		*size += got > 0 ? (size_t)got : 0;
	} while (got > 0 && *size <= max);
	if (*size > max) {
		snprintf(cap->error, sizeof(cap->error), "%s: more than %" PRIu64 " MiB, unpacked", path, max >> 20);
		return -1;
	}
	why = gzerror(f, &err);
	if (err == Z_OK)
		return 0;
	snprintf(cap->error, sizeof(cap->error), "%s: the file is %s (%s)", path,
		 err == Z_BUF_ERROR ? "truncated" : "damaged", why);
	return -1;
}

int cap_read(struct cap *cap, const char *path, uint64_t max)
{
	uint8_t *raw = NULL;
	size_t size = 0;
	gzFile f = gzopen(path, "rb");
	int ret;

	memset(cap, 0, sizeof(*cap));
	if (!f) {
		snprintf(cap->error, sizeof(cap->error), "%s: %s", path, strerror(errno));
		return -1;
	}
	ret = slurp(cap, path, f, max, &raw, &size);
	gzclose(f);
	if (ret) {
		free(raw);
		return ret;
	}
	return cap_parse(cap, path, raw, size);
}

void cap_free(struct cap *cap)
{
	free(cap->raw);
	free(cap->events);
	cap->raw = NULL;
	cap->events = NULL;
}

uint32_t cap_file_soc(const struct cap_event *ev)
{
	const struct cap_file *f = ev->data;

	return ev->size < sizeof(*f) ? CAP_SOC_V1 : f->soc;
}

/* ---- inside a submit ---- */

const struct cap_submit *cap_submit_begin(const struct cap_event *ev, struct cap_cursor *c)
{
	const struct cap_submit *s = ev->data;

	c->at = (const uint8_t *)(s + 1);
	return s;
}

const struct cap_use *cap_submit_uses(struct cap_cursor *c, uint32_t n)
{
	const struct cap_use *use = (const void *)c->at;

	c->at += n * sizeof(*use);
	return use;
}

const struct cap_job *cap_submit_job(struct cap_cursor *c)
{
	const struct cap_job *job = (const void *)c->at;

	c->at += sizeof(*job);
	return job;
}

const struct cap_slice *cap_submit_slice(struct cap_cursor *c, const struct cap_task **tasks)
{
	const struct cap_slice *s = (const void *)c->at;

	*tasks = (const void *)(s + 1);
	c->at += sizeof(*s) + s->tasks * sizeof(**tasks);
	return s;
}
