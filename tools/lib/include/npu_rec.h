/* SPDX-License-Identifier: MIT */
/*
 * Owns the part of libnpu's interface that computes with tensors: recordings of
 * operations, which the NPU runs in one go, again and again.
 */
#ifndef NPU_REC_H
#define NPU_REC_H

#include "npu.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Recordings
 *
 * Operations are appended to a recording; npu_rec_end() writes their register programs
 * once, chained in memory; npu_rec_run() starts them in one ioctl, any number of times.
 * Between the operations of a run nothing happens on the CPU, and there is one interrupt
 * at its end. New inputs are written to the tensors that the operations read.
 *
 * An operation sees the results of all before it. On one core they run in the order in
 * which they were appended: the hardware begins a task when the one before it
 * is done (evidence.toml, row pc.dependent-tasks).
 *
 * A recording of several cores (npu_rec_opts.cores) has a chain of tasks and an interrupt for
 * each. Operations are shared out: attention by heads; products by rows, or by columns where
 * there are few rows; what works on rows or elements by rows; images by lines, or by channels
 * where there are few lines; transposition by columns. Where a core
 * needs what another one writes, a new stage begins: all cores wait for each other, and there is
 * one more chain for each of them. It is still one ioctl, as far as the driver takes that many at once;
 * over the vendor's interface it is one for each stage. npu_rec_on() places operations so that none has to wait.
 *
 * A function that refuses an operation makes the recording bad: every later call returns
 * the same error, and npu_rec_message() has it in words.
 *
 * Opaque type: ``struct npu_rec``.
 */

/**
 * DOC: Example
 *
 * y = relu(x * W^T) for one row of 64 bytes and 32 results, see npu_rec_run() for
 * running it again::
 *
 *	#include "npu.h"
 *
 *	int layer(struct npu_dev *dev, const int8_t w[32][64], const int8_t x[64], int32_t y[32])
 *	{
 *		struct npu_weights_desc desc = { .size = sizeof(desc), .type = NPU_PREC_INT8, .n = 32, .k = 64 };
 *		struct npu_rec_matmul_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU };
 *		struct npu_tensor *in = NULL, *out = NULL;
 *		struct npu_weights *weights = NULL;
 *		struct npu_rec *rec = NULL;
 *		bool ok = !npu_weights_new(dev, &desc, w, &weights) &&
 *			  !npu_tensor_new(dev, NPU_PREC_INT8, 1, 64, &in) &&
 *			  !npu_tensor_new(dev, NPU_PREC_INT32, 1, 32, &out) &&
 *			  !npu_rec_new(dev, NULL, &rec) &&
 *			  !npu_rec_matmul(rec, in, weights, out, &relu) && !npu_rec_end(rec) &&
 *			  !npu_tensor_write(in, x, 0) && !npu_rec_run(rec) &&
 *			  !npu_rec_wait(rec, -1) && !npu_tensor_read(out, y, 0);
 *
 *		npu_rec_free(rec);
 *		npu_tensor_free(in);
 *		npu_tensor_free(out);
 *		npu_weights_free(weights);
 *		return ok ? 0 : -1;
 *	}
 */

struct npu_rec;

/**
 * struct npu_rec_opts - how a recording runs; NULL or all but the size zero = defaults
 */
struct npu_rec_opts {
	/** @size: sizeof(struct npu_rec_opts) */
	size_t size;
	/**
	 * @core_mask: bit per core of the SoC that may run it, 0 = any. Over the vendor's
	 * interface at most one bit, and none if @cores is above 1. On an RK3576 programs are
	 * for one core each, as both share CBUF: for the first cores of the mask, as many as
	 * @cores says; an RK3568 and an RK3562 have core 0 alone
	 */
	uint32_t core_mask;
	/**
	 * @timeout_ns: how long one task may take on average, 0 = the driver's default; at most an hour,
	 * and what the driver lets its caller have
	 */
	uint64_t timeout_ns;
	/**
	 * @block: npu_rec_run() returns when the run is over. The vendor's interface
	 * tells only then how far a run came that failed
	 */
	bool block;
	/**
	 * @cores: how many cores share the operations, 0 = 1, at most as many as @core_mask
	 * has on an RK3576, and 1 on an RK3568 or RK3562; see npu_rec_on()
	 */
	uint32_t cores;
};

