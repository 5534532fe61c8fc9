# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs the same programs on our driver and on another one, and puts what came out side by side.
#
# Whoever sources this sets RK_OTHER, the other driver's name, and RK_OTHER_MODULE; RK_COMPARE_RUN, the options of run
# that both drivers get; RK_COMPARE_OUT, a directory. Of each driver are left there NAME.results (lines PROGRAM TEST
# pass|fail|skip|hang|crash), NAME.warnings and NAME.count.

# shellcheck source-path=SCRIPTDIR source=results.sh
. "$RK_TESTBED/lib/results.sh"

rk_compare_program_limit=400
rk_compare_max_boots=40
rk_compare_bad='WARNING: |BUG[: ]|Unable to handle|Internal error|Kernel panic|refcount_t: |corruption'
# What went wrong with the comparison itself.
RK_COMPARE_LACKS=()

# rk_compare_guest DRIVER LOG [OPTION]... -- CMD...
rk_compare_guest() {
	local module=ours log=$2 copy=() f
	[ "$1" = ours ] || module=$RK_OTHER_MODULE
	shift 2
	for f in "$RK_TOP"/build/selftests/rknpu_*; do
		case $f in *.o) ;; *) copy+=(--copy "$f") ;; esac
	done
	"$RK_TESTBED/bin/run" "${RK_COMPARE_RUN[@]}" --module "$module" --log "$log" --cmdline oops=panic \
		"${copy[@]}" "$@" </dev/null
}

