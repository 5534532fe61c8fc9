// SPDX-License-Identifier: GPL-2.0-only
/* Compiled networks on librknnrt: runs that must agree with each other, and the ways to hand memory over. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknn_net.h"
#include "rknpu_util.h"

/* What a case finds out about a model for those after it. */
struct model {
	const char *path;
	const char *name;
	bool runs;
	/* Of all outputs, for the seeds 1 and 2. */
	uint64_t hash[2];
};

/* ---- one model, run several times ---- */

static void tell(const struct model *m, const struct net *n)
{
	unsigned int i;

	for (i = 0; i < n->num.outputs; i++) {
		const struct net_stats *s = &n->stats[i];

		printf("# output %s %u of %u: %s, %u elements, %g to %g, mean %g\n", m->name, i + 1, n->num.outputs,
		       n->out[i].name, n->out[i].n_elems, s->low, s->high, s->mean);
	}
}

/* The outputs of the first run, for those after it. */
static float *first[NET_TENSORS];
static struct {
	size_t of;
	size_t differ;
	float most;
} difference;

static void keep(struct net *n, uint32_t i, const float *v)
{
	size_t bytes = n->out[i].n_elems * sizeof(*v);

	first[i] = malloc(bytes);
	if (first[i])
		memcpy(first[i], v, bytes);
}

static void compare(struct net *n, uint32_t i, const float *v)
{
	size_t k;

	for (k = 0; first[i] && k < n->out[i].n_elems; k++) {
		difference.of++;
		if (v[k] == first[i][k])
			continue;
		difference.differ++;
		difference.most = fmaxf(difference.most, fabsf(v[k] - first[i][k]));
	}
}

/* Runs it with the first input again. */
static int again(struct net *n, struct model *m, const char *how)
{
	uint64_t hash;
	int ret;

	memset(&difference, 0, sizeof(difference));
	n->output = compare;
	ret = net_run(n, 1, &hash);
	n->output = NULL;
	if (!ret && hash != m->hash[0])
		ret = rt_fail("%s: %zu of %zu numbers are others, by at most %g", how, difference.differ,
			      difference.of, difference.most);
	return ret;
}

/* Outputs of one number each: a mask or a class of noise is always the same. */
static bool says_nothing(const struct net *n)
{
	unsigned int i;

	for (i = 0; i < n->num.outputs; i++) {
		if (n->stats[i].low != n->stats[i].high)
			return false;
	}
	return true;
}

static int case_runs(void *arg)
{
	struct model *m = arg;
	struct net n;
	int ret;

	ret = net_open(&n, m->path, 0);
	if (ret)
		return ret;
	n.output = keep;
	ret = net_run(&n, 1, &m->hash[0]);
	n.output = NULL;
	if (!ret)
		tell(m, &n);
	if (!ret)
		ret = net_run(&n, 2, &m->hash[1]);
	if (!ret)
		ret = again(&n, m, "a second run");
	if (ret)
		return ret;
	printf("# hash %s %016llx %016llx\n", m->name, (unsigned long long)m->hash[0], (unsigned long long)m->hash[1]);
	if (m->hash[0] == m->hash[1] && !says_nothing(&n))
		return rt_fail("two inputs have the same outputs");
	ret = net_close(&n);
	m->runs = !ret;
	return ret;
}

static int case_cores(void *arg)
{
	struct model *m = arg;
	struct net n;
	uint64_t hash;
	int ret;

	if (!m->runs)
		return rt_skip("does not run");
	ret = net_open(&n, m->path, 0);
	if (ret)
		return ret;
	if (rt.set_core_mask(n.ctx, RT_CORES_1))
		return rt_fail("rknn_set_core_mask takes no core");
	n.output = keep;
	ret = net_run(&n, 1, &hash);
	n.output = NULL;
	if (!ret && hash != m->hash[0])
		ret = rt_fail("core 0 gives another output than any core");
	if (!ret && rt.set_core_mask(n.ctx, RT_CORES_3)) {
		/* The second is what 1.2.0 says. */
		bool one = rt_said("Not support core mask") || rt_said("failed to set core mask: 7");

		ret = one ? rt_skip("is compiled for one core") :
			    rt_fail("rknn_set_core_mask takes no three cores");
	}
	if (!ret)
		ret = again(&n, m, "three cores");
	if (!ret)
		ret = again(&n, m, "three cores a second time");
	return ret ? ret : net_close(&n);
}

/* ---- memory of the client's ---- */

typedef struct rt_mem *(*make_mem)(struct net *n, uint32_t bytes);

