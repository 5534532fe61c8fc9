// SPDX-License-Identifier: MIT
/*
 * What others published of this NPU, to be read beside what was measured: boards, clocks and
 * libraries are theirs, and nothing of it was measured here.
 */
#include "bench.h"

static const struct bench_published published[] = {
	{ "int8", "512x3840x4096", 3, 600, 386, "GOP/s", "gregordinary", "rocket-userspace, mainline's interface" },
	{ "fp16", "512x3840x4096", 3, 600, 461, "GOP/s", "gregordinary", "rocket-userspace, mainline's interface" },
	{ "int4", "512x3840x4096", 3, 600, 413, "GOP/s", "gregordinary", "rocket-userspace, mainline's interface" },
	{ "int8", "best of many", 0, 0, 1800, "GOP/s", "Martin Chang", "Rockchip's matmul API" },
	{ "fp16", "best of many", 0, 0, 900, "GOP/s", "Martin Chang", "Rockchip's matmul API" },
	{ "int4", "best of many", 0, 0, 4000, "GOP/s", "Martin Chang", "Rockchip's matmul API" },
	{ "fp16", "one row", 0, 0, 11, "GOP/s", "Martin Chang", "Rockchip's matmul API" },
	{ "fp16", "attention, 1x4096", 1, 0, 1.79, "ms", "happyme531", "rknpu2_matmul_open" },
	{ "fp16", "attention, 1x4096", 2, 0, 0.94, "ms", "happyme531", "rknpu2_matmul_open" },
	{ "fp16", "attention, 1x4096", 3, 0, 0.76, "ms", "happyme531", "rknpu2_matmul_open" },
};

const struct bench_published *bench_published(uint32_t *n)
{
	*n = sizeof(published) / sizeof(published[0]);
	return published;
}

static void put_known(FILE *f, uint32_t v)
{
	if (v)
		fprintf(f, " %5u", v);
	else
		fprintf(f, " %5s", "-");
}

void bench_published_text(FILE *f)
{
	fprintf(f, "\nPublished by others, of their boards; not measured here\n");
	fprintf(f, "%-5s %-18s %5s %5s %9s %-6s %s\n", "type", "shape", "cores", "MHz", "figure", "unit", "by, with");
	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		const struct bench_published *p = &published[i];

		fprintf(f, "%-5s %-18s", p->type, p->shape);
		put_known(f, p->cores);
		put_known(f, p->mhz);
		fprintf(f, " %9g %-6s %s, %s\n", p->figure, p->unit, p->author, p->with);
	}
}

static void json_known(FILE *f, const char *name, uint32_t v)
{
	if (v)
		fprintf(f, "\"%s\": %u, ", name, v);
	else
		fprintf(f, "\"%s\": null, ", name);
}

void bench_published_json(FILE *f)
{
	fprintf(f, ",\n\"published\": [");
	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		const struct bench_published *p = &published[i];

		fprintf(f, "%s\n{\"type\": \"%s\", \"shape\": \"%s\", ", i ? "," : "", p->type, p->shape);
		json_known(f, "cores", p->cores);
		json_known(f, "mhz", p->mhz);
		fprintf(f, "\"figure\": %g, \"unit\": \"%s\", \"author\": \"%s\", \"with\": \"%s\"}", p->figure, p->unit,
			p->author, p->with);
	}
	fprintf(f, "]");
}
