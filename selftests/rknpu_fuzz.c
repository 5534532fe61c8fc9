// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients that send the driver anything but sense, on all of its nodes, some of
 * them killed in the middle, beside some that check their own results throughout.
 *
 * RKNPU_FUZZ_SECONDS (15) bounds the time, RKNPU_FUZZ_SEED picks what is sent:
 * the calls of a thread follow from the seed, how threads meet does not.
 *
 * boot: fuzz TEST_LIMIT=600 --may-read-dirty --param vendor_misc=1
 * Calls at random on all nodes; kmemleak and its share of the host's time come on top. The longest comes first.
 * boot: debug-fuzz KERNEL=debug TEST_LIMIT=4000 ENV=RKNPU_FUZZ_SECONDS=900 --may-read-dirty --param vendor_misc=1
 * boot: debug-fuzzhour KERNEL=debug RARE TEST_LIMIT=9000 ENV=RKNPU_FUZZ_SECONDS=3600 --may-read-dirty --param vendor_misc=1
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

#include <drm.h>

#include "kselftest.h"
#include "rknpu_fuzz.h"

#define CLIENTS		3
#define LIFE_CALLS	3000
#define ERRNOS		134
/* As arm64 has it: never a user's. */
#define KERNEL_ADDR	0xffff800010000000ull

enum op {
	OP_CREATE, OP_SUBMIT, OP_PREP, OP_FINI, OP_RANGES, OP_SUBMIT_EXT, OP_WAIT_JOB, OP_PARAM,
	OP_BO_INFO, OP_SYNCOBJ, OP_CLOSE, OP_MMAP, OP_PRIME, OP_RAW, OP_SCRIBBLE,
	OP_V_CREATE, OP_V_MAP, OP_V_DESTROY, OP_V_SYNC, OP_V_SUBMIT, OP_V_ACTION, OP_V_RAW,
	OP_V_PRIME, OP_V_REOPEN, OP_REOPEN, OP_FORK, OP_NUM
};

static const char *const op_names[OP_NUM] = {
	"create_bo", "submit", "prep_bo", "fini_bo", "prep_fini_ranges", "submit_ext", "wait_job",
	"get_param", "get_bo_info", "syncobj", "gem_close", "mmap", "prime", "any_ioctl",
	"write_program", "v_mem_create", "v_mem_map", "v_mem_destroy", "v_mem_sync", "v_submit",
	"v_action", "v_any_ioctl", "v_prime", "v_reopen", "reopen", "fork",
};

static bool is_vendor(enum op op)
{
	return op >= OP_V_CREATE && op <= OP_V_REOPEN;
}

