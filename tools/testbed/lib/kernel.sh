# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Stock Debian kernels and kernel sources: finds, downloads and unpacks them into the cache.

# shellcheck source-path=SCRIPTDIR source=debug-kernel.sh
. "$RK_TESTBED/lib/debug-kernel.sh"

rk_kernel_suite() {
	local s
	s=$(awk -v k="$1" '$1 == k { print $2 }' "$RK_TESTBED/data/kernels")
	[ -n "$s" ] || rk_die "unknown kernel series '$1' (see tools/testbed/data/kernels)"
	echo "$s"
}

# rk_kernel_lacks SERIES WHAT: does it have no driver for that?
rk_kernel_lacks() {
	awk -v k="$1" -v what="$2" '$1 == k { for (i = 3; i <= NF; i++) found = found || $i == what } END { exit !found }' \
		"$RK_TESTBED/data/kernels"
}

# rk_kernel_serves SERIES CHIP: can a guest with it have that chip's NPU? Clocks and power that a kernel does not know are
# always on then, but page tables of 32 bits are the RK3588's and the RK3568's alone.
rk_kernel_serves() {
	case $2 in rk3562 | rk3576 | rv1126b) ! rk_kernel_lacks "$1" iommu-v2 ;; esac
}

# Newest release of the series that has an image; prints "RELEASE IMAGE-PACKAGE".
rk_kernel_newest() {
	local number=${1%%[a-z]*} ends rel p
	ends=$(awk -v k="$1" '$1 == k { for (i = 3; i <= NF; i++) if (sub(/^ends=/, "", $i)) print $i }' "$RK_TESTBED/data/kernels")
	apt-cache -c "$RK_APT" pkgnames "linux-headers-$number." |
		sed -nE "s/^linux-headers-(${number//./\\.}\.[0-9]+[^-]*(-[0-9]+)?${ends:--arm64})\$/\1/p" | sort -rV |
		while read -r rel; do
			# From 7.x on linux-image only depends on linux-binary, which holds the image.
			for p in "linux-binary-$rel" "linux-binary-unsigned-$rel" "linux-image-$rel" "linux-image-$rel-unsigned"; do
				[ -n "$(rk_apt_version "$p:arm64")" ] || continue
				echo "$rel $p"
				return
			done
		done
}

# The version apt would download of PKG, empty if there is none.
rk_apt_version() {
	apt-cache -c "$RK_APT" --no-all-versions show "$1" 2>/dev/null | sed -n 's/^Version: //p' | head -n1
}

# Since 7.3 the modules and the config are packages of their own.
rk_kernel_packages() {
	local rel=$1 image=$2 common p
	common=$(rk_kernel_common "$rel")
	echo "$image:arm64"
	for p in "linux-modules-$rel" "linux-base-$rel"; do
		[ -z "$(rk_apt_version "$p:arm64")" ] || echo "$p:arm64"
	done
	echo "linux-headers-$rel:arm64"
	echo "linux-headers-$common-common:all"
	for p in "linux-kbuild-$common" "linux-kbuild-${common%%-*}" "linux-kbuild-${common%.*}"; do
		[ -z "$(rk_apt_version "$p:$(rk_host_arch)")" ] || { echo "$p:$(rk_host_arch)"; break; }
	done
}

# What the flavours of a release have in common in their names.
rk_kernel_common() {
	local common=${1%%-arm64*}
	echo "${common%-rt}"
}

# Debian's header Makefiles name /usr/src; make them say where they really are.
rk_relocate_headers() {
	local m=$1/Makefile
	sed -i -e '1i rk_src := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/..)' -e 's,/usr/src/,$(rk_src)/,g' "$m"
}

# Image and config were in /boot until 7.x put them beside the modules, the image as vmlinuz, .unsigned or .signed.
rk_kernel_file() {
	local f
	for f in "$1/boot/$2-$3" "$1/usr/lib/modules/$3/$2"{,.unsigned,.signed}; do
		[ ! -f "$f" ] || { mv "$f" "$1/$2"; return; }
	done
	return 1
}

rk_build_kernel() {
	local tmp=$1 series=$2 rel=$3 image=$4 deb
	local packages
	mapfile -t packages < <(rk_kernel_packages "$rel" "$image")
	mkdir "$tmp/debs"
	rk_apt_get "$tmp/debs" "${packages[@]}"
	rk_step "unpack kernel $rel" sh -e -c '
		cd "$1"
		for d in debs/*.deb; do dpkg-deb -x "$d" .; done
		[ ! -d lib/modules ] || { mkdir -p usr/lib/modules; cp -al lib/modules/. usr/lib/modules/; rm -r lib; }
		rm -rf usr/share' sh "$tmp"
	for deb in "$tmp"/debs/*.deb; do
		# shellcheck disable=SC2016 # dpkg expands these
		dpkg-deb -W --showformat '${Package} ${Version} ${Architecture}\n' "$deb"
	done >"$tmp/packages"
	rm -r "$tmp/debs"
	rk_kernel_file "$tmp" vmlinuz "$rel" || rk_die "no image in $image"
	rk_kernel_file "$tmp" config "$rel" || rk_die "no config for $rel"
	rm -rf "$tmp"/usr/lib/modules/*/dtb "${tmp:?}/boot" "$tmp"/usr/lib/linux-image-*
	echo "$rel" >"$tmp/release"
	rk_relocate_headers "$tmp/usr/src/linux-headers-$rel"
	rk_root
	rk_step "list the modules of $rel" rk_enter sh -c '
		ln -s usr/lib "$1/lib" && depmod -b "$1" "$2" && rm "$1/lib"' sh "$tmp" "$rel"
}

