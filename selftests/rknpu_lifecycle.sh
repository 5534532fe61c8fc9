#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Loading, unloading, binding, unbinding and idling of the module; prints TAP. -l lists the cases, -t NAME runs one, which
# may need what those before it have left. RKNPU_ROUNDS is how often the module is loaded and unloaded, RKNPU_LOAD a parameter
# that it is loaded with.
#
# boot: library
# boot: noiommulif RARE TEST_LIMIT=400 ENV=RKNPU_ROUNDS=3 ENV=RKNPU_LOAD=unsafe_noiommu=1 --model npu-iommu=0 --cmdline cma=256M --param unsafe_noiommu=1
# Without power domains the supply is the NPU's alone, and can come late.
# boot: dtlate LONG ENV=RKNPU_ROUNDS=5 TEST_LIMIT=400 --dt vendor-simple
# With them all of it goes at once, and comes back.
# boot: dtlife OLD LONG ENV=RKNPU_ROUNDS=5 TEST_LIMIT=400 --dt vendor
# Two of three cores are not there.
# boot: dt1
# boot: debug-lifecycle KERNEL=debug TEST_LIMIT=1800 ENV=RKNPU_ROUNDS=10

cd "$(dirname "$0")" || exit 1
rounds=${RKNPU_ROUNDS:-20}
group=lifecycle
# shellcheck source-path=SCRIPTDIR source=script_lib.sh
. ./script_lib.sh

model() { ./rknpu_model present; }
# Kernels without a driver for the power domains are given none.
power_domains() { model && [ -n "$(find /sys/bus/platform/devices/*.npu/of_node/ -name power-domains)" ]; }
load() { insmod "$ko" ${RKNPU_LOAD:+"$RKNPU_LOAD"}; }
remove() { rmmod rknpu_accel; }
node() { ./rknpu_model node >/dev/null 2>&1; }
no_node() { ! node; }
sunreclaim() { awk '/^SUnreclaim/ { print $2 }' /proc/meminfo; }
vmallocs() { wc -l </proc/vmallocinfo; }
powered() { [ "$(./rknpu_model powered)" = "$1" ]; }
npu_domains() { awk '/^npu/ { print $1, $2 }' /sys/kernel/debug/pm_genpd/pm_genpd_summary; }
cores() { find "$driver" -name '*.npu' | sort; }

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

