/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the RK3588 NPU model's clock says about workloads that others measured
 * on boards: prints the table of docs/specs/rk3588-npu-core.rst, or checks
 * that a file holds it (--check FILE, TAP).
 *
 * Only the core's own time is predicted.  Measurements include drivers, CPUs
 * and whatever else the reporter's clock saw.
 */
#include "qemu/osdep.h"
#include <stdarg.h>
#include <stdio.h>
#include "compute/timing.h"

#define CORES       3
#define CBUF        (NPU_CBUF_BANKS * NPU_CBUF_BANK_BYTES)
#define MEMORY      33792000000.0       /* bytes per second, as the model */

typedef struct Type {
    uint8_t precision;
    uint32_t kernel_group;
    uint32_t in_bits, out_bytes;
} Type;

static const Type int4 = { NPU_PREC_INT4, 64, 4, 2 };
static const Type int8 = { NPU_PREC_INT8, 32, 8, 4 };
static const Type fp16 = { NPU_PREC_FP16, 16, 16, 2 };

/* --- Tasks as the cost model sees them --- */

static void cube(NpuCube *c, uint32_t surfaces, uint32_t height,
                 uint32_t row_bytes)
{
    c->surfaces = surfaces;
    c->height = height;
    c->row_bytes = row_bytes;
    c->bytes = (size_t)surfaces * height * row_bytes;
}

static NpuTask conv(uint32_t w, uint32_t h, uint32_t c, uint32_t k,
                    uint32_t out_w, uint32_t out_h, uint32_t kernels,
                    const Type *type)
{
    NpuTask t = {
        .kind = NPU_KIND_CONV,
        .dpu = { .atom = NPU_ATOM, .packed = NPU_PACKED_CHANNELS },
    };
    NpuConv *v = &t.conv;
    uint32_t atoms = DIV_ROUND_UP(c * type->in_bits / 8, NPU_ATOM);

    v->precision = type->precision;
    v->kernel_group = type->kernel_group;
    v->in_w = w;
    v->in_h = h;
    v->in_c = c;
    v->k_w = v->k_h = k;
    v->step_x = v->step_y = 1;
    v->kernels = kernels;
    v->out_w = out_w;
    v->out_h = out_h;
    v->weight_bytes = (size_t)kernels * k * k * c * type->in_bits / 8;
    v->feature.group_lines = 1;
    v->feature.dma_width = v->feature.line_stride = w;
    cube(&v->feature.cube, atoms, h, w * NPU_ATOM);
    v->data_banks = MIN(DIV_ROUND_UP(v->feature.cube.bytes,
                                     NPU_CBUF_BANK_BYTES),
                        11);
    cube(&t.dpu.out.cube, DIV_ROUND_UP(ROUND_UP(kernels, 32) *
                                       type->out_bytes, NPU_ATOM),
         out_h, out_w * NPU_ATOM);
    t.dpu.out.line_bytes = out_w * NPU_ATOM;
    return t;
}

/* Seconds of one core that has the memory for itself. */
static double seconds(const NpuTask *t, double hz)
{
    NpuCost cost;

    npu_task_cost(t, &cost);
    return MAX(cost.cycles / hz, cost.bytes / MEMORY);
}

/* --- Products --- */

/* G operations per second of one task with @m rows. */
static double product(uint32_t m, uint32_t k, uint32_t n, const Type *type,
                      double hz)
{
    NpuTask t = conv(1, m, k, 1, 1, m, n, type);

    return 2.0 * m * k * n / seconds(&t, hz) / 1e9;
}

/*
 * Tiles of 256 x 384 x 256 as the reporter found best for fp16, a row of them
 * with DATA_REUSE; halves are accumulated by EW.  That other types are cut
 * into the same tiles is assumed.
 */
static double tiled(uint32_t m, uint32_t k, uint32_t n, const Type *type,
                    double hz)
{
    const uint32_t tile = 256, depth = 384;
    NpuTask t = conv(1, tile, depth, 1, 1, tile, tile, type);
    uint32_t runs = (m / tile) * (k / depth), i;
    double sum = 0;

    if (type->precision == NPU_PREC_FP16) {
        t.feed[NPU_FEED_EW].cube = t.dpu.out.cube;
    }
    for (i = 0; i < n / tile; i++) {
        t.conv.data_reuse = i > 0;
        sum += seconds(&t, hz);
    }
    return 2.0 * m * k * n / (sum * runs / CORES) / 1e9;
}

