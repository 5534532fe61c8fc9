#!/bin/sh
# SPDX-License-Identifier: MIT
# host.sh with an RK3576 in the place of the RK3588, of our driver: another one does not tell what it drives.

export FAKE_SOC=3576 FAKE_OURS=1
exec "$(dirname -- "$0")/host.sh"
