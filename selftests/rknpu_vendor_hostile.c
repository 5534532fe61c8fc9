// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile client of the vendor's uAPI: edge and random values in every field
 * of every struct, other files' and processes' names for things, task buffers
 * that change while they are submitted, on the primary node, the render node, and
 * /dev/rknpu if there is one. Meanwhile a second client verifies all of
 * its own results. RKNPU_SEED and RKNPU_ROUNDS choose the run.
 *
 * boot: vendor
 * boot: misc
 * boot: dtvendor
 * boot: debug-short
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "rknpu_vendor_util.h"

#define DEFAULT_ROUNDS	1000
#define VICTIM_JOBS_MIN	20
#define NAMES		5

/* The other client's names for its own things, for the hostile one to try. */
struct shared {
	volatile bool ready;
	uint64_t names[NAMES];
};

static struct shared *shared;

static uint64_t state;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static long env(const char *name, long def)
{
	const char *s = getenv(name);

	return s && *s ? strtol(s, NULL, 0) : def;
}

/* Names of things that exist, here or elsewhere, and numbers near limits. */
static uint64_t pool[64];
static unsigned int pool_size;

static void learn(uint64_t v)
{
	pool[pool_size++ % ARRAY_SIZE(pool)] = v;
}

static uint64_t value(void)
{
	static const uint64_t edge[] = {
		0, 1, 2, 3, 4, 7, 8, 15, 16, 39, 40, 41, 4095, 4096, 4097, 65535, 65536,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0xfffff000, 0xffffffff81000000,
		0xffff800010000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff,
		0xfffffffffffff000,
	};

	switch (rnd() % 4) {
	case 0:
		return edge[rnd() % ARRAY_SIZE(edge)];
	case 1:
		return rnd() >> (rnd() % 64);
	default:
		return pool[rnd() % ARRAY_SIZE(pool)];
	}
}

static void learn_chain(const struct rv_chain *c)
{
	learn(c->tasks.obj);
	learn(c->tasks.handle);
	learn(c->bo.obj);
	learn(c->bo.handle);
	learn(c->bo.iova);
}

static void learn_of_the_other(void)
{
	for (int ms = 0; !shared->ready && ms < 10000; ms++)
		rk_sleep_ms(1);
	for (int i = 0; i < NAMES; i++)
		learn(shared->names[i]);
}

/* With /dev/rknpu handles are fds, and the caller's to close. */
static bool is_drm(int fd)
{
	struct drm_version v = { 0 };

	return !rk_ioctl(fd, DRM_IOCTL_VERSION, &v);
}

static void fuzz_action(int fd)
{
	struct drm_rknpu_action a = { .flags = rnd() % 32, .value = value() };

	/* Not its own priority: the machine is shared. */
	if (a.flags == DRM_RKNPU_SET_PROC_NICE)
		a.value = 10;
	rv_ioctl(fd, DRM_IOCTL_RKNPU_ACTION, &a);
}

/*
 * What can be had is kept, and is not charged to anybody: a guest's memory must
 * do for all rounds. What is more than any guest has is refused at once.
 */
static uint64_t create_size(void)
{
	uint64_t size = rnd() % 4 ? rnd() % 65536 : value();

	return size < 0x70000000 ? size % 0x100000 : size;
}

static void fuzz_create(int fd)
{
	static const uint32_t size[] = { 8, 16, 32, 40, 48, 64, 4096 };
	union {
		struct drm_rknpu_mem_create c;
		uint8_t bytes[4096];
	} u = { 0 };
	uint32_t handle;

	u.c.handle = rnd() % 2 ? 0 : value();
	u.c.flags = rnd() % 2 ? RV_FLAGS_TASK : value();
	u.c.size = create_size();
	u.c.obj_addr = value();
	u.c.sram_size = value();
	u.c.iommu_domain_id = rnd() % 2 ? 0 : value();
	u.c.core_mask = value();
	handle = u.c.handle;
	if (!rv_ioctl(fd, _IOC(3, 'd', 0x42, size[rnd() % ARRAY_SIZE(size)]), &u)) {
		learn(u.c.handle);
		learn(u.c.obj_addr);
		learn(u.c.dma_addr);
		if (!handle && !is_drm(fd))
			close(u.c.handle);
	}
}

static void fuzz_map(int fd)
{
	struct drm_rknpu_mem_map m = { .handle = value(), .reserved = value() };
	uint64_t size = 1 + rnd() % 70000;
	uint8_t *p;

	if (rv_ioctl(fd, DRM_IOCTL_RKNPU_MEM_MAP, &m))
		return;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, m.offset);
	if (p == MAP_FAILED)
		return;
	p[rnd() % size] = rnd();
	munmap(p, size);
}

static void fuzz_destroy(int fd)
{
	struct drm_rknpu_mem_destroy d = { .handle = value(), .obj_addr = value() };

	rv_ioctl(fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &d);
}

static void fuzz_sync(int fd)
{
	struct drm_rknpu_mem_sync s = {
		.flags = value(), .reserved = value(), .obj_addr = value(),
		.offset = value(), .size = value(),
	};

	rv_ioctl(fd, DRM_IOCTL_RKNPU_MEM_SYNC, &s);
}

