// SPDX-License-Identifier: MIT
/*
 * Replaces npu_dev.c and npu_submit.c: buffers live in this process and jobs are executed at
 * submission by interpreting their register programs.
 *
 * Written from the register and layout descriptions, not from the builder, in
 * the plainest way: element by element, no speed.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xf86drm.h>

#include "drm/rocket_accel.h"
#include "npu_compute.h"
#include "npu_vendor.h"
#include "sim.h"
#include "sim_model.h"

#define MAX_BOS		16384
#define PAGE		4096u
#define RESULTS		64u
#define MOST_JOBS	64u

/* Memory, which several address spaces may have. */
struct memory {
	uint8_t *at;
	size_t size;
	unsigned int refs;
	int err;			/* of the last job that wrote it */
	struct memory *next;		/* in the model's memory */
};

/* What a handle stands for, in one address space. */
struct slot {
	struct memory *mem;
	uint64_t iova;
};

/* An address space: the one of npu_open(), or another one. */
struct npu_dev {
	int fd;
	struct slot bo[MAX_BOS];
	int slots;			/* that were ever in use */
	uint64_t next_iova;
	uint64_t bytes;
	struct npu_stats stats;
	struct npu_spaces spaces;
	struct npu_kept_bo *bos;
	uint64_t jobs;
	struct drm_rocket_wait_job result[RESULTS];	/* of the newest jobs */
};

/* Above those of the process. */
#define FIRST_FD	1000
#define MAX_DEVS	32

static struct npu_dev *devs[MAX_DEVS];
static uint64_t most_bytes;
/* Memory behind the dma-bufs that are open, by their fd. */
static struct memory *exported[64];

unsigned int sim_submits;
unsigned int sim_jobs, sim_tasks, sim_starts, sim_shared_outputs, sim_depth;
static uint64_t features;
static int hang_task = -1;
static int fail_index = -1, fail_err, busy_times, live_bos;
static uint32_t reg[0x8000 / 4];

void sim_fail_job(int index, int err)
{
	fail_index = index;
	fail_err = err;
}

void sim_features(uint64_t f)
{
	features = f;
}

void sim_hang_task(int index)
{
	hang_task = index;
}

void sim_stay_busy(int times)
{
	busy_times = times;
}

int sim_bos(void)
{
	return live_bos;
}

void sim_space_bytes(uint64_t bytes)
{
	most_bytes = bytes;
}

static struct npu_dev *new_space(void)
{
	struct npu_dev *dev = calloc(1, sizeof(*dev));

	dev->next_iova = PAGE;
	for (int i = 0; i < MAX_DEVS; i++) {
		if (devs[i])
			continue;
		dev->fd = FIRST_FD + i;
		devs[i] = dev;
		return dev;
	}
	abort();
}

static void free_space(struct npu_dev *dev)
{
	devs[dev->fd - FIRST_FD] = NULL;
	free(dev);
}

int npu_open(const char *path, struct npu_dev **out)
{
	(void)path;
	*out = new_space();
	(*out)->spaces.dev[0] = *out;
	(*out)->spaces.n = 1;
	return 0;
}

int npu_dev_open_space(struct npu_dev *dev, uint32_t number, struct npu_dev **out)
{
	(void)dev;
	(void)number;
	*out = new_space();
	return 0;
}

void npu_close(struct npu_dev *dev)
{
	for (uint32_t i = 1; i < dev->spaces.n; i++)
		free_space(dev->spaces.dev[i]);
	free_space(dev);
}

struct npu_spaces *npu_dev_spaces(struct npu_dev *dev)
{
	return &dev->spaces;
}

struct npu_kept_bo **npu_dev_bos(struct npu_dev *dev)
{
	return &dev->bos;
}

uint32_t npu_dev_domain(const struct npu_dev *dev)
{
	(void)dev;
	return 0;
}

/* By default it knows no more than mainline's driver. */
uint64_t npu_dev_features(const struct npu_dev *dev)
{
	(void)dev;
	return features;
}

bool npu_can_batch(const struct npu_dev *dev)
{
	return npu_dev_features(dev) & DRM_ROCKET_FEATURE_BATCHED;
}

struct npu_stats *npu_dev_stats(struct npu_dev *dev)
{
	return &dev->stats;
}

bool npu_is_vendor(const struct npu_dev *dev)
{
	(void)dev;
	return false;
}

