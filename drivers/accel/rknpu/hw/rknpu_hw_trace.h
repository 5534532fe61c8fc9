/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the tracepoints of the hardware: power, address spaces, resets, faults, the clock. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rknpu

#if !defined(__RKNPU_HW_TRACE_H__) || defined(TRACE_HEADER_MULTI_READ)
#define __RKNPU_HW_TRACE_H__

#include <linux/tracepoint.h>

TRACE_EVENT(rknpu_power,
	TP_PROTO(unsigned int core, bool on),
	TP_ARGS(core, on),
	TP_STRUCT__entry(
		__field(u32, core)
		__field(bool, on)
	),
	TP_fast_assign(
		__entry->core = core;
		__entry->on = on;
	),
	TP_printk("core=%u on=%d", __entry->core, __entry->on)
);

/* @domain: rknpu_domain::id; see rknpu_scrub for when it is the driver's own. */
TRACE_EVENT(rknpu_attach,
	TP_PROTO(unsigned int core, u64 domain, int error),
	TP_ARGS(core, domain, error),
	TP_STRUCT__entry(
		__field(u32, core)
		__field(u64, domain)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->core = core;
		__entry->domain = domain;
		__entry->error = error;
	),
	TP_printk("core=%u domain=%llu error=%d", __entry->core, __entry->domain, __entry->error)
);

/* On-chip memory was overwritten, before another client's domain is attached. */
TRACE_EVENT(rknpu_scrub,
	TP_PROTO(unsigned int core, u64 elapsed),
	TP_ARGS(core, elapsed),
	TP_STRUCT__entry(
		__field(u32, core)
		__field(u64, elapsed)
	),
	TP_fast_assign(
		__entry->core = core;
		__entry->elapsed = elapsed;
	),
	TP_printk("core=%u elapsed_ns=%llu", __entry->core, __entry->elapsed)
);

TRACE_EVENT(rknpu_reset,
	TP_PROTO(unsigned int core, int error),
	TP_ARGS(core, error),
	TP_STRUCT__entry(
		__field(u32, core)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->core = core;
		__entry->error = error;
	),
	TP_printk("core=%u error=%d", __entry->core, __entry->error)
);

TRACE_EVENT(rknpu_fault,
	TP_PROTO(unsigned int core, u64 domain, u64 iova, bool write),
	TP_ARGS(core, domain, iova, write),
	TP_STRUCT__entry(
		__field(u32, core)
		__field(u64, domain)
		__field(u64, iova)
		__field(bool, write)
	),
	TP_fast_assign(
		__entry->core = core;
		__entry->domain = domain;
		__entry->iova = iova;
		__entry->write = write;
	),
	TP_printk("core=%u domain=%llu iova=%#llx write=%d", __entry->core, __entry->domain,
		  __entry->iova, __entry->write)
);

TRACE_EVENT(rknpu_clock,
	TP_PROTO(unsigned long hz, int error),
	TP_ARGS(hz, error),
	TP_STRUCT__entry(
		__field(u64, hz)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->hz = hz;
		__entry->error = error;
	),
	TP_printk("hz=%llu error=%d", __entry->hz, __entry->error)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH hw
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE rknpu_hw_trace
#include <trace/define_trace.h>
