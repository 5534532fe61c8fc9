# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Follows a guest instruction by instruction, in QEMU's log.

# rk_follow DIR ITEMS READER... -- OPTION... -- CMD...: runs CMD in a guest with OPTIONs of bin/run until it prints "again".
# From there on QEMU's log of ITEMS, an entry for each instruction, is READER's input until that ends. DIR/symbols has the
# guest's kernel symbols by then.
rk_follow() {
	local dir=$1 items=$2 reader=() options=() line guest guest_PID monitor
	shift 2
	while [ "$1" != -- ]; do reader+=("$1"); shift; done
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	rm -rf "${dir:?}/work"
	mkdir -p "$dir/work" || rk_die "cannot create $dir"
	mkfifo "$dir/work"/{mon.in,mon.out,log} || rk_die "cannot create pipes in $dir"
	coproc guest { exec "$RK_TESTBED/bin/run" --icount --timeout 3000 --log "$dir/console" "${options[@]}" \
		--qemu-arg -chardev --qemu-arg "pipe,id=mon,path=$dir/work/mon" --qemu-arg -mon --qemu-arg chardev=mon -- \
		sh -c 'grep -E " [tTwW] " /proc/kallsyms; exec "$@"' sh "$@" 2>"$dir/err" </dev/null; }
	exec {monitor}<>"$dir/work/mon.in"
	cat "$dir/work/mon.out" >"$dir/monitor" &
	while read -r line && [ "${line%$'\r'}" != again ]; do echo "$line"; done <&"${guest[0]}" >"$dir/symbols"
	[ "${line%$'\r'}" = again ] || rk_die "the guest does not run it: $dir/err, $dir/console"
	"${reader[@]}" <"$dir/work/log" &
	line=$!
	printf '%s\n' 'one-insn-per-tb on' "logfile $dir/work/log" "log $items" >&"$monitor"
	wait "$line" || { kill "$guest_PID"; rk_die "nothing followed: $dir/monitor"; }
	echo quit >&"$monitor"
	exec {monitor}>&-
	wait
}