static struct rt_mem *own_mem(struct net *n, uint32_t bytes)
{
	return rt.create_mem(n->ctx, bytes);
}

/* A BO of the accel node, which the library imports into the vendor's. */
static struct rt_mem *accel_mem(struct net *n, uint32_t bytes)
{
	struct rk_bo bo;
	int fd = rk_open(), buf;

	if (fd < 0 || rk_bo_init(&bo, fd, (bytes + RK_PAGE - 1) & -RK_PAGE))
		return NULL;
	buf = rk_export(fd, bo.handle);
	return buf < 0 ? NULL : rt.create_mem_from_fd(n->ctx, buf, bo.map, bytes, 0);
}

/* Ordinary pages of a client, by udmabuf. */
static struct rt_mem *user_mem(struct net *n, uint32_t bytes)
{
	uint32_t size = (bytes + RK_PAGE - 1) & -RK_PAGE;
	struct udmabuf_create c = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size };
	int dev = open("/dev/udmabuf", O_RDWR), file, buf;
	void *p;

	file = c.memfd = memfd_create("tensor", MFD_ALLOW_SEALING);
	if (dev < 0 || file < 0 || ftruncate(file, size) || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK))
		return NULL;
	buf = ioctl(dev, UDMABUF_CREATE, &c);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (buf < 0 || p == MAP_FAILED)
		return NULL;
	return rt.create_mem_from_fd(n->ctx, buf, p, bytes, 0);
}

static int with_memory(struct model *m, make_mem make, const char *whose)
{
	bool by_fd = make != own_mem;
	struct net n;
	uint64_t hash;
	int ret;

	ret = net_open(&n, m->path, 0);
	if (ret)
		return ret;
	ret = net_set_memory(&n, make, whose);
	if (!ret)
		ret = net_run_memory(&n, 1, by_fd, &hash);
	if (!ret && hash != m->hash[0])
		ret = rt_fail("%s gives another output", whose);
	if (!ret)
		ret = net_run_memory(&n, 2, by_fd, &hash);
	if (!ret && hash != m->hash[1])
		ret = rt_fail("%s gives another output for the second input", whose);
	return ret ? ret : net_close(&n);
}

static int case_own_memory(void *m) { return with_memory(m, own_mem, "rknn_create_mem"); }
static int case_accel_memory(void *m) { return with_memory(m, accel_mem, "a BO of the accel node"); }
static int case_user_memory(void *m) { return with_memory(m, user_mem, "a client's own memory"); }

/* ---- asynchronous runs, contexts, queries ---- */

/* The library hands out the output of the run before: of three runs the third returns the second's. */
static int case_async(void *arg)
{
	struct model *m = arg;
	uint64_t hash[4];
	struct net n;
	int ret, i;

	ret = net_open(&n, m->path, RT_FLAG_ASYNC);
	if (ret)
		return ret;
	for (i = 0; i < 4; i++) {
		ret = net_run(&n, 1 + (i > 1), &hash[i]);
		if (ret)
			return ret;
	}
	if (hash[1] != m->hash[0] || hash[3] != m->hash[1])
		return rt_fail("the outputs are others");
	return net_close(&n);
}

struct runner {
	struct net net;
	const struct model *model;
	unsigned int seed;
	int bad;
};

static void *runner_main(void *arg)
{
	struct runner *r = arg;
	uint64_t hash;
	int i;

	for (i = 0; i < 3 && !r->bad; i++) {
		if (net_run(&r->net, r->seed, &hash))
			r->bad = 1;
		else if (hash != r->model->hash[r->seed - 1])
			r->bad = rt_fail("thread %u has another output", r->seed);
	}
	return NULL;
}

static int case_dup_context(void *arg)
{
	struct runner r[2] = { { .seed = 1, .model = arg }, { .seed = 2, .model = arg } };
	pthread_t t[2];
	int ret, i;

	ret = net_open(&r[0].net, r[0].model->path, 0);
	if (ret)
		return ret;
	ret = net_dup(&r[1].net, &r[0].net);
	if (ret)
		return rt_said("No implementation found for current platform") ?
		       rt_skip("this version has no rknn_dup_context") : ret;
	for (i = 0; i < 2; i++) {
		if (pthread_create(&t[i], NULL, runner_main, &r[i]))
			return rt_fail("no thread");
	}
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	if (r[0].bad || r[1].bad)
		return RT_FAIL;
	ret = net_close(&r[1].net);
	return ret ? ret : net_close(&r[0].net);
}