# All of system sleep but the sleep itself, or up to another test of pm_test.
rehearse_sleep() {
	echo 1 >/sys/module/suspend/parameters/pm_test_delay 2>/dev/null
	echo "${1:-platform}" >/sys/power/pm_test || return 1
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
# sleep_beside TIMEOUT WAIT LOG PM_TEST COMMAND...: sleeps when that has queued its jobs; fails if either does.
sleep_beside() {
	p=/sys/module/rknpu_accel/parameters
	timeout=$(cat $p/default_timeout_ms)
	wait=$(cat $p/sleep_wait_ms)
	log=$3
	pm_test=$4
	echo "$1" >$p/default_timeout_ms
	echo "$2" >$p/sleep_wait_ms
	shift 4
	# The last one's must not be taken for this one's.
	rm -f "$log"
	"$@" >"$log" 2>&1 &
	pid=$!
	wait_for 100 grep -q queued "$log"
	rehearse_sleep "$pm_test"
	slept=$?
	wait $pid
	work=$?
	echo "$timeout" >$p/default_timeout_ms
	echo "$wait" >$p/sleep_wait_ms
	cat "$log"
	[ $slept -eq 0 ] && [ $work -eq 0 ]
}

sleep_in_a_long_job() {
	before=$(reruns)
	sleep_beside 60000 300 /tmp/slow.log platform ./rknpu_model slow 3000 || return 1
	after=$(reruns)
	echo "reruns $before to $after"
	grep -qx 'tasks 1' /tmp/slow.log && [ "$after" -eq $((before + 1)) ] && ./rknpu_model three
}

retired() { awk '/retired/ { n += $2 } END { print n }' /sys/kernel/debug/rknpu/stats; }

# sleep_with_hung CORES END TIMEOUT WAIT PM_TEST: no reset ends it, and on the way to sleep no power can be cut.
sleep_with_hung() {
	before=$(retired)
	sleep_beside "$3" "$4" /tmp/stuck.log "$5" ./rknpu_model stuck "$1" || return 1
	after=$(retired)
	echo "retired $before to $after"
	grep -qx "prep $2" /tmp/stuck.log && ! grep '^prep' /tmp/stuck.log | grep -qvx "prep $2" &&
		[ "$after" -eq "$before" ] && ./rknpu_model three
}

# Jobs are stopped, and run again, or are late meanwhile. Sleep cuts the power, or is called off before that.
sleep_with_hangs() {
	sleep_with_hung 1 0 60000 300 platform && sleep_with_hung 1 ETIME 3000 20000 devices &&
		sleep_with_hung 3 0 60000 300 devices && sleep_with_hung 3 ETIME 3000 20000 platform
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

# The regulator comes after the module, as from an I2C driver that is loaded late.
supply_comes_late() {
	unload || return 1
	echo "${supply##*/}" >"${supply%/*}/unbind" || return 1
	load
	loaded_it=$?
	! node && [ -d /sys/bus/platform/devices/rknpu ]
	waited=$?
	echo "${supply##*/}" >"${supply%/*}/bind" || return 1
	[ $loaded_it -eq 0 ] && [ $waited -eq 0 ] && wait_for 50 node && ./rknpu_model three
}

# Whom it uses, /proc/modules says in their lines.
depends_on_drm() { [ -z "$(awk '(","$4) ~ /,rknpu_accel,/ && $1 != "drm"' /proc/modules)" ]; }
can_rehearse_sleep() { model && grep -qw platform /sys/power/pm_test 2>/dev/null && grep -qw freeze /sys/power/state; }
can_lose_power_asleep() { can_rehearse_sleep && power_domains; }
# That of the vendor's device tree, if nothing but the NPU uses it.
supply_can_go() { [ -n "$supply" ] && [ "$devices" = 1 ] && ! power_domains; }
forgets_at_once() { [ ! -e /sys/kernel/debug/kmemleak ]; }

cases() {
	check three_cores_bound "the driver is bound to three cores, or to the one node that stands for them" [ "$(cores | wc -l)" = "$devices" ]
	check depends_on_drm_at_most "the module needs no module but drm" depends_on_drm
	check_if power_domains "$no_domains" idle_cores_lose_power "idle cores lose their power" idles
	check_if power_domains "$no_domains" a_job_wakes_a_sleeping_core "a job wakes a core that sleeps" wakes
	check rmmod_is_refused_while_a_file_is_open \
		"the module cannot be unloaded while a file is open" rmmod_refused_while_open
	check r4_unbind_and_bind_each_core "each core can be unbound and bound again" unbind_bind
	check_if model "$no_model" r3_unbind_with_jobs_in_flight \
		"a core can be unbound while jobs are queued and run" unbind_busy
	check_if model "$no_model" r3_unbind_all_with_three_clients \
		"all cores can be unbound at once while three clients have jobs" unbind_all_busy
	check_if model "$no_model" rmmod_after_a_hung_job \
		"the module can be unloaded soon after a client died with a hung job" rmmod_after_hang
	check_if can_rehearse_sleep "$no_sleep" r36_system_sleep_with_jobs_in_flight \
		"system sleep under load loses no task and runs none twice" sleep_under_load
	check_if can_rehearse_sleep "$no_sleep" system_sleep_in_a_long_job \
		"a job too long to be waited for is stopped for system sleep and runs again" sleep_in_a_long_job
	check_if can_lose_power_asleep "$no_power_asleep" system_sleep_with_a_hang_that_no_reset_ends \
		"a core whose hang no reset ends is not lost on the way to sleep" sleep_with_hangs
	check proc_directory_of_another_driver_is_left_alone \
		"a /proc/rknpu of another driver is left alone" proc_taken
	check_if supply_can_go "$no_supply" supply_comes_late \
		"the device appears when its supply does, after the module" supply_comes_late
	check unload "the module can be unloaded" unload
	check nothing_left_after_unload "nothing is left in /proc and /sys after unloading" nothing_left
	check warm_up "the module can be loaded and unloaded five times" load_unload 5
	mem=$(sunreclaim)
	vm=$(vmallocs)
	check insmod_rmmod_many_times "loading and unloading many times works" load_unload "$rounds"
	[ -n "$list" ] || sleep 1
	check_if forgets_at_once "this kernel keeps freed memory for a while" no_slab_growth \
		"which loses no kernel memory" no_growth "$mem" "$(sunreclaim)" 1024
	check no_vmalloc_growth "nor mappings of the kernel" no_growth "$vm" "$(vmallocs)" 16
	check nothing_left_at_the_end "nothing is left in /proc and /sys after that" nothing_left
	check_if power_domains "$no_domains" genpd_domains_are_off "the power domains are off, by the kernel" domains_off
	check_if power_domains "$no_domains" model_domains_are_off "the power domains are off, by the model" powered "0 0 0"
	check loads_again "the module can be loaded again" load
	check works_again "all cores work again" wait_for 20 ./rknpu_model three
	check dmesg_has_no_warning "the kernel has not warned of anything" dmesg_clean
}

no_model="needs the NPU model"
no_domains="needs the NPU model and power domains"
no_sleep="needs the NPU model and a kernel that can rehearse system sleep"
no_power_asleep="needs the NPU model, power domains and a kernel that can rehearse system sleep"
no_supply="needs the vendor's device tree without power domains"
devices='' ko='' supply=''
if [ -n "$list" ]; then
	cases 2>/dev/null
	exit
fi

ko=$(module_file) why=
[ -n "$ko" ] && loaded >/dev/null || why="rknpu_accel is not loaded or its file is not here"
begin "$why" || exit
driver=$(find /sys/bus/platform/drivers/rknpu* -name '*.npu' | head -n1)
driver=${driver%/*}
# With the vendor's device tree one device is all cores.
case $driver in */rknpu-accel-node) devices=1 ;; *) devices=3 ;; esac
supply=$(find /sys/bus/platform/drivers/reg-fixed-voltage/ -name 'regulator-vdd-npu*' 2>/dev/null)
cases
end
