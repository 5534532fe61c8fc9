#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The driver on a device tree that lacks something or is wrong: no NPU, and a message that says why; prints TAP.
# RKNPU_SAYS is that message, with + for blanks, RKNPU_LOAD a parameter that the module is loaded with again. -l lists the
# cases, -t NAME runs one.
#
# Device trees that lack something or are wrong, and what the driver says of them. CI runs one of each kind.
# boot: noregs RARE BROKEN ENV=RKNPU_SAYS=no+registers --dt-edit /npu@fdab0000:reg-names
# boot: noclks RARE BROKEN ENV=RKNPU_SAYS=no+clocks --dt-edit /npu@fdab0000:clock-names
# boot: noresets RARE BROKEN ENV=RKNPU_SAYS=no+reset+srst_a --dt-edit /npu@fdab0000:reset-names
# boot: oneiommu LONG BROKEN ENV=RKNPU_SAYS=some+cores+have+an+IOMMU --dt-edit /npu@fdab0000:iommus
# boot: noplace RARE BROKEN ENV=RKNPU_SAYS=no+core+is+known+at --dt-edit /npu@fdab0000:reg=0,fdac5000,0,1000,0,fdac6000,0,1000,0,fdac8000,0,1000
# boot: novregs RARE BROKEN ENV=RKNPU_SAYS=no+registers --dt vendor --dt-edit /npu@fdab0000:reg
# boot: novclks LONG BROKEN ENV=RKNPU_SAYS=no+clocks --dt vendor --dt-edit /npu@fdab0000:clocks
# boot: novresets RARE BROKEN ENV=RKNPU_SAYS=no+reset+srst_a0 --dt vendor --dt-edit /npu@fdab0000:reset-names
# boot: novplace RARE BROKEN ENV=RKNPU_SAYS=core+0+is+not+at --dt vendor --dt-edit /npu@fdab0000:reg=0,fdac0000,0,10000,0,fdab0000,0,10000,0,fdad0000,0,10000
# boot: novpower RARE BROKEN ENV=RKNPU_SAYS=the+NPU+cannot+be+powered --dt vendor --dt-edit /npu@fdab0000:power-domains=0,9
# boot: nodomain RARE BROKEN ENV=RKNPU_SAYS=the+NPU+cannot+be+powered --dt vendor --dt-edit /npu@fdab0000:power-domains=800a,63
# boot: noiommube LONG BROKEN ENV=RKNPU_SAYS=the+kernel+uses+the+IOMMU ENV=RKNPU_LOAD=noiommu=1 --param noiommu=1

cd "$(dirname "$0")" || exit 1
group=dt_broken
# shellcheck source-path=SCRIPTDIR source=script_lib.sh
. ./script_lib.sh

messages() { dmesg; cat /sys/kernel/debug/devices_deferred; }
no_node() { ! find /dev/accel /dev/dri -name 'accel*[0-9]' -o -name 'renderD*' 2>/dev/null | grep .; }
times_said() { messages | grep -ci "$says"; }
said() { messages | grep -i "$says"; }
no_stats() { [ ! -e /sys/kernel/debug/rknpu/stats ] || ! grep . /sys/kernel/debug/rknpu/stats; }
again() {
	before=$(times_said)
	rmmod rknpu_accel && insmod "$(module_file)" ${RKNPU_LOAD:+"$RKNPU_LOAD"} || return 1
	echo "said $before times, then $(times_said)"
	no_node && [ "$(times_said)" -ge "$before" ]
}

why=
[ -n "${RKNPU_SAYS:-}" ] || why="the device tree is not said to be broken"
begin "$why" || exit
says=$(echo "${RKNPU_SAYS:-}" | tr + ' ')
check stays_loaded "the module stays loaded" loaded
check says_what_is_wrong "the kernel's log or debugfs says what is wrong" said
check no_node "there is no node" no_node
check no_stats "and nobody to tell how the NPU is" no_stats
check loads_again "the module can be unloaded and loaded again" again
check dmesg_has_no_warning "the kernel has not warned of anything" dmesg_clean
end
