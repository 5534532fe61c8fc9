// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver's scheduler as a program of the host: users at random, and attackers against a
 * victim, with checks after every step.
 *
 *   sim [--first N] [--seeds N] [--only random|victim] [--trace] [--quiet]
 *
 * A seed that fails is run again with its events printed, the last ones at the end.
 */
#include <signal.h>
#include <unistd.h>

#include "sim.h"

#include "sched/rknpu_client.h"
#include "sched/rknpu_debt.h"
#include "sched/rknpu_gang.h"
#include "sched/rknpu_job.h"
#include "sched/rknpu_lifecycle.h"
#include "sched/rknpu_limits.h"
#include "sched/rknpu_runqueue.h"
#include "sched/rknpu_sched.h"
#include "sched/rknpu_share.h"

#define MS		1000000ull
#define US		1000ull
#define START_NS	(100000 * MS)
#define MAX_JOBS	20000
#define MAX_USERS	48

struct rknpu_sched sched;
static struct rknpu_mem mem;
static u64 seed, first_seed = 1, seeds = 200, job_count;
static struct sim_job jobs[MAX_JOBS];
static bool all_lines, tracing, quiet_trace, stopping, victims_world;
static unsigned int processes, users;
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
	printf("# a gang %s\n", sched.gang ? "gathers" : "does not gather");
}

static char world_line[sizeof(lines[0])];

static void print_trace(void)
{
	unsigned long i = line_count > LINES ? line_count - LINES : 0;

	printf("# %s\n", world_line);
	print_state();

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
		print_trace();
		printf("not ok 1 - seed %llu; again: make -C tools/testbed/sim check FIRST=%llu SEEDS=1\n1..1\n", seed, seed);
		fflush(stdout);
		_exit(1);
	}
	snprintf(number, sizeof(number), "%llu", seed);
	execl(self_path, self_path, "--trace", "--first", number, "--seeds", "1", NULL);
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

/* ---- jobs as they are seen from outside ---- */

struct sim_job *sim_job_of(u64 id)
{
	return &jobs[id];
}

struct sim_job *sim_job(const struct rknpu_job *job)
{
	return &jobs[job->result.tag];
}

/* What a core ran lately, from a start until it was free again. */
#define STAYS	64
struct stay { unsigned int uid; u64 from, to; };
static struct core_view {
	struct stay stays[STAYS];
	unsigned int stay_count;
	bool occupied;
	/* Since when it could run something, or others wait beside a gang's job. */
	u64 idle_since, steal_since, others_since;
	/* Of a lower priority: the job that has waited longest, and those that went before it. */
	u64 oldest[RKNPU_PRIORITY_COUNT];
	unsigned int overtakes[RKNPU_PRIORITY_COUNT];
} views[RKNPU_MAX_CORES];
static u64 all_idle_since;

static void enter_stay(unsigned int core, unsigned int uid)
{
	struct core_view *v = &views[core];

	if (v->occupied)
		v->stays[(v->stay_count - 1) % STAYS].to = sim_now();
	v->stays[v->stay_count++ % STAYS] = (struct stay) { uid, sim_now(), U64_MAX };
	v->occupied = true;
}

static void leave_stays(void)
{
	unsigned int i;

	for (i = 0; i < world.cores; i++) {
		struct core_view *v = &views[i];

		if (!v->occupied || sched.rqs[i].job || sched.rqs[i].state == RKNPU_CORE_RECOVERING)
			continue;
		v->occupied = false;
		v->stays[(v->stay_count - 1) % STAYS].to = sim_now();
	}
}

/* One user who is looked at: its share, and how long its jobs wait. */
static struct { u64 jobs, busy_ns, from_ns, window_ns, task_ns, longest_ns; unsigned int uid, mask; bool gang; } victim;

static bool is_single_iommu(void)
{
	return world.shared || world.one_cbuf;
}

static u64 slice_ns(void)
{
	return rknpu_params.slice_us * US;
}

/*
 * Whose user has had less than all others by half a slice is next: after one job, which ran
 * when it came, or whose turn it was, its recovery, and four slices. Behind one IOMMU a user's
 * jobs run beside each other. Without the half slice, one job of each other user may come first.
 */
static void check_victim_waited(const struct sim_job *j, unsigned int core)
{
	u64 now = sim_now(), waited = now - j->queued_ns, longest[MAX_USERS] = { 0 }, running = 0, slack, one = 0, all = 0;
	unsigned int i, c;

	for (c = 0; c < world.cores; c++) {
		struct core_view *v = &views[c];

		/* What may run anywhere waits for some core, and may be moved. */
		if (c != core && !is_single_iommu() && victim.mask)
			continue;
		for (i = v->stay_count > STAYS ? v->stay_count - STAYS : 0; i < v->stay_count; i++) {
			struct stay *s = &v->stays[i % STAYS];
			u64 to = min(s->to, now), from = max(s->from, j->queued_ns), *most;

			if (s->uid == j->uid || from >= to)
				continue;
			most = s->from < j->queued_ns ? &running : &longest[s->uid];
			*most = max(*most, to - from);
			one = max(one, *most);
		}
	}
	for (i = 0; i < MAX_USERS; i++)
		all += longest[i];
	if (j->behind_ns <= slice_ns() / 2)
		one = running + all;
	slack = 4 * slice_ns() + 2 * world.attach_ns + 2 * world.wake_ns + 4 * world.reset_ns + 2 * MS;
	if (waited > one + slack)
		sim_fail("job %llu of user %u waited %.3f ms for core %u, and other jobs took %.3f ms, although its user had had %.3f ms less than all others",
			 j->id, j->uid, waited / 1e6, core, one / 1e6, j->behind_ns / 1e6);
}

