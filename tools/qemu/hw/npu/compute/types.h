/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A validated task of the NPU: what one register snapshot asks for.
 */
#ifndef HW_NPU_COMPUTE_TYPES_H
#define HW_NPU_COMPUTE_TYPES_H

#include "regs.h"
#include "lut.h"

/* Sizes come from the guest; this bounds each host buffer of a task. */
#define NPU_TASK_MAX_BUFFER     (64u << 20)
/* A public client of boards has a test of 8192 by 8192 weights of fp16. */
#define NPU_TASK_MAX_WEIGHTS    (128u << 20)

/* About an hour of an emulating host; silicon would need minutes. */
#define NPU_TASK_MAX_MACS       (1ull << 42)

#define NPU_ATOM                16      /* bytes per position and surface */
#define NPU_ATOM_BITS           (NPU_ATOM * 8)
#define NPU_PACKED_CHANNELS     8       /* whose operands are together */
#define NPU_CHANNEL_GROUP       32      /* channels per weight group */

typedef enum NpuVerdict {
    NPU_TASK_RUN,
    NPU_TASK_STALL,     /* silicon never completes such a task either */
    NPU_TASK_UNIMP,     /* the model cannot compute it */
} NpuVerdict;

typedef enum NpuTaskKind {
    NPU_KIND_CONV,      /* CNA, CORE and DPU, to memory or the PPU */
    NPU_KIND_FLYING,    /* DPU from memory, to memory or the PPU */
    NPU_KIND_POOL,      /* PPU from memory to memory */
} NpuTaskKind;

/*
 * Where the rows of a cube of atoms are in the guest and in the host buffer.
 * Row (s, h) is row_bytes long.  Host order follows guest order when that
 * makes runs of rows contiguous on both sides.
 */
typedef struct NpuCube {
    uint32_t surfaces;
    uint32_t height;
    uint32_t row_bytes;
    size_t host_surf;   /* host bytes from one surface to the next */
    size_t host_line;
    size_t bytes;       /* of the whole host buffer */
    bool surf_inner;
    bool converted;     /* CBUF has atoms made of these bytes */
    uint32_t granule;   /* of CBUF's windows, where the first row is */
} NpuCube;

typedef struct NpuFeature {
    NpuCube cube;
    uint32_t base;
    uint32_t group_lines;   /* lines that follow each other at DMA_WIDTH */
    uint32_t dma_width;
    uint32_t line_stride;   /* in positions, from group to group */
    int32_t surf_stride;    /* in positions, beyond the first group */
    uint32_t unit;          /* bytes of a position */
    uint32_t kept;          /* first rows, which CBUF has from the last task */
    bool gaps;              /* between lines */
} NpuFeature;

/* Sets of converter constants, taken in turns by channels. */
#define NPU_CVT_LANES           4

/* Input converter: from raw data to what the array multiplies. */
typedef struct NpuCvt {
    bool on;
    bool is_signed;         /* the raw data */
    bool ties_up;
    bool offset_first;
    bool wraps;             /* results, which saturate else */
    uint16_t mask;          /* channels of an atom that are converted */
    struct {
        int32_t scale, offset;
        uint32_t shift;
    } lane[NPU_CVT_LANES];
} NpuCvt;

/* Where the weights come from if they are compressed. */
#define NPU_DCOMP_LANES         16

typedef struct NpuDcomp {
    bool on;
    size_t bytes;           /* of the stream */
    uint32_t lane_bytes[NPU_DCOMP_LANES];
} NpuDcomp;

