# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Debian's TensorFlow Lite and Mesa's delegate for the guest: finds, downloads and unpacks them into the cache.

# The newest package whose name is PREFIX and a version, on arm64.
rk_apt_versioned() {
	local p
	apt-cache -c "$RK_APT" pkgnames "$1" | grep -E "^$1[0-9][0-9.]*\$" | sort -rV | while read -r p; do
		[ -z "$(rk_apt_version "$p:arm64")" ] || { echo "$p"; return; }
	done
}

rk_build_teflon() {
	local tmp=$1 deb lite
	shift
	mkdir -p "$tmp"/{debs/partial,root,lib,include}
	# An empty list of installed packages makes apt fetch everything down to libc.
	rk_step "download $*" apt-get -c "$RK_APT" -qy --no-install-recommends --download-only \
		-o "Dir::Cache::archives=$tmp/debs" install "${@/%/:arm64}"
	rk_apt_get "$tmp/debs" libtensorflow-lite-dev:arm64
	for deb in "$tmp"/debs/*.deb; do
		# shellcheck disable=SC2016 # dpkg expands these
		dpkg-deb -W --showformat '${Package} ${Version} ${Architecture}\n' "$deb"
	done >"$tmp/packages"
	rk_step "unpack $*" sh -e -c 'for d in "$1"/debs/*.deb; do dpkg-deb -x "$d" "$1/root"; done' sh "$tmp"
	mv "$tmp/root/usr/include/tensorflow" "$tmp/include/" || rk_die "libtensorflow-lite-dev holds no headers"
	lite=$(find "$tmp/root" -name 'libtensorflow-lite.so.*' -type f)
	rk_root
	rk_step "pick the libraries of $*" rk_enter python3 "$RK_TESTBED/lib/libraries.py" "$tmp/root" "$tmp/lib" \
		libteflon.so "$(basename "$lite")" ld-linux-aarch64.so.1
	rm -rf "$tmp/debs" "$tmp/root"
}

# rk_teflon SUITE: a cached copy of the suite's packages; its directory (lib, include, packages) is in RK_TEFLON.
# rk_teflon SUITE update: the newest on the mirror.
rk_teflon() {
	local suite=$1 update=${2:-} lite versions
	RK_TEFLON=$(find "$RK_CACHE" -maxdepth 1 -name "teflon-$suite-*" | sort -V | tail -n1)
	[ -z "$RK_TEFLON" ] || [ -n "$update" ] || return 0
	rk_apt_dir "$suite"
	lite=$(rk_apt_versioned libtensorflow-lite)
	if [ -z "$lite" ] || [ -z "$(rk_apt_version mesa-teflon-delegate:arm64)" ]; then
		[ -n "$RK_TEFLON" ] || rk_die "$suite has no mesa-teflon-delegate or libtensorflow-lite for arm64"
		rk_say "$suite lacks the delegate now: using the cached $(basename "$RK_TEFLON")"
		return 0
	fi
	versions=$(rk_apt_version mesa-teflon-delegate:arm64)+$(rk_apt_version "$lite:arm64")
	rk_cached "teflon-$suite" "$(printf %s "$versions" | tr -c 'A-Za-z0-9.+' _)" \
		rk_build_teflon mesa-teflon-delegate "$lite"
	RK_TEFLON=$RK_OUT
}

# The delegate's upstream version.
rk_teflon_mesa() { sed -n 's/^mesa-teflon-delegate \([0-9.]*\).*/\1/p' "$1/packages"; }

# Where the node is a render node, the name that the delegate opens: udev's work on a board (check-udev tests that).
# shellcheck disable=SC2016,SC2034 # the guest expands it; for those who source this
rk_teflon_name_node='node=/sys/devices/platform/rknpu/rocket_render_node
	[ ! -e $node ] || [ -e /dev/accel/accel0 ] ||
		{ mkdir -p /dev/accel && ln -s "/dev/dri/$(cat $node)" /dev/accel/accel0; }'

# rk_teflon_check DIR: teflon_check and its models in DIR, for the libraries in RK_TEFLON.
rk_teflon_check() {
	rk_step "build the models and teflon_check" rk_enter make -C "$RK_TOP/tools/teflon" \
		CC=aarch64-linux-gnu-gcc O="$1" TFLITE="$RK_TEFLON"
}