static int wait_job(struct npu_dev *dev, struct drm_rocket_wait_job *w)
{
	if (busy_times > 0) {
		busy_times--;
		return w->timeout_ns ? -ETIMEDOUT : -EBUSY;
	}
	if (!w->job || dev->result[w->job % RESULTS].job != w->job)
		return -ENOENT;
	*w = dev->result[w->job % RESULTS];
	return 0;
}

static int prep(const struct slot *s, int64_t deadline)
{
	if (busy_times > 0) {
		busy_times--;
		return deadline ? -ETIMEDOUT : -EBUSY;
	}
	return s->mem->err;
}

static int get_info(const struct npu_dev *dev, struct drm_rocket_bo_info *info)
{
	const struct slot *s = &dev->bo[info->handle];

	info->dma_address = s->iova;
	info->size = s->mem->size;
	return 0;
}

static int answer(struct npu_dev *dev, unsigned long req, void *arg)
{
	struct drm_rocket_prep_bo_ranges *ranges = arg;

	switch (req) {
	case DRM_IOCTL_ROCKET_WAIT_JOB:
		return wait_job(dev, arg);
	case DRM_IOCTL_ROCKET_PREP_BO_RANGES:
		return prep(&dev->bo[ranges->handle], ranges->timeout_ns);
	case DRM_IOCTL_ROCKET_FINI_BO_RANGES:
		return 0;
	case DRM_IOCTL_ROCKET_GET_BO_INFO:
		return get_info(dev, arg);
	default:
		return -ENOTTY;
	}
}

/* In libdrm's place. */
int drmIoctl(int fd, unsigned long req, void *arg)
{
	int ret = answer(devs[fd - FIRST_FD], req, arg);

	if (!ret)
		return 0;
	errno = -ret;
	return -1;
}

int npu_fd(const struct npu_dev *dev)
{
	return dev->fd;
}

const char *npu_path(const struct npu_dev *dev)
{
	(void)dev;
	return "simulator";
}

int npu_version(const struct npu_dev *dev, struct npu_version *v)
{
	(void)dev;
	memset(v, 0, sizeof(*v));
	return 0;
}

int64_t npu_deadline(int64_t timeout_ns)
{
	return timeout_ns;
}

static size_t pages(size_t size)
{
	return (size + PAGE - 1) / PAGE * PAGE;
}

/* What is in use of the model's memory, by address. */
static struct memory *placed;

/* Zeroed, in the first gap of the model's memory; false if none is large enough. */
static bool new_memory(struct npu_dev *dev, struct memory *new)
{
	struct memory **place = &placed;
	uint32_t base, limit;
	uint8_t *start, *from;

	if (!sim_model_memory) {
		new->at = calloc(1, new->size);
		return true;
	}
	start = from = sim_model_memory(&base, &limit);
	while (*place && (size_t)((*place)->at - from) < new->size) {
		from = (*place)->at + pages((*place)->size);
		place = &(*place)->next;
	}
	if ((size_t)(from - start) + pages(new->size) > limit)
		return false;
	new->at = memset(from, 0, new->size);
	new->next = *place;
	*place = new;
	/* Spaces have no addresses in common. */
	dev->next_iova = base + (uint64_t)(from - start);
	return true;
}

static void free_memory(struct memory *mem)
{
	struct memory **place = &placed;

	if (!sim_model_memory) {
		free(mem->at);
		return;
	}
	while (*place != mem)
		place = &(*place)->next;
	*place = mem->next;
}

/* The handle, or -ENOMEM. The model has no address spaces: what is shared keeps its address. */
static int add_slot(struct npu_dev *dev, struct memory *mem, uint64_t model_iova)
{
	for (int i = 0; i < MAX_BOS; i++) {
		if (dev->bo[i].mem)
			continue;
		dev->bo[i] = (struct slot){ mem, model_iova ? model_iova : dev->next_iova };
		if (!model_iova)
			dev->next_iova += (mem->size + PAGE - 1) / PAGE * PAGE;
		if (i >= dev->slots)
			dev->slots = i + 1;
		dev->bytes += mem->size;
		mem->refs++;
		live_bos++;
		return i;
	}
	return -ENOMEM;
}

static uint64_t iova_of(const struct memory *mem)
{
	for (int d = 0; d < MAX_DEVS; d++)
		for (int i = 0; devs[d] && i < devs[d]->slots; i++)
			if (devs[d]->bo[i].mem == mem)
				return devs[d]->bo[i].iova;
	return 0;
}

