// SPDX-License-Identifier: MIT
/*
 * Example: a small network of bytes on the frames of a camera, which the NPU reads where the camera
 * wrote them: the CPU copies none. Sixteen grey pixels side by side are the sixteen bytes of a
 * position in the NPU's layout, so a frame is an image a sixteenth as wide, of sixteen channels.
 *
 *	cc camera.c $(pkg-config --cflags --libs librknpu) -lm
 *	./a.out [-c] [-o] [-n FRAMES] [/dev/video0]
 *
 *	-c	the CPU computes the scores of each frame, too
 *	-o	in the NPU's memory: a driver that writes frames with the CPU, as those of USB cameras do,
 *		leaves what it exports in the CPU's caches, which the NPU does not see
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/dma-buf.h>
#include <linux/videodev2.h>

#include "npu.h"

/* Headers of before Linux 6.0. */
#ifndef DMA_BUF_IOCTL_EXPORT_SYNC_FILE
struct dma_buf_export_sync_file {
	__u32 flags;
	__s32 fd;
};
#define DMA_BUF_IOCTL_EXPORT_SYNC_FILE	_IOWR(DMA_BUF_BASE, 2, struct dma_buf_export_sync_file)
#endif

#define WIDTH		320u
#define HEIGHT		180u
#define ATOM		16u
#define WIDE		(WIDTH / ATOM)
/* A patch is ATOM x PATCH pixels, a cell POOL x POOL patches. */
#define PATCH		6u
#define POOL		5u
#define TALL		(HEIGHT / PATCH)
#define CELLS_X		(WIDE / POOL)
#define CELLS_Y		(TALL / POOL)
#define CELLS		(CELLS_X * CELLS_Y)
#define KERNELS		32u
#define SCORES		16u
#define BUFFERS		4u
/* npu_tensor_import(): the NPU reads behind the frame. */
#define BEHIND		32768u
#define FRAME_BYTES	((uint32_t)npu_tensor_bytes(NPU_PREC_INT8, WIDE * HEIGHT, ATOM) + BEHIND)

static int8_t patch_weight[KERNELS][PATCH][ATOM], score_weight[SCORES][CELLS][KERNELS];
static struct npu_requant patch_rq;

static int8_t any(int limit)
{
	static unsigned int seed = 2026;

	seed = seed * 1664525u + 1013904223u;
	return (int8_t)((int)(seed >> 8) % (2 * limit + 1) - limit);
}

static void make_weights(void)
{
	for (uint32_t i = 0; i < sizeof(patch_weight); i++)
		(&patch_weight[0][0][0])[i] = any(60);
	for (uint32_t i = 0; i < sizeof(score_weight); i++)
		(&score_weight[0][0][0])[i] = any(100);
	npu_requant_from_double(1.0 / 700, 0, &patch_rq);
}

/* ---- on the CPU, for comparison ---- */

/*
 * A camera's bytes begin at 0, the NPU's at -128: what the camera calls 200 is -56 to the NPU.
 * The first layer adds to each byte one of sixteen others, 127 or -128, that tells which half it is
 * of; the second takes the difference. It is the pixel less 128, or less 127 in the dark half. (0
 * and 255, which video reserves, are in the middle of their half.)
 */
static int level(uint8_t pixel)
{
	int byte = (int8_t)pixel, half = byte * 127 + 64;

	return byte - (half > 127 ? 127 : half < -128 ? -128 : half);
}

static int8_t patch_on_cpu(const uint8_t *frame, uint32_t x, uint32_t y, uint32_t k)
{
	int sum = 0;

	for (uint32_t row = 0; row < PATCH; row++)
		for (uint32_t col = 0; col < ATOM; col++)
			sum += level(frame[(y * PATCH + row) * WIDTH + x * ATOM + col]) * patch_weight[k][row][col];
	return npu_requant_apply(&patch_rq, sum > 0 ? sum : 0);
}

static void scores_on_cpu(const uint8_t *frame, int32_t *score)
{
	memset(score, 0, SCORES * sizeof(*score));
	for (uint32_t cell = 0; cell < CELLS; cell++)
		for (uint32_t k = 0; k < KERNELS; k++) {
			int most = -128;

			for (uint32_t i = 0; i < POOL * POOL; i++) {
				int v = patch_on_cpu(frame, cell % CELLS_X * POOL + i % POOL,
						     cell / CELLS_X * POOL + i / POOL, k);

				most = v > most ? v : most;
			}
			for (uint32_t n = 0; n < SCORES; n++)
				score[n] += most * score_weight[n][cell][k];
		}
}

