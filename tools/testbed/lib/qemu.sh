# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# QEMU for the testbed: Debian's source built once, then our overlay built on a copy of that tree.

RK_QEMU_CONFIGURE=(
	--cc=/rk/qemu/cc --disable-debug-info
	--target-list=aarch64-softmmu --without-default-features --without-default-devices
	--with-devices-aarch64=rknpu --enable-tcg --enable-fdt=system --enable-pixman
	--enable-trace-backends=log --disable-docs --disable-download --disable-install-blobs
)

# Built with the stock tree so that a change of ours never waits for them.
RK_QEMU_STOCK_TARGETS=(qemu-system-aarch64)

# Devices beyond what the virt machine selects by itself.
rk_qemu_devices() {
	cat <<-END
	CONFIG_ARM_VIRT=y
	CONFIG_VIRTIO_SERIAL=y
	CONFIG_VIRTIO_RNG=y
	CONFIG_VIRTIO_BLK=y
	CONFIG_PVPANIC_MMIO=n
	END
}

# A tree is always mounted at the same place, so that paths inside it stay true when it is copied.
rk_in_qemu() {
	local tree=$1
	shift
	rk_enter -b "$tree:/rk/qemu" "$@"
}

rk_fetch_qemu() {
	local tmp=$1
	rk_step "download QEMU's source" sh -c 'cd "$1" && apt-get -c "$2" -q source --download-only qemu' \
		sh "$tmp" "$RK_APT"
	rk_root
	rk_step "unpack QEMU's source" rk_enter -b "$tmp:/rk/src" sh -e -c '
		cd /rk/src
		basename ./*.dsc .dsc >version
		dpkg-source --no-check -x ./*.dsc qemu
		rm -rf qemu/roms/*
		rm -f ./*.dsc ./*.xz ./*.gz'
}

# For qemu-cc: osdep.h compiled with the options of a common file and with those of one of the target, each fast and slow.
rk_qemu_precompile() {
	rk_step "compile what all of QEMU includes" rk_in_qemu "$1" sh -e -c '
		cd /rk/qemu/build
		ninja config-poison.h
		precompile() {
			object=$(ninja -t targets all | grep -m1 -o "^$2.a.p/[a-z].*\.c\.o")
			flags=$(ninja -t commands "$object" | sed -n "\$ { s/^[^ ]* //; s/ -MD .*//; p }")
			for slow in "" 1; do
				mkdir -p "/rk/qemu/first/$1$slow"
				echo "#include \"qemu/osdep.h\"" >"/rk/qemu/first/$1$slow/osdep.h"
				eval "cc $flags ${slow:+-O0} -x c-header /rk/qemu/first/$1$slow/osdep.h"
			done
		}
		precompile common libcommon
		precompile target libqemu-aarch64-softmmu'
}

rk_build_qemu_stock() {
	local tmp=$1
	rk_fetch_qemu "$tmp"
	mv "$tmp/qemu" "$tmp/src"
	cp "$RK_TESTBED/lib/qemu-cc" "$tmp/cc"
	rk_qemu_devices >"$tmp/src/configs/devices/aarch64-softmmu/rknpu.mak"
	rk_step "configure QEMU" rk_in_qemu "$tmp" sh -e -c '
		mkdir -p /rk/qemu/build
		cd /rk/qemu/build
		../src/configure "$@"' sh "${RK_QEMU_CONFIGURE[@]}"
	rk_qemu_precompile "$tmp"
	# Once and for all, so there is nothing to keep of it.
	rk_step "build QEMU" rk_in_qemu "$tmp" env CCACHE_DISABLE=1 ninja -C /rk/qemu/build "${RK_QEMU_STOCK_TARGETS[@]}"
}

rk_qemu_stock_hash() {
	{
		printf '%s\n' "${RK_QEMU_CONFIGURE[@]}" "${RK_QEMU_STOCK_TARGETS[@]}"
		rk_qemu_devices
		cat "$RK_TESTBED/lib/qemu-cc"
		declare -f rk_qemu_precompile
	} | rk_hash
}

# rk_qemu_stock: the stock tree; RK_QEMU_STOCK holds its directory.
rk_qemu_stock() {
	local hash
	hash=$(rk_qemu_stock_hash)
	[ -d "$RK_CACHE/qemu-stock-$hash" ] || rk_apt_dir "$RK_SUITE"
	rk_cached qemu-stock "$hash" rk_build_qemu_stock
	RK_QEMU_STOCK=$RK_OUT
}

# --- our overlay -----------------------------------------------------------

RK_QEMU_OVERLAY=$RK_TOP/tools/qemu

