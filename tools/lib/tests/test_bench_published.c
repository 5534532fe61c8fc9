// SPDX-License-Identifier: MIT
/*
 * What npu-bench says of other people's figures: each with who published it, in both forms.
 */
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "../bench/bench_published.c"

static char *text_of(void (*put)(FILE *f))
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	put(f);
	fclose(f);
	return text;
}

static unsigned int count(const char *text, const char *word)
{
	unsigned int n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

/* A line of the table that has all of it. */
static bool has_row(const char *text, const struct bench_published *p)
{
	char figure[32], *copy = strdup(text), *rest = copy, *line;
	bool found = false;

	snprintf(figure, sizeof(figure), " %g %s", p->figure, p->unit);
	while ((line = strsep(&rest, "\n")))
		found |= !strncmp(line, p->type, strlen(p->type)) && strstr(line, p->shape) &&
			 strstr(line, figure) && strstr(line, p->author) && strstr(line, p->with);
	free(copy);
	return found;
}

int main(void)
{
	char *text = text_of(bench_published_text), *json = text_of(bench_published_json);
	const struct bench_published *p;
	uint32_t n, nameless = 0, missing = 0;

	p = bench_published(&n);
	for (uint32_t i = 0; i < n; i++) {
		nameless += !*p[i].author || !*p[i].with || !*p[i].unit || p[i].figure <= 0;
		missing += !has_row(text, &p[i]);
	}
	tap_ok(n && !nameless, "each of %u figures has an author, a library and a unit: %u have not", n, nameless);
	tap_ok(!missing, "the table has a row for each: %u missing", missing);
	tap_ok(strstr(text, "not measured here"), "the table says whose they are");
	tap_ok(count(json, "\"author\": ") == n && count(json, "\"figure\": ") == n &&
	       count(json, "{") == n && count(json, "}") == n, "so has the JSON");
	free(text);
	free(json);
	return tap_done();
}
