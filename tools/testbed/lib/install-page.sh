# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The commands of a section of install.rst, so that tests execute what is written there.

RK_INSTALL_PAGE=$RK_TOP/Documentation/accel/rknpu/install.rst

# rk_page_blocks DIR SECTION...: each literal block of the sections as a file DIR/N, without its indentation.
rk_page_blocks() {
	local dir=$1
	shift
	printf '%s\n' "$@" | awk -v dir="$dir" '
		NR == FNR { wanted[$0]; next }
		/^=+$/ && last != "" { inside = (last in wanted); open = 0 }
		{ last = $0 }
		!inside { next }
		/^    / { if (!open) n++; open = 1; sub(/^ +/, ""); print >(dir "/" n); next }
		{ open = 0 }' - "$RK_INSTALL_PAGE"
}

# rk_page_block DIR TEXT: the file of the one block that holds TEXT.
rk_page_block() {
	local found
	mapfile -t found < <(grep -lF -- "$2" "$1"/*)
	[ ${#found[@]} -eq 1 ] || rk_die "$RK_INSTALL_PAGE has ${#found[@]} blocks with: $2"
	echo "${found[0]}"
}