typedef struct NpuConv {
    bool depthwise;
    bool deconv;            /* the input is spread */
    uint8_t precision;      /* of data and weights */
    uint8_t bits;           /* of an element */
    bool product;           /* RK3576: of halves, to floats */
    bool int4_weights;      /* of such a product */
    uint8_t packed;         /* channels of packed pixels; 0: atoms */
    bool packed_weights;    /* they have four lanes for each tap */
    bool packed_tight;      /* rows of taps of bytes do not fill atoms */
    uint32_t in_w, in_h, in_c;
    uint32_t k_w, k_h;
    uint32_t kernels;
    uint32_t channel_group; /* that weights keep together */
    uint32_t kernel_group;  /* depthwise: channels that weights interleave */
    bool dw_pairs;          /* depthwise: two bytes whose sum is a weight */
    uint32_t kernel_elems;  /* k_w * k_h * in_c */
    uint32_t stored_c;      /* channels that weights are stored for */
    uint32_t stride_x, stride_y;
    uint32_t step_x, step_y;    /* dilation, 1 = none */
    uint32_t spread_x, spread_y;    /* of the input: deconvolution, 1 = none */
    uint32_t pad_left, pad_top;
    uint32_t pad_value;     /* its low bits are an element */
    uint32_t pad_channels;  /* that have it; others are 0 */
    uint32_t out_w, out_h;
    uint32_t truncate;
    bool truncate_up;       /* ties upwards instead of to even */
    bool cpend;
    int32_t zero_point;     /* CPEND operand: added to every weight */
    bool data_reuse, weight_reuse;
    uint32_t data_banks, weight_banks;  /* of CBUF; the model has no limit */
    uint32_t read_bank;     /* where the array looks for feature data */
    uint32_t data_entries;
    /* One CBUF for all cores: a window of it, in granules, instead of banks. */
    bool windows;
    uint32_t window_base, window_size, row_granules;
    uint32_t window_end;        /* of all that no other core may use */
    const char *window_short;   /* why it is too small, or NULL */
    uint32_t weights;       /* IOVA */
    size_t weight_bytes;    /* expanded */
    NpuDcomp dcomp;
    NpuFeature feature;
    NpuCvt cvt;
    NpuCube atoms;          /* feature data as the array takes it */
} NpuConv;

/*
 * Operands that a stage has for all channels, one behind the other in memory
 * (row stage.rk3576-record).
 */
enum {
    NPU_SCALAR_ALU = 1 << 0,
    NPU_SCALAR_CPEND = 1 << 1,
    NPU_SCALAR_MUL = 1 << 2,
    NPU_SCALAR_SHIFTS = 1 << 3, /* 5:0, and 13:8 for negative results */
};
#define NPU_SCALAR_BYTES        16
#define NPU_SCALAR_ALU_BYTES    32

/* BS or BN. */
typedef struct NpuStage {
    bool on;
    uint8_t use;            /* operands per channel that DMA fetches */
    uint32_t addr;          /* their IOVA */
    uint8_t scalars;        /* what its record has */
    bool mul_first;
    bool alu, alu_dma;
    uint8_t alu_algo;
    uint32_t alu_operand;   /* int32, or bits of an fp32 */
    bool mul, mul_dma, prelu;
    uint16_t mul_operand;   /* int16, or bits of a half or bf16 */
    uint8_t operands;       /* which of the latter */
    uint8_t shift, shift_neg;
    bool cpend_dma;         /* BS: fetched for the CORE */
    bool relu, relux;
    uint32_t relux_cmp;
} NpuStage;

enum {
    NPU_STAGE_BS,
    NPU_STAGE_BN,
    NPU_STAGE_NUM,
};

/* EW: one operation with an operand per element or channel. */
typedef struct NpuEw {
    bool on;
    bool lut, lut_floor;    /* no code below 0 leaves the tables */
    bool op, mul, prelu;
    bool dma;               /* operand from memory, else from a register */
    bool per_channel;
    bool halves;            /* neither is widened: quotients are cut */
    uint8_t bytes;          /* of an operand in memory */
    uint8_t alu_algo;
    uint8_t shift, shift_neg;   /* of the result, by its sign */
    uint32_t value;         /* register operand */
    bool cvt, cvt_away, cvt_offset_first;
    int32_t cvt_offset, cvt_scale;
    uint32_t cvt_shift;
    bool relu, relux;
    uint32_t relux_cmp;
} NpuEw;

/*
 * A cube that a read engine fetches by surfaces.  Two engines together take
 * them in turns, each from its own base.
 */
typedef struct NpuFeed {
    NpuCube cube;           /* no bytes: nothing to fetch */
    bool alternate;
    uint32_t base[2];
    uint32_t pitch[2];      /* bytes between the surfaces of an engine */
    uint32_t line_bytes;
} NpuFeed;

enum {
    NPU_FEED_EW,            /* operands of EW */
    NPU_FEED_MAIN,          /* main input where there is no convolution */
    NPU_FEED_RECORD,        /* of BS, then of BN */
    NPU_FEED_BN_RECORD = NPU_FEED_RECORD + NPU_STAGE_BN,
    NPU_FEED_NUM,
};

typedef struct NpuOutput {
    NpuCube cube;
    uint32_t base;
    uint32_t surf_stride;   /* bytes */
    uint32_t surf_add;      /* bytes from one group of surfaces to the next */
    uint32_t surf_group;    /* surfaces per group */
    uint32_t line_bytes;
} NpuOutput;

