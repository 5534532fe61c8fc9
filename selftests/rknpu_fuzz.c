// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients that send the driver anything but sense, some of them killed in the
 * middle, beside one that checks its own results throughout.
 *
 * RKNPU_FUZZ_SECONDS (15) bounds the time, RKNPU_FUZZ_SEED picks what is sent:
 * the calls of a thread follow from the seed, how threads meet does not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/drm.h>

#include "kselftest.h"
#include "rknpu_util.h"

#define CLIENTS		3
#define THREADS		2
#define FILES		2
#define BOS		12
#define ARENA		(2 * RK_PAGE)
#define LIFE_CALLS	3000
#define ERRNOS		134
/* As arm64 has it: never a user's. */
#define KERNEL_ADDR	0xffff800010000000ull

enum op {
	OP_CREATE, OP_SUBMIT, OP_PREP, OP_FINI, OP_CLOSE, OP_MMAP, OP_PRIME, OP_RAW,
	OP_SCRIBBLE, OP_REOPEN, OP_FORK, OP_NUM
};

static const char *const op_names[OP_NUM] = {
	"create_bo", "submit", "prep_bo", "fini_bo", "gem_close", "mmap", "prime", "any_ioctl",
	"write_program", "reopen", "fork",
};

/* What came of it all, seen by every process. */
struct shared {
	atomic_uint ok[OP_NUM];
	atomic_uint err[OP_NUM][ERRNOS];
	atomic_uint lives, killed, crashed;
	atomic_uint jobs, failed, mismatched;
	atomic_int last_error;
	atomic_bool stop;
};

static struct shared *shared;

static void count(enum op op, int ret)
{
	if (ret >= 0)
		shared->ok[op]++;
	else
		shared->err[op][-ret < ERRNOS ? -ret : 0]++;
}

/* ---- random values ---- */

struct thread {
	uint64_t rng;
	uint8_t *arena;
	struct client *client;
};

static __thread struct thread *self;

static uint64_t rnd(void)
{
	self->rng ^= self->rng << 13;
	self->rng ^= self->rng >> 7;
	self->rng ^= self->rng << 17;
	return self->rng * 0x2545f4914f6cdd1dull;
}

static uint32_t below(uint32_t n)
{
	return (rnd() >> 33) % n;
}

static bool one_in(uint32_t n)
{
	return !below(n);
}

/* Never the address of anything: a driver that writes there must fail. */
static uint64_t edge(void)
{
	static const uint64_t edges[] = {
		0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 39, 40, 41, 48, 63, 64, 255, 256, 1023,
		1024, 1025, 4095, 4096, 4097, 8192, 65535, 65536, 65537, 131072, 131073,
		0x7fffefff, 0x7ffff000, 0x7fffffff, 0x80000000, 0xfffff000, 0xffffffff,
		0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffff0000,
		0xffffffffffffffff, KERNEL_ADDR,
	};

	return edges[below(ARRAY_SIZE(edges))];
}

static uint64_t pointer(void)
{
	switch (below(6)) {
	case 0:
		return edge();
	case 1:
		return (uintptr_t)self->arena + ARENA - below(100);
	case 2:
		return (uintptr_t)self->arena + below(ARENA);
	default:
		return (uintptr_t)self->arena + 8 * below(ARENA / 8);
	}
}

static uint32_t number(void)
{
	return one_in(3) ? (uint32_t)rnd() : (uint32_t)edge();
}

/* ---- what the threads of a client share, without any locks ---- */

struct bo {
	uint32_t handle;
	uint32_t size;
	uint64_t iova;
	uint64_t offset;
};

struct client {
	int fd[FILES];
	struct bo bo[FILES][BOS];
	/* A good program to start from, in BO 0 of each file. */
	struct rk_op op[FILES];
	struct drm_rocket_task task[FILES];
	struct rk_bo in[FILES];
	struct thread threads[THREADS];
};

static struct client *cl(void)
{
	return self->client;
}

/* One that exists, mostly. */
static struct bo *some_bo(unsigned int f)
{
	struct bo *bo = &cl()->bo[f][below(BOS)];

	for (int i = 0; i < 8 && !bo->handle; i++)
		bo = &cl()->bo[f][below(BOS)];
	return bo;
}

static uint32_t some_handle(unsigned int f)
{
	switch (below(8)) {
	case 0:
		return number();
	case 1:
		return cl()->bo[(f + 1) % FILES][below(BOS)].handle;
	case 2:
		return cl()->in[f].handle;
	default:
		return some_bo(f)->handle;
	}
}

