# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Tests of bin/check: one boot of a guest or one program of the host, its TAP judged and counted.

# shellcheck source-path=SCRIPTDIR source=boots.sh
. "$RK_TESTBED/lib/boots.sh"
# shellcheck source-path=SCRIPTDIR source=kernel.sh
. "$RK_TESTBED/lib/kernel.sh"
# shellcheck source-path=SCRIPTDIR source=results.sh
. "$RK_TESTBED/lib/results.sh"

# A test's files are RK_TESTS/NAME.*: .tap and .err are what it printed, .console is the kernel's log, .tests has a line
# "pass|fail|skip<tab>GROUP: TEST" for each result, .row its line of results.txt.
RK_TESTS=$RK_TOP/build/check

rk_record() { printf '%s\t%s: %s\n' "$2" "$1" "$3" >>"$RK_TESTS/$4.tests"; }

rk_count() { cat -- "${@:2}" 2>/dev/null | grep -c "^$1	" || :; }

# What tests that failed said last before that, and first after it: a log of CI is often all that is left of a run.
rk_tell_why() {
	awk '
		/^(not )?ok / {
			for (i = n > 8 ? n - 8 : 0; /^not/ && i < n; i++)
				print "        " said[i]
			after = /^not/ ? 2 : 0
			n = 0
			next
		}
		/^# (testbed|Totals):/ || !/^# / { next }
		after > 0 { print "        " $0; after--; next }
		{ said[n++] = $0 }' "$1"
}

# rk_tell NAME KERNEL SECONDS TEXT...: prints how a test went, and keeps it.
rk_tell() {
	local name=$1 kernel=$2 wall=$3 cpu f=$RK_TESTS/$1.tests pass fail skip
	shift 3
	cpu=$(cat "$RK_TESTS/$name.cpu")
	rm -f "$RK_TESTS/$name.cpu"
	pass=$(rk_count pass "$f") fail=$(rk_count fail "$f") skip=$(rk_count skip "$f")
	RK_RESULTS=$RK_TESTS/$name.row rk_results_row "$name" "$kernel" "$pass" "$fail" "$skip" "$wall" "$cpu" "$@"
	printf '%-26s %4d passed %4d failed %4d skipped %5d s %6.0f s CPU\n' "$name" "$pass" "$fail" "$skip" "$wall" "$cpu"
	[ "$fail" = 0 ] || {
		sed -n 's/^fail	/    FAILED /p' "$f"
		rk_tell_why "$RK_TESTS/$name.tap"
		sed -n 's/^testbed: \(error: .*\)/        \1/p' "$RK_TESTS/$name.err"
	}
}

# rk_host_test NAME GROUP PROGRAM CMD...: a command of the host that prints TAP.
rk_host_test() {
	local name=$1 group=$2 prog=$3 start=$SECONDS rc
	shift 3
	"$@" >"$RK_TESTS/$name.out" 2>"$RK_TESTS/$name.err" </dev/null
	rc=$?
	# make turns a failing test's status into its own.
	[ $rc -ne 2 ] || rc=1
	{
		echo "# testbed: start $prog"
		cat "$RK_TESTS/$name.out"
		echo
		echo "# testbed: end $prog $rc"
	} >"$RK_TESTS/$name.tap"
	rm -f "$RK_TESTS/$name.out"
	awk -v group="$group" -f "$RK_TESTBED/lib/tap.awk" "$RK_TESTS/$name.tap" >"$RK_TESTS/$name.tests"
	rk_children_cpu "$RK_TESTS/$name.times" >"$RK_TESTS/$name.cpu"
	rk_tell "$name" - $((SECONDS - start)) "$prog"
}

