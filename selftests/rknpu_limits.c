// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much memory BOs may take: of a user, of all, and of a machine that has no more.
 *
 * boot: memory
 * boot: noiommujob
 * boot: debug-ext
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define MIB		(1u << 20)
#define PARAMETERS	"/sys/module/rknpu_accel/parameters/"
#define USER_PERCENT	"max_user_memory_percent"
#define ALL_PERCENT	"max_memory_percent"
#define MAX_BOS		2048
#define SOMEBODY	1001
#define SOMEBODY_ELSE	1002

/* What it was, or a negative errno. */
static int set_number(const char *path, int value)
{
	FILE *f = fopen(path, "r+e");
	int old = -EIO;

	if (!f)
		return -errno;
	if (fscanf(f, "%d", &old) == 1) {
		rewind(f);
		fprintf(f, "%d\n", value);
	}
	return fclose(f) ? -errno : old;
}

static int set_percent(const char *name, int percent)
{
	char path[128];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	return set_number(path, percent);
}

/* How many BOs of 1 MiB the file got; the error that ended it. */
static int fill(int fd, int *err)
{
	uint32_t handle;
	int n;

	for (n = 0; n < MAX_BOS; n++) {
		*err = rk_create_bo(fd, MIB, &handle);
		if (*err)
			break;
	}
	return n;
}

/* What counts beside a BO, in whole pages: one, and 40 bytes for each of its own. */
static uint64_t beside(uint64_t size)
{
	return (1 + size / RK_PAGE * 40 / RK_PAGE) * RK_PAGE;
}

/* The same beside a file, with the directory of its address space. */
#define FILE_TABLES	(RK_FILE_BYTES + RK_PAGE)
/* One for so many BOs in an address space. */
#define BOS_PER_PAGE	8

/*
 * Does @bytes of BOs and @tables of page tables and the like reach @limit, so that no BO of
 * 1 MiB more and the three pages that this may need fit?
 */
static bool is_full(uint64_t limit, uint64_t bytes, uint64_t tables)
{
	uint64_t all = bytes + tables;

	if (all <= limit && limit < all + MIB + beside(MIB) + 3 * RK_PAGE)
		return true;
	printf("# %llu + %llu of %llu bytes\n", (unsigned long long)bytes,
	       (unsigned long long)tables, (unsigned long long)limit);
	return false;
}

#define REQUIRE_PAGES()								\
	do {									\
		if (rk_no_iommu())						\
			SKIP(return, "no page tables, and no contiguous memory for all that"); \
	} while (0)

FIXTURE(limits) {
	int fd;
	int other;
	int user_percent;
	int all_percent;
	long long bytes;
	long long tables;
};

FIXTURE_SETUP(limits)
{
	uint64_t v;

	RK_OPEN_OR_SKIP(self->fd);
	if (!rk_ours() || rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_USER_MEMORY, 0, &v))
		SKIP(return, "no limits here");
	self->user_percent = set_percent(USER_PERCENT, 65);
	self->all_percent = set_percent(ALL_PERCENT, 75);
	if (self->user_percent < 0 || self->all_percent < 0)
		SKIP(return, "needs root");
	close(self->fd);
	self->fd = rk_open_as(SOMEBODY, rk_open);
	ASSERT_LE(0, self->fd);
	self->other = rk_open_as(SOMEBODY_ELSE, rk_open);
	ASSERT_LE(0, self->other);
	/* Whoever was before may take a moment to go. */
	ASSERT_TRUE(rk_stat_settles("vms", 2));
	self->bytes = rk_stat("bo_bytes");
	ASSERT_LE(0, self->bytes);
	/* Directories are the IOMMU's. */
	self->tables = rk_stat("table_bytes");
	ASSERT_EQ(2 * (rk_no_iommu() ? RK_FILE_BYTES : FILE_TABLES), self->tables);
}

FIXTURE_TEARDOWN(limits)
{
	rk_model_calm();
	close(self->fd);
	close(self->other);
	set_percent(USER_PERCENT, self->user_percent);
	set_percent(ALL_PERCENT, self->all_percent);
	EXPECT_TRUE(rk_stat_settles("bo_bytes", self->bytes));
}

