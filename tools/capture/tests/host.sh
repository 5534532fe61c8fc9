#!/bin/sh
# SPDX-License-Identifier: MIT
# What the guest of check-capture does, with a stand-in for the NPU; prints TAP. HOST is where the programs are,
# GUEST the script of the guest.

cd "$HOST" || exit 1
rm -rf run
mkdir run
cd run || exit 1
for f in librknpu-capture.so client client-static npu-replay npu-capture cap_edit; do ln -s "../$f" "$f"; done
# Sparse: 4 GiB for each process.
truncate -s 4T npu || exit 1
: >misc
NPU_DEVICE=$PWD/npu CLIENT_MISC=$PWD/misc "$GUEST" rocket rknpu
