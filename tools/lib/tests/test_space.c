// SPDX-License-Identifier: MIT
/*
 * Weights beyond one address space: where memory goes, where recordings are cut, and what both
 * kinds of drivers make of memory that two spaces see.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drm/rocket_accel.h"
#include "tensor/npu_compute.h"
#include "sim.h"
#include "tap.h"

#define SIDE	64u
#define ROWS	8u
#define LAYERS	7u
/* Room for two layers with their ballast, beside what is computed. */
#define LIMIT	(1u << 20)

static const struct npu_requant rq = { .scale = 20000, .shift = 21 };

/* Each layer is y = x * W^T, requantised. The first kernel's bias takes memory, but adds nothing. */
struct net {
	int8_t x[ROWS * SIDE], want[ROWS * SIDE], w[LAYERS][SIDE * SIDE];
	struct npu_tensor *t[LAYERS + 1];
	struct npu_weights *weights[LAYERS], *ballast[LAYERS];
	struct npu_rec *rec;
};

static unsigned int seed = 3;

static int8_t rnd(void)
{
	seed = seed * 1664525u + 1013904223u;
	return (int8_t)(seed >> 13);
}

/* What fills an address space between two layers. */
static int add_ballast(struct npu_dev *dev, struct npu_weights **out)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = 512, .k = 768 };
	int8_t *src = calloc(d.n, d.k);
	int ret = npu_weights_new(dev, &d, src, out);

	free(src);
	return ret;
}

static int make(struct net *n, struct npu_dev *dev, uint32_t cores)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = SIDE, .k = SIDE, .rq = rq };
	struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
	int ret = npu_tensor_new(dev, NPU_PREC_INT8, ROWS, SIDE, &n->t[0]);

	for (uint32_t i = 0; i < LAYERS && !ret; i++) {
		for (size_t k = 0; k < sizeof(n->w[i]); k++)
			n->w[i][k] = rnd();
		ret = npu_weights_new(dev, &d, n->w[i], &n->weights[i]);
		if (!ret)
			ret = add_ballast(dev, &n->ballast[i]);
		if (!ret)
			ret = npu_tensor_new(dev, NPU_PREC_INT8, ROWS, SIDE, &n->t[i + 1]);
	}
	if (!ret)
		ret = npu_rec_new(dev, &o, &n->rec);
	for (uint32_t i = 0; i < LAYERS && !ret; i++)
		ret = npu_rec_matmul(n->rec, n->t[i], n->weights[i], n->t[i + 1], NULL);
	return ret ? ret : npu_rec_end(n->rec);
}

static void expect(struct net *n)
{
	int8_t y[ROWS * SIDE];

	for (size_t i = 0; i < sizeof(n->x); i++)
		n->x[i] = rnd();
	memcpy(n->want, n->x, sizeof(n->x));
	for (uint32_t l = 0; l < LAYERS; l++) {
		for (uint32_t i = 0; i < ROWS * SIDE; i++) {
			int64_t sum = 0;

			for (uint32_t k = 0; k < SIDE; k++)
				sum += n->want[i / SIDE * SIDE + k] * n->w[l][i % SIDE * SIDE + k];
			y[i] = npu_requant_apply(&rq, sum);
		}
		memcpy(n->want, y, sizeof(y));
	}
}

static bool run_right(struct net *n)
{
	int8_t y[ROWS * SIDE] = { 0 };

	expect(n);
	return !npu_tensor_write(n->t[0], n->x, 0) && !npu_rec_run(n->rec) && !npu_rec_wait(n->rec, -1) &&
	       !npu_tensor_read(n->t[LAYERS], y, 0) && !memcmp(y, n->want, sizeof(y));
}

static void release(struct net *n)
{
	npu_rec_free(n->rec);
	for (uint32_t i = 0; i < LAYERS; i++) {
		npu_weights_free(n->weights[i]);
		npu_weights_free(n->ballast[i]);
	}
	for (uint32_t i = 0; i <= LAYERS; i++)
		npu_tensor_free(n->t[i]);
}

