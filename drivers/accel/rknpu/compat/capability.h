/* SPDX-License-Identifier: GPL-2.0-only */
/* A capability that is only asked about, which before 7.3 is said with the user namespace. */
#ifndef __RKNPU_COMPAT_CAPABILITY_H__
#define __RKNPU_COMPAT_CAPABILITY_H__

#ifndef RKNPU_HAVE_CAPABLE_NOAUDIT

#include <linux/capability.h>
#include <linux/user_namespace.h>

static inline bool capable_noaudit(int cap)
{
	return ns_capable_noaudit(&init_user_ns, cap);
}

#endif

#endif
