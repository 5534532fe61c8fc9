// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver's scheduler as a program of the host: a world by seed, in which users at random, or
 * attackers and a victim, do what play.c says and check.c looks on.
 *
 *   sim [--first N] [--seeds N] [--trace] [--all] [--quiet]
 *
 * A seed that fails is run again with its events printed, the last ones at the end; --all prints
 * them all as they come, --quiet none.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim.h"

#include "sched/rknpu_gang.h"
#include "sched/rknpu_lifecycle.h"

struct rknpu_sched sched;
struct sim_job jobs[MAX_JOBS];
u64 job_count, gang_count;
unsigned int processes, users;
bool tracing, stopping;
static struct rknpu_mem mem;
static u64 seed, first_seed = 1, seeds = 200;
static bool all_lines, quiet_trace, again, victims_world, gangs_world;
static const char *self_path;

/* ---- failures and events ---- */

#define LINES	400
static char lines[LINES][160];
static unsigned long line_count;

static void print_queue(struct list_head *entities)
{
	struct rknpu_entity *entity;
	struct rknpu_job *job;

	list_for_each_entry(entity, entities, link) {
		printf(" (");
		list_for_each_entry(job, &entity->jobs, link)
			printf("%s%llu%s", job == list_first_entry(&entity->jobs, struct rknpu_job, link) ? "" : " ",
			       job->result.tag, rknpu_gang_waits(job) ? "g" : "");
		printf(")");
	}
}

static void print_share(const struct rknpu_runqueue *rq, struct rknpu_user *user)
{
	struct rknpu_share *share = &user->shares[rq->core->index];
	unsigned int p;

	printf("#   user %lu has had %.3f ms of it%s:", user->uid, share->vtime_ns / 1e6, user->held ? ", held" : "");
	for (p = 0; p < RKNPU_PRIORITY_COUNT; p++) {
		print_queue(&share->groups[p].boosted);
		print_queue(&share->groups[p].entities);
	}
	printf("\n");
}

static void print_state(void)
{
	struct rknpu_runqueue *rq;
	struct rknpu_user *user;
	unsigned long uid;

	rknpu_for_each_rq(rq, &sched) {
		printf("# core %u: state %d%s, job %llu, %u jobs of %u users wait%s%s\n", rq->core ? rq->core->index : 0,
		       rq->state, rq->frozen ? ", frozen" : "", rq->job ? rq->job->result.tag : 0, rq->queued,
		       rq->shares, rq->gang_since_ns ? ", waits for a gang" : "",
		       rq->anticipate.since_ns ? ", kept" : "");
		xa_for_each(&sched.users, uid, user)
			print_share(rq, user);
	}
	printf("# a gang %s%s\n", sched.gang ? "gathers" : "does not gather",
	       sched.put_off ? ", and one is put off" : "");
}

static char world_line[sizeof(lines[0])];

static void print_events(void)
{
	unsigned long i = line_count > LINES ? line_count - LINES : 0;

	for (; i < line_count; i++)
		printf("# %s\n", lines[i % LINES]);
	fflush(stdout);
}

void sim_trace(const char *fmt, ...)
{
	char *line = lines[line_count % LINES];
	va_list ap;
	int n;

	if (!tracing)
		return;
	if (line_count && all_lines)
		printf("%s\n", lines[(line_count - 1) % LINES]);
	line_count++;
	if (line_count == 2)
		memcpy(world_line, lines[0], sizeof(world_line));
	n = snprintf(line, sizeof(lines[0]), "%10.3f ms  ", (sim_now() - START_NS) / 1e6);
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(lines[0]) - n, fmt, ap);
	va_end(ap);
}

/* With its events, which are not kept the first time. */
static void fail_again(void)
{
	char number[32];

	if (tracing) {
		printf("# %s\n", world_line);
		print_state();
		print_events();
		printf("not ok 1 - seed %llu; again: make -C tools/testbed/sim check FIRST=%llu SEEDS=1\n1..1\n", seed, seed);
		fflush(stdout);
		_exit(1);
	}
	snprintf(number, sizeof(number), "%llu", seed);
	execl(self_path, self_path, "--again", "--first", number, "--seeds", "1", NULL);
	_exit(1);
}