static int fuzz_create(unsigned int f)
{
	struct drm_rocket_create_bo c = { .size = 1 + below(64 << 10) };
	struct bo *bo = &cl()->bo[f][below(BOS)];
	int ret;

	if (one_in(4))
		c.size = number();
	/* All the memory there is would starve the other client, and what is above is refused. */
	if (c.size <= 0x7ffff000)
		c.size &= 0xfffff;
	if (one_in(4)) {
		c.handle = number();
		c.dma_address = rnd();
		c.offset = rnd();
	}
	ret = rk_ioctl(cl()->fd[f], DRM_IOCTL_ROCKET_CREATE_BO,
		       one_in(20) ? (void *)pointer() : &c);
	if (!ret && c.handle) {
		rk_gem_close(cl()->fd[f], bo->handle);
		*bo = (struct bo) { c.handle, c.size, c.dma_address, c.offset };
	}
	return ret;
}

static void fuzz_job(unsigned int f, struct drm_rocket_job *job, unsigned int slot)
{
	struct drm_rocket_task *tasks = (void *)(self->arena + 1024 + slot * 256);
	uint32_t *in = (void *)(self->arena + 4096 + slot * 128);
	uint32_t *out = in + 16;
	unsigned int ntasks = 1 + below(8), nin = below(4), nout = 1 + below(4);

	for (unsigned int i = 0; i < ntasks; i++) {
		const struct bo *bo = some_bo(f);

		tasks[i] = cl()->task[f];
		if (one_in(6))
			tasks[i].regcmd = bo->iova + 16 * below(256);
		if (one_in(60))
			tasks[i].regcmd = number();
		if (one_in(60))
			tasks[i].regcmd_count = number();
	}
	for (unsigned int i = 0; i < nin; i++)
		in[i] = one_in(30) ? some_handle(f) : cl()->in[f].handle;
	for (unsigned int i = 0; i < nout; i++)
		out[i] = one_in(30) ? some_handle(f) : cl()->op[f].bo.handle;
	rk_job(job, tasks, ntasks, in, nin, out, nout);
	if (!one_in(4))
		return;
	switch (below(7)) {
	case 0:
		job->tasks = pointer();
		break;
	case 1:
		job->in_bo_handles = pointer();
		break;
	case 2:
		job->out_bo_handles = pointer();
		break;
	case 3:
		job->task_count = number();
		break;
	case 4:
		job->task_struct_size = number();
		break;
	case 5:
		job->in_bo_handle_count = number();
		break;
	case 6:
		job->out_bo_handle_count = number();
		break;
	}
}

static int fuzz_submit(unsigned int f)
{
	struct drm_rocket_job *jobs = (void *)self->arena;
	unsigned int njobs = 1 + below(6);
	struct drm_rocket_submit s = {
		.jobs = (uintptr_t)jobs, .job_count = njobs, .job_struct_size = sizeof(*jobs),
	};

	for (unsigned int i = 0; i < njobs; i++)
		fuzz_job(f, &jobs[i], i);
	if (one_in(5)) {
		switch (below(4)) {
		case 0:
			s.jobs = pointer();
			break;
		case 1:
			s.job_count = number();
			break;
		case 2:
			s.job_struct_size = number();
			break;
		case 3:
			s.reserved = edge();
			break;
		}
	}
	return rk_ioctl(cl()->fd[f], DRM_IOCTL_ROCKET_SUBMIT, one_in(30) ? (void *)pointer() : &s);
}

static int fuzz_prep(unsigned int f)
{
	struct drm_rocket_prep_bo p = {
		.handle = some_handle(f),
		.reserved = one_in(10) ? number() : 0,
		.timeout_ns = one_in(4) ? (int64_t)edge() : rk_now() + below(50 * RK_MS),
	};

	/* As long as that may never end for one who waits for himself. */
	if (p.timeout_ns > rk_now() + 2000 * RK_MS)
		p.timeout_ns = rk_now() + 200 * RK_MS;
	return rk_ioctl(cl()->fd[f], DRM_IOCTL_ROCKET_PREP_BO, one_in(30) ? (void *)pointer() : &p);
}

static int fuzz_fini(unsigned int f)
{
	struct drm_rocket_fini_bo p = {
		.handle = some_handle(f), .reserved = one_in(10) ? number() : 0,
	};

	return rk_ioctl(cl()->fd[f], DRM_IOCTL_ROCKET_FINI_BO, one_in(30) ? (void *)pointer() : &p);
}

static int fuzz_close(unsigned int f)
{
	struct bo *bo = &cl()->bo[f][below(BOS)];

	return rk_gem_close(cl()->fd[f], one_in(3) ? some_handle(f) : bo->handle);
}