RK_TEST_F(limits, scale_with_memory,
	  "the limits are shares of the machine's memory that parameters set")
{
	uint64_t file, all, total = sysconf(_SC_PHYS_PAGES) * (uint64_t)RK_PAGE;

	REQUIRE_PAGES();
	ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_USER_MEMORY, 0, &file));
	ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_DEVICE_MEMORY, 0, &all));
	EXPECT_EQ(total / RK_PAGE * 65 / 100 * RK_PAGE, file);
	EXPECT_EQ(total / RK_PAGE * 75 / 100 * RK_PAGE, all);
	ASSERT_EQ(65, set_percent(USER_PERCENT, 1000));
	ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_USER_MEMORY, 0, &file));
	EXPECT_EQ(total, file);
}

RK_TEST_F(limits, of_a_user,
	  "the files of a user get BOs up to its limit, and others get theirs")
{
	uint64_t limit;
	uint32_t handle;
	int n, err, fd;

	REQUIRE_PAGES();
	ASSERT_EQ(65, set_percent(USER_PERCENT, 3));
	ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_USER_MEMORY, 0, &limit));
	n = fill(self->fd, &err);
	EXPECT_EQ(-ENOMEM, err);
	EXPECT_TRUE(is_full(limit, n * (uint64_t)MIB, rk_stat("table_bytes") - FILE_TABLES));
	EXPECT_EQ(self->bytes + n * (long long)MIB, rk_stat("bo_bytes"));
	/* It is nobody else's, and a closed BO makes room. */
	EXPECT_EQ(0, rk_create_bo(self->other, MIB, &handle));
	EXPECT_EQ(0, rk_gem_close(self->fd, 1));
	EXPECT_EQ(0, rk_create_bo(self->fd, MIB, &handle));
	EXPECT_EQ(-ENOMEM, rk_create_bo(self->fd, MIB, &handle));
	EXPECT_EQ(0, rk_run_on_every_core(self->other, 1));
	/* Another file of the user gets a bit, for what is left. */
	fd = rk_open_as(SOMEBODY, rk_open);
	if (fd >= 0) {
		EXPECT_EQ(-ENOMEM, rk_create_bo(fd, MIB, &handle));
		close(fd);
	}
}

RK_TEST_F(limits, of_a_vendor_file, "the same limit holds for files of the vendor's node")
{
	struct drm_rknpu_mem_create c = { .size = MIB, .flags = RV_FLAGS };
	uint64_t limit;
	int n, fd = rv_open(), ret = 0;

	REQUIRE_PAGES();
	if (fd < 0)
		SKIP(return, "no vendor node");
	ASSERT_EQ(65, set_percent(USER_PERCENT, 3));
	ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_USER_MEMORY, 0, &limit));
	for (n = 0; n < MAX_BOS && !ret; n++) {
		c.handle = 0;
		ret = rk_ioctl(fd, DRM_IOCTL_RKNPU_MEM_CREATE, &c);
	}
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_TRUE(is_full(limit, (n - 1) * (uint64_t)MIB, rk_stat("table_bytes") - self->tables));
	close(fd);
}

RK_TEST_F(limits, of_all_files, "all files together get BOs up to the device's limit")
{
	struct drm_rknpu_mem_create c = { .size = MIB, .flags = RV_FLAGS };
	int vendor = rv_open(), n, err;
	uint64_t limit;
	uint32_t handle;

	REQUIRE_PAGES();
	ASSERT_EQ(75, set_percent(ALL_PERCENT, 3));
	ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_DEVICE_MEMORY, 0, &limit));
	n = fill(self->fd, &err);
	EXPECT_EQ(-ENOMEM, err);
	EXPECT_TRUE(is_full(limit, self->bytes + n * (uint64_t)MIB, rk_stat("table_bytes")));
	EXPECT_EQ(-ENOMEM, rk_create_bo(self->other, MIB, &handle));
	if (vendor >= 0) {
		EXPECT_EQ(-ENOMEM, rk_ioctl(vendor, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
		close(vendor);
	}
	EXPECT_EQ(0, close(self->fd));
	self->fd = rk_open();
	EXPECT_TRUE(rk_stat_settles("bo_bytes", self->bytes));
	EXPECT_EQ(0, rk_create_bo(self->other, MIB, &handle));
}

RK_TEST_F(limits, refused_for_all_is_not_the_users,
	  "what is refused because of all files is not charged to the one that asked")
{
	long long tables;
	uint64_t limit;
	uint32_t handle;
	int n, err;

	REQUIRE_PAGES();
	ASSERT_EQ(75, set_percent(ALL_PERCENT, 3));
	fill(self->fd, &err);
	ASSERT_EQ(-ENOMEM, err);
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(-ENOMEM, rk_create_bo(self->other, MIB, &handle));
	set_percent(ALL_PERCENT, 75);
	ASSERT_EQ(65, set_percent(USER_PERCENT, 3));
	ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_USER_MEMORY, 0, &limit));
	tables = rk_stat("table_bytes");
	n = fill(self->other, &err);
	EXPECT_EQ(-ENOMEM, err);
	EXPECT_TRUE(is_full(limit, n * (uint64_t)MIB, rk_stat("table_bytes") - tables + FILE_TABLES));
}