static int case_performance(void *arg)
{
	struct rt_perf_detail detail = { 0 };
	struct rt_perf_run run = { 0 };
	struct model *m = arg;
	struct net n;
	uint64_t hash;
	int ret;

	ret = net_open(&n, m->path, RT_FLAG_COLLECT_PERF);
	if (ret)
		return ret;
	ret = net_run(&n, 1, &hash);
	/*
	 * Layer by layer, which this flag means. The first SUBMIT of multiple_input_demo answers what it does to
	 * 1.4.0, where the library complains of a tensor's type and goes on.
	 */
	if (ret && rt.version < 10400 && n.num.inputs > 1)
		return rt_skip("this version gives up behind the first layer of a network with two inputs");
	if (ret)
		return ret;
	if (hash != m->hash[0])
		return rt_fail("the output is another");
	ret = rt.query(n.ctx, RT_QUERY_PERF_RUN, &run, sizeof(run));
	if (ret || run.us <= 0)
		return rt_fail("RKNN_QUERY_PERF_RUN: %d, %lld us", ret, (long long)run.us);
	ret = rt.query(n.ctx, RT_QUERY_PERF_DETAIL, &detail, sizeof(detail));
	if (ret || !detail.text || !detail.bytes || !strstr(detail.text, "NPU"))
		return rt_fail("RKNN_QUERY_PERF_DETAIL: %d, %llu bytes", ret, (unsigned long long)detail.bytes);
	return net_close(&n);
}

/* ---- several processes ---- */

/* Runs the model until it is killed, and says before each run that it is about to start. */
static void run_for_ever(const struct model *m, int said)
{
	struct net n;

	if (net_open(&n, m->path, 0) || net_inputs(&n, 1))
		_exit(1);
	while (write(said, "r", 1) == 1 && !rt.run(n.ctx, NULL))
		;
	_exit(1);
}

static int case_killed(void *arg)
{
	struct model *m = arg;
	int ret, said[2], round;
	struct net n;
	uint64_t hash;
	pid_t pid;
	char c;

	for (round = 0; round < 3; round++) {
		if (pipe(said))
			return rt_fail("pipe: %s", strerror(errno));
		pid = fork();
		if (pid == 0)
			run_for_ever(m, said[1]);
		close(said[1]);
		/* It dies in its first run, or in the second or third. */
		for (ret = 0; ret <= round; ret++) {
			if (read(said[0], &c, 1) != 1)
				return rt_fail("the other process does not run the model");
		}
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(said[0]);
		ret = net_open(&n, m->path, 0);
		if (!ret)
			ret = net_run(&n, 1, &hash);
		if (!ret && hash != m->hash[0])
			ret = rt_fail("after a client was killed the output is another");
		if (!ret)
			ret = net_close(&n);
		if (ret)
			return ret;
	}
	return RT_PASS;
}

struct pair {
	const struct model *a;
	const struct model *b;
	/* Ours on the accel node beside them? */
	bool jobs;
	/* Of a shell: a client of the accel node. */
	const char *client;
};

/* Has whoever holds the pipe's other end gone? Without a pipe always. */
static bool has_gone(int other)
{
	char c;

	return other < 0 || read(other, &c, 1) >= 0 || errno != EAGAIN;
}

/* 0 if each of six runs, or of those until @other has gone, gave what it gives alone. */
static int run_right(const struct model *m, int other)
{
	struct net n;
	uint64_t hash;
	int i;

	if (net_open(&n, m->path, 0))
		return 1;
	for (i = 0; i < 6 || !has_gone(other); i++) {
		if (net_run(&n, 1 + i % 2, &hash))
			return 1;
		if (hash != m->hash[i % 2])
			return rt_fail("%s: run %d has another output", m->name, i);
	}
	printf("# %d runs of %s\n", i, m->name);
	fflush(stdout);
	return 0;
}

/* Jobs of the accel node, one after the other, until the others are done. */
static int accel_jobs(int done, unsigned int *jobs)
{
	struct rk_client client;
	int ret;

	ret = rk_client_init(&client);
	fcntl(done, F_SETFL, O_NONBLOCK);
	while (!ret) {
		ret = rk_client_run(&client, *jobs % 100);
		if (ret)
			break;
		++*jobs;
		if (has_gone(done))
			break;
	}
	if (ret)
		return rt_fail("job %u of the accel node: %s", *jobs, strerror(-ret));
	rk_client_fini(&client);
	return 0;
}