/* ---- on the NPU ---- */

struct net {
	struct npu_dev *dev;
	struct npu_weights *halves, *patches, *scores;
};

/* Each frame's own, but for the weights. */
struct slot {
	int buf, fence;
	void *map;
	struct npu_tensor *frame, *bytes, *patches, *cells, *scores;
	struct npu_rec *rec;
};

#define WINDOW(w, h, x, y)	{ .size = sizeof(struct npu_window), .in_w = w, .in_h = h, .kw = x, .kh = y }

static int weights(struct npu_dev *dev, struct npu_conv_weights_desc d, const void *src, struct npu_weights **out)
{
	d.size = sizeof(d);
	d.type = NPU_PREC_INT8;
	return npu_conv_weights_new(dev, &d, src, out);
}

static int net_init(struct net *n)
{
	static int8_t halves[2 * ATOM][ATOM], patches[KERNELS][PATCH][2 * ATOM];
	int32_t bias[2 * ATOM] = { 0 };
	struct npu_requant same;
	int ret = npu_open(NULL, &n->dev);

	for (uint32_t c = 0; c < ATOM; c++) {
		halves[c][c] = 1;
		halves[ATOM + c][c] = 127;
		bias[ATOM + c] = 64;
	}
	for (uint32_t i = 0; i < KERNELS * PATCH * ATOM; i++) {
		(&patches[0][0][0])[i / ATOM * 2 * ATOM + i % ATOM] = (&patch_weight[0][0][0])[i];
		(&patches[0][0][0])[i / ATOM * 2 * ATOM + ATOM + i % ATOM] = (int8_t)-(&patch_weight[0][0][0])[i];
	}
	npu_requant_from_double(1, 0, &same);
	ret = ret ? ret : weights(n->dev, (struct npu_conv_weights_desc){
		.in_c = ATOM, .out_c = 2 * ATOM, .kw = 1, .kh = 1, .bias = bias, .rq = same }, halves, &n->halves);
	ret = ret ? ret : weights(n->dev, (struct npu_conv_weights_desc){
		.in_c = 2 * ATOM, .out_c = KERNELS, .kw = 1, .kh = PATCH, .rq = patch_rq }, patches, &n->patches);
	return ret ? ret : weights(n->dev, (struct npu_conv_weights_desc){
		.in_c = KERNELS, .out_c = SCORES, .kw = CELLS_X, .kh = CELLS_Y }, score_weight, &n->scores);
}

static int slot_init(struct slot *s, const struct net *n)
{
	struct npu_window halves = WINDOW(WIDE, HEIGHT, 1, 1), patches = WINDOW(WIDE, HEIGHT, 1, PATCH);
	struct npu_window cells = WINDOW(WIDE, TALL, POOL, POOL), scores = WINDOW(CELLS_X, CELLS_Y, CELLS_X, CELLS_Y);
	struct npu_rec_conv_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU };
	int ret = npu_tensor_new(n->dev, NPU_PREC_INT8, WIDE * HEIGHT, 2 * ATOM, &s->bytes);

	patches.stride_y = PATCH;
	cells.stride_x = POOL;
	cells.stride_y = POOL;
	ret = ret ? ret : npu_tensor_new(n->dev, NPU_PREC_INT8, WIDE * TALL, KERNELS, &s->patches);
	ret = ret ? ret : npu_tensor_new(n->dev, NPU_PREC_INT8, CELLS, KERNELS, &s->cells);
	ret = ret ? ret : npu_tensor_new(n->dev, NPU_PREC_INT32, 1, SCORES, &s->scores);
	ret = ret ? ret : npu_rec_new(n->dev, NULL, &s->rec);
	ret = ret ? ret : npu_rec_conv(s->rec, s->frame, n->halves, &halves, s->bytes, NULL);
	ret = ret ? ret : npu_rec_conv(s->rec, s->bytes, n->patches, &patches, s->patches, &relu);
	ret = ret ? ret : npu_rec_pool(s->rec, NPU_POOL_MAX, s->patches, &cells, s->cells);
	ret = ret ? ret : npu_rec_conv(s->rec, s->cells, n->scores, &scores, s->scores, NULL);
	return ret ? ret : npu_rec_end(s->rec);
}

static void slot_free(struct slot *s)
{
	npu_rec_free(s->rec);
	npu_tensor_free(s->frame);
	npu_tensor_free(s->bytes);
	npu_tensor_free(s->patches);
	npu_tensor_free(s->cells);
	npu_tensor_free(s->scores);
	if (s->map)
		munmap(s->map, WIDTH * HEIGHT);
	if (s->buf > 0)
		close(s->buf);
}