int npu_bo_alloc(struct npu_dev *dev, size_t size, struct npu_bo **out)
{
	struct memory *mem;
	struct npu_bo *bo;

	if (most_bytes && dev->bytes + size > most_bytes)
		return -ENOSPC;
	mem = calloc(1, sizeof(*mem));
	mem->size = size;
	if (!new_memory(dev, mem)) {
		free(mem);
		return -ENOMEM;
	}
	bo = calloc(1, sizeof(struct npu_kept_bo));
	bo->dev = dev;
	bo->iova = dev->next_iova;
	bo->handle = (uint32_t)add_slot(dev, mem, 0);
	bo->map = mem->at;
	bo->size = size;
	if ((int)bo->handle < 0)
		abort();
	npu_bo_keep(bo);
	*out = bo;
	return 0;
}

static void put_memory(struct memory *mem)
{
	if (--mem->refs)
		return;
	free_memory(mem);
	free(mem);
}

void npu_bo_free(struct npu_bo *bo)
{
	struct slot *s;

	if (!bo || !npu_bo_unref(bo))
		return;
	s = &bo->dev->bo[bo->handle];
	bo->dev->bytes -= s->mem->size;
	put_memory(s->mem);
	s->mem = NULL;
	free(bo);
	live_bos--;
}

void *npu_bo_map(struct npu_bo *bo)
{
	bo->map = bo->dev->bo[bo->handle].mem->at;
	return bo->map;
}

int npu_bo_prep_until(struct npu_bo *bo, int64_t deadline)
{
	return prep(&bo->dev->bo[bo->handle], deadline);
}

/* In libdrm's place. */
int drmPrimeHandleToFD(int fd, uint32_t handle, uint32_t flags, int *prime)
{
	(void)flags;
	*prime = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (*prime < 0 || *prime >= (int)ARRAY_SIZE(exported))
		abort();
	exported[*prime] = devs[fd - FIRST_FD]->bo[handle].mem;
	return 0;
}

int drmPrimeFDToHandle(int fd, int prime, uint32_t *handle)
{
	struct npu_dev *dev = devs[fd - FIRST_FD];
	struct memory *mem = exported[prime];
	int slot = 0;

	/* A file has one handle of a memory. */
	while (slot < dev->slots && dev->bo[slot].mem != mem)
		slot++;
	if (slot == dev->slots)
		slot = add_slot(dev, mem, sim_model_memory ? iova_of(mem) : 0);
	*handle = (uint32_t)slot;
	return slot < 0 ? -1 : 0;
}

int npu_bo_prep(struct npu_bo *bo, int64_t timeout_ns)
{
	return npu_bo_prep_until(bo, npu_deadline(timeout_ns));
}

int npu_bo_fini(struct npu_bo *bo)
{
	(void)bo;
	return 0;
}

/* ---- the NPU ---- */

static bool faulted;

static uint8_t *at(struct npu_dev *dev, uint64_t iova, size_t len)
{
	static uint8_t hole[16];
	static int last;

	/* Mostly it is where the one before was. */
	for (int n = 0; n < dev->slots; n++) {
		int i = (last + n) % dev->slots;
		const struct slot *s = &dev->bo[i];

		if (s->mem && iova >= s->iova && iova + len <= s->iova + s->mem->size) {
			last = i;
			return s->mem->at + (iova - s->iova);
		}
	}
	faulted = true;
	return hole;
}

static uint32_t f(uint32_t off, int hi, int lo)
{
	return (uint32_t)(reg[off / 4] >> lo & ((UINT64_C(1) << (hi - lo + 1)) - 1));
}

static int32_t sext(uint32_t v, int bits)
{
	return (int32_t)(v << (32 - bits)) >> (32 - bits);
}

static double element(const uint8_t *p, uint32_t prec)
{
	uint16_t h;

	if (prec == 0)
		return (int8_t)*p;
	memcpy(&h, p, 2);
	return npu_f16_to_f32(h);
}

static double feature(struct npu_dev *dev, int64_t y, int64_t x, uint32_t c)
{
	uint32_t prec = f(0x100c, 6, 4), bpe = prec ? 2 : 1, c2 = 16 / bpe;
	int64_t wd = f(0x1084, 29, 16), line = f(0x107c, 27, 0);
	int64_t s = sext(f(0x1080, 27, 0), 28), pos;

	if (y < 0 || x < 0 || y >= f(0x1020, 10, 0) || x >= f(0x1020, 26, 16))
		return prec ? npu_f16_to_f32((uint16_t)f(0x1184, 15, 0))
			    : (int8_t)f(0x1184, 7, 0);
	pos = y / 4 * line + y % 4 * wd + c / c2 * (4 * wd + s) + x;
	return element(at(dev, (uint64_t)(reg[0x1070 / 4] + pos * 16 + c % c2 * bpe), bpe), prec);
}

