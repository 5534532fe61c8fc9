# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The programs that run in guests, and the boots that they say they run in.

# Scripts last: they load the module anew.
RK_TEST_SOURCES=("$RK_TOP"/selftests/rknpu_*.c "$RK_TOP"/tools/lib/tests/guest/rknpu_*.c
	"$RK_TOP"/selftests/rknpu_*.sh "$RK_TOP"/tools/lib/tests/guest/rknpu_*.sh)

# rk_boots: a line "NAME [WORD]... [OPTION]... -- PROGRAM..." for each boot. The program that gives a boot its words is the first.
rk_boots() {
	[ -n "${RK_BOOTS:-}" ] || RK_BOOTS=$(awk -f "$RK_TESTBED/lib/boots.awk" "${RK_TEST_SOURCES[@]}") || rk_die "boots are not told right"
	printf '%s\n' "$RK_BOOTS"
}

# rk_boot NAME: its line.
rk_boot() { rk_boots | grep "^$1 "; }

# rk_test_source PROGRAM: the file that it is made of.
rk_test_source() {
	local f
	for f in "${RK_TEST_SOURCES[@]}"; do
		case ${f##*/} in "$1" | "$1.c") echo "$f" && return ;; esac
	done
	return 1
}
