// SPDX-License-Identifier: GPL-2.0-only
/* Runs one model twice, on the CPU and with the delegate, and compares what comes out. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/lite/c/c_api.h"
#include "tensorflow/lite/c/common.h"

#include "../../selftests/rknpu_util.h"
#include "teflon_check.h"

#define MAX_OUTPUTS	4

typedef TfLiteDelegate *create_fn(char **keys, char **values, size_t count,
				  void (*report)(const char *));

/* Results of one interpreter: every output of every round. */
struct results {
	uint8_t *data[ROUNDS][MAX_OUTPUTS];
	size_t size[MAX_OUTPUTS];
	int outputs;
};

static bool fail(struct outcome *o, const char *fmt, ...)
{
	va_list ap;

	if (o->error[0])
		return false;
	va_start(ap, fmt);
	vsnprintf(o->error, sizeof(o->error), fmt, ap);
	va_end(ap);
	return false;
}

/* ---- what becomes of the graph ---- */

static struct {
	TfLiteStatus (*prepare)(TfLiteContext *ctx, TfLiteDelegate *d);
	struct outcome *o;
} hook;

/* Nodes in the plan that are a delegate's and that are the CPU's. */
static bool plan(TfLiteContext *ctx, int *delegates, int *cpu)
{
	TfLiteIntArray *nodes;

	*delegates = 0;
	*cpu = 0;
	if (ctx->GetExecutionPlan(ctx, &nodes) != kTfLiteOk)
		return false;
	for (int i = 0; i < nodes->size; i++) {
		TfLiteRegistration *r;
		TfLiteNode *n;

		if (ctx->GetNodeAndRegistration(ctx, nodes->data[i], &n, &r) != kTfLiteOk)
			return false;
		if (n->delegate)
			(*delegates)++;
		else
			(*cpu)++;
	}
	return true;
}

/* The delegate replaces nodes in its own Prepare: the plan is looked at before and after. */
static TfLiteStatus counting_prepare(TfLiteContext *ctx, TfLiteDelegate *d)
{
	struct outcome *o = hook.o;
	TfLiteStatus status;
	int left;

	if (!plan(ctx, &o->partitions, &o->nodes))
		return kTfLiteError;
	status = hook.prepare(ctx, d);
	if (!plan(ctx, &o->partitions, &left))
		return kTfLiteError;
	o->delegated = o->nodes - left;
	return status;
}

static void report(const char *text)
{
	fprintf(stderr, "%s\n", text);
}

static TfLiteDelegate *load_delegate(const char *path, struct outcome *o)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	create_fn *create;
	TfLiteDelegate *d;

	if (!lib) {
		fail(o, "dlopen: %s", dlerror());
		return NULL;
	}
	create = (create_fn *)dlsym(lib, "tflite_plugin_create_delegate");
	d = create ? create(NULL, NULL, 0, report) : NULL;
	if (!d || !d->Prepare) {
		fail(o, "the delegate finds no NPU");
		return NULL;
	}
	hook.prepare = d->Prepare;
	hook.o = o;
	d->Prepare = counting_prepare;
	return d;
}

/* ---- running ---- */

