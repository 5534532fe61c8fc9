// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model's test interface and a few actions of a client, for scripts.
 *
 * tool of: scripts, which it tells what the model counts
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_util.h"

static int usage(void)
{
	fprintf(stderr,
		"usage: rknpu_model present   exit 0 if there is a model\n"
		"       rknpu_model get N     counter N of each core\n"
		"       rknpu_model powered   state of each core's power domain\n"
		"       rknpu_model calm      disarm faults, clear the latency\n"
		"       rknpu_model node      path of the device node\n"
		"       rknpu_model job       run a job, check its result\n"
		"       rknpu_model three     the same on three cores at once\n"
		"       rknpu_model hold MS   keep the device busy for MS, then say what became of it\n"
		"       rknpu_model chain N MS  N jobs of MS, each after the last; checked and counted\n"
		"       rknpu_model work MS   keep the device busy for MS and check every result\n"
		"       rknpu_model slow MS   run a job that takes so long\n"
		"       rknpu_model hang      leave a hung job behind\n"
		"       rknpu_model stuck N   hang up to N cores so that no reset ends it, and say how their jobs end\n");
	return 2;
}

static int print_counter(unsigned int c)
{
	if (!rk_model() || c >= NPU_CNT_NUM)
		return 1;
	for (int i = 0; i < RK_CORES; i++)
		printf("%s%llu", i ? " " : "", (unsigned long long)rk_count(i, c));
	printf("\n");
	return 0;
}

static int report(const char *what, int ret)
{
	printf("%s %s\n", what, ret ? rk_errno_name(-ret) : "0");
	fflush(stdout);
	return ret ? 1 : 0;
}

static int run_job(void)
{
	struct rk_client c;
	int ret = rk_client_init(&c);

	if (!ret)
		ret = rk_client_run(&c, 17);
	return report("job", ret);
}

static int run_three(void)
{
	int fd = rk_open();

	return report("three", fd < 0 ? fd : rk_run_on_every_core(fd, 2));
}

/* Jobs are ended before the device says that it is gone. */
static int create_until_gone(int fd)
{
	uint32_t handle;
	int ret;

	for (int i = 0; i < 100; i++) {
		ret = rk_create_bo(fd, RK_PAGE, &handle);
		if (ret)
			break;
		rk_gem_close(fd, handle);
		rk_sleep_ms(100);
	}
	return ret;
}

/* Says "ready" with jobs in flight on the device, and later how they ended. */
static int hold(unsigned int ms)
{
	struct rk_client c;
	int ret = rk_client_init(&c);

	rk_latency_us(100000);
	for (unsigned int i = 0; i < 20 * rk_slow() && !ret; i++) {
		/* The same program in the same place: there is no room for so many. */
		c.inc.used = RK_OP_PROG;
		ret = rk_submit_op(&c.inc, &c.in, &c.out);
	}
	report("ready", ret);
	rk_sleep_ms(ms);
	report("prep", rk_prep(&c.out, 5000));
	report("create", create_until_gone(c.fd));
	report("submit", rk_submit_op(&c.inc, &c.in, &c.out));
	/* The CPU's view of the memory outlives the device. */
	c.out.map[0] = 1;
	rk_latency_us(0);
	rk_client_fini(&c);
	return report("closed", 0);
}

/* Waits, and -EILSEQ if what is there is not what it should be. */
static int check_bytes(struct rk_bo *bo, int value)
{
	long differs = rk_bo_differs(bo, value, RK_BYTES);

	return differs > 0 ? -EILSEQ : differs;
}

/* Queues jobs and checks them, over and over; how many rounds is printed. */
static int work(unsigned int ms)
{
	int64_t end = rk_now() + ms * RK_MS;
	struct rk_client c;
	int rounds = 0, ret = rk_client_init(&c);

	rk_latency_us(10000);
	for (int v = 0; !ret && rk_now() < end; v = (v + 1) % 100, rounds++) {
		ret = rk_bo_fill(&c.in, v, RK_BYTES);
		for (int i = 0; i < 10 && !ret; i++) {
			struct drm_rocket_task t;

			c.inc.used = RK_OP_PROG;
			ret = rk_op_task(&c.inc, c.in.iova, c.out.iova, &t);
			if (!ret)
				ret = rk_submit_task(c.fd, &t, &c.in, &c.out);
		}
		if (!ret)
			ret = check_bytes(&c.out, v + 1);
	}
	rk_latency_us(0);
	rk_client_fini(&c);
	printf("rounds %d\n", rounds);
	return report("work", ret);
}

/*
 * @n jobs that each need the one before, from one buffer to the other and back:
 * says "queued" when the first is over, then how they ended and what the model
 * saw of the rest.
 */
