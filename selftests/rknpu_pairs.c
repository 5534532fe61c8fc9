// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every call of both uAPIs at the same time as every other one, by two threads and on the same
 * objects. In a round the second thread's call comes at a random moment of the first one's; in
 * half of them it then gives up every name of every object. Three ways to meet: on two CPUs; on
 * one, where the second thread preempts the first one and runs whenever it can, for instance as
 * soon as a lock is given back that it waits for; and while the kernel reads an array of the
 * first one's arguments, which is not there before the second one's call is over.
 *
 * RKNPU_PAIRS_ROUNDS rounds (one of each pair) choose pairs by RKNPU_PAIRS_SEED (1).
 * RKNPU_PAIRS="one|other" runs that pair alone. Threads are named after their pair, so a report
 * of the kernel's tells which one it was.
 *
 * Any two calls at once, where memory that was freed is found out by its pattern.
 * boot: pairs LONG TEST_LIMIT=900 ENV=RKNPU_PAIRS_ROUNDS=1500 --cmdline slub_debug=FZPU --param vendor_misc=1
 * Any two calls at once: some rounds of each pair, where the boot "pairs" has a part of them.
 * boot: debug-pairs KERNEL=debug TEST_LIMIT=9000 ENV=RKNPU_PAIRS_ROUNDS=5000 --param vendor_misc=1
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_pairs.h"

#define MAX_OPS		128
#define ERRNOS		134
#define REPEATS		3
/* What names stand for drifts apart from what the pool thinks. */
#define RESET_ROUNDS	40
#define STUCK_MS	60000
/* Of each call, on average: none of it only ever fails. */
#define ENOUGH_ROUNDS	20
/* The most that is known of a call's own time. */
#define LONGEST_NS	(5 * RK_MS)
#define PRIORITY	50
#define MOMENT_NS	200000
#define STEP_NS		2000

enum pair_mode { TWO_CPUS, PREEMPTED, LATE };

/* Outlives the process that makes the calls. */
struct shared {
	atomic_uint round;
	atomic_uint first, second;
	atomic_bool dying;
	atomic_int error;
	atomic_uint met;
	atomic_uint ok[MAX_OPS];
	atomic_uint err[MAX_OPS][ERRNOS];
	/* Of the CPU's time that a call takes. */
	atomic_llong cost_ns[MAX_OPS];
};

static struct shared *shared;
static enum pair_mode mode;
static uint64_t seed;
static unsigned int rounds;
/* The only pair, or pair_op_count. */
static unsigned int only_first, only_second;

struct side {
	struct pair_ctx ctx;
	unsigned int op;
	unsigned int repeats;
	atomic_bool in_call;
};

static struct side a, b;
static bool drop, interrupt;
/* The second one's after the first one's begin. */
static int64_t delay_ns;
static int64_t wake_ns;
static pthread_t thread_a;
static sem_t go, done;
static atomic_int ready;
static int uffd = -1, over = -1;
static unsigned int fault_wanted;
static uint8_t *foreign_map;

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* ---- calls ---- */

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 * RK_MS + t.tv_nsec;
}

static void call(struct side *s)
{
	int64_t start = cpu_ns(), cost;

	for (unsigned int i = 0; i < s->repeats; i++) {
		int ret;

		if (mode == LATE && s == &a)
			madvise(s->ctx.seen, PAIR_PAGES * RK_PAGE, MADV_DONTNEED);
		if (pair_ops[s->op].flags & PAIR_LETHAL)
			shared->dying = true;
		ret = pair_ops[s->op].call(&s->ctx);
		if (ret >= 0)
			shared->ok[s->op]++;
		else
			shared->err[s->op][-ret < ERRNOS ? -ret : 0]++;
	}
	cost = cpu_ns() - start;
	cost = (7 * shared->cost_ns[s->op] + cost) / 8;
	shared->cost_ns[s->op] = cost < LONGEST_NS ? cost : LONGEST_NS;
}

static void call_second(void)
{
	b.in_call = true;
	shared->met += a.in_call;
	if (interrupt)
		pthread_kill(thread_a, SIGUSR1);
	call(&b);
	/* What the first one has to do with goes first. */
	for (unsigned int i = 0; i < FILES && drop; i++)
		pair_drop((a.ctx.f + i) % FILES);
	b.in_call = false;
}

static void spin_until(int64_t ns)
{
	while (rk_now() < ns)
		;
}

