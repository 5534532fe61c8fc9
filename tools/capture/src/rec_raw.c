// SPDX-License-Identifier: MIT
/*
 * What the recorder asks the kernel for without being intercepted by itself.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rec.h"

/* Weak, as the next one: a test has its own. */
int __attribute__((weak)) rec_raw_ioctl(int fd, unsigned long req, void *arg)
{
	return (int)syscall(SYS_ioctl, fd, req, arg);
}

bool __attribute__((weak)) rec_raw_is_misc(int fd)
{
	char link[64], path[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return !strcmp(path, "/dev/rknpu");
}

void *rec_raw_mmap(uint64_t size, int fd, uint64_t offset)
{
	void *p = mmap64(NULL, size, PROT_READ, MAP_SHARED, fd, (off64_t)offset);

	return p == MAP_FAILED ? NULL : p;
}

int rec_raw_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

int rec_raw_dup3(int from, int to, int flags)
{
	return (int)syscall(SYS_dup3, from, to, flags);
}

int rec_raw_close_range(unsigned int first, unsigned int last, int flags)
{
	return (int)syscall(__NR_close_range, first, last, flags);
}

/* Kernels without cross memory attach read nothing for anybody. */
bool rec_copy(void *to, uint64_t from, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)from, size };
	ssize_t n;

	if (!size)
		return true;
	n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	if (n < 0 && errno == ENOSYS) {
		memcpy(to, remote.iov_base, size);
		return true;
	}
	return n == (ssize_t)size;
}
