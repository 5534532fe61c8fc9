// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libnpu promises of models that exceed an address space, and of memory that others see: on
 * the driver and over both uAPIs.
 *
 * A model of 6 GiB, which the host needs 9 GiB for.
 * boot: bigmodel RARE TEST_LIMIT=3600 --qemu-arg -m --qemu-arg 8G --param max_memory_percent=90 --param max_user_memory_percent=90
 * boot: library
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "npu_prog.h"
#include "rknpu_libnpu.h"

#define MIB	(1ULL << 20)
#define GIB	(1ULL << 30)
#define CORE	1

LIBNPU_FIXTURE(spaces)

static uint32_t mix(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t h = a * 0x9e3779b1u ^ b * 0x85ebca77u ^ c * 0xc2b2ae3du;

	h ^= h >> 15;
	h *= 0x2c1b3c6du;
	return h ^ h >> 12;
}

/* ---- layers ---- */

#define MOST_LAYERS	384u
#define MOST_SIDE	4096u
#define TAPS		8u

/*
 * A chain of layers y = requantised(x * W^T) of @rows rows and @side columns. A row of W has TAPS
 * weights that are not 0, so that the CPU keeps up with gigabytes of them.
 */
struct net {
	uint32_t layers, side, rows;
	int8_t *src, *x, *y;
	struct npu_tensor *t[3];	/* the input, and two in turns */
	struct npu_weights *w[MOST_LAYERS];
	struct npu_rec *rec;
};

static const struct npu_requant rq = { .scale = 20971, .shift = 21 };

static uint32_t tap_column(const struct net *n, uint32_t layer, uint32_t row, uint32_t tap)
{
	return tap * (n->side / TAPS) + mix(layer, row, tap) % (n->side / TAPS);
}

static int8_t tap_weight(uint32_t layer, uint32_t row, uint32_t tap)
{
	return mix(layer, row, tap) >> 16;
}

static void set_weights(struct net *n, uint32_t layer, bool clear)
{
	for (uint32_t row = 0; row < n->side; row++)
		for (uint32_t i = 0; i < TAPS; i++)
			n->src[(size_t)row * n->side + tap_column(n, layer, row, i)] =
				clear ? 0 : tap_weight(layer, row, i);
}

static void net_expect(struct net *n)
{
	int8_t *next = malloc((size_t)n->rows * n->side);

	memcpy(n->y, n->x, (size_t)n->rows * n->side);
	for (uint32_t layer = 0; layer < n->layers; layer++) {
		for (uint32_t i = 0; i < n->rows * n->side; i++) {
			int32_t sum = 0;

			for (uint32_t k = 0; k < TAPS; k++)
				sum += n->y[i / n->side * n->side + tap_column(n, layer, i % n->side, k)] *
				       tap_weight(layer, i % n->side, k);
			next[i] = npu_requant_apply(&rq, sum);
		}
		memcpy(n->y, next, (size_t)n->rows * n->side);
	}
	free(next);
}

static int net_weights(struct net *n, struct npu_dev *dev)
{
	struct npu_weights_desc d = {
		.size = sizeof(d),
		.type = NPU_PREC_INT8, .n = n->side, .k = n->side, .rq = rq,
	};
	int ret = 0;

	for (uint32_t i = 0; i < n->layers && !ret; i++) {
		set_weights(n, i, false);
		ret = npu_weights_new(dev, &d, n->src, &n->w[i]);
		set_weights(n, i, true);
	}
	return ret;
}

/* What layer @i reads. */
static struct npu_tensor *net_tensor(const struct net *n, uint32_t i)
{
	return n->t[i ? 1 + i % 2 : 0];
}

static int net_make(struct net *n, struct npu_dev *dev, const struct npu_rec_opts *o)
{
	int ret;

	n->src = calloc(n->side, n->side);
	n->x = calloc(n->rows, n->side);
	n->y = calloc(n->rows, n->side);
	if (!n->src || !n->x || !n->y)
		return -ENOMEM;
	ret = net_weights(n, dev);
	for (uint32_t i = 0; i < 3 && !ret; i++)
		ret = npu_tensor_new(dev, NPU_PREC_INT8, n->rows, n->side, &n->t[i]);
	ret = ret ?: npu_rec_new(dev, o, &n->rec);
	for (uint32_t i = 0; i < n->layers && !ret; i++)
		ret = npu_rec_matmul(n->rec, net_tensor(n, i), n->w[i], net_tensor(n, i + 1), NULL);
	return ret ?: npu_rec_end(n->rec);
}