static uint64_t xorshift(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static bool feed(TfLiteInterpreter *in, int round)
{
	uint64_t state = 0x9e3779b97f4a7c15ull * (round + 1);

	for (int i = 0; i < TfLiteInterpreterGetInputTensorCount(in); i++) {
		TfLiteTensor *t = TfLiteInterpreterGetInputTensor(in, i);
		uint8_t *data = TfLiteTensorData(t);

		if (!data || TfLiteTensorType(t) != kTfLiteUInt8)
			return false;
		for (size_t k = 0; k < TfLiteTensorByteSize(t); k++)
			data[k] = xorshift(&state) >> 32;
	}
	return true;
}

static bool collect(const TfLiteInterpreter *in, int round, struct results *r)
{
	r->outputs = TfLiteInterpreterGetOutputTensorCount(in);
	if (r->outputs > MAX_OUTPUTS)
		return false;
	for (int i = 0; i < r->outputs; i++) {
		const TfLiteTensor *t = TfLiteInterpreterGetOutputTensor(in, i);

		if (TfLiteTensorType(t) != kTfLiteUInt8)
			return false;
		r->size[i] = TfLiteTensorByteSize(t);
		r->data[round][i] = malloc(r->size[i]);
		if (!r->data[round][i] ||
		    TfLiteTensorCopyToBuffer(t, r->data[round][i], r->size[i]) != kTfLiteOk)
			return false;
	}
	return true;
}

static bool invoke(TfLiteModel *model, TfLiteDelegate *delegate, struct results *r,
		   struct outcome *o)
{
	const char *who = delegate ? "with the delegate" : "on the CPU";
	TfLiteInterpreterOptions *options = TfLiteInterpreterOptionsCreate();
	TfLiteInterpreter *in;
	bool ok = false;

	TfLiteInterpreterOptionsSetNumThreads(options, 1);
	if (delegate)
		TfLiteInterpreterOptionsAddDelegate(options, delegate);
	in = TfLiteInterpreterCreate(model, options);
	if (!in || TfLiteInterpreterAllocateTensors(in) != kTfLiteOk) {
		fail(o, "cannot be prepared %s", who);
		goto out;
	}
	for (int round = 0; round < ROUNDS; round++) {
		if (!feed(in, round) || TfLiteInterpreterInvoke(in) != kTfLiteOk ||
		    !collect(in, round, r)) {
			fail(o, "cannot be run %s", who);
			goto out;
		}
	}
	ok = true;
out:
	if (in)
		TfLiteInterpreterDelete(in);
	TfLiteInterpreterOptionsDelete(options);
	return ok;
}

/* ---- comparing ---- */

static void compare(const struct results *cpu, const struct results *npu, struct outcome *o)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < cpu->outputs; i++) {
			for (size_t k = 0; k < cpu->size[i]; k++) {
				int d = abs(cpu->data[round][i][k] - npu->data[round][i][k]);

				o->elements++;
				o->differ += d > 0;
				o->max = d > o->max ? d : o->max;
			}
		}
	}
}

/* A result that is the same everywhere, or whatever the input, would prove nothing. */
static void judge_reference(const struct results *cpu, struct outcome *o)
{
	bool seen[256] = { false };

	o->moved_of = cpu->size[0];
	for (size_t k = 0; k < cpu->size[0]; k++) {
		uint8_t v = cpu->data[0][0][k];

		o->distinct += !seen[v];
		seen[v] = true;
		o->moved += v != cpu->data[1][0][k];
	}
}

/* ---- counting ---- */

static uint64_t driver_stat(const char *what)
{
	uint64_t sum = 0;

	for (int i = 0; i < RK_CORES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "core%d.%s", i, what);
		sum += rk_stat(name);
	}
	return sum;
}

/* Called before and after: what was counted in between stays in @o. */
static void count(struct outcome *o)
{
	uint64_t jobs, tasks;

	submit_count(&jobs, &tasks);
	o->jobs = jobs - o->jobs;
	o->tasks = tasks - o->tasks;
	o->model_counts = rk_model();
	o->npu_tasks = rk_count_all_jobs(NPU_CNT_TASK_DONE) - o->npu_tasks;
	o->macs = rk_count_all(NPU_CNT_MACS) - o->macs;
	o->hangs = rk_count_all(NPU_CNT_HANG) - o->hangs;
	o->driver_counts = rk_ours();
	if (!o->driver_counts)
		return;
	o->driver_jobs = driver_stat("jobs") - o->driver_jobs;
	o->driver_tasks = driver_stat("tasks") - o->driver_tasks;
}

void teflon_run(const struct model *m, const char *file, const char *delegate, struct outcome *o)
{
	struct results cpu = { 0 }, npu = { 0 };
	TfLiteModel *model = TfLiteModelCreateFromFile(file);
	TfLiteDelegate *d;
	bool ok;

	if (!model) {
		fail(o, "%s is not a model", file);
		return;
	}
	if (!invoke(model, NULL, &cpu, o))
		return;
	judge_reference(&cpu, o);
	d = load_delegate(delegate, o);
	if (!d)
		return;
	count(o);
	ok = invoke(model, d, &npu, o);
	count(o);
	if (!ok)
		return;
	if (npu.outputs != cpu.outputs || memcmp(npu.size, cpu.size, sizeof(cpu.size))) {
		fail(o, "outputs have other sizes");
		return;
	}
	compare(&cpu, &npu, o);
}
