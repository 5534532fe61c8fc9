// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much BOs and jobs may take: of a file, of a user, of all, and of a machine that has no more.
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

static int create(int fd, uint32_t size, uint32_t *handle)
{
	struct drm_rocket_create_bo c = { .size = size };
	int ret = rk_ioctl(fd, DRM_IOCTL_ROCKET_CREATE_BO, &c);

	*handle = c.handle;
	return ret;
}

/* How many BOs of 1 MiB the file got; the error that ended it. */
static int fill(int fd, int *err)
{
	uint32_t handle;
	int n;

	for (n = 0; n < MAX_BOS; n++) {
		*err = create(fd, MIB, &handle);
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
	rk_module_param("max_job_ms", 10000);
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
	EXPECT_EQ(0, create(self->other, MIB, &handle));
	EXPECT_EQ(0, rk_gem_close(self->fd, 1));
	EXPECT_EQ(0, create(self->fd, MIB, &handle));
	EXPECT_EQ(-ENOMEM, create(self->fd, MIB, &handle));
	EXPECT_EQ(0, rk_run_on_every_core(self->other, 1));
	/* Another file of the user gets a bit, for what is left. */
	fd = rk_open_as(SOMEBODY, rk_open);
	if (fd >= 0) {
		EXPECT_EQ(-ENOMEM, create(fd, MIB, &handle));
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
	EXPECT_EQ(-ENOMEM, create(self->other, MIB, &handle));
	if (vendor >= 0) {
		EXPECT_EQ(-ENOMEM, rk_ioctl(vendor, DRM_IOCTL_RKNPU_MEM_CREATE, &c));
		close(vendor);
	}
	EXPECT_EQ(0, close(self->fd));
	self->fd = rk_open();
	EXPECT_TRUE(rk_stat_settles("bo_bytes", self->bytes));
	EXPECT_EQ(0, create(self->other, MIB, &handle));
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
		ASSERT_EQ(-ENOMEM, create(self->other, MIB, &handle));
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
		create(fd, size, &handle);
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
	ASSERT_EQ(0, create(self->fd, MIB, &handle));
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
	ASSERT_EQ(0, create(self->fd, size, &handle));
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
	ASSERT_EQ(0, create(self->fd, RK_PAGE, &handle[0]));
	tables = rk_stat("table_bytes");
	for (int i = 1; i < SMALL_BOS; i++)
		ASSERT_EQ(0, create(self->fd, RK_PAGE, &handle[i]));
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
		ASSERT_EQ(0, create(self->other, RK_PAGE, &handle[i]));
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
	EXPECT_EQ(-ENOMEM, create(self->fd, limit - self->bytes - MIB, &handle));
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(rk_stat_settles("bo_bytes", self->bytes));
	EXPECT_EQ(0, rk_run_on_every_core(self->fd, 1));
}

/* Bytes. */
static long long meminfo(const char *key)
{
	FILE *f = fopen("/proc/meminfo", "re");
	long long kib = -1;
	char line[128];

	while (f && kib < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kib = atoll(line + strlen(key));
	if (f)
		fclose(f);
	return kib * 1024;
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
	long long taken = meminfo("Shmem:");
	uint32_t handle;

	REQUIRE_PAGES();
	if (write_text(SHMEM_ENABLED, "always"))
		SKIP(return, "the kernel has no huge pages for shared memory");
	for (int i = 0; i < HUGE_BOS; i++) {
		EXPECT_EQ(0, create(self->fd, RK_PAGE, &handle));
	}
	ASSERT_EQ(0, write_text(SHMEM_ENABLED, "never"));
	taken = meminfo("Shmem:") - taken;
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
	ASSERT_LE(0, set_number(OVERCOMMIT "kbytes", meminfo("Committed_AS:") / 1024 + 16384));
	mode = set_number(OVERCOMMIT "memory", 2);
	ret = create(self->fd, 64 * MIB, &handle);
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
				if (!create(self->fd, 300 * MIB, &handle))
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
	long long before = meminfo("Shmem:");
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
	EXPECT_LT(before + LARGE_BO / 2, meminfo("Shmem:"));
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
	EXPECT_GT(before + LARGE_BO / 2, meminfo("Shmem:"));
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
		ASSERT_EQ(0, create(c.fd, limit / 3 * 2, &handle));
		ASSERT_EQ(0, rk_client_run(&c, 1));
		ASSERT_EQ(0, rk_gem_close(c.fd, handle));
		ASSERT_EQ(0, create(self->fd, limit / 3 * 2, &handle)) TH_LOG("round %d", i);
		ASSERT_EQ(0, rk_gem_close(self->fd, handle));
	}
	rk_client_fini(&c);
}

#define IMPORT	(8 * MIB)

/* All that is left for the user of the file. */
static void take_the_rest(int fd)
{
	uint32_t handle;

	for (uint32_t size = 64 * MIB; size >= RK_PAGE; size /= 2)
		while (!create(fd, size, &handle))
			;
}

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
		ASSERT_EQ(0, create(c.fd, IMPORT, &handle));
		buf = rk_export(c.fd, handle);
		ASSERT_LE(0, buf);
		ASSERT_EQ(0, create(c.fd, MIB, &large[0]));
		ASSERT_EQ(0, create(c.fd, MIB, &large[1]));
		take_the_rest(c.fd);
		ASSERT_EQ(0, rk_client_run(&c, 1));
		ASSERT_EQ(0, rk_gem_close(c.fd, large[0]));
		fd = rk_open_as(SOMEBODY, rk_open);
		EXPECT_LE(0, fd) TH_LOG("round %d: %d", i, fd);
		take_the_rest(c.fd);
		ASSERT_EQ(0, rk_client_run(&c, 1));
		ASSERT_EQ(0, rk_gem_close(c.fd, large[1]));
		EXPECT_EQ(0, drmPrimeFDToHandle(fd, buf, &handle)) TH_LOG("round %d", i);
		close(fd);
		close(buf);
		rk_client_fini(&c);
	}
}

