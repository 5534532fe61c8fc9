// SPDX-License-Identifier: GPL-2.0-only
/* Owns users: whom clients belong to, whatever number of files they open. */
#include <linux/cleanup.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "rknpu_backlog.h"
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

void rknpu_users_init(struct rknpu_sched *sched)
{
	xa_init(&sched->users);
	mutex_init(&sched->users_lock);
}

void rknpu_users_hang_up(struct rknpu_sched *sched)
{
	struct rknpu_user *user;
	unsigned long uid;

	guard(mutex)(&sched->users_lock);
	xa_for_each(&sched->users, uid, user)
		rknpu_backlog_hang_up(&user->backlog);
}

static void rknpu_user_release(struct kref *ref)
{
	struct rknpu_user *user = container_of(ref, struct rknpu_user, ref);
	struct rknpu_sched *sched = user->sched;

	lockdep_assert_held(&sched->users_lock);
	xa_erase(&sched->users, user->uid);
	mutex_unlock(&sched->users_lock);
	kfree(user);
}

void rknpu_user_put(struct rknpu_user *user)
{
	kref_put_mutex(&user->ref, rknpu_user_release, &user->sched->users_lock);
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

struct rknpu_user *rknpu_user_get_current(struct rknpu_sched *sched)
{
	unsigned long uid = from_kuid(&init_user_ns, rknpu_user_current());
	struct rknpu_user *user;
	int ret;

	guard(mutex)(&sched->users_lock);
	user = xa_load(&sched->users, uid);
	if (user) {
		kref_get(&user->ref);
		return user;
	}

	user = kzalloc_obj(*user, GFP_KERNEL_ACCOUNT);
	if (!user)
		return ERR_PTR(-ENOMEM);
	kref_init(&user->ref);
	user->sched = sched;
	user->uid = uid;
	rknpu_backlog_init(&user->backlog, RKNPU_USER_FILES);
	ret = xa_err(xa_store(&sched->users, uid, user, GFP_KERNEL_ACCOUNT));
	if (!ret)
		return user;
	kfree(user);
	return ERR_PTR(ret);
}
