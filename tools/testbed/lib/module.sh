# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Builds our module for a kernel of the testbed from a copy of its sources, so that the clone stays clean.

# shellcheck source-path=SCRIPTDIR source=compiler.sh
. "$RK_TESTBED/lib/compiler.sh"

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
	rk_copy_changed "$RK_TOP" "$dst" <"$dst/.sources.new" || return
	mv "$dst/.sources.new" "$dst/.sources"
}

# rk_make_module DIR KDIR [VAR=VALUE...]: the module, or RK_MODULE_GOAL, in a copy of the sources.
# RK_MODULE_BINDS holds options of rk_enter, for a KDIR elsewhere.
# Debian's headers name the compiler of their release, which the build root lacks for all but the newest.
rk_make_module() {
	local dst=$1 kdir=$2
	shift 2
	case " $* " in
	*" CC="* | *" LLVM="*) ;;
	*) set -- CC=aarch64-linux-gnu-gcc "$@" ;;
	esac
	rk_enter "${RK_MODULE_BINDS[@]+"${RK_MODULE_BINDS[@]}"}" make -C "$kdir" M="$dst" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- -j2 "$@" "${RK_MODULE_GOAL:-modules}"
}

# Kernels from 7.1 on need a sparse that knows __typeof_unqual__, which trixie's does not. The package as a whole
# would want a newer compiler; the program alone runs in the build root.
RK_SPARSE_SUITE=forky

# rk_build_program TMP SUITE PACKAGE: the program of the package's name.
rk_build_program() {
	local tmp=$1 suite=$2 name=$3
	rk_apt_dir "$suite"
	rk_apt_get "$tmp" "$name"
	sh -e -c 'cd "$1"; dpkg-deb -x ./*.deb x; mv "x/usr/bin/$2" .; rm -rf x ./*.deb' sh "$tmp" "$name" ||
		rk_die "cannot unpack $name"
}

# rk_sparse KDIR: RK_SPARSE is a sparse for it, and the script by which the kernel's Makefile judges it, which
# Debian's header packages lack, is in place. A make that cannot judge builds without checking.
rk_sparse() {
	local kdir=$1 checker
	rk_cached sparse "$RK_SPARSE_SUITE" rk_build_program "$RK_SPARSE_SUITE" sparse
	RK_SPARSE=$RK_OUT/sparse
	checker=$(dirname -- "$kdir")/$(rk_kernel_common "$(basename -- "$kdir")")-common
	[ -d "$checker" ] || rk_die "no common headers beside $kdir"
	[ -e "$checker/scripts/checker-valid.sh" ] && return 0
	rk_linux_source 7.3
	# At once: another build may be about to call it.
	{ install -m 755 "$RK_LINUX/scripts/checker-valid.sh" "$checker/scripts/.new.$$" &&
		mv "$checker/scripts/.new.$$" "$checker/scripts/checker-valid.sh"; } || rk_die "cannot write to $checker"
}

