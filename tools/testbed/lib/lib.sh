# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Shared shell functions of the testbed: messages, the artefact cache, apt access and entering the build root.

set -uo pipefail

RK_TESTBED=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
export RK_TOP
RK_TOP=$(cd -- "$RK_TESTBED/../.." && pwd)
RK_CACHE=${RKNPU_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rknpu-accel}
RK_LOGS=$RK_CACHE/logs
RK_SUITE=trixie
RK_HEARTBEAT=15

rk_say() { printf 'testbed: %s\n' "$*" >&2; }
rk_die() { printf 'testbed: error: %s\n' "$*" >&2; exit 2; }

mkdir -p "$RK_CACHE/locks" "$RK_LOGS" || rk_die "cannot create the cache at $RK_CACHE"
RK_CACHE=$(cd -- "$RK_CACHE" && pwd)
RK_LOGS=$RK_CACHE/logs
export RK_CCACHE=$RK_CACHE/ccache

# shellcheck source-path=SCRIPTDIR source=ran.sh
. "$RK_TESTBED/lib/ran.sh" "$@"

rk_on_root() { [ "$(id -u)" = 0 ]; }
rk_hash() { sha256sum | cut -c1-16; }

rk_host_arch() { dpkg --print-architecture; }

# Everything registered here is removed when the script ends, however it ends.
RK_TRASH=()
RK_BEAT=
# Process groups of what runs in the background.
declare -A RK_CHILDREN=()
rk_cleanup() {
	rk_kill_children
	[ -z "$RK_BEAT" ] || kill "$RK_BEAT" 2>/dev/null
	local t
	for t in "${RK_TRASH[@]+"${RK_TRASH[@]}"}"; do
		rk_remove "$t"
	done
}

rk_kill_children() {
	local pid
	for pid in "${!RK_CHILDREN[@]}"; do
		kill -- "-$pid" 2>/dev/null
	done
	RK_CHILDREN=()
}

# rk_start CODE: runs shell code in the background, in a process group of its own, which ends with this script.
rk_start() {
	set -m
	(
		# shellcheck disable=SC2030 # is meant to
		RK_TRASH=() RK_BEAT='' RK_CHILDREN=()
		trap rk_cleanup EXIT
		eval "$1"
	) </dev/null &
	RK_STARTED=$!
	set +m
	RK_CHILDREN[$RK_STARTED]=1
}

# rk_wait_any: waits for one of them; RK_ENDED is its id, the status its status.
rk_wait_any() {
	local rc c
	RK_ENDED=
	# Without those that ended before, which this shell may have forgotten but for their status.
	for c in "${!RK_CHILDREN[@]}"; do
		kill -0 "$c" 2>/dev/null || RK_ENDED=$c
	done
	if [ -n "$RK_ENDED" ]; then
		wait "$RK_ENDED"
	else
		wait -n -p RK_ENDED "${!RK_CHILDREN[@]}"
	fi
	rc=$?
	[ -n "${RK_ENDED:-}" ] || rk_die "lost a child"
	unset "RK_CHILDREN[$RK_ENDED]"
	return $rc
}

trap 'rk_note_run $?; rk_cleanup' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# Files made inside an unprivileged root belong to sub-uids: only the namespace may remove them.
rk_remove() {
	[ -e "$1" ] || return 0
	rm -rf -- "$1" 2>/dev/null && return 0
	rk_userns rm -rf -- "$1"
}

rk_start_beat() {
	local what=$1 log=$2 parent=$$
	(
		trap - EXIT INT TERM HUP
		exec >&2 </dev/null
		exec {never}<> <(:)
		t=0
		while kill -0 "$parent" 2>/dev/null; do
			# A read that always times out sleeps without a child that would outlive us.
			read -rt "$RK_HEARTBEAT" -u "$never" _
			t=$((t + RK_HEARTBEAT))
			rk_say "$what: ${t}s: $(tail -n1 "$log" 2>/dev/null | tr -cd '[:print:]' | cut -c1-90)"
		done
	) &
	RK_BEAT=$!
}

