/* SPDX-License-Identifier: GPL-2.0-only */
/* A compiled network on librknnrt, with inputs made from a seed and outputs as floats. */
#ifndef RKNN_NET_H
#define RKNN_NET_H

#include "rknnrt.h"

#define NET_TENSORS 32

struct net_stats {
	float low;
	float high;
	double mean;
};

struct net {
	rt_context ctx;
	struct rt_num num;
	struct rt_tensor in[NET_TENSORS];
	struct rt_tensor out[NET_TENSORS];
	void *input[NET_TENSORS];
	struct net_stats stats[NET_TENSORS];
	/* Fills an input in place of the seed's numbers; or NULL. */
	void (*fill)(struct net *n, uint32_t i, void *to, unsigned int seed);
	/* Inputs from these files instead, which hold what rknn_inputs_set() takes; or NULL. */
	const char *const *files;
	/* Each output as it comes; or NULL. */
	void (*output)(struct net *n, uint32_t i, const float *v);
	struct rt_mem *in_mem[NET_TENSORS];
	struct rt_mem *out_mem[NET_TENSORS];
};

/* Are its numbers given as floats, or as bytes? */
bool net_is_float(const struct rt_tensor *t);

/* All return RT_PASS, or tell why not and return RT_FAIL or RT_SKIP. */
int net_open(struct net *n, const char *path, uint32_t flags);
/* A second context of the same network. */
int net_dup(struct net *n, struct net *of);
int net_close(struct net *n);
/* Makes the inputs of a seed, without giving them to the library; gives them to it; both. */
int net_fill(struct net *n, unsigned int seed);
int net_give(struct net *n);
int net_inputs(struct net *n, unsigned int seed);
/* Waits for the outputs; their hash. */
int net_outputs(struct net *n, uint64_t *hash);
int net_run(struct net *n, unsigned int seed, uint64_t *hash);
/* Gives the network memory that @make makes for all inputs and outputs, and runs it there. */
int net_set_memory(struct net *n, struct rt_mem *(*make)(struct net *n, uint32_t bytes), const char *whose);
/* @by_fd: it was made of a dma-buf, whose caches are the caller's business. */
int net_run_memory(struct net *n, unsigned int seed, bool by_fd, uint64_t *hash);

#endif