static void net_free(struct net *n)
{
	npu_rec_free(n->rec);
	for (uint32_t i = 0; i < n->layers; i++)
		npu_weights_free(n->w[i]);
	for (uint32_t i = 0; i < 3; i++)
		npu_tensor_free(n->t[i]);
	free(n->src);
	free(n->x);
	free(n->y);
}

static int net_write(struct net *n, uint32_t seed)
{
	for (uint32_t i = 0; i < n->rows * n->side; i++)
		n->x[i] = mix(seed, i, 77);
	net_expect(n);
	return npu_tensor_write(n->t[0], n->x, 0);
}

/* A net whose results are all the same would prove little. */
static bool net_right(struct net *n)
{
	size_t bytes = (size_t)n->rows * n->side, zeros = 0;
	int8_t *y = malloc(bytes);
	bool ok = y && !npu_tensor_read(net_tensor(n, n->layers), y, 0) && !memcmp(y, n->y, bytes);

	for (size_t i = 0; ok && i < bytes; i++)
		zeros += !y[i];
	free(y);
	return ok && zeros < bytes / 2;
}

/* ---- full by decree ---- */

/* Of 64 KiB each. */
#define SMALL_LAYERS	48u
#define SMALL_SIDE	256u
#define SMALL_LIMIT	(2 * MIB)

static void check_spaces(struct __test_metadata *_metadata, struct npu_dev *dev, struct net *n,
			 const char *uapi)
{
	struct npu_rec_info info = npu_rec_info(n->rec);
	struct npu_stats s = { .size = sizeof(s) };

	npu_stats(dev, &s);
	/* Weights of 3 MiB, and a space holds 7/4 MiB of them. */
	EXPECT_EQ(2, info.spaces);
	EXPECT_LE(info.spaces, s.spaces);
	/* Those of a space follow each other. */
	EXPECT_EQ(info.spaces, info.submits);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, net_write(n, i));
		libnpu_run_counted(_metadata, n->rec, uapi);
		EXPECT_TRUE(net_right(n));
	}
	npu_stats(dev, &s);
	EXPECT_EQ(libnpu_is_vendor(uapi), s.copied > 0);
}

RK_TEST_F(spaces, layers, "layers in several address spaces: a submit for each, right results")
{
	RK_REQUIRE_MODEL();
	rk_scrub(false);
	npu_limit_space(self->dev, SMALL_LIMIT);
	for (uint32_t cores = 1; cores <= NPU_MAX_CORES; cores += 2) {
		static struct net n;

		n = (struct net){ .layers = SMALL_LAYERS, .side = SMALL_SIDE, .rows = 24 };
		ASSERT_EQ(0, net_make(&n, self->dev, &(struct npu_rec_opts){ .size = sizeof(struct npu_rec_opts), .cores = cores }))
			TH_LOG("%s", n.rec ? npu_rec_message(n.rec) : "no recording");
		check_spaces(_metadata, self->dev, &n, variant->uapi);
		net_free(&n);
	}
}

RK_TEST_F(spaces, hang_in_the_second, "a hang in the second address space tells operation and task")
{
	struct npu_rec_opts o = { .size = sizeof(o), .core_mask = 1 << CORE, .timeout_ns = 100 * RK_MS, .block = true };
	struct npu_rec_failure f = { .size = sizeof(f) };
	struct npu_rec_info info;
	static struct net n = { .layers = SMALL_LAYERS, .side = SMALL_SIDE, .rows = 8 };

	RK_REQUIRE_MODEL();
	rk_scrub(false);
	npu_limit_space(self->dev, SMALL_LIMIT);
	ASSERT_EQ(0, net_make(&n, self->dev, &o));
	info = npu_rec_info(n.rec);
	ASSERT_EQ(2, info.spaces);
	ASSERT_EQ(0, net_write(&n, 1));
	rk_fault_arm(CORE, NPU_FAULT_HANG, info.tasks - 2, 1);
	ASSERT_EQ(0, npu_rec_run(n.rec));
	EXPECT_EQ(-ETIME, npu_rec_wait(n.rec, WAIT_NS));
	ASSERT_EQ(0, npu_rec_failure(n.rec, &f));
	EXPECT_EQ(NPU_CAUSE_TIMEOUT, f.cause);
	EXPECT_EQ(info.tasks - 2, f.task);
	EXPECT_EQ(SMALL_LAYERS - 2, f.op);
	EXPECT_EQ(CORE, f.core);
	rk_model_calm();
	ASSERT_EQ(0, net_write(&n, 2));
	ASSERT_EQ(0, npu_rec_run(n.rec));
	EXPECT_EQ(0, npu_rec_wait(n.rec, WAIT_NS));
	EXPECT_TRUE(net_right(&n));
	net_free(&n);
}

