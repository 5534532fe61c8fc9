// SPDX-License-Identifier: GPL-2.0-only
/* Owns what programs do: users at random, attackers and their victim. */
#include "sim.h"

#include "sched/rknpu_client.h"
#include "sched/rknpu_debt.h"
#include "sched/rknpu_gang.h"
#include "sched/rknpu_job.h"
#include "sched/rknpu_lifecycle.h"
#include "sched/rknpu_limits.h"
#include "sched/rknpu_sched.h"

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
	p->client = rknpu_client_create(&sched, 0);
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
	gang_count++;
	for (i = 0; i < count; i++)
		sim_job(gang[i])->gang = gang_count;
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
		rknpu_sched_sleep_begins(&sched);
		sim_sleep(sim_random(20 * MS));
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
		sim_sleep(sim_random(20 * MS));
		rknpu_sched_sleep_ends(&sched);
		sim_trace("the system is awake");
	}
	processes--;
}

void sim_start_random(void)
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
	unsigned int kind, uid, mask, ahead, priority, spaces;
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

/* As many gangs ahead as it has been told, on the first cores, in address spaces by turns. */
static void attack_gangs_ahead(struct attack *a)
{
	unsigned int i, n = a->mask == 7 ? 3 : 2;
	struct shape s[RKNPU_MAX_CORES];
	struct program p;
	u64 vm = 0;

	if (open_program(&p, a->uid, a->spaces))
		return;
	while (ALWAYS) {
		for (i = 0; i < n; i++)
			s[i] = (struct shape) { .mask = BIT(i), .tasks = 1, .priority = a->priority,
						.task_ns = a->ns, .vm = vm };
		vm++;
		for (i = 0; i < a->ahead && ALWAYS; i++) {
			if (!try_again(&p, submit_gang(&p, s, n), a->spaces))
				return;
		}
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

/* The last one is not drawn. */
enum { QUEUE, SWITCHES, DIVISIBLE, READS, GANGS, LATE_GANGS, CANCELS, FAILS, KINDS, GANGS_AHEAD = KINDS };
static const char *const kinds[] = {
	"queue", "switches", "divisible", "reads", "gangs", "late gangs", "cancels", "fails", "gangs ahead",
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
	case GANGS_AHEAD: attack_gangs_ahead(&a); break;
	}
	processes--;
}

static u64 attack_length(void)
{
	static const u64 ms[] = { 1, 2, 5, 20, 50, 100 };

	return sim_chance(30) ? 100 * US + sim_random(MS) : ms[sim_random(ARRAY_SIZE(ms))] * MS;
}

static void trace_attacker(const struct attack *a, unsigned int copies)
{
	sim_trace("user %u: %u * %s, mask %x, %.3f and %.3f ms, %u ahead, pause %.3f ms, priority %u",
		  a->uid, copies, kinds[a->kind], a->mask, a->ns / 1e6, a->other_ns / 1e6, a->ahead,
		  a->pause_ns / 1e6, a->priority);
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
		/* What fails, or has to be stopped, is held against the user, and so against the victim. */
		if (uid == victim.uid && (a->kind == FAILS || a->kind == CANCELS))
			a->kind = QUEUE;
		victim.files += copies;
		victim.gangs |= a->kind == GANGS || a->kind == LATE_GANGS;
		trace_attacker(a, copies);
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
	unsigned int i, n = victim.gang ? victim.cores : 1, uses = 0;
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

void sim_start_victim(bool inside)
{
	unsigned int attackers = inside ? 1 : 1 + (sim_chance(60) ? sim_random(3) : 0), i;

	memset(&victim, 0, sizeof(victim));
	users = attackers + 1;
	victim.inside = inside;
	victim.uid = inside ? 2 : 1;
	victim.gang = world.cores > 1 && sim_chance(20);
	victim.cores = world.cores;
	victim.mask = sim_chance(80) ? 1 : 0;
	victim.task_ns = MS;
	longest_hold = MS;
	for (i = 0; i < attackers; i++)
		start_attacker(2 + i, 1 + sim_random(3));
	victim.from_ns = START_NS + 300 * MS;
	victim.window_ns = 2000 * MS;
	start(victim_lives, NULL);
}

static void start_one(struct attack a)
{
	struct attack *copy = sim_alloc(sizeof(*copy));

	*copy = a;
	victim.files++;
	hold(a.ns);
	trace_attacker(copy, 1);
	start(attacker, copy);
}

void sim_start_gangs_victim(void)
{
	bool pairs = sim_chance(50);
	u64 gang_ns = 50 * US + sim_random(sim_chance(50) ? 200 * US : 5 * MS);
	u64 long_ns = (20 + sim_random(80)) * MS;
	/* More than the driver asks whether it is their turn, which has not come on the third core. */
	bool many = pairs && sim_chance(50);
	unsigned int files = many ? 5 + sim_random(8) : 1 + sim_random(2);
	struct attack a = { .uid = 2, .priority = RKNPU_PRIORITY_NORMAL };

	memset(&victim, 0, sizeof(victim));
	users = many ? 3 : 2;
	victim.uid = 1;
	victim.gang = true;
	victim.cores = pairs ? 2 : 3;
	victim.task_ns = MS;
	longest_hold = MS;
	a.kind = QUEUE;
	a.mask = 4;
	a.ns = long_ns;
	a.ahead = 2 + sim_random(3);
	start_one(a);
	a.uid = many ? 3 : 2;
	a.kind = GANGS_AHEAD;
	a.mask = pairs ? 7 : 3;
	a.ns = gang_ns;
	a.ahead = 1 + sim_random(8);
	/* To attach one of many keeps the cores from others for a while. */
	a.spaces = pairs && sim_chance(70) ? 1 : MAX_VMS;
	while (files--)
		start_one(a);
	/* Those for all cores wait for the third one, too. */
	victim.most_ns = victim.task_ns + 2 * gang_ns + (pairs ? 0 : long_ns) + 4 * rknpu_params.slice_us * US +
			 4 * (world.attach_ns + world.wake_ns) + 2 * MS;
	/* One that has cores and not the third one gives up after a slice, as far as ticks tell. */
	if (many)
		victim.most_ns += gang_ns + rknpu_params.slice_us * US + 2 * SIM_TICK;
	victim.from_ns = START_NS + 300 * MS;
	victim.window_ns = 2000 * MS;
	start(victim_lives, NULL);
}

/*
 * Files of one user take turns of a slice, and of a job that goes on then. Those that are boosted
 * come between, and take a third of what the others have had. A gang, and an address space behind
 * one IOMMU, comes when its turn has come on one core, and each core has its own order.
 */
static void check_turns(void)
{
	u64 turn = rknpu_params.slice_us * US + longest_hold + 2 * (world.attach_ns + world.wake_ns);
	u64 rounds = victim.gangs || victim.gang || world.shared || world.one_cbuf ? world.cores : 1;
	u64 most = rounds * (victim.files + 1) * turn * 4 / 3 + 20 * MS;

	sim_trace("the victim's longest wait was %.3f ms, of %.3f, beside %u files of its user",
		  victim.longest_ns / 1e6, most / 1e6, victim.files);
	if (victim.longest_ns > most)
		sim_fail("the victim waited %.3f ms, %.3f at most, beside %u files of its user",
			 victim.longest_ns / 1e6, most / 1e6, victim.files);
}

/* With n users each has at least 1/(n + 1), less what changes between users take. */
void sim_check_share(void)
{
	double share = (double)victim.busy_ns / victim.window_ns;

	if (victim.inside) {
		check_turns();
		return;
	}
	sim_trace("the victim had %.3f of a core, of 1/%u; its longest wait %.3f ms; the longest job %.3f ms",
		  share, users + 1, victim.longest_ns / 1e6, longest_hold / 1e6);
	if (victim.most_ns && victim.longest_ns > victim.most_ns)
		sim_fail("the victim's gangs for %u cores waited %.3f ms, %.3f at most", victim.cores,
			 victim.longest_ns / 1e6, victim.most_ns / 1e6);
	/* One for all cores waits for them at a time. */
	if ((!victim.gang || victim.cores < world.cores) && victim.window_ns > 20 * longest_hold &&
	    share * (users + 1) < 0.85)
		sim_fail("the victim had %.3f of a core, of %u users", share, users);
	if (victim.gang && victim.window_ns > 20 * longest_hold && !victim.jobs)
		sim_fail("the victim's gangs starve");
}
