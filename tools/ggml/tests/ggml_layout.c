// SPDX-License-Identifier: MIT
/*
 * That ggml_iface.h describes the interface of the ggml that it is run with: the library's own
 * functions find each member, and nothing else, where the header has it.
 */
#include <stdio.h>
#include <string.h>

#include "ggml_check.h"
#include "ggml_iface.h"

/* What was called last. */
static const char *called = "";

#define STUB(ret, name, value, ...)		\
	static ret name(__VA_ARGS__)		\
	{					\
		called = #name;			\
		return value;			\
	}
#define STUB_VOID(name, ...)			\
	static void name(__VA_ARGS__)		\
	{					\
		called = #name;			\
	}

static struct ggml_backend_buffer_type type;
static struct ggml_backend_device dev;
static struct ggml_backend_reg reg;
static struct ggml_backend backend;
static char memory[4096];

STUB(const char *, type_get_name, "t", ggml_backend_buffer_type_t t)
STUB(ggml_backend_buffer_t, type_alloc, NULL, ggml_backend_buffer_type_t t, size_t n)
STUB(size_t, type_alignment, 64, ggml_backend_buffer_type_t t)
STUB(size_t, type_max, 99, ggml_backend_buffer_type_t t)
STUB(bool, type_is_host, true, ggml_backend_buffer_type_t t)

STUB_VOID(buffer_free, ggml_backend_buffer_t b)
STUB(void *, buffer_base, memory, ggml_backend_buffer_t b)
STUB_VOID(buffer_memset, ggml_backend_buffer_t b, struct ggml_tensor *t, uint8_t v, size_t o, size_t n)
STUB_VOID(buffer_set, ggml_backend_buffer_t b, struct ggml_tensor *t, const void *d, size_t o, size_t n)
STUB_VOID(buffer_get, ggml_backend_buffer_t b, const struct ggml_tensor *t, void *d, size_t o, size_t n)
STUB_VOID(buffer_clear, ggml_backend_buffer_t b, uint8_t v)

STUB(const char *, backend_get_name, "b", ggml_backend_t b)
STUB_VOID(backend_free, ggml_backend_t b)
STUB(enum ggml_status, backend_compute, GGML_STATUS_FAILED, ggml_backend_t b, struct ggml_cgraph *g)

STUB(const char *, dev_get_name, "d", ggml_backend_dev_t d)
STUB(const char *, dev_description, "dd", ggml_backend_dev_t d)
STUB_VOID(dev_memory, ggml_backend_dev_t d, size_t *f, size_t *t)
STUB(enum ggml_backend_dev_type, dev_type, GGML_BACKEND_DEVICE_TYPE_ACCEL, ggml_backend_dev_t d)
STUB_VOID(dev_props, ggml_backend_dev_t d, struct ggml_backend_dev_props *p)
STUB(ggml_backend_t, dev_backend, NULL, ggml_backend_dev_t d, const char *p)
STUB(ggml_backend_buffer_type_t, dev_buffer_type, &type, ggml_backend_dev_t d)
STUB(ggml_backend_buffer_t, dev_buffer_of, NULL, ggml_backend_dev_t d, void *p, size_t n, size_t m)
STUB(bool, dev_supports_op, true, ggml_backend_dev_t d, const struct ggml_tensor *op)
STUB(bool, dev_supports_type, true, ggml_backend_dev_t d, ggml_backend_buffer_type_t t)

STUB(const char *, reg_get_name, "r", ggml_backend_reg_t r)
STUB(size_t, reg_count, 7, ggml_backend_reg_t r)
STUB(ggml_backend_dev_t, reg_device, &dev, ggml_backend_reg_t r, size_t i)
STUB(void *, reg_proc, NULL, ggml_backend_reg_t r, const char *n)

static int wrong;

static void expect(const char *name)
{
	if (strcmp(called, name)) {
		printf("# %s was called, not %s\n", *called ? called : "nothing", name);
		wrong++;
	}
	called = "";
}

/* CALLS(f, ...): ggml's function of these arguments has to get to our f. */
#define CALLS(f, call) do { (void)(call); expect(#f); } while (0)
#define SAME(a, b) do { if ((a) != (b)) { printf("# %s is not %s\n", #a, #b); wrong++; } } while (0)

static void fill(void)
{
	type.ops = (struct ggml_buffer_type_ops){
		.get_name = type_get_name, .alloc_buffer = type_alloc, .get_alignment = type_alignment,
		.get_max_size = type_max, .is_host = type_is_host,
	};
	type.device = &dev;
	dev.ops = (struct ggml_device_ops){
		.get_name = dev_get_name, .get_description = dev_description,
		.get_memory = dev_memory, .get_type = dev_type, .get_props = dev_props,
		.init_backend = dev_backend, .get_buffer_type = dev_buffer_type,
		.buffer_from_host_ptr = dev_buffer_of, .supports_op = dev_supports_op,
		.supports_buft = dev_supports_type,
	};
	dev.reg = &reg;
	backend.ops = (struct ggml_backend_ops){
		.get_name = backend_get_name, .free = backend_free, .graph_compute = backend_compute,
	};
	backend.device = &dev;
	reg.ops = (struct ggml_reg_ops){
		.get_name = reg_get_name, .get_device_count = reg_count, .get_device = reg_device,
		.get_proc_address = reg_proc,
	};
}

