/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels before 6.13, where the name of a symbol namespace is not a string. */
#ifndef __RKNPU_COMPAT_MODULE_H__
#define __RKNPU_COMPAT_MODULE_H__

#ifndef RKNPU_HAVE_IMPORT_NS_STRING

#include <linux/module.h>

#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns)	MODULE_INFO(import_ns, ns)

#endif

#endif
