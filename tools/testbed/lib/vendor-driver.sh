# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Builds Rockchip's NPU driver from somebody's copy of it for a kernel that is not Rockchip's.

# In which directory of DIR it is: a kernel's tree, or the driver alone.
rk_vendor_source() {
	local d
	for d in "$1/drivers/rknpu" "$1"; do
		if [ -e "$d/rknpu_drv.c" ] && [ -e "$d/include/rknpu_drv.h" ]; then
			realpath -- "$d"
			return
		fi
	done
	rk_die "$1 has no rknpu_drv.c: give a copy of Rockchip's kernel, or of its drivers/rknpu"
}

rk_build_vendor_driver() {
	local tmp=$1 src=$2 kdir header
	cp -r "$src"/*.c "$src/include" "$RK_TESTBED"/data/vendor-driver/* "$tmp/" || rk_die "cannot copy $src"
	# What stand-in.h has in their place.
	for header in soc/rockchip/rockchip_{iommu,ipa,opp_select,system_monitor}.h linux/version_compat_defs.h; do
		install -D -m 644 /dev/null "$tmp/stand-in/$header" || rk_die "cannot write to $tmp"
	done
	kdir=$(rk_kdir "$RK_KERNEL") || exit
	rk_step "build Rockchip's driver" rk_enter make -C "$kdir" M="$tmp" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- \
		CC=aarch64-linux-gnu-gcc -j2 modules
}

# rk_vendor_driver DIR SERIES: its path is in RK_VENDOR_DRIVER.
rk_vendor_driver() {
	local src
	src=$(rk_vendor_source "$1") || exit
	rk_root
	rk_kernel "$2"
	rk_cached vendor-driver "$( (cd "$src" && cat ./*.c include/*.h "$RK_TESTBED"/data/vendor-driver/*; basename "$RK_KERNEL") |
		rk_hash)" rk_build_vendor_driver "$src"
	# shellcheck disable=SC2034 # for whoever calls this
	RK_VENDOR_DRIVER=$RK_OUT/rknpu.ko
}