static u64 vtime_of(const struct rknpu_runqueue *rq, const struct rknpu_user *user)
{
	return user->shares[rq->core->index].vtime_ns;
}

/* By how much less than anybody else it has had, as is known until now; 0: it has not. */
static u64 is_behind_by(struct rknpu_runqueue *rq, const struct rknpu_user *user)
{
	u64 least = U64_MAX, floor = rq->vtime_ns > slice_ns() ? rq->vtime_ns - slice_ns() : 0;
	u64 own = max(vtime_of(rq, user), floor);
	unsigned long uid;
	struct rknpu_user *u;

	xa_for_each(&sched.users, uid, u) {
		if (u != user && u->clients)
			least = min(least, max(vtime_of(rq, u), floor));
	}
	return own < least ? least - own : 0;
}

void sim_rknpu_job_submit(const struct rknpu_job *job)
{
	sim_trace("job %llu: user %lu submits, vm %llu, priority %u, %u tasks of %.3f ms%s%s, mask %x, deed %d",
		  sim_job(job)->id, job->client->user->uid, job->vm->domain.id, job->priority,
		  job->task_count, sim_job(job)->task_ns / 1e6, job->divisible ? ", divisible" : "",
		  job->gang ? ", gang" : "", job->core_mask, sim_job(job)->deed);
}

void sim_rknpu_job_queue(const struct rknpu_job *job, unsigned int core)
{
	struct sim_job *j = sim_job(job);

	sim_trace("job %llu: queued for core %u; its user has had %.3f ms of the least %.3f", j->id, core,
		  vtime_of(&sched.rqs[core], job->client->user) / 1e6, sched.rqs[core].vtime_ns / 1e6);
	if (j->queued_ns)
		return;
	j->queued_ns = sim_now();
	j->behind_ns = j->victim ? is_behind_by(&sched.rqs[core], job->client->user) : 0;
}

/* ---- what waits ---- */

typedef bool (*is_it_t)(struct rknpu_runqueue *rq, struct rknpu_job *job);

static bool list_has(struct rknpu_runqueue *rq, struct list_head *entities, unsigned int *tries, is_it_t is_it)
{
	struct rknpu_entity *entity;

	list_for_each_entry(entity, entities, link) {
		if (!*tries)
			return false;
		--*tries;
		if (is_it(rq, list_first_entry(&entity->jobs, struct rknpu_job, link)))
			return true;
	}
	return false;
}

/* Among the first jobs of as many entities as the driver looks at, too. */
static bool group_has(struct rknpu_runqueue *rq, struct rknpu_group *group, is_it_t is_it)
{
	unsigned int tries = 8;

	return list_has(rq, &group->boosted, &tries, is_it) || list_has(rq, &group->entities, &tries, is_it);
}

static bool queue_has(struct rknpu_runqueue *rq, is_it_t is_it)
{
	struct rknpu_group *group;
	unsigned int p, groups;

	for (p = 0; p < RKNPU_PRIORITY_COUNT; p++) {
		group = rknpu_share_first(rq, p);
		for (groups = 0; group && groups < 32; groups++, group = rknpu_share_next(group)) {
			if (group_has(rq, group, is_it))
				return true;
		}
	}
	return false;
}

static bool is_single(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	(void)rq;
	return !rknpu_gang_waits(job);
}

static u64 oldest;

static bool find_oldest(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	if (is_single(rq, job))
		oldest = min(oldest, sim_job(job)->id);
	return false;
}

/* Of jobs that start: how many has a lower priority that waits let pass, whose user is not ahead? */
static void count_overtakes(const struct rknpu_job *job, unsigned int core)
{
	struct rknpu_runqueue *rq = &sched.rqs[core];
	struct core_view *v = &views[core];
	unsigned int p;

	v->overtakes[job->priority] = 0;
	for (p = 0; p < job->priority; p++) {
		struct rknpu_group *first = rknpu_share_first(rq, p);

		oldest = U64_MAX;
		if (first)
			group_has(rq, first, find_oldest);
		if (oldest != v->oldest[p])
			v->overtakes[p] = 0;
		v->oldest[p] = oldest;
		if (oldest == U64_MAX || first->share->vtime_ns > vtime_of(rq, job->client->user) + slice_ns() / 2)
			continue;
		if (++v->overtakes[p] > 40 && !is_single_iommu())
			sim_fail("%u jobs of higher priorities went before job %llu of priority %u on core %u",
				 v->overtakes[p], oldest, p, core);
	}
}

void sim_rknpu_job_start(const struct rknpu_job *job, unsigned int core)
{
	struct sim_job *j = sim_job(job);
	unsigned int i;

	sim_trace("job %llu: starts on core %u at task %u", j->id, core, job->result.task);
	for (i = 0; i < j->dep_count; i++) {
		if (!jobs[j->deps[i]].over && !jobs[j->deps[i]].ended)
			sim_fail("job %llu starts before job %llu is over, for which it waits", j->id, j->deps[i]);
	}
	if (job->core_mask && !(job->core_mask & BIT(core)))
		sim_fail("job %llu runs on core %u, where it may not", j->id, core);
	if (j->over || j->ended)
		sim_fail("job %llu starts again after its end", j->id);
	if (job->cancelled && !j->started_ns)
		sim_fail("job %llu starts although it is cancelled", j->id);
	if (job->client->user->held)
		sim_fail("job %llu starts although its user is held", j->id);
	enter_stay(core, j->uid);
	count_overtakes(job, core);
	if (j->behind_ns && !j->started_ns)
		check_victim_waited(j, core);
	if (!j->started_ns)
		j->started_ns = sim_now();
}

