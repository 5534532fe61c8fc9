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
CROSS := CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar
KVARS := $(foreach v,W C CF KCFLAGS RKNPU_VENDOR,$(if $($(v)),$(v)=$($(v))))

# `make help` prints the comments behind the targets, below the headings that "##" starts.
help:
	@awk -F':.*## ' '/^## / { printf "\n%s\n", substr($$0, 4) } /^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))
	@echo
	@echo 'Variables: KERNEL=$(KERNEL) (series of tools/testbed/data/kernels), ARGS=options of the command behind a target;'
	@echo 'the commands, with what each shows and how long it takes: tools/testbed/README.rst'

## On a machine with Debian 12 or 13 (downloads what it needs, keeps it in ~/.cache/rknpu-accel):

demo: ## boot the model and run two matmuls through the driver
	@$(MAKE) --no-print-directory -j2 lib ready
	@$(BIN)/run --timeout 300 $(ARGS) --copy $(O)/lib/npu-demo -- ./npu-demo

run: ## run CMD='shell command' in a guest with the module; ARGS='--dt vendor --copy FILE ...'
	@test -n "$$CMD" || { echo "usage: make run CMD='shell command' [ARGS='options of $(BIN)/run']" >&2; exit 2; }
	@$(BIN)/run $(ARGS) -- sh -c "$$CMD"

ready: ## make what a guest needs: build root, QEMU, kernel, module
	@$(BIN)/run --prepare

check: ## tests in guests and on the host; GROUPS="memory lint" chooses, ARGS="--jobs 1"
	@$(BIN)/check $(ARGS) $(GROUPS)

check-all: ## all that CI runs: also old kernels, detectors, long tests
	@$(BIN)/check --all $(ARGS) $(GROUPS)

check-one: ## one program of the selftests: PROGRAM=rknpu_exec [CASE=one_job] [BOOT=dt] [ARGS='--param ...']
	@test -n "$(PROGRAM)" || { echo 'usage: make check-one PROGRAM=rknpu_exec [CASE=one_job] [BOOT=dt]' >&2; exit 2; }
	@$(BIN)/one $(PROGRAM) '$(CASE)' '$(BOOT)' $(ARGS)

status: ## on which commit each test passed last, and which have not run on this one
	@$(BIN)/status

## Parts of `make check` or `make check-all`:

lint: ## checkpatch, shellcheck, sparse, W=1, clang's analyzer, coccinelle, names in the documentation
	@$(CHECKS)/lint

qtest: ## the model's own tests
	@$(BIN)/qemu --qtests

check-dts: ## the overlays of dts/ on the device trees of Debian's kernels
	@$(CHECKS)/check-dts

check-takeover: ## from in-tree rocket to our driver and back, in a guest
	@$(CHECKS)/check-takeover

check-reboot: ## reboot a guest while jobs run
	@$(CHECKS)/check-reboot

check-kexec: ## start a second kernel while jobs run, by kexec and out of a panic
	@$(CHECKS)/check-kexec $(KERNEL)

check-margin: ## the vendor's operating points with and without read margins
	@$(CHECKS)/check-margin

check-testbed: ## what tools/testbed/bin/run promises its callers
	@$(CHECKS)/check-testbed

## More tests:

check-matrix: ## the guest tests on all kernels, as a table; KERNELS="5.10 7.2" and GROUPS="memory jobs" choose
	@$(CHECKS)/check-matrix $(addprefix --kernel ,$(KERNELS)) $(ARGS) $(GROUPS)

check-debug: ## more of them on a kernel with KASAN, lockdep, kmemleak ..., with failing allocations; GROUPS
	@$(BIN)/check --debug $(ARGS) $(GROUPS)

coverage: ## lines and branches of the module that the guest tests run, per file
	@$(BIN)/coverage $(ARGS) $(GROUPS)

mutate: ## mistakes made in the driver on purpose, N=20 chosen by SEED=1, and which of them no test notices
	@$(BIN)/mutate $(or $(N),20) $(or $(SEED),1)

check-kcsan: ## some of them on a kernel with the race detector
	@$(BIN)/check --debug kcsan-exec kcsan-sched