# rk_module SERIES [VAR=VALUE...]: our module for a kernel; its path is in RK_MODULE, or "none" if the driver is built in.
# With variables (W=1 C=1 ...) everything is compiled anew, in a tree of its own; RK_MODULE_LOG keeps what was said.
# RKNPU_COMPILER names another compiler, of tools/testbed/data/compilers.
# Old kernels cannot build where a path has a "=" in it.
rk_module() {
	local series=$1 dst log stamp rel flags
	shift
	RK_MODULE_BINDS=() RK_MODULE=none
	rk_kernel "$series"
	! rk_kernel_has_rknpu || return 0
	rk_root
	rel=$(cat "$RK_KERNEL/release")
	dst=$RK_TOP/build/module/$rel
	RK_CC_ROOT=$RK_ROOT RK_CC_VARS=()
	if [ -n "${RKNPU_COMPILER:-}" ]; then
		rk_compiler "$series" "$RKNPU_COMPILER"
		dst+=-$RKNPU_COMPILER
	fi
	if [ $# -gt 0 ]; then
		dst+=-$(printf '%s\n' "$@" | grep -v '^CHECK' | tr -c 'A-Za-z0-9' - | sed 's/-*$//')
		rk_remove "$dst"
	fi
	# Nothing here reads debug information, which is most of the module and a part of every guest's start.
	flags=-g0
	# Threads that count at once lose counts, and gcov takes differences of them. The kernel's own test for this
	# option fails, because it is made without the other one.
	if [ "$series" = coverage ]; then
		RK_CC_VARS+=(GCOV_PROFILE=y)
		flags+=' -fprofile-update=atomic -mno-outline-atomics'
	fi
	# BTF is made of it.
	RK_CC_VARS+=("KCFLAGS=$flags" CONFIG_DEBUG_INFO_BTF_MODULES=)
	mkdir -p "$dst"
	rk_lock "module-$(printf %s "$dst" | rk_hash)"
	RK_MODULE=$dst/drivers/accel/rknpu/rknpu_accel.ko
	RK_MODULE_LOG=$dst/build.log
	log=$RK_MODULE_LOG
	case " $* " in *" C="*)
		rk_sparse "$(rk_kdir "$RK_KERNEL")"
		case " $* " in *" CHECK="*) ;; *) set -- "$@" "CHECK=$RK_SPARSE" ;; esac
		;;
	esac
	set -- "${RK_CC_VARS[@]+"${RK_CC_VARS[@]}"}" "$@"
	rk_module_sync "$dst" || rk_die "cannot copy the module's sources to $dst"
	stamp=$( (cd "$dst" && xargs sha256sum <.sources; basename -a "$RK_KERNEL" "$RK_CC_ROOT"; printf '%s\n' "$@") | rk_hash)
	if [ ! -e "$RK_MODULE" ] || [ "$stamp" != "$(cat "$dst/.stamp" 2>/dev/null)" ]; then
		rm -f "$RK_MODULE"
		rk_say "build rknpu_accel.ko for $rel${RKNPU_COMPILER:+ with $RKNPU_COMPILER}"
		# Always at the same place, so that ccache knows it in another clone.
		RK_MODULE_BINDS+=(-b "$dst:/rk/src")
		if ! (RK_ROOT=$RK_CC_ROOT; rk_make_module /rk/src "$(rk_kdir "$RK_KERNEL")" "$@") >"$log" 2>&1; then
			grep -nE 'error|warning|undefined' -A3 "$log" | sed "s,/rk/src/,,g" | head -n 60 >&2
			rk_die "the module does not build for $rel; full log: $log"
		fi
		grep -E -A3 'warning:' "$log" | sed "s,/rk/src/,,g" >&2
		echo "$stamp" >"$dst/.stamp"
	fi
	rk_unlock
}

# rk_module_kdir KDIR [VAR=VALUE...]: for a kernel build directory anywhere on this host. On an arm64 machine, or with
# ARCH= given, with the host's compiler and no build root; else in the build root with its cross compiler.
rk_module_kdir() {
	local kdir dst=$RK_TOP/build/module/kdir src
	kdir=$(realpath -- "$1")
	shift
	[ -e "$kdir/Makefile" ] || rk_die "KDIR=$kdir is not a kernel build directory"
	rk_module_sync "$dst" || rk_die "cannot copy the module's sources to $dst"
	RK_MODULE=$dst/drivers/accel/rknpu/rknpu_accel.ko
	case "$(uname -m) $* " in
	aarch64* | *" ARCH="*) make -C "$kdir" M="$dst" "$@" modules >&2 || exit ;;
	*)
		rk_root
		# Where a directory of its own was built in, that one points to the sources.
		src=$(realpath -- "$kdir/source" 2>/dev/null) || src=$kdir
		RK_MODULE_BINDS=(-b "$kdir:$kdir" -b "$src:$src")
		rk_make_module "$dst" "$kdir" "$@" >&2 || exit
		;;
	esac
}
