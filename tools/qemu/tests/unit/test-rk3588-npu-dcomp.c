/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compressed weights of the NPU model: what an encoder of the test's own makes
 * of weights comes back, and damaged streams are refused for a reason.
 */
#include "harness.h"
#include "compute/dcomp.h"
#include "dcomp-encode.h"

static uint8_t kind_weight(unsigned kind, size_t i)
{
    switch (kind) {
    case 0:
        return 0;
    case 1:
        return rnd();
    case 2:
        return rnd_in(-9, 8);
    case 3:
        return i;
    case 4:
        return i % 7 ? 0x80 : 0x7f;
    case 5:
        return i % 3 ? 0xe1 : rnd();
    case 6:
        /* runs of three and more, apart in a lane */
        return i / 64 % 8 < 6 ? 17 : 16 + i % 4;
    default:
        /* all distances that a class can have, either side of 200 */
        return 200 + (rnd() % 2 ? 1 : -1) * (1 << rnd() % 8) + rnd_in(-1, 1);
    }
}

#define KINDS   8

static NpuDcomp dcomp_of(const Encoded *e)
{
    NpuDcomp d = { .on = true, .bytes = e->len };
    int i;

    for (i = 0; i < NPU_DCOMP_LANES; i++) {
        d.lane_bytes[i] = (e->amount[i] + 1) * 16;
    }
    return d;
}

static bool round_trip(unsigned kind, size_t len, int mode, int most)
{
    uint8_t *w = malloc(len), *got = malloc(len);
    NpuDcomp d;
    Encoded e;
    const char *why;
    size_t i;
    bool ok;

    for (i = 0; i < len; i++) {
        w[i] = kind_weight(kind, i);
    }
    e = enc_weights(w, len, mode, most);
    d = dcomp_of(&e);
    memset(got, POISON, len);
    why = npu_dcomp_expand(&d, e.bytes, got, len);
    ok = !why && !memcmp(w, got, len);
    if (!ok) {
        printf("# kind %u, %zu bytes, mode %d, runs of %d: %s\n", kind, len,
               mode, most, why ? why : "other weights");
    }
    free(e.bytes);
    free(w);
    free(got);
    return ok;
}

static void test_round_trips(void)
{
    static const size_t len[] = {
        64, 128, 1152, 432, 16, 4096, 1000, 4, 1, 63, 65, 36864,
    };
    static const struct {
        int mode, most;
    } how[] = { { 0, 0 }, { 0x11, 1 }, { 0x11, 3 }, { 0x11, 8 }, { -1, 4 } };
    unsigned kind, i, j;
    bool ok = true;

    for (kind = 0; kind < KINDS; kind++) {
        for (i = 0; i < ARRAY_SIZE(len); i++) {
            for (j = 0; j < ARRAY_SIZE(how); j++) {
                ok = round_trip(kind, len[i], how[j].mode, how[j].most) && ok;
            }
        }
    }
    report(ok, "weights come back");
}

/* Lane 0 of 128 weights is @head and @code; the others are zeros. */
static const char *expand_one(const uint8_t *head, const uint8_t *code,
                              size_t n, uint8_t *weights)
{
    NpuDcomp d = { .on = true, .bytes = NPU_DCOMP_LANES * 64 };
    uint8_t *stream = calloc(NPU_DCOMP_LANES, 64);
    const char *why;
    int i;

    for (i = 0; i < NPU_DCOMP_LANES; i++) {
        /* every class by its own code; bits of 0 are class 0, sign 0 */
        static const uint8_t book[] = { 0x10, 0x32, 0x54, 0x76 };

        d.lane_bytes[i] = 32;
        memcpy(stream + 64 * i + 4, book, sizeof(book));
    }
    memcpy(stream, head, 16);
    memcpy(stream + 16, code, n);
    why = npu_dcomp_expand(&d, stream, weights, 128);
    free(stream);
    return why;
}

