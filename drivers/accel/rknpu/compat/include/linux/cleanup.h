/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels before 6.5: guards, as far as the driver uses them. */
#ifndef __RKNPU_COMPAT_CLEANUP_H__
#define __RKNPU_COMPAT_CLEANUP_H__

#include <linux/compiler.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>

/* RKNPU_COMPAT_GUARD(NAME, TYPE, LOCK, UNLOCK): statements on a struct rknpu_guard_NAME *g. */
#define RKNPU_COMPAT_GUARD(name, type, lock_, unlock_)					\
	struct rknpu_guard_##name {							\
		type *lock;								\
		unsigned long flags;							\
	};										\
	static inline struct rknpu_guard_##name rknpu_guard_##name##_begin(type *lock)	\
	{										\
		struct rknpu_guard_##name guard = { .lock = lock }, *g = &guard;	\
											\
		lock_;									\
		return guard;								\
	}										\
	static inline void rknpu_guard_##name##_end(struct rknpu_guard_##name *g)	\
	{										\
		unlock_;								\
	}

RKNPU_COMPAT_GUARD(mutex, struct mutex, mutex_lock(g->lock), mutex_unlock(g->lock))
RKNPU_COMPAT_GUARD(rwsem_read, struct rw_semaphore, down_read(g->lock), up_read(g->lock))
RKNPU_COMPAT_GUARD(spinlock, spinlock_t, spin_lock(g->lock), spin_unlock(g->lock))
RKNPU_COMPAT_GUARD(spinlock_irq, spinlock_t, spin_lock_irq(g->lock), spin_unlock_irq(g->lock))
RKNPU_COMPAT_GUARD(spinlock_irqsave, spinlock_t, spin_lock_irqsave(g->lock, g->flags),
		   spin_unlock_irqrestore(g->lock, g->flags))

#define rknpu_guard_declare(name, var, lock)						\
	struct rknpu_guard_##name var							\
		__attribute__((__cleanup__(rknpu_guard_##name##_end), unused)) =	\
		rknpu_guard_##name##_begin(lock)

#define guard(name)	RKNPU_COMPAT_GUARD_##name
#define RKNPU_COMPAT_GUARD_mutex(lock)						\
	rknpu_guard_declare(mutex, __UNIQUE_ID(guard), lock)
#define RKNPU_COMPAT_GUARD_rwsem_read(lock)						\
	rknpu_guard_declare(rwsem_read, __UNIQUE_ID(guard), lock)
#define RKNPU_COMPAT_GUARD_spinlock(lock)						\
	rknpu_guard_declare(spinlock, __UNIQUE_ID(guard), lock)
#define RKNPU_COMPAT_GUARD_spinlock_irq(lock)						\
	rknpu_guard_declare(spinlock_irq, __UNIQUE_ID(guard), lock)
#define RKNPU_COMPAT_GUARD_spinlock_irqsave(lock)						\
	rknpu_guard_declare(spinlock_irqsave, __UNIQUE_ID(guard), lock)

#define scoped_guard(name, lock_)							\
	for (struct rknpu_guard_##name scope						\
		__attribute__((__cleanup__(rknpu_guard_##name##_end))) =		\
		rknpu_guard_##name##_begin(lock_), *done = NULL; !done; done = (void *)1)

#endif