/* ---- the camera ---- */

static int call(int fd, unsigned long request, void *arg)
{
	int ret;

	do
		ret = ioctl(fd, request, arg);
	while (ret && errno == EINTR);
	return ret ? -errno : 0;
}

/* Memory of the camera's driver, or ours. */
enum memory { CAMERAS = V4L2_MEMORY_MMAP, OURS = V4L2_MEMORY_DMABUF };

struct camera {
	int fd;
	enum memory memory;
};

/* Buffers as large as the tensor has to be, not as the frame is. */
static int camera_init(const struct camera *c)
{
	struct v4l2_format f = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE };
	struct v4l2_streamparm rate = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE };
	struct v4l2_create_buffers create = { .count = BUFFERS, .memory = c->memory };
	int ret;

	f.fmt.pix = (struct v4l2_pix_format){ .width = WIDTH, .height = HEIGHT, .pixelformat = V4L2_PIX_FMT_GREY };
	ret = call(c->fd, VIDIOC_S_FMT, &f);
	if (ret)
		return ret;
	/* Lines of whole atoms, with nothing between them. */
	if (f.fmt.pix.width != WIDTH || f.fmt.pix.height != HEIGHT || f.fmt.pix.bytesperline != WIDTH ||
	    f.fmt.pix.pixelformat != V4L2_PIX_FMT_GREY || f.fmt.pix.field != V4L2_FIELD_NONE)
		return -EDOM;
	/* Cameras take what is nearest, or know one rate only. */
	rate.parm.capture.timeperframe = (struct v4l2_fract){ 1, 30 };
	call(c->fd, VIDIOC_S_PARM, &rate);
	create.format = f;
	create.format.fmt.pix.sizeimage = FRAME_BYTES;
	ret = call(c->fd, VIDIOC_CREATE_BUFS, &create);
	return ret ? ret : create.count < BUFFERS ? -ENOMEM : 0;
}

static int camera_export(const struct camera *c, uint32_t i, int *buf)
{
	struct v4l2_exportbuffer e = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .index = i, .flags = O_RDWR | O_CLOEXEC };
	int ret = call(c->fd, VIDIOC_EXPBUF, &e);

	*buf = ret ? 0 : e.fd;
	return ret;
}

static int camera_give(const struct camera *c, uint32_t i, int buf)
{
	struct v4l2_buffer b = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = c->memory, .index = i };

	if (c->memory == OURS) {
		b.m.fd = buf;
		b.length = FRAME_BYTES;
	}
	return call(c->fd, VIDIOC_QBUF, &b);
}

static int camera_take(const struct camera *c, uint32_t *i)
{
	struct v4l2_buffer b = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = c->memory };
	int ret = call(c->fd, VIDIOC_DQBUF, &b);

	*i = b.index;
	return ret ? ret : b.flags & V4L2_BUF_FLAG_ERROR ? -EIO : 0;
}

/* ---- both ---- */

static int frame_init(const struct camera *c, uint32_t i, bool map, struct npu_dev *dev, struct slot *s)
{
	uint64_t offset = 0;
	int ret;

	if (c->memory == OURS) {
		/* It adds what is to be behind it by itself. */
		ret = npu_tensor_new(dev, NPU_PREC_INT8, WIDE * HEIGHT, ATOM, &s->frame);
		ret = ret ? ret : npu_tensor_export(s->frame, &s->buf, &offset);
	} else {
		ret = camera_export(c, i, &s->buf);
		ret = ret ? ret : npu_tensor_import(dev, s->buf, offset, NPU_PREC_INT8, WIDE * HEIGHT, ATOM, &s->frame);
	}
	if (ret || !map)
		return ret ? ret : offset ? -EINVAL : 0;
	s->map = mmap(NULL, WIDTH * HEIGHT, PROT_READ, MAP_SHARED, s->buf, 0);
	if (s->map == MAP_FAILED)
		s->map = NULL;
	return s->map ? 0 : -errno;
}

/*
 * The NPU's fence on the frame goes with it: poll() waits for it as for other files. Over the
 * vendor's interface it has signalled from the start, and before Linux 6.0 there is none; there
 * npu_rec_wait() alone tells. What the camera's driver wrote to our memory is in caches.
 */