/* --- Networks, cut into tasks as Mesa does --- */

typedef struct Net {
    double hz;
    double seconds;
    unsigned tasks;
} Net;

static const Type quant = { NPU_PREC_INT8, 32, 8, 1 };
static const Type quant_dw = { NPU_PREC_INT8, 64, 8, 1 };

/* Slices of rows that fit into the banks which the weights leave. */
static void layer(Net *net, uint32_t size, uint32_t c, uint32_t k,
                  uint32_t stride, uint32_t oc, bool depthwise)
{
    uint32_t out = DIV_ROUND_UP(size, stride);
    uint32_t cc = ROUND_UP(c, 16);
    uint32_t weights = (depthwise ? 1 : oc) * k * k * cc;
    uint32_t banks = weights / NPU_CBUF_BANK_BYTES + 1;
    bool reuse = banks + 1 < NPU_CBUF_BANKS;
    uint32_t rows = MIN((reuse ? NPU_CBUF_BANKS - banks : 7) *
                        NPU_CBUF_BANK_BYTES / (size * cc),
                        size);
    uint32_t per_task = rows == size ? out : (rows - k) / stride + 1;
    uint32_t done;

    for (done = 0; done < out; done += per_task) {
        uint32_t n = MIN(per_task, out - done);
        NpuTask t = conv(size, MIN((n - 1) * stride + k, size), cc, k, out, n,
                         depthwise ? 1 : oc, depthwise ? &quant_dw : &quant);

        t.conv.depthwise = depthwise;
        t.conv.weight_reuse = reuse && done;
        cube(&t.dpu.out.cube, DIV_ROUND_UP(ROUND_UP(oc, depthwise ? 64 : 32),
                                           NPU_ATOM), n, out * NPU_ATOM);
        net->seconds += seconds(&t, net->hz);
        net->tasks++;
    }
}

static Net mobilenet_v1(double hz)
{
    static const struct {
        uint32_t size, c, stride, oc;
    } pair[] = {
        { 112, 32, 1, 64 }, { 112, 64, 2, 128 }, { 56, 128, 1, 128 },
        { 56, 128, 2, 256 }, { 28, 256, 1, 256 }, { 28, 256, 2, 512 },
        { 14, 512, 1, 512 }, { 14, 512, 1, 512 }, { 14, 512, 1, 512 },
        { 14, 512, 1, 512 }, { 14, 512, 1, 512 }, { 14, 512, 2, 1024 },
        { 7, 1024, 1, 1024 },
    };
    Net net = { .hz = hz };
    unsigned i;

    layer(&net, 224, 3, 3, 2, 32, false);
    for (i = 0; i < ARRAY_SIZE(pair); i++) {
        layer(&net, pair[i].size, pair[i].c, 3, pair[i].stride, pair[i].c,
              true);
        layer(&net, DIV_ROUND_UP(pair[i].size, pair[i].stride), pair[i].c, 1,
              1, pair[i].oc, false);
    }
    layer(&net, 1, 1024, 1, 1, 1001, false);
    return net;
}

/* Residual additions are fused into convolutions and not counted. */
static Net mobilenet_v2(double hz)
{
    static const struct {
        uint32_t expand, oc, n, stride;
    } block[] = {
        { 1, 16, 1, 1 }, { 6, 24, 2, 2 }, { 6, 32, 3, 2 }, { 6, 64, 4, 2 },
        { 6, 96, 3, 1 }, { 6, 160, 3, 2 }, { 6, 320, 1, 1 },
    };
    Net net = { .hz = hz };
    uint32_t size = 112, c = 32, i, j;

    layer(&net, 224, 3, 3, 2, 32, false);
    for (i = 0; i < ARRAY_SIZE(block); i++) {
        for (j = 0; j < block[i].n; j++) {
            uint32_t stride = j ? 1 : block[i].stride;
            uint32_t mid = c * block[i].expand;

            if (mid != c) {
                layer(&net, size, c, 1, 1, mid, false);
            }
            layer(&net, size, mid, 3, stride, mid, true);
            size /= stride;
            layer(&net, size, mid, 1, 1, block[i].oc, false);
            c = block[i].oc;
        }
    }
    layer(&net, size, c, 1, 1, 1280, false);
    layer(&net, 1, 1280, 1, 1, 1001, false);
    return net;
}

