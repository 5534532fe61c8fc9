// SPDX-License-Identifier: GPL-2.0-only
/*
 * What attention by libnpu costs: rknpu_attention TOKENS HEADS KV_HEADS DIM [OF_HEADS] prints a line
 * of values for each way to do it. With OF_HEADS the heads stand for so many: what a head costs does not
 * depend on how many there are. Instructions mean something under QEMU's -icount only.
 *
 * tool of: make bench-attention
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "npu.h"
#include "rknpu_ioctls.h"
#include "rknpu_util.h"

#define CORES		3
#define CHECKED		3

struct shape {
	uint32_t tokens, heads, kv_heads, dim;
	uint32_t of_heads;		/* that these stand for */
};

struct data {
	struct npu_dev *dev;
	struct shape s;
	float *q, *k, *v, *y;
	struct npu_tensor *tq, *tk, *tv, *ty;
	struct npu_rec *rec;		/* to be run again */
};

/* ---- what it costs ---- */

struct cost {
	uint64_t kicks, tasks, irqs, ioctls, instructions, cpu_bytes, npu_bytes, cycles[CORES];
};

static int perf_fd = -1;

static void open_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
	};

	if (getenv("RKNPU_ICOUNT"))
		perf_fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static uint64_t instructions(void)
{
	uint64_t v = 0;

	return perf_fd >= 0 && read(perf_fd, &v, sizeof(v)) == sizeof(v) ? v : 0;
}

static struct cost now(const struct data *d)
{
	struct cost c = {
		.kicks = rk_count_all_jobs(NPU_CNT_KICK), .irqs = rk_count_all(NPU_CNT_IRQ),
		.tasks = rk_count_all_jobs(NPU_CNT_TASK_DONE), .ioctls = ioctls,
		.instructions = instructions(),
		.npu_bytes = rk_count_all(NPU_CNT_DMA_READ_BYTES),
	};
	struct npu_stats s = { .size = sizeof(s) };

	c.npu_bytes += rk_count_all(NPU_CNT_DMA_WRITE_BYTES);
	npu_stats(d->dev, &s);
	c.cpu_bytes = s.packed + s.unpacked + s.weights + s.programmed;
	for (unsigned int i = 0; i < CORES; i++)
		c.cycles[i] = rk_count(i, NPU_CNT_BUSY_CYCLES);
	return c;
}

/* ---- what is right ---- */

static double row_error(const struct data *d, uint32_t row, uint32_t head)
{
	const struct shape *s = &d->s;
	uint32_t kv = head / (s->heads / s->kv_heads), pitch = s->kv_heads * s->dim;
	const float *q = d->q + (size_t)row * s->heads * s->dim + head * s->dim;
	const float *y = d->y + (size_t)row * s->heads * s->dim + head * s->dim;
	double *p = malloc(s->tokens * sizeof(*p)), most = -INFINITY, sum = 0, off = 0;

	for (uint32_t t = 0; t <= row; t++) {
		p[t] = 0;
		for (uint32_t i = 0; i < s->dim; i++)
			p[t] += (double)q[i] * d->k[(size_t)t * pitch + kv * s->dim + i];
		most = fmax(most, p[t]);
	}
	for (uint32_t t = 0; t <= row; t++) {
		p[t] = exp((p[t] - most) / sqrt(s->dim));
		sum += p[t];
	}
	for (uint32_t i = 0; i < s->dim; i++) {
		double want = 0;

		for (uint32_t t = 0; t <= row; t++)
			want += p[t] / sum * d->v[(size_t)t * pitch + kv * s->dim + i];
		off = fmax(off, isnan(y[i]) ? INFINITY : fabs(y[i] - want));
	}
	free(p);
	return off;
}

static double error_of(const struct data *d)
{
	const uint32_t rows[CHECKED] = { 1, d->s.tokens / 2, d->s.tokens - 1 };
	double off = 0;

	for (int i = 0; i < CHECKED; i++)
		for (uint32_t head = 0; head < d->s.heads; head += (d->s.heads + 3) / 4)
			off = fmax(off, row_error(d, rows[i], head));
	return off;
}

/* ---- ways to do it ---- */

static int run(struct npu_rec *rec, int ret)
{
	ret = ret ?: npu_rec_end(rec);
	ret = ret ?: npu_rec_run(rec);
	return ret ?: npu_rec_wait(rec, -1);
}

/* Timeouts are for a board; what the model computes for long it does within them. */
static struct npu_rec *recording(const struct data *d, uint32_t cores)
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
	struct npu_rec *rec = NULL;

	npu_rec_new(d->dev, &o, &rec);
	return rec;
}

static int write_operands(const struct data *d)
{
	int ret = npu_tensor_write_f32(d->tq, d->q, 0, 1);

	ret = ret ?: npu_tensor_write_f32(d->tk, d->k, 0, 1);
	return ret ?: npu_tensor_write_f32(d->tv, d->v, 0, 1);
}

static int run_fused(struct data *d)
{
	int ret = write_operands(d);

	ret = ret ?: npu_rec_run(d->rec);
	ret = ret ?: npu_rec_wait(d->rec, -1);
	return ret ?: npu_tensor_read_f32(d->ty, d->y, 0, 1);
}