/**
 * define NPU_MAX_CORES - most cores of a recording
 */
#define NPU_MAX_CORES	3u

/**
 * npu_rec_new - an empty recording
 * @dev: device
 * @opts: options or NULL
 * @out: the recording
 *
 * Return: 0, -EINVAL for options out of range or of a bad size, among them a core or a timeout that the driver
 * would refuse now, -EOPNOTSUPP for options that the driver or the library does not have, -ENOMEM.
 */
int npu_rec_new(struct npu_dev *dev, const struct npu_rec_opts *opts, struct npu_rec **out);

/**
 * define NPU_REC_SPREAD - all cores share each operation
 */
#define NPU_REC_SPREAD	(-1)

/**
 * npu_rec_on - choose who runs the operations that follow
 * @rec: recording
 * @core: 0 to npu_rec_opts.cores - 1, or NPU_REC_SPREAD, as at first
 *
 * The number tells apart what runs side by side. Which core of the hardware it is the driver
 * decides; over the vendor's interface two that share a stage are cores 0 and 1, and three are
 * cores 0 to 2, in order. A driver that knows no SUBMIT_EXT runs everything on one core.
 *
 * Return: 0, -EINVAL for a core that the recording does not have, -EBUSY after npu_rec_end().
 */
int npu_rec_on(struct npu_rec *rec, int core);

/**
 * enum npu_act - function that is applied to each element
 * @NPU_ACT_NONE: none
 * @NPU_ACT_RELU: max(x, 0), exact
 * @NPU_ACT_SIGMOID: 1 / (1 + exp(-x)), off by at most 2^-11
 * @NPU_ACT_TANH: tanh(x), off by at most 2^-10
 * @NPU_ACT_EXP: exp(x) for x from -16 to 0, as softmax needs it, off by at most 2^-10;
 *	0 below, 1 above
 * @NPU_ACT_SILU: x / (1 + exp(-x)), off by at most 2^-11 * (abs(x) + abs(y)), and
 *	2^-25 for the smallest
 * @NPU_ACT_GELU: x * (1 + erf(x / sqrt(2))) / 2, off by the same
 * @NPU_ACT_SIN: sin(x) for x from -15.5 to 15.5, off by at most 2^-9
 * @NPU_ACT_COS: cos(x), the same
 * @NPU_ACT_SQRT: sqrt(x) for x from 2^-14 on, off by at most 5 * 2^-12 of the result
 * @NPU_ACT_RSQRT: 1 / sqrt(x), the same
 * @NPU_ACT_RECIPROCAL: 1 / x for x from 2^-14 to 16384, off by at most 6 * 2^-12 of the result;
 *	npu_rec_div() is closer
 *
 * All but ReLU are tables of 1024 steps with linear interpolation, for fp16. Bounds include the
 * rounding to fp16, and are absolute but for the last three; the NPU rounds the place in
 * the table to the nearest of 32 in a step (evidence.toml, row lut.index). NaN gives a number. See npu_table_new()
 * for other functions.
 *
 * The tables of the last three are from the bits of a positive half to the bits of another one,
 * taken as integers, with 32 steps for each power of 2. The NPU does with integers what it
 * does with floats (evidence.toml, row lut.integers).
 */
enum npu_act {
	NPU_ACT_NONE,
	NPU_ACT_RELU,
	NPU_ACT_SIGMOID,
	NPU_ACT_TANH,
	NPU_ACT_EXP,
	NPU_ACT_SILU,
	NPU_ACT_GELU,
	NPU_ACT_SIN,
	NPU_ACT_COS,
	NPU_ACT_SQRT,
	NPU_ACT_RSQRT,
	NPU_ACT_RECIPROCAL,
};

/**
 * struct npu_rec_matmul_opts - options of npu_rec_matmul(); NULL or all but the size zero = defaults
 */