static double weight(struct npu_dev *dev, uint32_t n, uint32_t tap, uint32_t c)
{
	uint32_t prec = f(0x100c, 6, 4), bpe = prec ? 2 : 1, kg = prec ? 16 : 32;
	uint32_t taps = f(0x1038, 28, 24) * f(0x1038, 20, 16), C = f(0x1024, 15, 0);
	uint32_t n0 = n / kg * kg, c0 = c / 32 * 32;
	uint32_t group = f(0x1038, 13, 0) - n0 < kg ? f(0x1038, 13, 0) - n0 : kg;
	uint32_t chans = C - c0 < 32 ? C - c0 : 32;
	uint64_t el;

	el = (uint64_t)n0 * taps * C + (uint64_t)c0 * taps * group;
	el += ((uint64_t)tap * group + (n - n0)) * chans + (c - c0);
	return element(at(dev, reg[0x1110 / 4] + el * bpe, bpe), prec);
}

static double accumulate(struct npu_dev *dev, uint32_t oy, uint32_t ox, uint32_t n)
{
	uint32_t kw = f(0x1038, 28, 24), kh = f(0x1038, 20, 16);
	int32_t ow = f(0x4050, 1, 1) ? 0 : sext(f(0x4054, 15, 0), 16);
	double acc = 0;

	for (uint32_t ky = 0; ky < kh; ky++)
		for (uint32_t kx = 0; kx < kw; kx++)
			for (uint32_t c = 0; c < f(0x1024, 15, 0); c++) {
				int64_t y = (int64_t)oy * f(0x1014, 5, 3) - f(0x1068, 3, 0) +
					    ky * (f(0x1014, 25, 21) + 1);
				int64_t x = (int64_t)ox * f(0x1014, 2, 0) - f(0x1068, 7, 4) +
					    kx * (f(0x1014, 20, 16) + 1);

				acc += feature(dev, y, x, c) *
				       (weight(dev, n, ky * kw + kx, c) + ow);
			}
	return acc;
}

/* round(v / 2^s), ties to even, by the definition. */
static int64_t scaled(int64_t v, uint32_t s)
{
	int64_t d = INT64_C(1) << s, q = v / d, r = v % d;

	if (r < 0) {
		r += d;
		q--;
	}
	if (2 * r > d || (2 * r == d && q % 2))
		q++;
	return q;
}

/* ---- the LUT ---- */

static int16_t lut[2][513];
static uint32_t lut_access;

static void write_lut(uint16_t off, uint32_t v)
{
	if (off == 0x4100)
		lut_access = v;
	if (off != 0x4104 || !(lut_access >> 17 & 1) || (lut_access & 0x3ff) > 512)
		return;
	lut[lut_access >> 16 & 1][lut_access & 0x3ff] = (int16_t)v;
	lut_access++;
}

/* An index of @start + 512 steps, between two entries; beyond the ends the last one. */
static double look_up(int32_t index)
{
	int32_t le = (int32_t)reg[0x4110 / 4], lo = (int32_t)reg[0x4118 / 4];
	uint32_t id = index >= lo, shift = id ? f(0x410c, 23, 16) : f(0x410c, 15, 8);
	int32_t at = index - (id ? lo : le), i = at >> shift;

	if (at < 0)
		return lut[id][0];
	if (i >= 512)
		return lut[id][512];
	return lut[id][i] + (double)(lut[id][i + 1] - lut[id][i]) * (at & ((1 << shift) - 1)) /
			    (1 << shift);
}

static double through_lut(double v)
{
	float mul = npu_f16_to_f32((uint16_t)f(0x4068, 31, 16)), add;

	memcpy(&add, &reg[0x4064 / 4], 4);
	if (f(0x4060, 0, 0) || f(0x4060, 1, 1) || f(0x4060, 4, 4) || f(0x4060, 19, 16) != 2)
		return NAN;
	v = rint((float)((float)(v * mul) + add));
	v = look_up((int32_t)(v > 1e9 ? 1e9 : v < -1e9 ? -1e9 : v));
	return ldexp(floor(v + 0.5) + (int32_t)reg[0x4080 / 4], -(int)f(0x4088, 19, 12));
}