void sim_rknpu_task_done(const struct rknpu_job *job, unsigned int core)
{
	(void)core;
	if (job->result.task > job->task_count)
		sim_fail("job %llu has done more tasks than it has", sim_job(job)->id);
	sim_job(job)->over |= job->result.task == job->task_count;
}

void sim_rknpu_job_stop(const struct rknpu_job *job, unsigned int core)
{
	sim_trace("job %llu: stops on core %u after %u tasks", sim_job(job)->id, core, job->result.task);
}

static void job_ends(const struct rknpu_job *job)
{
	struct sim_job *j = sim_job(job);

	sim_trace("job %llu: ends, %s", j->id, rknpu_cause_name(job->result.cause));
	if (j->ended)
		sim_fail("job %llu ends twice", j->id);
	j->ended = true;
}

void sim_rknpu_job_done(const struct rknpu_job *job)
{
	if (!sim_job(job)->over)
		sim_fail("job %llu is done without having run", sim_job(job)->id);
	job_ends(job);
}

void sim_rknpu_job_fail(const struct rknpu_job *job)
{
	enum rknpu_cause cause = job->result.cause;
	struct sim_job *j = sim_job(job);

	if (j->deed == SIM_GOOD && cause != RKNPU_CAUSE_CANCELLED && cause != RKNPU_CAUSE_BANNED &&
	    cause != RKNPU_CAUSE_DEVICE_GONE && !world.lossy && j->task_ns < 10 * MS)
		sim_fail("job %llu did nothing wrong, and failed: %s", j->id, rknpu_cause_name(cause));
	job_ends(job);
}

void sim_rknpu_job_dump(const struct rknpu_job *job, const struct rknpu_dump *dump)
{
	(void)job;
	(void)dump;
}

/* ---- what is true whenever nobody holds the lock ---- */

static unsigned int count_entities(struct rknpu_runqueue *rq, struct rknpu_group *group,
				   struct list_head *list, bool boosted, u64 *ns)
{
	struct rknpu_entity *entity;
	struct rknpu_job *job;
	unsigned int n = 0;

	list_for_each_entry(entity, list, link) {
		if (list_empty(&entity->jobs))
			sim_fail("core %u: an entity without jobs waits", rq->core->index);
		if (entity->group != group || entity->boosted != boosted)
			sim_fail("core %u: an entity is in the wrong list", rq->core->index);
		list_for_each_entry(job, &entity->jobs, link) {
			if (job->state != RKNPU_JOB_QUEUED || job->rq != rq || job->entity != entity)
				sim_fail("core %u: job %llu is in the wrong queue", rq->core->index,
					 sim_job(job)->id);
			n++;
			*ns += job->expected_ns;
		}
	}
	return n;
}

static void check_queue(struct rknpu_runqueue *rq)
{
	unsigned int p, n = 0, shares = 0, groups;
	struct rknpu_user *user;
	unsigned long uid;
	u64 ns = 0;

	xa_for_each(&sched.users, uid, user) {
		struct rknpu_share *share = &user->shares[rq->core->index];

		for (p = groups = 0; p < RKNPU_PRIORITY_COUNT; p++) {
			struct rknpu_group *group = &share->groups[p];
			bool waits = !list_empty(&group->entities) || !list_empty(&group->boosted);

			n += count_entities(rq, group, &group->entities, false, &ns);
			n += count_entities(rq, group, &group->boosted, true, &ns);
			groups += timerqueue_node_queued(&group->node);
			if (timerqueue_node_queued(&group->node) != (waits && !share->held))
				sim_fail("core %u: user %lu %s", rq->core->index, uid,
					 waits ? "waits, and is in no queue" : "is queued for nothing");
			if (timerqueue_node_queued(&group->node) && rq->shares > 1 &&
			    group->node.expires != share->vtime_ns)
				sim_fail("core %u: user %lu is queued by another time than it has had",
					 rq->core->index, uid);
		}
		if (groups != share->queued)
			sim_fail("core %u: user %lu has %u groups queued, and counts %u", rq->core->index,
				 uid, groups, share->queued);
		if (share->held && !user->held)
			sim_fail("core %u: user %lu stays held", rq->core->index, uid);
		shares += !!groups;
	}
	if (shares != rq->shares || n != rq->queued || ns != rq->queued_ns)
		sim_fail("core %u: %u users, %u jobs, %llu ns are queued, and it counts %u, %u, %llu",
			 rq->core->index, shares, n, ns, rq->shares, rq->queued, rq->queued_ns);
	for (p = 0; p < RKNPU_PRIORITY_COUNT; p++) {
		struct rknpu_group *group, *last = NULL;

		for (group = rknpu_share_first(rq, p); group; group = rknpu_share_next(group)) {
			if (last && last->node.expires > group->node.expires)
				sim_fail("core %u: users are out of order", rq->core->index);
			last = group;
		}
	}
}

