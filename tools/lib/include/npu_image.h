/* SPDX-License-Identifier: MIT */
/*
 * Owns the part of libnpu's interface for images: convolutions, pooling and enlarging, as
 * operations of recordings.
 */
#ifndef NPU_IMAGE_H
#define NPU_IMAGE_H

#include "npu_rec.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Images
 *
 * An image is a tensor with a row for each position, line by line, and a column for each
 * channel: what others call [height][width][channels]. Products, element-wise operations,
 * functions and norms work on it as they do on any tensor. An operation that has to know
 * lines is told of them by a window. A product over a whole image, a fully connected layer, is a
 * convolution whose kernel is as large as the image: tensors are not flattened.
 *
 * Several cores share the lines of a result, or its channels where there are more of these.
 * Where windows reach into lines that another core makes, a new stage begins.
 */

/**
 * struct npu_window - an image, and the window that goes over it
 */
struct npu_window {
	/** @size: sizeof(struct npu_window) */
	size_t size;
	/** @in_w: width of the input, 1 to 2047, as is that of the result; of pooling to 8192 */
	/** @in_h: height of the input, of pooling to 8192; width times height are the rows of its tensor */
	uint32_t in_w, in_h;
	/** @kw: width of the window, 1 to 31; of pooling to 16 */
	/** @kh: height of the window, the same */
	uint32_t kw, kh;
	/** @stride_x: 1 to 7, of pooling to 16; 0 = 1 */
	/** @stride_y: the same */
	uint32_t stride_x, stride_y;
	/** @dil_x: dilation, 1 to 32; 0 = 1; pooling has none */
	/** @dil_y: the same */
	uint32_t dil_x, dil_y;
	/** @pad_left: positions outside, 0 to 15, of pooling to 7; less than the dilated window */
	/** @pad_right: the same */
	/** @pad_top: the same */
	/** @pad_bottom: the same */
	uint32_t pad_left, pad_right, pad_top, pad_bottom;
	/**
	 * @zp: of averages of INT8: what positions outside count as, -128 to 127. The weights of
	 * convolutions have it
	 */
	int32_t zp;
};

/**
 * npu_window_out_w - width of what an operation makes
 * @w: image and window
 *
 * Return: positions per line, 0 if there are none, the window may hold padding alone, or the structure has a
 * bad size or fields of a newer library.
 */
uint32_t npu_window_out_w(const struct npu_window *w);

/**
 * npu_window_out_h - height of what an operation makes
 * @w: image and window
 *
 * Return: lines, 0 as npu_window_out_w().
 */
uint32_t npu_window_out_h(const struct npu_window *w);

/* ---- convolutions --------------------------------------------------------- */

/**
 * struct npu_conv_weights_desc - weights of a convolution
 */
struct npu_conv_weights_desc {
	/** @size: sizeof(struct npu_conv_weights_desc) */
	size_t size;
	/** @type: INT8 or FP16 */
	enum npu_prec type;
	/** @in_c: channels of the input, 1 to 8192 */
	/** @out_c: channels of the result, 1 to 8192; of a depthwise convolution @in_c */
	uint32_t in_c, out_c;
	/** @kw: width of a kernel, 1 to 31 */
	/** @kh: height of a kernel, 1 to 31 */
	uint32_t kw, kh;
	/** @depthwise: each channel has a kernel of its own, and sees no other */
	bool depthwise;
	/**
	 * @bias: out_c values, int32_t for INT8 and float for FP16; or NULL. Copied. INT8 wants
	 * a requantisation then
	 */
	const void *bias;
	/** @rq: for INT8 results of INT8 weights; scale 0 = results are INT32 */
	struct npu_requant rq;
	/**
	 * @in_zp: zero point of the input, -128 to 127, which is what positions outside hold;
	 * other than 0 for INT8 with a requantisation only
	 */
	/** @weight_zp: zero point of the weights, the same */
	int32_t in_zp, weight_zp;
};

/**
 * npu_conv_weights_new - pack the weights of a convolution into memory of the NPU
 * @dev: device
 * @desc: shape and type
 * @src: elements, [out_c][kh][kw][in_c], or of a depthwise convolution [kh][kw][in_c]; not
 *	needed after the call
 * @out: the weights, for npu_rec_conv() only
 *
 * Return: 0, -EINVAL for a bad description, -EOPNOTSUPP for one of a newer library, -ERANGE for a
 * requantisation or a bias with what zero points add to it out of range, -E2BIG if a kernel exceeds
 * 32 KiB, of a depthwise convolution 32 KiB for 64 channels of INT8 or 32 of FP16; -ENOMEM, or
 * another errno of the driver. On an RK3576 the limits are 4608 bytes and 144 KiB, where depthwise INT8
 * has two bytes per weight. On an RK3568 they are 14336 bytes, and 64 KiB for 32 channels; on an RK3562 12288
 * bytes, and 128 KiB for 32 channels of two bytes per weight.
 */
int npu_conv_weights_new(struct npu_dev *dev, const struct npu_conv_weights_desc *desc,
			 const void *src, struct npu_weights **out);

/**
 * struct npu_rec_conv_opts - options of npu_rec_conv(); NULL or all but the size zero = defaults
 */
struct npu_rec_conv_opts {
	/** @size: sizeof(struct npu_rec_conv_opts) */
	size_t size;
	/** @act: as in struct npu_rec_matmul_opts */
	enum npu_act act;
	/** @max_lines: most lines of the result per task, 0 = as many as fit */
	/** @max_n: most channels of the result per task, 0 = 4096; rounded to the kernel group */
	uint32_t max_lines, max_n;
};

