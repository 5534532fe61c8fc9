// SPDX-License-Identifier: MIT
/*
 * Makes a changed copy of a capture, not compressed:
 *
 *   cap_edit IN OUT output SUBMIT OFFSET	another byte in what a submit wrote
 *   cap_edit IN OUT set REGISTER BITS		bits set in all commands for a register, which is a
 *						command's first two and last two bytes: 0x10014010
 *   cap_edit IN OUT unwritten			submits write no BO that they name
 *   cap_edit IN OUT hash			another byte in the last content
 *   cap_edit IN OUT version			of another version
 *   cap_edit IN OUT first			of the first version, which names no chip
 *   cap_edit IN OUT name			processes are named with commands for a terminal
 */
#include <stdlib.h>
#include <string.h>

#include "cap.h"

static bool put(FILE *f, const struct cap_event *ev, bool first)
{
	struct cap_put part = { ev->data, first && ev->type == CAP_FILE ? CAP_FILE_V1 : ev->size };

	return cap_write_rec(f, ev->type, &part, 1);
}

/* The event of the content that has these bytes. */
static struct cap_event *content_of(struct cap *cap, const struct cap_event *write)
{
	for (size_t i = 0; i < cap->nevents; i++) {
		struct cap_event *ev = &cap->events[i];

		if (ev->type == CAP_CONTENT &&
		    (const uint8_t *)ev->data + sizeof(struct cap_content) == write->more)
			return ev;
	}
	return NULL;
}

/* Contents are shared; those of results are not, in what the test records. */
static bool change_output(struct cap *cap, size_t submit, uint64_t offset)
{
	size_t n = 0;
	bool inside = false;

	for (size_t i = 0; i < cap->nevents; i++) {
		const struct cap_event *ev = &cap->events[i];
		const struct cap_write *w = ev->data;
		struct cap_event *content;
		struct cap_content *c;
		uint8_t *bytes;

		if (ev->type == CAP_SUBMIT)
			inside = ++n == submit;
		else if (ev->type == CAP_DONE)
			inside = false;
		if (!inside || ev->type != CAP_WRITE || offset < w->offset ||
		    offset - w->offset >= ev->more_size)
			continue;
		content = content_of(cap, ev);
		if (!content)
			return false;
		c = (struct cap_content *)(uintptr_t)content->data;
		bytes = (uint8_t *)(c + 1);
		bytes[offset - w->offset] ^= 0x20;
		cap_hash(bytes, content->size - sizeof(*c), c->hash);
		return true;
	}
	return false;
}

/* Whether there is such a command. */
static bool set_bits(struct cap *cap, uint32_t reg, uint32_t bits)
{
	bool found = false;

	for (size_t i = 0; i < cap->nevents; i++) {
		const struct cap_event *ev = &cap->events[i];
		struct cap_content *c = (struct cap_content *)(uintptr_t)ev->data;
		uint8_t *bytes = (uint8_t *)(c + 1);
		uint64_t cmd;

		if (ev->type != CAP_CONTENT)
			continue;
		for (size_t at = 0; at + sizeof(cmd) <= ev->size - sizeof(*c); at += sizeof(cmd)) {
			memcpy(&cmd, bytes + at, sizeof(cmd));
			if ((CAP_ENTRY_TARGET(cmd) << 16 | CAP_ENTRY_REG(cmd)) != reg)
				continue;
			cmd |= (uint64_t)bits << 16;
			memcpy(bytes + at, &cmd, sizeof(cmd));
			found = true;
		}
		cap_hash(bytes, ev->size - sizeof(*c), c->hash);
	}
	return found;
}

static void take_writes(struct cap *cap)
{
	for (size_t i = 0; i < cap->nevents; i++) {
		struct cap_submit *s = (struct cap_submit *)(uintptr_t)cap->events[i].data;
		struct cap_use *use = (struct cap_use *)(s + 1);

		for (uint32_t k = 0; cap->events[i].type == CAP_SUBMIT && k < s->uses; k++)
			use[k].use = CAP_USE_READ;
	}
}

static void spoil_hash(struct cap *cap)
{
	for (size_t i = cap->nevents; i-- > 0;) {
		if (cap->events[i].type == CAP_CONTENT) {
			((struct cap_content *)(uintptr_t)cap->events[i].data)->hash[1] ^= 1;
			return;
		}
	}
}

static void spoil_names(struct cap *cap)
{
	for (size_t i = 0; i < cap->nevents; i++)
		if (cap->events[i].type == CAP_PROCESS)
			strcpy(((struct cap_process *)(uintptr_t)cap->events[i].data)->name, "\033[2Jx\233");
}

int main(int argc, char **argv)
{
	struct cap cap;
	bool first = argc > 3 && !strcmp(argv[3], "first");
	bool ok = true;
	FILE *f;

	if (argc < 4 || cap_read(&cap, argv[1], CAP_READ_MAX)) {
		fprintf(stderr, "cap_edit: %s\n", argc < 4 ? "usage" : cap.error);
		return 2;
	}
	if (!strcmp(argv[3], "output") && argc == 6)
		ok = change_output(&cap, strtoul(argv[4], NULL, 0), strtoull(argv[5], NULL, 0));
	else if (!strcmp(argv[3], "set") && argc == 6)
		ok = set_bits(&cap, (uint32_t)strtoul(argv[4], NULL, 0),
			      (uint32_t)strtoul(argv[5], NULL, 0));
	else if (!strcmp(argv[3], "unwritten"))
		take_writes(&cap);
	else if (!strcmp(argv[3], "hash"))
		spoil_hash(&cap);
	else if (!strcmp(argv[3], "name"))
		spoil_names(&cap);
	f = fopen(argv[2], "wb");
	ok = ok && f && cap_write_header(f);
	for (size_t i = 0; ok && i < cap.nevents; i++)
		ok = put(f, &cap.events[i], first);
	if (ok && (first || !strcmp(argv[3], "version"))) {
		fseek(f, 8, SEEK_SET);
		ok = fputc(first ? 1 : CAP_VERSION + 1, f) != EOF;
	}
	if (f && fclose(f))
		ok = false;
	cap_free(&cap);
	if (!ok)
		fprintf(stderr, "cap_edit: cannot make %s\n", argv[2]);
	return !ok;
}