struct npu_rec_matmul_opts {
	/** @size: sizeof(struct npu_rec_matmul_opts) */
	size_t size;
	/**
	 * @act: applied after the bias, and before requantisation; sigmoid, tanh, exp,
	 * sin and cos to FP16 results only. For others see npu_rec_act()
	 */
	enum npu_act act;
	/** @max_m: most rows per task, 0 = as many as fit; rounded to 4 */
	/** @max_n: most columns per task, 0 = 4096; rounded to the kernel group */
	uint32_t max_m, max_n;
};

/**
 * npu_rec_matmul - append y = act(x * W^T + bias)
 * @rec: recording
 * @x: M x K, INT8, FP16, BF16 or INT4
 * @w: N x K weights of the same type, or of INT4 for FP16 on an RK3576
 * @y: M x N; INT32, or INT8 for weights with a requantisation; INT16 of INT4; or FP32, or the type
 *     of @x. FP32 of INT4 weights with FP16. Shares no element with @x
 * @opts: options or NULL
 *
 * Integers are exact, modulo requantisation, see npu_requant_apply(). Sums of FP16
 * products are kept in fp32, in an order that is not known, and rounded once to FP16:
 * before that they are off by at most K * 2^-24 times the sum of the products' magnitudes. BF16 is
 * the same, and rounded once to BF16, which is 2^-8 of the result; no other operation but
 * concatenation takes it.
 *
 * INT4 is exact up to 511 columns; sums of more may exceed INT16, where they saturate. It has no
 * activations, and there is no mode for more than 4096 columns. INT4 weights of FP16 are the same, with sums as
 * those of FP16, and the NPU has no scale for them that is known: see npu_tensor_read_scaled().
 *
 * More than 4096 columns are summed up by several programs, whose results the NPU adds:
 * INT32 saturates at each addition, FP32 is rounded once more for each, which the bound
 * covers. There is no mode for INT8 or BF16 results then, and functions see the sum rounded to
 * FP16.
 *
 * Return: 0, -EINVAL for types or shapes that do not belong together or options of a bad size,
 * -EOPNOTSUPP for options of a newer library or a chip without such programs (see npu_can_multiply()), -ERANGE for
 * a number that no register holds, -E2BIG for more than 4095 tasks or an operation that uses more tensors than the
 * driver lets a job list, -EXDEV for a tensor or weights of another device than the recording's, -EBUSY after
 * npu_rec_end(), -ENOMEM. For what it keeps in between, as sums of more than 4096 columns, an operation takes
 * memory: -ENOSPC where the address space has no room, or an errno of the driver.
 */
int npu_rec_matmul(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w,
		   struct npu_tensor *y, const struct npu_rec_matmul_opts *opts);

/**
 * npu_can_multiply - are there programs for products of these types on this chip?
 * @dev: device
 * @in: type of both operands; with INT4 and FP32 for @out that of the weights, whose operand is FP16
 * @out: type of the result; INT8 means requantised
 *
 * On an RK3588 there are those that npu_rec_matmul() lists. On an RK3576, RK3568 or RK3562 there are programs for
 * INT8 to INT8, and on the first to INT32 of up to 4096 columns without activation, for FP16 to FP16 of up to
 * 2304, and for FP16 with INT4 weights to FP32 of up to 4096, without activation; of other operations for
 * convolutions of these types that are not dilated, but for INT32 results, INT4 weights and depthwise ones of
 * FP16, for maxima and for averages of images, and for sums and functions of bytes. All else is
 * refused there with -EOPNOTSUPP, and npu_rec_message() says what it was.
 *
 * Return: whether there are.
 */
bool npu_can_multiply(struct npu_dev *dev, enum npu_prec in, enum npu_prec out);

/**
 * npu_rec_add - append y = a + b
 * @rec: recording
 * @a: M x N of FP16, FP32 or INT32
 * @b: the same, or 1 x N: then its row is added to each row of @a; or M x 1 of FP16: then
 *     its column is added to each column of @a
 * @y: M x N of the same type; shares no element with @a or @b
 *
 * FP16 is computed in fp32 and rounded to nearest even: an error of at most 2^-11 of the
 * result, and 2^-23 of the larger operand. FP32 has one rounding. INT32 saturates.
 *
 * The NPU has operands per column, but not per row: a column is multiplied with ones first,
 * which is exact, into memory for M x N that the recording keeps.
 *
 * Return: as npu_rec_matmul().
 */
