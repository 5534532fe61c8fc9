# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# A root of arm64 alone. Its programs run as they are on such a host, and elsewhere by qemu-user, which the kernel is
# told of in a user namespace (since 6.7), so that the host's own settings stay as they are.

# shellcheck source-path=SCRIPTDIR source=qemu.sh
. "$RK_TESTBED/lib/qemu.sh"
# shellcheck source-path=SCRIPTDIR source=pkgroot.sh
. "$RK_TESTBED/lib/pkgroot.sh"

# What a file begins with that is a program of arm64, and which bits of it count, as /proc/sys/fs/binfmt_misc wants them.
RK_ARM64_MAGIC='\x7f\x45\x4c\x46\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
RK_ARM64_MASK='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'

rk_is_arm64() { [ "$(rk_host_arch)" = arm64 ]; }

rk_build_qemu_user() {
	rk_apt_get "$1" "qemu-user:$(rk_host_arch)"
	sh -e -c 'cd "$1"; dpkg-deb --fsys-tarfile qemu-user_*.deb | tar -x --strip-components=3 ./usr/bin/qemu-aarch64
		rm qemu-user_*.deb; mkdir binfmt' sh "$1" || rk_die "cannot unpack qemu-user"
}

# rk_qemu_user: qemu-aarch64 of Debian, which is static, in the directory RK_QEMU_USER.
rk_qemu_user() {
	RK_QEMU_USER=$RK_CACHE/qemu-user-$RK_SUITE
	[ -d "$RK_QEMU_USER" ] || rk_apt_dir "$RK_SUITE"
	rk_cached qemu-user "$RK_SUITE" rk_build_qemu_user
}

# rk_map_all PID: root's process enters a user namespace; its ids stay what they are.
rk_map_all() {
	local before
	before=$(readlink /proc/self/ns/user)
	while [ "$(readlink "/proc/$1/ns/user")" = "$before" ]; do sleep 0.05; done
	{ echo 0 0 4294967295 >"/proc/$1/gid_map" && echo 0 0 4294967295 >"/proc/$1/uid_map"; } 2>/dev/null
}

# rk_arm64 CMD...: as root of a namespace with mounts of its own, in which programs of arm64 run. Where the kernel cannot have
# that, they do if the host runs them.
rk_arm64() {
	local ns=(--mount --propagation unchanged) format='' map=: pid
	rk_on_root || ns+=(--user --map-root-user --map-auto)
	if ! rk_is_arm64; then
		rk_qemu_user
		# F: opened now, and so there in any root. P: the first argument stays what it is.
		format=":rknpu-arm64:M::$RK_ARM64_MAGIC:$RK_ARM64_MASK:$RK_QEMU_USER/qemu-aarch64:PF"
		! rk_on_root || { ns+=(--user); map=rk_map_all; }
	fi
	(
		pid=$BASHPID
		$map "$pid" &
		exec unshare "${ns[@]}" -- sh -c '
			until grep -q . /proc/self/uid_map; do sleep 0.05; done
			dir=$1 format=$2
			shift 2
			[ -z "$format" ] ||
				{ mount -t binfmt_misc rknpu "$dir" && printf %s "$format" >"$dir/register"; } 2>/dev/null
			exec "$@"' sh "${RK_QEMU_USER:-}/binfmt" "$format" "$@"
	)
}

# Not by lib/mkroot: mmdebstrap looks for qemu-user where this host would have it.
rk_build_native_root() {
	local src
	src=$(rk_sources "$RK_SUITE" | grep '^deb ') || exit
	rk_step "make the root of arm64 (Debian $RK_SUITE)" \
		rk_arm64 env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		sh -c 'printf "%s\n" "$4" | mmdebstrap --mode=root --skip=check/qemu --variant=apt --architectures=arm64 \
			--include="$3" --dpkgopt=force-unsafe-io --dpkgopt="path-exclude=/usr/share/doc/*" \
			--dpkgopt="path-exclude=/usr/share/man/*" --dpkgopt="path-exclude=/usr/share/locale/*" \
			--aptopt="Acquire::Languages \"none\"" "$2" "$1" -' \
		sh "$1" "$RK_SUITE" "$(rk_root_packages | xargs | tr ' ' ,)" "$src"
	rk_userns sh -c 'rm -rf "$1"/var/cache/apt/archives/*.deb' sh "$1"
}

# rk_native_root: the root in which packages are built for arm64 as on such a machine; its path is in RK_NATIVE_ROOT.
rk_native_root() {
	[ -z "${RK_NATIVE_ROOT:-}" ] || return 0
	# shellcheck disable=SC2034 # rk_root_packages reads it
	local hash RK_ROOT_LIST=$RK_TESTBED/data/native-packages
	rk_need_userns
	rk_busybox
	rk_arm64 "$RK_BUSYBOX" true 2>/dev/null ||
		rk_die "programs of arm64 do not run here: that takes Linux 6.7 with binfmt_misc, or the packages qemu-user-static and binfmt-support"
	hash=$({ rk_root_packages; declare -f rk_build_native_root; echo "$RK_SUITE $(rk_host_arch) $(id -u)"; } | rk_hash)
	if [ ! -d "$RK_CACHE/nativeroot-$hash" ]; then
		rk_need_host mmdebstrap mmdebstrap
		rk_cached nativeroot "$hash" rk_build_native_root
	fi
	RK_NATIVE_ROOT=$RK_CACHE/nativeroot-$hash
}

# rk_native_enter CMD...: as rk_enter.
rk_native_enter() {
	rk_native_root
	rk_arm64 bash "$RK_TESTBED/lib/enter" "$RK_NATIVE_ROOT" "$PWD" "$RK_CACHE:$RK_CACHE" "$RK_TOP:$RK_TOP" -- "$@"
}
