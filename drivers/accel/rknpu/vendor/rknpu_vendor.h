/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what the files of the vendor's uAPI have in common. */
#ifndef __RKNPU_VENDOR_H__
#define __RKNPU_VENDOR_H__

#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>

#include <drm/drm.h>
#include <drm/drm_device.h>

#include "mem/rknpu_bo.h"

#include "../../../../include/uapi/drm/rknpu_drm.h"

struct dma_buf;
struct drm_file;
struct mm_struct;
struct rknpu_client;
struct rknpu_device;
struct rknpu_vm;

/**
 * struct rknpu_vendor - the DRM node "rknpu"
 */
struct rknpu_vendor {
	/** @drm: its drm_device */
	struct drm_device drm;
	/** @version: the version that it reports, as one number */
	u32 version;
	/** @misc: /dev/rknpu, if it was asked for; see rknpu_chardev_register() */
	struct miscdevice misc;
	/** @rdev: the device behind it; holds a reference on its other drm_device */
	struct rknpu_device *rdev;
	/** @lock: protects @spaces */
	struct mutex lock;
	/** @spaces: all struct rknpu_space, by rknpu_space::mm: files may keep many processes' */
	DECLARE_HASHTABLE(spaces, 10);
};

static inline struct rknpu_vendor *to_rknpu_vendor(struct drm_device *drm)
{
	return container_of(drm, struct rknpu_vendor, drm);
}

/**
 * struct rknpu_space - the address spaces of a process
 *
 * Addresses stay valid across the files of a process, because the vendor's
 * runtimes use the same weights in several contexts that way.
 */
struct rknpu_space {
	/** @link: in rknpu_vendor::spaces */
	struct hlist_node link;
	/** @ref: files hold one each */
	struct kref ref;
	/** @vendor: node */
	struct rknpu_vendor *vendor;
	/**
	 * @mm: whose they are; compared, never used as memory; holds a reference so that no
	 * other process gets the same address. NULL: everybody's
	 */
	struct mm_struct *mm;
	/** @lock: protects @vms and @domain */
	struct mutex lock;
	/** @vms: by domain id, made when first used */
	struct rknpu_vm *vms[DRM_RKNPU_DOMAINS];
	/** @domain: where imported BOs go */
	u32 domain;
};

struct rknpu_space *rknpu_space_get(struct rknpu_vendor *vendor);
void rknpu_space_put(struct rknpu_space *space);

/**
 * struct rknpu_vfile - an open file of the node, or of /dev/rknpu
 */
struct rknpu_vfile {
	/** @vendor: node */
	struct rknpu_vendor *vendor;
	/** @space: address spaces */
	struct rknpu_space *space;
	/** @client: what the scheduler knows of it */
	struct rknpu_client *client;
	/** @lock: protects @objects, @objects_by_cookie and @objects_by_bo */
	struct mutex lock;
	/** @objects: all struct rknpu_vobject */
	struct list_head objects;
	/** @objects_by_cookie: the same by cookie */
	struct rhashtable objects_by_cookie;
	/** @objects_by_bo: the same by their BO's address */
	struct rhashtable objects_by_bo;
};

/*
 * The address space of a domain below DRM_RKNPU_DOMAINS, borrowed from the file's
 * space. Its page tables are charged to the file that uses it first.
 */
struct rknpu_vm *rknpu_vfile_vm(struct rknpu_vfile *vfile, u32 domain);

struct rknpu_vfile *rknpu_vfile_create(struct rknpu_vendor *vendor);
/* All objects are closed. */
void rknpu_vfile_destroy(struct rknpu_vfile *vfile);

/**
 * struct rknpu_vbo - a BO of the node
 */
struct rknpu_vbo {
	/** @base: BO; first, see rknpu_bo_init() */
	struct rknpu_bo base;
	/** @flags: DRM_RKNPU_MEM_* that it was made with */
	u32 flags;
	/** @domain: id of the domain that it is mapped in, in every process */
	u32 domain;
	/** @openers_lock: protects @openers */
	spinlock_t openers_lock;
	/** @openers: files that have handles or are about to: @domain is settled */
	unsigned int openers;
};