void sim_fail(const char *fmt, ...)
{
	va_list ap;

	if (tracing || quiet_trace) {
		printf("# seed %llu, %.3f ms: ", seed, (sim_now() - START_NS) / 1e6);
		va_start(ap, fmt);
		vprintf(fmt, ap);
		va_end(ap);
		printf("\n");
		fflush(stdout);
	}
	if (quiet_trace)
		_exit(1);
	if (tracing) {
		va_start(ap, fmt);
		vsnprintf(lines[line_count++ % LINES], sizeof(lines[0]), fmt, ap);
		va_end(ap);
	}
	fail_again();
	abort();
}

static void crashed(int sig)
{
	printf("# seed %llu, %.3f ms: signal %d\n", seed, (sim_now() - START_NS) / 1e6, sig);
	fflush(stdout);
	fail_again();
}

struct sim_job *sim_job_of(u64 id)
{
	return &jobs[id];
}

struct sim_job *sim_job(const struct rknpu_job *job)
{
	return &jobs[job->result.tag];
}

/* ---- a world ---- */

static void draw_world(void)
{
	static const unsigned int hz[] = { 100, 250, 1000 };

	victims_world = seed % 2;
	gangs_world = seed % 16 == 9;
	memset(&world, 0, sizeof(world));
	world.cores = sim_chance(80) ? 3 : 1 + sim_random(3);
	world.shared = sim_chance(35);
	world.one_cbuf = !world.shared && sim_chance(10);
	world.polled = sim_chance(10);
	if (gangs_world) {
		world.cores = 3;
		world.shared = world.one_cbuf = false;
	}
	world.lossy = !victims_world && sim_chance(10);
	world.breaks = !victims_world && sim_chance(7);
	world.attach_ns = 20 * US + (victims_world ? sim_random(60 * US) : sim_random(MS));
	world.wake_ns = 50 * US + (victims_world ? sim_random(100 * US) : sim_random(2 * MS));
	world.reset_ns = 20 * US + sim_random(200 * US);
	rknpu_params.slice_us = victims_world || sim_chance(80) ? 4000 : 500 + sim_random(40000);
	rknpu_params.max_hangs = sim_chance(80) ? 8 : sim_random(3);
	rknpu_params.hang_ban_ms = victims_world ? 1000 : 100 + sim_random(1000);
	rknpu_params.autosuspend_ms = sim_chance(50) ? 50 : sim_random(8);
	rknpu_params.start_check_ms = sim_chance(80) ? 100 : sim_random(30);
	rknpu_params.default_timeout_ms = victims_world ? 500 : 20 + sim_random(200);
	rknpu_params.cancel_grace_ms = sim_random(100);
	if (victims_world && !rknpu_params.max_hangs)
		rknpu_params.max_hangs = 8;
	sim_reset(START_NS, hz[sim_random(3)], victims_world ? 10 : sim_random(50));
	sim_trace("world %llu: %u cores%s%s%s%s%s, attach %.3f ms, slice %u us, HZ %u, max_hangs %u", seed,
		  world.cores, world.shared ? ", one IOMMU" : "", world.one_cbuf ? ", one CBUF" : "",
		  world.polled ? ", polled" : "", world.lossy ? ", lost interrupts" : "",
		  world.breaks ? ", breaks" : "", world.attach_ns / 1e6, rknpu_params.slice_us, sim_hz,
		  rknpu_params.max_hangs);
}

static void core_lost(struct rknpu_sched *s)
{
	(void)s;
}

static bool done;

/* All that runs in the simulated machine runs in contexts. */
static void begin(void *arg)
{
	unsigned int i;

	(void)arg;
	if (rknpu_sched_init(&sched, &hw, &mem))
		abort();
	sched.core_lost = core_lost;
	hw.ops = &rknpu_sched_hw_ops;
	for (i = 0; i < world.cores; i++) {
		if (hw.ops->init_core(&hw.cores[i]))
			abort();
		hw.ops->start_core(&hw.cores[i]);
	}
	if (gangs_world)
		sim_start_gangs_victim();
	else if (victims_world)
		sim_start_victim(seed % 16 == 5);
	else
		sim_start_random();
	if (!victims_world && sim_chance(15)) {
		sim_sleep(sim_random(300 * MS));
		sim_trace("the device goes");
		rknpu_sched_stop(&sched);
		stopping = true;
	}
}

static void check_ended(void)
{
	u64 i;

	for (i = 1; i <= job_count; i++) {
		if (jobs[i].pushed && !jobs[i].ended)
			sim_fail("job %llu of user %u has not ended", i, jobs[i].uid);
	}
}

