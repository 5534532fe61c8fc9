// SPDX-License-Identifier: MIT
/*
 * Devices and buffers: finding the node, allocating, mapping, waiting, and
 * queueing jobs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xf86drm.h>

#include "drm/rknpu_drm.h"
#include "drm/rocket_accel.h"
#include "npu_space.h"
#include "npu_struct.h"
#include "npu_vendor.h"

#define DRIVER_NAME	"rocket"
#define VENDOR_NAME	"rknpu"
#define NODES		64

struct npu_dev {
	int fd;
	const struct npu_chip *chip;
	bool vendor;		/* the ioctls of node "rknpu" */
	uint32_t domain;	/* of that node */
	uint64_t features;	/* DRM_ROCKET_FEATURE_* */
	struct npu_stats stats;
	struct npu_spaces spaces;
	struct npu_kept_bo *bos;
	char path[256];
};

/* Not by drmGetVersion(), which frees memory before it returns: errno may be another one then. */
static int get_version(int fd, struct npu_version *v)
{
	struct drm_version drm = {
		.name = v->name, .name_len = sizeof(v->name) - 1,
		.desc = v->desc, .desc_len = sizeof(v->desc) - 1,
	};
	int ret;

	/* The kernel ends no string. */
	memset(v->name, 0, sizeof(v->name));
	memset(v->desc, 0, sizeof(v->desc));
	ret = npu_errno(drmIoctl(fd, DRM_IOCTL_VERSION, &drm));
	if (ret)
		return ret;
	v->major = drm.version_major;
	v->minor = drm.version_minor;
	v->patch = drm.version_patchlevel;
	return 0;
}

/* Return the file descriptor of @driver's node, -ENODEV for another driver's. */
static int open_node(const char *path, const char *driver)
{
	struct npu_version v;
	int fd, ret;

	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = get_version(fd, &v);
	if (!ret && strcmp(v.name, driver))
		ret = -ENODEV;
	if (ret) {
		close(fd);
		return ret == -ENOTTY || ret == -EINVAL ? -ENODEV : ret;
	}
	return fd;
}

struct search {
	const char *driver;
	char *path;
	size_t size;
	int err;
};

static int try_node(struct search *s, const char *path)
{
	int fd = open_node(path, s->driver);

	if (fd >= 0)
		snprintf(s->path, s->size, "%s", path);
	/* A node that may not be opened explains more than "no device". */
	else if (fd != -ENOENT && fd != -ENODEV && fd != -ENXIO && fd != -ENOTDIR)
		s->err = fd;
	return fd;
}

/* Not by drmGetDevices2(), which wants /sys: a container need not have it. */
static int search_nodes(struct search *s, const char *name, int first)
{
	char path[32];
	int fd = -1;

	for (int i = first; i < first + NODES && fd < 0; i++) {
		snprintf(path, sizeof(path), "%s%d", name, i);
		fd = try_node(s, path);
	}
	return fd;
}

static int search(char *path, size_t size, const char *driver)
{
	struct search s = { .driver = driver, .path = path, .size = size, .err = -ENODEV };
	int fd = -1;

	if (!strcmp(driver, DRIVER_NAME))
		fd = search_nodes(&s, "/dev/accel/accel", 0);
	if (fd < 0)
		fd = search_nodes(&s, "/dev/dri/renderD", 128);
	return fd < 0 ? s.err : fd;
}

/* NPU_UAPI decides between the two interfaces; without it the first one found. */
static void open_dev(struct npu_dev *dev, const char *path)
{
	static const char * const drivers[] = { DRIVER_NAME, VENDOR_NAME };
	const char *uapi = getenv("NPU_UAPI");
	int err = -ENODEV;

	if (uapi && *uapi && strcmp(uapi, DRIVER_NAME) && strcmp(uapi, VENDOR_NAME))
		err = -EINVAL;
	/* npu_path() tells it, and it is opened again for more address spaces. */
	if (path && strlen(path) >= sizeof(dev->path)) {
		dev->fd = -ENAMETOOLONG;
		return;
	}
	dev->fd = -ENODEV;
	for (int i = 0; i < 2 && dev->fd < 0; i++) {
		if (uapi && *uapi && strcmp(uapi, drivers[i]))
			continue;
		dev->vendor = i;
		if (path && *path) {
			snprintf(dev->path, sizeof(dev->path), "%s", path);
			dev->fd = open_node(path, drivers[i]);
		} else {
			dev->fd = search(dev->path, sizeof(dev->path), drivers[i]);
		}
		if (dev->fd != -ENODEV)
			err = dev->fd;
	}
	if (dev->fd < 0)
		dev->fd = err;
}

