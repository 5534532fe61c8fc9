// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's part: contexts that take turns in one thread, the clock, locks, work, fences. */
#include <setjmp.h>
#include <ucontext.h>

#include "shim.h"

/* ---- chance ---- */

static u64 seed;

/* splitmix64, by Sebastiano Vigna, who put it into the public domain. */
static u64 next_random(void)
{
	u64 z = seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

void sim_seed(u64 n)
{
	seed = n * 0x2545f4914f6cdd1dull;
}

u64 sim_random(u64 n)
{
	return n ? next_random() % n : 0;
}

bool sim_chance(unsigned int percent)
{
	return sim_random(100) < percent;
}

/* ---- memory: what is freed is filled, and not used again for a while ---- */

#define POISON		0x6b
#define KEPT		1024

struct head {
	size_t size;
	struct head *next, *prev;
	u64 magic;
};

#define MAGIC		0x5eedab1eull
static struct head live = { .next = &live, .prev = &live };
static unsigned int live_count;
static struct head *kept[KEPT];
static unsigned int kept_at;

void *sim_alloc(size_t size)
{
	struct head *h = calloc(1, sizeof(*h) + size);

	if (!h)
		abort();
	*h = (struct head) { size, live.next, &live, MAGIC };
	live.next->prev = h;
	live.next = h;
	live_count++;
	return h + 1;
}

void sim_free(const void *mem)
{
	struct head *h = (struct head *)mem - 1;

	if (!mem)
		return;
	if (h->magic != MAGIC)
		sim_fail("memory is freed twice");
	h->magic = 0;
	h->next->prev = h->prev;
	h->prev->next = h->next;
	live_count--;
	memset(h + 1, POISON, h->size);
	free(kept[kept_at]);
	kept[kept_at] = h;
	kept_at = (kept_at + 1) % KEPT;
}

unsigned int sim_allocations(void)
{
	return live_count;
}

bool sim_is_allocated(const void *mem)
{
	const struct head *h;

	for (h = live.next; h != &live; h = h->next) {
		if (h + 1 == mem)
			return true;
	}
	return false;
}

/* ---- contexts ---- */

#define STACK		(128 * 1024)

struct sim_co {
	jmp_buf env;
	ucontext_t start;
	void (*fn)(void *arg);
	void *arg;
	struct sim_co *next;
	unsigned int spins;
	bool irq, begun;
	u32 uid;
};

struct sim_event {
	u64 time, seq;
	void (*fn)(void *arg);
	void *arg;
	struct sim_co *co;
	unsigned int at;
	bool irq;
};

static jmp_buf loop;
static struct sim_co *self, *spare;
static struct sim_event **heap;
static unsigned int heap_count, heap_room, blocked, preempt_percent;
static u64 now, event_seq;
unsigned int sim_hz;
u32 sim_uid;
struct user_namespace init_user_ns;

u64 sim_now(void)
{
	return now;
}

void sim_spend(u64 ns)
{
	now += ns;
}

/* Looking costs a little. */
u64 ktime_get_ns(void)
{
	return now += 25;
}

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->time < b->time || (a->time == b->time && a->seq < b->seq);
}

static void put(struct sim_event *e, unsigned int i)
{
	heap[i] = e;
	e->at = i;
}

static void sift(unsigned int i)
{
	struct sim_event *e = heap[i];

	while (i && is_before(e, heap[(i - 1) / 2])) {
		put(heap[(i - 1) / 2], i);
		i = (i - 1) / 2;
	}
	for (;;) {
		unsigned int child = 2 * i + 1;

		if (child + 1 < heap_count && is_before(heap[child + 1], heap[child]))
			child++;
		if (child >= heap_count || !is_before(heap[child], e))
			break;
		put(heap[child], i);
		i = child;
	}
	put(e, i);
}

static struct sim_event *add_event(u64 time, struct sim_co *co)
{
	struct sim_event *e = calloc(1, sizeof(*e));

	if (!e)
		abort();
	e->time = time;
	e->seq = event_seq++;
	e->co = co;
	if (heap_count == heap_room) {
		heap_room = heap_room ? 2 * heap_room : 64;
		heap = realloc(heap, heap_room * sizeof(*heap));
	}
	put(e, heap_count++);
	sift(e->at);
	return e;
}