int npu_rec_add(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		struct npu_tensor *y);

/**
 * npu_rec_sub - append y = a - b
 * @rec: recording
 * @a: as of npu_rec_add()
 * @b: as of npu_rec_add()
 * @y: as of npu_rec_add()
 *
 * Errors are those of npu_rec_add(). In INT32 the smallest number cannot be subtracted: it
 * counts as its own negative.
 *
 * Return: as npu_rec_matmul().
 */
int npu_rec_sub(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		struct npu_tensor *y);

/**
 * npu_rec_mul - append y = a * b, element by element
 * @rec: recording
 * @a: M x N of FP16
 * @b: the same; or 1 x N, a scale per column; or M x 1, a scale per row
 * @y: M x N of FP16; shares no element with @a or @b
 *
 * The product is rounded to nearest even once. The multiplier takes halves only, so there
 * is no mode for other types.
 *
 * Return: as npu_rec_matmul().
 */
int npu_rec_mul(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		struct npu_tensor *y);

/**
 * npu_rec_div - append y = a / b, element by element
 * @rec: recording
 * @a: M x N of FP16, N a multiple of 8
 * @b: the same; or 1 x N; or M x 1
 * @y: M x N of FP16; shares no element with @a or @b
 *
 * The quotient is cut to 13 bits of fraction, then rounded to nearest even (evidence.toml, row
 * ew.div): it is off by at most 5/8 of a unit of a half.
 *
 * Return: as npu_rec_matmul().
 */
int npu_rec_div(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		struct npu_tensor *y);

/**
 * npu_rec_max - append y = the larger one of a and b, element by element
 * @rec: recording
 * @a: as of npu_rec_add()
 * @b: as of npu_rec_add()
 * @y: as of npu_rec_add()
 *
 * Exact.
 *
 * Return: as npu_rec_matmul().
 */
int npu_rec_max(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		struct npu_tensor *y);

/**
 * npu_rec_min - append y = the smaller one of a and b, element by element
 * @rec: recording
 * @a: as of npu_rec_add()
 * @b: as of npu_rec_add()
 * @y: as of npu_rec_add()
 *
 * Exact.
 *
 * Return: as npu_rec_matmul().
 */
int npu_rec_min(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		struct npu_tensor *y);

/**
 * struct npu_byte_sum - how npu_rec_add_bytes() adds
 *
 * y = requantise((a - a_zp) * a_weight + (b - b_zp) * b_weight). Weights are to each other as the
 * scales of the operands; see npu_byte_sum_from_double().
 */
struct npu_byte_sum {
	/** @size: sizeof(struct npu_byte_sum) */
	size_t size;
	/** @a_weight: of the first operand, -127 to 127 */
	/** @b_weight: of the second one, the same */
	int32_t a_weight, b_weight;
	/** @a_zp: zero point of the first operand, -128 to 127 */
	/** @b_zp: of the second one, the same */
	int32_t a_zp, b_zp;
	/** @rq: from the weighted sum to the result; scale 0 is out of range */
	struct npu_requant rq;
	/** @act: none, or ReLU, which is applied before @rq */
	enum npu_act act;
};

/**
 * npu_byte_sum_from_double - weights and a requantisation for real factors
 * @a: scale of the first operand by that of the result; negative to subtract it
 * @b: scale of the second operand by that of the result, the same
 * @zp: zero point of the result, -128 to 127
 * @how: a_weight, b_weight and rq are filled, all else stays
 *
 * The quotient of the weights is off by at most 2^-8 of 1, where the larger one counts as 1.
 *
 * Return: 0, or -ERANGE where both are 0, one is not finite, or the larger one is out of the range of
 * npu_requant_from_double().
 */
int npu_byte_sum_from_double(double a, double b, int32_t zp, struct npu_byte_sum *how);

