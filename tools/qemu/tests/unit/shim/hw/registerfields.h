/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Register and field constants under the names that QEMU's header gives. */
#ifndef SHIM_HW_REGISTERFIELDS_H
#define SHIM_HW_REGISTERFIELDS_H

#include "qemu/bitops.h"

#define REG32(reg, addr)                \
    enum { A_ ## reg = (addr), R_ ## reg = (addr) / 4 };

#define FIELD(reg, field, start, len)                   \
    enum {                                              \
        R_ ## reg ## _ ## field ## _SHIFT = (start),    \
        R_ ## reg ## _ ## field ## _LENGTH = (len),     \
    };

#define FIELD_EX32(value, reg, field)                           \
    extract32((value), R_ ## reg ## _ ## field ## _SHIFT,       \
              R_ ## reg ## _ ## field ## _LENGTH)

#endif