static void remove_event(struct sim_event *e)
{
	unsigned int i = e->at;

	if (i != --heap_count) {
		put(heap[heap_count], i);
		sift(i);
	}
}

struct sim_event *sim_at(u64 ns, void (*fn)(void *arg), void *arg, bool irq)
{
	struct sim_event *e = add_event(now + ns, NULL);

	e->fn = fn;
	e->arg = arg;
	e->irq = irq;
	return e;
}

void sim_cancel(struct sim_event *event)
{
	if (!event)
		return;
	remove_event(event);
	free(event);
}

static __attribute__((noinline)) void leave(void)
{
	if (!_setjmp(self->env))
		_longjmp(loop, 1);
}

static void body(void)
{
	for (;;) {
		self->fn(self->arg);
		if (self->spins)
			sim_fail("a context ends with a lock held");
		self->next = spare;
		spare = self;
		leave();
	}
}

static struct sim_co *new_co(void)
{
	struct sim_co *co = spare;

	if (co) {
		spare = co->next;
		return co;
	}
	co = calloc(1, sizeof(*co));
	getcontext(&co->start);
	co->start.uc_stack.ss_sp = malloc(STACK);
	co->start.uc_stack.ss_size = STACK;
	makecontext(&co->start, body, 0);
	return co;
}

static __attribute__((noinline)) void enter(void)
{
	if (_setjmp(loop))
		return;
	if (self->begun)
		_longjmp(self->env, 1);
	self->begun = true;
	setcontext(&self->start);
}

void sim_run(u64 until)
{
	struct sim_event *e;

	while (heap_count && heap[0]->time <= until) {
		e = heap[0];
		remove_event(e);
		now = max(now, e->time);
		self = e->co;
		if (!self) {
			self = new_co();
			self->fn = e->fn;
			self->arg = e->arg;
			self->irq = e->irq;
			self->spins = 0;
		}
		free(e);
		sim_uid = self->uid;
		enter();
		self = NULL;
	}
	if (until != U64_MAX)
		now = max(now, until);
}

bool sim_is_quiet(void)
{
	return !heap_count;
}

unsigned int sim_blocked(void)
{
	return blocked;
}

static void switch_away(void)
{
	self->uid = sim_uid;
	leave();
}

void sim_sleep(u64 ns)
{
	sim_might_sleep();
	add_event(now + ns, self);
	switch_away();
}

void sim_might_sleep(void)
{
	if (self && (self->spins || self->irq))
		sim_fail("sleeps in an interrupt, or with a spinlock held");
}

void sim_block(struct sim_queue *queue)
{
	sim_might_sleep();
	self->next = queue->first;
	queue->first = self;
	blocked++;
	switch_away();
}

void sim_wake(struct sim_queue *queue)
{
	struct sim_co *co;

	while ((co = queue->first)) {
		queue->first = co->next;
		blocked--;
		add_event(now + 500 + sim_random(20000), co);
	}
}

/* Other processors go on, and in a thread others of this one. */
static void preempt(void)
{
	if (!self || self->spins || !sim_chance(preempt_percent))
		return;
	add_event(now + sim_random(self->irq || sim_chance(90) ? 3000 : 300000), self);
	switch_away();
}

/* ---- locks ---- */

void spin_lock(spinlock_t *lock)
{
	if (!self)
		return;
	if (lock->owner)
		sim_fail(lock->owner == self ? "a spinlock is taken twice" : "a spinlock is held by who sleeps");
	lock->owner = self;
	self->spins++;
	now += 10;
}

void spin_unlock(spinlock_t *lock)
{
	if (!self)
		return;
	sim_assert_held(lock, __func__);
	lock->owner = NULL;
	if (--self->spins)
		return;
	if (lock->outer)
		sim_check_unlocked();
	preempt();
}

void sim_assert_held(const spinlock_t *lock, const char *what)
{
	if (self && lock->owner != self)
		sim_fail("%s: a lock is not held", what);
}

void mutex_lock(struct mutex *mutex)
{
	sim_might_sleep();
	while (mutex->owner)
		sim_block(&mutex->waiters);
	mutex->owner = self;
}