rk_stop_beat() {
	kill "$RK_BEAT" 2>/dev/null
	wait "$RK_BEAT" 2>/dev/null
	RK_BEAT=
}

# rk_step WHAT CMD...: a step that may take long; its output goes to a log named on failure.
rk_step() {
	local what=$1 log rc
	shift
	log=$RK_LOGS/$(printf '%s' "$what" | tr -c 'A-Za-z0-9.' '-').$$.log
	rk_say "$what ..."
	rk_start_beat "$what" "$log"
	"$@" >"$log" 2>&1 </dev/null
	rc=$?
	rk_stop_beat
	if [ $rc -ne 0 ]; then
		tail -n 12 "$log" | sed 's/^/    /' >&2
		rk_die "$what failed (status $rc); full log: $log"
	fi
	rm -f -- "$log"
}

# rk_together CODE...: runs pieces of shell code at the same time, each of which fills the cache.
rk_together() {
	local c
	for c; do
		rk_start "$c" >/dev/null
	done
	for c; do
		rk_wait_any || exit
	done
}

rk_lock() {
	local fd
	exec {fd}>"$RK_CACHE/locks/$1" || rk_die "cannot open lock $1"
	if ! flock -n "$fd"; then
		rk_say "waiting for another build of $1"
		flock "$fd" || rk_die "cannot lock $1"
	fi
	RK_LOCKFD=$fd
}

rk_unlock() { exec {RK_LOCKFD}>&-; }

# rk_cached NAME HASH BUILDER [ARG...]: run BUILDER TMPDIR ARG... once; the result is in RK_OUT.
# A builder must exit (rk_die) on failure; the directory appears under its final name only when whole.
rk_cached() {
	local name=$1 hash=$2 builder=$3 tmp lockfd
	shift 3
	RK_OUT=$RK_CACHE/$name-$hash
	[ -d "$RK_OUT" ] && return 0
	local out=$RK_OUT
	rk_lock "$name-$hash"
	lockfd=$RK_LOCKFD
	if [ ! -d "$out" ]; then
		rk_sweep "$name-$hash"
		tmp=$RK_CACHE/tmp.$name-$hash.$$
		# shellcheck disable=SC2031 # not in the one above
		RK_TRASH+=("$tmp")
		mkdir "$tmp" || rk_die "cannot create $tmp"
		"$builder" "$tmp" "$@" || rk_die "building $name failed"
		mv -T -- "$tmp" "$out" || rk_die "cannot rename $tmp"
	fi
	RK_LOCKFD=$lockfd
	rk_unlock
	RK_OUT=$out
}

# Called under the lock of NAME, so whatever lies there was left by a build that was killed.
rk_sweep() {
	local t
	for t in "$RK_CACHE/tmp.$1".*; do
		rk_remove "$t"
	done
}