/* ---- memory ---- */

static __thread sigjmp_buf fault_jump;
static __thread bool may_fault;

static void on_fault(int sig)
{
	if (!may_fault)
		_exit(100);
	siglongjmp(fault_jump, 1);
}

static void touch(volatile uint8_t *p, size_t size, bool write)
{
	may_fault = true;
	if (!sigsetjmp(fault_jump, 1)) {
		size_t at = rnd() % size;

		if (write)
			p[at] = rnd();
		else
			(void)p[at];
	}
	may_fault = false;
}

static int fuzz_mmap(unsigned int f)
{
	const struct bo *bo = some_bo(f);
	static const int prots[] = {
		PROT_READ | PROT_WRITE, PROT_READ, PROT_WRITE, PROT_NONE, PROT_READ | PROT_EXEC,
	};
	int prot = one_in(3) ? prots[below(ARRAY_SIZE(prots))] : prots[0];
	int flags = one_in(6) ? MAP_PRIVATE : MAP_SHARED;
	uint64_t offset = bo->offset;
	size_t size = bo->size ? bo->size : RK_PAGE;
	void *p;

	if (one_in(4))
		offset += RK_PAGE * (below(5) - 2ull);
	if (one_in(10))
		offset = edge();
	if (one_in(4))
		size = 1 + (edge() & 0xffffff);
	p = mmap(NULL, size, prot, flags, cl()->fd[f], offset);
	if (p == MAP_FAILED)
		return -errno;
	if (prot & PROT_READ)
		touch(p, size, prot & PROT_WRITE);
	if (one_in(4))
		madvise(p, size, below(24));
	if (one_in(8) && size > RK_PAGE)
		munmap(p, RK_PAGE);
	return munmap(p, size) ? -errno : 0;
}

/* Random bytes, or a good program with one bit of it wrong. */
static void scribble(uint64_t *p, unsigned int f)
{
	if (one_in(4)) {
		for (int i = 0; i < 512; i++)
			p[i] = rnd();
		return;
	}
	memcpy(p, cl()->op[f].bo.map + 2 * RK_PAGE, RK_PAGE);
	p[below(cl()->task[f].regcmd_count)] ^= 1ull << below(64);
}

static int fuzz_scribble(unsigned int f)
{
	const struct bo *bo = some_bo(f);
	void *p;

	if (!bo->handle || bo->size < RK_PAGE)
		return -ENOENT;
	p = mmap(NULL, RK_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, cl()->fd[f], bo->offset);
	if (p == MAP_FAILED)
		return -errno;
	may_fault = true;
	if (!sigsetjmp(fault_jump, 1))
		scribble(p, f);
	may_fault = false;
	munmap(p, RK_PAGE);
	return 0;
}

/* ---- descriptors ---- */

static int fuzz_prime(unsigned int f)
{
	struct drm_prime_handle p = { .handle = some_handle(f), .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_prime_handle back = { 0 };
	int ret;

	if (one_in(8))
		p.flags = number();
	ret = rk_ioctl(cl()->fd[f], DRM_IOCTL_PRIME_HANDLE_TO_FD, &p);
	if (ret)
		return ret;
	back.fd = one_in(8) ? (int)number() : p.fd;
	ret = rk_ioctl(cl()->fd[below(FILES)], DRM_IOCTL_PRIME_FD_TO_HANDLE, &back);
	if (!ret && one_in(2))
		cl()->bo[f][below(BOS)].handle = back.handle;
	close(p.fd);
	return ret;
}

static int fuzz_raw(unsigned int f)
{
	uint64_t arg[32];
	unsigned int nr = one_in(2) ? DRM_COMMAND_BASE + below(0x30) : below(256);
	unsigned int size = one_in(2) ? below(256) : 8 * below(10);
	unsigned int type = one_in(30) ? below(256) : DRM_IOCTL_BASE;

	for (size_t i = 0; i < ARRAY_SIZE(arg); i++)
		arg[i] = one_in(2) ? pointer() : edge();
	return rk_ioctl(cl()->fd[f], _IOC(below(4), type, nr, size),
			one_in(10) ? (void *)pointer() : arg);
}

static int client_file(struct client *c, unsigned int f);

/* A duplicate keeps the file for a while, or it ends under the other thread's calls. */
static int fuzz_reopen(unsigned int f)
{
	int old = cl()->fd[f], kept = one_in(2) ? dup(old) : -1, ret;

	close(old);
	if (kept >= 0) {
		rk_prep_until(kept, some_handle(f), 0);
		close(kept);
	}
	ret = client_file(cl(), f);
	return ret;
}

static int fuzz_one(void);

static int fuzz_fork(unsigned int f)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		self->rng += 0x9e3779b97f4a7c15;
		for (int i = 0; i < 5; i++)
			fuzz_one();
		_exit(0);
	}
	if (one_in(2)) {
		rk_sleep_ms(below(10));
		kill(pid, SIGKILL);
	}
	waitpid(pid, NULL, 0);
	return 0;
}