void mutex_unlock(struct mutex *mutex)
{
	if (mutex->owner != self)
		sim_fail("a mutex is not its holder's");
	mutex->owner = NULL;
	sim_wake(&mutex->waiters);
}

void sim_assert_mutex(const struct mutex *mutex, const char *what)
{
	if (mutex->owner != self)
		sim_fail("%s: a mutex is not held", what);
}

/* ---- timers ---- */

static void timer_fires(void *arg)
{
	struct hrtimer *timer = arg;

	timer->event = NULL;
	timer->running++;
	if (timer->fn(timer) != HRTIMER_NORESTART)
		sim_fail("a timer starts itself anew in another way than is known here");
	if (!--timer->running)
		sim_wake(&timer->done);
}

void hrtimer_start(struct hrtimer *timer, u64 ns, enum hrtimer_mode mode)
{
	(void)mode;
	sim_cancel(timer->event);
	timer->event = sim_at(ns + sim_random(20000), timer_fires, timer, true);
}

int hrtimer_try_to_cancel(struct hrtimer *timer)
{
	bool was = timer->event;

	if (timer->running)
		return -1;
	sim_cancel(timer->event);
	timer->event = NULL;
	return was;
}

void hrtimer_cancel(struct hrtimer *timer)
{
	while (hrtimer_try_to_cancel(timer) < 0)
		sim_block(&timer->done);
}

/* ---- work ---- */

struct workqueue_struct {
	unsigned int max_active, active;
	struct list_head pending;
	bool gone;
};

static struct workqueue_struct *system_wq;

struct workqueue_struct *sim_workqueue(unsigned int max_active)
{
	struct workqueue_struct *wq = sim_alloc(sizeof(*wq));

	wq->max_active = max_active;
	INIT_LIST_HEAD(&wq->pending);
	return wq;
}

static struct work_struct *next_work(struct workqueue_struct *wq)
{
	struct work_struct *work;

	list_for_each_entry(work, &wq->pending, link) {
		if (!work->running)
			return work;
	}
	return NULL;
}

static void worker(void *arg)
{
	struct workqueue_struct *wq = arg;
	struct work_struct *work;

	while (wq->active < wq->max_active && (work = next_work(wq))) {
		list_del(&work->link);
		work->pending = false;
		work->running = true;
		wq->active++;
		work->fn(work);
		wq->active--;
		work->running = false;
		sim_wake(&work->done);
	}
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	if (work->pending)
		return false;
	work->pending = true;
	work->wq = wq;
	list_add_tail(&work->link, &wq->pending);
	/* Mostly soon, but a busy system takes its time. */
	sim_at(sim_chance(97) ? 1000 + sim_random(30000) : sim_random(2000000), worker, wq, false);
	return true;
}

bool schedule_work(struct work_struct *work)
{
	return queue_work(system_wq, work);
}

static void delayed_fires(void *arg)
{
	struct delayed_work *dw = arg;

	dw->timer = NULL;
	queue_work(dw->wq, &dw->work);
}

/* At a tick, and the longer ones up to an eighth too late, as the timer wheel has it. */
static bool delay_work(struct workqueue_struct *wq, struct delayed_work *dw, unsigned long delay)
{
	u64 at;

	dw->wq = wq;
	if (!delay)
		return queue_work(wq, &dw->work);
	if (delay >= 64)
		delay += sim_random(delay / 8);
	at = (min(now / SIM_TICK + delay, U64_MAX / 2 / SIM_TICK)) * SIM_TICK;
	dw->timer = sim_at(at - now + sim_random(20000), delayed_fires, dw, true);
	return true;
}

bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *dw, unsigned long delay)
{
	if (dw->timer || dw->work.pending)
		return false;
	return delay_work(wq, dw, delay);
}

static void unqueue(struct work_struct *work)
{
	if (!work->pending)
		return;
	list_del(&work->link);
	work->pending = false;
	sim_wake(&work->done);
}

static bool grab(struct delayed_work *dw)
{
	bool was = dw->timer || dw->work.pending;

	sim_cancel(dw->timer);
	dw->timer = NULL;
	unqueue(&dw->work);
	return was;
}

bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *dw, unsigned long delay)
{
	bool was = grab(dw);

	delay_work(wq, dw, delay);
	return was;
}