# rk_once NAME INPUTS CMD...: not again where it has passed with these inputs, in any clone; prints what it said then.
rk_once() {
	local kept
	kept=$RK_CACHE/passed/$1-$(echo "$2 ${*:3}" | sed "s|$RK_TOP||g" | rk_hash)
	shift 2
	if [ -e "$kept" ]; then
		echo "# passed before with the same files: $kept"
		touch "$kept"
		cat "$kept"
		return 0
	fi
	mkdir -p "$RK_CACHE/passed" || return
	if "$@" | tee "$kept.$$" && ! grep -q '^not ok' "$kept.$$"; then
		mv "$kept.$$" "$kept"
	else
		rm -f "$kept.$$"
		return 1
	fi
}

# rk_host_once NAME "PATH..." CMD...: the same for a test on the host whose sources are these.
rk_host_once() {
	local inputs
	inputs=$(
		cd "$RK_TOP" || exit
		read -r -a paths <<<"$2"
		find -L "${paths[@]}" -type f -not -name '*.pyc' | LC_ALL=C sort | xargs sha256sum
		basename "$RK_ROOT"
		[[ " $2 " != *" tools/qemu "* ]] || rk_qemu_hash with-tests
	)
	rk_once "$1" "$inputs" "${@:3}"
}

# Reports of the race detector go to a file of their own unless the access was ours: by the function that made it, or
# by what that was called from, as with lists. Further up are always we, or whoever was interrupted. The flags of a task
# are its own: memalloc_noreclaim_save(), which is inlined in ours, writes them while the tick on the same CPU reads them.
rk_foreign_races() {
	grep -q 'BUG: KCSAN' "$1" || return 0
	awk -v ours="$1.new" -v theirs="$1.races" '
		function flush() { printf "%s", block >(race && !near ? theirs : ours); block = ""; race = near = 0 }
		/BUG: KCSAN/ { race = 1; flags = / in kthread_data \/ / }
		race && / by (task|interrupt)/ { frame = 0 }
		race && /\+0x[0-9a-f]+\// { near = near || (!flags && ++frame <= 2 && /rknpu_/) }
		/====================/ { if (race) { block = block $0 "\n"; flush() } else { flush(); block = $0 "\n" }; next }
		{ block = block $0 "\n" }
		END { flush() }' "$1" && mv "$1.new" "$1"
}

rk_clean_dmesg() {
	local log=$RK_TESTS/$1.console bad
	[ ! -s "$log" ] || { rk_foreign_races "$log"; rk_foreign_warnings "$log"; }
	bad=$(rk_dmesg_complaints "$log" "$2")
	if [ -n "$bad" ]; then
		rk_record "$1" fail "dmesg-clean:$1: $(head -n1 <<<"$bad")" "$1"
	else
		rk_record "$1" pass "dmesg-clean:$1" "$1"
	fi
}

# What a boot's line says: the words before "--" and the programs behind it.
rk_parse_boot() {
	limit=${TEST_LIMIT:-240} kind='' expected=(npu) traces='' environ=() options=() built=selftests
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		case $1 in
		TEST_LIMIT=*) limit=${1#*=} ;;
		KERNEL=*) kind=${1#*=} ;;
		TRACES) traces=yes ;;
		ARMHF) built=selftests-armhf ;;
		BROKEN) expected=() environ+=(RKNPU_BROKEN=1) ;;
		ENV=*) environ+=("${1#*=}") ;;
		OLD | LONG | RARE | SHORT | CI | COVERAGE) ;;
		*) options+=("$1") ;;
		esac
		shift
	done
	shift
	programs=("$@")
}

# What a kernel with detectors needs of a boot.
rk_detector_options() {
	options+=(--kernel "$1")
	# What the stock kernel does in a moment takes such a one several; on a busy host, many.
	environ+=(RKNPU_TEST_SLOW=20)
	# A race in the core kernel is none of ours and must not end the boot. Memory is watched ten times as often as
	# by default, as an emulated CPU accesses it so much less often.
	case $1 in
	kcsan) options+=(--cmdline 'kcsan.skip_watch=200') ;;
	*) options+=(--cmdline 'panic_on_warn=1 watchdog_thresh=60') ;;
	esac
}