static inline struct rknpu_vbo *to_rknpu_vbo(struct rknpu_bo *bo)
{
	return container_of(bo, struct rknpu_vbo, base);
}

/* drm_driver.gem_prime_import */
struct drm_gem_object *rknpu_vbo_import(struct drm_device *dev, struct dma_buf *dmabuf);

/**
 * struct rknpu_vobject - what a file calls a BO beside its handles
 */
struct rknpu_vobject {
	/** @link: in rknpu_vfile::objects */
	struct list_head link;
	/** @cookie_node: in rknpu_vfile::objects_by_cookie */
	struct rhash_head cookie_node;
	/** @bo_node: in rknpu_vfile::objects_by_bo */
	struct rhash_head bo_node;
	/** @cookie: number that user space knows it by, hard to guess and never 0 */
	u64 cookie;
	/** @vbo: BO, whose handles hold a reference each */
	struct rknpu_vbo *vbo;
	/** @handles: handles of the file for the BO */
	unsigned int handles;
	/** @vm: where it is mapped, borrowed from the file's space */
	struct rknpu_vm *vm;
	/** @iova: at what address */
	u64 iova;
};

/* Of a new file, and of one whose objects are all closed. */
int rknpu_vobjects_init(struct rknpu_vfile *vfile);
void rknpu_vobjects_fini(struct rknpu_vfile *vfile);
/* For each handle. Zero, or an errno and nothing is changed. */
int rknpu_vobject_open(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo);
/* False if there was no handle. */
bool rknpu_vobject_close(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo);
/* Any BO that the file has a handle for, or NULL; borrowed from that handle. */
struct rknpu_vbo *rknpu_vobject_first(struct rknpu_vfile *vfile);
/* Fills @cookie and @iova; -ENOENT if the file has no handle for it any more. */
int rknpu_vobject_describe(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo, u64 *cookie,
			   u64 *iova);
/* A reference on the BO, or NULL. */
struct rknpu_vbo *rknpu_vobject_lookup(struct rknpu_vfile *vfile, u64 cookie);

/* What both nodes do for a file. */
int rknpu_vendor_do_action(struct rknpu_vfile *vfile, struct drm_rknpu_action *args);
int rknpu_vendor_do_submit(struct rknpu_vfile *vfile, struct drm_rknpu_submit *args);
int rknpu_vendor_do_sync(struct rknpu_vfile *vfile, const struct drm_rknpu_mem_sync *args);
/* What the CPU wrote to imported memory gets to it; the exporter's errno. */
int rknpu_vbo_clean_imported(struct rknpu_vbo *vbo);
/* Of the size and kind asked for; @vfile has no handle for it yet. See rknpu_bo_init(). */
struct rknpu_vbo *rknpu_vendor_new_bo(struct rknpu_vfile *vfile,
				      const struct drm_rknpu_mem_create *args);
/* Fills what MEM_CREATE returns, but for the handle; -ENOENT if the file has none. */
int rknpu_vendor_describe(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo,
			  struct drm_rknpu_mem_create *args);

/* Ioctls of the DRM node */
int rknpu_vendor_submit(struct drm_device *dev, void *data, struct drm_file *file);
int rknpu_vendor_mem_create(struct drm_device *dev, void *data, struct drm_file *file);
int rknpu_vendor_mem_map(struct drm_device *dev, void *data, struct drm_file *file);
int rknpu_vendor_mem_destroy(struct drm_device *dev, void *data, struct drm_file *file);
int rknpu_vendor_mem_sync(struct drm_device *dev, void *data, struct drm_file *file);

/* After drm_dev_register(), and before drm_dev_unplug(). */
int rknpu_chardev_register(struct rknpu_vendor *vendor);
void rknpu_chardev_unregister(struct rknpu_vendor *vendor);

#endif