/**
 * npu_rec_add_bytes - append y = a + b, with scales and zero points
 * @rec: recording
 * @a: M x N of INT8
 * @b: the same
 * @how: weights, zero points, requantisation
 * @y: the same; no two of the tensors share an element
 *
 * Exact, modulo requantisation, see npu_requant_apply(). There are programs for an RK3576, an RK3568 and an
 * RK3562 only. On the first it is a convolution of one position, whose channels are a surface of each operand: each task does
 * up to 1020 atoms of 16 bytes, so that a tensor whose rows are all that its memory has is cut least.
 *
 * Return: as npu_rec_matmul(); -ERANGE for weights, zero points or a requantisation out of range, -EOPNOTSUPP on
 * other chips, and on an RK3576 for one row of a tensor that has more, or an errno of the driver.
 */
int npu_rec_add_bytes(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		      const struct npu_byte_sum *how, struct npu_tensor *y);

/**
 * struct npu_byte_product - how npu_rec_mul_bytes() multiplies
 *
 * y = requantise((a - a_zp) * (b - b_zp)). npu_requant_from_double() makes @rq of the product of the operands'
 * scales by that of the result.
 */
struct npu_byte_product {
	/** @size: sizeof(struct npu_byte_product) */
	size_t size;
	/** @a_zp: zero point of the first operand, -128 to 127 */
	/** @b_zp: of the second one, the same */
	int32_t a_zp, b_zp;
	/** @rq: from the product to the result; scale 0 is out of range */
	struct npu_requant rq;
};

/**
 * npu_rec_mul_bytes - append y = a * b, element by element, with scales and zero points
 * @rec: recording
 * @a: M x N of INT8
 * @b: the same, or @a itself
 * @how: zero points, requantisation
 * @y: the same; shares no element with @a or @b
 *
 * Exact, modulo requantisation, see npu_requant_apply(). There are programs for an RK3576 and an RK3562 only. On
 * the former each task does up to 2040 atoms of 16 bytes of tensors whose rows are all that their memory has, and 1020 of others.
 *
 * Return: as npu_rec_matmul(); -ERANGE for zero points or a requantisation out of range, -EOPNOTSUPP on other chips,
 * or an errno of the driver.
 */
int npu_rec_mul_bytes(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		      const struct npu_byte_product *how, struct npu_tensor *y);

/**
 * struct npu_byte_scales - what bytes stand for: (byte - zero point) * scale
 */
struct npu_byte_scales {
	/** @x: scale of the operand, a finite number above 0 */
	/** @y: scale of the result, the same */
	double x, y;
	/** @x_zp: zero point of the operand, -128 to 127 */
	/** @y_zp: zero point of the result, the same */
	int32_t x_zp, y_zp;
};

/**
 * npu_byte_map - values of a function of real numbers, for npu_rec_map_bytes()
 * @f: function
 * @arg: what it is called with
 * @s: scales and zero points
 * @value: filled: results for the bytes from -128 on, the nearest ones (ties to even); what is too
 *	large becomes the last byte, and what is not a number the zero point
 */
void npu_byte_map(double (*f)(double x, void *arg), void *arg, const struct npu_byte_scales *s, int8_t value[256]);

/**
 * npu_rec_map_bytes - append y = value[x + 128], a function of each byte by table
 * @rec: recording
 * @value: results, in the order of the bytes from -128 to 127; not needed after the call
 * @x: M x N of INT8
 * @y: M x N of INT8; shares no element with @x
 *
 * Exact. There are programs for an RK3576, an RK3568 and an RK3562 only. Tasks load the table, and on the first each of those
 * that follow does up to 2040 atoms of 16 bytes.
 *
 * Return: as npu_rec_add_bytes().
 */
int npu_rec_map_bytes(struct npu_rec *rec, const int8_t value[256], const struct npu_tensor *x,
		      struct npu_tensor *y);

/**
 * npu_rec_act - append y = act(x)
 * @rec: recording
 * @act: any but none and ReLU
 * @x: M x N of FP16
 * @y: M x N of FP16; shares no element with @x
 *
 * SiLU and GELU are a table and a product, which npu_rec_info.ops counts as two operations, with memory for
 * what is between them that the recording keeps. Others but the square root take as much as npu_rec_table() where N is no multiple of 8.
 *
 * Return: as npu_rec_matmul(), or an errno of the driver.
 */
