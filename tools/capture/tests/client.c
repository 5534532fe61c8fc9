// SPDX-License-Identifier: MIT
/*
 * A client to record: client ops|shifted|fork|clone|handler|threads|killed|signals|vfork|early|cancel|mute|exit|
 * dup2|range|from|misc|numbers|unlisted|failed|late|cores|core1. Its jobs are small products whose results lie where the
 * test of npu-replay knows them, but for those of "cores".
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "dev/npu_device.h"
#include "npu.h"
#include "prog/npu_task.h"

#define M	4u
#define N	32u
#define K	32u
#define OPS	3u
#define STEP	4096u	/* between operands of operations */

/* That jobs and their programs are for, 0: any that they suit. */
static uint32_t core;

struct buffers {
	struct npu_dev *dev;
	struct npu_bo *in, *weights, *out, *last, *program, *shift;
};

void client_die(const char *what, int err)
{
	fprintf(stderr, "client: %s: %s\n", what, strerror(-err));
	exit(1);
}

void client_fill(uint8_t *map, size_t size, int seed)
{
	for (size_t i = 0; i < size; i++)
		map[i] = seed ? (uint8_t)((i * 7 + i / 256 + (size_t)seed) % 13 - 6) : 0;
}

struct npu_bo *client_alloc(struct npu_dev *dev, size_t size, int seed)
{
	struct npu_bo *bo;
	int ret = npu_bo_alloc(dev, size, &bo);
	uint8_t *map;

	if (ret)
		client_die("alloc", ret);
	map = npu_bo_map(bo);
	if (!map)
		client_die("map", -1);
	client_fill(map, size, seed);
	ret = npu_bo_fini(bo);
	if (ret)
		client_die("fini", ret);
	return bo;
}

/* Rows of a result of @rows: surfaces of results that are parts of one lie between each other's. */
static void add_product(struct npu_prog *p, uint64_t in, uint64_t weights, uint64_t out,
			uint32_t rows)
{
	struct npu_conv_task t;
	int ret;

	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT32, M, N, K);
	t.in_iova = in;
	t.weight_iova = weights;
	/* What an RK3576 reads there counts for nothing. */
	t.bias_iova = weights;
	t.zeros_iova = weights;
	t.out_iova = out;
	t.out_h_full = rows;
	ret = npu_prog_conv(p, &t);
	if (ret)
		client_die(npu_prog_message(p), ret);
}

void client_product(struct npu_prog *p, uint64_t in, uint64_t weights, uint64_t out)
{
	add_product(p, in, weights, out, M);
}

static void run(struct buffers *b, struct npu_prog *p, struct npu_bo *in, struct npu_bo *out)
{
	struct npu_bo *ins[] = { in, b->weights, b->program };
	const struct npu_job_opts opts = { .core_mask = 1u << core };
	struct npu_task tasks[OPS];
	struct npu_hwjob job = {
		.tasks = tasks, .ntasks = (uint32_t)npu_prog_ntasks(p), .in = ins, .nin = 3,
		.out = &out, .nout = 1,
	};
	uint64_t first;
	int ret;

	memcpy(b->program->map, npu_prog_entries(p), npu_prog_count(p) * 8);
	for (uint32_t i = 0; i < job.ntasks; i++) {
		size_t begin, count;

		npu_prog_task(p, i, &begin, &count);
		tasks[i] = (struct npu_task) { (uint32_t)(b->program->iova + begin * 8),
					       (uint32_t)count };
	}
	ret = npu_bo_fini(b->program);
	if (!ret)
		ret = core ? npu_submit_ext(b->dev, &job, &opts, 1, &first) : npu_submit(b->dev, &job, 1);
	if (!ret)
		ret = npu_bo_prep(out, -1);
	if (ret)
		client_die("job", ret);
}

static void start(struct buffers *b, int seed, size_t unused)
{
	int ret = b->dev ? 0 : npu_open(NULL, &b->dev);

	if (ret)
		client_die("open", ret);
	/* All that follows has other addresses. */
	b->shift = unused ? client_alloc(b->dev, unused, 1) : NULL;
	b->in = client_alloc(b->dev, OPS * STEP, seed);
	b->weights = client_alloc(b->dev, 4096, seed + 1);
	b->out = client_alloc(b->dev, OPS * STEP, 0);
	b->last = client_alloc(b->dev, STEP, 0);
	b->program = client_alloc(b->dev, 8192, 0);
}