static void check_core(struct rknpu_runqueue *rq)
{
	const struct rknpu_job *job = rq->job;
	unsigned int i = rq->core->index;

	if ((rq->state == RKNPU_CORE_RUNNING) != (job && job->start_ns) &&
	    rq->state != RKNPU_CORE_RECOVERING && rq->state != RKNPU_CORE_ABSENT)
		sim_fail("core %u: state %d, and its time is %scounted", i, rq->state,
			 job && job->start_ns ? "" : "not ");
	if (job && job->state != RKNPU_JOB_ON_CORE)
		sim_fail("core %u: job %llu is on it, and in state %d", i, sim_job(job)->id, job->state);
	if (job && rq->state == RKNPU_CORE_IDLE)
		sim_fail("core %u: idle with job %llu", i, sim_job(job)->id);
	if (!!(sched.anticipating & BIT(i)) != !!rq->anticipate.since_ns)
		sim_fail("core %u: does not know whether it is kept for a user", i);
	if (rq->anticipate.since_ns && sim_now() > rq->anticipate.since_ns + slice_ns() / 2 + 3 * MS)
		sim_fail("core %u: kept for a user for %.3f ms", i, (sim_now() - rq->anticipate.since_ns) / 1e6);
}

static u64 last_total[RKNPU_MAX_CORES];

static void check_times(void)
{
	struct rknpu_client *client;
	unsigned int i;

	for (i = 0; i < world.cores; i++) {
		if (sched.rqs[i].load.total < last_total[i])
			sim_fail("core %u: its time goes back", i);
		last_total[i] = sched.rqs[i].load.total;
	}
	list_for_each_entry(client, &sched.clients, link) {
		u64 sum = 0;

		for (i = 0; i < RKNPU_MAX_CORES; i++)
			sum += client->core_ns[i];
		if (sum != client->busy_ns)
			sim_fail("client %llu: its time on cores is not all its time", client->id);
	}
}

/* ---- no core idles while somebody could run there ---- */

static bool can_start(struct rknpu_runqueue *rq)
{
	return rq->state == RKNPU_CORE_IDLE && !rq->frozen;
}

static bool is_any(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	(void)rq;
	(void)job;
	return true;
}

static unsigned int thief;

static bool is_for_thief(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	return !rknpu_gang_waits(job) && job != rq->prequeued &&
	       (!job->core_mask || (job->core_mask & BIT(thief))) &&
	       list_empty(&job->client->entities[thief][job->priority].jobs);
}

static bool lasts(u64 *since, bool is, u64 ns)
{
	if (!is)
		*since = 0;
	else if (!*since)
		*since = sim_now();
	return *since && sim_now() - *since > ns;
}

/* Of what is decided at every event; what a busy system takes until the next one is in it. */
#define SOON	(5 * MS)

static u64 no_gang_since;

/* Jobs that are being cancelled have left, and are about to end. */
static bool gathers_nobody(void)
{
	const struct rknpu_gang *gang = sched.gang;
	unsigned int i;

	if (!gang)
		return false;
	if (!gang->open)
		sim_fail("a gang that has started gathers");
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (gang->jobs[i] && (gang->jobs[i]->state == RKNPU_JOB_QUEUED ||
				      gang->jobs[i]->state == RKNPU_JOB_ON_CORE))
			return false;
	}
	return true;
}

static bool nothing_runs(void)
{
	struct rknpu_runqueue *rq;
	bool waits = false;

	rknpu_for_each_rq(rq, &sched) {
		if (rq->state != RKNPU_CORE_IDLE && rq->state != RKNPU_CORE_ABSENT && rq->state != RKNPU_CORE_DEAD)
			return false;
		if (rq->frozen || rq->anticipate.since_ns)
			return false;
		waits |= can_start(rq) && queue_has(rq, is_any);
	}
	return waits;
}

static bool others_wait(struct rknpu_runqueue *rq)
{
	struct rknpu_runqueue *other;

	if (!rq->job || !rq->gang_since_ns)
		return false;
	rknpu_for_each_rq(other, &sched) {
		if ((other == rq || is_single_iommu()) &&
		    other->shares > !!rq->job->client->user->shares[other->core->index].queued)
			return true;
	}
	return false;
}

static void check_idle(void)
{
	struct rknpu_runqueue *rq, *from;
	/* It looks once in so many ticks, which may be a little less than a slice. */
	u64 look = (slice_ns() / SIM_TICK + 1) * SIM_TICK * (slice_ns() % SIM_TICK ? 2 : 1) + SOON;

	if (sched.gone)
		return;
	if (lasts(&no_gang_since, gathers_nobody(), SOON))
		sim_fail("a gang gathers none of whose jobs is there");
	if (lasts(&all_idle_since, nothing_runs(), SOON))
		sim_fail("nothing runs, although something waits");
	rknpu_for_each_rq(rq, &sched) {
		struct core_view *v = &views[rq->core->index];
		bool idle = can_start(rq) && !rq->anticipate.since_ns, steal = false;

		if (lasts(&v->idle_since, idle && !is_single_iommu() && queue_has(rq, is_single), SOON))
			sim_fail("core %u is idle, although a job waits for it", rq->core->index);
		if (idle && !rq->shares && !is_single_iommu()) {
			thief = rq->core->index;
			rknpu_for_each_rq(from, &sched)
				steal |= from != rq && from->job && from->shares &&
					 from->queued < 8 && queue_has(from, is_for_thief);
		}
		if (lasts(&v->steal_since, steal, 60 * MS + 2 * SIM_TICK))
			sim_fail("core %u is idle, although a job that could run there waits for another",
				 rq->core->index);
		if (lasts(&v->others_since, others_wait(rq), look) && sim_now() - rq->gang_since_ns > look)
			sim_fail("core %u waits for a gang for %.3f ms, and others for the core",
				 rq->core->index, (sim_now() - rq->gang_since_ns) / 1e6);
		if (rq->gang_since_ns && sim_now() - rq->gang_since_ns > 565 * MS + 2 * SIM_TICK + SOON)
			sim_fail("core %u waits for a gang for %.3f ms", rq->core->index,
				 (sim_now() - rq->gang_since_ns) / 1e6);
	}
}