int npu_rec_act(struct npu_rec *rec, enum npu_act act, const struct npu_tensor *x,
		struct npu_tensor *y);

struct npu_table;

/**
 * npu_table_new - a table of any function
 * @f: function; finite from @lo to @hi, where its values are 32766 apart at most
 * @arg: what it is called with; not needed after the call
 * @lo: least operand, -65504 or more
 * @hi: largest operand, 65504 or less
 * @out: the table
 *
 * The range is cut in up to 1023 equal steps, at least 1/1024 long. Below it the table goes on
 * as at @lo, above it as within a step from @hi.
 *
 * Return: 0, -EINVAL for a bad range or a value that is not finite, -ERANGE for values that
 * are too large or too far apart, -ENOMEM.
 */
int npu_table_new(double (*f)(double x, void *arg), void *arg, double lo, double hi,
		  struct npu_table **out);

/**
 * npu_table_error - how far a table is off
 * @table: from npu_table_new()
 *
 * Values that are almost as large, or as far apart, as they may be cost the last step some of its slope.
 *
 * Return: the largest absolute error of any half in the range, with the rounding to FP16 and
 * one unit of an entry. It is found by trying all of them.
 */
double npu_table_error(const struct npu_table *table);

/**
 * npu_table_free - free a table
 * @table: from npu_table_new(), or NULL
 *
 * Recordings do not need it any more.
 */
void npu_table_free(struct npu_table *table);

/**
 * npu_rec_table - append y = f(x)
 * @rec: recording
 * @table: from npu_table_new()
 * @x: M x N of FP16
 * @y: M x N of FP16; shares no element with @x
 *
 * Where N is no multiple of 8, and f(0) or an entry beside it is not 0, two more tasks for 4096 rows each
 * clear what is behind the last column, with memory for it that the recording keeps.
 *
 * Return: as npu_rec_matmul().
 */
int npu_rec_table(struct npu_rec *rec, const struct npu_table *table, const struct npu_tensor *x,
		  struct npu_tensor *y);

/**
 * npu_rec_end - write the programs
 * @rec: recording with at least one operation
 *
 * Tensors and weights may be freed afterwards; the recording keeps their memory.
 *
 * Return: 0, -EINVAL without operations, or without any that has something to do; -EBUSY when
 * done before, -ENOMEM, the first error of the recording, or an errno of the driver.
 */
int npu_rec_end(struct npu_rec *rec);

/**
 * npu_rec_run - start a recording
 * @rec: recording after npu_rec_end()
 *
 * One ioctl, if the driver knows chained programs (npu_rec_info.chained); otherwise one
 * with a job of separate tasks. Weights in several address spaces take one for each part, and so does what is
 * more than the driver takes at once: npu_rec_info.submits. The call waits between two of them where the driver
 * would forget how jobs of this run end, or they leave no room for others. Over the vendor's interface there are
 * more if other work on the same memory is under way, and one for each stage.
 *
 * Nothing but npu_rec_wait() tells that a core failed to write memory that several cores write;
 * and the call waits for the run before if that was another recording's with such memory. If other
 * clients see such memory (npu_tensor_export(), npu_tensor_import()) the call waits until none of them
 * uses it, and one more job joins the cores: an empty task, with an interrupt, whose end the others wait
 * for. Where the recording is in several address spaces, or has more such memory than the driver lets one job
 * list, the call returns when the run is over instead.
 *
 * Return: 0, -EINVAL before npu_rec_end(), -EBUSY while it runs and until npu_rec_wait()
 * has returned 0 or an error of the run, or an errno of the driver; -EINVAL is one of them if it no longer allows
 * the timeout. -EBUSY, too, is one if it has no room for more jobs: nothing has run, npu_rec_wait() returns 0 at
 * once, and the call may be repeated. -EAGAIN says the same of a later part: those before it have run, and run
 * again when the call is repeated, which is wrong for what they add to (UCA_ACCM) or change in place.
 */
int npu_rec_run(struct npu_rec *rec);

