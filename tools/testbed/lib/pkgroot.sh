# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The root in which packages are built and installed: apart from the build root, so that that one stays small.

# rk_pkg_root: make sure that it exists; its path is in RK_PKG_ROOT.
rk_pkg_root() {
	[ -z "${RK_PKG_ROOT:-}" ] || return 0
	RK_ROOT_LIST=$RK_TESTBED/data/package-packages
	local hash
	hash=$({ rk_root_packages; cat "$RK_TESTBED/lib/mkroot"; echo "$RK_SUITE $(rk_host_arch) $(id -u)"; } | rk_hash)
	if [ ! -d "$RK_CACHE/pkgroot-$hash" ]; then
		rk_need_host mmdebstrap mmdebstrap
		rk_need_userns
		rk_cached pkgroot "$hash" rk_build_root
	fi
	RK_PKG_ROOT=$RK_CACHE/pkgroot-$hash
	# shellcheck disable=SC2034 # rk_root_packages reads it
	RK_ROOT_LIST=
}

# rk_pkg_enter: as rk_enter.
rk_pkg_enter() {
	rk_pkg_root
	# shellcheck disable=SC2034 # rk_enter reads it
	(RK_ROOT=$RK_PKG_ROOT; rk_enter "$@")
}
