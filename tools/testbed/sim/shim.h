/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the driver's scheduler takes of the kernel, in one thread: coroutines, a clock that the
 * simulator sets, locks that know who holds them. Every header of the kernel's that the driver
 * includes is this one, see the Makefile.
 */
#ifndef SIM_SHIM_H
#define SIM_SHIM_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#ifndef EOPNOTSUPP
#error "the host's errno.h lacks what the kernel's has"
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef unsigned long long u64;
typedef long long s64;
typedef u64 phys_addr_t;
typedef u64 dma_addr_t;
typedef u64 ktime_t;
typedef unsigned int gfp_t;
typedef unsigned int __poll_t;

/* ---- the simulator's, see kernel.c ---- */

struct sim_co;

void sim_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
u64 sim_now(void);
/* Of the time that the caller takes itself. */
void sim_spend(u64 ns);
void sim_seed(u64 n);
u64 sim_random(u64 n);
bool sim_chance(unsigned int percent);
void *sim_alloc(size_t size);
void sim_free(const void *mem);
unsigned int sim_allocations(void);
bool sim_is_allocated(const void *mem);

/* In so many ns, in a context of its own, which is an interrupt's or a thread's. */
struct sim_event;
struct sim_event *sim_at(u64 ns, void (*fn)(void *arg), void *arg, bool irq);
void sim_cancel(struct sim_event *event);
/* The thread that calls. */
void sim_sleep(u64 ns);
void sim_might_sleep(void);
struct sim_queue { struct sim_co *first; };
void sim_block(struct sim_queue *queue);
void sim_wake(struct sim_queue *queue);
/* Until nothing is left to happen, or the time is over. */
void sim_run(u64 until);
bool sim_is_quiet(void);
/* Threads that sleep without an event that would wake them. */
unsigned int sim_blocked(void);
void sim_reset(u64 start, unsigned int hz, unsigned int preempt);
void sim_release(void);

/* The simulator's own part. */
void sim_check_unlocked(void);
void sim_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- compiler, numbers ---- */

#define __iomem
#define __user
#define __init
#define likely(x)		(x)
#define unlikely(x)		(x)
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, v)	((void)((x) = (v)))
#define smp_mb()		((void)0)
#define smp_rmb()		((void)0)
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK_ULL(h, l)	((~0ULL >> (63 - (h))) & (~0ULL << (l)))
#define GENMASK(h, l)		((u32)GENMASK_ULL(h, l))
#define __bf_shf(m)		__builtin_ctzll(m)
#define FIELD_PREP(m, v)	(((u64)(v) << __bf_shf(m)) & (m))
#define FIELD_GET(m, v)		(((v) & (m)) >> __bf_shf(m))
#define DIV_ROUND_UP(a, b)	(((a) + (b) - 1) / (b))
#define PAGE_SIZE		4096UL
#define U32_MAX			UINT32_MAX
#define U64_MAX			UINT64_MAX
#ifndef UINT_MAX
#define UINT_MAX		UINT32_MAX
#endif
#define SZ_4K			0x1000u
#define SZ_4M			0x400000u
#define SZ_2G			0x80000000u
#define SZ_4G			0x100000000ull
#define static_assert(...)	_Static_assert(__VA_ARGS__, "")
#define DECLARE_BITMAP(name, bits) unsigned long name[(bits) / 64]
#define IS_ENABLED(option)	SIM_##option
#define SIM_CONFIG_PROVE_LOCKING 1
#define SIM_CONFIG_PM_DEVFREQ	0
#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

#define min(a, b)		({ typeof(a) _a = (a); typeof(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b)		({ typeof(a) _c = (a); typeof(b) _d = (b); _c > _d ? _c : _d; })
#define min3(a, b, c)		min(min(a, b), c)
#define max3(a, b, c)		max(max(a, b), c)
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define clamp(v, lo, hi)	min(max(v, lo), hi)

static inline u64 div_u64(u64 a, u32 b) { return a / b; }
static inline u64 div64_u64(u64 a, u64 b) { return a / b; }
static inline u64 mul_u32_u32(u32 a, u32 b) { return (u64)a * b; }
static inline u64 mul_u64_u32_div(u64 a, u32 b, u32 c) { return (unsigned __int128)a * b / c; }
#define __ffs(x)		((unsigned long)__builtin_ctzl(x))

