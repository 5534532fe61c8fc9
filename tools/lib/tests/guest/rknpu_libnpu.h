/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests of libnpu's recordings share: a fixture with a device of either uAPI.
 */
#ifndef RKNPU_LIBNPU_H
#define RKNPU_LIBNPU_H

#include <stdlib.h>
#include <string.h>

#include "npu.h"
#include "rknpu_harness.h"
#include "rknpu_ioctls.h"

#define WAIT_NS		(60000 * RK_MS)
/* What one chain can have. */
#define LIBNPU_CHAIN_TASKS	4095u

/* The same numbers in each run of a program (Marsaglia's xorshift). */
static inline uint32_t libnpu_rnd(void)
{
	static uint32_t state = 0x2545f491;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

/* A half from -1/32 to 1/32; conversions are slow where matrices are large. */
static inline uint16_t libnpu_small_half(void)
{
	static uint16_t half[4096];

	for (int i = half[0] ? 4096 : 0; i < 4096; i++)
		half[i] = npu_f32_to_f16((float)(i - 2048) / (2048 * 32));
	return half[libnpu_rnd() % 4096];
}

static inline int libnpu_open(const char *uapi, struct npu_dev **dev)
{
	setenv("NPU_UAPI", uapi, 1);
	return npu_open(NULL, dev);
}

/* FIXTURE() with a device, in variants of both uAPIs. */
#define LIBNPU_FIXTURE(name)						\
	FIXTURE(name) {							\
		struct npu_dev *dev;					\
	};								\
	FIXTURE_VARIANT(name) {						\
		const char *uapi;					\
	};								\
	FIXTURE_VARIANT_ADD(name, rocket) { .uapi = "rocket" };		\
	FIXTURE_VARIANT_ADD(name, vendor) { .uapi = "rknpu" };		\
	FIXTURE_SETUP(name)						\
	{								\
		int ret = libnpu_open(variant->uapi, &self->dev);	\
									\
		if (ret)						\
			SKIP(return, "no node %s: %s", variant->uapi, strerror(-ret)); \
		rk_model_calm();					\
		if (!rk_ours())						\
			SKIP(return, "another driver knows no cores and tells no tasks"); \
	}								\
	FIXTURE_TEARDOWN(name)						\
	{								\
		rk_model_calm();					\
		npu_close(self->dev);					\
	}

static inline bool libnpu_is_vendor(const char *uapi)
{
	return !strcmp(uapi, "rknpu");
}

/*
 * Runs @rec in one ioctl per address space that it enters, or over the vendor's interface one per
 * stage, and per chain of a core in it, where fences of the one before are merged for the next one;
 * with one start of the hardware and one interrupt per chain.
 */
static inline void libnpu_run_counted(struct __test_metadata *_metadata, struct npu_rec *rec,
				      const char *uapi)
{
	long long irqs = rk_cores_stat("irqs"), tasks = rk_cores_stat("tasks");
	uint64_t kicks = rk_count_all_jobs(NPU_CNT_KICK);
	struct npu_rec_info info = npu_rec_info(rec);
	unsigned int calls;

	ioctls = 0;
	ASSERT_EQ(0, npu_rec_run(rec)) TH_LOG("%s", npu_rec_message(rec));
	calls = ioctls;
	ASSERT_EQ(0, npu_rec_wait(rec, WAIT_NS));
	EXPECT_EQ(info.chains, rk_cores_stat("irqs") - irqs);
	EXPECT_EQ(info.chains, rk_count_all_jobs(NPU_CNT_KICK) - kicks);
	EXPECT_EQ(info.tasks, rk_cores_stat("tasks") - tasks);
	if (libnpu_is_vendor(uapi))
		EXPECT_LE(info.stages, calls);
	if (!libnpu_is_vendor(uapi) || (info.stages == 1 && info.tasks <= LIBNPU_CHAIN_TASKS))
		EXPECT_EQ(info.submits, calls);
}

#endif /* RKNPU_LIBNPU_H */
