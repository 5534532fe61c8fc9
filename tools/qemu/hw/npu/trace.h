/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trace events of the RK3588 NPU subsystem. */
#include "trace/trace-hw_npu.h"