#define BATCHES	(DRM_ROCKET_FEATURE_BATCHED | DRM_ROCKET_FEATURE_SUBMIT_EXT)
#define IMPORTS	(BATCHES | DRM_ROCKET_FEATURE_BO_INFO)

static void test_net(const char *how, uint64_t features, uint32_t cores, uint64_t limit)
{
	static struct net n;
	struct npu_rec_info info;
	struct npu_stats s = { .size = sizeof(s) };
	struct npu_dev *dev;
	unsigned int submits;
	int ret;

	memset(&n, 0, sizeof(n));
	sim_features(features);
	npu_open(NULL, &dev);
	npu_limit_space(dev, limit);
	ret = make(&n, dev, cores);
	tap_ok(!ret, "%s: a net is recorded: %d %s", how, ret, n.rec ? npu_rec_message(n.rec) : "");
	if (!ret) {
		info = npu_rec_info(n.rec);
		npu_stats(dev, &s);
		tap_ok(limit ? info.spaces > 2 && s.spaces >= info.spaces : info.spaces == 1 && s.spaces == 1,
		       "%s: it uses %u of %u spaces", how, info.spaces, s.spaces);
		/* Layers come in the order of their weights: no space is entered twice. */
		tap_ok(info.submits == info.spaces && info.ops == LAYERS, "%s: in %u submits", how,
		       info.submits);
		/* Where parts are not waited for anyway it tries again when they are over. */
		sim_refuse_submits((int)info.submits - 1, features == IMPORTS && info.submits > 1 ? 2 : 1, -EBUSY);
		ret = npu_rec_run(n.rec);
		tap_ok(ret == (info.submits > 1 ? -EAGAIN : -EBUSY) && !npu_rec_wait(n.rec, -1),
		       "%s: refused in the last space: %d", how, ret);
		submits = sim_submits;
		tap_ok(run_right(&n), "%s: its result is right", how);
		tap_ok(sim_submits - submits == info.submits, "%s: and took as many", how);
		tap_ok(run_right(&n), "%s: and again, with another input", how);
		npu_stats(dev, &s);
		tap_ok(!s.copied == (features == IMPORTS || info.spaces == 1), "%s: %llu bytes copied", how,
		       (unsigned long long)s.copied);
		sim_hang_task((int)info.tasks - 1);
		npu_rec_run(n.rec);
		ret = npu_rec_wait(n.rec, -1);
		tap_ok(ret == -ETIME, "%s: a hang in the last space is seen: %d", how, ret);
		if (features & DRM_ROCKET_FEATURE_SUBMIT_EXT) {
			struct npu_rec_failure f = { .size = sizeof(f) };

			npu_rec_failure(n.rec, &f);
			tap_ok(f.op == LAYERS - 1 && f.task == (int)info.tasks - 1, "%s: as task %d of operation %d",
			       how, f.task, f.op);
		}
		tap_ok(run_right(&n), "%s: and the next run is right", how);
	}
	release(&n);
	tap_ok(!sim_bos(), "%s: nothing is left", how);
	npu_close(dev);
}

/* A recording that reads, in another space, what its last job writes. */
static void test_state(void)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = SIDE, .k = SIDE, .rq = rq };
	struct npu_shape shape = { .type = NPU_PREC_INT8, .rows = ROWS, .cols = SIDE };
	static int8_t src[SIDE * SIDE];
	struct npu_tensor *state = NULL, *mid = NULL;
	struct npu_weights *w[5] = { NULL };
	struct npu_rec *rec = NULL;
	struct npu_mem *mem = NULL;
	struct npu_dev *dev;
	int ret, bad, again;

	sim_features(BATCHES);
	npu_open(NULL, &dev);
	npu_limit_space(dev, LIMIT);
	npu_tensor_new(dev, NPU_PREC_INT8, ROWS, SIDE, &mid);
	ret = npu_weights_new(dev, &d, src, &w[0]);
	for (int i = 1; i < 4 && !ret; i++)
		ret = add_ballast(dev, &w[i]);
	ret = ret ? ret : npu_weights_new(dev, &d, src, &w[4]);
	ret = ret ? ret : npu_mem_new_at(dev, w[4]->mem->space, npu_tensor_alloc_bytes(shape), &mem);
	state = ret ? NULL : npu_tensor_take(dev, mem, shape);
	ret = ret ? ret : npu_rec_new(dev, NULL, &rec);
	ret = ret ? ret : npu_rec_matmul(rec, state, w[0], mid, NULL);
	ret = ret ? ret : npu_rec_matmul(rec, mid, w[4], state, NULL);
	ret = ret ? ret : npu_rec_end(rec);
	sim_fail_job(1, -ETIME);
	ret = ret ? ret : npu_rec_run(rec);
	bad = npu_rec_wait(rec, -1);
	again = npu_rec_run(rec);
	again = again ? again : npu_rec_wait(rec, -1);
	tap_ok(!ret && npu_rec_info(rec).spaces == 2 && bad == -ETIME && !again,
	       "what a job failed to write does not keep a recording from running again: %d, %d, %d", ret, bad, again);
	npu_rec_free(rec);
	npu_tensor_free(state);
	npu_tensor_free(mid);
	for (int i = 0; i < 5; i++)
		npu_weights_free(w[i]);
	tap_ok(!sim_bos(), "nothing is left");
	npu_close(dev);
}