# rk_foreign_warnings LOG: takes warnings that are not about us out of a kernel's log, into LOG.foreign:
# - 5.10's vgem says that it cannot flush caches of this architecture, and works;
# - in-tree rocket takes a file's addresses away when it is closed, though the job that has just ended is freed later.
rk_foreign_warnings() {
	local theirs=' vgem_prime_pin[+]| rocket_postclose[+].*[[]rocket]'
	grep -qE "$theirs" "$1" || return 0
	awk -v ours="$1.new" -v foreign="$1.foreign" -v theirs="$theirs" '
		function flush() { printf "%s", block >(block ~ theirs ? foreign : ours); block = "" }
		/-\[ cut here \]-/ { flush() }
		{ block = block $0 "\n" }
		/-\[ end trace / { flush() }
		END { flush() }' "$1" && mv "$1.new" "$1"
}

# Prints the first lines of a kernel log that no test may leave behind; a missing log is one too. With a second word
# call traces alone are none: an allocation that was made to fail may print one.
rk_dmesg_complaints() {
	local bad='WARNING: |BUG: |Oops|Unable to handle|Kernel panic|possible (circular|recursive)'
	bad+='|INFO: task .* blocked|rcu: .*(stall|detected)|refcount_t: |KASAN|UBSAN|kmemleak: [0-9]|Internal error'
	bad+='|soft lockup|DMA-API: .*device driver|INFO: trying to register non-static key|ODEBUG'
	bad+='|list_(add|del) corruption|Voluntary context switch within RCU|^rk_iommu_dirty_read|^rk_port_lost'
	[ -n "${2:-}" ] || bad+='|Call trace:'
	[ -s "$1" ] || { echo "no console log $1"; return; }
	grep -E -m5 "$bad" "$1" | tr -d '\r'
}

# rk_made TARGET...: what this command needs of make's targets; bin/check has made all beforehand.
rk_made() {
	[ -n "${RKNPU_MADE:-}" ] || env -u MAKEFLAGS -u MFLAGS make -sC "$RK_TOP" "$@" >&2 </dev/null || rk_die "make $* fails"
}

# rk_copy_changed FROM TO <NAMES: copies those files that are not the same in TO, with their directories.
rk_copy_changed() {
	local from=$1 to=$2 names f
	names=$(cat)
	mkdir -p "$to" || return
	# All sums in one go: a cmp for each file was a seventh of what a guest's start costs.
	LC_ALL=C comm -23 <(cd "$from" && xargs -d '\n' sha256sum <<<"$names" | LC_ALL=C sort) \
		<(cd "$to" && xargs -d '\n' sha256sum <<<"$names" 2>/dev/null | LC_ALL=C sort) | cut -d' ' -f3- |
		while read -r f; do
			mkdir -p "$to/$(dirname "$f")" && cp "$from/$f" "$to/$f" || return 1
		done
}

# --- host packages and apt -------------------------------------------------

rk_need_host() {
	local tool=$1 pkg=$2
	command -v "$tool" >/dev/null && return 0
	rk_on_root || rk_die "this host lacks $tool: install the package $pkg"
	rk_lock host-apt
	if ! command -v "$tool" >/dev/null; then
		rk_step "install $pkg on this host" sh -c '
			apt-get -q update &&
			DEBIAN_FRONTEND=noninteractive apt-get -qy -o DPkg::Lock::Timeout=120 \
				install --no-install-recommends "$1"' sh "$pkg"
	fi
	rk_unlock
}

# "ORIGIN RELEASE URI" of each main component that this host's apt is configured to use.
rk_indextargets() {
	apt-get indextargets "$@" --format '$(ORIGIN)|$(RELEASE)|$(COMPONENT)|$(REPO_URI)' \
		'Created-By: Packages' 2>/dev/null | awk -F'|' '$3 == "main" && $4 ~ /^(http|https|file|copy|mirror)/'
}

# The mirror is the one this host uses for its own release. Others name suites alike: apt knows what is Debian's
# once it has fetched a Release file, and before that the path tells.
rk_mirror() {
	local codename uri
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	uri=$({
		rk_indextargets | awk -F'|' '$1 == "Debian"'
		rk_indextargets --no-release-info | grep -E '/debian/?$'
		rk_indextargets --no-release-info
	} | awk -F'|' -v c="$codename" '$2 == c || $2 == "stable" || $2 == "oldstable" { print $4; exit }')
	[ -n "$uri" ] || rk_die "no Debian 'main' mirror found in this host's apt configuration"
	echo "${uri%/}"
}

rk_keyring() {
	local k=/usr/share/keyrings/debian-archive-keyring.gpg
	# trixie's keys came to bookworm with version 2023.3+deb12u2 of the keyring.
	if ! dpkg --compare-versions "$(dpkg-query -Wf '${Version}' debian-archive-keyring 2>/dev/null || echo 0)" \
		ge 2023.3+deb12u2; then
		rk_on_root || rk_die "this host's debian-archive-keyring lacks trixie's keys: upgrade that package"
		rk_step "upgrade debian-archive-keyring" sh -c \
			'apt-get -q update && apt-get -qy install debian-archive-keyring'
	fi
	[ -e $k ] || rk_die "$k is missing"
	echo $k
}

# Suites whose Release file has expired on the mirrors that still carry them; all, if this machine is told to take such files.
rk_suite_options() {
	case $1,$(apt-config dump --format %v Acquire::Check-Valid-Until 2>/dev/null) in
	bullseye* | *,false | *,no | *,0) echo "check-valid-until=no " ;;
	esac
}