# Programs as words; a program with options is PROGRAM,OPTION,OPTION...
# shellcheck disable=SC2016 # the guest's shell expands these
rk_compare_in_guest='limit=$1; shift
for p; do
	prog=${p%%,*}; args=${p#"$prog"}
	printf "\n# compare: start %s\n" "$prog"
	IFS=,; set -f; timeout -k 5 "$limit" "./$prog" ${args#,} 2>&1
	printf "\n# compare: end %s %d\n" "$prog" $?
done'

# TAP of a boot as lines PROGRAM TEST pass|fail|skip|hang|crash.
rk_compare_digest() {
	awk -v OFS='\t' '
		function lost(what) { if (cur != "") { print prog, cur, what; cur = "" } }
		{ sub(/\r$/, "") }
		/^# compare: start / { prog = $4; seen = 1; next }
		/^# compare: end / {
			lost($5 == 124 || $5 == 137 ? "hang" : "crash")
			print prog, "", "ended"
			prog = ""
			next
		}
		/^# +RUN / { cur = $3; next }
		/^(not )?ok [0-9]/ && prog != "" {
			state = /^not/ ? "fail" : "pass"
			if ($0 ~ /# SKIP/) state = "skip"
			sub(/^(not )?ok [0-9]+ *(- *)?/, ""); sub(/ *#.*/, "")
			print prog, $0, state
			cur = ""
		}
		END { if (prog != "") { if (cur == "") cur = "(start)"; lost("crash") } }
	' "$1"
}

# What of PROGRAM ours has run and this driver has not, as options that select it.
rk_compare_rest_of() {
	local prog=$1 driver=$2
	awk -F '\t' -v p="$prog" -v driver="$driver" '
		$1 != p || $3 == "ended" { next }
		FILENAME ~ /ours.results$/ { if (!($2 in want)) { want[$2] = 1; order[++n] = $2 } next }
		{ delete want[$2] }
		END { for (i = 1; i <= n; i++) if (order[i] in want) printf ",-r,%s", order[i] }
	' "$RK_COMPARE_OUT/ours.results" "$RK_COMPARE_OUT/$driver.results"
}

rk_compare_ended() { grep -q "^$1		ended" "$2"; }

# rk_compare_run_tests DRIVER [PROGRAM]...
rk_compare_run_tests() {
	local driver=$1 todo=("${@:2}") boot=0 p rest log
	: >"$RK_COMPARE_OUT/$driver.results"
	while [ ${#todo[@]} -gt 0 ]; do
		boot=$((boot + 1))
		if [ $boot -gt $rk_compare_max_boots ]; then
			RK_COMPARE_LACKS+=("$driver: gave up after $rk_compare_max_boots boots")
			break
		fi
		log=$RK_COMPARE_OUT/$driver.$boot
		rk_say "$driver, boot $boot: ${todo[*]%%,*}"
		rk_compare_guest "$driver" "$log.console" --timeout 1500 -- \
			sh -c "$rk_compare_in_guest" sh "$rk_compare_program_limit" "${todo[@]}" >"$log.tap" 2>"$log.err"
		rk_compare_digest "$log.tap" >"$log.digest"
		cat "$log.digest" >>"$RK_COMPARE_OUT/$driver.results"
		if ! [ -s "$log.digest" ]; then
			RK_COMPARE_LACKS+=("$driver: the guest said nothing; see $log.err")
			break
		fi
		p=()
		for t in "${todo[@]}"; do
			t=${t%%,*}
			if rk_compare_ended "$t" "$log.digest" && ! grep -q "^$t	[^	]*	hang" "$log.digest"; then
				continue
			fi
			rest=
			# Only a program that got somewhere is cut short; the first driver has no list to go by.
			if grep -q "^$t	" "$RK_COMPARE_OUT/$driver.results"; then
				[ "$driver" != ours ] || continue
				rest=$(rk_compare_rest_of "$t" "$driver")
				[ -n "$rest" ] || continue
			fi
			p+=("$t$rest")
		done
		todo=("${p[@]+"${p[@]}"}")
	done
	rk_compare_warnings "$driver" >"$RK_COMPARE_OUT/$driver.warnings"
}

rk_compare_warnings() {
	[ -s "$RK_COMPARE_OUT/$1.results" ] || { echo -; return; }
	cat "$RK_COMPARE_OUT/$1".[0-9]*.console | grep -cE "$rk_compare_bad" || :
}

rk_compare_verdicts() { grep -cE "	($2)\$" "$RK_COMPARE_OUT/$1.results" || :; }


# rk_compare_count DRIVER NAME [OPTION]... -- CMD...: what CMD counts, one instruction per nanosecond. That the other
# driver's kernel dies of it is a result.
rk_compare_count() {
	local driver=$1 log=$RK_COMPARE_OUT/$1.$2 bad
	rk_say "$driver: count $2"
	rk_compare_guest "$driver" "$log.console" --icount --timeout 900 "${@:3}" >"$log.counted" 2>"$log.err" || {
		tail -n 5 "$log.err" >&2
		[ "$driver" != ours ] || RK_COMPARE_LACKS+=("$driver: counting $2 failed")
	}
	bad=$(grep -cE "$rk_compare_bad" "$log.console")
	printf 'count\t%s: kernel warnings and oopses\tlines\t%s\n' "$2" "$bad" >>"$RK_COMPARE_OUT/$driver.count"
	grep '^count	' "$log.counted" >>"$RK_COMPARE_OUT/$driver.count" || [ "$bad" -gt 0 ] ||
		RK_COMPARE_LACKS+=("$driver: $2 counted nothing")
}

rk_compare_row() {
	awk -v OFS='\t' -v m="$1" -v u="$2" -v a="$3" -v b="$4" 'BEGIN {
		r = "-"
		if (a != "-" && b != "-" && b + 0 != 0) r = sprintf("%.3f", a / b)
		print m, u, a, b, r
	}'
}

# Code and constants.
rk_compare_text_of() { rk_enter aarch64-linux-gnu-size "$1" | awk 'NR == 2 { print $1 }'; }

rk_compare_table() {
	local v
	printf 'measure\tunit\tours\t%s\tratio\twhy more\n' "$RK_OTHER"
	if [ -s "$RK_COMPARE_OUT/ours.results" ]; then
		for v in pass fail hang crash skip; do
			rk_compare_row "tests: $v" tests "$(rk_compare_verdicts ours $v)" "$(rk_compare_verdicts "$RK_OTHER" $v)"
		done
		rk_compare_row "kernel warnings and oopses" lines "$(cat "$RK_COMPARE_OUT/ours.warnings")" \
			"$(cat "$RK_COMPARE_OUT/$RK_OTHER.warnings")"
	fi
	rk_compare_row "text of the module" bytes "$(rk_compare_text_of "$RK_MODULE")" "$(rk_compare_text_of "$RK_OTHER_MODULE")"
	awk -F '\t' -v OFS='\t' '
		FILENAME ~ /ours.count$/ { order[++n] = $2; unit[$2] = $3; ours[$2] = $4; next }
		{ if (!($2 in unit)) { order[++n] = $2; unit[$2] = $3 } theirs[$2] = $4 }
		END {
			for (i = 1; i <= n; i++) {
				m = order[i]
				a = (m in ours) ? ours[m] : "-"
				b = (m in theirs) ? theirs[m] : "-"
				r = (a != "-" && b != "-" && b + 0 != 0) ? sprintf("%.3f", a / b) : "-"
				print m, unit[m], a, b, r
			}
		}' "$RK_COMPARE_OUT/ours.count" "$RK_COMPARE_OUT/$RK_OTHER.count"
}

# Puts the reasons of data/compare-reasons behind rows of a table in which less is better; "?" where there is none.
rk_compare_explain() {
	awk -F '\t' -v OFS='\t' -v driver="$RK_OTHER" '
		FILENAME == ARGV[1] { if ($1 == driver) { pattern[++n] = $2; reason[n] = $3 }; next }
		# Also where the other driver has none.
		FNR > 1 && $5 == "-" { more = $4 != "-" && $3 + 0 > $4 + 0 }
		FNR > 1 && $5 != "-" { more = $5 > 1.05 }
		FNR == 1 || !more || $2 == "jobs/s" || $2 == "times" || /^tests: / { print; next }
		{
			why = "?"
			for (i = n; i; i--) if ($1 ~ pattern[i]) why = reason[i]
			print $0, why
		}' "$RK_TESTBED/data/compare-reasons" -
}

rk_compare_per_test() {
	printf '%-7s %-7s %s\n' ours "$RK_OTHER" test
	awk -F '\t' '
		$3 == "ended" { next }
		{ k = $1 ": " $2 }
		!(k in seen) { seen[k] = 1; order[++n] = k }
		FILENAME ~ /ours.results$/ { a[k] = $3; next }
		{ b[k] = $3 }
		END {
			for (i = 1; i <= n; i++) {
				k = order[i]
				printf "%-7s %-7s %s\n", k in a ? a[k] : "-", k in b ? b[k] : "-", k
			}
		}' "$RK_COMPARE_OUT/ours.results" "$RK_COMPARE_OUT/$RK_OTHER.results"
}

# rk_compare TSV [PROGRAM]...: runs them on both, and what the function count_on DRIVER does; prints and keeps the table.
rk_compare() {
	local tsv=$1 programs=("${@:2}") driver start p
	rk_results "$RK_COMPARE_OUT/results.txt" "compare: the same programs on our driver and on $RK_OTHER"
	for p in "${programs[@]+"${programs[@]}"}"; do
		[ -x "$RK_TOP/build/selftests/$p" ] || rk_die "build/selftests has no $p"
	done
	for driver in ours "$RK_OTHER"; do
		start=$SECONDS
		: >"$RK_COMPARE_OUT/$driver.count"
		rk_compare_run_tests "$driver" "${programs[@]+"${programs[@]}"}"
		count_on "$driver"
		rk_results_row "$driver" "$(cat "$RK_KERNEL/release")" "$(rk_compare_verdicts "$driver" pass)" \
			"$(rk_compare_verdicts "$driver" 'fail|hang|crash')" "$(rk_compare_verdicts "$driver" skip)" \
			$((SECONDS - start)) - "${programs[@]+"${programs[@]}"}"
	done
	[ ${#programs[@]} -eq 0 ] || [ "$(rk_compare_verdicts ours 'pass|fail|hang|crash')" -gt 0 ] ||
		RK_COMPARE_LACKS+=("ours: no test ran")
	rk_compare_table | rk_compare_explain >"$tsv"
	while IFS= read -r p; do RK_COMPARE_LACKS+=("more than $RK_OTHER without a reason: $p"); done < <(grep '	?$' "$tsv" | cut -f1)
	rk_compare_per_test | tee "$RK_COMPARE_OUT/tests.txt"
	echo
	awk -F '\t' '{ printf "%-76s %-12s %12s %12s %8s  %s\n", $1, $2, $3, $4, $5, $6 }' "$tsv" | tee "$RK_COMPARE_OUT/table.txt"
	sed 's/^/# /' "$RK_COMPARE_OUT/table.txt" >>"$RK_RESULTS"
	for p in "${RK_COMPARE_LACKS[@]+"${RK_COMPARE_LACKS[@]}"}"; do rk_say "error: $p"; done
	[ ${#RK_COMPARE_LACKS[@]} -eq 0 ] && [ "$(rk_compare_verdicts ours 'fail|hang|crash')" = 0 ]
}