/* Spaces that are there before they are needed are filled in the same order. */
static void test_reserve(void)
{
	struct npu_weights *w[4] = { NULL };
	struct npu_stats s = { .size = sizeof(s) };
	struct npu_dev *dev;
	int ret = 0;

	sim_features(IMPORTS);
	npu_open(NULL, &dev);
	npu_limit_space(dev, LIMIT);
	tap_ok(npu_reserve_spaces(dev, NPU_MAX_SPACES + 1) == -EINVAL, "more spaces than there are");
	tap_ok(!npu_reserve_spaces(dev, 3) && !npu_reserve_spaces(dev, 1), "three spaces, and then fewer");
	npu_stats(dev, &s);
	for (int i = 0; i < 4 && !ret; i++)
		ret = add_ballast(dev, &w[i]);
	tap_ok(!ret && s.spaces == 3 && w[1]->mem->space == 0 && w[2]->mem->space == 1 && w[3]->mem->space == 1,
	       "are there, and weights fill them one after the other: %d", ret);
	for (int i = 0; i < 4; i++)
		npu_weights_free(w[i]);
	npu_close(dev);
}

/* The driver says so before the library would. */
static void test_full_driver(void)
{
	struct npu_weights *w[4] = { NULL };
	struct npu_dev *dev;
	int ret = 0;

	npu_open(NULL, &dev);
	sim_space_bytes(LIMIT);
	for (int i = 0; i < 4 && !ret; i++)
		ret = add_ballast(dev, &w[i]);
	tap_ok(!ret && w[1]->mem->space == 0 && w[2]->mem->space == 1 && w[3]->mem->space == 1,
	       "a space that the driver calls full is followed by another one");
	for (int i = 0; i < 4; i++)
		npu_weights_free(w[i]);
	sim_space_bytes(0);
	npu_close(dev);
}

static void test_room(void)
{
	struct npu_tensor *t = NULL, *most[64] = { NULL };
	struct npu_stats s = { .size = sizeof(s) };
	struct npu_dev *dev;
	int ret = 0, n = 0;

	sim_features(IMPORTS);
	npu_open(NULL, &dev);
	npu_limit_space(dev, 64 << 10);
	tap_ok(npu_tensor_new(dev, NPU_PREC_INT8, 1, 1 << 20, &t) == -ENOSPC,
	       "a tensor larger than any space");
	npu_stats(dev, &s);
	tap_ok(s.spaces == 1, "opens none for it");
	while (n < 64 && !ret)
		ret = npu_tensor_new(dev, NPU_PREC_INT8, 1, 16384, &most[n++]);
	npu_stats(dev, &s);
	tap_ok(ret == -ENOSPC && s.spaces == NPU_MAX_SPACES, "%d tensors fill %u spaces: %d", n - 1,
	       s.spaces, ret);
	npu_tensor_free(most[2]);
	most[2] = NULL;
	tap_ok(!npu_tensor_new(dev, NPU_PREC_INT8, 1, 16384, &most[2]), "one that was freed leaves room");
	for (int i = 0; i < 64; i++)
		npu_tensor_free(most[i]);
	tap_ok(!sim_bos(), "nothing is left");
	npu_close(dev);
}