soak: ## clients, faults, unbinds and sleeps at random for MINUTES=30, every result checked
	@$(BIN)/soak --kernel $(KERNEL) $(ARGS) $(MINUTES)

check-compilers: ## the module by other compilers, gcc 10 to clang 19, each in a guest
	@$(CHECKS)/check-compilers $(ARGS)

check-udev: ## our udev rules, read by Debian's udev in a guest
	@$(CHECKS)/check-udev $(KERNEL)

check-capture: ## jobs recorded by npu-capture and run again by npu-replay, in guests
	@$(CHECKS)/check-capture $(ARGS)

check-report: ## npu-report finds no difference in the model, and one where there is one
	@$(CHECKS)/check-report $(ARGS)

check-dump: ## a dump of each failure, made in a guest, and what npu-dump reads in it
	@$(CHECKS)/check-dump $(ARGS)

check-bench: ## npu-bench with its smallest products in a guest that counts instructions
	@$(CHECKS)/check-bench $(ARGS)

check-top: ## what npu-top shows while two clients compute in a guest, and on a terminal
	@$(CHECKS)/check-top $(ARGS)

check-readers: ## what Debian's glances, perf and nvtop show of clients in a guest
	@$(CHECKS)/check-readers $(ARGS)

check-timeline: ## the tracepoints, recorded in a guest, and what npu-timeline draws of that
	@$(CHECKS)/check-timeline $(ARGS)

check-teflon: lib ## Mesa's TensorFlow Lite delegate on our driver
	@$(CHECKS)/check-teflon $(ARGS)

check-ggml: lib ## Debian's ggml, unmodified, with our backend for it
	@$(CHECKS)/check-ggml $(ARGS)

check-ggml-all: lib ## the same with larger products and all architectures of models
	@$(CHECKS)/check-ggml --all $(ARGS)

check-ggml-user: ## the README's commands for language models: what apt installs, in a guest
	@$(CHECKS)/check-ggml-user

check-ggml-host: ## the same on this host, on the model's arithmetic; ARGS=--table: types of weights
	@$(CHECKS)/check-ggml-host $(ARGS)

check-librknnrt: ## Rockchip's own runtime on our driver: your librknnrt.so and .rknn files of RUNTIME=DIR
	@$(CHECKS)/check-librknnrt $(ARGS) $(if $(RUNTIME),"$(RUNTIME)")

check-bindings: ## the bindings and trees that they must and must not accept, by dt-schema
	@$(CHECKS)/check-bindings

check-dkms: ## build, install and remove the DKMS package for a kernel
	@$(CHECKS)/check-dkms $(ARGS)

check-install: ## the README's installation and its undoing, in a chroot and in guests
	@$(CHECKS)/check-install $(ARGS)
	@$(CHECKS)/check-board

check-board: ## the guests of check-install alone: with Debian's own udev and modprobe
	@$(CHECKS)/check-board $(ARGS)

check-tree: ## the module for the kernel tree DIR with CONFIG (a defconfig or a file), every symbol looked for
	@$(CHECKS)/check-tree "$(DIR)" "$(CONFIG)"

## Measurements:

compare: ## our driver beside the in-tree rocket, on the same model; ARGS=--counts-only
	@$(BIN)/compare $(ARGS)

bench-attention: selftests ## what attention by libnpu costs, build/attention.tsv; ARGS=--all: long sequences, too
	@$(BIN)/bench-attention $(ARGS)

bench-model: ## speed of the model's arithmetic beside a CPU library
	@$(BIN)/bench-model

fuzz-model: ## attack the model under sanitizers for SECONDS=60, with SEED=1
	@$(BIN)/fuzz-model $(SECONDS) $(SEED)

## Builds:

qemu: ## QEMU with the model; prints where it is
	@$(BIN)/qemu

lib: ## libnpu, npu-demo, npu-bench
	@$(BIN)/root make -sC $(CURDIR)/tools/lib $(CROSS) O=$(O)/lib

