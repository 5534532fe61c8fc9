# SPDX-License-Identifier: MIT
# How libnpu's users find libdrm: pkg-config of the architecture that CC names, and the host's for HOSTCC.

# Copying and removing take none.
ifneq ($(filter-out clean add-to-tree,$(or $(MAKECMDGOALS),all)),)
# aarch64-linux-gnu-gcc has aarch64-linux-gnu-pkg-config beside it.
cc_name := $(notdir $(lastword $(CC)))
PKG_CONFIG ?= $(if $(filter %-gcc,$(cc_name)),$(cc_name:gcc=pkg-config),pkg-config)
HOST_PKG_CONFIG ?= pkg-config
DRM_CFLAGS := $(shell $(PKG_CONFIG) --cflags libdrm)
DRM_LIBS := $(shell $(PKG_CONFIG) --libs libdrm)
HOST_DRM_LIBS = $(shell $(HOST_PKG_CONFIG) --libs libdrm)
# For programs that are copied without their libraries.
DRM_STATIC := $(shell $(PKG_CONFIG) --variable=libdir libdrm)/libdrm.a
ifeq ($(DRM_LIBS),)
$(error $(PKG_CONFIG) finds no libdrm: install libdrm-dev and pkgconf, of the architecture that is built for)
endif
endif