/* Tensors in one space, an operation of another one whose room they exceed. */
static void test_no_room_there(void)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = SIDE, .k = SIDE };
	static int8_t src[SIDE * SIDE];
	struct npu_tensor *x = NULL, *y = NULL;
	struct npu_weights *w = NULL, *full = NULL;
	struct npu_rec *rec = NULL;
	struct npu_dev *dev;
	int ret;

	npu_open(NULL, &dev);
	npu_limit_space(dev, LIMIT);
	npu_tensor_new(dev, NPU_PREC_INT32, 2000, SIDE, &y);
	ret = add_ballast(dev, &full);
	if (!ret)
		ret = npu_weights_new(dev, &d, src, &w);
	tap_ok(!ret && y && y->mem->space != w->mem->space, "a result in another space than the weights");
	npu_rec_new(dev, NULL, &rec);
	npu_tensor_new(dev, NPU_PREC_INT8, 2000, SIDE, &x);
	ret = x ? npu_rec_matmul(rec, x, w, y, NULL) : 0;
	tap_ok(ret == -ENOSPC && strstr(npu_rec_message(rec), "no room"), "that is too large for theirs: %d %s",
	       ret, npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_weights_free(w);
	npu_weights_free(full);
	tap_ok(!sim_bos(), "nothing is left");
	npu_close(dev);
}

/* Two devices, as if of two processes: the second one multiplies what the first one wrote. */
static void test_export(void)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = SIDE, .k = SIDE };
	static int8_t x[ROWS * SIDE], w[SIDE * SIDE];
	static int32_t y[ROWS * SIDE];
	struct npu_tensor *in, *out, *half = NULL, *rows = NULL, *in2 = NULL, *out2 = NULL;
	struct npu_weights *weights = NULL;
	struct npu_rec *rec = NULL;
	struct npu_dev *a, *b;
	int fd[2] = { -1, -1 }, ret;
	uint64_t at[2] = { 9, 9 };
	bool right = true;

	sim_features(IMPORTS);
	npu_open(NULL, &a);
	npu_open(NULL, &b);
	for (size_t i = 0; i < sizeof(x); i++)
		x[i] = rnd();
	for (size_t i = 0; i < sizeof(w); i++)
		w[i] = rnd();
	npu_tensor_new(a, NPU_PREC_INT8, ROWS, 2 * SIDE, &in);
	npu_tensor_new(a, NPU_PREC_INT32, ROWS, SIDE, &out);
	npu_tensor_view(in, 0, ROWS, SIDE, SIDE, &half);
	npu_tensor_view(in, 0, 4, 0, SIDE, &rows);
	npu_tensor_write(half, x, 0);
	tap_ok(npu_tensor_export(rows, &fd[0], &at[0]) == -EINVAL && fd[0] == -1,
	       "some rows cannot be exported by themselves");
	ret = npu_tensor_export(half, &fd[0], &at[0]);
	ret = ret ? ret : npu_tensor_export(out, &fd[1], &at[1]);
	tap_ok(!ret && at[0] == ROWS * SIDE && !at[1], "a view of columns can: %d", ret);
	ret = npu_tensor_import(b, fd[0], at[0], NPU_PREC_INT8, ROWS, SIDE, &in2);
	ret = ret ? ret : npu_tensor_import(b, fd[1], at[1], NPU_PREC_INT32, ROWS, SIDE, &out2);
	ret = ret ? ret : npu_weights_new(b, &d, w, &weights);
	ret = ret ? ret : npu_rec_new(b, NULL, &rec);
	ret = ret ? ret : npu_rec_matmul(rec, in2, weights, out2, NULL);
	ret = ret ? ret : npu_rec_end(rec);
	ret = ret ? ret : npu_rec_run(rec);
	ret = ret ? ret : npu_rec_wait(rec, -1);
	ret = ret ? ret : npu_tensor_read(out, y, 0);
	for (uint32_t i = 0; i < ROWS * SIDE; i++) {
		int32_t sum = 0;

		for (uint32_t k = 0; k < SIDE; k++)
			sum += x[i / SIDE * SIDE + k] * w[i % SIDE * SIDE + k];
		right &= y[i] == sum;
	}
	tap_ok(!ret && right, "another device multiplies it, and writes what is read here: %d", ret);
	close(fd[0]);
	close(fd[1]);
	npu_rec_free(rec);
	npu_weights_free(weights);
	npu_tensor_free(in2);
	npu_tensor_free(out2);
	npu_tensor_free(half);
	npu_tensor_free(rows);
	npu_tensor_free(in);
	npu_tensor_free(out);
	tap_ok(!sim_bos(), "nothing is left");
	npu_close(b);
	npu_close(a);
}

