/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compresses weights of bytes as the RK3588 NPU expands them, for tests: a
 * stream of bits as text first, then bytes, so that it shares no code and no
 * table with the model.
 */
#ifndef NPU_DCOMP_ENCODE_H
#define NPU_DCOMP_ENCODE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ENC_LANES       16

/* The codes in the order of the stream. */
static const char *const enc_code[8] = {
    "00", "10", "111", "110", "011", "0101", "01001", "01000",
};

typedef struct Encoded {
    uint8_t *bytes;
    size_t len;
    uint32_t amount[ENC_LANES];
} Encoded;

/* A lane: mode 0x11 has runs of one length, @run, where they fit. */
typedef struct EncLane {
    int mode, run;
    int modal;
    int book[8];            /* class of every code */
    char *text;             /* '0' and '1' */
    size_t n, room;
} EncLane;

static inline void enc_char(EncLane *l, char c)
{
    if (l->n + 1 >= l->room) {
        l->room = l->room ? 2 * l->room : 256;
        l->text = realloc(l->text, l->room);
    }
    l->text[l->n++] = c;
}

static inline void enc_low_bits(EncLane *l, int v, int bits)
{
    int i;

    for (i = 0; i < bits; i++) {
        enc_char(l, v >> i & 1 ? '1' : '0');
    }
}

/* Bits of a number that is not negative. */
static inline int enc_width(int v)
{
    int n = 0;

    while (v >> n) {
        n++;
    }
    return n;
}

static inline int enc_class(const EncLane *l, int diff)
{
    int n = enc_width(l->mode ? abs(diff) : diff < 0 ? -1 - diff : diff);

    return n > 7 ? 7 : n;
}

static inline void enc_prefix(EncLane *l, int class)
{
    const char *c;
    int code = 0;

    while (l->book[code] != class) {
        code++;
    }
    for (c = enc_code[code]; *c; c++) {
        enc_char(l, *c);
    }
}

static inline void enc_weight(EncLane *l, int weight)
{
    int diff = (int8_t)(weight - l->modal), class = enc_class(l, diff);
    int amount = l->mode ? abs(diff) : diff < 0 ? -1 - diff : diff;

    enc_prefix(l, class);
    if (l->mode && !class) {
        enc_char(l, '0');
        return;
    }
    enc_char(l, diff < 0 ? '1' : '0');
    if (l->mode && class == 7) {
        enc_low_bits(l, amount % 128, 7);
    } else if (class) {
        enc_low_bits(l, amount - (1 << (class - 1)), class - 1);
    }
}

/* The commonest class has the shortest code. */
static inline void enc_book(EncLane *l, const uint8_t *w, size_t n)
{
    size_t count[8] = { 0 }, i;
    int class, code;

    for (i = 0; i < n; i++) {
        count[enc_class(l, (int8_t)(w[i] - l->modal))]++;
    }
    for (class = 0; class < 8; class++) {
        int before = 0, other;

        for (other = 0; other < 8; other++) {
            before += count[other] > count[class] ||
                      (count[other] == count[class] && other < class);
        }
        code = before;
        l->book[code] = class;
    }
}

static inline int enc_modal(const uint8_t *w, size_t n)
{
    size_t count[256] = { 0 }, i;
    int best = 0, v;

    for (i = 0; i < n; i++) {
        count[w[i]]++;
    }
    for (v = 0; v < 256; v++) {
        best = count[v] > count[best] ? v : best;
    }
    return best;
}

static inline size_t enc_run(const EncLane *l, const uint8_t *w, size_t n)
{
    size_t i = 0;

    while (i < n && w[i] == l->modal) {
        i++;
    }
    return i;
}

/* Every run has to be a multiple of the only length there is. */
static inline bool enc_run_fits(const EncLane *l, const uint8_t *w, size_t n,
                                int len)
{
    size_t i = 0, run;

    while (i < n) {
        run = enc_run(l, w + i, n - i);
        if (run % len) {
            return false;
        }
        i += run ? run : 1;
    }
    return true;
}

/* The header and the code of @n weights, appended to @e. */
static inline void enc_lane(Encoded *e, int lane, const uint8_t *w, size_t n,
                            int mode, int most)
{
    EncLane l = { .mode = mode, .modal = enc_modal(w, n) };
    uint8_t head[16] = { mode, l.modal, l.modal & 0x80 ? 0xff : 0 };
    size_t blocks, room, i;

    l.run = mode ? most : 0;
    while (l.run && !enc_run_fits(&l, w, n, l.run)) {
        l.run--;
    }
    enc_book(&l, w, n);
    for (i = 0; i < n; ) {
        bool run = mode && w[i] == l.modal;

        enc_weight(&l, w[i]);
        i += run ? l.run : 1;
    }
    for (i = 0; i < 8; i++) {
        head[4 + i / 2] |= l.book[i] << i % 2 * 4;
    }
    head[8] = l.run;
    blocks = l.n ? (l.n + 127) / 128 : 1;
    room = (16 * (blocks + 1) + 63) / 64 * 64;
    e->bytes = realloc(e->bytes, e->len + room);
    memset(e->bytes + e->len, 0, room);
    memcpy(e->bytes + e->len, head, sizeof(head));
    for (i = 0; i < l.n; i++) {
        e->bytes[e->len + 16 + i / 8] |= (l.text[i] == '1') << i % 8;
    }
    e->len += room;
    e->amount[lane] = blocks;
    free(l.text);
}

/*
 * All lanes of @n weights: mode 0x00 or 0x11, or by turns if @mode is below 0.
 * To be freed by the caller.
 */
static inline Encoded enc_weights(const uint8_t *w, size_t n, int mode,
                                  int most)
{
    uint8_t *lane = malloc(n + 1);
    Encoded e = { 0 };
    size_t i, len;
    int k;

    for (k = 0; k < ENC_LANES; k++) {
        for (i = len = 0; i < n; i++) {
            if (i / 4 % ENC_LANES == k) {
                lane[len++] = w[i];
            }
        }
        enc_lane(&e, k, lane, len, mode < 0 ? k % 2 * 0x11 : mode, most);
    }
    free(lane);
    return e;
}

#endif
