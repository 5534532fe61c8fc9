# SPDX-License-Identifier: GPL-2.0-only
# Entry points for people: builds, tests and demonstrates the driver and its model; `make help` lists them.

# kbuild includes this file when it is given the tree as M=; then only Kbuild counts.
ifeq ($(KERNELRELEASE),)

TESTBED := tools/testbed
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
CROSS := CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar
KVARS := $(foreach v,W C CF KCFLAGS,$(if $($(v)),$(v)=$($(v))))

help:
	@echo 'On any machine with Debian 12 or 13 (downloads what it needs, keeps it in ~/.cache/rknpu-accel):'
	@echo '  make demo         boot the model and run two matmuls through the driver'
	@echo '  make check        every test but those below, as CI does; ends in "N passed, N failed, N skipped"'
	@echo '  make check-teflon Mesa'"'"'s TensorFlow Lite delegate on our driver'
	@echo '  make check-matrix the guest tests on all kernels, as a table: KERNELS="5.10 7.2" and GROUPS="memory exec" choose'
	@echo '  make check-compilers  the module by other compilers, gcc 10 to clang 19, each in a guest'
	@echo '  make check-debug  more of them on a kernel with KASAN, lockdep, kmemleak ..., with failing allocations'
	@echo '  make check-kcsan  some of them on a kernel with the race detector'
	@echo '  make soak MINUTES=n  clients, faults, unbinds and sleeps at random, every result checked'
	@echo '  make compare      our driver beside the in-tree rocket, on the same model'
	@echo '  make qtest        the model'"'"'s own tests'
	@echo '  make fuzz-model   attack the model under sanitizers for SECONDS=$(SECONDS), with SEED=$(SEED)'
	@echo '  make bench-model  speed of the model'"'"'s arithmetic beside a CPU library'
	@echo '  make check-dts    the overlays of dts/ on the trees of Debian kernels, and the bindings'
	@echo '  make deb          Debian packages, checked by lintian, in build/deb'
	@echo '  make check-dkms   build, install and remove the DKMS package for a kernel'
	@echo '  make check-install  the README'"'"'s installation and its undoing, in a chroot and in guests'
	@echo '  make check-takeover  from in-tree rocket to our driver and back, in a guest'
	@echo '  make dist         the sources as one file'
	@echo '  make lint         checkpatch, shellcheck, sparse, W=1'
	@echo '  make qemu lib selftests'
	@echo '  make probes       what the build of the module finds out about testbed kernel KERNEL=$(KERNEL)'
	@echo '  tools/testbed/run boots a guest and runs a command in it'
	@echo 'On a board, or for one:'
	@echo '  make modules      rknpu_accel.ko for KDIR (default: the running kernel if this is arm64,'
	@echo '                    else testbed kernel KERNEL=$(KERNEL)); W=1 C=1 as in a kernel tree'
	@echo '  make install      install it (INSTALL_MOD_PATH= as in a kernel tree)'
	@echo '  make clean        remove build/; the cache stays'

modules:
	@$(TESTBED)/module $(if $(KDIR),--kdir $(KDIR),--kernel $(KERNEL)) $(KVARS)

install:
	@test -n "$(KDIR)" || { echo 'make install needs KDIR=<kernel build directory>' >&2; exit 2; }
	@$(TESTBED)/module --kdir $(KDIR) $(KVARS)
	$(MAKE) -C $(KDIR) M=$(O)/module/kdir modules_install

probes:
	@$(TESTBED)/probes --kernel $(KERNEL)

lib:
	@$(TESTBED)/root make -sC $(CURDIR)/tools/lib $(CROSS) O=$(O)/lib

selftests: lib
	@$(TESTBED)/root make -sC $(CURDIR)/selftests $(CROSS) O=$(O)/selftests \
		LIBNPU=$(O)/lib/libnpu.a

qemu:
	@$(TESTBED)/qemu

demo: lib
	@$(TESTBED)/run --timeout 300 --copy $(O)/lib/npu-demo -- ./npu-demo

check: lib selftests
	@$(TESTBED)/check

check-matrix: lib selftests
	@$(TESTBED)/matrix $(addprefix --kernel ,$(KERNELS)) $(GROUPS)

check-compilers: lib selftests
	@$(TESTBED)/check-compilers

check-debug: lib selftests
	@$(TESTBED)/check --debug

check-kcsan: lib selftests
	@$(TESTBED)/check --debug kcsan-exec kcsan-sched

soak: lib selftests
	@$(TESTBED)/soak --kernel $(KERNEL) $(MINUTES)

check-teflon: lib
	@$(TESTBED)/teflon

bench-model:
	@$(TESTBED)/bench-model

compare: lib selftests
	@$(TESTBED)/compare

check-dts:
	@$(TESTBED)/check-dts
	@$(TESTBED)/check-bindings

deb:
	@$(TESTBED)/deb

check-dkms: deb
	@$(TESTBED)/check-dkms

check-install: deb
	@$(TESTBED)/deb --next
	@$(TESTBED)/check-install
	@$(TESTBED)/check-board

check-takeover: lib
	@$(TESTBED)/check-takeover

.PHONY: check-dts deb check-dkms check-install check-takeover dist

# What git has committed, in one file whose content depends on nothing else.
dist:
	@mkdir -p $(O)
	@git archive --prefix=rknpu-accel-$(VERSION)/ HEAD | xz -c >$(O)/rknpu-accel-$(VERSION).tar.xz
	@ls $(O)/rknpu-accel-$(VERSION).tar.xz

lint:
	@$(TESTBED)/lint

qtest:
	@set -e; for t in $$($(TESTBED)/qemu --list-qtests); do $(TESTBED)/qemu --qtest $$t; done

fuzz-model:
	@$(TESTBED)/fuzz-model $(SECONDS) $(SEED)

clean:
	rm -rf $(O)

.PHONY: help modules install probes lib selftests qemu demo check check-matrix check-compilers check-debug check-kcsan soak check-teflon compare
.PHONY: bench-model lint qtest fuzz-model clean
.DEFAULT_GOAL := help

endif
