/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/dma-buf.h, with the calls of 6.0 where a system's headers are older than the kernel that is tested. */
#ifndef RKNPU_DMABUF_H
#define RKNPU_DMABUF_H

#include <linux/dma-buf.h>

#ifndef DMA_BUF_IOCTL_EXPORT_SYNC_FILE
struct dma_buf_export_sync_file {
	__u32 flags;
	__s32 fd;
};

struct dma_buf_import_sync_file {
	__u32 flags;
	__s32 fd;
};

#define DMA_BUF_IOCTL_EXPORT_SYNC_FILE	_IOWR(DMA_BUF_BASE, 2, struct dma_buf_export_sync_file)
#define DMA_BUF_IOCTL_IMPORT_SYNC_FILE	_IOW(DMA_BUF_BASE, 3, struct dma_buf_import_sync_file)
#endif

#endif
