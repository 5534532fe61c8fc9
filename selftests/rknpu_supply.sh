#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The NPU's supply, which is on at boot, and which the kernel cuts half a minute later unless somebody uses it; prints TAP.
# RKNPU_SUPPLY is who does: "domain", whose node has a domain-supply, or "driver", which also does where the kernel cannot
# be seen to read that. -l lists the cases, -t NAME runs one, which may need what those before it have left.
#
# boot: supply LONG TEST_LIMIT=300 ENV=RKNPU_SUPPLY=domain --model npu-switched-supply=on
# boot: supplydrv LONG TEST_LIMIT=300 ENV=RKNPU_SUPPLY=driver --model npu-switched-supply=on --dt-edit /power-management@fd8d8000/power-controller/power-domain@8:domain-supply
# boot: supplyvend RARE TEST_LIMIT=300 ENV=RKNPU_SUPPLY=driver --model npu-switched-supply=on --dt vendor --dt-edit /power-management@fd8d8000/power-controller/power-domain@8:domain-supply
# boot: supply76 LONG TEST_LIMIT=300 ENV=RKNPU_SUPPLY=driver --model soc=rk3576 --model rk3588-npu-core.empty-tasks=on --model npu-switched-supply=on
# boot: supply68 LONG TEST_LIMIT=300 ENV=RKNPU_SUPPLY=driver --dt vendor --model soc=rk3568 --model npu-switched-supply=on

cd "$(dirname "$0")" || exit 1
group=supply
# shellcheck source-path=SCRIPTDIR source=script_lib.sh
. ./script_lib.sh

regulator() { dirname "$(grep -lx "$1" /sys/class/regulator/*/name)"; }
supply() { cat "$(regulator 'vdd_npu\(_s0\)\?')/state"; }
supply_is() { supply && [ "$(supply)" = "$1" ]; }
asleep() { [ "$(./rknpu_model powered)" = "0 0 0" ]; }
chip_is() { tr '\0' '\n' </proc/device-tree/compatible | grep -x "rockchip,$1"; }
runs() {
	if chip_is rk3576; then
		./rknpu_rk3576 -t copy_runs_on_each_core
	elif chip_is rk3568; then
		./rknpu_rk3568 -t bytes_are_copied
	else
		./rknpu_model three
	fi
}
load() { insmod "$(module_file)"; }
reload() { unload && wait_for 100 supply_is disabled && load && runs; }
unload() { rmmod rknpu_accel; }

# The kernel looks for unused ones once, in the order in which they came, and says so of each.
cleaned_up() { dmesg | grep -w 'unused: disabling'; }
wait_cleaned_up() { wait_for 900 cleaned_up; }
# Without power domains nothing puts it to sleep.
asleep_or_cannot() { [ -z "$(find /sys/bus/platform/devices/*.npu/of_node/ -name power-domains)" ] || wait_for 100 asleep; }
asleep_and_on() { asleep_or_cannot && supply_is enabled; }
asleep_and_off() { wait_for 100 asleep && wait_for 100 supply_is disabled; }

uname -r | awk -F '[.-]' '{ exit !($1 < 6 || $1 == 6 && $2 < 19) }' && RKNPU_SUPPLY=${RKNPU_SUPPLY:+driver}

why=
[ -n "${RKNPU_SUPPLY:-}" ] && regulator unused >/dev/null 2>&1 || why="the supply is always on"
begin "$why" || exit
if [ -n "$list" ] || [ "$RKNPU_SUPPLY" = domain ]; then
	check goes_with_the_domain "a supply that the power domain switches is off while the NPU sleeps" asleep_and_off
	check unloads "the module can be unloaded" unload
	check is_cut "the kernel has cut what nobody uses" wait_cleaned_up
	check loads_late "the module can be loaded after that" load
fi
if [ -n "$list" ] || [ "$RKNPU_SUPPLY" = driver ]; then
	check works_before "the NPU works while the supply is as the boot loader left it" runs
	check is_cut_beside "the kernel has cut what nobody uses" wait_cleaned_up
	check loads_again "the module can be unloaded and loaded again, also after that" reload
	check is_held "a supply that no power domain switches stays on while the module is loaded" asleep_and_on
fi
check works_after "the NPU works after that" runs
check dmesg_has_no_warning "the kernel has not warned of anything" dmesg_clean
end
