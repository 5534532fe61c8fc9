# SPDX-License-Identifier: MIT
# How libnpu's users find libdrm: pkg-config of the architecture that CC builds for, and the host's for HOSTCC.

include $(dir $(lastword $(MAKEFILE_LIST)))debian.mk

ifneq ($(filter-out clean add-to-tree,$(or $(MAKECMDGOALS),all)),)
# Where no cross pkg-config works (Debian 11's wants dpkg-dev), the plain one is told where to look.
PKG_CONFIG ?= $(or $(and $(cc_triplet),$(shell $(cc_triplet)-pkg-config --exists libdrm 2>/dev/null && \
	echo $(cc_triplet)-pkg-config)),$(if $(cc_triplet),PKG_CONFIG_LIBDIR=/usr/lib/$(cc_triplet)/pkgconfig:/usr/share/pkgconfig )pkg-config)
HOST_PKG_CONFIG ?= pkg-config
DRM_CFLAGS := $(shell $(PKG_CONFIG) --cflags libdrm 2>/dev/null)
DRM_LIBS := $(shell $(PKG_CONFIG) --libs libdrm 2>/dev/null)
HOST_DRM_LIBS = $(shell $(HOST_PKG_CONFIG) --libs libdrm)
# For programs that are copied without their libraries. Debian 11 has no libdrm.a: there they need what they are linked with.
DRM_STATIC := $(or $(wildcard $(shell $(PKG_CONFIG) --variable=libdir libdrm 2>/dev/null)/libdrm.a),$(DRM_LIBS))
STATIC := $(if $(filter %.a,$(DRM_STATIC)),-static)
ifeq ($(DRM_LIBS),)
$(error $(if $(call have,$(lastword $(PKG_CONFIG))),$(PKG_CONFIG) finds no libdrm: install the Debian package libdrm-dev$(cc_arch),there \
	is no $(lastword $(PKG_CONFIG)): install the Debian packages pkgconf and libdrm-dev$(cc_arch)))
endif
endif