#define REFUSED_CLIENTS	3
#define LOOKS		30000

static void ask_for_too_much(uint32_t size)
{
	uint32_t handle;
	int fd = rk_open();

	for (;;)
		rk_create_bo(fd, size, &handle);
}

/* As rk_stat("bo_bytes"), as fast as can be. */
static long long look_at_bytes(int stats)
{
	char text[4096], *line;
	ssize_t n = pread(stats, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	line = strstr(text, "bo_bytes ");
	return line ? atoll(line + strlen("bo_bytes ")) : -ENOENT;
}

RK_TEST_F_TIMEOUT(limits, refused_is_not_counted, 120,
		  "what is too much is not counted for a moment either, so nobody else is refused for it")
{
	pid_t pid[REFUSED_CLIENTS];
	uint64_t limit;
	int beyond = 0, stats = open("/sys/kernel/debug/rknpu/stats", O_RDONLY);

	REQUIRE_PAGES();
	ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_USER_MEMORY, 0, &limit));
	ASSERT_EQ(75, set_percent(ALL_PERCENT, 3));
	for (int i = 0; i < REFUSED_CLIENTS; i++) {
		pid[i] = fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i])
			ask_for_too_much(limit / 2);
	}
	ASSERT_TRUE(rk_stat_settles("vms", 2 + REFUSED_CLIENTS));
	for (int i = 0; i < LOOKS; i++)
		beyond += look_at_bytes(stats) != self->bytes;
	close(stats);
	/* The instant is short: of so many looks about one would meet it. */
	EXPECT_EQ(0, beyond);
	for (int i = 0; i < REFUSED_CLIENTS; i++) {
		kill(pid[i], SIGKILL);
		EXPECT_EQ(pid[i], waitpid(pid[i], NULL, 0));
	}
}

RK_TEST_F(limits, follow_the_bo, "a BO that lives on outside its file is still counted, once")
{
	uint32_t handle, there;
	int buf;

	REQUIRE_PAGES();
	ASSERT_EQ(0, rk_create_bo(self->fd, MIB, &handle));
	buf = rk_export(self->fd, handle);
	ASSERT_LE(0, buf);
	ASSERT_EQ(0, drmPrimeFDToHandle(self->other, buf, &there));
	EXPECT_EQ(self->bytes + MIB, rk_stat("bo_bytes"));
	EXPECT_EQ(0, rk_gem_close(self->other, there));
	EXPECT_EQ(0, close(self->fd));
	self->fd = rk_open();
	EXPECT_EQ(self->bytes + MIB, rk_stat("bo_bytes"));
	EXPECT_EQ(0, close(buf));
	EXPECT_TRUE(rk_stat_settles("bo_bytes", self->bytes));
}

#define MAX_FILES	1000

/* A file that has the BO: what it and its tables take, or an errno. */
static long long open_with(int buf, int *fd)
{
	long long tables = rk_stat("table_bytes");
	uint32_t handle;

	*fd = rk_open();
	if (*fd < 0)
		return *fd;
	if (drmPrimeFDToHandle(*fd, buf, &handle))
		return -errno;
	return rk_stat("table_bytes") - tables;
}

