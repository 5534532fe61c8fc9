// SPDX-License-Identifier: GPL-2.0-only
/* Many processes with networks of librknnrt at once, on any cores, killed at random: each output must be what it is alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rknn_net.h"
#include "rknpu_util.h"

#define MEMBERS		30u
#define LIBRARIES	4u
#define MODELS		64u
/* One is killed this often, at random; RKNPU_TEST_SLOW times as long on a slow machine. */
#define KILL_MS_MIN	200u
#define KILL_MS_SPREAD	4000u
/* Of one context, at most. */
#define RUNS_MAX	8u

struct reference {
	bool runs;
	/* Of all outputs, for the seeds 1 and 2. */
	uint64_t hash[2];
};

/* What a member counts, also for those in its place after it was killed. */
struct member {
	unsigned long opened;
	unsigned long runs;
	unsigned long wrong;
	unsigned long refused;
};

struct crowd {
	struct reference alone[LIBRARIES][MODELS];
	struct member members[MEMBERS];
};

static struct crowd *crowd;
static char **libraries, **models;
static unsigned int num_libraries, num_models, minutes;
static volatile sig_atomic_t stop;

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- alone ---- */

struct pick {
	unsigned int library;
	unsigned int model;
};

static int case_alone(void *arg)
{
	const struct pick *p = arg;
	struct reference *r = &crowd->alone[p->library][p->model];
	unsigned int i;
	struct net n;
	int ret;

	rt_load(libraries[p->library]);
	ret = net_open(&n, models[p->model], 0);
	for (i = 0; !ret && i < 2; i++)
		ret = net_run(&n, 1 + i, &r->hash[i]);
	if (!ret)
		ret = net_close(&n);
	r->runs = !ret;
	return ret;
}

/* ---- a member ---- */

static void on_term(int signal)
{
	stop = 1;
}

/* Those compiled for one core do not take several; 0 is any core. */
static void set_any_cores(struct net *n, struct rt_random *random)
{
	static const int masks[] = {
		RT_CORES_AUTO, RT_CORES_1, RT_CORE_1, RT_CORE_2, RT_CORES_2, RT_CORES_3,
	};

	rt.set_core_mask(n->ctx, masks[rt_random(random) % (sizeof(masks) / sizeof(masks[0]))]);
}

static int one_context(struct member *me, unsigned int library, unsigned int model, struct rt_random *random)
{
	const struct reference *r = &crowd->alone[library][model];
	unsigned int i, runs = 1 + rt_random(random) % RUNS_MAX;
	struct net n;
	uint64_t hash;
	int ret;

	ret = net_open(&n, models[model], 0);
	if (ret)
		return ret;
	me->opened++;
	set_any_cores(&n, random);
	for (i = 0; i < runs && !stop; i++) {
		ret = net_run(&n, 1 + i % 2, &hash);
		if (ret)
			return ret;
		me->runs++;
		if (hash == r->hash[i % 2])
			continue;
		me->wrong++;
		rt_fail("%s of %s: run %u has another output than alone", name_of(models[model]), libraries[library], i);
	}
	return net_close(&n);
}

static void be_member(struct member *me, uint64_t seed)
{
	struct rt_random random = { .state = seed };
	unsigned int library = (me - crowd->members) % num_libraries, model;

	rt_load(libraries[library]);
	while (!stop) {
		model = rt_random(&random) % num_models;
		if (!crowd->alone[library][model].runs)
			continue;
		if (one_context(me, library, model, &random)) {
			me->refused++;
			break;
		}
	}
	fflush(stdout);
	/* Not the library's destructors. */
	_exit(0);
}

/* ---- all of them ---- */