/* Tells the first one when it is going to wake up, which is always a little late. */
static void sleep_a_moment(void)
{
	static int64_t late;
	int64_t until = rk_now() + MOMENT_NS;
	struct timespec t = { until / (1000 * RK_MS), until % (1000 * RK_MS) };

	wake_ns = until + late;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	/* Towards the median: sometimes the guest's CPU has not run for long. */
	late += rk_now() - until > late ? STEP_NS : late > STEP_NS ? -STEP_NS : 0;
}

/* With the other one, on its CPU, that is as good as at the same time. */
static void meet(void)
{
	ready++;
	while (ready < 2)
		;
}

/* Each page comes when it is needed; with one of them, what the second one does. */
static void answer_fault(void)
{
	struct uffd_msg msg;
	struct uffdio_copy copy = { .len = RK_PAGE };

	if (read(uffd, &msg, sizeof(msg)) != sizeof(msg))
		return;
	if (!fault_wanted--)
		call_second();
	copy.dst = msg.arg.pagefault.address & ~(uint64_t)(RK_PAGE - 1);
	copy.src = (uintptr_t)(a.ctx.page + (copy.dst - (uintptr_t)a.ctx.seen));
	ioctl(uffd, UFFDIO_COPY, &copy);
}

static void answer_faults(void)
{
	struct pollfd p[2] = { { uffd, POLLIN }, { over, POLLIN } };

	do {
		poll(p, 2, -1);
		if (p[0].revents & POLLIN)
			answer_fault();
	} while (!p[1].revents);
}

static void name_thread(unsigned int first, unsigned int second)
{
	char name[16];

	snprintf(name, sizeof(name), "%.7s|%.7s", pair_ops[first].name, pair_ops[second].name);
	prctl(PR_SET_NAME, name);
}

static void *second_thread(void *arg)
{
	const struct sched_param param = { .sched_priority = PRIORITY };

	rk_use_cpu(mode == TWO_CPUS);
	if (mode == PREEMPTED)
		sched_setscheduler(0, SCHED_FIFO, &param);
	for (;;) {
		while (sem_wait(&go))
			;
		name_thread(a.op, b.op);
		switch (mode) {
		case TWO_CPUS:
			meet();
			if (delay_ns > 0)
				spin_until(rk_now() + delay_ns);
			call_second();
			break;
		case PREEMPTED:
			sleep_a_moment();
			call_second();
			break;
		case LATE:
			answer_faults();
			break;
		}
		sem_post(&done);
	}
	return NULL;
}

static void first_call(void)
{
	uint64_t one = 1;

	if (mode == PREEMPTED)
		spin_until(wake_ns - delay_ns);
	if (mode == TWO_CPUS) {
		meet();
		if (delay_ns < 0)
			spin_until(rk_now() - delay_ns);
	}
	a.in_call = true;
	shared->met += b.in_call;
	call(&a);
	a.in_call = false;
	if (mode == LATE && write(over, &one, sizeof(one)) != sizeof(one))
		abort();
}

/* ---- rounds ---- */

static unsigned int gcd(unsigned int x, unsigned int y)
{
	return y ? gcd(y, x % y) : x;
}

/* The @i-th call that may come first. */
static unsigned int nth_first(unsigned int i)
{
	unsigned int op = 0;

	if (mode != LATE)
		return i;
	while (!(pair_ops[op].flags & PAIR_ARRAYS) || i--)
		op++;
	return op;
}

static unsigned int count_pairs(void)
{
	unsigned int n = pair_op_count;

	if (mode == LATE) {
		n = 0;
		for (unsigned int i = 0; i < pair_op_count; i++)
			n += pair_ops[i].flags & PAIR_ARRAYS;
	}
	return n * pair_op_count;
}

/* All of them one after the other, in an order that the seed chooses. */
static void choose_pair(unsigned int round)
{
	unsigned int n = count_pairs(), stride = n / 2 + mix(seed) % (n / 4), i;

	while (gcd(n, stride) != 1)
		stride++;
	i = (mix(seed + 1) + (uint64_t)round * stride) % n;
	a.op = only_first < pair_op_count ? only_first : nth_first(i / pair_op_count);
	b.op = only_second < pair_op_count ? only_second : i % pair_op_count;
}

