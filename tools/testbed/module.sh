# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Builds our module against a kernel of the testbed, out of the clone.

rk_module() { rk_die "the module is not there yet: use --module none"; }
