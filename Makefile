# SPDX-License-Identifier: GPL-2.0-only
# Entry points for people: builds, tests and demonstrates the driver and its model; `make help` lists them.

# kbuild includes this file when it is given the tree as M=; then only Kbuild counts.
ifeq ($(KERNELRELEASE),)

BIN := tools/testbed/bin
CHECKS := tools/testbed/checks
O := $(CURDIR)/build
VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
# The testbed kernel to build for and to boot; KDIR builds for an installed kernel instead.
KERNEL ?= 7.3
MINUTES ?= 30
ifeq ($(shell uname -m),aarch64)
KDIR ?= $(wildcard /lib/modules/$(shell uname -r)/build)
endif

# Of the model's fuzzers.
SECONDS ?= 60
SEED ?= 1

export RKNPU_KERNEL := $(KERNEL)
export CMD
# By this the test that a target starts is known to `make status`.
export RKNPU_TARGET = $@$(foreach v,ARGS GROUPS KERNELS PROGRAM CASE BOOT DIR CONFIG NAME RUNTIME,$(if $($(v)), $(v)=$($(v))))$(if \
	$(filter-out 7.3,$(KERNEL)), KERNEL=$(KERNEL))
ROOT_MAKE := $(BIN)/root make -j$(shell nproc) -sC
# The build root's compilers are always the same, so what they warn of can be an error.
STRICT := CPPFLAGS=-Werror
CROSS := CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar $(STRICT)
KVARS := $(foreach v,W C CF KCFLAGS RKNPU_VENDOR,$(if $($(v)),$(v)=$($(v))))

# `make help` prints the comments behind the targets, below the headings that "##" starts.
help:
	@awk -F':.*## ' '/^## / { printf "\n%s\n", substr($$0, 4) } /^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))
	@echo
	@echo 'Variables: KERNEL=$(KERNEL) (series of tools/testbed/data/kernels), ARGS=options of the command behind a target'

## Every day, on Debian 12 or 13 (what it needs is downloaded once, to ~/.cache/rknpu-accel):

demo: ## boot the model and run two matmuls through the driver
	@$(MAKE) --no-print-directory -j2 lib ready
	@$(BIN)/run --timeout 300 $(ARGS) --copy $(O)/lib/npu-demo -- ./npu-demo

check: ## the tests to run before a commit; GROUPS="memory lint" chooses, ARGS="--jobs 1"
	@$(BIN)/check $(ARGS) $(GROUPS)

check-one: ## one test program, or one case: PROGRAM=rknpu_exec [CASE=one_job] [BOOT=dt] [ARGS='--param ...']
	@test -n "$(PROGRAM)" || { echo 'usage: make check-one PROGRAM=rknpu_exec [CASE=one_job] [BOOT=dt]' >&2; exit 2; }
	@$(BIN)/one $(PROGRAM) '$(CASE)' '$(BOOT)' $(ARGS)

run: ## a shell command in a guest with the module: CMD='...' [ARGS='--dt vendor --copy FILE ...']
	@test -n "$$CMD" || { echo "usage: make run CMD='shell command' [ARGS='options of $(BIN)/run']" >&2; exit 2; }
	@$(BIN)/run $(ARGS) -- sh -c "$$CMD"

lint: ## checkpatch, shellcheck, sparse, W=1, clang's analyzer, coccinelle, names in the documentation
	@$(CHECKS)/lint

## Tests: the driver:

check-all: ## also old kernels, debug kernels, long tests; ARGS=--third: as CI, which runs a third of these at a time
	@$(BIN)/check --all $(ARGS) $(GROUPS)

check-matrix: ## the guest tests on every kernel, as a table; KERNELS="5.10 7.2" and GROUPS="memory jobs" choose
	@$(CHECKS)/check-matrix $(addprefix --kernel ,$(KERNELS)) $(ARGS) $(GROUPS)

check-debug: ## guest tests on a kernel with KASAN, lockdep, kmemleak ..., with failing allocations; GROUPS
	@$(BIN)/check --debug $(ARGS) $(GROUPS)

check-kcsan: ## guest tests on a kernel with the race detector
	@$(BIN)/check --debug kcsan-exec kcsan-sched

