/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for the driver and the NPU in one process, for unit tests.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>

/* Make the driver job with this index, counted from now, end with @err. */
void sim_fail_job(int index, int err);

/* DRM_ROCKET_FEATURE_* that the driver has from now on; none at first. */
void sim_features(uint64_t features);

/* Whose NPU it is from now on, DRM_ROCKET_PARAM_SOC; 3588 at first. */
void sim_soc(uint32_t soc);

/* The task with this index, counted from now in the order of submission, never ends. */
void sim_hang_task(int index);

/* Report buffers and jobs as busy this many times before jobs are done. */
void sim_stay_busy(int times);

/* The device is unbound from now on, or is not: ioctls end with -ENODEV, but for those that free. */
void sim_unplug(bool gone);

/* WAIT_JOB ends with this error from now on, or with 0 works again. */
void sim_refuse_wait(int err);

/*
 * From now on jobs run when somebody waits for what they write, as on a slow NPU of in-tree rocket; or with
 * SUBMIT_EXT for what they list, as on ours.
 */
void sim_late(bool late);

/* The next job is told to have run twice. */
void sim_rerun(void);

/* The submission with this index, counted from now, is refused with @err; and @times in all. */
void sim_refuse_submit(int index, int err);
void sim_refuse_submits(int index, int times, int err);

/* What DRM_ROCKET_PARAM_* tells from now on; of a submit and its jobs, more is refused. */
void sim_limit(uint32_t param, uint64_t value);

/* Bytes that FINI_BO_RANGES has handed to the NPU, which cost the caller as much. */
uint64_t sim_handed(void);

/* Buffers alive, to catch leaks the sanitizer can't see. */
int sim_bos(void);

/* More in one address space is refused; 0 = no limit. */
void sim_space_bytes(uint64_t bytes);

/* Submissions since the start. */
extern unsigned int sim_submits;

/* Driver jobs and tasks executed since the start. */
extern unsigned int sim_jobs, sim_tasks;

/* Times that the hardware was started: for each task, or once for a chain. */
extern unsigned int sim_starts;

/* Of the last submission: the most jobs of which each has to wait for the one before. */
extern unsigned int sim_depth;

/* Of the last job, cores that may run it; of all, those that any did. */
extern uint32_t sim_core_mask, sim_core_masks;

/* Jobs that shared an output buffer with another one of the same submission. */
extern unsigned int sim_shared_outputs;

#endif /* SIM_H */
