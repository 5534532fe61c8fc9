/* SPDX-License-Identifier: MIT */
/*
 * The part of the DRM core ABI that rocket_accel.h and libnpu use, for systems
 * whose libc headers come without drm.h (Debian ships it with libdrm only).
 *
 * Same guard as the kernel's header, so whichever is found first serves.
 */
#ifndef _DRM_H_
#define _DRM_H_

#include <linux/types.h>
#include <linux/ioctl.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define DRM_IOCTL_BASE		'd'
#define DRM_COMMAND_BASE	0x40
#define DRM_COMMAND_END		0xa0

#define DRM_IO(nr)		_IO(DRM_IOCTL_BASE, nr)
#define DRM_IOR(nr, type)	_IOR(DRM_IOCTL_BASE, nr, type)
#define DRM_IOW(nr, type)	_IOW(DRM_IOCTL_BASE, nr, type)
#define DRM_IOWR(nr, type)	_IOWR(DRM_IOCTL_BASE, nr, type)

struct drm_version {
	int version_major;
	int version_minor;
	int version_patchlevel;
	__kernel_size_t name_len;
	char *name;
	__kernel_size_t date_len;
	char *date;
	__kernel_size_t desc_len;
	char *desc;
};

struct drm_gem_close {
	__u32 handle;
	__u32 pad;
};

struct drm_gem_open {
	__u32 name;
	__u32 handle;
	__u64 size;
};

struct drm_prime_handle {
	__u32 handle;
	__u32 flags;
	__s32 fd;
};

struct drm_syncobj_create {
	__u32 handle;
	__u32 flags;
};

struct drm_syncobj_destroy {
	__u32 handle;
	__u32 pad;
};

struct drm_syncobj_handle {
	__u32 handle;
	__u32 flags;
	__s32 fd;
	__u32 pad;
	__u64 point;
};

struct drm_syncobj_wait {
	__u64 handles;
	__s64 timeout_nsec;
	__u32 count_handles;
	__u32 flags;
	__u32 first_signaled;
	__u32 pad;
	__u64 deadline_nsec;
};

struct drm_syncobj_timeline_wait {
	__u64 handles;
	__u64 points;
	__s64 timeout_nsec;
	__u32 count_handles;
	__u32 flags;
	__u32 first_signaled;
	__u32 pad;
	__u64 deadline_nsec;
};

struct drm_syncobj_array {
	__u64 handles;
	__u32 count_handles;
	__u32 pad;
};

struct drm_syncobj_timeline_array {
	__u64 handles;
	__u64 points;
	__u32 count_handles;
	__u32 flags;
};

#define DRM_SYNCOBJ_CREATE_SIGNALED			(1 << 0)
#define DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL			(1 << 0)
#define DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE	(1 << 0)
#define DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE	(1 << 0)

struct drm_auth {
	__u32 magic;
};

#define DRM_CLOEXEC		02000000
#define DRM_RDWR		00000002

#define DRM_IOCTL_VERSION		DRM_IOWR(0x00, struct drm_version)
#define DRM_IOCTL_GET_MAGIC		DRM_IOR(0x02, struct drm_auth)
#define DRM_IOCTL_GEM_CLOSE		DRM_IOW(0x09, struct drm_gem_close)
#define DRM_IOCTL_GEM_OPEN		DRM_IOWR(0x0b, struct drm_gem_open)
#define DRM_IOCTL_SET_MASTER		DRM_IO(0x1e)
#define DRM_IOCTL_DROP_MASTER		DRM_IO(0x1f)
#define DRM_IOCTL_PRIME_HANDLE_TO_FD	DRM_IOWR(0x2d, struct drm_prime_handle)
#define DRM_IOCTL_PRIME_FD_TO_HANDLE	DRM_IOWR(0x2e, struct drm_prime_handle)

#define DRM_IOCTL_SYNCOBJ_CREATE	DRM_IOWR(0xbf, struct drm_syncobj_create)
#define DRM_IOCTL_SYNCOBJ_DESTROY	DRM_IOWR(0xc0, struct drm_syncobj_destroy)
#define DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD	DRM_IOWR(0xc1, struct drm_syncobj_handle)
#define DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE	DRM_IOWR(0xc2, struct drm_syncobj_handle)
#define DRM_IOCTL_SYNCOBJ_WAIT		DRM_IOWR(0xc3, struct drm_syncobj_wait)
#define DRM_IOCTL_SYNCOBJ_SIGNAL	DRM_IOWR(0xc5, struct drm_syncobj_array)
#define DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT	DRM_IOWR(0xca, struct drm_syncobj_timeline_wait)
#define DRM_IOCTL_SYNCOBJ_QUERY		DRM_IOWR(0xcb, struct drm_syncobj_timeline_array)
#define DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL	DRM_IOWR(0xcd, struct drm_syncobj_timeline_array)

#if defined(__cplusplus)
}
#endif

#endif /* _DRM_H_ */
