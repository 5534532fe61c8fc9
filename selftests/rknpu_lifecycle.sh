#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Loading, unloading, binding, unbinding and idling of the module; prints TAP.

cd "$(dirname "$0")" || exit 1
rounds=${RKNPU_ROUNDS:-50}
n=0
failed=0

ok() { n=$((n + 1)); echo "ok $n lifecycle.$1"; }
not_ok() { n=$((n + 1)); failed=$((failed + 1)); echo "not ok $n lifecycle.$1"; shift; echo "# $*"; }
skip() { n=$((n + 1)); echo "ok $n lifecycle.$1 # SKIP $2"; }
# check NAME CMD...: one case, passed when CMD succeeds
check() {
	name=$1
	shift
	if "$@" >/tmp/lifecycle.log 2>&1; then
		ok "$name"
	else
		not_ok "$name" "failed: $*"
		sed 's/^/# /' /tmp/lifecycle.log
	fi
}

ko() { find /modules "/lib/modules/$(uname -r)" -name 'rknpu_accel.ko*' 2>/dev/null | head -n1; }
model() { ./rknpu_model present; }
# Kernels without a driver for the power domains are given none.
power_domains() { model && [ -n "$(find /sys/bus/platform/devices/*.npu/of_node/ -name power-domains)" ]; }
load() { insmod "$ko"; }
remove() { rmmod rknpu_accel; }
loaded() { grep -q '^rknpu_accel ' /proc/modules; }
node() { ./rknpu_model node >/dev/null 2>&1; }
no_node() { ! node; }
sunreclaim() { awk '/^SUnreclaim/ { print $2 }' /proc/meminfo; }
vmallocs() { wc -l </proc/vmallocinfo; }
powered() { [ "$(./rknpu_model powered)" = "$1" ]; }
npu_domains() { awk '/^npu/ { print $1, $2 }' /sys/kernel/debug/pm_genpd/pm_genpd_summary; }
cores() { find "$driver" -name '*.npu' | sort; }

# wait_for TENTHS CMD...
wait_for() {
	left=$(($1 * ${RKNPU_TEST_SLOW:-1}))
	shift
	while ! "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.1
	done
}

# Before 7.2 a fence holds the module until RCU has freed it, a while after its last user let go of it.
fences_hold_module() { uname -r | awk -F '[.-]' '{ exit !($1 < 7 || $1 == 7 && $2 < 2) }'; }

# Where nothing holds the module any longer the first try must do.
unload() {
	remove && return
	fences_hold_module && wait_for 50 remove
}

domains_off() {
	[ -e /sys/kernel/debug/pm_genpd/pm_genpd_summary ] || return 0
	npu_domains
	[ "$(npu_domains | wc -l)" -ge 4 ] && [ -z "$(npu_domains | awk '$2 !~ /^off/')" ]
}

load_unload() {
	i=0
	while [ $i -lt "$1" ]; do
		load || return 1
		wait_for 50 node || { echo "round $i: no node"; return 1; }
		[ $((i % 10)) -ne 0 ] || ./rknpu_model job || return 1
		unload || return 1
		no_node || { echo "round $i: the node is still there"; return 1; }
		i=$((i + 1))
	done
}

# Some of it is the kernel's own caches filling up: what leaks per round shows, they don't.
no_growth() {
	grown=$(($2 - $1))
	echo "grew by $grown ($1 to $2)"
	[ $grown -lt "$3" ]
}

nothing_left() {
	! loaded || { echo "module still loaded"; return 1; }
	! grep -i rknpu /proc/interrupts /proc/iomem || return 1
	[ ! -e /sys/kernel/debug/rknpu ] || { echo "debugfs left"; return 1; }
	[ -z "$(find /sys/bus/platform/drivers -name 'rknpu*')" ] || { echo "driver left"; return 1; }
	[ -z "$(find /sys/bus/platform/devices -name '*rknpu*')" ] || { echo "device left"; return 1; }
}

rmmod_refused_while_open() {
	node=$(./rknpu_model node)
	exec 9<>"$node"
	rmmod rknpu_accel 2>&1 && { exec 9>&-; return 1; }
	exec 9>&-
	loaded && ./rknpu_model job
}

idles() {
	./rknpu_model three || return 1
	wait_for 30 powered "0 0 0"
}

wakes() {
	./rknpu_model job || return 1
	wait_for 30 powered "0 0 0" && ./rknpu_model job
}