static int (*const fuzz_ops[OP_NUM])(unsigned int f) = {
	[OP_CREATE] = fuzz_create, [OP_SUBMIT] = fuzz_submit, [OP_PREP] = fuzz_prep,
	[OP_FINI] = fuzz_fini, [OP_CLOSE] = fuzz_close, [OP_MMAP] = fuzz_mmap,
	[OP_PRIME] = fuzz_prime, [OP_RAW] = fuzz_raw, [OP_SCRIBBLE] = fuzz_scribble,
	[OP_REOPEN] = fuzz_reopen, [OP_FORK] = fuzz_fork,
};

static int fuzz_one(void)
{
	enum op op = below(OP_NUM);

	/* The slow ones less often. */
	if (op >= OP_REOPEN && !one_in(10))
		op = below(OP_REOPEN);
	count(op, fuzz_ops[op](below(FILES)));
	return 0;
}

/* ---- the life of a client ---- */

static int client_file(struct client *c, unsigned int f)
{
	int ret = rk_open();

	if (ret < 0)
		return ret;
	c->fd[f] = ret;
	memset(c->bo[f], 0, sizeof(c->bo[f]));
	if (c->op[f].bo.map)
		munmap(c->op[f].bo.map, c->op[f].bo.size);
	if (c->in[f].map)
		munmap(c->in[f].map, c->in[f].size);
	memset(&c->op[f], 0, sizeof(c->op[f]));
	ret = rk_op_init(&c->op[f], c->fd[f], RK_M, 1, 1);
	if (!ret)
		ret = rk_bo_init(&c->in[f], c->fd[f], RK_BYTES);
	if (!ret)
		ret = rk_op_task(&c->op[f], c->in[f].iova, c->op[f].bo.iova + 48 * 1024,
				 &c->task[f]);
	return ret;
}

static void *fuzz_thread(void *arg)
{
	self = arg;
	for (int i = 0; i < LIFE_CALLS && !shared->stop; i++)
		fuzz_one();
	return NULL;
}

static void live(uint64_t seed)
{
	struct rlimit files = { 64, 64 }, core = { 0, 0 };
	static struct client c;
	pthread_t id[THREADS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &core);
	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	for (int f = 0; f < FILES; f++)
		if (client_file(&c, f))
			_exit(101);
	for (int i = 0; i < THREADS; i++) {
		struct thread *t = &c.threads[i];

		t->client = &c;
		t->rng = (seed * THREADS + i + 1) * 0x9e3779b97f4a7c15;
		/* Nothing lies behind it. */
		t->arena = mmap(NULL, ARENA + RK_PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (t->arena == MAP_FAILED || mprotect(t->arena + ARENA, RK_PAGE, PROT_NONE) ||
		    pthread_create(&id[i], NULL, fuzz_thread, t))
			_exit(102);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	_exit(0);
}

static pid_t start_client(uint64_t seed)
{
	pid_t pid = fork();

	if (!pid)
		live(seed);
	shared->lives++;
	return pid;
}

/* ---- the one that checks ---- */

static void verify(void)
{
	struct rk_client c;
	int ret = rk_client_init(&c);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int v = 0; !ret && !shared->stop; v = (v + 1) % 120) {
		ret = rk_client_run(&c, v);
		if (ret == -EILSEQ)
			shared->mismatched++;
		else
			shared->jobs += !ret;
		if (ret && ret != -EILSEQ) {
			shared->failed++;
			shared->last_error = -ret;
		}
		ret = 0;
	}
	if (!ret)
		rk_client_fini(&c);
	_exit(ret ? 1 : 0);
}

/* ---- results ---- */

/*
 * What include/uapi/drm/rocket_accel.h documents, and what any descriptor may
 * say, also one that is no NPU's any more when the call is made.
 */
static bool documented(enum op op, int err)
{
	static const int all[] = { EINVAL, ENOENT, EFAULT, EBADF, ENOTTY, EINTR, ENOMEM, ENODEV };
	static const int submit[] = { E2BIG, EBUSY };
	static const int prep[] = { ETIMEDOUT, EBUSY, ETIME, EIO, ECANCELED };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (err == all[i])
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(submit) && op == OP_SUBMIT; i++)
		if (err == submit[i])
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(prep) && op == OP_PREP; i++)
		if (err == prep[i])
			return true;
	return op == OP_CREATE && err == ENOSPC;
}