# rk_sources SUITE...: apt source lines of the suites, binary and source.
rk_sources() {
	local mirror key s
	mirror=$(rk_mirror) || exit
	key=$(rk_keyring) || exit
	for s; do
		printf 'deb%s [%ssigned-by=%s] %s %s main\n' \
			"" "$(rk_suite_options "$s")" "$key" "$mirror" "$s" \
			-src "$(rk_suite_options "$s")" "$key" "$mirror" "$s"
	done
}

rk_apt_conf() {
	local dir=$1
	cat <<-END
	Dir::State "$dir";
	Dir::State::Lists "$dir/lists";
	Dir::State::status "$dir/status";
	Dir::Cache "$dir/cache";
	Dir::Etc::SourceList "$dir/sources.list";
	Dir::Etc::SourceParts "$dir/empty";
	Dir::Etc::Preferences "$dir/none";
	Dir::Etc::PreferencesParts "$dir/empty";
	APT::Architecture "$(rk_host_arch)";
	#clear APT::Architectures;
	APT::Architectures { "$(rk_host_arch)"; "arm64"; };
	APT::Sandbox::User "";
	APT::Get::List-Cleanup "false";
	Acquire::Languages "none";
	#clear APT::Update::Post-Invoke;
	#clear APT::Update::Post-Invoke-Success;
	END
}

# rk_update NEW FILE: FILE becomes NEW, at once, and is not touched if it is the same.
rk_update() {
	if cmp -s "$1" "$2"; then rm "$1"; else mv "$1" "$2"; fi
}

# rk_apt_dir SUITE...: a private apt state with just these suites, refreshed at most once an hour; in RK_APT.
rk_apt_dir() {
	local name dir
	name=$(printf '%s+' "$@")
	name=${name%+}
	dir=$RK_CACHE/apt/$name
	RK_APT=$dir/apt.conf
	rk_lock "apt-$name"
	mkdir -p "$dir"/{lists/partial,cache/archives/partial,empty} || rk_die "cannot create $dir"
	: >>"$dir/status"
	rk_sources "$@" >"$dir/sources.new" || exit
	rk_apt_conf "$dir" >"$dir/conf.new"
	# Others may be using it.
	rk_update "$dir/sources.new" "$dir/sources.list"
	rk_update "$dir/conf.new" "$RK_APT"
	if [ -z "$(find "$dir/stamp" -mmin -60 2>/dev/null)" ]; then
		rk_step "fetch the package lists of $name" apt-get -c "$RK_APT" -q update
		touch "$dir/stamp"
	fi
	rk_unlock
}

# rk_apt_get DIR PKG...: download packages, checked by apt, into DIR.
rk_apt_get() {
	local dir=$1
	shift
	rk_step "download $*" sh -c 'cd "$1" && shift && c=$1 && shift && apt-get -c "$c" -q download "$@"' \
		sh "$dir" "$RK_APT" "$@"
}

# --- the build root --------------------------------------------------------

# An ordinary user becomes root of a user namespace in which its sub-uids are visible.
rk_userns() {
	if rk_on_root; then
		"$@"
	else
		unshare --user --map-root-user --map-auto -- "$@"
	fi
}

rk_root_packages() { sed -e 's/#.*//' "${RK_ROOT_LIST:-$RK_TESTBED/data/root-packages}" | tr -s ' \t\n' ' '; }

