# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Kernels with detectors built in: made from Debian's kernel source and tools/testbed/data/kernel-configs, and cached.

RK_DEBUG_SERIES=7.3
RK_KERNEL_CONFIGS=$RK_TESTBED/data/kernel-configs

rk_is_debug_kernel() { [ "$1" != base ] && [ -e "$RK_KERNEL_CONFIGS/$1" ]; }

rk_kernel_make() {
	local obj=$1
	shift
	rk_enter env CCACHE_DISABLE=1 make -C "$RK_LINUX" O="$obj" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- -j2 "$@"
}

# rk_kernel_config_holds OBJ KIND [FILE...]: a word of ours that another option overruled would be a detector that
# silently does not detect.
rk_kernel_config_holds() {
	local obj=$1 kind=$2 line missing=
	shift 2
	[ $# -gt 0 ] || set -- "$RK_KERNEL_CONFIGS/base" "$RK_KERNEL_CONFIGS/$kind"
	while read -r line; do
		case $line in
		CONFIG_*=n) ! grep -q "^${line%=n}=" "$obj/.config" || missing+=" $line" ;;
		CONFIG_*) grep -qxF -- "$line" "$obj/.config" || missing+=" $line" ;;
		esac
	done < <(cat "$@")
	[ -z "$missing" ] || rk_die "the $kind kernel does not take these options:$missing"
}

# What a module build needs stays; objects, which are most of the size, go.
rk_kernel_prune() {
	find "$1" \( -name '*.o' -o -name '*.a' -o -name '*.cmd' -o -name '*.order' -o -name '*.mod' \
		-o -name '*.mod.c' -o -name '*.ko' \) -not -path '*/scripts/*' -delete
	rm -rf "$1"/vmlinux* "$1"/System.map "$1"/.tmp_* "$1"/arch/arm64/boot "$1"/modules.*
}

rk_build_debug_kernel() {
	local tmp=$1 kind=$2 rel obj
	obj=$tmp/obj
	mkdir "$obj"
	cat "$RK_KERNEL_CONFIGS/base" "$RK_KERNEL_CONFIGS/$kind" >"$obj/wanted"
	rk_step "configure the $kind kernel" rk_kernel_make "$obj" KCONFIG_ALLCONFIG="$obj/wanted" allnoconfig
	rk_kernel_config_holds "$obj" "$kind"
	rk_step "build the $kind kernel" rk_kernel_make "$obj" Image modules
	rk_step "install the modules of the $kind kernel" rk_kernel_make "$obj" INSTALL_MOD_PATH="$tmp/usr" \
		INSTALL_MOD_STRIP=1 modules_install
	rel=$(cat "$obj/include/config/kernel.release") || rk_die "the $kind kernel has no release"
	echo "$rel" >"$tmp/release"
	rm -f "$tmp/usr/lib/modules/$rel/build" "$tmp/usr/lib/modules/$rel/source"
	{ cp "$obj/arch/arm64/boot/Image" "$tmp/vmlinuz" && cp "$obj/.config" "$tmp/config" &&
		cp "$RK_LINUX/../package" "$tmp/packages"; } || rk_die "cannot keep the $kind kernel"
	rk_kernel_prune "$obj"
	mkdir -p "$tmp/usr/src"
	mv "$obj" "$tmp/usr/src/linux-headers-$rel"
	# It names the directory it was made in.
	# shellcheck disable=SC2016 # make expands this
	sed -i 's,^export KBUILD_OUTPUT = .*,export KBUILD_OUTPUT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))),' \
		"$tmp/usr/src/linux-headers-$rel/Makefile"
}

# rk_debug_kernel KIND: a kernel configured by kernel-configs/KIND; its directory is in RK_KERNEL.
rk_debug_kernel() {
	local kind=$1 hash
	rk_root
	rk_linux_source $RK_DEBUG_SERIES
	hash=$({
		basename "$(dirname "$RK_LINUX")"
		basename "$RK_ROOT"
		declare -f rk_kernel_make rk_build_debug_kernel rk_kernel_prune
		cat "$RK_KERNEL_CONFIGS/base" "$RK_KERNEL_CONFIGS/$kind"
	} | rk_hash)
	rk_cached "kernel-$kind" "$hash" rk_build_debug_kernel "$kind"
	# shellcheck disable=SC2034 # for the caller
	RK_KERNEL=$RK_OUT
}
