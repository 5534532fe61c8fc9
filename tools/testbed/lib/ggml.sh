# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Debian's ggml and llama.cpp for the guest, or for this host: finds, downloads and unpacks it into the cache.

# What the programs of the packages load, and what our backend needs beside them.
RK_GGML_PACKAGES=(libggml0 libggml0-backend-rpc llama.cpp-tests llama.cpp-tools llama.cpp-tools-extra libdrm2)
# Of llama.cpp, llama-*.
RK_GGML_PROGRAMS=(bench cli completion perplexity server)
# shellcheck disable=SC2034 # the checks read it
# Of test-backend-ops, operations and patterns: all that does not take the model hours, so no millions of rows.
RK_GGML_ALL=(MUL_MAT 'm=[0-9]{1,4},n=[0-9]{1,3},k=[0-9]{1,4},bs=\[[0-9]{1,2},'
	MUL_MAT_ID 'n_mats=[0-9]{1,2},.*m=[0-9]{1,3},n=[0-9]{1,3},'
	FLASH_ATTN_EXT 'hsk=[0-9]{2,3},.*kv=(96|113|128|256),nb=[0-9]{1,2},mask=[01],sinks=[01],max_bias=0.0+,logit_softcap=0.0+,'
	FLASH_ATTN_EXT 'hsk=(64|128),.*nr23=\[4,1\],kv=512,nb=(1|32|75),mask=1,sinks=0,max_bias=0.0+,logit_softcap=0.0+,prec=f32,type_K=(f16|q8_0)')

# rk_ggml_triplet ARCHITECTURE: Debian's name of it in paths, and of its loader, in triplet and loader.
rk_ggml_triplet() {
	case $1 in
	arm64) triplet=aarch64-linux-gnu loader=ld-linux-aarch64.so.1 ;;
	amd64) triplet=x86_64-linux-gnu loader=ld-linux-x86-64.so.2 ;;
	*) rk_die "nobody has tried ggml on $1" ;;
	esac
}

# rk_ggml_debs DIR ARCHITECTURE PACKAGE...: them and all that they need in DIR/debs.
rk_ggml_debs() {
	local tmp=$1 arch=$2
	shift 2
	# An empty list of installed packages makes apt fetch everything down to libc.
	rk_step "download $*" apt-get -c "$RK_APT" -qy --no-install-recommends --download-only \
		-o "Dir::Cache::archives=$tmp/debs" install "${@/%/:$arch}"
}

# rk_ggml_unpack DIR ARCHITECTURE: what is in DIR/debs in DIR/root, and the versions in DIR/packages.
rk_ggml_unpack() {
	local tmp=$1 arch=$2 deb
	for deb in "$tmp"/debs/*_"$arch".deb; do
		# shellcheck disable=SC2016 # dpkg expands these
		dpkg-deb -W --showformat '${Package} ${Version} ${Architecture}\n' "$deb"
	done >"$tmp/packages"
	rk_step "unpack packages" sh -e -c 'for d in "$1"/debs/*_"$2".deb; do dpkg-deb -x "$d" "$1/root"; done' sh "$tmp" "$arch"
}

rk_build_ggml() {
	local tmp=$1 arch=$2 deb triplet loader lib programs names
	rk_ggml_triplet "$arch"
	lib=usr/lib/$triplet programs=usr/libexec/$triplet
	names=("$loader" libggml.so.0 libllama-common.so.0 libdrm.so.2)
	mkdir -p "$tmp"/{debs/partial,root,lib,bin}
	rk_ggml_debs "$tmp" "$arch" "${RK_GGML_PACKAGES[@]}"
	rk_apt_get "$tmp/debs" "libggml-dev:$arch"
	rk_ggml_unpack "$tmp" "$arch"
	mv "$tmp/root/usr/include" "$tmp/include" || rk_die "libggml-dev holds no headers"
	mv "$tmp/root/$programs/ggml/test-backend-ops" "$tmp/root/$programs/llama.cpp-tests/test-llama-archs" "$tmp/bin/" ||
		rk_die "the packages lack test-backend-ops or test-llama-archs"
	for deb in "${RK_GGML_PROGRAMS[@]}"; do
		mv "$tmp/root/usr/bin/llama-$deb" "$tmp/bin/" || rk_die "the packages lack llama-$deb"
		names+=("libllama-$deb-impl.so")
	done
	mv "$tmp/root/$programs/llama/bin/ggml-rpc-server" "$tmp/bin/" || rk_die "the packages lack ggml-rpc-server"
	for deb in "$tmp/root/$lib"/ggml/backends0/*.so; do names+=("${deb##*/}"); done
	rk_root
	# ggml looks for its own backends beside the program, which is the loader here.
	rk_step "pick the libraries of libggml0" rk_enter python3 "$RK_TESTBED/lib/libraries.py" "$tmp/root" "$tmp/lib" "${names[@]}"
	rm -rf "$tmp/debs" "$tmp/root"
}

