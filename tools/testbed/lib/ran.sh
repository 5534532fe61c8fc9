# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What ran on which commit: each test leaves a line in the cache, where it outlives clones; bin/status reads them.

# Lines of "DATE COMMAND COMMIT pass|fail", with tabs.
RK_RAN_FILE=$RK_CACHE/ran.tsv

# As make calls it, with the variables that somebody set; or by its own name and arguments. Not for whatever this starts.
RK_RAN=${RKNPU_TARGET:-${0##*/}${*:+ $*}}
unset RKNPU_TARGET

rk_commit() { git -C "$RK_TOP" describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || echo unknown; }

# The targets below the Makefile's headings of tests, and five others.
rk_test_targets() {
	awk -F: '/^## / { tests = /^## Tests/ }
		/^[a-z-]+:.*## / && (tests || /^(demo|check|lint|deb|htmldocs):/) { print $1 }' "$RK_TOP/Makefile"
}

# Empty if this is no test. Taken now: the tree may have changed when it ends.
RK_RAN_COMMIT=
! rk_test_targets | grep -qx -- "${RK_RAN%% *}" || RK_RAN_COMMIT=$(rk_commit)

# rk_note_results: keeps what stdin says, lines "pass|fail COMMAND"; the newest thousands.
rk_note_results() {
	[ -n "$RK_RAN_COMMIT" ] || return 0
	(
		flock 9
		{
			tail -n 5000 "$RK_RAN_FILE" 2>/dev/null
			while read -r result command; do
				printf '%s\t%s\t%s\t%s\n' "$(date -u +%FT%TZ)" "${command//\"/}" "$RK_RAN_COMMIT" "$result"
			done
		} >"$RK_RAN_FILE.new" && mv "$RK_RAN_FILE.new" "$RK_RAN_FILE"
	) 9>"$RK_CACHE/locks/ran"
}

# rk_note_run STATUS: keeps how a test ended, but for one that was interrupted.
rk_note_run() {
	local result=fail
	[ "$1" -lt 128 ] || return 0
	[ "$1" -ne 0 ] || result=pass
	rk_note_results <<<"$result $RK_RAN"
}

# rk_in_check_all COMMAND: does check-all contain it? Groups are boots, or the first word behind host.
rk_in_check_all() {
	local check=$RK_TESTBED/bin/check group
	case $1 in
	check) return 0 ;;
	check-all) return 1 ;;
	"check GROUPS="* | "check-all GROUPS="*)
		for group in ${1#*GROUPS=}; do
			rk_boots | awk -v g="$group" '$1 == g && (/ KERNEL=/ ? / CI / : !/ RARE /) { found = 1 } END { exit !found }' ||
				grep -qE "^	(long_)?host(_once)? $group " "$check" || return 1
		done
		;;
	*) grep -qE "^	(long_)?host .*(checks/$1\"?|checks/$1 --[a-z]+)\$" "$check" || { [ "$1" = qtest ] && grep -q 'host_once qtest ' "$check"; } ;;
	esac
}