/* What was imported twice is one memory, and so is what was exported by the same device. */
static void test_import_again(void)
{
	static int8_t x[ROWS * SIDE], y[ROWS * SIDE];
	struct npu_tensor *own, *a = NULL, *b = NULL, *other = NULL;
	struct npu_dev *dev, *dev2;
	uint64_t at;
	int fd, ret;

	sim_features(IMPORTS);
	npu_open(NULL, &dev);
	npu_open(NULL, &dev2);
	for (size_t i = 0; i < sizeof(x); i++)
		x[i] = rnd();
	npu_tensor_new(dev, NPU_PREC_INT8, ROWS, SIDE, &own);
	npu_tensor_write(own, x, 0);
	npu_tensor_export(own, &fd, &at);
	ret = npu_tensor_import(dev, fd, at, NPU_PREC_INT8, ROWS, SIDE, &a);
	ret = ret ? ret : npu_tensor_import(dev, fd, at, NPU_PREC_INT8, ROWS, SIDE, &b);
	ret = ret ? ret : npu_tensor_import(dev2, fd, at, NPU_PREC_INT8, ROWS, SIDE, &other);
	tap_ok(!ret && a->mem == own->mem && b->mem == own->mem && other->mem != own->mem && sim_bos() == 2,
	       "a device's own export is the memory that it has, another device's is not: %d", ret);
	npu_tensor_free(a);
	tap_ok(sim_bos() == 2 && !npu_tensor_read(own, y, 0) && !memcmp(x, y, sizeof(x)),
	       "freeing one import leaves the tensor");
	npu_tensor_free(own);
	memset(y, 0, sizeof(y));
	tap_ok(sim_bos() == 2 && !npu_tensor_read(b, y, 0) && !memcmp(x, y, sizeof(x)),
	       "freeing the tensor leaves the other import");
	npu_tensor_free(b);
	tap_ok(sim_bos() == 1, "the last one frees the handle");
	a = b = NULL;
	ret = npu_tensor_import(dev2, fd, at, NPU_PREC_INT8, ROWS, SIDE, &a);
	tap_ok(!ret && a->mem == other->mem && sim_bos() == 1, "an import of what was imported, too: %d", ret);
	npu_tensor_free(other);
	memset(y, 0, sizeof(y));
	tap_ok(!npu_tensor_read(a, y, 0) && !memcmp(x, y, sizeof(x)), "and outlives the first one");
	npu_tensor_free(a);
	close(fd);
	tap_ok(!sim_bos(), "nothing is left");
	npu_close(dev2);
	npu_close(dev);
}

