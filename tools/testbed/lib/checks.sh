# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the checks of the host share: their options, their results as TAP, and guests whose TAP becomes theirs.

# shellcheck source-path=SCRIPTDIR source=kernel.sh
. "$RK_TESTBED/lib/kernel.sh"

RK_TAP_N=0 RK_TAP_BAD=0

# The lines of a command's first comment that begin with its name.
rk_usage() { sed -n "s/^# *\\(${0##*/}\\b.*\\)/usage: \\1/p" "$0" >&2; exit 2; }

# rk_check_start [--kernel K]: sets kernel, and out, which is the check's folder.
# shellcheck disable=SC2034 # for the checks
rk_check_start() {
	kernel=${RKNPU_KERNEL:-7.3} out=$RK_TOP/build/${0##*/}
	case ${1:-} in
	--kernel) [ $# -eq 2 ] || rk_usage; kernel=$2 ;;
	'') ;;
	*) rk_usage ;;
	esac
	rk_root
	mkdir -p "$out" || rk_die "cannot create $out"
}

# rk_result NAME STATUS [FILE]...: a result; if it is bad, the ends of the files, too.
rk_result() {
	local name=$1 status=$2 f
	shift 2
	RK_TAP_N=$((RK_TAP_N + 1))
	[ "$status" != 0 ] || { echo "ok $RK_TAP_N - $name"; return; }
	echo "not ok $RK_TAP_N - $name"
	RK_TAP_BAD=1
	for f; do tail -n 30 -- "$f" 2>/dev/null | tr -d '\r' | sed 's/^/# /'; done
}

# rk_results_end: the plan; exits.
rk_results_end() {
	echo "1..$RK_TAP_N"
	exit "$RK_TAP_BAD"
}

# rk_guest NAME [OPTION of run]... -- CMD...: results without numbers, those of the guest and one of its log and its end.
rk_guest() {
	local name=$1 log=$out/$1.console
	shift
	"$RK_TESTBED/bin/run" --kernel "$kernel" --timeout 900 --log "$log" "$@" >"$out/$name.tap"
	sed -nE "s/^((not )?ok) [0-9]+ - /\\1 - $name: /p; /^#/p" "$out/$name.tap"
	rk_foreign_warnings "$log"
	[ -z "$(rk_dmesg_complaints "$log")" ] && grep -q '^1\.\.' "$out/$name.tap" || printf 'not '
	echo "ok - $name: all tests ran, and the kernel has no complaint"
}

# rk_number: numbers the results of rk_guest; fails if one is bad.
rk_number() {
	awk '/^(not )?ok - / { sub(/ok - /, "ok " ++n " - "); bad += /^not / } { print; fflush() } END { print "1.." n; exit bad > 0 }'
}