soak: ## clients, faults, unbinds and sleeps at random for MINUTES=30, every result checked; ARGS=--fast skips idle time
	@$(BIN)/soak --kernel $(KERNEL) $(ARGS) $(MINUTES)

chaos: ## tests while everything comes at random times: SEEDS=10 guests from SEED=1 on; GROUPS, ARGS="--module KO"
	@$(BIN)/chaos $(ARGS) $(or $(SEEDS),10) $(SEED) $(GROUPS)

coverage: ## lines and branches of the module that the guest tests run, per file
	@$(BIN)/coverage $(ARGS) $(GROUPS)

mutate: ## break the driver in N=20 places, chosen by SEED=1, and list what no test notices; or as LIST=caches says
	@$(if $(LIST),$(BIN)/mutate-list $(LIST),$(BIN)/mutate $(or $(N),20) $(or $(SEED),1))

## Tests: the driver, one matter each:

check-compilers: ## build module and user space with gcc 10 to 16 and clang 14 to 22, and run them in guests; ARGS
	@$(CHECKS)/check-compilers $(ARGS)

check-chaos: ## a slice of "make chaos", and that the same seed does the same
	@$(CHECKS)/check-chaos

check-reboot: ## reboot a guest while jobs run
	@$(CHECKS)/check-reboot

check-kexec: ## start a second kernel while jobs run, by kexec and out of a panic
	@$(CHECKS)/check-kexec $(KERNEL)

## Tests: device trees and installing:

check-dts: ## the overlays of dts/ on the device trees of Debian's kernels
	@$(CHECKS)/check-dts

check-bindings: ## dt-schema accepts the bindings' examples and refuses wrong ones
	@$(CHECKS)/check-bindings

check-margin: ## the vendor's operating points, with and without read margins; ARGS=KERNEL: with the helper of Rockchip's kernel
	@$(CHECKS)/check-margin $(ARGS)

check-tree: ## build the module for the kernel tree DIR with CONFIG, and look up every symbol
	@$(CHECKS)/check-tree "$(DIR)" "$(CONFIG)"

check-series: ## the patches of "make series" for 7.3: a kernel with the driver built in, and guest tests on it
	@$(CHECKS)/check-series $(ARGS)

check-takeover: ## from in-tree rocket to our driver and back, in a guest
	@$(CHECKS)/check-takeover

check-udev: ## our udev rules, read by Debian's udev in a guest
	@$(CHECKS)/check-udev $(KERNEL)

check-dkms: ## build, install and remove the DKMS package for a kernel
	@$(CHECKS)/check-dkms $(ARGS)

check-install: ## follow install.rst and undo it, in a chroot and in guests
	@$(CHECKS)/check-install $(ARGS)
	@$(CHECKS)/check-board

check-native: ## packages built as on an arm64 machine, twice, and across: the same bytes; takes long elsewhere
	@$(CHECKS)/check-native

check-board: ## the guests of check-install alone, with Debian's own udev and modprobe
	@$(CHECKS)/check-board $(ARGS)

## Tests: our tools:

check-capture: ## record jobs with npu-capture and run them again with npu-replay, in guests
	@$(CHECKS)/check-capture $(ARGS)

check-report: ## npu-report finds no difference in the model, and one where there is one
	@$(CHECKS)/check-report $(ARGS)

check-dump: ## npu-dump reads a dump of each failure, made in a guest
	@$(CHECKS)/check-dump $(ARGS)

check-abi: ## the ABI of librknpu.so beside that of the last release; writes it to build/abi
	@$(CHECKS)/check-abi

check-bench: ## npu-bench with small products, in a guest that counts instructions
	@$(CHECKS)/check-bench $(ARGS)

check-top: ## npu-top while two clients compute in a guest, also on a terminal
	@$(CHECKS)/check-top $(ARGS)

check-readers: ## Debian's glances, perf and nvtop beside clients in a guest
	@$(CHECKS)/check-readers $(ARGS)

check-field: ## Debian's podman and bubblewrap as an ordinary user, and cameras, in guests on both uAPIs
	@$(CHECKS)/check-field $(ARGS)

check-timeline: ## record the tracepoints in a guest and draw them with npu-timeline
	@$(CHECKS)/check-timeline $(ARGS)

## Tests: other people's user space:

check-teflon: lib ## Mesa's TensorFlow Lite delegate on our driver
	@$(CHECKS)/check-teflon $(ARGS)

check-ggml: lib ## Debian's ggml, unmodified, with our backend for it
	@$(CHECKS)/check-ggml $(ARGS)

check-ggml-all: lib ## the same with larger products and all architectures of models
	@$(CHECKS)/check-ggml --all $(ARGS)

check-ggml-user: ## the commands of install.rst for language models, from apt on, in a guest
	@$(CHECKS)/check-ggml-user

check-ggml-host: ## the same on this host, on the model's arithmetic; ARGS=--table compares types of weights
	@$(CHECKS)/check-ggml-host $(ARGS)

check-librknnrt: ## Rockchip's own runtime on our driver; RUNTIME=DIR has your librknnrt.so and .rknn files
	@$(CHECKS)/check-librknnrt $(ARGS) $(if $(RUNTIME),"$(RUNTIME)")

## Tests: the model, the testbed, comparisons:

qtest: ## the model's own tests
	@$(BIN)/qemu --qtests

fuzz-model: ## attack the model under sanitizers for SECONDS=60, with SEED=1
	@$(BIN)/fuzz-model $(SECONDS) $(SEED)

judge-rknn: ## the model on stored programs of the RK3576 and the RV1126B against their networks; DIRS="..." have the .rknn and .onnx files
	@$(BIN)/judge-rknn $(DIRS)

judge-chips: ## networks for the RK3562, the RK3568 and the RK3588 on their models; RUNTIME=DIR has them and Rockchip's library
	@$(BIN)/judge-chips $(RUNTIME)

bench-model: ## speed of the model's arithmetic beside a CPU library
	@$(BIN)/bench-model

check-testbed: ## what tools/testbed/bin/run promises its callers
	@$(CHECKS)/check-testbed

compare: ## our driver beside in-tree rocket, or Rockchip's in VENDOR=DIR, on the same model; ARGS=--counts-only
	@$(if $(VENDOR),$(BIN)/compare-vendor $(if $(RUNTIME),--runtime "$(RUNTIME)") "$(VENDOR)",$(BIN)/compare) $(ARGS)

profile: ## what the instructions of a job are spent on, by function, with our driver and rocket; JOBS=200
	@$(BIN)/profile $(JOBS)

bench-attention: selftests ## what attention by libnpu costs, to build/attention.tsv; ARGS=--all: long sequences, too
	@$(BIN)/bench-attention $(ARGS)

## Builds:

modules: ## rknpu_accel.ko for KDIR (on arm64 the running kernel, else KERNEL); W=1 C=1 as in a kernel tree
	@$(BIN)/module $(if $(KDIR),--kdir $(KDIR),--kernel $(KERNEL)) $(KVARS)

install: ## install it (INSTALL_MOD_PATH= as in a kernel tree)
	@test -n "$(KDIR)" || { echo 'make install needs KDIR=<kernel build directory>' >&2; exit 2; }
	@$(BIN)/module --kdir $(KDIR) $(KVARS)
	$(MAKE) -C $(KDIR) M=$(O)/module/kdir modules_install

lib: ## libnpu, npu-demo, npu-bench, and the programs of tools/lib/examples
	@$(ROOT_MAKE) $(CURDIR)/tools/lib $(CROSS) O=$(O)/lib

capture: lib ## npu-capture, npu-replay, npu-dump
	@$(ROOT_MAKE) $(CURDIR)/tools/capture $(CROSS) O=$(O)/capture LIBNPU=$(O)/lib/libnpu.a all tests
	@$(BIN)/root sh -c '[ ! -e /usr/lib/arm-linux-gnueabihf/pkgconfig/libdrm.pc ] || \
		make -j$(shell nproc) -sC $(CURDIR)/tools/capture armhf $(STRICT) O=$(O)/capture-armhf'

report: lib ## npu-report
	@$(ROOT_MAKE) $(CURDIR)/tools/report $(CROSS) O=$(O)/report LIBNPU=$(O)/lib/libnpu.a

top: ## npu-top
	@$(ROOT_MAKE) $(CURDIR)/tools/top $(CROSS) O=$(O)/top

