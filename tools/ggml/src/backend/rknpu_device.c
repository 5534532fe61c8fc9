// SPDX-License-Identifier: MIT
/* Owns the device, and what ggml finds of this library when it loads it. */
#include <errno.h>
#include <string.h>

#include "rknpu_backend.h"

/* ---- the device ---- */

static const char *ggml_backend_rknpu_device_get_name(ggml_backend_dev_t dev)
{
	return RKNPU_DEVICE;
}

static const char *ggml_backend_rknpu_device_get_description(ggml_backend_dev_t dev)
{
	const struct rknpu_context *ctx = dev->context;

	return ctx->description;
}

/* The NPU has no memory of its own: what weights may take of the machine's. */
static void ggml_backend_rknpu_device_get_memory(ggml_backend_dev_t dev, size_t *free, size_t *total)
{
	struct rknpu_context *ctx = dev->context;

	*total = rknpu_memory_total();
	rknpu_lock(ctx);
	*free = rknpu_budget_left(ctx);
	if (ctx->params.memory && ctx->params.memory < *total)
		*total = ctx->params.memory;
	rknpu_unlock(ctx);
}

/* Beside the CPU, in its memory: models need no option to use it. */
static enum ggml_backend_dev_type ggml_backend_rknpu_device_get_type(ggml_backend_dev_t dev)
{
	return GGML_BACKEND_DEVICE_TYPE_ACCEL;
}

static void ggml_backend_rknpu_device_get_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props *props)
{
	memset(props, 0, sizeof(*props));
	props->name = ggml_backend_rknpu_device_get_name(dev);
	props->description = ggml_backend_rknpu_device_get_description(dev);
	props->type = ggml_backend_rknpu_device_get_type(dev);
	ggml_backend_rknpu_device_get_memory(dev, &props->memory_free, &props->memory_total);
	props->caps.buffer_from_host_ptr = true;
	props->caps.mmap_support = true;
}

static ggml_backend_t ggml_backend_rknpu_device_init_backend(ggml_backend_dev_t dev, const char *params)
{
	struct rknpu_context *ctx = dev->context;
	bool known;

	rknpu_lock(ctx);
	known = rknpu_params_parse(&ctx->params, params);
	rknpu_unlock(ctx);
	if (!known) {
		GGML_LOG_ERROR("ggml-rknpu: unknown option, or no number: %s\n", params);
		return NULL;
	}
	return ggml_backend_rknpu_init(ctx);
}

static ggml_backend_buffer_type_t ggml_backend_rknpu_device_get_buffer_type(ggml_backend_dev_t dev)
{
	struct rknpu_context *ctx = dev->context;

	return &ctx->buffer_type;
}

static ggml_backend_buffer_t ggml_backend_rknpu_device_buffer_from_host_ptr(ggml_backend_dev_t dev, void *ptr,
									    size_t size, size_t max_tensor_size)
{
	return ggml_backend_rknpu_buffer_from_ptr(dev->context, ptr, size);
}

static bool ggml_backend_rknpu_device_supports_op(ggml_backend_dev_t dev, const struct ggml_tensor *op)
{
	return ggml_backend_rknpu_supports_op(dev->context, op);
}

static bool ggml_backend_rknpu_device_supports_buft(ggml_backend_dev_t dev, ggml_backend_buffer_type_t type)
{
	return ggml_backend_buft_is_host(type) || rknpu_is_cpu_extra(type);
}

/* ---- registration ---- */

static void ggml_backend_rknpu_get_stats(ggml_backend_reg_t reg, struct rknpu_ggml_stats *stats)
{
	struct rknpu_context *ctx = reg->context;

	rknpu_lock(ctx);
	rknpu_get_stats(ctx, stats);
	rknpu_unlock(ctx);
}

static void ggml_backend_rknpu_read_params(ggml_backend_reg_t reg)
{
	struct rknpu_context *ctx = reg->context;
	struct rknpu_params p;

	/* Not locked: it may log. */
	rknpu_params_read(&p);
	rknpu_lock(ctx);
	ctx->params = p;
	rknpu_unlock(ctx);
}

static const char *ggml_backend_rknpu_reg_get_name(ggml_backend_reg_t reg)
{
	return RKNPU_NAME;
}

