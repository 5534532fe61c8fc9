# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Other compilers for the module than the build root's, each in a root of the Debian suite that has it.

# What building a module takes beside a compiler.
RK_COMPILER_PACKAGES="make perl kmod bc xz-utils binutils-aarch64-linux-gnu"

rk_compilers() { grep '^[0-9]' "$RK_TESTBED/data/compilers"; }

# Debian configured its kernels for gcc and the headers lack what could configure them anew. So make is told what
# the configuration of a kernel built by clang says of the compiler; the kernel's headers still say that it is gcc.
RK_CLANG_CONFIG=(CONFIG_CC_IS_GCC= CONFIG_GCC_VERSION=0 CONFIG_CC_IS_CLANG=y CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=
	CONFIG_CC_IMPLICIT_FALLTHROUGH=-Wimplicit-fallthrough CONFIG_UBSAN_BOUNDS_STRICT= CONFIG_UBSAN_ARRAY_BOUNDS=y)

# rk_compiler SERIES NAME: its variables for make are in RK_CC_VARS and its root, made if need be, in RK_CC_ROOT.
rk_compiler() {
	local series=$1 name=$2 suite packages cc
	read -r suite cc < <(rk_compilers | awk -v k="$series" -v c="$name" '$1 == k && $2 == c { print $3, $5 }')
	[ -n "${cc:-}" ] || rk_die "no compiler $name for $series (see tools/testbed/data/compilers)"
	RK_CC_VARS=("CC=$cc")
	case $cc in clang*) RK_CC_VARS+=("${RK_CLANG_CONFIG[@]}" "CONFIG_CLANG_VERSION=${cc#clang-}0000") ;; esac
	# One root for all of a suite's.
	packages="$RK_COMPILER_PACKAGES $(rk_compilers | awk -v s="$suite" '$3 == s && !n[$4]++ { print $4 }' | tr ',\n' ' ')"
	RK_CC_ROOT=$RK_CACHE/compilers-$suite-$({ echo "$packages $(rk_host_arch) $(id -u)"; cat "$RK_TESTBED/lib/mkroot"; } | rk_hash)
	[ ! -d "$RK_CC_ROOT" ] || return 0
	rk_need_host mmdebstrap mmdebstrap
	rk_need_userns
	rk_cached "compilers-$suite" "${RK_CC_ROOT##*-}" rk_build_root "$suite" "$packages"
}