/* Written by hand from the description of the format. */
static void test_vectors(void)
{
    static const uint8_t want[] = { 5, 5, 6, 4, 0x80, 5, 127, 0xfd };
    static const struct {
        uint8_t head[16], code[6];
    } lane[] = {
        { { 0x00, 5, 0, 0, 0x70, 0x31, 0x42, 0x65 },
          { 0xc0, 0x31, 0x3b, 0xa2, 0xef } },
        { { 0x11, 5, 0, 0, 0x10, 0x47, 0x32, 0x65, 1, 0, 4, 0, 2, 0, 3, 0 },
          { 0x40, 0x7a, 0x7b, 0x9c, 0x7e, 0x01 } },
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(lane); i++) {
        uint8_t w[128];
        const char *why = expand_one(lane[i].head, lane[i].code, 6, w);

        report(!why && !memcmp(w, want, 4) && !memcmp(w + 64, want + 4, 4),
               "a lane of mode 0x%02x", lane[i].head[0]);
    }
}

static void expect(const char *name, const uint8_t *head, const uint8_t *code,
                   const char *want)
{
    uint8_t w[128];
    const char *why = expand_one(head, code, 16, w);

    report(why && strstr(why, want), "%s is refused", name);
    printf("# %s\n", why ? why : "accepted");
}

static void test_damage(void)
{
    static const uint8_t zeros[16], ones[16] = { [0 ... 15] = 0xff };
    uint8_t head[16] = { 0x11, 0, 0, 0, 0x10, 0x32, 0x54, 0x76, 1 };

    expect("a run code of others", head, (const uint8_t [16]) { 4 },
           "code of a run");
    head[8] = 0;
    expect("a run of nothing", head, zeros, "empty run");
    head[8] = 9;
    expect("a run beyond the last weight", head, zeros, "too long a run");
    head[8] = 1;
    head[4] = 0x18;
    expect("class 8", head, zeros, "unknown class");
    head[4] = 0x10;
    head[0] = 0x01;
    expect("mode 0x01", head, zeros, "unknown mode");
    head[0] = 0x10;
    expect("mode 0x10", head, zeros, "unknown mode");
    head[0] = 0;
    /* Code 2, and with it class 7: 10 bits each, eight would be 80. */
    head[5] = 0x37;
    {
        NpuDcomp d = { .on = true, .bytes = 1024 };
        uint8_t *stream = calloc(1, 1024), w[1024];
        const char *why;
        int i;

        for (i = 0; i < NPU_DCOMP_LANES; i++) {
            d.lane_bytes[i] = 32;
            memcpy(stream + 64 * i, head, 16);
            memcpy(stream + 64 * i + 16, ones, 16);
        }
        why = npu_dcomp_expand(&d, stream, w, sizeof(w));
        report(why && strstr(why, "ends early"), "a short lane is refused");
        free(stream);
    }
}

/* Whatever a stream holds, it is expanded or refused, inside of its bounds. */
static void test_fuzz(unsigned streams)
{
    unsigned i, j, ran = 0;

    for (i = 0; i < streams; i++) {
        size_t len = rnd_in(1, 700), k;
        uint8_t *w = malloc(len), *cut;
        NpuDcomp d = { .on = true };
        Encoded e;

        for (k = 0; k < len; k++) {
            w[k] = kind_weight(i % KINDS, k);
        }
        e = enc_weights(w, len, i % 2 * 0x11, rnd_in(1, 4));
        for (j = 0; j < NPU_DCOMP_LANES; j++) {
            uint32_t amount = one_in(8) ? rnd() % 4 : e.amount[j];

            d.lane_bytes[j] = (amount + 1) * 16;
            d.bytes += (d.lane_bytes[j] + 63) / 64 * 64;
        }
        cut = calloc(1, d.bytes);
        memcpy(cut, e.bytes, MIN(d.bytes, e.len));
        for (j = 0; j < i % 4; j++) {
            cut[rnd() % d.bytes] ^= 1 << rnd() % 8;
        }
        ran += !npu_dcomp_expand(&d, cut, w, len);
        free(cut);
        free(e.bytes);
        free(w);
    }
    printf("# %u of %u expanded\n", ran, streams);
    report(ran && ran < streams, "damaged streams");
}

int main(int argc, char **argv)
{
    unsigned streams = argc > 1 && !strcmp(argv[1], "--quick") ? 4000 : 40000;

    rnd_state = 88172645463325252ull;
    printf("TAP version 13\n1..11\n");
    test_round_trips();
    test_vectors();
    test_damage();
    test_fuzz(streams);
    return failures != 0;
}
