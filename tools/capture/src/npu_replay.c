// SPDX-License-Identifier: MIT
/*
 * npu-replay: runs a capture on the NPU that is there and compares what it writes, byte by
 * byte, with what was recorded.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drm/rocket_accel.h"
#include "model.h"
#include "npu_plain.h"
#include "replay.h"

/* Blocks have been seen to read beyond their operands (rocket-userspace: one CBUF bank). */
#define SLACK		65536u
#define TIMEOUT_NS	UINT64_C(60000000000)

enum { EXIT_SAME = 0, EXIT_DIFFERS = 1, EXIT_USAGE = 2, EXIT_BROKEN = 3 };

struct state {
	struct replay r;
	struct model model;
	const char *no_model;	/* why it cannot be asked, or NULL */
	const char *file;
	bool verbose;
	size_t submit;		/* number of the current one, from 1 */
	size_t total;
	bool lost;		/* it failed, so there is nothing to compare */
	size_t ran, skipped, differing, failed;
	uint64_t bytes;		/* compared */
	uint64_t operations;
};

static int usage(void)
{
	fprintf(stderr, "usage: npu-replay [-v] [--uapi rocket|rknpu] [--device NODE] [--max-mib N] FILE\n"
		"       npu-replay --list [--max-mib N] FILE\n"
		"  -v        name every submit\n"
		"  --list    say what FILE holds, without an NPU\n"
		"  --max-mib N\n"
		"            the most that FILE may unpack to, in MiB (default: 1024)\n"
		"exit status: 0 equal, 1 different, 2 FILE or options are wrong, 3 no NPU, or jobs failed\n");
	return EXIT_USAGE;
}

static int complain(const char *what, int err)
{
	fprintf(stderr, "npu-replay: %s: %s\n", what, strerror(-err));
	return EXIT_BROKEN;
}

/* ---- memory ---- */

