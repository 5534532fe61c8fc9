// SPDX-License-Identifier: GPL-2.0-only
/* Owns the newest jobs of a file by number, for those who ask how they ended. */
#include <linux/dma-fence.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "rknpu_history.h"

/**
 * struct rknpu_history - a ring of fences, which carry the results
 * @lock: protects the rest; process context only
 * @last: number of the newest job
 * @fences: of job n at n modulo the size, with a reference
 */
struct rknpu_history {
	spinlock_t lock; /* protects the rest */
	u64 last;
	struct dma_fence *fences[RKNPU_HISTORY_SIZE];
};

static struct dma_fence **rknpu_history_slot(struct rknpu_history *history, u64 number)
{
	return &history->fences[number % RKNPU_HISTORY_SIZE];
}

struct rknpu_history *rknpu_history_create(void)
{
	struct rknpu_history *history = kvzalloc_obj(*history, GFP_KERNEL_ACCOUNT);

	if (history)
		spin_lock_init(&history->lock);
	return history;
}

void rknpu_history_destroy(struct rknpu_history *history)
{
	u32 i;

	for (i = 0; i < RKNPU_HISTORY_SIZE; i++)
		dma_fence_put(history->fences[i]);
	kvfree(history);
}

u64 rknpu_history_add(struct rknpu_history *history, struct dma_fence **fences, u32 count)
{
	u64 first;
	u32 i;

	spin_lock(&history->lock);
	first = history->last + 1;
	for (i = 0; i < count; i++) {
		struct dma_fence **slot = rknpu_history_slot(history, first + i);

		dma_fence_put(*slot);
		*slot = fences[i];
	}
	history->last += count;
	spin_unlock(&history->lock);
	return first;
}

struct dma_fence *rknpu_history_find(struct rknpu_history *history, u64 number)
{
	struct dma_fence *fence = NULL;

	spin_lock(&history->lock);
	if (number && number <= history->last && history->last - number < RKNPU_HISTORY_SIZE)
		fence = dma_fence_get(*rknpu_history_slot(history, number));
	spin_unlock(&history->lock);
	return fence;
}

u64 rknpu_history_last(struct rknpu_history *history)
{
	u64 last;

	spin_lock(&history->lock);
	last = history->last;
	spin_unlock(&history->lock);
	return last;
}