/* Stages of a recording whose second core reads, as another tensor, what the first one writes. */
static uint32_t stages_of(struct npu_dev *dev, struct npu_tensor *to, struct npu_tensor *from)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = SIDE, .k = SIDE, .rq = rq };
	struct npu_rec_opts o = { .size = sizeof(o), .cores = 2 };
	struct npu_shape s = npu_tensor_shape(from);
	static int8_t w[SIDE * SIDE];
	struct npu_weights *first = NULL, *second = NULL;
	struct npu_tensor *x = NULL, *y = NULL;
	struct npu_rec *rec = NULL;
	uint32_t stages;
	int ret;

	ret = npu_tensor_new(dev, NPU_PREC_INT8, npu_tensor_shape(to).rows, SIDE, &x);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_INT8, s.rows, SIDE, &y);
	ret = ret ? ret : npu_weights_new(dev, &d, w, &first);
	d.k = s.cols;
	ret = ret ? ret : npu_weights_new(dev, &d, w, &second);
	ret = ret ? ret : npu_rec_new(dev, &o, &rec);
	ret = ret ? ret : npu_rec_on(rec, 0);
	ret = ret ? ret : npu_rec_matmul(rec, x, first, to, NULL);
	ret = ret ? ret : npu_rec_on(rec, 1);
	ret = ret ? ret : npu_rec_matmul(rec, from, second, y, NULL);
	ret = ret ? ret : npu_rec_end(rec);
	stages = ret ? 0 : npu_rec_info(rec).stages;
	npu_rec_free(rec);
	npu_weights_free(first);
	npu_weights_free(second);
	npu_tensor_free(x);
	npu_tensor_free(y);
	return stages;
}

static void test_import_order(void)
{
	struct npu_tensor *own, *same = NULL, *rows = NULL, *half[2] = { NULL }, *behind = NULL;
	struct npu_dev *dev;
	uint64_t at;
	int fd, ret;

	sim_features(IMPORTS);
	npu_open(NULL, &dev);
	npu_tensor_new(dev, NPU_PREC_INT8, 2 * ROWS, SIDE, &own);
	npu_tensor_export(own, &fd, &at);
	/* A surface of the tensor has 256 bytes, one of the smaller ones 64. */
	ret = npu_tensor_import(dev, fd, at, NPU_PREC_INT8, 2 * ROWS, SIDE, &same);
	ret = ret ? ret : npu_tensor_import(dev, fd, 256, NPU_PREC_INT8, 4, 32, &rows);
	ret = ret ? ret : npu_tensor_view(own, 0, 2 * ROWS, 0, 32, &half[0]);
	ret = ret ? ret : npu_tensor_view(own, 0, 2 * ROWS, 32, 32, &half[1]);
	ret = ret ? ret : npu_tensor_import(dev, fd, 4 * 256, NPU_PREC_INT8, 4, 32, &behind);
	tap_ok(!ret, "one memory in several shapes: %d", ret);
	tap_ok(stages_of(dev, own, same) == 2, "a core waits for what is written by another name");
	tap_ok(stages_of(dev, own, rows) == 2, "and in another shape");
	tap_ok(!ret && npu_tensor_overlap(rows, half[0]) && !npu_tensor_overlap(rows, half[1]),
	       "which meets one view of it and not the other");
	tap_ok(stages_of(dev, own, behind) == 1, "but not for what lies behind it");
	npu_tensor_free(same);
	npu_tensor_free(rows);
	npu_tensor_free(half[0]);
	npu_tensor_free(half[1]);
	npu_tensor_free(behind);
	npu_tensor_free(own);
	close(fd);
	tap_ok(!sim_bos(), "nothing is left");
	npu_close(dev);
}

/* The memory is in the second space, while imports begin in the first one. */
static void test_import_elsewhere(void)
{
	struct npu_tensor *full, *own, *a = NULL;
	struct npu_stats s = { .size = sizeof(s) };
	struct npu_dev *dev;
	uint64_t at;
	int fd, ret;

	sim_features(IMPORTS);
	npu_open(NULL, &dev);
	npu_limit_space(dev, 64 << 10);
	npu_tensor_new(dev, NPU_PREC_INT8, 1, 16384, &full);
	npu_tensor_new(dev, NPU_PREC_INT8, 1, 16384, &own);
	npu_stats(dev, &s);
	npu_tensor_export(own, &fd, &at);
	ret = npu_tensor_import(dev, fd, at, NPU_PREC_INT8, 1, 16384, &a);
	tap_ok(!ret && own->mem->space == 1 && a->mem == own->mem && sim_bos() == 2,
	       "an import finds the memory in another address space: %d", ret);
	npu_tensor_free(own);
	npu_tensor_free(a);
	npu_tensor_free(full);
	close(fd);
	tap_ok(!sim_bos(), "nothing is left");
	npu_close(dev);
}