static int new_bo(struct state *st, const struct cap_bo *b)
{
	struct replay *r = &st->r;
	struct replay_bo *grown, *bo;
	int ret;

	/* A file may ask for 4 GiB, which is 0 where a size_t has 32 bits. */
	if (b->size > SIZE_MAX - SLACK)
		return -ENOMEM;
	grown = realloc(r->bo, (r->nbos + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	r->bo = grown;
	bo = &r->bo[r->nbos];
	memset(bo, 0, sizeof(*bo));
	bo->size = b->size;
	bo->shadow = calloc(1, b->size);
	if (!bo->shadow)
		return -ENOMEM;
	ret = npu_bo_alloc(r->dev, b->size + SLACK, &bo->bo);
	if (ret) {
		free(bo->shadow);
		return ret;
	}
	r->nbos++;
	bo->map = npu_bo_map(bo->bo);
	bo->touched = true;
	return bo->map ? 0 : -errno;
}

static void free_bo(struct replay_bo *bo)
{
	npu_bo_free(bo->bo);
	free(bo->shadow);
	memset(bo, 0, sizeof(*bo));
}

static void free_bos(struct replay *r)
{
	for (uint32_t i = 0; i < r->nbos; i++)
		free_bo(&r->bo[i]);
	free(r->bo);
	r->bo = NULL;
	r->nbos = 0;
}

/* What a range should hold; before a submit, it shall hold that. */
static void settle(struct replay_bo *bo, uint64_t offset, uint64_t size, bool expected)
{
	if (expected)
		return;
	memcpy(bo->map + offset, bo->shadow + offset, size);
	bo->touched = true;
}

static void do_write(struct replay *r, const struct cap_event *ev, bool expected)
{
	const struct cap_write *w = ev->data;
	struct replay_bo *bo = &r->bo[w->bo];

	memcpy(bo->shadow + w->offset, ev->more, ev->more_size);
	settle(bo, w->offset, ev->more_size, expected);
}

static void do_reloc(struct replay *r, const struct cap_reloc *l, bool expected)
{
	struct replay_bo *bo = &r->bo[l->bo];
	uint64_t word, iova = r->bo[l->target].bo->iova + l->target_offset;

	memcpy(&word, bo->shadow + l->offset, sizeof(word));
	word = (word & ~CAP_VALUE_BITS) | (iova & 0xffffffff) << 16;
	memcpy(bo->shadow + l->offset, &word, sizeof(word));
	settle(bo, l->offset, sizeof(word), expected);
}

/* ---- which operation wrote a byte ---- */

struct operation {
	uint32_t job, slice, task;
	struct cap_task where;
	struct cap_output out;
};

struct operations {
	struct operation *op;
	size_t n;
	uint32_t tasks;
};

static int add_operation(struct operations *ops, const struct operation *op)
{
	struct operation *grown = realloc(ops->op, (ops->n + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	ops->op = grown;
	ops->op[ops->n++] = *op;
	return 0;
}

/* Programs as they are on this machine, so addresses are this machine's. */
static int list_operations(struct replay *r, const struct cap_event *ev, struct operations *ops)
{
	struct cap_cursor c;
	const struct cap_submit *s = cap_submit_begin(ev, &c);
	const struct cap_task *t;
	struct cap_output out[2];

	memset(ops, 0, sizeof(*ops));
	cap_submit_uses(&c, s->uses);
	for (uint32_t j = 0; j < s->jobs; j++) {
		uint32_t slices = cap_submit_job(&c)->slices;

		for (uint32_t i = 0; i < slices; i++) {
			uint32_t tasks = cap_submit_slice(&c, &t)->tasks;
			struct cap_image im = { .chip = r->chip };

			for (uint32_t k = 0; k < tasks; k++) {
				struct operation op = { j + 1, i + 1, k + 1, t[k], { 0 } };
				unsigned int n;

				cap_image_run(&im, (const void *)(r->bo[t[k].bo].shadow +
								  t[k].offset), t[k].entries);
				n = cap_image_outputs(&im, out);
				ops->tasks++;
				for (unsigned int o = 0; o < n; o++) {
					op.out = out[o];
					if (add_operation(ops, &op))
						return -ENOMEM;
				}
			}
		}
	}
	return 0;
}

/* The last one whose result has the byte; if none has, the one that begins closest before. */
static const struct operation *writer_of(const struct operations *ops, uint64_t iova)
{
	const struct operation *near = NULL;

	for (size_t i = ops->n; i-- > 0;) {
		const struct operation *op = &ops->op[i];

		if (cap_output_has(&op->out, iova))
			return op;
		if (op->out.base <= iova && (!near || op->out.base > near->out.base))
			near = op;
	}
	return near;
}

/* ---- comparing ---- */

struct difference {
	const struct operation *op;
	uint32_t bo;
	uint64_t offset;	/* of the first byte of that operation */
	uint64_t bytes;		/* that differ in all */
};

/* Bytes of one surface position share their operation. */
static void compare_bo(struct replay *r, uint32_t n, const struct operations *ops,
		       struct difference *d)
{
	const struct replay_bo *bo = &r->bo[n];
	uint64_t asked = UINT64_MAX;

	for (uint64_t i = 0; i < bo->size; i++) {
		const struct operation *op;

		if (!(i % 4096) && bo->size - i >= 4096 &&
		    !memcmp(bo->map + i, bo->shadow + i, 4096)) {
			i += 4095;
			continue;
		}
		if (bo->map[i] == bo->shadow[i])
			continue;
		d->bytes++;
		if (i / 16 == asked)
			continue;
		asked = i / 16;
		op = writer_of(ops, bo->bo->iova + i);
		if (d->bytes > 1 && (!op || (d->op && op >= d->op)))
			continue;
		d->op = op;
		d->bo = n;
		d->offset = i;
	}
}

static void print_difference(struct state *st, const struct operations *ops,
			     const struct difference *d)
{
	struct replay *r = &st->r;
	const struct replay_bo *bo = &r->bo[d->bo];
	const struct operation *op = d->op;

	printf("%s: submit %zu of %zu differs: ", st->file, st->submit, st->total);
	if (op)
		printf("operation %u of slice %u of job %u", op->task, op->slice, op->job);
	else
		printf("no operation");
	printf(" (of %u operations) wrote BO %u otherwise from byte 0x%" PRIx64
	       " on: recorded %02x, now %02x; %" PRIu64 " bytes differ\n", ops->tasks, d->bo,
	       d->offset, bo->shadow[d->offset], bo->map[d->offset], d->bytes);
	if (!op)
		return;
	printf("  its program, at byte 0x%" PRIx64 " of BO %u (addresses are this machine's):\n",
	       op->where.offset, op->where.bo);
	cap_print_program(stdout, r->chip, "    ", (const void *)(r->bo[op->where.bo].shadow +
							 op->where.offset), op->where.entries);
}

static int compare(struct state *st, const struct cap_event *ev)
{
	struct replay *r = &st->r;
	struct cap_cursor c;
	const struct cap_submit *s = cap_submit_begin(ev, &c);
	const struct cap_use *use = cap_submit_uses(&c, s->uses);
	struct difference d = { 0 };
	struct operations ops;
	int ret = list_operations(r, ev, &ops);

	for (uint32_t i = 0; i < s->uses && !ret; i++) {
		struct replay_bo *bo = &r->bo[use[i].bo];

		if (!(use[i].use & CAP_USE_WRITE))
			continue;
		ret = npu_bo_prep(bo->bo, -1);
		if (ret)
			break;
		compare_bo(r, use[i].bo, &ops, &d);
		st->bytes += bo->size;
	}
	st->operations += ops.tasks;
	/* Only the first is told: what follows may be due to it. */
	if (!ret && d.bytes && !st->differing++)
		print_difference(st, &ops, &d);
	else if (d.bytes && st->verbose)
		printf("submit %zu: %" PRIu64 " bytes differ\n", st->submit, d.bytes);
	else if (st->verbose)
		printf("submit %zu: equal, %u operations\n", st->submit, ops.tasks);
	free(ops.op);
	return ret;
}

/* A submit that failed says so again to whoever waits for its memory. */
static void wait_for_failed(struct replay *r, const struct cap_event *ev)
{
	struct cap_cursor c;
	const struct cap_submit *s = cap_submit_begin(ev, &c);
	const struct cap_use *use = cap_submit_uses(&c, s->uses);

	for (uint32_t i = 0; i < s->uses; i++) {
		if (use[i].use & CAP_USE_WRITE)
			npu_bo_prep(r->bo[use[i].bo].bo, -1);
	}
}

/* The jobs that follow shall find what they found when they were recorded. */
static void restore(struct replay *r, const struct cap_event *ev)
{
	struct cap_cursor c;
	const struct cap_submit *s = cap_submit_begin(ev, &c);
	const struct cap_use *use = cap_submit_uses(&c, s->uses);

	for (uint32_t i = 0; i < s->uses; i++) {
		struct replay_bo *bo = &r->bo[use[i].bo];

		if (use[i].use & CAP_USE_WRITE && memcmp(bo->map, bo->shadow, bo->size))
			settle(bo, 0, bo->size, false);
	}
}

/* ---- running ---- */

static int flush(struct replay *r)
{
	int ret = 0;

	for (uint32_t i = 0; i < r->nbos && !ret; i++) {
		if (r->bo[i].bo && r->bo[i].touched)
			ret = npu_bo_fini(r->bo[i].bo);
		r->bo[i].touched = false;
	}
	return ret;
}

static int run_jobs(struct replay *r, const struct cap_event *ev)
{
	struct cap_cursor c;
	const struct cap_submit *s = cap_submit_begin(ev, &c);
	const struct cap_use *use = cap_submit_uses(&c, s->uses);
	int ret = flush(r);

	for (uint32_t j = 0; j < s->jobs && !ret; j++) {
		const struct cap_job *job = cap_submit_job(&c);

		ret = replay_job(r, s, use, job, &c);
	}
	return ret;
}

/* Whether a submit is run at all: what failed or was not waited for has no known result. */
static bool has_result(const struct cap_event *ev)
{
	const struct cap_done *done = ev->more;

	return done && !done->status && !(done->flags & CAP_DONE_UNKNOWN);
}

/* Whatever core it ran on. */
static void print_hang(struct state *st)
{
	struct model_hang h;
	int core = -1;

	if (st->no_model) {
		printf("  %s\n", st->no_model);
		return;
	}
	while ((core = model_news(&st->model, (unsigned int)(core + 1))) >= 0) {
		if (!model_read(&st->model, (unsigned int)core, &h))
			continue;
		printf("  core %d: ", core);
		model_print_why(stdout, &h);
		printf("\n");
		model_print_task(stdout, "    ", &h);
	}
}

static int begin_submit(struct state *st, const struct cap_event *ev)
{
	const struct cap_done *done = ev->more;
	int ret;

	st->submit++;
	if (!has_result(ev)) {
		st->skipped++;
		printf("%s: submit %zu is not run: %s\n", st->file, st->submit, !done->status ?
		       "its result was not recorded" : strerror(-done->status));
		return 0;
	}
	model_forget(&st->model);
	ret = run_jobs(&st->r, ev);
	st->ran++;
	st->lost = ret;
	if (!ret)
		return 0;
	if (!st->failed++) {
		printf("%s: submit %zu of %zu failed: %s\n", st->file, st->submit, st->total,
		       strerror(-ret));
		print_hang(st);
	}
	return 0;
}

static int play_event(struct state *st, const struct cap_event *ev, const struct cap_event **open)
{
	const struct cap_bo_gone *gone = ev->data;
	bool expected = *open && has_result(*open);
	int ret = 0;

	switch (ev->type) {
	case CAP_BO:
		return new_bo(st, ev->data);
	case CAP_BO_GONE:
		free_bo(&st->r.bo[gone->bo]);
		break;
	case CAP_WRITE:
		do_write(&st->r, ev, expected);
		break;
	case CAP_RELOC:
		do_reloc(&st->r, ev->data, expected);
		break;
	case CAP_SUBMIT:
		*open = ev;
		return begin_submit(st, ev);
	case CAP_DONE:
		if (expected && st->lost)
			wait_for_failed(&st->r, *open);
		else if (expected)
			ret = compare(st, *open);
		if (expected)
			restore(&st->r, *open);
		*open = NULL;
		break;
	case CAP_END:
		free_bos(&st->r);
		break;
	default:
		break;
	}
	return ret;
}

static int open_npu(struct state *st, const char *node)
{
	uint64_t max = 0;
	int ret = npu_open(node, &st->r.dev);

	if (ret)
		return ret;
	st->r.chip = npu_chip_of_soc(npu_soc(st->r.dev));
	st->r.version.size = sizeof(st->r.version);
	ret = npu_version(st->r.dev, &st->r.version);
	st->r.vendor = !strcmp(st->r.version.name, "rknpu");
	if (!st->r.vendor && !npu_param(st->r.dev, DRM_ROCKET_PARAM_MAX_TIMEOUT_NS, 0, &max))
		st->r.timeout_ns = max < TIMEOUT_NS ? max : TIMEOUT_NS;
	return ret;
}

static int verdict(struct state *st)
{
	printf("%s: %zu of %zu submits, %" PRIu64 " operations, %" PRIu64
	       " bytes compared, over %s: ", st->file, st->ran, st->total, st->operations,
	       st->bytes, st->r.version.name);
	if (st->failed)
		printf("%zu failed, ", st->failed);
	if (st->differing)
		printf("%zu differ\n", st->differing);
	else if (!st->ran)
		printf("nothing to compare\n");
	else
		printf("%s\n", st->failed ? "no other differs" : "all equal");
	if (st->failed || !st->ran)
		return EXIT_BROKEN;
	return st->differing ? EXIT_DIFFERS : EXIT_SAME;
}

/* Another one would take the programs' registers for others. */
static bool is_of_this_chip(const struct state *st, const struct cap *cap)
{
	uint32_t is = npu_soc(st->r.dev);

	for (size_t i = 0; i < cap->nevents; i++) {
		uint32_t soc = cap->events[i].type == CAP_FILE ? cap_file_soc(&cap->events[i]) : is;

		if (soc == is)
			continue;
		fprintf(stderr, "npu-replay: %s is of an RK%u, and this NPU is an RK%u's\n", st->file, soc, is);
		return false;
	}
	return true;
}

static int replay(struct state *st, const struct cap *cap, const char *node)
{
	const struct cap_event *open = NULL;
	int ret = open_npu(st, node);

	/* A chip that libnpu has no programs for. */
	if (ret == -EOPNOTSUPP) {
		fprintf(stderr, "npu-replay: there are no captures of this chip\n");
		return EXIT_BROKEN;
	}
	if (ret)
		return complain(node ? node : "no NPU", ret);
	if (!is_of_this_chip(st, cap)) {
		npu_close(st->r.dev);
		return EXIT_BROKEN;
	}
	st->total = cap->nsubmits;
	st->no_model = model_open(&st->model);
	for (size_t i = 0; i < cap->nevents && !ret; i++)
		ret = play_event(st, &cap->events[i], &open);
	free_bos(&st->r);
	replay_job_free(&st->r);
	model_close(&st->model);
	ret = ret ? complain(st->file, ret) : verdict(st);
	npu_close(st->r.dev);
	return ret;
}

static void print_process(const struct cap_process *p, const char *file)
{
	char name[sizeof(p->name)];

	snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, p->name);
	printf("%s: process %s of %u bits\n", file, npu_plain(name), p->bits);
}

static int list(const struct cap *cap, const char *file)
{
	static const char * const uapis[] = { "?", "rocket", "rknpu", "/dev/rknpu" };
	uint64_t counts[CAP_EOF + 1] = { 0 }, bytes = 0;

	for (size_t i = 0; i < cap->nevents; i++) {
		const struct cap_event *ev = &cap->events[i];
		const struct cap_file *f = ev->data;
		const struct cap_bo *b = ev->data;

		counts[ev->type]++;
		if (ev->type == CAP_PROCESS)
			print_process(ev->data, file);
		else if (ev->type == CAP_FILE)
			printf("%s: interface %s %u.%u.%u of an RK%u\n", file, uapis[f->uapi < 4 ? f->uapi : 0],
			       f->major, f->minor, f->patch, cap_file_soc(ev));
		else if (ev->type == CAP_BO)
			bytes += b->size;
	}
	printf("%s: %" PRIu64 " submits, %" PRIu64 " BOs of %" PRIu64 " bytes, %" PRIu64
	       " contents, %" PRIu64 " addresses\n", file, counts[CAP_SUBMIT], counts[CAP_BO],
	       bytes, counts[CAP_CONTENT], counts[CAP_RELOC]);
	return EXIT_SAME;
}

/* MiB of files that are larger than memory have no place in a size_t. */
static bool read_mib(const char *text, uint64_t *bytes)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*bytes = (uint64_t)n << 20;
	return n && !*end && *text != '-' && n <= SIZE_MAX >> 22;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "uapi", required_argument, NULL, 'u' }, { "device", required_argument, NULL, 'd' },
		{ "list", no_argument, NULL, 'l' }, { "max-mib", required_argument, NULL, 'm' }, { 0 },
	};
	const char *node = NULL;
	struct state st = { 0 };
	uint64_t max = CAP_READ_MAX;
	bool only_list = false;
	struct cap cap;
	int opt, ret;

	while ((opt = getopt_long(argc, argv, "v", options, NULL)) != -1) {
		if (opt == 'v')
			st.verbose = true;
		else if (opt == 'u' && (!strcmp(optarg, "rocket") || !strcmp(optarg, "rknpu")))
			setenv("NPU_UAPI", optarg, 1);
		else if (opt == 'd')
			node = optarg;
		else if (opt == 'l')
			only_list = true;
		else if (opt == 'm' && read_mib(optarg, &max))
			continue;
		else
			return usage();
	}
	if (optind != argc - 1)
		return usage();
	st.file = argv[optind];
	if (cap_read(&cap, st.file, max)) {
		fprintf(stderr, "npu-replay: %s\n", cap.error);
		ret = EXIT_USAGE;
	} else {
		ret = only_list ? list(&cap, st.file) : replay(&st, &cap, node);
	}
	cap_free(&cap);
	return ret;
}