# What of tools/qemu goes into QEMU's tree: all but the patches, the documents and the tests that need no QEMU.
rk_qemu_overlay_files() {
	(cd "$RK_QEMU_OVERLAY" && find -L . -type f -not -path './patches/*' -not -path './docs/*' -not -path './tests/unit/*' \
		-not -path './tests/fuzz/*' \
		-not -name '*~' -not -name '.*.sw?' -printf '%P\n' | LC_ALL=C sort)
}

rk_qemu_patches() {
	find "$RK_QEMU_OVERLAY/patches" -name '*.patch' | LC_ALL=C sort
}

# Kconfig symbols that the overlay adds are all wanted; without default devices nobody else selects them.
rk_qemu_own_devices() {
	local p
	rk_qemu_patches | while read -r p; do
		sed -nE 's/^\+config ([A-Z0-9_]+)$/CONFIG_\1=y/p' "$p"
	done
	rk_qemu_overlay_files | grep -E '(^|/)Kconfig$' | while read -r p; do
		sed -nE 's/^config ([A-Z0-9_]+)$/CONFIG_\1=y/p' "$RK_QEMU_OVERLAY/$p"
	done
}

# A copy of the stock tree that is about to become ours. Every common object depends on the list of symbols
# poisoned in common code; a new symbol would rebuild all of QEMU, so the list stays as it was.
rk_qemu_copy_stock() {
	local tree=$1
	mkdir -p "$tree"
	cp -a --reflink=auto "$RK_QEMU_STOCK/." "$tree/" || rk_die "cannot copy the stock QEMU tree to $tree"
	cp "$tree/build/config-poison.h" "$tree/poison" || rk_die "$tree has not been built"
	printf '#!/bin/sh\nexec cat /rk/qemu/poison\n' >"$tree/src/scripts/make-config-poison.sh"
	# Every change of the model compiles what our patches touch again; the stock tree is built once.
	sed -i 's/^exec cc /first=\nexec ccache cc /' "$tree/cc"
}

# rk_qemu_sync TREE: bring our files into a tree, touching only what differs, so that ninja rebuilds no more.
rk_qemu_sync() {
	local tree=$1
	rk_qemu_overlay_files | rk_copy_changed "$RK_QEMU_OVERLAY" "$tree/src" || rk_die "cannot copy tools/qemu to $tree"
	rk_qemu_apply "$tree" || exit
	{ rk_qemu_devices; rk_qemu_own_devices; } >"$tree/devices"
	cmp -s "$tree/devices" "$tree/src/configs/devices/aarch64-softmmu/rknpu.mak" ||
		cp "$tree/devices" "$tree/src/configs/devices/aarch64-softmmu/rknpu.mak"
}

# Patches are kept applied; when they change, the old ones are reversed first.
rk_qemu_apply() {
	local tree=$1 p new=$1/patches.new
	rk_qemu_patches | xargs -r cat >"$new"
	[ -e "$tree/patches.applied" ] || : >"$tree/patches.applied"
	cmp -s "$new" "$tree/patches.applied" && return 0
	if [ -s "$tree/patches.applied" ]; then
		rk_enter -b "$tree:/rk/qemu" sh -c 'cd /rk/qemu/src && patch -sRp1 <../patches.applied' ||
			rk_die "cannot undo the former patches in $tree"
	fi
	: >"$tree/patches.applied"
	while read -r p; do
		rk_enter -b "$tree:/rk/qemu" sh -c 'cd /rk/qemu/src && patch -sp1 --no-backup-if-mismatch' <"$p" ||
			rk_die "tools/qemu/patches/${p##*/} does not apply to QEMU"
	done < <(rk_qemu_patches)
	mv "$new" "$tree/patches.applied"
}

rk_qemu_ninja() {
	local tree=$1
	shift
	rk_step "build QEMU with the NPU model" rk_in_qemu "$tree" ninja -j2 -C /rk/qemu/build "$@"
}

# What the rest of the testbed uses of a built tree.
rk_qemu_publish() {
	local tree=$1 out=$2
	# Renamed, because a guest may be running on the last one.
	if ! cp "$tree/build/qemu-system-aarch64" "$out/qemu.new" || ! mv -f "$out/qemu.new" "$out/qemu-system-aarch64"; then
		rk_die "cannot copy QEMU to $out"
	fi
	rk_enter -b "$out:/rk/qemu" sh -c '/rk/qemu/qemu-system-aarch64 -M help >/rk/qemu/machines' ||
		rk_die "the QEMU that was built does not run"
}

rk_build_qemu_ours() {
	local tmp=$1
	rk_qemu_copy_stock "$tmp/tree"
	rk_qemu_sync "$tmp/tree"
	rk_qemu_ninja "$tmp/tree" qemu-system-aarch64
	rk_qemu_publish "$tmp/tree" "$tmp"
	rm -rf "$tmp/tree"
}