static bool has_lut(void)
{
	return !f(0x4070, 0, 0) && !f(0x4070, 7, 7);
}

static size_t convert(struct npu_dev *dev, double acc, uint32_t n, uint8_t out[4])
{
	bool bs = !f(0x4040, 0, 0), add = bs && !f(0x4040, 1, 1) && f(0x4040, 8, 8) &&
		  f(0x501c, 1, 1);
	uint32_t prec = f(0x4010, 31, 29);
	int32_t i32, bias;
	float f32;
	uint16_t f16;
	int64_t y;

	if (add && f(0x4010, 2, 0) == 2) {
		memcpy(&f32, at(dev, reg[0x5020 / 4] + n * 4, 4), 4);
		acc = (float)acc + f32;
	} else if (add) {
		memcpy(&bias, at(dev, reg[0x5020 / 4] + n * 4, 4), 4);
		acc += bias;
	}
	if (bs && !f(0x4040, 6, 6) && acc < 0)
		acc = 0;
	if (has_lut())
		acc = through_lut((float)acc);
	if (prec == 4) {
		i32 = (int32_t)(int64_t)acc;
		memcpy(out, &i32, 4);
		return 4;
	}
	if (prec == 5) {
		f32 = (float)acc;
		memcpy(out, &f32, 4);
		return 4;
	}
	if (prec == 2) {
		f16 = npu_f32_to_f16((float)acc);
		memcpy(out, &f16, 2);
		return 2;
	}
	y = (int64_t)acc;
	y = scaled(y * f(0x4084, 15, 0), f(0x4088, 11, 0)) + (int32_t)reg[0x4080 / 4];
	out[0] = (uint8_t)(int8_t)(y > 127 ? 127 : y < -128 ? -128 : y);
	return 1;
}

static void store(struct npu_dev *dev, uint32_t y, uint32_t x, uint32_t n, const uint8_t *v,
		  size_t bytes)
{
	uint32_t ce = (uint32_t)(16 / bytes), e = f(0x4050, 4, 2) + 1;
	uint64_t a = reg[0x4020 / 4];

	a += (uint64_t)(n / (ce * e)) * reg[0x40c0 / 4];
	a += (uint64_t)(n / ce % e) * reg[0x4024 / 4];
	a += ((uint64_t)y * (f(0x4030, 12, 0) + 1 + f(0x4038, 12, 0)) + x) * 16;
	a += n % ce * bytes;
	memcpy(at(dev, a, bytes), v, bytes);
}

static void run_conv(struct npu_dev *dev)
{
	uint8_t v[4];

	for (uint32_t y = 0; y <= f(0x4034, 12, 0); y++)
		for (uint32_t x = 0; x <= f(0x4030, 12, 0); x++)
			for (uint32_t n = 0; n <= f(0x403c, 12, 0); n++) {
				size_t bytes = convert(dev, accumulate(dev, y, x, n), n, v);

				store(dev, y, x, n, v, bytes);
			}
}

/* An element of a cube of W positions by surfaces of 16 bytes. */
static double cube_element(struct npu_dev *dev, uint64_t base, uint64_t pitch, uint32_t pos,
			   uint32_t c, uint32_t prec)
{
	uint32_t bytes = prec == 2 ? 2 : 4, lanes = 16 / bytes;
	const uint8_t *p = at(dev, base + c / lanes * pitch + pos * 16 + c % lanes * bytes, bytes);
	int32_t i;
	float v;

	if (prec == 2)
		return element(p, 2);
	memcpy(&i, p, 4);
	memcpy(&v, p, 4);
	return prec == 4 ? i : v;
}

static double operate(double a, double b)
{
	if (f(0x4070, 2, 2))
		return a * b;
	switch (f(0x4070, 19, 16)) {
	case 0:
		return a > b ? a : b;
	case 1:
		return a < b ? a : b;
	case 2:
		return a + b;
	default:
		return a - b;
	}
}

