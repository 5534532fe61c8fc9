# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Builds the in-tree rocket driver, which Debian's kernels leave out, from Debian's kernel source.

rk_build_rocket() {
	local tmp=$1 kdir
	cp "$RK_LINUX"/drivers/accel/rocket/*.[ch] "$RK_LINUX"/drivers/accel/rocket/Makefile "$tmp/" ||
		rk_die "this kernel source has no rocket driver"
	kdir=$(rk_kdir "$RK_KERNEL") || exit
	rk_step "build rocket.ko" rk_enter make -C "$kdir" M="$tmp" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- \
		CONFIG_DRM_ACCEL_ROCKET=m -j2 modules
}

# rk_rocket SERIES: its path is in RK_ROCKET.
rk_rocket() {
	rk_root
	rk_kernel "$1"
	rk_linux_source "$1"
	rk_cached rocket "$( (cat "$RK_LINUX"/drivers/accel/rocket/*.[ch]; basename "$RK_KERNEL") | rk_hash)" rk_build_rocket
	# shellcheck disable=SC2034 # for whoever calls this
	RK_ROCKET=$RK_OUT/rocket.ko
}