static bool print_counts(void)
{
	bool ok = true;

	for (int op = 0; op < OP_NUM; op++) {
		char line[512];
		int n = snprintf(line, sizeof(line), "%s: %u done", op_names[op], shared->ok[op]);

		for (int e = 0; e < ERRNOS && n < (int)sizeof(line); e++) {
			if (!shared->err[op][e])
				continue;
			n += snprintf(line + n, sizeof(line) - n, ", %u %s", shared->err[op][e],
				      e ? strerrorname_np(e) : "?");
			if (op <= OP_FINI && !documented(op, e)) {
				ksft_print_msg("%s: errno %d is not documented\n",
					       op_names[op], e);
				ok = false;
			}
		}
		ksft_print_msg("%s\n", line);
	}
	ksft_print_msg("%u lives, %u killed, %u crashed; beside them %u good jobs\n",
		       shared->lives, shared->killed, shared->crashed, shared->jobs);
	return ok;
}

static bool each_got_through(void)
{
	for (int op = 0; op < OP_NUM; op++)
		if (!shared->ok[op])
			return false;
	return true;
}

static bool settles(const char *stat, long long value)
{
	for (int i = 0; i < 200 && rk_stat(stat) != value; i++)
		rk_sleep_ms(50);
	ksft_print_msg("%s: %lld before, %lld now\n", stat, value, rk_stat(stat));
	return rk_stat(stat) == value;
}

/* Clients live until their calls are used up or they are killed; others follow. */
static void run(unsigned int seconds, uint64_t seed)
{
	int64_t end = rk_now() + seconds * 1000ll * RK_MS;
	pid_t pid[CLIENTS] = { 0 };
	struct thread mine = { .rng = seed * 2 + 1 };

	self = &mine;
	while (rk_now() < end) {
		for (int i = 0; i < CLIENTS; i++) {
			int status = 0;

			if (pid[i] > 0 && one_in(100)) {
				kill(pid[i], SIGKILL);
				shared->killed++;
				waitpid(pid[i], NULL, 0);
				pid[i] = 0;
			} else if (pid[i] > 0 && waitpid(pid[i], &status, WNOHANG) == pid[i]) {
				shared->crashed += status != 0;
				pid[i] = 0;
			}
			if (pid[i] <= 0)
				pid[i] = start_client(++seed);
		}
		rk_sleep_ms(20);
	}
	shared->stop = true;
	for (int i = 0; i < CLIENTS; i++) {
		if (pid[i] <= 0)
			continue;
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
}

static unsigned long long from_env(const char *name, unsigned long long def)
{
	const char *env = getenv(name);

	return env ? strtoull(env, NULL, 0) : def;
}

int main(void)
{
	long long bos = rk_stat("bos"), vms = rk_stat("vms");
	uint64_t seed = from_env("RKNPU_FUZZ_SEED", 1);
	unsigned int seconds = from_env("RKNPU_FUZZ_SECONDS", 15);
	int fd, status = -1;
	pid_t verifier;

	ksft_print_header();
	fd = rk_open();
	if (fd < 0)
		ksft_exit_skip("no NPU: %s\n", strerror(-fd));
	close(fd);
	rk_model_calm();
	ksft_set_plan(7);
	ksft_print_msg("seed %llu, %u s\n", (unsigned long long)seed, seconds);

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		ksft_exit_fail_msg("no memory\n");
	verifier = fork();
	if (!verifier)
		verify();
	run(seconds, seed);
	waitpid(verifier, &status, 0);

	ksft_test_result(print_counts(), "every_errno_is_documented\n");
	ksft_test_result(each_got_through(), "every_call_got_through_sometimes\n");
	if (shared->failed)
		ksft_print_msg("%u jobs of the other client failed, the last with %s\n",
			       shared->failed, strerror(shared->last_error));
	ksft_test_result(!status && !shared->mismatched && !shared->failed && shared->jobs,
			 "the_other_client_got_all_its_results\n");
	ksft_test_result(settles("bos", bos), "no_bo_is_left\n");
	ksft_test_result(settles("vms", vms), "no_address_space_is_left\n");
	fd = rk_open();
	ksft_test_result(fd >= 0 && !rk_run_on_every_core(fd, 5), "every_core_works\n");
	ksft_test_result(rk_count_all(NPU_CNT_ABORT) == 0, "no_unpowered_access\n");
	ksft_finished();
}