/* Three operations in one job, and then a job that reads what the first of them wrote. */
static void run_both(struct buffers *b, void (*between)(struct buffers *b))
{
	struct npu_prog *p = npu_prog_new_for(npu_dev_chip(b->dev), core);

	add_product(p, b->in->iova, b->weights->iova, b->out->iova, M);
	for (uint32_t i = 0; i < 2; i++)
		add_product(p, b->in->iova + (i + 1) * STEP, b->weights->iova,
			    b->out->iova + STEP + i * M * 16, 2 * M);
	run(b, p, b->in, b->out);
	if (between)
		between(b);
	npu_prog_reset(p);
	add_product(p, b->out->iova, b->weights->iova, b->last->iova, M);
	run(b, p, b->out, b->last);
	npu_prog_free(p);
}

static void end(struct buffers *b)
{
	npu_bo_free(b->in);
	npu_bo_free(b->weights);
	npu_bo_free(b->out);
	npu_bo_free(b->last);
	npu_bo_free(b->program);
	npu_bo_free(b->shift);
	npu_close(b->dev);
}

static void ops_behind(int seed, size_t unused)
{
	struct buffers b = { 0 };

	start(&b, seed, unused);
	run_both(&b, NULL);
	end(&b);
}

static void ops(int seed)
{
	ops_behind(seed, 0);
}

/* A product that is divided between cores, each of which has programs of its own on an RK3576. */
static void cores(void)
{
	struct npu_weights_desc desc = { .size = sizeof(desc), .type = NPU_PREC_INT8, .n = 4 * N, .k = K };
	struct npu_rec_opts opts = { .size = sizeof(opts), .cores = 2 };
	static int8_t a[M * K], w[4 * N * K];
	struct npu_tensor *in, *out;
	struct npu_weights *weights;
	struct npu_rec *rec;
	struct npu_dev *dev;
	int ret;

	client_fill((uint8_t *)a, sizeof(a), 1);
	client_fill((uint8_t *)w, sizeof(w), 2);
	ret = npu_open(NULL, &dev);
	ret = ret ? ret : npu_weights_new(dev, &desc, w, &weights);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_INT8, M, K, &in);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_INT32, M, 4 * N, &out);
	ret = ret ? ret : npu_tensor_write(in, a, 0);
	ret = ret ? ret : npu_rec_new(dev, &opts, &rec);
	ret = ret ? ret : npu_rec_matmul(rec, in, weights, out, NULL);
	ret = ret ? ret : npu_rec_end(rec);
	ret = ret ? ret : npu_rec_run(rec);
	ret = ret ? ret : npu_rec_wait(rec, -1);
	if (ret)
		client_die("cores", ret);
	printf("%u chains\n", npu_rec_info(rec).chains);
	npu_rec_free(rec);
	npu_tensor_free(in);
	npu_tensor_free(out);
	npu_weights_free(weights);
	npu_close(dev);
}

static void *thread(void *seed)
{
	for (int i = 0; i < 4; i++)
		ops((int)(intptr_t)seed + i);
	return NULL;
}