static const struct rknpu_gang *last_gang;
static u32 last_kept;

static void trace_gang(void)
{
	const struct rknpu_gang *gang = sched.gang;
	unsigned int i;

	if (last_kept != sched.anticipating)
		sim_trace("cores %x are kept for users", sched.anticipating);
	if (last_gang != gang && !gang)
		sim_trace("no gang gathers");
	for (i = 0; gang && last_gang != gang && i < RKNPU_MAX_CORES; i++) {
		if (gang->jobs[i])
			sim_trace("the gang of job %llu gathers; jobs on cores %x come before", sim_job(gang->jobs[i])->id, gang->before);
	}
	last_gang = gang;
	last_kept = sched.anticipating;
}

static unsigned int unlocks;

void sim_check_unlocked(void)
{
	struct rknpu_runqueue *rq;

	if (tracing)
		trace_gang();
	leave_stays();
	check_idle();
	if (++unlocks % 8)
		return;
	rknpu_for_each_rq(rq, &sched) {
		check_queue(rq);
		check_core(rq);
	}
	check_times();
}

/* ---- programs ---- */

#define MAX_VMS	4

struct program {
	struct rknpu_client *client;
	struct rknpu_vm *vms[MAX_VMS];
	unsigned int uid, vm_count;
	/* Of the last job. */
	struct dma_fence *fence;
	u64 last;
};

struct shape {
	u32 mask, tasks, deed_task;
	u64 task_ns, timeout_ns;
	unsigned int priority, vm;
	enum sim_deed deed;
	bool batched, divisible, victim;
	/* Waits for the job before, and for a fence of somebody else's that signals in so many ns. */
	bool follows;
	u64 foreign_ns;
};

static const struct dma_fence_ops foreign_ops;

static void foreign_signals(void *arg)
{
	dma_fence_signal(arg);
	dma_fence_put(arg);
}

static int open_program(struct program *p, unsigned int uid, unsigned int vms)
{
	unsigned int i;

	memset(p, 0, sizeof(*p));
	p->uid = sim_uid = uid;
	p->client = rknpu_client_create(&sched);
	if (IS_ERR(p->client))
		return PTR_ERR(p->client);
	p->vm_count = vms;
	for (i = 0; i < vms; i++)
		p->vms[i] = npu_vm_create(&p->client->account);
	return 0;
}

static void close_program(struct program *p)
{
	unsigned int i;

	sim_trace("user %u closes client %llu", p->uid, p->client->id);
	for (i = 0; i < p->vm_count; i++)
		rknpu_vm_put(p->vms[i]);
	rknpu_sched_close_client(p->client);
	dma_fence_put(p->fence);
	p->fence = NULL;
	p->client = NULL;
}

static struct rknpu_job *make_job(struct program *p, const struct shape *s)
{
	struct rknpu_job *job;
	struct sim_job *j;
	unsigned int i;

	if (job_count + (s->victim ? 1 : 32) >= MAX_JOBS)
		return ERR_PTR(-EBUSY);
	job = rknpu_job_alloc(p->client, p->vms[s->vm % p->vm_count], s->tasks, s->batched, 0);
	if (IS_ERR(job))
		return job;
	for (i = 0; i < s->tasks; i++)
		rknpu_job_set_task(job, i, 0x1000, 16, 0);
	job->core_mask = s->mask;
	job->priority = s->priority;
	job->timeout_ns = s->timeout_ns;
	job->divisible = s->divisible;
	j = &jobs[++job_count];
	*j = (struct sim_job) {
		.id = job_count, .task_ns = s->task_ns, .deed = s->deed, .deed_task = s->deed_task,
		.uid = p->uid, .victim = s->victim,
	};
	job->result.tag = j->id;
	return job;
}

/* All jobs of a gang wait for the same. */
static void add_deps(struct program *p, struct rknpu_job **job, unsigned int count, const struct shape *s)
{
	struct dma_fence *foreign = NULL;
	unsigned int i;

	if (s->foreign_ns) {
		foreign = sim_alloc(sizeof(*foreign));
		dma_fence_init(foreign, &foreign_ops, NULL, dma_fence_context_alloc(1), 1);
		sim_at(s->foreign_ns, foreign_signals, foreign, false);
	}
	for (i = 0; i < count; i++) {
		struct sim_job *j = sim_job(job[i]);

		if (s->follows && p->fence && !dma_fence_is_signaled(p->fence)) {
			j->deps[j->dep_count++] = p->last;
			rknpu_job_add_dep(job[i], p->fence);
		}
		if (foreign)
			rknpu_job_add_dep(job[i], foreign);
		rknpu_limits_apply(job[i]);
	}
}

static void push(struct program *p, struct rknpu_job *job)
{
	dma_fence_put(p->fence);
	p->fence = dma_fence_get(rknpu_job_fence(job));
	p->last = job->result.tag;
	sim_job(job)->pushed = true;
	rknpu_job_arm(job);
	rknpu_sched_push(job);
}

static int submit(struct program *p, const struct shape *s)
{
	struct rknpu_job *job = make_job(p, s);

	if (IS_ERR(job))
		return PTR_ERR(job);
	add_deps(p, &job, 1, s);
	push(p, job);
	return 0;
}