/**
 * npu_rec_conv - append y = act(convolution of x + bias)
 * @rec: recording
 * @x: image, in_w * in_h x in_c of INT8 or FP16
 * @w: from npu_conv_weights_new(), of the same type
 * @win: size of the image, size of the kernels, strides, dilation, padding
 * @y: image, npu_window_out_w() * npu_window_out_h() x out_c; types as npu_rec_matmul(), and no
 *	INT32 of depthwise convolutions. Shares no element with @x
 * @opts: options or NULL
 *
 * Errors are bounded as those of npu_rec_matmul(), with K = kw * kh * in_c, or kw * kh for a
 * depthwise convolution.
 *
 * The lines below one line of the result have to fit the convolution buffer of 384 KiB beside
 * 16 kernels of FP16 or 32 of INT8; lines are not cut. A line must have in_w * (bytes of the
 * channels / 64 - 1) <= 2047, with bytes rounded up to 64: boards read others wrong
 * (evidence.toml, row refused.long-rows). On the RK3566 and the RK3568 that is 32 in place of 64.
 * FP16 kernels of 7 x 7 or more have at most 64 channels: others hang (row cna.large-kernels).
 *
 * INT8 depthwise convolutions work on 64 channels at a time: the last 32 of what is no multiple
 * of that are copied on the NPU, forth and back.
 *
 * Return: 0, -EINVAL for types or shapes that do not belong together or have no mode, -EOPNOTSUPP for a
 * window or options of a newer library, -E2BIG for lines that do not fit, or more than 4095 tasks;
 * -EBUSY after npu_rec_end(), -ENOMEM, an errno of the driver, or any other of npu_rec_matmul().
 */
int npu_rec_conv(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w,
		 const struct npu_window *win, struct npu_tensor *y,
		 const struct npu_rec_conv_opts *opts);

/* ---- pooling -------------------------------------------------------------- */

/**
 * enum npu_pool - what becomes of the elements below a window
 * @NPU_POOL_AVERAGE: their mean; positions outside count, as 0 or npu_window.zp
 * @NPU_POOL_MAX: the largest; positions outside do not count
 * @NPU_POOL_MIN: the smallest; positions outside do not count
 */
enum npu_pool {
	NPU_POOL_AVERAGE = 0,
	NPU_POOL_MAX = 1,
	NPU_POOL_MIN = 2,
};

/**
 * npu_rec_pool - append y = pooling of x, channel by channel
 * @rec: recording
 * @pool: method
 * @x: image of INT8 or FP16
 * @win: size of the image and of the window, strides, padding
 * @y: image, npu_window_out_w() * npu_window_out_h() of as many channels of the same type; shares
 *	no element with @x
 *
 * Maxima and minima are exact. Averages of INT8 are off by at most 0.57, thus right but for ties;
 * those of FP16 by 2^-9 of themselves and 2^-24 of the sum of the magnitudes, for the NPU
 * multiplies the sum with a reciprocal of 11 bits for each direction, which of 2, 4, 8 and 16 is
 * exact, and rounds.
 *
 * There is no mode for windows of 16 with padding: boards give wrong results (evidence.toml, row
 * refused.pool-16). Windows of 3 x 3 or more that overlap hang in wide images; they are done by
 * parts of lines. Windows of 1 x 1 with strides take every other position.
 *
 * That the NPU writes parts of lines is known from Rockchip's programs; allbilly saw wrong results
 * of that. In-tree rocket waits for the DPU alone, and whether pooling wakes it is not known.
 *
 * Return: 0, -EINVAL for types, shapes or windows that do not belong together or have no mode,
 * -EOPNOTSUPP for a window of a newer library, -E2BIG for more than 4095 tasks, -EBUSY after
 * npu_rec_end(), -ENOMEM, or any other of npu_rec_matmul().
 */
int npu_rec_pool(struct npu_rec *rec, enum npu_pool pool, const struct npu_tensor *x,
		 const struct npu_window *win, struct npu_tensor *y);

/* ---- sizes ---------------------------------------------------------------- */

/**
 * npu_rec_upscale - append y = x with each position several times
 * @rec: recording
 * @x: image of INT8 or FP16
 * @width: of @x
 * @height: of @x
 * @times_x: copies side by side, 1 to 8
 * @times_y: copies below each other, 1 to 8
 * @y: image of (@width * @times_x) x (@height * @times_y), of as many channels of the same type;
 *	shares no element with @x
 *
 * What others call resizing to the nearest, by an integer. Exact. There is one task for each 16
 * bytes of channels. @width * @times_x * (@times_y - 1) and @width * @times_x are at most 8191.
 * (Rockchip's programs do so to 2, 4 and 8 times the size; others are a guess:
 * evidence.toml, row out.unpool.) See npu_rec_pool() for making images smaller.
 *
 * Return: 0, -EINVAL for types or shapes that do not belong together, -E2BIG for images too wide
 * or more than 4095 tasks, -EBUSY after npu_rec_end(), -ENOMEM, or any other of npu_rec_matmul().
 */
int npu_rec_upscale(struct npu_rec *rec, const struct npu_tensor *x, uint32_t width, uint32_t height,
		    uint32_t times_x, uint32_t times_y, struct npu_tensor *y);

#ifdef __cplusplus
}
#endif

#endif /* NPU_IMAGE_H */
