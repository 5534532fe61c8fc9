/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels before 5.13, where a devfreq device does not become a cooling device by itself. */
#ifndef __RKNPU_COMPAT_DEVFREQ_H__
#define __RKNPU_COMPAT_DEVFREQ_H__

#ifdef RKNPU_HAVE_DEVFREQ_COOLING

#define RKNPU_COMPAT_SET_COOLING(profile, on)	((profile)->is_cooling_device = (on))

#else

#define RKNPU_COMPAT_SET_COOLING(profile, on)	((void)(profile), (void)(on))

#endif

#endif