RK_TEST_F_TIMEOUT(limits, page_tables_count, 120,
		  "a BO that many files have takes page tables in each, up to the device's limit")
{
	struct rlimit files = { MAX_FILES + 100, MAX_FILES + 100 };
	long long each = 0, tables;
	static int fd[MAX_FILES + 1];
	uint64_t limit, size;
	uint32_t handle;
	int n, buf;

	REQUIRE_PAGES();
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	ASSERT_EQ(75, set_percent(ALL_PERCENT, 1));
	set_percent(USER_PERCENT, 100);
	ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_DEVICE_MEMORY, 0, &limit));
	/* 1 to 2 MiB are left for tables. */
	size = (limit - self->bytes - beside(limit)) / MIB * MIB - MIB;
	ASSERT_EQ(0, rk_create_bo(self->fd, size, &handle));
	/* It begins at the second page. */
	tables = (size + RK_PAGE) / (4 * MIB) + 1;
	EXPECT_EQ(self->tables + tables * RK_PAGE + beside(size), rk_stat("table_bytes"));
	buf = rk_export(self->fd, handle);
	ASSERT_LE(0, buf);
	for (n = 0; n < MAX_FILES; n++) {
		each = open_with(buf, &fd[n]);
		if (each < 0)
			break;
		EXPECT_EQ(FILE_TABLES + tables * RK_PAGE, each);
	}
	EXPECT_EQ(-ENOMEM, each);
	EXPECT_LE(MIB / (FILE_TABLES + tables * RK_PAGE) - 1, n);
	EXPECT_GE(limit, size + self->bytes + rk_stat("table_bytes"));
	/* Who has it already is not concerned, and who goes makes room. */
	if (fd[n] > 0)
		close(fd[n]);
	EXPECT_EQ(0, close(fd[0]));
	EXPECT_TRUE(rk_stat_settles("vms", 2 + n - 1));
	EXPECT_EQ(FILE_TABLES + tables * RK_PAGE, open_with(buf, &fd[0]));
	for (int i = 0; i < n; i++)
		close(fd[i]);
	close(buf);
	EXPECT_EQ(0, rk_gem_close(self->fd, handle));
	EXPECT_TRUE(rk_stat_settles("vms", 2));
	/* Tables stay as long as their address space. */
	EXPECT_EQ(self->tables + tables * RK_PAGE, rk_stat("table_bytes"));
}

RK_TEST_F(limits, lists_of_imports_count, "what it takes to know the pages of an imported BO counts as page tables do")
{
	struct rk_bo bo, next;
	long long tables;
	uint32_t handle;
	int buf, fd;

	fd = rv_open();
	if (fd < 0)
		SKIP(return, "no vendor node");
	ASSERT_EQ(0, rk_bo_init(&bo, self->fd, RK_PAGE));
	ASSERT_EQ(0, rk_bo_init(&next, self->fd, RK_PAGE));
	/* The address space has its first table after that. */
	buf = rk_export(bo.fd, bo.handle);
	ASSERT_EQ(0, drmPrimeFDToHandle(fd, buf, &handle));
	close(buf);
	/* Not those of nodes that rv_open() found to be others. */
	EXPECT_TRUE(rk_stat_settles("vms", 3));
	tables = rk_stat("table_bytes");
	buf = rk_export(next.fd, next.handle);
	ASSERT_EQ(0, drmPrimeFDToHandle(fd, buf, &handle));
	close(buf);
	EXPECT_EQ(tables + RK_PAGE, rk_stat("table_bytes"));
	EXPECT_EQ(0, rk_gem_close(fd, handle));
	EXPECT_TRUE(rk_stat_settles("table_bytes", tables));
	close(fd);
	rk_bo_fini(&next);
	rk_bo_fini(&bo);
}

#define SMALL_BOS	100

RK_TEST_F(limits, of_small_bos, "what the kernel needs to know a BO counts with it, most of all for small ones")
{
	uint32_t handle[SMALL_BOS];
	long long tables;

	/* With the table of its address. */
	ASSERT_EQ(0, rk_create_bo(self->fd, RK_PAGE, &handle[0]));
	tables = rk_stat("table_bytes");
	for (int i = 1; i < SMALL_BOS; i++)
		ASSERT_EQ(0, rk_create_bo(self->fd, RK_PAGE, &handle[i]));
	EXPECT_EQ(self->bytes + SMALL_BOS * RK_PAGE, rk_stat("bo_bytes"));
	EXPECT_EQ(tables + (SMALL_BOS - 1) * beside(RK_PAGE) + SMALL_BOS / BOS_PER_PAGE * RK_PAGE,
		  rk_stat("table_bytes"));
	for (int i = 1; i < SMALL_BOS; i++)
		EXPECT_EQ(0, rk_gem_close(self->fd, handle[i]));
	EXPECT_EQ(tables, rk_stat("table_bytes"));
}