static void threads(void)
{
	pthread_t t[3];

	for (intptr_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, thread, (void *)(10 * i + 1));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

static int forks(void)
{
	int status = 1;
	pid_t pid;

	ops(1);
	pid = fork();
	if (!pid) {
		ops(2);
		exit(0);
	}
	ops(3);
	waitpid(pid, &status, 0);
	return status != 0;
}

static void cancel_self(struct buffers *b)
{
	(void)b;
	pthread_cancel(pthread_self());
}

static void *cancelled(void *arg)
{
	struct buffers b = { 0 };

	(void)arg;
	start(&b, 1, 0);
	run_both(&b, cancel_self);
	return NULL;
}

/* A thread ends at its next cancellation point: that is behind its second submit, as ioctl() is none. */
static void cancel(void)
{
	pthread_t t;

	pthread_create(&t, NULL, cancelled, NULL);
	pthread_join(t, NULL);
	ops(2);
}

/* A child that fork() has not announced, and that ends by exit(). */
static void clones(void)
{
	pid_t pid;

	ops(1);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		exit(0);
	waitpid(pid, NULL, 0);
	ops(2);
}

static void on_signal(int sig)
{
	pid_t pid = fork();

	(void)sig;
	if (!pid) {
		fflush(NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* A child that a signal handler makes while a call is recorded: on the host, whose driver sends the signal. */
static void handler(void)
{
	signal(SIGUSR1, on_signal);
	setenv("FAKE_SIGNAL", "1", 1);
	ops(1);
}

/* ---- who closes what ---- */

static void on_alarm(int sig)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)sig;
	dup2(fd, fd + 1);
	close(fd + 1);
	close(fd);
}

/* A handler may call close(), wherever it interrupts the program. */
static void signals(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 8; i++)
		ops(i + 1);
	setitimer(ITIMER_REAL, &never, NULL);
}

/* The descriptors are the child's own, the memory is not. */
static void vfork_between(struct buffers *b)
{
	int fd = npu_fd(b->dev), status;
	pid_t pid = vfork();

	if (!pid) {
		close(fd);
		close_range(3, ~0u, 0);
		_exit(0);
	}
	waitpid(pid, &status, 0);
}

static void vforks(void)
{
	struct buffers b = { 0 };

	start(&b, 1, 0);
	run_both(&b, vfork_between);
	end(&b);
}

/* A child of vfork() makes the first call of all. */
static void early(void)
{
	pid_t pid = vfork();

	if (!pid) {
		close(STDIN_FILENO);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	ops(1);
}

static void complain_to_nobody(struct buffers *b)
{
	(void)b;
	if (write(STDERR_FILENO, "nobody reads this\n", 18) != -1)
		exit(1);
}

/* As daemons do. */
static void mute(void)
{
	struct buffers b = { 0 };

	start(&b, 1, 0);
	close(STDERR_FILENO);
	run_both(&b, complain_to_nobody);
	end(&b);
}

/* Another file gets the number of one that was never closed by close(). */
static void replaced(const char *how)
{
	struct buffers a = { 0 }, b = { 0 };
	struct npu_dev *dev;
	int fd;

	start(&a, 1, 0);
	run_both(&a, NULL);
	fd = npu_fd(a.dev);
	if (!strcmp(how, "dup2")) {
		if (npu_open(NULL, &dev) || dup2(npu_fd(dev), fd) != fd)
			client_die("dup2", -1);
		npu_close(dev);
		b.dev = a.dev;
	} else if (!strcmp(how, "range")) {
		close_range((unsigned int)fd, (unsigned int)fd, 0);
	} else {
		closefrom(fd);
	}
	start(&b, 2, 0);
	run_both(&b, NULL);
	end(&b);
}

/* In a program that the recorder is linked into, after the recorder's own. */
static bool runs_at_exit;

static void __attribute__((destructor(101))) at_exit(void)
{
	if (runs_at_exit)
		ops(2);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	core = !strcmp(what, "core1");
	if (!strcmp(what, "fork"))
		return forks();
	if (!strcmp(what, "clone"))
		clones();
	else if (!strcmp(what, "handler"))
		handler();
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "signals"))
		signals();
	else if (!strcmp(what, "vfork"))
		vforks();
	else if (!strcmp(what, "early"))
		early();
	else if (!strcmp(what, "cancel"))
		cancel();
	else if (!strcmp(what, "mute"))
		mute();
	else if (!strcmp(what, "dup2") || !strcmp(what, "range") || !strcmp(what, "from"))
		replaced(what);
	else if (!strcmp(what, "misc"))
		client_misc();
	else if (!strcmp(what, "numbers"))
		return client_has_numbers() ? 0 : 1;
	else if (!strcmp(what, "unlisted"))
		client_unlisted();
	else if (!strcmp(what, "failed"))
		client_failed();
	else if (!strcmp(what, "late"))
		client_late();
	else if (!strcmp(what, "cores"))
		cores();
	else if (!strcmp(what, "shifted"))
		ops_behind(1, 3 * STEP);
	else
		ops(1);
	runs_at_exit = !strcmp(what, "exit");
	if (!strcmp(what, "killed"))
		raise(SIGKILL);
	return 0;
}