#define MAX_ERRNO		4095
#define IS_ERR(p)		((unsigned long)(p) >= (unsigned long)-MAX_ERRNO)
#define PTR_ERR(p)		((long)(p))
#define ERR_PTR(e)		((void *)(long)(e))

#define WARN_ONCE(bad, fmt, ...) ({ bool _bad = (bad); if (_bad) sim_fail(fmt, ##__VA_ARGS__); _bad; })
#define scnprintf		snprintf
#define dev_say(dev, fmt, ...)	((void)(dev), sim_trace("log: " fmt, ##__VA_ARGS__))
#define dev_err			dev_say
#define dev_warn		dev_say
#define dev_warn_once		dev_say
#define dev_warn_ratelimited	dev_say
#define dev_notice_ratelimited	dev_say
#define drm_dbg_ratelimited(drm, fmt, ...) ((void)(drm))

/* ---- lists ---- */

struct list_head { struct list_head *next, *prev; };
struct llist_node { struct llist_node *next; };
struct llist_head { struct llist_node *first; };
#define LIST_HEAD(name) struct list_head name = { &name, &name }
static inline void INIT_LIST_HEAD(struct list_head *l) { l->next = l->prev = l; }
static inline void list_link(struct list_head *n, struct list_head *p, struct list_head *next)
{
	if (p->next != next || next->prev != p)
		sim_fail("a list is broken where something is added");
	n->next = next;
	n->prev = p;
	p->next = n;
	next->prev = n;
}
static inline void list_add(struct list_head *n, struct list_head *h) { list_link(n, h, h->next); }
static inline void list_add_tail(struct list_head *n, struct list_head *h) { list_link(n, h->prev, h); }
static inline void list_unlink(struct list_head *n)
{
	if (!n->next || n->next->prev != n || n->prev->next != n)
		sim_fail("a list is broken where something is removed");
	n->next->prev = n->prev;
	n->prev->next = n->next;
}
/* Whoever goes on from there falls. */
static inline void list_del(struct list_head *n) { list_unlink(n); n->next = n->prev = NULL; }
static inline void list_del_init(struct list_head *n) { list_unlink(n); INIT_LIST_HEAD(n); }
static inline void list_move_tail(struct list_head *n, struct list_head *h) { list_unlink(n); list_add_tail(n, h); }
static inline bool list_empty(const struct list_head *h) { return h->next == h; }
#define list_empty_careful list_empty
static inline bool list_is_singular(const struct list_head *h) { return !list_empty(h) && h->next == h->prev; }
static inline bool list_is_first(const struct list_head *n, const struct list_head *h) { return n->prev == h; }
static inline bool list_is_last(const struct list_head *n, const struct list_head *h) { return n->next == h; }
static inline void list_splice_tail_init(struct list_head *from, struct list_head *h)
{
	if (list_empty(from))
		return;
	from->next->prev = h->prev;
	h->prev->next = from->next;
	from->prev->next = h;
	h->prev = from->prev;
	INIT_LIST_HEAD(from);
}
#define list_entry		container_of
#define list_first_entry(h, t, m) list_entry((h)->next, t, m)
#define list_last_entry(h, t, m) list_entry((h)->prev, t, m)
#define list_next_entry(p, m) list_entry((p)->m.next, typeof(*(p)), m)
#define list_first_entry_or_null(h, t, m) (list_empty(h) ? NULL : list_first_entry(h, t, m))
#define list_for_each_entry(p, h, m) \
	for (p = list_first_entry(h, typeof(*p), m); &p->m != (h); p = list_entry(p->m.next, typeof(*p), m))
#define list_for_each_entry_reverse(p, h, m) \
	for (p = list_last_entry(h, typeof(*p), m); &p->m != (h); p = list_entry(p->m.prev, typeof(*p), m))
#define list_for_each_entry_safe(p, n, h, m) \
	for (p = list_first_entry(h, typeof(*p), m), n = list_entry(p->m.next, typeof(*p), m); \
	     &p->m != (h); p = n, n = list_entry(n->m.next, typeof(*n), m))

/* ---- locks and guards ---- */