RK_TEST_F(limits, handles_in_other_files, "what it takes to know a BO in one more file counts there")
{
	uint32_t handle[2 * BOS_PER_PAGE];
	int buf[2 * BOS_PER_PAGE];
	long long tables;

	REQUIRE_PAGES();
	for (int i = 0; i < 2 * BOS_PER_PAGE; i++) {
		ASSERT_EQ(0, rk_create_bo(self->other, RK_PAGE, &handle[i]));
		buf[i] = rk_export(self->other, handle[i]);
		ASSERT_LE(0, buf[i]);
	}
	tables = rk_stat("table_bytes");
	for (int i = 0; i < 2 * BOS_PER_PAGE; i++)
		ASSERT_EQ(0, drmPrimeFDToHandle(self->fd, buf[i], &handle[i]));
	/* And the table of their addresses. */
	EXPECT_EQ(tables + 3 * RK_PAGE, rk_stat("table_bytes"));
	for (int i = 0; i < 2 * BOS_PER_PAGE; i++) {
		EXPECT_EQ(0, rk_gem_close(self->fd, handle[i]));
		close(buf[i]);
	}
	EXPECT_EQ(tables + RK_PAGE, rk_stat("table_bytes"));
}

RK_TEST_F(limits, files, "an open file of either node counts what the kernel keeps for it")
{
	long long tables = self->tables + (rk_no_iommu() ? RK_FILE_BYTES : FILE_TABLES);
	int fd = rk_open();

	ASSERT_LE(0, fd);
	/* Looking for it may open the other node, too. */
	EXPECT_TRUE(rk_stat_settles("table_bytes", tables));
	close(fd);
	EXPECT_TRUE(rk_stat_settles("table_bytes", self->tables));
	fd = rv_open();
	if (fd < 0)
		SKIP(return, "no vendor node");
	EXPECT_TRUE(rk_stat_settles("table_bytes", self->tables + RV_FILE_BYTES));
	close(fd);
	EXPECT_TRUE(rk_stat_settles("table_bytes", self->tables));
}

RK_TEST_F(limits, domains_of_a_vendor_file, "each domain of the vendor's uAPI takes page tables")
{
	struct rv_bo bo[DRM_RKNPU_DOMAINS];
	int fd = rv_open();

	REQUIRE_PAGES();
	if (fd < 0)
		SKIP(return, "no vendor node");
	/* Looking for it opened the other node, too, where both have a card (5.10, 6.1). */
	EXPECT_TRUE(rk_stat_settles("table_bytes", self->tables + RV_FILE_BYTES));
	for (int i = 0; i < DRM_RKNPU_DOMAINS; i++) {
		ASSERT_EQ(0, rv_bo_init(&bo[i], fd, RK_PAGE, RV_FLAGS, i));
		EXPECT_EQ(self->tables + RV_FILE_BYTES +
			  (i + 1) * (2 * RK_PAGE + beside(RK_PAGE)), rk_stat("table_bytes"));
	}
	for (int i = 0; i < DRM_RKNPU_DOMAINS; i++)
		rv_bo_fini(&bo[i]);
	close(fd);
	EXPECT_TRUE(rk_stat_settles("table_bytes", self->tables));
}

RK_TEST_F_TIMEOUT(limits, more_than_is_free_kills_nobody, 120,
		  "a BO larger than free memory is refused, and no process is killed for it")
{
	uint64_t limit;
	uint32_t handle;
	int status;
	pid_t pid;

	REQUIRE_PAGES();
	set_percent(USER_PERCENT, 100);
	set_percent(ALL_PERCENT, 100);
	ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_DEVICE_MEMORY, 0, &limit));
	if (limit > INT32_MAX)
		SKIP(return, "a BO cannot be larger than this machine's memory");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		pause();
		_exit(0);
	}
	EXPECT_EQ(-ENOMEM, rk_create_bo(self->fd, limit - self->bytes - MIB, &handle));
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(rk_stat_settles("bo_bytes", self->bytes));
	EXPECT_EQ(0, rk_run_on_every_core(self->fd, 1));
}

