# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The driver as patches for a kernel tree, and the model as patches for QEMU.

# shellcheck source-path=SCRIPTDIR source=module.sh
. "$RK_TESTBED/lib/module.sh"
# shellcheck source-path=SCRIPTDIR source=qemu.sh
. "$RK_TESTBED/lib/qemu.sh"

# rk_series_author: who signs.
rk_series_author() {
	local author
	author="$(git -C "$RK_TOP" config user.name) <$(git -C "$RK_TOP" config user.email)>"
	[ "$author" != ' <>' ] || rk_die "git has no user.name and user.email to sign patches with"
	echo "$author"
}

# rk_series_format DIR: a patch in RK_SERIES of each commit of that repository but the first.
rk_series_format() {
	git -C "$1" format-patch -q --zero-commit --no-signature -o "$RK_SERIES" "$(git -C "$1" rev-list --max-parents=0 HEAD)"
}

# rk_series_make OBJ [VAR=VALUE] GOAL...: in the tree RK_SERIES_LINUX.
rk_series_make() {
	local obj=$1
	shift
	rk_enter -b "$RK_SERIES_LINUX:$RK_SERIES_LINUX" nice make -C "$RK_SERIES_LINUX" O="$obj" ARCH=arm64 \
		CROSS_COMPILE=aarch64-linux-gnu- CC=aarch64-linux-gnu-gcc -j2 "$@"
}

# rk_series_configure OBJ [CONFIG]: by a defconfig of the tree, else by that of the kernels with detectors.
rk_series_configure() {
	if [ -n "${2:-}" ]; then
		rk_series_make "$1" "$2"
	else
		rk_series_make "$1" KCONFIG_ALLCONFIG="$RK_TESTBED/data/kernel-configs/base" allnoconfig
	fi && rk_series_make "$1" modules_prepare
}

# rk_series_probe OBJ DIR: what compat/'s probes find, in DIR/have.h. All of the module is copied and one object built.
rk_series_probe() {
	local obj=$1 dir=$2
	rk_module_sync "$dir/module" &&
		rk_series_make "$obj" M="$dir/module/drivers/accel/rknpu" hw/rknpu_soc.o &&
		cp "$dir/module/drivers/accel/rknpu/compat/have.h" "$dir/have.h"
}

# rk_series_commit WORK: a commit for each line of WORK/tree/.groups, on top of the files that change, and a patch of each.
rk_series_commit() {
	local work=$1 number words f
	rm -rf "$work/git" "$RK_SERIES" && git init -q "$work/git" && mkdir -p "$RK_SERIES" || return
	cut -d ' ' -f 2- "$work/tree/.groups" | tr ' ' '\n' | while read -r f; do
		[ ! -e "$RK_SERIES_LINUX/$f" ] || (cd "$RK_SERIES_LINUX" && cp --parents "$f" "$work/git/")
	done
	git -C "$work/git" add -A && git -C "$work/git" commit -q -m 'what changes of the tree' || return
	while read -r number words; do
		# shellcheck disable=SC2086 # words
		(cd "$work/tree" && cp --parents $words "$work/git/") && git -C "$work/git" add -A &&
			git -C "$work/git" commit -q -s -F "$work/tree/.message.$number" || return
	done <"$work/tree/.groups"
	rk_series_format "$work/git"
}