unbind_bind() {
	for d in $(cores); do
		core=${d##*/}
		echo "$core" >"$driver/unbind" || return 1
		wait_for 20 no_node || { echo "$core: published without it"; return 1; }
		echo "$core" >"$driver/bind" || return 1
		wait_for 20 node || { echo "$core: not published again"; return 1; }
		./rknpu_model three || return 1
	done
}

# The device goes away under an open file with jobs queued and running.
unbind_busy() {
	core=$(cores | head -n1)
	core=${core##*/}
	./rknpu_model hold 1500 >/tmp/hold.log 2>&1 &
	pid=$!
	wait_for 100 grep -q ready /tmp/hold.log || return 1
	echo "$core" >"$driver/unbind"
	wait $pid || true
	cat /tmp/hold.log
	echo "$core" >"$driver/bind"
	grep -q 'prep ENODEV' /tmp/hold.log && grep -q 'create ENODEV' /tmp/hold.log &&
		grep -q 'submit ENODEV' /tmp/hold.log && grep -q 'closed 0' /tmp/hold.log &&
		wait_for 20 node && ./rknpu_model three
}

# The same with three clients, and every core goes at once.
unbind_all_busy() {
	all=$(for d in $(cores); do echo "${d##*/}"; done)
	pids=
	for i in 1 2 3; do
		./rknpu_model hold 1500 >/tmp/hold.$i.log 2>&1 &
		pids="$pids $!"
	done
	for i in 1 2 3; do
		wait_for 50 grep -q ready /tmp/hold.$i.log || return 1
	done
	unbinds=
	for core in $all; do
		echo "$core" >"$driver/unbind" &
		unbinds="$unbinds $!"
	done
	# shellcheck disable=SC2086 # one word per process
	wait $unbinds
	no_node || { echo "the node is still there"; return 1; }
	# shellcheck disable=SC2086
	wait $pids || true
	cat /tmp/hold.[123].log
	for core in $all; do
		echo "$core" >"$driver/bind" || return 1
	done
	[ "$(cat /tmp/hold.[123].log | grep -c 'prep ENODEV')" = 3 ] &&
		[ "$(cat /tmp/hold.[123].log | grep -c 'closed 0')" = 3 ] &&
		wait_for 20 node && ./rknpu_model three
}

# All of system sleep but the sleep itself.
rehearse_sleep() {
	echo 1 >/sys/module/suspend/parameters/pm_test_delay 2>/dev/null
	echo platform >/sys/power/pm_test || return 1
	if echo freeze >/sys/power/state; then slept=0; else slept=1; fi
	echo none >/sys/power/pm_test
	reconnect
	[ $slept -eq 0 ] || { echo "sleep failed"; return 1; }
}

# In the testbed output goes to a virtio port, which Linux does not open again after sleep. The relay of the
# testbed's init goes on with a port that comes back, and loses what it writes first.
reconnect() {
	console=/sys/bus/virtio/drivers/virtio_console
	[ -p /tmp/.out ] && [ -d $console ] || return 0
	for d in "$console"/virtio*; do
		echo "${d##*/}" >$console/unbind
		echo "${d##*/}" >$console/bind
	done
	echo "# lost" >/tmp/.out
	echo "# lost" >/tmp/.err
	sleep "${RKNPU_TEST_SLOW:-1}"
}

# Nothing is lost or run twice, and the cores had lost power in between.
sleep_under_load() {
	./rknpu_model chain 100 20 >/tmp/chain.log 2>&1 &
	pid=$!
	wait_for 50 grep -q queued /tmp/chain.log || return 1
	rehearse_sleep
	slept=$?
	wait $pid
	work=$?
	cat /tmp/chain.log
	[ $slept -eq 0 ] && [ $work -eq 0 ] && grep -qx 'tasks 100' /tmp/chain.log || return 1
	! power_domains || [ "$(sed -n 's/^power_ups //p' /tmp/chain.log)" -ge 1 ] || return 1
	./rknpu_model three
}

reruns() { awk '/reruns/ { n += $2 } END { print n }' /sys/kernel/debug/rknpu/stats; }

# A job that takes too long to be waited for is stopped, and runs again afterwards.
sleep_in_a_long_job() {
	p=/sys/module/rknpu_accel/parameters
	before=$(reruns)
	timeout=$(cat $p/default_timeout_ms)
	wait=$(cat $p/sleep_wait_ms)
	echo 60000 >$p/default_timeout_ms
	echo 300 >$p/sleep_wait_ms
	./rknpu_model slow 6000 >/tmp/slow.log 2>&1 &
	pid=$!
	wait_for 100 grep -q queued /tmp/slow.log
	rehearse_sleep
	slept=$?
	wait $pid
	work=$?
	echo "$timeout" >$p/default_timeout_ms
	echo "$wait" >$p/sleep_wait_ms
	cat /tmp/slow.log
	after=$(reruns)
	echo "reruns $before to $after"
	[ $slept -eq 0 ] && [ $work -eq 0 ] && grep -qx 'tasks 1' /tmp/slow.log &&
		[ "$after" -eq $((before + 1)) ] && ./rknpu_model three
}

# A client that died with a hung job must not hold the module up for long.
rmmod_after_hang() {
	./rknpu_model hang || return 1
	wait_for 50 remove
	./rknpu_model calm
	load && wait_for 50 node && ./rknpu_model three
}

# As if the vendor's driver were there too: procfs warns about a name that is taken.
proc_taken() {
	unload || return 1
	mount -t tmpfs none /proc && mkdir /proc/rknpu || return 1
	load
	loaded_it=$?
	umount /proc
	[ $loaded_it -eq 0 ] && [ ! -e /proc/rknpu ] || return 1
	unload && load && [ -e /proc/rknpu/version ] && wait_for 50 node
}

dmesg_clean() {
	! dmesg | grep -E 'WARNING:|BUG:|Oops|Call trace|Unable to handle|cut here|possible circular|scheduling while atomic|Enable stall request timed out|Disable paging request timed out|Error during raw reset'
}

echo "TAP version 13"
ko=$(ko)
if [ -z "$ko" ] || ! loaded; then
	echo "1..0 # SKIP rknpu_accel is not loaded or its file is not here"
	exit 4
fi
driver=$(find /sys/bus/platform/drivers/rknpu* -name '*.npu' | head -n1)
driver=${driver%/*}
# With the vendor's device tree one device is all cores.
case $driver in */rknpu-accel-node) devices=1 ;; *) devices=3 ;; esac
dmesg >/tmp/dmesg.before
depends=$(tr '\0' '\n' <"$ko" | sed -n 's/^depends=/=/p')

check three_cores_bound [ "$(cores | wc -l)" = $devices ]
case $ko:$depends in
*.ko:= | *.ko:=drm) ok depends_on_drm_at_most ;;
*.ko:*) not_ok depends_on_drm_at_most "depends$depends" ;;
*) skip depends_on_drm_at_most "the module is compressed" ;;
esac
if power_domains; then
	check idle_cores_lose_power idles
	check a_job_wakes_a_sleeping_core wakes
