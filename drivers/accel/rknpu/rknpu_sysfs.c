// SPDX-License-Identifier: GPL-2.0-only
/* Owns the facade's attribute that tells which render node speaks rocket's ABI. */
#include <linux/device.h>
#include <linux/sysfs.h>

#include <drm/drm_file.h>

#include "rknpu_device.h"
#include "rknpu_sysfs.h"

/* Of two render nodes with one parent; DRM's own attributes do not name the driver. */
static ssize_t rocket_render_node_show(struct device *dev, struct device_attribute *attr,
				       char *buf)
{
	struct rknpu_device *rdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", dev_name(rdev->accel.render->kdev));
}
static DEVICE_ATTR_RO(rocket_render_node);

static struct attribute *rknpu_sysfs_attrs[] = {
	&dev_attr_rocket_render_node.attr,
	NULL
};

static const struct attribute_group rknpu_sysfs_group = {
	.attrs = rknpu_sysfs_attrs,
};

int rknpu_sysfs_add(struct device *dev, struct rknpu_device *rdev)
{
	if (!rdev->accel.render)
		return 0;
	dev_set_drvdata(dev, rdev);
	return devm_device_add_group(dev, &rknpu_sysfs_group);
}
