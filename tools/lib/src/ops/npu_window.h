/* SPDX-License-Identifier: MIT */
/*
 * Windows that go over images, one direction at a time, and images that cores share.
 */
#ifndef NPU_WINDOW_H
#define NPU_WINDOW_H

#include "npu_parts.h"

/* Lines, or columns, of an image and what goes over them. */
struct npu_axis {
	uint32_t in, kernel, stride, dil;
	uint32_t before, after;	/* padding */
};

/* What is below some positions of the result. */
struct npu_band {
	uint32_t first, n;
	uint32_t before;	/* padding */
};

/* From the first to behind the last element of a window. */
uint32_t npu_extent(const struct npu_axis *s);
/* Positions of the result; 0 if there are none, or if a window may hold padding alone. */
uint32_t npu_axis_out(const struct npu_axis *s);
struct npu_band npu_axis_band(const struct npu_axis *s, uint32_t first, uint32_t n);
/* The most positions of the result below which there are at most @in; UINT32_MAX for all. */
uint32_t npu_axis_fit(const struct npu_axis *s, uint64_t in);

/* Do the NPU's convolutions have such sizes, strides and padding? */
bool npu_axis_convolves(const struct npu_axis *s);

/* With 1 where a stride or dilation is 0. */
struct npu_axis npu_window_x(const struct npu_window *w);
struct npu_axis npu_window_y(const struct npu_window *w);

/* A stretch of lines and one of channels. */
struct npu_area {
	uint32_t line, lines, col, cols;
};

/*
 * Shares the lines of an image, or its channels by multiples of @unit if there are more of those.
 * Positions of each share begin at a multiple of 4.
 */
struct npu_image_split {
	uint32_t width, height, cols, unit;
};

int npu_rec_by_area(struct npu_rec *rec, const struct npu_image_split *p, const void *arg,
		    int (*append)(struct npu_rec *rec, const void *arg, const struct npu_area *a));

#endif /* NPU_WINDOW_H */
