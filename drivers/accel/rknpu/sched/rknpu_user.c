// SPDX-License-Identifier: GPL-2.0-only
/* Owns users: whom clients belong to, whatever number of files they open. */
#include <linux/cleanup.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include <drm/drm_managed.h>

#include "mem/rknpu_bo.h"
#include "mem/rknpu_vm.h"
#include "rknpu_backlog.h"
#include "rknpu_client_types.h"
#include "rknpu_debt.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"
#include "rknpu_user.h"

/**
 * DOC: users
 *
 * A process can open as many files as its limits allow, and each file is a
 * client. What clients could take from others is therefore counted by user: the
 * uid, in the first user namespace, of whoever opened the file. Users of a
 * container have uids of their own there if it has a user namespace that root made.
 * In one that somebody else made, with the thousands of uids that /etc/subuid
 * gives, all are that user.
 */

static void rknpu_users_fini(struct drm_device *drm, void *data)
{
	struct rknpu_sched *sched = data;
	struct rknpu_user *user;
	unsigned long uid;

	xa_for_each(&sched->users, uid, user)
		kfree(user);
	xa_destroy(&sched->users);
	mutex_destroy(&sched->users_lock);
}

/* Clients hold the device, so none is left when that goes. */
int rknpu_users_init(struct rknpu_sched *sched)
{
	xa_init(&sched->users);
	mutex_init(&sched->users_lock);
	return drmm_add_action_or_reset(sched->hw->drm, rknpu_users_fini, sched);
}

void rknpu_users_hang_up(struct rknpu_sched *sched)
{
	struct rknpu_user *user;
	unsigned long uid;

	guard(mutex)(&sched->users_lock);
	xa_for_each(&sched->users, uid, user)
		rknpu_backlog_hang_up(&user->backlog);
}

static void rknpu_user_free(struct rknpu_user *user)
{
	xa_erase(&user->sched->users, user->uid);
	rknpu_share_forget(user);
	kfree(user);
}

/*
 * With users_lock. Who has had more than others stays known until they have had as much,
 * and who has failures until they are forgiven: closing all files and opening one again
 * is no way to go first.
 */
static void rknpu_users_sweep(struct rknpu_sched *sched)
{
	struct rknpu_user *user;
	unsigned long uid;

	xa_for_each(&sched->users, uid, user) {
		if (!user->clients && !rknpu_share_in_debt(user) && !rknpu_debt_remains(user))
			rknpu_user_free(user);
	}
}

void rknpu_user_put(struct rknpu_user *user)
{
	struct rknpu_sched *sched = user->sched;

	guard(mutex)(&sched->users_lock);
	if (!--user->clients)
		rknpu_users_sweep(sched);
}

static kuid_t rknpu_user_current(void)
{
	struct user_namespace *ns;
	kuid_t uid = current_uid();

	for (ns = current_user_ns(); ns != &init_user_ns; ns = ns->parent) {
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			uid = ns->owner;
	}
	return uid;
}

static struct rknpu_user *rknpu_user_alloc(struct rknpu_sched *sched, unsigned long uid)
{
	struct rknpu_user *user = kzalloc_obj(*user, GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	user->sched = sched;
	user->uid = uid;
	rknpu_quota_init(&user->quota);
	rknpu_vm_reaper_init(&user->quota);
	rknpu_backlog_init(&user->backlog, RKNPU_USER_FILES);
	rknpu_share_init(user);
	INIT_LIST_HEAD(&user->ready);
	INIT_LIST_HEAD(&user->ready_link);
	return user;
}

/*
 * The user with that uid. NULL: there is none. If there is none, @fresh is it from now on. All
 * who open and close take the lock, so with it nobody waits for memory of a cgroup's, which
 * whoever opens has chosen: the kernel's own has the index.
 */
static struct rknpu_user *rknpu_user_find(struct rknpu_sched *sched, unsigned long uid,
					  struct rknpu_user *fresh)
{
	struct rknpu_user *user;
	int ret;

	guard(mutex)(&sched->users_lock);
	user = xa_load(&sched->users, uid);
	if (!user && fresh) {
		ret = xa_err(xa_store(&sched->users, uid, fresh, GFP_KERNEL));
		if (ret)
			return ERR_PTR(ret);
		user = fresh;
	}
	if (user)
		user->clients++;
	return user;
}

struct rknpu_user *rknpu_user_get_current(struct rknpu_sched *sched)
{
	unsigned long uid = from_kuid(&init_user_ns, rknpu_user_current());
	struct rknpu_user *user = rknpu_user_find(sched, uid, NULL);
	struct rknpu_user *fresh;

	if (user)
		return user;
	fresh = rknpu_user_alloc(sched, uid);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	user = rknpu_user_find(sched, uid, fresh);
	/* Another process of the user was faster. */
	if (user != fresh)
		kfree(fresh);
	return user;
}
