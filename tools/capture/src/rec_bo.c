// SPDX-License-Identifier: MIT
/*
 * The recorder's idea of the client: its device files, their BOs, what the capture has of
 * each page, and where addresses lie.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/kcmp.h>

#include "drm.h"
#include "drm/rknpu_drm.h"
#include "drm/rocket_accel.h"
#include "rec.h"

struct rec_bo *rec_bos;

static struct rec_file *files;
static uint32_t next_file, next_bo;
/* Descriptors that are no NPU, so that they are asked only once. */
static unsigned char foreign[4096];

/* ---- files ---- */

static struct rec_file *file_known(int fd)
{
	for (struct rec_file *f = files; f; f = f->next) {
		for (size_t i = 0; i < sizeof(f->fd) / sizeof(f->fd[0]); i++) {
			if (f->fd[i] == fd)
				return f;
		}
	}
	return NULL;
}

static bool add_fd(struct rec_file *f, int fd)
{
	for (size_t i = 0; i < sizeof(f->fd) / sizeof(f->fd[0]); i++) {
		if (f->fd[i] < 0) {
			f->fd[i] = fd;
			return true;
		}
	}
	return false;
}

/* What makes another descriptor of a file is not intercepted; libdrm's users call it. */
static struct rec_file *file_dup(int fd)
{
	for (struct rec_file *f = files; f; f = f->next) {
		for (size_t i = 0; i < sizeof(f->fd) / sizeof(f->fd[0]); i++) {
			if (f->fd[i] >= 0 && !syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE,
						      (unsigned long)f->fd[i], (unsigned long)fd))
				return add_fd(f, fd) ? f : NULL;
		}
	}
	return NULL;
}

static bool drm_driver(int fd, struct rec_file *f)
{
	char name[32] = "";
	struct drm_version v = { .name_len = sizeof(name) - 1, .name = name };
	struct drm_rocket_get_param p = { .param = DRM_ROCKET_PARAM_FEATURES };

	if (rec_raw_ioctl(fd, DRM_IOCTL_VERSION, &v))
		return false;
	f->version[0] = v.version_major;
	f->version[1] = v.version_minor;
	f->version[2] = v.version_patchlevel;
	f->uapi = !strcmp(name, "rocket") ? CAP_ROCKET : CAP_VENDOR;
	f->numbers = f->uapi == CAP_ROCKET && !rec_raw_ioctl(fd, DRM_IOCTL_ROCKET_GET_PARAM, &p) &&
		     p.value & DRM_ROCKET_FEATURE_SUBMIT_EXT;
	return !strcmp(name, "rocket") || !strcmp(name, "rknpu");
}

static bool misc_driver(int fd, struct rec_file *f)
{
	struct drm_rknpu_action a = { .flags = DRM_RKNPU_GET_DRV_VERSION };

	if (!rec_raw_is_misc(fd))
		return false;
	f->uapi = CAP_VENDOR_MISC;
	if (!rec_raw_ioctl(fd, _IOWR('r', DRM_RKNPU_ACTION, struct drm_rknpu_action), &a)) {
		f->version[0] = (int)(a.value / 10000);
		f->version[1] = (int)(a.value / 100 % 100);
		f->version[2] = (int)(a.value % 100);
	}
	return true;
}

/* In-tree rocket and others that do not tell know no other chip than the RK3588. */
static const struct npu_chip *find_chip(int fd, const struct rec_file *f)
{
	struct drm_rknpu_action version = { .flags = DRM_RKNPU_GET_HW_VERSION };
	struct drm_rocket_get_param soc = { .param = DRM_ROCKET_PARAM_SOC };
	unsigned long req = DRM_IOCTL_RKNPU_ACTION;

	if (f->uapi == CAP_ROCKET)
		return rec_raw_ioctl(fd, DRM_IOCTL_ROCKET_GET_PARAM, &soc) ? &npu_rk3588 : npu_chip_of_soc(soc.value);
	if (f->uapi == CAP_VENDOR_MISC)
		req = _IOWR('r', DRM_RKNPU_ACTION, struct drm_rknpu_action);
	return rec_raw_ioctl(fd, req, &version) ? &npu_rk3588 : npu_chip_of_version(version.value);
}