/* --- The table --- */

static char *text;
static size_t used, room;

__attribute__((format(printf, 1, 2)))
static void say(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    used += vsnprintf(text + used, room - used, fmt, ap);
    va_end(ap);
}

static void rule(void)
{
    say("%.36s %.8s %.12s %.12s %.7s %.6s\n",
        "====================================", "========", "============",
        "============", "=======", "======");
}

static void row(const char *what, double hz, double measured, double model,
                const char *unit, bool fitted)
{
    char a[16], b[16];

    snprintf(a, sizeof(a), "%.4g %s", measured, unit);
    snprintf(b, sizeof(b), "%.4g %s", model, unit);
    say("%-36s %4.0f MHz %-12s %-12s %+5.0f %% %s\n", what, hz / 1e6, a, b,
        (model / measured - 1) * 100, fitted ? "yes" : "no");
}

static void table(void)
{
    Net net;

    rule();
    say("%-36s %-8s %-12s %-12s %-7s %s\n", "Workload", "Clock", "Measured",
        "Model", "Error", "Fitted");
    rule();
    row("fp16 product, best shape, 1 core", 1e9, 900,
        product(176, 1024, 4096, &fp16, 1e9), "GOP/s", true);
    row("int8 product, best shape, 1 core", 1e9, 1800,
        product(352, 1024, 4096, &int8, 1e9), "GOP/s", false);
    row("int4 product, best shape, 1 core", 1e9, 4000,
        product(704, 1024, 4096, &int4, 1e9), "GOP/s", false);
    row("fp16 product, one row, 1 core", 1e9, 11,
        product(1, 4096, 4096, &fp16, 1e9), "GOP/s", true);
    row("fp16 512x3840x4096, 3 cores", 600e6, 461,
        tiled(512, 3840, 4096, &fp16, 600e6), "GOP/s", false);
    row("int8 512x3840x4096, 3 cores", 600e6, 386,
        tiled(512, 3840, 4096, &int8, 600e6), "GOP/s", false);
    row("int4 512x3840x4096, 3 cores", 600e6, 413,
        tiled(512, 3840, 4096, &int4, 600e6), "GOP/s", false);
    net = mobilenet_v1(200e6);
    row("MobileNetV1, Mesa prototype", 200e6, 10.8, net.seconds * 1e3, "ms",
        false);
    row("MobileNetV1, Mesa", 200e6, 11.4, net.seconds * 1e3, "ms", false);
    row("MobileNetV1, Mesa's own table", 200e6, 18, net.seconds * 1e3, "ms",
        false);
    row("MobileNetV1, Mesa, kicks", 200e6, 41.5, net.tasks, "kicks",
        false);
    net = mobilenet_v1(1e9);
    row("MobileNetV1, vendor's runtime", 1e9, 2.4, net.seconds * 1e3, "ms",
        false);
    net = mobilenet_v2(200e6);
    row("MobileNetV2, Mesa's own table", 200e6, 21, net.seconds * 1e3, "ms",
        false);
    rule();
}

static bool file_holds(const char *path)
{
    FILE *f = fopen(path, "r");
    char *all = calloc(1, 1 << 20);
    bool found;

    if (!f || !all) {
        return false;
    }
    found = fread(all, 1, (1 << 20) - 1, f) && strstr(all, text);
    fclose(f);
    free(all);
    return found;
}

int main(int argc, char **argv)
{
    bool ok;

    room = 1 << 16;
    text = malloc(room);
    table();
    if (argc < 3 || strcmp(argv[1], "--check")) {
        fputs(text, stdout);
        return 0;
    }
    ok = file_holds(argv[2]);
    printf("TAP version 13\n1..1\n%sok 1 - calibration table of the "
           "documentation\n", ok ? "" : "not ");
    return !ok;
}