static int fused(struct data *d, uint32_t cores)
{
	struct npu_attention_opts o = {
		.size = sizeof(o),
		.heads = d->s.heads, .kv_heads = d->s.kv_heads, .causal = true,
	};
	int ret;

	npu_rec_free(d->rec);
	d->rec = recording(d, cores);
	if (!d->rec)
		return -ENOMEM;
	ret = npu_rec_attention(d->rec, d->tq, d->tk, d->tv, d->ty, &o);
	ret = ret ?: npu_rec_end(d->rec);
	if (ret)
		fprintf(stderr, "%s\n", npu_rec_message(d->rec));
	return ret ?: run_fused(d);
}

/* What is between the three submissions of a head. */
struct head {
	struct npu_tensor *q, *y, *score, *share;
	struct npu_weights *keys, *values;
	uint16_t *half;
};

static struct npu_weights *pack(const struct data *d, uint16_t *half, const float *v, uint32_t kv,
				bool is_kn)
{
	struct npu_weights_desc w = {
		.size = sizeof(w),
		.type = NPU_PREC_FP16, .is_kn = is_kn, .n = is_kn ? d->s.dim : d->s.tokens,
		.k = is_kn ? d->s.tokens : d->s.dim,
	};
	struct npu_weights *out = NULL;

	for (uint32_t t = 0; t < d->s.tokens; t++)
		for (uint32_t i = 0; i < d->s.dim; i++)
			half[t * d->s.dim + i] =
				npu_f32_to_f16(v[((size_t)t * d->s.kv_heads + kv) * d->s.dim + i]);
	return npu_weights_new(d->dev, &w, half, &out) ? NULL : out;
}

static int product(const struct data *d, struct npu_tensor *x, struct npu_weights *w,
		   struct npu_tensor *y)
{
	struct npu_rec *rec = recording(d, 1);
	int ret = rec ? run(rec, npu_rec_matmul(rec, x, w, y, NULL)) : -ENOMEM;

	npu_rec_free(rec);
	return ret;
}

static int npu_share(const struct data *d, struct head *h)
{
	struct npu_softmax_opts o = { .size = sizeof(o), .scale = 1 / sqrtf(d->s.dim), .causal = true };
	struct npu_rec *rec = recording(d, 1);
	int ret = rec ? run(rec, npu_rec_softmax(rec, h->score, h->share, &o)) : -ENOMEM;

	npu_rec_free(rec);
	return ret;
}

static int host_share(const struct data *d, struct head *h)
{
	uint32_t n = d->s.tokens;
	float *v = malloc((size_t)n * n * sizeof(*v)), scale = 1 / sqrtf(d->s.dim);
	int ret = v ? npu_tensor_read_f32(h->score, v, 0, 1) : -ENOMEM;

	for (uint32_t r = 0; r < n && !ret; r++) {
		float *row = v + (size_t)r * n, most = -INFINITY, sum = 0;

		for (uint32_t t = 0; t <= r; t++)
			most = fmaxf(most, row[t]);
		for (uint32_t t = 0; t < n; t++) {
			row[t] = t <= r ? expf((row[t] - most) * scale) : 0;
			sum += row[t];
		}
		for (uint32_t t = 0; t <= r; t++)
			row[t] /= sum;
	}
	ret = ret ?: npu_tensor_write_f32(h->share, v, 0, 1);
	free(v);
	return ret;
}

static int one_head(struct data *d, struct head *h, uint32_t head, bool on_npu)
{
	uint32_t kv = head / (d->s.heads / d->s.kv_heads);
	int ret;

	h->keys = pack(d, h->half, d->k, kv, false);
	h->values = pack(d, h->half, d->v, kv, true);
	ret = h->keys && h->values ? 0 : -ENOMEM;
	ret = ret ?: npu_tensor_view(d->tq, 0, d->s.tokens, head * d->s.dim, d->s.dim, &h->q);
	ret = ret ?: npu_tensor_view(d->ty, 0, d->s.tokens, head * d->s.dim, d->s.dim, &h->y);
	ret = ret ?: product(d, h->q, h->keys, h->score);
	ret = ret ?: (on_npu ? npu_share(d, h) : host_share(d, h));
	ret = ret ?: product(d, h->share, h->values, h->y);
	npu_tensor_free(h->q);
	npu_tensor_free(h->y);
	npu_weights_free(h->keys);
	npu_weights_free(h->values);
	h->q = NULL;
	h->y = NULL;
	return ret;
}

static int apart(struct data *d, bool on_npu)
{
	uint32_t n = d->s.tokens;
	struct head h = { .half = malloc((size_t)n * d->s.dim * sizeof(uint16_t)) };
	int ret = npu_tensor_write_f32(d->tq, d->q, 0, 1);

	ret = ret ?: npu_tensor_new(d->dev, NPU_PREC_FP16, n, n, &h.score);
	ret = ret ?: npu_tensor_new(d->dev, NPU_PREC_FP16, n, n, &h.share);
	for (uint32_t i = 0; i < d->s.heads && !ret; i++)
		ret = one_head(d, &h, i, on_npu);
	npu_tensor_free(h.score);
	npu_tensor_free(h.share);
	free(h.half);
	return ret ?: npu_tensor_read_f32(d->ty, d->y, 0, 1);
}

