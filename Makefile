# SPDX-License-Identifier: GPL-2.0-only
# Entry points for people: builds, tests and demonstrates the driver and its model; `make help` lists them.

# kbuild includes this file when it is given the tree as M=; then only Kbuild counts.
ifeq ($(KERNELRELEASE),)

TESTBED := tools/testbed
O := $(CURDIR)/build
# The testbed kernel to build for and to boot; KDIR builds for an installed kernel instead.
KERNEL ?= 7.3
MINUTES ?= 30
ifeq ($(shell uname -m),aarch64)
KDIR ?= $(wildcard /lib/modules/$(shell uname -r)/build)
endif

export RKNPU_KERNEL := $(KERNEL)
CROSS := CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar
KVARS := $(foreach v,W C CF KCFLAGS,$(if $($(v)),$(v)=$($(v))))

help:
	@echo 'On any machine with Debian 12 or 13 (downloads what it needs, keeps it in ~/.cache/rknpu-accel):'
	@echo '  make demo         boot the model and run two matmuls through the driver'
	@echo '  make check        every test but those below; ends in "N passed, N failed, N skipped"'
	@echo '  make check-teflon Mesa'"'"'s TensorFlow Lite delegate on our driver'
	@echo '  make check-debug  the tests on kernels with KASAN, lockdep, kmemleak ..., with failing allocations'
	@echo '  make soak MINUTES=n  clients, faults, unbinds and sleeps at random, every result checked'
	@echo '  make compare      our driver beside the in-tree rocket, on the same model'
	@echo '  make qtest        the model'"'"'s own tests'
	@echo '  make lint         checkpatch, shellcheck, sparse, W=1'
	@echo '  make qemu lib selftests'
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

check-debug: lib selftests
	@$(TESTBED)/check --debug

soak: lib selftests
	@$(TESTBED)/soak --kernel $(KERNEL) $(MINUTES)

check-teflon: lib
	@$(TESTBED)/teflon

compare: lib selftests
	@$(TESTBED)/compare

lint:
	@$(TESTBED)/lint

qtest:
	@set -e; for t in $$($(TESTBED)/qemu --list-qtests); do $(TESTBED)/qemu --qtest $$t; done

clean:
	rm -rf $(O)

.PHONY: help modules install lib selftests qemu demo check check-debug soak check-teflon compare lint qtest clean
.DEFAULT_GOAL := help

endif