typedef struct { struct sim_co *owner; bool outer; } spinlock_t;
void spin_lock(spinlock_t *lock);
void spin_unlock(spinlock_t *lock);
#define spin_lock_irq spin_lock
#define spin_unlock_irq spin_unlock
#define spin_lock_irqsave(l, flags) ((void)((flags) = 0), spin_lock(l))
#define spin_unlock_irqrestore(l, flags) ((void)(flags), spin_unlock(l))
void sim_assert_held(const spinlock_t *lock, const char *what);
struct mutex { struct sim_co *owner; struct sim_queue waiters; };
#define mutex_init(m) ((void)memset(m, 0, sizeof(*(m))))
#define mutex_destroy(m) ((void)(m))
void mutex_lock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);
void sim_assert_mutex(const struct mutex *mutex, const char *what);
#define lockdep_assert_held(l) _Generic((l), struct mutex *: sim_assert_mutex, \
		default: sim_assert_held)((void *)(l), __func__)
struct rw_semaphore { int unused; };

#define SIM_GUARD(name, type, lock, unlock)						\
	struct guard_##name { type *l; };						\
	static inline struct guard_##name guard_##name##_begin(type *l)			\
	{ lock(l); return (struct guard_##name) { l }; }				\
	static inline void guard_##name##_end(struct guard_##name *g) { unlock(g->l); }
SIM_GUARD(spinlock, spinlock_t, spin_lock, spin_unlock)
SIM_GUARD(spinlock_irq, spinlock_t, spin_lock, spin_unlock)
SIM_GUARD(spinlock_irqsave, spinlock_t, spin_lock, spin_unlock)
SIM_GUARD(mutex, struct mutex, mutex_lock, mutex_unlock)
#define SIM_PASTE_(a, b) a##b
#define SIM_PASTE(a, b) SIM_PASTE_(a, b)
#define SIM_CLEANUP(name) __attribute__((cleanup(guard_##name##_end), unused))
#define guard(name) SIM_CLEANUP(name) struct guard_##name SIM_PASTE(guard_, __COUNTER__) = guard_##name##_begin
#define scoped_guard(name, l)								\
	for (struct guard_##name scope SIM_CLEANUP(name) = guard_##name##_begin(l),	\
	     *once = &scope; once; once = NULL)

/* ---- atomics and references: one thread ---- */

typedef struct { int v; } atomic_t;
typedef struct { s64 v; } atomic64_t;
typedef struct { long v; } atomic_long_t;
static inline int atomic_read(const atomic_t *a) { return a->v; }
static inline void atomic_set(atomic_t *a, int v) { a->v = v; }
static inline void atomic_inc(atomic_t *a) { a->v++; }
static inline void atomic_dec(atomic_t *a) { a->v--; }
static inline int atomic_inc_return(atomic_t *a) { return ++a->v; }
static inline bool atomic_dec_and_test(atomic_t *a)
{
	if (a->v <= 0)
		sim_fail("a counter goes below 0");
	return !--a->v;
}
static inline s64 atomic64_read(const atomic64_t *a) { return a->v; }
static inline void atomic64_add(s64 n, atomic64_t *a) { a->v += n; }
static inline s64 atomic64_inc_return(atomic64_t *a) { return ++a->v; }
static inline s64 atomic64_sub_return(s64 n, atomic64_t *a) { return a->v -= n; }
static inline bool atomic64_try_cmpxchg(atomic64_t *a, s64 *old, s64 n)
{
	return a->v == *old ? (a->v = n, true) : (*old = a->v, false);
}
struct kref { int v; };
static inline void kref_init(struct kref *k) { k->v = 1; }
static inline void kref_get(struct kref *k)
{
	if (k->v <= 0 || k->v > 1000000)
		sim_fail("a reference on what is gone (%d)", k->v);
	k->v++;
}
static inline bool kref_put(struct kref *k, void (*release)(struct kref *k))
{
	if (k->v <= 0 || k->v > 1000000)
		sim_fail("a reference too few (%d)", k->v);
	return --k->v ? false : (release(k), true);
}
static inline bool test_bit(int n, const unsigned long *p) { return *p & BIT(n); }
static inline void __set_bit(int n, unsigned long *p) { *p |= BIT(n); }
static inline bool test_and_set_bit(int n, unsigned long *p)
{
	bool was = test_bit(n, p);

	__set_bit(n, p);
	return was;
}

/* ---- memory ---- */

#define GFP_KERNEL_ACCOUNT	0
#define GFP_KERNEL		0
#define kzalloc_obj(var, gfp)	((typeof(var) *)(sim_might_sleep(), sim_alloc(sizeof(var))))
#define kvzalloc(size, gfp)	(sim_might_sleep(), sim_alloc(size))
#define kfree			sim_free
#define kvfree			sim_free

/* ---- time ---- */

#define NSEC_PER_SEC		1000000000L
#define NSEC_PER_MSEC		1000000L
#define NSEC_PER_USEC		1000L
#define MAX_JIFFY_OFFSET	((~0UL >> 1) - 1)
u64 ktime_get_ns(void);
extern unsigned int sim_hz;
#define SIM_TICK		(NSEC_PER_SEC / sim_hz)
#define jiffies			((unsigned long)(sim_now() / SIM_TICK))
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define time_after_eq(a, b)	(!time_before(a, b))
static inline unsigned long nsecs_to_jiffies(u64 ns) { return ns / SIM_TICK; }
static inline u64 jiffies_to_nsecs(unsigned long j) { return (u64)j * SIM_TICK; }
static inline unsigned long msecs_to_jiffies(unsigned int ms) { return DIV_ROUND_UP((u64)ms * NSEC_PER_MSEC, SIM_TICK); }
#define ns_to_ktime(ns)		(ns)

enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum hrtimer_mode { HRTIMER_MODE_REL };
#define CLOCK_MONOTONIC		1
struct hrtimer {
	enum hrtimer_restart (*fn)(struct hrtimer *timer);
	struct sim_event *event;
	unsigned int running;
	struct sim_queue done;
};
#define hrtimer_setup(t, f, clock, mode) ((void)((t)->fn = (f)))
void hrtimer_start(struct hrtimer *timer, u64 ns, enum hrtimer_mode mode);
int hrtimer_try_to_cancel(struct hrtimer *timer);
void hrtimer_cancel(struct hrtimer *timer);
static inline bool hrtimer_is_queued(const struct hrtimer *t) { return t->event; }

/* In order; equal ones in that in which they came. */
struct timerqueue_head { struct list_head list; };
struct timerqueue_node { struct list_head link; struct timerqueue_head *head; u64 expires; };
static inline void timerqueue_init(struct timerqueue_node *n) { n->link.next = n->link.prev = NULL; }
static inline void timerqueue_init_head(struct timerqueue_head *h) { INIT_LIST_HEAD(&h->list); }
static inline bool timerqueue_node_queued(const struct timerqueue_node *n) { return n->link.next; }
static inline void timerqueue_add(struct timerqueue_head *h, struct timerqueue_node *n)
{
	struct timerqueue_node *p;

	if (timerqueue_node_queued(n))
		sim_fail("a group is queued twice");
	list_for_each_entry_reverse(p, &h->list, link) {
		if (p->expires <= n->expires)
			break;
	}
	n->head = h;
	list_add(&n->link, &p->link);
}
static inline void timerqueue_del(struct timerqueue_head *h, struct timerqueue_node *n) { (void)h; list_del(&n->link); }
static inline struct timerqueue_node *timerqueue_getnext(struct timerqueue_head *h)
{
	return list_first_entry_or_null(&h->list, struct timerqueue_node, link);
}
static inline struct timerqueue_node *timerqueue_iterate_next(struct timerqueue_node *n)
{
	return n->link.next == &n->head->list ? NULL : list_entry(n->link.next, struct timerqueue_node, link);
}

/* ---- work ---- */

struct workqueue_struct;
struct work_struct {
	void (*fn)(struct work_struct *work);
	struct workqueue_struct *wq;
	struct list_head link;
	bool pending, running;
	struct sim_queue done;
};
struct delayed_work { struct work_struct work; struct sim_event *timer; struct workqueue_struct *wq; };
#define WQ_HIGHPRI		0
#define WQ_MEM_RECLAIM		0
#define WQ_UNBOUND		0
#define INIT_WORK(w, f)		((void)(memset(w, 0, sizeof(*(w))), (w)->fn = (f)))
#define INIT_DELAYED_WORK(d, f)	((void)(memset(d, 0, sizeof(*(d))), (d)->work.fn = (f)))
#define to_delayed_work(w)	container_of(w, struct delayed_work, work)
struct workqueue_struct *sim_workqueue(unsigned int max_active);
#define alloc_ordered_workqueue(fmt, flags, arg) ((void)(arg), sim_workqueue(1))
#define alloc_workqueue(fmt, flags, max) sim_workqueue(max)
void destroy_workqueue(struct workqueue_struct *wq);
bool queue_work(struct workqueue_struct *wq, struct work_struct *work);
bool schedule_work(struct work_struct *work);
bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *dw, unsigned long delay);
bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *dw, unsigned long delay);
void flush_work(struct work_struct *work);
#define flush_workqueue(wq)		((void)0)
void flush_delayed_work(struct delayed_work *dw);
void cancel_work_sync(struct work_struct *work);
void cancel_delayed_work_sync(struct delayed_work *dw);