/* Drivers that do not know the ioctl refuse it. */
static uint64_t get_features(const struct npu_dev *dev)
{
	struct drm_rocket_get_param req = { .param = DRM_ROCKET_PARAM_FEATURES };

	if (dev->vendor || drmIoctl(dev->fd, DRM_IOCTL_ROCKET_GET_PARAM, &req))
		return 0;
	return req.value;
}

/* Drivers that do not tell know no other chip than the RK3588. */
static int find_chip(struct npu_dev *dev)
{
	struct drm_rknpu_action version = { .flags = DRM_RKNPU_GET_HW_VERSION };
	struct drm_rocket_get_param soc = { .param = DRM_ROCKET_PARAM_SOC };

	dev->chip = &npu_rk3588;
	if (dev->vendor) {
		if (!drmIoctl(dev->fd, DRM_IOCTL_RKNPU_ACTION, &version))
			dev->chip = npu_chip_of_version(version.value);
	} else if (!drmIoctl(dev->fd, DRM_IOCTL_ROCKET_GET_PARAM, &soc)) {
		dev->chip = npu_chip_of_soc(soc.value);
	}
	return dev->chip ? 0 : -EOPNOTSUPP;
}

int npu_open(const char *path, struct npu_dev **out)
{
	struct npu_dev *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return -ENOMEM;
	open_dev(dev, path ? path : getenv("NPU_DEVICE"));
	err = dev->fd < 0 ? dev->fd : find_chip(dev);
	if (err) {
		if (dev->fd >= 0)
			close(dev->fd);
		free(dev);
		return err;
	}
	dev->features = get_features(dev);
	dev->spaces.dev[0] = dev;
	dev->spaces.n = 1;
	*out = dev;
	return 0;
}

/*
 * The number of a device that is gone may be another one's. While a file of the first one answers,
 * the number is still its own.
 */
static int check_same(const struct npu_dev *dev, int fd)
{
	struct npu_version v;
	struct stat a, b;
	int ret;

	if (fstat(dev->fd, &a) || fstat(fd, &b))
		return -errno;
	ret = get_version(dev->fd, &v);
	return ret ? ret : a.st_rdev == b.st_rdev ? 0 : -ENODEV;
}