/* Of others it is not known which registers have addresses, and where results are. */
static bool is_known(int fd, struct rec_file *f)
{
	static bool told;

	f->chip = find_chip(fd, f);
	if (cap_knows(f->chip))
		return true;
	if (!told)
		rec_complain("this NPU is no RK3588 or RK3576: its jobs cannot be recorded");
	told = true;
	return false;
}

static struct rec_file *file_new(int fd, bool misc)
{
	struct rec_file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	if (!(misc ? misc_driver(fd, f) : drm_driver(fd, f)) || !is_known(fd, f)) {
		free(f);
		return NULL;
	}
	f->id = REC_NONE;
	memset(f->fd, 0xff, sizeof(f->fd));
	f->fd[0] = fd;
	f->next = files;
	files = f;
	return f;
}

/* Only calls that the NPU's drivers have make a descriptor worth a look. */
static bool may_be_npu(unsigned long req)
{
	unsigned int nr = req & 0xff, type = req >> 8 & 0xff;

	if (type == 'r')
		return nr <= DRM_RKNPU_MEM_SYNC;
	return type == 'd' && nr >= DRM_COMMAND_BASE && nr < DRM_COMMAND_BASE + 0x30;
}

struct rec_file *rec_file_of(int fd, unsigned long req)
{
	struct rec_file *f = file_known(fd);
	int saved = errno;

	if (f || fd < 0 || (fd < (int)sizeof(foreign) && foreign[fd]) || !may_be_npu(req))
		return f;
	f = file_dup(fd);
	if (!f)
		f = file_new(fd, (req >> 8 & 0xff) == 'r');
	if (!f && fd < (int)sizeof(foreign))
		foreign[fd] = 1;
	errno = saved;
	return f;
}

static void file_free(struct rec_file *f)
{
	struct rec_file **at = &files;
	struct rec_bo *next;

	for (struct rec_bo *bo = rec_bos; bo; bo = next) {
		next = bo->next;
		if (bo->file == f)
			rec_bo_gone(bo);
	}
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	free(f);
}

static bool all_marked(const struct rec_file *f)
{
	for (size_t i = 0; i < sizeof(f->fd) / sizeof(f->fd[0]); i++) {
		if (f->fd[i] >= 0 && !rec_is_marked(f->fd[i]))
			return false;
	}
	return true;
}

void rec_files_unmap(void)
{
	for (struct rec_bo *bo = rec_bos; bo; bo = bo->next) {
		if (!bo->map || bo->file->users || !all_marked(bo->file))
			continue;
		munmap(bo->map, bo->size);
		bo->map = NULL;
	}
}

void rec_file_hold(struct rec_file *f)
{
	f->users++;
}

void rec_file_put(struct rec_file *f)
{
	if (!--f->users && f->closed)
		file_free(f);
}

void rec_file_close_from(int fd)
{
	struct rec_file *next;

	for (struct rec_file *f = files; f; f = next) {
		next = f->next;
		rec_file_hold(f);
		for (size_t i = 0; i < sizeof(f->fd) / sizeof(f->fd[0]); i++) {
			if (f->fd[i] >= fd)
				rec_file_close(f->fd[i]);
		}
		rec_file_put(f);
	}
}

void rec_file_close(int fd)
{
	struct rec_file *f = file_known(fd);
	bool open = false;

	if (fd >= 0 && fd < (int)sizeof(foreign))
		foreign[fd] = 0;
	if (!f)
		return;
	for (size_t i = 0; i < sizeof(f->fd) / sizeof(f->fd[0]); i++) {
		if (f->fd[i] == fd)
			f->fd[i] = -1;
		open |= f->fd[i] >= 0;
	}
	f->closed = !open;
	if (!open && !f->users)
		file_free(f);
}

/* ---- buffers ---- */

struct rec_bo *rec_bo_new(struct rec_file *f, uint32_t handle, uint64_t iova, uint64_t size)
{
	struct rec_bo *bo = calloc(1, sizeof(*bo)), **end = &rec_bos;

	if (!bo)
		return NULL;
	bo->file = f;
	bo->id = REC_NONE;
	bo->handle = handle;
	bo->iova = iova;
	bo->size = (size + CAP_PAGE - 1) & ~(uint64_t)(CAP_PAGE - 1);
	while (*end)
		end = &(*end)->next;
	*end = bo;
	return bo;
}