typedef struct { struct sim_queue q; } wait_queue_head_t;
#define init_waitqueue_head(w)	((void)((w)->q.first = NULL))
#define wake_up_all(w)		sim_wake(&(w)->q)
#define wake_up_poll(w, what)	sim_wake(&(w)->q)
/* Woken or not, it looks every now and then. */
#define wait_event_timeout(w, cond, ticks) ({						\
	u64 _end = sim_now() + jiffies_to_nsecs(ticks);					\
	while (!(cond) && sim_now() < _end)						\
		sim_sleep(SIM_TICK / 4);						\
	(cond);										\
})
typedef struct { int unused; } poll_table;
struct file { int unused; };
#define poll_wait(f, w, t)	((void)(f), (void)(w), (void)(t))
#define EPOLLOUT 4
#define EPOLLWRNORM 0x100
#define EPOLLERR 8
#define EPOLLHUP 16

/* ---- processes ---- */

#define TASK_COMM_LEN		16
#define current			(&(struct { const char *comm; }) { "sim" })
#define task_tgid_nr(t)		1
#define get_task_comm(buf, t)	strcpy(buf, "sim")
#define cond_resched()		sim_sleep(sim_random(2000))
#define memalloc_noreclaim_save() 0
#define memalloc_noreclaim_restore(f) ((void)(f))
#define CAP_SYS_NICE		23
#define CAP_SYS_RAWIO		17
#define capable(c)		false
#define capable_noaudit(c)	false
#define TAINT_USER 0
#define LOCKDEP_STILL_OK 0
#define add_taint(a, b)		((void)0)
typedef struct { u32 v; } kuid_t;
struct user_namespace { struct user_namespace *parent; kuid_t owner; };
extern struct user_namespace init_user_ns;
extern u32 sim_uid;
#define current_uid()		((kuid_t) { sim_uid })
#define current_user_ns()	(&init_user_ns)
#define GLOBAL_ROOT_UID		((kuid_t) { 0 })
static inline bool uid_eq(kuid_t a, kuid_t b) { return a.v == b.v; }
static inline u32 from_kuid(struct user_namespace *ns, kuid_t uid) { (void)ns; return uid.v; }
#define from_kuid_munged	from_kuid
#define make_kuid(ns, id)	((kuid_t) { id })