rk_need_userns() {
	rk_on_root && return 0
	rk_need_host newuidmap uidmap
	grep -q "^$(id -un):" /etc/subuid || rk_die "no sub-uids for $(id -un) in /etc/subuid (usermod --add-subuids)"
	rk_userns true || rk_die "this host does not allow user namespaces: run as root"
}

# rk_build_root DIR [SUITE PACKAGES]: the build root, or one of another suite.
rk_build_root() {
	local dir=$1 suite=${2:-$RK_SUITE} packages=${3:-$(rk_root_packages)} archs src
	packages=$(xargs <<<"$packages" | tr ' ' ,)
	archs=$({ rk_host_arch; echo arm64; grep -o ':armhf' <<<"$packages" | tr -d :; } | awk '!s[$0]++' | paste -sd,)
	src=$(rk_sources "$suite" | grep '^deb ') || exit
	# For each package mmdebstrap starts a python3, which wrappers such as pyenv's make slow.
	rk_step "make the build root (Debian $suite)" \
		env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash "$RK_TESTBED/lib/mkroot" "$dir" "$suite" "$archs" "$packages" "$src"
	rk_userns sh -c 'cd "$1" && mkdir -p rk/qemu rk/src && rm -rf var/cache/apt/archives/*.deb' sh "$dir"
}

# A mirror in the middle of an update has a wrong list of some architecture for hours; only tests want 32-bit libraries.
rk_build_root_64() {
	rk_build_root "$1" "$RK_SUITE" "$(rk_root_packages | sed 's/[^ ]*:armhf//g')"
	touch "$1"
}

# rk_root_of_today HASH: is the build root there, or was it tried today without success?
rk_root_of_today() {
	[ ! -d "$RK_CACHE/root-$1" ] || { RK_ROOT=$RK_CACHE/root-$1; return 0; }
	[ -n "$(find "$RK_CACHE/root-$1-64" -maxdepth 0 -mtime -1 2>/dev/null)" ] || return 1
	RK_ROOT=$RK_CACHE/root-$1-64
}

# rk_root: make sure that the build root exists; its path is in RK_ROOT.
rk_root() {
	[ -z "${RK_ROOT:-}" ] || return 0
	local hash
	hash=$({ rk_root_packages; cat "$RK_TESTBED/lib/mkroot"; echo "$RK_SUITE $(rk_host_arch) $(id -u)"; } | rk_hash)
	! rk_root_of_today "$hash" || return 0
	rk_need_host mmdebstrap mmdebstrap
	rk_need_userns
	RK_ROOT=$RK_CACHE/root-$hash
	(rk_cached root "$hash" rk_build_root) && return 0
	rk_remove "$RK_CACHE/tmp.root-$hash.$$"
	grep -qs 'Failed to fetch .*/binary-armhf/' "$RK_LOGS"/make-the-build-root*".$$.log" || exit 1
	rk_say "again without 32-bit packages: tests of 32-bit programs will be skipped"
	[ ! -d "$RK_ROOT-64" ] || touch "$RK_ROOT-64"
	rk_cached root "$hash-64" rk_build_root_64
	RK_ROOT=$RK_OUT
}

# Can it build programs of 32 bits?
rk_has_armhf() {
	rk_root
	[ -e "$RK_ROOT/usr/lib/arm-linux-gnueabihf/pkgconfig/libdrm.pc" ]
}

# rk_enter [-b SRC:DST]... CMD...: run CMD inside the build root, in the same working directory when it is
# below the clone or the cache. No pid namespace: signals and exit statuses pass straight through.
rk_enter() {
	local binds=()
	while [ "${1:-}" = -b ]; do
		binds+=("$2")
		shift 2
	done
	rk_root
	local ns=(--mount --propagation unchanged)
	rk_on_root || ns+=(--user --map-root-user --map-auto)
	${RK_EXEC:-} unshare "${ns[@]}" -- bash "$RK_TESTBED/lib/enter" "$RK_ROOT" "$PWD" \
		"$RK_CACHE:$RK_CACHE" "$RK_TOP:$RK_TOP" "${binds[@]+"${binds[@]}"}" -- "$@"
}