struct rec_bo *rec_bo_find(struct rec_file *f, uint32_t handle)
{
	struct rec_bo *bo = rec_bos;

	while (bo && (bo->file != f || bo->handle != handle))
		bo = bo->next;
	return bo;
}

struct rec_bo *rec_bo_by_obj(struct rec_file *f, uint64_t obj_addr)
{
	struct rec_bo *bo = rec_bos;

	while (bo && (bo->file != f || bo->obj_addr != obj_addr))
		bo = bo->next;
	return bo;
}

/* An address space is a file's with rocket, and a process's, per domain, with the vendor's. */
static bool same_space(const struct rec_bo *bo, const struct rec_file *f, uint32_t domain)
{
	if (f->uapi == CAP_ROCKET)
		return bo->file == f;
	return bo->file->uapi != CAP_ROCKET && bo->domain == domain;
}

struct rec_bo *rec_bo_at(struct rec_file *f, uint32_t domain, uint64_t iova)
{
	for (struct rec_bo *bo = rec_bos; bo; bo = bo->next) {
		/* The address of an imported one may not have been told yet. */
		if (bo->imported && !bo->iova)
			continue;
		if (iova >= bo->iova && iova - bo->iova < bo->size && same_space(bo, f, domain))
			return bo;
	}
	return NULL;
}

static uint64_t vendor_offset(struct rec_bo *bo, int fd)
{
	struct drm_rknpu_mem_map m = { .handle = bo->handle };

	return rec_raw_ioctl(fd, DRM_IOCTL_RKNPU_MEM_MAP, &m) ? 0 : m.offset;
}

static int any_fd(const struct rec_file *f)
{
	for (size_t i = 0; i < sizeof(f->fd) / sizeof(f->fd[0]); i++) {
		if (f->fd[i] >= 0)
			return f->fd[i];
	}
	return -1;
}

/* BOs come with their mapping, but for those that the vendor's DRM node made: these when they are needed. */
bool rec_bo_map(struct rec_bo *bo)
{
	int fd = any_fd(bo->file);
	uint64_t offset;

	if (bo->map || bo->imported || bo->file->uapi != CAP_VENDOR)
		return bo->map;
	offset = vendor_offset(bo, fd);
	if (offset)
		bo->map = rec_raw_mmap(bo->size, fd, offset);
	return bo->map;
}

void rec_bo_gone(struct rec_bo *bo)
{
	struct cap_bo_gone gone = { .bo = bo->id };
	struct rec_bo **at = &rec_bos;

	if (bo->id != REC_NONE)
		rec_put(CAP_BO_GONE, &gone, sizeof(gone));
	for (struct rec_bo *b = rec_bos; b; b = b->next) {
		size_t kept = 0;

		for (size_t i = 0; i < b->nrelocs; i++) {
			if (b->reloc[i].target != bo)
				b->reloc[kept++] = b->reloc[i];
		}
		b->nrelocs = kept;
	}
	while (*at != bo)
		at = &(*at)->next;
	*at = bo->next;
	if (bo->map)
		munmap(bo->map, bo->size);
	free(bo->hash);
	free(bo->reloc);
	free(bo);
}

/* ---- relocations ---- */

