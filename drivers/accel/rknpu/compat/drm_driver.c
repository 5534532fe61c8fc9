// SPDX-License-Identifier: GPL-2.0-only
/* What DRM does for a driver by itself in 7.3, for older kernels; see drm_driver.h. */
#if defined(RKNPU_HAVE_DRM_DRIVER_DATE) || !defined(RKNPU_HAVE_CONFIG_DRM_ACCEL)

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

/* Here the real ones are meant. */
#undef drm_driver
#undef drm_gem_mmap

#ifdef RKNPU_HAVE_DRM_DRIVER_PRIME_MMAP

/* Since 5.12 the core does it, before it calls the object's mmap(). Before, they are empty. */
static void rknpu_compat_gem_set_ops(struct vm_area_struct *vma)
{
	struct drm_gem_object *obj = vma->vm_private_data;

	vma->vm_ops = obj->funcs->vm_ops;
}

int rknpu_compat_gem_mmap(struct file *filp, struct vm_area_struct *vma)
{
	int ret = drm_gem_mmap(filp, vma);

	if (!ret)
		rknpu_compat_gem_set_ops(vma);
	return ret;
}

static int rknpu_compat_prime_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	int ret = drm_gem_prime_mmap(obj, vma);

	if (!ret)
		rknpu_compat_gem_set_ops(vma);
	return ret;
}

#endif

#ifndef RKNPU_HAVE_DRM_SHOW_FDINFO

/**
 * struct rknpu_compat_client - a file that has been shown
 * @link: in the list of all
 * @file: file
 * @id: drm_file.client_id of newer kernels
 */
struct rknpu_compat_client {
	struct list_head link;
	struct drm_file *file;
	u64 id;
};

static LIST_HEAD(rknpu_compat_clients);
static DEFINE_MUTEX(rknpu_compat_clients_lock);

static struct rknpu_compat_client *rknpu_compat_find_client(struct drm_file *file)
{
	struct rknpu_compat_client *client;

	lockdep_assert_held(&rknpu_compat_clients_lock);
	list_for_each_entry(client, &rknpu_compat_clients, link) {
		if (client->file == file)
			return client;
	}
	return NULL;
}

static struct rknpu_compat_client *rknpu_compat_new_client(struct drm_file *file)
{
	static u64 last_id;
	struct rknpu_compat_client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);

	lockdep_assert_held(&rknpu_compat_clients_lock);
	if (client) {
		client->file = file;
		client->id = ++last_id;
		list_add(&client->link, &rknpu_compat_clients);
	}
	return client;
}

/* 0 if there is no memory. */
static u64 rknpu_compat_client_id(struct drm_file *file)
{
	struct rknpu_compat_client *client;
	u64 id;

	mutex_lock(&rknpu_compat_clients_lock);
	client = rknpu_compat_find_client(file) ?: rknpu_compat_new_client(file);
	id = client ? client->id : 0;
	mutex_unlock(&rknpu_compat_clients_lock);
	return id;
}

static void rknpu_compat_postclose(struct drm_device *dev, struct drm_file *file)
{
	struct rknpu_compat_drm_driver *driver;
	struct rknpu_compat_client *client;

	mutex_lock(&rknpu_compat_clients_lock);
	client = rknpu_compat_find_client(file);
	if (client)
		list_del(&client->link);
	mutex_unlock(&rknpu_compat_clients_lock);
	kfree(client);

	driver = container_of(dev->driver, struct rknpu_compat_drm_driver, real);
	driver->driver_postclose(dev, file);
}

void rknpu_compat_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct drm_file *file = filp->private_data;
	struct drm_device *dev = file->minor->dev;
	struct drm_printer p = drm_seq_file_printer(m);
	struct rknpu_compat_drm_driver *driver;
	int idx;

	if (!drm_dev_enter(dev, &idx))
		return;
	driver = container_of(dev->driver, struct rknpu_compat_drm_driver, real);
	drm_printf(&p, "drm-driver:\t%s\n", driver->name);
	drm_printf(&p, "drm-client-id:\t%llu\n", rknpu_compat_client_id(file));
	driver->show_fdinfo(&p, file);
	drm_dev_exit(idx);
}

static void rknpu_compat_show_size(struct drm_printer *p, const char *what, u64 size)
{
	/* Objects are whole pages. */
	drm_printf(p, "drm-%s-memory:\t%llu KiB\n", what, size >> 10);
}

/* All objects are resident as long as they exist. */
void rknpu_compat_show_memory_stats(struct drm_printer *p, struct drm_file *file)
{
	u64 total = 0, shared = 0, active = 0;
	struct drm_gem_object *obj;
	int id;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, id) {
		total += obj->size;
		if (obj->handle_count > 1 || obj->dma_buf)
			shared += obj->size;
		if (!dma_resv_test_signaled(obj->resv, DMA_RESV_USAGE_READ))
			active += obj->size;
	}
	spin_unlock(&file->table_lock);

	rknpu_compat_show_size(p, "total", total);
	rknpu_compat_show_size(p, "shared", shared);
	rknpu_compat_show_size(p, "active", active);
	rknpu_compat_show_size(p, "resident", total);
}

#endif

static void rknpu_compat_drm_fill(struct rknpu_compat_drm_driver *driver)
{
#ifdef RKNPU_HAVE_DRM_DRIVER_DATE
	/* Some follow the pointer without a look at it; newer ones say this for everybody. */
	driver->date = "0";
#endif
#ifdef RKNPU_HAVE_DRM_DRIVER_PRIME_MMAP
	driver->gem_prime_mmap = rknpu_compat_prime_mmap;
	driver->prime_handle_to_fd = drm_gem_prime_handle_to_fd;
	driver->prime_fd_to_handle = drm_gem_prime_fd_to_handle;
#endif
#ifndef RKNPU_HAVE_DRM_SHOW_FDINFO
	driver->driver_postclose = driver->postclose;
	driver->postclose = rknpu_compat_postclose;
#endif
}

static int rknpu_compat_drm_name(struct drm_device *drm)
{
#ifdef RKNPU_HAVE_CONFIG_DRM_ACCEL
	return 0;
#else
	/* Both devices are of one kind then, and debugfs has a directory for each, by name. */
	drm->unique = drmm_kstrdup(drm, drm->driver->name, GFP_KERNEL);
	return drm->unique ? 0 : -ENOMEM;
#endif
}

void *rknpu_compat_drm_dev_alloc(struct device *parent, struct rknpu_compat_drm_driver *copy,
				 const struct rknpu_compat_drm_driver *driver, size_t size,
				 size_t offset)
{
	void *container;
	int ret;

	/* Files of a device that is gone may be using it. */
	if (!copy->name) {
		*copy = *driver;
		rknpu_compat_drm_fill(copy);
	}
	container = __devm_drm_dev_alloc(parent, &copy->real, size, offset);
	if (IS_ERR(container))
		return container;
	ret = rknpu_compat_drm_name(container + offset);
	return ret ? ERR_PTR(ret) : container;
}

#endif
