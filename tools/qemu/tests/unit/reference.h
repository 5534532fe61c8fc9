/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arithmetic that references of tests share: integers that are rounded and
 * clipped.
 */
#ifndef NPU_REFERENCE_H
#define NPU_REFERENCE_H

#include "harness.h"

static inline int up(int v, int to)
{
    return (v + to - 1) / to * to;
}

/* floor((2p + 2^s) / 2^(s+1)), one less on an odd tie unless those go up */
static inline int64_t ref_round_ties(int64_t p, int s, bool ties_up)
{
    int64_t den = (int64_t)1 << (s + 1), num = 2 * p + den / 2;
    int64_t q = num / den - (num % den < 0);

    return q - (s && !ties_up && num % den == 0 && q % 2);
}

static inline int64_t ref_round(int64_t p, int s)
{
    return ref_round_ties(p, s, false);
}

static inline int64_t ref_clip(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

#endif
