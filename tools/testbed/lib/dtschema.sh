# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# dt-schema for the packaging root: trixie has none, and forky's is plain Python that runs there.

RK_DTSCHEMA_SUITE=forky

rk_build_dtschema() {
	local tmp=$1
	rk_apt_dir "$RK_DTSCHEMA_SUITE"
	rk_apt_get "$tmp" dt-schema
	sh -e -c 'cd "$1"; dpkg-deb -x ./*.deb .; rm ./*.deb' sh "$tmp" || rk_die "cannot unpack dt-schema"
}

# rk_dtschema: its directory is in RK_DTSCHEMA.
rk_dtschema() {
	rk_cached dtschema "$RK_DTSCHEMA_SUITE" rk_build_dtschema
	# shellcheck disable=SC2034 # for whoever calls this
	RK_DTSCHEMA=$RK_OUT
}
