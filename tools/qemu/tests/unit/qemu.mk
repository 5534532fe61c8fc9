# SPDX-License-Identifier: GPL-2.0-or-later
# QEMU's own headers for the model's plain C parts: QEMU=DIR has QEMU's source in src and its build in build.

ifeq ($(filter clean,$(MAKECMDGOALS)),)
ifeq ($(and $(wildcard $(QEMU)/src/include/qemu/osdep.h),$(wildcard $(QEMU)/build/config-host.h)),)
$(error no QEMU headers: give QEMU=DIR, a directory with src and build; "tools/testbed/bin/qemu --stock" prints one)
endif
GLIB := $(shell pkg-config --cflags glib-2.0)
ifeq ($(GLIB),)
$(error no glib headers: install pkgconf and libglib2.0-dev)
endif
endif

# The table of registers, which QEMU's build gets by this way, too.
NPU_INCLUDE := $(dir $(lastword $(MAKEFILE_LIST)))../../include

QEMU_INC := -iquote $(NPU_INCLUDE) -iquote $(QEMU)/src/include -iquote $(QEMU)/src/host/include/generic -iquote $(QEMU)/build $(GLIB)
QEMU_LIBS = $(shell pkg-config --libs glib-2.0) -lm