/* By the file that is open: its path may be out of reach, or be another device's. */
static int open_again(const struct npu_dev *dev)
{
	char self[32];
	int fd, ret;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", dev->fd);
	fd = open(self, O_RDWR | O_CLOEXEC);
	/* Without /proc. */
	if (fd < 0 && errno == ENOENT)
		fd = open(dev->path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = check_same(dev, fd);
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

static int dup_file(const struct npu_dev *dev)
{
	int fd = fcntl(dev->fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int npu_dev_open_space(struct npu_dev *dev, uint32_t number, struct npu_dev **out)
{
	struct npu_dev *space = calloc(1, sizeof(*space));

	if (!space)
		return -ENOMEM;
	*space = (struct npu_dev){
		.fd = dev->vendor ? dup_file(dev) : open_again(dev), .vendor = dev->vendor,
		.domain = dev->vendor ? number : 0, .features = dev->features, .chip = dev->chip,
	};
	if (space->fd < 0) {
		int err = space->fd;

		free(space);
		return err;
	}
	*out = space;
	return 0;
}

void npu_close(struct npu_dev *dev)
{
	if (!dev)
		return;
	for (uint32_t i = 1; i < dev->spaces.n; i++) {
		close(dev->spaces.dev[i]->fd);
		free(dev->spaces.dev[i]);
	}
	close(dev->fd);
	free(dev);
}

struct npu_spaces *npu_dev_spaces(struct npu_dev *dev)
{
	return &dev->spaces;
}

struct npu_kept_bo **npu_dev_bos(struct npu_dev *dev)
{
	return &dev->bos;
}

uint32_t npu_dev_domain(const struct npu_dev *dev)
{
	return dev->domain;
}

bool npu_is_vendor(const struct npu_dev *dev)
{
	return dev->vendor;
}

const struct npu_chip *npu_dev_chip(const struct npu_dev *dev)
{
	return dev->chip;
}

uint64_t npu_dev_features(const struct npu_dev *dev)
{
	return dev->features;
}

struct npu_stats *npu_dev_stats(struct npu_dev *dev)
{
	return &dev->stats;
}

int npu_fd(const struct npu_dev *dev)
{
	return dev->fd;
}

const char *npu_path(const struct npu_dev *dev)
{
	return dev->path;
}

int npu_version(const struct npu_dev *dev, struct npu_version *v)
{
	struct npu_version got;
	int ret = get_version(dev->fd, &got);

	return ret ? ret : NPU_FILL(v, desc, &got);
}

int npu_bo_alloc(struct npu_dev *dev, size_t size, struct npu_bo **out)
{
	struct drm_rocket_create_bo req = { 0 };
	struct npu_bo *bo;
	int ret;

	if (!size || size > 0x7ffff000u)
		return -EINVAL;
	if (dev->vendor)
		return npu_vendor_bo_alloc(dev, size, out);
	bo = calloc(1, sizeof(struct npu_kept_bo));
	if (!bo)
		return -ENOMEM;
	req.size = (uint32_t)size;
	ret = npu_errno(drmIoctl(dev->fd, DRM_IOCTL_ROCKET_CREATE_BO, &req));
	if (ret) {
		free(bo);
		return ret;
	}
	bo->dev = dev;
	bo->handle = req.handle;
	bo->iova = req.dma_address;
	bo->offset = req.offset;
	bo->size = size;
	npu_bo_keep(bo);
	*out = bo;
	return 0;
}

void npu_bo_free(struct npu_bo *bo)
{
	if (!bo)
		return;
	if (bo->dev->vendor) {
		npu_vendor_bo_free(bo);
		return;
	}
	if (!npu_bo_unref(bo))
		return;
	if (bo->map)
		munmap(bo->map, bo->size);
	/* drmCloseBufferHandle() is newer than Debian 11's libdrm. */
	drmIoctl(bo->dev->fd, DRM_IOCTL_GEM_CLOSE, &(struct drm_gem_close) { .handle = bo->handle });
	free(bo);
}

void *npu_bo_map(struct npu_bo *bo)
{
	void *p;

	if (bo->map)
		return bo->map;
	p = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, bo->dev->fd,
		 (off_t)bo->offset);
	if (p == MAP_FAILED)
		return NULL;
	bo->map = p;
	return p;
}

int64_t npu_deadline(int64_t timeout_ns)
{
	struct timespec ts;
	int64_t now;

	if (timeout_ns < 0)
		return INT64_MAX;
	if (!timeout_ns)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
	return timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

int npu_bo_prep_until(struct npu_bo *bo, int64_t deadline_ns)
{
	struct drm_rocket_prep_bo req = { 0 };

	if (bo->dev->vendor)
		return npu_vendor_bo_prep_until(bo, deadline_ns);
	req.handle = bo->handle;
	req.timeout_ns = deadline_ns;
	return npu_wait_errno(drmIoctl(bo->dev->fd, DRM_IOCTL_ROCKET_PREP_BO, &req), deadline_ns);
}

int npu_bo_prep(struct npu_bo *bo, int64_t timeout_ns)
{
	return npu_bo_prep_until(bo, npu_deadline(timeout_ns));
}

int npu_bo_fini(struct npu_bo *bo)
{
	struct drm_rocket_fini_bo req = { 0 };

	if (bo->dev->vendor)
		return npu_vendor_bo_fini(bo);
	req.handle = bo->handle;
	return npu_errno(drmIoctl(bo->dev->fd, DRM_IOCTL_ROCKET_FINI_BO, &req));
}