else
	skip idle_cores_lose_power "needs the NPU model and power domains"
	skip a_job_wakes_a_sleeping_core "needs the NPU model and power domains"
fi
check rmmod_is_refused_while_a_file_is_open rmmod_refused_while_open
check r4_unbind_and_bind_each_core unbind_bind
if model; then
	check r3_unbind_with_jobs_in_flight unbind_busy
	check r3_unbind_all_with_three_clients unbind_all_busy
	check rmmod_after_a_hung_job rmmod_after_hang
else
	skip r3_unbind_with_jobs_in_flight "needs the NPU model"
	skip r3_unbind_all_with_three_clients "needs the NPU model"
	skip rmmod_after_a_hung_job "needs the NPU model"
fi

if ! model; then
	skip r36_system_sleep_with_jobs_in_flight "needs the NPU model"
	skip system_sleep_in_a_long_job "needs the NPU model"
elif grep -qw platform /sys/power/pm_test 2>/dev/null && grep -qw freeze /sys/power/state; then
	check r36_system_sleep_with_jobs_in_flight sleep_under_load
	check system_sleep_in_a_long_job sleep_in_a_long_job
else
	skip r36_system_sleep_with_jobs_in_flight "this kernel cannot rehearse it"
	skip system_sleep_in_a_long_job "this kernel cannot rehearse it"
fi

check proc_directory_of_another_driver_is_left_alone proc_taken
check unload unload
check nothing_left_after_unload nothing_left
check warm_up load_unload 5
mem=$(sunreclaim)
vm=$(vmallocs)
check "insmod_rmmod_${rounds}_times" load_unload "$rounds"
sleep 1
if [ -e /sys/kernel/debug/kmemleak ]; then
	skip no_slab_growth "this kernel keeps freed memory for a while"
else
	check no_slab_growth no_growth "$mem" "$(sunreclaim)" 1024
fi
check no_vmalloc_growth no_growth "$vm" "$(vmallocs)" 16
check nothing_left_at_the_end nothing_left
if power_domains; then
	check genpd_domains_are_off domains_off
else
	skip genpd_domains_are_off "needs the NPU model and power domains"
fi
if power_domains; then
	check model_domains_are_off powered "0 0 0"
else
	skip model_domains_are_off "needs the NPU model and power domains"
fi
check loads_again load
check works_again wait_for 20 ./rknpu_model three
check dmesg_has_no_warning dmesg_clean

echo "1..$n"
[ $failed -eq 0 ]