# rk_series [DIR [CONFIG]]: patches for that tree; their directory is in RK_SERIES.
rk_series() {
	local work author
	rk_root
	if [ $# -gt 0 ]; then
		[ -e "$1/Kbuild" ] || rk_die "$1 is no kernel tree"
		RK_SERIES_LINUX=$(realpath -- "$1")
		RK_SERIES=$RK_TOP/build/series/$(basename -- "$RK_SERIES_LINUX")
	else
		rk_linux_source 7.3
		RK_SERIES_LINUX=$RK_LINUX RK_SERIES=$RK_TOP/build/series/7.3
	fi
	work=$RK_SERIES/work RK_SERIES=$RK_SERIES/patches
	mkdir -p "$work/obj" || rk_die "cannot create $work"
	author=$(rk_series_author) || exit
	if [ ! -e "$work/obj/.prepared" ]; then
		rk_step "read the headers of $RK_SERIES_LINUX" rk_series_configure "$work/obj" "${@:2}"
		touch "$work/obj/.prepared"
	fi
	rk_step "ask what this kernel has" rk_series_probe "$work/obj" "$work"
	rk_cached unifdef "$RK_SUITE" rk_build_program "$RK_SUITE" unifdef
	rm -rf "$work/tree"
	rk_enter -b "$RK_OUT:/rk/unifdef" -b "$RK_SERIES_LINUX:$RK_SERIES_LINUX" python3 "$RK_TESTBED/lib/series.py" "$RK_TOP" \
		"$RK_SERIES_LINUX" "$work/have.h" /rk/unifdef/unifdef "$author" "$work/tree" || rk_die "the series cannot be made"
	rk_series_commit "$work" || rk_die "git cannot make patches of $work/tree"
}

# rk_series_hash: of what is compiled into the kernel.
rk_series_hash() {
	{
		basename "$(dirname "$RK_SERIES_LINUX")"
		declare -f rk_kernel_make rk_build_debug_kernel
		cat "$RK_TESTBED/data/kernel-configs/base" "$RK_TESTBED/data/builtin-config"
		cat "$RK_SERIES"/????-accel-rknpu-*.patch "$RK_SERIES"/*uapi*.patch | sed '/^From /d; /^Date: /d'
	} | rk_hash
}

rk_build_tree_selftests() {
	local to=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-)
	rk_enter make -C "$RK_LINUX" "${to[@]}" -j2 headers &&
		rk_enter make -C "$RK_LINUX/tools/testing/selftests" "${to[@]}" -j2 FORCE_TARGETS=1 TARGETS=drivers/accel/rknpu
}

# The copy shares the files that no patch changes.
rk_build_builtin_kernel() {
	local tmp=$1 base=$RK_KERNEL_CONFIGS/base
	RK_KERNEL_CONFIGS=$tmp/configs
	{ mkdir "$RK_KERNEL_CONFIGS" && cp "$base" "$RK_KERNEL_CONFIGS/" &&
		cp "$RK_TESTBED/data/builtin-config" "$RK_KERNEL_CONFIGS/builtin" && cp -al "$RK_SERIES_LINUX" "$tmp/linux" && cp "$RK_SERIES_LINUX/../package" "$tmp/package" &&
		cat "$RK_SERIES"/*.patch | (cd "$tmp/linux" && GIT_CEILING_DIRECTORIES=$tmp git apply --whitespace=nowarn); } ||
		rk_die "the patches do not apply to $RK_SERIES_LINUX"
	RK_LINUX=$tmp/linux
	rk_build_debug_kernel "$tmp" builtin
	rk_step "build the selftests in the tree" rk_build_tree_selftests
	rm -rf "$tmp/linux" "$tmp/package" "$RK_KERNEL_CONFIGS"
}

# rk_builtin_kernel: the kernel "builtin", which has the patches of rk_series.
rk_builtin_kernel() {
	rk_cached kernel-builtin "$(rk_series_hash)" rk_build_builtin_kernel
	# The newest is what rk_kernel takes.
	touch "$RK_OUT"
}

# ---- QEMU ----

# rk_series_qemu_commit MESSAGE PATH...: a commit of these files, of tools/qemu or changed already.
rk_series_qemu_commit() {
	local message=$1 f
	shift
	[ $# = 0 ] || (cd "$RK_QEMU_OVERLAY" && find -L "$@" -type f) | while read -r f; do
		mkdir -p "$work/git/${f%/*}" && cp "$RK_QEMU_OVERLAY/$f" "$work/git/$f" || return
	done && git -C "$work/git" add -A && git -C "$work/git" commit -q -s -m "$message"
}

rk_series_qemu_patch() { git -C "$work/git" apply "$@"; }

rk_series_qemu_maintainers() {
	local entry
	entry="Rockchip NPUs
M: $(rk_series_author)
L: qemu-arm@nongnu.org
S: Maintained
F: hw/npu/
F: hw/arm/rk35*
F: hw/arm/rk_npu*
F: include/hw/npu/
F: include/npu/
F: tests/qtest/rk3588-npu*
F: docs/specs/rk3588-npu-core.rst
F: docs/system/arm/rk3588-npu.rst
"
	awk -v entry="$entry" '/^SABRELITE/ { print entry; found = 1 } { print } END { exit !found }' "$work/git/MAINTAINERS" >"$work/new" &&
		mv "$work/new" "$work/git/MAINTAINERS"
}

# Patches of QEMU itself come with the headers that they include; what makes all built is with the machine.
rk_series_qemu_commits() {
	local p=$RK_QEMU_OVERLAY/patches hooks
	hooks=$(echo "$p"/*-build-hooks.patch)
	rk_series_qemu_patch "$p"/*-arm-smc-firmware.patch && rk_series_qemu_commit "target/arm: let machines have firmware

Calls that are not those of PSCI go to the machine, if it has an answer." include/hw/arm/smc-firmware.h &&
	rk_series_qemu_patch "$p"/*-arm-poc.patch && rk_series_qemu_commit "target/arm: tell machines of maintenance to the point of coherency

A machine whose devices do not snoop the CPUs' caches has to know what is cleaned and invalidated." include/hw/arm/arm_poc.h &&
	rk_series_qemu_patch "$p"/*-icount-same-run.patch && rk_series_qemu_commit "accel/tcg: skip idle time in the vCPU thread with sleep=off

The main loop did it before, at moments that differ from host to host." &&
	rk_series_qemu_patch "$p"/*-timers-wake-nobody-idle.patch && rk_series_qemu_commit "util/qemu-timer: wake nobody who has no timers

With icount each timer of a device woke the main loop, whose AioContext has none of that clock." &&
	rk_series_qemu_maintainers && rk_series_qemu_commit "MAINTAINERS: add Rockchip's NPUs" &&
	rk_series_qemu_commit "hw/npu: arithmetic of Rockchip's NPUs

Stages from the decoded registers to the result, which know no device." hw/npu/compute include/npu &&
	rk_series_qemu_commit "hw/npu: devices of Rockchip's NPUs

Program controller, IOMMU, and what of clocks, resets and power their drivers touch." hw/npu include/hw &&
	rk_series_qemu_patch --exclude='docs/*' --exclude='tests/*' "$hooks" && rk_series_qemu_commit "hw/arm: machines with Rockchip's NPUs

The virt board with the NPU of an RK3588 or RK3576 beside it." hw/arm &&
	rk_series_qemu_patch --include='tests/*' "$hooks" && rk_series_qemu_commit "tests/qtest: test Rockchip's NPUs" tests/qtest &&
	rk_series_qemu_patch --include='docs/*' "$hooks" &&
	sed -i 's/^   edu$/&\n   rk3588-npu-core/' "$work/git/docs/specs/index.rst" &&
	rk_series_qemu_commit "docs: describe the machines with Rockchip's NPUs" docs && rk_series_qemu_has_all
}

# Nothing that our own QEMU is built with is left out.
rk_series_qemu_has_all() {
	local p
	for p in "$RK_QEMU_OVERLAY"/patches/*.patch; do
		rk_series_qemu_patch --reverse --check "$p" || return
	done
}

# rk_series_qemu [DIR]: patches for that source of QEMU, by default Debian's; their directory is in RK_SERIES.
rk_series_qemu() {
	local work=$RK_TOP/build/series/qemu/work src f
	rk_series_author >/dev/null
	if [ $# -gt 0 ]; then
		[ -e "$1/hw/arm/virt.c" ] || rk_die "$1 is no source of QEMU"
		src=$(realpath -- "$1")
	else
		rk_qemu_stock
		src=$RK_QEMU_STOCK/src
	fi
	RK_SERIES=$RK_TOP/build/series/qemu/patches
	rm -rf "$work" "$RK_SERIES"
	mkdir -p "$work" "$RK_SERIES" || rk_die "cannot create $work"
	git init -q "$work/git" && { sed -n 's,^--- a/,,p' "$RK_QEMU_OVERLAY"/patches/*.patch; printf '%s\n' MAINTAINERS docs/specs/index.rst; } | sort -u | while read -r f; do
		mkdir -p "$(dirname "$work/git/$f")" && cp "$src/$f" "$work/git/$f" || exit
	done && git -C "$work/git" add -A && git -C "$work/git" commit -q -m 'what changes of the tree' &&
		rk_series_qemu_commits && rk_series_format "$work/git"
	# shellcheck disable=SC2181 # of all that
	[ $? = 0 ] || rk_die "the patches do not apply to $src"
}