static void choose(unsigned int round)
{
	struct pair_ctx c = { .rng = mix(mix(seed) + round) };
	int64_t cost_a, cost_b;

	choose_pair(round);
	cost_a = shared->cost_ns[a.op];
	cost_b = shared->cost_ns[b.op];
	a.ctx.rng = mix(c.rng);
	b.ctx.rng = mix(a.ctx.rng);
	a.ctx.f = pair_ops[a.op].file;
	b.ctx.f = pair_ops[b.op].file;
	a.ctx.i = pair_below(&c, PLAIN + 1);
	b.ctx.i = pair_below(&c, 4) ? a.ctx.i : pair_below(&c, BOS);
	a.repeats = 1 + pair_below(&c, REPEATS);
	b.repeats = 1 + pair_below(&c, REPEATS);
	drop = pair_below(&c, 2);
	interrupt = mode != LATE && !pair_below(&c, 4);
	fault_wanted = pair_below(&c, PAIR_PAGES);
	delay_ns = pair_below(&c, cost_a + 1);
	if (mode == TWO_CPUS)
		delay_ns -= pair_below(&c, cost_b + 1);
}

static int fill(int first)
{
	int ret = pair_fill(a.ctx.f) ?: pair_fill(b.ctx.f);

	if (!ret)
		return 0;
	/* Its descriptors are somebody else's by now. */
	pair_reset(first);
	return pair_fill(a.ctx.f) ?: pair_fill(b.ctx.f);
}

static int run_round(unsigned int round, int first)
{
	uint64_t count;
	int ret;

	choose(round);
	shared->first = a.op;
	shared->second = b.op;
	if (round % RESET_ROUNDS == 0)
		pair_reset(first);
	ret = fill(first);
	if (ret)
		return ret;
	name_thread(a.op, b.op);
	ready = 0;
	sem_post(&go);
	first_call();
	while (sem_wait(&done))
		;
	if (mode == LATE && read(over, &count, sizeof(count)) < 0)
		return -errno;
	return 0;
}

/* ---- the process that makes the calls ---- */

static void on_signal(int sig)
{
}

/* From the returned one on descriptors are free. */
static int plug_holes(void)
{
	int last = 0, fd;

	for (fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			last = fd;
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < last);
	return fd + 1;
}

