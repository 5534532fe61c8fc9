# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# A small arm64 Debian of unpacked packages, so that a guest has the udev, modprobe and accounts that a board has.

# kmod opens the libraries of compressions itself, and depends on none; a real system has them for dpkg.
rk_board_packages="udev kmod liblzma5 libzstd1 util-linux passwd coreutils dash sed grep libc-bin base-passwd"

# rk_build_board TMP PACKAGES...
rk_build_board() {
	local tmp=$1 d root=$1/root
	shift
	mkdir -p "$tmp/debs/partial" "$root"/usr/{bin,sbin,lib} "$root"/{dev,proc,sys,run,tmp,etc,var}
	rk_step "download $*" apt-get -c "$RK_APT" -qy --no-install-recommends --download-only \
		-o "Dir::Cache::archives=$tmp/debs" -o APT::Architecture=arm64 -o APT::Architectures::=arm64 \
		install "$@"
	for d in bin sbin lib; do ln -s "usr/$d" "$root/$d"; done
	for d in "$tmp"/debs/*.deb; do
		rk_enter dpkg-deb --fsys-tarfile "$d" | tar -C "$root" -x --no-same-owner --keep-directory-symlink ||
			rk_die "cannot unpack $d"
	done
	# Of what is not needed, the large.
	rm -rf "$tmp/debs" "$root"/usr/lib/{systemd/system,udev/hwdb.d,udev/hwdb.bin,aarch64-linux-gnu/gconv,aarch64-linux-gnu/perl-base} \
		"$root"/usr/share/{doc,man,locale,info,i18n,bash-completion,zsh,perl5}
	for d in passwd group; do
		cp "$root/usr/share/base-passwd/$d.master" "$root/etc/$d" || rk_die "base-passwd holds no accounts"
	done
	# Systemd's package makes the group when it is installed.
	printf 'render:x:993:\nuser:x:1000:\n' >>"$root/etc/group"
	echo 'user:x:1000:1000::/tmp:/bin/sh' >>"$root/etc/passwd"
}

# rk_board [PACKAGE...]: with these in it, too. Its root directory is in RK_BOARD.
rk_board() {
	local hash packages
	read -r -a packages <<<"$rk_board_packages $*"
	rk_root
	hash=$({ echo "$RK_SUITE"; declare -f rk_build_board; echo "${packages[*]}"; } | rk_hash)
	[ -d "$RK_CACHE/board-$hash" ] || rk_apt_dir "$RK_SUITE"
	rk_cached board "$hash" rk_build_board "${packages[@]}"
	# shellcheck disable=SC2034 # for whoever calls this
	RK_BOARD=$RK_OUT/root
}
