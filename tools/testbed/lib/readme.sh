# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The commands of a section of README.md, so that tests execute what is written there.

# rk_readme_blocks SECTION DIR: each indented block of the section as a file DIR/N, without its indentation.
rk_readme_blocks() {
	awk -v section="$1" -v dir="$2" '
		/^#/ { inside = ($0 == section); next }
		!inside { next }
		/^    / { if (!open) n++; open = 1; sub(/^ +/, ""); print >(dir "/" n); next }
		{ open = 0 }' "$RK_TOP/README.md"
}

# rk_readme_block DIR TEXT: the file of the one block that holds TEXT.
rk_readme_block() {
	local found
	mapfile -t found < <(grep -lF -- "$2" "$1"/*)
	[ ${#found[@]} -eq 1 ] || rk_die "README.md has ${#found[@]} blocks with: $2"
	echo "${found[0]}"
}