static void *new_pages(void)
{
	void *p = mmap(NULL, PAIR_PAGES * RK_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int set_up_late(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)a.ctx.seen, PAIR_PAGES * RK_PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	over = eventfd(0, EFD_CLOEXEC);
	if (uffd < 0 || over < 0 || ioctl(uffd, UFFDIO_API, &api) ||
	    ioctl(uffd, UFFDIO_REGISTER, &reg))
		return -errno;
	return 0;
}

static int set_up(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread_b;

	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* If it cannot be killed, who reads what the test prints need not wait for it. */
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	sigaction(SIGUSR1, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	rk_use_cpu(0);
	a.ctx.page = new_pages();
	b.ctx.page = new_pages();
	a.ctx.seen = mode == LATE ? new_pages() : a.ctx.page;
	b.ctx.seen = b.ctx.page;
	if (!a.ctx.page || !b.ctx.page || !a.ctx.seen)
		return -ENOMEM;
	if (mode == LATE && set_up_late())
		return -errno;
	for (enum pair_file f = 0; f < FILES; f++)
		pool.file[f].fd = -1;
	pool.foreign = rv_foreign_memory(RK_PAGE, &foreign_map);
	thread_a = pthread_self();
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	return -pthread_create(&thread_b, NULL, second_thread, NULL);
}

static void make_calls(void)
{
	int ret = set_up(), first = plug_holes();

	pair_reset(first);
	while (!ret && shared->round < rounds) {
		ret = run_round(shared->round, first);
		shared->round++;
	}
	shared->error = ret;
	_exit(ret ? 1 : 0);
}

/* ---- and the one that watches it ---- */

/* Waits for it; false, if it does nothing for long. */
static bool watch(pid_t pid, int *status)
{
	unsigned int last = UINT_MAX;
	int64_t since = 0;

	while (waitpid(pid, status, WNOHANG) != pid) {
		if (shared->round != last) {
			last = shared->round;
			since = rk_now();
		} else if (rk_now() > since + STUCK_MS * RK_MS * rk_slow()) {
			return false;
		}
		rk_sleep_ms(10);
	}
	return true;
}

static bool tell(const char *what)
{
	printf("# round %u of seed %llu, %s|%s: %s\n", shared->round, (unsigned long long)seed,
	       pair_ops[shared->first].name, pair_ops[shared->second].name, what);
	return false;
}

/* Starts it again when it has killed itself. */
static bool run_all(void)
{
	while (shared->round < rounds) {
		int status;
		pid_t pid = fork();

		if (!pid)
			make_calls();
		if (!watch(pid, &status)) {
			kill(pid, SIGKILL);
			return tell("does not end");
		}
		if (WIFSIGNALED(status) && shared->dying) {
			shared->dying = false;
			shared->round++;
		} else if (WIFSIGNALED(status)) {
			return tell("crashed");
		} else if (shared->error) {
			return tell(strerror(-shared->error));
		}
	}
	return true;
}

static unsigned long long from_env(const char *name, unsigned long long def)
{
	const char *env = getenv(name);

	return env ? strtoull(env, NULL, 0) : def;
}

static unsigned int find_op(const char *name, size_t length)
{
	unsigned int i = 0;

	while (i < pair_op_count &&
	       (strlen(pair_ops[i].name) != length || strncmp(pair_ops[i].name, name, length)))
		i++;
	return i;
}

/* False: it names none. */
static bool choose_only(void)
{
	const char *env = getenv("RKNPU_PAIRS"), *bar;

	only_first = pair_op_count;
	only_second = pair_op_count;
	if (!env)
		return true;
	bar = strchrnul(env, '|');
	only_first = find_op(env, bar - env);
	only_second = *bar ? find_op(bar + 1, strlen(bar + 1)) : pair_op_count;
	return only_first < pair_op_count && only_second < pair_op_count;
}

static void print_counts(void)
{
	for (unsigned int op = 0; op < pair_op_count; op++) {
		char line[512];
		int n = snprintf(line, sizeof(line), "%s: %u done", pair_ops[op].name,
				 shared->ok[op]);

		for (int e = 0; e < ERRNOS && n < (int)sizeof(line); e++)
			if (shared->err[op][e])
				n += snprintf(line + n, sizeof(line) - n, ", %u %s",
					      shared->err[op][e], e ? rk_errno_name(e) : "?");
		printf("# %s\n", line);
	}
}

static bool each_got_through(void)
{
	bool all = true;

	for (unsigned int op = 0; op < pair_op_count; op++) {
		if (shared->ok[op] || shared->err[op][EOPNOTSUPP] ||
		    pair_ops[op].flags & PAIR_LETHAL)
			continue;
		printf("# %s never did anything\n", pair_ops[op].name);
		all = false;
	}
	return all;
}

/* Where a file is, so that it is opened again without a search. */
static bool find_path(enum pair_file f, int fd)
{
	char link[64];
	ssize_t n;

	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, pair_path[f], sizeof(pair_path[f]) - 1);
	close(fd);
	return n > 0;
}

FIXTURE(pairs) {
	char unused;
};

FIXTURE_VARIANT(pairs) {
	enum pair_mode mode;
};

FIXTURE_VARIANT_ADD(pairs, two_cpus) { .mode = TWO_CPUS };
FIXTURE_VARIANT_ADD(pairs, preempted) { .mode = PREEMPTED };
FIXTURE_VARIANT_ADD(pairs, late_memory) { .mode = LATE };

FIXTURE_SETUP(pairs)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	mode = variant->mode;
	ASSERT_TRUE(find_path(ROCKET, fd));
	ASSERT_TRUE(find_path(OTHER, rk_open()));
	if (!find_path(VENDOR, rv_open()) || !find_path(MISC, rv_open_misc()))
		SKIP(return, "needs all nodes of the driver");
	if (mode == TWO_CPUS && sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	if (mode == LATE) {
		fd = syscall(SYS_userfaultfd, O_CLOEXEC);
		if (fd < 0)
			SKIP(return, "no userfaultfd: %s", strerror(errno));
		close(fd);
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_GE(MAX_OPS, pair_op_count);
	ASSERT_TRUE(choose_only());
	seed = from_env("RKNPU_PAIRS_SEED", 1);
	rounds = from_env("RKNPU_PAIRS_ROUNDS", count_pairs());
}

FIXTURE_TEARDOWN(pairs)
{
	rk_model_calm();
}

RK_TEST_F_TIMEOUT(pairs, every_two_calls, 900, "any two calls do no harm when they meet")
{
	int fd;

	printf("# seed %llu, %u rounds, %u calls\n", (unsigned long long)seed, rounds,
	       pair_op_count);
	EXPECT_TRUE(run_all());
	print_counts();
	printf("# in %u rounds one call came in the middle of the other one\n", shared->met);
	/* Fewer than otherwise on a busy host, which lets the CPUs of a guest take turns. */
	if (only_first == pair_op_count)
		EXPECT_LT(rounds / 100, atomic_load(&shared->met));
	if (only_first == pair_op_count && rounds >= ENOUGH_ROUNDS * pair_op_count)
		EXPECT_TRUE(each_got_through());
	EXPECT_TRUE(rk_stat_settles("bos", 0));
	EXPECT_TRUE(rk_stat_settles("vms", 0));
	fd = rk_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, rk_run_on_every_core(fd, 5));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
	close(fd);
}

RK_HARNESS_MAIN