static int other_matmul(struct npu_dev *dev, struct npu_tensor *x, struct npu_weights *w, struct npu_tensor *y)
{
	struct npu_rec *rec = NULL;
	int ret = npu_rec_new(dev, NULL, &rec);

	ret = ret ? ret : npu_rec_matmul(rec, x, w, y, NULL);
	if (npu_rec_end(rec) != ret || !strstr(npu_rec_message(rec), "another device"))
		ret = 1;
	npu_rec_free(rec);
	return ret;
}

/* After a product with @w, which is in another space than the first one. */
static int other_norm(struct npu_dev *dev, struct npu_tensor *x, struct npu_weights *w, struct npu_tensor *y,
		      struct npu_tensor *from, struct npu_tensor *to)
{
	struct npu_rec *rec = NULL;
	int ret = npu_rec_new(dev, NULL, &rec);

	ret = ret ? ret : npu_rec_matmul(rec, x, w, y, NULL);
	ret = ret ? ret : npu_rec_rms_norm(rec, from, to, NULL);
	if (!strstr(npu_rec_message(rec), "another device"))
		ret = 1;
	npu_rec_free(rec);
	return ret;
}

/* Two devices have nothing in common, and not as many spaces. */
static void test_other_device(void)
{
	struct npu_tensor *x = NULL, *y = NULL, *x2 = NULL, *y2 = NULL, *half = NULL, *norm = NULL;
	struct npu_weights *w[3] = { NULL };
	struct npu_rec *rec = NULL;
	struct npu_dev *dev, *other;
	int ret = 0;

	sim_features(IMPORTS);
	npu_open(NULL, &dev);
	npu_open(NULL, &other);
	npu_limit_space(other, LIMIT);
	for (int i = 0; i < 3 && !ret; i++)
		ret = add_ballast(other, &w[i]);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_INT8, ROWS, 768, &x);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_INT32, ROWS, 512, &y);
	ret = ret ? ret : npu_tensor_new(other, NPU_PREC_INT8, ROWS, 768, &x2);
	ret = ret ? ret : npu_tensor_new(other, NPU_PREC_INT32, ROWS, 512, &y2);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP16, ROWS, SIDE, &half);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP16, ROWS, SIDE, &norm);
	ret = ret ? ret : npu_rec_new(dev, NULL, &rec);
	tap_ok(!ret && w[2]->mem->space == 1, "weights in the second space of a device: %d", ret);
	tap_ok(npu_rec_add(rec, y2, y2, y) == -EXDEV && npu_rec_end(rec) == -EXDEV &&
	       strstr(npu_rec_message(rec), "add: a tensor or weights of another device"),
	       "another one takes no tensors of it: %s", npu_rec_message(rec));
	npu_rec_free(rec);
	tap_ok(other_matmul(dev, x, w[0], y) == -EXDEV && other_matmul(dev, x, w[2], y) == -EXDEV,
	       "and no weights, wherever they are");
	tap_ok(other_matmul(other, x, w[0], y2) == -EXDEV && other_matmul(other, x2, w[0], y) == -EXDEV,
	       "nor an operand or a result");
	tap_ok(other_norm(other, x2, w[2], y2, half, norm) == -EXDEV, "what needs memory of its own, neither");
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_tensor_free(x2);
	npu_tensor_free(y2);
	npu_tensor_free(half);
	npu_tensor_free(norm);
	for (int i = 0; i < 3; i++)
		npu_weights_free(w[i]);
	tap_ok(!sim_bos(), "nothing is left");
	npu_close(other);
	npu_close(dev);
}

int main(void)
{
	test_net("one space", IMPORTS, 1, 0);
	test_net("shared", IMPORTS, 1, LIMIT);
	test_net("shared by three cores", IMPORTS, 3, LIMIT);
	test_net("copied", BATCHES, 1, LIMIT);
	test_net("copied by three cores", BATCHES, 3, LIMIT);
	test_net("copied, task by task", 0, 1, LIMIT);
	test_full_driver();
	test_state();
	test_reserve();
	test_room();
	test_no_room_there();
	test_export();
	test_import_again();
	test_import_order();
	test_import_elsewhere();
	test_other_device();
	return tap_done();
}
