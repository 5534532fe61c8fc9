// SPDX-License-Identifier: GPL-2.0-only
/* Owns what has to be true of the scheduler: after each step, and of who is under attack. */
#include "sim.h"

#include "sched/rknpu_gang.h"
#include "sched/rknpu_job.h"
#include "sched/rknpu_share.h"

/* ---- jobs as they are seen from outside ---- */

/* What a core ran lately, from a start until it was free again. */
#define STAYS	64
struct stay { unsigned int uid; u64 from, to; };
static struct core_view {
	struct stay stays[STAYS];
	unsigned int stay_count;
	bool occupied;
	/* Since when it could run something, a gang, too; or others wait beside a gang's job, or its gang waits for it. */
	u64 idle_since, steal_since, others_since, wanted_since, gang_since;
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

struct sim_victim victim;

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

/* By number: the first of its jobs that was queued, the last one, and what was when it began to gather. */
static struct { u64 first, last, gathers; } gang_orders[MAX_JOBS];
static u64 last_order;
static const struct rknpu_gang *last_gang;

/* What is put back keeps its place; a job that another core takes over comes behind those there. */
static void count_order(struct sim_job *j, unsigned int core)
{
	if (j->order && j->core == core)
		return;
	j->order = ++last_order;
	j->core = core;
	if (!j->gang)
		return;
	if (!gang_orders[j->gang].first)
		gang_orders[j->gang].first = j->order;
	gang_orders[j->gang].last = j->order;
}

/*
 * Jobs of one client, priority and core keep the order in which they could run; those of a gang, that of
 * all of it, unless they came when it had begun to gather.
 */
static void check_order(const struct rknpu_job *job, unsigned int core)
{
	const struct rknpu_job *head = list_first_entry_or_null(&job->entity->jobs, struct rknpu_job, link);
	struct sim_job *j = sim_job(job), *first;
	u64 own = j->gang ? gang_orders[j->gang].first : j->order;

	if (!head || head->cancelled || (j->gang && j->order > gang_orders[j->gang].gathers))
		return;
	first = sim_job(head);
	/* It was taken off the core, and lets others pass. */
	if (first->started_ns)
		return;
	if (rknpu_gang_waits(head) ? gang_orders[first->gang].last < own && first->gang < j->gang : first->order < own)
		sim_fail("job %llu starts on core %u before job %llu of its client, which came earlier", j->id, core,
			 first->id);
}

static void watch_gang(void)
{
	unsigned int i;

	for (i = 0; sched.gang && sched.gang != last_gang && i < RKNPU_MAX_CORES; i++) {
		if (sched.gang->jobs[i])
			gang_orders[sim_job(sched.gang->jobs[i])->gang].gathers = last_order;
	}
	last_gang = sched.gang;
}

void sim_rknpu_job_queue(const struct rknpu_job *job, unsigned int core)
{
	struct sim_job *j = sim_job(job);

	count_order(j, core);
	sim_trace("job %llu: queued for core %u; its user has had %.3f ms of the least %.3f", j->id, core,
		  vtime_of(&sched.rqs[core], job->client->user) / 1e6, sched.rqs[core].vtime_ns / 1e6);
	if (j->queued_ns)
		return;
	j->queued_ns = sim_now();
	j->behind_ns = j->victim && !victim.inside ? is_behind_by(&sched.rqs[core], job->client->user) : 0;
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
	check_order(job, core);
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
			if (job->cancelled && rq->prequeued != job)
				sim_fail("core %u: job %llu is cancelled, and waits for its turn", rq->core->index,
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

/* Jobs that wait for nothing, and are not queued yet. */
static void check_ready(void)
{
	struct rknpu_user *user;
	struct rknpu_job *job;
	unsigned long uid;

	xa_for_each(&sched.users, uid, user) {
		if (list_empty(&user->ready) != list_empty(&user->ready_link))
			sim_fail("user %lu has ready jobs and no turn, or a turn and none", uid);
		list_for_each_entry(job, &user->ready, link) {
			if (job->client->user != user || job->state != RKNPU_JOB_WAITING ||
			    atomic_read(&job->deps_pending))
				sim_fail("job %llu is ready, in state %d", sim_job(job)->id, job->state);
		}
	}
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
static bool is_nobody(const struct rknpu_gang *gang)
{
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

/* It has nothing to do, and other cores have their jobs of the gang that could begin there. */
static bool gang_waits_for(const struct rknpu_runqueue *rq)
{
	unsigned int i;

	for (i = 0; i < world.cores; i++) {
		const struct rknpu_job *job = sched.rqs[i].job, *own;

		if (!job || !sched.rqs[i].gang_since_ns)
			continue;
		own = job->gang->jobs[rq->core->index];
		if (own && own->state == RKNPU_JOB_QUEUED && own->rq == rq && !own->client->user->held)
			return true;
	}
	return false;
}

/* All cores that @job's gang is for are free for it, and nothing else of its client is next there. */
static bool is_gang_that_could_start(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	unsigned int i;

	(void)rq;
	if (!rknpu_gang_waits(job))
		return false;
	for (i = 0; i < world.cores; i++) {
		const struct rknpu_job *member = job->gang->jobs[i];
		struct rknpu_runqueue *own = &sched.rqs[i];

		if (member && (member->state != RKNPU_JOB_QUEUED || !can_start(own) || own->anticipate.since_ns ||
			       !list_is_first(&member->link, &member->entity->jobs)))
			return false;
	}
	return true;
}

static void check_idle(void)
{
	struct rknpu_runqueue *rq, *from;
	/* It looks once in so many ticks, which may be a little less than a slice. */
	u64 look = (slice_ns() / SIM_TICK + 1) * SIM_TICK * (slice_ns() % SIM_TICK ? 2 : 1) + SOON;

	if (sched.gone)
		return;
	if (sched.put_off && !sched.gang)
		sim_fail("a gang is put off for nobody");
	if (lasts(&no_gang_since, is_nobody(sched.gang) || is_nobody(sched.put_off), SOON))
		sim_fail("a gang gathers none of whose jobs is there");
	if (lasts(&all_idle_since, nothing_runs(), SOON))
		sim_fail("nothing runs, although something waits");
	rknpu_for_each_rq(rq, &sched) {
		struct core_view *v = &views[rq->core->index];
		bool idle = can_start(rq) && !rq->anticipate.since_ns, steal = false;

		if (lasts(&v->wanted_since, idle && gang_waits_for(rq), SOON))
			sim_fail("core %u is idle, although a gang waits for it", rq->core->index);
		if (lasts(&v->idle_since, idle && !is_single_iommu() && queue_has(rq, is_single), SOON))
			sim_fail("core %u is idle, although a job waits for it", rq->core->index);
		if (lasts(&v->gang_since, !is_single_iommu() && queue_has(rq, is_gang_that_could_start), SOON))
			sim_fail("core %u is idle, although a gang could start there and on its others",
				 rq->core->index);
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
	last_kept = sched.anticipating;
}

static unsigned int unlocks;

void sim_check_unlocked(void)
{
	struct rknpu_runqueue *rq;

	if (tracing)
		trace_gang();
	watch_gang();
	leave_stays();
	check_idle();
	if (++unlocks % 8)
		return;
	rknpu_for_each_rq(rq, &sched) {
		check_queue(rq);
		check_core(rq);
	}
	check_times();
	check_ready();
}

void sim_check_init(void)
{
	memset(views, 0, sizeof(views));
	memset(last_total, 0, sizeof(last_total));
	memset(gang_orders, 0, sizeof(gang_orders));
	last_order = 0;
	all_idle_since = no_gang_since = 0;
	last_gang = NULL;
	last_kept = 0;
}