static void types(void)
{
	CALLS(type_get_name, ggml_backend_buft_name(&type));
	CALLS(type_alloc, ggml_backend_buft_alloc_buffer(&type, 5));
	CALLS(type_alignment, ggml_backend_buft_get_alignment(&type));
	CALLS(type_max, ggml_backend_buft_get_max_size(&type));
	CALLS(type_is_host, ggml_backend_buft_is_host(&type));
	SAME(ggml_backend_buft_get_device(&type), &dev);
}

static void buffers(void)
{
	struct ggml_buffer_ops ops = {
		.free_buffer = buffer_free, .get_base = buffer_base, .memset_tensor = buffer_memset,
		.set_tensor = buffer_set, .get_tensor = buffer_get, .clear = buffer_clear,
	};
	ggml_backend_buffer_t b = ggml_backend_buffer_init(&type, ops, memory, sizeof(memory));
	struct ggml_tensor t = {
		.type = GGML_TYPE_F32, .buffer = b, .ne = { 4, 1, 1, 1 }, .nb = { 4, 16, 16, 16 },
		.data = memory,
	};

	SAME(b->type, &type);
	SAME(b->context, (void *)memory);
	SAME(b->size, sizeof(memory));
	SAME(ggml_backend_buffer_get_size(b), sizeof(memory));
	ggml_backend_buffer_set_usage(b, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	SAME(b->usage, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	CALLS(buffer_base, ggml_backend_buffer_get_base(b));
	ggml_backend_tensor_memset(&t, 0, 0, 16);
	expect("buffer_memset");
	ggml_backend_tensor_set(&t, memory, 0, 16);
	expect("buffer_set");
	ggml_backend_tensor_get(&t, memory, 0, 16);
	expect("buffer_get");
	ggml_backend_buffer_clear(b, 0);
	expect("buffer_clear");
	ggml_backend_buffer_free(b);
	expect("buffer_free");
}

static void devices(void)
{
	struct ggml_backend_dev_props props;
	size_t a, b;

	CALLS(dev_get_name, ggml_backend_dev_name(&dev));
	CALLS(dev_description, ggml_backend_dev_description(&dev));
	ggml_backend_dev_memory(&dev, &a, &b);
	expect("dev_memory");
	CALLS(dev_type, ggml_backend_dev_type(&dev));
	ggml_backend_dev_get_props(&dev, &props);
	expect("dev_props");
	CALLS(dev_backend, ggml_backend_dev_init(&dev, NULL));
	CALLS(dev_buffer_type, ggml_backend_dev_buffer_type(&dev));
	CALLS(dev_buffer_of, ggml_backend_dev_buffer_from_host_ptr(&dev, memory, 5, 5));
	CALLS(dev_supports_op, ggml_backend_dev_supports_op(&dev, NULL));
	CALLS(dev_supports_type, ggml_backend_dev_supports_buft(&dev, &type));
	SAME(ggml_backend_dev_backend_reg(&dev), &reg);
}

/* Enough of them for places of the hash set that were taken. */
#define NODES	600

static void graphs(void)
{
	struct ggml_init_params p = { .mem_size = 4 << 20, .no_alloc = true };
	struct ggml_context *ctx = ggml_init(p);
	struct ggml_tensor *first = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8), *t = first, *middle = NULL;
	struct ggml_cgraph *graph = ggml_new_graph(ctx);

	for (int i = 0; i < NODES; i++) {
		t = ggml_add(ctx, t, first);
		middle = i == NODES / 2 ? t : middle;
	}
	ggml_build_forward_expand(graph, t);
	SAME(graph->n_nodes, ggml_graph_n_nodes(graph));
	SAME(graph->size, ggml_graph_size(graph));
	SAME(graph->nodes, ggml_graph_nodes(graph));
	SAME(ggml_uses(graph, first), NODES + 1);
	SAME(ggml_uses(graph, middle), 1);
	SAME(ggml_uses(graph, t), 0);
	SAME(ggml_uses(graph, t + 1), -1);
	for (int i = 0; i < NODES - 1; i++)
		SAME(ggml_uses(graph, ggml_graph_node(graph, i)), 1);
	ggml_free(ctx);
}

void layout(void)
{
	graphs();
	fill();
	types();
	buffers();
	devices();
	CALLS(backend_get_name, ggml_backend_name(&backend));
	CALLS(backend_compute, ggml_backend_graph_compute_async(&backend, NULL));
	SAME(ggml_backend_get_device(&backend), &dev);
	CALLS(reg_get_name, ggml_backend_reg_name(&reg));
	CALLS(reg_count, ggml_backend_reg_dev_count(&reg));
	CALLS(reg_device, ggml_backend_reg_dev_get(&reg, 0));
	CALLS(reg_proc, ggml_backend_reg_get_proc_address(&reg, ""));
	ggml_backend_free(&backend);
	expect("backend_free");
	tap(!wrong, "ggml %s finds every member of its interface where ggml_iface.h has it", ggml_version());
}