/* ---- buffers ---- */

RK_TEST_F(spaces, foreign_buffer, "a buffer of another device is refused, not mistaken for one's own")
{
	struct npu_task task = { .regcmd = 4096, .count = 4 };
	struct npu_dev *other;
	struct npu_bo *own, *foreign;

	ASSERT_EQ(0, libnpu_open(variant->uapi, &other));
	ASSERT_EQ(0, npu_bo_alloc(self->dev, RK_PAGE, &own));
	ASSERT_EQ(0, npu_bo_alloc(other, RK_PAGE, &foreign));
	for (int i = 0; i < 2; i++) {
		struct npu_hwjob job = {
			.tasks = &task, .ntasks = 1, .in = i ? &own : &foreign, .nin = 1,
			.out = i ? &foreign : &own, .nout = 1,
		};
		uint64_t number;

		EXPECT_EQ(-EXDEV, npu_submit(self->dev, &job, 1));
		EXPECT_EQ(-EXDEV, npu_submit_ext(self->dev, &job, NULL, 1, &number));
	}
	npu_bo_free(own);
	npu_bo_free(foreign);
	npu_close(other);
}

/* ---- full indeed ---- */

RK_TEST_F_TIMEOUT(spaces, memory_is_short, 120,
		  "memory that is short is told from addresses that are")
{
	struct npu_tensor *t[16] = { NULL };
	struct npu_stats s = { .size = sizeof(s) };
	int ret = 0;

	if ((uint64_t)sysconf(_SC_PHYS_PAGES) * RK_PAGE >= 4 * GIB)
		SKIP(return, "there is memory for all of an address space");
	for (int i = 0; i < 16 && !ret; i++)
		ret = npu_tensor_new(self->dev, NPU_PREC_INT8, 1, 256 * MIB, &t[i]);
	EXPECT_EQ(-ENOMEM, ret);
	npu_stats(self->dev, &s);
	EXPECT_EQ(1, s.spaces);
	for (int i = 0; i < 16; i++)
		npu_tensor_free(t[i]);
}

RK_TEST_F_TIMEOUT(spaces, six_gib, 1500, "a model of 6 GiB, twice")
{
	static struct net n = { .layers = MOST_LAYERS, .side = MOST_SIDE, .rows = 1 };
	struct npu_rec_info info;
	struct npu_stats s = { .size = sizeof(s) };

	if ((uint64_t)sysconf(_SC_PHYS_PAGES) * RK_PAGE < 7 * GIB)
		SKIP(return, "it takes a machine with 8 GiB of memory");
	ASSERT_EQ(0, net_make(&n, self->dev, NULL));
	info = npu_rec_info(n.rec);
	npu_stats(self->dev, &s);
	EXPECT_EQ(6 * GIB, s.weights);
	EXPECT_EQ(2, s.spaces);
	EXPECT_EQ(2, info.spaces);
	EXPECT_EQ(2, info.submits);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, net_write(&n, i));
		ASSERT_EQ(0, npu_rec_run(n.rec));
		ASSERT_EQ(0, npu_rec_wait(n.rec, -1));
		EXPECT_TRUE(net_right(&n));
	}
	net_free(&n);
}

/* ---- memory that others see ---- */

#define ROWS	8u
#define SIDE	64u

/* A tensor as one process tells another one of it. */
struct shared {
	int fd;
	uint64_t offset;
};

static void product(const int8_t *x, int32_t *y)
{
	for (uint32_t i = 0; i < ROWS * SIDE; i++) {
		y[i] = 0;
		for (uint32_t k = 0; k < SIDE; k++)
			y[i] += x[i / SIDE * SIDE + k] * (int8_t)mix(i % SIDE, k, 5);
	}
}

/* In a process of its own: multiplies @in and puts the result into @out. */
static int multiply(const char *uapi, const struct shared *in, const struct shared *out)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = SIDE, .k = SIDE };
	static int8_t w[SIDE * SIDE];
	struct npu_tensor *x, *y;
	struct npu_weights *weights;
	struct npu_stats s = { .size = sizeof(s) };
	struct npu_dev *dev;
	struct npu_rec *rec;
	int ret = libnpu_open(uapi, &dev);

	for (uint32_t i = 0; i < SIDE * SIDE; i++)
		w[i] = mix(i / SIDE, i % SIDE, 5);
	ret = ret ?: npu_tensor_import(dev, in->fd, in->offset, NPU_PREC_INT8, ROWS, SIDE, &x);
	ret = ret ?: npu_tensor_import(dev, out->fd, out->offset, NPU_PREC_INT32, ROWS, SIDE, &y);
	ret = ret ?: npu_weights_new(dev, &d, w, &weights);
	ret = ret ?: npu_rec_new(dev, NULL, &rec);
	ret = ret ?: npu_rec_matmul(rec, x, weights, y, NULL);
	ret = ret ?: npu_rec_end(rec);
	ret = ret ?: npu_rec_run(rec);
	ret = ret ?: npu_rec_wait(rec, WAIT_NS);
	if (ret)
		return -ret;
	npu_stats(dev, &s);
	return s.packed || s.unpacked || s.copied ? 255 : 0;
}

