/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Weight decompression of the RK3588 NPU's CNA, for bytes.
 *
 * Sixteen lanes stand behind each other, each at a multiple of 64 bytes from
 * the first.  Lane n has word n of every 64 bytes of weights: a header, then a
 * prefix code of classes, each with a sign and the lower bits of the difference
 * from the lane's most frequent weight.  Both modes of the header come from the
 * two networks of Rockchip's compiler that exist with and without compression;
 * happyme531 has run the first on RK3588.  What neither shows is refused.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "dcomp.h"
#include "decode.h"

/* The only values that were ever seen to turn decompression on. */
#define DCOMP_CTRL_ON           1
#define DCOMP_REGNUM_ON         0x55555555u

#define BLOCK_BYTES     16      /* what AMOUNT counts; the first is a header */
#define LANE_ALIGN      64
#define LINE_BYTES      64      /* of weights, a word for every lane */
#define WORD_BYTES      4

#define HEADER_MODE     0
#define HEADER_MODAL    1       /* the most frequent weight */
#define HEADER_BOOK     4       /* nibbles: the class of every code */
#define HEADER_RUNS     8       /* halfwords */

#define MODE_PLAIN      0x00
#define MODE_RUNS       0x11    /* class 0 is a run of the modal weight */

#define MAX_CLASS       7
#define MAX_CODE_BITS   5

typedef struct Lane {
    const uint8_t *bits;
    size_t at, end;             /* in bits */
    bool runs;
    uint8_t modal;
    uint8_t class[8];           /* of the codes */
    uint16_t run;               /* of the only run code that is known */
} Lane;

/* --- Registers --- */

static const char *check_idle(const uint32_t *regs)
{
    unsigned i;

    REFUSE_IF(regs[R_CNA_DCOMP_REGNUM], "DCOMP_REGNUM without decompression");
    for (i = 0; i < NPU_DCOMP_LANES; i++) {
        REFUSE_IF(regs[R_CNA_DCOMP_AMOUNT0 + i],
                  "DCOMP_AMOUNT without decompression");
    }
    return NULL;
}

const char *npu_dcomp_decode(NpuConv *c, const uint32_t *regs)
{
    NpuDcomp *d = &c->dcomp;
    unsigned i;

    if (!regs[R_CNA_DCOMP_CTRL]) {
        return check_idle(regs);
    }
    REFUSE_IF(regs[R_CNA_DCOMP_CTRL] != DCOMP_CTRL_ON ||
              regs[R_CNA_DCOMP_REGNUM] != DCOMP_REGNUM_ON,
              "mode of weight decompression");
    REFUSE_IF(c->precision != NPU_PREC_INT8, "compressed weights but of bytes");
    for (i = 0; i < NPU_DCOMP_LANES; i++) {
        uint32_t amount = regs[R_CNA_DCOMP_AMOUNT0 + i];

        REFUSE_IF(amount >= NPU_TASK_MAX_WEIGHTS / NPU_DCOMP_LANES /
                            BLOCK_BYTES, "too many compressed weights");
        d->lane_bytes[i] = (amount + 1) * BLOCK_BYTES;
        d->bytes += QEMU_ALIGN_UP(d->lane_bytes[i], LANE_ALIGN);
    }
    d->on = true;
    return NULL;
}

/* --- Streams --- */

static const char *open_lane(Lane *l, const uint8_t *lane, size_t len)
{
    unsigned i;

    REFUSE_IF(lane[HEADER_MODE] != MODE_PLAIN && lane[HEADER_MODE] != MODE_RUNS,
              "compressed weights: unknown mode of a lane");
    l->bits = lane + BLOCK_BYTES;
    l->at = 0;
    l->end = (len - BLOCK_BYTES) * 8;
    l->runs = lane[HEADER_MODE] == MODE_RUNS;
    l->modal = lane[HEADER_MODAL];
    for (i = 0; i < ARRAY_SIZE(l->class); i++) {
        l->class[i] = extract32(lane[HEADER_BOOK + i / 2], i % 2 * 4, 4);
    }
    l->run = lduw_le_p(lane + HEADER_RUNS);
    return NULL;
}