static void put_number(double v, uint32_t prec, uint8_t out[4])
{
	int32_t i = (int32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
	float f32 = (float)v;
	uint16_t h = npu_f32_to_f16(f32);

	memcpy(out, prec == 2 ? (void *)&h : prec == 4 ? (void *)&i : (void *)&f32,
	       prec == 2 ? 2 : 4);
}

/* MRDMA's cube against ERDMA's, or against one position of it. */
static void run_flying(struct npu_dev *dev)
{
	uint32_t prec = f(0x4010, 2, 0), w = f(0x500c, 12, 0) + 1, c_end = f(0x5014, 12, 0) + 1;
	uint64_t pitch = w * 16 + (reg[0x504c / 4] & ~15u), ew_pitch = reg[0x5040 / 4] & ~15u;
	bool per_channel = !f(0x5034, 31, 30);
	uint8_t v[4];

	if (has_lut()) {
		faulted |= !f(0x5034, 0, 0) || !f(0x4070, 1, 1) || prec != 2;
		for (uint32_t x = 0; x < w; x++)
			for (uint32_t c = 0; c < c_end; c++) {
				put_number(through_lut(cube_element(dev, reg[0x5018 / 4], pitch, x,
								    c, prec)), prec, v);
				store(dev, 0, x, c, v, 2);
			}
		return;
	}
	if (f(0x4070, 29, 28) != f(0x5034, 31, 30) || f(0x4070, 23, 22) != f(0x5034, 3, 2) ||
	    f(0x5034, 3, 2) != (prec == 2 ? 2 : 3) || f(0x4010, 28, 26) != prec ||
	    f(0x5044, 7, 5) != prec || f(0x5044, 17, 15) != prec)
		faulted = true;
	if (!per_channel && reg[0x506c / 4] && w * 16 + reg[0x506c / 4] != ew_pitch)
		faulted = true;
	for (uint32_t x = 0; x < w; x++)
		for (uint32_t c = 0; c < c_end; c++) {
			double a = cube_element(dev, reg[0x5018 / 4], pitch, x, c, prec);
			double b = cube_element(dev, reg[0x5038 / 4], ew_pitch,
						per_channel ? 0 : x, c, prec);

			put_number(operate(a, b), prec, v);
			store(dev, 0, x, c, v, prec == 2 ? 2 : 4);
		}
}

static void run_enabled(struct npu_dev *dev, const struct npu_task *t, uint32_t blocks)
{
	const uint8_t *prog = at(dev, t->regcmd, t->count * 8);

	if (sim_model_run)
		faulted |= !sim_model_run((const uint64_t *)(const void *)prog, t->count);
	else if ((blocks & ~(1u << 4)) == 0x0d)
		run_conv(dev);
	else if (blocks == 0x18)
		run_flying(dev);
	else
		faulted = true;
}

/* What the program says comes next; count 0 if nothing does. */
static struct npu_task run_task(struct npu_dev *dev, struct npu_task t)
{
	struct npu_task next = { 0 };

	sim_tasks++;
	for (uint32_t i = 0; i < t.count; i++) {
		uint64_t e;
		uint16_t tgt, off;

		memcpy(&e, at(dev, t.regcmd + i * 8, 8), 8);
		tgt = (uint16_t)(e >> 48);
		off = (uint16_t)e;
		if (tgt == 0x0101 && off == 0x10)
			next.regcmd = (uint32_t)(e >> 16);
		/* Pairs of entries, less one. */
		if (tgt == 0x0101 && off == 0x14 && next.regcmd)
			next.count = 2 * (((uint32_t)(e >> 16) & 0xffff) + 1);
		if (tgt == 0x0081) {
			if (!faulted)
				run_enabled(dev, &t, (uint32_t)(e >> 16));
			return next;
		}
		if (tgt > 1 && tgt != 0x0041 && off < 0x8000)
			reg[off / 4] = (uint32_t)(e >> 16);
		write_lut(off, (uint32_t)(e >> 16));
	}
	faulted = true;
	return next;
}

/* Tasks done before something went wrong. */
static uint32_t run_job(struct npu_dev *dev, const struct npu_hwjob *job, bool chained, int hangs)
{
	struct npu_task t = job->tasks[0];

	for (uint32_t i = 0; i < job->ntasks; i++) {
		if (hangs == (int)i)
			return i;
		if (!chained)
			t = job->tasks[i];
		sim_starts += !chained || !i;
		/* A chain that ends too soon never gets to its end. */
		if (!t.count)
			return i;
		t = run_task(dev, t);
		if (faulted || (!chained && t.count))
			return i;
	}
	/* Nothing stops a chain that goes on. */
	return t.count && chained ? 0 : job->ntasks;
}

static int submit_one(struct npu_dev *dev, const struct npu_hwjob *job, bool chained, uint32_t index,
		      int hangs, bool fails)
{
	uint64_t number = dev->jobs + 1 + index;
	uint32_t tasks;
	int err = 0;

	sim_jobs++;
	faulted = false;
	tasks = run_job(dev, job, chained, hangs);
	if (tasks < job->ntasks)
		err = faulted ? -EFAULT : -ETIME;
	if (fails)
		err = fail_err;
	dev->result[number % RESULTS] = (struct drm_rocket_wait_job){
		.job = number, .error = err, .core = (int)(1 + index) % 3, .task = tasks,
	};
	for (uint32_t o = 0; o < job->nout; o++)
		dev->bo[job->out[o]->handle].mem->err = err;
	return err;
}

static bool lists(struct npu_bo *const *bo, uint32_t n, const struct npu_bo *one)
{
	for (uint32_t i = 0; i < n; i++)
		if (bo[i] == one)
			return true;
	return false;
}

/* As drm_rocket_job says. */
static bool waits_for(const struct npu_hwjob *job, const struct npu_hwjob *before)
{
	for (uint32_t i = 0; i < job->nout; i++)
		if (lists(before->out, before->nout, job->out[i]) ||
		    lists(before->in, before->nin, job->out[i]))
			return true;
	for (uint32_t i = 0; i < job->nin; i++)
		if (lists(before->out, before->nout, job->in[i]))
			return true;
	return false;
}

static void note_depth(const struct npu_hwjob *jobs, uint32_t njobs)
{
	unsigned int depth[MOST_JOBS];

	sim_depth = 0;
	for (uint32_t i = 0; i < njobs && i < MOST_JOBS; i++) {
		depth[i] = 1;
		for (uint32_t k = 0; k < i; k++)
			if (waits_for(&jobs[i], &jobs[k]) && depth[k] >= depth[i])
				depth[i] = depth[k] + 1;
		sim_depth = depth[i] > sim_depth ? depth[i] : sim_depth;
	}
}

/* The last one that need not wait: who relies on more than what jobs list gets wrong results. */
static uint32_t next_job(const struct npu_hwjob *jobs, uint32_t njobs, const bool *done)
{
	for (uint32_t i = njobs - 1;; i--) {
		bool ready = !done[i];

		for (uint32_t k = 0; k < i && ready; k++)
			ready = done[k] || !waits_for(&jobs[i], &jobs[k]);
		if (ready)
			return i;
	}
}

static void forget_faults(const struct npu_hwjob *jobs, uint32_t njobs)
{
	int tasks = 0;

	for (uint32_t i = 0; i < njobs; i++)
		tasks += (int)jobs[i].ntasks;
	hang_task = hang_task >= tasks ? hang_task - tasks : -1;
	fail_index = fail_index >= (int)njobs ? fail_index - (int)njobs : -1;
}

static int submit(struct npu_dev *dev, const struct npu_hwjob *jobs,
		  const struct npu_job_opts *opts, uint32_t njobs)
{
	bool *done = calloc(njobs, sizeof(*done));

	sim_submits++;
	note_depth(jobs, njobs);
	for (uint32_t n = 0; n < njobs; n++) {
		uint32_t i = next_job(jobs, njobs, done);
		int hangs = hang_task;

		for (uint32_t k = 0; k < i; k++) {
			hangs -= (int)jobs[k].ntasks;
			for (uint32_t o = 0; o < jobs[i].nout; o++)
				sim_shared_outputs += jobs[k].out[0] == jobs[i].out[o];
		}
		submit_one(dev, &jobs[i], opts && opts[i].flags & DRM_ROCKET_JOB_BATCHED, i, hangs,
			   fail_index == (int)i);
		done[i] = true;
	}
	free(done);
	dev->jobs += njobs;
	forget_faults(jobs, njobs);
	return 0;
}

int npu_submit(struct npu_dev *dev, const struct npu_hwjob *jobs, uint32_t njobs)
{
	return submit(dev, jobs, NULL, njobs);
}

int npu_submit_ext(struct npu_dev *dev, const struct npu_hwjob *jobs,
		   const struct npu_job_opts *opts, uint32_t njobs, uint64_t *first)
{
	*first = features & DRM_ROCKET_FEATURE_SUBMIT_EXT ? dev->jobs + 1 : 0;
	return submit(dev, jobs, opts, njobs);
}
