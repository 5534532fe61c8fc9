#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The products of rknpu_matmul through the vendor's uAPI.
#
# boot: misc

exec "$(dirname -- "$0")/rknpu_matmul" --uapi rknpu