/* ---- jobs that are not over ---- */

#define FILE_TASKS	1048576u
#define JOB_TASKS	65536u
/* That of the job which hangs in front of the others, while they are queued. */
#define DEADLINE_MS	6000

/* A job of one task on core 0, and the most tasks that it may have. */
static int queue_init(struct rk_client *c, struct drm_rocket_task *t,
		      struct drm_rocket_job_ext *job)
{
	int ret = rk_client_init(c);

	if (!ret)
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t[0]);
	for (uint32_t i = 1; i < JOB_TASKS; i++)
		t[i] = t[0];
	rk_job_ext(job, t, 1, NULL, NULL);
	job->core_mask = 1;
	job->timeout_ns = DEADLINE_MS * RK_MS;
	return ret;
}

RK_TEST_F_TIMEOUT(limits, tasks_of_a_file, 180,
		  "a file can queue tasks up to its limit, and others can theirs")
{
	static struct drm_rocket_task t[JOB_TASKS];
	struct drm_rocket_job_ext job;
	struct rk_client c, other;
	unsigned int n = 0;
	int ret;

	RK_REQUIRE_MODEL();
	if (rk_slow() > 1)
		SKIP(return, "the job that hangs would be given up before a million tasks were read");
	ASSERT_EQ(0, queue_init(&c, t, &job));
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, rk_submit_ext(c.fd, &job, 1, NULL));
	job.task_count = JOB_TASKS;
	while (!(ret = rk_submit_ext(c.fd, &job, 1, NULL)))
		n++;
	EXPECT_EQ(-EBUSY, ret);
	EXPECT_EQ(FILE_TASKS / JOB_TASKS - 1, n);
	job.task_count = JOB_TASKS - 1;
	EXPECT_EQ(0, rk_submit_ext(c.fd, &job, 1, NULL));
	job.task_count = 1;
	EXPECT_EQ(-EBUSY, rk_submit_ext(c.fd, &job, 1, NULL));
	/* It is nobody else's. */
	EXPECT_EQ(0, rk_client_init(&other));
	EXPECT_EQ(0, rk_client_run(&other, 1));
	rk_client_fini(&other);
	rk_client_fini(&c);
}

RK_TEST_F_TIMEOUT(limits, tasks_are_given_back, 180,
		  "tasks count until their job is over, whether they ran or not")
{
	static struct drm_rocket_task t[JOB_TASKS];
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	struct rk_client c;
	uint64_t id;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, queue_init(&c, t, &job));
	job.task_count = JOB_TASKS;
	rk_fault_arm(0, NPU_FAULT_DMA_READ, 0, 0);
	for (uint32_t i = 0; i < FILE_TASKS / JOB_TASKS + 2; i++) {
		ASSERT_EQ(0, rk_submit_ext(c.fd, &job, 1, &id)) TH_LOG("job %u", i);
		ASSERT_EQ(0, rk_wait_job(c.fd, id, RK_FOREVER, &w));
		EXPECT_EQ(-EIO, w.error);
	}
	rk_model_calm();
	EXPECT_EQ(0, rk_client_run(&c, 1));
	rk_client_fini(&c);
}

