# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs jobs side by side and prints what each has to say in the order in which they were listed.

RK_JOB_NAMES=()
RK_JOB_COMMANDS=()

# rk_job NAME CMD...: lists a job. What it prints is kept until its turn has come; its stderr is seen at once.
rk_job() {
	RK_JOB_NAMES+=("$1")
	shift
	RK_JOB_COMMANDS+=("$(printf '%q ' "$@")")
}

# Two more than there are cores: guests wait for half of their time. With many more some would miss deadlines. Each
# takes one GiB and what QEMU needs.
rk_jobs_default() {
	awk -v cores="$(nproc)" '/^MemAvailable:/ { most = int($2 / 1572864) }
		END { n = cores + 2; if (n > most) n = most; print n < 1 ? 1 : n }' /proc/meminfo
}

# Seconds that each job took when it ran last, on this host: what takes long begins early, so that it is not alone in the end.
RK_TOOK_FILE=$RK_CACHE/took.tsv

# rk_jobs_sort: the longest first; what nobody knows yet, before.
rk_jobs_sort() {
	local i names=() commands=()
	while read -r _ i; do
		names+=("${RK_JOB_NAMES[i]}")
		commands+=("${RK_JOB_COMMANDS[i]}")
	done < <(
		for i in "${!RK_JOB_NAMES[@]}"; do printf '%s\t%s\n' "$i" "${RK_JOB_NAMES[i]}"; done |
			awk -F'\t' -v took="$RK_TOOK_FILE" '
				BEGIN { while ((getline line <took) > 0) { split(line, part); seconds[part[1]] = part[2] } }
				{ print $2 in seconds ? seconds[$2] : 99999, $1 }' | sort -s -k1,1nr
	)
	RK_JOB_NAMES=("${names[@]}") RK_JOB_COMMANDS=("${commands[@]}")
}

# rk_jobs_took FILE: keeps the lines "NAME SECONDS" of the file, with a tab. A test that had passed before with the same
# files took no time, but will when they change.
rk_jobs_took() {
	(
		flock 9
		touch "$RK_TOOK_FILE"
		awk -F'\t' '{ was = took[$1] * .8; took[$1] = $2 > was ? $2 : was } END { for (n in took) print n "\t" took[n] }' "$RK_TOOK_FILE" "$1" \
			>"$RK_TOOK_FILE.new" && mv "$RK_TOOK_FILE.new" "$RK_TOOK_FILE"
	) 9>"$RK_CACHE/locks/took"
}

# Tells every now and then what is running and for how long.
rk_jobs_beat() {
	local dir=$1 total=$2 parent=$$
	trap - EXIT INT TERM HUP
	exec >&2 </dev/null
	exec {never}<> <(:)
	while kill -0 "$parent" 2>/dev/null; do
		read -rt 30 -u "$never" _
		rk_say "$(find "$dir" -name '*.done' | wc -l) of $total done; running: $(
			now=$(date +%s)
			find "$dir" -name '*.running' -printf '%T@ %f\n' | sort | while read -r began name; do
				printf '%s (%d s) ' "$(cat "$dir/$name")" $((now - ${began%.*}))
			done)"
	done
}

# rk_jobs_run N: runs them, N at a time.
rk_jobs_run() {
	local max=$1 dir total=${#RK_JOB_NAMES[@]} next=0 shown=0
	local -A number=()
	dir=$(mktemp -d) || rk_die "cannot make a directory for jobs"
	RK_TRASH+=("$dir")
	rk_jobs_beat "$dir" "$total" &
	# shellcheck disable=SC2034 # for rk_stop_beat
	RK_BEAT=$!
	while [ $shown -lt "$total" ]; do
		while [ ${#RK_CHILDREN[@]} -lt "$max" ] && [ $next -lt "$total" ]; do
			echo "${RK_JOB_NAMES[next]}" >"$dir/$next.running"
			rk_start "${RK_JOB_COMMANDS[next]}" >"$dir/$next.out"
			number[$RK_STARTED]=$next
			next=$((next + 1))
		done
		rk_wait_any
		mv "$dir/${number[$RK_ENDED]}.running" "$dir/${number[$RK_ENDED]}.done"
		while [ -e "$dir/$shown.done" ]; do
			cat "$dir/$shown.out"
			shown=$((shown + 1))
		done
	done
	rk_stop_beat
}