/* A job of each shape, for as many cores. */
static int submit_gang(struct program *p, const struct shape *s, unsigned int count)
{
	struct rknpu_job *gang[RKNPU_MAX_CORES];
	unsigned int i;

	for (i = 0; i < count; i++) {
		gang[i] = make_job(p, &s[i]);
		if (IS_ERR(gang[i])) {
			int ret = PTR_ERR(gang[i]);

			while (i--)
				rknpu_job_put(gang[i]);
			return ret;
		}
	}
	if (rknpu_gang_form(gang, count))
		abort();
	add_deps(p, gang, count, s);
	for (i = 0; i < count; i++)
		push(p, gang[i]);
	return 0;
}

static void wait_for(struct program *p)
{
	struct dma_fence *fence = p->fence ? dma_fence_get(p->fence) : NULL;

	if (fence)
		dma_fence_wait(fence);
	dma_fence_put(fence);
}

/* What the last call said: a user that is banned tries later, and with another file. */
static bool try_again(struct program *p, int ret, unsigned int vms)
{
	if (!ret)
		return true;
	if (ret == -EPIPE && rknpu_debt_banned_ns(p->client) == U64_MAX) {
		unsigned int uid = p->uid;

		close_program(p);
		return !open_program(p, uid, vms);
	}
	sim_sleep(MS);
	return true;
}

static void start(void (*fn)(void *arg), void *arg)
{
	processes++;
	sim_at(sim_random(5 * MS), fn, arg, false);
}

/* ---- at random ---- */

static u64 any_length(void)
{
	static const u64 most[] = { 20 * US, 200 * US, MS, 3 * MS, 9 * MS };

	return 5 * US + sim_random(most[sim_random(ARRAY_SIZE(most))]);
}

static struct shape any_shape(void)
{
	struct shape s = {
		.mask = sim_chance(40) ? 0 : 1 + sim_random((1u << world.cores) - 1),
		.tasks = sim_chance(60) ? 1 : 1 + sim_random(12),
		.task_ns = any_length(),
		.priority = sim_chance(60) ? RKNPU_PRIORITY_NORMAL : sim_random(RKNPU_PRIORITY_COUNT),
		.vm = sim_random(MAX_VMS),
		.divisible = sim_chance(20),
		.follows = sim_chance(25),
		.foreign_ns = sim_chance(10) ? 1 + sim_random(30 * MS) : 0,
	};

	s.batched = !s.divisible && sim_chance(50);
	if (sim_chance(4)) {
		s.deed = SIM_HANGS + sim_random(4);
		s.deed_task = s.deed == SIM_NEVER_STARTS ? 0 : sim_random(s.tasks);
	}
	return s;
}

static int any_gang(struct program *p)
{
	struct shape s[RKNPU_MAX_CORES], one = any_shape();
	unsigned int i, n = 0, skip = sim_chance(50) && world.cores == 3 ? sim_random(3) : RKNPU_MAX_CORES;

	for (i = 0; i < world.cores; i++) {
		if (i == skip)
			continue;
		s[n] = sim_chance(50) ? one : any_shape();
		s[n].vm = one.vm;
		s[n].priority = one.priority;
		s[n].batched = true;
		s[n].divisible = false;
		s[n].follows = one.follows;
		s[n].foreign_ns = one.foreign_ns;
		s[n++].mask = BIT(i);
	}
	return n < 2 ? 0 : submit_gang(p, s, n);
}

struct random_user { unsigned int uid, steps, vms; };

static void random_program(void *arg)
{
	struct random_user u = *(struct random_user *)arg;
	struct drm_printer printer;
	struct program p;
	struct shape s;
	bool alive = !open_program(&p, u.uid, u.vms);

	sim_free(arg);
	while (alive && u.steps-- && !stopping) {
		switch (sim_random(20)) {
		case 0 ... 8:
			s = any_shape();
			alive = try_again(&p, submit(&p, &s), u.vms);
			break;
		case 9 ... 11:
			alive = try_again(&p, any_gang(&p), u.vms);
			break;
		case 12 ... 14:
			wait_for(&p);
			break;
		case 15:
			rknpu_client_show_busy(p.client, &printer);
			break;
		case 16:
			if (sim_chance(30))
				rknpu_sched_cancel_jobs(p.client);
			break;
		case 17:
			if (sim_chance(30)) {
				close_program(&p);
				alive = !open_program(&p, u.uid, u.vms);
			}
			break;
		default:
			sim_sleep(sim_chance(80) ? sim_random(MS) : sim_random(60 * MS));
		}
	}
	if (alive) {
		if (sim_chance(70))
			wait_for(&p);
		close_program(&p);
	}
	processes--;
}

static void random_events(void *arg)
{
	struct rknpu_core *core;
	unsigned int i, frozen = 0;

	(void)arg;
	while (processes > 1 && !stopping) {
		sim_sleep(sim_random(100 * MS));
		if (sim_chance(20))
			npu_stray_fault(sim_random(world.cores));
		if (!sim_chance(10))
			continue;
		sim_trace("system sleep");
		for (i = frozen = 0; i < world.cores; i++) {
			core = &hw.cores[i];
			if (rknpu_sched_core_freeze(core))
				break;
			frozen++;
		}
		if (frozen == world.cores && sched.rqs[0].job)
			sim_fail("core 0 sleeps with a job");
		sim_sleep(sim_random(20 * MS));
		while (frozen)
			rknpu_sched_core_thaw(&hw.cores[--frozen]);
		sim_trace("the system is awake");
	}
	processes--;
}