#define SIM_XA			64
struct xarray { void *v[SIM_XA]; };
#define xa_init(x)		((void)memset(x, 0, sizeof(*(x))))
#define xa_destroy(x)		((void)(x))
static inline void *xa_load(struct xarray *x, unsigned long i) { return x->v[i]; }
static inline void *xa_store(struct xarray *x, unsigned long i, void *v, gfp_t gfp) { (void)gfp; x->v[i] = v; return NULL; }
static inline void xa_erase(struct xarray *x, unsigned long i) { x->v[i] = NULL; }
#define xa_err(e)		((void)(e), 0)
#define xa_for_each(x, i, e)	for (i = 0; i < SIM_XA; i++) if (((e) = (x)->v[i]))

/* ---- devices ---- */

struct device { int usage; bool active; struct sim_event *suspend; };
struct drm_device { struct device *dev; int ref; };
#define drm_dev_get(d)		((void)(d)->ref++)
#define drm_dev_put(d)		((void)(d)->ref--)
int drmm_add_action_or_reset(struct drm_device *drm, void (*fn)(struct drm_device *drm, void *data), void *data);
struct drm_printer { int unused; };
static inline void drm_printf(struct drm_printer *p, const char *fmt, ...) { (void)p; (void)fmt; }
#define for_each_if(c)		if (!(c)) {} else
int pm_runtime_get_if_active(struct device *dev);
void pm_runtime_put_autosuspend(struct device *dev);
void pm_runtime_put(struct device *dev);
void pm_runtime_put_noidle(struct device *dev);
void pm_runtime_get_noresume(struct device *dev);
typedef int irqreturn_t;
#define IRQ_HANDLED 1
#define IRQ_NONE 0
typedef irqreturn_t (*irq_handler_t)(int irq, void *data);
struct of_device_id { const char *compatible; const void *data; };

