# SPDX-License-Identifier: MIT
# Whom CC builds for, and what to install of Debian where something is missing.

# Copying and removing take nothing.
ifneq ($(filter-out clean add-to-tree,$(or $(MAKECMDGOALS),all)),)
# Of aarch64-linux-gnu-gcc-12 or clang --target=aarch64-linux-gnu; none if it builds for this machine.
cc_triplet := $(subst -pc-,-,$(subst -unknown-,-,$(firstword $(patsubst --target=%,%,$(filter --target=%,$(CC))) \
	$(foreach w,$(notdir $(CC)),$(if $(findstring -gcc,$(w)),$(firstword $(subst -gcc, ,$(w))))))))
cc_arch := $(patsubst aarch64-linux-gnu,:arm64,$(patsubst arm-linux-gnueabihf,:armhf,$(filter aarch64-linux-gnu \
	arm-linux-gnueabihf,$(cc_triplet))))
have = $(shell command -v $(1) 2>/dev/null)
cc_lacks := $(firstword $(foreach w,$(firstword $(CC)) $(filter %gcc,$(CC)),$(if $(call have,$(w)),,$(notdir $(w)))))
ifneq ($(cc_lacks),)
$(error there is no $(cc_lacks): install the Debian package $(patsubst cc,gcc,$(patsubst $(cc_triplet)-%,%-$(cc_triplet),$(cc_lacks))))
endif
# $(call need,HEADER,LIBRARIES,PACKAGE): stops if no program with that header and these static libraries can be built.
need = $(if $(shell printf '\043include <$(1)>\nint main(void) { return 0; }\n' | $(CC) $(CPPFLAGS) $(CFLAGS) -x c -static \
	-o /dev/null - $(2) 2>/dev/null && echo yes),,$(error there is no $(1)$(if $(2), or none of $(2)): install the Debian package $(3)$(cc_arch)))
endif
