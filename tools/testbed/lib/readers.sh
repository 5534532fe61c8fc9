# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Debian's monitors for the guest: finds, downloads and unpacks them into the cache, as a root of their own.

# The monitors; what runs them on a terminal (python3-pyte) and what terminals can do (ncurses-base).
RK_READERS_PACKAGES=(glances linux-perf nvtop python3-pyte ncurses-base)

rk_build_readers() {
	local tmp=$1 deb
	mkdir -p "$tmp"/{debs/partial,root/usr/{bin,sbin,lib}}
	# An empty list of installed packages makes apt fetch everything down to libc. Some are for all architectures, and
	# want the others to be of the guest's.
	rk_step "download ${RK_READERS_PACKAGES[*]}" apt-get -c "$RK_APT" -o APT::Architecture=arm64 -qy \
		--no-install-recommends --download-only -o "Dir::Cache::archives=$tmp/debs" install "${RK_READERS_PACKAGES[@]}"
	for deb in "$tmp"/debs/*.deb; do
		# shellcheck disable=SC2016 # dpkg expands these
		dpkg-deb -W --showformat '${Package} ${Version} ${Architecture}\n' "$deb"
	done >"$tmp/packages"
	# The guest has them in memory: what no monitor reads stays out.
	rk_step "unpack ${RK_READERS_PACKAGES[*]}" sh -e -c '
		for d in "$1"/debs/*.deb; do dpkg-deb -x "$d" "$1/root"; done
		cd "$1/root"
		for d in bin sbin lib; do [ -e $d ] || ln -s usr/$d $d; done
		rm -rf usr/share/doc usr/share/man usr/share/locale usr/share/perl* usr/share/zoneinfo usr/lib/systemd \
			usr/lib/*/perl* usr/lib/*/gconv usr/lib/*/systemd' sh "$tmp"
	for deb in glances nvtop perf; do
		[ -x "$tmp/root/usr/bin/$deb" ] || rk_die "the packages lack $deb"
	done
	rm -rf "$tmp/debs"
}

# rk_readers SUITE: a cached copy of the suite's packages; its directory (root, packages) is in RK_READERS.
# rk_readers SUITE update: the newest on the mirror.
rk_readers() {
	local suite=$1 update=${2:-} versions
	RK_READERS=$(find "$RK_CACHE" -maxdepth 1 -name "readers-$suite-*" | sort -V | tail -n1)
	[ -z "$RK_READERS" ] || [ -n "$update" ] || return 0
	rk_apt_dir "$suite"
	versions=$(rk_apt_version glances)+$(rk_apt_version linux-perf:arm64)+$(rk_apt_version nvtop:arm64)
	[[ "+$versions+" != *++* ]] || rk_die "cannot download ${RK_READERS_PACKAGES[*]}: $suite lacks one for arm64, or there is no network"
	rk_cached "readers-$suite" "$(printf %s "$versions" | tr -c 'A-Za-z0-9.+' _)" rk_build_readers
	RK_READERS=$RK_OUT
}