/*
 * The write DMA's shape of what the DPU hands over, atom by atom.  Where it is
 * not the DPU's own, @from is the latter in a host buffer.
 */
typedef struct NpuStream {
    bool on;
    uint32_t block;         /* atoms that are transposed together, or 0 */
    uint32_t copies_x, copies_y;    /* unpooling: of each atom */
    uint32_t surfaces, width, height;
    uint32_t own_group;     /* surfaces that the DPU hands over at a position */
    uint32_t group;         /* and those that the write DMA takes there */
    uint32_t written;       /* of them; the rest is padding */
    uint32_t last_bytes;    /* of the last atom of a line; 0: all */
    uint32_t each_bytes;    /* of each atom; 0: all */
    NpuCube from;
} NpuStream;

typedef struct NpuDpu {
    bool is_float;
    bool halves;            /* are not widened on the way in and out */
    bool raw;               /* elements are moved as they are */
    bool row_max;           /* a position's largest half is all of its output */
    bool row_least;         /* the smallest instead */
    bool row_index;         /* which channel it was follows */
    uint8_t precision;      /* of the main input */
    uint8_t operands;       /* of halfwords that multiply, as precision */
    uint8_t out_precision;
    uint8_t out_bytes;
    uint32_t atom;          /* bytes of a position in a surface of memory */
    uint32_t in_atom;       /* of a flying DPU's input and */
    uint32_t out_atom;      /* of the output: an RK3568's words come by four */
    uint8_t packed;         /* channels whose operands are packed together */
    uint32_t width, height;
    uint32_t channels;      /* written */
    uint32_t orig_channels; /* computed; the rest holds pend */
    uint16_t pend;
    NpuStage stage[NPU_STAGE_NUM];
    NpuEw ew;
    NpuLutUse lut;
    bool cvt_codes;         /* what the LUT gives, as floats */
    uint32_t cvt_minus_exp;
    int32_t cvt_offset;
    int32_t cvt_scale;
    uint32_t cvt_shift;
    bool cvt_away;          /* ties away from zero instead of to even */
    bool cvt_offset_first;
    NpuStream stream;
    NpuOutput out;
} NpuDpu;

typedef struct NpuPool {
    bool from_dpu;              /* in the same task, not from memory */
    NpuCube from;               /* host layout of the input */
    uint8_t method;
    uint8_t precision;
    uint8_t bytes;
    uint32_t in_w, in_h, channels;
    uint32_t out_w, out_h;
    uint32_t k_w, k_h;
    uint32_t stride_x, stride_y;
    uint32_t pad_left, pad_top;
    int32_t pad_value;          /* or bits of a half */
    uint32_t recip_w, recip_h;  /* averages: FP17, or 16 bits of fraction */
    bool real_taps;             /* averages divide by those in the input */
} NpuPool;

/* Whose registers a task is in. */
typedef enum NpuEncoding {
    NPU_ENCODING_RK3588,
    NPU_ENCODING_RK3576,
    NPU_ENCODING_RK3568,
    NPU_ENCODING_RK3562,
    NPU_ENCODING_RV1126B,   /* the RK3576's, with half of its CBUF */
    NPU_ENCODING_NUM,
} NpuEncoding;

typedef struct NpuTask {
    NpuEncoding encoding;
    NpuTaskKind kind;
    uint32_t enable;
    NpuConv conv;
    NpuDpu dpu;             /* with pooling, its output is the PPU's */
    NpuPool pool;
    NpuFeed feed[NPU_FEED_NUM];
    uint64_t macs;
} NpuTask;

typedef struct NpuTaskOptions {
    NpuEncoding encoding;
    /* Write channels that only exist as padding (row out.padding). */
    bool write_padding;
    /* Whether PPU_RDMA, enabled where the DPU feeds the PPU, does no harm. */
    bool idle_ppu_rdma;
    const NpuLut *lut;
} NpuTaskOptions;

/* Inputs of a task in host memory, as the DMA engines delivered them. */
typedef struct NpuOperands {
    const int *cancel;      /* read atomically now and then; not 0 = give up */
    unsigned skip_kernels;  /* for tests: how many of the fastest not to use */
    const uint8_t *feature;
    const uint8_t *weights;
    const uint8_t *stage[NPU_STAGE_NUM];
    const uint8_t *feed[NPU_FEED_NUM];
} NpuOperands;

static inline bool npu_cancelled(const NpuOperands *in)
{
    return in->cancel && __atomic_load_n(in->cancel, __ATOMIC_RELAXED);
}

#endif
