/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random poolings for the RK3576.
 */
#include "rk3576-prog.h"

typedef struct Pool {
    bool average;
    bool real;              /* by the taps that are not padding */
    int h, w, c, kh, kw, sy, sx, top, left, bottom, right, oh, ow, pad;
} Pool;

static void put_pool(Prog *p, const Pool *k)
{
    int i;

    p->n = 0;
    put(p, 0x600c, k->w - 1);
    put(p, 0x6010, k->h - 1);
    put(p, 0x6014, k->c - 1);
    put(p, 0x6018, k->ow - 1);
    put(p, 0x601c, k->oh - 1);
    put(p, 0x6020, k->c - 1);
    put(p, 0x6024, !k->average ? 0x11 : k->real ? 0x18 : 0x10);
    put(p, 0x6034, (k->sy - 1) << 20 | (k->sx - 1) << 16 | (k->kh - 1) << 8 |
                   (k->kw - 1));
    if (k->average) {
        put(p, 0x6038, 65536 / k->kw);
        put(p, 0x603c, 65536 / k->kh);
    }
    put(p, 0x6040, k->bottom << 12 | k->right << 8 | k->top << 4 | k->left);
    for (i = 0; i < 4; i++) {
        put(p, 0x6044 + 4 * i, k->pad * (i + 1) & 0x7ffff);
    }
    put(p, 0x6070, ADDR_Y);
    put(p, 0x607c, k->oh * k->ow * 16);
    put(p, 0x6084, k->oh * k->ow * 16);
    put(p, 0x700c, k->w - 1);
    put(p, 0x7010, k->h - 1);
    put(p, 0x7014, k->c - 1);
    put(p, 0x701c, ADDR_X);
    put(p, 0x7024, k->w * 16);
    put(p, 0x7028, k->h * k->w * 16);
    put(p, 0x7030, 0x40);
    start(p, POOL);
}

/* Taps of a window in the input. */
static int real_taps(int o, int in, int kernel, int stride, int before)
{
    int from = o * stride - before;

    return MIN(from + kernel, in) - MAX(from, 0);
}

static int64_t ref_pool(const Pool *k, int oy, int ox, int c)
{
    int64_t max = INT64_MIN, sum = 0;
    int kw = k->real ? real_taps(ox, k->w, k->kw, k->sx, k->left) : k->kw;
    int kh = k->real ? real_taps(oy, k->h, k->kh, k->sy, k->top) : k->kh;
    int ky, kx;

    for (ky = 0; ky < k->kh; ky++) {
        for (kx = 0; kx < k->kw; kx++) {
            int y = oy * k->sy + ky - k->top, x = ox * k->sx + kx - k->left;
            bool in = y >= 0 && x >= 0 && y < k->h && x < k->w;
            int v = in ? (int8_t)at(ADDR_X)[((c / 16 * k->h + y) * k->w + x) *
                                            16 + c % 16] : k->pad;

            sum += v;
            max = in && v > max ? v : max;
        }
    }
    sum *= (int64_t)(65536 / kw) * (65536 / kh);
    return k->average ? (int8_t)ref_round(sum, 32) : max;
}

static bool run_pool(const Pool *k)
{
    const char *why = NULL;
    int i, y, x, c;
    Prog p;

    for (i = 0; i < k->h * k->w * up(k->c, 16); i++) {
        at(ADDR_X)[i] = rnd();
    }
    put_pool(&p, k);
    if (run_prog(&p, options, &why) != NPU_TASK_RUN) {
        printf("# %s\n", why);
        return false;
    }
    for (c = 0; c < k->c; c++) {
        for (y = 0; y < k->oh; y++) {
            for (x = 0; x < k->ow; x++) {
                if ((int8_t)at(ADDR_Y)[((c / 16 * k->oh + y) * k->ow + x) * 16 +
                                       c % 16] != ref_pool(k, y, x, c)) {
                    printf("# channel %d, row %d, column %d\n", c, y, x);
                    return false;
                }
            }
        }
    }
    return true;
}

static void test_pool(bool average, bool real, unsigned runs)
{
    bool ok = true;
    unsigned i;

    for (i = 0; ok && i < runs; i++) {
        Pool k = { .average = average, .real = real, .c = rnd_in(1, 40) };

        k.kh = rnd_in(1, 5);
        k.kw = rnd_in(1, 5);
        k.sy = rnd_in(1, 3);
        k.sx = rnd_in(1, 3);
        k.top = rnd_in(0, k.kh - 1);
        k.left = rnd_in(0, k.kw - 1);
        k.bottom = rnd_in(0, k.kh - 1);
        k.right = rnd_in(0, k.kw - 1);
        k.h = rnd_in(5, 12);
        k.w = rnd_in(5, 12);
        k.oh = (k.h + k.top + k.bottom - k.kh) / k.sy + 1;
        k.ow = (k.w + k.left + k.right - k.kw) / k.sx + 1;
        k.pad = rnd_in(-128, 127);
        /* The last window must have more than padding. */
        k.oh -= (k.oh - 1) * k.sy >= k.h + k.top;
        k.ow -= (k.ow - 1) * k.sx >= k.w + k.left;
        ok = run_pool(&k);
    }
    report(ok, "%u poolings for the %s", runs,
           real ? "average of what is not padding"
                : average ? "average" : "maximum");
}

int main(void)
{
    rnd_state = 0x3576;
    test_pool(false, false, 60);
    test_pool(true, false, 60);
    test_pool(true, true, 60);
    printf("1..%u\n", tests);
    return failures != 0;
}