/**
 * npu_rec_wait - wait until a run is over
 * @rec: recording
 * @timeout_ns: relative, in ns; 0 = only look, negative = no limit
 *
 * Return: 0, also if it never ran; -ETIMEDOUT (-EBUSY with @timeout_ns 0) while it runs.
 * Any other error is that of the last run, see npu_rec_failure(). Among them is -ENOTRECOVERABLE: the driver
 * has started the run twice (system sleep), and it writes to memory that an operation before had read, as
 * UCA_ACCM does. Memory of a tensor and all of its views counts as one. Over the vendor's interface,
 * from drivers without results of jobs, and where 1024 other jobs of the device have ended before the call,
 * nobody learns of it.
 */
int npu_rec_wait(struct npu_rec *rec, int64_t timeout_ns);

/**
 * struct npu_rec_failure - how a run failed
 */
struct npu_rec_failure {
	/** @size: sizeof(struct npu_rec_failure) */
	size_t size;
	/** @cause: why */
	enum npu_cause cause;
	/** @err: negative errno, as npu_rec_wait() returned it */
	int err;
	/** @task: index of the task among all of the recording, -1 = not known */
	int task;
	/** @op: index of its operation, in the order of appending; -1 = not known */
	int op;
	/** @op_name: such as "matmul"; NULL = not known */
	const char *op_name;
	/** @core: core that it ran on, -1 = none, or not known */
	int core;
	/** @fault_iova: address that was accessed, for NPU_CAUSE_IOMMU_FAULT, if known */
	uint64_t fault_iova;
};

/**
 * npu_rec_failure - how the last run failed
 * @rec: recording
 * @f: filled on success, but for its size
 *
 * Return: 0, -ENOENT if it did not fail, or npu_rec_wait() has not said so; -EINVAL for a bad size of @f.
 */
int npu_rec_failure(const struct npu_rec *rec, struct npu_rec_failure *f);

/**
 * npu_rec_elapsed - how long the last run kept cores busy
 * @rec: recording
 * @ns: time of all its jobs, in ns, added up; several cores may have been busy at once
 *
 * Return: 0, -ENOENT if it never ran or npu_rec_wait() has not said that the run is over,
 * -EOPNOTSUPP if the driver did not tell: one without WAIT_JOB, or over the vendor's interface a run
 * without npu_rec_opts.block.
 */
int npu_rec_elapsed(const struct npu_rec *rec, uint64_t *ns);

/**
 * struct npu_rec_info - what a recording consists of
 */
struct npu_rec_info {
	/** @size: sizeof(struct npu_rec_info) */
	size_t size;
	/** @ops: operations */
	/** @tasks: hardware tasks */
	uint32_t ops, tasks;
	/** @chained: the hardware goes from task to task by itself */
	bool chained;
	/** @chains: chains of tasks, with an interrupt each; but for what npu_rec_run() may add */
	/** @stages: how often all cores begin together; one more than they wait for each other */
	uint32_t chains, stages;
	/**
	 * @submits: times that jobs are handed over, one more than the address space changes, and than the
	 * driver takes no more at once; 0 before npu_rec_end()
	 */
	/** @spaces: address spaces that tasks run in */
	uint32_t submits, spaces;
};

/**
 * npu_rec_get_info - ask what a recording consists of
 * @rec: recording
 * @info: filled, but for its size
 *
 * Return: 0, -EINVAL for a bad size of @info.
 */
int npu_rec_get_info(const struct npu_rec *rec, struct npu_rec_info *info);

/**
 * npu_rec_info - npu_rec_get_info() as a value
 * @rec: recording
 *
 * Compiled into the program, which knows the structure's size.
 *
 * Return: the answer.
 */
static inline struct npu_rec_info npu_rec_info(const struct npu_rec *rec)
{
	struct npu_rec_info info;

	info.size = sizeof(info);
	npu_rec_get_info(rec, &info);
	return info;
}

/**
 * npu_rec_message - the first error in words
 * @rec: recording
 *
 * Return: the message, "" when there is none; valid until npu_rec_free().
 */
const char *npu_rec_message(const struct npu_rec *rec);

/**
 * npu_rec_free - free a recording
 * @rec: recording, or NULL
 *
 * Waits for a run that is not over.
 */
void npu_rec_free(struct npu_rec *rec);

#ifdef __cplusplus
}
#endif

#endif /* NPU_REC_H */