static pid_t start_member(struct member *m, struct rt_random *random)
{
	uint64_t seed = rt_random(random);
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		be_member(m, seed);
	return pid;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Until the time is over, or one has ended by itself; the number of those that were killed. */
static unsigned long kill_at_random(pid_t *pids, struct rt_random *random)
{
	double end = now() + minutes * 60.0;
	unsigned long killed = 0;
	siginfo_t info = { 0 };
	unsigned int i;

	while (now() < end) {
		usleep((KILL_MS_MIN + rt_random(random) % KILL_MS_SPREAD) * 1000 * rk_slow());
		if (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid)
			break;
		i = rt_random(random) % MEMBERS;
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		killed++;
		pids[i] = start_member(&crowd->members[i], random);
		if (pids[i] < 0)
			break;
	}
	return killed;
}

static int end_all(const pid_t *pids)
{
	unsigned int i;
	int status, ret = RT_PASS;

	for (i = 0; i < MEMBERS; i++)
		kill(pids[i], SIGTERM);
	for (i = 0; i < MEMBERS; i++) {
		if (waitpid(pids[i], &status, 0) != pids[i])
			ret = rt_fail("waitpid: %s", strerror(errno));
		else if (status)
			ret = rt_fail("a member ended with %#x", status);
	}
	return ret;
}

static struct member sum(unsigned int *idle)
{
	struct member all = { 0 };
	unsigned int i;

	for (*idle = i = 0; i < MEMBERS; i++) {
		const struct member *m = &crowd->members[i];

		all.opened += m->opened;
		all.runs += m->runs;
		all.wrong += m->wrong;
		all.refused += m->refused;
		*idle += !m->runs;
	}
	return all;
}

static int case_crowd(void *arg)
{
	long long bos = rk_stat("bos"), vms = rk_stat("vms");
	struct rt_random random = { .state = 1 };
	unsigned int i, idle;
	unsigned long killed;
	pid_t pids[MEMBERS];
	struct member all;
	int ret;

	/* For the members: it may come to one as soon as it is there. */
	signal(SIGTERM, on_term);
	for (i = 0; i < MEMBERS; i++) {
		pids[i] = start_member(&crowd->members[i], &random);
		if (pids[i] < 0)
			return rt_fail("fork: %s", strerror(errno));
	}
	killed = kill_at_random(pids, &random);
	ret = end_all(pids);
	all = sum(&idle);
	printf("# crowd: %u minutes, %u processes, %u libraries, %lu contexts, %lu runs, %lu killed, %lu wrong, %lu refused\n",
	       minutes, MEMBERS, num_libraries, all.opened, all.runs, killed, all.wrong, all.refused);
	if (ret || all.wrong || all.refused)
		return RT_FAIL;
	if (idle || !killed)
		return rt_fail("%u members ran nothing, %lu were killed; a starved host needs more minutes", idle, killed);
	if (!rk_stat_settles("bos", bos) || !rk_stat_settles("vms", vms))
		return rt_fail("something is left");
	return RT_PASS;
}

int main(int argc, char **argv)
{
	unsigned int running = 0, l, m;
	char name[256], pattern[256];
	struct pick pick;
	glob_t found;

	if (argc < 4 || atoi(argv[2]) < 1) {
		fprintf(stderr, "usage: rknn_crowd DIR MINUTES MODEL.rknn...; DIR/*/librknnrt.so are the libraries\n");
		return 2;
	}
	snprintf(pattern, sizeof(pattern), "%s/*/librknnrt.so", argv[1]);
	if (glob(pattern, 0, NULL, &found))
		return 2;
	libraries = found.gl_pathv;
	num_libraries = found.gl_pathc < LIBRARIES ? found.gl_pathc : LIBRARIES;
	minutes = atoi(argv[2]);
	models = argv + 3;
	num_models = argc - 3 < (int)MODELS ? argc - 3 : (int)MODELS;
	crowd = rt_shared(sizeof(*crowd));
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	for (l = 0; l < num_libraries; l++) {
		unsigned int before = running;

		for (m = 0; m < num_models; m++) {
			pick = (struct pick){ l, m };
			snprintf(name, sizeof(name), "%s: %s alone", libraries[l], name_of(models[m]));
			rt_case(name, case_alone, &pick);
			running += crowd->alone[l][m].runs;
		}
		/* A member would look for one for ever. */
		if (running == before) {
			printf("Bail out! %s runs none of the networks\n", libraries[l]);
			return 1;
		}
	}
	snprintf(name, sizeof(name), "%u processes", MEMBERS);
	rt_case_for(name, case_crowd, NULL, minutes * 60 + 600);
	return rt_end();
}
