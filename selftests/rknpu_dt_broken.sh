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

n=0
failed=0
list='' only=''
case ${1:-} in
-l) list=1 ;;
-t) only=${2:?} ;;
esac

# check NAME WHAT-IT-SHOWS CMD...
check() {
	name=$1 shows=$2
	shift 2
	if [ -n "$list" ]; then
		echo "dt_broken.$name: $shows"
		return
	fi
	[ -z "$only" ] || [ "$only" = "$name" ] || return 0
	n=$((n + 1))
	if "$@" >/tmp/dt_broken.log 2>&1; then
		echo "ok $n dt_broken.$name"
	else
		failed=$((failed + 1))
		echo "not ok $n dt_broken.$name"
		sed 's/^/# /' /tmp/dt_broken.log
	fi
}

ko() { find /modules "/lib/modules/$(uname -r)" -name 'rknpu_accel.ko*' 2>/dev/null | head -n1; }
messages() { dmesg; cat /sys/kernel/debug/devices_deferred; }
loaded() { grep '^rknpu_accel ' /proc/modules; }
no_node() { ! find /dev/accel /dev/dri -name 'accel*[0-9]' -o -name 'renderD*' 2>/dev/null | grep .; }
times_said() { messages | grep -ci "$says"; }
said() { messages | grep -i "$says"; }
no_stats() { [ ! -e /sys/kernel/debug/rknpu/stats ] || ! grep . /sys/kernel/debug/rknpu/stats; }
again() {
	before=$(times_said)
	rmmod rknpu_accel && insmod "$(ko)" ${RKNPU_LOAD:+"$RKNPU_LOAD"} || return 1
	echo "said $before times, then $(times_said)"
	no_node && [ "$(times_said)" -ge "$before" ]
}
dmesg_clean() { ! dmesg | grep -E 'WARNING:|BUG:|Oops|Call trace|Unable to handle|cut here'; }

if [ -z "$list" ]; then
	echo "TAP version 13"
	if [ -z "${RKNPU_SAYS:-}" ]; then
		echo "1..0 # SKIP the device tree is not said to be broken"
		exit 4
	fi
	says=$(echo "$RKNPU_SAYS" | tr + ' ')
fi
check stays_loaded "the module stays loaded" loaded
check says_what_is_wrong "the kernel's log or debugfs says what is wrong" said
check no_node "there is no node" no_node
check no_stats "and nobody to tell how the NPU is" no_stats
check loads_again "the module can be unloaded and loaded again" again
check dmesg_has_no_warning "the kernel has not warned of anything" dmesg_clean
[ -z "$list" ] || exit 0
echo "1..$n"
[ $failed -eq 0 ]
