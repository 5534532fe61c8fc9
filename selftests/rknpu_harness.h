/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's test harness, where each case says in one line what it shows:
 *
 *	RK_TEST_F(fixture, name, "what it shows")
 *	{
 *		...
 *	}
 *
 * and "-l" prints these lines. A program with a case that was made by TEST_F()
 * alone, and so says nothing, fails.
 */
#ifndef RKNPU_HARNESS_H
#define RKNPU_HARNESS_H

#include <inttypes.h>

#include "kselftest_harness.h"
#include "rknpu_util.h"

#define RK_CASES_MAX	256

struct rk_case {
	const char *fixture;
	const char *name;
	const char *shows;
};

/* The linker makes them an array. */
#define RK_SHOWS(_fixture, _name, _shows)						\
	static const struct rk_case rk_case_##_fixture##_##_name			\
	__attribute__((used, section("rk_cases"))) = { #_fixture, #_name, _shows };

extern const struct rk_case __start_rk_cases[], __stop_rk_cases[];

#define RK_TEST(name, shows)								\
	RK_SHOWS(global, name, shows)							\
	TEST(name)

#define RK_TEST_F(fixture, name, shows)							\
	RK_SHOWS(fixture, name, shows)							\
	TEST_F(fixture, name)

#define RK_TEST_F_TIMEOUT(fixture, name, seconds, shows)				\
	RK_SHOWS(fixture, name, shows)							\
	TEST_F_TIMEOUT(fixture, name, seconds)

static inline unsigned int rk_variants(const struct __fixture_metadata *f)
{
	unsigned int n = 0;

	for (const struct __fixture_variant_metadata *v = f->variant; v; v = v->next)
		n++;
	return n;
}

static inline const char *rk_shows(const struct __fixture_metadata *f, const struct __test_metadata *t)
{
	for (const struct rk_case *c = __start_rk_cases; c < __stop_rk_cases; c++)
		if (!strcmp(c->fixture, f->name) && !strcmp(c->name, t->name))
			return c->shows;
	return NULL;
}

/* True if each case says what it shows; @list: prints it. */
static inline bool rk_cases_tell(bool list)
{
	bool all = true;

	for (const struct __fixture_metadata *f = __fixture_list; f; f = f->next) {
		unsigned int n = rk_variants(f);

		for (const struct __test_metadata *t = f->tests; t; t = t->next) {
			const char *shows = rk_shows(f, t);

			if (!shows)
				printf("# %s.%s does not say what it shows: use RK_TEST_F()\n", f->name, t->name);
			else if (list && n)
				printf("%s.*.%s (%u variants): %s\n", f->name, t->name, n, shows);
			else if (list)
				printf("%s.%s: %s\n", f->name, t->name, shows);
			all = all && shows;
		}
	}
	return all;
}

/* Names in the form of the harness's option -r; how many there are. */
static inline unsigned int rk_case_names(char *(*names)[RK_CASES_MAX])
{
	struct __fixture_variant_metadata none = { .name = "" }, *v;
	unsigned int n = 0;

	for (struct __fixture_metadata *f = __fixture_list; f; f = f->next)
		for (v = f->variant ?: &none; v; v = v->next)
			for (struct __test_metadata *t = f->tests; t && n < RK_CASES_MAX; t = t->next, n++)
				if (asprintf(&(*names)[n], "%s.%s%s%s", f->name, v->name, *v->name ? "." : "",
					     t->name) < 0)
					return n;
	return n;
}

/* RKNPU_TEST_SOME=N,SEED, of "make chaos": N cases at most, which the seed chooses. */
static inline int rk_run_some(char *program, const char *some)
{
	static char *names[RK_CASES_MAX], *argv[2 * RK_CASES_MAX + 2];
	unsigned int n = rk_case_names(&names), wanted;
	uint64_t seed;
	int argc = 0;

	if (sscanf(some, "%u,%" SCNu64, &wanted, &seed) != 2)
		return 2;
	argv[argc++] = program;
	for (; n && wanted; n--, wanted--) {
		/* Knuth's MMIX; its high bits are the good ones. */
		seed = seed * 6364136223846793005 + 1442695040888963407;
		argv[argc++] = "-r";
		argv[argc++] = names[(seed >> 33) % n];
		names[(seed >> 33) % n] = names[n - 1];
	}
	return test_harness_run(argc, argv);
}

/*
 * Runs what the harness's options choose. Only a hang should reach a case's deadline: a guest on a busy host takes several
 * times what it takes alone, and a slow kernel more.
 */
static inline int rk_main(int argc, char **argv)
{
	bool list = argc == 2 && !strcmp(argv[1], "-l");

	if (!rk_cases_tell(list) || list)
		return list ? 0 : 1;
	for (struct __fixture_metadata *f = __fixture_list; f; f = f->next)
		for (struct __test_metadata *t = f->tests; t; t = t->next)
			t->timeout *= 2 * rk_slow();
	if (argc == 1 && getenv("RKNPU_TEST_SOME"))
		return rk_run_some(argv[0], getenv("RKNPU_TEST_SOME"));
	return test_harness_run(argc, argv);
}

#define RK_HARNESS_MAIN				\
	int main(int argc, char **argv)		\
	{					\
		return rk_main(argc, argv);	\
	}

#endif /* RKNPU_HARNESS_H */
