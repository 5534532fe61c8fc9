#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Asks the compiler what the kernel offers: conftest.sh [--each] PROBES HEADER REPORT COMPILER [FLAG...]
#
# PROBES holds a line for each probe, and HEADER gets "#define RKNPU_HAVE_x" for what was found:
#     probe NAME 'HEADER...' 'CODE'      the statements CODE compile in a function's body
#     defined NAME 'HEADER...' MACRO     MACRO is defined
# A HEADER that does not exist is left out.
# Code in a body may name what does not exist without upsetting the compiler about what follows it. So all probes
# are compiled at once, and errors are told apart by the line that they are in; then again without those that
# failed, until nothing fails. With --each every probe is compiled alone, which takes minutes but cannot err; the
# testbed compares both.

set -eu
export LC_ALL=C

each=
[ "$1" != --each ] || { each=yes; shift; }
probes=$1 header=$2 report=$3
shift 3

work=$header.d
rm -rf "$work"
mkdir -p "$work"

# One line per probe in $work/table: name, tab, headers, tab, code. A macro is a probe whose code says #ifdef.
row() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$work/table"; }
probe() { row "$1" "$2" "$3"; }
defined() { row "$1" "$2" "@ifdef $3"; }
# shellcheck source-path=SCRIPTDIR source=probes.sh
. "$probes"

# program NAMES-FILE: C source of the probes named there; the lines of each belong to a file "probe:NAME".
program() {
	awk -F '\t' -v names="$1" '
	BEGIN {
		while ((getline name <names) > 0)
			wanted[name] = 1
	}
	!($1 in wanted) { next }
	{
		n = split($2, h, " ")
		for (i = 1; i <= n; i++) {
			if (!(h[i] in seen))
				print "#if __has_include(<" h[i] ">)\n#include <" h[i] ">\n#endif"
			seen[h[i]] = 1
		}
		# Not a #if around the code: what is missing must look like what does not compile.
		if (sub(/^@ifdef /, "", $3))
			body[++count] = "\n#ifndef " $3 "\n#error not defined\n#endif\n"
		else
			body[++count] = "\n" $3 "\n"
		id[count] = $1
	}
	END {
		for (i = 1; i <= count; i++)
			print "# 1 \"probe:" id[i] "\"\nvoid probe_" id[i] "(void);\nvoid probe_" id[i] \
				"(void)\n{" body[i] "}"
	}' "$work/table"
}

# compile NAMES-FILE CMD...: sets $failed to the file with the names of those that failed.
compile() {
	program "$1" >"$work/probe.c"
	shift
	failed=$work/failed
	: >"$failed"
	# Some kernels are built with -Werror, and a probe leaves variables unused.
	"$@" -Wno-error -Werror=implicit-function-declaration -Werror=incompatible-pointer-types -Werror=int-conversion \
		-fsyntax-only -x c "$work/probe.c" >"$work/messages" 2>&1 && return
	# An error inside a macro of a header is followed by the place that uses the macro.
	awk '
	/error:/ { pending = 1 }
	pending && match($0, /probe:[A-Z0-9_]+:/) {
		print substr($0, 7 + RSTART - 1, RLENGTH - 7)
		pending = 0
	}' "$work/messages" | sort -u >"$failed"
	[ -s "$failed" ] || {
		echo "conftest: not even the kernel's headers compile:" >&2
		head -n 20 "$work/messages" >&2
		exit 1
	}
}

cut -f 1 "$work/table" >"$work/names"
[ "$(sort "$work/names" | uniq -d)" = "" ] || { echo "conftest: two probes of one name" >&2; exit 1; }
if [ -n "$each" ]; then
	: >"$work/found"
	while read -r name; do
		echo "$name" >"$work/one"
		compile "$work/one" "$@"
		[ -s "$failed" ] || echo "$name" >>"$work/found"
	done <"$work/names"
else
	cp "$work/names" "$work/found"
	while compile "$work/found" "$@"; [ -s "$failed" ]; do
		grep -vxFf "$failed" "$work/found" >"$work/rest" || :
		mv "$work/rest" "$work/found"
	done
fi

awk -F '\t' -v found="$work/found" -v header="$work/header" -v report="$work/report" '
BEGIN {
	while ((getline name <found) > 0)
		have[name] = 1
	print "/* Made by conftest.sh: what this kernel has. */" >header
}
{
	if ($1 in have)
		print "#define RKNPU_HAVE_" $1 >header
	sub(/^@ifdef /, "#ifdef ", $3)
	printf "%-3s  %-28s  %s\n", ($1 in have) ? "yes" : "no", $1, $3 >report
}' "$work/table"
mv "$work/header" "$header"
mv "$work/report" "$report"
rm -rf "$work"