static void fuzz_submit(int fd, const struct rv_chain *c)
{
	struct drm_rknpu_submit s;
	uint32_t *word = (uint32_t *)&s;

	rv_chain_submit(c, &s);
	s.timeout = 50;
	for (unsigned int n = rnd() % 6; n; n--)
		word[rnd() % (sizeof(s) / 4)] = value();
	if (rnd() % 2)
		s.task_obj_addr = value();
	/* Longer than that would be a wait, not a test. */
	if (s.timeout > 100)
		s.timeout = 100;
	if (!rv_ioctl(fd, DRM_IOCTL_RKNPU_SUBMIT, &s) && (s.flags & DRM_RKNPU_JOB_FENCE_OUT))
		close(s.fence_fd);
}

static void fuzz_share(int fd, int other)
{
	struct drm_prime_handle p = { .handle = value(), .flags = DRM_CLOEXEC | DRM_RDWR };

	if (rk_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p))
		return;
	p.handle = 0;
	if (!rk_ioctl(other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p))
		learn(p.handle);
	close(p.fd);
}

static volatile bool stop;

/* Task buffers are read once; whatever is read must not get anybody else hurt. */
static void *change_tasks(void *arg)
{
	struct rv_chain *c = arg;
	uint64_t seed = 88172645463325252ull;

	while (!stop) {
		struct drm_rknpu_task *t = rv_chain_task(c, seed % c->n);

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		switch (seed >> 61) {
		case 0:
			t->regcmd_addr ^= 1ull << (seed >> 32 & 31);
			break;
		case 1:
			t->regcfg_amount = seed >> 16;
			break;
		case 2:
			t->int_mask = seed >> 8;
			break;
		default:
			usleep(500);
		}
	}
	return NULL;
}

static void attack(long rounds)
{
	int fd[3] = { rv_open(), rv_open_render(), rv_open_misc() };
	unsigned int files = fd[2] < 0 ? 2 : 3;
	struct rv_chain c, m;
	pthread_t changer;

	if (fd[0] < 0 || fd[1] < 0 || rv_chain_init(&c, fd[0], 4, 0, 0) ||
	    (files > 2 && rv_chain_init(&m, fd[2], 4, 0, 0)))
		_exit(KSFT_FAIL);
	learn_of_the_other();
	learn_chain(&c);
	if (files > 2)
		learn_chain(&m);
	if (pthread_create(&changer, NULL, change_tasks, &c))
		_exit(KSFT_FAIL);

	for (long i = 0; i < rounds; i++) {
		unsigned int n = rnd() % files;
		int f = fd[n];

		switch (rnd() % 16) {
		case 0:
			fuzz_action(f);
			break;
		case 1: case 2: case 3:
			fuzz_create(f);
			break;
		case 4:
			fuzz_map(f);
			break;
		case 5:
			fuzz_destroy(f);
			break;
		case 6: case 7:
			fuzz_sync(f);
			break;
		case 8:
			fuzz_share(f, fd[rnd() % 2]);
			break;
		case 9:
			/* What is running at that time is cut off. */
			close(fd[1]);
			fd[1] = rv_open_render();
			break;
		default:
			fuzz_submit(f, n < 2 ? &c : &m);
		}
	}
	stop = true;
	pthread_join(changer, NULL);
	_exit(KSFT_PASS);
}

static long protect(pid_t attacker, int *status)
{
	struct rv_chain c;
	long jobs = 0, bad = 0;
	int fd = rv_open();

	if (fd < 0 || rv_chain_init(&c, fd, 3, 0, 0))
		return -1;
	memcpy(shared->names, (uint64_t[NAMES]) {
		c.tasks.obj, c.tasks.handle, c.bo.obj, c.bo.handle, c.bo.iova,
	}, sizeof(shared->names));
	shared->ready = true;
	while (!waitpid(attacker, status, WNOHANG) || jobs < VICTIM_JOBS_MIN) {
		int ret = rv_chain_run(&c, jobs % 100);

		if (ret && bad++ < 5)
			ksft_print_msg("job %ld of the other client: %d\n", jobs, ret);
		jobs++;
		if (kill(attacker, 0) && jobs >= VICTIM_JOBS_MIN)
			break;
	}
	ksft_print_msg("%ld jobs of the other client, %ld of them not right\n", jobs, bad);
	rv_chain_fini(&c);
	close(fd);
	return bad;
}

static const struct rk_named cases[] = {
	{ "hostile client came to its end", "a client that sends edge and random values is neither hung nor killed" },
	{ "the other client did not notice", "a client beside it gets every result" },
};

int main(int argc, char **argv)
{
	long rounds = env("RKNPU_ROUNDS", DEFAULT_ROUNDS);
	int probe = rv_open();
	int status = -1;
	long bad;
	pid_t pid;

	if (rk_listed(argc, argv, cases, ARRAY_SIZE(cases)))
		return 0;
	ksft_print_header();
	if (probe < 0)
		ksft_exit_skip("no vendor node: %s\n", strerror(-probe));
	close(probe);
	rk_model_calm();
	ksft_set_plan(ARRAY_SIZE(cases));
	state = env("RKNPU_SEED", 20261121);
	ksft_print_msg("seed %llu, %ld rounds\n", (unsigned long long)state, rounds);

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	pid = fork();
	if (!pid)
		attack(rounds);
	bad = protect(pid, &status);
	ksft_test_result(WIFEXITED(status) && !WEXITSTATUS(status), "%s\n", cases[0].name);
	ksft_test_result(!bad, "%s\n", cases[1].name);
	ksft_finished();
}