static void start_random(void)
{
	unsigned int i, n = sim_chance(85) ? 1 + sim_random(5) : 10 + sim_random(MAX_USERS - 12);

	users = n;
	for (i = 0; i < n; i++) {
		unsigned int clients = 1 + sim_random(n > 6 ? 1 : 4);

		while (clients--) {
			struct random_user *u = sim_alloc(sizeof(*u));

			*u = (struct random_user) { 1 + i, 5 + sim_random(n > 6 ? 15 : 40), 1 + sim_random(3) };
			start(random_program, u);
		}
	}
	start(random_events, NULL);
}

/* ---- attackers and a victim ---- */

struct attack {
	unsigned int kind, uid, mask, ahead, priority;
	u64 ns, other_ns, pause_ns;
};

static u64 longest_hold;

static void hold(u64 ns)
{
	longest_hold = max(longest_hold, ns);
}

#define ALWAYS	(!stopping)

/* As many jobs ahead as it has been told, one file each; perhaps in two address spaces by turns. */
static void attack_queue(struct attack *a, bool divisible, bool switches, bool reads)
{
	struct shape s = { .mask = a->mask, .tasks = divisible ? 50 : 1, .task_ns = a->ns,
			   .priority = a->priority, .divisible = divisible };
	struct drm_printer printer;
	struct program p;
	u64 i, n = 0;

	hold(a->ns);
	if (open_program(&p, a->uid, switches ? MAX_VMS : 1))
		return;
	while (ALWAYS) {
		for (i = 0; i < a->ahead && ALWAYS; i++) {
			s.vm = n++;
			if (!try_again(&p, submit(&p, &s), MAX_VMS))
				return;
		}
		if (reads && p.fence) {
			while (!dma_fence_is_signaled(p.fence) && ALWAYS) {
				rknpu_client_show_busy(p.client, &printer);
				sim_sleep(MS);
			}
		} else {
			wait_for(&p);
		}
		sim_sleep(a->pause_ns);
	}
	close_program(&p);
}

/* Each gang behind the one before, its parts not as long as each other, one perhaps late. */
static void attack_gangs(struct attack *a, bool late)
{
	struct shape s[RKNPU_MAX_CORES];
	unsigned int i, n = 0, which = sim_random(world.cores);
	struct program p;

	hold(a->ns);
	hold(a->other_ns);
	if (open_program(&p, a->uid, 1))
		return;
	for (i = 0; i < world.cores; i++) {
		if (world.cores == 3 && a->ahead == 2 && i == 2 - which)
			continue;
		s[n] = (struct shape) { .mask = BIT(i), .tasks = 1, .priority = a->priority,
					.task_ns = i == which ? a->other_ns : a->ns };
		n++;
	}
	while (ALWAYS && n > 1) {
		if (late)
			s[0].foreign_ns = 1 + sim_random(20 * MS);
		if (!try_again(&p, submit_gang(&p, s, n), 1))
			return;
		if (sim_chance(50))
			wait_for(&p);
		sim_sleep(a->pause_ns + 1);
		if (sim_chance(30))
			wait_for(&p);
	}
	close_program(&p);
}

/* Submits, and takes it back, so that its address space is attached for nothing. */
static void attack_cancels(struct attack *a)
{
	struct shape s = { .mask = a->mask, .tasks = 1, .task_ns = a->ns, .priority = a->priority };
	struct program p;
	u64 n = 0;

	hold(a->ns);
	if (open_program(&p, a->uid, MAX_VMS))
		return;
	while (ALWAYS) {
		s.vm = n++;
		if (!try_again(&p, submit(&p, &s), MAX_VMS))
			return;
		sim_sleep(50 * US + sim_random(2 * world.attach_ns));
		if (sim_chance(20)) {
			close_program(&p);
			if (open_program(&p, a->uid, MAX_VMS))
				return;
		} else {
			rknpu_sched_cancel_jobs(p.client);
		}
	}
	close_program(&p);
}

static void attack_fails(struct attack *a)
{
	struct shape s = { .mask = a->mask, .tasks = 1, .task_ns = a->ns, .timeout_ns = 20 * MS };
	struct program p;

	if (open_program(&p, a->uid, 1))
		return;
	while (ALWAYS) {
		s.deed = SIM_HANGS + sim_random(4);
		if (!try_again(&p, submit(&p, &s), 1))
			return;
		wait_for(&p);
	}
	close_program(&p);
}

enum { QUEUE, SWITCHES, DIVISIBLE, READS, GANGS, LATE_GANGS, CANCELS, FAILS, KINDS };
static const char *const kinds[KINDS] = {
	"queue", "switches", "divisible", "reads", "gangs", "late gangs", "cancels", "fails",
};

static void attacker(void *arg)
{
	struct attack a = *(struct attack *)arg;

	sim_free(arg);
	switch (a.kind) {
	case QUEUE: attack_queue(&a, false, false, false); break;
	case SWITCHES: attack_queue(&a, false, true, false); break;
	case DIVISIBLE: attack_queue(&a, true, false, false); break;
	case READS: attack_queue(&a, true, false, true); break;
	case GANGS: attack_gangs(&a, false); break;
	case LATE_GANGS: attack_gangs(&a, true); break;
	case CANCELS: attack_cancels(&a); break;
	case FAILS: attack_fails(&a); break;
	}
	processes--;
}

static u64 attack_length(void)
{
	static const u64 ms[] = { 1, 2, 5, 20, 50, 100 };

	return sim_chance(30) ? 100 * US + sim_random(MS) : ms[sim_random(ARRAY_SIZE(ms))] * MS;
}