RK_TEST_F(spaces, another_process, "another process computes with tensors of this one, without a copy")
{
	static int8_t x[ROWS * SIDE];
	static int32_t y[ROWS * SIDE], want[ROWS * SIDE];
	struct npu_tensor *both, *in, *out;
	struct shared shared[2];
	int status;
	pid_t pid;

	/* The second half of the columns, so that the offset counts. */
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT8, ROWS, 2 * SIDE, &both));
	ASSERT_EQ(0, npu_tensor_view(both, 0, ROWS, SIDE, SIDE, &in));
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT32, ROWS, SIDE, &out));
	for (uint32_t i = 0; i < ROWS * SIDE; i++)
		x[i] = mix(i, 1, 9);
	product(x, want);
	ASSERT_EQ(0, npu_tensor_write(in, x, 0));
	ASSERT_EQ(0, npu_tensor_export(in, &shared[0].fd, &shared[0].offset));
	ASSERT_EQ(0, npu_tensor_export(out, &shared[1].fd, &shared[1].offset));
	EXPECT_EQ(ROWS * SIDE, shared[0].offset);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(multiply(variant->uapi, &shared[0], &shared[1]));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_EQ(0, npu_tensor_read(out, y, 0));
	EXPECT_EQ(0, memcmp(want, y, sizeof(y)));
	for (int i = 0; i < 2; i++)
		close(shared[i].fd);
	npu_tensor_free(in);
	npu_tensor_free(both);
	npu_tensor_free(out);
}

RK_TEST_F(spaces, import_again, "what a device exports and imports again is one memory to it")
{
	static int8_t x[ROWS * SIDE], y[ROWS * SIDE];
	struct npu_tensor *own, *import[2];
	uint64_t offset;
	int fd;

	for (uint32_t i = 0; i < ROWS * SIDE; i++)
		x[i] = mix(i, 2, 9);
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT8, ROWS, SIDE, &own));
	ASSERT_EQ(0, npu_tensor_export(own, &fd, &offset));
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, npu_tensor_import(self->dev, fd, offset, NPU_PREC_INT8, ROWS, SIDE, &import[i]));
	close(fd);
	ASSERT_EQ(0, npu_tensor_write(import[0], x, 0));
	npu_tensor_free(import[0]);
	ASSERT_EQ(0, npu_tensor_read(own, y, 0));
	EXPECT_EQ(0, memcmp(x, y, sizeof(x)));
	npu_tensor_free(own);
	memset(y, 0, sizeof(y));
	ASSERT_EQ(0, npu_tensor_read(import[1], y, 0));
	EXPECT_EQ(0, memcmp(x, y, sizeof(x)));
	npu_tensor_free(import[1]);
}

RK_TEST_F(spaces, dropped, "address spaces that were reserved are there after privileges are dropped")
{
	const uid_t root = geteuid();
	struct npu_weights *w[3] = { NULL };
	struct npu_stats s = { .size = sizeof(s) };
	int ret = 0;

	npu_limit_space(self->dev, 1 << 20);
	ASSERT_EQ(0, npu_reserve_spaces(self->dev, 2));
	ASSERT_EQ(0, seteuid(65534));
	for (int i = 0; i < 3 && !ret; i++) {
		struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = 512, .k = 1536 };
		static int8_t src[512 * 1536];

		ret = npu_weights_new(self->dev, &d, src, &w[i]);
	}
	ASSERT_EQ(0, seteuid(root));
	npu_stats(self->dev, &s);
	EXPECT_NE(NULL, w[1]);
	/* The vendor's are domains of one file. */
	EXPECT_EQ(libnpu_is_vendor(variant->uapi) ? 0 : -EACCES, ret);
	EXPECT_EQ(libnpu_is_vendor(variant->uapi) ? 3 : 2, s.spaces);
	for (int i = 0; i < 3; i++)
		npu_weights_free(w[i]);
}

RK_HARNESS_MAIN
