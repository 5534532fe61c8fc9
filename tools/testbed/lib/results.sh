# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Files that keep what ran, on which kernel and commit, when, for how long and with which result.

# rk_results FILE WHAT: begins the file.
rk_results() {
	RK_RESULTS=$1
	mkdir -p -- "${1%/*}" || rk_die "cannot create ${1%/*}"
	{
		echo "# $2"
		echo "# commit: $(git -C "$RK_TOP" describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)"
		echo "# began: $(date -u '+%Y-%m-%d %H:%M:%S') UTC, on $(nproc) CPUs"
		printf '%-26s %-22s %6s %6s %7s %6s %6s  %s\n' '# what' kernel passed failed skipped 'wall s' 'CPU s' programs
	} >"$RK_RESULTS" || rk_die "cannot write $RK_RESULTS"
}

# rk_results_row WHAT KERNEL PASSED FAILED SKIPPED WALL CPU [TEXT...]
rk_results_row() {
	printf '%-26s %-22s %6s %6s %7s %6s %6s  %s\n' "${@:1:7}" "${*:8}" >>"$RK_RESULTS"
}

# rk_results_note TEXT...
rk_results_note() { printf '# %s\n' "$*" >>"$RK_RESULTS"; }

# rk_children_cpu FILE: seconds of processor time that this shell's children have taken which it has waited for.
rk_children_cpu() {
	# In a subshell it would be that one's children.
	times >"$1"
	awk 'END { split($0, t, /[ms ]+/); printf "%.1f", t[1] * 60 + t[2] + t[3] * 60 + t[4] }' "$1"
	rm -f -- "$1"
}
