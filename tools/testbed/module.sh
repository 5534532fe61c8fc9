# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Builds our module for a kernel of the testbed from a copy of its sources, so that the clone stays clean.

RK_MODULE_SOURCES=(Kbuild drivers include)

rk_module_files() {
	(cd "$RK_TOP" && find "${RK_MODULE_SOURCES[@]}" -type f \( -name '*.[chS]' -o -name 'Kbuild*' -o -name 'Makefile*' \
		-o -name '*.sh' -o -name '*.h.in' \) -not -name '*.mod.c' | LC_ALL=C sort)
}

# Copies what changed and removes what is gone, leaving the products of the last build alone.
rk_module_sync() {
	local dst=$1 f
	mkdir -p "$dst"
	rk_module_files >"$dst/.sources.new"
	touch "$dst/.sources"
	LC_ALL=C comm -13 "$dst/.sources.new" "$dst/.sources" | while read -r f; do rm -f "$dst/$f"; done
	while read -r f; do
		cmp -s "$RK_TOP/$f" "$dst/$f" && continue
		mkdir -p "$dst/$(dirname "$f")" && cp "$RK_TOP/$f" "$dst/$f" || return 1
	done <"$dst/.sources.new"
	mv "$dst/.sources.new" "$dst/.sources"
}

rk_make_module() {
	local dst=$1 kdir=$2
	shift 2
	rk_enter make -C "$kdir" M="$dst" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- -j2 "$@" modules
}

# rk_module SERIES [VAR=VALUE...]: our module for a kernel; its path is in RK_MODULE.
# With variables (W=1 C=1 ...) everything is compiled anew, in a tree of its own; RK_MODULE_LOG keeps what was said.
rk_module() {
	local series=$1 dst log stamp rel
	shift
	rk_root
	rk_kernel "$series"
	rel=$(cat "$RK_KERNEL/release")
	dst=$RK_TOP/build/module/$rel
	[ -e "$RK_TOP/drivers/accel/rknpu/Kbuild" ] || rk_die "this clone has no drivers/accel/rknpu yet: use --module none"
	if [ $# -gt 0 ]; then
		dst+=-$(printf '%s\n' "$@" | tr -c 'A-Za-z0-9=' - | sed 's/-*$//')
		rk_remove "$dst"
	fi
	mkdir -p "$dst"
	rk_lock "module-$(printf %s "$dst" | rk_hash)"
	RK_MODULE=$dst/drivers/accel/rknpu/rknpu_accel.ko
	RK_MODULE_LOG=$dst/build.log
	log=$RK_MODULE_LOG
	rk_module_sync "$dst" || rk_die "cannot copy the module's sources to $dst"
	stamp=$( (cd "$dst" && xargs sha256sum <.sources; basename "$RK_KERNEL"; printf '%s\n' "$@") | rk_hash)
	if [ ! -e "$RK_MODULE" ] || [ "$stamp" != "$(cat "$dst/.stamp" 2>/dev/null)" ]; then
		rm -f "$RK_MODULE"
		rk_say "build rknpu_accel.ko for $rel"
		if ! rk_make_module "$dst" "$(rk_kdir "$RK_KERNEL")" "$@" >"$log" 2>&1; then
			grep -nE 'error|warning|undefined' -A3 "$log" | sed "s,$dst/,,g" | head -n 60 >&2
			rk_die "the module does not build for $rel; full log: $log"
		fi
		grep -E -A3 'warning:' "$log" | sed "s,$dst/,,g" >&2
		echo "$stamp" >"$dst/.stamp"
	fi
	rk_unlock
}

# rk_module_native KDIR [VAR=VALUE...]: for a kernel build directory of this host, without the build root.
rk_module_native() {
	local kdir=$1 dst=$RK_TOP/build/module/kdir
	shift
	[ -e "$kdir/Makefile" ] || rk_die "KDIR=$kdir is not a kernel build directory"
	rk_module_sync "$dst" || rk_die "cannot copy the module's sources to $dst"
	make -C "$kdir" M="$dst" "$@" modules >&2 || exit
	RK_MODULE=$dst/drivers/accel/rknpu/rknpu_accel.ko
}
