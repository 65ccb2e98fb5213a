/* SPDX-License-Identifier: Apache-2.0 */
/* window.h: the sliding windows of convolutions and pools: kernel, strides, dilations, padding. */
#ifndef COLLAGE_OPS_WINDOW_H
#define COLLAGE_OPS_WINDOW_H

#include "ops/ops.h"

enum { WINDOW_MAX = COLLAGE_MAX_RANK - 2 };

struct window {
    int32_t dims; /* spatial ones: all but batch and channels */
    int64_t kernel[WINDOW_MAX], stride[WINDOW_MAX], dilation[WINDOW_MAX];
    int64_t begin[WINDOW_MAX], end[WINDOW_MAX]; /* padding */
    int64_t in[WINDOW_MAX], out[WINDOW_MAX];
};

/* Reads strides, dilations, pads, auto_pad and ceil_mode for an input of the shape of x; kernel is
 * given, or NULL for the attribute kernel_shape. */
collage_status window_read(const struct op_call *call, const struct tensor *x,
                           const int64_t *kernel, struct window *out, struct error *error);
/* The same without the sizes of the output and without automatic padding (ConvTranspose). */
collage_status window_read_attributes(const struct op_call *call, const struct tensor *x,
                                      const int64_t *kernel, struct window *out,
                                      struct error *error);

/* The channels of one group of a convolution of x by weights w; checks that they fit (attribute
 * `group`). */
struct window_groups {
    int64_t count, in_channels, out_channels;
};
collage_status window_read_groups(const struct op_call *call, const struct tensor *x,
                                  const struct tensor *w, struct window_groups *out,
                                  struct error *error);

int64_t window_taps(const struct window *window);    /* product of kernel */
int64_t window_inputs(const struct window *window);  /* product of in */
int64_t window_outputs(const struct window *window); /* product of out */

/* For output position `at` (a coordinate for each dimension): the index in the input plane that tap
 * number `tap` (row-major in the kernel) reads, or -1 in the padding. */
int64_t window_source(const struct window *window, const int64_t *at, const int64_t *tap);

/* Steps a coordinate through `dims`, row-major; false after the last. */
bool coordinate_next(int64_t *at, const int64_t *dims, int32_t count);

#endif
