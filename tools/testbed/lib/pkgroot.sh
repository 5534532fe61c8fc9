# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Roots apart from the build root, so that that one stays small: for packages, the documentation, what networks give,
# and to count coverage.

# rk_extra_root NAME LIST: make sure that the root with the packages of the file LIST exists; its path is in RK_OUT.
rk_extra_root() {
	# shellcheck disable=SC2034 # rk_root_packages reads it
	local hash RK_ROOT_LIST=$RK_TESTBED/data/$2
	hash=$({ rk_root_packages; cat "$RK_TESTBED/lib/mkroot"; echo "$RK_SUITE $(rk_host_arch) $(id -u)"; } | rk_hash)
	if [ ! -d "$RK_CACHE/$1-$hash" ]; then
		rk_need_host mmdebstrap mmdebstrap
		rk_need_userns
		rk_cached "$1" "$hash" rk_build_root
	fi
	RK_OUT=$RK_CACHE/$1-$hash
}

# rk_pkg_root: the root in which packages are built and installed; its path is in RK_PKG_ROOT.
rk_pkg_root() {
	[ -z "${RK_PKG_ROOT:-}" ] || return 0
	rk_extra_root pkgroot package-packages
	RK_PKG_ROOT=$RK_OUT
}

# rk_ggml_root: the same, of the suite that has libggml-dev.
rk_ggml_root() {
	# shellcheck disable=SC2034 # others read it
	local RK_SUITE=forky
	rk_extra_root ggmlroot ggml-packages
	RK_PKG_ROOT=$RK_OUT
}

# rk_pkg_enter: as rk_enter.
rk_pkg_enter() {
	rk_pkg_root
	# shellcheck disable=SC2034 # rk_enter reads it
	(RK_ROOT=$RK_PKG_ROOT; rk_enter "$@")
}

# rk_coverage_enter: as rk_enter, in the root that counts coverage.
rk_coverage_enter() {
	[ -n "${RK_COVERAGE_ROOT:-}" ] || { rk_extra_root covroot coverage-packages; RK_COVERAGE_ROOT=$RK_OUT; }
	# shellcheck disable=SC2034 # rk_enter reads it
	(RK_ROOT=$RK_COVERAGE_ROOT; rk_enter "$@")
}

# rk_doc_enter: as rk_enter, in the root that renders the documentation.
rk_doc_enter() {
	[ -n "${RK_DOC_ROOT:-}" ] || { rk_extra_root docroot doc-packages; RK_DOC_ROOT=$RK_OUT; }
	# shellcheck disable=SC2034 # rk_enter reads it
	(RK_ROOT=$RK_DOC_ROOT; rk_enter "$@")
}

# rk_known_enter: as rk_enter, in the root that computes what networks must give.
rk_known_enter() {
	[ -n "${RK_KNOWN_ROOT:-}" ] || { rk_extra_root knownroot known-packages; RK_KNOWN_ROOT=$RK_OUT; }
	# shellcheck disable=SC2034 # rk_enter reads it
	(RK_ROOT=$RK_KNOWN_ROOT; rk_enter "$@")
}
