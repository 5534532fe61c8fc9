// SPDX-License-Identifier: MIT
/*
 * The device, and what ggml finds of this library when it loads it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_ggml.h"

static const char *device_name(ggml_backend_dev_t dev)
{
	return RKNPU_DEVICE;
}

static const char *device_description(ggml_backend_dev_t dev)
{
	return rknpu_description();
}

/* The NPU has no memory of its own. */
static void device_memory(ggml_backend_dev_t dev, size_t *free, size_t *total)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*free = (size_t)sysconf(_SC_AVPHYS_PAGES) * page;
	*total = (size_t)sysconf(_SC_PHYS_PAGES) * page;
}

/* Beside the CPU, in its memory: models need no option to use it. */
static enum ggml_backend_dev_type device_type(ggml_backend_dev_t dev)
{
	return GGML_BACKEND_DEVICE_TYPE_ACCEL;
}

static void device_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props *props)
{
	memset(props, 0, sizeof(*props));
	props->name = device_name(dev);
	props->description = device_description(dev);
	props->type = device_type(dev);
	device_memory(dev, &props->memory_free, &props->memory_total);
	props->caps.buffer_from_host_ptr = true;
	props->caps.mmap_support = true;
}

static ggml_backend_t device_backend(ggml_backend_dev_t dev, const char *params)
{
	return rknpu_backend_new(dev);
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t dev)
{
	return rknpu_buffer_type();
}

static ggml_backend_buffer_t device_buffer_of(ggml_backend_dev_t dev, void *ptr, size_t size,
					      size_t max_tensor_size)
{
	return rknpu_buffer_of(ptr, size);
}

static bool device_supports_op(ggml_backend_dev_t dev, const struct ggml_tensor *op)
{
	switch (op->op) {
	case GGML_OP_NONE:
	case GGML_OP_RESHAPE:
	case GGML_OP_VIEW:
	case GGML_OP_PERMUTE:
	case GGML_OP_TRANSPOSE:
		return true;
	case GGML_OP_MUL_MAT:
		return rknpu_matmul_possible(op) && rknpu_worthwhile(op);
	case GGML_OP_MUL_MAT_ID:
		return rknpu_experts_possible(op) && rknpu_worthwhile(op);
	case GGML_OP_GLU:
		return rknpu_glu_possible(op);
	case GGML_OP_FLASH_ATTN_EXT:
		return rknpu_attention_possible(op) && rknpu_attention_worthwhile(op);
	default:
		return false;
	}
}

static bool device_supports_type(ggml_backend_dev_t dev, ggml_backend_buffer_type_t type)
{
	return ggml_backend_buft_is_host(type);
}

static struct ggml_backend_device device = {
	.ops = {
		.get_name = device_name,
		.get_description = device_description,
		.get_memory = device_memory,
		.get_type = device_type,
		.get_props = device_props,
		.init_backend = device_backend,
		.get_buffer_type = device_buffer_type,
		.buffer_from_host_ptr = device_buffer_of,
		.supports_op = device_supports_op,
		.supports_buft = device_supports_type,
	},
};

bool rknpu_supports(const struct ggml_tensor *op)
{
	return device_supports_op(&device, op);
}

/* ---- registration ---- */

static void get_stats(struct rknpu_ggml_stats *stats)
{
	rknpu_lock();
	rknpu_get_stats(stats);
	rknpu_unlock();
}

static const char *reg_name(ggml_backend_reg_t reg)
{
	return RKNPU_NAME;
}

/* Without an NPU there is no device, and nothing to say. */
static size_t reg_count(ggml_backend_reg_t reg)
{
	int ret;

	rknpu_lock();
	ret = rknpu_open();
	rknpu_unlock();
	return ret ? 0 : 1;
}

static ggml_backend_dev_t reg_device(ggml_backend_reg_t reg, size_t index)
{
	return &device;
}

static void *reg_proc(ggml_backend_reg_t reg, const char *name)
{
	return strcmp(name, "rknpu_ggml_get_stats") ? NULL : (void *)get_stats;
}

static struct ggml_backend_reg registration = {
	.api_version = RKNPU_GGML_API,
	.ops = {
		.get_name = reg_name,
		.get_device_count = reg_count,
		.get_device = reg_device,
		.get_proc_address = reg_proc,
	},
};

/* The layouts are those of a series: with another one nothing more than its name is safe. */
static bool known_series(void)
{
	size_t n = strlen(RKNPU_GGML_SERIES);

	return !strncmp(ggml_version(), RKNPU_GGML_SERIES, n) &&
	       (ggml_version()[n] == '.' || !ggml_version()[n]);
}

static bool usable(void)
{
	static bool told;
	int ret;

	if (!known_series()) {
		if (!told)
			rknpu_say("not used: built for ggml %s, this is ggml %s", RKNPU_GGML_SERIES,
				  ggml_version());
		told = true;
		return false;
	}
	rknpu_lock();
	ret = rknpu_open();
	rknpu_unlock();
	if (ret && ret != -ENODEV && ret != -ENOENT && !told) {
		rknpu_say("not used: the NPU cannot be opened: %s", strerror(-ret));
		told = true;
	}
	return !ret;
}

int ggml_backend_score(void)
{
	return usable() ? 1 : 0;
}

ggml_backend_reg_t ggml_backend_init(void)
{
	if (!known_series()) {
		usable();
		return NULL;
	}
	device.reg = &registration;
	rknpu_buffer_type()->device = &device;
	return &registration;
}