/* What came of it all, seen by every process. */
struct shared {
	atomic_uint ok[OP_NUM];
	atomic_uint err[OP_NUM][ERRNOS];
	atomic_uint lives, killed, crashed;
	atomic_uint jobs, vendor_jobs, failed, mismatched;
	atomic_int last_error;
	atomic_bool stop;
	bool vendor[FILES];
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

__thread struct thread *self;

uint64_t rnd(void)
{
	self->rng ^= self->rng << 13;
	self->rng ^= self->rng >> 7;
	self->rng ^= self->rng << 17;
	return self->rng * 0x2545f4914f6cdd1dull;
}

uint32_t below(uint32_t n)
{
	return (rnd() >> 33) % n;
}

bool one_in(uint32_t n)
{
	return !below(n);
}

uint64_t edge(void)
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

uint64_t pointer(void)
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

uint32_t number(void)
{
	return one_in(3) ? (uint32_t)rnd() : (uint32_t)edge();
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

bool touch(volatile uint8_t *p, size_t size, bool write)
{
	volatile bool done = false;

	may_fault = true;
	if (!sigsetjmp(fault_jump, 1)) {
		size_t at = rnd() % size;

		if (write)
			p[at] = rnd();
		else
			(void)p[at];
		done = true;
	}
	may_fault = false;
	return done;
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

/*
 * DRM's own calls on arrays of syncobjs ask the allocator for as many as user space says,
 * and the kernel warns of that, on any device with syncobjs: nothing to be found here.
 */
static bool drm_warns(unsigned int type, unsigned int nr)
{
	/* WAIT, RESET, SIGNAL, TIMELINE_WAIT, QUERY, TIMELINE_SIGNAL */
	static const unsigned int arrays[] = { 0xc3, 0xc4, 0xc5, 0xca, 0xcb, 0xcd };

	for (size_t i = 0; i < ARRAY_SIZE(arrays); i++)
		if (type == DRM_IOCTL_BASE && nr == arrays[i])
			return true;
	return false;
}

static int fuzz_raw(unsigned int f)
{
	uint64_t arg[32];
	unsigned int nr = one_in(2) ? DRM_COMMAND_BASE + below(0x30) : below(256);
	unsigned int size = one_in(2) ? below(256) : 8 * below(10);
	unsigned int type = one_in(30) ? below(256) : DRM_IOCTL_BASE;

	for (size_t i = 0; i < ARRAY_SIZE(arg); i++)
		arg[i] = one_in(2) ? pointer() : edge();
	if (drm_warns(type, nr))
		return -EINVAL;
	return rk_ioctl(cl()->fd[f], _IOC(below(4), type, nr, size),
			one_in(10) ? (void *)(uintptr_t)pointer() : arg);
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
	[OP_RANGES] = fuzz_ranges, [OP_SUBMIT_EXT] = fuzz_submit_ext,
	[OP_WAIT_JOB] = fuzz_wait_job, [OP_PARAM] = fuzz_param, [OP_BO_INFO] = fuzz_bo_info,
	[OP_SYNCOBJ] = fuzz_syncobj,
	[OP_PRIME] = fuzz_prime, [OP_RAW] = fuzz_raw, [OP_SCRIBBLE] = fuzz_scribble,
	[OP_V_CREATE] = fuzz_v_create, [OP_V_MAP] = fuzz_v_map, [OP_V_DESTROY] = fuzz_v_destroy,
	[OP_V_SYNC] = fuzz_v_sync, [OP_V_SUBMIT] = fuzz_v_submit, [OP_V_ACTION] = fuzz_v_action,
	[OP_V_RAW] = fuzz_v_raw, [OP_V_PRIME] = fuzz_v_prime, [OP_V_REOPEN] = fuzz_v_reopen,
	[OP_REOPEN] = fuzz_reopen, [OP_FORK] = fuzz_fork,
};

static int fuzz_one(void)
{
	enum op op = below(OP_NUM);
	unsigned int f = below(FILES);

	/* The slow ones less often. */
	if (op >= OP_V_REOPEN && !one_in(10))
		op = below(OP_V_REOPEN);
	if (is_vendor(op) && !shared->vendor[f])
		f = 0;
	if (!is_vendor(op) || shared->vendor[f])
		count(op, fuzz_ops[op](f));
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
	memset(c->sync[f], 0, sizeof(c->sync[f]));
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
	struct thread first = { .client = &c };
	pthread_t id[THREADS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &core);
	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	first.rng = seed * 3 + 1;
	self = &first;
	for (int f = 0; f < FILES; f++)
		if (client_file(&c, f) || (shared->vendor[f] && vendor_file(&c, f)))
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

static void verify_vendor(void)
{
	int fd = rv_open(), ret = fd;
	struct rv_chain c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd >= 0)
		ret = rv_chain_init(&c, fd, 3, 0, 0);
	for (int v = 0; !ret && !shared->stop; v = (v + 1) % 120) {
		ret = rv_chain_run(&c, v);
		if (ret == -EILSEQ)
			shared->mismatched++;
		else
			shared->vendor_jobs += !ret;
		if (ret && ret != -EILSEQ) {
			shared->failed++;
			shared->last_error = -ret;
		}
		ret = 0;
	}
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
	/* And what who makes descriptors may always hear. */
	static const int vendor[] = { ETIMEDOUT, EIO, ECANCELED, EBUSY, EMFILE };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (err == all[i])
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(submit); i++)
		if ((op == OP_SUBMIT || op == OP_SUBMIT_EXT) && err == submit[i])
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(prep); i++)
		if ((op == OP_PREP || op == OP_RANGES) && err == prep[i])
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(vendor) && is_vendor(op); i++)
		if (err == vendor[i])
			return true;
	if (op == OP_WAIT_JOB)
		return err == ETIMEDOUT || err == EBUSY;
	return (op == OP_CREATE || op == OP_BO_INFO) && err == ENOSPC;
}

/* The others' answers are drm's, or the VFS's. */
static bool has_documentation(enum op op)
{
	return op <= OP_BO_INFO || (is_vendor(op) && op <= OP_V_ACTION && op != OP_V_MAP);
}

static bool is_ioctl(enum op op)
{
	return op != OP_MMAP && op != OP_SCRIBBLE && op != OP_V_REOPEN && op != OP_REOPEN &&
	       op != OP_FORK;
}