static int chain(int n, unsigned int ms)
{
	struct drm_rocket_task t[2];
	uint64_t power_ups;
	struct rk_client c;
	int ret = rk_client_init(&c);

	if (!ret)
		ret = rk_op_task(&c.inc, c.in.iova, c.out.iova, &t[0]);
	if (!ret)
		ret = rk_op_task(&c.inc, c.out.iova, c.in.iova, &t[1]);
	if (!ret)
		ret = rk_bo_fill(&c.in, -n / 2, RK_BYTES);
	rk_latency_us(1000 * ms);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	for (int i = 0; i < n && !ret; i++)
		ret = rk_submit_task(c.fd, &t[i % 2], i % 2 ? &c.out : &c.in, i % 2 ? &c.in : &c.out);
	/* A core may have been powered before. */
	while (!ret && !rk_count_all(NPU_CNT_TASK_DONE))
		rk_sleep_ms(1);
	power_ups = rk_count_all(NPU_CNT_POWER_ON);
	report("queued", ret);
	if (!ret)
		ret = check_bytes(n % 2 ? &c.out : &c.in, n - n / 2);
	printf("tasks %llu\n", (unsigned long long)rk_count_all(NPU_CNT_TASK_DONE));
	power_ups = rk_count_all(NPU_CNT_POWER_ON) - power_ups;
	printf("power_ups %llu\n", (unsigned long long)power_ups);
	rk_latency_us(0);
	rk_client_fini(&c);
	return report("chain", ret);
}

/* One job that takes @ms: says "queued" when it runs, then how it ended and how many tasks did. */
static int slow(unsigned int ms)
{
	struct rk_client c;
	int ret = rk_client_init(&c);

	rk_latency_us(1000 * ms);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	if (!ret)
		ret = rk_bo_fill(&c.in, 20, RK_BYTES);
	if (!ret)
		ret = rk_submit_op(&c.inc, &c.in, &c.out);
	while (!ret && !rk_count_all(NPU_CNT_BUSY) && !rk_count_all(NPU_CNT_TASK_DONE))
		rk_sleep_ms(1);
	report("queued", ret);
	if (!ret)
		ret = rk_prep(&c.out, 120000);
	if (!ret)
		ret = check_bytes(&c.out, 21);
	printf("tasks %llu\n", (unsigned long long)rk_count_all(NPU_CNT_TASK_DONE));
	rk_latency_us(0);
	rk_client_fini(&c);
	return report("slow", ret);
}

static int hang(void)
{
	struct rk_client c;
	int ret = rk_client_init(&c);

	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 1);
	if (!ret)
		ret = rk_submit_op(&c.inc, &c.in, &c.out);
	rk_sleep_ms(30);
	return report("hang", ret);
}

/* On @n cores, or all: says "queued" when they hang, and then nothing but a power cut ends it. */
static int stuck(unsigned int n)
{
	struct rk_client c[RK_CORES] = { };
	int ret = 0, fd = rk_open();
	uint32_t fired = rk_fault_fired();
	unsigned int cores;

	if (fd < 0)
		return report("queued", fd);
	cores = __builtin_popcount(rk_param(fd, DRM_ROCKET_PARAM_CORE_MASK));
	if (n > cores)
		n = cores;
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, n);
	for (unsigned int i = 0; i < n && !ret; i++) {
		ret = rk_client_init_on(&c[i], fd);
		if (!ret)
			ret = rk_submit_op(&c[i].inc, &c[i].in, &c[i].out);
	}
	while (!ret && rk_fault_fired() < fired + n)
		rk_sleep_ms(1);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_RESET_STUCK, 0, 0);
	report("queued", ret);
	for (unsigned int i = 0; i < n && !ret; i++)
		report("prep", rk_prep(&c[i].out, 120000));
	/* Jobs may end before their cores are back, which is not to be made easy. */
	rk_sleep_ms(500);
	rk_model_calm();
	close(fd);
	return report("stuck", ret);
}

static int print_node(void)
{
	int fd = rk_open();

	if (fd < 0)
		return 1;
	puts(rk_path());
	return 0;
}

int main(int argc, char **argv)
{
	const char *cmd = argc > 1 ? argv[1] : "";

	if (!strcmp(cmd, "present"))
		return !rk_model();
	if (!strcmp(cmd, "get") && argc == 3)
		return print_counter(atoi(argv[2]));
	if (!strcmp(cmd, "powered"))
		return print_counter(NPU_CNT_POWERED);
	if (!strcmp(cmd, "calm"))
		return rk_model_calm(), 0;
	if (!strcmp(cmd, "node"))
		return print_node();
	if (!strcmp(cmd, "job"))
		return run_job();
	if (!strcmp(cmd, "three"))
		return run_three();
	if (!strcmp(cmd, "hold") && argc == 3)
		return hold(atoi(argv[2]));
	if (!strcmp(cmd, "work") && argc == 3)
		return work(atoi(argv[2]));
	if (!strcmp(cmd, "chain") && argc == 4)
		return chain(atoi(argv[2]), atoi(argv[3]));
	if (!strcmp(cmd, "slow") && argc == 3)
		return slow(atoi(argv[2]));
	if (!strcmp(cmd, "hang"))
		return hang();
	if (!strcmp(cmd, "stuck") && argc == 3)
		return stuck(atoi(argv[2]));
	return usage();
}