static void check_busy(void)
{
	unsigned int i;
	u64 busy, seen, off;

	for (i = 0; i < world.cores && !world.lossy; i++) {
		busy = sched.rqs[i].load.total;
		seen = npu_busy_ns(i);
		off = busy < seen ? seen - busy : busy - seen;
		if (off > 10 * MS + npu_kicks(i) * (world.polled ? 100 : 20) * US)
			sim_fail("core %u worked for %.3f ms, and %.3f are charged", i, seen / 1e6, busy / 1e6);
	}
}

static void end(void *arg)
{
	struct rknpu_runqueue *rq;
	unsigned int i;

	(void)arg;
	if (!list_empty(&sched.clients))
		sim_fail("a client is left");
	if (!list_empty(&sched.held) || !list_empty(&sched.banned) || !list_empty(&sched.met) ||
	    !list_empty(&sched.ready) || !list_empty(&sched.ending))
		sim_fail("a list is not empty in the end");
	if (sched.gang || sched.put_off || sched.anticipating)
		sim_fail("a gang gathers, or a core is kept, in the end");
	rknpu_for_each_rq(rq, &sched) {
		if (rq->queued || rq->queued_ns || rq->held || rq->shares || rq->job)
			sim_fail("core %u has something left in its queue", rq->core->index);
		if (!sched.gone && (rq->frozen || rq->postponed))
			sim_fail("core %u has not come back from system sleep", rq->core->index);
	}
	if (!sched.gone)
		rknpu_sched_stop(&sched);
	for (i = 0; i < world.cores; i++)
		hw.ops->fini_core(&hw.cores[i]);
	npu_fini();
	done = true;
}

static void run_seed(void)
{
	sim_seed(seed);
	memset(&sched, 0, sizeof(sched));
	memset(&mem, 0, sizeof(mem));
	sim_check_init();
	job_count = gang_count = processes = users = 0;
	stopping = done = false;
	line_count = 0;
	draw_world();
	npu_init();
	sim_at(0, begin, NULL, false);
	/* What nobody waits for goes on for long: deadlines, pauses of failures. */
	while (!sim_is_quiet() && sim_now() < START_NS + 300000 * MS)
		sim_run(sim_now() + 100 * MS);
	if (!sim_is_quiet())
		sim_fail("it goes on after 300 s");
	check_ended();
	if (processes || sim_blocked())
		sim_fail("%u programs wait for ever", processes);
	check_busy();
	if (victims_world)
		sim_check_share();
	sim_at(0, end, NULL, false);
	sim_run(U64_MAX);
	if (!done)
		sim_fail("the device does not go");
	/* The system's workqueue. */
	if (sim_allocations() != 1)
		sim_fail("%u allocations are left", sim_allocations() - 1);
	sim_release();
}

/* In a process of its own: what one leaves behind must not change the next. */
static bool seed_passes(void)
{
	int status = 1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		run_seed();
		if (tracing)
			print_events();
		fflush(stdout);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

int main(int argc, char **argv)
{
	u64 i, ran[2] = { 0 };
	int a;

	self_path = argv[0];
	for (a = 1; a < argc; a++) {
		if (!strcmp(argv[a], "--trace"))
			tracing = true;
		else if (!strcmp(argv[a], "--all"))
			tracing = all_lines = true;
		else if (!strcmp(argv[a], "--again"))
			tracing = again = true;
		else if (!strcmp(argv[a], "--quiet"))
			quiet_trace = true;
		else if (!strcmp(argv[a], "--first") && a + 1 < argc)
			first_seed = strtoull(argv[++a], NULL, 0);
		else if (!strcmp(argv[a], "--seeds") && a + 1 < argc)
			seeds = strtoull(argv[++a], NULL, 0);
		else
			return 2;
	}
	signal(SIGSEGV, crashed);
	signal(SIGABRT, crashed);
	for (i = 0; i < seeds; i++) {
		seed = first_seed + i;
		if (!seed_passes())
			return 1;
		ran[seed % 2]++;
	}
	if (again) {
		printf("not ok 1 - seed %llu: failed, and not again\n1..1\n", seed);
		return 1;
	}
	printf("ok 1 - %llu seeds of users at random\nok 2 - %llu seeds of attackers and a victim\n1..2\n",
	       ran[0], ran[1]);
	return 0;
}
