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

#endif /* RKNPU_LIBNPU_H */
