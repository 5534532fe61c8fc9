// SPDX-License-Identifier: MIT
/*
 * Records a submit: its programs with the addresses in them, the BOs that those reach as
 * they are before, and what the job has changed in the BOs that its results go to.
 *
 * Where results go is read from the registers; how much is written is not, because
 * silicon and model may disagree about just that. The whole BO is compared instead. BOs
 * that no program and no list names are left out: another thread may fill them meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "npu_regs.h"
#include "rec.h"

void rec_submit_begin(void)
{
	for (struct rec_bo *bo = rec_bos; bo; bo = bo->next)
		bo->use = 0;
}

void rec_submit_use(struct rec_bo *bo, uint32_t use)
{
	if (bo)
		bo->use |= use;
}

static void append(struct rec_job *j, const void *data, size_t size)
{
	uint8_t *grown = realloc(j->bytes, j->size + size);

	if (!grown) {
		j->good = false;
		return;
	}
	memcpy(grown + j->size, data, size);
	j->bytes = grown;
	j->size += size;
}

void rec_job_head(struct rec_job *j, uint32_t slices, uint32_t flags)
{
	struct cap_job job = { slices, flags };

	append(j, &job, sizeof(job));
}

/* The lowest core is the one that runs it, where each has programs of its own (uapi/drm/rocket_accel.h). */
void rec_job_slice(struct rec_job *j, const struct rec_file *f, uint32_t cores, uint32_t tasks)
{
	uint32_t mask = cores ? cores : f->chip->core_mask;
	struct cap_slice s = { .tasks = tasks, .core_mask = f->chip->core_mask ? mask & -mask : 0 };

	append(j, &s, sizeof(s));
}

/*
 * Addresses are below 4 GiB whatever was added to them. In-tree rocket hands out address 0,
 * so an unused register that holds 0 counts as an address there, which does no harm; but as
 * the next program's, 0 ends a chain.
 */
static void note_address(struct rec_bo *bo, uint64_t offset, struct rec_file *f, uint32_t domain,
			 uint64_t base, uint64_t word)
{
	uint32_t value = CAP_ENTRY_VALUE(word) & cap_address_mask(f->chip, word);
	bool program = CAP_ENTRY_REG(word) == NPU_OFF_PC_BASE_ADDRESS;
	uint32_t iova = value + (program ? 0 : (uint32_t)base & ~15u);
	struct rec_bo *target = program && !iova ? NULL : rec_bo_at(f, domain, iova);

	if (!target)
		return;
	rec_submit_use(target, CAP_USE_READ);
	if (cap_is_destination(f->chip, word))
		rec_submit_use(target, CAP_USE_WRITE);
	rec_bo_reloc(bo, offset, word, target, iova - target->iova);
}

void rec_job_task(struct rec_job *j, struct rec_file *f, uint32_t domain, uint64_t base,
		  uint64_t regcmd, uint32_t entries, struct cap_image *im)
{
	struct rec_bo *bo = rec_bo_at(f, domain, regcmd);
	struct cap_task task;
	const uint64_t *entry;
	uint32_t n;

	if (!bo || !rec_bo_map(bo) || regcmd % 8 || !entries ||
	    entries > (bo->size - (regcmd - bo->iova)) / 8) {
		j->good = false;
		im->next = 0;
		return;
	}
	if (!rec_bo_tell(bo)) {
		j->good = false;
		return;
	}
	task = (struct cap_task) {
		.bo = bo->id, .entries = entries, .offset = regcmd - bo->iova,
	};
	entry = (const void *)(bo->map + task.offset);
	rec_submit_use(bo, CAP_USE_READ);
	n = cap_image_run(im, entry, entries);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t word = entry[i];

		if (cap_address_mask(f->chip, word))
			note_address(bo, task.offset + i * UINT64_C(8), f, domain, base, word);
	}
	append(j, &task, sizeof(task));
}

uint32_t rec_job_chain(struct rec_job *j, struct rec_file *f, uint32_t domain, uint64_t base,
		       uint64_t regcmd, uint32_t entries, uint32_t n)
{
	struct cap_image im = { .chip = f->chip };
	uint32_t i = 0;

	while (i < n && j->good) {
		rec_job_task(j, f, domain, base, regcmd, entries, &im);
		i++;
		if (!im.next || !im.next_entries)
			break;
		regcmd = im.next;
		entries = im.next_entries;
	}
	return i;
}

void rec_submit_before(void)
{
	for (struct rec_bo *bo = rec_bos; bo; bo = bo->next) {
		if (bo->use)
			rec_bo_scan(bo);
	}
	/* Only now all of them have numbers. */
	for (struct rec_bo *bo = rec_bos; bo; bo = bo->next) {
		if (bo->use)
			rec_bo_tell_relocs(bo);
	}
}

void rec_submit_tell(struct rec_file *f, const struct rec_job *j, uint32_t jobs)
{
	struct cap_submit s = { .jobs = jobs };
	struct rec_job head = { .good = true };

	rec_file_tell(f);
	s.file = f->id;
	for (struct rec_bo *bo = rec_bos; bo; bo = bo->next) {
		struct cap_use use = { bo->id, bo->use };

		if (!bo->use || bo->id == REC_NONE)
			continue;
		s.uses++;
		append(&head, &use, sizeof(use));
	}
	append(&head, j->bytes, j->size);
	if (head.good)
		rec_put2(CAP_SUBMIT, &s, sizeof(s), head.bytes, head.size);
	else
		rec_complain("out of memory: a submit is missing");
	free(head.bytes);
}

void rec_submit_after(int status, bool known)
{
	struct cap_done done = { status, known ? 0 : CAP_DONE_UNKNOWN };

	for (struct rec_bo *bo = rec_bos; bo && known; bo = bo->next) {
		if (bo->use & CAP_USE_WRITE)
			rec_bo_scan(bo);
	}
	for (struct rec_bo *bo = rec_bos; bo && known; bo = bo->next) {
		if (bo->use & CAP_USE_WRITE)
			rec_bo_tell_relocs(bo);
	}
	rec_put(CAP_DONE, &done, sizeof(done));
}
