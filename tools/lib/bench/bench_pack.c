// SPDX-License-Identifier: MIT
/*
 * Packing of weights against memcpy() of the same bytes: in time, and where something counts them in
 * instructions. The library's code beside the same in plain C.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "tensor/npu_compute.h"

/* npu_pack.c without vectors, see tools/lib/Makefile. */
void npu_pack_matrix_plain(void *dst, const void *src, size_t ld, bool is_kn, size_t bpe, size_t group,
			   size_t n, size_t k, size_t n_pad, size_t k_pad);

struct job {
	struct bench_packing *p;
	void *dst, *src;
	size_t side, bpe;
	int counter;
};

/* Of this process in user space; QEMU has it under -icount only. */
static int open_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1, .exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static uint64_t instructions(const struct job *j)
{
	uint64_t v = 0;

	return j->counter >= 0 && read(j->counter, &v, sizeof(v)) == sizeof(v) ? v : 0;
}

static void keep_least(uint64_t *least, uint64_t v)
{
	if (!*least || v < *least)
		*least = v;
}

static void pack(const struct job *j)
{
	(j->p->plain ? npu_pack_matrix_plain : npu_pack_matrix)(j->dst, j->src, j->side, j->p->is_kn, j->bpe,
								32 / j->bpe, j->side, j->side, j->side, j->side);
}

static void measure(const struct job *j, uint32_t repeat)
{
	struct bench_packing *p = j->p;

	for (uint32_t i = 0; i < repeat; i++) {
		uint64_t t[3], c[3];

		t[0] = bench_now();
		c[0] = instructions(j);
		pack(j);
		c[1] = instructions(j);
		t[1] = bench_now();
		keep_least(&p->ns, t[1] - t[0]);
		keep_least(&p->instructions, c[1] - c[0]);

		t[1] = bench_now();
		c[1] = instructions(j);
		memcpy(j->dst, j->src, p->bytes);
		/* Or the compiler leaves it out. */
		__asm__ volatile("" : : "r"(j->dst) : "memory");
		c[2] = instructions(j);
		t[2] = bench_now();
		keep_least(&p->memcpy_ns, t[2] - t[1]);
		keep_least(&p->memcpy_instructions, c[2] - c[1]);
	}
}

void bench_packings(const struct bench_opts *o, struct bench_packing packing[BENCH_PACKINGS])
{
	size_t side = o->tiny ? 512 : 2048;
	struct job j = {
		.side = side, .counter = open_counter(),
		.dst = bench_alloc(side * side, 2), .src = bench_alloc(side * side, 2),
	};

	memset(j.dst, 1, side * side * 2);
	memset(j.src, 1, side * side * 2);
	for (uint32_t i = 0; i < BENCH_PACKINGS; i++) {
		j.p = &packing[i];
		*j.p = (struct bench_packing){
			.type = i & 4 ? NPU_PREC_FP16 : NPU_PREC_INT8, .is_kn = i & 2, .plain = i & 1,
		};
		j.bpe = i & 4 ? 2 : 1;
		j.p->bytes = side * side * j.bpe;
		/* Once more, so that nothing is new to the caches. */
		measure(&j, o->repeat + 1);
	}
	if (j.counter >= 0)
		close(j.counter);
	free(j.dst);
	free(j.src);
}