static void start_attacker(unsigned int uid, unsigned int count)
{
	while (count--) {
		struct attack *a = sim_alloc(sizeof(*a)), *more;
		unsigned int copies = 1 + (sim_chance(30) ? sim_random(12) : 0);

		*a = (struct attack) {
			.kind = sim_random(KINDS), .uid = uid,
			.mask = 1 + sim_random((1u << world.cores) - 1),
			.ahead = 1 + sim_random(4),
			.priority = sim_chance(80) ? RKNPU_PRIORITY_NORMAL : RKNPU_PRIORITY_LOW,
			.ns = attack_length(), .other_ns = attack_length(),
			.pause_ns = sim_chance(70) ? 0 : sim_random(3 * MS),
		};
		if (a->kind == FAILS || a->kind == CANCELS)
			copies = 1 + sim_random(2);
		sim_trace("user %u: %u * %s, mask %x, %.3f and %.3f ms, %u ahead, pause %.3f ms, priority %u",
			  uid, copies, kinds[a->kind], a->mask, a->ns / 1e6, a->other_ns / 1e6, a->ahead,
			  a->pause_ns / 1e6, a->priority);
		while (--copies) {
			more = sim_alloc(sizeof(*more));
			*more = *a;
			start(attacker, more);
		}
		start(attacker, a);
	}
}

/* One job at a time, and soon the next; or one gang. */
static void victim_lives(void *arg)
{
	struct shape s[RKNPU_MAX_CORES];
	struct program p = { };
	unsigned int i, n = victim.gang ? world.cores : 1, uses = 0;
	u64 begun, think = 100 * US + sim_random(200 * US);

	(void)arg;
	for (i = 0; i < n; i++)
		s[i] = (struct shape) { .mask = victim.gang ? BIT(i) : victim.mask, .tasks = 1,
					.task_ns = victim.task_ns, .priority = RKNPU_PRIORITY_NORMAL,
					.victim = !victim.gang };
	sim_sleep(20 * MS);
	while (sim_now() < victim.from_ns + victim.window_ns) {
		if (!p.client && open_program(&p, victim.uid, 1))
			abort();
		begun = sim_now();
		if (job_count + 64 > MAX_JOBS) {
			victim.window_ns = max(sim_now(), victim.from_ns + 1) - victim.from_ns;
			break;
		}
		if (victim.gang ? submit_gang(&p, s, n) : submit(&p, s))
			sim_fail("a victim's job is refused");
		wait_for(&p);
		if (sim_now() >= victim.from_ns) {
			victim.jobs++;
			victim.busy_ns += victim.task_ns;
			victim.longest_ns = max(victim.longest_ns, sim_now() - begun);
		}
		if (++uses % 16 == 0)
			close_program(&p);
		sim_sleep(think);
	}
	if (p.client)
		close_program(&p);
	stopping = true;
	processes--;
}

static void start_victim(void)
{
	unsigned int attackers = 1 + (sim_chance(60) ? sim_random(3) : 0), i;

	memset(&victim, 0, sizeof(victim));
	users = attackers + 1;
	victim.uid = 1;
	victim.gang = world.cores > 1 && sim_chance(20);
	victim.mask = sim_chance(80) ? 1 : 0;
	victim.task_ns = MS;
	longest_hold = MS;
	for (i = 0; i < attackers; i++)
		start_attacker(2 + i, 1 + sim_random(3));
	victim.from_ns = START_NS + 300 * MS;
	victim.window_ns = 2000 * MS;
	start(victim_lives, NULL);
}

/* With n users each has at least 1/(n + 1), less what changes between users take. */
static void check_share(void)
{
	double share = (double)victim.busy_ns / victim.window_ns;

	sim_trace("the victim had %.3f of a core, of 1/%u; its longest wait %.3f ms; the longest job %.3f ms",
		  share, users + 1, victim.longest_ns / 1e6, longest_hold / 1e6);
	if (!victim.gang && victim.window_ns > 20 * longest_hold && share * (users + 1) < 0.85)
		sim_fail("the victim had %.3f of a core, of %u users", share, users);
	if (victim.gang && victim.window_ns > 20 * longest_hold && !victim.jobs)
		sim_fail("the victim's gangs starve");
}

/* ---- a world ---- */

static void draw_world(void)
{
	static const unsigned int hz[] = { 100, 250, 1000 };

	victims_world = seed % 2;
	memset(&world, 0, sizeof(world));
	world.cores = sim_chance(80) ? 3 : 1 + sim_random(3);
	world.shared = sim_chance(35);
	world.one_cbuf = !world.shared && sim_chance(10);
	world.polled = sim_chance(10);
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
	if (victims_world)
		start_victim();
	else
		start_random();
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
	if (sched.gang || sched.anticipating)
		sim_fail("a gang gathers, or a core is kept, in the end");
	rknpu_for_each_rq(rq, &sched) {
		if (rq->queued || rq->queued_ns || rq->shares || rq->job)
			sim_fail("core %u has something left in its queue", rq->core->index);
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
	memset(views, 0, sizeof(views));
	memset(last_total, 0, sizeof(last_total));
	job_count = processes = users = 0;
	all_idle_since = no_gang_since = 0;
	last_gang = NULL;
	last_kept = 0;
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
		check_share();
	sim_at(0, end, NULL, false);
	sim_run(U64_MAX);
	if (!done)
		sim_fail("the device does not go");
	/* The system's workqueue. */
	if (sim_allocations() != 1)
		sim_fail("%u allocations are left", sim_allocations() - 1);
	sim_release();
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
		run_seed();
		ran[seed % 2]++;
	}
	if (tracing)
		print_trace();
	printf("ok 1 - %llu seeds of users at random\nok 2 - %llu seeds of attackers and a victim\n1..2\n",
	       ran[0], ran[1]);
	return 0;
}