capture: lib ## npu-capture, npu-replay, npu-dump
	@$(BIN)/root make -sC $(CURDIR)/tools/capture $(CROSS) O=$(O)/capture LIBNPU=$(O)/lib/libnpu.a all tests
	@$(BIN)/root sh -c '[ ! -e /usr/lib/arm-linux-gnueabihf/pkgconfig/libdrm.pc ] || \
		make -sC $(CURDIR)/tools/capture armhf O=$(O)/capture-armhf'

report: lib ## npu-report
	@$(BIN)/root make -sC $(CURDIR)/tools/report $(CROSS) O=$(O)/report LIBNPU=$(O)/lib/libnpu.a

top: ## npu-top
	@$(BIN)/root make -sC $(CURDIR)/tools/top $(CROSS) O=$(O)/top

selftests: lib ## the test programs
	@linux=$$($(BIN)/linux-source) && $(BIN)/root make -sC $(CURDIR)/selftests $(CROSS) \
		OUTPUT=$(O)/selftests KSELFTEST=$$linux/tools/testing/selftests LIBNPU=$(O)/lib/libnpu.a

selftests-armhf: ## the same for 32 bits
	@linux=$$($(BIN)/linux-source) && $(BIN)/root make -sC $(CURDIR)/selftests CROSS_COMPILE=arm-linux-gnueabihf- \
		CC=arm-linux-gnueabihf-gcc USERCFLAGS=-Wno-pointer-to-int-cast OUTPUT=$(O)/selftests-armhf \
		KSELFTEST=$$linux/tools/testing/selftests

deb: ## Debian packages, checked by lintian, in build/deb
	@$(BIN)/deb

dist: ## the sources that git has committed, as one file
	@mkdir -p $(O)
	@git archive --prefix=rknpu-accel-$(VERSION)/ HEAD | xz -c >$(O)/rknpu-accel-$(VERSION).tar.xz
	@ls $(O)/rknpu-accel-$(VERSION).tar.xz

root: ## the build root; CMD='shell command' runs in it
	@$(BIN)/root $(if $(CMD),sh -c "$$CMD")

pkgroot: ## the root in which packages are built and checked; CMD
	@$(BIN)/pkgroot $(if $(CMD),sh -c "$$CMD")

kernel: ## fetch or build the testbed kernel KERNEL; ARGS=--update fetches the newest
	@$(BIN)/kernel $(ARGS) $(KERNEL)

tree-kernel: ## a kernel to boot of others' source: NAME=rk6.1 DIR=tree CONFIG=defconfig
	@$(BIN)/tree-kernel "$(NAME)" "$(DIR)" "$(CONFIG)"

linux-source: ## fetch Debian's kernel source of the series KERNEL
	@$(BIN)/linux-source $(KERNEL)

dtbs: ## fetch the RK3588 device trees that Debian has for KERNEL
	@$(BIN)/dtbs $(KERNEL)

probes: ## what the build of the module finds out about KERNEL
	@$(BIN)/probes --kernel $(KERNEL) $(ARGS)

clean: ## remove build/; the cache stays
	rm -rf $(O)

purge: ## remove the cache
	@$(BIN)/purge

htmldocs: ## the documentation, in build/htmldocs
	@$(BIN)/htmldocs

parameters: ## the table of module parameters in the documentation, from the sources
	@$(BIN)/root python3 $(CURDIR)/$(CHECKS)/param-table.py

## On a board, or for one:

modules: ## rknpu_accel.ko for KDIR (on arm64 the running kernel, else KERNEL); W=1 C=1 as in a kernel tree
	@$(BIN)/module $(if $(KDIR),--kdir $(KDIR),--kernel $(KERNEL)) $(KVARS)

install: ## install it (INSTALL_MOD_PATH= as in a kernel tree)
	@test -n "$(KDIR)" || { echo 'make install needs KDIR=<kernel build directory>' >&2; exit 2; }
	@$(BIN)/module --kdir $(KDIR) $(KVARS)
	$(MAKE) -C $(KDIR) M=$(O)/module/kdir modules_install

.PHONY: help $(shell sed -nE 's/^([a-z-]+):.*\#\# .*/\1/p' $(firstword $(MAKEFILE_LIST)))
.DEFAULT_GOAL := help

endif
