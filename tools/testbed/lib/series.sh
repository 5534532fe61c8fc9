# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The driver as patches for a kernel tree.

# shellcheck source-path=SCRIPTDIR source=module.sh
. "$RK_TESTBED/lib/module.sh"

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

# rk_series_commit WORK PATCHES: a commit for each line of WORK/tree/.groups, on top of the files that change, and a patch of each.
rk_series_commit() {
	local work=$1 patches=$2 number words f
	rm -rf "$work/git" "$patches" && git init -q "$work/git" && mkdir -p "$patches" || return
	cut -d ' ' -f 2- "$work/tree/.groups" | tr ' ' '\n' | while read -r f; do
		[ ! -e "$RK_SERIES_LINUX/$f" ] || (cd "$RK_SERIES_LINUX" && cp --parents "$f" "$work/git/")
	done
	git -C "$work/git" add -A && git -C "$work/git" commit -q -m 'what changes of the tree' || return
	while read -r number words; do
		# shellcheck disable=SC2086 # words
		(cd "$work/tree" && cp --parents $words "$work/git/") && git -C "$work/git" add -A &&
			git -C "$work/git" commit -q -s -F "$work/tree/.message.$number" || return
	done <"$work/tree/.groups"
	git -C "$work/git" format-patch -q --zero-commit --no-signature -o "$patches" \
		"$(git -C "$work/git" rev-list --max-parents=0 HEAD)"
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
	work=$RK_SERIES/work
	mkdir -p "$work/obj" || rk_die "cannot create $work"
	author="$(git -C "$RK_TOP" config user.name) <$(git -C "$RK_TOP" config user.email)>"
	[ "$author" != ' <>' ] || rk_die "git has no user.name and user.email to sign patches with"
	if [ ! -e "$work/obj/.prepared" ]; then
		rk_step "read the headers of $RK_SERIES_LINUX" rk_series_configure "$work/obj" "${@:2}"
		touch "$work/obj/.prepared"
	fi
	rk_step "ask what this kernel has" rk_series_probe "$work/obj" "$work"
	rk_cached unifdef "$RK_SUITE" rk_build_program "$RK_SUITE" unifdef
	rm -rf "$work/tree"
	rk_enter -b "$RK_OUT:/rk/unifdef" -b "$RK_SERIES_LINUX:$RK_SERIES_LINUX" python3 "$RK_TESTBED/lib/series.py" "$RK_TOP" \
		"$RK_SERIES_LINUX" "$work/have.h" /rk/unifdef/unifdef "$author" "$work/tree" || rk_die "the series cannot be made"
	rk_series_commit "$work" "$RK_SERIES/patches" || rk_die "git cannot make patches of $work/tree"
	RK_SERIES=$RK_SERIES/patches
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
	local tmp=$1
	{ cp -al "$RK_SERIES_LINUX" "$tmp/linux" && cp "$RK_SERIES_LINUX/../package" "$tmp/package" &&
		cat "$RK_SERIES"/*.patch | (cd "$tmp/linux" && GIT_CEILING_DIRECTORIES=$tmp git apply --whitespace=nowarn); } ||
		rk_die "the patches do not apply to $RK_SERIES_LINUX"
	RK_LINUX=$tmp/linux
	rk_build_debug_kernel "$tmp" builtin "$RK_TESTBED/data/builtin-config"
	rk_step "build the selftests in the tree" rk_build_tree_selftests
	rm -rf "$tmp/linux" "$tmp/package"
}

# rk_builtin_kernel: the kernel "builtin", which has the patches of rk_series.
rk_builtin_kernel() {
	rk_cached kernel-builtin "$(rk_series_hash)" rk_build_builtin_kernel
	# The newest is what rk_kernel takes.
	touch "$RK_OUT"
}