static int start(const struct camera *c, struct slot *s, uint32_t *fences)
{
	struct dma_buf_sync written = { .flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE };
	struct dma_buf_export_sync_file get = { .flags = DMA_BUF_SYNC_WRITE, .fd = -1 };
	struct pollfd p = { .events = POLLIN };
	int ret = c->memory == OURS ? call(s->buf, DMA_BUF_IOCTL_SYNC, &written) : 0;

	ret = ret ? ret : npu_rec_run(s->rec);
	if (!ret && ioctl(s->buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &get) && errno != ENOTTY)
		ret = -errno;
	s->fence = p.fd = get.fd;
	*fences += p.fd >= 0 && !poll(&p, 1, 0);
	return ret;
}

static int wait_for(struct slot *s)
{
	struct pollfd p = { .fd = s->fence, .events = POLLIN };
	int ret = s->fence < 0 || poll(&p, 1, 10000) == 1 ? 0 : -ETIMEDOUT;

	if (s->fence >= 0)
		close(s->fence);
	return ret ? ret : npu_rec_wait(s->rec, -1);
}

struct tally {
	uint32_t frames, differ, fences, changes;
	int32_t last;
};

/* The frame goes back to the camera once the NPU, and whoever checks it, have read it. */
static int finish(const struct camera *c, uint32_t i, struct slot *s, struct tally *t)
{
	int32_t score[SCORES], want[SCORES];
	int ret = wait_for(s);

	ret = ret ? ret : npu_tensor_read(s->scores, score, 0);
	if (ret)
		return ret;
	if (s->map) {
		scores_on_cpu(s->map, want);
		t->differ += memcmp(score, want, sizeof(score)) != 0;
	}
	t->frames++;
	t->changes += score[0] != t->last;
	t->last = score[0];
	return camera_give(c, i, s->buf);
}

/* While the NPU computes one frame the camera takes the next. */
static int loop(const struct camera *c, struct slot *slot, uint32_t frames, struct tally *t)
{
	int type = V4L2_BUF_TYPE_VIDEO_CAPTURE, ret = call(c->fd, VIDIOC_STREAMON, &type);
	uint32_t i, before = BUFFERS;

	for (uint32_t n = 0; n < frames && !ret; n++) {
		ret = camera_take(c, &i);
		ret = ret ? ret : start(c, &slot[i], &t->fences);
		if (!ret && before < BUFFERS)
			ret = finish(c, before, &slot[before], t);
		before = i;
	}
	if (!ret && before < BUFFERS)
		ret = finish(c, before, &slot[before], t);
	return ret;
}

static int run(const struct camera *c, uint32_t frames, bool check, struct tally *t, struct npu_stats *s)
{
	struct slot slot[BUFFERS] = { 0 };
	struct net n = { 0 };
	int ret = net_init(&n);

	ret = ret ? ret : camera_init(c);
	for (uint32_t i = 0; i < BUFFERS && !ret; i++) {
		ret = frame_init(c, i, check, n.dev, &slot[i]);
		ret = ret ? ret : slot_init(&slot[i], &n);
		ret = ret ? ret : camera_give(c, i, slot[i].buf);
	}
	ret = ret ? ret : loop(c, slot, frames, t);
	ret = ret ? ret : npu_stats(n.dev, s);
	for (uint32_t i = 0; i < BUFFERS; i++)
		slot_free(&slot[i]);
	npu_weights_free(n.halves);
	npu_weights_free(n.patches);
	npu_weights_free(n.scores);
	npu_close(n.dev);
	return ret;
}

int main(int argc, char **argv)
{
	struct npu_stats s = { .size = sizeof(s) };
	struct camera c = { .memory = CAMERAS };
	uint32_t frames = 300;
	struct tally t = { 0 };
	bool check = false;
	int ret, opt;

	while ((opt = getopt(argc, argv, "cn:o")) > 0) {
		check |= opt == 'c';
		frames = opt == 'n' ? (uint32_t)atoi(optarg) : frames;
		c.memory = opt == 'o' ? OURS : c.memory;
		if (opt == '?')
			return 2;
	}
	make_weights();
	c.fd = open(optind < argc ? argv[optind] : "/dev/video0", O_RDWR | O_CLOEXEC);
	ret = c.fd < 0 ? -errno : run(&c, frames, check, &t, &s);
	if (ret)
		printf("camera: %s\n", strerror(-ret));
	else
		printf("camera: %u frames, %u new scores, %u fences, %llu bytes copied, %llu read back, %u wrong%s\n",
		       t.frames, t.changes, t.fences, (unsigned long long)(s.packed + s.copied),
		       (unsigned long long)s.unpacked, t.differ, check ? "" : " (not checked)");
	if (c.fd >= 0)
		close(c.fd);
	return ret || t.differ;
}