#define SHMEM_ENABLED	"/sys/kernel/mm/transparent_hugepage/shmem_enabled"
#define HUGE_BOS	20

static int write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	fputs(text, f);
	return fclose(f) ? -errno : 0;
}

RK_TEST_F(limits, huge_pages_count, "a BO whose last page is huge counts all of that")
{
	long long counted = rk_stat("bo_bytes") + rk_stat("table_bytes");
	long long taken = rk_meminfo("Shmem");
	uint32_t handle;

	REQUIRE_PAGES();
	if (write_text(SHMEM_ENABLED, "always"))
		SKIP(return, "the kernel has no huge pages for shared memory");
	for (int i = 0; i < HUGE_BOS; i++) {
		EXPECT_EQ(0, rk_create_bo(self->fd, RK_PAGE, &handle));
	}
	ASSERT_EQ(0, write_text(SHMEM_ENABLED, "never"));
	taken = rk_meminfo("Shmem") - taken;
	counted = rk_stat("bo_bytes") + rk_stat("table_bytes") - counted;
	/* The counter of the kernel's may lag behind by what CPUs keep. */
	EXPECT_LE(taken - MIB, counted) TH_LOG("%lld bytes", taken);
	close(self->fd);
	self->fd = rk_open_as(SOMEBODY, rk_open);
	EXPECT_TRUE(rk_stat_settles("vms", 2));
	EXPECT_EQ(self->tables, rk_stat("table_bytes"));
}

/* Has the kernel a thread for the workqueue's work when it has no memory for another? Newer ones say more. */
static bool has_rescuer(const char *workqueue)
{
	char path[300], name[64];
	DIR *dir = opendir("/proc");
	bool found = false;
	struct dirent *d;

	while (dir && !found && (d = readdir(dir))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%63s", name) == 1)
			found = !strcmp(name, workqueue) ||
				(!strncmp(name, "kworker/R-", 10) && !strcmp(name + 10, workqueue));
		fclose(f);
	}
	if (dir)
		closedir(dir);
	return found;
}

RK_TEST(freeing_needs_no_memory, "memory is freed by a thread that is there already, if there is no memory for a new one")
{
	if (!rk_ours())
		SKIP(return, "another driver");
	EXPECT_TRUE(has_rescuer("rknpu_release"));
}

#define OVERCOMMIT	"/proc/sys/vm/overcommit_"

RK_TEST_F(limits, no_more_to_commit, "a BO beyond what the kernel commits itself to is refused for want of memory")
{
	int mode, ratio, ret;
	uint32_t handle;

	REQUIRE_PAGES();
	ratio = set_number(OVERCOMMIT "ratio", 50);
	ASSERT_LE(0, set_number(OVERCOMMIT "kbytes", rk_meminfo("Committed_AS") / 1024 + 16384));
	mode = set_number(OVERCOMMIT "memory", 2);
	ret = rk_create_bo(self->fd, 64 * MIB, &handle);
	EXPECT_EQ(2, set_number(OVERCOMMIT "memory", mode));
	set_number(OVERCOMMIT "ratio", ratio);
	EXPECT_EQ(-ENOMEM, ret);
}

RK_TEST_F_TIMEOUT(limits, who_is_killed_meanwhile_leaves_nothing, 120,
		  "a client killed while it allocates leaves nothing")
{
	uint32_t handle;
	int status;
	pid_t pid;

	REQUIRE_PAGES();
	for (int i = 0; i < (rk_slow() > 1 ? 2 : 5); i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			for (;;) {
				if (!rk_create_bo(self->fd, 300 * MIB, &handle))
					rk_gem_close(self->fd, handle);
			}
		}
		for (int j = 0; j < 500 && rk_stat("bo_bytes") == self->bytes; j++)
			rk_sleep_ms(2);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		/* The one that was being made when it died may be there. */
		rk_gem_close(self->fd, 1);
		EXPECT_TRUE(rk_stat_settles("bo_bytes", self->bytes));
	}
}

/* ---- memory of a BO that is freed while its address space is in use ---- */

#define LARGE_BO	(64 * MIB)

