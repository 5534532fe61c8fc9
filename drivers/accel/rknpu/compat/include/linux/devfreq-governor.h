/* SPDX-License-Identifier: GPL-2.0-only */
/* For kernels that keep this header to themselves, though not the functions. */
#ifndef __RKNPU_COMPAT_DEVFREQ_GOVERNOR_H__
#define __RKNPU_COMPAT_DEVFREQ_GOVERNOR_H__

#include <linux/devfreq.h>
#include <linux/errno.h>

#define DEVFREQ_GOV_START		0x1
#define DEVFREQ_GOV_STOP		0x2
#define DEVFREQ_GOV_UPDATE_INTERVAL	0x3
#define DEVFREQ_GOV_SUSPEND		0x4
#define DEVFREQ_GOV_RESUME		0x5

#define DEVFREQ_GOV_ATTR_POLLING_INTERVAL	BIT(0)

#ifdef RKNPU_HAVE_DEVFREQ_COOLING

/*
 * The layout of 5.11 until the header became public. What the probe finds came
 * with 5.13, so this is of that time; a kernel that shuffles the members of a
 * private header would break it, and none is known.
 */
struct devfreq_governor {
	struct list_head node;
	const char name[16];
	const u64 attrs;
	const u64 flags;
	int (*get_target_freq)(struct devfreq *devfreq, unsigned long *freq);
	int (*event_handler)(struct devfreq *devfreq, unsigned int event, void *data);
};

int devfreq_add_governor(struct devfreq_governor *governor);
int devfreq_remove_governor(struct devfreq_governor *governor);

void devfreq_monitor_start(struct devfreq *devfreq);
void devfreq_monitor_stop(struct devfreq *devfreq);
void devfreq_monitor_suspend(struct devfreq *devfreq);
void devfreq_monitor_resume(struct devfreq *devfreq);
void devfreq_update_interval(struct devfreq *devfreq, unsigned int *delay);

#else

/* Another layout. Then the driver has no governor, and thus no devfreq device. */
struct devfreq_governor {
	const char *name;
	u64 attrs;
	int (*get_target_freq)(struct devfreq *devfreq, unsigned long *freq);
	int (*event_handler)(struct devfreq *devfreq, unsigned int event, void *data);
};

static inline int devfreq_add_governor(struct devfreq_governor *governor)
{
	return -EOPNOTSUPP;
}

static inline int devfreq_remove_governor(struct devfreq_governor *governor)
{
	return 0;
}

static inline void devfreq_monitor_start(struct devfreq *devfreq)
{
}

static inline void devfreq_monitor_stop(struct devfreq *devfreq)
{
}

static inline void devfreq_monitor_suspend(struct devfreq *devfreq)
{
}

static inline void devfreq_monitor_resume(struct devfreq *devfreq)
{
}

static inline void devfreq_update_interval(struct devfreq *devfreq, unsigned int *delay)
{
}

#endif

static inline int devfreq_update_stats(struct devfreq *df)
{
	return df->profile->get_dev_status(df->dev.parent, &df->last_status);
}

#endif