/* The kernel WARNs where it waits for one that nobody has initialised. */
static void check_work(const struct work_struct *work)
{
	if (!work->fn)
		sim_fail("a work is waited for that was never initialised");
}

void flush_work(struct work_struct *work)
{
	check_work(work);
	while (work->pending || work->running)
		sim_block(&work->done);
}

void flush_delayed_work(struct delayed_work *dw)
{
	if (dw->timer) {
		sim_cancel(dw->timer);
		dw->timer = NULL;
		queue_work(dw->wq, &dw->work);
	}
	flush_work(&dw->work);
}

void cancel_work_sync(struct work_struct *work)
{
	check_work(work);
	unqueue(work);
	while (work->running)
		sim_block(&work->done);
}

void cancel_delayed_work_sync(struct delayed_work *dw)
{
	grab(dw);
	cancel_work_sync(&dw->work);
}

void destroy_workqueue(struct workqueue_struct *wq)
{
	while (wq->active || !list_empty(&wq->pending))
		sim_sleep(10000);
	/* A worker may come that finds nothing. */
	sim_sleep(3000000);
	sim_free(wq);
}

/* ---- fences ---- */

static u64 contexts;
/* Of those whose order matters, what signalled last. */
#define CONTEXTS	65536
static u64 last_signalled[CONTEXTS];

u64 dma_fence_context_alloc(unsigned int n)
{
	u64 first = contexts;

	contexts += n;
	return first;
}

void dma_fence_init(struct dma_fence *fence, const struct dma_fence_ops *ops, void *lock, u64 context,
		    u64 seqno)
{
	(void)lock;
	memset(fence, 0, sizeof(*fence));
	fence->ops = ops;
	fence->context = context;
	fence->seqno = seqno;
	INIT_LIST_HEAD(&fence->cbs);
	kref_init(&fence->refcount);
}

void dma_fence_signal(struct dma_fence *fence)
{
	struct dma_fence_cb *cb, *next;
	u64 *last = &last_signalled[fence->context % CONTEXTS];
	LIST_HEAD(cbs);

	if (self && self->spins)
		sim_fail("a fence signals with a spinlock held");
	spin_lock(&fence->lock);
	if (dma_fence_is_signaled(fence))
		sim_fail("a fence signals twice");
	if (fence->seqno < *last)
		sim_fail("fences of one context signal out of order");
	*last = fence->seqno;
	__set_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &fence->flags);
	fence->ops = NULL;
	list_splice_tail_init(&fence->cbs, &cbs);
	list_for_each_entry_safe(cb, next, &cbs, node) {
		INIT_LIST_HEAD(&cb->node);
		cb->func(fence, cb);
	}
	spin_unlock(&fence->lock);
	sim_wake(&fence->waiters);
}

int dma_fence_add_callback(struct dma_fence *fence, struct dma_fence_cb *cb, dma_fence_func_t func)
{
	int ret = 0;

	spin_lock(&fence->lock);
	INIT_LIST_HEAD(&cb->node);
	if (dma_fence_is_signaled(fence)) {
		ret = -ENOENT;
	} else {
		cb->func = func;
		list_add_tail(&cb->node, &fence->cbs);
	}
	spin_unlock(&fence->lock);
	return ret;
}

bool dma_fence_remove_callback(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	bool was;

	spin_lock(&fence->lock);
	was = !list_empty(&cb->node);
	if (was)
		list_del_init(&cb->node);
	spin_unlock(&fence->lock);
	return was;
}

static void free_fence(struct kref *ref)
{
	sim_free(container_of(ref, struct dma_fence, refcount));
}

void dma_fence_put(struct dma_fence *fence)
{
	if (fence)
		kref_put(&fence->refcount, free_fence);
}

void dma_fence_wait(struct dma_fence *fence)
{
	while (!dma_fence_is_signaled(fence))
		sim_block(&fence->waiters);
}

void sim_reset(u64 start, unsigned int hz, unsigned int preempt)
{
	while (heap_count)
		sim_cancel(heap[heap_count - 1]);
	now = start;
	sim_hz = hz;
	preempt_percent = preempt;
	contexts = 1;
	memset(last_signalled, 0, sizeof(last_signalled));
	system_wq = sim_workqueue(3);
}

void sim_release(void)
{
	sim_free(system_wq);
}
