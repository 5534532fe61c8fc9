# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Compilers for user space, each in a root of the Debian suite that has it.

# What building user space takes beside a compiler. Debian 11's pkg-config serves all architectures.
RK_USER_PACKAGES="make libdrm-dev:arm64 libncurses-dev:arm64 zlib1g-dev:arm64 libxxhash-dev binutils-aarch64-linux-gnu libc6-dev-arm64-cross pkg-config"

rk_user_compilers() { grep -v '^#' "$RK_TESTBED/data/user-compilers"; }

# rk_user_root SUITE: the root with all of the suite's compilers, made if need be; its path is in RK_USER_ROOT.
rk_user_root() {
	local packages
	packages="$RK_USER_PACKAGES $(rk_user_compilers | awk -v s="$1" '$2 == s { print $3 }' | tr '\n' ' ')"
	RK_USER_ROOT=$RK_CACHE/user-compilers-$1-$({ echo "$packages $(rk_host_arch) $(id -u)"; cat "$RK_TESTBED/lib/mkroot"; } | rk_hash)
	[ ! -d "$RK_USER_ROOT" ] || return 0
	rk_need_host mmdebstrap mmdebstrap
	rk_need_userns
	rk_cached "user-compilers-$1" "${RK_USER_ROOT##*-}" rk_build_root "$1" "$packages"
}
