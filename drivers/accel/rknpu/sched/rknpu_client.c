// SPDX-License-Identifier: GPL-2.0-only
/* Owns clients: their lifetime, and the core time they used. */
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/cred.h>
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/uidgid.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "hw/rknpu_rate.h"
#include "rknpu_backlog.h"
#include "rknpu_client.h"
#include "rknpu_client_types.h"
#include "rknpu_params.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"
#include "rknpu_user.h"

static void rknpu_client_init_entities(struct rknpu_client *client)
{
	unsigned int i, p;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		for (p = 0; p < RKNPU_PRIORITY_COUNT; p++) {
			INIT_LIST_HEAD(&client->entities[i][p].jobs);
			INIT_LIST_HEAD(&client->entities[i][p].link);
			client->entities[i][p].group = &client->user->shares[i].groups[p];
		}
	}
}

static void rknpu_client_release(struct kref *ref)
{
	struct rknpu_client *client = container_of(ref, struct rknpu_client, account.ref);
	struct rknpu_hw *hw = client->sched->hw;

	scoped_guard(spinlock_irq, &hw->lock)
		list_del(&client->link);
	rknpu_user_put(client->user);
	kfree(client);
	drm_dev_put(hw->drm);
}

/*
 * Without IOMMU jobs reach all memory: that is only for who may access it anyway, and
 * reports of the kernel's are to say that somebody did. As VFIO has it.
 */
static int rknpu_client_check_noiommu(const struct rknpu_hw *hw)
{
	if (!hw->no_iommu)
		return 0;
	if (!READ_ONCE(rknpu_params.unsafe_noiommu)) {
		drm_dbg_ratelimited(hw->drm, "open: no IOMMU, and module parameter unsafe_noiommu is not set\n");
		return -EPERM;
	}
	if (!capable(CAP_SYS_RAWIO)) {
		drm_dbg_ratelimited(hw->drm, "open: no IOMMU, and no CAP_SYS_RAWIO\n");
		return -EPERM;
	}
	add_taint(TAINT_USER, LOCKDEP_STILL_OK);
	dev_warn_once(hw->drm->dev, "%s[%d] uses the NPU without an IOMMU: the kernel is tainted\n",
		      current->comm, task_tgid_nr(current));
	return 0;
}

static int rknpu_client_init_account(struct rknpu_client *client, struct rknpu_sched *sched,
				     size_t file_bytes)
{
	int ret;

	client->user = rknpu_user_get_current(sched);
	if (IS_ERR(client->user))
		return PTR_ERR(client->user);
	rknpu_account_init(&client->account, sched->mem, &client->user->quota,
			   rknpu_client_release);
	client->file_pages = DIV_ROUND_UP(file_bytes, PAGE_SIZE);
	ret = rknpu_account_charge_tables_patiently(&client->account, client->file_pages);
	if (ret)
		rknpu_user_put(client->user);
	return ret;
}

struct rknpu_client *rknpu_client_create(struct rknpu_sched *sched, size_t file_bytes)
{
	struct rknpu_client *client;
	static atomic64_t last_id;
	int ret;

	ret = rknpu_client_check_noiommu(sched->hw);
	if (ret)
		return ERR_PTR(ret);
	client = kzalloc_obj(*client, GFP_KERNEL_ACCOUNT);
	if (!client)
		return ERR_PTR(-ENOMEM);
	ret = rknpu_client_init_account(client, sched, file_bytes);
	if (ret) {
		kfree(client);
		return ERR_PTR(ret);
	}

	client->id = atomic64_inc_return(&last_id);
	client->pid = task_tgid_nr(current);
	get_task_comm(client->comm, current);

	rknpu_backlog_init(&client->backlog, 1);
	INIT_LIST_HEAD(&client->jobs);
	INIT_LIST_HEAD(&client->visit);
	rknpu_client_init_entities(client);
	drm_dev_get(sched->hw->drm);
	client->sched = sched;

	guard(spinlock_irq)(&sched->hw->lock);
	list_add_tail(&client->link, &sched->clients);
	return client;
}

struct rknpu_client *rknpu_client_get(struct rknpu_client *client)
{
	kref_get(&client->account.ref);
	return client;
}