# Is the driver built in?
rk_kernel_has_rknpu() { grep -q '^CONFIG_DRM_ACCEL_RKNPU=y' "$RK_KERNEL/config"; }

# rk_kernel_of_tree NAME: what tools/testbed/bin/tree-kernel made last.
rk_kernel_of_tree() {
	RK_KERNEL=$(find "$RK_CACHE" -maxdepth 1 -name "kernel-$1-*" -printf '%T@ %p\n' | sort -n | tail -n1 | cut -d' ' -f2-)
	[ -n "$RK_KERNEL" ] || rk_die "no kernel $1: make it with tools/testbed/bin/tree-kernel $1 DIR CONFIG, or builtin with make check-series"
	! rk_kernel_has_rknpu || return 0
	# shellcheck disable=SC2034 # for rk_make_module
	RK_MODULE_BINDS=(-b "$(readlink "$RK_KERNEL/source"):$(readlink "$RK_KERNEL/source")")
}

# rk_kernel SERIES: a cached kernel of the series, downloaded if there is none; its directory is in RK_KERNEL.
# rk_kernel SERIES update: the newest on the mirror.
# rk_kernel KIND: one of debug-kernel.sh's.
rk_kernel() {
	local series=$1 update=${2:-} found rel image
	local suite
	if rk_is_debug_kernel "$series"; then
		rk_debug_kernel "$series"
		return
	fi
	suite=$(rk_kernel_suite "$series") || exit
	if [ "$suite" = tree ]; then
		rk_kernel_of_tree "$series"
		return
	fi
	RK_KERNEL=$(find "$RK_CACHE" -maxdepth 1 -name "kernel-$series-*" | sort -V | tail -n1)
	[ -z "$RK_KERNEL" ] || [ -n "$update" ] || return 0
	rk_apt_dir "$suite"
	found=$(rk_kernel_newest "$series")
	if [ -z "$found" ]; then
		[ -n "$RK_KERNEL" ] || rk_die "kernel series $series is gone from $suite and none is cached"
		rk_say "kernel series $series is gone from $suite: using the cached $(cat "$RK_KERNEL/release")"
		return 0
	fi
	read -r rel image <<<"$found"
	rk_cached "kernel-$series" "$(rk_apt_version "$image:arm64" | tr -c 'A-Za-z0-9.+\n' _)" \
		rk_build_kernel "$series" "$rel" "$image"
	RK_KERNEL=$RK_OUT
}

# The directory for make -C.
rk_kdir() { echo "$1/usr/src/linux-headers-$(cat "$1/release")"; }

rk_build_linux_source() {
	local tmp=$1 series=$2
	rk_apt_get "$tmp" "linux-source-$series:all"
	rk_root
	rk_step "unpack linux-source-$series" rk_enter sh -e -c '
		cd "$1"
		dpkg-deb -W --showformat "\${Package} \${Version}\n" ./*.deb >package
		dpkg-deb --fsys-tarfile ./*.deb | tar -x --wildcards "./usr/src/*.tar.xz"
		tar -xf usr/src/linux-source-*.tar.xz
		rm -rf usr ./*.deb
		mv linux-source-* linux' sh "$tmp"
}

# rk_linux_source SERIES: Debian's kernel source of the series, unpacked; its directory is in RK_LINUX.
rk_linux_source() {
	local series=$1 suite version
	suite=$(rk_kernel_suite "$series") || exit
	RK_LINUX=$(find "$RK_CACHE" -maxdepth 1 -name "linux-source-$series-*" | sort -V | tail -n1)
	if [ -z "$RK_LINUX" ]; then
		rk_apt_dir "$suite"
		version=$(rk_apt_version "linux-source-$series:all")
		[ -n "$version" ] || rk_die "linux-source-$series is gone from $suite and none is cached"
		rk_cached "linux-source-$series" "$(printf %s "$version" | tr -c 'A-Za-z0-9.+' _)" \
			rk_build_linux_source "$series"
		RK_LINUX=$RK_OUT
	fi
	RK_LINUX=$RK_LINUX/linux
}
