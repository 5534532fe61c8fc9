# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the selftests that are scripts share: their options -l and -t NAME, cases as TAP, waiting, the module's file.
# A script names itself in "group" before it reads this with its own arguments.

: "${group:?}"
n=0
failed=0
list='' only=''
case ${1:-} in
-l) list=1 ;;
-t) only=${2:?} ;;
esac

# check NAME WHAT-IT-SHOWS CMD...: a case, passed when CMD succeeds
check() {
	name=$1 shows=$2
	shift 2
	if [ -n "$list" ]; then
		echo "$group.$name: $shows"
		return
	fi
	[ -z "$only" ] || [ "$only" = "$name" ] || return 0
	n=$((n + 1))
	if "$@" >"/tmp/$group.log" 2>&1; then
		echo "ok $n $group.$name"
	else
		failed=$((failed + 1))
		echo "not ok $n $group.$name"
		echo "# failed: $*"
		sed 's/^/# /' "/tmp/$group.log"
	fi
}

# check_if CONDITION WHY-NOT NAME WHAT-IT-SHOWS CMD...: the same where the condition holds
check_if() {
	if [ -n "$list" ] || [ -n "$only" ] || "$1"; then
		shift 2
		check "$@"
	else
		n=$((n + 1))
		echo "ok $n $group.$3 # SKIP $2"
	fi
}

# begin [WHY-NOT]: the start of what is printed; fails if there is a reason to skip all.
begin() {
	[ -z "$list" ] || return 0
	echo "TAP version 13"
	[ -z "${1:-}" ] || { echo "1..0 # SKIP $1"; return 4; }
}

# The plan; fails if a case has.
end() {
	[ -z "$list" ] || return 0
	echo "1..$n"
	[ "$failed" -eq 0 ]
}

# wait_for TENTHS CMD...
wait_for() {
	left=$(($1 * ${RKNPU_TEST_SLOW:-1}))
	shift
	while ! "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.1
	done
}

module_file() { find /modules "/lib/modules/$(uname -r)" -name 'rknpu_accel.ko*' 2>/dev/null | head -n1; }
loaded() { grep '^rknpu_accel ' /proc/modules; }

dmesg_clean() {
	! dmesg | grep -E 'WARNING:|BUG:|Oops|Call trace|Unable to handle|cut here|possible circular|scheduling while atomic|Enable stall request timed out|Disable paging request timed out|Error during raw reset|failed to set domain'
}