static int open_npu(struct rknpu_context *ctx)
{
	int ret;

	rknpu_lock(ctx);
	ret = rknpu_open(ctx);
	rknpu_unlock(ctx);
	return ret;
}

/* Without an NPU there is no device, and nothing to say. */
static size_t ggml_backend_rknpu_reg_get_device_count(ggml_backend_reg_t reg)
{
	return open_npu(reg->context) ? 0 : 1;
}

static ggml_backend_dev_t ggml_backend_rknpu_reg_get_device(ggml_backend_reg_t reg, size_t index)
{
	struct rknpu_context *ctx = reg->context;

	return &ctx->device;
}

static void *ggml_backend_rknpu_reg_get_proc_address(ggml_backend_reg_t reg, const char *name)
{
	if (!strcmp(name, "ggml_backend_rknpu_get_stats"))
		return (void *)ggml_backend_rknpu_get_stats;
	if (!strcmp(name, "ggml_backend_rknpu_read_params"))
		return (void *)ggml_backend_rknpu_read_params;
	return NULL;
}

/*
 * The one variable of the library: ggml calls the two functions below without an argument, wants the same
 * registration from each call, and never gives it back.
 */
static struct rknpu_context the_context = {
	.reg = {
		.api_version = RKNPU_GGML_API,
		.ops = {
			.get_name = ggml_backend_rknpu_reg_get_name,
			.get_device_count = ggml_backend_rknpu_reg_get_device_count,
			.get_device = ggml_backend_rknpu_reg_get_device,
			.get_proc_address = ggml_backend_rknpu_reg_get_proc_address,
		},
		.context = &the_context,
	},
	.device = {
		.ops = {
			.get_name = ggml_backend_rknpu_device_get_name,
			.get_description = ggml_backend_rknpu_device_get_description,
			.get_memory = ggml_backend_rknpu_device_get_memory,
			.get_type = ggml_backend_rknpu_device_get_type,
			.get_props = ggml_backend_rknpu_device_get_props,
			.init_backend = ggml_backend_rknpu_device_init_backend,
			.get_buffer_type = ggml_backend_rknpu_device_get_buffer_type,
			.buffer_from_host_ptr = ggml_backend_rknpu_device_buffer_from_host_ptr,
			.supports_op = ggml_backend_rknpu_device_supports_op,
			.supports_buft = ggml_backend_rknpu_device_supports_buft,
		},
		.reg = &the_context.reg, .context = &the_context,
	},
	.guid = {
		0x7d, 0x1e, 0x52, 0xa9, 0x0c, 0x84, 0x4b, 0x36,
		0x9f, 0x10, 0x72, 0x6b, 0x6e, 0x70, 0x75, 0x30,
	},
	.lock = PTHREAD_MUTEX_INITIALIZER, .layouts_lock = PTHREAD_MUTEX_INITIALIZER, .cpu_lock = PTHREAD_MUTEX_INITIALIZER,
	.weights_freed = rknpu_prefetch_forget,
};

/* The layouts are those of a series: with another one nothing more than its name is safe. */
static bool known_series(void)
{
	size_t n = strlen(RKNPU_GGML_SERIES);

	return !strncmp(ggml_version(), RKNPU_GGML_SERIES, n) &&
	       (ggml_version()[n] == '.' || !ggml_version()[n]);
}

static bool usable(struct rknpu_context *ctx)
{
	bool known = known_series();
	int ret = known ? open_npu(ctx) : 0;

	if (known && !ret)
		return true;
	if (ctx->complained || ret == -ENODEV || ret == -ENOENT)
		return false;
	ctx->complained = true;
	if (!known)
		GGML_LOG_WARN("ggml-rknpu: not used: built for ggml %s, this is ggml %s\n", RKNPU_GGML_SERIES,
			      ggml_version());
	else
		GGML_LOG_WARN("ggml-rknpu: not used: the NPU cannot be opened: %s\n", strerror(-ret));
	return false;
}

int ggml_backend_score(void)
{
	return usable(&the_context) ? 1 : 0;
}

ggml_backend_reg_t ggml_backend_init(void)
{
	struct rknpu_context *ctx = &the_context;

	if (!known_series()) {
		usable(ctx);
		return NULL;
	}
	rknpu_params_read(&ctx->params);
	ggml_backend_rknpu_buffer_type_init(ctx);
	return &ctx->reg;
}