selftests: lib ## the test programs
	@linux=$$($(BIN)/linux-source) && $(ROOT_MAKE) $(CURDIR)/selftests $(CROSS) \
		OUTPUT=$(O)/selftests KSELFTEST=$$linux/tools/testing/selftests && \
		$(ROOT_MAKE) $(CURDIR)/tools/lib/tests/guest $(CROSS) \
		OUTPUT=$(O)/selftests KSELFTEST=$$linux/tools/testing/selftests LIBNPU=$(O)/lib/libnpu.a

selftests-armhf: ## the same for 32 bits
	@linux=$$($(BIN)/linux-source) && $(ROOT_MAKE) $(CURDIR)/selftests CROSS_COMPILE=arm-linux-gnueabihf- $(STRICT) \
		CC=arm-linux-gnueabihf-gcc USERCFLAGS=-Wno-pointer-to-int-cast OUTPUT=$(O)/selftests-armhf \
		KSELFTEST=$$linux/tools/testing/selftests && \
		$(ROOT_MAKE) $(CURDIR)/tools/lib/tests/guest CROSS_COMPILE=arm-linux-gnueabihf- $(STRICT) \
		USERCFLAGS=-Wno-pointer-to-int-cast OUTPUT=$(O)/selftests-armhf KSELFTEST=$$linux/tools/testing/selftests

## Packages and patches:

deb: ## Debian packages, checked by lintian, in build/deb
	@$(BIN)/deb

deb-native: ## the same, built as on an arm64 machine, in build/deb-native; takes long elsewhere
	@$(BIN)/deb --native

deb-repo: deb ## an apt repository of them, in build/deb-repo; KEY=ID has your gpg sign it
	@$(BIN)/deb-repo $(KEY)

dist: ## the sources that git has committed, as one file
	@mkdir -p $(O)
	@git archive --prefix=rknpu-accel-$(VERSION)/ HEAD | xz -c >$(O)/rknpu-accel-$(VERSION).tar.xz
	@ls $(O)/rknpu-accel-$(VERSION).tar.xz

series: ## the driver as patches for LINUX=DIR (Debian's 7.3) and its CONFIG, or the model for QEMU=DIR, in build/series
	@$(BIN)/series $(if $(QEMU),--qemu "$(QEMU)",$(if $(LINUX),"$(LINUX)" $(CONFIG)))

## What builds and guests are made of:

ready: ## whatever a guest needs: build root, QEMU, kernel, module
	@$(BIN)/run --prepare

root: ## the build root; CMD='shell command' runs in it
	@$(BIN)/root $(if $(CMD),sh -c "$$CMD")

pkgroot: ## the root in which packages are built and checked; CMD
	@$(BIN)/pkgroot $(if $(CMD),sh -c "$$CMD")

qemu: ## QEMU with the model; prints where it is
	@$(BIN)/qemu

kernel: ## fetch or build the testbed kernel KERNEL; ARGS=--update fetches the newest
	@$(BIN)/kernel $(ARGS) $(KERNEL)

tree-kernel: ## a bootable kernel from a source tree: NAME=rk6.1 DIR=tree CONFIG=defconfig
	@$(BIN)/tree-kernel "$(NAME)" "$(DIR)" "$(CONFIG)"

linux-source: ## fetch Debian's kernel source of the series KERNEL
	@$(BIN)/linux-source $(KERNEL)

dtbs: ## fetch the RK3588 device trees that Debian has for KERNEL
	@$(BIN)/dtbs $(KERNEL)

probes: ## what the module's build finds out about KERNEL
	@$(BIN)/probes --kernel $(KERNEL) $(ARGS)

## Documentation, results, cleaning up:

htmldocs: ## the documentation, in build/htmldocs
	@$(BIN)/htmldocs

parameters: ## write the table of module parameters into the documentation
	@$(BIN)/root python3 $(CURDIR)/$(CHECKS)/param-table.py

tests: ## the test programs, what each is about, and where it runs
	@$(BIN)/tests

status: ## the last commits that each test passed and failed on, on this host
	@$(BIN)/status

clean: ## remove build/; the cache stays
	rm -rf $(O)

purge: ## remove the cache
	@$(BIN)/purge

.PHONY: help $(shell sed -nE 's/^([a-z-]+):.*\#\# .*/\1/p' $(firstword $(MAKEFILE_LIST)))
.DEFAULT_GOAL := help

endif