# rk_boot_copies PROGRAM...: options of run that copy them from build/$built, in copy.
rk_boot_copies() {
	local p
	# Scripts read and call these.
	case " $*" in *.sh*) set -- "$@" script_lib.sh rknpu_model rknpu_matmul ;; esac
	copy=()
	for p in $(printf '%s\n' "$@" | sort -u); do
		copy+=(--copy "$RK_TOP/build/$built/$p")
	done
}

# rk_boot_test NAME KERNEL WORD... -- PROGRAM...: one boot with its programs copied into it.
rk_boot_test() {
	local name=$1 kernel=$2 start=$SECONDS rc copy limit kind expected traces environ options programs built
	local tap=$RK_TESTS/$name.tap
	shift 2
	rk_parse_boot "$@"
	rk_kernel "$kernel"
	case $kind in
	'') options+=(--kernel "$kernel") ;;
	*) rk_detector_options "$kernel" ;;
	esac
	rk_boot_copies "${programs[@]}"
	printf '# testbed: expect %s\n' "${expected[@]+"${expected[@]}"}" "${programs[@]}" >"$tap"
	[ "$kernel" != debug ] || echo "# testbed: expect kmemleak" >>"$tap"
	[ "$kernel" != kcsan ] || echo "# testbed: expect kcsan" >>"$tap"
	"$RK_TESTBED/bin/run" --timeout $((${#kind} > 0 ? limit + 2400 : limit * ${#programs[@]} + 600)) \
		--log "$RK_TESTS/$name.console" "${copy[@]}" --copy "$RK_TESTBED/guest/guest-tests" \
		"${options[@]+"${options[@]}"}" -- env "${environ[@]+"${environ[@]}"}" ./guest-tests "$limit" "${programs[@]}" \
		>>"$tap" 2>"$RK_TESTS/$name.err" </dev/null
	rc=$?
	awk -v group="$name" -v status=$rc -f "$RK_TESTBED/lib/tap.awk" "$tap" >"$RK_TESTS/$name.tests"
	rk_clean_dmesg "$name" "$traces"
	rk_children_cpu "$RK_TESTS/$name.times" >"$RK_TESTS/$name.cpu"
	rk_tell "$name" "$(cat "$RK_KERNEL/release")" $((SECONDS - start)) "${programs[@]}"
}

# A busy host lets a guest's CPUs stand still for longer than a test waits. So if no more than three boots failed, they
# run once more with nothing beside them, as do checks of the host that boot guests; what they do then counts, and
# RK_FIRST tells what failed before. Not where a kernel's log, a program of the host or more than that says that it was
# not for want of time.
rk_run_again() {
	local i f again=() names=("${RK_JOB_NAMES[@]}") commands=("${RK_JOB_COMMANDS[@]}")
	RK_FIRST=$RK_TESTS/first.tsv
	: >"$RK_FIRST"
	for i in "${!names[@]}"; do
		f=$RK_TESTS/${names[i]}.tests
		[ "$(rk_count fail "$f")" -gt 0 ] || continue
		[[ ${commands[i]} = rk_boot_test* || ${commands[i]} = rk_host_test*/checks/check-* ]] || return 0
		! grep -Eq '^fail	.*(dmesg-clean|complain)' "$f" || return 0
		again+=("$i")
	done
	[ ${#again[@]} -gt 0 ] && [ ${#again[@]} -le 3 ] || return 0
	RK_JOB_NAMES=() RK_JOB_COMMANDS=()
	for i in "${again[@]}"; do
		grep '^fail	' "$RK_TESTS/${names[i]}.tests" >>"$RK_FIRST"
		for f in tap err console tests row; do
			mv "$RK_TESTS/${names[i]}.$f" "$RK_TESTS/${names[i]}.first.$f" 2>/dev/null
		done
		RK_JOB_NAMES+=("${names[i]}")
		RK_JOB_COMMANDS+=("${commands[i]}")
	done
	rk_say "once more with nothing beside them: ${RK_JOB_NAMES[*]}"
	rk_jobs_run 1
	RK_JOB_NAMES=("${names[@]}") RK_JOB_COMMANDS=("${commands[@]}")
}
