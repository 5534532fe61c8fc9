// SPDX-License-Identifier: GPL-2.0-only
/* Owns processes that do the same thing at the same time. */
#include <errno.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknpu_crew.h"

static void be_member(const struct rk_crew *crew, int i, int order, int result)
{
	int ret = crew->begin(crew->arg, i), n;

	while (write(result, &ret, sizeof(ret)) == sizeof(ret) &&
	       read(order, &n, sizeof(n)) == sizeof(n))
		ret = ret ?: crew->work(crew->arg, n);
	_exit(0);
}

static int add_member(struct rk_crew *crew)
{
	int i = crew->members, order[2], result[2];

	if (pipe(order) || pipe(result))
		return -errno;
	switch (fork()) {
	case -1:
		return -errno;
	case 0:
		close(order[1]);
		close(result[0]);
		/* Those of the others would keep them waiting for the end. */
		for (int k = 0; k < i; k++)
			close(crew->order[k]);
		be_member(crew, i, order[0], result[1]);
	}
	close(order[0]);
	close(result[1]);
	crew->order[i] = order[1];
	crew->result[i] = result[0];
	crew->members++;
	return 0;
}

static int results(const struct rk_crew *crew)
{
	int ret = 0, one;

	for (int i = 0; i < crew->members; i++) {
		if (read(crew->result[i], &one, sizeof(one)) != sizeof(one))
			one = -EPIPE;
		ret = ret ?: one;
	}
	return ret;
}

int rk_crew_start(struct rk_crew *crew, int members)
{
	int ret = 0;

	crew->members = 0;
	while (crew->members < members && !ret)
		ret = add_member(crew);
	return results(crew) ?: ret;
}

int rk_crew_work(struct rk_crew *crew, int n)
{
	for (int i = 0; i < crew->members; i++) {
		if (write(crew->order[i], &n, sizeof(n)) != sizeof(n))
			return -EPIPE;
	}
	return results(crew);
}

void rk_crew_end(struct rk_crew *crew)
{
	for (int i = 0; i < crew->members; i++) {
		close(crew->order[i]);
		close(crew->result[i]);
	}
	while (wait(NULL) > 0)
		;
}