static int fused_one(struct data *d)
{
	return fused(d, 1);
}

static int fused_three(struct data *d)
{
	return fused(d, CORES);
}

static int apart_npu(struct data *d)
{
	return apart(d, true);
}

static int apart_host(struct data *d)
{
	return apart(d, false);
}

static const struct way {
	const char *name;
	int (*run)(struct data *d);
} ways[] = {
	{ "fused, 1 core", fused_one },
	{ "fused, 1 core, again", run_fused },
	{ "fused, 3 cores", fused_three },
	{ "fused, 3 cores, again", run_fused },
	{ "three submits per head", apart_npu },
	{ "three, softmax on the host", apart_host },
};

static void print_shape(const struct shape *s, const char *name)
{
	printf("attention\t%u\t%u\t%u\t%u\t%u\t%s\t", s->tokens, s->heads, s->kv_heads, s->dim, s->of_heads,
	       name);
}

static void print_row(const struct data *d, const char *name, const struct cost *a,
		      const struct cost *b)
{
	uint64_t sum = 0, most = 0;

	for (int i = 0; i < CORES; i++) {
		uint64_t c = b->cycles[i] - a->cycles[i];

		sum += c;
		most = c > most ? c : most;
	}
	print_shape(&d->s, name);
	printf("%llu\t%llu\t%llu\t%llu\t", (unsigned long long)(b->kicks - a->kicks),
	       (unsigned long long)(b->tasks - a->tasks), (unsigned long long)(b->irqs - a->irqs),
	       (unsigned long long)(b->ioctls - a->ioctls));
	if (perf_fd >= 0)
		printf("%llu", (unsigned long long)(b->instructions - a->instructions));
	else
		printf("-");
	printf("\t%llu\t%llu\t%llu\t%llu\t%.2e\n",
	       (unsigned long long)(b->cpu_bytes - a->cpu_bytes),
	       (unsigned long long)(b->npu_bytes - a->npu_bytes), (unsigned long long)sum,
	       (unsigned long long)most, error_of(d));
}

static int measure(struct data *d, const struct way *w)
{
	struct cost a, b;
	int ret;

	a = now(d);
	ret = w->run(d);
	b = now(d);
	if (ret) {
		print_shape(&d->s, w->name);
		printf("failed: %s\n", strerror(-ret));
	} else {
		print_row(d, w->name, &a, &b);
	}
	fflush(stdout);
	return ret;
}

static float *numbers(size_t n)
{
	static uint32_t state = 0x2545f491;
	float *v = malloc(n * sizeof(*v));

	for (size_t i = 0; v && i < n; i++) {
		state = state * 1664525u + 1013904223u;
		v[i] = (float)((int)(state >> 20) - 2048) / 2048;
	}
	return v;
}

static int make(struct data *d)
{
	uint32_t wide = d->s.heads * d->s.dim, narrow = d->s.kv_heads * d->s.dim;
	int ret = npu_open(NULL, &d->dev);

	d->q = numbers((size_t)d->s.tokens * wide);
	d->k = numbers((size_t)d->s.tokens * narrow);
	d->v = numbers((size_t)d->s.tokens * narrow);
	d->y = calloc((size_t)d->s.tokens * wide, sizeof(*d->y));
	if (!ret && !(d->q && d->k && d->v && d->y))
		ret = -ENOMEM;
	ret = ret ?: npu_tensor_new(d->dev, NPU_PREC_FP16, d->s.tokens, wide, &d->tq);
	ret = ret ?: npu_tensor_new(d->dev, NPU_PREC_FP16, d->s.tokens, narrow, &d->tk);
	ret = ret ?: npu_tensor_new(d->dev, NPU_PREC_FP16, d->s.tokens, narrow, &d->tv);
	return ret ?: npu_tensor_new(d->dev, NPU_PREC_FP16, d->s.tokens, wide, &d->ty);
}

int main(int argc, char **argv)
{
	struct data d = { 0 };
	int ret;

	if (argc < 5 || argc > 6 || !rk_model()) {
		fprintf(stderr, "usage: rknpu_attention TOKENS HEADS KV_HEADS DIM [OF_HEADS], on the model\n");
		return 2;
	}
	d.s = (struct shape){ atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), atoi(argv[4]) };
	d.s.of_heads = argc > 5 ? atoi(argv[5]) : d.s.heads;
	if (d.s.tokens < 2 || !d.s.heads || !d.s.kv_heads || !d.s.dim || d.s.of_heads < d.s.heads)
		return 2;
	/* Overwriting what a client left has interrupts, too. */
	rk_scrub(false);
	open_counter();
	ret = make(&d);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		ret = measure(&d, &ways[i]) ?: ret;
	npu_rec_free(d.rec);
	return ret != 0;
}