/* The first relocation at or behind an offset. */
static size_t reloc_at(const struct rec_bo *bo, uint64_t offset)
{
	size_t lo = 0, hi = bo->nrelocs;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (bo->reloc[mid].offset < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void rec_bo_reloc(struct rec_bo *bo, uint64_t offset, uint64_t word, struct rec_bo *target,
		  uint64_t target_offset)
{
	struct rec_reloc new = { offset, word, target_offset, target, false };
	size_t i = reloc_at(bo, offset);

	if (i < bo->nrelocs && bo->reloc[i].offset == offset) {
		struct rec_reloc *r = &bo->reloc[i];

		if (r->word == word && r->target == target && r->target_offset == target_offset)
			return;
		*r = new;
		return;
	}
	if (bo->nrelocs == bo->room) {
		size_t room = bo->room ? bo->room * 2 : 64;
		struct rec_reloc *grown = realloc(bo->reloc, room * sizeof(*grown));

		if (!grown)
			return;
		bo->reloc = grown;
		bo->room = room;
	}
	memmove(&bo->reloc[i + 1], &bo->reloc[i], (bo->nrelocs - i) * sizeof(new));
	bo->reloc[i] = new;
	bo->nrelocs++;
}

/* Takes addresses out of a copy of a page, and forgets those that are no longer there. */
static void strip_addresses(struct rec_bo *bo, uint64_t offset, uint8_t *page)
{
	size_t i = reloc_at(bo, offset), kept = i;

	for (; i < bo->nrelocs && bo->reloc[i].offset < offset + CAP_PAGE; i++) {
		uint8_t *at = page + (bo->reloc[i].offset - offset);
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		if (word != bo->reloc[i].word)
			continue;
		word &= ~CAP_VALUE_BITS;
		memcpy(at, &word, sizeof(word));
		bo->reloc[kept++] = bo->reloc[i];
	}
	if (kept == i)
		return;
	memmove(&bo->reloc[kept], &bo->reloc[i], (bo->nrelocs - i) * sizeof(bo->reloc[0]));
	bo->nrelocs -= i - kept;
}

static void tell_again(struct rec_bo *bo, uint64_t offset)
{
	for (size_t i = reloc_at(bo, offset);
	     i < bo->nrelocs && bo->reloc[i].offset < offset + CAP_PAGE; i++)
		bo->reloc[i].told = false;
}

void rec_bo_tell_relocs(struct rec_bo *bo)
{
	for (size_t i = 0; i < bo->nrelocs; i++) {
		struct rec_reloc *r = &bo->reloc[i];
		struct cap_reloc l = {
			.bo = bo->id, .target = r->target->id, .offset = r->offset,
			.target_offset = r->target_offset,
		};

		if (r->told || r->target->id == REC_NONE)
			continue;
		rec_put(CAP_RELOC, &l, sizeof(l));
		r->told = true;
	}
}

/* ---- contents ---- */

void rec_file_tell(struct rec_file *f)
{
	struct cap_file file = {
		f->uapi, (uint32_t)f->version[0], (uint32_t)f->version[1], (uint32_t)f->version[2], f->chip->soc, 0,
	};

	if (f->id != REC_NONE)
		return;
	f->id = next_file++;
	rec_put(CAP_FILE, &file, sizeof(file));
}

bool rec_bo_tell(struct rec_bo *bo)
{
	static const uint8_t zeros[CAP_PAGE];
	struct cap_bo b = { .size = bo->size };
	uint64_t zero_hash[2];

	if (bo->id != REC_NONE)
		return bo->hash;
	bo->hash = calloc(bo->size / CAP_PAGE, sizeof(*bo->hash));
	if (!bo->hash)
		return false;
	cap_hash(zeros, sizeof(zeros), zero_hash);
	for (uint64_t i = 0; i < bo->size / CAP_PAGE; i++)
		memcpy(bo->hash[i], zero_hash, sizeof(zero_hash));
	rec_file_tell(bo->file);
	b.file = bo->file->id;
	bo->id = next_bo++;
	rec_put(CAP_BO, &b, sizeof(b));
	return true;
}

void rec_bo_scan(struct rec_bo *bo)
{
	uint8_t page[CAP_PAGE];
	uint64_t hash[2];

	if (!rec_bo_tell(bo) || !rec_bo_map(bo))
		return;
	for (uint64_t off = 0; off < bo->size; off += CAP_PAGE) {
		uint64_t *known = bo->hash[off / CAP_PAGE];
		struct cap_write w = { .bo = bo->id, .offset = off };

		/* Copied first: another thread may write while this one looks. */
		memcpy(page, bo->map + off, CAP_PAGE);
		strip_addresses(bo, off, page);
		cap_hash(page, CAP_PAGE, hash);
		if (!memcmp(hash, known, sizeof(hash)))
			continue;
		memcpy(known, hash, sizeof(hash));
		w.content = rec_out_content(page, CAP_PAGE, hash);
		rec_put(CAP_WRITE, &w, sizeof(w));
		tell_again(bo, off);
	}
}

void rec_forget_all(void)
{
	next_file = next_bo = 0;
	for (struct rec_file *f = files; f; f = f->next)
		f->id = REC_NONE;
	for (struct rec_bo *bo = rec_bos; bo; bo = bo->next) {
		bo->id = REC_NONE;
		free(bo->hash);
		bo->hash = NULL;
		for (size_t i = 0; i < bo->nrelocs; i++)
			bo->reloc[i].told = false;
	}
}