/* Two processes that have one end of a pipe; they end by themselves, or when all of @until's other end are closed. */
static int start_two(const struct pair *p, pid_t pid[2], int theirs, int ours, int until)
{
	const struct model *m[2] = { p->a, p->b };
	int i;

	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			return rt_fail("fork: %s", strerror(errno));
		if (pid[i] == 0) {
			close(ours);
			_exit(run_right(m[i], until));
		}
	}
	close(theirs);
	return RT_PASS;
}

static int wait_two(const pid_t pid[2])
{
	int i, status, bad = 0;

	for (i = 0; i < 2; i++) {
		waitpid(pid[i], &status, 0);
		bad |= !WIFEXITED(status) || WEXITSTATUS(status);
	}
	return bad ? RT_FAIL : RT_PASS;
}

static int case_together(void *arg)
{
	const struct pair *p = arg;
	unsigned int jobs = 0;
	int ret = 0, done[2];
	pid_t pid[2];

	if (pipe(done))
		return rt_fail("pipe: %s", strerror(errno));
	if (start_two(arg, pid, done[1], done[0], -1))
		return RT_FAIL;
	/* The pipe ends when both are gone. */
	if (p->jobs) {
		ret = accel_jobs(done[0], &jobs);
		printf("# %u jobs of the accel node meanwhile\n", jobs);
	}
	return wait_two(pid) || ret ? RT_FAIL : RT_PASS;
}

/* They run until the client has ended, so all of it is beside them. */
static int case_beside_client(void *arg)
{
	const struct pair *p = arg;
	int status, until[2];
	pid_t pid[2];

	if (pipe2(until, O_NONBLOCK | O_CLOEXEC))
		return rt_fail("pipe: %s", strerror(errno));
	if (start_two(p, pid, until[0], until[1], until[0]))
		return RT_FAIL;
	status = system(p->client);
	close(until[1]);
	if (wait_two(pid))
		return RT_FAIL;
	return status ? rt_fail("the client of the accel node has status %#x", status) : RT_PASS;
}

/* ---- which ---- */

static void run_features(struct model *m)
{
	static const struct {
		const char *name;
		int (*fn)(void *arg);
	} features[] = {
		{ "memory of rknn_create_mem", case_own_memory },
		{ "a dma-buf of the accel node", case_accel_memory },
		{ "a dma-buf of user memory", case_user_memory },
		{ "asynchronous runs", case_async },
		{ "rknn_dup_context, in two threads", case_dup_context },
		{ "performance queries", case_performance },
		{ "a client killed in the middle", case_killed },
	};
	char name[256];
	size_t i;

	for (i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		snprintf(name, sizeof(name), "%s: %s", m->name, features[i].name);
		rt_case(name, features[i].fn, m);
	}
}

static int no_model(void *arg)
{
	return rt_skip("none of the models runs");
}

int main(int argc, char **argv)
{
	/* Our jobs are programs for the RK3588; the others have one core. */
	bool rk3588 = !getenv("RKNPU_OTHER_SOC");
	struct model *m, *two[2];
	int i, n = 0, found = 0;
	char name[256];
	struct pair pair;

	if (argc < 3) {
		fprintf(stderr, "usage: rknn_models librknnrt.so MODEL.rknn...\n");
		return 2;
	}
	rt_begin(argv[1]);
	n = argc - 2;
	m = rt_shared(n * sizeof(*m));
	for (i = 0; i < n; i++) {
		m[i].path = argv[i + 2];
		m[i].name = strrchr(m[i].path, '/') ? strrchr(m[i].path, '/') + 1 : m[i].path;
		snprintf(name, sizeof(name), "%s: runs that agree", m[i].name);
		rt_case(name, case_runs, &m[i]);
		snprintf(name, sizeof(name), "%s: one core and three", m[i].name);
		if (rk3588)
			rt_case(name, case_cores, &m[i]);
	}
	/* Those named first that do run. */
	for (i = 0; i < n && found < 2; i++) {
		if (m[i].runs)
			two[found++] = &m[i];
	}
	if (!found) {
		rt_case("features", no_model, NULL);
		return rt_end();
	}
	for (i = 0; i < found; i++)
		run_features(two[i]);
	if (found == 2) {
		pair = (struct pair){ two[0], two[1], rk3588, getenv("RKNPU_TEFLON") };
		rt_case(rk3588 ? "two processes with a model each, and jobs of the accel node" :
			"two processes with a model each", case_together, &pair);
		if (pair.client)
			rt_case("two processes with a model each, and Teflon", case_beside_client, &pair);
	}
	return rt_end();
}