# A qtest that does not compile fails when it is to be run, not everything else.
rk_qemu_build_qtests() {
	local tree=$1 out=$2 t targets=()
	mkdir -p "$out"
	for t in $(rk_qemu_qtests); do
		targets+=("tests/qtest/$t")
		rm -f "$out/$t"
	done
	rk_say "build the qtests ..."
	rk_in_qemu "$tree" ninja -C /rk/qemu/build -k 0 "${targets[@]}" >"$out/log" 2>&1
	for t in "${targets[@]}"; do
		[ ! -x "$tree/build/$t" ] || cp "$tree/build/$t" "$out/"
	done
}

rk_build_qemu_qtests() {
	local tmp=$1
	rk_qemu_copy_stock "$tmp/tree"
	rk_qemu_sync "$tmp/tree"
	rk_qemu_build_qtests "$tmp/tree" "$tmp"
	rm -rf "$tmp/tree"
}

# rk_qemu_qtest_programs: our qtests; RK_QTEST_DIR holds them.
rk_qemu_qtest_programs() {
	rk_qemu
	if [ -n "${RKNPU_QEMU_DEV:-}" ]; then
		RK_QTEST_DIR=$RK_QEMU_DIR/qtest
	else
		rk_cached qemu-qtest "$(rk_qemu_hash with-tests)" rk_build_qemu_qtests
		RK_QTEST_DIR=$RK_OUT
	fi
}

# Names of our qtests.
rk_qemu_qtests() {
	rk_qemu_overlay_files | sed -nE 's,^tests/qtest/(.*-test)\.c$,\1,p'
}

# rk_qemu_hash [with-tests]: of what QEMU is made of, and its qtests.
rk_qemu_hash() {
	local skip='^tests/'
	[ "${1:-}" != with-tests ] || skip='^$'
	{
		rk_qemu_stock_hash
		declare -f rk_build_qemu_ours rk_qemu_own_devices
		(cd "$RK_QEMU_OVERLAY" && { rk_qemu_overlay_files | grep -v "$skip"
			find patches -name '*.patch' | LC_ALL=C sort; } | xargs -r sha256sum)
	} | rk_hash
}

# An incremental tree for people working on the model: RKNPU_QEMU_DEV names its directory.
rk_qemu_dev() {
	local dev
	dev=$(realpath -m -- "$RKNPU_QEMU_DEV")
	rk_lock "qemu-dev-$(printf %s "$dev" | rk_hash)"
	[ -d "$dev/build" ] || rk_qemu_copy_stock "$dev"
	rk_qemu_sync "$dev"
	mkdir -p "$dev/out"
	rk_qemu_ninja "$dev" qemu-system-aarch64
	rk_qemu_build_qtests "$dev" "$dev/out/qtest"
	rk_qemu_publish "$dev" "$dev/out"
	RK_QEMU_DIR=$dev/out
	rk_unlock
}

rk_qemu_is_cached() { [ -n "${RKNPU_QEMU_DEV:-}" ] || [ -d "$RK_CACHE/qemu-$(rk_qemu_hash)" ]; }

# rk_qemu: QEMU with our model; RK_QEMU_DIR holds the binary and the list of its machines.
rk_qemu() {
	rk_qemu_stock
	if [ -n "${RKNPU_QEMU_DEV:-}" ]; then
		rk_qemu_dev
	else
		rk_cached qemu "$(rk_qemu_hash)" rk_build_qemu_ours
		RK_QEMU_DIR=$RK_OUT
	fi
}

# rk_qtest NAME: run one of our qtests (TAP).
rk_qtest() {
	rk_qemu_qtest_programs
	if [ ! -x "$RK_QTEST_DIR/$1" ]; then
		tail -n 40 "$RK_QTEST_DIR/log" >&2
		rk_die "qtest $1 does not exist or does not compile"
	fi
	rk_enter -b "$RK_QEMU_DIR:/rk/qemu" -b "$RK_QTEST_DIR:/rk/src" timeout 300 \
		env QTEST_QEMU_BINARY=/rk/qemu/qemu-system-aarch64 "/rk/src/$1" --tap -k
}

# --- the guest's only user space -------------------------------------------

rk_build_busybox() {
	rk_apt_get "$1" busybox-static:arm64
	sh -e -c 'cd "$1"; dpkg-deb -x ./*.deb .; mv "$(find . -path "*/bin/busybox" -type f)" ./busybox.tmp
		rm -rf ./*.deb bin usr etc; mv busybox.tmp busybox' sh "$1" || rk_die "cannot unpack busybox"
}

rk_busybox() {
	RK_BUSYBOX=$RK_CACHE/busybox-$RK_SUITE
	[ -d "$RK_BUSYBOX" ] || rk_apt_dir "$RK_SUITE"
	rk_cached busybox "$RK_SUITE" rk_build_busybox
	RK_BUSYBOX=$RK_OUT/busybox
}