struct dma_resv { int unused; };
struct drm_gem_object { struct dma_resv *resv; };
static inline void drm_gem_object_put(struct drm_gem_object *obj) { (void)obj; }
struct drm_gem_object_funcs;
enum drm_gem_object_status { DRM_GEM_OBJECT_RESIDENT = 1 };
struct drm_mm { int unused; };
struct drm_mm_node { int unused; };

/* ---- fences ---- */

struct dma_fence;
struct dma_fence_cb;
typedef void (*dma_fence_func_t)(struct dma_fence *fence, struct dma_fence_cb *cb);
struct dma_fence_cb { struct list_head node; dma_fence_func_t func; };
struct dma_fence_ops {
	const char *(*get_driver_name)(struct dma_fence *fence);
	const char *(*get_timeline_name)(struct dma_fence *fence);
};
struct dma_fence {
	spinlock_t lock;
	const struct dma_fence_ops *ops;
	struct list_head cbs;
	u64 context, seqno;
	unsigned long flags;
	struct kref refcount;
	int error;
	struct sim_queue waiters;
};
#define DMA_FENCE_FLAG_SIGNALED_BIT 0
#define DMA_FENCE_FLAG_USER_BITS 4
#define rcu_access_pointer(p)	(p)
#define rcu_read_lock()		do { } while (0)
#define rcu_read_unlock()	do { } while (0)
#define dma_fence_lock_irqsave(f, flags) spin_lock_irqsave(&(f)->lock, flags)
#define dma_fence_unlock_irqrestore(f, flags) spin_unlock_irqrestore(&(f)->lock, flags)
void dma_fence_init(struct dma_fence *fence, const struct dma_fence_ops *ops, void *lock, u64 context, u64 seqno);
u64 dma_fence_context_alloc(unsigned int n);
void dma_fence_signal(struct dma_fence *fence);
int dma_fence_add_callback(struct dma_fence *fence, struct dma_fence_cb *cb, dma_fence_func_t func);
bool dma_fence_remove_callback(struct dma_fence *fence, struct dma_fence_cb *cb);
void dma_fence_put(struct dma_fence *fence);
static inline struct dma_fence *dma_fence_get(struct dma_fence *f) { kref_get(&f->refcount); return f; }
static inline bool dma_fence_is_signaled(struct dma_fence *f) { return test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &f->flags); }
static inline void dma_fence_set_error(struct dma_fence *f, int error) { f->error = error; }
void dma_fence_wait(struct dma_fence *fence);
#define dma_fence_begin_signalling() true
#define dma_fence_end_signalling(c) ((void)(c))

/* What an older kernel would lack: the driver's compat/fence.h. */
struct rknpu_compat_fence { };
#define RKNPU_COMPAT_FENCE_OPS
#define rknpu_compat_fence_init(f, ops, context, seqno) dma_fence_init(&(f)->base, ops, NULL, context, seqno)

/* ---- module and tracepoints: each is a call of the simulator ---- */

#define module_param_named(name, var, type, mode) struct sim_no_param
#define MODULE_PARM_DESC(name, desc) struct sim_no_param
#define TP_PROTO(...)		__VA_ARGS__
#define TP_ARGS(...)		__VA_ARGS__
#define TRACE_EVENT(name, proto, args, ...) \
	void sim_##name(proto); static inline void trace_##name(proto) { sim_##name(args); }
#define DECLARE_EVENT_CLASS(...) struct sim_no_param
#define DEFINE_EVENT(class, name, proto, args) \
	void sim_##name(proto); static inline void trace_##name(proto) { sim_##name(args); }
#define TRACE_DEFINE_ENUM(x)	struct sim_no_param

#endif