/* Jobs follow each other, so that the call for the second one frees what the first one kept. */
RK_TEST_F_TIMEOUT(limits, freed_by_a_call_that_sleeps, 60,
		  "a BO that is not counted any more takes no memory, while who freed it sleeps in a call")
{
	long long before = rk_meminfo("Shmem");
	struct drm_rknpu_submit s;
	struct rv_chain chain;
	struct rv_bo bo;
	int fd, status;
	pid_t pid;

	REQUIRE_PAGES();
	RK_REQUIRE_MODEL();
	fd = rv_open();
	if (fd < 0)
		SKIP(return, "no vendor node");
	ASSERT_EQ(0, rv_chain_init(&chain, fd, 1, 0, 0));
	ASSERT_EQ(0, rv_bo_init(&bo, fd, LARGE_BO, RV_FLAGS, 0));
	EXPECT_LT(before + LARGE_BO / 2, rk_meminfo("Shmem"));
	rk_latency_us(1000000);
	rv_chain_submit(&chain, &s);
	s.core_mask = 1;
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct drm_rknpu_submit again = s;

		munmap(bo.map, bo.size);
		_exit(rv_submit(fd, &s) || rv_submit(fd, &again));
	}
	EXPECT_TRUE(rk_wait_count(0, NPU_CNT_BUSY, 1, 10000));
	rv_bo_fini(&bo);
	for (int i = 0; i < 10000 && rk_stat("bo_bytes") >= self->bytes + LARGE_BO; i++)
		rk_sleep_ms(1);
	EXPECT_GT(before + LARGE_BO / 2, rk_meminfo("Shmem"));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	rv_chain_fini(&chain);
	close(fd);
}

#define ROUNDS	(rk_slow() > 1 ? 5 : 20)

RK_TEST_F_TIMEOUT(limits, closed_in_another_file, 300,
		  "a BO that a file closes right after its job makes room for the user's other files at once")
{
	struct rk_client c;
	uint64_t limit;
	uint32_t handle;

	REQUIRE_PAGES();
	ASSERT_EQ(65, set_percent(USER_PERCENT, 6));
	ASSERT_EQ(0, rk_get_param(self->fd, DRM_ROCKET_PARAM_MAX_USER_MEMORY, 0, &limit));
	ASSERT_EQ(0, rk_client_init_on(&c, rk_open_as(SOMEBODY, rk_open)));
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, rk_create_bo(c.fd, limit / 3 * 2, &handle));
		ASSERT_EQ(0, rk_client_run(&c, 1));
		ASSERT_EQ(0, rk_gem_close(c.fd, handle));
		ASSERT_EQ(0, rk_create_bo(self->fd, limit / 3 * 2, &handle)) TH_LOG("round %d", i);
		ASSERT_EQ(0, rk_gem_close(self->fd, handle));
	}
	rk_client_fini(&c);
}

#define IMPORT	(8 * MIB)

RK_TEST_F_TIMEOUT(limits, closed_before_other_calls, 120,
		  "a BO that a file closes right after its job makes room for what open() and imports need")
{
	uint32_t large[2], handle;
	struct rk_client c;
	int buf, fd;

	REQUIRE_PAGES();
	ASSERT_EQ(65, set_percent(USER_PERCENT, 3));
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, rk_client_init_on(&c, rk_open_as(SOMEBODY, rk_open)));
		ASSERT_EQ(0, rk_create_bo(c.fd, IMPORT, &handle));
		buf = rk_export(c.fd, handle);
		ASSERT_LE(0, buf);
		ASSERT_EQ(0, rk_create_bo(c.fd, MIB, &large[0]));
		ASSERT_EQ(0, rk_create_bo(c.fd, MIB, &large[1]));
		rk_take_memory(c.fd, 64 * MIB);
		ASSERT_EQ(0, rk_client_run(&c, 1));
		ASSERT_EQ(0, rk_gem_close(c.fd, large[0]));
		fd = rk_open_as(SOMEBODY, rk_open);
		EXPECT_LE(0, fd) TH_LOG("round %d: %d", i, fd);
		rk_take_memory(c.fd, 64 * MIB);
		ASSERT_EQ(0, rk_client_run(&c, 1));
		ASSERT_EQ(0, rk_gem_close(c.fd, large[1]));
		EXPECT_EQ(0, drmPrimeFDToHandle(fd, buf, &handle)) TH_LOG("round %d", i);
		close(fd);
		close(buf);
		rk_client_fini(&c);
	}
}

RK_HARNESS_MAIN
