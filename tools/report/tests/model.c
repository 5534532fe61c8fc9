// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs the programs of npu-report on the model's arithmetic, without a machine: every one
 * has to come out as modelled, and some do not once the model is told another reading.
 */
#include <errno.h>

#include "harness.h"
#include "report.h"

#define IN_IOVA		MEM_BASE
#define OUT_IOVA	(MEM_BASE + RP_MEM)

static NpuTaskOptions options = { .write_padding = true };
static const char *why;
static bool verbose;

static int run(struct rp_npu *npu, const uint64_t *entry, const struct rp_span *task,
	       unsigned int tasks)
{
	(void)npu;
	for (unsigned int i = 0; i < tasks; i++) {
		static Prog p;
		NpuVerdict verdict;

		p.n = task[i].count;
		if (p.n > ARRAY_SIZE(p.cmd))
			return -E2BIG;
		memcpy(p.cmd, entry + task[i].first, p.n * sizeof(*entry));
		verdict = run_prog(&p, options, &why);
		if (verdict == NPU_TASK_RUN)
			continue;
		if (verbose)
			printf("# %s: %s\n", verdict == NPU_TASK_UNIMP ? "refused" : "hangs", why);
		if (verdict == NPU_TASK_STALL)
			why = NULL;
		return -ETIMEDOUT;
	}
	why = NULL;
	return 0;
}

static const char *refusal(struct rp_npu *npu)
{
	(void)npu;
	return why;
}

static struct rp_npu npu = {
	.in = mem, .out = mem + RP_MEM, .in_iova = IN_IOVA, .out_iova = OUT_IOVA, .run = run,
	.refusal = refusal,
};

static struct trial t;

/* What hangs must not do so because the model refuses it, and readings must differ. */
static bool as_modelled(const struct rp_program *p)
{
	rp_try(&t, &npu, p);
	if (!p->run)
		return p->why_not && t.verdict == RP_NOT_RUN;
	return t.verdict == RP_AS_MODELLED && !t.ambiguous && !why == (p->kind != RP_REFUSED);
}

static const struct rp_program *find_program(const char *id)
{
	for (const struct rp_chapter *c = rp_chapters; c->name; c++) {
		for (const struct rp_program *p = c->programs; p->id; p++) {
			if (!strcmp(p->id, id))
				return p;
		}
	}
	return NULL;
}

static void differs(const char *id, const char *reading)
{
	const struct rp_program *p = find_program(id);

	if (p)
		rp_try(&t, &npu, p);
	report(p && t.verdict == RP_DIFFERS && strstr(t.text, reading), "%s differs: %s", id,
	       reading);
	if (p && !strstr(t.text, reading))
		printf("# %s\n", t.text);
}

static NpuEncoding encoding_of(uint32_t soc)
{
	switch (soc) {
	case 3576:
		return NPU_ENCODING_RK3576;
	case 3568:
		return NPU_ENCODING_RK3568;
	case 3562:
		return NPU_ENCODING_RK3562;
	default:
		return NPU_ENCODING_RK3588;
	}
}

/* What times are taken of. */
static void copies(void)
{
	rp_clear(&t);
	memset(&t, 0, sizeof(t));
	t.npu = &npu;
	rp_copy(&t, 8192, 4);
	for (unsigned int i = 0; i < RP_MEM; i++)
		npu.in[i] = i / 16 % 251 + i % 16;
	report(!run(&npu, t.entry, t.task, 1) && !memcmp(npu.in, npu.out, RP_MEM),
	       "a large copy");
}

int main(int argc, char **argv)
{
	verbose = argc > 1 && !strcmp(argv[1], "-v");
	printf("TAP version 13\n");
	for (const struct rp_chapter *c = rp_chapters; c->name; c++) {
		npu.soc = c->soc;
		options.encoding = encoding_of(c->soc);
		for (const struct rp_program *p = c->programs; p->id; p++) {
			if (p->kind == RP_NEEDS_CORE) {
				report(true, "%s # SKIP needs a core, not its arithmetic alone", p->id);
				continue;
			}
			report(as_modelled(p), "%s: %s", p->id, p->what);
			if (t.ambiguous)
				printf("# another reading gives the same\n");
			if (verbose || (t.verdict != RP_AS_MODELLED && !p->why_not))
				printf("# %s%s%s\n", t.text, why ? "; refused: " : "", why ? why :
				       "");
		}
	}
	copies();
	options.write_padding = false;
	differs("write-padding", "surfaces of padded channels alone are not written");
	options = (NpuTaskOptions){ .write_padding = true, .idle_ppu_rdma = true };
	differs("ppu-idle-rdma", "does no harm");
	/* Arithmetic alone has neither CBUF nor other cores, which is another reading, too. */
	differs("reuse", "DATA_REUSE by a task of another shape does nothing");
	differs("fc-data-bank", "FC_DATA_BANK changes nothing");
	differs("cores-meet", "bits 17:16 of the word that names the next task do nothing");
	printf("1..%u\n", tests);
	return failures != 0;
}