static bool print_counts(void)
{
	unsigned long long calls = 0, ioctls = 0;
	bool ok = true;

	for (int op = 0; op < OP_NUM; op++) {
		unsigned long long done = shared->ok[op];
		char line[512];
		int n = snprintf(line, sizeof(line), "%s: %u done", op_names[op], shared->ok[op]);

		for (int e = 0; e < ERRNOS && n < (int)sizeof(line); e++) {
			if (!shared->err[op][e])
				continue;
			done += shared->err[op][e];
			n += snprintf(line + n, sizeof(line) - n, ", %u %s", shared->err[op][e],
				      e ? rk_errno_name(e) : "?");
			if (has_documentation(op) && !documented(op, e)) {
				ksft_print_msg("%s: errno %d is not documented\n",
					       op_names[op], e);
				ok = false;
			}
		}
		ksft_print_msg("%s\n", line);
		calls += done;
		ioctls += is_ioctl(op) ? done : 0;
	}
	ksft_print_msg("%llu calls, of them %llu ioctls\n", calls, ioctls);
	ksft_print_msg("%u lives, %u killed, %u crashed; beside them %u and %u good jobs\n",
		       shared->lives, shared->killed, shared->crashed, shared->jobs,
		       shared->vendor_jobs);
	return ok;
}

/* From @op on the first call that never got through, or OP_NUM. */
static int never_right(int op)
{
	for (; op < OP_NUM; op++) {
		if (shared->ok[op] || (is_vendor(op) && !shared->vendor[0]))
			continue;
		/* What these send is hardly ever right. */
		if (op != OP_RAW && op != OP_V_RAW)
			break;
	}
	return op;
}

static bool each_got_through(void)
{
	int op = never_right(0);

	for (int more = op; more < OP_NUM; more = never_right(more + 1))
		ksft_print_msg("%s never did anything\n", op_names[more]);
	return op == OP_NUM;
}

/*
 * Clients live until their calls are used up or they are killed; others follow. On a busy
 * host there are few calls, and it takes longer for each to have been right once.
 */
static void run(unsigned int seconds, uint64_t seed)
{
	int64_t end = rk_now() + seconds * 1000ll * RK_MS;
	int64_t latest = end + 120 * 1000ll * RK_MS;
	pid_t pid[CLIENTS] = { 0 };
	struct thread mine = { .rng = seed * 2 + 1 };

	self = &mine;
	while (rk_now() < (never_right(0) < OP_NUM ? latest : end)) {
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

static const struct rk_named cases[] = {
	{ "every_errno_is_documented", "calls fail with documented errnos only" },
	{ "every_call_got_through_sometimes", "each call was right often enough to do something" },
	{ "the_other_clients_got_all_their_results", "clients beside the random ones get every result" },
	{ "no_bo_is_left", "no BO is left when the clients are gone" },
	{ "no_address_space_is_left", "no address space is left when the clients are gone" },
	{ "every_core_works", "each core works afterwards" },
	{ "no_unpowered_access", "no register was touched without power" },
};

int main(int argc, char **argv)
{
	long long bos = rk_stat("bos"), vms = rk_stat("vms");
	uint64_t seed = from_env("RKNPU_FUZZ_SEED", 1);
	unsigned int seconds = from_env("RKNPU_FUZZ_SECONDS", 15);
	int fd, status = -1, vendor_status = 0;
	pid_t verifier, vendor_verifier = 0;

	if (rk_listed(argc, argv, cases, ARRAY_SIZE(cases)))
		return 0;
	ksft_print_header();
	fd = rk_open();
	if (fd < 0)
		ksft_exit_skip("no NPU: %s\n", strerror(-fd));
	close(fd);
	rk_model_calm();
	ksft_set_plan(ARRAY_SIZE(cases));
	ksft_print_msg("seed %llu, %u s\n", (unsigned long long)seed, seconds);

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		ksft_exit_fail_msg("no memory\n");
	for (int f = 0; f < FILES; f++)
		shared->vendor[f] = vendor_there(f);
	verifier = fork();
	if (!verifier)
		verify();
	if (shared->vendor[0])
		vendor_verifier = fork();
	if (shared->vendor[0] && !vendor_verifier)
		verify_vendor();
	run(seconds, seed);
	waitpid(verifier, &status, 0);
	if (vendor_verifier > 0)
		waitpid(vendor_verifier, &vendor_status, 0);

	ksft_test_result(print_counts(), "every_errno_is_documented\n");
	ksft_test_result(each_got_through(), "every_call_got_through_sometimes\n");
	if (shared->failed)
		ksft_print_msg("%u jobs of the other clients failed, the last with %s\n",
			       shared->failed, strerror(shared->last_error));
	ksft_test_result(!status && !vendor_status && !shared->mismatched && !shared->failed &&
			 shared->jobs && (shared->vendor_jobs || !shared->vendor[0]),
			 "the_other_clients_got_all_their_results\n");
	ksft_test_result(rk_stat_settles("bos", bos), "no_bo_is_left\n");
	ksft_test_result(rk_stat_settles("vms", vms), "no_address_space_is_left\n");
	fd = rk_open();
	ksft_test_result(fd >= 0 && !rk_run_on_every_core(fd, 5), "every_core_works\n");
	ksft_test_result(rk_count_all(NPU_CNT_ABORT) == 0, "no_unpowered_access\n");
	ksft_finished();
}