#define READ_BOS	32
#define READERS		1024

RK_TEST_F_TIMEOUT(limits, uses_of_bos_in_a_call, 300,
		  "a call whose many jobs name many BOs that many use is refused, not worked on for minutes")
{
	static struct drm_rocket_task t[JOB_TASKS], others[JOB_TASKS];
	static struct drm_rocket_job_ext jobs[READERS];
	struct drm_rocket_job_ext hang;
	struct drm_rocket_wait_job w;
	struct rk_client c, other;
	uint32_t handle[READ_BOS];
	uint64_t first;

	RK_REQUIRE_MODEL();
	if (rk_slow() > 1)
		SKIP(return, "takes minutes");
	rk_module_param("max_job_ms", 60000);
	ASSERT_EQ(0, queue_init(&other, others, &hang));
	ASSERT_EQ(0, queue_init(&c, t, &jobs[0]));
	for (int i = 0; i < READ_BOS; i++) {
		ASSERT_EQ(0, create(c.fd, RK_PAGE, &handle[i]));
	}
	jobs[0].in_bo_handles = (uintptr_t)handle;
	jobs[0].in_bo_handle_count = READ_BOS;
	for (int i = 1; i < READERS; i++)
		jobs[i] = jobs[0];
	hang.timeout_ns = 60000 * RK_MS;
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, rk_submit_ext(other.fd, &hang, 1, NULL));
	/* Of two files the other one's first job may come first. */
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_BUSY, 1, 10000));
	EXPECT_EQ(0, rk_submit_ext(c.fd, jobs, READERS, NULL));
	EXPECT_EQ(0, rk_submit_ext(c.fd, jobs, READERS, NULL));
	EXPECT_EQ(-EBUSY, rk_submit_ext(c.fd, jobs, READERS, NULL));
	/* There is room for a few, and once the lists are short again for as many as before. */
	EXPECT_EQ(0, rk_submit_ext(c.fd, jobs, 8, &first));
	rk_client_fini(&other);
	EXPECT_EQ(0, rk_wait_job(c.fd, first + 7, RK_FOREVER, &w));
	EXPECT_EQ(0, rk_submit_ext(c.fd, jobs, READERS, &first));
	EXPECT_EQ(0, rk_wait_job(c.fd, first + READERS - 1, RK_FOREVER, &w));
	rk_client_fini(&c);
}

RK_TEST_F_TIMEOUT(limits, number_of_jobs_of_a_file, 180, "a file can queue jobs up to its limit")
{
	static struct drm_rocket_task t[JOB_TASKS];
	static struct drm_rocket_job_ext jobs[1024];
	uint64_t max = rk_param(self->fd, DRM_ROCKET_PARAM_MAX_FILE_JOBS);
	struct drm_rocket_wait_job w;
	uint64_t hung = 0;
	struct rk_client c;
	bool over;
	int ret;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, queue_init(&c, t, &jobs[0]));
	ASSERT_EQ(0, max % ARRAY_SIZE(jobs));
	for (size_t i = 1; i < ARRAY_SIZE(jobs); i++)
		jobs[i] = jobs[0];
	/* More run than may wait. */
	for (uint64_t n = 0; n < max + ARRAY_SIZE(jobs); n += ARRAY_SIZE(jobs)) {
		uint64_t first;

		ASSERT_EQ(0, rk_submit_ext(c.fd, jobs, ARRAY_SIZE(jobs), &first));
		ASSERT_EQ(0, rk_wait_job(c.fd, first + ARRAY_SIZE(jobs) - 1, RK_FOREVER, &w));
	}
	/* None does. */
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	for (uint64_t n = 0; n < max; n += ARRAY_SIZE(jobs))
		ASSERT_EQ(0, rk_submit_ext(c.fd, jobs, ARRAY_SIZE(jobs), n ? NULL : &hung));
	ret = rk_submit_ext(c.fd, jobs, 1, NULL);
	/* Its end may be forgotten, if as many ended after it. */
	over = !ret && rk_slow() > 1 && rk_wait_job(c.fd, hung, 0, &w) != -EBUSY;
	rk_client_fini(&c);
	if (over)
		SKIP(return, "the job that hangs was given up before so many were queued");
	EXPECT_EQ(-EBUSY, ret);
}

/* ---- what jobs leave behind when they are over ---- */