void rknpu_client_put(struct rknpu_client *client)
{
	rknpu_account_put(&client->account);
}

u64 rknpu_load_overlap(u64 start, u64 end, u64 second)
{
	u64 from = max(start, second * NSEC_PER_SEC);
	u64 to = min(end, (second + 1) * NSEC_PER_SEC);

	return from < to ? to - from : 0;
}

static void rknpu_load_add(struct rknpu_load *load, u64 start_ns, u64 end_ns)
{
	u64 second = div_u64(end_ns, NSEC_PER_SEC);

	if (second > load->second) {
		load->before = second == load->second + 1 ? load->busy : 0;
		load->busy = 0;
		load->second = second;
	}
	/* Ends can be reported a little out of order. */
	load->busy += rknpu_load_overlap(start_ns, end_ns, load->second);
	if (load->second)
		load->before += rknpu_load_overlap(start_ns, end_ns, load->second - 1);
	load->total += end_ns - start_ns;
}

u64 rknpu_load_finished(struct rknpu_load *load, u64 second)
{
	if (load->second == second)
		return load->busy;
	if (load->second == second + 1)
		return load->before;
	return 0;
}

static u64 rknpu_client_cycles(const struct rknpu_client *client, unsigned int index)
{
	return client->cycles[index].count +
	       mul_u64_u32_div(client->core_ns[index] - client->cycles[index].ns,
			       client->cycles[index].hz, NSEC_PER_SEC);
}

static void rknpu_client_add_busy(struct rknpu_client *client, unsigned int index, u64 start_ns,
				  u64 end_ns)
{
	unsigned long hz = client->sched->hw->rate.hz;

	lockdep_assert_held(&client->sched->hw->lock);
	if (client->cycles[index].hz != hz) {
		client->cycles[index].count = rknpu_client_cycles(client, index);
		client->cycles[index].ns = client->core_ns[index];
		client->cycles[index].hz = hz;
	}
	client->busy_ns += end_ns - start_ns;
	client->core_ns[index] += end_ns - start_ns;
	rknpu_user_charge_run(client->user, index, start_ns, end_ns);
	rknpu_load_add(&client->sched->rqs[index].load, start_ns, end_ns);
}

void rknpu_client_count_time(struct rknpu_job *job, u64 now)
{
	if (!job->start_ns)
		return;
	rknpu_client_add_busy(job->client, job->result.core, job->start_ns, now);
	job->before_ns += now - job->start_ns;
	job->start_ns = now;
}

static void rknpu_client_get_busy(struct rknpu_client *client, u64 *core_ns, u64 *cycles)
{
	struct rknpu_sched *sched = client->sched;
	unsigned int i;
	u64 now;

	guard(spinlock_irq)(&sched->hw->lock);
	now = ktime_get_ns();
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		/* What runs has its time counted, too. */
		if (sched->rqs[i].job && sched->rqs[i].job->client == client)
			rknpu_client_count_time(sched->rqs[i].job, now);
		core_ns[i] = client->core_ns[i];
		cycles[i] = rknpu_client_cycles(client, i);
	}
}

void rknpu_client_show_busy(struct rknpu_client *client, struct drm_printer *p)
{
	struct rknpu_hw *hw = client->sched->hw;
	unsigned long hz = rknpu_rate_max(hw);
	u64 core_ns[RKNPU_MAX_CORES], cycles[RKNPU_MAX_CORES];
	unsigned int i;

	rknpu_client_get_busy(client, core_ns, cycles);
	drm_printf(p, "rknpu-client:\t%llu\n", client->id);
	drm_printf(p, "rknpu-user:\t%u\n",
		   from_kuid_munged(current_user_ns(),
				    make_kuid(&init_user_ns, client->user->uid)));
	drm_printf(p, "rknpu-refused-jobs:\t%d\n", atomic_read(&client->refused));
	for (i = 0; i < hw->soc->num_cores; i++)
		drm_printf(p, "drm-engine-npu%u:\t%llu ns\n", i, core_ns[i]);
	for (i = 0; i < hw->soc->num_cores && hz; i++) {
		drm_printf(p, "drm-cycles-npu%u:\t%llu\n", i, cycles[i]);
		drm_printf(p, "drm-maxfreq-npu%u:\t%lu Hz\n", i, hz);
	}
}
