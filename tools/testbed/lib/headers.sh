# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Debian's kernel header packages as files, for tests that install them.

rk_build_headers() {
	local tmp=$1 rel=$2 image=$3 packages version
	mapfile -t packages < <(rk_kernel_packages "$rel" "$image" | grep -E '^linux-(headers|kbuild|base)-')
	rk_apt_get "$tmp" "${packages[@]}" linux-base:all
	# In place of a kernel image, which would want an initramfs, and of compilers, which the root has of its own.
	version=$(rk_apt_version "linux-headers-$rel:arm64")
	mkdir -p "$tmp/x/DEBIAN"
	cat >"$tmp/x/DEBIAN/control" <<-END
	Package: rknpu-test-standin-${rel%-arm64}
	Version: 1
	Architecture: arm64
	Maintainer: none <none@none.invalid>
	Provides: gcc-14, gcc-14-for-host, linux-image-$rel (= $version)
	Description: stands for a kernel image and a compiler
	END
	rk_enter dpkg-deb -b "$tmp/x" "$tmp/rknpu-test-standin.deb" >/dev/null || rk_die "cannot make a package"
	rm -r "$tmp/x"
	echo "$rel" >"$tmp/release"
}

# rk_headers SERIES: the directory of the .deb files is in RK_HEADERS, its file release says of which kernel.
rk_headers() {
	local series=$1 suite found rel image
	suite=$(rk_kernel_suite "$series") || exit
	rk_root
	RK_HEADERS=$(find "$RK_CACHE" -maxdepth 1 -name "headers-$series-*" | sort -V | tail -n1)
	[ -z "$RK_HEADERS" ] || return 0
	rk_apt_dir "$suite"
	found=$(rk_kernel_newest "$series")
	[ -n "$found" ] || rk_die "kernel series $series is gone from $suite and its headers are not cached"
	read -r rel image <<<"$found"
	rk_cached "headers-$series" "$(rk_apt_version "$image:arm64" | tr -c 'A-Za-z0-9.+\n' _)" \
		rk_build_headers "$rel" "$image"
	RK_HEADERS=$RK_OUT
}