/* As many handles as a call may have. */
#define NAMED_BOS	128
/* Lists of more take over 8 KiB, which kernels before 5.14 forget to take off the sum when they free it. */
#define NAMING_JOBS	512
#define NAMING_CALLS	8

FIXTURE(limits_fences) {
	struct rk_client c;
	uint32_t handle[NAMING_CALLS][NAMED_BOS];
};

FIXTURE_VARIANT(limits_fences) {
	/* A job that is not over names the BOs, too. */
	bool one_is_left;
};

FIXTURE_VARIANT_ADD(limits_fences, all_are_over) { .one_is_left = false };
FIXTURE_VARIANT_ADD(limits_fences, one_is_left) { .one_is_left = true };

FIXTURE_SETUP(limits_fences)
{
	RK_OPEN_OR_SKIP(self->c.fd);
	if (!rk_ours())
		SKIP(return, "another driver");
	close(self->c.fd);
	ASSERT_EQ(0, rk_client_init(&self->c));
	for (int i = 0; i < NAMING_CALLS; i++)
		for (int j = 0; j < NAMED_BOS; j++)
			ASSERT_EQ(0, create(self->c.fd, RK_PAGE, &self->handle[i][j]));
}

FIXTURE_TEARDOWN(limits_fences)
{
	rk_model_calm();
	rk_module_param("max_job_ms", 10000);
	rk_client_fini(&self->c);
}

static bool unreclaimable_settles_below(long long bytes)
{
	for (int i = 0; i < 1000 && meminfo("SUnreclaim:") >= bytes; i++)
		rk_sleep_ms(10);
	if (meminfo("SUnreclaim:") < bytes)
		return true;
	printf("# %lld bytes, not below %lld\n", meminfo("SUnreclaim:"), bytes);
	return false;
}

/* A job for each of the sets of BOs, of which the first one hangs on core 0. */
static int leave_one(struct rk_client *c, struct drm_rocket_job_ext *job,
		     uint32_t handle[NAMING_CALLS][NAMED_BOS])
{
	int ret = 0;

	rk_module_param("max_job_ms", 60000);
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	job->core_mask = 1;
	job->timeout_ns = 60000 * RK_MS;
	for (int i = 0; i < NAMING_CALLS && !ret; i++) {
		job->in_bo_handles = (uintptr_t)handle[i];
		ret = rk_submit_ext(c->fd, job, 1, NULL);
	}
	job->core_mask = 2;
	job->timeout_ns = 0;
	return ret ?: rk_wait_count(0, NPU_CNT_BUSY, 1, 10000) ? 0 : -ETIMEDOUT;
}

RK_TEST_F_TIMEOUT(limits_fences, go_with_the_jobs, 300,
		  "the fences of jobs that are over take no memory as long as the BOs which they named")
{
	static struct drm_rocket_job_ext jobs[NAMING_JOBS];
	struct drm_rocket_wait_job w;
	struct drm_rocket_task t;
	long long before = 0;
	uint64_t first;

	if (rk_no_iommu() || rk_slow() > 1)
		SKIP(return, "other memory comes and goes meanwhile");
	ASSERT_EQ(0, rk_op_task(&self->c.inc, self->c.in.iova, self->c.out.iova, &t));
	rk_job_ext(&jobs[0], &t, 1, NULL, NULL);
	jobs[0].in_bo_handle_count = NAMED_BOS;
	if (variant->one_is_left) {
		RK_REQUIRE_MODEL();
		if (rk_param(self->c.fd, DRM_ROCKET_PARAM_CORE_COUNT) < 2)
			SKIP(return, "one core");
		ASSERT_EQ(0, leave_one(&self->c, &jobs[0], self->handle));
	}
	for (int i = 0; i < NAMING_CALLS; i++) {
		jobs[0].in_bo_handles = (uintptr_t)self->handle[i];
		for (int j = 1; j < NAMING_JOBS; j++)
			jobs[j] = jobs[0];
		ASSERT_EQ(0, rk_submit_ext(self->c.fd, jobs, NAMING_JOBS, &first));
		ASSERT_EQ(0, rk_wait_job(self->c.fd, first + NAMING_JOBS - 1, RK_FOREVER, &w));
		/* What the allocator keeps for the next jobs is there after the first ones. */
		if (!i)
			before = meminfo("SUnreclaim:");
	}
	/* A quarter of what the BOs count. */
	EXPECT_TRUE(unreclaimable_settles_below(before + NAMING_CALLS * NAMED_BOS * RK_PAGE / 2));
}

RK_HARNESS_MAIN