/* @n bits, no more than eight; behind the end there are zeros. */
static unsigned peek(const Lane *l, unsigned n)
{
    size_t byte = l->at / 8, last = l->end / 8;
    unsigned v = 0;

    if (byte < last) {
        v = l->bits[byte];
    }
    if (byte + 1 < last) {
        v |= l->bits[byte + 1] << 8;
    }
    return extract32(v, l->at % 8, n);
}

static unsigned take(Lane *l, unsigned n)
{
    unsigned v = n ? peek(l, n) : 0;

    l->at += n;
    return v;
}

/* No bit pattern is without a code. */
static unsigned take_class(Lane *l)
{
    static const struct {
        uint8_t bits, value;
    } code[] = {
        { 2, 0x0 }, { 2, 0x1 }, { 3, 0x7 }, { 3, 0x3 }, { 3, 0x6 },
        { 4, 0xa }, { 5, 0x12 }, { 5, 0x2 },
    };
    unsigned next = peek(l, MAX_CODE_BITS), i = 0;

    while (extract32(next, 0, code[i].bits) != code[i].value) {
        i++;
    }
    l->at += code[i].bits;
    return l->class[i];
}

/* A difference from the modal weight, of a class that is not a run. */
static int take_difference(Lane *l, unsigned class)
{
    bool minus = take(l, 1);
    int v = 0;

    if (l->runs && class == MAX_CLASS) {
        /* No room is left for the top bit: 0 stands for 128. */
        v = take(l, MAX_CLASS);
        v = v ? v : 128;
    } else if (class) {
        v = 1 << (class - 1) | take(l, class - 1);
    }
    return !minus ? v : l->runs ? -v : -1 - v;
}

/* The next weights of a lane, all of them @value. */
static const char *take_weights(Lane *l, uint8_t *value, size_t *count)
{
    unsigned class = take_class(l);

    REFUSE_IF(class > MAX_CLASS, "compressed weights: unknown class");
    *count = 1;
    *value = l->modal;
    if (l->runs && !class) {
        REFUSE_IF(take(l, 1), "compressed weights: unknown code of a run");
        REFUSE_IF(!l->run, "compressed weights: empty run");
        *count = l->run;
    } else {
        *value += take_difference(l, class);
    }
    REFUSE_IF(l->at > l->end, "compressed weights: a lane ends early");
    return NULL;
}

/* Weights of lane @n among @len. */
static size_t lane_weights(unsigned n, size_t len)
{
    size_t rest = len % LINE_BYTES, first = n * WORD_BYTES;

    return len / LINE_BYTES * WORD_BYTES +
           (rest > first ? MIN(rest - first, WORD_BYTES) : 0);
}

static const char *expand_lane(Lane *l, uint8_t *weights, size_t count)
{
    size_t i = 0, n;
    uint8_t value;

    while (i < count) {
        const char *why = take_weights(l, &value, &n);

        REFUSE_IF(why, why);
        REFUSE_IF(n > count - i, "compressed weights: too long a run");
        for (; n; n--, i++) {
            weights[i / WORD_BYTES * LINE_BYTES + i % WORD_BYTES] = value;
        }
    }
    return NULL;
}

const char *npu_dcomp_expand(const NpuDcomp *d, const uint8_t *stream,
                             uint8_t *weights, size_t len)
{
    unsigned n;

    for (n = 0; n < NPU_DCOMP_LANES; n++) {
        const char *why;
        Lane l;

        why = open_lane(&l, stream, d->lane_bytes[n]);
        REFUSE_IF(why, why);
        why = expand_lane(&l, weights + n * WORD_BYTES, lane_weights(n, len));
        REFUSE_IF(why, why);
        stream += QEMU_ALIGN_UP(d->lane_bytes[n], LANE_ALIGN);
    }
    return NULL;
}
