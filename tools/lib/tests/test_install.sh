#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the library into the folder O and builds programs with what is there; prints TAP. CC, PKG_CONFIG as in make.

here=$(dirname -- "$0")
stage=$O/stage
lib=$stage/usr/lib
n=0
bad=0

# check NAME CMD...: passes when CMD succeeds.
check() {
	name=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n $name"
	else
		echo "not ok $n $name"
		bad=1
	fi
}

# pc OPTION...: what programs are told, as if the library lay in the system.
pc() {
	PKG_CONFIG_PATH=$lib/pkgconfig $PKG_CONFIG --define-variable=libdir="$lib" \
		--define-variable=includedir="$stage/usr/include" "$@" librknpu
}

# build TO LIBRARIES OPTION...: the example of the documentation, with a main() that asks the library something.
build() {
	to=$1 libs=$2
	shift 2
	cat "$O/check/example.c" - >"$stage/example.c" <<-'END'
	#include <string.h>

	int main(int argc, char **argv)
	{
		if (argc > 1)
			return !argv[1] || layer(NULL, NULL, NULL, NULL);
		return strcmp(npu_strcause(npu_cause_of_errno(0)), "done") ||
		       strcmp(npu_library_version(), NPU_LIBRARY_VERSION);
	}
	END
	# shellcheck disable=SC2046,SC2086 # words
	$CC -std=c11 -Wall -Werror $(pc --cflags) "$@" -o "$to" "$stage/example.c" $libs
}

# declared HEADER: the functions that a compiler sees of it.
declared() {
	printf '#include "%s"\n' "$1" >"$stage/all.c"
	# shellcheck disable=SC2046 # words
	$CC $(pc --cflags) -E -P "$stage/all.c" | tr '\n;' ' \n' | sed 's/.*}//' | grep -v 'typedef\|{' |
		sed -nE 's/^.*\b(npu_[a-z0-9_]+) ?\(.*/\1/p' | sort -u
}

exports() {
	declared npu.h >"$stage/declared"
	nm -D --defined-only "$lib/librknpu.so" | sed -nE 's/.* T (.*)@@LIBRKNPU_0$/\1/p' | sort -u >"$stage/exported"
	[ -s "$stage/declared" ] && diff "$stage/declared" "$stage/exported"
}

# Beyond those: what writes register programs is linked in, and is no part of the ABI.
static_part() {
	declared npu_prog.h >"$stage/all"
	nm --defined-only "$lib/librknpu.a" | sed -nE 's/.* T (npu_.*)$/\1/p' | sort -u >"$stage/archived"
	comm -13 "$stage/exported" "$stage/all" >"$stage/more"
	grep -qx npu_prog_new "$stage/more" && [ -z "$(comm -23 "$stage/all" "$stage/archived")" ]
}

soname() {
	readelf -d "$lib/librknpu.so" | grep -F '(SONAME)' | grep -qF '[librknpu.so.0]' && [ -e "$lib/librknpu.so.0" ]
}

needs_libdrm() { readelf -d "$lib/librknpu.so" | grep -F '(NEEDED)' | grep -qF '[libdrm.so.2]'; }

shared() { build "$stage/shared" "$(pc --libs)" && LD_LIBRARY_PATH=$lib "$stage/shared"; }

static() { build "$stage/static" "$(pc --static --libs)" -static && "$stage/static"; }

hides_libdrm() { ! pc --libs | grep -e -ldrm; }

same_version() {
	version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$here/../../../dkms.conf")
	[ "$(pc --modversion)" = "$version" ] &&
		grep -qx "#define NPU_LIBRARY_VERSION.\"$version\"" "$stage/usr/include/librknpu/npu.h" &&
		[ "$(sed -n 's/^#define NPU_LIBRARY_MAJOR.//p; s/^#define NPU_LIBRARY_MINOR.//p' \
			"$stage/usr/include/librknpu/npu.h" | paste -sd.)" = "$version" ]
}

rm -rf "$stage"
check "make install" make -s -C "$here/.." O="$O" CC="$CC" PKG_CONFIG="$PKG_CONFIG" DESTDIR="$stage" PREFIX=/usr install
check "the soname is there" soname
check "it needs libdrm" needs_libdrm
check "the functions of npu.h are exported, and no others" exports
check "those of npu_prog.h are in the static library" static_part
check "the example is built with the shared library" shared
check "and with the static one" static
check "programs do not link with libdrm themselves" hides_libdrm
check "its version is the project's" same_version
echo "1..$n"
exit $bad
