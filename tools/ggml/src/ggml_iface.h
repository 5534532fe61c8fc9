/* SPDX-License-Identifier: MIT */
/*
 * What ggml and a backend know of each other beyond ggml-backend.h: API version 3, of ggml 0.27.
 *
 * Debian's libggml-dev leaves this out. The layouts are facts of libggml-base.so.0;
 * tests/ggml_layout.c calls every member through the library's own functions. Members that
 * this backend leaves empty have no type.
 */
#ifndef GGML_IFACE_H
#define GGML_IFACE_H

#include <ggml-backend.h>

#define RKNPU_GGML_API	3
/* Series of ggml whose interface this is; the last number of a version changes no interface. */
#define RKNPU_GGML_SERIES	"0.27"

typedef void (*ggml_unused_t)(void);

struct ggml_buffer_type_ops {
	const char *(*get_name)(ggml_backend_buffer_type_t type);
	ggml_backend_buffer_t (*alloc_buffer)(ggml_backend_buffer_type_t type, size_t size);
	ggml_unused_t alloc_buffer_n;
	size_t (*get_alignment)(ggml_backend_buffer_type_t type);
	size_t (*get_max_size)(ggml_backend_buffer_type_t type);
	ggml_unused_t get_alloc_size;
	ggml_unused_t get_alloc_size_n;
	bool (*is_host)(ggml_backend_buffer_type_t type);
};

struct ggml_backend_buffer_type {
	struct ggml_buffer_type_ops ops;
	ggml_backend_dev_t device;
	void *context;
};

struct ggml_buffer_ops {
	void (*free_buffer)(ggml_backend_buffer_t buffer);
	void *(*get_base)(ggml_backend_buffer_t buffer);
	ggml_unused_t init_tensor;
	void (*memset_tensor)(ggml_backend_buffer_t buffer, struct ggml_tensor *t, uint8_t value,
			      size_t offset, size_t size);
	void (*set_tensor)(ggml_backend_buffer_t buffer, struct ggml_tensor *t, const void *data,
			   size_t offset, size_t size);
	void (*get_tensor)(ggml_backend_buffer_t buffer, const struct ggml_tensor *t, void *data,
			   size_t offset, size_t size);
	ggml_unused_t set_tensor_2d;
	ggml_unused_t get_tensor_2d;
	bool (*cpy_tensor)(ggml_backend_buffer_t buffer, const struct ggml_tensor *src,
			   struct ggml_tensor *dst);
	void (*clear)(ggml_backend_buffer_t buffer, uint8_t value);
	ggml_unused_t reset;
};

struct ggml_backend_buffer {
	struct ggml_buffer_ops ops;
	ggml_backend_buffer_type_t type;
	void *context;
	size_t size;
	enum ggml_backend_buffer_usage usage;
};

struct ggml_backend_ops {
	const char *(*get_name)(ggml_backend_t backend);
	void (*free)(ggml_backend_t backend);
	ggml_unused_t set_tensor_async;
	ggml_unused_t get_tensor_async;
	ggml_unused_t set_tensor_2d_async;
	ggml_unused_t get_tensor_2d_async;
	ggml_unused_t cpy_tensor_async;
	ggml_unused_t synchronize;
	ggml_unused_t graph_plan_create;
	ggml_unused_t graph_plan_free;
	ggml_unused_t graph_plan_update;
	ggml_unused_t graph_plan_compute;
	enum ggml_status (*graph_compute)(ggml_backend_t backend, struct ggml_cgraph *graph);
	ggml_unused_t event_record;
	ggml_unused_t event_wait;
	void (*graph_optimize)(ggml_backend_t backend, struct ggml_cgraph *graph);
};

struct ggml_backend {
	ggml_guid_t guid;
	struct ggml_backend_ops ops;
	ggml_backend_dev_t device;
	void *context;
};

struct ggml_device_ops {
	const char *(*get_name)(ggml_backend_dev_t dev);
	const char *(*get_description)(ggml_backend_dev_t dev);
	void (*get_memory)(ggml_backend_dev_t dev, size_t *free, size_t *total);
	enum ggml_backend_dev_type (*get_type)(ggml_backend_dev_t dev);
	void (*get_props)(ggml_backend_dev_t dev, struct ggml_backend_dev_props *props);
	ggml_backend_t (*init_backend)(ggml_backend_dev_t dev, const char *params);
	ggml_backend_buffer_type_t (*get_buffer_type)(ggml_backend_dev_t dev);
	ggml_unused_t get_host_buffer_type;
	ggml_backend_buffer_t (*buffer_from_host_ptr)(ggml_backend_dev_t dev, void *ptr, size_t size,
						      size_t max_tensor_size);
	bool (*supports_op)(ggml_backend_dev_t dev, const struct ggml_tensor *op);
	bool (*supports_buft)(ggml_backend_dev_t dev, ggml_backend_buffer_type_t type);
	ggml_unused_t offload_op;
	ggml_unused_t event_new;
	ggml_unused_t event_free;
	ggml_unused_t event_synchronize;
};

struct ggml_backend_device {
	struct ggml_device_ops ops;
	ggml_backend_reg_t reg;
	void *context;
};

struct ggml_reg_ops {
	const char *(*get_name)(ggml_backend_reg_t reg);
	size_t (*get_device_count)(ggml_backend_reg_t reg);
	ggml_backend_dev_t (*get_device)(ggml_backend_reg_t reg, size_t index);
	void *(*get_proc_address)(ggml_backend_reg_t reg, const char *name);
};

struct ggml_hash_set {
	size_t size;
	uint32_t *used;		/* a bit for each key */
	struct ggml_tensor **keys;
};

struct ggml_cgraph {
	int size, n_nodes, n_leafs;
	struct ggml_tensor **nodes, **grads, **grad_accs, **leafs;
	int32_t *use_counts;	/* by the places of the hash set, also in graphs that are part of another */
	struct ggml_hash_set visited;
};

/* How many operations of the whole graph read that tensor, or -1 if it is not known. */
static inline int32_t ggml_uses(const struct ggml_cgraph *graph, const struct ggml_tensor *t)
{
	const struct ggml_hash_set *set = &graph->visited;
	size_t at = set->size ? ((uintptr_t)t >> 4) % set->size : 0;

	for (size_t n = 0; n < set->size && set->used[at / 32] >> at % 32 & 1; n++) {
		if (set->keys[at] == t)
			return graph->use_counts[at];
		at = (at + 1) % set->size;
	}
	return -1;
}

struct ggml_backend_reg {
	int api_version;
	struct ggml_reg_ops ops;
	void *context;
};

ggml_backend_buffer_t ggml_backend_buffer_init(ggml_backend_buffer_type_t type,
					       struct ggml_buffer_ops ops, void *context,
					       size_t size);

/* What ggml's own backends log with: the program's callback gets the line. */
__attribute__((format(printf, 2, 3))) void ggml_log_internal(enum ggml_log_level level, const char *format, ...);
#define GGML_LOG_WARN(...)	ggml_log_internal(GGML_LOG_LEVEL_WARN, __VA_ARGS__)
#define GGML_LOG_ERROR(...)	ggml_log_internal(GGML_LOG_LEVEL_ERROR, __VA_ARGS__)

/* What ggml looks up in a backend that it loads. */
__attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init(void);
__attribute__((visibility("default"))) int ggml_backend_score(void);

#endif /* GGML_IFACE_H */