# rk_ggml SUITE: a cached copy of the suite's packages; its directory (lib, include, bin, packages) is in RK_GGML.
# rk_ggml SUITE update: the newest on the mirror. A third word is an architecture other than arm64.
rk_ggml() {
	local suite=$1 update=${2:-} arch=${3:-arm64} name version llama
	# What was made of others is another thing.
	name=ggml-$(echo "${RK_GGML_PACKAGES[@]}" "${RK_GGML_PROGRAMS[@]}" | rk_hash | cut -c1-6)-$arch-$suite
	RK_GGML=$(find "$RK_CACHE" -maxdepth 1 -name "$name-*+*" | sort -V | tail -n1)
	[ -z "$RK_GGML" ] || [ -n "$update" ] || return 0
	rk_apt_dir "$suite"
	version=$(rk_apt_version "libggml0:$arch")
	[ -n "$version" ] || rk_die "cannot download libggml0: $suite has none for $arch, or there is no network"
	llama=$(rk_apt_version "llama.cpp-tests:$arch")
	rk_cached "$name" "$(printf %s "$version+$llama" | tr -c 'A-Za-z0-9.+' _)" rk_build_ggml "$arch"
	RK_GGML=$RK_OUT
}

rk_ggml_version() { sed -n 's/^libggml0 \([^ ]*\).*/\1/p' "$1/packages"; }

rk_build_whisper() {
	local tmp=$1 arch=$2 f names
	mkdir -p "$tmp"/{debs/partial,root,lib,bin}
	rk_ggml_debs "$tmp" "$arch" whisper.cpp-tools
	rk_ggml_unpack "$tmp" "$arch"
	mv "$tmp/root/usr/bin/whisper-cli" "$tmp/bin/" || rk_die "whisper.cpp-tools lacks whisper-cli"
	rk_root
	mapfile -t names < <(rk_enter readelf -d "$tmp/bin/whisper-cli" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	rk_step "pick the libraries of whisper-cli" rk_enter python3 "$RK_TESTBED/lib/libraries.py" "$tmp/root" "$tmp/lib" "${names[@]}"
	rm -rf "$tmp/debs" "$tmp/root"
	# What programs of ggml have in any case.
	for f in "$RK_GGML"/lib/*; do rm -f "$tmp/lib/${f##*/}"; done
}

# rk_whisper SUITE: after rk_ggml, whisper-cli and the libraries that it needs beside those; in RK_WHISPER (lib, bin, packages).
rk_whisper() {
	local suite=$1 update=${2:-} arch=${3:-arm64} version
	RK_WHISPER=$(find "$RK_CACHE" -maxdepth 1 -name "whisper-$arch-$suite-*+*" | sort -V | tail -n1)
	[ -z "$RK_WHISPER" ] || [ -n "$update" ] || return 0
	rk_apt_dir "$suite"
	version=$(rk_apt_version "whisper.cpp-tools:$arch")
	[ -n "$version" ] || rk_die "cannot download whisper.cpp-tools: $suite has none for $arch, or there is no network"
	rk_cached "whisper-$arch-$suite" "$(printf %s "$version+$(rk_ggml_version "$RK_GGML")" | tr -c 'A-Za-z0-9.+' _)" rk_build_whisper "$arch"
	RK_WHISPER=$RK_OUT
}
