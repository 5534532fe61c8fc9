// SPDX-License-Identifier: MIT
/*
 * Example: a network of two layers, y = W2 * relu(W1 * x + b1) + b2, recorded once and run for
 * several batches. The tutorial, Documentation/accel/rknpu/libnpu-tutorial.rst, explains it.
 *
 *	cc two_layers.c $(pkg-config --cflags --libs librknpu) -lm
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "npu.h"

#define BATCH	4
#define IN	96
#define HIDDEN	64
#define OUT	10

/* [parameters] */
static uint16_t w1[HIDDEN][IN], w2[OUT][HIDDEN];	/* halves, a row for each result */
static float b1[HIDDEN], b2[OUT];
static float x[BATCH][IN], y[BATCH][OUT];
/* [parameters end] */

/* [network] */
struct network {
	struct npu_weights *w1, *w2;
	struct npu_tensor *in, *hidden, *out;
	struct npu_rec *rec;
};
/* [network end] */

/* [weights] */
static int make_weights(struct npu_dev *dev, struct network *net)
{
	struct npu_weights_desc d1 = { .size = sizeof(d1), .type = NPU_PREC_FP16, .n = HIDDEN, .k = IN, .bias = b1 };
	struct npu_weights_desc d2 = { .size = sizeof(d2), .type = NPU_PREC_FP16, .n = OUT, .k = HIDDEN, .bias = b2 };
	int ret = npu_weights_new(dev, &d1, w1, &net->w1);

	return ret ? ret : npu_weights_new(dev, &d2, w2, &net->w2);
}
/* [weights end] */

/* [tensors] */
static int make_tensors(struct npu_dev *dev, struct network *net)
{
	int ret = npu_tensor_new(dev, NPU_PREC_FP16, BATCH, IN, &net->in);

	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP16, BATCH, HIDDEN, &net->hidden);
	return ret ? ret : npu_tensor_new(dev, NPU_PREC_FP32, BATCH, OUT, &net->out);
}
/* [tensors end] */

/* [record] */
static int record(struct npu_dev *dev, struct network *net)
{
	struct npu_rec_matmul_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU };
	int ret = npu_rec_new(dev, NULL, &net->rec);

	ret = ret ? ret : npu_rec_matmul(net->rec, net->in, net->w1, net->hidden, &relu);
	ret = ret ? ret : npu_rec_matmul(net->rec, net->hidden, net->w2, net->out, NULL);
	return ret ? ret : npu_rec_end(net->rec);
}
/* [record end] */

/* [run] */
static int run(struct network *net)
{
	int ret = npu_tensor_write_f32(net->in, x[0], 0, 1);

	ret = ret ? ret : npu_rec_run(net->rec);
	ret = ret ? ret : npu_rec_wait(net->rec, -1);
	return ret ? ret : npu_tensor_read_f32(net->out, y[0], 0, 1);
}
/* [run end] */

/* [free] */
static void free_network(struct network *net)
{
	npu_rec_free(net->rec);
	npu_tensor_free(net->in);
	npu_tensor_free(net->hidden);
	npu_tensor_free(net->out);
	npu_weights_free(net->w1);
	npu_weights_free(net->w2);
}
/* [free end] */

/* Multiples of 1/64, which halves have. */
static float number(void)
{
	static unsigned int n;

	return (float)((int)(n++ * 2654435761u >> 24) - 128) / 64;
}

static void make_parameters(void)
{
	for (int n = 0; n < HIDDEN; n++) {
		b1[n] = number();
		for (int k = 0; k < IN; k++)
			w1[n][k] = npu_f32_to_f16(number() / 8);
	}
	for (int n = 0; n < OUT; n++) {
		b2[n] = number();
		for (int k = 0; k < HIDDEN; k++)
			w2[n][k] = npu_f32_to_f16(number() / 8);
	}
}

/* A layer's result in doubles, and how far the NPU's may be off, see npu_rec_matmul(). */
static double layer(const uint16_t *w, double bias, const double *in, const double *off, int k,
		    double *bound)
{
	double sum = bias, size = fabs(bias), far = 0;

	for (int i = 0; i < k; i++) {
		double weight = (double)npu_f16_to_f32(w[i]);

		sum += weight * in[i];
		size += fabs(weight * in[i]);
		far += fabs(weight) * off[i];
	}
	*bound = far + (k + 1) * 0x1p-24 * size + fabs(sum) * 0x1p-23;
	return sum;
}

static int wrong(int row)
{
	double in[IN], exact[IN] = { 0 }, h[HIDDEN], off[HIDDEN];
	int bad = 0;

	for (int i = 0; i < IN; i++)
		in[i] = (double)x[row][i];
	for (int n = 0; n < HIDDEN; n++) {
		h[n] = fmax(layer(w1[n], (double)b1[n], in, exact, IN, &off[n]), 0);
		/* The hidden layer is stored as halves. */
		off[n] += h[n] * 0x1p-11 + 0x1p-25;
	}
	for (int n = 0; n < OUT; n++) {
		double bound, want = layer(w2[n], (double)b2[n], h, off, HIDDEN, &bound);

		bad += !(fabs((double)y[row][n] - want) <= bound);
	}
	return bad;
}

/* [main] */
int main(void)
{
	struct network net = { 0 };
	struct npu_dev *dev = NULL;
	int ret, bad = 0;

	make_parameters();
	ret = npu_open(NULL, &dev);
	ret = ret ? ret : make_weights(dev, &net);
	ret = ret ? ret : make_tensors(dev, &net);
	ret = ret ? ret : record(dev, &net);
	for (int batch = 0; batch < 3 && !ret; batch++) {
		for (int i = 0; i < BATCH * IN; i++)
			x[i / IN][i % IN] = number();
		ret = run(&net);
		for (int row = 0; row < BATCH && !ret; row++)
			bad += wrong(row);
	}
	if (ret)
		printf("two_layers: %s: %s\n", strerror(-ret), net.rec ? npu_rec_message(net.rec) : "");
	else
		printf("two_layers: %u operations in %u tasks, %d numbers wrong\n",
		       npu_rec_info(net.rec).ops, npu_rec_info(net.rec).tasks, bad);
	free_network(&net);
	npu_close(dev);
	return ret || bad;
}
/* [main end] */
