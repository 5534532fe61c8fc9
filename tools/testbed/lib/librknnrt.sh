# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What Rockchip's runtime needs beside it in a guest: our programs that call it, and the libraries of its architecture.

# rk_librknnrt_name FILE: its version and architecture, as 1.6.0-armhf; nothing for other files.
rk_librknnrt_name() {
	local arch version
	case $(od -An -tx1 -N20 -- "$1" | tr -d ' \n') in
	7f454c4601*2800) arch=armhf ;;
	7f454c4602*b700) arch=aarch64 ;;
	*) return 0 ;;
	esac
	version=$(grep -aoE 'librknnrt version: [0-9]+\.[0-9]+\.[0-9]+' -- "$1" | head -n1)
	[ -z "$version" ] || echo "${version##* }-$arch"
}

# rk_librknnrt ARCH: RK_LIBRKNNRT holds the programs and, in lib/, the libraries; RK_LIBRKNNRT_LOADER is the loader's name.
rk_librknnrt() {
	local triplet
	case $1 in
	armhf) triplet=arm-linux-gnueabihf RK_LIBRKNNRT_LOADER=ld-linux-armhf.so.3 ;;
	aarch64) triplet=aarch64-linux-gnu RK_LIBRKNNRT_LOADER=ld-linux-aarch64.so.1 ;;
	esac
	RK_LIBRKNNRT=$RK_TOP/build/librknnrt/$1
	rk_root
	rk_step "build the programs for librknnrt, $1" rk_enter make -C "$RK_TOP/tools/librknnrt" \
		CC=$triplet-gcc AR=$triplet-ar O="$RK_LIBRKNNRT"
	rm -rf "${RK_LIBRKNNRT:?}/lib"
	mkdir -p "$RK_LIBRKNNRT/lib" || rk_die "cannot create $RK_LIBRKNNRT/lib"
	# What the versions name as needed.
	rk_step "pick libraries of $1" rk_enter python3 "$RK_TESTBED/lib/libraries.py" "/usr/$triplet" "$RK_LIBRKNNRT/lib" \
		"$RK_LIBRKNNRT_LOADER" libstdc++.so.6 libgcc_s.so.1 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1
}
