/* SPDX-License-Identifier: MIT */
/*
 * What the files of the recorded client share.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "chip/npu_chip.h"
#include "npu_prog.h"

void client_die(const char *what, int err);
void client_fill(uint8_t *map, size_t size, int seed);
struct npu_bo *client_alloc(struct npu_dev *dev, size_t size, int seed);
/* Of small integers; its result has 512 bytes. The program is of npu_prog_new_for(). */
void client_product(struct npu_prog *p, uint64_t in, uint64_t weights, uint64_t out);

/* Over /dev/rknpu, or the file that CLIENT_MISC names. */
void client_misc(void);

/* ---- queue_client.c, over rocket ---- */

/* Does the driver number jobs? */
bool client_has_numbers(void);
/* A job that names no BOs. */
void client_unlisted(void);
/* A job that fails and one that does not: only then it asks how those that wrote the BO ended. */
void client_failed(void);
/* A job that waits for a fence, one that waits for that job, and only then the fence signals. On the host. */
void client_late(void);

#endif /* CLIENT_H */
